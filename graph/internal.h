/* Private to graph/: names, messages and queries on nodes. */
#ifndef ITG_GRAPH_INTERNAL_H
#define ITG_GRAPH_INTERNAL_H
#include "graph.h"

/* Rebuilds the tables of names after values or nodes were renamed or renumbered. */
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
/* Checks the number of inputs and outputs against ops.def (shape.c). */
itg_status itg_check_arity(const itg_graph *g, itg_id node, itg_error *err);

/* Counts reads of a value by a node, or takes them back. */
void itg_graph_count_read(itg_graph *g, itg_id node, itg_id value, int32_t times);

/* Rank of input 0; 0 if it is unknown. */
int32_t itg_input_rank(const itg_graph *g, itg_id node);

/* Whether a node is a Softmax or LogSoftmax with the meaning before opset 13. */
bool itg_is_old_softmax(const itg_graph *g, itg_id node);

#endif
