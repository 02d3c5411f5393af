#include "search/choices.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 400     /* of subgradients */
#define FIRST_STEP 2.0 /* in units of the range of values by that of the limit's uses */
#define COOLING 0.98   /* of the step, each round */
#define SLACK 1e-9     /* of sums, as a share of their range: they are rounded */

typedef struct solver {
    const itg_choices *c;
    int32_t *items;                     /* of the answer */
    int32_t *tried;                     /* [groups]: by group, of the point under way */
    int32_t *order;                     /* [groups]: what is branched on first */
    int32_t *rank;                      /* [items]: places in a group, by reduced value */
    double *reduced;                    /* [items] */
    double *rest;                       /* [groups + 1]: least reduced value from there on */
    double *least;                      /* [limits][groups + 1]: least use from there on */
    double ranges[ITG_MOST_LIMITS];     /* of the uses' sums; 0: the limit is not looked at */
    double multiplier[ITG_MOST_LIMITS]; /* of the best bound */
    double range;                       /* of the values' sums */
    double bound;                       /* the best; -INFINITY: none */
    double constant;                    /* what the multipliers take from it */
    double best;                        /* of the incumbent; INFINITY: there is none */
    int64_t nodes;
    bool stopped;
} solver;

static bool is_allowed(const solver *s, int32_t item)
{
    return s->c->value[item] < INFINITY;
}

/* Returns the largest sum less the smallest that any choice of allowed items can have. */
static double range_of(const solver *s, const double *number)
{
    double sum = 0;
    for (int32_t g = 0; g < s->c->groups; g++) {
        double low = INFINITY, high = -INFINITY;
        for (int32_t i = s->c->first[g]; i < s->c->first[g + 1]; i++) {
            if (!is_allowed(s, i)) continue;
            low = number[i] < low ? number[i] : low;
            high = number[i] > high ? number[i] : high;
        }
        sum += high - low;
    }
    return sum;
}

static itg_status prepare(solver *s, itg_error *err)
{
    for (int32_t g = 0; g < s->c->groups; g++) {
        bool any = false;
        for (int32_t i = s->c->first[g]; i < s->c->first[g + 1]; i++)
            any |= is_allowed(s, i);
        if (!any) return itg_fail(err, ITG_BAD_ARGUMENT, "a choice has no width that can be run");
    }
    s->range = range_of(s, s->c->value);
    for (int32_t k = 0; k < s->c->limits; k++)
        s->ranges[k] = s->c->most[k] < INFINITY ? range_of(s, s->c->use[k]) : 0;
    return ITG_OK;
}

/* ---- the bound ---- */

static double reduced_of(const solver *s, int32_t item, const double *multiplier)
{
    double sum = s->c->value[item];
    for (int32_t k = 0; k < s->c->limits; k++)
        if (multiplier[k] > 0) sum += multiplier[k] * s->c->use[k][item];
    return sum;
}

/* The best choice for these multipliers; excess: by how much its uses are above the limits. */
static double relax(solver *s, const double *multiplier, double *excess)
{
    double sum = 0;
    for (int32_t k = 0; k < s->c->limits; k++) {
        excess[k] = s->ranges[k] > 0 ? -s->c->most[k] : 0;
        if (multiplier[k] > 0) sum -= multiplier[k] * s->c->most[k];
    }
    for (int32_t g = 0; g < s->c->groups; g++) {
        double least = INFINITY;
        int32_t at = -1;
        for (int32_t i = s->c->first[g]; i < s->c->first[g + 1]; i++) {
            if (!is_allowed(s, i)) continue;
            double reduced = reduced_of(s, i, multiplier);
            if (at >= 0 && reduced >= least) continue;
            least = reduced;
            at = i;
        }
        sum += least;
        s->tried[g] = at - s->c->first[g];
        for (int32_t k = 0; k < s->c->limits; k++)
            if (s->ranges[k] > 0) excess[k] += s->c->use[k][at];
    }
    return sum;
}

static void find_multipliers(solver *s)
{
    double multiplier[ITG_MOST_LIMITS] = {0}, excess[ITG_MOST_LIMITS];
    double step = FIRST_STEP;
    s->bound = -INFINITY;
    for (int32_t round = 0; round < ROUNDS; round++, step *= COOLING) {
        double bound = relax(s, multiplier, excess);
        if (bound > s->bound) {
            s->bound = bound;
            memcpy(s->multiplier, multiplier, sizeof multiplier);
        }
        for (int32_t k = 0; k < s->c->limits; k++) {
            if (!(s->ranges[k] > 0)) continue;
            double unit = s->range > 0 ? s->range / s->ranges[k] : 1;
            multiplier[k] += step * unit * (excess[k] / s->ranges[k]);
            if (!(multiplier[k] > 0)) multiplier[k] = 0;
        }
    }
    memcpy(s->items, s->tried, sizeof *s->items * (size_t)s->c->groups);
}

/* ---- branch and bound ---- */

static double spread_of(const solver *s, int32_t g)
{
    double low = INFINITY, high = -INFINITY;
    for (int32_t i = s->c->first[g]; i < s->c->first[g + 1]; i++) {
        if (!is_allowed(s, i)) continue;
        low = s->reduced[i] < low ? s->reduced[i] : low;
        high = s->reduced[i] > high ? s->reduced[i] : high;
    }
    return high - low;
}

