/* Preprocessing against float32 results worked out beforehand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "sim/sim.h"

static char path[] = "images.npy";

static itg_dataset dataset(itg_dtype dtype, itg_shape shape, void *data)
{
    return (itg_dataset){.dtype = dtype, .shape = shape, .data = data, .path = path};
}

static itg_status fits(const itg_preprocess *p, const itg_dataset *data, const itg_shape *shape,
                       itg_error *err)
{
    const itg_tensor input = {ITG_F32, *shape, NULL};
    return itg_preprocess_check(p, data, &input, err);
}

static void take(const itg_preprocess *p, const itg_dataset *data, int64_t sample,
                 const itg_shape *shape, float *out)
{
    const itg_tensor input = {ITG_F32, *shape, out};
    assert_int_equal(itg_preprocess_sample(p, data, sample, &input, NULL), ITG_OK);
}

static void ratios_are_divided_in_double_and_rounded_once(void **state)
{
    (void)state;
    float v[4] = {0};
    int32_t n = 0;
    assert_int_equal(itg_preprocess_parse_list("1/255", v, 1, &n, NULL), ITG_OK);
    assert_int_equal(n, 1);
    assert_true(v[0] == 0x1.010102p-8f);
    /* float32(0.1)/float32(0.3) would be 0x1.555554p-2 */
    assert_int_equal(itg_preprocess_parse_list("0.1/0.3, 0.1,-2.5e1", v, 4, &n, NULL), ITG_OK);
    assert_int_equal(n, 3);
    assert_true(v[0] == 0x1.555556p-2f && v[1] == 0x1.99999ap-4f && v[2] == -25.0f);
}

static void what_is_no_list_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",     ",",   "1,",  "1,,2",  "x",    "1/0",
                                      "0/0",  "1/",  "/2",  "1/2/3", "nan",  "inf",
                                      "1e39", "1;2", "1 2", "0x",    "1e999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        float v = 42.0f;
        int32_t n = 7;
        assert_int_equal(itg_preprocess_parse_list(bad[i], &v, 1, &n, NULL), ITG_BAD_ARGUMENT);
        assert_true(v == 42.0f && n == 7);
    }
    float v[2];
    int32_t n;
    assert_int_equal(itg_preprocess_parse_list("1,2,3", v, 2, &n, NULL), ITG_BAD_ARGUMENT);
}

static itg_preprocess cifar(void)
{
    itg_preprocess p = itg_preprocess_default();
    int32_t n;
    assert_int_equal(itg_preprocess_parse_list("1/255", &p.scale, 1, &n, NULL), ITG_OK);
    assert_int_equal(
        itg_preprocess_parse_list("0.4914,0.4822,0.4465", p.mean, 16, &p.mean_count, NULL), ITG_OK);
    assert_int_equal(
        itg_preprocess_parse_list("0.2470,0.2435,0.2616", p.std, 16, &p.std_count, NULL), ITG_OK);
    return p;
}

static void every_operation_is_rounded_in_the_stated_order(void **state)
{
    (void)state;
    /* pixels for which fusing, folding and multiplying by 1/std each give other bits */
    uint8_t pixels[3] = {41, 114, 95};
    const float expected[3] = {-0x1.56a996p+0f, -0x1.278f92p-3f, -0x1.2178c2p-2f};
    float out[3];
    itg_preprocess p = cifar();
    itg_dataset data = dataset(ITG_U8, (itg_shape){4, {1, 3, 1, 1}}, pixels);
    assert_int_equal(fits(&p, &data, &data.shape, NULL), ITG_OK);
    take(&p, &data, 0, &data.shape, out);
    for (int i = 0; i < 3; i++)
        assert_true(out[i] == expected[i]);
}

