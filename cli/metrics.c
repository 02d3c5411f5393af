#include "cli/metrics.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *itg_cli_share(double share, char *buffer, size_t size)
{
    if (!(share >= 0))
        snprintf(buffer, size, "-");
    else
        snprintf(buffer, size, "%.2f %%", 100 * share);
    return buffer;
}

const char *itg_cli_amount(double value, char *buffer)
{
    if (!(value >= 0)) return "-";
    if (value < 1e18) return itg_cli_count_text((long long)value, buffer);
    snprintf(buffer, 32, "%.4g", value);
    return buffer;
}

const char *itg_cli_unit_text(itg_unit unit, double value, char buffer[32])
{
    if (isnan(value)) return "-";
    switch (unit) {
    case ITG_UNIT_SHARE:
        return itg_cli_share(value, buffer, 32);
    case ITG_UNIT_BYTES:
    case ITG_UNIT_COUNT:
        return itg_cli_amount(value, buffer);
    case ITG_UNIT_BITS:
        snprintf(buffer, 32, "%.2f", value);
        return buffer;
    case ITG_UNIT_DECIBELS:
        snprintf(buffer, 32, value > 0 && isinf(value) ? "exact" : "%.2f dB", value);
        return buffer;
    default:
        snprintf(buffer, 32, "%.4g", value);
        return buffer;
    }
}

void itg_cli_metric_titles(itg_cli_table *table, const itg_metric *metrics, int count)
{
    for (int i = 0; i < count; i++)
        itg_cli_table_cell(table, "%s", itg_metric_about(metrics[i])->words);
}

void itg_cli_metric_cells(itg_cli_table *table, const itg_metric *metrics, int count,
                          const itg_score *score)
{
    char text[32];
    for (int i = 0; i < count; i++)
        itg_cli_table_cell(table, "%s",
                           itg_cli_unit_text(itg_metric_about(metrics[i])->unit,
                                             itg_score_get(score, metrics[i]), text));
}

void itg_cli_change_cell(itg_cli_table *table, itg_unit unit, double a, double b)
{
    if (isnan(a) || isnan(b))
        itg_cli_table_cell(table, "-");
    else if (!(a < b) && !(b < a))
        itg_cli_table_cell(table, "same");
    else if (unit == ITG_UNIT_SHARE)
        itg_cli_table_cell(table, "%+.2f points", 100 * (b - a));
    else if (unit == ITG_UNIT_BITS)
        itg_cli_table_cell(table, "%+.2f", b - a);
    else if (unit == ITG_UNIT_DECIBELS)
        itg_cli_table_cell(table, "%+.2f dB", b - a);
    else if (a > 0)
        itg_cli_table_cell(table, "%+.1f %%", 100 * (b / a - 1));
    else
        itg_cli_table_cell(table, "new");
}

void itg_cli_metric_row(itg_cli_table *table, itg_metric metric, const itg_score *a,
                        const itg_score *b)
{
    const itg_metric_info about = itg_score_about(*a->user[0].name ? a : b, metric);
    double x = itg_score_get(a, metric), y = itg_score_get(b, metric);
    char text[32];
    itg_cli_table_texts(table, about.words, itg_cli_unit_text(about.unit, x, text), NULL);
    itg_cli_table_cell(table, "%s", itg_cli_unit_text(about.unit, y, text));
    itg_cli_change_cell(table, about.unit, x, y);
}

void itg_cli_json_metrics(itg_json_writer *json, const char *prefix, const itg_score *score,
                          int kinds)
{
    for (int m = 0; m < ITG_METRIC_ALL; m++) {
        const itg_metric_info about = itg_score_about(score, (itg_metric)m);
        int kind = itg_metric_is_cost((itg_metric)m) ? ITG_CLI_COSTS : ITG_CLI_QUALITIES;
        double value = itg_score_get(score, (itg_metric)m);
        bool bound = kind == ITG_CLI_QUALITIES && score->stopped_at > 0 && !isnan(value);
        char key[64];
        bool given = about.needs == ITG_NEEDS_LABELS || about.needs == ITG_NEEDS_TARGETS ||
                     about.needs == ITG_NEEDS_FLOATS || about.needs == ITG_NEEDS_USER;
        if (!(kind & kinds) || m == ITG_METRIC_ACCURACY || (isnan(value) && given && !bound))
            continue;
        snprintf(key, sizeof key, "%s%s", prefix, about.name);
        itg_json_put_number(json, key, bound ? (double)NAN : value);
    }
}
