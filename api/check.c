/* Reports how the hardware runs each node of a model (intaglio.h). */
#include <intaglio/intaglio.h>
#include "base/base.h"
#include "hardware/hardware.h"

struct itg_check {
    itg_arena *arena;
    int32_t count;
    itg_node_report *nodes;
};

void itg_check_destroy(itg_check *check)
{
    if (check) itg_arena_destroy(check->arena);
}

int32_t itg_check_count(const itg_check *check)
{
    return check->count;
}
const itg_node_report *itg_check_node(const itg_check *check, int32_t index)
{
    return &check->nodes[index];
}

static void fill_report(const itg_graph *g, itg_id n, itg_node_report *report)
{
    const itg_node *node = &g->nodes[n];
    int64_t weight = 0;
    report->name = node->name;
    report->op = itg_op_name(node->op);
    if (!itg_op_is(node->op, ITG_IS_MAC) ||
        !itg_shape_elements(&g->values[node->inputs[1]].shape, &weight))
        return;
    report->macs = itg_hardware_macs(g, n);
    if (itg_graph_is_constant(g, node->inputs[1])) report->weight_elements = weight;
}

static void place_nodes(itg_check *check, const itg_graph *g, const itg_hardware *hw,
                        const bool *topology, const char **reasons, const itg_id *fused)
{
    for (itg_id n = 0; n < g->node_count; n++) {
        itg_node_report *report = &check->nodes[n];
        fill_report(g, n, report);
        report->placement = topology[n]                          ? ITG_PLACE_INTEGER
                            : hw->float_allowed || hw->all_float ? ITG_PLACE_FLOAT
                                                                 : ITG_PLACE_REFUSED;
        if (!topology[n]) report->reason = reasons[n];
    }
    for (itg_id n = 0; n < g->node_count; n++) {
        if (fused[n] == ITG_NONE) continue;
        check->nodes[fused[n]].placement = ITG_PLACE_FUSED;
        check->nodes[fused[n]].reason =
            itg_arena_format(check->arena, "fused into '%s'", g->nodes[n].name);
    }
}

itg_status itg_check_model(const itg_model *model, const itg_hardware *hw, itg_check **out,
                           itg_error *err)
{
    const itg_graph *g = model;
    size_t count = (size_t)g->node_count + 1;
    itg_arena *arena = itg_arena_create(0);
    itg_check *check = arena ? itg_arena_alloc(arena, sizeof *check) : NULL;
    bool *topology = arena ? itg_arena_array(arena, count, sizeof *topology) : NULL;
    const char **reasons = arena ? itg_arena_array(arena, count, sizeof *reasons) : NULL;
    itg_id *fused = arena ? itg_arena_array(arena, count, sizeof *fused) : NULL;
    if (check) check->nodes = itg_arena_array(arena, count, sizeof *check->nodes);
    if (!check || !topology || !reasons || !fused || !check->nodes) {
        itg_arena_destroy(arena);
        return itg_fail(err, ITG_NO_MEMORY, "no memory to check %s", g->name);
    }
    check->arena = arena;
    check->count = g->node_count;
    /* A node that the hardware refuses is a result here, not a failure. */
    itg_status status = itg_hardware_topology(hw, g, arena, topology, reasons, err);
    if (status != ITG_OK && status != ITG_INFEASIBLE) {
        itg_arena_destroy(arena);
        return status;
    }
    itg_hardware_fusion(hw, g, topology, fused);
    place_nodes(check, g, hw, topology, reasons, fused);
    *out = check;
    return ITG_OK;
}
