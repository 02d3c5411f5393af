#include "recover/layer.h"

/* Positions needed: this many, and ITG_POSITIONS_A_TERM for each term. Fewer would fit noise. */
#define LEAST_POSITIONS 32768
#define MOST_POSITIONS 1024                  /* of a sample */
#define MOST_PRODUCTS (INT64_C(6144) * 6144) /* of pairs of terms: 300 MB */
#define MOST_TARGETS (INT64_C(1) << 28)      /* over all samples: 1 GiB */

static const itg_value *value_of(const itg_annotated *a, itg_id node, int32_t slot)
{
    return &a->graph->values[a->graph->nodes[node].inputs[slot]];
}

static void set_conv(const itg_annotated *a, itg_layer *l)
{
    const itg_node *n = &a->graph->nodes[l->node];
    const itg_shape *w = &value_of(a, l->node, 1)->shape;
    itg_window_view v = itg_window_of(ITG_OP_CONV, &n->attrs, &value_of(a, l->node, 0)->shape,
                                      &a->graph->values[n->outputs[0]].shape);
    l->is_conv = true;
    l->window = v.w;
    l->groups = v.w.group;
    l->rows = w->dims[0] / v.w.group;
    l->depth = w->dims[1] * v.w.kernel[0] * v.w.kernel[1];
    l->positions = v.batch * v.w.out_height * v.w.out_width;
}

static void set_matrix(const itg_annotated *a, itg_layer *l)
{
    const itg_shape *w = &value_of(a, l->node, 1)->shape;
    int64_t elements = 0;
    l->last_axis = a->graph->nodes[l->node].op == ITG_OP_MATMUL;
    l->groups = 1;
    l->rows = w->dims[l->last_axis ? 1 : 0];
    l->depth = w->dims[l->last_axis ? 0 : 1];
    (void)itg_shape_elements(&value_of(a, l->node, 0)->shape, &elements);
    l->positions = elements / l->depth;
}

/* Finds the Add that alone reads the layer's output and whose other operand has its shape. */
static void find_add(const itg_annotated *a, itg_layer *l)
{
    const itg_graph *g = a->graph;
    itg_id value = g->nodes[l->node].outputs[0];
    const itg_id add = itg_graph_only_reader(g, value);
    l->add = ITG_NONE;
    if (add == ITG_NONE || g->nodes[add].op != ITG_OP_ADD) return;
    const int32_t slot = g->nodes[add].inputs[1] == value;
    itg_id other = g->nodes[add].inputs[1 - slot];
    const itg_edge *edge = itg_annotated_edge(a, add, 1 - slot);
    if (other == value || g->values[other].data || edge == NULL) return;
    if (edge->kind == ITG_EDGE_FUSED) return;
    if (!itg_shape_equal(&g->values[other].shape, &g->values[value].shape)) return;
    l->add = add;
    l->add_slot = 1 - slot;
}

/* Whether a float node, whose weights are codes, computes bias + sums of products. */
static bool has_float_sums(const itg_annotated *a, itg_id node)
{
    const itg_node *n = &a->graph->nodes[node];
    const itg_edge *edge = itg_annotated_edge(a, node, 1);
    if (a->nodes[node].form != ITG_FORM_FLOAT || !itg_op_is(n->op, ITG_IS_MAC)) return false;
    if (!edge || edge->kind != ITG_EDGE_QUANT) return false;
    if (n->op == ITG_OP_GEMM &&
        (n->attrs.trans_a || !(n->attrs.alpha == 1.0f && n->attrs.beta == 1.0f)))
        return false;
    if (n->input_count < 3 || n->inputs[2] == ITG_NONE) return true;
    const itg_value *bias = value_of(a, node, 2), *w = value_of(a, node, 1);
    const int64_t channels = w->shape.dims[n->op == ITG_OP_MATMUL ? w->shape.rank - 1 : 0];
    int64_t biases = 0;
    return bias->data && itg_shape_elements(&bias->shape, &biases) && biases == channels;
}

