/* Steepest descent over all widths at once: each step takes the move that saves most cost per
 * quality lost; what is refused is tried again after others have changed.
 *
 * What a move loses is taken from the distortion of the outputs where it is known (top-1 of a
 * thousand samples is too coarse to tell two moves apart), else from quality. Losses and costs are
 * kept as sums of one term for each width (additive.h), so that most steps need no evaluation:
 *  1. start (start.h): the widest point, or what can be run, or is better, instead.
 *  2. probes: each width alone at the middle of its range (by a share). A term not probed
 *     follows the nearest one, by `growth` for each bit.
 *  3. path: the steepest path down by these terms, found without evaluations. The last point on it
 *     that is safe (see below) lies between the last safe point that is known and the first other
 *     one: `sections` points between these are asked, again and again; the first ones together,
 *     later each only where the one before was safe. Maximizing quality: the first point within
 *     the limits.
 *  4. steps, minimizing (greedy_steps.c): one width one level down, best ratio first, as long as a
 *     safe point is found: eight (by a share), then as many of them together as are safe.
 *  5. improvement (greedy_improve.c): single moves, exchanges, and both filled up (greedy_moves.h),
 *     best expected first, eight together (by a share; then the best of them, until one is good).
 *     The terms learn from each answer, lazily: a move that is not among the best is not looked at
 *     again. It ends with nothing left to expect, or after a number of answers without a better
 *     point. Minimizing, where it went down: 4. again, and 5. where that stepped.
 *  6. methods (greedy_methods.c): each other value of each method alone, then the best ones
 *     together: they cost nothing and lose less. Where one is better: 5. again, with what follows
 *     it (3., where the point before was not good enough).
 *
 * Quality is noisy: whoever asks for a hundred points near the floor ends with one that was lucky,
 * and is worse on other samples. So, minimizing, 3. and 4. go on from a point only where it is
 * safe: `slack` of what may be lost is left. 5. only goes up to the distortion at which quality
 * meets the floor with a margin on average over all that was told (history.h), or that of a safe
 * point.
 *
 * Minimizing, what only ranks points is asked of a share of the samples (greedy_share.c).
 *
 * Racing floor, minimizing, from the path on: `hopeless`, below the floor by a multiple of what
 * the start has to lose. What is told of such a point is used for nothing but that it is. */
#include "search/greedy_state.h"
#include "search/points.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PATH_END 0.02      /* good and bad come no closer than this share of the start's ratio */
#define LEAST_TO_LOSE 0.01 /* the least allowed loss that `hopeless` assumes */

/* growth: 4 by theory, less so that narrow widths are tried. */
static const itg_searcher_parameter parameters[] = {
    [ITG_GREEDY_SECTIONS] = {"sections", 4, 1, ITG_GREEDY_BATCH, true,
                             "points that divide what is left of the path"},
    [ITG_GREEDY_GROWTH] = {"growth", 3, 1, 100, false, "the loss's factor for each bit less"},
    [ITG_GREEDY_HOPELESS] = {"hopeless", 3, 0, 1e9, false,
                             "give up points that miss the floor by so many times what may be "
                             "lost"},
    [ITG_GREEDY_SLACK] = {"slack", 0.65, 0, 1, false,
                          "the share of what may be lost that a step leaves"},
    [ITG_GREEDY_MARGIN] = {"margin", 1.5, 0, 100, false,
                           "standard deviations of quality to keep above the floor"},
    [ITG_GREEDY_PATIENCE] = {"patience", 24, 0, 1e9, true,
                             "answers without an improvement that end the stage"},
    [ITG_GREEDY_PATIENCE_PER_WIDTH] = {"patience_per_width", 1, 0, 1e6, true,
                                       "the same, in addition for each width"},
    [ITG_GREEDY_SHARE] = {"share", 0.25, 0, 1, false,
                          "of the samples, where distortions are only compared; 1: all, always"},
    {0}};

/* ---- start ---- */

static double growth(const itg_greedy_state *s, int32_t bits)
{
    double power = 1;
    for (int32_t i = 0; i < abs(bits) && i < 64; i++)
        power *= itg_greedy_parameter(s, ITG_GREEDY_GROWTH);
    return bits < 0 ? 1 / power : power;
}

