/* The nth allocation of a search's loop fails: every one is needed, so it ends with ITG_NO_MEMORY,
 * and without a failure each time with the same result. */
#include "wanted.h"
#include "search/engine.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/faults.h"

enum { DIMS = 2, LEVELS = 8, ASKED = 12 };
static const int32_t widths[LEVELS] = {1, 2, 3, 4, 5, 6, 7, 8};
static const itg_dim dims[DIMS] = {{LEVELS, widths, true, 1, 0}, {LEVELS, widths, true, 1, 0}};
static const itg_search_space space = {DIMS, dims};

/* Levels to ask for: better ones, worse ones, infeasible ones (the first is 0), and some again, in
 * one batch and in a later one. */
static const int32_t script[ASKED][DIMS] = {{7, 7}, {0, 3}, {0, 3}, {6, 7}, {7, 7}, {6, 6},
                                            {0, 3}, {5, 6}, {0, 1}, {6, 6}, {5, 5}, {0, 1}};

typedef struct reader {
    int32_t asked, told;
} reader;

static itg_status reader_init(void *state, const itg_search_space *s, const itg_searcher_options *o,
                              itg_error *err)
{
    (void)state, (void)s, (void)o, (void)err;
    return ITG_OK;
}

static itg_status reader_ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    reader *r = state;
    (void)rng, (void)interest;
    if (r->asked == ASKED) return r->told == ASKED ? ITG_END : ITG_WAIT;
    if (r->asked == r->told + 3) return ITG_WAIT;
    memcpy(levels, script[r->asked++], sizeof script[0]);
    return ITG_OK;
}

static itg_status reader_tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    reader *r = state;
    assert_memory_equal(levels, script[r->told++], sizeof script[0]);
    assert_int_equal(outcome->feasible, levels[0] > 0);
    return ITG_OK;
}

static void reader_deinit(void *state)
{
    (void)state;
}

static const itg_score floats = {
    .value = {[ITG_METRIC_TOP1] = 1, [ITG_METRIC_EXPECTED_TOP1] = 1, [ITG_METRIC_TOP1_BOUND] = 1}};

static const itg_searcher_def searcher = {.name = "reader",
                                          .help = "",
                                          .state_size = sizeof(reader),
                                          .outstanding = 3,
                                          .init = reader_init,
                                          .ask = reader_ask,
                                          .tell = reader_tell,
                                          .deinit = reader_deinit};

static itg_status score(void *context, const int32_t *point, const itg_race *race, int threads,
                        itg_score *out, itg_error *err)
{
    (void)context, (void)race, (void)threads;
    if (point[0] == 1) return itg_fail(err, ITG_INFEASIBLE, "%d is too narrow", (int)point[1]);
    *out = itg_score_unknown();
    out->samples = 1;
    out->value[ITG_METRIC_TOP1] = 1;
    out->value[ITG_METRIC_WEIGHT_BYTES] = point[0] + 10 * point[1];
    return ITG_OK;
}

/* What was handed to the log, as text. */
static itg_status keep(void *context, const itg_trial *t, itg_error *err)
{
    char *text = context;
    size_t at = strlen(text);
    (void)err;
    snprintf(text + at, 1000 - at, "%d(%d,%d)%s%s%s ", (int)t->index, (int)t->point[0],
             (int)t->point[1], t->duplicate ? " again" : "", t->error ? ": " : "",
             t->error ? t->error : "");
    return ITG_OK;
}

static bool runs(int nth, const itg_objective *objective, const itg_trial *replay,
                 int64_t replay_count, char *text)
{
    itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .context = text, .trial = keep};
    itg_engine_options options = {.searcher = &searcher,
                                  .objective = objective,
                                  .threads = 1,
                                  .score = score,
                                  .hooks = &hooks,
                                  .replay = replay,
                                  .replay_count = replay_count};
    itg_engine_result result = ITG_ENGINE_RESULT_INIT;
    itg_error err = {0};
    *text = '\0';
    calls_left = nth;
    itg_status status = itg_engine_run(&options, &result, &err);
    bool spared = calls_left >= 0;
    calls_left = -1;
    assert_int_equal(status, spared ? ITG_OK : ITG_NO_MEMORY);
    assert_int_equal(err.code, status);
    if (!spared) {
        assert_null(result.best.point);
        return false;
    }
    assert_int_equal(result.trial_count, ASKED);
    assert_int_equal(result.duplicates, 5);
    assert_int_equal(result.best.index, 10);
    assert_int_equal(result.best.point[0], 6);
    itg_engine_result_deinit(&result);
    return true;
}

