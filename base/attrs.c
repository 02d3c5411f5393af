/* Attributes of operators: the rows of intaglio/ops.def, and access to itg_attrs by a row. */
#include "base/base.h"
#include <math.h>
#include <string.h>

enum {
#define ITG_FIELD(type, member, ...) FIELD_##member,
#include <intaglio/ops.def>
    FIELD_COUNT
};

static const itg_attr_field fields[FIELD_COUNT] = {
#define ITG_FIELD(type, member, extent, kind, name, ...)                                           \
    {#member,                                                                                      \
     name,                                                                                         \
     ITG_KIND_##kind,                                                                              \
     offsetof(itg_attrs, member),                                                                  \
     sizeof((itg_attrs){0}.member),                                                                \
     {__VA_ARGS__}},
#include <intaglio/ops.def>
};

static const itg_attr rows[] = {
#define ITG_ATTR(op, member, preset, onnx, first, last)                                            \
    {ITG_OP_##op, &fields[FIELD_##member], (double)(preset), true, onnx, first, last},
#define ITG_STEP_ATTR(op, member, preset)                                                          \
    {ITG_OP_##op, &fields[FIELD_##member], (double)(preset), false, NULL, 0, 0},
#include <intaglio/ops.def>
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

const itg_attr *itg_op_attrs(itg_op op, int32_t *count)
{
    int32_t first = 0, end;
    while (first < ROW_COUNT && rows[first].op != op)
        first++;
    for (end = first; end < ROW_COUNT && rows[end].op == op;)
        end++;
    *count = end - first;
    return &rows[first < ROW_COUNT ? first : 0];
}

const void *itg_attr_value(const itg_attr *attr, const itg_attrs *attrs)
{
    return (const char *)attrs + attr->field->offset;
}

void *itg_attr_slot(const itg_attr *attr, itg_attrs *attrs)
{
    return (char *)attrs + attr->field->offset;
}

static void set_preset(const itg_attr *attr, itg_attrs *attrs)
{
    void *slot = itg_attr_slot(attr, attrs);
    switch (attr->field->kind) {
    case ITG_KIND_BOOL:
        *(bool *)slot = attr->preset != 0;
        break;
    case ITG_KIND_FLOAT:
    case ITG_KIND_BOUND:
    case ITG_KIND_FLOATS:
        for (size_t i = 0; i < attr->field->size / sizeof(float); i++)
            ((float *)slot)[i] = (float)attr->preset;
        break;
    case ITG_KIND_DTYPE:
    case ITG_KIND_NAME:
    case ITG_KIND_AUTO_PAD: {
        int word = (int)attr->preset;
        memcpy(slot, &word, sizeof word);
        break;
    }
    default:
        for (size_t i = 0; i < attr->field->size / sizeof(int64_t); i++)
            ((int64_t *)slot)[i] = (int64_t)attr->preset;
    }
}

itg_attrs itg_attrs_default(itg_op op)
{
    itg_attrs out;
    int32_t count;
    const itg_attr *attr = itg_op_attrs(op, &count);
    memset(&out, 0, sizeof out);
    for (int32_t i = 0; i < count; i++)
        set_preset(&attr[i], &out);
    return out;
}

bool itg_attr_is_preset(const itg_attr *attr, const itg_attrs *attrs)
{
    itg_attrs preset;
    memset(&preset, 0, sizeof preset);
    set_preset(attr, &preset);
    return memcmp(itg_attr_value(attr, attrs), itg_attr_value(attr, &preset), attr->field->size) ==
           0;
}

itg_attrs itg_attrs_read_by(itg_op op, const itg_attrs *attrs)
{
    itg_attrs out;
    int32_t count;
    const itg_attr *attr = itg_op_attrs(op, &count);
    memset(&out, 0, sizeof out);
    for (int32_t i = 0; i < count; i++) {
        memcpy(itg_attr_slot(&attr[i], &out), itg_attr_value(&attr[i], attrs), attr[i].field->size);
        if (attr[i].field->kind == ITG_KIND_AXES) out.axes_count = attrs->axes_count;
    }
    return out;
}

int32_t itg_attr_count(const itg_attr *attr, const itg_attrs *attrs, int32_t rank)
{
    switch (attr->field->kind) {
    case ITG_KIND_AXES:
    case ITG_KIND_PER_AXIS:
        return attrs->axes_count;
    case ITG_KIND_PER_DIM:
        return rank;
    default:
        return (int32_t)(attr->field->size / sizeof(int64_t));
    }
}

static const char *word_of(const itg_attr *attr, int value)
{
    if (attr->field->kind != ITG_KIND_DTYPE) return attr->field->words[value];
    return value < ITG_DTYPE_COUNT ? itg_dtype_name((itg_dtype)value) : NULL;
}

const char *itg_attr_word(const itg_attr *attr, const itg_attrs *attrs)
{
    int value;
    memcpy(&value, itg_attr_value(attr, attrs), sizeof value);
    return word_of(attr, value);
}

bool itg_attr_set_word(const itg_attr *attr, itg_attrs *attrs, const char *word)
{
    for (int i = 0; word_of(attr, i) != NULL; i++) {
        if (strcmp(word, word_of(attr, i)) != 0) continue;
        memcpy(itg_attr_slot(attr, attrs), &i, sizeof i);
        return true;
    }
    return false;
}
