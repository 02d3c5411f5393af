/* Strategies in memory: made, copied, and resolved from widths against statistics and weights. */
#include "case.h"
#include "sim/threshold_cache.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLOATS(...) ((const float[]){__VA_ARGS__})
enum { SAMPLES = 40, INPUTS = 3 };

static const char operators[] =
    "'Gemm':[{'arithmetic':'mac','inputs':['u8'],'weights':['w'],'outputs':['u8','s16'],'"
    "requantize':'r','accumulator':{'bits':32},'per_channel':true}],"
    "'MatMul':[{'arithmetic':'mac','inputs':['u8','s16'],'weights':['w'],'outputs':['u8'],'"
    "requantize':'r','accumulator':{'bits':48},'per_channel':true}],"
    "'Add':[{'arithmetic':'f32','inputs':['u8'],'outputs':['u8']}]";
static const char dtypes[] = "'u8':{'storage':'u8','bits':[2,8],'zero_point':true},'s16':{'storage'"
                             ":'s16','bits':[4,16]},'w':{'storage':'s8','bits':[2,8]}";
static const float gemm_w[] = {1, -2, 0.5f, 0.25f, 0, -0.125f}, mul_w[] = {1, 2, 3, -4, 5, -6},
                   constant[] = {-0.75f, 0.5f, 0.25f};
static char path[] = "data.npy";

typedef struct world {
    sim_case c;
    float data[SAMPLES * INPUTS];
    itg_stats *stats;
    itg_choice_space *space;
    itg_threshold_cache *cache;
    int32_t *bits;
} world;

/* x [1,3] -> gemm (2 channels) -> relu -> mul (3 channels) -> add a constant; the sum and gemm's
 * result are outputs. */
static itg_graph *network(void)
{
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,3"), a = net_gemm(g, "gemm", x, "2,3", gemm_w, ITG_NONE);
    itg_id b = NODE(g, "mul", ITG_OP_MATMUL, NULL, a, net_constant(g, "v", "2,3", mul_w));
    itg_id y = NODE(g, "add", ITG_OP_ADD, NULL, b, net_constant(g, "k", "3", constant));
    OUTPUTS(g, x, y, a);
    return g;
}

static void world_new(world *w, bool with_stats)
{
    itg_error err = {0};
    itg_space_options options = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    itg_preprocess p = itg_preprocess_default();
    itg_rng rng;
    memset(w, 0, sizeof *w);
    w->c = case_new(network(), chip("", dtypes, "'r':{'form':'f32'}", operators));
    itg_rng_init(&rng, 1);
    for (int i = 0; i < SAMPLES * INPUTS; i++)
        w->data[i] = (float)random_real(&rng, -0.5, 2);
    itg_dataset data = {
        .dtype = ITG_F32, .shape = {2, {SAMPLES, INPUTS}}, .data = w->data, .path = path};
    if (itg_calibrate_model(w->c.g, &data, &p, 1, &w->stats, &err) != ITG_OK)
        fail_msg("%s", err.message);
    if (itg_choice_space_create(w->c.hw, w->c.g, &options, &w->space, &err) != ITG_OK)
        fail_msg("%s", err.message);
    w->bits = calloc((size_t)w->space->group_count, sizeof *w->bits);
    assert_int_equal(itg_threshold_cache_create(w->c.g, w->c.hw, w->space,
                                                with_stats ? w->stats : NULL, &w->cache, &err),
                     ITG_OK);
}

static void world_end(world *w)
{
    itg_threshold_cache_destroy(w->cache);
    itg_choice_space_destroy(w->space);
    itg_stats_destroy(w->stats);
    free(w->bits);
    case_end(&w->c);
}

