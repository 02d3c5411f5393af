#include "recover/ranges.h"
#include "kernels/clones.h"
#include "kernels/requant.h"
#include "recover/gradient.h"
#include "sim/relax.h"
#include <math.h>
#include <stdlib.h>

#define MOST_MACS 1e11      /* of all samples, of the network itself */
#define ROUNDER 12582912.0f /* 1.5 * 2^23: beyond it floats are integers */
#define LEAST_PROMISED 0.01 /* of the divergence */
#define LEAST_GAIN 0.002    /* of the divergence */
enum {
    LEAST_SAMPLES = 192,
    MOST_SAMPLES = 768,
    FIRST_SAMPLES = 128, /* say whether anything is lost */
    GRADIENT_PART = 3,   /* of the samples: the last of so many */
    MOST_TRIED = 24,
    WIDE_BITS = 8,
    LANES = 16
};

/* Of the two ends of a range. The first leaves it as it is. */
static const struct factors {
    double lo, hi;
} factors[] = {{1, 1},     {0.4, 0.4}, {0.5, 0.5}, {0.6, 0.6}, {0.7, 0.7}, {0.8, 0.8},
               {0.9, 0.9}, {1.2, 1.2}, {1.4, 1.4}, {2, 2},     {1, 0.5},   {1, 0.6},
               {1, 0.7},   {1, 0.8},   {1, 0.9},   {1, 1.2},   {0.5, 1},   {0.6, 1},
               {0.7, 1},   {0.8, 1},   {0.9, 1},   {1.2, 1}};
enum { FACTORS = sizeof factors / sizeof *factors };

/* Rounding to multiples of step, from lo steps to hi. */
typedef struct grid {
    float step, lo, hi;
} grid;

/* A range of edges with one quantizer. */
typedef struct range {
    const itg_quantizer *q; /* while the first annotated graph is there; NULL: of no edge */
    bool stays;
    double lo, hi;
    grid grids[FACTORS];
    bool is_possible[FACTORS];
    double divergence[FACTORS]; /* that it makes, about */
    double promised;
    int best; /* of the factors */
} range;

typedef struct choosing {
    const itg_tuning *o;
    int64_t checked, gradients; /* samples, one after the other */
    const itg_strategy *before;
    itg_strategy *s;   /* with wide weights */
    double divergence; /* of it */
    range *ranges;
    int32_t range_count;
    int32_t *of_edge, *of_value; /* [edges], [values]: range, or ITG_NONE */
    itg_gradient_plan *plan;
    itg_gradient_run **runs; /* [threads] */
    double *squares;         /* [gradients][ranges][FACTORS]: of g'e */
} choosing;

/* ---- ranges ---- */

/* Codes of a range with a zero point, as arithmetic.md 2.2 has them. */
static double step_of(const range *r, struct factors f)
{
    return (r->hi * f.hi - r->lo * f.lo) / (double)(r->q->qmax - r->q->qmin);
}

static double zero_of(const range *r, struct factors f)
{
    return itg_round_half_even((double)r->q->qmin - r->lo * f.lo / step_of(r, f));
}

/* Sets the grids of a range that the hardware would make of it. One end moves alone only where the
 * range has a zero point. */
static void set_grids(const choosing *x, range *r)
{
    const struct factors same = factors[0];
    const double scale = (double)r->q->scale[0];
    const bool ends_differ = !x->o->hw->power_of_two_scales && r->lo < 0 && r->hi > 0 &&
                             (double)(float)step_of(r, same) == scale &&
                             zero_of(r, same) == (double)r->q->zero_point;
    for (int k = 0; k < FACTORS; k++) {
        const struct factors f = factors[k];
        const bool together = f.lo == f.hi, is_power = f.lo == 0.5 || f.lo == 1 || f.lo == 2;
        const double zero = together ? (double)r->q->zero_point : zero_of(r, f);
        r->is_possible[k] = together ? is_power || !x->o->hw->power_of_two_scales : ends_differ;
        r->grids[k] =
            (grid){(float)(together ? scale * f.lo : step_of(r, f)),
                   (float)((double)r->q->qmin - zero), (float)((double)r->q->qmax - zero)};
    }
}

/* Enters an edge of a quantizer. A constant's own threshold stays; so does a range that the model
 * itself states. */
