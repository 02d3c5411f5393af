#include "cmocka_base.h"
#include <stdio.h>
#include "base/json.h"

static const char text[] =
    "{\"operators\": {\"Conv\": [{\"accumulator\": 32, \"ratio\": 0.5}, [1, 2]]},"
    " \"name\": \"x\\u00e9\\ud83d\\ude00\", \"big\": 9007199254740992, \"on\": true,"
    " \"off\": false, \"none\": null, \"a.b\": {\"\": 1}, \"half\": 1.5}";

static int open_text(void **state)
{
    itg_json *json = NULL;
    if (itg_json_parse(text, sizeof text - 1, "hw.json", &json, NULL) != ITG_OK) return -1;
    *state = json;
    return 0;
}

static int close_text(void **state)
{
    itg_json_destroy(*state);
    return 0;
}

static const itg_json_value *member(const itg_json *json, const char *key)
{
    const itg_json_value *value = itg_json_find(itg_json_root(json), key);
    assert_non_null(value);
    return value;
}

static const itg_json_value *accumulator(const itg_json *json)
{
    const itg_json_value *conv = itg_json_find(member(json, "operators"), "Conv");
    return itg_json_find(itg_json_at(conv, 0), "accumulator");
}

static void values_have_their_types(void **state)
{
    const itg_json *json = *state;
    assert_int_equal(itg_json_typeof(itg_json_root(json)), ITG_JSON_OBJECT);
    assert_int_equal(itg_json_typeof(member(json, "name")), ITG_JSON_STRING);
    assert_int_equal(itg_json_typeof(member(json, "half")), ITG_JSON_NUMBER);
    assert_int_equal(itg_json_typeof(member(json, "on")), ITG_JSON_BOOL);
    assert_int_equal(itg_json_typeof(member(json, "off")), ITG_JSON_BOOL);
    assert_int_equal(itg_json_typeof(member(json, "none")), ITG_JSON_NULL);
    assert_int_equal(itg_json_typeof(itg_json_find(member(json, "operators"), "Conv")),
                     ITG_JSON_ARRAY);
}

static void members_keep_the_order_of_the_text(void **state)
{
    const itg_json *json = *state;
    static const char *const keys[] = {"operators", "name", "big", "on",
                                       "off",       "none", "a.b", "half"};
    const itg_json_value *root = itg_json_root(json);
    assert_int_equal(itg_json_length(root), 8);
    for (size_t i = 0; i < 8; i++) {
        assert_string_equal(itg_json_key_at(root, i), keys[i]);
        assert_ptr_equal(itg_json_at(root, i), itg_json_find(root, keys[i]));
    }
    assert_null(itg_json_at(root, 8));
    assert_null(itg_json_key_at(root, 8));
    assert_null(itg_json_find(root, "Name"));
    assert_null(itg_json_find(member(json, "name"), "x"));
    assert_null(itg_json_key_at(itg_json_find(member(json, "operators"), "Conv"), 0));
}

static void many_members_are_all_found(void **state)
{
    (void)state;
    itg_strbuf buffer = {0};
    enum { COUNT = 20000 };
    for (int i = 0; i < COUNT; i++)
        itg_strbuf_format(&buffer, "%s\"k%d\":[%d]", i ? "," : "{", i * 7919 % COUNT, i);
    itg_strbuf_add(&buffer, "}");
    itg_json *json = NULL;
    assert_int_equal(itg_json_parse(buffer.text, buffer.length, "t", &json, NULL), ITG_OK);
    for (int i = 0; i < COUNT; i++) {
        char key[32];
        int64_t value;
        snprintf(key, sizeof key, "k%d", i * 7919 % COUNT);
        const itg_json_value *found = itg_json_find(itg_json_root(json), key);
        assert_ptr_equal(found, itg_json_at(itg_json_root(json), (size_t)i));
        assert_int_equal(itg_json_get_int(json, itg_json_at(found, 0), 0, COUNT, &value, NULL),
                         ITG_OK);
        assert_int_equal(value, i);
    }
    itg_json_destroy(json);
    itg_strbuf_deinit(&buffer);
}

static void paths_say_where_a_value_stands(void **state)
{
    const itg_json *json = *state;
    char path[100];
    assert_string_equal(itg_json_path(json, itg_json_root(json), path, sizeof path), "");
    assert_string_equal(itg_json_path(json, accumulator(json), path, sizeof path),
                        "operators.Conv[0].accumulator");
    const itg_json_value *conv = itg_json_find(member(json, "operators"), "Conv");
    const itg_json_value *second = itg_json_at(itg_json_at(conv, 1), 1);
    assert_string_equal(itg_json_path(json, second, path, sizeof path), "operators.Conv[1][1]");
    assert_string_equal(itg_json_path(json, itg_json_at(member(json, "a.b"), 0), path, sizeof path),
                        "[\"a.b\"][\"\"]");
    assert_string_equal(itg_json_path(json, accumulator(json), path, 10), "operators");
}

