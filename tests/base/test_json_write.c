#include "cmocka_base.h"
#include "base/json.h"
#include "base/json_write.h"
#include <math.h>

static void expect(itg_json_writer *w, const char *text)
{
    itg_json *json = NULL;
    assert_string_equal(w->text.text, text);
    assert_int_equal(itg_json_parse(text, strlen(text), "t", &json, NULL), ITG_OK);
    itg_json_destroy(json);
    itg_strbuf_deinit(&w->text);
}

static void members_and_elements_have_commas_between_them(void **state)
{
    (void)state;
    itg_json_writer w = {0};
    itg_json_begin(&w, NULL, '{');
    itg_json_put_int(&w, "a", -3);
    itg_json_begin(&w, "b", '[');
    itg_json_put_bool(&w, NULL, true);
    itg_json_begin(&w, NULL, '{');
    itg_json_end(&w, '}');
    itg_json_put_null(&w, NULL);
    itg_json_end(&w, ']');
    itg_json_put(&w, "c", "[%d, %d]", 1, 2);
    itg_json_end(&w, '}');
    expect(&w, "{\"a\": -3, \"b\": [true, {}, null], \"c\": [1, 2]}");
}

static void keys_and_texts_are_escaped(void **state)
{
    (void)state;
    itg_json_writer w = {0};
    itg_json_begin(&w, NULL, '{');
    itg_json_put_text(&w, "a\"", "\n\\");
    itg_json_put_text(&w, "b", NULL);
    itg_json_end(&w, '}');
    expect(&w, "{\"a\\\"\": \"\\n\\\\\", \"b\": null}");
}

static void containers_have_their_style(void **state)
{
    (void)state;
    itg_json_writer w = {0};
    itg_json_begin_as(&w, NULL, '{', ITG_JSON_LINES);
    itg_json_begin_as(&w, "a", '[', ITG_JSON_TIGHT);
    itg_json_put_int(&w, NULL, 1);
    itg_json_put_int(&w, NULL, 2);
    itg_json_end(&w, ']');
    itg_json_begin_as(&w, "b", '[', ITG_JSON_LINES);
    itg_json_begin(&w, NULL, '{');
    itg_json_put_int(&w, "x", 1);
    itg_json_put_int(&w, "y", 2);
    itg_json_end(&w, '}');
    itg_json_put_null(&w, NULL);
    itg_json_end(&w, ']');
    itg_json_begin_as(&w, "c", '[', ITG_JSON_LINES);
    itg_json_end(&w, ']');
    itg_json_key(&w, "d");
    itg_strbuf_add(&w.text, "3");
    itg_json_end(&w, '}');
    expect(&w, "{\n  \"a\": [1,2],\n  \"b\": [\n    {\"x\": 1, \"y\": 2},\n    null\n  ],\n  "
               "\"c\": [],\n  \"d\": 3\n}");
}

static void too_deep_a_text_fails(void **state)
{
    (void)state;
    itg_json_writer w = {0};
    for (int i = 0; i < ITG_JSON_WRITE_DEPTH; i++)
        itg_json_begin(&w, NULL, '[');
    assert_true(itg_strbuf_ok(&w.text));
    itg_json_begin(&w, NULL, '[');
    assert_false(itg_strbuf_ok(&w.text));
    itg_strbuf_deinit(&w.text);
}

static void numbers_read_back_as_they_were(void **state)
{
    (void)state;
    const double numbers[] = {0.1, 1.0 / 3, 1e15, 0x1p53, 0x1p53 + 2, 1e300, -5e-324, -0.0, 7};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        itg_json_writer w = {0};
        itg_json *json = NULL;
        double back = 1;
        itg_json_put_number(&w, NULL, numbers[i]);
        assert_int_equal(itg_json_parse(w.text.text, w.text.length, "t", &json, NULL), ITG_OK);
        assert_int_equal(itg_json_get_number(json, itg_json_root(json), &back, NULL), ITG_OK);
        assert_memory_equal(&back, &numbers[i], sizeof back);
        itg_json_destroy(json);
        itg_strbuf_deinit(&w.text);
    }
    itg_json_writer w = {0};
    itg_json_begin(&w, NULL, '[');
    itg_json_put_number(&w, NULL, 0.1);
    itg_json_put_number(&w, NULL, (double)NAN);
    itg_json_put_number(&w, NULL, (double)INFINITY);
    itg_json_put_number(&w, NULL, 123456789012345678.0);
    itg_json_put_hex(&w, NULL, 1.5);
    itg_json_end(&w, ']');
    expect(&w, "[0.1, null, null, 1.2345678901234568e+17, \"0x1.8p+0\"]");
}

static void hashes_are_hexadecimal(void **state)
{
    (void)state;
    unsigned char hash[32] = {0xAB, 1};
    itg_json_writer w = {0};
    itg_json_put_hash(&w, NULL, hash);
    expect(&w, "\"ab01000000000000000000000000000000000000000000000000000000000000\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_and_elements_have_commas_between_them),
        cmocka_unit_test(keys_and_texts_are_escaped),
        cmocka_unit_test(containers_have_their_style),
        cmocka_unit_test(too_deep_a_text_fails),
        cmocka_unit_test(numbers_read_back_as_they_were),
        cmocka_unit_test(hashes_are_hexadecimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
