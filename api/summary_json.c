/* Summaries as JSON, by one table of members for writer and reader. Members of edges and layers
 * that are 0 or absent are left out. The reader does not trust its input. */
#include "base/user_metric.h"
#include "api/summary.h"
#include "sim/strategy_file.h"
#include <math.h>
#include <string.h>

typedef enum member_type {
    TEXT,
    NAME, /* a required text */
    INT,  /* int32_t */
    BYTES,
    COUNT, /* int64_t; beyond 2^53 as a rounded number */
    NUMBER
} member_type;

typedef struct member {
    const char *key;
    member_type type;
    size_t offset;
    int64_t most; /* INT, BYTES: the largest magnitude */
} member;

#define MOST_BYTES (INT64_C(1) << 53)
#define MEMBER(of, key, type, most)                                                                \
    {                                                                                              \
#key, type, offsetof(itg_summary_##of, key), most                                          \
    }
static const member info_members[] = {MEMBER(info, model_hash, NAME, 0),
                                      MEMBER(info, graph_hash, NAME, 0),
                                      MEMBER(info, hardware, NAME, 0),
                                      MEMBER(info, hardware_hash, NAME, 0),
                                      {NULL, TEXT, 0, 0}};
static const member edge_members[] = {MEMBER(edge, value, NAME, 0),
                                      MEMBER(edge, node, TEXT, 0),
                                      MEMBER(edge, producer, TEXT, 0),
                                      MEMBER(edge, elements, BYTES, MOST_BYTES),
                                      MEMBER(edge, slot, INT, INT32_MAX),
                                      MEMBER(edge, bits, INT, 64),
                                      MEMBER(edge, sign, TEXT, 0),
                                      MEMBER(edge, scale, NUMBER, 0),
                                      MEMBER(edge, zero_point, INT, INT32_MAX),
                                      MEMBER(edge, scales, TEXT, 0),
                                      MEMBER(edge, method, TEXT, 0),
                                      MEMBER(edge, lo, NUMBER, 0),
                                      MEMBER(edge, hi, NUMBER, 0),
                                      MEMBER(edge, thresholds, TEXT, 0),
                                      MEMBER(edge, zero_points, TEXT, 0),
                                      MEMBER(edge, codes, TEXT, 0),
                                      MEMBER(edge, bias, TEXT, 0),
                                      {NULL, TEXT, 0, 0}};
static const member layer_members[] = {MEMBER(layer, node, NAME, 0),
                                       MEMBER(layer, op, NAME, 0),
                                       MEMBER(layer, form, NAME, 0),
                                       MEMBER(layer, accumulator_bits, INT, 64),
                                       MEMBER(layer, weight_bytes, BYTES, MOST_BYTES),
                                       MEMBER(layer, macs, COUNT, 0),
                                       MEMBER(layer, parts, BYTES, INT32_MAX),
                                       MEMBER(layer, joins, COUNT, 0),
                                       MEMBER(layer, bops, NUMBER, 0),
                                       MEMBER(layer, cycles, NUMBER, 0),
                                       {NULL, TEXT, 0, 0}};

/* ---- writing ---- */

static void write_members(itg_json_writer *w, const member *m, const void *object)
{
    for (; m->key; m++) {
        const char *at = (const char *)object + m->offset;
        const char *text = NULL;
        double number = 0;
        if (m->type == TEXT || m->type == NAME)
            memcpy(&text, at, sizeof text);
        else if (m->type == INT)
            number = *(const int32_t *)(const void *)at;
        else if (m->type == NUMBER)
            number = *(const double *)(const void *)at;
        else
            number = (double)*(const int64_t *)(const void *)at;
        if (text)
            itg_json_put_text(w, m->key, text);
        else if (number != 0)
            itg_json_put(w, m->key, "%.17g", number);
    }
}

