/* The nth allocation of every searcher fails: it says so and leaves nothing behind. */
#include "toys.h"
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>
#include "tests/faults.h"

static void every_searcher_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (int k = 0; itg_searcher_at(k); k++) {
        itg_status status = ITG_NO_MEMORY;
        for (int nth = 0; status != ITG_OK; nth++) {
            calls_left = nth;
            const itg_searcher_def *def = itg_searcher_at(k);
            int64_t budget = def->takes_past ? 24 : 200; /* it allocates the same for each batch */
            toy_result r = toy_search(&toys[TOY_COARSE], def, 1, budget, TOY_TELL_ALL);
            bool failed = calls_left < 0;
            calls_left = -1;
            status = r.status;
            assert_int_equal(status, failed ? ITG_NO_MEMORY : ITG_OK);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_searcher_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
