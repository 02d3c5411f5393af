#include "kernels/block_ops.h"
#include "kernels/accel_parts.h"
#include "kernels/clones.h"
#include "kernels/int_parts.h"
#include "kernels/requant.h"
#include "kernels/rounding.h"

enum { ROW = 1024 };
static const int64_t FLOAT_LIMIT = (int64_t)1 << 22; /* as ITG_NO_FRACTION_F32 requires */

/* Rounds and clamps. A clamp to integers of float32 commutes with rounding. NaN: zero point. */
static inline int32_t nearest_code(float p, float low, float high, int32_t zero_point)
{
    return itg_nearest_f32(p == p ? p : 0.0F, low, high) + zero_point;
}

ITG_CLONES
static void quantize_row(const float *x, int64_t n, float scale, float low, float high,
                         int32_t zero_point, int32_t *q)
{
    for (int64_t i = 0; i < n; i++)
        q[i] = nearest_code(x[i] / scale, low, high, zero_point);
}

ITG_CLONES
static void quantize_each(const float *x, int64_t n, const float *scale, float low, float high,
                          int32_t zero_point, int32_t *q)
{
    for (int64_t i = 0; i < n; i++)
        q[i] = nearest_code(x[i] / scale[i], low, high, zero_point);
}

/* Quantizes elements [at, at + n) of x. each: scale has one number per element. */
static void quantize(const itg_quantizer *q, const float *x, int64_t at, int64_t n,
                     const float *scale, bool each, void *out)
{
    const int64_t low = q->qmin - q->zero_point, high = q->qmax - q->zero_point;
    const bool exact = low >= -FLOAT_LIMIT && high <= FLOAT_LIMIT;
    int32_t codes[ROW];
    for (int64_t first = 0; exact && first < n; first += ROW) {
        int64_t row = n - first < ROW ? n - first : ROW;
        if (each)
            quantize_each(x + at + first, row, scale + first, (float)low, (float)high,
                          q->zero_point, codes);
        else
            quantize_row(x + at + first, row, *scale, (float)low, (float)high, q->zero_point,
                         codes);
        itg_store_row(q->storage, out, at + first, row, codes);
    }
    for (int64_t i = 0; !exact && i < n; i++)
        itg_store(
            q->storage, out, at + i,
            itg_quantize_f32(x[at + i], scale[each ? i : 0], q->zero_point, q->qmin, q->qmax));
}

void itg_block_quantize(const itg_quantizer *q, const float *x, int64_t n, void *out)
{
    quantize(q, x, 0, n, q->scale, false, out);
}

void itg_block_quantize_columns(const itg_quantizer *q, const float *x, int64_t n, void *out)
{
    for (int64_t at = 0; at < n; at += q->scale_count)
        quantize(q, x, at, q->scale_count, q->scale, true, out);
}

/* The difference is exact in 64 bits; the conversion to float rounds once. */
#define DEQUANTIZE(ID, type)                                                                       \
    case ID:                                                                                       \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = (float)((int64_t)((const type *)x->data)[i] - zero) * scale;                  \
        break;

ITG_CLONES
static void dequantize(const itg_int_operand *x, int64_t n, float scale, float *out)
{
    const int64_t zero = x->zero_point;
    switch (x->storage) {
        DEQUANTIZE(ITG_S8, int8_t)
        DEQUANTIZE(ITG_U8, uint8_t)
        DEQUANTIZE(ITG_S16, int16_t)
        DEQUANTIZE(ITG_U16, uint16_t)
        DEQUANTIZE(ITG_S32, int32_t)
    default:
        for (int64_t i = 0; i < n; i++)
            out[i] = itg_dequantize_f32(itg_load(x->storage, x->data, i), scale, zero);
    }
}

void itg_block_dequantize(const itg_int_operand *x, int64_t n, float scale, float *out)
{
    dequantize(x, n, scale, out);
}

/* Three rows at a time: most is then loaded and stored a third as often. */
#define MAX(ID, type)                                                                              \
    case ID: {                                                                                     \
        type *m = most;                                                                            \
        for (int64_t r = 0; r < rows; r += 3) {                                                    \
            const type *a = (const type *)x + r * step;                                            \
            const type *b = r + 1 < rows ? a + step : a, *c = r + 2 < rows ? b + step : b;         \
            for (int64_t i = 0; i < n; i++) {                                                      \
                const type ab = a[i] > b[i] ? a[i] : b[i], cm = c[i] > m[i] ? c[i] : m[i];         \
                m[i] = ab > cm ? ab : cm;                                                          \
            }                                                                                      \
        }                                                                                          \
        break;                                                                                     \
    }

