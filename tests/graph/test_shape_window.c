/* Shapes of windows against windows counted one by one. */
#include "make.h"

typedef struct dimension {
    int64_t in, kernel, stride, dilation, begin, end;
} dimension;

/* Windows that lie inside the padded input; rounding up, also the first that reaches its end, if it
 * starts inside the input or its leading padding. */
static int64_t count_windows(const dimension *d, bool ceil_mode)
{
    int64_t count = 0, extent = (d->kernel - 1) * d->dilation + 1,
            padded = d->begin + d->in + d->end;
    int64_t start = 0;
    for (; start + extent <= padded; start += d->stride)
        count++;
    bool covered = start - d->stride + extent == padded;
    if (ceil_mode && !covered && start < d->begin + d->in) count++;
    return count;
}

static itg_attrs window(itg_op op, const dimension *h, const dimension *w)
{
    itg_attrs a = itg_attrs_default(op);
    const dimension *d[] = {h, w};
    for (int i = 0; i < 2; ++i) {
        a.kernel[i] = d[i]->kernel;
        a.stride[i] = d[i]->stride;
        a.dilation[i] = d[i]->dilation;
        a.pad[i] = d[i]->begin;
        a.pad[2 + i] = d[i]->end;
    }
    return a;
}

static itg_graph *pool(const dimension *h, const dimension *w, const itg_attrs *attrs)
{
    char shape[64];
    itg_graph *g = make_graph();
    snprintf(shape, sizeof shape, "1,3,%d,%d", (int)h->in, (int)w->in);
    itg_id x = add_input(g, "x", shape);
    set_output(g, ADD_OP(g, ITG_OP_MAX_POOL, "y", attrs, x));
    return g;
}

static void check_pool(const dimension *h, bool ceil_mode)
{
    const dimension w = {7, 2, 2, 1, 0, 0};
    itg_attrs a = window(ITG_OP_MAX_POOL, h, &w);
    a.ceil_mode = ceil_mode;
    itg_graph *g = pool(h, &w, &a);
    bool fits = (h->kernel - 1) * h->dilation + 1 <= h->in + h->begin + h->end;
    assert_int_equal(infer_all(g, NULL), fits ? ITG_OK : ITG_BAD_FILE);
    const itg_shape *y = &g->values[g->outputs[0]].shape;
    if (fits) {
        assert_int_equal(y->dims[0], 1);
        assert_int_equal(y->dims[1], 3);
        assert_int_equal(y->dims[2], count_windows(h, ceil_mode));
        assert_int_equal(y->dims[3], ceil_mode ? 4 : 3);
    } else {
        assert_int_equal(y->rank, -1);
    }
    itg_graph_destroy(g);
}

static void test_pool_counts_its_windows(void **state)
{
    (void)state;
    for (int64_t in = 1; in <= 9; ++in)
        for (int64_t kernel = 1; kernel <= 4; ++kernel)
            for (int64_t stride = 1; stride <= 4; ++stride)
                for (int64_t dilation = 1; dilation <= 2; ++dilation)
                    for (int64_t begin = 0; begin < kernel; ++begin)
                        for (int64_t end = 0; end < kernel; ++end) {
                            dimension d = {in, kernel, stride, dilation, begin, end};
                            check_pool(&d, false);
                            check_pool(&d, true);
                        }
}

/* ONNX: ceil(in / stride) outputs, the padding that needs, its odd element behind (UPPER) or before
 * (LOWER). */
