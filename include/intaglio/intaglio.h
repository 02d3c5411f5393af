/* Intaglio's public interface: from a float ONNX model to an integer program with proven bounds and
 * reproducible bits.
 *
 *   itg_model_open ─▶ itg_calibrate_model ─▶ itg_uniform_strategy ─┐
 *                  └─▶ itg_search ──────────────────────────────────┴─▶ strategy
 *   strategy ─▶ itg_annotate_strategy ─▶ itg_realize_program ─▶ itg_program_run, _save, itg_emit_c
 *           └─▶ itg_simulate, itg_inspect, itg_explain (explain.h)
 *
 * Conventions. A function that can fail returns itg_status and fills the itg_error, which may be
 * NULL; *out is left as it was. The caller owns *out and frees it with the matching close or
 * destroy; these accept NULL. A string returned through `char **` is freed with itg_free; a `const
 * char *` that is returned belongs to the object it came from. The library does not print, exit or
 * read the clock. Several threads may read one object at the same time. threads 0: one for each
 * processor.
 *
 * Structs of options and hooks begin with their version and are initialized with a macro of their
 * name: itg_run_options o = ITG_RUN_OPTIONS_INIT (in C also {ITG_RUN_OPTIONS_VERSION, .threads =
 * 1}); all other members are then zero, which means the default. A version that is not the
 * library's, 0 among them, is ITG_BAD_ARGUMENT. A pointer to options may be NULL where that is
 * said: the defaults. */
#ifndef INTAGLIO_H
#define INTAGLIO_H
#include <intaglio/types.h>
#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__ /* what the shared library exports */
#pragma GCC visibility push(default)
#endif

/* clang-format off */
#ifdef __cplusplus
#define ITG_INIT(version_) {version_}
#else
#define ITG_INIT(version_) {.version = version_}
#endif
/* clang-format on */

const char *itg_engine_version(void); /* "0.1.0" */
void itg_free(void *memory);

/* ---- model ---- */
/* The network of a file, prepared: normalized for quantization (docs/preparation.md). */
typedef struct itg_graph itg_model;
#define ITG_MODEL_TEXT 512
typedef struct itg_model_options {
    int32_t version;
    bool no_equalize;  /* skip cross-layer equalization (docs/preparation.md 5.5), which changes no
                          float result: for comparison */
    bool keep_softmax; /* keep a Softmax or LogSoftmax at the end */
    /* Sizes of inputs that the file leaves open: "x=1,3,224,224,mask=1,16"; "1,3,224,224" of a
     * model with one input. "": as the file says. */
    char input_shapes[ITG_MODEL_TEXT];
    /* Values that become the outputs, in this order: "logits,boxes". What lies behind them is not
     * even imported. "": the file's. */
    char outputs[ITG_MODEL_TEXT];
} itg_model_options;
#define ITG_MODEL_OPTIONS_VERSION 1
#define ITG_MODEL_OPTIONS_INIT ITG_INIT(ITG_MODEL_OPTIONS_VERSION)
/* Imports a file (opset 7..28) and prepares it: batch 1, constants folded, operators fused, a
 * Softmax at the end left off unless it is to be kept. options NULL: the defaults. A strategy fits
 * only a model that was prepared with the same options. */
itg_status itg_model_open(const char *path, const itg_model_options *options, itg_model **out,
                          itg_error *err);
/* The same, from the bytes of a file. Errors call it `name`. */
itg_status itg_model_open_memory(const void *data, size_t bytes, const char *name,
                                 const itg_model_options *options, itg_model **out, itg_error *err);
void itg_model_close(itg_model *model);
/* Why a model cannot be opened: one entry for each kind of problem. */
typedef struct itg_refusal {
    char what[128];   /* "operator LSTM", "initializer" */
    char why[256];    /* a sentence */
    char first[128];  /* where it occurs first: the node's index and name, or the value's name */
    const char *help; /* what would make it work; NULL: not known */
    int64_t count;    /* how often it occurs */
} itg_refusal;
typedef struct itg_refusals itg_refusals;
/* Finds all problems of a model. An empty list: it can be opened. Fails if the file is damaged. */
itg_status itg_model_survey(const char *path, const itg_model_options *options, itg_refusals **out,
                            itg_error *err);
void itg_refusals_destroy(itg_refusals *refusals);
int32_t itg_refusals_count(const itg_refusals *refusals);
const itg_refusal *itg_refusals_at(const itg_refusals *refusals, int32_t index);
int64_t itg_refusals_others(const itg_refusals *refusals); /* problems that are not listed */
const char *itg_model_name(const itg_model *model);        /* file name without folders */
/* SHA-256, 32 bytes: of the file, and of the data that it has in other files. */
const unsigned char *itg_model_hash(const itg_model *model);
/* Paths of these other files, in its folder; NULL: past the last one. */
const char *itg_model_data_file(const itg_model *model, int32_t index);
/* A value of the file's metadata (ONNX's metadata_props); NULL: it has no such key. */
const char *itg_model_metadata(const itg_model *model, const char *key);
/* The file quantizes values itself: their ranges are kept, and they are not rounded. */
bool itg_model_quantized(const itg_model *model);
bool itg_model_narrowed(const itg_model *model); /* the file's float64 numbers became float32 */
bool itg_model_left_labels_out(const itg_model *model); /* a classifier's scores are its outputs */
bool itg_model_dropped_softmax(const itg_model *model); /* a Softmax at the end was left off */
const itg_model_options *itg_model_options_of(const itg_model *model); /* it was opened with */
int32_t itg_model_input_count(const itg_model *model);
const char *itg_model_input_name(const itg_model *model, int32_t index);
const itg_shape *itg_model_input_shape(const itg_model *model, int32_t index);
const char *itg_model_input_type(const itg_model *model, int32_t index); /* "f32", "s64"... */
const char *itg_model_output_type(const itg_model *model, int32_t index);
int32_t itg_model_output_count(const itg_model *model);
const char *itg_model_output_name(const itg_model *model, int32_t index);
const itg_shape *itg_model_output_shape(const itg_model *model, int32_t index);
/* Whether the output says one class of several: there is one output, and exactly one of its axes is
 * longer than 1 (or it is the number of a class). The quality of other networks is their SQNR. */
bool itg_model_is_classifier(const itg_model *model);
/* The prepared graph as text, which does not change between runs and machines. */
itg_status itg_model_print(const itg_model *model, char **out, itg_error *err);

/* ---- hardware ---- */
typedef struct itg_hardware itg_hardware;
/* One of the built-in descriptions by its name, or a file (docs/adding-a-target.md). */
itg_status itg_hardware_load(const char *name_or_path, itg_hardware **out, itg_error *err);
/* From JSON text. Errors call it `source`. */
itg_status itg_hardware_parse(const char *text, size_t bytes, const char *source,
                              itg_hardware **out, itg_error *err);
void itg_hardware_destroy(itg_hardware *hw);
int itg_hardware_builtin_count(void);
const char *itg_hardware_builtin_name(int index);
const char *itg_hardware_builtin_json(int index);
const char *itg_hardware_name(const itg_hardware *hw);
const char *itg_hardware_description(const itg_hardware *hw);
const char *itg_hardware_json(const itg_hardware *hw); /* as it is embedded in strategies */
bool itg_hardware_all_float(const itg_hardware *hw);   /* it quantizes nothing */
itg_status itg_hardware_schema_text(char **out,
                                    itg_error *err); /* the JSON Schema of descriptions */
/* What stands in the description without any effect: an override whose pattern matches no node of
 * the model, a class of integers that no operator uses... One line each, which begins with the key;
 * usually "". */
itg_status itg_hardware_notes_text(const itg_hardware *hw, const itg_model *model, char **out,
                                   itg_error *err);
/* Measures how fast this machine's kernels run the model's operators, on one thread, at 8 bits and
 * where the hardware has them at 16, and writes the description with these speeds in place of its
 * own: macs_per_cycle, depthwise_macs_per_cycle, output_cycles and float_macs_per_cycle, of
 * operators that the model has. A cycle is then a nanosecond. *out: JSON (itg_free); its name ends
 * with "-measured". *nanoseconds: what a sample took at 8 bits. The times are those of this run: no
 * two are alike. ITG_BAD_ARGUMENT: the hardware runs nothing as integers. */
itg_status itg_hardware_measure(const itg_hardware *hw, const itg_model *model, char **out,
                                double *nanoseconds, itg_error *err);

/* How the hardware runs each node of the prepared graph. */
typedef enum itg_placement {
    ITG_PLACE_INTEGER,
    ITG_PLACE_FUSED,
    ITG_PLACE_FLOAT,
    ITG_PLACE_REFUSED
} itg_placement;
typedef struct itg_node_report {
    const char *name, *op, *reason; /* reason: why it is not integer; NULL for INTEGER */
    itg_placement placement;
    int64_t macs, weight_elements; /* macs: multiply-accumulates of one sample */
} itg_node_report;
typedef struct itg_check itg_check;
itg_status itg_check_model(const itg_model *model, const itg_hardware *hw, itg_check **out,
                           itg_error *err);
void itg_check_destroy(itg_check *check);
int32_t itg_check_count(const itg_check *check);
const itg_node_report *itg_check_node(const itg_check *check, int32_t index);

