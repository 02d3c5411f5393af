/* Branch and bound against all choices of small problems; allocate under two limits against all
 * points of a small space. */
#include "search/choices.h"
#include "search/forecast.h"
#include "search/points.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { GROUPS = 5, ITEMS = 5, LIMITS = 3, ALL = GROUPS * ITEMS, MANY = 1000000 };

typedef struct problem {
    int32_t first[GROUPS + 1];
    double value[ALL], use[LIMITS][ALL];
    itg_choices choices;
} problem;

static double number(itg_rng *rng, uint32_t numbers)
{
    return (double)itg_rng_below(rng, numbers) / 7;
}

/* Few different numbers, so that many choices are equal. */
static void make_problem(problem *p, itg_rng *rng, uint32_t numbers)
{
    *p = (problem){.choices.groups = (int32_t)itg_rng_below(rng, GROUPS + 1)};
    for (int32_t g = 0; g < p->choices.groups; g++)
        p->first[g + 1] = p->first[g] + 1 + (int32_t)itg_rng_below(rng, ITEMS);
    for (int32_t i = 0; i < p->first[p->choices.groups]; i++) {
        p->value[i] = number(rng, numbers);
        for (int k = 0; k < LIMITS; k++)
            p->use[k][i] = number(rng, numbers) - 1;
    }
    for (int32_t g = 0; g < p->choices.groups; g++)
        if (p->first[g + 1] - p->first[g] > 1 && itg_rng_below(rng, 4) == 0)
            p->value[p->first[g]] = INFINITY;
    p->choices.first = p->first;
    p->choices.value = p->value;
    p->choices.limits = (int32_t)itg_rng_below(rng, LIMITS + 1);
    for (int32_t k = 0; k < p->choices.limits; k++) {
        p->choices.use[k] = p->use[k];
        p->choices.most[k] = itg_rng_below(rng, 8) ? number(rng, 3 * numbers) - 2 : INFINITY;
    }
}

static bool keeps_limits(const problem *p, const int32_t *items)
{
    for (int32_t k = 0; k < p->choices.limits; k++) {
        double sum = 0;
        for (int32_t g = 0; g < p->choices.groups; g++)
            sum += p->use[k][p->first[g] + items[g]];
        if (sum > p->choices.most[k] + 1e-9) return false;
    }
    return true;
}

static double value_of(const problem *p, const int32_t *items)
{
    double sum = 0;
    for (int32_t g = 0; g < p->choices.groups; g++)
        sum += p->value[p->first[g] + items[g]];
    return sum;
}

/* INFINITY: no choice keeps the limits. */
static double least_of_all(const problem *p)
{
    int32_t items[GROUPS] = {0};
    double least = INFINITY;
    for (int32_t g = 0; g < p->choices.groups;) {
        if (keeps_limits(p, items)) least = fmin(least, value_of(p, items));
        for (g = 0; g < p->choices.groups && ++items[g] == p->first[g + 1] - p->first[g]; g++)
            items[g] = 0;
    }
    return p->choices.groups == 0 && keeps_limits(p, items) ? 0 : least;
}

static void it_is_the_best_of_all_choices(void **state)
{
    itg_rng rng;
    int found = 0, none = 0;
    (void)state;
    itg_rng_init(&rng, 1);
    for (int i = 0; i < 3000; i++) {
        problem p;
        int32_t items[GROUPS + 1] = {0};
        itg_choices_answer answer;
        make_problem(&p, &rng, i % 2 ? 3 : 1000);
        double least = least_of_all(&p);
        assert_int_equal(itg_choices_solve(&p.choices, MANY, items, &answer, NULL), ITG_OK);
        assert_int_equal(answer.found, least < INFINITY);
        if (answer.found) {
            assert_true(keeps_limits(&p, items) && answer.gap == 0);
            assert_true(fabs(answer.value - least) < 1e-9);
            assert_true(answer.value == value_of(&p, items));
        }
        found += answer.found;
        none += !answer.found;
    }
    assert_true(found > 500 && none > 500);
}