static void check_same(int64_t in, int64_t kernel, int64_t stride, int64_t dilation,
                       itg_auto_pad mode)
{
    dimension d = {in, kernel, stride, dilation, 0, 0}, w = {4, 1, 1, 1, 0, 0};
    itg_attrs a = window(ITG_OP_MAX_POOL, &d, &w);
    a.auto_pad = mode;
    itg_graph *g = pool(&d, &w, &a);
    int64_t out = 0, extent = (kernel - 1) * dilation + 1;
    for (int64_t at = 0; at < in; at += stride)
        out++;
    int64_t total = (out - 1) * stride + extent > in ? (out - 1) * stride + extent - in : 0;
    if (total >= 2 * extent) {
        itg_graph_destroy(g);
        return;
    }
    assert_int_equal(infer_all(g, NULL), ITG_OK);
    const itg_attrs *r = &g->nodes[0].attrs;
    assert_int_equal(g->values[g->outputs[0]].shape.dims[2], out);
    assert_int_equal(r->auto_pad, ITG_PAD_EXPLICIT);
    assert_int_equal(r->pad[0] + r->pad[2], total);
    assert_int_equal(r->pad[mode == ITG_PAD_SAME_UPPER ? 2 : 0] -
                         r->pad[mode == ITG_PAD_SAME_UPPER ? 0 : 2],
                     total % 2);
    itg_graph_destroy(g);
}

static void test_auto_pad_becomes_pads(void **state)
{
    (void)state;
    for (int64_t in = 3; in <= 9; ++in)
        for (int64_t kernel = 1; kernel <= 3; ++kernel)
            for (int64_t stride = 1; stride <= 3; ++stride)
                for (int64_t dilation = 1; dilation <= 2; ++dilation) {
                    check_same(in, kernel, stride, dilation, ITG_PAD_SAME_UPPER);
                    check_same(in, kernel, stride, dilation, ITG_PAD_SAME_LOWER);
                }
    dimension d = {7, 3, 2, 1, 1, 1};
    itg_attrs a = window(ITG_OP_MAX_POOL, &d, &d);
    a.auto_pad = ITG_PAD_VALID;
    itg_graph *g = pool(&d, &d, &a);
    assert_int_equal(infer_all(g, NULL), ITG_OK);
    assert_int_equal(g->values[g->outputs[0]].shape.dims[2], 3);
    assert_int_equal(g->nodes[0].attrs.pad[0], 0);
    itg_graph_destroy(g);
}

static itg_status infer_conv(const char *x, const char *w, const char *b, const itg_attrs *attrs,
                             itg_shape *out, itg_attrs *resolved, itg_error *err)
{
    itg_graph *g = make_graph();
    itg_id ids[3] = {add_input(g, "x", x), add_floats(g, "w", w, NULL), ITG_NONE};
    if (b) ids[2] = add_floats(g, "b", b, NULL);
    itg_id y = add_op(g, ITG_OP_CONV, "conv1", attrs, b ? 3 : 2, ids);
    itg_status status = infer_all(g, err);
    *out = g->values[y].shape;
    *resolved = g->nodes[0].attrs;
    itg_graph_destroy(g);
    return status;
}

static void test_conv_takes_its_kernel_from_the_weights(void **state)
{
    (void)state;
    itg_attrs a = itg_attrs_default(ITG_OP_CONV), r;
    itg_shape y, expected = shape_of("2,8,6,5");
    assert_int_equal(infer_conv("2,3,8,9", "8,3,3,5", "8", &a, &y, &r, NULL), ITG_OK);
    assert_true(itg_shape_equal(&y, &expected));
    assert_int_equal(r.kernel[0], 3);
    assert_int_equal(r.kernel[1], 5);
    a.group = 3;
    expected = shape_of("2,6,8,9");
    assert_int_equal(infer_conv("2,3,8,9", "6,1,1,1", NULL, &a, &y, &r, NULL), ITG_OK);
    assert_true(itg_shape_equal(&y, &expected));
}

static void test_conv_1d_is_a_2d_window_of_height_one(void **state)
{
    (void)state;
    itg_attrs a = itg_attrs_default(ITG_OP_CONV), r;
    itg_shape y, expected = shape_of("1,4,5");
    a.stride[1] = 2;
    a.pad[1] = 2;
    a.pad[3] = 1;
    assert_int_equal(infer_conv("1,2,8", "4,2,3", NULL, &a, &y, &r, NULL), ITG_OK);
    assert_true(itg_shape_equal(&y, &expected));
    assert_int_equal(r.spatial_rank, 1);
    assert_int_equal(r.kernel[0], 1);
    assert_int_equal(r.kernel[1], 3);
}

