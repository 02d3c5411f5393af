#include "realize/geometry.h"
#include <string.h>

/* ---- windows ---- */

itg_window_view itg_window_of(itg_op op, const itg_attrs *attrs, const itg_shape *x,
                              const itg_shape *y)
{
    itg_window_view v;
    memset(&v, 0, sizeof v);
    itg_window *w = &v.w;
    bool global = op == ITG_OP_GLOBAL_AVERAGE_POOL || op == ITG_OP_GLOBAL_MAX_POOL;
    v.batch = x->dims[0];
    w->channels = x->dims[1];
    w->out_channels = y->dims[1];
    w->height = w->width = w->out_height = w->out_width = 1;
    for (int32_t i = 2; i < x->rank; i++) {
        if (i < x->rank - 1)
            w->height *= x->dims[i];
        else
            w->width = x->dims[i];
        if (i < x->rank - 1)
            w->out_height *= y->dims[i];
        else
            w->out_width = y->dims[i];
    }
    for (int i = 0; i < 2; i++) {
        w->kernel[i] = global ? (i == 0 ? w->height : w->width) : attrs->kernel[i];
        w->stride[i] = global ? 1 : attrs->stride[i];
        w->dilation[i] = global ? 1 : attrs->dilation[i];
    }
    w->pad_top = global ? 0 : attrs->pad[0];
    w->pad_left = global ? 0 : attrs->pad[1];
    w->group = op == ITG_OP_CONV ? attrs->group : w->channels;
    return v;
}

bool itg_mean_is_reduction(const itg_step *s)
{
    return s->op == ITG_OP_REDUCE_MEAN;
}

int64_t itg_mean_count(const itg_step *s, const itg_window *w, int64_t row, int64_t column)
{
    bool padded = s->op == ITG_OP_AVERAGE_POOL && s->attrs.count_include_pad;
    int64_t top = padded ? -w->pad_top : 0, left = padded ? -w->pad_left : 0;
    int64_t bottom = w->height + (padded ? s->attrs.pad[2] : 0);
    int64_t right = w->width + (padded ? s->attrs.pad[3] : 0);
    itg_taps v = itg_valid_taps(row * w->stride[0] - w->pad_top - top, w->dilation[0], w->kernel[0],
                                bottom - top);
    itg_taps h = itg_valid_taps(column * w->stride[1] - w->pad_left - left, w->dilation[1],
                                w->kernel[1], right - left);
    return (v.end - v.begin) * (h.end - h.begin);
}

int64_t itg_mean_max_count(const itg_program *p, const itg_step *s)
{
    const itg_shape *x = &p->values[s->inputs[0]].shape, *y = &p->values[s->outputs[0]].shape;
    if (itg_mean_is_reduction(s)) return itg_reduction_of(s, x).count;
    itg_window w = itg_window_of(s->op, &s->attrs, x, y).w;
    /* The count is a product of a factor of the row and one of the column. */
    int64_t best_row = 0, best_column = 0, rows = 0, columns = 0;
    for (int64_t i = 0; i < w.out_height; i++) {
        int64_t n = itg_mean_count(s, &w, i, 0);
        if (n > rows) rows = n, best_row = i;
    }
    for (int64_t i = 0; i < w.out_width; i++) {
        int64_t n = itg_mean_count(s, &w, best_row, i);
        if (n > columns) columns = n, best_column = i;
    }
    return itg_mean_count(s, &w, best_row, best_column);
}

/* ---- broadcasting ---- */

void itg_broadcast_strides(const itg_shape *from, const itg_shape *to,
                           int64_t strides[ITG_MAX_RANK])
{
    int64_t step = 1;
    int32_t lead = to->rank - from->rank;
    for (int32_t i = to->rank - 1; i >= 0; i--) {
        int64_t dim = i < lead ? 1 : from->dims[i - lead];
        strides[i] = dim == 1 ? 0 : step;
        step *= dim;
    }
}

itg_broadcast itg_broadcast_of(const itg_shape *a, const itg_shape *b, const itg_shape *y)
{
    itg_broadcast out;
    memset(&out, 0, sizeof out);
    out.out = *y;
    itg_broadcast_strides(a, y, out.stride_a);
    itg_broadcast_strides(b, y, out.stride_b);
    return out;
}

/* ---- matrices ---- */

/* Returns all dimensions of x except the last two. */
static itg_shape leading(const itg_shape *x)
{
    itg_shape out;
    memset(&out, 0, sizeof out);
    out.rank = x->rank > 2 ? x->rank - 2 : 0;
    for (int32_t i = 0; i < out.rank; i++)
        out.dims[i] = x->dims[i];
    return out;
}

itg_matmul_view itg_matmul_of(const itg_program *p, const itg_step *s)
{
    const itg_shape *a = &p->values[s->inputs[0]].shape, *b = &p->values[s->inputs[1]].shape;
    const bool transposed = s->attrs.trans_b || b->rank == 1;
    const itg_shape lead_a = leading(a), lead_b = leading(b);
    itg_matmul_view v = {.m = a->rank > 1 ? a->dims[a->rank - 2] : 1, .k = a->dims[a->rank - 1]};
    v.n = b->rank == 1 ? 1 : b->dims[b->rank - (transposed ? 2 : 1)];
    (void)itg_broadcast_shapes(&lead_a, &lead_b, &v.batch);
    v.batches = itg_dims_product(&v.batch, 0, v.batch.rank);
    if (itg_dims_product(&lead_b, 0, lead_b.rank) == 1) {
        v.m *= v.batches;
        v.batches = 1;
        v.batch.rank = 0;
    }
    itg_broadcast_strides(&lead_a, &v.batch, v.stride_a);
    itg_broadcast_strides(&lead_b, &v.batch, v.stride_b);
    for (int32_t i = 0; i < v.batch.rank; i++) {
        v.stride_a[i] *= v.m * v.k;
        v.stride_b[i] *= v.k * v.n;
    }
    return v;
}

/* ---- reductions ---- */

itg_reduction itg_reduction_of(const itg_step *s, const itg_shape *x)
{
    const itg_attrs *a = &s->attrs;
    bool reduced[ITG_MAX_RANK] = {false}, arg = s->op == ITG_OP_ARG_MAX;
    bool all = !arg && a->axes_count == 0 && !a->noop_with_empty_axes;
    if (arg) reduced[a->axis] = true;
    for (int32_t i = 0; i < a->axes_count && !arg; i++)
        reduced[a->axes[i]] = true;
    itg_reduction r = {.outer = 1, .count = 1};
    int64_t strides[ITG_MAX_RANK], step = 1;
    for (int32_t i = x->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= x->dims[i];
    }
    for (int32_t i = 0; i < x->rank; i++) {
        if (all || reduced[i]) {
            r.reduced[r.reduced_rank] = x->dims[i];
            r.reduced_stride[r.reduced_rank++] = strides[i];
            r.count *= x->dims[i];
        } else {
            r.kept[r.kept_rank] = x->dims[i];
            r.kept_stride[r.kept_rank++] = strides[i];
            r.outer *= x->dims[i];
        }
    }
    return r;
}

int64_t itg_strided_offset(int32_t rank, const int64_t *dims, const int64_t *strides, int64_t i)
{
    int64_t offset = 0;
    for (int32_t d = rank - 1; d >= 0; d--) {
        offset += i % dims[d] * strides[d];
        i /= dims[d];
    }
    return offset;
}
