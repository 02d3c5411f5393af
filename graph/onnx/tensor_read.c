#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/element.h"
#include "graph/onnx/tensor_read.h"

/* The typed field of TensorProto that holds the elements if raw_data does not. */
typedef enum typed_field {
    IN_FLOAT,
    IN_DOUBLE,
    IN_INT32,
    IN_INT64,
    IN_UINT64,
    NOWHERE
} typed_field;

typedef struct type_row {
    const char *name;
    typed_field field;
    bool is_dtype; /* dtype is the same type; else values are converted to it: of 16 bits exactly,
                      of 64 rounded */
    itg_dtype dtype;
    size_t raw_size; /* of one element in raw_data */
} type_row;

/* By the numbers of TensorProto.DataType. */
static const type_row types[] = {
    {"UNDEFINED", NOWHERE, false, ITG_F32, 0},
    {"FLOAT", IN_FLOAT, true, ITG_F32, 4},
    {"UINT8", IN_INT32, true, ITG_U8, 1},
    {"INT8", IN_INT32, true, ITG_S8, 1},
    {"UINT16", IN_INT32, true, ITG_U16, 2},
    {"INT16", IN_INT32, true, ITG_S16, 2},
    {"INT32", IN_INT32, true, ITG_S32, 4},
    {"INT64", IN_INT64, true, ITG_S64, 8},
    {"STRING", NOWHERE, false, ITG_F32, 0},
    {"BOOL", IN_INT32, true, ITG_BOOL, 1},
    {"FLOAT16", IN_INT32, false, ITG_F32, 2},
    {"DOUBLE", IN_DOUBLE, false, ITG_F32, 8},
    {"UINT32", IN_UINT64, true, ITG_U32, 4},
    {"UINT64", NOWHERE, false, ITG_F32, 0},
    {"COMPLEX64", NOWHERE, false, ITG_F32, 0},
    {"COMPLEX128", NOWHERE, false, ITG_F32, 0},
    {"BFLOAT16", IN_INT32, false, ITG_F32, 2},
    {"FLOAT8E4M3FN", NOWHERE, false, ITG_F32, 0},
    {"FLOAT8E4M3FNUZ", NOWHERE, false, ITG_F32, 0},
    {"FLOAT8E5M2", NOWHERE, false, ITG_F32, 0},
    {"FLOAT8E5M2FNUZ", NOWHERE, false, ITG_F32, 0},
    {"UINT4", NOWHERE, false, ITG_U8, 0},
    {"INT4", NOWHERE, false, ITG_S8, 0},
    {"FLOAT4E2M1", NOWHERE, false, ITG_F32, 0},
};
enum {
    TYPE_COUNT = sizeof types / sizeof types[0],
    TYPE_FLOAT16 = 10,
    TYPE_DOUBLE = 11,
    TYPE_UINT4 = 21,
    TYPE_INT4 = 22
};

bool itg_onnx_tensor_has_four_bits(const ItgOnnx__TensorProto *proto)
{
    return proto->data_type == TYPE_UINT4 || proto->data_type == TYPE_INT4;
}

const char *itg_onnx_type_name(int32_t type)
{
    return type >= 0 && type < TYPE_COUNT ? types[type].name : "unknown";
}

bool itg_onnx_type_to_dtype(int32_t type, itg_dtype *out)
{
    if (type < 0 || type >= TYPE_COUNT || types[type].field == NOWHERE) return false;
    *out = types[type].dtype;
    return true;
}

int32_t itg_onnx_type_of(itg_dtype dtype)
{
    int32_t type = 0;
    if (dtype == ITG_F64) return TYPE_DOUBLE;
    while (type < TYPE_COUNT - 1 && !(types[type].is_dtype && types[type].dtype == dtype))
        type++;
    return type;
}

/* ---- 16-bit floats ---- */
static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float widen(int32_t type, uint16_t bits)
{
    return type == TYPE_FLOAT16 ? itg_float_of_half(bits) : float_of_bits((uint32_t)bits << 16);
}

/* Rounds half to even; a finite number stays finite. */
static float narrow(double value)
{
    if (isfinite(value) && fabs(value) > (double)FLT_MAX) return value < 0 ? -FLT_MAX : FLT_MAX;
    return (float)value;
}

/* ---- elements ---- */
static void narrow_raw(const unsigned char *raw, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double value;
        itg_copy_little_endian(&value, raw + 8 * i, 1, 8);
        to[i] = narrow(value);
    }
}

static void convert_raw(const ItgOnnx__TensorProto *proto, itg_tensor *out, size_t count)
{
    const unsigned char *raw = proto->raw_data.data;
    if (count == 0) return;
    if (types[proto->data_type].field == IN_DOUBLE) {
        narrow_raw(raw, out->data, count);
    } else if (!types[proto->data_type].is_dtype) {
        float *to = out->data;
        for (size_t i = 0; i < count; i++)
            to[i] = widen(proto->data_type, (uint16_t)(raw[2 * i] | raw[2 * i + 1] << 8));
    } else if (out->dtype == ITG_BOOL) {
        unsigned char *to = out->data;
        for (size_t i = 0; i < count; i++)
            to[i] = raw[i] != 0;
    } else {
        itg_copy_little_endian(out->data, raw, count, itg_dtype_size(out->dtype));
    }
}

