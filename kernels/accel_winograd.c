/* Convolutions with kernels of 3x3 in fewer multiplications (Winograd; Lavin and Gray, "Fast
 * algorithms for convolutional neural networks", 2015), exactly in integers.
 *
 * A tile of 2x4 (4x4) outputs needs 4x6 (6x6) inputs and as many products per channel, instead of
 * 72 (144). With codes x in [-128, 127] (unsigned ones less 128) and weights w:
 *
 *   V = B' X B     16 bits: |V| <= 10 * 10 * 128
 *   U = G W G'     16 bits: |U| <= 7 * 7 * 128; rows of G times 2 (6), which makes them integers
 *   M = sum over channels of V U, modulo 2^32
 *   S = A' M A     modulo 2^32: 2 * 24 (24 * 24) times the outputs
 *
 * 48 = 3 * 2^4 and 576 = 9 * 2^6. Odd numbers have an inverse modulo 2^32, so S / 3 (S / 9) is 2^4
 * (2^6) times the output modulo 2^32. An arithmetic shift gives the output if its magnitude is
 * below 2^27 (2^25); itg_winograd_choose() requires this bound for all codes.
 *
 * Packed weights: the sum of (w - zero point) of each filter as int64, then U as [panel of 16
 * filters][position][channel / 2][16][2]; filling is zero. */
#include "kernels/accel_parts.h"
#include "kernels/clones.h"
#include "kernels/int_parts.h"
#include <string.h>

enum {
    LEAST = 16, /* channels and filters */
    BLOCK_BYTES = 512 * 1024,
    MOST_TILES = 96,
    LARGEST_ROW = 1 << 26, /* bytes that one row of tiles takes */
    CACHE = 1 << 20,
    CODES = 128, /* the largest |x| */
    COLUMNS = ITG_TILE_COLUMNS
};

/* ---- shape ---- */

static int64_t tiles(int64_t outputs, int64_t of)
{
    return (outputs + of - 1) / of;
}

static int64_t positions(int64_t rows)
{
    return (rows + 2) * (ITG_WINOGRAD_COLUMNS + 2);
}

/* Products per channel and filter of an image. */
static int64_t cost(const itg_accel_shape *t, int64_t rows)
{
    return positions(rows) * tiles(t->y.outputs, rows) * tiles(t->x.outputs, ITG_WINOGRAD_COLUMNS);
}

static int64_t most_tiles(int64_t positions, int64_t steps)
{
    const int64_t most = BLOCK_BYTES / (positions * steps * 4);
    return most < 1 ? 1 : most > MOST_TILES ? MOST_TILES : most;
}

/* Whether tiles take less time than nine products for each output. The unit is such a product, of
 * bytes by VNNI or of words. One of the tile's takes two or one; to transform a value that goes in
 * or comes out takes about 44 or 10, to read a byte of weights that the second cache does not hold
 * about 4 or 1. */
static bool is_faster(const itg_accel_shape *t, bool words)
{
    const int64_t at = positions(t->tile_rows), weights = t->channels * t->filters;
    const double count = (double)cost(t, t->tile_rows), products = (double)weights;
    const double transforms = (double)(t->channels + t->filters);
    const double reads = at * weights * (int64_t)sizeof(int16_t) > CACHE
                             ? 2 * products / (double)most_tiles(at, (t->channels + 1) / 2)
                             : 0;
    const double each =
        words ? products + 10 * transforms + reads : 2 * products + 44 * transforms + 4 * reads;
    return count * each < 9.0 * (double)(t->y.outputs * t->x.outputs) * products;
}

