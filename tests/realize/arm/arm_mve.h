/* The intrinsics of Arm's arm_mve.h that emitted C uses, in plain C, after the Armv8-M Architecture
 * Reference Manual: the C for Helium runs under the sanitizers of any machine. Lanes without a
 * predicate are neither read nor written in memory. */
#ifndef ITG_TEST_ARM_MVE_H
#define ITG_TEST_ARM_MVE_H
#include <stdint.h>
#include <string.h>

#define VECTOR(type, lanes, name)                                                                  \
    typedef struct name {                                                                          \
        type v[lanes];                                                                             \
    } name;
VECTOR(int8_t, 16, int8x16_t)
VECTOR(uint8_t, 16, uint8x16_t)
VECTOR(int16_t, 8, int16x8_t)
VECTOR(int32_t, 4, int32x4_t)
VECTOR(uint32_t, 4, uint32x4_t)
typedef uint16_t mve_pred16_t; /* a bit for each byte */

#define MVE static inline __attribute__((unused))
#define EACH(i, lanes) for (int i = 0; i < (lanes); i++)

MVE int64_t mve_limit(int64_t v, int bits)
{
    const int64_t most = ((int64_t)1 << (bits - 1)) - 1;
    return v > most ? most : v < -most - 1 ? -most - 1 : v;
}

/* ---- predicates ---- */
MVE mve_pred16_t vctp8q(uint32_t n)
{
    return (mve_pred16_t)(n >= 16 ? 0xFFFF : (1u << n) - 1);
}
MVE mve_pred16_t vctp32q(uint32_t n)
{
    return vctp8q(n >= 4 ? 16 : n * 4);
}

MVE mve_pred16_t vcmphiq_u8(uint8x16_t x, uint8x16_t y)
{
    uint32_t on = 0;
    EACH(i, 16)
    on |= x.v[i] > y.v[i] ? 1u << i : 0;
    return (mve_pred16_t)on;
}

/* ---- memory; NAME: a load or store of whole vectors and its predicated form ---- */
#define LOAD(name, vector, type, lanes, bytes)                                                     \
    MVE vector name##_z_##type##_(const void *p, mve_pred16_t on)                                  \
    {                                                                                              \
        vector y;                                                                                  \
        EACH(i, lanes)                                                                             \
        y.v[i] = (on >> (i * 16 / (lanes)) & 1) != 0 ? ((const bytes *)p)[i] : 0;                  \
        return y;                                                                                  \
    }
LOAD(vldrbq, uint8x16_t, u8, 16, uint8_t)
LOAD(vldrbq, int8x16_t, s8, 16, int8_t)
LOAD(vldrbq, int32x4_t, s32, 4, int8_t)
LOAD(vldrbq, uint32x4_t, u32, 4, uint8_t)
LOAD(vldrhq, int32x4_t, s32, 4, int16_t)
LOAD(vldrhq, uint32x4_t, u32, 4, uint16_t)
LOAD(vldrwq, int32x4_t, s32, 4, int32_t)
#define vldrbq_u8(p) vldrbq_z_u8_(p, 0xFFFF)
#define vldrbq_z_u8 vldrbq_z_u8_
#define vldrbq_s8(p) vldrbq_z_s8_(p, 0xFFFF)
#define vldrbq_z_s8 vldrbq_z_s8_
#define vldrbq_s32(p) vldrbq_z_s32_(p, 0xFFFF)
#define vldrbq_z_s32 vldrbq_z_s32_
#define vldrbq_u32(p) vldrbq_z_u32_(p, 0xFFFF)
#define vldrbq_z_u32 vldrbq_z_u32_
#define vldrhq_s32(p) vldrhq_z_s32_(p, 0xFFFF)
#define vldrhq_z_s32 vldrhq_z_s32_
#define vldrhq_z_u32 vldrhq_z_u32_
#define vldrwq_s32(p) vldrwq_z_s32_(p, 0xFFFF)
#define vldrwq_z_s32 vldrwq_z_s32_

