/* Weights, bias and requantization of mac nodes with constant weights (docs/arithmetic.md 2.2, 4).
 */
#include "sim/annotate.h"
#include <float.h>
#include <math.h>

/* Raising a channel's scale doubles it; no float32 ratio needs more. */
#define MAX_DOUBLINGS 200

typedef struct mac {
    annotate *x;
    itg_id node;
    const itg_hw_spec *spec;
    itg_quantizer xq, wq; /* wq.scale is `scale` below */
    float *scale;         /* [scale_count] */
    const float *weights, *bias;
    int64_t channels, depth; /* output channels, weights per channel */
    int64_t channel_step,
        element_step; /* flat index of weight k of channel c: c*channel_step + k*element_step */
} mac;

static itg_status setup_geometry(mac *m)
{
    const itg_graph *g = m->x->g;
    const itg_node *node = &g->nodes[m->node];
    const itg_value *w = &g->values[node->inputs[1]];
    int64_t elements = 0;
    if (!itg_shape_elements(&w->shape, &elements) || elements == 0)
        return annotate_fail(m->x, m->node, ITG_UNSUPPORTED, "weights without elements");
    bool last_axis = node->op == ITG_OP_MATMUL;
    m->channels = last_axis ? w->shape.dims[w->shape.rank - 1] : w->shape.dims[0];
    m->depth = elements / m->channels;
    m->channel_step = last_axis ? 1 : m->depth;
    m->element_step = last_axis ? m->channels : 1;
    m->weights = w->data;
    if (node->input_count > 2 && node->inputs[2] != ITG_NONE)
        m->bias = g->values[node->inputs[2]].data;
    for (int64_t c = 0; m->bias && c < m->channels; c++)
        if (!isfinite(m->bias[c]))
            return annotate_fail(m->x, m->node, ITG_BAD_FILE,
                                 "its bias is NaN or infinite in a channel");
    return ITG_OK;
}

static itg_status weight_quantizer(mac *m, int32_t edge)
{
    annotate *x = m->x;
    const itg_edge_choice *choice = &x->s->edges[edge];
    int32_t dtype = itg_hardware_dtype_for(x->hw, m->spec->weight_mask, choice->bits, true);
    int32_t count = m->spec->per_channel ? (int32_t)m->channels : 1;
    if (dtype < 0)
        return annotate_fail(x, m->node, ITG_INFEASIBLE, "no weight dtype of these bits");
    if (choice->channel_count != count || !choice->channel)
        return annotate_fail(x, m->node, ITG_MISMATCH,
                             "strategy: one weight threshold per output channel was expected (or "
                             "one in all, per-tensor)");
    m->scale = itg_arena_array(x->a->arena, (size_t)count, sizeof *m->scale);
    if (!m->scale) return itg_fail(x->err, ITG_NO_MEMORY, "no memory");
    float one = 1.0f, largest = 0.0f;
    itg_status status = annotate_range_quantizer(&x->hw->dtypes[dtype], choice->bits, -1, 1, false,
                                                 &one, &m->wq, x->err);
    if (status != ITG_OK) return status;
    for (int32_t c = 0; c < count; c++) {
        if (!(choice->channel[c] >= 0 && choice->channel[c] <= (double)FLT_MAX))
            return annotate_fail(x, m->node, ITG_MISMATCH,
                                 "strategy: a weight threshold is negative or not finite");
        m->scale[c] = annotate_weight_scale(&m->wq, choice->channel[c], x->hw->power_of_two_scales);
        if (m->scale[c] > largest) largest = m->scale[c];
    }
    for (int32_t c = 0; c < count; c++)
        if (m->scale[c] == 0.0f) m->scale[c] = largest > 0.0f ? largest : 1.0f;
    m->wq.zero_point = 0;
    m->wq.scale = m->scale;
    m->wq.scale_count = count;
    const itg_node *node = &x->g->nodes[m->node];
    m->wq.axis = !m->spec->per_channel       ? -1
                 : node->op == ITG_OP_MATMUL ? x->g->values[node->inputs[1]].shape.rank - 1
                                             : 0;
    return ITG_OK;
}

static float channel_scale(const mac *m, int64_t c)
{
    return m->scale[m->wq.scale_count == 1 ? 0 : c];
}

/* b_q as a double, which may lie far outside every integer. */
static double bias_code(const mac *m, int64_t c)
{
    if (!m->bias) return 0;
    float unit = m->xq.scale[0] * channel_scale(m, c);
    if (!(unit > 0)) return m->bias[c] == 0 ? 0 : DBL_MAX;
    return itg_round_half_even((double)m->bias[c] / (double)unit);
}

static double bias_limit(const mac *m)
{
    int32_t bits = m->spec->acc.bits < m->spec->bias_bits ? m->spec->acc.bits : m->spec->bias_bits;
    return (double)((int64_t)1 << (bits - 2));
}

