/* Engine and searchers on toy spaces: known optima, order, duplicates, threads. */
#include "search/engine.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define DIMS 4
static const int32_t widths[] = {2, 3, 4, 5, 6, 7, 8};
static const double sizes[DIMS] = {10, 400, 60, 200};

/* quality = 1 - sum over dims of penalty[d] * (8 - bits)^2; bytes = sum of size * bits. */
typedef struct toy {
    double penalty[DIMS];
    int32_t infeasible_below; /* bits of dimension 1 */
    int calls;
} toy;

static itg_status score_toy(void *context, const int32_t *bits, int threads, itg_score *out,
                            itg_error *err)
{
    const toy *t = context;
    double quality = 1, bytes = 0;
    (void)threads;
    if (bits[1] < t->infeasible_below)
        return itg_fail(err, ITG_INFEASIBLE, "dimension 1 is too narrow");
    for (int d = 0; d < DIMS; d++) {
        quality -= t->penalty[d] * (8 - bits[d]) * (8 - bits[d]);
        bytes += sizes[d] * bits[d];
    }
    *out =
        (itg_score){.samples = 1, .top1 = quality, .agreement = -1, .weight_bytes = (int64_t)bytes};
    return ITG_OK;
}

static itg_search_space make_space(itg_dim *dims)
{
    for (int d = 0; d < DIMS; d++)
        dims[d] = (itg_dim){7, widths, sizes[d]};
    return (itg_search_space){DIMS, dims};
}

typedef struct record {
    int64_t count;
    int32_t bits[512][DIMS];
    bool feasible[512];
} record;

static itg_status record_trial(void *context, const itg_trial *trial, itg_error *err)
{
    record *r = context;
    (void)err;
    assert_int_equal(trial->index, r->count);
    assert_true(r->count < 512);
    memcpy(r->bits[r->count], trial->bits, sizeof r->bits[0]);
    r->feasible[r->count++] = trial->feasible;
    return ITG_OK;
}

