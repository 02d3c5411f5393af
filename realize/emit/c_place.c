/* Memory: where buffers and scratch lie in the arena, and how much scratch convolutions and matrix
 * products take. The activations' peak, without any scratch, is what the arena should not exceed:
 * outputs that are written behind what a layer still reads make room (ITG_SHARING_BEHIND), and a
 * layer takes as many positions at a time as fit beside what else lives. Then scratch grows into
 * what is idle. */
#include "graph/sharing.h"
#include "realize/emit/c_mac.h"
#include <string.h>

#define NOT_BEHIND UINT64_MAX /* shift of what shares no bytes so */

/* ---- sharing ---- */

/* Whether the layer may work in place: it reads each element before it writes the same one, so the
 * result may take the place of an operand of its size. */
static bool works_in_place(const itg_emitter *e, const itg_emit_layer *l)
{
    const itg_step *s = l->step;
    if (s == NULL || (s->kind != ITG_STEP_BINARY && s->kind != ITG_STEP_CLIP &&
                      (s->kind != ITG_STEP_LUT || s->output_count > 1)))
        return false;
    const itg_emit_buffer *y = &e->buffers[l->outputs[0]];
    const itg_pvalue *to = &e->p->values[y->value];
    for (int32_t i = 0; i < l->input_count; i++) {
        if (l->inputs[i] == ITG_NONE) continue;
        const itg_emit_buffer *x = &e->buffers[l->inputs[i]];
        const itg_pvalue *from = &e->p->values[x->value];
        if (from->elements == to->elements &&
            (x->last != y->last || (x->last && from->shape.rank != to->shape.rank)))
            return false;
    }
    return true;
}

/* The axes of a shape in the order of memory where channels are innermost: [N,C,H,W] is [N,H,W,C].
 */
static itg_shape in_memory(const itg_shape *s)
{
    itg_shape out = *s;
    for (int32_t d = 2; d < s->rank; d++)
        out.dims[d - 1] = s->dims[d];
    out.dims[s->rank - 1] = s->dims[1];
    return out;
}

static int64_t axis_in_memory(int64_t axis, int32_t rank)
{
    return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
}

/* Whether all buffers of a layer have one layout, which *last says. */
static bool one_layout(const itg_emitter *e, const itg_emit_layer *l, bool *last)
{
    const int32_t count = l->input_count + l->output_count;
    bool any = false, all = true;
    for (int32_t i = 0; i < count; i++) {
        const int32_t b = i < l->input_count ? l->inputs[i] : l->outputs[i - l->input_count];
        if (b == ITG_NONE) return false;
        any = any || e->buffers[b].last;
        all = all && (e->buffers[b].last || itg_emit_layouts_coincide(e, b));
    }
    *last = any;
    return !any || all;
}

/* Returns whether a layer only moves runs of bytes, so that its outputs may be parts of its input,
 * or its inputs parts of its output. */
static itg_sharing parts_of(const itg_emitter *e, const itg_emit_layer *l, uint64_t *shift)
{
    const itg_step *s = l->step;
    int64_t elements;
    bool last;
    if (s == NULL || s->kind != ITG_STEP_MOVE || !one_layout(e, l, &last)) return ITG_SHARING_NONE;
    itg_shape x = e->p->values[s->inputs[0]].shape, y = e->p->values[s->outputs[0]].shape;
    itg_attrs attrs = s->attrs;
    if (last) {
        if (s->op != ITG_OP_SLICE && s->op != ITG_OP_SPLIT && s->op != ITG_OP_CONCAT)
            return ITG_SHARING_NONE;
        attrs.axis = axis_in_memory(attrs.axis, x.rank);
        for (int32_t i = 0; i < attrs.axes_count; i++)
            attrs.axes[i] = axis_in_memory(attrs.axes[i], x.rank);
        x = in_memory(&x);
        y = in_memory(&y);
    }
    const itg_sharing sharing = itg_op_sharing(s->op, &attrs, &x, &y, &elements);
    if (sharing == ITG_SHARING_ELEMENTS) return ITG_SHARING_NONE;
    *shift = (uint64_t)elements * itg_dtype_size(e->p->values[s->inputs[0]].dtype);
    return sharing;
}

