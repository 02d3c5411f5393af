/* Shared by the passes over channels: which node with constant weights makes channels, which nodes
 * pass them on unmixed, which nodes read them, and which weights belong to each channel. */
#ifndef ITG_GRAPH_CHANNELS_H
#define ITG_GRAPH_CHANNELS_H
#include "edit.h"

/* How the output channels of a node lie in a value. is_image: the value is [N,C,...] and they run
 * along axis 1; otherwise they run along the last axis. */
typedef struct itg_channels {
    int64_t count;
    int64_t block; /* adjacent indices of the axis that belong to one channel; above 1 after
                      a flattening, or a depthwise Conv of several outputs a channel */
    bool is_image;
} itg_channels;

/* Whether a node makes channels: it has constant weights, and no bias or a constant bias of shape
 * [channels]. *out: the channels of its output. */
bool itg_makes_channels(const itg_graph *g, itg_id node, itg_channels *out);
/* Whether a node computes each output channel from one input channel: a univariate operator, a pool
 * of an image, a Reshape of an image from [N,C,...] to [N,M]. *channels becomes the channels of its
 * output. */
bool itg_hands_channels_on(const itg_graph *g, itg_id node, itg_channels *channels);
/* Whether a node with constant weights reads `value` with these channels at slot 0 and each of its
 * weights belongs to one channel: a Conv of an image with group 1 or depthwise; a Gemm or MatMul of
 * a value that is no image. */
bool itg_reads_channels(const itg_graph *g, itg_id node, itg_id value,
                        const itg_channels *channels);
bool itg_is_depthwise(const itg_graph *g, itg_id node, const itg_channels *channels);

/* Tells the channel of each element of an array, in order. Each channel has `run` adjacent
 * elements; the first channel follows the last. */
typedef struct itg_channel_walk {
    int64_t count, run, channel, left;
} itg_channel_walk;
itg_channel_walk itg_channel_walk_of(int64_t count, int64_t run);
/* The output channels of the weights of a node that makes channels. */
itg_channel_walk itg_made_walk(const itg_graph *g, itg_id node);
/* The input channels of the weights of a node that reads channels. */
itg_channel_walk itg_read_walk(const itg_graph *g, itg_id node, const itg_channels *channels);
/* Returns the channel of the next element. */
static inline int64_t itg_next_channel(itg_channel_walk *w)
{
    const int64_t channel = w->channel;
    if (--w->left == 0) {
        w->left = w->run;
        w->channel = channel + 1 < w->count ? channel + 1 : 0;
    }
    return channel;
}
/* The constant bias of a node that makes channels; NULL: none. */
const float *itg_bias_floats(const itg_graph *g, itg_id node);
/* Storage for the bias [channels] of a node that makes channels, to be filled by the caller: its
 * own constant (itg_own_floats), or a new input "node/bias" where it has none. */
itg_status itg_own_bias(itg_graph *g, itg_id node, int64_t channels, float **data, itg_error *err);
#endif
