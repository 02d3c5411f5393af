/* Composite operators of images: ConvTranspose, Resize, blocks, normalizations, and refusals. */
#include "expansion.h"
#include <math.h>
#include <stdlib.h>
#include "kernels/float_ops.h"

/* ---- ConvTranspose: each input element adds the kernel to the output ---- */

static void scatter(const itg_attrs *a, const itg_shape *xs, const itg_shape *ws,
                    const itg_shape *ys, const float *x, const float *w, const float *b, double *y)
{
    int64_t inputs = xs->dims[1] / a->group, outputs = ws->dims[1];
    int64_t plane = ys->dims[2] * ys->dims[3];
    for (int64_t i = 0; i < ys->dims[1] * plane; ++i)
        y[i] = (double)b[i / plane];
    for (int64_t c = 0; c < xs->dims[1]; ++c)
        for (int64_t m = 0; m < outputs; ++m)
            for (int64_t i = 0; i < xs->dims[2] * xs->dims[3]; ++i)
                for (int64_t k = 0; k < ws->dims[2] * ws->dims[3]; ++k) {
                    int64_t h = i / xs->dims[3] * a->stride[0] + k / ws->dims[3] * a->dilation[0] -
                                a->pad[0];
                    int64_t v = i % xs->dims[3] * a->stride[1] + k % ws->dims[3] * a->dilation[1] -
                                a->pad[1];
                    if (h < 0 || h >= ys->dims[2] || v < 0 || v >= ys->dims[3]) continue;
                    y[(c / inputs * outputs + m) * plane + h * ys->dims[3] + v] +=
                        (double)x[c * xs->dims[2] * xs->dims[3] + i] *
                        (double)w[(c * outputs + m) * ws->dims[2] * ws->dims[3] + k];
                }
}

/* The shapes as images; of a line, height 1. */
static itg_shape as_image(itg_shape s)
{
    return s.rank == 4 ? s : dims4(4, s.dims[0], s.dims[1], 1, s.dims[2]);
}

static void conv_transpose_adds_kernels(void **state)
{
    (void)state;
    start_picks();
    for (int round = 0; round < 250; ++round) {
        itg_attrs a = itg_attrs_default(ITG_OP_CONV_TRANSPOSE);
        int32_t rank = (int32_t)pick(3, 4);
        a.group = pick(1, 2);
        itg_shape xs = dims4(rank, 1, a.group * pick(1, 2), pick(1, 5), pick(1, 4));
        itg_shape ws = dims4(rank, xs.dims[1], pick(1, 3), pick(1, 4), pick(1, 3));
        itg_shape bs = {.rank = 1, .dims = {ws.dims[1] * a.group}};
        itg_shape ys = dims4(4, 1, bs.dims[0], 1, 1);
        for (int i = 4 - rank; i < 2; ++i) {
            int64_t in = xs.dims[rank - 2 + i], kernel = ws.dims[rank - 2 + i];
            a.stride[i] = pick(1, 4);
            a.dilation[i] = pick(1, 3);
            a.output_padding[i] = pick(0, 2);
            a.pad[i] = pick(0, 3);
            a.pad[2 + i] = pick(0, 2);
            int64_t *out = &ys.dims[2 + i];
            int64_t full =
                a.stride[i] * (in - 1) + a.output_padding[i] + (kernel - 1) * a.dilation[i] + 1;
            if (full <= a.pad[i] + a.pad[2 + i]) a.pad[i] = a.pad[2 + i] = 0;
            *out = full - a.pad[i] - a.pad[2 + i];
        }
        itg_graph *g = graph_of(&xs);
        itg_id w = put_constant(g, "w", &ws), b = put_constant(g, "b", &bs);
        set_output(g, ADD_OP(g, ITG_OP_CONV_TRANSPOSE, "y", &a, 0, w, b));
        itg_shape xi = as_image(xs), wi = as_image(ws);
        int64_t count = ys.dims[1] * ys.dims[2] * ys.dims[3];
        double *want = calloc((size_t)count, sizeof *want);
        float *x = numbers_of_x(&xs);
        scatter(&a, &xi, &wi, &ys, x, constant_of(g, "w"), constant_of(g, "b"), want);
        assert_gives(g, want, count);
        free(x);
        free(want);
        itg_graph_destroy(g);
    }
}