/* Writes the known metrics: costs, or all others except the user's. */
static void write_metrics(itg_json_writer *w, const itg_score *score, bool costs)
{
    for (int m = 0; m < ITG_METRIC_USER1; m++)
        if (isfinite(score->value[m]) && itg_metric_is_cost((itg_metric)m) == costs)
            itg_json_put(w, itg_metric_about((itg_metric)m)->name, "%.17g", score->value[m]);
}

static void write_list(itg_json_writer *w, const char *key, const member *members, const void *list,
                       int32_t count, size_t size)
{
    itg_json_begin_as(w, key, '[', ITG_JSON_LINES);
    for (int32_t i = 0; i < count; i++) {
        itg_json_begin(w, NULL, '{');
        write_members(w, members, (const char *)list + (size_t)i * size);
        itg_json_end(w, '}');
    }
    itg_json_end(w, ']');
}

void itg_summary_write(const itg_summary *s, itg_strbuf *out)
{
    const itg_score *score = &s->info.score;
    itg_json_writer w = {.text = *out};
    itg_json_begin_as(&w, NULL, '{', ITG_JSON_LINES);
    write_members(&w, info_members, &s->info);
    if (score->samples > 0) {
        itg_json_begin(&w, "results", '{');
        itg_json_put_int(&w, "samples", score->samples);
        write_metrics(&w, score, false);
        itg_user_metrics_write(&w, score->user, &score->value[ITG_METRIC_USER1]);
        itg_json_end(&w, '}');
    }
    if (s->info.has_costs) {
        itg_json_begin(&w, "costs", '{');
        write_metrics(&w, score, true);
        itg_json_end(&w, '}');
        write_list(&w, "layers", layer_members, s->layers, s->info.layer_count, sizeof *s->layers);
    }
    write_list(&w, "edges", edge_members, s->edges, s->info.edge_count, sizeof *s->edges);
    itg_json_end(&w, '}');
    *out = w.text;
    itg_strbuf_add(out, "\n");
}

/* ---- reading ---- */

static itg_status read_text(itg_summary *s, const itg_json *json, const itg_json_value *v, char *to,
                            itg_error *err)
{
    const char *text = NULL;
    itg_status status = itg_json_get_string(json, v, &text, err);
    if (status == ITG_OK) status = itg_summary_text(s, text, &text, err);
    if (status == ITG_OK) memcpy(to, &text, sizeof text);
    return status;
}

static itg_status read_member(itg_summary *s, const itg_json *json, const itg_json_value *v,
                              const member *m, char *to, itg_error *err)
{
    int64_t integer = 0;
    double number = 0;
    itg_status status;
    switch (m->type) {
    case TEXT:
    case NAME:
        return read_text(s, json, v, to, err);
    case INT:
        status = itg_json_get_int(json, v, -m->most, m->most, &integer, err);
        if (status == ITG_OK) *(int32_t *)(void *)to = (int32_t)integer;
        return status;
    case BYTES:
        return itg_json_get_int(json, v, -m->most, m->most, (int64_t *)(void *)to, err);
    case COUNT:
        status = itg_json_get_number(json, v, &number, err);
        if (status == ITG_OK)
            *(int64_t *)(void *)to = number >= 0 && number < 9e18 ? (int64_t)number : INT64_MAX;
        return status;
    default:
        return itg_json_get_number(json, v, (double *)(void *)to, err);
    }
}

static itg_status read_members(itg_summary *s, const itg_json *json, const itg_json_value *from,
                               const member *m, void *object, itg_error *err)
{
    itg_status status = ITG_OK;
    if (itg_json_typeof(from) != ITG_JSON_OBJECT)
        return itg_json_fail(json, from, err, ITG_BAD_FILE, "expected an object");
    for (; m->key && status == ITG_OK; m++) {
        const itg_json_value *v = itg_json_find(from, m->key);
        if (m->type == NAME) status = itg_json_need(json, from, m->key, ITG_JSON_STRING, &v, err);
        if (v && status == ITG_OK)
            status = read_member(s, json, v, m, (char *)object + m->offset, err);
    }
    return status;
}

