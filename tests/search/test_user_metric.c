/* A metric that the calling program brings: it is given the outputs of all samples, is in every
 * score, can be what a search holds or improves, and goes through the log under its name. Labels
 * that are targets have errors. */
#include "tests/base/cmocka_base.h"
#include "network.h"
#include "tests/labels.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 64
#define DIMS 32
#define LOG_FILE TEST_FOLDER "/user_metric.db"

typedef struct calls {
    pthread_mutex_t lock; /* only ever tried: a call that meets another one is a failure */
    int count;
    bool met_another;
} calls;

/* Top-1, counted anew from the float outputs. */
static double count_right(void *context, const itg_outputs *o)
{
    calls *c = context;
    int64_t right = 0, classes = o->outputs[0].shape.dims[1];
    if (pthread_mutex_trylock(&c->lock)) {
        c->met_another = true;
        return (double)NAN;
    }
    c->count++;
    for (int64_t i = 0; i < o->samples; i++) {
        const float *row = (const float *)o->outputs[0].data + i * classes;
        int64_t best = 0;
        for (int64_t k = 1; k < classes; k++)
            if (row[k] > row[best]) best = k;
        right += best == ((const int64_t *)o->labels->data)[i];
    }
    pthread_mutex_unlock(&c->lock);
    return (double)right / (double)o->samples;
}

static double count_wrong(void *context, const itg_outputs *o)
{
    return 100 * (1 - count_right(context, o));
}

static itg_user_metric metric(const char *name, itg_unit unit, bool up,
                              double (*score)(void *, const itg_outputs *), void *context)
{
    itg_user_metric m = {.info = {.unit = unit, .up = up}, .score = score, .context = context};
    snprintf(m.info.name, sizeof m.info.name, "%s", name);
    return m;
}

typedef struct record {
    int64_t count;
    int32_t points[MOST][DIMS];
    itg_trial trials[MOST];
    itg_score best_holdout;
    bool met, holds;
    char limited_by[512];
} record;

static itg_status keep(void *context, const itg_trial *trial, itg_error *err)
{
    record *r = context;
    (void)err;
    assert_true(r->count < MOST && trial->dim_count <= DIMS);
    itg_trial *kept = &r->trials[r->count];
    *kept = *trial;
    kept->point = memcpy(r->points[r->count++], trial->point,
                         sizeof *trial->point * (size_t)trial->dim_count);
    kept->error = NULL;
    return ITG_OK;
}

static itg_status search(const small_network *n, const itg_search_data *data,
                         const itg_search_options *o, record *r, itg_error *err)
{
    itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .context = r, .trial = keep};
    itg_search_result *result = NULL;
    memset(r, 0, sizeof *r);
    itg_status status = itg_search(n->model, n->hw, &n->preprocess, data, o, &hooks, &result, err);
    if (status != ITG_OK) return status;
    r->met = itg_search_goal_met(result);
    r->holds = itg_search_goal_holds(result);
    if (itg_search_best_holdout(result)) r->best_holdout = *itg_search_best_holdout(result);
    snprintf(r->limited_by, sizeof r->limited_by, "%s", itg_search_limited_by(result));
    itg_search_result_destroy(result);
    return ITG_OK;
}

static void searched(const small_network *n, const itg_search_options *o, record *r)
{
    itg_search_data data = small_network_data(n);
    itg_error err = {0};
    if (search(n, &data, o, r, &err) != ITG_OK) fail_msg("%s", err.message);
}

static itg_search_options plain(void)
{
    return (itg_search_options){ITG_SEARCH_OPTIONS_VERSION,
                                .recover = ITG_RECOVER_NONE,
                                .searcher = "greedy:share=1", /* all samples of every trial */
                                .trials = 12,
                                .seed = 3,
                                .threads = 1};
}

