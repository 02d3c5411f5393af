/* Writes the elements of C source: identifiers, literals, arrays, loops. */
#include "realize/emit/emit.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *itg_emit_text(itg_emitter *e, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = itg_arena_vformat(e->arena, format, arguments);
    va_end(arguments);
    e->failed |= text == NULL;
    return text != NULL ? text : "";
}

void *itg_emit_alloc(itg_emitter *e, size_t count, size_t size)
{
    void *memory = itg_arena_array(e->arena, count > 0 ? count : 1, size);
    if (memory == NULL) e->failed = true;
    return memory;
}

void itg_emit_fail(itg_emitter *e, itg_status status, const char *what, const char *name,
                   const char *why)
{
    if (e->status == ITG_OK)
        e->status = itg_fail(e->err, status, "%s: %s '%s': %s", e->p->name, what, name, why);
}

itg_status itg_emit_status(itg_emitter *e)
{
    if (e->failed && e->status == ITG_OK)
        e->status = itg_fail(e->err, ITG_NO_MEMORY, "%s: no memory to emit it", e->p->name);
    return e->status;
}

/* ---- names ---- */

void itg_emit_identifier(const char *name, char out[ITG_EMIT_NAME])
{
    size_t n = 0;
    if (!isalpha((unsigned char)name[0])) out[n++] = 'n';
    for (const char *c = name; *c != '\0' && n < ITG_EMIT_NAME - 16; c++) {
        bool plain = ((unsigned char)*c < 128) && isalnum((unsigned char)*c);
        if (!plain && n > 0 && out[n - 1] == '_') continue;
        out[n++] = plain ? *c : '_';
    }
    while (n > 1 && out[n - 1] == '_')
        n--;
    out[n] = '\0';
}

void itg_emit_upper(const char *name, char out[ITG_EMIT_NAME])
{
    size_t n = 0;
    for (; name[n] != '\0' && n < ITG_EMIT_NAME - 1; n++)
        out[n] = (char)toupper((unsigned char)name[n]);
    out[n] = '\0';
}

bool itg_emit_needs(itg_emitter *e, const char *helper)
{
    if (itg_names_find(&e->needed, helper) >= 0) return false;
    if (!itg_names_put(&e->needed, itg_emit_text(e, "%s", helper), 0)) e->failed = true;
    return true;
}

int32_t itg_emit_first(itg_emitter *e, itg_names *texts, const char *text)
{
    const int32_t found = itg_names_find(texts, text), own = (int32_t)(e->layer - e->layers);
    if (found < 0 && !itg_names_put(texts, text, own)) e->failed = true;
    return found < 0 ? own : found;
}

const char *itg_emit_ctype(itg_dtype type)
{
    switch (type) {
    case ITG_S8:
        return "int8_t";
    case ITG_U8:
        return "uint8_t";
    case ITG_S16:
        return "int16_t";
    case ITG_U16:
        return "uint16_t";
    case ITG_S32:
        return "int32_t";
    case ITG_U32:
        return "uint32_t";
    default:
        return "int64_t";
    }
}

void itg_emit_template(itg_strbuf *out, const char *text, ...)
{
    const char *argument[9] = {NULL};
    va_list arguments;
    va_start(arguments, text);
    for (int i = 0; i < 9; i++) {
        argument[i] = va_arg(arguments, const char *);
        if (argument[i] == NULL) break;
    }
    va_end(arguments);
    for (const char *next; (next = strchr(text, '$')) != NULL; text = next + 2) {
        itg_strbuf_bytes(out, text, (size_t)(next - text));
        itg_strbuf_add(out, argument[next[1] - '1']);
    }
    itg_strbuf_add(out, text);
}

/* ---- numbers ---- */

const char *itg_emit_number(itg_emitter *e, int64_t v)
{
    if (v > -32768 && v < 32768) return itg_emit_text(e, "%lld", (long long)v);
    if (v > INT32_MIN && v <= INT32_MAX) return itg_emit_text(e, "INT32_C(%lld)", (long long)v);
    if (v == INT32_MIN) return "(-INT32_C(2147483647) - 1)";
    if (v == INT64_MIN) return "(-INT64_C(9223372036854775807) - 1)";
    return itg_emit_text(e, "INT64_C(%lld)", (long long)v);
}

static void range_of(const int64_t *values, int64_t count, int64_t *lo, int64_t *hi)
{
    *lo = *hi = values[0];
    for (int64_t i = 1; i < count; i++) {
        if (values[i] < *lo) *lo = values[i];
        if (values[i] > *hi) *hi = values[i];
    }
}

itg_dtype itg_emit_smallest(const int64_t *values, int64_t count)
{
    int64_t lo, hi;
    range_of(values, count, &lo, &hi);
    static const itg_dtype types[] = {ITG_S8, ITG_U8, ITG_S16, ITG_U16, ITG_S32};
    for (int i = 0; i < 5; i++)
        if (lo >= itg_dtype_min(types[i]) && hi <= itg_dtype_max(types[i])) return types[i];
    return ITG_S64;
}

