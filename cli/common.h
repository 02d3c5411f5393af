/* Functions that several commands share: data with labels, preprocessing, scores. */
#ifndef ITG_CLI_COMMON_H
#define ITG_CLI_COMMON_H
#include "cli/metrics.h"
#include "cli/options.h"

/* Appends to the text in a buffer of `size` bytes. Text that does not fit is cut off. */
void itg_cli_append(char *out, size_t size, const char *format, ...) ITG_PRINTF(3, 4);
/* Whether the text ends with `end`. */
bool itg_cli_ends_with(const char *text, const char *end);
bool itg_cli_is_folder(const char *path);
#define ITG_CLI_HEX 65 /* of a SHA-256, terminated */

const char *itg_cli_shape(const itg_shape *shape, char *buffer, size_t size); /* "[1,3,32,32]" */

/* Returns the options of --input-shape, --outputs, --keep-softmax and --no-equalize. */
itg_model_options itg_cli_model_options(const itg_cli_args *args);
/* Opens a model with these options, or with those of a strategy file (NULL: none). */
itg_status itg_cli_model_open(const itg_cli_args *args, const char *path, const char *strategy,
                              itg_model **out, itg_error *err);

/* The shape of the only input; NULL: there are several, or no model (program). */
const itg_shape *itg_cli_model_input(const itg_model *model);
const itg_shape *itg_cli_program_input(const itg_program *program);
/* Of a folder of images without a shape: with that of the input (NULL: not known) behind it, in
 * buffer. All other text as it is. */
#define ITG_CLI_DATA_TEXT 4096
const char *itg_cli_data_text(const itg_shape *input, const char *text,
                              char buffer[ITG_CLI_DATA_TEXT]);
/* --data, --labels and --limit, for an input where it is known. labels NULL: not given; of a folder
 * of images they are the classes. */
typedef struct itg_cli_data {
    itg_dataset *samples, *labels;
} itg_cli_data;
itg_status itg_cli_data_open(const itg_cli_args *args, const itg_shape *input, itg_cli_data *out,
                             itg_error *err);
itg_status itg_cli_data_open_files(const itg_shape *input, const char *data, const char *labels,
                                   int64_t limit, itg_cli_data *out, itg_error *err);
/* Returns the samples that --calib-limit states, or the model's default. */
int64_t itg_cli_calibration_limit(const itg_cli_args *args, const itg_model *model);
/* Keeps only the samples that the search used for the part that --part names. Does nothing without
 * --part. */
itg_status itg_cli_data_part(const itg_cli_args *args, const itg_split_info *split,
                             itg_cli_data *data, itg_error *err);
void itg_cli_data_close(itg_cli_data *data);

/* ---- files (outputs.c) ---- */
/* A file name that a command derives from its arguments and options, and its name in messages. */
typedef struct itg_cli_file {
    const char *path, *what;
    bool written; /* else read */
} itg_cli_file;
/* Returns ITG_BAD_ARGUMENT if the command would write a file that it also reads, or writes twice.
 * Looks at its arguments, its options, SQLite's files beside a database, and `more`. Call it before
 * anything is written, and again when more names become known. */
itg_status itg_cli_keep_apart(const itg_cli_args *args, const itg_cli_file *more, int count,
                              itg_error *err);
/* The same for the external data files of an opened model. */
itg_status itg_cli_keep_data_files(const itg_cli_args *args, const itg_model *model,
                                   itg_error *err);
/* The same; prints a usage error and returns its status, or returns ITG_CLI_OK. */
int itg_cli_check_files(const itg_cli_args *args, const itg_cli_file *more, int count);
/* Returns the name that a link or a chain of links leads to, whether that exists or not. Returns a
 * copy of any other name. The result is malloc'd; NULL without memory. */
char *itg_cli_follow_links(const char *path);

/* Replaces those members of *p for which a preprocessing option is given. */
void itg_cli_preprocess(const itg_cli_args *args, itg_preprocess *p);

/* Computes Wilson's 95 % score interval of a share that was observed in `samples` samples. */
void itg_cli_interval(double share, int64_t samples, double *lo, double *hi);
/* Returns the size in float32 of the weights that a quantized network counts; NaN: not known. Exact
 * if their widths are whole bytes. */
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
/* Writes a member that lists the nodes that a program runs in float. */
void itg_cli_json_islands(itg_json_writer *json, const itg_program *program);
void itg_cli_print_islands(const itg_program *program);

/* ---- summaries (cmd_diff.c) ---- */
void itg_cli_json_summary_edge(itg_json_writer *json, const char *key, const itg_summary_edge *e);
void itg_cli_json_summary_layer(itg_json_writer *json, const char *key, const itg_summary_layer *l);
void itg_cli_type_cell(itg_cli_table *table, const itg_summary_edge *e);      /* "8 unsigned" */
void itg_cli_threshold_cell(itg_cli_table *table, const itg_summary_edge *e); /* "mse -0.5..1.25" */
/* Writes `first` and the names that are not NULL, with commas between them; "": there is none. */
enum { ITG_CLI_NAMES = 4, ITG_CLI_NAMES_SIZE = 64 };
const char *itg_cli_names(const char *first, const char *const names[ITG_CLI_NAMES],
                          char out[ITG_CLI_NAMES_SIZE]);

/* Returns ", 12 duplicates, 41 stopped early"; counts of 0 are left out. */
const char *itg_cli_trial_kinds(int64_t duplicates, int64_t raced, char *out, size_t size);
/* Prints a line such as "  top-1  79.51 % ..." for each known metric of the score. */
void itg_cli_print_score(const itg_score *score);
void itg_cli_print_line(const char *name, const char *format, ...);
/* Prints what import and preparation changed: float64 numbers, a trailing Softmax. */
void itg_cli_print_changes(const itg_model *model);

/* Returns the seconds of a monotonic clock. */
double itg_cli_now(void);
/* Prints a line on stderr if results are valid on this machine only. */
void itg_cli_note_kernels(itg_float_kernels kernels);
/* Prints on stderr which parts of the description in `file` have no effect on this model. */
void itg_cli_note_hardware(const itg_hardware *hw, const itg_model *model, const char *file);
/* Environment variable with a Redis server's password; other users can see command lines. */
#define ITG_CLI_REDIS_PASSWORD "INTAGLIO_REDIS_PASSWORD"
#endif
