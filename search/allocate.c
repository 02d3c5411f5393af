/* Widths as a multiple-choice knapsack. What each width alone loses of the outputs (distortion, as
 * greedy ranks by) and saves of the cost is measured, a sum of such terms (additive.h) is taken for
 * what any choice of widths loses and saves, and the knapsack of these terms (knapsack.h) is solved
 * exactly. What it proposes is asked for; the terms learn from the answers, and it is solved again:
 *  1. start (start.h).
 *  2. probes: each width alone at `levels` of its levels, from the narrowest up. Terms not probed
 *     follow the nearest one.
 *  3. the solution's front in equal steps of cost, once: where quality falls below the floor is not
 *     known yet.
 *  4. of the solution, the choices on both sides of what may be lost: the distortion at which
 *     quality meets the floor (history.h); maximizing quality, of the cost limit. It ends where
 *     nothing new is proposed, or after `patience` answers without a better point.
 * Quantization for neural networks as an integer program: Hubara et al. 2021, Accurate Post
 * Training Quantization With Small Calibration Sets (AdaQuant), section 3.4. */
#include "search/additive.h"
#include "search/history.h"
#include "search/knapsack.h"
#include "search/points.h"
#include "search/start.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS, PATIENCE, MARGIN };
static const itg_searcher_parameter parameters[] = {
    [LEVELS] = {"levels", 3, 1, 64, true, "levels of each width that are measured alone"},
    [PATIENCE] = {"patience", 32, 0, 1e9, true, "answers without an improvement that end it"},
    [MARGIN] = {"margin", 1.5, 0, 100, false,
                "standard deviations of quality to keep above the floor"},
    {0}};

#define BATCH 8
#define GROWTH 3.0             /* of the loss, for each bit less, where nothing is known */
#define MOST_CHOICES (1 << 20) /* of all lists together */
#define OVER_LIMIT 8.0 /* what exceeding another limit weighs, in shares of the start's cost */

typedef enum stage { START, PROBES, FRONT, SOLUTION, END } stage;

typedef struct allocate_state {
    const itg_search_space *space;
    itg_searcher_options options;
    stage stage;
    itg_start beginning;
    itg_outcome start; /* of beginning.best */
    bool fine;         /* distortion is known */
    itg_additive loss, saved;
    itg_history history;
    int32_t *batch; /* [BATCH][dims]: points asked and not told */
    int32_t batch_count, asked, told;
    int32_t probe_dim, probe; /* the next probe */
    double best;              /* the cost of the best good point; maximizing, its loss */
    int64_t stalled;
} allocate_state;

/* ---- outcomes ---- */

static double cost_of(const allocate_state *s, const itg_outcome *o)
{
    double unit = s->options.maximize_quality || s->start.cost <= 0 ? 1 : s->start.cost;
    return o->cost / unit + OVER_LIMIT * o->violation;
}

static double loss_of(const allocate_state *s, const itg_outcome *o)
{
    if (!o->feasible || (s->fine && o->distortion < 0)) return INFINITY;
    return s->fine ? o->distortion : s->start.quality - o->quality;
}

static void learn(allocate_state *s, const int32_t *levels, const itg_outcome *o)
{
    const int32_t *from = s->beginning.best;
    itg_additive_learn(&s->loss, from, levels, loss_of(s, o) - loss_of(s, &s->start));
    if (o->feasible)
        itg_additive_learn(&s->saved, from, levels, cost_of(s, &s->start) - cost_of(s, o));
}

static void count_gain(allocate_state *s, const itg_outcome *o)
{
    double value = s->options.maximize_quality ? loss_of(s, o) : cost_of(s, o);
    s->stalled++;
    if (!itg_outcome_is_good(o, &s->options) || !(value < s->best)) return;
    s->best = value;
    s->stalled = 0;
}

/* ---- proposals ---- */

static int32_t *add_point(allocate_state *s)
{
    int32_t *levels = s->batch + (size_t)s->batch_count++ * (size_t)s->space->dim_count;
    memcpy(levels, s->beginning.best, sizeof *levels * (size_t)s->space->dim_count);
    return levels;
}

static bool is_movable(const allocate_state *s, int32_t d)
{
    const itg_dim *dim = &s->space->dims[d];
    return dim->ordered && dim->cost_per_level > 0 && s->beginning.best[d] > 0 &&
           !itg_start_follows(&s->beginning, d);
}

static void set_priors(allocate_state *s)
{
    for (int32_t d = 0; d < s->space->dim_count; d++) {
        const itg_dim *dim = &s->space->dims[d];
        int32_t from = s->beginning.best[d];
        for (int32_t l = 0; l < dim->count; l++) {
            double loss = 1;
            for (int32_t bits = dim->values[from]; bits > dim->values[l]; bits--)
                loss *= GROWTH;
            *itg_additive_prior(&s->loss, d, l) = dim->ordered && l < from ? loss - 1 : 0;
            *itg_additive_prior(&s->saved, d, l) = dim->ordered ? from - l : 0;
        }
        itg_additive_reset(&s->loss, d);
        itg_additive_reset(&s->saved, d);
    }
}

