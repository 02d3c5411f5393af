#include "cli/goal.h"
#include "cli/table.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + used, size - used, format, arguments);
    va_end(arguments);
}

static bool has_limits(const itg_goal *goal)
{
    for (int i = 0; i < ITG_METRIC_COUNT; i++)
        if (goal->limits[i] > 0) return true;
    return false;
}

const char *itg_cli_quality_name(const itg_goal *goal, bool labelled)
{
    return goal->quality == ITG_QUALITY_SQNR ? "SQNR" : labelled ? "top-1" : "agreement";
}

const char *itg_cli_quality_text(const itg_goal *goal, const itg_score *score, char *out,
                                 size_t size)
{
    double quality = itg_goal_quality(goal, score);
    bool sqnr = goal->quality == ITG_QUALITY_SQNR;
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
    if (goal->maximize_quality)
        add(out, size, "highest %s", quality);
    else
        add(out, size, "fewest %s", itg_metric_about(goal->minimize)->words);
    if (has_limits(goal))
        for (int i = 0; i < ITG_METRIC_COUNT; i++) {
            if (!(goal->limits[i] > 0)) continue;
            add(out, size, "%s %s %s", join, itg_cli_count_text((long long)goal->limits[i], number),
                itg_metric_about((itg_metric)i)->words);
            join = ",";
        }
    if (goal->max_drop >= 0)
        add(out, size, ", %s at most %.4g point%s below float", quality, 100 * goal->max_drop,
            100 * goal->max_drop == 1 ? "" : "s");
    if (goal->min_sqnr_db > 0) add(out, size, ", SQNR at least %.4g dB", goal->min_sqnr_db);
}

void itg_cli_goal_figures(const itg_goal *goal, const itg_score *score, char *out, size_t size)
{
    itg_metric kind = goal->maximize_quality ? ITG_METRIC_WEIGHT_BYTES : goal->minimize;
    char number[32], quality[32];
    for (int i = ITG_METRIC_COUNT - 1; i >= 0 && goal->maximize_quality; i--)
        if (goal->limits[i] > 0) kind = (itg_metric)i;
    snprintf(out, size, "%s %s at %s", itg_cli_count_text((long long)score->value[kind], number),
             kind == ITG_METRIC_WEIGHT_BYTES ? "bytes" : itg_metric_about(kind)->words,
             itg_cli_quality_text(goal, score, quality, sizeof quality));
}

void itg_cli_json_goal(itg_cli_json *json, const char *key, const itg_goal *goal)
{
    itg_cli_json_begin(json, key, '{');
    itg_cli_json_text(json, "optimize",
                      goal->maximize_quality ? "quality" : itg_metric_about(goal->minimize)->goal);
    itg_cli_json_text(json, "quality", itg_quality_name(goal->quality));
    itg_cli_json_known_number(json, "max_drop", goal->max_drop);
    itg_cli_json_known_number(json, "min_sqnr", goal->min_sqnr_db > 0 ? goal->min_sqnr_db : -1);
    for (int i = 0; i < ITG_METRIC_COUNT; i++) {
        char name[32];
        if (!itg_metric_about((itg_metric)i)->goal) continue;
        snprintf(name, sizeof name, "max_%s", itg_metric_about((itg_metric)i)->goal);
        itg_cli_json_known_number(json, name, goal->limits[i] > 0 ? goal->limits[i] : -1);
    }
    itg_cli_json_end(json, '}');
}

/* Whether a search keeps the hardware's limit, and not the goal's own. */
static bool is_of_hardware(const itg_goal *goal, const itg_goal *kept, int kind)
{
    return kept->limits[kind] > 0 &&
           (goal->limits[kind] == 0 || kept->limits[kind] < goal->limits[kind]);
}

void itg_cli_json_limits(itg_cli_json *json, const itg_goal *goal, const itg_hardware *hw)
{
    const itg_goal kept = itg_goal_on(goal, hw);
    itg_cli_json_begin(json, "limits", '[');
    for (int i = 0; i < ITG_METRIC_COUNT; i++) {
        if (!(kept.limits[i] > 0)) continue;
        itg_cli_json_begin(json, NULL, '{');
        itg_cli_json_text(json, "cost", itg_metric_about((itg_metric)i)->goal);
        itg_cli_json_number(json, "most", kept.limits[i]);
        itg_cli_json_text(json, "set_by", is_of_hardware(goal, &kept, i) ? "hardware" : "goal");
        itg_cli_json_end(json, '}');
    }
    itg_cli_json_end(json, ']');
}

void itg_cli_hardware_limits(const itg_goal *goal, const itg_hardware *hw, char *out, size_t size)
{
    const itg_goal kept = itg_goal_on(goal, hw);
    const char *join = "";
    char number[32];
    *out = '\0';
    for (int i = 0; i < ITG_METRIC_COUNT; i++) {
        if (!is_of_hardware(goal, &kept, i)) continue;
        add(out, size, "%s%s %s", join, itg_cli_count_text((long long)kept.limits[i], number),
            itg_metric_about((itg_metric)i)->words);
        join = ", ";
    }
}
