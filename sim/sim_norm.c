/* Softmax and LayerNormalization in integers by definition (docs/arithmetic.md 3.4, 3.5). The codes
 * of a relaxed graph (relax.h) may exceed the integers of the definition; then doubles compute
 * it. */
#include "kernels/math.h"
#include "sim/annotate.h"
#include "sim/simulate.h"

#define PROBABILITY_BITS 30

/* Returns 2^bits * exp(-scale * d), rounded. */
static int64_t exponential(double scale, int64_t d, int32_t bits)
{
    return (int64_t)itg_round_half_even(itg_ldexp(itg_exp(-(scale * (double)d)), bits));
}

/* Multiplies the factors of the upper and of the lower eight bits of d. */
static int64_t term(double scale, int64_t d, int32_t bits)
{
    return itg_round_shift_product(exponential(scale, d & 255, bits),
                                   exponential(scale, d & ~INT64_C(255), bits), bits,
                                   ITG_ROUND_HALF_UP);
}

static void softmax_row(const double *x, int64_t n, int64_t stride, double scale, int32_t bits,
                        int64_t *acc)
{
    double greatest = x[0];
    int64_t sum = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i * stride] > greatest) greatest = x[i * stride];
    for (int64_t i = 0; i < n; i++)
        sum += acc[i * stride] = term(scale, (int64_t)(greatest - x[i * stride]), bits);
    for (int64_t i = 0; i < n; i++)
        acc[i * stride] = itg_round_divide(acc[i * stride] * (INT64_C(1) << PROBABILITY_BITS), sum,
                                           ITG_ROUND_HALF_UP);
}

/* ---- in gemmlowp's fixed point ---- */

/* a * b, both with 31 bits after the point. */
static int64_t times(int64_t a, int64_t b)
{
    return itg_round_shift_product(a, b, 31, ITG_ROUND_HALF_UP);
}

static int64_t divided(int64_t v, int32_t shift)
{
    return itg_round_shift_product(v, 1, shift, ITG_ROUND_HALF_AWAY);
}

/* E(v) of the page. */
static int64_t gemmlowp_exp(int64_t v)
{
    static const int64_t factors[] = {1672461947, 1302514674, 790015084, 290630308,
                                      39332535,   720401,     242};
    int64_t quarters = 0, u = v;
    if (v == 0) return INT32_MAX;
    while (u < -(INT64_C(1) << 24)) {
        u += INT64_C(1) << 24;
        quarters++;
    }
    const int64_t x = 32 * u + (INT64_C(1) << 28), square = times(x, x), cube = times(square, x);
    const int64_t tail = times(divided(times(square, square), 2) + cube, 715827883) + square;
    int64_t e = 1895147668 + times(1895147668, x + divided(tail, 1));
    for (int32_t i = 0; i < 7; i++)
        if (quarters & 1 << i) e = times(e, factors[i]);
    return e;
}

/* T(d) of the page; of a scale that only relaxed graphs have, the real exponential. */
static int64_t gemmlowp_term(double scale, int64_t d)
{
    int32_t e;
    const double units = itg_ldexp(scale, 26);
    double f = itg_frexp(units, &e);
    if (e < 1) return (int64_t)itg_round_half_even(itg_ldexp(itg_exp(-(scale * (double)d)), 31));
    int64_t multiplier = (int64_t)(itg_ldexp(f, 31) + 0.5);
    if (e > 31) {
        multiplier = INT32_MAX;
        e = 31;
    } else if (multiplier == INT64_C(1) << 31) {
        multiplier /= 2;
        e++;
    }
    if (d > (INT64_C(31) << 26) / (INT64_C(1) << e)) return 0;
    return gemmlowp_exp(times(-d * (INT64_C(1) << e), multiplier));
}

static int64_t gemmlowp_reciprocal(int64_t d)
{
    int64_t x = 1515870810 + times(d, -1010580540);
    for (int32_t i = 0; i < 3; i++)
        x += 4 * times(x, (1 << 29) - times(d, x));
    return itg_clamp(2 * x, 0, INT32_MAX);
}

