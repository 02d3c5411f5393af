/* Trials in another process: requests, replies and what trials share pass as bytes, and a scorer
 * made from nothing else gives the search's own trials. Damaged bytes are refused. */
#include "network.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <intaglio/share.h>

enum { MOST = 64 };

/* Evaluates every trial through bytes, the last submitted first. */
typedef struct other {
    const small_network *n;
    itg_share *share;
    int32_t round;
    itg_scorer *scorer;
    itg_work *queue[MOST];
    int queued, rounds, scored;
} other;

static void open_scorer(other *o, const itg_work *work)
{
    itg_error err = {.message = ""};
    itg_share_model about;
    char *request = NULL, *expected = NULL, *reply = NULL;
    itg_scorer_close(o->scorer);
    itg_share_destroy(o->share);
    o->share = NULL;
    if (itg_work_share(work, &o->share, &err) != ITG_OK) fail_msg("%s", err.message);
    o->round = itg_work_round(work);
    o->rounds++;
    assert_int_equal(itg_share_model_of(o->share->parts, o->share->count, &about, &err), ITG_OK);
    assert_memory_equal(about.hash, itg_model_hash(o->n->model), 32);
    if (itg_scorer_open(o->n->model, o->share->parts, o->share->count, 1 << 20, &o->scorer, &err))
        fail_msg("%s", err.message);
    assert_int_equal(itg_work_probe(work, 1, &request, &expected, &err), ITG_OK);
    assert_int_equal(itg_scorer_score(o->scorer, request, strlen(request), 1, &reply, &err),
                     ITG_OK);
    assert_string_equal(reply, expected);
    itg_free(request);
    itg_free(expected);
    itg_free(reply);
}

static void submit(void *context, itg_work *work)
{
    other *o = context;
    assert_true(o->queued < MOST);
    o->queue[o->queued++] = work;
}

static itg_work *wait_for(void *context)
{
    other *o = context;
    itg_work *work = o->queue[--o->queued];
    char *request = NULL, *reply = NULL, *again = NULL;
    itg_error err = {.message = ""};
    if (!o->share || o->round != itg_work_round(work)) open_scorer(o, work);
    assert_int_equal(itg_work_request(work, &request, &err), ITG_OK);
    if (itg_scorer_score(o->scorer, request, strlen(request), 2, &reply, &err) != ITG_OK)
        fail_msg("%s", err.message);
    if (itg_work_accept(work, reply, strlen(reply), "the-other", 0.5, &err) != ITG_OK)
        fail_msg("%s", err.message);
    assert_int_equal(itg_work_reply(work, &again, &err), ITG_OK);
    assert_string_equal(reply, again);
    assert_int_equal(itg_work_accept(work, reply, strlen(reply) - 1, "x", 0, &err), ITG_BAD_FILE);
    itg_free(request);
    itg_free(reply);
    itg_free(again);
    o->scored++;
    return work;
}

static itg_status search(const small_network *n, const itg_search_options *o, other *h,
                         itg_search_result **out, itg_error *err)
{
    const itg_search_evaluator evaluator = {ITG_SEARCH_EVALUATOR_VERSION, h, submit, wait_for,
                                            NULL};
    const itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .evaluator = h ? &evaluator : NULL};
    const itg_search_data data = small_network_data(n);
    return itg_search(n->model, n->hw, &n->preprocess, &data, o, &hooks, out, err);
}

static void same_trials(const itg_search_result *a, const itg_search_result *b)
{
    assert_int_equal(itg_search_trial_count(a), itg_search_trial_count(b));
    for (int64_t i = 0; i < itg_search_trial_count(a); i++) {
        const itg_trial *x = itg_search_trial_at(a, i), *y = itg_search_trial_at(b, i);
        assert_memory_equal(x->point, y->point, sizeof *x->point * (size_t)x->dim_count);
        assert_true(x->feasible == y->feasible && x->round == y->round &&
                    x->meets_goal == y->meets_goal);
        assert_string_equal(x->worker, "");
        if (*y->worker) assert_string_equal(y->worker, "the-other");
        if (!x->feasible) assert_string_equal(x->error, y->error);
        if (!x->feasible) continue;
        assert_int_equal(x->score.samples, y->score.samples);
        assert_int_equal(x->score.stopped_at, y->score.stopped_at);
        assert_memory_equal(x->score.digest, y->score.digest, 32);
        for (int m = 0; m < ITG_METRIC_COUNT; m++)
            assert_true(
                x->score.value[m] == y->score.value[m] ||
                (x->score.value[m] != x->score.value[m] && y->score.value[m] != y->score.value[m]));
    }
    assert_int_equal(itg_search_best(a)->index, itg_search_best(b)->index);
}