static itg_status read_list(itg_summary *s, const itg_json *json, const itg_json_value *list,
                            const member *members, void *to, size_t size, itg_error *err)
{
    itg_status status = ITG_OK;
    size_t count = list ? itg_json_length(list) : 0;
    for (size_t i = 0; i < count && status == ITG_OK; i++)
        status = read_members(s, json, itg_json_at(list, i), members, (char *)to + i * size, err);
    return status;
}

static itg_status read_costs(const itg_json *json, const itg_json_value *from, itg_score *score,
                             itg_error *err)
{
    for (int m = 0; m < ITG_METRIC_COUNT; m++) {
        const itg_metric_info *about = itg_metric_about((itg_metric)m);
        const itg_json_value *v = itg_json_find(from, about->name);
        double value = 0;
        if (!v || !itg_metric_is_cost((itg_metric)m)) continue;
        itg_status status = itg_json_get_number(json, v, &value, err);
        if (status == ITG_OK && !itg_metric_allows((itg_metric)m, value))
            status = itg_json_fail(json, v, err, ITG_BAD_FILE, "no possible value");
        if (status != ITG_OK) return status;
        score->value[m] = value;
    }
    return ITG_OK;
}

void itg_summary_results(itg_summary *s, const itg_json *json)
{
    itg_score read = itg_score_unknown();
    itg_results_read(json, &read);
    if (read.samples == 0) return;
    s->info.score.samples = read.samples;
    memcpy(s->info.score.user, read.user, sizeof read.user);
    for (int m = 0; m < ITG_METRIC_COUNT; m++)
        if (!itg_metric_is_cost((itg_metric)m)) s->info.score.value[m] = read.value[m];
}

static itg_status read_parts(itg_summary *s, const itg_json *json, const itg_json_value *edges,
                             const itg_json_value *layers, itg_error *err)
{
    const itg_json_value *root = itg_json_root(json), *costs = itg_json_find(root, "costs");
    itg_status status = read_members(s, json, root, info_members, &s->info, err);
    s->info.has_costs = costs != NULL;
    if (costs && status == ITG_OK) status = read_costs(json, costs, &s->info.score, err);
    if (status == ITG_OK)
        status = read_list(s, json, layers, layer_members, s->layers, sizeof *s->layers, err);
    if (status == ITG_OK)
        status = read_list(s, json, edges, edge_members, s->edges, sizeof *s->edges, err);
    itg_summary_results(s, json);
    return status;
}

itg_status itg_summary_read(const char *text, size_t bytes, const char *source, itg_summary **out,
                            itg_error *err)
{
    const itg_json_value *edges = NULL, *layers = NULL;
    itg_json *json = NULL;
    itg_summary *s = NULL;
    itg_status status = itg_json_parse(text, bytes, source, &json, err);
    if (status != ITG_OK) return status;
    const itg_json_value *root = itg_json_root(json);
    status = itg_json_typeof(root) == ITG_JSON_OBJECT
                 ? itg_json_need(json, root, "edges", ITG_JSON_ARRAY, &edges, err)
                 : itg_fail(err, ITG_BAD_FILE, "%s: its summary is no JSON object", source);
    if (status == ITG_OK && itg_json_find(root, "costs"))
        status = itg_json_need(json, root, "layers", ITG_JSON_ARRAY, &layers, err);
    if (status == ITG_OK)
        status = itg_summary_create((int32_t)itg_json_length(edges),
                                    layers ? (int32_t)itg_json_length(layers) : 0, &s, err);
    if (status == ITG_OK) status = read_parts(s, json, edges, layers, err);
    itg_json_destroy(json);
    if (status == ITG_OK)
        *out = s;
    else
        itg_summary_destroy(s);
    return status;
}
