/* Lays out a program's C source before its text is written: checks that C can express it, and
 * determines arguments, layers, scratch and places in memory. The size of the arena is the RAM
 * figure of the search (plan.c). */
#include "realize/emit/c_mac.h"
#include "realize/memory.h"
#include <string.h>

enum { MOST_ELEMENTS = 1 << 28, MOST_WEIGHTS = 1 << 26, MOST_WINDOW = 1 << 24 };

static void refuse(itg_emitter *e, const char *what, const char *name, const char *why)
{
    itg_emit_fail(e, ITG_UNSUPPORTED, what, name, why);
}

/* ---- what can be emitted ---- */

static int32_t input_index(const itg_program *p, int32_t value)
{
    for (int32_t i = 0; i < p->input_count; i++)
        if (p->inputs[i] == value) return i;
    return ITG_NONE;
}

static void check_step(itg_emitter *e, const itg_step *s)
{
    const itg_program *p = e->p;
    if (s->kind == ITG_STEP_FLOAT)
        refuse(e, "node", s->name,
               "it stays float32, and C source has no floating point; use a target whose "
               "integer operators cover the network ('intaglio check' tells)");
    if (itg_step_is_f32(s))
        refuse(e, "node", s->name,
               "its arithmetic is f32; C source needs a target whose arithmetic is integer, "
               "such as cortex-m, vta or cvm");
    for (int32_t i = 0; i < s->input_count; i++)
        if (s->inputs[i] != ITG_NONE &&
            (s->kind == ITG_STEP_QUANTIZE ? input_index(p, s->inputs[i]) == ITG_NONE
                                          : p->values[s->inputs[i]].dtype == ITG_F32))
            refuse(e, "value", p->values[s->inputs[i]].name, "it is float32 inside");
    for (int32_t i = 0; i < s->output_count && s->kind != ITG_STEP_DEQUANTIZE; i++)
        if (p->values[s->outputs[i]].dtype == ITG_F32)
            refuse(e, "value", p->values[s->outputs[i]].name,
                   "it is float32 straight from the sums; C source gives codes: let the "
                   "strategy quantize the output (--output-bits)");
}

/* Whether positions of the window fit 32 bits. */
static bool window_fits(const itg_program *p, const itg_step *s)
{
    bool pool = s->kind == ITG_STEP_MEAN || s->kind == ITG_STEP_MAX;
    if (s->kind != ITG_STEP_CONV && !(pool && itg_op_is(s->op, ITG_IS_POOL))) return true;
    itg_window w = itg_window_of(s->op, &s->attrs, &p->values[s->inputs[0]].shape,
                                 &p->values[s->outputs[0]].shape)
                       .w;
    bool fits = w.pad_top <= MOST_WINDOW && w.pad_left <= MOST_WINDOW;
    for (int i = 0; i < 2; i++)
        fits = fits && w.stride[i] <= MOST_WINDOW && w.dilation[i] <= MOST_WINDOW &&
               w.kernel[i] <= MOST_WINDOW && w.kernel[i] * w.dilation[i] <= MOST_WINDOW;
    return fits && s->attrs.pad[2] <= MOST_WINDOW && s->attrs.pad[3] <= MOST_WINDOW;
}

static void check_program(itg_emitter *e)
{
    const itg_program *p = e->p;
    for (int32_t i = 0; i < p->step_count; i++) {
        if (!window_fits(p, &p->steps[i]))
            refuse(e, "node", p->steps[i].name, "C source for a window beyond 2^24");
        check_step(e, &p->steps[i]);
    }
    for (int32_t i = 0; i < p->value_count; i++)
        if (p->values[i].elements > (p->values[i].data != NULL ? MOST_WEIGHTS : MOST_ELEMENTS))
            refuse(e, "value", p->values[i].name,
                   "C source for more than 2^28 elements (constants: 2^26)");
}

/* ---- arguments ---- */

/* Adds an input argument: the codes of a quantized input, or an input of integers. */
static void add_input(itg_emitter *e, int32_t value, int32_t input)
{
    for (int32_t i = 0; i < e->input_count; i++)
        if (e->inputs[i].value == value) return;
    e->inputs[e->input_count++] = (itg_emit_argument){.value = value, .model_input = input};
}

/* In the order of inputs, then steps. */
static void add_inputs(itg_emitter *e)
{
    const itg_program *p = e->p;
    for (int32_t i = 0; i < p->input_count; i++) {
        for (int32_t k = 0; k < p->step_count; k++) {
            const itg_step *s = &p->steps[k];
            for (int32_t j = 0; j < s->input_count; j++)
                if (s->inputs[j] == p->inputs[i])
                    add_input(e, s->kind == ITG_STEP_QUANTIZE ? s->outputs[0] : s->inputs[j], i);
        }
        for (int32_t k = 0; k < p->output_count; k++)
            if (p->outputs[k] == p->inputs[i]) add_input(e, p->inputs[i], i);
    }
}

static void add_outputs(itg_emitter *e)
{
    const itg_program *p = e->p;
    for (int32_t i = 0; i < p->output_count; i++) {
        int32_t value = p->outputs[i], producer = p->values[value].producer;
        if (producer != ITG_NONE && p->steps[producer].kind == ITG_STEP_DEQUANTIZE)
            value = p->steps[producer].inputs[0];
        if (!p->values[value].quantized && p->values[value].dtype != ITG_S64)
            refuse(e, "output", p->values[value].name, "it is float32; C source gives codes");
        e->outputs[e->output_count++].value = value;
    }
}

/* ---- scratch ---- */

itg_dtype itg_emit_constant_type(const itg_pvalue *v, bool centered)
{
    int64_t zero = centered ? v->q.zero_point : 0;
    return v->q.qmin - zero >= INT16_MIN && v->q.qmax - zero <= INT16_MAX ? ITG_S16 : ITG_S64;
}

