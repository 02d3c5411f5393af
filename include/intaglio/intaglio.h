/* Intaglio's public interface: from a float ONNX model to an integer program with proven bounds and
 * reproducible bits.
 *
 *   itg_model_open ─▶ itg_calibrate_model ─▶ itg_uniform / itg_search ─▶ strategy ─▶ itg_simulate,
 * itg_inspect, itg_realize ─▶ itg_program_run
 *
 * Conventions: fallible functions return itg_status and fill an optional itg_error; outputs are
 * untouched on failure. Objects are opaque; *out is owned by the caller and freed by the matching
 * close, destroy or itg_free; those accept NULL. Strings that functions return through `char **`
 * are malloc'd (itg_free); `const char *` results are borrowed from their object. Nothing prints,
 * exits or reads the clock. Objects may be shared by threads as long as nobody destroys them.
 * threads: 0 = all of the machine. */
#ifndef INTAGLIO_H
#define INTAGLIO_H
#include <intaglio/types.h>
#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__ /* what the shared library exports */
#pragma GCC visibility push(default)
#endif

const char *itg_engine_version(void); /* "0.1.0" */
void itg_free(void *memory);

/* ---- model ---- */
typedef struct itg_graph itg_model; /* prepared */
typedef struct itg_model_options {
    bool no_equalize; /* leaves out cross-layer equalization (docs/preparation.md 5.5), which
                         changes no float result: for comparison */
} itg_model_options;
/* Imports (opset 7..21) and prepares: batch 1, constants folded, fused; a trailing Softmax is left
 * off. options NULL: as they are when zero. A strategy goes with the preparation that it was made
 * for. */
itg_status itg_model_open(const char *path, const itg_model_options *options, itg_model **out,
                          itg_error *err);
/* The same of a file's bytes; name stands for the path in errors. */
itg_status itg_model_open_memory(const void *data, size_t bytes, const char *name,
                                 const itg_model_options *options, itg_model **out, itg_error *err);
void itg_model_close(itg_model *model);
/* What keeps a model from being opened, all at once: one entry a kind. */
typedef struct itg_refusal {
    char what[128];   /* "operator LSTM", "initializer" */
    char why[256];    /* a sentence */
    char first[128];  /* the first such node, by index and name, or the value's name */
    const char *help; /* what would make it work; NULL: nothing is known */
    int64_t count;
} itg_refusal;
typedef struct itg_refusals itg_refusals;
/* None: the model can be opened. Fails where the file is damaged. */
itg_status itg_model_survey(const char *path, itg_refusals **out, itg_error *err);
void itg_refusals_destroy(itg_refusals *refusals);
int32_t itg_refusals_count(const itg_refusals *refusals);
const itg_refusal *itg_refusals_at(const itg_refusals *refusals, int32_t index);
int64_t itg_refusals_others(const itg_refusals *refusals);   /* of kinds beyond those listed */
const char *itg_model_name(const itg_model *model);          /* file name without folders */
const unsigned char *itg_model_hash(const itg_model *model); /* SHA-256 of the file, 32 bytes */
bool itg_model_dropped_softmax(const itg_model *model);
bool itg_model_equalized(const itg_model *model); /* false: opened with no_equalize */
int32_t itg_model_input_count(const itg_model *model);
const char *itg_model_input_name(const itg_model *model, int32_t index);
const itg_shape *itg_model_input_shape(const itg_model *model, int32_t index);
const char *itg_model_input_type(const itg_model *model, int32_t index); /* "f32", "s64"... */
const char *itg_model_output_type(const itg_model *model, int32_t index);
int32_t itg_model_output_count(const itg_model *model);
const char *itg_model_output_name(const itg_model *model, int32_t index);
const itg_shape *itg_model_output_shape(const itg_model *model, int32_t index);
/* Whether its result is one of several classes: one output, with one axis alone that is longer than
 * 1 (or a class number itself). The quality of other networks is their SQNR. */
bool itg_model_is_classifier(const itg_model *model);
itg_status itg_model_print(const itg_model *model, char **out,
                           itg_error *err); /* the prepared graph as stable text */

/* ---- hardware ---- */
typedef struct itg_hardware itg_hardware;
itg_status itg_hardware_load(const char *name_or_path, itg_hardware **out, itg_error *err);
/* A description as JSON text; source names it in errors. */
itg_status itg_hardware_parse(const char *text, size_t bytes, const char *source,
                              itg_hardware **out, itg_error *err);
void itg_hardware_destroy(itg_hardware *hw);
int itg_hardware_builtin_count(void);
const char *itg_hardware_builtin_name(int index);
const char *itg_hardware_builtin_json(int index);
const char *itg_hardware_name(const itg_hardware *hw);
const char *itg_hardware_description(const itg_hardware *hw);
const char *itg_hardware_json(const itg_hardware *hw); /* as it is embedded in strategies */
bool itg_hardware_all_float(const itg_hardware *hw);   /* nothing is quantized there */
itg_status itg_hardware_schema_text(char **out, itg_error *err);
/* What the description says without effect, a line each that begins with the key: an override that
 * names no node of the model, a class of integers that nobody reads or writes... Mostly empty. */
itg_status itg_hardware_notes_text(const itg_hardware *hw, const itg_model *model, char **out,
                                   itg_error *err);

/* What the hardware makes of each node of the prepared graph. */
typedef enum itg_placement {
    ITG_PLACE_INTEGER,
    ITG_PLACE_FUSED,
    ITG_PLACE_FLOAT,
    ITG_PLACE_REFUSED
} itg_placement;
typedef struct itg_node_report {
    const char *name, *op, *reason; /* reason: NULL for INTEGER */
    itg_placement placement;
    int64_t macs, weight_elements;
} itg_node_report;
typedef struct itg_check itg_check;
itg_status itg_check_model(const itg_model *model, const itg_hardware *hw, itg_check **out,
                           itg_error *err);
