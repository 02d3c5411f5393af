/* Text of any origin stays text, and a page is whole or not there. */
#include "tests/base/cmocka_base.h"
#include "report/page.h"
#include <stdlib.h>
#include <unistd.h>

#define BAD "\xEF\xBF\xBD"

static void check_text(const char *text, const char *expected)
{
    itg_page page = {0};
    itg_page_text(&page, text);
    assert_string_equal(page.text.text ? page.text.text : "", expected);
    itg_page_deinit(&page);
}

static void markup_in_text_is_escaped(void **state)
{
    (void)state;
    check_text("", "");
    check_text("a -> b.0", "a -&gt; b.0");
    check_text("<script>\"x\" & 'y'</script>",
               "&lt;script&gt;&quot;x&quot; &amp; &#39;y&#39;&lt;/script&gt;");
    check_text("&amp;", "&amp;amp;");
}

static void what_is_no_character_is_replaced(void **state)
{
    (void)state;
    check_text("a\x01\n\x7F", "a" BAD BAD BAD);
    check_text("\xC2\x85\xC2\xA0", BAD "\xC2\xA0");          /* a C1 control; a blank */
    check_text("\xFF\xC3<\xE2\x82", BAD BAD "&lt;" BAD BAD); /* cut off */
    check_text("\xE2\x80\xAEgpj\xE2\x81\xA6\xE2\x80\x8F", BAD "gpj" BAD BAD);
    check_text("\xE2\x82\xAC \xE7\xB6\xB2 \xF0\x9F\x99\x82",
               "\xE2\x82\xAC \xE7\xB6\xB2 \xF0\x9F\x99\x82");
}

static void data_cannot_end_its_block(void **state)
{
    (void)state;
    itg_page page = {0};
    itg_page_json(&page, "run", "{\"a\": \"</script><!--\"}");
    assert_string_equal(page.text.text, "<script type=\"application/json\" id=\"run\">{\"a\": "
                                        "\"\\u003c/script>\\u003c!--\"}</script>\n");
    itg_page_deinit(&page);
}

static void tables_have_titles_of_columns_or_of_rows(void **state)
{
    (void)state;
    char *cells[] = {"a", "b<", "1", "2"};
    itg_page page = {0};
    itg_page_table(&page, "\"it\"", "lr", true, cells, 4);
    assert_non_null(strstr(page.text.text, "aria-label=\"&quot;it&quot;\""));
    assert_non_null(strstr(page.text.text, "<thead><tr><th scope=\"col\">a</th><th scope=\"col\" "
                                           "class=\"r\">b&lt;</th></tr>"));
    assert_non_null(
        strstr(page.text.text, "<tr><th scope=\"row\">1</th><td class=\"r\">2</td></tr>"));
    itg_page_deinit(&page);
    itg_page_table(&page, "it", "lr", false, cells, 4);
    assert_null(strstr(page.text.text, "thead"));
    assert_non_null(strstr(page.text.text, "<th scope=\"row\">a</th>"));
    itg_page_deinit(&page);
}

static void a_page_is_written_whole_or_not_at_all(void **state)
{
    (void)state;
    const char *path = TEST_FOLDER "/page.html";
    itg_page page = {0};
    itg_error err = {0};
    size_t bytes = 0, read = 0;
    unsigned char *data = NULL;
    itg_page_begin(&page, "a <b>", "words");
    assert_int_equal(itg_page_save(&page, path, &bytes, &err), ITG_OK);
    assert_null(page.text.text);
    assert_int_equal(itg_file_read(path, 1 << 20, &data, &read, &err), ITG_OK);
    assert_int_equal(bytes, read);
    assert_non_null(strstr((char *)data, "<title>a &lt;b&gt;</title>"));
    assert_non_null(strstr((char *)data, "default-src 'none'"));
    assert_string_equal((char *)data + read - 8, "</html>\n");
    free(data);
    unlink(path);
    itg_page_begin(&page, "a", "b");
    page.text.failed = true; /* as without memory */
    assert_int_equal(itg_page_save(&page, path, &bytes, &err), ITG_NO_MEMORY);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(itg_page_save(&page, TEST_FOLDER, &bytes, &err), ITG_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_in_text_is_escaped),
        cmocka_unit_test(what_is_no_character_is_replaced),
        cmocka_unit_test(data_cannot_end_its_block),
        cmocka_unit_test(tables_have_titles_of_columns_or_of_rows),
        cmocka_unit_test(a_page_is_written_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
