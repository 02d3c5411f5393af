#include "cmocka_base.h"
#include <stdlib.h>
#include <intaglio/types.h>

static void names_read_back(void **state)
{
    (void)state;
    for (int i = 0; i < ITG_DTYPE_COUNT; i++) {
        itg_dtype out = ITG_DTYPE_COUNT;
        assert_true(itg_dtype_from_name(itg_dtype_name((itg_dtype)i), &out));
        assert_int_equal(out, i);
    }
    itg_dtype kept = ITG_S32;
    assert_false(itg_dtype_from_name("s7", &kept));
    assert_false(itg_dtype_from_name("", &kept));
    assert_false(itg_dtype_from_name("unknown", &kept));
    assert_int_equal(kept, ITG_S32);
}

/* The name says it all: its letter the kind, its number the bits. */
static void size_and_range_follow_from_the_name(void **state)
{
    (void)state;
    for (int i = 0; i < ITG_DTYPE_COUNT; i++) {
        itg_dtype dtype = (itg_dtype)i;
        const char *name = itg_dtype_name(dtype);
        if (dtype == ITG_BOOL) continue;
        int bits = atoi(name + 1);
        assert_int_equal(itg_dtype_size(dtype) * 8, bits);
        assert_int_equal(itg_dtype_is_integer(dtype), name[0] != 'f');
        if (name[0] == 'u') {
            assert_true(itg_dtype_min(dtype) == 0);
            assert_true(itg_dtype_max(dtype) == (int64_t)((UINT64_C(1) << bits) - 1));
        } else if (name[0] == 's') {
            uint64_t half = UINT64_C(1) << (bits - 1);
            assert_true(itg_dtype_max(dtype) == (int64_t)(half - 1));
            assert_true(itg_dtype_min(dtype) == -(int64_t)(half - 1) - 1);
        }
    }
}

static void bool_is_a_byte_and_no_integer(void **state)
{
    (void)state;
    assert_int_equal(itg_dtype_size(ITG_BOOL), 1);
    assert_false(itg_dtype_is_integer(ITG_BOOL));
    assert_string_equal(itg_dtype_name(ITG_BOOL), "bool");
}

static void operators_read_back_by_their_onnx_names(void **state)
{
    (void)state;
    for (int i = 0; i < ITG_OP_COUNT; i++) {
        itg_op out = ITG_OP_COUNT;
        assert_true(itg_op_from_name(itg_op_name((itg_op)i), &out));
        assert_int_equal(out, i);
    }
    assert_string_equal(itg_op_name(ITG_OP_CONV), "Conv");
    assert_string_equal(itg_op_name(ITG_OP_GLOBAL_AVERAGE_POOL), "GlobalAveragePool");
    assert_string_equal(itg_op_name(ITG_OP_COUNT), "unknown");
    itg_op kept = ITG_OP_ADD;
    assert_false(itg_op_from_name("conv", &kept));
    assert_false(itg_op_from_name("", &kept));
    assert_int_equal(kept, ITG_OP_ADD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_read_back),
        cmocka_unit_test(size_and_range_follow_from_the_name),
        cmocka_unit_test(bool_is_a_byte_and_no_integer),
        cmocka_unit_test(operators_read_back_by_their_onnx_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