void itg_check_destroy(itg_check *check);
int32_t itg_check_count(const itg_check *check);
const itg_node_report *itg_check_node(const itg_check *check, int32_t index);

/* ---- data ---- */
typedef struct itg_dataset itg_dataset;
/* .npy, .npz ("file.npz:array"), IDX plain or gzip. limit > 0: the first samples only. */
itg_status itg_data_open(const char *path, int64_t limit, itg_dataset **out, itg_error *err);
/* The same of an array in memory, which is copied: shape [samples, ...], row-major. name stands for
 * the path in errors. The hash is that of a file with this array. */
itg_status itg_data_from_memory(const itg_tensor *array, const char *name, itg_dataset **out,
                                itg_error *err);
void itg_data_close(itg_dataset *data);
int64_t itg_data_samples(const itg_dataset *data);
const unsigned char *
itg_data_hash(const itg_dataset *data); /* of the samples that were read, 32 bytes */
/* The same files read in order, once, a part at a time: for calibration on more samples than memory
 * should hold. */
typedef struct itg_data_stream itg_data_stream;
itg_status itg_data_stream_open(const char *path, int64_t limit, itg_data_stream **out,
                                itg_error *err);
void itg_data_stream_close(itg_data_stream *stream);
int64_t itg_data_stream_samples(const itg_data_stream *stream);
/* The labels of a data set with as many samples; checked. */
itg_status itg_data_labels_open(const char *path, int64_t limit, int64_t samples, int64_t **out,
                                itg_error *err);

#define ITG_MAX_CHANNELS 16
/* How the axes of samples lie to those of the model's input: the same, or images of which one is
 * NCHW and the other NHWC. */
typedef enum itg_sample_layout {
    ITG_SAMPLES_SAME, /* as the model takes them; its channels are axis 1 */
    ITG_SAMPLES_NCHW, /* samples are NCHW, the model takes NHWC */
    ITG_SAMPLES_NHWC, /* samples are NHWC, the model takes NCHW */
    ITG_SAMPLE_LAYOUTS
} itg_sample_layout;
const char *itg_sample_layout_name(itg_sample_layout layout); /* "same", "nchw", "nhwc" */
bool itg_sample_layout_from_name(const char *name, itg_sample_layout *out);
/* In this order: bgr (channels reversed); (x*scale - mean)/std in float32; layout; reshape. Inputs
 * that are no float32 take their elements as they are, bgr and layout apart: there scale, mean and
 * std are refused, and so is an element that the input's type cannot hold exactly. */
typedef struct itg_preprocess {
    bool bgr;
    float scale;
    int32_t mean_count, std_count; /* 0: none; 1, or the number of channels */
    float mean[ITG_MAX_CHANNELS], std[ITG_MAX_CHANNELS];
    itg_sample_layout layout;
    bool allow_nonfinite; /* else an element that is NaN or infinite is refused */
} itg_preprocess;
itg_preprocess itg_preprocess_default(void);
itg_status itg_preprocess_text(const itg_preprocess *p, char **out,
                               itg_error *err); /* JSON, as in strategy files */
/* The reverse; source names the text in errors. */
itg_status itg_preprocess_from_text(const char *text, const char *source, itg_preprocess *out,
                                    itg_error *err);
/* "0.5", "1/255", "0.1,0.2,0.3" as float32; a ratio is divided in double and rounded once. */
itg_status itg_preprocess_parse_list(const char *text, float *out, int32_t max, int32_t *count,
                                     itg_error *err);

/* ---- calibration ---- */
/* "reference", "onednn"; and whether this build has them. */
const char *itg_float_kernels_name(itg_float_kernels kernels);
bool itg_float_kernels_from_name(const char *name, itg_float_kernels *out);
bool itg_float_kernels_built(itg_float_kernels kernels);

typedef struct itg_stats itg_stats;
/* By the reference kernels. */
itg_status itg_calibrate_model(const itg_model *model, const itg_dataset *data,
                               const itg_preprocess *p, int threads, itg_stats **out,
                               itg_error *err);
typedef struct itg_calibrate_options {
    itg_float_kernels kernels; /* ITG_FLOAT_ONEDNN: statistics that only this machine repeats */
    int threads;
    itg_stop stop;
} itg_calibrate_options;
/* On all samples of a stream that nobody has read yet; memory does not grow with them. */
itg_status itg_calibrate_stream(const itg_model *model, itg_data_stream *stream,
                                const itg_preprocess *p, const itg_calibrate_options *options,
                                itg_stats **out, itg_error *err);
void itg_stats_destroy(itg_stats *stats);
/* What was seen of the model's values; those of constants were not looked at. */
typedef struct itg_value_range {
    const char *value; /* its name; borrowed from the model */
    int64_t count;     /* finite elements, over all samples */
    double min, max, mean, variance;
} itg_value_range;
int32_t itg_stats_count(const itg_stats *stats);
/* The index-th, in the order of the prepared graph; false: nothing was seen of it. */
bool itg_stats_at(const itg_stats *stats, const itg_model *model, int32_t index,
                  itg_value_range *out);

/* ---- strategies ---- */
typedef struct itg_bits_range {
    int32_t min, max;
} itg_bits_range; /* 0,0: as the hardware says */
typedef struct itg_strategy_file
    itg_strategy_file; /* strategy, hardware, preprocessing, hashes, results */
