#include "cmocka_base.h"
#include "base/base.h"
#include "base/utf8.h"

static void fail_writes_code_and_text_and_returns_the_code(void **state)
{
    (void)state;
    itg_error err;
    memset(&err, 0x5A, sizeof err);
    assert_int_equal(itg_fail(&err, ITG_LIMIT, "%s: node %d", "m.onnx", 17), ITG_LIMIT);
    assert_int_equal(err.code, ITG_LIMIT);
    assert_string_equal(err.message, "m.onnx: node 17");
    assert_int_equal(itg_fail(NULL, ITG_IO, "unseen"), ITG_IO);
}

static void prefix_keeps_the_first_code(void **state)
{
    (void)state;
    itg_error err;
    itg_fail(&err, ITG_BAD_FILE, "node 3");
    assert_int_equal(itg_prefix_error(&err, ITG_FAILURE, "%s", "a.onnx"), ITG_BAD_FILE);
    assert_int_equal(err.code, ITG_BAD_FILE);
    assert_string_equal(err.message, "a.onnx: node 3");
    assert_int_equal(itg_prefix_error(NULL, ITG_FAILURE, "a"), ITG_FAILURE);
    itg_error blank = {ITG_OK, "late"};
    assert_int_equal(itg_prefix_error(&blank, ITG_FAILURE, "a"), ITG_FAILURE);
    assert_int_equal(blank.code, ITG_FAILURE);
}

static void a_message_may_quote_the_error_it_replaces(void **state)
{
    (void)state;
    itg_error err;
    itg_fail(&err, ITG_IO, "inner");
    itg_fail(&err, ITG_IO, "outer (%s)", err.message);
    assert_string_equal(err.message, "outer (inner)");
}

static void messages_are_one_line_of_utf8(void **state)
{
    (void)state;
    itg_error err;
    itg_fail(&err, ITG_IO,
             "a\nb\tc\x7F"
             "d\xFF"
             "e\xC3\xA9");
    assert_string_equal(err.message, "a?b?c?d?e\xC3\xA9");
}

static void truncation_never_splits_a_character(void **state)
{
    (void)state;
    for (size_t lead = 500; lead < 520; lead++) {
        char text[600];
        memset(text, 'x', lead);
        memcpy(text + lead, "\xF0\x9F\x98\x80\xE2\x82\xAC\xC3\xA9", 10);
        itg_error err;
        itg_fail(&err, ITG_IO, "%s", text);
        size_t length = strlen(err.message), at = 0;
        while (at < length) {
            size_t step = itg_utf8_length((const unsigned char *)err.message + at, length - at);
            assert_true(step > 0);
            at += step;
        }
        assert_memory_equal(err.message, text, length);
        assert_true(length == lead + 9 || length >= 508);
    }
}

static void prefixing_a_full_message_keeps_it_terminated(void **state)
{
    (void)state;
    char text[1000];
    memset(text, 'y', sizeof text);
    text[999] = '\0';
    itg_error err;
    itg_fail(&err, ITG_IO, "%s", text);
    assert_int_equal(strlen(err.message), 511);
    for (int i = 0; i < 3; i++)
        itg_prefix_error(&err, ITG_IO, "%s", "file");
    assert_int_equal(strlen(err.message), 511);
    assert_memory_equal(err.message, "file: file: file: yyy", 21);
}

static void statuses_have_names_and_texts(void **state)
{
    (void)state;
    assert_string_equal(itg_status_name(ITG_BAD_FILE), "BAD_FILE");
    assert_string_equal(itg_status_text(ITG_BAD_FILE), "malformed file");
    assert_string_equal(itg_status_name(ITG_CANCELLED), "CANCELLED");
    assert_string_equal(itg_status_name(ITG_STATUS_COUNT), "UNKNOWN");
    for (int i = 0; i < ITG_STATUS_COUNT; i++) {
        for (int j = 0; j < i; j++)
            assert_string_not_equal(itg_status_name((itg_status)i), itg_status_name((itg_status)j));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_writes_code_and_text_and_returns_the_code),
        cmocka_unit_test(prefix_keeps_the_first_code),
        cmocka_unit_test(a_message_may_quote_the_error_it_replaces),
        cmocka_unit_test(messages_are_one_line_of_utf8),
        cmocka_unit_test(truncation_never_splits_a_character),
        cmocka_unit_test(prefixing_a_full_message_keeps_it_terminated),
        cmocka_unit_test(statuses_have_names_and_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
