/* Composite operators (ITG_IS_COMPOSITE): preparation replaces each by nodes of other operators,
 * right after the first infer-and-fold. No layer behind preparation sees one. A family is a file,
 * expand_*.c; its shapes are in shape_composite.c and shape_resize.c. docs/preparation.md has every
 * formula, and the names and the order of the nodes. */
#ifndef ITG_GRAPH_EXPAND_H
#define ITG_GRAPH_EXPAND_H
#include "passes.h"
#include "shape.h"

/* An expansion under way. The first failure stays in `status`; every later call does nothing and
 * gives ITG_NONE (or NULL). */
typedef struct itg_expansion {
    itg_graph *g;
    itg_id id;     /* the composite node */
    itg_node node; /* a copy of it: adding nodes moves the graph's */
    itg_id made;   /* nodes of the expansion have this id or a higher one */
    itg_error *err;
    itg_status status;
} itg_expansion;

typedef void itg_expand_fn(itg_expansion *e);
itg_expand_fn itg_expand_resize, itg_expand_conv_transpose, itg_expand_depth_to_space,
    itg_expand_conv_3d, itg_expand_pool_3d, itg_expand_space_to_depth,
    itg_expand_group_normalization, itg_expand_rms_normalization, itg_expand_lrn,
    itg_expand_recurrent, itg_expand_attention, itg_expand_einsum, itg_expand_batched_product;
/* Whether an Einsum is a product of matrices; others stay. */
bool itg_einsum_is_contraction(const itg_graph *g, itg_id node);
/* Whether a MatMul with constant weights of rank 3 or more can be split into products. */
bool itg_is_batched_product(const itg_graph *g, itg_id node);

/* How a choice between values (expand_choice.c) is written out; NULL: it stays as it is. */
itg_expand_fn *itg_find_choice(const itg_graph *g, itg_id node);

/* Replaces one node by what fn makes; fn NULL: does nothing. */
itg_status itg_expand_node(itg_graph *g, itg_id node, itg_expand_fn *fn, itg_error *err);

/* ---- nodes ---- */

/* A node "<composite node's name>/suffix" with an output of the same name. attrs NULL: defaults.
 * shape NULL: it is inferred; otherwise it is the target of Reshape, Slice... */
typedef struct itg_put_op {
    const char *suffix;
    itg_op op;
    const itg_attrs *attrs;
    const itg_shape *shape;
} itg_put_op;
itg_id itg_put(itg_expansion *e, const itg_put_op *op, int32_t count, const itg_id *inputs);
/* An operator of one or two inputs (b may be ITG_NONE) with default attributes. */
itg_id itg_put_simple(itg_expansion *e, const char *suffix, itg_op op, itg_id a, itg_id b);
itg_id itg_put_reshape(itg_expansion *e, const char *suffix, itg_id x, itg_shape shape);
itg_id itg_put_transpose(itg_expansion *e, const char *suffix, itg_id x, const int64_t *perm);
/* With one input: the input itself. */
itg_id itg_put_concat(itg_expansion *e, const char *suffix, int64_t axis, int32_t count,
                      const itg_id *inputs);
/* Equal parts of x along the axis, "name/suffix/0"...; x itself where count is 1. */
void itg_put_split(itg_expansion *e, const char *suffix, itg_id x, int64_t axis, int32_t count,
                   itg_id *out);
/* Elements [begin, begin + shape's extent) along every axis; x itself where these are all. */
itg_id itg_put_slice(itg_expansion *e, const char *suffix, itg_id x, const int64_t *begin,
                     itg_shape shape);

/* ---- constants "name/suffix" ---- */

/* To be filled by the caller; NULL: failed. */
float *itg_put_floats(itg_expansion *e, const char *suffix, itg_shape shape, itg_id *out);
itg_id itg_put_number(itg_expansion *e, const char *suffix, double value); /* a scalar */
itg_id itg_put_ones(itg_expansion *e, int64_t count); /* "ones", [count] (expand_norm.c) */
itg_id itg_put_indices(itg_expansion *e, const char *suffix, const int64_t *values, int64_t count);

/* ---- the composite node ---- */

/* An input; ITG_NONE: it is left out. */
itg_id itg_expanded_input(const itg_expansion *e, int32_t slot);
bool itg_wants_output(const itg_expansion *e, int32_t slot);
itg_shape itg_shape_at(const itg_expansion *e, itg_id value);
/* The float32 constant at an input slot; fails if it is none. */
const float *itg_need_floats(itg_expansion *e, int32_t slot, const char *what);
void itg_expansion_fail(itg_expansion *e, itg_status code, const char *format, ...)
    ITG_PRINTF(3, 4);
/* Makes `value` an output of the composite node: it takes the output's name. The node that makes it
 * takes the composite node's name unless an earlier output's node has it. If the expansion made no
 * node, an Identity stays. */
void itg_expanded_output(itg_expansion *e, int32_t slot, itg_id value);

/* ---- Resize, in shape_resize.c ---- */

typedef struct itg_resize_axis {
    int64_t in, out;
    double scale;      /* out / in as the model states it */
    double begin, end; /* of the region that is read, as shares of the axis */
} itg_resize_axis;
/* Fills [rank]; axes that the node does not list keep their size. */
itg_status itg_resize_axes(const itg_graph *g, itg_id node, itg_resize_axis *out, itg_error *err);

#endif