/* ---- data ---- */
typedef struct itg_dataset itg_dataset;
/* Samples from .npy, .npz ("file.npz:array"), IDX (plain or gzip) or .csv, shape [samples, ...].
 * Of a .csv "file.csv:NAME" is one column, "file.csv:-NAME" all others; of a folder of images
 * "folder:3x224x224" are the samples, "folder:classes" the labels (docs/data.md). For a
 * model with several inputs: an .npz with one array for each, which bears the input's name, or
 * "image=a.npy,ids=b.npz:x"; all have the same number of samples. limit > 0: only so many from the
 * start. */
itg_status itg_data_open(const char *text, int64_t limit, itg_dataset **out, itg_error *err);
/* Samples from an array in memory, which is copied: shape [samples, ...], row-major. Errors call it
 * `name`. The hash is that of a file with the same array. */
itg_status itg_data_from_memory(const itg_tensor *array, const char *name, itg_dataset **out,
                                itg_error *err);
/* The data of several inputs as one: parts[i] [count] is for the model's input inputs[i]. They have
 * the same number of samples, and none has several arrays yet. They belong to *out, unless it
 * fails; *out is parts[0]. */
itg_status itg_data_join(itg_dataset *const *parts, const char *const *inputs, int32_t count,
                         itg_dataset **out, itg_error *err);
void itg_data_close(itg_dataset *data);
int64_t itg_data_samples(const itg_dataset *data);
/* SHA-256 of the samples that were read, their type and shape; 32 bytes. */
const unsigned char *itg_data_hash(const itg_dataset *data);
/* The same files, read once and in parts: for calibration on more samples than fit into memory. */
typedef struct itg_data_stream itg_data_stream;
itg_status itg_data_stream_open(const char *text, int64_t limit, itg_data_stream **out,
                                itg_error *err);
void itg_data_stream_close(itg_data_stream *stream);
int64_t itg_data_stream_samples(const itg_data_stream *stream);
/* Writes an array as .npy (format 1.0 of numpy.lib.format), or several as an .npz, each under its
 * name, not compressed: little-endian, row-major. What stands at path is replaced. */
itg_status itg_tensor_write_npy(const itg_tensor *t, const char *path, itg_error *err);
itg_status itg_tensors_write_npz(const char *const *names, const itg_tensor *tensors, int32_t count,
                                 const char *path, itg_error *err);
/* Labels are data too, one entry a sample. Whole numbers in [samples] or [samples, 1] are classes
 * if the model's first output is one of classes (itg_model_is_classifier); an array with as many
 * elements a sample as the first output has are targets, what the output should be. Others are for
 * a metric of the calling program (itg_user_metric) alone. */

#define ITG_MAX_CHANNELS 16
#define ITG_MAX_INPUT_NAMES 256
/* The order of the samples' axes compared with the model's input. */
typedef enum itg_sample_layout {
    ITG_SAMPLES_SAME, /* equal; channels are axis 1 of the model's input */
    ITG_SAMPLES_NCHW, /* samples are NCHW, the model takes NHWC */
    ITG_SAMPLES_NHWC, /* samples are NHWC, the model takes NCHW */
    ITG_SAMPLE_LAYOUTS
} itg_sample_layout;
const char *itg_sample_layout_name(itg_sample_layout layout); /* "same", "nchw", "nhwc" */
bool itg_sample_layout_from_name(const char *name, itg_sample_layout *out);
/* Applied in this order: reverse the channels (bgr); (x*scale - mean)/std in float32; change the
 * layout; reshape. For inputs that are not float32, only bgr and layout apply: scale, mean and std
 * are refused, and so is an element that the input's type cannot hold exactly. */
typedef struct itg_preprocess {
    bool bgr;
    float scale;
    int32_t mean_count, std_count; /* 0: none; 1, or the number of channels */
    float mean[ITG_MAX_CHANNELS], std[ITG_MAX_CHANNELS];
    itg_sample_layout layout;
    bool allow_nonfinite; /* false: an element that is NaN or infinite is an error; of all inputs */
    char
        inputs[ITG_MAX_INPUT_NAMES]; /* the inputs that this is for, "image" or "left,right"; others
                                        take their data as it is. "": the model has one input */
} itg_preprocess;
itg_preprocess itg_preprocess_default(void);
itg_status itg_preprocess_text(const itg_preprocess *p, char **out,
                               itg_error *err); /* JSON, as in strategy files */
/* From such text. Errors call it `source`. */
itg_status itg_preprocess_from_text(const char *text, const char *source, itg_preprocess *out,
                                    itg_error *err);
/* "0.5", "1/255", "0.1,0.2,0.3" as float32; a ratio is divided in double and rounded once. */
itg_status itg_preprocess_parse_list(const char *text, float *out, int32_t max, int32_t *count,
                                     itg_error *err);

/* ---- calibration ---- */
/* Their names, "reference" and "onednn", and whether this build has them. */
const char *itg_float_kernels_name(itg_float_kernels kernels);
bool itg_float_kernels_from_name(const char *name, itg_float_kernels *out);
bool itg_float_kernels_built(itg_float_kernels kernels);

/* Ranges and histograms of all values of a model. */
typedef struct itg_stats itg_stats;
/* Runs the float network on all samples, with the reference kernels. */
itg_status itg_calibrate_model(const itg_model *model, const itg_dataset *data,
                               const itg_preprocess *p, int threads, itg_stats **out,
                               itg_error *err);
typedef struct itg_calibrate_options {
    int32_t version;
    itg_float_kernels kernels; /* ITG_FLOAT_ONEDNN: other machines may get other statistics */
    int threads;
    itg_stop stop;
} itg_calibrate_options;
#define ITG_CALIBRATE_OPTIONS_VERSION 1
#define ITG_CALIBRATE_OPTIONS_INIT ITG_INIT(ITG_CALIBRATE_OPTIONS_VERSION)
/* The same with options; NULL: the defaults. */
itg_status itg_calibrate_data(const itg_model *model, const itg_dataset *data,
                              const itg_preprocess *p, const itg_calibrate_options *options,
                              itg_stats **out, itg_error *err);
/* The same on a stream that has not been read yet; memory does not grow with the samples. */
itg_status itg_calibrate_stream(const itg_model *model, itg_data_stream *stream,
                                const itg_preprocess *p, const itg_calibrate_options *options,
                                itg_stats **out, itg_error *err);
void itg_stats_destroy(itg_stats *stats);
/* The range of one value of the model over all samples. */
typedef struct itg_value_range {
    const char *value; /* its name; borrowed from the model */
    int64_t count;     /* finite elements, over all samples */
    double min, max;
    double mean, variance; /* of about 2^20 of them or more */
} itg_value_range;
int32_t itg_stats_count(const itg_stats *stats);
/* In the order of the prepared graph. False: there are no statistics, since it is a constant. */
bool itg_stats_at(const itg_stats *stats, const itg_model *model, int32_t index,
                  itg_value_range *out);

/* ---- strategies ---- */
typedef struct itg_bits_range {
    int32_t min, max;
} itg_bits_range; /* 0,0: as the hardware says */
/* A strategy (bits and threshold of every edge) with its hardware, preprocessing, hashes, results.
 */
typedef struct itg_strategy_file itg_strategy_file;
typedef struct itg_uniform_options {
    int32_t version;
    int32_t weight_bits, activation_bits;
    itg_threshold_method activation_method, weight_method; /* itg_threshold_default() */
    int32_t input_bits, output_bits; /* of the network's inputs and outputs; 0: activation_bits */
} itg_uniform_options;
#define ITG_UNIFORM_OPTIONS_VERSION 1
#define ITG_UNIFORM_OPTIONS_INIT ITG_INIT(ITG_UNIFORM_OPTIONS_VERSION)
itg_threshold_method itg_threshold_default(void);
bool itg_threshold_from_name(const char *name, itg_threshold_method *out);
const char *itg_threshold_name(itg_threshold_method method);
/* One width for all weights and one for all activations; where the hardware does not allow it, the
 * next narrower one, else the next wider one. stats may be NULL for all-float hardware.
 * calibration: the data that the file shall name as the source of the statistics; may be NULL. */
itg_status itg_uniform_strategy(const itg_model *model, const itg_hardware *hw,
                                const itg_preprocess *p, const itg_stats *stats,
                                const itg_dataset *calibration, const itg_uniform_options *options,
                                itg_strategy_file **out, itg_error *err);
/* How codes of weights are chosen (docs/recover.md). */
typedef enum itg_recover_mode {
    ITG_RECOVER_AUTO,   /* as ROUND, of narrow weights, where the outputs come nearer */
    ITG_RECOVER_NONE,   /* the nearest codes for the thresholds */
    ITG_RECOVER_SCALES, /* the nearest codes for scales that are best for each layer's outputs */
    ITG_RECOVER_ROUND,  /* codes and scales together */
    ITG_RECOVER_MODES
} itg_recover_mode;
const char *itg_recover_mode_name(itg_recover_mode mode);
bool itg_recover_mode_from_name(const char *name, itg_recover_mode *out);
/* Returns how many samples calibration and the choice of codes use by default: 1024, and up to 4096
 * for a small network: 3.5e10 multiply-accumulates (an element of a value counts as 32) and 64e6
 * elements of inputs in all. */
