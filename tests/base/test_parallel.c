#include "cmocka_base.h"
#include <stdatomic.h>
#include <time.h>
#include "base/base.h"

enum { ITEMS = 500, WORKERS = 4 };

typedef struct record {
    atomic_int ran[ITEMS], busy[WORKERS];
    atomic_bool late_has_failed;
    int threads;
    bool is_waiting; /* the early failure waits for the late one */
} record;

static itg_status note(void *context, int worker, int64_t item, itg_error *err)
{
    (void)err;
    record *into = context;
    if (worker < 0 || worker >= into->threads) return ITG_FAILURE;
    /* No two items may be with one worker at a time: its memory is its own. */
    if (atomic_fetch_add(&into->busy[worker], 1) != 0) return ITG_FAILURE;
    atomic_fetch_add(&into->ran[item], 1);
    atomic_fetch_sub(&into->busy[worker], 1);
    return ITG_OK;
}

static void every_item_runs_once_on_a_worker_of_its_own(void **state)
{
    (void)state;
    for (int threads = 1; threads <= WORKERS; threads++) {
        record into = {.threads = threads};
        assert_int_equal(itg_parallel_for(threads, ITEMS, note, &into, NULL), ITG_OK);
        for (int i = 0; i < ITEMS; i++)
            assert_int_equal(atomic_load(&into.ran[i]), 1);
    }
}

static void fewer_items_than_threads_and_none_at_all(void **state)
{
    (void)state;
    record into = {.threads = 2};
    assert_int_equal(itg_parallel_for(WORKERS, 2, note, &into, NULL), ITG_OK);
    assert_int_equal(atomic_load(&into.ran[0]) + atomic_load(&into.ran[1]), 2);
    assert_int_equal(itg_parallel_for(WORKERS, 0, note, &into, NULL), ITG_OK);
    assert_int_equal(itg_parallel_for(0, 1, note, &into, NULL), ITG_OK);
    assert_int_equal(itg_parallel_for(WORKERS, -1, note, &into, NULL), ITG_OK);
    assert_int_equal(atomic_load(&into.ran[0]) + atomic_load(&into.ran[1]), 3);
}

enum { EARLY = 12, LATE = 37, LAST = 499 };

static void wait_for_the_late_failure(record *into)
{
    struct timespec moment = {0, 100000};
    while (!atomic_load(&into->late_has_failed))
        nanosleep(&moment, NULL);
}

static itg_status fail_at_three_items(void *context, int worker, int64_t item, itg_error *err)
{
    record *into = context;
    (void)worker;
    atomic_fetch_add(&into->ran[item], 1);
    if (item == EARLY) {
        if (into->is_waiting) wait_for_the_late_failure(into);
        return itg_fail(err, ITG_UNSUPPORTED, "item %d", EARLY);
    }
    if (item == LATE || item == LAST) {
        itg_status status = itg_fail(err, ITG_LIMIT, "item %d", (int)item);
        atomic_store(&into->late_has_failed, true);
        return status;
    }
    return ITG_OK;
}

static void check_first_failure(int threads, bool is_waiting)
{
    record into = {.threads = threads, .is_waiting = is_waiting};
    itg_error err = {ITG_OK, ""};
    assert_int_equal(itg_parallel_for(threads, ITEMS, fail_at_three_items, &into, &err),
                     ITG_UNSUPPORTED);
    assert_int_equal(err.code, ITG_UNSUPPORTED);
    assert_string_equal(err.message, "item 12");
    for (int i = 0; i < ITEMS; i++)
        assert_in_range(atomic_load(&into.ran[i]), i <= EARLY ? 1 : 0, 1);
}

static void the_first_failing_item_decides_on_any_thread_count(void **state)
{
    (void)state;
    for (int threads = 1; threads <= WORKERS; threads++) {
        for (int repeat = 0; repeat < 50; repeat++)
            check_first_failure(threads, false);
    }
}

/* The later item fails while the earlier one still runs: what is known first is not what is
 * reported. */
static void a_failure_that_comes_late_but_stands_first_is_reported(void **state)
{
    (void)state;
#ifdef HAS_THREADS
    for (int repeat = 0; repeat < 20; repeat++)
        check_first_failure(WORKERS, true);
#else
    print_message("skipped: built without OpenMP\n");
#endif
}

