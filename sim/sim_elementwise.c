/* Add, Sub, Mul, Relu, Clip and lookup functions by definition (docs/arithmetic.md 3). */
#include "sim/simulate.h"
#include "kernels/float_ops.h"
#include <stdlib.h>
#include <string.h>

/* Returns the index into an operand that broadcasts to `out`. */
static int64_t broadcast_index(const itg_shape *out, const itg_shape *operand, int64_t flat)
{
    int64_t index = 0, step = 1;
    for (int32_t d = out->rank - 1; d >= 0; d--) {
        int32_t own = d - (out->rank - operand->rank);
        int64_t i = flat % out->dims[d];
        flat /= out->dims[d];
        if (own < 0) break;
        if (operand->dims[own] != 1) index += i * step;
        step *= operand->dims[own];
    }
    return index;
}

typedef struct binary {
    const itg_shape *out, *shape[2];
    const double *codes[2];
    const itg_quantizer *q[2];
    int sign, first; /* first: of the float32 forms */
} binary;

/* Returns the operand that comes first in the fused sums: the second if only the first is constant
 * along the innermost axis of the output. */
static int first_operand(const binary *b)
{
    for (int32_t d = 1; d <= b->out->rank; d++) {
        if (b->out->dims[b->out->rank - d] == 1) continue;
        int64_t extent[2];
        for (int i = 0; i < 2; i++)
            extent[i] = d <= b->shape[i]->rank ? b->shape[i]->dims[b->shape[i]->rank - d] : 1;
        return extent[0] == 1 && extent[1] != 1;
    }
    return 0;
}

static binary operands(const itg_sim *s, itg_id n)
{
    const itg_node *node = &s->a->graph->nodes[n];
    binary b = {.out = sim_shape(s, node->outputs[0]), .sign = node->op == ITG_OP_SUB ? -1 : 1};
    for (int i = 0; i < 2; i++) {
        b.shape[i] = sim_shape(s, node->inputs[i]);
        b.codes[i] = sim_input_codes(s, n, i);
        b.q[i] = &sim_input_encoding(s, n, i)->q;
    }
    b.first = first_operand(&b);
    return b;
}

/* Returns the code of operand i at output element k; `centred` subtracts the zero point. */
static int64_t code(const binary *b, int i, int64_t k)
{
    return (int64_t)b->codes[i][broadcast_index(b->out, b->shape[i], k)];
}
static int64_t centred(const binary *b, int i, int64_t k)
{
    return code(b, i, k) - b->q[i]->zero_point;
}

static int64_t native_result(const itg_node_note *note, const binary *b, int64_t k)
{
    int64_t x = centred(b, 0, k), y = centred(b, 1, k);
    if (note->form == ITG_FORM_PRODUCT) return x * y;
    if (note->form == ITG_FORM_EQUAL) return x + b->sign * y;
    int64_t unit = (int64_t)1 << note->left_shift;
    return itg_requant_apply(&note->operand[0], x * unit) +
           b->sign * itg_requant_apply(&note->operand[1], y * unit);
}

/* Computes the operation on the dequantized operands. */
static float f32_result(const itg_node *node, const binary *b, int64_t e)
{
    float x = (float)centred(b, 0, e) * b->q[0]->scale[0],
          y = (float)centred(b, 1, e) * b->q[1]->scale[0];
    if (node->op == ITG_OP_MUL) return x * y;
    return node->op == ITG_OP_SUB ? x - y : x + y;
}

/* Constants of one encoding. Only those of the node's operator are used. */
typedef struct f32_constants {
    itg_f32_add add;
    itg_f32_mul mul;
} f32_constants;

static f32_constants derive_f32(const binary *b, const itg_quantizer *q)
{
    const itg_quantizer *x = b->q[b->first], *y = b->q[!b->first];
    return (f32_constants){
        itg_f32_add_derive(x->scale[0], x->zero_point, y->scale[0], y->zero_point, q->scale[0],
                           q->zero_point),
        itg_f32_mul_derive(b->q[0]->scale[0], b->q[1]->scale[0], q->scale[0], q->zero_point)};
}

/* Returns the code of element e before the clamp. */
static int64_t f32_code(const itg_node *node, const binary *b, const f32_constants *k,
                        const itg_quantizer *q, int64_t e)
{
    if (node->op == ITG_OP_SUB)
        return itg_quantize_f32(f32_result(node, b, e), q->scale[0], q->zero_point, INT32_MIN,
                                INT32_MAX);
    if (node->op == ITG_OP_MUL)
        return itg_f32_mul_apply(&k->mul, centred(b, 0, e) * centred(b, 1, e), INT32_MIN,
                                 INT32_MAX);
    return itg_f32_add_apply(&k->add, code(b, b->first, e), code(b, !b->first, e), INT32_MIN,
                             INT32_MAX);
}

