/* Selects the scheme for a problem and computes its memory layout. */
#include "kernels/accel_parts.h"
#include <string.h>

enum {
    LARGEST = 1 << 20,       /* of strides, dilations, kernels and pads */
    LARGEST_ROW = 1 << 26,   /* bytes that one output row reads */
    LARGEST_DEPTH = 1 << 16, /* 255 * 128 * depth fits 31 bits */
    FIRST_CACHE = 24 * 1024,
    PATCH_BYTES = 32 * 1024
};

itg_window itg_accel_matmul_window(int64_t m, int64_t n, int64_t k)
{
    return (itg_window){.channels = k,
                        .height = 1,
                        .width = m,
                        .out_channels = n,
                        .out_height = 1,
                        .out_width = m,
                        .kernel = {1, 1},
                        .stride = {1, 1},
                        .dilation = {1, 1},
                        .group = 1};
}

/* The range of the weights minus their zero point. */
typedef struct interval {
    int64_t lo, hi;
} interval;

static interval weights_of(const itg_int_operand *w)
{
    int64_t least = itg_dtype_min(w->storage), most = itg_dtype_max(w->storage);
    bool stated = w->qmin < w->qmax;
    return (interval){(stated && w->qmin > least ? w->qmin : least) - w->zero_point,
                      (stated && w->qmax < most ? w->qmax : most) - w->zero_point};
}

/* Digits of such a weight; 0: too many. Two balanced digits hold [-32896, 32639]. */
static int32_t weight_digits(const itg_int_operand *w)
{
    int64_t least = itg_dtype_min(w->storage), most = itg_dtype_max(w->storage);
    if (itg_dtype_size(w->storage) > 2 || w->zero_point < least || w->zero_point > most) return 0;
    const interval v = weights_of(w);
    if (v.lo >= -128 && v.hi <= 127) return 1;
    return v.lo >= -32896 && v.hi <= 32639 ? 2 : 3;
}

static bool set_operands(itg_accel_shape *t, const itg_accel_problem *p)
{
    const itg_int_operand *x = &p->x;
    bool integer = itg_dtype_is_integer(x->storage) && itg_dtype_is_integer(p->w.storage);
    if (!integer || itg_dtype_size(x->storage) > 2) return false;
    if (x->zero_point < itg_dtype_min(x->storage) || x->zero_point > itg_dtype_max(x->storage))
        return false;
    t->x_digits = (int32_t)itg_dtype_size(x->storage);
    t->x_shift = -itg_dtype_min(x->storage);
    t->w_digits = weight_digits(&p->w);
    return t->w_digits > 0;
}

/* Whether the accumulator's result follows from the exact sum. */
static bool set_width(itg_accel_shape *t, const itg_accel_problem *p)
{
    const itg_mac_options *mac = &p->mac;
    bool wraps = mac->may_overflow && mac->acc.overflow == ITG_OVERFLOW_WRAP;
    if (mac->split || (mac->may_overflow && !wraps)) return false;
    t->wide = wraps ? mac->acc.bits > 32 : mac->acc_bound > INT32_MAX;
    int64_t depth = t->channels * p->window.kernel[0] * p->window.kernel[1];
    return !t->wide || depth <= LARGEST_DEPTH;
}

static bool dimensions_fit(const itg_window *w)
{
    for (int d = 0; d < 2; d++)
        if (w->stride[d] > LARGEST || w->dilation[d] > LARGEST || w->kernel[d] > LARGEST)
            return false;
    return w->pad_top <= LARGEST && w->pad_left <= LARGEST && w->height <= LARGEST * 256 &&
           w->width <= LARGEST * 256 && w->channels <= LARGEST && w->out_channels <= LARGEST &&
           w->out_height <= LARGEST * 256 && w->out_width <= LARGEST * 256;
}

/* Finds the phases that taps read. False: too many. */
static bool set_phases(itg_accel_axis *a)
{
    a->step = a->stride;
    a->reach = (a->kernel - 1) * a->dilation / a->stride;
    a->phases = 0;
    for (int64_t k = 0; k < a->kernel && k < a->stride; k++) {
        if (a->phases == ITG_MAX_PHASES) return false;
        a->phase[a->phases++] = k * a->dilation % a->stride;
        if (a->phases > 1 && a->phase[a->phases - 1] == a->phase[0]) {
            a->phases--; /* the phases repeat */
            break;
        }
    }
    return true;
}

static void set_axis(itg_accel_axis *a, const itg_window *w, int d)
{
    memset(a, 0, sizeof *a);
    a->size = d == 0 ? w->height : w->width;
    a->pad = d == 0 ? w->pad_top : w->pad_left;
    a->outputs = d == 0 ? w->out_height : w->out_width;
    a->kernel = w->kernel[d];
    a->stride = w->stride[d];
    a->dilation = w->dilation[d];
    a->step = 1;
    a->reach = (a->kernel - 1) * a->dilation;
    a->phases = 1;
}

int64_t itg_accel_depth(const itg_accel_shape *t)
{
    return (t->steps - t->run_steps) * ITG_STEP_DEPTH + t->run_taps * t->channels;
}

