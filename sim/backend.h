/* Backends: everything that takes blocks of samples and gives outputs. */
#ifndef ITG_BACKEND_H
#define ITG_BACKEND_H
#include "sim/sim.h"

/* Gives a backend its samples: writes sample `sample` of input `index` into x, in the input's
 * dtype. */
typedef struct itg_sample_source {
    itg_status (*fill)(void *context, int32_t index, int64_t sample, void *x, itg_error *err);
    void *context;
} itg_sample_source;

/* The inputs of a network. */
typedef struct itg_input_list {
    const void *context;
    int32_t count;
    /* Dtype and shape [1, ...], without data; *name is borrowed. */
    itg_tensor (*input)(const void *context, int32_t index, const char **name);
} itg_input_list;
itg_input_list itg_graph_inputs(const itg_graph *graph);

/* One instance belongs to one worker. */
typedef struct itg_backend {
    const void *context; /* an annotated graph, a prepared graph, a program */
    itg_input_list inputs;
    int32_t output_count;
    int64_t block; /* the most samples of one run; at least 1 */
    itg_status (*create)(const void *context, void **instance, itg_error *err);
    void (*destroy)(void *instance);
    /* Runs samples [first, first + count) of the source. */
    itg_status (*run)(void *instance, const itg_sample_source *source, int64_t first, int64_t count,
                      itg_error *err);
    /* Returns an output of the last run's sample k in storage dtype, valid until the next run.
     * Before the first run it has only dtype and shape. */
    itg_tensor (*output)(const void *instance, int32_t index, int64_t k);
    const itg_quantizer *(*quantizer)(const void *context,
                                      int32_t index); /* of an output; NULL: not quantized */
} itg_backend;

itg_backend itg_backend_float(const itg_graph *graph, itg_float_kernels kernels);
itg_backend itg_backend_sim(const itg_annotated *annotated);
#endif
