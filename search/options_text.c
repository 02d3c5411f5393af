/* Search options as JSON, for the log, and back: a run is resumed from what stands there. What is
 * not limited or not chosen is null. The seed is a string: 64 bits do not fit a JSON number. */
#include "base/json.h"
#include "base/json_write.h"
#include "search/searcher.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const itg_json *json;
    const itg_json_value *root;
    itg_error *err;
} reader;

static itg_status refuse(const reader *r, const itg_json_value *v, const char *expected)
{
    return itg_json_fail(r->json, v, r->err, ITG_BAD_FILE, "expected %s", expected);
}

/* The member, unless it is absent or null. */
static const itg_json_value *find(const reader *r, const char *key)
{
    const itg_json_value *v = itg_json_find(r->root, key);
    return v && itg_json_typeof(v) != ITG_JSON_NULL ? v : NULL;
}

/* ---- kinds of options: how the member at `at` is written and read ---- */

static void write_integer(itg_json_writer *w, const char *key, const void *at)
{
    int64_t value = *(const int64_t *)at;
    if (value > 0)
        itg_json_put_int(w, key, value);
    else
        itg_json_put_null(w, key);
}

static itg_status read_integer(const reader *r, const itg_json_value *v, void *at)
{
    return itg_json_get_int(r->json, v, 0, INT64_C(1) << 53, at, r->err);
}

static void write_number(itg_json_writer *w, const char *key, const void *at)
{
    double value = *(const double *)at;
    itg_json_put_number(w, key, value > 0 ? value : (double)NAN);
}

static itg_status read_number(const reader *r, const itg_json_value *v, void *at)
{
    double value = 0;
    itg_status status = itg_json_get_number(r->json, v, &value, r->err);
    if (status == ITG_OK && !(value >= 0)) status = refuse(r, v, "a number from 0 on");
    if (status == ITG_OK) *(double *)at = value;
    return status;
}

static void write_seed(itg_json_writer *w, const char *key, const void *at)
{
    itg_json_put(w, key, "\"%" PRIu64 "\"", *(const uint64_t *)at);
}

static itg_status read_seed(const reader *r, const itg_json_value *v, void *at)
{
    const char *text = NULL;
    char *end;
    itg_status status = itg_json_get_string(r->json, v, &text, r->err);
    if (status != ITG_OK) return status;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
        return refuse(r, v, "an integer from 0 to 18446744073709551615 as a string");
    *(uint64_t *)at = value;
    return ITG_OK;
}

static void write_range(itg_json_writer *w, const char *key, const void *at)
{
    const itg_bits_range *range = at;
    if (range->min == 0 && range->max == 0)
        itg_json_put_null(w, key);
    else
        itg_json_put(w, key, "[%" PRId32 ", %" PRId32 "]", range->min, range->max);
}

static itg_status read_range(const reader *r, const itg_json_value *v, void *at)
{
    int64_t min = 0, max = 0;
    if (itg_json_typeof(v) != ITG_JSON_ARRAY || itg_json_length(v) != 2)
        return refuse(r, v, "[MIN, MAX]");
    itg_status status = itg_json_get_int(r->json, itg_json_at(v, 0), 0, 32, &min, r->err);
    if (status == ITG_OK)
        status = itg_json_get_int(r->json, itg_json_at(v, 1), min, 32, &max, r->err);
    if (status == ITG_OK) *(itg_bits_range *)at = (itg_bits_range){(int32_t)min, (int32_t)max};
    return status;
}

static void write_methods(itg_json_writer *w, const char *key, const void *at)
{
    const itg_threshold_methods *methods = at;
    itg_json_begin(w, key, '[');
    for (int32_t i = 0; i < methods->count && i < ITG_MAX_METHODS; i++)
        itg_json_put_text(w, NULL, itg_threshold_name(methods->values[i]));
    itg_json_end(w, ']');
}

static itg_status read_methods(const reader *r, const itg_json_value *v, void *at)
{
    itg_threshold_methods *methods = at;
    const char *name = NULL;
    if (itg_json_typeof(v) != ITG_JSON_ARRAY || itg_json_length(v) > ITG_MAX_METHODS)
        return refuse(r, v, "a list of threshold methods");
    for (size_t i = 0; i < itg_json_length(v); i++) {
        itg_status status = itg_json_get_string(r->json, itg_json_at(v, i), &name, r->err);
        if (status == ITG_OK && !itg_threshold_from_name(name, &methods->values[i]))
            status = refuse(r, itg_json_at(v, i), "the name of a threshold method");
        if (status != ITG_OK) return status;
    }
    methods->count = (int32_t)itg_json_length(v);
    return ITG_OK;
}