typedef struct itg_uniform_options {
    int32_t weight_bits, activation_bits;
    itg_threshold_method activation_method, weight_method; /* itg_threshold_default() */
} itg_uniform_options;
itg_threshold_method itg_threshold_default(void);
bool itg_threshold_from_name(const char *name, itg_threshold_method *out);
const char *itg_threshold_name(itg_threshold_method method);
/* The hardware's nearest allowed width below (else above) on every edge. stats NULL is allowed for
 * all-float hardware. calibration: NULL, or data to name as the statistics' own. */
itg_status itg_uniform_strategy(const itg_model *model, const itg_hardware *hw,
                                const itg_preprocess *p, const itg_stats *stats,
                                const itg_dataset *calibration, const itg_uniform_options *options,
                                itg_strategy_file **out, itg_error *err);
/* Weight codes that a strategy holds lie in a file beside its own (docs/strategy-file.md):
 * itg_strategy_open reads both, itg_strategy_save writes both or neither. */
itg_status itg_strategy_open(const itg_model *model, const char *path, itg_strategy_file **out,
                             itg_error *err);
/* How the model of a strategy file must be opened. */
itg_status itg_strategy_model_options(const char *path, itg_model_options *out, itg_error *err);
itg_status itg_strategy_save(const itg_strategy_file *file, const itg_model *model,
                             const char *path, itg_error *err);
itg_status itg_strategy_text(const itg_strategy_file *file, const itg_model *model, char **out,
                             itg_error *err); /* as it is saved */
void itg_strategy_close(itg_strategy_file *file);
/* Narrowest and widest bits of quantized weights, or of everything else; 0,0: none. */
itg_bits_range itg_strategy_bits(const itg_strategy_file *file, bool weights);
const itg_hardware *itg_strategy_hardware(const itg_strategy_file *file);
/* That made the statistics its thresholds come from. */
itg_float_kernels itg_strategy_float_kernels(const itg_strategy_file *file);
itg_preprocess *itg_strategy_preprocess(itg_strategy_file *file); /* may be changed to override */

/* Which samples of its data a search took for what, so that a trial's own evaluation can be
 * repeated. */
typedef enum itg_split_part {
    ITG_SPLIT_CALIBRATION,
    ITG_SPLIT_SEARCH,
    ITG_SPLIT_HOLDOUT
} itg_split_part;
typedef struct itg_split_info {
    int64_t samples; /* of the data that was split; 0: nothing was */
    uint64_t seed;
    int64_t count[3]; /* by itg_split_part */
} itg_split_info;
itg_split_info itg_strategy_split(const itg_strategy_file *file);
/* The samples of one part, and their labels (NULL where labels is). Fails unless data has info's
 * number of samples. */
itg_status itg_data_part(const itg_dataset *data, const int64_t *labels, const itg_split_info *info,
                         itg_split_part part, itg_dataset **out, int64_t **out_labels,
                         itg_error *err);

/* ---- evaluation ---- */
/* A metric of a score, derived ones included; NaN: not known.
 *   ACCURACY: top1, or agreement where that is not known.
 *   SQNR: the distortion in dB, -10 log10 of it; +INFINITY: the outputs are equal. */
double itg_score_get(const itg_score *score, itg_metric metric);
bool itg_score_knows(const itg_score *score, itg_metric metric);
typedef struct itg_annotated itg_annotated;
/* The annotated graph of a strategy. model and file must outlive it. */
itg_status itg_annotate_strategy(const itg_model *model, const itg_strategy_file *file,
                                 itg_annotated **out, itg_error *err);
void itg_annotated_destroy(itg_annotated *annotated);
itg_status itg_annotated_text(const itg_annotated *annotated, char **out, itg_error *err);
/* By definition (simulation); with_agreement runs the float model too. Records the result in file,
 * to be saved with it. */
itg_status itg_simulate(const itg_model *model, itg_strategy_file *file, const itg_dataset *data,
                        const int64_t *labels, bool with_agreement, int threads, itg_score *out,
                        itg_error *err);

/* Each edge, float against simulated; worst SQNR first. */
typedef struct itg_edge_report {
    const char *value, *node;  /* node NULL: graph output */
    int32_t slot, bits, index; /* index: in the edge order of the strategy file */
    double float_min, float_max, float_mean, float_std, sim_min, sim_max, sim_mean, sim_std;
    double sqnr_db;               /* +infinity: no error */
    double saturated, overflowed; /* shares of elements */
} itg_edge_report;
typedef struct itg_inspection itg_inspection;
/* The report borrows names from model, which must outlive it. */
itg_status itg_inspect(const itg_model *model, const itg_strategy_file *file,
                       const itg_annotated *annotated, const itg_dataset *data, int threads,
                       itg_inspection **out, itg_error *err);
void itg_inspection_destroy(itg_inspection *inspection);
int32_t itg_inspection_count(const itg_inspection *inspection);
const itg_edge_report *itg_inspection_edge(const itg_inspection *inspection, int32_t index);

/* ---- realization ---- */
typedef struct itg_program itg_program;
typedef struct itg_realize_options {
    bool allow_overflow; /* default false: an accumulator that cannot be bounded is refused
                            (ITG_UNBOUNDED names node and bound) */
} itg_realize_options;
typedef struct itg_bound {
    int32_t node;   /* of the prepared graph, or the program */
    int64_t lo, hi; /* exact interval of every partial sum; saturated to int64 when wider */
    bool fits;
    itg_accumulator acc;
} itg_bound;
itg_status itg_realize_program(const itg_annotated *annotated, const itg_realize_options *options,
                               itg_program **out, itg_error *err);
void itg_program_destroy(itg_program *program);
/* An ONNX file with domain "ai.intaglio"; self-contained, preprocessing and hashes included. model
 * and file NULL: those that the program was opened with. */
