/* Resolves thresholds from statistics and weights. */
#include "sim/threshold_cache.h"
#include "kernels/math.h"
#include "kernels/requant.h"
#include <stdlib.h>

#define BITS_SLOTS 33

void itg_threshold_cache_destroy(itg_threshold_cache *cache)
{
    if (!cache) return;
    for (size_t i = 0; cache->slots && i < cache->slot_count; i++)
        free(atomic_load(&cache->slots[i]));
    free(cache->slots);
    itg_arena_destroy(cache->arena);
    free(cache);
}

static bool may_have_zero_points(const itg_hardware *hw, const itg_choice_space *space)
{
    uint32_t weights = 0;
    for (int32_t i = 0; i < space->group_count; i++)
        if (space->groups[i].is_weight) weights |= space->groups[i].dtype_mask;
    bool may = false;
    for (int32_t i = 0; i < hw->dtype_count; i++)
        may |= (weights >> i & 1) != 0 && hw->dtypes[i].zero_point;
    return may;
}

itg_status itg_threshold_cache_create(const itg_graph *g, const itg_hardware *hw,
                                      const itg_choice_space *space, const itg_stats *stats,
                                      itg_threshold_cache **out, itg_error *err)
{
    itg_threshold_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return itg_fail(err, ITG_NO_MEMORY, "no memory for thresholds");
    cache->g = g;
    cache->hw = hw;
    cache->space = space;
    cache->stats = stats;
    itg_graph_hash(g, cache->graph_hash);
    cache->alternatives = 1;
    for (int32_t i = 0; i < space->group_count; i++)
        if (space->groups[i].alternatives > cache->alternatives)
            cache->alternatives = space->groups[i].alternatives;
    cache->kinds = may_have_zero_points(hw, space) ? 4 : 2;
    cache->slot_count = (size_t)space->edge_count * (size_t)cache->alternatives *
                        (size_t)cache->kinds * BITS_SLOTS * ITG_THRESHOLD_METHOD_COUNT;
    cache->arena = itg_arena_create(0);
    cache->slots = calloc(cache->slot_count + 1, sizeof *cache->slots);
    if (cache->arena)
        cache->topology =
            itg_arena_array(cache->arena, (size_t)g->node_count + 1, sizeof *cache->topology);
    if (cache->arena)
        cache->useful =
            itg_arena_array(cache->arena, (size_t)g->value_count + 1, sizeof *cache->useful);
    itg_status status = cache->slots && cache->topology && cache->useful
                            ? ITG_OK
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for thresholds");
    if (status == ITG_OK)
        status = itg_hardware_topology(hw, g, cache->arena, cache->topology, NULL, err);
    if (status != ITG_OK) {
        itg_threshold_cache_destroy(cache);
        return status;
    }
    itg_useful_ranges(g, cache->topology, stats, cache->useful);
    *out = cache;
    return ITG_OK;
}

static _Atomic(itg_threshold_entry *) *slot_of(const itg_threshold_cache *cache, int32_t edge,
                                               const itg_threshold_choice *c)
{
    size_t row = (size_t)edge * (size_t)cache->alternatives + (size_t)c->passed_over;
    row = row * (size_t)cache->kinds + 2 * c->zero_points + c->per_channel;
    row = row * BITS_SLOTS + (size_t)c->bits;
    return &cache->slots[row * ITG_THRESHOLD_METHOD_COUNT + (size_t)c->method];
}

static itg_status set_range(_Atomic(itg_threshold_entry *) *slot, double lo, double hi,
                            itg_error *err)
{
    itg_threshold_entry *made = calloc(1, sizeof *made);
    if (!made) return itg_fail(err, ITG_NO_MEMORY, "no memory for a threshold");
    *made = (itg_threshold_entry){.lo = lo, .hi = hi, .is_set = true};
    free(atomic_exchange(slot, made));
    return ITG_OK;
}

itg_status itg_threshold_cache_set(itg_threshold_cache *cache, int32_t edge,
                                   const itg_edge_choice *choice, itg_error *err)
{
    const itg_threshold_choice c = {
        .bits = choice->bits, .method = choice->method, .passed_over = choice->passed_over};
    return set_range(slot_of(cache, edge, &c), choice->lo, choice->hi, err);
}

/* What was set, as slot, lo, hi; slot -1 ends. */
void itg_threshold_cache_pack(const itg_threshold_cache *cache, itg_strbuf *out)
{
    for (size_t i = 0; i < cache->slot_count; i++) {
        const itg_threshold_entry *e = atomic_load(&cache->slots[i]);
        if (!e || !e->is_set) continue;
        const double range[] = {e->lo, e->hi};
        itg_pack_int(out, (int64_t)i);
        itg_pack(out, range, 2, sizeof *range);
    }
    itg_pack_int(out, -1);
}

static bool is_activation(const itg_threshold_cache *cache, int64_t slot)
{
    const int64_t width = (int64_t)BITS_SLOTS * ITG_THRESHOLD_METHOD_COUNT;
    const int64_t slots = width * cache->kinds;
    const int32_t group = cache->space->edge_group[slot / (slots * cache->alternatives)];
    return group >= 0 && !cache->space->groups[group].is_weight && slot / width % cache->kinds == 0;
}

