/* Reads data, collects statistics, makes strategies and annotated graphs, and executes them. */
#ifndef ITG_SIM_H
#define ITG_SIM_H
#include "base/json.h"
#include "hardware/hardware.h"
#include "kernels/constants.h"
#include "kernels/f32_measure.h"

/* ---- datasets (dataset.c, npy.c, npz.c, idx.c) ---- */
typedef struct itg_dataset {
    itg_dtype dtype;        /* as in the file */
    itg_shape shape;        /* dimension 0: samples */
    void *data;             /* owned */
    unsigned char hash[32]; /* SHA-256 of dtype, shape and elements little-endian: independent of
                               the container; of the first of several arrays: of all
                               (itg_dataset_hash_all) */
    char *path;
    char *input;             /* the input that it feeds; NULL: the only one */
    itg_dataset *next_input; /* with as many samples; NULL: no more. Owned */
    const int64_t *numbers;  /* [samples]: places in the file, for messages; NULL: from first on */
    int64_t first;
} itg_dataset;
/* Returns the place of a sample in its file. */
int64_t itg_dataset_number(const itg_dataset *data, int64_t sample);
/* itg_data_open, itg_data_close, itg_data_from_memory, itg_data_join: intaglio.h. Files are
 * recognized by content, not by name. Allowed are the dtypes b1 u1 i1 u2 i2 u4 i4 i8 f4 f8 in
 * either byte order, in C order; the declared size must be there, and inflation is limited. */
/* Changes first->hash from that of its array to that of several arrays: SHA-256 of their names
 * (each with its 0) and hashes, in the order of the names. For one array nothing changes. */
void itg_dataset_hash_all(itg_dataset *first);
/* Makes a dataset of the listed samples; NULL: of the first ones. */
itg_status itg_dataset_select(const itg_dataset *data, const int64_t *samples, int64_t count,
                              itg_dataset **out, itg_error *err);
/* Reads element i of all data as an integer. False: it is no integer, or a float beyond 2^53. */
bool itg_dataset_integer(const itg_dataset *data, int64_t i, int64_t *out);
/* ITG_MISMATCH: the number of labels is not that of samples. */
itg_status itg_labels_check(const itg_dataset *labels, int64_t samples, itg_error *err);
/* Returns labels as integers [samples], from an array of integers (or integral floats) of shape [N]
 * or [N,1]. Caller frees. */
itg_status itg_dataset_labels(const itg_dataset *data, int64_t **out, int64_t *count,
                              itg_error *err);

/* ---- data in order, a part at a time (stream.c) ---- */
/* itg_data_stream_open, _close, _samples: intaglio.h; the same files as itg_data_open. */
/* Describes the stream's first array: dtype, shape, path, input; no data or hash. Borrows texts. */
itg_dataset itg_data_stream_about(const itg_data_stream *stream);
/* Reads the next `count` samples of the first array, at most the rest. After the last one it checks
 * the end of the file and knows the array's hash (as itg_dataset has it). */
itg_status itg_data_stream_read(itg_data_stream *stream, int64_t count, void *out, itg_error *err);

/* ---- preprocessing (preprocess.c) ---- */
/* Checks that data fits an input (dtype, shape [1, ...]) under p. */
itg_status itg_preprocess_check(const itg_preprocess *p, const itg_dataset *data,
                                const itg_tensor *input, itg_error *err);
/* Writes one sample into input->data, after the check. float32: (x*scale - mean)/std, each
 * operation rounded; mean and std by the channel that the model sees, after bgr. Other dtypes: the
 * element itself. ITG_BAD_FILE names sample and position of an element that is NaN or infinite, or
 * that the input's dtype cannot hold. */
itg_status itg_preprocess_sample(const itg_preprocess *p, const itg_dataset *data, int64_t sample,
                                 const itg_tensor *input, itg_error *err);
void itg_preprocess_write(const itg_preprocess *p, itg_strbuf *json);
itg_status itg_preprocess_read(const itg_json *json, const itg_json_value *v, itg_preprocess *out,
                               itg_error *err);

/* ---- float execution (float_exec.c) ---- */
/* Runs a prepared graph on one sample; one instance per worker. Values share memory: each lasts
 * until its last consumer has run, outputs until the next run. ITG_UNSUPPORTED: this build lacks
 * the kernels. */
