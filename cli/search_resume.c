/* --resume: the run's record in the log supplies everything that is not given again. Given options
 * must equal those of the run, except those for its length and its output. */
#include "cli/cmd_search.h"
#include "cli/commands.h"
#include "cli/holder.h"
#include "cli/metric.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- options ---- */

static itg_status refuse(const itg_cli_search_work *w, itg_cli_option option, const char *given,
                         const char *logged, itg_error *err)
{
    return itg_fail(err, ITG_BAD_ARGUMENT, "--%s %s: run %" PRId64 " of %s has %s",
                    itg_cli_option_spec(option)->name, given, w->resumed->run,
                    w->args->values[ITG_CLI_OPT_DB].text, logged);
}

/* Returns the name of a document of the log for errors: "runs.db: run 3: its options". */
static const char *place_of(const itg_cli_search_work *w, const char *what, char *out, size_t size)
{
    snprintf(out, size, "%.400s: run %" PRId64 ": its %s", w->resumed->log, w->resumed->run, what);
    return out;
}

/* Refuses a number of trials that is smaller than the log already has. A larger one is allowed. */
static itg_status check_trials(itg_cli_search_work *w, itg_error *err)
{
    int64_t *trials = &w->options.trials;
    if (!w->args->given[ITG_CLI_OPT_TRIALS]) {
        if (*trials > 0 && *trials < w->replay_count) *trials = w->replay_count;
        return ITG_OK;
    }
    if (*trials >= w->replay_count) return ITG_OK;
    return itg_fail(err, ITG_BAD_ARGUMENT,
                    "--trials %" PRId64 ": run %" PRId64 " of %s has %" PRId64 " trials already",
                    *trials, w->resumed->run, w->args->values[ITG_CLI_OPT_DB].text,
                    w->replay_count);
}

static itg_status resume_options(itg_cli_search_work *w, itg_error *err)
{
    char given[ITG_CLI_OPTION_TEXT], logged[ITG_CLI_OPTION_TEXT], source[512];
    itg_search_options o;
    itg_status status = itg_search_options_from_text(
        w->resumed->info.options_json, place_of(w, "options", source, sizeof source), &o, err);
    if (status != ITG_OK) return status;
    w->options = o;
    itg_user_metric top;
    const char *name = o.goal.user[0].info.name;
    if (*name && !itg_cli_top_metric(name, &top) && !w->args->given[ITG_CLI_OPT_METRIC_COMMAND])
        return itg_fail(
            err, ITG_BAD_ARGUMENT,
            "--metric-command is missing: run %" PRId64 " of %s has the metric %s, which "
            "a command computes that no log keeps",
            w->resumed->run, w->args->values[ITG_CLI_OPT_DB].text, o.goal.user[0].info.name);
    itg_cli_search_apply(w->args, &w->options);
    for (int i = 0; i < ITG_CLI_OPTION_COUNT; i++) {
        itg_cli_option option = (itg_cli_option)i;
        if (!w->args->given[i] || !itg_cli_search_option_text(&w->options, option, given)) continue;
        (void)itg_cli_search_option_text(&o, option, logged);
        if (strcmp(given, logged) != 0) return refuse(w, option, given, logged, err);
    }
    return check_trials(w, err);
}

/* ---- hardware and preprocessing ---- */

static itg_status resume_hardware(itg_cli_search_work *w, itg_error *err)
{
    const itg_run_info *info = &w->resumed->info;
    const char *name = w->args->values[ITG_CLI_OPT_HW].text;
    char source[512];
    if (!w->args->given[ITG_CLI_OPT_HW])
        return itg_hardware_parse(info->hardware_json, strlen(info->hardware_json),
                                  place_of(w, "hardware", source, sizeof source), &w->hw, err);
    itg_status status = itg_hardware_load(name, &w->hw, err);
    if (status != ITG_OK || strcmp(itg_hardware_json(w->hw), info->hardware_json) == 0)
        return status;
    if (strcmp(itg_hardware_name(w->hw), info->hardware_name) != 0)
        return refuse(w, ITG_CLI_OPT_HW, name, info->hardware_name, err);
    return itg_fail(err, ITG_BAD_ARGUMENT,
                    "--hw %s: run %" PRId64 " of %s has another description of '%s'", name,
                    w->resumed->run, w->args->values[ITG_CLI_OPT_DB].text, info->hardware_name);
}

