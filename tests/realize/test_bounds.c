/* Bounds against every input there is, refusals, and accumulators that overflow on purpose. */
#include "networks.h"
#include <stdlib.h>

/* x [1,3] of 2-bit codes times w [1,3] with bias: one channel, 64 inputs. */
typedef struct small {
    fixture f;
    int64_t bias;
    float w[6];
} small;

static void make_small(small *s, int64_t bias, const float *w, int32_t acc_bits,
                       itg_overflow overflow)
{
    s->bias = bias;
    memcpy(s->w, w, sizeof s->w);
    s->f = fx_begin("small");
    itg_id x = fx_input(&s->f, "x", SHAPE(1, 3));
    itg_id c = fx_constant(&s->f, "w", ITG_F32, SHAPE(2, 3), s->w);
    itg_id y = fx_node(&s->f, "y", ITG_OP_GEMM, LIST(x, c), SHAPE(1, 2));
    fx_attrs(&s->f, y)->trans_b = true;
    fx_outputs(&s->f, LIST(y));
    fx_annotate(&s->f);
    fx_codes(&s->f, x, ITG_S8, 2, 1, -1);
    fx_codes(&s->f, c, ITG_S8, 8, 1, 0);
    itg_node_note *note = fx_note(&s->f, y, ITG_FORM_MAC, acc_bits);
    note->acc.overflow = overflow;
    int64_t *both = itg_arena_array(s->f.a->arena, 2, sizeof *both);
    assert_non_null(both);
    both[0] = bias;
    both[1] = -bias;
    note->bias = both;
    note->bias_count = 2;
    fx_requant(&s->f, fx_codes(&s->f, y, ITG_S32, 32, 1, 0), (const int64_t[]){1}, 1, 0);
    fx_finish(&s->f);
}

/* Sum of one input of all 64 (each x - z in -1..2); every partial sum goes into *lo and *hi. */
static int64_t exhaust(const small *s, int channel, int input, int64_t *lo, int64_t *hi)
{
    int64_t acc = channel == 0 ? s->bias : -s->bias;
    if (acc < *lo) *lo = acc;
    if (acc > *hi) *hi = acc;
    for (int i = 0; i < 3; i++) {
        acc += (int64_t)s->w[channel * 3 + i] * (input >> (2 * i) & 3) -
               (int64_t)s->w[channel * 3 + i];
        if (acc < *lo) *lo = acc;
        if (acc > *hi) *hi = acc;
    }
    return acc;
}

static void bounds_are_the_extremes_of_all_inputs(void **state)
{
    static const float weights[6] = {7, -5, 3, -100, 127, 1};
    (void)state;
    small s;
    make_small(&s, 11, weights, 16, ITG_OVERFLOW_WRAP);
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (int i = 0; i < 128; i++)
        exhaust(&s, i / 64, i % 64, &lo, &hi);
    itg_bound *bounds = NULL;
    int32_t count = 0;
    assert_int_equal(itg_bounds_of(s.f.a, &bounds, &count, NULL), ITG_OK);
    assert_int_equal(count, 1);
    assert_int_equal(bounds[0].lo, lo);
    assert_int_equal(bounds[0].hi, hi);
    assert_true(bounds[0].fits);
    assert_int_equal(bounds[0].acc.bits, 16);
    free(bounds);
    fx_end(&s.f);
}

static void overflow_is_refused_by_name_and_width(void **state)
{
    static const float weights[6] = {60, 50, 20, 0, 0, 0};
    (void)state;
    small s;
    make_small(&s, 0, weights, 8, ITG_OVERFLOW_WRAP);
    itg_program *p = NULL;
    itg_error err;
    assert_int_equal(itg_realize_program(s.f.a, NULL, &p, &err), ITG_UNBOUNDED);
    assert_null(p);
    /* codes -2..1, zero point -1: x - z in -1..2; hi = 2 * 130 */
    assert_non_null(strstr(
        err.message, "node 'n_y': accumulator needs 10 bits for [-130,260], the hardware has 8"));
    fx_end(&s.f);
}

static int64_t wrapped(int64_t v)
{
    return ((v + 128) % 256 + 256) % 256 - 128;
}