/* The same search by the built-in metric and by one's own. */
static void what_is_computed_outside_is_as_good_as_what_is_built_in(void **state)
{
    static record inside, outside;
    calls c = {.lock = PTHREAD_MUTEX_INITIALIZER};
    small_network n;
    (void)state;
    small_network_make(5, "cortex-m", 100, &n);
    itg_search_options o = plain();
    o.no_racing = true;
    assert_true(itg_goal_constrain(&o.goal, ITG_METRIC_TOP1, 0.05, true));
    searched(&n, &o, &inside);
    for (int threads = 1; threads <= 4; threads += 3)
        for (int down = 0; down < 2; down++) {
            o = plain();
            o.threads = threads;
            o.goal.user[1] = down ? metric("errors", ITG_UNIT_NUMBER, false, count_wrong, &c)
                                  : metric("map", ITG_UNIT_SHARE, true, count_right, &c);
            assert_true(itg_goal_constrain(&o.goal, ITG_METRIC_USER2, down ? 5 : 0.05, true));
            searched(&n, &o, &outside);
            assert_false(c.met_another);
            assert_true(c.count >= outside.count + 3);
            assert_true(outside.met == inside.met && outside.holds == inside.holds);
            assert_true(down || outside.count == inside.count);
            for (int64_t i = 0; i < outside.count && !down; i++) {
                const itg_score *a = &inside.trials[i].score, *b = &outside.trials[i].score;
                assert_memory_equal(inside.points[i], outside.points[i],
                                    sizeof(int32_t) * (size_t)inside.trials[i].dim_count);
                assert_true(b->value[ITG_METRIC_USER2] == a->value[ITG_METRIC_TOP1]);
                assert_true(b->stopped_at == 0 && isnan(b->value[ITG_METRIC_USER1]));
                assert_string_equal(itg_score_about(b, ITG_METRIC_USER2).name, "map");
            }
            for (int64_t i = 0; i < outside.count && down; i++)
                assert_true(outside.trials[i].score.value[ITG_METRIC_USER2] ==
                            100 * (1 - outside.trials[i].score.value[ITG_METRIC_TOP1]));
        }
    small_network_end(&n);
}

static void an_objective_is_improved(void **state)
{
    static record r;
    calls c = {.lock = PTHREAD_MUTEX_INITIALIZER};
    small_network n;
    (void)state;
    small_network_make(5, "cortex-m", 100, &n);
    itg_search_options o = plain();
    o.goal = (itg_goal){.objectives = {ITG_METRIC_USER1}, .objective_count = 1};
    o.goal.user[0] = metric("errors", ITG_UNIT_NUMBER, false, count_wrong, &c);
    searched(&n, &o, &r);
    double least = INFINITY;
    for (int64_t i = 0; i < r.count; i++)
        least = fmin(least, r.trials[i].score.value[ITG_METRIC_USER1]);
    assert_true(r.met && r.best_holdout.value[ITG_METRIC_USER1] >= 0);
    assert_true(least <= r.trials[0].score.value[ITG_METRIC_USER1]);
    /* what cannot be reached is said in the metric's own words */
    o.goal.objective_count = 0;
    assert_true(itg_goal_constrain(&o.goal, ITG_METRIC_USER1, -1, false));
    searched(&n, &o, &r);
    assert_false(r.met);
    assert_non_null(strstr(r.limited_by, "errors"));
    assert_non_null(strstr(r.limited_by, "at most -1"));
    small_network_end(&n);
}

static void log_it(const small_network *n, const itg_search_options *o, const record *r)
{
    itg_run_log *log = NULL;
    itg_error err = {0};
    int64_t run = 0;
    itg_run_info info = {.model_name = "net",
                         .hardware_name = itg_hardware_name(n->hw),
                         .searcher = "greedy",
                         .hardware_json = itg_hardware_json(n->hw),
                         .preprocess_json = "{}",
                         .engine_version = "0",
                         .started = "2026-01-01T00:00:00Z",
                         .data = {.name = "x", .samples = 100}};
    char *options = NULL;
    unlink(LOG_FILE);
    assert_int_equal(itg_search_options_text(o, &options, NULL), ITG_OK);
    info.options_json = options;
    if (itg_run_log_open(LOG_FILE, &log, &err) != ITG_OK ||
        itg_run_log_begin_run(log, &info, &run, &err) != ITG_OK)
        fail_msg("%s", err.message);
    for (int64_t i = 0; i < r->count; i++)
        assert_int_equal(itg_run_log_trial(log, run, &r->trials[i], 0, NULL), ITG_OK);
    unlink(LOG_FILE ".json");
    if (itg_run_log_commit(log, &err) != ITG_OK ||
        itg_run_log_export(log, run, LOG_FILE ".json", &err) != ITG_OK ||
        itg_run_log_close(log, &err) != ITG_OK)
        fail_msg("%s", err.message);
    unlink(LOG_FILE);
    if (itg_run_log_open(LOG_FILE, &log, &err) != ITG_OK ||
        itg_run_log_import(log, LOG_FILE ".json", &run, &err) != ITG_OK ||
        itg_run_log_close(log, &err) != ITG_OK)
        fail_msg("%s", err.message);
    itg_free(options);
}

