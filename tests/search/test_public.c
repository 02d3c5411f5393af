/* Options of another version are refused by every function that takes some; what is kept in memory
 * is what a file holds. */
#include "tests/base/cmocka_base.h"
#include "network.h"
#include <stdlib.h>
#include <string.h>

/* That is what it fails for, and nothing else. */
static void refused(itg_status status, const itg_error *err, const char *name)
{
    assert_int_equal(status, ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err->message, name));
    assert_non_null(strstr(err->message, "version"));
}

static void options_of_another_version_are_refused(void **state)
{
    static const int32_t versions[] = {0, 2, -1};
    small_network n;
    itg_error err = {0};
    itg_stats *stats = NULL;
    itg_strategy_file *file = NULL, *none = NULL;
    itg_annotated *a = NULL;
    itg_program *program = NULL;
    (void)state;
    small_network_make(9, "cortex-m", 40, &n);
    const itg_uniform_options eight = {ITG_UNIFORM_OPTIONS_VERSION, 8, 8, itg_threshold_default(),
                                       itg_threshold_default(),     0, 0};
    if (itg_calibrate_model(n.model, n.data, &n.preprocess, 1, &stats, &err) != ITG_OK ||
        itg_uniform_strategy(n.model, n.hw, &n.preprocess, stats, n.data, &eight, &file, &err) !=
            ITG_OK ||
        itg_annotate_strategy(n.model, file, &a, &err) != ITG_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        int32_t v = versions[i];
        itg_score score;
        char *text = NULL;
        itg_model *model = NULL;
        itg_search_result *result = NULL;
        const itg_search_data data = small_network_data(&n);
        const itg_search_options good = {ITG_SEARCH_OPTIONS_VERSION, .trials = 1};
        refused(itg_model_open("examples/digits.onnx", &(itg_model_options){v, .no_equalize = true},
                               &model, &err),
                &err, "itg_model_options");
        refused(itg_calibrate_data(n.model, n.data, &n.preprocess,
                                   &(itg_calibrate_options){v, .threads = 1}, &stats, &err),
                &err, "itg_calibrate_options");
        refused(itg_uniform_strategy(n.model, n.hw, &n.preprocess, stats, n.data,
                                     &(itg_uniform_options){v, .weight_bits = 8}, &none, &err),
                &err, "itg_uniform_options");
        refused(itg_strategy_recover(file, n.model, &(itg_recover_options){v, .data = n.data}, NULL,
                                     &err),
                &err, "itg_recover_options");
        refused(itg_simulate(n.model, file, n.data, &(itg_simulate_options){v, .threads = 1},
                             &score, &err),
                &err, "itg_simulate_options");
        refused(itg_realize_program(a, &(itg_realize_options){v, true}, &program, &err), &err,
                "itg_realize_options");
        refused(itg_search(n.model, n.hw, &n.preprocess, &data,
                           &(itg_search_options){v, .trials = 1}, NULL, &result, &err),
                &err, "itg_search_options");
        refused(itg_search(n.model, n.hw, &n.preprocess, &data, &good,
                           &(itg_search_hooks){v, .context = NULL}, &result, &err),
                &err, "itg_search_hooks");
        refused(itg_search_options_text(&(itg_search_options){v, .trials = 1}, &text, &err), &err,
                "itg_search_options");
        refused(itg_search_space_text(n.model, n.hw, &(itg_search_options){v, .trials = 1}, &text,
                                      &err),
                &err, "itg_search_options");
    }
    assert_int_equal(itg_realize_program(a, NULL, &program, NULL), ITG_OK);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        itg_score score;
        refused(itg_program_run(program, n.data, &(itg_run_options){versions[i], .threads = 1},
                                &score, &err),
                &err, "itg_run_options");
        refused(itg_emit_c(program, &(itg_emit_options){versions[i], .samples = 1}, "/nowhere",
                           NULL, &err),
                &err, "itg_emit_options");
    }
    itg_program_destroy(program);
    itg_annotated_destroy(a);
    itg_strategy_close(file);
    itg_stats_destroy(stats);
    small_network_end(&n);
}

/* Yes, from the second time on. */
static bool asked(void *context)
{
    int *count = context;
    return (*count)++ > 0;
}

/* Both give up between blocks of samples, and leave everything as it was. */
static void calibration_and_simulation_can_be_stopped(void **state)
{
    small_network n;
    itg_error err = {0};
    itg_stats *first = NULL, *second = NULL;
    itg_strategy_file *file = NULL;
    itg_score score = itg_score_unknown();
    int calls = 0;
    (void)state;
    small_network_make(9, "cortex-m", 40, &n);
    const itg_uniform_options eight = {ITG_UNIFORM_OPTIONS_VERSION, 8, 8, itg_threshold_default(),
                                       itg_threshold_default(),     0, 0};
    const itg_stop stop = {asked, &calls};
    const itg_calibrate_options calibrate = {ITG_CALIBRATE_OPTIONS_VERSION, .threads = 1,
                                             .stop = stop};
    const itg_simulate_options simulate = {ITG_SIMULATE_OPTIONS_VERSION, .with_agreement = true,
                                           .threads = 1, .stop = stop};
    assert_int_equal(itg_calibrate_data(n.model, n.data, &n.preprocess, &calibrate, &first, &err),
                     ITG_CANCELLED);
    assert_true(calls > 1 && first == NULL);
    assert_int_equal(itg_calibrate_data(n.model, n.data, &n.preprocess, NULL, &first, &err),
                     ITG_OK);
    assert_int_equal(itg_calibrate_model(n.model, n.data, &n.preprocess, 1, &second, &err), ITG_OK);
    assert_memory_equal(first->data_hash, second->data_hash, sizeof first->data_hash);
    assert_int_equal(
        itg_uniform_strategy(n.model, n.hw, &n.preprocess, first, n.data, &eight, &file, &err),
        ITG_OK);
    calls = 0;
    assert_int_equal(itg_simulate(n.model, file, n.data, &simulate, &score, &err), ITG_CANCELLED);
    assert_true(calls > 1 && score.samples == 0);
    itg_strategy_close(file);
    itg_stats_destroy(first);
    itg_stats_destroy(second);
    small_network_end(&n);
}

