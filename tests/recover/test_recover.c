/* Whole networks: the outputs come nearer, the same strategy on any number of threads. */
#include "recover/recover.h"
#include "base/packed.h"
#include "../search/network.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "search/evaluator.h"

static itg_strategy *uniform(const small_network *n, int32_t bits)
{
    itg_strategy *s = NULL;
    itg_stats *stats = NULL;
    const itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, bits, 8, ITG_THRESHOLD_MAX,
                                         ITG_THRESHOLD_MAX,           0,    0};
    assert_int_equal(itg_calibrate_model(n->model, n->data, &n->preprocess, 1, &stats, NULL),
                     ITG_OK);
    assert_int_equal(itg_strategy_uniform(n->model, n->hw, stats, &options, &s, NULL), ITG_OK);
    itg_stats_destroy(stats);
    return s;
}

static itg_recovery recovery_of(const small_network *n)
{
    return (itg_recovery){n->model, n->hw, &n->preprocess, NULL};
}

static itg_status recover_with(const small_network *n, const itg_recover_options *options,
                               itg_strategy *s)
{
    itg_recovery r = recovery_of(n);
    itg_status status = itg_recover(&r, options, s, NULL);
    itg_recovery_deinit(&r);
    return status;
}

static itg_status recover(const small_network *n, itg_strategy *s, int threads)
{
    const itg_recover_options options = {ITG_RECOVER_OPTIONS_VERSION, .data = n->data,
                                         .threads = threads};
    return recover_with(n, &options, s);
}

static double distortion(const small_network *n, const itg_strategy *s)
{
    itg_evaluation floats = {0}, simulated = {0};
    itg_reference outputs = {0};
    itg_annotated *a = NULL;
    itg_evaluate_options o = {
        .data = n->holdout, .preprocess = &n->preprocess, .keep = &outputs, .threads = 1};
    itg_backend backend = itg_backend_float(n->model, ITG_FLOAT_REFERENCE);
    assert_int_equal(itg_evaluate(&backend, &o, &floats, NULL), ITG_OK);
    assert_int_equal(itg_annotate(n->model, n->hw, s, &a, NULL), ITG_OK);
    o.keep = NULL;
    o.reference = &outputs;
    backend = itg_backend_sim(a);
    assert_int_equal(itg_evaluate(&backend, &o, &simulated, NULL), ITG_OK);
    double out = simulated.distortion;
    itg_annotated_destroy(a);
    itg_evaluation_deinit(&floats);
    itg_evaluation_deinit(&simulated);
    itg_reference_deinit(&outputs);
    return out;
}

static void assert_same_edges(const itg_strategy *a, const itg_strategy *b)
{
    assert_int_equal(a->edge_count, b->edge_count);
    for (int32_t e = 0; e < a->edge_count; e++) {
        const itg_edge_choice *x = &a->edges[e], *y = &b->edges[e];
        assert_int_equal(x->bits, y->bits);
        assert_int_equal(x->channel_count, y->channel_count);
        assert_int_equal(x->code_count, y->code_count);
        assert_int_equal(x->bias_count, y->bias_count);
        assert_true(x->lo == y->lo && x->hi == y->hi);
        if (x->channel_count)
            assert_memory_equal(x->channel, y->channel,
                                sizeof *x->channel * (size_t)x->channel_count);
        if (x->bias_count)
            assert_memory_equal(x->bias, y->bias, sizeof *x->bias * (size_t)x->bias_count);
    }
    unsigned char one[32], other[32];
    itg_strategy_codes_hash(a, one);
    itg_strategy_codes_hash(b, other);
    assert_memory_equal(one, other, sizeof one);
}

static int layers_with_codes(const itg_strategy *s)
{
    int count = 0;
    for (int32_t e = 0; e < s->edge_count; e++)
        count += s->edges[e].codes != NULL;
    return count;
}

