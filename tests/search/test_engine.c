/* The engine on toy spaces: order, duplicates, threads, limits, replay, cancellation. */
#include "cli/passive.h"
#include "wanted.h"
#include "search/engine.h"
#include <math.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define DIMS 4
#define MOST 512
static const int32_t widths[] = {2, 3, 4, 5, 6, 7, 8};
static const double sizes[DIMS] = {10, 400, 60, 200};

/* quality = 1 - sum over dims of penalty[d] * (8 - bits)^2; bytes = sum of size * bits. */
typedef struct toy {
    double penalty[DIMS];
    int32_t infeasible_below; /* bits of dimension 1 */
    bool races, fine;         /* fine: distortion is known */
    _Atomic int calls;
} toy;

/* What does not matter: any quality between the true one and the floor may be told. */
static void stop_early(double floor, itg_score *score)
{
    if (score->value[ITG_METRIC_TOP1] >= floor) return;
    double bound =
        floor < 2 ? score->value[ITG_METRIC_TOP1] + 0.75 * (floor - score->value[ITG_METRIC_TOP1])
                  : 1;
    if (bound < floor) score->value[ITG_METRIC_TOP1] = bound;
    score->stopped_at = 1;
    score->samples = 2;
    score->value[ITG_METRIC_DISTORTION] = (double)NAN;
}

static itg_status score_toy(void *context, const int32_t *point, const itg_race *race, int threads,
                            itg_score *out, itg_error *err)
{
    toy *t = context;
    double quality = 1, bytes = 0;
    (void)threads;
    atomic_fetch_add(&t->calls, 1);
    if (point[1] < t->infeasible_below)
        return itg_fail(err, ITG_INFEASIBLE, "dimension 1 is too narrow");
    for (int d = 0; d < DIMS; d++) {
        quality -= t->penalty[d] * (8 - point[d]) * (8 - point[d]);
        bytes += sizes[d] * point[d];
    }
    *out = itg_score_unknown();
    out->samples = 2;
    out->value[ITG_METRIC_TOP1] = quality;
    out->value[ITG_METRIC_WEIGHT_BYTES] = (double)(int64_t)bytes;
    if (t->fine) out->value[ITG_METRIC_DISTORTION] = 1 - quality;
    if (t->races && race) stop_early(itg_race_floor(race, out), out);
    return ITG_OK;
}

/* What a run left behind, trial by trial. */
typedef struct record {
    int64_t first, count; /* first: of the trials handed to the hook */
    int32_t points[MOST][DIMS];
    itg_trial trials[MOST];
    int64_t bests[MOST]; /* index of the best after each trial, -1: none */
    char errors[MOST][64];
    _Atomic int64_t looks; /* the clock: `step` later at each look */
    double step;
    int64_t cancel_after;
} record;

static itg_status record_trial(void *context, const itg_trial *trial, itg_error *err)
{
    record *r = context;
    (void)err;
    assert_true(r->count < MOST);
    assert_int_equal(trial->index, r->first + r->count);
    itg_trial *kept = &r->trials[r->count];
    memcpy(r->points[r->count], trial->point, sizeof r->points[0]);
    *kept = *trial;
    kept->point = r->points[r->count];
    if (trial->error) {
        snprintf(r->errors[r->count], sizeof r->errors[0], "%s", trial->error);
        kept->error = r->errors[r->count];
    }
    r->count++;
    return ITG_OK;
}

static void record_progress(void *context, const itg_trial *trial, const itg_trial *best,
                            int64_t planned)
{
    record *r = context;
    (void)planned;
    r->bests[trial->index] = best ? best->index : -1;
}

static double tick(void *context)
{
    record *r = context;
    return r->step * (double)(atomic_fetch_add(&r->looks, 1) + 1);
}

static bool is_cancelled(void *context)
{
    const record *r = context;
    return r->cancel_after > 0 && r->first + r->count >= r->cancel_after;
}

typedef struct setup {
    const char *searcher;
    const itg_searcher_def *def; /* instead of searcher, where it is not NULL */
    const itg_workers *workers;
    double floor;
    int64_t trials, patience;
    double seconds, tolerance;
    uint64_t seed;
    int threads;
    bool no_racing;
    const record *replay;
    int64_t replay_count;
    aim goal; /* limits, maximize_quality */
} setup;

static itg_dim dims[DIMS];
static itg_search_space space = {DIMS, dims};
static const itg_score floats = {
    .value = {[ITG_METRIC_TOP1] = 1, [ITG_METRIC_EXPECTED_TOP1] = 1, [ITG_METRIC_TOP1_BOUND] = 1}};

