#include "cmocka_base.h"
#include "base/json.h"

static void text_grows_and_stays_terminated(void **state)
{
    (void)state;
    itg_strbuf buffer = {0};
    assert_null(buffer.text);
    for (int i = 0; i < 1000; i++) {
        itg_strbuf_format(&buffer, "%03d", i);
        itg_strbuf_add(&buffer, ",");
        assert_int_equal(buffer.length, 4 * ((size_t)i + 1));
        assert_int_equal(strlen(buffer.text), buffer.length);
    }
    assert_true(itg_strbuf_ok(&buffer));
    assert_memory_equal(buffer.text, "000,001,002,", 12);
    assert_memory_equal(buffer.text + 3996, "999,", 5);
    itg_strbuf_deinit(&buffer);
    assert_null(buffer.text);
    assert_int_equal(buffer.length, 0);
}

static void adding_nothing_makes_an_empty_text(void **state)
{
    (void)state;
    itg_strbuf buffer = {0};
    itg_strbuf_bytes(&buffer, NULL, 0);
    assert_string_equal(buffer.text, "");
    itg_strbuf_deinit(&buffer);
}

static void bytes_may_hold_zeros(void **state)
{
    (void)state;
    itg_strbuf buffer = {0};
    itg_strbuf_bytes(&buffer, "a\0b", 3);
    assert_int_equal(buffer.length, 3);
    assert_memory_equal(buffer.text, "a\0b", 4);
    itg_strbuf_deinit(&buffer);
}

static void an_impossible_size_is_remembered(void **state)
{
    (void)state;
    itg_strbuf buffer = {0};
    itg_strbuf_add(&buffer, "kept");
    itg_strbuf_bytes(&buffer, "x", SIZE_MAX - 2);
    assert_false(itg_strbuf_ok(&buffer));
    itg_strbuf_add(&buffer, "more");
    assert_false(itg_strbuf_ok(&buffer));
    assert_string_equal(buffer.text, "kept");
    itg_strbuf_deinit(&buffer);
}

static void json_strings_are_escaped(void **state)
{
    (void)state;
    itg_strbuf buffer = {0};
    itg_strbuf_json_string(&buffer, "a\"b\\c/\b\f\n\r\t\x01\x1F\x7F\xC3\xA9");
    assert_string_equal(buffer.text, "\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0001\\u001f\x7F\xC3\xA9\"");
    itg_strbuf_deinit(&buffer);
}

static void json_strings_replace_what_is_not_utf8(void **state)
{
    (void)state;
    itg_strbuf buffer = {0};
    itg_strbuf_json_string(&buffer, "a\xFF"
                                    "b\xC3");
    assert_string_equal(buffer.text, "\"a\xEF\xBF\xBD"
                                     "b\xEF\xBF\xBD\"");
    itg_strbuf_deinit(&buffer);
}

static void every_byte_in_a_json_string_is_read_back(void **state)
{
    (void)state;
    char text[128];
    for (int i = 0; i < 127; i++)
        text[i] = (char)(i + 1);
    text[127] = '\0';
    itg_strbuf buffer = {0};
    itg_strbuf_json_string(&buffer, text);
    itg_json *json = NULL;
    assert_int_equal(itg_json_parse(buffer.text, buffer.length, "t", &json, NULL), ITG_OK);
    const char *back;
    assert_int_equal(itg_json_get_string(json, itg_json_root(json), &back, NULL), ITG_OK);
    assert_string_equal(back, text);
    itg_json_destroy(json);
    itg_strbuf_deinit(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows_and_stays_terminated),
        cmocka_unit_test(adding_nothing_makes_an_empty_text),
        cmocka_unit_test(bytes_may_hold_zeros),
        cmocka_unit_test(an_impossible_size_is_remembered),
        cmocka_unit_test(json_strings_are_escaped),
        cmocka_unit_test(json_strings_replace_what_is_not_utf8),
        cmocka_unit_test(every_byte_in_a_json_string_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
