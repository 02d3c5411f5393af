/* The files that a program's outputs are written to: their shapes, whether or not an output has a
 * batch dimension. */
#include "tests/labels.h"
#include "graph/annotated.h"
#include "realize/realize.h"
#include "sim/sim.h"
#include <intaglio/intaglio.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define PATH "test_outputs.npy"

static itg_id add_result(itg_graph *g, itg_op op, itg_id x, const itg_attrs *attrs)
{
    itg_id y = ITG_NONE, node = ITG_NONE;
    assert_int_equal(itg_graph_add_value(g, NULL, ITG_F32, NULL, NULL, &y, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_node(g, NULL, op, &x, 1, &y, 1, attrs, &node, NULL), ITG_OK);
    assert_int_equal(itg_infer_node(g, node, NULL), ITG_OK);
    return y;
}

/* As a float program; the graph is gone. */
static itg_program *realize(itg_graph *g)
{
    itg_hardware *hw = NULL;
    itg_strategy *strategy = NULL;
    itg_annotated *annotated = NULL;
    itg_program *program = NULL;
    assert_int_equal(itg_hardware_load("float", &hw, NULL), ITG_OK);
    assert_int_equal(itg_strategy_create(g, &strategy, NULL), ITG_OK);
    assert_int_equal(itg_annotate(g, hw, strategy, &annotated, NULL), ITG_OK);
    assert_int_equal(itg_realize_program(annotated, NULL, &program, NULL), ITG_OK);
    itg_annotated_destroy(annotated);
    itg_strategy_destroy(strategy);
    itg_hardware_destroy(hw);
    itg_graph_destroy(g);
    return program;
}

/* x [1,2,3] to its Relu [1,2,3], its Transpose [3,2,1] and its mean, a scalar: a float program. */
static itg_program *make_program(void)
{
    itg_graph *g = NULL;
    itg_shape shape = {.rank = 3, .dims = {1, 2, 3}};
    itg_id x = ITG_NONE, y[3];
    itg_attrs turn = itg_attrs_default(ITG_OP_TRANSPOSE),
              mean = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    turn.perm[0] = 2;
    turn.perm[1] = 1;
    turn.perm[2] = 0;
    mean.axes_count = 3;
    for (int i = 0; i < 3; i++)
        mean.axes[i] = i;
    mean.keepdims = false;
    assert_int_equal(itg_graph_create("outputs", &g, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "x", ITG_F32, &shape, NULL, &x, NULL), ITG_OK);
    assert_int_equal(itg_graph_set_inputs(g, &x, 1, NULL), ITG_OK);
    y[0] = add_result(g, ITG_OP_RELU, x, NULL);
    y[1] = add_result(g, ITG_OP_TRANSPOSE, x, &turn);
    y[2] = add_result(g, ITG_OP_REDUCE_MEAN, x, &mean);
    assert_int_equal(itg_graph_set_outputs(g, y, 3, NULL), ITG_OK);
    return realize(g);
}

static void expect(const char *path, const char *shape, size_t floats)
{
    char head[128];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    head[sizeof head - 1] = 0;
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    assert_int_equal(ftell(file), (long)(sizeof head + floats * sizeof(float)));
    fclose(file);
    assert_non_null(strstr(head + 10, shape));
    unlink(path);
}

static void files_hold_every_dimension_of_every_output(void **state)
{
    (void)state;
    float data[4 * 6];
    for (int i = 0; i < 24; i++)
        data[i] = (float)i;
    itg_dataset samples = {.dtype = ITG_F32, .shape = {.rank = 3, .dims = {4, 2, 3}}, .data = data};
    itg_program *program = make_program();
    itg_preprocess p = itg_preprocess_default();
    itg_score score = {0};
    itg_error err = {0};
    if (itg_program_run(program, &samples,
                        &(itg_run_options){ITG_RUN_OPTIONS_VERSION, .preprocess = &p, .threads = 1,
                                           .npy_path = PATH},
                        &score, &err) != ITG_OK)
        fail_msg("%s", err.message);
    expect(PATH, "'shape': (4, 2, 3,)", 24);
    expect("test_outputs.1.npy", "'shape': (4, 3, 2, 1,)", 24);
    expect("test_outputs.2.npy", "'shape': (4,)", 4);
    itg_program_destroy(program);
}

/* A program of one Relu. */
static itg_program *make_relu(itg_shape shape)
{
    itg_graph *g = NULL;
    itg_id x = ITG_NONE;
    assert_int_equal(itg_graph_create("relu", &g, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "x", ITG_F32, &shape, NULL, &x, NULL), ITG_OK);
    assert_int_equal(itg_graph_set_inputs(g, &x, 1, NULL), ITG_OK);
    itg_id y = add_result(g, ITG_OP_RELU, x, NULL);
    assert_int_equal(itg_graph_set_outputs(g, &y, 1, NULL), ITG_OK);
    return realize(g);
}

/* The output has six elements on one axis: classes 0 to 5. */
static void labels_that_no_output_can_equal_are_refused(void **state)
{
    (void)state;
    static const struct {
        int64_t label;
        itg_status status;
    } cases[] = {{5, ITG_OK}, {0, ITG_OK}, {6, ITG_MISMATCH}, {-1, ITG_MISMATCH}};
    float data[2 * 6] = {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1};
    itg_dataset samples = {.dtype = ITG_F32, .shape = {.rank = 3, .dims = {2, 1, 6}}, .data = data};
    itg_program *program = make_relu((itg_shape){.rank = 3, .dims = {1, 1, 6}});
    itg_preprocess p = itg_preprocess_default();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t classes[] = {5, cases[i].label};
        const itg_dataset labels = labels_of(classes, 2);
        itg_score score = {0};
        itg_error err = {0};
        assert_int_equal(
            itg_program_run(program, &samples,
                            &(itg_run_options){ITG_RUN_OPTIONS_VERSION, .preprocess = &p,
                                               .labels = &labels, .threads = 1},
                            &score, &err),
            cases[i].status);
        if (cases[i].status == ITG_OK)
            assert_true(score.value[ITG_METRIC_TOP1] == (cases[i].label == 5 ? 1.0 : 0.5));
        else
            assert_non_null(strstr(err.message, "6 classes"));
    }
    itg_program_destroy(program);
    const int64_t classes[] = {0, 0};
    const itg_dataset labels =
        labels_of(classes, 2); /* of six elements on two axes none is a class */
    itg_score score = {0};
    itg_error err = {0};
    samples.shape = (itg_shape){.rank = 3, .dims = {2, 2, 3}};
    program = make_program();
    assert_int_equal(itg_program_run(program, &samples,
                                     &(itg_run_options){ITG_RUN_OPTIONS_VERSION, .preprocess = &p,
                                                        .labels = &labels, .threads = 1},
                                     &score, &err),
                     ITG_MISMATCH);
    assert_non_null(strstr(err.message, "no axis of classes"));
    itg_program_destroy(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_hold_every_dimension_of_every_output),
        cmocka_unit_test(labels_that_no_output_can_equal_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
