/* Outputs as real numbers, and how far they lie from the float network's: each type, counted and
 * quantized ones, by the definition of sim/distance.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sim/distance.h"

static const float scale = 0.5f;
static const itg_quantizer quantizer = {.scale = &scale, .scale_count = 1, .zero_point = -3};

static const int8_t s8[] = {-128, 0, 127};
static const uint8_t u8[] = {255, 0, 128};
static const int16_t s16[] = {-32768, 1, 32767};
static const uint16_t u16[] = {65535, 1, 32768};
static const int32_t s32[] = {INT32_MIN, 1, 16777216};
static const uint32_t u32[] = {UINT32_MAX, 1, 1u << 31};
static const int64_t s64[] = {-(INT64_C(1) << 40), 1, INT64_C(1) << 41};
static const float f32[] = {-1.5f, 0, 3e38f};
static const double f64[] = {-1.25, 0, 0x1p100};

static const struct {
    itg_dtype dtype;
    const void *data;
    double value[3];
    bool counted; /* without a quantizer */
} types[] = {
    {ITG_S8, s8, {-128, 0, 127}, true},
    {ITG_U8, u8, {255, 0, 128}, true},
    {ITG_BOOL, u8, {255, 0, 128}, true},
    {ITG_S16, s16, {-32768, 1, 32767}, true},
    {ITG_U16, u16, {65535, 1, 32768}, true},
    {ITG_S32, s32, {-0x1p31, 1, 0x1p24}, true},
    {ITG_U32, u32, {0x1p32 - 1, 1, 0x1p31}, true},
    {ITG_S64, s64, {-0x1p40, 1, 0x1p41}, true},
    {ITG_F32, f32, {-1.5, 0, (double)3e38f}, false},
    {ITG_F64, f64, {-1.25, 0, 0x1p100}, false},
};
enum { TYPES = sizeof types / sizeof *types };

static itg_tensor tensor_of(int type)
{
    return (itg_tensor){types[type].dtype, {1, {3}}, (void *)(uintptr_t)types[type].data};
}

static itg_reference reference_of(double *power, float *values)
{
    return (itg_reference){
        .samples = 1, .elements = 3, .output_count = 1, .power = power, .values = values};
}

/* Codes mean scale * (code - zero point); others what they are. Guards stay. */
static void every_type_is_copied_as_real_numbers(void **state)
{
    (void)state;
    for (int t = 0; t < TYPES; t++)
        for (int quantized = 0; quantized < 2; quantized++) {
            if (quantized && !types[t].counted) continue;
            const itg_quantizer *q = quantized ? &quantizer : NULL;
            const itg_tensor tensor = tensor_of(t);
            float out[5] = {42, 42, 42, 42, 42};
            itg_copy_reals(&tensor, &q, 1, out + 1);
            for (int i = 0; i < 3; i++) {
                double v = types[t].value[i];
                if (out[1 + i] != (float)(quantized ? 0.5 * (v + 3) : v))
                    fail_msg("%s, element %d: %g", itg_dtype_name(types[t].dtype), i,
                             (double)out[1 + i]);
            }
            assert_true(out[0] == 42 && out[4] == 42);
            assert_int_equal(itg_real_elements(&tensor, &q, 1), 3);
        }
}

/* Power: squares of what is measured, elements of what is counted. Distance: from oneself none,
 * and of one element that is off by one its square, or one. */
static void power_and_distance_of_every_type(void **state)
{
    (void)state;
    for (int t = 0; t < TYPES; t++) {
        const itg_quantizer *none = NULL;
        const itg_tensor tensor = tensor_of(t);
        double power[1] = {0}, squares = 0, out[2] = {0, 42};
        float values[3];
        itg_reference r = reference_of(power, values);
        for (int i = 0; i < 3; i++)
            squares += types[t].value[i] * types[t].value[i];
        itg_reference_add(&r, 0, &tensor, &none);
        assert_true(power[0] == (types[t].counted ? 3 : squares));
        itg_reference_add(&r, 0, &tensor, &none); /* as much again */
        assert_true(power[0] == (types[t].counted ? 6 : 2 * squares));
        for (int i = 0; i < 3; i++)
            assert_true(values[i] == (float)types[t].value[i]);
        itg_distances(&r, values, &tensor, &none, out);
        assert_true(out[0] == 0 && out[1] == 42);
        values[1] += 4;
        itg_distances(&r, values, &tensor, &none, out);
        assert_true(out[0] == (types[t].counted ? 1 : 16) && out[1] == 42);
    }
}