itg_status itg_program_save(const itg_program *program, const itg_model *model,
                            const itg_strategy_file *file, const char *path, itg_error *err);
itg_status itg_program_open(const char *path, itg_program **out, itg_error *err);
itg_status itg_program_preprocess(const itg_program *program, itg_preprocess *out,
                                  itg_error *err); /* as saved */
itg_split_info itg_program_split(const itg_program *program);
int32_t itg_program_float_island_count(const itg_program *program);
const char *itg_program_float_island(const itg_program *program,
                                     int32_t index); /* "Softmax attn/softmax: reason" */
const itg_bound *itg_program_bounds(const itg_program *program, int32_t *count);
const char *itg_program_bound_name(const itg_program *program, int32_t index);
/* What a device needs beside the program: the scores' peak_activation_bytes. Where C source can
 * hold the program (itg_emit_c) it is that source's arena: activations and the kernels' scratch;
 * the caller holds inputs and outputs. Else activations and outputs, without inputs and scratch. */
itg_status itg_program_ram_bytes(const itg_program *program, int64_t *out, itg_error *err);
itg_status itg_program_text(const itg_program *program, char **out, itg_error *err);
#define ITG_MOST_BLOCK 4096
typedef struct itg_run_options {
    const itg_preprocess *preprocess; /* NULL: as saved (itg_program_preprocess) */
    const int64_t *labels;            /* [samples]; NULL: none */
    /* How it goes about it; changes no result. block: samples computed at once, at most
     * ITG_MOST_BLOCK; 0: chosen by the sizes of the values. */
    int threads;
    int64_t block;
    /* The program's outputs of one sample, in storage dtype (itg_program_output_count of them), in
     * the order of the samples; valid during the call. A failure ends the run. NULL: not wanted. */
    itg_status (*outputs)(void *context, int64_t sample, const itg_tensor *outputs, int32_t count,
                          itg_error *err);
    void *context;
    const char *npy_path; /* NULL: none; else outputs as .npy, [samples, ...], in the files that
                             itg_program_npy_path names */
} itg_run_options;
/* Runs all samples. options NULL: as they are when zero. */
itg_status itg_program_run(const itg_program *program, const itg_dataset *data,
                           const itg_run_options *options, itg_score *out, itg_error *err);

int32_t itg_program_output_count(const itg_program *program);
/* "out.npy", "out.1.npy", "out.2.npy"...; malloc'd, NULL without memory. */
char *itg_program_npy_path(const char *npy_path, int32_t output);

/* ---- verification ---- */
/* A program's file may have a certificate beside it: every accumulator's exact interval, every
 * requantization's, and hashes of everything (docs/verify.md). Writer and verifier know the file
 * alone and share no code with what made the program. */
char *itg_certificate_path(const char *artefact); /* its usual name, malloc'd; NULL: no memory */
/* Derives the certificate and writes it. Fails where the file contradicts itself, or states other
 * bounds than its own codes give. */
itg_status itg_certify(const char *artefact, const char *certificate, itg_error *err);

/* One accumulator. */
typedef struct itg_verified_sum {
    const char *node, *type; /* "conv1", "IntConv" */
    const char *part;        /* sums in parts: "parts", "joined"; NULL: a plain sum */
    const char *rule;        /* how the interval was found, a sentence */
    const char *lo, *hi;     /* of the sum and (for parts) of every part, decimal */
    itg_accumulator acc;
    int32_t spare_bits; /* below zero: as many are missing */
    bool fits;
} itg_verified_sum;
typedef struct itg_verification itg_verification;
/* Derives the certificate anew and compares: ITG_OK where that could be done, whatever came out.
 * certificate NULL: the one beside the artefact. */
itg_status itg_verify(const char *artefact, const char *certificate, itg_verification **out,
                      itg_error *err);
/* The same for C source in a folder (itg_emit_c): NAME.itg is the program that it stands for, with
 * its own certificate beside it; NAME.cert.json has the hash of every file, and of every array's
 * numbers, which are read back from the text and held against the program's. */
itg_status itg_certify_source(const char *directory, const char *name, itg_error *err);
itg_status itg_verify_source(const char *directory, const char *name, itg_verification **out,
                             itg_error *err);
void itg_verification_destroy(itg_verification *verification);
int32_t itg_verification_sum_count(const itg_verification *verification);
const itg_verified_sum *itg_verification_sum(const itg_verification *verification, int32_t index);
/* Hashed one by one. */
int32_t itg_verification_tensor_count(const itg_verification *verification);
int32_t itg_verification_node_count(const itg_verification *verification);
/* What is wrong, with node and place. 0: verified. Of very many only the first are kept as text. */
int32_t itg_verification_problem_count(const itg_verification *verification);
int32_t itg_verification_problem_texts(const itg_verification *verification);
const char *itg_verification_problem(const itg_verification *verification, int32_t index);
const unsigned char *
itg_verification_hash(const itg_verification *verification); /* the artefact's */

/* ---- summaries: what a strategy, or the program made from it, quantizes how, and what that costs.
 * Two of one model compare edge by edge and layer by layer: the lists are in the same order. */
