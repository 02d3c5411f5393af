/* Creates a layer: all data for running a problem that does not depend on samples. */
#include "kernels/accel_parts.h"
#include <string.h>

enum { BAND_BYTES = 256 * 1024 };

static int64_t *array_of(itg_arena *arena, int64_t n)
{
    return itg_arena_array(arena, (size_t)n, sizeof(int64_t));
}

/* Sets the band: as many output rows as keep its planes within BAND_BYTES; at least one. */
static void set_band(itg_accel_layer *layer)
{
    const itg_accel_shape *t = &layer->shape;
    const int64_t most = t->folded ? INT64_MAX : t->y.outputs;
    int64_t per_row = (int64_t)t->y.phases * t->x.phases * t->pitch * t->pixel;
    int64_t step = t->y.step == t->y.stride ? 1 : t->y.stride;
    int64_t rows = BAND_BYTES / per_row - t->y.reach;
    layer->band = rows < 2 * step ? 1 : rows / step;
    if (layer->band > most) layer->band = most;
    layer->plane = t->x_digits * itg_accel_plane_bytes(t, itg_accel_rows(&t->y, layer->band));
}

/* Computes where each step reads, relative to a row of the tile. */
static bool set_offsets(itg_accel_layer *layer, itg_arena *arena)
{
    const itg_accel_shape *t = &layer->shape;
    const int64_t rows = itg_accel_rows(&t->y, layer->band), columns = t->w.kernel[1];
    const bool depthwise = t->scheme == ITG_SCHEME_DEPTHWISE;
    int64_t count = depthwise ? t->steps * ITG_DEPTHWISE_TAPS : t->steps;
    int64_t *offset = array_of(arena, count);
    if (!offset) return false;
    const int64_t taps = t->w.kernel[0] * columns;
    for (int64_t i = 0; i < count; i++) {
        if (t->scheme == ITG_SCHEME_PATCHES) {
            offset[i] = i * ITG_STEP_DEPTH;
            continue;
        }
        if (depthwise && t->threes) { /* the fourth is the third of the next pixel */
            offset[i] =
                itg_accel_tap_offset(t, rows, i / ITG_DEPTHWISE_TAPS, i % ITG_DEPTHWISE_TAPS);
            continue;
        }
        int64_t tap = depthwise ? i : i / t->run_steps * t->run_taps;
        if (tap >= taps) tap = taps - 1; /* its weights are zero */
        offset[i] = itg_accel_tap_offset(t, rows, tap / columns, tap % columns) +
                    (depthwise ? 0 : i % t->run_steps * ITG_STEP_DEPTH);
    }
    layer->offset = offset;
    return true;
}

static bool set_patches(itg_accel_layer *layer, itg_arena *arena)
{
    const itg_accel_shape *t = &layer->shape;
    if (t->scheme != ITG_SCHEME_PATCHES) return true;
    layer->patch_row = t->steps * ITG_STEP_DEPTH;
    layer->patch_rows = itg_accel_patch_rows(t);
    const bool neighbours = t->w.dilation[1] == 1 && t->w.group == 1;
    const int64_t run_taps = neighbours ? t->w.kernel[1] : 1;
    layer->patch_runs = t->w.kernel[0] * t->w.kernel[1] / run_taps;
    int64_t *offset = array_of(arena, layer->patch_runs);
    if (!offset) return false;
    for (int64_t i = 0; i < layer->patch_runs; i++) {
        int64_t tap = i * run_taps;
        offset[i] = itg_accel_tap_offset(t, 0, tap / t->w.kernel[1], tap % t->w.kernel[1]);
    }
    layer->patch_offset = offset;
    return true;
}

/* bias - (zero point + shift) * sum of weights. */
static bool set_bias(itg_accel_layer *layer, const void *packed, itg_arena *arena)
{
    const itg_accel_shape *t = &layer->shape;
    const int64_t channels = t->w.out_channels, *sums = packed;
    int64_t *wide = array_of(arena, channels + ITG_MAX_COLUMNS);
    int32_t *narrow = itg_arena_array(arena, (size_t)(channels + ITG_MAX_COLUMNS), sizeof *narrow);
    if (!wide || !narrow) return false;
    const uint64_t zero = (uint64_t)(layer->problem.x.zero_point + t->x_shift);
    for (int64_t c = 0; c < channels; c++) {
        uint64_t bias = layer->problem.mac.bias ? (uint64_t)layer->problem.mac.bias[c] : 0;
        wide[c] = (int64_t)(bias - zero * (uint64_t)sums[c]);
        narrow[c] = (int32_t)(uint32_t)(uint64_t)wide[c];
    }
    layer->bias32 = narrow;
    layer->bias64 = wide;
    return true;
}

