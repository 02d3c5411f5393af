/* Elementwise operators, pools, tables and epilogues of codes against naive loops. */
#include "int_cases.h"
#include "kernels/accel_parts.h"
#include "kernels/block_ops.h"

/* ---- two operands ---- */

static itg_broadcast random_broadcast(itg_rng *rng, int64_t *na, int64_t *nb)
{
    itg_broadcast s;
    memset(&s, 0, sizeof s);
    s.out.rank = (int32_t)between(rng, 0, 4);
    *na = *nb = 1;
    int kind_a = (int)itg_rng_below(rng, 3), kind_b = (int)itg_rng_below(rng, 3);
    for (int32_t d = s.out.rank - 1; d >= 0; d--) {
        s.out.dims[d] = between(rng, 1, 9);
        bool full_a = kind_a == 0 || itg_rng_below(rng, 2),
             full_b = kind_b == 0 || itg_rng_below(rng, 2);
        if (full_a && s.out.dims[d] > 1) s.stride_a[d] = *na, *na *= s.out.dims[d];
        if (full_b && s.out.dims[d] > 1) s.stride_b[d] = *nb, *nb *= s.out.dims[d];
    }
    return s;
}

static void operand_indices(const itg_broadcast *s, int64_t flat, int64_t *ia, int64_t *ib)
{
    *ia = *ib = 0;
    for (int32_t d = s->out.rank - 1; d >= 0; d--) {
        int64_t at = flat % s->out.dims[d];
        flat /= s->out.dims[d];
        *ia += at * s->stride_a[d];
        *ib += at * s->stride_b[d];
    }
}

/* arm_elementwise_add_s8: both inputs shifted left and requantized, then added. */
static wide expected_native(const itg_int_binary *k, int64_t a, int64_t b)
{
    if (k->form == ITG_BINARY_PRODUCT) return (wide)a * b;
    if (k->form == ITG_BINARY_RESCALE) {
        a = itg_requant_apply(&k->ra, a * ((int64_t)1 << k->left_shift));
        b = itg_requant_apply(&k->rb, b * ((int64_t)1 << k->left_shift));
    }
    return k->sign < 0 ? (wide)a - b : (wide)a + b;
}

static void binary_forms_equal_their_formulas(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 25);
    static const itg_binary_form forms[] = {ITG_BINARY_RESCALE, ITG_BINARY_EQUAL,
                                            ITG_BINARY_PRODUCT};
    for (int i = 0; i < 3000; i++) {
        int64_t na, nb, n = 1, ia, ib;
        itg_broadcast s = random_broadcast(&rng, &na, &nb);
        for (int32_t d = 0; d < s.out.rank; d++)
            n *= s.out.dims[d];
        operand a = make_operand(&rng, random_storage(&rng), na, false);
        operand b = make_operand(&rng, random_storage(&rng), nb, false);
        itg_int_binary k = {.form = forms[i % 3],
                            .sign = itg_rng_below(&rng, 2) ? 1 : -1,
                            .left_shift = (int32_t)between(&rng, 0, 20),
                            .ra = random_requant(&rng),
                            .rb = random_requant(&rng),
                            .acc = {(int32_t)between(&rng, 8, 64), itg_rng_below(&rng, 2)
                                                                       ? ITG_OVERFLOW_SATURATE
                                                                       : ITG_OVERFLOW_WRAP}};
        itg_mac_options mac = {k.acc, true, 0, NULL, NULL};
        outputs o = make_outputs(&rng, n, 1);
        itg_int_binary_run(&k, &s, &a.view, &b.view, o.e, OUTPUTS);
        for (int64_t j = 0; j < n; j++) {
            operand_indices(&s, j, &ia, &ib);
            running native = {0, &mac};
            sum_add(&native, expected_native(&k, a.codes[ia] - a.view.zero_point,
                                             b.codes[ib] - b.view.zero_point));
            expect_outputs(&o, j, 0, sum_result(&native));
        }
        free_outputs(&o);
        free_operand(&a);
        free_operand(&b);
    }
}

