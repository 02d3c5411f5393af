/* Text of any origin in the forms of a report. What does not stand for a character, a control and
 * what turns the direction of text become U+FFFD. */
#ifndef ITG_REPORT_TEXT_H
#define ITG_REPORT_TEXT_H
#include "base/base.h"

void itg_text_plain(itg_strbuf *out, const char *text);
/* For HTML and SVG, also in attributes within "": as entities. */
void itg_text_markup(itg_strbuf *out, const char *text);
/* For Markdown (CommonMark 0.31, with tables): what could be markup stands behind a backslash. */
void itg_text_markdown(itg_strbuf *out, const char *text);
/* A cell of CSV (RFC 4180): in quotes where it needs them. A number such as "12,345" or "97.16 %"
 * is written without commas and unit. */
void itg_text_csv(itg_strbuf *out, const char *text);
#endif