static itg_status try_run(setup s, toy *t, record *r, itg_engine_result *out, itg_error *err)
{
    itg_search_hooks hooks = {
        ITG_SEARCH_HOOKS_VERSION,    .context = r,          .clock = tick,
        .progress = record_progress, .trial = record_trial, .cancelled = is_cancelled};
    itg_objective objective;
    for (int d = 0; d < DIMS; d++)
        dims[d] = (itg_dim){7, widths, true, sizes[d], 0};
    s.goal.max_drop = 1 - s.floor;
    const itg_goal goal = goal_of(s.goal);
    assert_int_equal(itg_objective_make(&goal, &floats, &space, &objective, NULL), ITG_OK);
    itg_engine_options options = {.searcher = s.def ? s.def : itg_searcher_find(s.searcher),
                                  .workers = s.workers,
                                  .objective = &objective,
                                  .trials = s.trials,
                                  .patience = s.patience,
                                  .tolerance = s.tolerance,
                                  .seconds = s.seconds,
                                  .seed = s.seed,
                                  .threads = s.threads ? s.threads : 1,
                                  .score = score_toy,
                                  .score_context = t,
                                  .hooks = &hooks,
                                  .no_racing = s.no_racing,
                                  .replay = s.replay ? s.replay->trials : NULL,
                                  .replay_count = s.replay_count};
    r->first = s.replay_count;
    itg_status status = itg_engine_run(&options, out, err);
    if (status == ITG_OK) status = itg_engine_check_replay(&options, out, err);
    if (status != ITG_OK) itg_engine_result_deinit(out);
    return status;
}

static itg_engine_result run(setup s, toy *t, record *r)
{
    itg_engine_result result = ITG_ENGINE_RESULT_INIT;
    itg_error err = {0};
    double step = r->step;
    int64_t cancel_after = r->cancel_after;
    memset(r, 0, sizeof *r);
    r->step = step;
    r->cancel_after = cancel_after;
    if (try_run(s, t, r, &result, &err) != ITG_OK) fail_msg("%s: %s", s.searcher, err.message);
    assert_int_equal(result.trial_count, r->first + r->count);
    return result;
}

/* All but what the clock says. */
static void check_same_trial(const itg_trial *a, const itg_trial *b)
{
    assert_int_equal(a->index, b->index);
    assert_memory_equal(a->point, b->point, sizeof *a->point * DIMS);
    assert_int_equal(a->feasible, b->feasible);
    assert_memory_equal(&a->score, &b->score, sizeof a->score);
    if (!a->feasible) assert_string_equal(a->error, b->error);
}

static const toy plain = {.penalty = {0.002, 0.003, 0.001, 0.004}, .infeasible_below = 4};

/* ---- results ---- */

static void hago_greedy_finds_the_optimum_of_a_separable_space(void **state)
{
    (void)state;
    /* Only dimension 1 may fall, to 5 bits: 0.01 * 9 <= 0.1 < 0.01 * 16. */
    toy t = {.penalty = {1, 0.01, 1, 1}};
    static record r;
    itg_engine_result result =
        run((setup){.searcher = "hago-greedy", .floor = 0.9, .seed = 1}, &t, &r);
    const int32_t best[] = {8, 5, 8, 8};
    assert_memory_equal(result.best.point, best, sizeof best);
    assert_string_equal(result.stop_reason, "exhausted");
    assert_true(result.goal_met);
    assert_true(result.trial_count <= 14);
    itg_engine_result_deinit(&result);
}

static void hago_greedy_takes_dimensions_by_size_and_goes_on_after_a_refusal(void **state)
{
    (void)state;
    toy t = {.penalty = {0.001, 0.001, 0.001, 0.001}};
    static record r;
    itg_engine_result result =
        run((setup){.searcher = "hago-greedy", .floor = 0.95, .seed = 1}, &t, &r);
    /* budget 0.05: dimension 1 takes 36 of 50 thousandths, dimension 3 then 9, dimension 2 4,
     * dimension 0 1 */
    const int32_t best[] = {7, 2, 6, 5};
    assert_memory_equal(result.best.point, best, sizeof best);
    itg_engine_result_deinit(&result);
}

static void infeasible_points_are_told_and_never_the_best(void **state)
{
    (void)state;
    toy t = {.infeasible_below = 6};
    static record r;
    const itg_score unknown = itg_score_unknown();
    itg_engine_result result =
        run((setup){.searcher = "hago-greedy", .floor = 0.5, .seed = 1}, &t, &r);
    int seen = 0;
    assert_int_equal(result.best.point[1], 6);
    for (int64_t i = 0; i < r.count; i++) {
        if (r.trials[i].feasible) continue;
        seen++;
        assert_memory_equal(&r.trials[i].score, &unknown, sizeof unknown);
        assert_string_equal(r.trials[i].error, "dimension 1 is too narrow");
    }
    assert_true(seen > 0);
    itg_engine_result_deinit(&result);
}

static void the_nearest_is_kept_where_nothing_meets_the_goal(void **state)
{
    (void)state;
    toy t = {.penalty = {0.1, 0.1, 0.1, 0.1}};
    static record r;
    setup s = {.searcher = "random", .floor = 0.5, .trials = 40, .seed = 3};
    s.goal.limits[ITG_METRIC_WEIGHT_BYTES] = 1; /* nothing is that small */
    itg_engine_result result = run(s, &t, &r);
    double least = INFINITY;
    for (int64_t i = 0; i < r.count; i++)
        if (r.trials[i].score.value[ITG_METRIC_WEIGHT_BYTES] < least)
            least = r.trials[i].score.value[ITG_METRIC_WEIGHT_BYTES];
    assert_false(result.goal_met);
    assert_int_equal(result.best.score.value[ITG_METRIC_WEIGHT_BYTES], least);
    itg_engine_result_deinit(&result);
}

