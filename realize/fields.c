#include "realize/fields.h"
#include "base/json.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PRINTED = 8 }; /* entries of a list that are printed */

itg_status itg_fields_fail(itg_fields *f, itg_status status, const char *name, const char *what)
{
    if (f->status == ITG_OK) f->status = itg_fail(f->err, status, "attribute '%s': %s", name, what);
    return f->status;
}

/* READ: returns the attribute if it exists. Another type is a failure. */
static const itg_onnx_attr *read_attr(itg_fields *f, const char *name, int type)
{
    const itg_onnx_attr *attr = f->status == ITG_OK ? itg_onnx_attr_find(f->node, name) : NULL;
    if (attr == NULL || (int)attr->type == type) return attr;
    /* An empty list may have either type. */
    itg_fields_fail(f, ITG_BAD_FILE, name, "has another type");
    return NULL;
}

static void print_name(itg_fields *f, const char *name)
{
    itg_strbuf_format(f->text, " %s=", name);
}

static void print_float(itg_fields *f, float value)
{
    char text[40];
    itg_strbuf_add(f->text, itg_hex_double((double)value, text));
}

/* ---- numbers ---- */

void itg_field_int(itg_fields *f, const char *name, int64_t *value, int64_t lo, int64_t hi)
{
    if (f->status != ITG_OK) return;
    if (f->mode == ITG_FIELDS_READ) {
        const itg_onnx_attr *attr = read_attr(f, name, ITG_ATTR_INT);
        int64_t v = attr != NULL ? attr->i : 0;
        if (v < lo || v > hi)
            itg_fields_fail(f, ITG_BAD_FILE, name, "missing or out of range");
        else
            *value = v;
    } else if (*value != 0 && f->mode == ITG_FIELDS_WRITE) {
        itg_onnx_writer_int(f->writer, name, *value);
    } else if (*value != 0) {
        itg_strbuf_format(f->text, " %s=%" PRId64, name, *value);
    }
}

void itg_field_int32(itg_fields *f, const char *name, int32_t *value, int32_t lo, int32_t hi)
{
    int64_t v = *value;
    itg_field_int(f, name, &v, lo, hi);
    if (f->status == ITG_OK) *value = (int32_t)v;
}

void itg_field_bool(itg_fields *f, const char *name, bool *value)
{
    int64_t v = *value;
    itg_field_int(f, name, &v, 0, 1);
    if (f->status == ITG_OK) *value = v != 0;
}

static bool is_zero(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits == 0; /* -0 is not omitted */
}

void itg_field_float(itg_fields *f, const char *name, float *value)
{
    if (f->status != ITG_OK) return;
    if (f->mode == ITG_FIELDS_READ) {
        const itg_onnx_attr *attr = read_attr(f, name, ITG_ATTR_FLOAT);
        *value = attr != NULL ? attr->f : 0;
    } else if (!is_zero(*value) && f->mode == ITG_FIELDS_WRITE) {
        itg_onnx_writer_float(f->writer, name, *value);
    } else if (!is_zero(*value)) {
        print_name(f, name);
        print_float(f, *value);
    }
}

/* ---- text ---- */

void itg_field_string(itg_fields *f, const char *name, const char **value)
{
    if (f->status != ITG_OK) return;
    if (f->mode == ITG_FIELDS_READ) {
        const itg_onnx_attr *attr = read_attr(f, name, ITG_ATTR_STRING);
        *value = NULL;
        if (attr == NULL) return;
        *value = itg_arena_strdup(f->arena, attr->s);
        if (*value == NULL) itg_fields_fail(f, ITG_NO_MEMORY, name, "no memory");
        return;
    }
    if (*value == NULL || **value == '\0') return;
    if (f->mode == ITG_FIELDS_WRITE) {
        itg_onnx_writer_string(f->writer, name, *value);
    } else {
        print_name(f, name);
        itg_strbuf_json_string(f->text, *value);
    }
}

void itg_field_name(itg_fields *f, const char *name, int *value, const char *(*name_of)(int value),
                    int count)
{
    const char *text = f->mode != ITG_FIELDS_READ ? name_of(*value) : NULL;
    itg_field_string(f, name, &text);
    if (f->mode != ITG_FIELDS_READ || f->status != ITG_OK) return;
    int found = 0;
    while (text != NULL && found < count && strcmp(name_of(found), text) != 0)
        found++;
    if (text == NULL || found == count)
        itg_fields_fail(f, ITG_BAD_FILE, name, "missing or unknown");
    else
        *value = found;
}

