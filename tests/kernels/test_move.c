/* Data movement on every element size against index arithmetic. */
#include "float_cases.h"

/* Flat index to coordinates. */
static void coordinates(const itg_shape *shape, int64_t flat, int64_t *at)
{
    for (int d = shape->rank - 1; d >= 0; --d) {
        at[d] = flat % shape->dims[d];
        flat /= shape->dims[d];
    }
}

static int64_t flat_index(const itg_shape *shape, const int64_t *at)
{
    int64_t flat = 0;
    for (int d = 0; d < shape->rank; ++d)
        flat = flat * shape->dims[d] + at[d];
    return flat;
}

/* Distinct bytes everywhere: element i holds a pattern of i. */
static void fill_pattern(itg_tensor *t)
{
    unsigned char *bytes = t->data;
    const int64_t size = (int64_t)itg_dtype_size(t->dtype);
    for (int64_t i = 0; i < count_of(t) * size; ++i)
        bytes[i] = (unsigned char)(i * 7 + i / 251);
}

static const unsigned char *element(const itg_tensor *t, int64_t i)
{
    return (const unsigned char *)t->data + (size_t)i * itg_dtype_size(t->dtype);
}

static void assert_element(const itg_tensor *y, int64_t i, const unsigned char *want)
{
    assert_memory_equal(element(y, i), want, itg_dtype_size(y->dtype));
}

static void move(itg_op op, const itg_attrs *attrs, const itg_tensor *in, int count,
                 itg_tensor *out, const void *fill)
{
    itg_error err = {ITG_OK, ""};
    if (itg_move_eval(op, attrs, in, count, out, 1, fill, &err) != ITG_OK)
        fail_msg("%s", err.message);
}

static const itg_dtype sizes[] = {ITG_U8, ITG_S16, ITG_F32, ITG_S64};

static void transpose_permutes(void **state)
{
    static const int64_t dims[4] = {2, 3, 4, 5};
    (void)state;
    for (int k = 0; k < 4; ++k)
        for (int code = 0; code < 256; ++code) {
            itg_attrs attrs = attributes();
            int64_t moved[4];
            int seen = 0;
            for (int d = 0; d < 4; ++d) {
                attrs.perm[d] = code >> (2 * d) & 3;
                seen |= 1 << attrs.perm[d];
                moved[d] = dims[attrs.perm[d]];
            }
            if (seen != 15) continue;
            itg_tensor x = make(sizes[k], dims, 4), y = make(sizes[k], moved, 4);
            fill_pattern(&x);
            move(ITG_OP_TRANSPOSE, &attrs, &x, 1, &y, NULL);
            for (int64_t i = 0; i < 120; ++i) {
                int64_t at[4], from[4];
                coordinates(&y.shape, i, at);
                for (int d = 0; d < 4; ++d)
                    from[attrs.perm[d]] = at[d];
                assert_element(&y, i, element(&x, flat_index(&x.shape, from)));
            }
            drop(&x);
            drop(&y);
        }
}

static void slices_step_either_way(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 1);
    for (int n = 0; n < 2000; ++n) {
        itg_attrs attrs = attributes();
        int64_t dims[3], cut[3], start[3] = {0}, step[3] = {1, 1, 1};
        for (int d = 0; d < 3; ++d)
            cut[d] = dims[d] = between(&rng, 1, 7);
        for (int d = 2; d >= 0; --d) { /* axes need not ascend */
            if (itg_rng_below(&rng, 3) == 0) continue;
            start[d] = between(&rng, 0, dims[d] - 1);
            step[d] = between(&rng, 1, 3) * (itg_rng_below(&rng, 2) ? 1 : -1);
            const int64_t room =
                step[d] > 0 ? (dims[d] - 1 - start[d]) / step[d] : start[d] / -step[d];
            cut[d] = between(&rng, 1, room + 1);
            attrs.axes[attrs.axes_count] = d;
            attrs.starts[attrs.axes_count] = start[d];
            attrs.steps[attrs.axes_count++] = step[d];
        }
        itg_tensor x = make(sizes[n % 4], dims, 3), y = make(sizes[n % 4], cut, 3);
        fill_pattern(&x);
        move(ITG_OP_SLICE, &attrs, &x, 1, &y, NULL);
        for (int64_t i = 0; i < count_of(&y); ++i) {
            int64_t at[3];
            coordinates(&y.shape, i, at);
            for (int d = 0; d < 3; ++d)
                at[d] = start[d] + at[d] * step[d];
            assert_element(&y, i, element(&x, flat_index(&x.shape, at)));
        }
        drop(&x);
        drop(&y);
    }
}

