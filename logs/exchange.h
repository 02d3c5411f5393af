/* Private to logs: a complete run as JSON; docs/log-schema.md describes the file. Reading a file
 * and writing it again gives the same text. Documents that the log holds as text (options,
 * hardware, strategy...) are strings, so that their bytes and hashes stay the same. */
#ifndef ITG_LOG_EXCHANGE_H
#define ITG_LOG_EXCHANGE_H
#include "logs/store.h"
#include "base/json.h"

#define ITG_LOG_EXCHANGE_KIND "intaglio-run"
#define ITG_LOG_EXCHANGE_VERSION 2
#define ITG_LOG_EXCHANGE_MAX_BYTES ((size_t)1 << 30) /* of files that are written or read */

/* A run with its trials; count = record->trials. */
typedef struct itg_log_run {
    const itg_run_record *record;
    const itg_trial *trials;
    int64_t count;
} itg_log_run;

/* The four data sets of a run, by the names of their members. Only the first is always present. */
enum { ITG_LOG_DATA_SETS = 4 };
extern const char *const itg_log_data_names[ITG_LOG_DATA_SETS];
itg_run_data *itg_log_data_set(itg_run_info *info, int index);

/* numbered: with the run's number, as in files. out remembers failed allocations. */
void itg_log_write_run(const itg_log_run *run, bool numbered, itg_strbuf *out);

/* Checks everything. Trials are read one by one; only the text's size limits their number. *out
 * borrows its strings from *json, which is the text without its trials, and the rest from arena.
 * path names the text in errors. */
itg_status itg_log_parse_run(const char *text, size_t bytes, const char *path, itg_arena *arena,
                             itg_json **json, itg_log_run *out, itg_error *err);
#endif