/* ---- lists ---- */

/* Ends a list; a long one shows its length. */
static void print_end(itg_fields *f, int64_t count)
{
    if (count > PRINTED) itg_strbuf_format(f->text, ",... %" PRId64 " in all", count);
    itg_strbuf_add(f->text, "]");
}

static void print_ints(itg_fields *f, const char *name, const int64_t *values, int64_t count)
{
    print_name(f, name);
    for (int64_t i = 0; i < count && i < PRINTED; i++)
        itg_strbuf_format(f->text, "%s%" PRId64, i == 0 ? "[" : ",", values[i]);
    print_end(f, count);
}

void itg_field_array(itg_fields *f, const char *name, int64_t *values, int32_t count)
{
    if (f->status != ITG_OK || count == 0) return;
    if (f->mode == ITG_FIELDS_READ) {
        const itg_onnx_attr *attr = read_attr(f, name, ITG_ATTR_INTS);
        if (attr != NULL && attr->count != count)
            itg_fields_fail(f, ITG_BAD_FILE, name, "wrong number of entries");
        else if (attr != NULL)
            memcpy(values, attr->ints, (size_t)count * sizeof *values);
        return;
    }
    bool any = false;
    for (int32_t i = 0; i < count; i++)
        any = any || values[i] != 0;
    if (any && f->mode == ITG_FIELDS_WRITE)
        itg_onnx_writer_ints(f->writer, name, values, count);
    else if (any)
        print_ints(f, name, values, count);
}

/* READ: copies a list into the program's arena. NULL: none, or failed. */
static const void *read_list(itg_fields *f, const char *name, bool floats, int64_t max,
                             int64_t *count)
{
    const itg_onnx_attr *attr = read_attr(f, name, floats ? ITG_ATTR_FLOATS : ITG_ATTR_INTS);
    *count = 0;
    if (attr == NULL || attr->count == 0) return NULL;
    if (attr->count < 0 || attr->count > max) {
        itg_fields_fail(f, ITG_BAD_FILE, name, "too many entries");
        return NULL;
    }
    size_t n = (size_t)attr->count;
    const void *copy = floats ? itg_arena_copy(f->arena, attr->floats, n * sizeof(float))
                              : itg_arena_copy(f->arena, attr->ints, n * sizeof(int64_t));
    if (copy == NULL)
        itg_fields_fail(f, ITG_NO_MEMORY, name, "no memory");
    else
        *count = attr->count;
    return copy;
}

void itg_field_ints(itg_fields *f, const char *name, const int64_t **values, int64_t *count,
                    int64_t max)
{
    if (f->status != ITG_OK) return;
    if (f->mode == ITG_FIELDS_READ) {
        *values = read_list(f, name, false, max, count);
    } else if (*count > 0 && f->mode == ITG_FIELDS_WRITE) {
        itg_onnx_writer_ints(f->writer, name, *values, *count);
    } else if (*count > 0) {
        print_ints(f, name, *values, *count);
    }
}

void itg_field_floats(itg_fields *f, const char *name, const float **values, int32_t *count,
                      int32_t max)
{
    if (f->status != ITG_OK) return;
    if (f->mode == ITG_FIELDS_READ) {
        int64_t read;
        *values = read_list(f, name, true, max, &read);
        *count = (int32_t)read;
    } else if (*count > 0 && f->mode == ITG_FIELDS_WRITE) {
        itg_onnx_writer_floats(f->writer, name, *values, *count);
    } else if (*count > 0) {
        print_name(f, name);
        for (int32_t i = 0; i < *count && i < PRINTED; i++) {
            itg_strbuf_add(f->text, i == 0 ? "[" : ",");
            print_float(f, (*values)[i]);
        }
        print_end(f, *count);
    }
}

/* ---- requantization constants: flat lists with one entry per stage ---- */

typedef struct flat_requants {
    const float *ratio;
    int32_t ratio_count;
    const int64_t *stages, *multiplier, *shift, *rounding; /* stages: number in each set */
    int64_t set_count, multiplier_count, shift_count, rounding_count;
} flat_requants;