static void plan_start(allocate_state *s)
{
    if (itg_start_ask(&s->beginning) == ITG_OK) {
        memcpy(add_point(s), s->beginning.levels, sizeof *s->batch * (size_t)s->space->dim_count);
        return;
    }
    s->stage = s->beginning.found ? PROBES : END;
    if (!s->beginning.found) return;
    s->start = s->beginning.outcome;
    s->fine = s->start.distortion >= 0;
    set_priors(s);
    count_gain(s, &s->start);
}

/* `levels` of those below the start's, evenly, the narrowest among them. */
static void plan_probes(allocate_state *s)
{
    while (s->batch_count < BATCH && s->probe_dim < s->space->dim_count) {
        int32_t d = s->probe_dim, from = s->beginning.best[d];
        int32_t most = (int32_t)s->options.parameters[LEVELS], count = from < most ? from : most;
        if (is_movable(s, d) && s->probe < count) {
            add_point(s)[d] = from * s->probe / count;
            s->probe++;
        } else {
            s->probe_dim++;
            s->probe = 0;
        }
    }
    if (s->batch_count == 0) s->stage = FRONT;
}

/* ---- the knapsack ---- */

/* A group for each width that moves; others stay at the start's level. */
typedef struct problem {
    itg_knapsack_item *items;
    int32_t *first, *dims; /* [groups + 1], [groups] */
    int32_t groups;
    itg_knapsack solution;
} problem;

static void free_problem(problem *p)
{
    free(p->items);
    free(p->first);
    free(p->dims);
    itg_knapsack_deinit(&p->solution);
}

static itg_status solve(const allocate_state *s, problem *p)
{
    const itg_search_space *space = s->space;
    const int32_t *from = s->beginning.best;
    size_t levels = 0;
    itg_error ignored;
    for (int32_t d = 0; d < space->dim_count; d++)
        levels += (size_t)space->dims[d].count;
    *p = (problem){.items = malloc((levels + 1) * sizeof *p->items),
                   .first = malloc(((size_t)space->dim_count + 1) * sizeof *p->first),
                   .dims = malloc(((size_t)space->dim_count + 1) * sizeof *p->dims)};
    if (!p->items || !p->first || !p->dims) return ITG_NO_MEMORY;
    p->first[0] = 0;
    for (int32_t d = 0; d < space->dim_count; d++) {
        if (!is_movable(s, d)) continue;
        int32_t at = p->first[p->groups];
        for (int32_t l = 0; l <= from[d]; l++) {
            double loss = itg_additive_step(&s->loss, d, from[d], l);
            p->items[at++] = (itg_knapsack_item){-itg_additive_step(&s->saved, d, from[d], l),
                                                 loss > 0 ? loss : 0};
        }
        p->dims[p->groups++] = d;
        p->first[p->groups] = at;
    }
    int32_t longest = MOST_CHOICES / (p->groups + 1);
    return itg_knapsack_solve(p->items, p->first, p->groups, longest > 64 ? longest : 64,
                              &p->solution, &ignored);
}

/* Adds it to the batch, unless it was asked for before. */
static void propose(allocate_state *s, const problem *p, int32_t index, int32_t *items)
{
    int32_t *levels = add_point(s);
    itg_knapsack_items(&p->solution, index, items);
    for (int32_t g = 0; g < p->groups; g++)
        levels[p->dims[g]] = items[g];
    bool known = itg_point_map_find(&s->history, levels) >= 0;
    for (int32_t i = 0; i + 1 < s->batch_count && !known; i++)
        known = memcmp(s->batch + (size_t)i * (size_t)s->space->dim_count, levels,
                       sizeof *levels * (size_t)s->space->dim_count) == 0;
    s->batch_count -= known;
}

