/* Statistics, and samples, as bytes for other processes (base/pack.h). */
#ifndef ITG_STATS_PACK_H
#define ITG_STATS_PACK_H
#include "base/pack.h"
#include "sim/sim.h"

void itg_stats_pack(const itg_stats *stats, itg_strbuf *out);
/* Of a graph with so many values. What no calibration gives is refused: sums that do not add up, an
 * exponent that is not the range's. *out: NULL after a failure. */
void itg_stats_unpack(itg_unpacker *u, int32_t value_count, itg_stats **out);

/* data NULL: none. */
void itg_dataset_pack(const itg_dataset *data, itg_strbuf *out);
/* name: as errors call it. *out: NULL where there is none, and after a failure. */
void itg_dataset_unpack(itg_unpacker *u, const char *name, itg_dataset **out);
#endif
