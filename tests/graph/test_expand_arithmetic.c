/* Sums, norms, minima, quotients, slopes and tiles written out as other operators, against their
 * formulas. */
#include "expansion.h"
#include "kernels/float_ops.h"
#include <math.h>
#include <stdlib.h>

static const itg_shape dims = {.rank = 3, .dims = {2, 3, 4}};

/* The second dimension is reduced. */
static double reduce(itg_op op, const float *x, int64_t first)
{
    double sum = 0, absolute = 0, squares = 0, least = INFINITY;
    for (int i = 0; i < 3; i++) {
        const double v = (double)x[first + 4 * i];
        sum += v;
        absolute += fabs(v);
        squares += v * v;
        least = fmin(least, v);
    }
    return op == ITG_OP_REDUCE_SUM          ? sum
           : op == ITG_OP_REDUCE_L1         ? absolute
           : op == ITG_OP_REDUCE_SUM_SQUARE ? squares
           : op == ITG_OP_REDUCE_L2         ? sqrt(squares)
                                            : least;
}

static void reductions(void **state)
{
    (void)state;
    static const itg_op ops[] = {ITG_OP_REDUCE_SUM, ITG_OP_REDUCE_L1, ITG_OP_REDUCE_SUM_SQUARE,
                                 ITG_OP_REDUCE_L2, ITG_OP_REDUCE_MIN};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        itg_graph *g = graph_of(&dims);
        itg_attrs a = itg_attrs_default(ops[i]);
        float *x = numbers_of_x(&dims);
        double y[8];
        a.axes_count = 1;
        a.axes[0] = 1;
        a.keepdims = i % 2;
        for (int k = 0; k < 8; k++)
            y[k] = reduce(ops[i], x, k / 4 * 12 + k % 4);
        set_output(g, ADD_OP(g, ops[i], "y", &a, itg_graph_find_value(g, "x")));
        assert_gives(g, y, 8);
        free(x);
        itg_graph_destroy(g);
    }
}

static void norms(void **state)
{
    (void)state;
    for (int p = 1; p <= 2; p++) {
        itg_graph *g = graph_of(&dims);
        itg_attrs a = itg_attrs_default(ITG_OP_LP_NORMALIZATION);
        float *x = numbers_of_x(&dims);
        double y[24];
        a.p = p;
        a.axis = 1;
        for (int k = 0; k < 24; k++)
            y[k] = (double)x[k] /
                   reduce(p == 1 ? ITG_OP_REDUCE_L1 : ITG_OP_REDUCE_L2, x, k / 12 * 12 + k % 4);
        set_output(g, ADD_OP(g, ITG_OP_LP_NORMALIZATION, "y", &a, itg_graph_find_value(g, "x")));
        assert_gives(g, y, 24);
        free(x);
        itg_graph_destroy(g);
    }
}

/* 0 / 0 is 0 here, as ONNX Runtime has it. */
static void norms_of_zeros_are_zeros(void **state)
{
    (void)state;
    const double zeros[24] = {0};
    itg_graph *g = graph_of(&dims);
    itg_id nothing = ADD_OP(g, ITG_OP_MUL, "nothing", NULL, itg_graph_find_value(g, "x"),
                            add_floats(g, "zero", "1", (float[]){0}));
    set_output(g, ADD_OP(g, ITG_OP_LP_NORMALIZATION, "y", NULL, nothing));
    assert_gives(g, zeros, 24);
    itg_graph_destroy(g);
}

static void quotients_and_slopes(void **state)
{
    (void)state;
    float *x = numbers_of_x(&dims);
    double quotient[24], sloped[24];
    const float slopes[] = {0.25F, -0.5F, 2};
    for (int k = 0; k < 24; k++) {
        quotient[k] = (double)x[k] / exp((double)x[k]);
        sloped[k] = (double)x[k] * (x[k] < 0 ? (double)slopes[k / 4 % 3] : 1);
    }
    itg_graph *g = graph_of(&dims);
    itg_id in = itg_graph_find_value(g, "x");
    set_output(g, ADD_OP(g, ITG_OP_DIV, "y", NULL, in, ADD_OP(g, ITG_OP_EXP, "e", NULL, in)));
    assert_gives(g, quotient, 24);
    itg_graph_destroy(g);
    for (int one = 0; one < 2; one++) { /* a constant divided by what varies */
        const float dividend = one ? 1 : -3;
        g = graph_of(&dims);
        in = itg_graph_find_value(g, "x");
        for (int k = 0; k < 24; k++)
            quotient[k] = (double)dividend / exp((double)x[k]);
        set_output(g, ADD_OP(g, ITG_OP_DIV, "y", NULL, add_floats(g, "d", "", &dividend),
                             ADD_OP(g, ITG_OP_EXP, "e", NULL, in)));
        assert_gives(g, quotient, 24);
        itg_graph_destroy(g);
    }
    g = graph_of(&dims);
    set_output(g, ADD_OP(g, ITG_OP_PRELU, "y", NULL, itg_graph_find_value(g, "x"),
                         add_floats(g, "slopes", "3,1", slopes)));
    assert_gives(g, sloped, 24);
    itg_graph_destroy(g);
    free(x);
}

