/* Operators that read or write elements at indices: GatherElements, GatherND, ScatterElements,
 * ScatterND, OneHot. Elements may have any type. A negative index counts from the end; one out of
 * range is an error. */
#include "kernels/float_call.h"

#include <string.h>

static itg_status out_of_range(const itg_call *call, int64_t index, int64_t size)
{
    return itg_fail(call->err, ITG_BAD_ARGUMENT, "%s: index %lld is outside of [%lld, %lld]",
                    itg_op_name(call->op), (long long)index, (long long)-size, (long long)size - 1);
}

static itg_status index_at(const itg_call *call, int64_t i, int64_t size, int64_t *out)
{
    const itg_tensor *indices = &call->inputs[1];
    const int64_t index = itg_load(indices->dtype, indices->data, i);
    if (index < -size || index >= size) return out_of_range(call, index, size);
    *out = index < 0 ? index + size : index;
    return ITG_OK;
}

static bool has_indices(const itg_call *call)
{
    const itg_tensor *indices = itg_call_input(call, 1);
    return indices && (indices->dtype == ITG_S64 || indices->dtype == ITG_S32) &&
           call->inputs[0].dtype == call->outputs[0].dtype;
}

/* ---- updates ---- */

static double merge_real(itg_scatter how, double old, double update)
{
    switch (how) {
    case ITG_SCATTER_ADD:
        return old + update;
    case ITG_SCATTER_MUL:
        return old * update;
    case ITG_SCATTER_MIN:
        return update < old || update != update ? update : old;
    case ITG_SCATTER_MAX:
        return update > old || update != update ? update : old;
    default:
        return update;
    }
}

static int64_t merge_whole(itg_scatter how, int64_t old, int64_t update)
{
    switch (how) {
    case ITG_SCATTER_ADD:
        return (int64_t)((uint64_t)old + (uint64_t)update);
    case ITG_SCATTER_MUL:
        return (int64_t)((uint64_t)old * (uint64_t)update);
    case ITG_SCATTER_MIN:
        return update < old ? update : old;
    case ITG_SCATTER_MAX:
        return update > old ? update : old;
    default:
        return update;
    }
}

/* Applies element `from` of the updates to element `to` of the output. Float products are formed in
 * double and rounded once. */
static void update(const itg_call *call, int64_t to, int64_t from)
{
    const itg_tensor *y = &call->outputs[0], *updates = &call->inputs[2];
    const itg_scatter how = call->attrs->reduction;
    if (how == ITG_SCATTER_NONE)
        memcpy(itg_element_at(y, to), itg_element_at(updates, from), itg_dtype_size(y->dtype));
    else if (itg_is_float(y->dtype))
        itg_store_number(y->dtype, y->data, to,
                         merge_real(how, itg_load_number(y->dtype, y->data, to),
                                    itg_load_number(y->dtype, updates->data, from)));
    else
        itg_store(y->dtype, y->data, to,
                  merge_whole(how, itg_load(y->dtype, y->data, to),
                              itg_load(y->dtype, updates->data, from)));
}

/* Copies input 0 to output 0 and checks the operands. */
static bool begin_scatter(const itg_call *call)
{
    const itg_tensor *x = &call->inputs[0], *y = &call->outputs[0];
    const itg_tensor *updates = itg_call_input(call, 2);
    if (!has_indices(call) || !updates || updates->dtype != x->dtype ||
        !itg_shape_equal(&x->shape, &y->shape))
        return false;
    if (y->data != x->data) memcpy(y->data, x->data, itg_tensor_bytes(x));
    return true;
}

/* ---- one index per element ---- */

/* Sets up a walk over the indices and over elements of `whole` with index 0 on the axis. */
static bool element_space(const itg_call *call, const itg_shape *whole, int64_t *stride,
                          itg_strided *s)
{
    const itg_shape *indices = &call->inputs[1].shape;
    const int64_t axis = call->attrs->axis;
    int64_t own[ITG_MAX_RANK] = {0};
    if (indices->rank != whole->rank || axis < 0 || axis >= whole->rank) return false;
    for (int32_t d = 0; d < whole->rank; ++d)
        if (d != axis && indices->dims[d] > whole->dims[d]) return false;
    itg_row_major(whole, own);
    *stride = own[axis];
    own[axis] = 0;
    itg_strided_over(s, indices);
    itg_strided_view(s, own, 0);
    return true;
}

/* Calls `use` with the position of each index and the element that it selects. */
static itg_status each_element(const itg_call *call, const itg_shape *whole,
                               void (*use)(const itg_call *, int64_t i, int64_t at))
{
    itg_strided s;
    int64_t stride, index = 0;
    if (!element_space(call, whole, &stride, &s))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its axis or its indices do not fit");
    const int64_t size = whole->dims[call->attrs->axis];
    if (!itg_strided_start(&s)) return ITG_OK;
    do {
        for (int64_t i = 0; i < itg_strided_run(&s); ++i) {
            const int64_t at = s.offset[0] + i;
            itg_status status = index_at(call, at, size, &index);
            if (status != ITG_OK) return status;
            use(call, at, s.offset[1] + i * itg_strided_step(&s, 1) + index * stride);
        }
    } while (itg_strided_next(&s));
    return ITG_OK;
}

static void take(const itg_call *call, int64_t i, int64_t at)
{
    memcpy(itg_element_at(&call->outputs[0], i), itg_element_at(&call->inputs[0], at),
           itg_dtype_size(call->inputs[0].dtype));
}

