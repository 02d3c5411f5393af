#include "recover/tune_rows.h"
#include "kernels/math.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_OUT 0.1    /* of the trace of diag q - q q', which is below 1 */
enum { MEASURED = 64 }; /* samples that tell the sizes of outputs */

/* ---- the outputs ---- */

int32_t itg_tune_directions(const double *q, int64_t n, double *rest, float *out)
{
    double left = 0;
    int32_t count = 0;
    for (int64_t i = 0; i < n; i++)
        left += rest[i] = q[i] * (1 - q[i]);
    const double trace = left;
    while (left > LEFT_OUT && count < ITG_TUNE_DIRECTIONS) {
        int64_t pivot = 0;
        for (int64_t i = 1; i < n; i++)
            if (rest[i] > rest[pivot]) pivot = i;
        if (!(rest[pivot] > 0)) break;
        const double root = itg_sqrt(rest[pivot]);
        float *own = out + count * n;
        left = 0;
        for (int64_t i = 0; i < n; i++) {
            double x = (i == pivot ? q[i] : 0) - q[i] * q[pivot];
            for (int32_t k = 0; k < count; k++)
                x -= (double)out[k * n + i] * (double)out[k * n + pivot];
            x /= root;
            own[i] = (float)x;
            rest[i] = i == pivot ? 0 : rest[i] - x * x;
            if (rest[i] > 0) left += rest[i];
        }
        count++;
    }
    for (int64_t i = 0; i < count * n; i++)
        out[i] *= (float)itg_sqrt(trace / (trace - left));
    return count;
}

/* ---- rows ---- */

/* A worker's. */
typedef struct room {
    itg_gradient_run *run;
    double *q, *rest;
    float *outputs; /* [1 + ITG_TUNE_DIRECTIONS][classes] */
} room;

typedef struct gathering {
    const itg_twin *twin;
    const itg_tune_odds *odds;
    const itg_gradient_plan *plan;
    itg_tune_rows *rows;
    room *rooms;     /* [threads] */
    double *squares; /* [MEASURED][parameters] */
} gathering;

static itg_status make_room(const gathering *w, room *m, itg_error *err)
{
    const size_t n = (size_t)w->odds->classes;
    m->q = malloc(n * sizeof *m->q);
    m->rest = malloc(n * sizeof *m->rest);
    m->outputs = malloc((1 + ITG_TUNE_DIRECTIONS) * n * sizeof *m->outputs);
    if (!m->q || !m->rest || !m->outputs)
        return itg_fail(err, ITG_NO_MEMORY, "no memory for gradients");
    return itg_gradient_run_create(w->plan, &m->run, err);
}

static void free_room(room *m)
{
    itg_gradient_run_destroy(m->run);
    free(m->q);
    free(m->rest);
    free(m->outputs);
}

static itg_status run_sample(void *context, int worker, int64_t sample, itg_error *err)
{
    gathering *w = context;
    room *m = &w->rooms[worker];
    const int64_t classes = w->odds->classes;
    const double *p = w->odds->of + sample * classes;
    itg_tune_rows *rows = w->rows;
    float *to = rows->values + sample * (1 + ITG_TUNE_DIRECTIONS) * rows->parameters;
    itg_status status = itg_check_stop(&w->odds->options->stop, err);
    if (status == ITG_OK && !m->run) status = make_room(w, m, err);
    if (status == ITG_OK)
        status = itg_gradient_run_forward(m->run, w->odds->samples.feed, sample, err);
    if (status != ITG_OK) return status;
    itg_gradient_softmax(itg_gradient_value(m->run, w->twin->graph.outputs[0]), classes, m->q);
    for (int64_t i = 0; i < classes; i++)
        m->outputs[i] = (float)(m->q[i] - p[i]);
    rows->counts[sample] = itg_tune_directions(m->q, classes, m->rest, m->outputs + classes);
    for (int32_t k = 0; k <= rows->counts[sample] && status == ITG_OK; k++) {
        status = itg_gradient_run_backward(m->run, m->outputs + k * classes, err);
        if (status == ITG_OK) itg_twin_row(w->twin, m->run, to + k * rows->parameters);
    }
    if (status == ITG_OK && sample < MEASURED)
        itg_twin_add_squares(w->twin, m->run, w->squares + sample * rows->parameters);
    return status;
}

/* A scale is expected to move by its own size at most, a bias by the size of the sums that are
 * added to it. A channel that is always 0 keeps its bias. */
static void set_prior(const gathering *w)
{
    const itg_tune_rows *rows = w->rows;
    const int64_t measured = rows->samples < MEASURED ? rows->samples : MEASURED;
    for (int64_t i = 0; i < rows->parameters; i++)
        rows->prior[i] = 1;
    for (int32_t i = 0; i < w->twin->layer_count; i++) {
        const itg_twin_layer *l = &w->twin->layers[i];
        if (l->first_bias < 0) continue;
        for (int64_t c = 0; c < itg_layer_channels(l->layer); c++) {
            double sum = 0;
            for (int64_t s = 0; s < measured; s++)
                sum += w->squares[s * rows->parameters + l->first_bias + c];
            rows->prior[l->first_bias + c] = sum > 0 ? (double)measured / sum : 0;
        }
    }
}

itg_status itg_tune_gather(const itg_twin *twin, const itg_tune_odds *odds, int64_t samples,
                           itg_tune_rows *out, itg_error *err)
{
    const size_t parameters = (size_t)twin->parameters, count = (size_t)samples;
    itg_gradient_plan *plan = NULL;
    gathering w = {.twin = twin,
                   .odds = odds,
                   .rows = out,
                   .rooms = calloc((size_t)odds->threads, sizeof *w.rooms),
                   .squares = calloc(MEASURED * parameters, sizeof *w.squares)};
    *out = (itg_tune_rows){
        samples, twin->parameters,
        malloc(count * (1 + ITG_TUNE_DIRECTIONS) * parameters * sizeof *out->values),
        calloc(count, sizeof *out->counts), malloc(parameters * sizeof *out->prior)};
    itg_status status = itg_gradient_plan_create(&twin->graph, false, &plan, err);
    if (status == ITG_OK) itg_gradient_plan_round(plan, twin->grids);
    w.plan = plan;
    if (status == ITG_OK && (!w.rooms || !w.squares || !out->values || !out->counts || !out->prior))
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for gradients");
    if (status == ITG_OK) status = itg_parallel_for(odds->threads, samples, run_sample, &w, err);
    if (status == ITG_OK) set_prior(&w);
    for (int i = 0; w.rooms && i < odds->threads; i++)
        free_room(&w.rooms[i]);
    free(w.rooms);
    free(w.squares);
    itg_gradient_plan_destroy(plan);
    return status;
}

void itg_tune_rows_deinit(itg_tune_rows *rows)
{
    free(rows->values);
    free(rows->counts);
    free(rows->prior);
    *rows = (itg_tune_rows){0};
}
