/* Candidates built with constants that are kept equal those built without, byte for byte: along
 * random paths of one-group moves, on small and on real networks, with room for everything and with
 * hardly any, and by several threads at once. */
#include "candidates.h"
#include "network.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { SMALL_STEPS = 60, REAL_STEPS = 12, THREADS = 4 };
static const char *const targets[] = {"cortex-m", "x86-vnni", "vta", "cvm"};
enum { TARGETS = sizeof targets / sizeof *targets };
static const size_t budgets[] = {0, 2000, (size_t)64 << 20};
enum { BUDGETS = sizeof budgets / sizeof *budgets };

/* A path's beginning: the widest point. */
typedef struct scene {
    itg_model *model;
    itg_hardware *hw;
    itg_stats *stats;
    itg_evaluator evaluator;
} scene;

/* wide: activations of up to 16 bits, too, so that sums are split where the hardware can, and that
 * not everything can be realized. */
static void set_up(scene *s, const itg_dataset *data, const itg_preprocess *p, bool wide)
{
    itg_search_options options = {
        ITG_SEARCH_OPTIONS_VERSION, .weight_methods.values = {ITG_THRESHOLD_MAX, ITG_THRESHOLD_AVG},
        .weight_methods.count = 2, .activation_methods.values = {ITG_THRESHOLD_MAX},
        .activation_methods.count = 1};
    itg_evaluator *e = &s->evaluator;
    const itg_graph *g = s->model;
    *e = (itg_evaluator){.model = s->model, .hw = s->hw, .preprocess = p};
    assert_int_equal(itg_calibrate_model(g, data, p, 1, &s->stats, NULL), ITG_OK);
    if (wide) options.activation_bits = (itg_bits_range){4, 16};
    if (itg_point_space_create(s->hw, g, &options, &e->points, NULL) != ITG_OK) {
        options.activation_bits = (itg_bits_range){0, 0};
        assert_int_equal(itg_point_space_create(s->hw, g, &options, &e->points, NULL), ITG_OK);
    }
    assert_int_equal(
        itg_threshold_cache_create(g, s->hw, e->points->groups, s->stats, &e->cache, NULL), ITG_OK);
}

static void tear_down(scene *s)
{
    itg_evaluator_deinit(&s->evaluator);
    itg_stats_destroy(s->stats);
}

/* Steps from the widest point on; returns how many could be realized. */
static int walk(const scene *s, const itg_constants *constants, uint64_t seed, int steps)
{
    const itg_point_space *points = s->evaluator.points;
    int realized = 0;
    itg_rng rng;
    int32_t *point = calloc((size_t)points->space.dim_count + 1, sizeof *point);
    itg_rng_init(&rng, seed);
    if (!point) abort();
    itg_point_space_corner(points, false, point);
    for (int i = 0; i < steps; i++) {
        itg_strategy *strategy = NULL;
        if (itg_evaluator_resolve(&s->evaluator, point, &strategy, NULL) == ITG_OK)
            realized += candidates_agree(s->model, s->hw, strategy, constants);
        itg_strategy_destroy(strategy);
        if (points->space.dim_count == 0) break;
        int32_t d = (int32_t)itg_rng_below(&rng, (uint64_t)points->space.dim_count);
        const itg_dim *dim = &points->space.dims[d];
        point[d] = dim->values[itg_rng_below(&rng, (uint64_t)dim->count)];
    }
    free(point);
    return realized;
}

/* sure: some of the points must be such that they can be realized. */
static void walk_all(const scene *s, int steps, bool sure)
{
    for (int i = 0; i < BUDGETS; i++) {
        kept_constants kept = keep_constants(s->model, budgets[i]);
        const int realized = walk(s, &kept.constants, 7 + (uint64_t)i, steps);
        if (sure && realized == 0)
            fail_msg("%s on %s: nothing of %d could be realized", s->model->name, s->hw->name,
                     steps);
        itg_cache_stats stats = itg_cache_statistics(kept.constants.cache);
        assert_true(stats.bytes <= budgets[i]); /* nothing is held any more */
        if (budgets[i] == 0) assert_int_equal(stats.entries, 0);
        if (sure && i == BUDGETS - 1) assert_true(stats.hits > 0);
        drop_constants(&kept);
    }
}

