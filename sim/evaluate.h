/* Runs samples through a backend and computes the metrics. Simulation, float execution, the integer
 * executor and the search share this loop. Samples run in parallel; results do not depend on the
 * number of threads. */
#ifndef ITG_EVALUATE_H
#define ITG_EVALUATE_H
#include "sim/expected.h"
#include "sim/hits.h"
#include "sim/measures.h"
#include "sim/user_metrics.h"

typedef struct itg_evaluate_options {
    const itg_dataset *data;
    const itg_preprocess *preprocess;
    const itg_dataset *labels;       /* of the samples of data (intaglio.h), or NULL */
    const bool *measures;            /* [ITG_METRIC_COUNT]: those of measures.h that are asked for;
                                        NULL: none */
    bool probabilities;              /* itg_gives_probabilities of the model */
    const itg_user_metric *user;     /* [ITG_USER_METRICS], or NULL */
    pthread_mutex_t *user_lock;      /* for calls to them by several evaluations; or NULL */
    const int64_t *float_classes;    /* [samples of data], or NULL: for agreement */
    const itg_reference *reference;  /* of the same samples, or NULL: for distortion */
    const itg_expectation *expected; /* of the same samples, or NULL: for the expected top-1 */
    double *output_distortion; /* [outputs of the model], or NULL: filled where reference is given,
                                  and it saw all samples; NaN where one is not known */
    itg_reference *keep;       /* filled, or NULL; only without the two limits below */
    /* The result matters only with at least these hits for each metric (0: any), at least this
     * expected top-1 (0: any) and at most this distortion (NULL: any). The evaluation ends after
     * the first sample, in order, from which one limit can no longer be met. most_distortion: not
     * with `order`. */
    int64_t least_hits[ITG_METRIC_COUNT];
    double least_expected;
    const double *most_distortion;
    /* [samples]: the order in which samples run, each once, so that decisive samples come first;
     * NULL: as they are. It changes only stopped_at. It needs memory for all outputs, and excludes
     * keep and sink. */
    const int64_t *order;
    int64_t enough; /* it ends after so many samples, in order; 0: all */
    int threads;
    itg_stop stop; /* asked before each block of samples */
    /* Called in sample order from one thread, before the next block runs; NULL: not wanted. */
    itg_status (*sink)(void *context, int64_t sample, const itg_tensor *outputs,
                       int32_t output_count, itg_error *err);
    void *sink_context;
} itg_evaluate_options;

typedef struct itg_evaluation {
    int64_t samples;
    int64_t hits[ITG_METRIC_COUNT];  /* samples that count (hits.h); -1: not known */
    const itg_expectation *expected; /* as in the options; NULL: not known */
    uint64_t lost, lost_squares;     /* sums of the losses of it, and of their squares */
    int64_t stopped_at;          /* 0: it saw all samples. Else so many, on any number of threads
                                    and in blocks of any size; hits are the most that was
                                    possible, distortion is the least (NaN without
                                    most_distortion; with `enough` what so many samples say),
                                    digest 0, what was not seen has class -1 */
    double distortion;           /* as in itg_score; NaN without reference */
    double distortion_deviation; /* its standard error; NaN as distortion */
    double errors[ITG_METRIC_COUNT];     /* means (errors.h); NaN: not known */
    double measures[ITG_METRIC_COUNT];   /* measures.h; NaN: not known */
    const itg_user_metric *user;         /* as in the options */
    double user_value[ITG_USER_METRICS]; /* NaN: not known */
    unsigned char digest[32];            /* docs/arithmetic.md 8 */
    int64_t *classes;                    /* [samples], malloc'd */
} itg_evaluation;

itg_status itg_evaluate(const itg_backend *backend, const itg_evaluate_options *options,
                        itg_evaluation *out, itg_error *err);
void itg_evaluation_deinit(itg_evaluation *evaluation);
/* Fill parts of a score: costs by the hardware (without peak_activation_bytes: search/costs.c),
 * quality by an evaluation. */
itg_status itg_score_costs(const itg_hardware *hw, const itg_annotated *a, itg_score *out,
                           itg_error *err);
void itg_score_quality(const itg_evaluation *evaluation, itg_score *out);
/* Sets the likeness of the float network to itself, for the metrics that are asked for. */
/* How far the outputs are from the float network's: those of a classifier by divergence if that was
 * asked for, others by distortion. */
double itg_score_distance(const itg_score *score);
void itg_score_as_float(const bool *measures, const itg_model *model, itg_score *out);
#endif
