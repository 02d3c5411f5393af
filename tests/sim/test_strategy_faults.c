/* The nth allocation fails, for every n until none does: from strategy to score, the status says so
 * and outputs stay untouched. What is left behind is the sanitizer's business. */
#include "case.h"
#include <stdlib.h>
#include <string.h>
#include "sim/evaluate.h"
#include "sim/sim.h"
#include "sim/strategy_file.h"
#include "tests/faults.h"

#define PATH ITG_TEST_DIR "/strategy_faults.json"
#define FLOATS(...) ((const float[]){__VA_ARGS__})
enum { SAMPLES = 5 };

/* ---- a network with every form, a float island and several outputs ---- */

static float elements[SAMPLES * 18];
static char data_path[] = "data.npy";
static itg_dataset data = {
    .dtype = ITG_F32, .shape = {4, {SAMPLES, 2, 3, 3}}, .data = elements, .path = data_path};

#define ONE(op, form, extra)                                                                       \
    "'" op "':[{'arithmetic':'" form "','inputs':['u8'],'outputs':['u8']" extra "}]"
#define KEEP(op) "'" op "':[{'arithmetic':'keep_scale','inputs':['u8']}]"
static const char operators[] =
    "'Conv':[{'arithmetic':'mac','inputs':['u8'],'weights':['w'],'outputs':['u8'],'requantize':'p',"
    "'accumulator':{'bits':32},'per_channel':true}],"
    "'Gemm':[{'arithmetic':'mac','inputs':['u8'],'weights':['w'],'outputs':['u8'],'requantize':'r',"
    "'accumulator':{'bits':32}}]," ONE("Add", "rescale", ",'requantize':'r'") "," ONE("Sub", "equal_scale", ",'requantize':'r'") "," ONE(
        "Mul", "product",
        ",'requantize':'r'") "," ONE("Tanh", "lut",
                                     "") "," ONE("AveragePool", "f32",
                                                 "") "," KEEP("MaxPoo"
                                                              "l") "," KEEP("Flatten") "," KEEP("Ar"
                                                                                                "gM"
                                                                                                "a"
                                                                                                "x");

static itg_graph *network(void)
{
    itg_graph *g = net_new();
    itg_attrs conv = itg_attrs_default(ITG_OP_CONV), pool = itg_attrs_default(ITG_OP_MAX_POOL),
              mean = itg_attrs_default(ITG_OP_AVERAGE_POOL),
              arg = itg_attrs_default(ITG_OP_ARG_MAX);
    float w[64];
    for (int i = 0; i < 64; i++)
        w[i] = (float)(i % 7 - 3) / 4;
    conv.spatial_rank = pool.spatial_rank = mean.spatial_rank = 2;
    for (int d = 0; d < 2; d++) {
        conv.kernel[d] = 2;
        pool.kernel[d] = mean.kernel[d] = 1;
    }
    arg.axis = 1;
    itg_id x = net_input(g, "x", "1,2,3,3"),
           a = NODE(g, "conv", ITG_OP_CONV, &conv, x, net_constant(g, "w", "2,2,2,2", w),
                    net_constant(g, "b", "2", w));
    itg_id r = NODE(g, "relu", ITG_OP_RELU, NULL, a), s = NODE(g, "add", ITG_OP_ADD, NULL, r, r),
           d = NODE(g, "sub", ITG_OP_SUB, NULL, s, r);
    itg_id m = NODE(g, "mul", ITG_OP_MUL, NULL, d, net_constant(g, "k", "1", w)),
           t = NODE(g, "tanh", ITG_OP_TANH, NULL, m);
    itg_id p = NODE(g, "pool", ITG_OP_MAX_POOL, &pool, t),
           v = NODE(g, "mean", ITG_OP_AVERAGE_POOL, &mean, p),
           f = NODE(g, "flat", ITG_OP_FLATTEN, NULL, v);
    itg_id soft = NODE(g, "soft", ITG_OP_SOFTMAX, NULL, f),
           z = net_gemm(g, "gemm", soft, "3,8", w, ITG_NONE),
           best = NODE(g, "best", ITG_OP_ARG_MAX, &arg, z);
    OUTPUTS(g, x, z, best, soft);
    return g;
}