/* ---- order ---- */

static const char *const every[] = {"random",   "hago-greedy", "anneal", "greedy",
                                    "allocate", "surrogate",   "hybrid"};
#define EVERY (sizeof every / sizeof *every)
#define RACING 4 /* the first of them have racing floors */

static setup setup_of(size_t searcher)
{
    return (setup){.searcher = every[searcher], .floor = 0.9, .trials = 90, .seed = 7};
}

static void the_same_trials_on_any_number_of_threads(void **state)
{
    (void)state;
    static record one, many;
    for (size_t i = 0; i < EVERY; i++)
        for (int threads = 2; threads <= 8; threads *= 2) {
            toy t = plain;
            setup s = setup_of(i);
            itg_engine_result a = run(s, &t, &one);
            s.threads = threads;
            itg_engine_result b = run(s, &t, &many);
            assert_int_equal(one.count, many.count);
            for (int64_t k = 0; k < one.count; k++)
                check_same_trial(&one.trials[k], &many.trials[k]);
            assert_memory_equal(one.bests, many.bests, sizeof one.bests);
            assert_string_equal(a.stop_reason, b.stop_reason);
            itg_engine_result_deinit(&a);
            itg_engine_result_deinit(&b);
        }
}

static void another_seed_gives_other_trials(void **state)
{
    (void)state;
    static record one, other;
    toy t = plain;
    setup s = {.searcher = "random", .floor = 0.9, .trials = 100, .seed = 7};
    itg_engine_result a = run(s, &t, &one);
    s.seed = 8;
    itg_engine_result b = run(s, &t, &other);
    assert_memory_not_equal(one.points, other.points, sizeof one.points);
    assert_int_equal(one.points[0][0], 8); /* the first point: the widest */
    assert_string_equal(a.stop_reason, "trials");
    itg_engine_result_deinit(&a);
    itg_engine_result_deinit(&b);
}

static void a_point_is_evaluated_once(void **state)
{
    (void)state;
    static record r;
    toy t = plain;
    bool seen[7][7][7][7] = {{{{false}}}};
    int different = 0, repeated = 0;
    itg_engine_result result =
        run((setup){.searcher = "anneal", .floor = 0.9, .trials = 400, .seed = 3}, &t, &r);
    for (int64_t i = 0; i < r.count; i++) {
        const int32_t *p = r.points[i];
        bool *before = &seen[p[0] - 2][p[1] - 2][p[2] - 2][p[3] - 2];
        different += !*before;
        repeated += *before;
        *before = true;
    }
    assert_true(repeated > 0);
    assert_int_equal(t.calls, different);
    itg_engine_result_deinit(&result);
}

/* ---- racing ---- */

static const toy coarse = {.penalty = {0.002, 0.003, 0.001, 0.004}, .races = true};
static const toy fine = {.penalty = {0.002, 0.003, 0.001, 0.004}, .races = true, .fine = true};
static const toy narrow = {
    .penalty = {0.01, 0.001, 0.02, 0.0005}, .infeasible_below = 4, .races = true, .fine = true};
static const toy *const racing_toys[] = {&coarse, &fine, &narrow};

/* Of what: met at last, never met, within limits, for the best quality. */
static const aim racing_goals[] = {
    {.max_drop = 0},
    {.limits = {[ITG_METRIC_WEIGHT_BYTES] = 3000}},
    {.limits = {[ITG_METRIC_WEIGHT_BYTES] = 100}},
    {.maximize_quality = true, .limits = {[ITG_METRIC_WEIGHT_BYTES] = 3500}},
    {.maximize_quality = true, .limits = {[ITG_METRIC_WEIGHT_BYTES] = 100}},
};
static const double racing_floors[] = {0.9, 0.99, 1.5, -INFINITY};

static void check_race(const itg_engine_result *on, const itg_engine_result *off, const record *r,
                       const record *all)
{
    assert_int_equal(r->count, all->count);
    assert_memory_equal(r->points, all->points, sizeof r->points);
    assert_memory_equal(r->bests, all->bests, sizeof r->bests);
    assert_string_equal(on->stop_reason, off->stop_reason);
    assert_int_equal(on->goal_met, off->goal_met);
    assert_int_equal(on->duplicates, off->duplicates);
    assert_int_equal(off->raced, 0);
    if (on->best.index >= 0) check_same_trial(&on->best, &off->best);
    for (int64_t k = 0; k < r->count; k++) {
        const itg_trial *a = &r->trials[k], *b = &all->trials[k];
        assert_int_equal(a->meets_goal, b->meets_goal);
        assert_int_equal(a->duplicate, b->duplicate);
        if (a->score.stopped_at == 0)
            check_same_trial(a, b);
        else
            assert_true(a->score.value[ITG_METRIC_TOP1] >= b->score.value[ITG_METRIC_TOP1] &&
                        isnan(a->score.value[ITG_METRIC_DISTORTION]));
    }
}

