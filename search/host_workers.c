/* Makes the calling program's evaluator workers of the engine, and gives it access to a trial
 * (intaglio.h). */
#include "search/search.h"
#include <stdlib.h>
#include <string.h>

/* ---- what the evaluator asks ---- */

const int32_t *itg_work_point(const itg_work *work, int32_t *dim_count)
{
    *dim_count = work->searching->evaluator.points->space.dim_count;
    return work->point;
}

const itg_dataset *itg_work_data(const itg_work *work)
{
    return work->searching->sets[0].data;
}

const itg_dataset *itg_work_labels(const itg_work *work)
{
    return work->searching->sets[0].labels;
}

itg_status itg_work_strategy(const itg_work *work, itg_strategy_file **out, itg_error *err)
{
    const itg_searching *s = work->searching;
    return itg_search_make_file(s, s->round, work->point, out, err);
}

void itg_work_evaluate(itg_work *work, int threads)
{
    const itg_searching *s = work->searching;
    const itg_search_hooks *h = s->hooks;
    double start = h->clock ? h->clock(h->context) : 0;
    work->status = itg_search_score_point((void *)(uintptr_t)s, work->point, work->race, threads,
                                          &work->score, &work->error);
    work->seconds = h->clock ? h->clock(h->context) - start : 0;
}

static bool is_named(const itg_goal *goal, itg_metric metric)
{
    bool named = itg_goal_objective(goal) == metric || itg_goal_constraint(goal, metric);
    for (int32_t i = 1; i < goal->objective_count; i++)
        named |= goal->objectives[i] == metric;
    return named;
}

/* The first cost that the goal needs and the score lacks; NULL: none. */
static const char *missing_cost(const itg_goal *goal, const itg_score *score)
{
    for (int m = 0; m < ITG_METRIC_COUNT; m++) {
        const itg_metric_info *about = itg_metric_about((itg_metric)m);
        if (about->needs == ITG_NEEDS_PROGRAM && is_named(goal, (itg_metric)m) &&
            !itg_score_knows(score, (itg_metric)m))
            return about->name;
    }
    return NULL;
}

void itg_work_finish(itg_work *work, itg_status status, const itg_score *score, const char *why,
                     double seconds)
{
    const char *missing =
        status == ITG_OK && score ? missing_cost(&work->searching->objective.goal, score) : NULL;
    work->status = status;
    work->seconds = seconds;
    snprintf(work->error.message, sizeof work->error.message, "%s", why ? why : "");
    if (status == ITG_OK && !score)
        work->status =
            itg_fail(&work->error, ITG_BAD_ARGUMENT, "a trial came back without a score");
    else if (missing)
        work->status = itg_fail(&work->error, ITG_BAD_ARGUMENT,
                                "a trial came back without '%s', which the goal needs", missing);
    else if (status == ITG_OK)
        work->score = *score;
}

/* ---- the engine's interface ---- */

static void submit_work(void *context, itg_work *work)
{
    itg_searching *s = context;
    const itg_search_evaluator *e = s->hooks->evaluator;
    work->searching = s;
    work->status =
        itg_fail(&work->error, ITG_BAD_ARGUMENT, "a trial came back that was not evaluated");
    e->submit(e->context, work);
}

static itg_work *wait_for_work(void *context)
{
    const itg_search_evaluator *e = ((itg_searching *)context)->hooks->evaluator;
    return e->wait(e->context);
}

static void drop_work(void *context)
{
    const itg_search_evaluator *e = ((itg_searching *)context)->hooks->evaluator;
    if (e->drop) e->drop(e->context);
}

itg_workers itg_search_host_workers(itg_searching *s)
{
    return (itg_workers){s, submit_work, wait_for_work, drop_work, NULL};
}
