/* One batch after another: the searcher is asked until it wants to be told, the batch is evaluated,
 * the searcher is told in the order of its asks. Nothing here depends on the thread count but the
 * time it takes: a batch with as many points as threads runs one point a worker, a smaller one runs
 * its points one after another with all workers on the samples. */
#include "search/engine.h"
#include <stdlib.h>
#include <string.h>

#define MAX_OUTSTANDING 64

typedef struct slot {
    int32_t *levels, *bits;
    itg_score score;
    double seconds;
    bool feasible, known; /* known: evaluated in an earlier batch, or twice in this one */
    itg_error why;        /* not feasible */
} slot;

/* Points evaluated so far, for searchers that come back to one. Open addressing on a hash of the
 * levels. */
typedef struct memory {
    int32_t dims;
    size_t count, capacity; /* capacity: a power of two */
    slot *slots;            /* levels NULL: empty */
} memory;

typedef struct engine {
    const itg_engine_options *o;
    void *state;
    itg_rng rng;
    int32_t batch_size;
    slot batch[MAX_OUTSTANDING];
    int point_threads;
    memory seen;
    itg_engine_result result;
    bool ended;
} engine;

/* ---- memory ---- */

static size_t hash_levels(const int32_t *levels, int32_t count)
{
    uint64_t h = 1469598103934665603u;
    for (int32_t i = 0; i < count; i++)
        h = (h ^ (uint64_t)(uint32_t)levels[i]) * 1099511628211u;
    return (size_t)(h ^ (h >> 32));
}

static slot *find_slot(const memory *m, const int32_t *levels)
{
    if (m->capacity == 0) return NULL;
    for (size_t i = hash_levels(levels, m->dims);; i++) {
        slot *s = &m->slots[i & (m->capacity - 1)];
        if (!s->levels || memcmp(s->levels, levels, sizeof *levels * (size_t)m->dims) == 0)
            return s;
    }
}

static itg_status grow(memory *m, itg_error *err)
{
    memory bigger = {
        .dims = m->dims, .count = m->count, .capacity = m->capacity ? m->capacity * 2 : 256};
    if (m->count * 2 < m->capacity) return ITG_OK;
    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots) return itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    for (size_t i = 0; i < m->capacity; i++)
        if (m->slots[i].levels) *find_slot(&bigger, m->slots[i].levels) = m->slots[i];
    free(m->slots);
    *m = bigger;
    return ITG_OK;
}

static itg_status remember(memory *m, const slot *from, itg_error *err)
{
    itg_status status = grow(m, err);
    if (status != ITG_OK) return status;
    slot *s = find_slot(m, from->levels);
    if (s->levels) return ITG_OK;
    int32_t *levels = malloc(sizeof *levels * (size_t)(m->dims + 1));
    if (!levels) return itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    memcpy(levels, from->levels, sizeof *levels * (size_t)m->dims);
    *s = *from;
    s->levels = levels;
    s->bits = NULL;
    m->count++;
    return ITG_OK;
}

static void forget(memory *m)
{
    for (size_t i = 0; i < m->capacity; i++)
        free(m->slots[i].levels);
    free(m->slots);
}

/* ---- one batch ---- */

static double now(const engine *e)
{
    const itg_search_hooks *h = e->o->hooks;
    return h && h->clock ? h->clock(h->context) : 0;
}

static void recall(engine *e, slot *s)
{
    const slot *before = find_slot(&e->seen, s->levels);
    s->known = before && before->levels;
    if (!s->known) return;
    s->score = before->score;
    s->feasible = before->feasible;
    s->why = before->why;
    s->seconds = 0;
}

/* Asks until the searcher waits or ends; false: nothing was asked. */
static itg_status fill_batch(engine *e, int64_t limit, itg_error *err)
{
    const itg_searcher_def *def = e->o->searcher;
    int32_t most = def->outstanding < MAX_OUTSTANDING ? def->outstanding : MAX_OUTSTANDING;
    e->batch_size = 0;
    while (e->batch_size < most && e->result.trial_count + e->batch_size < limit) {
        slot *s = &e->batch[e->batch_size];
        itg_status status = def->ask(e->state, &e->rng, s->levels);
        if (status == ITG_WAIT) break;
        if (status == ITG_END) {
            e->ended = true;
            break;
        }
        if (status != ITG_OK) return itg_fail(err, status, "searcher %s failed to ask", def->name);
        for (int32_t d = 0; d < e->o->space->dim_count; d++)
            s->bits[d] = e->o->space->dims[d].bits[s->levels[d]];
        e->batch_size++;
    }
    return ITG_OK;
}

static itg_status evaluate_point(void *context, int worker, int64_t item, itg_error *err)
{
    engine *e = context;
    slot *s = &e->batch[item];
    itg_error why = {0};
    (void)worker;
    recall(e, s);
    if (s->known) return ITG_OK;
    double start = now(e);
    itg_status status =
        e->o->score(e->o->score_context, s->bits, e->point_threads, &s->score, &why);
    s->seconds = now(e) - start;
    s->feasible = status == ITG_OK;
    s->why = why;
    if (status == ITG_OK || status == ITG_INFEASIBLE || status == ITG_UNBOUNDED) return ITG_OK;
    return itg_fail(err, status, "%s", why.message);
}