static itg_status resume_preprocess(itg_cli_search_work *w, itg_error *err)
{
    const char *logged = w->resumed->info.preprocess_json;
    char source[512];
    itg_status status = itg_preprocess_from_text(
        logged, place_of(w, "preprocessing", source, sizeof source), &w->preprocess, err);
    if (status != ITG_OK) return status;
    itg_preprocess given = w->preprocess;
    char *text = NULL, *before = NULL;
    itg_cli_preprocess(w->args, &given);
    status = itg_preprocess_text(&given, &text, err);
    if (status == ITG_OK) status = itg_preprocess_text(&w->preprocess, &before, err);
    if (status == ITG_OK && strcmp(text, before) != 0)
        status = itg_fail(err, ITG_BAD_ARGUMENT,
                          "the preprocessing would be %s, run %" PRId64 " of %s has %s", text,
                          w->resumed->run, w->args->values[ITG_CLI_OPT_DB].text, before);
    itg_free(text);
    itg_free(before);
    return status;
}

/* ---- files ---- */

/* Chooses the name to open: the given one, else that of the log. Refuses a file that the run did
 * not use. */
static itg_status pick(const itg_cli_search_work *w, itg_cli_option option,
                       const itg_run_data *logged, const char **out, itg_error *err)
{
    const char *given = w->args->values[option].text;
    if (w->args->given[option] && !logged->name) return refuse(w, option, given, "none", err);
    *out = w->args->given[option] ? given : logged->name;
    return ITG_OK;
}

/* Checks the files that the log names; the check of the command line does not know them. */
static itg_status protect_inputs(const itg_cli_search_work *w, itg_error *err)
{
    const itg_cli_search_files *f = &w->files;
    const char *const inputs[] = {f->model, f->data, f->labels, f->holdout, f->holdout_labels};
    itg_cli_file files[sizeof inputs / sizeof *inputs];
    int count = 0;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (inputs[i]) files[count++] = (itg_cli_file){inputs[i], inputs[i], false};
    return itg_cli_keep_apart(w->args, files, count, err);
}

static itg_status resume_files(itg_cli_search_work *w, itg_error *err)
{
    const itg_run_info *info = &w->resumed->info;
    itg_cli_search_files *f = &w->files;
    char given[ITG_CLI_OPTION_TEXT], logged[ITG_CLI_OPTION_TEXT];
    f->model = w->args->argument_count > 0 ? w->args->arguments[0] : info->model_name;
    f->data_limit = info->data.samples;
    f->holdout_limit = info->holdout.samples;
    itg_status status = pick(w, ITG_CLI_OPT_DATA, &info->data, &f->data, err);
    if (status == ITG_OK) status = pick(w, ITG_CLI_OPT_LABELS, &info->labels, &f->labels, err);
    if (status == ITG_OK) status = pick(w, ITG_CLI_OPT_HOLDOUT, &info->holdout, &f->holdout, err);
    if (status == ITG_OK)
        status =
            pick(w, ITG_CLI_OPT_HOLDOUT_LABELS, &info->holdout_labels, &f->holdout_labels, err);
    int64_t limit = w->args->values[ITG_CLI_OPT_LIMIT].integer;
    if (status != ITG_OK || !w->args->given[ITG_CLI_OPT_LIMIT] || limit >= f->data_limit)
        return status;
    snprintf(given, sizeof given, "%" PRId64, limit);
    snprintf(logged, sizeof logged, "%" PRId64, f->data_limit);
    return refuse(w, ITG_CLI_OPT_LIMIT, given, logged, err);
}

