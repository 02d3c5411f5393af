/* Ranges that a file itself quantizes its values to (QuantizeLinear, DequantizeLinear). */
#ifndef ITG_GRAPH_STATED_H
#define ITG_GRAPH_STATED_H
#include "graph/graph.h"

/* A DequantizeLinear of constants whose result becomes a constant: the result gets the range that
 * its codes have. Call it before the node is evaluated. */
itg_status itg_state_weights(itg_graph *g, itg_id node, itg_error *err);

#endif
