#include "cmocka_base.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/json.h"

static void refuse(const char *text, size_t bytes, itg_status code, const char *message)
{
    /* A copy of the exact size: a read behind the end is the sanitizer's. */
    char *copy = malloc(bytes ? bytes : 1);
    itg_json *json = NULL;
    itg_error err = {ITG_OK, ""};
    assert_non_null(copy);
    memcpy(copy, text, bytes);
    itg_status status = itg_json_parse(copy, bytes, "f.json", &json, &err);
    free(copy);
    assert_int_equal(status, code);
    assert_int_equal(err.code, code);
    assert_string_equal(err.message, message);
    assert_null(json);
}

typedef struct bad_text {
    const char *text, *message;
} bad_text;

static void refuse_all(const bad_text *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        refuse(cases[i].text, strlen(cases[i].text), ITG_BAD_FILE, cases[i].message);
}
#define REFUSE_ALL(cases) refuse_all(cases, sizeof(cases) / sizeof *(cases))

static void broken_structure_is_refused_with_its_place(void **state)
{
    (void)state;
    static const bad_text cases[] = {
        {"", "f.json: line 1, column 1: expected a value"},
        {" \n ", "f.json: line 2, column 2: expected a value"},
        {"{\n  \"a\": 1,\n  \"key\" 2}", "f.json: line 3, column 9: expected ':' after key"},
        {"[1 2]", "f.json: line 1, column 4: expected ',' or ']'"},
        {"{\"a\":1 \"b\":2}", "f.json: line 1, column 8: expected ',' or '}'"},
        {"[1,]", "f.json: line 1, column 4: expected a value"},
        {"[,1]", "f.json: line 1, column 2: expected a value"},
        {"{\"a\":1,}", "f.json: line 1, column 8: expected a key in quotes"},
        {"{a:1}", "f.json: line 1, column 2: expected a key in quotes"},
        {"{'a':1}", "f.json: line 1, column 2: expected a key in quotes"},
        {"{1:1}", "f.json: line 1, column 2: expected a key in quotes"},
        {"{\"a\"}", "f.json: line 1, column 5: expected ':' after key"},
        {"{\"a\":}", "f.json: line 1, column 6: expected a value"},
        {"[1", "f.json: line 1, column 3: expected ',' or ']'"},
        {"{\"a\":1", "f.json: line 1, column 7: expected ',' or '}'"},
        {"[", "f.json: line 1, column 2: expected a value"},
        {"{", "f.json: line 1, column 2: expected a key in quotes"},
        {"]", "f.json: line 1, column 1: expected a value"},
        {"[1}", "f.json: line 1, column 3: expected ',' or ']'"},
        {"// c\n1", "f.json: line 1, column 1: expected a value"},
        {"\xEF\xBB\xBF{}", "f.json: line 1, column 1: expected a value"},
        {"[1,\v2]", "f.json: line 1, column 4: expected a value"},
    };
    REFUSE_ALL(cases);
}

static void trailing_garbage_is_refused(void **state)
{
    (void)state;
    static const bad_text cases[] = {
        {"{} x", "f.json: line 1, column 4: expected the end of the text"},
        {"{}{}", "f.json: line 1, column 3: expected the end of the text"},
        {"1 2", "f.json: line 1, column 3: expected the end of the text"},
        {"[]]", "f.json: line 1, column 3: expected the end of the text"},
        {"nullx", "f.json: line 1, column 5: expected the end of the text"},
    };
    REFUSE_ALL(cases);
    refuse("{}\0", 3, ITG_BAD_FILE, "f.json: line 1, column 3: expected the end of the text");
}

static void bad_numbers_are_refused(void **state)
{
    (void)state;
    static const bad_text cases[] = {
        {"[01]", "f.json: line 1, column 3: number with a leading zero"},
        {"-01", "f.json: line 1, column 3: number with a leading zero"},
        {"+1", "f.json: line 1, column 1: expected a value"},
        {".5", "f.json: line 1, column 1: expected a value"},
        {"-", "f.json: line 1, column 2: expected a digit"},
        {"-x", "f.json: line 1, column 2: expected a digit"},
        {"1.", "f.json: line 1, column 3: expected a digit after the decimal point"},
        {"1.e5", "f.json: line 1, column 3: expected a digit after the decimal point"},
        {"1e", "f.json: line 1, column 3: expected a digit in the exponent"},
        {"1e+", "f.json: line 1, column 4: expected a digit in the exponent"},
        {"[0x10]", "f.json: line 1, column 3: expected ',' or ']'"},
        {"1e999", "f.json: line 1, column 1: number too large for a double"},
        {"[1, -1e309]", "f.json: line 1, column 5: number too large for a double"},
        {"NaN", "f.json: line 1, column 1: expected a value"},
        {"Infinity", "f.json: line 1, column 1: expected a value"},
        {"-Infinity", "f.json: line 1, column 2: expected a digit"},
    };
    REFUSE_ALL(cases);
}

