/* Networks whose input is no float32: token numbers into a table, bytes that become floats inside.
 * Every way of running them takes the data as it is, and gives the same bits. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "search/evaluator.h"
#include "kernels/float_ops.h"
#include "realize/realize.h"

enum { WORDS = 11, WIDTH = 6, LENGTH = 4, CLASSES = 5, SAMPLES = 40, PIXELS = 3 * 4 * 4 };

static float table[WORDS * WIDTH], weights[WIDTH * CLASSES], filters[CLASSES * 3 * 9];
static char path[] = "data.npy";

typedef struct example {
    itg_model *model;
    itg_hardware *hw;
    itg_preprocess preprocess;
    itg_dataset *data;
    itg_strategy_file *file;
    itg_annotated *annotated;
} example;

static void fill(float *x, int count, uint64_t seed)
{
    itg_rng rng;
    itg_rng_init(&rng, seed);
    for (int i = 0; i < count; i++)
        x[i] = (float)(itg_rng_unit(&rng) * 2 - 1);
}

static itg_id value(itg_graph *g, const char *name, itg_dtype dtype, itg_shape shape,
                    const void *data)
{
    itg_id id = ITG_NONE;
    assert_int_equal(itg_graph_add_value(g, name, dtype, &shape, data, &id, NULL), ITG_OK);
    return id;
}

static itg_id apply(itg_graph *g, itg_op op, const itg_attrs *attrs, int32_t count,
                    const itg_id *inputs)
{
    itg_id out = ITG_NONE, node = ITG_NONE;
    assert_int_equal(itg_graph_add_value(g, NULL, ITG_F32, NULL, NULL, &out, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_node(g, NULL, op, inputs, count, &out, 1, attrs, &node, NULL),
                     ITG_OK);
    assert_int_equal(itg_infer_node(g, node, NULL), ITG_OK);
    return out;
}

/* relu(table[x] * weights) */
static itg_id words_network(itg_graph *g, itg_id x)
{
    const itg_attrs gather = itg_attrs_default(ITG_OP_GATHER);
    const itg_id looked[] = {value(g, "table", ITG_F32, (itg_shape){2, {WORDS, WIDTH}}, table), x};
    const itg_id e = apply(g, ITG_OP_GATHER, &gather, 2, looked);
    const itg_id pair[] = {e,
                           value(g, "weights", ITG_F32, (itg_shape){2, {WIDTH, CLASSES}}, weights)};
    const itg_id y = apply(g, ITG_OP_MATMUL, NULL, 2, pair);
    return apply(g, ITG_OP_RELU, NULL, 1, &y);
}

/* relu(conv(float(x))) */
static itg_id image_network(itg_graph *g, itg_id x)
{
    itg_attrs cast = itg_attrs_default(ITG_OP_CAST), conv = itg_attrs_default(ITG_OP_CONV);
    cast.to = ITG_F32;
    conv.spatial_rank = 2;
    for (int d = 0; d < 2; d++) {
        conv.kernel[d] = 3;
        conv.stride[d] = conv.dilation[d] = 1;
    }
    const itg_id pair[] = {
        apply(g, ITG_OP_CAST, &cast, 1, &x),
        value(g, "filters", ITG_F32, (itg_shape){4, {CLASSES, 3, 3, 3}}, filters)};
    const itg_id y = apply(g, ITG_OP_CONV, &conv, 2, pair);
    return apply(g, ITG_OP_RELU, NULL, 1, &y);
}

static itg_graph *make_graph(itg_dtype dtype, bool is_image)
{
    const itg_shape shape = is_image ? (itg_shape){4, {1, 3, 4, 4}} : (itg_shape){2, {1, LENGTH}};
    itg_graph *g = NULL, *prepared = NULL;
    const itg_prepare_options options = {.eval = itg_float_eval};
    fill(table, WORDS * WIDTH, 1);
    fill(weights, WIDTH * CLASSES, 2);
    fill(filters, CLASSES * 27, 3);
    assert_int_equal(itg_graph_create("net.onnx", &g, NULL), ITG_OK);
    const itg_id x = value(g, "x", dtype, shape, NULL);
    assert_int_equal(itg_graph_set_inputs(g, &x, 1, NULL), ITG_OK);
    const itg_id y = is_image ? image_network(g, x) : words_network(g, x);
    assert_int_equal(itg_graph_set_outputs(g, &y, 1, NULL), ITG_OK);
    assert_int_equal(itg_graph_prepare(g, &options, &prepared, NULL), ITG_OK);
    itg_graph_destroy(g);
    return prepared;
}

