/* Keys of values: hashes of everything that determines their bits. Names, ids, layouts and bounds
 * (which follow from the rest) are not included. A new field of itg_step that changes results must
 * be added here. */
#include "realize/batch_plan.h"

enum { TAG_INPUT = 1, TAG_CONSTANT, TAG_STEP, TAG_OUTPUT };

static void key_shape(itg_key_state *k, const itg_shape *shape)
{
    itg_key_int(k, shape->rank);
    for (int32_t i = 0; i < shape->rank; i++)
        itg_key_int(k, shape->dims[i]);
}

static void key_type(itg_key_state *k, const itg_pvalue *v)
{
    itg_key_int(k, (int64_t)v->dtype * 2 + v->quantized);
    key_shape(k, &v->shape);
    if (!v->quantized) return;
    itg_key_int(k, v->q.zero_point);
    itg_key_int(k, v->q.qmin);
    itg_key_int(k, v->q.qmax);
    /* Several scales belong to weights; their requantization constants cover them. */
    if (v->q.scale_count == 1) itg_key_float(k, v->q.scale[0]);
}

static void key_requant(itg_key_state *k, const itg_requant *r)
{
    if (r->is_f32) {
        itg_key_float(k, r->ratio);
        return;
    }
    itg_key_int(k, ((int64_t)1 << 32) + r->stage_count);
    for (int32_t i = 0; i < r->stage_count; i++) {
        const itg_requant_stage *stage = &r->stage[i];
        itg_key_int(k, stage->multiplier);
        itg_key_int(k, (int64_t)stage->shift * ITG_ROUNDING_COUNT + (int64_t)stage->rounding);
    }
}

static void key_split(itg_key_state *k, const itg_sum_split *split)
{
    itg_key_int(k, split->part_count);
    if (split->part_count == 0) return;
    itg_key_bytes(k, split->end, (size_t)split->part_count * sizeof *split->end);
    itg_key_bytes(k, split->shift, (size_t)split->shift_count * sizeof *split->shift);
    itg_key_int(k, split->rounding);
    itg_key_int(k, split->join_bits);
}

static itg_key constant_key(const itg_pvalue *v)
{
    itg_key_state k;
    itg_key content = v->known != NULL ? v->known->content : itg_content_key(v->data, v->bytes);
    itg_key_begin(&k, TAG_CONSTANT);
    itg_key_key(&k, &content);
    key_type(&k, v);
    return itg_key_end(&k);
}

static itg_key step_key(const itg_batch_plan *plan, const itg_step *s)
{
    itg_key_state k;
    itg_key_begin(&k, TAG_STEP);
    itg_key_int(&k, s->kind);
    itg_key_int(&k, s->op);
    itg_key_int(&k, s->form);
    itg_key_int(&k, s->rounding);
    itg_key_bytes(&k, &s->attrs, sizeof s->attrs); /* different padding bytes only miss the cache */
    itg_key_int(&k, s->acc.bits);
    itg_key_int(&k, s->acc.overflow);
    key_split(&k, &s->split);
    itg_key_int(&k, s->left_shift);
    itg_key_int(&k, s->table_shift);
    key_requant(&k, &s->operand[0]);
    key_requant(&k, &s->operand[1]);
    itg_key_int(&k, s->fraction);
    itg_key_int(&k, s->epsilon);
    itg_key_float(&k, s->float_lo);
    itg_key_float(&k, s->float_hi);
    itg_key_int(&k, s->output_count); /* of Split */
    for (int32_t i = 0; i < s->input_count; i++) {
        itg_key_int(&k, s->inputs[i] == ITG_NONE);
        if (s->inputs[i] == ITG_NONE) continue;
        itg_key_key(&k, &plan->keys[s->inputs[i]]);
        const itg_quantizer *q = &plan->program->values[s->inputs[i]].q;
        for (int32_t c = 0; s->kind == ITG_STEP_FLOAT && c < q->scale_count; c++)
            itg_key_float(&k, q->scale[c]); /* 0 scales where it is not quantized */
    }
    return itg_key_end(&k);
}

static itg_key output_key(const itg_batch_plan *plan, const itg_step *s, const itg_key *step,
                          int32_t index)
{
    const itg_step_out *o = &s->outs[index];
    itg_key_state k;
    itg_key_begin(&k, TAG_OUTPUT);
    itg_key_key(&k, step);
    /* Encodings of one result differ in what follows; parts of Split differ in their index. */
    itg_key_int(&k, itg_step_has_epilogue(s) || s->kind == ITG_STEP_LUT ? -1 : index);
    key_type(&k, &plan->program->values[s->outputs[index]]);
    if (s->kind == ITG_STEP_LUT) itg_key_key(&k, &plan->keys[s->inputs[index + 1]]);
    if (!itg_step_has_epilogue(s)) return itg_key_end(&k);
    itg_key_int(&k, o->lo);
    itg_key_int(&k, o->hi);
    itg_key_int(&k, o->requant_count);
    for (int32_t i = 0; i < o->requant_count; i++)
        key_requant(&k, &o->requant[i]);
    itg_key_int(&k, o->dequant_count);
    for (int32_t i = 0; i < o->dequant_count; i++)
        itg_key_float(&k, o->dequant[i]);
    return itg_key_end(&k);
}

itg_status itg_batch_keys(itg_batch_plan *plan)
{
    const itg_program *p = plan->program;
    plan->keys = itg_arena_array(plan->arena, (size_t)p->value_count + 1, sizeof *plan->keys);
    if (plan->keys == NULL)
        return itg_fail(plan->err, ITG_NO_MEMORY, "%s: no memory for keys", p->name);
    for (int32_t i = 0; i < p->value_count; i++)
        if (p->values[i].data != NULL) plan->keys[i] = constant_key(&p->values[i]);
    for (int32_t i = 0; i < p->input_count; i++) {
        itg_key_state k;
        itg_key_begin(&k, TAG_INPUT);
        itg_key_int(&k, i);
        key_type(&k, &p->values[p->inputs[i]]);
        plan->keys[p->inputs[i]] = itg_key_end(&k);
    }
    for (int32_t i = 0; i < p->step_count; i++) {
        const itg_step *s = &p->steps[i];
        itg_key step = step_key(plan, s);
        for (int32_t o = 0; o < s->output_count; o++)
            plan->keys[s->outputs[o]] = output_key(plan, s, &step, o);
    }
    return ITG_OK;
}