bool itg_winograd_choose(itg_accel_shape *t, const itg_accel_kernels *kernels,
                         const itg_accel_problem *p, int64_t most_weight)
{
    const itg_window *w = &t->w;
    const bool bytes = itg_dtype_size(p->x.storage) == 1 && t->w_digits == 1 && !t->wide;
    const bool three = w->kernel[0] == 3 && w->kernel[1] == 3 && w->group == 1 &&
                       w->stride[0] == 1 && w->stride[1] == 1 && w->dilation[0] == 1 &&
                       w->dilation[1] == 1;
    if (!bytes || !three || t->channels < LEAST || t->filters < LEAST) return false;
    const int64_t bound = 9 * t->channels * CODES * most_weight;
    if (bound >= (int64_t)1 << 27) return false;
    t->tile_rows = bound < (int64_t)1 << 25 && cost(t, 4) < cost(t, 2) ? 4 : 2;
    if (!kernels->eager && !is_faster(t, kernels->words)) return false;
    const int64_t row = positions(t->tile_rows) * tiles(t->x.outputs, ITG_WINOGRAD_COLUMNS);
    if (row > LARGEST_ROW / (4 * (t->channels + COLUMNS))) return false;
    t->scheme = ITG_SCHEME_WINOGRAD;
    t->x_shift = p->x.storage == ITG_U8 ? -CODES : 0;
    t->positions = positions(t->tile_rows);
    t->steps = (t->channels + 1) / 2;
    t->columns = COLUMNS;
    t->panel_columns = ITG_PANEL_COLUMNS;
    t->panels = tiles(t->filters, ITG_PANEL_COLUMNS);
    t->panel_bytes = t->positions * t->steps * 2 * ITG_PANEL_COLUMNS * (int64_t)sizeof(int16_t);
    return true;
}

/* ---- weights ---- */

/* Two channels of a panel's filters lie beside each other, as they do in the packed weights. */
enum { LANES = 2 * ITG_PANEL_COLUMNS, WIDE = ITG_WINOGRAD_COLUMNS + 2 };

/* Computes G g of three rows of weights, `stride` rows apart, into rows that are `to` apart. */
ITG_INLINE void weights_for(int64_t outputs, const int16_t g[][LANES], int stride, int16_t *out,
                            int64_t to)
{
    const int16_t *x = g[0], *y = g[stride], *z = g[2 * stride];
    const int32_t scale = outputs == 4 ? 6 : 2;
    for (int64_t l = 0; l < LANES; l++) {
        const int32_t a = x[l], b = y[l], c = z[l];
        out[l] = (int16_t)(scale * a);
        out[to + l] = (int16_t)(a + b + c);
        out[2 * to + l] = (int16_t)(a - b + c);
        if (outputs == 4) {
            out[3 * to + l] = (int16_t)(a + 2 * b + 4 * c);
            out[4 * to + l] = (int16_t)(a - 2 * b + 4 * c);
        }
        out[(outputs + 1) * to + l] = (int16_t)(scale * c);
    }
}

/* Transforms nine weights of each lane; positions lie `apart` from each other. */
ITG_INLINE void transform_weights(int64_t rows, const int16_t w[9][LANES], int16_t *out,
                                  int64_t apart)
{
    int16_t half[WIDE * 3][LANES];
    for (int s = 0; s < 3; s++)
        weights_for(rows, w + s, 3, half[s], (int64_t)3 * LANES);
    for (int64_t i = 0; i < rows + 2; i++)
        weights_for(ITG_WINOGRAD_COLUMNS, half + i * 3, 1, out + i * WIDE * apart, apart);
}

ITG_CLONES
static void transform_lanes(int64_t rows, const int16_t w[9][LANES], int16_t *out, int64_t apart)
{
    if (rows == 4)
        transform_weights(4, w, out, apart);
    else
        transform_weights(2, w, out, apart);
}

/* Reads the nine weights of `count` channels, which begin at `first`, into as many lanes; returns
 * their sum. */
ITG_INLINE int64_t read_lanes(const itg_int_operand *weights, bool bytes, int64_t first,
                              int64_t count, int16_t w[9][LANES], int64_t lane)
{
    const uint8_t *codes = weights->data, flip = weights->storage == ITG_S8 ? 0x80 : 0;
    const int32_t zero = (int32_t)weights->zero_point + flip;
    int64_t sum = 0;
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = 0; i < 9; i++) {
            const int64_t at = first + j * 9 + i;
            const int32_t v =
                bytes ? (codes[at] ^ flip) - zero
                      : (int32_t)(itg_load(weights->storage, codes, at) - weights->zero_point);
            w[i][lane + j] = (int16_t)v;
            sum += v;
        }
    return sum;
}

