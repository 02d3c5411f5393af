/* Searchers of fronts, on spaces whose whole front is known; fronts of trials, and hypervolumes. */
#include "search/searcher.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { DIMS = 5, LEVELS = 7, POINTS = 7 * 7 * 7 * 7 * 7, MOST = 600 };

static const int32_t widths[LEVELS] = {2, 3, 4, 5, 6, 7, 8};
static const itg_dim dims[DIMS] = {{LEVELS, widths, true, 10, 0},
                                   {LEVELS, widths, true, 400, 0},
                                   {LEVELS, widths, true, 60, 0},
                                   {LEVELS, widths, true, 200, 0},
                                   {LEVELS, widths, true, 30, 0}};
static const itg_search_space space = {DIMS, dims};

/* Costs as the dimensions have them, at most 1; losses by the square of the bits that are missing,
 * and more where the first two are narrow together. */
static itg_outcome evaluate(const int32_t *levels)
{
    static const double weight[DIMS] = {1, 2, 8, 1, 4};
    double cost = 0, loss = 0;
    for (int d = 0; d < DIMS; d++) {
        double missing = LEVELS - 1 - levels[d];
        cost += dims[d].cost_per_level * widths[levels[d]] / (8 * 700.0);
        loss += weight[d] * missing * missing / 1000;
    }
    if (levels[0] < 3 && levels[1] < 3) loss += 0.1;
    itg_outcome o = {.feasible = true, .quality = 1 - loss, .cost = cost, .distortion = loss};
    o.objectives[0] = cost;
    o.objectives[1] = -o.quality;
    o.objective_count = 2;
    return o;
}

/* What two objectives cover of the box up to cost 1 and a loss of 0.5. */
static double area(const itg_outcome *outcomes, int count)
{
    enum { STEPS = 2000 };
    double sum = 0;
    for (int s = 0; s < STEPS; s++) {
        double cost = (s + 0.5) / STEPS, loss = 0.5;
        for (int i = 0; i < count; i++)
            if (outcomes[i].cost <= cost) loss = fmin(loss, 1 - outcomes[i].quality);
        sum += (0.5 - loss) / 0.5 / STEPS;
    }
    return sum;
}

static double whole_area(void)
{
    static double best = 0;
    itg_outcome *all = malloc(sizeof *all * POINTS);
    int kept = 0;
    if (best > 0 || !all) {
        free(all);
        return best;
    }
    for (int p = 0; p < POINTS; p++) {
        int32_t levels[DIMS];
        for (int d = 0, rest = p; d < DIMS; d++, rest /= LEVELS)
            levels[d] = rest % LEVELS;
        itg_outcome o = evaluate(levels);
        bool beaten = false;
        for (int i = 0; i < kept && !beaten; i++)
            beaten = all[i].cost <= o.cost && all[i].quality >= o.quality;
        if (!beaten) all[kept++] = o;
    }
    best = area(all, kept);
    free(all);
    return best;
}

typedef struct record {
    itg_outcome outcomes[MOST];
    int32_t points[MOST][DIMS];
    int count;
} record;

/* Asks and tells, `window` at a time. */
static void search(const char *name, double floor, int trials, uint64_t seed, int window, record *r)
{
    const itg_searcher_def *def = itg_searcher_find(name);
    itg_searcher_options options = {
        .quality_floor = floor, .trials = trials, .front = true, .shares = true};
    itg_rng rng;
    itg_status status = ITG_OK;
    void *state = calloc(1, def->state_size);
    memset(r, 0, sizeof *r);
    itg_rng_init(&rng, seed);
    itg_searcher_defaults(def, options.parameters);
    assert_int_equal(def->init(state, &space, &options, NULL), ITG_OK);
    int told = 0;
    while (told < trials && status != ITG_END) {
        status = ITG_OK;
        while (r->count < trials && r->count - told < window && status == ITG_OK) {
            itg_interest interest = ITG_INTEREST_ALL;
            status = def->ask(state, &rng, r->points[r->count], &interest);
            assert_true(interest.share == 1);
            assert_true(options.front &&
                        (interest.floor <= -INFINITY || strcmp(name, "random") == 0));
            if (status == ITG_OK) {
                r->outcomes[r->count] = evaluate(r->points[r->count]);
                r->count++;
            }
        }
        assert_true(told < r->count || status == ITG_END);
        for (; told < r->count; told++)
            assert_int_equal(def->tell(state, r->points[told], &r->outcomes[told]), ITG_OK);
    }
    def->deinit(state);
    free(state);
}

