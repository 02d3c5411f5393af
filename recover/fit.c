#include "recover/fit.h"
#include "recover/round.h"
#include "recover/solve.h"
#include <stdlib.h>
#include <string.h>

/* Ridge towards the model's weights, relative to the mean diagonal. It keeps singular layers
 * solvable, and the response to unseen inputs close to the model's. Where there are fewer positions
 * for each term of a sum than wanted (itg_layer_take), much of the moments is noise, and more ridge
 * is needed. */
#define RIDGE 0.03
#define RIDGE_OF_FEW 0.3 /* times terms / positions beyond those wanted */

void itg_fit_deinit(itg_fit *fit)
{
    free(fit->h);
    free(fit->v);
    free(fit->c);
    free(fit->order);
}

/* ---- the problem ---- */

/* Returns the sum of products of a row and b, each minus its mean. */
static double centred(int64_t product, int64_t a, int64_t b, int64_t count)
{
    return (double)product - (double)a * (double)b / (double)count;
}

/* Fills H of a group. Returns its mean diagonal. */
static double set_products(const itg_fit *f, int64_t g)
{
    int64_t n = f->layer->depth;
    const itg_moments *m = f->moments;
    double *h = f->h + g * n * n, sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++)
            h[i * n + j] = h[j * n + i] =
                centred(m->xx[(g * n + i) * n + j], m->x[g * n + i], m->x[g * n + j], m->count);
    for (int64_t i = 0; i < n; i++)
        sum += h[i * n + i];
    return sum / (double)n;
}

static void set_right_side(const itg_fit *f, int64_t g, double ridge, const float *weights)
{
    const itg_layer *l = f->layer;
    const itg_moments *m = f->moments;
    double unit = m->step / f->input_scale;
    for (int64_t r = 0; r < l->rows; r++) {
        int64_t ch = g * l->rows + r;
        for (int64_t k = 0; k < l->depth; k++)
            f->c[ch * l->depth + k] = unit * centred(m->tx[ch * l->depth + k], m->t[ch],
                                                     m->x[g * l->depth + k], m->count) +
                                      ridge * (double)weights[itg_layer_weight(l, ch, k)];
    }
}

typedef struct ranked {
    double diagonal;
    int32_t index;
} ranked;

static int by_diagonal(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->diagonal != y->diagonal) return x->diagonal > y->diagonal ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static bool set_order(const itg_fit *f, int64_t g)
{
    int64_t n = f->layer->depth;
    ranked *list = malloc((size_t)n * sizeof *list);
    for (int64_t i = 0; list && i < n; i++)
        list[i] = (ranked){f->h[(g * n + i) * n + i], (int32_t)i};
    if (list) qsort(list, (size_t)n, sizeof *list, by_diagonal);
    for (int64_t i = 0; list && i < n; i++)
        f->order[g * n + i] = list[i].index;
    free(list);
    return list != NULL;
}

/* Solves v = c / h for a group. v becomes the model's weights if that fails or is not requested. */
static itg_status solve(const itg_fit *f, int64_t g, const float *weights, const itg_solving *how,
                        itg_error *err)
{
    int64_t n = f->layer->depth, rows = f->layer->rows;
    double *factor = malloc((size_t)(n * n) * sizeof *factor),
           *x = malloc((size_t)(n * rows) * sizeof *x);
    double *v = f->v + g * rows * n;
    bool solved = false;
    itg_status status = factor && x ? ITG_OK
                                    : itg_fail(err, ITG_NO_MEMORY,
                                               "no memory to solve for %lld weights", (long long)n);
    if (status == ITG_OK && f->round) {
        memcpy(factor, f->h + g * n * n, (size_t)(n * n) * sizeof *factor);
        status = itg_cholesky(factor, n, how, &solved, err);
    }
    for (int64_t i = 0; status == ITG_OK && i < n * rows; i++)
        x[i % n * rows + i / n] = f->c[g * rows * n + i];
    if (status == ITG_OK && solved) status = itg_cholesky_solve(factor, n, x, rows, how, err);
    for (int64_t i = 0; status == ITG_OK && i < n * rows; i++)
        v[i] = solved ? x[i % n * rows + i / n]
                      : (double)weights[itg_layer_weight(f->layer, g * rows + i / n, i % n)];
    free(factor);
    free(x);
    return status;
}

/* Arguments of set_group; `weights` are the model's. */
typedef struct groups {
    const itg_fit *f;
    const float *weights;
    itg_solving how; /* within a group */
} groups;

static itg_status set_group(void *context, int worker, int64_t g, itg_error *err)
{
    const groups *s = context;
    const itg_fit *f = s->f;
    int64_t n = f->layer->depth;
    double few = (double)n / (double)f->moments->count - 1.0 / ITG_POSITIONS_A_TERM;
    double ridge = (RIDGE + RIDGE_OF_FEW * (few > 0 ? few : 0)) * set_products(f, g);
    (void)worker;
    if (!(ridge > 0)) ridge = 1; /* constant inputs: only the bias can fit */
    for (int64_t i = 0; i < n; i++)
        f->h[(g * n + i) * n + i] += ridge;
    set_right_side(f, g, ridge, s->weights);
    return set_order(f, g)
               ? solve(f, g, s->weights, &s->how, err)
               : itg_fail(err, ITG_NO_MEMORY, "no memory to solve for %lld weights", (long long)n);
}

