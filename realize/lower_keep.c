/* Steps that write one encoding of each output, from which the other encodings are converted: codes
 * that are moved, selected or averaged (float encodings are dequantized), means, and float islands
 * (integer encodings are quantized). */
#include "kernels/float_ops.h"
#include "realize/lower.h"

/* Returns the encoding of `value` that the step writes: integer or float as requested. ITG_NONE:
 * nothing reads it. */
static int32_t native_encoding(const itg_lowering *l, itg_id value, bool is_float)
{
    const itg_value_note *note = &l->a->values[value];
    for (int32_t i = 0; i < note->encoding_count; i++)
        if (note->encodings[i].is_float == is_float) return i;
    return ITG_NONE;
}

/* q: the quantizer of an integer output; NULL: a float output. */
static itg_status lower_native_output(itg_lowering *l, itg_id value, const itg_quantizer *q,
                                      int32_t *out)
{
    int32_t encoding = native_encoding(l, value, q == NULL);
    if (encoding != ITG_NONE) return itg_lower_output(l, value, encoding, out);
    itg_dtype dtype = q != NULL ? q->storage : l->g->values[value].dtype;
    itg_status status = itg_lower_hidden(l, value, itg_dtype_name(dtype), dtype, out);
    return status == ITG_OK && q != NULL ? itg_program_set_quantizer(l->p, *out, q, l->err)
                                         : status;
}

/* Converts what the step wrote to the other encodings. */
static itg_status convert_encodings(itg_lowering *l, itg_id value, bool native_float,
                                    int32_t native)
{
    const itg_value_note *note = &l->a->values[value];
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < note->encoding_count && status == ITG_OK; i++) {
        int32_t out;
        if (l->made[value][i] != ITG_NONE) continue;
        if (!native_float && !note->encodings[i].is_float)
            return itg_fail(l->err, ITG_MISMATCH,
                            "%s: value '%s': codes that are kept have one quantizer", l->g->name,
                            l->g->values[value].name);
        if (native_float && note->encodings[i].is_float) { /* all float encodings are equal */
            l->made[value][i] = native;
            continue;
        }
        status = itg_lower_output(l, value, i, &out);
        if (status == ITG_OK)
            status = itg_lower_convert(l, native_float ? ITG_STEP_QUANTIZE : ITG_STEP_DEQUANTIZE,
                                       value, native, out);
    }
    return status;
}

/* Adds the step with all inputs and native outputs, then the conversions. q as above. */
static itg_status lower_whole(itg_lowering *l, itg_id node, itg_step_kind kind,
                              const itg_quantizer *q)
{
    const itg_node *n = &l->g->nodes[node];
    int32_t outputs = n->output_count, inputs = n->input_count;
    while (outputs > 1 && n->outputs[outputs - 1] == ITG_NONE)
        outputs--;
    while (inputs > 1 && n->inputs[inputs - 1] == ITG_NONE)
        inputs--;
    itg_step *s;
    itg_status status = itg_lower_step(l, node, kind, n->op, inputs, outputs, &s);
    if (status != ITG_OK) return status;
    if (kind == ITG_STEP_MEAN) {
        s->form = ITG_FORM_KEEP;
        s->rounding = l->a->nodes[node].rounding;
    }
    const char *reason = l->a->nodes[node].reason;
    if (kind == ITG_STEP_FLOAT && reason != NULL &&
        (s->reason = itg_arena_strdup(l->p->arena, reason)) == NULL)
        return itg_lower_no_memory(l);
    for (int32_t i = 0; i < inputs && status == ITG_OK; i++)
        if (n->inputs[i] != ITG_NONE) status = itg_lower_edge(l, node, i, &s->inputs[i]);
    for (int32_t i = 0; i < outputs && status == ITG_OK; i++) {
        if (n->outputs[i] == ITG_NONE)
            return itg_lower_fail(l, node, ITG_UNSUPPORTED, "an output in between is left out");
        status = lower_native_output(l, n->outputs[i], q, &s->outputs[i]);
    }
    const int32_t *made = s->outputs; /* adding steps may move the step, but not its operands */
    for (int32_t i = 0; i < outputs && status == ITG_OK; i++)
        status = convert_encodings(l, n->outputs[i], q == NULL, made[i]);
    return status;
}

itg_status itg_lower_float(itg_lowering *l, itg_id node)
{
    return lower_whole(l, node, ITG_STEP_FLOAT, NULL);
}

itg_status itg_lower_keep(itg_lowering *l, itg_id node)
{
    const itg_node *n = &l->g->nodes[node];
    int32_t x;
    itg_status status = itg_lower_edge(l, node, 0, &x);
    if (status != ITG_OK) return status;
    itg_quantizer q = l->p->values[x].q;
    if (!l->p->values[x].quantized)
        return itg_lower_fail(l, node, ITG_MISMATCH, "keep_scale of what is no codes");
    static const itg_step_kind kinds[] = {ITG_STEP_MEAN, ITG_STEP_MAX, ITG_STEP_MOVE};
    if (n->op == ITG_OP_ARG_MAX) return lower_whole(l, node, ITG_STEP_ARG_MAX, NULL);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (itg_step_kind_takes(kinds[i], n->op)) return lower_whole(l, node, kinds[i], &q);
    return itg_lower_fail(l, node, ITG_UNSUPPORTED, "no operator of form keep_scale");
}

itg_status itg_lower_mean(itg_lowering *l, itg_id node)
{
    int32_t x;
    itg_step *s;
    itg_status status = itg_lower_edge(l, node, 0, &x);
    if (status == ITG_OK)
        status = itg_lower_native(l, node, ITG_STEP_MEAN, l->g->nodes[node].op, 1, &s);
    if (status != ITG_OK || s == NULL) return status;
    s->inputs[0] = x;
    /* The other float32 means are exact sums. */
    bool f32 = l->a->nodes[node].form == ITG_FORM_F32 && s->op == ITG_OP_AVERAGE_POOL;
    s->form = f32 ? ITG_FORM_F32 : ITG_FORM_RESCALE;
    return ITG_OK;
}
