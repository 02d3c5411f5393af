#include "realize/attr_fields.h"
#include <string.h>

typedef enum field_type {
    INT, /* int64_t */
    INT32,
    BOOLEAN,
    FLOATING,
    ARRAY,    /* int64_t[length] */
    PER_DIM,  /* int64_t[rank] */
    AXES,     /* int64_t[axes_count] and the count itself */
    PER_AXIS, /* int64_t[axes_count], after AXES */
    PAD_MODE,
    DTYPE
} field_type;

/* Groups of attributes that operators read together. */
enum {
    WINDOW = 1,
    POOL = 2,
    GROUP = 4,
    AXIS = 8,
    REDUCE = 16,
    SLICE = 32,
    PERM = 64,
    PAD = 128,
    ALPHA = 256,
    BETA = 512,
    EPSILON = 1024,
    RANGE = 2048,
    TO = 4096,
    TRANS_A = 8192,
    TRANS_B = 16384,
    KEEPDIMS = 32768,
    LAST = 65536
};

typedef struct attr_field {
    const char *name;
    size_t offset;
    field_type type;
    int32_t length;
    int groups; /* read by operators of any of these */
} attr_field;

#define FIELD(name, type, length, groups)                                                          \
    {                                                                                              \
#name, offsetof(itg_attrs, name), type, length, groups                                     \
    }
static const attr_field fields[] = {
    FIELD(spatial_rank, INT32, 0, WINDOW),
    FIELD(kernel, ARRAY, 2, WINDOW),
    FIELD(stride, ARRAY, 2, WINDOW),
    FIELD(dilation, ARRAY, 2, WINDOW),
    FIELD(pad, ARRAY, 4, WINDOW),
    FIELD(group, INT, 0, GROUP),
    FIELD(ceil_mode, BOOLEAN, 0, POOL),
    FIELD(count_include_pad, BOOLEAN, 0, POOL),
    FIELD(axis, INT, 0, AXIS),
    FIELD(axes, AXES, 0, REDUCE | SLICE),
    FIELD(noop_with_empty_axes, BOOLEAN, 0, REDUCE),
    FIELD(keepdims, BOOLEAN, 0, KEEPDIMS),
    FIELD(select_last_index, BOOLEAN, 0, LAST),
    FIELD(starts, PER_AXIS, 0, SLICE),
    FIELD(steps, PER_AXIS, 0, SLICE),
    FIELD(perm, PER_DIM, 0, PERM),
    FIELD(pads_begin, PER_DIM, 0, PAD),
    FIELD(pad_mode, PAD_MODE, 0, PAD),
    FIELD(pad_value, FLOATING, 0, PAD),
    FIELD(alpha, FLOATING, 0, ALPHA),
    FIELD(beta, FLOATING, 0, BETA),
    FIELD(epsilon, FLOATING, 0, EPSILON),
    FIELD(min, FLOATING, 0, RANGE),
    FIELD(max, FLOATING, 0, RANGE),
    FIELD(to, DTYPE, 0, TO),
    FIELD(trans_a, BOOLEAN, 0, TRANS_A),
    FIELD(trans_b, BOOLEAN, 0, TRANS_B),
};

static const int groups_of[ITG_OP_COUNT] = {
    [ITG_OP_CONV] = WINDOW | GROUP,
    [ITG_OP_GEMM] = ALPHA | BETA | TRANS_A | TRANS_B,
    [ITG_OP_MATMUL] = TRANS_B,
    [ITG_OP_LEAKY_RELU] = ALPHA,
    [ITG_OP_ELU] = ALPHA,
    [ITG_OP_HARD_SIGMOID] = ALPHA | BETA,
    [ITG_OP_HARD_SWISH] = ALPHA | BETA,
    [ITG_OP_CLIP] = RANGE,
    [ITG_OP_MAX_POOL] = WINDOW | POOL,
    [ITG_OP_AVERAGE_POOL] = WINDOW | POOL,
    [ITG_OP_REDUCE_MEAN] = REDUCE | KEEPDIMS,
    [ITG_OP_REDUCE_SUM] = REDUCE | KEEPDIMS,
    [ITG_OP_REDUCE_MAX] = REDUCE | KEEPDIMS,
    [ITG_OP_BATCH_NORMALIZATION] = EPSILON,
    [ITG_OP_LAYER_NORMALIZATION] = AXIS | EPSILON,
    [ITG_OP_SOFTMAX] = AXIS,
    [ITG_OP_LOG_SOFTMAX] = AXIS,
    [ITG_OP_ARG_MAX] = AXIS | KEEPDIMS | LAST,
    [ITG_OP_CONCAT] = AXIS,
    [ITG_OP_SPLIT] = AXIS,
    [ITG_OP_FLATTEN] = AXIS,
    [ITG_OP_TRANSPOSE] = PERM,
    [ITG_OP_SLICE] = SLICE,
    [ITG_OP_GATHER] = AXIS,
    [ITG_OP_SQUEEZE] = REDUCE,
    [ITG_OP_UNSQUEEZE] = REDUCE,
    [ITG_OP_PAD] = PAD,
    [ITG_OP_CAST] = TO,
};

