/* Networks that are quantized already: what the file quantizes and dequantizes is clamped, and the
 * range is kept; weights keep the ranges of their codes. */
#include <stdio.h>
#include "make.h"
#include <math.h>

static itg_graph *g;

static itg_id add_codes(const char *name, itg_dtype dtype, const char *shape, const void *data)
{
    itg_id id;
    itg_shape s = shape_of(shape);
    assert_int_equal(itg_graph_add_value(g, name, dtype, &s, data, &id, NULL), ITG_OK);
    return id;
}

static itg_id scalar(const char *name, float value)
{
    return add_floats(g, name, "", &value);
}

/* x -> QuantizeLinear -> DequantizeLinear, both by scale and zero point of type s8. */
static itg_id quantized(const char *name, itg_id x, float scale, int8_t zero)
{
    char n[4][32];
    snprintf(n[0], sizeof n[0], "%s/scale", name);
    snprintf(n[1], sizeof n[1], "%s/zero", name);
    snprintf(n[2], sizeof n[2], "%s/q", name);
    snprintf(n[3], sizeof n[3], "%s/d", name);
    itg_id s = scalar(n[0], scale), z = add_codes(n[1], ITG_S8, "", &zero);
    itg_id q = ADD_OP(g, ITG_OP_QUANTIZE_LINEAR, n[2], NULL, x, s, z);
    return ADD_OP(g, ITG_OP_DEQUANTIZE_LINEAR, n[3], NULL, q, s, z);
}

static const itg_stated *stated_of(const itg_graph *p, itg_id value)
{
    assert_non_null(p->values[value].stated);
    return p->values[value].stated;
}

static void assert_range(const itg_stated *s, int32_t bits, double lo, double hi)
{
    assert_int_equal(s->bits, bits);
    assert_true(s->lo[0] == lo && s->hi[0] == hi);
}