static void set_priors(itg_greedy_state *s, int32_t d)
{
    const itg_dim *dim = &s->space->dims[d];
    bool only_limits = dim->cost_per_level <= 0;
    double widest = s->start_outcome.cost > 0 ? s->start_outcome.cost : 1;
    double per_level = only_limits                   ? 1e-6
                       : s->options.maximize_quality ? dim->cost_per_level
                                                     : dim->cost_per_level / widest;
    for (int32_t l = 0; l < dim->count; l++) {
        int32_t bits = dim->values[s->start[d]] - dim->values[l];
        *itg_additive_prior(&s->saved, d, l) = per_level * (s->start[d] - l);
        *itg_additive_prior(&s->loss, d, l) = growth(s, bits) - 1;
    }
    itg_additive_reset(&s->saved, d);
    itg_additive_reset(&s->loss, d);
    s->top[d] = dim->count - 1;
    s->movable[d] = dim->ordered && dim->count > 1 &&
                    (!only_limits || s->start[d] < s->top[d] ||
                     !itg_outcome_is_within(&s->start_outcome, &s->options)) &&
                    !itg_start_follows(&s->beginning, d);
    s->movable_count += s->movable[d];
    s->probe[d] = s->movable[d] && s->start[d] > 0 ? s->start[d] / 2 : -1;
}

static void plan_start(itg_greedy_state *s)
{
    if (itg_start_ask(&s->beginning) == ITG_OK) {
        itg_greedy_add_point(s, s->beginning.levels, 0);
        return;
    }
    if (!s->beginning.found) {
        s->stage = ITG_GREEDY_END;
        return;
    }
    size_t bytes = sizeof *s->start * (size_t)s->space->dim_count;
    memcpy(s->start, s->beginning.best, bytes);
    memcpy(s->current, s->start, bytes);
    s->start_outcome = s->current_outcome = s->beginning.outcome;
    s->fine = s->start_outcome.distortion >= 0;
    for (int32_t d = 0; d < s->space->dim_count; d++)
        set_priors(s, d);
    s->stage = ITG_GREEDY_PROBES;
}

/* ---- probes ---- */

static void plan_probes(itg_greedy_state *s)
{
    for (int32_t d = 0; d < s->space->dim_count && s->batch_count < itg_greedy_room(s); d++) {
        if (s->probe[d] < 0) continue;
        itg_greedy_asked *a = itg_greedy_add_point(s, s->start, d);
        a->guess.levels[d] = s->probe[d];
    }
    if (s->batch_count > 0) {
        itg_greedy_add_current(s);
        return;
    }
    itg_additive_copy(&s->probed, &s->loss);
    double to_lose = s->start_outcome.quality - s->options.quality_floor;
    if (!s->options.maximize_quality && to_lose < INFINITY)
        s->hopeless =
            s->options.quality_floor - itg_greedy_parameter(s, ITG_GREEDY_HOPELESS) *
                                           (to_lose > LEAST_TO_LOSE ? to_lose : LEAST_TO_LOSE);
    s->stage = ITG_GREEDY_PATH;
}

/* Goes on from the best good point that is known if the start is not good. */
static void leave_bad_start(itg_greedy_state *s)
{
    for (int64_t i = 0; i < s->history.count; i++) {
        const itg_outcome *o = itg_history_at(&s->history, i);
        if (itg_greedy_is_good_enough(s, o) &&
            (!itg_greedy_is_good_enough(s, &s->current_outcome) ||
             itg_greedy_is_better(s, o, &s->current_outcome)))
            itg_greedy_move_to(s, itg_point_map_point(&s->history, i), o);
    }
}

static void absorb_probes(itg_greedy_state *s)
{
    itg_greedy_take_share(s);
    for (int32_t i = 0; i < s->batch_count; i++) {
        const itg_greedy_asked *a = &s->batch[i];
        int32_t d = a->index, next = (s->probe[d] + s->start[d] + 1) / 2;
        itg_greedy_learn(s, s->start, &s->start_outcome, a);
        s->probe[d] = !a->outcome.feasible && next < s->start[d] ? next : -1;
    }
}

/* ---- path ---- */

static void build_path(itg_greedy_state *s)
{
    itg_greedy_moves moves = itg_greedy_moves_of(s);
    itg_guess *g = &s->scratch;
    int32_t dim = 0;
    s->before = 0;
    s->path_count = 0;
    memcpy(g->levels, s->current, sizeof *g->levels * (size_t)s->space->dim_count);
    g->loss = itg_greedy_loss(s, &s->current_outcome);
    g->cost_ratio = itg_greedy_cost_ratio(s, &s->current_outcome);
    while (itg_greedy_lower(&moves, g, INFINITY, -1, &dim))
        s->path[s->path_count++] = (itg_greedy_step){dim, g->levels[dim]};
    s->after = s->path_count + 1;
}

/* Whether the path goes on beyond an outcome: minimizing, while a share of the allowed loss is
 * left; maximizing, up to the limits. */
static bool is_before(const itg_greedy_state *s, const itg_outcome *o)
{
    if (s->options.maximize_quality) return !itg_greedy_is_good_enough(s, o);
    return itg_greedy_is_safe(s, o);
}

