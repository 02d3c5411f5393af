/* Evolution of a front: NSGA-II (Deb, Pratap, Agarwal, Meyarivan 2002, A Fast and Elitist
 * Multiobjective Genetic Algorithm). Members are ranked by which others dominate them, and within a
 * rank by how far their neighbours are; parents and children compete for the places of the next
 * generation. Constrained domination as there: what can be run before what cannot, then the smaller
 * violation of limits, then objectives.
 *
 * Departures: the first generation holds the widest point, and points about one level each, from
 * wide to narrow, as points drawn uniformly crowd in the middle of all costs. Children take each
 * dimension from one of two parents at random (uniform crossover), and a child that was asked for
 * before is changed again. With one objective the floor of quality is a constraint. */
#include "search/history.h"
#include "search/points.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POPULATION, CROSSOVER, MUTATION };
static const itg_searcher_parameter parameters[] = {
    [POPULATION] = {"population", 32, 4, 1024, true, "the members of a generation"},
    [CROSSOVER] = {"crossover", 0.9, 0, 1, false, "the share of children with two parents"},
    [MUTATION] = {"mutation", 1, 0.01, 1e6, false,
                  "the dimensions of a child that change, on average"},
    {0}};

#define ATTEMPTS 16 /* tries to make a child that was not asked for before */

typedef struct member {
    int32_t *levels;
    itg_outcome outcome;
    double constraint; /* by how much limits are exceeded; 0: not at all */
    int32_t rank;      /* the number of its front, from 0 */
    double crowding;   /* the larger, the further its neighbours are */
    int32_t number;    /* breaks ties */
} member;

typedef struct evolve_state {
    const itg_search_space *space;
    itg_searcher_options options;
    member *members; /* [2 * population]: parents, then children */
    int32_t population, parents, children, asked, told;
    int32_t numbered, movable;
    double points;    /* of the space */
    itg_history seen; /* points that were asked for, each once; no outcomes */
} evolve_state;

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    evolve_state *s = state;
    s->space = space;
    s->options = *options;
    s->population = (int32_t)options->parameters[POPULATION];
    s->seen = itg_history_of(space->dim_count);
    s->points = 1;
    for (int32_t d = 0; d < space->dim_count; d++) {
        s->movable += space->dims[d].count > 1;
        s->points *= space->dims[d].count;
    }
    s->members = calloc(2 * (size_t)s->population, sizeof *s->members);
    bool ok = s->members != NULL;
    for (int32_t i = 0; ok && i < 2 * s->population; i++) {
        s->members[i].levels = calloc((size_t)space->dim_count + 1, sizeof(int32_t));
        ok = s->members[i].levels != NULL;
    }
    return ok ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for evolve");
}

static void deinit(void *state)
{
    evolve_state *s = state;
    for (int32_t i = 0; s->members && i < 2 * s->population; i++)
        free(s->members[i].levels);
    free(s->members);
    itg_point_map_deinit(&s->seen);
}

/* ---- ranking ---- */

static double constraint_of(const evolve_state *s, const itg_outcome *o)
{
    double sum = o->violation;
    if (s->options.front) return sum;
    if (o->quality < s->options.quality_floor) sum += s->options.quality_floor - o->quality;
    if (s->options.maximize_quality && o->cost > s->options.cost_limit)
        sum += o->cost - s->options.cost_limit;
    return sum;
}

static bool dominates(const member *a, const member *b)
{
    bool better = false;
    if (!a->outcome.feasible || !b->outcome.feasible)
        return a->outcome.feasible && !b->outcome.feasible;
    if (a->constraint > 0 || b->constraint > 0) return a->constraint < b->constraint;
    for (int32_t i = 0; i < a->outcome.objective_count; i++) {
        if (a->outcome.objectives[i] > b->outcome.objectives[i]) return false;
        better = better || a->outcome.objectives[i] < b->outcome.objectives[i];
    }
    return better;
}

/* Ranks the members: a front has those that no member without a rank dominates. */
static void rank(member *members, int32_t count)
{
    int32_t ranked = 0;
    for (int32_t i = 0; i < count; i++)
        members[i].rank = -1;
    for (int32_t front = 0; ranked < count; front++) {
        for (int32_t i = 0; i < count; i++) {
            bool behind = members[i].rank >= 0;
            for (int32_t k = 0; k < count && !behind; k++)
                behind = (members[k].rank < 0 || members[k].rank == front) &&
                         dominates(&members[k], &members[i]);
            if (behind) continue;
            members[i].rank = front;
            ranked++;
        }
    }
}

/* The distance between the next larger and the next smaller value of the same front, as a share of
 * the whole range. */
static double gap_of(const member *members, int32_t count, int32_t at, int32_t objective)
{
    const double value = members[at].outcome.objectives[objective];
    double above = INFINITY, below = -INFINITY, low = value, high = value;
    for (int32_t i = 0; i < count; i++) {
        const double other = members[i].outcome.objectives[objective];
        if (members[i].rank != members[at].rank || !members[i].outcome.feasible) continue;
        low = fmin(low, other);
        high = fmax(high, other);
        if (i == at) continue;
        bool after = other > value || (other == value && members[i].number > members[at].number);
        if (after)
            above = fmin(above, other);
        else
            below = fmax(below, other);
    }
    if (isinf(above) || isinf(below)) return INFINITY;
    return high > low ? (above - below) / (high - low) : 0;
}