typedef struct itg_float_exec itg_float_exec;
itg_status itg_float_exec_create(const itg_graph *graph, itg_float_kernels kernels,
                                 itg_float_exec **out, itg_error *err);
void itg_float_exec_destroy(itg_float_exec *exec);
int32_t itg_float_exec_input_count(const itg_float_exec *exec);
/* Returns the buffer to fill before every run, [elements] of the input; a run may overwrite it. */
void *itg_float_exec_input(itg_float_exec *exec, int32_t index);
itg_status itg_float_exec_run(itg_float_exec *exec, itg_error *err);
/* Runs and shows every value but constants: the inputs, then the outputs of each node as soon as
 * they are computed. tensor lasts during the call only. */
typedef void (*itg_float_visit)(void *context, itg_id value, const itg_tensor *tensor);
itg_status itg_float_exec_visit(itg_float_exec *exec, itg_float_visit visit, void *context,
                                itg_error *err);
itg_tensor itg_float_exec_output(const itg_float_exec *exec, int32_t index);

/* ---- calibration (calibrate.c): one pass. Memory: for each worker 33 KiB a value, its
 * activations (float_exec.c) and eight samples, whatever the number of samples ---- */
#define ITG_HISTOGRAM_BINS 2048 /* each side of zero */
/* Bins of width 2^exponent: bin i of `positive` holds [i*w, (i+1)*w), of `negative` (-(i+1)*w,
 * -i*w]. The exponent grows as values come (pairs of bins merge), so the result does not depend on
 * the order of samples. */
typedef struct itg_value_stats {
    bool present;
    int64_t count,
        nan_count; /* finite elements; NaN and infinite ones, which nothing else here counts */
    float min, max;
    int64_t counted;                 /* finite elements of which are moments and bins */
    double mean, variance;           /* sums of samples' sums in sample order */
    double average_min, average_max; /* mean over samples of the sample's min and max */
    int32_t exponent;
    union {
        struct {
            int64_t positive[ITG_HISTOGRAM_BINS], negative[ITG_HISTOGRAM_BINS];
        };
        int64_t bins[2 * ITG_HISTOGRAM_BINS + ITG_F32_SPARE_BINS]; /* spare ones: 0 */
    };
    int64_t zeros; /* exact zeros are counted apart */
} itg_value_stats;
typedef struct itg_stats {
    int32_t value_count;
    itg_value_stats *values; /* [graph->value_count] */
    int64_t samples;
    unsigned char hash[32];      /* of everything above, little-endian */
    unsigned char data_hash[32]; /* of the samples, as itg_dataset has it */
    itg_float_kernels kernels;   /* that computed the values */
} itg_stats;
typedef struct itg_calibration_source {
    const itg_dataset *data; /* or the stream, from its first sample on */
    const int64_t *samples;  /* [count] of data, in this order; NULL: all */
    int64_t count;
    itg_data_stream *stream;
} itg_calibration_source;
itg_status itg_calibrate_from(const itg_graph *graph, const itg_calibration_source *source,
                              const itg_preprocess *p, const itg_calibrate_options *options,
                              itg_stats **out, itg_error *err);
/* itg_calibrate_model: intaglio.h */
/* As if every value lay in [-1, 1], for costs and speeds, which do not depend on ranges. NULL: no
 * memory. */
itg_stats *itg_stats_made_up(const itg_graph *graph);

/* ---- thresholds (threshold.c, threshold_*.c) ---- */
/* The quantizer that an estimate is for. */
typedef struct itg_threshold_target {
    int32_t bits;
    bool symmetric, is_signed, power_of_two;
} itg_threshold_target;
/* The threshold of a symmetric signed quantizer, in scales. Of one bit: 1. */
double itg_symmetric_steps(int32_t bits, bool power_of_two);
/* The threshold of weights with a zero point that range from lo to hi, which is half their range,
 * and how many of their 2^bits codes lie below 0. lo <= 0 <= hi. */
