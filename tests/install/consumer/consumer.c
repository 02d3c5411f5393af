/* A user of the installed library, in C: model and data from memory, a metric
 * of its own, a search with progress, the program's outputs in a buffer. */
#include <intaglio/explain.h>
#include <intaglio/intaglio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 400, PIXELS = 256, CLASSES = 10 };
static float images[SAMPLES][PIXELS];
static int8_t codes[SAMPLES][CLASSES];
static itg_error err;

static void check(itg_status status)
{
    if (status == ITG_OK) return;
    fprintf(stderr, "%s\n", err.message);
    exit(1);
}

/* How far the outputs of a sample lie apart, on average. */
static double spread(void *context, const itg_outputs *o)
{
    const float *y = o->outputs[0].data;
    double sum = 0;
    (void)context;
    for (int64_t i = 0; i < o->samples * CLASSES; i++)
        sum += (y[i] - y[i / CLASSES * CLASSES]) * (y[i] - y[i / CLASSES * CLASSES]);
    return sum / (double)o->samples;
}

static void count_trial(void *trials, const itg_trial *trial, const itg_trial *best, int64_t most)
{
    (void)trial, (void)best, (void)most;
    ++*(int *)trials;
}

int main(int argc, char **argv)
{
    static unsigned char file[1 << 20];
    FILE *from = argc == 2 ? fopen(argv[1], "rb") : NULL;
    size_t bytes = from ? fread(file, 1, sizeof file, from) : 0;
    for (int i = 0; i < SAMPLES * PIXELS; i++)
        images[0][i] = (float)(i * 7919 % 256) / 255;
    const itg_tensor array = {ITG_F32, {4, {SAMPLES, 1, 16, 16}}, images};
    const itg_preprocess p = itg_preprocess_default();
    int trials = 0;
    itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION, .trials = 20};
    const itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, &trials, .progress = count_trial};
    const itg_run_options run = {ITG_RUN_OPTIONS_VERSION, .preprocess = &p, .buffer = codes,
                                 .buffer_bytes = sizeof codes};
    o.goal.user[0] = (itg_user_metric){{"spread", ITG_UNIT_NUMBER, true}, spread, NULL};
    itg_goal_constrain(&o.goal, ITG_METRIC_USER1, 20, true); /* at most 20 below float */
    itg_model *model;
    itg_hardware *hw;
    itg_dataset *data;
    itg_search_result *result;
    itg_annotated *annotated;
    itg_program *program;
    itg_score score;
    check(itg_model_open_memory(file, bytes, "digits", NULL, &model, &err));
    check(itg_hardware_load("cortex-m", &hw, &err));
    check(itg_data_from_memory(&array, "images", &data, &err));
    const itg_search_data samples = {data, NULL, NULL, NULL};
    check(itg_search(model, hw, &p, &samples, &o, &hooks, &result, &err));
    check(itg_annotate_strategy(model, itg_search_strategy(result), &annotated, &err));
    check(itg_realize_program(annotated, NULL, &program, &err));
    check(itg_program_run(program, data, &run, &score, &err));
    printf("%s, %d trials, %s, %lld outputs, %s, spread %.3g of %.3g\n", itg_model_name(model),
           trials, itg_search_goal_met(result) ? "met" : "not met", (long long)score.samples,
           codes[SAMPLES - 1][0] | codes[SAMPLES - 1][1] ? "codes" : "nothing",
           itg_search_best(result)->score.value[ITG_METRIC_USER1],
           itg_search_float(result, false)->value[ITG_METRIC_USER1]);
    itg_program_destroy(program);
    itg_annotated_destroy(annotated);
    itg_search_result_destroy(result);
    itg_data_close(data);
    itg_hardware_destroy(hw);
    itg_model_close(model);
}
