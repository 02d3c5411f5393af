/* A user of the installed library, in C. */
#include <intaglio/intaglio.h>
#include <stdio.h>

enum { SAMPLES = 400, PIXELS = 256, CLASSES = 10 };
static unsigned char file[1 << 20];
static float images[SAMPLES * PIXELS];
static int8_t codes[SAMPLES * CLASSES];
static itg_error err;
#define CHECK(call)                                                                                \
    if ((call) != ITG_OK) return fprintf(stderr, "%s\n", err.message), 1

/* The mean square of the first output. */
static double power(void *unused, const itg_outputs *o)
{
    const float *y = o->outputs[0].data;
    double sum = 0;
    for (int64_t i = 0; i < o->samples; i++)
        sum += y[i * CLASSES] * y[i * CLASSES];
    return unused ? 0 : sum / (double)o->samples;
}

static void progress(void *seen, const itg_trial *trial, const itg_trial *best, int64_t planned)
{
    *(int64_t *)seen = best ? trial->index + 1 : planned;
}

int main(int argc, char **argv)
{
    FILE *from = argc == 2 ? fopen(argv[1], "rb") : NULL;
    size_t bytes = from ? fread(file, 1, sizeof file, from) : 0;
    for (int i = 0; i < SAMPLES * PIXELS; i++)
        images[i] = (float)(i * 7919 % 256) / 255;
    const itg_tensor array = {ITG_F32, {4, {SAMPLES, 1, 16, 16}}, images};
    const itg_preprocess p = itg_preprocess_default();
    int64_t seen = 0;
    itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION, .trials = 20};
    const itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, &seen, .progress = progress};
    const itg_run_options run = {ITG_RUN_OPTIONS_VERSION, &p, .buffer = codes,
                                 .buffer_bytes = sizeof codes};
    itg_model *model;
    itg_hardware *hw;
    itg_dataset *data;
    itg_search_result *found;
    itg_program *program;
    itg_score score;
    o.goal.user[0] = (itg_user_metric){{"power", ITG_UNIT_NUMBER, true}, power, NULL};
    itg_goal_constrain(&o.goal, ITG_METRIC_USER1, 20, true); /* at most 20 below float */
    CHECK(itg_model_open_memory(file, bytes, "digits", NULL, &model, &err));
    CHECK(itg_hardware_load("cortex-m", &hw, &err));
    CHECK(itg_data_from_memory(&array, "images", &data, &err));
    CHECK(itg_search(model, hw, &p, &(itg_search_data){.data = data}, &o, &hooks, &found, &err));
    CHECK(itg_realize_strategy(model, itg_search_strategy(found), NULL, &program, &err));
    CHECK(itg_program_run(program, data, &run, &score, &err));
    printf("%d trials, power %g, first code %d\n", (int)seen,
           itg_search_best(found)->score.value[ITG_METRIC_USER1], codes[0]);
    itg_program_destroy(program);
    itg_search_result_destroy(found);
    itg_data_close(data);
    itg_hardware_destroy(hw);
    itg_model_close(model);
}
