#include "attr_list.h"

typedef enum field {
    F_KERNEL,
    F_STRIDE,
    F_DILATION,
    F_PAD,
    F_GROUP,
    F_AUTO_PAD,
    F_CEIL_MODE,
    F_COUNT_INCLUDE_PAD,
    F_AXIS,
    F_AXES,
    F_STARTS,
    F_STEPS,
    F_PERM,
    F_PADS_BEGIN,
    F_PAD_MODE,
    F_KEEPDIMS,
    F_SELECT_LAST_INDEX,
    F_ALLOWZERO,
    F_NOOP,
    F_TRANS_A,
    F_TRANS_B,
    F_ALPHA,
    F_BETA,
    F_EPSILON,
    F_MIN,
    F_MAX,
    F_PAD_VALUE,
    F_TO,
    F_SHAPE_START,
    F_SHAPE_END,
    FIELD_COUNT
} field;

#define BIT(f) (UINT64_C(1) << (f))
#define WINDOW (BIT(F_KERNEL) | BIT(F_STRIDE) | BIT(F_DILATION) | BIT(F_PAD) | BIT(F_AUTO_PAD))
#define REDUCE (BIT(F_AXES) | BIT(F_KEEPDIMS) | BIT(F_NOOP))

static const uint64_t fields_of[ITG_OP_COUNT] = {
    [ITG_OP_CONV] = WINDOW | BIT(F_GROUP),
    [ITG_OP_MAX_POOL] = WINDOW | BIT(F_CEIL_MODE),
    [ITG_OP_AVERAGE_POOL] = WINDOW | BIT(F_CEIL_MODE) | BIT(F_COUNT_INCLUDE_PAD),
    [ITG_OP_GEMM] = BIT(F_TRANS_A) | BIT(F_TRANS_B) | BIT(F_ALPHA) | BIT(F_BETA),
    [ITG_OP_LEAKY_RELU] = BIT(F_ALPHA),
    [ITG_OP_ELU] = BIT(F_ALPHA),
    [ITG_OP_HARD_SIGMOID] = BIT(F_ALPHA) | BIT(F_BETA),
    [ITG_OP_CLIP] = BIT(F_MIN) | BIT(F_MAX),
    [ITG_OP_REDUCE_MEAN] = REDUCE,
    [ITG_OP_REDUCE_SUM] = REDUCE,
    [ITG_OP_REDUCE_MAX] = REDUCE,
    [ITG_OP_BATCH_NORMALIZATION] = BIT(F_AXIS) | BIT(F_EPSILON),
    [ITG_OP_LAYER_NORMALIZATION] = BIT(F_AXIS) | BIT(F_EPSILON),
    [ITG_OP_SOFTMAX] = BIT(F_AXIS),
    [ITG_OP_LOG_SOFTMAX] = BIT(F_AXIS),
    [ITG_OP_ARG_MAX] = BIT(F_AXIS) | BIT(F_KEEPDIMS) | BIT(F_SELECT_LAST_INDEX),
    [ITG_OP_CONCAT] = BIT(F_AXIS),
    [ITG_OP_SPLIT] = BIT(F_AXIS),
    [ITG_OP_RESHAPE] = BIT(F_ALLOWZERO),
    [ITG_OP_FLATTEN] = BIT(F_AXIS),
    [ITG_OP_TRANSPOSE] = BIT(F_PERM),
    [ITG_OP_SLICE] = BIT(F_AXES) | BIT(F_STARTS) | BIT(F_STEPS),
    [ITG_OP_GATHER] = BIT(F_AXIS),
    [ITG_OP_SQUEEZE] = BIT(F_AXES),
    [ITG_OP_UNSQUEEZE] = BIT(F_AXES),
    [ITG_OP_PAD] = BIT(F_PADS_BEGIN) | BIT(F_PAD_MODE) | BIT(F_PAD_VALUE),
    [ITG_OP_CONSTANT_OF_SHAPE] = BIT(F_TO),
    [ITG_OP_SHAPE] = BIT(F_SHAPE_START) | BIT(F_SHAPE_END),
    [ITG_OP_CAST] = BIT(F_TO),
};

static const char *auto_pad_name(itg_auto_pad mode)
{
    static const char *const names[] = {"explicit", "same_upper", "same_lower", "valid"};
    return names[mode];
}

