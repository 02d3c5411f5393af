#include "recover/tune_check.h"
#include "kernels/math.h"
#include "realize/batch.h"
#include "recover/gradient.h"
#include "recover/observe.h"
#include <math.h>
#include <stdlib.h>

#define LEAST_ODDS 1e-30              /* of a class to which the program gives none */
#define MOST_BYTES (INT64_C(1) << 28) /* for gradients */
#define MACS_AN_ELEMENT 32            /* of a value, about: for its gradients */

/* ---- the float network ---- */

itg_status itg_tune_odds_reserve(itg_tune_odds *o, int64_t count, itg_error *err)
{
    double *of = realloc(o->of, (size_t)(count * o->classes) * sizeof *of);
    if (!of) return itg_fail(err, ITG_NO_MEMORY, "no memory for the float network's outputs");
    o->of = of;
    return ITG_OK;
}

void itg_tune_odds_set(const itg_tune_odds *o, int64_t sample, const float *outputs)
{
    itg_gradient_softmax(outputs, o->classes, o->of + sample * o->classes);
}

typedef struct finding {
    itg_tune_odds *odds;
    itg_float_exec **exec; /* [threads] */
} finding;

static itg_status find_sample(void *context, int worker, int64_t item, itg_error *err)
{
    const finding *f = context;
    const itg_tune_odds *o = f->odds;
    const int64_t sample = o->known + item;
    itg_float_exec **exec = &f->exec[worker];
    itg_status status = itg_check_stop(&o->options->stop, err);
    if (status == ITG_OK && !*exec)
        status = itg_float_exec_create(o->g, ITG_FLOAT_REFERENCE, exec, err);
    if (status == ITG_OK) status = itg_feed_fill_all(o->samples.feed, sample, *exec, err);
    if (status == ITG_OK) status = itg_float_exec_run(*exec, err);
    if (status == ITG_OK) itg_tune_odds_set(o, sample, itg_float_exec_output(*exec, 0).data);
    return status;
}

bool itg_tune_odds_init(const itg_graph *g, const itg_calibration_samples *samples,
                        const itg_recover_options *options, itg_tune_odds *out)
{
    const int64_t bytes = itg_gradient_bytes(g);
    const int wanted = itg_thread_count(options->threads);
    *out = (itg_tune_odds){.g = g,
                           .samples = *samples,
                           .options = options,
                           .threads =
                               bytes > MOST_BYTES / wanted ? (int)(MOST_BYTES / bytes) : wanted};
    return itg_model_is_classifier(g) && g->values[g->outputs[0]].dtype == ITG_F32 &&
           itg_shape_elements(&g->values[g->outputs[0]].shape, &out->classes) && out->threads > 0;
}

void itg_tune_odds_deinit(itg_tune_odds *o)
{
    free(o->of);
    *o = (itg_tune_odds){0};
}

itg_status itg_tune_odds_reach(itg_tune_odds *o, int64_t count, itg_error *err)
{
    if (count <= o->known) return ITG_OK;
    finding f = {o, calloc((size_t)o->threads, sizeof *f.exec)};
    itg_status status = f.exec ? itg_tune_odds_reserve(o, count, err)
                               : itg_fail(err, ITG_NO_MEMORY, "no memory to run the float network");
    if (status == ITG_OK)
        status = itg_parallel_for(o->threads, count - o->known, find_sample, &f, err);
    if (status == ITG_OK) o->known = count;
    for (int i = 0; f.exec && i < o->threads; i++)
        itg_float_exec_destroy(f.exec[i]);
    free(f.exec);
    return status;
}

int64_t itg_tune_samples(const itg_graph *g, int64_t samples, double macs)
{
    const double elements = (double)itg_gradient_bytes(g) / (2 * sizeof(float)),
                 most = macs / (1 + itg_hardware_all_macs(g) + MACS_AN_ELEMENT * elements);
    return (double)samples < most ? samples : (int64_t)most;
}

/* ---- the integer program ---- */

/* A worker's. */
typedef struct room {
    itg_batch *batch;
    float *outputs;
    double *q;
} room;

typedef struct checking {
    const itg_tune_odds *o;
    int64_t first, count;           /* samples */
    const itg_quantizer *quantizer; /* of the program's output; NULL: it is float */
    itg_batch_plan *plan;
    room *rooms;         /* [threads] */
    double *divergences; /* [count] */
} checking;

