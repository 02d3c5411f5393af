#include "realize/shapes.h"
#include "realize/geometry.h"
#include <string.h>

#define LARGEST                                                                                    \
    ((int64_t)1 << 31) /* of any number in an attribute: products of two stay within int64 */

#define MOST_POSITIONS                                                                             \
    ((int64_t)1 << 24) /* of a window along one axis: bounds the loops over them */

typedef itg_status (*rule_fn)(const itg_signature *s, itg_error *err);

static const itg_shape *in(const itg_signature *s, int32_t i)
{
    return &s->inputs[i]->shape;
}
static const itg_shape *out(const itg_signature *s, int32_t i)
{
    return &s->outputs[i]->shape;
}

static itg_status want_shape(const itg_shape *wanted, const itg_shape *is, itg_error *err)
{
    char a[128], b[128];
    if (itg_shape_equal(wanted, is)) return ITG_OK;
    return itg_fail(err, ITG_MISMATCH, "output has shape %s, the operator gives %s",
                    itg_shape_text(is, a, sizeof a), itg_shape_text(wanted, b, sizeof b));
}

static itg_status bad(itg_error *err, const char *what)
{
    return itg_fail(err, ITG_MISMATCH, "%s", what);
}

/* ---- elementwise ---- */

static itg_status same(const itg_signature *s, itg_error *err)
{
    return want_shape(in(s, 0), out(s, 0), err);
}

static itg_status broadcast(const itg_signature *s, itg_error *err)
{
    itg_shape y = *in(s, 0);
    for (int32_t i = 1; i < s->input_count; i++)
        if (!itg_broadcast_shapes(&y, in(s, i), &y)) return bad(err, "inputs do not broadcast");
    return want_shape(&y, out(s, 0), err);
}

static itg_status prelu(const itg_signature *s, itg_error *err)
{
    itg_status status = same(s, err);
    return status == ITG_OK ? broadcast(s, err) : status;
}

static itg_status softmax(const itg_signature *s, itg_error *err)
{
    if (s->attrs->axis < 0 || s->attrs->axis >= in(s, 0)->rank)
        return bad(err, "axis out of range");
    return same(s, err);
}

static itg_status batch_normalization(const itg_signature *s, itg_error *err)
{
    const itg_shape *x = in(s, 0);
    if (x->rank < 2) return bad(err, "input without channels");
    for (int32_t i = 1; i < 5; i++)
        if (in(s, i)->rank != 1 || in(s, i)->dims[0] != x->dims[1])
            return bad(err, "parameters are not [channels]");
    return same(s, err);
}

static itg_status layer_normalization(const itg_signature *s, itg_error *err)
{
    const itg_shape *x = in(s, 0);
    if (s->attrs->axis < 0 || s->attrs->axis >= x->rank) return bad(err, "axis out of range");
    int64_t n = 1;
    for (int32_t i = (int32_t)s->attrs->axis; i < x->rank; i++)
        n *= x->dims[i];
    for (int32_t i = 1; i < s->input_count; i++)
        if (s->inputs[i] != NULL && s->inputs[i]->elements != n)
            return bad(err, "parameters do not fit the axes");
    return same(s, err);
}

/* ---- windows ---- */

static bool within(int64_t v, int64_t lo)
{
    return v >= lo && v <= LARGEST;
}

/* Every window holds an element of the input. Between the paddings its first tap does. */
static bool axis_covered(const itg_attrs *a, int axis, int64_t extent, int64_t positions)
{
    int64_t k = a->kernel[axis], s = a->stride[axis], d = a->dilation[axis], before = a->pad[axis];
    if ((positions - 1) * s - before >= extent) return false;
    if (d <= extent) return before <= (k - 1) * d;
    for (int64_t i = 0; i < positions && i * s < before; i++)
        if (itg_window_taps(i, s, d, before, k, 0, extent).count == 0) return false;
    return true;
}