static void put(const itg_call *call, int64_t i, int64_t at)
{
    update(call, at, i);
}

itg_status itg_any_gather_elements(const itg_call *call)
{
    if (!has_indices(call) || !itg_shape_equal(&call->inputs[1].shape, &call->outputs[0].shape))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its indices do not fit its output");
    return each_element(call, &call->inputs[0].shape, take);
}

itg_status itg_any_scatter_elements(const itg_call *call)
{
    if (!begin_scatter(call) || !itg_shape_equal(&call->inputs[1].shape, &call->inputs[2].shape))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its indices or updates do not fit");
    return each_element(call, &call->outputs[0].shape, put);
}

/* ---- rows of indices ---- */

typedef struct rows {
    int64_t count, width; /* count: of rows; width: numbers of a row */
    int64_t per_batch;    /* rows */
    int64_t batch;        /* elements of `whole` */
    int64_t slice;        /* elements that a row selects */
    int64_t size[ITG_MAX_RANK], stride[ITG_MAX_RANK];
} rows;

static bool find_rows(const itg_call *call, const itg_shape *whole, rows *r)
{
    const itg_shape *indices = &call->inputs[1].shape;
    const int64_t skip = call->op == ITG_OP_GATHER_ND ? call->attrs->batch_dims : 0;
    int64_t own[ITG_MAX_RANK] = {0};
    if (indices->rank < 1 || skip < 0 || skip >= indices->rank) return false;
    r->width = indices->dims[indices->rank - 1];
    if (r->width < 1 || skip + r->width > whole->rank) return false;
    for (int32_t d = 0; d < skip; ++d)
        if (indices->dims[d] != whole->dims[d]) return false;
    itg_row_major(whole, own);
    r->count = itg_dims_product(indices, 0, indices->rank - 1);
    r->per_batch = itg_dims_product(indices, (int32_t)skip, indices->rank - 1);
    r->batch = itg_dims_product(whole, (int32_t)skip, whole->rank);
    r->slice = itg_dims_product(whole, (int32_t)(skip + r->width), whole->rank);
    for (int64_t i = 0; i < r->width; ++i) {
        r->size[i] = whole->dims[skip + i];
        r->stride[i] = own[skip + i];
    }
    return true;
}

/* Finds the first element that row i selects. */
static itg_status find_slice(const itg_call *call, const rows *r, int64_t i, int64_t *at)
{
    int64_t index = 0;
    *at = i / r->per_batch * r->batch;
    for (int64_t k = 0; k < r->width; ++k) {
        itg_status status = index_at(call, i * r->width + k, r->size[k], &index);
        if (status != ITG_OK) return status;
        *at += index * r->stride[k];
    }
    return ITG_OK;
}

itg_status itg_any_gather_nd(const itg_call *call)
{
    rows r;
    const itg_tensor *x = &call->inputs[0];
    itg_tensor *y = &call->outputs[0];
    if (!has_indices(call) || !find_rows(call, &x->shape, &r) ||
        itg_elements(&y->shape) != r.count * r.slice)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its indices do not fit input and output");
    for (int64_t i = 0; i < r.count; ++i) {
        int64_t at;
        itg_status status = find_slice(call, &r, i, &at);
        if (status != ITG_OK) return status;
        memcpy(itg_element_at(y, i * r.slice), itg_element_at(x, at),
               (size_t)r.slice * itg_dtype_size(x->dtype));
    }
    return ITG_OK;
}

itg_status itg_any_scatter_nd(const itg_call *call)
{
    rows r;
    if (!begin_scatter(call) || !find_rows(call, &call->outputs[0].shape, &r) ||
        itg_elements(&call->inputs[2].shape) != r.count * r.slice)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its indices or updates do not fit");
    for (int64_t i = 0; i < r.count; ++i) {
        int64_t at;
        itg_status status = find_slice(call, &r, i, &at);
        if (status != ITG_OK) return status;
        for (int64_t k = 0; k < r.slice; ++k)
            update(call, at + k, i * r.slice + k);
    }
    return ITG_OK;
}

/* ---- OneHot ---- */

/* Inputs: indices, depth, [off, on]. An index outside of [-depth, depth-1] gives only `off`. */
itg_status itg_any_one_hot(const itg_call *call)
{
    const itg_tensor *indices = &call->inputs[0], *values = itg_call_input(call, 2);
    itg_tensor *y = &call->outputs[0];
    const int64_t axis = call->attrs->axis, n = itg_elements(&indices->shape);
    if (!values || values->dtype != y->dtype || itg_elements(&values->shape) != 2 || axis < 0 ||
        axis >= y->shape.rank || itg_elements(&y->shape) != n * y->shape.dims[axis])
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its axis, values or output do not fit");
    const int64_t depth = y->shape.dims[axis];
    const int64_t inner = itg_dims_product(&y->shape, (int32_t)axis + 1, y->shape.rank);
    for (int64_t i = 0; i < n; ++i) {
        int64_t index = 0;
        itg_store_number(ITG_S64, &index, 0, itg_load_number(indices->dtype, indices->data, i));
        if (index >= -depth && index < 0) index += depth;
        for (int64_t d = 0; d < depth; ++d)
            memcpy(itg_element_at(y, (i / inner * depth + d) * inner + i % inner),
                   itg_element_at(values, d == index), itg_dtype_size(y->dtype));
    }
    return ITG_OK;
}