/* Items of each group by rising reduced value, those that are not allowed last. */
static void rank_items(solver *s)
{
    for (int32_t g = 0; g < s->c->groups; g++) {
        const int32_t begin = s->c->first[g], end = s->c->first[g + 1];
        for (int32_t i = begin; i < end; i++) {
            int32_t at = i;
            s->reduced[i] = is_allowed(s, i) ? reduced_of(s, i, s->multiplier) : INFINITY;
            while (at > begin && s->reduced[begin + s->rank[at - 1]] > s->reduced[i]) {
                s->rank[at] = s->rank[at - 1];
                at--;
            }
            s->rank[at] = i - begin;
        }
    }
}

/* The groups that decide most come first; sums of what is least behind each. */
static itg_status order_groups(solver *s)
{
    const int32_t groups = s->c->groups;
    double *spread = malloc(((size_t)groups + 1) * sizeof *spread);
    if (!spread) return ITG_NO_MEMORY;
    for (int32_t g = 0; g < groups; g++) {
        int32_t at = g;
        spread[g] = spread_of(s, g);
        while (at > 0 && spread[s->order[at - 1]] < spread[g]) {
            s->order[at] = s->order[at - 1];
            at--;
        }
        s->order[at] = g;
    }
    free(spread);
    s->rest[groups] = 0;
    for (int32_t d = groups - 1; d >= 0; d--) {
        const int32_t g = s->order[d], begin = s->c->first[g];
        s->rest[d] = s->rest[d + 1] + s->reduced[begin + s->rank[begin]];
        for (int32_t k = 0; k < s->c->limits; k++) {
            double *least = s->least + (size_t)k * ((size_t)groups + 1);
            double low = INFINITY;
            for (int32_t i = begin; i < s->c->first[g + 1]; i++)
                if (is_allowed(s, i) && s->c->use[k][i] < low) low = s->c->use[k][i];
            least[groups] = 0;
            least[d] = least[d + 1] + low;
        }
    }
    return ITG_OK;
}

static bool fits(const solver *s, int32_t depth, const double *used)
{
    for (int32_t k = 0; k < s->c->limits; k++) {
        const double *least = s->least + (size_t)k * ((size_t)s->c->groups + 1);
        if (s->c->most[k] < INFINITY &&
            used[k] + least[depth] > s->c->most[k] + SLACK * s->ranges[k])
            return false;
    }
    return true;
}

/* Sums the values in the order of the groups: branching adds them in another, and rounds
 * differently. */
static double value_of(const solver *s, const int32_t *items)
{
    double sum = 0;
    for (int32_t g = 0; g < s->c->groups; g++)
        sum += s->c->value[s->c->first[g] + items[g]];
    return sum;
}

static void branch(solver *s, int32_t depth, double reduced, const double *used)
{
    if (depth == s->c->groups) {
        double value = value_of(s, s->tried);
        if (!(value < s->best)) return;
        s->best = value;
        memcpy(s->items, s->tried, sizeof *s->items * (size_t)s->c->groups);
        return;
    }
    const int32_t g = s->order[depth], begin = s->c->first[g];
    for (int32_t r = begin; r < s->c->first[g + 1] && !s->stopped; r++) {
        const int32_t i = begin + s->rank[r];
        double next[ITG_MOST_LIMITS];
        double sum = reduced + s->reduced[i];
        /* All that follow are worse. */
        if (!(sum + s->rest[depth + 1] + s->constant < s->best - SLACK * SLACK * s->range)) return;
        if (s->nodes-- == 0) {
            s->stopped = true;
            return;
        }
        for (int32_t k = 0; k < s->c->limits; k++)
            next[k] = used[k] + s->c->use[k][i];
        if (!fits(s, depth + 1, next)) continue;
        s->tried[g] = i - begin;
        branch(s, depth + 1, sum, next);
    }
}

static itg_status solve(solver *s, int64_t most_nodes, itg_choices_answer *out, itg_error *err)
{
    const double none[ITG_MOST_LIMITS] = {0};
    itg_status status = prepare(s, err);
    if (status != ITG_OK) return status;
    find_multipliers(s);
    rank_items(s);
    if (order_groups(s) != ITG_OK)
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the choice of widths");
    for (int32_t k = 0; k < s->c->limits; k++)
        if (s->multiplier[k] > 0) s->constant -= s->multiplier[k] * s->c->most[k];
    s->best = INFINITY;
    s->nodes = most_nodes;
    if (fits(s, 0, none)) branch(s, 0, 0, none);
    out->found = s->best < INFINITY;
    out->value = value_of(s, s->items);
    out->gap = s->stopped && s->best > s->bound ? s->best - s->bound : 0;
    return ITG_OK;
}

itg_status itg_choices_solve(const itg_choices *c, int64_t most_nodes, int32_t *items,
                             itg_choices_answer *out, itg_error *err)
{
    const size_t groups = (size_t)c->groups + 1, count = (size_t)c->first[c->groups] + 1;
    solver s = {.c = c,
                .items = items,
                .tried = calloc(groups, sizeof(int32_t)),
                .order = calloc(groups, sizeof(int32_t)),
                .rank = calloc(count, sizeof(int32_t)),
                .reduced = calloc(count, sizeof(double)),
                .rest = calloc(groups, sizeof(double)),
                .least = calloc(groups * ((size_t)c->limits + 1), sizeof(double))};
    itg_status status = s.tried && s.order && s.rank && s.reduced && s.rest && s.least
                            ? solve(&s, most_nodes, out, err)
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for the choice of widths");
    free(s.tried);
    free(s.order);
    free(s.rank);
    free(s.reduced);
    free(s.rest);
    free(s.least);
    return status;
}