static itg_status evaluate_batch(engine *e, itg_error *err)
{
    int threads = itg_thread_count(e->o->threads);
    bool together = e->batch_size >= threads;
    e->point_threads = together ? 1 : threads;
    return itg_parallel_for(together ? threads : 1, e->batch_size, evaluate_point, e, err);
}

/* ---- results ---- */

static itg_status keep_best(engine *e, const itg_trial *trial, itg_error *err)
{
    itg_trial *best = &e->result.best;
    if (!itg_trial_is_better(trial, best, e->o->quality_floor)) return ITG_OK;
    int32_t *bits = malloc(sizeof *bits * (size_t)(trial->group_count + 1));
    if (!bits) return itg_fail(err, ITG_NO_MEMORY, "no memory for the best trial");
    memcpy(bits, trial->bits, sizeof *bits * (size_t)trial->group_count);
    free((void *)(uintptr_t)best->bits);
    *best = *trial;
    best->bits = bits;
    best->error = NULL;
    return ITG_OK;
}

static itg_status finish_trial(engine *e, slot *s, int64_t limit, itg_error *err)
{
    const itg_search_hooks *h = e->o->hooks;
    itg_trial trial = {.index = e->result.trial_count,
                       .bits = s->bits,
                       .group_count = e->o->space->dim_count,
                       .feasible = s->feasible,
                       .score = s->score,
                       .seconds = s->seconds,
                       .error = s->feasible ? NULL : s->why.message};
    itg_outcome outcome = {s->feasible, s->feasible ? itg_trial_quality(&trial) : 0,
                           (double)s->score.weight_bytes};
    itg_status status = remember(&e->seen, s, err);
    if (status == ITG_OK) status = keep_best(e, &trial, err);
    if (status == ITG_OK && h && h->trial) status = h->trial(h->context, &trial, err);
    if (status != ITG_OK) return status;
    e->result.trial_count++;
    if (h && h->progress)
        h->progress(h->context, &trial, e->result.best.index >= 0 ? &e->result.best : NULL, limit);
    return e->o->searcher->tell(e->state, s->levels, &outcome);
}

static itg_status run_batches(engine *e, int64_t limit, itg_error *err)
{
    const itg_search_hooks *h = e->o->hooks;
    itg_status status = ITG_OK;
    while (status == ITG_OK) {
        e->result.stop_reason = h && h->cancelled && h->cancelled(h->context) ? "cancelled"
                                : e->result.trial_count >= limit              ? "trials"
                                                                              : NULL;
        if (e->result.stop_reason) break;
        status = fill_batch(e, limit, err);
        if (status == ITG_OK && e->batch_size == 0) {
            if (!e->ended)
                return itg_fail(err, ITG_FAILURE,
                                "searcher %s waits although it has been told everything",
                                e->o->searcher->name);
            e->result.stop_reason = "exhausted";
            break;
        }
        if (status == ITG_OK) status = evaluate_batch(e, err);
        for (int32_t i = 0; i < e->batch_size && status == ITG_OK; i++)
            status = finish_trial(e, &e->batch[i], limit, err);
    }
    return status;
}

void itg_engine_result_deinit(itg_engine_result *result)
{
    free((void *)(uintptr_t)result->best.bits);
    *result = (itg_engine_result){.best = {.index = -1}};
}

static itg_status allocate_batch(engine *e, itg_error *err)
{
    size_t bytes = sizeof(int32_t) * (size_t)(e->o->space->dim_count + 1);
    for (int i = 0; i < MAX_OUTSTANDING; i++) {
        e->batch[i].levels = malloc(bytes);
        e->batch[i].bits = malloc(bytes);
        if (!e->batch[i].levels || !e->batch[i].bits)
            return itg_fail(err, ITG_NO_MEMORY, "no memory for a batch of points");
    }
    return ITG_OK;
}

itg_status itg_engine_run(const itg_engine_options *options, itg_engine_result *out, itg_error *err)
{
    const itg_searcher_def *def = options->searcher;
    engine *e = calloc(1, sizeof *e);
    if (!e) return itg_fail(err, ITG_NO_MEMORY, "no memory to search");
    int64_t limit = options->trials > 0       ? options->trials
                    : def->default_trials > 0 ? def->default_trials
                                              : INT64_MAX;
    itg_searcher_options searcher = {.quality_floor = options->quality_floor, .trials = limit};
    e->o = options;
    e->seen.dims = options->space->dim_count;
    e->result.best.index = -1;
    itg_rng_init(&e->rng, options->seed);
    e->state = calloc(1, def->state_size);
    itg_status status = e->state
                            ? allocate_batch(e, err)
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for searcher %s", def->name);
    if (status == ITG_OK) status = def->init(e->state, options->space, &searcher, err);
    if (status == ITG_OK) status = run_batches(e, limit, err);
    if (e->state) def->deinit(e->state);
    free(e->state);
    for (int i = 0; i < MAX_OUTSTANDING; i++) {
        free(e->batch[i].levels);
        free(e->batch[i].bits);
    }
    forget(&e->seen);
    if (status == ITG_OK)
        *out = e->result;
    else
        itg_engine_result_deinit(&e->result);
    free(e);
    return status;
}
