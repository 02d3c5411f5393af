/* A cache of thresholds (itg_threshold_cache of sim.h). Private to sim/, but for the bytes. */
#ifndef ITG_THRESHOLD_CACHE_H
#define ITG_THRESHOLD_CACHE_H
#include <stdatomic.h>
#include "base/pack.h"
#include "sim/threshold.h"

typedef struct itg_threshold_entry {
    double lo, hi;
    bool is_set; /* by itg_threshold_cache_set */
    int32_t channel_count;
    const uint8_t *zero; /* [channel_count], behind `channel`; NULL: no zero points */
    double channel[];
} itg_threshold_entry;

/* Slots [edge][passed over][zero points, if any weights may have them][per channel][bits][method].
 * The first thread that computes an entry fills its slot; others discard their equal entries. */
struct itg_threshold_cache {
    const itg_graph *g;
    const itg_hardware *hw;
    const itg_choice_space *space;
    const itg_stats *stats;
    bool *topology;
    itg_range *useful; /* [value_count] */
    unsigned char graph_hash[32];
    itg_arena *arena;
    int32_t alternatives; /* the most of any group */
    int32_t kinds;        /* of weights: 2, or 4 where some may have zero points */
    size_t slot_count;
    _Atomic(itg_threshold_entry *) *slots;
};

/* What a strategy says of a group. */
typedef struct itg_threshold_choice {
    int32_t bits;
    itg_threshold_method method;
    int32_t passed_over;
    bool is_weight, per_channel, zero_points; /* the last two: as the spec of weights has it */
} itg_threshold_choice;

/* Finds the thresholds of an edge. */
itg_status itg_threshold_lookup(itg_threshold_cache *cache, int32_t e,
                                const itg_threshold_choice *choice, const itg_threshold_entry **out,
                                itg_error *err);

/* What was set, as bytes for another process that has the same graph, hardware and choices. */
void itg_threshold_cache_pack(const itg_threshold_cache *cache, itg_strbuf *out);
void itg_threshold_cache_unpack(itg_unpacker *u, itg_threshold_cache *cache);
#endif