/* a >= 0 */
static int64_t saturating_sum(int64_t a, int64_t b)
{
    return b > 0 && a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* The larger end of |acc| over all input codes; saturated. */
static int64_t accumulator_bound(const mac *m, int64_t c)
{
    float scale = channel_scale(m, c);
    int64_t positive = 0, negative = 0;
    for (int64_t k = 0; k < m->depth; k++) {
        int64_t q = itg_quantize_f32(m->weights[c * m->channel_step + k * m->element_step], scale,
                                     0, m->wq.qmin, m->wq.qmax);
        if (q > 0)
            positive += q;
        else
            negative += q;
    }
    int64_t up = m->xq.qmax - m->xq.zero_point, down = m->xq.zero_point - m->xq.qmin,
            bias = (int64_t)bias_code(m, c);
    int64_t hi = saturating_sum(annotate_saturating_product(positive, up),
                                annotate_saturating_product(-negative, down));
    int64_t lo = saturating_sum(annotate_saturating_product(positive, down),
                                annotate_saturating_product(-negative, up));
    hi = saturating_sum(hi, bias); /* the interval is [-lo, hi] */
    lo = saturating_sum(lo, -bias);
    return hi > lo ? hi : lo;
}

static itg_status derive(const mac *m, int64_t c, const itg_version *version, int64_t bound,
                         itg_requant *out)
{
    double sx = (double)m->xq.scale[0], sw = (double)channel_scale(m, c),
           sy = (double)version->q.scale[0];
    float unit = m->xq.scale[0] * channel_scale(m, c);
    float ratio = unit / version->q.scale[0];
    return itg_requant_derive(&m->x->hw->requants[m->spec->requant].spec, sx * sw / sy, ratio,
                              bound, out);
}

static bool is_legal(const mac *m, int64_t c, const itg_value_note *outputs)
{
    double bias = bias_code(m, c);
    if (!(bias <= bias_limit(m) && bias >= -bias_limit(m))) return false;
    bool needs_bound = m->x->hw->requants[m->spec->requant].spec.pre_shift_bits > 0;
    int64_t bound = needs_bound ? accumulator_bound(m, c) : 0;
    for (int32_t v = 0; v < outputs->version_count; v++) {
        itg_requant ignored;
        if (!outputs->versions[v].is_float &&
            derive(m, c, &outputs->versions[v], bound, &ignored) != ITG_OK)
            return false;
    }
    return true;
}

static itg_status raise_scales(mac *m, const itg_value_note *outputs)
{
    int64_t per_scale = m->wq.scale_count == 1 ? m->channels : 1;
    for (int32_t i = 0; i < m->wq.scale_count; i++) {
        int doublings = 0;
        for (int64_t c = i * (per_scale == 1); c < (per_scale == 1 ? i + 1 : m->channels); c++) {
            while (!is_legal(m, c, outputs)) {
                if (++doublings > MAX_DOUBLINGS || !(m->scale[i] < FLT_MAX / 2))
                    return annotate_fail(m->x, m->node, ITG_INFEASIBLE,
                                         "no weight scale makes bias and requantization legal");
                m->scale[i] *= 2;
            }
        }
    }
    /* Per-tensor: an early channel may have been legal only before a later one doubled the scale.
     */
    for (int64_t c = 0; c < m->channels; c++)
        if (!is_legal(m, c, outputs))
            return annotate_fail(m->x, m->node, ITG_INFEASIBLE,
                                 "no weight scale makes bias and requantization legal");
    return ITG_OK;
}

static itg_status set_bias(mac *m, itg_node_note *note)
{
    if (!m->bias) return ITG_OK;
    int64_t *codes = itg_arena_array(m->x->a->arena, (size_t)m->channels, sizeof *codes);
    if (!codes) return itg_fail(m->x->err, ITG_NO_MEMORY, "no memory");
    for (int64_t c = 0; c < m->channels; c++)
        codes[c] = (int64_t)bias_code(m, c);
    note->bias = codes;
    note->bias_count = (int32_t)m->channels;
    return ITG_OK;
}

static itg_status set_version(mac *m, itg_version *version, itg_id activation)
{
    int32_t count = m->wq.scale_count;
    if (version->is_float) {
        float *dequant = itg_arena_array(m->x->a->arena, (size_t)count, sizeof *dequant);
        if (!dequant) return itg_fail(m->x->err, ITG_NO_MEMORY, "no memory");
        for (int32_t c = 0; c < count; c++)
            dequant[c] = m->xq.scale[0] * m->scale[c];
        version->dequant = dequant;
        version->dequant_count = count;
        return ITG_OK;
    }
    bool needs_bound = m->x->hw->requants[m->spec->requant].spec.pre_shift_bits > 0;
    if (needs_bound) count = (int32_t)m->channels; /* the pre-shift is each channel's own */
    itg_requant *requant = itg_arena_array(m->x->a->arena, (size_t)count, sizeof *requant);
    if (!requant) return itg_fail(m->x->err, ITG_NO_MEMORY, "no memory");
    for (int32_t c = 0; c < count; c++) {
        itg_status status =
            derive(m, c, version, needs_bound ? accumulator_bound(m, c) : 0, &requant[c]);
        if (status != ITG_OK)
            return annotate_fail(m->x, m->node, status, "requantization cannot hold the ratio");
    }
    version->requant = requant;
    version->requant_count = count;
    annotate_clamp(m->x->g, activation, version);
    return ITG_OK;
}

itg_status annotate_mac(annotate *x, itg_id node)
{
    itg_node_note *note = &x->a->nodes[node];
    itg_value_note *outputs = &x->a->values[note->out_value];
    int32_t first = x->a->edge_of_node[node];
    mac m = {
        .x = x, .node = node, .spec = x->spec[node], .xq = itg_annotated_version(x->a, node, 0)->q};
    itg_status status = setup_geometry(&m);
    if (status == ITG_OK) status = weight_quantizer(&m, first + 1);
    if (status == ITG_OK) status = raise_scales(&m, outputs);
    if (status == ITG_OK) status = set_bias(&m, note);
    for (int32_t v = 0; v < outputs->version_count && status == ITG_OK; v++)
        status = set_version(&m, &outputs->versions[v], note->activation);
    if (status != ITG_OK) return status;
    itg_version weights = {.q = m.wq};
    return annotate_add_version(x, x->g->nodes[node].inputs[1], &weights,
                                &x->a->edges[first + 1].version);
}
