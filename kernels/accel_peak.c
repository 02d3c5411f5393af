/* Measures multiply-accumulates on registers without VNNI: vpmaddwd sums pairs of products in 32
 * bits, vpaddd adds them. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
enum { SUMS = 8 };

/* Sum i is register i; temporaries are 8..11. The content of 12 and 13 does not matter. */
#define MULTIPLY(v, i, t)                                                                          \
    "vpmaddwd %%" v "13, %%" v "12, %%" v #t "\n"                                                  \
    "vpaddd %%" v #t ", %%" v #i ", %%" v #i "\n"
#define MULTIPLY_ALL(v)                                                                            \
    MULTIPLY(v, 0, 8)                                                                              \
    MULTIPLY(v, 1, 9)                                                                              \
    MULTIPLY(v, 2, 10)                                                                             \
    MULTIPLY(v, 3, 11) MULTIPLY(v, 4, 8) MULTIPLY(v, 5, 9) MULTIPLY(v, 6, 10) MULTIPLY(v, 7, 11)
#define CHANGED                                                                                    \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11"

__attribute__((target("avx2"))) int64_t itg_peak_avx2(int64_t rounds)
{
    for (int64_t k = 0; k < rounds; k++)
        __asm__ volatile(MULTIPLY_ALL("ymm") : : : CHANGED);
    __asm__ volatile("vzeroupper" : : : CHANGED);
    return rounds * SUMS * 16;
}

__attribute__((target("avx512f,avx512bw"))) int64_t itg_peak_avx512(int64_t rounds)
{
    for (int64_t k = 0; k < rounds; k++)
        __asm__ volatile(MULTIPLY_ALL("zmm") : : : CHANGED);
    __asm__ volatile("vzeroupper" : : : CHANGED);
    return rounds * SUMS * 32;
}
#endif
