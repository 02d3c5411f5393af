#include "base/element.h"
#include <stdlib.h>
#include "base/base.h"

static double real_at(const itg_tensor *t, int64_t i)
{
    return t->dtype == ITG_F32 ? (double)((const float *)t->data)[i] : ((const double *)t->data)[i];
}

static bool is_float(itg_dtype dtype)
{
    return dtype == ITG_F32 || dtype == ITG_F64;
}

bool itg_element_is_zero(const itg_tensor *t, int64_t i)
{
    return is_float(t->dtype) ? real_at(t, i) == 0.0 : itg_load(t->dtype, t->data, i) == 0;
}

int itg_element_compare(const itg_tensor *t, int64_t i, int64_t j)
{
    if (!is_float(t->dtype)) {
        const int64_t a = itg_load(t->dtype, t->data, i), b = itg_load(t->dtype, t->data, j);
        return (a > b) - (a < b);
    }
    const double a = real_at(t, i), b = real_at(t, j);
    if (a != a || b != b) return (a != a) - (b != b);
    return (a > b) - (a < b);
}

/* ---- slices ---- */

int64_t itg_slice_elements(const itg_shape *shape, int64_t axis)
{
    if (axis == ITG_MAX_RANK) return 1;
    return itg_dims_product(shape, 0, (int32_t)axis) *
           itg_dims_product(shape, (int32_t)axis + 1, shape->rank);
}

int64_t itg_slice_offset(const itg_shape *shape, int64_t axis, int64_t i, int64_t j)
{
    if (axis == ITG_MAX_RANK) return i;
    const int64_t inner = itg_dims_product(shape, (int32_t)axis + 1, shape->rank);
    return (j / inner * shape->dims[axis] + i) * inner + j % inner;
}

typedef struct slice {
    const itg_tensor *x;
    int64_t axis, elements, index;
} slice;

static int compare_slices(const slice *a, const slice *b)
{
    for (int64_t j = 0; j < a->elements; ++j) {
        const int64_t at = itg_slice_offset(&a->x->shape, a->axis, a->index, j);
        const int order =
            itg_element_compare(a->x, at, itg_slice_offset(&b->x->shape, b->axis, b->index, j));
        if (order != 0) return order;
    }
    return 0;
}

static int by_value(const void *a, const void *b)
{
    const slice *p = a, *q = b;
    const int order = compare_slices(p, q);
    return order != 0 ? order : (p->index > q->index) - (p->index < q->index);
}

/* Groups sorted slices that are equal; `which` names the group by its first occurrence. */
static void mark_groups(const slice *slices, itg_unique *u)
{
    for (int64_t k = 0; k < u->total; ++k) {
        const bool is_new = k == 0 || compare_slices(&slices[k - 1], &slices[k]) != 0;
        u->which[slices[k].index] = is_new ? slices[k].index : u->which[slices[k - 1].index];
        if (is_new) u->first[u->count++] = slices[k].index;
    }
}

/* Orders the groups by their first occurrence. */
static void order_by_occurrence(itg_unique *u)
{
    u->count = 0;
    for (int64_t i = 0; i < u->total; ++i)
        if (u->which[i] == i) u->first[u->count++] = i;
}

/* Numbers the groups; place [total]: number of the group that begins at a slice. */
static void number_groups(itg_unique *u, int64_t *place)
{
    for (int64_t k = 0; k < u->count; ++k)
        place[u->first[k]] = k;
    for (int64_t i = 0; i < u->total; ++i) {
        u->which[i] = place[u->which[i]];
        u->times[u->which[i]]++;
    }
}

bool itg_unique_find(const itg_tensor *x, int64_t axis, bool sorted, itg_unique *out)
{
    const int64_t total =
        axis == ITG_MAX_RANK ? itg_dims_product(&x->shape, 0, x->shape.rank) : x->shape.dims[axis];
    const size_t room = (size_t)total + 1;
    *out = (itg_unique){.total = total,
                        .first = calloc(room, sizeof *out->first),
                        .which = calloc(room, sizeof *out->which),
                        .times = calloc(room, sizeof *out->times)};
    slice *slices = calloc(room, sizeof *slices);
    int64_t *place = calloc(room, sizeof *place);
    const bool made = slices && place && out->first && out->which && out->times;
    for (int64_t i = 0; made && i < total; ++i)
        slices[i] = (slice){x, axis, itg_slice_elements(&x->shape, axis), i};
    if (made) {
        qsort(slices, (size_t)total, sizeof *slices, by_value);
        mark_groups(slices, out);
        if (!sorted) order_by_occurrence(out);
        number_groups(out, place);
    }
    free(place);
    free(slices);
    return made;
}

void itg_unique_deinit(itg_unique *u)
{
    free(u->first);
    free(u->which);
    free(u->times);
}
