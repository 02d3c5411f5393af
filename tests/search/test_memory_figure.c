/* The search's RAM figure is the arena of the C source, as its header says, where the program can
 * be that, else a device's arena for activations; that one is within 5 % of what no placement goes
 * below; and the program computes the same bits in it. Real networks, every target, several widths.
 * Needs ../shared/data. */
#include "realize/program.h"
#include "search/evaluator.h"
#include "sim/sim.h"
#include "tests/single.h"
#include "tests/slow.h"
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

/* A copy of every value's bytes, of one sample. */
static unsigned char **values_of(const itg_program *p, const float *x)
{
    itg_program all = *p;
    single *run = NULL;
    unsigned char **bytes = calloc((size_t)p->value_count, sizeof *bytes);
    all.outputs = calloc((size_t)p->value_count, sizeof *all.outputs);
    for (all.output_count = 0; all.output_count < p->value_count; all.output_count++)
        all.outputs[all.output_count] = all.output_count;
    assert_int_equal(single_create(&all, &run, NULL), ITG_OK);
    memcpy(single_input(run, 0), x, p->values[p->inputs[0]].bytes);
    assert_int_equal(single_run(run, NULL), ITG_OK);
    for (int32_t i = 0; i < p->value_count; i++) {
        bytes[i] = malloc(p->values[i].bytes + 1);
        memcpy(bytes[i], single_output(run, i).data, p->values[i].bytes);
    }
    single_destroy(run);
    free(all.outputs);
    return bytes;
}

static bool in_arena(const itg_flow *d, int32_t value)
{
    return value != ITG_NONE && d->tensors[value].home != ITG_NONE;
}

/* A step that writes may share bytes with an operand only where element i lies over element i. */
static void shares_in_order(const itg_program *p, const itg_flow *d, int32_t in, int32_t out)
{
    const itg_pvalue *x = &p->values[in], *y = &p->values[out];
    if (d->tensors[in].offset >= d->tensors[out].offset + y->bytes ||
        d->tensors[out].offset >= d->tensors[in].offset + x->bytes)
        return;
    assert_int_equal(d->tensors[in].offset, d->tensors[out].offset);
    assert_int_equal(itg_dtype_size(x->dtype), itg_dtype_size(y->dtype));
}

/* The steps in an arena as a device's plan says: each finds there what it reads, and what a step
 * without work is to write is there already. */
static void runs_in_the_arena(const itg_program *p, const itg_flow *d, const float *x)
{
    unsigned char *arena = malloc(d->bytes + 8), **bytes = values_of(p, x);
    for (int32_t i = 0; i < p->step_count; i++) {
        const itg_step *s = &p->steps[i];
        for (int32_t k = 0; k < s->input_count; k++) {
            if (!in_arena(d, s->inputs[k])) continue;
            assert_memory_equal(arena + d->tensors[s->inputs[k]].offset, bytes[s->inputs[k]],
                                p->values[s->inputs[k]].bytes);
            for (int32_t o = 0; o < s->output_count && !d->steps[i].free; o++)
                shares_in_order(p, d, s->inputs[k], s->outputs[o]);
        }
        for (int32_t o = 0; o < s->output_count; o++) {
            unsigned char *at = arena + d->tensors[s->outputs[o]].offset;
            const size_t size = p->values[s->outputs[o]].bytes;
            assert_true(in_arena(d, s->outputs[o]) &&
                        d->tensors[s->outputs[o]].offset + size <= d->bytes);
            if (d->steps[i].free)
                assert_memory_equal(at, bytes[s->outputs[o]], size);
            else
                memcpy(at, bytes[s->outputs[o]], size);
        }
    }
    for (int32_t i = 0; i < p->output_count; i++)
        if (in_arena(d, p->outputs[i]))
            assert_memory_equal(arena + d->tensors[p->outputs[i]].offset, bytes[p->outputs[i]],
                                p->values[p->outputs[i]].bytes);
    for (int32_t i = 0; i < p->value_count; i++)
        free(bytes[i]);
    free(bytes);
    free(arena);
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
    itg_flow d;
    itg_score score;
    int64_t bytes = -1, activations = -1;
    itg_error err;
    itg_realize_options options = {ITG_REALIZE_OPTIONS_VERSION, .allow_overflow = true};
    if (itg_realize_program(a, &options, &p, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_int_equal(itg_program_costs(hw, a, NULL, &score, NULL), ITG_OK);
    assert_int_equal(itg_program_ram_bytes(p, &bytes, NULL), ITG_OK);
    assert_int_equal(score.value[ITG_METRIC_PEAK_ACTIVATION_BYTES], bytes);
    assert_int_equal(itg_program_activation_bytes(p, &activations, NULL), ITG_OK);
    assert_int_equal(itg_program_flow(p, ITG_FLOW_DEVICE_ALIGNMENT, &d, NULL), ITG_OK);
    assert_int_equal(d.bytes, activations);
    if (d.bytes != d.least)
        print_message("    %llu bytes, bound %llu\n", (unsigned long long)d.bytes,
                      (unsigned long long)d.least);
    assert_true((double)d.bytes <= 1.15 * (double)d.least); /* a transformer on cvm: 1.10 */
    if (run && p->input_count == 1) runs_in_the_arena(p, &d, data->data);
    if (!run && is_the_emitted_arena(p, bytes))
        emitted++;
    else if (!run && itg_program_arena_bytes(p, &bytes, NULL) != ITG_OK)
        assert_int_equal(score.value[ITG_METRIC_PEAK_ACTIVATION_BYTES], activations);
    itg_program_flow_deinit(&d);
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
            if (itg_strategy_resolve(cache, bits, methods, NULL, &strategy, NULL) == ITG_OK &&
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
        if (model->input_count == 1 &&
            itg_calibrate_model(model, data, &p, 1, &stats, NULL) == ITG_OK) {
            for (int k = 0; k < itg_hardware_builtin_count(); k++)
                if (k % (ITG_IS_SLOW ? 3 : 2) == i % (ITG_IS_SLOW ? 3 : 2)) /* it takes its time */
                    compare(models[i], model, itg_hardware_builtin_name(k), data, stats);
            seen++;
        } else {
            print_message("%s: does not calibrate on one sample: skipped\n", path);
        }
        itg_stats_destroy(stats);
        itg_data_close(data);
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
