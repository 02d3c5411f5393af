/* Strategy files: what is written is read back to the bit, and every damaged member is refused by
 * file and place. */
#include "case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sim/evaluate.h"
#include "sim/strategy_file.h"

#define PATH ITG_TEST_DIR "/case.strategy.json"
#define FLOATS(...) ((const float[]){__VA_ARGS__})

static char data_path[] = "data.npy";

/* x -> gemm with bias -> relu (fused) -> concat with x; names that need escapes. */
static sim_case make_case(void)
{
    itg_graph *g = net_new();
    itg_attrs axis = itg_attrs_default(ITG_OP_CONCAT);
    axis.axis = 1;
    itg_id x = net_input(g, "x", "1,2"),
           y = net_gemm(g, "gemm", x, "2,2", FLOATS(1, -0.3f, 0.7f, 0.1f),
                        net_constant(g, "b", "2", FLOATS(0.5f, -0.1f)));
    itg_id r = NODE(g, "relu \"\xc3\xa9\\\n\"", ITG_OP_RELU, NULL, y),
           z = NODE(g, "cat", ITG_OP_CONCAT, &axis, r, x);
    OUTPUTS(g, x, z);
    memset(g->source_hash, 0xA5, sizeof g->source_hash);
    sim_case c =
        case_new(g, chip("'fuse':[['Gemm','Relu']],",
                         "'u8':{'storage':'u8','bits':[2,8],'zero_point':true},'w':{'storage':'s8',"
                         "'bits':[2,8]}",
                         "'r':{'form':'f32'}",
                         "'Gemm':[{'arithmetic':'mac','inputs':['u8'],'weights':['w'],'outputs':['"
                         "u8'],'requantize':'r','accumulator':{'bits':32},'per_channel':true}],"
                         "'Concat':[{'arithmetic':'keep_scale','inputs':['u8']}]"));
    set_all(&c, 6, 7, -0.1, 1.0 / 3, true);
    c.s->edges[0].method = ITG_THRESHOLD_KL;
    return c;
}

static itg_strategy_file file_of(const sim_case *c)
{
    itg_strategy_file f = {.strategy = c->s,
                           .hardware = c->hw,
                           .preprocess = itg_preprocess_default(),
                           .calibration_samples = 17,
                           .float_kernels = ITG_FLOAT_ONEDNN,
                           .seed = UINT64_MAX};
    f.preprocess.scale = 1.0f / 255;
    f.preprocess.mean_count = 1;
    f.preprocess.mean[0] = 0.1f;
    memset(f.calibration_hash, 0x3C, 32);
    memset(f.statistics_hash, 0x07, 32);
    snprintf(f.searcher, sizeof f.searcher, "a \"searcher\"");
    return f;
}

static char *text_of(const sim_case *c)
{
    itg_strategy_file f = file_of(c);
    itg_strbuf text = {0};
    itg_error err = {0};
    if (itg_strategy_file_text(&f, c->g, &text, &err) != ITG_OK) fail_msg("%s", err.message);
    return text.text;
}

