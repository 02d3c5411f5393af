/* Attributes of a step in files and in print. ops.def lists them; their names are those of
 * itg_attrs. */
#include "realize/fields.h"
#include <string.h>

static void visit_axes(itg_fields *f, itg_attrs *a)
{
    const int64_t *axes = a->axes;
    int64_t count = a->axes_count;
    itg_field_ints(f, "axes", &axes, &count, ITG_MAX_RANK);
    if (f->mode != ITG_FIELDS_READ || f->status != ITG_OK) return;
    a->axes_count = (int32_t)count;
    if (count > 0) memcpy(a->axes, axes, (size_t)count * sizeof *axes);
}

static void visit_word(itg_fields *f, const itg_attr *attr, itg_attrs *a)
{
    const char *name = attr->field->member;
    const char *text = f->mode != ITG_FIELDS_READ ? itg_attr_word(attr, a) : NULL;
    itg_field_string(f, name, &text);
    if (f->mode != ITG_FIELDS_READ || f->status != ITG_OK) return;
    if (text == NULL || !itg_attr_set_word(attr, a, text))
        itg_fields_fail(f, ITG_BAD_FILE, name, "missing or unknown");
}

static void visit_attr(itg_fields *f, const itg_attr *attr, itg_attrs *a, int32_t rank)
{
    const char *name = attr->field->member;
    void *slot = itg_attr_slot(attr, a);
    switch (attr->field->kind) {
    case ITG_KIND_INT:
    case ITG_KIND_AXIS:
        itg_field_int(f, name, slot, INT64_MIN, INT64_MAX);
        break;
    case ITG_KIND_BOOL:
        itg_field_bool(f, name, slot);
        break;
    case ITG_KIND_FLOAT:
    case ITG_KIND_BOUND:
        itg_field_float(f, name, slot);
        break;
    case ITG_KIND_DTYPE:
    case ITG_KIND_NAME:
        visit_word(f, attr, a);
        break;
    case ITG_KIND_AUTO_PAD: /* always explicit in a program */
        break;
    case ITG_KIND_AXES:
        visit_axes(f, a);
        break;
    default:
        itg_field_array(f, name, slot, itg_attr_count(attr, a, rank));
    }
}

void itg_visit_attrs(itg_fields *f, itg_op op, itg_attrs *attrs, int32_t rank)
{
    int32_t count;
    const itg_attr *attr = itg_op_attrs(op, &count);
    for (int32_t i = 0; i < count; i++)
        visit_attr(f, &attr[i], attrs, rank);
}
