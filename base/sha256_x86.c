/* SHA-256 by the SHA extensions of x86 (Intel SDM, volume 2: SHA256RNDS2, SHA256MSG1, SHA256MSG2).
 */
#include "base/sha256.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

static bool find_instructions(void)
{
    enum { SSE41 = 1 << 19, SHA = 1 << 29 };
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & SSE41)) return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & SHA);
}

static bool has_instructions(void)
{
    enum { UNKNOWN, NO, YES };
    static atomic_int known = UNKNOWN;
    if (atomic_load_explicit(&known, memory_order_relaxed) == UNKNOWN)
        atomic_store_explicit(&known, find_instructions() ? YES : NO, memory_order_relaxed);
    return atomic_load_explicit(&known, memory_order_relaxed) == YES;
}

/* One register holds words a, b, e, f of the state, the other c, d, g, h, the last one lowest. */
__attribute__((target("sha,sse4.1"))) static void compress(uint32_t state[8],
                                                           const unsigned char *in, size_t blocks)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128((const void *)state), 0xB1);
    const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const void *)(state + 4)), 0x1B);
    __m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xF0);
    for (; blocks > 0; blocks--, in += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4]; /* the last 16 words of the schedule */
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const void *)(in + 16 * i)), big_endian);
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) { /* four rounds each */
            const __m128i k = _mm_loadu_si128((const void *)(itg_sha256_constants + 4 * i));
            const __m128i sum = _mm_add_epi32(w[i % 4], k);
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
            if (i >= 12) continue;
            const __m128i last = w[(i + 3) % 4];
            const __m128i seven_before = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
            const __m128i part = _mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]);
            w[i % 4] = _mm_sha256msg2_epu32(_mm_add_epi32(part, seven_before), last);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128((void *)state, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128((void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

bool itg_sha256_compress_x86(uint32_t state[8], const unsigned char *in, size_t blocks)
{
    if (!has_instructions()) return false;
    compress(state, in, blocks);
    return true;
}
#else
bool itg_sha256_compress_x86(uint32_t state[8], const unsigned char *in, size_t blocks)
{
    (void)state;
    (void)in;
    (void)blocks;
    return false;
}
#endif
