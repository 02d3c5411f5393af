/* Networks of several inputs: an image and a vector, a vector that has no batch, a mask of
 * integers. Data finds them by name, and every way of running them gives the same bits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <intaglio/intaglio.h>
#include "base/base.h"
#include "graph/onnx/onnx_write.h"

enum { SAMPLES = 40, WIDTH = 5, CLASSES = 3, INPUTS = 4 };

static const struct {
    const char *name;
    itg_dtype dtype;
    itg_shape shape; /* in the file */
} inputs[INPUTS] = {{"image", ITG_F32, {4, {-1, 2, 4, 4}}},
                    {"vector", ITG_F32, {2, {-1, WIDTH}}},
                    {"gain", ITG_F32, {1, {WIDTH}}},
                    {"mask", ITG_S64, {2, {-1, WIDTH}}}};

typedef struct example {
    itg_model *model;
    itg_hardware *hw;
    itg_preprocess preprocess;
    itg_dataset *data;
    itg_strategy_file *file;
    itg_annotated *annotated;
    itg_program *program;
} example;

static void check(itg_status status, const itg_error *err)
{
    if (status != ITG_OK) fail_msg("%s", err->message);
}

/* ---- the network: ((mean(conv(image)) + vector) * gain [* mask]) * weights ---- */

static void put_weights(itg_onnx_writer *w, const char *name, itg_shape shape)
{
    float x[128];
    int64_t count = 0;
    itg_rng rng;
    itg_rng_init(&rng, 5);
    assert_true(itg_shape_elements(&shape, &count) && count <= 128);
    for (int64_t i = 0; i < count; i++)
        x[i] = (float)(itg_rng_unit(&rng) - 0.5);
    itg_onnx_writer_initializer(w, name, &(itg_tensor){ITG_F32, shape, x});
}

static void put_node(itg_onnx_writer *w, const char *op, const char *a, const char *b,
                     const char *out)
{
    const char *const in[] = {a, b};
    itg_onnx_writer_node(w, "", op, out, in, b ? 2 : 1, &out, 1);
}

static itg_model *make_model(bool with_mask)
{
    itg_onnx_writer *w = NULL;
    itg_buffer packed = {0};
    itg_model *model = NULL;
    itg_error err = {.message = ""};
    assert_int_equal(itg_onnx_writer_create("net", "", &w, NULL), ITG_OK);
    itg_onnx_writer_opset(w, "", 13);
    for (int i = 0; i < (with_mask ? 4 : 3); i++)
        itg_onnx_writer_input(w, inputs[i].name, inputs[i].dtype, &inputs[i].shape);
    put_weights(w, "filters", (itg_shape){4, {WIDTH, 2, 3, 3}});
    put_weights(w, "weights", (itg_shape){2, {WIDTH, CLASSES}});
    put_node(w, "Conv", "image", "filters", "conv");
    put_node(w, "GlobalAveragePool", "conv", NULL, "pool");
    put_node(w, "Flatten", "pool", NULL, "flat");
    put_node(w, "Add", "flat", "vector", "sum");
    put_node(w, "Mul", "sum", "gain", "product");
    if (with_mask) {
        put_node(w, "Cast", "mask", NULL, "kept");
        itg_onnx_writer_int(w, "to", 1);
        put_node(w, "Mul", "product", "kept", "masked");
    }
    put_node(w, "MatMul", with_mask ? "masked" : "product", "weights", "y");
    itg_onnx_writer_output(w, "y", ITG_F32, NULL);
    check(itg_onnx_writer_pack(w, "net.onnx", &packed, &err), &err);
    check(itg_model_open_memory(packed.data, packed.bytes, "net.onnx", NULL, &model, &err), &err);
    free(packed.data);
    itg_onnx_writer_destroy(w);
    return model;
}