static int64_t race(setup s, const toy *kind)
{
    static record with, without;
    toy t = *kind;
    memset(&with, 0, sizeof with);
    memset(&without, 0, sizeof without);
    s.no_racing = true;
    s.threads = 1;
    itg_engine_result off = run(s, &t, &without);
    int64_t raced = 0;
    for (int threads = 1; threads <= 4; threads *= 2) {
        s.no_racing = false;
        s.threads = threads;
        itg_engine_result on = run(s, &t, &with);
        check_race(&on, &off, &with, &without);
        raced = on.raced;
        itg_engine_result_deinit(&on);
    }
    itg_engine_result_deinit(&off);
    return raced;
}

static void racing_changes_no_trial_and_no_best(void **state)
{
    (void)state;
    int64_t raced[RACING] = {0};
    for (size_t i = 0; i < RACING; i++)
        for (size_t k = 0; k < sizeof racing_toys / sizeof *racing_toys; k++)
            for (size_t g = 0; g < sizeof racing_goals / sizeof *racing_goals; g++)
                for (size_t f = 0; f < sizeof racing_floors / sizeof *racing_floors; f++)
                    for (uint64_t seed = 0; seed < 4; seed++) {
                        setup s = {.searcher = every[i],
                                   .goal = racing_goals[g],
                                   .floor = racing_floors[f],
                                   .trials = 160,
                                   .patience = seed == 3 ? 30 : 0,
                                   .seed = seed};
                        raced[i] += race(s, racing_toys[k]);
                    }
    for (size_t i = 0; i < RACING; i++)
        if (raced[i] == 0) fail_msg("%s: nothing was raced", every[i]);
}

static void every_prefix_of_a_race_replayed_ends_as_if_undisturbed(void **state)
{
    (void)state;
    static record all, rest;
    for (size_t i = 0; i < EVERY; i++) {
        toy t = fine;
        setup s = setup_of(i);
        itg_engine_result a = run(s, &t, &all);
        int64_t count = all.count;
        for (int64_t n = 0; n <= count; n++) {
            s.replay = &all;
            s.replay_count = n;
            s.threads = (int)(n % 3) + 1;
            itg_engine_result b = run(s, &t, &rest);
            assert_int_equal(n + rest.count, count);
            for (int64_t k = 0; k < rest.count; k++)
                check_same_trial(&all.trials[n + k], &rest.trials[k]);
            check_same_trial(&a.best, &b.best);
            assert_int_equal(a.raced, b.raced);
            assert_int_equal(a.duplicates, b.duplicates);
            itg_engine_result_deinit(&b);
        }
        itg_engine_result_deinit(&a);
    }
}

/* A searcher that asks for a good point, then for one point four times at once, with floors that
 * fall. */
typedef struct falling {
    int asked, told;
} falling;

static itg_status init_falling(void *state, const itg_search_space *of,
                               const itg_searcher_options *options, itg_error *err)
{
    (void)state;
    (void)of;
    (void)options;
    (void)err;
    return ITG_OK;
}

static itg_status ask_falling(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    static const double floors[] = {-INFINITY, 0.95, 0.9, -INFINITY, 0.95};
    falling *s = state;
    (void)rng;
    if (s->asked == 5) return ITG_END;
    if (s->asked == 1 && s->told == 0) return ITG_WAIT;
    for (int d = 0; d < DIMS; d++)
        levels[d] = s->asked == 0 ? 6 : d;
    interest->floor = floors[s->asked++];
    return ITG_OK;
}

static itg_status tell_falling(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    ((falling *)state)->told++;
    (void)levels;
    (void)outcome;
    return ITG_OK;
}

static void deinit_falling(void *state)
{
    (void)state;
}

static void slots_of_one_point_get_what_each_asks_for(void **state)
{
    (void)state;
    static const itg_searcher_def def = {.name = "falling",
                                         .state_size = sizeof(falling),
                                         .outstanding = 1,
                                         .init = init_falling,
                                         .ask = ask_falling,
                                         .tell = tell_falling,
                                         .deinit = deinit_falling};
    itg_goal goal = goal_of((aim){.max_drop = 0.01});
    itg_objective objective;
    for (int threads = 1; threads <= 4; threads++)
        for (int outstanding = 1; outstanding <= 5; outstanding++)
            for (int64_t trials = 1; trials <= 5; trials++) {
                static record r;
                toy t = fine;
                itg_searcher_def variant = def;
                itg_engine_result result = ITG_ENGINE_RESULT_INIT;
                itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .context = &r,
                                          .trial = record_trial};
                variant.outstanding = outstanding;
                memset(&r, 0, sizeof r);
                for (int d = 0; d < DIMS; d++)
                    dims[d] = (itg_dim){7, widths, true, sizes[d], 0};
                assert_int_equal(itg_objective_make(&goal, &floats, &space, &objective, NULL),
                                 ITG_OK);
                itg_engine_options options = {.searcher = &variant,
                                              .objective = &objective,
                                              .trials = trials,
                                              .threads = threads,
                                              .score = score_toy,
                                              .score_context = &t,
                                              .hooks = &hooks};
                assert_int_equal(itg_engine_run(&options, &result, NULL), ITG_OK);
                assert_int_equal(r.count, trials);
                for (int64_t k = 1; k < trials; k++) {
                    const itg_score *score = &r.trials[k].score;
                    if (k < 4) assert_int_equal(score->stopped_at, k < 3);
                    if (k < 3) assert_true(score->value[ITG_METRIC_TOP1] < (k == 1 ? 0.95 : 0.9));
                }
                assert_true(t.calls >= (trials < 4 ? trials : 4));
                assert_int_equal(result.duplicates, trials > 2 ? trials - 2 : 0);
                itg_engine_result_deinit(&result);
            }
}

