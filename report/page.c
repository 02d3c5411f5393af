#include "report/page.h"
#include "report/text.h"
#include <stdlib.h>
#include <string.h>

const char *itg_page_form_name(itg_page_form form)
{
    static const char *const names[ITG_PAGE_FORMS] = {"html", "md", "csv", "svg"};
    return names[form];
}

static bool is_html(const itg_page *page)
{
    return page->form == ITG_PAGE_HTML;
}

static bool is_markdown(const itg_page *page)
{
    return page->form == ITG_PAGE_MARKDOWN;
}

/* Whether the form holds no more than one part. */
static bool takes_part(const itg_page *page)
{
    return page->form == ITG_PAGE_CSV || page->form == ITG_PAGE_SVG;
}

/* ---- text ---- */

static bool takes_markup(const itg_page *page)
{
    return is_html(page) || (page->form == ITG_PAGE_SVG && page->is_drawing);
}

void itg_page_text(itg_page *page, const char *text)
{
    if (takes_markup(page)) itg_text_markup(&page->text, text);
}

void itg_page_short_text(itg_page *page, const char *text, size_t longest)
{
    const size_t length = strlen(text);
    size_t skipped = length > longest ? length - longest + 1 : 0;
    while (skipped > 0 && ((unsigned char)text[skipped] & 0xC0) == 0x80)
        skipped++;
    itg_page_markup(page, "%s", skipped > 0 ? "&#8230;" : "");
    itg_page_text(page, text + skipped);
}

void itg_page_markup(itg_page *page, const char *format, ...)
{
    va_list arguments;
    if (!takes_markup(page)) return;
    va_start(arguments, format);
    itg_strbuf_vformat(&page->text, format, arguments);
    va_end(arguments);
}

/* <tag>text</tag>; in Markdown the text between `before` and an empty line. */
static void put_element(itg_page *page, const char *tag, const char *before, const char *text)
{
    itg_page_markup(page, "<%s>", tag);
    itg_page_text(page, text);
    itg_page_markup(page, "</%s>\n", tag);
    if (!is_markdown(page)) return;
    itg_strbuf_add(&page->text, before);
    itg_text_markdown(&page->text, text);
    itg_strbuf_add(&page->text, "\n\n");
}

void itg_page_paragraph(itg_page *page, const char *text)
{
    put_element(page, "p", "", text);
}

void itg_page_typed(itg_page *page, const char *text)
{
    if (!is_markdown(page)) {
        put_element(page, "pre", "", text);
        return;
    }
    itg_strbuf_add(&page->text, "    ");
    itg_text_plain(&page->text, text);
    itg_strbuf_add(&page->text, "\n\n");
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
    if (is_html(page)) put_element(page, "title", "", title);
    itg_page_markup(page, "<style>\n%s</style>\n</head>\n<body>\n<header>\n",
                    (const char *)itg_report_style);
    if (is_html(page) || !page->part) {
        put_element(page, "h1", "# ", title);
        itg_page_paragraph(page, words);
    }
    itg_page_markup(page, "</header>\n<main>\n");
}

/* Puts the drawings into one that is as large as all of them. */
static void wrap_drawings(itg_page *page)
{
    const int width = page->drawn.width, height = page->drawn.height;
    itg_strbuf whole = {0};
    itg_strbuf_format(&whole,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                      "viewBox=\"0 0 %d %d\">\n<style>\n%ssvg { width: auto; max-width: none; }\n"
                      "</style>\n<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n",
                      width, height, width, height, (const char *)itg_report_style, width, height);
    if (page->text.text) itg_strbuf_bytes(&whole, page->text.text, page->text.length);
    itg_strbuf_add(&whole, "</svg>\n");
    whole.failed |= page->text.failed;
    itg_strbuf_deinit(&page->text);
    page->text = whole;
}

static itg_status end(itg_page *page, const char *path, itg_error *err)
{
    const char *parts = page->parts.text ? page->parts.text : "none";
    if (page->text.failed || page->parts.failed)
        return itg_fail(err, ITG_NO_MEMORY, "%.300s: no memory for it", path);
    if (page->part && !page->found)
        return itg_fail(err, ITG_BAD_ARGUMENT, "there is no part '%.40s' as %s; there are: %.300s",
                        page->part, itg_page_form_name(page->form), parts);
    if (takes_part(page) && !page->part)
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s holds one part; there are: %.300s",
                        itg_page_form_name(page->form), parts);
    itg_page_markup(page, "</main>\n</body>\n</html>\n");
    if (page->form == ITG_PAGE_SVG) wrap_drawings(page);
    return ITG_OK;
}

