/* Runs a layer. A job is one band of output rows of one image. Jobs run in groups whose planes fit
 * the cache together. The weights are read once for each group: the outer loop is over panels, the
 * inner loops over jobs and their tiles. */
#include "kernels/accel_parts.h"
#include "kernels/clones.h"
#include "kernels/int_parts.h"
#include <string.h>

enum { GROUP_BYTES = 512 * 1024, MOST_JOBS = 64 };

typedef struct job {
    int64_t image, first, count; /* output rows */
    const uint8_t *plane;        /* digit d at d * plane_stride */
    int64_t plane_stride;
} job;

typedef struct run {
    const itg_accel_layer *layer;
    const unsigned char *x;
    void *const *y;
    int64_t images, height, outputs, bands; /* outputs: rows of an image */
    int64_t tail; /* of the last band, if the others can be read where the input is; else 0 */
    job jobs[MOST_JOBS];
    int64_t job_count;
    /* scratch */
    int32_t *part;    /* [rows][columns], sums of one pair of digits */
    int64_t *joined;  /* the sums of all pairs of digits, in 64 bits or 32 */
    uint8_t *patches; /* digit d at d * patch_rows * patch_row */
    uint8_t *planes;
} run;

/* ---- scratch ---- */

static int64_t jobs_at_once(const itg_accel_layer *layer, int64_t jobs)
{
    int64_t n = GROUP_BYTES / layer->plane;
    n = n < 1 ? 1 : n > MOST_JOBS ? MOST_JOBS : n;
    return n < jobs ? n : jobs;
}

static int64_t patch_bytes(const itg_accel_layer *layer)
{
    return layer->shape.x_digits * layer->patch_rows * layer->patch_row + ITG_STEP_DEPTH;
}

/* Sets the images and their bands. The samples of a folded problem are rows of one image. */
static void set_images(run *r, int64_t samples)
{
    const itg_accel_layer *layer = r->layer;
    const itg_accel_shape *t = &layer->shape;
    r->images = t->folded ? 1 : samples;
    r->height = t->folded ? samples * t->w.height : t->w.height;
    r->outputs = t->folded ? r->height : t->w.out_height;
    r->tail = 0;
    if (t->folded && layer->problem.x.storage == ITG_U8 &&
        t->w.channels % layer->kernels->granule == 0) {
        r->tail = (ITG_BLOCK_ROWS + t->pitch - 1) / t->pitch;
        if (r->tail >= r->outputs || r->tail > layer->band) r->tail = 0;
    }
    r->bands = (r->outputs - r->tail + layer->band - 1) / layer->band + (r->tail > 0);
}

enum { SUM_BYTES = ITG_TILE_SUMS * 8 };

size_t itg_accel_scratch(const itg_accel_layer *layer, int64_t samples)
{
    if (layer->kernels == &itg_accel_reference) return itg_accel_reference_scratch(layer);
    if (layer->shape.scheme == ITG_SCHEME_WINOGRAD) return itg_winograd_scratch(layer);
    run r = {.layer = layer};
    set_images(&r, samples);
    int64_t jobs = jobs_at_once(layer, r.images * r.bands);
    int64_t bytes = 2 * SUM_BYTES + (patch_bytes(layer) + 63) / 64 * 64 + jobs * layer->plane;
    return itg_scratch_bytes(bytes);
}

static void carve(run *r, void *scratch)
{
    uint8_t *at = scratch;
    r->part = (int32_t *)(void *)at;
    r->joined = (int64_t *)(void *)(at + SUM_BYTES);
    r->patches = at + 2 * SUM_BYTES;
    r->planes = r->patches + (patch_bytes(r->layer) + 63) / 64 * 64;
}

/* ---- sums to outputs ---- */

void itg_accel_emit(const itg_accel_layer *layer, void *const *y, const itg_sums *sums,
                    int64_t pixel, int64_t channel, int64_t columns)
{
    const itg_accel_shape *t = &layer->shape;
    itg_lanes_args a = {.acc32 = sums->narrow,
                        .acc64 = sums->wide,
                        .acc_stride = sums->stride,
                        .rows = sums->rows,
                        .columns = columns,
                        .parts = layer->parts,
                        .bias32 = layer->bias32 + channel,
                        .bias64 = layer->bias64 + channel,
                        .fit = layer->fit,
                        .channel = channel,
                        .out_stride = t->w.out_channels};
    const int64_t element = pixel * t->w.out_channels + channel;
    for (int32_t i = 0; i < layer->problem.out_count; i++) {
        a.lanes = &layer->lanes[i];
        a.out =
            (unsigned char *)y[i] + (size_t)element * itg_dtype_size(layer->problem.out[i].storage);
        if (a.lanes->kind == ITG_LANES_GENERIC)
            itg_lanes_generic(&a);
        else
            layer->kernels->lanes(&a);
    }
}