static itg_strategy *resolve(world *w, int32_t weight_bits, int32_t bits,
                             itg_threshold_method method, itg_threshold_method weight_method)
{
    itg_strategy *s = NULL;
    itg_error err = {0};
    itg_threshold_method methods[64];
    assert_true(w->space->group_count <= 64);
    itg_uniform_bits(w->space, weight_bits, bits, w->bits);
    itg_uniform_methods(w->space, weight_method, method, methods);
    if (itg_strategy_resolve(w->cache, w->bits, methods, NULL, &s, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return s;
}

static void check_equal(const itg_strategy *a, const itg_strategy *b)
{
    assert_int_equal(a->node_count, b->node_count);
    assert_int_equal(a->edge_count, b->edge_count);
    assert_memory_equal(a->model_hash, b->model_hash, 32);
    assert_memory_equal(a->graph_hash, b->graph_hash, 32);
    assert_memory_equal(a->node_conds, b->node_conds, sizeof(bool) * (size_t)a->node_count);
    assert_memory_equal(a->edge_conds, b->edge_conds, sizeof(bool) * (size_t)a->edge_count);
    for (int32_t e = 0; e < a->edge_count; e++) {
        const itg_edge_choice *p = &a->edges[e], *q = &b->edges[e];
        assert_true(p->bits == q->bits && p->method == q->method && p->lo == q->lo &&
                    p->hi == q->hi && p->channel_count == q->channel_count);
        for (int32_t i = 0; i < p->channel_count; i++)
            assert_true(p->channel[i] == q->channel[i]);
    }
}

static void thresholds_are_the_estimators_for_the_class_that_the_edge_takes(void **state)
{
    world w;
    (void)state;
    world_new(&w, true);
    for (int m = 0; m < ITG_THRESHOLD_METHOD_COUNT; m++) {
        itg_strategy *s = resolve(&w, 5, 7, (itg_threshold_method)m, ITG_THRESHOLD_MAX);
        static const struct {
            const char *node, *value;
            int32_t slot;
        } edges[] = {{"gemm", "x", 0},
                     {"mul", "gemm", 0},
                     {"add", "mul", 0},
                     {NULL, "add", 0},
                     {NULL, "gemm", 1}};
        for (int i = 0; i < 5; i++) {
            const itg_edge_choice *edge = &s->edges[case_edge(&w.c, edges[i].node, edges[i].slot)];
            itg_threshold_target target = {7, false, false, false};
            double lo, hi;
            itg_threshold_method method =
                edges[i].node ? (itg_threshold_method)m : ITG_THRESHOLD_MAX;
            assert_int_equal(itg_threshold_estimate(
                                 method,
                                 &w.stats->values[itg_graph_find_value(w.c.g, edges[i].value)],
                                 &target, &lo, &hi, NULL),
                             ITG_OK);
            assert_int_equal(edge->bits, 7);
            assert_int_equal(edge->method, method);
            assert_true(edge->lo == lo && edge->hi == hi);
            assert_int_equal(edge->channel_count, 0);
        }
        const itg_edge_choice *k =
            &s->edges[case_edge(&w.c, "add", 1)]; /* a constant: its whole range */
        assert_true(k->lo == -0.75 && k->hi == 0.5);
        itg_strategy_destroy(s);
    }
    world_end(&w);
}

static void weights_have_one_threshold_a_channel(void **state)
{
    world w;
    (void)state;
    world_new(&w, true);
    itg_strategy *s = resolve(&w, 5, 8, ITG_THRESHOLD_MAX, ITG_THRESHOLD_MAX);
    const itg_edge_choice *rows = &s->edges[case_edge(&w.c, "gemm", 1)],
                          *columns = &s->edges[case_edge(&w.c, "mul", 1)];
    assert_int_equal(rows->bits, 5);
    assert_true(rows->channel_count == 2 && rows->channel[0] == 2 && rows->channel[1] == 0.25);
    assert_true(columns->channel_count == 3 && columns->channel[0] == 4 &&
                columns->channel[1] == 5 && columns->channel[2] == 6);
    itg_strategy *mse = resolve(&w, 2, 8, ITG_THRESHOLD_MAX, ITG_THRESHOLD_MSE);
    itg_threshold_target target = {2, true, true, false};
    for (int c = 0; c < 3; c++) {
        double lo, hi;
        assert_int_equal(
            itg_threshold_constant(ITG_THRESHOLD_MSE, mul_w + c, 2, 3, 1, &target, &lo, &hi, NULL),
            ITG_OK);
        assert_true(mse->edges[case_edge(&w.c, "mul", 1)].channel[c] == fmax(-lo, hi));
    }
    itg_strategy_destroy(mse);
    itg_strategy_destroy(s);
    world_end(&w);
}

static void conditions_and_hashes_follow_the_graph(void **state)
{
    world w;
    (void)state;
    world_new(&w, true);
    itg_strategy *s = resolve(&w, 8, 8, ITG_THRESHOLD_MAX, ITG_THRESHOLD_MAX);
    check_equal(w.c.s, w.c.s);
    assert_memory_equal(s->graph_hash, w.c.s->graph_hash, 32);
    assert_int_equal(s->edge_count, 8);
    for (int32_t n = 0; n < s->node_count; n++)
        assert_true(s->node_conds[n]);
    for (int32_t e = 0; e < s->edge_count; e++)
        assert_int_equal(s->edge_conds[e], s->edges[e].bits > 0);
    itg_strategy_destroy(s);
    world_end(&w);
}

/* Resolved in any order, with any thread's help: the same; and nothing of it belongs to the cache.
 */
typedef struct job {
    world *w;
    itg_strategy *made[64];
} job;

static itg_status resolve_one(void *context, int worker, int64_t item, itg_error *err)
{
    job *j = context;
    int32_t bits[16];
    itg_threshold_method methods[16];
    (void)worker;
    itg_uniform_methods(j->w->space, ITG_THRESHOLD_KL, ITG_THRESHOLD_MSE, methods);
    itg_uniform_bits(j->w->space, 2 + (int32_t)(item % 7), 2 + (int32_t)(item / 8), bits);
    return itg_strategy_resolve(j->w->cache, bits, methods, NULL, &j->made[item], err);
}

static void threads_resolve_the_same_and_strategies_outlive_the_cache(void **state)
{
    world one, many;
    job a = {.w = &one}, b = {.w = &many};
    (void)state;
    world_new(&one, true);
    world_new(&many, true);
    assert_in_range(one.space->group_count, 1, 16);
    assert_int_equal(itg_parallel_for(1, 56, resolve_one, &a, NULL), ITG_OK);
    assert_int_equal(itg_parallel_for(4, 56, resolve_one, &b, NULL), ITG_OK);
    world_end(&many);
    world_end(&one);
    for (int i = 0; i < 56; i++) {
        check_equal(a.made[i], b.made[i]);
        itg_strategy_destroy(a.made[i]);
        itg_strategy_destroy(b.made[i]);
    }
}

static void copies_own_what_they_hold(void **state)
{
    world w;
    (void)state;
    world_new(&w, true);
    itg_strategy *s = resolve(&w, 3, 6, ITG_THRESHOLD_AVG, ITG_THRESHOLD_MAX), *copy = NULL,
                 *reference = NULL;
    itg_error err = {0};
    assert_int_equal(itg_strategy_clone(s, &copy, &err), ITG_OK);
    assert_int_equal(itg_strategy_clone(s, &reference, &err), ITG_OK);
    assert_ptr_not_equal(copy->edges[1].channel, s->edges[1].channel);
    s->edges[0].bits = 2;
    s->node_conds[0] = false;
    itg_strategy_destroy(s);
    check_equal(copy, reference);
    itg_strategy_destroy(copy);
    itg_strategy_destroy(reference);
    itg_strategy_destroy(NULL);
    world_end(&w);
}

static void inputs_and_outputs_may_have_widths_of_their_own(void **state)
{
    const itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION,
                                         .weight_bits = 5,
                                         .activation_bits = 6,
                                         .input_bits = 4,
                                         .output_bits = 7,
                                         .activation_method = ITG_THRESHOLD_MAX,
                                         .weight_method = ITG_THRESHOLD_MAX};
    world w;
    itg_strategy *s = NULL;
    itg_error err = {0};
    int32_t inputs = 0, outputs = 0, others = 0;
    (void)state;
    world_new(&w, true);
    if (itg_strategy_uniform(w.c.g, w.c.hw, w.stats, &options, &s, &err) != ITG_OK)
        fail_msg("%s", err.message);
    for (int32_t e = 0; e < s->edge_count; e++) {
        int32_t group = w.space->edge_group[e];
        if (group < 0) continue;
        const itg_choice_group *g = &w.space->groups[group];
        bool is_output = !g->is_weight && g->is_graph_output,
             is_input = !g->is_weight && g->is_graph_input && !is_output;
        assert_int_equal(s->edges[e].bits, g->is_weight ? 5 : is_output ? 7 : is_input ? 4 : 6);
        outputs += is_output;
        inputs += is_input;
        others += !g->is_weight && !is_output && !is_input;
    }
    assert_true(inputs > 0 && outputs > 0 && others > 0);
    itg_strategy_destroy(s);
    world_end(&w);
}

static void widths_nearest_below_else_above(void **state)
{
    static int32_t edges[1];
    itg_choice_group groups[] = {{.is_weight = true, .bits_count = 3, .bits = {4, 6, 8}},
                                 {.bits_count = 2, .bits = {8, 16}},
                                 {.bits_count = 1, .bits = {16}}};
    itg_choice_space space = {.group_count = 3, .groups = groups, .edge_group = edges};
    int32_t bits[3];
    (void)state;
    itg_uniform_bits(&space, 7, 15, bits);
    assert_true(bits[0] == 6 && bits[1] == 8 && bits[2] == 16);
    itg_uniform_bits(&space, 2, 2, bits);
    assert_true(bits[0] == 4 && bits[1] == 8 && bits[2] == 16);
    itg_uniform_bits(&space, 32, 32, bits);
    assert_true(bits[0] == 8 && bits[1] == 16 && bits[2] == 16);
}

/* Edge 0 reads x; edge 1 is a weight. */
static void thresholds_that_were_set_are_taken(void **state)
{
    world w;
    (void)state;
    world_new(&w, true);
    itg_strategy *before = resolve(&w, 8, 8, ITG_THRESHOLD_MSE, ITG_THRESHOLD_MAX);
    itg_edge_choice choice = before->edges[0];
    choice.hi *= 0.75;
    assert_int_equal(itg_threshold_cache_set(w.cache, 0, &choice, NULL), ITG_OK);
    itg_strategy *after = resolve(&w, 8, 8, ITG_THRESHOLD_MSE, ITG_THRESHOLD_MAX);
    assert_true(after->edges[0].hi == choice.hi && after->edges[0].lo == choice.lo);
    before->edges[0].hi = choice.hi;
    check_equal(before, after); /* no other edge */
    itg_strategy_destroy(before);
    itg_strategy_destroy(after);
    before = resolve(&w, 8, 8, ITG_THRESHOLD_MAX, ITG_THRESHOLD_MAX); /* another method, width */
    after = resolve(&w, 8, 4, ITG_THRESHOLD_MSE, ITG_THRESHOLD_MAX);
    assert_true(before->edges[0].hi != choice.hi && after->edges[0].hi != choice.hi);
    itg_strategy_destroy(before);
    itg_strategy_destroy(after);
    world_end(&w);
}

static itg_status take_bytes(world *w, const void *bytes, size_t size, itg_error *err)
{
    itg_unpacker u = {bytes, size, "thresholds", err, ITG_OK};
    itg_threshold_cache_unpack(&u, w->cache);
    return itg_unpack_end(&u);
}

static void thresholds_that_were_set_travel_as_bytes(void **state)
{
    world from, to;
    itg_strbuf bytes = {0};
    itg_error err = {0};
    (void)state;
    world_new(&from, true);
    world_new(&to, true);
    itg_strategy *s = resolve(&from, 8, 8, ITG_THRESHOLD_MSE, ITG_THRESHOLD_MAX);
    itg_edge_choice choice = s->edges[0];
    choice.hi *= 0.75;
    itg_strategy_destroy(s);
    assert_int_equal(itg_threshold_cache_set(from.cache, 0, &choice, NULL), ITG_OK);
    itg_threshold_cache_pack(from.cache, &bytes);
    assert_int_equal(take_bytes(&to, bytes.text, bytes.length, &err), ITG_OK);
    s = resolve(&to, 8, 8, ITG_THRESHOLD_MSE, ITG_THRESHOLD_MAX);
    assert_true(s->edges[0].hi == choice.hi && s->edges[0].lo == choice.lo);
    itg_strategy_destroy(s);
    for (size_t i = 0; i < bytes.length; i++)
        assert_int_equal(take_bytes(&to, bytes.text, i, &err), ITG_BAD_FILE);
    /* Of a weight, and beyond the last. */
    const int64_t slots = (int64_t)to.cache->slot_count,
                  no_slots[] = {slots / to.space->edge_count, slots};
    for (int i = 0; i < 2; i++) {
        itg_strbuf damaged = {0};
        itg_pack_int(&damaged, no_slots[i]);
        itg_pack(&damaged, (double[]){0, 1}, 2, sizeof(double));
        itg_pack_int(&damaged, -1);
        assert_int_equal(take_bytes(&to, damaged.text, damaged.length, &err), ITG_BAD_FILE);
        itg_strbuf_deinit(&damaged);
    }
    itg_strbuf_deinit(&bytes);
    world_end(&from);
    world_end(&to);
}

static void statistics_that_are_missing_are_named(void **state)
{
    world w;
    itg_strategy *s = NULL;
    itg_error err = {0};
    (void)state;
    itg_threshold_method methods[16];
    world_new(&w, false);
    itg_uniform_bits(w.space, 8, 8, w.bits);
    itg_uniform_methods(w.space, ITG_THRESHOLD_MAX, ITG_THRESHOLD_MSE, methods);
    assert_int_equal(itg_strategy_resolve(w.cache, w.bits, methods, NULL, &s, &err),
                     ITG_BAD_ARGUMENT);
    assert_string_equal(err.message, "net.onnx: threshold of 'x': no calibration statistics");
    assert_null(s);
    world_end(&w);
}

static void weights_that_are_no_numbers_are_named(void **state)
{
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,2"),
           y = net_gemm(g, "gemm", x, "1,2", FLOATS(1, NAN), ITG_NONE);
    itg_space_options options = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    itg_choice_space *space = NULL;
    itg_threshold_cache *cache = NULL;
    itg_strategy *s = NULL;
    itg_error err = {0};
    float data[] = {1, 2, 3, 4};
    itg_preprocess p = itg_preprocess_default();
    itg_stats *stats = NULL;
    OUTPUTS(g, x, y);
    sim_case c = case_new(g, chip("", dtypes, "'r':{'form':'f32'}", operators));
    itg_dataset set = {.dtype = ITG_F32, .shape = {2, {2, 2}}, .data = data, .path = path};
    assert_int_equal(itg_calibrate_model(g, &set, &p, 1, &stats, &err), ITG_OK);
    assert_int_equal(itg_choice_space_create(c.hw, g, &options, &space, &err), ITG_OK);
    assert_int_equal(itg_threshold_cache_create(g, c.hw, space, stats, &cache, &err), ITG_OK);
    int32_t bits[8];
    itg_threshold_method methods[8];
    itg_uniform_bits(space, 8, 8, bits);
    itg_uniform_methods(space, ITG_THRESHOLD_MAX, ITG_THRESHOLD_MAX, methods);
    assert_int_equal(itg_strategy_resolve(cache, bits, methods, NULL, &s, &err), ITG_BAD_FILE);
    assert_non_null(strstr(err.message, "net.onnx: threshold of 'gemm.w': "));
    assert_null(s);
    itg_threshold_cache_destroy(cache);
    itg_choice_space_destroy(space);
    itg_stats_destroy(stats);
    case_end(&c);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thresholds_are_the_estimators_for_the_class_that_the_edge_takes),
        cmocka_unit_test(weights_have_one_threshold_a_channel),
        cmocka_unit_test(conditions_and_hashes_follow_the_graph),
        cmocka_unit_test(threads_resolve_the_same_and_strategies_outlive_the_cache),
        cmocka_unit_test(copies_own_what_they_hold),
        cmocka_unit_test(inputs_and_outputs_may_have_widths_of_their_own),
        cmocka_unit_test(widths_nearest_below_else_above),
        cmocka_unit_test(thresholds_that_were_set_are_taken),
        cmocka_unit_test(thresholds_that_were_set_travel_as_bytes),
        cmocka_unit_test(statistics_that_are_missing_are_named),
        cmocka_unit_test(weights_that_are_no_numbers_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
