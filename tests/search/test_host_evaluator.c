/* A search whose trials the calling program evaluates: on threads of its own, in any order, it
 * gives the trials that the library's threads give. */
#include "network.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "search/engine.h"
#include <intaglio/intaglio.h>

enum { MOST = 64, THREADS = 3 };

/* ---- the calling program's evaluator ---- */

typedef struct host {
    const small_network *n;
    bool by_library; /* itg_work_evaluate, else strategy to score by itself */
    int fail_at;     /* the trial that comes back with `failure`, counted from 1; 0: none */
    itg_status failure;
    bool without_result, without_cost, gives_nothing;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    itg_work *queue[MOST], *done[MOST];
    int queued, finished, count, dropped;
    bool ending;
    pthread_t threads[THREADS];
} host;

/* What a program would do that knows the public interface alone. */
static itg_status score_strategy(const host *h, itg_work *work, itg_score *score, itg_error *err)
{
    const itg_model *model = h->n->model;
    const itg_simulate_options options = {ITG_SIMULATE_OPTIONS_VERSION,
                                          .labels = itg_work_labels(work), .with_agreement = true,
                                          .threads = 1};
    itg_strategy_file *file = NULL;
    itg_annotated *annotated = NULL;
    itg_program *program = NULL;
    itg_status status = itg_work_strategy(work, &file, err);
    if (status == ITG_OK) status = itg_annotate_strategy(model, file, &annotated, err);
    if (status == ITG_OK) status = itg_realize_program(annotated, NULL, &program, err);
    if (status == ITG_OK)
        status = itg_simulate(model, file, itg_work_data(work), &options, score, err);
    itg_program_destroy(program);
    itg_annotated_destroy(annotated);
    itg_strategy_close(file);
    return status;
}

static void evaluate(const host *h, itg_work *work, int number)
{
    itg_score score = itg_score_unknown();
    itg_error err = {.message = ""};
    if (number == h->fail_at) {
        itg_work_finish(work, h->failure, NULL, "the device is gone", 0);
    } else if (h->by_library) {
        itg_work_evaluate(work, 1);
    } else if (!h->without_result) {
        itg_status status = score_strategy(h, work, &score, &err);
        if (h->without_cost) score = itg_score_unknown();
        itg_work_finish(work, status, &score, err.message, 1.5);
    }
}

