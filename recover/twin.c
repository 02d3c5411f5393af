#include "recover/twin.h"
#include "kernels/clones.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPERANDS = 3, LANES = 16 };

/* ---- the layers ---- */

static const itg_value *model_bias(const itg_graph *g, const itg_layer *l)
{
    const itg_node *n = &g->nodes[l->node];
    return n->input_count > 2 && n->inputs[2] != ITG_NONE ? &g->values[n->inputs[2]] : NULL;
}

/* ONNX's MatMul has no bias, and a float node keeps the model's. */
static bool can_have_bias(const itg_graph *g, const itg_layer *l)
{
    return !l->is_float && (g->nodes[l->node].op != ITG_OP_MATMUL || model_bias(g, l));
}

static bool has_parameters(const itg_graph *g, const itg_strategy *s, const itg_layer *l)
{
    const itg_node *n = &g->nodes[l->node];
    const itg_value *bias = model_bias(g, l);
    int64_t biases = 0;
    if (bias && (!bias->data || !itg_shape_elements(&bias->shape, &biases) ||
                 biases != itg_layer_channels(l)))
        return false;
    return s->edges[l->weight_edge].codes && g->values[n->inputs[1]].reads == 1 &&
           (n->op != ITG_OP_GEMM || n->attrs.alpha == 1.0f);
}

static bool fill_layer(const itg_annotated *a, const itg_strategy *s, itg_twin_layer *t)
{
    const itg_layer *l = t->layer;
    const itg_quantizer *q = itg_layer_quantizer(a, l);
    const void *codes = itg_annotated_encoding(a, l->node, 1)->constant->codes;
    const itg_value *own = model_bias(a->graph, l);
    const float *bias = s->edges[l->weight_edge].bias;
    if (!bias && own) bias = own->data;
    const int64_t channels = itg_layer_channels(l);
    t->weights = malloc((size_t)(channels * l->depth) * sizeof *t->weights);
    t->bias = calloc((size_t)channels, sizeof *t->bias);
    if (!t->weights || !t->bias) return false;
    if (bias) memcpy(t->bias, bias, (size_t)channels * sizeof *bias);
    for (int64_t c = 0; c < channels; c++)
        for (int64_t k = 0; k < l->depth; k++) {
            const int64_t i = itg_layer_weight(l, c, k);
            t->weights[i] =
                (float)itg_load(q->storage, codes, i) * q->scale[q->scale_count == 1 ? 0 : c];
        }
    return true;
}

/* ---- the graph ---- */

/* Puts the layer's weights and its bias, a value of its own, into the graph. */
static void change_node(itg_twin *t, const itg_twin_layer *own, itg_id bias, itg_id *inputs)
{
    itg_graph *g = &t->graph;
    itg_node *n = &g->nodes[own->layer->node];
    g->values[n->inputs[1]].data = own->weights;
    if (n->op == ITG_OP_MATMUL && n->input_count < OPERANDS) return;
    g->values[bias] = (itg_value){.name = "",
                                  .dtype = ITG_F32,
                                  .shape = {1, {itg_layer_channels(own->layer)}},
                                  .producer = ITG_NONE,
                                  .data = own->bias};
    inputs[0] = n->inputs[0];
    inputs[1] = n->inputs[1];
    inputs[2] = bias;
    n->inputs = inputs;
    n->input_count = OPERANDS;
    n->attrs.beta = 1;
}

/* A value that several edges quantize is rounded as for the first. */
static void find_grids(const itg_annotated *a, const itg_quantizer **grids)
{
    const itg_graph *g = a->graph;
    for (itg_id n = 0; n <= g->node_count; n++) {
        const itg_id node = n < g->node_count ? n : ITG_NONE;
        const int32_t slots = n < g->node_count ? g->nodes[n].input_count : g->output_count;
        for (int32_t i = 0; i < slots; i++) {
            const itg_edge *edge = itg_annotated_edge(a, node, i);
            if (!edge || edge->kind != ITG_EDGE_QUANT || g->values[edge->value].data) continue;
            const itg_encoding *e = itg_annotated_encoding(a, node, i);
            if (!e->is_float && e->q.scale_count == 1 && !grids[edge->value])
                grids[edge->value] = &e->q;
        }
    }
}

static bool create(const itg_annotated *a, const itg_strategy *s, const itg_layer *layers,
                   int32_t count, bool scales, itg_twin *t)
{
    const itg_graph *g = a->graph;
    t->graph = *g;
    t->graph.values = calloc((size_t)(g->value_count + count) + 1, sizeof *g->values);
    t->graph.nodes = calloc((size_t)g->node_count + 1, sizeof *g->nodes);
    t->grids = calloc((size_t)(g->value_count + count) + 1, sizeof *t->grids);
    t->inputs = calloc((size_t)count * OPERANDS + 1, sizeof *t->inputs);
    t->layers = calloc((size_t)count + 1, sizeof *t->layers);
    if (!t->graph.values || !t->graph.nodes || !t->grids || !t->inputs || !t->layers) return false;
    find_grids(a, t->grids);
    memcpy(t->graph.values, g->values, (size_t)g->value_count * sizeof *g->values);
    memcpy(t->graph.nodes, g->nodes, (size_t)g->node_count * sizeof *g->nodes);
    for (int32_t i = 0; i < count; i++) {
        const itg_layer *l = &layers[i];
        if (!has_parameters(g, s, l)) continue;
        const itg_quantizer *q = itg_layer_quantizer(a, l);
        itg_twin_layer *own = &t->layers[t->layer_count];
        *own = (itg_twin_layer){.layer = l,
                                .scale_count = scales ? q->scale_count : 0,
                                .first_scale = t->parameters,
                                .first_bias = -1};
        t->parameters += own->scale_count;
        if (can_have_bias(g, l)) {
            own->first_bias = t->parameters;
            t->parameters += itg_layer_channels(l);
        }
        const bool filled = fill_layer(a, s, own);
        change_node(t, own, t->graph.value_count++, t->inputs + OPERANDS * t->layer_count++);
        if (!filled) return false;
    }
    return true;
}