static void outputs_come_nearer(void **state)
{
    static const char *const targets[] = {"x86-vnni", "cortex-m", "vta", "cvm"};
    (void)state;
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        double before = 0, after = 0;
        for (uint64_t seed = 1; seed <= 4; seed++) {
            small_network n;
            small_network_make(seed, targets[t], 120, &n);
            itg_strategy *s = uniform(&n, 3), *other = NULL;
            assert_int_equal(itg_strategy_clone(s, &other, NULL), ITG_OK);
            before += distortion(&n, s);
            assert_int_equal(recover(&n, s, 1), ITG_OK);
            assert_int_equal(recover(&n, other, 3), ITG_OK);
            assert_same_edges(s, other);
            assert_int_equal(layers_with_codes(s), 3);
            after += distortion(&n, s);
            itg_strategy_destroy(s);
            itg_strategy_destroy(other);
            small_network_end(&n);
        }
        printf("%s: distortion %.3f, then %.3f\n", targets[t], before, after);
        assert_true(after < before / 3);
    }
}

static double distortion_by(const small_network *n, itg_recover_mode mode, int32_t bits,
                            int *layers)
{
    const itg_recover_options options = {ITG_RECOVER_OPTIONS_VERSION, .mode = mode, .data = n->data,
                                         .threads = 1};
    itg_strategy *s = uniform(n, bits);
    assert_int_equal(recover_with(n, &options, s), ITG_OK);
    double out = distortion(n, s);
    *layers = layers_with_codes(s);
    itg_strategy_destroy(s);
    return out;
}

static void each_mode_is_better_than_the_one_before(void **state)
{
    (void)state;
    double sum[ITG_RECOVER_MODES] = {0};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        small_network n;
        int layers[ITG_RECOVER_MODES];
        small_network_make(seed, "cortex-m", 120, &n);
        for (int m = 0; m < ITG_RECOVER_MODES; m++)
            sum[m] += distortion_by(&n, (itg_recover_mode)m, 3, &layers[m]);
        assert_int_equal(layers[ITG_RECOVER_NONE], 0);
        for (int m = ITG_RECOVER_SCALES; m < ITG_RECOVER_MODES; m++)
            assert_int_equal(layers[m], 3);
        (void)distortion_by(&n, ITG_RECOVER_AUTO, 8, &layers[0]);
        (void)distortion_by(&n, ITG_RECOVER_ROUND, 8, &layers[1]);
        assert_int_equal(layers[0], 0); /* wide weights have nothing to gain */
        assert_int_equal(layers[1], 3);
        small_network_end(&n);
    }
    printf("nearest %.3f, scales %.3f, round %.3f\n", sum[ITG_RECOVER_NONE],
           sum[ITG_RECOVER_SCALES], sum[ITG_RECOVER_ROUND]);
    assert_true(sum[ITG_RECOVER_SCALES] < 0.8 * sum[ITG_RECOVER_NONE]);
    assert_true(sum[ITG_RECOVER_ROUND] < 0.8 * sum[ITG_RECOVER_SCALES]);
    assert_true(sum[ITG_RECOVER_AUTO] == sum[ITG_RECOVER_ROUND]);
}

/* Ends at a layer: before its work, or when it was asked so often within it. */
typedef struct end {
    int layer, questions;
    int at, asked; /* the present layer, and how often it asked */
} end;

static void begin_layer(void *context, int32_t layer, int32_t layers)
{
    end *e = context;
    e->at = layer;
    e->asked = 0;
    assert_int_equal(layers, 3);
}

static bool is_enough(void *context)
{
    end *e = context;
    return e->at > e->layer || (e->at == e->layer && e->asked++ >= e->questions);
}