/* Codes of its own for the Gemm, each as near to 0 as it may be without being the nearest. */
static void give_codes(sim_case *c)
{
    const itg_encoding *v = encoding_at(c, "gemm", 1);
    int32_t edge = case_edge(c, "gemm", 1), codes[512];
    int64_t count = 0;
    assert_true(itg_shape_elements(&c->g->values[c->a->edges[edge].value].shape, &count));
    assert_true(count <= 512);
    for (int64_t i = 0; i < count; i++) {
        int32_t code = (int32_t)itg_load(v->q.storage, v->constant->codes, i);
        codes[i] = code > 0 ? code - 1 : code + 1;
    }
    assert_int_equal(itg_strategy_set_codes(c->s, edge, codes, count, NULL), ITG_OK);
}

static sim_case make_case(void)
{
    sim_case c = case_new(
        network(),
        chip("'float':true,'fuse':[['Conv','Relu']],",
             "'u8':{'storage':'u8','bits':[2,8],'zero_point':true},'w':{'storage':'s8','bits':[2,8]"
             "}",
             "'r':{'form':'f32'},'p':{'form':'preshift','pre_shift_bits':16,'rounding':'half_up'}",
             operators));
    itg_rng rng;
    itg_rng_init(&rng, 1);
    for (int i = 0; i < SAMPLES * 18; i++)
        elements[i] = (float)random_real(&rng, -1, 1);
    itg_choice_space *space = NULL;
    itg_space_options options = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    assert_int_equal(itg_choice_space_create(c.hw, c.g, &options, &space, NULL), ITG_OK);
    itg_choice_space_destroy(space);
    set_all(&c, 8, 8, -1, 1, true);
    set_weights(&c, "gemm", 8, 1, (double[]){0.75});
    annotated(&c);
    give_codes(&c);
    annotated(&c);
    return c;
}

/* ---- attempts: true if done ---- */

typedef bool (*attempt)(void *context);

static char *expected; /* what the attempt gives where no allocation fails; NULL: not known yet */

/* What is given in spite of a failed allocation is what would have been given without. Takes the
 * text. */
static void assert_as_expected(char *text)
{
    assert_non_null(text);
    if (expected == NULL) {
        expected = text;
        return;
    }
    assert_string_equal(text, expected);
    itg_free(text);
}

static void until_spared(attempt run_once, void *context, int at_least)
{
    int n = 0, failed = 0;
    assert_true(run_once(context));
    for (bool spared = false; !spared; n++) {
        calls_left = n;
        failed += !run_once(context);
        spared = calls_left >= 0;
        calls_left = -1;
    }
    if (failed < at_least) fail_msg("only %d of %d failed", failed, n);
    itg_free(expected);
    expected = NULL;
}

/* Done, or without memory: then the allocation failed. Caches may do without, so the opposite does
 * not hold: but what is given is as expected. */
static bool is_done(itg_status status, const itg_error *err, bool has_output)
{
    int left = calls_left;
    calls_left = -1;
    assert_true(status == ITG_OK || status == ITG_NO_MEMORY);
    if (left >= 0) assert_int_equal(status, ITG_OK);
    if (status != ITG_OK) assert_int_equal(err->code, ITG_NO_MEMORY);
    assert_int_equal(has_output, status == ITG_OK);
    calls_left = left;
    return status == ITG_OK;
}

/* Texts are made with calls_left at rest. */
static char *text_of_annotated(const itg_annotated *a)
{
    char *text = NULL;
    int left = calls_left;
    calls_left = -1;
    assert_int_equal(itg_annotated_text(a, &text, NULL), ITG_OK);
    calls_left = left;
    return text;
}

