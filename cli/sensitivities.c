/* Reads the trials of sensitivities and makes their table. */
#include "cli/sensitivities.h"
#include "cli/goal.h"
#include "cli/metric.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const itg_metric costs[] = {ITG_METRIC_WEIGHT_BYTES, ITG_METRIC_BOPS, ITG_METRIC_CYCLES};
enum { COSTS = sizeof costs / sizeof *costs };

/* ---- reading ---- */

static bool is_width(const itg_run_choice *choice)
{
    return strcmp(choice->kind, "bits") == 0;
}

/* Returns the dimension in which a trial differs from the widest point. */
static int32_t first_difference(const itg_trial *a, const itg_trial *b)
{
    int32_t d = 0;
    while (d + 1 < a->dim_count && a->point[d] == b->point[d])
        d++;
    return d;
}

/* Finds the choices of the row's group. Its first edge identifies it; no other group has it. */
static void find_choices(itg_cli_loss *r, const itg_trial *widest)
{
    const char *edge = itg_run_choices_at(r->choices, first_difference(r->trial, widest))->edges[0];
    int32_t widths = 0;
    for (int32_t i = 0; i < itg_run_choices_count(r->choices); i++) {
        const itg_run_choice *choice = itg_run_choices_at(r->choices, i);
        if (strcmp(choice->edges[0], edge) == 0) {
            *(is_width(choice) ? &r->width : &r->method) = choice;
            if (is_width(choice)) r->group = widths;
        }
        widths += is_width(choice);
    }
}

const itg_run_choice *itg_cli_loss_group(const itg_cli_loss *row)
{
    return row->width ? row->width : row->method;
}

static double distortion_of(const itg_trial *trial)
{
    return trial->feasible ? itg_score_get(&trial->score, ITG_METRIC_DISTORTION) : INFINITY;
}

/* Order of rows: by distortion, largest first; in trial order if not known. Rows that cannot be
 * executed come last. */
