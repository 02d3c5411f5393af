/* A run has one writer at a time: who it is stands in the log, and whoever is gone is replaced. */
#include "log_case.h"

static itg_holder_state told; /* what the caller says of another holder */
static itg_run_holder asked;

static itg_holder_state state_of(const itg_run_holder *other)
{
    asked.process = other->process;
    return told;
}

static itg_run_claim a_claim(int64_t process, int64_t now)
{
    itg_run_claim claim = {.self = {"host", "place", process, "77", "2024-05-06T07:08:09Z"},
                           .now = now,
                           .state = state_of};
    return claim;
}

static itg_status take(itg_run_log *log, int64_t run, int64_t process, int64_t now, itg_error *err)
{
    itg_run_claim claim = a_claim(process, now);
    return itg_run_log_take(log, run, &claim, err);
}

static void assert_leases(const char *sql, const char *expected)
{
    char text[64];
    look(sql, text, sizeof text);
    assert_string_equal(text, expected);
}

static void a_living_holder_is_named_and_left_alone(void **state)
{
    (void)state;
    itg_run_log *first = open_log(), *second = open_log();
    itg_error err = {0};
    int64_t run = begin_run(first);
    assert_int_equal(take(first, run, 11, 1000, NULL), ITG_OK);
    told = ITG_HOLDER_LIVES;
    asked.process = 0;
    assert_int_equal(take(second, run, 22, 999999, &err), ITG_BAD_ARGUMENT);
    assert_int_equal(asked.process, 11);
    assert_non_null(strstr(err.message, "runs.db: run 1 is being written by process 11 on host, "
                                        "since 2024-05-06T07:08:09Z"));
    itg_run_claim claim = a_claim(22, 1000);
    assert_int_equal(itg_run_log_check_free(second, run, &claim, NULL), ITG_BAD_ARGUMENT);
    add_trial(first, run, 0, 0);
    assert_int_equal(itg_run_log_close(first, NULL), ITG_OK);
    assert_leases("SELECT count(*) FROM leases", "0");
    assert_int_equal(take(second, run, 22, 1000, NULL), ITG_OK);
    assert_leases("SELECT process FROM leases", "22");
    assert_int_equal(itg_run_log_close(second, NULL), ITG_OK);
}

