/* The figures of a trial as the page of a run shows them. */
#include "cli/report_run.h"
#include <math.h>
#include <stdio.h>

const itg_goal *run_report_goal(const run_report *s)
{
    return &s->shown.run.options.goal;
}

double run_report_quality(const run_report *s, const itg_score *score)
{
    const itg_goal *goal = run_report_goal(s);
    if (!itg_cli_knows_quality(goal, score)) return NAN;
    if (score->stopped_at > 0 && itg_goal_counts_classes(goal))
        return itg_goal_quality(goal, score);
    double quality = itg_score_get(score, itg_cli_counted(goal, score));
    return itg_goal_quality_metric(goal) == ITG_METRIC_SQNR ? fmin(quality, ITG_MOST_SQNR_DB)
                                                            : quality;
}

const char *run_report_trial(const run_report *s, const itg_trial *t, char out[RUN_REPORT_WORDS])
{
    const itg_metric_info *cost = itg_metric_about(s->cost);
    char number[32], text[64];
    double lo = 0, hi = 0;
    snprintf(out, RUN_REPORT_WORDS, "trial %lld: %s %s, %s%s %s", (long long)t->index,
             itg_cli_unit_text(cost->unit, itg_score_get(&t->score, s->cost), number), cost->words,
             s->quality, t->score.stopped_at > 0 ? " at most" : "",
             itg_cli_quality_text(run_report_goal(s), &t->score, text, sizeof text));
    if (t->score.stopped_at == 0 && itg_cli_top1_interval(&t->score, &lo, &hi))
        itg_cli_append(out, RUN_REPORT_WORDS, " (%.2f to %.2f)", 100 * lo, 100 * hi);
    return out;
}

static double largest_cost(const run_report *s)
{
    double largest = 0;
    for (int64_t i = 0; i < s->shown.count; i++)
        largest = fmax(largest, itg_score_get(&s->shown.trials[i].score, s->cost));
    return largest;
}

itg_axis run_report_cost_axis(const run_report *s, char title[96])
{
    const itg_metric_info *cost = itg_metric_about(s->cost);
    return itg_report_axis(cost->words, cost->unit, largest_cost(s), title);
}

itg_axis run_report_quality_axis(const run_report *s, char title[96])
{
    itg_unit unit =
        itg_goal_about(run_report_goal(s), itg_goal_quality_metric(run_report_goal(s))).unit;
    return itg_report_axis(s->quality, unit, 0, title);
}

double run_report_float(const run_report *s)
{
    const itg_run_record *r = s->shown.run.record;
    bool is_sqnr = itg_goal_quality_metric(run_report_goal(s)) == ITG_METRIC_SQNR;
    return is_sqnr || !r->known[ITG_RESULT_SEARCH_FLOAT]
               ? NAN
               : run_report_quality(s, &r->result[ITG_RESULT_SEARCH_FLOAT]);
}

double run_report_least(const run_report *s)
{
    const double floats = run_report_float(s), drop = itg_goal_drop(run_report_goal(s));
    if (!itg_goal_counts_classes(run_report_goal(s)) || !(drop >= 0) || isnan(floats))
        return -INFINITY;
    return floats - 6 * fmax(drop, 0.01);
}
