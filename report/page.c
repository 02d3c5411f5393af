#include "report/page.h"
#include "base/utf8.h"
#include <stdio.h>
#include <string.h>

/* ---- text ---- */

/* Whether a character is a control or changes the direction of text: with it a name could pass for
 * another. */
static bool is_deceptive(const unsigned char *c, size_t bytes)
{
    if (bytes == 1) return *c < 0x20 || *c == 0x7F;
    if (bytes == 2) return c[0] == 0xC2 && c[1] < 0xA0;
    if (bytes != 3 || c[0] != 0xE2) return false;
    return (c[1] == 0x80 && ((c[2] >= 0xA8 && c[2] <= 0xAE) || c[2] == 0x8E || c[2] == 0x8F)) ||
           (c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9);
}

static const char *entity_of(unsigned char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void itg_page_text(itg_page *page, const char *text)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);
    while (at < end) {
        size_t step = itg_utf8_length(at, (size_t)(end - at));
        const char *entity = entity_of(*at);
        if (step == 0 || is_deceptive(at, step))
            itg_strbuf_add(&page->text, "\xEF\xBF\xBD");
        else if (entity)
            itg_strbuf_add(&page->text, entity);
        else
            itg_strbuf_bytes(&page->text, at, step);
        at += step ? step : 1;
    }
}

void itg_page_markup(itg_page *page, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    itg_strbuf_vformat(&page->text, format, arguments);
    va_end(arguments);
}

void itg_page_element(itg_page *page, const char *tag, const char *text)
{
    itg_page_markup(page, "<%s>", tag);
    itg_page_text(page, text);
    itg_page_markup(page, "</%s>\n", tag);
}

/* ---- the page ---- */

void itg_page_begin(itg_page *page, const char *title, const char *words)
{
    itg_page_markup(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                          "'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
                          "form-action 'none'\">\n"
                          "<meta name=\"viewport\" content=\"width=device-width, "
                          "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
                          "dark\">\n<link rel=\"icon\" href=\"data:,\">\n");
    itg_page_element(page, "title", title);
    itg_page_markup(page, "<style>\n%s</style>\n</head>\n<body>\n<header>\n",
                    (const char *)itg_report_style);
    itg_page_element(page, "h1", title);
    itg_page_element(page, "p", words);
    itg_page_markup(page, "</header>\n<main>\n");
}

itg_status itg_page_save(itg_page *page, const char *path, size_t *bytes, itg_error *err)
{
    itg_page_markup(page, "</main>\n</body>\n</html>\n");
    itg_status status = itg_strbuf_ok(&page->text)
                            ? itg_file_write(path, page->text.text, page->text.length, err)
                            : itg_fail(err, ITG_NO_MEMORY, "%.300s: no memory for it", path);
    if (status == ITG_OK) *bytes = page->text.length;
    itg_page_deinit(page);
    return status;
}

void itg_page_deinit(itg_page *page)
{
    itg_strbuf_deinit(&page->text);
    *page = (itg_page){0};
}

/* ---- parts ---- */

void itg_page_section(itg_page *page, const char *title, const char *words)
{
    itg_page_markup(page, "<section>\n");
    itg_page_element(page, "h2", title);
    if (words) itg_page_element(page, "p", words);
}

void itg_page_section_end(itg_page *page)
{
    itg_page_markup(page, "</section>\n");
}

void itg_page_details(itg_page *page, const char *title)
{
    itg_page_markup(page, "<details>\n");
    itg_page_element(page, "summary", title);
}

void itg_page_details_end(itg_page *page)
{
    itg_page_markup(page, "</details>\n");
}

/* A cell; `scope` where it is a title. */
static void put_cell(itg_page *page, const char *text, char alignment, const char *scope)
{
    itg_page_markup(page, scope ? "<th scope=\"%s\"" : "<td", scope);
    itg_page_markup(page, alignment == 'r' ? " class=\"r\">" : ">");
    itg_page_text(page, text);
    itg_page_markup(page, scope ? "</th>" : "</td>");
}

static void put_row(itg_page *page, const char *alignment, char *const *cells, bool titles,
                    bool first_is_title)
{
    itg_page_markup(page, "<tr>");
    for (size_t c = 0; alignment[c]; c++)
        put_cell(page, cells[c], alignment[c],
                 titles                     ? "col"
                 : c == 0 && first_is_title ? "row"
                                            : NULL);
    itg_page_markup(page, "</tr>\n");
}

void itg_page_table(itg_page *page, const char *label, const char *alignment, bool titled,
                    char *const *cells, size_t count)
{
    const size_t columns = strlen(alignment);
    size_t row = 0;
    itg_page_markup(page, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    itg_page_text(page, label);
    itg_page_markup(page, titled ? "\"><table>\n" : "\"><table class=\"pairs\">\n");
    if (titled && count >= columns) {
        itg_page_markup(page, "<thead>");
        put_row(page, alignment, cells, true, false);
        itg_page_markup(page, "</thead>\n");
        row = columns;
    }
    itg_page_markup(page, "<tbody>\n");
    for (; row + columns <= count; row += columns)
        put_row(page, alignment, cells + row, false, true);
    itg_page_markup(page, "</tbody></table></div>\n");
}

void itg_page_json(itg_page *page, const char *id, const char *json)
{
    itg_page_markup(page, "<script type=\"application/json\" id=\"%s\">", id);
    while (*json) {
        size_t plain = strcspn(json, "<");
        itg_strbuf_bytes(&page->text, json, plain);
        json += plain;
        if (*json) itg_strbuf_add(&page->text, "\\u003c");
        json += *json != '\0';
    }
    itg_page_markup(page, "</script>\n");
}
