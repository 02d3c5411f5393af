/* Tiles by AVX2: eight sums a register. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx2")))
#define VECTOR __m256i
#define NARROW __m128i
enum { LANES = 8, ROWS = 4, PANELS = 1 };
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define ZERO() _mm256_setzero_si256()
#define SET(x) _mm256_set1_epi32((int32_t)(x))
#define ADD(a, b) _mm256_add_epi32(a, b)
#define SUB(a, b) _mm256_sub_epi32(a, b)
#define SHL(a, n) _mm256_slli_epi32(a, n)
#define SAR(a, n) _mm256_srai_epi32(a, n)
#define MULTIPLY(a, b) _mm256_mullo_epi32(a, b)
#define MULTIPLY_ADD(c, a, b) _mm256_add_epi32(c, _mm256_madd_epi16(a, b))
#define ADD16(a, b) _mm256_add_epi16(a, b)
#define SUB16(a, b) _mm256_sub_epi16(a, b)
#define SHL16(a, n) _mm256_slli_epi16(a, n)
#define WIDEN(p) _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define FLIP(x) _mm_set1_epi8((int8_t)(x))
#define CODES(p, left, flip) codes(p, left, flip)
#define STORE16(p, v, left) store_words(p, v, left)

enum { SOME = 16 };

TARGET static inline __m256i codes(const uint8_t *p, int64_t left, __m128i flip)
{
    uint8_t tail[SOME] = {0};
    if (left < SOME) {
        memcpy(tail, p, (size_t)left);
        p = tail;
    }
    const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    return _mm256_cvtepi8_epi16(_mm_xor_si128(x, flip));
}

TARGET static inline void store_words(int16_t *p, __m256i v, int64_t left)
{
    if (left >= SOME) {
        STORE(p, v);
        return;
    }
    int16_t words[SOME];
    STORE(words, v);
    memcpy(p, words, (size_t)left * sizeof *p);
}

#include "kernels/accel_madd.h"
#include "kernels/accel_winograd.h"

static bool usable(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2");
}

const itg_winograd_kernels itg_winograd_avx2 = {input, multiply, output};

const itg_accel_kernels itg_accel_avx2 = {
    .name = "avx2",
    .granule = ITG_STEP_DEPTH,
    .step_cycles = 32,
    .usable = usable,
    .words = true,
    .tile = tile,
    .depthwise = itg_depthwise_portable,
    .winograd = &itg_winograd_avx2,
    .lanes = itg_lanes_avx2,
    .peak = itg_peak_avx2,
};
#endif
