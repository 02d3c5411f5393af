/* Pooling against sums and maxima that visit each padded position. */
#include "float_cases.h"

typedef struct pool_case {
    itg_attrs attrs;
    itg_tensor x, y;
} pool_case;

static int64_t extent(itg_rng *rng, int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                      int64_t begin, int64_t end)
{
    const int64_t room = size + begin + end - (kernel - 1) * dilation - 1;
    if (room < 0) return 0;
    int64_t out = room / stride + 1;
    /* ceil_mode: one more window, as long as it starts inside input or leading pads */
    if (itg_rng_below(rng, 2) && room % stride && out * stride - begin < size) ++out;
    return out;
}

static bool build(pool_case *c, itg_rng *rng)
{
    itg_attrs a = attributes();
    int64_t size[2], out[2];
    a.spatial_rank = 2;
    a.count_include_pad = itg_rng_below(rng, 2) != 0;
    for (int d = 0; d < 2; ++d) {
        a.kernel[d] = between(rng, 1, 4);
        a.stride[d] = between(rng, 1, 4);
        a.dilation[d] = between(rng, 1, 2);
        a.pad[d] = between(rng, 0, a.kernel[d] - 1);
        a.pad[d + 2] = between(rng, 0, a.kernel[d] - 1);
        size[d] = between(rng, 1, 13);
        out[d] =
            extent(rng, size[d], a.kernel[d], a.stride[d], a.dilation[d], a.pad[d], a.pad[d + 2]);
        if (out[d] < 1) return false;
    }
    c->attrs = a;
    c->x = make(ITG_F32, DIMS(2, 3, size[0], size[1]));
    c->y = make(ITG_F32, DIMS(2, 3, out[0], out[1]));
    fill_random(&c->x, rng, 5.0f);
    return true;
}

/* Maximum and average of one window. */
static void window(const pool_case *c, int64_t plane, int64_t p, int64_t q, double *most,
                   double *average)
{
    const itg_attrs *a = &c->attrs;
    const int64_t h = c->x.shape.dims[2], w = c->x.shape.dims[3];
    const float *x = (const float *)c->x.data + plane * h * w;
    double sum = 0.0;
    int64_t count = 0;
    *most = -INFINITY;
    for (int64_t r = 0; r < a->kernel[0]; ++r)
        for (int64_t s = 0; s < a->kernel[1]; ++s) {
            const int64_t i = p * a->stride[0] - a->pad[0] + r * a->dilation[0];
            const int64_t j = q * a->stride[1] - a->pad[1] + s * a->dilation[1];
            const bool inside = i >= 0 && i < h && j >= 0 && j < w;
            const bool in_pads = i < h + a->pad[2] && j < w + a->pad[3];
            if (inside) {
                sum += (double)x[i * w + j];
                if ((double)x[i * w + j] > *most) *most = (double)x[i * w + j];
            }
            count += a->count_include_pad ? in_pads : inside;
        }
    *average = count ? sum / (double)count : 0.0;
}

static void check(itg_op op, pool_case *c)
{
    const int64_t rows = c->y.shape.dims[2], columns = c->y.shape.dims[3];
    const float *y = c->y.data;
    run(op, &c->attrs, &c->x, 1, &c->y);
    for (int64_t i = 0; i < count_of(&c->y); ++i) {
        double most, average;
        window(c, i / (rows * columns), i / columns % rows, i % columns, &most, &average);
        assert_true(y[i] == (float)(op == ITG_OP_MAX_POOL ? most : average));
    }
}

static void windows_of_every_geometry_agree(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 1);
    for (int i = 0; i < 3000; ++i) {
        pool_case c;
        if (!build(&c, &rng)) continue;
        check(i % 2 ? ITG_OP_MAX_POOL : ITG_OP_AVERAGE_POOL, &c);
        drop(&c.x);
        drop(&c.y);
    }
}

static void global_pools_agree(void **state)
{
    itg_rng rng;
    itg_attrs attrs = attributes();
    (void)state;
    itg_rng_init(&rng, 2);
    itg_tensor x = make(ITG_F32, DIMS(2, 5, 3, 7)), y = make(ITG_F32, DIMS(2, 5, 1, 1));
    fill_random(&x, &rng, 3.0f);
    for (int64_t c = 0; c < 10; ++c) {
        double sum = 0.0;
        float most = -INFINITY;
        for (int64_t i = 0; i < 21; ++i) {
            const float value = ((float *)x.data)[c * 21 + i];
            sum += (double)value;
            most = value > most ? value : most;
        }
        run(ITG_OP_GLOBAL_AVERAGE_POOL, &attrs, &x, 1, &y);
        assert_true(((float *)y.data)[c] == (float)(sum / 21.0));
        run(ITG_OP_GLOBAL_MAX_POOL, &attrs, &x, 1, &y);
        assert_true(((float *)y.data)[c] == most);
    }
    drop(&x);
    drop(&y);
}

static void indices_are_refused(void **state)
{
    float x[4] = {0}, y[1];
    int64_t where[1];
    itg_attrs attrs = attributes();
    itg_error err;
    (void)state;
    attrs.kernel[0] = attrs.kernel[1] = 2;
    const itg_tensor in = view(ITG_F32, x, DIMS(1, 1, 2, 2));
    itg_tensor out[2] = {view(ITG_F32, y, DIMS(1, 1, 1, 1)),
                         view(ITG_S64, where, DIMS(1, 1, 1, 1))};
    assert_int_equal(itg_float_eval(ITG_OP_MAX_POOL, &attrs, &in, 1, out, 2, &err),
                     ITG_UNSUPPORTED);
    out[1].data = NULL;
    assert_int_equal(itg_float_eval(ITG_OP_MAX_POOL, &attrs, &in, 1, out, 2, &err), ITG_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_every_geometry_agree),
        cmocka_unit_test(global_pools_agree),
        cmocka_unit_test(indices_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
