/* Attention: Y = softmax(Q K' * scale + mask) V for each head. Heads that share keys and values
 * become rows of one product. A masked score has ITG_MASKED added to it; pass_mask.c tells why that
 * number. */
#include <math.h>
#include "expand.h"

typedef struct heads {
    itg_expansion *e;
    int64_t heads, shared, rows, keys; /* heads: of keys; shared: query heads for each of them */
} heads;

/* Returns x as [batch, heads, rows, elements], or, transposed, [batch, heads, elements, rows]. */
static itg_id split_heads(heads *h, const char *name, itg_id x, int64_t count, bool turned)
{
    static const int64_t perms[2][2][4] = {{{0, 1, 2, 3}, {0, 1, 3, 2}},
                                           {{0, 2, 1, 3}, {0, 2, 3, 1}}};
    itg_shape shape = itg_shape_at(h->e, x);
    bool flat = shape.rank == 3;
    if (flat) {
        shape = (itg_shape){.rank = 4,
                            .dims = {shape.dims[0], shape.dims[1], count, shape.dims[2] / count}};
        x = itg_put_reshape(h->e, name, x, shape);
    }
    return flat || turned ? itg_put_transpose(h->e, name, x, perms[flat][turned]) : x;
}

/* ---- masks ---- */

static float limited(float mask)
{
    return mask < ITG_MASKED ? ITG_MASKED : mask;
}

/* Returns the constant mask, broadcast to [batch, heads, rows, keys], at an index. */
static float mask_at(const itg_graph *g, itg_id mask, const int64_t index[4])
{
    const itg_value *v = &g->values[mask];
    itg_shape shape = itg_align_shape(&v->shape, 4);
    int64_t at = 0;
    for (int i = 0; i < 4; ++i)
        at = at * shape.dims[i] + (shape.dims[i] == 1 ? 0 : index[i]);
    if (v->dtype == ITG_BOOL) return ((const unsigned char *)v->data)[at] ? 0.0f : ITG_MASKED;
    return limited(((const float *)v->data)[at]);
}

/* Makes a constant of the mask and the causal mask, [batch, heads, rows, keys]; batch and heads are
 * 1 if it does not vary along them. */
static itg_id put_mask(heads *h, itg_id mask)
{
    itg_shape shape = {.rank = 4, .dims = {1, 1, h->rows, h->keys}};
    itg_id out;
    if (mask != ITG_NONE) {
        itg_shape own = itg_align_shape(&h->e->g->values[mask].shape, 4);
        shape.dims[0] = own.dims[0];
        shape.dims[1] = own.dims[1];
    }
    float *to = itg_put_floats(h->e, "mask", shape, &out);
    int64_t per_image = shape.dims[1] * h->rows * h->keys, masked = 0;
    for (int64_t i = 0; to && i < shape.dims[0] * per_image; ++i) {
        int64_t index[4] = {i / per_image, i / (h->rows * h->keys) % shape.dims[1],
                            i / h->keys % h->rows, i % h->keys};
        bool hidden = h->e->node.attrs.causal && index[3] > index[2];
        to[i] = hidden ? ITG_MASKED : mask == ITG_NONE ? 0.0f : mask_at(h->e->g, mask, index);
        masked = to[i] > ITG_MASKED ? 0 : index[3] == 0 ? 1 : masked + 1;
        if (masked == h->keys) /* ONNX: the results are 0 */
            itg_expansion_fail(h->e, ITG_UNSUPPORTED, "its attn_mask hides all keys of row %lld",
                               (long long)index[2]);
    }
    return out;
}

