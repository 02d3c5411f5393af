/* Collects all reasons why a file cannot be imported, counted by kind. */
#ifndef ITG_ONNX_REFUSALS_H
#define ITG_ONNX_REFUSALS_H
#include "graph/onnx/onnx_write.h"
#include <intaglio/intaglio.h>

#define ITG_MOST_REFUSALS 64 /* kinds that are kept; further ones are only counted */

struct itg_refusals {
    bool survey; /* also refuse inputs that preparation would refuse */
    int32_t count;
    int64_t others; /* refusals of further kinds */
    itg_refusal at[ITG_MOST_REFUSALS];
    itg_error first; /* its message as if it were the only one */
};

/* Adds a refusal. where: the node or value. help: how to avoid it, a string constant. told: the
 * complete error. */
void itg_refusals_add(itg_refusals *all, const char *what, const char *why, const char *help,
                      const char *where, const itg_error *told);
void itg_refusals_add_node(itg_refusals *all, const itg_onnx_node *node, int32_t index,
                           const itg_error *told);
/* Returns ITG_UNSUPPORTED. The message is that of the first refusal, with how many are of its kind,
 * followed by the other kinds. */
itg_status itg_refusals_fail(const itg_refusals *all, itg_error *err);
#endif
