#include "cli/table.h"
#include "cli/options.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void itg_cli_table_init(itg_cli_table *table, const char *alignment)
{
    *table = (itg_cli_table){.alignment = alignment};
}

static void make_plain(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7F) *text = '?';
}

static bool reserve(itg_cli_table *table)
{
    if (table->count < table->capacity) return true;
    size_t capacity = table->capacity ? table->capacity * 2 : 256;
    char **grown = realloc(table->cells, capacity * sizeof *grown);
    if (!grown) return false;
    table->cells = grown;
    table->capacity = capacity;
    return true;
}

void itg_cli_table_cell(itg_cli_table *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *cell = length >= 0 && reserve(table) ? malloc((size_t)length + 1) : NULL;
    if (!cell) {
        table->failed = true;
        return;
    }
    va_start(arguments, format);
    vsnprintf(cell, (size_t)length + 1, format, arguments);
    va_end(arguments);
    make_plain(cell);
    table->cells[table->count++] = cell;
}

void itg_cli_table_texts(itg_cli_table *table, const char *first, ...)
{
    va_list texts;
    va_start(texts, first);
    for (const char *text = first; text; text = va_arg(texts, const char *))
        itg_cli_table_cell(table, "%s", text);
    va_end(texts);
}

/* Returns the width of text on a terminal, in characters, not bytes. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static void print_row(char *const *cells, const char *alignment, size_t columns, const int *widths)
{
    size_t shown = columns; /* no blanks at the end of a line */
    while (shown > 0 && cells[shown - 1][0] == '\0')
        shown--;
    for (size_t c = 0; c < shown; c++) {
        int fill = widths[c] - width_of(cells[c]);
        bool right = alignment[c] == 'r', last = c + 1 == shown;
        printf("  %*s%s%*s", right ? fill : 0, "", cells[c], right || last ? 0 : fill, "");
    }
    putchar('\n');
}

int itg_cli_table_print(itg_cli_table *table)
{
    size_t columns = strlen(table->alignment);
    int widths[ITG_CLI_MAX_COLUMNS] = {0};
    int status = table->failed ? itg_cli_fail("no memory for a table") : ITG_CLI_OK;
    for (size_t i = 0; i < table->count; i++) {
        int width = width_of(table->cells[i]);
        if (width > widths[i % columns]) widths[i % columns] = width;
    }
    for (size_t i = 0; status == ITG_CLI_OK && i + columns <= table->count; i += columns)
        print_row(table->cells + i, table->alignment, columns, widths);
    itg_cli_table_deinit(table);
    return status;
}

void itg_cli_table_deinit(itg_cli_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    itg_cli_table_init(table, table->alignment);
}

const char *itg_cli_count_text(long long value, char *buffer)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%lld", value), at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && digits[i - 1] != '-' && (length - i) % 3 == 0) buffer[at++] = ',';
        buffer[at++] = digits[i];
    }
    buffer[at] = '\0';
    return buffer;
}