static void codes_are_measured_at_their_scale(void **state)
{
    (void)state;
    const itg_quantizer *q = &quantizer;
    const itg_tensor tensor = tensor_of(0);
    double power[1] = {0}, out[1] = {0};
    float values[3] = {0};
    itg_reference r = reference_of(power, values);
    itg_reference_add(&r, 0, &tensor, &q); /* -62.5, 1.5, 65 */
    assert_true(power[0] == 62.5 * 62.5 + 1.5 * 1.5 + 65.0 * 65);
    values[0] += 2;
    values[2] -= 3;
    itg_distances(&r, values, &tensor, &q, out);
    assert_true(out[0] == 4 + 9);
}

static void outputs_lie_one_after_another(void **state)
{
    (void)state;
    const itg_quantizer *q[2] = {&quantizer, NULL};
    const itg_tensor tensors[2] = {tensor_of(0), tensor_of(8)};
    float out[6];
    double power[2] = {0}, sums[2] = {0};
    itg_reference r = {
        .samples = 1, .elements = 6, .output_count = 2, .power = power, .values = out};
    itg_reference_add(&r, 0, tensors, q);
    assert_true(out[0] == -62.5f && out[2] == 65 && out[3] == -1.5f && out[5] == 3e38f);
    assert_int_equal(itg_real_elements(tensors, q, 2), 6);
    out[3] = 0;
    itg_distances(&r, out, tensors, q, sums);
    assert_true(sums[0] == 0 && sums[1] == 2.25);
}

static void several_scales_cannot_be_compared(void **state)
{
    (void)state;
    const itg_quantizer channels = {.scale = &scale, .scale_count = 2};
    const itg_quantizer *q[2] = {NULL, &channels};
    const itg_tensor tensors[2] = {tensor_of(8), tensor_of(0)};
    assert_int_equal(itg_real_elements(tensors, q, 1), 3);
    assert_int_equal(itg_real_elements(tensors, q, 2), 0);
}

/* Of one output its share; of several the mean; without power 0 or 1. */
static void distortion_is_the_mean_of_shares(void **state)
{
    (void)state;
    double power[3] = {4, 0, 0};
    itg_reference r = {.output_count = 1, .power = power};
    assert_true(itg_distortion_of(&r, (const double[]){1, 0, 0}) == 0.25);
    r.output_count = 3;
    assert_true(itg_distortion_of(&r, (const double[]){8, 1e-9, 0}) == 1);
    assert_true(itg_distortion_of(&r, (const double[]){0, 0, 0}) == 0);
    assert_true(isnan(itg_distortion_of(&r, (const double[]){0, 0, (double)NAN})));
}

static void what_is_not_finite_is_no_reference(void **state)
{
    (void)state;
    static const double last[] = {1, (double)INFINITY, (double)NAN};
    for (int i = 0; i < 3; i++) {
        itg_backend backend = {.output_count = 2};
        itg_reference r = {0};
        assert_int_equal(itg_reference_init(&backend, 7, 5, &r, NULL), ITG_OK);
        assert_true(r.samples == 7 && r.elements == 5 && r.output_count == 2);
        assert_true(r.values && r.power[0] == 0 && r.power[1] == 0);
        r.power[i % 2] = last[i];
        itg_reference_finish(&r);
        assert_int_equal(r.values != NULL, i == 0);
        assert_int_equal(r.elements, i == 0 ? 5 : 0);
        itg_reference_deinit(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_copied_as_real_numbers),
        cmocka_unit_test(power_and_distance_of_every_type),
        cmocka_unit_test(codes_are_measured_at_their_scale),
        cmocka_unit_test(outputs_lie_one_after_another),
        cmocka_unit_test(several_scales_cannot_be_compared),
        cmocka_unit_test(distortion_is_the_mean_of_shares),
        cmocka_unit_test(what_is_not_finite_is_no_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