static void pack_panel(const itg_accel_shape *t, const itg_int_operand *weights, int64_t first,
                       int64_t *sums, int16_t *panel)
{
    const int64_t left = t->filters - first;
    const int64_t filters = left < ITG_PANEL_COLUMNS ? left : ITG_PANEL_COLUMNS;
    const bool bytes = itg_is_byte(weights->storage);
    int16_t w[9][LANES];
    memset(sums, 0, sizeof *sums * (size_t)filters);
    memset(w, 0, sizeof w);
    for (int64_t c = 0; c < t->channels; c += 2) {
        const int64_t count = t->channels - c < 2 ? 1 : 2;
        if (count == 1) memset(w, 0, sizeof w);
        for (int64_t f = 0; f < filters; f++) {
            const int64_t at = ((first + f) * t->channels + c) * 9;
            sums[f] += bytes ? read_lanes(weights, true, at, count, w, 2 * f)
                             : read_lanes(weights, false, at, count, w, 2 * f);
        }
        transform_lanes(t->tile_rows, (const int16_t(*)[LANES])w, panel + c / 2 * LANES,
                        t->steps * LANES);
    }
}

void itg_winograd_pack(const itg_accel_shape *t, const itg_accel_problem *p, int64_t *sums,
                       int8_t *panels)
{
    for (int64_t k = 0; k < t->filters; k += ITG_PANEL_COLUMNS)
        pack_panel(t, &p->w, k, sums + k,
                   (int16_t *)(void *)(panels + k / ITG_PANEL_COLUMNS * t->panel_bytes));
}

/* ---- running ---- */

/* Runs blocks of whole rows of tiles, of any images; their output pixels are contiguous. */
typedef struct run {
    const itg_accel_layer *layer;
    const uint8_t *x;
    void *const *y;
    int64_t across, down; /* tiles of an image */
    int64_t rows, tiles;  /* of tiles, of a whole block */
    /* scratch */
    uint8_t *zero;    /* a pixel of padding */
    int16_t *v;       /* [position][tile][steps][2] */
    int32_t *m, *sum; /* [position][tile][COLUMNS]; [pixel][COLUMNS] and a pixel to discard */
} run;

