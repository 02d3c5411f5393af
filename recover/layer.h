/* A layer whose weights are reconstructed, as sums: y[channel][position] = sum over terms of
 * w[channel][term] * x[group of the channel][term][position]. Private to recover/. */
#ifndef ITG_RECOVER_LAYER_H
#define ITG_RECOVER_LAYER_H
#include "graph/annotated.h"
#include "realize/geometry.h"
#include "sim/feed.h"

#define ITG_POSITIONS_A_TERM 16 /* wanted, of all samples */

/* The samples of the reconstruction: the first `count` of data. */
typedef struct itg_calibration_samples {
    const itg_feed *feed;
    int64_t count;
} itg_calibration_samples;

typedef struct itg_layer {
    itg_id node;
    int32_t weight_edge;  /* of the strategy */
    int64_t groups, rows; /* output channels of a group */
    int64_t depth;        /* terms of a sum */
    int64_t positions;    /* sums of a channel in one sample */
    int64_t taken;        /* how many positions of a sample are observed */
    bool last_axis;       /* the weights are [depth][channels] */
    bool is_float;        /* the node runs in float, and keeps its bias */
    bool is_conv;
    itg_window window; /* of a Conv */
    itg_id add;        /* the Add that alone reads the output, or ITG_NONE */
    int32_t add_slot;  /* its other operand */
} itg_layer;

/* Whether the weights of a node can be reconstructed. Sets everything in *out except `taken`. */
bool itg_layer_of(const itg_annotated *a, itg_id node, itg_layer *out);
/* The quantizer of its weights. */
const itg_quantizer *itg_layer_quantizer(const itg_annotated *a, const itg_layer *layer);
/* Whether its weights have zero points at a width, with the strategy's width of its input. */
bool itg_layer_has_zero_points(const itg_layer *layer, const itg_graph *g, const itg_hardware *hw,
                               const itg_strategy *s, int32_t bits);
/* Sets how many positions of each of `samples` samples are observed, so that the total suffices. */
void itg_layer_take(itg_layer *layer, int64_t samples);
static inline int64_t itg_layer_channels(const itg_layer *layer)
{
    return layer->groups * layer->rows;
}
/* Selects positions of a sample, [taken], ascending: a random one of each of `taken` parts. */
void itg_layer_positions(const itg_layer *layer, int64_t sample, int64_t *out);
/* Element of the output for a channel at a position, within one sample. */
int64_t itg_layer_output(const itg_layer *layer, int64_t channel, int64_t position);
/* The position of a window's corner; it may be in the padding. */
typedef struct itg_corner {
    int64_t first; /* element of the input in its first channel; a matrix: of the first term */
    int64_t y, x;
} itg_corner;
void itg_layer_corners(const itg_layer *layer, const int64_t *positions, itg_corner *out);
/* The elements of one sample's input that a term of a group reads, [taken]; -1: padding. */
void itg_layer_inputs(const itg_layer *layer, int64_t group, int64_t term,
                      const itg_corner *corners, int64_t *out);
/* Element of the weights. */
static inline int64_t itg_layer_weight(const itg_layer *layer, int64_t channel, int64_t term)
{
    return layer->last_axis ? term * itg_layer_channels(layer) + channel
                            : channel * layer->depth + term;
}
#endif