/* Emits rows of the tile from first_row on. They are `rows` consecutive pixels of an image. */
static void emit(const run *r, int64_t image, int64_t first_row, int64_t rows, int64_t pixel,
                 int64_t channel, int64_t columns)
{
    const itg_accel_shape *t = &r->layer->shape;
    const int64_t at = first_row * t->columns;
    itg_sums sums = {.stride = t->columns, .rows = rows};
    if (t->wide)
        sums.wide = r->joined + at;
    else
        sums.narrow =
            (itg_accel_is_single(t) ? r->part : (const int32_t *)(const void *)r->joined) + at;
    itg_accel_emit(r->layer, r->y, &sums, image * r->outputs * t->x.outputs + pixel, channel,
                   columns);
}

ITG_CLONES static void join_narrow(const int32_t *part, int64_t n, int32_t shift, int32_t *joined)
{
    for (int64_t i = 0; i < n; i++)
        joined[i] = (int32_t)((uint32_t)joined[i] + ((uint32_t)part[i] << shift));
}

/* joined += part << shift, modulo the width. The sums of the lowest digits are the first. */
static void join(const run *r, int64_t rows, int32_t shift)
{
    const int64_t n = rows * r->layer->shape.columns;
    if (r->layer->shape.wide) {
        for (int64_t i = 0; i < n; i++) {
            uint64_t sum = shift == 0 ? 0 : (uint64_t)r->joined[i];
            r->joined[i] = (int64_t)(sum + ((uint64_t)(int64_t)r->part[i] << shift));
        }
    } else if (shift == 0) {
        memcpy(r->joined, r->part, (size_t)n * sizeof *r->part);
    } else if (shift < 32) {
        join_narrow(r->part, n, shift, (int32_t *)(void *)r->joined);
    }
}

/* Columns [column, column + columns) of a group. */
typedef struct strip {
    int64_t group, column, columns, panels;
    const int8_t *b;
} strip;

/* Sums one tile: a is digit 0; the other digits lie a_digit apart. column: row 0's in its line. */
static void sum_tile(const run *r, const uint8_t *a, int64_t a_digit, int64_t a_stride,
                     const strip *s, int64_t rows, int64_t column)
{
    const itg_accel_shape *t = &r->layer->shape;
    itg_accel_tile tile = {.a_stride = a_stride,
                           .width = t->x.outputs,
                           .left = t->x.outputs - column,
                           .gap = (t->pitch - t->x.outputs) * t->pixel,
                           .columns = s->columns,
                           .threes = t->threes,
                           .parts = r->layer->parts,
                           .offset = r->layer->offset,
                           .steps = t->steps,
                           .depth = itg_accel_depth(t),
                           .run_steps = t->run_steps,
                           .b_stride = t->w_digits * t->panel_bytes,
                           .rows = rows,
                           .panels = s->panels,
                           .c = r->part};
    const bool single = itg_accel_is_single(t);
    for (int32_t i = 0; i < t->x_digits; i++)
        for (int32_t j = 0; j < t->w_digits; j++) {
            tile.a = a + i * a_digit;
            tile.b = s->b + j * t->panel_bytes;
            if (t->scheme == ITG_SCHEME_DEPTHWISE)
                r->layer->kernels->depthwise(&tile);
            else
                r->layer->kernels->tile(&tile);
            if (!single) join(r, rows, 8 * (i + j));
        }
}

/* ---- tiles ---- */

static strip strip_of(const itg_accel_layer *layer, int64_t group, int64_t column)
{
    const itg_accel_shape *t = &layer->shape;
    const int64_t filters = t->scheme == ITG_SCHEME_DEPTHWISE ? t->w.out_channels : t->filters;
    strip s = {.group = group, .column = column, .columns = filters - column};
    if (s.columns > t->columns) s.columns = t->columns;
    s.panels = (s.columns + t->panel_columns - 1) / t->panel_columns;
    const int64_t first = (group * t->panels + column / t->panel_columns) * t->w_digits;
    s.b = layer->packed + first * t->panel_bytes;
    return s;
}

/* Emits those of a tile's rows [m, m + rows) that are outputs. */
static void emit_plane(const run *r, const job *j, const strip *s, int64_t m, int64_t rows)
{
    const itg_accel_shape *t = &r->layer->shape;
    const int64_t channel = s->group * t->filters + s->column, width = t->x.outputs;
    const int64_t line = t->pitch / t->apart;
    for (int64_t at = m; at < m + rows;) {
        int64_t p = at / line, q = at % line, n = width - q;
        if (n > m + rows - at) n = m + rows - at;
        if (line == width) n = m + rows - at;
        if (n > 0) emit(r, j->image, at - m, n, (j->first + p) * width + q, channel, s->columns);
        at = line == width ? m + rows : (p + 1) * line;
    }
}

static void run_plane(const run *r, const job *j, const strip *s)
{
    const itg_accel_shape *t = &r->layer->shape;
    const int64_t all = (j->count - 1) * (t->pitch / t->apart) + t->x.outputs;
    const int64_t offset = s->group * t->channels, stride = t->apart * t->pixel;
    for (int64_t m = 0; m < all; m += ITG_TILE_ROWS) {
        int64_t rows = all - m < ITG_TILE_ROWS ? all - m : ITG_TILE_ROWS;
        sum_tile(r, j->plane + m * stride + offset, j->plane_stride, stride, s, rows, 0);
        emit_plane(r, j, s, m, rows);
    }
}