/* A searcher with an interest in a quarter of the samples, or in all, of two points. */
static const struct {
    int32_t level;
    double share;
} shared_script[] = {{6, 1}, {6, 0.25}, {5, 0.25}, {5, 0.25}, {5, 1}, {5, 0.25}, {5, 1}, {4, 0.25}};
enum { SHARED = sizeof shared_script / sizeof *shared_script, SHARED_SAMPLES = 100 };

typedef struct shared_searcher {
    int asked, told;
} shared_searcher;
static itg_outcome shared_outcomes[SHARED];

static itg_status ask_shared(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    shared_searcher *s = state;
    (void)rng;
    assert_true(interest->share == 1 && interest->floor == -INFINITY);
    if (s->asked == SHARED) return ITG_END;
    for (int d = 0; d < DIMS; d++)
        levels[d] = shared_script[s->asked].level;
    interest->share = shared_script[s->asked++].share;
    return ITG_OK;
}

static itg_status tell_shared(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    (void)levels;
    shared_outcomes[((shared_searcher *)state)->told++] = *outcome;
    return ITG_OK;
}

/* The first quarter of the samples loses half as much as all. */
static itg_status score_shared(void *context, const int32_t *point, const itg_race *race,
                               int threads, itg_score *out, itg_error *err)
{
    itg_status status = score_toy(context, point, NULL, threads, out, err);
    out->samples = SHARED_SAMPLES;
    out->stopped_at = itg_race_enough(race);
    if (out->stopped_at == 0) return status;
    assert_int_equal(out->stopped_at, SHARED_SAMPLES / 4);
    assert_true(itg_race_floor(race, out) == -INFINITY);
    out->value[ITG_METRIC_TOP1] = 1;
    out->value[ITG_METRIC_DISTORTION] /= 2;
    return status;
}

static void a_share_of_the_samples_gives_a_distortion_and_no_result(void **state)
{
    (void)state;
    static const itg_searcher_def def = {.name = "shared",
                                         .state_size = sizeof(shared_searcher),
                                         .init = init_falling,
                                         .ask = ask_shared,
                                         .tell = tell_shared,
                                         .deinit = deinit_falling};
    const itg_goal goal = goal_of((aim){.max_drop = 0.5});
    itg_objective objective;
    for (int way = 0; way < 2 * 2 * 8; way++) {
        static record r, logged;
        toy t = fine;
        itg_searcher_def variant = def;
        itg_engine_result result = ITG_ENGINE_RESULT_INIT;
        itg_error err = {0};
        itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .context = &r, .trial = record_trial};
        const int64_t replayed = way / 2 % 2 ? way / 4 : 0;
        variant.outstanding = 1 + way / 4;
        memset(&r, 0, sizeof r);
        r.first = replayed;
        assert_int_equal(itg_objective_make(&goal, &floats, &space, &objective, NULL), ITG_OK);
        objective.samples = SHARED_SAMPLES;
        const itg_engine_options options = {.searcher = &variant,
                                            .objective = &objective,
                                            .threads = 1 + way % 2,
                                            .score = score_shared,
                                            .score_context = &t,
                                            .hooks = &hooks,
                                            .no_racing = way % 2,
                                            .replay = replayed ? logged.trials : NULL,
                                            .replay_count = replayed};
        if (itg_engine_run(&options, &result, &err) != ITG_OK) fail_msg("%s", err.message);
        assert_int_equal(result.trial_count, SHARED);
        for (int i = 0; i < SHARED; i++) {
            const itg_trial *trial = &result.trials[i];
            const itg_outcome *told = &shared_outcomes[i];
            const bool all = shared_script[i].share == 1;
            assert_int_equal(trial->score.stopped_at, all ? 0 : SHARED_SAMPLES / 4);
            assert_int_equal(trial->meets_goal, all);
            assert_true(all == !isnan(told->quality));
            assert_true(told->distortion == trial->score.value[ITG_METRIC_DISTORTION]);
            assert_true(told->cost == result
                                          .trials[shared_script[i].level == 6   ? 0
                                                  : shared_script[i].level == 5 ? 2
                                                                                : 7]
                                          .score.value[ITG_METRIC_WEIGHT_BYTES]);
        }
        assert_true(shared_outcomes[2].distortion == shared_outcomes[4].distortion / 2);
        assert_int_equal(result.best.index, 4); /* the cheapest is known by the share alone */
        assert_int_equal(result.duplicates, 5);
        assert_int_equal(result.raced, 2);
        if (way == 0) { /* patience waits while points are only compared */
            itg_engine_options patient = options;
            itg_engine_result short_one = ITG_ENGINE_RESULT_INIT;
            patient.patience = 1;
            patient.hooks = NULL;
            assert_int_equal(itg_engine_run(&patient, &short_one, &err), ITG_OK);
            assert_string_equal(short_one.stop_reason, "patience");
            assert_int_equal(short_one.trial_count, 7);
            itg_engine_result_deinit(&short_one);
            logged = r;
        }
        for (int i = 0; i < SHARED; i++)
            logged.trials[i].point = logged.points[i];
        itg_engine_result_deinit(&result);
    }
}