/* The share of what the whole front covers. */
static double covered(const record *r)
{
    return area(r->outcomes, r->count) / whole_area();
}

static void sweep_and_evolve_find_most_of_the_front(void **state)
{
    static record r, random;
    (void)state;
    search("random", 0.99, 300, 0, 16, &random);
    search("sweep", 0.99, 300, 0, 8, &r);
    assert_true(covered(&r) > 0.97);
    assert_true(covered(&r) > covered(&random) + 0.02);
    for (uint64_t seed = 0; seed < 3; seed++) {
        search("evolve", 0.99, 400, seed, 16, &r);
        assert_true(covered(&r) > 0.97);
        assert_true(covered(&r) > covered(&random));
    }
}

static void sweep_asks_for_nothing_twice(void **state)
{
    static record r;
    (void)state;
    search("sweep", 0.99, MOST, 0, 8, &r);
    assert_in_range(r.count, 50, MOST - 1);
    int again = 0;
    for (int i = 0; i < r.count; i++)
        for (int k = 0; k < i; k++)
            again += memcmp(r.points[i], r.points[k], sizeof r.points[i]) == 0;
    assert_true(again <= r.count / 20); /* greedy itself may, within a batch */
}

static void sweep_begins_as_greedy_does(void **state)
{
    static record sweep, greedy;
    (void)state;
    search("sweep", 0.99, 20, 0, 8, &sweep);
    const itg_searcher_def *def = itg_searcher_find("greedy");
    itg_searcher_options options = {.quality_floor = 0.99};
    itg_rng rng;
    itg_interest interest = ITG_INTEREST_ALL;
    void *memory = calloc(1, def->state_size);
    itg_searcher_defaults(def, options.parameters);
    assert_int_equal(def->init(memory, &space, &options, NULL), ITG_OK);
    assert_int_equal(def->ask(memory, &rng, greedy.points[0], &interest), ITG_OK);
    assert_memory_equal(greedy.points[0], sweep.points[0], sizeof sweep.points[0]);
    def->deinit(memory);
    free(memory);
}

static void evolve_depends_on_the_seed_alone(void **state)
{
    static record a, b, c;
    (void)state;
    search("evolve", 0.9, 200, 5, 16, &a);
    search("evolve", 0.9, 200, 5, 16, &b);
    search("evolve", 0.9, 200, 6, 16, &c);
    assert_int_equal(a.count, 200);
    assert_memory_equal(a.points, b.points, sizeof a.points);
    assert_true(memcmp(a.points, c.points, sizeof a.points) != 0);
}

/* ---- fronts of trials ---- */

static const itg_metric costs[] = {ITG_METRIC_WEIGHT_BYTES, ITG_METRIC_CYCLES};

static itg_trial trial_of(int64_t index, double bytes, double cycles, double quality)
{
    itg_trial t = {.index = index, .feasible = true, .score = itg_score_unknown()};
    t.score.value[ITG_METRIC_WEIGHT_BYTES] = bytes;
    t.score.value[ITG_METRIC_CYCLES] = cycles;
    t.score.value[ITG_METRIC_TOP1] = quality;
    return t;
}