static itg_engine_result run(const char *searcher, toy *t, double floor, int64_t trials,
                             uint64_t seed, int threads, record *r)
{
    itg_dim dims[DIMS];
    itg_search_space space = make_space(dims);
    itg_search_hooks hooks = {.context = r, .trial = record_trial};
    itg_engine_options options = {.searcher = itg_searcher_find(searcher),
                                  .space = &space,
                                  .quality_floor = floor,
                                  .trials = trials,
                                  .seed = seed,
                                  .threads = threads,
                                  .score = score_toy,
                                  .score_context = t,
                                  .hooks = &hooks};
    itg_engine_result result = {0};
    itg_error err = {0};
    memset(r, 0, sizeof *r);
    if (itg_engine_run(&options, &result, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_int_equal(result.trial_count, r->count);
    return result;
}

static void hago_greedy_finds_the_optimum_of_a_separable_space(void **state)
{
    (void)state;
    /* Only dimension 1 may fall, to 5 bits: 0.01 * 9 <= 0.1 < 0.01 * 16. */
    toy t = {.penalty = {1, 0.01, 1, 1}};
    static record r;
    itg_engine_result result = run("hago-greedy", &t, 0.9, 0, 1, 1, &r);
    const int32_t best[] = {8, 5, 8, 8};
    assert_memory_equal(result.best.bits, best, sizeof best);
    assert_string_equal(result.stop_reason, "exhausted");
    assert_true(result.trial_count <= 14);
    itg_engine_result_deinit(&result);
}

static void hago_greedy_takes_dimensions_by_size_and_goes_on_after_a_refusal(void **state)
{
    (void)state;
    toy t = {.penalty = {0.001, 0.001, 0.001, 0.001}};
    static record r;
    itg_engine_result result = run("hago-greedy", &t, 0.95, 0, 1, 1, &r);
    /* budget 0.05: dimension 1 takes 36 of 50 thousandths, dimension 3 then 9, dimension 2 4,
     * dimension 0 1 */
    const int32_t best[] = {7, 2, 6, 5};
    assert_memory_equal(result.best.bits, best, sizeof best);
    itg_engine_result_deinit(&result);
}

static void infeasible_points_are_told_and_never_the_best(void **state)
{
    (void)state;
    toy t = {.infeasible_below = 6};
    static record r;
    itg_engine_result result = run("hago-greedy", &t, 0.5, 0, 1, 1, &r);
    assert_int_equal(result.best.bits[1], 6);
    bool seen = false;
    for (int64_t i = 0; i < r.count; i++)
        seen |= !r.feasible[i];
    assert_true(seen);
    itg_engine_result_deinit(&result);
}

static void the_same_trials_on_any_number_of_threads(void **state)
{
    (void)state;
    static record one, many;
    const char *const names[] = {"random", "hago-greedy"};
    for (int i = 0; i < 2; i++) {
        toy t = {.penalty = {0.002, 0.003, 0.001, 0.004}};
        itg_engine_result a = run(names[i], &t, 0.9, i ? 0 : 100, 7, 1, &one),
                          b = run(names[i], &t, 0.9, i ? 0 : 100, 7, 4, &many);
        assert_int_equal(one.count, many.count);
        assert_memory_equal(one.bits, many.bits, sizeof one.bits);
        assert_int_equal(a.best.index, b.best.index);
        itg_engine_result_deinit(&a);
        itg_engine_result_deinit(&b);
    }
}

static void another_seed_gives_other_trials(void **state)
{
    (void)state;
    static record one, other;
    toy t = {.penalty = {0.002, 0.003, 0.001, 0.004}};
    itg_engine_result a = run("random", &t, 0.9, 100, 7, 1, &one),
                      b = run("random", &t, 0.9, 100, 8, 1, &other);
    assert_memory_not_equal(one.bits, other.bits, sizeof one.bits);
    assert_int_equal(one.bits[0][0], 8); /* the first point: the widest */
    assert_string_equal(a.stop_reason, "trials");
    itg_engine_result_deinit(&a);
    itg_engine_result_deinit(&b);
}

static void a_limit_of_trials_gives_a_prefix(void **state)
{
    (void)state;
    static record all, some;
    toy t = {.penalty = {0.002, 0.003, 0.001, 0.004}};
    itg_engine_result a = run("hago-greedy", &t, 0.9, 0, 7, 1, &all),
                      b = run("hago-greedy", &t, 0.9, 9, 7, 2, &some);
    assert_int_equal(some.count, 9);
    assert_memory_equal(all.bits, some.bits, 9 * sizeof all.bits[0]);
    itg_engine_result_deinit(&a);
    itg_engine_result_deinit(&b);
}

static itg_status count_calls(void *context, const int32_t *bits, int threads, itg_score *out,
                              itg_error *err)
{
    toy *t = context;
    t->calls++;
    return score_toy(context, bits, threads, out, err);
}

static void a_point_is_evaluated_once(void **state)
{
    (void)state;
    static const int32_t two[] = {4, 8};
    itg_dim dims[DIMS];
    for (int d = 0; d < DIMS; d++)
        dims[d] = (itg_dim){d ? 1 : 2, two, 1};
    itg_search_space space = {DIMS, dims};
    toy t = {.calls = 0};
    itg_engine_options options = {.searcher = itg_searcher_find("random"),
                                  .space = &space,
                                  .quality_floor = 0,
                                  .trials = 64,
                                  .seed = 3,
                                  .threads = 1,
                                  .score = count_calls,
                                  .score_context = &t};
    itg_engine_result result = {0};
    assert_int_equal(itg_engine_run(&options, &result, NULL), ITG_OK);
    assert_int_equal(result.trial_count, 64);
    assert_true(t.calls <= 16); /* two points; a batch of 16 may hold a new one more than once */
    itg_engine_result_deinit(&result);
}

static itg_status fail_score(void *context, const int32_t *bits, int threads, itg_score *out,
                             itg_error *err)
{
    (void)context;
    (void)bits;
    (void)threads;
    (void)out;
    return itg_fail(err, ITG_IO, "the disk is gone");
}

static void a_real_failure_ends_the_search_with_its_message(void **state)
{
    (void)state;
    itg_dim dims[DIMS];
    itg_search_space space = make_space(dims);
    itg_engine_options options = {.searcher = itg_searcher_find("random"),
                                  .space = &space,
                                  .trials = 10,
                                  .threads = 2,
                                  .score = fail_score};
    itg_engine_result result = {0};
    itg_error err = {0};
    assert_int_equal(itg_engine_run(&options, &result, &err), ITG_IO);
    assert_string_equal(err.message, "the disk is gone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hago_greedy_finds_the_optimum_of_a_separable_space),
        cmocka_unit_test(hago_greedy_takes_dimensions_by_size_and_goes_on_after_a_refusal),
        cmocka_unit_test(infeasible_points_are_told_and_never_the_best),
        cmocka_unit_test(the_same_trials_on_any_number_of_threads),
        cmocka_unit_test(another_seed_gives_other_trials),
        cmocka_unit_test(a_limit_of_trials_gives_a_prefix),
        cmocka_unit_test(a_point_is_evaluated_once),
        cmocka_unit_test(a_real_failure_ends_the_search_with_its_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
