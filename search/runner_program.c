/* An integer program as a runner: the plain executor, sample by sample, or blocks of samples with
 * the fastest kernels that this machine has. Both give the same bits. */
#include "search/evaluator.h"
#include "realize/batch.h"
#include <stdlib.h>

static itg_status create(const void *context, void **instance, itg_error *err)
{
    itg_instance *made = NULL;
    itg_status status = itg_instance_create(context, &made, err);
    if (status == ITG_OK) *instance = made;
    return status;
}

static void destroy(void *instance)
{
    itg_instance_destroy(instance);
}
static void *input(void *instance, int32_t index)
{
    return itg_instance_input(instance, index);
}
static itg_status run(void *instance, itg_error *err)
{
    return itg_instance_run(instance, err);
}
static itg_tensor output(const void *instance, int32_t index)
{
    return itg_instance_output(instance, index);
}

static const itg_quantizer *quantizer(const void *context, int32_t index)
{
    const itg_shape *shape = NULL;
    const itg_quantizer *q = NULL;
    itg_dtype dtype = ITG_F32;
    itg_program_output_info(context, index, &dtype, &shape, &q);
    return q;
}

itg_runner itg_runner_program(const itg_program *program)
{
    const itg_tensor none = {0};
    itg_runner r = {program,
                    itg_program_input_count(program),
                    itg_program_output_count(program),
                    itg_program_input_count(program) > 0 ? itg_program_input(program, 0) : none,
                    create,
                    destroy,
                    input,
                    run,
                    output,
                    quantizer,
                    0,
                    NULL,
                    NULL};
    return r;
}

/* ---- blocks ---- */

/* A worker's: the batch, and where its samples and activations come from. */
typedef struct block_instance {
    const itg_fast_program *fast;
    itg_batch *batch;
} block_instance;

static void destroy_block(void *instance)
{
    block_instance *b = instance;
    itg_batch_destroy(b->batch);
    free(b);
}

static itg_status create_block(const void *context, void **instance, itg_error *err)
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

static itg_status run_block(void *instance, const itg_sample_source *source, int64_t first,
                            int64_t count, itg_error *err)
{
    block_instance *b = instance;
    itg_block block = {b->fast->source, first, count};
    itg_batch_io io = {source->fill, source->context, b->fast->activations,
                       b->fast->activations != NULL};
    return itg_batch_run(b->batch, &block, &io, err);
}

static itg_tensor block_output(const void *instance, int32_t index, int64_t k)
{
    return itg_batch_output(((const block_instance *)instance)->batch, index, k);
}

static const itg_quantizer *fast_quantizer(const void *context, int32_t index)
{
    return quantizer(((const itg_fast_program *)context)->program, index);
}

itg_runner itg_runner_fast(const itg_fast_program *fast)
{
    itg_runner r = itg_runner_program(fast->program);
    r.context = fast;
    r.create = create_block;
    r.destroy = destroy_block;
    r.input = NULL;
    r.run = NULL;
    r.output = NULL;
    r.quantizer = fast_quantizer;
    r.block = itg_batch_plan_block(fast->plan);
    r.run_block = run_block;
    r.block_output = block_output;
    return r;
}
