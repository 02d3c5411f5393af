/* The part that allocate and surrogate share: their start, and the loss and cost of an outcome. */
#include "search/allocate_state.h"
#include "search/points.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GROWTH 3.0     /* growth of the loss for each bit less, where nothing is known */
#define OVER_LIMIT 8.0 /* the weight of exceeding another limit, in shares of the start's cost */

/* ---- outcomes ---- */

double itg_allocate_cost(const itg_allocate_state *s, const itg_outcome *o)
{
    double unit = s->options.maximize_quality || s->start.cost <= 0 ? 1 : s->start.cost;
    return o->cost / unit + (s->is_limited ? 0 : OVER_LIMIT * o->violation);
}

double itg_allocate_loss(const itg_allocate_state *s, const itg_outcome *o)
{
    if (!o->feasible || (s->fine && o->distortion < 0)) return INFINITY;
    return s->fine ? o->distortion : s->start.quality - o->quality;
}

void itg_allocate_learn(itg_allocate_state *s, const int32_t *levels, const itg_outcome *o,
                        bool losses)
{
    const int32_t *from = s->beginning.best;
    if (losses)
        itg_additive_learn(&s->loss, from, levels,
                           itg_allocate_loss(s, o) - itg_allocate_loss(s, &s->start));
    if (o->feasible)
        itg_additive_learn(&s->saved, from, levels,
                           itg_allocate_cost(s, &s->start) - itg_allocate_cost(s, o));
    for (int32_t k = 0; o->feasible && k < s->use_count; k++)
        itg_additive_learn(&s->use[k], from, levels, s->start.limits[k] - o->limits[k]);
}

void itg_allocate_count_gain(itg_allocate_state *s, const itg_outcome *o)
{
    double value = s->options.maximize_quality ? itg_allocate_loss(s, o) : itg_allocate_cost(s, o);
    s->stalled++;
    if (!itg_outcome_is_good(o, &s->options) || !(value < s->best)) return;
    s->best = value;
    s->stalled = 0;
}

/* ---- proposals ---- */

int32_t *itg_allocate_add_point(itg_allocate_state *s)
{
    int32_t *levels = s->batch + (size_t)s->batch_count * (size_t)s->space->dim_count;
    s->predicted[s->batch_count++] = NAN;
    memcpy(levels, s->beginning.best, sizeof *levels * (size_t)s->space->dim_count);
    return levels;
}

/* The highest level of a width that may be chosen. With a start it may be wider than the start's.
 */
int32_t itg_allocate_highest(const itg_allocate_state *s, int32_t d)
{
    return s->options.start ? s->space->dims[d].count - 1 : s->beginning.best[d];
}

bool itg_allocate_moves(const itg_allocate_state *s, int32_t d)
{
    const itg_dim *dim = &s->space->dims[d];
    return dim->ordered && dim->cost_per_level > 0 && itg_allocate_highest(s, d) > 0 &&
           !itg_start_follows(&s->beginning, d);
}

static void set_priors(itg_allocate_state *s)
{
    const bool is_share = s->options.maximize_quality || s->start.cost <= 0;
    const double unit = is_share ? 1 : 1 / s->start.cost;
    for (int32_t d = 0; d < s->space->dim_count; d++) {
        const itg_dim *dim = &s->space->dims[d];
        int32_t from = s->beginning.best[d];
        double saved = dim->cost_per_level > 0 ? dim->cost_per_level * unit : 1;
        for (int32_t l = 0; l < dim->count; l++) {
            double loss = 1;
            for (int32_t bits = dim->values[from]; bits > dim->values[l]; bits--)
                loss *= GROWTH;
            for (int32_t bits = dim->values[from]; bits < dim->values[l]; bits++)
                loss /= GROWTH;
            *itg_additive_prior(&s->loss, d, l) =
                dim->ordered && l <= itg_allocate_highest(s, d) ? loss - 1 : 0;
            *itg_additive_prior(&s->saved, d, l) = dim->ordered ? saved * (from - l) : 0;
        }
        itg_additive_reset(&s->loss, d);
        itg_additive_reset(&s->saved, d);
        for (int32_t k = 0; k < s->use_count; k++) {
            for (int32_t l = 0; l < dim->count; l++)
                *itg_additive_prior(&s->use[k], d, l) = dim->ordered ? saved * (from - l) : 0;
            itg_additive_reset(&s->use[k], d);
        }
    }
}

