/* What errors of channels matter, and codes that are chosen by it. */
#include "recover/metric.h"
#include "recover/fit.h"
#include "../search/network.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/faults.h"

/* ---- what is chance ---- */

/* Returns what becomes of the sum of one product of two channels, which samples have. */
static double shrunk(const double *of_samples, int64_t samples)
{
    double m[] = {50, 0, -1, 70}, squares = 0;
    for (int64_t i = 0; i < samples; i++) {
        m[1] += of_samples[i];
        squares += of_samples[i] * of_samples[i];
    }
    itg_metric_shrink(m, 2, squares, samples);
    assert_true(m[0] == 50 && m[3] == 70 && m[2] == m[1]);
    return m[1];
}

static void chance_is_taken_out(void **state)
{
    (void)state;
    assert_true(shrunk((const double[]){2, 2, 2, 2}, 4) == 8);
    assert_true(shrunk((const double[]){1, -1, 1, 1}, 4) == 0);
    assert_true(shrunk((const double[]){5}, 1) == 0);
    /* squares 20, sum 8: variance (20 - 64 / 4) * 4 / 3 */
    assert_true(fabs(shrunk((const double[]){3, 1, 3, 1}, 4) - 8 * (1 - 16. / 3 / 64)) < 1e-12);
}

/* ---- of a network ---- */

typedef struct network_metrics {
    small_network n;
    itg_feed feed;
    itg_layer layers[8];
    int32_t layer_count;
} network_metrics;

static void open_network(network_metrics *m)
{
    itg_stats *stats = NULL;
    itg_strategy *s = NULL;
    itg_annotated *a = NULL;
    const itg_uniform_options uniform = {ITG_UNIFORM_OPTIONS_VERSION, 4, 8, ITG_THRESHOLD_MAX,
                                         ITG_THRESHOLD_MAX,           0, 0};
    *m = (network_metrics){0};
    small_network_make(3, "x86-vnni", 60, &m->n);
    const itg_input_list inputs = itg_graph_inputs(m->n.model);
    assert_int_equal(itg_feed_init(&inputs, m->n.data, &m->n.preprocess, &m->feed, NULL), ITG_OK);
    assert_int_equal(itg_calibrate_model(m->n.model, m->n.data, &m->n.preprocess, 1, &stats, NULL),
                     ITG_OK);
    assert_int_equal(itg_strategy_uniform(m->n.model, m->n.hw, stats, &uniform, &s, NULL), ITG_OK);
    assert_int_equal(itg_annotate(m->n.model, m->n.hw, s, &a, NULL), ITG_OK);
    for (itg_id n = 0; n < m->n.model->node_count; n++)
        m->layer_count += itg_layer_of(a, n, &m->layers[m->layer_count]);
    assert_int_equal(m->layer_count, 3);
    itg_annotated_destroy(a);
    itg_strategy_destroy(s);
    itg_stats_destroy(stats);
}

static void close_network(network_metrics *m)
{
    itg_feed_deinit(&m->feed);
    small_network_end(&m->n);
}

static itg_status create(const network_metrics *m, int threads, itg_metrics *out)
{
    const itg_calibration_samples samples = {&m->feed, 60};
    const itg_recover_options options = {ITG_RECOVER_OPTIONS_VERSION, .threads = threads};
    return itg_metrics_create(m->n.model, m->layers, m->layer_count, &samples, &options, out, NULL);
}