/* Returns how the output may overlap the inputs. Types of different sizes share no bytes within a
 * layer unless one of them is a byte type, which C allows to overlap any type. */
static itg_sharing sharing_of(itg_emitter *e, const itg_emit_layer *l, uint64_t *shift)
{
    int64_t bytes;
    const itg_sharing parts = parts_of(e, l, shift);
    if (parts != ITG_SHARING_NONE) return parts;
    *shift = NOT_BEHIND;
    if (works_in_place(e, l)) return ITG_SHARING_ELEMENTS;
    if (!itg_emit_mac_behind(e, l, &bytes)) return ITG_SHARING_NONE;
    *shift = (uint64_t)((bytes + 7) / 8 * 8);
    return ITG_SHARING_NONE; /* until it is known to help */
}

/* ---- the plan's terms ---- */

static const int32_t *roots(itg_emitter *e, const int32_t *buffers, int32_t count)
{
    int32_t *out = itg_emit_alloc(e, (size_t)count + 1, sizeof *out);
    for (int32_t i = 0; out != NULL && i < count; i++)
        out[i] = buffers[i] == ITG_NONE ? ITG_FLOW_NONE : e->buffers[buffers[i]].root;
    return out;
}

static void describe_layer(itg_emitter *e, int32_t i, itg_flow_step *out)
{
    const itg_emit_layer *l = &e->layers[i];
    *out = (itg_flow_step){.input_count = l->input_count,
                           .output_count = l->output_count,
                           .inputs = roots(e, l->inputs, l->input_count),
                           .outputs = roots(e, l->outputs, l->output_count),
                           .scratch = e->buffer_count + i};
    out->sharing = sharing_of(e, l, &out->shift);
}

/* Describes the flow. Tensor i is buffer i; one scratch tensor for each layer follows. A view is
 * not a tensor, but its root is. */
static void describe(itg_emitter *e, itg_flow *flow)
{
    bool *used = itg_emit_alloc(e, (size_t)e->buffer_count + 1, sizeof *used);
    for (int32_t i = 0; i < e->layer_count && !e->failed; i++) {
        const itg_flow_step *s = &flow->steps[i];
        describe_layer(e, i, &flow->steps[i]);
        for (int32_t k = 0; k < s->input_count && !e->failed; k++)
            if (s->inputs[k] != ITG_FLOW_NONE) used[s->inputs[k]] = true;
        for (int32_t k = 0; k < s->output_count && !e->failed; k++)
            used[s->outputs[k]] = true;
    }
    for (int32_t i = 0; i < e->buffer_count && !e->failed; i++) {
        const itg_emit_buffer *b = &e->buffers[i];
        const itg_pvalue *v = &e->p->values[b->value];
        flow->tensors[i] = (itg_flow_tensor){.dtype = v->dtype, .bytes = v->bytes};
        flow->tensors[i].elsewhere = b->root != i || b->place != ITG_EMIT_ARENA || !used[i];
    }
}

/* Computes lifetimes and homes without any scratch, and live[i], the bytes in use while layer i
 * runs. Returns the largest. */
static uint64_t count_live(itg_emitter *e, itg_flow *flow, uint64_t *live)
{
    uint64_t most = 0;
    for (int32_t i = 0; i < e->layer_count; i++)
        flow->tensors[e->buffer_count + i] = (itg_flow_tensor){.dtype = ITG_S64};
    if (e->status == ITG_OK) e->status = itg_flow_live(flow, live, e->err);
    for (int32_t i = 0; i < e->layer_count && e->status == ITG_OK; i++)
        most = live[i] > most ? live[i] : most;
    return most;
}

/* Returns the bytes saved if output 0 begins `shift` bytes before input 0. */
static uint64_t saved_behind(const itg_flow *flow, const itg_flow_step *s)
{
    const uint64_t x = flow->tensors[s->inputs[0]].bytes, y = flow->tensors[s->outputs[0]].bytes;
    const uint64_t both = s->shift + x > y ? s->shift + x : y;
    return x + y > both ? x + y - both : 0;
}

/* Lets an output overlap its input if the layer's scratch would exceed the peak and less scratch
 * would be slower. Returns whether any layer exceeds the peak. */