/* Workers that return what they choose next, first of all not the oldest. */
typedef struct any_order {
    toy *t;
    itg_work *out[200];
    int count, most;
    itg_rng rng;
} any_order;

static void submit_any(void *context, itg_work *work)
{
    any_order *w = context;
    w->out[w->count++] = work;
    if (w->count > w->most) w->most = w->count;
}

static itg_work *wait_any(void *context)
{
    any_order *w = context;
    assert_true(w->count > 0);
    int at = (int)itg_rng_below(&w->rng, (uint64_t)w->count);
    itg_work *work = w->out[at];
    w->out[at] = w->out[--w->count];
    work->status = score_toy(w->t, work->point, work->race, 1, &work->score, &work->error);
    return work;
}

static void drop_any(void *context)
{
    (void)context;
}

static void the_order_in_which_evaluations_end_changes_nothing(void **state)
{
    (void)state;
    static record here, elsewhere;
    for (size_t i = 0; i < EVERY; i++)
        for (int outstanding = 1; outstanding <= 100; outstanding += 33) {
            toy t = fine, u = fine;
            any_order w = {.t = &u};
            const itg_workers workers = {&w, submit_any, wait_any, drop_any, NULL};
            itg_searcher_def def = *itg_searcher_find(every[i]);
            itg_engine_result a = ITG_ENGINE_RESULT_INIT, b = ITG_ENGINE_RESULT_INIT;
            if (def.outstanding == 16) def.outstanding = outstanding; /* random, exhaustive */
            setup s = setup_of(i);
            s.def = &def;
            s.threads = 3;
            memset(&here, 0, sizeof here);
            memset(&elsewhere, 0, sizeof elsewhere);
            assert_int_equal(try_run(s, &t, &here, &a, NULL), ITG_OK);
            itg_rng_init(&w.rng, i);
            s.workers = &workers;
            assert_int_equal(try_run(s, &u, &elsewhere, &b, NULL), ITG_OK);
            assert_int_equal(w.count, 0);
            if (def.outstanding > 64 && i == 0) assert_true(w.most > 64); /* no silent cap */
            assert_int_equal(here.count, elsewhere.count);
            for (int64_t k = 0; k < here.count; k++)
                check_same_trial(&here.trials[k], &elsewhere.trials[k]);
            check_same_trial(&a.best, &b.best);
            itg_engine_result_deinit(&a);
            itg_engine_result_deinit(&b);
        }
}

/* The first evaluation ends after all others have begun. */
typedef struct slow_first {
    toy t;
    atomic_int begun;
    bool waited;
} slow_first;

static itg_status score_slow_first(void *context, const int32_t *point, const itg_race *race,
                                   int threads, itg_score *out, itg_error *err)
{
    slow_first *s = context;
    int turn = atomic_fetch_add(&s->begun, 1);
    if (turn == 0) {
        while (atomic_load(&s->begun) < 16)
            continue;
        s->waited = true;
    }
    return score_toy(&s->t, point, race, threads, out, err);
}

static void one_slow_evaluation_holds_up_no_other(void **state)
{
    (void)state;
    slow_first s = {.t = plain};
    itg_goal goal = goal_of((aim){.max_drop = 0.1});
    itg_objective objective;
    itg_engine_result result = ITG_ENGINE_RESULT_INIT;
    for (int d = 0; d < DIMS; d++)
        dims[d] = (itg_dim){7, widths, true, sizes[d], 0};
    assert_int_equal(itg_objective_make(&goal, &floats, &space, &objective, NULL), ITG_OK);
    itg_engine_options options = {.searcher = itg_searcher_find("random"),
                                  .objective = &objective,
                                  .trials = 40,
                                  .threads = 2,
                                  .score = score_slow_first,
                                  .score_context = &s};
    assert_int_equal(itg_engine_run(&options, &result, NULL), ITG_OK);
    assert_true(s.waited);
    assert_int_equal(result.trial_count, 40);
    itg_engine_result_deinit(&result);
}

/* Anneal comes back to points with lower floors. */
static void a_point_that_was_stopped_is_taken_up_again_where_it_matters(void **state)
{
    (void)state;
    static record r;
    int64_t again = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        toy t = fine;
        itg_engine_result result =
            run((setup){.searcher = "anneal", .floor = 0.9, .trials = 500, .seed = seed}, &t, &r);
        again += t.calls - (result.trial_count - result.duplicates);
        itg_engine_result_deinit(&result);
    }
    assert_true(again > 0);
}

