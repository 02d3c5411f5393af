/* intaglio runs: prints runs of the log, and exports and imports them. */
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/runs.h"
#include <stdio.h>
#include <string.h>

static const char *db_of(const itg_cli_args *args)
{
    return args->values[ITG_CLI_OPT_RUNS_DB].text;
}

/* ---- export and import ---- */

/* Prints a run and the file that it was written to or read from. */
static int print_json(const itg_cli_args *args, int64_t run, const char *path)
{
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "db", db_of(args));
    itg_json_put_int(&json, "run", run);
    itg_json_put_text(&json, "file", path);
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

static int export_run(const itg_cli_args *args, itg_run_log *log)
{
    const char *path = args->values[ITG_CLI_OPT_RUNS_OUT].text;
    itg_error err = {0};
    int64_t run = 0;
    if (!path) return itg_cli_fail_usage(args->command, "-o FILE is missing");
    int status = itg_cli_run_number(args, 1, &run);
    if (status != ITG_CLI_OK) return status;
    if (itg_run_log_export(log, run, path, &err) != ITG_OK) return itg_cli_fail_error(&err);
    if (!args->given[ITG_CLI_OPT_JSON]) {
        printf("Run %lld of %s is in %s.\n", (long long)run, db_of(args), path);
        return ITG_CLI_OK;
    }
    return print_json(args, run, path);
}

static int import_run(const itg_cli_args *args, itg_run_log *log)
{
    const char *path = args->arguments[1];
    itg_error err = {0};
    int64_t run = 0;
    if (itg_run_log_import(log, path, &run, &err) != ITG_OK) return itg_cli_fail_error(&err);
    if (!args->given[ITG_CLI_OPT_JSON]) {
        printf("%s is run %lld of %s now.\n", path, (long long)run, db_of(args));
        return ITG_CLI_OK;
    }
    return print_json(args, run, path);
}

/* ---- the command ---- */

typedef struct action {
    const char *name;
    int words, optional; /* behind the name */
    const char *missing[2];
    bool filters, trials, output, writes; /* the options it takes; whether it writes to the log */
    int (*run)(const itg_cli_args *args, itg_run_log *log);
} action;

static const action actions[] = {
    {"list", 0, 0, {NULL, NULL}, true, false, false, false, itg_cli_runs_list},
    {"show", 1, 0, {"RUN", NULL}, false, true, false, false, itg_cli_runs_show},
    {"best", 0, 1, {NULL, NULL}, true, false, true, false, itg_cli_runs_best},
    {"compare",
     2,
     ITG_CLI_MAX_ARGUMENTS - 3,
     {"A", "B"},
     false,
     false,
     false,
     false,
     itg_cli_runs_compare},
    {"history", 1, 0, {"MODEL", NULL}, false, false, false, false, itg_cli_runs_history},
    {"front", 1, 0, {"RUN", NULL}, false, false, false, false, itg_cli_runs_front},
    {"export", 1, 0, {"RUN", NULL}, false, false, true, false, export_run},
    {"import", 1, 0, {"FILE", NULL}, false, false, false, true, import_run},
};
enum { ACTIONS = sizeof actions / sizeof *actions };

static const char *action_name(void *context, int index)
{
    (void)context;
    return actions[index].name;
}

static int unknown_action(const itg_cli_args *args, const char *name)
{
    const char *near = itg_nearest_name(name, ACTIONS, action_name, NULL);
    if (near)
        return itg_cli_fail_usage(args->command, "unknown action '%.60s'; did you mean '%s'?", name,
                                  near);
    return itg_cli_fail_usage(args->command,
                              "unknown action '%.60s'; expected list, show, best, compare, "
                              "history, front, export or import",
                              name);
}

