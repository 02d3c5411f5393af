/* Weights, bias and requantization of mac nodes with constant weights (docs/arithmetic.md 2.2, 4).
 */
#include "sim/annotate.h"
#include "kernels/math.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* enough for every ratio of float32 */
#define MAX_DOUBLINGS 200

/* Sums of a channel's positive and negative codes at a scale; 0: not computed yet. */
typedef struct channel_sums {
    float scale;
    int64_t above, below;
} channel_sums;

typedef struct mac {
    annotate *x;
    itg_id node;
    const itg_hw_spec *spec;
    itg_quantizer xq, wq; /* wq.scale is `scale` below */
    float *scale;         /* [scale_count] */
    const uint8_t *zero;  /* as itg_encoding */
    const float *bias;
    itg_constant_source source;  /* of the codes; source.q is &wq */
    const itg_constant *codes;   /* for the scales at the last take_codes; held; NULL: none */
    channel_sums *sums;          /* [channels] if scales depend on codes, else NULL */
    int32_t *trial;              /* [depth]: codes of a channel at a trial scale; NULL as sums */
    const int64_t *joined_bound; /* [channels] if the node's sums are split, else NULL */
    int64_t channels, depth;     /* output channels, weights per channel */
} mac;

/* Takes the strategy's bias, else the model's. */
static itg_status take_bias(mac *m, const itg_edge_choice *choice)
{
    const itg_graph *g = m->x->g;
    const itg_node *node = &g->nodes[m->node];
    if (choice->bias && choice->bias_count != m->channels)
        return annotate_fail(m->x, m->node, ITG_MISMATCH,
                             "strategy: its bias has another number of output channels");
    m->bias = choice->bias;
    if (!m->bias && node->input_count > 2 && node->inputs[2] != ITG_NONE)
        m->bias = g->values[node->inputs[2]].data;
    for (int64_t c = 0; m->bias && c < m->channels; c++)
        if (!isfinite(m->bias[c]))
            return annotate_fail(m->x, m->node, choice->bias ? ITG_MISMATCH : ITG_BAD_FILE,
                                 "its bias is NaN or infinite in a channel");
    return ITG_OK;
}

static itg_status setup_geometry(mac *m, const itg_edge_choice *choice)
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
    m->source = (itg_constant_source){
        .data = w->data, .shape = w->shape, .q = &m->wq, .last_axis = last_axis};
    return take_bias(m, choice);
}

