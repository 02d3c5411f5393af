/* Tiles by AVX2: eight sums a register. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2")))
#define VECTOR __m256i
enum { LANES = 8, ROWS = 4 };
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define ZERO() _mm256_setzero_si256()
#define SET(x) _mm256_set1_epi32((int32_t)(x))
#define ADD(a, b) _mm256_add_epi32(a, b)
#define MADD(a, b) _mm256_madd_epi16(a, b)
#define MADD_BYTES(a, b) _mm256_maddubs_epi16(a, b)
#define ONES() _mm256_set1_epi16(1)
#define PAIRS_FIT(w) pairs_fit(w)
#define EVEN_BYTES(w) _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8)
#define ODD_BYTES(w) _mm256_srai_epi16(w, 8)

TARGET static inline bool pairs_fit(__m256i w)
{
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi8(1);
    const __m256i above = _mm256_maddubs_epi16(one, _mm256_max_epi8(w, zero));
    const __m256i below = _mm256_maddubs_epi16(one, _mm256_min_epi8(w, zero));
    const __m256i most = _mm256_max_epi16(above, _mm256_sub_epi16(zero, below));
    return _mm256_movemask_epi8(_mm256_cmpgt_epi16(most, _mm256_set1_epi16(128))) == 0;
}

#include "kernels/accel_madd.h"

static bool usable(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2");
}

const itg_accel_kernels itg_accel_avx2 = {
    .name = "avx2",
    .usable = usable,
    .mark = mark,
    .tile = tile,
    .depthwise = itg_depthwise_portable,
    .winograd = &itg_winograd_avx2,
    .lanes = itg_lanes_avx2,
    .peak = itg_peak_avx2,
};
#endif
