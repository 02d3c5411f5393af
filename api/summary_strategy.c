/* Makes a summary of a strategy file without its model. The file is not trusted; only what the
 * summary shows is read (docs/strategy-file.md). */
#include "api/summary.h"
#include "hardware/hardware.h"
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const itg_json *json;
    itg_summary *summary;
    itg_error *err;
} reader;

static itg_status need(const reader *r, const itg_json_value *object, const char *key,
                       itg_json_type type, const itg_json_value **out)
{
    return itg_json_need(r->json, object, key, type, out, r->err);
}

/* Reads a required text. */
static itg_status take_text(const reader *r, const itg_json_value *object, const char *key,
                            const char **out)
{
    const itg_json_value *v;
    const char *text = NULL;
    itg_status status = need(r, object, key, ITG_JSON_STRING, &v);
    if (status == ITG_OK) status = itg_json_get_string(r->json, v, &text, r->err);
    return status == ITG_OK ? itg_summary_text(r->summary, text, out, r->err) : status;
}

static itg_status number_of(const reader *r, const itg_json_value *v, double *out)
{
    const char *text;
    itg_status status = itg_json_get_string(r->json, v, &text, r->err);
    if (status == ITG_OK && !itg_parse_hex_double(text, out))
        status = itg_json_fail(r->json, v, r->err, ITG_BAD_FILE, "no hex float");
    return status;
}

/* Reads an array of hex floats or integers; the caller frees *out. */
static itg_status read_numbers(const reader *r, const itg_json_value *list, bool hex, double **out)
{
    const size_t count = itg_json_length(list);
    itg_status status = ITG_OK;
    *out = malloc((count + 1) * sizeof **out);
    if (!*out) return itg_fail(r->err, ITG_NO_MEMORY, "no memory for a summary");
    for (size_t i = 0; i < count && status == ITG_OK; i++) {
        const itg_json_value *v = itg_json_at(list, i);
        status =
            hex ? number_of(r, v, &(*out)[i]) : itg_json_get_number(r->json, v, &(*out)[i], r->err);
    }
    return status;
}

/* The hash of an entry's list, if it has it. */
static itg_status add_list(const reader *r, const itg_json_value *threshold, const char *key,
                           bool hex, const char **out)
{
    const itg_json_value *list = itg_json_find(threshold, key);
    double *values = NULL;
    if (!list) return ITG_OK;
    itg_status status = need(r, threshold, key, ITG_JSON_ARRAY, &list);
    if (status == ITG_OK) status = read_numbers(r, list, hex, &values);
    if (status == ITG_OK)
        status = itg_summary_hash(r->summary, values, (int64_t)itg_json_length(list), out, r->err);
    free(values);
    return status;
}

/* Codes are in a file of their own, and how many belong to an entry takes the model to know: the
 * hash is the file's. */
static itg_status add_codes(const reader *r, const itg_json_value *threshold,
                            itg_summary_edge *edge)
{
    const itg_json_value *strategy, *file, *codes = itg_json_find(threshold, "codes");
    bool has = false;
    itg_status status = codes ? itg_json_get_bool(r->json, codes, &has, r->err) : ITG_OK;
    if (status != ITG_OK || !has) return status;
    status = need(r, itg_json_root(r->json), "strategy", ITG_JSON_OBJECT, &strategy);
    if (status == ITG_OK) status = need(r, strategy, "codes", ITG_JSON_OBJECT, &file);
    return status == ITG_OK ? take_text(r, file, "sha256", &edge->codes) : status;
}

static itg_status add_own(const reader *r, const itg_json_value *threshold, itg_summary_edge *edge)
{
    itg_status status = add_list(r, threshold, "zero_points", false, &edge->zero_points);
    if (status == ITG_OK) status = add_list(r, threshold, "bias", true, &edge->bias);
    return status == ITG_OK ? add_codes(r, threshold, edge) : status;
}

static itg_status add_channels(const reader *r, const char *method, int64_t passed_over,
                               const itg_json_value *channels, itg_summary_edge *edge)
{
    double *values = NULL;
    itg_status status = read_numbers(r, channels, true, &values);
    if (status == ITG_OK)
        status = itg_summary_threshold(r->summary, edge, method, passed_over, values,
                                       (int64_t)itg_json_length(channels), false, r->err);
    free(values);
    return status;
}

static itg_status add_threshold(const reader *r, const itg_json_value *threshold,
                                itg_summary_edge *edge)
{
    const itg_json_value *channels, *lo, *hi, *passed = itg_json_find(threshold, "passed_over");
    const char *method = NULL;
    int64_t passed_over = 0;
    double range[2];
    if (itg_json_typeof(threshold) != ITG_JSON_OBJECT)
        return itg_json_fail(r->json, threshold, r->err, ITG_BAD_FILE, "no threshold");
    itg_status status = take_text(r, threshold, "method", &method);
    if (status == ITG_OK && passed)
        status = itg_json_get_int(r->json, passed, 0, INT32_MAX, &passed_over, r->err);
    if (status != ITG_OK) return status;
    if (itg_json_find(threshold, "channels") != NULL) {
        status = need(r, threshold, "channels", ITG_JSON_ARRAY, &channels);
        if (status == ITG_OK) status = add_channels(r, method, passed_over, channels, edge);
        return status == ITG_OK ? add_own(r, threshold, edge) : status;
    }
    status = need(r, threshold, "lo", ITG_JSON_STRING, &lo);
    if (status == ITG_OK) status = need(r, threshold, "hi", ITG_JSON_STRING, &hi);
    if (status == ITG_OK) status = number_of(r, lo, &range[0]);
    if (status == ITG_OK) status = number_of(r, hi, &range[1]);
    return status == ITG_OK ? itg_summary_threshold(r->summary, edge, method, passed_over, range, 2,
                                                    true, r->err)
                            : status;
}