static itg_id add_mask(heads *h, itg_id scores)
{
    itg_id mask = itg_expanded_input(h->e, 3);
    itg_graph *g = h->e->g;
    bool constant = mask == ITG_NONE || itg_graph_is_constant(g, mask);
    if (mask == ITG_NONE && !h->e->node.attrs.causal) return scores;
    if (mask != ITG_NONE && g->values[mask].dtype != ITG_F32 &&
        (g->values[mask].dtype != ITG_BOOL || !constant))
        itg_expansion_fail(h->e, ITG_UNSUPPORTED,
                           "its attn_mask '%s' is neither float32 nor a constant of booleans",
                           g->values[mask].name);
    if (h->e->status != ITG_OK) return ITG_NONE;
    if (!constant) scores = itg_put_simple(h->e, "masked", ITG_OP_ADD, scores, mask);
    if (!constant && !h->e->node.attrs.causal) return scores;
    return itg_put_simple(h->e, "masked", ITG_OP_ADD, scores,
                          put_mask(h, constant ? mask : ITG_NONE));
}

/* ---- scores ---- */

static itg_id scale_queries(heads *h, itg_id q, int64_t elements)
{
    float stated = h->e->node.attrs.scale;
    double scale = stated != 0.0f ? (double)stated : 1.0 / sqrt((double)elements);
    return itg_put_simple(h->e, "scaled", ITG_OP_MUL, q, itg_put_number(h->e, "scale", scale));
}

static itg_id cap(heads *h, itg_id scores)
{
    double most = (double)h->e->node.attrs.softcap;
    if (most <= 0.0) return scores;
    scores = itg_put_simple(h->e, "cap/in", ITG_OP_MUL, scores,
                            itg_put_number(h->e, "cap/inverse", 1.0 / most));
    scores = itg_put_simple(h->e, "cap/tanh", ITG_OP_TANH, scores, ITG_NONE);
    return itg_put_simple(h->e, "cap", ITG_OP_MUL, scores, itg_put_number(h->e, "softcap", most));
}

/* Reshapes query heads [batch, heads shared, rows, n] to [batch, heads, shared rows, n], or
 * back. */
static itg_id regroup(heads *h, const char *name, itg_id x, bool apart)
{
    itg_shape shape = itg_shape_at(h->e, x);
    if (h->shared == 1) return x;
    shape.dims[1] = apart ? h->heads * h->shared : h->heads;
    shape.dims[2] = apart ? h->rows : h->rows * h->shared;
    return itg_put_reshape(h->e, name, x, shape);
}

static itg_id attend(heads *h, itg_id q, itg_id k, itg_id v)
{
    itg_attrs attrs = itg_attrs_default(ITG_OP_SOFTMAX);
    attrs.axis = 3;
    itg_id s = itg_put_simple(h->e, "scores", ITG_OP_MATMUL, regroup(h, "queries", q, false), k);
    s = add_mask(h, cap(h, regroup(h, "apart", s, true)));
    s = itg_put(h->e, &(itg_put_op){.suffix = "softmax", .op = ITG_OP_SOFTMAX, .attrs = &attrs}, 1,
                &s);
    s = itg_put_simple(h->e, "values", ITG_OP_MATMUL, regroup(h, "rows", s, false), v);
    return regroup(h, "heads", s, true);
}

void itg_expand_attention(itg_expansion *e)
{
    static const int64_t perm[] = {0, 2, 1, 3};
    const itg_attrs *a = &e->node.attrs;
    itg_id q = itg_expanded_input(e, 0), k = itg_expanded_input(e, 1);
    itg_shape x = itg_shape_at(e, q), other = itg_shape_at(e, k);
    bool flat = x.rank == 3;
    int64_t count = flat ? a->heads[0] : x.dims[1];
    heads h = {.e = e, .rows = x.dims[flat ? 1 : 2]};
    h.heads = flat ? a->heads[1] : other.dims[1];
    h.shared = count / h.heads;
    h.keys = other.dims[flat ? 1 : 2];
    q = scale_queries(&h, q, flat ? x.dims[2] / count : x.dims[3]);
    q = split_heads(&h, "q", q, count, false);
    k = split_heads(&h, "k", k, h.heads, true);
    itg_id v = split_heads(&h, "v", itg_expanded_input(e, 2), h.heads, false);
    itg_id y = attend(&h, q, k, v);
    if (flat) {
        y = itg_put_transpose(e, "order", y, perm);
        y = itg_put_reshape(e, "flat", y, itg_shape_at(e, e->node.outputs[0]));
    }
    itg_expanded_output(e, 0, y);
}
