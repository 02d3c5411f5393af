/* Makes strategies from bits per choice group. */
#include "base/packed.h"
#include "sim/threshold_cache.h"
#include <stdlib.h>
#include <string.h>

/* ---- strategies ---- */

static int32_t edge_count_of(const itg_graph *g)
{
    int32_t count = g->output_count;
    for (itg_id n = 0; n < g->node_count; n++)
        for (int32_t i = 0; i < g->nodes[n].input_count; i++)
            count += g->nodes[n].inputs[i] != ITG_NONE;
    return count;
}

static itg_status create(int32_t nodes, int32_t edges, itg_strategy **out, itg_error *err)
{
    itg_arena *arena = itg_arena_create(0);
    itg_strategy *s = arena ? itg_arena_alloc(arena, sizeof *s) : NULL;
    if (s) {
        s->arena = arena;
        s->node_count = nodes;
        s->edge_count = edges;
        s->node_conds = itg_arena_array(arena, (size_t)nodes + 1, sizeof *s->node_conds);
        s->edge_conds = itg_arena_array(arena, (size_t)edges + 1, sizeof *s->edge_conds);
        s->edges = itg_arena_array(arena, (size_t)edges + 1, sizeof *s->edges);
    }
    if (!s || !s->node_conds || !s->edge_conds || !s->edges) {
        itg_arena_destroy(arena);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for a strategy of %d edges", edges);
    }
    *out = s;
    return ITG_OK;
}

itg_status itg_strategy_create(const itg_graph *g, itg_strategy **out, itg_error *err)
{
    itg_strategy *s = NULL;
    itg_status status = create(g->node_count, edge_count_of(g), &s, err);
    if (status != ITG_OK) return status;
    memcpy(s->model_hash, g->source_hash, sizeof s->model_hash);
    itg_graph_hash(g, s->graph_hash);
    *out = s;
    return ITG_OK;
}

void itg_strategy_destroy(itg_strategy *s)
{
    if (s) itg_arena_destroy(s->arena);
}

static itg_status copy_channels(itg_strategy *s, itg_edge_choice *edge, itg_error *err)
{
    if (edge->channel_count == 0) return ITG_OK;
    edge->channel = itg_arena_copy(s->arena, edge->channel,
                                   sizeof *edge->channel * (size_t)edge->channel_count);
    const bool has_zero = edge->zero != NULL;
    if (has_zero) edge->zero = itg_arena_copy(s->arena, edge->zero, (size_t)edge->channel_count);
    return edge->channel && (edge->zero || !has_zero)
               ? ITG_OK
               : itg_fail(err, ITG_NO_MEMORY, "no memory for weight thresholds");
}

static itg_status copy_bias(itg_strategy *s, itg_edge_choice *edge, itg_error *err)
{
    if (!edge->bias) return ITG_OK;
    edge->bias =
        itg_arena_copy(s->arena, edge->bias, sizeof *edge->bias * (size_t)edge->bias_count);
    return edge->bias ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for a bias");
}

itg_status itg_strategy_set_bias(itg_strategy *s, int32_t edge, const float *bias, int32_t count,
                                 itg_error *err)
{
    s->edges[edge].bias = bias;
    s->edges[edge].bias_count = bias ? count : 0;
    return copy_bias(s, &s->edges[edge], err);
}

static itg_status copy_codes(itg_strategy *s, itg_edge_choice *edge, itg_error *err)
{
    if (!edge->codes) return ITG_OK;
    edge->codes = itg_arena_copy(s->arena, edge->codes,
                                 (size_t)itg_packed_bytes(edge->code_count, edge->bits));
    return edge->codes ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for weight codes");
}

itg_status itg_strategy_set_codes(itg_strategy *s, int32_t edge, const int32_t *codes,
                                  int64_t count, itg_error *err)
{
    itg_edge_choice *choice = &s->edges[edge];
    const bool signs = choice->bits == 1;
    const int64_t end = (int64_t)1 << (choice->bits - 1), most = signs ? 1 : end - 1;
    unsigned char *packed = NULL;
    for (int64_t i = 0; codes && i < count; i++)
        if (codes[i] < -end || codes[i] > most || (signs && codes[i] == 0))
            return itg_fail(err, ITG_BAD_ARGUMENT,
                            "edge %d: code %lld is %d, expected %lld %s %lld", edge, (long long)i,
                            codes[i], (long long)-end, signs ? "or" : "to", (long long)most);
    if (codes) {
        packed = itg_arena_array(s->arena, (size_t)itg_packed_bytes(count, choice->bits) + 1, 1);
        if (!packed) return itg_fail(err, ITG_NO_MEMORY, "no memory for weight codes");
        for (int64_t i = 0; i < count; i++)
            itg_packed_put(packed, choice->bits, true, i, codes[i]);
    }
    choice->codes = packed;
    choice->code_count = codes ? count : 0;
    return ITG_OK;
}

