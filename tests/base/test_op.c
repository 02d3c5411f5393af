/* ops.def: what every table that is made from it relies on. */
#include "cmocka_base.h"
#include "base/base.h"
#include <math.h>
#include <string.h>

static void attributes_stand_behind_their_operator(void **state)
{
    int32_t rows = 0, found = 0, count;
    (void)state;
#define ITG_ATTR(...) rows++;
#define ITG_STEP_ATTR(...) rows++;
#include <intaglio/ops.def>
    for (int op = 0; op < ITG_OP_COUNT; op++) {
        const itg_attr *attr = itg_op_attrs((itg_op)op, &count);
        for (int32_t i = 0; i < count; i++)
            assert_int_equal(attr[i].op, op);
        found += count;
    }
    assert_int_equal(found, rows);
}

static void defaults_are_the_presets_and_nothing_else(void **state)
{
    int32_t count;
    (void)state;
    for (int op = 0; op < ITG_OP_COUNT; op++) {
        const itg_attrs attrs = itg_attrs_default((itg_op)op);
        const itg_attrs read = itg_attrs_read_by((itg_op)op, &attrs);
        const itg_attr *attr = itg_op_attrs((itg_op)op, &count);
        assert_memory_equal(&attrs, &read, sizeof attrs);
        for (int32_t i = 0; i < count; i++)
            assert_true(itg_attr_is_preset(&attr[i], &attrs));
    }
    assert_true(itg_attrs_default(ITG_OP_LEAKY_RELU).alpha == 0.01f);
    assert_true(itg_attrs_default(ITG_OP_ABS).alpha == 0.0f);
    assert_true(itg_attrs_default(ITG_OP_CLIP).min == -INFINITY);
    assert_int_equal(itg_attrs_default(ITG_OP_SLICE).steps[ITG_MAX_RANK - 1], 1);
    assert_int_equal(itg_attrs_default(ITG_OP_SOFTMAX).axis, -1);
}

static void an_operator_reads_its_own_attributes_alone(void **state)
{
    itg_attrs all, read;
    (void)state;
    memset(&all, 1, sizeof all);
    all.axes_count = 2;
    read = itg_attrs_read_by(ITG_OP_HARD_SWISH, &all);
    assert_true(read.alpha == 0.0f && read.beta == 0.0f && read.axes_count == 0);
    read = itg_attrs_read_by(ITG_OP_SQUEEZE, &all);
    assert_int_equal(read.axes_count, 2);
    assert_false(read.noop_with_empty_axes);
    read = itg_attrs_read_by(ITG_OP_BATCH_NORMALIZATION, &all);
    assert_true(read.axis == all.axis);
}

static void words_are_names_of_values(void **state)
{
    int32_t count, pad = 0;
    itg_attrs attrs = itg_attrs_default(ITG_OP_PAD);
    const itg_attr *attr = itg_op_attrs(ITG_OP_PAD, &count);
    (void)state;
    while (attr[pad].field->kind != ITG_KIND_NAME)
        pad++;
    assert_string_equal(itg_attr_word(&attr[pad], &attrs), "constant");
    assert_true(itg_attr_set_word(&attr[pad], &attrs, "edge"));
    assert_int_equal(attrs.pad_mode, ITG_PAD_EDGE);
    assert_false(itg_attr_set_word(&attr[pad], &attrs, "wrap"));
    attr = itg_op_attrs(ITG_OP_CAST, &count);
    assert_true(itg_attr_set_word(attr, &attrs, itg_dtype_name(ITG_BOOL)));
    assert_int_equal(attrs.to, ITG_BOOL);
    assert_false(itg_attr_set_word(attr, &attrs, "f8"));
}

/* The tables of the layers take these for granted. */
static void classes_agree_with_the_numbers_of_inputs(void **state)
{
    (void)state;
    for (int op = 0; op < ITG_OP_COUNT; op++) {
        const itg_op_info *info = itg_op_info_of((itg_op)op);
        if (itg_op_is((itg_op)op, ITG_IS_UNIVARIATE))
            assert_true(info->min_inputs == 1 && info->max_outputs == 1 &&
                        (info->max_inputs == 1 || info->classes & ITG_IS_SHAPED));
        if (info->classes & ITG_IS_CLAMP) assert_true(info->classes & ITG_IS_UNIVARIATE);
        if (info->classes & ITG_IS_VIEW) assert_true(info->classes & ITG_IS_MOVE);
    }
    assert_false(itg_op_is(ITG_OP_COUNT, ~0));
    assert_false(itg_op_is((itg_op)-1, ~0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_stand_behind_their_operator),
        cmocka_unit_test(defaults_are_the_presets_and_nothing_else),
        cmocka_unit_test(an_operator_reads_its_own_attributes_alone),
        cmocka_unit_test(words_are_names_of_values),
        cmocka_unit_test(classes_agree_with_the_numbers_of_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
