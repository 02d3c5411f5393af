/* Writes strategy files. */
#include "base/user_metric.h"
#include "sim/strategy_file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_bools(itg_json_writer *w, const char *key, const bool *values, int32_t count)
{
    itg_json_begin_as(w, key, '[', ITG_JSON_TIGHT);
    for (int32_t i = 0; i < count; i++)
        itg_json_put_bool(w, NULL, values[i]);
    itg_json_end(w, ']');
}

static void put_threshold(itg_json_writer *w, const itg_edge_choice *c)
{
    if (c->bits == 0) {
        itg_json_put_null(w, NULL);
        return;
    }
    itg_json_begin(w, NULL, '{');
    itg_json_put_text(w, "method", itg_threshold_name(c->method));
    if (c->passed_over > 0) itg_json_put_int(w, "passed_over", c->passed_over);
    if (c->channel_count == 0) {
        itg_json_put_hex(w, "lo", c->lo);
        itg_json_put_hex(w, "hi", c->hi);
    } else {
        itg_json_begin_as(w, "channels", '[', ITG_JSON_TIGHT);
        for (int32_t i = 0; i < c->channel_count; i++)
            itg_json_put_hex(w, NULL, c->channel[i]);
        itg_json_end(w, ']');
        if (c->zero) itg_json_begin_as(w, "zero_points", '[', ITG_JSON_TIGHT);
        for (int32_t i = 0; c->zero && i < c->channel_count; i++)
            itg_json_put_int(w, NULL, c->zero[i]);
        if (c->zero) itg_json_end(w, ']');
        if (c->codes) itg_json_put_bool(w, "codes", true);
        if (c->bias) itg_json_begin_as(w, "bias", '[', ITG_JSON_TIGHT);
        for (int32_t i = 0; i < c->bias_count; i++)
            itg_json_put_hex(w, NULL, (double)c->bias[i]);
        if (c->bias) itg_json_end(w, ']');
    }
    itg_json_end(w, '}');
}

static void put_codes(itg_json_writer *w, const itg_strategy *s)
{
    unsigned char hash[32];
    char name[72];
    if (itg_strategy_codes_bytes(s) == 0) return;
    itg_strategy_codes_hash(s, hash);
    itg_strategy_codes_name(hash, name);
    itg_json_begin(w, "codes", '{');
    itg_json_put_text(w, "file", name);
    itg_json_put_hash(w, "sha256", hash);
    itg_json_end(w, '}');
}

static void put_model_options(itg_json_writer *w, const itg_model_options *o)
{
    itg_json_begin(w, "model_options", '{');
    itg_json_put_text(w, "input_shapes", o->input_shapes);
    itg_json_put_text(w, "outputs", o->outputs);
    itg_json_put_bool(w, "keep_softmax", o->keep_softmax);
    itg_json_put_bool(w, "no_equalize", o->no_equalize);
    itg_json_end(w, '}');
}

static void put_strategy(itg_json_writer *w, const itg_strategy *s, const itg_graph *g)
{
    itg_json_begin_as(w, "strategy", '{', ITG_JSON_LINES);
    itg_json_put_hash(w, "model_hash", s->model_hash);
    itg_json_put_hash(w, "graph_hash", s->graph_hash);
    put_model_options(w, &g->options);
    itg_json_begin(w, "topology", '{');
    put_bools(w, "node_conds", s->node_conds, s->node_count);
    put_bools(w, "edge_conds", s->edge_conds, s->edge_count);
    itg_json_end(w, '}');
    itg_json_begin_as(w, "bits", '[', ITG_JSON_TIGHT);
    for (int32_t e = 0; e < s->edge_count; e++)
        itg_json_put_int(w, NULL, s->edges[e].bits);
    itg_json_end(w, ']');
    itg_json_begin_as(w, "thresholds", '[', ITG_JSON_LINES);
    for (int32_t e = 0; e < s->edge_count; e++)
        put_threshold(w, &s->edges[e]);
    itg_json_end(w, ']');
    put_codes(w, s);
    itg_json_end(w, '}');
}