/* Input i of all samples. */
static itg_dataset *make_part(int i)
{
    itg_shape shape = {.rank = inputs[i].shape.rank + (i == 2), .dims = {SAMPLES, WIDTH}};
    for (int d = 1; d < inputs[i].shape.rank; d++)
        shape.dims[d] = inputs[i].shape.dims[d];
    itg_dataset *part = NULL;
    int64_t count = 0;
    itg_rng rng;
    itg_rng_init(&rng, (uint64_t)i);
    assert_true(itg_shape_elements(&shape, &count));
    itg_tensor array = {inputs[i].dtype, shape, calloc((size_t)count, 8)};
    for (int64_t k = 0; k < count; k++)
        if (array.dtype == ITG_S64)
            ((int64_t *)array.data)[k] = (int64_t)itg_rng_below(&rng, 2);
        else
            ((float *)array.data)[k] = (float)(itg_rng_unit(&rng) * 2 - 0.7);
    assert_int_equal(itg_data_from_memory(&array, inputs[i].name, &part, NULL), ITG_OK);
    free(array.data);
    return part;
}

/* The parts in the model's order, or in the opposite one. */
static itg_dataset *make_data(int count, bool reversed)
{
    itg_dataset *parts[INPUTS], *data = NULL;
    const char *names[INPUTS];
    itg_error err = {.message = ""};
    for (int i = 0; i < count; i++) {
        const int k = reversed ? count - 1 - i : i;
        parts[i] = make_part(k);
        names[i] = inputs[k].name;
    }
    check(itg_data_join(parts, names, count, &data, &err), &err);
    return data;
}

static example start(const char *target, bool with_mask)
{
    example e = {.preprocess = itg_preprocess_default(), .model = make_model(with_mask)};
    const itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, 8, 8, itg_threshold_default(),
                                         itg_threshold_default(),     0, 0};
    itg_stats *stats = NULL;
    itg_error err = {.message = ""};
    e.preprocess.scale = 0.5f;
    snprintf(e.preprocess.inputs, sizeof e.preprocess.inputs, "image,gain");
    e.data = make_data(with_mask ? 4 : 3, false);
    check(itg_hardware_load(target, &e.hw, &err), &err);
    check(itg_calibrate_model(e.model, e.data, &e.preprocess, 2, &stats, &err), &err);
    check(
        itg_uniform_strategy(e.model, e.hw, &e.preprocess, stats, e.data, &options, &e.file, &err),
        &err);
    check(itg_annotate_strategy(e.model, e.file, &e.annotated, &err), &err);
    check(itg_realize_program(e.annotated, NULL, &e.program, &err), &err);
    itg_stats_destroy(stats);
    return e;
}

static void end(example *e)
{
    itg_program_destroy(e->program);
    itg_annotated_destroy(e->annotated);
    itg_strategy_close(e->file);
    itg_hardware_destroy(e->hw);
    itg_data_close(e->data);
    itg_model_close(e->model);
}

/* ---- cases ---- */

static void what_has_no_batch_keeps_its_shape(void **state)
{
    itg_model *model = make_model(true);
    (void)state;
    assert_int_equal(itg_model_input_count(model), INPUTS);
    assert_int_equal(itg_model_input_shape(model, 0)->dims[0], 1);
    assert_int_equal(itg_model_input_shape(model, 2)->rank, 1);
    assert_int_equal(itg_model_input_shape(model, 2)->dims[0], WIDTH);
    assert_int_equal(itg_model_output_shape(model, 0)->dims[1], CLASSES);
    itg_model_close(model);
}

