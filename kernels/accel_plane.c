/* Planes: a band of an image with its padding, as unsigned bytes, split by the phases of the
 * strides. Patches: rows of windows, copied from a plane. */
#include "kernels/accel_parts.h"
#include "kernels/clones.h"
#include <string.h>

ITG_CLONES
static void flip(const uint8_t *restrict in, int64_t n, uint8_t *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = in[i] ^ 128;
}

ITG_CLONES
static void low_bytes(const uint16_t *restrict in, int64_t n, uint8_t *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (uint8_t)in[i];
}

ITG_CLONES
static void high_bytes(const uint16_t *restrict in, int64_t n, uint8_t mask, uint8_t *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (uint8_t)(in[i] >> 8) ^ mask;
}

/* Writes one digit of n codes. Adding the shift (128, 32768) flips the highest bit. */
static void digits(itg_dtype storage, int32_t digit, const void *in, int64_t n, uint8_t *out)
{
    if (storage == ITG_U8)
        memcpy(out, in, (size_t)n);
    else if (storage == ITG_S8)
        flip(in, n, out);
    else if (digit == 0)
        low_bytes(in, n, out);
    else
        high_bytes(in, n, storage == ITG_S16 ? 128 : 0, out);
}

typedef struct filler {
    const itg_accel_shape *t;
    itg_dtype storage;
    int32_t digit;
    uint8_t zero; /* the zero point's digit */
    size_t size;  /* of a code */
} filler;

/* Which pixels of a plane's row are the image's: `count` from `first` on, in the image from x on,
 * where they lie a step apart. Divisions are slow, so they are done once for all rows. */
typedef struct pixels {
    int64_t first, count, x;
    int64_t copies; /* of each channel, where filters of one channel are adjacent */
} pixels;

static pixels pixels_of(const itg_accel_shape *t, int64_t phase)
{
    const itg_accel_axis *x = &t->x;
    pixels p = {.copies = t->pixel / t->w.channels};
    if (x->pad > phase) p.first = (x->pad - phase + x->step - 1) / x->step;
    p.x = p.first * x->step + phase - x->pad;
    if (p.first > t->pitch) p.first = t->pitch;
    if (p.x < x->size) p.count = (x->size - 1 - p.x) / x->step + 1;
    if (p.count > t->pitch - p.first) p.count = t->pitch - p.first;
    return p;
}

static void copy_pixels(const filler *f, const unsigned char *line, const pixels *p, uint8_t *out)
{
    const itg_accel_shape *t = f->t;
    const int64_t channels = t->w.channels, copies = p->copies;
    const unsigned char *in = line + (size_t)(p->x * channels) * f->size;
    if (t->x.step == 1 && copies == 1) {
        digits(f->storage, f->digit, in, p->count * channels, out);
        return;
    }
    const size_t step = (size_t)(t->x.step * channels) * f->size;
    for (int64_t i = 0; i < p->count; i++, in += step, out += t->pixel) {
        if (copies == 1) {
            digits(f->storage, f->digit, in, channels, out);
            continue;
        }
        for (int64_t c = 0; c < channels; c++) {
            uint8_t code;
            digits(f->storage, f->digit, in + (size_t)c * f->size, 1, &code);
            memset(out + c * copies, code, (size_t)copies);
        }
    }
}

/* Fills one row of a phase's plane; line NULL: padding. */
static void fill_row(const filler *f, const unsigned char *line, const pixels *p, uint8_t *out)
{
    const int64_t pitch = f->t->pitch, pixel = f->t->pixel, end = p->first + p->count;
    if (!line || p->count == 0) {
        memset(out, f->zero, (size_t)(pitch * pixel));
        return;
    }
    memset(out, f->zero, (size_t)(p->first * pixel));
    copy_pixels(f, line, p, out + p->first * pixel);
    memset(out + end * pixel, f->zero, (size_t)((pitch - end) * pixel));
}