int64_t itg_default_samples(const itg_model *model);
/* Returns how many samples more say whether codes that were chosen on `used` samples are better. */
int64_t itg_compared_samples(int64_t used);
/* Finds codes, scales and biases of weights with which each layer's outputs come nearest to the
 * float network's, in place of the nearest codes. Thresholds of a classifier's activations change,
 * too, where they lose more than they must; widths stay. The same strategy results on every
 * machine. */
typedef struct itg_recover_options {
    int32_t version;
    itg_recover_mode mode;
    const itg_dataset *data; /* samples to compare on; no labels */
    int64_t most_samples;    /* of data, from the first on; 0: itg_default_samples */
    int threads;
    itg_stop stop;
    /* Asked before and within each layer, by any thread; true, and true from then on: layers that
     * are not finished keep the nearest codes. NULL: never. */
    bool (*enough)(void *context);
    /* Called before each layer, several times where the network is tiny; NULL: not wanted. */
    void (*progress)(void *context, int32_t layer, int32_t layers);
    void *context; /* of these two */
} itg_recover_options;
#define ITG_RECOVER_OPTIONS_VERSION 1
#define ITG_RECOVER_OPTIONS_INIT ITG_INIT(ITG_RECOVER_OPTIONS_VERSION)
/* *taken (may be NULL): whether a weight has such codes now. ITG_RECOVER_AUTO leaves the strategy
 * as it is where its outputs are no farther from the float network's, on samples of data behind the
 * ones that are used, or on these where there are no others. */
itg_status itg_strategy_recover(itg_strategy_file *file, const itg_model *model,
                                const itg_recover_options *options, bool *taken, itg_error *err);
/* Weight codes of a strategy are in a second file beside the first (docs/strategy-file.md): open
 * reads both, save writes both or neither. */
itg_status itg_strategy_open(const itg_model *model, const char *path, itg_strategy_file **out,
                             itg_error *err);
/* The same, from the bytes of the two files; codes NULL: there is no second file. Errors call it
 * `name`. */
itg_status itg_strategy_open_memory(const itg_model *model, const itg_buffer *text,
                                    const itg_buffer *codes, const char *name,
                                    itg_strategy_file **out, itg_error *err);
/* The options with which the model of a strategy file must be opened. */
itg_status itg_strategy_model_options(const char *path, itg_model_options *out, itg_error *err);
itg_status itg_strategy_save(const itg_strategy_file *file, const itg_model *model,
                             const char *path, itg_error *err);
/* The same, as the bytes of the two files; codes->data NULL: there is no second one. */
itg_status itg_strategy_save_memory(const itg_strategy_file *file, const itg_model *model,
                                    itg_buffer *text, itg_buffer *codes, itg_error *err);
itg_status itg_strategy_text(const itg_strategy_file *file, const itg_model *model, char **out,
                             itg_error *err); /* as it is saved */
void itg_strategy_close(itg_strategy_file *file);
/* The narrowest and the widest width of quantized weights, or of all other edges; 0,0: there are
 * none. */
itg_bits_range itg_strategy_bits(const itg_strategy_file *file, bool weights);
const itg_hardware *itg_strategy_hardware(const itg_strategy_file *file);
/* The kernels that made the statistics. */
itg_float_kernels itg_strategy_float_kernels(const itg_strategy_file *file);
itg_preprocess *itg_strategy_preprocess(itg_strategy_file *file); /* may be changed */

/* How a search divided its data, so that its evaluations can be repeated. */
typedef enum itg_split_part {
    ITG_SPLIT_CALIBRATION,
    ITG_SPLIT_SEARCH,
    ITG_SPLIT_SELECTION, /* on which the final choice is made */
    ITG_SPLIT_HOLDOUT,
    ITG_SPLIT_PARTS
} itg_split_part;
typedef struct itg_split_info {
    int64_t samples; /* of the data; 0: nothing was divided */
    uint64_t seed;
    int64_t count[ITG_SPLIT_PARTS];
} itg_split_info;
itg_split_info itg_strategy_split(const itg_strategy_file *file);
/* The samples of one part; likewise their labels. Fails if data does not have info->samples
 * samples. */
itg_status itg_data_part(const itg_dataset *data, const itg_split_info *info, itg_split_part part,
                         itg_dataset **out, itg_error *err);

/* ---- a metric of the calling program ---- */
/* What a program, or the float network, gave for a set of samples. */
typedef struct itg_outputs {
    int64_t samples;
    int32_t count; /* of the model's outputs */
    const itg_tensor
        *outputs; /* [count]: float32, [samples, ...] row-major; codes are dequantized */
    const itg_tensor *labels; /* [samples, ...], as they were given; NULL: none */
} itg_outputs;
/* A quality that the calling program computes. score is called once for each evaluation that saw
 * all of its samples, with all outputs, so that it need not be a mean over samples; equal outputs
 * must give equal results. It is called by any thread, one call at a time; what outputs points to
 * is valid during the call. NaN or infinite: not known, which is worse than any number; a number
 * outside the unit's range ends the evaluation with ITG_BAD_ARGUMENT. A trial is not stopped early
 * (racing) because of it. */
typedef struct itg_user_metric {
    itg_user_info info;
    double (*score)(void *context, const itg_outputs *outputs);
    void *context;
} itg_user_metric;

/* ---- evaluation ---- */
/* The value of a metric, stored or derived; NaN: not known. Derived ones:
 *   ACCURACY: top1, or agreement if top1 is not known.
 *   SQNR: the distortion in dB, -10 log10 of it; +INFINITY: the outputs are equal. */
double itg_score_get(const itg_score *score, itg_metric metric);
double itg_sqnr_of(double distortion); /* in dB; +INFINITY: 0; NaN: not known */
bool itg_score_knows(const itg_score *score, itg_metric metric);
/* The prepared graph with a quantizer on every edge: what a strategy means exactly. */
typedef struct itg_annotated itg_annotated;
/* model and file must outlive it. */
itg_status itg_annotate_strategy(const itg_model *model, const itg_strategy_file *file,
                                 itg_annotated **out, itg_error *err);
void itg_annotated_destroy(itg_annotated *annotated);
itg_status itg_annotated_text(const itg_annotated *annotated, char **out, itg_error *err);
typedef struct itg_simulate_options {
    int32_t version;
    const itg_dataset *labels;   /* NULL: none */
    const itg_user_metric *user; /* [ITG_USER_METRICS]; NULL: none */
    bool with_agreement;         /* also run the float model, for agreement and distortion */
    int threads;
    /* [ITG_METRIC_COUNT]: metrics that are computed only where they are asked for
     * (docs/metrics.md); NULL: none. One that does not apply stays unknown. */
    const bool *measures;
    /* [itg_model_output_count]: with_agreement, the distortion of each output alone (NaN: not
     * known); NULL: not wanted. */
    double *output_distortion;
    itg_stop stop; /* asked before each block of samples */
    /* Run the definition, one operation after the other as docs/arithmetic.md states them, and not
     * the executor: slow, and the same in every bit. */
    bool definition;
} itg_simulate_options;
#define ITG_SIMULATE_OPTIONS_VERSION 1
#define ITG_SIMULATE_OPTIONS_INIT ITG_INIT(ITG_SIMULATE_OPTIONS_VERSION)
/* Runs the strategy as its program would be run, with the results that docs/arithmetic.md defines.
 * The score is also kept in file, and saved with it. options NULL: the defaults. */
itg_status itg_simulate(const itg_model *model, itg_strategy_file *file, const itg_dataset *data,
                        const itg_simulate_options *options, itg_score *out, itg_error *err);

/* Every edge compared with the float model, the worst SQNR first. */
typedef struct itg_edge_report {
    const char *value, *node;  /* node NULL: graph output */
    int32_t slot, bits, index; /* index: in the edge order of the strategy file */
    double float_min, float_max, float_mean, float_std, sim_min, sim_max, sim_mean, sim_std;
    double sqnr_db;               /* +infinity: no error */
    double saturated, overflowed; /* shares of elements */
} itg_edge_report;
/* How often the values of an edge lie where, in units of its quantizer's codes. Bin i holds what is
 * nearest to the codes first + i width up to first + (i+1) width - 1. The bins cover all codes and
 * ITG_EDGE_MARGIN bins on either side of them; the outermost two also hold all beyond. */
#define ITG_EDGE_BINS 72
#define ITG_EDGE_MARGIN 4
typedef struct itg_edge_histogram {
    int64_t first, width;
    int32_t count; /* of bins; 0: the edge has no integers */
    int64_t floats[ITG_EDGE_BINS], codes[ITG_EDGE_BINS];
} itg_edge_histogram;
typedef struct itg_inspection itg_inspection;
/* The report borrows names from model, which must outlive it. */
itg_status itg_inspect(const itg_model *model, const itg_strategy_file *file,
                       const itg_annotated *annotated, const itg_dataset *data, int threads,
                       itg_inspection **out, itg_error *err);
void itg_inspection_destroy(itg_inspection *inspection);
int32_t itg_inspection_count(const itg_inspection *inspection);
const itg_edge_report *itg_inspection_edge(const itg_inspection *inspection, int32_t index);
/* Of the same edge, over all samples (of a constant: once for each). */
const itg_edge_histogram *itg_inspection_histogram(const itg_inspection *inspection, int32_t index);

