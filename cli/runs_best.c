/* intaglio runs best: prints the smallest network that meets its goal, for each model and hardware.
 * Networks that also meet it on the hold-out come first. */
#include "cli/runs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_met_goal(const itg_cli_logged *run)
{
    return run->record->known[ITG_RESULT_BEST] && run->record->goal_met;
}

static bool is_candidate(const itg_cli_args *args, const itg_cli_logged *run)
{
    return has_met_goal(run) && itg_cli_logged_matches(args, run);
}

static int by_place(const itg_cli_logged *a, const itg_cli_logged *b)
{
    const itg_run_info *i = &a->record->info, *j = &b->record->info;
    int order = memcmp(i->model_hash, j->model_hash, sizeof i->model_hash);
    return order ? order : strcmp(i->hardware_json, j->hardware_json);
}

/* Whether the run fails its goal on the hold-out; false if an older version's options cannot be
 * read. */
static bool fails_on_holdout(const itg_cli_logged *run)
{
    bool holds = false;
    return itg_cli_logged_held(run, &holds) && !holds;
}

/* Order: by model and hardware; then those that hold on the hold-out, the smallest, the better one
 * if both have the same kind of quality, the earlier one. */
static int by_place_and_size(const void *first, const void *second)
{
    const itg_cli_logged *const *a = first, *const *b = second;
    const itg_score *s = &(*a)->record->result[ITG_RESULT_BEST],
                    *t = &(*b)->record->result[ITG_RESULT_BEST];
    int order = by_place(*a, *b);
    if (order == 0) order = itg_cli_by_number(fails_on_holdout(*a), fails_on_holdout(*b));
    if (order == 0)
        order = itg_cli_by_number((double)s->value[ITG_METRIC_WEIGHT_BYTES],
                                  (double)t->value[ITG_METRIC_WEIGHT_BYTES]);
    if (order == 0)
        order = itg_cli_by_number(itg_goal_quality_metric(&(*a)->options.goal),
                                  itg_goal_quality_metric(&(*b)->options.goal));
    if (order == 0) order = itg_cli_by_number(itg_cli_best_quality(*b), itg_cli_best_quality(*a));
    if (order == 0) order = itg_cli_by_number((double)(*a)->record->run, (double)(*b)->record->run);
    return order;
}

const itg_cli_logged *itg_cli_runs_find_best(const itg_cli_logged *runs, int64_t count,
                                             const unsigned char model_hash[32],
                                             const char *hardware_json)
{
    const itg_cli_logged *best = NULL;
    for (int64_t i = 0; i < count; i++) {
        const itg_cli_logged *run = &runs[i];
        if (has_met_goal(run) && memcmp(run->record->info.model_hash, model_hash, 32) == 0 &&
            strcmp(run->record->info.hardware_json, hardware_json) == 0 &&
            (!best || by_place_and_size(&run, &best) < 0))
            best = run;
    }
    return best;
}

static int by_run(const void *first, const void *second)
{
    const itg_cli_logged *const *a = first, *const *b = second;
    return itg_cli_by_number((double)(*a)->record->run, (double)(*b)->record->run);
}

/* Chooses the first of each model and hardware, in the order of runs. Returns how many. */
static int64_t choose_best(const itg_cli_args *args, const itg_cli_logged *runs, int64_t count,
                           const itg_cli_logged **out)
{
    int64_t found = 0, kept = 0;
    for (int64_t i = 0; i < count; i++)
        if (is_candidate(args, &runs[i])) out[found++] = &runs[i];
    qsort(out, (size_t)found, sizeof *out, by_place_and_size);
    for (int64_t i = 0; i < found; i++)
        if (kept == 0 || by_place(out[kept - 1], out[i]) != 0) out[kept++] = out[i];
    qsort(out, (size_t)kept, sizeof *out, by_run);
    return kept;
}

static int write_strategy(const itg_cli_args *args, const itg_cli_logged *run)
{
    const char *path = args->values[ITG_CLI_OPT_RUNS_OUT].text;
    itg_error err = {0};
    return itg_run_strategy_save(run->record, path, &err) == ITG_OK ? ITG_CLI_OK
                                                                    : itg_cli_fail_error(&err);
}

static int best_json(const itg_cli_args *args, const itg_cli_logged *const *best, int64_t count)
{
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "db", args->values[ITG_CLI_OPT_RUNS_DB].text);
    itg_json_put_text(&json, "strategy", args->values[ITG_CLI_OPT_RUNS_OUT].text);
    itg_json_begin(&json, "runs", '[');
    for (int64_t i = 0; i < count; i++) {
        itg_cli_json_logged_begin(&json, NULL, best[i]);
        itg_cli_json_known(&json, "weight_bytes_of_uniform8",
                           itg_cli_share_of_uniform(best[i]->record));
        itg_json_end(&json, '}');
    }
    itg_json_end(&json, ']');
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

static int best_text(const itg_cli_args *args, const itg_cli_logged *const *best, int64_t count)
{
    const char *path = args->values[ITG_CLI_OPT_RUNS_OUT].text;
    itg_cli_table table;
    puts("The smallest network that meets its run's goal, for each model and hardware (where there "
         "is one, of\nthose that meet it on the hold-out, too):\n");
    itg_cli_runs_titles(&table, false);
    for (int64_t i = 0; i < count; i++)
        itg_cli_runs_row(&table, best[i]);
    int status = itg_cli_table_print(&table);
    itg_cli_runs_explain();
    if (path)
        printf("\nThe strategy of run %lld is in %s.\n", (long long)best[0]->record->run, path);
    return status;
}

static int show_best(const itg_cli_args *args, const itg_cli_logged *const *best, int64_t count)
{
    bool writes = args->given[ITG_CLI_OPT_RUNS_OUT];
    if (count == 0)
        return itg_cli_fail("%s: holds no run%s that met its goal",
                            args->values[ITG_CLI_OPT_RUNS_DB].text,
                            args->given[ITG_CLI_OPT_RUNS_MODEL] || args->given[ITG_CLI_OPT_RUNS_HW]
                                ? " of this model and hardware"
                                : "");
    if (writes && count > 1)
        return itg_cli_fail("there are %lld best runs, one for each model and hardware; choose one "
                            "with --model and --hw",
                            (long long)count);
    int status = writes ? write_strategy(args, best[0]) : ITG_CLI_OK;
    if (status != ITG_CLI_OK) return status;
    return args->given[ITG_CLI_OPT_JSON] ? best_json(args, best, count)
                                         : best_text(args, best, count);
}

int itg_cli_runs_best(const itg_cli_args *args, itg_run_log *log)
{
    itg_cli_logged *runs = NULL;
    int64_t count = 0;
    itg_error err = {0};
    if (args->argument_count > 1) return itg_cli_runs_trial(args);
    if (itg_cli_logged_all(log, &runs, &count, &err) != ITG_OK) return itg_cli_fail_error(&err);
    const itg_cli_logged **best = malloc(sizeof *best * ((size_t)count + 1));
    int status = best ? show_best(args, best, choose_best(args, runs, count, best))
                      : itg_cli_fail("no memory for the runs");
    free((void *)best);
    itg_cli_logged_free(runs, count);
    return status;
}
