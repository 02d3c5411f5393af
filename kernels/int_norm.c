/* Rows of Softmax and LayerNormalization in integers. */
#include "kernels/int_parts.h"
#include "kernels/math.h"

/* ---- Softmax ---- */

static int64_t exponential(const itg_int_softmax *k, int64_t d)
{
    const int64_t half = INT64_C(1) << (k->fraction - 1);
    return (k->fine[d & 255] * (int64_t)k->coarse[d >> 8] + half) >> k->fraction;
}

void itg_int_softmax_row(const itg_int_softmax *k, const itg_int_operand *x, int64_t first,
                         int64_t *acc)
{
    const int64_t end = k->count * k->stride;
    int64_t greatest = x->qmin, sum = 0;
    for (int64_t i = 0; i < end; i += k->stride) {
        acc[i] = itg_load(x->storage, x->data, first + i);
        acc[i] = acc[i] < x->qmin ? x->qmin : acc[i] > x->qmax ? x->qmax : acc[i];
        greatest = acc[i] > greatest ? acc[i] : greatest;
    }
    for (int64_t i = 0; i < end; i += k->stride)
        sum += acc[i] = exponential(k, greatest - acc[i]);
    for (int64_t i = 0; i < end; i += k->stride)
        acc[i] = (acc[i] * (INT64_C(1) << ITG_PROBABILITY_BITS) + (sum >> 1)) / sum;
}

/* ---- LayerNormalization ---- */

/* floor(sqrt(v)); the root in double is off by at most one. */
static int64_t root_of(int64_t v)
{
    int64_t root = (int64_t)itg_sqrt((double)v);
    while (root * root > v)
        root--;
    while ((root + 1) * (root + 1) <= v)
        root++;
    return root;
}

void itg_int_layer_norm_row(const itg_int_layer_norm *k, const itg_int_operand *x, int64_t first,
                            int64_t *acc)
{
    int64_t sum = 0, squares = 0;
    int32_t shift = 0;
    for (int64_t i = 0; i < k->count; i++) {
        const int64_t v = itg_load(x->storage, x->data, first + i) - x->zero_point;
        acc[i] = v;
        sum += v;
        squares += v * v;
    }
    int64_t square = k->count * squares - sum * sum + k->epsilon;
    for (; square < INT64_C(1) << 60; shift++)
        square *= 4;
    const int64_t root = root_of(square), half = root >> 1,
                  unit = INT64_C(1) << (shift + k->fraction);
    for (int64_t i = 0; i < k->count; i++) {
        const int64_t d = (k->count * acc[i] - sum) * unit;
        const int64_t normalized = d < 0 ? -((half - d) / root) : (half + d) / root;
        acc[i] = normalized * k->gain[i] + k->bias[i];
    }
}
