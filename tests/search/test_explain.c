/* Why a goal is not met: the sentences, and what they tell of how the search ended. */
#include "cli/passive.h"
#include "wanted.h"
#include "network.h"
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

/* What ends a search: its clock, or being asked to. */
typedef struct ending {
    double now;          /* a second later at each look */
    int64_t trials, end; /* asked to end from trial `end` on; -1: never */
} ending;

static double tick(void *context)
{
    ending *e = context;
    return e->now += 1;
}

static itg_status count_trial(void *context, const itg_trial *trial, itg_error *err)
{
    ending *e = context;
    (void)err;
    e->trials = trial->index + 1;
    return ITG_OK;
}

static bool is_asked_to_end(void *context)
{
    const ending *e = context;
    return e->end >= 0 && e->trials >= e->end;
}

/* sentence: %d stands for the number of trials. */
static void assert_explained(const small_network *n, const itg_search_options *o, int64_t end,
                             const char *reason, const char *sentence)
{
    ending e = {.end = end};
    itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .context = &e, .clock = tick,
                              .trial = count_trial, .cancelled = is_asked_to_end};
    itg_search_data data = small_network_data(n);
    itg_search_result *result = NULL;
    itg_error err = {0};
    char expected[256];
    if (itg_search(n->model, n->hw, &n->preprocess, &data, o, &hooks, &result, &err) != ITG_OK)
        fail_msg("%s", err.message);
    snprintf(expected, sizeof expected, sentence, (int)itg_search_trial_count(result));
    assert_string_equal(itg_search_limited_by(result), expected);
    assert_string_equal(itg_search_stop_reason(result), reason);
    assert_false(itg_search_goal_met(result));
    itg_search_result_destroy(result);
}

static itg_search_options options_of(double max_drop, double bytes)
{
    return (itg_search_options){
        ITG_SEARCH_OPTIONS_VERSION,
        .recover = ITG_RECOVER_NONE,
        .searcher = "greedy",
        .goal = goal_of((aim){.max_drop = max_drop, .limits = {[ITG_METRIC_WEIGHT_BYTES] = bytes}}),
        .calibration_samples = 16,
        .search_samples = 40,
        .threads = 1};
}

#define LOSES "within the limits, the nearest loses 37.50 points of top-1, 1.50 are allowed"
#define TAKES "the nearest takes 296 weight bytes, the limit is 80; the search was ended by "

static void what_ended_a_search_is_told(void **state)
{
    small_network n;
    (void)state;
    small_network_make(6, "cortex-m", 80, &n);
    itg_search_options o = options_of(0.015, 80);
    o.patience = 3;
    assert_explained(&n, &o, -1, "patience",
                     LOSES "; the search was ended by patience after %d trials");
    o.patience = 0;
    o.seconds = 35;
    assert_explained(&n, &o, -1, "seconds",
                     LOSES "; the search was ended by the limit of seconds after %d trials");
    o.seconds = 0;
    assert_explained(&n, &o, 9, "cancelled", TAKES "the user after %d trials");
    o.trials = 9;
    assert_explained(&n, &o, -1, "trials", TAKES "the limit of trials after %d trials");
    small_network_end(&n);
}

static void a_floor_that_limits_or_widths_forbid_is_told(void **state)
{
    small_network n;
    itg_search_options o = options_of(0.015, 80);
    (void)state;
    small_network_make(6, "cortex-m", 80, &n);
    assert_explained(&n, &o, -1, "exhausted", LOSES);
    small_network_end(&n);
    small_network_make(4, "cortex-m", 80, &n); /* with any widths */
    assert_explained(&n, &o, -1, "exhausted",
                     "the widest widths that cortex-m allows here lose 2.50 points of top-1, 1.50 "
                     "are allowed");
    small_network_end(&n);
}

int main(int argc, char **argv)
{
    itg_be_passive(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ended_a_search_is_told),
        cmocka_unit_test(a_floor_that_limits_or_widths_forbid_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