static void a_stated_shape_decides_the_pads(void **state)
{
    (void)state;
    itg_shape xs = dims4(4, 1, 1, 3, 3), ws = dims4(4, 1, 1, 3, 3), shape = {0};
    static const itg_auto_pad modes[] = {ITG_PAD_SAME_UPPER, ITG_PAD_SAME_LOWER, ITG_PAD_EXPLICIT};
    static const int64_t begins[] = {0, 1, 1};
    for (int i = 0; i < 3; ++i) {
        itg_attrs a = itg_attrs_default(ITG_OP_CONV_TRANSPOSE);
        a.stride[0] = a.stride[1] = 2;
        a.auto_pad = modes[i];
        if (i == 2) a.output_shape[0] = a.output_shape[1] = 6;
        itg_graph *g = graph_of(&xs);
        set_output(g, ADD_OP(g, ITG_OP_CONV_TRANSPOSE, "y", &a, 0, put_constant(g, "w", &ws)));
        assert_int_equal(infer_all(g, NULL), ITG_OK);
        shape = g->values[g->outputs[0]].shape;
        assert_int_equal(shape.dims[2], 6);
        assert_int_equal(g->nodes[0].attrs.pad[0], begins[i]);
        assert_int_equal(g->nodes[0].attrs.pad[2], 1 - begins[i]);
        itg_graph_destroy(g);
    }
}

/* ---- Resize: weights along both axes at once ---- */

static double weight(const itg_attrs *a, double at, int64_t i, int64_t in)
{
    double sum = 0;
    for (int64_t k = -8; k < in + 8; ++k) {
        int64_t clamped = k < 0 ? 0 : k >= in ? in - 1 : k;
        double d = fabs((double)k - at), c = (double)a->alpha;
        if (clamped != i) continue;
        if (a->resize_mode == ITG_RESIZE_LINEAR)
            sum += d < 1 ? 1 - d : 0;
        else if (d <= 1)
            sum += (c + 2) * d * d * d - (c + 3) * d * d + 1;
        else if (d < 2)
            sum += c * d * d * d - 5 * c * d * d + 8 * c * d - 4 * c;
    }
    return sum;
}

static double place(const itg_attrs *a, int64_t i, int64_t in, int64_t out)
{
    if (in == out) return (double)i;
    if (a->coordinates == ITG_ALIGN_CORNERS)
        return out == 1 ? 0 : (double)i * (double)(in - 1) / (double)(out - 1);
    double scale = (double)out / (double)in;
    return a->coordinates == ITG_ASYMMETRIC ? (double)i / scale : ((double)i + 0.5) / scale - 0.5;
}

static void resize_weighs_neighbours(void **state)
{
    (void)state;
    static const itg_coordinates coordinates[] = {ITG_HALF_PIXEL, ITG_ASYMMETRIC,
                                                  ITG_ALIGN_CORNERS};
    start_picks();
    for (int round = 0; round < 120; ++round) {
        itg_attrs a = itg_attrs_default(ITG_OP_RESIZE);
        int64_t h = pick(1, 6), w = pick(2, 6), oh = pick(1, 9), ow = pick(1, 9);
        a.resize_mode = pick(0, 1) ? ITG_RESIZE_LINEAR : ITG_RESIZE_CUBIC;
        a.coordinates = coordinates[pick(0, 2)];
        itg_shape xs = dims4(4, 1, 2, h, w);
        itg_graph *g = graph_of(&xs);
        itg_id sizes = ADD_INTS(g, "sizes", 1, 2, oh, ow);
        set_output(g, ADD_OP(g, ITG_OP_RESIZE, "y", &a, 0, ITG_NONE, ITG_NONE, sizes));
        double *want = calloc((size_t)(2 * oh * ow), sizeof *want);
        float *x = numbers_of_x(&xs);
        for (int64_t i = 0; i < 2 * oh * ow; ++i)
            for (int64_t k = 0; k < h * w; ++k)
                want[i] += weight(&a, place(&a, i / ow % oh, h, oh), k / w, h) *
                           weight(&a, place(&a, i % ow, w, ow), k % w, w) *
                           (double)x[i / (oh * ow) * h * w + k];
        assert_gives(g, want, 2 * oh * ow);
        free(x);
        free(want);
        itg_graph_destroy(g);
    }
}

