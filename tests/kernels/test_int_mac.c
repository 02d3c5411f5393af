/* The reference kernels against naive loops with 128-bit sums, over random
 * geometries, storages, zero points and outputs. */
#include "int_cases.h"

/* ---- convolution ---- */

static size_t conv(const itg_window *w, const operand *x, const operand *k,
                   const itg_mac_options *mac, const outputs *o)
{
    const itg_accel_problem p = {.window = *w, .w = k->view, .mac = *mac};
    return run_reference(p, &x->view, 1, false, o->e, OUTPUTS);
}

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
        (void)conv(&w, &x, &k, &mac, &o);
        check_conv(&w, &x, &k, &mac, &o);
        guarded_free(bias);
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
    const itg_mac_options mac = {{32, ITG_OVERFLOW_WRAP}, false, 630 * 255 * 128, NULL, NULL};
    outputs o = make_outputs(&rng, 9 * 20 * 21, 9);
    (void)conv(&w, &x, &k, &mac, &o);
    check_conv(&w, &x, &k, &mac, &o);
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
        const itg_mac_options mac = {{32, ITG_OVERFLOW_WRAP}, false, 4 * 255 * 128, NULL, NULL};
        outputs o = make_outputs(&rng, 4 * 5 * 5, 4);
        assert_true(conv(&w, &x, &k, &mac, &o) < 100000);
        check_conv(&w, &x, &k, &mac, &o);
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

static void matmul(const product *t, const operand *a, const operand *b, const itg_mac_options *mac,
                   const outputs *o)
{
    const itg_accel_problem p = {.window = itg_accel_matmul_window(t->m, t->n, t->k),
                                 .w = b->view,
                                 .w_rows = !t->transposed,
                                 .mac = *mac};
    (void)run_reference(p, &a->view, 1, true, o->e, OUTPUTS);
}

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
        matmul(&t, &a, &b, &mac, &o);
        check_matmul(&t, &a, &b, &mac, &o);
        guarded_free(bias);
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
            {64, ITG_OVERFLOW_WRAP}, false, t.k * reach(&a) * reach(&b), NULL, NULL};
        outputs o = make_outputs(&rng, t.m * t.n, t.n);
        matmul(&t, &a, &b, &mac, &o);
        check_matmul(&t, &a, &b, &mac, &o);
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
            {62 + i % 3, i % 2 ? ITG_OVERFLOW_SATURATE : ITG_OVERFLOW_WRAP},
            true,
            INT64_MAX,
            NULL,
            NULL};
        outputs o = make_outputs(&rng, t.m * t.n, t.n);
        matmul(&t, &a, &b, &mac, &o);
        check_matmul(&t, &a, &b, &mac, &o);
        free_outputs(&o);
        free_operand(&a);
        free_operand(&b);
    }
}

/* ---- sums in parts ---- */

typedef struct parts {
    int64_t end[64], shift[64];
    itg_sum_split split;
} parts;

static void random_parts(itg_rng *rng, int64_t terms, int64_t channels, parts *p)
{
    int32_t count = 0;
    for (int64_t k = 1; k < terms && count < 60; k++)
        if (itg_rng_below(rng, 4) == 0) p->end[count++] = k;
    p->end[count++] = terms;
    bool one = itg_rng_below(rng, 3) == 0 || channels > 64;
    for (int64_t c = 0; c < (one ? 1 : channels); c++)
        p->shift[c] = between(rng, 0, 9);
    p->split = (itg_sum_split){count,
                               p->end,
                               one ? 1 : (int32_t)channels,
                               p->shift,
                               (itg_rounding)itg_rng_below(rng, ITG_ROUNDING_COUNT),
                               62};
}