static itg_status add_edge(const reader *r, const itg_json_value *from, const itg_json_value *bits,
                           const itg_json_value *threshold, itg_summary_edge *edge)
{
    const itg_json_value *node, *slot;
    int64_t width = 0, input = 0;
    itg_status status = itg_json_get_int(r->json, bits, 0, 32, &width, r->err);
    if (status == ITG_OK) status = take_text(r, from, "value", &edge->value);
    if (status == ITG_OK && (node = itg_json_find(from, "node")) != NULL &&
        itg_json_typeof(node) != ITG_JSON_NULL)
        status = take_text(r, from, "node", &edge->node);
    if (status == ITG_OK && (slot = itg_json_find(from, "slot")) != NULL)
        status = itg_json_get_int(r->json, slot, -INT32_MAX, INT32_MAX, &input, r->err);
    edge->bits = (int32_t)width;
    edge->slot = (int32_t)input;
    return status == ITG_OK && width > 0 ? add_threshold(r, threshold, edge) : status;
}

/* Reads the name and the hash of its description, printed as in programs. */
static itg_status add_hardware(const reader *r)
{
    const itg_json_value *value;
    itg_strbuf text = {0};
    itg_hardware *hw = NULL;
    itg_status status = need(r, itg_json_root(r->json), "hardware", ITG_JSON_OBJECT, &value);
    if (status != ITG_OK) return status;
    itg_json_print(value, &text);
    status = itg_strbuf_ok(&text)
                 ? itg_hardware_parse(text.text, text.length, itg_json_source(r->json), &hw, r->err)
                 : itg_fail(r->err, ITG_NO_MEMORY, "no memory for a summary");
    itg_strbuf_deinit(&text);
    if (status == ITG_OK) status = itg_summary_hardware(r->summary, hw, r->err);
    itg_hardware_destroy(hw);
    return status;
}

/* The lists of a strategy, with one entry per edge. */
typedef struct lists {
    const itg_json_value *edges, *bits, *thresholds;
} lists;

static itg_status find_lists(const reader *r, const itg_json_value *strategy, lists *l)
{
    itg_status status = need(r, itg_json_root(r->json), "edges", ITG_JSON_ARRAY, &l->edges);
    if (status == ITG_OK) status = need(r, strategy, "bits", ITG_JSON_ARRAY, &l->bits);
    if (status == ITG_OK) status = need(r, strategy, "thresholds", ITG_JSON_ARRAY, &l->thresholds);
    if (status != ITG_OK) return status;
    size_t count = itg_json_length(l->edges);
    if (itg_json_length(l->bits) == count && itg_json_length(l->thresholds) == count) return ITG_OK;
    return itg_json_fail(r->json, l->bits, r->err, ITG_BAD_FILE,
                         "%zu widths and %zu thresholds for %zu edges", itg_json_length(l->bits),
                         itg_json_length(l->thresholds), count);
}

static itg_status fill(const reader *r, const itg_json_value *strategy, const lists *l)
{
    itg_summary_info *info = &r->summary->info;
    itg_status status = take_text(r, strategy, "model_hash", &info->model_hash);
    if (status == ITG_OK) status = take_text(r, strategy, "graph_hash", &info->graph_hash);
    if (status == ITG_OK) status = add_hardware(r);
    for (int32_t i = 0; i < info->edge_count && status == ITG_OK; i++)
        status = add_edge(r, itg_json_at(l->edges, (size_t)i), itg_json_at(l->bits, (size_t)i),
                          itg_json_at(l->thresholds, (size_t)i), &r->summary->edges[i]);
    return status;
}

itg_status itg_summary_of_strategy(const itg_json *json, itg_summary **out, itg_error *err)
{
    reader r = {json, NULL, err};
    lists l = {NULL, NULL, NULL};
    const itg_json_value *root = itg_json_root(json), *strategy;
    if (itg_json_typeof(root) != ITG_JSON_OBJECT)
        return itg_json_fail(json, root, err, ITG_BAD_FILE, "no strategy");
    itg_status status = need(&r, root, "strategy", ITG_JSON_OBJECT, &strategy);
    if (status == ITG_OK) status = find_lists(&r, strategy, &l);
    if (status == ITG_OK)
        status = itg_summary_create((int32_t)itg_json_length(l.edges), 0, &r.summary, err);
    if (status == ITG_OK) status = fill(&r, strategy, &l);
    if (status != ITG_OK) {
        itg_summary_destroy(r.summary);
        return status;
    }
    itg_summary_results(r.summary, json);
    *out = r.summary;
    return ITG_OK;
}
