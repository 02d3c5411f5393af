/* A window of points that are asked and not told, as wide as the searcher says. The sequence of
 * asks and tells is fixed: after each tell, in the order of the asks, the searcher is asked until
 * the window is full, or it waits. When evaluations finish changes nothing: what may depend on the
 * best so far is taken when a point is asked. A limit ends the asking, once and for all, at a point
 * that the searcher offers; what is out is told then. So every limit yields a prefix of the
 * unlimited list of trials. */
#include "search/engine.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One point of the window. */
typedef struct slot {
    int32_t *levels, *point;
    itg_race race; /* as it was when the point was asked for */
    itg_trial best;
    itg_archive front;
    itg_work work;
    itg_finding finding;
    double seconds;
    bool duplicate; /* a duplicate of an earlier slot or trial */
    bool submitted;
    bool done; /* `finding` is set */
} slot;

typedef struct engine {
    const itg_engine_options *o;
    const itg_search_space *space;
    itg_workers workers;
    void *state;
    itg_rng rng;
    int64_t limit;
    slot *slots; /* a ring */
    int32_t capacity, first, count, submitted;
    itg_memory *memory;
    int64_t trial_capacity;
    double replayed_seconds;
    itg_trial gain; /* the last best that counts for patience; its point is not kept */
    int64_t idle;   /* trials since, but for those that can be no best */
    itg_engine_result *result;
    bool exhausted, cancelled;
} engine;

static slot *slot_at(const engine *e, int32_t index)
{
    return &e->slots[(e->first + index) % e->capacity];
}

static double now(const engine *e)
{
    const itg_search_hooks *h = e->o->hooks;
    return h && h->clock ? h->clock(h->context) : 0;
}

static bool is_cancelled(engine *e)
{
    const itg_search_hooks *h = e->o->hooks;
    e->cancelled = e->cancelled || (h && h->cancelled && h->cancelled(h->context));
    return e->cancelled;
}