static int64_t aligned(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static void set_block(run *r)
{
    const itg_accel_shape *t = &r->layer->shape;
    r->across = tiles(t->x.outputs, ITG_WINOGRAD_COLUMNS);
    r->down = tiles(t->y.outputs, t->tile_rows);
    r->rows = most_tiles(t->positions, t->steps) / r->across;
    if (r->rows < 1) r->rows = 1;
    r->tiles = r->rows * r->across;
}

/* Number of tiles that multiply() may read and write. */
static int64_t tile_capacity(const run *r)
{
    return (r->tiles + ITG_PRODUCT_ROWS - 1) / ITG_PRODUCT_ROWS * ITG_PRODUCT_ROWS;
}

static int64_t carve(run *r, uint8_t *at)
{
    const itg_accel_shape *t = &r->layer->shape;
    const int64_t pixels = r->rows * t->tile_rows * t->x.outputs + 1;
    const int64_t bytes[] = {
        aligned(t->channels), aligned(t->positions * tile_capacity(r) * t->steps * 4),
        aligned(t->positions * tile_capacity(r) * COLUMNS * 4), pixels * COLUMNS * 4};
    if (at) {
        r->zero = at;
        r->v = (int16_t *)(void *)(at + bytes[0]);
        r->m = (int32_t *)(void *)(at + bytes[0] + bytes[1]);
        r->sum = (int32_t *)(void *)(at + bytes[0] + bytes[1] + bytes[2]);
    }
    return bytes[0] + bytes[1] + bytes[2] + bytes[3];
}

size_t itg_winograd_scratch(const itg_accel_layer *layer)
{
    run r = {.layer = layer};
    set_block(&r);
    return itg_scratch_bytes(carve(&r, NULL));
}

/* Transforms the inputs of row `row` of tiles (of all images) into v, from tile `first` on. */
static void read_row(const run *r, int64_t row, int64_t first)
{
    const itg_accel_shape *t = &r->layer->shape;
    const itg_window *w = &t->w;
    itg_winograd_input a = {.channels = t->channels,
                            .rows = t->tile_rows,
                            .flip = r->layer->problem.x.storage == ITG_U8,
                            .stride = tile_capacity(r) * t->steps * 2};
    const uint8_t *image = r->x + row / r->down * w->height * w->width * w->channels;
    const int64_t top = row % r->down * t->tile_rows - w->pad_top;
    for (int64_t i = 0; i < r->across; i++) {
        const int64_t left = i * ITG_WINOGRAD_COLUMNS - w->pad_left;
        const uint8_t **pixel = a.pixel;
        for (int64_t y = top; y < top + t->tile_rows + 2; y++)
            for (int64_t x = left; x < left + ITG_WINOGRAD_COLUMNS + 2; x++) {
                const bool inside = y >= 0 && y < w->height && x >= 0 && x < w->width;
                *pixel++ = inside ? image + (y * w->width + x) * w->channels : r->zero;
            }
        a.v = r->v + (first + i) * t->steps * 2;
        r->layer->kernels->winograd->input(&a);
    }
}

/* Number of output pixels in rows of tiles [0, row) of all samples. */
static int64_t pixels_before(const run *r, int64_t row)
{
    const itg_accel_shape *t = &r->layer->shape;
    return (row / r->down * t->y.outputs + row % r->down * t->tile_rows) * t->x.outputs;
}

/* Transforms the sums of one row of tiles into the pixels from `sum` on. */
static void write_row(const run *r, int64_t row, int64_t first, int64_t panels, int32_t *sum)
{
    const itg_accel_shape *t = &r->layer->shape;
    itg_winograd_output a = {
        .rows = t->tile_rows, .panels = panels, .stride = tile_capacity(r) * COLUMNS};
    const int64_t height = t->y.outputs - row % r->down * t->tile_rows;
    int32_t *none = r->sum + r->rows * t->tile_rows * t->x.outputs * COLUMNS;
    for (int64_t i = 0; i < r->across; i++) {
        int32_t **out = a.out;
        for (int64_t y = 0; y < t->tile_rows; y++)
            for (int64_t j = 0; j < ITG_WINOGRAD_COLUMNS; j++) {
                const int64_t x = i * ITG_WINOGRAD_COLUMNS + j;
                const bool inside = y < height && x < t->x.outputs;
                *out++ = inside ? sum + (y * t->x.outputs + x) * COLUMNS : none;
            }
        a.m = r->m + (first + i) * COLUMNS;
        r->layer->kernels->winograd->output(&a);
    }
}

static void multiply(const run *r, int64_t column, int64_t count, int64_t panels)
{
    const itg_accel_shape *t = &r->layer->shape;
    const int64_t panel = t->panel_bytes / (int64_t)sizeof(int16_t);
    itg_product a = {.v_stride = t->steps * 2,
                     .u_stride = panel,
                     .rows = count,
                     .steps = t->steps,
                     .panels = panels};
    for (int64_t i = 0; i < t->positions; i++) {
        a.v = r->v + i * tile_capacity(r) * t->steps * 2;
        a.u = (const int16_t *)(const void *)r->layer->packed + column / ITG_PANEL_COLUMNS * panel +
              i * t->steps * 2 * ITG_PANEL_COLUMNS;
        a.m = r->m + i * tile_capacity(r) * COLUMNS;
        r->layer->kernels->winograd->multiply(&a);
    }
}

/* Computes rows of tiles [first, first + rows). */
static void run_block(const run *r, int64_t first, int64_t rows)
{
    const itg_accel_shape *t = &r->layer->shape;
    const int64_t pixel = pixels_before(r, first), pixels = pixels_before(r, first + rows) - pixel;
    for (int64_t i = 0; i < rows; i++)
        read_row(r, first + i, i * r->across);
    for (int64_t column = 0; column < t->filters; column += COLUMNS) {
        const int64_t left = t->filters - column, columns = left < COLUMNS ? left : COLUMNS;
        const int64_t panels = tiles(columns, ITG_PANEL_COLUMNS);
        multiply(r, column, rows * r->across, panels);
        for (int64_t i = 0; i < rows; i++)
            write_row(r, first + i, i * r->across, panels,
                      r->sum + (pixels_before(r, first + i) - pixel) * COLUMNS);
        const itg_sums sums = {.narrow = r->sum, .stride = COLUMNS, .rows = pixels};
        itg_accel_emit(r->layer, r->y, &sums, pixel, column, columns);
    }
}

void itg_winograd_run(const itg_accel_layer *layer, const void *x, void *const *y, int64_t samples,
                      void *scratch)
{
    run r = {.layer = layer, .x = x, .y = y};
    set_block(&r);
    carve(&r, scratch);
    memset(r.zero, (uint8_t)layer->problem.x.zero_point, (size_t)layer->shape.channels);
    const int64_t rows = samples * r.down;
    for (int64_t first = 0; first < rows; first += r.rows)
        run_block(&r, first, rows - first < r.rows ? rows - first : r.rows);
}