static itg_search_options options_of(const char *searcher)
{
    itg_search_options o = ITG_SEARCH_OPTIONS_INIT;
    snprintf(o.searcher, sizeof o.searcher, "%s", searcher);
    o.seed = 5;
    o.trials = 40;
    o.search_samples = 60;
    o.calibration_samples = 20;
    o.cache_bytes = 1 << 20;
    return o;
}

/* Whether the share has thresholds that statistics do not give. */
static bool has_thresholds(const itg_share *share)
{
    size_t bytes = 0;
    for (int32_t i = 0; i < share->count; i++)
        if (strcmp(share->parts[i].name, "thresholds") == 0) bytes = share->parts[i].bytes;
    assert_true(bytes > 0);
    return bytes > sizeof(int64_t); /* of the end */
}

/* has: whether trials have thresholds that reconstruction chose. */
static void compare_with(const char *target, const itg_search_options *o, small_outputs outputs,
                         int rounds, int64_t samples, bool has)
{
    small_network n;
    itg_search_result *own = NULL, *elsewhere = NULL;
    other h = {.n = &n};
    itg_error err = {.message = ""};
    small_network_make_with(7, target, samples, outputs, &n);
    if (search(&n, o, NULL, &own, &err) != ITG_OK) fail_msg("%s", err.message);
    if (search(&n, o, &h, &elsewhere, &err) != ITG_OK) fail_msg("%s", err.message);
    same_trials(own, elsewhere);
    assert_true(h.scored > 3);
    assert_true(h.rounds >= rounds);
    assert_true(has_thresholds(h.share) == has);
    itg_search_result_destroy(own);
    itg_search_result_destroy(elsewhere);
    itg_scorer_close(h.scorer);
    itg_share_destroy(h.share);
    small_network_end(&n);
}

static void compare(const char *target, const itg_search_options *o, small_outputs outputs,
                    int rounds)
{
    compare_with(target, o, outputs, rounds, 160, false);
}

static void trials_elsewhere_are_the_same(void **state)
{
    itg_search_options o = options_of("greedy");
    (void)state;
    (void)itg_goal_constrain(&o.goal, ITG_METRIC_ACCURACY, 0.05, true);
    compare("cortex-m", &o, SMALL_CLASSES, 1);
    o = options_of("anneal");
    (void)itg_goal_constrain(&o.goal, ITG_METRIC_ACCURACY, 0.3, true);
    o.activation_methods = (itg_threshold_methods){{ITG_THRESHOLD_MSE, ITG_THRESHOLD_KL}, 2};
    compare("x86-vnni", &o, SMALL_CLASSES, 1);
    o.recover = ITG_RECOVER_NONE;
    compare("vta", &o, SMALL_CLASSES, 1);
    o.recover = ITG_RECOVER_AUTO;
    o.calibration_samples = 256;
    o.activation_bits = (itg_bits_range){3, 4};
    compare_with("tests/independent/hardware/choices.json", &o, SMALL_CLASSES, 1, 800, true);
}

static void fronts_and_other_qualities_too(void **state)
{
    const itg_metric costs[] = {ITG_METRIC_WEIGHT_BYTES, ITG_METRIC_BOPS};
    itg_search_options o = options_of("evolve");
    (void)state;
    itg_goal_set_front(&o.goal, costs, 2);
    compare("cortex-m", &o, SMALL_CLASSES, 1);
    o = options_of("random");
    (void)itg_goal_constrain(&o.goal, ITG_METRIC_SQNR, 20, false);
    compare("cortex-m", &o, SMALL_TWO, 1);
}

