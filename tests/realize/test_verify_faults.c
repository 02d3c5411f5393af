/* The nth allocation fails while a certificate is derived, written, compared. */
#include "networks.h"
#include <stdlib.h>
#include "tests/faults.h"

#define PATH TEST_FOLDER "/verify_faults.itg"
#define CERTIFICATE PATH ".cert.json"

static const network networks[] = NETWORKS;
enum { NETWORK_COUNT = sizeof networks / sizeof *networks };

static bool certifies(int left)
{
    itg_error err = {ITG_OK, ""};
    calls_left = left;
    itg_status status = itg_certify(PATH, CERTIFICATE, &err);
    bool spared = calls_left >= 0;
    calls_left = -1;
    assert_int_equal(status, spared ? ITG_OK : ITG_NO_MEMORY);
    assert_int_equal(err.code, status);
    return spared;
}

static bool verifies(int left)
{
    itg_error err = {ITG_OK, ""};
    itg_verification *v = NULL;
    calls_left = left;
    itg_status status = itg_verify(PATH, NULL, &v, &err);
    bool spared = calls_left >= 0;
    calls_left = -1;
    assert_int_equal(status, spared ? ITG_OK : ITG_NO_MEMORY);
    assert_int_equal(v != NULL, spared);
    if (spared) assert_int_equal(itg_verification_problem_count(v), 0);
    itg_verification_destroy(v);
    return spared;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int i = 0; i < NETWORK_COUNT; i++) {
        fixture f = networks[i]();
        itg_program *p = fx_program(&f);
        assert_int_equal(itg_artefact_write(p, NULL, 0, PATH, NULL), ITG_OK);
        int n = 0, m = 0;
        while (!certifies(n))
            n++;
        while (!verifies(m))
            m++;
        assert_true(n >= 10 && m >= 20);
        itg_program_destroy(p);
        fx_end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