int64_t itg_accel_rows(const itg_accel_axis *y, int64_t outputs)
{
    return (y->step == y->stride ? outputs : (outputs - 1) * y->stride + 1) + y->reach;
}

static int64_t slot_of(const itg_accel_axis *a, int64_t tap)
{
    int64_t phase = tap * a->dilation % a->step;
    for (int32_t i = 0; i < a->phases; i++)
        if (a->phase[i] == phase) return i;
    return 0;
}

int64_t itg_accel_tap_offset(const itg_accel_shape *t, int64_t rows, int64_t r, int64_t s)
{
    int64_t slot = slot_of(&t->y, r) * t->x.phases + slot_of(&t->x, s);
    int64_t row = r * t->y.dilation / t->y.step, column = s * t->x.dilation / t->x.step;
    return ((slot * rows + row) * t->pitch + column) * t->pixel;
}

int64_t itg_accel_plane_bytes(const itg_accel_shape *t, int64_t rows)
{
    int64_t pixels = (int64_t)t->y.phases * t->x.phases * rows * t->pitch;
    int64_t beyond = t->shared + ITG_BLOCK_ROWS * t->apart;
    int64_t bytes = (pixels + beyond) * t->pixel + 2 * ITG_STEP_DEPTH;
    return (bytes + 63) / 64 * 64;
}

int64_t itg_accel_patch_rows(const itg_accel_shape *t)
{
    int64_t blocks = PATCH_BYTES / (t->steps * ITG_STEP_DEPTH * ITG_BLOCK_ROWS);
    return ITG_BLOCK_ROWS * (blocks < 1 ? 1 : blocks > 8 ? 8 : blocks);
}

/* ---- schemes ---- */

/* Sets the runs of adjacent bytes that make up the depth of a group. */
static void set_runs(itg_accel_shape *t, int64_t run_taps)
{
    int64_t bytes = run_taps * t->channels;
    t->run_taps = run_taps;
    t->runs = t->w.kernel[0] * t->w.kernel[1] / run_taps;
    t->run_steps = (bytes + ITG_STEP_DEPTH - 1) / ITG_STEP_DEPTH;
    t->steps = t->runs * t->run_steps;
    t->columns = ITG_TILE_COLUMNS;
    t->panel_columns = ITG_PANEL_COLUMNS;
    t->panels = (t->filters + ITG_PANEL_COLUMNS - 1) / ITG_PANEL_COLUMNS;
    t->panel_bytes = t->steps * ITG_STEP_BYTES;
}

/* Returns the right padding that the next row's left padding can be. A row holds its outputs. */
static int64_t shared_padding(const itg_accel_axis *x, int64_t right)
{
    if (x->stride > 1 || right < 0) return 0;
    int64_t n = right < x->pad ? right : x->pad;
    return n < x->reach ? n : x->reach;
}

static void set_pitch(itg_accel_shape *t)
{
    const itg_accel_axis *x = &t->x;
    int64_t needed = itg_accel_rows(x, x->outputs);
    t->shared = shared_padding(x, needed - x->pad - x->size);
    t->pitch = (needed - t->shared + t->apart - 1) / t->apart * t->apart;
}

static bool row_fits(const itg_accel_shape *t)
{
    const int64_t limit = LARGEST_ROW;
    int64_t rows = (int64_t)t->y.phases * t->x.phases * itg_accel_rows(&t->y, 1);
    return t->pixel <= limit && t->pitch <= limit / t->pixel &&
           rows <= limit / (t->pixel * t->pitch);
}

static bool set_direct(itg_accel_shape *t)
{
    const itg_window *w = &t->w;
    t->scheme = ITG_SCHEME_DIRECT;
    t->pixel = w->channels;
    /* Columns that most outputs read stay together, so that a row's taps are one run. */
    const bool runs = w->dilation[1] == 1 && w->group == 1 && w->kernel[1] >= w->stride[1] &&
                      w->stride[1] <= ITG_MAX_PHASES;
    if (!set_phases(&t->y) || (!runs && !set_phases(&t->x))) return false;
    t->apart = t->x.step == t->x.stride ? 1 : t->x.stride;
    set_pitch(t);
    set_runs(t, runs ? w->kernel[1] : 1);
    return row_fits(t);
}

static bool set_patches(itg_accel_shape *t)
{
    const itg_window *w = &t->w;
    t->scheme = ITG_SCHEME_PATCHES;
    t->pixel = w->channels;
    set_pitch(t);
    set_runs(t, w->kernel[0] * w->kernel[1]);
    return row_fits(t) && t->steps <= LARGEST_ROW / (ITG_STEP_DEPTH * ITG_BLOCK_ROWS);
}