static void tiles(void **state)
{
    (void)state;
    float *x = numbers_of_x(&dims);
    double y[2 * 2 * 3 * 12];
    for (int64_t k = 0; k < 2 * 2 * 3 * 12; k++) {
        int64_t column = k % 12, row = k / 12 % 3, matrix = k / 36;
        y[k] = (double)x[matrix % 2 * 12 + row * 4 + column % 4];
    }
    itg_graph *g = graph_of(&dims);
    set_output(g, ADD_OP(g, ITG_OP_TILE, "y", NULL, itg_graph_find_value(g, "x"),
                         add_ints(g, "repeats", 3, (int64_t[]){2, 1, 3})));
    assert_gives(g, y, 2 * 2 * 3 * 12);
    itg_graph_destroy(g);
    free(x);
}

/* x [2,3,4] by weights of one matrix, of one for each of its own, and a single matrix of x by two.
 */
static void products_by_batched_weights(void **state)
{
    (void)state;
    static const char *const weights[] = {"1,4,5", "2,4,5", "1,2,4,5"};
    for (int i = 0; i < 3; i++) {
        const itg_shape one = {.rank = 4, .dims = {1, 1, 6, 4}};
        const itg_shape *xs = i == 2 ? &one : &dims;
        const int rows = i == 2 ? 6 : 3;
        double y[60] = {0};
        itg_graph *g = graph_of(xs);
        itg_id w = add_floats(g, "w", weights[i], NULL);
        const float *b = constant_of(g, "w");
        float *x = numbers_of_x(xs);
        for (int m = 0; m < 2; m++)
            for (int r = 0; r < rows; r++)
                for (int c = 0; c < 5; c++)
                    for (int k = 0; k < 4; k++)
                        y[(m * rows + r) * 5 + c] +=
                            (double)x[((i == 2 ? 0 : m) * rows + r) * 4 + k] *
                            (double)b[((i == 0 ? 0 : m) * 4 + k) * 5 + c];
        set_output(g, ADD_OP(g, ITG_OP_MATMUL, "y", NULL, itg_graph_find_value(g, "x"), w));
        assert_gives(g, y, 2 * rows * 5);
        free(x);
        itg_graph_destroy(g);
    }
}

/* Nothing of these is left where float32 varies; integers stay. */
static void what_is_written_out(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        itg_graph *g = graph_of(&dims), *p = NULL;
        itg_attrs a = itg_attrs_default(ITG_OP_REDUCE_SUM);
        a.axes_count = 1;
        a.axes[0] = 1;
        itg_id x = itg_graph_find_value(g, "x");
        if (i == 1) {
            itg_attrs to = itg_attrs_default(ITG_OP_CAST);
            to.to = ITG_S64;
            x = ADD_OP(g, ITG_OP_CAST, "whole", &to, x);
        }
        set_output(g, ADD_OP(g, ITG_OP_REDUCE_SUM, "y", &a, x));
        itg_prepare_options options = {.eval = itg_float_eval, .keep_batch = true};
        assert_int_equal(itg_graph_prepare(g, &options, &p, NULL), ITG_OK);
        bool has = false;
        for (int32_t n = 0; n < p->node_count; n++)
            has = has || p->nodes[n].op == ITG_OP_REDUCE_SUM;
        assert_int_equal(has, i == 1);
        itg_graph_destroy(g);
        itg_graph_destroy(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions),
        cmocka_unit_test(norms),
        cmocka_unit_test(norms_of_zeros_are_zeros),
        cmocka_unit_test(quotients_and_slopes),
        cmocka_unit_test(tiles),
        cmocka_unit_test(products_by_batched_weights),
        cmocka_unit_test(what_is_written_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