/* ---- realization ---- */
typedef struct itg_program itg_program;
typedef struct itg_realize_options {
    int32_t version;
    bool allow_overflow; /* false: fail with ITG_UNBOUNDED if an accumulator might overflow */
} itg_realize_options;
#define ITG_REALIZE_OPTIONS_VERSION 1
#define ITG_REALIZE_OPTIONS_INIT ITG_INIT(ITG_REALIZE_OPTIONS_VERSION)
typedef struct itg_bound {
    int32_t node;   /* its index in the prepared graph, or in the program */
    int64_t lo, hi; /* the exact interval of all partial sums; limited to int64 */
    bool fits;
    itg_accumulator acc;
} itg_bound;
/* options NULL: the defaults. */
itg_status itg_realize_program(const itg_annotated *annotated, const itg_realize_options *options,
                               itg_program **out, itg_error *err);
/* The program of a strategy: itg_annotate_strategy and itg_realize_program in one call. */
itg_status itg_realize_strategy(const itg_model *model, const itg_strategy_file *file,
                                const itg_realize_options *options, itg_program **out,
                                itg_error *err);
void itg_program_destroy(itg_program *program);
/* Writes an ONNX file with operators of the domain "ai.intaglio" (docs/artefact.md) that needs
 * nothing else to run. model and file: what the program was made from; both NULL: a program that
 * was opened keeps what its file said. */
itg_status itg_program_save(const itg_program *program, const itg_model *model,
                            const itg_strategy_file *file, const char *path, itg_error *err);
/* The same, as the bytes of the file. */
itg_status itg_program_save_memory(const itg_program *program, const itg_model *model,
                                   const itg_strategy_file *file, itg_buffer *out, itg_error *err);
/* Everything is checked: a damaged file is an error. */
itg_status itg_program_open(const char *path, itg_program **out, itg_error *err);
/* The same, from the bytes of a file. Errors call it `name`. */
itg_status itg_program_open_memory(const void *data, size_t bytes, const char *name,
                                   itg_program **out, itg_error *err);
itg_status itg_program_preprocess(const itg_program *program, itg_preprocess *out,
                                  itg_error *err); /* as saved */
itg_split_info itg_program_split(const itg_program *program);
int32_t itg_program_float_island_count(const itg_program *program);
const char *itg_program_float_island(const itg_program *program,
                                     int32_t index); /* "Softmax attn/softmax: reason" */
const itg_bound *itg_program_bounds(const itg_program *program, int32_t *count);
const char *itg_program_bound_name(const itg_program *program, int32_t index);
/* The memory that a device needs to run the program: the metric peak_activation_bytes. If the
 * program can be C source (itg_emit_c), it is the arena of that source: activations and scratch;
 * inputs and outputs belong to the caller. Else activations and outputs, without inputs and
 * scratch. */
itg_status itg_program_ram_bytes(const itg_program *program, int64_t *out, itg_error *err);
/* How a program was made to fit: its first `layers` steps by stripes of rows; or the product of a
 * recurrent operator's inputs of all steps as one for each step; neither: it fits as it is. */
typedef struct itg_tiling {
    int32_t layers, stripes;
    bool by_products;
    int64_t whole_bytes, bytes; /* of RAM, before and now */
    int64_t whole_macs, macs;   /* multiply-accumulates, before and now */
} itg_tiling;
/* Makes a program that takes at most `most` bytes of RAM as C source and gives the same codes: some
 * of its first steps are computed by stripes of rows of their result, and rows at the borders of
 * stripes twice. Takes what is quickest by an estimate. *out reads the memory of `program` and must
 * be destroyed before it; NULL if the program fits as it is. ITG_INFEASIBLE: no stripes suffice;
 * the error says what they would take. */
itg_status itg_program_tile(const itg_program *program, int64_t most, itg_tiling *tiling,
                            itg_program **out, itg_error *err);
/* What lies where in that memory, step by step. */
typedef struct itg_memory_plan itg_memory_plan;
typedef struct itg_memory_place {
    const char *name;    /* of the value; of scratch that of its step */
    bool scratch;        /* what one step needs beside its operands */
    int32_t first, last; /* there from this step to that one, both included */
    int64_t offset, bytes;
} itg_memory_place;
/* Values whose lives meet overlap only where a step writes its result over, or behind, an operand
 * that it reads for the last time, or renames bytes. */
itg_status itg_program_memory(const itg_program *program, itg_memory_plan **out, itg_error *err);
void itg_memory_plan_destroy(itg_memory_plan *plan);
int64_t itg_memory_plan_bytes(const itg_memory_plan *plan); /* as itg_program_ram_bytes */
int32_t itg_memory_plan_steps(const itg_memory_plan *plan);
const char *itg_memory_plan_step(const itg_memory_plan *plan, int32_t index); /* its name */
int32_t itg_memory_plan_count(const itg_memory_plan *plan);
const itg_memory_place *itg_memory_plan_at(const itg_memory_plan *plan, int32_t index);
itg_status itg_program_text(const itg_program *program, char **out, itg_error *err);
#define ITG_MOST_BLOCK 4096
typedef struct itg_run_options {
    int32_t version;
    const itg_preprocess *preprocess; /* NULL: as saved (itg_program_preprocess) */
    const itg_dataset *labels;        /* NULL: none */
    const itg_user_metric *user;      /* [ITG_USER_METRICS]; NULL: none */
    /* Neither changes a result. block: samples that are computed together, at most ITG_MOST_BLOCK;
     * 0: chosen by the sizes of the values. */
    int threads;
    int64_t block;
    /* Called for each sample, in order, with the program's outputs in their storage type, valid
     * during the call. A failure ends the run. May be NULL. */
    itg_status (*outputs)(void *context, int64_t sample, const itg_tensor *outputs, int32_t count,
                          itg_error *err);
    void *context;
    void *buffer; /* gets the first output of all samples, [samples, ...] in its storage type; NULL:
                     not wanted */
    size_t buffer_bytes;  /* exactly as many as that takes */
    const char *npy_path; /* writes the outputs as .npy, [samples, ...], one file each, named by
                             itg_program_npy_path; NULL: no files */
    bool dequantize;      /* outputs, buffer and files get codes as the real numbers that they stand
                             for, float32 (rounded once); integers that are no codes stay */
    const bool *measures; /* [ITG_METRIC_COUNT]: as of itg_simulate_options; what compares with the
                             float network stays unknown */
} itg_run_options;
#define ITG_RUN_OPTIONS_VERSION 1
#define ITG_RUN_OPTIONS_INIT ITG_INIT(ITG_RUN_OPTIONS_VERSION)
/* Runs all samples. options NULL: the defaults. */
itg_status itg_program_run(const itg_program *program, const itg_dataset *data,
                           const itg_run_options *options, itg_score *out, itg_error *err);

int32_t itg_program_input_count(const itg_program *program);
/* Of one sample; it belongs to the program. */
const itg_shape *itg_program_input_shape(const itg_program *program, int32_t index);
int32_t itg_program_output_count(const itg_program *program);
/* What a program gives. real = scale * (code - zero_point). Strings belong to the program. */
typedef struct itg_output_info {
    const char *name, *type; /* "s8", "f32"... */
    const itg_shape *shape;  /* of one sample */
    int32_t bits;            /* 0: no codes */
    float scale;
    int32_t zero_point;
} itg_output_info;
itg_output_info itg_program_output(const itg_program *program, int32_t index);
/* The name of the file of one output: "out.npy", "out.1.npy"...; freed with itg_free, NULL: no
 * memory. */
char *itg_program_npy_path(const char *npy_path, int32_t output);

/* ---- verification ---- */
/* A certificate states the exact interval of every accumulator and requantization of a program's
 * file, and hashes of its parts (docs/verify.md). It is derived from the file alone, by code that
 * is shared with nothing that made the program. */
char *itg_certificate_path(const char *artefact); /* its usual name; itg_free; NULL: no memory */
/* Derives the certificate of a file and writes it. Fails if the file contradicts itself, or states
 * bounds that do not follow from its codes. */
itg_status itg_certify(const char *artefact, const char *certificate, itg_error *err);

/* One accumulator. */
typedef struct itg_verified_sum {
    const char *node, *type; /* "conv1", "IntConv" */
    const char *part;        /* of a sum in parts: "parts", "joined"; NULL: a plain sum */
    const char *rule;        /* a sentence: how the interval was found */
    const char *lo, *hi;     /* the interval, decimal; of "parts": it holds for every part */
    itg_accumulator acc;
    int32_t spare_bits; /* of the accumulator; negative: so many are missing */
    bool fits;
} itg_verified_sum;
typedef struct itg_verification itg_verification;
/* Derives the certificate again and compares it with the one on disk. ITG_OK: that was possible;
 * the result says what came out. certificate NULL: the file that itg_certificate_path names. */
itg_status itg_verify(const char *artefact, const char *certificate, itg_verification **out,
                      itg_error *err);
/* The same for C source in a folder (itg_emit_c). NAME.itg is the program, with a certificate of
 * its own; NAME.cert.json has the hash of every file. The source is written again from the program,
 * and must be equal byte by byte. */
itg_status itg_certify_source(const char *directory, const char *name, itg_error *err);
itg_status itg_verify_source(const char *directory, const char *name, itg_verification **out,
                             itg_error *err);