static void slices_that_leave_the_input_are_refused(void **state)
{
    static const int64_t bad[][3] = {/* start, step, extent */
                                     {0, 1, 6},  {4, 1, 2},         {1, -1, 3},       {5, 1, 1},
                                     {-1, 1, 1}, {0, INT64_MAX, 2}, {4, INT64_MIN, 2}};
    unsigned char in[5] = {0}, out[8];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        itg_attrs attrs = attributes();
        itg_error err;
        attrs.axes_count = 1;
        attrs.starts[0] = bad[i][0];
        attrs.steps[0] = bad[i][1];
        const itg_tensor x = view(ITG_U8, in, DIMS(5));
        itg_tensor y = view(ITG_U8, out, DIMS(bad[i][2]));
        assert_int_equal(itg_move_eval(ITG_OP_SLICE, &attrs, &x, 1, &y, 1, NULL, &err),
                         ITG_BAD_ARGUMENT);
    }
}

/* numpy.pad's rules, one index at a time, walking step by step. */
static int64_t padded_source(int64_t i, int64_t begin, int64_t size, int64_t out, itg_pad_mode mode)
{
    const int64_t end = out - size - begin;
    const int64_t first = begin < 0 ? -begin : 0, last = size - 1 + (end < 0 ? end : 0);
    int64_t at = i - begin;
    if (at >= first && at <= last) return at;
    if (mode == ITG_PAD_CONSTANT) return -1;
    if (mode == ITG_PAD_EDGE || first == last) return at < first ? first : last;
    while (at < first || at > last)
        at = at < first ? 2 * first - at : 2 * last - at;
    return at;
}

static void pads_fill_reflect_repeat_and_remove(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 2);
    for (int n = 0; n < 3000; ++n) {
        static const unsigned char fill[8] = {0xa1, 0xb2, 0xc3, 0xd4, 0xe5, 0xf6, 0x17, 0x28};
        itg_attrs attrs = attributes();
        int64_t dims[3], out[3];
        attrs.pad_mode = (itg_pad_mode)(n % 3);
        for (int d = 0; d < 3; ++d) {
            dims[d] = between(&rng, 3, 6);
            attrs.pads_begin[d] = between(&rng, -1, 8);
            out[d] = dims[d] + attrs.pads_begin[d] + between(&rng, -1, 8);
        }
        itg_tensor x = make(sizes[n % 4], dims, 3), y = make(sizes[n % 4], out, 3);
        fill_pattern(&x);
        move(ITG_OP_PAD, &attrs, &x, 1, &y, fill);
        for (int64_t i = 0; i < count_of(&y); ++i) {
            int64_t at[3];
            bool filled = false;
            coordinates(&y.shape, i, at);
            for (int d = 0; d < 3; ++d) {
                at[d] = padded_source(at[d], attrs.pads_begin[d], dims[d], out[d], attrs.pad_mode);
                filled = filled || at[d] < 0;
            }
            assert_element(&y, i, filled ? fill : element(&x, flat_index(&x.shape, at)));
        }
        drop(&x);
        drop(&y);
    }
}

static void pad_value_is_stored_as_the_tensors_type(void **state)
{
    float x[1] = {3.0f}, y[3];
    int64_t p[1] = {3}, q[3];
    itg_attrs attrs = attributes();
    (void)state;
    attrs.pads_begin[0] = 1;
    attrs.pad_value = -2.0f;
    const itg_tensor in = view(ITG_F32, x, DIMS(1)), whole = view(ITG_S64, p, DIMS(1));
    itg_tensor out = view(ITG_F32, y, DIMS(3)), whole_out = view(ITG_S64, q, DIMS(3));
    run(ITG_OP_PAD, &attrs, &in, 1, &out);
    assert_true(y[0] == -2.0f && y[1] == 3.0f && y[2] == -2.0f);
    run(ITG_OP_PAD, &attrs, &whole, 1, &whole_out);
    assert_true(q[0] == -2 && q[1] == 3 && q[2] == -2);
}

