/* Reads a run of the log with its trials and finds the trials at which its best improved. */
#include "cli/runs.h"
#include <stdlib.h>

/* ---- how the best came about ---- */

/* Breaks ties as the engine does (docs/decisions.md), except by bits, which decide last. */

static double cost_of(const itg_goal *goal, const itg_score *score)
{
    double largest = 0;
    if (!itg_goal_maximizes_quality(goal)) return score->value[itg_goal_objective(goal)];
    for (int i = 0; i < ITG_METRIC_COUNT; i++) {
        double limit = itg_goal_limit(goal, (itg_metric)i), cost = score->value[i];
        if (limit > 0 && cost / limit > largest) largest = cost / limit;
    }
    return largest;
}

static bool is_better(const itg_goal *goal, const itg_score *a, const itg_score *b)
{
    double cost = cost_of(goal, a) - cost_of(goal, b);
    double quality = itg_goal_quality(goal, b) - itg_goal_quality(goal, a);
    double first = itg_goal_maximizes_quality(goal) ? quality : cost;
    double second = itg_goal_maximizes_quality(goal) ? cost : quality;
    if (first < 0 || first > 0) return first < 0;
    for (int32_t i = 1; i < goal->objective_count; i++) {
        itg_metric m = goal->objectives[i];
        double next = itg_metric_is_cost(m) ? a->value[m] - b->value[m] : quality;
        if (next < 0 || next > 0) return next < 0;
    }
    if (second < 0 || second > 0) return second < 0;
    return a->value[ITG_METRIC_DISTORTION] < b->value[ITG_METRIC_DISTORTION];
}

/* Fills *out with the float network's score on the search samples, if the floor needs it. Returns
 * false if the floor needs it and the log does not have it. */
static bool floats_of(const itg_cli_shown *s, itg_score *out)
{
    const itg_run_record *r = s->run.record;
    const itg_goal *goal = &s->run.options.goal;
    *out = itg_score_unknown();
    out->value[ITG_METRIC_AGREEMENT] = 1;
    if (r->known[ITG_RESULT_SEARCH_FLOAT]) *out = r->result[ITG_RESULT_SEARCH_FLOAT];
    bool needed = itg_goal_drop(goal) >= 0 && (s->labelled || !itg_goal_counts_classes(goal));
    return s->run.has_goal && (r->known[ITG_RESULT_SEARCH_FLOAT] || !needed);
}

static bool find_steps(itg_cli_shown *s)
{
    const itg_trial *best = NULL;
    itg_score floats;
    s->steps = malloc(sizeof *s->steps * ((size_t)s->count + 2));
    if (!s->steps) return false;
    for (int64_t i = 0; i < s->count && !s->labelled; i++)
        s->labelled = itg_score_knows(&s->trials[i].score, ITG_METRIC_TOP1);
    s->floor_known = floats_of(s, &floats);
    for (int64_t i = 0; i < s->count; i++) {
        const itg_trial *t = &s->trials[i];
        s->feasible += t->feasible;
        s->seconds += t->seconds;
        if (t->score.stopped_at > 0) continue; /* it was no better */
        if (!s->floor_known || !t->feasible || !itg_goal_is_met(&s->kept, &floats, &t->score))
            continue;
        if (best && !is_better(&s->kept, &t->score, &best->score)) continue;
        best = t;
        s->steps[s->step_count++] = i;
    }
    /* equal in all that was looked at, fewer bits in all */
    int64_t last = s->run.record->best_trial;
    if (s->run.record->goal_met && last >= 0 && last < s->count && s->step_count > 0 &&
        s->steps[s->step_count - 1] != last)
        s->steps[s->step_count++] = last;
    return true;
}

/* ---- reading ---- */

itg_status itg_cli_shown_read(itg_cli_shown *s, itg_run_log *log, int64_t run, itg_error *err)
{
    itg_status status = itg_cli_logged_read(log, run, &s->run, err);
    if (status == ITG_OK) s->kept = itg_cli_logged_goal(&s->run);
    if (status == ITG_OK) status = itg_run_log_load_trials(log, run, &s->trials, &s->count, err);
    if (status == ITG_OK && !find_steps(s))
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    if (status != ITG_OK) return status;
    int64_t best = s->run.record->best_trial;
    if (best < 0 || best >= s->count) return ITG_OK;
    return itg_run_choices_read(s->run.record, &s->trials[best], &s->choices, err);
}

void itg_cli_shown_close(itg_cli_shown *s)
{
    itg_run_choices_destroy(s->choices);
    free(s->steps);
    itg_run_log_free_trials(s->trials, s->count);
    itg_cli_logged_close(&s->run);
}
