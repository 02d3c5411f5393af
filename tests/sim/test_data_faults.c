/* The nth allocation fails, for every n until none does: the status says so and outputs stay
 * untouched. What is left behind is the sanitizer's business. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "sim/sim.h"
#include "tests/faults.h"

/* One attempt; true: it succeeded. A failure must be for lack of memory. */
typedef bool (*attempt)(void *context);

static void fails_until_spared(attempt run, void *context, int at_least)
{
    for (int n = 0;; n++) {
        calls_left = n;
        const bool done = run(context), spared = calls_left >= 0;
        calls_left = -1;
        assert_int_equal(done, spared);
        if (!done) continue;
        assert_true(n >= at_least);
        return;
    }
}

static bool out_of_memory(itg_status status, const void *out)
{
    calls_left = status == ITG_OK ? calls_left : -1;
    if (status == ITG_OK) return true;
    assert_int_equal(status, ITG_NO_MEMORY);
    assert_null(out);
    return false;
}

static bool load(void *context)
{
    itg_dataset *data = NULL;
    const bool done = out_of_memory(itg_data_open(context, 0, &data, NULL), data);
    itg_data_close(data);
    return done;
}

static bool join(void *context)
{
    itg_dataset *parts[2] = {NULL, NULL}, *data = NULL;
    const char *const names[] = {"a", "b"};
    bool done = out_of_memory(itg_data_open(context, 0, &parts[0], NULL), parts[0]);
    if (done) done = out_of_memory(itg_data_open(context, 0, &parts[1], NULL), parts[1]);
    if (done) done = out_of_memory(itg_data_join(parts, names, 2, &data, NULL), data);
    if (!data) itg_data_close(parts[1]);
    itg_data_close(parts[0]);
    return done;
}

static void loading_survives_every_failed_allocation(void **state)
{
    (void)state;
    char path[] = ITG_TEST_DIR "/faults.npy";
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    const char dict[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }";
    fwrite("\x93NUMPY\1\0", 1, 8, file);
    fputc((int)sizeof dict - 1, file);
    fputc(0, file);
    fputs(dict, file);
    fputs("abcd", file);
    assert_int_equal(fclose(file), 0);
    fails_until_spared(load, path, 4);
    char list[] = "a=" ITG_TEST_DIR "/faults.npy,b=" ITG_TEST_DIR "/faults.npy";
    fails_until_spared(load, list, 12);
    fails_until_spared(join, path, 10);
}

static void loading_a_table_survives_every_failed_allocation(void **state)
{
    (void)state;
    char path[] = ITG_TEST_DIR "/faults.csv:b";
    FILE *file = fopen(ITG_TEST_DIR "/faults.csv", "wb");
    assert_non_null(file);
    fputs("a,b\n1,2\n3,4.5\n", file);
    assert_int_equal(fclose(file), 0);
    fails_until_spared(load, path, 6);
}

static float elements[60];
static char name[] = "x.npy";
static const itg_dataset data = {
    .dtype = ITG_F32, .shape = {2, {20, 3}}, .data = elements, .path = name};

static bool select_and_label(void *context)
{
    const int64_t samples[2] = {1, 0};
    itg_dataset *chosen = NULL;
    int64_t *labels = NULL, count = 0;
    const itg_dataset column = {
        .dtype = ITG_F32, .shape = {1, {60}}, .data = elements, .path = name};
    (void)context;
    bool done = out_of_memory(itg_dataset_select(&data, samples, 2, &chosen, NULL), chosen);
    if (done) done = out_of_memory(itg_dataset_labels(&column, &labels, &count, NULL), labels);
    free(labels);
    itg_data_close(chosen);
    return done;
}

static void selecting_survives_every_failed_allocation(void **state)
{
    (void)state;
    fails_until_spared(select_and_label, NULL, 3);
}

static bool calibrate(void *context)
{
    const itg_preprocess p = itg_preprocess_default();
    itg_stats *stats = NULL;
    const bool done =
        out_of_memory(itg_calibrate_model(context, &data, &p, 1, &stats, NULL), stats);
    itg_stats_destroy(stats);
    return done;
}

static void calibrating_survives_every_failed_allocation(void **state)
{
    (void)state;
    itg_graph *g = NULL;
    itg_id x, y, n;
    const itg_shape row = {2, {1, 3}};
    const itg_attrs relu = itg_attrs_default(ITG_OP_RELU);
    assert_int_equal(itg_graph_create("toy.onnx", &g, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "x", ITG_F32, &row, NULL, &x, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "y", ITG_F32, &row, NULL, &y, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_node(g, "relu", ITG_OP_RELU, &x, 1, &y, 1, &relu, &n, NULL),
                     ITG_OK);
    assert_int_equal(itg_graph_set_inputs(g, &x, 1, NULL), ITG_OK);
    assert_int_equal(itg_graph_set_outputs(g, &y, 1, NULL), ITG_OK);
    fails_until_spared(calibrate, g, 8);
    itg_graph_destroy(g);
}

static bool estimate(void *context)
{
    const itg_threshold_target target = {4, true, true, false};
    const itg_threshold_method method = *(const itg_threshold_method *)context;
    double lo = 42, hi = 42;
    /* every other element of 60 */
    const itg_status status =
        itg_threshold_constant(method, elements, 30, 2, 1, &target, &lo, &hi, NULL);
    calls_left = status == ITG_OK ? calls_left : -1;
    if (status == ITG_OK) return true;
    assert_int_equal(status, ITG_NO_MEMORY);
    assert_true(lo == 42 && hi == 42);
    return false;
}

static void estimating_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++)
        elements[i] = (float)(i - 20) / 8;
    for (int m = 0; m < ITG_THRESHOLD_METHOD_COUNT; m++) {
        itg_threshold_method method = (itg_threshold_method)m;
        fails_until_spared(estimate, &method, method == ITG_THRESHOLD_KL ? 3 : 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading_survives_every_failed_allocation),
        cmocka_unit_test(loading_a_table_survives_every_failed_allocation),
        cmocka_unit_test(selecting_survives_every_failed_allocation),
        cmocka_unit_test(calibrating_survives_every_failed_allocation),
        cmocka_unit_test(estimating_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
