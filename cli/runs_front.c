/* intaglio runs front: prints the trials of a run that no other one beats in quality and costs. */
#include "cli/goal.h"
#include "cli/runs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Chooses the costs: those of --pareto, else those that the run's goal minimizes, else weight
 * bytes. */
static void choose_costs(itg_cli_front *f)
{
    const itg_cli_value *asked = &f->args->values[ITG_CLI_OPT_PARETO];
    const itg_goal *goal = &f->run->options.goal;
    itg_metric costs[ITG_MOST_OBJECTIVES] = {ITG_METRIC_WEIGHT_BYTES};
    int32_t count = 0;
    f->goal = itg_cli_logged_goal(f->run);
    for (int32_t i = 0; i < goal->objective_count; i++)
        if (itg_metric_is_cost(goal->objectives[i])) costs[count++] = goal->objectives[i];
    if (f->args->given[ITG_CLI_OPT_PARETO])
        itg_goal_set_front(&f->goal, asked->costs.values, asked->costs.count);
    else
        itg_goal_set_front(&f->goal, costs, count > 0 ? count : 1);
}

itg_status itg_cli_front_find(itg_cli_front *f, itg_error *err)
{
    const itg_run_record *r = f->run->record;
    if (!f->run->has_goal)
        return itg_fail(err, ITG_UNSUPPORTED, "run %lld: its goal cannot be read",
                        (long long)r->run);
    choose_costs(f);
    itg_status status =
        itg_trials_front(&f->goal, f->trials, f->count, &f->places, &f->front_count, err);
    if (status != ITG_OK) return status;
    f->volume = NAN;
    if (r->known[ITG_RESULT_SEARCH_FLOAT] && r->known[ITG_RESULT_UNIFORM8])
        f->volume = itg_front_hypervolume(&f->goal, f->trials, f->places, f->front_count,
                                          &r->result[ITG_RESULT_SEARCH_FLOAT],
                                          &r->result[ITG_RESULT_UNIFORM8]);
    return ITG_OK;
}

void itg_cli_front_close(itg_cli_front *f)
{
    itg_free(f->places);
}

bool itg_cli_top1_interval(const itg_score *score, double *lo, double *hi)
{
    if (!itg_score_knows(score, ITG_METRIC_TOP1) || score->samples == 0) return false;
    itg_cli_interval(score->value[ITG_METRIC_TOP1], score->samples, lo, hi);
    return true;
}

/* ---- JSON ---- */

static void json_point(itg_json_writer *json, const itg_cli_front *f, const itg_trial *t)
{
    itg_json_begin(json, NULL, '{');
    itg_json_put_int(json, "trial", t->index);
    itg_json_put_number(json, "quality", itg_goal_quality(&f->goal, &t->score));
    itg_cli_json_score(json, &t->score);
    itg_json_end(json, '}');
}

void itg_cli_front_json(itg_json_writer *json, const itg_cli_front *f)
{
    char text[96];
    itg_json_begin(json, NULL, '{');
    itg_json_put_int(json, "run", f->run->record->run);
    itg_json_put_text(json, "objectives", itg_goal_objectives_text(&f->goal, text, sizeof text));
    itg_json_put_number(json, "hypervolume", f->volume);
    itg_json_begin(json, "front", '[');
    for (int32_t i = 0; i < f->front_count; i++)
        json_point(json, f, &f->trials[f->places[i]]);
    itg_json_end(json, ']');
    itg_json_end(json, '}');
}

static int front_json(const itg_cli_front *f)
{
    itg_json_writer json = {0};
    itg_cli_front_json(&json, f);
    return itg_cli_json_print(&json);
}

/* ---- text ---- */

/* Returns the quality by which the front is formed: for classes the expected one or a bound of it,
 * not the counted one. */
static const char *front_quality(const itg_cli_front *f, const itg_score *score, char text[64])
{
    const itg_metric quality = itg_goal_quality_metric(&f->goal);
    if (quality != ITG_METRIC_ACCURACY) return itg_cli_quality_text(&f->goal, score, text, 64);
    snprintf(text, 64, "%.2f %%", 100 * itg_goal_quality(&f->goal, score));
    return text;
}

