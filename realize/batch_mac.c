/* Convolutions and matrix products with constant weights: layers of kernels/accel.h. */
#include "realize/batch_plan.h"

static bool takes_mac(const itg_batch_plan *plan, const itg_step *s)
{
    const itg_pvalue *x = &plan->program->values[s->inputs[0]],
                     *w = &plan->program->values[s->inputs[1]];
    return x->data == NULL && w->data != NULL && s->output_count <= ITG_ACCEL_OUTPUTS;
}

static bool takes_conv(const itg_batch_plan *plan, const itg_step *s)
{
    const itg_shape *x = &plan->program->values[s->inputs[0]].shape;
    return takes_mac(plan, s) && x->dims[0] == 1 && (x->rank == 3 || x->rank == 4);
}

static itg_matmul_view matrices(const itg_batch_plan *plan, const itg_step *s)
{
    const itg_pvalue *values = plan->program->values;
    itg_matmul_view v;
    itg_shape y;
    (void)itg_matmul_of(&values[s->inputs[0]].shape, &values[s->inputs[1]].shape, s->attrs.trans_b,
                        &v, &y, NULL);
    return v;
}

static bool takes_matmul(const itg_batch_plan *plan, const itg_step *s)
{
    return takes_mac(plan, s) && plan->program->values[s->inputs[1]].shape.rank >= 2 &&
           matrices(plan, s).batches == 1;
}

static itg_int_operand codes_of(const itg_pvalue *v)
{
    return (itg_int_operand){v->dtype, v->data, v->q.zero_point, v->q.qmin, v->q.qmax};
}

static itg_accel_problem problem_of(const itg_batch_plan *plan, const itg_batch_operation *o,
                                    itg_epilogue out[ITG_ACCEL_OUTPUTS])
{
    const itg_step *s = o->step;
    const itg_pvalue *values = plan->program->values, *x = &values[s->inputs[0]];
    itg_accel_problem p = {.x = codes_of(x), .w = codes_of(&values[s->inputs[1]])};
    bool parts = !itg_step_sum_is_whole(s);
    p.mac = (itg_mac_options){.acc = s->split.part_count > 0 && !parts ? itg_step_join(s) : s->acc,
                              .may_overflow = parts || !itg_step_fits(s),
                              .acc_bound = s->kernel_bound,
                              .bias = s->input_count > 2 ? values[s->inputs[2]].data : NULL,
                              .split = parts ? &s->split : NULL};
    if (s->kind == ITG_STEP_CONV) {
        p.window = itg_window_of(s->op, &s->attrs, &x->shape, &values[s->outputs[0]].shape).w;
    } else {
        itg_matmul_view v = matrices(plan, s);
        p.window = itg_accel_matmul_window(v.m, v.n, v.k);
        p.w_rows = !s->attrs.trans_b;
    }
    for (int32_t i = 0; i < s->output_count; i++)
        out[i] = itg_batch_epilogue_of(plan, o, i);
    p.out = out;
    p.out_count = s->output_count;
    return p;
}

/* ---- packed weights ---- */

enum { TAG_PACKED = 101 };

static itg_key packed_key(const itg_batch_plan *plan, const itg_accel_problem *p, const itg_step *s,
                          size_t bytes)
{
    itg_key_state k;
    itg_key_begin(&k, TAG_PACKED);
    itg_key_key(&k, &plan->keys[s->inputs[1]]);
    const itg_window *w = &p->window;
    const int64_t numbers[] = {w->channels,
                               w->height,
                               w->width,
                               w->out_channels,
                               w->out_height,
                               w->out_width,
                               w->kernel[0],
                               w->kernel[1],
                               w->stride[0],
                               w->stride[1],
                               w->dilation[0],
                               w->dilation[1],
                               w->pad_top,
                               w->pad_left,
                               w->group,
                               p->w_rows,
                               (int64_t)p->x.storage,
                               (int64_t)bytes};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        itg_key_int(&k, numbers[i]);
    return itg_key_end(&k);
}

static itg_status borrow(itg_batch_plan *plan, const itg_accel_problem *p, const itg_step *s,
                         const void **out, itg_error *err)
{
    size_t bytes = itg_accel_packed_bytes(plan->kernels, p);
    if (bytes == 0) return ITG_OK;
    if (plan->weights == NULL) {
        void *packed = itg_arena_alloc(plan->arena, bytes);
        if (packed == NULL) return itg_fail(err, ITG_NO_MEMORY, "no memory for packed weights");
        itg_accel_pack(plan->kernels, p, packed);
        *out = packed;
        return ITG_OK;
    }
    itg_key key = packed_key(plan, p, s, bytes);
    const void *found = itg_cache_fetch(plan->weights, &key, bytes);
    if (found == NULL) {
        void *packed = itg_cache_reserve(plan->weights, &key, bytes, (double)bytes, true);
        if (packed == NULL) return itg_fail(err, ITG_NO_MEMORY, "no memory for packed weights");
        itg_accel_pack(plan->kernels, p, packed);
        itg_cache_commit(plan->weights, packed);
        found = packed;
    }
    plan->borrowed[plan->borrowed_count++] = found;
    *out = found;
    return ITG_OK;
}

static itg_status prepare_mac(itg_batch_plan *plan, itg_batch_operation *o, itg_error *err)
{
    itg_epilogue out[ITG_ACCEL_OUTPUTS];
    itg_accel_problem p = problem_of(plan, o, out);
    const void *packed = NULL;
    itg_accel_layer *layer;
    itg_status status = borrow(plan, &p, o->step, &packed, err);
    if (status == ITG_OK)
        status = itg_accel_layer_create(plan->kernels, &p, packed, plan->arena, &layer, err);
    if (status != ITG_OK) return status;
    o->layer = layer;
    o->scratch_bytes = itg_accel_scratch(layer, plan->block);
    return ITG_OK;
}

static itg_status run_mac(itg_batch *b, const itg_batch_operation *o, int64_t count, itg_error *err)
{
    (void)err;
    void *y[ITG_ACCEL_OUTPUTS];
    for (int32_t i = 0; i < o->output_count; i++)
        y[i] = itg_batch_data(b, o->outputs[i]);
    itg_accel_run(o->layer, itg_batch_data(b, o->inputs[0]), y, count, itg_batch_scratch(b, o));
    return ITG_OK;
}

const itg_batch_kernel itg_batch_conv = {"conv", ITG_WISH_LAST, takes_conv,
                                         NULL,   prepare_mac,   run_mac};
const itg_batch_kernel itg_batch_matmul = {"matmul", ITG_WISH_PLAIN, takes_matmul,
                                           NULL,     prepare_mac,    run_mac};
