/* intaglio runs best RUN --trial N: writes the strategy of any trial of a run. Inputs are opened as
 * for search --resume: those that the log names, or given files with the same hashes. */
#include "cli/cmd_search.h"
#include "cli/runs.h"
#include <stdio.h>

/* Returns the arguments as for search --resume RUN. */
static itg_cli_args as_resume(const itg_cli_args *args, int64_t run)
{
    itg_cli_args a = *args;
    a.argument_count = args->given[ITG_CLI_OPT_RUNS_MODEL];
    a.arguments[0] = args->values[ITG_CLI_OPT_RUNS_MODEL].text;
    a.values[ITG_CLI_OPT_DB] = args->values[ITG_CLI_OPT_RUNS_DB];
    a.values[ITG_CLI_OPT_RESUME].integer = run;
    return a;
}

static itg_status find_trial(const itg_cli_search_work *w, int64_t *out, itg_error *err)
{
    int64_t trial = w->args->values[ITG_CLI_OPT_RUNS_TRIAL].integer;
    if (trial >= w->replay_count)
        return itg_fail(err, ITG_BAD_ARGUMENT, "--trial %lld: run %lld of %s has %lld trial%s",
                        (long long)trial, (long long)w->resumed->run, w->resumed->log,
                        (long long)w->replay_count, itg_plural(w->replay_count));
    *out = trial;
    return ITG_OK;
}

static itg_status write_trial(itg_cli_search_work *w, bool *has_digest, itg_error *err)
{
    int64_t trial = 0;
    itg_strategy_file *file = NULL;
    itg_status status = itg_cli_search_resume(w, err);
    if (status == ITG_OK) status = find_trial(w, &trial, err);
    if (status == ITG_OK) status = itg_cli_search_open(w, err);
    if (status == ITG_OK) status = itg_cli_search_agree(w, err);
    if (status != ITG_OK) return status;
    const itg_search_data data = {w->data.samples, w->data.labels, w->holdout.samples,
                                  w->holdout.labels};
    status = itg_search_strategy_at(w->model, w->hw, &w->preprocess, &data, &w->options, w->replay,
                                    trial, &file, err);
    if (status == ITG_OK)
        status = itg_strategy_save(file, w->model, w->args->values[ITG_CLI_OPT_RUNS_OUT].text, err);
    itg_strategy_close(file);
    *has_digest = w->replay[trial].score.stopped_at == 0;
    return status;
}

static int report(const itg_cli_args *args, int64_t run, bool has_digest)
{
    const char *path = args->values[ITG_CLI_OPT_RUNS_OUT].text;
    int64_t trial = args->values[ITG_CLI_OPT_RUNS_TRIAL].integer;
    if (!args->given[ITG_CLI_OPT_JSON]) {
        printf("The strategy of trial %lld of run %lld is in %s; its %s the log.\n",
               (long long)trial, (long long)run, path,
               has_digest ? "results have the digest of" : "costs are those of");
        return ITG_CLI_OK;
    }
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "db", args->values[ITG_CLI_OPT_RUNS_DB].text);
    itg_json_put_int(&json, "run", run);
    itg_json_put_int(&json, "trial", trial);
    itg_json_put_text(&json, "strategy", path);
    itg_json_put_text(&json, "compared", has_digest ? "digest" : "costs");
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

int itg_cli_runs_trial(const itg_cli_args *args)
{
    int64_t run = 0;
    bool has_digest = false;
    itg_error err = {0}, later = {0};
    if (!args->given[ITG_CLI_OPT_RUNS_TRIAL] || !args->given[ITG_CLI_OPT_RUNS_OUT])
        return itg_cli_fail_usage(args->command, "'runs best RUN' goes with --trial N and -o FILE");
    int usage = itg_cli_run_number(args, 1, &run);
    if (usage != ITG_CLI_OK) return usage;
    const itg_cli_args resume = as_resume(args, run);
    itg_cli_search_work work = {.args = &resume};
    itg_status status = write_trial(&work, &has_digest, &err);
    itg_cli_search_close(&work, &later);
    return status == ITG_OK ? report(args, run, has_digest) : itg_cli_fail_error(&err);
}
