/* Resizing and colours, in integers but for the weights of the filter, which are IEEE double
 * operations of a fixed order: the same bits on every machine. */
#include "sim/image.h"
#include <stdlib.h>
#include <string.h>

enum { WEIGHT_BITS = 22 };

/* One axis: output i is the sum of weights[i * most + k] * input[first[i] + k], k < count[i]. */
typedef struct axis {
    int32_t most;
    int32_t *first, *count, *weights;
} axis;

static void free_axis(axis *a)
{
    free(a->first);
    free(a->count);
    free(a->weights);
}

static double triangle(double x)
{
    x = x < 0 ? -x : x;
    return x < 1 ? 1 - x : 0;
}

/* The weights of one output: they add to about 1, in units of 2^-22. */
static void weigh(int32_t in, double center, double support, int32_t *first, int32_t *count,
                  double *reals, int32_t *weights)
{
    const double inverse = 1 / support;
    double sum = 0;
    int32_t begin = (int32_t)(center - support + 0.5), end = (int32_t)(center + support + 0.5);
    if (begin < 0) begin = 0;
    if (end > in) end = in;
    for (int32_t k = 0; k < end - begin; k++) {
        reals[k] = triangle((k + begin - center + 0.5) * inverse);
        sum += reals[k];
    }
    for (int32_t k = 0; k < end - begin; k++)
        weights[k] = (int32_t)(0.5 + (sum != 0 ? reals[k] / sum : reals[k]) * (1 << WEIGHT_BITS));
    *first = begin;
    *count = end - begin;
}

static bool make_axis(int32_t in, int32_t out, axis *a)
{
    const double scale = (double)in / out, support = scale > 1 ? scale : 1;
    a->most = 2 * ((int32_t)support + 1) + 1;
    const size_t size = (size_t)out * (size_t)a->most;
    a->first = malloc((size_t)out * sizeof *a->first);
    a->count = malloc((size_t)out * sizeof *a->count);
    a->weights = malloc(size * sizeof *a->weights);
    double *reals = malloc((size_t)a->most * sizeof *reals);
    bool made = a->first && a->count && a->weights && reals;
    for (int32_t i = 0; made && i < out; i++)
        weigh(in, (i + 0.5) * scale, support, &a->first[i], &a->count[i], reals,
              &a->weights[(size_t)i * (size_t)a->most]);
    free(reals);
    return made;
}

/* in: lines of `length` groups of `size` bytes; out the same with the axis's outputs. */
static void resample(const axis *a, int64_t lines, int32_t in_length, int32_t out_length,
                     int64_t size, const unsigned char *in, unsigned char *out)
{
    for (int64_t line = 0; line < lines; line++, in += in_length * size)
        for (int32_t i = 0; i < out_length; i++, out += size) {
            const int32_t *w = &a->weights[(size_t)i * (size_t)a->most];
            const unsigned char *x = in + a->first[i] * size;
            for (int64_t c = 0; c < size; c++) {
                int64_t sum = 1 << (WEIGHT_BITS - 1);
                for (int32_t k = 0; k < a->count[i]; k++)
                    sum += (int64_t)w[k] * x[k * size + c];
                sum >>= WEIGHT_BITS;
                out[c] = (unsigned char)(sum > 255 ? 255 : sum);
            }
        }
}

static itg_status resize_axis(itg_image *image, bool columns, int32_t to, itg_error *err)
{
    int32_t *const length = columns ? &image->width : &image->height;
    if (*length == to) return ITG_OK;
    const int64_t lines = columns ? image->height : 1;
    const int64_t size = columns ? image->channels : (int64_t)image->width * image->channels;
    axis a = {0};
    unsigned char *out = malloc((size_t)(lines * to * size));
    if (out && make_axis(*length, to, &a)) {
        resample(&a, lines, *length, to, size, image->pixels, out);
        free(image->pixels);
        image->pixels = out;
        *length = to;
        out = NULL;
    } else {
        free(out);
        free_axis(&a);
        return itg_fail(err, ITG_NO_MEMORY, "no memory to resize it");
    }
    free_axis(&a);
    return ITG_OK;
}

itg_status itg_image_resize(itg_image *image, int32_t width, int32_t height, itg_error *err)
{
    if ((int64_t)width * image->height > ITG_IMAGE_PIXELS ||
        (int64_t)width * height > ITG_IMAGE_PIXELS)
        return itg_fail(err, ITG_LIMIT, "%d x %d becomes %d x %d, which is too large", image->width,
                        image->height, width, height);
    itg_status status = resize_axis(image, true, width, err);
    return status == ITG_OK ? resize_axis(image, false, height, err) : status;
}

itg_status itg_image_recolour(itg_image *image, int32_t channels, itg_error *err)
{
    const size_t pixels = (size_t)image->width * (size_t)image->height;
    if (image->channels == channels) return ITG_OK;
    unsigned char *out = malloc(pixels * (size_t)channels);
    if (!out) return itg_fail(err, ITG_NO_MEMORY, "no memory for its colours");
    for (size_t i = 0; i < pixels; i++) {
        const unsigned char *x = image->pixels + i * (size_t)image->channels;
        if (channels == 1)
            out[i] = (unsigned char)((19595 * x[0] + 38470 * x[1] + 7471 * x[2] + 32768) >> 16);
        else
            memset(out + 3 * i, x[0], 3);
    }
    free(image->pixels);
    image->pixels = out;
    image->channels = channels;
    return ITG_OK;
}