static void write_searcher(itg_json_writer *w, const char *key, const void *at)
{
    const char *text = at;
    itg_json_put_text(w, key, *text ? text : itg_searcher_name(0));
}

static itg_status read_searcher(const reader *r, const itg_json_value *v, void *at)
{
    const char *name = NULL;
    itg_error why = {0};
    itg_status status = itg_json_get_string(r->json, v, &name, r->err);
    if (status != ITG_OK) return status;
    if (itg_searcher_check(name, &why) != ITG_OK)
        return itg_json_fail(r->json, v, r->err, ITG_BAD_FILE, "%s", why.message);
    snprintf(at, ITG_SEARCHER_TEXT, "%s", name);
    return ITG_OK;
}

static void write_kernels(itg_json_writer *w, const char *key, const void *at)
{
    itg_json_put_text(w, key, itg_float_kernels_name(*(const itg_float_kernels *)at));
}

static itg_status read_kernels(const reader *r, const itg_json_value *v, void *at)
{
    const char *name = NULL;
    itg_status status = itg_json_get_string(r->json, v, &name, r->err);
    if (status == ITG_OK && !itg_float_kernels_from_name(name, at))
        status = refuse(r, v, "\"reference\" or \"onednn\"");
    return status;
}

static void write_flag(itg_json_writer *w, const char *key, const void *at)
{
    itg_json_put_bool(w, key, *(const bool *)at);
}

static itg_status read_flag(const reader *r, const itg_json_value *v, void *at)
{
    return itg_json_get_bool(r->json, v, at, r->err);
}

typedef enum kind {
    INTEGER,
    SECONDS,
    FRACTION,
    SEED,
    RANGE,
    METHODS,
    SEARCHER,
    KERNELS,
    FLAG,
    BASELINE
} kind;

static const struct {
    void (*write)(itg_json_writer *w, const char *key, const void *at);
    itg_status (*read)(const reader *r, const itg_json_value *v, void *at);
} kinds[] = {
    [INTEGER] = {write_integer, read_integer},
    [SECONDS] = {write_number, read_number},
    [FRACTION] = {write_number, read_number},
    [SEED] = {write_seed, read_seed},
    [RANGE] = {write_range, read_range},
    [METHODS] = {write_methods, read_methods},
    [SEARCHER] = {write_searcher, read_searcher},
    [KERNELS] = {write_kernels, read_kernels},
    [FLAG] = {write_flag, read_flag},
    [BASELINE] = {write_flag, read_flag},
};

static const struct option {
    const char *key;
    size_t offset;
    kind kind;
} options[] = {
#define ITG_SEARCH_OPTION(id, member, kind, ...)                                                   \
    {#member, offsetof(itg_search_options, member), kind},
#include <intaglio/search_options.def>
};
enum { OPTIONS = sizeof options / sizeof *options };

/* ---- the goal ---- */

static const char *limit_key(int metric, char *buffer, size_t size)
{
    snprintf(buffer, size, "max_%s", itg_metric_about((itg_metric)metric)->goal);
    return buffer;
}

static void write_goal(itg_json_writer *w, const itg_goal *goal)
{
    itg_metric quality = itg_goal_quality_metric(goal);
    const itg_constraint *c = itg_goal_constraint(goal, quality);
    char key[128];
    bool absolute = c && !c->below_float;
    itg_json_put_text(w, "optimize", itg_goal_objectives_text(goal, key, sizeof key));
    itg_json_put_text(w, "quality", itg_metric_about(quality)->name);
    itg_json_put_number(w, "min_quality", absolute ? c->bound : (double)NAN);
    itg_json_put_number(w, "max_drop", c && !absolute ? c->bound : (double)NAN);
    for (int i = 0; i < ITG_METRIC_COUNT; i++) {
        double limit = itg_goal_limit(goal, (itg_metric)i);
        if (itg_metric_about((itg_metric)i)->goal)
            itg_json_put_number(w, limit_key(i, key, sizeof key), limit > 0 ? limit : (double)NAN);
    }
}

/* A constraint where the member is there. */
static itg_status read_bound(const reader *r, const char *key, itg_metric metric, bool below_float,
                             itg_goal *goal)
{
    const itg_json_value *v = find(r, key);
    double bound = 0;
    itg_status status = v ? read_number(r, v, &bound) : ITG_OK;
    if (status == ITG_OK && v) (void)itg_goal_constrain(goal, metric, bound, below_float);
    return status;
}

static itg_status read_objectives(const reader *r, itg_metric quality, itg_goal *goal)
{
    const itg_json_value *v = find(r, "optimize");
    const char *text = "size";
    itg_status status = v ? itg_json_get_string(r->json, v, &text, r->err) : ITG_OK;
    if (status != ITG_OK) return status;
    while (*text && goal->objective_count < ITG_MOST_OBJECTIVES) {
        char name[32];
        itg_metric *next = &goal->objectives[goal->objective_count++];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, text);
        if (strcmp(name, "quality") == 0)
            *next = quality;
        else if (!itg_metric_from_goal(name, next))
            return refuse(r, v, "\"quality\" or names of costs");
        text += length + strspn(text + length, ", ");
    }
    return *text ? refuse(r, v, "fewer objectives") : ITG_OK;
}

