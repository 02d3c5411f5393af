/* Tiles by AVX-512 without VNNI: sixteen sums a register. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define VECTOR __m512i
#define NARROW __m256i
enum { LANES = 16, ROWS = 8, PANELS = 2 };
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define ZERO() _mm512_setzero_si512()
#define SET(x) _mm512_set1_epi32((int32_t)(x))
#define ADD(a, b) _mm512_add_epi32(a, b)
#define SUB(a, b) _mm512_sub_epi32(a, b)
#define SHL(a, n) _mm512_slli_epi32(a, n)
#define SAR(a, n) _mm512_srai_epi32(a, n)
#define MULTIPLY(a, b) _mm512_mullo_epi32(a, b)
#define MULTIPLY_ADD(c, a, b) _mm512_add_epi32(c, _mm512_madd_epi16(a, b))
#define ADD16(a, b) _mm512_add_epi16(a, b)
#define SUB16(a, b) _mm512_sub_epi16(a, b)
#define SHL16(a, n) _mm512_slli_epi16(a, n)
#define WIDEN(p) _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define FLIP(x) _mm256_set1_epi8((int8_t)(x))
#define CODES(p, left, flip) codes(p, left, flip)
#define STORE16(p, v, left) _mm512_mask_storeu_epi16(p, first_words(left), v)

TARGET static inline __mmask32 first_words(int64_t n)
{
    return n >= 32 ? UINT32_MAX : ((__mmask32)1 << n) - 1;
}

TARGET static inline __m512i codes(const uint8_t *p, int64_t left, __m256i flip)
{
    const __m256i x = _mm256_maskz_loadu_epi8(first_words(left), p);
    return _mm512_cvtepi8_epi16(_mm256_xor_si256(x, flip));
}

#include "kernels/accel_madd.h"
#include "kernels/accel_winograd.h"

static bool usable(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

void itg_winograd_input_avx512(const itg_winograd_input *a)
{
    input(a);
}

void itg_winograd_output_avx512(const itg_winograd_output *a)
{
    output(a);
}

const itg_winograd_kernels itg_winograd_avx512 = {input, multiply, output};

const itg_accel_kernels itg_accel_avx512 = {
    .name = "avx512",
    .granule = ITG_STEP_DEPTH,
    .step_cycles = 16,
    .usable = usable,
    .words = true,
    .tile = tile,
    .depthwise = itg_depthwise_avx2,
    .winograd = &itg_winograd_avx512,
    .lanes = itg_lanes_avx512,
    .sum_bytes = itg_sum_bytes_vbmi,
    .look_up = itg_look_up_vbmi,
    .peak = itg_peak_avx512,
};
#endif
