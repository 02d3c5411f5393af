#include "recover/gradient.h"
#include "kernels/clones.h"
#include "kernels/float_ops.h"
#include "kernels/math.h"
#include "recover/gradient_rules.h"
#include "sim/sim.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDER 12582912.0f /* 1.5 * 2^23 */

struct itg_gradient_plan {
    const itg_graph *g;
    itg_rule *rules;   /* [nodes] */
    bool *known;       /* [values] */
    int64_t *elements; /* [values]; 0: a constant */
    int64_t scratch;   /* elements */
    bool is_classifier;
    const itg_quantizer *const *grids; /* [values]; NULL: no value is rounded */
};

struct itg_gradient_run {
    const itg_gradient_plan *plan;
    itg_tensor *values; /* [values] */
    float **gradients;  /* [values]; NULL: unknown */
    float *scratch;
    float **kept;         /* [nodes] (itg_rule); NULL: none */
    bool is_first;        /* the next backward pass is the first since the values were computed */
    double *odds;         /* of the classes */
    itg_tensor *in, *out; /* of a node */
    float **gin, **gout;
};

static int64_t most_operands(const itg_graph *g)
{
    int64_t most = 1;
    for (itg_id n = 0; n < g->node_count; n++) {
        if (g->nodes[n].input_count > most) most = g->nodes[n].input_count;
        if (g->nodes[n].output_count > most) most = g->nodes[n].output_count;
    }
    return most;
}

/* ---- the plan ---- */

int64_t itg_gradient_bytes(const itg_graph *g)
{
    double bytes = 0;
    for (itg_id v = 0; v < g->value_count; v++) {
        int64_t elements = 0;
        if (g->values[v].data) continue;
        if (!itg_shape_elements(&g->values[v].shape, &elements)) return INT64_MAX;
        bytes += (double)elements * (double)(itg_dtype_size(g->values[v].dtype) + sizeof(float));
    }
    return bytes < 0x1p62 ? (int64_t)bytes : INT64_MAX;
}

/* A value is unknown if a reader has no rule, or if a result of the reader is unknown. */
static void find_known(itg_gradient_plan *p, bool inputs)
{
    const itg_graph *g = p->g;
    for (itg_id v = 0; v < g->value_count; v++)
        p->known[v] = !g->values[v].data && g->values[v].dtype == ITG_F32;
    for (int32_t i = 0; i < g->input_count && !inputs; i++)
        p->known[g->inputs[i]] = false;
    for (itg_id n = g->node_count - 1; n >= 0; n--) {
        const itg_node *node = &g->nodes[n];
        bool ok = p->rules[n].fn != NULL;
        for (int32_t k = 0; k < node->output_count; k++)
            ok = ok && (node->outputs[k] == ITG_NONE || p->known[node->outputs[k]]);
        if (ok) continue;
        p->rules[n].fn = NULL;
        for (int32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] != ITG_NONE) p->known[node->inputs[i]] = false;
    }
}

void itg_gradient_plan_destroy(itg_gradient_plan *p)
{
    if (!p) return;
    for (itg_id n = 0; p->rules && n < p->g->node_count; n++)
        itg_rule_deinit(&p->rules[n]);
    free(p->rules);
    free(p->known);
    free(p->elements);
    free(p);
}

itg_status itg_gradient_plan_create(const itg_graph *g, bool inputs, itg_gradient_plan **out,
                                    itg_error *err)
{
    itg_gradient_plan *p = calloc(1, sizeof *p);
    if (!p) return itg_fail(err, ITG_NO_MEMORY, "no memory for gradients");
    *p = (itg_gradient_plan){g,
                             calloc((size_t)g->node_count + 1, sizeof *p->rules),
                             calloc((size_t)g->value_count + 1, sizeof *p->known),
                             calloc((size_t)g->value_count + 1, sizeof *p->elements),
                             0,
                             itg_model_is_classifier(g),
                             NULL};
    itg_status status = p->rules && p->known && p->elements
                            ? ITG_OK
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for gradients");
    for (itg_id v = 0; v < g->value_count && status == ITG_OK; v++)
        if (!g->values[v].data) (void)itg_shape_elements(&g->values[v].shape, &p->elements[v]);
    for (itg_id n = 0; n < g->node_count && status == ITG_OK; n++) {
        status = itg_rule_prepare(g, &g->nodes[n], &p->rules[n], err);
        if (p->rules[n].scratch > p->scratch) p->scratch = p->rules[n].scratch;
    }
    if (status == ITG_OK) {
        find_known(p, inputs);
        *out = p;
    } else {
        itg_gradient_plan_destroy(p);
    }
    return status;
}

void itg_gradient_plan_round(itg_gradient_plan *plan, const itg_quantizer *const *grids)
{
    plan->grids = grids;
}

bool itg_gradient_is_known(const itg_gradient_plan *plan, itg_id value)
{
    return plan->known[value];
}

/* ---- a run ---- */

