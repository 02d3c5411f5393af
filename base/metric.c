#include "base/base.h"
#include <math.h>
#include <string.h>

#define ITG_UP true
#define ITG_DOWN false
#define ITG_METRIC(id, name, goal, words, unit, better, needs)                                     \
    [ITG_METRIC_##id] = {name, goal, words, ITG_UNIT_##unit, ITG_##better, ITG_NEEDS_##needs},
#define ITG_DERIVED ITG_METRIC
static const itg_metric_info metrics[ITG_METRIC_ALL] = {
#include <intaglio/metrics.def>
};

const itg_metric_info *itg_metric_about(itg_metric metric)
{
    return &metrics[metric];
}

bool itg_metric_is_cost(itg_metric metric)
{
    return metrics[metric].needs == ITG_NEEDS_PROGRAM;
}

bool itg_metric_is_of_set(itg_metric metric)
{
    static const itg_metric of_sets[] = {
        ITG_METRIC_F1, ITG_METRIC_F1_MACRO,   ITG_METRIC_AUROC,  ITG_METRIC_MIOU,
        ITG_METRIC_R2, ITG_METRIC_PERPLEXITY, ITG_METRIC_COSINE, ITG_METRIC_KL};
    for (size_t i = 0; i < sizeof of_sets / sizeof *of_sets; i++)
        if (of_sets[i] == metric) return true;
    return false;
}

bool itg_metric_from_name(const char *name, itg_metric *out)
{
    for (int m = 0; m < ITG_METRIC_ALL; m++) {
        if (strcmp(metrics[m].name, name) != 0) continue;
        *out = (itg_metric)m;
        return true;
    }
    return false;
}

bool itg_metric_from_goal(const char *goal, itg_metric *out)
{
    for (int m = 0; m < ITG_METRIC_ALL; m++) {
        if (!metrics[m].goal || strcmp(metrics[m].goal, goal) != 0) continue;
        *out = (itg_metric)m;
        return true;
    }
    return false;
}

bool itg_unit_allows(itg_unit unit, double value)
{
    switch (unit) {
    case ITG_UNIT_SHARE:
        return value >= 0 && value <= 1;
    case ITG_UNIT_BYTES:
        return value >= 0 && value <= 0x1p53 && value == floor(value);
    case ITG_UNIT_BITS:
        return value >= 0 && value <= 64;
    case ITG_UNIT_COUNT:
    case ITG_UNIT_RATIO:
        return value >= 0;
    default:
        return !isnan(value);
    }
}

bool itg_metric_allows(itg_metric metric, double value)
{
    return itg_unit_allows(metrics[metric].unit, value);
}

/* ---- units ---- */

static const struct {
    const char *name, *range;
} units[] = {
    [ITG_UNIT_SHARE] = {"share", "a number from 0 to 1"},
    [ITG_UNIT_BYTES] = {"bytes", "an integer from 0 to 9007199254740992"},
    [ITG_UNIT_COUNT] = {"count", "a number from 0"},
    [ITG_UNIT_BITS] = {"bits", "a number from 0 to 64"},
    [ITG_UNIT_RATIO] = {"ratio", "a number from 0"},
    [ITG_UNIT_DECIBELS] = {"decibels", "a number"},
    [ITG_UNIT_NUMBER] = {"number", "a number"},
};

const char *itg_unit_range(itg_unit unit)
{
    return units[unit].range;
}

const char *itg_unit_name(itg_unit unit)
{
    return units[unit].name;
}

bool itg_unit_from_name(const char *name, itg_unit *out)
{
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        if (strcmp(units[u].name, name) != 0) continue;
        *out = (itg_unit)u;
        return true;
    }
    return false;
}

/* ---- scores ---- */

itg_score itg_score_unknown(void)
{
    itg_score score = {0};
    for (int m = 0; m < ITG_METRIC_COUNT; m++)
        score.value[m] = (double)NAN;
    return score;
}
