/* Convolutions and matrix products of codes against naive loops with 128-bit sums, over random
 * geometries, storages, zero points and outputs. */
#include "int_cases.h"

/* ---- convolution ---- */

static void check_conv(const itg_window *w, const operand *x, const operand *k,
                       const itg_mac_options *mac, const outputs *o)
{
    int64_t cg = w->channels / w->group, kg = w->out_channels / w->group, at = 0;
    for (int64_t n = 0; n < w->out_channels; n++)
        for (int64_t p = 0; p < w->out_height; p++)
            for (int64_t q = 0; q < w->out_width; q++, at++) {
                running s = {0, mac};
                sum_add(&s, mac->bias ? mac->bias[n] : 0);
                for (int64_t c = 0; c < cg; c++)
                    for (int64_t r = 0; r < w->kernel[0]; r++)
                        for (int64_t t = 0; t < w->kernel[1]; t++) {
                            int64_t y = p * w->stride[0] - w->pad_top + r * w->dilation[0];
                            int64_t z = q * w->stride[1] - w->pad_left + t * w->dilation[1];
                            if (y < 0 || y >= w->height || z < 0 || z >= w->width) continue;
                            int64_t channel = n / kg * cg + c;
                            wide a = x->codes[(channel * w->height + y) * w->width + z];
                            wide b = k->codes[((n * cg + c) * w->kernel[0] + r) * w->kernel[1] + t];
                            sum_add(&s, (a - x->view.zero_point) * (b - k->view.zero_point));
                        }
                expect_outputs(o, at, n, sum_result(&s));
            }
}

static void convolutions_equal_naive_sums(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 21);
    for (int i = 0; i < 1500; i++) {
        itg_window w = random_window(&rng);
        int64_t depth = w.channels / w.group * w.kernel[0] * w.kernel[1];
        operand x =
            make_operand(&rng, random_storage(&rng), w.channels * w.height * w.width, false);
        operand k = make_operand(&rng, random_storage(&rng), w.out_channels * depth,
                                 itg_rng_below(&rng, 4) != 0);
        int64_t *bias;
        itg_mac_options mac = make_mac(&rng, &x, &k, depth, w.out_channels, &bias);
        outputs o = make_outputs(&rng, w.out_channels * w.out_height * w.out_width, w.out_channels);
        void *scratch = buffer((int64_t)itg_int_conv_scratch(&w));
        itg_int_conv(&w, &x.view, &k.view, &mac, o.e, OUTPUTS, scratch);
        check_conv(&w, &x, &k, &mac, &o);
        free(scratch);
        free(bias);
        free_outputs(&o);
        free_operand(&x);
        free_operand(&k);
    }
}

static void a_large_convolution_takes_several_blocks(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 22);
    const itg_window w = {70, 20, 21, 9, 20, 21, {3, 3}, {1, 1}, {1, 1}, 1, 1, 1};
    operand x = make_operand(&rng, ITG_U8, 70 * 20 * 21, false);
    operand k = make_operand(&rng, ITG_S8, 9 * 70 * 9, true);
    const itg_mac_options mac = {{32, ITG_OVERFLOW_WRAP}, false, 630 * 255 * 128, NULL};
    outputs o = make_outputs(&rng, 9 * 20 * 21, 9);
    void *scratch = buffer((int64_t)itg_int_conv_scratch(&w));
    itg_int_conv(&w, &x.view, &k.view, &mac, o.e, OUTPUTS, scratch);
    check_conv(&w, &x, &k, &mac, &o);
    free(scratch);
    free_outputs(&o);
    free_operand(&x);
    free_operand(&k);
}

static void vast_padding_takes_no_vast_memory(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 31);
    const int64_t step = (int64_t)1 << 33;
    for (int i = 0; i < 8; i++) {
        itg_window w = {2, 3, 3, 4, 5, 5, {2, 2}, {step, step}, {1, 1}, 2 * step, 2 * step, 2};
        if (i % 2) w.stride[1] = 1, w.pad_left = 1;
        if (i / 2 % 2) w.dilation[0] = step;
        operand x = make_operand(&rng, ITG_U8, 2 * 3 * 3, false);
        operand k = make_operand(&rng, ITG_S8, 4 * 2 * 2, true);
        const itg_mac_options mac = {{32, ITG_OVERFLOW_WRAP}, false, 4 * 255 * 128, NULL};
        outputs o = make_outputs(&rng, 4 * 5 * 5, 4);
        assert_true(itg_int_conv_scratch(&w) < 100000);
        void *scratch = buffer((int64_t)itg_int_conv_scratch(&w));
        itg_int_conv(&w, &x.view, &k.view, &mac, o.e, OUTPUTS, scratch);
        check_conv(&w, &x, &k, &mac, &o);
        free(scratch);
        free_outputs(&o);
        free_operand(&x);
        free_operand(&k);
    }
}

/* ---- matrix product ---- */

typedef struct product {
    int64_t m, n, k;
    bool transposed;
} product;

static void check_matmul(const product *t, const operand *a, const operand *b,
                         const itg_mac_options *mac, const outputs *o)
{
    for (int64_t m = 0; m < t->m; m++)
        for (int64_t n = 0; n < t->n; n++) {
            running s = {0, mac};
            sum_add(&s, mac->bias ? mac->bias[n] : 0);
            for (int64_t k = 0; k < t->k; k++) {
                wide u = a->codes[m * t->k + k] - a->view.zero_point;
                wide v = b->codes[t->transposed ? n * t->k + k : k * t->n + n] - b->view.zero_point;
                sum_add(&s, u * v);
            }
            expect_outputs(o, m * t->n + n, n, sum_result(&s));
        }
}