static itg_status bad_element(size_t index, const char *type, itg_error *err)
{
    return itg_fail(err, ITG_BAD_FILE, "element %zu does not fit its type %s", index, type);
}

static itg_status convert_int32(const ItgOnnx__TensorProto *proto, itg_tensor *out, itg_error *err)
{
    const type_row *row = &types[proto->data_type];
    bool is_half = !row->is_dtype, is_bool = out->dtype == ITG_BOOL;
    int64_t lo = is_half || is_bool ? 0 : itg_dtype_min(out->dtype);
    int64_t hi = is_half ? UINT16_MAX : is_bool ? 1 : itg_dtype_max(out->dtype);
    for (size_t i = 0; i < proto->n_int32_data; i++) {
        int32_t v = proto->int32_data[i];
        if (v < lo || v > hi) return bad_element(i, row->name, err);
        if (is_half)
            ((float *)out->data)[i] = widen(proto->data_type, (uint16_t)v);
        else
            itg_store(out->dtype, out->data, (int64_t)i, v);
    }
    return ITG_OK;
}

static itg_status convert_uint32(const ItgOnnx__TensorProto *proto, itg_tensor *out, itg_error *err)
{
    for (size_t i = 0; i < proto->n_uint64_data; i++) {
        if (proto->uint64_data[i] > UINT32_MAX) return bad_element(i, "UINT32", err);
        ((uint32_t *)out->data)[i] = (uint32_t)proto->uint64_data[i];
    }
    return ITG_OK;
}

static size_t typed_count(const ItgOnnx__TensorProto *proto, typed_field field)
{
    switch (field) {
    case IN_FLOAT:
        return proto->n_float_data;
    case IN_DOUBLE:
        return proto->n_double_data;
    case IN_INT32:
        return proto->n_int32_data;
    case IN_INT64:
        return proto->n_int64_data;
    case IN_UINT64:
        return proto->n_uint64_data;
    default:
        return 0;
    }
}

static itg_status convert_typed(const ItgOnnx__TensorProto *proto, itg_tensor *out, size_t count,
                                itg_error *err)
{
    size_t bytes = count * itg_dtype_size(out->dtype);
    if (count == 0) return ITG_OK;
    switch (types[proto->data_type].field) {
    case IN_FLOAT:
        memcpy(out->data, proto->float_data, bytes);
        return ITG_OK;
    case IN_DOUBLE:
        for (size_t i = 0; i < count; i++)
            ((float *)out->data)[i] = narrow(proto->double_data[i]);
        return ITG_OK;
    case IN_INT64:
        memcpy(out->data, proto->int64_data, bytes);
        return ITG_OK;
    case IN_UINT64:
        return convert_uint32(proto, out, err);
    default:
        return convert_int32(proto, out, err);
    }
}

/* ---- elements of 4 bits ---- */
/* Two lie in a byte, the first in the lower half, and the last may lie alone: in raw_data, or in
 * int32_data a byte for each number. */
static itg_status convert_halves(const ItgOnnx__TensorProto *proto, size_t count, itg_arena *arena,
                                 itg_tensor *out, itg_error *err)
{
    size_t typed = proto->n_int32_data, raw = proto->has_raw_data ? proto->raw_data.len : 0;
    if (typed > 0 && raw > 0)
        return itg_fail(err, ITG_BAD_FILE, "its elements are stored twice, raw and typed");
    if ((raw > 0 ? raw : typed) != (count + 1) / 2)
        return itg_fail(err, ITG_BAD_FILE, "%zu bytes are stored, %zu elements of type %s need %zu",
                        raw > 0 ? raw : typed, count, types[proto->data_type].name,
                        (count + 1) / 2);
    unsigned char *to = out->data = itg_arena_array(arena, count + 1, 1);
    if (!to) return itg_fail(err, ITG_NO_MEMORY, "no memory for %zu elements", count);
    for (size_t i = 0; i < count; i++) {
        int32_t pair = raw > 0 ? proto->raw_data.data[i / 2] : proto->int32_data[i / 2];
        if (pair < 0 || pair > 255) return bad_element(i, types[proto->data_type].name, err);
        int32_t half = i % 2 == 0 ? pair & 15 : pair >> 4;
        to[i] = (unsigned char)(proto->data_type == TYPE_INT4 && half > 7 ? half - 16 : half);
    }
    return ITG_OK;
}

/* ---- the whole ---- */
static itg_status check_kind(const ItgOnnx__TensorProto *proto, itg_error *err)
{
    int32_t type = proto->data_type;
    if (itg_onnx_tensor_is_external(proto))
        return itg_fail(err, ITG_UNSUPPORTED,
                        "its data lies in another file (external data), and a tensor or a model in "
                        "memory has no folder; save it with all data inside");
    if (proto->has_segment)
        return itg_fail(err, ITG_UNSUPPORTED, "a segment of a tensor is not supported");
    if (itg_onnx_tensor_has_four_bits(proto)) return ITG_OK;
    if (type < 0 || type >= TYPE_COUNT || types[type].field == NOWHERE)
        return itg_fail(err, ITG_UNSUPPORTED, "element type %s (%d) is not supported",
                        itg_onnx_type_name(type), (int)type);
    return ITG_OK;
}

