/* Convolution one addition after another, in the stated order: accumulators that saturate on the
 * way, sums in parts, and codes wider than 16 bits. Patches and filters are widened to 64 bits in
 * the order channel, row, column. */
#include "kernels/int_conv.h"

enum { BLOCK = 8 };

static int64_t filter_size(const itg_window *w)
{
    return w->channels / w->group * w->kernel[0] * w->kernel[1];
}

int64_t itg_conv_sequential_bytes(const itg_window *w)
{
    return ((BLOCK + 1) * filter_size(w) + BLOCK) * (int64_t)sizeof(int64_t);
}

static void gather(const itg_conv_args *args, int64_t group, int64_t pixel, int64_t *patch)
{
    const itg_window *w = args->window;
    const int64_t channels = w->channels / w->group;
    int64_t top = pixel / w->out_width * w->stride[0] - w->pad_top;
    int64_t left = pixel % w->out_width * w->stride[1] - w->pad_left;
    for (int64_t c = group * channels; c < (group + 1) * channels; c++)
        for (int64_t r = 0; r < w->kernel[0]; r++)
            for (int64_t s = 0; s < w->kernel[1]; s++, patch++) {
                int64_t y = top + r * w->dilation[0], x = left + s * w->dilation[1];
                *patch = 0;
                if (y >= 0 && y < w->height && x >= 0 && x < w->width)
                    itg_widen_row(args->x, (c * w->height + y) * w->width + x, 1, 1, patch);
            }
}

void itg_conv_sequential(const itg_conv_args *args, void *scratch)
{
    const itg_window *w = args->window;
    const int64_t pixels = w->out_height * w->out_width, size = filter_size(w);
    const int64_t filters = w->out_channels / w->group;
    int64_t *acc = scratch, *filter = acc + BLOCK, *patches = filter + size;
    itg_conv_args emit = *args;
    itg_mac_options done = *args->mac; /* bias and width are inside the sums already */
    done.bias = NULL;
    done.may_overflow = false;
    emit.mac = &done;
    for (int64_t g = 0; g < w->group; g++)
        for (int64_t first = 0; first < pixels; first += BLOCK) {
            int64_t count = pixels - first < BLOCK ? pixels - first : BLOCK;
            for (int64_t i = 0; i < count; i++)
                gather(args, g, first + i, patches + i * size);
            for (int64_t k = g * filters; k < (g + 1) * filters; k++) {
                int64_t bias = args->mac->bias ? args->mac->bias[k] : 0;
                itg_widen_row(args->weights, k * size, size, 1, filter);
                for (int64_t i = 0; i < count; i++)
                    acc[i] =
                        args->mac->split
                            ? itg_dot_split(patches + i * size, filter, bias, k, args->mac->split)
                            : itg_dot_sequential(patches + i * size, filter, size, bias, args->mac);
                itg_conv_emit64(&emit, k, first, count, acc);
            }
        }
}
