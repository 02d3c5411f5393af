/* Composite operators against formulas: one node over the input x and constants. */
#ifndef ITG_TEST_GRAPH_EXPANSION_H
#define ITG_TEST_GRAPH_EXPANSION_H
#include "make.h"

/* A number in [lo, hi], from a generator that each test starts with start_picks(). */
void start_picks(void);
int64_t pick(int64_t lo, int64_t hi);
itg_shape dims4(int32_t rank, int64_t a, int64_t b, int64_t c, int64_t d);
/* A graph with the input "x", and a constant of a shape. */
itg_graph *graph_of(const itg_shape *x);
itg_id put_constant(itg_graph *g, const char *name, const itg_shape *shape);
const float *constant_of(const itg_graph *g, const char *name);
/* What evaluate() gives the input "x". malloc'd. */
float *numbers_of_x(const itg_shape *x);
/* Prepares the graph of one composite node, checks that none is left, and compares its outputs with
 * `want` (outputs one after the other). */
void assert_gives(const itg_graph *g, const double *want, int64_t count);
/* Preparation refuses it with this status and text. */
void assert_refuses(const itg_graph *g, itg_status status, const char *text);
#endif