static void every_allocation_of_the_loop_is_needed(void **state)
{
    (void)state;
    char text[1000];
    itg_objective objective;
    itg_goal goal = goal_of((aim){.max_drop = 0.5});
    assert_int_equal(itg_objective_make(&goal, &floats, &space, &objective, NULL), ITG_OK);
    int nth = 0;
    while (!runs(nth, &objective, NULL, 0, text))
        nth++;
    assert_true(nth > 20);
    assert_string_equal(text, "0(8,8) 1(1,4): 4 is too narrow 2(1,4) again: 4 is too narrow 3(7,8) "
                              "4(8,8) again 5(7,7) 6(1,4) again: 4 is too narrow 7(6,7) "
                              "8(1,2): 2 is too narrow 9(7,7) again 10(6,6) "
                              "11(1,2) again: 2 is too narrow ");
}

static void every_allocation_of_a_replay_is_needed(void **state)
{
    (void)state;
    char text[1000];
    itg_objective objective;
    itg_goal goal = goal_of((aim){.max_drop = 0.5});
    assert_int_equal(itg_objective_make(&goal, &floats, &space, &objective, NULL), ITG_OK);
    const int32_t first[] = {8, 8}, second[] = {1, 4};
    itg_trial log[2] = {{.index = 0, .point = first, .dim_count = DIMS, .feasible = true},
                        {.index = 1, .point = second, .dim_count = DIMS, .error = "of the log"}};
    log[0].score = itg_score_unknown();
    log[0].score.value[ITG_METRIC_TOP1] = 1;
    log[0].score.value[ITG_METRIC_WEIGHT_BYTES] = 88;
    int nth = 0;
    while (!runs(nth, &objective, log, 2, text))
        nth++;
    assert_true(nth > 20);
    assert_string_equal(text, "2(1,4) again: of the log 3(7,8) 4(8,8) again 5(7,7) "
                              "6(1,4) again: of the log 7(6,7) 8(1,2): 2 is too narrow "
                              "9(7,7) again 10(6,6) 11(1,2) again: 2 is too narrow ");
}

/* ---- searchers that fail ---- */

static itg_status status_of_ask, status_of_tell;

static itg_status failing_ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    (void)state, (void)rng, (void)interest;
    memcpy(levels, script[0], sizeof script[0]);
    return status_of_ask;
}

static itg_status failing_tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    (void)state, (void)levels, (void)outcome;
    return status_of_tell;
}

static void expect_failure(itg_status ask, itg_status tell, itg_status code, const char *message)
{
    const itg_searcher_def failing = {.name = "failing",
                                      .help = "",
                                      .state_size = 1,
                                      .outstanding = 1,
                                      .init = reader_init,
                                      .ask = failing_ask,
                                      .tell = failing_tell,
                                      .deinit = reader_deinit};
    itg_goal goal = goal_of((aim){.max_drop = 0.5});
    itg_objective objective;
    itg_engine_result result = ITG_ENGINE_RESULT_INIT;
    itg_error err = {0};
    char text[1000] = "";
    itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .context = text, .trial = keep};
    assert_int_equal(itg_objective_make(&goal, &floats, &space, &objective, NULL), ITG_OK);
    itg_engine_options options = {.searcher = &failing,
                                  .objective = &objective,
                                  .trials = 3,
                                  .threads = 1,
                                  .score = score,
                                  .hooks = &hooks};
    status_of_ask = ask;
    status_of_tell = tell;
    assert_int_equal(itg_engine_run(&options, &result, &err), code);
    assert_string_equal(err.message, message);
    assert_int_equal(err.code, code);
    assert_null(result.best.point);
}

static void a_failing_searcher_is_named(void **state)
{
    (void)state;
    expect_failure(ITG_FAILURE, ITG_OK, ITG_FAILURE, "searcher failing failed to ask");
    expect_failure(ITG_NO_MEMORY, ITG_OK, ITG_NO_MEMORY, "searcher failing failed to ask");
    expect_failure(ITG_OK, ITG_NO_MEMORY, ITG_NO_MEMORY,
                   "searcher failing failed to take in trial 0");
    expect_failure(ITG_WAIT, ITG_OK, ITG_FAILURE,
                   "searcher failing waits although it has been told everything");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_the_loop_is_needed),
        cmocka_unit_test(every_allocation_of_a_replay_is_needed),
        cmocka_unit_test(a_failing_searcher_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
