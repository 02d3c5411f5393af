/* Convolutions and matrix products by the layers of kernels/accel.h. Constant weights are packed
 * for the plan. With two computed operands, each product is packed and gets its own layer. */
#include "realize/batch_plan.h"
#include <string.h>
#include <stdlib.h>

static bool takes_mac(const itg_batch_plan *plan, const itg_step *s)
{
    return plan->program->values[s->inputs[1]].data != NULL;
}

static bool takes_matmul(const itg_batch_plan *plan, const itg_step *s)
{
    return takes_mac(plan, s) && itg_matmul_of(plan->program, s).batches == 1;
}

/* Number of images in a sample. */
static int64_t images_of(const itg_batch_plan *plan, const itg_step *s)
{
    return s->kind == ITG_STEP_CONV ? plan->program->values[s->inputs[0]].shape.dims[0] : 1;
}

static itg_int_operand codes_of(const itg_pvalue *v)
{
    return (itg_int_operand){v->dtype, v->data, v->q.zero_point, v->q.qmin, v->q.qmax};
}

/* Describes outputs [first, first + ITG_ACCEL_OUTPUTS). */
static itg_accel_problem problem_of(const itg_batch_plan *plan, const itg_batch_operation *o,
                                    int32_t first, itg_epilogue out[ITG_ACCEL_OUTPUTS])
{
    const itg_step *s = o->step;
    const itg_pvalue *values = plan->program->values, *x = &values[s->inputs[0]],
                     *w = &values[s->inputs[1]];
    itg_accel_problem p = {.x = codes_of(x), .w = codes_of(w)};
    bool parts = !itg_step_sum_is_whole(s);
    p.mac = (itg_mac_options){.acc = s->split.part_count > 0 && !parts ? itg_step_join(s) : s->acc,
                              .may_overflow = parts || !itg_step_fits(s),
                              .acc_bound = s->kernel_bound,
                              .bias = s->input_count > 2 ? values[s->inputs[2]].data : NULL,
                              .split = parts ? &s->split : NULL};
    if (s->kind == ITG_STEP_CONV) {
        p.window = itg_window_of(s->op, &s->attrs, &x->shape, &values[s->outputs[0]].shape).w;
    } else {
        itg_matmul_view v = itg_matmul_of(plan->program, s);
        p.window = itg_accel_matmul_window(v.m, v.n, v.k);
        p.w_rows = !s->attrs.trans_b && w->shape.rank > 1;
    }
    p.out = out;
    for (int32_t i = first; i < s->output_count && p.out_count < ITG_ACCEL_OUTPUTS; i++)
        out[p.out_count++] = itg_batch_epilogue_of(plan, o, i);
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
    const char *set = itg_accel_name(plan->kernels);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        itg_key_int(&k, numbers[i]);
    itg_key_bytes(&k, set, strlen(set));
    return itg_key_end(&k);
}

static itg_status borrow(itg_batch_plan *plan, const itg_accel_problem *p, const itg_step *s,
                         const void **out)
{
    size_t bytes = itg_accel_packed_bytes(plan->kernels, p);
    const void *found = NULL;
    if (bytes > 0 && plan->weights == NULL) {
        void *packed = itg_arena_alloc(plan->arena, bytes);
        if (packed != NULL) itg_accel_pack(plan->kernels, p, packed);
        found = packed;
    } else if (bytes > 0) {
        itg_key key = packed_key(plan, p, s, bytes);
        found = itg_cache_fetch(plan->weights, &key, bytes);
        if (found == NULL) {
            void *packed = itg_cache_reserve(plan->weights, &key, bytes, (double)bytes, true);
            if (packed != NULL) {
                itg_accel_pack(plan->kernels, p, packed);
                itg_cache_commit(plan->weights, packed);
            }
            found = packed;
        }
        if (found != NULL) plan->borrowed[plan->borrowed_count++] = found;
    }
    *out = found;
    return bytes > 0 && found == NULL
               ? itg_fail(plan->err, ITG_NO_MEMORY, "no memory for packed weights")
               : ITG_OK;
}

static itg_status prepare_mac(itg_batch_plan *plan, itg_batch_operation *o)
{
    itg_epilogue out[ITG_ACCEL_OUTPUTS];
    itg_accel_problem p = problem_of(plan, o, 0, out);
    const void *packed = NULL;
    const size_t count = ((size_t)o->output_count - 1) / ITG_ACCEL_OUTPUTS + 1;
    const int64_t samples = plan->block * images_of(plan, o->step);
    o->layers = itg_arena_array(plan->arena, count, sizeof(itg_accel_layer *));
    if (o->layers == NULL) return itg_fail(plan->err, ITG_NO_MEMORY, "no memory for layers");
    itg_status status = borrow(plan, &p, o->step, &packed);
    for (int32_t i = 0; i < o->output_count && status == ITG_OK; i += ITG_ACCEL_OUTPUTS) {
        itg_accel_layer **layer = &o->layers[i / ITG_ACCEL_OUTPUTS];
        p = problem_of(plan, o, i, out);
        status = itg_accel_layer_create(plan->kernels, &p, packed, plan->arena, layer, plan->err);
        if (status == ITG_OK) o->scratch_bytes = itg_accel_scratch(*layer, samples);
    }
    return status;
}

static itg_status run_mac(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    for (int32_t i = 0; i < o->output_count; i += ITG_ACCEL_OUTPUTS) {
        void *y[ITG_ACCEL_OUTPUTS];
        for (int32_t k = i; k < o->output_count && k < i + ITG_ACCEL_OUTPUTS; k++)
            y[k - i] = itg_batch_data(b, o->outputs[k]);
        itg_accel_run(o->layers[i / ITG_ACCEL_OUTPUTS], itg_batch_data(b, o->inputs[0]), y,
                      count * images_of(b->plan, o->step), itg_batch_scratch(b, o));
    }
    return ITG_OK;
}