itg_dtype itg_emit_mean_type(const itg_program *p, const itg_step *s)
{
    const itg_quantizer *q = &p->values[s->inputs[0]].q;
    int64_t lo = q->qmin - q->zero_point, hi = q->qmax - q->zero_point, size = hi > -lo ? hi : -lo;
    return size < (INT32_MAX >> 2) / itg_mean_max_count(p, s) ? ITG_S32 : ITG_S64;
}

/* Returns the scratch for constants among the first `count` operands. They are unpacked whole, the
 * table of a Gather row by row. */
static size_t constants(const itg_emitter *e, const itg_emit_layer *l, int32_t count, bool centered)
{
    size_t bytes = 0;
    for (int32_t i = 0; i < count; i++) {
        if (l->inputs[i] != ITG_NONE) continue;
        int32_t value = l->step != NULL ? l->step->inputs[i] : e->buffers[l->outputs[0]].value;
        const itg_pvalue *v = &e->p->values[value];
        int64_t elements = v->elements;
        if (l->step != NULL && l->step->op == ITG_OP_GATHER)
            elements = itg_dims_product(&v->shape, (int32_t)l->step->attrs.axis + 1, v->shape.rank);
        bytes += itg_emit_room(itg_emit_constant_type(v, centered), elements);
    }
    return bytes;
}

static size_t mean_sums(const itg_program *p, const itg_step *s)
{
    if (itg_mean_is_reduction(s)) return 0;
    return itg_emit_room(itg_emit_mean_type(p, s), p->values[s->inputs[0]].shape.dims[1]);
}

static void measure(itg_emitter *e, itg_emit_layer *l)
{
    const itg_step *s = l->step;
    itg_step_kind kind = s != NULL ? s->kind : ITG_STEP_MOVE;
    bool mac = kind == ITG_STEP_CONV || kind == ITG_STEP_MATMUL, mean = kind == ITG_STEP_MEAN;
    int32_t operands = kind == ITG_STEP_BINARY               ? 2
                       : s != NULL && s->op == ITG_OP_CONCAT ? s->input_count
                                                             : 1;
    bool centered = mac || mean || kind == ITG_STEP_BINARY || kind == ITG_STEP_CLIP;
    l->macs = s != NULL ? itg_step_macs(e->p, s) : 0;
    l->scratch_bytes = constants(e, l, operands, centered);
    if (mean) l->scratch_bytes += mean_sums(e->p, s);
    if (mac) l->scratch_bytes += itg_emit_mac_scratch(e, l);
}

/* ---- all ---- */

itg_status itg_emit_lay_out(itg_emitter *e)
{
    const itg_program *p = e->p;
    check_program(e);
    e->inputs =
        itg_emit_alloc(e, (size_t)p->step_count + (size_t)p->input_count, sizeof *e->inputs);
    e->outputs = itg_emit_alloc(e, (size_t)p->output_count, sizeof *e->outputs);
    if (itg_emit_status(e) != ITG_OK) return e->status;
    add_inputs(e);
    add_outputs(e);
    if (e->status == ITG_OK) itg_emit_plan(e);
    if (itg_emit_status(e) == ITG_OK) itg_emit_mac_survey(e);
    for (int32_t i = 0; i < e->layer_count && itg_emit_status(e) == ITG_OK; i++)
        measure(e, &e->layers[i]);
    if (itg_emit_status(e) == ITG_OK) itg_emit_place_all(e);
    if (itg_emit_status(e) == ITG_OK) itg_emit_stays_count(e);
    return itg_emit_status(e);
}

/* ---- the arena, for those who ask ---- */

static const char *step_name(const void *context, int32_t step)
{
    const itg_step *s = ((const itg_emitter *)context)->layers[step].step;
    return s != NULL ? s->name : "change of layout";
}

static const char *tensor_name(const void *context, int32_t tensor)
{
    const itg_emitter *e = context;
    if (tensor >= e->buffer_count) return step_name(e, tensor - e->buffer_count);
    return e->p->values[e->buffers[tensor].value].name;
}

static bool is_scratch(const void *context, int32_t tensor)
{
    return tensor >= ((const itg_emitter *)context)->buffer_count;
}

itg_status itg_program_arena(const itg_program *p, int64_t *bytes, itg_memory_plan **plan,
                             itg_error *err)
{
    itg_emitter e = {.p = p, .err = err, .arena = itg_arena_create(0)};
    const itg_flow_names names = {tensor_name, is_scratch, step_name, &e};
    if (e.arena == NULL) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for a plan", p->name);
    itg_status status = itg_emit_lay_out(&e);
    if (status == ITG_OK && bytes != NULL) *bytes = (int64_t)e.arena_bytes;
    if (status == ITG_OK && plan != NULL)
        status = itg_memory_plan_make(&e.flow, &names, (int64_t)e.arena_bytes, plan, err);
    itg_arena_destroy(e.arena);
    return status;
}

itg_status itg_program_work(const itg_program *p, int64_t *bytes, double *work, itg_error *err)
{
    itg_emitter e = {.p = p, .err = err, .arena = itg_arena_create(0)};
    if (e.arena == NULL) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for a plan", p->name);
    const itg_status status = itg_emit_lay_out(&e);
    *work = 0;
    for (int32_t i = 0; i < e.layer_count && status == ITG_OK; i++)
        *work += itg_emit_mac_work(&e, &e.layers[i]);
    *bytes = (int64_t)e.arena_bytes;
    itg_arena_destroy(e.arena);
    return status;
}

itg_status itg_program_arena_bytes(const itg_program *p, int64_t *out, itg_error *err)
{
    return itg_program_arena(p, out, NULL, err);
}
