/* A user of the installed library, in C: model and data from memory, a search with progress, the
 * program's outputs in a buffer. */
#include <intaglio/intaglio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 400, PIXELS = 256, CLASSES = 10 };
static float images[SAMPLES][PIXELS];
static int8_t codes[SAMPLES][CLASSES];
static int trials;

static void count_trial(void *context, const itg_trial *trial, const itg_trial *best, int64_t most)
{
    (void)context, (void)trial, (void)best, (void)most;
    trials++;
}

static itg_status keep(void *context, int64_t sample, const itg_tensor *outputs, int32_t count,
                       itg_error *err)
{
    (void)context, (void)count, (void)err;
    memcpy(codes[sample], outputs[0].data, sizeof codes[sample]);
    return ITG_OK;
}

static int fail(const itg_error *err)
{
    fprintf(stderr, "%s\n", err->message);
    return 1;
}

int main(int argc, char **argv)
{
    static unsigned char file[1 << 20];
    FILE *from = argc == 2 ? fopen(argv[1], "rb") : NULL;
    size_t bytes = from ? fread(file, 1, sizeof file, from) : 0;
    for (int i = 0; i < SAMPLES * PIXELS; i++)
        images[0][i] = (float)(i * 7919 % 256) / 255;
    const itg_tensor array = {ITG_F32, {4, {SAMPLES, 1, 16, 16}}, images};
    const itg_preprocess none = itg_preprocess_default();
    itg_search_options options = {ITG_SEARCH_OPTIONS_VERSION, .trials = 20};
    itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .progress = count_trial};
    itg_model *model = NULL;
    itg_hardware *hw = NULL;
    itg_dataset *data = NULL;
    itg_search_result *result = NULL;
    itg_annotated *annotated = NULL;
    itg_program *program = NULL;
    itg_score score;
    itg_error err;
    if (!itg_goal_constrain(&options.goal, ITG_METRIC_SQNR, 20, false)) return 1;
    if (itg_model_open_memory(file, bytes, "digits", NULL, &model, &err) != ITG_OK ||
        itg_hardware_load("cortex-m", &hw, &err) != ITG_OK ||
        itg_data_from_memory(&array, "images", &data, &err) != ITG_OK)
        return fail(&err);
    const itg_search_data samples = {data, NULL, NULL, NULL};
    if (itg_search(model, hw, &none, &samples, &options, &hooks, &result, &err) != ITG_OK)
        return fail(&err);
    const itg_strategy_file *strategy = itg_search_strategy(result);
    const itg_run_options run = {ITG_RUN_OPTIONS_VERSION, .preprocess = &none, .outputs = keep};
    if (itg_annotate_strategy(model, strategy, &annotated, &err) != ITG_OK ||
        itg_realize_program(annotated, NULL, &program, &err) != ITG_OK ||
        itg_program_run(program, data, &run, &score, &err) != ITG_OK)
        return fail(&err);
    bool any = false;
    for (int i = 0; i < CLASSES; i++)
        any |= codes[SAMPLES - 1][i] != 0;
    printf("intaglio %s: %s, %d trials, %s, %lld outputs, %s\n", itg_engine_version(),
           itg_model_name(model), trials, itg_search_goal_met(result) ? "met" : "not met",
           (long long)score.samples, any ? "codes" : "nothing");
    itg_program_destroy(program);
    itg_annotated_destroy(annotated);
    itg_search_result_destroy(result);
    itg_data_close(data);
    itg_hardware_destroy(hw);
    itg_model_close(model);
    return 0;
}