itg_status itg_strategy_set_edge(itg_strategy *s, int32_t edge, const itg_edge_choice *choice,
                                 itg_error *err)
{
    s->edges[edge] = *choice;
    itg_status status = copy_channels(s, &s->edges[edge], err);
    if (status == ITG_OK) status = copy_codes(s, &s->edges[edge], err);
    return status == ITG_OK ? copy_bias(s, &s->edges[edge], err) : status;
}

itg_status itg_strategy_clone(const itg_strategy *from, itg_strategy **out, itg_error *err)
{
    itg_strategy *s = NULL;
    itg_status status = create(from->node_count, from->edge_count, &s, err);
    if (status != ITG_OK) return status;
    memcpy(s->model_hash, from->model_hash, sizeof s->model_hash);
    memcpy(s->graph_hash, from->graph_hash, sizeof s->graph_hash);
    memcpy(s->node_conds, from->node_conds, sizeof *s->node_conds * (size_t)s->node_count);
    memcpy(s->edge_conds, from->edge_conds, sizeof *s->edge_conds * (size_t)s->edge_count);
    for (int32_t e = 0; e < s->edge_count && status == ITG_OK; e++)
        status = itg_strategy_set_edge(s, e, &from->edges[e], err);
    if (status != ITG_OK)
        itg_strategy_destroy(s);
    else
        *out = s;
    return status;
}

/* The widest width that is at most `wanted`, or the narrowest. */
static int32_t nearest_width(const itg_choice_group *group, int32_t wanted)
{
    int32_t best = group->bits[0];
    for (int32_t k = 0; k < group->bits_count; k++)
        if (group->bits[k] <= wanted) best = group->bits[k];
    return best;
}

void itg_uniform_bits(const itg_choice_space *space, int32_t weight_bits, int32_t activation_bits,
                      int32_t *group_bits)
{
    for (int32_t i = 0; i < space->group_count; i++)
        group_bits[i] = nearest_width(&space->groups[i],
                                      space->groups[i].is_weight ? weight_bits : activation_bits);
}

/* Sets the widths of the network's inputs and outputs, where the options have any. */
static void set_ends(const itg_choice_space *space, const itg_uniform_options *options,
                     int32_t *group_bits)
{
    for (int32_t i = 0; i < space->group_count; i++) {
        const itg_choice_group *group = &space->groups[i];
        int32_t wanted = group->is_graph_output ? options->output_bits : 0;
        if (wanted == 0 && group->is_graph_input) wanted = options->input_bits;
        if (wanted > 0 && !group->is_weight) group_bits[i] = nearest_width(group, wanted);
    }
}

void itg_uniform_methods(const itg_choice_space *space, itg_threshold_method weight_method,
                         itg_threshold_method activation_method,
                         itg_threshold_method *group_methods)
{
    for (int32_t i = 0; i < space->group_count; i++)
        group_methods[i] = space->groups[i].is_weight ? weight_method : activation_method;
}

/* Sets what the spec that annotate will choose for a weight's node says of scales and zero points.
 * The widths of weight and activation decide it. */
static void set_kind_of_weights(const itg_threshold_cache *cache, int32_t e,
                                const int32_t *group_bits, itg_threshold_choice *c)
{
    const itg_choice_space *space = cache->space;
    const itg_edge_ref *edges = space->edges;
    if (!cache->topology[edges[e].node]) {
        c->per_channel = cache->hw->float_weights_per_channel;
        c->zero_points = itg_hardware_has_zero_points(cache->hw, NULL, c->bits);
        return;
    }
    int32_t x = e > 0 && edges[e - 1].node == edges[e].node ? space->edge_group[e - 1]
                                                            : -1; /* slot 0 precedes slot 1 */
    int32_t x_bits = x < 0 ? 0 : group_bits[x];
    const itg_hw_spec *spec = itg_hardware_match(cache->hw, cache->g->nodes[edges[e].node].op,
                                                 &x_bits, x >= 0, c->bits, c->passed_over);
    c->per_channel = spec && spec->per_channel;
    c->zero_points = spec && itg_hardware_has_zero_points(cache->hw, spec, c->bits);
}

/* Marks the nodes of the group's weights, and what is fused into them. */
static void mark_float(const itg_threshold_cache *cache, const itg_choice_group *group,
                       const itg_id *fused, bool *in_float)
{
    for (int32_t i = 0; i < group->edge_count; i++) {
        const itg_id node = cache->space->edges[group->edges[i]].node;
        in_float[node] = true;
        if (fused[node] != ITG_NONE) in_float[fused[node]] = true;
    }
}

