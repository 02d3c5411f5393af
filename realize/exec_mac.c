/* Multiply and accumulate: convolutions, image by image, and matrix products, matrix by matrix. */
#include "realize/exec.h"

static itg_mac_options mac_options(const itg_instance *instance, const itg_step *s)
{
    const itg_program *p = instance->program;
    itg_mac_options mac = {.acc = s->acc, .may_overflow = !itg_step_fits(s)};
    mac.acc_bound = s->kernel_bound;
    if (s->split.part_count > 0) {
        mac.split = &s->split;
        mac.may_overflow = true;
    }
    mac.bias = s->input_count > 2 ? p->values[s->inputs[2]].data : NULL;
    return mac;
}

static itg_window_view window(const itg_program *p, const itg_step *s)
{
    return itg_window_of(s->op, &s->attrs, &p->values[s->inputs[0]].shape,
                         &p->values[s->outputs[0]].shape);
}

/* Operand moved on by `elements`. */
static itg_int_operand moved(itg_int_operand x, int64_t elements)
{
    x.data = (const unsigned char *)x.data + (size_t)elements * itg_dtype_size(x.storage);
    return x;
}

size_t itg_exec_conv_scratch(const itg_program *p, const itg_step *s)
{
    itg_window_view v = window(p, s);
    return itg_int_conv_scratch(&v.w);
}

itg_status itg_exec_conv(itg_instance *instance, const itg_step *s, itg_error *err)
{
    (void)err;
    itg_window_view v = window(instance->program, s);
    itg_int_operand x = itg_exec_operand(instance, s->inputs[0]),
                    w = itg_exec_operand(instance, s->inputs[1]);
    itg_mac_options mac = mac_options(instance, s);
    itg_exec_epilogues(instance, s);
    for (int64_t n = 0; n < v.batch; n++) {
        itg_int_operand image = moved(x, n * v.w.channels * v.w.height * v.w.width);
        itg_int_conv(&v.w, &image, &w, &mac, instance->epilogues, s->output_count,
                     itg_exec_scratch(instance, s));
        itg_exec_advance(instance, s, v.w.out_channels * v.w.out_height * v.w.out_width);
    }
    return ITG_OK;
}

static itg_matmul_view matrices(const itg_program *p, const itg_step *s)
{
    itg_matmul_view v;
    itg_shape y;
    (void)itg_matmul_of(&p->values[s->inputs[0]].shape, &p->values[s->inputs[1]].shape,
                        s->attrs.trans_b, &v, &y, NULL);
    return v;
}

size_t itg_exec_matmul_scratch(const itg_program *p, const itg_step *s)
{
    itg_matmul_view v = matrices(p, s);
    return itg_int_matmul_scratch(v.m, v.n, v.k);
}

itg_status itg_exec_matmul(itg_instance *instance, const itg_step *s, itg_error *err)
{
    (void)err;
    itg_matmul_view v = matrices(instance->program, s);
    itg_int_operand a = itg_exec_operand(instance, s->inputs[0]),
                    b = itg_exec_operand(instance, s->inputs[1]);
    itg_mac_options mac = mac_options(instance, s);
    bool transposed = s->attrs.trans_b || instance->program->values[s->inputs[1]].shape.rank == 1;
    itg_exec_epilogues(instance, s);
    for (int64_t i = 0; i < v.batches; i++) {
        itg_int_operand left =
            moved(a, itg_strided_offset(v.batch.rank, v.batch.dims, v.stride_a, i));
        itg_int_operand right =
            moved(b, itg_strided_offset(v.batch.rank, v.batch.dims, v.stride_b, i));
        itg_int_matmul(v.m, v.n, v.k, &left, &right, transposed, &mac, instance->epilogues,
                       s->output_count, itg_exec_scratch(instance, s));
        itg_exec_advance(instance, s, v.m * v.n);
    }
    return ITG_OK;
}
