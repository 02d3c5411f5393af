/* Float execution and statistics, against formulas over all elements at once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sim/histogram.h"

enum { SAMPLES = 150, ELEMENTS = 6 };

static char path[] = "data.npy";

/* x [1,6] -> Mul by 3 -> a -> Relu -> b */
static itg_graph *make_graph(void)
{
    itg_graph *g = NULL;
    itg_id x, c, a, b, n;
    const float three = 3.0f;
    const itg_shape row = {2, {1, ELEMENTS}}, one = {1, {1}};
    const itg_attrs mul = itg_attrs_default(ITG_OP_MUL), relu = itg_attrs_default(ITG_OP_RELU);
    assert_int_equal(itg_graph_create("toy.onnx", &g, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "x", ITG_F32, &row, NULL, &x, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "c", ITG_F32, &one, &three, &c, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "a", ITG_F32, &row, NULL, &a, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "b", ITG_F32, &row, NULL, &b, NULL), ITG_OK);
    const itg_id inputs[2] = {x, c};
    assert_int_equal(itg_graph_add_node(g, "times", ITG_OP_MUL, inputs, 2, &a, 1, &mul, &n, NULL),
                     ITG_OK);
    assert_int_equal(itg_graph_add_node(g, "relu", ITG_OP_RELU, &a, 1, &b, 1, &relu, &n, NULL),
                     ITG_OK);
    assert_int_equal(itg_graph_set_inputs(g, &x, 1, NULL), ITG_OK);
    assert_int_equal(itg_graph_set_outputs(g, &b, 1, NULL), ITG_OK);
    return g;
}

static void fill(float *data, uint64_t seed)
{
    itg_rng rng;
    itg_rng_init(&rng, seed);
    for (int i = 0; i < SAMPLES * ELEMENTS; i++) {
        const double u = itg_rng_unit(&rng) * 2 - 1, v = itg_rng_unit(&rng);
        data[i] = (float)(v < 0.1 ? 0.0 : v < 0.2 ? 1000 * u * u * u : u);
    }
}

static itg_dataset dataset(float *data)
{
    return (itg_dataset){
        .dtype = ITG_F32, .shape = {2, {SAMPLES, ELEMENTS}}, .data = data, .path = path};
}

