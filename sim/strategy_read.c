/* Reads strategy files. Every member is checked against the graph before anything is kept. */
#include "base/user_metric.h"
#include "sim/strategy_file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PASSED_OVER 255

typedef struct reader {
    itg_json_taker t;
    const itg_graph *g;
    itg_strategy *s;
    const itg_buffer *codes; /* of weights; NULL: read their file */
} reader;

void itg_strategy_close(itg_strategy_file *file)
{
    if (!file) return;
    itg_strategy_destroy(file->strategy);
    itg_hardware_destroy(file->hardware);
    free(file);
}

static const itg_json_value *take_array(reader *r, const itg_json_value *object, const char *key,
                                        int32_t length)
{
    const itg_json_value *v = itg_json_take(&r->t, object, key, ITG_JSON_ARRAY);
    if (v && itg_json_length(v) != (size_t)length)
        itg_json_refuse(&r->t, v, ITG_BAD_FILE, "expected %d elements, found %zu", length,
                        itg_json_length(v));
    return v;
}

static void read_bools(reader *r, const itg_json_value *object, const char *key, bool *out,
                       int32_t count)
{
    const itg_json_value *array = take_array(r, object, key, count);
    for (int32_t i = 0; i < count && r->t.status == ITG_OK; i++)
        out[i] = itg_json_bool_of(&r->t, itg_json_at(array, (size_t)i));
}

static double read_hex(reader *r, const itg_json_value *v)
{
    const char *text = itg_json_text_of(&r->t, v);
    double value = 0;
    /* The parser also takes decimals, which would be rounded, and infinities. */
    if (text &&
        (strncmp(text + (*text == '-'), "0x", 2) != 0 || !itg_parse_hex_double(text, &value)))
        itg_json_refuse(&r->t, v, ITG_BAD_FILE,
                        "expected a hexadecimal float such as \"0x1.8p+1\"");
    return value;
}

/* Returns the length of a list of `what`, one per channel; 0: it is no such list. */
static size_t count_channels(reader *r, const itg_json_value *array, const char *what)
{
    size_t count = itg_json_length(array);
    if (itg_json_typeof(array) == ITG_JSON_ARRAY && count >= 1 && count <= INT32_MAX) return count;
    itg_json_refuse(&r->t, array, ITG_BAD_FILE, "expected a list of %s, one per channel", what);
    return 0;
}

static void read_channels(reader *r, const itg_json_value *array, itg_edge_choice *edge)
{
    size_t count = count_channels(r, array, "thresholds");
    if (count == 0) return;
    double *t = itg_arena_array(r->s->arena, count, sizeof *t);
    if (!t)
        itg_json_refuse(&r->t, array, ITG_NO_MEMORY, "no memory for the thresholds of %zu channels",
                        count);
    for (size_t i = 0; i < count && r->t.status == ITG_OK; i++) {
        t[i] = read_hex(r, itg_json_at(array, i));
        if (t[i] < 0)
            itg_json_refuse(&r->t, itg_json_at(array, i), ITG_BAD_FILE,
                            "expected a threshold of at least 0");
    }
    edge->channel = t;
    edge->channel_count = (int32_t)count;
}

/* Weights have them at 2 to 8 bits; annotate refuses others. */
static void read_zero_points(reader *r, const itg_json_value *array, itg_edge_choice *edge)
{
    const int64_t most = edge->bits < 8 ? ((int64_t)1 << edge->bits) - 1 : UINT8_MAX;
    const size_t count = count_channels(r, array, "zero points");
    if (count == 0) return;
    if (count != (size_t)edge->channel_count) {
        itg_json_refuse(&r->t, array, ITG_BAD_FILE,
                        "expected %d zero points, as there are channels", (int)edge->channel_count);
        return;
    }
    uint8_t *zero = itg_arena_array(r->s->arena, count, sizeof *zero);
    if (!zero) itg_json_refuse(&r->t, array, ITG_NO_MEMORY, "no memory for %zu zero points", count);
    for (size_t i = 0; i < count && r->t.status == ITG_OK; i++)
        zero[i] = (uint8_t)itg_json_int_of(&r->t, itg_json_at(array, i), 0, most);
    edge->zero = zero;
}

