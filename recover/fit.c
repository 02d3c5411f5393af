#include "recover/fit.h"
#include "kernels/requant.h"
#include "recover/round.h"
#include "recover/solve.h"
#include <stdlib.h>
#include <string.h>

/* Ridge towards the model's weights, relative to the mean diagonal. It keeps singular layers
 * solvable, and the response to unseen inputs close to the model's. Where there are fewer positions
 * for each term of a sum than wanted (itg_layer_take), much of the moments is noise, and more ridge
 * is needed. */
#define RIDGE 0.03
#define RIDGE_OF_FEW 0.3     /* times terms / positions beyond those wanted */
#define NEAR_BYTES (1 << 20) /* of H: it stays in a cache */
#define FIT_OPERATIONS 32.0  /* for each product of a channel's H, in searching its codes */

void itg_fit_deinit(itg_fit *fit)
{
    free(fit->h);
    free(fit->v);
    free(fit->c);
    free(fit->order);
}

/* ---- the problem ---- */

/* Returns the sum of products of a row and b, each minus its mean unless the bias is fixed. */
static double centred(const itg_fit *f, int64_t product, int64_t a, int64_t b)
{
    if (f->layer->is_float) return (double)product;
    return (double)product - (double)a * (double)b / (double)f->moments->count;
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
                centred(f, m->xx[(g * n + i) * n + j], m->x[g * n + i], m->x[g * n + j]);
    for (int64_t i = 0; i < n; i++)
        sum += h[i * n + i];
    return sum / (double)n;
}

