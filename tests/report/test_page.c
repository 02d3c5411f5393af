/* Text of any origin stays text, and a page is whole or not there. */
#include "tests/base/cmocka_base.h"
#include "report/page.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BAD "\xEF\xBF\xBD"
enum { WORDS = 512 };

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

/* ---- other forms ---- */

/* What a page of two sections, one of them with a drawing, becomes; malloc'd. NULL: it was refused,
 * and words hold why. */
static char *made(itg_page_form form, const char *part, char words[WORDS])
{
    const char *path = TEST_FOLDER "/page.part";
    char *cells[] = {"a|b", "n", "\"q\", <i>", "1,234,567.5 %", "x\xE2\x80\xAE", "12,34"};
    itg_page page = {.form = form, .part = part};
    itg_error err = {0};
    unsigned char *data = NULL;
    size_t bytes = 0, read = 0;
    itg_page_begin(&page, "A *title*", "with words");
    itg_page_figures(&page);
    itg_page_figure(&page, "bytes", "7", "of 8");
    itg_page_figures_end(&page);
    itg_page_section(&page, "one", "First", "what it is");
    itg_page_details(&page, "All");
    itg_page_table(&page, "it", "lr", true, cells, 6);
    itg_page_details_end(&page);
    itg_page_section_end(&page);
    itg_page_section(&page, "two", "Second", NULL);
    itg_page_drawing(&page, "plot", "a & b", 30, 20);
    itg_page_markup(&page, "<path d=\"M0 0\"/>");
    itg_page_text(&page, "<i>");
    itg_page_drawing_end(&page);
    itg_page_drawing(&page, "plot", "below", 40, 5);
    itg_page_drawing_end(&page);
    itg_page_section_end(&page);
    itg_page_json(&page, "data", "{}");
    itg_status status = itg_page_save(&page, path, &bytes, &err);
    snprintf(words, WORDS, "%s", err.message);
    if (status != ITG_OK) {
        assert_int_equal(access(path, F_OK), -1);
        return NULL;
    }
    assert_int_equal(itg_file_read(path, 1 << 20, &data, &read, &err), ITG_OK);
    assert_int_equal(read, bytes);
    unlink(path);
    char *text = realloc(data, read + 1);
    assert_non_null(text);
    text[read] = '\0';
    return text;
}

static void check_made(itg_page_form form, const char *part, const char *expected)
{
    char words[WORDS];
    char *text = made(form, part, words);
    assert_string_equal(text ? text : words, expected);
    free(text);
}

static void markdown_has_text_and_tables(void **state)
{
    (void)state;
    const char *first = "## First\n\nwhat it is\n\n### All\n\n| a\\|b | n |\n|---|---:|\n"
                        "| \"q\", \\<i\\> | 1,234,567.5 % |\n| x" BAD " | 12,34 |\n\n";
    char whole[1024];
    snprintf(whole, sizeof whole,
             "# A \\*title\\*\n\nwith words\n\n| | | |\n|---|---:|---|\n| bytes | 7 | of 8 |\n\n"
             "%s## Second\n\n",
             first);
    check_made(ITG_PAGE_MARKDOWN, NULL, whole);
    check_made(ITG_PAGE_MARKDOWN, "one", first);
}

static void csv_is_the_table_of_a_part(void **state)
{
    (void)state;
    check_made(ITG_PAGE_CSV, "one", "a|b,n\n\"\"\"q\"\", <i>\",1234567.5\nx" BAD ",\"12,34\"\n");
    check_made(ITG_PAGE_CSV, NULL, "csv holds one part; there are: one");
    check_made(ITG_PAGE_CSV, "two", "there is no part 'two' as csv; there are: one");
}

static void svg_is_the_drawings_of_a_part(void **state)
{
    (void)state;
    char words[WORDS];
    char *text = made(ITG_PAGE_SVG, "two", words);
    assert_non_null(text);
    assert_non_null(strstr(text, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" "
                                 "height=\"25\" viewBox=\"0 0 40 25\">"));
    assert_non_null(strstr(text, "<g class=\"plot\" role=\"img\" transform=\"translate(0 0)\" "
                                 "aria-label=\"a &amp; b\">\n<path d=\"M0 0\"/>&lt;i&gt;</g>\n"
                                 "<g class=\"plot\" role=\"img\" transform=\"translate(0 20)\""));
    assert_null(strstr(text, "Second"));
    free(text);
    check_made(ITG_PAGE_SVG, NULL, "svg holds one part; there are: two");
    check_made(ITG_PAGE_SVG, "figures", "there is no part 'figures' as svg; there are: two");
}

static void html_can_be_one_part(void **state)
{
    (void)state;
    char words[WORDS];
    char *text = made(ITG_PAGE_HTML, "two", words);
    assert_non_null(text);
    assert_non_null(strstr(text, "<h1>A *title*</h1>"));
    assert_non_null(strstr(text, "<section id=\"part-two\">"));
    assert_null(strstr(text, "part-one"));
    assert_null(strstr(text, "figures\">"));
    assert_null(strstr(text, "application/json"));
    free(text);
    check_made(ITG_PAGE_HTML, "three",
               "there is no part 'three' as html; there are: figures, one, two");
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
        cmocka_unit_test(markdown_has_text_and_tables),
        cmocka_unit_test(csv_is_the_table_of_a_part),
        cmocka_unit_test(svg_is_the_drawings_of_a_part),
        cmocka_unit_test(html_can_be_one_part),
        cmocka_unit_test(a_page_is_written_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
