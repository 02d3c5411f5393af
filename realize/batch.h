/* Fast execution of programs: blocks of samples, fast kernels and their layouts, and reuse of
 * results of earlier runs. Every output equals the simulation's (sim/simulate.h) in every bit.
 *
 * A plan is immutable and may be shared by threads. It holds the kernel of each step, layouts and
 * memory places of values, and borrowed packed weights. A batch is one thread's memory for running
 * it.
 *
 *     itg_batch_plan_create(program, &options, &plan, err);
 *     itg_batch_create(plan, &batch, err);                      a worker
 *     for (first = 0; first < samples; first += count)
 *         itg_batch_run(batch, &(itg_block){0, first, count}, &io, err);
 *         ... itg_batch_output(batch, i, k) for k < count
 */
#ifndef ITG_BATCH_H
#define ITG_BATCH_H
#include "kernels/accel.h"
#include "base/cache.h"
#include "realize/realize.h"

typedef struct itg_batch_options {
    /* NULL: the default of itg_accel_choose. */
    const itg_accel_kernels *kernels;
    /* The maximum of samples of one run, 1..ITG_MOST_BLOCK; 0: chosen from the sizes of the
     * values. */
    int64_t block;
    /* A cache of packed weights; NULL: each plan packs its own. */
    itg_cache *weights;
    /* Of a value's samples, the bytes that neighbouring steps work on at a time, at least one
     * sample; 0: what suits a processor's second cache. */
    size_t part_bytes;
} itg_batch_options;

typedef struct itg_batch_plan itg_batch_plan;
/* Program and cache must outlive the plan, and the plan its batches. */
itg_status itg_batch_plan_create(const itg_program *program, const itg_batch_options *options,
                                 itg_batch_plan **out, itg_error *err);
void itg_batch_plan_destroy(itg_batch_plan *plan);
int64_t itg_batch_plan_block(const itg_batch_plan *plan);
/* One line an operation: kernel and layouts. */
void itg_batch_plan_print(const itg_batch_plan *plan, itg_strbuf *out);

/* Samples [first, first + count) of a set that the caller identifies by the number `source`,
 * preprocessing included. Activations are shared between runs of equal blocks only. */
typedef struct itg_block {
    uint64_t source;
    int64_t first, count;
} itg_block;

typedef struct itg_batch_io {
    /* Writes a sample of input `index` to x, in the input's dtype. It is called only if the input
     * is needed. NULL: the caller has filled itg_batch_input; for blocks of one sample. */
    itg_status (*fill)(void *context, int32_t index, int64_t sample, void *x, itg_error *err);
    void *context;
    itg_cache *activations; /* NULL: no reuse */
    bool keep;              /* keep results in activations if they are worth it */
    /* [steps of the program]: each step that runs adds its seconds, those of the conversions of
     * layout before it included. NULL: not wanted. */
    double *seconds;
} itg_batch_io;

typedef struct itg_batch itg_batch;
itg_status itg_batch_create(const itg_batch_plan *plan, itg_batch **out, itg_error *err);
void itg_batch_destroy(itg_batch *batch);
/* The input buffer of a batch of one sample. Fill it before every run. */
void *itg_batch_input(itg_batch *batch, int32_t index);
itg_status itg_batch_run(itg_batch *batch, const itg_block *block, const itg_batch_io *io,
                         itg_error *err);
/* An output of sample k of the last run, in its storage dtype and logical order, valid until the
 * next run. */
itg_tensor itg_batch_output(const itg_batch *batch, int32_t index, int64_t k);

/* Totals of all runs: steps computed, values taken from activations, values added to activations.
 * Steps in front of a taken value are not run. */
typedef struct itg_batch_counts {
    int64_t computed, fetched, kept;
} itg_batch_counts;
itg_batch_counts itg_batch_statistics(const itg_batch *batch);
#endif