/* One axis of a window: the output extent follows from the input's. */
static bool axis_fits(const itg_attrs *a, int axis, int64_t extent, int64_t positions, bool covered)
{
    int64_t k = a->kernel[axis], s = a->stride[axis], d = a->dilation[axis];
    int64_t before = a->pad[axis], after = a->pad[axis + 2];
    if (!within(k, 1) || !within(s, 1) || !within(d, 1) || !within(before, 0) || !within(after, 0))
        return false;
    if (positions > MOST_POSITIONS) return false;
    int64_t span = (k - 1) * d + 1, free_places = extent + before + after - span;
    if (free_places < 0 && !a->ceil_mode) return false;
    int64_t whole = free_places < 0 ? 1 : free_places / s + 1;
    bool rounded_up =
        a->ceil_mode && positions == whole + 1 && free_places > 0 && free_places % s != 0;
    if (positions != whole && !rounded_up) return false;
    return !covered || axis_covered(a, axis, extent, positions);
}

static itg_status windows(const itg_signature *s, bool covered, itg_error *err)
{
    const itg_shape *x = in(s, 0), *y = out(s, 0);
    if ((x->rank != 3 && x->rank != 4) || y->rank != x->rank || y->dims[0] != x->dims[0])
        return bad(err, "windows need [N,C,W] or [N,C,H,W], in and out");
    if (s->attrs->auto_pad != ITG_PAD_EXPLICIT) return bad(err, "auto_pad is not resolved");
    int64_t height = x->rank == 4 ? x->dims[2] : 1, out_height = y->rank == 4 ? y->dims[2] : 1;
    if (!axis_fits(s->attrs, 0, height, out_height, covered) ||
        !axis_fits(s->attrs, 1, x->dims[x->rank - 1], y->dims[y->rank - 1], covered))
        return bad(err, "kernel, stride, dilation, pad and output shape do not fit together");
    return ITG_OK;
}

static itg_status conv(const itg_signature *s, itg_error *err)
{
    const itg_shape *x = in(s, 0), *w = in(s, 1), *y = out(s, 0);
    const itg_attrs *a = s->attrs;
    itg_status status = windows(s, false, err);
    if (status != ITG_OK) return status;
    bool ok = w->rank == x->rank && within(a->group, 1) && x->dims[1] % a->group == 0 &&
              w->dims[0] % a->group == 0 && w->dims[1] == x->dims[1] / a->group &&
              y->dims[1] == w->dims[0];
    ok = ok && a->kernel[1] == w->dims[w->rank - 1] &&
         a->kernel[0] == (w->rank == 4 ? w->dims[2] : 1);
    if (ok && s->input_count > 2 && s->inputs[2] != NULL)
        ok = in(s, 2)->rank == 1 && in(s, 2)->dims[0] == w->dims[0];
    return ok ? ITG_OK : bad(err, "weights, bias and group do not fit input and output");
}

static itg_status pool(const itg_signature *s, itg_error *err)
{
    itg_status status = windows(s, true, err);
    if (status == ITG_OK && in(s, 0)->dims[1] != out(s, 0)->dims[1])
        return bad(err, "pooling changes the channels");
    return status;
}

static itg_status global_pool(const itg_signature *s, itg_error *err)
{
    itg_shape y = *in(s, 0);
    if (y.rank < 3) return bad(err, "a global pool needs spatial dims");
    for (int32_t i = 2; i < y.rank; i++)
        y.dims[i] = 1;
    return want_shape(&y, out(s, 0), err);
}

/* ---- matrices and reductions ---- */

static itg_status matmul(const itg_signature *s, itg_error *err)
{
    itg_matmul_view v;
    itg_shape y;
    itg_status status = itg_matmul_of(in(s, 0), in(s, 1), s->attrs->trans_b, &v, &y, err);
    if (status != ITG_OK) return status;
    if (s->input_count > 2 && s->inputs[2] != NULL &&
        (in(s, 2)->rank != 1 || in(s, 2)->dims[0] != v.n))
        return bad(err, "bias is not [N]");
    return want_shape(&y, out(s, 0), err);
}

static itg_status gemm(const itg_signature *s, itg_error *err)
{
    const itg_shape *a = in(s, 0), *b = in(s, 1);
    if (a->rank != 2 || b->rank != 2) return bad(err, "Gemm needs matrices");
    int64_t m = a->dims[s->attrs->trans_a ? 1 : 0], k = a->dims[s->attrs->trans_a ? 0 : 1];
    int64_t n = b->dims[s->attrs->trans_b ? 0 : 1];
    if (b->dims[s->attrs->trans_b ? 1 : 0] != k) return bad(err, "inner dimensions differ");
    itg_shape y = {2, {m, n}}, both;
    if (s->input_count > 2 && s->inputs[2] != NULL &&
        (!itg_broadcast_shapes(&y, in(s, 2), &both) || !itg_shape_equal(&y, &both)))
        return bad(err, "C does not broadcast to the product");
    return want_shape(&y, out(s, 0), err);
}

