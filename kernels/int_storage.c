/* Reads rows of codes as 64-bit integers, and stores codes. */
#include "kernels/int_parts.h"
#include "kernels/clones.h"

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
