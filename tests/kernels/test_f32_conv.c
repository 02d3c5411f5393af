/* Convolution: the same bits as sums in the stated order, over random geometries; the same numbers
 * as the formula in double. */
#include "float_cases.h"
#include <math.h>

typedef struct geometry {
    int64_t batch, group, in, out; /* channels of one group */
    int64_t h, w, r, s, stride[2], dilation[2], pad[4];
} geometry;

typedef struct conv_case {
    itg_attrs attrs;
    itg_tensor in[3], out, want;
    geometry g;
} conv_case;

static int64_t out_size(int64_t size, int64_t begin, int64_t end, int64_t kernel, int64_t stride,
                        int64_t dilation)
{
    const int64_t room = size + begin + end - (kernel - 1) * dilation - 1;
    return room < 0 ? 0 : room / stride + 1;
}

/* False: the window does not fit. */
static bool build(conv_case *c, const geometry *g, itg_rng *rng)
{
    const int64_t p = out_size(g->h, g->pad[0], g->pad[2], g->r, g->stride[0], g->dilation[0]);
    const int64_t q = out_size(g->w, g->pad[1], g->pad[3], g->s, g->stride[1], g->dilation[1]);
    if (p < 1 || q < 1) return false;
    c->g = *g;
    c->attrs = attributes();
    c->attrs.spatial_rank = 2;
    c->attrs.group = g->group;
    c->attrs.kernel[0] = g->r;
    c->attrs.kernel[1] = g->s;
    for (int d = 0; d < 2; ++d) {
        c->attrs.stride[d] = g->stride[d];
        c->attrs.dilation[d] = g->dilation[d];
    }
    memcpy(c->attrs.pad, g->pad, sizeof g->pad);
    c->in[0] = make(ITG_F32, DIMS(g->batch, g->group * g->in, g->h, g->w));
    c->in[1] = make(ITG_F32, DIMS(g->group * g->out, g->in, g->r, g->s));
    c->in[2] = make(ITG_F32, DIMS(g->group * g->out));
    c->out = make(ITG_F32, DIMS(g->batch, g->group * g->out, p, q));
    c->want = make(ITG_F32, DIMS(g->batch, g->group * g->out, p, q));
    for (int i = 0; i < 3; ++i)
        fill_random(&c->in[i], rng, 2.0f);
    return true;
}

static void destroy(conv_case *c)
{
    for (int i = 0; i < 3; ++i)
        drop(&c->in[i]);
    drop(&c->out);
    drop(&c->want);
}

/* The definition, tap by tap with a test for padding at each. In double it is the formula alone. */
static void naive(conv_case *c, bool in_double)
{
    const geometry *g = &c->g;
    const float *x = c->in[0].data, *weight = c->in[1].data, *bias = c->in[2].data;
    const int64_t *dims = c->want.shape.dims;
    float *y = c->want.data;
    for (int64_t n = 0; n < g->batch; ++n)
        for (int64_t k = 0; k < dims[1]; ++k)
            for (int64_t p = 0; p < dims[2]; ++p)
                for (int64_t q = 0; q < dims[3]; ++q) {
                    float sum = (bias ? bias[k] : 0.0f) + 0.0f;
                    double exact = (double)sum;
                    for (int64_t i = 0; i < g->in; ++i)
                        for (int64_t r = 0; r < g->r; ++r)
                            for (int64_t s = 0; s < g->s; ++s) {
                                const int64_t h = p * g->stride[0] - g->pad[0] + r * g->dilation[0];
                                const int64_t w = q * g->stride[1] - g->pad[1] + s * g->dilation[1];
                                if (h < 0 || h >= g->h || w < 0 || w >= g->w) continue;
                                const int64_t channel = k / g->out * g->in + i;
                                const float a =
                                    x[((n * dims[1] / g->out * g->in + channel) * g->h + h) * g->w +
                                      w];
                                const float b = weight[((k * g->in + i) * g->r + r) * g->s + s];
                                sum = fmaf(a, b, sum);
                                exact += (double)a * (double)b;
                            }
                    *y++ = in_double ? (float)exact : sum;
                }
}

static void check(conv_case *c)
{
    naive(c, false);
    run(ITG_OP_CONV, &c->attrs, c->in, 3, &c->out);
    assert_same_bits(&c->out, &c->want);
}

