/* oneDNN 2 by its C API. A node is a few primitives in sequence: reorders of operands into the
 * layout that oneDNN prefers, the operator, and a reorder of the result to row-major.
 *
 * oneDNN would use OpenMP's threads in addition to the workers. It is therefore limited to one
 * thread when a primitive is created and when it runs, so the order of its sums does not depend on
 * the number of workers. Arithmetic is float32 throughout: fpmath mode strict, direct
 * convolution. */
#include "kernels/f32_onednn.h"
#include "kernels/f32_window.h"

#include <dnnl.h>
#include <stdlib.h>

enum { MOST_STEPS = 5, MOST_MEMORIES = 12, MOST_ARGS = 4 };

struct itg_onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t strict;
};

typedef struct step {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[MOST_ARGS];
    int arg_count;
} step;

struct itg_onednn_node {
    step steps[MOST_STEPS]; /* run in order */
    int step_count;
    dnnl_memory_t memories[MOST_MEMORIES];
    int memory_count;
};

/* A node under construction. The first failure is kept; all later calls do nothing. */
typedef struct making {
    const itg_onednn *context;
    itg_onednn_node *node;
    dnnl_status_t status;
} making;

/* ---- parts of a node ---- */
static bool ok(making *m, dnnl_status_t status)
{
    if (m->status == dnnl_success) m->status = status;
    return m->status == dnnl_success;
}

/* data NULL: oneDNN allocates. */
static dnnl_memory_t add_memory(making *m, const dnnl_memory_desc_t *desc, const void *data)
{
    dnnl_memory_t memory = NULL;
    void *handle = data ? (void *)(uintptr_t)data : DNNL_MEMORY_ALLOCATE;
    if (m->status != dnnl_success) return NULL;
    if (!ok(m, dnnl_memory_create(&memory, desc, m->context->engine, handle))) return NULL;
    m->node->memories[m->node->memory_count++] = memory;
    return memory;
}

static step *add_step(making *m, dnnl_primitive_desc_t desc)
{
    dnnl_primitive_t primitive = NULL;
    if (!ok(m, dnnl_primitive_create(&primitive, desc))) return NULL;
    step *s = &m->node->steps[m->node->step_count++];
    s->primitive = primitive;
    return s;
}

static void add_arg(step *s, int what, dnnl_memory_t memory)
{
    if (s && memory) s->args[s->arg_count++] = (dnnl_exec_arg_t){what, memory};
}

static dnnl_status_t execute(const itg_onednn *context, const step *s)
{
    return dnnl_primitive_execute(s->primitive, context->stream, s->arg_count, s->args);
}

static void add_reorder(making *m, const dnnl_memory_desc_t *from_desc, dnnl_memory_t from,
                        const dnnl_memory_desc_t *to_desc, dnnl_memory_t to)
{
    dnnl_primitive_desc_t desc = NULL;
    const dnnl_engine_t engine = m->context->engine;
    if (m->status != dnnl_success ||
        !ok(m, dnnl_reorder_primitive_desc_create(&desc, from_desc, engine, to_desc, engine,
                                                  m->context->strict)))
        return;
    step *s = add_step(m, desc);
    add_arg(s, DNNL_ARG_FROM, from);
    add_arg(s, DNNL_ARG_TO, to);
    dnnl_primitive_desc_destroy(desc);
}

/* Returns `data` in the layout that the operator wants. A constant is reordered now. */
static dnnl_memory_t operand(making *m, const dnnl_memory_desc_t *given, const void *data,
                             const dnnl_memory_desc_t *wanted, bool is_constant)
{
    dnnl_memory_t plain = add_memory(m, given, data);
    if (!plain || dnnl_memory_desc_equal(given, wanted)) return plain;
    dnnl_memory_t packed = add_memory(m, wanted, NULL);
    add_reorder(m, given, plain, wanted, packed);
    if (!is_constant || m->status != dnnl_success) return packed;
    step *s = &m->node->steps[--m->node->step_count];
    ok(m, execute(m->context, s));
    ok(m, dnnl_stream_wait(m->context->stream));
    dnnl_primitive_destroy(s->primitive);
    *s = (step){0};
    return packed;
}

/* The operands of one operator; without a bias its rank is 0. */
typedef struct operands {
    dnnl_memory_desc_t x, w, b, y; /* as stored */
    const void *x_data, *w_data, *b_data, *y_data;
    bool x_constant, w_constant;
} operands;

