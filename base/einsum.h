/* Einsum's equation as numbers, and its meaning for tensors of given shapes. */
#ifndef ITG_BASE_EINSUM_H
#define ITG_BASE_EINSUM_H
#include <intaglio/types.h>

/* An equation is a list of labels: those of each operand's dimensions in turn, then those of the
 * output's; -1 ends each of these lists. A letter is a label of 0 to 51; ITG_EINSUM_REST stands for
 * "...", the dimensions that have no letter. */
enum {
    ITG_EINSUM_LETTERS = 52,
    ITG_EINSUM_REST = 52,
    ITG_EINSUM_LABELS = 52 + ITG_MAX_RANK, /* each dimension of "..." has a label */
    ITG_EINSUM_OPERANDS = 8
};

typedef struct itg_einsum {
    int32_t operands;
    int64_t size[ITG_EINSUM_LABELS];                        /* of a label; -1: it is not used */
    int64_t stride[ITG_EINSUM_OPERANDS][ITG_EINSUM_LABELS]; /* elements of an operand by label */
    int32_t out_count, summed_count;
    int32_t out[ITG_MAX_RANK]; /* labels of the output's dimensions */
    int32_t summed[ITG_EINSUM_LABELS];
} itg_einsum;

/* Returns NULL, or what does not fit. Dimensions of 1 broadcast; a letter that occurs twice in an
 * operand selects its diagonal. *shape: the output's. At most 2^32 products. */
const char *itg_einsum_resolve(const int64_t *labels, int64_t count, const itg_shape *shapes,
                               int32_t operands, itg_einsum *out, itg_shape *shape);
#endif
