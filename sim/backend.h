/* Anything that takes samples, in blocks, and gives outputs. */
#ifndef ITG_BACKEND_H
#define ITG_BACKEND_H
#include "sim/sim.h"

/* Gives a backend its samples: writes the one that runs at place `sample` for input `index` into x,
 * in the input's dtype. */
typedef struct itg_sample_source {
    itg_status (*fill)(void *context, int32_t index, int64_t sample, void *x, itg_error *err);
    void *context;
} itg_sample_source;

/* One instance belongs to one worker. */
typedef struct itg_backend {
    const void *context; /* an annotated graph, a prepared graph, a program */
    int32_t input_count, output_count;
    itg_tensor first_input; /* dtype and shape [1, ...] of input 0; no data */
    int64_t block;          /* the most samples of one run; at least 1 */
    itg_status (*create)(const void *context, void **instance, itg_error *err);
    void (*destroy)(void *instance);
    /* Samples [first, first + count) of the source. */
    itg_status (*run)(void *instance, const itg_sample_source *source, int64_t first, int64_t count,
                      itg_error *err);
    /* Of the last run's sample k: storage dtype; valid until the next run. Before the first run:
     * dtype and shape alone. */
    itg_tensor (*output)(const void *instance, int32_t index, int64_t k);
    const itg_quantizer *(*quantizer)(const void *context,
                                      int32_t index); /* of an output; NULL: not quantized */
} itg_backend;

itg_backend itg_backend_float(const itg_graph *graph, itg_float_kernels kernels);
itg_backend itg_backend_sim(const itg_annotated *annotated);
#endif
