/* Size arithmetic that cannot wrap, and the functions on shapes and tensors that use it. */
#include "base/base.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

bool itg_add_size(size_t a, size_t b, size_t *out)
{
    if (a > SIZE_MAX - b) return false;
    *out = a + b;
    return true;
}

bool itg_mul_size(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b) return false;
    *out = a * b;
    return true;
}

bool itg_shape_elements(const itg_shape *shape, int64_t *out)
{
    if (shape->rank < 0 || shape->rank > ITG_MAX_RANK) return false;
    /* A dimension of 0 counts as 1, so that the product of any of the dimensions (a stride) is
     * within the limit. */
    int64_t product = 1;
    bool is_empty = false;
    for (int32_t i = 0; i < shape->rank; i++) {
        int64_t dim = shape->dims[i];
        if (dim < 0) return false;
        if (dim == 0) {
            is_empty = true;
            continue;
        }
        if (dim > ITG_MAX_ELEMENTS / product) return false;
        product *= dim;
    }
    *out = is_empty ? 0 : product;
    return true;
}

bool itg_shape_equal(const itg_shape *a, const itg_shape *b)
{
    if (a->rank != b->rank) return false;
    for (int32_t i = 0; i < a->rank && i < ITG_MAX_RANK; i++) {
        if (a->dims[i] != b->dims[i]) return false;
    }
    return true;
}

const char *itg_shape_text(const itg_shape *shape, char *buffer, size_t size)
{
    char text[ITG_MAX_RANK * 21 + 3];
    size_t length = 0;
    text[length++] = '[';
    for (int32_t i = 0; i < shape->rank && i < ITG_MAX_RANK; i++) {
        if (i > 0) text[length++] = ',';
        if (shape->dims[i] < 0) {
            text[length++] = '?';
            continue;
        }
        int wrote = snprintf(text + length, sizeof text - length, "%" PRId64, shape->dims[i]);
        length += (size_t)wrote;
    }
    text[length++] = ']';
    text[length] = '\0';
    if (size > 0) {
        if (length >= size) length = size - 1;
        memcpy(buffer, text, length);
        buffer[length] = '\0';
    }
    return buffer;
}

size_t itg_tensor_bytes(const itg_tensor *tensor)
{
    int64_t elements = 0;
    size_t bytes = 0;
    bool is_sized = itg_shape_elements(&tensor->shape, &elements) &&
                    (uint64_t)elements <= SIZE_MAX &&
                    itg_mul_size((size_t)elements, itg_dtype_size(tensor->dtype), &bytes);
    assert(is_sized);
    return is_sized ? bytes : 0;
}

int64_t itg_dims_product(const itg_shape *shape, int32_t from, int32_t to)
{
    int64_t product = 1;
    for (int32_t d = from; d < to; ++d)
        product *= shape->dims[d];
    return product;
}
