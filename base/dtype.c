#include <intaglio/types.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
    bool is_integer;
    int64_t min, max;
} dtypes[ITG_DTYPE_COUNT] = {
    [ITG_F32] = {"f32", 4, false, 0, 0},
    [ITG_F64] = {"f64", 8, false, 0, 0},
    [ITG_S8] = {"s8", 1, true, INT8_MIN, INT8_MAX},
    [ITG_U8] = {"u8", 1, true, 0, UINT8_MAX},
    [ITG_S16] = {"s16", 2, true, INT16_MIN, INT16_MAX},
    [ITG_U16] = {"u16", 2, true, 0, UINT16_MAX},
    [ITG_S32] = {"s32", 4, true, INT32_MIN, INT32_MAX},
    [ITG_U32] = {"u32", 4, true, 0, UINT32_MAX},
    [ITG_S64] = {"s64", 8, true, INT64_MIN, INT64_MAX},
    [ITG_BOOL] = {"bool", 1, false, 0, 1},
};

static bool is_dtype(itg_dtype dtype)
{
    return (int)dtype >= 0 && dtype < ITG_DTYPE_COUNT;
}

size_t itg_dtype_size(itg_dtype dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].size : 0;
}

const char *itg_dtype_name(itg_dtype dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].name : "unknown";
}

bool itg_dtype_from_name(const char *name, itg_dtype *out)
{
    for (int i = 0; i < ITG_DTYPE_COUNT; i++) {
        if (strcmp(name, dtypes[i].name) == 0) {
            *out = (itg_dtype)i;
            return true;
        }
    }
    return false;
}

bool itg_dtype_is_integer(itg_dtype dtype)
{
    return is_dtype(dtype) && dtypes[dtype].is_integer;
}

int64_t itg_dtype_min(itg_dtype dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].min : 0;
}

int64_t itg_dtype_max(itg_dtype dtype)
{
    return is_dtype(dtype) ? dtypes[dtype].max : 0;
}

int64_t itg_load(itg_dtype dtype, const void *data, int64_t index)
{
    switch (dtype) {
    case ITG_S8:
        return ((const int8_t *)data)[index];
    case ITG_U8:
        return ((const uint8_t *)data)[index];
    case ITG_BOOL:
        return ((const uint8_t *)data)[index] != 0;
    case ITG_S16:
        return ((const int16_t *)data)[index];
    case ITG_U16:
        return ((const uint16_t *)data)[index];
    case ITG_S32:
        return ((const int32_t *)data)[index];
    case ITG_U32:
        return ((const uint32_t *)data)[index];
    case ITG_S64:
        return ((const int64_t *)data)[index];
    case ITG_F32:
        return (int64_t)((const float *)data)[index];
    case ITG_F64:
        return (int64_t)((const double *)data)[index];
    default:
        return 0;
    }
}

void itg_store(itg_dtype dtype, void *data, int64_t index, int64_t value)
{
    switch (dtype) {
    case ITG_S8:
        ((int8_t *)data)[index] = (int8_t)value;
        break;
    case ITG_U8:
        ((uint8_t *)data)[index] = (uint8_t)value;
        break;
    case ITG_BOOL:
        ((uint8_t *)data)[index] = value != 0;
        break;
    case ITG_S16:
        ((int16_t *)data)[index] = (int16_t)value;
        break;
    case ITG_U16:
        ((uint16_t *)data)[index] = (uint16_t)value;
        break;
    case ITG_S32:
        ((int32_t *)data)[index] = (int32_t)value;
        break;
    case ITG_U32:
        ((uint32_t *)data)[index] = (uint32_t)value;
        break;
    case ITG_S64:
        ((int64_t *)data)[index] = value;
        break;
    case ITG_F32:
        ((float *)data)[index] = (float)value;
        break;
    case ITG_F64:
        ((double *)data)[index] = (double)value;
        break;
    default:
        break;
    }
}