/* Through the log, its export and import; the options come from the log as well. */
static void a_run_resumes_with_the_function_and_fails_without(void **state)
{
    static record whole, rest;
    calls c = {.lock = PTHREAD_MUTEX_INITIALIZER};
    small_network n;
    itg_error err = {0};
    (void)state;
    small_network_make(5, "cortex-m", 100, &n);
    itg_search_data data = small_network_data(&n);
    itg_search_options o = plain(), again = {0};
    o.goal.user[0] = metric("errors", ITG_UNIT_NUMBER, false, count_wrong, &c);
    assert_true(itg_goal_constrain(&o.goal, ITG_METRIC_USER1, 40, false));
    searched(&n, &o, &whole);
    log_it(&n, &o, &whole);
    itg_run_log *log = NULL;
    itg_run_record *run = NULL;
    itg_trial *trials = NULL;
    int64_t count = 0;
    if (itg_run_log_open_reader(LOG_FILE, &log, &err) != ITG_OK ||
        itg_run_log_read_run(log, 1, &run, &err) != ITG_OK ||
        itg_run_log_load_trials(log, 1, &trials, &count, &err) != ITG_OK ||
        itg_search_options_from_text(run->info.options_json, "log", &again, &err) != ITG_OK)
        fail_msg("%s", err.message);
    assert_int_equal(count, whole.count);
    for (int64_t i = 0; i < count; i++) {
        assert_true(trials[i].score.value[ITG_METRIC_USER1] ==
                    whole.trials[i].score.value[ITG_METRIC_USER1]);
        assert_memory_equal(trials[i].score.user, whole.trials[i].score.user,
                            sizeof trials[i].score.user);
    }
    again.replay = trials;
    again.replay_count = 5;
    assert_int_equal(search(&n, &data, &again, &rest, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "the metric errors"));
    again.goal.user[0].score = count_wrong;
    again.goal.user[0].context = &c;
    again.threads = 1;
    searched(&n, &again, &rest);
    assert_int_equal(rest.count, whole.count - 5);
    for (int64_t i = 0; i < rest.count; i++)
        assert_memory_equal(rest.points[i], whole.points[i + 5],
                            sizeof(int32_t) * (size_t)rest.trials[i].dim_count);
    assert_memory_equal(rest.best_holdout.digest, whole.best_holdout.digest, 32);
    itg_run_log_free_trials(trials, count);
    itg_run_record_destroy(run);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    small_network_end(&n);
}

static double beyond(void *context, const itg_outputs *o)
{
    (void)context;
    return o->samples > 0 ? 1.5 : 0;
}

static double lost(void *context, const itg_outputs *o)
{
    int *calls_so_far = context;
    return (*calls_so_far)++ < 2 ? (double)o->samples : (double)NAN;
}

static void metrics_that_are_none_are_refused(void **state)
{
    static const char *const names[] = {"top1", "size", "Map", "a b", "sqnr_db"};
    static record r;
    small_network n;
    itg_error err = {0};
    calls c = {.lock = PTHREAD_MUTEX_INITIALIZER};
    (void)state;
    small_network_make(5, "cortex-m", 100, &n);
    itg_search_data data = small_network_data(&n);
    itg_search_options o = plain();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        o.goal.user[0] = metric(names[i], ITG_UNIT_SHARE, true, count_right, &c);
        assert_int_equal(search(&n, &data, &o, &r, &err), ITG_BAD_ARGUMENT);
    }
    o.goal.user[0] = o.goal.user[2] = metric("map", ITG_UNIT_SHARE, true, count_right, &c);
    assert_int_equal(search(&n, &data, &o, &r, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "two metrics map"));
    o.goal.user[2] = (itg_user_metric){0};
    assert_true(itg_goal_constrain(&o.goal, ITG_METRIC_USER3, 0, true));
    assert_int_equal(search(&n, &data, &o, &r, &err), ITG_BAD_ARGUMENT); /* there is none */
    o = plain();
    o.goal.user[0] = metric("map", ITG_UNIT_SHARE, true, beyond, NULL);
    assert_int_equal(search(&n, &data, &o, &r, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "the metric map is 1.5, expected a number from 0 to 1"));
    /* not known of any trial: none meets the goal */
    int so_far = 0;
    o.goal.user[0] = metric("map", ITG_UNIT_NUMBER, true, lost, &so_far);
    assert_true(itg_goal_constrain(&o.goal, ITG_METRIC_USER1, 0, false));
    assert_int_equal(search(&n, &data, &o, &r, &err), ITG_OK);
    assert_false(r.met);
    small_network_end(&n);
}