static void a_network_has_one_metric(void **state)
{
    network_metrics m;
    itg_metrics one, three;
    (void)state;
    open_network(&m);
    assert_int_equal(create(&m, 1, &one), ITG_OK);
    assert_int_equal(create(&m, 3, &three), ITG_OK);
    int found = 0;
    for (int32_t i = 0; i < m.layer_count; i++) {
        const int64_t rows = m.layers[i].rows;
        assert_true(!one.of[i] == !three.of[i]);
        if (!one.of[i]) continue;
        found++;
        assert_memory_equal(one.of[i], three.of[i],
                            (size_t)(m.layers[i].groups * rows * rows) * sizeof **one.of);
        for (int64_t j = 0; j < rows; j++)
            for (int64_t k = 0; k < rows; k++) {
                const double x = one.of[i][j * rows + k];
                assert_true(x == one.of[i][k * rows + j]);
                assert_true(x * x <= 1.000001 * one.of[i][j * rows + j] * one.of[i][k * rows + k]);
            }
    }
    assert_true(found > 0);
    itg_metrics_deinit(&one);
    itg_metrics_deinit(&three);
    close_network(&m);
}

static void memory_is_missed(void **state)
{
    network_metrics m;
    int nth = 0;
    (void)state;
    open_network(&m);
    for (itg_status status = ITG_NO_MEMORY; status != ITG_OK; nth++) {
        itg_metrics metrics;
        calls_left = nth;
        status = create(&m, 1, &metrics);
        calls_left = -1;
        assert_true(status == ITG_OK || (status == ITG_NO_MEMORY && !metrics.of));
        itg_metrics_deinit(&metrics);
    }
    assert_true(nth > 40);
    close_network(&m);
}

/* ---- codes ---- */

enum { ROWS = 5, DEPTH = 6 };

typedef struct coupled {
    itg_layer layer;
    double h[DEPTH * DEPTH], v[ROWS * DEPTH], c[ROWS * DEPTH], metric[ROWS * ROWS];
    int32_t order[DEPTH], q[ROWS * DEPTH];
    float scale[ROWS];
    itg_stop never;
    itg_fit fit;
    itg_fit_codes codes;
} coupled;

static void make_products(itg_rng *rng, int64_t n, double *out)
{
    double a[ROWS + DEPTH];
    for (int64_t i = 0; i < n * n; i++)
        out[i] = i % (n + 1) == 0 ? 0.2 : 0;
    for (int k = 0; k < 3; k++) {
        for (int64_t i = 0; i < n; i++)
            a[i] = itg_rng_unit(rng) * 2 - 0.7;
        for (int64_t i = 0; i < n * n; i++)
            out[i] += a[i / n] * a[i % n];
    }
}

static void make_coupled(coupled *p, uint64_t seed)
{
    itg_rng rng;
    itg_rng_init(&rng, seed);
    *p = (coupled){.layer = {.groups = 1, .rows = ROWS, .depth = DEPTH}};
    make_products(&rng, DEPTH, p->h);
    make_products(&rng, ROWS, p->metric);
    for (int i = 0; i < DEPTH; i++)
        p->order[i] = i;
    for (int i = 0; i < ROWS * DEPTH; i++)
        p->v[i] = itg_rng_unit(&rng) * 2 - 1;
    for (int i = 0; i < ROWS * DEPTH; i++)
        for (int k = 0; k < DEPTH; k++)
            p->c[i] += p->v[i / DEPTH * DEPTH + k] * p->h[k * DEPTH + i % DEPTH];
    for (int i = 0; i < ROWS; i++)
        p->scale[i] = 0.3F;
    p->fit = (itg_fit){.layer = &p->layer,
                       .h = p->h,
                       .v = p->v,
                       .c = p->c,
                       .order = p->order,
                       .options = {true, 1, {1, &p->never}}};
    p->codes = (itg_fit_codes){.q = p->q, .scale = p->scale, .scale_count = ROWS};
    const itg_fit_grid grid = {.lo = -4, .hi = 3, .step = 1};
    assert_int_equal(itg_fit_search(&p->fit, &grid, &p->codes, NULL), ITG_OK);
}

/* The sum of M_ij E_i H E_j', by definition. */
static double error_of(const coupled *p)
{
    double e[ROWS * DEPTH], sum = 0;
    for (int i = 0; i < ROWS * DEPTH; i++)
        e[i] = p->v[i] - (double)p->scale[i / DEPTH] * p->q[i];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++)
            for (int k = 0; k < DEPTH * DEPTH; k++)
                sum += p->metric[i * ROWS + j] * e[i * DEPTH + k / DEPTH] * p->h[k] *
                       e[j * DEPTH + k % DEPTH];
    return sum;
}