double itg_asymmetric_range(int32_t bits, double lo, double hi, uint8_t *zero);
/* The threshold of weights, in scales. */
double itg_weight_steps(int32_t bits, bool has_zero_point, bool power_of_two);
/* Estimates [lo, hi], lo <= 0 <= hi, from statistics in exact double arithmetic, without libm. A
 * constant zero gives [0,0]. lo < 0 only if there are negative values, hi > 0 only if there are
 * positive ones, whatever the target. MSE, KL with power_of_two: the range of the grid itself,
 * which may exceed the data. ITG_FAILURE if no element was finite; the caller names the value. */
itg_status itg_threshold_estimate(itg_threshold_method method, const itg_value_stats *stats,
                                  const itg_threshold_target *target, double *lo, double *hi,
                                  itg_error *err);
/* Estimates the range of a constant (weights) for one channel or all: `count` elements in runs of
 * `inner` whose starts are stride_outer apart. ITG_BAD_FILE if one is not finite. MAX and MSE use
 * the elements themselves, the others their statistics. */
itg_status itg_threshold_constant(itg_threshold_method method, const float *data, int64_t count,
                                  int64_t stride_outer, int64_t inner,
                                  const itg_threshold_target *target, double *lo, double *hi,
                                  itg_error *err);
#define ITG_THRESHOLD_DEFAULT ITG_THRESHOLD_MSE

/* ---- strategy (strategy.c, strategy_*.c) ---- */
/* Bits and threshold of every edge. Edge order as in annotated.h. */
typedef struct itg_edge_choice {
    int32_t bits; /* 0: float or fused, without threshold */
    itg_threshold_method method;
    int32_t passed_over; /* activation edges: dtypes, weight edges: specs of the node that fit, and
                            are not taken because a later one is (arithmetic.md 2) */
    double lo, hi;       /* resolved threshold of activation edges */
    int32_t channel_count; /* weight edges: 1, or one per output channel; else 0 */
    const double *channel; /* [channel_count] resolved t of each channel; borrowed from the
                              strategy's arena */
    /* Weight edges with zero points: [channel_count], as itg_encoding has it; in the strategy's
     * arena. Else NULL. */
    const uint8_t *zero;
    /* Weight edges: the codes of all elements in order, packed (base/packed.h) in two's complement
     * of `bits`, with zero points counted from the middle one (itg_constant_source); in the
     * strategy's arena. NULL: the nearest codes. */
    const unsigned char *codes;
    int64_t code_count;
    /* Weight edges: the bias of each output channel, in place of the model's; in the strategy's
     * arena. NULL: as the model has it. */
    const float *bias;
    int32_t bias_count;
} itg_edge_choice;
typedef struct itg_strategy {
    itg_arena *arena;
    unsigned char model_hash[32]; /* source_hash of the model */
    unsigned char graph_hash[32]; /* itg_graph_hash of the prepared graph */
    int32_t node_count, edge_count;
    bool *node_conds; /* topology: node quantized */
    bool *edge_conds; /* edge quantized */
    itg_edge_choice *edges;
} itg_strategy;
itg_status itg_strategy_create(const itg_graph *g, itg_strategy **out, itg_error *err);
itg_status itg_strategy_clone(const itg_strategy *s, itg_strategy **out, itg_error *err);
void itg_strategy_destroy(itg_strategy *s);
/* Copies codes [count], one for each element of the weight that the edge reads, into the strategy;
 * NULL: the nearest codes again. They apply to the scales that itg_annotate gives the edge, which
 * do not depend on them. ITG_BAD_ARGUMENT: a code exceeds edges[edge].bits. */
itg_status itg_strategy_set_codes(itg_strategy *s, int32_t edge, const int32_t *codes,
                                  int64_t count, itg_error *err);
/* Replaces the choice of an edge by a copy of choice. */
itg_status itg_strategy_set_edge(itg_strategy *s, int32_t edge, const itg_edge_choice *choice,
                                 itg_error *err);
/* Replaces the bias of the node that the weight edge belongs to by a copy of bias [count], one for
 * each output channel; NULL: the model's again. */
itg_status itg_strategy_set_bias(itg_strategy *s, int32_t edge, const float *bias, int32_t count,
                                 itg_error *err);
/* A cache of resolved thresholds, which are pure functions of (edge, bits, method, what is
 * passed over), but for those that were set. Thread-safe. */
