/* Prints text in aligned columns. Control characters are replaced, because cells come from files.
 */
#ifndef ITG_CLI_TABLE_H
#define ITG_CLI_TABLE_H
#include <stdbool.h>
#include <stddef.h>

#define ITG_CLI_MAX_COLUMNS 16

typedef struct itg_cli_table {
    const char *alignment; /* 'l' or 'r' a column; its length is the number of columns */
    size_t count, capacity;
    char **cells; /* row after row */
    bool failed;
} itg_cli_table;

void itg_cli_table_init(itg_cli_table *table, const char *alignment);
/* Adds a cell; cells fill the rows one after another. */
void itg_cli_table_cell(itg_cli_table *table, const char *format, ...);
/* Adds a cell for each text up to NULL. */
void itg_cli_table_texts(itg_cli_table *table, const char *first, ...);
/* Prints the table on stdout and frees it. Returns an exit status. */
int itg_cli_table_print(itg_cli_table *table);
void itg_cli_table_deinit(itg_cli_table *table);

/* Writes "12,345,678" into a buffer of at least 32 bytes and returns it. */
const char *itg_cli_count_text(long long value, char *buffer);
#endif