void itg_gradient_run_destroy(itg_gradient_run *r)
{
    if (!r) return;
    for (itg_id v = 0; v < r->plan->g->value_count; v++) {
        if (r->values && !r->plan->g->values[v].data) free(r->values[v].data);
        if (r->gradients) free(r->gradients[v]);
    }
    for (itg_id n = 0; r->kept && n < r->plan->g->node_count; n++)
        free(r->kept[n]);
    free(r->values);
    free(r->gradients);
    free(r->scratch);
    free(r->kept);
    free(r->odds);
    free(r->in);
    free(r->out);
    free(r->gin);
    free(r->gout);
    free(r);
}

static bool allocate(itg_gradient_run *r)
{
    const itg_gradient_plan *p = r->plan;
    const itg_graph *g = p->g;
    const size_t operands = (size_t)most_operands(g);
    r->values = calloc((size_t)g->value_count + 1, sizeof *r->values);
    r->gradients = calloc((size_t)g->value_count + 1, sizeof *r->gradients);
    r->scratch = malloc((size_t)p->scratch * sizeof *r->scratch + 1);
    r->kept = calloc((size_t)g->node_count + 1, sizeof *r->kept);
    r->odds = malloc((size_t)p->elements[g->outputs[0]] * sizeof *r->odds + 1);
    r->in = calloc(operands, sizeof *r->in);
    r->out = calloc(operands, sizeof *r->out);
    r->gin = calloc(operands, sizeof *r->gin);
    r->gout = calloc(operands, sizeof *r->gout);
    if (!r->values || !r->gradients || !r->scratch || !r->kept || !r->odds || !r->in || !r->out ||
        !r->gin || !r->gout)
        return false;
    for (itg_id n = 0; n < g->node_count; n++) {
        if (p->rules[n].kept == 0) continue;
        r->kept[n] = malloc((size_t)p->rules[n].kept * sizeof **r->kept);
        if (!r->kept[n]) return false;
    }
    for (itg_id v = 0; v < g->value_count; v++) {
        const itg_value *value = &g->values[v];
        r->values[v] = (itg_tensor){value->dtype, value->shape, (void *)(uintptr_t)value->data};
        if (value->data) continue;
        r->values[v].data = malloc(itg_tensor_bytes(&r->values[v]) + 1);
        if (p->known[v])
            r->gradients[v] = malloc((size_t)p->elements[v] * sizeof **r->gradients + 1);
        if (!r->values[v].data || (p->known[v] && !r->gradients[v])) return false;
    }
    return true;
}

itg_status itg_gradient_run_create(const itg_gradient_plan *plan, itg_gradient_run **out,
                                   itg_error *err)
{
    itg_gradient_run *r = calloc(1, sizeof *r);
    if (r) r->plan = plan;
    if (!r || !allocate(r)) {
        itg_gradient_run_destroy(r);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for gradients");
    }
    *out = r;
    return ITG_OK;
}

static void bind(const itg_gradient_run *r, const itg_node *n)
{
    for (int32_t i = 0; i < n->input_count; i++) {
        itg_id v = n->inputs[i];
        r->in[i] = v == ITG_NONE ? (itg_tensor){0} : r->values[v];
        r->gin[i] = v == ITG_NONE ? NULL : r->gradients[v];
    }
    for (int32_t i = 0; i < n->output_count; i++) {
        itg_id v = n->outputs[i];
        r->out[i] = v == ITG_NONE ? (itg_tensor){0} : r->values[v];
        r->gout[i] = v == ITG_NONE ? NULL : r->gradients[v];
    }
}

/* ---- grids ---- */

/* The ends of a grid, as multiples of its step from its zero point. */
typedef struct span {
    float step, lo, hi;
} span;

static bool span_of(const itg_gradient_plan *p, itg_id value, span *out)
{
    const itg_quantizer *q = p->grids && value != ITG_NONE ? p->grids[value] : NULL;
    if (!q) return false;
    *out = (span){q->scale[0], (float)(q->qmin - q->zero_point), (float)(q->qmax - q->zero_point)};
    return true;
}

ITG_CLONES static void recover_round(float *x, span s, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float steps = x[i] / s.step;
        steps = steps < s.hi ? steps : s.hi;
        steps = steps > s.lo ? steps : s.lo;
        steps += ROUNDER; /* beyond it floats are integers */
        x[i] = (steps - ROUNDER) * s.step;
    }
}

/* Clears gradients where the value lies at an end. */
ITG_CLONES static void recover_clear_clipped(float *gradient, const float *x, span s, int64_t n)
{
    const float lo = (s.lo + 0.5f) * s.step, hi = (s.hi - 0.5f) * s.step;
    for (int64_t i = 0; i < n; i++)
        gradient[i] = x[i] > lo && x[i] < hi ? gradient[i] : 0;
}

static void round_value(const itg_gradient_run *r, itg_id value)
{
    span s;
    if (span_of(r->plan, value, &s))
        recover_round(r->values[value].data, s, r->plan->elements[value]);
}

static void clear_clipped(const itg_gradient_run *r, itg_id value)
{
    span s;
    if (span_of(r->plan, value, &s) && r->gradients[value])
        recover_clear_clipped(r->gradients[value], r->values[value].data, s,
                              r->plan->elements[value]);
}