static void a_replayed_trial_that_was_stopped_where_it_matters_is_refused(void **state)
{
    (void)state;
    static record all, rest;
    toy t = fine;
    setup s = setup_of(0);
    itg_engine_result a = run(s, &t, &all), b = ITG_ENGINE_RESULT_INIT;
    itg_error err = {0};
    assert_int_equal(a.best.index, all.bests[all.count - 1]);
    all.trials[a.best.index].score.stopped_at = 1;
    s.replay = &all;
    s.replay_count = all.count;
    memset(&rest, 0, sizeof rest);
    assert_int_equal(try_run(s, &t, &rest, &b, &err), ITG_MISMATCH);
    assert_non_null(strstr(err.message, "was stopped after 1 sample,"));
    itg_engine_result_deinit(&a);
}

/* ---- limits ---- */

static void check_prefix(const record *all, const record *some)
{
    assert_true(some->count < all->count);
    for (int64_t k = 0; k < some->count; k++)
        check_same_trial(&all->trials[k], &some->trials[k]);
}

static void a_limit_of_trials_gives_a_prefix(void **state)
{
    (void)state;
    static record all, some;
    for (size_t i = 0; i < EVERY; i++) {
        toy t = plain;
        setup s = setup_of(i);
        if (i == 0) continue; /* random plans for the limit */
        itg_engine_result a = run(s, &t, &all);
        s.trials = 9;
        s.threads = 2;
        itg_engine_result b = run(s, &t, &some);
        assert_int_equal(some.count, 9);
        assert_string_equal(b.stop_reason, "trials");
        check_prefix(&all, &some);
        itg_engine_result_deinit(&a);
        itg_engine_result_deinit(&b);
    }
}

static void a_limit_of_seconds_gives_a_prefix(void **state)
{
    (void)state;
    static record all, some;
    for (size_t i = 0; i < EVERY; i++)
        for (double seconds = 1; seconds < 40; seconds *= 2) {
            toy t = plain;
            setup s = setup_of(i);
            all.step = some.step = 1;
            itg_engine_result a = run(s, &t, &all);
            s.seconds = seconds;
            itg_engine_result b = run(s, &t, &some);
            assert_string_equal(b.stop_reason, "seconds");
            assert_true(some.count > 0); /* one batch is always made */
            check_prefix(&all, &some);
            itg_engine_result_deinit(&a);
            itg_engine_result_deinit(&b);
        }
}

static void patience_ends_a_search_without_gain(void **state)
{
    (void)state;
    static record all, some;
    toy t = plain;
    setup s = {.searcher = "random", .floor = 0.9, .trials = 400, .seed = 5};
    itg_engine_result a = run(s, &t, &all);
    s.patience = 40;
    itg_engine_result b = run(s, &t, &some);
    assert_string_equal(b.stop_reason, "patience");
    check_prefix(&all, &some);
    int64_t since = some.count - 1 - b.best.index;
    assert_true(since >= 40 && since < 40 + 16); /* looked at where a batch ends */
    itg_engine_result_deinit(&a);
    itg_engine_result_deinit(&b);
}

static void small_gains_do_not_count_within_the_tolerance(void **state)
{
    (void)state;
    static record r;
    toy t = {.penalty = {0}};
    setup s = {.searcher = "hago-greedy", .floor = 0.9, .seed = 5, .patience = 8};
    itg_engine_result free_run = run(s, &t, &r);
    assert_string_equal(free_run.stop_reason, "exhausted"); /* every trial is smaller */
    s.tolerance = 0.5;                                      /* half of the bytes at once */
    itg_engine_result strict = run(s, &t, &r);
    assert_string_equal(strict.stop_reason, "patience");
    /* 5360 bytes at first; 2680 are reached only behind the sixth bit of dimension 1 and one of
     * dimension 3; patience of 8 is over then. A gain is against the last one that counted: with a
     * quarter, dimension 1 at 4 bits (trial 4) counts, and so on. */
    s.tolerance = 0.25;
    itg_engine_result loose = run(s, &t, &r);
    assert_true(loose.trial_count > strict.trial_count);
    itg_engine_result_deinit(&free_run);
    itg_engine_result_deinit(&strict);
    itg_engine_result_deinit(&loose);
}

static void cancelling_keeps_the_trials_that_were_finished(void **state)
{
    (void)state;
    static record all, some;
    toy t = plain;
    setup s = setup_of(0);
    itg_engine_result a = run(s, &t, &all);
    some.cancel_after = 20;
    itg_engine_result b = run(s, &t, &some);
    assert_string_equal(b.stop_reason, "cancelled");
    assert_int_equal(some.count, 20);
    check_prefix(&all, &some);
    itg_engine_result_deinit(&a);
    itg_engine_result_deinit(&b);
}

/* ---- replay ---- */

static void every_prefix_replayed_ends_as_if_undisturbed(void **state)
{
    (void)state;
    static record all, rest;
    for (size_t i = 0; i < EVERY; i++) {
        toy t = plain;
        setup s = setup_of(i);
        itg_engine_result a = run(s, &t, &all);
        int64_t count = all.count;
        for (int64_t n = 0; n <= count; n++) {
            toy again = plain;
            s.replay = &all;
            s.replay_count = n;
            s.threads = (int)(n % 3) + 1;
            itg_engine_result b = run(s, &again, &rest);
            assert_int_equal(b.trial_count, count);
            assert_int_equal(rest.count, count - n); /* replayed trials are not handed out again */
            for (int64_t k = n; k < count; k++)
                check_same_trial(&all.trials[k], &rest.trials[k - n]);
            assert_memory_equal(all.bests, rest.bests, sizeof all.bests[0] * (size_t)count);
            check_same_trial(&a.best, &b.best);
            assert_string_equal(a.stop_reason, b.stop_reason);
            if (n == count) assert_int_equal(again.calls, 0);
            itg_engine_result_deinit(&b);
        }
        itg_engine_result_deinit(&a);
    }
}