/* Whenever the work ends, a layer has all of its codes, or none. */
static void enough_keeps_the_nearest_codes_of_later_layers(void **state)
{
    (void)state;
    small_network n;
    small_network_make(3, "cortex-m", 60, &n);
    itg_strategy *whole = uniform(&n, 3);
    itg_recover_options options = {ITG_RECOVER_OPTIONS_VERSION, .data = n.data, .threads = 1};
    assert_int_equal(recover_with(&n, &options, whole), ITG_OK);
    options.enough = is_enough;
    options.progress = begin_layer;
    int finished = 0;
    for (int questions = 0; finished < 3; questions = questions * 5 / 4 + 1)
        for (int layer = finished; layer < 3; layer++) {
            end e = {layer, questions, 0, 0};
            itg_strategy *s = uniform(&n, 3);
            options.context = &e;
            assert_int_equal(recover_with(&n, &options, s), ITG_OK);
            int found = layers_with_codes(s);
            assert_true(found == layer || (found > layer && e.asked <= questions));
            if (found > layer && layer == finished) finished++;
            for (int32_t i = 0; i < s->edge_count; i++)
                if (s->edges[i].codes)
                    assert_memory_equal(
                        s->edges[i].codes, whole->edges[i].codes,
                        (size_t)itg_packed_bytes(s->edges[i].code_count, s->edges[i].bits));
            itg_strategy_destroy(s);
        }
    itg_strategy_destroy(whole);
    small_network_end(&n);
}

static void what_is_no_better_is_left_out(void **state)
{
    (void)state;
    small_network n;
    bool taken = true;
    small_network_make(4, "cortex-m", 200, &n);
    itg_strategy_file file = {.strategy = uniform(&n, 3), .hardware = n.hw};
    file.preprocess = n.preprocess;
    itg_recover_options options = {ITG_RECOVER_OPTIONS_VERSION, .data = n.data, .most_samples = 120,
                                   .threads = 1};
    assert_int_equal(itg_strategy_recover(&file, n.model, &options, &taken, NULL), ITG_OK);
    assert_true(taken);
    assert_int_equal(layers_with_codes(file.strategy), 3);
    itg_strategy_destroy(file.strategy);
    file.strategy = uniform(&n, 3);
    /* one sample, and few positions of it */
    options.most_samples = 1;
    assert_int_equal(itg_strategy_recover(&file, n.model, &options, &taken, NULL), ITG_OK);
    assert_int_equal(layers_with_codes(file.strategy), taken ? 3 : 0);
    options.mode = ITG_RECOVER_NONE;
    itg_strategy_destroy(file.strategy);
    file.strategy = uniform(&n, 3);
    assert_int_equal(itg_strategy_recover(&file, n.model, &options, &taken, NULL), ITG_OK);
    assert_false(taken);
    itg_strategy_destroy(file.strategy);
    small_network_end(&n);
}

/* A table whose base is the strategy itself gives what the strategy becomes. */
static void tables(void **state)
{
    (void)state;
    small_network n;
    small_network_make(5, "cortex-m", 60, &n);
    itg_strategy *s = uniform(&n, 3), *by_table = uniform(&n, 3), *narrow = uniform(&n, 2);
    uint32_t *widths = calloc((size_t)s->edge_count + 1, sizeof *widths);
    for (int32_t e = 0; e < s->edge_count; e++)
        widths[e] = 1u << 3 | 1u << 2;
    const itg_recover_options options = {ITG_RECOVER_OPTIONS_VERSION, .data = n.data, .threads = 2};
    itg_recovery r = recovery_of(&n);
    itg_recovered *table = NULL;
    assert_int_equal(itg_recover_table(&r, &options, s, widths, &table, NULL), ITG_OK);
    itg_recovery_deinit(&r);
    assert_int_equal(recover(&n, s, 1), ITG_OK);
    assert_int_equal(itg_recovered_apply(table, by_table, NULL), ITG_OK);
    assert_same_edges(s, by_table);
    double nearest = distortion(&n, narrow);
    assert_int_equal(itg_recovered_apply(table, narrow, NULL), ITG_OK);
    assert_int_equal(layers_with_codes(narrow), 3);
    assert_true(distortion(&n, narrow) < nearest / 2);
    itg_recovered_destroy(table);
    free(widths);
    itg_strategy_destroy(s);
    itg_strategy_destroy(by_table);
    itg_strategy_destroy(narrow);
    small_network_end(&n);
}

