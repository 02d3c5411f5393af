/* Graphs made by hand, and their evaluation in float32. Every call asserts that it succeeds. */
#ifndef ITG_TEST_GRAPH_MAKE_H
#define ITG_TEST_GRAPH_MAKE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "graph/graph.h"

itg_shape shape_of(const char *text); /* "1,3,8,8"; "": rank 0 */
itg_graph *make_graph(void);          /* named "net.onnx" */
itg_id add_input(itg_graph *g, const char *name, const char *shape);
/* Constants. data NULL: numbers in (-1,1) that depend on the name alone. */
itg_id add_floats(itg_graph *g, const char *name, const char *shape, const float *data);
itg_id add_ints(itg_graph *g, const char *name, int32_t count, const int64_t *data);
#define ADD_INTS(g, name, ...)                                                                     \
    add_ints(g, name, (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),               \
             (int64_t[]){__VA_ARGS__})
/* A node with one output; both are named `name`. attrs NULL: defaults. Returns the output. */
itg_id add_op(itg_graph *g, itg_op op, const char *name, const itg_attrs *attrs, int32_t count,
              const itg_id *inputs);
#define ADD_OP(g, op, name, attrs, ...)                                                            \
    add_op(g, op, name, attrs, (int32_t)(sizeof((itg_id[]){__VA_ARGS__}) / sizeof(itg_id)),        \
           (itg_id[]){__VA_ARGS__})
void set_output(itg_graph *g, itg_id value);
void set_opset(itg_graph *g, int32_t opset); /* of every node */

/* The only node of this operator; fails the test where there are none or several. */
itg_id only(const itg_graph *g, itg_op op);
int32_t count_of(const itg_graph *g, itg_op op);
const float *floats_at(const itg_graph *g, itg_id node, int32_t slot); /* a constant input */

/* Infers every node in order; status of the first that fails. */
itg_status infer_all(itg_graph *g, itg_error *err);
itg_graph *prepared(const itg_graph *g, bool equalize); /* keep_softmax, keep_batch */
/* Evaluates every output for inputs in (-1,1) that depend on the input's name alone. malloc'd. */
float *evaluate(const itg_graph *g, int64_t *count);
/* Both graphs give the same outputs within `tolerance` of the largest number; 0: the same bits. */
void assert_same_function(const itg_graph *a, const itg_graph *b, double tolerance);
/* Against the file's own arithmetic: shapes inferred and nothing else done. */
void assert_keeps_function(const itg_graph *g, const itg_graph *prepared_graph, double tolerance);
#endif
