/* Anything that takes a sample and gives outputs. */
#ifndef ITG_RUNNER_H
#define ITG_RUNNER_H
#include "sim/sim.h"

/* Gives a runner its samples: writes the one that runs at place `sample` for input `index` into x,
 * in the input's dtype. */
typedef struct itg_sample_source {
    itg_status (*fill)(void *context, int32_t index, int64_t sample, void *x, itg_error *err);
    void *context;
} itg_sample_source;

/* One instance belongs to one worker. It takes samples one by one (input, run, output), or in
 * blocks: then `block` is the most at a time, and the last three are not NULL in place of those. */
typedef struct itg_runner {
    const void *context; /* an annotated graph, a prepared graph, a program */
    int32_t input_count, output_count;
    itg_tensor first_input; /* dtype and shape [1, ...] of input 0; no data */
    itg_status (*create)(const void *context, void **instance, itg_error *err);
    void (*destroy)(void *instance);
    void *(*input)(void *instance, int32_t index);
    itg_status (*run)(void *instance, itg_error *err);
    itg_tensor (*output)(const void *instance,
                         int32_t index); /* storage dtype; valid until the next run */
    const itg_quantizer *(*quantizer)(const void *context,
                                      int32_t index); /* of an output; NULL: not quantized */
    int64_t block;                                    /* 0: one by one */
    itg_status (*run_block)(void *instance, const itg_sample_source *source, int64_t first,
                            int64_t count, itg_error *err);
    itg_tensor (*block_output)(const void *instance, int32_t index, int64_t k); /* k < count */
} itg_runner;

itg_runner itg_runner_float(const itg_graph *graph, itg_float_kernels kernels);
itg_runner itg_runner_sim(const itg_annotated *annotated);
#endif