#define STORE(type, vector, lanes, bytes)                                                          \
    MVE void vstrbq_p_##type(bytes *p, vector x, mve_pred16_t on)                                  \
    {                                                                                              \
        EACH(i, lanes)                                                                             \
        if ((on >> (i * 16 / (lanes)) & 1) != 0) p[i] = (bytes)x.v[i];                             \
    }                                                                                              \
    MVE void vstrbq_##type(bytes *p, vector x)                                                     \
    {                                                                                              \
        vstrbq_p_##type(p, x, 0xFFFF);                                                             \
    }
STORE(u8, uint8x16_t, 16, uint8_t)
STORE(s8, int8x16_t, 16, int8_t)
STORE(s32, int32x4_t, 4, int8_t)

MVE void vstrwq_p_s32(int32_t *p, int32x4_t x, mve_pred16_t on)
{
    EACH(i, 4)
    if ((on >> (i * 4) & 1) != 0) p[i] = x.v[i];
}
MVE uint8x16_t vldrbq_gather_offset_z_u8(const uint8_t *p, uint8x16_t offset, mve_pred16_t on)
{
    uint8x16_t y;
    EACH(i, 16)
    y.v[i] = (on >> i & 1) != 0 ? p[offset.v[i]] : 0;
    return y;
}
MVE uint8x16_t vldrbq_gather_offset_u8(const uint8_t *p, uint8x16_t offset)
{
    return vldrbq_gather_offset_z_u8(p, offset, 0xFFFF);
}
MVE int32x4_t vldrwq_gather_shifted_offset_z_s32(const int32_t *p, uint32x4_t at, mve_pred16_t on)
{
    int32x4_t y;
    EACH(i, 4)
    y.v[i] = (on >> (4 * i) & 1) != 0 ? p[at.v[i]] : 0;
    return y;
}
/* Addresses have 32 bits there: here the lower ones of what lies near to the program's constants.
 */
MVE uint32x4_t vldrwq_gather_base_u32(uint32x4_t from, int at)
{
    static const char near = 0;
    const uintptr_t base = (uintptr_t)&near;
    uint32x4_t y;
    EACH(i, 4)
    {
        const int32_t far = (int32_t)(from.v[i] + (uint32_t)at - (uint32_t)base);
        memcpy(&y.v[i], (const void *)(base + (uintptr_t)(intptr_t)far), sizeof y.v[i]);
    }
    return y;
}
MVE void vstrbq_scatter_offset_p_u8(uint8_t *p, uint8x16_t offset, uint8x16_t x, mve_pred16_t on)
{
    EACH(i, 16)
    if ((on >> i & 1) != 0) p[offset.v[i]] = x.v[i];
}
MVE void vstrbq_scatter_offset_u8(uint8_t *p, uint8x16_t offset, uint8x16_t x)
{
    vstrbq_scatter_offset_p_u8(p, offset, x, 0xFFFF);
}

/* ---- lane by lane: a and b are lanes, n a scalar ---- */
#define UNARY(name, vector, lanes, type, scalar, expression)                                       \
    MVE vector name(vector x, scalar n)                                                            \
    {                                                                                              \
        EACH(i, lanes)                                                                             \
        {                                                                                          \
            const int64_t a = x.v[i];                                                              \
            x.v[i] = (type)(expression);                                                           \
        }                                                                                          \
        return x;                                                                                  \
    }
#define BINARY(name, vector, lanes, type, expression)                                              \
    MVE vector name(vector x, vector y)                                                            \
    {                                                                                              \
        EACH(i, lanes)                                                                             \
        {                                                                                          \
            const int64_t a = x.v[i], b = y.v[i];                                                  \
            x.v[i] = (type)(expression);                                                           \
        }                                                                                          \
        return x;                                                                                  \
    }
