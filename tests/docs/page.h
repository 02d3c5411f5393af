/* A page of docs/, looked at by its tables and its words in backticks. */
#ifndef ITG_TEST_PAGE_H
#define ITG_TEST_PAGE_H
#include <stdbool.h>
#include <stddef.h>

/* The whole page, to be freed. */
char *page_read(const char *path);

/* Calls row for each row of the table behind the first line that begins with `head`; cells are
 * trimmed, and shared with nobody. */
enum { PAGE_CELLS = 8 };
void page_table(const char *page, const char *head, void (*row)(char *cells[], int count, void *),
                void *context);

/* Whether `word` stands in text: not as a part of a longer word. */
bool page_has_word(const char *text, const char *word);
/* Whether `word` stands in backticks: alone, or among other words. */
bool page_has_code(const char *text, const char *word);
#endif