/* The first one wakes up again: what it writes is refused, and the other's is whole. */
static void who_is_gone_is_replaced_and_writes_no_more(void **state)
{
    (void)state;
    itg_run_log *first = open_log(), *second = open_log();
    itg_error err = {0};
    itg_trial trial = a_trial(1);
    itg_run_end end = {.stop_reason = "exhausted", .best_trial = -1};
    int64_t run = begin_run(first);
    assert_int_equal(take(first, run, 11, 1000, NULL), ITG_OK);
    add_trial(first, run, 0, 0);
    assert_int_equal(itg_run_log_commit(first, NULL), ITG_OK);
    told = ITG_HOLDER_GONE;
    assert_int_equal(take(second, run, 22, 1000, NULL), ITG_OK);
    assert_int_equal(itg_run_log_trial(first, run, &trial, 5, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "taken over"));
    assert_int_equal(itg_run_log_end_run(first, run, &end, NULL), ITG_BAD_ARGUMENT);
    assert_int_equal(itg_run_log_renew(first, 1001, NULL), ITG_BAD_ARGUMENT);
    assert_int_equal(itg_run_log_close(first, NULL), ITG_OK);
    assert_leases("SELECT process FROM leases", "22");
    assert_leases("SELECT count(*) FROM trials", "1");
    add_trial(second, run, 1, 0);
    assert_int_equal(itg_run_log_end_run(second, run, &end, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(second, NULL), ITG_OK);
}

/* On another machine: by the time of the last renewal. */
static void who_cannot_be_seen_holds_it_while_it_renews(void **state)
{
    (void)state;
    itg_run_log *first = open_log(), *second = open_log();
    int64_t run = begin_run(first);
    told = ITG_HOLDER_UNKNOWN;
    assert_int_equal(take(first, run, 11, 1000, NULL), ITG_OK);
    assert_int_equal(take(second, run, 22, 1000 + ITG_LOG_LEASE_S - 1, NULL), ITG_BAD_ARGUMENT);
    assert_int_equal(itg_run_log_renew(first, 1000 + ITG_LOG_LEASE_S, NULL), ITG_OK);
    assert_int_equal(take(second, run, 22, 1000 + 2 * ITG_LOG_LEASE_S - 1, NULL), ITG_BAD_ARGUMENT);
    assert_int_equal(take(second, run, 22, 1000 + 2 * ITG_LOG_LEASE_S, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(first, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(second, NULL), ITG_OK);
}

static void other_runs_and_the_same_process_are_free(void **state)
{
    (void)state;
    itg_run_log *first = open_log(), *second = open_log();
    int64_t a = begin_run(first), b = begin_run(first);
    told = ITG_HOLDER_LIVES;
    assert_int_equal(take(first, a, 11, 1000, NULL), ITG_OK);
    assert_int_equal(take(second, b, 22, 1000, NULL), ITG_OK);
    assert_int_equal(take(first, a, 11, 1000, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(first, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(second, NULL), ITG_OK);
}

/* Place and start tell processes of one number apart; a lease that lacks something holds nothing.
 */
static void a_holder_is_its_process_place_and_start(void **state)
{
    (void)state;
    itg_run_log *log = open_log(), *other = open_log();
    int64_t run = begin_run(log);
    told = ITG_HOLDER_LIVES;
    assert_int_equal(take(log, run, 11, 1000, NULL), ITG_OK);
    itg_run_claim same = a_claim(11, 1000), elsewhere = same, later = same;
    elsewhere.self.place = "another place";
    later.self.started = "78";
    assert_int_equal(itg_run_log_check_free(other, run, &same, NULL), ITG_OK);
    assert_int_equal(itg_run_log_check_free(other, run, &elsewhere, NULL), ITG_BAD_ARGUMENT);
    assert_int_equal(itg_run_log_check_free(other, run, &later, NULL), ITG_BAD_ARGUMENT);
    same.self.host = "another name of the host";
    same.self.since = "2025-01-01T00:00:00Z";
    assert_int_equal(itg_run_log_check_free(other, run, &same, NULL), ITG_OK);
    assert_int_equal(itg_run_log_check_free(other, run + 1, &later, NULL), ITG_OK);
    assert_sees("SELECT host || place || process || started || since || renewed FROM leases",
                "hostplace11772024-05-06T07:08:09Z1000");
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(other, NULL), ITG_OK);
}

/* A clock that was put back does not hold a run for ever. */
static void a_renewal_of_long_ago_or_of_the_future_does_not_count(void **state)
{
    (void)state;
    itg_run_log *first = open_log(), *second = open_log();
    int64_t run = begin_run(first);
    told = ITG_HOLDER_UNKNOWN;
    assert_int_equal(take(first, run, 11, 100000, NULL), ITG_OK);
    static const struct {
        int64_t age;
        bool free;
    } cases[] = {{0, false},
                 {ITG_LOG_LEASE_S - 1, false},
                 {ITG_LOG_LEASE_S, true},
                 {1 - ITG_LOG_LEASE_S, false},
                 {-ITG_LOG_LEASE_S, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_run_claim claim = a_claim(22, 100000 + cases[i].age);
        assert_int_equal(itg_run_log_check_free(second, run, &claim, NULL),
                         cases[i].free ? ITG_OK : ITG_BAD_ARGUMENT);
    }
    assert_int_equal(itg_run_log_close(first, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(second, NULL), ITG_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_living_holder_is_named_and_left_alone, remove_log),
        cmocka_unit_test_teardown(who_is_gone_is_replaced_and_writes_no_more, remove_log),
        cmocka_unit_test_teardown(who_cannot_be_seen_holds_it_while_it_renews, remove_log),
        cmocka_unit_test_teardown(other_runs_and_the_same_process_are_free, remove_log),
        cmocka_unit_test_teardown(a_holder_is_its_process_place_and_start, remove_log),
        cmocka_unit_test_teardown(a_renewal_of_long_ago_or_of_the_future_does_not_count,
                                  remove_log),
    };
    if (enter_folder("lease") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
