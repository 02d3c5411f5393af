/* --start: the point where a search begins; --past: runs whose trials the searcher learns from. */
#include "base/base.h"
#include "cli/cmd_search.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *db_of(const itg_cli_search_work *w)
{
    return w->args->values[ITG_CLI_OPT_DB].text;
}

/* ---- the start ---- */

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 16;
}

static itg_status start_of_record(itg_cli_search_work *w, const itg_run_record *r,
                                  itg_search_start **out, itg_error *err)
{
    char name[512];
    size_t bytes = 0;
    itg_strategy_file *file = NULL;
    snprintf(name, sizeof name, "%.400s: run %" PRId64 ": its strategy", db_of(w), r->run);
    if (!r->strategy_json)
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s is not there: it found none", name);
    unsigned char *codes = r->codes ? itg_hex_bytes(r->codes, &bytes) : NULL;
    if (r->codes && !codes) return itg_fail(err, ITG_NO_MEMORY, "no memory for a strategy");
    const itg_buffer text = {(char *)(uintptr_t)r->strategy_json, strlen(r->strategy_json)},
                     second = {(char *)codes, bytes};
    itg_status status =
        itg_strategy_open_memory(w->model, &text, codes ? &second : NULL, name, &file, err);
    if (status == ITG_OK)
        status = itg_search_start_strategy(w->model, w->hw, &w->options, file, out, err);
    itg_strategy_close(file);
    free(codes);
    return status;
}

/* Reads the start from run RUN, or from the model's best run on this hardware. */
static itg_status start_of_log(itg_cli_search_work *w, const char *what, itg_search_start **out,
                               itg_error *err)
{
    itg_run_log *log = NULL;
    itg_cli_logged *runs = NULL, one = {0};
    int64_t count = 0;
    const itg_run_record *record = NULL;
    itg_status status = itg_run_log_open_reader(db_of(w), &log, err);
    if (status == ITG_OK && is_number(what)) {
        status = itg_cli_logged_read(log, strtoll(what, NULL, 10), &one, err);
        record = one.record;
    } else if (status == ITG_OK) {
        status = itg_cli_logged_all(log, &runs, &count, err);
        const itg_cli_logged *best = NULL;
        if (status == ITG_OK)
            best = itg_cli_runs_find_best(runs, count, itg_model_hash(w->model),
                                          itg_hardware_json(w->hw));
        if (status == ITG_OK && !best)
            status = itg_fail(err, ITG_BAD_ARGUMENT,
                              "--start best: %.200s has no run of this model on %.60s that met its "
                              "goal",
                              db_of(w), itg_hardware_name(w->hw));
        record = best ? best->record : NULL;
    }
    if (status == ITG_OK) status = start_of_record(w, record, out, err);
    itg_cli_logged_close(&one);
    itg_cli_logged_free(runs, count);
    itg_run_log_close(log, NULL);
    return status;
}

static itg_status start_of_model(itg_cli_search_work *w, const char *path, itg_search_start **out,
                                 itg_error *err)
{
    itg_model_options options = w->options.model;
    itg_model *model = NULL;
    options.version = ITG_MODEL_OPTIONS_VERSION;
    itg_status status = itg_model_open(path, &options, &model, err);
    if (status == ITG_OK)
        status = itg_search_start_quantized(w->model, w->hw, &w->options, model, out, err);
    itg_model_close(model);
    return status;
}

static itg_status start_of_file(itg_cli_search_work *w, const char *path, itg_search_start **out,
                                itg_error *err)
{
    itg_strategy_file *file = NULL;
    itg_status status = itg_strategy_open(w->model, path, &file, err);
    if (status == ITG_OK)
        status = itg_search_start_strategy(w->model, w->hw, &w->options, file, out, err);
    itg_strategy_close(file);
    return status;
}

static itg_status make_start(itg_cli_search_work *w, const char *what, itg_search_start **out,
                             itg_error *err)
{
    bool in_log = is_number(what) || strcmp(what, "best") == 0;
    if (in_log && access(what, F_OK) != 0) {
        if (db_of(w)) return start_of_log(w, what, out, err);
        return itg_fail(err, ITG_BAD_ARGUMENT, "--start %s goes with --db, the log of the run",
                        what);
    }
    return itg_cli_ends_with(what, ".onnx") ? start_of_model(w, what, out, err)
                                            : start_of_file(w, what, out, err);
}