static void matrix_products_equal_naive_sums(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 23);
    for (int i = 0; i < 1500; i++) {
        product t = {between(&rng, 1, 9), between(&rng, 1, 9), between(&rng, 1, 80),
                     itg_rng_below(&rng, 2)};
        if (i % 50 == 0) t.n = between(&rng, 60, 150), t.m = 5;
        operand a = make_operand(&rng, random_storage(&rng), t.m * t.k, false);
        operand b = make_operand(&rng, random_storage(&rng), t.n * t.k, itg_rng_below(&rng, 2));
        int64_t *bias;
        itg_mac_options mac = make_mac(&rng, &a, &b, t.k, t.n, &bias);
        outputs o = make_outputs(&rng, t.m * t.n, t.n);
        void *scratch = buffer((int64_t)itg_int_matmul_scratch(t.m, t.n, t.k));
        itg_int_matmul(t.m, t.n, t.k, &a.view, &b.view, t.transposed, &mac, o.e, OUTPUTS, scratch);
        check_matmul(&t, &a, &b, &mac, &o);
        free(scratch);
        free(bias);
        free_outputs(&o);
        free_operand(&a);
        free_operand(&b);
    }
}

static void sixteen_by_eight_bits_take_sums_beyond_32_bits(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 24);
    static const itg_dtype storages[][2] = {
        {ITG_S16, ITG_S8}, {ITG_S16, ITG_S16}, {ITG_U16, ITG_S8}};
    for (int i = 0; i < 6; i++) {
        const product t = {5, 6, 3001, true};
        operand a = make_operand(&rng, storages[i / 2][0], t.m * t.k, i % 2 == 0);
        operand b = make_operand(&rng, storages[i / 2][1], t.n * t.k, true);
        a.view.qmin = itg_dtype_min(a.view.storage), a.view.qmax = itg_dtype_max(a.view.storage);
        b.view.qmin = itg_dtype_min(b.view.storage), b.view.qmax = itg_dtype_max(b.view.storage);
        for (int64_t j = 0; j < t.m * t.k; j++) {
            a.codes[j] = a.view.qmin;
            itg_store(a.view.storage, (void *)(uintptr_t)a.view.data, j, a.codes[j]);
        }
        for (int64_t j = 0; j < t.n * t.k; j++) {
            b.codes[j] = b.view.qmin;
            itg_store(b.view.storage, (void *)(uintptr_t)b.view.data, j, b.codes[j]);
        }
        const itg_mac_options mac = {
            {64, ITG_OVERFLOW_WRAP}, false, t.k * reach(&a) * reach(&b), NULL};
        outputs o = make_outputs(&rng, t.m * t.n, t.n);
        void *scratch = buffer((int64_t)itg_int_matmul_scratch(t.m, t.n, t.k));
        itg_int_matmul(t.m, t.n, t.k, &a.view, &b.view, true, &mac, o.e, OUTPUTS, scratch);
        check_matmul(&t, &a, &b, &mac, &o);
        free(scratch);
        free_outputs(&o);
        free_operand(&a);
        free_operand(&b);
    }
}

/* Products of 32-bit codes fill 62 bits, so that two of them pass the ends of 63 and 64 bits. */
static void wide_accumulators_overflow_as_stated(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 30);
    int64_t extremes[] = {INT32_MAX, -INT32_MAX, INT32_MAX - 1, 0, 1};
    for (int i = 0; i < 200; i++) {
        const product t = {2, 2, 7, true};
        operand a = make_operand(&rng, ITG_S32, t.m * t.k, true);
        operand b = make_operand(&rng, ITG_S32, t.n * t.k, true);
        a.view.qmin = b.view.qmin = -INT32_MAX;
        a.view.qmax = b.view.qmax = INT32_MAX;
        for (int64_t j = 0; j < t.m * t.k; j++) {
            a.codes[j] = extremes[itg_rng_below(&rng, 5)];
            b.codes[j] = extremes[itg_rng_below(&rng, 5)];
            itg_store(ITG_S32, (void *)(uintptr_t)a.view.data, j, a.codes[j]);
            itg_store(ITG_S32, (void *)(uintptr_t)b.view.data, j, b.codes[j]);
        }
        const itg_mac_options mac = {
            {62 + i % 3, i % 2 ? ITG_OVERFLOW_SATURATE : ITG_OVERFLOW_WRAP}, true, INT64_MAX, NULL};
        outputs o = make_outputs(&rng, t.m * t.n, t.n);
        void *scratch = buffer((int64_t)itg_int_matmul_scratch(t.m, t.n, t.k));
        itg_int_matmul(t.m, t.n, t.k, &a.view, &b.view, true, &mac, o.e, OUTPUTS, scratch);
        check_matmul(&t, &a, &b, &mac, &o);
        free(scratch);
        free_outputs(&o);
        free_operand(&a);
        free_operand(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_equal_naive_sums),
        cmocka_unit_test(a_large_convolution_takes_several_blocks),
        cmocka_unit_test(vast_padding_takes_no_vast_memory),
        cmocka_unit_test(matrix_products_equal_naive_sums),
        cmocka_unit_test(sixteen_by_eight_bits_take_sums_beyond_32_bits),
        cmocka_unit_test(wide_accumulators_overflow_as_stated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