/* Fills `rows` rows of each phase, whose planes lie `distance` bytes apart. */
static void fill_digit(const filler *f, const unsigned char *x, int64_t height, int64_t first,
                       int64_t rows, int64_t distance, uint8_t *plane)
{
    const itg_accel_shape *t = f->t;
    const size_t line = (size_t)(t->w.width * t->w.channels) * f->size;
    for (int32_t i = 0; i < t->y.phases; i++)
        for (int32_t j = 0; j < t->x.phases; j++, plane += distance) {
            const pixels p = pixels_of(t, t->x.phase[j]);
            uint8_t *out = plane;
            for (int64_t r = 0; r < rows; r++, out += t->pitch * t->pixel) {
                int64_t y = first * t->y.stride + r * t->y.step + t->y.phase[i] - t->y.pad;
                fill_row(f, y >= 0 && y < height ? x + (size_t)y * line : NULL, &p, out);
            }
            memset(out, f->zero, (size_t)(t->shared * t->pixel));
        }
}

void itg_accel_plane_fill(const itg_accel_layer *layer, const void *x, int64_t height,
                          int64_t first, int64_t count, uint8_t *plane)
{
    const itg_accel_shape *t = &layer->shape;
    const int64_t rows = itg_accel_rows(&t->y, count), bytes = layer->plane / t->x_digits;
    const int64_t distance = itg_accel_rows(&t->y, layer->band) * t->pitch * t->pixel;
    const int64_t zero = layer->problem.x.zero_point + t->x_shift;
    for (int32_t d = 0; d < t->x_digits; d++) {
        filler f = {t, layer->problem.x.storage, d, (uint8_t)(zero >> (8 * d)),
                    itg_dtype_size(layer->problem.x.storage)};
        fill_digit(&f, x, height, first, rows, distance, plane + d * bytes);
    }
}

/* ---- patches ---- */

/* Copies n bytes in pieces of 16 or 64. It reads and writes up to 63 bytes beyond both ends; the
 * next run overwrites them, or their weights are zero. */
ITG_INLINE uint8_t *copy_run(uint8_t *out, const uint8_t *in, int64_t n)
{
    if (n <= 16) {
        memcpy(out, in, 16);
    } else if (n <= 32) {
        memcpy(out, in, 32);
    } else {
        for (int64_t i = 0; i < n; i += 64)
            memcpy(out + i, in + i, 64);
    }
    return out + n;
}

ITG_CLONES
static void gather_row(const uint8_t *in, int64_t in_step, int64_t count, const int64_t *offset,
                       int64_t runs, int64_t run, uint8_t *out, int64_t out_step)
{
    for (int64_t i = 0; i < count; i++, in += in_step, out += out_step) {
        uint8_t *at = out;
        for (int64_t u = 0; u < runs; u++)
            at = copy_run(at, in + offset[u], run);
    }
}

void itg_accel_patches(const itg_accel_layer *layer, const uint8_t *plane, int64_t group,
                       int64_t first, int64_t count, uint8_t *out)
{
    const itg_accel_shape *t = &layer->shape;
    const int64_t bytes = layer->plane / t->x_digits, runs = layer->patch_runs;
    const int64_t run = t->w.kernel[0] * t->w.kernel[1] / runs * t->channels;
    for (int32_t d = 0; d < t->x_digits; d++) {
        uint8_t *to = out + d * layer->patch_rows * layer->patch_row;
        for (int64_t m = first; m < first + count;) {
            int64_t p = m / t->x.outputs, q = m % t->x.outputs, n = t->x.outputs - q;
            if (n > first + count - m) n = first + count - m;
            const uint8_t *in = plane + d * bytes + group * t->channels +
                                (p * t->y.stride * t->pitch + q * t->x.stride) * t->pixel;
            gather_row(in, t->x.stride * t->pixel, n, layer->patch_offset, runs, run, to,
                       layer->patch_row);
            to += n * layer->patch_row;
            m += n;
        }
    }
}