const itg_batch_kernel itg_batch_conv = {.name = "conv",
                                         .wish = ITG_WISH_LAST,
                                         .loads = true,
                                         .takes = takes_mac,
                                         .prepare = prepare_mac,
                                         .run = run_mac};
const itg_batch_kernel itg_batch_matmul = {
    .name = "matmul", .loads = true, .takes = takes_matmul, .prepare = prepare_mac, .run = run_mac};

/* ---- products of computed operands ---- */

/* Allocates aligned memory that is not cleared. */
static void *allocate(size_t bytes)
{
    return bytes > SIZE_MAX - 64 ? NULL : aligned_alloc(64, bytes / 64 * 64 + 64);
}

/* Runs p on `images` images with channels last, into out[i].out of p. */
static bool run_problem(const itg_accel_kernels *kernels, const itg_accel_problem *p, const void *x,
                        int64_t images, itg_arena *arena)
{
    void *packed = allocate(itg_accel_packed_bytes(kernels, p)), *scratch = NULL;
    void *y[ITG_ACCEL_OUTPUTS];
    itg_accel_layer *layer;
    if (packed != NULL) itg_accel_pack(kernels, p, packed);
    if (packed != NULL && itg_accel_layer_create(kernels, p, packed, arena, &layer, NULL) == ITG_OK)
        scratch = allocate(itg_accel_scratch(layer, images));
    for (int32_t i = 0; i < p->out_count; i++)
        y[i] = p->out[i].out;
    if (scratch != NULL) itg_accel_run(layer, x, y, images, scratch);
    const bool ok = scratch != NULL;
    free(scratch);
    free(packed);
    return ok;
}

/* Runs p on operands in logical order. */
static bool run_images(const itg_accel_kernels *kernels, itg_accel_problem *p, int64_t images,
                       itg_arena *arena)
{
    const itg_window *w = &p->window;
    const int64_t in = w->height * w->width, pixels = w->out_height * w->out_width;
    itg_epilogue out[ITG_ACCEL_OUTPUTS], *logical = (itg_epilogue *)(uintptr_t)p->out;
    unsigned char *x =
        itg_arena_array(arena, (size_t)(images * w->channels * in), itg_dtype_size(p->x.storage));
    bool ok = x != NULL;
    if (ok) itg_to_channels_last(p->x.storage, images, w->channels, in, p->x.data, x);
    for (int32_t i = 0; i < p->out_count && ok; i++) {
        out[i] = logical[i];
        out[i].out = itg_arena_array(arena, (size_t)(images * w->out_channels * pixels),
                                     itg_dtype_size(out[i].storage));
        ok = out[i].out != NULL;
    }
    p->out = out;
    ok = ok && run_problem(kernels, p, x, images, arena);
    for (int32_t i = 0; i < p->out_count && ok; i++)
        itg_to_channels_first(out[i].storage, images, w->out_channels, pixels, out[i].out,
                              logical[i].out);
    p->out = logical;
    return ok;
}

static const void *advanced(const void *data, int64_t elements, itg_dtype dtype)
{
    return (const unsigned char *)data + (size_t)elements * itg_dtype_size(dtype);
}

/* Computes outputs [first, first + ITG_ACCEL_OUTPUTS) of product `index`. */
static itg_status run_product_of(const itg_batch *b, const itg_batch_operation *o,
                                 const itg_matmul_view *v, int64_t index, int32_t first)
{
    itg_epilogue out[ITG_ACCEL_OUTPUTS];
    itg_accel_problem p = problem_of(b->plan, o, first, out);
    p.x.data = itg_batch_operand(b, o, 0).data;
    p.w.data = itg_batch_operand(b, o, 1).data;
    for (int32_t i = 0; i < p.out_count; i++)
        out[i].out = (void *)(uintptr_t)advanced(itg_batch_data(b, o->outputs[first + i]),
                                                 index * v->m * v->n, out[i].storage);
    itg_arena *arena = itg_arena_create(0);
    bool ok = arena != NULL;
    if (ok && o->step->kind == ITG_STEP_CONV) {
        ok = run_images(b->plan->kernels, &p, images_of(b->plan, o->step), arena);
    } else if (ok) {
        p.w.data =
            advanced(p.w.data, itg_strided_offset(v->batch.rank, v->batch.dims, v->stride_b, index),
                     p.w.storage);
        ok = run_problem(
            b->plan->kernels, &p,
            advanced(p.x.data, itg_strided_offset(v->batch.rank, v->batch.dims, v->stride_a, index),
                     p.x.storage),
            1, arena);
    }
    itg_arena_destroy(arena);
    return ok ? ITG_OK : itg_fail(b->err, ITG_NO_MEMORY, "no memory for a product");
}

static itg_status run_product(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    (void)count;
    itg_matmul_view v = {.batches = 1};
    itg_status status = ITG_OK;
    if (o->step->kind == ITG_STEP_MATMUL) v = itg_matmul_of(b->plan->program, o->step);
    for (int64_t i = 0; i < v.batches && status == ITG_OK; i++)
        for (int32_t k = 0; k < o->output_count && status == ITG_OK; k += ITG_ACCEL_OUTPUTS)
            status = run_product_of(b, o, &v, i, k);
    return status;
}

const itg_batch_kernel itg_batch_product = {.name = "product", .single = true, .run = run_product};
