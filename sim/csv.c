/* Tables as text (RFC 4180, also with ; and tab as delimiters). The file is read as a whole and
 * parsed twice: first to count and check, then to store the wanted columns. */
#include "sim/reader.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 1 << 20, MOST_DIGITS = 63 };

typedef struct table {
    const char *path;
    const char *text, *end;
    const char *at, *line_start;
    int64_t line;
    char delimiter;
    bool has_header;
    int64_t columns, rows;
    int64_t one;   /* the wanted column; -1: all but `other` */
    int64_t other; /* -1: none */
} table;

/* A field without surrounding blanks and quotes. */
typedef struct field {
    const char *text;
    size_t length;
    const char *start; /* for messages */
    bool ends_line;
} field;

/* ---- errors ---- */

static itg_status fail_at(const table *t, const char *at, itg_error *err, const char *format, ...)
    ITG_PRINTF(4, 5);
static itg_status fail_at(const table *t, const char *at, itg_error *err, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return itg_fail(err, ITG_BAD_FILE, "%s:%" PRId64 ":%" PRId64 ": %s", t->path, t->line,
                    (int64_t)(at - t->line_start) + 1, text);
}

/* ---- fields ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool ends_field(const table *t, const char *at)
{
    return at == t->end || *at == t->delimiter || *at == '\n' || *at == '\r';
}

/* Reads up to the closing quote; two quotes count as one character. */
static itg_status skip_quoted(table *t, field *out, itg_error *err)
{
    out->text = ++t->at;
    for (; t->at < t->end && *t->at != '\n' && *t->at != '\r'; t->at++) {
        if (*t->at != '"') continue;
        if (t->at + 1 < t->end && t->at[1] == '"') {
            t->at++;
            continue;
        }
        out->length = (size_t)(t->at++ - out->text);
        return ITG_OK;
    }
    return fail_at(t, out->start, err, "the quote is not closed on its line");
}

static void skip_plain(table *t, field *out)
{
    out->text = t->at;
    while (!ends_field(t, t->at))
        t->at++;
    out->length = (size_t)(t->at - out->text);
    while (out->length > 0 && is_blank(out->text[out->length - 1]))
        out->length--;
}

static void end_line(table *t)
{
    if (t->at < t->end && *t->at == '\r') t->at++;
    if (t->at < t->end && *t->at == '\n') t->at++;
    t->line_start = t->at;
    t->line++;
}

/* Reads the next field and the delimiter behind it, but not the end of the line (end_line). */
static itg_status next_field(table *t, field *out, itg_error *err)
{
    while (t->at < t->end && is_blank(*t->at) && *t->at != t->delimiter)
        t->at++;
    out->start = t->at;
    if (t->at < t->end && *t->at == '"') {
        itg_status status = skip_quoted(t, out, err);
        if (status != ITG_OK) return status;
        while (!ends_field(t, t->at) && is_blank(*t->at))
            t->at++;
        if (!ends_field(t, t->at)) return fail_at(t, t->at, err, "text behind a quoted field");
    } else {
        skip_plain(t, out);
    }
    out->ends_line = t->at == t->end || *t->at != t->delimiter;
    if (!out->ends_line) t->at++;
    return ITG_OK;
}

static bool read_number(const field *f, double *out)
{
    char digits[MOST_DIGITS + 1];
    if (f->length == 0 || f->length > MOST_DIGITS) return false;
    memcpy(digits, f->text, f->length);
    digits[f->length] = '\0';
    return itg_parse_hex_double(digits, out) && isfinite(*out);
}

/* Reads a decimal integer of up to 64 bits. */
static bool read_integer(const field *f, int64_t *out)
{
    const bool is_signed = f->length > 0 && (*f->text == '-' || *f->text == '+');
    int64_t value = 0;
    if (f->length == is_signed) return false;
    for (size_t i = is_signed; i < f->length; i++) {
        const int digit = f->text[i] - '0';
        if (digit < 0 || digit > 9 || value > (INT64_MAX - digit) / 10) return false;
        value = 10 * value + digit;
    }
    *out = *f->text == '-' ? -value : value;
    return true;
}

/* ---- the first line ---- */

/* Whether a field begins with a letter, and is not "nan" or "inf". Mistyped numbers are errors. */
static bool is_name(const field *f)
{
    char start[4] = "";
    if (f->length == 0) return false;
    for (size_t i = 0; i < 3 && i < f->length; i++)
        start[i] = (char)tolower((unsigned char)f->text[i]);
    const unsigned char first = (unsigned char)*start;
    return (isalpha(first) || first == '_' || first > 127) && strcmp(start, "nan") != 0 &&
           strcmp(start, "inf") != 0;
}

