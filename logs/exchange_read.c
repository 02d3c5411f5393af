/* A run from JSON: every member is there, of its type and within its limits, and none that is not
 * known; what a number refers to exists. */
#include "base/user_metric.h"
#include "logs/exchange.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The largest integer that JSON readers agree on. */
#define MOST (INT64_C(1) << 53)

typedef struct reader {
    const itg_json *json;
    itg_arena *arena;
    itg_error *err;
} reader;

static itg_status refuse(const reader *r, const itg_json_value *v, const char *expected)
{
    return itg_json_fail(r->json, v, r->err, ITG_BAD_FILE, "expected %s", expected);
}

/* The member, of any type. */
static itg_status need(const reader *r, const itg_json_value *object, const char *key,
                       const itg_json_value **out)
{
    *out = itg_json_find(object, key);
    return *out ? ITG_OK
                : itg_json_fail(r->json, object, r->err, ITG_BAD_FILE, "key '%s' is missing", key);
}

static bool is_null(const itg_json_value *v)
{
    return itg_json_typeof(v) == ITG_JSON_NULL;
}

/* ---- values ---- */

static itg_status read_string(const reader *r, const itg_json_value *object, const char *key,
                              bool optional, const char **out)
{
    const itg_json_value *v = NULL;
    itg_status status = need(r, object, key, &v);
    if (status != ITG_OK || (optional && is_null(v))) return status;
    return itg_json_get_string(r->json, v, out, r->err);
}

static itg_status read_hash(const reader *r, const itg_json_value *object, const char *key,
                            unsigned char out[32])
{
    const itg_json_value *v = NULL;
    const char *text = NULL;
    itg_status status = itg_json_need(r->json, object, key, ITG_JSON_STRING, &v, r->err);
    if (status == ITG_OK) status = itg_json_get_string(r->json, v, &text, r->err);
    if (status == ITG_OK && !itg_log_parse_hash(text, out))
        status = refuse(r, v, "a hash: 64 hexadecimal digits in lower case");
    return status;
}

static itg_status read_integer(const reader *r, const itg_json_value *object, const char *key,
                               int64_t max, int64_t *out)
{
    const itg_json_value *v = NULL;
    itg_status status = itg_json_need(r->json, object, key, ITG_JSON_NUMBER, &v, r->err);
    return status == ITG_OK ? itg_json_get_int(r->json, v, 0, max, out, r->err) : status;
}

/* "inf" and "-inf" are infinity. */
static itg_status get_number(const reader *r, const itg_json_value *v, double *out)
{
    const char *text = "";
    if (itg_json_typeof(v) == ITG_JSON_STRING) (void)itg_json_get_string(r->json, v, &text, NULL);
    *out = *text == '-' ? -(double)INFINITY : (double)INFINITY;
    return strcmp(text + (*text == '-'), "inf") == 0 ? ITG_OK
                                                     : itg_json_get_number(r->json, v, out, r->err);
}

/* A JSON document in a string. */
static itg_status read_document(const reader *r, const itg_json_value *object, const char *key,
                                bool optional, const char **out)
{
    itg_json *inner = NULL;
    itg_error why = {0};
    itg_status status = read_string(r, object, key, optional, out);
    if (status != ITG_OK || !*out) return status;
    status = itg_json_parse(*out, strlen(*out), key, &inner, &why);
    itg_json_destroy(inner);
    if (status == ITG_OK || status == ITG_NO_MEMORY)
        return status == ITG_OK ? status : itg_fail(r->err, status, "%s", why.message);
    return itg_json_fail(r->json, itg_json_find(object, key), r->err, ITG_BAD_FILE,
                         "expected the text of a JSON document: %s", why.message);
}

/* ---- scores ---- */

/* Absent: not known. */
static itg_status read_metric(const reader *r, const itg_json_value *object, itg_metric metric,
                              double *out)
{
    const itg_metric_info *about = itg_metric_about(metric);
    const itg_json_value *v = itg_json_find(object, about->name);
    itg_status status = v ? get_number(r, v, out) : ITG_OK;
    if (v && status == ITG_OK && !itg_metric_allows(metric, *out))
        status = refuse(r, v, itg_unit_range(about->unit));
    return status;
}

