/* Pad: constant, reflect, edge. Negative pads remove elements first; reflect and edge repeat the
 * remaining elements, as in ONNX Runtime. */
#include "kernels/float_call.h"

#include <string.h>

/* One dimension. Output i corresponds to element i - begin of the kept part. */
typedef struct pad_axis {
    int64_t first, kept; /* index and number of kept elements of the input */
    int64_t begin;       /* pad before it, >= 0 */
} pad_axis;

/* Returns the index into the input for output i; -1: the fill. */
static int64_t source(const pad_axis *axis, itg_pad_mode mode, int64_t i)
{
    int64_t at = i - axis->begin;
    if (at >= 0 && at < axis->kept) return axis->first + at;
    if (mode == ITG_PAD_CONSTANT) return -1;
    if (mode == ITG_PAD_EDGE) return axis->first + (at < 0 ? 0 : axis->kept - 1);
    if (axis->kept == 1) return axis->first;
    const int64_t period = 2 * (axis->kept - 1);
    at %= period;
    if (at < 0) at += period;
    return axis->first + (at < axis->kept ? at : period - at);
}

static bool make_axes(const itg_call *call, pad_axis *axes)
{
    const itg_shape *in = &call->inputs[0].shape, *out = &call->outputs[0].shape;
    if (in->rank != out->rank) return false;
    for (int32_t d = 0; d < in->rank; ++d) {
        const int64_t begin = call->attrs->pads_begin[d];
        if (begin < -in->dims[d] || begin > out->dims[d]) return false;
        const int64_t end = out->dims[d] - in->dims[d] - begin;
        axes[d].first = begin < 0 ? -begin : 0;
        axes[d].begin = begin < 0 ? 0 : begin;
        axes[d].kept = in->dims[d] - axes[d].first + (end < 0 ? end : 0);
        if (axes[d].kept < 0) return false;
        if (axes[d].kept == 0 && call->attrs->pad_mode != ITG_PAD_CONSTANT) return false;
    }
    return true;
}

/* Pads a row of the last dimension; from NULL: the row is all fill. */
static void pad_row(const pad_axis *axis, itg_pad_mode mode, const char *from, const char *fill,
                    size_t size, char *out, int64_t n)
{
    for (int64_t i = 0; i < n;) {
        const int64_t at = from ? source(axis, mode, i) : -1;
        const bool is_kept = from && axis->kept > 0 && i == axis->begin;
        const int64_t count = is_kept ? axis->kept : 1;
        memcpy(out + (size_t)i * size, at < 0 ? fill : from + (size_t)at * size,
               (size_t)count * size);
        i += count;
    }
}

itg_status itg_move_pad(const itg_call *call)
{
    static const char zero[8] = {0};
    pad_axis axes[ITG_MAX_RANK] = {{0, 0, 0}};
    int64_t stride[ITG_MAX_RANK] = {0}, index[ITG_MAX_RANK] = {0};
    const itg_shape *in = &call->inputs[0].shape, *shape = &call->outputs[0].shape;
    const itg_pad_mode mode = call->attrs->pad_mode;
    const size_t size = itg_dtype_size(call->inputs[0].dtype);
    const char *fill = call->fill ? call->fill : zero, *x = call->inputs[0].data;
    if (!make_axes(call, axes))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its pads do not fit input and output");
    char *out = call->outputs[0].data;
    const int32_t last = shape->rank - 1;
    const int64_t n = last < 0 ? 1 : shape->dims[last], all = itg_elements(shape);
    if (last < 0) memcpy(out, x, size);
    itg_row_major(in, stride);
    for (int64_t done = 0; last >= 0 && done < all; done += n) {
        const char *from = x;
        for (int32_t d = 0; d < last && from; ++d) {
            const int64_t at = source(&axes[d], mode, index[d]);
            from = at < 0 ? NULL : from + (size_t)(at * stride[d]) * size;
        }
        pad_row(&axes[last], mode, from, fill, size, out + (size_t)done * size, n);
        for (int32_t d = last - 1; d >= 0 && ++index[d] == shape->dims[d]; --d)
            index[d] = 0;
    }
    return ITG_OK;
}
