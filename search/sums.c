#include "search/sums.h"
#include <stdlib.h>

/* The spec of a node at the strategy's widths, with so many passed over. edge: its first. */
static const itg_hw_spec *spec_at(const itg_hardware *hw, itg_op op, const itg_strategy *s,
                                  int32_t edge, int32_t passed_over)
{
    return itg_hardware_match(hw, op, &s->edges[edge].bits, 1, s->edges[edge + 1].bits,
                              passed_over);
}

/* Whether another spec follows that of an integer node with weights. */
static bool has_next(const itg_graph *g, const itg_hardware *hw, const itg_strategy *s, itg_id node,
                     int32_t edge)
{
    const itg_node *n = &g->nodes[node];
    if (!s->node_conds[node] || !itg_op_is(n->op, ITG_IS_MAC) ||
        itg_hardware_slot_role(g, node, 1) != ITG_SLOT_WEIGHT)
        return false;
    const int32_t now = s->edges[edge + 1].passed_over;
    return spec_at(hw, n->op, s, edge, now) != spec_at(hw, n->op, s, edge, now + 1);
}

/* Of most hardware and strategies there is nothing to choose. */
static bool any_has_next(const itg_graph *g, const itg_hardware *hw, const itg_strategy *s)
{
    int32_t edge = 0;
    for (itg_id n = 0; n < g->node_count; n++) {
        if (has_next(g, hw, s, n, edge)) return true;
        for (int32_t i = 0; i < g->nodes[n].input_count; i++)
            edge += g->nodes[n].inputs[i] != ITG_NONE;
    }
    return false;
}

/* *passed: whether some node took another spec. */
static itg_status fit_once(const itg_graph *g, const itg_hardware *hw,
                           const itg_constants *constants, itg_strategy *s, bool *passed,
                           itg_error *err)
{
    itg_annotated *a = NULL;
    itg_bound *bounds = NULL;
    int32_t count = 0;
    itg_error why = {0};
    *passed = false;
    itg_status status = itg_annotate_with(g, hw, s, constants, &a, &why);
    if (status == ITG_OK) status = itg_bounds_of(a, &bounds, &count, &why);
    for (int32_t i = 0; status == ITG_OK && i < count; i++) {
        const int32_t edge = a->edge_of_node[bounds[i].node];
        if (bounds[i].fits || !has_next(g, hw, s, bounds[i].node, edge)) continue;
        s->edges[edge + 1].passed_over++;
        *passed = true;
    }
    free(bounds);
    itg_annotated_destroy(a);
    return status == ITG_NO_MEMORY ? itg_fail(err, status, "%s", why.message) : ITG_OK;
}

itg_status itg_fit_sums(const itg_graph *g, const itg_hardware *hw, const itg_constants *constants,
                        itg_strategy *s, itg_error *err)
{
    bool passed = any_has_next(g, hw, s);
    itg_status status = ITG_OK;
    while (status == ITG_OK && passed)
        status = fit_once(g, hw, constants, s, &passed, err);
    return status;
}
