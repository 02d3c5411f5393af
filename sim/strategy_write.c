/* Strategy files, written. */
#include "base/user_metric.h"
#include "sim/strategy_file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_hash(itg_strbuf *out, const char *key, const unsigned char hash[32])
{
    char hex[65];
    itg_sha256_hex(hash, hex);
    itg_strbuf_format(out, "\"%s\": \"%s\"", key, hex);
}

static void add_bools(itg_strbuf *out, const bool *values, int32_t count)
{
    itg_strbuf_add(out, "[");
    for (int32_t i = 0; i < count; i++)
        itg_strbuf_format(out, "%s%s", i ? "," : "", values[i] ? "true" : "false");
    itg_strbuf_add(out, "]");
}

static void add_threshold(itg_strbuf *out, const itg_edge_choice *c)
{
    char lo[48], hi[48];
    if (c->bits == 0) {
        itg_strbuf_add(out, "null");
        return;
    }
    itg_strbuf_format(out, "{\"method\": \"%s\", ", itg_threshold_name(c->method));
    if (c->channel_count == 0) {
        itg_strbuf_format(out, "\"lo\": \"%s\", \"hi\": \"%s\"}", itg_hex_double(c->lo, lo),
                          itg_hex_double(c->hi, hi));
        return;
    }
    itg_strbuf_add(out, "\"channels\": [");
    for (int32_t i = 0; i < c->channel_count; i++)
        itg_strbuf_format(out, "%s\"%s\"", i ? "," : "", itg_hex_double(c->channel[i], hi));
    itg_strbuf_add(out, c->codes ? "], \"codes\": true}" : "]}");
}

static void add_codes(itg_strbuf *out, const itg_strategy *s)
{
    unsigned char hash[32];
    char name[72];
    if (itg_strategy_codes_bytes(s) == 0) return;
    itg_strategy_codes_hash(s, hash);
    itg_strategy_codes_name(hash, name);
    itg_strbuf_format(out, ",\n    \"codes\": {\"file\": \"%s\", ", name);
    add_hash(out, "sha256", hash);
    itg_strbuf_add(out, "}");
}

static void add_strategy(itg_strbuf *out, const itg_strategy *s, const itg_graph *g)
{
    itg_strbuf_add(out, "  \"strategy\": {\n    ");
    add_hash(out, "model_hash", s->model_hash);
    itg_strbuf_add(out, ",\n    ");
    add_hash(out, "graph_hash", s->graph_hash);
    itg_strbuf_format(out, ",\n    \"equalized\": %s", g->equalized ? "true" : "false");
    itg_strbuf_add(out, ",\n    \"topology\": {\"node_conds\": ");
    add_bools(out, s->node_conds, s->node_count);
    itg_strbuf_add(out, ", \"edge_conds\": ");
    add_bools(out, s->edge_conds, s->edge_count);
    itg_strbuf_add(out, "},\n    \"bits\": [");
    for (int32_t e = 0; e < s->edge_count; e++)
        itg_strbuf_format(out, "%s%d", e ? "," : "", s->edges[e].bits);
    itg_strbuf_add(out, "],\n    \"thresholds\": [\n");
    for (int32_t e = 0; e < s->edge_count; e++) {
        itg_strbuf_add(out, e ? ",\n      " : "      ");
        add_threshold(out, &s->edges[e]);
    }
    itg_strbuf_add(out, "\n    ]");
    add_codes(out, s);
    itg_strbuf_add(out, "\n  },\n");
}

static void add_names(itg_strbuf *out, const itg_graph *g)
{
    bool first = true;
    itg_strbuf_add(out, "  \"nodes\": [");
    for (itg_id n = 0; n < g->node_count; n++) {
        if (n) itg_strbuf_add(out, ", ");
        itg_strbuf_json_string(out, g->nodes[n].name);
    }
    itg_strbuf_add(out, "],\n  \"edges\": [");
    for (itg_id n = 0; n <= g->node_count; n++) {
        bool outputs = n == g->node_count;
        int32_t count = outputs ? g->output_count : g->nodes[n].input_count;
        for (int32_t i = 0; i < count; i++) {
            itg_id value = outputs ? g->outputs[i] : g->nodes[n].inputs[i];
            if (value == ITG_NONE) continue;
            itg_strbuf_add(out, first ? "\n    {\"value\": " : ",\n    {\"value\": ");
            itg_strbuf_json_string(out, g->values[value].name);
            itg_strbuf_add(out, ", \"node\": ");
            if (outputs)
                itg_strbuf_add(out, "null");
            else
                itg_strbuf_json_string(out, g->nodes[n].name);
            itg_strbuf_format(out, ", \"slot\": %d}", i);
            first = false;
        }
    }
    itg_strbuf_add(out, "\n  ],\n");
}

static void add_results(itg_strbuf *out, const itg_score *r)
{
    if (r->samples == 0) return;
    itg_strbuf_format(out, "  \"results\": {\"samples\": %lld, ", (long long)r->samples);
    for (int m = 0; m < ITG_METRIC_USER1; m++)
        if (isfinite(r->value[m]))
            itg_strbuf_format(out, "\"%s\": %.17g, ", itg_metric_about((itg_metric)m)->name,
                              r->value[m]);
    add_hash(out, "digest", r->digest);
    itg_user_results_write(r, out);
    itg_strbuf_add(out, "},\n");
}

