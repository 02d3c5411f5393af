#include "recover/targets.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TARGET_BYTES ((size_t)1 << 30)

typedef struct pass {
    const itg_graph *g;
    const itg_layer *layers;
    const itg_calibration_samples *samples;
    const itg_recover_options *options;
    itg_targets *targets;
    itg_tune_odds *odds; /* NULL: not wanted */
    /* The layers that add a value: the first of it, [values], and the next of each, [2 * layers],
     * as 2 * layer, and one more where the value is the Add's other operand; or ITG_NONE. */
    int32_t *adders, *next;
    itg_float_exec **exec; /* [threads] */
    int64_t **positions;   /* [threads]: room for the positions of any layer */
} pass;

static size_t sample_elements(const itg_layer *l)
{
    return (size_t)(l->taken * itg_layer_channels(l));
}

void itg_targets_deinit(itg_targets *t)
{
    for (int32_t i = t->first; t->values && i < t->end; i++) {
        free(t->values[i]);
        t->values[i] = NULL;
    }
    free(t->values);
    *t = (itg_targets){0};
}

static itg_status allocate(const itg_layer *layers, int32_t count, int32_t first, int64_t samples,
                           itg_targets *t, itg_error *err)
{
    t->values = calloc((size_t)count + 1, sizeof *t->values);
    t->first = t->end = first;
    for (; t->values && t->end < count; t->end++) {
        size_t size = sample_elements(&layers[t->end]) * (size_t)samples * sizeof **t->values;
        if (t->end > first && t->bytes + size > TARGET_BYTES) return ITG_OK;
        t->bytes += size;
        t->values[t->end] = malloc(size);
        if (!t->values[t->end]) break;
    }
    return t->values && t->end == count
               ? ITG_OK
               : itg_fail(err, ITG_NO_MEMORY, "no memory for the float network's outputs");
}

/* A sample that a worker visits. */
typedef struct visit {
    const pass *p;
    int64_t sample, *positions;
} visit;

/* A target that is not a number counts as 0. */
static float finite(float x)
{
    return isfinite(x) ? x : 0;
}

static void add_value(const visit *v, int32_t layer, const float *x)
{
    const itg_layer *l = &v->p->layers[layer];
    int64_t channels = itg_layer_channels(l);
    float *out = v->p->targets->values[layer] + (size_t)v->sample * sample_elements(l);
    itg_layer_positions(l, v->sample, v->positions);
    for (int64_t j = 0; j < l->taken; j++)
        for (int64_t c = 0; c < channels; c++)
            out[j * channels + c] += finite(x[itg_layer_output(l, c, v->positions[j])]);
}

static void take_value(void *context, itg_id value, const itg_tensor *tensor)
{
    const visit *v = context;
    const pass *p = v->p;
    for (int32_t i = p->adders[value]; i != ITG_NONE; i = p->next[i])
        add_value(v, i / 2, tensor->data);
}

/* Enters the value's layer, unless the value is the layer's twice. */
static void enter_value(const pass *p, itg_id value, int32_t entry)
{
    if (p->adders[value] != ITG_NONE && p->adders[value] / 2 == entry / 2) return;
    p->next[entry] = p->adders[value];
    p->adders[value] = entry;
}

static itg_status find_adders(pass *p, int32_t layer_count, itg_error *err)
{
    p->adders = calloc((size_t)p->g->value_count + 1, sizeof *p->adders);
    p->next = calloc(2 * (size_t)layer_count + 1, sizeof *p->next);
    if (!p->adders || !p->next)
        return itg_fail(err, ITG_NO_MEMORY, "no memory to run the float network");
    for (itg_id v = 0; v < p->g->value_count; v++)
        p->adders[v] = ITG_NONE;
    for (int32_t i = p->targets->first; i < p->targets->end; i++) {
        const itg_layer *l = &p->layers[i];
        enter_value(p, p->g->nodes[l->node].outputs[0], 2 * i);
        if (l->add != ITG_NONE) enter_value(p, p->g->nodes[l->add].inputs[l->add_slot], 2 * i + 1);
    }
    return ITG_OK;
}

/* Clears the memory before it is read, because pages that are read first are mapped twice. */
static void clear_sample(const pass *p, int64_t sample)
{
    for (int32_t i = p->targets->first; i < p->targets->end; i++) {
        size_t size = sample_elements(&p->layers[i]);
        memset(p->targets->values[i] + (size_t)sample * size, 0,
               size * sizeof *p->targets->values[i]);
    }
}

static itg_status run_sample(void *context, int worker, int64_t sample, itg_error *err)
{
    const pass *p = context;
    itg_status status = itg_check_stop(&p->options->stop, err);
    if (status == ITG_OK && !p->exec[worker])
        status = itg_float_exec_create(p->g, ITG_FLOAT_REFERENCE, &p->exec[worker], err);
    if (status != ITG_OK) return status;
    clear_sample(p, sample);
    status = itg_feed_fill_all(p->samples->feed, sample, p->exec[worker], err);
    visit v = {p, sample, p->positions[worker]};
    if (status == ITG_OK) status = itg_float_exec_visit(p->exec[worker], take_value, &v, err);
    if (status == ITG_OK && p->odds)
        itg_tune_odds_set(p->odds, sample, itg_float_exec_output(p->exec[worker], 0).data);
    return status;
}

static itg_status run_samples(pass *p, int32_t layer_count, int threads, itg_error *err)
{
    int64_t most = 1;
    bool ok = true;
    for (int32_t i = 0; i < layer_count; i++)
        if (p->layers[i].taken > most) most = p->layers[i].taken;
    p->exec = calloc((size_t)threads, sizeof *p->exec);
    p->positions = calloc((size_t)threads, sizeof *p->positions);
    for (int t = 0; p->positions && t < threads; t++) {
        p->positions[t] = calloc((size_t)most, sizeof **p->positions);
        ok = ok && p->positions[t];
    }
    itg_status status = ok && p->exec && p->positions
                            ? itg_parallel_for(threads, p->samples->count, run_sample, p, err)
                            : itg_fail(err, ITG_NO_MEMORY, "no memory to run the float network");
    for (int t = 0; t < threads; t++) {
        if (p->exec) itg_float_exec_destroy(p->exec[t]);
        if (p->positions) free(p->positions[t]);
    }
    free(p->exec);
    free(p->positions);
    return status;
}

itg_status itg_targets_fill(const itg_graph *g, const itg_layer *layers, int32_t layer_count,
                            int32_t first, const itg_calibration_samples *samples,
                            const itg_recover_options *options, itg_targets *targets,
                            itg_tune_odds *odds, itg_error *err)
{
    pass p = {.g = g, .layers = layers, .samples = samples, .options = options, .targets = targets};
    if (odds && odds->known < samples->count) p.odds = odds;
    itg_targets_deinit(targets);
    itg_status status = allocate(layers, layer_count, first, samples->count, targets, err);
    if (status == ITG_OK && p.odds) status = itg_tune_odds_reserve(p.odds, samples->count, err);
    if (status == ITG_OK) status = find_adders(&p, layer_count, err);
    if (status == ITG_OK)
        status = run_samples(&p, layer_count, itg_thread_count(options->threads), err);
    if (status == ITG_OK && p.odds) p.odds->known = samples->count;
    free(p.adders);
    free(p.next);
    return status;
}
