#include "cli/goal.h"
#include "cli/table.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool has_limits(const itg_goal *goal)
{
    for (int i = 0; i < ITG_METRIC_COUNT; i++)
        if (itg_goal_limit(goal, (itg_metric)i) > 0) return true;
    return false;
}

const char *itg_cli_quality_name(const itg_goal *goal, bool labelled)
{
    itg_metric metric = itg_goal_quality_metric(goal);
    if (metric != ITG_METRIC_ACCURACY && metric < ITG_METRIC_COUNT)
        return metric < ITG_METRIC_USER1 ? itg_metric_about(metric)->words
                                         : goal->user[metric - ITG_METRIC_USER1].info.name;
    return metric == ITG_METRIC_SQNR ? "SQNR" : labelled ? "top-1" : "agreement";
}

bool itg_cli_same_quality(const itg_goal *a, const itg_goal *b)
{
    return strcmp(itg_goal_about(a, itg_goal_quality_metric(a)).name,
                  itg_goal_about(b, itg_goal_quality_metric(b)).name) == 0;
}

bool itg_cli_knows_quality(const itg_goal *goal, const itg_score *score)
{
    return itg_score_knows(score, itg_goal_quality_metric(goal));
}

itg_metric itg_cli_counted(const itg_goal *goal, const itg_score *score)
{
    itg_metric quality = itg_goal_quality_metric(goal);
    bool bounded = quality == ITG_METRIC_ACCURACY && itg_score_knows(score, ITG_METRIC_TOP1);
    return bounded ? ITG_METRIC_TOP1 : quality;
}

const char *itg_cli_quality_text(const itg_goal *goal, const itg_score *score, char *out,
                                 size_t size)
{
    itg_metric metric = itg_goal_quality_metric(goal);
    double quality = 100 * itg_goal_quality(goal, score);
    char text[32];
    if (!itg_cli_knows_quality(goal, score))
        snprintf(out, size, "-");
    else if (metric == ITG_METRIC_SQNR)
        snprintf(out, size, quality >= ITG_MOST_SQNR_DB ? "exact" : "%.2f dB", quality);
    else
        snprintf(out, size, "%s",
                 itg_cli_unit_text(itg_goal_about(goal, metric).unit,
                                   itg_score_get(score, itg_cli_counted(goal, score)), text));
    return out;
}

bool itg_cli_goal_has_front(const itg_goal *goal)
{
    return goal->objective_count > 1 &&
           !itg_metric_is_cost(goal->objectives[goal->objective_count - 1]);
}

const char *itg_cli_held_words(bool met, bool holds)
{
    return !met    ? "NOT met"
           : holds ? "met on the search samples and on the hold-out"
                   : "met on the search samples, NOT on the hold-out";
}

void itg_cli_goal_words(const itg_goal *goal, bool labelled, char *out, size_t size)
{
    const char *quality = itg_cli_quality_name(goal, labelled), *join = " with at most";
    const bool front = itg_cli_goal_has_front(goal);
    char number[32];
    *out = '\0';
    if (itg_goal_maximizes_quality(goal))
        itg_cli_append(out, size, "highest %s", quality);
    else
        itg_cli_append(out, size, "%sfewest %s", front ? "the front, and on it the " : "",
                       itg_metric_about(itg_goal_objective(goal))->words);
    for (int32_t i = 1; i < goal->objective_count - front; i++)
        itg_cli_append(out, size, ", then %s", itg_goal_about(goal, goal->objectives[i]).words);
    if (has_limits(goal))
        for (int i = 0; i < ITG_METRIC_COUNT; i++) {
            if (!(itg_goal_limit(goal, (itg_metric)i) > 0)) continue;
            itg_cli_append(
                out, size, "%s %s %s", join,
                itg_cli_count_text((long long)itg_goal_limit(goal, (itg_metric)i), number),
                itg_metric_about((itg_metric)i)->words);
            join = ",";
        }
    if (itg_goal_drop(goal) >= 0 && !itg_goal_counts_classes(goal))
        itg_cli_append(out, size, ", %s at most %.4g worse than float", quality,
                       itg_goal_drop(goal));
    else if (itg_goal_drop(goal) >= 0)
        itg_cli_append(out, size, ", %s at most %.4g point%s below float", quality,
                       100 * itg_goal_drop(goal), 100 * itg_goal_drop(goal) == 1 ? "" : "s");
    const itg_constraint *c = itg_goal_constraint(goal, itg_goal_quality_metric(goal));
    if (c && !c->below_float && !isinf(c->bound) && c->metric != ITG_METRIC_SQNR)
        itg_cli_append(out, size, ", %s %s %.4g", quality,
                       itg_goal_about(goal, c->metric).up ? "at least" : "at most", c->bound);
    if (itg_goal_least_sqnr(goal) > 0)
        itg_cli_append(out, size, ", SQNR at least %.4g dB", itg_goal_least_sqnr(goal));
}

