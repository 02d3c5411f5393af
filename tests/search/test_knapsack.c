/* The knapsack against all choices of small problems. */
#include "search/knapsack.h"
#include <math.h>
#include <setjmp.h>
#include <cmocka.h>

enum { GROUPS = 5, ITEMS = 5, MOST = 4096 };

typedef struct problem {
    int32_t groups, first[GROUPS + 1];
    itg_knapsack_item items[GROUPS * ITEMS];
} problem;

/* Few different numbers, so that many choices are equal in one of the two. */
static problem random_problem(itg_rng *rng, uint32_t numbers)
{
    problem p = {.groups = (int32_t)(itg_rng_next(rng) % (GROUPS + 1))};
    for (int32_t g = 0; g < p.groups; g++) {
        int32_t count = 1 + (int32_t)(itg_rng_next(rng) % ITEMS);
        p.first[g + 1] = p.first[g] + count;
        for (int32_t i = p.first[g]; i < p.first[g + 1]; i++) {
            p.items[i].cost = (double)(itg_rng_next(rng) % numbers) - 2;
            p.items[i].loss = (double)(itg_rng_next(rng) % numbers);
            if (i > p.first[g] && itg_rng_next(rng) % 8 == 0) p.items[i].loss = INFINITY;
        }
    }
    return p;
}

static itg_knapsack_item sum_of(const problem *p, const int32_t *items)
{
    itg_knapsack_item sum = {0, 0};
    for (int32_t g = 0; g < p->groups; g++) {
        sum.cost += p->items[p->first[g] + items[g]].cost;
        sum.loss += p->items[p->first[g] + items[g]].loss;
    }
    return sum;
}

static bool next_choice(const problem *p, int32_t *items)
{
    for (int32_t g = 0; g < p->groups; g++) {
        if (++items[g] < p->first[g + 1] - p->first[g]) return true;
        items[g] = 0;
    }
    return false;
}

/* The least cost of no more than this loss. */
static double least_cost(const problem *p, double loss)
{
    int32_t items[GROUPS] = {0};
    double least = INFINITY;
    do {
        itg_knapsack_item sum = sum_of(p, items);
        if (sum.loss <= loss && sum.cost < least) least = sum.cost;
    } while (next_choice(p, items));
    return least;
}

static double found_cost(const itg_knapsack *k, double loss)
{
    double least = INFINITY;
    for (int32_t i = 0; i < itg_knapsack_count(k) && itg_knapsack_at(k, i)->loss <= loss; i++)
        least = itg_knapsack_at(k, i)->cost;
    return least;
}

static void check_front(const problem *p, const itg_knapsack *k)
{
    int32_t items[GROUPS] = {0};
    for (int32_t i = 0; i < itg_knapsack_count(k); i++) {
        const itg_knapsack_choice *c = itg_knapsack_at(k, i);
        itg_knapsack_items(k, i, items);
        itg_knapsack_item sum = sum_of(p, items);
        assert_true(sum.cost == c->cost && sum.loss == c->loss);
        if (i > 0) assert_true(c->loss > c[-1].loss && c->cost < c[-1].cost);
    }
}

static void it_has_the_least_cost_of_all_choices(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 1);
    for (int round = 0; round < 400; round++) {
        problem p = random_problem(&rng, round % 2 ? 7 : 1000);
        itg_knapsack k;
        assert_int_equal(itg_knapsack_solve(p.items, p.first, p.groups, MOST, &k, NULL), ITG_OK);
        assert_true(k.gap == 0);
        check_front(&p, &k);
        for (double loss = 0; loss < 40; loss++) {
            double bound = round % 2 ? loss : 100 * loss;
            assert_true(found_cost(&k, bound) == least_cost(&p, bound));
        }
        itg_knapsack_deinit(&k);
    }
}

static void a_short_list_costs_no_more_than_its_gap(void **state)
{
    itg_rng rng;
    int short_ones = 0;
    (void)state;
    itg_rng_init(&rng, 2);
    for (int round = 0; round < 200; round++) {
        problem p = random_problem(&rng, 1000);
        itg_knapsack k;
        assert_int_equal(itg_knapsack_solve(p.items, p.first, p.groups, 6, &k, NULL), ITG_OK);
        assert_in_range(itg_knapsack_count(&k), 1, 6);
        check_front(&p, &k);
        short_ones += k.gap > 0;
        for (double loss = 0; loss < 4000; loss += 100) {
            double least = least_cost(&p, loss);
            if (least < INFINITY) assert_true(found_cost(&k, loss) <= least + k.gap);
        }
        itg_knapsack_deinit(&k);
    }
    assert_true(short_ones > 20);
}

static void a_group_without_an_item_is_refused(void **state)
{
    const itg_knapsack_item items[] = {{1, 0}, {0, INFINITY}};
    const int32_t first[] = {0, 1, 2};
    itg_knapsack k;
    itg_error err;
    (void)state;
    assert_int_equal(itg_knapsack_solve(items, first, 2, MOST, &k, &err), ITG_BAD_ARGUMENT);
    assert_string_equal(err.message, "a choice has no width that can be run");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_the_least_cost_of_all_choices),
        cmocka_unit_test(a_short_list_costs_no_more_than_its_gap),
        cmocka_unit_test(a_group_without_an_item_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
