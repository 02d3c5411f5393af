/* Sums and products in float32 of rows of codes. The sum of ONNX Runtime uses fused multiply-adds
 * if the processor has them. Where all codes are bytes they are read, combined and written in one
 * loop; otherwise rows are widened to 32 bits first. */
#include "kernels/block_float.h"
#include "kernels/clones.h"
#include "kernels/requant_span.h"
#include "kernels/rounding.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(ITG_NO_CLONES)
#define HAS_FMA() (__builtin_cpu_supports("fma") != 0)
#elif defined(__FP_FAST_FMAF)
#define HAS_FMA() true
#else
#define HAS_FMA() false
#endif

ITG_INLINE float add_f32(const itg_f32_add *k, int32_t a, int32_t b)
{
    return __builtin_fmaf((float)a, k->ra, __builtin_fmaf((float)b, k->rb, k->fixed));
}

/* itg_f32_mul_apply for products that are exact in 32 bits. */
ITG_INLINE float mul_f32(const itg_f32_mul *k, int32_t a, int32_t b)
{
    float scaled = (float)(a * b) * k->ratio;
    return scaled + k->zero;
}

/* ---- rows of 32 bits ---- */

enum { PART = ITG_SPAN };

#define ROW(NAME, OPERATION, constants)                                                            \
    ITG_CLONES                                                                                     \
    static void NAME(const constants *borrowed, const itg_epilogue *e, const int32_t *a,           \
                     const int32_t *b, int64_t n, int32_t *q)                                      \
    {                                                                                              \
        const constants k = *borrowed;                                                             \
        const float low = (float)e->lo, high = (float)e->hi;                                       \
        for (int64_t i = 0; i < n; i++)                                                            \
            q[i] = itg_nearest_f32(OPERATION(&k, a[i], b[i]), low, high);                          \
    }

ROW(add_f32_row, add_f32, itg_f32_add)
ROW(mul_f32_row, mul_f32, itg_f32_mul)

void itg_block_add_row(const itg_f32_add *k, const itg_epilogue *e, const int32_t *a,
                       const int32_t *b, int64_t n, void *y, int64_t first)
{
    int32_t q[PART];
    for (int64_t i = 0; i < n; i += PART) {
        const int64_t part = n - i < PART ? n - i : PART;
        if (HAS_FMA())
            add_f32_row(k, e, a + i, b + i, part, q);
        else
            itg_f32_add_span(k, a + i, b + i, part, e->lo, e->hi, q);
        itg_store_row(e->storage, y, first + i, part, q);
    }
}

void itg_block_mul_row(const itg_f32_mul *k, const itg_epilogue *e, const int32_t *a,
                       const int32_t *b, int64_t n, void *y, int64_t first)
{
    int32_t q[PART];
    for (int64_t i = 0; i < n; i += PART) {
        const int64_t part = n - i < PART ? n - i : PART;
        mul_f32_row(k, e, a + i, b + i, part, q);
        itg_store_row(e->storage, y, first + i, part, q);
    }
}

ITG_CLONES
static void float_row(const itg_int_binary *k, const itg_epilogue *e, const int32_t zero[2],
                      const int32_t *a, const int32_t *b, int64_t n, float *y)
{
    const float sa = k->scale_a, sb = k->scale_b, low = e->float_lo, high = e->float_hi;
    const int32_t za = zero[0], zb = zero[1];
    const bool product = k->form == ITG_BINARY_F32_PRODUCT, subtracts = k->sign < 0;
    for (int64_t i = 0; i < n; i++) {
        const float x = (float)(a[i] - za) * sa, z = (float)(b[i] - zb) * sb;
        const float v = product ? x * z : subtracts ? x - z : x + z;
        y[i] = v < low ? low : v > high ? high : v;
    }
}

void itg_block_float_row(const itg_int_binary *k, const itg_epilogue *e, const int32_t zero[2],
                         const int32_t *a, const int32_t *b, int64_t n, float *y)
{
    float_row(k, e, zero, a, b, n, y);
}

/* ---- bytes ---- */

/* Unsigned codes without zero points, the common ones, have a loop without their operations. */
#define BYTES(NAME, OPERATION, constants)                                                          \
    ITG_INLINE void NAME##_less(const constants *borrowed, const itg_float_bytes *f,               \
                                const uint8_t flip[2], const int32_t zero[2])                      \
    {                                                                                              \
        const constants k = *borrowed;                                                             \
        const uint8_t *restrict a = f->a, *restrict b = f->b;                                      \
        const float low = f->low, high = f->high;                                                  \
        const int64_t n = f->n;                                                                    \
        uint8_t *restrict y = f->y;                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const int32_t x = (uint8_t)(a[i] ^ flip[0]) - zero[0];                                 \
            const int32_t z = (uint8_t)(b[i] ^ flip[1]) - zero[1];                                 \
            y[i] = (uint8_t)itg_nearest_f32(OPERATION(&k, x, z), low, high);                       \
        }                                                                                          \
    }                                                                                              \
    ITG_CLONES                                                                                     \
    static void NAME(const constants *k, const itg_float_bytes *f)                                 \
    {                                                                                              \
        if (f->flip[0] == 0 && f->flip[1] == 0 && f->zero[0] == 0 && f->zero[1] == 0)              \
            NAME##_less(k, f, (const uint8_t[2]){0, 0}, (const int32_t[2]){0, 0});                 \
        else                                                                                       \
            NAME##_less(k, f, (const uint8_t[2]){f->flip[0], f->flip[1]},                          \
                        (const int32_t[2]){f->zero[0], f->zero[1]});                               \
    }

BYTES(add_f32_bytes, add_f32, itg_f32_add)
BYTES(mul_f32_bytes, mul_f32, itg_f32_mul)

bool itg_block_add_bytes(const itg_f32_add *k, const itg_float_bytes *f)
{
    if (!HAS_FMA()) return false;
    add_f32_bytes(k, f);
    return true;
}

void itg_block_mul_bytes(const itg_f32_mul *k, const itg_float_bytes *f)
{
    mul_f32_bytes(k, f);
}