/* Where stopped_at is set, there is no digest. */
static itg_status read_score(const reader *r, const itg_json_value *object, itg_score *out)
{
    const char *keys[ITG_METRIC_USER1 + 4] = {0};
    const itg_json_value *user = NULL;
    int64_t stopped_at = out->stopped_at;
    if (itg_json_typeof(object) != ITG_JSON_OBJECT) return refuse(r, object, "a score");
    for (int m = 0; m < ITG_METRIC_USER1; m++)
        keys[m] = itg_metric_about((itg_metric)m)->name;
    keys[ITG_METRIC_USER1] = "samples";
    keys[ITG_METRIC_USER1 + 1] = "digest";
    keys[ITG_METRIC_USER1 + 2] = "user_metrics";
    *out = itg_score_unknown();
    out->stopped_at = stopped_at;
    itg_status status = itg_json_allow_keys(r->json, object, keys, r->err);
    if (status == ITG_OK) status = read_integer(r, object, "samples", MOST, &out->samples);
    for (int m = 0; m < ITG_METRIC_USER1 && status == ITG_OK; m++)
        status = read_metric(r, object, (itg_metric)m, &out->value[m]);
    if (status == ITG_OK && (user = itg_json_find(object, "user_metrics")) != NULL)
        status =
            itg_user_metrics_read(r->json, user, out->user, &out->value[ITG_METRIC_USER1], r->err);
    if (status != ITG_OK || out->stopped_at == 0)
        return status == ITG_OK ? read_hash(r, object, "digest", out->digest) : status;
    const itg_json_value *digest = NULL;
    status = need(r, object, "digest", &digest);
    if (status != ITG_OK) return status;
    if (!is_null(digest)) return refuse(r, digest, "null, as the trial was stopped early");
    if (out->stopped_at >= out->samples)
        return refuse(r, itg_json_find(object, "samples"), "more than stopped_at");
    return ITG_OK;
}

/* ---- inputs ---- */

static itg_status read_data(const reader *r, const itg_json_value *root, int index,
                            itg_run_info *info)
{
    static const char *const keys[] = {"name", "samples", "hash", NULL};
    itg_run_data *data = itg_log_data_set(info, index);
    const itg_json_value *v = NULL;
    itg_status status = need(r, root, itg_log_data_names[index], &v);
    if (status != ITG_OK || (index > 0 && is_null(v))) return status;
    if (itg_json_typeof(v) != ITG_JSON_OBJECT) return refuse(r, v, "name, samples and hash");
    status = itg_json_allow_keys(r->json, v, keys, r->err);
    if (status == ITG_OK) status = read_string(r, v, "name", false, &data->name);
    if (status == ITG_OK) status = read_integer(r, v, "samples", MOST, &data->samples);
    return status == ITG_OK ? read_hash(r, v, "hash", data->hash) : status;
}

static itg_status read_model_and_hardware(const reader *r, const itg_json_value *root,
                                          itg_run_info *info)
{
    static const char *const model_keys[] = {"name", "hash", NULL};
    static const char *const hardware_keys[] = {"name", "description", NULL};
    const itg_json_value *v = NULL;
    itg_status status = itg_json_need(r->json, root, "model", ITG_JSON_OBJECT, &v, r->err);
    if (status == ITG_OK) status = itg_json_allow_keys(r->json, v, model_keys, r->err);
    if (status == ITG_OK) status = read_string(r, v, "name", false, &info->model_name);
    if (status == ITG_OK) status = read_hash(r, v, "hash", info->model_hash);
    if (status == ITG_OK)
        status = itg_json_need(r->json, root, "hardware", ITG_JSON_OBJECT, &v, r->err);
    if (status == ITG_OK) status = itg_json_allow_keys(r->json, v, hardware_keys, r->err);
    if (status == ITG_OK) status = read_string(r, v, "name", false, &info->hardware_name);
    return status == ITG_OK ? read_document(r, v, "description", false, &info->hardware_json)
                            : status;
}

static itg_status read_seed(const reader *r, const itg_json_value *root, uint64_t *out)
{
    char canonical[24];
    const itg_json_value *v = NULL;
    const char *text = NULL;
    itg_status status = itg_json_need(r->json, root, "seed", ITG_JSON_STRING, &v, r->err);
    if (status == ITG_OK) status = itg_json_get_string(r->json, v, &text, r->err);
    if (status != ITG_OK) return status;
    unsigned long long value = strtoull(text, NULL, 10);
    snprintf(canonical, sizeof canonical, "%llu", value);
    if (strcmp(canonical, text) != 0) return refuse(r, v, "a number below 2^64 in a string");
    *out = value;
    return ITG_OK;
}