/* The second operand comes first where the first one alone broadcasts along the innermost axis. */
static bool second_comes_first(const itg_broadcast *s)
{
    int32_t d = s->out.rank - 1;
    while (d > 0 && s->out.dims[d] == 1)
        d--;
    return d >= 0 && s->stride_a[d] == 0 && s->stride_b[d] > 0;
}

static int64_t expected_code(const itg_int_binary *k, bool swapped, int64_t a, int64_t za,
                             int64_t b, int64_t zb)
{
    float sc = k->scale_out[0];
    if (k->form == ITG_BINARY_F32_PRODUCT) {
        itg_f32_mul mul = itg_f32_mul_derive(k->scale_a, k->scale_b, sc, 130);
        return itg_f32_mul_apply(&mul, (a - za) * (b - zb), 0, 255);
    }
    if (k->sign < 0) {
        volatile float u = (float)(a - za) * k->scale_a, v = (float)(b - zb) * k->scale_b,
                       d = u - v;
        return itg_quantize_f32(d, sc, 130, 0, 255);
    }
    itg_f32_add add = swapped ? itg_f32_add_derive(k->scale_b, zb, k->scale_a, za, sc, 130)
                              : itg_f32_add_derive(k->scale_a, za, k->scale_b, zb, sc, 130);
    return itg_f32_add_apply(&add, swapped ? b : a, swapped ? a : b, 0, 255);
}

static float expected_float(const itg_int_binary *k, int64_t a, int64_t b)
{
    volatile float u = (float)a * k->scale_a, v = (float)b * k->scale_b;
    volatile float t = k->form == ITG_BINARY_F32_PRODUCT ? u * v : k->sign < 0 ? u - v : u + v;
    return fminf(fmaxf(t, -1), 6);
}

static void float_forms_equal_onnx_runtime(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 26);
    for (int i = 0; i < 900; i++) {
        int64_t na, nb, n = 1, ia, ib;
        itg_broadcast s = random_broadcast(&rng, &na, &nb);
        for (int32_t d = 0; d < s.out.rank; d++)
            n *= s.out.dims[d];
        operand a = make_operand(&rng, ITG_U8, na, false),
                b = make_operand(&rng, ITG_S8, nb, false);
        float scale_out[2] = {(float)itg_rng_unit(&rng) + 0.01F, 1};
        itg_int_binary k = {.form = i % 3 == 2 ? ITG_BINARY_F32_PRODUCT : ITG_BINARY_F32,
                            .sign = i % 3 == 1 ? -1 : 1,
                            .scale_a = (float)itg_rng_unit(&rng) + 0.01F,
                            .scale_b = (float)itg_rng_unit(&rng) + 0.01F,
                            .scale_out = scale_out};
        uint8_t *codes = buffer(n);
        float *reals = buffer(4 * n);
        itg_epilogue e[2] = {
            {.storage = ITG_U8, .out = codes, .zero_point = 130, .lo = 0, .hi = 255},
            {.storage = ITG_F32, .out = reals, .float_lo = -1, .float_hi = 6}};
        itg_int_binary_run(&k, &s, &a.view, &b.view, e, 2);
        int64_t za = a.view.zero_point, zb = b.view.zero_point;
        for (int64_t j = 0; j < n; j++) {
            operand_indices(&s, j, &ia, &ib);
            assert_int_equal(codes[j], expected_code(&k, second_comes_first(&s), a.codes[ia], za,
                                                     b.codes[ib], zb));
            assert_true(reals[j] == expected_float(&k, a.codes[ia] - za, b.codes[ib] - zb));
        }
        guarded_free(codes);
        guarded_free(reals);
        free_operand(&a);
        free_operand(&b);
    }
}

/* ---- pools, tables, storages ---- */

/* Every element that a window holds, of channel c of an image with channels last. */
typedef struct naive {
    int64_t sum, valid, most;
} naive;