static void point_row(itg_cli_table *table, const itg_cli_front *f, const itg_trial *t)
{
    char text[64];
    double lo = 0, hi = 0;
    itg_cli_table_cell(table, "%s", itg_cli_count_text((long long)t->index, text));
    itg_cli_table_cell(table, "%s", front_quality(f, &t->score, text));
    itg_cli_table_cell(table, "%s", itg_cli_quality_text(&f->goal, &t->score, text, sizeof text));
    if (itg_cli_top1_interval(&t->score, &lo, &hi))
        itg_cli_table_cell(table, "%.2f to %.2f", 100 * lo, 100 * hi);
    else
        itg_cli_table_cell(table, "-");
    itg_cli_metric_cells(table, f->goal.objectives, f->goal.objective_count - 1, &t->score);
    itg_cli_table_cell(table, "%s", t->index == f->run->record->best_trial ? "best" : "");
}

void itg_cli_front_table(itg_cli_table *table, const itg_cli_front *f)
{
    static const char *const alignments[] = {"rrrrrl", "rrrrrrl", "rrrrrrrl"}; /* by the costs */
    const itg_score *any = f->front_count > 0 ? &f->trials[f->places[0]].score : NULL;
    itg_cli_table_init(table, alignments[f->goal.objective_count - 2]);
    itg_cli_table_texts(
        table, "trial", "quality",
        itg_cli_quality_name(&f->goal, any && itg_score_knows(any, ITG_METRIC_TOP1)),
        "95 % interval", NULL);
    itg_cli_metric_titles(table, f->goal.objectives, f->goal.objective_count - 1);
    itg_cli_table_cell(table, "%s", "");
    for (int32_t i = 0; i < f->front_count; i++)
        point_row(table, f, &f->trials[f->places[i]]);
}

static int front_text(const itg_cli_front *f)
{
    const bool sqnr = itg_goal_quality_metric(&f->goal) == ITG_METRIC_SQNR;
    char text[96];
    itg_cli_table table;
    printf("Run %lld, %s on %s: %d trial%s that no other one beats in %s.\n\n",
           (long long)f->run->record->run, f->run->record->info.model_name,
           f->run->record->info.hardware_name, (int)f->front_count, itg_plural(f->front_count),
           itg_goal_objectives_text(&f->goal, text, sizeof text));
    itg_cli_front_table(&table, f);
    int status = itg_cli_table_print(&table);
    puts(
        "\nOn the search samples. The front goes by quality: of top-1 what is expected, where that "
        "is known.\n'intaglio runs best RUN --trial N' writes the strategy of a trial.");
    if (!isnan(f->volume))
        printf("Hypervolume %.4f: of the box between no cost at %s, and 1.1 times uniform 8\nbits' "
               "costs at %s.\n",
               f->volume, sqnr ? "60 dB" : "the float network's quality",
               sqnr ? "0 dB" : "ten points less");
    return status;
}

int itg_cli_runs_front(const itg_cli_args *args, itg_run_log *log)
{
    itg_cli_logged logged = {0};
    itg_trial *trials = NULL;
    itg_cli_front f = {.args = args, .run = &logged};
    itg_error err = {0};
    int64_t run = 0;
    if (args->values[ITG_CLI_OPT_PARETO].costs.count >= ITG_MOST_OBJECTIVES)
        return itg_cli_fail_usage(args->command, "--pareto takes at most %d costs",
                                  ITG_MOST_OBJECTIVES - 1);
    int result = itg_cli_run_number(args, 1, &run);
    if (result != ITG_CLI_OK) return result;
    itg_status status = itg_cli_logged_read(log, run, &logged, &err);
    if (status == ITG_OK) status = itg_run_log_load_trials(log, run, &trials, &f.count, &err);
    f.trials = trials;
    if (status == ITG_OK) status = itg_cli_front_find(&f, &err);
    if (status != ITG_OK)
        result = itg_cli_fail_error(&err);
    else
        result = args->given[ITG_CLI_OPT_JSON] ? front_json(&f) : front_text(&f);
    itg_cli_front_close(&f);
    itg_run_log_free_trials(trials, f.count);
    itg_cli_logged_close(&logged);
    return result;
}
