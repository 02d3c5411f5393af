/* Ranges that a file itself quantizes its values to (QuantizeLinear, DequantizeLinear). */
#ifndef ITG_GRAPH_STATED_H
#define ITG_GRAPH_STATED_H
#include "graph/graph.h"

/* Gives the result of a DequantizeLinear of constants the range of its codes. Call it before the
 * node is evaluated. */
itg_status itg_state_weights(itg_graph *g, itg_id node, itg_error *err);

#endif