/* Weights have zero points at some widths, and none at others: strategies, and tables of all. */
static void some_widths_have_zero_points(void **state)
{
    static const char *const changes[][2] = {
        {"\"bits\": [2, 7], \"zero_point\": false, \"full_range\": true",
         "\"bits\": [2, 7], \"zero_point\": true"},
        {"\"bits\": [8, 8], \"zero_point\": false", "\"bits\": [8, 8], \"zero_point\": true"}};
    (void)state;
    for (int c = 0; c < 2; c++)
        for (int32_t bits = 3; bits <= 8; bits += 5) {
            small_network n;
            small_network_make(3, "cortex-m", 120, &n);
            small_network_change_target(&n, changes[c][0], changes[c][1]);
            const bool has_zero_points = (bits == 8) == (c == 1);
            itg_strategy *s = uniform(&n, bits), *other = uniform(&n, bits == 8 ? 3 : 8);
            uint32_t *widths = calloc((size_t)s->edge_count + 1, sizeof *widths);
            for (int32_t e = 0; e < s->edge_count; e++) {
                widths[e] = 1u << 3 | 1u << 8;
                if (s->edges[e].channel_count > 0)
                    assert_int_equal(s->edges[e].zero != NULL, has_zero_points);
            }
            const itg_recover_options options = {ITG_RECOVER_OPTIONS_VERSION,
                                                 .mode = ITG_RECOVER_ROUND, .data = n.data,
                                                 .threads = 2};
            itg_recovery r = recovery_of(&n);
            itg_recovered *table = NULL;
            assert_int_equal(itg_recover_table(&r, &options, s, widths, &table, NULL), ITG_OK);
            itg_recovery_deinit(&r);
            itg_strategy *const both[] = {s, other};
            for (int i = 0; i < 2; i++) {
                const double nearest = distortion(&n, both[i]);
                assert_int_equal(itg_recovered_apply(table, both[i], NULL), ITG_OK);
                assert_int_equal(layers_with_codes(both[i]), 3);
                /* the other's codes are made for the inputs of these widths */
                if (i == 0) assert_true(distortion(&n, s) < nearest);
            }
            itg_recovered_destroy(table);
            free(widths);
            itg_strategy_destroy(s);
            itg_strategy_destroy(other);
            small_network_end(&n);
        }
}

static void files(void **state)
{
    (void)state;
    static const char *const path = "recovered_test.json";
    small_network n;
    small_network_make(6, "x86-vnni", 60, &n);
    itg_strategy_file file = {.strategy = uniform(&n, 2), .hardware = n.hw}, *read = NULL;
    file.preprocess = n.preprocess;
    assert_int_equal(recover(&n, file.strategy, 1), ITG_OK);
    char codes[72];
    unsigned char hash[32];
    itg_strategy_codes_hash(file.strategy, hash);
    itg_strategy_codes_name(hash, codes);
    assert_int_equal(itg_strategy_save(&file, n.model, path, NULL), ITG_OK);
    assert_int_equal(itg_strategy_open(n.model, path, &read, NULL), ITG_OK);
    assert_same_edges(file.strategy, read->strategy);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(codes), 0);
    itg_strategy_close(read);
    itg_strategy_destroy(file.strategy);
    small_network_end(&n);
}

/* True from the moment on that it was asked so many times. */
static bool after_some(void *context)
{
    int *left = context;
    return (*left)-- <= 0;
}

/* Wherever it is asked to. */
static void stops(void **state)
{
    (void)state;
    small_network n;
    itg_status status = ITG_CANCELLED;
    int asks = 0;
    small_network_make(7, "cortex-m", 40, &n);
    for (; status == ITG_CANCELLED; asks++) {
        int left = asks;
        itg_strategy *s = uniform(&n, 3);
        const itg_recover_options options = {ITG_RECOVER_OPTIONS_VERSION, .data = n.data,
                                             .threads = 1, .stop = {after_some, &left}};
        status = recover_with(&n, &options, s);
        assert_true(status == ITG_OK || status == ITG_CANCELLED);
        itg_strategy_destroy(s);
    }
    assert_true(asks > 40 + 3); /* samples of the float network, and blocks of each layer */
    small_network_end(&n);
}

