#include "recover/tune.h"
#include "recover/tune_rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MACS 2e10                /* of all samples, of the network itself */
#define MOST_BYTES (INT64_C(1) << 28) /* for rows of derivatives */
#define CHECKED_PART 4                /* of the samples: one in so many */
#define LEAST_FACTOR 0.25             /* of a scale */
#define MOST_FACTOR 4.0
#define SURE 1.0 /* standard errors */
enum { LEAST_SAMPLES = 128, MOST_SAMPLES = 3072, TRIES = 2, MOST_WORSE = 2 };

typedef struct tuner {
    const itg_tuning *o;
    itg_tune_odds *odds;
    int64_t samples, first_checked;
    itg_strategy *s;
    itg_twin twin;
    double *step;                   /* [parameters] */
    itg_edge_choice *before, *best; /* [layers of the twin] */
    double divergence;              /* of the best */
} tuner;

static itg_edge_choice *choice_of(const tuner *t, int32_t layer)
{
    return &t->s->edges[t->twin.layers[layer].layer->weight_edge];
}

static double steps_of(const tuner *t, const itg_edge_choice *choice)
{
    return itg_weight_steps(choice->bits, choice->zero != NULL, t->o->hw->power_of_two_scales);
}

static itg_status annotate(const tuner *t, itg_annotated **out, itg_error *err)
{
    return itg_annotate_with(t->o->g, t->o->hw, t->s, t->o->constants, out, err);
}

/* ---- steps ---- */

static itg_status move_scales(const tuner *t, int32_t layer, double part, itg_error *err)
{
    const itg_twin_layer *l = &t->twin.layers[layer];
    itg_edge_choice *choice = choice_of(t, layer);
    const double steps = steps_of(t, choice);
    double *to = itg_arena_array(t->s->arena, (size_t)choice->channel_count, sizeof *to);
    if (!to) return itg_fail(err, ITG_NO_MEMORY, "no memory for weight thresholds");
    for (int32_t i = 0; i < choice->channel_count; i++) {
        const double factor = 1 + part * t->step[l->first_scale + i];
        to[i] = (double)(float)(choice->channel[i] / steps *
                                fmin(fmax(factor, LEAST_FACTOR), MOST_FACTOR)) *
                steps;
    }
    choice->channel = to;
    return ITG_OK;
}

static itg_status move_bias(const tuner *t, int32_t layer, double part, itg_error *err)
{
    const itg_twin_layer *l = &t->twin.layers[layer];
    const int64_t channels = itg_layer_channels(l->layer);
    float *bias = malloc((size_t)channels * sizeof *bias);
    if (!bias) return itg_fail(err, ITG_NO_MEMORY, "no memory for a bias");
    for (int64_t c = 0; c < channels; c++)
        bias[c] = (float)((double)l->bias[c] + part * t->step[l->first_bias + c]);
    itg_status status =
        itg_strategy_set_bias(t->s, l->layer->weight_edge, bias, (int32_t)channels, err);
    free(bias);
    return status;
}

static itg_status move_all(const tuner *t, double part, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < t->twin.layer_count && status == ITG_OK; i++) {
        *choice_of(t, i) = t->before[i];
        if (t->twin.layers[i].scale_count > 0) status = move_scales(t, i, part, err);
        if (status == ITG_OK && t->twin.layers[i].first_bias >= 0)
            status = move_bias(t, i, part, err);
    }
    return status;
}

/* The hardware may raise a scale, for which codes were not chosen: the layer stays as it was then.
 */
static itg_status settle(const tuner *t, itg_annotated **a, itg_error *err)
{
    bool changed = false;
    itg_status status = annotate(t, a, err);
    for (int32_t i = 0; i < t->twin.layer_count && status == ITG_OK; i++) {
        const itg_quantizer *q = itg_layer_quantizer(*a, t->twin.layers[i].layer);
        itg_edge_choice *choice = choice_of(t, i);
        for (int32_t k = 0; k < q->scale_count; k++) {
            if ((double)q->scale[k] * steps_of(t, choice) == choice->channel[k]) continue;
            *choice = t->before[i];
            changed = true;
            break;
        }
    }
    if (status != ITG_OK || !changed) return status;
    itg_annotated_destroy(*a);
    *a = NULL;
    return annotate(t, a, err);
}

static itg_status measure(const tuner *t, const itg_annotated *a, double *out, itg_error *err)
{
    return itg_tune_measure(t->odds, t->first_checked, t->samples, a, t->o->weights, out, err);
}

/* Moves by a part of the step, and keeps that if it is better. */
static itg_status try_part(tuner *t, double part, itg_error *err)
{
    itg_annotated *a = NULL;
    itg_error why = {0};
    double divergence = INFINITY;
    itg_status status = move_all(t, part, &why);
    if (status == ITG_OK) status = settle(t, &a, &why);
    if (status == ITG_OK) status = measure(t, a, &divergence, &why);
    itg_annotated_destroy(a);
    if (status != ITG_OK && status != ITG_INFEASIBLE)
        return itg_fail(err, status, "%s", why.message);
    for (int32_t i = 0; i < t->twin.layer_count && divergence < t->divergence; i++)
        t->best[i] = *choice_of(t, i);
    if (divergence < t->divergence) t->divergence = divergence;
    return ITG_OK;
}

