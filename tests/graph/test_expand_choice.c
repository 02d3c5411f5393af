/* Max, Min, comparisons, logic, Where, rows of ones, powers: written out as other operators,
 * against their formulas. */
#include "expansion.h"
#include "kernels/float_ops.h"
#include <math.h>
#include <stdlib.h>

static const itg_shape dims = {.rank = 3, .dims = {2, 3, 4}};
enum { COUNT = 24 };
static const float thirds[3] = {0.25F, -0.5F, 2};

static itg_id input(const itg_graph *g)
{
    return itg_graph_find_value(g, "x");
}

/* ---- Max, Min ---- */

static void extremes_of_several_values(void **state)
{
    (void)state;
    float *x = numbers_of_x(&dims);
    for (int least = 0; least < 2; least++) {
        double y[COUNT], bound[COUNT];
        for (int k = 0; k < COUNT; k++) {
            const double e = exp((double)x[k]), c = (double)thirds[k / 4 % 3], v = (double)x[k];
            y[k] = least ? fmin(fmin(v, c), e) : fmax(fmax(v, c), e);
            bound[k] = least ? fmin(v, 0.125) : fmax(v, 0.125);
        }
        const itg_op op = least ? ITG_OP_MIN : ITG_OP_MAX;
        itg_graph *g = graph_of(&dims);
        itg_id e = ADD_OP(g, ITG_OP_EXP, "e", NULL, input(g));
        set_output(g, ADD_OP(g, op, "y", NULL, input(g), add_floats(g, "c", "3,1", thirds), e));
        assert_gives(g, y, COUNT);
        itg_graph_destroy(g);
        g = graph_of(&dims);
        set_output(g,
                   ADD_OP(g, op, "y", NULL, add_floats(g, "c", "", (float[]){0.125F}), input(g)));
        assert_gives(g, bound, COUNT);
        itg_graph_destroy(g);
    }
    free(x);
}

/* ---- truths ---- */

static bool holds(itg_op op, double a, double b)
{
    switch (op) {
    case ITG_OP_GREATER:
        return a > b;
    case ITG_OP_GREATER_OR_EQUAL:
        return a >= b;
    case ITG_OP_LESS:
        return a < b;
    case ITG_OP_LESS_OR_EQUAL:
        return a <= b;
    case ITG_OP_EQUAL:
        return a == b;
    case ITG_OP_AND:
        return a > 0 && b > 0;
    case ITG_OP_OR:
        return a > 0 || b > 0;
    default:
        return (a > 0) != (b > 0);
    }
}

/* Where(op(x, Floor(x)), x, c): equal where x is whole, which the numbers are made to be by halves.
 */
static void comparisons_choose(void **state)
{
    (void)state;
    static const itg_op ops[] = {ITG_OP_GREATER, ITG_OP_GREATER_OR_EQUAL, ITG_OP_LESS,
                                 ITG_OP_LESS_OR_EQUAL, ITG_OP_EQUAL};
    float *x = numbers_of_x(&dims);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int turned = 0; turned < 2; turned++) {
            double y[COUNT];
            itg_graph *g = graph_of(&dims);
            itg_id a = ADD_OP(g, ITG_OP_ROUND, "a", NULL, input(g)),
                   b = ADD_OP(g, ITG_OP_FLOOR, "b", NULL, input(g)),
                   c = add_floats(g, "c", "3,1", thirds);
            if (turned) b = add_floats(g, "number", "", (float[]){0});
            itg_id p = ADD_OP(g, ops[i], "p", NULL, a, b);
            set_output(g, ADD_OP(g, ITG_OP_WHERE, "y", NULL, p, input(g), c));
            for (int k = 0; k < COUNT; k++)
                y[k] = holds(ops[i], rint((double)x[k]), turned ? 0 : floor((double)x[k]))
                           ? (double)x[k]
                           : (double)thirds[k / 4 % 3];
            assert_gives(g, y, COUNT);
            itg_graph_destroy(g);
        }
    free(x);
}