typedef struct itg_threshold_cache itg_threshold_cache;
itg_status itg_threshold_cache_create(const itg_graph *g, const itg_hardware *hw,
                                      const itg_choice_space *space, const itg_stats *stats,
                                      itg_threshold_cache **out,
                                      itg_error *err); /* borrows all arguments */
void itg_threshold_cache_destroy(itg_threshold_cache *cache);
/* From now on the edge, of no weight, has this threshold in strategies with the choice's bits,
 * method and what it passes over. Not thread-safe. */
itg_status itg_threshold_cache_set(itg_threshold_cache *cache, int32_t edge,
                                   const itg_edge_choice *choice, itg_error *err);
/* Resolves bits, threshold methods, and what is passed over (NULL: nothing), per choice group
 * ([space->group_count] each); edges into graph outputs always use MAX. The result owns everything
 * it points to. */
itg_status itg_strategy_resolve(itg_threshold_cache *cache, const int32_t *group_bits,
                                const itg_threshold_method *group_methods,
                                const int32_t *group_passed_over, itg_strategy **out,
                                itg_error *err);
/* Sets one method for all weights, and one for everything else. */
void itg_uniform_methods(const itg_choice_space *space, itg_threshold_method weight_method,
                         itg_threshold_method activation_method,
                         itg_threshold_method *group_methods);
/* Sets the bits per group for uniform widths: the nearest allowed width below, else above. */
void itg_uniform_bits(const itg_choice_space *space, int32_t weight_bits, int32_t activation_bits,
                      int32_t *group_bits);
/* Makes a strategy of uniform widths and methods; widths as itg_uniform_strategy takes them. */
itg_status itg_strategy_uniform(const itg_graph *g, const itg_hardware *hw, const itg_stats *stats,
                                const itg_uniform_options *options, itg_strategy **out,
                                itg_error *err);

/* ---- annotate (annotate.c, annotate_*.c) ---- */
/* The same inputs give the same annotated graph. Graph and hw must outlive it. */
itg_status itg_annotate(const itg_graph *g, const itg_hardware *hw, const itg_strategy *s,
                        itg_annotated **out, itg_error *err);
/* Prepares the graph's constants for annotating many strategies; cache is borrowed. */
itg_status itg_constants_create(const itg_graph *g, itg_cache *cache, itg_constants *out,
                                itg_error *err);
void itg_constants_deinit(itg_constants *constants);
/* As itg_annotate, but takes codes that the cache has from there. NULL: the annotated graph has a
 * cache of its own. */
itg_status itg_annotate_with(const itg_graph *g, const itg_hardware *hw, const itg_strategy *s,
                             const itg_constants *constants, itg_annotated **out, itg_error *err);
/* Annotates again after a change of bits, thresholds, codes or bias for the constant weights of one
 * quantized node; the rest of the strategy must be the same. The time depends on the node, not on
 * the graph. *other_way: the hardware now runs the node in another way, which may affect its
 * neighbours; then nothing was changed, and the whole graph must be annotated. After a failure,
 * only another such call that succeeds makes the graph readable again. */
itg_status itg_annotate_weights(itg_annotated *a, const itg_strategy *s, itg_id node,
                                bool *other_way, itg_error *err);

/* ---- simulation (simulate.c, sim_*.c): the definition ---- */
typedef struct itg_sim itg_sim; /* one worker's instance */
itg_status itg_sim_create(const itg_annotated *a, itg_sim **out, itg_error *err);
void itg_sim_destroy(itg_sim *sim);
int32_t itg_sim_input_count(const itg_sim *sim);
void *itg_sim_input(itg_sim *sim, int32_t index); /* [elements] of the input's dtype */
itg_status itg_sim_run(itg_sim *sim, itg_error *err);
/* Returns a graph output in its storage dtype (integer codes, or float32), valid until the next
 * run; quantizer NULL if float. */
itg_tensor itg_sim_output(const itg_sim *sim, int32_t index, const itg_quantizer **q);
/* Dequantizes the elements of an edge to float32 into values [elements of the value], and counts
 * codes clipped by the quantizer's range and overflows of the producer's accumulators. False for
 * fused edges and indices. */
typedef struct itg_edge_events {
    int64_t elements, saturated, overflowed;
} itg_edge_events;
bool itg_sim_edge(const itg_sim *sim, int32_t edge, float *values, itg_edge_events *events);
#endif