static itg_status reduce(const itg_signature *s, itg_error *err)
{
    itg_reduction r;
    itg_shape y;
    itg_status status = itg_reduction_of(s->attrs, in(s, 0), &r, &y, err);
    return status == ITG_OK ? want_shape(&y, out(s, 0), err) : status;
}

static itg_status arg_max(const itg_signature *s, itg_error *err)
{
    itg_attrs attrs = *s->attrs;
    attrs.axes_count = 1;
    attrs.axes[0] = attrs.axis;
    itg_signature as_reduction = *s;
    as_reduction.attrs = &attrs;
    return reduce(&as_reduction, err);
}

/* ---- data movement ---- */

static itg_status same_elements(const itg_signature *s, itg_error *err)
{
    if (s->inputs[0]->elements == s->outputs[0]->elements) return ITG_OK;
    return bad(err, "input and output have different numbers of elements");
}

static itg_status transpose(const itg_signature *s, itg_error *err)
{
    const itg_shape *x = in(s, 0);
    itg_shape y = *x;
    bool seen[ITG_MAX_RANK] = {false};
    for (int32_t i = 0; i < x->rank; i++) {
        int64_t p = s->attrs->perm[i];
        if (p < 0 || p >= x->rank || seen[p]) return bad(err, "perm is no permutation of the axes");
        seen[p] = true;
        y.dims[i] = x->dims[p];
    }
    return want_shape(&y, out(s, 0), err);
}

static itg_status slice(const itg_signature *s, itg_error *err)
{
    const itg_shape *x = in(s, 0), *y = out(s, 0);
    bool sliced[ITG_MAX_RANK] = {false};
    if (y->rank != x->rank) return bad(err, "Slice keeps the rank");
    for (int32_t i = 0; i < s->attrs->axes_count; i++) {
        int64_t axis = s->attrs->axes[i], start = s->attrs->starts[i], step = s->attrs->steps[i];
        if (axis < 0 || axis >= x->rank || sliced[axis])
            return bad(err, "axes out of range or repeated");
        if (step == 0 || !within(step < 0 ? -(step + 1) : step, 0) || !within(start, 0))
            return bad(err, "bad start or step");
        int64_t last = start + (y->dims[axis] - 1) * step;
        if (start >= x->dims[axis] || last < 0 || last >= x->dims[axis])
            return bad(err, "slice leaves its input");
        sliced[axis] = true;
    }
    for (int32_t i = 0; i < x->rank; i++)
        if (!sliced[i] && y->dims[i] != x->dims[i])
            return bad(err, "an axis that is not sliced changes its size");
    return ITG_OK;
}

static itg_status gather(const itg_signature *s, itg_error *err)
{
    const itg_shape *x = in(s, 0), *indices = in(s, 1);
    int64_t axis = s->attrs->axis;
    if (axis < 0 || axis >= x->rank) return bad(err, "axis out of range");
    if (x->rank - 1 + indices->rank > ITG_MAX_RANK) return bad(err, "too many dimensions");
    itg_shape y;
    memset(&y, 0, sizeof y);
    for (int32_t i = 0; i < axis; i++)
        y.dims[y.rank++] = x->dims[i];
    for (int32_t i = 0; i < indices->rank; i++)
        y.dims[y.rank++] = indices->dims[i];
    for (int32_t i = (int32_t)axis + 1; i < x->rank; i++)
        y.dims[y.rank++] = x->dims[i];
    return want_shape(&y, out(s, 0), err);
}

/* Concat and Split: `whole` is the sum of `parts` along the axis, equal elsewhere. */
static itg_status parts(const itg_shape *whole, const itg_pvalue *const *part, int32_t count,
                        int64_t axis, itg_error *err)
{
    if (axis < 0 || axis >= whole->rank) return bad(err, "axis out of range");
    int64_t sum = 0;
    for (int32_t i = 0; i < count; i++) {
        itg_shape wanted = *whole;
        if (part[i]->shape.rank != whole->rank) return bad(err, "ranks differ");
        wanted.dims[axis] = part[i]->shape.dims[axis];
        sum += wanted.dims[axis];
        if (!itg_shape_equal(&wanted, &part[i]->shape))
            return bad(err, "shapes differ beside the axis");
    }
    return sum == whole->dims[axis] ? ITG_OK : bad(err, "the parts do not add up along the axis");
}

