/* Metrics of a whole set (docs/metrics.md). A part of the samples does not bound them, so they
 * never stop a trial early. Only those asked for are computed. Sums are added in sample order, then
 * in order of positions: the bits do not depend on the number of threads. */
#ifndef ITG_MEASURES_H
#define ITG_MEASURES_H
#include "sim/sim.h"

/* The first output of samples that run one by one. */
typedef struct itg_measured {
    const bool *asked;              /* [ITG_METRIC_COUNT]; NULL: no metric */
    const itg_tensor *output;       /* its dtype and shape [1, ...] */
    const itg_quantizer *quantizer; /* NULL: not quantized */
    const itg_dataset *labels;      /* one entry a sample; NULL: none */
    const itg_tensor *input;        /* the network's only one; NULL: it has others */
    int64_t samples;
    bool probabilities; /* of the output: itg_gives_probabilities */
} itg_measured;

/* Whether the model's first output is that of a Sigmoid or Softmax, so that one half, not 0,
 * separates two classes. */
bool itg_gives_probabilities(const itg_model *model);

/* Zero-initialize. The output's element (p / inner * classes + c) * inner + p % inner belongs to
 * class c at position p. One class: it is a logit; none: it is the class itself. */
typedef struct itg_measures {
    itg_measured of;   /* borrows */
    int64_t positions; /* of a sample, each with a class as label; 0: labels are others */
    int64_t classes, inner;
    bool rebuilds;   /* the output rebuilds the input; labels mark anomalies */
    int64_t kinds;   /* number of classes that are counted */
    int64_t *counts; /* [kinds][3]: labelled, chosen, both */
    double *scores;  /* [2 * room]: a score, and whether its label is 1 */
    int64_t scored;
    double log_loss; /* sum over tokens */
    int64_t tokens;
    double *columns; /* [elements][2] of targets: squares left, squares about the mean */
} itg_measures;

/* Determines the kind of the labels. ITG_MISMATCH: a label that is no class; ITG_NO_MEMORY. Metrics
 * that do not apply are not known. The caller calls itg_measures_deinit, on failure too. */
itg_status itg_measures_init(itg_measures *m, const itg_measured *of, itg_error *err);
/* Whether labels of this shape are classes of positions: a map, a text. */
bool itg_labels_are_maps(const itg_measured *of);
/* Adds one sample, in order. input: as the network takes it; NULL if `rebuilds` is false. */
void itg_measures_add(itg_measures *m, int64_t sample, const itg_tensor *output,
                      const float *input);
void itg_measures_finish(itg_measures *m, double values[ITG_METRIC_COUNT]); /* NaN: not known */
void itg_measures_deinit(itg_measures *m);

/* Likeness of a sample's outputs to the float network's, [ITG_LIKENESS]. */
enum { ITG_LIKE_COSINE, ITG_LIKE_KL, ITG_LIKENESS };
/* wanted: the float network's outputs one after another. */
void itg_likeness(const itg_measured *of, const float *wanted, const itg_tensor *outputs,
                  const itg_quantizer *const *quantizers, int32_t output_count,
                  double out[ITG_LIKENESS]);
#endif
