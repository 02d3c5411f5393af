/* Private to the passes that find functions written out as their parts. All constants stand second
 * (pass_arithmetic.c). */
#ifndef ITG_GRAPH_WRITTEN_OUT_H
#define ITG_GRAPH_WRITTEN_OUT_H
#include "passes.h"

/* The node of this operator that makes a value as its output 0; NULL: none does. */
const itg_node *itg_made_by(const itg_graph *g, itg_id value, itg_op op);
/* Whether a value is a float constant of one element. */
bool itg_is_scalar(const itg_graph *g, itg_id value, double *out);
/* Whether the node's second operand is a scalar; NULL: false. */
bool itg_has_scalar(const itg_graph *g, const itg_node *node, double *out);
/* Whether a number equals `wanted` within the rounding of exporters to float32. */
bool itg_is_about(double value, double wanted);
/* Makes the node a function of x alone and returns it. */
itg_node *itg_become_function(itg_graph *g, itg_id node, itg_op op, itg_id x);
#endif
