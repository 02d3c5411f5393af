/* Reads a run from JSON. Every member must exist, have its type and be within its limits; unknown
 * members are refused. Numbers must refer to something that exists. */
#include "base/selection.h"
#include "base/user_metric.h"
#include "logs/exchange.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The largest integer that all JSON readers represent exactly. */
#define MOST (INT64_C(1) << 53)

typedef struct reader {
    itg_json_taker t;
    itg_arena *arena;
} reader;

static void refuse(reader *r, const itg_json_value *v, const char *expected)
{
    itg_json_refuse(&r->t, v, ITG_BAD_FILE, "expected %s", expected);
}

static void no_memory(reader *r)
{
    r->t.status = itg_fail(r->t.err, ITG_NO_MEMORY, "no memory for the trials of a run");
}

/* ---- values ---- */

/* Returns a required member of any type. */
static const itg_json_value *need(reader *r, const itg_json_value *object, const char *key)
{
    const itg_json_value *v = r->t.status == ITG_OK ? itg_json_find(object, key) : NULL;
    if (!v) itg_json_refuse(&r->t, object, ITG_BAD_FILE, "key '%s' is missing", key);
    return v;
}

static bool is_null(const itg_json_value *v)
{
    return itg_json_typeof(v) == ITG_JSON_NULL;
}

/* Reads a text or null. */
static const char *read_optional(reader *r, const itg_json_value *object, const char *key)
{
    const itg_json_value *v = need(r, object, key);
    return v && !is_null(v) ? itg_json_text_of(&r->t, v) : NULL;
}

/* "inf" and "-inf" are infinity. */
static double number_of(reader *r, const itg_json_value *v)
{
    const char *text = "";
    if (itg_json_typeof(v) == ITG_JSON_STRING) (void)itg_json_get_string(r->t.json, v, &text, NULL);
    if (strcmp(text + (*text == '-'), "inf") == 0)
        return *text == '-' ? -(double)INFINITY : (double)INFINITY;
    return itg_json_number_of(&r->t, v);
}

/* Reads a text that must be a JSON document, or null. */
static const char *read_document_or_null(reader *r, const itg_json_value *object, const char *key)
{
    itg_json *inner = NULL;
    itg_error why = {0};
    const char *text = read_optional(r, object, key);
    if (!text) return NULL;
    itg_status status = itg_json_parse(text, strlen(text), key, &inner, &why);
    itg_json_destroy(inner);
    if (status == ITG_NO_MEMORY)
        r->t.status = itg_fail(r->t.err, status, "%s", why.message);
    else if (status != ITG_OK)
        itg_json_refuse(&r->t, itg_json_find(object, key), ITG_BAD_FILE,
                        "expected the text of a JSON document: %s", why.message);
    return text;
}

static const char *read_document(reader *r, const itg_json_value *object, const char *key)
{
    (void)itg_json_take_text(&r->t, object, key);
    return read_document_or_null(r, object, key);
}

/* ---- scores ---- */

/* Reads a metric; if it is absent, *out stays unknown. */
static void read_metric(reader *r, const itg_json_value *object, itg_metric metric, double *out)
{
    const itg_metric_info *about = itg_metric_about(metric);
    const itg_json_value *v = r->t.status == ITG_OK ? itg_json_find(object, about->name) : NULL;
    if (!v) return;
    *out = number_of(r, v);
    if (!itg_metric_allows(metric, *out)) refuse(r, v, itg_unit_range(about->unit));
}

/* Reads a score. It has no digest if stopped_at is set. */
static void read_score(reader *r, const itg_json_value *object, itg_score *out)
{
    const char *keys[ITG_METRIC_USER1 + 4] = {0};
    int64_t stopped_at = out->stopped_at;
    if (itg_json_typeof(object) != ITG_JSON_OBJECT) refuse(r, object, "a score");
    for (int m = 0; m < ITG_METRIC_USER1; m++)
        keys[m] = itg_metric_about((itg_metric)m)->name;
    keys[ITG_METRIC_USER1] = "samples";
    keys[ITG_METRIC_USER1 + 1] = "digest";
    keys[ITG_METRIC_USER1 + 2] = "user_metrics";
    *out = itg_score_unknown();
    out->stopped_at = stopped_at;
    itg_json_take_keys(&r->t, object, keys);
    out->samples = itg_json_take_int(&r->t, object, "samples", 0, MOST);
    for (int m = 0; m < ITG_METRIC_USER1; m++)
        read_metric(r, object, (itg_metric)m, &out->value[m]);
    itg_user_metrics_read(&r->t, object, out->user, &out->value[ITG_METRIC_USER1]);
    if (stopped_at == 0) {
        itg_json_take_hash(&r->t, object, "digest", out->digest);
        return;
    }
    const itg_json_value *digest = need(r, object, "digest");
    if (digest && !is_null(digest)) refuse(r, digest, "null, as the trial was stopped early");
    if (digest && stopped_at >= out->samples)
        refuse(r, itg_json_find(object, "samples"), "more than stopped_at");
}