static const char *pad_mode_name(int mode)
{
    static const char *const names[] = {"constant", "reflect", "edge"};
    return mode >= 0 && mode < 3 ? names[mode] : "?";
}

static const char *dtype_name(int dtype)
{
    return itg_dtype_name((itg_dtype)dtype);
}

static void visit_axes(itg_fields *f, itg_attrs *a)
{
    const int64_t *axes = a->axes;
    int64_t count = a->axes_count;
    itg_field_ints(f, "axes", &axes, &count, ITG_MAX_RANK);
    if (f->mode != ITG_FIELDS_READ || f->status != ITG_OK) return;
    a->axes_count = (int32_t)count;
    if (count > 0) memcpy(a->axes, axes, (size_t)count * sizeof *axes);
}

static void visit_enum(itg_fields *f, const attr_field *field, itg_attrs *a)
{
    int value = field->type == PAD_MODE ? (int)a->pad_mode : (int)a->to;
    if (field->type == PAD_MODE)
        itg_field_name(f, field->name, &value, pad_mode_name, 3);
    else
        itg_field_name(f, field->name, &value, dtype_name, ITG_DTYPE_COUNT);
    if (f->status != ITG_OK) return;
    if (field->type == PAD_MODE)
        a->pad_mode = (itg_pad_mode)value;
    else
        a->to = (itg_dtype)value;
}

static void visit_attr(itg_fields *f, const attr_field *field, itg_attrs *a, int32_t rank)
{
    void *at = (char *)a + field->offset;
    switch (field->type) {
    case INT:
        itg_field_int(f, field->name, at, INT64_MIN, INT64_MAX);
        break;
    case INT32:
        itg_field_int32(f, field->name, at, INT32_MIN, INT32_MAX);
        break;
    case BOOLEAN:
        itg_field_bool(f, field->name, at);
        break;
    case FLOATING:
        itg_field_float(f, field->name, at);
        break;
    case ARRAY:
        itg_field_array(f, field->name, at, field->length);
        break;
    case PER_DIM:
        itg_field_array(f, field->name, at, rank);
        break;
    case PER_AXIS:
        itg_field_array(f, field->name, at, a->axes_count);
        break;
    case AXES:
        visit_axes(f, a);
        break;
    case PAD_MODE:
    case DTYPE:
        visit_enum(f, field, a);
        break;
    }
}

void itg_visit_attrs(itg_fields *f, itg_op op, itg_attrs *attrs, int32_t rank)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].groups & groups_of[op]) visit_attr(f, &fields[i], attrs, rank);
}

static size_t field_bytes(const attr_field *field)
{
    switch (field->type) {
    case INT:
        return sizeof(int64_t);
    case INT32:
        return sizeof(int32_t);
    case BOOLEAN:
        return sizeof(bool);
    case FLOATING:
        return sizeof(float);
    case ARRAY:
        return (size_t)field->length * sizeof(int64_t);
    case PAD_MODE:
        return sizeof(itg_pad_mode);
    case DTYPE:
        return sizeof(itg_dtype);
    default:
        return ITG_MAX_RANK * sizeof(int64_t);
    }
}

itg_attrs itg_attrs_read_by(itg_op op, const itg_attrs *attrs)
{
    itg_attrs out;
    memset(&out, 0, sizeof out);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (!(fields[i].groups & groups_of[op])) continue;
        memcpy((char *)&out + fields[i].offset, (const char *)attrs + fields[i].offset,
               field_bytes(&fields[i]));
        if (fields[i].type == AXES) out.axes_count = attrs->axes_count;
    }
    out.auto_pad =
        attrs->auto_pad; /* never written: the checks refuse anything but explicit pads */
    return out;
}