static void enter_edge(choosing *x, const itg_annotated *a, int32_t e, int32_t index)
{
    const itg_edge *edge = &a->edges[e];
    const itg_edge_choice *c = &x->s->edges[e];
    const itg_value *v = &a->graph->values[edge->value];
    const itg_encoding *encoding = itg_annotated_encoding(a, edge->node, edge->slot);
    range *r = &x->ranges[index];
    if (!v->data) x->of_edge[e] = index;
    if (!r->q) *r = (range){.q = &encoding->q};
    r->lo = fmin(r->lo, c->lo);
    r->hi = fmax(r->hi, c->hi);
    r->stays = r->stays || encoding->is_float || encoding->q.scale_count != 1 ||
               (v->stated && !v->data && v->stated->bits == c->bits);
}

static void enter_edges(choosing *x, const itg_annotated *a, const itg_sites *sites)
{
    for (int32_t e = 0; e < a->edge_count; e++) {
        const int32_t index = itg_site_of_edge(sites, a, e);
        x->of_edge[e] = ITG_NONE;
        if (index >= 0) enter_edge(x, a, e, index);
    }
    for (itg_id v = 0; v < a->graph->value_count; v++)
        x->of_value[v] = ITG_NONE;
    for (int32_t e = 0; e < a->edge_count; e++) {
        if (x->of_edge[e] != ITG_NONE && x->ranges[x->of_edge[e]].stays) x->of_edge[e] = ITG_NONE;
        int32_t *of_value = &x->of_value[a->edges[e].value];
        if (*of_value == ITG_NONE) *of_value = x->of_edge[e];
    }
}

static itg_status find_ranges(choosing *x, const itg_annotated *a, itg_error *err)
{
    itg_sites sites = {0};
    itg_status status = itg_sites_create(a, &sites, err);
    if (status != ITG_OK) return status;
    x->ranges = calloc((size_t)sites.count + 1, sizeof *x->ranges);
    if (x->ranges) {
        x->range_count = sites.count;
        enter_edges(x, a, &sites);
        for (int32_t i = 0; i < x->range_count; i++)
            if (x->ranges[i].q && !x->ranges[i].stays) set_grids(x, &x->ranges[i]);
    }
    itg_sites_deinit(&sites);
    return x->ranges ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for thresholds");
}

/* ---- what they promise ---- */

/* Returns g'e, e what rounding adds to x. */
ITG_CLONES static double recover_error_along(const float *x, const float *g, const grid *to,
                                             int64_t n)
{
    const float step = to->step, lo = to->lo, hi = to->hi;
    double sums[LANES] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t lanes = n - i < LANES ? n - i : LANES;
        for (int64_t k = 0; k < lanes; k++) {
            float steps = x[i + k] / step;
            steps = steps < hi ? steps : hi;
            steps = steps > lo ? steps : lo;
            steps += ROUNDER;
            sums[k] += (double)g[i + k] * (double)((steps - ROUNDER) * step - x[i + k]);
        }
    }
    for (int k = 0; k < LANES; k++)
        sum += sums[k];
    return sum;
}

static void add_squares(const choosing *x, const itg_gradient_run *run, itg_id v, double *squares)
{
    const range *r = &x->ranges[x->of_value[v]];
    int64_t n = 0;
    (void)itg_shape_elements(&x->o->g->values[v].shape, &n);
    for (int k = 0; k < FACTORS; k++) {
        if (!r->is_possible[k]) continue;
        const double along = recover_error_along(itg_gradient_value(run, v),
                                                 itg_gradient_of(run, v), &r->grids[k], n);
        if (isfinite(along)) squares[x->of_value[v] * FACTORS + k] += along * along;
    }
}

static itg_status run_sample(void *context, int worker, int64_t sample, itg_error *err)
{
    const choosing *x = context;
    itg_gradient_run **run = &x->runs[worker];
    itg_status status = itg_check_stop(&x->o->options->stop, err);
    if (status == ITG_OK && !*run) status = itg_gradient_run_create(x->plan, run, err);
    if (status == ITG_OK)
        status = itg_gradient_run_sample(*run, x->o->samples.feed, x->checked + sample, err);
    for (itg_id v = 0; v < x->o->g->value_count && status == ITG_OK; v++)
        if (x->of_value[v] != ITG_NONE && itg_gradient_is_known(x->plan, v))
            add_squares(x, *run, v, x->squares + sample * x->range_count * FACTORS);
    return status;
}

static void sum_up(const choosing *x, range *r)
{
    const int64_t index = r - x->ranges;
    for (int64_t i = 0; i < x->gradients; i++)
        for (int k = 0; k < FACTORS; k++)
            r->divergence[k] +=
                x->squares[(i * x->range_count + index) * FACTORS + k] / (2 * (double)x->gradients);
    for (int k = 1; k < FACTORS; k++)
        if (r->is_possible[k] && r->divergence[k] < r->divergence[r->best]) r->best = k;
    r->promised = r->divergence[0] - r->divergence[r->best];
}

