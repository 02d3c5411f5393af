/* oneDNN's kernels against the reference: a sum of n products in any order lies within
 * 2 (n + 1) 2^-24 times the sum of the products' magnitudes of any other order. */
#include "float_cases.h"
#include "kernels/f32_onednn.h"

enum { CASES = 300 };

typedef struct trial {
    itg_op op;
    itg_attrs attrs;
    itg_tensor in[3], out;
    int in_count;
    bool is_constant[3];
    int64_t terms; /* of one sum */
} trial;

static bool is_built(void)
{
    if (itg_float_kernels_built(ITG_FLOAT_ONEDNN)) return true;
    print_message("built without oneDNN: skipped\n");
    return false;
}

static void add_input(trial *t, itg_rng *rng, const int64_t *dims, int rank, bool is_constant)
{
    t->in[t->in_count] = make(ITG_F32, dims, rank);
    fill_random(&t->in[t->in_count], rng, 2.0f);
    t->is_constant[t->in_count++] = is_constant;
}

static int64_t outputs_of(int64_t size, const itg_attrs *a, int d)
{
    return (size + a->pad[d] + a->pad[d + 2] - (a->kernel[d] - 1) * a->dilation[d] - 1) /
               a->stride[d] +
           1;
}

/* Groups, depthwise, strides, dilations, uneven pads, one or two dimensions. */
static trial random_conv(itg_rng *rng)
{
    trial t = {.op = ITG_OP_CONV, .attrs = attributes()};
    itg_attrs *a = &t.attrs;
    const bool flat = itg_rng_below(rng, 5) == 0;
    const int64_t kind = between(rng, 0, 3);
    const int64_t groups = kind == 0 ? between(rng, 2, 40) : kind == 1 ? between(rng, 2, 4) : 1;
    const int64_t in = kind == 0 ? 1 : between(rng, 1, 20), out = between(rng, 1, kind ? 40 : 2);
    for (int d = flat; d < 2; ++d) {
        a->kernel[d] = between(rng, 1, 5);
        a->stride[d] = between(rng, 1, 3);
        a->dilation[d] = between(rng, 1, 3);
        a->pad[d] = between(rng, 0, 3);
        a->pad[d + 2] = between(rng, 0, 3);
    }
    a->group = groups;
    const int64_t h = flat ? 1 : between(rng, 13, 30), w = between(rng, 13, 30);
    const int64_t p = outputs_of(h, a, 0), q = outputs_of(w, a, 1);
    const int64_t n = between(rng, 1, 2);
    if (flat) {
        add_input(&t, rng, DIMS(n, in * groups, w), false);
        add_input(&t, rng, DIMS(out * groups, in, a->kernel[1]), true);
        t.out = make(ITG_F32, DIMS(n, out * groups, q));
    } else {
        add_input(&t, rng, DIMS(n, in * groups, h, w), false);
        add_input(&t, rng, DIMS(out * groups, in, a->kernel[0], a->kernel[1]), true);
        t.out = make(ITG_F32, DIMS(n, out * groups, p, q));
    }
    if (itg_rng_below(rng, 3)) add_input(&t, rng, DIMS(out * groups), true);
    t.terms = in * a->kernel[0] * a->kernel[1] + 1;
    return t;
}

static trial random_gemm(itg_rng *rng)
{
    trial t = {.op = ITG_OP_GEMM, .attrs = attributes()};
    const int64_t m = between(rng, 1, 20), n = between(rng, 1, 70), k = between(rng, 1, 200);
    t.attrs.trans_a = itg_rng_below(rng, 2);
    t.attrs.trans_b = itg_rng_below(rng, 2);
    add_input(&t, rng, t.attrs.trans_a ? (int64_t[]){k, m} : (int64_t[]){m, k}, 2, false);
    add_input(&t, rng, t.attrs.trans_b ? (int64_t[]){n, k} : (int64_t[]){k, n}, 2,
              itg_rng_below(rng, 2));
    const int64_t bias = between(rng, 0, 3);
    if (bias == 1) add_input(&t, rng, DIMS(n), true);
    if (bias == 2) add_input(&t, rng, DIMS(1, n), true);
    if (bias == 3) add_input(&t, rng, DIMS(m, 1), true);
    t.out = make(ITG_F32, DIMS(m, n));
    t.terms = k + 1;
    return t;
}

/* A stack times one matrix, a stack times a stack, a stack broadcast over another. */
static trial random_matmul(itg_rng *rng)
{
    trial t = {.op = ITG_OP_MATMUL, .attrs = attributes()};
    const int64_t m = between(rng, 1, 20), n = between(rng, 1, 40), k = between(rng, 1, 90);
    const int64_t a = between(rng, 1, 3), b = between(rng, 1, 3), kind = between(rng, 0, 2);
    add_input(&t, rng, DIMS(a, b, m, k), false);
    if (kind == 0) add_input(&t, rng, DIMS(k, n), itg_rng_below(rng, 2));
    if (kind == 1) add_input(&t, rng, DIMS(a, b, k, n), false);
    if (kind == 2) add_input(&t, rng, DIMS(b, k, n), false);
    if (itg_rng_below(rng, 2)) add_input(&t, rng, DIMS(n), true);
    t.out = make(ITG_F32, DIMS(a, b, m, n));
    t.terms = k + 1;
    return t;
}

static void drop_trial(trial *t)
{
    for (int i = 0; i < t->in_count; ++i)
        drop(&t->in[i]);
    drop(&t->out);
}

