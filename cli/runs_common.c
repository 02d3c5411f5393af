/* Reads runs of the log and formats them as text and JSON. */
#include "base/selection.h"
#include "cli/runs.h"
#include "cli/goal.h"
#include "cli/table.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* Reads the goal. Options of another version may not be readable; the run is shown without them. */
static void read_goal(itg_cli_logged *run)
{
    run->has_goal = itg_search_options_from_text(run->record->info.options_json, "options",
                                                 &run->options, NULL) == ITG_OK;
}

itg_status itg_cli_logged_read(itg_run_log *log, int64_t run, itg_cli_logged *out, itg_error *err)
{
    itg_cli_logged read = {0};
    itg_status status = itg_run_log_read_run(log, run, &read.record, err);
    if (status != ITG_OK) return status;
    read_goal(&read);
    *out = read;
    return ITG_OK;
}

void itg_cli_logged_close(itg_cli_logged *run)
{
    itg_run_record_destroy(run->record);
    *run = (itg_cli_logged){0};
}

itg_status itg_cli_logged_all(itg_run_log *log, itg_cli_logged **out, int64_t *count,
                              itg_error *err)
{
    int64_t *numbers = NULL, total = 0, done = 0;
    itg_status status = itg_run_log_runs(log, &numbers, &total, err);
    if (status != ITG_OK) return status;
    itg_cli_logged *runs = calloc((size_t)total + 1, sizeof *runs);
    if (!runs) status = itg_fail(err, ITG_NO_MEMORY, "no memory for the runs");
    for (; done < total && status == ITG_OK; done += status == ITG_OK)
        status = itg_cli_logged_read(log, numbers[done], &runs[done], err);
    itg_free(numbers);
    if (status != ITG_OK) {
        itg_cli_logged_free(runs, runs ? done : 0);
        return status;
    }
    *out = runs;
    *count = total;
    return ITG_OK;
}

void itg_cli_logged_free(itg_cli_logged *runs, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        itg_cli_logged_close(&runs[i]);
    free(runs);
}

itg_goal itg_cli_logged_goal(const itg_cli_logged *run)
{
    itg_hardware *hw = NULL;
    itg_goal goal = run->options.goal;
    const char *json = run->record->info.hardware_json;
    if (json && itg_hardware_parse(json, strlen(json), "hardware", &hw, NULL) == ITG_OK)
        goal = itg_goal_on(&goal, hw);
    itg_hardware_destroy(hw);
    return goal;
}

/* ---- filters ---- */

const char *itg_cli_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_model(const itg_run_info *info, const char *wanted)
{
    enum { FEWEST_DIGITS = 4 };
    char hex[ITG_CLI_HEX];
    const char *base = itg_cli_base_name(info->model_name);
    const char *dot = strrchr(base, '.');
    size_t length = strlen(wanted);
    if (strcmp(wanted, info->model_name) == 0 || strcmp(wanted, base) == 0) return true;
    if (dot && (size_t)(dot - base) == length && memcmp(base, wanted, length) == 0) return true;
    itg_sha256_hex(info->model_hash, hex);
    return length >= FEWEST_DIGITS && strncmp(hex, wanted, length) == 0;
}

bool itg_cli_logged_matches(const itg_cli_args *args, const itg_cli_logged *run)
{
    const itg_run_info *info = &run->record->info;
    const char *model = args->values[ITG_CLI_OPT_RUNS_MODEL].text;
    const char *hardware = args->values[ITG_CLI_OPT_RUNS_HW].text;
    return (!model || is_model(info, model)) &&
           (!hardware || strcmp(hardware, info->hardware_name) == 0);
}

int itg_cli_run_number(const itg_cli_args *args, int place, int64_t *out)
{
    const char *text = args->arguments[place];
    char *end = NULL;
    long long value = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : 0;
    if (value < 1 || *end != '\0' || value == INT64_MAX)
        return itg_cli_fail_usage(
            args->command, "'%.60s' is no number of a run; 'intaglio runs list' shows them", text);
    *out = value;
    return ITG_CLI_OK;
}

/* ---- words ---- */

const char *itg_cli_when(const char *started, char *buffer, size_t size)
{
    snprintf(buffer, size, "%.16s", started);
    char *t = strchr(buffer, 'T');
    if (t) *t = ' ';
    return buffer;
}

/* Whether it is a run of intaglio sensitivity, which has neither a goal nor a best. */
static bool is_survey(const itg_cli_logged *run)
{
    return run->has_goal && strcmp(run->options.searcher, "sensitivity") == 0 &&
           run->record->best_trial < 0;
}

const char *itg_cli_state(const itg_cli_logged *run, char *buffer, size_t size)
{
    static const struct {
        const char *reason, *words;
    } known[] = {{"exhausted", "done"},
                 {"trials", "trial limit"},
                 {"seconds", "time limit"},
                 {"patience", "no progress"},
                 {"cancelled", "interrupted"}};
    const itg_run_record *r = run->record;
    bool holds = false;
    const char *words = r->stop_reason;
    for (size_t i = 0; r->ended && i < sizeof known / sizeof *known; i++)
        if (strcmp(r->stop_reason, known[i].reason) == 0) words = known[i].words;
    if (!r->ended)
        snprintf(buffer, size, "unfinished");
    else
        snprintf(buffer, size, "%s%s", words,
                 is_survey(run)                               ? ""
                 : !r->goal_met                               ? ", goal missed"
                 : itg_cli_logged_held(run, &holds) && !holds ? ", missed on hold-out"
                                                              : "");
    return buffer;
}