static itg_status fail_silently(void *context, int worker, int64_t item, itg_error *err)
{
    (void)context, (void)worker, (void)err;
    return item == 3 ? ITG_INFEASIBLE : ITG_OK;
}

static void a_failure_without_text_still_sets_the_code(void **state)
{
    (void)state;
    for (int threads = 1; threads <= WORKERS; threads++) {
        itg_error err = {ITG_IO, "stale"};
        assert_int_equal(itg_parallel_for(threads, 9, fail_silently, NULL, &err), ITG_INFEASIBLE);
        assert_int_equal(err.code, ITG_INFEASIBLE);
        assert_string_equal(err.message, "");
        assert_int_equal(itg_parallel_for(threads, 9, fail_silently, NULL, NULL), ITG_INFEASIBLE);
    }
}

static itg_status touch_error_but_succeed(void *context, int worker, int64_t item, itg_error *err)
{
    (void)context, (void)worker, (void)item;
    (void)itg_fail(err, ITG_IO, "tried");
    return ITG_OK;
}

static void success_leaves_the_error_untouched(void **state)
{
    (void)state;
    for (int threads = 1; threads <= WORKERS; threads++) {
        itg_error err = {ITG_OK, "mine"};
        assert_int_equal(itg_parallel_for(threads, 9, touch_error_but_succeed, NULL, &err), ITG_OK);
        assert_string_equal(err.message, "mine");
    }
}

static itg_status note_order(void *context, int worker, int64_t item, itg_error *err)
{
    (void)err;
    int64_t *next = context;
    return worker == 0 && item == (*next)++ ? ITG_OK : ITG_FAILURE;
}

static void one_thread_keeps_the_order(void **state)
{
    (void)state;
    int64_t next = 0;
    assert_int_equal(itg_parallel_for(1, ITEMS, note_order, &next, NULL), ITG_OK);
    assert_int_equal(next, ITEMS);
}

static itg_status nest(void *context, int worker, int64_t item, itg_error *err)
{
    (void)context, (void)worker, (void)item;
    record into = {.threads = WORKERS};
    itg_status status = itg_parallel_for(WORKERS, ITEMS, note, &into, err);
    for (int i = 0; i < ITEMS && status == ITG_OK; i++) {
        if (atomic_load(&into.ran[i]) != 1) status = ITG_FAILURE;
    }
    return status;
}

static void loops_within_loops_are_complete(void **state)
{
    (void)state;
    assert_int_equal(itg_parallel_for(WORKERS, 20, nest, NULL, NULL), ITG_OK);
}

static void thread_counts_are_bounded(void **state)
{
    (void)state;
    assert_int_equal(itg_thread_count(1), 1);
    assert_int_equal(itg_thread_count(256), 256);
    assert_int_equal(itg_thread_count(1000000), 256);
    assert_in_range(itg_thread_count(0), 1, 256);
    assert_int_equal(itg_thread_count(-3), itg_thread_count(0));
}

static void threads_that_the_work_is_not_worth_stay_asleep(void **state)
{
    (void)state;
    assert_int_equal(itg_parallel_threads(8, 0), 1);
    assert_int_equal(itg_parallel_threads(8, 1e4), 1);
    assert_int_equal(itg_parallel_threads(8, 1e300), 8);
    assert_int_equal(itg_parallel_threads(1, 1e300), 1);
    const int some = itg_parallel_threads(256, 1e6);
    assert_true(some > 1 && some < 256);
    assert_true(itg_parallel_threads(256, 2e6) > some);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_runs_once_on_a_worker_of_its_own),
        cmocka_unit_test(fewer_items_than_threads_and_none_at_all),
        cmocka_unit_test(the_first_failing_item_decides_on_any_thread_count),
        cmocka_unit_test(a_failure_that_comes_late_but_stands_first_is_reported),
        cmocka_unit_test(a_failure_without_text_still_sets_the_code),
        cmocka_unit_test(success_leaves_the_error_untouched),
        cmocka_unit_test(one_thread_keeps_the_order),
        cmocka_unit_test(loops_within_loops_are_complete),
        cmocka_unit_test(thread_counts_are_bounded),
        cmocka_unit_test(threads_that_the_work_is_not_worth_stay_asleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