/* Adds the operator of `desc` with the reorders that it needs. */
static void add_operator(making *m, const operands *o, const_dnnl_op_desc_t desc)
{
    dnnl_primitive_desc_t made = NULL;
    if (!ok(m,
            dnnl_primitive_desc_create(&made, desc, m->context->strict, m->context->engine, NULL)))
        return;
    const dnnl_memory_desc_t *x = dnnl_primitive_desc_query_md(made, dnnl_query_src_md, 0),
                             *w = dnnl_primitive_desc_query_md(made, dnnl_query_weights_md, 0),
                             *y = dnnl_primitive_desc_query_md(made, dnnl_query_dst_md, 0);
    dnnl_memory_t from = operand(m, &o->x, o->x_data, x, o->x_constant);
    dnnl_memory_t weights = operand(m, &o->w, o->w_data, w, o->w_constant);
    dnnl_memory_t bias = o->b_data ? add_memory(m, &o->b, o->b_data) : NULL;
    dnnl_memory_t plain = add_memory(m, &o->y, o->y_data), to = plain;
    const bool is_plain = dnnl_memory_desc_equal(&o->y, y);
    if (!is_plain) to = add_memory(m, y, NULL);
    step *s = m->status == dnnl_success ? add_step(m, made) : NULL;
    add_arg(s, DNNL_ARG_SRC, from);
    add_arg(s, DNNL_ARG_WEIGHTS, weights);
    add_arg(s, DNNL_ARG_BIAS, bias);
    add_arg(s, DNNL_ARG_DST, to);
    if (!is_plain) add_reorder(m, y, to, &o->y, plain);
    dnnl_primitive_desc_destroy(made);
}

static void describe(making *m, dnnl_memory_desc_t *out, int rank, const int64_t *dims,
                     const int64_t *strides)
{
    dnnl_dims_t own_dims = {0}, own_strides = {0};
    int64_t row = 1;
    for (int i = rank - 1; i >= 0; --i) {
        own_dims[i] = dims[i];
        own_strides[i] = strides ? strides[i] : row;
        row *= dims[i];
    }
    ok(m, dnnl_memory_desc_init_by_strides(out, rank, own_dims, dnnl_f32, own_strides));
}

/* Returns the same shape with any layout. */
static dnnl_memory_desc_t any_layout(making *m, const dnnl_memory_desc_t *like)
{
    dnnl_memory_desc_t any = {0};
    ok(m,
       dnnl_memory_desc_init_by_tag(&any, like->ndims, like->dims, dnnl_f32, dnnl_format_tag_any));
    return any;
}

/* ---- convolution; a 1-D one has a height of 1 ---- */
static bool conv_fits(const itg_call *call, const itg_window *w)
{
    const itg_tensor *bias = itg_call_input(call, 2);
    const int64_t weights = itg_elements(&call->inputs[1].shape);
    return w->group >= 1 && w->channels % w->group == 0 && w->out_channels % w->group == 0 &&
           w->pad_top >= 0 && w->pad_left >= 0 && weights > 0 &&
           weights == w->out_channels * (w->channels / w->group) * w->kernel[0] * w->kernel[1] &&
           (!bias || (bias->dtype == ITG_F32 && itg_elements(&bias->shape) == w->out_channels));
}

static void make_conv(making *m, const itg_call *call, const bool *is_constant)
{
    itg_window w;
    int64_t batch;
    if (itg_f32_window(call, &w, &batch) != ITG_OK || !conv_fits(call, &w)) {
        m->status = dnnl_unimplemented;
        return;
    }
    const itg_tensor *bias = itg_call_input(call, 2);
    const int64_t in = w.channels / w.group, out = w.out_channels / w.group;
    const int64_t x[] = {batch, w.channels, w.height, w.width};
    const int64_t y[] = {batch, w.out_channels, w.out_height, w.out_width};
    const int64_t weights[] = {w.group, out, in, w.kernel[0], w.kernel[1]};
    const int grouped = w.group > 1 ? 0 : 1; /* index where weights begin */
    const dnnl_dims_t strides = {w.stride[0], w.stride[1]};
    const dnnl_dims_t dilates = {w.dilation[0] - 1, w.dilation[1] - 1};
    const dnnl_dims_t before = {w.pad_top, w.pad_left};
    const dnnl_dims_t after = {(w.out_height - 1) * w.stride[0] +
                                   (w.kernel[0] - 1) * w.dilation[0] + 1 - w.height - w.pad_top,
                               (w.out_width - 1) * w.stride[1] + (w.kernel[1] - 1) * w.dilation[1] +
                                   1 - w.width - w.pad_left};
    operands o = {.x_data = call->inputs[0].data,
                  .w_data = call->inputs[1].data,
                  .b_data = bias ? bias->data : NULL,
                  .y_data = call->outputs[0].data,
                  .x_constant = is_constant[0],
                  .w_constant = is_constant[1]};
    describe(m, &o.x, 4, x, NULL);
    describe(m, &o.w, 5 - grouped, weights + grouped, NULL);
    describe(m, &o.y, 4, y, NULL);
    if (bias) describe(m, &o.b, 1, &w.out_channels, NULL);
    const dnnl_memory_desc_t any_x = any_layout(m, &o.x), any_w = any_layout(m, &o.w),
                             any_y = any_layout(m, &o.y);
    dnnl_convolution_desc_t desc;
    if (m->status == dnnl_success &&
        ok(m, dnnl_dilated_convolution_forward_desc_init(
                  &desc, dnnl_forward_inference, dnnl_convolution_direct, &any_x, &any_w,
                  bias ? &o.b : NULL, &any_y, strides, dilates, before, after)))
        add_operator(m, &o, &desc);
}