static void integers_that_a_double_cannot_tell_apart_are_refused(void **state)
{
    (void)state;
    static const char message[] = "f.json: line 1, column 1: integer beyond 2^53 is not exact as a "
                                  "double; write it as a string";
    refuse("9007199254740993", 16, ITG_BAD_FILE, message);
    refuse("-9007199254740993", 17, ITG_BAD_FILE, message);
    refuse("18446744073709551615", 20, ITG_BAD_FILE, message);
    itg_json *json = NULL;
    assert_int_equal(
        itg_json_parse("[9007199254740992,-9007199254740992,1e300]", 42, "t", &json, NULL), ITG_OK);
    itg_json_destroy(json);
}

static void words_are_whole_and_lower_case(void **state)
{
    (void)state;
    static const bad_text cases[] = {
        {"tru", "f.json: line 1, column 1: expected a value"},
        {"True", "f.json: line 1, column 1: expected a value"},
        {"nul", "f.json: line 1, column 1: expected a value"},
        {"falsy", "f.json: line 1, column 1: expected a value"},
    };
    REFUSE_ALL(cases);
}

static void bad_strings_are_refused(void **state)
{
    (void)state;
    static const bad_text cases[] = {
        {"\"abc", "f.json: line 1, column 1: string without an end"},
        {"\"abc\\\"", "f.json: line 1, column 1: string without an end"},
        {"\"\\x41\"", "f.json: line 1, column 3: unknown escape in string"},
        {"\"\\", "f.json: line 1, column 3: unknown escape in string"},
        {"\"a\nb\"", "f.json: line 1, column 3: control character in string"},
        {"\"a\tb\"", "f.json: line 1, column 3: control character in string"},
        {"\"\\u12G4\"", "f.json: line 1, column 6: expected four hexadecimal digits after \\u"},
        {"\"\\u12", "f.json: line 1, column 6: expected four hexadecimal digits after \\u"},
        {"\"\\u0000\"", "f.json: line 1, column 2: \\u0000 is not supported in strings"},
        {"\"\\ud800\"", "f.json: line 1, column 2: \\u escape is half of a surrogate pair"},
        {"\"\\ud800\\u0041\"", "f.json: line 1, column 2: \\u escape is half of a surrogate pair"},
        {"\"\\udc00\"", "f.json: line 1, column 2: \\u escape is half of a surrogate pair"},
        {"\"\\ud800\\", "f.json: line 1, column 2: \\u escape is half of a surrogate pair"},
    };
    REFUSE_ALL(cases);
    refuse("\"a\0b\"", 5, ITG_BAD_FILE, "f.json: line 1, column 3: control character in string");
}

static void invalid_utf8_is_refused_and_columns_count_characters(void **state)
{
    (void)state;
    static const bad_text cases[] = {
        {"\"\xC3\xA9\xFF\"", "f.json: line 1, column 3: invalid UTF-8"},
        {"\"\xC0\x80\"", "f.json: line 1, column 2: invalid UTF-8"},
        {"\"\xED\xA0\x80\"", "f.json: line 1, column 2: invalid UTF-8"},
        {"\"\xE2\x82", "f.json: line 1, column 2: invalid UTF-8"},
        {"{\"\xF5\": 1}", "f.json: line 1, column 3: invalid UTF-8"},
    };
    REFUSE_ALL(cases);
}