typedef struct itg_summary_edge {
    const char *value, *node; /* node NULL: graph output */
    int32_t slot, bits;       /* bits 0: not quantized, and all that follows is not known */
    const char *sign; /* "signed", "unsigned"; NULL: not known, nor what follows up to scales */
    int32_t zero_point;
    double scale;           /* the greatest, where there is one a channel */
    const char *scales;     /* a fingerprint of all */
    const char *method;     /* of the threshold */
    double lo, hi;          /* the threshold; of weights the greatest t, as [-t, t] */
    const char *thresholds; /* a fingerprint of all */
} itg_summary_edge;
typedef struct itg_summary_layer {
    const char *node, *op, *form; /* form as in hardware files ("mac", "rescale"...); "fused" */
    int32_t accumulator_bits;     /* 0: none */
    int64_t weight_bytes, macs;
    int64_t parts, joins; /* parts of its sums, 0: whole; additions of parts, over all outputs */
    double bops, cycles;
} itg_summary_layer;
typedef struct itg_summary_info {
    bool is_program;
    const char *model_hash, *graph_hash, *hardware, *hardware_hash; /* hashes in hexadecimal */
    bool has_costs;  /* else there are no layers, signs and scales */
    itg_score score; /* costs; quality where it was recorded (samples 0: it was not) */
    int32_t edge_count, layer_count;
} itg_summary_info;
typedef struct itg_summary itg_summary;
/* Of a strategy file, or of a program's file. model may be NULL; a strategy has costs, signs and
 * scales only with it, and is refused where it is another one's. */
itg_status itg_summary_open(const char *path, const itg_model *model, itg_summary **out,
                            itg_error *err);
void itg_summary_destroy(itg_summary *summary);
const itg_summary_info *itg_summary_info_of(const itg_summary *summary);
const itg_summary_edge *itg_summary_edge_at(const itg_summary *summary, int32_t index);
const itg_summary_layer *itg_summary_layer_at(const itg_summary *summary, int32_t index);
/* What the C source of a program takes, in bytes; code and stack not counted. */
typedef struct itg_emit_sizes {
    char name[64]; /* as its identifiers begin */
    int64_t macs, weight_bytes, constant_bytes, arena_bytes;
} itg_emit_sizes;
typedef struct itg_emit_options {
    const char *name;                 /* NULL: the program's, as a C identifier */
    int32_t samples;                  /* of the self-test; 0: 4 */
    const itg_dataset *data;          /* their source; NULL: random codes */
    const itg_preprocess *preprocess; /* of data; NULL: none */
} itg_emit_options;
/* Writes NAME.h, NAME.c and NAME_selftest.c, freestanding C99, into a folder that exists
 * (docs/emit-c.md). ITG_UNSUPPORTED says what keeps the program from being integers alone; no file
 * is written then. options and out may be NULL. */
itg_status itg_emit_c(const itg_program *program, const itg_emit_options *options,
                      const char *directory, itg_emit_sizes *out, itg_error *err);

/* ---- QDQ models ---- */
/* A strategy as a model of standard operators, for runtimes that know ONNX's QuantizeLinear and
 * DequantizeLinear (docs/qdq.md). Written whole, or not at all. ITG_UNSUPPORTED names what has no
 * form in ONNX. */
typedef struct itg_qdq_note {
    const char *node, *op, *reason;
} itg_qdq_note;
typedef struct itg_qdq_report itg_qdq_report;
itg_status itg_emit_qdq(const itg_annotated *annotated, const itg_model *model,
                        const itg_strategy_file *file, const char *path, itg_qdq_report **out,
                        itg_error *err);
void itg_qdq_report_destroy(itg_qdq_report *report);
int64_t itg_qdq_report_opset(const itg_qdq_report *report);
bool itg_qdq_report_any_batch(const itg_qdq_report *report); /* else batch 1 */
/* The nodes where ONNX Runtime's arithmetic is not the integer program's. */
int32_t itg_qdq_report_count(const itg_qdq_report *report);
const itg_qdq_note *itg_qdq_report_note(const itg_qdq_report *report, int32_t index);

/* ---- search ---- */
/* What the hardware's description states: memory.flash_bytes and memory.ram_bytes; 0: nothing. */
double itg_hardware_limit(const itg_hardware *hw, itg_metric metric);

/* At least `bound` where a larger value is better, else at most; in the metric's unit. */
typedef struct itg_constraint {
    itg_metric metric;
    double bound;     /* -INFINITY of a quality: names it, and asks for nothing */
    bool below_float; /* of a quality: the bound is the float network's value less `bound` */
} itg_constraint;
#define ITG_MOST_OBJECTIVES 4
#define ITG_MOST_CONSTRAINTS 12
/* What is wanted. A trial meets the goal when it is feasible and within every constraint and the
 * hardware's own limits. The best is, among the trials that meet it, the one with the best first
 * objective; of equal ones, with the best next one; ties: docs/decisions.md. Objectives are costs
 * to be minimized, or one quality to be maximized. A goal is about one quality: that which it
 * names, else ACCURACY. Zero-initialized: the fewest weight bytes, whatever is lost. */
typedef struct itg_goal {
    itg_metric objectives[ITG_MOST_OBJECTIVES];
    itg_constraint constraints[ITG_MOST_CONSTRAINTS]; /* of different metrics */
    int32_t objective_count, constraint_count;        /* objective_count 0: weight_bytes */
} itg_goal;
/* Adds a constraint, in place of one over the same metric. False: there are too many. */
bool itg_goal_constrain(itg_goal *goal, itg_metric metric, double bound, bool below_float);
void itg_goal_release(itg_goal *goal, itg_metric metric); /* takes its constraint away */
const itg_constraint *itg_goal_constraint(const itg_goal *goal, itg_metric metric); /* or NULL */
/* The first objective, and the quality that the goal is about. */
itg_metric itg_goal_objective(const itg_goal *goal);
itg_metric itg_goal_quality_metric(const itg_goal *goal);
bool itg_goal_maximizes_quality(const itg_goal *goal);
/* "size", "size, cycles", "quality": as in the options' text; returns buffer. */
const char *itg_goal_objectives_text(const itg_goal *goal, char *buffer, size_t size);
double itg_goal_limit(const itg_goal *goal, itg_metric cost); /* largest allowed; 0: none */
/* How much of the float network's quality may be lost; below 0: no such constraint. And the least
 * SQNR in dB; 0: none. */
