/* Edits of a graph for the passes. Each keeps shapes known and names unique. Dead nodes stay until
 * itg_graph_sort. Pointers into g->nodes and g->values are valid until the next call that adds a
 * node or value. */
#ifndef ITG_GRAPH_EDIT_H
#define ITG_GRAPH_EDIT_H
#include "internal.h"

/* The nodes of a sorted graph that read a value, first to last. */
typedef struct itg_readers {
    itg_id value, node; /* node: the one that itg_next_reader found */
    int32_t left;       /* reads after `node` */
} itg_readers;
itg_readers itg_readers_of(const itg_graph *g, itg_id value);
bool itg_next_reader(const itg_graph *g, itg_readers *readers); /* false: there is none left */
/* Removes all inputs and outputs of a node. */
void itg_kill_node(itg_graph *g, itg_id node);
/* Makes the users of output 0 read input 0 and kills the node. If output 0 is a graph output, its
 * name moves to the value that replaces it. False: that value must keep its own name (graph input,
 * constant, another graph output), and nothing is changed. */
bool itg_bypass_node(itg_graph *g, itg_id node);
/* Gives a node another operator, with default attributes, and returns it. */
itg_node *itg_become(itg_graph *g, itg_id node, itg_op op);
/* Makes `value` the only input of a node, which has at least one. */
void itg_set_only_input(itg_graph *g, itg_id node, itg_id value);
/* Makes `value` the output 0 of `node`. The old output 0 must have no use. */
void itg_take_output(itg_graph *g, itg_id node, itg_id value);
/* A new constant "base/suffix", float32, to be filled by the caller. */
itg_status itg_new_floats(itg_graph *g, const char *base, const char *suffix,
                          const itg_shape *shape, itg_id *out, float **data, itg_error *err);
/* The same with int64 numbers, of shape [count]. */
itg_status itg_new_indices(itg_graph *g, const char *base, const char *suffix, int64_t count,
                           itg_id *out, int64_t **data, itg_error *err);
/* New storage for the constant at an input slot, to be filled by the caller; the old data stays
 * readable. If the constant has other uses, the node gets its own constant "name/node". */
itg_status itg_own_floats(itg_graph *g, itg_id node, int32_t slot, const itg_shape *shape,
                          float **data, itg_error *err);
/* The same with the shape and the numbers that it has, which are changed where they lie if nothing
 * else holds them. */
itg_status itg_change_floats(itg_graph *g, itg_id node, int32_t slot, float **data, itg_error *err);
/* A new node "base/suffix" of one or two inputs with a new output of the same name and dtype
 * f32. */
typedef struct itg_new_op {
    const char *base, *suffix;
    itg_op op;
    itg_id inputs[2];       /* the second: ITG_NONE where there is one */
    const itg_attrs *attrs; /* NULL: defaults */
    itg_shape shape;
} itg_new_op;
itg_status itg_insert(itg_graph *g, const itg_new_op *op, itg_id *out_node, itg_id *out_value,
                      itg_error *err);
/* A Reshape "base/suffix" of *value, which becomes its output. */
itg_status itg_insert_reshape(itg_graph *g, const char *base, const char *suffix,
                              const itg_shape *shape, itg_id *value, itg_error *err);
int32_t itg_slot_of(const itg_graph *g, itg_id node,
                    itg_id value); /* first slot that reads it; -1 */
bool itg_is_float_constant(const itg_graph *g, itg_id value);
/* Whether a value is float32 and varies; ITG_NONE: false. */
bool itg_is_float_activation(const itg_graph *g, itg_id value);
const float *itg_floats(const itg_graph *g, itg_id value);    /* of a float constant */
int64_t itg_value_elements(const itg_graph *g, itg_id value); /* of a known shape */
/* shape with leading ones up to rank (rank >= shape's). */
itg_shape itg_align_shape(const itg_shape *shape, int32_t rank);

#endif
