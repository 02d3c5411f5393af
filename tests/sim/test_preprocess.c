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
    assert_int_equal(itg_preprocess_check(&p, &data, &data.shape, NULL), ITG_OK);
    itg_preprocess_sample(&p, &data, 0, &data.shape, out);
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
    p.nhwc = true;
    assert_int_equal(itg_preprocess_check(&p, &data, &nhwc, NULL), ITG_OK);
    itg_preprocess_sample(&p, &data, 1, &nhwc, out);
    const float transposed[6] = {9, 18, 27, 10, 19, 28};
    assert_memory_equal(out, transposed, sizeof out);
    p.bgr = true;
    itg_preprocess_sample(&p, &data, 1, &nhwc, out);
    const float both[6] = {29, 18, 7, 30, 19, 8};
    assert_memory_equal(out, both, sizeof out);
    p.nhwc = false;
    assert_int_equal(itg_preprocess_check(&p, &data, &nchw, NULL), ITG_OK);
    itg_preprocess_sample(&p, &data, 1, &nchw, out);
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
        assert_int_equal(itg_preprocess_check(&p, &data, &data.shape, NULL), ITG_OK);
        itg_preprocess_sample(&p, &data, 0, &data.shape, &out);
        assert_true(out == cases[i].expected);
    }
}

static void refuses(const itg_preprocess *p, itg_shape have, itg_shape input, itg_status code,
                    const char *text)
{
    itg_error err = {.message = ""};
    itg_dataset data = dataset(ITG_U8, have, NULL);
    assert_int_equal(itg_preprocess_check(p, &data, &input, &err), code);
    if (!strstr(err.message, text)) fail_msg("'%s' lacks '%s'", err.message, text);
}

static void check_names_what_does_not_fit(void **state)
{
    (void)state;
    const itg_shape images = {4, {9, 3, 4, 5}}, input = {4, {1, 3, 4, 5}};
    itg_preprocess p = itg_preprocess_default();
    refuses(&p, images, (itg_shape){4, {1, 3, 4, 4}}, ITG_MISMATCH, "[1,3,4,4]");
    refuses(&p, images, (itg_shape){4, {1, 4, 5, 3}}, ITG_MISMATCH, "order of axes");
    p.nhwc = true;
    refuses(&p, images, input, ITG_MISMATCH, "made nhwc");
    refuses(&p, (itg_shape){2, {9, 60}}, input, ITG_BAD_ARGUMENT, "nhwc");
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
        assert_int_equal(itg_preprocess_check(&p, &data, &inputs[i], NULL), ITG_OK);
    p.mean_count = p.std_count = 1;
    p.std[0] = 2.0f;
    assert_int_equal(itg_preprocess_check(&p, &data, &inputs[0], NULL), ITG_OK);
}

static void json_brings_back_every_bit(void **state)
{
    (void)state;
    itg_preprocess p = cifar(), back;
    itg_strbuf text = {0};
    itg_json *json = NULL;
    p.bgr = true;
    itg_preprocess_write(&p, &text);
    assert_true(itg_strbuf_ok(&text));
    assert_int_equal(itg_json_parse(text.text, text.length, "s.json", &json, NULL), ITG_OK);
    assert_int_equal(itg_preprocess_read(json, itg_json_root(json), &back, NULL), ITG_OK);
    assert_true(back.bgr && !back.nhwc && back.scale == p.scale && back.mean_count == 3 &&
                back.std_count == 3);
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
        cmocka_unit_test(check_names_what_does_not_fit),
        cmocka_unit_test(equal_counts_are_a_reshape),
        cmocka_unit_test(json_brings_back_every_bit),
        cmocka_unit_test(bad_json_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