void itg_threshold_cache_unpack(itg_unpacker *u, itg_threshold_cache *cache)
{
    while (u->status == ITG_OK) {
        double range[2] = {0};
        const int64_t slot =
            itg_unpack_int(u, -1, (int64_t)cache->slot_count - 1, "a place of a threshold");
        if (slot < 0 || u->status != ITG_OK) return;
        (void)itg_unpack_finite(u, range, 2, "a threshold");
        if (u->status == ITG_OK && !is_activation(cache, slot))
            itg_unpack_refuse(u, "a threshold of a weight");
        if (u->status == ITG_OK)
            u->status = set_range(&cache->slots[slot], range[0], range[1], u->err);
    }
}

/* Returns the dtype that an edge will take: the first that its group allows and that is not passed
 * over. */
static const itg_hw_dtype *likely_dtype(const itg_threshold_cache *cache, int32_t e,
                                        const itg_threshold_choice *c, bool negative)
{
    uint32_t mask = cache->space->groups[cache->space->edge_group[e]].dtype_mask;
    int32_t dtype = itg_hardware_dtype_after(cache->hw, mask, c->bits, negative, c->passed_over);
    return dtype < 0 ? NULL : &cache->hw->dtypes[dtype];
}

/* Returns the step of a stated grid. */
static double stated_step(const itg_stated *s, int64_t i)
{
    return (s->hi[i] - s->lo[i]) / (itg_ldexp(1.0, s->bits) - 1);
}

/* Returns the largest magnitude that counts of a stated range on a symmetric grid of as many bits
 * or more, with the same step. The lowest code has no counterpart, and does not count. */
static double stated_magnitude(const itg_stated *s, int64_t i, int32_t bits)
{
    const double step = stated_step(s, i);
    if (bits > s->bits) return step * itg_symmetric_steps(bits, false);
    return -s->lo[i] - step > s->hi[i] * (1 + 1e-9) ? -s->lo[i] - step : s->hi[i];
}

/* Weights that share a threshold. */
typedef struct channel {
    const itg_value *weights;
    const float *first;
    int64_t depth, stride, index;
    int32_t axis; /* of the channels; -1: all weights */
} channel;

static channel channel_of(const itg_value *w, bool per_channel, bool last_axis, int64_t depth,
                          int64_t index)
{
    const float *data = w->data;
    if (!per_channel) return (channel){w, data, depth, 1, 0, -1};
    return last_axis ? (channel){w,     data + index,     depth, w->shape.dims[w->shape.rank - 1],
                                 index, w->shape.rank - 1}
                     : (channel){w, data + index * depth, depth, 1, index, 0};
}

/* The same for a grid with a zero point: where the weights lie on the stated one. */
static bool stated_codes(const channel *c, const itg_stated *s, int64_t i, int32_t bits, double *lo,
                         double *hi)
{
    const double step = stated_step(s, i), most = itg_ldexp(1.0, bits) - 1;
    double least = 0, greatest = 0;
    for (int64_t k = 0; step > 0 && k < c->depth; k++) {
        const double code = itg_round_half_even((double)c->first[k * c->stride] / step);
        least = code < least ? code : least;
        greatest = code > greatest ? code : greatest;
    }
    *lo = least * step;
    *hi = (least + most) * step;
    return step > 0 && greatest - least <= most;
}

/* Sets the range of the grid that the file states for the weights, so that its codes result again,
 * also among those of a wider grid; false: there is none. */
static bool stated_weights(const channel *c, const itg_threshold_target *target, double *lo,
                           double *hi)
{
    const itg_stated *s = c->weights->stated;
    if (!s || (s->count > 1 && s->axis != c->axis)) return false;
    const int64_t i = s->count > 1 ? c->index : 0;
    if (!target->symmetric) return stated_codes(c, s, i, target->bits, lo, hi);
    if (s->bits > target->bits) return false;
    *hi = stated_magnitude(s, i, target->bits);
    *lo = -*hi;
    return true;
}

static itg_status weight_entry(const itg_threshold_cache *cache, const itg_edge_ref *edge,
                               const itg_threshold_target *target,
                               const itg_threshold_choice *choice, itg_threshold_entry **out,
                               itg_error *err)
{
    const itg_value *w = &cache->g->values[edge->value];
    int64_t elements = 0;
    bool last_axis = cache->g->nodes[edge->node].op == ITG_OP_MATMUL;
    if (!itg_shape_elements(&w->shape, &elements) || w->shape.rank < 1 || elements < 1)
        return itg_fail(err, ITG_UNSUPPORTED, "a weight without elements");
    int64_t channels = choice->per_channel ? w->shape.dims[last_axis ? w->shape.rank - 1 : 0] : 1;
    itg_threshold_entry *made =
        calloc(1, sizeof *made + (sizeof(double) + sizeof *made->zero) * (size_t)channels);
    if (!made) return itg_fail(err, ITG_NO_MEMORY, "no memory for thresholds of '%s'", w->name);
    made->channel_count = (int32_t)channels;
    uint8_t *zero = target->symmetric ? NULL : (uint8_t *)(made->channel + channels);
    made->zero = zero;
    itg_status status = ITG_OK;
    for (int64_t c = 0; c < channels && status == ITG_OK; c++) {
        double lo = 0, hi = 0;
        const channel one = channel_of(w, choice->per_channel, last_axis, elements / channels, c);
        if (!stated_weights(&one, target, &lo, &hi))
            status = itg_threshold_constant(choice->method, one.first, one.depth, one.stride, 1,
                                            target, &lo, &hi, err);
        made->channel[c] =
            zero ? itg_asymmetric_range(target->bits, lo, hi, &zero[c]) : (-lo > hi ? -lo : hi);
    }
    if (status != ITG_OK)
        free(made);
    else
        *out = made;
    return status;
}

