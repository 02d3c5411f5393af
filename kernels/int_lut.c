/* Table look-up: every univariate function of a code. */
#include "kernels/int_ops.h"
#include "kernels/requant.h"

static int64_t code_of(const itg_int_operand *x, int64_t i)
{
    return itg_clamp(itg_load(x->storage, x->data, i), x->qmin, x->qmax) - x->qmin;
}

void itg_int_lut(const itg_int_operand *x, int64_t n, const int32_t *table, itg_dtype out_storage,
                 void *out)
{
    if (x->storage == ITG_S8 && x->qmin >= INT8_MIN && x->qmax <= INT8_MAX &&
        out_storage == ITG_S8) {
        const int8_t *in = x->data;
        for (int64_t i = 0; i < n; i++)
            ((int8_t *)out)[i] = (int8_t)table[itg_clamp(in[i], x->qmin, x->qmax) - x->qmin];
        return;
    }
    for (int64_t i = 0; i < n; i++)
        itg_store(out_storage, out, i, table[code_of(x, i)]);
}