MVE int64_t mve_doubling_high(int64_t a, int64_t b) /* 32 bits each */
{
    return mve_limit((a * b + (INT64_C(1) << 30)) >> 31, 32);
}
MVE int64_t mve_shift(int64_t a, int32_t n) /* VSHL by a register: to the right if negative */
{
    return n >= 0 ? (int64_t)((uint64_t)a << n) : a >> -n;
}
MVE int64_t mve_rounding_shift(int64_t a, int32_t n)
{
    return n >= 0 ? mve_shift(a, n) : (a + (INT64_C(1) << (-n - 1))) >> -n;
}
BINARY(vaddq_u8, uint8x16_t, 16, uint8_t, a + b)
BINARY(vsubq_u8, uint8x16_t, 16, uint8_t, a - b)
BINARY(vandq_u8, uint8x16_t, 16, uint8_t, a &b)
BINARY(vorrq_u8, uint8x16_t, 16, uint8_t, a | b)
BINARY(veorq_u8, uint8x16_t, 16, uint8_t, a ^ b)
BINARY(vmaxq_s8, int8x16_t, 16, int8_t, a > b ? a : b)
BINARY(vminq_s8, int8x16_t, 16, int8_t, a < b ? a : b)
BINARY(vaddq_s16, int16x8_t, 8, int16_t, a + b)
BINARY(vaddq_s32, int32x4_t, 4, int32_t, a + b)
BINARY(vsubq_s32, int32x4_t, 4, int32_t, a - b)
BINARY(vandq_s32, int32x4_t, 4, int32_t, a &b)
BINARY(vmaxq_s32, int32x4_t, 4, int32_t, a > b ? a : b)
BINARY(vminq_s32, int32x4_t, 4, int32_t, a < b ? a : b)
BINARY(vqaddq_s32, int32x4_t, 4, int32_t, mve_limit(a + b, 32))
BINARY(vqrdmulhq_s32, int32x4_t, 4, int32_t, mve_doubling_high(a, b))
BINARY(vshlq_s32, int32x4_t, 4, int32_t, mve_shift(a, (int8_t)b))
BINARY(vrshlq_s32, int32x4_t, 4, int32_t, mve_rounding_shift(a, (int8_t)b))
BINARY(vmulq_s32, int32x4_t, 4, int32_t, a *b)
UNARY(vsubq_n_s32, int32x4_t, 4, int32_t, int32_t, a - n)
UNARY(vaddq_n_s32, int32x4_t, 4, int32_t, int32_t, a + n)
UNARY(vmulq_n_s32, int32x4_t, 4, int32_t, int32_t, a *n)
UNARY(vrshrq_n_s32, int32x4_t, 4, int32_t, int32_t, mve_rounding_shift(a, -n))
UNARY(vsubq_n_u8, uint8x16_t, 16, uint8_t, uint8_t, a - n)
UNARY(vqaddq_n_s32, int32x4_t, 4, int32_t, int32_t, mve_limit(a + n, 32))
UNARY(vqrdmulhq_n_s32, int32x4_t, 4, int32_t, int32_t, mve_doubling_high(a, n))
UNARY(vshlq_n_s32, int32x4_t, 4, int32_t, int32_t, mve_shift(a, n))
UNARY(vshrq_n_s32, int32x4_t, 4, int32_t, int32_t, a >> n)
UNARY(vrshlq_n_s32, int32x4_t, 4, int32_t, int32_t, mve_rounding_shift(a, (int8_t)n))
UNARY(vshlq_r_u8, uint8x16_t, 16, uint8_t, int32_t, mve_shift(a, (int8_t)n))
UNARY(vmulq_n_u8, uint8x16_t, 16, uint8_t, uint8_t, a *n)
UNARY(vshrq_n_u8, uint8x16_t, 16, uint8_t, int32_t, a >> n)
BINARY(vminq_u32, uint32x4_t, 4, uint32_t, a < b ? a : b)
UNARY(vaddq_n_u32, uint32x4_t, 4, uint32_t, uint32_t, a + n)
UNARY(vmulq_n_u32, uint32x4_t, 4, uint32_t, uint32_t, a *n)
UNARY(vshrq_n_u32, uint32x4_t, 4, uint32_t, int32_t, a >> n)
UNARY(vshlq_r_u32, uint32x4_t, 4, uint32_t, int32_t, mve_shift(a, (int8_t)n))
BINARY(vaddq_u32, uint32x4_t, 4, uint32_t, a + b)
BINARY(vsubq_u32, uint32x4_t, 4, uint32_t, a - b)
BINARY(vrmulhq_u32, uint32x4_t, 4, uint32_t,
       ((uint64_t)a * (uint64_t)b + (UINT64_C(1) << 31)) >> 32)

