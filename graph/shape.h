/* Private to shape inference: helpers, and the functions of each family of operators. */
#ifndef ITG_GRAPH_SHAPE_H
#define ITG_GRAPH_SHAPE_H
#include "internal.h"

/* Infers a node whose inputs have known shapes, and resolves its attributes. */
typedef itg_status (*itg_infer_fn)(itg_graph *g, itg_id node, itg_error *err);

/* Shape of an input, known when an itg_infer_fn runs; NULL: the input is left out. */
const itg_shape *itg_input_shape(const itg_graph *g, itg_id node, int32_t slot);
itg_dtype itg_input_dtype(const itg_graph *g, itg_id node, int32_t slot);
bool itg_has_input(const itg_graph *g, itg_id node, int32_t slot);
bool itg_has_output(const itg_graph *g, itg_id node, int32_t slot);
/* Checks rank, dims and number of elements and sets an output's dtype and shape. Does nothing for a
 * left-out output. */
itg_status itg_set_output(itg_graph *g, itg_id node, int32_t slot, itg_dtype dtype,
                          const itg_shape *shape, itg_error *err);
/* A short list of integers: axes, sizes, pads. */
#define ITG_MAX_INTS (2 * ITG_MAX_RANK)
typedef struct itg_ints {
    int32_t count;
    int64_t v[ITG_MAX_INTS];
} itg_ints;
/* Reads a constant integer input of rank 0 or 1. The error names an input that is not constant, has
 * no integers, or more than ITG_MAX_INTS. */
itg_status itg_read_ints(const itg_graph *g, itg_id node, int32_t slot, const char *what,
                         itg_ints *out, itg_error *err);
/* Moves a constant list of axes from an input into attrs.axes. Does nothing if the input is left
 * out. */
itg_status itg_take_axes(itg_graph *g, itg_id node, int32_t slot, itg_error *err);
/* Reads a constant float32 of one element. */
itg_status itg_read_float(const itg_graph *g, itg_id node, int32_t slot, const char *what,
                          float *out, itg_error *err);
/* Adds rank to a negative axis; fails outside [-rank, rank-1]. */
itg_status itg_resolve_axis(const itg_graph *g, itg_id node, int32_t rank, int64_t *axis,
                            itg_error *err);
/* Resolves, sorts, and rejects duplicates. */
itg_status itg_resolve_axes(const itg_graph *g, itg_id node, int32_t rank, int64_t *axes,
                            int32_t count, itg_error *err);
/* Output 0 = shape and dtype of input 0. */
itg_status itg_infer_same(itg_graph *g, itg_id node, itg_error *err);

/* shape_window.c */
itg_status itg_infer_conv(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_conv_transpose(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_conv_3d(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_pool_3d(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_pool(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_global_pool(itg_graph *g, itg_id node, itg_error *err);
/* shape_matrix.c */
itg_status itg_infer_gemm(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_matmul(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_einsum(itg_graph *g, itg_id node, itg_error *err);
/* shape_elementwise.c */
itg_status itg_infer_broadcast(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_prelu(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_clip(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_quantize(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_cast(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_cast_like(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_test(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_not(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_dropout(itg_graph *g, itg_id node, itg_error *err);
/* shape_reduce.c */
itg_status itg_infer_reduce(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_arg_max(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_softmax(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_lp_normalization(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_mean_variance(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_batch_normalization(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_layer_normalization(itg_graph *g, itg_id node, itg_error *err);
/* shape_move.c */
itg_status itg_infer_reshape(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_flatten(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_squeeze(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_unsqueeze(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_transpose(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_expand(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_shape(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_constant_of_shape(itg_graph *g, itg_id node, itg_error *err);
/* shape_slice.c */
itg_status itg_infer_concat(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_split(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_slice(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_gather(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_pad(itg_graph *g, itg_id node, itg_error *err);
/* shape_composite.c, shape_resize.c; Resize's axes keep their order */
itg_status itg_infer_blocks(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_group_normalization(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_rms_normalization(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_lrn(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_recurrent(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_attention(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_resize(itg_graph *g, itg_id node, itg_error *err);
/* Input 1: constant indices lie within an axis of `dim` elements; others are not known. */
itg_status itg_check_indices(const itg_graph *g, itg_id node, int64_t dim, itg_error *err);
/* shape_index.c */
itg_status itg_infer_elements(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_rows(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_size(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_eye_like(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_trilu(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_cumulative(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_reverse_sequence(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_det(itg_graph *g, itg_id node, itg_error *err);
/* shape_values.c */
itg_status itg_infer_range(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_tile(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_top_k(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_one_hot(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_non_zero(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_compress(itg_graph *g, itg_id node, itg_error *err);
itg_status itg_infer_unique(itg_graph *g, itg_id node, itg_error *err);

#endif