void itg_cli_goal_figures(const itg_goal *goal, const itg_score *score, char *out, size_t size)
{
    itg_metric kind =
        itg_goal_maximizes_quality(goal) ? ITG_METRIC_WEIGHT_BYTES : itg_goal_objective(goal);
    char number[32], quality[32];
    for (int i = ITG_METRIC_COUNT - 1; i >= 0 && itg_goal_maximizes_quality(goal); i--)
        if (itg_goal_limit(goal, (itg_metric)i) > 0) kind = (itg_metric)i;
    snprintf(out, size, "%s %s at %s", itg_cli_count_text((long long)score->value[kind], number),
             kind == ITG_METRIC_WEIGHT_BYTES ? "bytes" : itg_metric_about(kind)->words,
             itg_cli_quality_text(goal, score, quality, sizeof quality));
}

void itg_cli_json_goal(itg_json_writer *json, const char *key, const itg_goal *goal)
{
    char objectives[96];
    itg_json_begin(json, key, '{');
    itg_json_put_text(json, "optimize",
                      itg_goal_objectives_text(goal, objectives, sizeof objectives));
    itg_json_put_text(json, "quality", itg_goal_about(goal, itg_goal_quality_metric(goal)).name);
    itg_cli_json_known(json, "max_drop", itg_goal_drop(goal));
    itg_cli_json_known(json, "min_sqnr",
                       itg_goal_least_sqnr(goal) > 0 ? itg_goal_least_sqnr(goal) : -1);
    for (int i = 0; i < ITG_METRIC_COUNT; i++) {
        char name[32];
        if (!itg_metric_about((itg_metric)i)->goal) continue;
        snprintf(name, sizeof name, "max_%s", itg_metric_about((itg_metric)i)->goal);
        itg_cli_json_known(
            json, name,
            itg_goal_limit(goal, (itg_metric)i) > 0 ? itg_goal_limit(goal, (itg_metric)i) : -1);
    }
    itg_json_end(json, '}');
}

/* Whether the limit of a search comes from the hardware, not from the goal. */
static bool is_of_hardware(const itg_goal *goal, const itg_goal *kept, int kind)
{
    return itg_goal_limit(kept, (itg_metric)kind) > 0 &&
           (itg_goal_limit(goal, (itg_metric)kind) == 0 ||
            itg_goal_limit(kept, (itg_metric)kind) < itg_goal_limit(goal, (itg_metric)kind));
}

void itg_cli_json_limits(itg_json_writer *json, const itg_goal *goal, const itg_hardware *hw)
{
    const itg_goal kept = itg_goal_on(goal, hw);
    itg_json_begin(json, "limits", '[');
    for (int i = 0; i < ITG_METRIC_COUNT; i++) {
        if (!(itg_goal_limit(&kept, (itg_metric)i) > 0)) continue;
        itg_json_begin(json, NULL, '{');
        itg_json_put_text(json, "cost", itg_metric_about((itg_metric)i)->goal);
        itg_json_put_number(json, "most", itg_goal_limit(&kept, (itg_metric)i));
        itg_json_put_text(json, "set_by", is_of_hardware(goal, &kept, i) ? "hardware" : "goal");
        itg_json_end(json, '}');
    }
    itg_json_end(json, ']');
}

void itg_cli_hardware_limits(const itg_goal *goal, const itg_hardware *hw, char *out, size_t size)
{
    const itg_goal kept = itg_goal_on(goal, hw);
    const char *join = "";
    char number[32];
    *out = '\0';
    for (int i = 0; i < ITG_METRIC_COUNT; i++) {
        if (!is_of_hardware(goal, &kept, i)) continue;
        itg_cli_append(out, size, "%s%s %s", join,
                       itg_cli_count_text((long long)itg_goal_limit(&kept, (itg_metric)i), number),
                       itg_metric_about((itg_metric)i)->words);
        join = ", ";
    }
}

/* ---- the final choice ---- */

const char *itg_cli_selection_words(const itg_search_options *options, const itg_selection *s,
                                    char *out, size_t size)
{
    const double percent = 100 * options->confidence;
    snprintf(out, size, "of %d candidate%s on %lld selection samples", (int)s->tested,
             itg_plural(s->tested), (long long)s->samples);
    if (!isnan(s->bound) && itg_goal_counts_classes(&options->goal))
        itg_cli_append(out, size, ": a drop of at most %.2f points with %.4g %% confidence",
                       100 * (s->floats - s->bound), percent);
    else if (!isnan(s->bound))
        itg_cli_append(out, size, ": at least %.2f dB with %.4g %% confidence", s->bound, percent);
    return out;
}

const char *itg_cli_selection_wanted(const itg_search_options *options, const itg_selection *s,
                                     char *out, size_t size)
{
    snprintf(out, size, "the goal's with %.4g %% confidence takes about %lld of them",
             100 * options->confidence, (long long)s->wanted);
    return out;
}
