/* Whole searches of real networks with racing and without: the same trials in the same order, the
 * same best, the same strategy file; and trials that stop at the same sample on any number of
 * threads, with any kernels and caches. */
#include "cli/passive.h"
#include "wanted.h"
#include "tests/base/cmocka_base.h"
#include "tests/slow.h"
#include <stdio.h>
#include <stdlib.h>
#include <intaglio/intaglio.h>

enum { MOST = 64, DIMS = 64 };
#define DATA "../shared/data/"

typedef struct network {
    const char *model, *images, *labels;
    itg_preprocess preprocess;
    int64_t samples, trials;
    itg_bits_range exhaustive; /* widths of weights that leave few enough points */
} network;

#define CIFAR                                                                                      \
    {                                                                                              \
        .scale = 1.0f / 255, .mean_count = 3, .std_count = 3, .mean = {0.4914f, 0.4822f, 0.4465f}, \
        .std = {                                                                                   \
            0.2470f,                                                                               \
            0.2435f,                                                                               \
            0.2616f                                                                                \
        }                                                                                          \
    }
static const network networks[] = {
    {"mnist_onnxjs_7", "mnist/test-images-idx3-ubyte.gz", "mnist/test-labels-idx1-ubyte.gz",
     .preprocess = {.scale = 1}, .samples = 200, .trials = 48, .exhaustive = {3, 6}},
    {"resnet8_cifar10", "cifar10/search_images_u8.npy", "cifar10/search_labels.npy",
     .preprocess = CIFAR, .samples = 160, .trials = 30, .exhaustive = {3, 4}},
};

typedef struct loaded {
    const network *is;
    itg_model *model;
    itg_hardware *hw;
    itg_dataset *data;
    itg_dataset *labels;
} loaded;

typedef struct record {
    int64_t count, duplicates, raced, best;
    int32_t points[MOST][DIMS];
    itg_trial trials[MOST];
    char stop_reason[32], limited_by[512];
    itg_score best_score, best_holdout, hago;
    char *strategy;
} record;

static bool load(const network *is, loaded *out)
{
    char path[256];
    *out = (loaded){.is = is};
    snprintf(path, sizeof path, DATA "models/%s.onnx", is->model);
    if (itg_model_open(path, NULL, &out->model, NULL) != ITG_OK) {
        print_message("skipped: %s is not there\n", path);
        return false;
    }
    assert_int_equal(itg_hardware_load("cortex-m", &out->hw, NULL), ITG_OK);
    snprintf(path, sizeof path, DATA "%s", is->images);
    assert_int_equal(itg_data_open(path, is->samples, &out->data, NULL), ITG_OK);
    snprintf(path, sizeof path, DATA "%s", is->labels);
    assert_int_equal(itg_data_open(path, is->samples, &out->labels, NULL), ITG_OK);
    return true;
}

static void unload(loaded *l)
{
    itg_data_close(l->labels);
    itg_data_close(l->data);
    itg_hardware_destroy(l->hw);
    itg_model_close(l->model);
}

static itg_status keep(void *context, const itg_trial *trial, itg_error *err)
{
    record *r = context;
    (void)err;
    assert_true(r->count < MOST && trial->dim_count <= DIMS);
    memcpy(r->points[r->count], trial->point, sizeof *trial->point * (size_t)trial->dim_count);
    r->trials[r->count] = *trial;
    r->trials[r->count].point = r->points[r->count];
    r->trials[r->count].error = NULL;
    r->count++;
    return ITG_OK;
}

static void search(const loaded *l, const itg_search_options *o, bool labelled, record *r)
{
    itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .context = r, .trial = keep};
    itg_search_data data = {l->data, labelled ? l->labels : NULL, NULL, NULL};
    itg_search_result *result = NULL;
    itg_error err = {0};
    itg_free(r->strategy);
    memset(r, 0, sizeof *r);
    if (itg_search(l->model, l->hw, &l->is->preprocess, &data, o, &hooks, &result, &err) != ITG_OK)
        fail_msg("%s, %s: %s", l->is->model, o->searcher, err.message);
    r->duplicates = itg_search_duplicate_count(result);
    r->raced = itg_search_raced_count(result);
    snprintf(r->stop_reason, sizeof r->stop_reason, "%s", itg_search_stop_reason(result));
    snprintf(r->limited_by, sizeof r->limited_by, "%s", itg_search_limited_by(result));
    const itg_trial *best = itg_search_best(result);
    assert_non_null(best);
    r->best = best->index;
    r->best_score = best->score;
    r->best_holdout = *itg_search_best_holdout(result);
    if (itg_search_hago(result, true)) r->hago = *itg_search_hago(result, true);
    assert_int_equal(itg_strategy_text(itg_search_strategy(result), l->model, &r->strategy, NULL),
                     ITG_OK);
    itg_search_result_destroy(result);
}