/* terms: (code - zero) products in order */
static int64_t join(const parts *p, const int64_t *terms, int64_t bias, int64_t channel)
{
    int32_t shift = (int32_t)p->shift[p->split.shift_count == 1 ? 0 : channel];
    int64_t divisor = (int64_t)1 << shift, k = 0,
            sum = itg_round_divide(bias, divisor, p->split.rounding);
    for (int32_t i = 0; i < p->split.part_count; i++) {
        int64_t part = 0;
        while (k < p->end[i])
            part += terms[k++];
        sum += itg_round_divide(part, divisor, p->split.rounding);
    }
    return sum;
}

static void convolutions_in_parts_join_them(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 31);
    for (int i = 0; i < 300; i++) {
        itg_window w = random_window(&rng);
        int64_t cg = w.channels / w.group, kg = w.out_channels / w.group;
        int64_t depth = cg * w.kernel[0] * w.kernel[1], at = 0, terms[256];
        operand x = make_operand(&rng, ITG_S16, w.channels * w.height * w.width, false);
        operand k = make_operand(&rng, random_storage(&rng), w.out_channels * depth, true);
        int64_t *bias;
        itg_mac_options mac = make_mac(&rng, &x, &k, depth, w.out_channels, &bias);
        parts p;
        random_parts(&rng, depth, w.out_channels, &p);
        mac.split = &p.split;
        mac.may_overflow = true;
        outputs o = make_outputs(&rng, w.out_channels * w.out_height * w.out_width, w.out_channels);
        (void)conv(&w, &x, &k, &mac, &o);
        for (int64_t n = 0; n < w.out_channels; n++)
            for (int64_t pixel = 0; pixel < w.out_height * w.out_width; pixel++, at++) {
                for (int64_t d = 0; d < depth; d++) {
                    int64_t area = w.kernel[0] * w.kernel[1], c = n / kg * cg + d / area;
                    int64_t r = d % area / w.kernel[1], t = d % w.kernel[1];
                    int64_t y = pixel / w.out_width * w.stride[0] - w.pad_top + r * w.dilation[0];
                    int64_t z = pixel % w.out_width * w.stride[1] - w.pad_left + t * w.dilation[1];
                    bool inside = y >= 0 && y < w.height && z >= 0 && z < w.width;
                    int64_t code = inside ? x.codes[(c * w.height + y) * w.width + z] : 0;
                    terms[d] = inside ? (code - x.view.zero_point) *
                                            (k.codes[n * depth + d] - k.view.zero_point)
                                      : 0;
                }
                expect_outputs(&o, at, n, join(&p, terms, bias ? bias[n] : 0, n));
            }
        guarded_free(bias);
        free_outputs(&o);
        free_operand(&x);
        free_operand(&k);
    }
}

static void matrix_products_in_parts_join_them(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 32);
    for (int i = 0; i < 300; i++) {
        int64_t m = between(&rng, 1, 9), n = between(&rng, 1, 64), depth = between(&rng, 1, 90);
        bool transposed = itg_rng_below(&rng, 2);
        int64_t terms[256], *bias;
        operand a = make_operand(&rng, random_storage(&rng), m * depth, false);
        operand b = make_operand(&rng, ITG_S8, n * depth, false);
        itg_mac_options mac = make_mac(&rng, &a, &b, depth, n, &bias);
        parts p;
        random_parts(&rng, depth, n, &p);
        mac.split = &p.split;
        mac.may_overflow = true;
        outputs o = make_outputs(&rng, m * n, n);
        matmul(&(product){m, n, depth, transposed}, &a, &b, &mac, &o);
        for (int64_t at = 0; at < m * n; at++) {
            for (int64_t d = 0; d < depth; d++)
                terms[d] =
                    (a.codes[at / n * depth + d] - a.view.zero_point) *
                    (b.codes[transposed ? at % n * depth + d : d * n + at % n] - b.view.zero_point);
            expect_outputs(&o, at, at % n, join(&p, terms, bias ? bias[at % n] : 0, at % n));
        }
        guarded_free(bias);
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
        cmocka_unit_test(convolutions_in_parts_join_them),
        cmocka_unit_test(matrix_products_in_parts_join_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