static void end_path(itg_greedy_state *s)
{
    if (s->has_kept) {
        itg_greedy_asked a = {.guess = {.levels = s->kept}, .outcome = s->kept_outcome};
        itg_greedy_learn(s, s->current, &s->current_outcome, &a);
        itg_greedy_move_to(s, s->kept, &s->kept_outcome);
    }
    s->has_kept = false;
    s->stalled = 0;
    bool ended = s->after == s->before + 1 && s->after <= s->path_count;
    s->path_end = ended ? s->path[s->before] : (itg_greedy_step){-1, -1};
    itg_greedy_begin_steps(s);
    s->stage = ITG_GREEDY_STEPS;
    if (s->options.maximize_quality) s->stage = ITG_GREEDY_IMPROVE;
    if (!itg_greedy_is_good_enough(s, &s->current_outcome)) s->stage = ITG_GREEDY_END;
    s->path_count = -1;
    s->stepped = true; /* so that improvement follows */
}

/* The expected saving of the path between the last good point and the first bad one. */
static double burden_between(const itg_greedy_state *s)
{
    int32_t *levels = s->scratch.levels;
    double saved = 0;
    memcpy(levels, s->current, sizeof *levels * (size_t)s->space->dim_count);
    for (int32_t i = 0; i < s->after; i++) {
        const itg_greedy_step *step = &s->path[i];
        if (i >= s->before)
            saved += itg_additive_step(&s->saved, step->dim, levels[step->dim], step->level);
        levels[step->dim] = step->level;
    }
    return s->options.maximize_quality ? INFINITY : saved;
}

static void divide_path(itg_greedy_state *s)
{
    const bool close = s->has_kept && s->after <= s->path_count && burden_between(s) < PATH_END;
    const int32_t most = (int32_t)itg_greedy_parameter(s, ITG_GREEDY_SECTIONS);
    const int32_t gap = close ? 0 : s->after - s->before - 1;
    s->sections_left = gap < most ? gap : most;
}

static void plan_path(itg_greedy_state *s)
{
    if (s->path_count < 0) {
        if (!s->options.maximize_quality && !itg_greedy_is_good_enough(s, &s->current_outcome))
            leave_bad_start(s);
        if (!is_before(s, &s->current_outcome)) {
            s->stage = ITG_GREEDY_METHODS;
            return;
        }
        build_path(s);
    }
    if (s->sections_left == 0) divide_path(s);
    if (s->sections_left == 0) {
        end_path(s);
        return;
    }
    const int32_t gap = s->after - s->before, count = s->sections_left;
    const bool together = gap > s->path_count; /* nothing of it is known */
    for (int32_t i = 1; i <= (together ? count : 1); i++) {
        const int32_t steps = s->before + (int32_t)((int64_t)gap * i / (count + 1));
        itg_greedy_asked *a = itg_greedy_add_point(s, s->current, steps);
        for (int32_t k = 0; k < steps; k++)
            a->guess.levels[s->path[k].dim] = s->path[k].level;
    }
}

static void absorb_path(itg_greedy_state *s)
{
    bool before = true;
    for (int32_t i = 0; i < s->batch_count && before; i++) {
        const itg_greedy_asked *a = &s->batch[i];
        before = is_before(s, &a->outcome);
        if (before != s->options.maximize_quality) itg_greedy_keep(s, a);
        if (before)
            s->before = a->index;
        else
            s->after = a->index;
        s->sections_left--;
    }
    if (!before) s->sections_left = 0;
}

/* ---- the table ---- */

static itg_status plan(itg_greedy_state *s)
{
    itg_status status = ITG_OK;
    s->batch_count = s->asked = s->told = 0;
    while (status == ITG_OK && s->batch_count == 0 && s->stage != ITG_GREEDY_END) {
        switch (s->stage) {
        case ITG_GREEDY_START:
            plan_start(s);
            break;
        case ITG_GREEDY_PROBES:
            plan_probes(s);
            break;
        case ITG_GREEDY_PATH:
            plan_path(s);
            break;
        case ITG_GREEDY_IMPROVE:
            status = itg_greedy_plan_improve(s);
            break;
        case ITG_GREEDY_CONFIRM:
            status = itg_greedy_plan_confirm(s);
            break;
        case ITG_GREEDY_STEPS:
            itg_greedy_plan_steps(s);
            break;
        case ITG_GREEDY_METHODS:
            itg_greedy_plan_methods(s);
            break;
        case ITG_GREEDY_COMBINE:
            itg_greedy_plan_combine(s);
            break;
        case ITG_GREEDY_END:
            break;
        }
    }
    return status;
}

