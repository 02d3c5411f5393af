/* The passes of preparation, in the order of prepare.c. Each edits the graph in place, expects it
 * sorted with every shape known (but for the first two), keeps the shapes known, and sets *changed
 * when it did something. */
#ifndef ITG_GRAPH_PASSES_H
#define ITG_GRAPH_PASSES_H
#include "edit.h"

typedef itg_status (*itg_pass_fn)(itg_graph *g, bool *changed, itg_error *err);

/* Static graph inputs: dimension 0 becomes 1 unless keep_batch. *old_batch: the fixed batch of the
 * file, else 1. */
itg_status itg_pass_batch(itg_graph *g, bool keep_batch, int64_t *old_batch, itg_error *err);
/* Shape inference and constant folding together, in topological order. old_batch > 1: constant
 * targets that repeat it are rewritten to 1. */
itg_status itg_pass_fold(itg_graph *g, itg_eval_fn eval, int64_t old_batch, itg_error *err);
/* Leaves off Softmax and LogSoftmax in front of graph outputs. */
itg_status itg_pass_drop_softmax(itg_graph *g, bool *changed, itg_error *err);
/* Softmax as before opset 13 over several dimensions: Reshape, Softmax, Reshape. */
itg_status itg_pass_old_softmax(itg_graph *g, bool *changed, itg_error *err);
/* Nodes that hand their input on unchanged: Identity, Dropout, Cast to the same dtype... */
itg_status itg_pass_identity(itg_graph *g, bool *changed, itg_error *err);
/* Division by powers of two becomes Mul, subtraction of constants Add: both exact. */
itg_status itg_pass_arithmetic(itg_graph *g, bool *changed, itg_error *err);
/* Transposes move down through elementwise nodes and cancel. */
itg_status itg_pass_transpose(itg_graph *g, bool *changed, itg_error *err);
/* Flatten, Squeeze, Unsqueeze become Reshape; chains become one; those without effect go. */
itg_status itg_pass_reshape(itg_graph *g, bool *changed, itg_error *err);
/* BatchNormalization, Mul, Add, Sub, Div by constants of one number a channel, and Gemm's alpha and
 * beta, into weights and bias of the Conv, Gemm or MatMul before them. */
itg_status itg_pass_affine(itg_graph *g, bool *changed, itg_error *err);
/* MatMul of rank 2 with constant weights becomes Gemm; Gemm's weights are [N,K]. */
itg_status itg_pass_gemm(itg_graph *g, bool *changed, itg_error *err);
/* Zero padding of space goes into the Conv behind it. */
itg_status itg_pass_pad(itg_graph *g, bool *changed, itg_error *err);
/* Every BatchNormalization that is left becomes Mul and Add. */
itg_status itg_pass_batch_norm(itg_graph *g, bool *changed, itg_error *err);
/* Output channels that are constant go into the biases of what reads them. */
itg_status itg_pass_constant_channels(itg_graph *g, itg_eval_fn eval, bool *changed,
                                      itg_error *err);
/* Channels whose weights are 0 in all that reads them go, from every node between. */
itg_status itg_pass_unread_channels(itg_graph *g, bool *changed, itg_error *err);
/* Cross-layer equalization by powers of two: once. */
itg_status itg_pass_equalize(itg_graph *g, bool *changed, itg_error *err);

#endif