static bool set_lanes(itg_accel_layer *layer, itg_arena *arena)
{
    const itg_mac_options *mac = &layer->problem.mac;
    const itg_accel_shape *t = &layer->shape;
    int64_t bound = mac->acc_bound;
    if (mac->may_overflow) {
        layer->fit = (t->wide ? 64 : 32) - mac->acc.bits;
        bound = mac->acc.bits == 64 ? INT64_MAX : (int64_t)1 << (mac->acc.bits - 1);
    }
    for (int32_t i = 0; i < layer->problem.out_count; i++)
        if (!itg_lanes_init(&layer->lanes[i], &layer->problem.out[i], t->w.out_channels, bound,
                            t->wide, arena))
            return false;
    layer->parts = layer->kernels->parts && t->scheme == ITG_SCHEME_DEPTHWISE &&
                   itg_accel_is_single(t) && layer->fit == 0;
    for (int32_t i = 0; i < layer->problem.out_count; i++)
        layer->parts = layer->parts && itg_lanes_are_bytes(&layer->lanes[i]);
    return true;
}

/* Copies what the problem borrows, except for the weights, into the arena. */
static bool copy_problem(itg_accel_layer *layer, const itg_accel_problem *p, itg_arena *arena)
{
    layer->problem = *p;
    const size_t channels = (size_t)p->window.out_channels;
    itg_epilogue *out = itg_arena_copy(arena, p->out, (size_t)p->out_count * sizeof *out);
    if (!out) return false;
    for (int32_t i = 0; i < p->out_count; i++) {
        itg_epilogue *e = &out[i];
        if (e->requant_count > 0)
            e->requant =
                itg_arena_copy(arena, e->requant, (size_t)e->requant_count * sizeof *e->requant);
        if (e->dequant_count > 0)
            e->dequant =
                itg_arena_copy(arena, e->dequant, (size_t)e->dequant_count * sizeof *e->dequant);
        if ((e->requant_count > 0 && !e->requant) || (e->dequant_count > 0 && !e->dequant))
            return false;
    }
    layer->problem.out = out;
    if (!p->mac.bias) return true;
    layer->problem.mac.bias = itg_arena_copy(arena, p->mac.bias, channels * sizeof *p->mac.bias);
    return layer->problem.mac.bias != NULL;
}

static bool fill_layer(itg_accel_layer *layer, const itg_accel_kernels *kernels,
                       const itg_accel_problem *p, const void *packed, itg_arena *arena)
{
    if (!copy_problem(layer, p, arena)) return false;
    layer->shape = itg_accel_shape_of(kernels, p);
    const bool reference =
        kernels == &itg_accel_reference || layer->shape.scheme == ITG_SCHEME_REFERENCE;
    layer->kernels = reference ? &itg_accel_reference : kernels;
    if (reference) return true;
    layer->packed = (const int8_t *)packed + itg_accel_sums_bytes(&layer->shape);
    if (layer->shape.scheme == ITG_SCHEME_WINOGRAD)
        return set_bias(layer, packed, arena) && set_lanes(layer, arena);
    set_band(layer);
    return set_offsets(layer, arena) && set_patches(layer, arena) &&
           set_bias(layer, packed, arena) && set_lanes(layer, arena);
}

itg_status itg_accel_layer_create(const itg_accel_kernels *kernels, const itg_accel_problem *p,
                                  const void *packed, itg_arena *arena, itg_accel_layer **out,
                                  itg_error *err)
{
    if (p->out_count > ITG_ACCEL_OUTPUTS)
        return itg_fail(err, ITG_LIMIT, "%d outputs of one layer, at most %d are possible",
                        (int)p->out_count, ITG_ACCEL_OUTPUTS);
    itg_accel_layer *layer = itg_arena_alloc(arena, sizeof *layer);
    if (!layer || !fill_layer(layer, kernels, p, packed, arena))
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the constants of a layer");
    *out = layer;
    return ITG_OK;
}

const char *itg_accel_layer_set(const itg_accel_layer *layer)
{
    return layer->kernels->name;
}
