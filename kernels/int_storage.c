/* Codes in, 64-bit integers out, and codes back to their storage. */
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