static void truths_combine(void **state)
{
    (void)state;
    static const itg_op ops[] = {ITG_OP_AND, ITG_OP_OR, ITG_OP_XOR};
    float *x = numbers_of_x(&dims);
    itg_attrs to = itg_attrs_default(ITG_OP_CAST);
    to.to = ITG_F32;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        double y[COUNT];
        itg_graph *g = graph_of(&dims);
        itg_id zero = add_floats(g, "zero", "", (float[]){0}),
               level = add_floats(g, "level", "", (float[]){0.5F});
        itg_id p = ADD_OP(g, ITG_OP_GREATER, "p", NULL, input(g), zero),
               q = ADD_OP(g, ITG_OP_LESS, "q", NULL, input(g), level);
        p = ADD_OP(g, ops[i], "r", NULL, p, q);
        p = ADD_OP(g, ITG_OP_NOT, "s", NULL, p);
        set_output(g, ADD_OP(g, ITG_OP_CAST, "y", &to, p));
        for (int k = 0; k < COUNT; k++)
            y[k] = !holds(ops[i], (double)x[k], 0.5 - (double)x[k]);
        assert_gives(g, y, COUNT);
        itg_graph_destroy(g);
    }
    free(x);
}

static int32_t nodes_of(const itg_graph *g, itg_op op)
{
    int32_t count = 0;
    itg_graph *p = NULL;
    itg_prepare_options options = {.eval = itg_float_eval, .keep_batch = true};
    assert_int_equal(itg_graph_prepare(g, &options, &p, NULL), ITG_OK);
    for (int32_t n = 0; n < p->node_count; n++)
        count += p->nodes[n].op == op;
    itg_graph_destroy(p);
    return count;
}

/* What may be infinite is not multiplied by 0. */
static void what_may_be_infinite_stays(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        const float numbers[] = {0, i == 1 ? INFINITY : 1};
        itg_graph *g = graph_of(&dims);
        itg_id zero = add_floats(g, "zero", "", numbers), c = add_floats(g, "c", "", numbers + 1);
        itg_id p = ADD_OP(g, ITG_OP_GREATER, "p", NULL, input(g), zero);
        itg_id v = ADD_OP(g, i == 0 ? ITG_OP_LOG : ITG_OP_TANH, "v", NULL, input(g));
        set_output(g, ADD_OP(g, ITG_OP_WHERE, "y", NULL, p, v, c));
        assert_int_equal(nodes_of(g, ITG_OP_WHERE), i < 2);
        itg_graph_destroy(g);
    }
}

/* In front of a Softmax a computed mask adds -128, as a constant one does. */
static void masked_scores(void **state)
{
    (void)state;
    float *x = numbers_of_x(&dims);
    double y[COUNT];
    itg_graph *g = graph_of(&dims);
    itg_id p = ADD_OP(g, ITG_OP_LESS, "p", NULL, input(g), add_floats(g, "c", "", (float[]){0}));
    itg_id s = ADD_OP(g, ITG_OP_WHERE, "s", NULL, p,
                      add_floats(g, "mask", "", (float[]){-INFINITY}), input(g));
    s = ADD_OP(g, ITG_OP_SOFTMAX, "soft", NULL, s);
    set_output(g, ADD_OP(g, ITG_OP_ADD, "y", NULL, s, input(g))); /* not at the end */
    for (int r = 0; r < COUNT; r += 4) {
        double sum = 0;
        for (int k = r; k < r + 4; k++)
            sum += x[k] < 0 ? exp((double)x[k] - 128) : exp((double)x[k]);
        for (int k = r; k < r + 4; k++)
            y[k] = (double)x[k] + exp((double)x[k] - (x[k] < 0 ? 128 : 0)) / sum;
    }
    assert_gives(g, y, COUNT);
    itg_graph_destroy(g);
    free(x);
}

/* ---- rows ---- */

static void cumulative_sums(void **state)
{
    (void)state;
    float *x = numbers_of_x(&dims);
    for (int kind = 0; kind < 8; kind++) {
        const bool exclusive = kind & 1, reverse = kind & 2;
        const int axis = kind & 4 ? 1 : 2, n = axis == 1 ? 3 : 4, step = axis == 1 ? 4 : 1;
        double y[COUNT] = {0};
        itg_graph *g = graph_of(&dims);
        itg_attrs a = itg_attrs_default(ITG_OP_CUM_SUM);
        a.exclusive = exclusive;
        a.reverse = reverse;
        for (int k = 0; k < COUNT; k++) {
            const int at = k / step % n;
            for (int j = 0; j < n; j++)
                if (reverse ? j > at - !exclusive : j < at + !exclusive)
                    y[k] += (double)x[k + (j - at) * step];
        }
        set_output(g, ADD_OP(g, ITG_OP_CUM_SUM, "y", &a, input(g),
                             add_ints(g, "axis", 1, (int64_t[]){axis - 3 * (kind == 7)})));
        assert_gives(g, y, COUNT);
        itg_graph_destroy(g);
    }
    free(x);
}