static void digests_agree(const char *target, bool with_mask)
{
    example e = start(target, with_mask);
    const itg_simulate_options options = {ITG_SIMULATE_OPTIONS_VERSION, .with_agreement = true,
                                          .threads = 2, .definition = true};
    itg_dataset *reversed = make_data(with_mask ? 4 : 3, true);
    itg_inspection *inspection = NULL;
    itg_score simulated, again, ran;
    itg_error err = {.message = ""};
    check(itg_simulate(e.model, e.file, e.data, &options, &simulated, &err), &err);
    check(itg_simulate(e.model, e.file, reversed, &options, &again, &err), &err);
    check(itg_inspect(e.model, e.file, e.annotated, e.data, 2, &inspection, &err), &err);
    assert_memory_equal(again.digest, simulated.digest, sizeof again.digest);
    assert_memory_equal(itg_data_hash(reversed), itg_data_hash(e.data), 32);
    assert_true(simulated.value[ITG_METRIC_DISTORTION] > 0 &&
                simulated.value[ITG_METRIC_DISTORTION] < 0.01);
    for (int64_t block = 1; block <= 16; block += 5) {
        const itg_run_options run = {ITG_RUN_OPTIONS_VERSION, .preprocess = &e.preprocess,
                                     .threads = 2, .block = block};
        check(itg_program_run(e.program, block > 1 ? e.data : reversed, &run, &ran, &err), &err);
        assert_memory_equal(ran.digest, simulated.digest, sizeof ran.digest);
    }
    itg_inspection_destroy(inspection);
    itg_data_close(reversed);
    end(&e);
}

static void simulation_and_program_agree(void **state)
{
    (void)state;
    digests_agree("cortex-m", false);
    digests_agree("x86-vnni", false);
    digests_agree("x86-vnni", true);
}

static void c_source_tests_itself_with_samples_of_each_input(void **state)
{
    example e = start("cortex-m", false);
    const itg_emit_options options = {ITG_EMIT_OPTIONS_VERSION, .name = "several", .data = e.data,
                                      .preprocess = &e.preprocess, .samples = SAMPLES};
    const itg_run_options run = {ITG_RUN_OPTIONS_VERSION, .preprocess = &e.preprocess};
    itg_emit_sizes sizes;
    itg_score ran;
    itg_error err = {.message = ""};
    char digest[65], text[1 << 16];
    (void)state;
    check(itg_emit_c(e.program, &options, TEST_FOLDER, &sizes, &err), &err);
    check(itg_program_run(e.program, e.data, &run, &ran, &err), &err);
    FILE *file = fopen(TEST_FOLDER "/several_selftest.c", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_non_null(strstr(text, itg_sha256_hex(ran.digest, digest)));
    end(&e);
}

static void a_search_takes_them(void **state)
{
    example e = start("cortex-m", false);
    itg_search_options options = ITG_SEARCH_OPTIONS_INIT;
    const itg_search_hooks hooks = ITG_SEARCH_HOOKS_INIT;
    const itg_search_data data = {.data = e.data};
    itg_search_result *results[2] = {NULL, NULL};
    itg_error err = {.message = ""};
    (void)state;
    options.trials = 12;
    snprintf(options.searcher, sizeof options.searcher, "random");
    for (int i = 0; i < 2; i++) {
        options.threads = 1 + i;
        check(itg_search(e.model, e.hw, &e.preprocess, &data, &options, &hooks, &results[i], &err),
              &err);
    }
    assert_int_equal(itg_search_trial_count(results[0]), 12);
    for (int64_t t = 0; t < 12; t++)
        assert_memory_equal(itg_search_trial_at(results[0], t)->score.digest,
                            itg_search_trial_at(results[1], t)->score.digest, 32);
    itg_search_result_destroy(results[0]);
    itg_search_result_destroy(results[1]);
    end(&e);
}

static void weights_are_reconstructed_on_them(void **state)
{
    example e = start("cortex-m", false);
    const itg_recover_options options = {ITG_RECOVER_OPTIONS_VERSION, .data = e.data, .threads = 2};
    itg_score score;
    itg_error err = {.message = ""};
    (void)state;
    check(itg_strategy_recover(e.file, e.model, &options, NULL, &err), &err);
    check(itg_simulate(e.model, e.file, e.data, NULL, &score, &err), &err);
    end(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_no_batch_keeps_its_shape),
        cmocka_unit_test(simulation_and_program_agree),
        cmocka_unit_test(c_source_tests_itself_with_samples_of_each_input),
        cmocka_unit_test(a_search_takes_them),
        cmocka_unit_test(weights_are_reconstructed_on_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