static void a_replay_of_another_search_is_refused_by_its_trial(void **state)
{
    (void)state;
    static record all, rest;
    toy t = plain;
    setup s = setup_of(0);
    itg_engine_result a = run(s, &t, &all), b = ITG_ENGINE_RESULT_INIT;
    itg_error err = {0};
    s.replay = &all;
    s.replay_count = 30;
    all.points[21][2] ^= 1;
    assert_int_equal(try_run(s, &t, &rest, &b, &err), ITG_MISMATCH);
    assert_non_null(strstr(err.message, "trial 21 of the log"));
    assert_int_equal(b.trial_count, 0);
    assert_int_equal(b.best.index, -1);
    all.points[21][2] ^= 1;
    s.trials = 12;
    assert_int_equal(try_run(s, &t, &rest, &b, &err), ITG_MISMATCH);
    assert_non_null(strstr(err.message, "the log has 30 trials, but this search ends after 12"));
    itg_engine_result_deinit(&a);
}

static void seconds_of_the_log_count(void **state)
{
    (void)state;
    static record all, rest;
    toy t = plain;
    setup s = setup_of(0);
    all.step = 1;
    itg_engine_result a = run(s, &t, &all);
    double used = 0;
    for (int i = 0; i < 32; i++)
        used += all.trials[i].seconds;
    assert_true(used >= 32);
    s.replay = &all;
    s.replay_count = 32;
    s.seconds = used;
    memset(&rest, 0, sizeof rest);
    itg_engine_result b = run(s, &t, &rest);
    assert_string_equal(b.stop_reason, "seconds");
    assert_int_equal(b.trial_count, 32);
    itg_engine_result_deinit(&a);
    itg_engine_result_deinit(&b);
}

/* ---- failure ---- */

static itg_status fail_score(void *context, const int32_t *point, const itg_race *race, int threads,
                             itg_score *out, itg_error *err)
{
    (void)context;
    (void)point;
    (void)race;
    (void)threads;
    (void)out;
    return itg_fail(err, ITG_IO, "the disk is gone");
}

static void a_real_failure_ends_the_search_with_its_message(void **state)
{
    (void)state;
    itg_objective objective;
    itg_goal goal = goal_of((aim){0});
    assert_int_equal(itg_objective_make(&goal, &floats, &space, &objective, NULL), ITG_OK);
    itg_engine_options options = {.searcher = itg_searcher_find("random"),
                                  .objective = &objective,
                                  .trials = 10,
                                  .threads = 2,
                                  .score = fail_score};
    itg_engine_result result = ITG_ENGINE_RESULT_INIT;
    itg_error err = {0};
    assert_int_equal(itg_engine_run(&options, &result, &err), ITG_IO);
    assert_string_equal(err.message, "the disk is gone");
}

int main(int argc, char **argv)
{
    itg_be_passive(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hago_greedy_finds_the_optimum_of_a_separable_space),
        cmocka_unit_test(hago_greedy_takes_dimensions_by_size_and_goes_on_after_a_refusal),
        cmocka_unit_test(infeasible_points_are_told_and_never_the_best),
        cmocka_unit_test(the_nearest_is_kept_where_nothing_meets_the_goal),
        cmocka_unit_test(the_same_trials_on_any_number_of_threads),
        cmocka_unit_test(another_seed_gives_other_trials),
        cmocka_unit_test(a_point_is_evaluated_once),
        cmocka_unit_test(racing_changes_no_trial_and_no_best),
        cmocka_unit_test(every_prefix_of_a_race_replayed_ends_as_if_undisturbed),
        cmocka_unit_test(slots_of_one_point_get_what_each_asks_for),
        cmocka_unit_test(a_share_of_the_samples_gives_a_distortion_and_no_result),
        cmocka_unit_test(the_order_in_which_evaluations_end_changes_nothing),
        cmocka_unit_test(one_slow_evaluation_holds_up_no_other),
        cmocka_unit_test(a_point_that_was_stopped_is_taken_up_again_where_it_matters),
        cmocka_unit_test(a_replayed_trial_that_was_stopped_where_it_matters_is_refused),
        cmocka_unit_test(a_limit_of_trials_gives_a_prefix),
        cmocka_unit_test(a_limit_of_seconds_gives_a_prefix),
        cmocka_unit_test(patience_ends_a_search_without_gain),
        cmocka_unit_test(small_gains_do_not_count_within_the_tolerance),
        cmocka_unit_test(cancelling_keeps_the_trials_that_were_finished),
        cmocka_unit_test(every_prefix_replayed_ends_as_if_undisturbed),
        cmocka_unit_test(a_replay_of_another_search_is_refused_by_its_trial),
        cmocka_unit_test(seconds_of_the_log_count),
        cmocka_unit_test(a_real_failure_ends_the_search_with_its_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