static void an_activation_is_clamped_and_keeps_its_range(void **state)
{
    (void)state;
    g = make_graph();
    itg_id x = add_input(g, "x", "1,4"), relu = ADD_OP(g, ITG_OP_TANH, "t", NULL, x);
    set_output(g, ADD_OP(g, ITG_OP_NEG, "y", NULL, quantized("a", relu, 0.25f, -128)));
    itg_graph *p = prepared(g, true);
    assert_int_equal(p->node_count, 3);
    assert_int_equal(p->nodes[1].op, ITG_OP_CLIP);
    assert_true(p->nodes[1].attrs.min == 0 && p->nodes[1].attrs.max == 63.75f);
    assert_range(stated_of(p, p->nodes[1].outputs[0]), 8, 0, 63.75);
    assert_true(p->quantized);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static void a_relu_before_it_is_part_of_the_clamp(void **state)
{
    (void)state;
    g = make_graph();
    itg_id x = add_input(g, "x", "1,4"), t = ADD_OP(g, ITG_OP_TANH, "t", NULL, x);
    itg_id relu = ADD_OP(g, ITG_OP_RELU, "r", NULL, t);
    set_output(g, ADD_OP(g, ITG_OP_NEG, "y", NULL, quantized("a", relu, 0.5f, 0)));
    itg_graph *p = prepared(g, true);
    assert_int_equal(p->node_count, 3);
    assert_true(p->nodes[1].attrs.min == 0 && p->nodes[1].attrs.max == 63.5f);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static void inputs_and_what_was_clamped_already_get_no_clamp(void **state)
{
    (void)state;
    g = make_graph();
    itg_id x = add_input(g, "x", "1,2,2,2"), a = quantized("a", x, 0.5f, 3);
    itg_id t = quantized("b", ADD_OP(g, ITG_OP_TANH, "t", NULL, a), 0.25f, 0);
    itg_attrs pool = itg_attrs_default(ITG_OP_MAX_POOL);
    pool.kernel[0] = pool.kernel[1] = 2;
    itg_id m = quantized("c", ADD_OP(g, ITG_OP_MAX_POOL, "m", &pool, t), 0.25f, 0);
    set_output(g, ADD_OP(g, ITG_OP_NEG, "y", NULL, m));
    itg_graph *p = prepared(g, true);
    assert_int_equal(count_of(p, ITG_OP_CLIP), 1);
    assert_int_equal(p->node_count, 4);
    assert_range(stated_of(p, p->inputs[0]), 8, -65.5, 62);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static void a_clip_of_codes_narrows_the_range(void **state)
{
    (void)state;
    g = make_graph();
    const int8_t zero = 0, lo = -4, hi = 3;
    itg_id x = add_input(g, "x", "1,4"), t = ADD_OP(g, ITG_OP_TANH, "t", NULL, x);
    itg_id s = scalar("s", 0.25f), z = add_codes("z", ITG_S8, "", &zero);
    itg_id q = ADD_OP(g, ITG_OP_QUANTIZE_LINEAR, "q", NULL, t, s, z);
    itg_id c = ADD_OP(g, ITG_OP_CLIP, "c", NULL, q, add_codes("lo", ITG_S8, "", &lo),
                      add_codes("hi", ITG_S8, "", &hi));
    itg_id d = ADD_OP(g, ITG_OP_DEQUANTIZE_LINEAR, "d", NULL, c, s, z);
    set_output(g, ADD_OP(g, ITG_OP_NEG, "y", NULL, d));
    itg_graph *p = prepared(g, true);
    assert_range(stated_of(p, p->nodes[1].outputs[0]), 3, -1, 0.75);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static void weights_keep_the_ranges_of_their_channels(void **state)
{
    (void)state;
    static const int8_t codes[] = {1, -2, 127, -127, 5, 6}, zeros[] = {0, 0};
    static const float scales[] = {0.5f, 0.125f};
    g = make_graph();
    itg_attrs axis = itg_attrs_default(ITG_OP_DEQUANTIZE_LINEAR);
    itg_id x = add_input(g, "x", "1,3"), w = add_codes("w", ITG_S8, "3,2", codes);
    itg_id d = ADD_OP(g, ITG_OP_DEQUANTIZE_LINEAR, "d", &axis, w, add_floats(g, "s", "2", scales),
                      add_codes("z", ITG_S8, "2", zeros));
    set_output(g, ADD_OP(g, ITG_OP_MATMUL, "y", NULL, x, d));
    itg_graph *p = prepared(g, true);
    assert_int_equal(p->node_count, 1);
    const itg_stated *s = stated_of(p, p->nodes[0].inputs[1]); /* [2,3] now */
    assert_int_equal(s->count, 2);
    assert_int_equal(s->axis, 0);
    assert_true(s->hi[0] == 63.5 && s->hi[1] == 15.875);
    assert_true(floats_at(p, 0, 1)[0] == 0.5f && floats_at(p, 0, 1)[3] == -0.25f);
    assert_keeps_function(g, p, 0);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* Types are wider than grids: the range is that of the narrowest width that holds all codes. */
static void weights_have_the_width_of_their_codes(void **state)
{
    (void)state;
    static const struct {
        uint8_t codes[6];
        uint8_t zeros[2];
        itg_dtype dtype;
        int32_t bits;
        double lo, hi; /* of the first channel */
    } cases[] = {
        {{7, (uint8_t)-8, 1, 0, 3, 2}, {0, 0}, ITG_S8, 4, -8, 7},
        {{3, (uint8_t)-4, 1, 0, 3, 2}, {0, 0}, ITG_S8, 3, -4, 3},
        {{4, (uint8_t)-4, 1, 0, 3, 2}, {0, 0}, ITG_S8, 4, -8, 7},
        {{(uint8_t)-1, 1, 0, 0, 1, 1}, {0, 0}, ITG_S8, 2, -2, 1},
        {{0, 0, 0, 0, 0, 0}, {0, 0}, ITG_S8, 2, -2, 1},
        {{127, 0, 0, 0, 1, 1}, {0, 0}, ITG_S8, 8, -128, 127},
        {{64, 0, 0, 0, 1, 1}, {0, 0}, ITG_S8, 8, -128, 127},
        {{63, (uint8_t)-64, 0, 0, 1, 1}, {0, 0}, ITG_S8, 7, -64, 63},
        {{128, 135, 120, 127, 128, 130}, {128, 128}, ITG_U8, 4, -8, 7},
        {{128, 10, 120, 12, 128, 20}, {128, 10}, ITG_U8, 5, -16, 15},
        {{255, 0, 120, 127, 128, 130}, {10, 20}, ITG_U8, 8, -10, 245},
    };
    static const float scales[] = {1, 0.125f};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        g = make_graph();
        itg_attrs axis = itg_attrs_default(ITG_OP_DEQUANTIZE_LINEAR);
        itg_id x = add_input(g, "x", "1,3"),
               w = add_codes("w", cases[k].dtype, "3,2", cases[k].codes);
        itg_id d =
            ADD_OP(g, ITG_OP_DEQUANTIZE_LINEAR, "d", &axis, w, add_floats(g, "s", "2", scales),
                   add_codes("z", cases[k].dtype, "2", cases[k].zeros));
        set_output(g, ADD_OP(g, ITG_OP_MATMUL, "y", NULL, x, d));
        itg_graph *p = prepared(g, true);
        const itg_stated *s = stated_of(p, p->nodes[0].inputs[1]);
        assert_int_equal(s->bits, cases[k].bits);
        assert_true(s->lo[0] == cases[k].lo && s->hi[0] == cases[k].hi);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

static void other_scales_behind_than_before_are_no_clamp(void **state)
{
    (void)state;
    g = make_graph();
    itg_prepare_options options = {.keep_batch = true};
    itg_error err = {0};
    itg_graph *p = NULL;
    const int8_t zero = 0;
    itg_id x = add_input(g, "x", "1,4"), z = add_codes("z", ITG_S8, "", &zero);
    itg_id q = ADD_OP(g, ITG_OP_QUANTIZE_LINEAR, "q", NULL, x, scalar("s", 0.25f), z);
    set_output(g, ADD_OP(g, ITG_OP_DEQUANTIZE_LINEAR, "d", NULL, q, scalar("t", 0.5f), z));
    assert_int_equal(itg_graph_prepare(g, &options, &p, &err), ITG_UNSUPPORTED);
    assert_non_null(strstr(err.message, "QuantizeLinear"));
    itg_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_activation_is_clamped_and_keeps_its_range),
        cmocka_unit_test(a_relu_before_it_is_part_of_the_clamp),
        cmocka_unit_test(inputs_and_what_was_clamped_already_get_no_clamp),
        cmocka_unit_test(a_clip_of_codes_narrows_the_range),
        cmocka_unit_test(weights_keep_the_ranges_of_their_channels),
        cmocka_unit_test(weights_have_the_width_of_their_codes),
        cmocka_unit_test(other_scales_behind_than_before_are_no_clamp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