/* Returns the first of tab, ; and , that the line has outside quotes; ',' if it has none. */
static char find_delimiter(const table *t)
{
    static const char all[] = "\t;,";
    bool found[3] = {false}, quoted = false;
    for (const char *c = t->at; c < t->end && *c != '\n' && *c != '\r'; c++) {
        quoted ^= *c == '"';
        const char *delimiter = quoted || !*c ? NULL : strchr(all, *c);
        if (delimiter) found[delimiter - all] = true;
    }
    for (int i = 0; i < 3; i++)
        if (found[i]) return all[i];
    return ',';
}

static itg_status read_first_line(table *t, itg_error *err)
{
    field f = {.ends_line = false};
    if (t->end - t->at >= 3 && memcmp(t->at, "\xEF\xBB\xBF", 3) == 0) t->at += 3;
    t->text = t->line_start = t->at;
    t->line = 1;
    t->delimiter = find_delimiter(t);
    while (!f.ends_line) {
        itg_status status = next_field(t, &f, err);
        if (status != ITG_OK) return status;
        if (++t->columns > MOST_COLUMNS)
            return fail_at(t, f.start, err, "more than %d columns", MOST_COLUMNS);
        t->has_header |= is_name(&f);
    }
    return ITG_OK;
}

/* ---- columns ---- */

static bool is_named(const table *t, const field *f, int64_t column, const char *name)
{
    char number[24];
    if (t->has_header) return strlen(name) == f->length && memcmp(name, f->text, f->length) == 0;
    snprintf(number, sizeof number, "%" PRId64, column + 1);
    return strcmp(number, name) == 0;
}

/* Returns the number of the column with that name; -1: none; -2: several. */
static int64_t find_column(table *t, const char *name)
{
    field f = {.ends_line = false};
    int64_t found = -1;
    t->at = t->text;
    for (int64_t i = 0; i < t->columns && next_field(t, &f, NULL) == ITG_OK; i++)
        if (is_named(t, &f, i, name)) found = found == -1 ? i : -2;
    return found;
}

static itg_status refuse_column(table *t, const char *name, int64_t found, itg_error *err)
{
    itg_strbuf names = {0};
    field f = {.ends_line = false};
    t->at = t->text;
    for (int64_t i = 0; t->has_header && names.length < 200 && i < t->columns; i++) {
        if (next_field(t, &f, NULL) != ITG_OK) break;
        itg_strbuf_format(&names, "%s%.*s", i > 0 ? ", " : "", (int)(f.length < 60 ? f.length : 60),
                          f.text);
    }
    if (!t->has_header) itg_strbuf_format(&names, "no names, numbers 1 to %" PRId64, t->columns);
    itg_status status =
        itg_fail(err, ITG_BAD_FILE, "%s: %s column '%s'; it has: %s", t->path,
                 found == -2 ? "more than one" : "no", name, names.text ? names.text : "columns");
    itg_strbuf_deinit(&names);
    return status;
}

/* wanted: the name of a column; -NAME: all others; NULL: all. */
static itg_status choose_columns(table *t, const char *wanted, itg_error *err)
{
    t->one = t->other = -1;
    if (!wanted) return ITG_OK;
    t->one = find_column(t, wanted);
    if (t->one == -1 && *wanted == '-') {
        t->other = find_column(t, wanted + 1);
        if (t->other >= 0 && t->columns == 1)
            return itg_fail(err, ITG_BAD_FILE, "%s: no column but '%s'", t->path, wanted + 1);
        return t->other >= 0 ? ITG_OK : refuse_column(t, wanted + 1, t->other, err);
    }
    return t->one >= 0 ? ITG_OK : refuse_column(t, wanted, t->one, err);
}

static bool is_kept(const table *t, int64_t column)
{
    return t->one >= 0 ? column == t->one : column != t->other;
}

/* ---- values ---- */

/* The destination. NULL: only count; the first number that is no integer sets dtype to F32. */
typedef struct values {
    itg_dtype dtype;
    unsigned char *next;
} values;

static itg_status keep(const table *t, const field *f, values *v, itg_error *err)
{
    double number = 0;
    int64_t integer = 0;
    if (f->length == 0) return fail_at(t, f->start, err, "an empty field; expected a number");
    if (!read_number(f, &number) || (number != 0 && !isfinite((float)number)))
        return fail_at(t, f->start, err, "'%.*s' is no finite number",
                       (int)(f->length < 60 ? f->length : 60), f->text);
    if (!read_integer(f, &integer)) v->dtype = ITG_F32;
    if (!v->next) return ITG_OK;
    const float real = (float)number;
    const size_t size = itg_dtype_size(v->dtype);
    memcpy(v->next, v->dtype == ITG_F32 ? (const void *)&real : (const void *)&integer, size);
    v->next += size;
    return ITG_OK;
}

