/* A searcher of the calling program proposes the points; everything else is the search's. */
#include "tests/base/cmocka_base.h"
#include "network.h"
#include <string.h>

enum { DIMS = 32, MOST = 128 };

/* Counts through all points, from the widest on; what it was told must be what it asked for. */
typedef struct odometer {
    itg_user_space space;
    int32_t levels[DIMS], asked[MOST][DIMS];
    int32_t asks, tells, most_untold, outstanding;
    itg_user_outcome told[MOST];
    bool ended;
    enum { RIGHT, TOO_HIGH, NO_POINT, WAITS_FOR_NOTHING, FAILS, CANNOT_BEGIN, CANNOT_TELL } fault;
} odometer;

static itg_status begin(void *context, const itg_user_space *space, itg_error *err)
{
    odometer *o = context;
    assert_true(space->dim_count <= DIMS);
    o->space = *space;
    for (int32_t d = 0; d < space->dim_count; d++)
        o->levels[d] = space->dims[d].ordered ? space->dims[d].count - 1 : 0;
    if (o->fault != CANNOT_BEGIN) return ITG_OK;
    err->code = ITG_FAILURE;
    strcpy(err->message, "it is too late");
    return ITG_FAILURE;
}

static void step(odometer *o)
{
    int32_t d = 0;
    while (d < o->space.dim_count && --o->levels[d] < 0) {
        o->levels[d] = o->space.dims[d].count - 1;
        d++;
    }
    o->ended = d == o->space.dim_count;
}

static itg_status ask(void *context, int32_t *levels)
{
    odometer *o = context;
    if (o->fault == FAILS) return ITG_IO;
    if (o->fault == WAITS_FOR_NOTHING) return ITG_WAIT;
    if (o->fault == NO_POINT) return ITG_OK;
    if (o->ended || o->asks == MOST) return ITG_END;
    memcpy(levels, o->levels, sizeof *levels * (size_t)o->space.dim_count);
    memcpy(o->asked[o->asks++], levels, sizeof *levels * (size_t)o->space.dim_count);
    if (o->fault == TOO_HIGH) levels[0] = o->space.dims[0].count;
    if (o->asks - o->tells > o->most_untold) o->most_untold = o->asks - o->tells;
    step(o);
    return ITG_OK;
}

static itg_status tell(void *context, const int32_t *levels, const itg_user_outcome *outcome)
{
    odometer *o = context;
    assert_memory_equal(levels, o->asked[o->tells], sizeof *levels * (size_t)o->space.dim_count);
    o->told[o->tells++] = *outcome;
    return o->fault == CANNOT_TELL ? ITG_FAILURE : ITG_OK;
}

/* So few widths that all points are soon counted. */
static itg_search_options few(const char *searcher)
{
    itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION, .recover = ITG_RECOVER_NONE, .threads = 2,
                            .weight_bits = {4, 8},      .activation_bits = {8, 8},   .only = "*1*"};
    strcpy(o.searcher, searcher);
    return o;
}

static itg_status search(const small_network *n, const itg_search_options *options,
                         const itg_user_searcher *user, itg_search_result **out, itg_error *err)
{
    const itg_search_data data = small_network_data(n);
    const itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .searcher = user};
    return itg_search(n->model, n->hw, &n->preprocess, &data, options, &hooks, out, err);
}

static itg_user_searcher user_of(odometer *o)
{
    return (itg_user_searcher){ITG_USER_SEARCHER_VERSION, o, o->outstanding, begin, ask, tell};
}

static void all_points_by_hand_are_what_exhaustive_finds(void **state)
{
    small_network n;
    itg_error err = {0};
    itg_search_options options = few("exhaustive");
    itg_search_result *theirs = NULL;
    (void)state;
    small_network_make(9, "cortex-m", 60, &n);
    if (search(&n, &options, NULL, &theirs, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_true(itg_search_trial_count(theirs) > 3 && itg_search_trial_count(theirs) <= MOST);
    for (int32_t outstanding = 0; outstanding <= 5; outstanding += 5) {
        odometer o = {.outstanding = outstanding};
        const itg_user_searcher user = user_of(&o);
        itg_search_result *own = NULL;
        options = few("user");
        if (search(&n, &options, &user, &own, &err) != ITG_OK) fail_msg("%s", err.message);
        const itg_trial *a = itg_search_best(own), *b = itg_search_best(theirs);
        assert_int_equal(itg_search_trial_count(own), itg_search_trial_count(theirs));
        assert_memory_equal(a->score.digest, b->score.digest, sizeof a->score.digest);
        assert_string_equal(itg_search_stop_reason(own), "exhausted");
        assert_int_equal(o.asks, o.tells);
        assert_int_equal(o.most_untold, outstanding ? outstanding : 1);
        assert_true(o.told[0].feasible);
        for (int32_t i = 0; i < o.tells; i++) {
            const itg_score *s = &itg_search_trial_at(own, i)->score;
            assert_true(o.told[i].cost == s->value[ITG_METRIC_WEIGHT_BYTES]);
        }
        itg_search_result_destroy(own);
    }
    itg_search_result_destroy(theirs);
    small_network_end(&n);
}

static void refused(const small_network *n, const itg_user_searcher *user, const char *words)
{
    const itg_search_options options = few("user");
    itg_search_result *result = NULL;
    itg_error err = {0};
    assert_int_not_equal(search(n, &options, user, &result, &err), ITG_OK);
    assert_null(result);
    if (!strstr(err.message, words)) fail_msg("'%s' does not say '%s'", err.message, words);
}

static void faults_of_the_searcher_end_the_search(void **state)
{
    static const char *const words[] = {
        [TOO_HIGH] = "failed to ask",          [NO_POINT] = "failed to ask",
        [WAITS_FOR_NOTHING] = "failed to ask", [FAILS] = "failed to ask",
        [CANNOT_BEGIN] = "it is too late",     [CANNOT_TELL] = "failed to take in trial 0"};
    small_network n;
    (void)state;
    small_network_make(9, "cortex-m", 60, &n);
    for (int fault = TOO_HIGH; fault <= CANNOT_TELL; fault++) {
        odometer o = {0};
        memcpy(&o.fault, &fault, sizeof fault);
        const itg_user_searcher user = user_of(&o);
        refused(&n, &user, words[fault]);
    }
    odometer o = {.outstanding = 65};
    itg_user_searcher user = user_of(&o);
    refused(&n, &user, "65 points outstanding, expected 0 to 64");
    user.outstanding = 0;
    user.version = 7;
    refused(&n, &user, "itg_user_searcher");
    refused(&n, NULL, "there is none");
    small_network_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_points_by_hand_are_what_exhaustive_finds),
        cmocka_unit_test(faults_of_the_searcher_end_the_search)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
