#include "cmocka_base.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/json.h"

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The C library's strtod is the independent reader. */
static void check_round_trip(double value)
{
    char text[40];
    double back = 7;
    itg_hex_double(value, text);
    assert_true(strlen(text) < 40);
    assert_true(bits_of(strtod(text, NULL)) == bits_of(value));
    assert_true(itg_parse_hex_double(text, &back));
    assert_true(bits_of(back) == bits_of(value));
}

static void edges_make_the_round_trip(void **state)
{
    (void)state;
    static const double edges[] = {0.0,
                                   1.0,
                                   1.5,
                                   0.1,
                                   1.0 / 3,
                                   DBL_MAX,
                                   DBL_MIN,
                                   DBL_EPSILON,
                                   0x1p-1074,
                                   0x1.8p-1073,
                                   0x1p-1022,
                                   0x0.fffffffffffffp-1022,
                                   FLT_MAX,
                                   FLT_MIN,
                                   0x1p-149,
                                   1e300,
                                   0x1.fffffffffffffp+0};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        check_round_trip(edges[i]);
        check_round_trip(-edges[i]);
    }
    check_round_trip((double)INFINITY);
    check_round_trip(-(double)INFINITY);
}

static void random_bits_and_all_powers_of_two_make_the_round_trip(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 3);
    for (int i = 0; i < 100000; i++) {
        double value = double_of(itg_rng_next(&rng));
        if (isfinite(value)) check_round_trip(value);
        check_round_trip(double_of(itg_rng_next(&rng) >> (12 + itg_rng_below(&rng, 52))));
    }
    for (int e = -1074; e < 1024; e++)
        check_round_trip(ldexp(1, e));
}

static void the_text_is_the_shortest_normal_form(void **state)
{
    (void)state;
    char text[40];
    assert_string_equal(itg_hex_double(3.0, text), "0x1.8p+1");
    assert_string_equal(itg_hex_double(1.0, text), "0x1p+0");
    assert_string_equal(itg_hex_double(0.0, text), "0x0p+0");
    assert_string_equal(itg_hex_double(-0.0, text), "-0x0p+0");
    assert_string_equal(itg_hex_double(0x1p-1074, text), "0x0.0000000000001p-1022");
    assert_string_equal(itg_hex_double(0x1.05p-7, text), "0x1.05p-7");
    assert_string_equal(itg_hex_double((double)INFINITY, text), "inf");
    assert_string_equal(itg_hex_double(-(double)INFINITY, text), "-inf");
}

static void other_spellings_of_the_same_number_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0x3", 3},
        {"0X1.8P1", 3},
        {"0x.8p0", 0.5},
        {"+0x10p-4", 1},
        {"0x1.", 1},
        {"0xA.8", 10.5},
        {"0x0.0p5", 0},
        {"0x00000000000000000001p0", 1},
        {"0x1.80000000000000000000p0", 1.5},
        {"0x10000000000000000000p0", 0x1p76},
        {"1", 1},
        {"-2.5", -2.5},
        {"1e3", 1000},
        {"0.1", 0.1},
        {".5", 0.5},
        {"5.", 5},
        {"1E-2", 0.01},
        {"1e-400", 0},
        {"0x1p-1074", 0x1p-1074},
        {"0x4p-1076", 0x1p-1074},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double out = -77;
        assert_true(itg_parse_hex_double(cases[i].text, &out));
        assert_true(bits_of(out) == bits_of(cases[i].value));
    }
}

static void what_is_no_double_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        " 1",
        "1 ",
        "x",
        "0x",
        "0x.",
        "0xp1",
        "0x1p",
        "0x1p+",
        "0x1p1.0",
        "0x1q",
        "0x1..0",
        "--1",
        "+-1",
        "nan",
        "-nan",
        "infinity",
        "INF",
        "1e",
        "1e+",
        "1,5",
        ".",
        "e5",
        "1e999",
        "-1e999",
        "0x1p1024",
        "0x1p-1075",
        "0x1.8p-1074",
        "0x1.00000000000008p0" /* a 54th bit */,
        "0x12345678123456781p0",
        "0x1p99999",
        "0x1p-99999",
        "0x1p100000",
        "1_0",
        "0b1",
        "1f",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double out = -77;
        assert_false(itg_parse_hex_double(cases[i], &out));
        assert_true(out == -77);
    }
}

static void texts_of_any_length_are_survived(void **state)
{
    (void)state;
    char text[5000];
    double out = -77;
    memset(text, '1', sizeof text);
    text[4999] = '\0';
    assert_false(itg_parse_hex_double(text, &out));
    text[0] = '0';
    text[1] = 'x';
    assert_false(itg_parse_hex_double(text, &out));
    memset(text + 2, '0', 4997);
    assert_false(itg_parse_hex_double(text, &out));
    assert_true(out == -77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_make_the_round_trip),
        cmocka_unit_test(random_bits_and_all_powers_of_two_make_the_round_trip),
        cmocka_unit_test(the_text_is_the_shortest_normal_form),
        cmocka_unit_test(other_spellings_of_the_same_number_are_read),
        cmocka_unit_test(what_is_no_double_is_refused),
        cmocka_unit_test(texts_of_any_length_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