static void concat_and_split_are_inverse(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 3);
    for (int n = 0; n < 400; ++n) {
        itg_attrs attrs = attributes();
        itg_error err;
        const int axis = n % 3, parts = (int)between(&rng, 1, 4);
        int64_t dims[3] = {3, 4, 5}, own[4], total = 0;
        itg_tensor part[4], back[4];
        attrs.axis = axis;
        for (int i = 0; i < parts; ++i) {
            total += own[i] = between(&rng, 0, 3);
            dims[axis] = own[i];
            part[i] = make(sizes[n % 4], dims, 3);
            back[i] = make(sizes[n % 4], dims, 3);
            fill_pattern(&part[i]);
        }
        dims[axis] = total;
        itg_tensor whole = make(sizes[n % 4], dims, 3);
        move(ITG_OP_CONCAT, &attrs, part, parts, &whole, NULL);
        for (int64_t i = 0; i < count_of(&whole); ++i) {
            int64_t at[3];
            int owner = 0;
            coordinates(&whole.shape, i, at);
            while (at[axis] >= own[owner])
                at[axis] -= own[owner++];
            assert_element(&whole, i, element(&part[owner], flat_index(&part[owner].shape, at)));
        }
        assert_int_equal(itg_move_eval(ITG_OP_SPLIT, &attrs, &whole, 1, back, parts, NULL, &err),
                         ITG_OK);
        for (int i = 0; i < parts; ++i) {
            assert_same_bits(&back[i], &part[i]);
            drop(&part[i]);
            drop(&back[i]);
        }
        drop(&whole);
    }
}

static void gather_counts_from_either_end(void **state)
{
    int64_t wide[4] = {0, -1, 2, -4};
    int32_t narrow[4] = {0, -1, 2, -4};
    (void)state;
    for (int axis = 0; axis < 3; ++axis)
        for (int k = 0; k < 4; ++k) {
            itg_attrs attrs = attributes();
            attrs.axis = axis;
            int64_t dims[4] = {4, 4, 4}, out[4] = {0};
            itg_tensor in[2] = {make(sizes[k], dims, 3), view(ITG_S64, wide, DIMS(2, 2))};
            if (k % 2) in[1] = view(ITG_S32, narrow, DIMS(2, 2));
            for (int d = 0; d < 4; ++d)
                out[d] = d == axis || d == axis + 1 ? 2 : 4;
            itg_tensor y = make(sizes[k], out, 4);
            fill_pattern(&in[0]);
            move(ITG_OP_GATHER, &attrs, in, 2, &y, NULL);
            for (int64_t i = 0; i < count_of(&y); ++i) {
                int64_t at[4], from[3];
                coordinates(&y.shape, i, at);
                const int64_t index = wide[at[axis] * 2 + at[axis + 1]];
                for (int d = 0; d < 3; ++d)
                    from[d] = d < axis ? at[d] : d == axis ? (index + 4) % 4 : at[d + 1];
                assert_element(&y, i, element(&in[0], flat_index(&in[0].shape, from)));
            }
            drop(&in[0]);
            drop(&y);
        }
}

static void gather_refuses_an_index_outside(void **state)
{
    float x[3] = {1, 2, 3}, y[1];
    int64_t index[1] = {3};
    itg_attrs attrs = attributes();
    itg_error err;
    (void)state;
    const itg_tensor in[2] = {view(ITG_F32, x, DIMS(3)), view(ITG_S64, index, DIMS(1))};
    itg_tensor out = view(ITG_F32, y, DIMS(1));
    assert_int_equal(itg_float_eval(ITG_OP_GATHER, &attrs, in, 2, &out, 1, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "index 3"));
    index[0] = -4;
    assert_int_equal(itg_float_eval(ITG_OP_GATHER, &attrs, in, 2, &out, 1, &err), ITG_BAD_ARGUMENT);
    index[0] = INT64_MIN;
    assert_int_equal(itg_float_eval(ITG_OP_GATHER, &attrs, in, 2, &out, 1, &err), ITG_BAD_ARGUMENT);
}