static void the_nearest_element_is_gathered(void **state)
{
    (void)state;
    itg_shape xs = dims4(4, 1, 3, 4, 4);
    itg_attrs a = itg_attrs_default(ITG_OP_RESIZE);
    float scales[] = {1, 1, 2, 0.5f}, *x = numbers_of_x(&xs);
    double want[3 * 8 * 2];
    itg_graph *g = graph_of(&xs);
    itg_id list = add_floats(g, "scales", "4", scales);
    a.coordinates = ITG_ASYMMETRIC;
    a.nearest = ITG_NEAREST_FLOOR;
    set_output(g, ADD_OP(g, ITG_OP_RESIZE, "y", &a, 0, ITG_NONE, list));
    for (int64_t i = 0; i < 48; ++i)
        want[i] = (double)x[i / 16 * 16 + i / 2 % 8 / 2 * 4 + i % 2 * 2];
    assert_gives(g, want, 48);
    itg_graph *p = prepared(g, true);
    assert_int_equal(count_of(p, ITG_OP_GATHER), 2);
    assert_int_equal(p->node_count, 2);
    assert_string_equal(p->values[p->outputs[0]].name, "y");
    assert_string_equal(p->nodes[1].name, "y");
    assert_string_equal(p->nodes[0].name, "y/axis3");
    itg_graph_destroy(p);
    itg_graph_destroy(g);
    free(x);
}

static void sizes_of_a_resize_follow_the_batch(void **state)
{
    (void)state;
    itg_shape xs = dims4(4, 8, 1, 2, 2);
    itg_attrs a = itg_attrs_default(ITG_OP_RESIZE);
    itg_prepare_options options = {.eval = itg_float_eval};
    itg_graph *g = graph_of(&xs), *p = NULL;
    itg_id sizes = ADD_INTS(g, "sizes", 8, 1, 4, 4);
    set_output(g, ADD_OP(g, ITG_OP_RESIZE, "y", &a, 0, ITG_NONE, ITG_NONE, sizes));
    assert_int_equal(itg_graph_prepare(g, &options, &p, NULL), ITG_OK);
    assert_int_equal(p->values[p->outputs[0]].shape.dims[0], 1);
    assert_int_equal(p->values[p->outputs[0]].shape.dims[2], 4);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static void a_resize_that_keeps_its_input_goes(void **state)
{
    (void)state;
    itg_shape xs = dims4(4, 1, 3, 4, 4);
    itg_attrs a = itg_attrs_default(ITG_OP_RESIZE);
    itg_graph *g = graph_of(&xs);
    itg_id r = ADD_OP(g, ITG_OP_RELU, "r", NULL, 0);
    itg_id sizes = ADD_INTS(g, "sizes", 1, 3, 4, 4);
    set_output(g, ADD_OP(g, ITG_OP_RESIZE, "y", &a, r, ITG_NONE, ITG_NONE, sizes));
    itg_graph *p = prepared(g, true);
    assert_int_equal(p->node_count, 1);
    assert_int_equal(p->nodes[0].op, ITG_OP_RELU);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* ---- blocks ---- */

static void blocks_move_between_depth_and_space(void **state)
{
    (void)state;
    start_picks();
    for (int round = 0; round < 20; ++round) {
        int64_t b = pick(1, 3), c = pick(1, 3), h = pick(1, 3), w = pick(1, 3);
        int32_t order = (int32_t)pick(0, 1);
        itg_attrs a = itg_attrs_default(ITG_OP_DEPTH_TO_SPACE);
        itg_shape deep = dims4(4, 1, c * b * b, h, w), wide = dims4(4, 1, c, h * b, w * b);
        a.size = b;
        a.order = order;
        itg_graph *g = graph_of(&deep), *back = graph_of(&wide);
        set_output(g, ADD_OP(g, ITG_OP_DEPTH_TO_SPACE, "y", &a, 0));
        set_output(back, ADD_OP(back, ITG_OP_SPACE_TO_DEPTH, "y", &a, 0));
        int64_t count = c * b * b * h * w;
        double *want = calloc((size_t)count, sizeof *want),
               *turned = calloc((size_t)count, sizeof *turned);
        float *x = numbers_of_x(&deep), *y = numbers_of_x(&wide);
        for (int64_t i = 0; i < count; ++i) {
            int64_t k = i / (h * w * b * b), row = i / (w * b) % (h * b), column = i % (w * b);
            int64_t block = row % b * b + column % b;
            int64_t channel = order ? k * b * b + block : block * c + k;
            int64_t at = (channel * h + row / b) * w + column / b;
            want[i] = (double)x[at];
            turned[at] = (double)y[i];
        }
        assert_gives(g, want, count);
        assert_gives(back, turned, count);
        free(x);
        free(y);
        free(want);
        free(turned);
        itg_graph_destroy(g);
        itg_graph_destroy(back);
    }
}

/* ---- normalizations ---- */

static void groups_are_normalized(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; ++kind) { /* per channel, per group, instance */
        itg_op op = kind == 2 ? ITG_OP_INSTANCE_NORMALIZATION : ITG_OP_GROUP_NORMALIZATION;
        itg_attrs a = itg_attrs_default(op);
        itg_shape xs = dims4(4, 2, 6, 3, 2), each = {.rank = 1, .dims = {kind == 1 ? 3 : 6}};
        if (kind < 2) a.size = 3;
        int64_t rows = kind == 2 ? 12 : 6, n = 72 / rows;
        itg_graph *g = graph_of(&xs);
        itg_id s = put_constant(g, "s", &each), b = put_constant(g, "b", &each);
        set_output(g, ADD_OP(g, op, "y", &a, 0, s, b));
        double want[72];
        float *x = numbers_of_x(&xs);
        for (int64_t r = 0; r < rows; ++r) {
            double mean = 0, variance = 0;
            for (int64_t i = r * n; i < (r + 1) * n; ++i)
                mean += (double)x[i] / (double)n;
            for (int64_t i = r * n; i < (r + 1) * n; ++i)
                variance += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)n;
            for (int64_t i = r * n; i < (r + 1) * n; ++i) {
                int64_t at = i / 6 % 6 / (6 / each.dims[0]);
                want[i] = ((double)x[i] - mean) / sqrt(variance + (double)a.epsilon) *
                              (double)constant_of(g, "s")[at] +
                          (double)constant_of(g, "b")[at];
            }
        }
        assert_gives(g, want, 72);
        free(x);
        itg_graph_destroy(g);
    }
}