void itg_verification_destroy(itg_verification *verification);
int32_t itg_verification_sum_count(const itg_verification *verification);
const itg_verified_sum *itg_verification_sum(const itg_verification *verification, int32_t index);
/* How many tensors and nodes have a hash of their own. */
int32_t itg_verification_tensor_count(const itg_verification *verification);
int32_t itg_verification_node_count(const itg_verification *verification);
/* Problems, with node and place; none: verified. Only the first ones are kept as text. */
int32_t itg_verification_problem_count(const itg_verification *verification);
int32_t itg_verification_problem_texts(const itg_verification *verification);
const char *itg_verification_problem(const itg_verification *verification, int32_t index);
const unsigned char *
itg_verification_hash(const itg_verification *verification); /* the artefact's */

/* ---- summaries ---- */
/* How a strategy, or a program, quantizes each edge, and what each layer costs. Summaries of one
 * model list edges and layers in the same order, so that two can be compared one by one. */
typedef struct itg_summary_edge {
    const char *value, *node; /* node NULL: graph output */
    const char *producer; /* the node that computes the value; NULL: an input, a constant, or not
                             known (a strategy without its model) */
    int64_t elements;     /* of a constant; 0: computed, an input, or not known */
    int32_t slot, bits;   /* bits 0: not quantized; the rest is not set */
    const char *sign;     /* "signed", "unsigned"; NULL: the next three are not known */
    int32_t zero_point;
    double scale;       /* the largest, if each channel has its own */
    const char *scales; /* hash of all */
    const char *method; /* of the threshold */
    double lo, hi;      /* the threshold; of weights [-t, t] with the largest t of all channels */
    const char *thresholds; /* hash of all */
    /* Hashes of what a strategy gives a weight besides; NULL: nothing. Its zero points; its codes,
     * where they are not the nearest (without the model: of all codes of the strategy); the bias
     * of its layer, in place of the model's. */
    const char *zero_points, *codes, *bias;
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
    bool has_costs;  /* false: there are no layers, signs and scales */
    itg_score score; /* costs, and quality if it was recorded (samples 0: it was not) */
    int32_t edge_count, layer_count;
} itg_summary_info;
typedef struct itg_summary itg_summary;
/* Reads a strategy file or a program. model may be NULL: then a strategy has no costs, signs and
 * scales. Fails if the file belongs to another model. */
itg_status itg_summary_open(const char *path, const itg_model *model, itg_summary **out,
                            itg_error *err);
void itg_summary_destroy(itg_summary *summary);
const itg_summary_info *itg_summary_info_of(const itg_summary *summary);
const itg_summary_edge *itg_summary_edge_at(const itg_summary *summary, int32_t index);
const itg_summary_layer *itg_summary_layer_at(const itg_summary *summary, int32_t index);
/* ---- C source ---- */
/* Bytes that the C source of a program takes, without code and stack. */
typedef struct itg_emit_sizes {
    char name[64]; /* the prefix of its identifiers */
    int64_t macs, weight_bytes, constant_bytes, arena_bytes;
} itg_emit_sizes;
typedef struct itg_emit_options {
    int32_t version;
    const char *name;                 /* NULL: the program's, as a C identifier */
    int32_t samples;                  /* of the self-test; 0: 4 */
    const itg_dataset *data;          /* where they come from; NULL: random codes */
    const itg_preprocess *preprocess; /* for data; NULL: none */
} itg_emit_options;
#define ITG_EMIT_OPTIONS_VERSION 1
#define ITG_EMIT_OPTIONS_INIT ITG_INIT(ITG_EMIT_OPTIONS_VERSION)
/* Writes NAME.h, NAME.c and NAME_selftest.c, freestanding C99, into an existing folder
 * (docs/emit-c.md). ITG_UNSUPPORTED: the program is not integers alone, the error says why, and no
 * file is written. options and out may be NULL. */
itg_status itg_emit_c(const itg_program *program, const itg_emit_options *options,
                      const char *directory, itg_emit_sizes *out, itg_error *err);

/* ---- QDQ models ---- */
/* A strategy as an ONNX model with QuantizeLinear and DequantizeLinear (docs/qdq.md).
 * ITG_UNSUPPORTED: the error names what ONNX cannot express; no file is written. */
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
/* Nodes for which ONNX Runtime does not promise the bits of the integer program. */
int32_t itg_qdq_report_count(const itg_qdq_report *report);
const itg_qdq_note *itg_qdq_report_note(const itg_qdq_report *report, int32_t index);

/* ---- search ---- */
/* The limit that the hardware's description sets: memory.flash_bytes, memory.ram_bytes; 0: none. */
double itg_hardware_limit(const itg_hardware *hw, itg_metric metric);

/* At least `bound` where a larger value is better, else at most; in the metric's unit. */
typedef struct itg_constraint {
    itg_metric metric;
    double bound;     /* -INFINITY for a quality: no bound, but it becomes the goal's quality */
    bool below_float; /* for a quality: it may be worse than the float network's by `bound` */
} itg_constraint;
#define ITG_MOST_OBJECTIVES 4
#define ITG_MOST_CONSTRAINTS 12
/* What a search looks for. A trial meets the goal if it is feasible and satisfies every constraint
 * and the hardware's own limits. The best trial is the one, among those, with the best first
 * objective; among equal ones, with the best second objective, and so on; docs/decisions.md says
 * how ties are broken. Objectives are costs to minimize, or one quality to improve. A goal has one
 * quality: the one it names, else ACCURACY. All zero: minimize weight_bytes without constraints. */
typedef struct itg_goal {
    itg_metric objectives[ITG_MOST_OBJECTIVES];
    itg_constraint constraints[ITG_MOST_CONSTRAINTS]; /* of different metrics */
    int32_t objective_count, constraint_count;        /* objective_count 0: weight_bytes */
    /* Metrics that the calling program brings: user[i] is ITG_METRIC_USER1 + i. They are in every
     * score of the search, and may be the goal's quality. */
    itg_user_metric user[ITG_USER_METRICS];
} itg_goal;
/* As itg_metric_about; of a user's metric what the goal says, which must outlive the result. */
itg_metric_info itg_goal_about(const itg_goal *goal, itg_metric metric);
/* Adds a constraint; it replaces one on the same metric. False: there are too many. */
bool itg_goal_constrain(itg_goal *goal, itg_metric metric, double bound, bool below_float);
void itg_goal_release(itg_goal *goal, itg_metric metric); /* removes the constraint on it */
const itg_constraint *itg_goal_constraint(const itg_goal *goal, itg_metric metric); /* or NULL */
/* The first objective, and the quality that the goal is about. */
itg_metric itg_goal_objective(const itg_goal *goal);
itg_metric itg_goal_quality_metric(const itg_goal *goal);
bool itg_goal_maximizes_quality(const itg_goal *goal);
bool itg_goal_counts_classes(const itg_goal *goal); /* its quality is a share of the samples */
/* "size", "size, cycles", "quality": as in the options' text; returns buffer. */
const char *itg_goal_objectives_text(const itg_goal *goal, char *buffer, size_t size);
double itg_goal_limit(const itg_goal *goal, itg_metric cost); /* largest allowed; 0: none */
/* The largest loss of quality against the float network (negative: no such constraint), and the
 * least SQNR in dB (0: none). */
double itg_goal_drop(const itg_goal *goal);
double itg_goal_least_sqnr(const itg_goal *goal);
#define ITG_MOST_SQNR_DB 200.0 /* larger values count as this one */
/* The goal's quality as searchers weigh it, larger is better: a share from 0 to 1, the SQNR in dB /
 * 100 from -2 to 2, or a user's metric, negated where less of it is better. Searchers treat a
 * difference of 0.01 as a point of top-1. If it is not known: less than any that is. */
double itg_goal_quality(const itg_goal *goal, const itg_score *score);
/* Makes the goal one of a front: of these costs, at most three, and of the goal's quality. */
void itg_goal_set_front(itg_goal *goal, const itg_metric *costs, int32_t count);
/* Whether a score satisfies the goal. floats: the float network's score on the same samples. */
bool itg_goal_is_met(const itg_goal *goal, const itg_score *floats, const itg_score *score);
/* Costs of a strategy and its program; quality and digest are not set. */
itg_status itg_strategy_costs(const itg_strategy_file *file, const itg_annotated *annotated,
                              const itg_program *program, itg_score *out, itg_error *err);
/* What the file of a program says: its hardware (NULL: nothing), its parameter bytes, its RAM; no
 * other metric is set. */
itg_status itg_program_target(const itg_program *program, itg_hardware **hw, itg_score *out,
                              itg_error *err);
/* What the model costs if all widths are `bits`, or the nearest that the hardware allows; every
 * value is assumed to lie in [-1, 1]. No metric is set if the hardware cannot run it. no_c (may be
 * NULL): why it cannot be C source; "": it can, or that is not known. */
itg_status itg_check_costs(const itg_model *model, const itg_hardware *hw, int32_t bits,
                           itg_score *out, char no_c[512], itg_error *err);
/* The goal with the hardware's limits added; of two limits on one metric the smaller one. */
itg_goal itg_goal_on(const itg_goal *goal, const itg_hardware *hw);

