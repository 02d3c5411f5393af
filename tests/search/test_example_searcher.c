/* The example of docs/adding-a-searcher.md compiles, works, and stands there as it is here. */
#include "toys.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

extern const itg_searcher_def itg_searcher_halving;

static void halving_finds_what_its_order_allows(void **state)
{
    (void)state;
    toy_result r =
        toy_search(&toys[TOY_ONE_DIMENSION], &itg_searcher_halving, 0, 100, TOY_TELL_ALL);
    assert_memory_equal(r.best, toy_optimum(&toys[TOY_ONE_DIMENSION]).best, sizeof r.best);
    assert_int_equal(r.asked, 3); /* seven levels */
    /* Dimension 0 of the convex toy takes 0.036 of 0.1, dimension 1 then 0.048, and so on. */
    const int32_t best[] = {2, 4, 3, 7};
    r = toy_search(&toys[TOY_CONVEX], &itg_searcher_halving, 0, 100, TOY_TELL_ALL);
    assert_memory_equal(r.best, best, sizeof best);
    assert_in_range(r.asked, 1, 12);
}

static void halving_keeps_the_rules(void **state)
{
    (void)state;
    for (int i = 0; i < TOY_COUNT; i++) {
        toy_result all = toy_search(&toys[i], &itg_searcher_halving, 0, 100, TOY_TELL_ALL),
                   raced = toy_search(&toys[i], &itg_searcher_halving, 0, 100, TOY_TELL_RACED);
        assert_int_equal(all.status, ITG_OK);
        assert_true(all.trace == raced.trace);
    }
}

static void the_page_shows_this_file(void **state)
{
    unsigned char *page = NULL, *source = NULL;
    size_t bytes = 0;
    (void)state;
    assert_int_equal(itg_file_read(ITG_PAGE, 1 << 20, &page, &bytes, NULL), ITG_OK);
    assert_int_equal(itg_file_read(ITG_EXAMPLE, 1 << 20, &source, &bytes, NULL), ITG_OK);
    assert_true(bytes > 500);
    assert_non_null(strstr((const char *)page, (const char *)source));
    free(page);
    free(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halving_finds_what_its_order_allows),
        cmocka_unit_test(halving_keeps_the_rules),
        cmocka_unit_test(the_page_shows_this_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