static itg_status read_info(const reader *r, const itg_json_value *root, itg_run_info *info)
{
    itg_status status = read_model_and_hardware(r, root, info);
    for (int i = 0; i < ITG_LOG_DATA_SETS && status == ITG_OK; i++)
        status = read_data(r, root, i, info);
    if (status == ITG_OK) status = read_string(r, root, "searcher", false, &info->searcher);
    if (status == ITG_OK) status = read_document(r, root, "options", false, &info->options_json);
    if (status == ITG_OK)
        status = read_document(r, root, "preprocess", false, &info->preprocess_json);
    if (status == ITG_OK) status = read_document(r, root, "space", true, &info->space_json);
    if (status == ITG_OK)
        status = read_string(r, root, "engine_version", false, &info->engine_version);
    if (status == ITG_OK) status = read_string(r, root, "started", false, &info->started);
    return status == ITG_OK ? read_seed(r, root, &info->seed) : status;
}

/* ---- trials ---- */

static itg_status read_point(const reader *r, const itg_json_value *list, itg_trial *out)
{
    size_t length = itg_json_length(list);
    int32_t *point = itg_arena_array(r->arena, length + 1, sizeof *point);
    itg_status status = ITG_OK;
    if (!point) return itg_fail(r->err, ITG_NO_MEMORY, "no memory for the trials of a run");
    for (size_t i = 0; i < length && status == ITG_OK; i++) {
        int64_t value = 0;
        status =
            itg_json_get_int(r->json, itg_json_at(list, i), 0, ITG_LOG_MAX_CHOICE, &value, r->err);
        point[i] = (int32_t)value;
    }
    out->point = point;
    out->dim_count = (int32_t)length;
    return status;
}

/* With a score, or with an error (which may be null): could not be realized. */
static itg_status read_outcome(const reader *r, const itg_json_value *v, itg_trial *out)
{
    static const char *const keys[][6] = {
        {"number", "point", "seconds", "error", NULL},
        {"number", "point", "seconds", "stopped_at", "score", NULL}};
    const itg_json_value *score = itg_json_find(v, "score"), *stop = itg_json_find(v, "stopped_at");
    out->feasible = score != NULL;
    itg_status status = itg_json_allow_keys(r->json, v, keys[out->feasible], r->err);
    if (status == ITG_OK && stop)
        status = itg_json_get_int(r->json, stop, 1, MOST, &out->score.stopped_at, r->err);
    if (status != ITG_OK) return status;
    return score ? read_score(r, score, &out->score)
                 : read_string(r, v, "error", true, &out->error);
}

static itg_status read_trial(const reader *r, const itg_json_value *v, int64_t number,
                             itg_trial *out)
{
    const itg_json_value *member = NULL;
    if (itg_json_typeof(v) != ITG_JSON_OBJECT) return refuse(r, v, "a trial");
    itg_status status = read_integer(r, v, "number", MOST, &out->index);
    if (status == ITG_OK && out->index != number)
        return itg_json_fail(r->json, itg_json_find(v, "number"), r->err, ITG_BAD_FILE,
                             "expected %lld: trials are numbered from 0 without a gap",
                             (long long)number);
    if (status == ITG_OK)
        status = itg_json_need(r->json, v, "point", ITG_JSON_ARRAY, &member, r->err);
    if (status == ITG_OK) status = read_point(r, member, out);
    if (status == ITG_OK) status = need(r, v, "seconds", &member);
    if (status == ITG_OK) status = get_number(r, member, &out->seconds);
    if (status == ITG_OK && !(out->seconds >= 0)) status = refuse(r, member, "a number from 0");
    return status == ITG_OK ? read_outcome(r, v, out) : status;
}

/* The text of an array's elements, and of the next of them. */
typedef struct slice {
    const char *at, *end;
} slice;

/* Where the value that begins at `at` ends: at the comma or bracket behind it. Only brackets and
 * strings are looked at: what is cut out is parsed. */
static const char *end_of_value(const char *at, const char *end)
{
    for (int depth = 0; at < end; at++) {
        if (*at == '"') {
            for (at++; at < end && *at != '"'; at++)
                at += *at == '\\' && at + 1 < end;
        } else if (*at == '[' || *at == '{') {
            depth++;
        } else if (*at == ']' || *at == '}') {
            if (depth-- == 0) return at;
        } else if (*at == ',' && depth == 0) {
            return at;
        }
    }
    return end;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n", *at) && *at)
        at++;
    return at;
}

