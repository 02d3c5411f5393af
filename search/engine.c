/* One batch after another: the searcher is asked until it wants to be told, the batch is evaluated,
 * the searcher is told in the order of its asks. Nothing here depends on the thread count but the
 * time it takes: a batch with as many new points as threads runs one point a worker, a smaller one
 * runs its points one after another with all workers on the samples. Limits are looked at between
 * batches, so every limit yields a prefix of the unlimited list of trials. */
#include "search/engine.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OUTSTANDING 64

/* One point of the batch. */
typedef struct slot {
    int32_t *levels, *point;
    double floor; /* a quality below it is all the same to the searcher */
    itg_finding finding;
    double seconds;
    bool duplicate; /* of an earlier slot, or an earlier trial */
    bool done;      /* finding is there; false after the batch: cancelled before its turn */
} slot;

typedef struct engine {
    const itg_engine_options *o;
    const itg_search_space *space;
    void *state;
    itg_rng rng;
    int64_t limit;
    int32_t batch_size, fresh_count;
    int32_t fresh[MAX_OUTSTANDING]; /* slots to evaluate */
    slot batch[MAX_OUTSTANDING];
    int point_threads;
    itg_memory *memory;
    int64_t trial_capacity;
    double replayed_seconds;
    itg_trial gain; /* the last best that counts for patience; its point is not kept */
    int64_t gained; /* trials there were then */
    itg_engine_result result;
    bool exhausted;
    atomic_bool cancelled;
} engine;

static double now(const engine *e)
{
    const itg_search_hooks *h = e->o->hooks;
    return h && h->clock ? h->clock(h->context) : 0;
}

static bool is_cancelled(engine *e)
{
    const itg_search_hooks *h = e->o->hooks;
    if (atomic_load(&e->cancelled)) return true;
    if (h && h->cancelled && h->cancelled(h->context)) atomic_store(&e->cancelled, true);
    return atomic_load(&e->cancelled);
}

static itg_status copy_text(const char *text, char **out, itg_error *err)
{
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    if (!copy) return itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    *out = memcpy(copy, text, bytes);
    return ITG_OK;
}

/* ---- asking ---- */

static void clear_slot(slot *s)
{
    free(s->finding.why);
    s->finding = (itg_finding){.score = itg_score_unknown()};
    s->floor = -INFINITY;
    s->seconds = 0;
    s->duplicate = false;
    s->done = false;
}

/* Asks until the searcher waits or ends. */
static itg_status fill_batch(engine *e, itg_error *err)
{
    const itg_searcher_def *def = e->o->searcher;
    int32_t most = def->outstanding < MAX_OUTSTANDING ? def->outstanding : MAX_OUTSTANDING;
    e->batch_size = 0;
    while (e->batch_size < most && e->result.trial_count + e->batch_size < e->limit) {
        slot *s = &e->batch[e->batch_size];
        clear_slot(s);
        itg_status status = def->ask(e->state, &e->rng, s->levels, &s->floor);
        if (status == ITG_WAIT) break;
        if (status == ITG_END) {
            e->exhausted = true;
            break;
        }
        if (status != ITG_OK) return itg_fail(err, status, "searcher %s failed to ask", def->name);
        for (int32_t d = 0; d < e->space->dim_count; d++)
            s->point[d] = e->space->dims[d].values[s->levels[d]];
        e->batch_size++;
    }
    return ITG_OK;
}

/* ---- what needs no evaluation ---- */

static bool same_point(const engine *e, const int32_t *a, const int32_t *b)
{
    return memcmp(a, b, sizeof *a * (size_t)e->space->dim_count) == 0;
}

static itg_status take_finding(slot *s, const itg_finding *from, itg_error *err)
{
    itg_finding copy = *from;
    itg_status status = from->why ? copy_text(from->why, &copy.why, err) : ITG_OK;
    if (status != ITG_OK) return status;
    s->finding = copy;
    s->done = true;
    return ITG_OK;
}

/* The best does not change while a batch is evaluated, so nothing depends on its order. */
static itg_race race_of(const engine *e, const slot *s)
{
    return (itg_race){e->o->objective, &e->result.best, s->floor,
                      e->result.front.objective_count > 1 ? &e->result.front : NULL};
}

/* Whether it says all that may matter of the slot's point; a score that was stopped early may not.
 */
