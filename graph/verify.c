/* Checks the properties of a prepared graph that later layers rely on. */
#include "internal.h"

/* Whether an operator computes on floats only. Others also move, compare or count integers. */
static bool needs_floats(itg_op op)
{
    return !itg_op_is(op, ITG_TAKES_INTEGERS | ITG_IS_MOVE);
}

static itg_status verify_value(const itg_graph *g, itg_id id, itg_error *err)
{
    const itg_value *v = &g->values[id];
    int64_t elements = 0;
    char text[96];
    if (!v->name || !v->name[0])
        return itg_fail(err, ITG_BAD_FILE, "%s: value %d has no name", g->name, (int)id);
    if (itg_graph_find_value(g, v->name) != id)
        return itg_fail(err, ITG_BAD_FILE, "%s: the name '%s' is used twice", g->name, v->name);
    if ((unsigned)v->dtype >= ITG_DTYPE_COUNT)
        return itg_fail(err, ITG_BAD_FILE, "%s: value '%s' has no dtype", g->name, v->name);
    if (v->shape.rank < 0)
        return itg_fail(err, ITG_BAD_FILE, "%s: value '%s' has no shape", g->name, v->name);
    if (v->shape.rank > ITG_MAX_RANK || !itg_shape_elements(&v->shape, &elements) || elements < 1)
        return itg_fail(err, ITG_UNSUPPORTED,
                        "%s: value '%s' has shape %s; positive dimensions are expected", g->name,
                        v->name, itg_shape_text(&v->shape, text, sizeof text));
    int sources = (v->producer != ITG_NONE) + (v->data != NULL) + (v->is_input != false);
    if (sources != 1)
        return itg_fail(err, ITG_BAD_FILE, "%s: value '%s' has %d sources; expected one", g->name,
                        v->name, sources);
    if (v->producer == ITG_NONE) return ITG_OK;
    if (v->producer < 0 || v->producer >= g->node_count || v->producer_slot < 0 ||
        v->producer_slot >= g->nodes[v->producer].output_count ||
        g->nodes[v->producer].outputs[v->producer_slot] != id)
        return itg_fail(err, ITG_BAD_FILE, "%s: value '%s' is not an output of its producer",
                        g->name, v->name);
    return ITG_OK;
}

static itg_status verify_inputs(const itg_graph *g, itg_id id, itg_error *err)
{
    const itg_node *n = &g->nodes[id];
    for (int32_t i = 0; i < n->input_count; ++i) {
        if (n->inputs[i] == ITG_NONE) continue;
        if (n->inputs[i] < 0 || n->inputs[i] >= g->value_count)
            return itg_node_fail(g, id, err, ITG_BAD_FILE, "its input %d is no value", (int)i);
        const itg_value *v = &g->values[n->inputs[i]];
        if (v->producer >= id)
            return itg_node_fail(g, id, err, ITG_BAD_FILE,
                                 "its input '%s' is produced behind it: no topological order",
                                 v->name);
        if (needs_floats(n->op) && v->dtype != ITG_F32)
            return itg_node_fail(g, id, err, ITG_UNSUPPORTED, "its input '%s' is %s; expected f32",
                                 v->name, itg_dtype_name(v->dtype));
    }
    return ITG_OK;
}

static itg_status verify_node(const itg_graph *g, itg_id id, itg_error *err)
{
    const itg_node *n = &g->nodes[id];
    if (!n->name || !n->name[0])
        return itg_fail(err, ITG_BAD_FILE, "%s: node %d has no name", g->name, (int)id);
    if ((unsigned)n->op >= ITG_OP_COUNT)
        return itg_fail(err, ITG_BAD_FILE, "%s: node '%s' has no operator", g->name, n->name);
    if (itg_op_is(n->op, ITG_IS_COMPOSITE))
        return itg_node_fail(g, id, err, ITG_UNSUPPORTED,
                             "it is composite; preparation replaces it by other operators");
    if (itg_graph_find_node(g, n->name) != id)
        return itg_node_fail(g, id, err, ITG_BAD_FILE, "its name is used twice");
    itg_status status = itg_check_arity(g, id, err);
    if (status == ITG_OK) status = verify_inputs(g, id, err);
    for (int32_t i = 0; i < n->output_count && status == ITG_OK; ++i) {
        if (n->outputs[i] == ITG_NONE) continue;
        if (n->outputs[i] < 0 || n->outputs[i] >= g->value_count)
            return itg_node_fail(g, id, err, ITG_BAD_FILE, "its output %d is no value", (int)i);
        const itg_value *v = &g->values[n->outputs[i]];
        if (v->producer != id || v->producer_slot != i)
            return itg_node_fail(g, id, err, ITG_BAD_FILE, "its output '%s' has another producer",
                                 v->name);
    }
    return status;
}

static itg_status verify_ends(const itg_graph *g, itg_error *err)
{
    for (int32_t i = 0; i < g->input_count; ++i)
        if (g->inputs[i] < 0 || g->inputs[i] >= g->value_count || !g->values[g->inputs[i]].is_input)
            return itg_fail(err, ITG_BAD_FILE, "%s: graph input %d is no input value", g->name,
                            (int)i);
    if (g->output_count < 1) return itg_fail(err, ITG_BAD_FILE, "%s: it has no outputs", g->name);
    for (int32_t i = 0; i < g->output_count; ++i)
        if (g->outputs[i] < 0 || g->outputs[i] >= g->value_count)
            return itg_fail(err, ITG_BAD_FILE, "%s: graph output %d is no value", g->name, (int)i);
    return ITG_OK;
}

itg_status itg_graph_verify(const itg_graph *g, itg_error *err)
{
    itg_status status = verify_ends(g, err);
    for (int32_t i = 0; i < g->node_count && status == ITG_OK; ++i)
        status = verify_node(g, i, err);
    for (int32_t i = 0; i < g->value_count && status == ITG_OK; ++i)
        status = verify_value(g, i, err);
    return status;
}