/* Sets the quantizer, without its scales, and the codes that each scale has. */
static itg_status set_zero_points(mac *m, const itg_edge_choice *choice)
{
    itg_arena *arena = m->x->a->arena;
    const int32_t count = choice->channel_count, span = (1 << choice->bits) - 1;
    if (!choice->zero)
        return annotate_fail(m->x, m->node, ITG_MISMATCH,
                             "strategy: its weights have no zero points");
    m->wq = annotate_asymmetric_weights(choice->bits);
    m->zero = itg_arena_copy(arena, choice->zero, (size_t)count);
    int32_t *least = itg_arena_array(arena, (size_t)count, sizeof *least);
    if (!m->zero || !least) return itg_no_memory(m->x->err);
    for (int32_t c = 0; c < count; c++) {
        if (choice->zero[c] > span)
            return annotate_fail(m->x, m->node, ITG_MISMATCH,
                                 "strategy: a zero point of its weights has more bits than they");
        least[c] = -(int32_t)choice->zero[c];
    }
    m->source.least = least;
    m->source.span = span;
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
    if (!m->scale) return itg_no_memory(x->err);
    float one = 1.0f, largest = 0.0f;
    itg_status status = x->hw->dtypes[dtype].zero_point
                            ? set_zero_points(m, choice)
                            : annotate_range_quantizer(&x->hw->dtypes[dtype], choice->bits, -1, 1,
                                                       false, &one, &m->wq, x->err);
    if (status != ITG_OK) return status;
    if (choice->zero && !m->zero)
        return annotate_fail(x, m->node, ITG_MISMATCH,
                             "strategy: zero points of weights, which the hardware does not have");
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

static double bias_limit(const mac *m)
{
    int32_t widest = itg_hw_bias_limit(m->spec);
    int32_t bits = widest < m->spec->bias_bits ? widest : m->spec->bias_bits;
    return (double)((int64_t)1 << (bits - 2));
}

/* The bias in units of the sum. The double may lie far outside every integer. */
static double exact_bias(const mac *m, int64_t c)
{
    if (!m->bias || m->bias[c] == 0) return 0;
    float unit = m->xq.scale[0] * channel_scale(m, c);
    if (!(unit > 0)) return m->bias[c] > 0 ? DBL_MAX : -DBL_MAX;
    return itg_round_half_even((double)m->bias[c] / (double)unit);
}

static bool bias_fits(const mac *m, int64_t c)
{
    return fabs(exact_bias(m, c)) <= bias_limit(m);
}

/* Returns b_q. It exceeds the limit only if no legal scale has room for the bias (lower_scale). */
static int64_t bias_code(const mac *m, int64_t c)
{
    double bias = exact_bias(m, c), limit = bias_limit(m);
    return (int64_t)(bias > limit ? limit : bias < -limit ? -limit : bias);
}

static bool needs_bound(const mac *m)
{
    return m->x->hw->requants[m->spec->requant].spec.pre_shift_bits > 0;
}

static const channel_sums *sums_of(const mac *m, int64_t c)
{
    channel_sums *s = &m->sums[c];
    float scale = channel_scale(m, c);
    if (s->scale == scale) return s;
    s->scale = scale;
    itg_quantize_channel(&m->source, c, scale, m->trial);
    itg_code_sums(ITG_S32, m->trial, 0, m->depth, 0, &s->above, &s->below);
    return s;
}

/* Takes the codes for the present scales. */
static itg_status take_codes(mac *m)
{
    const itg_constant *old = m->codes;
    m->codes = annotate_take_codes(m->x, m->x->g->nodes[m->node].inputs[1], &m->source);
    itg_cache_release(m->x->a->cache, old);
    for (int64_t c = 0; m->codes && m->sums && c < m->channels; c++)
        m->sums[c] = (channel_sums){channel_scale(m, c), m->codes->above[c], m->codes->below[c]};
    return m->codes ? ITG_OK : ITG_NO_MEMORY;
}

/* Prepares the sums of codes if legal scales depend on them. They are those of the nearest codes,
 * even if the strategy has others, which were chosen for the resulting scales. */
static itg_status begin_sums(mac *m)
{
    if (!needs_bound(m) && !m->spec->split.allowed) return ITG_OK;
    itg_arena *arena = m->x->a->arena;
    m->sums = itg_arena_array(arena, (size_t)m->channels, sizeof *m->sums);
    m->trial = itg_arena_array(arena, (size_t)m->depth, sizeof *m->trial);
    return m->sums && m->trial ? take_codes(m) : itg_no_memory(m->x->err);
}

/* Takes the node's final codes; the scales do not change any more. */
static itg_status settle_codes(mac *m, const itg_edge_choice *choice)
{
    itg_status status = ITG_OK;
    m->source.packed = choice->codes;
    if (choice->codes) status = annotate_check_codes(m->x, m->node, choice, &m->source);
    return status == ITG_OK ? take_codes(m) : status;
}

/* Computes -lo and hi of the channel's sum over all input codes, saturated. */
static void accumulator_interval(const mac *m, int64_t c, int64_t *below, int64_t *above)
{
    const channel_sums *sums = sums_of(m, c);
    int64_t positive = sums->above, negative = sums->below;
    int64_t up = m->xq.qmax - m->xq.zero_point, down = m->xq.zero_point - m->xq.qmin,
            bias = bias_code(m, c);
    int64_t hi = itg_add_saturated(annotate_saturating_product(positive, up),
                                   annotate_saturating_product(-negative, down));
    int64_t lo = itg_add_saturated(annotate_saturating_product(positive, down),
                                   annotate_saturating_product(-negative, up));
    *above = itg_add_saturated(hi, bias);
    *below = itg_add_saturated(lo, -bias);
}

/* The largest |acc|. */
static int64_t accumulator_bound(const mac *m, int64_t c)
{
    int64_t below, above;
    if (m->joined_bound) return m->joined_bound[c];
    accumulator_interval(m, c, &below, &above);
    return above > below ? above : below;
}

/* Whether every single product fits the accumulator, because a sum can be split no further. */
static bool products_fit(const mac *m, int64_t c)
{
    itg_accumulator acc = m->spec->acc;
    int64_t up = m->xq.qmax - m->xq.zero_point, down = m->xq.zero_point - m->xq.qmin;
    int64_t reach = up > down ? up : down, most = itg_accumulator_max(acc);
    if (annotate_saturating_product(reach, m->wq.qmax) <= most && -m->wq.qmin <= m->wq.qmax)
        return true;
    itg_quantize_channel(&m->source, c, channel_scale(m, c), m->trial);
    for (int64_t k = 0; k < m->depth; k++) {
        int64_t q = m->trial[k], rise = q > 0 ? q * up : -q * down,
                fall = q > 0 ? q * down : -q * up;
        if (rise > most || -fall < itg_accumulator_min(acc)) return false;
    }
    return true;
}

/* Shift of the channel's parts before they are added. */
static int32_t join_shift(const mac *m, int64_t c)
{
    const itg_sum_split *split = &m->x->a->nodes[m->node].split;
    return split->part_count > 0 ? (int32_t)split->shift[c] : 0;
}

/* fl(s_x * s_w) in units of the joined sum. */
static float joined_unit(const mac *m, int64_t c)
{
    float unit = m->xq.scale[0] * channel_scale(m, c);
    return (float)itg_ldexp((double)unit, join_shift(m, c));
}

static itg_status derive(const mac *m, int64_t c, const itg_encoding *encoding, int64_t bound,
                         itg_requant *out)
{
    double sx = (double)m->xq.scale[0], sw = (double)channel_scale(m, c),
           sy = (double)encoding->q.scale[0];
    float ratio = joined_unit(m, c) / encoding->q.scale[0];
    return itg_requant_derive(&m->x->hw->requants[m->spec->requant].spec,
                              itg_ldexp(sx * sw / sy, join_shift(m, c)), ratio, bound, out);
}

/* Whether the channel's products fit the accumulator and every encoding can requantize its sums. */
static bool ratio_is_legal(const mac *m, int64_t c, const itg_value_note *outputs)
{
    if (m->spec->split.allowed && !products_fit(m, c)) return false;
    int64_t bound = needs_bound(m) ? accumulator_bound(m, c) : 0;
    for (int32_t v = 0; v < outputs->encoding_count; v++) {
        itg_requant ignored;
        if (!outputs->encodings[v].is_float &&
            derive(m, c, &outputs->encodings[v], bound, &ignored) != ITG_OK)
            return false;
    }
    return true;
}

/* Channels first <= c < end, which share a scale. */
typedef struct scale_range {
    float *scale;
    int64_t first, end;
} scale_range;

static bool is_legal(const mac *m, const scale_range *r, bool with_bias,
                     const itg_value_note *outputs)
{
    for (int64_t c = r->first; c < r->end; c++)
        if ((with_bias && !bias_fits(m, c)) || !ratio_is_legal(m, c, outputs)) return false;
    return true;
}

static bool raise_scale(const mac *m, const scale_range *r, const itg_value_note *outputs)
{
    for (int doublings = 0; !is_legal(m, r, true, outputs); doublings++) {
        if (doublings == MAX_DOUBLINGS || !(*r->scale < FLT_MAX / 2)) return false;
        *r->scale *= 2;
    }
    return true;
}

/* Used if the ratio becomes too large before the bias fits. Finds the largest scale with a legal
 * ratio. Weights and biases that do not fit saturate, as the output would. */
static bool lower_scale(const mac *m, const scale_range *r, const itg_value_note *outputs)
{
    while (!is_legal(m, r, false, outputs)) {
        *r->scale /= 2;
        if (*r->scale < FLT_MIN) return false;
    }
    return true;
}

static itg_status choose_scales(mac *m, const itg_value_note *outputs)
{
    bool shared = m->wq.scale_count == 1;
    for (int32_t i = 0; i < m->wq.scale_count; i++) {
        scale_range r = {&m->scale[i], shared ? 0 : i, shared ? m->channels : i + 1};
        if (!raise_scale(m, &r, outputs) && !lower_scale(m, &r, outputs))
            return annotate_fail(m->x, m->node, ITG_INFEASIBLE,
                                 "no weight scale makes products and requantization legal");
    }
    return ITG_OK;
}

static itg_status set_bias(mac *m, itg_node_note *note)
{
    if (!m->bias) return ITG_OK;
    int64_t *codes = itg_arena_array(m->x->a->arena, (size_t)m->channels, sizeof *codes);
    if (!codes) return itg_no_memory(m->x->err);
    for (int64_t c = 0; c < m->channels; c++)
        codes[c] = bias_code(m, c);
    note->bias = codes;
    note->bias_count = (int32_t)m->channels;
    return ITG_OK;
}

/* Whether a channel's sum might leave the accumulator. */
static bool sums_leave(const mac *m)
{
    int64_t most = itg_accumulator_max(m->spec->acc), below, above;
    for (int64_t c = 0; c < m->channels; c++) {
        accumulator_interval(m, c, &below, &above);
        if (above > most || below - 1 > most) return true;
    }
    return false;
}

static itg_status split_sums(mac *m, const itg_node_note *note)
{
    if (!m->spec->split.allowed || !sums_leave(m)) return ITG_OK;
    int64_t *bound = itg_arena_array(m->x->a->arena, (size_t)m->channels, sizeof *bound);
    if (!bound) return itg_no_memory(m->x->err);
    annotate_sum sum = {m->channels,
                        m->depth,
                        m->codes->codes,
                        m->wq.storage,
                        m->source.last_axis,
                        m->xq.qmin - m->xq.zero_point,
                        m->xq.qmax - m->xq.zero_point,
                        note->bias};
    m->joined_bound = bound;
    return annotate_split(m->x, m->node, &sum, bound);
}

static itg_status set_encoding(mac *m, itg_encoding *encoding, itg_id activation)
{
    int32_t count = m->joined_bound ? (int32_t)m->channels : m->wq.scale_count;
    if (encoding->is_float) {
        float *dequant = itg_arena_array(m->x->a->arena, (size_t)count, sizeof *dequant);
        if (!dequant) return itg_no_memory(m->x->err);
        for (int32_t c = 0; c < count; c++)
            dequant[c] = joined_unit(m, c);
        encoding->dequant = dequant;
        encoding->dequant_count = count;
        return ITG_OK;
    }
    if (needs_bound(m)) count = (int32_t)m->channels; /* each channel has its own pre-shift */
    itg_requant *requant = itg_arena_array(m->x->a->arena, (size_t)count, sizeof *requant);
    if (!requant) return itg_no_memory(m->x->err);
    for (int32_t c = 0; c < count; c++) {
        itg_status status =
            derive(m, c, encoding, needs_bound(m) ? accumulator_bound(m, c) : 0, &requant[c]);
        if (status != ITG_OK)
            return annotate_fail(m->x, m->node, status, "requantization cannot hold the ratio");
    }
    encoding->requant = requant;
    encoding->requant_count = count;
    annotate_clamp(m->x->g, activation, encoding);
    return ITG_OK;
}

static itg_status quantize_mac(mac *m, itg_node_note *note, itg_value_note *outputs)
{
    int32_t weight_edge = m->x->a->edge_of_node[m->node] + 1;
    itg_status status = setup_geometry(m, &m->x->s->edges[weight_edge]);
    if (status == ITG_OK) status = weight_quantizer(m, weight_edge);
    if (status == ITG_OK) status = begin_sums(m);
    if (status == ITG_OK) status = choose_scales(m, outputs);
    if (status == ITG_OK) status = settle_codes(m, &m->x->s->edges[weight_edge]);
    if (status == ITG_OK) status = set_bias(m, note);
    if (status == ITG_OK) status = split_sums(m, note);
    for (int32_t v = 0; v < outputs->encoding_count && status == ITG_OK; v++)
        status = set_encoding(m, &outputs->encodings[v], note->activation);
    if (status != ITG_OK) return status;
    itg_encoding weights = {.q = m->wq, .constant = m->codes, .zero = m->zero};
    return annotate_add_encoding(m->x, m->x->g->nodes[m->node].inputs[1], &weights,
                                 &m->x->a->edges[weight_edge].encoding);
}

itg_status annotate_float_weights(annotate *x, itg_id node)
{
    const itg_hw_spec spec = {.weight_mask = x->hw->float_weight_mask,
                              .per_channel = x->hw->float_weights_per_channel};
    mac m = {.x = x, .node = node, .spec = &spec};
    for (int32_t e = x->a->edge_of_node[node]; e < x->a->edge_of_node[node + 1]; e++) {
        if (x->a->edges[e].kind != ITG_EDGE_QUANT) continue;
        const itg_edge_choice *choice = &x->s->edges[e];
        if (choice->bias)
            return annotate_fail(x, node, ITG_MISMATCH,
                                 "strategy: a bias at the weights of a float node");
        itg_status status = setup_geometry(&m, choice);
        if (status == ITG_OK) status = weight_quantizer(&m, e);
        if (status == ITG_OK) status = settle_codes(&m, choice);
        if (status != ITG_OK) return status;
        itg_encoding weights = {.q = m.wq, .constant = m.codes, .zero = m.zero};
        status = annotate_add_encoding(x, x->a->edges[e].value, &weights, &x->a->edges[e].encoding);
        itg_cache_release(x->a->cache, m.codes); /* as below */
        return status;
    }
    return ITG_OK;
}

itg_status annotate_mac(annotate *x, itg_id node)
{
    itg_node_note *note = &x->a->nodes[node];
    mac m = {.x = x,
             .node = node,
             .spec = x->spec[node],
             .xq = itg_annotated_encoding(x->a, node, 0)->q};
    itg_status status = quantize_mac(&m, note, &x->a->values[note->out_value]);
    itg_cache_release(x->a->cache, m.codes); /* the encoding has its own hold */
    return status;
}
