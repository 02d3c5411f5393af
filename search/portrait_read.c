/* Portraits, read: from a program's metadata (a stranger's) or from this library's own text. */
#include "search/portrait.h"
#include "realize/realize.h"
#include "search/engine.h"
#include <stdlib.h>
#include <string.h>

struct itg_portrait {
    itg_json *json; /* owns all texts */
    itg_portrait_info info;
    itg_portrait_edge *edges;
    itg_portrait_layer *layers;
};

typedef struct reader {
    const itg_json *json;
    itg_error *err;
    itg_status status; /* the first failure; nothing is read after it */
} reader;

/* A member that may be absent, or null where it is a text. */
static const itg_json_value *member(reader *r, const itg_json_value *object, const char *key)
{
    const itg_json_value *v = r->status == ITG_OK ? itg_json_find(object, key) : NULL;
    return v != NULL && itg_json_typeof(v) == ITG_JSON_NULL ? NULL : v;
}

static const char *text(reader *r, const itg_json_value *object, const char *key)
{
    const itg_json_value *v = member(r, object, key);
    const char *out = NULL;
    if (v != NULL) r->status = itg_json_get_string(r->json, v, &out, r->err);
    return r->status == ITG_OK ? out : NULL;
}

static const char *needed(reader *r, const itg_json_value *object, const char *key)
{
    const itg_json_value *v;
    if (r->status == ITG_OK)
        r->status = itg_json_need(r->json, object, key, ITG_JSON_STRING, &v, r->err);
    return text(r, object, key);
}

static int64_t integer(reader *r, const itg_json_value *object, const char *key, int64_t most)
{
    const itg_json_value *v = member(r, object, key);
    int64_t out = 0;
    if (v != NULL) r->status = itg_json_get_int(r->json, v, -most, most, &out, r->err);
    return out;
}

static double number(reader *r, const itg_json_value *object, const char *key)
{
    const itg_json_value *v = member(r, object, key);
    double out = 0;
    if (v != NULL) r->status = itg_json_get_number(r->json, v, &out, r->err);
    return out;
}

#define MOST_BYTES (INT64_C(1) << 53)

/* The entries of a list; each is an object. */
static const itg_json_value *list(reader *r, const char *key, int32_t *count)
{
    const itg_json_value *v = NULL;
    if (r->status == ITG_OK)
        r->status = itg_json_need(r->json, itg_json_root(r->json), key, ITG_JSON_ARRAY, &v, r->err);
    size_t length = r->status == ITG_OK ? itg_json_length(v) : 0;
    for (size_t i = 0; i < length && r->status == ITG_OK; i++)
        if (itg_json_typeof(itg_json_at(v, i)) != ITG_JSON_OBJECT)
            r->status =
                itg_json_fail(r->json, itg_json_at(v, i), r->err, ITG_BAD_FILE, "no object");
    if (length > INT32_MAX / 2)
        r->status = itg_json_fail(r->json, v, r->err, ITG_LIMIT, "too long");
    *count = r->status == ITG_OK ? (int32_t)length : 0;
    return v;
}

static void *entries(reader *r, int32_t count, size_t size)
{
    void *out = calloc((size_t)count + 1, size);
    if (out == NULL && r->status == ITG_OK)
        r->status = itg_fail(r->err, ITG_NO_MEMORY, "no memory for a portrait");
    return out;
}

static void read_edges(reader *r, itg_portrait *p)
{
    const itg_json_value *edges = list(r, "edges", &p->info.edge_count);
    p->edges = entries(r, p->info.edge_count, sizeof *p->edges);
    for (int32_t i = 0; i < p->info.edge_count && r->status == ITG_OK; i++) {
        const itg_json_value *v = itg_json_at(edges, (size_t)i);
        itg_portrait_edge *e = &p->edges[i];
        e->value = needed(r, v, "value");
        e->node = text(r, v, "node");
        e->slot = (int32_t)integer(r, v, "slot", INT32_MAX);
        e->bits = (int32_t)integer(r, v, "bits", 64);
        e->sign = text(r, v, "sign");
        e->zero_point = (int32_t)integer(r, v, "zero_point", INT32_MAX);
        e->scale = number(r, v, "scale");
        e->scales = text(r, v, "scales");
        e->method = text(r, v, "method");
        e->lo = number(r, v, "lo");
        e->hi = number(r, v, "hi");
        e->thresholds = text(r, v, "thresholds");
    }
}

