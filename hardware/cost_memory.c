/* The arena of the program that realize would make of an annotated graph: its values and steps, as
 * lowering makes them (realize/lower*.c), without weights, bounds or names. Realize's own plan of
 * the finished program gives the same bytes; tests/search/test_memory_figure.c holds the two
 * together. */
#include "base/flow.h"
#include "graph/sharing.h"
#include "keys.h"

typedef struct tracer {
    const itg_annotated *a;
    const itg_graph *g;
    itg_arena *arena;
    const size_t *first; /* [value]: number of its version 0 among all versions */
    int32_t *made;       /* [version]: tensor */
    itg_flow flow;
    bool failed; /* no memory */
} tracer;

/* ---- parts of a flow ---- */

static int32_t add_tensor(tracer *t, itg_id value, itg_dtype dtype)
{
    int64_t elements = 0;
    (void)itg_shape_elements(&t->g->values[value].shape, &elements);
    t->flow.tensors[t->flow.tensor_count] = (itg_flow_tensor){
        .dtype = dtype, .bytes = (uint64_t)elements * (uint64_t)itg_dtype_size(dtype)};
    return t->flow.tensor_count++;
}

static int32_t add_version(tracer *t, itg_id value, int32_t version)
{
    const itg_version *v = &t->a->values[value].versions[version];
    int32_t *made = &t->made[t->first[value] + (size_t)version];
    if (*made == ITG_FLOW_NONE)
        *made = add_tensor(t, value, v->is_float ? t->g->values[value].dtype : v->q.storage);
    return *made;
}

/* The operands are the caller's to fill; NULL: no memory. */
static itg_flow_step *add_step(tracer *t, int32_t inputs, int32_t outputs, int32_t **in,
                               int32_t **out)
{
    *in = itg_arena_array(t->arena, (size_t)inputs + (size_t)outputs + 1, sizeof **in);
    if (*in == NULL) {
        t->failed = true;
        return NULL;
    }
    *out = *in + inputs;
    itg_flow_step *s = &t->flow.steps[t->flow.step_count++];
    *s = (itg_flow_step){inputs, outputs, *in, *out, ITG_FLOW_NONE, ITG_SHARING_NONE, 0, false};
    return s;
}

static void add_conversion(tracer *t, int32_t from, int32_t to)
{
    int32_t *in, *out;
    if (add_step(t, 1, 1, &in, &out) == NULL) return;
    in[0] = from;
    out[0] = to;
}

/* What a slot reads; constants have no place in the arena. */
static int32_t tensor_at(const tracer *t, itg_id node, int32_t slot)
{
    const itg_edge *e = itg_annotated_edge(t->a, node, slot);
    if (e == NULL || e->kind == ITG_EDGE_CARRY || e->version < 0 ||
        e->version >= t->a->values[e->value].version_count)
        return ITG_FLOW_NONE;
    return t->made[t->first[e->value] + (size_t)e->version];
}

/* ---- nodes ---- */

static void set_sharing(const tracer *t, itg_id node, itg_flow_step *s)
{
    const itg_node *n = &t->g->nodes[node];
    int64_t shift = 0;
    if (n->input_count < 1 || n->inputs[0] == ITG_NONE || s->output_count < 1 ||
        n->outputs[0] == ITG_NONE ||
        (t->a->nodes[node].form == ITG_FORM_LUT && s->output_count > 1))
        return;
    s->sharing = itg_op_sharing(n->op, &n->attrs, &t->g->values[n->inputs[0]].shape,
                                &t->g->values[n->outputs[0]].shape, &shift);
    if (s->inputs[0] != ITG_FLOW_NONE)
        s->shift = (uint64_t)shift * (uint64_t)itg_dtype_size(t->flow.tensors[s->inputs[0]].dtype);
}

/* Gemm's first operand, transposed beforehand. */
static int32_t add_transposed(tracer *t, itg_id node)
{
    const itg_node *n = &t->g->nodes[node];
    const itg_version *v = itg_annotated_version(t->a, node, 0);
    itg_attrs attrs = {.perm = {1}};
    int64_t shift;
    int32_t *in, *out, turned;
    itg_flow_step *s = v != NULL ? add_step(t, 1, 1, &in, &out) : NULL;
    if (s == NULL) return ITG_FLOW_NONE;
    turned = add_tensor(t, n->inputs[0], v->is_float ? ITG_F32 : v->q.storage);
    in[0] = tensor_at(t, node, 0);
    out[0] = turned;
    const itg_shape *shape = &t->g->values[n->inputs[0]].shape;
    s->sharing = itg_op_sharing(ITG_OP_TRANSPOSE, &attrs, shape, shape, &shift);
    return turned;
}

/* All versions of its value at once, from the native result. */
static void add_native(tracer *t, itg_id node)
{
    const itg_node *n = &t->g->nodes[node];
    const itg_node_note *note = &t->a->nodes[node];
    itg_id value = note->form == ITG_FORM_LUT ? n->outputs[0] : note->out_value;
    if (value == ITG_NONE) return;
    int32_t count = t->a->values[value].version_count, turned = ITG_FLOW_NONE, *in, *out;
    bool turns = note->form == ITG_FORM_MAC && n->op == ITG_OP_GEMM && n->attrs.trans_a;
    if (turns) turned = add_transposed(t, node);
    if (count == 0) return;
    itg_flow_step *s = add_step(t, n->input_count, count, &in, &out);
    if (s == NULL) return;
    for (int32_t i = 0; i < n->input_count; i++)
        in[i] = i == 0 && turns ? turned : tensor_at(t, node, i);
    for (int32_t i = 0; i < count; i++)
        out[i] = add_version(t, value, i);
    set_sharing(t, node, s);
}