static bool is_enough(const engine *e, const slot *s, const itg_finding *finding)
{
    itg_race race = race_of(e, s);
    return !finding->feasible || itg_race_accepts(&race, &finding->score);
}

static itg_status replay_trial(engine *e, slot *s, int64_t index, itg_error *err)
{
    const itg_trial *t = &e->o->replay[index];
    if (t->dim_count != e->space->dim_count || !same_point(e, t->point, s->point))
        return itg_fail(err, ITG_MISMATCH,
                        "trial %lld of the log is another point than the one that is asked for "
                        "now: options, model, data, hardware or version differ",
                        (long long)index);
    itg_finding finding = {t->feasible, t->feasible ? t->score : itg_score_unknown(), NULL};
    if (!is_enough(e, s, &finding))
        return itg_fail(err, ITG_MISMATCH,
                        "trial %lld of the log was stopped after %lld sample%s, where it matters "
                        "now: options, model, data, hardware or version differ",
                        (long long)index, (long long)t->score.stopped_at,
                        itg_plural(t->score.stopped_at));
    itg_status status = take_finding(s, &finding, err);
    if (status == ITG_OK && !t->feasible)
        status = copy_text(t->error ? t->error : "", &s->finding.why, err);
    s->seconds = t->seconds;
    return status;
}

/* The last slot before `before` with the point of slot i; -1: none. */
static int32_t earlier_slot(const engine *e, int32_t i, int32_t before)
{
    int32_t k = before - 1;
    while (k >= 0 && !same_point(e, e->batch[k].point, e->batch[i].point))
        k--;
    return k;
}

/* Takes what the log or the memory knows. */
static itg_status sort_batch(engine *e, itg_error *err)
{
    itg_status status = ITG_OK;
    double replayed = 0;
    for (int32_t i = 0; i < e->batch_size && status == ITG_OK; i++) {
        slot *s = &e->batch[i];
        const itg_finding *known = itg_memory_find(e->memory, s->point);
        int64_t index = e->result.trial_count + i;
        s->duplicate = known || earlier_slot(e, i, i) >= 0;
        if (index < e->o->replay_count) {
            status = replay_trial(e, s, index, err);
            replayed += s->seconds;
        } else if (known && is_enough(e, s, known)) {
            status = take_finding(s, known, err);
        }
    }
    int threads = itg_thread_count(e->o->threads);
    e->replayed_seconds += e->batch_size >= threads ? replayed / threads : replayed;
    return status;
}

/* ---- evaluating ---- */

static itg_status evaluate_point(void *context, int worker, int64_t item, itg_error *err)
{
    engine *e = context;
    slot *s = &e->batch[e->fresh[item]];
    itg_race race = race_of(e, s);
    itg_error why = {0};
    (void)worker;
    if (is_cancelled(e)) return ITG_OK;
    double start = now(e);
    itg_status status = e->o->score(e->o->score_context, s->point, e->o->no_racing ? NULL : &race,
                                    e->point_threads, &s->finding.score, &why);
    s->seconds = now(e) - start;
    if (status == ITG_CANCELLED) { /* as if it had not begun */
        s->finding.score = itg_score_unknown();
        atomic_store(&e->cancelled, true);
        return ITG_OK;
    }
    s->finding.feasible = status == ITG_OK;
    s->done = true;
    if (status == ITG_OK) return ITG_OK;
    if (status != ITG_INFEASIBLE && status != ITG_UNBOUNDED)
        return itg_fail(err, status, "%s", why.message);
    s->finding.score = itg_score_unknown();
    return copy_text(why.message, &s->finding.why, err);
}

/* Slots that nothing earlier stands for. One whose point an earlier slot still has to evaluate
 * waits for it: with a higher floor, that one may have been stopped too early for this one. So no
 * slot depends on a later one, and a limit yields a prefix. */
static itg_status find_fresh(engine *e, itg_error *err)
{
    itg_status status = ITG_OK;
    e->fresh_count = 0;
    for (int32_t i = 0; i < e->batch_size && status == ITG_OK; i++) {
        slot *s = &e->batch[i];
        if (s->done) continue;
        int32_t k = earlier_slot(e, i, i);
        while (k >= 0 && e->batch[k].done && !is_enough(e, s, &e->batch[k].finding))
            k = earlier_slot(e, i, k);
        if (k < 0)
            e->fresh[e->fresh_count++] = i;
        else if (e->batch[k].done)
            status = take_finding(s, &e->batch[k].finding, err);
    }
    return status;
}