static void f32_encoding(itg_sim *s, itg_id n, const binary *b, const itg_encoding *v,
                         sim_buffer *out)
{
    const itg_node *node = &s->a->graph->nodes[n];
    itg_id activation = s->a->nodes[n].activation;
    f32_constants k = {0};
    if (!v->is_float) k = derive_f32(b, &v->q);
    for (int64_t e = 0; e < out->events.elements; e++) {
        if (v->is_float) {
            out->real[e] = sim_activate(s, activation, f32_result(node, b, e));
            continue;
        }
        int64_t wide = f32_code(node, b, &k, &v->q, e);
        out->events.saturated += sim_saturates(s, activation, v, wide);
        out->codes[e] = (double)itg_clamp(wide, v->clamp_lo, v->clamp_hi);
    }
}

static void f32_binary(itg_sim *s, itg_id n, const binary *b)
{
    itg_id value = s->a->nodes[n].out_value;
    const itg_value_note *note = &s->a->values[value];
    for (int32_t i = 0; i < note->encoding_count; i++) {
        sim_buffer *out = &s->values[value].buffers[i];
        out->events = (itg_edge_events){.elements = s->values[value].elements};
        f32_encoding(s, n, b, &note->encodings[i], out);
    }
}

void sim_binary(itg_sim *s, itg_id n)
{
    const itg_node_note *note = &s->a->nodes[n];
    binary b = operands(s, n);
    if (note->form == ITG_FORM_F32) {
        f32_binary(s, n, &b);
        return;
    }
    for (int64_t k = 0; k < s->values[note->out_value].elements; k++)
        s->acc[k] = sim_fit(s, note, native_result(note, &b, k));
    sim_epilogue(s, n, 1, NULL);
}

void sim_activation(itg_sim *s, itg_id n)
{
    const double *x = sim_input_codes(s, n, 0);
    int32_t zero = sim_input_encoding(s, n, 0)->q.zero_point;
    for (int64_t k = 0; k < s->values[s->a->nodes[n].out_value].elements; k++)
        s->acc[k] = sim_fit(s, &s->a->nodes[n], (int64_t)x[k] - zero);
    sim_epilogue(s, n, 1, NULL);
}

static float function_of(const itg_node *node, const itg_quantizer *q, int64_t code)
{
    return (float)itg_univariate(node->op, &node->attrs,
                                 (double)itg_dequantize_f32(code, q->scale[0], q->zero_point));
}

/* Computes f of every input element as float32, through a table if that takes fewer calls. */
static float *function_values(const itg_node *node, const itg_quantizer *q, const double *x,
                              int64_t n)
{
    bool has_table = q->qmax - q->qmin < n;
    int64_t codes = has_table ? q->qmax - q->qmin + 1 : 0;
    float *y = malloc(sizeof *y * (size_t)(n + codes + 1));
    for (int64_t c = 0; y && c < codes; c++)
        y[n + c] = function_of(node, q, q->qmin + c);
    for (int64_t k = 0; y && k < n; k++)
        y[k] = has_table ? y[n + (int64_t)x[k] - q->qmin] : function_of(node, q, (int64_t)x[k]);
    return y;
}

/* Returns the code of a real number; sets *clamped if it was clamped. */
static int64_t code_of(float real, const itg_quantizer *q, bool *clamped)
{
    int64_t wide = itg_quantize_f32(real, q->scale[0], q->zero_point, INT32_MIN, INT32_MAX);
    *clamped |= wide < q->qmin || wide > q->qmax;
    return itg_clamp(wide, q->qmin, q->qmax);
}

/* Interpolates between the codes of f at the multiples of 2^shift on both sides of x. */
static int64_t interpolated(const itg_node *node, const itg_quantizer *q, const itg_quantizer *to,
                            int64_t x, int32_t shift, bool *clamped)
{
    const int64_t step = (int64_t)1 << shift, right = ((x % step) + step) % step, left = x - right;
    const int64_t a = code_of(function_of(node, q, left), to, clamped);
    const int64_t b = code_of(function_of(node, q, left + step), to, clamped);
    return a + itg_round_shift_product(b - a, right, shift, ITG_ROUND_HALF_UP);
}

itg_status sim_lut(itg_sim *s, itg_id n, itg_error *err)
{
    const int32_t shift = s->a->nodes[n].table_shift;
    const itg_node *node = &s->a->graph->nodes[n];
    const itg_quantizer *q = &sim_input_encoding(s, n, 0)->q;
    const double *x = sim_input_codes(s, n, 0);
    itg_id v = node->outputs[0];
    const itg_value_note *note = &s->a->values[v];
    float *y = function_values(node, q, x, s->values[v].elements);
    if (!y) return itg_fail(err, ITG_NO_MEMORY, "no memory for the values of '%s'", node->name);
    for (int32_t i = 0; i < note->encoding_count; i++) {
        const itg_encoding *encoding = &note->encodings[i];
        sim_buffer *b = &s->values[v].buffers[i];
        b->events = (itg_edge_events){.elements = s->values[v].elements};
        for (int64_t k = 0; k < s->values[v].elements; k++) {
            if (encoding->is_float) {
                b->real[k] = y[k];
                continue;
            }
            bool clamped = false;
            b->codes[k] = (double)(shift == 0 ? code_of(y[k], &encoding->q, &clamped)
                                              : interpolated(node, q, &encoding->q, (int64_t)x[k],
                                                             shift, &clamped));
            b->events.saturated += clamped;
        }
    }
    free(y);
    return ITG_OK;
}