static double first_label(void *context, const itg_outputs *o)
{
    (void)context;
    return (double)((const float *)o->labels->data)[0];
}

/* Of a network with classes: halves, on three axes; only the metric can read them. */
static void labels_of_any_kind_are_the_metrics(void **state)
{
    static record r;
    float values[100];
    small_network n;
    itg_dataset *labels = NULL;
    itg_error err = {0};
    (void)state;
    for (int i = 0; i < 100; i++)
        values[i] = 0.5f;
    const itg_tensor array = {ITG_F32, {3, {100, 1, 1}}, values};
    small_network_make(5, "cortex-m", 100, &n);
    assert_int_equal(itg_data_from_memory(&array, "halves", &labels, NULL), ITG_OK);
    const itg_search_data data = {n.data, labels, NULL, NULL};
    itg_search_options o = plain();
    assert_int_equal(search(&n, &data, &o, &r, &err), ITG_BAD_FILE);
    o.goal.user[3] = metric("half", ITG_UNIT_NUMBER, true, first_label, NULL);
    if (search(&n, &data, &o, &r, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_true(r.trials[0].score.value[ITG_METRIC_USER4] == 0.5);
    assert_true(isnan(r.trials[0].score.value[ITG_METRIC_TOP1]));
    itg_data_close(labels);
    small_network_end(&n);
}

/* ---- targets ---- */

/* Mean of squares in another order of work: the callback's outputs against the same targets. */
static double mean_square(void *context, const itg_outputs *o)
{
    (void)context;
    const float *got = o->outputs[0].data, *wanted = o->labels->data;
    double sum = 0;
    int64_t count = o->labels->shape.dims[0] * o->labels->shape.dims[1];
    for (int64_t i = 0; i < count; i++)
        sum += ((double)got[i] - (double)wanted[i]) * ((double)got[i] - (double)wanted[i]);
    return sum / (double)count;
}

static void errors_from_targets_are_held(void **state)
{
    static record r;
    static const small_outputs kinds[] = {SMALL_CLASSES, SMALL_SCALAR};
    (void)state;
    for (int k = 0; k < 2; k++) {
        small_network n;
        small_network_make_with(7, "cortex-m", 80, kinds[k], &n);
        int64_t width = kinds[k] == SMALL_CLASSES ? 5 : 1;
        float *values = calloc((size_t)(80 * width), sizeof *values);
        assert_non_null(values);
        for (int64_t i = 0; i < 80 * width; i++)
            values[i] = (float)((i * 37) % 11) / 11;
        const itg_tensor array = {ITG_F32, {2, {80, width}}, values};
        itg_dataset *targets = NULL;
        itg_error err = {0};
        assert_int_equal(itg_data_from_memory(&array, "targets", &targets, NULL), ITG_OK);
        itg_search_data data = {n.data, targets, NULL, NULL};
        itg_search_options o = plain();
        assert_true(itg_goal_constrain(&o.goal, ITG_METRIC_MSE, 0.02, true));
        o.goal.user[0] = metric("again", ITG_UNIT_NUMBER, false, mean_square, NULL);
        if (search(&n, &data, &o, &r, &err) != ITG_OK) fail_msg("%s", err.message);
        assert_true(r.met && r.count > 2);
        for (int64_t i = 0; i < r.count; i++) {
            const double *v = r.trials[i].score.value;
            assert_true(fabs(v[ITG_METRIC_MSE] - v[ITG_METRIC_USER1]) < 1e-12);
            assert_true(v[ITG_METRIC_MAE] > 0 && isnan(v[ITG_METRIC_TOP1]));
        }
        itg_goal_release(&o.goal, ITG_METRIC_MSE);
        if (kinds[k] == SMALL_CLASSES) {
            assert_true(itg_goal_constrain(&o.goal, ITG_METRIC_TOP1, 0.02, true));
            assert_int_equal(search(&n, &data, &o, &r, &err), ITG_BAD_ARGUMENT);
            assert_non_null(strstr(err.message, "no labels of classes"));
            itg_goal_release(&o.goal, ITG_METRIC_TOP1);
            assert_true(itg_goal_constrain(&o.goal, ITG_METRIC_MAE, 0.02, true));
            data = small_network_data(&n);
            assert_int_equal(search(&n, &data, &o, &r, &err), ITG_BAD_ARGUMENT);
            assert_non_null(strstr(err.message, "no targets"));
        }
        itg_data_close(targets);
        free(values);
        small_network_end(&n);
    }
}

/* A drop of the metric is a goal: every trial knows it, none ends early, and threads change
 * nothing. */
static void is_held(const small_network *n, itg_metric m, double drop)
{
    static record a, b;
    itg_search_options o = plain();
    assert_true(itg_goal_constrain(&o.goal, m, drop, true));
    searched(n, &o, &a);
    o.threads = 3;
    searched(n, &o, &b);
    assert_true(a.met && a.count > 2 && a.count == b.count);
    bool varies = false;
    for (int64_t i = 0; i < a.count; i++) {
        const itg_score *s = &a.trials[i].score;
        if (!a.trials[i].feasible) continue;
        assert_int_equal(s->stopped_at, 0);
        assert_true(itg_score_knows(s, m));
        assert_memory_equal(s->value, b.trials[i].score.value, sizeof s->value);
        varies = varies || fabs(s->value[m] - a.trials[0].score.value[m]) > 1e-9;
    }
    assert_true(varies);
    assert_true(itg_score_knows(&a.best_holdout, m));
}

/* Labels [samples] or, of maps, [samples, 2, 2], below `classes`. */
static itg_dataset *random_labels(uint64_t seed, int64_t samples, bool maps, uint64_t classes)
{
    itg_rng rng;
    itg_dataset *d = calloc(1, sizeof *d);
    const int64_t count = samples * (maps ? 4 : 1);
    int64_t *labels = malloc((size_t)count * sizeof *labels);
    assert_true(d && labels);
    itg_rng_init(&rng, seed);
    for (int64_t i = 0; i < count; i++)
        labels[i] = (int64_t)itg_rng_below(&rng, classes);
    *d = (itg_dataset){.dtype = ITG_S64, .data = labels, .path = calloc(1, 1)};
    d->shape = maps ? (itg_shape){3, {samples, 2, 2}} : (itg_shape){1, {samples}};
    assert_non_null(d->path);
    return d;
}

/* Scores of one logit, and maps of 4 classes. */
static void areas_and_maps_are_held(void **state)
{
    (void)state;
    for (int maps = 0; maps < 2; maps++) {
        small_network n;
        small_network_make_with(5, "cortex-m", 100, maps ? SMALL_SPATIAL : SMALL_SCALAR, &n);
        n.labels = random_labels(1, 100, maps, maps ? 4 : 2);
        n.holdout_labels = random_labels(2, 50, maps, maps ? 4 : 2);
        is_held(&n, maps ? ITG_METRIC_MIOU : ITG_METRIC_AUROC, 0.1);
        small_network_end(&n);
    }
}

/* Metrics of a whole set. */
static void metrics_of_a_set_are_held(void **state)
{
    static const struct {
        itg_metric metric;
        double drop;
    } cases[] = {{ITG_METRIC_F1_MACRO, 0.1},
                 {ITG_METRIC_PERPLEXITY, 0.5},
                 {ITG_METRIC_COSINE, 0.05},
                 {ITG_METRIC_KL, 0.1}};
    static record a;
    small_network n;
    (void)state;
    small_network_make(5, "cortex-m", 100, &n);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        is_held(&n, cases[k].metric, cases[k].drop);
    itg_search_options o = plain();
    itg_search_data data = small_network_data(&n);
    itg_error err = {0};
    assert_true(itg_goal_constrain(&o.goal, ITG_METRIC_MIOU, 0.1, true));
    assert_int_equal(search(&n, &data, &o, &a, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "miou, is not known of this data"));
    small_network_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_computed_outside_is_as_good_as_what_is_built_in),
        cmocka_unit_test(an_objective_is_improved),
        cmocka_unit_test(a_run_resumes_with_the_function_and_fails_without),
        cmocka_unit_test(metrics_that_are_none_are_refused),
        cmocka_unit_test(labels_of_any_kind_are_the_metrics),
        cmocka_unit_test(errors_from_targets_are_held),
        cmocka_unit_test(metrics_of_a_set_are_held),
        cmocka_unit_test(areas_and_maps_are_held)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
