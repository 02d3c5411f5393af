/* Windows over volumes against their formulas, and what is refused. */
#include "expansion.h"
#include <math.h>
#include <stdlib.h>

/* A window along each dimension: the depth, the height, the width. */
typedef struct window {
    int64_t kernel[3], stride[3], dilation[3], first[3], last[3];
} window;

static itg_shape volume(int64_t n, int64_t c, const int64_t size[3])
{
    return (itg_shape){.rank = 5, .dims = {n, c, size[0], size[1], size[2]}};
}

static window pick_window(bool is_pool)
{
    window w;
    for (int i = 0; i < 3; ++i) {
        w.kernel[i] = pick(1, 3);
        w.stride[i] = pick(1, 3);
        w.dilation[i] = pick(1, 2);
        w.first[i] = pick(0, is_pool ? w.kernel[i] - 1 : 3);
        w.last[i] = pick(0, is_pool ? w.kernel[i] - 1 : 2);
    }
    return w;
}

static itg_attrs attrs_of(itg_op op, const window *w)
{
    itg_attrs a = itg_attrs_default(op);
    const int64_t depth[] = {w->kernel[0], w->stride[0], w->dilation[0], w->first[0], w->last[0]};
    memcpy(a.depth, depth, sizeof depth);
    for (int i = 0; i < 2; ++i) {
        a.kernel[i] = w->kernel[1 + i];
        a.stride[i] = w->stride[1 + i];
        a.dilation[i] = w->dilation[1 + i];
        a.pad[i] = w->first[1 + i];
        a.pad[2 + i] = w->last[1 + i];
    }
    return a;
}

/* The results along each dimension; what does not fit is made to. */
static void results(window *w, const int64_t in[3], int64_t out[3])
{
    for (int i = 0; i < 3; ++i) {
        int64_t room = in[i] + w->first[i] + w->last[i] - (w->kernel[i] - 1) * w->dilation[i] - 1;
        if (room < 0) {
            w->dilation[i] = 1;
            room = in[i] + w->first[i] + w->last[i] - w->kernel[i];
        }
        out[i] = room / w->stride[i] + 1;
    }
}

/* Where tap k of result i lies in the volume; -1: in the padding. */
static int64_t element(const window *w, const int64_t in[3], const int64_t out[3], int64_t i,
                       int64_t k)
{
    const int64_t at[] = {i / out[2] / out[1], i / out[2] % out[1], i % out[2]};
    const int64_t tap[] = {k / w->kernel[2] / w->kernel[1], k / w->kernel[2] % w->kernel[1],
                           k % w->kernel[2]};
    int64_t index = 0;
    for (int d = 0; d < 3; ++d) {
        int64_t p = at[d] * w->stride[d] + tap[d] * w->dilation[d] - w->first[d];
        if (p < 0 || p >= in[d]) return -1;
        index = index * in[d] + p;
    }
    return index;
}

static int64_t product(const int64_t v[3])
{
    return v[0] * v[1] * v[2];
}

static void a_convolution_sums_boxes(void **state)
{
    (void)state;
    start_picks();
    for (int round = 0; round < 150; ++round) {
        const int64_t in[] = {pick(3, 5), pick(3, 5), pick(3, 6)}, group = pick(1, 2);
        const int64_t inputs = pick(1, 2), outputs = pick(1, 2), n = pick(1, 2);
        int64_t out[3];
        window w = pick_window(false);
        results(&w, in, out);
        itg_attrs a = attrs_of(ITG_OP_CONV_3D, &w);
        a.group = group;
        const itg_shape xs = volume(n, inputs * group, in),
                        ws = volume(outputs * group, inputs, w.kernel),
                        bs = {.rank = 1, .dims = {outputs * group}};
        itg_graph *g = graph_of(&xs);
        itg_id weights = put_constant(g, "w", &ws), bias = put_constant(g, "b", &bs);
        set_output(g, ADD_OP(g, ITG_OP_CONV_3D, "y", &a, 0, weights, bias));
        float *x = numbers_of_x(&xs);
        const float *wd = constant_of(g, "w"), *b = constant_of(g, "b");
        const int64_t taps = product(w.kernel), size = product(out), channels = outputs * group;
        double *y = malloc((size_t)(n * channels * size) * sizeof *y);
        for (int64_t j = 0; j < n * channels * size; ++j) {
            const int64_t m = j / size % channels;
            y[j] = (double)b[m];
            for (int64_t c = 0; c < inputs; ++c)
                for (int64_t k = 0; k < taps; ++k) {
                    const int64_t at = element(&w, in, out, j % size, k);
                    const int64_t from =
                        j / size / channels * inputs * group + m / outputs * inputs + c;
                    if (at >= 0)
                        y[j] += (double)x[from * product(in) + at] *
                                (double)wd[(m * inputs + c) * taps + k];
                }
        }
        assert_gives(g, y, n * channels * size);
        free(x);
        free(y);
        itg_graph_destroy(g);
    }
}

