/* Sums of 16 bits in parts, as target avr has them, on real weights: no input can leave a part, no
 * list of parts is shorter, and what the parts cost is what the search minimizes. The networks
 * beside the digits example need ../shared/data. */
#include "wanted.h"
#include "realize/batch.h"
#include "realize/geometry.h"
#include "search/evaluator.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char *const models[] = {
    "examples/digits.onnx",
    "../shared/data/models/iris_winml_network.onnx",
    "../shared/data/models/mnist_onnxjs_7.onnx",
    "../shared/data/models/mbv2_cifar10.onnx",
    "../shared/data/models/resnet8_cifar10.onnx",
};
#define MODEL_COUNT ((int)(sizeof models / sizeof *models))
enum { SAMPLES = 3, WIDTHS = 4 };
static const int32_t weight_bits[WIDTHS] = {8, 6, 5, 3}, activation_bits[WIDTHS] = {8, 8, 4, 6};

typedef struct network {
    itg_model *model;
    itg_hardware *hw;
    itg_dataset *data; /* calibrated on: every element of a sample at one end or the other */
    itg_preprocess preprocess;
    itg_stats *stats;
} network;

/* Inputs are codes at the ends of their clip range: one sample all high, one all low, one random.
 */
static itg_dataset *extreme_samples(const itg_graph *g)
{
    itg_dataset *d = calloc(1, sizeof *d);
    itg_rng rng;
    int64_t elements = 0;
    itg_rng_init(&rng, 3);
    d->dtype = ITG_F32;
    d->shape = g->values[g->inputs[0]].shape;
    d->shape.dims[0] = SAMPLES;
    assert_true(itg_shape_elements(&d->shape, &elements));
    float *x = malloc(sizeof *x * (size_t)elements);
    for (int64_t i = 0; i < elements; i++) {
        int64_t sample = i / (elements / SAMPLES);
        x[i] = sample == 0 || (sample == 2 && itg_rng_below(&rng, 2)) ? 3 : -3;
    }
    d->data = x;
    d->path = calloc(1, 1);
    return d;
}

