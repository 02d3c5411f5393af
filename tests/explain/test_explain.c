/* Planted faults: a clipped threshold, a 2-bit edge, an accumulator that overflows. Each is found,
 * ranked first, and mended. */
#include "../sim/case.h"
#include <intaglio/explain.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sim/strategy_file.h"

enum { SAMPLES = 96, INPUTS = 8, HIDDEN = 24, OUTS = 16 };

static char path[] = "data.npy";
static float samples[SAMPLES * INPUTS];

/* x -> one, relu -> two, relu -> three; mean: of the second one's weights */
static sim_case make_case(int accumulator, double mean)
{
    static float w1[HIDDEN * INPUTS], w2[HIDDEN * HIDDEN], w3[OUTS * HIDDEN], b[HIDDEN];
    char operators[300], shape[16];
    itg_rng rng;
    itg_rng_init(&rng, 7);
    for (int i = 0; i < SAMPLES * INPUTS; i++)
        samples[i] = (float)random_real(&rng, -1, 1);
    for (int i = 0; i < HIDDEN * INPUTS; i++)
        w1[i] = (float)random_real(&rng, -1, 1);
    for (int i = 0; i < HIDDEN * HIDDEN; i++)
        w2[i] = (float)random_real(&rng, mean - 0.5, mean + 0.5);
    for (int i = 0; i < OUTS * HIDDEN; i++)
        w3[i] = (float)random_real(&rng, -1, 1);
    for (int i = 0; i < HIDDEN; i++)
        b[i] = (float)random_real(&rng, -0.3, 0.3);
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,8");
    itg_id one = net_gemm(g, "one", x, "24,8", w1, net_constant(g, "b", "24", b));
    itg_id two =
        net_gemm(g, "two", NODE(g, "relu1", ITG_OP_RELU, NULL, one), "24,24", w2, ITG_NONE);
    snprintf(shape, sizeof shape, "%d,%d", OUTS, HIDDEN);
    itg_id three =
        net_gemm(g, "three", NODE(g, "relu2", ITG_OP_RELU, NULL, two), shape, w3, ITG_NONE);
    OUTPUTS(g, x, three);
    snprintf(operators, sizeof operators,
             "'Gemm':[{'arithmetic':'mac','inputs':['u8'],'weights':['w'],'outputs':['u8'],'"
             "requantize':'r','accumulator':{'bits':%d},'bias_bits':16}]",
             accumulator);
    return case_new(g, chip("'fuse':[['Gemm','Relu']],",
                            "'u8':{'storage':'u8','bits':[2,8],'zero_point':true},'w':{'storage':'"
                            "s8','bits':[2,8]}",
                            "'r':{'form':'f32'}", operators));
}

static itg_dataset data_of(void)
{
    return (itg_dataset){
        .dtype = ITG_F32, .shape = {2, {SAMPLES, INPUTS}}, .data = samples, .path = path};
}

/* The largest value of each edge as its threshold, 8 bits everywhere. */
static void set_uniform(sim_case *c)
{
    const itg_uniform_options o = {ITG_UNIFORM_OPTIONS_VERSION, 8, 8, ITG_THRESHOLD_MAX,
                                   ITG_THRESHOLD_MAX,           0, 0};
    const itg_preprocess p = itg_preprocess_default();
    const itg_dataset data = data_of();
    itg_stats *stats = NULL;
    assert_int_equal(itg_calibrate_model(c->g, &data, &p, 1, &stats, NULL), ITG_OK);
    itg_strategy_destroy(c->s);
    assert_int_equal(itg_strategy_uniform(c->g, c->hw, stats, &o, &c->s, NULL), ITG_OK);
    itg_stats_destroy(stats);
}

static itg_strategy_file file_of(const sim_case *c)
{
    return (itg_strategy_file){
        .strategy = c->s, .hardware = c->hw, .preprocess = itg_preprocess_default()};
}

static itg_explanation *explain(const sim_case *c, itg_explain_options o)
{
    const itg_strategy_file file = file_of(c);
    const itg_dataset data = data_of();
    itg_explanation *out = NULL;
    itg_error err = {0};
    if (itg_explain(c->g, &file, &data, &o, &out, &err) != ITG_OK) fail_msg("%s", err.message);
    return out;
}