itg_status itg_twin_create(const itg_annotated *annotated, const itg_strategy *s,
                           const itg_layer *layers, int32_t layer_count, bool scales, itg_twin *out,
                           itg_error *err)
{
    *out = (itg_twin){0};
    if (create(annotated, s, layers, layer_count, scales, out)) return ITG_OK;
    itg_twin_deinit(out);
    return itg_fail(err, ITG_NO_MEMORY, "no memory for the network with codes for its weights");
}

void itg_twin_deinit(itg_twin *t)
{
    for (int32_t i = 0; i < t->layer_count; i++) {
        free(t->layers[i].weights);
        free(t->layers[i].bias);
    }
    free(t->graph.values);
    free(t->graph.nodes);
    free(t->grids);
    free(t->inputs);
    free(t->layers);
    *t = (itg_twin){0};
}

/* ---- derivatives ---- */

/* Over a channel: of the gradient, and of its products with what is added to the bias. */
typedef struct sums {
    double gradient, product;
} sums;

ITG_CLONES static void recover_sum_run(const float *y, double bias, const float *gradient,
                                       int64_t n, sums *out)
{
    double a[LANES] = {0}, b[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            a[k] += (double)gradient[i + k];
            b[k] += (double)gradient[i + k] * ((double)y[i + k] - bias);
        }
    for (; i < n; i++) {
        out->gradient += (double)gradient[i];
        out->product += (double)gradient[i] * ((double)y[i] - bias);
    }
    for (int k = 0; k < LANES; k++) {
        out->gradient += a[k];
        out->product += b[k];
    }
}

/* Channels that lie beside each other, one element of each a row of n. */
ITG_CLONES static void recover_sum_rows(const float *y, const float *bias, const float *gradient,
                                        int64_t rows, int64_t n, int64_t count, sums *out)
{
    double a[LANES] = {0}, b[LANES] = {0};
    for (int64_t p = 0; p < rows; p++)
        for (int64_t k = 0; k < count; k++) {
            const double g = (double)gradient[p * n + k];
            a[k] += g;
            b[k] += g * ((double)y[p * n + k] - (double)bias[k]);
        }
    for (int64_t k = 0; k < count; k++)
        out[k] = (sums){a[k], b[k]};
}

/* Sums of channels [first, first + count), at most LANES. */
static void sum_channels(const itg_twin_layer *own, const float *y, const float *gradient,
                         int64_t first, int64_t count, sums *out)
{
    const itg_layer *l = own->layer;
    const int64_t area = l->window.out_height * l->window.out_width;
    if (!l->is_conv) {
        recover_sum_rows(y + first, own->bias + first, gradient + first, l->positions,
                         itg_layer_channels(l), count, out);
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        out[k] = (sums){0};
        for (int64_t p = 0; p < l->positions; p += area) {
            const int64_t at = itg_layer_output(l, first + k, p);
            recover_sum_run(y + at, (double)own->bias[first + k], gradient + at, area, &out[k]);
        }
    }
}

static double sum_squares(const itg_twin_layer *own, const float *y, int64_t c)
{
    double sum = 0;
    for (int64_t p = 0; p < own->layer->positions; p++) {
        const double x = (double)y[itg_layer_output(own->layer, c, p)] - (double)own->bias[c];
        sum += x * x;
    }
    return isfinite(sum) ? sum : 0;
}

static float finite(double x)
{
    return isfinite(x) && isfinite((float)x) ? (float)x : 0;
}

void itg_twin_row(const itg_twin *t, const itg_gradient_run *run, float *row)
{
    memset(row, 0, (size_t)t->parameters * sizeof *row);
    for (int32_t i = 0; i < t->layer_count; i++) {
        const itg_twin_layer *own = &t->layers[i];
        const itg_id output = t->graph.nodes[own->layer->node].outputs[0];
        const int64_t channels = itg_layer_channels(own->layer);
        const float *gradient = itg_gradient_of(run, output);
        double all = 0;
        for (int64_t c = 0; gradient && c < channels; c += LANES) {
            const int64_t count = channels - c < LANES ? channels - c : LANES;
            sums s[LANES];
            sum_channels(own, itg_gradient_value(run, output), gradient, c, count, s);
            for (int64_t k = 0; k < count; k++) {
                all += s[k].product;
                if (own->scale_count > 1) row[own->first_scale + c + k] = finite(s[k].product);
                if (own->first_bias >= 0) row[own->first_bias + c + k] = finite(s[k].gradient);
            }
        }
        if (own->scale_count == 1) row[own->first_scale] = finite(all);
    }
}

void itg_twin_add_squares(const itg_twin *t, const itg_gradient_run *run, double *squares)
{
    for (int32_t i = 0; i < t->layer_count; i++) {
        const itg_twin_layer *own = &t->layers[i];
        const itg_id output = t->graph.nodes[own->layer->node].outputs[0];
        const double positions = (double)own->layer->positions;
        for (int64_t c = 0; own->first_bias >= 0 && c < itg_layer_channels(own->layer); c++)
            squares[own->first_bias + c] +=
                sum_squares(own, itg_gradient_value(run, output), c) / positions;
    }
}