bool itg_layer_of(const itg_annotated *a, itg_id node, itg_layer *out)
{
    const itg_node *n = &a->graph->nodes[node];
    const bool is_float = has_float_sums(a, node);
    if ((a->nodes[node].form != ITG_FORM_MAC && !is_float) || n->input_count < 2) return false;
    const itg_value *w = value_of(a, node, 1);
    const itg_encoding *x = itg_annotated_encoding(a, node, 0);
    if (!w->data || value_of(a, node, 0)->data || !x || x->is_float != is_float) return false;
    if (!is_float && x->q.bits > 16) return false;
    if (n->op != ITG_OP_CONV && w->shape.rank != 2) return false;
    *out =
        (itg_layer){.node = node, .weight_edge = a->edge_of_node[node] + 1, .is_float = is_float};
    if (n->op == ITG_OP_CONV)
        set_conv(a, out);
    else
        set_matrix(a, out);
    find_add(a, out);
    return out->depth > 0 && out->positions > 0 && out->rows > 0 && out->depth <= MOST_PRODUCTS &&
           out->groups <= MOST_PRODUCTS / out->depth / out->depth;
}

const itg_quantizer *itg_layer_quantizer(const itg_annotated *a, const itg_layer *l)
{
    return &itg_annotated_encoding(a, l->node, 1)->q;
}

bool itg_layer_has_zero_points(const itg_layer *layer, const itg_graph *g, const itg_hardware *hw,
                               const itg_strategy *s, int32_t bits)
{
    const itg_edge_choice *w = &s->edges[layer->weight_edge];
    if (layer->is_float) return itg_hardware_has_zero_points(hw, NULL, bits);
    const itg_hw_spec *spec =
        itg_hardware_match(hw, g->nodes[layer->node].op, &w[-1].bits, 1, bits, w->passed_over);
    return spec && itg_hardware_has_zero_points(hw, spec, bits);
}

void itg_layer_take(itg_layer *l, int64_t samples)
{
    int64_t wanted = ITG_POSITIONS_A_TERM * l->depth;
    if (wanted < LEAST_POSITIONS) wanted = LEAST_POSITIONS;
    l->taken = (wanted + samples - 1) / samples;
    int64_t most = MOST_TARGETS / (samples * itg_layer_channels(l));
    if (most > MOST_POSITIONS) most = MOST_POSITIONS;
    if (l->taken > most) l->taken = most > 0 ? most : 1;
    if (l->taken > l->positions) l->taken = l->positions;
}

void itg_layer_positions(const itg_layer *l, int64_t sample, int64_t *out)
{
    itg_rng rng;
    itg_rng_init(&rng, (uint64_t)l->node << 32 ^ (uint64_t)sample);
    for (int64_t j = 0; j < l->taken; j++) {
        int64_t first = j * l->positions / l->taken, end = (j + 1) * l->positions / l->taken;
        out[j] = first + (int64_t)itg_rng_below(&rng, (uint64_t)(end - first));
    }
}

int64_t itg_layer_output(const itg_layer *l, int64_t channel, int64_t position)
{
    int64_t channels = itg_layer_channels(l);
    if (!l->is_conv) return position * channels + channel;
    int64_t area = l->window.out_height * l->window.out_width;
    return (position / area * channels + channel) * area + position % area;
}

void itg_layer_corners(const itg_layer *l, const int64_t *positions, itg_corner *out)
{
    const itg_window *w = &l->window;
    int64_t area = w->out_height * w->out_width;
    for (int64_t j = 0; j < l->taken; j++) {
        out[j] = (itg_corner){.first = positions[j] * l->depth};
        if (!l->is_conv) continue;
        int64_t image = positions[j] / area, place = positions[j] % area;
        out[j].y = place / w->out_width * w->stride[0] - w->pad_top;
        out[j].x = place % w->out_width * w->stride[1] - w->pad_left;
        out[j].first = (image * w->channels * w->height + out[j].y) * w->width + out[j].x;
    }
}

static void conv_inputs(const itg_layer *l, int64_t group, int64_t term, const itg_corner *corners,
                        int64_t *out)
{
    const itg_window *w = &l->window;
    int64_t taps = w->kernel[0] * w->kernel[1], channels = w->channels / w->group,
            channel = group * channels + term / taps,
            down = term % taps / w->kernel[1] * w->dilation[0],
            right = term % w->kernel[1] * w->dilation[1],
            offset = (channel * w->height + down) * w->width + right;
    for (int64_t j = 0; j < l->taken; j++) {
        uint64_t y = (uint64_t)(corners[j].y + down), x = (uint64_t)(corners[j].x + right);
        bool inside = y < (uint64_t)w->height && x < (uint64_t)w->width;
        out[j] = inside ? corners[j].first + offset : -1;
    }
}

void itg_layer_inputs(const itg_layer *l, int64_t group, int64_t term, const itg_corner *corners,
                      int64_t *out)
{
    if (l->is_conv) conv_inputs(l, group, term, corners, out);
    for (int64_t j = 0; !l->is_conv && j < l->taken; j++)
        out[j] = corners[j].first + term;
}
