/* Measures multiply-accumulates on registers, in assembly so that the compiler cannot merge or
 * remove them. Without VNNI vpmaddwd sums pairs of products in 32 bits, and vpaddd adds them. */
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

/* Twelve independent sums. */
#define DOT(name, v, i) name " %%" v "13, %%" v "12, %%" v #i "\n"
#define DOT_ALL(name, v)                                                                           \
    DOT(name, v, 0)                                                                                \
    DOT(name, v, 1)                                                                                \
    DOT(name, v, 2)                                                                                \
    DOT(name, v, 3)                                                                                \
    DOT(name, v, 4)                                                                                \
    DOT(name, v, 5)                                                                                \
    DOT(name, v, 6)                                                                                \
    DOT(name, v, 7) DOT(name, v, 8) DOT(name, v, 9) DOT(name, v, 10) DOT(name, v, 11)
enum { DOTS = 12 };

int64_t itg_peak_avxvnni(int64_t rounds)
{
    for (int64_t k = 0; k < rounds; k++)
        __asm__ volatile(DOT_ALL("%{vex%} vpdpbusd", "ymm") : : : CHANGED);
    return rounds * DOTS * 32;
}

int64_t itg_peak_vnni(int64_t rounds)
{
    for (int64_t k = 0; k < rounds; k++)
        __asm__ volatile(DOT_ALL("vpdpbusd", "zmm") : : : CHANGED);
    return rounds * DOTS * 64;
}
#endif
