#include "cli/goal.h"
#include "cli/table.h"
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
    return itg_goal_quality_metric(goal) == ITG_METRIC_SQNR ? "SQNR"
           : labelled                                       ? "top-1"
                                                            : "agreement";
}

const char *itg_cli_quality_text(const itg_goal *goal, const itg_score *score, char *out,
                                 size_t size)
{
    double quality = itg_goal_quality(goal, score);
    bool sqnr = itg_goal_quality_metric(goal) == ITG_METRIC_SQNR;
    if (quality < ITG_QUALITY_KNOWN)
        snprintf(out, size, "-");
    else if (sqnr && 100 * quality >= ITG_MOST_SQNR_DB)
        snprintf(out, size, "exact");
    else
        snprintf(out, size, "%.2f %s", 100 * quality, sqnr ? "dB" : "%");
    return out;
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
    char number[32];
    *out = '\0';
    if (itg_goal_maximizes_quality(goal))
        itg_cli_append(out, size, "highest %s", quality);
    else
        itg_cli_append(out, size, "fewest %s", itg_metric_about(itg_goal_objective(goal))->words);
    for (int32_t i = 1; i < goal->objective_count; i++)
        itg_cli_append(out, size, ", then %s", itg_metric_about(goal->objectives[i])->words);
    if (has_limits(goal))
        for (int i = 0; i < ITG_METRIC_COUNT; i++) {
            if (!(itg_goal_limit(goal, (itg_metric)i) > 0)) continue;
            itg_cli_append(
                out, size, "%s %s %s", join,
                itg_cli_count_text((long long)itg_goal_limit(goal, (itg_metric)i), number),
                itg_metric_about((itg_metric)i)->words);
            join = ",";
        }
    if (itg_goal_drop(goal) >= 0)
        itg_cli_append(out, size, ", %s at most %.4g point%s below float", quality,
                       100 * itg_goal_drop(goal), 100 * itg_goal_drop(goal) == 1 ? "" : "s");
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
    itg_json_put_text(json, "quality", itg_metric_about(itg_goal_quality_metric(goal))->name);
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

/* Whether a search keeps the hardware's limit, and not the goal's own. */
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
