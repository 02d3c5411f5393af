/* What several commands do alike: data with labels, preprocessing, scores. */
#ifndef ITG_CLI_COMMON_H
#define ITG_CLI_COMMON_H
#include "cli/metrics.h"
#include "cli/options.h"

/* Adds to the text in a buffer of `size` bytes; what does not fit is cut off. */
void itg_cli_append(char *out, size_t size, const char *format, ...) ITG_PRINTF(3, 4);
#define ITG_CLI_HEX 65 /* of a SHA-256, terminated */

const char *itg_cli_shape(const itg_shape *shape, char *buffer, size_t size); /* "[1,3,32,32]" */

/* How to open a model, as --input-shape, --outputs, --keep-softmax and --no-equalize say. */
itg_model_options itg_cli_model_options(const itg_cli_args *args);
/* Opens a model so, or as a strategy file (NULL: none) was made for it. */
itg_status itg_cli_model_open(const itg_cli_args *args, const char *path, const char *strategy,
                              itg_model **out, itg_error *err);

/* Of a folder of images without a shape: with the shape of the model's only input (NULL: not known)
 * behind it, in buffer. All other text as it is. */
#define ITG_CLI_DATA_TEXT 4096
const char *itg_cli_data_text(const itg_model *model, const char *text,
                              char buffer[ITG_CLI_DATA_TEXT]);
/* --data, --labels and --limit, for a model where it is known. labels NULL: not given; of a folder
 * of images they are the classes. */
typedef struct itg_cli_data {
    itg_dataset *samples, *labels;
} itg_cli_data;
itg_status itg_cli_data_open(const itg_cli_args *args, const itg_model *model, itg_cli_data *out,
                             itg_error *err);
itg_status itg_cli_data_open_files(const itg_model *model, const char *data, const char *labels,
                                   int64_t limit, itg_cli_data *out, itg_error *err);
/* --part: keeps the samples that the search took for that part; not given: nothing happens. */
itg_status itg_cli_data_part(const itg_cli_args *args, const itg_split_info *split,
                             itg_cli_data *data, itg_error *err);
void itg_cli_data_close(itg_cli_data *data);

/* ---- files (outputs.c) ---- */
/* What a command derives from its arguments and options, and what messages call it. */
typedef struct itg_cli_file {
    const char *path, *what;
    bool written; /* else read */
} itg_cli_file;
/* ITG_BAD_ARGUMENT where a file that the command writes is one that it reads, or writes twice:
 * among its arguments, its options, SQLite's files beside a database, and `more`. Called before
 * anything is written; again when names are known that were not at first. */
itg_status itg_cli_keep_apart(const itg_cli_args *args, const itg_cli_file *more, int count,
                              itg_error *err);
/* The same, of the files in which an opened model has data. */
itg_status itg_cli_keep_data_files(const itg_cli_args *args, const itg_model *model,
                                   itg_error *err);
/* The same as a usage error, which is printed; else ITG_CLI_OK. */
int itg_cli_check_files(const itg_cli_args *args, const itg_cli_file *more, int count);
/* The name that a name leads to which is a link, or a chain of them, whether it exists or not; any
 * other as it is. malloc'd, NULL without memory. */
char *itg_cli_follow_links(const char *path);

/* The preprocessing options that were given replace those in *p. */
void itg_cli_preprocess(const itg_cli_args *args, itg_preprocess *p);

/* Wilson's score interval of a share seen in `samples` samples, 95 %. */
void itg_cli_interval(double share, int64_t samples, double *lo, double *hi);
/* What the weights that a quantized network counts would take as float32; NaN: not known. Exact
 * where their widths are whole bytes. */
double itg_cli_float_bytes(const itg_score *quantized);

/* How much less quality (top-1 where both know it, else agreement) score has than the float network
 * on the same samples; 95 % interval. The samples are the same, so the two differ where their
 * classes do: Agresti and Min's interval (2005) of a difference of matched shares, with as many
 * pairs that differ as agreement allows. NaN: no shares are known. */
typedef struct itg_cli_drop {
    double drop, lo, hi; /* shares */
} itg_cli_drop;
itg_cli_drop itg_cli_drop_of(const itg_score *floats, const itg_score *score);
void itg_cli_json_interval(itg_json_writer *json, const char *key, double share, int64_t samples);

/* Members samples, all metrics, interval (of top1) and digest of a score. _quality: the metrics
 * that are known and are no costs, interval and digest alone. */
void itg_cli_json_score(itg_json_writer *json, const itg_score *score);
void itg_cli_json_quality(itg_json_writer *json, const itg_score *score);
/* What a program runs in float. */
void itg_cli_json_islands(itg_json_writer *json, const itg_program *program);
void itg_cli_print_islands(const itg_program *program);

/* ---- summaries (cmd_diff.c) ---- */
void itg_cli_json_summary_edge(itg_json_writer *json, const char *key, const itg_summary_edge *e);
void itg_cli_json_summary_layer(itg_json_writer *json, const char *key, const itg_summary_layer *l);
void itg_cli_type_cell(itg_cli_table *table, const itg_summary_edge *e);      /* "8 unsigned" */
void itg_cli_threshold_cell(itg_cli_table *table, const itg_summary_edge *e); /* "mse -0.5..1.25" */

/* ", 12 duplicates, 41 raced", without what there is none of. */
const char *itg_cli_trial_kinds(int64_t duplicates, int64_t raced, char *out, size_t size);
/* Lines "  top-1  79.51 % ..." of what is known in the score. */
void itg_cli_print_score(const itg_score *score);
void itg_cli_print_line(const char *name, const char *format, ...);
/* What import and preparation changed: float64 numbers, a trailing Softmax. */
void itg_cli_print_changes(const itg_model *model);

/* Seconds of a clock that never goes back. */
double itg_cli_now(void);
/* One line on stderr where results hold on this machine only. */
void itg_cli_note_kernels(itg_float_kernels kernels);
/* What the description in `file` says without effect on this model; on stderr. */
void itg_cli_note_hardware(const itg_hardware *hw, const itg_model *model, const char *file);
/* The environment's password of a Redis server: command lines are seen by everybody. */
#define ITG_CLI_REDIS_PASSWORD "INTAGLIO_REDIS_PASSWORD"
#endif
