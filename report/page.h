/* A report: one HTML page that needs no other file, no script and no network. Text of any origin
 * is escaped here; what does not stand for a character becomes U+FFFD. A failed allocation is
 * remembered, and itg_page_save tells of it. */
#ifndef ITG_REPORT_PAGE_H
#define ITG_REPORT_PAGE_H
#include "base/base.h"

typedef struct itg_page {
    itg_strbuf text;
} itg_page; /* zero-initialize; itg_page_deinit frees */

extern const unsigned char itg_report_style[]; /* style.css, terminated */

/* title: of the window and above the page; below it a line of words. */
void itg_page_begin(itg_page *page, const char *title, const char *words);
/* Ends the page, and writes it whole or not at all; the page is freed in any case. */
itg_status itg_page_save(itg_page *page, const char *path, size_t *bytes, itg_error *err);
void itg_page_deinit(itg_page *page);

void itg_page_text(itg_page *page, const char *text); /* escaped, also for attributes in "" */
/* Markup as it is; nothing that came from a file may be among the arguments. */
void itg_page_markup(itg_page *page, const char *format, ...) ITG_PRINTF(2, 3);
/* <tag>text</tag> */
void itg_page_element(itg_page *page, const char *tag, const char *text);

/* A section begins with its title; words (NULL: none) are a paragraph below. */
void itg_page_section(itg_page *page, const char *title, const char *words);
void itg_page_section_end(itg_page *page);
/* Begins a part that is shown, and printed, when the reader opens it. */
void itg_page_details(itg_page *page, const char *title);
void itg_page_details_end(itg_page *page);
/* A table of `count` cells, row after row; alignment: 'l' or 'r' a column. titled: the first row
 * holds the titles of the columns; else the first column holds those of the rows. label: what it
 * shows, for screen readers. */
void itg_page_table(itg_page *page, const char *label, const char *alignment, bool titled,
                    char *const *cells, size_t count);
/* Figures for programs: a block of JSON under this id, in which no '<' stands. */
void itg_page_json(itg_page *page, const char *id, const char *json);
#endif