/* Drops the limits if the start keeps them all: every narrower point then keeps them, too. */
static itg_status begin_limits(itg_allocate_state *s)
{
    itg_status status = ITG_OK;
    itg_error ignored;
    bool exceeded = s->options.maximize_quality || s->options.start;
    for (int32_t k = 0; k < s->start.limit_count; k++)
        exceeded |= s->start.limits[k] > 1;
    s->is_limited = exceeded && s->start.limit_count > 0;
    while (status == ITG_OK && s->is_limited && s->use_count < s->start.limit_count)
        status = itg_additive_init(&s->use[s->use_count++], s->space, s->beginning.best, &ignored);
    return status;
}

itg_status itg_allocate_plan_start(itg_allocate_state *s)
{
    if (itg_start_ask(&s->beginning) == ITG_OK) {
        memcpy(itg_allocate_add_point(s), s->beginning.levels,
               sizeof *s->batch * (size_t)s->space->dim_count);
        return ITG_OK;
    }
    s->stage = s->beginning.found ? ITG_ALLOCATE_PROBES : ITG_ALLOCATE_END;
    if (!s->beginning.found) return ITG_OK;
    s->start = s->beginning.outcome;
    s->fine = s->start.distortion >= 0;
    itg_status status = begin_limits(s);
    if (status != ITG_OK) return status;
    set_priors(s);
    itg_allocate_count_gain(s, &s->start);
    return ITG_OK;
}

/* ---- the state ---- */

itg_status itg_allocate_init(itg_allocate_state *s, const itg_search_space *space,
                             const itg_searcher_options *options, itg_error *err)
{
    s->space = space;
    s->options = *options;
    s->history = itg_history_of(space->dim_count);
    s->best = s->hint = INFINITY;
    s->batch = calloc(ITG_ALLOCATE_BATCH * (size_t)space->dim_count + 1, sizeof *s->batch);
    if (!s->batch) return itg_fail(err, ITG_NO_MEMORY, "no memory for the choice of widths");
    itg_status status = itg_start_init(&s->beginning, space, options, err);
    if (status == ITG_OK) status = itg_additive_init(&s->loss, space, s->beginning.best, err);
    if (status == ITG_OK) status = itg_additive_init(&s->saved, space, s->beginning.best, err);
    return status;
}

void itg_allocate_deinit(itg_allocate_state *s)
{
    free(s->batch);
    itg_additive_deinit(&s->loss);
    itg_additive_deinit(&s->saved);
    for (int32_t k = 0; k < s->use_count; k++)
        itg_additive_deinit(&s->use[k]);
    itg_point_map_deinit(&s->history);
    itg_start_deinit(&s->beginning);
}

void itg_allocate_next(itg_allocate_state *s, int32_t *levels)
{
    size_t dims = (size_t)s->space->dim_count;
    memcpy(levels, s->batch + (size_t)s->asked++ * dims, sizeof *levels * dims);
    if (s->stage != ITG_ALLOCATE_START) itg_start_fit(&s->beginning, levels);
}

itg_status itg_allocate_tell(itg_allocate_state *s, const itg_outcome *outcome, bool losses)
{
    const int32_t *asked = s->batch + (size_t)s->told++ * (size_t)s->space->dim_count;
    itg_status status = itg_history_add(&s->history, asked, outcome);
    if (status != ITG_OK) return status;
    if (s->stage == ITG_ALLOCATE_START) return itg_start_tell(&s->beginning, outcome);
    itg_forecasts_add(&s->forecasts, s->predicted[s->told - 1],
                      itg_allocate_loss(s, outcome) - itg_allocate_loss(s, &s->start));
    itg_allocate_learn(s, asked, outcome, losses);
    if (s->stage == ITG_ALLOCATE_SOLUTION) itg_allocate_count_gain(s, outcome);
    return ITG_OK;
}

void itg_allocate_forecast(const void *state, itg_forecast *out)
{
    const itg_allocate_state *s = state;
    *out = itg_forecasts_summary(&s->forecasts);
    out->gap = s->gap;
}