static void crowd(member *members, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        members[i].crowding = 0;
        for (int32_t k = 0; k < members[i].outcome.objective_count; k++)
            members[i].crowding += gap_of(members, count, i, k);
    }
}

static int compare(const member *a, const member *b)
{
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->crowding > b->crowding || a->crowding < b->crowding)
        return a->crowding > b->crowding ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static int compare_members(const void *a, const void *b)
{
    return compare(a, b);
}

/* Selects the best of parents and children as the next parents. */
static void select_parents(evolve_state *s)
{
    int32_t count = s->parents + s->children;
    rank(s->members, count);
    crowd(s->members, count);
    qsort(s->members, (size_t)count, sizeof *s->members, compare_members);
    s->parents = count < s->population ? count : s->population;
}

/* ---- children ---- */

static int32_t below(itg_rng *rng, int32_t count)
{
    return (int32_t)itg_rng_below(rng, (uint64_t)count);
}

static void change_dim(const itg_dim *dim, itg_rng *rng, int32_t *level)
{
    if (!dim->ordered) {
        *level = (*level + 1 + below(rng, dim->count - 1)) % dim->count;
        return;
    }
    int32_t by = 1 + below(rng, 2), to = *level + (below(rng, 2) ? by : -by);
    *level = to < 0 ? 0 : to >= dim->count ? dim->count - 1 : to;
}

static void mutate(const evolve_state *s, itg_rng *rng, int32_t *levels)
{
    double share = s->options.parameters[MUTATION] / (s->movable > 0 ? s->movable : 1);
    for (int32_t d = 0; d < s->space->dim_count; d++)
        if (s->space->dims[d].count > 1 && itg_rng_unit(rng) < share)
            change_dim(&s->space->dims[d], rng, &levels[d]);
}

/* Makes a member of the first generation: all widths are lowered by about the same share of their
 * range, from none to all in turn. With a start, the start is the second member, and every other
 * member after it is a variation of it. */
static void make_first(const evolve_state *s, itg_rng *rng, int32_t which, int32_t *levels)
{
    const int32_t steps = s->population > 1 ? s->population - 1 : 1;
    if (s->options.start && which % 2 == 1) {
        memcpy(levels, s->options.start, sizeof *levels * (size_t)s->space->dim_count);
        if (which > 1) mutate(s, rng, levels);
        return;
    }
    itg_point_widest(s->space, levels);
    for (int32_t d = 0; d < s->space->dim_count && which > 0; d++) {
        const itg_dim *dim = &s->space->dims[d];
        if (dim->ordered)
            levels[d] = (int32_t)((int64_t)(dim->count - 1) * (steps - which) / steps);
        else
            levels[d] = below(rng, dim->count);
    }
    if (which > 0) mutate(s, rng, levels);
}

static const member *tournament(const evolve_state *s, itg_rng *rng)
{
    const member *a = &s->members[below(rng, s->parents)], *b = &s->members[below(rng, s->parents)];
    return compare(a, b) <= 0 ? a : b;
}

static void make_child(const evolve_state *s, itg_rng *rng, int32_t *levels)
{
    const member *a = tournament(s, rng), *b = tournament(s, rng);
    bool crosses = itg_rng_unit(rng) < s->options.parameters[CROSSOVER];
    for (int32_t d = 0; d < s->space->dim_count; d++)
        levels[d] = crosses && below(rng, 2) ? b->levels[d] : a->levels[d];
    mutate(s, rng, levels);
}

static void make_new(const evolve_state *s, itg_rng *rng, int32_t *levels)
{
    if (s->parents > 0)
        make_child(s, rng, levels);
    else
        make_first(s, rng, s->asked, levels);
    for (int i = 0; i < ATTEMPTS && itg_point_map_find(&s->seen, levels) >= 0; i++)
        mutate(s, rng, levels);
}

/* ---- ask and tell ---- */

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    evolve_state *s = state;
    const itg_outcome none = {0};
    (void)interest;
    if ((double)s->seen.count >= s->points) return ITG_END;
    if (s->asked == s->population) return ITG_WAIT;
    member *child = &s->members[s->parents + s->asked];
    make_new(s, rng, child->levels);
    s->asked++;
    memcpy(levels, child->levels, sizeof *levels * (size_t)s->space->dim_count);
    return itg_point_map_find(&s->seen, levels) >= 0 ? ITG_OK
                                                     : itg_history_add(&s->seen, levels, &none);
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    evolve_state *s = state;
    member *child = &s->members[s->parents + s->told++];
    (void)levels;
    child->outcome = *outcome;
    child->constraint = outcome->feasible ? constraint_of(s, outcome) : INFINITY;
    child->number = s->numbered++;
    s->children = s->told;
    if (s->told < s->population) return ITG_OK;
    select_parents(s);
    s->asked = s->told = s->children = 0;
    return ITG_OK;
}

const itg_searcher_def itg_searcher_evolve = {
    .name = "evolve",
    .help = "NSGA-II: evolves the front of all objectives, 400 trials",
    .parameters = parameters,
    .state_size = sizeof(evolve_state),
    .outstanding = 16,
    .default_trials = 400,
    .takes_start = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .deinit = deinit};