static bool let_overlap(itg_emitter *e, itg_flow *flow, const uint64_t *live, uint64_t peak)
{
    bool any = false;
    for (int32_t i = 0; i < e->layer_count; i++) {
        itg_flow_step *s = &flow->steps[i];
        if (live[i] + e->layers[i].scratch_bytes <= peak) continue;
        any = true;
        if (s->shift == NOT_BEHIND || s->sharing != ITG_SHARING_NONE) continue;
        const uint64_t apart = peak - live[i], behind = apart + saved_behind(flow, s);
        if (itg_emit_mac_overlap_helps(e, &e->layers[i], apart, behind))
            s->sharing = ITG_SHARING_BEHIND;
    }
    return any;
}

/* Chooses overlaps and scratch. Outputs overlap inputs only if the arena would otherwise exceed the
 * activations' peak, and layers take less scratch only if it still would. */
static void choose(itg_emitter *e, itg_flow *flow, uint64_t *live)
{
    const uint64_t peak = count_live(e, flow, live);
    if (!let_overlap(e, flow, live, peak)) return;
    (void)count_live(e, flow, live);
    for (int32_t i = 0; i < e->layer_count && e->status == ITG_OK; i++)
        itg_emit_mac_fit(e, &e->layers[i], live[i] < peak ? peak - live[i] : 0);
}

static void add_scratch(const itg_emitter *e, itg_flow *flow)
{
    for (int32_t i = 0; i < e->layer_count; i++) {
        itg_flow_tensor *t = &flow->tensors[e->buffer_count + i];
        t->bytes = t->room = e->layers[i].scratch_bytes;
        t->first = t->last = i;
        if (t->bytes == 0) t->home = ITG_FLOW_NONE;
    }
}

static void take_places(itg_emitter *e, const itg_flow *flow)
{
    for (int32_t i = 0; i < e->buffer_count; i++)
        e->buffers[i].offset = (size_t)flow->tensors[i].offset;
    for (int32_t i = 0; i < e->layer_count; i++) {
        e->layers[i].scratch_offset = (size_t)flow->tensors[e->buffer_count + i].offset;
        e->layers[i].free = flow->steps[i].free;
    }
    if (flow->bytes > INT32_MAX)
        e->status = itg_fail(e->err, ITG_LIMIT, "%s: C source for an arena of %llu bytes",
                             e->p->name, (unsigned long long)flow->bytes);
    e->arena_bytes = (size_t)((flow->bytes + 7) / 8 * 8);
}

/* ---- what is free at a layer's time ---- */

typedef struct gap {
    uint64_t offset, bytes;
} gap;

/* Tensors that live at a layer's time, in the order of their places. Each counts by itself: of a
 * home, what nothing in it needs at the time is free. */
typedef struct alive {
    int32_t *tensor, count;
    int32_t *starting; /* [layer]: the first that begins there; then next[it], ITG_FLOW_NONE */
    int32_t *next;
} alive;

static bool start_alive(itg_emitter *e, const itg_flow *flow, alive *a)
{
    const size_t tensors = (size_t)flow->tensor_count + 1;
    a->tensor = itg_emit_alloc(e, tensors, sizeof *a->tensor);
    a->next = itg_emit_alloc(e, tensors, sizeof *a->next);
    a->starting = itg_emit_alloc(e, (size_t)flow->step_count + 1, sizeof *a->starting);
    if (e->failed) return false;
    for (int32_t i = 0; i < flow->step_count; i++)
        a->starting[i] = ITG_FLOW_NONE;
    for (int32_t i = 0; i < e->buffer_count; i++) {
        const itg_flow_tensor *t = &flow->tensors[i];
        const int32_t first = t->first > 0 ? t->first : 0;
        if (t->home == ITG_FLOW_NONE || first >= flow->step_count) continue;
        a->next[i] = a->starting[first];
        a->starting[first] = i;
    }
    return true;
}