static void put_edge(itg_json_writer *w, const itg_graph *g, itg_id value, const char *node,
                     int32_t slot)
{
    if (value == ITG_NONE) return;
    itg_json_begin(w, NULL, '{');
    itg_json_put_text(w, "value", g->values[value].name);
    itg_json_put_text(w, "node", node);
    itg_json_put_int(w, "slot", slot);
    itg_json_end(w, '}');
}

static void put_names(itg_json_writer *w, const itg_graph *g)
{
    itg_json_begin(w, "nodes", '[');
    for (itg_id n = 0; n < g->node_count; n++)
        itg_json_put_text(w, NULL, g->nodes[n].name);
    itg_json_end(w, ']');
    itg_json_begin_as(w, "edges", '[', ITG_JSON_LINES);
    for (itg_id n = 0; n < g->node_count; n++)
        for (int32_t i = 0; i < g->nodes[n].input_count; i++)
            put_edge(w, g, g->nodes[n].inputs[i], g->nodes[n].name, i);
    for (int32_t i = 0; i < g->output_count; i++)
        put_edge(w, g, g->outputs[i], NULL, i);
    itg_json_end(w, ']');
}

static void put_results(itg_json_writer *w, const itg_score *r)
{
    if (r->samples == 0) return;
    itg_json_begin(w, "results", '{');
    itg_json_put_int(w, "samples", r->samples);
    for (int m = 0; m < ITG_METRIC_USER1; m++)
        if (isfinite(r->value[m]))
            itg_json_put(w, itg_metric_about((itg_metric)m)->name, "%.17g", r->value[m]);
    itg_json_put_hash(w, "digest", r->digest);
    itg_user_metrics_write(w, r->user, &r->value[ITG_METRIC_USER1]);
    itg_json_end(w, '}');
}

static void put_calibration(itg_json_writer *w, const itg_strategy_file *file)
{
    itg_json_begin(w, "calibration", '{');
    itg_json_put_hash(w, "data_hash", file->calibration_hash);
    itg_json_put_hash(w, "statistics_hash", file->statistics_hash);
    itg_json_put_int(w, "samples", file->calibration_samples);
    if (file->float_kernels != ITG_FLOAT_REFERENCE)
        itg_json_put_text(w, "float_kernels", itg_float_kernels_name(file->float_kernels));
    itg_json_end(w, '}');
}

void itg_split_info_write(const itg_split_info *split, itg_strbuf *out)
{
    itg_json_writer w = {.text = *out};
    itg_json_begin(&w, NULL, '{');
    itg_json_put_int(&w, "samples", split->samples);
    itg_json_put_seed(&w, "seed", split->seed);
    itg_json_put_int(&w, "calibration", split->count[ITG_SPLIT_CALIBRATION]);
    itg_json_put_int(&w, "search", split->count[ITG_SPLIT_SEARCH]);
    itg_json_put_int(&w, "selection", split->count[ITG_SPLIT_SELECTION]);
    itg_json_put_int(&w, "holdout", split->count[ITG_SPLIT_HOLDOUT]);
    itg_json_end(&w, '}');
    *out = w.text;
}

itg_status itg_strategy_file_text(const itg_strategy_file *file, const itg_graph *graph,
                                  itg_strbuf *out, itg_error *err)
{
    itg_json_writer w = {.text = *out};
    itg_json_begin_as(&w, NULL, '{', ITG_JSON_LINES);
    itg_json_put_int(&w, "version", 1);
    itg_json_put_text(&w, "kind", "intaglio-strategy");
    itg_json_put_text(&w, "engine", "intaglio " ITG_VERSION);
    itg_json_put_text(&w, "model", graph->name);
    put_strategy(&w, file->strategy, graph);
    put_names(&w, graph);
    put_results(&w, &file->results);
    put_calibration(&w, file);
    itg_json_put_seed(&w, "seed", file->seed);
    itg_json_put_text(&w, "searcher", file->searcher);
    if (file->split.samples > 0) {
        itg_json_key(&w, "split");
        itg_split_info_write(&file->split, &w.text);
    }
    itg_json_key(&w, "preprocessing");
    itg_preprocess_write(&file->preprocess, &w.text);
    itg_json_put(&w, "hardware", "%s", file->hardware->json);
    itg_json_end(&w, '}');
    itg_strbuf_add(&w.text, "\n");
    *out = w.text;
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

/* Reads the text again, so that nothing is saved that the reader refuses. */
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