/* out = the reference's result on inputs, or on their magnitudes. */
static void by_reference(const trial *t, bool magnitudes, itg_tensor *out)
{
    itg_tensor in[3];
    for (int i = 0; i < t->in_count; ++i) {
        in[i] = make(ITG_F32, t->in[i].shape.dims, t->in[i].shape.rank);
        for (int64_t k = 0; k < count_of(&in[i]); ++k) {
            const float x = ((const float *)t->in[i].data)[k];
            ((float *)in[i].data)[k] = magnitudes ? fabsf(x) : x;
        }
    }
    run(t->op, &t->attrs, in, t->in_count, out);
    for (int i = 0; i < t->in_count; ++i)
        drop(&in[i]);
}

static void check_result(const trial *t)
{
    itg_tensor want = make(ITG_F32, t->out.shape.dims, t->out.shape.rank);
    itg_tensor size = make(ITG_F32, t->out.shape.dims, t->out.shape.rank);
    by_reference(t, false, &want);
    by_reference(t, true, &size);
    for (int64_t i = 0; i < count_of(&want); ++i) {
        const double bound =
            2 * (double)(t->terms + 1) * 0x1p-24 * (double)((const float *)size.data)[i];
        const double got = (double)((const float *)t->out.data)[i],
                     expected = (double)((const float *)want.data)[i];
        if (!(fabs(got - expected) <= bound))
            fail_msg("%s: element %lld is %.9g, reference %.9g, bound %.3g", itg_op_name(t->op),
                     (long long)i, got, expected, bound);
    }
    drop(&want);
    drop(&size);
}

/* Runs twice, the second time on new data: nothing of what is not constant was kept. */
static void check_trial(itg_onednn *context, trial *t, itg_rng *rng)
{
    itg_onednn_node *node = NULL;
    itg_error err = {.message = ""};
    if (itg_onednn_prepare(context, t->op, &t->attrs, t->in, t->is_constant, t->in_count, &t->out,
                           &node, &err) != ITG_OK)
        fail_msg("%s", err.message);
    assert_non_null(node);
    for (int pass = 0; pass < 2; ++pass) {
        if (itg_onednn_run(context, node, &err) != ITG_OK) fail_msg("%s", err.message);
        check_result(t);
        for (int i = 0; i < t->in_count; ++i)
            if (!t->is_constant[i]) fill_random(&t->in[i], rng, 3.0f);
    }
    itg_onednn_release(node);
}

static void check_random(trial (*random)(itg_rng *rng), uint64_t seed)
{
    itg_onednn *context = NULL;
    itg_rng rng;
    if (!is_built()) return;
    itg_rng_init(&rng, seed);
    assert_int_equal(itg_onednn_create(&context, NULL), ITG_OK);
    for (int i = 0; i < CASES; ++i) {
        trial t = random(&rng);
        check_trial(context, &t, &rng);
        drop_trial(&t);
    }
    itg_onednn_destroy(context);
}

static void convolutions_are_near_the_reference(void **state)
{
    (void)state;
    check_random(random_conv, 11);
}

static void gemm_is_near_the_reference(void **state)
{
    (void)state;
    check_random(random_gemm, 12);
}

static void matmul_is_near_the_reference(void **state)
{
    (void)state;
    check_random(random_matmul, 13);
}

static void what_it_does_not_compute_is_left_to_the_reference(void **state)
{
    (void)state;
    itg_onednn *context = NULL;
    itg_onednn_node *node = NULL;
    float x[4] = {0}, w[4] = {0}, y[4] = {0};
    const bool is_constant[3] = {false, true, true};
    itg_attrs attrs = attributes();
    if (!is_built()) return;
    assert_int_equal(itg_onednn_create(&context, NULL), ITG_OK);
    const itg_tensor in[2] = {view(ITG_F32, x, DIMS(2, 2)), view(ITG_F32, w, DIMS(2, 2))};
    const itg_tensor out = view(ITG_F32, y, DIMS(2, 2));
    attrs.alpha = 2.0f;
    assert_int_equal(
        itg_onednn_prepare(context, ITG_OP_GEMM, &attrs, in, is_constant, 2, &out, &node, NULL),
        ITG_OK);
    assert_int_equal(
        itg_onednn_prepare(context, ITG_OP_ADD, &attrs, in, is_constant, 2, &out, &node, NULL),
        ITG_OK);
    const itg_tensor image = view(ITG_F32, x, DIMS(1, 1, 2, 2)),
                     wrong[2] = {image, view(ITG_F32, w, DIMS(1, 1, 1, 3))};
    assert_int_equal(itg_onednn_prepare(context, ITG_OP_CONV, &attrs, wrong, is_constant, 2, &image,
                                        &node, NULL),
                     ITG_OK);
    assert_null(node);
    itg_onednn_destroy(context);
}

static void a_build_without_it_says_so(void **state)
{
    itg_onednn *context = NULL;
    itg_error err = {.message = ""};
    itg_float_kernels kernels = ITG_FLOAT_KERNELS_COUNT;
    (void)state;
    assert_true(itg_float_kernels_from_name("onednn", &kernels) && kernels == ITG_FLOAT_ONEDNN);
    assert_false(itg_float_kernels_from_name("mkl", &kernels));
    assert_true(itg_float_kernels_built(ITG_FLOAT_REFERENCE));
    if (itg_float_kernels_built(ITG_FLOAT_ONEDNN)) return;
    assert_int_equal(itg_onednn_create(&context, &err), ITG_UNSUPPORTED);
    assert_non_null(strstr(err.message, "oneDNN"));
    assert_null(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_are_near_the_reference),
        cmocka_unit_test(gemm_is_near_the_reference),
        cmocka_unit_test(matmul_is_near_the_reference),
        cmocka_unit_test(what_it_does_not_compute_is_left_to_the_reference),
        cmocka_unit_test(a_build_without_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
