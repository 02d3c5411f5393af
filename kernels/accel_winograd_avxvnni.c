/* Winograd's products by AVX-VNNI: vpdpwssd of 256 bits. Its saturating form is not used. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,avxvnni")))
#define VECTOR __m256i
enum { LANES = 8, ROWS = 4, PANELS = 1 };
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define ZERO() _mm256_setzero_si256()
#define SET(x) _mm256_set1_epi32((int32_t)(x))
#define MULTIPLY_ADD(c, a, b) _mm256_dpwssd_avx_epi32(c, a, b)

#include "kernels/accel_product.h"

const itg_winograd_kernels itg_winograd_avxvnni = {itg_winograd_input_avx2, multiply,
                                                   itg_winograd_output_avx2};
#endif