static void read_layers(reader *r, itg_portrait *p)
{
    const itg_json_value *layers = list(r, "layers", &p->info.layer_count);
    p->layers = entries(r, p->info.layer_count, sizeof *p->layers);
    for (int32_t i = 0; i < p->info.layer_count && r->status == ITG_OK; i++) {
        const itg_json_value *v = itg_json_at(layers, (size_t)i);
        itg_portrait_layer *layer = &p->layers[i];
        double macs = number(r, v, "macs"), joins = number(r, v, "joins");
        layer->node = needed(r, v, "node");
        layer->op = needed(r, v, "op");
        layer->form = needed(r, v, "form");
        layer->accumulator_bits = (int32_t)integer(r, v, "accumulator_bits", 64);
        layer->weight_bytes = integer(r, v, "weight_bytes", MOST_BYTES);
        layer->macs = macs >= 0 && macs < 9e18 ? (int64_t)macs : INT64_MAX;
        layer->parts = integer(r, v, "parts", INT32_MAX);
        layer->joins = joins >= 0 && joins < 9e18 ? (int64_t)joins : INT64_MAX;
        layer->bops = number(r, v, "bops");
        layer->cycles = number(r, v, "cycles");
    }
}

static void read_costs(reader *r, itg_portrait *p)
{
    itg_score *score = &p->info.score;
    const itg_json_value *costs = member(r, itg_json_root(r->json), "costs");
    *score = itg_score_unknown();
    if (costs == NULL || itg_json_typeof(costs) != ITG_JSON_OBJECT) return;
    p->info.has_costs = true;
    for (int m = 0; m < ITG_METRIC_COUNT; m++) {
        const itg_metric_info *about = itg_metric_about((itg_metric)m);
        const itg_json_value *v = member(r, costs, about->name);
        if (about->needs != ITG_NEEDS_PROGRAM || v == NULL) continue;
        score->value[m] = number(r, costs, about->name);
        if (r->status == ITG_OK && !itg_metric_allows((itg_metric)m, score->value[m]))
            r->status = itg_json_fail(r->json, v, r->err, ITG_BAD_FILE, "no possible value");
    }
    read_layers(r, p);
}

/* Quality as the file says it, where it does. */
static void read_results(const itg_json *strategy, itg_score *score)
{
    const itg_json_value *results = itg_json_find(itg_json_root(strategy), "results"), *v;
    if (results == NULL || itg_json_typeof(results) != ITG_JSON_OBJECT) return;
    if ((v = itg_json_find(results, "samples")) == NULL ||
        itg_json_get_int(strategy, v, 1, MOST_BYTES, &score->samples, NULL) != ITG_OK)
        return;
    for (int m = 0; m < ITG_METRIC_COUNT; m++) {
        const itg_metric_info *about = itg_metric_about((itg_metric)m);
        double value;
        if (about->needs != ITG_NEEDS_PROGRAM &&
            (v = itg_json_find(results, about->name)) != NULL &&
            itg_json_get_number(strategy, v, &value, NULL) == ITG_OK &&
            itg_metric_allows((itg_metric)m, value))
            score->value[m] = value;
    }
}

itg_status itg_portrait_read(const char *source_text, size_t bytes, const char *source,
                             bool is_program, itg_portrait **out, itg_error *err)
{
    itg_portrait *p = calloc(1, sizeof *p);
    if (p == NULL) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for a portrait", source);
    reader r = {NULL, err, itg_json_parse(source_text, bytes, source, &p->json, err)};
    r.json = p->json;
    if (r.status == ITG_OK && itg_json_typeof(itg_json_root(r.json)) != ITG_JSON_OBJECT)
        r.status = itg_fail(err, ITG_BAD_FILE, "%s: its portrait is no JSON object", source);
    if (r.status == ITG_OK) {
        const itg_json_value *root = itg_json_root(r.json);
        p->info.is_program = is_program;
        p->info.model_hash = needed(&r, root, "model_hash");
        p->info.graph_hash = needed(&r, root, "graph_hash");
        p->info.hardware = needed(&r, root, "hardware");
        p->info.hardware_hash = needed(&r, root, "hardware_hash");
        read_costs(&r, p);
        read_edges(&r, p);
        read_results(r.json, &p->info.score);
    }
    if (r.status == ITG_OK)
        *out = p;
    else
        itg_portrait_destroy(p);
    return r.status;
}

