/* Codes in, 16-bit or 64-bit integers out, and codes back to their storage: the only place that
 * looks at storage types element by element. */
#include "kernels/int_parts.h"
#include "kernels/clones.h"

int64_t itg_load(itg_dtype storage, const void *data, int64_t index)
{
    switch (storage) {
    case ITG_S8:
        return ((const int8_t *)data)[index];
    case ITG_U8:
    case ITG_BOOL:
        return ((const uint8_t *)data)[index];
    case ITG_S16:
        return ((const int16_t *)data)[index];
    case ITG_U16:
        return ((const uint16_t *)data)[index];
    case ITG_S32:
        return ((const int32_t *)data)[index];
    case ITG_U32:
        return ((const uint32_t *)data)[index];
    case ITG_S64:
        return ((const int64_t *)data)[index];
    case ITG_F32:
        return (int64_t)((const float *)data)[index];
    case ITG_F64:
        return (int64_t)((const double *)data)[index];
    default:
        return 0;
    }
}

void itg_store(itg_dtype storage, void *data, int64_t index, int64_t value)
{
    switch (storage) {
    case ITG_S8:
        ((int8_t *)data)[index] = (int8_t)value;
        break;
    case ITG_U8:
    case ITG_BOOL:
        ((uint8_t *)data)[index] = (uint8_t)value;
        break;
    case ITG_S16:
        ((int16_t *)data)[index] = (int16_t)value;
        break;
    case ITG_U16:
        ((uint16_t *)data)[index] = (uint16_t)value;
        break;
    case ITG_S32:
        ((int32_t *)data)[index] = (int32_t)value;
        break;
    case ITG_U32:
        ((uint32_t *)data)[index] = (uint32_t)value;
        break;
    case ITG_S64:
        ((int64_t *)data)[index] = value;
        break;
    case ITG_F32:
        ((float *)data)[index] = (float)value;
        break;
    case ITG_F64:
        ((double *)data)[index] = (double)value;
        break;
    default:
        break;
    }
}

ITG_CLONES
static void store_row(itg_dtype storage, void *data, int64_t first, int64_t n, const int32_t *q)
{
    switch (storage) {
#define STORE(ID, type)                                                                            \
    case ID: {                                                                                     \
        type *out = (type *)data + first;                                                          \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = (type)q[i];                                                                   \
        break;                                                                                     \
    }
        STORE(ITG_S8, int8_t)
        STORE(ITG_U8, uint8_t)
        STORE(ITG_S16, int16_t)
        STORE(ITG_U16, uint16_t)
        STORE(ITG_S32, int32_t)
#undef STORE
    default:
        for (int64_t i = 0; i < n; i++)
            itg_store(storage, data, first + i, q[i]);
    }
}

void itg_store_row(itg_dtype storage, void *data, int64_t first, int64_t n, const int32_t *q)
{
    store_row(storage, data, first, n, q);
}

/* Bounds of the codes: as stated, within what the storage holds. */
static void code_range(const itg_int_operand *x, int64_t *lo, int64_t *hi)
{
    int64_t least = itg_dtype_min(x->storage), most = itg_dtype_max(x->storage);
    bool stated = x->qmin < x->qmax;
    *lo = stated && x->qmin > least ? x->qmin : least;
    *hi = stated && x->qmax < most ? x->qmax : most;
}

itg_packing itg_packing_of(const itg_int_operand *x)
{
    itg_packing p = {false, 0, 0, 0};
    bool narrow = x->storage == ITG_S8 || x->storage == ITG_U8 || x->storage == ITG_S16 ||
                  x->storage == ITG_U16;
    const int64_t limit = INT16_MAX;
    if (!narrow || x->zero_point < -2 * limit || x->zero_point > 4 * limit) return p;
    int64_t lo, hi;
    code_range(x, &lo, &hi);
    p.subtract = x->zero_point;
    if (lo - p.subtract < -limit - 1 || hi - p.subtract > limit) {
        p.subtract = x->storage == ITG_U16 ? limit + 1 : 0;
        p.residue = x->zero_point - p.subtract;
    }
    int64_t below = p.subtract - lo, above = hi - p.subtract;
    p.magnitude = below > above ? below : above;
    p.fits = p.residue >= -limit - 1 && p.residue <= limit;
    return p;
}

ITG_CLONES
static void pack_row(const itg_int_operand *x, int64_t first, int64_t count, int32_t s,
                     int16_t *out)
{
    switch (x->storage) {
#define PACK(ID, type)                                                                             \
    case ID: {                                                                                     \
        const type *in = (const type *)x->data + first;                                            \
        for (int64_t i = 0; i < count; i++)                                                        \
            out[i] = (int16_t)(in[i] - s);                                                         \
        break;                                                                                     \
    }
        PACK(ITG_S8, int8_t)
        PACK(ITG_U8, uint8_t)
        PACK(ITG_S16, int16_t)
        PACK(ITG_U16, uint16_t)
#undef PACK
    default:
        break; /* itg_packing_of: does not fit */
    }
}

void itg_pack_row(const itg_int_operand *x, int64_t first, int64_t count, int64_t subtract,
                  int16_t *out)
{
    pack_row(x, first, count, (int32_t)subtract, out);
}

void itg_pack_transposed(const itg_int_operand *x, int64_t first, int64_t rows, int64_t row_stride,
                         int64_t columns, int64_t subtract, int16_t *out, int64_t out_stride)
{
    enum { BLOCK = 64 };
    int16_t row[BLOCK];
    for (int64_t j0 = 0; j0 < columns; j0 += BLOCK) {
        int64_t n = columns - j0 < BLOCK ? columns - j0 : BLOCK;
        for (int64_t r = 0; r < rows; r++) {
            itg_pack_row(x, first + r * row_stride + j0, n, subtract, row);
            for (int64_t j = 0; j < n; j++)
                out[(j0 + j) * out_stride + r] = row[j];
        }
    }
}

void itg_widen_row(const itg_int_operand *x, int64_t first, int64_t count, int64_t stride,
                   int64_t *out)
{
    const int64_t zero = x->zero_point;
    switch (x->storage) {
#define WIDEN(ID, type)                                                                            \
    case ID: {                                                                                     \
        const type *in = (const type *)x->data + first;                                            \
        for (int64_t i = 0; i < count; i++)                                                        \
            out[i] = in[i * stride] - zero;                                                        \
        break;                                                                                     \
    }
        WIDEN(ITG_S8, int8_t)
        WIDEN(ITG_U8, uint8_t)
        WIDEN(ITG_S16, int16_t)
        WIDEN(ITG_U16, uint16_t)
        WIDEN(ITG_S32, int32_t)
#undef WIDEN
    default:
        for (int64_t i = 0; i < count; i++)
            out[i] = itg_load(x->storage, x->data, first + i * stride) - zero;
    }
}

int64_t itg_sum_row(const int16_t *v, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += v[i];
    return sum;
}