static void *work_on(void *context)
{
    host *h = context;
    pthread_mutex_lock(&h->lock);
    while (!h->ending) {
        if (h->queued == 0) {
            pthread_cond_wait(&h->changed, &h->lock);
            continue;
        }
        itg_work *work = h->queue[--h->queued]; /* the last one first */
        const int number = ++h->count;
        pthread_mutex_unlock(&h->lock);
        evaluate(h, work, number);
        pthread_mutex_lock(&h->lock);
        h->done[h->finished++] = work;
        pthread_cond_broadcast(&h->changed);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static void submit(void *context, itg_work *work)
{
    host *h = context;
    pthread_mutex_lock(&h->lock);
    assert_true(h->queued < MOST);
    h->queue[h->queued++] = work;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

static itg_work *wait_for(void *context)
{
    host *h = context;
    pthread_mutex_lock(&h->lock);
    while (h->finished == 0)
        pthread_cond_wait(&h->changed, &h->lock);
    itg_work *work = h->done[--h->finished];
    pthread_mutex_unlock(&h->lock);
    return h->gives_nothing ? NULL : work;
}

static void drop(void *context)
{
    host *h = context;
    pthread_mutex_lock(&h->lock);
    h->dropped++;
    while (h->queued > 0) {
        itg_work *work = h->queue[--h->queued];
        itg_work_finish(work, ITG_CANCELLED, NULL, NULL, 0);
        h->done[h->finished++] = work;
    }
    pthread_mutex_unlock(&h->lock);
}

static void begin(host *h, const small_network *n)
{
    h->n = n;
    assert_int_equal(pthread_mutex_init(&h->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&h->changed, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&h->threads[i], NULL, work_on, h), 0);
}

static void end(host *h)
{
    pthread_mutex_lock(&h->lock);
    h->ending = true;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    for (int i = 0; i < THREADS; i++)
        pthread_join(h->threads[i], NULL);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
}

/* ---- searches ---- */

static itg_search_options options_of(const char *searcher, bool no_racing)
{
    itg_search_options o = ITG_SEARCH_OPTIONS_INIT;
    snprintf(o.searcher, sizeof o.searcher, "%s", searcher);
    o.seed = 5;
    o.trials = 24;
    o.search_samples = 40;
    o.calibration_samples = 20;
    o.no_racing = no_racing;
    return o;
}

/* h NULL: the library's threads. */
static itg_status search(const small_network *n, const itg_search_options *o, host *h,
                         itg_search_result **out, itg_error *err)
{
    const itg_search_evaluator evaluator = {ITG_SEARCH_EVALUATOR_VERSION, h, submit, wait_for,
                                            drop};
    const itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .evaluator = h ? &evaluator : NULL};
    const itg_search_data data = small_network_data(n);
    if (h) begin(h, n);
    itg_status status = itg_search(n->model, n->hw, &n->preprocess, &data, o, &hooks, out, err);
    if (h) end(h);
    return status;
}

static void same_trials(const itg_search_result *a, const itg_search_result *b)
{
    assert_int_equal(itg_search_trial_count(a), itg_search_trial_count(b));
    for (int64_t i = 0; i < itg_search_trial_count(a); i++) {
        const itg_trial *x = itg_search_trial_at(a, i), *y = itg_search_trial_at(b, i);
        assert_int_equal(x->dim_count, y->dim_count);
        assert_memory_equal(x->point, y->point, sizeof *x->point * (size_t)x->dim_count);
        assert_true(x->feasible == y->feasible && x->duplicate == y->duplicate &&
                    x->meets_goal == y->meets_goal);
        if (!x->feasible) {
            assert_string_equal(x->error, y->error);
            continue;
        }
        assert_int_equal(x->score.samples, y->score.samples);
        assert_int_equal(x->score.stopped_at, y->score.stopped_at);
        assert_memory_equal(x->score.digest, y->score.digest, 32);
        for (int m = 0; m < ITG_METRIC_COUNT; m++)
            assert_memory_equal(&x->score.value[m], &y->score.value[m], sizeof(double));
    }
    assert_int_equal(itg_search_best(a)->index, itg_search_best(b)->index);
}

/* Returns the round of the last trial. */
static int32_t compare_with(const small_network *n, const itg_search_options *o, host *h)
{
    itg_search_result *own = NULL, *hosted = NULL;
    itg_error err = {.message = ""};
    assert_int_equal(search(n, o, NULL, &own, &err), ITG_OK);
    if (search(n, o, h, &hosted, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_true(h->count > 1);
    same_trials(own, hosted);
    const int64_t last = itg_search_trial_count(own) - 1;
    const int32_t round = itg_search_trial_at(own, last)->round;
    itg_search_result_destroy(own);
    itg_search_result_destroy(hosted);
    return round;
}

static void compare(const char *target, const char *searcher, bool no_racing, bool by_library)
{
    small_network n;
    const itg_search_options o = options_of(searcher, no_racing);
    host h = {.by_library = by_library};
    small_network_make(7, target, 120, &n);
    compare_with(&n, &o, &h);
    small_network_end(&n);
}

/* ---- cases ---- */

/* It scores all samples, whatever is asked for. */
static void a_host_that_scores_by_itself_gives_the_same_trials(void **state)
{
    (void)state;
    compare("cortex-m", "greedy:share=1", true, false);
    compare("cortex-m", "random", true, false);
    compare("cvm", "anneal", true, false); /* accumulators may overflow there */
}

static void a_host_with_the_librarys_score_races_too(void **state)
{
    (void)state;
    compare("cortex-m", "greedy", false, true);
    compare("x86-vnni", "anneal", false, true);
}

/* Trials of the last round have codes of their own; whoever evaluates them, they are made once. */
static void a_host_has_trials_with_codes_of_their_own_too(void **state)
{
    small_network n;
    itg_search_options o = options_of("greedy", false);
    host h = {.by_library = true};
    (void)state;
    o.seed = 1;
    o.trials = 0;
    o.recover = ITG_RECOVER_ROUND;
    o.weight_bits = (itg_bits_range){2, 5};
    o.activation_bits = (itg_bits_range){8, 8};
    o.calibration_samples = 128;
    o.search_samples = 0;
    assert_true(itg_goal_constrain(&o.goal, ITG_METRIC_ACCURACY, 0.1, true));
    small_network_make(2, "cortex-m", 384, &n);
    assert_int_equal(compare_with(&n, &o, &h), 2);
    small_network_end(&n);
}

static void fails(host *h, itg_status status, const char *text)
{
    small_network n;
    const itg_search_options o = options_of("random", true);
    itg_search_result *result = NULL;
    itg_error err = {.message = ""};
    small_network_make(7, "cortex-m", 120, &n);
    assert_int_equal(search(&n, &o, h, &result, &err), status);
    assert_null(result);
    if (!strstr(err.message, text)) fail_msg("'%s' lacks '%s'", err.message, text);
    small_network_end(&n);
}

static void what_a_host_does_wrong_ends_the_search(void **state)
{
    (void)state;
    fails(&(host){.fail_at = 3, .failure = ITG_IO}, ITG_IO, "the device is gone");
    fails(&(host){.fail_at = 3, .failure = ITG_OK}, ITG_BAD_ARGUMENT, "without a score");
    fails(&(host){.without_result = true}, ITG_BAD_ARGUMENT, "that was not evaluated");
    fails(&(host){.without_cost = true}, ITG_BAD_ARGUMENT, "without 'weight_bytes'");
    fails(&(host){.gives_nothing = true, .without_result = true}, ITG_FAILURE,
          "the evaluator has no trial");
}

static void a_cancelled_trial_ends_the_search_with_what_it_has(void **state)
{
    small_network n;
    const itg_search_options o = options_of("random", true);
    itg_search_result *own = NULL, *hosted = NULL;
    host h = {.fail_at = 20, .failure = ITG_CANCELLED};
    (void)state;
    small_network_make(7, "cortex-m", 120, &n);
    assert_int_equal(search(&n, &o, NULL, &own, NULL), ITG_OK);
    assert_int_equal(search(&n, &o, &h, &hosted, NULL), ITG_OK);
    assert_string_equal(itg_search_stop_reason(hosted), "cancelled");
    assert_true(itg_search_trial_count(hosted) < 24 && h.dropped > 0);
    for (int64_t i = 0; i < itg_search_trial_count(hosted); i++)
        assert_memory_equal(itg_search_trial_at(hosted, i)->score.digest,
                            itg_search_trial_at(own, i)->score.digest, 32);
    itg_search_result_destroy(own);
    itg_search_result_destroy(hosted);
    small_network_end(&n);
}

static void another_version_is_refused(void **state)
{
    small_network n;
    const itg_search_options o = options_of("random", true);
    const itg_search_evaluator evaluator = {2, NULL, submit, wait_for, drop};
    const itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .evaluator = &evaluator};
    itg_search_result *result = NULL;
    itg_error err = {.message = ""};
    (void)state;
    small_network_make(7, "cortex-m", 120, &n);
    const itg_search_data data = small_network_data(&n);
    assert_int_equal(itg_search(n.model, n.hw, &n.preprocess, &data, &o, &hooks, &result, &err),
                     ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "itg_search_evaluator"));
    small_network_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_that_scores_by_itself_gives_the_same_trials),
        cmocka_unit_test(a_host_with_the_librarys_score_races_too),
        cmocka_unit_test(a_host_has_trials_with_codes_of_their_own_too),
        cmocka_unit_test(what_a_host_does_wrong_ends_the_search),
        cmocka_unit_test(a_cancelled_trial_ends_the_search_with_what_it_has),
        cmocka_unit_test(another_version_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