static void nhwc_transposes_and_bgr_reverses_before_the_mean(void **state)
{
    (void)state;
    /* sample 1 of [2,3,1,2] */
    uint8_t pixels[12] = {0, 0, 0, 0, 0, 0, 10, 11, 20, 21, 30, 31};
    float out[6];
    const itg_shape nhwc = {4, {1, 1, 2, 3}}, nchw = {4, {1, 3, 1, 2}};
    itg_preprocess p = itg_preprocess_default();
    p.mean_count = 3;
    p.mean[0] = 1.0f;
    p.mean[1] = 2.0f;
    p.mean[2] = 3.0f;
    itg_dataset data = dataset(ITG_U8, (itg_shape){4, {2, 3, 1, 2}}, pixels);
    p.layout = ITG_SAMPLES_NCHW;
    assert_int_equal(fits(&p, &data, &nhwc, NULL), ITG_OK);
    take(&p, &data, 1, &nhwc, out);
    const float transposed[6] = {9, 18, 27, 10, 19, 28};
    assert_memory_equal(out, transposed, sizeof out);
    p.bgr = true;
    take(&p, &data, 1, &nhwc, out);
    const float both[6] = {29, 18, 7, 30, 19, 8};
    assert_memory_equal(out, both, sizeof out);
    p.layout = ITG_SAMPLES_SAME;
    assert_int_equal(fits(&p, &data, &nchw, NULL), ITG_OK);
    take(&p, &data, 1, &nchw, out);
    const float reversed[6] = {29, 30, 18, 19, 7, 8};
    assert_memory_equal(out, reversed, sizeof out);
}

static void every_dtype_becomes_float32(void **state)
{
    (void)state;
    uint8_t u8 = 255;
    int8_t s8 = -128;
    uint16_t u16 = 65535;
    int16_t s16 = -32768;
    int32_t s32 = 16777217; /* not a float32: rounds to even */
    int64_t s64 = -(INT64_C(1) << 60);
    float f32 = -0.5f;
    double f64 = 0.1;
    const struct {
        itg_dtype dtype;
        void *data;
        float expected;
    } cases[] = {{ITG_U8, &u8, 255.0f},        {ITG_S8, &s8, -128.0f},
                 {ITG_U16, &u16, 65535.0f},    {ITG_S16, &s16, -32768.0f},
                 {ITG_S32, &s32, 16777216.0f}, {ITG_S64, &s64, -0x1p60f},
                 {ITG_F32, &f32, -0.5f},       {ITG_F64, &f64, 0x1.99999ap-4f}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_preprocess p = itg_preprocess_default();
        itg_dataset data = dataset(cases[i].dtype, (itg_shape){1, {1}}, cases[i].data);
        float out = 0;
        assert_int_equal(fits(&p, &data, &data.shape, NULL), ITG_OK);
        take(&p, &data, 0, &data.shape, &out);
        assert_true(out == cases[i].expected);
    }
}

static void refuses(const itg_preprocess *p, itg_shape have, itg_shape input, itg_status code,
                    const char *text)
{
    itg_error err = {.message = ""};
    itg_dataset data = dataset(ITG_U8, have, NULL);
    assert_int_equal(fits(p, &data, &input, &err), code);
    if (!strstr(err.message, text)) fail_msg("'%s' lacks '%s'", err.message, text);
}

/* ---- inputs that are no float32 ---- */

