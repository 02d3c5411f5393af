/* Times the steps of a program on this machine. */
#include "realize/batch.h"
#include "realize/program.h"
#include <stdlib.h>
#include <string.h>

#define LEAST_SECONDS 0.3 /* of all rounds */
enum { LEAST_ROUNDS = 5, MOST_ROUNDS = 200 };

/* Codes of the whole range: a kernel's time hardly depends on them. */
static itg_status fill(void *context, int32_t index, int64_t sample, void *x, itg_error *err)
{
    const itg_program *p = context;
    const itg_pvalue *v = &p->values[p->inputs[index]];
    const int64_t range = (int64_t)v->q.qmax - v->q.qmin + 1;
    (void)err;
    for (int64_t i = 0; i < v->elements; i++) {
        const int64_t k = i * 37 + sample * 11;
        if (v->dtype == ITG_F32)
            ((float *)x)[i] = (float)(k % 201) / 100 - 1;
        else
            itg_store(v->dtype, x, i, v->q.qmin + k % range);
    }
    return ITG_OK;
}

/* Sets the least seconds of each step over several rounds of a block of *samples. */
static itg_status run_rounds(const itg_program *p, double *least, int64_t *samples, itg_error *err)
{
    itg_batch_plan *plan = NULL;
    itg_batch *batch = NULL;
    double *seconds = calloc((size_t)p->step_count + 1, sizeof *seconds), all = 0;
    itg_status status = seconds ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for times");
    if (status == ITG_OK) status = itg_batch_plan_create(p, &(itg_batch_options){0}, &plan, err);
    if (status == ITG_OK) status = itg_batch_create(plan, &batch, err);
    if (status == ITG_OK) *samples = itg_batch_plan_block(plan);
    const itg_batch_io io = {.fill = fill, .context = (void *)(uintptr_t)p, .seconds = seconds};
    for (int round = -1; status == ITG_OK && round < MOST_ROUNDS; round++) {
        if (round >= LEAST_ROUNDS && all > LEAST_SECONDS) break;
        memset(seconds, 0, (size_t)p->step_count * sizeof *seconds);
        status = itg_batch_run(batch, &(itg_block){0, 0, *samples}, &io, err);
        for (int32_t i = 0; i < p->step_count && round >= 0; i++) {
            all += seconds[i];
            if (round == 0 || seconds[i] < least[i]) least[i] = seconds[i];
        }
    }
    itg_batch_destroy(batch);
    itg_batch_plan_destroy(plan);
    free(seconds);
    return status;
}

itg_status itg_program_time(const itg_program *p, itg_step_time **out, int32_t *count,
                            itg_error *err)
{
    double *least = calloc((size_t)p->step_count + 1, sizeof *least);
    itg_step_time *steps = calloc((size_t)p->step_count + 1, sizeof *steps);
    int64_t samples = 1;
    itg_status status =
        least && steps ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for times");
    if (status == ITG_OK) status = run_rounds(p, least, &samples, err);
    for (int32_t i = 0; status == ITG_OK && i < p->step_count; i++)
        steps[i] = (itg_step_time){p->steps[i].name, 1e9 * least[i] / (double)samples};
    free(least);
    if (status == ITG_OK) {
        *out = steps;
        *count = p->step_count;
    } else {
        free(steps);
    }
    return status;
}
