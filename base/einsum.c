#include "base/einsum.h"
#include <string.h>
#include "base/base.h"

#define MOST_PRODUCTS ((int64_t)1 << 32)

/* Returns the length of the list at labels[*at], and moves at behind it; -1: it has no end. */
static int64_t list_length(const int64_t *labels, int64_t count, int64_t *at)
{
    const int64_t first = *at;
    while (*at < count && labels[*at] != -1)
        ++*at;
    return *at < count ? (*at)++ - first : -1;
}

static bool has_rest(const int64_t *list, int64_t length)
{
    for (int64_t i = 0; i < length; ++i)
        if (list[i] == ITG_EINSUM_REST) return true;
    return false;
}

/* Lists the labels of a tensor's dimensions. "..." covers its last `own` of `rest` dimensions. */
static bool expand(const int64_t *list, int64_t length, int64_t own, int64_t rest, int32_t *labels,
                   int32_t *rank)
{
    bool seen = false;
    *rank = 0;
    for (int64_t i = 0; i < length; ++i) {
        const bool is_rest = list[i] == ITG_EINSUM_REST;
        if (list[i] < 0 || list[i] > ITG_EINSUM_REST || (is_rest && seen)) return false;
        seen |= is_rest;
        for (int64_t k = 0; k < (is_rest ? own : 1); ++k) {
            if (*rank == ITG_MAX_RANK) return false;
            labels[(*rank)++] = (int32_t)(is_rest ? ITG_EINSUM_REST + rest - own + k : list[i]);
        }
    }
    return true;
}

static bool add_operand(itg_einsum *e, int32_t k, const itg_shape *shape, const int32_t *labels)
{
    int64_t step = 1;
    for (int32_t d = shape->rank - 1; d >= 0; --d) {
        int64_t *size = &e->size[labels[d]];
        if (*size >= 0 && *size != 1 && shape->dims[d] != 1 && *size != shape->dims[d])
            return false;
        if (*size < 0 || *size == 1) *size = shape->dims[d];
        if (shape->dims[d] != 1) e->stride[k][labels[d]] += step;
        step *= shape->dims[d];
    }
    return true;
}

/* Returns the most dimensions of any "..."; -1: a shape does not fit its list. */
static int64_t most_rest(const int64_t *labels, int64_t count, const itg_shape *shapes,
                         int32_t operands)
{
    int64_t at = 0, most = 0;
    for (int32_t k = 0; k < operands; ++k) {
        const int64_t *list = labels + at, length = list_length(labels, count, &at);
        if (length < 0) return -1;
        const int64_t own = shapes[k].rank - length + (has_rest(list, length) ? 1 : 0);
        if (has_rest(list, length) ? own < 0 : own != 0) return -1;
        if (own > most) most = own;
    }
    return most;
}

static const char *add_output(itg_einsum *e, const int32_t *labels, int32_t rank, itg_shape *shape)
{
    bool in_output[ITG_EINSUM_LABELS] = {false};
    int64_t products = 1;
    *shape = (itg_shape){.rank = rank};
    for (int32_t d = 0; d < rank; ++d) {
        if (e->size[labels[d]] < 0) return "its output has a letter that no operand has";
        if (in_output[labels[d]]) return "its output has a letter twice";
        in_output[labels[d]] = true;
        e->out[e->out_count++] = labels[d];
        shape->dims[d] = e->size[labels[d]];
    }
    for (int32_t l = 0; l < ITG_EINSUM_LABELS; ++l) {
        if (e->size[l] < 0) continue;
        if (!in_output[l]) e->summed[e->summed_count++] = l;
        if (e->size[l] > 0 && products > MOST_PRODUCTS / e->size[l])
            return "it has more than 2^32 products";
        products *= e->size[l] > 0 ? e->size[l] : 1;
    }
    return NULL;
}

const char *itg_einsum_resolve(const int64_t *labels, int64_t count, const itg_shape *shapes,
                               int32_t operands, itg_einsum *out, itg_shape *shape)
{
    int32_t own[ITG_MAX_RANK], rank;
    int64_t at = 0;
    if (operands < 1 || operands > ITG_EINSUM_OPERANDS) return "it has more than 8 operands";
    memset(out, 0, sizeof *out);
    out->operands = operands;
    for (int32_t l = 0; l < ITG_EINSUM_LABELS; ++l)
        out->size[l] = -1;
    const int64_t rest = most_rest(labels, count, shapes, operands);
    if (rest < 0) return "its equation does not fit the ranks of its operands";
    for (int32_t k = 0; k < operands; ++k) {
        const int64_t *list = labels + at, length = list_length(labels, count, &at);
        if (!expand(list, length, shapes[k].rank - length + 1, rest, own, &rank) ||
            !add_operand(out, k, &shapes[k], own))
            return "its equation does not fit the shapes of its operands";
    }
    const int64_t *list = labels + at, length = list_length(labels, count, &at);
    if (length < 0 || at != count || !expand(list, length, rest, rest, own, &rank))
        return "its equation has no legal output";
    return add_output(out, own, rank, shape);
}
