/* Private to sim/evaluate*.c: an evaluation under way. */
#ifndef ITG_EVALUATION_H
#define ITG_EVALUATION_H
#include "sim/errors.h"
#include "sim/evaluate.h"
#include "sim/feed.h"

/* A worker's float network. */
typedef struct float_worker {
    void *instance;
    itg_tensor *outputs;
    const itg_quantizer **quantizers;
    float *wanted;
} float_worker;

typedef struct evaluation_state {
    const itg_backend *backend;
    const itg_evaluate_options *options;
    itg_feed feed;
    int workers;
    int64_t share;                    /* samples per worker in a block */
    int64_t count;                    /* samples of the current block */
    void **instances;                 /* [workers], made on first use */
    size_t sample_bytes;              /* of all outputs, each output 8-byte aligned */
    size_t *output_offset;            /* [outputs] */
    itg_tensor *outputs;              /* [outputs]: dtype and shape; data is set for each sample */
    const itg_quantizer **quantizers; /* [outputs]; NULL: not quantized */
    unsigned char *block;
    double *distance;     /* [samples][outputs]: from the reference; NULL: not requested */
    double *sums;         /* [outputs]: of the distances of the samples counted so far */
    itg_tensor *at_hand;  /* [workers][outputs]: of the sample that a worker compares */
    float_worker *floats; /* [workers], if the reference is recomputed; else NULL */
    unsigned char *kept;  /* [samples]: outputs, if samples run in another order */
    int64_t *classes;     /* [samples]: the labels, if they are classes; else NULL */
    bool has_targets;     /* the labels are targets */
    int64_t *binary;      /* [samples]: the labels, if they are 0 or 1 for one logit; else NULL */
    double *likeness;     /* [samples][ITG_LIKENESS]; NULL: not requested */
    itg_measures measures;
    float *input;                    /* one sample, if measures need it */
    double errors[ITG_METRIC_COUNT]; /* sums of errors so far */
    itg_kept_outputs reals;          /* for the user's metrics */
    int64_t first;                   /* first sample of the block */
    itg_sha256 hash;
} evaluation_state;

/* ---- evaluate.c ---- */
/* Returns the sample that runs at a place. */
int64_t evaluation_sample(const evaluation_state *s, int64_t place);
/* An itg_sample_source, of places. */
typedef struct evaluation_filling {
    const evaluation_state *s;
    bool has_failed; /* the error names the sample */
} evaluation_filling;
itg_status evaluation_fill(void *context, int32_t index, int64_t place, void *x, itg_error *err);

/* ---- evaluate_labels.c ---- */
itg_status evaluation_open_measures(evaluation_state *s, int64_t samples, itg_error *err);
/* Determines what the labels are: classes, targets, or data for the user's metrics. */
itg_status evaluation_read_labels(evaluation_state *s, int64_t samples, itg_error *err);

/* ---- evaluate_distance.c ---- */
itg_status evaluation_open_reference(evaluation_state *s, int64_t samples, itg_error *err);
void evaluation_close_reference(evaluation_state *s);
/* outputs: those of the sample at the place. */
itg_status evaluation_compare(evaluation_state *s, int worker, int64_t place,
                              const itg_tensor *outputs, itg_error *err);
void evaluation_finish_distortion(evaluation_state *s, itg_evaluation *out);
void evaluation_finish_likeness(const evaluation_state *s, itg_evaluation *out);
#endif