/* Numbers within the input's range: words, or any bytes. */
static itg_dataset *make_data(itg_dtype dtype, bool is_image)
{
    itg_dataset whole = {.dtype = dtype, .path = path};
    const int64_t elements = is_image ? PIXELS : LENGTH;
    itg_rng rng;
    itg_rng_init(&rng, 9);
    whole.shape = is_image ? (itg_shape){4, {SAMPLES, 3, 4, 4}} : (itg_shape){2, {SAMPLES, LENGTH}};
    whole.data = calloc((size_t)(SAMPLES * elements), itg_dtype_size(dtype));
    assert_non_null(whole.data);
    for (int64_t i = 0; i < SAMPLES * elements; i++) {
        int64_t v = is_image ? (int64_t)itg_rng_below(&rng, 256) + itg_dtype_min(dtype)
                             : (int64_t)itg_rng_below(&rng, 2 * WORDS) - WORDS;
        itg_store(dtype, whole.data, i, dtype == ITG_BOOL ? v & 1 : v);
    }
    int64_t all[SAMPLES];
    itg_dataset *data = NULL;
    for (int i = 0; i < SAMPLES; i++)
        all[i] = i;
    assert_int_equal(itg_dataset_select(&whole, all, SAMPLES, &data, NULL), ITG_OK);
    free(whole.data);
    return data;
}

static example start(itg_dtype dtype, bool is_image, const char *target)
{
    example e = {.preprocess = itg_preprocess_default()};
    const itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, 8, 8, itg_threshold_default(),
                                         itg_threshold_default(),     0, 0};
    itg_stats *stats = NULL;
    itg_error err = {.message = ""};
    e.model = make_graph(dtype, is_image);
    e.data = make_data(dtype, is_image);
    assert_int_equal(itg_hardware_load(target, &e.hw, NULL), ITG_OK);
    if (itg_calibrate_model(e.model, e.data, &e.preprocess, 2, &stats, &err) != ITG_OK ||
        itg_uniform_strategy(e.model, e.hw, &e.preprocess, stats, NULL, &options, &e.file, &err) !=
            ITG_OK ||
        itg_annotate_strategy(e.model, e.file, &e.annotated, &err) != ITG_OK)
        fail_msg("%s", err.message);
    itg_stats_destroy(stats);
    return e;
}

static void end(example *e)
{
    itg_annotated_destroy(e->annotated);
    itg_strategy_close(e->file);
    itg_hardware_destroy(e->hw);
    itg_data_close(e->data);
    itg_graph_destroy(e->model);
}

/* ---- cases ---- */

static itg_status keep_floats(void *context, int64_t sample, const itg_tensor *outputs,
                              int32_t count, itg_error *err)
{
    float **out = context;
    (void)count;
    (void)err;
    memcpy(out[0] + sample * LENGTH * CLASSES, outputs[0].data, itg_tensor_bytes(&outputs[0]));
    return ITG_OK;
}

static void the_float_network_reads_words(void **state)
{
    static const itg_dtype dtypes[] = {ITG_S64, ITG_S32};
    (void)state;
    for (int d = 0; d < 2; d++) {
        example e = start(dtypes[d], false, "x86-vnni");
        static float all[SAMPLES * LENGTH * CLASSES];
        float *context = all;
        const itg_backend backend = itg_backend_float(e.model, ITG_FLOAT_REFERENCE);
        const itg_evaluate_options options = {.data = e.data,
                                              .preprocess = &e.preprocess,
                                              .threads = 2,
                                              .sink = keep_floats,
                                              .sink_context = &context};
        itg_evaluation made = {0};
        assert_int_equal(itg_evaluate(&backend, &options, &made, NULL), ITG_OK);
        for (int64_t i = 0; i < SAMPLES * LENGTH; i++)
            for (int c = 0; c < CLASSES; c++) {
                int64_t word = itg_load(dtypes[d], e.data->data, i);
                float sum = 0;
                for (int k = 0; k < WIDTH; k++)
                    sum = fmaf(table[(word + WORDS) % WORDS * WIDTH + k], weights[k * CLASSES + c],
                               sum);
                assert_true(all[i * CLASSES + c] == (sum > 0 ? sum : 0));
            }
        itg_evaluation_deinit(&made);
        end(&e);
    }
}

static void digests_agree(itg_dtype dtype, bool is_image)
{
    example e = start(dtype, is_image, "x86-vnni");
    itg_score simulated, ran;
    itg_program *program = NULL;
    itg_inspection *inspection = NULL;
    itg_error err = {.message = ""};
    if (itg_simulate(e.model, e.file, e.data,
                     &(itg_simulate_options){ITG_SIMULATE_OPTIONS_VERSION, .with_agreement = true,
                                             .threads = 2},
                     &simulated, &err) != ITG_OK ||
        itg_realize_program(e.annotated, NULL, &program, &err) != ITG_OK ||
        itg_inspect(e.model, e.file, e.annotated, e.data, 2, &inspection, &err) != ITG_OK)
        fail_msg("%s", err.message);
    assert_true(simulated.value[ITG_METRIC_DISTORTION] >= 0 &&
                simulated.value[ITG_METRIC_DISTORTION] < 0.01);
    for (int64_t block = 1; block <= 16; block += 5) {
        if (itg_program_run(program, e.data,
                            &(itg_run_options){ITG_RUN_OPTIONS_VERSION, .preprocess = &e.preprocess,
                                               .threads = 2, .block = block},
                            &ran, &err) != ITG_OK)
            fail_msg("%s", err.message);
        assert_memory_equal(ran.digest, simulated.digest, sizeof ran.digest);
    }
    itg_inspection_destroy(inspection);
    itg_program_destroy(program);
    end(&e);
}

