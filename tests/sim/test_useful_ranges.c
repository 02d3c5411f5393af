/* The part of a value's range that its readers tell apart, against where the functions are flat by
 * their own formulas. */
#include "tests/graph/make.h"
#include "sim/threshold.h"
#include <math.h>
#include <stdlib.h>

static const double nothing = 1.0 / (1 << 14); /* of the function's range */

/* x, a copy, the function; all values reach from lo to hi. */
static itg_range range_before(itg_op op, const itg_attrs *attrs, float lo, float hi)
{
    itg_graph *g = make_graph();
    itg_id x = ADD_OP(g, ITG_OP_NEG, "x", NULL, add_input(g, "in", "1,4"));
    itg_attrs axes = itg_attrs_default(ITG_OP_TRANSPOSE);
    axes.perm[0] = 1;
    axes.perm[1] = 0;
    itg_id t = ADD_OP(g, ITG_OP_TRANSPOSE, "t", &axes, x);
    set_output(g, ADD_OP(g, op, "y", attrs, t));
    itg_value_stats *values = calloc((size_t)g->value_count, sizeof *values);
    itg_range *useful = calloc((size_t)g->value_count, sizeof *useful);
    const bool quantized[] = {true, true, true};
    for (itg_id v = 0; v < g->value_count; v++)
        values[v] = (itg_value_stats){.present = true, .count = 4, .min = lo, .max = hi};
    const itg_stats stats = {.value_count = g->value_count, .values = values};
    itg_useful_ranges(g, quantized, &stats, useful);
    const itg_range found = useful[t];
    assert_true(useful[x].lo == found.lo && useful[x].hi == found.hi);
    assert_true(useful[g->outputs[0]].lo == -INFINITY && useful[g->outputs[0]].hi == INFINITY);
    assert_true(useful[g->inputs[0]].hi == INFINITY);
    free(useful);
    free(values);
    itg_graph_destroy(g);
    return found;
}

static void assert_near(double found, double expected)
{
    if (fabs(found - expected) > 1e-6 * fabs(expected) + 1e-9)
        fail_msg("%.9g, expected %.9g", found, expected);
}

static void functions_end_where_they_are_flat(void **state)
{
    (void)state;
    const double logit = log((1 - nothing) / nothing);
    itg_range r = range_before(ITG_OP_SIGMOID, NULL, -15000, 19000);
    assert_near(r.lo, -logit);
    assert_near(r.hi, logit);
    r = range_before(ITG_OP_TANH, NULL, -9, 300);
    assert_near(r.hi, atanh(1 - 2 * nothing));
    r = range_before(ITG_OP_RELU, NULL, -7, 3);
    assert_near(r.lo, 0);
    assert_near(r.hi, 3);
    itg_attrs clip = itg_attrs_default(ITG_OP_CLIP);
    clip.min = -2;
    clip.max = 5;
    r = range_before(ITG_OP_CLIP, &clip, -50, 60);
    assert_near(r.lo, -2 + 7 * nothing);
    assert_near(r.hi, 5 - 7 * nothing);
}

/* Nothing of a wave may go, nor of a function that is the same everywhere, nor of one that is
 * infinite somewhere. */
static void others_keep_their_range(void **state)
{
    (void)state;
    itg_range r = range_before(ITG_OP_SIN, NULL, -40, 40);
    assert_true(r.lo == -40 && r.hi == 40);
    r = range_before(ITG_OP_NEG, NULL, -1, 4);
    assert_true(r.lo == -1 && r.hi == 4);
    r = range_before(ITG_OP_RELU, NULL, -4, 0);
    assert_true(r.lo == -INFINITY && r.hi == INFINITY);
    r = range_before(ITG_OP_RECIPROCAL, NULL, -1, 1);
    assert_true(r.lo == -INFINITY && r.hi == INFINITY);
}