typedef struct gathered {
    unsigned char bytes[1 << 14];
    size_t used;
} gathered;

static itg_status gather(void *context, int64_t sample, const itg_tensor *outputs, int32_t count,
                         itg_error *err)
{
    gathered *g = context;
    const size_t bytes = itg_tensor_bytes(&outputs[0]);
    (void)sample, (void)count, (void)err;
    assert_true(g->used + bytes <= sizeof g->bytes);
    memcpy(g->bytes + g->used, outputs[0].data, bytes);
    g->used += bytes;
    return ITG_OK;
}

/* A buffer gets what a callback is given, sample after sample, and has its size. */
static void check_buffer(const itg_program *program, const itg_dataset *data)
{
    static gathered called;
    static unsigned char buffer[sizeof called.bytes];
    itg_score score;
    itg_error err = {0};
    called.used = 0;
    itg_run_options o = {ITG_RUN_OPTIONS_VERSION, .outputs = gather, .context = &called};
    assert_int_equal(itg_program_run(program, data, &o, &score, NULL), ITG_OK);
    assert_true(called.used > 0);
    o = (itg_run_options){ITG_RUN_OPTIONS_VERSION, .buffer = buffer, .buffer_bytes = called.used,
                          .threads = 2};
    assert_int_equal(itg_program_run(program, data, &o, &score, NULL), ITG_OK);
    assert_memory_equal(buffer, called.bytes, called.used);
    const itg_output_info info = itg_program_output(program, 0);
    static float reals[sizeof called.bytes];
    assert_string_equal(info.type, "s8");
    assert_int_equal(info.bits, 8);
    o.dequantize = true;
    o.buffer = reals;
    o.buffer_bytes *= sizeof *reals;
    assert_int_equal(itg_program_run(program, data, &o, &score, NULL), ITG_OK);
    for (size_t i = 0; i < called.used; i++)
        assert_true(reals[i] == info.scale * (float)((int8_t)buffer[i] - info.zero_point));
    o.buffer_bytes++;
    assert_int_equal(itg_program_run(program, data, &o, &score, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "the first output of 40 samples"));
}

#define FILE_NAME TEST_FOLDER "/public.itg"

static void a_program_in_memory_is_its_file(void **state)
{
    small_network n;
    itg_error err = {0};
    itg_stats *stats = NULL;
    itg_strategy_file *file = NULL;
    itg_annotated *a = NULL;
    itg_program *program = NULL, *back = NULL;
    itg_buffer packed = {0};
    itg_score first, again;
    (void)state;
    small_network_make(9, "cortex-m", 40, &n);
    const itg_uniform_options four = {ITG_UNIFORM_OPTIONS_VERSION, 4, 8, itg_threshold_default(),
                                      itg_threshold_default(),     0, 0};
    if (itg_calibrate_model(n.model, n.data, &n.preprocess, 1, &stats, &err) != ITG_OK ||
        itg_uniform_strategy(n.model, n.hw, &n.preprocess, stats, n.data, &four, &file, &err) !=
            ITG_OK ||
        itg_annotate_strategy(n.model, file, &a, &err) != ITG_OK ||
        itg_realize_program(a, NULL, &program, &err) != ITG_OK ||
        itg_program_save(program, n.model, file, FILE_NAME, &err) != ITG_OK ||
        itg_program_save_memory(program, n.model, file, &packed, &err) != ITG_OK ||
        itg_program_open_memory(packed.data, packed.bytes, "mine", &back, &err) != ITG_OK)
        fail_msg("%s", err.message);
    unsigned char *data = NULL;
    size_t bytes = 0;
    assert_int_equal(itg_file_read(FILE_NAME, 1 << 24, &data, &bytes, NULL), ITG_OK);
    assert_int_equal(packed.bytes, bytes);
    assert_memory_equal(packed.data, data, bytes);
    free(data);
    assert_int_equal(itg_program_run(program, n.data, NULL, &first, NULL), ITG_OK);
    assert_int_equal(itg_program_run(back, n.data, NULL, &again, NULL), ITG_OK);
    assert_memory_equal(first.digest, again.digest, 32);
    check_buffer(program, n.data);
    itg_program_destroy(back);
    back = NULL;
    assert_int_not_equal(itg_program_open_memory(packed.data, bytes / 2, "mine", &back, &err),
                         ITG_OK);
    assert_null(back);
    assert_non_null(strstr(err.message, "mine"));
    itg_free(packed.data);
    itg_program_destroy(program);
    itg_annotated_destroy(a);
    itg_strategy_close(file);
    itg_stats_destroy(stats);
    small_network_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(options_of_another_version_are_refused),
                                       cmocka_unit_test(calibration_and_simulation_can_be_stopped),
                                       cmocka_unit_test(a_program_in_memory_is_its_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