/* Squared errors are those behind a gate (itg_gate_of), where there is one. */
static itg_status estimate(const itg_threshold_cache *cache, itg_id value,
                           const itg_threshold_target *target, itg_threshold_method method,
                           itg_threshold_entry *made, itg_error *err)
{
    const itg_value_stats *stats = &cache->stats->values[value];
    const itg_node *gate =
        method == ITG_THRESHOLD_MSE ? itg_gate_of(cache->g, cache->topology, value) : NULL;
    itg_value_stats *weighed = gate ? malloc(sizeof *weighed) : NULL;
    if (gate && !weighed) return itg_fail(err, ITG_NO_MEMORY, "no memory for a threshold");
    if (gate) itg_weigh_bins(gate, stats, weighed);
    itg_status status =
        itg_threshold_estimate(method, gate ? weighed : stats, target, &made->lo, &made->hi, err);
    free(weighed);
    return status;
}

static itg_status range_entry(const itg_threshold_cache *cache, const itg_edge_ref *edge,
                              const itg_threshold_target *target, itg_threshold_method method,
                              itg_threshold_entry **out, itg_error *err)
{
    const itg_value *value = &cache->g->values[edge->value];
    itg_threshold_entry *made = calloc(1, sizeof *made);
    itg_status status = ITG_OK;
    int64_t elements = 0;
    if (!made)
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the threshold of '%s'", value->name);
    if (value->stated && value->stated->bits == target->bits && value->stated->count == 1) {
        made->lo = value->stated->lo[0] < 0 ? value->stated->lo[0] : 0;
        made->hi = value->stated->hi[0] > 0 ? value->stated->hi[0] : 0;
        if (target->symmetric && made->lo < 0 && made->hi > 0) {
            made->hi = stated_magnitude(value->stated, 0, target->bits);
            made->lo = -made->hi;
        }
    } else if (value->data) {
        if (!itg_shape_elements(&value->shape, &elements)) elements = 0;
        status = itg_threshold_constant(ITG_THRESHOLD_MAX, value->data, elements, 1, 1, target,
                                        &made->lo, &made->hi, err);
    } else if (!cache->stats || !cache->stats->values[edge->value].present) {
        status = itg_fail(err, ITG_BAD_ARGUMENT, "no calibration statistics");
    } else {
        status = estimate(cache, edge->value, target, method, made, err);
        const itg_range useful = cache->useful[edge->value];
        if (useful.lo > made->lo) made->lo = useful.lo;
        if (useful.hi < made->hi) made->hi = useful.hi;
    }
    if (status != ITG_OK)
        free(made);
    else
        *out = made;
    return status;
}

itg_status itg_threshold_lookup(itg_threshold_cache *cache, int32_t e,
                                const itg_threshold_choice *c, const itg_threshold_entry **out,
                                itg_error *err)
{
    const itg_edge_ref *edge = &cache->space->edges[e];
    const int32_t bits = c->bits;
    const itg_threshold_method method = c->method;
    _Atomic(itg_threshold_entry *) *slot = slot_of(cache, e, c);
    itg_threshold_entry *found = atomic_load(slot), *made = NULL;
    if (!found) {
        bool negative = c->is_weight || cache->g->values[edge->value].data ||
                        (cache->stats && cache->stats->values[edge->value].min < 0);
        const itg_hw_dtype *dtype = likely_dtype(cache, e, c, negative);
        if (!dtype)
            return itg_fail(err, ITG_INFEASIBLE, "%s has no dtype of %d bits for '%s'",
                            cache->hw->name, bits, cache->g->values[edge->value].name);
        itg_threshold_target target = {bits, !dtype->zero_point, itg_dtype_min(dtype->storage) < 0,
                                       cache->hw->power_of_two_scales};
        if (c->is_weight) target.symmetric = !c->zero_points;
        itg_status status = c->is_weight ? weight_entry(cache, edge, &target, c, &made, err)
                                         : range_entry(cache, edge, &target, method, &made, err);
        if (status != ITG_OK)
            return itg_prefix_error(err, status, "%s: threshold of '%s'", cache->g->name,
                                    cache->g->values[edge->value].name);
        if (atomic_compare_exchange_strong(slot, &found, made))
            found = made;
        else
            free(made);
    }
    *out = found;
    return ITG_OK;
}
