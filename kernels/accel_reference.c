/* The reference set: itg_int_conv and itg_int_matmul, sample by sample, between transpositions. */
#include "kernels/accel_parts.h"
#include "kernels/int_parts.h"

static int64_t aligned(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static bool is_matmul(const itg_accel_problem *p)
{
    const itg_window *w = &p->window;
    return w->group == 1 && w->height == 1 && w->out_height == 1 && w->width == w->out_width &&
           w->kernel[0] == 1 && w->kernel[1] == 1 && w->stride[1] == 1 && w->pad_top == 0 &&
           w->pad_left == 0;
}

static int64_t kernel_bytes(const itg_accel_problem *p)
{
    const itg_window *w = &p->window;
    return aligned((int64_t)(is_matmul(p)
                                 ? itg_int_matmul_scratch(w->width, w->out_channels, w->channels)
                                 : itg_int_conv_scratch(w)));
}

static int64_t input_elements(const itg_window *w)
{
    return w->channels * w->height * w->width;
}

static int64_t output_elements(const itg_window *w)
{
    return w->out_channels * w->out_height * w->out_width;
}

size_t itg_accel_reference_scratch(const itg_accel_layer *layer)
{
    const itg_accel_problem *p = &layer->problem;
    int64_t bytes = kernel_bytes(p);
    if (!is_matmul(p)) {
        bytes += aligned(input_elements(&p->window) * (int64_t)itg_dtype_size(p->x.storage));
        for (int32_t i = 0; i < p->out_count; i++)
            bytes +=
                aligned(output_elements(&p->window) * (int64_t)itg_dtype_size(p->out[i].storage));
    }
    return itg_scratch_bytes(bytes);
}

static void run_matmul(const itg_accel_problem *p, itg_int_operand x, itg_epilogue *out,
                       void *scratch)
{
    const itg_window *w = &p->window;
    itg_int_matmul(w->width, w->out_channels, w->channels, &x, &p->w, !p->w_rows, &p->mac, out,
                   p->out_count, scratch);
}

/* out[i].out: where the results go, channels last. */
static void run_conv(const itg_accel_problem *p, itg_int_operand x, itg_epilogue *out,
                     unsigned char *scratch)
{
    const itg_window *w = &p->window;
    unsigned char *at = scratch + kernel_bytes(p), *to[ITG_ACCEL_OUTPUTS];
    const int64_t pixels = w->out_height * w->out_width;
    itg_to_channels_first(x.storage, 1, w->channels, w->height * w->width, x.data, at);
    x.data = at;
    at += aligned(input_elements(w) * (int64_t)itg_dtype_size(x.storage));
    for (int32_t i = 0; i < p->out_count; i++) {
        to[i] = out[i].out;
        out[i].out = at;
        at += aligned(output_elements(w) * (int64_t)itg_dtype_size(out[i].storage));
    }
    itg_int_conv(w, &x, &p->w, &p->mac, out, p->out_count, scratch);
    for (int32_t i = 0; i < p->out_count; i++)
        itg_to_channels_last(out[i].storage, 1, w->out_channels, pixels, out[i].out, to[i]);
}

void itg_accel_reference_run(const itg_accel_layer *layer, const void *x, void *const *y,
                             int64_t samples, void *scratch)
{
    const itg_accel_problem *p = &layer->problem;
    const int64_t in = input_elements(&p->window), elements = output_elements(&p->window);
    for (int64_t n = 0; n < samples; n++) {
        itg_int_operand image = p->x;
        itg_epilogue out[ITG_ACCEL_OUTPUTS];
        image.data = (const unsigned char *)x + (size_t)(n * in) * itg_dtype_size(image.storage);
        for (int32_t i = 0; i < p->out_count; i++) {
            out[i] = p->out[i];
            out[i].out =
                (unsigned char *)y[i] + (size_t)(n * elements) * itg_dtype_size(out[i].storage);
        }
        if (is_matmul(p))
            run_matmul(p, image, out, scratch);
        else
            run_conv(p, image, out, scratch);
    }
}

const itg_accel_kernels itg_accel_reference = {.name = "reference"};