/* ---- inputs ---- */

static void read_data(reader *r, const itg_json_value *root, int index, itg_run_info *info)
{
    static const char *const keys[] = {"name", "samples", "hash", NULL};
    itg_run_data *data = itg_log_data_set(info, index);
    const itg_json_value *v = need(r, root, itg_log_data_names[index]);
    if (!v || (index > 0 && is_null(v))) return;
    if (itg_json_typeof(v) != ITG_JSON_OBJECT) refuse(r, v, "name, samples and hash");
    itg_json_take_keys(&r->t, v, keys);
    data->name = itg_json_take_text(&r->t, v, "name");
    data->samples = itg_json_take_int(&r->t, v, "samples", 0, MOST);
    itg_json_take_hash(&r->t, v, "hash", data->hash);
}

static void read_info(reader *r, const itg_json_value *root, itg_run_info *info)
{
    static const char *const model_keys[] = {"name", "hash", NULL};
    static const char *const hardware_keys[] = {"name", "description", NULL};
    const itg_json_value *v = itg_json_take(&r->t, root, "model", ITG_JSON_OBJECT);
    itg_json_take_keys(&r->t, v, model_keys);
    info->model_name = itg_json_take_text(&r->t, v, "name");
    itg_json_take_hash(&r->t, v, "hash", info->model_hash);
    v = itg_json_take(&r->t, root, "hardware", ITG_JSON_OBJECT);
    itg_json_take_keys(&r->t, v, hardware_keys);
    info->hardware_name = itg_json_take_text(&r->t, v, "name");
    info->hardware_json = read_document(r, v, "description");
    for (int i = 0; i < ITG_LOG_DATA_SETS; i++)
        read_data(r, root, i, info);
    info->searcher = itg_json_take_text(&r->t, root, "searcher");
    info->options_json = read_document(r, root, "options");
    info->preprocess_json = read_document(r, root, "preprocess");
    info->space_json = read_document_or_null(r, root, "space");
    info->engine_version = itg_json_take_text(&r->t, root, "engine_version");
    info->started = itg_json_take_text(&r->t, root, "started");
    info->seed = itg_json_take_seed(&r->t, root, "seed");
}

/* ---- trials ---- */

static void read_point(reader *r, const itg_json_value *list, itg_trial *out)
{
    size_t length = list ? itg_json_length(list) : 0;
    int32_t *point = itg_arena_array(r->arena, length + 1, sizeof *point);
    if (!point) no_memory(r);
    for (size_t i = 0; i < length && r->t.status == ITG_OK; i++)
        point[i] = (int32_t)itg_json_int_of(&r->t, itg_json_at(list, i), 0, ITG_LOG_MAX_CHOICE);
    out->point = point;
    out->dim_count = (int32_t)length;
}

/* Reads a score, or an error (which may be null) of a trial that could not be realized. */
static void read_outcome(reader *r, const itg_json_value *v, itg_trial *out)
{
    static const char *const keys[][7] = {
        {"number", "round", "point", "seconds", "error", NULL},
        {"number", "round", "point", "seconds", "stopped_at", "score", NULL}};
    const itg_json_value *score = itg_json_find(v, "score"), *stop = itg_json_find(v, "stopped_at");
    out->feasible = score != NULL;
    itg_json_take_keys(&r->t, v, keys[out->feasible]);
    if (stop) out->score.stopped_at = itg_json_int_of(&r->t, stop, 1, MOST);
    if (score && r->t.status == ITG_OK) read_score(r, score, &out->score);
    if (!score) out->error = read_optional(r, v, "error");
}

static void read_trial(reader *r, const itg_json_value *v, int64_t number, itg_trial *out)
{
    if (itg_json_typeof(v) != ITG_JSON_OBJECT) refuse(r, v, "a trial");
    out->index = itg_json_take_int(&r->t, v, "number", 0, MOST);
    if (out->index != number)
        itg_json_refuse(&r->t, itg_json_find(v, "number"), ITG_BAD_FILE,
                        "expected %lld: trials are numbered from 0 without a gap",
                        (long long)number);
    out->round = (int32_t)itg_json_take_int(&r->t, v, "round", 0, ITG_LOG_MAX_CHOICE);
    read_point(r, itg_json_take(&r->t, v, "point", ITG_JSON_ARRAY), out);
    const itg_json_value *seconds = need(r, v, "seconds");
    if (!seconds) return;
    out->seconds = number_of(r, seconds);
    if (!(out->seconds >= 0)) refuse(r, seconds, "a number from 0");
    if (r->t.status == ITG_OK) read_outcome(r, v, out);
}