/* What a few nodes find may be above the best, by no more than the gap says. */
static void fewer_nodes_leave_a_gap_that_is_true(void **state)
{
    itg_rng rng;
    int open = 0, worse = 0;
    (void)state;
    itg_rng_init(&rng, 2);
    for (int i = 0; i < 3000; i++) {
        problem p;
        int32_t items[GROUPS + 1] = {0};
        itg_choices_answer answer;
        make_problem(&p, &rng, 1000);
        double least = least_of_all(&p);
        assert_int_equal(itg_choices_solve(&p.choices, 6, items, &answer, NULL), ITG_OK);
        if (!answer.found) continue;
        assert_true(keeps_limits(&p, items));
        assert_true(answer.value >= least - 1e-9 && answer.value - answer.gap <= least + 1e-9);
        open += answer.gap > 0;
        worse += answer.value > least + 1e-9;
    }
    assert_true(open > 50 && worse > 10);
}

static void a_group_without_an_item_is_refused(void **state)
{
    static const int32_t first[] = {0, 1, 2};
    static const double value[] = {1, INFINITY};
    const itg_choices c = {.groups = 2, .first = first, .value = value};
    int32_t items[2];
    itg_choices_answer answer;
    itg_error err = {0};
    (void)state;
    assert_int_equal(itg_choices_solve(&c, MANY, items, &answer, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "no width that can be run"));
}

static void forecasts_are_pearsons_correlation(void **state)
{
    static const double predicted[] = {1, 2, 3, 4, 5}, measured[] = {2, 1, 4, 3, 5};
    itg_forecasts f = {0};
    (void)state;
    for (int i = 0; i < 5; i++) {
        itg_forecasts_add(&f, predicted[i], measured[i]);
        itg_forecasts_add(&f, NAN, 3);
        itg_forecasts_add(&f, 3, INFINITY);
    }
    assert_int_equal(itg_forecasts_summary(&f).count, 5);
    assert_true(fabs(itg_forecasts_summary(&f).correlation - 0.8) < 1e-12);
    f = (itg_forecasts){0};
    for (int i = 0; i < 5; i++)
        itg_forecasts_add(&f, predicted[i], 7 - 1000 * predicted[i]);
    assert_true(fabs(itg_forecasts_summary(&f).correlation + 1) < 1e-12);
    f = (itg_forecasts){0};
    itg_forecasts_add(&f, 1, 1);
    itg_forecasts_add(&f, 2, 2);
    assert_true(isnan(itg_forecasts_summary(&f).correlation)); /* of two any is one */
}

/* ---- allocate under two limits ---- */

enum { DIMS = 4, WIDTHS = 7 };
static const int32_t widths[WIDTHS] = {2, 3, 4, 5, 6, 7, 8};
static const double bytes[DIMS] = {10, 400, 60, 200}, operations[DIMS] = {300, 20, 90, 40},
                    penalties[DIMS] = {0.003, 0.0011, 0.0017, 0.0007};

/* Limits of bytes and of operations; every choice loses by the square of the bits that it lacks. */
static itg_outcome outcome_of(const int32_t *levels, double most_bytes, double most_operations,
                              bool maximize)
{
    double size = 0, work = 0, lost = 0;
    for (int d = 0; d < DIMS; d++) {
        const int32_t bits = widths[levels[d]];
        size += bytes[d] * bits;
        work += operations[d] * bits;
        lost += penalties[d] * (8 - bits) * (8 - bits);
    }
    itg_outcome o = {.feasible = true,
                     .quality = 1 - lost,
                     .distortion = lost,
                     .cost = size,
                     .limits = {size / most_bytes, work / most_operations},
                     .limit_count = 2};
    if (maximize)
        o.cost = fmax(o.limits[0], o.limits[1]);
    else
        o.violation = fmax(0, o.limits[0] - 1) + fmax(0, o.limits[1] - 1);
    return o;
}

static bool is_better(const itg_outcome *a, const itg_outcome *b, const itg_searcher_options *o)
{
    if (!itg_outcome_is_good(a, o)) return false;
    if (!itg_outcome_is_good(b, o)) return true;
    return o->maximize_quality ? a->quality > b->quality : a->cost < b->cost;
}