const char *itg_cli_short_goal(const itg_cli_logged *run, char *buffer, size_t size)
{
    const itg_goal *goal = &run->options.goal;
    char number[32], objectives[96];
    if (!run->has_goal) {
        snprintf(buffer, size, "?");
        return buffer;
    }
    snprintf(buffer, size, "%s", itg_goal_objectives_text(goal, objectives, sizeof objectives));
    if (itg_goal_drop(goal) >= 0)
        itg_cli_append(
            buffer, size, itg_goal_counts_classes(goal) ? ", drop <= %.4g %%" : ", drop <= %.4g",
            itg_goal_counts_classes(goal) ? 100 * itg_goal_drop(goal) : itg_goal_drop(goal));
    if (itg_goal_quality_metric(goal) == ITG_METRIC_SQNR)
        itg_cli_append(buffer, size,
                       itg_goal_least_sqnr(goal) > 0 ? ", SQNR >= %.4g dB" : " (SQNR)",
                       itg_goal_least_sqnr(goal));
    for (int i = 0; i < ITG_METRIC_COUNT; i++)
        if (itg_goal_limit(goal, (itg_metric)i) > 0)
            itg_cli_append(buffer, size, ", %s <= %s", itg_metric_about((itg_metric)i)->goal,
                           itg_cli_amount(itg_goal_limit(goal, (itg_metric)i), number));
    return buffer;
}

bool itg_cli_logged_held(const itg_cli_logged *run, bool *holds)
{
    const itg_run_record *r = run->record;
    bool known = run->has_goal && r->known[ITG_RESULT_BEST] && r->known[ITG_RESULT_FLOAT];
    *holds = known && itg_goal_is_met(&run->options.goal, &r->result[ITG_RESULT_FLOAT],
                                      &r->result[ITG_RESULT_BEST]);
    return known;
}

/* ---- JSON ---- */

static void json_data(itg_json_writer *json, const char *key, const itg_run_data *data)
{
    if (!data->name) {
        itg_json_put_null(json, key);
        return;
    }
    itg_json_begin(json, key, '{');
    itg_json_put_text(json, "name", data->name);
    itg_json_put_int(json, "samples", data->samples);
    itg_json_put_hash(json, "hash", data->hash);
    itg_json_end(json, '}');
}

const char *itg_cli_result_name(itg_run_result which)
{
    static const char *const names[] = {"float", "uniform 8", "hago-greedy", "best"};
    return names[which];
}

static void json_result(itg_json_writer *json, const itg_run_record *r, itg_run_result which)
{
    static const char *const keys[] = {"float", "uniform8", "hago_greedy", "best"};
    if (!r->known[which]) {
        itg_json_put_null(json, keys[which]);
        return;
    }
    itg_json_begin(json, keys[which], '{');
    itg_cli_json_score(json, &r->result[which]);
    itg_json_end(json, '}');
}

static void json_inputs(itg_json_writer *json, const itg_run_info *info)
{
    itg_json_put_text(json, "model", info->model_name);
    itg_json_put_hash(json, "model_hash", info->model_hash);
    itg_json_put_text(json, "hardware", info->hardware_name);
    json_data(json, "data", &info->data);
    json_data(json, "labels", &info->labels);
    json_data(json, "holdout", &info->holdout);
    json_data(json, "holdout_labels", &info->holdout_labels);
    itg_json_put_text(json, "searcher", info->searcher);
    itg_json_put(json, "seed", "%" PRIu64, info->seed);
    itg_json_put_text(json, "engine_version", info->engine_version);
    itg_json_put_text(json, "started", info->started);
}

void itg_cli_json_logged_begin(itg_json_writer *json, const char *key, const itg_cli_logged *run)
{
    const itg_run_record *r = run->record;
    bool holds = false, known;
    itg_json_begin(json, key, '{');
    itg_json_put_int(json, "run", r->run);
    json_inputs(json, &r->info);
    if (run->has_goal)
        itg_cli_json_goal(json, "goal", &run->options.goal);
    else
        itg_json_put_null(json, "goal");
    itg_json_put_bool(json, "ended", r->ended);
    itg_json_put_text(json, "stop_reason", r->stop_reason);
    itg_cli_json_known_bool(json, "goal_met", r->ended, r->goal_met);
    known = itg_cli_logged_held(run, &holds);
    itg_cli_json_known_bool(json, "goal_met_on_holdout", known, holds);
    itg_json_put_int(json, "trials", r->trials);
    itg_json_put_int(json, "duplicate_trials", r->duplicates);
    itg_json_put_int(json, "raced_trials", r->raced);
    itg_cli_json_known(json, "best_trial", (double)r->best_trial);
    itg_selection_write(json, &r->selection);
    for (int i = 0; i <= ITG_RESULT_BEST; i++)
        json_result(json, r, (itg_run_result)i);
}
