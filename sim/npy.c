/* Reads .npy headers, versions 1.0 to 3.0 (numpy/lib/format.py). The header is a Python dict
 * literal with exactly the keys descr, fortran_order and shape; only that part of Python's grammar
 * is read. */
#include "sim/reader.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 65535, MAGIC_BYTES = 6 };

typedef struct cursor {
    const char *text;
    size_t at, end;
} cursor;

static void skip_space(cursor *c)
{
    while (c->at < c->end && strchr(" \t\n\r", c->text[c->at]) && c->text[c->at])
        c->at++;
}

static bool take(cursor *c, char wanted)
{
    skip_space(c);
    if (c->at >= c->end || c->text[c->at] != wanted) return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word)
{
    skip_space(c);
    size_t length = strlen(word);
    if (c->end - c->at < length || memcmp(c->text + c->at, word, length) != 0) return false;
    c->at += length;
    return true;
}

/* Reads 'text' or "text", without escapes. */
static bool take_string(cursor *c, char *out, size_t size)
{
    skip_space(c);
    char quote = c->at < c->end ? c->text[c->at] : '\0';
    if (quote != '\'' && quote != '"') return false;
    size_t length = 0;
    for (c->at++; c->at < c->end && c->text[c->at] != quote; c->at++) {
        if (length + 1 >= size || c->text[c->at] == '\\' || c->text[c->at] == '\0') return false;
        out[length++] = c->text[c->at];
    }
    out[length] = '\0';
    return take(c, quote);
}

static bool take_integer(cursor *c, int64_t *out)
{
    skip_space(c);
    int64_t value = 0;
    size_t first = c->at;
    for (; c->at < c->end && c->text[c->at] >= '0' && c->text[c->at] <= '9'; c->at++) {
        int digit = c->text[c->at] - '0';
        if (value > (INT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    if (c->at == first) return false;
    if (c->at < c->end && c->text[c->at] == 'L') c->at++; /* Python 2 wrote long integers with L */
    *out = value;
    return true;
}

/* Reads (), (3,), (3, 4) or (3, 4,). */
static bool take_shape(cursor *c, itg_shape *shape)
{
    shape->rank = 0;
    if (!take(c, '(')) return false;
    if (take(c, ')')) return true;
    for (;;) {
        if (shape->rank == ITG_MAX_RANK || !take_integer(c, &shape->dims[shape->rank]))
            return false;
        shape->rank++;
        bool comma = take(c, ',');
        if (take(c, ')')) return comma || shape->rank > 1;
        if (!comma) return false;
    }
}

static itg_status parse_descr(const char *name, const char *descr, itg_array_header *out,
                              itg_error *err)
{
    static const struct {
        const char *code;
        itg_dtype dtype;
    } allowed[] = {{"b1", ITG_BOOL}, {"u1", ITG_U8},  {"i1", ITG_S8},  {"u2", ITG_U16},
                   {"i2", ITG_S16},  {"u4", ITG_U32}, {"i4", ITG_S32}, {"i8", ITG_S64},
                   {"f4", ITG_F32},  {"f8", ITG_F64}};
    for (size_t i = 0; strlen(descr) == 3 && i < sizeof allowed / sizeof *allowed; i++) {
        if (strcmp(descr + 1, allowed[i].code) != 0) continue;
        bool one_byte = itg_dtype_size(allowed[i].dtype) == 1;
        if (descr[0] != '<' && descr[0] != '>' && !(one_byte && descr[0] == '|')) break;
        out->dtype = allowed[i].dtype;
        out->big_endian = descr[0] == '>';
        return ITG_OK;
    }
    return itg_fail(err, ITG_UNSUPPORTED,
                    "%s: element type '%s'; expected one of b1 u1 i1 u2 i2 u4 i4 i8 f4 f8", name,
                    descr);
}

static itg_status parse_member(const char *name, cursor *c, unsigned *seen, itg_array_header *out,
                               itg_error *err)
{
    char key[32], descr[64];
    if (!take_string(c, key, sizeof key) || !take(c, ':')) goto malformed;
    unsigned bit = !strcmp(key, "descr")           ? 1u
                   : !strcmp(key, "fortran_order") ? 2u
                   : !strcmp(key, "shape")         ? 4u
                                                   : 0u;
    if (!bit || *seen & bit) goto malformed;
    *seen |= bit;
    if (bit == 1u) {
        skip_space(c);
        if (c->at < c->end && c->text[c->at] == '[')
            return itg_fail(err, ITG_UNSUPPORTED, "%s: a structured array; expected plain numbers",
                            name);
        if (!take_string(c, descr, sizeof descr)) goto malformed;
        return parse_descr(name, descr, out, err);
    }
    if (bit == 4u) {
        if (!take_shape(c, &out->shape)) goto malformed;
        return ITG_OK;
    }
    if (take_word(c, "False")) return ITG_OK;
    if (!take_word(c, "True")) goto malformed;
    return itg_fail(err, ITG_UNSUPPORTED,
                    "%s: Fortran order; expected C order (numpy.ascontiguousarray)", name);
malformed:
    return itg_fail(
        err, ITG_BAD_FILE,
        "%s: .npy header, character %zu: expected 'descr', 'fortran_order' and 'shape', once each",
        name, c->at);
}

static itg_status parse_dict(const char *name, const char *text, size_t length,
                             itg_array_header *out, itg_error *err)
{
    cursor c = {text, 0, length};
    unsigned seen = 0;
    if (!take(&c, '{')) goto malformed;
    while (!take(&c, '}')) {
        itg_status status = parse_member(name, &c, &seen, out, err);
        if (status != ITG_OK) return status;
        if (take(&c, ',')) continue;
        if (!take(&c, '}')) goto malformed;
        break;
    }
    skip_space(&c);
    if (c.at == c.end && seen == 7u) return ITG_OK;
malformed:
    return itg_fail(
        err, ITG_BAD_FILE,
        "%s: .npy header, character %zu: expected a dict of 'descr', 'fortran_order' and 'shape'",
        name, c.at);
}

bool itg_npy_is(const itg_reader *reader)
{
    return reader->head_count >= MAGIC_BYTES && memcmp(reader->head, "\x93NUMPY", MAGIC_BYTES) == 0;
}

itg_status itg_npy_header(itg_reader *reader, itg_array_header *out, itg_error *err)
{
    unsigned char magic[8], b[4] = {0};
    itg_status status = itg_reader_exact(reader, magic, sizeof magic, ".npy header", err);
    if (status != ITG_OK) return status;
    if (magic[6] < 1 || magic[6] > 3 || magic[7] != 0)
        return itg_fail(err, ITG_UNSUPPORTED, "%s: .npy version %d.%d; expected 1.0 to 3.0",
                        reader->name, magic[6], magic[7]);
    size_t width = magic[6] == 1 ? 2 : 4;
    status = itg_reader_exact(reader, b, width, ".npy header", err);
    if (status != ITG_OK) return status;
    size_t length = (size_t)b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24;
    if (length > MAX_HEADER)
        return itg_fail(err, ITG_LIMIT, "%s: .npy header of %zu bytes; the limit is %d",
                        reader->name, length, MAX_HEADER);
    char *text = malloc(length + 1);
    if (!text) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for its header", reader->name);
    itg_array_header header = {.bytes = (int64_t)(sizeof magic + width + length)};
    status = itg_reader_exact(reader, text, length, ".npy header", err);
    if (status == ITG_OK) status = parse_dict(reader->name, text, length, &header, err);
    free(text);
    if (status == ITG_OK) *out = header;
    return status;
}
