/* Small edits that the passes are made of. Each keeps shapes known and names unique; dead nodes
 * wait for itg_graph_sort. Pointers into g->nodes and g->values end with the next call that adds
 * something. */
#ifndef ITG_GRAPH_EDIT_H
#define ITG_GRAPH_EDIT_H
#include "internal.h"

/* The node that alone uses a value, once; ITG_NONE: several uses, none, or a graph output. */
itg_id itg_only_consumer(const itg_graph *g, itg_id value);
bool itg_is_graph_output(const itg_graph *g, itg_id value);
/* Cuts a node off: it uses and produces nothing any more. */
void itg_kill_node(itg_graph *g, itg_id node);
/* Lets the users of output 0 read input 0 instead and kills the node. A graph output keeps its
 * name, which moves to the value that takes its place; where that has a name to keep itself (graph
 * input, constant, another graph output) nothing happens: false. */
bool itg_bypass_node(itg_graph *g, itg_id node);
/* Gives a node another operator, with default attributes, and returns it. */
itg_node *itg_become(itg_graph *g, itg_id node, itg_op op);
/* Makes `value` the output 0 of `node` in place of its own, which must have no other use left. */
void itg_take_output(itg_graph *g, itg_id node, itg_id value);
/* A new constant "base/suffix", float32, to be filled by the caller. */
itg_status itg_new_floats(itg_graph *g, const char *base, const char *suffix,
                          const itg_shape *shape, itg_id *out, float **data, itg_error *err);
/* New storage for the constant at an input slot, to be filled by the caller; the old data stays
 * readable. The value keeps its name where this is its only use, else the node gets a constant
 * "name/node" of its own. */
itg_status itg_own_floats(itg_graph *g, itg_id node, int32_t slot, const itg_shape *shape,
                          float **data, itg_error *err);
/* A new node "base/suffix" of one or two inputs with a new output of the same name and dtype f32.
 */
typedef struct itg_new_op {
    const char *base, *suffix;
    itg_op op;
    itg_id inputs[2];       /* the second: ITG_NONE where there is one */
    const itg_attrs *attrs; /* NULL: defaults */
    itg_shape shape;
} itg_new_op;
itg_status itg_insert(itg_graph *g, const itg_new_op *op, itg_id *out_node, itg_id *out_value,
                      itg_error *err);
int32_t itg_slot_of(const itg_graph *g, itg_id node,
                    itg_id value); /* first slot that reads it; -1 */
bool itg_is_float_constant(const itg_graph *g, itg_id value);
const float *itg_floats(const itg_graph *g, itg_id value);    /* of a float constant */
int64_t itg_value_elements(const itg_graph *g, itg_id value); /* of a known shape */
/* shape with leading ones up to rank (rank >= shape's). */
itg_shape itg_align_shape(const itg_shape *shape, int32_t rank);

#endif