/* Sets which nodes are integer nodes where the weights have these widths. */
static itg_status place_nodes(const itg_threshold_cache *cache, const int32_t *group_bits,
                              itg_strategy *s, itg_error *err)
{
    const itg_choice_space *space = cache->space;
    const size_t nodes = (size_t)s->node_count;
    int32_t first = 0;
    memcpy(s->node_conds, cache->topology, sizeof *s->node_conds * nodes);
    while (first < space->group_count &&
           !itg_choice_is_float(&space->groups[first], group_bits[first]))
        first++;
    if (first == space->group_count) return ITG_OK;
    itg_arena *scratch = itg_arena_create(0);
    bool *in_float = scratch ? itg_arena_array(scratch, nodes + 1, sizeof *in_float) : NULL;
    itg_id *fused = scratch ? itg_arena_array(scratch, nodes + 1, sizeof *fused) : NULL;
    itg_status status = in_float && fused ? ITG_OK : itg_no_memory(err);
    if (status == ITG_OK) {
        itg_hardware_fusion(cache->hw, cache->g, cache->topology, fused);
        for (int32_t i = first; i < space->group_count; i++)
            if (itg_choice_is_float(&space->groups[i], group_bits[i]))
                mark_float(cache, &space->groups[i], fused, in_float);
        status = itg_hardware_topology_of(cache->hw, cache->g, in_float, scratch, s->node_conds,
                                          NULL, err);
    }
    itg_arena_destroy(scratch);
    return status;
}

static itg_status resolve_edge(itg_threshold_cache *cache, int32_t e, const int32_t *group_bits,
                               const itg_threshold_method *group_methods,
                               const int32_t *group_passed_over, itg_strategy *s, itg_error *err)
{
    const int32_t group = cache->space->edge_group[e];
    const itg_id node = cache->space->edges[e].node;
    if (group < 0) return ITG_OK;
    if (node != ITG_NONE && cache->topology[node] && !s->node_conds[node]) return ITG_OK;
    itg_threshold_choice c = {.bits = group_bits[group],
                              .method = node == ITG_NONE ? ITG_THRESHOLD_MAX : group_methods[group],
                              .passed_over = group_passed_over ? group_passed_over[group] : 0,
                              .is_weight = cache->space->groups[group].is_weight};
    const itg_threshold_entry *found = NULL;
    if (c.is_weight) set_kind_of_weights(cache, e, group_bits, &c);
    itg_status status = itg_threshold_lookup(cache, e, &c, &found, err);
    if (status != ITG_OK) return status;
    s->edge_conds[e] = true;
    s->edges[e] = (itg_edge_choice){.bits = c.bits,
                                    .method = c.method,
                                    .passed_over = c.passed_over,
                                    .lo = found->lo,
                                    .hi = found->hi,
                                    .channel_count = found->channel_count,
                                    .channel = found->channel,
                                    .zero = found->zero};
    return copy_channels(s, &s->edges[e], err);
}

itg_status itg_strategy_resolve(itg_threshold_cache *cache, const int32_t *group_bits,
                                const itg_threshold_method *group_methods,
                                const int32_t *group_passed_over, itg_strategy **out,
                                itg_error *err)
{
    itg_strategy *s = NULL;
    itg_status status = create(cache->g->node_count, cache->space->edge_count, &s, err);
    if (status != ITG_OK) return status;
    memcpy(s->model_hash, cache->g->source_hash, sizeof s->model_hash);
    memcpy(s->graph_hash, cache->graph_hash, sizeof s->graph_hash);
    status = place_nodes(cache, group_bits, s, err);
    for (int32_t e = 0; e < s->edge_count && status == ITG_OK; e++)
        status = resolve_edge(cache, e, group_bits, group_methods, group_passed_over, s, err);
    if (status != ITG_OK)
        itg_strategy_destroy(s);
    else
        *out = s;
    return status;
}

itg_status itg_strategy_uniform(const itg_graph *g, const itg_hardware *hw, const itg_stats *stats,
                                const itg_uniform_options *options, itg_strategy **out,
                                itg_error *err)
{
    itg_choice_space *space = NULL;
    itg_threshold_cache *cache = NULL;
    int32_t *bits = NULL;
    itg_threshold_method *methods = NULL;
    itg_space_options widths = {.activation = {options->activation_bits, options->activation_bits},
                                .input = {options->input_bits, options->input_bits},
                                .output = {options->output_bits, options->output_bits}};
    itg_status status = itg_choice_space_create(hw, g, &widths, &space, NULL);
    if (status == ITG_NO_MEMORY)
        return itg_fail(err, status, "no memory for the widths of %s", g->name);
    if (status != ITG_OK) { /* not every edge has this width: choose the nearest */
        widths = (itg_space_options){0};
        status = itg_choice_space_create(hw, g, &widths, &space, err);
    }
    if (status == ITG_OK) {
        bits = calloc((size_t)space->group_count + 1, sizeof *bits);
        methods = calloc((size_t)space->group_count + 1, sizeof *methods);
        if (!bits || !methods) status = itg_fail(err, ITG_NO_MEMORY, "no memory for a strategy");
    }
    if (status == ITG_OK) status = itg_threshold_cache_create(g, hw, space, stats, &cache, err);
    if (status == ITG_OK) {
        itg_uniform_bits(space, options->weight_bits, options->activation_bits, bits);
        set_ends(space, options, bits);
        itg_uniform_methods(space, options->weight_method, options->activation_method, methods);
        status = itg_strategy_resolve(cache, bits, methods, NULL, out, err);
    }
    itg_threshold_cache_destroy(cache);
    itg_choice_space_destroy(space);
    free(bits);
    free(methods);
    return status;
}
