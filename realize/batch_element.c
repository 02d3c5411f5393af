/* Elementwise steps. A block is one long row in every layout. */
#include "kernels/requant.h"
#include "realize/batch_plan.h"

static int64_t elements_of(const itg_batch *b, int32_t place, int64_t count)
{
    return itg_place_value(b->plan, place)->elements * count;
}

/* ---- quantize, dequantize ---- */

static itg_status prepare_quantize(itg_batch_plan *plan, itg_batch_operation *o)
{
    if (itg_place_is_last(o->outputs[0])) /* one sample's codes in logical order */
        o->scratch_bytes = itg_place_value(plan, o->outputs[0])->bytes;
    return ITG_OK;
}

static itg_status run_quantize(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    const itg_pvalue *y = itg_place_value(b->plan, o->outputs[0]);
    const float *x = itg_batch_data(b, o->inputs[0]);
    unsigned char *out = itg_batch_data(b, o->outputs[0]);
    bool last = itg_place_is_last(o->outputs[0]);
    for (int64_t k = 0; k < count; k++, x += y->elements, out += y->bytes) {
        void *codes = last ? itg_batch_scratch(b, o) : out;
        const int64_t images = y->shape.dims[0], channels = itg_value_channels(y);
        itg_block_quantize(&y->q, x, y->elements, codes);
        if (last)
            itg_to_channels_last(y->dtype, images, channels, y->elements / images / channels, codes,
                                 out);
    }
    return ITG_OK;
}

const itg_batch_kernel itg_batch_quantize = {.name = "quantize",
                                             .wish = ITG_WISH_SOURCE,
                                             .loads = true,
                                             .prepare = prepare_quantize,
                                             .run = run_quantize};

static itg_status run_dequantize(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    itg_int_operand x = itg_batch_operand(b, o, 0);
    const float scale = b->plan->program->values[o->step->inputs[0]].q.scale[0];
    itg_block_dequantize(&x, elements_of(b, o->outputs[0], count), scale,
                         itg_batch_data(b, o->outputs[0]));
    return ITG_OK;
}

const itg_batch_kernel itg_batch_dequantize = {
    .name = "dequantize", .wish = ITG_WISH_SAME, .loads = true, .run = run_dequantize};

/* ---- tables, clips ---- */

static itg_status run_lut(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    const itg_pvalue *values = b->plan->program->values;
    itg_int_operand x = itg_batch_operand(b, o, 0);
    int64_t n = elements_of(b, o->inputs[0], count);
    for (int32_t k = 0; k < o->output_count; k++) {
        const itg_pvalue *y = itg_place_value(b->plan, o->outputs[k]);
        const itg_lut lut = {values[o->step->inputs[k + 1]].data,
                             y->quantized ? o->step->table_shift : 0, y->dtype};
        itg_block_lut(b->plan->kernels, &lut, &x, n, itg_batch_data(b, o->outputs[k]));
    }
    return ITG_OK;
}

const itg_batch_kernel itg_batch_lut = {
    .name = "lut", .wish = ITG_WISH_SAME, .loads = true, .run = run_lut};

enum { CLIP_ROW = 1024 };

static itg_status prepare_clip(itg_batch_plan *plan, itg_batch_operation *o)
{
    const itg_pvalue *x = itg_place_value(plan, o->inputs[0]);
    itg_int_operand codes = {x->dtype, NULL, x->q.zero_point, x->q.qmin, x->q.qmax};
    itg_epilogue out[ITG_ACCEL_OUTPUTS];
    itg_block_element *fast;
    if (o->output_count > ITG_ACCEL_OUTPUTS) return ITG_OK;
    for (int32_t i = 0; i < o->output_count; i++)
        out[i] = itg_batch_epilogue_of(plan, o, i);
    itg_status status = itg_block_rescale_create(plan->kernels, o->step->acc, &codes, out,
                                                 o->output_count, plan->arena, &fast, plan->err);
    if (status == ITG_OK) o->fast = fast;
    return status;
}

static itg_status run_clip(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    itg_int_operand x = itg_batch_operand(b, o, 0);
    void *y[ITG_ACCEL_OUTPUTS];
    for (int32_t i = 0; o->fast != NULL && i < o->output_count; i++)
        y[i] = itg_batch_data(b, o->outputs[i]);
    if (o->fast != NULL) {
        itg_block_element_run(o->fast, x.data, NULL, y, elements_of(b, o->inputs[0], count));
        return ITG_OK;
    }
    int64_t n = elements_of(b, o->inputs[0], count), acc[CLIP_ROW];
    for (int64_t first = 0; first < n; first += CLIP_ROW) {
        int64_t row = n - first < CLIP_ROW ? n - first : CLIP_ROW;
        for (int64_t i = 0; i < row; i++)
            acc[i] = itg_accumulator_fit(o->step->acc,
                                         itg_load(x.storage, x.data, first + i) - x.zero_point);
        for (int32_t k = 0; k < o->output_count; k++) {
            itg_epilogue e = itg_batch_epilogue(b, o, k);
            e.out = (unsigned char *)e.out + (size_t)first * itg_dtype_size(e.storage);
            itg_int_epilogue(acc, row, 0, &e);
        }
    }
    return ITG_OK;
}

const itg_batch_kernel itg_batch_clip = {
    .name = "clip", .wish = ITG_WISH_SAME, .loads = true, .prepare = prepare_clip, .run = run_clip};