static char *text_of_strategy(const itg_strategy_file *file, itg_graph *g)
{
    char *text = NULL;
    itg_model *model = g;
    int left = calls_left;
    calls_left = -1;
    assert_int_equal(itg_strategy_text(file, model, &text, NULL), ITG_OK);
    calls_left = left;
    return text;
}

static char *text_of_doubles(const double *x, int count)
{
    itg_strbuf text = {0};
    int left = calls_left;
    calls_left = -1;
    for (int i = 0; i < count; i++)
        itg_strbuf_format(&text, "%a ", x[i]);
    calls_left = left;
    return text.text;
}

static itg_strategy_file file_of(const sim_case *c)
{
    return (itg_strategy_file){.strategy = c->s,
                               .hardware = c->hw,
                               .preprocess = itg_preprocess_default(),
                               .searcher = "uniform"};
}

static bool annotates(void *context)
{
    sim_case *c = context;
    itg_annotated *a = NULL;
    itg_error err = {0};
    itg_status status = itg_annotate(c->g, c->hw, c->s, &a, &err);
    bool done = is_done(status, &err, a != NULL);
    if (done) assert_as_expected(text_of_annotated(a));
    itg_annotated_destroy(a);
    return done;
}

static bool clones(void *context)
{
    sim_case *c = context;
    itg_strategy *copy = NULL, *made = NULL;
    itg_error err = {0};
    itg_status status = itg_strategy_clone(c->s, &copy, &err);
    bool done = is_done(status, &err, copy != NULL);
    if (done) status = itg_strategy_create(c->g, &made, &err);
    if (done) done = is_done(status, &err, made != NULL);
    itg_strategy_destroy(copy);
    itg_strategy_destroy(made);
    return done;
}

typedef struct resolution {
    sim_case *c;
    itg_stats *stats;
    itg_choice_space *space;
    int32_t bits[64];
} resolution;

static bool resolves(void *context)
{
    resolution *r = context;
    itg_threshold_cache *cache = NULL;
    itg_strategy *s = NULL;
    itg_error err = {0};
    itg_status status =
        itg_threshold_cache_create(r->c->g, r->c->hw, r->space, r->stats, &cache, &err);
    bool done = is_done(status, &err, cache != NULL);
    if (done) {
        itg_threshold_method methods[64];
        itg_uniform_methods(r->space, ITG_THRESHOLD_MSE, ITG_THRESHOLD_KL, methods);
        status = itg_strategy_resolve(cache, r->bits, methods, NULL, &s, &err);
    }
    if (done) done = is_done(status, &err, s != NULL);
    if (done) {
        itg_strategy_file file = file_of(r->c);
        file.strategy = s;
        assert_as_expected(text_of_strategy(&file, r->c->g));
    }
    itg_strategy_destroy(s);
    itg_threshold_cache_destroy(cache);
    return done;
}

static bool writes(void *context)
{
    sim_case *c = context;
    itg_strategy_file file = file_of(c);
    itg_error err = {0};
    itg_status status = itg_strategy_save(&file, c->g, PATH, &err);
    return is_done(status, &err, status == ITG_OK);
}

static bool reads(void *context)
{
    sim_case *c = context;
    itg_strategy_file *file = NULL;
    itg_error err = {0};
    itg_status status = itg_strategy_open(c->g, PATH, &file, &err);
    bool done = is_done(status, &err, file != NULL);
    if (done) assert_as_expected(text_of_strategy(file, c->g));
    itg_strategy_close(file);
    return done;
}