/* Every other version of `value` from what a step wrote of it; equal float versions are one. */
static void add_conversions(tracer *t, itg_id value, bool native_float, int32_t native)
{
    const itg_value_note *note = &t->a->values[value];
    for (int32_t i = 0; i < note->version_count; i++) {
        int32_t *made = &t->made[t->first[value] + (size_t)i];
        if (*made != ITG_FLOW_NONE) continue;
        if (native_float && note->versions[i].is_float)
            *made = native;
        else
            add_conversion(t, native, add_version(t, value, i));
    }
}

static int32_t native_version(const tracer *t, itg_id value, bool is_float)
{
    const itg_value_note *note = &t->a->values[value];
    for (int32_t i = 0; i < note->version_count; i++)
        if (note->versions[i].is_float == is_float) return i;
    return ITG_FLOW_NONE;
}

/* Outputs as they are computed, float or codes of `storage`, then what else is read of them. */
static void add_whole(tracer *t, itg_id node, bool is_float, itg_dtype storage)
{
    const itg_node *n = &t->g->nodes[node];
    int32_t outputs = n->output_count, *in, *out;
    while (outputs > 1 && n->outputs[outputs - 1] == ITG_NONE)
        outputs--;
    itg_flow_step *s = add_step(t, n->input_count, outputs, &in, &out);
    if (s == NULL) return;
    for (int32_t i = 0; i < n->input_count; i++)
        in[i] = tensor_at(t, node, i);
    for (int32_t i = 0; i < outputs; i++) {
        itg_id value = n->outputs[i];
        out[i] = ITG_FLOW_NONE;
        if (value == ITG_NONE) continue;
        int32_t version = native_version(t, value, is_float);
        out[i] = version != ITG_FLOW_NONE
                     ? add_version(t, value, version)
                     : add_tensor(t, value, is_float ? t->g->values[value].dtype : storage);
    }
    set_sharing(t, node, s);
    for (int32_t i = 0; i < outputs && !t->failed; i++)
        if (n->outputs[i] != ITG_NONE) add_conversions(t, n->outputs[i], is_float, out[i]);
}

static void add_node(tracer *t, itg_id node)
{
    const itg_node *n = &t->g->nodes[node];
    itg_form form = t->a->nodes[node].form;
    if (n->output_count < 1 || form == ITG_FORM_FUSED) return;
    if (form != ITG_FORM_FLOAT && form != ITG_FORM_KEEP) {
        add_native(t, node);
        return;
    }
    const itg_version *x = form == ITG_FORM_KEEP ? itg_annotated_version(t->a, node, 0) : NULL;
    bool is_float = x == NULL || x->is_float || n->op == ITG_OP_ARG_MAX;
    add_whole(t, node, is_float, is_float ? ITG_F32 : x->q.storage);
}

/* ---- all ---- */

/* Inputs are the caller's, in float32; their codes are not. */
static void add_input(tracer *t, itg_id value)
{
    const itg_value_note *note = &t->a->values[value];
    int32_t source = add_tensor(t, value, t->g->values[value].dtype);
    t->flow.tensors[source].elsewhere = true;
    for (int32_t i = 0; i < note->version_count; i++)
        if (note->versions[i].is_float)
            t->made[t->first[value] + (size_t)i] = source;
        else
            add_conversion(t, source, add_version(t, value, i));
}

static void trace(tracer *t)
{
    for (int32_t i = 0; i < t->g->input_count && !t->failed; i++)
        add_input(t, t->g->inputs[i]);
    for (itg_id n = 0; n < t->g->node_count && !t->failed; n++)
        add_node(t, n);
    for (int32_t i = 0; i < t->g->output_count; i++) {
        int32_t tensor = tensor_at(t, ITG_NONE, i);
        if (tensor != ITG_FLOW_NONE) t->flow.tensors[tensor].kept = true;
    }
}

itg_status itg_cost_activations(const itg_annotated *a, const size_t *first, itg_arena *arena,
                                int64_t *out)
{
    const itg_graph *g = a->graph;
    size_t versions = first[g->value_count], values = (size_t)g->value_count,
           nodes = (size_t)g->node_count;
    tracer t = {.a = a, .g = g, .arena = arena, .first = first};
    /* Hidden: one a value, one a node that transposes. Steps: two a node, a conversion a version.
     */
    t.made = itg_arena_array(arena, versions + 1, sizeof *t.made);
    t.flow.tensors =
        itg_arena_array(arena, versions + 2 * values + nodes + 1, sizeof *t.flow.tensors);
    t.flow.steps = itg_arena_array(arena, versions + 2 * nodes + 1, sizeof *t.flow.steps);
    if (t.made == NULL || t.flow.tensors == NULL || t.flow.steps == NULL) return ITG_NO_MEMORY;
    for (size_t i = 0; i < versions; i++)
        t.made[i] = ITG_FLOW_NONE;
    trace(&t);
    if (t.failed) return ITG_NO_MEMORY;
    itg_status status = itg_flow_plan(&t.flow, ITG_FLOW_DEVICE_ALIGNMENT, true, NULL);
    if (status == ITG_OK) *out = (int64_t)t.flow.bytes;
    return status;
}