static void tflite_softmax_row(const double *x, int64_t n, int64_t stride, double scale,
                               int32_t bits, int64_t *acc)
{
    double greatest = x[0];
    int64_t sum = 0;
    int32_t h = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i * stride] > greatest) greatest = x[i * stride];
    for (int64_t i = 0; i < n; i++) {
        acc[i * stride] = gemmlowp_term(scale, (int64_t)(greatest - x[i * stride]));
        sum += divided(acc[i * stride], 12);
    }
    while (sum * (INT64_C(1) << h) < INT64_C(1) << 31)
        h++;
    const int64_t inverse = gemmlowp_reciprocal(sum * (INT64_C(1) << (h - 1)));
    for (int64_t i = 0; i < n; i++)
        acc[i * stride] = divided(times(inverse, acc[i * stride]), 43 - bits - h);
}

void sim_softmax(itg_sim *s, itg_id node)
{
    const itg_node *op = &s->a->graph->nodes[node];
    const itg_shape *shape = sim_shape(s, op->inputs[0]);
    const int64_t n = annotate_row(s->a->graph, node), all = s->values[op->inputs[0]].elements;
    const int64_t stride = itg_dims_product(shape, (int32_t)op->attrs.axis + 1, shape->rank);
    const double *x = sim_input_codes(s, node, 0);
    const double scale = (double)sim_input_encoding(s, node, 0)->q.scale[0];
    void (*row)(const double *, int64_t, int64_t, double, int32_t, int64_t *) =
        s->a->nodes[node].form == ITG_FORM_SOFTMAX ? softmax_row : tflite_softmax_row;
    for (int64_t i = 0; i < all; i += n * stride)
        for (int64_t k = i; k < i + stride; k++)
            row(x + k, n, stride, scale, s->a->nodes[node].fraction, s->acc + k);
    sim_epilogue(s, node, 1, NULL);
}

/* Returns t such that v * 4^t lies in [2^60, 2^62); v >= 1. */
static int32_t scaling_shift(int64_t v)
{
    int32_t t = 0;
    while (v < INT64_C(1) << 60) {
        v *= 4;
        t++;
    }
    return t;
}

static void layer_norm_row(const itg_node_note *note, const double *x, int64_t zero, int64_t *acc)
{
    const int64_t n = note->gain_count;
    int64_t sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t v = (int64_t)x[i] - zero;
        sum += v;
        squares += v * v;
    }
    const int64_t deviation = n * squares - sum * sum + note->epsilon;
    const int32_t t = scaling_shift(deviation);
    const int64_t root = itg_floor_sqrt(deviation * (INT64_C(1) << 2 * t));
    for (int64_t i = 0; i < n; i++) {
        const int64_t distance = n * ((int64_t)x[i] - zero) - sum;
        const int64_t normalized = itg_round_divide(distance * (INT64_C(1) << (t + note->fraction)),
                                                    root, ITG_ROUND_HALF_AWAY);
        acc[i] = normalized * note->gain[i] + note->bias[i];
    }
}

static void real_layer_norm_row(const itg_node_note *note, const double *x, int64_t zero,
                                double epsilon, int64_t *acc)
{
    const double n = (double)note->gain_count;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < note->gain_count; i++)
        sum += x[i] - (double)zero;
    const double mean = sum / n;
    for (int64_t i = 0; i < note->gain_count; i++) {
        const double d = x[i] - (double)zero - mean;
        squares += d * d;
    }
    const double unit = itg_ldexp(1.0 / itg_sqrt(squares / n + epsilon), note->fraction);
    for (int64_t i = 0; i < note->gain_count; i++)
        acc[i] = (int64_t)itg_round_half_even((x[i] - (double)zero - mean) * unit *
                                              (double)note->gain[i]) +
                 note->bias[i];
}

void sim_layer_norm(itg_sim *s, itg_id node)
{
    const itg_node *op = &s->a->graph->nodes[node];
    const itg_node_note *note = &s->a->nodes[node];
    const itg_quantizer *q = &sim_input_encoding(s, node, 0)->q;
    const int64_t all = s->values[op->inputs[0]].elements, n = note->gain_count;
    const double *x = sim_input_codes(s, node, 0), scale = (double)q->scale[0];
    const double epsilon = (double)op->attrs.epsilon / (scale * scale);
    for (int64_t i = 0; i < all; i += n)
        if (note->epsilon > 0)
            layer_norm_row(note, x + i, q->zero_point, s->acc + i);
        else
            real_layer_norm_row(note, x + i, q->zero_point, epsilon, s->acc + i);
    sim_epilogue(s, node, 1, NULL);
}