static void put(const char *text, size_t bytes)
{
    FILE *file = fopen(PATH, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at) fail_msg("'%s' is not in the text", from);
    size_t bytes = strlen(text) + strlen(to) + 1;
    char *out = malloc(bytes);
    assert_non_null(out);
    snprintf(out, bytes, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static void digest(const itg_annotated *a, unsigned char out[32])
{
    float x[20];
    itg_rng rng;
    itg_rng_init(&rng, 1);
    for (int i = 0; i < 20; i++)
        x[i] = (float)random_real(&rng, -1, 1);
    itg_dataset data = {.dtype = ITG_F32, .shape = {2, {10, 2}}, .data = x, .path = data_path};
    itg_preprocess p = itg_preprocess_default();
    itg_evaluate_options options = {.data = &data, .preprocess = &p, .threads = 1};
    itg_evaluation e = {0};
    itg_backend backend = itg_backend_sim(a);
    assert_int_equal(itg_evaluate(&backend, &options, &e, NULL), ITG_OK);
    memcpy(out, e.digest, 32);
    itg_evaluation_deinit(&e);
}

static void check_file(const itg_strategy_file *f, const itg_strategy_file *back)
{
    const itg_strategy *a = f->strategy, *b = back->strategy;
    assert_memory_equal(a->model_hash, b->model_hash, 32);
    assert_memory_equal(a->graph_hash, b->graph_hash, 32);
    assert_true(a->node_count == b->node_count && a->edge_count == b->edge_count);
    assert_memory_equal(a->node_conds, b->node_conds, sizeof(bool) * (size_t)a->node_count);
    assert_memory_equal(a->edge_conds, b->edge_conds, sizeof(bool) * (size_t)a->edge_count);
    for (int32_t e = 0; e < a->edge_count; e++) {
        const itg_edge_choice *p = &a->edges[e], *q = &b->edges[e];
        assert_true(p->bits == q->bits && p->lo == q->lo && p->hi == q->hi &&
                    p->channel_count == q->channel_count);
        if (p->bits > 0) assert_int_equal(p->method, q->method);
        assert_int_equal(p->passed_over, q->passed_over);
        for (int32_t i = 0; i < p->channel_count; i++)
            assert_true(p->channel[i] == q->channel[i]);
        assert_int_equal(p->zero != NULL, q->zero != NULL);
        if (p->zero) assert_memory_equal(p->zero, q->zero, (size_t)p->channel_count);
    }
    assert_memory_equal(f->hardware->hash, back->hardware->hash, 32);
    assert_string_equal(f->hardware->json, back->hardware->json);
    assert_memory_equal(f->calibration_hash, back->calibration_hash, 32);
    assert_memory_equal(f->statistics_hash, back->statistics_hash, 32);
    assert_int_equal(f->float_kernels, back->float_kernels);
    assert_true(f->calibration_samples == back->calibration_samples && f->seed == back->seed);
    assert_string_equal(f->searcher, back->searcher);
    assert_true(f->preprocess.scale == back->preprocess.scale &&
                f->preprocess.mean_count == back->preprocess.mean_count &&
                f->preprocess.mean[0] == back->preprocess.mean[0] &&
                f->preprocess.std_count == back->preprocess.std_count);
}

static void round_trip_keeps_strategy_annotation_and_digest(void **state)
{
    sim_case c = make_case();
    itg_strategy_file f = file_of(&c), *back = NULL;
    itg_strbuf first = {0}, second = {0}, again = {0};
    itg_annotated *a = NULL;
    unsigned char one[32], two[32];
    itg_error err = {0};
    (void)state;
    annotated(&c);
    f.results = (itg_score){.samples = 3,
                            .value[ITG_METRIC_TOP1] = 1.0 / 3,
                            .value[ITG_METRIC_AGREEMENT] = (double)NAN,
                            .value[ITG_METRIC_WEIGHT_BYTES] = 5,
                            .value[ITG_METRIC_PARAMETER_BYTES] = 9};
    assert_int_equal(itg_strategy_save(&f, c.g, PATH, &err), ITG_OK);
    if (itg_strategy_open(c.g, PATH, &back, &err) != ITG_OK) fail_msg("%s", err.message);
    check_file(&f, back);
    assert_int_equal(itg_annotate(c.g, back->hardware, back->strategy, &a, &err), ITG_OK);
    itg_annotated_print(c.a, &first);
    itg_annotated_print(a, &second);
    assert_string_equal(first.text, second.text);
    digest(c.a, one);
    digest(a, two);
    assert_memory_equal(one, two, 32);
    /* written again, all but the results (which are not read) is the same text */
    f.results.samples = 0;
    char *text = text_of(&c);
    assert_int_equal(itg_strategy_file_text(back, c.g, &again, &err), ITG_OK);
    assert_string_equal(again.text, text);
    free(text);
    itg_strbuf_deinit(&first);
    itg_strbuf_deinit(&second);
    itg_strbuf_deinit(&again);
    itg_annotated_destroy(a);
    itg_strategy_close(back);
    itg_strategy_close(NULL);
    case_end(&c);
}

static void what_edges_may_leave_out_survives(void **state)
{
    static const uint8_t zero[] = {63, 0};
    sim_case c = make_case();
    itg_strategy_file f = file_of(&c), *back = NULL;
    (void)state;
    f.strategy->edges[1].zero = zero;
    f.strategy->edges[0].passed_over = 2;   /* of a range */
    f.strategy->edges[1].passed_over = 255; /* of weights */
    assert_int_equal(itg_strategy_save(&f, c.g, PATH, NULL), ITG_OK);
    assert_int_equal(itg_strategy_open(c.g, PATH, &back, NULL), ITG_OK);
    check_file(&f, back);
    itg_strategy_close(back);
    case_end(&c);
}

/* Thresholds at the ends of binary64 survive. */
static void extreme_thresholds_survive(void **state)
{
    static const double values[] = {0,         5e-324, 0x1.fffffffffffffp-1, 0x1.fffffffffffffp1023,
                                    0x1p-1022, 0.1};
    sim_case c = make_case();
    itg_strategy_file f = file_of(&c), *back = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        set_range(&c, "gemm", 0, 8, -values[i], values[i]);
        set_weights(&c, "gemm", 8, 2, (double[]){values[i], 1});
        assert_int_equal(itg_strategy_save(&f, c.g, PATH, NULL), ITG_OK);
        assert_int_equal(itg_strategy_open(c.g, PATH, &back, NULL), ITG_OK);
        check_file(&f, back);
        itg_strategy_close(back);
    }
    case_end(&c);
}

/* ---- damage ---- */

static void check_refused(const sim_case *c, const char *text, const char *place, itg_status code)
{
    itg_strategy_file *out = NULL;
    itg_error err = {0};
    char wanted[300];
    put(text, strlen(text));
    itg_status status = itg_strategy_open(c->g, PATH, &out, &err);
    snprintf(wanted, sizeof wanted, "%s: %s", PATH, place);
    assert_null(out);
    if (status != code || strncmp(err.message, wanted, strlen(wanted)) != 0)
        fail_msg("expected %s '%s', got %s '%s'", itg_status_name(code), wanted,
                 itg_status_name(status), err.message);
}

typedef struct damage {
    const char *from, *to, *place;
    itg_status code;
} damage;

static const damage damages[] = {
    {"\"version\": 1", "\"version\": 2", "version: expected an integer from 1 to 1, got 2",
     ITG_BAD_FILE},
    {"\"version\": 1", "\"verzion\": 1", "unknown key 'verzion'", ITG_BAD_FILE},
    {"\"model_hash\": \"a5", "\"model_hash\": \"a6",
     "strategy: it was made for another model (model_hash differs from net.onnx)", ITG_MISMATCH},
    {"\"model_hash\": \"a5", "\"model_hash\": \"A5",
     "strategy.model_hash: expected 64 lower-case hexadecimal digits", ITG_BAD_FILE},
    {"\"model_hash\": \"a5", "\"model_hash\": \"5", "strategy.model_hash: expected 64",
     ITG_BAD_FILE},
    {"\"model_hash\": \"a5", "\"model_hash\": \"1a5", "strategy.model_hash: expected 64",
     ITG_BAD_FILE},
    {"\"model_hash\"", "\"model_hush\"", "strategy: unknown key 'model_hush'", ITG_BAD_FILE},
    {"[true,true,true]", "[true,true]",
     "strategy.topology.node_conds: expected 3 elements, found 2", ITG_BAD_FILE},
    {"[true,true,true]", "[true,true,true,true]",
     "strategy.topology.node_conds: expected 3 elements, found 4", ITG_BAD_FILE},
    {"[true,true,true]", "[true,true,1]",
     "strategy.topology.node_conds[2]: expected true or false, got 1", ITG_BAD_FILE},
    {"\"edge_conds\": [true,", "\"edge_conds\": [",
     "strategy.topology.edge_conds: expected 7 elements, found 6", ITG_BAD_FILE},
    {"\"bits\": [7,6,0,0,7,7,7]", "\"bits\": [7,6,0,0,7,7]",
     "strategy.bits: expected 7 elements, found 6", ITG_BAD_FILE},
    {"\"bits\": [7,6,0,0,7,7,7]", "\"bits\": 7", "strategy.bits: expected an array, got 7",
     ITG_BAD_FILE},
    {"\"bits\": [7,", "\"bits\": [33,",
     "strategy.bits[0]: expected an integer from 0 to 32, got 33", ITG_BAD_FILE},
    {"\"bits\": [7,", "\"bits\": [-1,", "strategy.bits[0]: expected", ITG_BAD_FILE},
    {"\"bits\": [7,", "\"bits\": [7.5,", "strategy.bits[0]: expected", ITG_BAD_FILE},
    {"\"bits\": [7,", "\"bits\": [\"7\",", "strategy.bits[0]: expected", ITG_BAD_FILE},
    {"\"bits\": [7,", "\"bits\": [0,", "strategy.thresholds[0]: expected null", ITG_BAD_FILE},
    {"\"bits\": [7,6,0,", "\"bits\": [7,6,8,", "strategy.thresholds[2]: expected an object",
     ITG_BAD_FILE},
    {"\"thresholds\": [", "\"thresholds\": [null,",
     "strategy.thresholds: expected 7 elements, found 8", ITG_BAD_FILE},
    {"\"method\": \"kl\"", "\"method\": \"KL\"",
     "strategy.thresholds[0].method: unknown threshold method 'KL'", ITG_BAD_FILE},
    {"\"method\": \"kl\"", "\"method\": 7",
     "strategy.thresholds[0].method: expected a string, got 7", ITG_BAD_FILE},
    {"\"method\": \"kl\"", "\"methot\": \"kl\"", "strategy.thresholds[0]: unknown key 'methot'",
     ITG_BAD_FILE},
    {"\"hi\": \"0x1.5555555555555p-2\"", "\"hi\": \"0.333\"",
     "strategy.thresholds[0].hi: expected a hexadecimal float", ITG_BAD_FILE},
    {"\"hi\": \"0x1.5555555555555p-2\"", "\"hi\": \"inf\"",
     "strategy.thresholds[0].hi: expected a hexadecimal float", ITG_BAD_FILE},
    {"\"hi\": \"0x1.5555555555555p-2\"", "\"hi\": \"0x1.55555555555555p-2\"",
     "strategy.thresholds[0].hi: expected a hexadecimal float", ITG_BAD_FILE},
    {"\"hi\": \"0x1.5555555555555p-2\"", "\"hi\": \"0x\"",
     "strategy.thresholds[0].hi: expected a hexadecimal float", ITG_BAD_FILE},
    {"\"hi\": \"0x1.5555555555555p-2\"", "\"hi\": \"0x1p99999\"",
     "strategy.thresholds[0].hi: expected a hexadecimal float", ITG_BAD_FILE},
    {"\"hi\": \"0x1.5555555555555p-2\"", "\"hi\": \"\"",
     "strategy.thresholds[0].hi: expected a hexadecimal float", ITG_BAD_FILE},
    {"\"hi\": \"0x1.5555555555555p-2\"", "\"hi\": 0.25",
     "strategy.thresholds[0].hi: expected a string, got 0.25", ITG_BAD_FILE},
    {"\"lo\": ", "\"low\": ", "strategy.thresholds[0]: unknown key 'low'", ITG_BAD_FILE},
    {", \"hi\": \"0x1.5555555555555p-2\"", "", "strategy.thresholds[0]: missing key 'hi'",
     ITG_BAD_FILE},
    {"\"lo\": ", "\"passed_over\": 256, \"lo\": ",
     "strategy.thresholds[0].passed_over: expected an integer from 0 to 255, got 256",
     ITG_BAD_FILE},
    {"\"lo\": ", "\"passed_over\": -1, \"lo\": ", "strategy.thresholds[0].passed_over: expected",
     ITG_BAD_FILE},
    {"\"lo\": ", "\"channels\": [\"0x1p+0\"], \"lo\": ", "strategy.thresholds[0]: expected either",
     ITG_BAD_FILE},
    {"\"channels\": [\"0x1p+0\"", "\"zero_points\": [1], \"channels\": [\"0x1p+0\"",
     "strategy.thresholds[1].zero_points: expected 2 zero points, as there are channels",
     ITG_BAD_FILE},
    {"\"channels\": [\"0x1p+0\"", "\"zero_points\": 1, \"channels\": [\"0x1p+0\"",
     "strategy.thresholds[1].zero_points: expected a list of zero points", ITG_BAD_FILE},
    {"\"channels\": [\"0x1p+0\"", "\"zero_points\": [0, 64], \"channels\": [\"0x1p+0\"",
     "strategy.thresholds[1].zero_points[1]: expected an integer from 0 to 63, got 64",
     ITG_BAD_FILE},
    {"\"lo\": ", "\"zero_points\": [1], \"lo\": ", "strategy.thresholds[0]: expected either",
     ITG_BAD_FILE},
    {"\"channels\": [\"0x1p+0\"", "\"channels\": [\"-0x1p+0\"",
     "strategy.thresholds[1].channels[0]: expected a threshold of at least 0", ITG_BAD_FILE},
    {"\"channels\": [\"0x1p+0\"", "\"channels\": [\"1\"",
     "strategy.thresholds[1].channels[0]: expected a hexadecimal float", ITG_BAD_FILE},
    {"\"channels\": [\"0x1p+0\",\"0x1.666666p-1\"]", "\"channels\": []",
     "strategy.thresholds[1].channels: expected a list of thresholds", ITG_BAD_FILE},
    {"\"channels\": [\"0x1p+0\"", "\"channels\": [1",
     "strategy.thresholds[1].channels[0]: expected a string, got 1", ITG_BAD_FILE},
    {"\"channels\": [\"0x1p+0\"", "\"channels\": [], \"x\": [\"0x1p+0\"",
     "strategy.thresholds[1]: unknown key 'x'", ITG_BAD_FILE},
    {"{\"value\": \"x\", \"node\": \"gemm\", \"slot\": 0}",
     "{\"value\": \"z\", \"node\": \"gemm\", \"slot\": 0}",
     "edges[0]: the graph has 'x' into 'gemm' slot 0 here", ITG_MISMATCH},
    {"{\"value\": \"x\", \"node\": \"gemm\", \"slot\": 0}",
     "{\"value\": \"x\", \"node\": \"cat\", \"slot\": 0}", "edges[0]: the graph has", ITG_MISMATCH},
    {"{\"value\": \"x\", \"node\": \"gemm\", \"slot\": 0}",
     "{\"value\": \"x\", \"node\": null, \"slot\": 0}", "edges[0]: the graph has", ITG_MISMATCH},
    {"{\"value\": \"x\", \"node\": \"gemm\", \"slot\": 0}",
     "{\"value\": \"x\", \"node\": \"gemm\", \"slot\": 1}", "edges[0]: the graph has",
     ITG_MISMATCH},
    {"{\"value\": \"x\", \"node\": \"gemm\", \"slot\": 0}",
     "{\"value\": \"x\", \"node\": 3, \"slot\": 0}", "edges[0].node: expected a string, got 3",
     ITG_BAD_FILE},
    {"{\"value\": \"x\", \"node\": \"gemm\", \"slot\": 0}", "7",
     "edges[0]: expected an object, got 7", ITG_BAD_FILE},
    {"\"node\": null", "\"node\": \"cat\"",
     "edges[6]: the graph has 'cat' into 'graph output' slot 0 here", ITG_MISMATCH},
    {"{\"value\": \"x\", \"node\": \"gemm\", \"slot\": 0},", "",
     "edges: expected 7 elements, found 6", ITG_BAD_FILE},
    {"\"seed\": \"18446744073709551615\"", "\"seed\": \"18446744073709551616\"",
     "seed: expected a decimal number below 2^64", ITG_BAD_FILE},
    {"\"seed\": \"18446744073709551615\"", "\"seed\": \"-1\"", "seed: expected a decimal number",
     ITG_BAD_FILE},
    {"\"seed\": \"18446744073709551615\"", "\"seed\": \"\"", "seed: expected a decimal number",
     ITG_BAD_FILE},
    {"\"seed\": \"18446744073709551615\"", "\"seed\": \"7 \"", "seed: expected a decimal number",
     ITG_BAD_FILE},
    {"\"seed\": \"18446744073709551615\"", "\"seed\": 7", "seed: expected a string, got 7",
     ITG_BAD_FILE},
    {"\"searcher\": \"a ",
     "\"searcher\": \"a name of more than 127 bytes......................................"
     "........................................................................... ",
     "searcher: expected at most 127 bytes", ITG_BAD_FILE},
    {"\"float_kernels\": \"onednn\"", "\"float_kernels\": \"mkl\"",
     "calibration.float_kernels: expected \"reference\"", ITG_BAD_FILE},
    {"\"samples\": 17", "\"samples\": -17", "calibration.samples: expected an integer",
     ITG_BAD_FILE},
    {"\"statistics_hash\": \"07", "\"statistics_hash\": \"0x",
     "calibration.statistics_hash: expected 64", ITG_BAD_FILE},
    {"\"mean\"", "\"meen\"", "preprocessing: unknown key 'meen'", ITG_BAD_FILE},
    {"\"hardware\": {\"intaglio_hardware\": 1", "\"hardware\": {\"intaglio_hardware\": 2",
     "hardware: intaglio_hardware: expected an integer from 1 to 1, got 2", ITG_BAD_FILE},
    {"\"requantize\": \"r\"", "\"requantize\": \"q\"",
     "hardware: operators.Gemm[0].requantize: expected a name", ITG_BAD_FILE},
    {"\"seed\":", "\"version\": 1, \"seed\":", "line ", ITG_BAD_FILE},
    {"\"bits\": [7,6,", "\"bits\": [7], \"bits\": [7,6,", "line ", ITG_BAD_FILE},
};

static void damaged_members_are_refused_by_file_and_place(void **state)
{
    sim_case c = make_case();
    char *text = text_of(&c);
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        char *bad = replaced(text, damages[i].from, damages[i].to);
        check_refused(&c, bad, damages[i].place, damages[i].code);
        free(bad);
    }
    free(text);
    case_end(&c);
}