static double loss(const itg_score *score)
{
    return score->value[ITG_METRIC_DISTORTION];
}

static itg_explain_options defaults(void)
{
    return (itg_explain_options){ITG_EXPLAIN_OPTIONS_VERSION, .threads = 1};
}

/* Simulated again, the strategy with the changes has the loss that was promised; returns it. */
static double mend(sim_case *c, const itg_explanation *e)
{
    const itg_explanation_info *info = itg_explanation_about(e);
    const itg_simulate_options o = {.version = ITG_SIMULATE_OPTIONS_VERSION,
                                    .with_agreement = true};
    const itg_dataset data = data_of();
    itg_strategy_file file = file_of(c);
    itg_score score;
    assert_true(info->complete && info->applied > 0);
    assert_int_equal(itg_explanation_apply(e, &file, NULL), ITG_OK);
    c->s = file.strategy;
    assert_int_equal(itg_simulate(c->g, &file, &data, &o, &score, NULL), ITG_OK);
    assert_true(loss(&score) == loss(&info->changed));
    assert_memory_equal(score.digest, info->changed.digest, sizeof score.digest);
    return loss(&score);
}

/* The loss without any fault. */
static double sound_loss(double mean)
{
    sim_case c = make_case(32, mean);
    set_uniform(&c);
    itg_explain_options o = defaults();
    itg_explanation *e = explain(&c, o);
    double sound = loss(&itg_explanation_about(e)->score);
    itg_explanation_destroy(e);
    case_end(&c);
    return sound;
}

static void the_effects_of_a_sound_strategy_sum_to_its_loss(void **state)
{
    sim_case c = make_case(32, 0);
    (void)state;
    set_uniform(&c);
    itg_explanation *e = explain(&c, defaults());
    const itg_explanation_info *info = itg_explanation_about(e);
    assert_true(loss(&info->score) > 0 && loss(&info->score) < 1e-3);
    assert_true(fabs(info->sum - 1) < 0.2);
    assert_int_equal(info->effects, itg_explanation_count(e));
    double sum = 0;
    for (int32_t i = 0; i < info->effects; i++) {
        const itg_effect_report *r = itg_explanation_at(e, i);
        assert_true(r->effect != ITG_EFFECT_OVERFLOW);
        assert_true(i == 0 || r->share <= itg_explanation_at(e, i - 1)->share);
        assert_true(fabs(r->share - (1 - loss(&r->without) / loss(&info->score))) < 1e-12);
        sum += r->share;
    }
    assert_true(fabs(sum - info->sum) < 1e-9);
    itg_explanation_destroy(e);
    itg_explanation_destroy(NULL);
    case_end(&c);
}

static void a_clipped_threshold(void **state)
{
    sim_case c = make_case(32, 0);
    (void)state;
    set_uniform(&c);
    itg_edge_choice *edge = &c.s->edges[case_edge(&c, "three", 0)];
    edge->hi *= 0.4;
    itg_explanation *e = explain(&c, defaults());
    const itg_effect_report *r = itg_explanation_at(e, 0);
    assert_int_equal(r->effect, ITG_EFFECT_CLIPPING);
    assert_string_equal(r->node, "three");
    assert_int_equal(r->edge, case_edge(&c, "three", 0));
    assert_true(r->share > 0.9 && r->change != NULL && r->is_applied);
    assert_true(r->changed.value[ITG_METRIC_WEIGHT_BYTES] ==
                itg_explanation_about(e)->score.value[ITG_METRIC_WEIGHT_BYTES]);
    assert_true(strstr(r->change, "threshold") != NULL);
    /* It is the epilogue of the second layer that clips. */
    assert_non_null(strstr("two relu2", itg_explanation_about(e)->first_bad));
    assert_true(mend(&c, e) < 2 * sound_loss(0));
    itg_explanation_destroy(e);
    case_end(&c);
}