MVE int32x4_t vabsq_s32(int32x4_t x)
{
    EACH(i, 4)
    x.v[i] = x.v[i] < 0 ? (int32_t)(0 - (uint32_t)x.v[i]) : x.v[i];
    return x;
}
MVE int32x4_t vmlaq_n_s32(int32x4_t sum, int32x4_t x, int32_t n)
{
    EACH(i, 4)
    sum.v[i] = (int32_t)((uint32_t)sum.v[i] + (uint32_t)x.v[i] * (uint32_t)n);
    return sum;
}
MVE mve_pred16_t vcmpcsq_n_u32(uint32x4_t x, uint32_t n)
{
    uint32_t on = 0;
    EACH(i, 4)
    on |= x.v[i] >= n ? 15u << (4 * i) : 0;
    return (mve_pred16_t)on;
}
MVE mve_pred16_t vcmpltq_n_s32(int32x4_t x, int32_t n)
{
    uint32_t on = 0;
    EACH(i, 4)
    on |= x.v[i] < n ? 15u << (4 * i) : 0;
    return (mve_pred16_t)on;
}
MVE uint32x4_t vaddq_m_n_u32(uint32x4_t inactive, uint32x4_t x, uint32_t n, mve_pred16_t on)
{
    EACH(i, 4)
    if ((on >> (4 * i) & 1) != 0) inactive.v[i] = x.v[i] + n;
    return inactive;
}
MVE int32x4_t vnegq_m_s32(int32x4_t inactive, int32x4_t x, mve_pred16_t on)
{
    EACH(i, 4)
    if ((on >> (4 * i) & 1) != 0) inactive.v[i] = (int32_t)(0 - (uint32_t)x.v[i]);
    return inactive;
}

MVE uint8x16_t veorq_m_u8(uint8x16_t inactive, uint8x16_t x, uint8x16_t y, mve_pred16_t on)
{
    EACH(i, 16)
    if ((on >> i & 1) != 0) inactive.v[i] = x.v[i] ^ y.v[i];
    return inactive;
}

/* ---- to and from scalars ---- */
#define DUPLICATE(name, vector, lanes, type)                                                       \
    MVE vector name(type n)                                                                        \
    {                                                                                              \
        vector y;                                                                                  \
        EACH(i, lanes)                                                                             \
        y.v[i] = n;                                                                                \
        return y;                                                                                  \
    }
