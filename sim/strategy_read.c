/* Strategy files, read: every member is checked against the graph before anything is kept. */
#include "base/user_metric.h"
#include "sim/strategy_file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const itg_json *json;
    const itg_graph *g;
    itg_strategy *s;
    const itg_buffer *codes; /* of weights; NULL: in their file */
    itg_error *err;
} reader;

void itg_strategy_close(itg_strategy_file *file)
{
    if (!file) return;
    itg_strategy_destroy(file->strategy);
    itg_hardware_destroy(file->hardware);
    free(file);
}

static itg_status need(const reader *r, const itg_json_value *object, const char *key,
                       itg_json_type type, const itg_json_value **out)
{
    return itg_json_need(r->json, object, key, type, out, r->err);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static itg_status read_hash(const reader *r, const itg_json_value *object, const char *key,
                            unsigned char out[32])
{
    const itg_json_value *v = NULL;
    const char *text = NULL;
    itg_status status = need(r, object, key, ITG_JSON_STRING, &v);
    if (status == ITG_OK) status = itg_json_get_string(r->json, v, &text, r->err);
    if (status != ITG_OK) return status;
    bool good = strlen(text) == 64;
    for (int i = 0; good && i < 32; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        good = high >= 0 && low >= 0;
        if (good) out[i] = (unsigned char)(high * 16 + low);
    }
    return good ? ITG_OK
                : itg_json_fail(r->json, v, r->err, ITG_BAD_FILE,
                                "expected 64 lower-case hexadecimal digits");
}

static itg_status need_array(const reader *r, const itg_json_value *object, const char *key,
                             int32_t length, const itg_json_value **out)
{
    itg_status status = need(r, object, key, ITG_JSON_ARRAY, out);
    if (status != ITG_OK || itg_json_length(*out) == (size_t)length) return status;
    return itg_json_fail(r->json, *out, r->err, ITG_BAD_FILE, "expected %d elements, found %zu",
                         length, itg_json_length(*out));
}

static itg_status read_bools(const reader *r, const itg_json_value *object, const char *key,
                             bool *out, int32_t count)
{
    const itg_json_value *array = NULL;
    itg_status status = need_array(r, object, key, count, &array);
    for (int32_t i = 0; i < count && status == ITG_OK; i++)
        status = itg_json_get_bool(r->json, itg_json_at(array, (size_t)i), &out[i], r->err);
    return status;
}

static itg_status read_hex(const reader *r, const itg_json_value *v, double *out)
{
    const char *text = NULL;
    itg_status status = itg_json_get_string(r->json, v, &text, r->err);
    if (status != ITG_OK) return status;
    /* Decimals, which the parser also takes, would be rounded; infinities are no thresholds. */
    if (strncmp(text + (*text == '-'), "0x", 2) == 0 && itg_parse_hex_double(text, out))
        return ITG_OK;
    return itg_json_fail(r->json, v, r->err, ITG_BAD_FILE,
                         "expected a hexadecimal float such as \"0x1.8p+1\"");
}

static itg_status read_channels(const reader *r, const itg_json_value *array, itg_edge_choice *edge)
{
    size_t count = itg_json_length(array);
    if (itg_json_typeof(array) != ITG_JSON_ARRAY || count < 1 || count > INT32_MAX)
        return itg_json_fail(r->json, array, r->err, ITG_BAD_FILE,
                             "expected a list of thresholds, one per channel");
    double *t = itg_arena_array(r->s->arena, count, sizeof *t);
    if (!t)
        return itg_fail(r->err, ITG_NO_MEMORY, "no memory for the thresholds of %zu channels",
                        count);
    itg_status status = ITG_OK;
    for (size_t i = 0; i < count && status == ITG_OK; i++) {
        status = read_hex(r, itg_json_at(array, i), &t[i]);
        if (status == ITG_OK && t[i] < 0)
            status = itg_json_fail(r->json, itg_json_at(array, i), r->err, ITG_BAD_FILE,
                                   "expected a threshold of at least 0");
    }
    edge->channel = t;
    edge->channel_count = (int32_t)count;
    return status;
}

/* Whether the weight's codes are in the file beside this one; how many is not known yet. */
static itg_status read_held(const reader *r, const itg_json_value *v, itg_edge_choice *edge)
{
    bool held = false;
    itg_status status = itg_json_get_bool(r->json, v, &held, r->err);
    edge->code_count = held;
    return status;
}

static itg_status read_threshold(const reader *r, const itg_json_value *v, itg_edge_choice *edge)
{
    static const char *const keys[] = {"method", "lo", "hi", "channels", "codes", NULL};
    const itg_json_value *method = NULL, *lo = NULL, *hi = NULL;
    const char *name = NULL;
    if (edge->bits == 0)
        return itg_json_typeof(v) == ITG_JSON_NULL
                   ? ITG_OK
                   : itg_json_fail(r->json, v, r->err, ITG_BAD_FILE,
                                   "expected null: the edge has no bits");
    if (itg_json_typeof(v) != ITG_JSON_OBJECT)
        return itg_json_fail(r->json, v, r->err, ITG_BAD_FILE,
                             "expected an object: the edge has bits");
    itg_status status = itg_json_allow_keys(r->json, v, keys, r->err);
    if (status == ITG_OK) status = need(r, v, "method", ITG_JSON_STRING, &method);
    if (status == ITG_OK) status = itg_json_get_string(r->json, method, &name, r->err);
    if (status != ITG_OK) return status;
    if (!itg_threshold_from_name(name, &edge->method))
        return itg_json_fail(r->json, method, r->err, ITG_BAD_FILE, "unknown threshold method '%s'",
                             name);
    const itg_json_value *channels = itg_json_find(v, "channels");
    const itg_json_value *codes = itg_json_find(v, "codes");
    if ((channels || codes) && (!channels || itg_json_length(v) > (codes ? 3u : 2u)))
        return itg_json_fail(r->json, v, r->err, ITG_BAD_FILE,
                             "expected either 'channels' and perhaps 'codes', or 'lo' and 'hi'");
    if (codes) status = read_held(r, codes, edge);
    if (channels) return status == ITG_OK ? read_channels(r, channels, edge) : status;
    status = need(r, v, "lo", ITG_JSON_STRING, &lo);
    if (status == ITG_OK) status = need(r, v, "hi", ITG_JSON_STRING, &hi);
    if (status == ITG_OK) status = read_hex(r, lo, &edge->lo);
    if (status == ITG_OK) status = read_hex(r, hi, &edge->hi);
    return status;
}

static itg_status read_edges(const reader *r, const itg_json_value *strategy)
{
    const itg_json_value *bits = NULL, *thresholds = NULL;
    itg_status status = need_array(r, strategy, "bits", r->s->edge_count, &bits);
    if (status == ITG_OK)
        status = need_array(r, strategy, "thresholds", r->s->edge_count, &thresholds);
    for (int32_t e = 0; e < r->s->edge_count && status == ITG_OK; e++) {
        int64_t b = 0;
        const itg_json_value *v = itg_json_at(bits, (size_t)e);
        status = itg_json_get_int(r->json, v, 0, 32, &b, r->err);
        if (status == ITG_OK && b == 1)
            status = itg_json_fail(r->json, v, r->err, ITG_BAD_FILE,
                                   "expected 0 or an integer from 2 to 32, got 1");
        r->s->edges[e].bits = (int32_t)b;
        if (status == ITG_OK)
            status = read_threshold(r, itg_json_at(thresholds, (size_t)e), &r->s->edges[e]);
    }
    return status;
}

/* Edge e of the file must be edge e of the graph, by name. */
static itg_status check_edge(const reader *r, const itg_json_value *v, itg_id value, itg_id node,
                             int32_t slot)
{
    const itg_json_value *value_name = NULL, *node_name = itg_json_find(v, "node"),
                         *slot_value = NULL;
    const char *text = NULL, *node_text = NULL;
    int64_t s = 0;
    itg_status status = need(r, v, "value", ITG_JSON_STRING, &value_name);
    if (status == ITG_OK) status = itg_json_get_string(r->json, value_name, &text, r->err);
    if (status == ITG_OK) status = need(r, v, "slot", ITG_JSON_NUMBER, &slot_value);
    if (status == ITG_OK) status = itg_json_get_int(r->json, slot_value, 0, INT32_MAX, &s, r->err);
    if (status == ITG_OK && node_name && itg_json_typeof(node_name) != ITG_JSON_NULL)
        status = itg_json_get_string(r->json, node_name, &node_text, r->err);
    if (status != ITG_OK) return status;
    const char *wanted = node == ITG_NONE ? NULL : r->g->nodes[node].name;
    bool same_node =
        (!wanted && !node_text) || (wanted && node_text && strcmp(wanted, node_text) == 0);
    if (same_node && s == slot && strcmp(text, r->g->values[value].name) == 0) return ITG_OK;
    return itg_json_fail(r->json, v, r->err, ITG_MISMATCH,
                         "the graph has '%s' into '%s' slot %d here", r->g->values[value].name,
                         wanted ? wanted : "graph output", slot);
}

static itg_status check_edges(const reader *r, const itg_json_value *root)
{
    const itg_json_value *edges = NULL;
    size_t e = 0;
    itg_status status = need_array(r, root, "edges", r->s->edge_count, &edges);
    for (itg_id n = 0; n < r->g->node_count; n++)
        for (int32_t i = 0; i < r->g->nodes[n].input_count && status == ITG_OK; i++)
            if (r->g->nodes[n].inputs[i] != ITG_NONE)
                status = check_edge(r, itg_json_at(edges, e++), r->g->nodes[n].inputs[i], n, i);
    for (int32_t i = 0; i < r->g->output_count && status == ITG_OK; i++)
        status = check_edge(r, itg_json_at(edges, e++), r->g->outputs[i], ITG_NONE, i);
    return status;
}

static itg_status read_equalized(const reader *r, const itg_json_value *strategy, bool *out)
{
    const itg_json_value *v = NULL;
    itg_status status = need(r, strategy, "equalized", ITG_JSON_BOOL, &v);
    return status == ITG_OK ? itg_json_get_bool(r->json, v, out, r->err) : status;
}

static itg_status check_hashes(const reader *r, const itg_json_value *strategy)
{
    unsigned char model[32], graph[32];
    bool equalized = true;
    itg_status status = read_hash(r, strategy, "model_hash", model);
    if (status == ITG_OK) status = read_hash(r, strategy, "graph_hash", graph);
    if (status != ITG_OK) return status;
    if (memcmp(model, r->g->source_hash, 32) != 0)
        return itg_json_fail(r->json, strategy, r->err, ITG_MISMATCH,
                             "it was made for another model (model_hash differs from %s)",
                             r->g->name);
    status = read_equalized(r, strategy, &equalized);
    if (status != ITG_OK) return status;
    if (equalized != r->g->equalized)
        return itg_json_fail(r->json, strategy, r->err, ITG_MISMATCH,
                             "it was made for %s %s equalization, and this is %s", r->g->name,
                             equalized ? "with" : "without", equalized ? "without" : "with");
    if (memcmp(graph, r->s->graph_hash, 32) != 0)
        return itg_json_fail(r->json, strategy, r->err, ITG_MISMATCH,
                             "it was made for another preparation of %s (graph_hash differs)",
                             r->g->name);
    return ITG_OK;
}

/* The file with codes, where there is one. */
static itg_status read_codes(const reader *r, const itg_json_value *strategy)
{
    static const char *const keys[] = {"file", "sha256", NULL};
    const itg_json_value *codes = NULL, *file = NULL;
    const char *name = NULL;
    unsigned char hash[32];
    itg_error why = {0};
    if (itg_strategy_codes_expect(r->s, r->g) == 0 && !itg_json_find(strategy, "codes"))
        return ITG_OK;
    itg_status status = need(r, strategy, "codes", ITG_JSON_OBJECT, &codes);
    if (status == ITG_OK) status = itg_json_allow_keys(r->json, codes, keys, r->err);
    if (status == ITG_OK) status = need(r, codes, "file", ITG_JSON_STRING, &file);
    if (status == ITG_OK) status = itg_json_get_string(r->json, file, &name, r->err);
    if (status == ITG_OK) status = read_hash(r, codes, "sha256", hash);
    if (status != ITG_OK) return status;
    if (*name == '/' || *name == '\0')
        return itg_json_fail(r->json, file, r->err, ITG_BAD_FILE,
                             "expected a path relative to this file");
    status = r->codes ? itg_strategy_codes_take(r->s, name, r->codes, hash, &why)
                      : itg_strategy_codes_read(r->s, itg_json_source(r->json), name, hash, &why);
    return status == ITG_OK ? ITG_OK
                            : itg_json_fail(r->json, file, r->err, status, "%s", why.message);
}

/* Whether the quantizers have the codes is known when they are. */
static itg_status check_codes(const reader *r, const itg_strategy_file *file)
{
    itg_annotated *a = NULL;
    if (itg_strategy_codes_bytes(r->s) == 0) return ITG_OK;
    itg_status status = itg_annotate(r->g, file->hardware, r->s, &a, r->err);
    itg_annotated_destroy(a);
    return status == ITG_OK ? ITG_OK
                            : itg_prefix_error(r->err, status, "%s", itg_json_source(r->json));
}

static itg_status read_strategy(const reader *r, const itg_json_value *root)
{
    static const char *const keys[] = {"model_hash", "graph_hash", "equalized", "topology",
                                       "bits",       "thresholds", "codes",     NULL};
    const itg_json_value *strategy = NULL, *topology = NULL;
    itg_status status = need(r, root, "strategy", ITG_JSON_OBJECT, &strategy);
    if (status == ITG_OK) status = itg_json_allow_keys(r->json, strategy, keys, r->err);
    if (status == ITG_OK) status = check_hashes(r, strategy);
    if (status == ITG_OK) status = check_edges(r, root);
    if (status == ITG_OK) status = need(r, strategy, "topology", ITG_JSON_OBJECT, &topology);
    if (status == ITG_OK)
        status = read_bools(r, topology, "node_conds", r->s->node_conds, r->s->node_count);
    if (status == ITG_OK)
        status = read_bools(r, topology, "edge_conds", r->s->edge_conds, r->s->edge_count);
    if (status == ITG_OK) status = read_edges(r, strategy);
    return status == ITG_OK ? read_codes(r, strategy) : status;
}

static itg_status read_hardware(const reader *r, const itg_json_value *root, itg_hardware **out)
{
    const itg_json_value *v = NULL;
    itg_strbuf text = {0};
    char source[256];
    itg_status status = need(r, root, "hardware", ITG_JSON_OBJECT, &v);
    if (status != ITG_OK) return status;
    snprintf(source, sizeof source, "%s: hardware", itg_json_source(r->json));
    itg_json_print(v, &text);
    status = itg_strbuf_ok(&text)
                 ? itg_hardware_parse(text.text, text.length, source, out, r->err)
                 : itg_fail(r->err, ITG_NO_MEMORY, "no memory for the hardware description");
    itg_strbuf_deinit(&text);
    return status;
}

/* strtoull would take signs, blanks and numbers that do not fit. */
static itg_status read_seed(const reader *r, const itg_json_value *root, uint64_t *out)
{
    const itg_json_value *v = NULL;
    const char *text = NULL;
    uint64_t seed = 0;
    itg_status status = need(r, root, "seed", ITG_JSON_STRING, &v);
    if (status == ITG_OK) status = itg_json_get_string(r->json, v, &text, r->err);
    if (status != ITG_OK) return status;
    bool good = *text != '\0';
    for (; good && *text; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        good = *text >= '0' && *text <= '9' && seed <= (UINT64_MAX - digit) / 10;
        seed = seed * 10 + digit;
    }
    if (!good)
        return itg_json_fail(r->json, v, r->err, ITG_BAD_FILE,
                             "expected a decimal number below 2^64");
    *out = seed;
    return ITG_OK;
}

static itg_status read_searcher(const reader *r, const itg_json_value *root,
                                itg_strategy_file *file)
{
    const itg_json_value *v = NULL;
    const char *text = NULL;
    itg_status status = need(r, root, "searcher", ITG_JSON_STRING, &v);
    if (status == ITG_OK) status = itg_json_get_string(r->json, v, &text, r->err);
    if (status != ITG_OK) return status;
    if (strlen(text) >= sizeof file->searcher)
        return itg_json_fail(r->json, v, r->err, ITG_BAD_FILE, "expected at most %zu bytes",
                             sizeof file->searcher - 1);
    snprintf(file->searcher, sizeof file->searcher, "%s", text);
    return ITG_OK;
}

/* Absent: the reference kernels. */
static itg_status read_float_kernels(const reader *r, const itg_json_value *calibration,
                                     itg_float_kernels *out)
{
    const itg_json_value *v = itg_json_find(calibration, "float_kernels");
    const char *name = NULL;
    if (!v) return ITG_OK;
    itg_status status = itg_json_get_string(r->json, v, &name, r->err);
    if (status == ITG_OK && !itg_float_kernels_from_name(name, out))
        status =
            itg_json_fail(r->json, v, r->err, ITG_BAD_FILE, "expected \"reference\" or \"onednn\"");
    return status;
}

static itg_status read_calibration(const reader *r, const itg_json_value *root,
                                   itg_strategy_file *file)
{
    const itg_json_value *v = NULL, *samples = NULL;
    itg_status status = need(r, root, "calibration", ITG_JSON_OBJECT, &v);
    if (status == ITG_OK) status = read_hash(r, v, "data_hash", file->calibration_hash);
    if (status == ITG_OK) status = read_hash(r, v, "statistics_hash", file->statistics_hash);
    if (status == ITG_OK) status = need(r, v, "samples", ITG_JSON_NUMBER, &samples);
    if (status == ITG_OK)
        status =
            itg_json_get_int(r->json, samples, 0, INT64_MAX, &file->calibration_samples, r->err);
    if (status == ITG_OK) status = read_float_kernels(r, v, &file->float_kernels);
    if (status == ITG_OK) status = read_seed(r, root, &file->seed);
    if (status == ITG_OK) status = read_searcher(r, root, file);
    return status;
}

itg_status itg_split_info_read(const itg_json *json, const itg_json_value *v, itg_split_info *out,
                               itg_error *err)
{
    static const char *const keys[] = {"samples", "seed", "calibration", "search", "holdout", NULL};
    const reader r = {.json = json, .err = err};
    const itg_json_value *member = NULL;
    const char *seed = NULL;
    itg_split_info made = {0};
    itg_status status = itg_json_typeof(v) == ITG_JSON_OBJECT
                            ? itg_json_allow_keys(json, v, keys, err)
                            : itg_json_fail(json, v, err, ITG_BAD_FILE, "expected an object");
    if (status == ITG_OK) status = need(&r, v, "seed", ITG_JSON_STRING, &member);
    if (status == ITG_OK) status = itg_json_get_string(json, member, &seed, err);
    if (status == ITG_OK) made.seed = strtoull(seed, NULL, 10);
    if (status == ITG_OK) status = need(&r, v, "samples", ITG_JSON_NUMBER, &member);
    if (status == ITG_OK)
        status = itg_json_get_int(json, member, 1, UINT32_MAX, &made.samples, err);
    for (int part = 0; part < 3 && status == ITG_OK; part++) {
        status = need(&r, v, keys[2 + part], ITG_JSON_NUMBER, &member);
        if (status == ITG_OK)
            status = itg_json_get_int(json, member, 0, made.samples, &made.count[part], err);
    }
    if (status == ITG_OK && made.count[0] + made.count[1] + made.count[2] > made.samples)
        status =
            itg_json_fail(json, v, err, ITG_BAD_FILE, "the parts have more samples than the whole");
    if (status == ITG_OK) *out = made;
    return status;
}

static itg_status read_all(reader *r, itg_strategy_file *file)
{
    static const char *const keys[] = {
        "version",     "kind", "engine",   "model", "strategy",      "nodes",    "edges", "results",
        "calibration", "seed", "searcher", "split", "preprocessing", "hardware", NULL};
    const itg_json_value *root = itg_json_root(r->json), *version = NULL, *preprocessing = NULL;
    int64_t number = 0;
    if (itg_json_typeof(root) != ITG_JSON_OBJECT)
        return itg_json_fail(r->json, root, r->err, ITG_BAD_FILE, "expected a strategy object");
    itg_status status = itg_json_allow_keys(r->json, root, keys, r->err);
    if (status == ITG_OK) status = need(r, root, "version", ITG_JSON_NUMBER, &version);
    if (status == ITG_OK) status = itg_json_get_int(r->json, version, 1, 1, &number, r->err);
    if (status == ITG_OK) status = itg_strategy_create(r->g, &file->strategy, r->err);
    if (status != ITG_OK) return status;
    r->s = file->strategy;
    status = read_strategy(r, root);
    if (status == ITG_OK) status = read_hardware(r, root, &file->hardware);
    if (status == ITG_OK) status = check_codes(r, file);
    if (status == ITG_OK) status = read_calibration(r, root, file);
    const itg_json_value *split = itg_json_find(root, "split");
    if (status == ITG_OK && split)
        status = itg_split_info_read(r->json, split, &file->split, r->err);
    if (status == ITG_OK) status = need(r, root, "preprocessing", ITG_JSON_OBJECT, &preprocessing);
    if (status == ITG_OK)
        status = itg_preprocess_read(r->json, preprocessing, &file->preprocess, r->err);
    return status;
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
    if ((v = itg_json_find(results, "user_metrics")) != NULL)
        (void)itg_user_metrics_read(json, v, r.user, &r.value[ITG_METRIC_USER1], NULL);
    *out = r;
}

itg_status itg_strategy_model_options(const char *path, itg_model_options *out, itg_error *err)
{
    itg_json *json = NULL;
    bool equalized = true;
    itg_status status = itg_json_read(path, ITG_STRATEGY_MAX_BYTES, &json, err);
    if (status != ITG_OK) return status;
    const itg_json_value *strategy = itg_json_find(itg_json_root(json), "strategy");
    const itg_json_value *v = strategy ? itg_json_find(strategy, "equalized") : NULL;
    if (v) (void)itg_json_get_bool(json, v, &equalized, NULL); /* what is wrong, reading tells */
    *out = (itg_model_options){ITG_MODEL_OPTIONS_VERSION, .no_equalize = !equalized};
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
        reader r = {json, graph, NULL, codes, err};
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
