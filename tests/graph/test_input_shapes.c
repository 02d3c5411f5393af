/* Sizes of inputs as a caller states them. */
#include "make.h"
#include <stdio.h>
#include "kernels/float_ops.h"

static itg_graph *two_inputs(void)
{
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "-1,3,-1"), mask = add_input(g, "m=k", "-1,3,1");
    set_output(g, ADD_OP(g, ITG_OP_ADD, "y", NULL, x, mask));
    return g;
}

static itg_status prepare(itg_graph *g, const char *text, itg_graph **out, itg_error *err)
{
    itg_prepare_options options = {.eval = itg_float_eval, .keep_batch = true};
    snprintf(options.model.input_shapes, sizeof options.model.input_shapes, "%s", text);
    *out = NULL;
    return itg_graph_prepare(g, &options, out, err);
}

static void stated_sizes_are_the_inputs(void **state)
{
    (void)state;
    static const char *const texts[] = {"x=2,3,7,m=k=2,3,1", "m=k=2,3,1,x=2,3,7"};
    for (int i = 0; i < 2; ++i) {
        itg_graph *g = two_inputs(), *p;
        itg_error err = {0};
        if (prepare(g, texts[i], &p, &err)) fail_msg("%s", err.message);
        itg_shape wanted = shape_of("2,3,7");
        assert_true(itg_shape_equal(&p->values[p->outputs[0]].shape, &wanted));
        assert_string_equal(p->options.input_shapes, texts[i]);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

static void the_only_input_needs_no_name(void **state)
{
    (void)state;
    static const char *const texts[] = {"1,4", "x=1,4"};
    for (int i = 0; i < 2; ++i) {
        itg_graph *g = make_graph(), *p;
        itg_error err = {0};
        set_output(g, ADD_OP(g, ITG_OP_RELU, "y", NULL, add_input(g, "x", "-1,-1")));
        if (prepare(g, texts[i], &p, &err)) fail_msg("%s", err.message);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"2,3,7", "several inputs"},
        {"z=2,3,7", "no input has such a name"},
        {"x=2,3", "'x' has 3 dimensions; its stated shape has 2"},
        {"x=2,4,7", "dimension 1 is 3 in the file, and 4 is stated"},
        {"x=2,3,0", "sizes of 1 or more"},
        {"x=2,3,99999999999999999999", "sizes of 1 or more"},
        {"x=", "sizes are missing"},
        {"x=a", "at most 8 sizes"},
        {"x=-2,3,7", "at most 8 sizes"},
        {"x=2,3,7,", "ends in a comma"},
        {"x=1,3,1,1,1,1,1,1,1", "at most 8 sizes"},
        {"x=2,3,7", "dimension 0"}, /* of the other one, which stays open */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        itg_graph *g = two_inputs(), *p;
        itg_error err = {0};
        itg_status status = prepare(g, cases[i][0], &p, &err);
        if (status == ITG_OK || !strstr(err.message, cases[i][1]) ||
            !strstr(err.message, "net.onnx"))
            fail_msg("'%s': \"%s\"; expected \"%s\"", cases[i][0], err.message, cases[i][1]);
        assert_null(p);
        itg_graph_destroy(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stated_sizes_are_the_inputs),
        cmocka_unit_test(the_only_input_needs_no_name),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