static void test_conv_says_what_is_wrong(void **state)
{
    (void)state;
    itg_attrs a = itg_attrs_default(ITG_OP_CONV), r;
    itg_shape y;
    itg_error err = {0};
    assert_int_equal(infer_conv("1,1,3,3", "2,1,7,7", NULL,
                                (a.pad[0] = a.pad[1] = 1, a.pad[2] = a.pad[3] = 1, &a), &y, &r,
                                &err),
                     ITG_BAD_FILE);
    assert_string_equal(err.message, "net.onnx: node 'conv1' (Conv): kernel [7,7] is larger than "
                                     "its padded input [5,5]");
    assert_int_equal(y.rank, -1);
    a = itg_attrs_default(ITG_OP_CONV);
    assert_int_equal(infer_conv("1,4,3,3", "2,3,1,1", NULL, &a, &y, &r, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "net.onnx: node 'conv1' (Conv): weights [2,3,1,1] do not fit "
                                     "input [1,4,3,3] in 1 groups");
    assert_int_equal(infer_conv("1,3,3,3", "2,3,1,1", "3", &a, &y, &r, &err), ITG_BAD_FILE);
    assert_string_equal(err.message,
                        "net.onnx: node 'conv1' (Conv): its bias is [3]; expected [2]");
    assert_int_equal(infer_conv("1,3,3", "2,3,1,1", NULL, &a, &y, &r, &err), ITG_BAD_FILE);
    assert_int_equal(infer_conv("1,3,3,3,3", "2,3,1,1,1", NULL, &a, &y, &r, &err), ITG_UNSUPPORTED);
    a.kernel[0] = a.kernel[1] = 2;
    assert_int_equal(infer_conv("1,3,3,3", "2,3,1,1", NULL, &a, &y, &r, &err), ITG_BAD_FILE);
    a = itg_attrs_default(ITG_OP_CONV);
    a.stride[0] = 0;
    assert_int_equal(infer_conv("1,3,3,3", "2,3,1,1", NULL, &a, &y, &r, &err), ITG_BAD_FILE);
    a = itg_attrs_default(ITG_OP_CONV);
    a.pad[3] = -1;
    assert_int_equal(infer_conv("1,3,3,3", "2,3,1,1", NULL, &a, &y, &r, &err), ITG_BAD_FILE);
    a = itg_attrs_default(ITG_OP_CONV);
    a.pad[3] = INT64_MAX;
    assert_int_equal(infer_conv("1,3,3,3", "2,3,1,1", NULL, &a, &y, &r, &err), ITG_BAD_FILE);
    a = itg_attrs_default(ITG_OP_CONV);
    a.group = 0;
    assert_int_equal(infer_conv("1,3,3,3", "2,3,1,1", NULL, &a, &y, &r, &err), ITG_BAD_FILE);
}

static void test_global_pools_keep_the_rank(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "2,3,4,5"), z = add_input(g, "z", "2,3");
    itg_shape expected = shape_of("2,3,1,1");
    itg_id y = ADD_OP(g, ITG_OP_GLOBAL_AVERAGE_POOL, "y", NULL, x);
    ADD_OP(g, ITG_OP_GLOBAL_MAX_POOL, "bad", NULL, z);
    assert_int_equal(itg_infer_node(g, 0, NULL), ITG_OK);
    assert_true(itg_shape_equal(&g->values[y].shape, &expected));
    assert_int_equal(itg_infer_node(g, 1, NULL), ITG_BAD_FILE);
    itg_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_counts_its_windows),
        cmocka_unit_test(test_auto_pad_becomes_pads),
        cmocka_unit_test(test_conv_takes_its_kernel_from_the_weights),
        cmocka_unit_test(test_conv_1d_is_a_2d_window_of_height_one),
        cmocka_unit_test(test_conv_says_what_is_wrong),
        cmocka_unit_test(test_global_pools_keep_the_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
