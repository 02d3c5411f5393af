/* Scales and biases of all layers together, and ranges of activations. */
#include "recover/ranges.h"
#include "base/packed.h"
#include "recover/tune_rows.h"
#include "../search/network.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/faults.h"

/* ---- the matrix of the outputs ---- */

enum { MOST_CLASSES = 6 };

/* Returns the largest difference of the vectors' products from diag q - q q'. */
static double rebuild(const double *q, int64_t n, int32_t *count)
{
    double rest[MOST_CLASSES], trace = 0, rebuilt = 0, most = 0;
    float out[ITG_TUNE_DIRECTIONS * MOST_CLASSES];
    *count = itg_tune_directions(q, n, rest, out);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double x = 0, wanted = (i == j ? q[i] : 0) - q[i] * q[j];
            for (int32_t k = 0; k < *count; k++)
                x += (double)out[k * n + i] * (double)out[k * n + j];
            if (i == j) trace += wanted;
            if (i == j) rebuilt += x;
            most = fmax(most, fabs(x - wanted));
        }
    if (*count > 0) assert_true(fabs(rebuilt - trace) < 1e-6);
    return most;
}

static void vectors_rebuild_the_matrix(void **state)
{
    int32_t count;
    (void)state;
    assert_true(rebuild((const double[]){0.3, 0.7}, 2, &count) < 1e-7);
    assert_int_equal(count, 1);
    assert_true(rebuild((const double[]){0.2, 0.5, 0.3}, 3, &count) < 1e-7);
    assert_int_equal(count, 2);
    assert_true(rebuild((const double[]){0.25, 0.25, 0.25, 0.25}, 4, &count) < 1e-7);
    assert_int_equal(count, 3);
    assert_true(rebuild((const double[]){0.4, 0.2, 0.1, 0.1, 0.1, 0.1}, 6, &count) < 0.1);
    assert_int_equal(count, ITG_TUNE_DIRECTIONS);
    (void)rebuild((const double[]){0.99, 0.01}, 2, &count);
    assert_int_equal(count, 0);
}

/* ---- the linear system ---- */

static const itg_stop never = {0};

enum { SAMPLES = 40, PARAMETERS = 21, VALUES = SAMPLES * (1 + ITG_TUNE_DIRECTIONS) * PARAMETERS };

typedef struct made_rows {
    float values[VALUES];
    int32_t counts[SAMPLES];
    double prior[PARAMETERS];
    itg_tune_rows rows;
} made_rows;

static void make_rows(made_rows *m)
{
    itg_rng rng;
    itg_rng_init(&rng, 5);
    for (int i = 0; i < VALUES; i++)
        m->values[i] = (float)itg_rng_unit(&rng) - 0.4f;
    for (int i = 0; i < SAMPLES; i++)
        m->counts[i] = (int32_t)itg_rng_below(&rng, ITG_TUNE_DIRECTIONS + 1);
    for (int i = 0; i < PARAMETERS; i++)
        m->prior[i] = i == 3 ? 0 : 0.5 + i;
    m->rows = (itg_tune_rows){SAMPLES, PARAMETERS, m->values, m->counts, m->prior};
}

static const float *row(const made_rows *m, int64_t sample, int32_t k)
{
    return m->values + (sample * (1 + ITG_TUNE_DIRECTIONS) + k) * PARAMETERS;
}

