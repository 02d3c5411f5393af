/* The float network with the weights and biases that its integer program has, and with its values
 * rounded as there: about the integer program, but with gradients. Private to recover/. */
#ifndef ITG_RECOVER_TWIN_H
#define ITG_RECOVER_TWIN_H
#include "recover/gradient.h"
#include "recover/layer.h"

/* A layer whose outputs are scale * sums + bias, by channel. Its parameters: relative changes of
 * scales, and changes of biases. */
typedef struct itg_twin_layer {
    const itg_layer *layer;
    int64_t scale_count;             /* 0: they stay; 1; or of each channel */
    int64_t first_scale, first_bias; /* parameters; first_bias -1: it stays */
    float *weights, *bias;           /* bias: [channels] */
} itg_twin_layer;

typedef struct itg_twin {
    itg_graph graph;             /* parts of it are the network's own */
    const itg_quantizer **grids; /* [values of the graph]; NULL: not rounded */
    itg_id *inputs;
    itg_twin_layer *layers;
    int32_t layer_count;
    int64_t parameters;
} itg_twin;

/* Of the layers, all that have codes of their own get parameters. annotated: with the
 * strategy; it must outlive the twin. scales: they may move. */
itg_status itg_twin_create(const itg_annotated *annotated, const itg_strategy *s,
                           const itg_layer *layers, int32_t layer_count, bool scales, itg_twin *out,
                           itg_error *err);
void itg_twin_deinit(itg_twin *twin);
/* Sets row [parameters]: the derivatives by the parameters, from the gradients of a run; 0 where no
 * gradient is known. */
void itg_twin_row(const itg_twin *twin, const itg_gradient_run *run, float *row);
/* Adds to squares [parameters], for each bias, the mean square of what is added to it. */
void itg_twin_add_squares(const itg_twin *twin, const itg_gradient_run *run, double *squares);
#endif
