/* The executor's inside: one worker's memory over a shared program. Private to realize/. */
#ifndef ITG_REALIZE_EXEC_H
#define ITG_REALIZE_EXEC_H
#include "realize/geometry.h"

struct itg_instance {
    const itg_program *program;
    void *allocation;
    unsigned char *memory; /* program->instance_bytes, aligned to 64 */
    void *const *places;   /* [value]: where each lies instead of memory; NULL: as planned */
    void *scratch;         /* beside places: of the step that runs */
    /* Room for the operands of the step that has the most. */
    itg_tensor *inputs, *outputs;
    itg_epilogue *epilogues;
    float *scales;
};

itg_status itg_exec_step(itg_instance *instance, const itg_step *s, itg_error *err);

void *itg_exec_data(const itg_instance *instance, int32_t value); /* constants: not to be written */
itg_int_operand itg_exec_operand(const itg_instance *instance, int32_t value);
void *itg_exec_scratch(const itg_instance *instance, const itg_step *s);
/* Fills instance->epilogues for all outputs of s. */
void itg_exec_epilogues(itg_instance *instance, const itg_step *s);
/* Moves them on by `elements`. */
void itg_exec_advance(itg_instance *instance, const itg_step *s, int64_t elements);

itg_status itg_exec_quantize(itg_instance *instance, const itg_step *s,
                             itg_error *err); /* exec_element.c */
itg_status itg_exec_dequantize(itg_instance *instance, const itg_step *s, itg_error *err);
itg_status itg_exec_binary(itg_instance *instance, const itg_step *s, itg_error *err);
itg_status itg_exec_clip(itg_instance *instance, const itg_step *s, itg_error *err);
itg_status itg_exec_lut(itg_instance *instance, const itg_step *s, itg_error *err);
itg_status itg_exec_conv(itg_instance *instance, const itg_step *s,
                         itg_error *err); /* exec_mac.c */
itg_status itg_exec_matmul(itg_instance *instance, const itg_step *s, itg_error *err);
itg_status itg_exec_mean(itg_instance *instance, const itg_step *s,
                         itg_error *err); /* exec_reduce.c */
itg_status itg_exec_max(itg_instance *instance, const itg_step *s, itg_error *err);
itg_status itg_exec_arg_max(itg_instance *instance, const itg_step *s, itg_error *err);
itg_status itg_exec_float(itg_instance *instance, const itg_step *s,
                          itg_error *err); /* exec_tensor.c */
itg_status itg_exec_move(itg_instance *instance, const itg_step *s, itg_error *err);

/* Scratch bytes of a step. */
size_t itg_exec_conv_scratch(const itg_program *p, const itg_step *s);
size_t itg_exec_matmul_scratch(const itg_program *p, const itg_step *s);
size_t itg_exec_mean_scratch(const itg_program *p, const itg_step *s);
size_t itg_exec_clip_scratch(const itg_program *p, const itg_step *s);
#endif