#define ITG_WORKER_NAME 64
typedef struct itg_trial {
    int64_t index; /* from 0 */
    int32_t round; /* of weight codes: 0: for uniform widths; 1: for those of the round's first
                      trial; 2: for its own */
    const int32_t *point; /* one per dimension of the choice space: a width, or the index of
                             one of the dimension's values */
    int32_t dim_count;
    bool feasible;     /* the hardware can run it */
    bool meets_goal;   /* set in hooks and results; not read from replayed or logged trials */
    bool duplicate;    /* likewise; an earlier trial has the same point */
    itg_score score;   /* on the search samples; digest: of the program that would be deployed */
    double seconds;    /* by hooks.clock; 0 without a clock */
    const char *error; /* if not feasible: why */
    char worker[ITG_WORKER_NAME]; /* who evaluated it, where that was another process (share.h);
                                     "": this one, or nobody, as it is a duplicate */
} itg_trial;

#define ITG_MAX_METHODS 8
typedef struct itg_threshold_methods {
    itg_threshold_method values[ITG_MAX_METHODS];
    int32_t count;
} itg_threshold_methods;
#define ITG_SEARCHER_TEXT 128
/* search_options.def lists what may be said of these members on a command line and in a log. */
/* Where a search begins: a value for each dimension (itg_trial.point). */
typedef struct itg_search_start itg_search_start;
/* Where earlier trials came from, as the options as text keep it, and the trials: points of this
 * search, in order. */
typedef struct itg_search_past {
    const char *name;
    const itg_trial *trials;
    int64_t count;
} itg_search_past;
typedef struct itg_search_options {
    int32_t version;
    /* A searcher's name, and parameters of its own that differ from their defaults:
     * "anneal:t0=0.5,cooling=0.98". "": "hybrid". */
    char searcher[ITG_SEARCHER_TEXT];
    itg_goal goal;
    int64_t trials;   /* at most; 0: the searcher's default, or until it ends by itself */
    double seconds;   /* begin no trial after these, by hooks.clock; 0: no limit */
    int64_t patience; /* end after so many trials without a better best, those that a searcher only
                         compares not counted; 0: never */
    double tolerance; /* for patience: a best that is better by less than this share of the
                         objective does not count */
    uint64_t seed;
    int threads;
    itg_bits_range weight_bits, activation_bits, input_bits, output_bits;
    /* Threshold methods to choose among, per choice group. Count 0 or 1: nothing to choose. */
    itg_threshold_methods weight_methods, activation_methods;
    /* Patterns with * and ?, commas between, of names of values, nodes or edges ("value ->
     * node.slot"); "": none. What only does not match, or skip does, keeps the widest width and its
     * first method; fix has "PATTERN=BITS"; nodes whose weights allow_float matches may also be
     * float nodes, where the hardware has float (their weights then have the width 32).
     * ITG_BAD_ARGUMENT if one matches nothing to choose. */
    char only[ITG_MODEL_TEXT], skip[ITG_MODEL_TEXT], fix[ITG_MODEL_TEXT],
        allow_float[ITG_MODEL_TEXT];
    /* 0: defaults (512, 1024, 4096), less where the data has fewer. Selection samples are set aside
     * where the goal has a floor of quality, and search leaves at least 512, or they are asked for.
     */
    int64_t calibration_samples, search_samples, selection_samples;
    /* With which the floor of quality holds (docs/decisions.md, itg_search_selection): 0.5 to
     * 0.9999; 0: 0.95. */
    double confidence;
    itg_float_kernels float_kernels; /* of calibration and of the float network's own results */
    bool hago_baseline;       /* also run the searcher hago-greedy for the same goal, to compare */
    itg_recover_mode recover; /* of the codes of weights */
    itg_model_options model;  /* must be as the model was opened; the version does not matter */
    bool no_racing;      /* do not stop trials that cannot matter any more. Changes no result, only
                            the trials' itg_score.stopped_at. Those of which a share of the samples
                            is all that the searcher asks for stop all the same */
    int64_t cache_bytes; /* memory for activations that candidates share; 0: none. Changes no result
                          */
    int64_t block;       /* as in itg_run_options */
    /* NULL: the searcher's own beginning. Borrowed. ITG_BAD_ARGUMENT if it is no point of this
     * search, or the searcher has no use for one (exhaustive, sensitivity). */
    const itg_search_start *start;
    /* Trials of earlier searches of this model, hardware and space, which a searcher that learns
     * (surrogate; others refuse) is told before it begins. NULL: none. Borrowed. */
    const itg_search_past *past;
    /* The trials of an interrupted run with the same options, in order from 0. The searcher is
     * asked again and must give the same points; their scores are used without evaluating them
     * again, and they are not passed to hooks->trial. */
    const itg_trial *replay;
    int64_t replay_count;
} itg_search_options;
#define ITG_SEARCH_OPTIONS_VERSION 1
#define ITG_SEARCH_OPTIONS_INIT ITG_INIT(ITG_SEARCH_OPTIONS_VERSION)
/* All options that influence the result, as one JSON object: without threads, cache_bytes, block
 * and replay. */
itg_status itg_search_options_text(const itg_search_options *options, char **out, itg_error *err);
/* From such text, without the start (itg_search_start_from_text) and earlier trials
 * (itg_search_past_from_text). Errors call it `source`. */
itg_status itg_search_options_from_text(const char *text, const char *source,
                                        itg_search_options *out, itg_error *err);
/* The point of a strategy of this model, found for any hardware. Each choice of the search takes
 * the strategy's width, or where it does not have it the next wider one, else its widest; and the
 * strategy's threshold method, or where it is not among those of the search the first. options: of
 * the search; its start is not looked at. */
itg_status itg_search_start_strategy(const itg_model *model, const itg_hardware *hw,
                                     const itg_search_options *options,
                                     const itg_strategy_file *strategy, itg_search_start **out,
                                     itg_error *err);
/* The same of a model that quantizes itself (QuantizeLinear, DequantizeLinear), of the same
 * network: nodes are found by their names, and have the widths of its inputs' codes; weights the
 * narrowest that holds their codes. ITG_BAD_ARGUMENT if it says nothing of any choice. */
itg_status itg_search_start_quantized(const itg_model *model, const itg_hardware *hw,
                                      const itg_search_options *options, const itg_model *quantized,
                                      itg_search_start **out, itg_error *err);
/* Of the options of a run as text; *out NULL: it has none. Errors call the text `source`. */
itg_status itg_search_start_from_text(const char *text, const char *source, itg_search_start **out,
                                      itg_error *err);
/* *name: of the earlier trials that the options as text tell of, NULL: none; free with itg_free. */
itg_status itg_search_past_from_text(const char *text, const char *source, char **name,
                                     itg_error *err);
void itg_search_start_destroy(itg_search_start *start);
/* SHA-256 of the strategy or of the model's file that it came from. */
const unsigned char *itg_search_start_hash(const itg_search_start *start);
const int32_t *itg_search_start_point(const itg_search_start *start, int32_t *dim_count);
/* A sentence about what did not fit; "": all of it does, or that is not known any more. */
const char *itg_search_start_misfits(const itg_search_start *start);
typedef struct itg_search_result itg_search_result;
/* ---- an evaluator of the calling program ---- */
/* A trial to evaluate. Its functions may be called by any thread, from submit until wait returns
 * it, and work belongs to one thread at a time. */
typedef struct itg_work itg_work;
/* Evaluates the trials of a search in place of its own threads: on a device, on other machines. The
 * thread that called itg_search calls these functions; trials may be evaluated meanwhile by others,
 * and come back in any order. The order of the trials, and what a searcher is told, do not depend
 * on it. A program that scores by itself scores all samples: where a searcher asks for a share of
 * them (greedy), it may then ask on for others than with the library's score. A trial with codes of
 * its own (itg_trial.round 2) is out alone: itg_work_strategy and itg_work_evaluate make its codes,
 * which takes longer. The float network, uniform 8 bits, the hold-out and the hago baseline are
 * still evaluated by the library. */
typedef struct itg_search_evaluator {
    int32_t version;
    void *context;
    /* Takes a trial. Does not wait for others. */
    void (*submit)(void *context, itg_work *work);
    /* Returns a trial that was submitted and is finished, each once; waits until there is one. At
     * least one is out. NULL ends the search with ITG_FAILURE; what is out is gone then. */
    itg_work *(*wait)(void *context);
    /* The search ends: wait may return what has not begun, finished as ITG_CANCELLED. May be NULL.
     */
    void (*drop)(void *context);
} itg_search_evaluator;
#define ITG_SEARCH_EVALUATOR_VERSION 1
#define ITG_SEARCH_EVALUATOR_INIT ITG_INIT(ITG_SEARCH_EVALUATOR_VERSION)
/* The values of the trial's dimensions, as itg_trial.point. */
const int32_t *itg_work_point(const itg_work *work, int32_t *dim_count);
/* The trial's strategy, which the caller closes. Fails as the hardware does (itg_work_finish). */
itg_status itg_work_strategy(const itg_work *work, itg_strategy_file **out, itg_error *err);
/* The search samples and their labels (NULL: none), on which trials are scored. */
const itg_dataset *itg_work_data(const itg_work *work);
const itg_dataset *itg_work_labels(const itg_work *work);
/* Finishes the trial. ITG_OK: score has what itg_simulate and itg_program_run give for
 * the search samples; a cost that the goal needs must be known, and a quality that is not known is
 * worse than any number. ITG_INFEASIBLE, ITG_UNBOUNDED: the hardware cannot run it, why says a
 * reason. ITG_CANCELLED ends the search with what it has; others end it with an error, `why`.
 * seconds: how long it took, for the log. Copies its arguments. */
