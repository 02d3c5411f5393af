/* The nth allocation fails while a certificate is derived, written, compared. */
#include "networks.h"
#include <stdlib.h>
#include <sys/stat.h>
#include "random_program.h"
#include "tests/faults.h"
#include "tests/slow.h"

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

/* ---- C source ---- */

#define SOURCE TEST_FOLDER "/source_faults"

static bool source_certifies(int left)
{
    itg_error err = {ITG_OK, ""};
    calls_left = left;
    itg_status status = itg_certify_source(SOURCE, "net", &err);
    bool spared = calls_left >= 0;
    calls_left = -1;
    assert_int_equal(status, spared ? ITG_OK : ITG_NO_MEMORY);
    assert_int_equal(err.code, status);
    return spared;
}

static bool source_verifies(int left)
{
    itg_error err = {ITG_OK, ""};
    itg_verification *v = NULL;
    calls_left = left;
    itg_status status = itg_verify_source(SOURCE, "net", &v, &err);
    bool spared = calls_left >= 0;
    calls_left = -1;
    assert_int_equal(status, spared ? ITG_OK : ITG_NO_MEMORY);
    assert_int_equal(v != NULL, spared);
    if (spared) assert_int_equal(itg_verification_problem_count(v), 0);
    itg_verification_destroy(v);
    return spared;
}

static void every_allocation_may_fail_for_c_source(void **state)
{
    int emitted = 0;
    (void)state;
    (void)mkdir(SOURCE, 0777);
    for (uint64_t seed = 1; seed <= (ITG_IS_SLOW ? 1 : 2); seed++) {
        itg_program *p = random_integer_program(seed);
        itg_emit_vectors vectors = {1, NULL};
        if (itg_program_emit_c(p, "net", &vectors, SOURCE, NULL, NULL) == ITG_OK) {
            emitted++;
            assert_int_equal(itg_artefact_write(p, NULL, 0, SOURCE "/net.itg", NULL), ITG_OK);
            assert_int_equal(itg_certify(SOURCE "/net.itg", SOURCE "/net.itg.cert.json", NULL),
                             ITG_OK);
            int n = 0, m = 0;
            while (!source_certifies(n))
                n += ITG_IS_SLOW ? 3 : 1;
            while (!source_verifies(m))
                m += ITG_IS_SLOW ? 3 : 1;
            assert_true(n >= 10 && m >= 20);
        }
        itg_program_destroy(p);
    }
    assert_true(emitted > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail),
                                       cmocka_unit_test(every_allocation_may_fail_for_c_source)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