static void duplicate_keys_are_refused_however_spelled(void **state)
{
    (void)state;
    static const bad_text cases[] = {
        {"{\"a\":1,\n \"a\":2}", "f.json: line 2, column 2: duplicate key 'a'"},
        {"{\"a\":1,\"\\u0061\":2}", "f.json: line 1, column 8: duplicate key 'a'"},
        {"{\"\":1,\"\":2}", "f.json: line 1, column 7: duplicate key ''"},
        {"[{\"x\":{\"y\":1}},\n{\"z\":[{\"k\":0}],\"q\":{\"m\":1,\"n\":2,\n\"m\":3}}]",
         "f.json: line 3, column 1: duplicate key 'm'"},
        {"{\"b\":0,\"a\":{\"c\":1,\"c\":2},\"b\":3}",
         "f.json: line 1, column 26: duplicate key 'b'"},
    };
    REFUSE_ALL(cases);
    /* The same key in different objects, and keys that differ in case, are none. */
    const char *good = "{\"a\":{\"a\":1},\"A\":[{\"a\":1},{\"a\":2}]}";
    itg_json *json = NULL;
    assert_int_equal(itg_json_parse(good, strlen(good), "t", &json, NULL), ITG_OK);
    itg_json_destroy(json);
}

static void depth_64_is_read_and_65_refused(void **state)
{
    (void)state;
    char text[140];
    for (size_t depth = 64; depth <= 65; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        itg_json *json = NULL;
        itg_error err;
        itg_status status = itg_json_parse(text, 2 * depth, "f.json", &json, &err);
        assert_int_equal(status, depth == 64 ? ITG_OK : ITG_LIMIT);
        if (depth == 65)
            assert_string_equal(err.message,
                                "f.json: line 1, column 65: nested deeper than 64 levels");
        itg_json_destroy(json);
    }
    char deep[100000];
    memset(deep, '[', sizeof deep);
    assert_int_equal(itg_json_parse(deep, sizeof deep, "t", &(itg_json *){0}, NULL), ITG_LIMIT);
}

static void numbers_longer_than_63_characters_are_refused(void **state)
{
    (void)state;
    char text[80] = "0.";
    memset(text + 2, '3', 62);
    refuse(text, 64, ITG_LIMIT, "f.json: line 1, column 1: number longer than 63 characters");
    itg_json *json = NULL;
    assert_int_equal(itg_json_parse(text, 63, "t", &json, NULL), ITG_OK);
    double value;
    assert_int_equal(itg_json_get_number(json, itg_json_root(json), &value, NULL), ITG_OK);
    assert_true(value == 1.0 / 3);
    itg_json_destroy(json);
}

static void more_than_4_million_values_are_refused(void **state)
{
    (void)state;
    size_t values = (size_t)1 << 22; /* the array itself makes one more */
    char *text = malloc(2 * values + 1);
    assert_non_null(text);
    text[0] = '[';
    for (size_t i = 0; i < values; i++)
        memcpy(text + 1 + 2 * i, i + 1 < values ? "0," : "0]", 2);
    itg_error err;
    assert_int_equal(itg_json_parse(text, 2 * values + 1, "t", &(itg_json *){0}, &err), ITG_LIMIT);
    assert_non_null(strstr(err.message, "too many values"));
    free(text);
}

static void every_prefix_and_every_changed_byte_is_survived(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\\u00e9\\ud83d\\ude00\":[1,-2.5e+3,true,null,{\"b\":\"\xC3\xA9\"}],"
        "\"c\":{},\"d\":[[]]} ";
    size_t bytes = sizeof text - 1;
    for (size_t length = 0; length < bytes - 1; length++) {
        char *copy = malloc(length + 1);
        itg_json *json = NULL;
        assert_non_null(copy);
        memcpy(copy, text, length);
        assert_int_equal(itg_json_parse(copy, length, "t", &json, NULL), ITG_BAD_FILE);
        free(copy);
    }
    char changed[sizeof text];
    for (size_t at = 0; at < bytes; at++) {
        for (int byte = 0; byte < 256; byte++) {
            memcpy(changed, text, sizeof text);
            changed[at] = (char)byte;
            itg_json *json = NULL;
            itg_error err;
            itg_status status = itg_json_parse(changed, bytes, "t", &json, &err);
            assert_true((status == ITG_OK) == (json != NULL));
            itg_json_destroy(json);
        }
    }
}

