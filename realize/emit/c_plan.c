/* Makes layers and buffers: chooses the layout of each value and converts between layouts. */
#include "graph/sharing.h"
#include "realize/emit/emit.h"
#include <string.h>

/* Whether both layouts are the same: one element per channel, or one channel. */
static bool coincide(const itg_shape *s)
{
    return s->rank < 3 || s->dims[1] == 1 || itg_dims_product(s, 2, s->rank) == 1;
}

bool itg_emit_layouts_coincide(const itg_emitter *e, int32_t buffer)
{
    return coincide(&e->p->values[e->buffers[buffer].value].shape);
}

void itg_emit_strides(const itg_shape *shape, bool last, int64_t stride[ITG_MAX_RANK])
{
    int64_t step = 1;
    for (int32_t d = shape->rank - 1; d >= 0; d--) {
        if (last && d == 1) continue;
        stride[d] = last && d >= 2 ? step * shape->dims[1] : step;
        if (last && d == 0) stride[d] = step * shape->dims[1];
        step *= shape->dims[d];
    }
    if (last && shape->rank >= 2) stride[1] = 1;
}

/* ---- buffers ---- */

static int32_t add_buffer(itg_emitter *e, int32_t value, bool last)
{
    if (e->buffer_count == e->buffer_capacity) {
        int32_t capacity = e->buffer_capacity * 2 + 64;
        itg_emit_buffer *grown = itg_emit_alloc(e, (size_t)capacity, sizeof *grown);
        if (grown == NULL) return 0;
        if (e->buffer_count > 0) memcpy(grown, e->buffers, (size_t)e->buffer_count * sizeof *grown);
        e->buffers = grown;
        e->buffer_capacity = capacity;
    }
    int32_t id = e->buffer_count++;
    bool both = coincide(&e->p->values[value].shape);
    e->buffers[id] = (itg_emit_buffer){.value = value, .last = last && !both, .root = id};
    return id;
}

static itg_emit_layer *add_layer(itg_emitter *e, const itg_step *s, int32_t inputs, int32_t outputs)
{
    itg_emit_layer *l = &e->layers[e->layer_count++];
    l->step = s;
    l->input_count = inputs;
    l->output_count = outputs;
    l->inputs = itg_emit_alloc(e, (size_t)inputs, sizeof *l->inputs);
    l->outputs = itg_emit_alloc(e, (size_t)outputs, sizeof *l->outputs);
    if (l->inputs == NULL || l->outputs == NULL) l->input_count = l->output_count = 0;
    return l;
}

/* Returns the buffer that holds a value in a layout. Adds a copy if only the other layout exists.
 */
static int32_t in_layout(itg_emitter *e, int32_t value, bool last)
{
    int32_t own = e->buffer_of[value];
    if (own == ITG_NONE) return ITG_NONE;
    if (coincide(&e->p->values[value].shape) || e->buffers[own].last == last) return own;
    if (e->other_of[value] != ITG_NONE) return e->other_of[value];
    int32_t copy = add_buffer(e, value, last);
    itg_emit_layer *l = add_layer(e, NULL, 1, 1);
    if (l->input_count == 0) return own;
    l->inputs[0] = own;
    l->outputs[0] = copy;
    return e->other_of[value] = copy;
}

static bool is_window(const itg_step *s)
{
    bool pool = s->kind == ITG_STEP_MEAN || s->kind == ITG_STEP_MAX;
    return s->kind == ITG_STEP_CONV || (pool && itg_op_is(s->op, ITG_IS_POOL));
}

/* Whether a step takes the layout of its first operand: elementwise, or movement along axes. */
static bool follows(const itg_step *s)
{
    return s->kind == ITG_STEP_BINARY || s->kind == ITG_STEP_CLIP || s->kind == ITG_STEP_LUT ||
           (s->kind == ITG_STEP_MOVE && !itg_op_is(s->op, ITG_IS_VIEW) &&
            s->op != ITG_OP_TRANSPOSE && s->op != ITG_OP_GATHER && s->op != ITG_OP_EXPAND);
}

static bool followed_layout(const itg_emitter *e, const itg_step *s)
{
    int32_t rank = e->p->values[s->outputs[0]].shape.rank;
    for (int32_t i = 0; i < s->input_count; i++) {
        int32_t b = e->buffer_of[s->inputs[i]];
        if (b != ITG_NONE && e->buffers[b].last && e->p->values[s->inputs[i]].shape.rank == rank)
            return true;
    }
    return false;
}

/* ---- steps ---- */

/* Adds a reshape, which is another name for the same memory. */
static void add_view(itg_emitter *e, const itg_step *s)
{
    int32_t from = in_layout(e, s->inputs[0], false);
    int32_t b = add_buffer(e, s->outputs[0], false);
    if (e->failed) return;
    e->buffer_of[s->outputs[0]] = b;
    if (from == ITG_NONE) { /* of a constant */
        itg_emit_layer *l = add_layer(e, s, 1, 1);
        if (l->input_count > 0) l->inputs[0] = ITG_NONE, l->outputs[0] = b;
        return;
    }
    e->buffers[b].root = e->buffers[from].root;
    e->buffers[b].start = e->buffers[from].start;
}

/* Adds outputs that are runs of bytes of an argument, which nobody writes. Returns false if the
 * step's are none. */