static itg_status compare_hash(const itg_cli_search_work *w, const char *path,
                               const unsigned char found[32], const char *logged_name,
                               const unsigned char logged[32], itg_error *err)
{
    char is[ITG_CLI_HEX], was[ITG_CLI_HEX];
    if (memcmp(found, logged, 32) == 0) return ITG_OK;
    return itg_fail(err, ITG_BAD_ARGUMENT,
                    "%.120s: has SHA-256 %.16s..., run %" PRId64 " of %.120s had %.16s... (%.120s)",
                    path, itg_sha256_hex(found, is), w->resumed->run,
                    w->args->values[ITG_CLI_OPT_DB].text, itg_sha256_hex(logged, was), logged_name);
}

itg_status itg_cli_search_agree(const itg_cli_search_work *w, itg_error *err)
{
    const itg_run_info *info = &w->resumed->info;
    const itg_cli_search_files *f = &w->files;
    itg_status status = compare_hash(w, f->model, itg_model_hash(w->model), info->model_name,
                                     info->model_hash, err);
    if (status == ITG_OK)
        status = compare_hash(w, f->data, itg_data_hash(w->data.samples), info->data.name,
                              info->data.hash, err);
    if (status == ITG_OK && f->labels)
        status =
            compare_hash(w, f->labels, w->labels.hash, info->labels.name, info->labels.hash, err);
    if (status == ITG_OK && f->holdout)
        status = compare_hash(w, f->holdout, itg_data_hash(w->holdout.samples), info->holdout.name,
                              info->holdout.hash, err);
    if (status == ITG_OK && f->holdout_labels)
        status = compare_hash(w, f->holdout_labels, w->holdout_labels.hash,
                              info->holdout_labels.name, info->holdout_labels.hash, err);
    return status;
}

/* ---- the run ---- */

static itg_status read_run(itg_cli_search_work *w, itg_error *err)
{
    const itg_cli_value *values = w->args->values;
    int64_t run = values[ITG_CLI_OPT_RESUME].integer;
    itg_run_log *log = NULL;
    itg_cli_holder self;
    itg_status status = itg_run_log_open_reader(values[ITG_CLI_OPT_DB].text, &log, err);
    if (status == ITG_OK) status = itg_run_log_read_run(log, run, &w->resumed, err);
    /* Checks for another writer before the files are read; the search checks again. */
    if (status == ITG_OK) status = itg_run_log_check_free(log, run, itg_cli_claim(&self), err);
    if (status == ITG_OK)
        status = itg_run_log_load_trials(log, run, &w->replay, &w->replay_count, err);
    itg_run_log_close(log, NULL);
    return status;
}

/* Refuses a run of another version, which may score the same point differently. */
static itg_status check_version(const itg_cli_search_work *w, itg_error *err)
{
    const char *version = w->resumed->info.engine_version;
    const char *db = w->args->values[ITG_CLI_OPT_DB].text;
    if (strcmp(version, itg_engine_version()) != 0)
        return itg_fail(err, ITG_UNSUPPORTED,
                        "run %" PRId64 " of %s was made by version %s; this is %s, which "
                        "cannot go on with it",
                        w->resumed->run, db, version, itg_engine_version());
    if (!w->resumed->info.space_json)
        return itg_fail(err, ITG_UNSUPPORTED,
                        "run %" PRId64 " of %s was written before runs could be resumed",
                        w->resumed->run, db);
    return ITG_OK;
}

itg_status itg_cli_search_resume(itg_cli_search_work *w, itg_error *err)
{
    itg_status status = read_run(w, err);
    if (status == ITG_OK) status = check_version(w, err);
    if (status == ITG_OK) status = resume_options(w, err);
    if (status == ITG_OK) status = resume_hardware(w, err);
    if (status == ITG_OK) status = resume_preprocess(w, err);
    if (status == ITG_OK) status = resume_files(w, err);
    if (status == ITG_OK) status = protect_inputs(w, err);
    if (status != ITG_OK) return status;
    w->options.replay = w->replay;
    w->options.replay_count = w->replay_count;
    return ITG_OK;
}