static void visit_flat(itg_fields *f, const char *prefix, flat_requants *flat, int32_t max)
{
    char name[5][64];
    static const char *const suffix[5] = {"ratio", "stages", "multiplier", "shift", "rounding"};
    for (int i = 0; i < 5; i++)
        snprintf(name[i], sizeof name[i], "%s_%s", prefix, suffix[i]);
    itg_field_floats(f, name[0], &flat->ratio, &flat->ratio_count, max);
    itg_field_ints(f, name[1], &flat->stages, &flat->set_count, max);
    itg_field_ints(f, name[2], &flat->multiplier, &flat->multiplier_count, (int64_t)max * 3);
    itg_field_ints(f, name[3], &flat->shift, &flat->shift_count, (int64_t)max * 3);
    itg_field_ints(f, name[4], &flat->rounding, &flat->rounding_count, (int64_t)max * 3);
}

/* Makes flat lists of the requantizations, in one allocation that the caller frees. */
static void *flatten(const itg_requant *values, int32_t count, flat_requants *flat)
{
    size_t n = (size_t)count;
    int64_t *all = malloc((n + 9 * n + 1) * sizeof *all + n * sizeof(float));
    if (all == NULL) return NULL;
    int64_t *multiplier = all + n, *shift = multiplier + 3 * n, *rounding = shift + 3 * n, at = 0;
    float *ratio = (float *)(void *)(rounding + 3 * n);
    for (int32_t i = 0; i < count; i++) {
        ratio[i] = values[i].ratio;
        all[i] = values[i].stage_count;
        for (int32_t k = 0; k < values[i].stage_count; k++, at++) {
            multiplier[at] = values[i].stage[k].multiplier;
            shift[at] = values[i].stage[k].shift;
            rounding[at] = (int64_t)values[i].stage[k].rounding;
        }
    }
    bool is_f32 = count > 0 && values[0].is_f32;
    *flat = (flat_requants){ratio,    is_f32 ? count : 0, all, multiplier, shift,
                            rounding, is_f32 ? 0 : count, at,  at,         at};
    return all;
}

static bool unflatten_stages(const flat_requants *flat, itg_requant *out)
{
    int64_t at = 0;
    for (int64_t i = 0; i < flat->set_count; i++) {
        if (flat->stages[i] < 0 || flat->stages[i] > 3) return false;
        out[i].stage_count = (int32_t)flat->stages[i];
        for (int32_t k = 0; k < out[i].stage_count; k++, at++) {
            if (at >= flat->multiplier_count || at >= flat->shift_count ||
                at >= flat->rounding_count)
                return false;
            if (flat->shift[at] < -62 || flat->shift[at] > 62 || flat->rounding[at] < 0 ||
                flat->rounding[at] >= ITG_ROUNDING_COUNT)
                return false;
            out[i].stage[k] = (itg_requant_stage){flat->multiplier[at], (int32_t)flat->shift[at],
                                                  (itg_rounding)flat->rounding[at]};
        }
    }
    return at == flat->multiplier_count && at == flat->shift_count && at == flat->rounding_count;
}

static void unflatten(itg_fields *f, const char *prefix, const flat_requants *flat,
                      const itg_requant **values, int32_t *count)
{
    bool is_f32 = flat->ratio_count > 0;
    int64_t n = is_f32 ? flat->ratio_count : flat->set_count;
    itg_requant *out = itg_arena_array(f->arena, (size_t)n + 1, sizeof *out);
    if (out == NULL) {
        itg_fields_fail(f, ITG_NO_MEMORY, prefix, "no memory");
        return;
    }
    if (is_f32 ? flat->set_count != 0 : !unflatten_stages(flat, out)) {
        itg_fields_fail(f, ITG_BAD_FILE, prefix,
                        "stages, multipliers, shifts and roundings do not fit together");
        return;
    }
    for (int32_t i = 0; i < flat->ratio_count; i++) {
        out[i].is_f32 = true;
        out[i].ratio = flat->ratio[i];
    }
    *values = out;
    *count = (int32_t)n;
}

void itg_field_requants(itg_fields *f, const char *prefix, const itg_requant **values,
                        int32_t *count, int32_t max)
{
    flat_requants flat;
    if (f->status != ITG_OK) return;
    if (f->mode == ITG_FIELDS_READ) {
        visit_flat(f, prefix, &flat, max);
        if (f->status == ITG_OK) unflatten(f, prefix, &flat, values, count);
        return;
    }
    if (*count == 0) return;
    void *lists = flatten(*values, *count, &flat);
    if (lists == NULL)
        itg_fields_fail(f, ITG_NO_MEMORY, prefix, "no memory");
    else
        visit_flat(f, prefix, &flat, max);
    free(lists);
}