static itg_status evaluate_batch(engine *e, itg_error *err)
{
    int threads = itg_thread_count(e->o->threads);
    itg_status status = find_fresh(e, err);
    while (status == ITG_OK && e->fresh_count > 0 && !atomic_load(&e->cancelled)) {
        bool together = e->fresh_count >= threads;
        e->point_threads = together ? 1 : threads;
        status = itg_parallel_for(together ? threads : 1, e->fresh_count, evaluate_point, e, err);
        if (status == ITG_OK) status = find_fresh(e, err);
    }
    return status;
}

/* ---- results ---- */

static itg_status reserve_trial(engine *e, itg_error *err)
{
    if (e->result.trial_count < e->trial_capacity) return ITG_OK;
    int64_t capacity = e->trial_capacity > 0 ? 2 * e->trial_capacity : 64;
    itg_trial *grown = realloc(e->result.trials, sizeof *grown * (size_t)capacity);
    if (!grown) return itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    e->result.trials = grown;
    e->trial_capacity = capacity;
    return ITG_OK;
}

static void keep_best(engine *e, const itg_trial *trial)
{
    itg_trial *best = &e->result.best;
    if (!itg_objective_better(e->o->objective, trial, best)) return;
    *best = *trial;
    e->result.goal_met = itg_objective_meets(e->o->objective, best);
    /* Not compared with the best before it: many small gains would never count. */
    if (itg_objective_gains(e->o->objective, best, &e->gain, e->o->tolerance)) {
        e->gain = *best;
        e->gained = trial->index + 1;
    }
}

static itg_status keep_front(engine *e, const itg_trial *trial, itg_error *err)
{
    double values[ITG_MOST_OBJECTIVES];
    if (e->result.front.objective_count < 2 || !trial->meets_goal || trial->score.stopped_at > 0)
        return ITG_OK;
    itg_objective_values(e->o->objective, &trial->score, values);
    return itg_archive_add(&e->result.front, values, trial, err);
}

static itg_status finish_trial(engine *e, slot *s, itg_error *err)
{
    const itg_search_hooks *h = e->o->hooks;
    itg_status status = itg_memory_keep(e->memory, s->point, &s->finding, err);
    if (status == ITG_OK) status = reserve_trial(e, err);
    if (status != ITG_OK) return status;
    itg_trial trial = {.index = e->result.trial_count,
                       .point = itg_memory_point(e->memory, s->point),
                       .dim_count = e->space->dim_count,
                       .feasible = s->finding.feasible,
                       .duplicate = s->duplicate,
                       .score = s->finding.score,
                       .seconds = s->seconds,
                       .error = itg_memory_find(e->memory, s->point)->why};
    trial.meets_goal = itg_objective_meets(e->o->objective, &trial);
    itg_outcome outcome = itg_objective_outcome(e->o->objective, &trial);
    bool replayed = trial.index < e->o->replay_count;
    keep_best(e, &trial);
    status = keep_front(e, &trial, err);
    if (status == ITG_OK && !replayed && h && h->trial) status = h->trial(h->context, &trial, err);
    if (status != ITG_OK) return status;
    e->result.trials[e->result.trial_count++] = trial;
    e->result.duplicates += trial.duplicate;
    e->result.raced += !trial.duplicate && trial.score.stopped_at > 0;
    if (h && h->progress)
        h->progress(h->context, &trial, e->result.best.index >= 0 ? &e->result.best : NULL,
                    e->limit);
    itg_conflict *conflicts = NULL;
    if (!trial.feasible && e->o->searcher->wants_conflicts && e->o->conflicts)
        status = e->o->conflicts(e->o->score_context, s->point, &conflicts, &outcome.conflict_count,
                                 err);
    if (status != ITG_OK) return status;
    outcome.conflicts = conflicts;
    status = e->o->searcher->tell(e->state, s->levels, &outcome);
    free(conflicts);
    return status == ITG_OK ? ITG_OK
                            : itg_fail(err, status, "searcher %s failed to take in trial %lld",
                                       e->o->searcher->name, (long long)trial.index);
}

/* ---- the loop ---- */

