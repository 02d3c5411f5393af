/* Arrays of the C source. The form is exactly the one that is written: decimal numbers without
 * leading zeros, bare or as INT32_C(...) and INT64_C(...), and the two least numbers. */
#include "realize/verify/source.h"
#include <string.h>

static const char head[] = "static const ", tag[] = "/* from: ";

static bool problem(itg_source_reader *r, const char *what)
{
    itg_view_problem(r->view, "line %d of the C source: %s", (int)r->line, what);
    return false;
}

static bool skip(const char **at, const char *end, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(end - *at) < length || memcmp(*at, text, length) != 0) return false;
    *at += length;
    return true;
}

/* An identifier, or all up to one of `stops`. */
static bool word(const char **at, const char *end, const char *stops, char *out, size_t size)
{
    size_t n = 0;
    for (; *at < end && **at != '\n' && strchr(stops, **at) == NULL; (*at)++) {
        if (n + 1 >= size) return false;
        out[n++] = **at;
    }
    out[n] = '\0';
    return n > 0 && *at < end && **at != '\n';
}

static bool digits(const char **at, const char *end, int64_t *out)
{
    const char *first = *at;
    int64_t v = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
        int digit = **at - '0';
        if (v > (INT64_MAX - digit) / 10) return false;
        v = v * 10 + digit;
    }
    *out = v;
    return *at > first && (*first != '0' || *at == first + 1);
}

static bool plain(const char **at, const char *end, int64_t *out)
{
    bool negative = skip(at, end, "-");
    if (!digits(at, end, out) || (negative && *out == 0)) return false;
    if (negative) *out = -*out;
    return true;
}

static bool number(const char **at, const char *end, int64_t *out)
{
    if (skip(at, end, "(-INT32_C(2147483647) - 1)")) {
        *out = INT32_MIN;
        return true;
    }
    if (skip(at, end, "(-INT64_C(9223372036854775807) - 1)")) {
        *out = INT64_MIN;
        return true;
    }
    if (skip(at, end, "INT32_C(") || skip(at, end, "INT64_C("))
        return plain(at, end, out) && skip(at, end, ")");
    return plain(at, end, out);
}

static bool type_named(const char *text, itg_dtype *out)
{
    static const struct {
        const char *name;
        itg_dtype type;
    } types[] = {{"int8_t", ITG_S8},    {"uint8_t", ITG_U8},  {"int16_t", ITG_S16},
                 {"uint16_t", ITG_U16}, {"int32_t", ITG_S32}, {"int64_t", ITG_S64}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(text, types[i].name) == 0) {
            *out = types[i].type;
            return true;
        }
    return false;
}

static void blanks(itg_source_reader *r, const char **at)
{
    for (; *at < r->end && (**at == ' ' || **at == '\n'); (*at)++)
        r->line += **at == '\n';
}

static bool values(itg_source_reader *r, const char **at, itg_dtype type, itg_source_array *out)
{
    /* At least a digit and what separates it: a count cannot claim more than is there. */
    if (out->count > (r->end - *at) / 2) return problem(r, "an array longer than the file");
    out->values = itg_view_array(r->view, out->count, sizeof *out->values);
    if (out->values == NULL) return false;
    for (int64_t i = 0; i < out->count; i++) {
        if (i > 0 && !skip(at, r->end, ",")) return problem(r, "too few numbers in the array");
        blanks(r, at);
        int64_t *v = &out->values[i];
        if (!number(at, r->end, v)) return problem(r, "what stands in the array is no number");
        if (*v < itg_dtype_min(type) || *v > itg_dtype_max(type))
            return problem(r, "a number that its type does not hold");
    }
    return skip(at, r->end, "};\n") || problem(r, "the array does not end after its last number");
}

static bool array(itg_source_reader *r, const char **at, itg_source_array *out)
{
    char type[16];
    itg_dtype dtype;
    if (!word(at, r->end, " ", type, sizeof type) || !type_named(type, &dtype) ||
        !skip(at, r->end, " ") || !word(at, r->end, "[", out->name, sizeof out->name) ||
        !skip(at, r->end, "[") || !digits(at, r->end, &out->count) || out->count == 0 ||
        !skip(at, r->end, "] = {"))
        return problem(r, "no array as they are written");
    return values(r, at, dtype, out);
}

bool itg_source_next(itg_source_reader *r, itg_source_array *out)
{
    out->from[0] = '\0';
    while (r->text < r->end) {
        const char *at = r->text;
        if (skip(&at, r->end, head)) {
            if (out->from[0] == '\0') return problem(r, "an array that is from nowhere");
            bool ok = array(r, &at, out);
            r->text = at;
            r->line++;
            return ok;
        }
        out->from[0] = '\0';
        if (skip(&at, r->end, tag)) {
            size_t n = 0;
            for (; at < r->end && *at != '\n' && n + 1 < sizeof out->from; at++)
                out->from[n++] = *at;
            out->from[n] = '\0';
        }
        const char *next = memchr(at, '\n', (size_t)(r->end - at));
        r->text = next != NULL ? next + 1 : r->end;
        r->line++;
    }
    return false;
}