static void rows_are_divided_by_their_root_mean_square(void **state)
{
    (void)state;
    itg_attrs a = itg_attrs_default(ITG_OP_RMS_NORMALIZATION);
    itg_shape xs = dims4(3, 2, 3, 4, 0), scale = dims4(2, 3, 4, 0, 0);
    itg_graph *g = graph_of(&xs);
    a.axis = -2;
    set_output(g, ADD_OP(g, ITG_OP_RMS_NORMALIZATION, "y", &a, 0, put_constant(g, "s", &scale)));
    double want[24];
    float *x = numbers_of_x(&xs);
    for (int64_t i = 0; i < 24; ++i) {
        double squares = 0;
        for (int64_t k = i / 12 * 12; k < i / 12 * 12 + 12; ++k)
            squares += (double)x[k] * (double)x[k] / 12;
        want[i] =
            (double)x[i] / sqrt(squares + (double)a.epsilon) * (double)constant_of(g, "s")[i % 12];
    }
    assert_gives(g, want, 24);
    free(x);
    itg_graph_destroy(g);
}

static void channels_are_divided_by_their_neighbours(void **state)
{
    (void)state;
    itg_attrs a = itg_attrs_default(ITG_OP_LRN);
    itg_shape xs = dims4(4, 1, 6, 2, 2);
    itg_graph *g = graph_of(&xs);
    a.size = 4;
    a.alpha = 0.5f;
    set_output(g, ADD_OP(g, ITG_OP_LRN, "y", &a, 0));
    double want[24];
    float *x = numbers_of_x(&xs);
    for (int64_t i = 0; i < 24; ++i) {
        double squares = 0;
        for (int64_t c = i / 4 - 1; c <= i / 4 + 2; ++c)
            if (c >= 0 && c < 6) squares += (double)x[c * 4 + i % 4] * (double)x[c * 4 + i % 4];
        want[i] = (double)x[i] / pow(1 + 0.5 / 4 * squares, 0.75);
    }
    assert_gives(g, want, 24);
    free(x);
    itg_graph_destroy(g);
}

/* ---- refusals ---- */

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    itg_shape xs = dims4(4, 1, 4, 4, 4), line = dims4(2, 4, 4, 0, 0);
    static const itg_op ops[] = {ITG_OP_DEPTH_TO_SPACE, ITG_OP_SPACE_TO_DEPTH, ITG_OP_LRN};
    for (size_t i = 0; i < 3; ++i)
        for (int64_t size = -1; size < 4; size += 4) {
            itg_attrs a = itg_attrs_default(ops[i]);
            itg_graph *g = graph_of(size < 0 ? &xs : &line);
            a.size = size;
            set_output(g, ADD_OP(g, ops[i], "y", &a, 0));
            assert_refuses(g, size < 0 && i < 2 ? ITG_BAD_FILE : ITG_UNSUPPORTED,
                           size < 0 ? "size" : "rank 2");
            itg_graph_destroy(g);
        }
}