static itg_status concat(const itg_signature *s, itg_error *err)
{
    return parts(out(s, 0), s->inputs, s->input_count, s->attrs->axis, err);
}

static itg_status split(const itg_signature *s, itg_error *err)
{
    return parts(in(s, 0), s->outputs, s->output_count, s->attrs->axis, err);
}

static itg_status expand(const itg_signature *s, itg_error *err)
{
    itg_shape y;
    if (!itg_broadcast_shapes(in(s, 0), out(s, 0), &y))
        return bad(err, "input does not broadcast to the output");
    return want_shape(&y, out(s, 0), err);
}

static itg_status pad(const itg_signature *s, itg_error *err)
{
    const itg_shape *x = in(s, 0), *y = out(s, 0);
    if (y->rank != x->rank) return bad(err, "Pad keeps the rank");
    for (int32_t i = 0; i < x->rank; i++) {
        int64_t begin = s->attrs->pads_begin[i];
        if (begin < -x->dims[i] || begin > y->dims[i]) return bad(err, "pad out of range");
        int64_t end = y->dims[i] - x->dims[i] - begin,
                cut = (begin < 0 ? -begin : 0) + (end < 0 ? -end : 0);
        if (cut > x->dims[i] || (cut == x->dims[i] && s->attrs->pad_mode != ITG_PAD_CONSTANT))
            return bad(err, "nothing of the input is left");
    }
    return ITG_OK;
}

/* ---- the table ---- */

typedef enum dtype_rule {
    ALL_F32,    /* float arithmetic */
    ARITHMETIC, /* one of f32, s32, s64 throughout */
    MOVED,      /* one type throughout */
    GATHERED,   /* as MOVED, beside s32 or s64 indices in slot 1 */
    SELECTED,   /* bool condition in slot 0, then as MOVED */
    RAISED,     /* f32 in slot 0 and out, any number in slot 1 */
    COMPARED,   /* bool output of one input type */
    INDEXED,    /* f32 in, s64 out */
    CONVERTED   /* any in, attribute `to` out */
} dtype_rule;

typedef struct rule {
    rule_fn check; /* NULL: a program never holds this operator */
    dtype_rule dtypes;
} rule;

static const rule rules[ITG_OP_COUNT] = {
    [ITG_OP_CONV] = {conv, ALL_F32},
    [ITG_OP_GEMM] = {gemm, ALL_F32},
    [ITG_OP_MATMUL] = {matmul, ALL_F32},
    [ITG_OP_POW] = {broadcast, RAISED},
    [ITG_OP_PRELU] = {prelu, ALL_F32},
    [ITG_OP_MAX_POOL] = {pool, ALL_F32},
    [ITG_OP_AVERAGE_POOL] = {pool, ALL_F32},
    [ITG_OP_GLOBAL_AVERAGE_POOL] = {global_pool, ALL_F32},
    [ITG_OP_GLOBAL_MAX_POOL] = {global_pool, ALL_F32},
    [ITG_OP_REDUCE_MEAN] = {reduce, ALL_F32},
    [ITG_OP_REDUCE_SUM] = {reduce, ALL_F32},
    [ITG_OP_REDUCE_MAX] = {reduce, ALL_F32},
    [ITG_OP_BATCH_NORMALIZATION] = {batch_normalization, ALL_F32},
    [ITG_OP_LAYER_NORMALIZATION] = {layer_normalization, ALL_F32},
    [ITG_OP_SOFTMAX] = {softmax, ALL_F32},
    [ITG_OP_LOG_SOFTMAX] = {softmax, ALL_F32},
    [ITG_OP_ARG_MAX] = {arg_max, INDEXED},
    [ITG_OP_CONCAT] = {concat, MOVED},
    [ITG_OP_SPLIT] = {split, MOVED},
    [ITG_OP_RESHAPE] = {same_elements, MOVED},
    [ITG_OP_FLATTEN] = {same_elements, MOVED},
    [ITG_OP_TRANSPOSE] = {transpose, MOVED},
    [ITG_OP_SLICE] = {slice, MOVED},
    [ITG_OP_GATHER] = {gather, GATHERED},
    [ITG_OP_SQUEEZE] = {same_elements, MOVED},
    [ITG_OP_UNSQUEEZE] = {same_elements, MOVED},
    [ITG_OP_EXPAND] = {expand, MOVED},
    [ITG_OP_PAD] = {pad, MOVED},
    [ITG_OP_CAST] = {same, CONVERTED},
    [ITG_OP_EQUAL] = {broadcast, COMPARED},
    [ITG_OP_WHERE] = {broadcast, SELECTED},
    [ITG_OP_IDENTITY] = {same, MOVED},
    [ITG_OP_DROPOUT] = {same, MOVED},
};

