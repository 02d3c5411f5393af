/* Tables of a report in its forms. */
#include "report/page.h"
#include "report/text.h"
#include <string.h>

typedef struct table {
    const char *label, *alignment;
    bool titled;
    char *const *cells;
    size_t columns, rows;
} table;

static const char *cell_at(const table *t, size_t row, size_t column)
{
    return t->cells[row * t->columns + column];
}

/* ---- HTML ---- */

/* A cell; `scope` where it is a title. */
static void put_cell(itg_page *page, const char *text, char alignment, const char *scope)
{
    itg_page_markup(page, scope ? "<th scope=\"%s\"" : "<td", scope);
    itg_page_markup(page, alignment == 'r' ? " class=\"r\">" : ">");
    itg_page_text(page, text);
    itg_page_markup(page, scope ? "</th>" : "</td>");
}

static void put_row(itg_page *page, const table *t, size_t row)
{
    itg_page_markup(page, "<tr>");
    for (size_t c = 0; c < t->columns; c++)
        put_cell(page, cell_at(t, row, c), t->alignment[c],
                 t->titled && row == 0 ? "col"
                 : c == 0              ? "row"
                                       : NULL);
    itg_page_markup(page, "</tr>\n");
}

static void put_html(itg_page *page, const table *t)
{
    const size_t titles = t->titled && t->rows > 0;
    itg_page_markup(page, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    itg_page_text(page, t->label);
    itg_page_markup(page, t->titled ? "\"><table>\n" : "\"><table class=\"pairs\">\n");
    if (titles) {
        itg_page_markup(page, "<thead>");
        put_row(page, t, 0);
        itg_page_markup(page, "</thead>\n");
    }
    itg_page_markup(page, "<tbody>\n");
    for (size_t row = titles; row < t->rows; row++)
        put_row(page, t, row);
    itg_page_markup(page, "</tbody></table></div>\n");
}

/* ---- Markdown and CSV ---- */

static void put_rule(itg_strbuf *out, const table *t)
{
    itg_strbuf_add(out, "|");
    for (size_t c = 0; c < t->columns; c++)
        itg_strbuf_add(out, t->alignment[c] == 'r' ? "---:|" : "---|");
    itg_strbuf_add(out, "\n");
}

/* Tables of Markdown begin with titles; where there are none, with empty ones. */
static void put_markdown(itg_strbuf *out, const table *t)
{
    for (size_t c = 0; c < t->columns && !t->titled; c++)
        itg_strbuf_add(out, c + 1 < t->columns ? "| " : "| |\n");
    if (!t->titled) put_rule(out, t);
    for (size_t row = 0; row < t->rows; row++) {
        for (size_t c = 0; c < t->columns; c++) {
            itg_strbuf_add(out, "| ");
            itg_text_markdown(out, cell_at(t, row, c));
            itg_strbuf_add(out, " ");
        }
        itg_strbuf_add(out, "|\n");
        if (t->titled && row == 0) put_rule(out, t);
    }
    itg_strbuf_add(out, "\n");
}

static void put_csv(itg_strbuf *out, const table *t)
{
    for (size_t i = 0; i < t->rows * t->columns; i++) {
        itg_text_csv(out, t->cells[i]);
        itg_strbuf_add(out, (i + 1) % t->columns == 0 ? "\n" : ",");
    }
}

void itg_page_table(itg_page *page, const char *label, const char *alignment, bool titled,
                    char *const *cells, size_t count)
{
    const size_t columns = strlen(alignment);
    const table t = {label, alignment, titled, cells, columns, count / columns};
    if (page->form == ITG_PAGE_HTML) put_html(page, &t);
    if (page->form == ITG_PAGE_MARKDOWN) put_markdown(&page->text, &t);
    if (page->form == ITG_PAGE_CSV) put_csv(&page->text, &t);
}
