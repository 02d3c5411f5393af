/* Strategy files: a strategy and everything that is needed to run it again. JSON;
 * docs/strategy-file.md. */
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
    itg_float_kernels float_kernels; /* computed the statistics */
    uint64_t seed;
    char searcher[ITG_SEARCHER_TEXT]; /* as in itg_search_options, or "", "uniform" */
    itg_split_info split;             /* of the search's data; samples 0: not from a search */
    itg_score results;                /* samples 0: none */
    itg_score recorded; /* what the file that was read says of its quality; samples 0: nothing.
                           For show, not written again */
} itg_strategy_file;

/* itg_strategy_open, _save, their pairs for memory, and _close: intaglio.h. Edges are matched by
 * (value, node, slot). Codes that the quantizers do not have are refused. */
/* Writes the file's text. graph gives the names of edges and nodes. */
itg_status itg_strategy_file_text(const itg_strategy_file *file, const itg_graph *graph,
                                  itg_strbuf *out, itg_error *err);
/* Returns the SHA-256 of the file that the strategy was read from, else of the file to be saved. */
itg_status itg_strategy_file_hash(const itg_strategy_file *file, const itg_graph *graph,
                                  unsigned char out[32], itg_error *err);
/* ---- weight codes (strategy_codes.c) ---- */
size_t itg_strategy_codes_bytes(const itg_strategy *s); /* of the file; 0: there is none */
void itg_strategy_codes_hash(const itg_strategy *s, unsigned char out[32]);
void itg_strategy_codes_name(const unsigned char hash[32], char out[72]);
/* Makes the bytes of the file; data NULL: there is none. */
itg_status itg_strategy_codes_pack(const itg_strategy *s, itg_buffer *out, itg_error *err);
/* Writes the codes file beside a strategy file at path. *made: the path of a file that did not
 * exist before (caller frees), or NULL. */
itg_status itg_strategy_codes_write(const itg_strategy *s, const itg_buffer *codes,
                                    const char *path, char **made, itg_error *err);
/* Sets each edge's code_count above 0 to the number of elements of the edge's value. Returns the
 * bytes of the codes file. */
size_t itg_strategy_codes_expect(itg_strategy *s, const itg_graph *g);
/* Take the codes of every edge whose code_count is above 0 from the bytes of the file, which errors
 * call `file`; or read that file: name as in the strategy file at path, relative to its folder. */
itg_status itg_strategy_codes_take(itg_strategy *s, const char *file, const itg_buffer *codes,
                                   const unsigned char hash[32], itg_error *err);
itg_status itg_strategy_codes_read(itg_strategy *s, const char *path, const char *name,
                                   const unsigned char hash[32], itg_error *err);

/* Reads the member "results" of a strategy file or of its summary. It is written for people, so
 * anything that is no result is ignored. Without results *out stays. */
void itg_results_read(const itg_json *json, itg_score *out);
void itg_split_info_write(const itg_split_info *split, itg_strbuf *out); /* one JSON object */
itg_status itg_split_info_read(const itg_json *json, const itg_json_value *v, itg_split_info *out,
                               itg_error *err);
#endif