static void scalars_alone_are_documents(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        itg_json_type type;
    } cases[] = {{"7", ITG_JSON_NUMBER},     {" -0.5e-1 ", ITG_JSON_NUMBER},
                 {"\"s\"", ITG_JSON_STRING}, {"true", ITG_JSON_BOOL},
                 {"false", ITG_JSON_BOOL},   {"null", ITG_JSON_NULL},
                 {"[ ]", ITG_JSON_ARRAY},    {"\r\n{\t}", ITG_JSON_OBJECT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_json *json = NULL;
        size_t bytes = strlen(cases[i].text);
        char *copy = malloc(bytes);
        assert_non_null(copy);
        memcpy(copy, cases[i].text, bytes);
        assert_int_equal(itg_json_parse(copy, bytes, "t", &json, NULL), ITG_OK);
        free(copy);
        assert_int_equal(itg_json_typeof(itg_json_root(json)), cases[i].type);
        assert_int_equal(itg_json_length(itg_json_root(json)), 0);
        itg_json_destroy(json);
    }
    itg_json_destroy(NULL);
}

/* As short as they read back, and no integer that a reader would refuse. */
static void numbers_are_printed_as_they_are_read(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"0", "0"},
        {"-0", "-0.0"},
        {"-0.0", "-0.0"},
        {"7", "7"},
        {"-7", "-7"},
        {"7.0", "7"},
        {"0.1", "0.1"},
        {"-2.5", "-2.5"},
        {"1e300", "1e+300"},
        {"1e16", "1e+16"},
        {"-1e16", "-1e+16"},
        {"9007199254740992", "9007199254740992"},
        {"1e-7", "1e-07"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"12345678901234567.0e3", "1.2345678901234567e+19"},
        {"-9007199254740992", "-9007199254740992"},
        {"123456789012345680000.0", "1.2345678901234568e+20"},
        {"[1,{\"a\\n\":null},[],{}]", "[1, {\"a\\n\": null}, [], {}]"},
        {"[true,false,\"x\"]", "[true, false, \"x\"]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_json *json = NULL;
        itg_strbuf out = {0};
        assert_int_equal(itg_json_parse(cases[i][0], strlen(cases[i][0]), "t", &json, NULL),
                         ITG_OK);
        itg_json_print(itg_json_root(json), &out);
        assert_true(itg_strbuf_ok(&out));
        assert_string_equal(out.text, cases[i][1]);
        itg_strbuf_deinit(&out);
        itg_json_destroy(json);
    }
}

static void files_are_read_under_their_own_name(void **state)
{
    (void)state;
    char path[] = "itg-test-json-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "{\"a\":\n 01}", 10), 10);
    close(file);
    itg_json *json = NULL;
    itg_error err;
    char expected[128];
    snprintf(expected, sizeof expected, "%s: line 2, column 3: number with a leading zero", path);
    assert_int_equal(itg_json_read(path, 100, &json, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, expected);
    assert_int_equal(itg_json_read(path, 9, &json, &err), ITG_LIMIT);
    assert_int_equal(itg_file_write(path, "{\"a\": 1}", 8, NULL), ITG_OK);
    assert_int_equal(itg_json_read(path, 100, &json, &err), ITG_OK);
    assert_int_equal(itg_json_length(itg_json_root(json)), 1);
    itg_json_destroy(json);
    unlink(path);
    assert_int_equal(itg_json_read(path, 100, &json, &err), ITG_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_structure_is_refused_with_its_place),
        cmocka_unit_test(trailing_garbage_is_refused),
        cmocka_unit_test(bad_numbers_are_refused),
        cmocka_unit_test(integers_that_a_double_cannot_tell_apart_are_refused),
        cmocka_unit_test(words_are_whole_and_lower_case),
        cmocka_unit_test(bad_strings_are_refused),
        cmocka_unit_test(invalid_utf8_is_refused_and_columns_count_characters),
        cmocka_unit_test(duplicate_keys_are_refused_however_spelled),
        cmocka_unit_test(depth_64_is_read_and_65_refused),
        cmocka_unit_test(numbers_longer_than_63_characters_are_refused),
        cmocka_unit_test(more_than_4_million_values_are_refused),
        cmocka_unit_test(every_prefix_and_every_changed_byte_is_survived),
        cmocka_unit_test(scalars_alone_are_documents),
        cmocka_unit_test(numbers_are_printed_as_they_are_read),
        cmocka_unit_test(files_are_read_under_their_own_name),
    };
    if (chdir(TEST_FOLDER) != 0) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
