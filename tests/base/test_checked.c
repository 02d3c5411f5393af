#include "cmocka_base.h"
#include "base/base.h"

static void add_and_mul_refuse_exactly_what_wraps(void **state)
{
    (void)state;
    size_t out = 7;
    assert_true(itg_add_size(SIZE_MAX - 1, 1, &out));
    assert_true(out == SIZE_MAX);
    out = 7;
    assert_false(itg_add_size(SIZE_MAX, 1, &out));
    assert_false(itg_mul_size(SIZE_MAX / 2 + 1, 2, &out));
    assert_false(itg_mul_size(SIZE_MAX, SIZE_MAX, &out));
    assert_int_equal(out, 7);
    assert_true(itg_mul_size(SIZE_MAX / 3, 3, &out));
    assert_true(out == SIZE_MAX / 3 * 3);
    assert_true(itg_mul_size(SIZE_MAX, 0, &out));
    assert_int_equal(out, 0);
    assert_true(itg_mul_size(0, SIZE_MAX, &out));
    assert_true(itg_mul_size(SIZE_MAX, 1, &out));
    assert_true(out == SIZE_MAX);
}

static void elements_are_the_product(void **state)
{
    (void)state;
    int64_t out = -5;
    assert_true(itg_shape_elements(&(itg_shape){0, {0}}, &out));
    assert_int_equal(out, 1);
    assert_true(itg_shape_elements(&(itg_shape){4, {1, 3, 32, 32}}, &out));
    assert_int_equal(out, 3072);
    assert_true(itg_shape_elements(&(itg_shape){3, {2, 0, 5}}, &out));
    assert_int_equal(out, 0);
    assert_true(itg_shape_elements(&(itg_shape){2, {ITG_MAX_ELEMENTS / 2, 2}}, &out));
    assert_true(out == ITG_MAX_ELEMENTS);
}

static void elements_refuse_unknown_huge_and_malformed_shapes(void **state)
{
    (void)state;
    int64_t out = -5;
    assert_false(itg_shape_elements(&(itg_shape){2, {3, -1}}, &out));
    assert_false(itg_shape_elements(&(itg_shape){2, {0, -1}}, &out));
    assert_false(itg_shape_elements(&(itg_shape){1, {ITG_MAX_ELEMENTS + 1}}, &out));
    assert_false(itg_shape_elements(&(itg_shape){2, {ITG_MAX_ELEMENTS, 2}}, &out));
    assert_false(itg_shape_elements(&(itg_shape){2, {INT64_MAX, INT64_MAX}}, &out));
    assert_false(itg_shape_elements(&(itg_shape){4, {65536, 65536, 65536, 65536}}, &out));
    assert_false(itg_shape_elements(&(itg_shape){3, {INT64_MAX, INT64_MAX, 0}}, &out));
    assert_false(itg_shape_elements(&(itg_shape){-1, {0}}, &out));
    assert_false(itg_shape_elements(&(itg_shape){ITG_MAX_RANK + 1, {1}}, &out));
    assert_int_equal(out, -5);
}

static void equal_shapes_have_rank_and_dims_in_common(void **state)
{
    (void)state;
    itg_shape a = {2, {3, 4, 99}}, b = {2, {3, 4, 77}}, c = {2, {3, 5}}, d = {1, {3}};
    assert_true(itg_shape_equal(&a, &b));
    assert_false(itg_shape_equal(&a, &c));
    assert_false(itg_shape_equal(&a, &d));
}

static void text_shows_dims_and_always_ends(void **state)
{
    (void)state;
    char text[256];
    assert_string_equal(itg_shape_text(&(itg_shape){4, {1, 3, 32, 32}}, text, sizeof text),
                        "[1,3,32,32]");
    assert_string_equal(itg_shape_text(&(itg_shape){0, {0}}, text, sizeof text), "[]");
    assert_string_equal(itg_shape_text(&(itg_shape){2, {-1, 7}}, text, sizeof text), "[?,7]");
    itg_shape longest = {ITG_MAX_RANK, {0}};
    for (int i = 0; i < ITG_MAX_RANK; i++)
        longest.dims[i] = INT64_MAX;
    assert_int_equal(strlen(itg_shape_text(&longest, text, sizeof text)), 8 * 19 + 7 + 2);
    memset(text, '#', sizeof text);
    assert_string_equal(itg_shape_text(&(itg_shape){2, {12, 34}}, text, 4), "[12");
    assert_int_equal(text[4], '#');
}

static void tensor_bytes_count_the_dtype(void **state)
{
    (void)state;
    itg_tensor tensor = {ITG_S16, {2, {3, 5}}, NULL};
    assert_int_equal(itg_tensor_bytes(&tensor), 30);
    tensor.dtype = ITG_F64;
    assert_int_equal(itg_tensor_bytes(&tensor), 120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_and_mul_refuse_exactly_what_wraps),
        cmocka_unit_test(elements_are_the_product),
        cmocka_unit_test(elements_refuse_unknown_huge_and_malformed_shapes),
        cmocka_unit_test(equal_shapes_have_rank_and_dims_in_common),
        cmocka_unit_test(text_shows_dims_and_always_ends),
        cmocka_unit_test(tensor_bytes_count_the_dtype),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