static void simulation_and_program_agree(void **state)
{
    (void)state;
    digests_agree(ITG_S64, false);
    digests_agree(ITG_S32, false);
    static const itg_dtype images[] = {ITG_U8,  ITG_S8,  ITG_BOOL, ITG_S16,
                                       ITG_U16, ITG_S32, ITG_U32};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        digests_agree(images[i], true);
}

/* A word that is in no table is found while the network runs; every way names the sample. */
static void words_out_of_range_are_refused_by_sample(void **state)
{
    example e = start(ITG_S64, false, "x86-vnni");
    itg_program *program = NULL;
    itg_inspection *inspection = NULL;
    itg_stats *stats = NULL;
    itg_score score;
    itg_error err[4] = {{.message = ""}};
    (void)state;
    ((int64_t *)e.data->data)[17 * LENGTH + 2] = WORDS;
    assert_int_equal(itg_realize_program(e.annotated, NULL, &program, NULL), ITG_OK);
    assert_int_not_equal(itg_calibrate_model(e.model, e.data, &e.preprocess, 2, &stats, &err[0]),
                         ITG_OK);
    assert_int_not_equal(itg_simulate(e.model, e.file, e.data, NULL, &score, &err[1]), ITG_OK);
    assert_int_not_equal(itg_inspect(e.model, e.file, e.annotated, e.data, 2, &inspection, &err[2]),
                         ITG_OK);
    assert_int_not_equal(
        itg_program_run(program, e.data,
                        &(itg_run_options){ITG_RUN_OPTIONS_VERSION, .preprocess = &e.preprocess,
                                           .threads = 2, .block = 8},
                        &score, &err[3]),
        ITG_OK);
    for (int i = 0; i < 4; i++)
        if (!strstr(err[i].message, "data.npy: sample 17: ") || !strstr(err[i].message, "index 11"))
            fail_msg("%d: '%s' names neither sample nor word", i, err[i].message);
    itg_program_destroy(program);
    end(&e);
}

/* Words are an argument of the C source as they are; its self-test takes the data's, or random ones
 * of the table. */
static void c_source_takes_words(itg_dtype dtype, const char *argument)
{
    example e = start(dtype, false, "cortex-m");
    itg_program *program = NULL;
    const itg_emit_options given = {ITG_EMIT_OPTIONS_VERSION, .name = "words", .data = e.data,
                                    .preprocess = &e.preprocess};
    const itg_emit_options random = {ITG_EMIT_OPTIONS_VERSION, .name = "words"};
    unsigned char *header = NULL;
    size_t bytes;
    itg_error err = {.message = ""};
    assert_int_equal(itg_realize_program(e.annotated, NULL, &program, NULL), ITG_OK);
    for (int i = 0; i < 2; i++) {
        if (itg_emit_c(program, i == 0 ? &given : &random, TEST_FOLDER, NULL, &err) != ITG_OK)
            fail_msg("%s", err.message);
        assert_int_equal(system(TEST_CC " -std=c99 -fsanitize=undefined -fno-sanitize-recover=all"
                                        " " TEST_FOLDER "/words.c " TEST_FOLDER
                                        "/words_selftest.c -o " TEST_FOLDER "/words && " TEST_FOLDER
                                        "/words >" TEST_FOLDER "/words.txt"),
                         0);
    }
    assert_int_equal(itg_file_read(TEST_FOLDER "/words.h", 1 << 20, &header, &bytes, NULL), ITG_OK);
    assert_non_null(strstr((char *)header, argument));
    free(header);
    itg_program_destroy(program);
    end(&e);
}

static void c_source_takes_words_of_any_size(void **state)
{
    (void)state;
    c_source_takes_words(ITG_S64, "void words_run(const int64_t *input, ");
    c_source_takes_words(ITG_S32, "void words_run(const int32_t *input, ");
}

/* Bytes that become floats inside: that is arithmetic in float. */
static void c_source_refuses_casts(void **state)
{
    example e = start(ITG_U8, true, "x86-vnni");
    itg_program *program = NULL;
    itg_error err = {.message = ""};
    (void)state;
    assert_int_equal(itg_realize_program(e.annotated, NULL, &program, NULL), ITG_OK);
    assert_int_equal(itg_emit_c(program, NULL, "/nowhere", NULL, &err), ITG_UNSUPPORTED);
    assert_non_null(strstr(err.message, "it stays float32"));
    itg_program_destroy(program);
    end(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_float_network_reads_words),
        cmocka_unit_test(simulation_and_program_agree),
        cmocka_unit_test(words_out_of_range_are_refused_by_sample),
        cmocka_unit_test(c_source_takes_words_of_any_size),
        cmocka_unit_test(c_source_refuses_casts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