static double dot(const float *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < PARAMETERS; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

/* Returns an element of the gradient of the model with ridge and prior. */
static double slope_at(const made_rows *m, const itg_tune_problem *p, double ridge, const double *x,
                       int i)
{
    double sum = m->prior[i] * x[i], diagonal = 0;
    for (int64_t s = p->first; s < p->end; s++) {
        sum += (double)row(m, s, 0)[i];
        for (int32_t k = 1; k <= m->counts[s]; k++) {
            sum += (double)row(m, s, k)[i] * dot(row(m, s, k), x);
            diagonal += (double)row(m, s, k)[i] * (double)row(m, s, k)[i];
        }
    }
    return sum + ridge * diagonal * x[i];
}

static void the_system_is_solved(void **state)
{
    made_rows m;
    double x[PARAMETERS] = {0}, y[PARAMETERS] = {0};
    (void)state;
    make_rows(&m);
    itg_tune_problem p = {&m.rows, 5, 33, &never, 1};
    assert_int_equal(itg_tune_solve(&p, 0.3, x, NULL), ITG_OK);
    for (int i = 0; i < PARAMETERS; i++)
        if (m.prior[i] > 0) assert_true(fabs(slope_at(&m, &p, 0.3, x, i)) < 0.05);
    assert_true(x[3] == 0);
    p.threads = 3;
    assert_int_equal(itg_tune_solve(&p, 0.3, y, NULL), ITG_OK);
    assert_memory_equal(x, y, sizeof x);
    assert_int_equal(itg_tune_solve(&p, 30, y, NULL), ITG_OK);
    assert_int_equal(itg_tune_solve(&p, 0.3, y, NULL), ITG_OK);
    for (int i = 0; i < PARAMETERS; i++)
        assert_true(fabs(x[i] - y[i]) < 0.01);
}

static void a_change_is_predicted(void **state)
{
    made_rows m;
    double x[PARAMETERS] = {0}, mean = 0, squares = 0;
    (void)state;
    make_rows(&m);
    const itg_tune_problem p = {&m.rows, 0, SAMPLES, &never, 1};
    assert_int_equal(itg_tune_solve(&p, 0.01, x, NULL), ITG_OK);
    for (int i = 0; i < PARAMETERS; i++)
        x[i] *= 10;
    itg_tune_change c = itg_tune_predict(&p, x);
    assert_true(c.part > 0.05 && c.part < 0.5 && c.mean < 0);
    for (int64_t s = 0; s < SAMPLES; s++) {
        double own = c.part * dot(row(&m, s, 0), x);
        for (int32_t k = 1; k <= m.counts[s]; k++)
            own += c.part * c.part * dot(row(&m, s, k), x) * dot(row(&m, s, k), x) / 2;
        mean += own / SAMPLES;
        squares += own * own / SAMPLES;
    }
    assert_true(fabs(c.mean - mean) < 1e-9);
    assert_true(fabs(c.error - sqrt((squares - mean * mean) / SAMPLES)) < 1e-9);
    for (int i = 0; i < PARAMETERS; i++)
        x[i] = -x[i];
    c = itg_tune_predict(&p, x);
    assert_true(c.part == 0 && c.mean == 0 && c.error == 0);
}

/* ---- of a network ---- */

enum { NETWORK_SAMPLES = 300, RECONSTRUCTED = 100 };

/* A strategy with codes, and the layers that have them. */
typedef struct network {
    small_network n;
    itg_feed feed;
    itg_strategy *s;
    itg_layer layers[8];
    int32_t layer_count;
    itg_ranges_chosen chosen; /* by the last choice of ranges */
} network;

static itg_recover_options options_of(const network *w, int threads)
{
    return (itg_recover_options){ITG_RECOVER_OPTIONS_VERSION, .data = w->n.data,
                                 .most_samples = RECONSTRUCTED, .threads = threads};
}

static void open_network(network *w, const char *target)
{
    itg_stats *stats = NULL;
    itg_annotated *a = NULL;
    const itg_uniform_options uniform = {ITG_UNIFORM_OPTIONS_VERSION, 3, 8, ITG_THRESHOLD_MAX,
                                         ITG_THRESHOLD_MAX,           0, 0};
    *w = (network){0};
    small_network_make(3, target, NETWORK_SAMPLES, &w->n);
    const itg_input_list inputs = itg_graph_inputs(w->n.model);
    const itg_recover_options options = options_of(w, 1);
    assert_int_equal(itg_feed_init(&inputs, w->n.data, &w->n.preprocess, &w->feed, NULL), ITG_OK);
    assert_int_equal(itg_calibrate_model(w->n.model, w->n.data, &w->n.preprocess, 1, &stats, NULL),
                     ITG_OK);
    assert_int_equal(itg_strategy_uniform(w->n.model, w->n.hw, stats, &uniform, &w->s, NULL),
                     ITG_OK);
    itg_recovery r = {w->n.model, w->n.hw, &w->n.preprocess, NULL};
    assert_int_equal(itg_recover(&r, &options, w->s, NULL), ITG_OK);
    itg_recovery_deinit(&r);
    assert_int_equal(itg_annotate(w->n.model, w->n.hw, w->s, &a, NULL), ITG_OK);
    for (itg_id n = 0; n < w->n.model->node_count; n++)
        w->layer_count += itg_layer_of(a, n, &w->layers[w->layer_count]);
    assert_int_equal(w->layer_count, 3);
    itg_annotated_destroy(a);
    itg_stats_destroy(stats);
}

static void close_network(network *w)
{
    itg_strategy_destroy(w->s);
    itg_feed_deinit(&w->feed);
    small_network_end(&w->n);
}

typedef enum part { RANGES, SCALES } part;

static itg_status tune(network *w, part which, int threads, itg_strategy *s)
{
    itg_cache *cache = NULL;
    itg_constants constants = {0};
    itg_tune_odds odds;
    const itg_recover_options options = options_of(w, threads);
    itg_tuning t = {.g = w->n.model,
                    .hw = w->n.hw,
                    .layers = w->layers,
                    .layer_count = w->layer_count,
                    .samples = {&w->feed, NETWORK_SAMPLES},
                    .options = &options,
                    .constants = &constants};
    itg_status status = itg_cache_create(1 << 20, &cache, NULL);
    t.weights = cache;
    if (itg_tune_odds_init(w->n.model, &t.samples, &options, &odds)) t.odds = &odds;
    if (status == ITG_OK) status = itg_constants_create(w->n.model, cache, &constants, NULL);
    if (status == ITG_OK && which == SCALES) status = itg_tune(&t, s, NULL);
    if (status == ITG_OK && which == RANGES) status = itg_choose_ranges(&t, s, &w->chosen, NULL);
    itg_tune_odds_deinit(&odds);
    itg_constants_deinit(&constants);
    itg_cache_destroy(cache);
    return status;
}

static double divergence(const network *w, const itg_strategy *s)
{
    const itg_recover_options options = options_of(w, 1);
    const itg_calibration_samples samples = {&w->feed, NETWORK_SAMPLES};
    itg_tune_odds odds;
    itg_annotated *a = NULL;
    double out = 0;
    assert_int_equal(itg_annotate(w->n.model, w->n.hw, s, &a, NULL), ITG_OK);
    assert_true(itg_tune_odds_init(w->n.model, &samples, &options, &odds));
    assert_int_equal(itg_tune_measure(&odds, 0, NETWORK_SAMPLES, a, NULL, &out, NULL), ITG_OK);
    itg_annotated_destroy(a);
    itg_tune_odds_deinit(&odds);
    return out;
}

/* Asserts that nothing but scales and biases of layers differs, and sets whether they do. */
static void assert_only_these_moved(const network *w, const itg_strategy *a, const itg_strategy *b,
                                    bool *scales, bool *biases)
{
    *scales = *biases = false;
    for (int32_t e = 0; e < a->edge_count; e++) {
        const itg_edge_choice *x = &a->edges[e], *y = &b->edges[e];
        bool is_layer = false;
        for (int32_t i = 0; i < w->layer_count; i++)
            is_layer = is_layer || w->layers[i].weight_edge == e;
        assert_int_equal(x->bits, y->bits);
        assert_true(x->lo == y->lo && x->hi == y->hi && x->code_count == y->code_count);
        assert_int_equal(!x->codes, !y->codes);
        if (x->codes)
            assert_memory_equal(x->codes, y->codes,
                                (size_t)itg_packed_bytes(x->code_count, x->bits));
        for (int32_t i = 0; i < x->channel_count; i++)
            *scales = *scales || x->channel[i] != y->channel[i];
        for (int32_t i = 0; i < x->bias_count; i++)
            *biases = *biases || x->bias[i] != y->bias[i];
        assert_true(is_layer || (x->channel_count == 0 && x->bias_count == 0));
    }
}

static void outputs_come_nearer(void **state)
{
    static const char *const targets[] = {"x86-vnni", "vta"};
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        network w;
        itg_strategy *one = NULL, *three = NULL;
        bool scales, biases;
        open_network(&w, targets[i]);
        assert_int_equal(itg_strategy_clone(w.s, &one, NULL), ITG_OK);
        assert_int_equal(itg_strategy_clone(w.s, &three, NULL), ITG_OK);
        assert_int_equal(tune(&w, SCALES, 1, one), ITG_OK);
        assert_int_equal(tune(&w, SCALES, 3, three), ITG_OK);
        assert_true(divergence(&w, one) < 0.95 * divergence(&w, w.s));
        assert_only_these_moved(&w, w.s, one, &scales, &biases);
        assert_true(biases && scales == !w.n.hw->power_of_two_scales);
        assert_only_these_moved(&w, one, three, &scales, &biases);
        assert_true(!scales && !biases);
        itg_strategy_destroy(one);
        itg_strategy_destroy(three);
        close_network(&w);
    }
}