void itg_portrait_destroy(itg_portrait *portrait)
{
    if (portrait == NULL) return;
    itg_json_destroy(portrait->json);
    free(portrait->edges);
    free(portrait->layers);
    free(portrait);
}

/* ---- opening ---- */

static itg_status write_strategy(const char *path, const itg_model *model, const itg_json *json,
                                 itg_strbuf *out, itg_error *err)
{
    itg_strategy_file *file = NULL;
    itg_annotated *a = NULL;
    if (model == NULL) return itg_portrait_of_strategy(json, out, err);
    itg_status status = itg_strategy_open(model, path, &file, err);
    if (status == ITG_OK) status = itg_annotate_strategy(model, file, &a, err);
    if (status == ITG_OK) status = itg_portrait_write(a, NULL, file, out, err);
    itg_annotated_destroy(a);
    itg_strategy_close(file);
    return status;
}

static itg_status open_strategy(const char *path, const itg_model *model, const char *bytes,
                                size_t count, itg_portrait **out, itg_error *err)
{
    itg_json *json = NULL;
    itg_strbuf own = {0};
    itg_portrait *p = NULL;
    itg_status status = itg_json_parse(bytes, count, path, &json, err);
    if (status == ITG_OK) status = write_strategy(path, model, json, &own, err);
    if (status == ITG_OK) status = itg_portrait_read(own.text, own.length, path, false, &p, err);
    if (status == ITG_OK) {
        read_results(json, &p->info.score);
        *out = p;
    }
    itg_strbuf_deinit(&own);
    itg_json_destroy(json);
    return status;
}

static itg_status open_program(const char *path, const itg_model *model, itg_portrait **out,
                               itg_error *err)
{
    itg_program *program = NULL;
    itg_portrait *p = NULL;
    char hex[65];
    itg_status status = itg_program_open(path, &program, err);
    if (status != ITG_OK) return status;
    const char *kept = itg_program_metadata(program, ITG_PORTRAIT_KEY);
    status = kept != NULL
                 ? itg_portrait_read(kept, strlen(kept), path, true, &p, err)
                 : itg_fail(err, ITG_UNSUPPORTED,
                            "%s: it does not hold what it was made from; realize it again", path);
    itg_program_destroy(program);
    if (status != ITG_OK) return status;
    if (model != NULL) itg_sha256_hex(itg_model_hash(model), hex);
    if (model != NULL && strcmp(hex, p->info.model_hash) != 0) {
        itg_portrait_destroy(p);
        return itg_fail(err, ITG_MISMATCH, "%s: it was made from another model than %s", path,
                        itg_model_name(model));
    }
    *out = p;
    return ITG_OK;
}

itg_status itg_portrait_open(const char *path, const itg_model *model, itg_portrait **out,
                             itg_error *err)
{
    unsigned char *bytes = NULL;
    size_t count = 0, at = 0;
    itg_status status = itg_file_read(path, (size_t)1 << 30, &bytes, &count, err);
    if (status != ITG_OK) return status;
    while (at < count && strchr(" \t\r\n", bytes[at]) != NULL && bytes[at] != '\0')
        at++;
    if (at < count && bytes[at] == '{')
        status = open_strategy(path, model, (const char *)bytes, count, out, err);
    else
        status = open_program(path, model, out, err);
    free(bytes);
    return status;
}

const itg_portrait_info *itg_portrait_info_of(const itg_portrait *portrait)
{
    return &portrait->info;
}

const itg_portrait_edge *itg_portrait_edge_at(const itg_portrait *portrait, int32_t index)
{
    return &portrait->edges[index];
}

const itg_portrait_layer *itg_portrait_layer_at(const itg_portrait *portrait, int32_t index)
{
    return &portrait->layers[index];
}