static void go_on(alive *a, const itg_flow *flow, int32_t layer)
{
    int32_t count = 0;
    for (int32_t i = 0; i < a->count; i++)
        if (flow->tensors[a->tensor[i]].last >= layer) a->tensor[count++] = a->tensor[i];
    for (int32_t h = a->starting[layer]; h != ITG_FLOW_NONE; h = a->next[h]) {
        int32_t at = count++;
        for (; at > 0 && flow->tensors[a->tensor[at - 1]].offset > flow->tensors[h].offset; at--)
            a->tensor[at] = a->tensor[at - 1];
        a->tensor[at] = h;
    }
    a->count = count;
}

/* Stores the runs of bytes that no live tensor takes, at most a->count + 1, and returns their
 * number. */
static int32_t gaps_of(const alive *a, const itg_flow *flow, gap *out)
{
    int32_t count = 0;
    uint64_t from = 0;
    for (int32_t i = 0; i <= a->count; i++) {
        const itg_flow_tensor *t = i < a->count ? &flow->tensors[a->tensor[i]] : NULL;
        const uint64_t to = t != NULL ? t->offset : flow->bytes;
        if (to > from) out[count++] = (gap){from, to - from};
        if (t != NULL && t->offset + t->bytes > from) from = (t->offset + t->bytes + 7) / 8 * 8;
    }
    return count;
}

static gap largest_gap(const gap *gaps, int32_t count)
{
    gap best = {0, 0};
    for (int32_t i = 0; i < count; i++)
        if (gaps[i].bytes > best.bytes) best = gaps[i];
    return best;
}

/* Enlarges scratch into bytes that are idle while its layer runs, if that saves instructions.
 * Nothing else moves, and the arena does not grow. */
static void spend_idle(itg_emitter *e, itg_flow *flow)
{
    alive a = {0};
    gap *gaps = itg_emit_alloc(e, (size_t)flow->tensor_count + 1, sizeof *gaps);
    if (!start_alive(e, flow, &a)) return;
    for (int32_t i = 0; i < e->layer_count; i++) {
        itg_flow_tensor *t = &flow->tensors[e->buffer_count + i];
        const size_t before = e->layers[i].scratch_bytes;
        go_on(&a, flow, i);
        if (before == 0) continue;
        const gap idle = largest_gap(gaps, gaps_of(&a, flow, gaps));
        itg_emit_mac_spend(e, &e->layers[i], idle.bytes,
                           flow->steps[i].sharing != ITG_SHARING_BEHIND);
        if (e->layers[i].scratch_bytes > before) t->offset = idle.offset;
        t->bytes = t->room = e->layers[i].scratch_bytes;
    }
    flow->bytes = 0;
    for (int32_t i = 0; i < flow->tensor_count; i++) {
        const itg_flow_tensor *t = &flow->tensors[i];
        if (t->home != ITG_FLOW_NONE && t->offset + t->bytes > flow->bytes)
            flow->bytes = t->offset + t->bytes;
    }
}

/* ---- layers alike ---- */

/* Layers that share weights, one after another: steps of a recurrent operator. */
typedef struct alike {
    int32_t users; /* all layers with these weights */
    int32_t last;  /* layer; ITG_NONE: there is none yet */
    gap *free;     /* [count], what is free at the time of each */
    int32_t count;
} alike;

/* Returns the value of a layer's weights, ITG_NONE if it has none. */
static int32_t weights_of(const itg_emitter *e, const itg_emit_layer *l)
{
    if (!itg_emit_is_mac(l)) return ITG_NONE;
    const int32_t w = l->step->inputs[1];
    return e->p->values[w].data != NULL && l->scratch_bytes > 0 ? w : ITG_NONE;
}

static bool is_like(const itg_emit_layer *a, const itg_emit_layer *b)
{
    return a->scratch_bytes == b->scratch_bytes && a->block == b->block && a->rows == b->rows &&
           a->held == b->held;
}

/* Stores what both lists have, in ascending order as they are, and returns the number of runs. */
static int32_t intersect(const alike *k, const gap *gaps, int32_t count, gap *out)
{
    int32_t n = 0;
    for (int32_t i = 0, j = 0; i < k->count && j < count;) {
        const gap *a = &k->free[i], *b = &gaps[j];
        const uint64_t from = a->offset > b->offset ? a->offset : b->offset;
        const uint64_t a_end = a->offset + a->bytes, b_end = b->offset + b->bytes;
        const uint64_t to = a_end < b_end ? a_end : b_end;
        if (to > from) out[n++] = (gap){from, to - from};
        i += a_end < b_end;
        j += a_end >= b_end;
    }
    return n;
}