static itg_status forward(const itg_gradient_run *r, itg_error *err)
{
    const itg_graph *g = r->plan->g;
    itg_status status = ITG_OK;
    for (itg_id n = 0; n < g->node_count && status == ITG_OK; n++) {
        const itg_node *node = &g->nodes[n];
        int32_t outputs = node->output_count;
        while (outputs > 0 && node->outputs[outputs - 1] == ITG_NONE)
            outputs--;
        bind(r, node);
        status =
            itg_float_eval(node->op, &node->attrs, r->in, node->input_count, r->out, outputs, err);
        for (int32_t k = 0; k < outputs; k++)
            round_value(r, node->outputs[k]);
    }
    return status;
}

void itg_gradient_softmax(const float *logits, int64_t n, double *out)
{
    double most = (double)logits[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        most = (double)logits[i] > most ? (double)logits[i] : most;
    for (int64_t i = 0; i < n; i++)
        sum += out[i] = itg_exp((double)logits[i] - most);
    for (int64_t i = 0; i < n; i++)
        out[i] /= sum;
}

/* Sets the gradient of a classifier's output: what was drawn less the probabilities. Half of the
 * draws are of any class, and count by their probability: where the network is sure, its own
 * classes alone would almost never draw another. */
static void draw_class(const itg_gradient_run *r, const float *x, int64_t n, itg_rng *rng,
                       float *out)
{
    itg_gradient_softmax(x, n, r->odds);
    double left = itg_rng_unit(rng) * 2;
    int64_t drawn = 0;
    for (; drawn + 1 < n && left >= r->odds[drawn] + 1 / (double)n; drawn++)
        left -= r->odds[drawn] + 1 / (double)n;
    double p = r->odds[drawn], weight = sqrt(2 * p / (p + 1 / (double)n));
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)(weight * ((i == drawn) - r->odds[i]));
}

static void draw(const itg_gradient_run *r, int64_t sample)
{
    const itg_gradient_plan *p = r->plan;
    itg_rng rng;
    itg_rng_init(&rng, (uint64_t)sample);
    for (int32_t i = 0; i < p->g->output_count; i++) {
        itg_id v = p->g->outputs[i];
        float *out = r->gradients[v];
        if (out && p->is_classifier) draw_class(r, r->values[v].data, p->elements[v], &rng, out);
        for (int64_t k = 0; k < p->elements[v] && out && !p->is_classifier; k++)
            out[k] = itg_rng_below(&rng, 2) ? 1 : -1;
    }
}

static void clear(const itg_gradient_run *r)
{
    const itg_gradient_plan *p = r->plan;
    for (itg_id v = 0; v < p->g->value_count; v++)
        if (p->known[v]) memset(r->gradients[v], 0, (size_t)p->elements[v] * sizeof(float));
}

/* The outputs' gradients are set, all others 0. */
static itg_status backward(itg_gradient_run *r, itg_error *err)
{
    const itg_gradient_plan *p = r->plan;
    const itg_graph *g = p->g;
    itg_status status = ITG_OK;
    for (itg_id n = g->node_count - 1; n >= 0 && status == ITG_OK; n--) {
        const itg_node *node = &g->nodes[n];
        if (!p->rules[n].fn) continue;
        bind(r, node);
        for (int32_t k = 0; k < node->output_count; k++)
            clear_clipped(r, node->outputs[k]);
        const itg_rule_call call = {g,       node,       &p->rules[n], r->in,       r->out,  r->gin,
                                    r->gout, r->scratch, r->kept[n],   r->is_first, &status, err};
        p->rules[n].fn(&call);
    }
    r->is_first = false;
    return status;
}

itg_status itg_gradient_run_forward(itg_gradient_run *r, const itg_feed *feed, int64_t sample,
                                    itg_error *err)
{
    itg_status status = ITG_OK;
    r->is_first = true;
    for (int32_t i = 0; i < feed->count && status == ITG_OK; i++)
        status = itg_feed_fill(feed, i, sample, r->values[r->plan->g->inputs[i]].data, err);
    for (int32_t i = 0; i < r->plan->g->input_count; i++)
        round_value(r, r->plan->g->inputs[i]);
    return status == ITG_OK ? forward(r, err) : status;
}

itg_status itg_gradient_run_backward(itg_gradient_run *r, const float *output, itg_error *err)
{
    const itg_id v = r->plan->g->outputs[0];
    clear(r);
    if (r->gradients[v])
        memcpy(r->gradients[v], output, (size_t)r->plan->elements[v] * sizeof *output);
    return backward(r, err);
}

itg_status itg_gradient_run_sample(itg_gradient_run *r, const itg_feed *feed, int64_t sample,
                                   itg_error *err)
{
    itg_status status = itg_gradient_run_forward(r, feed, sample, err);
    if (status != ITG_OK) return status;
    clear(r);
    draw(r, sample);
    return backward(r, err);
}

const float *itg_gradient_value(const itg_gradient_run *run, itg_id value)
{
    return run->values[value].data;
}

const float *itg_gradient_of(const itg_gradient_run *run, itg_id value)
{
    return run->gradients[value];
}