itg_status itg_fit_create(const itg_layer *layer, const itg_moments *moments, double input_scale,
                          const float *weights, bool round, const itg_solving *how, itg_fit *out,
                          itg_error *err)
{
    size_t n = (size_t)layer->depth, channels = (size_t)itg_layer_channels(layer),
           group_count = (size_t)layer->groups;
    itg_fit f = {layer,
                 moments,
                 input_scale,
                 malloc(group_count * n * n * sizeof *f.h),
                 malloc(channels * n * sizeof *f.v),
                 malloc(channels * n * sizeof *f.c),
                 malloc(group_count * n * sizeof *f.order),
                 round,
                 *how};
    groups s = {&f, weights, {layer->groups > 1 ? 1 : how->threads, how->stop}};
    itg_status status =
        f.h && f.v && f.c && f.order
            ? itg_parallel_for(layer->groups > 1 ? how->threads : 1, layer->groups, set_group, &s,
                               err)
            : itg_fail(err, ITG_NO_MEMORY, "no memory for a layer of %zu inputs", n);
    if (status == ITG_OK)
        *out = f;
    else
        itg_fit_deinit(&f);
    return status;
}

/* ---- codes ---- */

/* Fits sets of channels with one scale. `from` NULL: searches scales. */
typedef struct search {
    const itg_fit *f;
    const itg_fit_grid *grid;
    const float *from;
    itg_fit_codes *codes;
    int64_t channels; /* of a set */
} search;

/* Memory of a worker for one set. */
typedef struct room {
    itg_round round;
    double *e;
    int32_t *q;
} room;

static bool make_room(const search *s, int64_t first, room *m)
{
    const itg_fit *f = s->f;
    int64_t n = f->layer->depth, count = s->channels;
    size_t elements = (size_t)(count * n);
    *m = (room){{.channels = calloc((size_t)count, sizeof *m->round.channels),
                 .count = count,
                 .n = n,
                 .lo = s->grid->lo,
                 .hi = s->grid->hi,
                 .power_of_two = s->grid->power_of_two,
                 .nearest = !f->round,
                 .scratch = malloc(4 * (size_t)n * sizeof *m->round.scratch),
                 .best = malloc(elements * sizeof *m->round.best),
                 .stop = f->how.stop},
                malloc(elements * sizeof *m->e),
                malloc(elements * sizeof *m->q)};
    if (!m->round.channels || !m->round.scratch || !m->round.best || !m->e || !m->q) return false;
    for (int64_t i = 0; i < count; i++) {
        int64_t ch = first + i, g = ch / f->layer->rows;
        m->round.channels[i] = (itg_round_channel){.h = f->h + g * n * n,
                                                   .order = f->order + g * n,
                                                   .v = f->v + ch * n,
                                                   .c = f->c + ch * n,
                                                   .q = m->q + i * n,
                                                   .e = m->e + i * n};
    }
    return true;
}

static void free_room(room *m)
{
    free(m->round.channels);
    free(m->round.scratch);
    free(m->round.best);
    free(m->e);
    free(m->q);
}

/* Searches codes and scale of the set, and keeps them if they are better. */
static void search_set(const search *s, int64_t set, room *m)
{
    int64_t n = s->f->layer->depth;
    int32_t *q = s->codes->q + set * s->channels * n;
    size_t bytes = (size_t)(s->channels * n) * sizeof *q;
    float *scale = &s->codes->scale[set];
    memcpy(m->q, q, bytes);
    m->round.scale = *scale;
    double before = itg_round_energy(&m->round);
    if (!itg_round_search(&m->round) || !(itg_round_energy(&m->round) < before)) return;
    if (m->round.stopped) return;
    memcpy(q, m->q, bytes);
    *scale = m->round.scale;
}

static void fit_set_again(const search *s, int64_t set, room *m)
{
    int64_t n = s->f->layer->depth;
    m->round.scale = s->codes->scale[set];
    itg_round_codes(&m->round);
    memcpy(s->codes->q + set * s->channels * n, m->q,
           (size_t)(s->channels * n) * sizeof *s->codes->q);
}

static itg_status run_set(void *context, int worker, int64_t set, itg_error *err)
{
    const search *s = context;
    room m = {0};
    (void)worker;
    if (s->from && s->from[set] == s->codes->scale[set]) return ITG_OK;
    bool ok = make_room(s, set * s->channels, &m);
    if (ok && !s->from) search_set(s, set, &m);
    if (ok && s->from) fit_set_again(s, set, &m);
    bool stopped = m.round.stopped;
    free_room(&m);
    if (!ok) return itg_fail(err, ITG_NO_MEMORY, "no memory for the codes of a channel");
    return stopped ? itg_fail(err, ITG_CANCELLED, "interrupted") : ITG_OK;
}

itg_status itg_fit_again(const itg_fit *f, const itg_fit_grid *grid, const float *from,
                         itg_fit_codes *codes, itg_error *err)
{
    search s = {f, grid, from, codes, itg_layer_channels(f->layer) / codes->scale_count};
    return itg_parallel_for(f->how.threads, codes->scale_count, run_set, &s, err);
}

itg_status itg_fit_search(const itg_fit *f, const itg_fit_grid *grid, itg_fit_codes *codes,
                          itg_error *err)
{
    return itg_fit_again(f, grid, NULL, codes, err);
}

void itg_fit_bias(const itg_fit *f, const itg_fit_codes *codes, float *bias)
{
    const itg_layer *l = f->layer;
    const itg_moments *m = f->moments;
    for (int64_t ch = 0; ch < itg_layer_channels(l); ch++) {
        const int64_t *x = m->x + ch / l->rows * l->depth;
        double sum = 0, scale = (double)codes->scale[codes->scale_count == 1 ? 0 : ch];
        for (int64_t k = 0; k < l->depth; k++)
            sum += codes->q[ch * l->depth + k] * (double)x[k];
        bias[ch] =
            (float)(((double)m->t[ch] * m->step - sum * scale * f->input_scale) / (double)m->count);
    }
}