/* Makes the width of one layer another one: it is not recovered, or is the first that is. */
static void widen(itg_strategy *s, int32_t layer, int32_t bits)
{
    int32_t found = 0;
    for (int32_t e = 0; e < s->edge_count; e++)
        if (s->edges[e].bits == 3 && found++ == layer) s->edges[e].bits = bits;
}

/* What one recovery keeps from strategy to strategy changes nothing: whichever came before, in
 * which layers are too wide for codes, or tables. */
static void strategies_share_what_follows_from_the_float_network(void **state)
{
    (void)state;
    small_network n;
    uint32_t widths[64];
    small_network_make(9, "cortex-m", 160, &n);
    itg_recovery shared = recovery_of(&n);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        widths[i] = 1u << 4 | 1u << 2;
    for (int turn = 0; turn < 20; turn++) {
        itg_recovered *table = NULL;
        const itg_recover_options options = {ITG_RECOVER_OPTIONS_VERSION, .data = n.data,
                                             .threads = 1 + turn % 2};
        itg_strategy *a = uniform(&n, 3), *b = uniform(&n, 3);
        assert_true(a->edge_count <= 64);
        if (turn % 3 != 1) widen(a, turn % 5 % 3, 8);
        if (turn % 3 != 1) widen(b, turn % 5 % 3, 8);
        if (turn % 7 == 2) {
            assert_int_equal(itg_recover_table(&shared, &options, a, widths, &table, NULL), ITG_OK);
            itg_recovered_destroy(table);
        }
        assert_int_equal(itg_recover(&shared, &options, a, NULL), ITG_OK);
        assert_int_equal(recover(&n, b, 1), ITG_OK);
        assert_same_edges(a, b);
        itg_strategy_destroy(a);
        itg_strategy_destroy(b);
    }
    itg_recovery_deinit(&shared);
    small_network_end(&n);
}

static void a_recovery_that_was_stopped_anywhere_serves_the_next_strategy(void **state)
{
    (void)state;
    small_network n;
    itg_status status = ITG_CANCELLED;
    small_network_make(9, "cortex-m", 40, &n);
    itg_strategy *whole = uniform(&n, 3);
    assert_int_equal(recover(&n, whole, 1), ITG_OK);
    for (int asks = 0; status == ITG_CANCELLED; asks += 1 + asks / 8) {
        int left = asks;
        itg_recovery shared = recovery_of(&n);
        itg_strategy *s = uniform(&n, 3), *again = uniform(&n, 3);
        itg_recover_options options = {ITG_RECOVER_OPTIONS_VERSION, .data = n.data, .threads = 1,
                                       .stop = {after_some, &left}};
        status = itg_recover(&shared, &options, s, NULL);
        options.stop.asked = NULL;
        assert_int_equal(itg_recover(&shared, &options, again, NULL), ITG_OK);
        assert_same_edges(whole, again);
        itg_strategy_destroy(s);
        itg_strategy_destroy(again);
        itg_recovery_deinit(&shared);
    }
    assert_int_equal(status, ITG_OK);
    itg_strategy_destroy(whole);
    small_network_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_come_nearer),
        cmocka_unit_test(each_mode_is_better_than_the_one_before),
        cmocka_unit_test(enough_keeps_the_nearest_codes_of_later_layers),
        cmocka_unit_test(what_is_no_better_is_left_out),
        cmocka_unit_test(tables),
        cmocka_unit_test(some_widths_have_zero_points),
        cmocka_unit_test(files),
        cmocka_unit_test(stops),
        cmocka_unit_test(strategies_share_what_follows_from_the_float_network),
        cmocka_unit_test(a_recovery_that_was_stopped_anywhere_serves_the_next_strategy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