static void random_geometry(geometry *g, itg_rng *rng)
{
    g->batch = between(rng, 1, 2);
    g->group = itg_rng_below(rng, 3) == 0 ? between(rng, 2, 5) : 1;
    g->in = itg_rng_below(rng, 4) == 0 ? 1 : between(rng, 1, 9);
    g->out = itg_rng_below(rng, 4) == 0 ? 1 : between(rng, 1, 21);
    g->h = between(rng, 1, 19);
    g->w = between(rng, 1, 40);
    g->r = between(rng, 1, 5);
    g->s = between(rng, 1, 5);
    for (int d = 0; d < 2; ++d) {
        g->stride[d] = between(rng, 1, 4);
        g->dilation[d] = between(rng, 1, 3);
    }
    for (int i = 0; i < 4; ++i)
        g->pad[i] = between(rng, 0, 4);
}

static void random_geometries_give_the_bits_of_the_stated_order(void **state)
{
    itg_rng rng;
    int done = 0;
    (void)state;
    itg_rng_init(&rng, 1);
    while (done < 1500) {
        geometry g;
        conv_case c;
        random_geometry(&g, &rng);
        if (!build(&c, &g, &rng)) continue;
        check(&c);
        destroy(&c);
        ++done;
    }
}

static void usual_layers_give_the_bits_of_the_stated_order(void **state)
{
    static const geometry layers[] = {
        {1, 1, 64, 64, 32, 32, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {1, 1, 3, 16, 32, 32, 3, 3, {2, 2}, {1, 1}, {0, 0, 1, 1}},
        {1, 32, 1, 1, 33, 31, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {1, 24, 1, 2, 14, 14, 5, 5, {2, 2}, {1, 1}, {1, 2, 2, 1}},
        {1, 1, 48, 20, 9, 9, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}},
        {1, 1, 16, 33, 9, 9, 1, 1, {2, 2}, {1, 1}, {0, 0, 0, 0}},
        {1, 1, 40, 10, 1, 1, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}},
        {1, 1, 2, 3, 1, 90, 1, 7, {1, 3}, {1, 2}, {0, 5, 0, 6}},
        {1, 1, 3, 3, 6, 6, 3, 3, {1, 1}, {6, 6}, {6, 6, 6, 6}},
        {1, 1, 1, 1, 1, 1, 3, 3, {1, 1}, {1, 1}, {9, 9, 9, 9}},
    };
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 2);
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; ++i) {
        conv_case c;
        assert_true(build(&c, &layers[i], &rng));
        check(&c);
        destroy(&c);
    }
}

static void numbers_are_those_of_the_formula(void **state)
{
    static const geometry g = {2, 2, 5, 7, 9, 11, 3, 2, {2, 1}, {1, 2}, {1, 0, 2, 1}};
    itg_rng rng;
    conv_case c;
    (void)state;
    itg_rng_init(&rng, 3);
    assert_true(build(&c, &g, &rng));
    naive(&c, true);
    run(ITG_OP_CONV, &c.attrs, c.in, 3, &c.out);
    for (int64_t i = 0; i < count_of(&c.out); ++i)
        assert_true(fabsf(((float *)c.out.data)[i] - ((float *)c.want.data)[i]) < 1e-4f);
    destroy(&c);
}

/* Padding adds nothing, so infinite weights never meet its zeros. */
static void padding_never_meets_an_infinite_weight(void **state)
{
    static const geometry layers[] = {
        {1, 1, 2, 9, 6, 6, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}},
        {1, 1, 16, 9, 4, 4, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}}, /* fewer outputs than weights */
    };
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 4);
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; ++i) {
        conv_case c;
        assert_true(build(&c, &layers[i], &rng));
        ((float *)c.in[1].data)[0] = INFINITY;
        check(&c);
        assert_true(isfinite(((float *)c.out.data)[0]));
        destroy(&c);
    }
}

/* With finite weights, an input that is no number reaches the outputs that read it, and no other.
 */
static void an_input_that_is_nan_stays_where_it_is_read(void **state)
{
    static const geometry g = {1, 1, 2, 9, 6, 6, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}};
    itg_rng rng;
    conv_case c;
    (void)state;
    itg_rng_init(&rng, 8);
    assert_true(build(&c, &g, &rng));
    ((float *)c.in[0].data)[7] = NAN;
    naive(&c, false);
    run(ITG_OP_CONV, &c.attrs, c.in, 3, &c.out);
    for (int64_t i = 0; i < count_of(&c.out); ++i) {
        const float got = ((float *)c.out.data)[i], want = ((float *)c.want.data)[i];
        assert_true(isnan(want) ? isnan(got) : memcmp(&got, &want, sizeof got) == 0);
    }
    destroy(&c);
}

