/* Trials of earlier runs of a log, from which a searcher learns. */
#include <intaglio/intaglio.h>
#include "base/base.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool itg_run_data_equal(const itg_run_data *a, const itg_run_data *b)
{
    if (!a->name || !b->name) return !a->name && !b->name;
    return memcmp(a->hash, b->hash, sizeof a->hash) == 0;
}

const char *itg_run_info_difference(const itg_run_info *a, const itg_run_info *b)
{
    if (memcmp(a->model_hash, b->model_hash, sizeof a->model_hash) != 0) return "another model";
    if (strcmp(a->hardware_json, b->hardware_json) != 0) return "another hardware";
    if (strcmp(a->engine_version, b->engine_version) != 0) return "another version of the engine";
    if (!a->space_json || !b->space_json || strcmp(a->space_json, b->space_json) != 0)
        return "other choices";
    if (strcmp(a->preprocess_json, b->preprocess_json) != 0) return "another preprocessing";
    if (!itg_run_data_equal(&a->data, &b->data) || !itg_run_data_equal(&a->labels, &b->labels))
        return "other data";
    return NULL;
}

/* ---- reading ---- */

typedef struct block {
    itg_trial *trials;
    int64_t count;
} block;
struct itg_run_past {
    block *blocks; /* of each run */
    int64_t block_count;
    itg_trial *trials; /* copies, whose points are in the blocks */
    char *name;
    itg_search_past given;
};

typedef struct reader {
    itg_run_log *log;
    const itg_run_info *wanted;
    itg_run_past *past;
    itg_strbuf name; /* "RUN:TRIALS,..." */
} reader;

static bool reserve(itg_run_past *past, int64_t more)
{
    block *blocks = realloc(past->blocks, sizeof *blocks * ((size_t)past->block_count + 1));
    if (blocks) past->blocks = blocks;
    itg_trial *all = realloc(past->trials, sizeof *all * (size_t)(past->given.count + more + 1));
    if (all) past->trials = all;
    return blocks && all;
}

/* Adds at most `most` trials of a run; below zero: all. Leaves out trials of later rounds, which
 * have other codes of weights. */
static itg_status add_trials(reader *r, const itg_run_record *run, int64_t most, itg_error *err)
{
    itg_run_past *past = r->past;
    itg_trial *trials = NULL;
    int64_t count = 0;
    itg_status status = itg_run_log_load_trials(r->log, run->run, &trials, &count, err);
    if (status == ITG_OK && most > count)
        status = itg_fail(err, ITG_MISMATCH,
                          "run %" PRId64 " of %.200s has %" PRId64 " trials, and had %" PRId64,
                          run->run, run->log, count, most);
    if (status == ITG_OK && !reserve(past, count))
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for earlier trials");
    if (status != ITG_OK) {
        itg_run_log_free_trials(trials, count);
        return status;
    }
    past->blocks[past->block_count++] = (block){trials, count};
    if (most < 0) most = count;
    for (int64_t i = 0; i < most; i++)
        if (trials[i].round == 0) past->trials[past->given.count++] = trials[i];
    itg_strbuf_format(&r->name, "%s%" PRId64 ":%" PRId64, r->name.text ? "," : "", run->run, most);
    return ITG_OK;
}

static itg_status add_run(reader *r, int64_t number, int64_t most, bool must_fit, itg_error *err)
{
    itg_run_record *run = NULL;
    itg_status status = itg_run_log_read_run(r->log, number, &run, err);
    if (status != ITG_OK) return status;
    const char *other = itg_run_info_difference(&run->info, r->wanted);
    if (other && must_fit)
        status = itg_fail(err, ITG_BAD_ARGUMENT,
                          "run %" PRId64 " of %.200s has %s: its trials say nothing here", number,
                          run->log, other);
    if (!other && run->trials > 0) status = add_trials(r, run, most, err);
    itg_run_record_destroy(run);
    return status;
}

static itg_status add_all(reader *r, itg_error *err)
{
    int64_t *runs = NULL, count = 0;
    itg_status status = itg_run_log_runs(r->log, &runs, &count, err);
    for (int64_t i = 0; i < count && status == ITG_OK; i++)
        status = add_run(r, runs[i], -1, false, err);
    itg_free(runs);
    return status;
}

/* Adds the runs of a list: "3,7", or with numbers of trials "3:120,7:85". */
static itg_status add_listed(reader *r, const char *list, itg_error *err)
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
                            "'%.40s': expected numbers of runs with commas between, or all", list);
        status = add_run(r, run, most, true, err);
        if (!*end) break;
        list = end + 1;
    }
    return status;
}

itg_status itg_run_log_past(itg_run_log *log, const itg_run_info *wanted, const char *what,
                            itg_run_past **out, itg_error *err)
{
    reader r = {log, wanted, calloc(1, sizeof *r.past), {0}};
    if (!r.past) return itg_fail(err, ITG_NO_MEMORY, "no memory for earlier trials");
    itg_status status = strcmp(what, "all") == 0 ? add_all(&r, err) : add_listed(&r, what, err);
    if (status == ITG_OK && r.name.failed)
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for earlier trials");
    r.past->name = r.name.text;
    r.past->given.name = r.name.text;
    r.past->given.trials = r.past->trials;
    if (status == ITG_OK)
        *out = r.past;
    else
        itg_run_past_destroy(r.past);
    return status;
}

const itg_search_past *itg_run_past_trials(const itg_run_past *past)
{
    return past->given.count > 0 ? &past->given : NULL;
}

void itg_run_past_destroy(itg_run_past *past)
{
    if (!past) return;
    for (int64_t i = 0; i < past->block_count; i++)
        itg_run_log_free_trials(past->blocks[i].trials, past->blocks[i].count);
    free(past->blocks);
    free(past->trials);
    free(past->name);
    free(past);
}