/* ---- matrix products: y = x * w + b; rank 2 or a stack ---- */
static void add_product(making *m, operands *o)
{
    const dnnl_memory_desc_t any = any_layout(m, &o->w);
    dnnl_matmul_desc_t desc;
    if (m->status == dnnl_success &&
        ok(m, dnnl_matmul_desc_init(&desc, &o->x, o->w_constant ? &any : &o->w,
                                    o->b_data ? &o->b : NULL, &o->y)))
        add_operator(m, o, &desc);
}

static void describe_matrix(making *m, const itg_shape *shape, bool transposed,
                            dnnl_memory_desc_t *out)
{
    const int64_t dims[] = {shape->dims[transposed], shape->dims[!transposed]};
    const int64_t strides[] = {transposed ? 1 : shape->dims[1], transposed ? shape->dims[1] : 1};
    describe(m, out, 2, dims, strides);
}

/* Aligns the dimensions of `shape` to the right of `rank` dimensions. */
static void align(const itg_shape *shape, int rank, int64_t *dims)
{
    for (int i = 0; i < rank; ++i) {
        const int from = i - rank + shape->rank;
        dims[i] = from >= 0 ? shape->dims[from] : 1;
    }
}

static void make_gemm(making *m, const itg_call *call, const bool *is_constant)
{
    const itg_attrs *attrs = call->attrs;
    const itg_tensor *a = &call->inputs[0], *b = &call->inputs[1], *y = &call->outputs[0],
                     *c = itg_call_input(call, 2);
    if (a->shape.rank != 2 || b->shape.rank != 2 || y->shape.rank != 2 || attrs->alpha != 1.0f ||
        (c && (attrs->beta != 1.0f || c->shape.rank > 2 || c->dtype != ITG_F32))) {
        m->status = dnnl_unimplemented;
        return;
    }
    operands o = {.x_data = a->data,
                  .w_data = b->data,
                  .b_data = c ? c->data : NULL,
                  .y_data = y->data,
                  .x_constant = is_constant[0],
                  .w_constant = is_constant[1]};
    int64_t dims[2];
    describe_matrix(m, &a->shape, attrs->trans_a, &o.x);
    describe_matrix(m, &b->shape, attrs->trans_b, &o.w);
    describe_matrix(m, &y->shape, false, &o.y);
    if (c) {
        align(&c->shape, 2, dims);
        describe(m, &o.b, 2, dims, NULL);
    }
    add_product(m, &o);
}

static void make_matmul(making *m, const itg_call *call, const bool *is_constant)
{
    const itg_tensor *a = &call->inputs[0], *b = &call->inputs[1], *y = &call->outputs[0],
                     *bias = itg_call_input(call, 2);
    int64_t x[ITG_MAX_RANK], w[ITG_MAX_RANK], out[ITG_MAX_RANK], n[ITG_MAX_RANK];
    int rank = y->shape.rank;
    if (a->shape.rank < 2 || b->shape.rank < 2 || a->shape.rank > rank || b->shape.rank > rank ||
        (bias && (bias->dtype != ITG_F32 || bias->shape.rank != 1))) {
        m->status = dnnl_unimplemented;
        return;
    }
    align(&a->shape, rank, x);
    align(&b->shape, rank, w);
    align(&y->shape, rank, out);
    if (b->shape.rank == 2 && a->shape.rank == rank) { /* a single tall product */
        const int64_t rows = itg_dims_product(&a->shape, 0, rank - 1);
        x[1] = x[rank - 1];
        out[1] = out[rank - 1];
        x[0] = out[0] = rows;
        w[0] = b->shape.dims[0];
        w[1] = b->shape.dims[1];
        rank = 2;
    }
    operands o = {.x_data = a->data,
                  .w_data = b->data,
                  .b_data = bias ? bias->data : NULL,
                  .y_data = y->data,
                  .x_constant = is_constant[0],
                  .w_constant = is_constant[1]};
    describe(m, &o.x, rank, x, NULL);
    describe(m, &o.w, rank, w, NULL);
    describe(m, &o.y, rank, out, NULL);
    if (bias) {
        align(&bias->shape, rank, n);
        describe(m, &o.b, rank, n, NULL);
    }
    add_product(m, &o);
}

