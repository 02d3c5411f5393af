/* A report as one file: an HTML page that needs no other file, no script and no network; or its
 * text as Markdown, a table of it as CSV, the plots of a part as SVG. The same calls make each:
 * what a form has no place for is left out. Text of any origin is escaped (report/text.h). A failed
 * allocation is remembered, and itg_page_save tells of it. */
#ifndef ITG_REPORT_PAGE_H
#define ITG_REPORT_PAGE_H
#include "base/base.h"

typedef enum itg_page_form {
    ITG_PAGE_HTML,
    ITG_PAGE_MARKDOWN,
    ITG_PAGE_CSV,
    ITG_PAGE_SVG,
    ITG_PAGE_FORMS
} itg_page_form;
const char *itg_page_form_name(itg_page_form form); /* "html", "md", "csv", "svg" */

/* Set form and part, zero the rest; itg_page_deinit frees. */
typedef struct itg_page {
    itg_page_form form;
    const char *part; /* the id of the only part that is written; NULL: all */
    itg_strbuf text;
    itg_strbuf parts; /* ids of the parts that this form has something of, "course, front" */
    bool found;       /* `part` is among them */
    const char *id;   /* of the part that is being written */
    size_t start;     /* where it begins in the text */
    struct itg_page_extent {
        int width, height; /* of all drawings, one below the other */
    } drawn, before;       /* before: as it was when the part began */
    bool is_drawing;
} itg_page;

extern const unsigned char itg_report_style[]; /* style.css, terminated */

/* title: of the window and above the page; below it a line of words. */
void itg_page_begin(itg_page *page, const char *title, const char *words);
/* Ends the page, and writes it whole or not at all; the page is freed in any case. CSV and SVG
 * take a part. ITG_BAD_ARGUMENT: there is no such part in this form; the message says which. */
itg_status itg_page_save(itg_page *page, const char *path, size_t *bytes, itg_error *err);
void itg_page_deinit(itg_page *page);

/* Text in markup, escaped, also for attributes in "". */
void itg_page_text(itg_page *page, const char *text);
/* The same, of a text of more than `longest` bytes its end alone, which tells more of a name. */
void itg_page_short_text(itg_page *page, const char *text, size_t longest);
/* Markup of HTML, or within drawings; nothing that came from a file may be among the arguments. */
void itg_page_markup(itg_page *page, const char *format, ...) ITG_PRINTF(2, 3);
/* A paragraph, and text as it was typed. */
void itg_page_paragraph(itg_page *page, const char *text);
void itg_page_typed(itg_page *page, const char *text);

/* A section is a part: its id is a word of its own, and stays borrowed until its end. It begins
 * with its title; words (NULL: none) are a paragraph below. */
void itg_page_section(itg_page *page, const char *id, const char *title, const char *words);
void itg_page_section_end(itg_page *page);
/* The part "figures": figures that stand out, each with its name and a remark, which may be "". */
void itg_page_figures(itg_page *page);
void itg_page_figure(itg_page *page, const char *name, const char *value, const char *below);
void itg_page_figures_end(itg_page *page);
/* Begins what is shown, and printed, when the reader opens it. */
void itg_page_details(itg_page *page, const char *title);
void itg_page_details_end(itg_page *page);
/* A table of `count` cells, row after row; alignment: 'l' or 'r' a column. titled: the first row
 * holds the titles of the columns; else the first column holds those of the rows. label: what it
 * shows, for screen readers. */
void itg_page_table(itg_page *page, const char *label, const char *alignment, bool titled,
                    char *const *cells, size_t count);
/* A drawing of this size, in which markup is SVG; as SVG, one lies below the other. class: "plot",
 * which the page scales, or another one of the style. */
void itg_page_drawing(itg_page *page, const char *class, const char *label, int width, int height);
void itg_page_drawing_end(itg_page *page);
/* Figures for programs: a block of JSON under this id, in which no '<' stands. HTML alone has it.
 */
void itg_page_json(itg_page *page, const char *id, const char *json);
#endif
