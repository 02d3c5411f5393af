/* What the files of graph/ share and no other folder sees: names, messages, small questions about
 * nodes. */
#ifndef ITG_GRAPH_INTERNAL_H
#define ITG_GRAPH_INTERNAL_H
#include "graph.h"

/* Enters the names of all values and nodes again, after some were renamed or renumbered. */
void itg_graph_rename(itg_graph *g);
/* "base/suffix", or "base/suffix_2"...: a name that no value (node) has. Arena string; NULL: no
 * memory. */
const char *itg_fresh_value_name(itg_graph *g, const char *base, const char *suffix);
const char *itg_fresh_node_name(itg_graph *g, const char *base, const char *suffix);

/* "model.onnx: node 'conv1' (Conv): message". Returns code. */
itg_status itg_node_fail(const itg_graph *g, itg_id node, itg_error *err, itg_status code,
                         const char *format, ...) ITG_PRINTF(5, 6);
/* itg_graph_clone into an arena of at most max_bytes (0: no limit). */
itg_status itg_graph_clone_within(const itg_graph *graph, size_t max_bytes, itg_graph **out,
                                  itg_error *err);
itg_status itg_graph_no_memory(const itg_graph *g, itg_error *err);
/* shape.c: number of inputs and outputs as ops.def says. */
itg_status itg_check_arity(const itg_graph *g, itg_id node, itg_error *err);

/* Rank of input 0; 0 where it is not known. */
int32_t itg_input_rank(const itg_graph *g, itg_id node);

/* A Softmax or LogSoftmax that still has the meaning it had before opset 13. */
bool itg_is_old_softmax(const itg_graph *g, itg_id node);

#endif