static int check_words(const itg_cli_args *args, const action *a)
{
    int words = args->argument_count - 1;
    bool repeats = a->run == itg_cli_runs_best && words > a->words; /* best RUN */
    const struct {
        itg_cli_option option;
        bool taken;
    } options[] = {{ITG_CLI_OPT_RUNS_TRIAL, repeats},
                   {ITG_CLI_OPT_DATA, repeats},
                   {ITG_CLI_OPT_LABELS, repeats},
                   {ITG_CLI_OPT_HOLDOUT, repeats},
                   {ITG_CLI_OPT_HOLDOUT_LABELS, repeats},
                   {ITG_CLI_OPT_RUNS_MODEL, a->filters},
                   {ITG_CLI_OPT_RUNS_HW, a->filters || a->run == itg_cli_runs_history},
                   {ITG_CLI_OPT_RUNS_TRIALS, a->trials},
                   {ITG_CLI_OPT_WATCH, a->trials},
                   {ITG_CLI_OPT_RUNS_OUT, a->output},
                   {ITG_CLI_OPT_PARETO, a->run == itg_cli_runs_front}};
    if (words < a->words)
        return itg_cli_fail_usage(args->command, "%s is missing", a->missing[words]);
    if (words > a->words + a->optional)
        return itg_cli_fail_usage(args->command, "unexpected argument '%.60s'",
                                  args->arguments[a->words + a->optional + 1]);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (args->given[options[i].option] && !options[i].taken)
            return itg_cli_fail_usage(args->command, "'runs %s' does not take --%s", a->name,
                                      itg_cli_option_spec(options[i].option)->name);
    return ITG_CLI_OK;
}

static int perform(const itg_cli_args *args, const action *a)
{
    itg_run_log *log = NULL;
    itg_error err = {0};
    itg_status opened = a->writes ? itg_run_log_open(db_of(args), &log, &err)
                                  : itg_run_log_open_reader(db_of(args), &log, &err);
    if (opened != ITG_OK) return itg_cli_fail_error(&err);
    int status = a->run(args, log);
    if (itg_run_log_close(log, &err) != ITG_OK && status == ITG_CLI_OK)
        return itg_cli_fail_error(&err);
    return status;
}

static int run(const itg_cli_args *args)
{
    const action *a = NULL;
    for (int i = 0; i < ACTIONS && !a; i++)
        if (strcmp(actions[i].name, args->arguments[0]) == 0) a = &actions[i];
    if (!a) return unknown_action(args, args->arguments[0]);
    int status = check_words(args, a);
    return status == ITG_CLI_OK ? perform(args, a) : status;
}

const itg_cli_command itg_cli_runs = {
    .name = "runs",
    .summary = "Shows, compares and exchanges the runs that searches wrote to their database",
    .usage = "list [--model M] [--hw T]\n"
             "show RUN [--trials] [--watch]\n"
             "best [--model M] [--hw T] [-o strategy.json]\n"
             "best RUN --trial N -o strategy.json [--model FILE --data X ...]\n"
             "compare A B [C ...]\n"
             "history MODEL [--hw T]\n"
             "front RUN [--pareto COST[,COST]]\n"
             "export RUN -o FILE\n"
             "import FILE",
    .details =
        "list: one line a run, and which is worse than an earlier one. best: the smallest network "
        "that meets\nits run's goal, for each model and hardware. compare: quality, costs, and "
        "each edge on which the two\nstrategies differ; of more than two, one line a run against "
        "the first. history: all runs of a "
        "model, by its\nfile name or the first digits of its hash, each against the one before. "
        "front: the trials of a run that\nno other one beats both in quality and in the costs that "
        "its goal names. export and import: one run as a JSON file. "
        "Reading is possible while a search writes;\nshow --watch follows it until it ends.\n\n"
        "best RUN --trial N: the strategy of any trial. It takes the model and the data of the "
        "run, "
        "which are\ncalibrated on and evaluated again; files that moved since are named as for "
        "search. The results must\nhave the digest that the log has (of a trial that was stopped "
        "early: its costs).",
    .min_arguments = 1,
    .max_arguments = ITG_CLI_MAX_ARGUMENTS,
    .arguments = {"list, show, best, compare, history, front, export or import", "RUN or FILE",
                  "B"},
    .options = {ITG_CLI_OPT_RUNS_DB, ITG_CLI_OPT_RUNS_MODEL, ITG_CLI_OPT_RUNS_HW,
                ITG_CLI_OPT_RUNS_TRIALS, ITG_CLI_OPT_WATCH, ITG_CLI_OPT_RUNS_TRIAL,
                ITG_CLI_OPT_DATA, ITG_CLI_OPT_LABELS, ITG_CLI_OPT_HOLDOUT,
                ITG_CLI_OPT_HOLDOUT_LABELS, ITG_CLI_OPT_PARETO, ITG_CLI_OPT_RUNS_OUT},
    .run = run,
};
