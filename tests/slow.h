/* Under sanitizers everything takes several times as long: tests of many searches, programs or
 * faults then do a part of them. */
#ifndef ITG_TEST_SLOW_H
#define ITG_TEST_SLOW_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ITG_IS_SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define ITG_IS_SLOW 1
#endif
#endif
#ifndef ITG_IS_SLOW
#define ITG_IS_SLOW 0
#endif
#endif