static void read_bias(reader *r, const itg_json_value *array, itg_edge_choice *edge)
{
    size_t count = count_channels(r, array, "biases");
    if (count == 0) return;
    float *bias = itg_arena_array(r->s->arena, count, sizeof *bias);
    if (!bias) itg_json_refuse(&r->t, array, ITG_NO_MEMORY, "no memory for %zu biases", count);
    for (size_t i = 0; i < count && r->t.status == ITG_OK; i++) {
        double value = read_hex(r, itg_json_at(array, i));
        bias[i] = (float)value;
        if ((double)bias[i] != value)
            itg_json_refuse(&r->t, itg_json_at(array, i), ITG_BAD_FILE,
                            "expected a bias that float32 holds");
    }
    edge->bias = bias;
    edge->bias_count = (int32_t)count;
}

static void read_range(reader *r, const itg_json_value *v, itg_edge_choice *edge)
{
    const itg_json_value *lo = itg_json_take(&r->t, v, "lo", ITG_JSON_STRING);
    const itg_json_value *hi = itg_json_take(&r->t, v, "hi", ITG_JSON_STRING);
    edge->lo = read_hex(r, lo);
    edge->hi = read_hex(r, hi);
}

/* "codes" of weights says whether the codes file has codes for the edge; their number is not known
 * yet. */
static void read_threshold(reader *r, const itg_json_value *v, itg_edge_choice *edge)
{
    static const char *const keys[] = {"method", "lo",   "hi",          "channels", "zero_points",
                                       "codes",  "bias", "passed_over", NULL};
    bool is_object = itg_json_typeof(v) == ITG_JSON_OBJECT;
    if (edge->bits == 0 && itg_json_typeof(v) != ITG_JSON_NULL)
        itg_json_refuse(&r->t, v, ITG_BAD_FILE, "expected null: the edge has no bits");
    if (edge->bits > 0 && !is_object)
        itg_json_refuse(&r->t, v, ITG_BAD_FILE, "expected an object: the edge has bits");
    if (edge->bits == 0 || !is_object) return;
    itg_json_take_keys(&r->t, v, keys);
    const char *name = itg_json_take_text(&r->t, v, "method");
    if (name && !itg_threshold_from_name(name, &edge->method))
        itg_json_refuse(&r->t, itg_json_find(v, "method"), ITG_BAD_FILE,
                        "unknown threshold method '%s'", name);
    const itg_json_value *channels = itg_json_find(v, "channels");
    const itg_json_value *codes = itg_json_find(v, "codes"), *bias = itg_json_find(v, "bias");
    const itg_json_value *passed_over = itg_json_find(v, "passed_over");
    const itg_json_value *zero = itg_json_find(v, "zero_points");
    size_t expected =
        2u + (codes ? 1u : 0u) + (bias ? 1u : 0u) + (passed_over ? 1u : 0u) + (zero ? 1u : 0u);
    if (passed_over)
        edge->passed_over = (int32_t)itg_json_int_of(&r->t, passed_over, 0, MOST_PASSED_OVER);
    if ((channels || zero || codes || bias) && (!channels || itg_json_length(v) > expected))
        itg_json_refuse(
            &r->t, v, ITG_BAD_FILE,
            "expected either 'channels' and perhaps 'zero_points', 'codes' and 'bias', or 'lo' and "
            "'hi'");
    if (codes) edge->code_count = itg_json_bool_of(&r->t, codes);
    if (bias) read_bias(r, bias, edge);
    if (r->t.status != ITG_OK) return;
    if (channels)
        read_channels(r, channels, edge);
    else
        read_range(r, v, edge);
    if (zero && r->t.status == ITG_OK) read_zero_points(r, zero, edge);
}