/* A part of the text: the elements of an array, or one of them. */
typedef struct slice {
    const char *at, *end;
} slice;

/* Returns the end of the value at `at`: the comma or bracket behind it. It only looks at brackets
 * and strings, because each value is parsed later. */
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

/* Finds the elements of the object's member "trials", or nothing. */
static slice find_trials(const char *text, size_t bytes)
{
    static const char key[] = "\"trials\"";
    const char *end = text + bytes, *at = skip_blanks(text, end);
    for (at += at < end; at < end; at++) { /* after the '{', then after each ',' */
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

/* Takes the next element; false: there is none. */
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

static itg_status parse_trial(const reader *whole, slice text, int64_t number, int32_t dims,
                              itg_trial *out)
{
    char source[256];
    itg_json *json = NULL;
    itg_error *err = whole->t.err;
    snprintf(source, sizeof source, "%.200s: trials[%lld]", itg_json_source(whole->t.json),
             (long long)number);
    itg_status status = itg_json_parse(text.at, (size_t)(text.end - text.at), source, &json, err);
    if (status != ITG_OK) return status;
    reader r = {{json, err, ITG_OK}, whole->arena};
    const itg_json_value *root = itg_json_root(json);
    read_trial(&r, root, number, out);
    if (r.t.status == ITG_OK && number > 0 && out->dim_count != dims)
        refuse(&r, itg_json_find(root, "point"), "as many numbers as in the other points");
    if (out->error) { /* the document owns the text */
        out->error = itg_arena_strdup(r.arena, out->error);
        if (!out->error) no_memory(&r);
    }
    itg_json_destroy(json);
    return r.t.status;
}

static void read_trials(reader *r, slice elements, itg_log_run *out)
{
    int64_t count = count_of(elements);
    itg_trial *trials = itg_arena_array(r->arena, (size_t)count + 1, sizeof *trials);
    if (!trials) no_memory(r);
    for (int64_t i = 0; i < count && r->t.status == ITG_OK; i++) {
        slice element = {NULL, NULL};
        next(&elements, &element);
        r->t.status = parse_trial(r, element, i, trials[0].dim_count, &trials[i]);
    }
    out->trials = trials;
    out->count = count;
}

/* ---- the end ---- */

static void read_results(reader *r, const itg_json_value *root, itg_run_record *out)
{
    const char *keys[ITG_RESULT_COUNT + 1] = {0};
    const itg_json_value *results = itg_json_take(&r->t, root, "results", ITG_JSON_OBJECT);
    for (int i = 0; i < ITG_RESULT_COUNT; i++)
        keys[i] = itg_log_result_names[i];
    itg_json_take_keys(&r->t, results, keys);
    for (int i = 0; i < ITG_RESULT_COUNT && r->t.status == ITG_OK; i++) {
        const itg_json_value *v = itg_json_find(results, keys[i]);
        out->known[i] = v != NULL;
        if (v) read_score(r, v, &out->result[i]);
    }
}

/* Reads a number, or null for not known. */
static double read_known(reader *r, const itg_json_value *object, const char *key)
{
    const itg_json_value *v = need(r, object, key);
    return v && !is_null(v) ? number_of(r, v) : (double)NAN;
}

static void read_selection(reader *r, const itg_json_value *root, itg_selection *out)
{
    static const char *const keys[] = {"samples", "tested", "certified",      "passed",
                                       "bound",   "float",  "samples_wanted", NULL};
    const itg_json_value *v = itg_json_find(root, "selection");
    *out = itg_selection_none();
    if (!v || r->t.status != ITG_OK) return;
    if (itg_json_typeof(v) != ITG_JSON_OBJECT) refuse(r, v, "an object");
    itg_json_take_keys(&r->t, v, keys);
    out->samples = itg_json_take_int(&r->t, v, "samples", 1, MOST);
    out->tested = (int32_t)itg_json_take_int(&r->t, v, "tested", 1, INT32_MAX);
    out->certified = itg_json_take_bool(&r->t, v, "certified");
    out->passed = itg_json_take_bool(&r->t, v, "passed");
    out->bound = read_known(r, v, "bound");
    out->floats = read_known(r, v, "float");
    out->wanted = itg_json_take_int(&r->t, v, "samples_wanted", 0, MOST);
    if (r->t.status == ITG_OK && !itg_selection_fits(out))
        refuse(r, v, "passed to be true where certified is");
}

/* Checks that a run that has not ended has neither best nor results. */
static void check_not_ended(reader *r, const itg_json_value *root, const itg_run_record *out)
{
    bool results = out->selection.samples > 0;
    for (int i = 0; i < ITG_RESULT_COUNT; i++)
        results |= out->known[i];
    if (!out->ended && (results || out->strategy_json || out->best_trial >= 0))
        refuse(r, itg_json_find(root, "stop_reason"), "a reason, as the run has results");
}

static const char *read_codes(reader *r, const itg_json_value *root)
{
    const itg_json_value *v = itg_json_find(root, "codes");
    const char *text = v ? itg_json_text_of(&r->t, v) : NULL;
    size_t bytes = 0;
    unsigned char *codes = text ? itg_hex_bytes(text, &bytes) : NULL;
    if (text && !codes) refuse(r, v, "bytes in hexadecimal digits");
    free(codes);
    return text;
}

static void read_end(reader *r, const itg_json_value *root, int64_t trials, itg_run_record *out)
{
    out->stop_reason = read_optional(r, root, "stop_reason");
    out->ended = out->stop_reason != NULL;
    const itg_json_value *met = need(r, root, "goal_met");
    if (met && out->ended)
        out->goal_met = itg_json_bool_of(&r->t, met);
    else if (met && !is_null(met))
        refuse(r, met, "null, as the run has no stop_reason");
    const itg_json_value *best = need(r, root, "best_trial");
    if (best && !is_null(best)) out->best_trial = itg_json_int_of(&r->t, best, 0, MOST);
    if (out->best_trial >= trials) refuse(r, best, "the number of a trial");
    out->strategy_json = read_document_or_null(r, root, "strategy");
    out->codes = read_codes(r, root);
    read_results(r, root, out);
    read_selection(r, root, &out->selection);
    check_not_ended(r, root, out);
}

static void check_head(reader *r, const itg_json_value *root)
{
    static const char *const keys[] = {
        "kind",    "version",     "run",      "model",          "hardware",
        "data",    "labels",      "holdout",  "holdout_labels", "searcher",
        "options", "preprocess",  "space",    "engine_version", "started",
        "seed",    "stop_reason", "goal_met", "best_trial",     "strategy",
        "codes",   "selection",   "results",  "trials",         NULL};
    if (itg_json_typeof(root) != ITG_JSON_OBJECT) refuse(r, root, "an object");
    const char *kind = itg_json_take_text(&r->t, root, "kind");
    if (kind && strcmp(kind, ITG_LOG_EXCHANGE_KIND) != 0)
        refuse(r, itg_json_find(root, "kind"),
               "\"" ITG_LOG_EXCHANGE_KIND "\": a file that 'intaglio runs export' wrote");
    if (itg_json_take_int(&r->t, root, "version", 0, ITG_LOG_EXCHANGE_VERSION) !=
        ITG_LOG_EXCHANGE_VERSION)
        refuse(r, itg_json_find(root, "version"), "2");
    (void)itg_json_take_int(&r->t, root, "run", 0, MOST);
    itg_json_take_keys(&r->t, root, keys);
}

/* Parses the text with blanks in place of the trials, which keeps lines and columns. */
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

static itg_status parse(reader *r, slice trials, itg_log_run *out)
{
    const itg_json_value *root = itg_json_root(r->t.json);
    itg_run_record *record = itg_arena_alloc(r->arena, sizeof *record);
    if (!record) return itg_fail(r->t.err, ITG_NO_MEMORY, "no memory for a run");
    *record = (itg_run_record){.best_trial = -1};
    check_head(r, root);
    read_info(r, root, &record->info);
    const itg_json_value *list = itg_json_take(&r->t, root, "trials", ITG_JSON_ARRAY);
    if (list && itg_json_length(list) > 0) /* the key is written with escapes */
        refuse(r, list, "the key as \"trials\"");
    if (r->t.status == ITG_OK) read_trials(r, trials, out);
    if (r->t.status == ITG_OK) read_end(r, root, out->count, record);
    record->trials = out->count;
    out->record = record;
    return r->t.status;
}

itg_status itg_log_parse_run(const char *text, size_t bytes, const char *path, itg_arena *arena,
                             itg_json **json, itg_log_run *out, itg_error *err)
{
    slice trials = find_trials(text, bytes);
    itg_status status = parse_head(text, bytes, path, trials, json, err);
    reader r = {{*json, err, ITG_OK}, arena};
    return status == ITG_OK ? parse(&r, trials, out) : status;
}
