/* Tiles by AVX-512 without VNNI: sixteen sums a register. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define VECTOR __m512i
enum { LANES = 16, ROWS = 16 };
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define ZERO() _mm512_setzero_si512()
#define SET(x) _mm512_set1_epi32((int32_t)(x))
#define ADD(a, b) _mm512_add_epi32(a, b)
#define MADD(a, b) _mm512_madd_epi16(a, b)
#define MADD_BYTES(a, b) _mm512_maddubs_epi16(a, b)
#define ONES() _mm512_set1_epi16(1)
#define PAIRS_FIT(w) pairs_fit(w)
#define EVEN_BYTES(w) _mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8)
#define ODD_BYTES(w) _mm512_srai_epi16(w, 8)

TARGET static inline bool pairs_fit(__m512i w)
{
    const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi8(1);
    const __m512i above = _mm512_maddubs_epi16(one, _mm512_max_epi8(w, zero));
    const __m512i below = _mm512_maddubs_epi16(one, _mm512_min_epi8(w, zero));
    const __m512i most = _mm512_max_epi16(above, _mm512_sub_epi16(zero, below));
    return _mm512_cmpgt_epi16_mask(most, _mm512_set1_epi16(128)) == 0;
}

#include "kernels/accel_madd.h"

static bool usable(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

const itg_accel_kernels itg_accel_avx512 = {
    .name = "avx512",
    .usable = usable,
    .mark = mark,
    .tile = tile,
    .depthwise = itg_depthwise_portable,
    .winograd = &itg_winograd_avx512,
    .lanes = itg_lanes_avx512,
    .sum_bytes = itg_sum_bytes_vbmi,
    .peak = itg_peak_avx512,
};
#endif