static void read_edges(reader *r, const itg_json_value *strategy)
{
    const itg_json_value *bits = take_array(r, strategy, "bits", r->s->edge_count);
    const itg_json_value *thresholds = take_array(r, strategy, "thresholds", r->s->edge_count);
    for (int32_t e = 0; e < r->s->edge_count && r->t.status == ITG_OK; e++) {
        const itg_json_value *v = itg_json_at(bits, (size_t)e);
        r->s->edges[e].bits = (int32_t)itg_json_int_of(&r->t, v, 0, 32);
        if (r->t.status == ITG_OK)
            read_threshold(r, itg_json_at(thresholds, (size_t)e), &r->s->edges[e]);
    }
}

/* Edge e of the file must be edge e of the graph, by name. */
static void check_edge(reader *r, const itg_json_value *v, itg_id value, itg_id node, int32_t slot)
{
    const char *text = itg_json_take_text(&r->t, v, "value");
    int64_t s = itg_json_take_int(&r->t, v, "slot", 0, INT32_MAX);
    const char *node_text = itg_json_take_optional(&r->t, v, "node");
    const char *wanted = node == ITG_NONE ? NULL : r->g->nodes[node].name;
    if (r->t.status != ITG_OK) return;
    bool same_node =
        (!wanted && !node_text) || (wanted && node_text && strcmp(wanted, node_text) == 0);
    if (!same_node || s != slot || strcmp(text, r->g->values[value].name) != 0)
        itg_json_refuse(&r->t, v, ITG_MISMATCH, "the graph has '%s' into '%s' slot %d here",
                        r->g->values[value].name, wanted ? wanted : "graph output", slot);
}

static void check_edges(reader *r, const itg_json_value *root)
{
    const itg_json_value *edges = take_array(r, root, "edges", r->s->edge_count);
    size_t e = 0;
    for (itg_id n = 0; n < r->g->node_count; n++)
        for (int32_t i = 0; i < r->g->nodes[n].input_count && r->t.status == ITG_OK; i++)
            if (r->g->nodes[n].inputs[i] != ITG_NONE)
                check_edge(r, itg_json_at(edges, e++), r->g->nodes[n].inputs[i], n, i);
    for (int32_t i = 0; i < r->g->output_count && r->t.status == ITG_OK; i++)
        check_edge(r, itg_json_at(edges, e++), r->g->outputs[i], ITG_NONE, i);
}

static void take_model_text(itg_json_taker *t, const itg_json_value *object, const char *key,
                            char out[ITG_MODEL_TEXT])
{
    const char *text = itg_json_take_text(t, object, key);
    if (text && strlen(text) >= ITG_MODEL_TEXT)
        itg_json_refuse(t, object, ITG_BAD_FILE, "'%s' has more than %d bytes", key,
                        ITG_MODEL_TEXT - 1);
    snprintf(out, ITG_MODEL_TEXT, "%s", text ? text : "");
}

static itg_model_options take_model_options(itg_json_taker *t, const itg_json_value *strategy)
{
    static const char *const keys[] = {"input_shapes", "outputs", "keep_softmax", "no_equalize",
                                       NULL};
    itg_model_options o = ITG_MODEL_OPTIONS_INIT;
    const itg_json_value *object = itg_json_take(t, strategy, "model_options", ITG_JSON_OBJECT);
    itg_json_take_keys(t, object, keys);
    take_model_text(t, object, "input_shapes", o.input_shapes);
    take_model_text(t, object, "outputs", o.outputs);
    o.keep_softmax = itg_json_take_bool(t, object, "keep_softmax");
    o.no_equalize = itg_json_take_bool(t, object, "no_equalize");
    return o;
}

static void check_model_options(reader *r, const itg_json_value *strategy)
{
    const itg_model_options *is = &r->g->options, was = take_model_options(&r->t, strategy);
    if (was.no_equalize != is->no_equalize)
        itg_json_refuse(&r->t, strategy, ITG_MISMATCH,
                        "it was made for %s %s equalization, and this is %s", r->g->name,
                        was.no_equalize ? "without" : "with", is->no_equalize ? "without" : "with");
    if (was.keep_softmax != is->keep_softmax)
        itg_json_refuse(&r->t, strategy, ITG_MISMATCH,
                        "it was made for %s %s a Softmax at its end, and this is %s", r->g->name,
                        was.keep_softmax ? "with" : "without",
                        is->keep_softmax ? "with" : "without");
    if (strcmp(was.outputs, is->outputs) != 0)
        itg_json_refuse(&r->t, strategy, ITG_MISMATCH,
                        "it was made for the outputs '%.100s' of %s, and these are '%.100s'",
                        was.outputs, r->g->name, is->outputs);
    if (strcmp(was.input_shapes, is->input_shapes) != 0)
        itg_json_refuse(&r->t, strategy, ITG_MISMATCH,
                        "it was made for the input shapes '%.100s' of %s, and these are '%.100s'",
                        was.input_shapes, r->g->name, is->input_shapes);
}