static naive naive_window(const itg_window *w, const operand *x, int64_t c, int64_t p, int64_t q)
{
    naive n = {0, 0, INT64_MIN};
    for (int64_t r = 0; r < w->kernel[0]; r++)
        for (int64_t s = 0; s < w->kernel[1]; s++) {
            int64_t y = p * w->stride[0] - w->pad_top + r * w->dilation[0];
            int64_t z = q * w->stride[1] - w->pad_left + s * w->dilation[1];
            if (y < 0 || y >= w->height || z < 0 || z >= w->width) continue;
            int64_t v = x->codes[(y * w->width + z) * w->channels + c];
            n.sum += v;
            n.valid++;
            if (v > n.most) n.most = v;
        }
    return n;
}

static void pools_equal_naive_windows(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 27);
    for (int i = 0; i < 1000; i++) {
        itg_window w = random_window(&rng);
        w.out_channels = w.channels;
        operand x =
            make_operand(&rng, random_storage(&rng), w.channels * w.height * w.width, false);
        const itg_dtype storage = x.view.storage;
        const int64_t size = (int64_t)itg_dtype_size(storage);
        void *column = buffer(w.width * w.channels * size);
        unsigned char *most = buffer(w.out_width * w.channels * size);
        int32_t *sum = buffer(w.channels * (int64_t)sizeof *sum);
        for (int64_t at = 0; at < w.out_height * w.out_width; at++) {
            const int64_t p = at / w.out_width, q = at % w.out_width;
            int64_t valid = -1;
            if (q == 0) itg_int_pool_max(&w, &x.view, p, column, most);
            if (itg_dtype_size(storage) <= 2) valid = itg_int_pool_sum(&w, &x.view, p, q, sum);
            for (int64_t c = 0; c < w.channels; c++) {
                const naive n = naive_window(&w, &x, c, p, q);
                assert_int_equal(itg_load(storage, most, q * w.channels + c),
                                 n.valid > 0 ? n.most : x.view.qmin);
                if (valid < 0) continue;
                assert_int_equal(valid, n.valid);
                assert_int_equal(sum[c], n.sum);
            }
        }
        guarded_free(most);
        guarded_free(column);
        guarded_free(sum);
        free_operand(&x);
    }
}

/* Of one window in float32, in row-major order. */
static float naive_sum(const itg_window *w, const operand *x, float scale, int64_t c, int64_t p,
                       int64_t q)
{
    volatile float sum = 0;
    for (int64_t k = 0; k < w->kernel[0] * w->kernel[1]; k++) {
        int64_t y = p * w->stride[0] - w->pad_top + k / w->kernel[1] * w->dilation[0];
        int64_t z = q * w->stride[1] - w->pad_left + k % w->kernel[1] * w->dilation[1];
        if (y < 0 || y >= w->height || z < 0 || z >= w->width) continue;
        volatile float term =
            (float)(x->codes[(y * w->width + z) * w->channels + c] - x->view.zero_point) * scale;
        sum = sum + term;
    }
    return sum;
}

static void float_sums_add_in_row_major_order(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 29);
    for (int i = 0; i < 500; i++) {
        itg_window w = random_window(&rng);
        w.out_channels = w.channels;
        operand x =
            make_operand(&rng, i % 2 ? ITG_U8 : ITG_S8, w.channels * w.height * w.width, false);
        float scale = (float)itg_rng_unit(&rng) + 0.01F;
        float *sum = buffer(4 * w.channels);
        for (int64_t at = 0; at < w.out_height * w.out_width; at++) {
            const int64_t p = at / w.out_width, q = at % w.out_width;
            itg_int_pool_sum_f32(&w, &x.view, scale, p, q, sum);
            for (int64_t c = 0; c < w.channels; c++)
                assert_true(sum[c] == naive_sum(&w, &x, scale, c, p, q));
        }
        guarded_free(sum);
        free_operand(&x);
    }
}