static void set_right_side(const itg_fit *f, int64_t g, double ridge, const float *weights)
{
    const itg_layer *l = f->layer;
    const itg_moments *m = f->moments;
    double unit = m->step / m->input_scale;
    for (int64_t r = 0; r < l->rows; r++) {
        int64_t ch = g * l->rows + r;
        const double bias = f->bias ? (double)f->bias[ch] / m->step : 0;
        for (int64_t k = 0; k < l->depth; k++) {
            const int64_t x = m->x[g * l->depth + k];
            double product = centred(f, m->tx[ch * l->depth + k], m->t[ch], x);
            if (bias != 0) product -= bias * (double)x;
            f->c[ch * l->depth + k] =
                unit * product + ridge * (double)weights[itg_layer_weight(l, ch, k)];
        }
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
    if (status == ITG_OK && f->options.round) {
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
    const double share = RIDGE + RIDGE_OF_FEW * (few > 0 ? few : 0);
    double ridge = f->options.ridge * share * set_products(f, g);
    (void)worker;
    if (!(ridge > 0)) ridge = 1; /* constant inputs: only the bias can fit */
    for (int64_t i = 0; i < n; i++)
        f->h[(g * n + i) * n + i] += ridge;
    set_right_side(f, g, ridge, s->weights);
    return set_order(f, g)
               ? solve(f, g, s->weights, &s->how, err)
               : itg_fail(err, ITG_NO_MEMORY, "no memory to solve for %lld weights", (long long)n);
}

itg_status itg_fit_create(const itg_layer *layer, const itg_moments *moments, const float *weights,
                          const float *bias, const itg_fit_options *options, itg_fit *out,
                          itg_error *err)
{
    size_t n = (size_t)layer->depth, channels = (size_t)itg_layer_channels(layer),
           group_count = (size_t)layer->groups;
    itg_fit f = {layer,
                 moments,
                 bias,
                 malloc(group_count * n * n * sizeof *f.h),
                 malloc(channels * n * sizeof *f.v),
                 malloc(channels * n * sizeof *f.c),
                 malloc(group_count * n * sizeof *f.order),
                 *options};
    const itg_solving *how = &options->how;
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

int itg_fit_threads(const itg_fit *f)
{
    const double depth = (double)f->layer->depth;
    return itg_parallel_threads(f->options.how.threads, FIT_OPERATIONS * depth * depth *
                                                            (double)itg_layer_channels(f->layer));
}

/* Fits sets of channels with one scale. `from` NULL: searches scales. */
typedef struct search {
    const itg_fit *f;
    const itg_fit_grid *grid;
    const float *from;
    itg_fit_codes *codes;
    int64_t channels; /* of a set */
    int64_t sets;     /* whose channels are in one group */
    int64_t together; /* of these, in one piece of work */
} search;

/* Some sets, and memory for them. */
typedef struct room {
    itg_round *rounds;
    int64_t *sets; /* their numbers */
    int64_t count;
    itg_round_channel *channels;
    double *doubles;
    int32_t *codes;
} room;

/* How many sets go on together: several if H is too large for a cache. */
static int64_t count_together(const itg_fit *f, int64_t sets)
{
    const int64_t n = f->layer->depth,
                  each = (sets + f->options.how.threads - 1) / f->options.how.threads;
    if (n * n * (int64_t)sizeof *f->h <= NEAR_BYTES) return 1;
    return each < ITG_ROUND_TOGETHER ? each : ITG_ROUND_TOGETHER;
}

/* Returns the zero point for which the codes reach as far over the real weights on either side. */
static int32_t zero_of(const itg_round_channel *channels, int64_t count, int64_t n,
                       const itg_fit_grid *grid)
{
    double lo = 0, hi = 0;
    for (int64_t i = 0; i < count * n; i++) {
        const double v = channels[i / n].v[i % n];
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    return hi > lo ? (int32_t)itg_round_half_even(-lo / (hi - lo) * (grid->hi - grid->lo)) : 0;
}

static bool make_room(const search *s, int64_t first, int64_t end, room *m)
{
    const itg_fit *f = s->f;
    const int64_t n = f->layer->depth;
    const size_t sets = (size_t)(end - first), channels = sets * (size_t)s->channels;
    *m = (room){calloc(sets, sizeof *m->rounds),
                calloc(sets, sizeof *m->sets),
                0,
                calloc(channels, sizeof *m->channels),
                malloc(3 * channels * (size_t)n * sizeof *m->doubles),
                malloc(2 * channels * (size_t)n * sizeof *m->codes)};
    if (!m->rounds || !m->sets || !m->channels || !m->doubles || !m->codes) return false;
    for (int64_t set = first; set < end; set++) {
        if (s->from && s->from[set] == s->codes->scale[set]) continue;
        itg_round_channel *own = m->channels + m->count * s->channels;
        double *doubles = m->doubles + m->count * s->channels * 3 * n;
        int32_t *codes = m->codes + m->count * s->channels * 2 * n;
        for (int64_t i = 0; i < s->channels; i++) {
            int64_t ch = set * s->channels + i, g = ch / f->layer->rows;
            own[i] = (itg_round_channel){.h = f->h + g * n * n,
                                         .order = f->order + g * n,
                                         .v = f->v + ch * n,
                                         .c = f->c + ch * n,
                                         .q = codes + i * n,
                                         .e = doubles + 3 * i * n,
                                         .up = doubles + (3 * i + 1) * n,
                                         .down = doubles + (3 * i + 2) * n};
        }
        int32_t zero = itg_fit_zero(s->codes, set);
        if (s->codes->zero && !s->from) zero = zero_of(own, s->channels, n, s->grid);
        m->sets[m->count] = set;
        m->rounds[m->count++] = (itg_round){.channels = own,
                                            .count = s->channels,
                                            .n = n,
                                            .lo = s->grid->lo - zero,
                                            .hi = s->grid->hi - zero,
                                            .step = s->grid->step,
                                            .power_of_two = s->grid->power_of_two,
                                            .nearest = !f->options.round,
                                            .scale = s->codes->scale[set],
                                            .best = codes + s->channels * n,
                                            .stop = f->options.how.stop};
    }
    return true;
}

static void free_room(room *m)
{
    free(m->rounds);
    free(m->sets);
    free(m->channels);
    free(m->doubles);
    free(m->codes);
}

static int32_t *codes_of(const search *s, int64_t set)
{
    return s->codes->q + set * s->channels * s->f->layer->depth;
}

static size_t code_bytes(const search *s)
{
    return (size_t)(s->channels * s->f->layer->depth) * sizeof *s->codes->q;
}

/* Searches codes and scales of the sets, and keeps them where they are better. */
static void search_once(const search *s, room *m)
{
    double before[ITG_ROUND_TOGETHER];
    for (int64_t k = 0; k < m->count; k++) {
        memcpy(m->rounds[k].channels->q, codes_of(s, m->sets[k]), code_bytes(s));
        m->rounds[k].scale = s->codes->scale[m->sets[k]];
    }
    itg_round_errors(m->rounds, m->count);
    for (int64_t k = 0; k < m->count; k++)
        before[k] = itg_round_energy(&m->rounds[k]);
    itg_round_search(m->rounds, m->count);
    for (int64_t k = 0; k < m->count && !m->rounds->stopped; k++) {
        const itg_round *r = &m->rounds[k];
        if (r->zero || !(itg_round_energy(r) < before[k])) continue;
        memcpy(codes_of(s, m->sets[k]), r->channels->q, code_bytes(s));
        s->codes->scale[m->sets[k]] = r->scale;
        if (s->codes->zero) s->codes->zero[m->sets[k]] = (uint8_t)(s->grid->lo - r->lo);
    }
}

/* Of zero points, those of the real weights and the middle. */
static void search_sets(const search *s, room *m)
{
    search_once(s, m);
    if (!s->codes->zero || m->rounds->stopped) return;
    const int32_t middle = (s->grid->hi - s->grid->lo + 1) / 2;
    for (int64_t k = 0; k < m->count; k++) {
        m->rounds[k].lo = s->grid->lo - middle;
        m->rounds[k].hi = s->grid->hi - middle;
    }
    search_once(s, m);
}

static void fit_sets_again(const search *s, room *m)
{
    itg_round_codes(m->rounds, m->count);
    for (int64_t k = 0; k < m->count; k++)
        memcpy(codes_of(s, m->sets[k]), m->rounds[k].channels->q, code_bytes(s));
}

static itg_status run_sets(void *context, int worker, int64_t item, itg_error *err)
{
    const search *s = context;
    const int64_t pieces = (s->sets + s->together - 1) / s->together;
    const int64_t group = item / pieces * s->sets, first = item % pieces * s->together;
    const int64_t end = first + s->together < s->sets ? first + s->together : s->sets;
    room m = {0};
    (void)worker;
    const bool ok = make_room(s, group + first, group + end, &m);
    if (ok && m.count > 0 && !s->from) search_sets(s, &m);
    if (ok && m.count > 0 && s->from) fit_sets_again(s, &m);
    const bool stopped = ok && m.rounds->stopped;
    free_room(&m);
    if (!ok) return itg_fail(err, ITG_NO_MEMORY, "no memory for the codes of a channel");
    return stopped ? itg_fail(err, ITG_CANCELLED, "interrupted") : ITG_OK;
}

itg_status itg_fit_again(const itg_fit *f, const itg_fit_grid *grid, const float *from,
                         itg_fit_codes *codes, itg_error *err)
{
    const int64_t channels = itg_layer_channels(f->layer), all = codes->scale_count;
    search s = {f, grid, from, codes, channels / all, all == 1 ? 1 : f->layer->rows, 1};
    s.together = count_together(f, s.sets);
    return itg_parallel_for(itg_fit_threads(f),
                            all / s.sets * ((s.sets + s.together - 1) / s.together), run_sets, &s,
                            err);
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
            (float)(((double)m->t[ch] * m->step - sum * scale * m->input_scale) / (double)m->count);
    }
}
