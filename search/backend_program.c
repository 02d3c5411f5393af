/* An integer program as a backend: blocks of samples with the fastest kernels that this machine
 * has.
 */
#include "search/evaluator.h"
#include "realize/batch.h"
#include <stdlib.h>

/* A worker's: the batch, and where its samples and activations come from. */
typedef struct block_instance {
    const itg_fast_program *fast;
    itg_batch *batch;
} block_instance;

static void destroy(void *instance)
{
    block_instance *b = instance;
    itg_batch_destroy(b->batch);
    free(b);
}

static itg_status create(const void *context, void **instance, itg_error *err)
{
    block_instance *b = calloc(1, sizeof *b);
    if (!b) return itg_fail(err, ITG_NO_MEMORY, "no memory to run a program");
    b->fast = context;
    itg_status status = itg_batch_create(b->fast->plan, &b->batch, err);
    if (status == ITG_OK)
        *instance = b;
    else
        free(b);
    return status;
}

static itg_status run(void *instance, const itg_sample_source *source, int64_t first, int64_t count,
                      itg_error *err)
{
    block_instance *b = instance;
    itg_block block = {b->fast->source, first, count};
    itg_batch_io io = {source->fill, source->context, b->fast->activations,
                       b->fast->activations != NULL, NULL};
    return itg_batch_run(b->batch, &block, &io, err);
}

static itg_tensor output(const void *instance, int32_t index, int64_t k)
{
    return itg_batch_output(((const block_instance *)instance)->batch, index, k);
}

static const itg_quantizer *quantizer(const void *context, int32_t index)
{
    const itg_shape *shape = NULL;
    const itg_quantizer *q = NULL;
    itg_dtype dtype = ITG_F32;
    itg_program_output_info(((const itg_fast_program *)context)->program, index, &dtype, &shape,
                            &q);
    return q;
}

static itg_tensor program_input(const void *context, int32_t index, const char **name)
{
    *name = itg_program_input_name(context, index);
    return itg_program_input(context, index);
}

itg_input_list itg_program_inputs(const itg_program *program)
{
    return (itg_input_list){program, itg_program_input_count(program), program_input};
}

itg_backend itg_backend_program(const itg_fast_program *fast)
{
    const itg_program *p = fast->program;
    return (itg_backend){.context = fast,
                         .inputs = itg_program_inputs(p),
                         .output_count = itg_program_output_count(p),
                         .block = itg_batch_plan_block(fast->plan),
                         .create = create,
                         .destroy = destroy,
                         .run = run,
                         .output = output,
                         .quantizer = quantizer};
}

itg_status itg_evaluate_program(const itg_program *program, int64_t block,
                                const itg_evaluate_options *options, itg_evaluation *out,
                                itg_error *err)
{
    const itg_batch_options batch = {.block = block};
    itg_batch_plan *plan = NULL;
    itg_status status = itg_batch_plan_create(program, &batch, &plan, err);
    if (status != ITG_OK) return status;
    const itg_fast_program fast = {.program = program, .plan = plan};
    const itg_backend backend = itg_backend_program(&fast);
    status = itg_evaluate(&backend, options, out, err);
    itg_batch_plan_destroy(plan);
    return status;
}
