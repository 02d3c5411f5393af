/* Search options as JSON, for the log, and back: a run is resumed from what stands there. What is
 * not limited or not chosen is null. The seed is a string: 64 bits do not fit a JSON number. */
#include "base/user_metric.h"
#include "search/searcher.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <intaglio/intaglio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static void add_key(itg_strbuf *out, const char *key)
{
    itg_strbuf_format(out, "%s\"%s\": ", out->length > 1 ? ", " : "", key);
}

/* The fewest digits that read back as the same number. */
static void add_number(itg_strbuf *out, const char *key, double value, bool known)
{
    char text[40] = "null";
    for (int digits = 15; known && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    add_key(out, key);
    itg_strbuf_add(out, text);
}

static void add_count(itg_strbuf *out, const char *key, int64_t value)
{
    add_number(out, key, (double)value, value > 0);
}

static void add_range(itg_strbuf *out, const char *key, itg_bits_range range)
{
    add_key(out, key);
    if (range.min == 0 && range.max == 0)
        itg_strbuf_add(out, "null");
    else
        itg_strbuf_format(out, "[%" PRId32 ", %" PRId32 "]", range.min, range.max);
}

static void add_methods(itg_strbuf *out, const char *key, const itg_threshold_method *methods,
                        int32_t count)
{
    add_key(out, key);
    itg_strbuf_add(out, "[");
    for (int32_t i = 0; i < count && i < ITG_MAX_METHODS; i++)
        itg_strbuf_format(out, "%s\"%s\"", i > 0 ? ", " : "", itg_threshold_name(methods[i]));
    itg_strbuf_add(out, "]");
}

static const char *limit_key(int kind, char *buffer, size_t size)
{
    snprintf(buffer, size, "max_%s", itg_metric_about((itg_metric)kind)->goal);
    return buffer;
}

static void add_users(itg_strbuf *out, const itg_goal *goal)
{
    itg_user_info users[ITG_USER_METRICS];
    for (int i = 0; i < ITG_USER_METRICS; i++)
        users[i] = goal->user[i].info;
    if (itg_user_count(users) == 0) return;
    add_key(out, "user_metrics");
    itg_user_metrics_write(users, NULL, out);
}

static void add_goal(itg_strbuf *out, const itg_goal *goal)
{
    itg_metric quality = itg_goal_quality_metric(goal);
    const itg_constraint *c = itg_goal_constraint(goal, quality);
    char key[128];
    add_key(out, "optimize");
    itg_strbuf_format(out, "\"%s\"", itg_goal_objectives_text(goal, key, sizeof key));
    add_key(out, "quality");
    itg_strbuf_format(out, "\"%s\"", itg_goal_about(goal, quality).name);
    add_users(out, goal);
    add_number(out, "min_quality", c ? c->bound : 0, c && !c->below_float && !isinf(c->bound));
    add_number(out, "max_drop", c ? c->bound : 0, c && c->below_float);
    for (int i = 0; i < ITG_METRIC_COUNT; i++) {
        double limit = itg_goal_limit(goal, (itg_metric)i);
        if (itg_metric_about((itg_metric)i)->goal)
            add_number(out, limit_key(i, key, sizeof key), limit, limit > 0);
    }
}

itg_status itg_search_options_text(const itg_search_options *o, char **out, itg_error *err)
{
    itg_strbuf text = {0};
    itg_status status =
        itg_check_version("itg_search_options", o->version, ITG_SEARCH_OPTIONS_VERSION, err);
    if (status != ITG_OK) return status;
    itg_strbuf_add(&text, "{");
    add_key(&text, "searcher");
    itg_strbuf_json_string(&text, *o->searcher ? o->searcher : itg_searcher_name(0));
    add_goal(&text, &o->goal);
    add_count(&text, "trials", o->trials);
    add_number(&text, "seconds", o->seconds, o->seconds > 0);
    add_count(&text, "patience", o->patience);
    add_number(&text, "tolerance", o->tolerance, true);
    add_key(&text, "seed");
    itg_strbuf_format(&text, "\"%" PRIu64 "\"", o->seed);
    add_range(&text, "weight_bits", o->weight_bits);
    add_range(&text, "activation_bits", o->activation_bits);
    add_range(&text, "input_bits", o->input_bits);
    add_range(&text, "output_bits", o->output_bits);
    add_methods(&text, "weight_methods", o->weight_methods, o->weight_method_count);
    add_methods(&text, "activation_methods", o->activation_methods, o->activation_method_count);
    add_count(&text, "calibration_samples", o->calibration_samples);
    add_count(&text, "search_samples", o->search_samples);
    if (o->float_kernels != ITG_FLOAT_REFERENCE) {
        add_key(&text, "float_kernels");
        itg_strbuf_json_string(&text, itg_float_kernels_name(o->float_kernels));
    }
    add_key(&text, "hago_baseline");
    itg_strbuf_add(&text, o->hago_baseline ? "true" : "false");
    add_key(&text, "equalize");
    itg_strbuf_add(&text, o->no_equalize ? "false" : "true");
    add_key(&text, "racing");
    itg_strbuf_add(&text, o->no_racing ? "false}" : "true}");
    if (!itg_strbuf_ok(&text)) {
        itg_strbuf_deinit(&text);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the options as text");
    }
    *out = text.text;
    return ITG_OK;
}

/* ---- reading ---- */

typedef struct reader {
    const itg_json *json;
    const itg_json_value *root;
    itg_error *err;
} reader;

/* The member, unless it is absent or null. */
static const itg_json_value *find(const reader *r, const char *key)
{
    const itg_json_value *v = itg_json_find(r->root, key);
    return v && itg_json_typeof(v) != ITG_JSON_NULL ? v : NULL;
}

static itg_status refuse(const reader *r, const itg_json_value *v, const char *expected)
{
    return itg_json_fail(r->json, v, r->err, ITG_BAD_FILE, "expected %s", expected);
}

static itg_status read_count(const reader *r, const char *key, int64_t *out)
{
    const itg_json_value *v = find(r, key);
    return v ? itg_json_get_int(r->json, v, 0, INT64_C(1) << 53, out, r->err) : ITG_OK;
}

static itg_status read_number(const reader *r, const char *key, double least, double *out)
{
    const itg_json_value *v = find(r, key);
    double value = 0;
    if (!v) return ITG_OK;
    itg_status status = itg_json_get_number(r->json, v, &value, r->err);
    if (status == ITG_OK && !(value >= least)) status = refuse(r, v, "a number from 0 on");
    if (status == ITG_OK) *out = value;
    return status;
}

static itg_status read_range(const reader *r, const char *key, itg_bits_range *out)
{
    const itg_json_value *v = find(r, key);
    int64_t min = 0, max = 0;
    if (!v) return ITG_OK;
    if (itg_json_typeof(v) != ITG_JSON_ARRAY || itg_json_length(v) != 2)
        return refuse(r, v, "[MIN, MAX]");
    itg_status status = itg_json_get_int(r->json, itg_json_at(v, 0), 0, 32, &min, r->err);
    if (status == ITG_OK)
        status = itg_json_get_int(r->json, itg_json_at(v, 1), min, 32, &max, r->err);
    if (status == ITG_OK) *out = (itg_bits_range){(int32_t)min, (int32_t)max};
    return status;
}

static itg_status read_methods(const reader *r, const char *key, itg_threshold_method *out,
                               int32_t *count)
{
    const itg_json_value *v = find(r, key);
    const char *name = NULL;
    if (!v) return ITG_OK;
    if (itg_json_typeof(v) != ITG_JSON_ARRAY || itg_json_length(v) > ITG_MAX_METHODS)
        return refuse(r, v, "a list of threshold methods");
    for (size_t i = 0; i < itg_json_length(v); i++) {
        itg_status status = itg_json_get_string(r->json, itg_json_at(v, i), &name, r->err);
        if (status == ITG_OK && !itg_threshold_from_name(name, &out[i]))
            status = refuse(r, itg_json_at(v, i), "the name of a threshold method");
        if (status != ITG_OK) return status;
    }
    *count = (int32_t)itg_json_length(v);
    return ITG_OK;
}

static itg_status read_searcher(const reader *r, char out[ITG_SEARCHER_TEXT])
{
    const itg_json_value *v = NULL;
    const char *name = NULL;
    itg_status status = itg_json_need(r->json, r->root, "searcher", ITG_JSON_STRING, &v, r->err);
    if (status == ITG_OK) status = itg_json_get_string(r->json, v, &name, r->err);
    if (status != ITG_OK) return status;
    itg_error why = {0};
    if (itg_searcher_check(name, &why) != ITG_OK)
        return itg_json_fail(r->json, v, r->err, ITG_BAD_FILE, "%s", why.message);
    snprintf(out, ITG_SEARCHER_TEXT, "%s", name);
    return ITG_OK;
}

/* Absent: the reference kernels. */
static itg_status read_float_kernels(const reader *r, itg_float_kernels *out)
{
    const itg_json_value *v = find(r, "float_kernels");
    const char *name = NULL;
    if (!v) return ITG_OK;
    itg_status status = itg_json_get_string(r->json, v, &name, r->err);
    if (status == ITG_OK && !itg_float_kernels_from_name(name, out))
        status = refuse(r, v, "\"reference\" or \"onednn\"");
    return status;
}

static itg_status read_seed(const reader *r, uint64_t *out)
{
    const itg_json_value *v = find(r, "seed");
    const char *text = NULL;
    char *end;
    if (!v) return ITG_OK;
    itg_status status = itg_json_get_string(r->json, v, &text, r->err);
    if (status != ITG_OK) return status;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
        return refuse(r, v, "an integer from 0 to 18446744073709551615 as a string");
    *out = value;
    return ITG_OK;
}

/* A constraint where the member is there. */
static itg_status read_bound(const reader *r, const char *key, itg_metric metric, bool below_float,
                             itg_goal *goal)
{
    double bound = 0;
    bool any = metric >= ITG_METRIC_USER1 && metric < ITG_METRIC_COUNT && !below_float;
    itg_status status = read_number(r, key, any ? -(double)INFINITY : 0, &bound);
    if (status == ITG_OK && find(r, key))
        (void)itg_goal_constrain(goal, metric, bound, below_float);
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

/* Their functions are the calling program's. */
static itg_status read_users(const reader *r, itg_goal *goal)
{
    const itg_json_value *v = find(r, "user_metrics");
    itg_user_info users[ITG_USER_METRICS] = {0};
    itg_status status = v ? itg_user_metrics_read(r->json, v, users, NULL, r->err) : ITG_OK;
    for (int i = 0; i < ITG_USER_METRICS && status == ITG_OK; i++)
        goal->user[i].info = users[i];
    return status;
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

static itg_status read_goal(const reader *r, itg_goal *goal)
{
    const itg_json_value *v = find(r, "quality");
    const char *name = "accuracy";
    char key[32];
    itg_metric quality = ITG_METRIC_ACCURACY;
    *goal = (itg_goal){0};
    itg_status status = read_users(r, goal);
    if (status == ITG_OK && v) status = itg_json_get_string(r->json, v, &name, r->err);
    if (status == ITG_OK && !find_quality(goal, name, &quality))
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

static itg_status read_options(const reader *r, itg_search_options *o)
{
    const itg_json_value *hago = find(r, "hago_baseline"), *racing = find(r, "racing"),
                         *equalize = find(r, "equalize");
    bool races = true, equalizes = true;
    itg_status status = read_searcher(r, o->searcher);
    if (status == ITG_OK) status = read_goal(r, &o->goal);
    if (status == ITG_OK) status = read_count(r, "trials", &o->trials);
    if (status == ITG_OK) status = read_number(r, "seconds", 0, &o->seconds);
    if (status == ITG_OK) status = read_count(r, "patience", &o->patience);
    if (status == ITG_OK) status = read_number(r, "tolerance", 0, &o->tolerance);
    if (status == ITG_OK) status = read_seed(r, &o->seed);
    if (status == ITG_OK) status = read_range(r, "weight_bits", &o->weight_bits);
    if (status == ITG_OK) status = read_range(r, "activation_bits", &o->activation_bits);
    if (status == ITG_OK) status = read_range(r, "input_bits", &o->input_bits);
    if (status == ITG_OK) status = read_range(r, "output_bits", &o->output_bits);
    if (status == ITG_OK)
        status = read_methods(r, "weight_methods", o->weight_methods, &o->weight_method_count);
    if (status == ITG_OK)
        status = read_methods(r, "activation_methods", o->activation_methods,
                              &o->activation_method_count);
    if (status == ITG_OK) status = read_count(r, "calibration_samples", &o->calibration_samples);
    if (status == ITG_OK) status = read_count(r, "search_samples", &o->search_samples);
    if (status == ITG_OK) status = read_float_kernels(r, &o->float_kernels);
    if (status == ITG_OK && hago)
        status = itg_json_get_bool(r->json, hago, &o->hago_baseline, r->err);
    if (status == ITG_OK && racing) status = itg_json_get_bool(r->json, racing, &races, r->err);
    if (status == ITG_OK && equalize)
        status = itg_json_get_bool(r->json, equalize, &equalizes, r->err);
    o->no_racing = !races;
    o->no_equalize = !equalizes;
    return status;
}

itg_status itg_search_options_from_text(const char *text, const char *source,
                                        itg_search_options *out, itg_error *err)
{
    static const char *const keys[] = {"searcher",
                                       "optimize",
                                       "quality",
                                       "user_metrics",
                                       "min_quality",
                                       "max_drop",
                                       "max_size",
                                       "max_bops",
                                       "max_cycles",
                                       "max_ram",
                                       "max_flash",
                                       "trials",
                                       "seconds",
                                       "patience",
                                       "tolerance",
                                       "seed",
                                       "weight_bits",
                                       "activation_bits",
                                       "input_bits",
                                       "output_bits",
                                       "weight_methods",
                                       "activation_methods",
                                       "calibration_samples",
                                       "search_samples",
                                       "float_kernels",
                                       "hago_baseline",
                                       "equalize",
                                       "racing",
                                       NULL};
    itg_search_options options = ITG_SEARCH_OPTIONS_INIT;
    itg_json *json = NULL;
    itg_status status = itg_json_parse(text, strlen(text), source, &json, err);
    if (status != ITG_OK) return status;
    reader r = {json, itg_json_root(json), err};
    status = itg_json_typeof(r.root) == ITG_JSON_OBJECT
                 ? itg_json_allow_keys(json, r.root, keys, err)
                 : refuse(&r, r.root, "an object: options");
    if (status == ITG_OK) status = read_options(&r, &options);
    if (status == ITG_OK) *out = options;
    itg_json_destroy(json);
    return status;
}