static void check_hashes(reader *r, const itg_json_value *strategy)
{
    unsigned char model[32] = {0}, graph[32] = {0};
    itg_json_take_hash(&r->t, strategy, "model_hash", model);
    itg_json_take_hash(&r->t, strategy, "graph_hash", graph);
    if (memcmp(model, r->g->source_hash, 32) != 0)
        itg_json_refuse(&r->t, strategy, ITG_MISMATCH,
                        "it was made for another model (model_hash differs from %s)", r->g->name);
    check_model_options(r, strategy);
    if (memcmp(graph, r->s->graph_hash, 32) != 0)
        itg_json_refuse(&r->t, strategy, ITG_MISMATCH,
                        "it was made for another preparation of %s (graph_hash differs)",
                        r->g->name);
}

/* Reads the codes file, if the strategy has one. */
static void read_codes(reader *r, const itg_json_value *strategy)
{
    static const char *const keys[] = {"file", "sha256", NULL};
    unsigned char hash[32];
    itg_error why = {0};
    if (r->t.status != ITG_OK ||
        (itg_strategy_codes_expect(r->s, r->g) == 0 && !itg_json_find(strategy, "codes")))
        return;
    const itg_json_value *codes = itg_json_take(&r->t, strategy, "codes", ITG_JSON_OBJECT);
    itg_json_take_keys(&r->t, codes, keys);
    const itg_json_value *file = itg_json_take(&r->t, codes, "file", ITG_JSON_STRING);
    const char *name = itg_json_text_of(&r->t, file);
    itg_json_take_hash(&r->t, codes, "sha256", hash);
    if (name && (*name == '/' || *name == '\0'))
        itg_json_refuse(&r->t, file, ITG_BAD_FILE, "expected a path relative to this file");
    if (r->t.status != ITG_OK) return;
    itg_status status =
        r->codes ? itg_strategy_codes_take(r->s, name, r->codes, hash, &why)
                 : itg_strategy_codes_read(r->s, itg_json_source(r->t.json), name, hash, &why);
    if (status != ITG_OK) itg_json_refuse(&r->t, file, status, "%s", why.message);
}

/* Annotates the graph to check that the quantizers have the codes. */
static void check_codes(reader *r, const itg_strategy_file *file)
{
    itg_annotated *a = NULL;
    if (r->t.status != ITG_OK || itg_strategy_codes_bytes(r->s) == 0) return;
    itg_status status = itg_annotate(r->g, file->hardware, r->s, &a, r->t.err);
    itg_annotated_destroy(a);
    if (status != ITG_OK)
        r->t.status = itg_prefix_error(r->t.err, status, "%s", itg_json_source(r->t.json));
}

static void read_strategy(reader *r, const itg_json_value *root)
{
    static const char *const keys[] = {"model_hash", "graph_hash", "model_options", "topology",
                                       "bits",       "thresholds", "codes",         NULL};
    const itg_json_value *strategy = itg_json_take(&r->t, root, "strategy", ITG_JSON_OBJECT);
    itg_json_take_keys(&r->t, strategy, keys);
    check_hashes(r, strategy);
    check_edges(r, root);
    const itg_json_value *topology = itg_json_take(&r->t, strategy, "topology", ITG_JSON_OBJECT);
    read_bools(r, topology, "node_conds", r->s->node_conds, r->s->node_count);
    read_bools(r, topology, "edge_conds", r->s->edge_conds, r->s->edge_count);
    read_edges(r, strategy);
    read_codes(r, strategy);
}

