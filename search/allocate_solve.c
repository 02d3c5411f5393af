/* The proposals of allocate: the widths that are best according to its terms. */
#include "search/allocate_state.h"
#include "search/choices.h"
#include "search/knapsack.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CHOICES (1 << 20) /* of all lists together */
#define MOST_NODES 300000      /* of branch and bound, for one proposal */
#define MOST_AWAY 24           /* places from the wanted choice, if that was asked for before */
#define MOST_TRIES 16          /* tries for one choice, each STEP of the share further away */
#define STEP 0.02

/* A knapsack with one group for each width that may change; other widths stay at the start's level.
 */
typedef struct problem {
    itg_knapsack_item *items;
    int32_t *first, *dims; /* [groups + 1], [groups] */
    int32_t groups;
    itg_knapsack solution;
    int32_t *chosen; /* [groups] */
} problem;

static void free_problem(problem *p)
{
    free(p->items);
    free(p->first);
    free(p->dims);
    free(p->chosen);
    itg_knapsack_deinit(&p->solution);
}

static itg_status begin(const itg_allocate_state *s, problem *p)
{
    const itg_search_space *space = s->space;
    const int32_t *from = s->beginning.best;
    size_t levels = 0;
    for (int32_t d = 0; d < space->dim_count; d++)
        levels += (size_t)space->dims[d].count;
    *p = (problem){.items = malloc((levels + 1) * sizeof *p->items),
                   .first = malloc(((size_t)space->dim_count + 1) * sizeof *p->first),
                   .dims = malloc(((size_t)space->dim_count + 1) * sizeof *p->dims),
                   .chosen = malloc(((size_t)space->dim_count + 1) * sizeof *p->chosen)};
    if (!p->items || !p->first || !p->dims || !p->chosen) return ITG_NO_MEMORY;
    p->first[0] = 0;
    for (int32_t d = 0; d < space->dim_count; d++) {
        if (!itg_allocate_moves(s, d)) continue;
        int32_t at = p->first[p->groups];
        for (int32_t l = 0; l <= itg_allocate_highest(s, d); l++) {
            double loss = itg_additive_step(&s->loss, d, from[d], l);
            bool is_sound =
                l < from[d] ? loss > 0 : loss < 0; /* otherwise it is noise of the samples */
            p->items[at++] = (itg_knapsack_item){-itg_additive_step(&s->saved, d, from[d], l),
                                                 is_sound ? loss : 0};
        }
        p->dims[p->groups++] = d;
        p->first[p->groups] = at;
    }
    return ITG_OK;
}

/* Adds the chosen point to the batch, unless it was asked for before. */
static bool add_chosen(itg_allocate_state *s, const problem *p, double loss)
{
    const size_t dims = (size_t)s->space->dim_count;
    int32_t *levels = itg_allocate_add_point(s);
    s->predicted[s->batch_count - 1] = loss;
    for (int32_t g = 0; g < p->groups; g++)
        levels[p->dims[g]] = p->chosen[g];
    bool known = itg_point_map_find(&s->history, levels) >= 0;
    for (int32_t i = 0; i + 1 < s->batch_count && !known; i++)
        known = memcmp(s->batch + (size_t)i * dims, levels, sizeof *levels * dims) == 0;
    s->batch_count -= known;
    return !known;
}

/* Finds the loss that is allowed beyond the start's. INFINITY: no point fell below the floor yet.
 */
static itg_status find_cap(const itg_allocate_state *s, double *cap)
{
    const double floor = s->options.quality_floor;
    double unexplained;
    *cap = floor > -INFINITY ? s->start.quality - floor : INFINITY;
    if (!s->fine) return ITG_OK;
    itg_status status =
        itg_history_distortion_cap(&s->history, floor, -INFINITY,
                                   s->options.parameters[ITG_ALLOCATE_MARGIN], cap, &unexplained);
    *cap -= s->start.distortion;
    if (isinf(*cap)) *cap = s->hint;
    return status;
}

/* ---- one limit: the knapsack ---- */

