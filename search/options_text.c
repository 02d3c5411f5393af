/* Search options as JSON, for the log, and back: a run is resumed from what stands there. What is
 * not limited or not chosen is null. The seed is a string: 64 bits do not fit a JSON number. */
#include "base/user_metric.h"
#include "search/searcher.h"
#include "search/warm_start.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PAST_KEY "past" /* where earlier trials came from */

/* The member, unless it is absent or null, or reading has failed. */
static const itg_json_value *find(const itg_json_taker *t, const char *key)
{
    const itg_json_value *v =
        t->status == ITG_OK ? itg_json_find(itg_json_root(t->json), key) : NULL;
    return v && itg_json_typeof(v) != ITG_JSON_NULL ? v : NULL;
}

static void refuse(itg_json_taker *t, const itg_json_value *v, const char *expected)
{
    itg_json_refuse(t, v, ITG_BAD_FILE, "expected %s", expected);
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

static void read_integer(itg_json_taker *t, const itg_json_value *v, void *at)
{
    *(int64_t *)at = itg_json_int_of(t, v, 0, INT64_C(1) << 53);
}

static void write_number(itg_json_writer *w, const char *key, const void *at)
{
    double value = *(const double *)at;
    itg_json_put_number(w, key, value > 0 ? value : (double)NAN);
}

static void read_number(itg_json_taker *t, const itg_json_value *v, void *at)
{
    *(double *)at = itg_json_number_of(t, v);
    if (!(*(double *)at >= 0)) refuse(t, v, "a number from 0 on");
}

static void write_seed(itg_json_writer *w, const char *key, const void *at)
{
    itg_json_put_seed(w, key, *(const uint64_t *)at);
}

static void read_seed(itg_json_taker *t, const itg_json_value *v, void *at)
{
    *(uint64_t *)at = itg_json_seed_of(t, v);
}

static void write_range(itg_json_writer *w, const char *key, const void *at)
{
    const itg_bits_range *range = at;
    if (range->min == 0 && range->max == 0)
        itg_json_put_null(w, key);
    else
        itg_json_put(w, key, "[%" PRId32 ", %" PRId32 "]", range->min, range->max);
}

static void read_range(itg_json_taker *t, const itg_json_value *v, void *at)
{
    if (itg_json_typeof(v) != ITG_JSON_ARRAY || itg_json_length(v) != 2) {
        refuse(t, v, "[MIN, MAX]");
        return;
    }
    int64_t min = itg_json_int_of(t, itg_json_at(v, 0), 0, 32);
    int64_t max = itg_json_int_of(t, itg_json_at(v, 1), min, 32);
    *(itg_bits_range *)at = (itg_bits_range){(int32_t)min, (int32_t)max};
}

static void write_methods(itg_json_writer *w, const char *key, const void *at)
{
    const itg_threshold_methods *methods = at;
    itg_json_begin(w, key, '[');
    for (int32_t i = 0; i < methods->count && i < ITG_MAX_METHODS; i++)
        itg_json_put_text(w, NULL, itg_threshold_name(methods->values[i]));
    itg_json_end(w, ']');
}

static void read_methods(itg_json_taker *t, const itg_json_value *v, void *at)
{
    itg_threshold_methods *methods = at;
    if (itg_json_typeof(v) != ITG_JSON_ARRAY || itg_json_length(v) > ITG_MAX_METHODS) {
        refuse(t, v, "a list of threshold methods");
        return;
    }
    methods->count = (int32_t)itg_json_length(v);
    for (size_t i = 0; i < itg_json_length(v); i++) {
        const char *name = itg_json_text_of(t, itg_json_at(v, i));
        if (name && !itg_threshold_from_name(name, &methods->values[i]))
            refuse(t, itg_json_at(v, i), "the name of a threshold method");
    }
}

static void write_searcher(itg_json_writer *w, const char *key, const void *at)
{
    const char *text = at;
    itg_json_put_text(w, key, *text ? text : itg_searcher_name(0));
}

static void read_searcher(itg_json_taker *t, const itg_json_value *v, void *at)
{
    const char *name = itg_json_text_of(t, v);
    itg_error why = {0};
    if (!name) return;
    if (itg_searcher_check(name, &why) != ITG_OK)
        itg_json_refuse(t, v, ITG_BAD_FILE, "%s", why.message);
    snprintf(at, ITG_SEARCHER_TEXT, "%s", name);
}

static void write_model_text(itg_json_writer *w, const char *key, const void *at)
{
    itg_json_put_text(w, key, at);
}

static void read_model_text(itg_json_taker *t, const itg_json_value *v, void *at)
{
    const char *text = itg_json_text_of(t, v);
    if (text && strlen(text) >= ITG_MODEL_TEXT) refuse(t, v, "a shorter text");
    snprintf(at, ITG_MODEL_TEXT, "%s", text ? text : "");
}

static void write_kernels(itg_json_writer *w, const char *key, const void *at)
{
    itg_json_put_text(w, key, itg_float_kernels_name(*(const itg_float_kernels *)at));
}

static void read_kernels(itg_json_taker *t, const itg_json_value *v, void *at)
{
    const char *name = itg_json_text_of(t, v);
    if (name && !itg_float_kernels_from_name(name, at)) refuse(t, v, "\"reference\" or \"onednn\"");
}

static void write_mode(itg_json_writer *w, const char *key, const void *at)
{
    itg_json_put_text(w, key, itg_recover_mode_name(*(const itg_recover_mode *)at));
}

static void read_mode(itg_json_taker *t, const itg_json_value *v, void *at)
{
    const char *name = itg_json_text_of(t, v);
    if (name && !itg_recover_mode_from_name(name, at))
        refuse(t, v, "\"auto\", \"none\", \"scales\" or \"round\"");
}

static void write_flag(itg_json_writer *w, const char *key, const void *at)
{
    itg_json_put_bool(w, key, *(const bool *)at);
}

static void read_flag(itg_json_taker *t, const itg_json_value *v, void *at)
{
    *(bool *)at = itg_json_bool_of(t, v);
}

typedef enum kind {
    INTEGER,
    SECONDS,
    FRACTION,
    SEED,
    RANGE,
    METHODS,
    SEARCHER,
    MODEL_TEXT,
    KERNELS,
    RECOVER,
    FLAG,
    BASELINE
} kind;

static const struct {
    void (*write)(itg_json_writer *w, const char *key, const void *at);
    void (*read)(itg_json_taker *t, const itg_json_value *v, void *at);
} kinds[] = {
    [INTEGER] = {write_integer, read_integer},
    [SECONDS] = {write_number, read_number},
    [FRACTION] = {write_number, read_number},
    [SEED] = {write_seed, read_seed},
    [RANGE] = {write_range, read_range},
    [METHODS] = {write_methods, read_methods},
    [SEARCHER] = {write_searcher, read_searcher},
    [KERNELS] = {write_kernels, read_kernels},
    [MODEL_TEXT] = {write_model_text, read_model_text},
    [RECOVER] = {write_mode, read_mode},
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

static void write_users(itg_json_writer *w, const itg_goal *goal)
{
    itg_user_info users[ITG_USER_METRICS];
    for (int i = 0; i < ITG_USER_METRICS; i++)
        users[i] = goal->user[i].info;
    itg_user_metrics_write(w, users, NULL);
}

static void write_goal(itg_json_writer *w, const itg_goal *goal)
{
    itg_metric quality = itg_goal_quality_metric(goal);
    const itg_constraint *c = itg_goal_constraint(goal, quality);
    char key[128];
    bool absolute = c && !c->below_float;
    itg_json_put_text(w, "optimize", itg_goal_objectives_text(goal, key, sizeof key));
    itg_json_put_text(w, "quality", itg_goal_about(goal, quality).name);
    write_users(w, goal);
    itg_json_put_number(w, "min_quality", absolute ? c->bound : (double)NAN);
    itg_json_put_number(w, "max_drop", c && !absolute ? c->bound : (double)NAN);
    for (int i = 0; i < ITG_METRIC_COUNT; i++) {
        double limit = itg_goal_limit(goal, (itg_metric)i);
        if (itg_metric_about((itg_metric)i)->goal)
            itg_json_put_number(w, limit_key(i, key, sizeof key), limit > 0 ? limit : (double)NAN);
    }
}

/* A constraint where the member is there. */
static void read_bound(itg_json_taker *t, const char *key, itg_metric metric, bool below_float,
                       itg_goal *goal)
{
    const itg_json_value *v = find(t, key);
    double bound = 0;
    bool any = metric >= ITG_METRIC_USER1 && metric < ITG_METRIC_COUNT && !below_float;
    if (!v) return;
    if (any)
        bound = itg_json_number_of(t, v);
    else
        read_number(t, v, &bound);
    (void)itg_goal_constrain(goal, metric, bound, below_float);
}

static void read_objectives(itg_json_taker *t, itg_metric quality, itg_goal *goal)
{
    const itg_json_value *v = find(t, "optimize");
    const char *text = v ? itg_json_text_of(t, v) : "size";
    while (text && *text && goal->objective_count < ITG_MOST_OBJECTIVES) {
        char name[32];
        itg_metric *next = &goal->objectives[goal->objective_count++];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, text);
        if (strcmp(name, "quality") == 0)
            *next = quality;
        else if (!itg_metric_from_goal(name, next))
            refuse(t, v, "\"quality\" or names of costs");
        text += length + strspn(text + length, ", ");
    }
    if (text && *text) refuse(t, v, "fewer objectives");
}

/* Their functions are the calling program's. */
static void read_users(itg_json_taker *t, itg_goal *goal)
{
    itg_user_info users[ITG_USER_METRICS] = {0};
    itg_user_metrics_read(t, itg_json_root(t->json), users, NULL);
    for (int i = 0; i < ITG_USER_METRICS; i++)
        goal->user[i].info = users[i];
}

static bool find_quality(const itg_goal *goal, const char *name, itg_metric *out)
{
    for (int i = 0; i < ITG_USER_METRICS; i++)
        if (*name && strcmp(goal->user[i].info.name, name) == 0) {
            *out = (itg_metric)(ITG_METRIC_USER1 + i);
            return true;
        }
    return itg_metric_from_name(name, out) && !itg_metric_is_cost(*out);
}

static void read_goal(itg_json_taker *t, itg_goal *goal)
{
    const itg_json_value *v = find(t, "quality");
    const char *name = v ? itg_json_text_of(t, v) : "accuracy";
    char key[32];
    itg_metric quality = ITG_METRIC_ACCURACY;
    read_users(t, goal);
    if (name && !find_quality(goal, name, &quality)) refuse(t, v, "the name of a quality");
    read_objectives(t, quality, goal);
    if (t->status != ITG_OK) return;
    if (quality != ITG_METRIC_ACCURACY && !itg_goal_maximizes_quality(goal))
        (void)itg_goal_constrain(goal, quality, -(double)INFINITY, false);
    read_bound(t, "min_quality", quality, false, goal);
    read_bound(t, "max_drop", quality, true, goal);
    for (int i = 0; i < ITG_METRIC_COUNT; i++)
        if (itg_metric_about((itg_metric)i)->goal)
            read_bound(t, limit_key(i, key, sizeof key), (itg_metric)i, false, goal);
}

/* ---- the whole ---- */

itg_status itg_search_options_text(const itg_search_options *o, char **out, itg_error *err)
{
    itg_json_writer w = {0};
    itg_status status =
        itg_check_version("itg_search_options", o->version, ITG_SEARCH_OPTIONS_VERSION, err);
    if (status != ITG_OK) return status;
    itg_json_begin(&w, NULL, '{');
    write_goal(&w, &o->goal);
    for (int i = 0; i < OPTIONS; i++)
        kinds[options[i].kind].write(&w, options[i].key, (const char *)o + options[i].offset);
    itg_warm_start_write(&w, o->start);
    itg_json_put_text(&w, PAST_KEY, o->past ? o->past->name : NULL);
    itg_json_end(&w, '}');
    if (!itg_strbuf_ok(&w.text)) {
        itg_strbuf_deinit(&w.text);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the options as text");
    }
    *out = w.text.text;
    return ITG_OK;
}

static void check_keys(itg_json_taker *t)
{
    enum { GOAL_KEYS = 5 };
    char limits[ITG_METRIC_COUNT][32];
    const char *keys[GOAL_KEYS + ITG_METRIC_COUNT + OPTIONS + 3] = {
        "optimize", "quality", "user_metrics", "min_quality", "max_drop"};
    int count = GOAL_KEYS;
    for (int i = 0; i < ITG_METRIC_COUNT; i++)
        if (itg_metric_about((itg_metric)i)->goal)
            keys[count++] = limit_key(i, limits[i], sizeof limits[i]);
    for (int i = 0; i < OPTIONS; i++)
        keys[count++] = options[i].key;
    keys[count++] = ITG_WARM_START_KEY;
    keys[count++] = PAST_KEY;
    itg_json_take_keys(t, itg_json_root(t->json), keys);
}

itg_status itg_search_options_from_text(const char *text, const char *source,
                                        itg_search_options *out, itg_error *err)
{
    itg_search_options read = ITG_SEARCH_OPTIONS_INIT;
    itg_json *json = NULL;
    itg_status status = itg_json_parse(text, strlen(text), source, &json, err);
    if (status != ITG_OK) return status;
    itg_json_taker t = {json, err, ITG_OK};
    const itg_json_value *root = itg_json_root(json);
    if (itg_json_typeof(root) != ITG_JSON_OBJECT) refuse(&t, root, "an object: options");
    check_keys(&t);
    (void)itg_json_take_text(&t, root, "searcher");
    read_goal(&t, &read.goal);
    for (int i = 0; i < OPTIONS; i++) {
        const itg_json_value *v = find(&t, options[i].key);
        if (v) kinds[options[i].kind].read(&t, v, (char *)&read + options[i].offset);
    }
    if (t.status == ITG_OK) *out = read;
    itg_json_destroy(json);
    return t.status;
}

itg_status itg_search_past_from_text(const char *text, const char *source, char **name,
                                     itg_error *err)
{
    itg_json *json = NULL;
    char *copy = NULL;
    itg_status status = itg_json_parse(text, strlen(text), source, &json, err);
    if (status != ITG_OK) return status;
    itg_json_taker t = {json, err, ITG_OK};
    const itg_json_value *v = find(&t, PAST_KEY);
    const char *found = v ? itg_json_text_of(&t, v) : NULL;
    if (found) {
        copy = malloc(strlen(found) + 1);
        if (copy)
            memcpy(copy, found, strlen(found) + 1);
        else
            t.status = itg_fail(err, ITG_NO_MEMORY, "no memory for the options");
    }
    itg_json_destroy(json);
    if (t.status == ITG_OK) *name = copy;
    return t.status;
}
