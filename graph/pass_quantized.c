/* Networks that are quantized already. Where the file quantizes a value and dequantizes it at once,
 * the value is clamped to the range of the codes (many files have that in place of Relu), but not
 * rounded. The value keeps the range for strategies of the same width. A Clip of the codes between
 * the two may narrow the range. */
#include "passes.h"
#include "stated.h"
#include "written_out.h"

#define ALMOST_ONE (1 - 1.0 / 128) /* probabilities are quantized to 0..255/256 */

static bool is_integer_constant(const itg_graph *g, itg_id value)
{
    return value != ITG_NONE && itg_graph_is_constant(g, value) &&
           g->values[value].dtype != ITG_F32;
}

static int64_t zero_of(const itg_graph *g, const itg_node *n, int64_t channel)
{
    if (n->input_count < 3 || n->inputs[2] == ITG_NONE) return 0;
    const itg_value *zero = &g->values[n->inputs[2]];
    return itg_load(zero->dtype, zero->data, channel);
}

static int32_t bits_of(int64_t codes)
{
    int32_t bits = 1;
    while (bits < 32 && ((int64_t)1 << bits) < codes)
        ++bits;
    return bits;
}

/* Records the range that codes lo..hi of a node have after dequantizing; is_centred: their zero
 * points are taken off already. A signed range without its lowest code has the same width. */
static itg_status state(itg_graph *g, itg_id value, const itg_node *n, int64_t lo, int64_t hi,
                        bool is_centred, itg_error *err)
{
    const itg_value *scale = &g->values[n->inputs[1]];
    const int64_t count = itg_value_elements(g, n->inputs[1]);
    itg_stated *stated = itg_arena_array(g->arena, 1, sizeof *stated);
    double *range = itg_arena_array(g->arena, 2 * (size_t)count, sizeof *range);
    if (!stated || !range) return itg_graph_no_memory(g, err);
    for (int64_t c = 0; c < count; ++c) {
        const double step = (double)((const float *)scale->data)[c];
        const int64_t zero = is_centred ? 0 : zero_of(g, n, c);
        range[c] = (double)(lo - zero) * step;
        range[count + c] = (double)(hi - zero) * step;
    }
    *stated = (itg_stated){bits_of(hi - lo + 1), (int32_t)count, (int32_t)n->attrs.axis, range,
                           range + count};
    g->values[value].stated = stated;
    return ITG_OK;
}

/* Returns the narrowest width whose signed codes, around the zero point, hold all codes of a
 * constant: types are wider than the grids that they carry. */
static int32_t width_of_codes(const itg_graph *g, const itg_node *n)
{
    const itg_value *q = &g->values[n->inputs[0]];
    const int64_t count = itg_value_elements(g, n->inputs[1]),
                  elements = itg_value_elements(g, n->inputs[0]);
    const int64_t axis = n->attrs.axis + (n->attrs.axis < 0 ? q->shape.rank : 0);
    const int64_t inner =
        count > 1 ? itg_dims_product(&q->shape, (int32_t)axis + 1, q->shape.rank) : 1;
    int64_t lo = -1, hi = 0;
    for (int64_t i = 0; i < elements; i++) {
        int64_t code =
            itg_load(q->dtype, q->data, i) - zero_of(g, n, count > 1 ? i / inner % count : 0);
        lo = code < lo ? code : lo;
        hi = code > hi ? code : hi;
    }
    int32_t bits = 2;
    while (lo < -((int64_t)1 << (bits - 1)) || hi >= (int64_t)1 << (bits - 1))
        bits++;
    return bits;
}

itg_status itg_state_weights(itg_graph *g, itg_id node, itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    const itg_value *q = &g->values[n->inputs[0]];
    const int32_t own = 8 * (int32_t)itg_dtype_size(q->dtype);
    if (own > 16) return ITG_OK; /* a bias */
    const int32_t bits = width_of_codes(g, n);
    const int64_t half = (int64_t)1 << (bits - 1);
    return bits < own ? state(g, n->outputs[0], n, -half, half - 1, true, err)
                      : state(g, n->outputs[0], n, itg_dtype_min(q->dtype), itg_dtype_max(q->dtype),
                              false, err);
}

