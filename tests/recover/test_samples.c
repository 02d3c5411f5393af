/* How many samples are used where nothing is stated. */
#include "recover/recover.h"
#include "../hardware/helpers.h"

/* Returns the samples of a network that is one product of these shapes. */
static int64_t samples_of(const char *input, const char *weights, const char *output)
{
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", input), w = add_constant(g, "w", weights);
    finish(g, x, ADD_NODE(g, ITG_OP_MATMUL, "m", output, NULL, x, w));
    const int64_t samples = itg_recover_samples(g, 0);
    assert_int_equal(itg_recover_samples(g, 7), 7);
    itg_graph_destroy(g);
    return samples;
}

static void small_networks_take_more(void **state)
{
    (void)state;
    assert_int_equal(samples_of("1,10", "10,10", "1,10"), 4096);
    /* 3.5e10 / (20,000,001 + 32 * 12,000) */
    assert_int_equal(samples_of("1,2000", "2000,10000", "1,10000"), 1717);
    assert_int_equal(samples_of("100,2000", "2000,1000", "100,1000"), 1024);
}

static void large_samples_are_fewer(void **state)
{
    (void)state;
    assert_int_equal(samples_of("16000,2", "2,1", "16000,1"), 1999); /* 64e6 / 32,001 */
    assert_int_equal(samples_of("1000000,2", "2,1", "1000000,1"), 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_networks_take_more),
                                       cmocka_unit_test(large_samples_are_fewer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