DUPLICATE(vdupq_n_u8, uint8x16_t, 16, uint8_t)
DUPLICATE(vdupq_n_s8, int8x16_t, 16, int8_t)
DUPLICATE(vdupq_n_s32, int32x4_t, 4, int32_t)
DUPLICATE(vdupq_n_u32, uint32x4_t, 4, uint32_t)
MVE uint32x4_t vidupq_n_u32(uint32_t first, int by)
{
    uint32x4_t y;
    EACH(i, 4)
    y.v[i] = first + (uint32_t)(i * by);
    return y;
}
MVE uint8x16_t vidupq_n_u8(uint32_t first, int by)
{
    uint8x16_t y;
    EACH(i, 16)
    y.v[i] = (uint8_t)(first + (uint32_t)(i * by));
    return y;
}
MVE int32x4_t vsetq_lane_s32(int32_t n, int32x4_t x, int lane)
{
    x.v[lane] = n;
    return x;
}
MVE uint32_t vaddvaq_p_u8(uint32_t sum, uint8x16_t x, mve_pred16_t on)
{
    EACH(i, 16)
    sum += (on >> i & 1) != 0 ? x.v[i] : 0;
    return sum;
}
MVE uint32_t vaddvaq_u8(uint32_t sum, uint8x16_t x)
{
    return vaddvaq_p_u8(sum, x, 0xFFFF);
}
MVE int32_t vaddvaq_s8(int32_t sum, int8x16_t x)
{
    EACH(i, 16)
    sum += x.v[i];
    return sum;
}
MVE int32_t vaddvaq_p_s32(int32_t sum, int32x4_t x, mve_pred16_t on)
{
    EACH(i, 4)
    sum += (on >> (4 * i) & 1) != 0 ? x.v[i] : 0;
    return sum;
}
MVE int8_t vmaxvq_p_s8(int8_t most, int8x16_t x, mve_pred16_t on)
{
    EACH(i, 16)
    most = (on >> i & 1) != 0 && x.v[i] > most ? x.v[i] : most;
    return most;
}
MVE uint8_t vmaxvq_p_u8(uint8_t most, uint8x16_t x, mve_pred16_t on)
{
    EACH(i, 16)
    most = (on >> i & 1) != 0 && x.v[i] > most ? x.v[i] : most;
    return most;
}
MVE int32_t vmladavaq_s8(int32_t sum, int8x16_t x, int8x16_t y)
{
    EACH(i, 16)
    sum += x.v[i] * y.v[i];
    return sum;
}
MVE uint32_t vmladavaq_u8(uint32_t sum, uint8x16_t x, uint8x16_t y)
{
    EACH(i, 16)
    sum += (uint32_t)x.v[i] * y.v[i];
    return sum;
}

/* ---- wide and narrow: b the even lanes, t the odd ones ---- */
#define WIDEN(half, first)                                                                         \
    MVE int16x8_t vmull##half##q_int_s8(int8x16_t x, int8x16_t y)                                  \
    {                                                                                              \
        int16x8_t z;                                                                               \
        EACH(i, 8)                                                                                 \
        z.v[i] = (int16_t)(x.v[2 * i + first] * y.v[2 * i + first]);                               \
        return z;                                                                                  \
    }                                                                                              \
    MVE int32x4_t vmovl##half##q_s16(int16x8_t x)                                                  \
    {                                                                                              \
        int32x4_t z;                                                                               \
        EACH(i, 4)                                                                                 \
        z.v[i] = x.v[2 * i + first];                                                               \
        return z;                                                                                  \
    }                                                                                              \
    MVE int16x8_t vqmovn##half##q_s32(int16x8_t z, int32x4_t x)                                    \
    {                                                                                              \
        EACH(i, 4)                                                                                 \
        z.v[2 * i + first] = (int16_t)mve_limit(x.v[i], 16);                                       \
        return z;                                                                                  \
    }                                                                                              \
    MVE int8x16_t vqmovn##half##q_s16(int8x16_t z, int16x8_t x)                                    \
    {                                                                                              \
        EACH(i, 8)                                                                                 \
        z.v[2 * i + first] = (int8_t)mve_limit(x.v[i], 8);                                         \
        return z;                                                                                  \
    }
WIDEN(b, 0)
WIDEN(t, 1)
#define REINTERPRET(name, to, from)                                                                \
    MVE to name(from x)                                                                            \
    {                                                                                              \
        to y;                                                                                      \
        memcpy(&y, &x, sizeof y);                                                                  \
        return y;                                                                                  \
    }
REINTERPRET(vreinterpretq_s32_u32, int32x4_t, uint32x4_t)
REINTERPRET(vreinterpretq_u32_s32, uint32x4_t, int32x4_t)
REINTERPRET(vreinterpretq_s16_s32, int16x8_t, int32x4_t)
REINTERPRET(vreinterpretq_u8_u32, uint8x16_t, uint32x4_t)
REINTERPRET(vreinterpretq_u32_u8, uint32x4_t, uint8x16_t)
REINTERPRET(vreinterpretq_s8_s16, int8x16_t, int16x8_t)
#endif
