/* The passes of preparation, in the order of prepare.c. Each edits the graph in place, keeps every
 * shape known, and sets *changed where it edits something. */
#ifndef ITG_GRAPH_PASSES_H
#define ITG_GRAPH_PASSES_H
#include "edit.h"

#define ITG_MAX_PREPARED_NODES 16384 /* each pass asks every node for its consumers: quadratic */

/* ---- passes over the whole graph ---- */

/* Sizes of inputs as the caller states them (itg_model_options.input_shapes). */
itg_status itg_pass_input_shapes(itg_graph *g, const char *text, itg_error *err);
/* Static graph inputs: dimension 0 becomes 1 unless keep_batch. *old_batch: the fixed batch of the
 * file, else 1. */
itg_status itg_pass_batch(itg_graph *g, bool keep_batch, int64_t *old_batch, itg_error *err);
/* Shape inference and constant folding together, in topological order. old_batch > 1: constant
 * targets that repeat it are rewritten to 1. */
itg_status itg_pass_fold(itg_graph *g, itg_eval_fn eval, int64_t old_batch, itg_error *err);
/* Removes Softmax and LogSoftmax in front of graph outputs. */
void itg_drop_softmax(itg_graph *g);
/* Folds constant output channels into the biases of the nodes that read them. */
itg_status itg_pass_constant_channels(itg_graph *g, itg_eval_fn eval, bool *changed,
                                      itg_error *err);
/* Removes the channels whose weights are 0 in every node that reads them. */
itg_status itg_pass_unread_channels(itg_graph *g, bool *changed, itg_error *err);

/* ---- passes that edit one node at a time ---- */

/* Edits around one node of a sorted graph with all shapes known. */
typedef itg_status itg_pass_fn(itg_graph *g, itg_id node, bool *changed, itg_error *err);
/* Sorts the graph and runs the pass on each node in order; not on nodes that it adds. */
itg_status itg_pass_nodes(itg_graph *g, itg_pass_fn *pass, bool *changed, itg_error *err);

/* Replaces composite operators by others (expand.h). */
itg_pass_fn itg_pass_expand;
/* Sums, norms, minima, quotients and tiles of float32 become operators that integers have. */
itg_pass_fn itg_pass_write_out;
/* Softmax over several dimensions, as before opset 13, becomes Reshape, Softmax, Reshape. */
itg_pass_fn itg_pass_old_softmax;
/* A DequantizeLinear of what a QuantizeLinear just made becomes Clip, or Identity. */
itg_pass_fn itg_pass_quantized;
/* Removes nodes that return their input unchanged: Identity, Dropout, Cast to the same dtype... */
itg_pass_fn itg_pass_identity;
/* Division by powers of two becomes Mul, subtraction of constants Add, a square Mul: all exact. */
itg_pass_fn itg_pass_arithmetic;
/* Division by other constants becomes Mul, too. */
itg_pass_fn itg_pass_division;
/* Functions that exporters write out become one node: Gelu, HardSwish, Swish, and
 * LayerNormalization. */
itg_pass_fn itg_pass_written_out;
itg_pass_fn itg_pass_written_norm;
/* ReduceMax becomes Transpose, Reshape, GlobalMaxPool, Reshape, as far as they are needed. */
itg_pass_fn itg_pass_reduce_max;
/* ReduceMean over height and width of images becomes GlobalAveragePool, and Reshape. */
itg_pass_fn itg_pass_reduce_mean;
/* GatherND by constants becomes Reshape, Gather, Reshape. */
itg_pass_fn itg_pass_gather_nd;
/* The number that is added to a masked score in front of a Softmax (pass_mask.c). */
#define ITG_MASKED (-128.0f)
/* Before a Softmax, Where by a constant mask becomes Add; masks are limited to ITG_MASKED. */
itg_pass_fn itg_pass_mask;
/* Pad of another mode than constant becomes Gather along each axis. */
itg_pass_fn itg_pass_pad_gather;
/* Transposes move down through elementwise nodes and cancel. */
itg_pass_fn itg_pass_transpose;
/* Flatten, Squeeze and Unsqueeze become Reshape; a chain becomes one; one without effect goes. */
itg_pass_fn itg_pass_reshape;
/* Folds BatchNormalization, Mul, Add, Sub and Div by constants of one number a channel, and Gemm's
 * alpha and beta, into weights and bias of the Conv, Gemm or MatMul before them. */
itg_pass_fn itg_pass_affine;
/* MatMul of rank 2 with constant weights becomes Gemm; Gemm's weights become [N,K]. */
itg_pass_fn itg_pass_gemm;
/* Folds padding of height and width into the Conv or the MaxPool behind it. */
itg_pass_fn itg_pass_pad;
/* Every remaining BatchNormalization becomes Mul and Add. */
itg_pass_fn itg_pass_batch_norm;
/* Cross-layer equalization by powers of two; run once. */
itg_pass_fn itg_pass_equalize;

#endif
