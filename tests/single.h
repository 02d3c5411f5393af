/* A program run one sample at a time, by the reference kernels. */
#ifndef ITG_TEST_SINGLE_H
#define ITG_TEST_SINGLE_H
#include "realize/batch.h"
#include "realize/program.h"
#include <stdlib.h>
#include <string.h>

typedef struct single {
    const itg_program *p;
    itg_batch_plan *plan;
    itg_batch *batch;
    void **inputs; /* stay as they are */
} single;

static inline size_t single_bytes(const itg_program *p) /* of all values */
{
    size_t bytes = 0;
    for (int32_t i = 0; i < p->value_count; i++)
        if (!itg_add_size(bytes, p->values[i].bytes, &bytes)) return SIZE_MAX;
    return bytes;
}

static inline void single_destroy(single *n)
{
    if (n == NULL) return;
    itg_batch_destroy(n->batch);
    itg_batch_plan_destroy(n->plan);
    for (int32_t i = 0; n->inputs != NULL && i < n->p->input_count; i++)
        free(n->inputs[i]);
    free(n->inputs);
    free(n);
}

static inline itg_status single_create(const itg_program *p, single **out, itg_error *err)
{
    itg_batch_options options = {.block = 1};
    single *n = calloc(1, sizeof *n);
    if (n == NULL) return itg_fail(err, ITG_NO_MEMORY, "no memory for an instance");
    n->p = p;
    n->inputs = calloc((size_t)p->input_count + 1, sizeof *n->inputs);
    bool ok = n->inputs != NULL;
    for (int32_t i = 0; i < p->input_count && ok; i++)
        ok = (n->inputs[i] = calloc(p->values[p->inputs[i]].bytes + 1, 1)) != NULL;
    itg_status status = ok ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for inputs");
    if (status == ITG_OK) status = itg_accel_choose("reference", &options.kernels, err);
    if (status == ITG_OK) status = itg_batch_plan_create(p, &options, &n->plan, err);
    if (status == ITG_OK) status = itg_batch_create(n->plan, &n->batch, err);
    if (status == ITG_OK)
        *out = n;
    else
        single_destroy(n);
    return status;
}

static inline void *single_input(single *n, int32_t index)
{
    return n->inputs[index];
}

static inline itg_status single_fill(void *context, int32_t index, int64_t sample, void *x,
                                     itg_error *err)
{
    const single *n = context;
    (void)sample;
    (void)err;
    memcpy(x, n->inputs[index], n->p->values[n->p->inputs[index]].bytes);
    return ITG_OK;
}

static inline itg_status single_run(single *n, itg_error *err)
{
    const itg_block block = {0, 0, 1};
    const itg_batch_io io = {.fill = single_fill, .context = n};
    return itg_batch_run(n->batch, &block, &io, err);
}

static inline itg_tensor single_output(const single *n, int32_t index)
{
    return itg_batch_output(n->batch, index, 0);
}
#endif