static itg_status find_promises(choosing *x, itg_error *err)
{
    const int threads = x->o->odds->threads;
    x->runs = calloc((size_t)threads, sizeof *x->runs);
    x->squares = calloc((size_t)(x->gradients * x->range_count * FACTORS) + 1, sizeof *x->squares);
    itg_status status = x->runs && x->squares
                            ? itg_gradient_plan_create(x->o->g, true, &x->plan, err)
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for gradients");
    if (status == ITG_OK) status = itg_parallel_for(threads, x->gradients, run_sample, x, err);
    for (int32_t i = 0; i < x->range_count && status == ITG_OK; i++)
        sum_up(x, &x->ranges[i]);
    for (int i = 0; x->runs && i < threads; i++)
        itg_gradient_run_destroy(x->runs[i]);
    free(x->runs);
    free(x->squares);
    itg_gradient_plan_destroy(x->plan);
    return status;
}

/* ---- trying ---- */

/* Sets *out to INFINITY if the hardware cannot run the strategy. *a: with it; NULL: not wanted. */
static itg_status measure(const choosing *x, const itg_strategy *s, int64_t samples,
                          itg_annotated **a, double *out, itg_error *err)
{
    itg_annotated *own = NULL;
    itg_error why = {0};
    *out = INFINITY;
    itg_status status = itg_annotate_with(x->o->g, x->o->hw, s, x->o->constants, &own, &why);
    if (status == ITG_INFEASIBLE) return ITG_OK;
    if (status == ITG_OK)
        status = itg_tune_measure(x->o->odds, 0, samples, own, x->o->weights, out, &why);
    if (a) *a = own;
    if (!a) itg_annotated_destroy(own);
    return status == ITG_OK ? ITG_OK : itg_fail(err, status, "%s", why.message);
}

/* Scales the ends that the strategy without changes has. */
static void scale_range(const choosing *x, int32_t index, struct factors f)
{
    for (int32_t e = 0; e < x->s->edge_count; e++) {
        if (x->of_edge[e] != index) continue;
        x->s->edges[e].lo = x->before->edges[e].lo * f.lo;
        x->s->edges[e].hi = x->before->edges[e].hi * f.hi;
    }
}

static itg_status try_range(choosing *x, int32_t index, bool *changed, itg_error *err)
{
    range *r = &x->ranges[index];
    double divergence = INFINITY;
    r->promised = 0;
    scale_range(x, index, factors[r->best]);
    itg_status status = measure(x, x->s, x->checked, NULL, &divergence, err);
    const bool is_better = divergence < (1 - LEAST_GAIN) * x->divergence;
    if (is_better)
        x->divergence = divergence;
    else
        scale_range(x, index, factors[0]);
    *changed = *changed || is_better;
    return status;
}

static int32_t most_promising(const choosing *x)
{
    int32_t best = ITG_NONE;
    double most = LEAST_PROMISED * x->divergence;
    for (int32_t i = 0; i < x->range_count; i++) {
        if (!(x->ranges[i].promised > most)) continue;
        most = x->ranges[i].promised;
        best = i;
    }
    return best;
}

static itg_status try_ranges(choosing *x, bool *changed, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int k = 0; k < MOST_TRIED && status == ITG_OK; k++) {
        const int32_t index = most_promising(x);
        if (index == ITG_NONE) break;
        status = try_range(x, index, changed, err);
    }
    return status;
}

/* ---- the whole ---- */

/* 0 is in it. */
static void range_of(const itg_layer *l, const float *weights, int64_t first, int64_t end,
                     double *lo, double *hi)
{
    *lo = *hi = 0;
    for (int64_t c = first; c < end; c++)
        for (int64_t k = 0; k < l->depth; k++) {
            const double w = (double)weights[itg_layer_weight(l, c, k)];
            if (w < *lo) *lo = w;
            if (w > *hi) *hi = w;
        }
}