double itg_goal_drop(const itg_goal *goal);
double itg_goal_least_sqnr(const itg_goal *goal);
#define ITG_MOST_SQNR_DB 200.0 /* of goals and qualities: more counts as this much */
/* The goal's quality as goals compare it: a share, 0..1; of SQNR its dB / 100, from -2 to 2. Below
 * ITG_QUALITY_KNOWN: not known. */
#define ITG_QUALITY_KNOWN (-1.999)
double itg_goal_quality(const itg_goal *goal, const itg_score *score);
/* Whether a score is within the goal's floor and limits. floats: the float network's score on the
 * same samples. */
bool itg_goal_is_met(const itg_goal *goal, const itg_score *floats, const itg_score *score);
/* Costs of a strategy's program; quality and digest are unknown. */
itg_status itg_strategy_costs(const itg_strategy_file *file, const itg_annotated *annotated,
                              const itg_program *program, itg_score *out, itg_error *err);
/* Of a program that was opened: the hardware that it was made for (NULL: the file does not say),
 * its parameter bytes as saved, and its RAM; all else is unknown. */
itg_status itg_program_target(const itg_program *program, itg_hardware **hw, itg_score *out,
                              itg_error *err);
/* What the model would cost with widths of `bits` everywhere, or the nearest that the hardware has,
 * whatever its data is: values are taken to lie in [-1, 1]. Nothing is known: the hardware cannot
 * run it so. no_c (may be NULL): why it cannot be C source, "" where it can or that is not known.
 */
itg_status itg_check_costs(const itg_model *model, const itg_hardware *hw, int32_t bits,
                           itg_score *out, char no_c[512], itg_error *err);
/* The goal as a search on this hardware keeps it: the tighter one of each pair of limits. */
itg_goal itg_goal_on(const itg_goal *goal, const itg_hardware *hw);

typedef struct itg_trial {
    int64_t index;        /* from 0 */
    const int32_t *point; /* one per dimension of the choice space: a width, or the index of a
                             threshold method in the dimension's list */
    int32_t dim_count;
    bool feasible;     /* could be realized */
    bool meets_goal;   /* in hooks and results; what a replayed or logged one says does not count */
    bool duplicate;    /* the same; its point is that of an earlier trial */
    itg_score score;   /* on the search samples; digest = that of the deployed program on them */
    double seconds;    /* by the clock handed in; 0 without */
    const char *error; /* not feasible: why */
} itg_trial;

#define ITG_MAX_METHODS 8
typedef struct itg_search_options {
    const char *searcher; /* a name of the registry; NULL: "greedy" */
    itg_goal goal;
    int64_t trials;   /* at most; 0: the searcher's own end or default */
    double seconds;   /* no batch begins after them, by the clock handed in; 0: no limit */
    int64_t patience; /* ends after so many trials without a better best; 0: never */
    double tolerance; /* patience: a best that is better by less than this share of what is
                         optimized does not count */
    uint64_t seed;
    int threads;
    itg_bits_range weight_bits, activation_bits, input_bits, output_bits;
    /* Threshold methods to choose among, per choice group. Count 0 or 1: nothing to choose. */
    itg_threshold_method weight_methods[ITG_MAX_METHODS], activation_methods[ITG_MAX_METHODS];
    int32_t weight_method_count, activation_method_count;
    int64_t calibration_samples,
        search_samples;              /* 0: defaults (512 and 1024), less where the data has fewer */
    itg_float_kernels float_kernels; /* of calibration and of the float network's own results */
    bool hago_baseline;  /* also runs hago-greedy for the same goal, as one more line to compare */
    bool no_equalize;    /* the model was opened so (itg_model_options), and must be */
    bool no_racing;      /* runs all samples of every trial, also where it cannot matter. Changes no
                            result, only what the trials say (itg_score.stopped_at) */
    int64_t cache_bytes; /* activations kept for candidates that share them; 0: none. Changes no
                            result */
    int64_t block;       /* samples computed at once; 0: by their sizes. Changes no result */
    /* The trials of an interrupted run with the same options, in order from 0. Their points are
     * asked for again and must be equal; their scores are taken as they are. They are not handed to
     * hooks->trial. */
    const itg_trial *replay;
    int64_t replay_count;
} itg_search_options;
/* All of them that decide what is found, as one JSON object: threads, cache_bytes, block and replay
 * are left out. */
itg_status itg_search_options_text(const itg_search_options *options, char **out, itg_error *err);
/* The reverse; source names the text in errors. The searcher's name is the registry's. */
itg_status itg_search_options_from_text(const char *text, const char *source,
                                        itg_search_options *out, itg_error *err);
typedef struct itg_search_result itg_search_result;
typedef struct itg_search_hooks {
    void *context;
    double (*clock)(void *context); /* seconds; NULL: no timing. Called by any thread */
    void (*progress)(void *context, const itg_trial *trial, const itg_trial *best, int64_t planned);
    itg_status (*trial)(void *context, const itg_trial *trial,
                        itg_error *err); /* every finished trial, in order: the log */
    /* Both are called by any thread, often. cancelled: trials that have not ended are dropped, the
     * best of the others is the result; before the first trial, the search ends with ITG_CANCELLED.
     * hurry (NULL: never): what is left to do for the result is left out, too: the best on the
     * hold-out. */
    bool (*cancelled)(void *context);
    bool (*hurry)(void *context);
    /* Before the first trial: what the goal cannot bring about, a sentence. NULL: not wanted. */
    void (*note)(void *context, const char *text);
} itg_search_hooks;
/* data is split by the seed into calibration and search samples, and a hold-out where none is
 * given. */