typedef struct counted {
    int32_t layers, most; /* begun so far; where it is enough */
} counted;

static void count_layer(void *context, int32_t layer, int32_t layers)
{
    counted *c = context;
    assert_int_equal(layer, c->layers % layers);
    c->layers++;
}

static bool has_most(void *context)
{
    const counted *c = context;
    return c->layers > c->most;
}

/* Returns how many layers were begun. */
static int32_t recover_again(const network *w, int64_t samples, int32_t most, int threads,
                             itg_strategy **out)
{
    counted c = {0, most};
    itg_recover_options options = options_of(w, threads);
    itg_recovery r = {w->n.model, w->n.hw, &w->n.preprocess, NULL};
    options.most_samples = samples;
    options.progress = count_layer;
    options.enough = has_most;
    options.context = &c;
    assert_int_equal(itg_strategy_clone(w->s, out, NULL), ITG_OK);
    assert_int_equal(itg_recover(&r, &options, *out, NULL), ITG_OK);
    itg_recovery_deinit(&r);
    return c.layers;
}

/* Three layers of 296 weights, with as many samples and with fewer. */
static void a_tiny_network_takes_the_best_of_several_ridges(void **state)
{
    static const char *const targets[] = {"x86-vnni", "cortex-m", "armv8-dot"};
    int nearer = 0;
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        network w;
        itg_strategy *best = NULL, *three = NULL, *first = NULL, *few = NULL;
        bool scales, biases;
        open_network(&w, targets[i]);
        assert_int_equal(recover_again(&w, 295, 99, 1, &few), 3);
        assert_int_equal(recover_again(&w, NETWORK_SAMPLES, 99, 1, &best), 18);
        assert_int_equal(recover_again(&w, NETWORK_SAMPLES, 99, 3, &three), 18);
        assert_only_these_moved(&w, best, three, &scales, &biases);
        assert_true(!scales && !biases);
        assert_int_equal(recover_again(&w, NETWORK_SAMPLES, 3, 1, &first), 4); /* then enough */
        assert_true(divergence(&w, best) <= divergence(&w, first));
        nearer += divergence(&w, best) < divergence(&w, first);
        itg_strategy_destroy(best);
        itg_strategy_destroy(three);
        itg_strategy_destroy(first);
        itg_strategy_destroy(few);
        close_network(&w);
    }
    assert_true(nearer > 0);
}