/* Rows of these tiles are outputs, not pixels of the plane. */
static void run_depthwise(const run *r, const job *j, const strip *s)
{
    const itg_accel_shape *t = &r->layer->shape;
    const int64_t width = t->x.outputs, pixels = j->count * width;
    for (int64_t m = 0; m < pixels; m += ITG_DEPTHWISE_ROWS) {
        const int64_t rows = pixels - m < ITG_DEPTHWISE_ROWS ? pixels - m : ITG_DEPTHWISE_ROWS;
        const uint8_t *a = j->plane + (m / width * t->pitch + m % width) * t->pixel + s->column;
        sum_tile(r, a, j->plane_stride, t->pixel, s, rows, m % width);
        emit(r, j->image, 0, rows, j->first * width + m, s->column, s->columns);
    }
}

static void run_patches(const run *r, const job *j, int64_t group)
{
    const itg_accel_layer *layer = r->layer;
    const itg_accel_shape *t = &layer->shape;
    const int64_t pixels = j->count * t->x.outputs, first = j->first * t->x.outputs;
    for (int64_t m0 = 0; m0 < pixels; m0 += layer->patch_rows) {
        int64_t count = pixels - m0 < layer->patch_rows ? pixels - m0 : layer->patch_rows;
        itg_accel_patches(layer, j->plane, group, m0, count, r->patches);
        for (int64_t column = 0; column < t->filters; column += t->columns) {
            strip s = strip_of(layer, group, column);
            for (int64_t m = 0; m < count; m += ITG_TILE_ROWS) {
                int64_t rows = count - m < ITG_TILE_ROWS ? count - m : ITG_TILE_ROWS;
                sum_tile(r, r->patches + m * layer->patch_row, layer->patch_rows * layer->patch_row,
                         layer->patch_row, &s, rows, 0);
                emit(r, j->image, 0, rows, first + m0 + m, group * t->filters + column, s.columns);
            }
        }
    }
}

/* ---- jobs ---- */

static void start_job(run *r, int64_t index, int64_t slot)
{
    const itg_accel_layer *layer = r->layer;
    const itg_accel_shape *t = &layer->shape;
    job *j = &r->jobs[slot];
    const int64_t band = index % r->bands;
    const bool is_tail = r->tail > 0 && band == r->bands - 1;
    const int64_t end = is_tail ? r->outputs : r->outputs - r->tail;
    j->image = index / r->bands;
    j->first = is_tail ? end - r->tail : band * layer->band;
    j->count = end - j->first < layer->band ? end - j->first : layer->band;
    const unsigned char *image =
        r->x + (size_t)(j->image * r->height * t->w.width * t->w.channels) *
                   itg_dtype_size(layer->problem.x.storage);
    if (r->tail > 0 && !is_tail) { /* tiles may read as many rows as the tail has beyond it */
        j->plane = image + j->first * t->pitch * t->pixel;
        return;
    }
    uint8_t *plane = r->planes + slot * layer->plane;
    itg_accel_plane_fill(layer, image, r->height, j->first, j->count, plane);
    j->plane = plane;
    j->plane_stride = layer->plane / t->x_digits;
}

static void run_jobs(const run *r)
{
    const itg_accel_layer *layer = r->layer;
    const itg_accel_shape *t = &layer->shape;
    const bool depthwise = t->scheme == ITG_SCHEME_DEPTHWISE;
    const int64_t groups = depthwise ? 1 : t->w.group;
    const int64_t filters = depthwise ? t->w.out_channels : t->filters;
    for (int64_t group = 0; group < groups; group++) {
        if (t->scheme == ITG_SCHEME_PATCHES) {
            for (int64_t i = 0; i < r->job_count; i++)
                run_patches(r, &r->jobs[i], group);
            continue;
        }
        for (int64_t column = 0; column < filters; column += t->columns) {
            strip s = strip_of(layer, group, column);
            for (int64_t i = 0; i < r->job_count; i++)
                (depthwise ? run_depthwise : run_plane)(r, &r->jobs[i], &s);
        }
    }
}

void itg_accel_run(const itg_accel_layer *layer, const void *x, void *const *y, int64_t samples,
                   void *scratch)
{
    if (layer->kernels == &itg_accel_reference) {
        itg_accel_reference_run(layer, x, y, samples, scratch);
        return;
    }
    if (layer->shape.scheme == ITG_SCHEME_WINOGRAD) {
        itg_winograd_run(layer, x, y, samples, scratch);
        return;
    }
    run r;
    r.layer = layer;
    r.x = x;
    r.y = y;
    set_images(&r, samples);
    carve(&r, scratch);
    const int64_t jobs = r.images * r.bands, most = jobs_at_once(layer, jobs);
    if (layer->kernels->begin) layer->kernels->begin();
    for (int64_t first = 0; first < jobs; first += most) {
        r.job_count = jobs - first < most ? jobs - first : most;
        for (int64_t i = 0; i < r.job_count; i++)
            start_job(&r, first + i, i);
        run_jobs(&r);
    }
    if (layer->kernels->end) layer->kernels->end();
}