static void absorb(itg_greedy_state *s)
{
    switch (s->stage) {
    case ITG_GREEDY_START: /* told as it came */
        break;
    case ITG_GREEDY_PROBES:
        absorb_probes(s);
        break;
    case ITG_GREEDY_PATH:
        absorb_path(s);
        break;
    case ITG_GREEDY_IMPROVE:
        itg_greedy_absorb_improve(s);
        break;
    case ITG_GREEDY_CONFIRM:
        itg_greedy_absorb_confirm(s);
        break;
    case ITG_GREEDY_STEPS:
        itg_greedy_absorb_steps(s);
        break;
    case ITG_GREEDY_METHODS:
        itg_greedy_absorb_methods(s);
        break;
    case ITG_GREEDY_COMBINE:
        itg_greedy_absorb_combine(s);
        break;
    case ITG_GREEDY_END:
        break;
    }
}

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    itg_greedy_state *s = state;
    size_t dims = (size_t)space->dim_count + 1, levels = 1;
    s->space = space;
    s->options = *options;
    s->hopeless = -INFINITY;
    s->path_count = -1;
    s->trusted = -1;
    s->history = itg_history_of(space->dim_count);
    for (int32_t d = 0; d < space->dim_count; d++)
        levels += (size_t)space->dims[d].count;
    s->start = calloc(dims, sizeof *s->start);
    s->current = calloc(dims, sizeof *s->current);
    s->top = calloc(dims, sizeof *s->top);
    s->kept = calloc(dims, sizeof *s->kept);
    s->probe = calloc(dims, sizeof *s->probe);
    s->movable = calloc(dims, sizeof *s->movable);
    s->refused = calloc(dims, sizeof *s->refused);
    s->step_ratio = calloc(dims, sizeof *s->step_ratio);
    s->path = calloc(levels, sizeof *s->path);
    s->scratch.levels = calloc(dims, sizeof *s->scratch.levels);
    bool complete = s->start && s->current && s->top && s->kept && s->probe && s->movable &&
                    s->refused && s->step_ratio && s->path && s->scratch.levels;
    for (int32_t i = 0; i < ITG_GREEDY_BATCH; i++) {
        s->batch[i].guess.levels = calloc(dims, sizeof *s->start);
        complete = complete && s->batch[i].guess.levels;
    }
    if (!complete) return itg_fail(err, ITG_NO_MEMORY, "no memory for greedy");
    itg_status status = itg_additive_init(&s->loss, space, s->start, err);
    if (status == ITG_OK) status = itg_additive_init(&s->saved, space, s->start, err);
    if (status == ITG_OK) status = itg_additive_init(&s->probed, space, s->start, err);
    if (status == ITG_OK) status = itg_start_init(&s->beginning, space, options, err);
    return status;
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    itg_greedy_state *s = state;
    (void)rng;
    if (s->asked == s->batch_count) {
        if (s->told < s->asked) return ITG_WAIT;
        itg_status status = plan(s);
        if (status != ITG_OK) return status;
        if (s->batch_count == 0) return ITG_END;
    }
    const itg_greedy_asked *a = &s->batch[s->asked++];
    memcpy(levels, a->guess.levels, sizeof *levels * (size_t)s->space->dim_count);
    if (s->stage != ITG_GREEDY_START) itg_start_fit(&s->beginning, levels);
    interest->floor = s->hopeless;
    interest->share = itg_greedy_asked_share(s);
    return ITG_OK;
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    itg_greedy_state *s = state;
    itg_greedy_asked *a = &s->batch[s->told++];
    itg_status status = itg_history_add(&s->history, a->guess.levels, outcome);
    (void)levels;
    if (status == ITG_OK && s->stage == ITG_GREEDY_START)
        status = itg_start_tell(&s->beginning, outcome);
    if (status != ITG_OK) return status;
    a->outcome = *outcome;
    a->outcome.conflicts = NULL;
    if (s->told == s->batch_count) absorb(s);
    return ITG_OK;
}

static void deinit(void *state)
{
    itg_greedy_state *s = state;
    for (int32_t i = 0; i < ITG_GREEDY_BATCH; i++)
        free(s->batch[i].guess.levels);
    free(s->start);
    free(s->current);
    free(s->top);
    free(s->kept);
    free(s->probe);
    free(s->movable);
    free(s->refused);
    free(s->step_ratio);
    free(s->path);
    free(s->scratch.levels);
    itg_additive_deinit(&s->loss);
    itg_additive_deinit(&s->saved);
    itg_additive_deinit(&s->probed);
    itg_point_map_deinit(&s->history);
    itg_start_deinit(&s->beginning);
}

const itg_searcher_def itg_searcher_greedy = {
    .name = "greedy",
    .help = "steepest descent over all widths, exchanges, then threshold methods",
    .parameters = parameters,
    .state_size = sizeof(itg_greedy_state),
    .outstanding = ITG_GREEDY_BATCH,
    .default_trials = 0,
    .wants_conflicts = true,
    .takes_start = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .deinit = deinit};
