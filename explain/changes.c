/* Finds changes that lessen the largest effects: other thresholds, other widths, codes by
 * reconstruction.
 *
 * Each change is evaluated on all samples. The one that lessens the loss most is taken, except that
 * a change without cost is preferred if it lessens the loss at least half as much. Then the changes
 * are combined in the order of their effects, and each is kept if it lessens the loss further. */
#include "explain/changes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHANGES = 6 };
#define LEAST_SHARE 0.01

static double loss_of(const itg_score *score)
{
    return score->value[ITG_METRIC_DISTORTION];
}

/* Whether the program is proven never to overflow. */
static itg_status prove(changing *c, const itg_annotated *a, bool *out)
{
    itg_program *program = NULL;
    itg_error why = {0};
    const itg_realize_options options = {.version = ITG_REALIZE_OPTIONS_VERSION};
    itg_status status = itg_realize_program(a, &options, &program, &why);
    itg_program_destroy(program);
    if (status == ITG_NO_MEMORY) return itg_fail(c->x->err, status, "%s", why.message);
    *out = status == ITG_OK;
    return ITG_OK;
}

/* ---- one change ---- */

static bool same_choice(const itg_edge_choice *a, const itg_edge_choice *b)
{
    return a->bits == b->bits && a->lo == b->lo && a->hi == b->hi &&
           a->channel_count == b->channel_count && a->codes == b->codes &&
           (a->channel_count == 0 ||
            memcmp(a->channel, b->channel, sizeof *a->channel * (size_t)a->channel_count) == 0);
}

/* Copies the group's edges from `from` to `to`. *differs: one of them differed. */
static itg_status take_group(const changing *c, int32_t group, const itg_strategy *from,
                             itg_strategy *to, bool *differs)
{
    const itg_choice_group *g = &c->space->groups[group];
    itg_status status = ITG_OK;
    *differs = false;
    for (int32_t i = 0; i < g->edge_count && status == ITG_OK; i++) {
        const itg_edge_choice *edge = &from->edges[g->edges[i]];
        *differs |= !same_choice(edge, &to->edges[g->edges[i]]);
        status = itg_strategy_set_edge(to, g->edges[i], edge, c->x->err);
    }
    return status;
}

/* Whether no cost that a user pays is higher than in the strategy. */
static bool is_free(const changing *c, const itg_score *score)
{
    static const itg_metric costs[] = {ITG_METRIC_WEIGHT_BYTES, ITG_METRIC_PARAMETER_BYTES,
                                       ITG_METRIC_BOPS, ITG_METRIC_CYCLES,
                                       ITG_METRIC_PEAK_ACTIVATION_BYTES};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        if (score->value[costs[i]] > c->x->all.base.value[costs[i]]) return false;
    return true;
}

static bool is_better(const changing *c, const found_change *a, const found_change *b)
{
    double base = loss_of(&c->x->all.base), gain = base - loss_of(&a->score),
           other = b->strategy ? base - loss_of(&b->score) : 0;
    if (!(gain > 0)) return false;
    if (!b->strategy) return true;
    bool free_a = is_free(c, &a->score), free_b = is_free(c, &b->score);
    if (free_a != free_b) return free_a ? gain >= other / 2 : gain > other * 2;
    return gain > other;
}

/* Measures a change and keeps it if it is the best. Takes ownership of the strategy. */
static itg_status consider(changing *c, found_change *change)
{
    bool runs = false;
    itg_status status =
        explain_measure_strategy(c->x, change->strategy, !c->is_bounded, &runs, &change->score);
    if (status == ITG_OK && runs) c->tried++;
    if (status == ITG_OK && runs && is_better(c, change, &c->best)) {
        found_change before = c->best;
        c->best = *change;
        *change = before;
    }
    itg_strategy_destroy(change->strategy);
    return status;
}

itg_status changes_consider(changing *c, int32_t group, const itg_strategy *from, const char *text)
{
    found_change change = {.group = group};
    bool differs = false;
    itg_status status = itg_strategy_clone(c->x->file->strategy, &change.strategy, c->x->err);
    if (status != ITG_OK) return status;
    snprintf(change.text, sizeof change.text, "%s", text);
    status = take_group(c, group, from, change.strategy, &differs);
    if (status == ITG_OK && differs) return consider(c, &change);
    itg_strategy_destroy(change.strategy);
    return status;
}

/* ---- all ---- */

static itg_status look_for_change(changing *c, itg_effect_report *r)
{
    c->tried = 0;
    itg_status status = changes_list(c, r);
    r->tried = c->tried;
    if (status == ITG_OK && c->best.strategy) {
        r->change = itg_arena_strdup(c->x->e->arena, c->best.text);
        r->changed = c->best.score;
        if (!r->change) status = itg_fail(c->x->err, ITG_NO_MEMORY, "no memory for a change");
    }
    return status;
}

/* Applies a change in addition to those that are applied already. */
static itg_status apply(changing *c, const found_change *change, itg_effect_report *r)
{
    itg_explanation *e = c->x->e;
    itg_strategy *next = NULL;
    itg_score score;
    bool differs = false, runs = false;
    itg_status status =
        itg_strategy_clone(e->changed ? e->changed : c->x->file->strategy, &next, c->x->err);
    if (status == ITG_OK) status = take_group(c, change->group, change->strategy, next, &differs);
    if (status == ITG_OK && differs)
        status = explain_measure_strategy(c->x, next, !c->is_bounded, &runs, &score);
    if (status == ITG_OK && runs && loss_of(&score) < loss_of(&e->info.changed)) {
        itg_strategy *before = e->changed;
        e->changed = next;
        e->info.changed = score;
        e->info.applied++;
        r->is_applied = true;
        next = before;
    }
    itg_strategy_destroy(next);
    return status;
}

static int32_t count_wanted(const explaining *x)
{
    int32_t most = x->o->most_changes > 0 ? x->o->most_changes : MOST_CHANGES, count = 0;
    while (count < x->e->count && count < most && x->e->effects[count].share >= LEAST_SHARE)
        count++;
    return count;
}

itg_status explain_changes(explaining *x)
{
    changing c = {.x = x};
    int32_t count = count_wanted(x);
    itg_status status = changes_begin(&c);
    if (status == ITG_OK) status = prove(&c, x->a, &c.is_bounded);
    for (int32_t i = 0; i < count && status == ITG_OK; i++) {
        explain_progress(x, "changes", i, count);
        status = look_for_change(&c, &x->e->effects[i]);
        if (status == ITG_OK && c.best.strategy) status = apply(&c, &c.best, &x->e->effects[i]);
        itg_strategy_destroy(c.best.strategy);
        c.best = (found_change){0};
    }
    changes_end(&c);
    return status;
}
