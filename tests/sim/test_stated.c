/* Strategies of a network that its file quantizes already: at the file's widths thresholds are the
 * file's ranges, whatever the method; at others they are the method's. */
#include <stdio.h>
#include "tests/graph/make.h"

static itg_id codes(itg_graph *g, const char *name, const char *shape, const int8_t *data)
{
    itg_id id;
    itg_shape s = shape_of(shape);
    assert_int_equal(itg_graph_add_value(g, name, ITG_S8, &s, data, &id, NULL), ITG_OK);
    return id;
}

static itg_id quantized(itg_graph *g, const char *q, const char *d, itg_id x, float step,
                        int8_t zero)
{
    char names[2][32];
    snprintf(names[0], sizeof names[0], "%s/scale", q);
    snprintf(names[1], sizeof names[1], "%s/zero", q);
    itg_id s = add_floats(g, names[0], "", &step), z = codes(g, names[1], "", &zero);
    return ADD_OP(g, ITG_OP_DEQUANTIZE_LINEAR, d, NULL,
                  ADD_OP(g, ITG_OP_QUANTIZE_LINEAR, q, NULL, x, s, z), s, z);
}

/* x (step 1/4, zero 3) times weights by channel (steps 1/2, 1/8) gives y (step 2, zero -128). */
static itg_graph *network(void)
{
    static const int8_t w[] = {1, -2, 127, -128, 5, 6}, zeros[] = {0, 0};
    static const float steps[] = {0.5f, 0.125f};
    itg_graph *g = make_graph();
    itg_id x = quantized(g, "xq", "xd", add_input(g, "x", "1,3"), 0.25f, 3);
    itg_id d = ADD_OP(g, ITG_OP_DEQUANTIZE_LINEAR, "wd", NULL, codes(g, "w", "3,2", w),
                      add_floats(g, "steps", "2", steps), codes(g, "zeros", "2", zeros));
    set_output(g, quantized(g, "yq", "yd", ADD_OP(g, ITG_OP_MATMUL, "y", NULL, x, d), 2, -128));
    itg_graph *p = prepared(g, true);
    itg_graph_destroy(g);
    return p;
}

static char *strategy(const itg_graph *g, int32_t bits)
{
    itg_hardware *hw = NULL;
    itg_dataset *data = NULL;
    itg_stats *stats = NULL;
    itg_strategy_file *file = NULL;
    itg_error err = {0};
    char *text = NULL;
    float samples[4][3] = {{1, 2, 3}, {-3, 1, 0.5f}, {0, 0, 1}, {5, -2, 1}};
    const itg_tensor array = {ITG_F32, {2, {4, 3}}, samples};
    const itg_preprocess p = itg_preprocess_default();
    itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, bits, bits, ITG_THRESHOLD_KL,
                                   ITG_THRESHOLD_AVG,           0,    0};
    assert_int_equal(itg_hardware_load("cortex-m", &hw, &err), ITG_OK);
    assert_int_equal(itg_data_from_memory(&array, "samples", &data, &err), ITG_OK);
    assert_int_equal(itg_calibrate_model(g, data, &p, 1, &stats, &err), ITG_OK);
    if (itg_uniform_strategy(g, hw, &p, stats, data, &options, &file, &err))
        fail_msg("%s", err.message);
    assert_int_equal(itg_strategy_text(file, g, &text, &err), ITG_OK);
    itg_strategy_close(file);
    itg_stats_destroy(stats);
    itg_data_close(data);
    itg_hardware_destroy(hw);
    return text;
}

static void ranges_of_the_file_are_kept_at_its_widths(void **state)
{
    (void)state;
    static const char *const ranges[] = {
        "\"lo\": \"-0x1.06p+5\", \"hi\": \"0x1.fp+4\"", /* x: (-128-3)/4, (127-3)/4 */
        "\"channels\": [\"0x1.fcp+5\",\"0x1.fcp+3\"]",  /* 127 steps */
        "\"lo\": \"0x0p+0\", \"hi\": \"0x1.fep+8\"",    /* y: 255 steps of 2 */
    };
    itg_graph *g = network();
    char *same = strategy(g, 8), *fewer = strategy(g, 6);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; ++i) {
        if (!strstr(same, ranges[i])) fail_msg("%s is not in %s", ranges[i], same);
        assert_null(strstr(fewer, ranges[i]));
    }
    itg_free(same);
    itg_free(fewer);
    itg_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_of_the_file_are_kept_at_its_widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