/* Takes the start. For a resumed run it is that of its options; a given one must be the same point.
 */
static itg_status take_start(itg_cli_search_work *w, itg_error *err)
{
    const char *what = w->args->values[ITG_CLI_OPT_START].text;
    itg_search_start *given = NULL;
    int32_t a = 0, b = 0;
    itg_status status = ITG_OK;
    if (w->resumed && !w->is_survey)
        status = itg_search_start_from_text(w->resumed->info.options_json, "its options", &w->start,
                                            err);
    if (status == ITG_OK && what) status = make_start(w, what, &given, err);
    if (status != ITG_OK || !given) return status;
    if (!w->resumed || w->is_survey) {
        w->start = given;
        return ITG_OK;
    }
    const int32_t *now = itg_search_start_point(given, &a);
    const int32_t *before = w->start ? itg_search_start_point(w->start, &b) : NULL;
    if (!before || a != b || memcmp(now, before, sizeof *now * (size_t)a) != 0)
        status =
            itg_fail(err, ITG_BAD_ARGUMENT, "--start %.200s: run %" PRId64 " of %.200s began %s",
                     what, w->resumed->run, db_of(w), before ? "elsewhere" : "without a start");
    itg_search_start_destroy(given);
    return status;
}

/* ---- earlier trials ---- */

/* Reads the runs of --past. A log that does not exist yet has none. */
static itg_status read_past(itg_cli_search_work *w, const char *what, itg_error *err)
{
    itg_run_log *log = NULL;
    itg_run_info wanted;
    itg_error why = {0};
    if (strcmp(what, "all") == 0 && access(db_of(w), F_OK) != 0) return ITG_OK;
    itg_status status = itg_cli_search_info(w, &wanted, err);
    if (status == ITG_OK) status = itg_run_log_open_reader(db_of(w), &log, err);
    if (status == ITG_OK) {
        status = itg_run_log_past(log, &wanted, what, &w->past, &why);
        if (status != ITG_OK) itg_fail(err, status, "--past: %.400s", why.message);
    }
    itg_run_log_close(log, NULL);
    if (status == ITG_OK) w->options.past = itg_run_past_trials(w->past);
    /* The options in the log name the runs, so their text is made again. */
    itg_free(w->options_json);
    itg_free(w->preprocess_json);
    itg_free(w->space_json);
    w->options_json = w->preprocess_json = w->space_json = NULL;
    return status;
}

static itg_status take_past(itg_cli_search_work *w, itg_error *err)
{
    const char *what = w->args->values[ITG_CLI_OPT_PAST].text;
    char *logged = NULL;
    itg_status status = ITG_OK;
    if (!w->resumed || w->is_survey) return what ? read_past(w, what, err) : ITG_OK;
    status = itg_search_past_from_text(w->resumed->info.options_json, "its options", &logged, err);
    if (status == ITG_OK && logged) status = read_past(w, logged, err);
    itg_free(logged);
    return status;
}

itg_status itg_cli_search_take_start(itg_cli_search_work *w, itg_error *err)
{
    itg_status status = take_start(w, err);
    if (status == ITG_OK) w->options.start = w->start;
    if (status == ITG_OK) status = take_past(w, err);
    if (status != ITG_OK || w->args->given[ITG_CLI_OPT_QUIET]) return status;
    if (w->start && *itg_search_start_misfits(w->start))
        fprintf(stderr, "intaglio: note: %s\n", itg_search_start_misfits(w->start));
    if (w->options.past)
        fprintf(stderr,
                "intaglio: note: the searcher learns from %" PRId64 " earlier trials first\n",
                w->options.past->count);
    return ITG_OK;
}

void itg_cli_search_drop_start(itg_cli_search_work *w)
{
    itg_run_past_destroy(w->past);
    itg_search_start_destroy(w->start);
}