/* A second reader that needs all of it, a reader in float, no statistics. */
static void every_reader_counts(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = ADD_OP(g, ITG_OP_NEG, "x", NULL, add_input(g, "in", "1,4"));
    itg_id z = ADD_OP(g, ITG_OP_NEG, "z", NULL, x);
    itg_id s = ADD_OP(g, ITG_OP_SIGMOID, "s", NULL, x), u = ADD_OP(g, ITG_OP_TANH, "u", NULL, z);
    set_output(g, ADD_OP(g, ITG_OP_ADD, "y", NULL, ADD_OP(g, ITG_OP_MUL, "m", NULL, x, s), u));
    itg_value_stats values[16] = {{0}};
    itg_range useful[16];
    bool quantized[] = {true, true, true, true, true, true};
    assert_true(g->value_count <= 16 && g->node_count == 6);
    for (itg_id v = 0; v < g->value_count; v++)
        values[v] = (itg_value_stats){.present = true, .count = 4, .min = -99, .max = 99};
    const itg_stats stats = {.value_count = g->value_count, .values = values};
    itg_useful_ranges(g, quantized, &stats, useful);
    assert_true(useful[x].hi == INFINITY && useful[x].lo == -INFINITY);
    assert_true(useful[z].hi < 6 && useful[z].lo > -6);
    quantized[3] = false;
    itg_useful_ranges(g, quantized, &stats, useful);
    assert_true(useful[z].hi == INFINITY);
    itg_useful_ranges(g, quantized, NULL, useful);
    assert_true(useful[u].hi == INFINITY && useful[z].lo == -INFINITY);
    itg_graph_destroy(g);
}

/* x + z before a sigmoid: what the other term cannot bring back. */
static void a_term_ends_where_the_sum_does(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id in = add_input(g, "in", "1,4");
    itg_id x = ADD_OP(g, ITG_OP_NEG, "x", NULL, in), z = ADD_OP(g, ITG_OP_ABS, "z", NULL, in);
    itg_id sum = ADD_OP(g, ITG_OP_ADD, "sum", NULL, x, z);
    set_output(g, ADD_OP(g, ITG_OP_SIGMOID, "y", NULL, sum));
    itg_value_stats values[8] = {{0}};
    itg_range useful[8];
    bool quantized[] = {true, true, true, true};
    assert_true(g->value_count <= 8 && g->node_count == 4);
    for (itg_id v = 0; v < g->value_count; v++)
        values[v] = (itg_value_stats){.present = true, .count = 4, .min = -5000, .max = 6000};
    values[z].min = -2;
    values[z].max = 3;
    const itg_stats stats = {.value_count = g->value_count, .values = values};
    itg_useful_ranges(g, quantized, &stats, useful);
    const double logit = log((1 - nothing) / nothing);
    assert_near(useful[sum].lo, -logit);
    assert_near(useful[x].lo, -logit - 3);
    assert_near(useful[x].hi, logit + 2);
    assert_true(useful[z].lo == -INFINITY && useful[z].hi == INFINITY);
    values[x].min = (float)(-8 * (logit + 3)) + 0.01F; /* more than an eighth is of use */
    itg_useful_ranges(g, quantized, &stats, useful);
    assert_true(useful[x].lo == -INFINITY);
    assert_near(useful[x].hi, logit + 2);
    values[z].present = false; /* a constant has no statistics */
    itg_useful_ranges(g, quantized, &stats, useful);
    assert_true(useful[x].lo == -INFINITY && useful[x].hi == INFINITY);
    quantized[2] = false;
    values[z].present = true;
    itg_useful_ranges(g, quantized, &stats, useful);
    assert_true(useful[x].lo == -INFINITY && useful[x].hi == INFINITY);
    itg_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_end_where_they_are_flat),
        cmocka_unit_test(others_keep_their_range),
        cmocka_unit_test(every_reader_counts),
        cmocka_unit_test(a_term_ends_where_the_sum_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