static void read_hardware(reader *r, const itg_json_value *root, itg_hardware **out)
{
    const itg_json_value *v = itg_json_take(&r->t, root, "hardware", ITG_JSON_OBJECT);
    itg_strbuf text = {0};
    char source[256];
    if (!v) return;
    snprintf(source, sizeof source, "%s: hardware", itg_json_source(r->t.json));
    itg_json_print(v, &text);
    r->t.status = itg_strbuf_ok(&text)
                      ? itg_hardware_parse(text.text, text.length, source, out, r->t.err)
                      : itg_fail(r->t.err, ITG_NO_MEMORY, "no memory for the hardware description");
    itg_strbuf_deinit(&text);
}

static void read_calibration(reader *r, const itg_json_value *root, itg_strategy_file *file)
{
    const itg_json_value *v = itg_json_take(&r->t, root, "calibration", ITG_JSON_OBJECT);
    itg_json_take_hash(&r->t, v, "data_hash", file->calibration_hash);
    itg_json_take_hash(&r->t, v, "statistics_hash", file->statistics_hash);
    file->calibration_samples = itg_json_take_int(&r->t, v, "samples", 0, INT64_MAX);
    const itg_json_value *kernels =
        r->t.status == ITG_OK ? itg_json_find(v, "float_kernels") : NULL; /* absent: reference */
    const char *name = kernels ? itg_json_text_of(&r->t, kernels) : NULL;
    if (name && !itg_float_kernels_from_name(name, &file->float_kernels))
        itg_json_refuse(&r->t, kernels, ITG_BAD_FILE, "expected \"reference\" or \"onednn\"");
    file->seed = itg_json_take_seed(&r->t, root, "seed");
    const char *searcher = itg_json_take_text(&r->t, root, "searcher");
    if (searcher && strlen(searcher) >= sizeof file->searcher)
        itg_json_refuse(&r->t, itg_json_find(root, "searcher"), ITG_BAD_FILE,
                        "expected at most %zu bytes", sizeof file->searcher - 1);
    if (searcher) snprintf(file->searcher, sizeof file->searcher, "%s", searcher);
}

itg_status itg_split_info_read(const itg_json *json, const itg_json_value *v, itg_split_info *out,
                               itg_error *err)
{
    static const char *const keys[] = {"samples",   "seed",    "calibration", "search",
                                       "selection", "holdout", NULL};
    itg_json_taker t = {json, err, ITG_OK};
    itg_split_info made = {0};
    if (itg_json_typeof(v) != ITG_JSON_OBJECT)
        itg_json_refuse(&t, v, ITG_BAD_FILE, "expected an object");
    itg_json_take_keys(&t, v, keys);
    made.seed = itg_json_take_seed(&t, v, "seed");
    made.samples = itg_json_take_int(&t, v, "samples", 1, UINT32_MAX);
    int64_t sum = 0;
    for (int part = 0; part < ITG_SPLIT_PARTS; part++)
        sum += made.count[part] = itg_json_take_int(&t, v, keys[2 + part], 0, made.samples);
    if (sum > made.samples)
        itg_json_refuse(&t, v, ITG_BAD_FILE, "the parts have more samples than the whole");
    if (t.status == ITG_OK) *out = made;
    return t.status;
}

static itg_status read_all(reader *r, itg_strategy_file *file)
{
    static const char *const keys[] = {
        "version",     "kind", "engine",   "model", "strategy",      "nodes",    "edges", "results",
        "calibration", "seed", "searcher", "split", "preprocessing", "hardware", NULL};
    const itg_json_value *root = itg_json_root(r->t.json);
    if (itg_json_typeof(root) != ITG_JSON_OBJECT)
        itg_json_refuse(&r->t, root, ITG_BAD_FILE, "expected a strategy object");
    itg_json_take_keys(&r->t, root, keys);
    (void)itg_json_take_int(&r->t, root, "version", 1, 1);
    if (r->t.status == ITG_OK) r->t.status = itg_strategy_create(r->g, &file->strategy, r->t.err);
    if (r->t.status != ITG_OK) return r->t.status;
    r->s = file->strategy;
    read_strategy(r, root);
    read_hardware(r, root, &file->hardware);
    check_codes(r, file);
    read_calibration(r, root, file);
    const itg_json_value *split = itg_json_find(root, "split");
    if (r->t.status == ITG_OK && split)
        r->t.status = itg_split_info_read(r->t.json, split, &file->split, r->t.err);
    const itg_json_value *preprocessing =
        itg_json_take(&r->t, root, "preprocessing", ITG_JSON_OBJECT);
    if (preprocessing)
        r->t.status = itg_preprocess_read(r->t.json, preprocessing, &file->preprocess, r->t.err);
    return r->t.status;
}