/* The elements of the object's member "trials", or nothing. */
static slice find_trials(const char *text, size_t bytes)
{
    static const char key[] = "\"trials\"";
    const char *end = text + bytes, *at = skip_blanks(text, end);
    for (at += at < end; at < end; at++) { /* behind the '{', then behind each ',' */
        at = skip_blanks(at, end);
        size_t left = (size_t)(end - at);
        bool found = left > sizeof key && memcmp(at, key, sizeof key - 1) == 0;
        const char *value = found ? skip_blanks(at + sizeof key - 1, end) : end;
        if (value < end && *value == ':') value = skip_blanks(value + 1, end);
        if (value < end && *value == '[') {
            const char *last = value + 1;
            while ((last = end_of_value(last, end)) < end && *last == ',')
                last++;
            return (slice){value + 1, last};
        }
        at = end_of_value(at, end);
        if (at < end && *at != ',') break;
    }
    return (slice){NULL, NULL};
}

/* Cuts off the next element; false: there is none. */
static bool next(slice *rest, slice *out)
{
    if (rest->at > rest->end) return false;
    *out = (slice){rest->at, end_of_value(rest->at, rest->end)};
    rest->at = out->end + 1;
    return true;
}

static int64_t count_of(slice elements)
{
    int64_t count = 0;
    slice element;
    if (skip_blanks(elements.at, elements.end) == elements.end) return 0;
    while (next(&elements, &element))
        count++;
    return count;
}

/* What a trial keeps of its text. */
static itg_status keep_error(const reader *r, itg_trial *trial)
{
    if (!trial->error) return ITG_OK;
    trial->error = itg_arena_strdup(r->arena, trial->error);
    return trial->error ? ITG_OK
                        : itg_fail(r->err, ITG_NO_MEMORY, "no memory for the trials of a run");
}

static itg_status parse_trial(const reader *whole, slice text, int64_t number, int32_t dims,
                              itg_trial *out)
{
    char source[256];
    itg_json *json = NULL;
    snprintf(source, sizeof source, "%.200s: trials[%lld]", itg_json_source(whole->json),
             (long long)number);
    itg_status status =
        itg_json_parse(text.at, (size_t)(text.end - text.at), source, &json, whole->err);
    const reader r = {json, whole->arena, whole->err};
    if (status == ITG_OK) status = read_trial(&r, itg_json_root(json), number, out);
    if (status == ITG_OK && number > 0 && out->dim_count != dims)
        status = refuse(&r, itg_json_find(itg_json_root(json), "point"),
                        "as many numbers as in the other points");
    if (status == ITG_OK) status = keep_error(&r, out);
    itg_json_destroy(json);
    return status;
}

static itg_status read_trials(const reader *r, slice elements, itg_log_run *out)
{
    int64_t count = count_of(elements);
    itg_trial *trials = itg_arena_array(r->arena, (size_t)count + 1, sizeof *trials);
    if (!trials) return itg_fail(r->err, ITG_NO_MEMORY, "no memory for the trials of a run");
    itg_status status = ITG_OK;
    for (int64_t i = 0; i < count && status == ITG_OK; i++) {
        slice element = {NULL, NULL};
        next(&elements, &element);
        status = parse_trial(r, element, i, trials[0].dim_count, &trials[i]);
    }
    out->trials = trials;
    out->count = count;
    return status;
}

/* ---- the end ---- */

static itg_status read_results(const reader *r, const itg_json_value *root, itg_run_record *out)
{
    const char *keys[ITG_RESULT_COUNT + 1] = {0};
    const itg_json_value *results = NULL;
    itg_status status = itg_json_need(r->json, root, "results", ITG_JSON_OBJECT, &results, r->err);
    if (status != ITG_OK) return status;
    for (int i = 0; i < ITG_RESULT_COUNT; i++)
        keys[i] = itg_log_result_names[i];
    status = itg_json_allow_keys(r->json, results, keys, r->err);
    for (int i = 0; i < ITG_RESULT_COUNT && status == ITG_OK; i++) {
        const itg_json_value *v = itg_json_find(results, keys[i]);
        if (!v) continue;
        out->known[i] = true;
        status = read_score(r, v, &out->result[i]);
    }
    return status;
}

/* A run that has not ended has neither best nor results. */
static itg_status check_not_ended(const reader *r, const itg_json_value *root,
                                  const itg_run_record *out)
{
    bool results = false;
    for (int i = 0; i < ITG_RESULT_COUNT; i++)
        results |= out->known[i];
    if (out->ended || (!results && !out->strategy_json && out->best_trial < 0)) return ITG_OK;
    return refuse(r, itg_json_find(root, "stop_reason"), "a reason, as the run has results");
}