typedef struct itg_search_data {
    const itg_dataset *data;
    const int64_t *labels;
    const itg_dataset *holdout; /* may be NULL */
    const int64_t *holdout_labels;
} itg_search_data;
itg_status itg_search(const itg_model *model, const itg_hardware *hw, const itg_preprocess *p,
                      const itg_search_data *data, const itg_search_options *options,
                      const itg_search_hooks *hooks, itg_search_result **out, itg_error *err);
void itg_search_result_destroy(itg_search_result *result);
/* The choice space as JSON, one object a dimension, in the order of itg_trial.point:
 * {"kind": "bits" or "threshold", "edges": ["value -> node.slot", ...], "values": [2, 3, ...] or
 * ["mse", "kl"]}. */
itg_status itg_search_space_text(const itg_model *model, const itg_hardware *hw,
                                 const itg_search_options *options, char **out, itg_error *err);
int64_t itg_search_trial_count(const itg_search_result *result);
/* Of the trials: those whose point was an earlier trial's; of the others, those that were stopped
 * early. */
int64_t itg_search_duplicate_count(const itg_search_result *result);
int64_t itg_search_raced_count(const itg_search_result *result);
/* The best trial that meets the goal, else (goal_met false) the nearest to it; NULL: none was
 * feasible. */
const itg_trial *itg_search_best(const itg_search_result *result);
/* The trials that meet the goal and that no other such trial dominates in its objectives, in order;
 * of one objective the best alone. */
int32_t itg_search_front_count(const itg_search_result *result);
const itg_trial *itg_search_front_at(const itg_search_result *result, int32_t index);
bool itg_search_goal_met(const itg_search_result *result); /* on the search samples */
/* Whether the best (or nearest) is within floor and limits on the hold-out, too: by its quality
 * there, against the float network's there. */
bool itg_search_goal_holds(const itg_search_result *result);
/* Where the goal is not met, or does not hold on the hold-out: what limits it, a sentence. "" else.
 */
const char *itg_search_limited_by(const itg_search_result *result);
/* False: no width that could be measured changes the cost that is minimized, so that quality alone
 * decides. */
bool itg_search_cost_varies(const itg_search_result *result);
const itg_score *itg_search_float(const itg_search_result *result, bool holdout);
const itg_score *itg_search_uniform8(const itg_search_result *result,
                                     bool holdout); /* samples 0, nothing known: the
                                                       hardware cannot run it */
const itg_score *itg_search_hago(const itg_search_result *result,
                                 bool holdout); /* NULL: not asked for, or it found nothing */
/* NULL: there is no best, or no time was left for it (hooks.hurry). */
const itg_score *itg_search_best_holdout(const itg_search_result *result);
itg_strategy_file *itg_search_strategy(itg_search_result *result); /* of the best; borrowed */
/* "exhausted", "trials", "seconds", "patience", "cancelled" */
const char *itg_search_stop_reason(const itg_search_result *result);
int itg_searcher_count(void);
const char *itg_searcher_name(int index);
const char *itg_searcher_help(int index);

/* ---- log ---- */
/* A SQLite database of runs and their trials; docs/log-schema.md. Not thread-safe: one caller at a
 * time. */
typedef struct itg_run_log itg_run_log;
typedef struct itg_run_data {
    const char *name; /* as the user named it; NULL: none */
    int64_t samples;
    unsigned char hash[32];
} itg_run_data;
typedef struct itg_run_info {
    const char *model_name, *hardware_name, *searcher, *options_json, *hardware_json,
        *preprocess_json, *engine_version, *started;
    const char *space_json; /* itg_search_space_text: what the numbers of a point mean */
    unsigned char model_hash[32];
    itg_run_data data, holdout;          /* holdout.name NULL: set aside from data */
    itg_run_data labels, holdout_labels; /* name NULL: none */
    uint64_t seed;
} itg_run_info;
typedef struct itg_run_end {
    const char *stop_reason, *strategy_json; /* strategy_json NULL: no best */
    int64_t best_trial;                      /* -1: none */
    bool goal_met;
    const itg_score *holdout_float, *holdout_uniform8, *holdout_hago,
        *holdout_best;             /* NULL: not known */
    const itg_score *search_float; /* on the search samples, from which the floor follows; NULL: not
                                      known */
} itg_run_end;
/* Opens to write, and creates the database where it is absent. Refused, and left as it is: another
 * version's schema, a file that is no database or another application's, a damaged one. */
itg_status itg_run_log_open(const char *path, itg_run_log **out, itg_error *err);
/* Opens an existing database to read; the same refusals. May stand beside a writer. */
itg_status itg_run_log_open_reader(const char *path, itg_run_log **out, itg_error *err);
itg_status itg_run_log_close(itg_run_log *log,
                             itg_error *err); /* commits; the log is gone even on failure */
/* *run: the new run's number, committed before this returns. */
itg_status itg_run_log_begin_run(itg_run_log *log, const itg_run_info *info, int64_t *run,
                                 itg_error *err);
/* ---- who writes a run: one process. The library asks no system who that is, what time it is, and
 * whether another one lives: the caller tells. ---- */
