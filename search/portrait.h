/* Portraits as JSON: what programs keep of the strategy that they were made from, and what two of
 * them are compared by. One writer for each source, one reader. */
#ifndef ITG_PORTRAIT_H
#define ITG_PORTRAIT_H
#include "base/json.h"
#include "sim/strategy_file.h"

#define ITG_PORTRAIT_KEY "intaglio.portrait" /* of a program's metadata */

/* Complete: from the strategy and the graph that it annotates. */
itg_status itg_portrait_write(const itg_annotated *a, const itg_program *program,
                              const itg_strategy_file *file, itg_strbuf *out, itg_error *err);
/* Of a strategy file's text alone: widths and thresholds, no costs. */
itg_status itg_portrait_of_strategy(const itg_json *strategy, itg_strbuf *out, itg_error *err);
/* source names the text in errors. */
itg_status itg_portrait_read(const char *text, size_t bytes, const char *source, bool is_program,
                             itg_portrait **out, itg_error *err);

/* ---- members that both writers write ---- */
/* 16 hexadecimal digits of the SHA-256 of the numbers, as binary64, little-endian. */
void itg_portrait_fingerprint(const double *values, int64_t count, char out[17]);
/* , "method": ..., "lo": ..., "hi": ..., "thresholds": ... */
void itg_portrait_threshold(itg_strbuf *out, const char *method, const double *values,
                            int64_t count, bool is_range);
void itg_portrait_text(itg_strbuf *out, const char *key, const char *text); /* , "key": "text" */
#endif
