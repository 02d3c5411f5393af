/* Summaries in memory, and the JSON text that a program keeps of its strategy. */
#ifndef ITG_SUMMARY_H
#define ITG_SUMMARY_H
#include <intaglio/intaglio.h>
#include "base/json.h"

#define ITG_SUMMARY_KEY "intaglio.summary" /* of a program's metadata */

struct itg_summary {
    itg_arena *arena; /* owns everything */
    itg_summary_info info;
    itg_summary_edge *edges;
    itg_summary_layer *layers;
};

/* Makes an empty summary with room for these entries. */
itg_status itg_summary_create(int32_t edges, int32_t layers, itg_summary **out, itg_error *err);
/* Makes a complete summary of a strategy and its annotated graph. program NULL: not made yet. */
itg_status itg_summary_make(const itg_annotated *a, const itg_program *program,
                            const itg_strategy_file *file, itg_summary **out, itg_error *err);
/* Makes a summary of a strategy file's text: widths and thresholds, no costs. */
itg_status itg_summary_of_strategy(const itg_json *strategy, itg_summary **out, itg_error *err);
/* Reads the quality from the text of a strategy or a summary, if it is there. */
void itg_summary_results(itg_summary *s, const itg_json *json);

void itg_summary_write(const itg_summary *summary, itg_strbuf *out);
/* source names the text in errors. */
itg_status itg_summary_read(const char *text, size_t bytes, const char *source, itg_summary **out,
                            itg_error *err);

/* ---- parts of an entry ---- */
itg_status itg_summary_hardware(itg_summary *s, const itg_hardware *hw, itg_error *err);
/* values: [lo, hi] if is_range, else t of each channel. The entry's method is "mse", or "mse:1"
 * where one dtype or spec is passed over. */
itg_status itg_summary_threshold(itg_summary *s, itg_summary_edge *edge, const char *method,
                                 int64_t passed_over, const double *values, int64_t count,
                                 bool is_range, itg_error *err);
/* The first 16 hexadecimal digits of the SHA-256 of the numbers as little-endian binary64. */
itg_status itg_summary_hash(itg_summary *s, const double *values, int64_t count, const char **out,
                            itg_error *err);
/* A copy of text (NULL: NULL) that the summary owns. */
itg_status itg_summary_text(itg_summary *s, const char *text, const char **out, itg_error *err);
#endif