void itg_work_finish(itg_work *work, itg_status status, const itg_score *score, const char *why,
                     double seconds);
/* Finishes the trial as the search's own threads would, early stops (racing) included. */
void itg_work_evaluate(itg_work *work, int threads);

/* ---- a searcher of the calling program ---- */
/* A choice: widths, ascending, or (not ordered) threshold methods, each with each dtype or spec
 * that the hardware has for the same widths; as itg_search_space_text. */
typedef struct itg_user_dim {
    int32_t count;
    const int32_t *values; /* [count] */
    bool ordered;
} itg_user_dim;
/* What became of a point. A point is good where it is feasible, its quality reaches the floor,
 * violation is 0 and, where quality is improved, cost <= the cost limit. */
typedef struct itg_user_outcome {
    bool feasible;     /* the hardware can run it; if not, nothing else is known */
    double quality;    /* as itg_goal_quality: larger is better */
    double cost;       /* smaller is better; where quality is improved, the largest share of a limit
                          that is used */
    double violation;  /* by how much limits are exceeded, a share; 0: kept */
    double distortion; /* of the outputs, finer than quality; negative: not known */
    double objectives[ITG_MOST_OBJECTIVES]; /* all of the goal's, less is better */
    int32_t objective_count;
} itg_user_outcome;
/* What the search wants: quality_floor -INFINITY: none; trials: at most. */
typedef struct itg_user_space {
    int32_t dim_count;
    const itg_user_dim *dims; /* [dim_count], until the search ends */
    bool maximize_quality;
    double quality_floor, cost_limit;
    int64_t trials;
    const int32_t *start; /* [dim_count] levels to begin with, until the search ends; NULL: none */
} itg_user_space;
/* Proposes the points of a search whose itg_search_options.searcher is "user". All functions are
 * called by the thread that called itg_search. The same answers must give the same points. A
 * failure, or a level that is none, ends the search with ITG_FAILURE. */
typedef struct itg_user_searcher {
    int32_t version;
    void *context;
    int32_t outstanding; /* the most points that are asked and not told, up to 64; 0: 1 */
    itg_status (*begin)(void *context, const itg_user_space *space, itg_error *err);
    /* ITG_OK: levels[dim_count] is a point, an index into the values of each dimension; ITG_WAIT:
     * tell me first, while something is not told yet; ITG_END: exhausted. */
    itg_status (*ask)(void *context, int32_t *levels);
    /* Each point, in the order of the asks. */
    itg_status (*tell)(void *context, const int32_t *levels, const itg_user_outcome *outcome);
} itg_user_searcher;
#define ITG_USER_SEARCHER_VERSION 1
#define ITG_USER_SEARCHER_INIT ITG_INIT(ITG_USER_SEARCHER_VERSION)

typedef struct itg_search_hooks {
    int32_t version;
    void *context;
    double (*clock)(void *context); /* seconds; NULL: nothing is timed. Called by any thread */
    void (*progress)(void *context, const itg_trial *trial, const itg_trial *best, int64_t planned);
    itg_status (*trial)(void *context, const itg_trial *trial,
                        itg_error *err); /* each finished trial, in order: for a log */
    /* Called often, by any thread; may be NULL. cancelled: unfinished trials are dropped, and the
     * best of the finished ones is the result; with none the search ends with ITG_CANCELLED. hurry:
     * the best is not evaluated on the hold-out either. */
    bool (*cancelled)(void *context);
    bool (*hurry)(void *context);
    /* Called before the first trial with a sentence about what the goal cannot achieve. May be
     * NULL. */
    void (*note)(void *context, const char *text);
    /* Called before each layer whose codes of weights are made (itg_recover_options); may be NULL.
     */
    void (*codes)(void *context, int32_t layer, int32_t layers);
    const itg_search_evaluator *evaluator; /* evaluates the trials; NULL: threads of the library */
    const itg_user_searcher *searcher;     /* for the searcher "user"; NULL: there is none */
} itg_search_hooks;
#define ITG_SEARCH_HOOKS_VERSION 1
#define ITG_SEARCH_HOOKS_INIT ITG_INIT(ITG_SEARCH_HOOKS_VERSION)
/* The seed divides data into calibration, search and selection samples, and a hold-out if none is
 * given. */