/* Makes all ranges wider than their values need. */
static void widen_ranges(itg_strategy *s)
{
    for (int32_t e = 0; e < s->edge_count; e++) {
        s->edges[e].lo *= 8;
        s->edges[e].hi *= 8;
    }
}

/* Returns how many edges' ranges differ. Nothing else may. */
static int32_t count_other_ranges(const itg_strategy *a, const itg_strategy *b)
{
    int32_t count = 0;
    for (int32_t e = 0; e < a->edge_count; e++) {
        const itg_edge_choice *x = &a->edges[e], *y = &b->edges[e];
        assert_true(x->bits == y->bits && x->method == y->method);
        assert_true(x->code_count == y->code_count && x->bias_count == y->bias_count);
        for (int32_t i = 0; i < x->channel_count; i++)
            assert_true(x->channel[i] == y->channel[i]);
        count += x->lo != y->lo || x->hi != y->hi;
    }
    return count;
}

static void a_range_too_wide_shrinks(void **state)
{
    static const char *const targets[] = {"x86-vnni", "vta"};
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        network w;
        itg_strategy *one = NULL, *three = NULL;
        open_network(&w, targets[i]);
        widen_ranges(w.s);
        assert_int_equal(itg_strategy_clone(w.s, &one, NULL), ITG_OK);
        assert_int_equal(itg_strategy_clone(w.s, &three, NULL), ITG_OK);
        assert_int_equal(tune(&w, RANGES, 1, one), ITG_OK);
        assert_true(w.chosen.changed && count_other_ranges(w.s, one) > 0);
        assert_true(divergence(&w, one) < divergence(&w, w.s));
        assert_int_equal(tune(&w, RANGES, 3, three), ITG_OK);
        assert_true(w.chosen.changed && count_other_ranges(one, three) == 0);
        itg_strategy_destroy(one);
        itg_strategy_destroy(three);
        close_network(&w);
    }
}

static void ranges_stay(void **state)
{
    network w;
    itg_strategy *s = NULL;
    (void)state;
    open_network(&w, "x86-vnni");
    assert_int_equal(itg_strategy_clone(w.s, &s, NULL), ITG_OK);
    assert_int_equal(tune(&w, RANGES, 1, s), ITG_OK); /* next to nothing is lost */
    assert_true(!w.chosen.changed && count_other_ranges(w.s, s) == 0);
    widen_ranges(s);
    itg_strategy_destroy(w.s);
    assert_int_equal(itg_strategy_clone(s, &w.s, NULL), ITG_OK);
    const itg_stated stated = {.bits = 8}; /* the model's own ranges */
    for (itg_id v = 0; v < w.n.model->value_count; v++)
        if (!w.n.model->values[v].data) w.n.model->values[v].stated = &stated;
    assert_int_equal(tune(&w, RANGES, 1, s), ITG_OK);
    assert_true(!w.chosen.changed && count_other_ranges(w.s, s) == 0);
    itg_strategy_destroy(s);
    close_network(&w);
}