static bool set_depthwise(itg_accel_shape *t)
{
    t->scheme = ITG_SCHEME_DEPTHWISE;
    t->pixel = t->w.out_channels;
    if (!set_phases(&t->y) || !set_phases(&t->x)) return false;
    set_pitch(t);
    int64_t taps = t->w.kernel[0] * t->w.kernel[1];
    t->run_taps = t->run_steps = 1;
    t->threes = t->w.kernel[1] == 3 && t->w.dilation[1] == 1 && t->w.stride[1] == 1;
    t->steps = t->threes ? t->w.kernel[0] : (taps + ITG_DEPTHWISE_TAPS - 1) / ITG_DEPTHWISE_TAPS;
    t->runs = t->steps;
    t->columns = t->panel_columns = ITG_DEPTHWISE_COLUMNS;
    t->panels = (t->w.out_channels + ITG_DEPTHWISE_COLUMNS - 1) / ITG_DEPTHWISE_COLUMNS;
    t->panel_bytes = t->steps * ITG_DEPTHWISE_STEP_BYTES;
    return row_fits(t);
}

/* Cycles, about: to copy 64 bytes of a patch, to send a pixel to the plane of its phase, to emit a
 * line of 32 columns on its own. */
enum { PATCH_CYCLES = 6, PHASE_CYCLES = 20, LINE_CYCLES = 80 };

/* Estimates an image's cycles. A plane is copied at 12 bytes a cycle. Weights that exceed the first
 * cache are read for every buffer of patches, 32 bytes a cycle, but beside products. */
static double cost(const itg_accel_shape *t, const itg_accel_kernels *k)
{
    const double pixels = (double)t->y.outputs * (double)t->x.outputs;
    const double inputs = (double)t->y.size * (double)t->x.size, bytes = (double)t->w.channels;
    const int64_t granules = (t->run_taps * t->channels + k->granule - 1) / k->granule;
    const double steps = (double)(t->runs * granules * k->granule) / ITG_STEP_DEPTH;
    const double products = steps * (double)t->panels * (double)k->step_cycles;
    if (t->scheme == ITG_SCHEME_DIRECT) {
        const double planes = (double)(t->y.phases * t->x.phases);
        const double sent = inputs * planes / (double)(t->y.step * t->x.step);
        const double lines = (double)(t->y.outputs * t->panels) / 2;
        const double line = (double)(t->pitch / t->apart);
        return products * (double)t->y.outputs * line +
               (t->x.step > 1 ? sent * (PHASE_CYCLES + bytes / 16) : inputs * bytes / 12) +
               (line > (double)t->x.outputs ? lines * LINE_CYCLES : 0);
    }
    const double copies = (double)(t->w.kernel[0] * ((t->w.kernel[1] * t->channels + 63) / 64));
    const double weights = steps * (double)t->panels * ITG_STEP_BYTES;
    const double buffers = pixels / (double)itg_accel_patch_rows(t) + 1;
    return products * pixels + PATCH_CYCLES * pixels * copies + inputs * bytes / 12 +
           (weights > FIRST_CACHE ? buffers * weights / (double)(32 * k->step_cycles) : 0);
}

static bool choose(itg_accel_shape *t, const itg_accel_kernels *kernels)
{
    const itg_window *w = &t->w;
    if (w->group > 1 && w->channels == w->group) return set_depthwise(t);
    itg_accel_shape direct = *t, patches = *t;
    bool has_direct = set_direct(&direct), has_patches = set_patches(&patches);
    if (!has_direct && !has_patches) return false;
    const bool is_direct =
        has_direct && (!has_patches || cost(&direct, kernels) <= cost(&patches, kernels));
    *t = is_direct ? direct : patches;
    return true;
}

itg_accel_shape itg_accel_shape_of(const itg_accel_kernels *kernels, const itg_accel_problem *p)
{
    itg_accel_shape t;
    memset(&t, 0, sizeof t);
    t.w = p->window;
    if (!dimensions_fit(&t.w)) return t;
    t.channels = t.w.channels / t.w.group;
    t.filters = t.w.out_channels / t.w.group;
    if (!set_operands(&t, p) || !set_width(&t, p)) return t;
    set_axis(&t.y, &t.w, 0);
    set_axis(&t.x, &t.w, 1);
    t.apart = 1;
    const interval v = weights_of(&p->w);
    const int64_t most_weight = -v.lo > v.hi ? -v.lo : v.hi;
    if (kernels->winograd && itg_winograd_choose(&t, kernels, p, most_weight)) return t;
    if (!choose(&t, kernels)) {
        t.scheme = ITG_SCHEME_REFERENCE;
        return t;
    }
    t.folded = t.scheme == ITG_SCHEME_DIRECT && t.w.kernel[0] == 1 && t.w.kernel[1] == 1 &&
               t.w.stride[0] == 1 && t.w.stride[1] == 1 && t.w.pad_top == 0 && t.w.pad_left == 0 &&
               t.w.out_height == t.w.height && t.w.out_width == t.w.width;
    t.adjacent = kernels->eights && t.scheme != ITG_SCHEME_DEPTHWISE ? 8 : 4;
    if (kernels->words && t.scheme != ITG_SCHEME_DEPTHWISE)
        t.panel_bytes *= (int64_t)sizeof(int16_t);
    return t;
}