static void expand_repeats(void **state)
{
    int16_t x[3] = {1, 2, 3}, y[12];
    int64_t shape[3] = {2, 3, 2};
    itg_attrs attrs = attributes();
    (void)state;
    const itg_tensor in[2] = {view(ITG_S16, x, DIMS(3, 1)), view(ITG_S64, shape, DIMS(3))};
    itg_tensor out = view(ITG_S16, y, DIMS(2, 3, 2));
    move(ITG_OP_EXPAND, &attrs, in, 2, &out, NULL);
    for (int i = 0; i < 12; ++i)
        assert_int_equal(y[i], x[i / 2 % 3]);
}

static void reshapes_copy_and_sizes_must_agree(void **state)
{
    static const itg_op ops[] = {ITG_OP_RESHAPE,   ITG_OP_FLATTEN,  ITG_OP_SQUEEZE,
                                 ITG_OP_UNSQUEEZE, ITG_OP_IDENTITY, ITG_OP_DROPOUT};
    int32_t x[6] = {1, 2, 3, 4, 5, 6}, y[6];
    itg_attrs attrs = attributes();
    itg_error err;
    (void)state;
    const itg_tensor in = view(ITG_S32, x, DIMS(2, 3));
    itg_tensor out = view(ITG_S32, y, DIMS(6, 1)), small = view(ITG_S32, y, DIMS(5));
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i) {
        memset(y, 0, sizeof y);
        assert_true(itg_op_is(ops[i], ITG_IS_MOVE));
        run(ops[i], &attrs, &in, 1, &out);
        assert_memory_equal(x, y, sizeof x);
        assert_int_equal(itg_float_eval(ops[i], &attrs, &in, 1, &small, 1, &err), ITG_BAD_ARGUMENT);
    }
    out.dtype = ITG_F32;
    assert_int_equal(itg_float_eval(ITG_OP_RESHAPE, &attrs, &in, 1, &out, 1, &err),
                     ITG_BAD_ARGUMENT);
    assert_int_equal(itg_move_eval(ITG_OP_CONV, &attrs, &in, 1, &out, 1, NULL, &err),
                     ITG_BAD_ARGUMENT);
}

static void dropout_keeps_everything(void **state)
{
    float x[2] = {1, 2}, y[2];
    uint8_t mask[2] = {0, 0};
    itg_attrs attrs = attributes();
    itg_error err;
    (void)state;
    const itg_tensor in = view(ITG_F32, x, DIMS(2));
    itg_tensor out[2] = {view(ITG_F32, y, DIMS(2)), view(ITG_BOOL, mask, DIMS(2))};
    assert_int_equal(itg_float_eval(ITG_OP_DROPOUT, &attrs, &in, 1, out, 2, &err), ITG_OK);
    assert_true(mask[0] == 1 && mask[1] == 1 && y[1] == 2.0f);
}

static void empty_tensors_move_without_data(void **state)
{
    int64_t x[2] = {4, 5}, y[2];
    itg_attrs attrs = attributes();
    (void)state;
    const itg_tensor in[2] = {view(ITG_S64, NULL, DIMS(0)), view(ITG_S64, x, DIMS(2))};
    itg_tensor out = view(ITG_S64, y, DIMS(2)), none = view(ITG_S64, NULL, DIMS(0));
    run(ITG_OP_CONCAT, &attrs, in, 2, &out);
    assert_memory_equal(x, y, sizeof x);
    run(ITG_OP_RESHAPE, &attrs, in, 1, &none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transpose_permutes),
        cmocka_unit_test(slices_step_either_way),
        cmocka_unit_test(slices_that_leave_the_input_are_refused),
        cmocka_unit_test(pads_fill_reflect_repeat_and_remove),
        cmocka_unit_test(pad_value_is_stored_as_the_tensors_type),
        cmocka_unit_test(concat_and_split_are_inverse),
        cmocka_unit_test(gather_counts_from_either_end),
        cmocka_unit_test(gather_refuses_an_index_outside),
        cmocka_unit_test(expand_repeats),
        cmocka_unit_test(reshapes_copy_and_sizes_must_agree),
        cmocka_unit_test(dropout_keeps_everything),
        cmocka_unit_test(empty_tensors_move_without_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
