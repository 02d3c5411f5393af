/* Items are handed out in ascending order. After a failure only items above the lowest failed index
 * are skipped, so every item below the reported one has run. The result does not depend on the
 * schedule. */
#include "base/base.h"
#include <stdlib.h>
#include <stdatomic.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum {
    MOST_THREADS = 256,
    A_THREAD = 50000 /* operations, several times what waking it takes */
};

static int machine_threads(void)
{
#ifdef _OPENMP
    return omp_get_num_procs();
#else
    return 1;
#endif
}

int itg_thread_count(int wanted)
{
    int count = wanted > 0 ? wanted : machine_threads();
    return count < 1 ? 1 : count > MOST_THREADS ? MOST_THREADS : count;
}

/* Runs one item. On failure error is complete, even if fn did not fill it. */
static itg_status call(itg_parallel_fn fn, void *context, int worker, int64_t item,
                       itg_error *error)
{
    error->code = ITG_OK;
    error->message[0] = '\0';
    itg_status status = fn(context, worker, item, error);
    if (status != ITG_OK && error->code == ITG_OK) error->code = status;
    return status;
}

static itg_status run_serially(int64_t items, itg_parallel_fn fn, void *context, itg_error *err)
{
    for (int64_t item = 0; item < items; item++) {
        itg_error error;
        itg_status status = call(fn, context, 0, item, &error);
        if (status == ITG_OK) continue;
        if (err) *err = error;
        return status;
    }
    return ITG_OK;
}

#ifdef _OPENMP
typedef struct loop {
    itg_parallel_fn fn;
    void *context;
    _Atomic int64_t first_failed; /* lowers only; INT64_MAX: none */
    itg_status status;            /* status and error belong to first_failed */
    itg_error error;
} loop;

static void run_item(loop *shared, int worker, int64_t item)
{
    if (item > atomic_load(&shared->first_failed)) return;
    itg_error error;
    itg_status status = call(shared->fn, shared->context, worker, item, &error);
    if (status == ITG_OK) return;
#pragma omp critical(itg_parallel_failure)
    if (item < atomic_load(&shared->first_failed)) {
        atomic_store(&shared->first_failed, item);
        shared->status = status;
        shared->error = error;
    }
}

static itg_status run_shared(int threads, int64_t items, itg_parallel_fn fn, void *context,
                             itg_error *err)
{
    loop shared = {.fn = fn, .context = context, .status = ITG_OK};
    atomic_init(&shared.first_failed, INT64_MAX);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t item = 0; item < items; item++)
        run_item(&shared, omp_get_thread_num(), item);
    if (shared.status != ITG_OK && err) *err = shared.error;
    return shared.status;
}
#endif

itg_status itg_parallel_for(int threads, int64_t items, itg_parallel_fn fn, void *context,
                            itg_error *err)
{
    if (threads > items) threads = (int)items;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
#ifdef _OPENMP
    if (threads > 1) return run_shared(threads, items, fn, context, err);
#endif
    return run_serially(items, fn, context, err);
}

int itg_parallel_threads(int threads, double operations)
{
    const double worth = operations / A_THREAD;
    return worth >= threads ? threads : worth < 1 ? 1 : (int)worth;
}

int itg_parallel_lend(int threads)
{
#ifdef _OPENMP
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    return before;
#else
    return threads;
#endif
}