static itg_stats *calibrate(const itg_graph *g, const itg_dataset *data, int threads)
{
    const itg_preprocess p = itg_preprocess_default();
    itg_stats *stats = NULL;
    itg_error err = {.message = ""};
    if (itg_calibrate_model(g, data, &p, threads, &stats, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return stats;
}

/* From all elements [samples][per_sample] by the definitions in sim.h. */
static void check_stats(const itg_value_stats *s, const float *x)
{
    const int n = SAMPLES * ELEMENTS;
    static int64_t positive[ITG_HISTOGRAM_BINS], negative[ITG_HISTOGRAM_BINS];
    double sum = 0, squares = 0, min = DBL_MAX, max = -DBL_MAX, mins = 0, maxs = 0;
    int64_t zeros = 0;
    int e = -400;
    for (int i = 0; i < n; i++) {
        sum += (double)x[i];
        if ((double)x[i] < min) min = (double)x[i];
        if ((double)x[i] > max) max = (double)x[i];
    }
    for (int i = 0; i < n; i++)
        squares += ((double)x[i] - sum / n) * ((double)x[i] - sum / n);
    for (int i = 0; i < SAMPLES; i++) {
        double low = DBL_MAX, high = -DBL_MAX;
        for (int j = 0; j < ELEMENTS; j++) {
            low = fmin(low, (double)x[i * ELEMENTS + j]);
            high = fmax(high, (double)x[i * ELEMENTS + j]);
        }
        mins += low;
        maxs += high;
    }
    while (!(fmax(-min, max) < ldexp(ITG_HISTOGRAM_BINS, e)))
        e++;
    memset(positive, 0, sizeof positive);
    memset(negative, 0, sizeof negative);
    for (int i = 0; i < n; i++) {
        const int bin = (int)floor(fabs((double)x[i]) / ldexp(1, e));
        if (x[i] > 0) positive[bin]++;
        if (x[i] < 0) negative[bin]++;
        zeros += x[i] == 0;
    }
    assert_true(s->present);
    assert_int_equal(s->count, n);
    assert_int_equal(s->nan_count, 0);
    assert_true((double)s->min == min && (double)s->max == max);
    assert_true(fabs(s->mean - sum / n) <= 1e-9 * fabs(sum / n) + 1e-12);
    assert_true(fabs(s->variance - squares / n) <= 1e-9 * squares / n);
    assert_true(fabs(s->average_min - mins / SAMPLES) <= 1e-12 * fabs(mins));
    assert_true(fabs(s->average_max - maxs / SAMPLES) <= 1e-12 * fabs(maxs));
    assert_int_equal(s->exponent, e);
    assert_int_equal(s->zeros, zeros);
    assert_memory_equal(s->positive, positive, sizeof positive);
    assert_memory_equal(s->negative, negative, sizeof negative);
}

static void statistics_equal_their_definitions(void **state)
{
    (void)state;
    float x[SAMPLES * ELEMENTS], a[SAMPLES * ELEMENTS], b[SAMPLES * ELEMENTS];
    itg_graph *g = make_graph();
    fill(x, 1);
    for (int i = 0; i < SAMPLES * ELEMENTS; i++) {
        a[i] = x[i] * 3.0f;
        b[i] = a[i] > 0 ? a[i] : 0;
    }
    const itg_dataset data = dataset(x);
    itg_stats *stats = calibrate(g, &data, 2);
    assert_int_equal(stats->value_count, g->value_count);
    assert_int_equal(stats->samples, SAMPLES);
    check_stats(&stats->values[itg_graph_find_value(g, "x")], x);
    check_stats(&stats->values[itg_graph_find_value(g, "a")], a);
    check_stats(&stats->values[itg_graph_find_value(g, "b")], b);
    assert_false(stats->values[itg_graph_find_value(g, "c")].present);
    itg_stats_destroy(stats);
    itg_graph_destroy(g);
}

static void no_bit_depends_on_the_thread_count(void **state)
{
    (void)state;
    float x[SAMPLES * ELEMENTS];
    itg_graph *g = make_graph();
    fill(x, 2);
    const itg_dataset data = dataset(x);
    itg_stats *one = calibrate(g, &data, 1);
    for (int threads = 2; threads <= 5; threads++) {
        itg_stats *more = calibrate(g, &data, threads);
        assert_memory_equal(one->hash, more->hash, 32);
        assert_memory_equal(one->values, more->values,
                            (size_t)g->value_count * sizeof *one->values);
        itg_stats_destroy(more);
    }
    itg_stats_destroy(one);
    itg_graph_destroy(g);
}

static void the_hash_covers_every_statistic(void **state)
{
    (void)state;
    float x[SAMPLES * ELEMENTS];
    itg_graph *g = make_graph();
    fill(x, 3);
    const itg_dataset data = dataset(x);
    itg_stats *before = calibrate(g, &data, 1);
    x[700] = x[700] + 0.5f;
    itg_stats *after = calibrate(g, &data, 1);
    assert_memory_not_equal(before->hash, after->hash, 32);
    itg_stats_destroy(before);
    itg_stats_destroy(after);
    itg_graph_destroy(g);
}

static void histograms_do_not_depend_on_the_order_of_samples(void **state)
{
    (void)state;
    float x[SAMPLES * ELEMENTS], y[SAMPLES * ELEMENTS];
    itg_graph *g = make_graph();
    fill(x, 4);
    for (int i = 0; i < SAMPLES; i++)
        memcpy(y + i * ELEMENTS, x + (SAMPLES - 1 - i) * ELEMENTS, ELEMENTS * sizeof *x);
    const itg_dataset forth = dataset(x), back = dataset(y);
    itg_stats *s = calibrate(g, &forth, 2), *t = calibrate(g, &back, 1);
    for (int v = 0; v < g->value_count; v++) {
        const itg_value_stats *p = &s->values[v], *q = &t->values[v];
        assert_int_equal(p->exponent, q->exponent);
        assert_int_equal(p->zeros, q->zeros);
        assert_memory_equal(p->positive, q->positive, sizeof p->positive);
        assert_memory_equal(p->negative, q->negative, sizeof p->negative);
    }
    itg_stats_destroy(s);
    itg_stats_destroy(t);
    itg_graph_destroy(g);
}

static void nan_and_infinity_are_counted_and_nothing_else(void **state)
{
    (void)state;
    float x[SAMPLES * ELEMENTS];
    itg_graph *g = make_graph();
    for (int i = 0; i < SAMPLES * ELEMENTS; i++)
        x[i] = 1.0f;
    x[7] = NAN;
    x[100] = INFINITY;
    x[101] = -INFINITY;
    for (int j = 0; j < ELEMENTS; j++)
        x[ELEMENTS * 30 + j] = NAN; /* a sample with no number at all has no minimum to average */
    const itg_dataset data = dataset(x);
    itg_preprocess p = itg_preprocess_default();
    itg_error err = {.message = ""};
    itg_stats *stats = NULL;
    char expected[80];
    snprintf(expected, sizeof expected, ": sample %d, element [%d] is NaN", 7 / ELEMENTS,
             7 % ELEMENTS);
    for (int threads = 1; threads <= 2; threads++) {
        assert_int_equal(itg_calibrate_model(g, &data, &p, threads, &stats, &err), ITG_BAD_FILE);
        if (!strstr(err.message, expected)) fail_msg("'%s' lacks '%s'", err.message, expected);
    }
    p.allow_nonfinite = true;
    assert_int_equal(itg_calibrate_model(g, &data, &p, 2, &stats, &err), ITG_OK);
    const itg_value_stats *s = &stats->values[itg_graph_find_value(g, "x")];
    assert_int_equal(s->nan_count, 3 + ELEMENTS);
    assert_int_equal(s->count, SAMPLES * ELEMENTS - 3 - ELEMENTS);
    assert_true(s->min == 1.0f && s->max == 1.0f && s->mean == 1.0 && s->variance == 0.0);
    assert_true(s->average_min == 1.0 && s->average_max == 1.0);
    assert_int_equal(s->positive[1024], s->count); /* 1 < 2048 * 2^-10, not 2^-11 */
    assert_int_equal(s->exponent, -10);
    itg_stats_destroy(stats);
    itg_graph_destroy(g);
}

static void extreme_magnitudes_stay_within_the_bins(void **state)
{
    (void)state;
    static itg_value_stats s;
    const float x[] = {0x1p-149f, -0x1p-149f, 0.0f, -0.0f, FLT_MAX, -FLT_MAX};
    itg_sums sums;
    itg_histogram_init(&s);
    itg_sums_of(x, 2, ITG_F32_ALL, &sums);
    itg_histogram_add(&s, x, 2, ITG_F32_ALL, &sums);
    assert_int_equal(s.exponent, -159);
    assert_true(s.positive[1024] == 1 && s.negative[1024] == 1);
    itg_sums_of(x + 2, 4, ITG_F32_ALL, &sums);
    itg_histogram_add(&s, x + 2, 4, ITG_F32_ALL, &sums);
    assert_int_equal(s.exponent, 117);
    assert_true(s.positive[0] == 1 && s.negative[0] == 1 && s.zeros == 2);
    assert_true(s.positive[2047] == 1 && s.negative[2047] == 1);
}

static void merging_equals_adding(void **state)
{
    (void)state;
    static itg_value_stats parts[3], whole;
    float x[SAMPLES * ELEMENTS];
    itg_sums sums;
    fill(x, 5);
    for (int i = 0; i < SAMPLES * ELEMENTS / 3; i++)
        x[i] *= 0x1p-9f; /* the first part is far smaller */
    itg_histogram_init(&whole);
    itg_sums_of(x, SAMPLES * ELEMENTS, ITG_F32_ALL, &sums);
    itg_histogram_add(&whole, x, SAMPLES * ELEMENTS, ITG_F32_ALL, &sums);
    for (int i = 0; i < 3; i++) {
        const float *part = x + i * (SAMPLES * ELEMENTS / 3);
        itg_histogram_init(&parts[i]);
        itg_sums_of(part, SAMPLES * ELEMENTS / 3, ITG_F32_ALL, &sums);
        itg_histogram_add(&parts[i], part, SAMPLES * ELEMENTS / 3, ITG_F32_ALL, &sums);
    }
    assert_true(parts[0].exponent < whole.exponent);
    itg_histogram_merge(&parts[0], &parts[1]);
    itg_histogram_merge(&parts[2], &parts[0]);
    assert_memory_equal(&parts[2], &whole, sizeof whole);
}

/* Large and small tensors, growing ranges, zeros of both signs, what is not finite: as the two
 * definitions one after the other, in every bit. */
static void measuring_equals_sums_and_counts(void **state)
{
    enum { MANY = 20000 };
    static float x[MANY];
    static itg_value_stats one, two;
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 21);
    itg_histogram_init(&one);
    itg_histogram_init(&two);
    for (int round = 0; round < 12; round++) {
        const int64_t n = round % 4 == 3 ? 100 : MANY - 7 * round;
        itg_sums a, b;
        for (int64_t i = 0; i < n; i++) {
            const double u = itg_rng_unit(&rng);
            x[i] = (float)(u < 0.3   ? 0.0
                           : u < 0.4 ? -0.0
                                     : (itg_rng_unit(&rng) - 0.4) * (round == 0 ? 0 : round));
        }
        if (round == 5) x[17] = NAN;
        if (round == 6) x[n - 1] = -INFINITY;
        if (round == 8) x[3] = 0x1p-149f;
        if (round == 9) x[n / 2] = -0x1.fffffep127f;
        const itg_f32_part part = {1 + round % 3 * 9, round % 3 * 4};
        itg_sums_of(x, n, part, &a);
        itg_histogram_add(&one, x, n, part, &a);
        itg_histogram_measure(&two, x, n, part, &b);
        assert_int_equal(a.count, b.count);
        assert_int_equal(a.counted, b.counted);
        assert_int_equal(a.nan_count, b.nan_count);
        assert_memory_equal(&a.min, &b.min, sizeof a.min);
        assert_memory_equal(&a.max, &b.max, sizeof a.max);
        assert_true(a.sum == b.sum && a.sum_squares == b.sum_squares);
        assert_memory_equal(&one, &two, sizeof one);
    }
}

enum { LONG_SAMPLES = 40, LONG = 120000 };

static itg_stats *calibrate_long(float *data, int threads)
{
    itg_graph *g = NULL;
    itg_id x, b, n;
    const itg_shape row = {2, {1, LONG}};
    const itg_attrs relu = itg_attrs_default(ITG_OP_RELU);
    const itg_dataset samples = {
        .dtype = ITG_F32, .shape = {2, {LONG_SAMPLES, LONG}}, .data = data, .path = path};
    assert_int_equal(itg_graph_create("long.onnx", &g, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "x", ITG_F32, &row, NULL, &x, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "b", ITG_F32, &row, NULL, &b, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_node(g, "relu", ITG_OP_RELU, &x, 1, &b, 1, &relu, &n, NULL),
                     ITG_OK);
    assert_int_equal(itg_graph_set_inputs(g, &x, 1, NULL), ITG_OK);
    assert_int_equal(itg_graph_set_outputs(g, &b, 1, NULL), ITG_OK);
    itg_stats *stats = calibrate(g, &samples, threads);
    itg_graph_destroy(g);
    return stats;
}

static int64_t sum_of(const int64_t *bins)
{
    int64_t sum = 0;
    for (int i = 0; i < ITG_HISTOGRAM_BINS; i++)
        sum += bins[i];
    return sum;
}

/* Every element has a say about the range; of 4.8 million about a quarter are counted, in each
 * sample and at each place. */
static void of_many_elements_a_part_is_counted(void **state)
{
    float *data = malloc(sizeof *data * LONG_SAMPLES * LONG);
    (void)state;
    assert_non_null(data);
    for (int pattern = 0; pattern < 3; pattern++) {
        for (int64_t i = 0; i < (int64_t)LONG_SAMPLES * LONG; i++) {
            const int64_t sample = i / LONG, block = i % LONG / ITG_F32_BLOCK;
            const int64_t turn = pattern == 0 ? block : pattern == 1 ? sample : sample + block;
            data[i] = turn % 2 == 0 ? 1.0f : -1.0f;
        }
        data[pattern * 7 * ITG_F32_BLOCK] = 3.0f;
        data[LONG - 1 - pattern * 7 * ITG_F32_BLOCK] = -5.0f;
        itg_stats *one = calibrate_long(data, 1), *two = calibrate_long(data, 2);
        assert_memory_equal(one->hash, two->hash, sizeof one->hash);
        const itg_value_stats *s = &one->values[0];
        assert_true(s->min == -5.0f && s->max == 3.0f);
        assert_int_equal(s->count, (int64_t)LONG_SAMPLES * LONG);
        assert_in_range(s->counted, 1 << 20, (1 << 21) - 1);
        assert_int_equal(sum_of(s->positive) + sum_of(s->negative) + s->zeros, s->counted);
        assert_true(fabs(s->mean) < 0.3 && fabs(s->variance - 1) < 0.2);
        itg_stats_destroy(one);
        itg_stats_destroy(two);
    }
    free(data);
}

typedef struct seen {
    itg_id value[3]; /* a, b, c */
    int times[3], others;
    float data[3][ELEMENTS];
} seen;

static void see(void *context, itg_id value, const itg_tensor *tensor)
{
    seen *s = context;
    for (int i = 0; i < 3; i++) {
        if (value != s->value[i]) continue;
        s->times[i]++;
        memcpy(s->data[i], tensor->data, itg_tensor_bytes(tensor));
        return;
    }
    s->others++;
}

/* a, b: x times 3, and its positive part, which takes its place. Constants are not shown. */
static void every_value_is_shown_once_as_it_is_made(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_float_exec *exec = NULL;
    assert_int_equal(itg_float_exec_create(g, ITG_FLOAT_REFERENCE, &exec, NULL), ITG_OK);
    for (int run = 0; run < 2; run++) {
        float *x = itg_float_exec_input(exec, 0);
        for (int i = 0; i < ELEMENTS; i++)
            x[i] = (float)(i - 3 + run);
        seen s = {.value = {itg_graph_find_value(g, "a"), itg_graph_find_value(g, "b"),
                            itg_graph_find_value(g, "c")}};
        assert_int_equal(itg_float_exec_visit(exec, see, &s, NULL), ITG_OK);
        assert_int_equal(s.times[0], 1);
        assert_int_equal(s.times[1], 1);
        assert_int_equal(s.times[2], 0);
        assert_int_equal(s.others, 1); /* x */
        const itg_tensor out = itg_float_exec_output(exec, 0);
        assert_memory_equal(out.data, s.data[1], sizeof s.data[1]);
        for (int i = 0; i < ELEMENTS; i++) {
            const float product = (float)(3 * (i - 3 + run));
            assert_true(s.data[0][i] == product);
            assert_true(s.data[1][i] == (product > 0 ? product : 0.0f));
        }
    }
    itg_float_exec_destroy(exec);
    itg_graph_destroy(g);
}

static void what_cannot_run_is_refused_by_name(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_float_exec *exec = NULL;
    itg_stats *stats = NULL;
    itg_error err = {.message = ""};
    float x[4] = {0};
    itg_dataset data = {.dtype = ITG_F32, .shape = {2, {1, 4}}, .data = x, .path = path};
    const itg_preprocess p = itg_preprocess_default();
    assert_int_equal(itg_calibrate_model(g, &data, &p, 1, &stats, &err), ITG_MISMATCH);
    assert_non_null(strstr(err.message, "toy.onnx"));
    assert_null(stats);
    g->values[itg_graph_find_value(g, "a")].shape.dims[1] = -1;
    assert_int_equal(itg_float_exec_create(g, ITG_FLOAT_REFERENCE, &exec, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "'a'"));
    g->values[itg_graph_find_value(g, "a")].shape = (itg_shape){2, {1 << 20, 1 << 11}};
    g->values[itg_graph_find_value(g, "b")].shape = (itg_shape){2, {1 << 20, 1 << 11}};
    g->values[itg_graph_find_value(g, "x")].shape = (itg_shape){2, {1 << 20, 1 << 11}};
    assert_int_equal(itg_float_exec_create(g, ITG_FLOAT_REFERENCE, &exec, &err), ITG_LIMIT);
    assert_null(exec);
    itg_graph_destroy(g);
}

/* Also where a bin is no normal float, and where elements are so much smaller than the range that
 * their products are none. */
static void measuring_works_at_any_magnitude(void **state)
{
    enum { MANY = 3000 };
    static const int exponents[] = {-149, -140, -127, -118, -117, -116, -115, -90, 0, 100, 127};
    static float x[MANY];
    static itg_value_stats one, two;
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 22);
    for (size_t k = 0; k < sizeof exponents / sizeof exponents[0]; k++) {
        itg_sums a, b;
        for (int64_t i = 0; i < MANY; i++)
            x[i] = (float)(2 * itg_rng_unit(&rng) - 1);
        for (int64_t i = 0; i < MANY; i++)
            x[i] = ldexpf(x[i], exponents[k] - (i % 5 == 0 ? (int)(i % 140) : 0));
        for (int64_t i = 0; i < MANY; i += (int64_t)k % 3 + 1) /* clipped, in part below zero */
            x[i] = k % 2 == 0 ? fminf(x[i], x[1]) : fminf(x[i], -fabsf(x[1]));
        itg_histogram_init(&one);
        itg_histogram_init(&two);
        itg_sums_of(x, MANY, ITG_F32_ALL, &a);
        itg_histogram_add(&one, x, MANY, ITG_F32_ALL, &a);
        itg_histogram_measure(&two, x, MANY, ITG_F32_ALL, &b);
        assert_true(a.count == b.count && a.min == b.min && a.max == b.max);
        assert_true(a.sum == b.sum && a.sum_squares == b.sum_squares);
        assert_memory_equal(&one, &two, sizeof one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_equal_their_definitions),
        cmocka_unit_test(no_bit_depends_on_the_thread_count),
        cmocka_unit_test(the_hash_covers_every_statistic),
        cmocka_unit_test(histograms_do_not_depend_on_the_order_of_samples),
        cmocka_unit_test(nan_and_infinity_are_counted_and_nothing_else),
        cmocka_unit_test(extreme_magnitudes_stay_within_the_bins),
        cmocka_unit_test(merging_equals_adding),
        cmocka_unit_test(measuring_equals_sums_and_counts),
        cmocka_unit_test(of_many_elements_a_part_is_counted),
        cmocka_unit_test(measuring_works_at_any_magnitude),
        cmocka_unit_test(every_value_is_shown_once_as_it_is_made),
        cmocka_unit_test(what_cannot_run_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
