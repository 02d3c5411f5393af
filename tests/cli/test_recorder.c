/* The recorder's thread: what waits is committed and the lease is renewed while no trial ends. */
#include "tests/logs/log_case.h"
#include "cli/common.h"
#include "cli/recorder.h"
#include <stdatomic.h>
#include <time.h>

/* Stands in for the clock of cli/common.c: every look at it finds a lease's time gone. */
static atomic_int looks;
double itg_cli_now(void)
{
    return ITG_LOG_LEASE_S * ++looks;
}

static itg_cli_recorder *open_recorder(void)
{
    itg_run_info info = an_info();
    itg_cli_recorder *r = NULL;
    itg_error err = {0};
    if (itg_cli_recorder_open(LOG, &info, &r, &err) != ITG_OK) fail_msg("%s", err.message);
    return r;
}

static itg_status record(itg_cli_recorder *r, int64_t index, itg_error *err)
{
    itg_trial trial = a_trial(index);
    return itg_cli_recorder_trial(r, &trial, 0, err);
}

/* Whether another program finds what it waits for, in time. */
static bool comes(const char *sql, const char *expected)
{
    char got[64];
    for (int i = 0; i < 3000; i++) {
        look(sql, got, sizeof got);
        if (strcmp(got, expected) == 0) return true;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return false;
}

static void what_waits_is_committed_although_no_trial_follows(void **state)
{
    (void)state;
    itg_cli_recorder *r = open_recorder();
    for (int64_t i = 0; i < 3; i++)
        assert_int_equal(record(r, i, NULL), ITG_OK);
    assert_true(comes("SELECT count(*) FROM trials", "3"));
    assert_int_equal(itg_cli_recorder_close(r, NULL), ITG_OK);
}

static void the_lease_is_renewed(void **state)
{
    (void)state;
    itg_cli_recorder *r = open_recorder();
    char at_first[32], sql[96];
    look("SELECT renewed FROM leases", at_first, sizeof at_first);
    snprintf(sql, sizeof sql, "SELECT renewed > %s FROM leases", at_first);
    assert_true(comes(sql, "1"));
    assert_int_equal(itg_cli_recorder_close(r, NULL), ITG_OK);
    assert_sees("SELECT count(*) FROM leases", "0");
}

static void what_the_thread_cannot_do_is_told(void **state)
{
    (void)state;
    itg_cli_recorder *r = open_recorder();
    itg_error err = {0};
    char got[32];
    look("UPDATE leases SET process = 1, started = 'then' RETURNING process", got, sizeof got);
    for (int before = looks; looks < before + 2;) /* the thread has tried to renew it */
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_int_equal(itg_cli_recorder_close(r, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "run 1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_waits_is_committed_although_no_trial_follows, remove_log),
        cmocka_unit_test_teardown(the_lease_is_renewed, remove_log),
        cmocka_unit_test_teardown(what_the_thread_cannot_do_is_told, remove_log),
    };
    if (enter_folder("recorder") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() == 0 ? failed : 1;
}