static bool propose(itg_allocate_state *s, const problem *p, int32_t index)
{
    itg_knapsack_items(&p->solution, index, p->chosen);
    return add_chosen(s, p, itg_knapsack_at(&p->solution, index)->loss);
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

static void propose_front(itg_allocate_state *s, const problem *p)
{
    const itg_knapsack *k = &p->solution;
    double least = itg_knapsack_at(k, itg_knapsack_count(k) - 1)->cost;
    for (int32_t i = 1; i <= ITG_ALLOCATE_BATCH; i++)
        propose(s, p, find_cost(k, least * i / ITG_ALLOCATE_BATCH));
}

/* Finds the last choice whose loss is within `aim` times the cap; when quality is maximized, the
 * first whose cost is within `aim` times the limit. */
static itg_status find_target(const itg_allocate_state *s, const itg_knapsack *k, double aim,
                              int32_t *out)
{
    double cap;
    int32_t i = 0;
    *out = find_cost(k, aim * s->options.cost_limit - itg_allocate_cost(s, &s->start));
    if (s->options.maximize_quality) return ITG_OK;
    itg_status status = find_cap(s, &cap);
    while (i + 1 < itg_knapsack_count(k) && itg_knapsack_at(k, i + 1)->loss <= aim * cap)
        i++;
    *out = i;
    return status;
}

/* Proposes points around the target: half of the batch on each side. */
static itg_status propose_around(itg_allocate_state *s, const problem *p)
{
    const int32_t count = itg_knapsack_count(&p->solution), batch = ITG_ALLOCATE_BATCH;
    int32_t target = 0;
    itg_status status = find_target(s, &p->solution, 1, &target);
    for (int32_t i = target; i >= 0 && s->batch_count < batch / 2 && target - i < batch; i--)
        propose(s, p, i);
    for (int32_t i = target + 1; i < count && s->batch_count < batch && i - target < batch; i++)
        propose(s, p, i);
    return status;
}

static itg_status solve_list(itg_allocate_state *s, problem *p)
{
    int32_t longest = MOST_CHOICES / (p->groups + 1);
    itg_error ignored;
    itg_status status = itg_knapsack_solve(p->items, p->first, p->groups,
                                           longest > 64 ? longest : 64, &p->solution, &ignored);
    if (status != ITG_OK) return status;
    const itg_knapsack *k = &p->solution;
    double range =
        itg_knapsack_at(k, 0)->cost - itg_knapsack_at(k, itg_knapsack_count(k) - 1)->cost;
    s->gap = range > 0 ? k->gap / range : 0;
    return ITG_OK;
}

static itg_status solve_knapsack(itg_allocate_state *s, problem *p)
{
    itg_status status = solve_list(s, p);
    if (status == ITG_OK && s->stage == ITG_ALLOCATE_SOLUTION) return propose_around(s, p);
    if (status == ITG_OK) propose_front(s, p);
    return status;
}

/* Proposes the target, or its nearest neighbour on either side. */
static itg_status one_of_list(itg_allocate_state *s, problem *p, double aim)
{
    int32_t target = 0;
    itg_status status = solve_list(s, p);
    if (status == ITG_OK) status = find_target(s, &p->solution, aim, &target);
    for (int32_t away = 0; status == ITG_OK && away < MOST_AWAY; away++) {
        int32_t count = itg_knapsack_count(&p->solution);
        if (target - away >= 0 && propose(s, p, target - away)) break;
        if (target + away < count && propose(s, p, target + away)) break;
    }
    return status;
}

/* ---- several limits ---- */

/* The problem in the form of choices.h. Minimizing a cost, the loss is the last limit; maximizing
 * quality, the loss is the value. */
typedef struct limited {
    itg_choices choices;
    double *numbers; /* of all lists together */
    double *loss;
    double lost; /* the largest difference between sums of losses */
} limited;

static itg_status begin_limited(const itg_allocate_state *s, const problem *p, limited *l)
{
    const int32_t count = p->first[p->groups], *from = s->beginning.best;
    const size_t size = (size_t)count + 1;
    *l = (limited){.numbers = calloc(size * ((size_t)s->use_count + 2), sizeof *l->numbers)};
    if (!l->numbers) return ITG_NO_MEMORY;
    double *cost = l->numbers + size, *use = cost + size;
    l->loss = l->numbers;
    for (int32_t i = 0; i < count; i++) {
        l->loss[i] = p->items[i].loss;
        cost[i] = p->items[i].loss < INFINITY ? p->items[i].cost : INFINITY;
        if (s->options.maximize_quality || cost[i] < INFINITY) continue;
        l->loss[i] = 0; /* such an item is never chosen; its uses must be finite */
    }
    l->choices = (itg_choices){.groups = p->groups,
                               .first = p->first,
                               .value = s->options.maximize_quality ? l->loss : cost,
                               .limits = s->use_count};
    for (int32_t k = 0; k < s->use_count; k++, use += size) {
        for (int32_t g = 0; g < p->groups; g++)
            for (int32_t i = p->first[g]; i < p->first[g + 1]; i++)
                use[i] =
                    -itg_additive_step(&s->use[k], p->dims[g], from[p->dims[g]], i - p->first[g]);
        l->choices.use[k] = use;
    }
    for (int32_t g = 0; g < p->groups; g++) {
        double most = 0;
        for (int32_t i = p->first[g]; i < p->first[g + 1]; i++)
            if (p->items[i].loss < INFINITY && p->items[i].loss > most) most = p->items[i].loss;
        l->lost += most;
    }
    if (!s->options.maximize_quality) l->choices.use[l->choices.limits++] = l->loss;
    return ITG_OK;
}

/* Solves for limits scaled by `share` and a loss of at most `cap`; adds the result to the batch. */
static itg_status propose_limited(itg_allocate_state *s, problem *p, limited *l, double share,
                                  double cap)
{
    itg_choices *c = &l->choices;
    itg_choices_answer answer;
    itg_error ignored;
    double lost = 0;
    for (int32_t k = 0; k < s->use_count; k++)
        c->most[k] = share - s->start.limits[k];
    if (!s->options.maximize_quality) c->most[s->use_count] = cap;
    itg_status status = itg_choices_solve(c, MOST_NODES, p->chosen, &answer, &ignored);
    if (status != ITG_OK) return status;
    for (int32_t g = 0; g < p->groups; g++)
        lost += l->loss[p->first[g] + p->chosen[g]];
    if (answer.found) s->gap = answer.gap > 0 ? answer.gap / (fabs(answer.value) + answer.gap) : 0;
    add_chosen(s, p, lost);
    return ITG_OK;
}

/* Solves for the wanted shares, then for slightly larger and smaller ones in turn. */
static itg_status one_limited(itg_allocate_state *s, problem *p, double aim, double used)
{
    limited l;
    double cap = INFINITY;
    const int32_t before = s->batch_count;
    itg_status status = begin_limited(s, p, &l);
    if (status == ITG_OK && !s->options.maximize_quality) status = find_cap(s, &cap);
    if (isinf(cap)) cap = l.lost;
    for (int i = 0; i < MOST_TRIES && status == ITG_OK && s->batch_count == before; i++) {
        double by = 1 + (i % 2 ? -STEP : STEP) * ((i + 1) / 2);
        if (s->options.maximize_quality)
            status = propose_limited(s, p, &l, used * by, cap);
        else
            status = propose_limited(s, p, &l, used, aim * by * cap);
    }
    free(l.numbers);
    return status;
}

/* A peak of memory is not an exact sum of terms, so a point slightly beyond the limit may keep it.
 */
static const double shares[] = {1, 0.99, 1.01, 0.98, 1.02, 0.96, 0.94, 0.9};
static const double caps[] = {1,    0.97, 1.03, 0.94, 1.06, 0.9, 1.1, 0.85,
                              1.15, 0.8,  1.2,  0.7,  1.3,  0.6, 1.5, 0.5};

static itg_status solve_limited(itg_allocate_state *s, problem *p)
{
    const bool maximize = s->options.maximize_quality;
    const size_t most = maximize ? sizeof shares / sizeof *shares : sizeof caps / sizeof *caps;
    limited l;
    double cap = INFINITY, part = 1;
    itg_status status = begin_limited(s, p, &l);
    if (status == ITG_OK && s->stage == ITG_ALLOCATE_SOLUTION && !maximize)
        status = find_cap(s, &cap);
    for (size_t i = 0; i < most && status == ITG_OK && s->batch_count < ITG_ALLOCATE_BATCH; i++) {
        if (maximize)
            status = propose_limited(s, p, &l, shares[i], INFINITY);
        else
            status = propose_limited(s, p, &l, 1, cap < INFINITY ? caps[i] * cap : l.lost * part);
        part /= 2;
    }
    free(l.numbers);
    return status;
}

itg_status itg_allocate_propose(itg_allocate_state *s)
{
    problem p;
    bool is_front = s->stage == ITG_ALLOCATE_FRONT;
    itg_status status = begin(s, &p);
    if (status == ITG_OK &&
        (is_front || (double)s->stalled < s->options.parameters[ITG_ALLOCATE_PATIENCE]))
        status = s->is_limited ? solve_limited(s, &p) : solve_knapsack(s, &p);
    free_problem(&p);
    s->stage = is_front || s->batch_count > 0 ? ITG_ALLOCATE_SOLUTION : ITG_ALLOCATE_END;
    return status;
}

itg_status itg_allocate_propose_one(itg_allocate_state *s, double aim, double used)
{
    problem p;
    itg_status status = begin(s, &p);
    if (status == ITG_OK)
        status = s->is_limited ? one_limited(s, &p, aim, used)
                               : one_of_list(s, &p, s->options.maximize_quality ? used : aim);
    free_problem(&p);
    return status;
}