/* Time counts only behind the log: what was searched once stays searched. */
static const char *reason_to_stop(engine *e)
{
    const itg_engine_options *o = e->o;
    int64_t trials = e->result.trial_count;
    if (is_cancelled(e)) return "cancelled";
    if (trials >= e->limit) return "trials";
    if (o->patience > 0 && trials - e->gained >= o->patience) return "patience";
    if (o->seconds > 0 && o->hooks && o->hooks->clock && trials > 0 && trials >= o->replay_count &&
        now(e) - o->begun + e->replayed_seconds >= o->seconds)
        return "seconds";
    return NULL;
}

static itg_status run_batch(engine *e, itg_error *err)
{
    itg_status status = fill_batch(e, err);
    if (status == ITG_OK && e->batch_size == 0 && !e->exhausted)
        return itg_fail(err, ITG_FAILURE, "searcher %s waits although it has been told everything",
                        e->o->searcher->name);
    if (status == ITG_OK) status = sort_batch(e, err);
    if (status == ITG_OK) status = evaluate_batch(e, err);
    for (int32_t i = 0; i < e->batch_size && status == ITG_OK && e->batch[i].done; i++)
        status = finish_trial(e, &e->batch[i], err);
    return status;
}

static itg_status run_batches(engine *e, itg_error *err)
{
    itg_status status = ITG_OK;
    while (status == ITG_OK && !(e->result.stop_reason = reason_to_stop(e))) {
        status = run_batch(e, err);
        if (e->batch_size > 0) continue;
        e->result.stop_reason = "exhausted";
        break;
    }
    if (status == ITG_OK && e->result.trial_count < e->o->replay_count && !is_cancelled(e))
        return itg_fail(err, ITG_MISMATCH,
                        "the log has %lld trial%s, but this search ends after %lld (%s): options, "
                        "model, data, hardware or version differ",
                        (long long)e->o->replay_count, itg_plural(e->o->replay_count),
                        (long long)e->result.trial_count, e->result.stop_reason);
    return status;
}

void itg_engine_result_deinit(itg_engine_result *result)
{
    free(result->trials);
    itg_memory_destroy(result->memory);
    itg_archive_deinit(&result->front);
    *result = (itg_engine_result){.best.index = -1};
}

static itg_status allocate(engine *e, itg_error *err)
{
    size_t dims = (size_t)e->space->dim_count + 1;
    e->state = calloc(1, e->o->searcher->state_size);
    bool ok = e->state != NULL;
    for (int i = 0; ok && i < MAX_OUTSTANDING; i++) {
        e->batch[i].levels = calloc(dims, sizeof *e->batch[i].levels);
        e->batch[i].point = calloc(dims, sizeof *e->batch[i].point);
        ok = e->batch[i].levels && e->batch[i].point;
    }
    if (!ok) return itg_fail(err, ITG_NO_MEMORY, "no memory for searcher %s", e->o->searcher->name);
    if (e->memory) return ITG_OK;
    itg_status status = itg_memory_create(e->space->dim_count, &e->result.memory, err);
    e->memory = e->result.memory;
    return status;
}

static void release(engine *e)
{
    for (int i = 0; i < MAX_OUTSTANDING; i++) {
        free(e->batch[i].levels);
        free(e->batch[i].point);
        free(e->batch[i].finding.why);
    }
    free(e->state);
    free(e);
}

itg_status itg_engine_run(const itg_engine_options *options, itg_engine_result *out, itg_error *err)
{
    const itg_searcher_def *def = options->searcher;
    engine *e = calloc(1, sizeof *e);
    if (!e) return itg_fail(err, ITG_NO_MEMORY, "no memory to search");
    e->o = options;
    e->space = options->objective->space;
    e->memory = options->memory;
    e->limit = options->trials > 0       ? options->trials
               : def->default_trials > 0 ? def->default_trials
                                         : INT64_MAX;
    e->result.best.index = e->gain.index = -1;
    e->result.front.objective_count = options->objective->goal.objective_count;
    itg_rng_init(&e->rng, options->seed);
    itg_status status = allocate(e, err);
    if (status == ITG_OK) {
        itg_searcher_options told = itg_objective_options(options->objective, e->limit);
        itg_searcher_defaults(def, told.parameters);
        if (options->parameters)
            memcpy(told.parameters, options->parameters, sizeof told.parameters);
        status = def->init(e->state, e->space, &told, err);
        if (status == ITG_OK) status = run_batches(e, err);
        def->deinit(e->state);
    }
    if (status == ITG_OK)
        *out = e->result;
    else
        itg_engine_result_deinit(&e->result);
    release(e);
    return status;
}