static void sizes_of_a_resize_are_checked(void **state)
{
    (void)state;
    static const struct {
        int64_t sizes[4];
        itg_status status;
        const char *text;
    } cases[] = {{{1, 2, -1, 4}, ITG_BAD_FILE, "size -1 of axis 2"},
                 {{1, 2, (int64_t)1 << 40, 4}, ITG_BAD_FILE, "of axis 2"},
                 {{1, 2, 1 << 28, 1 << 10}, ITG_LIMIT, "too many elements"},
                 {{1, 2, 1 << 25, 1}, ITG_LIMIT, "is too much"}};
    itg_shape xs = dims4(4, 1, 2, 4, 4);
    itg_attrs a = itg_attrs_default(ITG_OP_RESIZE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        itg_graph *g = graph_of(&xs);
        itg_id sizes = add_ints(g, "sizes", 4, cases[i].sizes);
        set_output(g, ADD_OP(g, ITG_OP_RESIZE, "y", &a, 0, ITG_NONE, ITG_NONE, sizes));
        assert_refuses(g, cases[i].status, cases[i].text);
        itg_graph_destroy(g);
    }
    itg_graph *g = graph_of(&xs);
    set_output(g, ADD_OP(g, ITG_OP_RESIZE, "y", &a, 0));
    assert_refuses(g, ITG_BAD_FILE, "either scales or sizes");
    itg_graph_destroy(g);
}

static void weights_that_vary_and_huge_strides_are_refused(void **state)
{
    (void)state;
    itg_shape xs = dims4(4, 1, 2, 3, 3);
    itg_graph *g = graph_of(&xs);
    itg_id w = add_input(g, "w", "2,1,2,2");
    set_output(g, ADD_OP(g, ITG_OP_CONV_TRANSPOSE, "y", NULL, 0, w));
    assert_refuses(g, ITG_UNSUPPORTED, "its weights 'w' is no float32 constant");
    itg_graph_destroy(g);
    itg_attrs a = itg_attrs_default(ITG_OP_CONV_TRANSPOSE);
    xs.dims[2] = xs.dims[3] = 1;
    a.stride[0] = a.stride[1] = 1 << 30;
    g = graph_of(&xs);
    w = put_constant(g, "w", &(itg_shape){.rank = 4, .dims = {2, 1, 2, 2}});
    set_output(g, ADD_OP(g, ITG_OP_CONV_TRANSPOSE, "y", &a, 0, w));
    assert_refuses(g, ITG_LIMIT, "too many phases");
    itg_graph_destroy(g);
}

static void a_composite_operator_is_not_verified(void **state)
{
    (void)state;
    itg_shape xs = dims4(4, 1, 4, 2, 2);
    itg_attrs a = itg_attrs_default(ITG_OP_DEPTH_TO_SPACE);
    itg_error err = {0};
    itg_graph *g = graph_of(&xs);
    a.size = 2;
    set_output(g, ADD_OP(g, ITG_OP_DEPTH_TO_SPACE, "y", &a, 0));
    assert_int_equal(infer_all(g, NULL), ITG_OK);
    assert_int_equal(itg_graph_verify(g, &err), ITG_UNSUPPORTED);
    assert_non_null(strstr(err.message, "composite"));
    itg_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_transpose_adds_kernels),
        cmocka_unit_test(a_stated_shape_decides_the_pads),
        cmocka_unit_test(resize_weighs_neighbours),
        cmocka_unit_test(the_nearest_element_is_gathered),
        cmocka_unit_test(sizes_of_a_resize_follow_the_batch),
        cmocka_unit_test(a_resize_that_keeps_its_input_goes),
        cmocka_unit_test(blocks_move_between_depth_and_space),
        cmocka_unit_test(groups_are_normalized),
        cmocka_unit_test(rows_are_divided_by_their_root_mean_square),
        cmocka_unit_test(channels_are_divided_by_their_neighbours),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(sizes_of_a_resize_are_checked),
        cmocka_unit_test(weights_that_vary_and_huge_strides_are_refused),
        cmocka_unit_test(a_composite_operator_is_not_verified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