static void a_bias_of_minus_zero_starts_at_plus_zero(void **state)
{
    static const geometry g = {1, 1, 1, 9, 3, 3, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}};
    itg_rng rng;
    conv_case c;
    (void)state;
    itg_rng_init(&rng, 5);
    assert_true(build(&c, &g, &rng));
    for (int64_t i = 0; i < count_of(&c.in[0]); ++i)
        ((float *)c.in[0].data)[i] = -0.0f;
    for (int64_t i = 0; i < count_of(&c.in[2]); ++i)
        ((float *)c.in[2].data)[i] = -0.0f;
    check(&c);
    for (int64_t i = 0; i < count_of(&c.out); ++i)
        assert_false(signbit(((float *)c.out.data)[i]));
    destroy(&c);
}

static void an_absent_bias_is_zero(void **state)
{
    static const geometry g = {1, 1, 3, 5, 7, 7, 3, 3, {1, 1}, {1, 1}, {0, 0, 0, 0}};
    itg_rng rng;
    conv_case c;
    (void)state;
    itg_rng_init(&rng, 6);
    assert_true(build(&c, &g, &rng));
    drop(&c.in[2]);
    naive(&c, false);
    run(ITG_OP_CONV, &c.attrs, c.in, 2, &c.out);
    assert_same_bits(&c.out, &c.want);
    destroy(&c);
}

static void one_dimension_is_a_height_of_one(void **state)
{
    static const geometry g = {2, 1, 3, 5, 1, 17, 1, 4, {1, 2}, {1, 2}, {0, 3, 0, 1}};
    itg_rng rng;
    conv_case c;
    (void)state;
    itg_rng_init(&rng, 8);
    assert_true(build(&c, &g, &rng));
    naive(&c, false);
    itg_tensor in[3] = {view(ITG_F32, c.in[0].data, DIMS(2, 3, 17)),
                        view(ITG_F32, c.in[1].data, DIMS(5, 3, 4)), c.in[2]};
    itg_tensor out = view(ITG_F32, c.out.data, DIMS(2, 5, c.want.shape.dims[3]));
    run(ITG_OP_CONV, &c.attrs, in, 3, &out);
    assert_same_bits(&c.out, &c.want);
    destroy(&c);
}

/* Pads that no input needs must not be copied: the definition runs in place. */
static void huge_pads_and_strides_take_no_memory(void **state)
{
    static const geometry g = {
        1, 1, 2, 2, 3, 3, 2, 2, {300000, 300000}, {400000, 1}, {399999, 600000, 0, 0}};
    itg_rng rng;
    conv_case c;
    (void)state;
    itg_rng_init(&rng, 9);
    assert_true(build(&c, &g, &rng));
    check(&c);
    destroy(&c);
}

static void what_does_not_fit_is_refused(void **state)
{
    static const geometry g = {1, 2, 2, 3, 7, 7, 3, 3, {1, 1}, {1, 1}, {0, 0, 0, 0}};
    itg_rng rng;
    conv_case c;
    itg_error err;
    (void)state;
    itg_rng_init(&rng, 10);
    assert_true(build(&c, &g, &rng));
    itg_attrs bad = c.attrs;
    bad.group = 3;
    assert_int_equal(itg_float_eval(ITG_OP_CONV, &bad, c.in, 3, &c.out, 1, &err), ITG_BAD_ARGUMENT);
    bad = c.attrs;
    bad.kernel[1] = 2;
    assert_int_equal(itg_float_eval(ITG_OP_CONV, &bad, c.in, 3, &c.out, 1, &err), ITG_BAD_ARGUMENT);
    bad = c.attrs;
    bad.stride[0] = INT64_MAX;
    assert_int_equal(itg_float_eval(ITG_OP_CONV, &bad, c.in, 3, &c.out, 1, &err), ITG_BAD_ARGUMENT);
    itg_tensor in[3] = {c.in[0], c.in[1], c.in[2]};
    in[2].shape.dims[0] = 5;
    assert_int_equal(itg_float_eval(ITG_OP_CONV, &c.attrs, in, 3, &c.out, 1, &err),
                     ITG_BAD_ARGUMENT);
    in[1].dtype = ITG_S32;
    assert_int_equal(itg_float_eval(ITG_OP_CONV, &c.attrs, in, 3, &c.out, 1, &err),
                     ITG_UNSUPPORTED);
    destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_geometries_give_the_bits_of_the_stated_order),
        cmocka_unit_test(usual_layers_give_the_bits_of_the_stated_order),
        cmocka_unit_test(numbers_are_those_of_the_formula),
        cmocka_unit_test(padding_never_meets_an_infinite_weight),
        cmocka_unit_test(an_input_that_is_nan_stays_where_it_is_read),
        cmocka_unit_test(a_bias_of_minus_zero_starts_at_plus_zero),
        cmocka_unit_test(an_absent_bias_is_zero),
        cmocka_unit_test(one_dimension_is_a_height_of_one),
        cmocka_unit_test(huge_pads_and_strides_take_no_memory),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
