/* ITG_CLONES in front of a hot function compiles it once per level of x86-64; the loader picks one.
 * Results do not depend on the choice: float code is compiled without contraction and
 * reassociation. Use it for static functions only: clang 14 gives clones of other functions names
 * that the linker does not find. It is defined where it is known to work: glibc with indirect
 * functions, and no sanitizer, because the resolvers run before a sanitizer is ready. */
#ifndef ITG_CLONES_H
#define ITG_CLONES_H
#include <stdint.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define ITG_NO_CLONES 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__) ||       \
    !defined(__GLIBC__)
#define ITG_NO_CLONES 1
#endif

/* Names of such functions are unique in the library: clang 14 makes their resolvers global. */
#if defined(ITG_NO_CLONES)
#define ITG_CLONES
#elif defined(__clang__) && __clang_major__ >= 14
#define ITG_CLONES __attribute__((target_clones("avx512bw", "avx2", "default")))
#elif !defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 12
#define ITG_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif !defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 7
#define ITG_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define ITG_CLONES
#endif

/* Unrolls the loop that follows, which has a small constant count. */
#if defined(__clang__)
#define ITG_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define ITG_UNROLL _Pragma("GCC unroll 32")
#else
#define ITG_UNROLL
#endif

/* For helpers of such functions, which must be inlined into each clone. */
#if defined(__GNUC__)
#define ITG_INLINE static inline __attribute__((always_inline))
#else
#define ITG_INLINE static inline
#endif
#endif