typedef struct itg_run_holder {
    const char *host;  /* the machine, for people */
    const char *place; /* where numbers of processes mean the same: one start of one machine */
    int64_t process;
    const char *started; /* tells processes apart that have the same number in the same place */
    const char *since;   /* when it took the run, UTC, for people */
} itg_run_holder;
typedef enum itg_holder_state {
    ITG_HOLDER_GONE,
    ITG_HOLDER_LIVES,
    ITG_HOLDER_UNKNOWN /* elsewhere: it lives if it renewed its lease within ITG_LOG_LEASE_S */
} itg_holder_state;
#define ITG_LOG_LEASE_S 30 /* seconds; renew it several times in between */
typedef struct itg_run_claim {
    itg_run_holder self;
    int64_t now; /* seconds of a clock that machines share */
    itg_holder_state (*state)(const itg_run_holder *other);
} itg_run_claim;
/* ITG_BAD_ARGUMENT, with who it is, where another process writes the run. Changes nothing. */
itg_status itg_run_log_check_free(itg_run_log *log, int64_t run, const itg_run_claim *claim,
                                  itg_error *err);
/* The same, and takes the run for this log until end_run or close. After that, trials and an end
 * are refused once another process has taken it over. */
itg_status itg_run_log_take(itg_run_log *log, int64_t run, const itg_run_claim *claim,
                            itg_error *err);
itg_status itg_run_log_renew(itg_run_log *log, int64_t now, itg_error *err);
/* now: seconds of any steady clock; commits where 200 ms of it have passed since the last commit.
 */
itg_status itg_run_log_trial(itg_run_log *log, int64_t run, const itg_trial *trial, double now,
                             itg_error *err);
/* Commits trials that wait for it: for callers whose next trial may be long in coming. Where
 * another program holds the database up, they go on waiting (5 s are spent on it); only end_run and
 * close fail then. */
itg_status itg_run_log_commit(itg_run_log *log, itg_error *err);
itg_status itg_run_log_end_run(itg_run_log *log, int64_t run, const itg_run_end *end,
                               itg_error *err); /* committed */

/* A run as it stands in the log. Strings that are not known (yet) are NULL. */
typedef struct itg_run_record {
    int64_t run, trials, best_trial; /* best_trial -1: none (yet) */
    int64_t duplicates, raced;       /* of the trials, as itg_search_duplicate_count says */
    bool ended, goal_met;            /* ended: it has a stop_reason */
    itg_run_info info;               /* space_json NULL: written by version 0.1 */
    const char *log;                 /* the path of the log that it was read from */
    const char *stop_reason, *strategy_json;
    bool has_float, has_uniform8, has_hago, has_best, has_search_float;
    itg_score holdout_float, holdout_uniform8, holdout_hago, holdout_best, search_float;
} itg_run_record;
/* All runs, oldest first; *runs is malloc'd (NULL where there are none). */
itg_status itg_run_log_runs(itg_run_log *log, int64_t **runs, int64_t *count, itg_error *err);
itg_status itg_run_log_read_run(itg_run_log *log, int64_t run, itg_run_record **out,
                                itg_error *err);
void itg_run_record_destroy(itg_run_record *record);
/* The trials of a run in order; a failure of fn ends the reading and is returned. trial is valid
 * during the call. */
itg_status itg_run_log_read_trials(itg_run_log *log, int64_t run,
                                   itg_status (*fn)(void *context, const itg_trial *trial,
                                                    itg_error *err),
                                   void *context, itg_error *err);
/* All trials of a run, from 0 without a gap, to be replayed; points and errors malloc'd. */
itg_status itg_run_log_load_trials(itg_run_log *log, int64_t run, itg_trial **out, int64_t *count,
                                   itg_error *err);
void itg_run_log_free_trials(itg_trial *trials, int64_t count);
/* Makes a run that was interrupted, or stopped by a limit, writable again: its end (stop reason,
 * best, results) is taken back, its trials stay. */
itg_status itg_run_log_reopen_run(itg_run_log *log, int64_t run, itg_error *err);
/* One run as a JSON file (docs/log-schema.md), complete: trials, strategy, hardware. Import gives
 * it the next free number; an equal run that is there already is refused, and named. */
itg_status itg_run_log_export(itg_run_log *log, int64_t run, const char *path, itg_error *err);
itg_status itg_run_log_import(itg_run_log *log, const char *path, int64_t *run, itg_error *err);

/* What a run's strategy says of each edge, in the order of the strategy file; names borrow from the
 * list. A run without a strategy has no edges. */
typedef struct itg_run_edge {
    const char *value, *node; /* node NULL: graph output */
    int32_t slot, bits;       /* bits 0: not quantized */
    const char *method;       /* of the threshold; NULL: none */
} itg_run_edge;
typedef struct itg_run_edges itg_run_edges;
itg_status itg_run_edges_read(const itg_run_record *record, itg_run_edges **out, itg_error *err);
void itg_run_edges_destroy(itg_run_edges *edges);
int32_t itg_run_edges_count(const itg_run_edges *edges);
const itg_run_edge *itg_run_edges_at(const itg_run_edges *edges, int32_t index);
/* The run's strategy as the file that the search would have saved; a run without one is an error.
 */
itg_status itg_run_strategy_save(const itg_run_record *record, const char *path, itg_error *err);

/* What a trial of the run chose, by the run's choice space. A run without a space has no choices.
 */
typedef struct itg_run_choice {
    const char *kind, *value; /* "bits", "4"; "threshold", "mse" */
    const char *const *edges; /* "value -> node.slot" */
    int32_t edge_count;
} itg_run_choice;
typedef struct itg_run_choices itg_run_choices;
itg_status itg_run_choices_read(const itg_run_record *record, const itg_trial *trial,
                                itg_run_choices **out, itg_error *err);
void itg_run_choices_destroy(itg_run_choices *choices);
int32_t itg_run_choices_count(const itg_run_choices *choices);
const itg_run_choice *itg_run_choices_at(const itg_run_choices *choices, int32_t index);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
