/* Codes, scales and biases of a layer from its moments. Private to recover/. */
#ifndef ITG_RECOVER_FIT_H
#define ITG_RECOVER_FIT_H
#include "recover/layer.h"
#include "recover/observe.h"
#include "recover/solve.h"

typedef struct itg_fit_options {
    bool round;   /* codes are chosen, too; else they are the nearest ones to the model's weights */
    double ridge; /* as a share of the usual one */
    itg_solving how;
} itg_fit_options;

/* The quadratic problem of a layer for all widths, in units of the input codes' scale. Where the
 * node keeps its bias, moments are not centred. */
typedef struct itg_fit {
    const itg_layer *layer;
    const itg_moments *moments;
    const float *bias; /* [channels]: of a float node; NULL: none */
    double *h;         /* [groups][depth][depth] */
    double *v, *c;     /* [channels][depth]: best real weights; v H */
    int32_t *order;    /* [groups][depth]: descending diagonal */
    itg_fit_options options;
} itg_fit;

/* weights, bias: the model's, in its order. Where it is stopped, this and what follows fails with
 * ITG_CANCELLED. */
itg_status itg_fit_create(const itg_layer *layer, const itg_moments *moments, const float *weights,
                          const float *bias, const itg_fit_options *options, itg_fit *out,
                          itg_error *err);
void itg_fit_deinit(itg_fit *fit);

/* A layer's codes in the fit's order. */
typedef struct itg_fit_codes {
    int32_t *q;          /* [channels][depth] */
    float *scale;        /* [scale_count] */
    uint8_t *zero;       /* [scale_count]: zero points; NULL: none */
    int64_t scale_count; /* 1, or channels */
} itg_fit_codes;

/* The legal codes: lo to hi, less the scale's zero point. */
typedef struct itg_fit_grid {
    int32_t lo, hi, step;
    bool power_of_two;
} itg_fit_grid;
static inline int32_t itg_fit_zero(const itg_fit_codes *codes, int64_t scale)
{
    return codes->zero ? codes->zero[scale] : 0;
}

/* The threads that are worth waking for a layer of this size. */
int itg_fit_threads(const itg_fit *fit);
/* Finds codes and scales. *codes stays as it is if they are no better, or if all weights are
 * zero. */
itg_status itg_fit_search(const itg_fit *fit, const itg_fit_grid *grid, itg_fit_codes *codes,
                          itg_error *err);
/* Improves codes and scales of channels together, with the channels' metric (metric.h). Channels
 * that share a scale stay as they are. */
itg_status itg_fit_couple(const itg_fit *fit, const double *metric, const itg_fit_grid *grid,
                          itg_fit_codes *codes, itg_error *err);
/* Finds the best codes for the given scales, of the channels whose scale differs from `from`. */
itg_status itg_fit_again(const itg_fit *fit, const itg_fit_grid *grid, const float *from,
                         itg_fit_codes *codes, itg_error *err);
/* Computes real biases [channels] that give each output the mean of its targets. */
void itg_fit_bias(const itg_fit *fit, const itg_fit_codes *codes, float *bias);
#endif
