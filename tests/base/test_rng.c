#include "cmocka_base.h"
#include "base/base.h"

/* splitmix64's published outputs for seed 1234567. */
static void seeding_is_splitmix64(void **state)
{
    (void)state;
    static const uint64_t expected[4] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973), UINT64_C(9817491932198370423),
        UINT64_C(4593380528125082431)};
    itg_rng rng;
    itg_rng_init(&rng, 1234567);
    assert_memory_equal(rng.state, expected, sizeof expected);
}

/* The reference implementation's outputs from state {1,2,3,4}. */
static void outputs_are_xoshiro256_starstar(void **state)
{
    (void)state;
    static const uint64_t expected[10] = {11520,
                                          0,
                                          1509978240,
                                          UINT64_C(1215971899390074240),
                                          UINT64_C(1216172134540287360),
                                          UINT64_C(607988272756665600),
                                          UINT64_C(16172922978634559625),
                                          UINT64_C(8476171486693032832),
                                          UINT64_C(10595114339597558777),
                                          UINT64_C(2904607092377533576)};
    itg_rng rng = {{1, 2, 3, 4}};
    for (int i = 0; i < 10; i++)
        assert_true(itg_rng_next(&rng) == expected[i]);
}

/* Of 2^64 draws 2^63-1 are one too many for 2^63+1 equal shares: those must be drawn again. */
static void below_draws_again_what_would_bias(void **state)
{
    (void)state;
    const uint64_t bound = (UINT64_C(1) << 63) + 1, rejected = (UINT64_C(1) << 63) - 1;
    itg_rng rng, copy;
    itg_rng_init(&rng, 5);
    copy = rng;
    int again = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t x = itg_rng_next(&copy);
        for (; x < rejected; again++)
            x = itg_rng_next(&copy);
        assert_true(itg_rng_below(&rng, bound) == (x < bound ? x : x - bound));
    }
    assert_in_range(again, 800, 1200);
}

static void below_is_within_its_bound_and_reaches_all_of_it(void **state)
{
    (void)state;
    static const int expected[12] = {4, 4, 8, 4, 4, 1, 6, 6, 8, 9, 3, 6};
    itg_rng rng;
    itg_rng_init(&rng, 7);
    for (int i = 0; i < 12; i++)
        assert_int_equal(itg_rng_below(&rng, 10), expected[i]);
    int count[10] = {0};
    for (int i = 0; i < 10000; i++)
        count[itg_rng_below(&rng, 10)]++;
    for (int i = 0; i < 10; i++)
        assert_in_range(count[i], 850, 1150);
    assert_int_equal(itg_rng_below(&rng, 1), 0);
}

static void unit_takes_53_bits(void **state)
{
    (void)state;
    static const double expected[3] = {0x1.5780b2e0c2ec0p-4, 0x1.84136619b444ep-2,
                                       0x1.5c2ea66473c93p-1};
    itg_rng rng;
    itg_rng_init(&rng, 42);
    for (int i = 0; i < 3; i++)
        assert_true(itg_rng_unit(&rng) == expected[i]);
    for (int i = 0; i < 10000; i++) {
        double x = itg_rng_unit(&rng);
        assert_true(x >= 0 && x < 1);
    }
}

static void shuffle_is_fisher_yates_from_the_end(void **state)
{
    (void)state;
    static const uint32_t expected[10] = {8, 3, 9, 0, 7, 2, 1, 6, 5, 4};
    uint32_t items[10];
    for (uint32_t i = 0; i < 10; i++)
        items[i] = i;
    itg_rng rng;
    itg_rng_init(&rng, 7);
    itg_rng_shuffle(&rng, items, 10);
    assert_memory_equal(items, expected, sizeof expected);
    itg_rng before = rng;
    itg_rng_shuffle(&rng, items, 1);
    itg_rng_shuffle(&rng, NULL, 0);
    assert_memory_equal(&rng, &before, sizeof rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeding_is_splitmix64),
        cmocka_unit_test(outputs_are_xoshiro256_starstar),
        cmocka_unit_test(below_draws_again_what_would_bias),
        cmocka_unit_test(below_is_within_its_bound_and_reaches_all_of_it),
        cmocka_unit_test(unit_takes_53_bits),
        cmocka_unit_test(shuffle_is_fisher_yates_from_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
