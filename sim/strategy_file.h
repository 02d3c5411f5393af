/* A strategy file: a strategy with all that is needed to run it again. JSON; docs/strategy-file.md.
 */
#ifndef ITG_STRATEGY_FILE_H
#define ITG_STRATEGY_FILE_H
#include "sim/sim.h"

#define ITG_STRATEGY_MAX_BYTES ((size_t)256 << 20) /* of a file, read or written */

typedef struct itg_strategy_file {
    itg_strategy *strategy; /* owned */
    itg_hardware *hardware; /* owned */
    itg_preprocess preprocess;
    unsigned char calibration_hash[32], statistics_hash[32]; /* zeros: not known */
    unsigned char source_hash[32]; /* of the file that it was read from; zeros: of none */
    int64_t calibration_samples;
    itg_float_kernels float_kernels; /* that made the statistics */
    uint64_t seed;
    char searcher[32];    /* "" or "uniform"... */
    itg_split_info split; /* of the search's data; samples 0: not from a search */
    itg_score results;    /* samples 0: none */
    itg_score recorded;   /* what the file that was read says of its quality; samples 0: nothing.
                             For show, not written again */
} itg_strategy_file;

/* graph gives the names of edges and nodes. Written whole or not at all. */
itg_status itg_strategy_file_write(const itg_strategy_file *file, const itg_graph *graph,
                                   const char *path, itg_error *err);
itg_status itg_strategy_file_text(const itg_strategy_file *file, const itg_graph *graph,
                                  itg_strbuf *out, itg_error *err);
/* SHA-256 of the strategy as a file: of the file that it was read from, else as it would be saved.
 */
itg_status itg_strategy_file_hash(const itg_strategy_file *file, const itg_graph *graph,
                                  unsigned char out[32], itg_error *err);
/* Refused for another model (source hash), or another prepared graph. Edges are matched by (value,
 * node, slot). */
itg_status itg_strategy_file_read(const char *path, const itg_graph *graph, itg_strategy_file **out,
                                  itg_error *err);
void itg_strategy_file_destroy(itg_strategy_file *file);
void itg_split_info_write(const itg_split_info *split, itg_strbuf *out); /* one JSON object */
itg_status itg_split_info_read(const itg_json *json, const itg_json_value *v, itg_split_info *out,
                               itg_error *err);
#endif