static void allowed_overflow_is_simulated(void **state)
{
    static const float weights[6] = {60, 50, -100, 90, -70, 40};
    static const itg_overflow behaviours[2] = {ITG_OVERFLOW_WRAP, ITG_OVERFLOW_SATURATE};
    (void)state;
    for (int b = 0; b < 2; b++) {
        small s;
        make_small(&s, 30, weights, 8, behaviours[b]);
        itg_program *p = NULL;
        itg_realize_options options = {ITG_REALIZE_OPTIONS_VERSION, true};
        assert_int_equal(itg_realize_program(s.f.a, &options, &p, NULL), ITG_OK);
        single *instance = fx_instance(p);
        int differing = 0;
        for (int input = 0; input < 64; input++) {
            for (int i = 0; i < 3; i++)
                ((float *)single_input(instance, 0))[i] = (float)((input >> (2 * i) & 3) - 1);
            fx_run(instance);
            for (int c = 0; c < 2; c++) {
                int64_t lo = 0, hi = 0, exact = exhaust(&s, c, input, &lo, &hi),
                        acc = c == 0 ? s.bias : -s.bias;
                for (int i = 0; i < 3; i++)
                    acc = limited(acc + (int64_t)weights[c * 3 + i] * ((input >> (2 * i) & 3) - 1),
                                  -128, 127);
                if (b == 0) acc = wrapped(exact);
                differing += acc != exact;
                assert_int_equal(((const int32_t *)single_output(instance, 0).data)[c], acc);
            }
        }
        assert_true(differing > 10);
        single_destroy(instance);
        itg_program_destroy(p);
        fx_end(&s.f);
    }
}

static void elementwise_bounds_are_corner_values(void **state)
{
    (void)state;
    fixture f = net_elements();
    itg_program *p = fx_program(&f);
    int32_t count = 0;
    const itg_bound *bounds = itg_program_bounds(p, &count);
    assert_int_equal(count, 5); /* all but the float addition */
    int64_t x_lo = -128 - 9, x_hi = 127 - 9, y_lo = -130, y_hi = 255 - 130;
    assert_int_equal(bounds[0].lo, half_up(x_lo * 256, 5, 4) + half_up(y_lo * 256, 7, 6));
    assert_int_equal(bounds[0].hi, half_up(x_hi * 256, 5, 4) + half_up(y_hi * 256, 7, 6));
    assert_int_equal(bounds[1].lo, x_lo - x_hi);
    assert_int_equal(bounds[1].hi, x_hi - x_lo);
    assert_int_equal(bounds[2].lo, x_lo * 63); /* a constant's codes are any of its quantizer's */
    assert_int_equal(bounds[2].hi, x_lo * -64);
    assert_int_equal(bounds[3].lo, x_lo);
    assert_int_equal(bounds[3].hi, x_hi);
    itg_program_destroy(p);
    fx_end(&f);
}

static void pool_bounds_take_the_largest_count(void **state)
{
    (void)state;
    fixture f = net_pools();
    itg_program *p = fx_program(&f);
    int32_t count = 0;
    const itg_bound *bounds = itg_program_bounds(p, &count);
    assert_int_equal(count, 3);
    const int64_t counts[3] = {9, 42, 21};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bounds[i].lo, (-128 + 20) * counts[i]);
        assert_int_equal(bounds[i].hi, (127 + 20) * counts[i]);
    }
    itg_program_destroy(p);
    fx_end(&f);
}

/* 32-bit codes times 32-bit codes: one product alone leaves 63 bits. */
static void bounds_beyond_64_bits_saturate_and_are_refused(void **state)
{
    (void)state;
    fixture f = fx_begin("wide");
    itg_id x = fx_input(&f, "x", SHAPE(1, 8)), y = fx_input(&f, "y", SHAPE(8, 1));
    itg_id z = fx_node(&f, "z", ITG_OP_MATMUL, LIST(x, y), SHAPE(1, 1));
    fx_outputs(&f, LIST(z));
    fx_annotate(&f);
    fx_codes(&f, x, ITG_S32, 32, 1, 0);
    fx_codes(&f, y, ITG_S32, 32, 1, 0);
    fx_note(&f, z, ITG_FORM_MAC, 64);
    fx_requant(&f, fx_codes(&f, z, ITG_S32, 32, 1, 0), (const int64_t[]){1}, 1, 62);
    fx_finish(&f);
    itg_program *p = NULL;
    itg_error err;
    assert_int_equal(itg_realize_program(f.a, NULL, &p, &err), ITG_UNBOUNDED);
    assert_non_null(strstr(err.message, "more than 64 bits"));
    fx_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_the_extremes_of_all_inputs),
        cmocka_unit_test(overflow_is_refused_by_name_and_width),
        cmocka_unit_test(allowed_overflow_is_simulated),
        cmocka_unit_test(elementwise_bounds_are_corner_values),
        cmocka_unit_test(pool_bounds_take_the_largest_count),
        cmocka_unit_test(bounds_beyond_64_bits_saturate_and_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