static void miss_memory(network *w, part which)
{
    int nth = 0;
    for (itg_status status = ITG_NO_MEMORY; status != ITG_OK; nth += 1 + nth / 40) {
        itg_strategy *s = NULL;
        assert_int_equal(itg_strategy_clone(w->s, &s, NULL), ITG_OK);
        calls_left = nth;
        status = tune(w, which, 1, s);
        calls_left = -1;
        assert_true(status == ITG_OK || status == ITG_NO_MEMORY);
        if (which == RANGES && status != ITG_OK) assert_int_equal(count_other_ranges(w->s, s), 0);
        itg_strategy_destroy(s);
    }
    assert_true(nth > 100);
}

static void memory_is_missed(void **state)
{
    network w;
    (void)state;
    open_network(&w, "x86-vnni");
    miss_memory(&w, SCALES);
    widen_ranges(w.s);
    miss_memory(&w, RANGES);
    assert_true(w.chosen.changed);
    close_network(&w);
}

/* ---- derivatives ---- */

/* The sum of all outputs, each times its number from 1 on. */
static double weighted_outputs(const network *w, const itg_twin *twin, itg_gradient_run *run)
{
    double sum = 0;
    assert_int_equal(itg_gradient_run_forward(run, &w->feed, 7, NULL), ITG_OK);
    const float *y = itg_gradient_value(run, twin->graph.outputs[0]);
    for (int i = 0; i < 5; i++)
        sum += (i + 1) * (double)y[i];
    return sum;
}

static void scale_channel(const itg_twin_layer *l, int64_t channel, float factor)
{
    for (int64_t k = 0; k < l->layer->depth; k++)
        l->weights[itg_layer_weight(l->layer, channel, k)] *= factor;
}

static void assert_near(double found, double expected)
{
    assert_true(fabs(found - expected) < 0.02 * fabs(expected) + 0.02);
}

static void derivatives_are_differences(void **state)
{
    network w;
    itg_twin twin;
    itg_annotated *a = NULL;
    itg_gradient_plan *plan = NULL;
    itg_gradient_run *run = NULL;
    float ascending[5] = {1, 2, 3, 4, 5}, h = 0x1p-10f;
    (void)state;
    open_network(&w, "x86-vnni");
    assert_int_equal(itg_annotate(w.n.model, w.n.hw, w.s, &a, NULL), ITG_OK);
    assert_int_equal(itg_twin_create(a, w.s, w.layers, w.layer_count, true, &twin, NULL), ITG_OK);
    assert_int_equal(twin.layer_count, 3);
    assert_int_equal(itg_gradient_plan_create(&twin.graph, false, &plan, NULL), ITG_OK);
    assert_int_equal(itg_gradient_run_create(plan, &run, NULL), ITG_OK);
    float *row = calloc((size_t)twin.parameters, sizeof *row);
    const double base = weighted_outputs(&w, &twin, run);
    assert_int_equal(itg_gradient_run_backward(run, ascending, NULL), ITG_OK);
    itg_twin_row(&twin, run, row);
    int64_t checked = 0;
    for (int32_t i = 0; i < twin.layer_count; i++) {
        const itg_twin_layer *l = &twin.layers[i];
        for (int64_t c = 0; c < itg_layer_channels(l->layer); c++, checked++) {
            const float bias = l->bias[c];
            l->bias[c] += h;
            assert_near((weighted_outputs(&w, &twin, run) - base) / (double)h,
                        (double)row[l->first_bias + c]);
            l->bias[c] = bias;
            scale_channel(l, c, 1 + h);
            assert_near((weighted_outputs(&w, &twin, run) - base) / (double)h,
                        (double)row[l->first_scale + c]);
            scale_channel(l, c, 1 / (1 + h));
        }
    }
    assert_true(2 * checked == twin.parameters && checked > 10);
    free(row);
    itg_gradient_run_destroy(run);
    itg_gradient_plan_destroy(plan);
    itg_twin_deinit(&twin);
    itg_annotated_destroy(a);
    close_network(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_rebuild_the_matrix),
        cmocka_unit_test(the_system_is_solved),
        cmocka_unit_test(a_change_is_predicted),
        cmocka_unit_test(outputs_come_nearer),
        cmocka_unit_test(a_tiny_network_takes_the_best_of_several_ridges),
        cmocka_unit_test(derivatives_are_differences),
        cmocka_unit_test(memory_is_missed),
        cmocka_unit_test(a_range_too_wide_shrinks),
        cmocka_unit_test(ranges_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