static void greatest_of_rows(void **state)
{
    (void)state;
    float *x = numbers_of_x(&dims);
    for (int axis = 1; axis < 3; axis++) {
        const int n = axis == 1 ? 3 : 4, step = axis == 1 ? 4 : 1;
        double y[COUNT], least[COUNT];
        int64_t count = 0;
        for (int k = 0; k < COUNT; k++) {
            const int at = k / step % n;
            bool first = true, smallest = true;
            for (int j = 0; j < n; j++) {
                const float other = x[k + (j - at) * step];
                first &= j < at ? other < x[k] : other <= x[k];
                smallest &= other >= x[k];
            }
            y[k] = first;
            if (smallest) least[count++] = (double)x[k];
        }
        itg_graph *g = graph_of(&dims);
        itg_attrs a = itg_attrs_default(ITG_OP_HARDMAX);
        a.axis = axis;
        set_output(g, ADD_OP(g, ITG_OP_HARDMAX, "y", &a, input(g)));
        assert_gives(g, y, COUNT);
        itg_graph_destroy(g);
        if (axis == 1) continue; /* the least stand in another order */
        g = graph_of(&dims);
        a = itg_attrs_default(ITG_OP_TOP_K);
        a.axis = axis;
        a.largest = false;
        set_output(g,
                   ADD_OP(g, ITG_OP_TOP_K, "y", &a, input(g), add_ints(g, "k", 1, (int64_t[]){1})));
        assert_gives(g, least, count);
        itg_graph_destroy(g);
    }
    free(x);
}

static void normalized_by_mean_and_variance(void **state)
{
    (void)state;
    float *x = numbers_of_x(&dims);
    double y[COUNT];
    for (int r = 0; r < 3; r++) {
        double sum = 0, squares = 0;
        for (int k = 0; k < 8; k++)
            sum += (double)x[k / 4 * 12 + r * 4 + k % 4];
        for (int k = 0; k < 8; k++) {
            const double d = (double)x[k / 4 * 12 + r * 4 + k % 4] - sum / 8;
            squares += d * d;
        }
        for (int k = 0; k < 8; k++)
            y[k / 4 * 12 + r * 4 + k % 4] =
                ((double)x[k / 4 * 12 + r * 4 + k % 4] - sum / 8) / (sqrt(squares / 8) + 1e-9);
    }
    itg_graph *g = graph_of(&dims);
    itg_attrs a = itg_attrs_default(ITG_OP_MEAN_VARIANCE_NORMALIZATION);
    a.axes_count = 2;
    a.axes[0] = 0;
    a.axes[1] = 2;
    set_output(g, ADD_OP(g, ITG_OP_MEAN_VARIANCE_NORMALIZATION, "y", &a, input(g)));
    assert_gives(g, y, COUNT);
    itg_graph_destroy(g);
    free(x);
}

static void powers(void **state)
{
    (void)state;
    static const float exponents[] = {3, -2, 5, -3};
    float *x = numbers_of_x(&dims);
    for (int i = 0; i < 4; i++) {
        double y[COUNT];
        for (int k = 0; k < COUNT; k++)
            y[k] = (double)(float)pow((double)x[k], (double)exponents[i]);
        itg_graph *g = graph_of(&dims);
        set_output(
            g, ADD_OP(g, ITG_OP_POW, "y", NULL, input(g), add_floats(g, "e", "", &exponents[i])));
        assert_gives(g, y, COUNT);
        assert_int_equal(nodes_of(g, ITG_OP_POWER), 1);
        itg_graph_destroy(g);
    }
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extremes_of_several_values),
        cmocka_unit_test(comparisons_choose),
        cmocka_unit_test(truths_combine),
        cmocka_unit_test(what_may_be_infinite_stays),
        cmocka_unit_test(masked_scores),
        cmocka_unit_test(cumulative_sums),
        cmocka_unit_test(greatest_of_rows),
        cmocka_unit_test(normalized_by_mean_and_variance),
        cmocka_unit_test(powers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