static void integers_are_integral_and_within_their_range(void **state)
{
    const itg_json *json = *state;
    int64_t out = 5;
    itg_error err;
    assert_int_equal(itg_json_get_int(json, accumulator(json), 32, 32, &out, &err), ITG_OK);
    assert_int_equal(out, 32);
    assert_int_equal(itg_json_get_int(json, accumulator(json), 33, 64, &out, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "hw.json: operators.Conv[0].accumulator: expected an integer "
                                     "from 33 to 64, got 32");
    assert_int_equal(itg_json_get_int(json, member(json, "half"), 0, 9, &out, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "hw.json: half: expected an integer from 0 to 9, got 1.5");
    assert_int_equal(itg_json_get_int(json, member(json, "on"), 0, 9, &out, &err), ITG_BAD_FILE);
    assert_int_equal(itg_json_get_int(json, member(json, "none"), 0, 9, &out, &err), ITG_BAD_FILE);
    assert_int_equal(out, 32);
    assert_int_equal(itg_json_get_int(json, member(json, "big"), INT64_MIN, INT64_MAX, &out, &err),
                     ITG_OK);
    assert_true(out == INT64_C(1) << 53);
}

static void integers_beyond_2_to_the_53_are_refused_however_written(void **state)
{
    (void)state;
    static const char *const cases[] = {"9.1e15", "-9.1e15", "1e300", "9223372036854775808.0"};
    for (size_t i = 0; i < 4; i++) {
        itg_json *json = NULL;
        int64_t out = 5;
        assert_int_equal(itg_json_parse(cases[i], strlen(cases[i]), "t", &json, NULL), ITG_OK);
        assert_int_equal(
            itg_json_get_int(json, itg_json_root(json), INT64_MIN, INT64_MAX, &out, NULL),
            ITG_BAD_FILE);
        assert_int_equal(out, 5);
        itg_json_destroy(json);
    }
}

static void numbers_booleans_and_strings_are_read_as_such_only(void **state)
{
    const itg_json *json = *state;
    double number = -1;
    bool flag = false;
    const char *string = NULL;
    itg_error err;
    assert_int_equal(itg_json_get_number(json, member(json, "half"), &number, &err), ITG_OK);
    assert_true(number == 1.5);
    assert_int_equal(itg_json_get_bool(json, member(json, "on"), &flag, &err), ITG_OK);
    assert_true(flag);
    assert_int_equal(itg_json_get_bool(json, member(json, "off"), &flag, &err), ITG_OK);
    assert_false(flag);
    assert_int_equal(itg_json_get_string(json, member(json, "name"), &string, &err), ITG_OK);
    assert_string_equal(string, "x\xC3\xA9\xF0\x9F\x98\x80");
    assert_int_equal(itg_json_get_number(json, member(json, "name"), &number, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "hw.json: name: expected a number, got "
                                     "\"x\xC3\xA9\xF0\x9F\x98\x80\"");
    assert_int_equal(itg_json_get_bool(json, member(json, "half"), &flag, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "hw.json: half: expected true or false, got 1.5");
    assert_int_equal(itg_json_get_string(json, member(json, "a.b"), &string, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "hw.json: [\"a.b\"]: expected a string, got an object");
    assert_true(number == 1.5);
}

static void needed_members_are_there_and_of_their_type(void **state)
{
    const itg_json *json = *state;
    const itg_json_value *root = itg_json_root(json), *out = NULL;
    itg_error err;
    assert_int_equal(itg_json_need(json, root, "name", ITG_JSON_STRING, &out, &err), ITG_OK);
    assert_ptr_equal(out, member(json, "name"));
    assert_int_equal(itg_json_need(json, root, "nam", ITG_JSON_ARRAY, &out, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "hw.json: missing key 'nam', expected an array");
    assert_int_equal(itg_json_need(json, root, "half", ITG_JSON_ARRAY, &out, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "hw.json: half: expected an array, got 1.5");
    assert_int_equal(itg_json_need(json, member(json, "half"), "x", ITG_JSON_NULL, &out, &err),
                     ITG_BAD_FILE);
    assert_string_equal(err.message, "hw.json: half: expected an object, got 1.5");
    assert_ptr_equal(out, member(json, "name"));
}

static void unknown_keys_are_named_beside_the_known(void **state)
{
    const itg_json *json = *state;
    static const char *const some[] = {"accumulator", "bits", NULL};
    static const char *const all[] = {"ratio", "accumulator", NULL};
    const itg_json_value *conv = itg_json_find(member(json, "operators"), "Conv");
    itg_error err;
    assert_int_equal(itg_json_allow_keys(json, itg_json_at(conv, 0), all, &err), ITG_OK);
    assert_int_equal(itg_json_allow_keys(json, itg_json_at(conv, 0), some, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "hw.json: operators.Conv[0]: unknown key 'ratio'; expected "
                                     "one of accumulator, bits");
    assert_int_equal(itg_json_allow_keys(json, conv, all, &err), ITG_BAD_FILE);
}

static void failures_of_callers_carry_source_and_path(void **state)
{
    const itg_json *json = *state;
    itg_error err;
    assert_int_equal(itg_json_fail(json, accumulator(json), &err, ITG_UNSUPPORTED, "%d bits", 7),
                     ITG_UNSUPPORTED);
    assert_string_equal(err.message, "hw.json: operators.Conv[0].accumulator: 7 bits");
    assert_int_equal(itg_json_fail(json, itg_json_root(json), &err, ITG_LIMIT, "no"), ITG_LIMIT);
    assert_string_equal(err.message, "hw.json: no");
}

#define on_text(test) cmocka_unit_test_setup_teardown(test, open_text, close_text)

int main(void)
{
    const struct CMUnitTest tests[] = {
        on_text(values_have_their_types),
        on_text(members_keep_the_order_of_the_text),
        cmocka_unit_test(many_members_are_all_found),
        on_text(paths_say_where_a_value_stands),
        on_text(integers_are_integral_and_within_their_range),
        cmocka_unit_test(integers_beyond_2_to_the_53_are_refused_however_written),
        on_text(numbers_booleans_and_strings_are_read_as_such_only),
        on_text(needed_members_are_there_and_of_their_type),
        on_text(unknown_keys_are_named_beside_the_known),
        on_text(failures_of_callers_carry_source_and_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
