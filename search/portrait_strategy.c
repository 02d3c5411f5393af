/* A portrait of a strategy file without its model. What the file says is a stranger's; only what is
 * shown is looked at (docs/strategy-file.md). */
#include "search/portrait.h"
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const itg_json *json;
    itg_strbuf *out;
    itg_error *err;
} reader;

static itg_status need(const reader *r, const itg_json_value *object, const char *key,
                       itg_json_type type, const itg_json_value **out)
{
    return itg_json_need(r->json, object, key, type, out, r->err);
}

static itg_status number_of(const reader *r, const itg_json_value *v, double *out)
{
    const char *text;
    itg_status status = itg_json_get_string(r->json, v, &text, r->err);
    if (status == ITG_OK && !itg_parse_hex_double(text, out))
        status = itg_json_fail(r->json, v, r->err, ITG_BAD_FILE, "no hex float");
    return status;
}

static itg_status add_channels(const reader *r, const char *method, const itg_json_value *channels)
{
    size_t count = itg_json_length(channels);
    double *values = malloc((count + 1) * sizeof *values);
    itg_status status =
        values != NULL ? ITG_OK : itg_fail(r->err, ITG_NO_MEMORY, "no memory for a portrait");
    for (size_t i = 0; i < count && status == ITG_OK; i++)
        status = number_of(r, itg_json_at(channels, i), &values[i]);
    if (status == ITG_OK) itg_portrait_threshold(r->out, method, values, (int64_t)count, false);
    free(values);
    return status;
}

static itg_status add_threshold(const reader *r, const itg_json_value *threshold)
{
    const itg_json_value *name, *channels, *lo, *hi;
    const char *method = NULL;
    double range[2];
    if (itg_json_typeof(threshold) != ITG_JSON_OBJECT)
        return itg_json_fail(r->json, threshold, r->err, ITG_BAD_FILE, "no threshold");
    itg_status status = need(r, threshold, "method", ITG_JSON_STRING, &name);
    if (status == ITG_OK) status = itg_json_get_string(r->json, name, &method, r->err);
    if (status != ITG_OK) return status;
    if (itg_json_find(threshold, "channels") != NULL) {
        status = need(r, threshold, "channels", ITG_JSON_ARRAY, &channels);
        return status == ITG_OK ? add_channels(r, method, channels) : status;
    }
    status = need(r, threshold, "lo", ITG_JSON_STRING, &lo);
    if (status == ITG_OK) status = need(r, threshold, "hi", ITG_JSON_STRING, &hi);
    if (status == ITG_OK) status = number_of(r, lo, &range[0]);
    if (status == ITG_OK) status = number_of(r, hi, &range[1]);
    if (status == ITG_OK) itg_portrait_threshold(r->out, method, range, 2, true);
    return status;
}

/* The member `key` as it stands there, with a comma before it. */
static void add_copy(const reader *r, const itg_json_value *object, const char *key)
{
    const itg_json_value *v = itg_json_find(object, key);
    itg_strbuf_format(r->out, ", \"%s\": ", key);
    if (v == NULL)
        itg_strbuf_add(r->out, "null");
    else
        itg_json_print(v, r->out);
}

static itg_status add_edge(const reader *r, const itg_json_value *edge, const itg_json_value *bits,
                           const itg_json_value *threshold)
{
    const itg_json_value *value;
    int64_t width = 0;
    itg_status status = itg_json_get_int(r->json, bits, 0, 32, &width, r->err);
    if (status == ITG_OK) status = need(r, edge, "value", ITG_JSON_STRING, &value);
    if (status != ITG_OK) return status;
    itg_strbuf_add(r->out, "{\"value\": ");
    itg_json_print(value, r->out);
    add_copy(r, edge, "node");
    add_copy(r, edge, "slot");
    itg_strbuf_format(r->out, ", \"bits\": %d", (int)width);
    if (width > 0) status = add_threshold(r, threshold);
    itg_strbuf_add(r->out, "}");
    return status;
}

static itg_status add_edges(const reader *r, const itg_json_value *strategy)
{
    const itg_json_value *edges, *bits, *thresholds;
    itg_status status = need(r, itg_json_root(r->json), "edges", ITG_JSON_ARRAY, &edges);
    if (status == ITG_OK) status = need(r, strategy, "bits", ITG_JSON_ARRAY, &bits);
    if (status == ITG_OK) status = need(r, strategy, "thresholds", ITG_JSON_ARRAY, &thresholds);
    if (status != ITG_OK) return status;
    size_t count = itg_json_length(edges);
    if (itg_json_length(bits) != count || itg_json_length(thresholds) != count)
        return itg_json_fail(r->json, bits, r->err, ITG_BAD_FILE,
                             "%zu widths and %zu thresholds for %zu edges", itg_json_length(bits),
                             itg_json_length(thresholds), count);
    itg_strbuf_add(r->out, ", \"edges\": [");
    for (size_t i = 0; i < count && status == ITG_OK; i++) {
        if (i > 0) itg_strbuf_add(r->out, ",\n ");
        status =
            add_edge(r, itg_json_at(edges, i), itg_json_at(bits, i), itg_json_at(thresholds, i));
    }
    itg_strbuf_add(r->out, "]");
    return status;
}

/* Name and hash of the description in it: hashed as it is embedded in programs. */
static itg_status add_hardware(const reader *r)
{
    const itg_json_value *value;
    itg_strbuf text = {0};
    itg_hardware *hw = NULL;
    char hex[65];
    unsigned char hash[32];
    itg_sha256 h;
    itg_status status = need(r, itg_json_root(r->json), "hardware", ITG_JSON_OBJECT, &value);
    if (status != ITG_OK) return status;
    itg_json_print(value, &text);
    status = itg_strbuf_ok(&text)
                 ? itg_hardware_parse(text.text, text.length, itg_json_source(r->json), &hw, r->err)
                 : itg_fail(r->err, ITG_NO_MEMORY, "no memory for a portrait");
    itg_strbuf_deinit(&text);
    if (status != ITG_OK) return status;
    itg_sha256_init(&h);
    itg_sha256_update(&h, hw->json, strlen(hw->json));
    itg_sha256_final(&h, hash);
    itg_sha256_hex(hash, hex);
    itg_portrait_text(r->out, "hardware", hw->name);
    itg_portrait_text(r->out, "hardware_hash", hex);
    itg_hardware_destroy(hw);
    return ITG_OK;
}

itg_status itg_portrait_of_strategy(const itg_json *strategy, itg_strbuf *out, itg_error *err)
{
    reader r = {strategy, out, err};
    const itg_json_value *root = itg_json_root(strategy), *member, *model;
    if (itg_json_typeof(root) != ITG_JSON_OBJECT)
        return itg_json_fail(strategy, root, err, ITG_BAD_FILE, "no strategy");
    itg_status status = need(&r, root, "strategy", ITG_JSON_OBJECT, &member);
    if (status == ITG_OK) status = need(&r, member, "model_hash", ITG_JSON_STRING, &model);
    if (status != ITG_OK) return status;
    itg_strbuf_add(out, "{\"model_hash\": ");
    itg_json_print(model, out);
    add_copy(&r, member, "graph_hash");
    status = add_hardware(&r);
    if (status == ITG_OK) status = add_edges(&r, member);
    itg_strbuf_add(out, "}\n");
    if (status == ITG_OK && !itg_strbuf_ok(out))
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for a portrait");
    return status;
}
