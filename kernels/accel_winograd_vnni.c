/* Winograd's products by AVX-512 VNNI: vpdpwssd multiplies and adds at once. Its saturating form is
 * not used. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#define VECTOR __m512i
enum { LANES = 16, ROWS = 8, PANELS = 2 };
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define ZERO() _mm512_setzero_si512()
#define SET(x) _mm512_set1_epi32((int32_t)(x))
#define MULTIPLY_ADD(c, a, b) _mm512_dpwssd_epi32(c, a, b)

#include "kernels/accel_product.h"

const itg_winograd_kernels itg_winograd_vnni = {itg_winograd_input_avx512, multiply,
                                                itg_winograd_output_avx512};
#endif