static itg_status read_end(const reader *r, const itg_json_value *root, int64_t trials,
                           itg_run_record *out)
{
    const itg_json_value *best = NULL, *met = NULL;
    itg_status status = read_string(r, root, "stop_reason", true, &out->stop_reason);
    if (status == ITG_OK) status = need(r, root, "goal_met", &met);
    if (status != ITG_OK) return status;
    out->ended = out->stop_reason != NULL;
    if (out->ended)
        status = itg_json_get_bool(r->json, met, &out->goal_met, r->err);
    else if (!is_null(met))
        status = refuse(r, met, "null, as the run has no stop_reason");
    if (status == ITG_OK) status = need(r, root, "best_trial", &best);
    if (status == ITG_OK && !is_null(best))
        status = itg_json_get_int(r->json, best, 0, MOST, &out->best_trial, r->err);
    if (status == ITG_OK && out->best_trial >= trials)
        status = refuse(r, best, "the number of a trial");
    if (status == ITG_OK) status = read_document(r, root, "strategy", true, &out->strategy_json);
    if (status == ITG_OK) status = read_results(r, root, out);
    return status == ITG_OK ? check_not_ended(r, root, out) : status;
}

static itg_status check_head(const reader *r, const itg_json_value *root)
{
    static const char *const keys[] = {
        "kind",    "version",     "run",      "model",          "hardware",
        "data",    "labels",      "holdout",  "holdout_labels", "searcher",
        "options", "preprocess",  "space",    "engine_version", "started",
        "seed",    "stop_reason", "goal_met", "best_trial",     "strategy",
        "results", "trials",      NULL};
    const char *kind = NULL;
    int64_t number = 0;
    if (itg_json_typeof(root) != ITG_JSON_OBJECT) return refuse(r, root, "an object");
    itg_status status = read_string(r, root, "kind", false, &kind);
    if (status == ITG_OK && strcmp(kind, ITG_LOG_EXCHANGE_KIND) != 0)
        status = refuse(r, itg_json_find(root, "kind"),
                        "\"" ITG_LOG_EXCHANGE_KIND "\": a file that 'intaglio runs export' wrote");
    if (status == ITG_OK)
        status = read_integer(r, root, "version", ITG_LOG_EXCHANGE_VERSION, &number);
    if (status == ITG_OK && number != ITG_LOG_EXCHANGE_VERSION)
        status = refuse(r, itg_json_find(root, "version"), "2");
    if (status == ITG_OK) status = read_integer(r, root, "run", MOST, &number);
    return status == ITG_OK ? itg_json_allow_keys(r->json, root, keys, r->err) : status;
}

/* The text with blanks in place of the trials, so that lines and columns stay. */
static itg_status parse_head(const char *text, size_t bytes, const char *path, slice trials,
                             itg_json **out, itg_error *err)
{
    char *head = malloc(bytes + 1);
    if (!head) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory to read it", path);
    memcpy(head, text, bytes);
    for (size_t i = 0; trials.at && i < (size_t)(trials.end - trials.at); i++) {
        char *c = &head[trials.at - text + (ptrdiff_t)i];
        if (*c != '\n') *c = ' ';
    }
    itg_status status = itg_json_parse(head, bytes, path, out, err);
    free(head);
    return status;
}

static itg_status parse(const reader *r, slice trials, itg_log_run *out)
{
    const itg_json_value *root = itg_json_root(r->json), *list = NULL;
    itg_run_record *record = itg_arena_alloc(r->arena, sizeof *record);
    if (!record) return itg_fail(r->err, ITG_NO_MEMORY, "no memory for a run");
    *record = (itg_run_record){.best_trial = -1};
    itg_status status = check_head(r, root);
    if (status == ITG_OK) status = read_info(r, root, &record->info);
    if (status == ITG_OK)
        status = itg_json_need(r->json, root, "trials", ITG_JSON_ARRAY, &list, r->err);
    if (status == ITG_OK && itg_json_length(list) > 0) /* the key has escapes */
        status = refuse(r, list, "the key as \"trials\"");
    if (status == ITG_OK) status = read_trials(r, trials, out);
    if (status == ITG_OK) status = read_end(r, root, out->count, record);
    record->trials = out->count;
    out->record = record;
    return status;
}

itg_status itg_log_parse_run(const char *text, size_t bytes, const char *path, itg_arena *arena,
                             itg_json **json, itg_log_run *out, itg_error *err)
{
    slice trials = find_trials(text, bytes);
    itg_status status = parse_head(text, bytes, path, trials, json, err);
    const reader r = {*json, arena, err};
    return status == ITG_OK ? parse(&r, trials, out) : status;
}