static bool load(const char *path, network *n)
{
    itg_error err = {ITG_OK, ""};
    *n = (network){.preprocess = itg_preprocess_default()};
    if (itg_model_open(path, NULL, &n->model, &err) != ITG_OK) {
        print_message("%s is absent: skipped\n", path);
        return false;
    }
    n->data = extreme_samples(n->model);
    assert_int_equal(itg_hardware_load("avr", &n->hw, NULL), ITG_OK);
    if (itg_calibrate_model(n->model, n->data, &n->preprocess, 1, &n->stats, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return true;
}

static void unload(network *n)
{
    itg_stats_destroy(n->stats);
    itg_hardware_destroy(n->hw);
    itg_data_close(n->data);
    itg_model_close(n->model);
}

static itg_annotated *annotate(const network *n, int width)
{
    itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION,
                                   weight_bits[width],
                                   activation_bits[width],
                                   ITG_THRESHOLD_MAX,
                                   ITG_THRESHOLD_MAX,
                                   0,
                                   0};
    itg_strategy_file *file = NULL;
    itg_annotated *a = NULL;
    itg_error err = {ITG_OK, ""};
    itg_status status = itg_uniform_strategy(n->model, n->hw, &n->preprocess, n->stats, n->data,
                                             &options, &file, &err);
    if (status == ITG_OK) status = itg_annotate_strategy(n->model, file, &a, &err);
    if (status != ITG_OK) fail_msg("%s", err.message);
    itg_strategy_close(file);
    return a;
}

static itg_program *program_of(const itg_annotated *a)
{
    itg_program *p = NULL;
    itg_error err = {ITG_OK, ""};
    if (itg_realize_program(a, NULL, &p, &err) != ITG_OK) fail_msg("%s", err.message);
    return p;
}

/* ---- one layer's sums ---- */

typedef struct sums {
    const itg_step *s;
    const int8_t *codes;
    const int64_t *bias;
    int64_t channels, terms, channel_step, term_step;
    int64_t low, high; /* x - zero point */
} sums;

static bool sums_of(const itg_program *p, const itg_step *s, sums *out)
{
    if (s->kind != ITG_STEP_CONV && s->kind != ITG_STEP_MATMUL) return false;
    const itg_pvalue *x = &p->values[s->inputs[0]], *w = &p->values[s->inputs[1]];
    if (w->data == NULL) return false;
    bool rows = s->kind == ITG_STEP_MATMUL && !s->attrs.trans_b;
    int64_t terms = itg_mac_terms(p, s), channels = w->elements / terms;
    assert_int_equal(w->dtype, ITG_S8);
    *out = (sums){s,
                  w->data,
                  s->input_count > 2 ? p->values[s->inputs[2]].data : NULL,
                  channels,
                  terms,
                  rows ? 1 : terms,
                  rows ? channels : 1,
                  x->q.qmin - x->q.zero_point,
                  x->q.qmax - x->q.zero_point};
    return true;
}

/* The term whose input pushes the sum up, or down. */
static int64_t term(const sums *m, int64_t channel, int64_t k, bool up)
{
    int64_t w = m->codes[channel * m->channel_step + k * m->term_step];
    return w * ((w > 0) == up ? m->high : m->low);
}

static void widen(int64_t v, int64_t *lo, int64_t *hi)
{
    if (v < *lo) *lo = v;
    if (v > *hi) *hi = v;
}

static void assert_16_bits(int64_t v)
{
    assert_true(v >= INT16_MIN && v <= INT16_MAX);
}

/* Adds the terms in order with the inputs that hurt most, and looks after every addition. */
static void check_split_channel(const sums *m, int64_t channel, int64_t range[4])
{
    for (int up = 0; up < 2; up++) {
        int64_t joined = m->bias ? m->bias[channel] : 0, k = 0;
        for (int32_t i = 0; i < m->s->split.part_count; i++) {
            int64_t part = 0;
            for (; k < m->s->split.end[i]; k++)
                assert_16_bits(part += term(m, channel, k, up));
            widen(part, &range[0], &range[1]);
            joined += part;
            assert_true(joined >= INT32_MIN && joined <= INT32_MAX);
        }
        assert_int_equal(k, m->terms);
        widen(joined, &range[2], &range[3]);
    }
}

static void check_whole_channel(const sums *m, int64_t channel, int64_t range[2])
{
    for (int up = 0; up < 2; up++) {
        int64_t sum = m->bias ? m->bias[channel] : 0;
        assert_16_bits(sum);
        for (int64_t k = 0; k < m->terms; k++)
            assert_16_bits(sum += term(m, channel, k, up));
        widen(sum, &range[0], &range[1]);
    }
}

/* How far a part may reach that begins with term `from`. */
static int64_t reach(const sums *m, int64_t from)
{
    int64_t nearest = m->terms;
    for (int64_t c = 0; c < m->channels; c++) {
        int64_t lo = 0, hi = 0, k = from;
        for (; k < nearest; k++) {
            lo += term(m, c, k, false);
            hi += term(m, c, k, true);
            if (lo < INT16_MIN || hi > INT16_MAX) break;
        }
        nearest = k;
    }
    return nearest;
}

/* The fewest parts of all ways to cut, by dynamic programming from the end. */
static int64_t fewest_parts(const sums *m)
{
    int64_t *fewest = calloc((size_t)m->terms + 1, sizeof *fewest);
    for (int64_t k = m->terms - 1; k >= 0; k--) {
        int64_t end = reach(m, k), best = INT64_MAX - 1;
        assert_true(end > k); /* one product always fits */
        for (int64_t next = k + 1; next <= end; next++)
            if (fewest[next] < best) best = fewest[next];
        fewest[k] = best + 1;
    }
    int64_t all = fewest[0];
    free(fewest);
    return all;
}

static void check_layer(const sums *m)
{
    const itg_step *s = m->s;
    int64_t range[4] = {INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN};
    assert_int_equal(s->acc.bits, 16);
    for (int64_t c = 0; c < m->channels; c++)
        if (s->split.part_count > 0)
            check_split_channel(m, c, range);
        else
            check_whole_channel(m, c, range);
    if (s->split.part_count > 0) {
        assert_int_equal(s->split.part_count, fewest_parts(m));
        assert_true(s->acc_lo == range[0] && s->acc_hi == range[1]);
        assert_true(s->join_lo == range[2] && s->join_hi == range[3]);
    } else {
        assert_true(s->acc_lo <= range[0] && s->acc_hi >= range[1]);
    }
    for (int32_t i = 0; i < s->split.shift_count; i++)
        assert_int_equal(s->split.shift[i], 0); /* 32 bits hold every joined sum here */
}

static void no_input_leaves_a_part_and_no_cut_has_fewer(void **state)
{
    (void)state;
    for (int i = 0; i < MODEL_COUNT; i++) {
        network n;
        int split = 0, whole = 0;
        if (!load(models[i], &n)) continue;
        for (int width = 0; width < WIDTHS; width++) {
            itg_annotated *a = annotate(&n, width);
            itg_program *p = program_of(a);
            for (int32_t k = 0; k < p->step_count; k++) {
                sums m;
                if (!sums_of(p, &p->steps[k], &m)) continue;
                check_layer(&m);
                *(m.s->split.part_count > 0 ? &split : &whole) += 1;
            }
            itg_program_destroy(p);
            itg_annotated_destroy(a);
        }
        print_message("  %s: %d sums in parts, %d whole\n", models[i], split, whole);
        assert_true(split > 0 && whole > 0);
        unload(&n);
    }
}

/* ---- agreement at the ends of the clip ranges ---- */

static void digest_of(itg_backend backend, const network *n, unsigned char digest[32])
{
    itg_evaluate_options options = {.data = n->data, .preprocess = &n->preprocess, .threads = 1};
    itg_evaluation out = {0};
    itg_error err = {ITG_OK, ""};
    if (itg_evaluate(&backend, &options, &out, &err) != ITG_OK) fail_msg("%s", err.message);
    memcpy(digest, out.digest, 32);
    itg_evaluation_deinit(&out);
}

static void compare(const network *n, int width)
{
    unsigned char simulated[32], run[32];
    itg_annotated *a = annotate(n, width);
    itg_program *p = program_of(a);
    digest_of(itg_backend_sim(a), n, simulated);
    for (int k = 0; itg_accel_set(k); k++) {
        itg_batch_options batch = {.block = 2};
        itg_batch_plan *plan = NULL;
        if (itg_accel_choose(itg_accel_set(k), &batch.kernels, NULL) != ITG_OK) continue;
        assert_int_equal(itg_batch_plan_create(p, &batch, &plan, NULL), ITG_OK);
        itg_fast_program fast = {p, plan, NULL, 0};
        digest_of(itg_backend_program(&fast), n, run);
        if (memcmp(simulated, run, 32) != 0) fail_msg("%s differs", itg_accel_set(k));
        itg_batch_plan_destroy(plan);
    }
    itg_program_destroy(p);
    itg_annotated_destroy(a);
}

static void all_executors_agree_at_the_ends_of_the_clip_ranges(void **state)
{
    (void)state;
    for (int i = 0; i < MODEL_COUNT; i++) {
        network n;
        if (!load(models[i], &n)) continue;
        for (int width = 0; width < WIDTHS; width++)
            compare(&n, width);
        unload(&n);
    }
}

/* ---- what parts cost ---- */

/* Joins of a network at these widths; its cycles are those of the formula. */
static int64_t joins_of(const network *n, int width, double *cycles)
{
    itg_annotated *a = annotate(n, width);
    const itg_graph *g = a->graph;
    itg_cost cost;
    int64_t joins = 0;
    double sum = 0;
    assert_int_equal(itg_cost_of(n->hw, a, &cost), ITG_OK);
    for (itg_id i = 0; i < g->node_count; i++) {
        itg_node_cost node = itg_cost_of_node(n->hw, a, i);
        sum += node.cycles;
        if (node.macs == 0) continue;
        int64_t outputs = 0, parts = a->nodes[i].split.part_count;
        assert_true(itg_shape_elements(&g->values[g->nodes[i].outputs[0]].shape, &outputs));
        assert_int_equal(node.parts, parts);
        assert_int_equal(node.joins, parts * outputs);
        double rate = weight_bits[width] > 4 ? 0.095 : 0.083;
        assert_true(node.cycles ==
                    (double)node.macs / rate + (parts > 0 ? 15.0 * (double)node.joins : 0));
        joins += node.joins;
    }
    assert_true(sum == cost.cycles);
    *cycles = cost.cycles;
    itg_annotated_destroy(a);
    return joins;
}

/* From 8 to 6 bits of weights nothing changes but the parts. */
static void narrower_codes_need_fewer_joins_and_cycles(void **state)
{
    (void)state;
    for (int i = 0; i < MODEL_COUNT; i++) {
        network n;
        double cycles[3];
        if (!load(models[i], &n)) continue;
        int64_t wide = joins_of(&n, 0, &cycles[0]), middle = joins_of(&n, 1, &cycles[1]),
                narrow = joins_of(&n, 2, &cycles[2]);
        assert_true(wide > middle && middle > narrow);
        assert_true(cycles[0] > cycles[1] && cycles[1] > cycles[2]);
        unload(&n);
    }
}

/* Joins of a strategy that a search found. */
static int64_t joins_found(const network *n, const itg_strategy_file *file)
{
    itg_annotated *a = NULL;
    int64_t joins = 0;
    assert_int_equal(itg_annotate_strategy(n->model, file, &a, NULL), ITG_OK);
    for (itg_id i = 0; i < a->graph->node_count; i++)
        joins += itg_cost_of_node(n->hw, a, i).joins;
    itg_annotated_destroy(a);
    return joins;
}

/* Uniform 8 bits and 5 bits differ in cycles by their joins alone, so that is what it looks for. */
static void a_search_for_cycles_gets_rid_of_joins(void **state)
{
    itg_search_options options = {
        ITG_SEARCH_OPTIONS_VERSION,
        .goal = goal_of((aim){.minimize = ITG_METRIC_CYCLES, .max_drop = 0.02}),
        .weight_bits = {5, 8},
        .activation_bits = {8, 8},
        .trials = 60,
        .threads = 1};
    itg_dataset *samples = NULL;
    itg_search_hooks hooks = ITG_SEARCH_HOOKS_INIT;
    itg_search_result *result = NULL;
    itg_error err = {ITG_OK, ""};
    double cycles;
    network n;
    (void)state;
    assert_true(load(models[0], &n));
    n.preprocess.scale = 1.0f / 255;
    n.hw->flash_bytes = n.hw->ram_bytes = 0; /* of a larger chip: its limits are not the question */
    assert_int_equal(itg_data_open("examples/digits_search_images.npy", 0, &samples, NULL), ITG_OK);
    itg_search_data data = {.data = samples};
    if (itg_search(n.model, n.hw, &n.preprocess, &data, &options, &hooks, &result, &err) != ITG_OK)
        fail_msg("%s", err.message);
    const itg_score *uniform = itg_search_uniform8(result, false),
                    *best = &itg_search_best(result)->score;
    assert_true(itg_search_goal_met(result));
    assert_true(best->value[ITG_METRIC_CYCLES] < 0.9 * uniform->value[ITG_METRIC_CYCLES]);
    assert_true(2 * joins_found(&n, itg_search_strategy(result)) < joins_of(&n, 0, &cycles));
    itg_search_result_destroy(result);
    itg_data_close(samples);
    unload(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_input_leaves_a_part_and_no_cut_has_fewer),
        cmocka_unit_test(all_executors_agree_at_the_ends_of_the_clip_ranges),
        cmocka_unit_test(narrower_codes_need_fewer_joins_and_cycles),
        cmocka_unit_test(a_search_for_cycles_gets_rid_of_joins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