void itg_results_read(const itg_json *json, itg_score *out)
{
    const itg_json_value *results = itg_json_find(itg_json_root(json), "results"), *v;
    itg_score r = itg_score_unknown();
    if (results == NULL || itg_json_typeof(results) != ITG_JSON_OBJECT ||
        (v = itg_json_find(results, "samples")) == NULL ||
        itg_json_get_int(json, v, 1, INT64_C(1) << 53, &r.samples, NULL) != ITG_OK)
        return;
    for (int m = 0; m < ITG_METRIC_USER1; m++)
        if ((v = itg_json_find(results, itg_metric_about((itg_metric)m)->name)) == NULL ||
            itg_json_get_number(json, v, &r.value[m], NULL) != ITG_OK ||
            !itg_metric_allows((itg_metric)m, r.value[m]))
            r.value[m] = (double)NAN;
    itg_json_taker t = {json, NULL, ITG_OK};
    itg_user_metrics_read(&t, results, r.user, &r.value[ITG_METRIC_USER1]);
    *out = r;
}

itg_status itg_strategy_model_options(const char *path, itg_model_options *out, itg_error *err)
{
    itg_json *json = NULL;
    *out = (itg_model_options)ITG_MODEL_OPTIONS_INIT;
    itg_status status = itg_json_read(path, ITG_STRATEGY_MAX_BYTES, &json, err);
    if (status != ITG_OK) return status;
    itg_error ignored = {0}; /* itg_strategy_open reports what is wrong */
    itg_json_taker t = {json, &ignored, ITG_OK};
    const itg_json_value *strategy =
        itg_json_take(&t, itg_json_root(json), "strategy", ITG_JSON_OBJECT);
    const itg_model_options read = take_model_options(&t, strategy);
    if (t.status == ITG_OK) *out = read;
    itg_json_destroy(json);
    return ITG_OK;
}

static itg_status open_text(const itg_graph *graph, const itg_buffer *text, const itg_buffer *codes,
                            const char *name, itg_strategy_file **out, itg_error *err)
{
    itg_json *json = NULL;
    itg_strategy_file *file = calloc(1, sizeof *file);
    itg_status status = file ? itg_json_parse(text->data, text->bytes, name, &json, err)
                             : itg_fail(err, ITG_NO_MEMORY, "no memory for %s", name);
    if (status == ITG_OK) {
        reader r = {{json, err, ITG_OK}, graph, NULL, codes};
        itg_sha256_of(text->data, text->bytes, file->source_hash);
        status = read_all(&r, file);
        if (status == ITG_OK) itg_results_read(json, &file->recorded);
    }
    itg_json_destroy(json);
    if (status != ITG_OK)
        itg_strategy_close(file);
    else
        *out = file;
    return status;
}

itg_status itg_strategy_open_memory(const itg_model *model, const itg_buffer *text,
                                    const itg_buffer *codes, const char *name,
                                    itg_strategy_file **out, itg_error *err)
{
    const itg_buffer none = {"", 0};
    return open_text(model, text, codes ? codes : &none, name, out, err);
}

itg_status itg_strategy_open(const itg_model *model, const char *path, itg_strategy_file **out,
                             itg_error *err)
{
    unsigned char *data = NULL;
    itg_buffer text = {0};
    itg_status status = itg_file_read(path, ITG_STRATEGY_MAX_BYTES, &data, &text.bytes, err);
    text.data = data;
    if (status == ITG_OK) status = open_text(model, &text, NULL, path, out, err);
    free(data);
    return status;
}