typedef struct itg_search_data {
    const itg_dataset *data, *labels;
    const itg_dataset *holdout, *holdout_labels; /* only data must be there */
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
/* Trials with the point of an earlier one; and of the others, those that were stopped early. */
int64_t itg_search_duplicate_count(const itg_search_result *result);
int64_t itg_search_raced_count(const itg_search_result *result);
/* All trials in order, replayed ones too; NULL: past the last one. */
const itg_trial *itg_search_trial_at(const itg_search_result *result, int64_t index);
/* The best trial that meets the goal; if none does, the nearest to it. NULL: none was feasible. */
const itg_trial *itg_search_best(const itg_search_result *result);
/* The Pareto front: trials that meet the goal and are not dominated in the objectives, in the order
 * of the trials; with one objective the best alone. Where quality is one of several objectives, the
 * floor is left out of it: it is that of the best alone. */
int32_t itg_search_front_count(const itg_search_result *result);
const itg_trial *itg_search_front_at(const itg_search_result *result, int32_t index);
/* The same of trials that a log has: those that keep the limits of the goal (itg_goal_set_front),
 * whatever its floor is. *front: places in `trials`, by the first cost; free with itg_free. */
itg_status itg_trials_front(const itg_goal *goal, const itg_trial *trials, int64_t count,
                            int64_t **front, int32_t *front_count, itg_error *err);
/* How much of the space of the goal's objectives a front dominates, 0 to 1: of the box from no cost
 * and the float network's quality (of an SQNR 60 dB) to 1.1 times the costs of uniform 8 bits and
 * ten points less (of an SQNR 0 dB). Zitzler, Thiele 1998, Multiobjective Optimization Using
 * Evolutionary Algorithms. NAN: a cost is not known, or the quality is no share and no SQNR. */
double itg_front_hypervolume(const itg_goal *goal, const itg_trial *trials, const int64_t *front,
                             int32_t count, const itg_score *floats, const itg_score *uniform8);
bool itg_search_goal_met(const itg_search_result *result); /* on the search samples */
/* Whether the best trial satisfies the goal on the hold-out too, compared with the float network
 * there. */
bool itg_search_goal_holds(const itg_search_result *result);
/* The final choice. Trials that meet the goal on the search samples are tried on selection samples,
 * which nothing else saw, from the safest to the cheapest, as long as they meet the goal there with
 * the confidence that was asked for; the last one that does is the best. So the chance that it does
 * not meet the goal is at most that of one test: a fixed sequence (Maurer, Hothorn, Lehmacher 1995;
 * for networks Angelopoulos et al. 2021, Learn then Test). */
typedef struct itg_selection {
    int64_t samples; /* 0: none were set aside, or the search was stopped before */
    int32_t tested;  /* candidates */
    bool certified;  /* the best meets the goal by `bound`: with the confidence */
    bool passed; /* it does so, or where these samples cannot say it of any candidate, by what is
                    expected of it, or counted */
    /* What the best's quality is at least, with the confidence: a share, or dB of SQNR. NaN: not
     * known, as the quality has no bound, or of so few samples none that would help. */
    double bound;
    double floats; /* the float network's quality on these samples */
    /* Selection samples that would be enough for the best, if it does on them as it does on these;
     * 0: these are, or none would be. */
    int64_t wanted;
} itg_selection;
const itg_selection *itg_search_selection(const itg_search_result *result);
/* How well the searcher's model told what points lose before they were evaluated (allocate,
 * surrogate), on the search samples, in the first round. */
typedef struct itg_forecast {
    int64_t count; /* trials that it had told something of; 0: there is no such model */
    double
        correlation; /* Pearson's, of predicted and measured loss (distortion of the outputs, where
                        it is known, else quality); NAN: of fewer than 3, or all are equal */
    double gap; /* allocate: of the last allocation, by how much what the model says of the cost (or
                   loss) may be above the optimum, as a share; 0: it is the optimum */
} itg_forecast;
const itg_forecast *itg_search_forecast(const itg_search_result *result);
/* If the goal is not met, or not on the hold-out: a sentence that says why. Else "". */
const char *itg_search_limited_by(const itg_search_result *result);
/* False: no width changes the cost that is minimized, so quality alone decides. */
bool itg_search_cost_varies(const itg_search_result *result);
const itg_score *itg_search_float(const itg_search_result *result, bool holdout);
const itg_score *itg_search_uniform8(const itg_search_result *result,
                                     bool holdout); /* samples 0, nothing known: the
                                                       hardware cannot run it */
const itg_score *itg_search_hago(const itg_search_result *result,
                                 bool holdout); /* NULL: not asked for, or it found nothing */
/* NULL: there is no best, or hooks.hurry left no time for it. */
const itg_score *itg_search_best_holdout(const itg_search_result *result);
itg_strategy_file *itg_search_strategy(itg_search_result *result); /* of the best; borrowed */
/* The strategy of trials[index] of a search with the same arguments, of its result or of a log, as
 * the search would have returned it as the best: calibrates again, and evaluates the trial on the
 * search samples and the hold-out. Earlier trials are read for the first one of its round.
 * ITG_MISMATCH if the trial has another digest there, or other
 * costs, or no point of this search; ITG_INFEASIBLE, ITG_UNBOUNDED if the hardware cannot run it.
 */
itg_status itg_search_strategy_at(const itg_model *model, const itg_hardware *hw,
                                  const itg_preprocess *p, const itg_search_data *data,
                                  const itg_search_options *options, const itg_trial *trials,
                                  int64_t index, itg_strategy_file **out, itg_error *err);
/* "exhausted", "trials", "seconds", "patience", "cancelled" */
const char *itg_search_stop_reason(const itg_search_result *result);
int itg_searcher_count(void);
const char *itg_searcher_name(int index);
const char *itg_searcher_help(int index);
/* A number that a searcher lets its user choose. */
typedef struct itg_searcher_parameter {
    const char *name;
    double value, min, max; /* value: the default */
    bool whole;             /* integers only */
    const char *help;
} itg_searcher_parameter;
/* NULL: past the last one. */
const itg_searcher_parameter *itg_searcher_parameter_at(int searcher, int index);
/* Whether itg_search_options.searcher may be this text; the error says what is expected. */
itg_status itg_searcher_check(const char *text, itg_error *err);

/* ---- log ---- */
/* A SQLite database of runs and their trials; docs/log-schema.md. Not thread-safe. */
typedef struct itg_run_log itg_run_log;
const char *itg_run_log_sqlite(void); /* version of SQLite: "3.40.1" */
typedef struct itg_run_data {
    const char *name; /* as the user gave it; NULL: there was none */
    int64_t samples;
    unsigned char hash[32];
} itg_run_data;
typedef struct itg_run_info {
    const char *model_name, *hardware_name, *searcher, *options_json, *hardware_json,
        *preprocess_json, *engine_version, *started;
    const char *space_json; /* itg_search_space_text, which says what the numbers of a point mean */
    unsigned char model_hash[32];
    itg_run_data data, holdout; /* holdout.name NULL: a part of data */
    itg_run_data labels, holdout_labels;
    uint64_t seed;
} itg_run_info;
/* Scores that a run keeps beside its trials; all but the last on the hold-out. */
typedef enum itg_run_result {
    ITG_RESULT_FLOAT,
    ITG_RESULT_UNIFORM8,
    ITG_RESULT_HAGO,
    ITG_RESULT_BEST,
    ITG_RESULT_SEARCH_FLOAT, /* the float network on the search samples */
    ITG_RESULT_COUNT
} itg_run_result;
typedef struct itg_run_end {
    const char *stop_reason, *strategy_json; /* strategy_json NULL: no best */
    const char *codes; /* of the strategy: the bytes of its second file in hexadecimal digits; NULL:
                          there is none */
    int64_t best_trial; /* -1: none */
    bool goal_met;
    const itg_score *result[ITG_RESULT_COUNT]; /* NULL: not known */
    const itg_selection *selection;            /* NULL: as without samples */
} itg_run_end;
/* Opens for writing; creates the database if there is none. Fails, and changes nothing, if the file
 * is no database, is damaged, belongs to another application or has another version's schema. */
itg_status itg_run_log_open(const char *path, itg_run_log **out, itg_error *err);
/* Opens an existing database for reading, also while another process writes; fails likewise, but of
 * damage only a cut file is seen: what reads a damaged page fails with ITG_BAD_FILE. */
itg_status itg_run_log_open_reader(const char *path, itg_run_log **out, itg_error *err);
itg_status itg_run_log_close(itg_run_log *log, itg_error *err); /* commits; frees it in any case */
/* Begins a run and commits it. *run: its number. */
itg_status itg_run_log_begin_run(itg_run_log *log, const itg_run_info *info, int64_t *run,
                                 itg_error *err);
/* ---- leases: one process writes a run. The caller says who it is, what time it is, and whether
 * another process is alive. ---- */
typedef struct itg_run_holder {
    const char *host;  /* the machine, for people */
    const char *place; /* where process numbers are unique: one boot of one machine */
    int64_t process;
    const char *started; /* distinguishes processes with equal numbers in one place */
    const char *since;   /* when it took the run, UTC, for people */
} itg_run_holder;
typedef enum itg_holder_state {
    ITG_HOLDER_GONE,
    ITG_HOLDER_LIVES,
    ITG_HOLDER_UNKNOWN /* in another place: alive if it renewed its lease within ITG_LOG_LEASE_S */
} itg_holder_state;
#define ITG_LOG_LEASE_S 30 /* seconds; renew the lease several times in this time */
typedef struct itg_run_claim {
    itg_run_holder self;
    int64_t now; /* seconds since the epoch */
    itg_holder_state (*state)(const itg_run_holder *other);
} itg_run_claim;
/* ITG_BAD_ARGUMENT if another process writes the run; the error says which. Changes nothing. */
itg_status itg_run_log_check_free(itg_run_log *log, int64_t run, const itg_run_claim *claim,
                                  itg_error *err);
/* The same, and takes the lease until end_run or close. If another process takes the run over,
 * further trials and the end fail. */
itg_status itg_run_log_take(itg_run_log *log, int64_t run, const itg_run_claim *claim,
                            itg_error *err);
itg_status itg_run_log_renew(itg_run_log *log, int64_t now, itg_error *err);
/* Commits if 200 ms have passed since the last commit; now: seconds of any monotonic clock. */
itg_status itg_run_log_trial(itg_run_log *log, int64_t run, const itg_trial *trial, double now,
                             itg_error *err);
/* Commits the trials that are not committed yet. If another program keeps the database locked for 5
 * s, they stay as they are: only end_run and close fail then. */
itg_status itg_run_log_commit(itg_run_log *log, itg_error *err);
itg_status itg_run_log_end_run(itg_run_log *log, int64_t run, const itg_run_end *end,
                               itg_error *err); /* commits */

/* A run of the log. Strings that are not known are NULL. */
typedef struct itg_run_record {
    int64_t run, trials, best_trial; /* best_trial -1: none */
    int64_t duplicates, raced;       /* of the trials, as itg_search_duplicate_count says */
    bool ended, goal_met;            /* ended: it has a stop_reason */
    itg_run_info info;
    const char *log; /* the path of the log that it was read from */
    const char *stop_reason, *strategy_json, *codes;
    bool known[ITG_RESULT_COUNT];
    itg_score result[ITG_RESULT_COUNT]; /* if not known: itg_score_unknown() */
    itg_selection selection; /* samples 0: there was no final choice on samples of its own */
} itg_run_record;
/* The numbers of all runs, oldest first; free *runs with itg_free (NULL: there are none). */
itg_status itg_run_log_runs(itg_run_log *log, int64_t **runs, int64_t *count, itg_error *err);
itg_status itg_run_log_read_run(itg_run_log *log, int64_t run, itg_run_record **out,
                                itg_error *err);
void itg_run_record_destroy(itg_run_record *record);
/* Whether the run ended by itself, so that nothing can be added to it. */
bool itg_run_record_is_complete(const itg_run_record *record);
/* Calls fn for each trial of a run, in order; its failure ends the reading and is returned. trial
 * is valid during the call. */
itg_status itg_run_log_read_trials(itg_run_log *log, int64_t run,
                                   itg_status (*fn)(void *context, const itg_trial *trial,
                                                    itg_error *err),
                                   void *context, itg_error *err);
/* All trials of a run for itg_search_options.replay; fails if one is missing. */
itg_status itg_run_log_load_trials(itg_run_log *log, int64_t run, itg_trial **out, int64_t *count,
                                   itg_error *err);
void itg_run_log_free_trials(itg_trial *trials, int64_t count);
/* Whether both are the same as far as the log knows: known and equal, or both unknown. */
bool itg_run_data_equal(const itg_run_data *a, const itg_run_data *b);
/* What keeps trials of one run from being points of the other: "another model"; NULL: nothing. */
const char *itg_run_info_difference(const itg_run_info *a, const itg_run_info *b);
/* Trials of earlier runs for itg_search_options.past. what: "all", those runs of the log that are
 * like `wanted`; or numbers of runs with commas between, which must be, each with a number of its
 * first trials or without: "3:120,7". Free it after the search; it keeps nothing of the log. */
typedef struct itg_run_past itg_run_past;
itg_status itg_run_log_past(itg_run_log *log, const itg_run_info *wanted, const char *what,
                            itg_run_past **out, itg_error *err);
const itg_search_past *itg_run_past_trials(const itg_run_past *past); /* NULL: there are none */
void itg_run_past_destroy(itg_run_past *past);
/* Removes the end of a run (stop reason, best, results), so that trials can be added. */
itg_status itg_run_log_reopen_run(itg_run_log *log, int64_t run, itg_error *err);
/* A whole run as a JSON file (docs/log-schema.md). Import gives it the next free number, and fails
 * if the log has an equal run. */
itg_status itg_run_log_export(itg_run_log *log, int64_t run, const char *path, itg_error *err);
itg_status itg_run_log_import(itg_run_log *log, const char *path, int64_t *run, itg_error *err);

/* The edges of a run's strategy, in the order of the strategy file; none without a strategy. Names
 * belong to the list. */
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
/* Writes the strategy file of a run, as the search would have saved it. */
itg_status itg_run_strategy_save(const itg_run_record *record, const char *path, itg_error *err);

/* What a trial chose in each dimension of the run's choice space. */
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