static itg_outcome best_of_all(double most_bytes, double most_operations,
                               const itg_searcher_options *o)
{
    itg_outcome best = {.feasible = false};
    int32_t levels[DIMS] = {0};
    for (int d = 0; d < DIMS;) {
        itg_outcome now = outcome_of(levels, most_bytes, most_operations, o->maximize_quality);
        if (is_better(&now, &best, o)) best = now;
        for (d = 0; d < DIMS && ++levels[d] == WIDTHS; d++)
            levels[d] = 0;
    }
    return best;
}

/* How many points allocate asks for until it has asked for one as good; 0: it never does. */
static int asks_until(double most_bytes, double most_operations, const itg_searcher_options *given,
                      double levels_alone, const itg_outcome *wanted, itg_forecast *told)
{
    const itg_searcher_def *def = itg_searcher_find("allocate");
    itg_searcher_options o = *given;
    itg_dim dims[DIMS];
    for (int d = 0; d < DIMS; d++)
        dims[d] = (itg_dim){WIDTHS, widths, true, bytes[d] + operations[d], 0};
    const itg_search_space space = {DIMS, dims};
    int32_t levels[16][DIMS];
    void *memory = calloc(1, def->state_size);
    itg_status status = ITG_OK;
    int asked = 0, found = 0;
    itg_interest interest = ITG_INTEREST_ALL;
    itg_searcher_defaults(def, o.parameters);
    o.parameters[0] = levels_alone;
    assert_int_equal(def->init(memory, &space, &o, NULL), ITG_OK);
    while (status != ITG_END) {
        int count = 0;
        while (count < def->outstanding &&
               (status = def->ask(memory, NULL, levels[count], &interest)) == ITG_OK)
            count++;
        assert_true(status == ITG_OK || status == ITG_WAIT || status == ITG_END);
        for (int i = 0; i < count; i++) {
            itg_outcome now =
                outcome_of(levels[i], most_bytes, most_operations, o.maximize_quality);
            asked++;
            if (!found && !is_better(wanted, &now, &o) && itg_outcome_is_good(&now, &o))
                found = asked;
            assert_int_equal(def->tell(memory, levels[i], &now), ITG_OK);
        }
    }
    def->forecast(memory, told);
    def->deinit(memory);
    free(memory);
    return found;
}

/* Where each level was measured alone, its terms are true, and so is its choice. */
static void allocate_finds_what_trying_all_points_finds_under_two_limits(void **state)
{
    static const double limits[][2] = {{4000, 2400}, {2200, 3400}, {3000, 2000}, {2500, 2500}};
    const itg_searcher_options minimize = {.quality_floor = 0.9},
                               maximize = {.maximize_quality = true,
                                           .quality_floor = -INFINITY,
                                           .cost_limit = 1};
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (int m = 0; m < 2; m++) {
            const itg_searcher_options *o = m ? &maximize : &minimize;
            itg_outcome best = best_of_all(limits[i][0], limits[i][1], o);
            itg_forecast told;
            if (!best.feasible) continue;
            int asks = asks_until(limits[i][0], limits[i][1], o, WIDTHS, &best, &told);
            if (asks == 0 || asks > 45)
                fail_msg("limits %g, %g, %s: %d", limits[i][0], limits[i][1],
                         m ? "maximizing" : "minimizing", asks);
            assert_true(told.count > 0 && told.gap == 0);
            assert_true(told.count < 3 || told.correlation > 0.999);
            /* With fewer, it comes near. */
            itg_outcome near = best;
            near.cost *= m ? 1 : 1.03;
            near.quality -= m ? 0.01 : 0;
            asks = asks_until(limits[i][0], limits[i][1], o, 3, &near, &told);
            if (asks == 0 || asks > 40)
                fail_msg("limits %g, %g, %s, 3 levels: %d", limits[i][0], limits[i][1],
                         m ? "maximizing" : "minimizing", asks);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_best_of_all_choices),
        cmocka_unit_test(fewer_nodes_leave_a_gap_that_is_true),
        cmocka_unit_test(a_group_without_an_item_is_refused),
        cmocka_unit_test(forecasts_are_pearsons_correlation),
        cmocka_unit_test(allocate_finds_what_trying_all_points_finds_under_two_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