ITG_CLONES
static void max_rows(itg_dtype storage, const void *restrict x, int64_t rows, int64_t step,
                     int64_t n, void *restrict most)
{
    switch (storage) {
        MAX(ITG_S8, int8_t)
        MAX(ITG_U8, uint8_t)
        MAX(ITG_S16, int16_t)
        MAX(ITG_U16, uint16_t)
        MAX(ITG_S32, int32_t)
    default:
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < n; i++)
                if (itg_load(storage, x, r * step + i) > itg_load(storage, most, i))
                    itg_store(storage, most, i, itg_load(storage, x, r * step + i));
    }
}

void itg_block_max(itg_dtype storage, const void *x, int64_t rows, int64_t step, int64_t n,
                   void *most)
{
    max_rows(storage, x, rows, step, n, most);
}

#define ADD(ID, type)                                                                              \
    case ID: {                                                                                     \
        const type *v = x;                                                                         \
        for (int64_t i = 0; i < n; i++)                                                            \
            sum[i] += v[i];                                                                        \
        break;                                                                                     \
    }

ITG_CLONES
static void add_row(itg_dtype storage, const void *restrict x, int64_t n, int32_t *restrict sum)
{
    switch (storage) {
        ADD(ITG_S8, int8_t)
        ADD(ITG_U8, uint8_t)
        ADD(ITG_S16, int16_t)
        ADD(ITG_U16, uint16_t)
    default:
        break;
    }
}

void itg_block_add(itg_dtype storage, const void *x, int64_t n, int32_t *sum)
{
    add_row(storage, x, n, sum);
}

/* Bytes: a table for every code of the storage; codes beyond the range do not occur. */
static void lut_bytes(const itg_accel_kernels *kernels, const itg_int_operand *x, int64_t n,
                      const int32_t *table, uint8_t *out)
{
    uint8_t entry[256] = {0};
    const uint8_t *codes = x->data;
    for (int64_t q = x->qmin; q <= x->qmax; q++)
        entry[(uint8_t)q] = (uint8_t)table[q - x->qmin];
    if (kernels->look_up && kernels->look_up(entry, codes, n, out)) return;
    for (int64_t i = 0; i < n; i++)
        out[i] = entry[codes[i]];
}

static void lut_numbers(const itg_int_operand *x, int64_t n, const float *table, float *out)
{
    float number[256] = {0};
    const uint8_t *codes = x->data;
    for (int64_t q = x->qmin; q <= x->qmax; q++)
        number[(uint8_t)q] = table[q - x->qmin];
    for (int64_t i = 0; i < n; i++)
        out[i] = number[codes[i]];
}

/* half_up((b - a) * (code mod 2^shift) / 2^shift) + a of the entries a, b beside the code. */
static void lut_between(const itg_int_operand *x, int64_t n, const int32_t *table, int32_t shift,
                        itg_dtype out_storage, void *out)
{
    const int64_t mask = ((int64_t)1 << shift) - 1, half = (mask + 1) / 2, first = x->qmin >> shift;
    for (int64_t i = 0; i < n; i++) {
        const int64_t code = itg_clamp(itg_load(x->storage, x->data, i), x->qmin, x->qmax);
        const int32_t *entry = table + ((code >> shift) - first);
        const int64_t rise = (int64_t)entry[1] - entry[0];
        itg_store(out_storage, out, i, entry[0] + ((rise * (code & mask) + half) >> shift));
    }
}

void itg_block_lut(const itg_accel_kernels *kernels, const itg_lut *lut, const itg_int_operand *x,
                   int64_t n, void *out)
{
    if (lut->shift > 0) {
        lut_between(x, n, lut->table, lut->shift, lut->storage, out);
        return;
    }
    const bool bytes = itg_is_byte(x->storage) && x->qmin >= itg_dtype_min(x->storage) &&
                       x->qmax <= itg_dtype_max(x->storage);
    if (bytes && itg_is_byte(lut->storage)) {
        lut_bytes(kernels, x, n, lut->table, out);
        return;
    }
    if (bytes && lut->storage == ITG_F32) {
        lut_numbers(x, n, lut->table, out);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t code = itg_clamp(itg_load(x->storage, x->data, i), x->qmin, x->qmax);
        if (lut->storage == ITG_F32)
            ((float *)out)[i] = ((const float *)lut->table)[code - x->qmin];
        else
            itg_store(lut->storage, out, i, ((const int32_t *)lut->table)[code - x->qmin]);
    }
}
