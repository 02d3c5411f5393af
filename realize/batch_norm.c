/* Softmax and LayerNormalization, row by row of a sample. */
#include "realize/batch_plan.h"

/* Number of elements in the dimensions from the axis on. */
static int64_t slab(const itg_pvalue *x, const itg_step *s)
{
    return itg_dims_product(&x->shape, (int32_t)s->attrs.axis, x->shape.rank);
}

static itg_status prepare_rows(itg_batch_plan *plan, itg_batch_operation *o)
{
    const itg_pvalue *x = &plan->program->values[o->step->inputs[0]];
    o->scratch_bytes = (size_t)slab(x, o->step) * sizeof(int64_t);
    return ITG_OK;
}

static void put(const itg_batch *b, const itg_batch_operation *o, int64_t first, int64_t n,
                const int64_t *acc)
{
    for (int32_t k = 0; k < o->output_count; k++) {
        itg_epilogue e = itg_batch_epilogue(b, o, k);
        e.out = (unsigned char *)e.out + (size_t)first * itg_dtype_size(e.storage);
        itg_int_epilogue(acc, n, 0, &e);
    }
}

static const void *constant(const itg_batch *b, const itg_step *s, int32_t slot)
{
    return b->plan->program->values[s->inputs[slot]].data;
}

static itg_status run_softmax(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    (void)count;
    const itg_step *s = o->step;
    const itg_pvalue *x = &b->plan->program->values[s->inputs[0]];
    const int64_t block = slab(x, s), n = x->shape.dims[s->attrs.axis];
    const itg_int_softmax k = {constant(b, s, 1), constant(b, s, 2), s->fraction, n, block / n};
    const itg_int_operand codes = itg_batch_operand(b, o, 0);
    int64_t *acc = itg_batch_scratch(b, o);
    for (int64_t first = 0; first < x->elements; first += block) {
        for (int64_t i = 0; i < k.stride; i++)
            itg_int_softmax_row(&k, &codes, first + i, acc + i);
        put(b, o, first, block, acc);
    }
    return ITG_OK;
}

const itg_batch_kernel itg_batch_softmax = {
    .name = "softmax", .single = true, .prepare = prepare_rows, .run = run_softmax};

static itg_status run_layer_norm(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    (void)count;
    const itg_step *s = o->step;
    const itg_pvalue *x = &b->plan->program->values[s->inputs[0]];
    const itg_int_layer_norm k = {constant(b, s, 1), constant(b, s, 2), s->fraction, slab(x, s),
                                  s->epsilon};
    const itg_int_operand codes = itg_batch_operand(b, o, 0);
    int64_t *acc = itg_batch_scratch(b, o);
    for (int64_t first = 0; first < x->elements; first += k.count) {
        itg_int_layer_norm_row(&k, &codes, first, acc);
        put(b, o, first, k.count, acc);
    }
    return ITG_OK;
}

const itg_batch_kernel itg_batch_layer_norm = {
    .name = "layer norm", .single = true, .prepare = prepare_rows, .run = run_layer_norm};