void itg_split_info_write(const itg_split_info *split, itg_strbuf *out)
{
    itg_strbuf_format(out,
                      "{\"samples\": %lld, \"seed\": \"%llu\", \"calibration\": %lld, \"search\": "
                      "%lld, \"holdout\": %lld}",
                      (long long)split->samples, (unsigned long long)split->seed,
                      (long long)split->count[ITG_SPLIT_CALIBRATION],
                      (long long)split->count[ITG_SPLIT_SEARCH],
                      (long long)split->count[ITG_SPLIT_HOLDOUT]);
}

itg_status itg_strategy_file_text(const itg_strategy_file *file, const itg_graph *graph,
                                  itg_strbuf *out, itg_error *err)
{
    itg_strbuf_format(out,
                      "{\n  \"version\": 1,\n  \"kind\": \"intaglio-strategy\",\n  \"engine\": "
                      "\"intaglio %s\",\n",
                      ITG_VERSION);
    itg_strbuf_add(out, "  \"model\": ");
    itg_strbuf_json_string(out, graph->name);
    itg_strbuf_add(out, ",\n");
    add_strategy(out, file->strategy, graph);
    add_names(out, graph);
    add_results(out, &file->results);
    itg_strbuf_add(out, "  \"calibration\": {");
    add_hash(out, "data_hash", file->calibration_hash);
    itg_strbuf_add(out, ", ");
    add_hash(out, "statistics_hash", file->statistics_hash);
    itg_strbuf_format(out, ", \"samples\": %lld", (long long)file->calibration_samples);
    if (file->float_kernels != ITG_FLOAT_REFERENCE)
        itg_strbuf_format(out, ", \"float_kernels\": \"%s\"",
                          itg_float_kernels_name(file->float_kernels));
    itg_strbuf_add(out, "},\n");
    itg_strbuf_format(out,
                      "  \"seed\": \"%llu\",\n  \"searcher\": ", (unsigned long long)file->seed);
    itg_strbuf_json_string(out, file->searcher);
    if (file->split.samples > 0) {
        itg_strbuf_add(out, ",\n  \"split\": ");
        itg_split_info_write(&file->split, out);
    }
    itg_strbuf_add(out, ",\n  \"preprocessing\": ");
    itg_preprocess_write(&file->preprocess, out);
    itg_strbuf_format(out, ",\n  \"hardware\": %s\n}\n", file->hardware->json);
    return itg_strbuf_ok(out) ? ITG_OK
                              : itg_fail(err, ITG_NO_MEMORY, "no memory for the strategy's text");
}

itg_status itg_strategy_file_hash(const itg_strategy_file *file, const itg_graph *graph,
                                  unsigned char out[32], itg_error *err)
{
    static const unsigned char none[32];
    itg_strbuf text = {0};
    if (memcmp(file->source_hash, none, sizeof none) != 0) {
        memcpy(out, file->source_hash, sizeof file->source_hash);
        return ITG_OK;
    }
    itg_status status = itg_strategy_file_text(file, graph, &text, err);
    if (status == ITG_OK) {
        itg_sha256_of(text.text, text.length, out);
    }
    itg_strbuf_deinit(&text);
    return status;
}

/* The reader's limits are the writer's. */
static itg_status check_text(const itg_strbuf *text, const char *path, itg_error *err)
{
    itg_json *json = NULL;
    itg_status status = ITG_OK;
    if (text->length > ITG_STRATEGY_MAX_BYTES)
        status =
            itg_fail(err, ITG_LIMIT, "%s: is larger than %zu bytes", path, ITG_STRATEGY_MAX_BYTES);
    else
        status = itg_json_parse(text->text, text->length, path, &json, err);
    itg_json_destroy(json);
    return status == ITG_OK ? ITG_OK
                            : itg_prefix_error(err, status, "what is written cannot be read");
}

static itg_status save(const itg_strategy_file *file, const itg_graph *graph, const char *name,
                       itg_strbuf *text, itg_buffer *codes, itg_error *err)
{
    itg_status status = itg_strategy_file_text(file, graph, text, err);
    if (status == ITG_OK) status = check_text(text, name, err);
    return status == ITG_OK ? itg_strategy_codes_pack(file->strategy, codes, err) : status;
}

itg_status itg_strategy_save_memory(const itg_strategy_file *file, const itg_model *model,
                                    itg_buffer *text, itg_buffer *codes, itg_error *err)
{
    itg_strbuf made = {0};
    itg_status status = save(file, model, "the strategy", &made, codes, err);
    if (status == ITG_OK)
        *text = (itg_buffer){made.text, made.length};
    else
        itg_strbuf_deinit(&made);
    return status;
}

itg_status itg_strategy_save(const itg_strategy_file *file, const itg_model *model,
                             const char *path, itg_error *err)
{
    itg_strbuf text = {0};
    itg_buffer codes = {0};
    char *made = NULL;
    itg_status status = save(file, model, path, &text, &codes, err);
    if (status == ITG_OK)
        status = itg_strategy_codes_write(file->strategy, &codes, path, &made, err);
    if (status == ITG_OK) status = itg_file_write(path, text.text, text.length, err);
    if (status != ITG_OK && made) (void)remove(made);
    free(made);
    free(codes.data);
    itg_strbuf_deinit(&text);
    return status;
}