/* Counted on a grid that all coordinates lie on. */
static double counted(const itg_trial *trials, int count, int dims_of_goal)
{
    enum { STEPS = 20 };
    int inside = 0, all = 0;
    for (int x = 0; x < STEPS; x++)
        for (int y = 0; y < (dims_of_goal > 2 ? STEPS : 1); y++)
            for (int z = 0; z < STEPS; z++, all++) {
                bool covers = false;
                for (int i = 0; i < count && !covers; i++) {
                    const double *v = trials[i].score.value;
                    covers = v[ITG_METRIC_WEIGHT_BYTES] <= 50 * x &&
                             (dims_of_goal < 3 || v[ITG_METRIC_CYCLES] <= 10 * y) &&
                             (0.9 - v[ITG_METRIC_TOP1]) / 0.1 <= (double)z / STEPS + 1e-9;
                }
                inside += covers;
            }
    return (double)inside / all;
}

static void fronts_and_hypervolumes_are_those_of_brute_force(void **state)
{
    enum { COUNT = 40 };
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 3);
    itg_score floats = trial_of(0, NAN, NAN, 0.9).score,
              uniform8 = trial_of(0, 1000 / 1.1, 200 / 1.1, 1).score;
    for (int round = 0; round < 60; round++) {
        itg_trial trials[COUNT];
        itg_goal goal = {0};
        int64_t *front = NULL;
        int32_t count = 0, n = 1 + round % COUNT, found = 0;
        for (int i = 0; i < n; i++)
            trials[i] = trial_of(i, 50.0 * (double)itg_rng_below(&rng, 20),
                                 10.0 * (double)itg_rng_below(&rng, 20),
                                 0.9 - 0.005 * (double)itg_rng_below(&rng, 24));
        itg_goal_set_front(&goal, costs, 1 + round % 2);
        assert_int_equal(itg_trials_front(&goal, trials, n, &front, &count, NULL), ITG_OK);
        for (int i = 0; i < n; i++) {
            bool beaten = false;
            for (int k = 0; k < n; k++) {
                const double *a = trials[k].score.value, *b = trials[i].score.value;
                bool no_worse = a[ITG_METRIC_WEIGHT_BYTES] <= b[ITG_METRIC_WEIGHT_BYTES] &&
                                (round % 2 == 0 || a[ITG_METRIC_CYCLES] <= b[ITG_METRIC_CYCLES]) &&
                                a[ITG_METRIC_TOP1] >= b[ITG_METRIC_TOP1];
                bool as_good = b[ITG_METRIC_WEIGHT_BYTES] <= a[ITG_METRIC_WEIGHT_BYTES] &&
                               (round % 2 == 0 || b[ITG_METRIC_CYCLES] <= a[ITG_METRIC_CYCLES]) &&
                               b[ITG_METRIC_TOP1] >= a[ITG_METRIC_TOP1];
                beaten = beaten || (no_worse && (!as_good || k < i));
            }
            bool listed = false;
            for (int k = 0; k < count; k++)
                listed = listed || front[k] == i;
            assert_int_equal(listed, !beaten);
            found += listed;
        }
        assert_int_equal(found, count);
        double volume = itg_front_hypervolume(&goal, trials, front, count, &floats, &uniform8);
        assert_true(fabs(volume - counted(trials, n, 2 + round % 2)) < 1e-6);
        itg_free(front);
    }
}

static void what_is_not_known_has_no_hypervolume(void **state)
{
    itg_goal goal = {0};
    int64_t front[] = {0};
    itg_trial trial = trial_of(0, 100, NAN, 0.8);
    itg_score floats = trial.score, uniform8 = trial.score;
    (void)state;
    itg_goal_set_front(&goal, costs, 2);
    assert_true(isnan(itg_front_hypervolume(&goal, &trial, front, 1, &floats, &uniform8)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweep_and_evolve_find_most_of_the_front),
        cmocka_unit_test(sweep_asks_for_nothing_twice),
        cmocka_unit_test(sweep_begins_as_greedy_does),
        cmocka_unit_test(evolve_depends_on_the_seed_alone),
        cmocka_unit_test(fronts_and_hypervolumes_are_those_of_brute_force),
        cmocka_unit_test(what_is_not_known_has_no_hypervolume)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
