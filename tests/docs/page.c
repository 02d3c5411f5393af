#include "page.h"
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

char *page_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(1, size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, size, file), size);
    fclose(file);
    return text;
}

static char *trimmed(char *text)
{
    while (*text == ' ')
        text++;
    for (char *end = text + strlen(text); end > text && end[-1] == ' ';)
        *--end = '\0';
    return text;
}

static void give_row(const char *line, size_t length, void (*row)(char *cells[], int count, void *),
                     void *context)
{
    char *cells[PAGE_CELLS], *copy = calloc(1, length + 1), *at = copy;
    int count = 0;
    assert_non_null(copy);
    memcpy(copy, line, length);
    for (at++; *at != '\0' && count < PAGE_CELLS; count++) {
        char *end = strchr(at, '|');
        assert_non_null(end);
        *end = '\0';
        cells[count] = trimmed(at);
        at = end + 1;
    }
    row(cells, count, context);
    free(copy);
}

void page_table(const char *page, const char *head, void (*row)(char *cells[], int count, void *),
                void *context)
{
    const char *at = page;
    while (at != NULL && strncmp(at, head, strlen(head)) != 0)
        at = (at = strchr(at, '\n')) != NULL ? at + 1 : NULL;
    if (at == NULL) fail_msg("no table '%s'", head);
    int rows = 0;
    for (int line = 0; *at == '|'; line++) {
        size_t length = strcspn(at, "\n");
        if (line > 1) give_row(at, length, row, context); /* behind head and rule */
        rows = line - 1;
        at += length + (at[length] == '\n');
    }
    assert_true(rows > 0);
}

static bool is_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool page_has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        if ((at == text || !is_part(at[-1])) && !is_part(at[length])) return true;
    return false;
}

bool page_has_code(const char *text, const char *word)
{
    char code[256];
    for (const char *at = text; (at = strchr(at, '`')) != NULL;) {
        size_t length = strcspn(at + 1, "`\n");
        if (length >= sizeof code) return false;
        memcpy(code, at + 1, length);
        code[length] = '\0';
        if (page_has_word(code, word)) return true;
        at += length + 1 + (at[length + 1] == '`');
    }
    return false;
}
