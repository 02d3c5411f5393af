/* Random networks of everything that a target runs, inside of which tensors may hold several images
 * (a first dimension above 1, by Concat, Reshape, Transpose, Expand... of the one sample). */
#ifndef ITG_TEST_RANDOM_NETWORK_H
#define ITG_TEST_RANDOM_NETWORK_H
#include "graph/graph.h"
#include "hardware/hardware.h"

/* Prepared; one image [1,C,H,W] in, one or two outputs. tables: also functions of one variable. */
itg_graph *random_network(uint64_t seed, const itg_hardware *hw, bool tables);

/* Whether a node reads or writes more than one image. */
bool has_inner_batch(const itg_graph *g, itg_id node);
#endif