/* Places the scratch of layers in the first run that all have; before[i]: the one before layer i,
 * ITG_NONE. */
static void settle(itg_emitter *e, itg_flow *flow, const alike *k, const int32_t *before)
{
    int32_t at = 0;
    const int32_t last = k->last;
    if (last == ITG_NONE || before[last] == ITG_NONE) return;
    while (k->free[at].bytes < e->layers[last].scratch_bytes)
        at++;
    for (int32_t i = last; i != ITG_NONE; i = before[i])
        flow->tensors[e->buffer_count + i].offset = k->free[at].offset;
}

/* Adds layer i to those before it, if it is like them and something is free for all. */
static void join(itg_emitter *e, itg_flow *flow, alike *k, int32_t i, int32_t *before,
                 const gap *gaps, int32_t count)
{
    const uint64_t bytes = e->layers[i].scratch_bytes;
    gap *own = itg_emit_alloc(e, (size_t)(count + k->count) + 1, sizeof *own);
    if (own == NULL) return;
    before[i] = ITG_NONE;
    if (k->last != ITG_NONE && is_like(&e->layers[k->last], &e->layers[i])) {
        const int32_t common = intersect(k, gaps, count, own);
        if (largest_gap(own, common).bytes >= bytes) {
            before[i] = k->last;
            *k = (alike){k->users, i, own, common};
            return;
        }
    }
    settle(e, flow, k, before);
    memcpy(own, gaps, (size_t)count * sizeof *own);
    *k = (alike){k->users, i, own, count};
}

/* Places the scratch of layers that are alike at one address as long as it is free at the time of
 * each, so that they have one function. */
static void settle_alike(itg_emitter *e, itg_flow *flow)
{
    alive a = {0};
    bool any = false;
    const int32_t values = e->p->value_count;
    alike *of = itg_emit_alloc(e, (size_t)values + 1, sizeof *of);
    for (int32_t w = 0; w < values && of != NULL; w++)
        of[w].last = ITG_NONE;
    for (int32_t i = 0; i < e->layer_count && of != NULL; i++) {
        const int32_t w = weights_of(e, &e->layers[i]);
        if (w != ITG_NONE) any = of[w].users++ > 0 || any;
    }
    if (!any) return;
    int32_t *before = itg_emit_alloc(e, (size_t)e->layer_count + 1, sizeof *before);
    gap *gaps = itg_emit_alloc(e, (size_t)flow->tensor_count + 1, sizeof *gaps);
    if (!start_alive(e, flow, &a)) return;
    for (int32_t i = 0; i < e->layer_count && !e->failed; i++) {
        const int32_t w = weights_of(e, &e->layers[i]);
        go_on(&a, flow, i);
        if (w != ITG_NONE && of[w].users > 1)
            join(e, flow, &of[w], i, before, gaps, gaps_of(&a, flow, gaps));
    }
    for (int32_t w = 0; w < values && !e->failed; w++)
        settle(e, flow, &of[w], before);
}

void itg_emit_place_all(itg_emitter *e)
{
    const size_t layers = (size_t)e->layer_count + 1;
    const size_t tensors = (size_t)e->buffer_count + (size_t)e->layer_count;
    itg_flow *flow = &e->flow;
    *flow = (itg_flow){.tensor_count = (int32_t)tensors, .step_count = e->layer_count};
    flow->tensors = itg_emit_alloc(e, tensors + 1, sizeof *flow->tensors);
    flow->steps = itg_emit_alloc(e, layers, sizeof *flow->steps);
    uint64_t *live = itg_emit_alloc(e, layers, sizeof *live);
    if (!e->failed) describe(e, flow);
    if (itg_emit_status(e) != ITG_OK) return;
    choose(e, flow, live);
    add_scratch(e, flow);
    if (e->status == ITG_OK) e->status = itg_flow_place(flow, 8, e->err);
    if (e->status == ITG_OK) spend_idle(e, flow);
    if (e->status == ITG_OK) settle_alike(e, flow);
    if (e->status == ITG_OK) take_places(e, flow);
}