static itg_status read_goal(const reader *r, itg_goal *goal)
{
    const itg_json_value *v = find(r, "quality");
    const char *name = "accuracy";
    char key[32];
    itg_metric quality = ITG_METRIC_ACCURACY;
    itg_status status = v ? itg_json_get_string(r->json, v, &name, r->err) : ITG_OK;
    *goal = (itg_goal){0};
    if (status == ITG_OK && (!itg_metric_from_name(name, &quality) || itg_metric_is_cost(quality) ||
                             !itg_metric_about(quality)->up))
        return refuse(r, v, "the name of a quality");
    if (status == ITG_OK) status = read_objectives(r, quality, goal);
    if (status != ITG_OK) return status;
    if (quality != ITG_METRIC_ACCURACY && !itg_goal_maximizes_quality(goal))
        (void)itg_goal_constrain(goal, quality, -(double)INFINITY, false);
    status = read_bound(r, "min_quality", quality, false, goal);
    if (status == ITG_OK) status = read_bound(r, "max_drop", quality, true, goal);
    for (int i = 0; i < ITG_METRIC_COUNT && status == ITG_OK; i++)
        if (itg_metric_about((itg_metric)i)->goal)
            status = read_bound(r, limit_key(i, key, sizeof key), (itg_metric)i, false, goal);
    return status;
}

/* ---- the whole ---- */

itg_status itg_search_options_text(const itg_search_options *o, char **out, itg_error *err)
{
    itg_json_writer w = {0};
    itg_json_begin(&w, NULL, '{');
    write_goal(&w, &o->goal);
    for (int i = 0; i < OPTIONS; i++)
        kinds[options[i].kind].write(&w, options[i].key, (const char *)o + options[i].offset);
    itg_json_end(&w, '}');
    if (!itg_strbuf_ok(&w.text)) {
        itg_strbuf_deinit(&w.text);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the options as text");
    }
    *out = w.text.text;
    return ITG_OK;
}

static itg_status check_keys(const reader *r)
{
    enum { GOAL_KEYS = 4 };
    char limits[ITG_METRIC_COUNT][32];
    const char *keys[GOAL_KEYS + ITG_METRIC_COUNT + OPTIONS + 1] = {"optimize", "quality",
                                                                    "min_quality", "max_drop"};
    int count = GOAL_KEYS;
    for (int i = 0; i < ITG_METRIC_COUNT; i++)
        if (itg_metric_about((itg_metric)i)->goal)
            keys[count++] = limit_key(i, limits[i], sizeof limits[i]);
    for (int i = 0; i < OPTIONS; i++)
        keys[count++] = options[i].key;
    return itg_json_allow_keys(r->json, r->root, keys, r->err);
}

static itg_status read_options(const reader *r, itg_search_options *o)
{
    const itg_json_value *searcher = NULL;
    itg_status status = itg_json_typeof(r->root) == ITG_JSON_OBJECT
                            ? check_keys(r)
                            : refuse(r, r->root, "an object: options");
    if (status == ITG_OK)
        status = itg_json_need(r->json, r->root, "searcher", ITG_JSON_STRING, &searcher, r->err);
    if (status == ITG_OK) status = read_goal(r, &o->goal);
    for (int i = 0; i < OPTIONS && status == ITG_OK; i++) {
        const itg_json_value *v = find(r, options[i].key);
        if (v) status = kinds[options[i].kind].read(r, v, (char *)o + options[i].offset);
    }
    return status;
}

itg_status itg_search_options_from_text(const char *text, const char *source,
                                        itg_search_options *out, itg_error *err)
{
    itg_search_options read = {0};
    itg_json *json = NULL;
    itg_status status = itg_json_parse(text, strlen(text), source, &json, err);
    if (status != ITG_OK) return status;
    const reader r = {json, itg_json_root(json), err};
    status = read_options(&r, &read);
    if (status == ITG_OK) *out = read;
    itg_json_destroy(json);
    return status;
}