static bool add_parts(itg_emitter *e, const itg_step *s)
{
    const int32_t from = e->buffer_of[s->inputs[0]];
    int64_t start;
    if (s->kind != ITG_STEP_MOVE || from == ITG_NONE || s->op == ITG_OP_CONCAT ||
        e->buffers[e->buffers[from].root].place != ITG_EMIT_INPUT)
        return false;
    const itg_pvalue *x = &e->p->values[s->inputs[0]], *y = &e->p->values[s->outputs[0]];
    if (itg_op_sharing(s->op, &s->attrs, &x->shape, &y->shape, &start) != ITG_SHARING_OUTPUTS)
        return false;
    start += e->buffers[from].start;
    for (int32_t i = 0; i < s->output_count && !e->failed; i++) {
        const int32_t b = add_buffer(e, s->outputs[i], false);
        e->buffer_of[s->outputs[i]] = b;
        if (e->failed) break;
        e->buffers[b].root = e->buffers[from].root;
        e->buffers[b].start = start;
        start += e->p->values[s->outputs[i]].elements;
    }
    return true;
}

static void add_step(itg_emitter *e, const itg_step *s)
{
    bool window = is_window(s);
    bool rows = s->kind == ITG_STEP_MATMUL || itg_step_normalizes(s);
    int32_t wanted[2] = {ITG_NONE, ITG_NONE};
    for (int32_t i = 0; i < s->input_count && i < 2 && (window || rows); i++)
        wanted[i] = in_layout(e, s->inputs[i], window);
    itg_emit_layer *l = add_layer(e, s, s->input_count, s->output_count);
    for (int32_t i = 0; i < l->input_count; i++)
        l->inputs[i] = i < 2 && (window || rows) ? wanted[i] : e->buffer_of[s->inputs[i]];
    bool last = window || (follows(s) && followed_layout(e, s));
    for (int32_t i = 0; i < l->output_count; i++) {
        l->outputs[i] = add_buffer(e, s->outputs[i], last);
        if (e->failed) return;
        e->buffer_of[s->outputs[i]] = l->outputs[i];
    }
}

static void add_steps(itg_emitter *e)
{
    for (int32_t i = 0; i < e->p->step_count && !e->failed; i++) {
        const itg_step *s = &e->p->steps[i];
        if (s->kind == ITG_STEP_QUANTIZE || s->kind == ITG_STEP_DEQUANTIZE) continue;
        if (s->kind == ITG_STEP_MOVE && itg_op_is(s->op, ITG_IS_VIEW))
            add_view(e, s);
        else if (!add_parts(e, s))
            add_step(e, s);
    }
}

/* Adds the outputs, which are row-major and belong to the caller. A constant, or a value that is
 * already an argument (an input, or a repeated output), is copied. */
static void add_outputs(itg_emitter *e)
{
    for (int32_t i = 0; i < e->output_count && !e->failed; i++) {
        int32_t value = e->outputs[i].value, b = in_layout(e, value, false);
        int32_t root = b == ITG_NONE ? ITG_NONE : e->buffers[b].root;
        if (root == ITG_NONE || e->buffers[root].place != ITG_EMIT_ARENA) {
            int32_t copy = add_buffer(e, value, false);
            itg_emit_layer *l = add_layer(e, NULL, 1, 1);
            if (l->input_count == 0) return;
            l->inputs[0] = b;
            l->outputs[0] = copy;
            b = root = copy;
        }
        e->buffers[root].place = ITG_EMIT_OUTPUT;
        e->buffers[root].index = i;
        e->outputs[i].buffer = b;
    }
}

void itg_emit_plan(itg_emitter *e)
{
    const itg_program *p = e->p;
    size_t values = (size_t)p->value_count + 1;
    e->buffer_of = itg_emit_alloc(e, values, sizeof *e->buffer_of);
    e->other_of = itg_emit_alloc(e, values, sizeof *e->other_of);
    /* Each step at most once, each value in the other layout at most once, each output copied. */
    e->layers = itg_emit_alloc(e, values + (size_t)p->step_count + (size_t)p->output_count,
                               sizeof *e->layers);
    if (e->failed) return;
    for (int32_t v = 0; v < p->value_count; v++)
        e->buffer_of[v] = e->other_of[v] = ITG_NONE;
    for (int32_t i = 0; i < e->input_count && !e->failed; i++) {
        int32_t b = add_buffer(e, e->inputs[i].value, false);
        if (e->failed) return;
        e->buffers[b].place = ITG_EMIT_INPUT;
        e->buffers[b].index = i;
        e->buffer_of[e->inputs[i].value] = e->inputs[i].buffer = b;
    }
    add_steps(e);
    add_outputs(e);
}

/* ---- text ---- */

const char *itg_emit_pointer(itg_emitter *e, int32_t buffer)
{
    const int64_t start = e->buffers[buffer].start;
    const itg_emit_buffer *b = &e->buffers[e->buffers[buffer].root];
    itg_dtype type = e->p->values[b->value].dtype;
    if (b->place == ITG_EMIT_ARENA)
        return itg_emit_text(e, "arena.%s + %lld", itg_dtype_name(type),
                             (long long)(b->offset / itg_dtype_size(type)) + (long long)start);
    const char *name =
        b->place == ITG_EMIT_INPUT ? e->inputs[b->index].name : e->outputs[b->index].name;
    return start == 0 ? name : itg_emit_text(e, "%s + %lld", name, (long long)start);
}