/* ---- bytes that nobody vouches for ---- */

static void damage_parts(const other *h)
{
    itg_error err;
    for (int32_t p = 0; p < h->share->count; p++) {
        itg_share_part parts[ITG_SHARE_PARTS];
        memcpy(parts, h->share->parts, sizeof parts);
        unsigned char *copy = malloc(parts[p].bytes + 1);
        size_t bytes = parts[p].bytes;
        assert_non_null(copy);
        parts[p].data = copy;
        for (int i = 0; i < 60; i++) {
            itg_scorer *scorer = NULL;
            memcpy(copy, h->share->parts[p].data, bytes);
            uint32_t draw = (uint32_t)i * 2654435761u;
            if (i < 20)
                parts[p].bytes = bytes * (size_t)i / 20; /* cut */
            else
                copy[i < 40 ? (size_t)(i - 20) * 4 % bytes : draw % bytes] ^=
                    (unsigned char)(1 + (draw >> 24) % 255);
            if (itg_scorer_open(h->n->model, parts, h->share->count, 0, &scorer, &err) == ITG_OK)
                itg_scorer_close(scorer); /* a number became another one */
            else
                assert_true(strlen(err.message) > 0);
            if (i < 20) assert_null(scorer);
            parts[p].bytes = bytes;
        }
        free(copy);
    }
}

static void refuse_requests(itg_scorer *scorer)
{
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "{\"point\":[]}",
        "{\"point\":[1,2,3]}",
        "{\"point\":\"8\"}",
        "{\"point\":[8],\"race\":{}}",
        "{\"point\":[8],\"other\":1}",
    };
    char *reply = NULL;
    itg_error err;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(itg_scorer_score(scorer, texts[i], strlen(texts[i]), 1, &reply, &err),
                         ITG_BAD_FILE);
        assert_null(reply);
    }
}

static void refuse_replies(itg_work *work)
{
    static const char *const texts[] = {"",
                                        "{\"status\":\"ok\"}",
                                        "{\"status\":\"fine\"}",
                                        "{\"status\":\"infeasible\"}",
                                        "{\"status\":\"ok\",\"score\":{\"samples\":-1,\"stopped_"
                                        "at\":0,\"digest\":\"00\",\"values\":{}}}",
                                        "{\"status\":\"ok\",\"score\":{\"samples\":1,\"stopped_"
                                        "at\":2,\"digest\":\"\",\"values\":{}}}",
                                        "{\"status\":\"infeasible\",\"why\":\"x\",\"score\":{}}"};
    itg_error err;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(itg_work_accept(work, texts[i], strlen(texts[i]), "w", 0, &err),
                         ITG_BAD_FILE);
}

static itg_work *wait_and_damage(void *context)
{
    other *o = context;
    bool first = !o->share;
    if (first) {
        itg_work *work = o->queue[o->queued - 1];
        open_scorer(o, work);
        damage_parts(o);
        refuse_requests(o->scorer);
        refuse_replies(work);
    }
    return wait_for(context);
}

static void damaged_bytes_are_refused(void **state)
{
    small_network n;
    itg_search_result *result = NULL;
    itg_search_options o = options_of("random");
    other h = {.n = &n};
    itg_error err = {.message = ""};
    (void)state;
    o.trials = 4;
    o.calibration_samples = 256;
    o.activation_bits = (itg_bits_range){3, 4};
    small_network_make(7, "tests/independent/hardware/choices.json", 800, &n);
    const itg_search_evaluator evaluator = {ITG_SEARCH_EVALUATOR_VERSION, &h, submit,
                                            wait_and_damage, NULL};
    const itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .evaluator = &evaluator};
    const itg_search_data data = small_network_data(&n);
    if (itg_search(n.model, n.hw, &n.preprocess, &data, &o, &hooks, &result, &err) != ITG_OK)
        fail_msg("%s", err.message);
    itg_search_result_destroy(result);
    itg_scorer_close(h.scorer);
    itg_share_destroy(h.share);
    small_network_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(trials_elsewhere_are_the_same),
                                       cmocka_unit_test(fronts_and_other_qualities_too),
                                       cmocka_unit_test(damaged_bytes_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