static itg_status read_row(table *t, values *v, itg_error *err)
{
    field f = {.ends_line = false};
    int64_t column = 0;
    for (; !f.ends_line; column++) {
        itg_status status = next_field(t, &f, err);
        if (status == ITG_OK && column < t->columns && is_kept(t, column))
            status = keep(t, &f, v, err);
        if (status != ITG_OK) return status;
    }
    if (column != t->columns)
        return fail_at(t, t->line_start, err,
                       "%" PRId64 " field%s; expected %" PRId64 " as on line 1", column,
                       itg_plural(column), t->columns);
    end_line(t);
    return ITG_OK;
}

/* Whether only blanks and ends of lines follow. */
static bool is_at_end(const table *t)
{
    const char *at = t->at;
    while (at < t->end && (*at == ' ' || *at == '\r' || *at == '\n'))
        at++;
    return at == t->end;
}

static itg_status read_rows(table *t, values *v, itg_error *err)
{
    itg_status status = ITG_OK;
    t->at = t->line_start = t->text;
    t->line = 1;
    if (t->has_header) {
        while (t->at < t->end && *t->at != '\n' && *t->at != '\r')
            t->at++;
        end_line(t);
    }
    for (t->rows = 0; !is_at_end(t) && status == ITG_OK; t->rows++)
        status = read_row(t, v, err);
    return status;
}

/* ---- the reader ---- */

typedef struct memory {
    int64_t bytes, next;
    unsigned char data[];
} memory;

static int64_t read_memory(void *handle, void *out, size_t bytes)
{
    memory *m = handle;
    const int64_t left = m->bytes - m->next, count = (int64_t)bytes < left ? (int64_t)bytes : left;
    memcpy(out, m->data + m->next, (size_t)count);
    m->next += count;
    return count;
}

/* Parses again, into memory that the reader owns. */
static itg_status fill(table *t, values *v, int64_t kept, itg_reader *reader, itg_error *err)
{
    const int64_t bytes = t->rows * kept * (int64_t)itg_dtype_size(v->dtype);
    memory *m = malloc(sizeof *m + (size_t)bytes);
    if (!m) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for its numbers", t->path);
    *m = (memory){.bytes = bytes};
    v->next = m->data;
    itg_status status = read_rows(t, v, err);
    if (status != ITG_OK) {
        free(m);
        return status;
    }
    reader->handle = m;
    reader->read = read_memory;
    reader->close = free;
    reader->size = reader->max_size = bytes;
    return ITG_OK;
}

static itg_status parse(table *t, const char *wanted, itg_reader *reader, itg_array_header *out,
                        itg_error *err)
{
    const uint16_t one = 1;
    values v = {.dtype = ITG_S64};
    if (is_at_end(t)) return itg_fail(err, ITG_BAD_FILE, "%s: it is empty", t->path);
    itg_status status = read_first_line(t, err);
    if (status == ITG_OK) status = choose_columns(t, wanted, err);
    if (status == ITG_OK) status = read_rows(t, &v, err);
    if (status == ITG_OK && t->rows == 0)
        status = itg_fail(err, ITG_BAD_FILE, "%s: no line follows the names of columns", t->path);
    const int64_t kept = t->one >= 0 ? 1 : t->columns - (t->other >= 0);
    if (status == ITG_OK) status = fill(t, &v, kept, reader, err);
    if (status != ITG_OK) return status;
    *out = (itg_array_header){.dtype = v.dtype,
                              .shape = {.rank = 2, .dims = {t->rows, kept}},
                              .big_endian = *(const unsigned char *)&one == 0};
    return ITG_OK;
}

bool itg_csv_is(const char *path)
{
    const size_t length = strlen(path);
    const char *name = path + (length < 4 ? 0 : length - 4);
    return length >= 4 && name[0] == '.' && tolower(name[1]) == 'c' && tolower(name[2]) == 's' &&
           tolower(name[3]) == 'v';
}

itg_status itg_csv_open(const char *columns, itg_reader *reader, itg_array_header *out,
                        itg_error *err)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    itg_status status = itg_file_read(reader->name, (size_t)ITG_MAX_INFLATED, &data, &bytes, err);
    if (status != ITG_OK) return status;
    table t = {.path = reader->name, .at = (char *)data, .end = (char *)data + bytes};
    status = parse(&t, columns, reader, out, err);
    free(data);
    return status;
}
