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

void sim_softmax(itg_sim *s, itg_id node)
{
    const itg_node *op = &s->a->graph->nodes[node];
    const itg_shape *shape = sim_shape(s, op->inputs[0]);
    const int64_t n = annotate_row(s->a->graph, node), all = s->values[op->inputs[0]].elements;
    const int64_t stride = itg_dims_product(shape, (int32_t)op->attrs.axis + 1, shape->rank);
    const double *x = sim_input_codes(s, node, 0);
    const double scale = (double)sim_input_encoding(s, node, 0)->q.scale[0];
    for (int64_t i = 0; i < all; i += n * stride)
        for (int64_t k = i; k < i + stride; k++)
            softmax_row(x + k, n, stride, scale, s->a->nodes[node].fraction, s->acc + k);
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
