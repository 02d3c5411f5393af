/* Choices between values (graph/expand_choice.c) as integers alone: simulation and program give the
 * same bits, and real numbers within the bounds of docs/preparation.md 5.7, from double precision.
 * What is chosen is continuous in the operands, so that a choice that goes the other way costs no
 * more than what the operands are apart. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "graph/annotated.h"
#include "kernels/float_ops.h"
#include "realize/realize.h"
#include "search/evaluator.h"

enum { WIDTH = 8, SAMPLES = 200 };

static const double STEP = 2.0 / 255; /* of codes of 8 bits for numbers in [-1, 1] */

static char path[] = "data.npy";
static float x[SAMPLES * 2 * WIDTH];

/* ---- networks: a and b are the halves of x ---- */

static itg_id add(itg_graph *g, itg_op op, const itg_attrs *attrs, int32_t count,
                  const itg_id *inputs)
{
    itg_id out = ITG_NONE, node = ITG_NONE;
    assert_int_equal(itg_graph_add_value(g, NULL, ITG_F32, NULL, NULL, &out, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_node(g, NULL, op, inputs, count, &out, 1, attrs, &node, NULL),
                     ITG_OK);
    assert_int_equal(itg_infer_node(g, node, NULL), ITG_OK);
    return out;
}

#define ADD(g, op, attrs, ...)                                                                     \
    add(g, op, attrs, (int32_t)(sizeof((itg_id[]){__VA_ARGS__}) / sizeof(itg_id)),                 \
        (itg_id[]){__VA_ARGS__})

static itg_id constant(itg_graph *g, itg_dtype dtype, const void *data)
{
    itg_id id = ITG_NONE;
    const itg_shape shape = {.rank = dtype == ITG_S64 ? 1 : 0, .dims = {1}};
    assert_int_equal(itg_graph_add_value(g, NULL, dtype, &shape, data, &id, NULL), ITG_OK);
    return id;
}

static itg_id most(itg_graph *g, itg_id a, itg_id b)
{
    return ADD(g, ITG_OP_MAX, NULL, a, b);
}

static itg_id least(itg_graph *g, itg_id a, itg_id b)
{
    return ADD(g, ITG_OP_MIN, NULL, a, b);
}

static itg_id greater(itg_graph *g, itg_id a, itg_id b)
{
    return ADD(g, ITG_OP_WHERE, NULL, ADD(g, ITG_OP_GREATER, NULL, a, b), a, b);
}

/* a where neither a < b nor a < 0, else the greater of b and 0 */
static itg_id greatest(itg_graph *g, itg_id a, itg_id b)
{
    itg_id zero = constant(g, ITG_F32, (float[]){0});
    itg_id p = ADD(g, ITG_OP_OR, NULL, ADD(g, ITG_OP_LESS, NULL, a, b),
                   ADD(g, ITG_OP_LESS, NULL, a, zero));
    return ADD(g, ITG_OP_WHERE, NULL, ADD(g, ITG_OP_NOT, NULL, p), a, ADD(g, ITG_OP_RELU, NULL, b));
}

static itg_id sums(itg_graph *g, itg_id a, itg_id b)
{
    (void)b;
    return ADD(g, ITG_OP_CUM_SUM, NULL, a, constant(g, ITG_S64, (int64_t[]){1}));
}

static itg_id cubes(itg_graph *g, itg_id a, itg_id b)
{
    (void)b;
    return ADD(g, ITG_OP_POW, NULL, a, constant(g, ITG_F32, (float[]){3}));
}

/* The greatest element in its place: the others are 0. */
static itg_id places(itg_graph *g, itg_id a, itg_id b)
{
    (void)b;
    return ADD(g, ITG_OP_MUL, NULL, ADD(g, ITG_OP_HARDMAX, NULL, a), a);
}

/* ---- what they are ---- */

static double max_of(const float *a, const float *b, int i)
{
    return fmax((double)a[i], (double)b[i]);
}

static double min_of(const float *a, const float *b, int i)
{
    return fmin((double)a[i], (double)b[i]);
}

static double greatest_of(const float *a, const float *b, int i)
{
    return fmax(0, max_of(a, b, i));
}

static double sum_of(const float *a, const float *b, int i)
{
    return i < 0 ? 0 : sum_of(a, b, i - 1) + (double)a[i];
}

static double cube_of(const float *a, const float *b, int i)
{
    (void)b;
    return (double)a[i] * (double)a[i] * (double)a[i];
}

/* NaN: two are so near that codes do not tell them apart. */
static double place_of(const float *a, const float *b, int i)
{
    int first = 0;
    (void)b;
    for (int k = 1; k < WIDTH; k++)
        if (a[k] > a[first]) first = k;
    for (int k = 0; k < WIDTH; k++)
        if (k != first && (double)a[first] - (double)a[k] < 1.1 * STEP) return (double)NAN;
    return i == first ? (double)a[i] : 0;
}

typedef struct choice {
    const char *name;
    itg_id (*network)(itg_graph *, itg_id, itg_id);
    double (*value)(const float *a, const float *b, int i);
    double bound;
} choice;

/* The largest difference of all outputs from the choice. */
static double difference(void *context, const itg_outputs *o)
{
    const choice *c = context;
    const float *y = o->outputs[0].data;
    double worst = 0;
    for (int64_t i = 0; i < o->samples * WIDTH; i++) {
        const float *a = x + i / WIDTH * 2 * WIDTH;
        const double d = fabs((double)y[i] - c->value(a, a + WIDTH, (int)(i % WIDTH)));
        if (d > worst) worst = d;
    }
    return worst;
}

/* ---- a case ---- */

static itg_graph *make(const choice *c)
{
    itg_graph *g = NULL, *prepared = NULL;
    const itg_prepare_options options = {.eval = itg_float_eval};
    const itg_shape shape = {2, {1, 2 * WIDTH}}, half = {2, {1, WIDTH}};
    itg_attrs split = itg_attrs_default(ITG_OP_SPLIT);
    itg_id in = ITG_NONE, parts[2], node = ITG_NONE;
    split.axis = 1;
    assert_int_equal(itg_graph_create("net.onnx", &g, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "x", ITG_F32, &shape, NULL, &in, NULL), ITG_OK);
    assert_int_equal(itg_graph_set_inputs(g, &in, 1, NULL), ITG_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(itg_graph_add_value(g, NULL, ITG_F32, &half, NULL, &parts[i], NULL),
                         ITG_OK);
    assert_int_equal(
        itg_graph_add_node(g, NULL, ITG_OP_SPLIT, &in, 1, parts, 2, &split, &node, NULL), ITG_OK);
    assert_int_equal(itg_infer_node(g, node, NULL), ITG_OK);
    const itg_id y = c->network(g, parts[0], parts[1]);
    assert_int_equal(itg_graph_set_outputs(g, &y, 1, NULL), ITG_OK);
    assert_int_equal(itg_graph_prepare(g, &options, &prepared, NULL), ITG_OK);
    itg_graph_destroy(g);
    return prepared;
}

static void judge(const choice *c, const itg_dataset *data)
{
    itg_uniform_options uniform = {ITG_UNIFORM_OPTIONS_VERSION, 8, 8, itg_threshold_default(),
                                   itg_threshold_default(),     0, 0};
    const itg_preprocess preprocess = itg_preprocess_default();
    const itg_user_metric user[ITG_USER_METRICS] = {
        {{"difference", ITG_UNIT_NUMBER, false}, difference, (void *)(uintptr_t)c}};
    itg_graph *model = make(c);
    itg_hardware *hw = NULL;
    itg_stats *stats = NULL;
    itg_strategy_file *file = NULL;
    itg_annotated *annotated = NULL;
    itg_program *program = NULL;
    itg_score simulated, ran;
    itg_error err = {.message = ""};
    assert_true(itg_threshold_from_name("max", &uniform.activation_method)); /* cuts nothing */
    assert_int_equal(itg_hardware_load("cortex-m", &hw, NULL), ITG_OK);
    if (itg_calibrate_model(model, data, &preprocess, 1, &stats, &err) != ITG_OK ||
        itg_uniform_strategy(model, hw, &preprocess, stats, NULL, &uniform, &file, &err) !=
            ITG_OK ||
        itg_annotate_strategy(model, file, &annotated, &err) != ITG_OK ||
        itg_simulate(model, file, data,
                     &(itg_simulate_options){ITG_SIMULATE_OPTIONS_VERSION, .user = user,
                                             .threads = 1, .definition = true},
                     &simulated, &err) != ITG_OK ||
        itg_realize_program(annotated, NULL, &program, &err) != ITG_OK ||
        itg_program_run(
            program, data,
            &(itg_run_options){ITG_RUN_OPTIONS_VERSION, .preprocess = &preprocess, .threads = 1},
            &ran, &err) != ITG_OK)
        fail_msg("%s", err.message);
    for (itg_id n = 0; n < model->node_count; n++)
        assert_int_not_equal(annotated->nodes[n].form, ITG_FORM_FLOAT);
    assert_memory_equal(ran.digest, simulated.digest, sizeof ran.digest);
    const double worst = simulated.value[ITG_METRIC_USER1];
    if (!(worst <= c->bound && worst > 0))
        fail_msg("%s: %g steps of %g", c->name, worst / STEP, c->bound / STEP);
    itg_program_destroy(program);
    itg_annotated_destroy(annotated);
    itg_strategy_close(file);
    itg_stats_destroy(stats);
    itg_hardware_destroy(hw);
    itg_graph_destroy(model);
}

/* In steps: half of one for the codes of x; then as the page says. */
static void choices_stay_within_their_bounds(void **state)
{
    const choice choices[] = {
        {"Max", most, max_of, 0.5 * STEP},
        {"Min", least, min_of, 1.5 * STEP},
        {"Where", greater, max_of, 2.6 * STEP},
        {"Or", greatest, greatest_of, 2.6 * STEP},
        {"CumSum", sums, sum_of, (WIDTH * 0.5 + WIDTH * 0.5) * STEP},
        {"Pow", cubes, cube_of, (3 * 0.5 + 0.5) * STEP},
        {"Hardmax", places, place_of, 1.1 * STEP},
    };
    itg_dataset whole = {.dtype = ITG_F32, .path = path, .data = x};
    itg_dataset *data = NULL;
    int64_t all[SAMPLES];
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 4);
    for (int i = 0; i < SAMPLES * 2 * WIDTH; i++)
        x[i] = (float)(itg_rng_unit(&rng) * 2 - 1);
    for (int i = 0; i < SAMPLES; i++)
        all[i] = i;
    whole.shape = (itg_shape){2, {SAMPLES, 2 * WIDTH}};
    assert_int_equal(itg_dataset_select(&whole, all, SAMPLES, &data, NULL), ITG_OK);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        judge(&choices[i], data);
    itg_data_close(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(choices_stay_within_their_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