static const rule *rule_of(itg_op op)
{
    static const rule univariate = {same, ALL_F32}, arithmetic = {broadcast, ARITHMETIC};
    if (itg_op_is(op, ITG_IS_UNIVARIATE)) return &univariate;
    bool own = rules[op].check != NULL || !itg_op_is(op, ITG_IS_BROADCAST);
    return own ? &rules[op] : &arithmetic;
}

/* As in the prepared graph: shape-like inputs are attributes, further outputs are gone. */
static itg_status check_arity(const itg_signature *s, itg_error *err)
{
    enum { MANY = 65536 };
    const itg_op_info *info = itg_op_info_of(s->op);
    bool shaped = itg_op_is(s->op, ITG_IS_SHAPED);
    int32_t least = shaped ? 1 : info->min_inputs, most = shaped ? 1 : info->max_inputs;
    int32_t outputs = info->max_outputs < 0 ? MANY : 1;
    int32_t needed = most < 0 ? s->input_count : least;
    if (most < 0) most = MANY;
    if (s->input_count < least || s->input_count > most || s->output_count < 1 ||
        s->output_count > outputs)
        return itg_fail(err, ITG_MISMATCH,
                        "%d inputs and %d outputs; %s takes %d to %d, and 1 to %d",
                        (int)s->input_count, (int)s->output_count, itg_op_name(s->op), (int)least,
                        (int)most, (int)outputs);
    for (int32_t i = 0; i < needed; i++)
        if (s->inputs[i] == NULL) return itg_fail(err, ITG_MISMATCH, "input %d is missing", (int)i);
    return ITG_OK;
}

itg_status itg_check_shapes(const itg_signature *s, itg_error *err)
{
    const rule *r = rule_of(s->op);
    if (r->check == NULL)
        return itg_fail(err, ITG_UNSUPPORTED, "%s has no place in a prepared graph",
                        itg_op_name(s->op));
    itg_status status = check_arity(s, err);
    if (status != ITG_OK) return status;
    if (s->attrs->axes_count < 0 || s->attrs->axes_count > ITG_MAX_RANK)
        return bad(err, "bad number of axes");
    return r->check(s, err);
}

/* Inputs from `first` on and all outputs share a type. */
static bool uniform(const itg_signature *s, int32_t first)
{
    itg_dtype type = s->outputs[0]->dtype;
    for (int32_t i = first; i < s->input_count; i++)
        if (s->inputs[i] != NULL && s->inputs[i]->dtype != type) return false;
    for (int32_t i = 1; i < s->output_count; i++)
        if (s->outputs[i]->dtype != type) return false;
    return true;
}

static bool dtypes_fit(const itg_signature *s)
{
    itg_dtype type = s->outputs[0]->dtype, first = s->inputs[0]->dtype;
    switch (rule_of(s->op)->dtypes) {
    case ALL_F32:
        return type == ITG_F32 && uniform(s, 0);
    case ARITHMETIC:
        return (type == ITG_F32 || type == ITG_S32 || type == ITG_S64) && uniform(s, 0);
    case MOVED:
        return uniform(s, 0);
    case GATHERED:
        return first == type && (s->inputs[1]->dtype == ITG_S64 || s->inputs[1]->dtype == ITG_S32);
    case SELECTED:
        return first == ITG_BOOL && uniform(s, 1);
    case RAISED:
        return first == ITG_F32 && type == ITG_F32;
    case COMPARED:
        return type == ITG_BOOL && s->inputs[1]->dtype == first;
    case INDEXED:
        return first == ITG_F32 && type == ITG_S64;
    default:
        return type == s->attrs->to;
    }
}

itg_status itg_check_float_dtypes(const itg_signature *s, itg_error *err)
{
    return dtypes_fit(s) ? ITG_OK
                         : itg_fail(err, ITG_MISMATCH, "element types do not fit the operator");
}