const char *itg_emit_array(itg_emitter *e, const char *what, const int64_t *values, int64_t count)
{
    itg_strbuf text = {0};
    const itg_dtype dtype = itg_emit_smallest(values, count);
    const char *type = itg_emit_ctype(dtype);
    itg_strbuf_format(&text, "[%lld] = {", (long long)count);
    for (int64_t i = 0; i < count; i++) {
        itg_strbuf_add(&text, i == 0 ? "\n    " : i % 8 == 0 ? ",\n    " : ", ");
        if (values[i] > -32768 && values[i] < 32768)
            itg_strbuf_format(&text, "%lld", (long long)values[i]);
        else
            itg_strbuf_add(&text, itg_emit_number(e, values[i]));
    }
    e->failed |= text.failed;
    const char *values_text = text.failed ? "" : text.text;
    const char *key = itg_emit_text(e, "%s %s%s", what, type, values_text);
    const itg_emit_layer *first = &e->layers[itg_emit_first(e, &e->arrays, key)];
    const char *name = itg_emit_text(e, "%s_%s", first->name, what);
    if (first == e->layer && itg_emit_needs(e, name)) {
        itg_strbuf_format(&e->data, "static const %s %s%s};\n", type, name, values_text);
        e->layer->constant_bytes += count * (int64_t)itg_dtype_size(dtype);
    }
    itg_strbuf_deinit(&text);
    return name;
}

const char *itg_emit_channel(itg_emitter *e, const char *what, const int64_t *values, int64_t count,
                             const char *index)
{
    int64_t lo, hi;
    range_of(values, count, &lo, &hi);
    if (lo == hi) return itg_emit_number(e, lo);
    return itg_emit_text(e, "%s[%s]", itg_emit_array(e, what, values, count), index);
}

/* ---- memory ---- */

size_t itg_emit_room(itg_dtype type, int64_t count)
{
    return ((size_t)count * itg_dtype_size(type) + 7) / 8 * 8;
}

const char *itg_emit_scratch(itg_emitter *e, itg_dtype type, int64_t count)
{
    size_t size = itg_dtype_size(type), at = e->layer->scratch_offset + e->scratch_taken;
    e->scratch_taken += itg_emit_room(type, count);
    return itg_emit_text(e, "arena.%s + %lld", itg_dtype_name(type), (long long)(at / size));
}

/* ---- loops ---- */

itg_emit_loops itg_emit_merged(const itg_emit_loops *in, int32_t operands)
{
    itg_emit_loops out;
    memset(&out, 0, sizeof out);
    for (int32_t d = 0; d < in->rank; d++) {
        if (in->dims[d] == 1) continue;
        int32_t last = out.rank - 1;
        bool joins = last >= 0;
        for (int32_t o = 0; o < operands && joins; o++)
            joins = out.stride[o][last] == in->stride[o][d] * in->dims[d];
        if (!joins) last = out.rank++;
        out.dims[last] = joins ? out.dims[last] * in->dims[d] : in->dims[d];
        for (int32_t o = 0; o < operands; o++)
            out.stride[o][last] = in->stride[o][d];
    }
    return out;
}

static const char *index_text(itg_emitter *e, const itg_emit_loops *l, int32_t operand, char tag)
{
    const char *text = "";
    for (int32_t d = 0; d < l->rank; d++) {
        int64_t stride = l->stride[operand][d];
        if (stride == 0) continue;
        const char *plus = text[0] == '\0' ? "" : " + ";
        text = stride == 1 ? itg_emit_text(e, "%s%s%c%d", text, plus, tag, (int)d)
                           : itg_emit_text(e, "%s%s%c%d * %s", text, plus, tag, (int)d,
                                           itg_emit_number(e, stride));
    }
    return text[0] == '\0' ? "0" : text;
}

int32_t itg_emit_open(itg_emitter *e, const itg_emit_loops *loops, int32_t operands, char tag,
                      int32_t indent, const char *index[3])
{
    const itg_emit_loops l = itg_emit_merged(loops, operands);
    for (int32_t o = 0; o < operands; o++)
        index[o] = index_text(e, &l, o, tag);
    for (int32_t d = 0; d < l.rank; d++)
        ITG_EMIT_FORMAT(e, "%*sfor (int32_t %c%d = 0; %c%d < %s; %c%d++) {\n",
                        (int)(indent + 4 * d), "", tag, (int)d, tag, (int)d,
                        itg_emit_number(e, l.dims[d]), tag, (int)d);
    return l.rank;
}

void itg_emit_close(itg_emitter *e, int32_t braces, int32_t indent)
{
    for (int32_t d = braces - 1; d >= 0; d--)
        ITG_EMIT_FORMAT(e, "%*s}\n", (int)(indent + 4 * d), "");
}

itg_emit_loops itg_emit_loops_over(const itg_shape *shape, bool last,
                                   int64_t strides[3][ITG_MAX_RANK])
{
    itg_emit_loops l;
    memset(&l, 0, sizeof l);
    for (int32_t i = 0; i < shape->rank; i++) {
        int32_t d = !last || i == 0 ? i : i == shape->rank - 1 ? 1 : i + 1;
        l.dims[l.rank] = shape->dims[d];
        for (int o = 0; o < 3; o++)
            l.stride[o][l.rank] = strides[o][d];
        l.rank++;
    }
    return l;
}
