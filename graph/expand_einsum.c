/* Replaces an Einsum of two float32 operands by a MatMul. A becomes [batch, free of A, summed], B
 * [batch, summed, free of B]; Transpose and Reshape bring the product to the output's order. Batch
 * labels are in both operands and the output, summed labels in both operands only; every label that
 * only one operand has must be in the output. */
#include "base/einsum.h"
#include "expand.h"
#include <string.h>

enum { LABELS = ITG_EINSUM_LABELS };

/* The label of each dimension of A, B and the output. */
typedef struct contraction {
    int32_t count[3], label[3][ITG_MAX_RANK];
    int64_t size[LABELS];
} contraction;

static bool has(const contraction *c, int tensor, int32_t label)
{
    for (int32_t d = 0; d < c->count[tensor]; d++)
        if (c->label[tensor][d] == label) return true;
    return false;
}

/* Reads the labels of one tensor; "..." becomes one label per dimension, the last one highest.
 * Returns the end of the list; NULL if a label comes twice or its sizes differ. */
static const int64_t *read_labels(contraction *c, int tensor, const int64_t *at,
                                  const itg_shape *shape)
{
    int32_t letters = 0;
    for (const int64_t *l = at; *l >= 0; l++)
        letters += *l != ITG_EINSUM_REST;
    for (; *at >= 0; at++) {
        const bool rest = *at == ITG_EINSUM_REST;
        for (int32_t k = rest ? shape->rank - letters : 1; k > 0; k--) {
            const int32_t label = rest ? LABELS - k : (int32_t)*at, d = c->count[tensor];
            if (has(c, tensor, label)) return NULL;
            if (c->size[label] < 0) c->size[label] = shape->dims[d];
            if (c->size[label] != shape->dims[d]) return NULL;
            c->label[tensor][c->count[tensor]++] = label;
        }
    }
    return at + 1;
}

static bool find_contraction(const itg_graph *g, const itg_node *n, contraction *c)
{
    memset(c->count, 0, sizeof c->count);
    for (int l = 0; l < LABELS; l++)
        c->size[l] = -1;
    const int64_t *at = g->values[n->inputs[2]].data;
    for (int t = 0; t < 3 && at; t++)
        at = read_labels(c, t, at, &g->values[t < 2 ? n->inputs[t] : n->outputs[0]].shape);
    for (int t = 0; t < 2 && at; t++)
        for (int32_t d = 0; d < c->count[t]; d++)
            if (!has(c, 1 - t, c->label[t][d]) && !has(c, 2, c->label[t][d])) return false;
    return at != NULL;
}

bool itg_einsum_is_contraction(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    contraction c;
    if (n->op != ITG_OP_EINSUM || n->input_count != 3) return false;
    if (g->values[n->inputs[0]].dtype != ITG_F32) return false;
    return find_contraction(g, n, &c);
}

/* ---- the operands ---- */

enum { BATCH = 1, FREE_A = 2, FREE_B = 4, SUMMED = 8 };

static int class_of(const contraction *c, int32_t label)
{
    if (!has(c, 2, label)) return SUMMED;
    return !has(c, 0, label) ? FREE_B : !has(c, 1, label) ? FREE_A : BATCH;
}

/* Adds the labels of a class. The order of summed labels is that of A; the order of others is that
 * of the output. */
static void take(const contraction *c, int class, contraction *out)
{
    const int tensor = class == SUMMED ? 0 : 2;
    for (int32_t d = 0; d < c->count[tensor]; d++)
        if (class_of(c, c->label[tensor][d]) == class)
            out->label[0][out->count[0]++] = c->label[tensor][d];
}

static int64_t size_of(const contraction *c, int class)
{
    int64_t size = 1;
    for (int32_t l = 0; l < LABELS; l++)
        if (c->size[l] >= 0 && class_of(c, l) == class) size *= c->size[l];
    return size;
}

/* Transposes x, whose dimensions have the labels `from`, to the labels `to`. */
static itg_id put_order(itg_expansion *e, const char *suffix, itg_id x, const int32_t *from,
                        const int32_t *to, int32_t rank)
{
    int64_t perm[ITG_MAX_RANK] = {0};
    bool moves = false;
    for (int32_t d = 0; d < rank; d++) {
        while (from[perm[d]] != to[d])
            perm[d]++;
        moves = moves || perm[d] != d;
    }
    return moves ? itg_put_transpose(e, suffix, x, perm) : x;
}

/* Returns an operand as [batch, rows, columns], or as [rows, columns] if there is no batch. */
static itg_id put_matrix(itg_expansion *e, const contraction *c, int tensor, int rows, int columns)
{
    static const char *const suffixes[2][2] = {{"a/order", "a"}, {"b/order", "b"}};
    const int64_t batch = size_of(c, BATCH);
    contraction ordered = {.count = {0}};
    take(c, BATCH, &ordered);
    take(c, rows, &ordered);
    take(c, columns, &ordered);
    itg_id x = put_order(e, suffixes[tensor][0], itg_expanded_input(e, tensor), c->label[tensor],
                         ordered.label[0], ordered.count[0]);
    itg_shape shape = {.rank = 3, .dims = {batch, size_of(c, rows), size_of(c, columns)}};
    if (batch == 1) shape = (itg_shape){.rank = 2, .dims = {shape.dims[1], shape.dims[2]}};
    return itg_put_reshape(e, suffixes[tensor][1], x, shape);
}

void itg_expand_einsum(itg_expansion *e)
{
    contraction c, made = {.count = {0}};
    itg_shape shape = {.rank = 0};
    if (!find_contraction(e->g, &e->node, &c)) return;
    itg_id a = put_matrix(e, &c, 0, FREE_A, SUMMED), b = put_matrix(e, &c, 1, SUMMED, FREE_B);
    itg_id product = itg_put_simple(e, "product", ITG_OP_MATMUL, a, b);
    take(&c, BATCH, &made);
    take(&c, FREE_A, &made);
    take(&c, FREE_B, &made);
    for (int32_t d = 0; d < made.count[0]; d++)
        shape.dims[shape.rank++] = c.size[made.label[0][d]];
    itg_id y = itg_put_reshape(e, "dims", product, shape);
    itg_expanded_output(e, 0, put_order(e, "order", y, made.label[0], c.label[2], made.count[0]));
}