static bool runs(void *context)
{
    sim_case *c = context;
    itg_sim *sim = NULL;
    itg_error err = {0};
    itg_status status = itg_sim_create(c->a, &sim, &err);
    bool done = is_done(status, &err, sim != NULL);
    for (int round = 0; done && round < 2;
         round++) { /* a failed run leaves the instance usable: destroyed below */
        memcpy(itg_sim_input(sim, 0), elements, sizeof *elements * 18);
        status = itg_sim_run(sim, &err);
        done = is_done(status, &err, status == ITG_OK);
    }
    if (done) {
        itg_tensor y = itg_sim_output(sim, 1, NULL);
        double x[64];
        int bytes = (int)itg_tensor_bytes(&y);
        assert_in_range(bytes, 1, 64);
        for (int i = 0; i < bytes; i++)
            x[i] = ((const unsigned char *)y.data)[i];
        assert_as_expected(text_of_doubles(x, bytes));
    }
    itg_sim_destroy(sim);
    return done;
}

static bool evaluates(void *context)
{
    sim_case *c = context;
    itg_preprocess p = itg_preprocess_default();
    itg_evaluate_options options = {.data = &data, .preprocess = &p, .threads = 1};
    itg_evaluation out = {0};
    double x[SAMPLES];
    itg_error err = {0};
    itg_backend backend = itg_backend_sim(c->a);
    itg_status status = itg_evaluate(&backend, &options, &out, &err);
    bool done = is_done(status, &err, out.classes != NULL);
    for (int i = 0; done && i < SAMPLES; i++)
        x[i] = (double)out.classes[i];
    if (done) assert_as_expected(text_of_doubles(x, SAMPLES));
    itg_evaluation_deinit(&out);
    return done;
}

static bool inspects(void *context)
{
    sim_case *c = context;
    itg_model *model = c->g;
    itg_strategy_file file = file_of(c);
    itg_inspection *out = NULL;
    itg_error err = {0};
    itg_status status = itg_inspect(model, &file, c->a, &data, 1, &out, &err);
    bool done = is_done(status, &err, out != NULL);
    itg_inspection_destroy(out);
    return done;
}

/* A score that is given is whole: no cost is missing because memory was. */
static bool simulates(void *context)
{
    sim_case *c = context;
    itg_model *model = c->g;
    itg_strategy_file file = file_of(c);
    itg_score score = {0};
    itg_error err = {0};
    itg_status status = itg_simulate(
        model, &file, &data,
        &(itg_simulate_options){ITG_SIMULATE_OPTIONS_VERSION, .with_agreement = true, .threads = 1},
        &score, &err);
    bool done = is_done(status, &err, score.samples != 0);
    if (done)
        assert_true(
            score.samples == SAMPLES && score.value[ITG_METRIC_WEIGHT_BYTES] == 16 + 1 + 24 &&
            score.value[ITG_METRIC_PARAMETER_BYTES] > score.value[ITG_METRIC_WEIGHT_BYTES] &&
            score.value[ITG_METRIC_DISTORTION] >= 0);
    if (done)
        assert_as_expected(text_of_doubles(
            (double[]){score.value[ITG_METRIC_TOP1], score.value[ITG_METRIC_AGREEMENT],
                       (double)score.value[ITG_METRIC_PARAMETER_BYTES],
                       (double)score.value[ITG_METRIC_PEAK_ACTIVATION_BYTES],
                       score.value[ITG_METRIC_BOPS], score.value[ITG_METRIC_CYCLES],
                       score.value[ITG_METRIC_AVERAGE_WEIGHT_BITS],
                       score.value[ITG_METRIC_DISTORTION]},
            8));
    assert_int_equal(file.results.samples > 0, done);
    return done;
}

static bool makes_uniform(void *context)
{
    resolution *r = context;
    itg_model *model = r->c->g;
    itg_preprocess p = itg_preprocess_default();
    itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, 8, 16, ITG_THRESHOLD_MAX,
                                   ITG_THRESHOLD_MAX,           0, 0};
    itg_strategy_file *file = NULL;
    itg_error err = {0};
    itg_status status =
        itg_uniform_strategy(model, r->c->hw, &p, r->stats, &data, &options, &file, &err);
    bool done = is_done(status, &err, file != NULL);
    if (done) { /* not the nearest width, because memory was missing */
        assert_int_equal(file->strategy->edges[0].bits, 16);
        assert_as_expected(text_of_strategy(file, r->c->g));
    }
    itg_strategy_close(file);
    return done;
}