static void an_edge_of_two_bits(void **state)
{
    sim_case c = make_case(32, 0);
    (void)state;
    set_uniform(&c);
    c.s->edges[case_edge(&c, "two", 0)].bits = 2;
    itg_explanation *e = explain(&c, defaults());
    const itg_effect_report *r = itg_explanation_at(e, 0);
    assert_int_equal(r->effect, ITG_EFFECT_ROUNDING);
    assert_string_equal(r->node, "two");
    assert_int_equal(r->bits, 2);
    assert_false(r->is_weight);
    assert_true(r->share > 0.9 && r->change != NULL);
    assert_string_equal(r->change, "8 bits for 2");
    assert_true(mend(&c, e) < 2 * sound_loss(0));
    itg_explanation_destroy(e);
    case_end(&c);
}

static void an_accumulator_that_overflows(void **state)
{
    sim_case c = make_case(18, 0.4); /* only the 24 terms of the second layer leave it */
    (void)state;
    set_uniform(&c);
    itg_explanation *e = explain(&c, defaults());
    const itg_effect_report *r = itg_explanation_at(e, 0);
    double before = loss(&itg_explanation_about(e)->score);
    assert_int_equal(r->effect, ITG_EFFECT_OVERFLOW);
    assert_string_equal(r->node, "two");
    assert_null(r->value);
    assert_true(r->share > 0.9 && r->change != NULL && r->is_applied);
    assert_true(loss(&r->without) < 2 * sound_loss(0.4));
    assert_true(before > 20 * sound_loss(0.4));
    assert_true(mend(&c, e) < 2 * sound_loss(0.4));
    itg_explanation_destroy(e);
    case_end(&c);
}

static bool same(const itg_effect_report *a, const itg_effect_report *b)
{
    return a->effect == b->effect && a->edge == b->edge &&
           strcmp(a->node ? a->node : "", b->node ? b->node : "") == 0 &&
           a->samples == b->samples && a->share == b->share && a->tried == b->tried &&
           !a->change == !b->change && (!a->change || strcmp(a->change, b->change) == 0) &&
           memcmp(a->without.digest, b->without.digest, 32) == 0;
}

/* Also where the effects are measured in two steps. */
static void threads_change_nothing(void **state)
{
    sim_case c = make_case(32, 0);
    itg_explain_options o = defaults();
    (void)state;
    set_uniform(&c);
    o.most_effects = 3;
    o.first_samples = 40;
    itg_explanation *one = explain(&c, o);
    assert_int_equal(itg_explanation_about(one)->measured, 3);
    for (o.threads = 2; o.threads <= 4; o.threads++) {
        itg_explanation *many = explain(&c, o);
        assert_int_equal(itg_explanation_count(one), itg_explanation_count(many));
        for (int32_t i = 0; i < itg_explanation_count(one); i++)
            assert_true(same(itg_explanation_at(one, i), itg_explanation_at(many, i)));
        assert_true(loss(&itg_explanation_about(one)->changed) ==
                    loss(&itg_explanation_about(many)->changed));
        itg_explanation_destroy(many);
    }
    itg_explanation_destroy(one);
    case_end(&c);
}

static int32_t left;

static bool stop_soon(void *context)
{
    (void)context;
    return left-- <= 0;
}

static void what_is_known_when_it_is_stopped(void **state)
{
    sim_case c = make_case(32, 0);
    itg_explain_options o = defaults();
    (void)state;
    set_uniform(&c);
    o.first_samples = SAMPLES;
    o.stop = (itg_stop){stop_soon, NULL};
    left = 500;
    itg_explanation *e = explain(&c, o);
    assert_false(itg_explanation_about(e)->complete);
    assert_true(loss(&itg_explanation_about(e)->score) > 0);
    assert_true(itg_explanation_at(e, 0)->samples == SAMPLES);
    itg_explanation_destroy(e);
    const itg_strategy_file file = file_of(&c);
    const itg_dataset data = data_of();
    left = 0; /* before anything is known */
    assert_int_equal(itg_explain(c.g, &file, &data, &o, &e, NULL), ITG_CANCELLED);
    case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_effects_of_a_sound_strategy_sum_to_its_loss),
        cmocka_unit_test(a_clipped_threshold),
        cmocka_unit_test(an_edge_of_two_bits),
        cmocka_unit_test(an_accumulator_that_overflows),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(what_is_known_when_it_is_stopped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
