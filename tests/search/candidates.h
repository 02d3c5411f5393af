/* Two ways to the same candidate: everything made anew, and with constants that are kept. */
#ifndef ITG_TEST_CANDIDATES_H
#define ITG_TEST_CANDIDATES_H
#include "search/evaluator.h"

/* The constants of a graph in a cache of their own. */
typedef struct kept_constants {
    itg_constants constants;
    itg_key *content;
} kept_constants;
kept_constants keep_constants(const itg_graph *g, size_t bytes);
void drop_constants(kept_constants *kept);

/* Annotates and realizes a strategy with the constants and without, and fails where annotated
 * graph, status, program, its bounds or any key of its plan differ. True: it could be realized. */
bool candidates_agree(const itg_graph *g, const itg_hardware *hw, const itg_strategy *strategy,
                      const itg_constants *constants);
#endif