static void float_means_become_codes_and_floats(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 33);
    for (int i = 0; i < 500; i++) {
        enum { N = 40 };
        float scale_out = (float)itg_rng_unit(&rng) + 0.01F, mean[N], real[N];
        uint8_t codes[N];
        for (int j = 0; j < N; j++)
            mean[j] = (float)(itg_rng_unit(&rng) * 20 - 10) * (j % 2 ? scale_out : 1);
        itg_epilogue to_codes = {
            .storage = ITG_U8, .out = codes, .zero_point = 77, .lo = 3, .hi = 250};
        itg_epilogue to_floats = {.storage = ITG_F32, .out = real, .float_lo = -2, .float_hi = 5};
        itg_mean_epilogue(mean, N, scale_out, &to_codes);
        itg_mean_epilogue(mean, N, 1, &to_floats);
        for (int j = 0; j < N; j++) {
            volatile float scaled = mean[j] / scale_out, sum = scaled + 77;
            assert_true((float)codes[j] == fminf(fmaxf(rintf(sum), 3), 250));
            assert_true(real[j] == fminf(fmaxf(mean[j], -2), 5));
        }
    }
}

static void tables_are_looked_up_by_code(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 28);
    static const itg_dtype storages[] = {ITG_S8, ITG_U8, ITG_S16, ITG_U16};
    for (int i = 0; i < 64; i++) {
        operand x = make_operand(&rng, storages[i % 4], 300, false);
        int64_t entries = x.view.qmax - x.view.qmin + 1;
        int32_t *table = buffer(4 * entries);
        itg_dtype to = storages[i / 4 % 4];
        for (int64_t j = 0; j < entries; j++)
            table[j] = (int32_t)between(&rng, itg_dtype_min(to), itg_dtype_max(to));
        void *out = buffer(300 * (int64_t)itg_dtype_size(to));
        itg_block_lut(&itg_accel_reference, &(itg_lut){table, 0, to}, &x.view, 300, out);
        for (int64_t j = 0; j < 300; j++)
            assert_int_equal(itg_load(to, out, j), table[x.codes[j] - x.view.qmin]);
        guarded_free(table);
        guarded_free(out);
        free_operand(&x);
    }
}

static void epilogues_follow_the_channel_stride(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 29);
    for (int i = 0; i < 200; i++) {
        int64_t channels = between(&rng, 1, 5), stride = between(&rng, 1, 400), acc[3000];
        int64_t n = between(&rng, 1, 3000);
        if (i % 4 == 0) stride = 1;
        outputs o = make_outputs(&rng, n, channels);
        for (int64_t j = 0; j < n; j++)
            acc[j] = (int64_t)itg_rng_next(&rng) >> itg_rng_below(&rng, 64);
        for (int e = 0; e < OUTPUTS; e++)
            itg_int_epilogue(acc, n, stride, &o.e[e]);
        for (int64_t j = 0; j < n; j++)
            expect_outputs(&o, j, j / stride % channels, acc[j]);
        free_outputs(&o);
    }
}

static void storages_hold_their_extremes(void **state)
{
    (void)state;
    for (int d = 0; d < ITG_DTYPE_COUNT; d++) {
        itg_dtype storage = (itg_dtype)d;
        if (!itg_dtype_is_integer(storage)) continue;
        unsigned char *data = buffer(3 * (int64_t)itg_dtype_size(storage));
        itg_store(storage, data, 2, itg_dtype_min(storage));
        itg_store(storage, data, 1, itg_dtype_max(storage));
        assert_true(itg_load(storage, data, 2) == itg_dtype_min(storage));
        assert_true(itg_load(storage, data, 1) == itg_dtype_max(storage));
        guarded_free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_forms_equal_their_formulas),
        cmocka_unit_test(float_forms_equal_onnx_runtime),
        cmocka_unit_test(pools_equal_naive_windows),
        cmocka_unit_test(float_sums_add_in_row_major_order),
        cmocka_unit_test(float_means_become_codes_and_floats),
        cmocka_unit_test(tables_are_looked_up_by_code),
        cmocka_unit_test(epilogues_follow_the_channel_stride),
        cmocka_unit_test(storages_hold_their_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