static void takes(itg_dtype input, itg_dtype dtype, void *data, const void *expected)
{
    const itg_preprocess p = itg_preprocess_default();
    uint64_t out[2] = {0, 0};
    const itg_dataset d = dataset(dtype, (itg_shape){2, {1, 2}}, data);
    const itg_tensor to = {input, {2, {1, 2}}, out};
    itg_error err = {.message = ""};
    assert_int_equal(itg_preprocess_check(&p, &d, &to, &err), ITG_OK);
    if (itg_preprocess_sample(&p, &d, 0, &to, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_memory_equal(out, expected, 2 * itg_dtype_size(input));
}

static void other_inputs_take_elements_as_they_are(void **state)
{
    (void)state;
    int64_t s64[2] = {(INT64_C(1) << 60) + 1, INT64_MIN}; /* no float holds these */
    int32_t s32[2] = {16777217, -5};
    uint32_t u32[2] = {UINT32_MAX, 0};
    uint8_t u8[2] = {255, 0}, yes[2] = {1, 0}, truthy[2] = {7, 0};
    int8_t s8[2] = {-128, 127};
    float f32[2] = {-5.0f, 100.0f};
    double f64[2] = {0.1, -3.0};
    takes(ITG_S64, ITG_S64, s64, s64);
    takes(ITG_S32, ITG_S32, s32, s32);
    takes(ITG_S32, ITG_S64, (int64_t[]){16777217, -5}, s32);
    takes(ITG_S64, ITG_S32, s32, (int64_t[]){16777217, -5});
    takes(ITG_U32, ITG_U32, u32, u32);
    takes(ITG_U8, ITG_U8, u8, u8);
    takes(ITG_S8, ITG_S8, s8, s8);
    takes(ITG_S64, ITG_F32, f32, (int64_t[]){-5, 100});
    takes(ITG_S8, ITG_F64, (double[]){-5, 100}, (int8_t[]){-5, 100});
    takes(ITG_BOOL, ITG_BOOL, truthy, yes);
    takes(ITG_BOOL, ITG_S64, (int64_t[]){1, 0}, yes);
    takes(ITG_F64, ITG_F64, f64, f64);
    takes(ITG_F32, ITG_BOOL, truthy, (float[]){1, 0});
    takes(ITG_F32, ITG_U32, u32, (float[]){4294967296.0f, 0});
}

static void refuses_element(itg_dtype input, itg_dtype dtype, void *data, const char *text)
{
    itg_preprocess p = itg_preprocess_default();
    double out[6];
    itg_dataset d = dataset(dtype, (itg_shape){3, {1, 2, 3}}, data);
    const itg_tensor to = {input, {3, {1, 2, 3}}, out};
    itg_error err = {.message = ""};
    d.first = 40;
    assert_int_equal(itg_preprocess_check(&p, &d, &to, NULL), ITG_OK);
    assert_int_equal(itg_preprocess_sample(&p, &d, 0, &to, &err), ITG_BAD_FILE);
    if (!strstr(err.message, text)) fail_msg("'%s' lacks '%s'", err.message, text);
    if (!strstr(err.message, "images.npy: sample 40, element [1,2] "))
        fail_msg("'%s' lacks the place", err.message);
}

static void elements_that_an_input_cannot_hold_are_refused_by_place(void **state)
{
    (void)state;
    refuses_element(ITG_U8, ITG_S32, (int32_t[]){0, 1, 2, 3, 255, 256}, "is 256");
    refuses_element(ITG_U8, ITG_S8, (int8_t[]){0, 1, 2, 3, 5, -1}, "is -1");
    refuses_element(ITG_S32, ITG_S64, (int64_t[]){0, 1, 2, 3, 5, INT64_C(1) << 31}, "2147483647");
    refuses_element(ITG_S64, ITG_F32, (float[]){0, 1, 2, 3, 5, 1.5f}, "no integer");
    refuses_element(ITG_S64, ITG_F64, (double[]){0, 1, 2, 3, 5, NAN}, "no integer");
    refuses_element(ITG_S64, ITG_F64, (double[]){0, 1, 2, 3, 5, 1e19}, "no integer");
    refuses_element(ITG_BOOL, ITG_U8, (uint8_t[]){0, 1, 0, 1, 0, 2}, "is 2");
    refuses_element(ITG_F32, ITG_F32, (float[]){0, 1, 2, 3, 5, NAN}, "is NaN");
    refuses_element(ITG_F32, ITG_F32, (float[]){0, 1, 2, 3, 5, INFINITY}, "is infinity");
    refuses_element(ITG_F32, ITG_F64, (double[]){0, 1, 2, 3, 5, -INFINITY}, "is -infinity");
    refuses_element(ITG_F32, ITG_F64, (double[]){0, 1, 2, 3, 5, 1e300}, "becomes infinity");
    refuses_element(ITG_F64, ITG_F64, (double[]){0, 1, 2, 3, 5, NAN}, "is NaN");
}

static void only_float32_is_scaled(void **state)
{
    (void)state;
    uint8_t u8[6] = {0};
    const itg_dataset d = dataset(ITG_U8, (itg_shape){2, {2, 3}}, u8);
    for (int i = 0; i < 3; i++) {
        itg_preprocess p = itg_preprocess_default();
        itg_error err = {.message = ""};
        const itg_tensor input = {i == 2 ? ITG_F64 : ITG_U8, {2, {1, 3}}, NULL};
        p.scale = i == 0 ? 0.5f : 1.0f;
        p.mean_count = i == 1;
        p.std_count = i == 2;
        p.std[0] = 1.0f;
        assert_int_equal(itg_preprocess_check(&p, &d, &input, &err), ITG_BAD_ARGUMENT);
        assert_non_null(strstr(err.message, "scale, mean and std"));
    }
}

static void nonfinite_elements_pass_where_that_is_allowed(void **state)
{
    (void)state;
    float in[3] = {NAN, -INFINITY, 2.0f}, out[3];
    itg_preprocess p = itg_preprocess_default();
    const itg_dataset d = dataset(ITG_F32, (itg_shape){2, {1, 3}}, in);
    p.allow_nonfinite = true;
    take(&p, &d, 0, &d.shape, out);
    assert_true(isnan(out[0]) && out[1] == -INFINITY && out[2] == 2.0f);
}

/* ---- layouts ---- */

static void nhwc_samples_become_nchw(void **state)
{
    (void)state;
    /* sample 1 of [2,1,2,3]: two pixels of three channels */
    uint8_t pixels[12] = {0, 0, 0, 0, 0, 0, 10, 20, 30, 11, 21, 31}, bytes[6];
    float out[6];
    const itg_shape nchw = {4, {1, 3, 1, 2}};
    itg_preprocess p = itg_preprocess_default();
    p.layout = ITG_SAMPLES_NHWC;
    p.mean_count = 3;
    for (int i = 0; i < 3; i++)
        p.mean[i] = (float)(i + 1);
    const itg_dataset data = dataset(ITG_U8, (itg_shape){4, {2, 1, 2, 3}}, pixels);
    assert_int_equal(fits(&p, &data, &nchw, NULL), ITG_OK);
    take(&p, &data, 1, &nchw, out);
    assert_memory_equal(out, ((float[]){9, 10, 18, 19, 27, 28}), sizeof out);
    p.bgr = true;
    take(&p, &data, 1, &nchw, out);
    assert_memory_equal(out, ((float[]){29, 30, 18, 19, 7, 8}), sizeof out);
    p.mean_count = 0;
    const itg_tensor input = {ITG_U8, nchw, bytes};
    assert_int_equal(itg_preprocess_check(&p, &data, &input, NULL), ITG_OK);
    assert_int_equal(itg_preprocess_sample(&p, &data, 1, &input, NULL), ITG_OK);
    assert_memory_equal(bytes, ((uint8_t[]){30, 31, 20, 21, 10, 11}), sizeof bytes);
}

static void check_names_what_does_not_fit(void **state)
{
    (void)state;
    const itg_shape images = {4, {9, 3, 4, 5}}, input = {4, {1, 3, 4, 5}};
    itg_preprocess p = itg_preprocess_default();
    refuses(&p, images, (itg_shape){4, {1, 3, 4, 4}}, ITG_MISMATCH, "[1,3,4,4]");
    refuses(&p, images, (itg_shape){4, {1, 4, 5, 3}}, ITG_MISMATCH, "order of axes; --layout nchw");
    refuses(&p, (itg_shape){4, {9, 4, 5, 3}}, input, ITG_MISMATCH, "order of axes; --layout nhwc");
    refuses(&p, (itg_shape){4, {9, 5, 4, 3}}, input, ITG_MISMATCH, "order of axes");
    p.layout = ITG_SAMPLES_NHWC;
    refuses(&p, images, input, ITG_MISMATCH,
            "read as nhwc, are the model's input [1,3,4,5] in "
            "another order of axes; --layout same");
    refuses(&p, (itg_shape){3, {9, 5, 5}}, (itg_shape){4, {1, 1, 5, 5}}, ITG_MISMATCH,
            "no axis of channels");
    p.mean_count = 3;
    refuses(&p, images, input, ITG_BAD_ARGUMENT, "expected 1, or 5, the channels (axis 3)");
    p.mean_count = 0;
    p.layout = ITG_SAMPLES_NCHW;
    refuses(&p, images, input, ITG_MISMATCH, "read as nchw");
    refuses(&p, (itg_shape){2, {9, 60}}, input, ITG_BAD_ARGUMENT, "nchw");
    p = itg_preprocess_default();
    p.mean_count = 2;
    refuses(&p, images, input, ITG_BAD_ARGUMENT, "2 values of mean; expected 1, or 3");
    p = itg_preprocess_default();
    p.std_count = 1;
    refuses(&p, images, input, ITG_BAD_ARGUMENT, "std 0");
    p.std[0] = NAN;
    refuses(&p, images, input, ITG_BAD_ARGUMENT, "std 0");
    p = itg_preprocess_default();
    p.scale = INFINITY;
    refuses(&p, images, input, ITG_BAD_ARGUMENT, "scale");
    p = itg_preprocess_default();
    p.bgr = true;
    refuses(&p, (itg_shape){1, {9}}, (itg_shape){1, {1}}, ITG_BAD_ARGUMENT, "bgr");
}

static void equal_counts_are_a_reshape(void **state)
{
    (void)state;
    itg_preprocess p = itg_preprocess_default();
    itg_dataset data = dataset(ITG_U8, (itg_shape){3, {10, 28, 28}}, NULL);
    const itg_shape inputs[] = {
        {4, {1, 1, 28, 28}}, {4, {1, 28, 28, 1}}, {3, {1, 784, 1}}, {2, {1, 784}}};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        assert_int_equal(fits(&p, &data, &inputs[i], NULL), ITG_OK);
    p.mean_count = p.std_count = 1;
    p.std[0] = 2.0f;
    assert_int_equal(fits(&p, &data, &inputs[0], NULL), ITG_OK);
}

static void json_brings_back_every_bit(void **state)
{
    (void)state;
    itg_preprocess p = cifar(), back;
    itg_strbuf text = {0};
    itg_json *json = NULL;
    p.bgr = p.allow_nonfinite = true;
    p.layout = ITG_SAMPLES_NHWC;
    itg_preprocess_write(&p, &text);
    assert_true(itg_strbuf_ok(&text));
    assert_int_equal(itg_json_parse(text.text, text.length, "s.json", &json, NULL), ITG_OK);
    assert_int_equal(itg_preprocess_read(json, itg_json_root(json), &back, NULL), ITG_OK);
    assert_true(back.bgr && back.allow_nonfinite && back.layout == ITG_SAMPLES_NHWC &&
                back.scale == p.scale && back.mean_count == 3 && back.std_count == 3);
    assert_memory_equal(back.mean, p.mean, sizeof p.mean);
    assert_memory_equal(back.std, p.std, sizeof p.std);
    itg_json_destroy(json);
    itg_strbuf_deinit(&text);
}

static void bad_json_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"[]",
                                      "{\"scale\": \"x\"}",
                                      "{\"scale\": 1e300}",
                                      "{\"scale\": \"inf\"}",
                                      "{\"scale\": null}",
                                      "{\"std\": [0]}",
                                      "{\"mean\": 1}",
                                      "{\"mean\": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}",
                                      "{\"bgr\": 1}",
                                      "{\"layout\": \"NHWC\"}",
                                      "{\"nhwc\": true}",
                                      "{\"allow_nonfinite\": 1}",
                                      "{\"rgb\": true}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        itg_json *json = NULL;
        itg_preprocess p = {.scale = 42.0f};
        itg_error err = {.message = ""};
        assert_int_equal(itg_json_parse(bad[i], strlen(bad[i]), "s.json", &json, NULL), ITG_OK);
        assert_int_not_equal(itg_preprocess_read(json, itg_json_root(json), &p, &err), ITG_OK);
        assert_non_null(strstr(err.message, "s.json"));
        assert_true(p.scale == 42.0f);
        itg_json_destroy(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_are_divided_in_double_and_rounded_once),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(every_operation_is_rounded_in_the_stated_order),
        cmocka_unit_test(nhwc_transposes_and_bgr_reverses_before_the_mean),
        cmocka_unit_test(every_dtype_becomes_float32),
        cmocka_unit_test(other_inputs_take_elements_as_they_are),
        cmocka_unit_test(elements_that_an_input_cannot_hold_are_refused_by_place),
        cmocka_unit_test(only_float32_is_scaled),
        cmocka_unit_test(nonfinite_elements_pass_where_that_is_allowed),
        cmocka_unit_test(nhwc_samples_become_nchw),
        cmocka_unit_test(check_names_what_does_not_fit),
        cmocka_unit_test(equal_counts_are_a_reshape),
        cmocka_unit_test(json_brings_back_every_bit),
        cmocka_unit_test(bad_json_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