/* The first choice of at most this cost. */
static int32_t find_cost(const itg_knapsack *k, double cost)
{
    int32_t low = 0, high = itg_knapsack_count(k) - 1;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (itg_knapsack_at(k, middle)->cost <= cost)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void propose_front(allocate_state *s, const problem *p, int32_t *items)
{
    const itg_knapsack *k = &p->solution;
    double least = itg_knapsack_at(k, itg_knapsack_count(k) - 1)->cost;
    for (int32_t i = 1; i <= BATCH; i++)
        propose(s, p, find_cost(k, least * i / BATCH), items);
}

/* The choice beyond which more is lost than may be, or within the limit of the cost. */
static itg_status find_target(const allocate_state *s, const itg_knapsack *k, int32_t *out)
{
    double cap = s->start.quality - s->options.quality_floor, unexplained;
    int32_t i = 0;
    *out = find_cost(k, s->options.cost_limit - cost_of(s, &s->start));
    if (s->options.maximize_quality) return ITG_OK;
    itg_status status = ITG_OK;
    if (s->fine)
        status = itg_history_distortion_cap(&s->history, s->options.quality_floor, -INFINITY,
                                            s->options.parameters[MARGIN], &cap, &unexplained);
    if (s->fine) cap -= s->start.distortion;
    while (i + 1 < itg_knapsack_count(k) && itg_knapsack_at(k, i + 1)->loss <= cap)
        i++;
    *out = i;
    return status;
}

/* Around the target, half of the batch on each side. */
static itg_status propose_solution(allocate_state *s, const problem *p, int32_t *items)
{
    const int32_t count = itg_knapsack_count(&p->solution);
    int32_t target = 0;
    itg_status status = find_target(s, &p->solution, &target);
    for (int32_t i = target; i >= 0 && s->batch_count < BATCH / 2 && target - i < BATCH; i--)
        propose(s, p, i, items);
    for (int32_t i = target + 1; i < count && s->batch_count < BATCH && i - target < BATCH; i++)
        propose(s, p, i, items);
    return status;
}

static itg_status plan_solution(allocate_state *s)
{
    problem p;
    bool is_front = s->stage == FRONT;
    int32_t *items = malloc(((size_t)s->space->dim_count + 1) * sizeof *items);
    itg_status status = solve(s, &p);
    if (!items) status = ITG_NO_MEMORY;
    if (status == ITG_OK && is_front) propose_front(s, &p, items);
    if (status == ITG_OK && !is_front && (double)s->stalled < s->options.parameters[PATIENCE])
        status = propose_solution(s, &p, items);
    free(items);
    free_problem(&p);
    s->stage = is_front || s->batch_count > 0 ? SOLUTION : END;
    return status;
}

/* ---- the table ---- */

static itg_status plan(allocate_state *s)
{
    itg_status status = ITG_OK;
    s->batch_count = s->asked = s->told = 0;
    while (status == ITG_OK && s->batch_count == 0 && s->stage != END) {
        if (s->stage == START)
            plan_start(s);
        else if (s->stage == PROBES)
            plan_probes(s);
        else
            status = plan_solution(s);
    }
    return status;
}

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    allocate_state *s = state;
    s->space = space;
    s->options = *options;
    s->history = itg_history_of(space->dim_count);
    s->best = INFINITY;
    s->batch = calloc(BATCH * (size_t)space->dim_count + 1, sizeof *s->batch);
    if (!s->batch) return itg_fail(err, ITG_NO_MEMORY, "no memory for allocate");
    itg_status status = itg_start_init(&s->beginning, space, options, err);
    if (status == ITG_OK) status = itg_additive_init(&s->loss, space, s->beginning.best, err);
    if (status == ITG_OK) status = itg_additive_init(&s->saved, space, s->beginning.best, err);
    return status;
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, double *floor)
{
    allocate_state *s = state;
    (void)rng;
    (void)floor;
    if (s->asked == s->batch_count) {
        if (s->told < s->asked) return ITG_WAIT;
        itg_status status = plan(s);
        if (status != ITG_OK) return status;
        if (s->batch_count == 0) return ITG_END;
    }
    size_t dims = (size_t)s->space->dim_count;
    memcpy(levels, s->batch + (size_t)s->asked++ * dims, sizeof *levels * dims);
    if (s->stage != START) itg_start_fit(&s->beginning, levels);
    return ITG_OK;
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    allocate_state *s = state;
    const int32_t *asked = s->batch + (size_t)s->told++ * (size_t)s->space->dim_count;
    itg_status status = itg_history_add(&s->history, asked, outcome);
    (void)levels;
    if (status != ITG_OK) return status;
    if (s->stage == START) return itg_start_tell(&s->beginning, outcome);
    learn(s, asked, outcome);
    if (s->stage == SOLUTION) count_gain(s, outcome);
    return ITG_OK;
}

static void deinit(void *state)
{
    allocate_state *s = state;
    free(s->batch);
    itg_additive_deinit(&s->loss);
    itg_additive_deinit(&s->saved);
    itg_point_map_deinit(&s->history);
    itg_start_deinit(&s->beginning);
}

const itg_searcher_def itg_searcher_allocate = {
    .name = "allocate",
    .help = "each width measured alone, then a multiple-choice knapsack, corrected by its answers",
    .parameters = parameters,
    .state_size = sizeof(allocate_state),
    .outstanding = BATCH,
    .default_trials = 0,
    .wants_conflicts = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .deinit = deinit};