static void channels_make_up_for_each_other(void **state)
{
    const itg_fit_grid grid = {.lo = -4, .hi = 3, .step = 1};
    double before = 0, after = 0;
    coupled p, start;
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        make_coupled(&p, seed);
        before += error_of(&p);
        assert_int_equal(itg_fit_couple(&p.fit, p.metric, &grid, &p.codes, NULL), ITG_OK);
        after += error_of(&p);
        for (int i = 0; i < ROWS * DEPTH; i++)
            assert_true(p.q[i] >= -4 && p.q[i] <= 3);
    }
    printf("error %.3f, then %.3f\n", before, after);
    assert_true(after < 0.8 * before);
    /* Nothing is known, or nothing of one channel about another: the codes stay. */
    for (int known = 0; known < 2; known++) {
        make_coupled(&p, 7);
        for (int i = 0; i < ROWS * ROWS; i++)
            p.metric[i] = known && i % (ROWS + 1) == 0 ? 1 : 0;
        start = p;
        assert_int_equal(itg_fit_couple(&p.fit, p.metric, &grid, &p.codes, NULL), ITG_OK);
        assert_memory_equal(p.q, start.q, sizeof p.q);
    }
    /* One scale for all: they stay, too. */
    make_coupled(&p, 8);
    start = p;
    p.codes.scale_count = 1;
    assert_int_equal(itg_fit_couple(&p.fit, p.metric, &grid, &p.codes, NULL), ITG_OK);
    assert_memory_equal(p.q, start.q, sizeof p.q);
}

/* The channel's error (V - s q) H (V - s q)'. */
static double channel_error(const coupled *p, int channel)
{
    double sum = 0;
    for (int k = 0; k < DEPTH * DEPTH; k++) {
        const int i = channel * DEPTH + k / DEPTH, j = channel * DEPTH + k % DEPTH;
        sum += (p->v[i] - (double)p->scale[channel] * p->q[i]) * p->h[k] *
               (p->v[j] - (double)p->scale[channel] * p->q[j]);
    }
    return sum;
}

/* Codes reach over the weights or as far as without zero points, so each channel is as near, and
 * one-sided ones nearer. */
static void channels_have_zero_points(void **state)
{
    const itg_fit_grid grid = {.lo = 0, .hi = 7, .step = 1};
    double before = 0, after = 0;
    int moved = 0;
    coupled p;
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint8_t zero[ROWS];
        double error[ROWS];
        make_coupled(&p, seed); /* with codes from -4 to 3 */
        for (int i = 0; i < ROWS; i++) {
            error[i] = channel_error(&p, i);
            zero[i] = 4;
        }
        p.codes.zero = zero;
        assert_int_equal(itg_fit_search(&p.fit, &grid, &p.codes, NULL), ITG_OK);
        for (int i = 0; i < ROWS; i++) {
            assert_true(channel_error(&p, i) <= error[i] * (1 + 1e-9));
            before += error[i];
            after += channel_error(&p, i);
            moved += zero[i] != 4;
        }
        assert_int_equal(itg_fit_couple(&p.fit, p.metric, &grid, &p.codes, NULL), ITG_OK);
        for (int i = 0; i < ROWS * DEPTH; i++)
            assert_true(p.q[i] >= -zero[i / DEPTH] && p.q[i] <= 7 - zero[i / DEPTH]);
    }
    printf("error %.3f, with zero points %.3f, %d moved\n", before, after, moved);
    assert_true(moved > ROWS * 5 && after < 0.9 * before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chance_is_taken_out), cmocka_unit_test(a_network_has_one_metric),
        cmocka_unit_test(memory_is_missed), cmocka_unit_test(channels_make_up_for_each_other),
        cmocka_unit_test(channels_have_zero_points)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
