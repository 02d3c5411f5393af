/* intaglio doctor: what it finds where all is well, and where something is not. */
#include "driver.h"

static void nothing_is_wrong_here(void **state)
{
    (void)state;
    itg_json *json = run_json("doctor --json");
    assert_true(truth(json, "ok"));
    itg_json_destroy(json);
    outcome o = run("doctor");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "kernels portable   gives the bits of the reference");
    assert_contains(o.out, "journal mode delete");
    done(&o);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    setenv("INTAGLIO_KERNELS", "abacus", 1);
    setenv("TMPDIR", "/nowhere/at/all", 1);
    outcome o = run("doctor");
    assert_int_equal(o.status, 1);
    assert_contains(o.out, "WRONG  kernels in use");
    assert_contains(o.out, "'abacus'");
    assert_contains(o.out, "WRONG  temporary files    /nowhere/at/all: No such file");
    assert_contains(o.out, "2 findings are wrong");
    done(&o);
    o = run("doctor --json");
    assert_int_equal(o.status, 1);
    itg_json *json = parse(o.out);
    assert_false(truth(json, "ok"));
    itg_json_destroy(json);
    done(&o);
    unsetenv("INTAGLIO_KERNELS");
    unsetenv("TMPDIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_wrong_here),
                                       cmocka_unit_test(what_is_wrong_is_named)};
    if (enter_folder("doctor") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
