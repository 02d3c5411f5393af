/* The intrinsics of Arm's arm_acle.h that emitted C uses, in plain C, after the Arm C Language
 * Extensions: the C for pairs of products runs under the sanitizers of any machine. */
#ifndef ITG_TEST_ARM_ACLE_H
#define ITG_TEST_ARM_ACLE_H
#include <stdint.h>

typedef int32_t int8x4_t, int16x2_t;
typedef uint32_t uint8x4_t, uint16x2_t;

#define ACLE static inline __attribute__((unused))

ACLE int32_t acle_half(int32_t x, int upper)
{
    return (int16_t)((uint32_t)x >> (upper != 0 ? 16 : 0));
}
ACLE int32_t acle_add(int32_t x, int32_t y) /* modulo 2^32 */
{
    return (int32_t)((uint32_t)x + (uint32_t)y);
}
ACLE uint32_t acle_halves(uint32_t low, uint32_t high)
{
    return (low & 0xFFFF) | high << 16;
}

ACLE int32_t __smlad(int16x2_t x, int16x2_t y, int32_t sum)
{
    sum = acle_add(sum, acle_half(x, 0) * acle_half(y, 0));
    return acle_add(sum, acle_half(x, 1) * acle_half(y, 1));
}
#define PRODUCT(name, first, second)                                                               \
    ACLE int32_t name(int32_t x, int32_t y, int32_t sum)                                           \
    {                                                                                              \
        return acle_add(sum, acle_half(x, first) * acle_half(y, second));                          \
    }
PRODUCT(__smlabb, 0, 0)
PRODUCT(__smlabt, 0, 1)
PRODUCT(__smlatb, 1, 0)
PRODUCT(__smlatt, 1, 1)

/* The halves of x plus bytes 0 and 2 of y. */
ACLE int16x2_t __sxtab16(int16x2_t x, int8x4_t y)
{
    const uint32_t low = (uint32_t)x + (uint32_t)(int8_t)y;
    const uint32_t high = ((uint32_t)x >> 16) + (uint32_t)(int8_t)((uint32_t)y >> 16);
    return (int32_t)acle_halves(low, high);
}
ACLE uint16x2_t __uxtab16(uint16x2_t x, uint8x4_t y)
{
    return acle_halves(x + (y & 255), (x >> 16) + (y >> 16 & 255));
}
#endif