/* ---- the whole ---- */

/* Chooses the ridge, and how far to go, by the model of samples that did not make the step. *part
 * 0: nowhere, as the change may be chance. */
static itg_status choose_ridge(const tuner *t, const itg_tune_rows *rows, double *ridge,
                               double *part, itg_error *err)
{
    static const double tried[] = {30, 10, 3, 1, 0.3, 0.1};
    const itg_stop *stop = &t->o->options->stop;
    const itg_tune_problem own = {rows, 0, t->first_checked, stop, t->odds->threads},
                           other = {rows, t->first_checked, rows->samples, stop, t->odds->threads};
    double least = 0;
    itg_status status = ITG_OK;
    *part = 0;
    for (size_t i = 0, worse = 0;
         i < sizeof tried / sizeof *tried && worse < MOST_WORSE && status == ITG_OK; i++) {
        status = itg_tune_solve(&own, tried[i], t->step, err);
        const itg_tune_change change = itg_tune_predict(&other, t->step);
        worse++;
        if (!(change.mean < least)) continue;
        worse = 0;
        least = change.mean;
        *ridge = tried[i];
        *part = change.mean < -SURE * change.error ? change.part : 0;
    }
    return status;
}

static itg_status find_step(tuner *t, double *part, itg_error *err)
{
    itg_tune_rows rows = {0};
    double ridge = 0;
    *part = 0;
    t->step = calloc((size_t)t->twin.parameters, sizeof *t->step);
    if (!t->step) return itg_fail(err, ITG_NO_MEMORY, "no memory for scales and biases");
    itg_status status = itg_tune_gather(&t->twin, t->odds, t->samples, &rows, err);
    if (status == ITG_OK) status = choose_ridge(t, &rows, &ridge, part, err);
    const itg_tune_problem all = {&rows, 0, rows.samples, &t->o->options->stop, t->odds->threads};
    if (status == ITG_OK && *part > 0) status = itg_tune_solve(&all, ridge, t->step, err);
    itg_tune_rows_deinit(&rows);
    return status;
}

static itg_status run(tuner *t, const itg_annotated *a, itg_error *err)
{
    const size_t count = (size_t)t->twin.layer_count;
    t->before = calloc(count, sizeof *t->before);
    t->best = calloc(count, sizeof *t->best);
    if (!t->before || !t->best) return itg_fail(err, ITG_NO_MEMORY, "no memory for a strategy");
    for (int32_t i = 0; i < t->twin.layer_count; i++)
        t->before[i] = t->best[i] = *choice_of(t, i);
    itg_status status = itg_tune_odds_reach(t->odds, t->samples, err);
    if (status == ITG_OK) status = measure(t, a, &t->divergence, err);
    if (status != ITG_OK || t->divergence == INFINITY) return status;
    double part = 0;
    status = find_step(t, &part, err);
    for (int k = 0; k < TRIES && part > 0 && status == ITG_OK; k++)
        status = try_part(t, part / (1 << k), err);
    for (int32_t i = 0; i < t->twin.layer_count; i++)
        *choice_of(t, i) = t->best[i];
    return status;
}

/* Sets which samples are used, and which of them check; returns false if they are too few. */
static bool choose_samples(tuner *t)
{
    const int64_t bytes = t->twin.parameters * (1 + ITG_TUNE_DIRECTIONS) * (int64_t)sizeof(float);
    if (bytes == 0) return false;
    t->samples = itg_tune_samples(t->o->g, t->o->samples.count, MOST_MACS);
    if (t->samples > MOST_SAMPLES) t->samples = MOST_SAMPLES;
    if (t->samples > MOST_BYTES / bytes) t->samples = MOST_BYTES / bytes;
    t->first_checked = t->samples - t->samples / CHECKED_PART;
    return t->samples >= LEAST_SAMPLES;
}

bool itg_tune_can(const itg_graph *g, int64_t samples)
{
    return itg_tune_samples(g, samples, MOST_MACS) >= LEAST_SAMPLES;
}

itg_status itg_tune(const itg_tuning *tuning, itg_strategy *s, itg_error *err)
{
    tuner t = {.o = tuning, .odds = tuning->odds, .s = s};
    itg_annotated *a = NULL;
    if (!t.odds || !itg_tune_can(tuning->g, tuning->samples.count)) return ITG_OK;
    itg_status status = annotate(&t, &a, err);
    if (status == ITG_OK)
        status = itg_twin_create(a, s, tuning->layers, tuning->layer_count,
                                 !tuning->hw->power_of_two_scales, &t.twin, err);
    if (status == ITG_OK && choose_samples(&t)) status = run(&t, a, err);
    itg_annotated_destroy(a);
    itg_twin_deinit(&t.twin);
    free(t.step);
    free(t.before);
    free(t.best);
    return status;
}
