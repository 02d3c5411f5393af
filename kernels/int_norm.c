/* Rows of Softmax and LayerNormalization in integers. */
#include "kernels/clones.h"
#include "kernels/int_parts.h"
#include "kernels/math.h"
#include "kernels/requant.h"

/* ---- Softmax ---- */

ITG_CLONES static int64_t greatest_of(int64_t n, int64_t qmin, int64_t qmax, int64_t *acc)
{
    int64_t greatest = qmin;
    for (int64_t i = 0; i < n; i++) {
        const int64_t raised = acc[i] < qmin ? qmin : acc[i];
        acc[i] = raised > qmax ? qmax : raised;
        greatest = acc[i] > greatest ? acc[i] : greatest;
    }
    return greatest;
}

/* acc[i] = code first + i, limited to the range, for i = 0, stride, 2 stride... below end. Returns
 * the greatest. */
static int64_t load_row(const itg_int_operand *x, int64_t first, int64_t end, int64_t stride,
                        int64_t *acc)
{
    if (stride == 1) {
        itg_int_operand raw = *x;
        raw.zero_point = 0;
        itg_widen_row(&raw, first, end, 1, acc);
        return greatest_of(end, x->qmin, x->qmax, acc);
    }
    int64_t greatest = x->qmin;
    for (int64_t i = 0; i < end; i += stride) {
        acc[i] = itg_clamp(itg_load(x->storage, x->data, first + i), x->qmin, x->qmax);
        greatest = acc[i] > greatest ? acc[i] : greatest;
    }
    return greatest;
}

static int64_t exponential(const itg_int_softmax *k, int64_t d)
{
    const int64_t half = INT64_C(1) << (k->fraction - 1);
    return (k->fine[d & 255] * (int64_t)k->coarse[d >> 8] + half) >> k->fraction;
}

void itg_int_softmax_row(const itg_int_softmax *k, const itg_int_operand *x, int64_t first,
                         int64_t *acc)
{
    const int64_t end = k->count * k->stride;
    int64_t sum = 0;
    const int64_t greatest = load_row(x, first, end, k->stride, acc);
    for (int64_t i = 0; i < end; i += k->stride)
        sum += acc[i] = exponential(k, greatest - acc[i]);
    for (int64_t i = 0; i < end; i += k->stride)
        acc[i] = (acc[i] * (INT64_C(1) << ITG_PROBABILITY_BITS) + (sum >> 1)) / sum;
}

/* ---- Softmax of TensorFlow Lite: gemmlowp's fixed point, as CMSIS-NN's arm_softmax_s8 ---- */

/* a * b / 2^31, half up. */
static int64_t high_product(int64_t a, int64_t b)
{
    return (a * b + (INT64_C(1) << 30)) >> 31;
}

static int64_t half_away(int64_t v, int32_t shift)
{
    const int64_t half = INT64_C(1) << (shift - 1);
    return v < 0 ? -((half - v) >> shift) : (v + half) >> shift;
}

/* 2^31 * exp(v / 2^26), -31 * 2^26 <= v <= 0: a polynomial of degree 4 about -1/8 for what is left
 * of quarters, and a factor for each bit of their number. */
static int64_t fixed_exponential(int64_t v)
{
    static const int64_t factor[] = {1672461947, 1302514674, 790015084, 290630308,
                                     39332535,   720401,     242};
    const int64_t eighth = 1895147668, third = 715827883, quarter = INT64_C(1) << 24;
    if (v == 0) return INT32_MAX;
    const int64_t part = -1 - (-1 - v) % quarter, quarters = (part - v) / quarter,
                  x = part * 32 + (INT64_C(1) << 28), x2 = high_product(x, x);
    const int64_t higher = half_away(high_product(x2, x2), 2) + high_product(x2, x);
    int64_t y = eighth + high_product(eighth, x + half_away(high_product(higher, third) + x2, 1));
    for (int32_t i = 0; i < 7; i++)
        if (quarters >> i & 1) y = high_product(y, factor[i]);
    return y;
}

void itg_int_tflite_exponentials(double scale, int64_t count, int32_t *out)
{
    int32_t shift;
    int64_t multiplier = (int64_t)(itg_frexp(scale, &shift) * 0x1p31 + 0.5);
    shift += 26;
    if (multiplier > INT32_MAX) {
        multiplier /= 2;
        shift++;
    }
    if (shift > 31) {
        multiplier = INT32_MAX;
        shift = 31;
    }
    const int64_t most = (INT64_C(31) << 26) >> shift;
    for (int64_t d = 0; d < count; d++)
        out[d] =
            d > most
                ? 0
                : (int32_t)fixed_exponential(high_product(-d * (INT64_C(1) << shift), multiplier));
}

/* 2^62 / d, 2^30 <= d < 2^31, by three steps of Newton; at most 2^31 - 1. */
static int64_t fixed_reciprocal(int64_t d)
{
    int64_t x = 1515870810 + high_product(d, -1010580540);
    for (int32_t i = 0; i < 3; i++)
        x += 4 * high_product(x, (INT64_C(1) << 29) - high_product(d, x));
    return 2 * x > INT32_MAX ? INT32_MAX : 2 * x;
}

void itg_int_tflite_softmax_row(const itg_int_tflite_softmax *k, const itg_int_operand *x,
                                int64_t first, int64_t *acc)
{
    const int64_t end = k->count * k->stride;
    int64_t sum = 0;
    int32_t room = 0;
    const int64_t greatest = load_row(x, first, end, k->stride, acc);
    for (int64_t i = 0; i < end; i += k->stride) {
        acc[i] = k->table[greatest - acc[i]];
        sum += (acc[i] + (1 << 11)) >> 12;
    }
    while (sum << room < INT64_C(1) << 31)
        room++;
    const int64_t inverse = fixed_reciprocal(sum << room >> 1);
    const int32_t shift = 43 - k->fraction - room;
    for (int64_t i = 0; i < end; i += k->stride)
        acc[i] = (high_product(inverse, acc[i]) + (INT64_C(1) << (shift - 1))) >> shift;
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

/* acc[i] = round((count * acc[i] - sum) * unit / root), half away from zero, times gain, plus bias.
 * The quotient is at most 2^31, so that it is off by at most one in double. */
ITG_CLONES static void scale_differences(const itg_int_layer_norm *k, int64_t sum, int64_t unit,
                                         int64_t root, int64_t *acc)
{
    const int64_t count = k->count, half = root >> 1;
    const int16_t *gain = k->gain;
    const int64_t *bias = k->bias;
    const double inverse = 1.0 / (double)root;
    for (int64_t i = 0; i < count; i++) {
        const int64_t d = (count * acc[i] - sum) * unit, sign = d >> 63,
                      n = half + (d ^ sign) - sign;
        int64_t q = (int64_t)((double)n * inverse);
        const int64_t rest = n - q * root;
        q += (rest >= root) - (rest < 0);
        acc[i] = ((q ^ sign) - sign) * gain[i] + bias[i];
    }
}

void itg_int_layer_norm_row(const itg_int_layer_norm *k, const itg_int_operand *x, int64_t first,
                            int64_t *acc)
{
    int64_t sum = 0, squares = 0;
    int32_t shift = 0;
    itg_widen_row(x, first, k->count, 1, acc);
    for (int64_t i = 0; i < k->count; i++) {
        sum += acc[i];
        squares += acc[i] * acc[i];
    }
    int64_t square = k->count * squares - sum * sum + k->epsilon;
    for (; square < INT64_C(1) << 60; shift++)
        square *= 4;
    scale_differences(k, sum, INT64_C(1) << (shift + k->fraction), root_of(square), acc);
}
