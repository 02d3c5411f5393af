/* Operators that compare or select elements of a tensor: TopK, Unique, NonZero, Compress. */
#include "base/element.h"
#include "kernels/float_call.h"

#include <stdlib.h>
#include <string.h>

static void copy_element(const itg_tensor *y, int64_t to, const itg_tensor *x, int64_t from)
{
    memcpy(itg_element_at(y, to), itg_element_at(x, from), itg_dtype_size(x->dtype));
}

/* ---- TopK ---- */

typedef struct candidate {
    const itg_tensor *x;
    int64_t at; /* in x */
    int64_t index;
} candidate;

static int by_index(const candidate *a, const candidate *b)
{
    return (a->index > b->index) - (a->index < b->index);
}

static int smallest_first(const void *a, const void *b)
{
    const candidate *p = a, *q = b;
    const int order = itg_element_compare(p->x, p->at, q->at);
    return order != 0 ? order : by_index(p, q);
}

static int largest_first(const void *a, const void *b)
{
    const candidate *p = a, *q = b;
    const int order = itg_element_compare(p->x, q->at, p->at);
    return order != 0 ? order : by_index(p, q);
}

/* Of equal elements the one with the lower index comes first. NaN is larger than every number.
 * Results are sorted even if that is not requested. */
itg_status itg_any_top_k(const itg_call *call)
{
    const itg_tensor *x = &call->inputs[0], *values = itg_call_output(call, 0);
    const itg_tensor *indices = itg_call_output(call, 1);
    const itg_shape *shape = &x->shape, *out = &call->outputs[0].shape;
    const int64_t axis = call->attrs->axis;
    if (axis < 0 || axis >= shape->rank || out->rank != shape->rank || !values ||
        values->dtype != x->dtype || (indices && indices->dtype != ITG_S64) ||
        out->dims[axis] > shape->dims[axis])
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its axis or outputs do not fit");
    const int64_t size = shape->dims[axis], k = out->dims[axis];
    const int64_t inner = itg_dims_product(shape, (int32_t)axis + 1, shape->rank);
    const int64_t lines = itg_dims_product(shape, 0, (int32_t)axis) * inner;
    candidate *all = itg_call_alloc(size, sizeof *all);
    if (!all) return itg_call_no_memory(call);
    for (int64_t line = 0; line < lines; ++line) {
        const int64_t outer = line / inner, rest = line % inner;
        for (int64_t i = 0; i < size; ++i)
            all[i] = (candidate){x, (outer * size + i) * inner + rest, i};
        qsort(all, (size_t)size, sizeof *all,
              call->attrs->largest ? largest_first : smallest_first);
        for (int64_t i = 0; i < k; ++i) {
            const int64_t to = (outer * k + i) * inner + rest;
            copy_element(values, to, x, all[i].at);
            if (indices) ((int64_t *)indices->data)[to] = all[i].index;
        }
    }
    free(all);
    return ITG_OK;
}

/* ---- Unique ---- */

static void write_numbers(const itg_tensor *to, const int64_t *from, int64_t count)
{
    if (to) memcpy(to->data, from, (size_t)count * sizeof *from);
}

static bool outputs_fit(const itg_call *call, const itg_unique *u, int64_t elements)
{
    const int64_t counts[] = {u->count * elements, u->count, u->total, u->count};
    for (int32_t i = 0; i < call->output_count; ++i) {
        const itg_tensor *y = &call->outputs[i];
        if (!y->data) continue;
        if (itg_elements(&y->shape) != counts[i] ||
            y->dtype != (i == 0 ? call->inputs[0].dtype : ITG_S64))
            return false;
    }
    return true;
}

itg_status itg_any_unique(const itg_call *call)
{
    itg_unique u;
    const itg_tensor *x = &call->inputs[0], *y = itg_call_output(call, 0);
    const int64_t axis = call->attrs->axis;
    if (call->output_count > 4 || axis < 0 || (axis != ITG_MAX_RANK && axis >= x->shape.rank))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its axis or outputs do not fit");
    const int64_t elements = itg_slice_elements(&x->shape, axis);
    itg_status status =
        itg_unique_find(x, axis, call->attrs->sorted, &u) ? ITG_OK : itg_call_no_memory(call);
    if (status == ITG_OK && !outputs_fit(call, &u, elements))
        status = itg_call_fail(call, ITG_BAD_ARGUMENT, "its outputs do not fit");
    if (status == ITG_OK) {
        for (int64_t k = 0; y && k < u.count; ++k)
            for (int64_t j = 0; j < elements; ++j)
                copy_element(y, itg_slice_offset(&y->shape, axis, k, j), x,
                             itg_slice_offset(&x->shape, axis, u.first[k], j));
        write_numbers(itg_call_output(call, 1), u.first, u.count);
        write_numbers(itg_call_output(call, 2), u.which, u.total);
        write_numbers(itg_call_output(call, 3), u.times, u.count);
    }
    itg_unique_deinit(&u);
    return status;
}

/* ---- NonZero, Compress ---- */

/* Row d of the output is the index along dimension d; a scalar counts as one dimension. */
itg_status itg_any_non_zero(const itg_call *call)
{
    const itg_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const int64_t n = itg_elements(&x->shape);
    const int64_t count = y->shape.rank == 2 ? y->shape.dims[1] : 0;
    int64_t *out = y->data, found = 0;
    if (y->dtype != ITG_S64 || y->shape.rank != 2 ||
        y->shape.dims[0] != (x->shape.rank > 0 ? x->shape.rank : 1))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its output does not fit its input");
    for (int64_t i = 0; i < n; ++i) {
        if (itg_element_is_zero(x, i)) continue;
        if (found == count) return itg_call_fail(call, ITG_BAD_ARGUMENT, "its output is too small");
        if (x->shape.rank == 0) out[found] = 0;
        for (int64_t d = x->shape.rank - 1, rest = i; d >= 0; rest /= x->shape.dims[d--])
            out[d * count + found] = rest % x->shape.dims[d];
        ++found;
    }
    return found == count ? ITG_OK
                          : itg_call_fail(call, ITG_BAD_ARGUMENT, "its output is too large");
}

itg_status itg_any_compress(const itg_call *call)
{
    const itg_tensor *x = &call->inputs[0], *chosen = itg_call_input(call, 1);
    const itg_tensor *y = &call->outputs[0];
    const int64_t axis = call->attrs->axis;
    if (!chosen || chosen->dtype != ITG_BOOL || y->dtype != x->dtype || axis < 0 ||
        (axis != ITG_MAX_RANK && axis >= x->shape.rank))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its axis or its condition do not fit");
    const int64_t slices = axis == ITG_MAX_RANK ? itg_elements(&x->shape) : x->shape.dims[axis];
    const int64_t elements = itg_slice_elements(&x->shape, axis), n = itg_elements(&chosen->shape);
    const int64_t room = axis == ITG_MAX_RANK ? itg_elements(&y->shape) : y->shape.dims[axis];
    int64_t found = 0;
    for (int64_t i = 0; i < n; ++i) {
        if (itg_element_is_zero(chosen, i)) continue;
        if (i >= slices || found == room)
            return itg_call_fail(call, ITG_BAD_ARGUMENT, "its condition does not fit its output");
        for (int64_t j = 0; j < elements; ++j)
            copy_element(y, itg_slice_offset(&y->shape, axis, found, j), x,
                         itg_slice_offset(&x->shape, axis, i, j));
        ++found;
    }
    return found == room ? ITG_OK
                         : itg_call_fail(call, ITG_BAD_ARGUMENT, "its output is too large");
}