/* Narrow weights would hide what activations lose. */
static itg_status widen(const choosing *x, itg_error *err)
{
    for (int32_t i = 0; i < x->o->layer_count; i++) {
        const itg_layer *l = &x->o->layers[i];
        const float *weights = x->o->g->values[x->o->g->nodes[l->node].inputs[1]].data;
        itg_edge_choice *choice = &x->s->edges[l->weight_edge];
        if (choice->bits >= WIDE_BITS) continue;
        const bool has_zero_points =
            itg_layer_has_zero_points(l, x->o->g, x->o->hw, x->s, WIDE_BITS);
        const int64_t channels = itg_layer_channels(l) / choice->channel_count;
        double *t = itg_arena_array(x->s->arena, (size_t)choice->channel_count, sizeof *t);
        uint8_t *zero = itg_arena_array(x->s->arena, (size_t)choice->channel_count, sizeof *zero);
        if (!t || !zero) return itg_fail(err, ITG_NO_MEMORY, "no memory for weight thresholds");
        for (int32_t c = 0; c < choice->channel_count; c++) {
            double lo = 0, hi = 0;
            range_of(l, weights, c * channels, (c + 1) * channels, &lo, &hi);
            t[c] =
                has_zero_points ? itg_asymmetric_range(WIDE_BITS, lo, hi, &zero[c]) : fmax(-lo, hi);
        }
        *choice = (itg_edge_choice){.bits = WIDE_BITS,
                                    .method = choice->method,
                                    .passed_over = choice->passed_over,
                                    .channel_count = choice->channel_count,
                                    .channel = t,
                                    .zero = has_zero_points ? zero : NULL};
    }
    return ITG_OK;
}

/* Sets the strategy that is measured. *a: the graph with it; NULL: next to nothing is lost, or the
 * hardware cannot run it. */
static itg_status begin(choosing *x, itg_annotated **a, itg_error *err)
{
    const int64_t first = x->checked < FIRST_SAMPLES ? x->checked : FIRST_SAMPLES;
    itg_status status = ITG_OK;
    for (int wide = 1; wide >= 0 && status == ITG_OK; wide--) {
        itg_strategy_destroy(x->s);
        x->s = NULL;
        status = itg_strategy_clone(x->before, &x->s, err);
        if (status == ITG_OK && wide) status = widen(x, err);
        if (status == ITG_OK) status = measure(x, x->s, first, NULL, &x->divergence, err);
        if (status == ITG_OK && x->divergence < INFINITY) break;
    }
    if (status == ITG_OK && x->divergence < INFINITY && x->divergence >= ITG_LEAST_DIVERGENCE)
        status = measure(x, x->s, x->checked, a, &x->divergence, err);
    return status;
}

static void set_all(const choosing *x, const itg_strategy *from, itg_strategy *to)
{
    for (int32_t e = 0; e < to->edge_count; e++) {
        if (x->of_edge[e] == ITG_NONE) continue;
        to->edges[e].lo = from->edges[e].lo;
        to->edges[e].hi = from->edges[e].hi;
    }
}

/* Takes the thresholds over, unless the hardware cannot run the strategy's own weights with them.
 */
static itg_status take(const choosing *x, itg_strategy *s, bool *changed, itg_error *err)
{
    itg_strategy *made = NULL;
    double divergence = INFINITY;
    itg_status status = itg_strategy_clone(s, &made, err);
    if (status == ITG_OK) {
        set_all(x, x->s, made);
        status = measure(x, made, 1, NULL, &divergence, err);
    }
    *changed = status == ITG_OK && divergence < INFINITY;
    if (*changed) set_all(x, made, s);
    itg_strategy_destroy(made);
    return status;
}

static itg_status choose(choosing *x, itg_strategy *s, bool *changed, itg_error *err)
{
    const size_t edges = (size_t)s->edge_count + 1, values = (size_t)x->o->g->value_count + 1;
    itg_annotated *a = NULL;
    x->of_edge = calloc(edges, sizeof *x->of_edge);
    x->of_value = calloc(values, sizeof *x->of_value);
    itg_status status = x->of_edge && x->of_value
                            ? begin(x, &a, err)
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for thresholds");
    if (status == ITG_OK && a) status = find_ranges(x, a, err);
    if (status == ITG_OK && a) status = find_promises(x, err);
    if (status == ITG_OK && a) status = try_ranges(x, changed, err);
    if (status == ITG_OK && *changed) status = take(x, s, changed, err);
    itg_annotated_destroy(a);
    return status;
}

itg_status itg_choose_ranges(const itg_tuning *tuning, itg_strategy *s, itg_ranges_chosen *out,
                             itg_error *err)
{
    int64_t samples = itg_tune_samples(tuning->g, tuning->samples.count, MOST_MACS);
    if (samples > MOST_SAMPLES) samples = MOST_SAMPLES;
    choosing x = {.o = tuning,
                  .before = s,
                  .checked = samples - samples / GRADIENT_PART,
                  .gradients = samples / GRADIENT_PART};
    *out = (itg_ranges_chosen){0};
    if (!tuning->odds || samples < LEAST_SAMPLES) return ITG_OK;
    itg_status status = choose(&x, s, &out->changed, err);
    out->is_lossy = x.divergence >= ITG_LEAST_DIVERGENCE && x.divergence < INFINITY;
    itg_strategy_destroy(x.s);
    free(x.ranges);
    free(x.of_edge);
    free(x.of_value);
    return status;
}