/* The same file for a graph that differs in one constant: the model hash is equal, the graph's is
 * not. */
static void another_preparation_is_refused(void **state)
{
    sim_case c = make_case(), d = make_case();
    char *text = text_of(&c);
    (void)state;
    ((float *)(uintptr_t)d.g->values[itg_graph_find_value(d.g, "b")].data)[0] = 0.25f;
    check_refused(&d, text,
                  "strategy: it was made for another preparation of net.onnx (graph_hash differs)",
                  ITG_MISMATCH);
    free(text);
    case_end(&c);
    case_end(&d);
}

static void members_that_are_missing_are_named(void **state)
{
    static const char *const required[] = {"version", "strategy", "edges",         "calibration",
                                           "seed",    "searcher", "preprocessing", "hardware"};
    sim_case c = make_case();
    char *text = text_of(&c);
    itg_json *json = NULL;
    (void)state;
    assert_int_equal(itg_json_parse(text, strlen(text), "text", &json, NULL), ITG_OK);
    const itg_json_value *root = itg_json_root(json);
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        itg_strbuf without = {0};
        char place[64];
        bool first = true;
        itg_strbuf_add(&without, "{");
        for (size_t k = 0; k < itg_json_length(root); k++) {
            if (strcmp(itg_json_key_at(root, k), required[i]) == 0) continue;
            itg_strbuf_format(&without, "%s\"%s\":", first ? "" : ",", itg_json_key_at(root, k));
            itg_json_print(itg_json_at(root, k), &without);
            first = false;
        }
        itg_strbuf_add(&without, "}");
        snprintf(place, sizeof place, "missing key '%s'", required[i]);
        check_refused(&c, without.text, place, ITG_BAD_FILE);
        itg_strbuf_deinit(&without);
    }
    itg_json_destroy(json);
    free(text);
    case_end(&c);
}