static itg_status copy_text(const char *text, char **out, itg_error *err)
{
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    if (!copy) return itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    *out = memcpy(copy, text, bytes);
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

/* Whether a finding has all that may matter for the slot's point. A score that was stopped early
 * may lack it. */
static bool is_enough(const slot *s, const itg_finding *finding)
{
    return !finding->feasible || itg_race_accepts(&s->race, &finding->score);
}

/* What is remembered of the slot's point; NULL: nothing, or not enough. A distortion of all samples
 * is none of the share's, and where racing stopped just where the share ends, there is none. */
static const itg_finding *recall(const engine *e, const slot *s)
{
    const itg_finding *known = itg_memory_find(e->memory, s->point);
    const bool other =
        known && known->feasible && s->race.interest.share < 1 &&
        (known->score.stopped_at == 0 || !itg_score_knows(&known->score, ITG_METRIC_DISTORTION));
    return known && !other && is_enough(s, known) ? known : NULL;
}

static itg_status replay_trial(engine *e, slot *s, int64_t index, itg_error *err)
{
    const itg_trial *t = &e->o->replay[index];
    if (t->dim_count != e->space->dim_count || t->round != e->o->round ||
        !same_point(e, t->point, s->point))
        return itg_fail(err, ITG_MISMATCH,
                        "trial %lld of the log is another point than the one that is asked for "
                        "now: options, model, data, hardware or version differ",
                        (long long)index);
    itg_finding finding = {t->feasible, t->feasible ? t->score : itg_score_unknown(), NULL};
    if (!is_enough(s, &finding))
        return itg_fail(err, ITG_MISMATCH,
                        "trial %lld of the log was stopped after %lld sample%s, where it matters "
                        "now: options, model, data, hardware or version differ",
                        (long long)index, (long long)t->score.stopped_at,
                        itg_plural(t->score.stopped_at));
    itg_status status = take_finding(s, &finding, err);
    if (status == ITG_OK && !t->feasible)
        status = copy_text(t->error ? t->error : "", &s->finding.why, err);
    int threads = itg_thread_count(e->o->threads);
    s->seconds = t->seconds;
    e->replayed_seconds += t->seconds / (threads < e->capacity ? threads : e->capacity);
    return status;
}

/* ---- evaluating ---- */

static void submit(engine *e, slot *s)
{
    s->work =
        (itg_work){.point = s->point, .race = &s->race, .owner = s, .score = itg_score_unknown()};
    s->submitted = true;
    e->submitted++;
    e->workers.submit(e->workers.context, &s->work);
}

/* Takes the outcome from the log or the memory if it is there. A point that an earlier slot is
 * evaluating waits until that slot is told: with a higher floor its evaluation may stop too early
 * for this one. */
static itg_status begin_slot(engine *e, slot *s, itg_error *err)
{
    const itg_finding *known = recall(e, s);
    int64_t index = e->result->trial_count + e->count;
    bool is_out = false;
    for (int32_t i = 0; i < e->count && !is_out; i++)
        is_out = same_point(e, slot_at(e, i)->point, s->point);
    s->duplicate = is_out || itg_memory_find(e->memory, s->point);
    if (index < e->o->replay_count) return replay_trial(e, s, index, err);
    if (known) return take_finding(s, known, err);
    if (!is_out) submit(e, s);
    return ITG_OK;
}

static itg_status finish_work(engine *e, itg_error *err)
{
    itg_work *work = e->workers.wait(e->workers.context);
    if (!work) {
        e->submitted = 0;
        return itg_fail(err, ITG_FAILURE, "the evaluator has no trial, but has not returned all");
    }
    slot *s = work->owner;
    e->submitted--;
    s->seconds = work->seconds;
    if (work->status == ITG_CANCELLED && !e->cancelled) e->workers.drop(e->workers.context);
    e->cancelled = e->cancelled || work->status == ITG_CANCELLED;
    s->done = work->status != ITG_CANCELLED;
    s->finding.feasible = work->status == ITG_OK;
    if (s->finding.feasible) s->finding.score = work->score;
    return s->done && !s->finding.feasible ? copy_text(work->error.message, &s->finding.why, err)
                                           : ITG_OK;
}

static bool has_failed(const slot *s)
{
    itg_status status = s->submitted ? s->work.status : ITG_OK;
    return s->done && status != ITG_OK && status != ITG_INFEASIBLE && status != ITG_UNBOUNDED;
}

/* Waits until the first slot is done. If the search is cancelled before, it stays undone. */
static itg_status finish_first(engine *e, itg_error *err)
{
    slot *s = slot_at(e, 0);
    itg_status status = ITG_OK;
    if (!s->done && !s->submitted && !e->cancelled) {
        const itg_finding *known = recall(e, s);
        if (known) return take_finding(s, known, err);
        submit(e, s);
    }
    while (status == ITG_OK && !s->done && e->submitted > 0)
        status = finish_work(e, err);
    if (status == ITG_OK && has_failed(s))
        return itg_fail(err, s->work.status, "%s", s->work.error.message);
    return status;
}

/* Waits for all submitted work and drops its results. */
static void drop_work(engine *e)
{
    itg_error ignored;
    if (e->submitted > 0) e->workers.drop(e->workers.context);
    while (e->submitted > 0)
        (void)finish_work(e, &ignored);
}

/* ---- results ---- */

static itg_status reserve_trial(engine *e, itg_error *err)
{
    if (e->result->trial_count < e->trial_capacity) return ITG_OK;
    int64_t capacity = e->trial_capacity > 0 ? 2 * e->trial_capacity : 64;
    itg_trial *grown = realloc(e->result->trials, sizeof *grown * (size_t)capacity);
    if (!grown) return itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    e->result->trials = grown;
    e->trial_capacity = capacity;
    return ITG_OK;
}

/* Keeps the best trial. A later round has limits of its own; a trial that does not meet them does
 * not replace an earlier round's best. */
static void keep_best(engine *e, const itg_trial *trial)
{
    itg_trial *best = &e->result->best;
    if (best->index >= 0 && best->round < trial->round && !trial->meets_goal) return;
    if (!itg_objective_better(e->o->objective, trial, best)) return;
    *best = *trial;
    e->result->goal_met = itg_objective_meets(e->o->objective, best);
    /* compared with the last gain that counted, not with the previous best: many small gains would
     * never count */
    if (itg_objective_gains(e->o->objective, best, &e->gain, e->o->tolerance)) {
        e->gain = *best;
        e->idle = 0;
    }
}

static itg_status keep_front(engine *e, const itg_trial *trial, itg_error *err)
{
    double values[ITG_MOST_OBJECTIVES];
    if (e->result->front.objective_count < 2 || !itg_objective_suits_front(e->o->objective, trial))
        return ITG_OK;
    itg_objective_values(e->o->objective, &trial->score, values);
    return itg_archive_add(&e->result->front, values, trial, err);
}

/* Whether all samples were asked about a slot's point, so that it may be the best. */
static bool is_result(const slot *s)
{
    return !(s->race.interest.share < 1);
}

/* What the searcher is told, but for conflicts. */
static itg_outcome outcome_of(const engine *e, const slot *s, const itg_trial *trial)
{
    itg_outcome outcome = itg_objective_outcome(e->o->objective, trial);
    if (is_result(s) || !trial->feasible) return outcome;
    outcome.quality = (double)NAN;
    if (itg_score_knows(&trial->score, ITG_METRIC_DISTORTION))
        outcome.distortion = trial->score.value[ITG_METRIC_DISTORTION];
    return outcome;
}

static itg_status finish_trial(engine *e, slot *s, itg_error *err)
{
    const itg_search_hooks *h = e->o->hooks;
    itg_status status = itg_memory_keep(e->memory, s->point, &s->finding, err);
    if (status == ITG_OK) status = reserve_trial(e, err);
    if (status != ITG_OK) return status;
    int64_t at = itg_point_map_find(e->memory, s->point);
    itg_trial trial = {.index = e->result->trial_count,
                       .round = e->o->round,
                       .point = itg_point_map_point(e->memory, at),
                       .dim_count = e->space->dim_count,
                       .feasible = s->finding.feasible,
                       .duplicate = s->duplicate,
                       .score = s->finding.score,
                       .seconds = s->seconds,
                       .error = ((itg_finding *)itg_point_map_record(e->memory, at))->why};
    if (s->submitted) memcpy(trial.worker, s->work.worker, sizeof trial.worker);
    trial.meets_goal = is_result(s) && itg_objective_meets(e->o->objective, &trial);
    itg_outcome outcome = outcome_of(e, s, &trial);
    bool replayed = trial.index < e->o->replay_count;
    if (is_result(s)) {
        e->idle++;
        keep_best(e, &trial);
        status = keep_front(e, &trial, err);
    }
    if (status == ITG_OK && !replayed && h && h->trial) status = h->trial(h->context, &trial, err);
    if (status != ITG_OK) return status;
    e->result->trials[e->result->trial_count++] = trial;
    e->result->duplicates += trial.duplicate;
    e->result->raced += !trial.duplicate && trial.score.stopped_at > 0;
    if (h && h->progress)
        h->progress(h->context, &trial, e->result->best.index >= 0 ? &e->result->best : NULL,
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

/* ---- asking ---- */

/* The time limit applies to new trials alone: trials of a log are always replayed. */
static const char *reason_to_stop(engine *e)
{
    const itg_engine_options *o = e->o;
    int64_t trials = e->result->trial_count;
    if (is_cancelled(e)) return "cancelled";
    if (trials >= e->limit) return "trials";
    if (o->patience > 0 && e->idle >= o->patience) return "patience";
    if (o->seconds > 0 && o->hooks && o->hooks->clock && trials > 0 &&
        trials + e->count >= o->replay_count &&
        now(e) - o->begun + e->replayed_seconds >= o->seconds)
        return "seconds";
    return NULL;
}

static itg_status prepare_slot(engine *e, slot *s, itg_error *err)
{
    free(s->finding.why);
    itg_archive_deinit(&s->front);
    s->finding = (itg_finding){.score = itg_score_unknown()};
    s->seconds = 0;
    s->duplicate = s->submitted = s->done = false;
    s->best = e->result->best;
    s->race = (itg_race){e->o->objective, &s->best, ITG_INTEREST_ALL, NULL};
    if (e->result->front.objective_count < 2) return ITG_OK;
    s->race.front = &s->front;
    return itg_archive_copy(&e->result->front, &s->front, err);
}

static itg_status ask_next(engine *e, slot *s, itg_error *err)
{
    const itg_searcher_def *def = e->o->searcher;
    itg_status status = prepare_slot(e, s, err);
    if (status != ITG_OK) return status;
    status = def->ask(e->state, &e->rng, s->levels, &s->race.interest);
    if (e->o->no_racing) s->race.interest.floor = -INFINITY;
    if (status != ITG_OK && status != ITG_WAIT && status != ITG_END)
        return itg_fail(err, status, "searcher %s failed to ask", def->name);
    for (int32_t d = 0; d < e->space->dim_count && status == ITG_OK; d++)
        s->point[d] = e->space->dims[d].values[s->levels[d]];
    return status;
}

/* Asks until the window is full, the searcher waits or ends, or a limit is met. */
static itg_status fill_window(engine *e, itg_error *err)
{
    bool looked = e->count == 0; /* at the limits, since the last tell */
    if (looked && !e->result->stop_reason) e->result->stop_reason = reason_to_stop(e);
    while (!e->result->stop_reason && !e->exhausted && e->count < e->capacity &&
           e->result->trial_count + e->count < e->limit) {
        slot *s = slot_at(e, e->count);
        itg_status status = ask_next(e, s, err);
        if (status == ITG_WAIT) break;
        e->exhausted = status == ITG_END;
        if (status == ITG_OK && !looked) e->result->stop_reason = reason_to_stop(e);
        looked = true;
        if (status == ITG_OK && !e->result->stop_reason) {
            status = begin_slot(e, s, err);
            e->count++;
        }
        if (status != ITG_OK && status != ITG_END) return status;
    }
    return ITG_OK;
}

/* ---- the loop ---- */

static itg_status finish_search(engine *e, itg_error *err)
{
    if (!e->result->stop_reason && e->exhausted) e->result->stop_reason = "exhausted";
    if (!e->result->stop_reason)
        return itg_fail(err, ITG_FAILURE, "searcher %s waits although it has been told everything",
                        e->o->searcher->name);
    return ITG_OK;
}

static itg_status run_search(engine *e, itg_error *err)
{
    itg_status status = fill_window(e, err);
    while (status == ITG_OK && e->count > 0) {
        status = finish_first(e, err);
        if (status == ITG_OK && !slot_at(e, 0)->done) break;
        if (status == ITG_OK) status = finish_trial(e, slot_at(e, 0), err);
        if (status != ITG_OK) break;
        e->first = (e->first + 1) % e->capacity;
        e->count--;
        status = fill_window(e, err);
    }
    drop_work(e);
    if (status == ITG_OK && e->count > 0) e->result->stop_reason = "cancelled";
    return status == ITG_OK ? finish_search(e, err) : status;
}

void itg_engine_result_deinit(itg_engine_result *result)
{
    free(result->trials);
    itg_memory_deinit(&result->memory);
    itg_archive_deinit(&result->front);
    *result = (itg_engine_result)ITG_ENGINE_RESULT_INIT;
}

static itg_status allocate(engine *e, itg_error *err)
{
    size_t dims = (size_t)e->space->dim_count + 1;
    e->state = calloc(1, e->o->searcher->state_size);
    e->slots = calloc((size_t)e->capacity, sizeof *e->slots);
    bool ok = e->state && e->slots;
    for (int32_t i = 0; ok && i < e->capacity; i++) {
        e->slots[i].levels = calloc(dims, sizeof *e->slots[i].levels);
        e->slots[i].point = calloc(dims, sizeof *e->slots[i].point);
        ok = e->slots[i].levels && e->slots[i].point;
    }
    if (!ok) return itg_fail(err, ITG_NO_MEMORY, "no memory for searcher %s", e->o->searcher->name);
    if (e->o->workers) e->workers = *e->o->workers;
    if (e->o->workers) return ITG_OK;
    const itg_local_options local = {e->o->threads, e->o->score, e->o->score_context, e->o->hooks};
    return itg_local_workers(&local, &e->workers, err);
}

static void release(engine *e)
{
    if (!e->o->workers && e->workers.destroy) e->workers.destroy(e->workers.context);
    for (int32_t i = 0; e->slots && i < e->capacity; i++) {
        free(e->slots[i].levels);
        free(e->slots[i].point);
        free(e->slots[i].finding.why);
        itg_archive_deinit(&e->slots[i].front);
    }
    free(e->slots);
    free(e->state);
    free(e);
}

itg_status itg_engine_check_replay(const itg_engine_options *o, const itg_engine_result *r,
                                   itg_error *err)
{
    if (r->trial_count >= o->replay_count || strcmp(r->stop_reason, "cancelled") == 0)
        return ITG_OK;
    return itg_fail(err, ITG_MISMATCH,
                    "the log has %lld trial%s, but this search ends after %lld (%s): options, "
                    "model, data, hardware or version differ",
                    (long long)o->replay_count, itg_plural(o->replay_count),
                    (long long)r->trial_count, r->stop_reason);
}

static void begin_round(engine *e)
{
    itg_engine_result *r = e->result;
    int64_t most = e->o->trials > 0 ? e->o->trials : e->o->searcher->default_trials;
    e->limit = most > 0 ? most : INT64_MAX;
    if (!r->memory.dim_count) r->memory = itg_memory_of(e->space->dim_count);
    e->memory = e->o->memory ? e->o->memory : &r->memory;
    e->trial_capacity = r->trial_count;
    e->gain.index = -1;
    e->idle = 0;
    r->front.objective_count = e->o->objective->goal.objective_count;
    r->stop_reason = NULL;
    itg_rng_init(&e->rng, e->o->seed);
}

itg_status itg_engine_run(const itg_engine_options *options, itg_engine_result *result,
                          itg_error *err)
{
    const itg_searcher_def *def = options->searcher;
    engine *e = calloc(1, sizeof *e);
    if (!e) return itg_fail(err, ITG_NO_MEMORY, "no memory to search");
    e->o = options;
    e->space = options->objective->space;
    e->result = result;
    e->capacity = def->outstanding;
    begin_round(e);
    itg_status status = allocate(e, err);
    if (status == ITG_OK) {
        itg_searcher_options told = itg_objective_options(options->objective, e->limit);
        itg_searcher_defaults(def, told.parameters);
        told.user = options->hooks ? options->hooks->searcher : NULL;
        told.start = options->start;
        told.past = options->past;
        told.past_count = options->past_count;
        if (options->parameters)
            memcpy(told.parameters, options->parameters, sizeof told.parameters);
        status = def->init(e->state, e->space, &told, err);
        if (status == ITG_OK) status = run_search(e, err);
        if (status == ITG_OK && def->forecast && options->round == 0)
            def->forecast(e->state, &result->forecast);
        def->deinit(e->state);
    }
    if (status != ITG_OK) itg_engine_result_deinit(result);
    release(e);
    return status;
}