/* Everything but what a stopped trial cannot know. */
static void check_same(const record *on, const record *off)
{
    assert_int_equal(on->count, off->count);
    assert_memory_equal(on->points, off->points, sizeof on->points);
    assert_int_equal(on->best, off->best);
    assert_string_equal(on->strategy, off->strategy);
    assert_string_equal(on->stop_reason, off->stop_reason);
    assert_string_equal(on->limited_by, off->limited_by);
    assert_memory_equal(&on->best_score, &off->best_score, sizeof on->best_score);
    assert_memory_equal(&on->best_holdout, &off->best_holdout, sizeof on->best_holdout);
    assert_memory_equal(&on->hago, &off->hago, sizeof on->hago);
    assert_int_equal(on->duplicates, off->duplicates);
    for (int64_t i = 0; i < on->count; i++) {
        const itg_trial *a = &on->trials[i], *b = &off->trials[i];
        if (b->score.stopped_at > 0) { /* all that was asked for */
            assert_true(itg_score_knows(&b->score, ITG_METRIC_DISTORTION));
            assert_memory_equal(&a->score, &b->score, sizeof a->score);
            continue;
        }
        assert_int_equal(a->feasible, b->feasible);
        assert_int_equal(a->meets_goal, b->meets_goal);
        assert_int_equal(a->duplicate, b->duplicate);
        if (a->score.stopped_at == 0) {
            assert_memory_equal(&a->score, &b->score, sizeof a->score);
            continue;
        }
        assert_true(a->score.stopped_at < a->score.samples);
        assert_true(a->score.samples == b->score.samples &&
                    a->score.value[ITG_METRIC_BOPS] == b->score.value[ITG_METRIC_BOPS]);
        assert_true(a->score.value[ITG_METRIC_WEIGHT_BYTES] ==
                    b->score.value[ITG_METRIC_WEIGHT_BYTES]);
        assert_true(itg_score_get(&a->score, ITG_METRIC_ACCURACY) >=
                    itg_score_get(&b->score, ITG_METRIC_ACCURACY));
        assert_false(a->score.value[ITG_METRIC_TOP1] < b->score.value[ITG_METRIC_TOP1] ||
                     a->score.value[ITG_METRIC_AGREEMENT] < b->score.value[ITG_METRIC_AGREEMENT]);
    }
}

static itg_search_options options_of(const network *n, int searcher, bool maximize)
{
    itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION,
                            .recover = ITG_RECOVER_NONE,
                            .goal = goal_of((aim){.max_drop = maximize ? -1 : 0.02}),
                            .trials = n->trials,
                            .seed = 3,
                            .threads = 2,
                            .weight_methods.values = {ITG_THRESHOLD_MAX, ITG_THRESHOLD_AVG},
                            .weight_methods.count = 2,
                            .activation_methods.values = {ITG_THRESHOLD_MAX},
                            .activation_methods.count = 1,
                            .cache_bytes = 1 << 24};
    snprintf(o.searcher, sizeof o.searcher, "%s", itg_searcher_name(searcher));
    if (maximize) o.goal.objectives[0] = ITG_METRIC_ACCURACY;
    if (maximize) limit(&o.goal, ITG_METRIC_BOPS, 3e8);
    if (strcmp(o.searcher, "exhaustive") == 0) {
        o.weight_bits = n->exhaustive;
        o.activation_bits = o.input_bits = o.output_bits = (itg_bits_range){8, 8};
        o.weight_methods.count = 1;
    }
    return o;
}

static record on, off;

static void racing_changes_no_trial_no_best_and_no_file(void **state)
{
    (void)state;
    int64_t raced = 0, worse = 0;
    for (size_t n = 0; n < sizeof networks / sizeof *networks; n++) {
        loaded l;
        if (!load(&networks[n], &l)) continue;
        for (int i = 0; i < itg_searcher_count(); i++)
            for (int kind = 0; kind < 3; kind++) {
                if (ITG_IS_SLOW && kind != (i + (int)n) % 3) continue;
                itg_search_options o = options_of(l.is, i, kind == 1);
                o.hago_baseline = kind == 0 && i == 0;
                search(&l, &o, kind != 2, &on);
                o.no_racing = true;
                search(&l, &o, kind != 2, &off);
                check_same(&on, &off);
                if (strcmp(o.searcher, "greedy") != 0 && strcmp(o.searcher, "hybrid") != 0)
                    assert_int_equal(off.raced, 0); /* the others ask all samples */
                raced += on.raced - off.raced;
                for (int64_t k = 0; k < on.count; k++)
                    worse += on.trials[k].score.stopped_at > 0 &&
                             on.trials[k].score.value[ITG_METRIC_TOP1] >
                                 off.trials[k].score.value[ITG_METRIC_TOP1];
            }
        unload(&l);
    }
    if (raced == 0) return skip();
    assert_true(raced > (ITG_IS_SLOW ? 30 : 100) && worse > (ITG_IS_SLOW ? 6 : 20));
}

static void trials_stop_at_the_same_sample_on_any_machine(void **state)
{
    (void)state;
    static const struct {
        int threads;
        int64_t cache;
        const char *kernels;
    } ways[] = {{1, 0, ""}, {2, 1 << 16, ""}, {4, 1 << 26, ""}, {2, 1 << 26, "portable"}};
    loaded l;
    if (!load(&networks[0], &l)) return skip();
    for (int i = 0; i < itg_searcher_count(); i++) {
        itg_search_options o = options_of(l.is, i, false);
        search(&l, &o, true, &off);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            if (ITG_IS_SLOW && w != (size_t)i % 4) continue;
            o.threads = ways[w].threads;
            o.cache_bytes = ways[w].cache;
            if (*ways[w].kernels) setenv("INTAGLIO_KERNELS", ways[w].kernels, 1);
            search(&l, &o, true, &on);
            unsetenv("INTAGLIO_KERNELS");
            assert_int_equal(on.count, off.count);
            for (int64_t k = 0; k < on.count; k++)
                assert_memory_equal(&on.trials[k].score, &off.trials[k].score, sizeof(itg_score));
            assert_string_equal(on.strategy, off.strategy);
            assert_true(on.raced == off.raced && on.duplicates == off.duplicates);
        }
    }
    unload(&l);
}

int main(int argc, char **argv)
{
    itg_be_passive(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(racing_changes_no_trial_no_best_and_no_file),
        cmocka_unit_test(trials_stop_at_the_same_sample_on_any_machine),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    itg_free(on.strategy);
    itg_free(off.strategy);
    return failed;
}