static void members_for_people_may_be_left_out(void **state)
{
    static const char *const optional[] = {"  \"kind\": \"intaglio-strategy\",\n",
                                           "  \"model\": \"net.onnx\",\n"};
    sim_case c = make_case();
    char *text = text_of(&c);
    (void)state;
    for (int i = 0; i < 2; i++) {
        itg_strategy_file *out = NULL;
        itg_error err = {0};
        char *less = replaced(text, optional[i], "");
        put(less, strlen(less));
        if (itg_strategy_open(c.g, PATH, &out, &err) != ITG_OK) fail_msg("%s", err.message);
        itg_strategy_close(out);
        free(less);
    }
    free(text);
    case_end(&c);
}

static void files_cut_off_anywhere_are_refused(void **state)
{
    sim_case c = make_case();
    char *text = text_of(&c);
    size_t bytes = strlen(text);
    (void)state;
    for (size_t n = 0; n + 2 < bytes; n++) { /* the last two bytes: a brace and a line's end */
        itg_strategy_file *out = NULL;
        itg_error err = {0};
        put(text, n);
        assert_int_equal(itg_strategy_open(c.g, PATH, &out, &err), ITG_BAD_FILE);
        assert_null(out);
        assert_int_equal(strncmp(err.message, PATH, strlen(PATH)), 0);
    }
    free(text);
    case_end(&c);
}

static void a_file_that_is_absent_or_no_object(void **state)
{
    static const char *const texts[] = {"[]", "7", "null", "\"x\""};
    sim_case c = make_case();
    itg_strategy_file *out = NULL;
    itg_error err = {0};
    (void)state;
    assert_int_equal(itg_strategy_open(c.g, ITG_TEST_DIR "/absent.json", &out, &err), ITG_IO);
    assert_non_null(strstr(err.message, "absent.json"));
    for (int i = 0; i < 4; i++)
        check_refused(&c, texts[i], "expected a strategy object", ITG_BAD_FILE);
    assert_null(out);
    case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip_keeps_strategy_annotation_and_digest),
        cmocka_unit_test(what_edges_may_leave_out_survives),
        cmocka_unit_test(extreme_thresholds_survive),
        cmocka_unit_test(damaged_members_are_refused_by_file_and_place),
        cmocka_unit_test(another_preparation_is_refused),
        cmocka_unit_test(members_that_are_missing_are_named),
        cmocka_unit_test(members_for_people_may_be_left_out),
        cmocka_unit_test(files_cut_off_anywhere_are_refused),
        cmocka_unit_test(a_file_that_is_absent_or_no_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