static void small_networks(void **state)
{
    (void)state;
    for (int t = 0; t < TARGETS; t++)
        for (uint64_t seed = 1; seed < 4; seed++) {
            small_network n;
            small_network_make(seed, targets[t], 16, &n);
            scene s = {.model = n.model, .hw = n.hw};
            set_up(&s, n.data, &n.preprocess, seed % 2 == 0);
            walk_all(&s, SMALL_STEPS, true);
            tear_down(&s);
            small_network_end(&n);
        }
}

typedef struct walker {
    const scene *s;
    const itg_constants *constants;
} walker;

static itg_status walk_item(void *context, int worker, int64_t item, itg_error *err)
{
    const walker *w = context;
    (void)worker;
    (void)err;
    walk(w->s, w->constants, 100 + (uint64_t)item, SMALL_STEPS);
    return ITG_OK;
}

static void threads_that_share_them(void **state)
{
    (void)state;
    for (int t = 0; t < TARGETS; t++)
        for (int i = 0; i < BUDGETS; i++) {
            small_network n;
            small_network_make(5, targets[t], 16, &n);
            scene s = {.model = n.model, .hw = n.hw};
            set_up(&s, n.data, &n.preprocess, true);
            kept_constants kept = keep_constants(n.model, budgets[i]);
            walker w = {&s, &kept.constants};
            assert_int_equal(itg_parallel_for(THREADS, 2 * THREADS, walk_item, &w, NULL), ITG_OK);
            drop_constants(&kept);
            tear_down(&s);
            small_network_end(&n);
        }
}

/* Samples of noise in the shape of the model's input. */
static itg_dataset noise(const itg_model *model)
{
    itg_dataset d = {.dtype = ITG_F32, .shape = *itg_model_input_shape(model, 0)};
    int64_t elements = 0;
    itg_rng rng;
    itg_rng_init(&rng, 3);
    d.shape.dims[0] = 2;
    assert_true(itg_shape_elements(&d.shape, &elements));
    float *x = malloc(sizeof *x * (size_t)elements);
    assert_non_null(x);
    for (int64_t i = 0; i < elements; i++)
        x[i] = (float)(itg_rng_unit(&rng) * 2 - 1);
    d.data = x;
    return d;
}

static void real_networks(void **state)
{
    static const char *const models[] = {"resnet8_cifar10", "mbv2_cifar10", "mnist_onnxjs_7",
                                         "kws_micro_m_fp32", "vit_ln_cifar10"};
    const itg_preprocess p = itg_preprocess_default();
    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (int t = 0; t < TARGETS; t++) {
            char path[128];
            scene s = {0};
            snprintf(path, sizeof path, "../shared/data/models/%s.onnx", models[m]);
            if (access(path, R_OK) != 0) {
                printf("%s is not here: skipped\n", path);
                continue;
            }
            assert_int_equal(itg_model_open(path, NULL, &s.model, NULL), ITG_OK);
            assert_int_equal(itg_hardware_load(targets[t], &s.hw, NULL), ITG_OK);
            itg_dataset data = noise(s.model);
            itg_point_space *points = NULL; /* not every target runs every model */
            if (itg_point_space_create(s.hw, s.model, &(itg_search_options)ITG_SEARCH_OPTIONS_INIT,
                                       &points, NULL) == ITG_OK)
                for (int wide = 0; wide < 2; wide++) {
                    set_up(&s, &data, &p, wide);
                    walk_all(&s, REAL_STEPS, !wide);
                    tear_down(&s);
                }
            itg_point_space_destroy(points);
            free(data.data);
            itg_hardware_destroy(s.hw);
            itg_model_close(s.model);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_networks),
        cmocka_unit_test(threads_that_share_them),
        cmocka_unit_test(real_networks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