static const char *pad_mode_name(itg_pad_mode mode)
{
    static const char *const names[] = {"constant", "reflect", "edge"};
    return names[mode];
}

static itg_attr_view ints(const char *name, const int64_t *values, int32_t count)
{
    return (itg_attr_view){
        .name = name, .type = ITG_FIELD_INTS, .ints = values, .count = count, .is_list = true};
}

static itg_attr_view one(const char *name, const int64_t *value)
{
    return (itg_attr_view){.name = name, .type = ITG_FIELD_INTS, .ints = value, .count = 1};
}

static itg_attr_view flag(const char *name, bool value)
{
    return (itg_attr_view){.name = name, .type = ITG_FIELD_BOOL, .flag = value};
}

static itg_attr_view number(const char *name, float value)
{
    return (itg_attr_view){.name = name, .type = ITG_FIELD_FLOAT, .number = value};
}

static itg_attr_view text(const char *name, const char *value)
{
    return (itg_attr_view){.name = name, .type = ITG_FIELD_NAME, .text = value};
}

/* Rank of input 0, as far as it is known. */
static int32_t input_rank(const itg_graph *g, const itg_node *n)
{
    if (n->input_count < 1 || n->inputs[0] == ITG_NONE) return 0;
    int32_t rank = g->values[n->inputs[0]].shape.rank;
    return rank < 0 ? 0 : rank;
}

static itg_attr_view view(const itg_graph *g, const itg_node *n, field f)
{
    const itg_attrs *a = &n->attrs;
    switch (f) {
    case F_KERNEL:
        return ints("kernel", a->kernel, 2);
    case F_STRIDE:
        return ints("stride", a->stride, 2);
    case F_DILATION:
        return ints("dilation", a->dilation, 2);
    case F_PAD:
        return ints("pad", a->pad, 4);
    case F_GROUP:
        return one("group", &a->group);
    case F_AUTO_PAD:
        return text("auto_pad", auto_pad_name(a->auto_pad));
    case F_CEIL_MODE:
        return flag("ceil_mode", a->ceil_mode);
    case F_COUNT_INCLUDE_PAD:
        return flag("count_include_pad", a->count_include_pad);
    case F_AXIS:
        return one("axis", &a->axis);
    case F_AXES:
        return ints("axes", a->axes, a->axes_count);
    case F_STARTS:
        return ints("starts", a->starts, a->axes_count);
    case F_STEPS:
        return ints("steps", a->steps, a->axes_count);
    case F_PERM:
        return ints("perm", a->perm, input_rank(g, n));
    case F_PADS_BEGIN:
        return ints("pads_begin", a->pads_begin, input_rank(g, n));
    case F_PAD_MODE:
        return text("mode", pad_mode_name(a->pad_mode));
    case F_KEEPDIMS:
        return flag("keepdims", a->keepdims);
    case F_SELECT_LAST_INDEX:
        return flag("select_last_index", a->select_last_index);
    case F_ALLOWZERO:
        return flag("allowzero", a->allowzero);
    case F_NOOP:
        return flag("noop_with_empty_axes", a->noop_with_empty_axes);
    case F_TRANS_A:
        return flag("transA", a->trans_a);
    case F_TRANS_B:
        return flag("transB", a->trans_b);
    case F_ALPHA:
        return number("alpha", a->alpha);
    case F_BETA:
        return number("beta", a->beta);
    case F_EPSILON:
        return number("epsilon", a->epsilon);
    case F_MIN:
        return number("min", a->min);
    case F_MAX:
        return number("max", a->max);
    case F_PAD_VALUE:
        return number("value", a->pad_value);
    case F_TO:
        return text("to", itg_dtype_name(a->to));
    case F_SHAPE_START:
        return one("start", &a->starts[0]);
    default:
        return ints("end", a->axes, a->axes_count > 0 ? 1 : 0);
    }
}

bool itg_attr_at(const itg_graph *g, itg_id node, int32_t index, itg_attr_view *out)
{
    const itg_node *n = &g->nodes[node];
    for (int f = 0; f < FIELD_COUNT; ++f) {
        if (!(fields_of[n->op] & BIT(f)) || index-- > 0) continue;
        *out = view(g, n, (field)f);
        return true;
    }
    return false;
}