static int by_loss(const void *first, const void *second)
{
    const itg_trial *a = ((const itg_cli_loss *)first)->trial,
                    *b = ((const itg_cli_loss *)second)->trial;
    double x = distortion_of(a), y = distortion_of(b);
    if (a->feasible != b->feasible) return a->feasible ? -1 : 1;
    if (x > y || y > x) return x > y ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

itg_status itg_cli_sensitivities_read(itg_cli_sensitivities *s, const itg_run_record *record,
                                      const itg_goal *goal, const itg_trial *const *trials,
                                      int64_t count, itg_error *err)
{
    *s = (itg_cli_sensitivities){.goal = goal, .widest = count > 0 ? trials[0] : NULL};
    s->rows = calloc((size_t)count + 1, sizeof *s->rows);
    if (!s->rows) return itg_fail(err, ITG_NO_MEMORY, "no memory for %lld rows", (long long)count);
    for (int64_t i = 1; i < count; i++) {
        itg_cli_loss *next = &s->rows[s->count];
        next->trial = trials[i];
        itg_status status = itg_run_choices_read(record, next->trial, &next->choices, err);
        if (status != ITG_OK) return status;
        find_choices(next, s->widest);
        s->has_methods |= next->method != NULL;
        s->count++;
    }
    for (int64_t i = 0; i < count && !s->is_labelled; i++)
        s->is_labelled = itg_score_knows(&trials[i]->score, ITG_METRIC_TOP1);
    qsort(s->rows, (size_t)s->count, sizeof *s->rows, by_loss);
    return ITG_OK;
}

void itg_cli_sensitivities_close(itg_cli_sensitivities *s)
{
    for (int64_t i = 0; i < s->count; i++)
        itg_run_choices_destroy(s->rows[i].choices);
    free(s->rows);
    *s = (itg_cli_sensitivities){.goal = NULL};
}

/* ---- figures ---- */

double itg_cli_sensitivity_quality(const itg_cli_sensitivities *s, const itg_trial *trial)
{
    return trial->feasible ? itg_score_get(&trial->score, itg_cli_counted(s->goal, &trial->score))
                           : (double)NAN;
}

double itg_cli_sensitivity_change(const itg_cli_sensitivities *s, const itg_trial *trial)
{
    return itg_cli_sensitivity_quality(s, trial) - itg_cli_sensitivity_quality(s, s->widest);
}

double itg_cli_lost_db(const itg_cli_sensitivities *s, const itg_trial *trial)
{
    double most = ITG_MOST_SQNR_DB;
    double before = itg_score_get(&s->widest->score, ITG_METRIC_SQNR);
    double after = itg_score_get(&trial->score, ITG_METRIC_SQNR);
    if (!s->widest->feasible || !trial->feasible || isnan(before) || isnan(after))
        return (double)NAN;
    return fmax(0, fmin(before, most) - fmax(fmin(after, most), -most));
}

/* Returns the loss of the longest bar, at least 1 dB. */
static double most_lost_db(const itg_cli_sensitivities *s)
{
    double most = 1;
    for (int64_t i = 0; i < s->count; i++)
        most = fmax(most, itg_cli_lost_db(s, s->rows[i].trial)); /* a NaN is left out */
    return most;
}

/* ---- the table ---- */

enum { BAR = 20 };

static void bar_cell(itg_cli_table *table, double lost, double most)
{
    static const char marks[] = "####################";
    int length = lost > 0 && most > 0 ? (int)(BAR * lost / most + 0.5) : 0;
    itg_cli_table_cell(table, "%.*s", length, marks);
}

/* most: the dB of the longest bar; 0: no bars. */
static void score_cells(itg_cli_table *table, const itg_cli_sensitivities *s,
                        const itg_trial *trial, double most)
{
    char text[64];
    itg_cli_table_cell(table, "%s",
                       itg_cli_quality_text(s->goal, &trial->score, text, sizeof text));
    if (trial == s->widest)
        itg_cli_table_cell(table, "%s", "");
    else
        itg_cli_change_cell(table, itg_goal_about(s->goal, itg_goal_quality_metric(s->goal)).unit,
                            itg_cli_sensitivity_quality(s, s->widest),
                            itg_cli_sensitivity_quality(s, trial));
    itg_cli_table_cell(
        table, "%s",
        itg_cli_unit_text(ITG_UNIT_DECIBELS, itg_score_get(&trial->score, ITG_METRIC_SQNR), text));
    itg_cli_metric_cells(table, costs, COSTS, &trial->score);
    if (most > 0) bar_cell(table, trial == s->widest ? 0 : itg_cli_lost_db(s, trial), most);
}

static void row_cells(itg_cli_table *table, const itg_cli_sensitivities *s, const itg_cli_loss *r,
                      double most)
{
    const itg_run_choice *group = itg_cli_loss_group(r);
    if (group->edge_count > 1)
        itg_cli_table_cell(table, "%s, and %d more", group->edges[0], (int)group->edge_count - 1);
    else
        itg_cli_table_cell(table, "%s", group->edges[0]);
    itg_cli_table_cell(table, "%s", r->width ? r->width->value : "");
    if (s->has_methods) itg_cli_table_cell(table, "%s", r->method ? r->method->value : "");
    score_cells(table, s, r->trial, most);
}

void itg_cli_sensitivities_table(itg_cli_table *table, const itg_cli_sensitivities *s,
                                 bool with_bars)
{
    static const char *const alignments[2][2] = {{"lrrrrrrr", "lrrrrrrrl"},
                                                 {"lrlrrrrrr", "lrlrrrrrrl"}};
    const double most = with_bars ? most_lost_db(s) : 0;
    itg_cli_table_init(table, alignments[s->has_methods][with_bars]);
    itg_cli_table_texts(table, "edges", "bits", s->has_methods ? "threshold" : NULL, NULL);
    itg_cli_table_texts(table, itg_cli_quality_name(s->goal, s->is_labelled), "change", "SQNR",
                        NULL);
    itg_cli_metric_titles(table, costs, COSTS);
    if (with_bars) itg_cli_table_cell(table, "SQNR lost");
    itg_cli_table_texts(table, "all at the widest", "", s->has_methods ? "" : NULL, NULL);
    score_cells(table, s, s->widest, most);
    for (int64_t i = 0; i < s->count; i++)
        row_cells(table, s, &s->rows[i], most);
}
