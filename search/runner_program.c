/* An integer program as a runner, and the public way to run one over a data set. */
#include "search/evaluator.h"
#include "realize/realize.h"
#include <stdlib.h>
#include <string.h>

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
static float *input(void *instance, int32_t index)
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
    itg_shape none = {0};
    itg_runner r = {program,
                    itg_program_input_count(program),
                    itg_program_output_count(program),
                    itg_program_input_count(program) > 0 ? *itg_program_input_shape(program, 0)
                                                         : none,
                    create,
                    destroy,
                    input,
                    run,
                    output,
                    quantizer};
    return r;
}
