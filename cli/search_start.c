/* --start: the point where a search begins; --past: runs whose trials the searcher learns from. */
#include "base/base.h"
#include "cli/cmd_search.h"
#include <ctype.h>
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

/* Returns what differs, so that trials are not points of one model; NULL if nothing does. */
static const char *difference(const itg_run_info *a, const itg_run_info *b)
{
    if (memcmp(a->model_hash, b->model_hash, sizeof a->model_hash) != 0) return "another model";
    if (strcmp(a->hardware_json, b->hardware_json) != 0) return "another hardware";
    if (strcmp(a->engine_version, b->engine_version) != 0) return "another version of the engine";
    if (!a->space_json || !b->space_json || strcmp(a->space_json, b->space_json) != 0)
        return "other choices";
    if (itg_cli_compare_preprocess(a->preprocess_json, b->preprocess_json) != 0)
        return "another preprocessing";
    if (!itg_cli_same_data(&a->data, &b->data) || !itg_cli_same_data(&a->labels, &b->labels))
        return "other data";
    return NULL;
}

typedef struct earlier {
    itg_cli_search_work *w;
    itg_run_log *log;
    itg_run_info wanted;
    itg_strbuf name; /* "RUN:TRIALS,..." */
    int64_t capacity;
} earlier;

/* Adds at most `most` trials of a run; below zero: all. Leaves out trials of later rounds, which
 * have other codes of weights. */
static itg_status add_trials(earlier *e, int64_t run, int64_t most, itg_error *err)
{
    itg_cli_past *past = &e->w->past;
    itg_trial *trials = NULL;
    int64_t count = 0;
    itg_status status = itg_run_log_load_trials(e->log, run, &trials, &count, err);
    if (status != ITG_OK) return status;
    itg_cli_past_block *blocks =
        realloc(past->blocks, sizeof *blocks * ((size_t)past->block_count + 1));
    itg_trial *all = realloc(past->trials, sizeof *all * (size_t)(past->given.count + count + 1));
    if (blocks) past->blocks = blocks;
    if (all) past->trials = all;
    if (!blocks || !all || (most > count)) {
        itg_run_log_free_trials(trials, count);
        return most > count
                   ? itg_fail(err, ITG_MISMATCH,
                              "run %" PRId64 " of %.200s has %" PRId64 " trials, and had %" PRId64,
                              run, db_of(e->w), count, most)
                   : itg_fail(err, ITG_NO_MEMORY, "no memory for earlier trials");
    }
    blocks[past->block_count++] = (itg_cli_past_block){trials, count};
    if (most < 0) most = count;
    for (int64_t i = 0; i < most; i++)
        if (trials[i].round == 0) all[past->given.count++] = trials[i];
    itg_strbuf_format(&e->name, "%s%" PRId64 ":%" PRId64, e->name.text ? "," : "", run, most);
    return ITG_OK;
}

static itg_status add_run(earlier *e, int64_t run, int64_t most, bool must_fit, itg_error *err)
{
    itg_run_record *record = NULL;
    itg_status status = itg_run_log_read_run(e->log, run, &record, err);
    if (status != ITG_OK) return status;
    const char *other = difference(&record->info, &e->wanted);
    if (other && must_fit)
        status = itg_fail(err, ITG_BAD_ARGUMENT,
                          "--past: run %" PRId64 " of %.200s has %s: its trials say nothing here",
                          run, db_of(e->w), other);
    if (!other && record->trials > 0) status = add_trials(e, run, most, err);
    itg_run_record_destroy(record);
    return status;
}

static itg_status add_all(earlier *e, itg_error *err)
{
    int64_t *runs = NULL, count = 0;
    itg_status status = itg_run_log_runs(e->log, &runs, &count, err);
    for (int64_t i = 0; i < count && status == ITG_OK; i++)
        status = add_run(e, runs[i], -1, false, err);
    itg_free(runs);
    return status;
}

/* Adds the runs of a list: "3,7", or with numbers of trials "3:120,7:85". */
static itg_status add_listed(earlier *e, const char *list, itg_error *err)
{
    itg_status status = ITG_OK;
    while (status == ITG_OK) {
        char *end = NULL, *behind = NULL;
        long long run = isdigit((unsigned char)*list) ? strtoll(list, &end, 10) : 0, most = -1;
        if (run > 0 && *end == ':' && isdigit((unsigned char)end[1])) {
            most = strtoll(end + 1, &behind, 10);
            end = behind;
        }
        if (run <= 0 || (*end && *end != ','))
            return itg_fail(err, ITG_BAD_ARGUMENT,
                            "--past: '%.40s': expected numbers of runs with commas between, or all",
                            list);
        status = add_run(e, run, most, true, err);
        if (!*end) break;
        list = end + 1;
    }
    return status;
}

/* Reads the runs of --past. A log that does not exist yet has none. */
static itg_status read_past(itg_cli_search_work *w, const char *what, itg_error *err)
{
    earlier e = {.w = w};
    const bool all = strcmp(what, "all") == 0;
    if (all && access(db_of(w), F_OK) != 0) return ITG_OK;
    itg_status status = itg_cli_search_info(w, &e.wanted, err);
    if (status == ITG_OK) status = itg_run_log_open_reader(db_of(w), &e.log, err);
    if (status == ITG_OK) status = all ? add_all(&e, err) : add_listed(&e, what, err);
    itg_run_log_close(e.log, NULL);
    if (status == ITG_OK && e.name.failed)
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for earlier trials");
    w->past.name = e.name.text;
    w->past.given.name = e.name.text;
    w->past.given.trials = w->past.trials;
    if (status == ITG_OK && w->past.given.count > 0) w->options.past = &w->past.given;
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
    for (int64_t i = 0; i < w->past.block_count; i++)
        itg_run_log_free_trials(w->past.blocks[i].trials, w->past.blocks[i].count);
    free(w->past.blocks);
    free(w->past.trials);
    itg_free(w->past.name);
    itg_search_start_destroy(w->start);
}