static itg_status make_room(const checking *c, room *m, itg_error *err)
{
    m->outputs = malloc((size_t)c->o->classes * sizeof *m->outputs);
    m->q = malloc((size_t)c->o->classes * sizeof *m->q);
    if (!m->outputs || !m->q) return itg_fail(err, ITG_NO_MEMORY, "no memory to compare outputs");
    return itg_batch_create(c->plan, &m->batch, err);
}

static itg_status fill(void *context, int32_t index, int64_t sample, void *x, itg_error *err)
{
    const checking *c = context;
    return itg_feed_fill(c->o->samples.feed, index, sample, x, err);
}

static double compare(const checking *c, const room *m, const itg_tensor *y, const double *p)
{
    const itg_quantizer *q = c->quantizer;
    double sum = 0;
    for (int64_t i = 0; i < c->o->classes; i++)
        m->outputs[i] = q ? q->scale[0] * (float)(itg_load(y->dtype, y->data, i) - q->zero_point)
                          : ((const float *)y->data)[i];
    itg_gradient_softmax(m->outputs, c->o->classes, m->q);
    for (int64_t i = 0; i < c->o->classes; i++)
        if (p[i] > 0) sum += p[i] * (itg_log(p[i]) - itg_log(fmax(m->q[i], LEAST_ODDS)));
    return sum;
}

static itg_status check_block(void *context, int worker, int64_t item, itg_error *err)
{
    checking *c = context;
    room *m = &c->rooms[worker];
    const int64_t first = item * ITG_RECOVER_BLOCK, left = c->count - first,
                  count = left < ITG_RECOVER_BLOCK ? left : ITG_RECOVER_BLOCK;
    const itg_block block = {0, c->first + first, count};
    const itg_batch_io io = {fill, c, NULL, true, NULL};
    itg_status status = itg_check_stop(&c->o->options->stop, err);
    if (status == ITG_OK && !m->batch) status = make_room(c, m, err);
    if (status == ITG_OK) status = itg_batch_run(m->batch, &block, &io, err);
    for (int64_t k = first; k < first + count && status == ITG_OK; k++) {
        const itg_tensor y = itg_batch_output(m->batch, 0, k - first);
        c->divergences[k] = compare(c, m, &y, c->o->of + (c->first + k) * c->o->classes);
    }
    return status;
}

static itg_status measure(checking *c, const itg_program *program, itg_cache *weights, double *out,
                          itg_error *err)
{
    const int threads = c->o->threads;
    const itg_batch_options options = {.block = ITG_RECOVER_BLOCK, .weights = weights};
    const itg_shape *shape = NULL;
    itg_dtype dtype = ITG_F32;
    double sum = 0;
    itg_program_output_info(program, 0, &dtype, &shape, &c->quantizer);
    c->rooms = calloc((size_t)threads, sizeof *c->rooms);
    c->divergences = calloc((size_t)c->count, sizeof *c->divergences);
    itg_status status = c->rooms && c->divergences
                            ? itg_batch_plan_create(program, &options, &c->plan, err)
                            : itg_fail(err, ITG_NO_MEMORY, "no memory to compare outputs");
    if (status == ITG_OK)
        status = itg_parallel_for(threads, (c->count + ITG_RECOVER_BLOCK - 1) / ITG_RECOVER_BLOCK,
                                  check_block, c, err);
    for (int64_t k = 0; k < c->count && status == ITG_OK; k++)
        sum += c->divergences[k];
    *out = isfinite(sum) ? sum / (double)c->count : INFINITY;
    for (int i = 0; c->rooms && i < threads; i++) {
        itg_batch_destroy(c->rooms[i].batch);
        free(c->rooms[i].outputs);
        free(c->rooms[i].q);
    }
    free(c->rooms);
    free(c->divergences);
    itg_batch_plan_destroy(c->plan);
    return status;
}

itg_status itg_tune_measure(itg_tune_odds *odds, int64_t first, int64_t end,
                            const itg_annotated *annotated, itg_cache *weights, double *out,
                            itg_error *err)
{
    itg_program *program = NULL;
    checking c = {.o = odds, .first = first, .count = end - first};
    itg_status status = itg_tune_odds_reach(odds, end, err);
    *out = INFINITY;
    if (status == ITG_OK) status = itg_realize_program(annotated, NULL, &program, err);
    if (status == ITG_INFEASIBLE || status == ITG_UNBOUNDED) return ITG_OK;
    if (status == ITG_OK) status = measure(&c, program, weights, out, err);
    itg_program_destroy(program);
    return status;
}
