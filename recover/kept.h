/* The codes that edges carry, kept for all samples, so that a program which observes a layer begins
 * where the last layers were observed instead of at the network's inputs. The thresholds of
 * activations do not change meanwhile, and the weights in front of a kept edge are final. Private
 * to recover/. */
#ifndef ITG_RECOVER_KEPT_H
#define ITG_RECOVER_KEPT_H
#include "realize/realize.h"

typedef struct itg_kept itg_kept;

/* Room for `most` edges of the graph, and this many bytes of codes. The caller destroys it. */
itg_status itg_kept_create(const itg_graph *g, int32_t most, size_t bytes, itg_kept **out,
                           itg_error *err);
void itg_kept_destroy(itg_kept *kept);
/* The edges that are kept; borrowed, until one is added. */
itg_known itg_kept_edges(const itg_kept *kept);
/* Drops the oldest until there is room for so many bytes, if there can be. */
void itg_kept_make_room(itg_kept *kept, size_t bytes);
void itg_kept_drop_all(itg_kept *kept);
/* Starts to keep an edge, whose value is `value`: *out is [samples][bytes], for the caller to fill.
 * *out NULL: there is no room. */
itg_status itg_kept_add(itg_kept *kept, itg_tap tap, itg_id value, int64_t samples, size_t bytes,
                        unsigned char **out, itg_error *err);
/* Codes of edge i (of the known edges) for a sample, and how many bytes they take. */
const unsigned char *itg_kept_codes(const itg_kept *kept, int32_t i, int64_t sample, size_t *bytes);
#endif
