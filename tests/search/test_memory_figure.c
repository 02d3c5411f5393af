/* The search's RAM figure is the arena of the C source, as its header says, where the program can
 * be that, else a device's arena for activations; that one is within 5 % of what no placement goes
 * below; and the program computes the same bits in it. Real networks, every target, several widths.
 * Needs ../shared/data. */
#include "realize/exec.h"
#include "realize/program.h"
#include "search/evaluator.h"
#include "sim/sim.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char *const models[] = {
    "iris_winml_network",
    "lenet_ccoltong_custom",
    "mnist_onnxzoo_orig",
    "mnist_wuhan_lg",
    "fashion_shahjahan",
    "cifar10_winml_imageclassifier",
    "resnet8_cifar10",
    "mbv2_cifar10",
    "kws_micro_m_fp32",
    "vnn_mnist-net_256x2",
    "vnn_resnet_2b",
    "vnn_resnet_4b",
    "vit_cifar_ibp_3_3_8",
    "vit_ln_cifar10",
    "super_resolution_subpixel",
    "imagenet_squeezenet_fp32_from_fp16",
    "silero_vad_16k_op15",
    "ultraface_slim320",
};
static int emitted; /* C sources */
#define MODEL_COUNT ((int)(sizeof models / sizeof *models))

static itg_dataset *random_sample(const itg_graph *g)
{
    itg_dataset *d = calloc(1, sizeof *d);
    itg_rng rng;
    int64_t elements = 0;
    d->dtype = ITG_F32;
    d->shape = g->values[g->inputs[0]].shape;
    assert_true(itg_shape_elements(&d->shape, &elements));
    float *x = malloc(sizeof *x * (size_t)elements);
    itg_rng_init(&rng, 3);
    for (int64_t i = 0; i < elements; i++)
        x[i] = (float)(itg_rng_unit(&rng) * 2 - 1);
    d->data = x;
    return d;
}

/* The program's steps in an arena as a device's plan says, against the instance's own memory. */
static void runs_in_the_arena(const itg_program *p, const itg_device_plan *d, const float *x)
{
    itg_instance *plain = NULL, *device = NULL;
    assert_int_equal(itg_instance_create(p, &plain, NULL), ITG_OK);
    assert_int_equal(itg_instance_create(p, &device, NULL), ITG_OK);
    size_t most = 1, bytes = p->values[p->inputs[0]].bytes;
    for (int32_t i = 0; i < p->step_count; i++)
        if (p->steps[i].scratch_bytes > most) most = p->steps[i].scratch_bytes;
    unsigned char *arena = malloc(d->bytes + 8); /* malloc: aligned for every element */
    void **places = calloc((size_t)p->value_count, sizeof *places), *scratch = malloc(most);
    for (int32_t i = 0; i < p->value_count; i++)
        places[i] = d->home[i] == ITG_NONE ? NULL : arena + d->offset[i];
    places[p->inputs[0]] = malloc(bytes);
    memcpy(places[p->inputs[0]], x, bytes);
    memcpy(itg_instance_input(plain, 0), x, bytes);
    device->places = places;
    device->scratch = scratch;
    assert_int_equal(itg_instance_run(plain, NULL), ITG_OK);
    for (int32_t i = 0; i < p->step_count; i++)
        if (!d->free[i]) assert_int_equal(itg_exec_step(device, &p->steps[i], NULL), ITG_OK);
    assert_memory_equal(places[p->inputs[0]], x, bytes);
    for (int32_t i = 0; i < p->output_count; i++)
        assert_memory_equal(itg_instance_output(device, i).data, itg_instance_output(plain, i).data,
                            p->values[p->outputs[i]].bytes);
    free(places[p->inputs[0]]);
    free(places);
    free(scratch);
    free(arena);
    itg_instance_destroy(plain);
    itg_instance_destroy(device);
}

/* The number behind a #define of a header that was written for "figure". */
static int64_t defined(const char *what)
{
    unsigned char *text = NULL;
    size_t bytes = 0;
    long long value = -1;
    assert_int_equal(itg_file_read(ITG_TEST_DIR "/figure.h", 1 << 26, &text, &bytes, NULL), ITG_OK);
    const char *at = strstr((const char *)text, what);
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(what), " INT32_C(%lld)", &value), 1);
    free(text);
    return value;
}

/* Returns whether the program can be C source; its arena is the figure then. */
static bool is_the_emitted_arena(const itg_program *p, int64_t figure)
{
    itg_emit_vectors vectors = {.count = 1};
    itg_emit_sizes sizes;
    itg_error err;
    itg_status status = itg_program_emit_c(p, "figure", &vectors, ITG_TEST_DIR, &sizes, &err);
    if (status == ITG_UNSUPPORTED || status == ITG_LIMIT) return false;
    if (status != ITG_OK) fail_msg("%s", err.message);
    assert_int_equal(sizes.arena_bytes, figure);
    assert_int_equal(defined("FIGURE_ARENA_BYTES"), figure);
    return true;
}