static double pooled(itg_op op, bool with_pads, const window *w, const int64_t in[3],
                     const int64_t out[3], int64_t i, const float *x)
{
    double most = -INFINITY, sum = 0;
    int64_t count = 0, taps = product(w->kernel);
    for (int64_t k = 0; k < taps; ++k) {
        const int64_t at = element(w, in, out, i, k);
        if (at < 0) continue;
        most = fmax(most, (double)x[at]);
        sum += (double)x[at];
        count++;
    }
    return op == ITG_OP_MAX_POOL_3D ? most : sum / (double)(with_pads ? taps : count);
}

static void pools_take_boxes(void **state)
{
    (void)state;
    start_picks();
    for (int round = 0; round < 200; ++round) {
        const itg_op op = round % 2 ? ITG_OP_MAX_POOL_3D : ITG_OP_AVERAGE_POOL_3D;
        const int64_t in[] = {pick(3, 5), pick(3, 5), pick(3, 6)}, n = 1, channels = pick(1, 3);
        int64_t out[3];
        window w = pick_window(true);
        for (int i = 0; i < 3; ++i)
            w.dilation[i] = 1; /* a dilated window may lie in the padding alone */
        results(&w, in, out);
        itg_attrs a = attrs_of(op, &w);
        a.count_include_pad = round % 4 == 0;
        const itg_shape xs = volume(n, channels, in);
        itg_graph *g = graph_of(&xs);
        set_output(g, ADD_OP(g, op, "y", &a, 0));
        float *x = numbers_of_x(&xs);
        const int64_t size = product(out);
        double *y = malloc((size_t)(channels * size) * sizeof *y);
        for (int64_t j = 0; j < channels * size; ++j)
            y[j] =
                pooled(op, a.count_include_pad, &w, in, out, j % size, x + j / size * product(in));
        assert_gives(g, y, channels * size);
        free(x);
        free(y);
        itg_graph_destroy(g);
    }
}

static void refuse(itg_op op, const itg_shape *xs, const itg_shape *ws, const itg_attrs *a,
                   itg_status status, const char *text)
{
    itg_graph *g = graph_of(xs);
    set_output(g,
               ws ? ADD_OP(g, op, "y", a, 0, put_constant(g, "w", ws)) : ADD_OP(g, op, "y", a, 0));
    assert_refuses(g, status, text);
    itg_graph_destroy(g);
}

static void windows_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const int64_t four[] = {4, 4, 4}, deep[] = {5, 1, 1}, one[] = {1, 1, 1};
    const itg_shape xs = volume(1, 2, four), ws = volume(3, 2, deep), other = volume(3, 1, one);
    const itg_shape image = dims4(4, 1, 2, 4, 4);
    itg_attrs a = itg_attrs_default(ITG_OP_CONV_3D);
    a.depth[0] = a.depth[3] = a.depth[4] = 0;
    refuse(ITG_OP_CONV_3D, &xs, &ws, &a, ITG_BAD_FILE, "larger than its padded input [1,4]");
    refuse(ITG_OP_CONV_3D, &xs, &other, &a, ITG_BAD_FILE, "do not fit input");
    refuse(ITG_OP_CONV_3D, &image, &ws, &a, ITG_BAD_FILE, "expected [N,C,D,H,W]");
    a.depth[0] = 2;
    refuse(ITG_OP_CONV_3D, &xs, &ws, &a, ITG_BAD_FILE, "kernel_shape has depth 2, its weights 5");
    a = itg_attrs_default(ITG_OP_MAX_POOL_3D);
    a.kernel[0] = a.kernel[1] = 1;
    refuse(ITG_OP_MAX_POOL_3D, &xs, NULL, &a, ITG_BAD_FILE, "pads must be smaller");
    a.depth[1] = 0;
    refuse(ITG_OP_MAX_POOL_3D, &xs, NULL, &a, ITG_BAD_FILE, "must be positive");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_sums_boxes),
        cmocka_unit_test(pools_take_boxes),
        cmocka_unit_test(windows_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
