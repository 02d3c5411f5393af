/* Replaces a MatMul with a batch of constant weights by one MatMul for each matrix. Their weights
 * have rank 2, the only rank with an integer form. */
#include "expand.h"
#include <string.h>

enum { MOST_MATRICES = 64 };

static int64_t matrices_of(const itg_shape *s)
{
    return itg_dims_product(s, 0, s->rank - 2);
}

/* Whether all matrices of the weights multiply the same matrix of x, or each one of its own. */
bool itg_is_batched_product(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    if (n->op != ITG_OP_MATMUL || n->attrs.trans_b || !itg_is_float_constant(g, n->inputs[1]))
        return false;
    const itg_shape *x = &g->values[n->inputs[0]].shape, *w = &g->values[n->inputs[1]].shape;
    if (g->values[n->inputs[0]].data || x->rank < 2 || w->rank < 3) return false;
    const int64_t count = matrices_of(w);
    if (count == 1) return true;
    if (count < 1 || count > MOST_MATRICES) return false;
    return matrices_of(x) == 1 ||
           (x->rank == w->rank &&
            memcmp(x->dims, w->dims, (size_t)(x->rank - 2) * sizeof *x->dims) == 0);
}

/* Makes a constant of rank 2: matrix number `at` of the weights. */
static itg_id put_weights(itg_expansion *e, const float *from, int64_t at, const itg_shape *w)
{
    const itg_shape shape = {.rank = 2, .dims = {w->dims[w->rank - 2], w->dims[w->rank - 1]}};
    const size_t elements = (size_t)(shape.dims[0] * shape.dims[1]);
    itg_id out = ITG_NONE;
    float *to = itg_put_floats(e, "weights", shape, &out);
    if (to) memcpy(to, from + (size_t)at * elements, elements * sizeof *to);
    return out;
}

/* Fills out with the matrix of x that each matrix of the weights multiplies. */
static void put_rows(itg_expansion *e, int32_t count, itg_id *out)
{
    const itg_id in = itg_expanded_input(e, 0);
    const itg_shape x = itg_shape_at(e, in);
    const int64_t all = itg_dims_product(&x, 0, x.rank - 1);
    const itg_id rows =
        itg_put_reshape(e, "rows", in, (itg_shape){.rank = 2, .dims = {all, x.dims[x.rank - 1]}});
    if (matrices_of(&x) > 1 && count > 1) {
        itg_put_split(e, "matrices", rows, 0, count, out);
        return;
    }
    for (int32_t i = 0; i < count; i++)
        out[i] = rows;
}

void itg_expand_batched_product(itg_expansion *e)
{
    const itg_shape w = itg_shape_at(e, itg_expanded_input(e, 1));
    const float *from = itg_need_floats(e, 1, "its weights");
    const int32_t count = (int32_t)matrices_of(&w);
    itg_id rows[MOST_MATRICES], products[MOST_MATRICES];
    put_rows(e, count, rows);
    for (int32_t i = 0; i < count && e->status == ITG_OK; i++)
        products[i] =
            itg_put_simple(e, "product", ITG_OP_MATMUL, rows[i], put_weights(e, from, i, &w));
    if (e->status != ITG_OK) return;
    itg_id y = itg_put_concat(e, "products", 0, count, products);
    itg_expanded_output(e, 0, itg_put_reshape(e, "batch", y, itg_shape_at(e, e->node.outputs[0])));
}