static int64_t figure_of(const itg_hardware *hw, const itg_annotated *a, const itg_dataset *data,
                         bool run)
{
    itg_program *p = NULL;
    itg_device_plan d;
    itg_score score;
    int64_t bytes = -1, activations = -1;
    itg_error err;
    itg_realize_options options = {.allow_overflow = true};
    if (itg_realize_program(a, &options, &p, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_int_equal(itg_program_costs(hw, a, NULL, &score, NULL), ITG_OK);
    assert_int_equal(itg_program_ram_bytes(p, &bytes, NULL), ITG_OK);
    assert_int_equal(score.value[ITG_METRIC_PEAK_ACTIVATION_BYTES], bytes);
    assert_int_equal(itg_program_activation_bytes(p, &activations, NULL), ITG_OK);
    assert_int_equal(itg_program_plan_device(p, ITG_FLOW_DEVICE_ALIGNMENT, &d, NULL), ITG_OK);
    assert_int_equal(d.bytes, activations);
    assert_true((double)d.bytes <= 1.05 * (double)d.least);
    if (d.bytes != d.least) print_message("    %zu bytes, bound %zu\n", d.bytes, d.least);
    if (run && p->input_count == 1) runs_in_the_arena(p, &d, data->data);
    if (!run && is_the_emitted_arena(p, bytes))
        emitted++;
    else if (!run && itg_program_arena_bytes(p, &bytes, NULL) != ITG_OK)
        assert_int_equal(score.value[ITG_METRIC_PEAK_ACTIVATION_BYTES], activations);
    itg_device_plan_deinit(&d);
    itg_program_destroy(p);
    return bytes;
}

/* Widest, narrowest, then any widths that the hardware allows. */
static void choose(const itg_choice_space *space, int round, itg_rng *rng, int32_t *bits)
{
    for (int32_t i = 0; i < space->group_count; i++) {
        const itg_choice_group *group = &space->groups[i];
        int32_t at = round == 0   ? group->bits_count - 1
                     : round == 1 ? 0
                                  : (int32_t)itg_rng_below(rng, (uint64_t)group->bits_count);
        bits[i] = group->bits[at];
    }
}

static void compare(const char *model, const itg_graph *g, const char *target,
                    const itg_dataset *data, const itg_stats *stats)
{
    itg_hardware *hw = NULL;
    itg_choice_space *space = NULL;
    itg_threshold_cache *cache = NULL;
    itg_rng rng;
    itg_rng_init(&rng, 5);
    assert_int_equal(itg_hardware_load(target, &hw, NULL), ITG_OK);
    if (itg_choice_space_create(hw, g, &(itg_space_options){.weight = {0, 0}}, &space, NULL) ==
        ITG_OK) {
        size_t groups = (size_t)space->group_count + 1;
        int32_t *bits = malloc(sizeof *bits * groups);
        itg_threshold_method *methods = malloc(sizeof *methods * groups);
        int64_t figure = -1;
        assert_int_equal(itg_threshold_cache_create(g, hw, space, stats, &cache, NULL), ITG_OK);
        itg_uniform_methods(space, ITG_THRESHOLD_MAX, ITG_THRESHOLD_MAX, methods);
        for (int round = 0; round < 3; round++) {
            itg_strategy *strategy = NULL;
            itg_annotated *a = NULL;
            choose(space, round, &rng, bits);
            if (itg_strategy_resolve(cache, bits, methods, &strategy, NULL) == ITG_OK &&
                itg_annotate(g, hw, strategy, &a, NULL) == ITG_OK)
                figure = figure_of(hw, a, data, round == 0);
            itg_annotated_destroy(a);
            itg_strategy_destroy(strategy);
        }
        print_message("  %-36s %-10s %10lld bytes\n", model, target, (long long)figure);
        free(bits);
        free(methods);
    }
    itg_threshold_cache_destroy(cache);
    itg_choice_space_destroy(space);
    itg_hardware_destroy(hw);
}

static void real_networks_need_what_the_search_says(void **state)
{
    (void)state;
    int seen = 0;
    for (int i = 0; i < MODEL_COUNT; i++) {
        char path[256];
        itg_model *model = NULL;
        itg_stats *stats = NULL;
        itg_preprocess p = itg_preprocess_default();
        snprintf(path, sizeof path, "../shared/data/models/%s.onnx", models[i]);
        if (itg_model_open(path, NULL, &model, NULL) != ITG_OK) {
            print_message("%s is absent or not for this engine: skipped\n", path);
            continue;
        }
        itg_dataset *data = random_sample(model);
        if (model->input_count == 1 && itg_calibrate(model, data, &p, 1, &stats, NULL) == ITG_OK) {
            for (int k = 0; k < itg_hardware_builtin_count(); k++)
                compare(models[i], model, itg_hardware_builtin_name(k), data, stats);
            seen++;
        } else {
            print_message("%s: does not calibrate on one sample: skipped\n", path);
        }
        itg_stats_destroy(stats);
        itg_dataset_destroy(data);
        itg_model_close(model);
    }
    print_message("%d networks, %d C sources\n", seen, emitted);
    if (seen > 0) assert_true(emitted > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_networks_need_what_the_search_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