static bool checks(void *context)
{
    sim_case *c = context;
    itg_model *model = c->g;
    itg_check *check = NULL;
    itg_error err = {0};
    itg_status status = itg_check_model(model, c->hw, &check, &err);
    bool done = is_done(status, &err, check != NULL);
    itg_check_destroy(check);
    return done;
}

static bool texts(void *context)
{
    sim_case *c = context;
    itg_model *model = c->g;
    itg_strategy_file file = file_of(c);
    char *text[4] = {NULL};
    itg_error err = {0};
    itg_status status = itg_model_print(model, &text[0], &err);
    bool done = is_done(status, &err, text[0] != NULL);
    if (done) status = itg_annotated_text(c->a, &text[1], &err);
    if (done) done = is_done(status, &err, text[1] != NULL);
    if (done) status = itg_strategy_text(&file, model, &text[2], &err);
    if (done) done = is_done(status, &err, text[2] != NULL);
    if (done) status = itg_preprocess_text(&file.preprocess, &text[3], &err);
    if (done) done = is_done(status, &err, text[3] != NULL);
    for (int i = 0; i < 4; i++)
        itg_free(text[i]);
    return done;
}

static void everything_without_memory(void **state)
{
    sim_case c = make_case();
    (void)state;
    until_spared(annotates, &c, 3);
    until_spared(clones, &c, 4);
    until_spared(writes, &c, 4);
    until_spared(reads, &c, 20);
    until_spared(runs, &c, 4);
    until_spared(evaluates, &c, 8);
    until_spared(inspects, &c, 8);
    until_spared(simulates, &c, 15);
    until_spared(checks, &c, 1);
    until_spared(texts, &c, 8);
    case_end(&c);
}

static void resolving_without_memory(void **state)
{
    sim_case c = make_case();
    resolution r = {.c = &c};
    itg_preprocess p = itg_preprocess_default();
    itg_space_options options = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    (void)state;
    assert_int_equal(itg_calibrate_model(c.g, &data, &p, 1, &r.stats, NULL), ITG_OK);
    assert_int_equal(itg_choice_space_create(c.hw, c.g, &options, &r.space, NULL), ITG_OK);
    assert_in_range(r.space->group_count, 1, 64);
    itg_uniform_bits(r.space, 5, 6, r.bits);
    until_spared(resolves, &r, 20);
    itg_choice_space_destroy(r.space);
    itg_stats_destroy(r.stats);
    case_end(&c);
}

/* A chip whose 16-bit mode is another one than its default. */
static void uniform_widths_without_memory(void **state)
{
    static float x[SAMPLES * 2];
    itg_dataset rows = {.dtype = ITG_F32, .shape = {2, {SAMPLES, 2}}, .data = x, .path = data_path};
    itg_hardware *hw = NULL;
    itg_preprocess p = itg_preprocess_default();
    itg_graph *g = net_new();
    itg_id in = net_input(g, "x", "1,2"),
           y = net_gemm(g, "gemm", in, "2,2", FLOATS(1, 2, 3, 4), ITG_NONE);
    OUTPUTS(g, in, y);
    assert_int_equal(itg_hardware_load("cortex-m", &hw, NULL), ITG_OK);
    sim_case c = case_new(g, hw);
    resolution r = {.c = &c};
    (void)state;
    for (int i = 0; i < SAMPLES * 2; i++)
        x[i] = (float)i - 4;
    assert_int_equal(itg_calibrate_model(g, &rows, &p, 1, &r.stats, NULL), ITG_OK);
    until_spared(makes_uniform, &r, 20);
    itg_stats_destroy(r.stats);
    case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_without_memory),
        cmocka_unit_test(resolving_without_memory),
        cmocka_unit_test(uniform_widths_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