itg_status itg_page_save(itg_page *page, const char *path, size_t *bytes, itg_error *err)
{
    itg_status status = end(page, path, err);
    if (status == ITG_OK && !itg_strbuf_ok(&page->text))
        status = itg_fail(err, ITG_NO_MEMORY, "%.300s: no memory for it", path);
    if (status == ITG_OK) status = itg_file_write(path, page->text.text, page->text.length, err);
    if (status == ITG_OK) *bytes = page->text.length;
    itg_page_deinit(page);
    return status;
}

void itg_page_deinit(itg_page *page)
{
    itg_strbuf_deinit(&page->text);
    itg_strbuf_deinit(&page->parts);
    *page = (itg_page){0};
}

/* ---- parts ---- */

static void begin_part(itg_page *page, const char *id)
{
    page->id = id;
    page->start = page->text.length;
    page->before = page->drawn;
}

/* Notes the part if anything was written, and takes it back if it is not wanted. */
static void end_part(itg_page *page)
{
    const bool wanted = page->part ? strcmp(page->part, page->id) == 0 : !takes_part(page);
    if (page->text.length > page->start) {
        itg_strbuf_format(&page->parts, page->parts.length > 0 ? ", %s" : "%s", page->id);
        if (page->part && wanted) page->found = true;
    }
    if (wanted || !page->text.text) return;
    page->text.length = page->start;
    page->text.text[page->start] = '\0';
    page->drawn = page->before;
}

void itg_page_section(itg_page *page, const char *id, const char *title, const char *words)
{
    begin_part(page, id);
    itg_page_markup(page, "<section id=\"part-%s\">\n", id);
    put_element(page, "h2", "## ", title);
    if (words) itg_page_paragraph(page, words);
}

void itg_page_section_end(itg_page *page)
{
    itg_page_markup(page, "</section>\n");
    end_part(page);
}

void itg_page_figures(itg_page *page)
{
    begin_part(page, "figures");
    itg_page_markup(page, "<dl class=\"figures\">\n");
    if (is_markdown(page)) itg_strbuf_add(&page->text, "| | | |\n|---|---:|---|\n");
}

void itg_page_figure(itg_page *page, const char *name, const char *value, const char *below)
{
    itg_page_markup(page, "<div><dt>");
    itg_page_text(page, name);
    itg_page_markup(page, "</dt>\n<dd>");
    itg_page_text(page, value);
    itg_page_markup(page, "<small>");
    itg_page_text(page, below);
    itg_page_markup(page, "</small>\n</dd></div>\n");
    if (!is_markdown(page)) return;
    itg_strbuf_add(&page->text, "| ");
    itg_text_markdown(&page->text, name);
    itg_strbuf_add(&page->text, " | ");
    itg_text_markdown(&page->text, value);
    itg_strbuf_add(&page->text, " | ");
    itg_text_markdown(&page->text, below);
    itg_strbuf_add(&page->text, " |\n");
}

void itg_page_figures_end(itg_page *page)
{
    itg_page_markup(page, "</dl>\n");
    if (is_markdown(page)) itg_strbuf_add(&page->text, "\n");
    end_part(page);
}

void itg_page_details(itg_page *page, const char *title)
{
    itg_page_markup(page, "<details>\n");
    put_element(page, "summary", "### ", title);
}

void itg_page_details_end(itg_page *page)
{
    itg_page_markup(page, "</details>\n");
}

void itg_page_drawing(itg_page *page, const char *class, const char *label, int width, int height)
{
    page->is_drawing = true;
    if (page->form == ITG_PAGE_SVG)
        itg_page_markup(page,
                        "<g class=\"%s\" role=\"img\" transform=\"translate(0 %d)\" aria-label=\"",
                        class, page->drawn.height);
    else
        itg_page_markup(page,
                        "<svg class=\"%s\" role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                        "height=\"%d\" aria-label=\"",
                        class, width, height, width, height);
    itg_page_text(page, label);
    itg_page_markup(page, "\">\n");
    page->drawn.height += height;
    page->drawn.width = width > page->drawn.width ? width : page->drawn.width;
}

void itg_page_drawing_end(itg_page *page)
{
    itg_page_markup(page, page->form == ITG_PAGE_SVG ? "</g>\n" : "</svg>\n");
    page->is_drawing = false;
}

void itg_page_json(itg_page *page, const char *id, const char *json)
{
    if (!is_html(page) || page->part) return;
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