static itg_status read_shape(const ItgOnnx__TensorProto *proto, itg_shape *out, int64_t *elements,
                             itg_error *err)
{
    itg_shape shape = {0};
    if (proto->n_dims > ITG_MAX_RANK)
        return itg_fail(err, ITG_UNSUPPORTED, "rank %zu; at most %d is supported", proto->n_dims,
                        ITG_MAX_RANK);
    for (size_t i = 0; i < proto->n_dims; i++) {
        if (proto->dims[i] < 0)
            return itg_fail(err, ITG_BAD_FILE, "dimension %zu is %" PRId64 ", which is negative", i,
                            proto->dims[i]);
        shape.dims[shape.rank++] = proto->dims[i];
    }
    if (!itg_shape_elements(&shape, elements))
        return itg_fail(err, ITG_LIMIT, "more than %" PRId64 " elements", ITG_MAX_ELEMENTS);
    *out = shape;
    return ITG_OK;
}

/* Checks the number of stored elements before anything of the shape's size is allocated. */
static itg_status check_amount(const ItgOnnx__TensorProto *proto, size_t elements, itg_error *err)
{
    const type_row *row = &types[proto->data_type];
    size_t typed = typed_count(proto, row->field), want = 0;
    if (!proto->has_raw_data || (proto->raw_data.len == 0 && typed > 0)) {
        if (typed == elements) return ITG_OK;
        return itg_fail(err, ITG_BAD_FILE, "%zu elements of type %s are stored, its shape has %zu",
                        typed, row->name, elements);
    }
    if (typed > 0)
        return itg_fail(err, ITG_BAD_FILE, "its elements are stored twice, raw and typed");
    if (itg_mul_size(elements, row->raw_size, &want) && proto->raw_data.len == want) return ITG_OK;
    return itg_fail(err, ITG_BAD_FILE, "raw_data has %zu bytes, %zu elements of type %s need %zu",
                    proto->raw_data.len, elements, row->name, want);
}

/* Whether raw_data holds the tensor's elements, but for the order of their bytes. */
static bool is_ready(const ItgOnnx__TensorProto *proto, itg_dtype dtype)
{
    return proto->has_raw_data && proto->raw_data.len > 0 && types[proto->data_type].is_dtype &&
           dtype != ITG_BOOL;
}

/* Shares raw_data with the arena, its bytes in the host's order. */
static void *share_raw(const ItgOnnx__TensorProto *proto, const itg_arena *holds, itg_arena *arena,
                       size_t count, size_t size)
{
    unsigned char *raw = proto->raw_data.data;
    itg_copy_little_endian(raw, raw, count, size);
    return itg_arena_share(arena, holds, raw, proto->raw_data.len);
}

itg_status itg_onnx_tensor_take(const ItgOnnx__TensorProto *proto, const itg_arena *holds,
                                itg_arena *arena, itg_tensor *out, itg_error *err)
{
    itg_tensor tensor = {0};
    int64_t elements = 0;
    itg_status status = check_kind(proto, err);
    if (status == ITG_OK) status = read_shape(proto, &tensor.shape, &elements, err);
    if (status != ITG_OK) return status;
    tensor.dtype = types[proto->data_type].dtype;
    if (itg_onnx_tensor_has_four_bits(proto)) {
        status = convert_halves(proto, (size_t)elements, arena, &tensor, err);
        if (status == ITG_OK) *out = tensor;
        return status;
    }
    status = check_amount(proto, (size_t)elements, err);
    if (status != ITG_OK) return status;
    const bool shared = holds && is_ready(proto, tensor.dtype);
    const size_t size = itg_dtype_size(tensor.dtype);
    tensor.data = shared ? share_raw(proto, holds, arena, (size_t)elements, size)
                         : itg_arena_array(arena, elements > 0 ? (size_t)elements : 1, size);
    if (!tensor.data)
        return itg_fail(err, ITG_NO_MEMORY, "no memory for %" PRId64 " elements", elements);
    if (!shared && proto->has_raw_data && proto->raw_data.len > 0)
        convert_raw(proto, &tensor, (size_t)elements);
    else if (!shared)
        status = convert_typed(proto, &tensor, (size_t)elements, err);
    if (status == ITG_OK) *out = tensor;
    return status;
}

itg_status itg_onnx_tensor_convert(const ItgOnnx__TensorProto *proto, itg_arena *arena,
                                   itg_tensor *out, itg_error *err)
{
    if (itg_onnx_tensor_has_four_bits(proto))
        return itg_fail(err, ITG_UNSUPPORTED, "element type %s (%d) is supported of initializers",
                        itg_onnx_type_name(proto->data_type), (int)proto->data_type);
    return itg_onnx_tensor_take(proto, NULL, arena, out, err);
}