/* ---- the interface ---- */
static itg_status failed(const char *what, dnnl_status_t status, itg_error *err)
{
    if (status == dnnl_out_of_memory) return itg_fail(err, ITG_NO_MEMORY, "no memory for oneDNN");
    return itg_fail(err, ITG_FAILURE, "oneDNN: %s failed with status %d", what, (int)status);
}

itg_status itg_onednn_create(itg_onednn **out, itg_error *err)
{
    itg_onednn *made = calloc(1, sizeof *made);
    if (!made) return itg_fail(err, ITG_NO_MEMORY, "no memory for oneDNN");
    dnnl_status_t status = dnnl_engine_create(&made->engine, dnnl_cpu, 0);
    if (status == dnnl_success)
        status = dnnl_stream_create(&made->stream, made->engine, dnnl_stream_in_order);
    if (status == dnnl_success) status = dnnl_primitive_attr_create(&made->strict);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_fpmath_mode(made->strict, dnnl_fpmath_mode_strict);
    if (status != dnnl_success) {
        itg_onednn_destroy(made);
        return failed("its engine", status, err);
    }
    *out = made;
    return ITG_OK;
}

void itg_onednn_destroy(itg_onednn *context)
{
    if (!context) return;
    if (context->strict) dnnl_primitive_attr_destroy(context->strict);
    if (context->stream) dnnl_stream_destroy(context->stream);
    if (context->engine) dnnl_engine_destroy(context->engine);
    free(context);
}

static bool is_float_call(const itg_call *call)
{
    if (call->input_count < 2 || call->input_count > ITG_ONEDNN_INPUTS) return false;
    for (int32_t i = 0; i < call->input_count; ++i)
        if (call->inputs[i].data && call->inputs[i].dtype != ITG_F32) return false;
    bool done;
    return call->inputs[1].data && call->outputs[0].dtype == ITG_F32 &&
           itg_call_check(call, &done) == ITG_OK && !done &&
           itg_elements(&call->inputs[0].shape) > 0 && itg_elements(&call->inputs[1].shape) > 0;
}

itg_status itg_onednn_prepare(itg_onednn *context, itg_op op, const itg_attrs *attrs,
                              const itg_tensor *inputs, const bool *is_constant,
                              int32_t input_count, const itg_tensor *output, itg_onednn_node **out,
                              itg_error *err)
{
    itg_tensor y = *output;
    const itg_call call = {op, attrs, inputs, input_count, &y, 1, NULL, NULL};
    if (!itg_op_is(op, ITG_IS_MAC) || !is_float_call(&call)) return ITG_OK;
    itg_onednn_node *node = calloc(1, sizeof *node);
    if (!node) return itg_fail(err, ITG_NO_MEMORY, "no memory for oneDNN");
    making m = {context, node, dnnl_success};
    const int threads = itg_parallel_lend(1);
    (op == ITG_OP_CONV   ? make_conv
     : op == ITG_OP_GEMM ? make_gemm
                         : make_matmul)(&m, &call, is_constant);
    itg_parallel_lend(threads);
    if (m.status == dnnl_success) {
        *out = node;
        return ITG_OK;
    }
    itg_onednn_release(node);
    return m.status == dnnl_out_of_memory ? failed("a node", m.status, err) : ITG_OK;
}

itg_status itg_onednn_run(itg_onednn *context, itg_onednn_node *node, itg_error *err)
{
    dnnl_status_t status = dnnl_success;
    const int threads = itg_parallel_lend(1);
    for (int i = 0; i < node->step_count && status == dnnl_success; ++i)
        status = execute(context, &node->steps[i]);
    if (status == dnnl_success) status = dnnl_stream_wait(context->stream);
    itg_parallel_lend(threads);
    return status == dnnl_success ? ITG_OK : failed("a node", status, err);
}

void itg_onednn_release(itg_onednn_node *node)
{
    if (!node) return;
    for (int i = 0; i < node->step_count; ++i)
        if (node->steps[i].primitive) dnnl_primitive_destroy(node->steps[i].primitive);
    for (int i = 0; i < node->memory_count; ++i)
        dnnl_memory_destroy(node->memories[i]);
    free(node);
}