/* Whether both nodes have the same constant scale and zero point. */
static bool same_grid(const itg_graph *g, const itg_node *a, const itg_node *b)
{
    const itg_id sa = a->inputs[1], sb = b->inputs[1];
    if (!itg_is_float_constant(g, sa) || !itg_is_float_constant(g, sb)) return false;
    const int64_t count = itg_value_elements(g, sa);
    if (count != itg_value_elements(g, sb)) return false;
    if (a->input_count > 2 && a->inputs[2] != ITG_NONE && !is_integer_constant(g, a->inputs[2]))
        return false;
    if (b->input_count > 2 && b->inputs[2] != ITG_NONE && !is_integer_constant(g, b->inputs[2]))
        return false;
    for (int64_t c = 0; c < count; ++c)
        if (itg_floats(g, sa)[c] != itg_floats(g, sb)[c] || zero_of(g, a, c) != zero_of(g, b, c))
            return false;
    return true;
}

/* Narrows lo..hi by a Clip of codes, if any; returns the QuantizeLinear before it, or NULL. */
static const itg_node *through_clip(const itg_graph *g, itg_id codes, int64_t *lo, int64_t *hi)
{
    const itg_node *clip = itg_made_by(g, codes, ITG_OP_CLIP);
    if (clip && clip->input_count == 1) {
        if ((double)clip->attrs.min > (double)*lo) *lo = (int64_t)clip->attrs.min;
        if ((double)clip->attrs.max < (double)*hi) *hi = (int64_t)clip->attrs.max;
        codes = clip->inputs[0];
    }
    return itg_made_by(g, codes, ITG_OP_QUANTIZE_LINEAR);
}

/* Returns the value before operators that do not change ranges. */
static itg_id before_moves(const itg_graph *g, itg_id value)
{
    for (;;) {
        const itg_id producer = g->values[value].producer;
        const itg_node *n = producer == ITG_NONE ? NULL : &g->nodes[producer];
        if (!n || !itg_op_is(n->op, ITG_IS_MOVE | ITG_IS_POOL) || n->op == ITG_OP_CONCAT ||
            n->op == ITG_OP_PAD)
            return value;
        value = n->inputs[0];
    }
}

/* Whether a value always lies within lo..hi: a Clip before it ensures that, or it is a graph input.
 * Inputs are assumed to lie within the range that the file quantizes them to. */
static bool lies_within(const itg_graph *g, itg_id value, double lo, double hi)
{
    const itg_id source = before_moves(g, value);
    const itg_node *clip = itg_made_by(g, source, ITG_OP_CLIP);
    if (itg_made_by(g, source, ITG_OP_SOFTMAX)) return lo <= 0 && hi >= ALMOST_ONE;
    if (!clip) return g->values[source].is_input;
    return clip->attrs.min >= (float)lo && clip->attrs.max <= (float)hi;
}

/* Makes the node a Clip of x to lo..hi, or Identity if x always lies there. A Relu before it merges
 * into the Clip. Returns the value to which the range belongs. */
static itg_id clamp(itg_graph *g, itg_id node, itg_id x, double lo, double hi)
{
    const itg_node *relu = itg_made_by(g, x, ITG_OP_RELU);
    if (relu && itg_graph_use_count(g, x) == 1) {
        x = relu->inputs[0];
        lo = lo > 0 ? lo : 0;
    }
    if (lies_within(g, x, lo, hi)) {
        itg_become_function(g, node, ITG_OP_IDENTITY, x);
        return x;
    }
    itg_node *n = itg_become_function(g, node, ITG_OP_CLIP, x);
    n->attrs.min = (float)lo;
    n->attrs.max = (float)hi;
    return n->outputs[0];
}

itg_status itg_pass_quantized(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    itg_node *n = &g->nodes[node];
    if (n->op != ITG_OP_DEQUANTIZE_LINEAR || itg_value_elements(g, n->inputs[1]) != 1)
        return ITG_OK;
    const itg_dtype dtype = g->values[n->inputs[0]].dtype;
    int64_t lo = itg_dtype_min(dtype), hi = itg_dtype_max(dtype);
    const itg_node *quantize = through_clip(g, n->inputs[0], &lo, &hi);
    if (!quantize || lo >= hi || !same_grid(g, quantize, n)) return ITG_OK;
    itg_status status = state(g, n->outputs[0], n, lo, hi, false, err);
    if (status != ITG_OK) return status;
    const itg_stated *range = g->values[n->outputs[0]].stated;
    const itg_id kept = clamp(g, node, quantize->inputs[0], range->lo[0], range->hi[0]);
    const itg_id source = before_moves(g, kept);
    if (!g->values[kept].stated) g->values[kept].stated = range;
    if (g->values[source].is_input && !g->values[source].stated) g->values[source].stated = range;
    g->quantized = true;
    *changed = true;
    return ITG_OK;
}
