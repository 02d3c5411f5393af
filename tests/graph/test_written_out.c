/* Functions that exporters write out as their parts become one node, in every order of the parts;
 * what is only similar stays. ReduceMax and mirrored pads become what integers can do. */
#include "graph/edit.h"
#include "kernels/float_ops.h"
#include "make.h"
#include <stdio.h>
#include <math.h>

static itg_graph *g;
static itg_id x;
static int named;

static void begin(const char *shape)
{
    g = make_graph();
    x = add_input(g, "x", shape);
    named = 0;
}

static itg_id scalar(float value)
{
    char name[16];
    snprintf(name, sizeof name, "c%d", named++);
    return add_floats(g, name, "", &value);
}

static itg_id op1(itg_op op, itg_id a)
{
    char name[16];
    snprintf(name, sizeof name, "n%d", named++);
    return ADD_OP(g, op, name, NULL, a);
}

static itg_id op2(itg_op op, itg_id a, itg_id b)
{
    char name[16];
    snprintf(name, sizeof name, "n%d", named++);
    return ADD_OP(g, op, name, NULL, a, b);
}

static itg_id times(itg_id a, float c)
{
    return op2(ITG_OP_MUL, a, scalar(c));
}

static itg_id plus(itg_id a, float c)
{
    return op2(ITG_OP_ADD, a, scalar(c));
}

/* y becomes one node of this operator, or (count 0) none. */
static itg_attrs check(itg_id y, itg_op op, int count)
{
    set_output(g, y);
    itg_graph *p = prepared(g, false);
    itg_attrs attrs = {0};
    assert_int_equal(count_of(p, op), count);
    if (count == 1) {
        assert_int_equal(p->node_count, 1);
        attrs = p->nodes[0].attrs;
    }
    assert_keeps_function(g, p, 2e-6);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
    return attrs;
}

/* ---- activations ---- */

static itg_id one_and_erf(void)
{
    return plus(op1(ITG_OP_ERF, op2(ITG_OP_DIV, x, scalar(1.41421354f))), 1);
}

static void gelu_is_found_in_every_order(void **state)
{
    (void)state;
    begin("1,5");
    check(times(op2(ITG_OP_MUL, x, one_and_erf()), 0.5f), ITG_OP_GELU, 1);
    begin("1,5");
    check(op2(ITG_OP_MUL, times(x, 0.5f), one_and_erf()), ITG_OP_GELU, 1);
    begin("1,5");
    check(op2(ITG_OP_MUL, times(one_and_erf(), 0.5f), x), ITG_OP_GELU, 1);
    begin("1,5");
    itg_id e = op2(ITG_OP_ADD, scalar(1), op1(ITG_OP_ERF, times(x, 0.707106769f)));
    assert_int_equal(
        check(op2(ITG_OP_MUL, scalar(0.5f), op2(ITG_OP_MUL, e, x)), ITG_OP_GELU, 1).approximate, 0);
}

static itg_id one_and_tanh(itg_id cube)
{
    return plus(op1(ITG_OP_TANH, times(op2(ITG_OP_ADD, x, times(cube, 0.044715f)), 0.797884583f)),
                1);
}

static void gelu_by_tanh_is_found(void **state)
{
    (void)state;
    begin("1,5");
    itg_id cube = op2(ITG_OP_POW, x, scalar(3));
    assert_int_equal(
        check(times(op2(ITG_OP_MUL, x, one_and_tanh(cube)), 0.5f), ITG_OP_GELU, 1).approximate, 1);
    begin("1,5");
    cube = op2(ITG_OP_MUL, op2(ITG_OP_MUL, x, x), x);
    check(op2(ITG_OP_MUL, times(x, 0.5f), one_and_tanh(cube)), ITG_OP_GELU, 1);
}

static void hard_swish_is_found(void **state)
{
    (void)state;
    itg_attrs a = itg_attrs_default(ITG_OP_HARD_SIGMOID);
    begin("1,5");
    a.alpha = 1.0f / 6;
    check(op2(ITG_OP_MUL, x, ADD_OP(g, ITG_OP_HARD_SIGMOID, "h", &a, x)), ITG_OP_HARD_SWISH, 1);
    begin("1,5");
    a.alpha = 0.2f;
    check(op2(ITG_OP_MUL, x, ADD_OP(g, ITG_OP_HARD_SIGMOID, "h", &a, x)), ITG_OP_HARD_SWISH, 0);
    a = itg_attrs_default(ITG_OP_CLIP);
    a.min = 0;
    a.max = 6;
    begin("1,5");
    itg_id clip = ADD_OP(g, ITG_OP_CLIP, "clip", &a, plus(x, 3));
    check(op2(ITG_OP_DIV, op2(ITG_OP_MUL, x, clip), scalar(6)), ITG_OP_HARD_SWISH, 1);
    begin("1,5");
    clip = ADD_OP(g, ITG_OP_CLIP, "clip", &a, plus(x, 2));
    check(op2(ITG_OP_DIV, op2(ITG_OP_MUL, x, clip), scalar(6)), ITG_OP_HARD_SWISH, 0);
}

static void swish_is_found(void **state)
{
    (void)state;
    begin("1,5");
    assert_true(check(op2(ITG_OP_MUL, x, op1(ITG_OP_SIGMOID, x)), ITG_OP_SWISH, 1).alpha == 1.0f);
    begin("1,5");
    check(op2(ITG_OP_MUL, op1(ITG_OP_SIGMOID, x), x), ITG_OP_SWISH, 1);
    begin("1,5");
    check(op2(ITG_OP_MUL, x, op1(ITG_OP_SIGMOID, plus(x, 1))), ITG_OP_SWISH, 0);
}

static void what_is_only_similar_stays(void **state)
{
    (void)state;
    begin("1,5");
    check(times(op2(ITG_OP_MUL, x, one_and_erf()), 0.25f), ITG_OP_GELU, 0);
    begin("1,5");
    check(op2(ITG_OP_MUL, times(x, 0.5f), plus(op1(ITG_OP_ERF, times(x, 0.7f)), 1)), ITG_OP_GELU,
          0);
    begin("1,5");
    itg_id other = op1(ITG_OP_NEG, x);
    check(times(op2(ITG_OP_MUL, other, one_and_erf()), 0.5f), ITG_OP_GELU, 0);
}

/* A part that the network reads besides is still there for it. */
static void parts_that_others_read_stay(void **state)
{
    (void)state;
    begin("1,5");
    itg_id e = one_and_erf(), gelu = times(op2(ITG_OP_MUL, x, e), 0.5f);
    set_output(g, op2(ITG_OP_SUB, gelu, e));
    itg_graph *p = prepared(g, false);
    assert_int_equal(count_of(p, ITG_OP_GELU), 1);
    assert_int_equal(count_of(p, ITG_OP_ERF), 1);
    assert_keeps_function(g, p, 2e-6);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* ---- LayerNormalization ---- */

static itg_id mean(itg_id value, int64_t first_axis, int32_t count)
{
    itg_attrs a = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    char name[16];
    a.axes_count = count;
    for (int32_t i = 0; i < count; ++i)
        a.axes[i] = first_axis + i;
    snprintf(name, sizeof name, "n%d", named++);
    return ADD_OP(g, ITG_OP_REDUCE_MEAN, name, &a, value);
}

static itg_id deviation(itg_id d, int64_t axis, int32_t count, float epsilon)
{
    itg_id variance = mean(op2(ITG_OP_POW, d, scalar(2)), axis, count);
    return op1(ITG_OP_SQRT, plus(variance, epsilon));
}

static void layer_normalization_is_found(void **state)
{
    (void)state;
    begin("1,3,4");
    itg_id d = op2(ITG_OP_SUB, x, mean(x, 2, 1));
    itg_attrs a =
        check(op2(ITG_OP_DIV, d, deviation(d, 2, 1, 0.25f)), ITG_OP_LAYER_NORMALIZATION, 1);
    assert_int_equal(a.axis, 2);
    assert_true(a.epsilon == 0.25f);
    begin("1,3,4");
    d = op2(ITG_OP_SUB, x, mean(x, 1, 2));
    a = check(op2(ITG_OP_MUL, d, op1(ITG_OP_RECIPROCAL, deviation(d, 1, 2, 1e-3f))),
              ITG_OP_LAYER_NORMALIZATION, 1);
    assert_int_equal(a.axis, 1);
}

static void its_scale_and_bias_become_its_own(void **state)
{
    (void)state;
    begin("1,3,4");
    itg_id d = op2(ITG_OP_SUB, x, mean(x, 2, 1)), scale = add_floats(g, "scale", "4", NULL),
           bias = add_floats(g, "bias", "4", NULL);
    itg_id y = op2(ITG_OP_DIV, d, deviation(d, 2, 1, 1e-5f));
    y = op2(ITG_OP_ADD, op2(ITG_OP_MUL, y, scale), bias);
    check(y, ITG_OP_LAYER_NORMALIZATION, 1);
}

static void other_normalizations_stay(void **state)
{
    (void)state;
    begin("1,3,4"); /* over the axis in the middle */
    itg_id d = op2(ITG_OP_SUB, x, mean(x, 1, 1));
    check(op2(ITG_OP_DIV, d, deviation(d, 1, 1, 1e-5f)), ITG_OP_LAYER_NORMALIZATION, 0);
    begin("1,3,4"); /* two means that differ */
    d = op2(ITG_OP_SUB, x, mean(x, 2, 1));
    check(op2(ITG_OP_DIV, d, deviation(d, 1, 2, 1e-5f)), ITG_OP_LAYER_NORMALIZATION, 0);
}

/* ---- powers, maxima, pads ---- */

static void powers_become_what_they_are(void **state)
{
    (void)state;
    static const struct {
        float exponent;
        itg_op op;
    } cases[] = {{2, ITG_OP_MUL}, {0.5f, ITG_OP_SQRT}, {-1, ITG_OP_RECIPROCAL}, {3, ITG_OP_POWER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        begin("1,5");
        set_output(g, op2(ITG_OP_POW, op1(ITG_OP_EXP, x), scalar(cases[i].exponent)));
        itg_graph *p = prepared(g, false);
        assert_int_equal(p->node_count, 2);
        assert_int_equal(p->nodes[1].op, cases[i].op);
        assert_keeps_function(g, p, 1e-6);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

static void maxima(const char *shape, int64_t first_axis, int32_t count, bool keepdims, int nodes)
{
    itg_attrs a = itg_attrs_default(ITG_OP_REDUCE_MAX);
    begin(shape);
    a.keepdims = keepdims;
    a.axes_count = count;
    for (int32_t i = 0; i < count; ++i)
        a.axes[i] = first_axis + i;
    set_output(g, ADD_OP(g, ITG_OP_REDUCE_MAX, "y", &a, x));
    itg_graph *p = prepared(g, false);
    assert_int_equal(count_of(p, ITG_OP_GLOBAL_MAX_POOL), 1);
    assert_int_equal(count_of(p, ITG_OP_REDUCE_MAX), 0);
    assert_int_equal(p->node_count, nodes);
    assert_keeps_function(g, p, 0);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static void means(const char *shape, int64_t first_axis, int32_t count, bool keepdims, int nodes)
{
    itg_attrs a = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    begin(shape);
    a.keepdims = keepdims;
    a.axes_count = count;
    for (int32_t i = 0; i < count; ++i)
        a.axes[i] = first_axis + count - 1 - i;
    set_output(g, ADD_OP(g, ITG_OP_REDUCE_MEAN, "y", &a, x));
    itg_graph *p = prepared(g, false);
    assert_int_equal(count_of(p, ITG_OP_GLOBAL_AVERAGE_POOL), nodes > 0);
    assert_int_equal(count_of(p, ITG_OP_REDUCE_MEAN), nodes == 0);
    assert_int_equal(p->node_count, nodes > 0 ? nodes : 1);
    assert_keeps_function(g, p, 1e-6);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static void means_of_planes_become_pools(void **state)
{
    (void)state;
    means("1,3,4,5", 2, 2, true, 1);
    means("1,3,4,5", 2, 2, false, 2);
    means("1,3,4,5", 1, 2, true, 0);
    means("1,3,4,5", 2, 1, true, 0);
    means("1,3,4,5", 1, 3, false, 0);
    means("1,3,4", 2, 1, true, 0);
}

static void maxima_become_pools(void **state)
{
    (void)state;
    maxima("1,3,4", 2, 1, true, 1);
    maxima("1,3,4", 2, 1, false, 2);
    maxima("1,3,4,5", 2, 2, true, 3);
    maxima("1,3,4,5", 1, 1, true, 4);
    maxima("1,3,4,5", 1, 3, false, 3);
}

static void pads(const char *shape, itg_pad_mode mode, const int64_t *pad, int32_t rank,
                 int gathers)
{
    itg_attrs a = itg_attrs_default(ITG_OP_PAD);
    begin(shape);
    a.pad_mode = mode;
    set_output(g, ADD_OP(g, ITG_OP_PAD, "y", &a, x, add_ints(g, "p", 2 * rank, pad)));
    itg_graph *p = prepared(g, false);
    assert_int_equal(count_of(p, ITG_OP_GATHER), gathers);
    assert_int_equal(p->node_count, gathers);
    assert_keeps_function(g, p, 0);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static void mirrored_pads_become_gathers(void **state)
{
    (void)state;
    pads("1,2,4,5", ITG_PAD_REFLECT, (int64_t[]){0, 0, 1, 2, 0, 0, 3, 4}, 4, 2);
    pads("1,2,4,5", ITG_PAD_EDGE, (int64_t[]){0, 1, 0, 3, 0, 0, 0, 7}, 4, 2);
    pads("1,6", ITG_PAD_REFLECT, (int64_t[]){0, -1, 0, 2}, 2, 1);
    pads("1,6", ITG_PAD_EDGE, (int64_t[]){0, 3, 0, -2}, 2, 1);
}

static void gather_nd_by_constants_is_gather(void **state)
{
    (void)state;
    static const int64_t indices[] = {0, 1, 0, -1, 0, 0, 0, 2};
    for (int depth = 1; depth <= 4; depth *= 2) {
        begin("1,3,4,5");
        itg_id i;
        itg_shape s = {.rank = 2, .dims = {8 / depth, depth}};
        static const int64_t zeros[8];
        itg_graph_add_value(g, "indices", ITG_S64, &s, depth == 2 ? indices : zeros, &i, NULL);
        set_output(g, ADD_OP(g, ITG_OP_GATHER_ND, "y", NULL, x, i));
        itg_graph *p = prepared(g, false);
        assert_int_equal(count_of(p, ITG_OP_GATHER_ND), 0);
        assert_int_equal(count_of(p, ITG_OP_GATHER), 1);
        assert_keeps_function(g, p, 0);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

/* ---- masks ---- */

static itg_id softmax(itg_id value)
{
    itg_attrs a = itg_attrs_default(ITG_OP_SOFTMAX);
    a.axis = 2;
    return ADD_OP(g, ITG_OP_SOFTMAX, "softmax", &a, value);
}

static itg_id hidden(float below, bool all, bool last)
{
    static const unsigned char some[] = {0, 1, 1, 1, 0, 1, 0, 0, 0},
                               others[] = {0, 1, 1, 1, 1, 1, 0, 0, 0};
    itg_shape s = shape_of("3,3");
    itg_id mask, no = scalar(below);
    itg_graph_add_value(g, "hides", ITG_BOOL, &s, all ? others : some, &mask, NULL);
    return last ? ADD_OP(g, ITG_OP_WHERE, "w", NULL, mask, x, no)
                : ADD_OP(g, ITG_OP_WHERE, "w", NULL, mask, no, x);
}

static void check_mask(itg_id y, int adds, float least)
{
    set_output(g, y);
    itg_graph *p = prepared(g, false);
    assert_int_equal(count_of(p, ITG_OP_ADD), adds);
    if (adds) {
        const float *mask = floats_at(p, only(p, ITG_OP_ADD), 1);
        float found = 0;
        for (int i = 0; i < 9; ++i)
            found = mask[i] < found ? mask[i] : found;
        assert_true(found == least);
    }
    assert_keeps_function(g, p, 1e-6);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* Row 1 is hidden as a whole: its Softmax is NaN, which a Mul by 0 would keep. */
static void what_hides_the_nan_of_a_hidden_row_stays(void **state)
{
    (void)state;
    static const float hides[] = {0, -INFINITY, 0, -INFINITY, -INFINITY, -INFINITY, 0, 0, 0};
    static const unsigned char rows[] = {0, 1, 0};
    itg_shape column = shape_of("3,1");
    itg_id mask;
    begin("1,3,3");
    itg_graph_add_value(g, "rows", ITG_BOOL, &column, rows, &mask, NULL);
    itg_id y = softmax(op2(ITG_OP_ADD, x, add_floats(g, "m", "3,3", hides)));
    set_output(g, ADD_OP(g, ITG_OP_WHERE, "w", NULL, mask, scalar(0), y));
    itg_graph *p = prepared(g, false);
    assert_int_equal(count_of(p, ITG_OP_WHERE), 1);
    assert_int_equal(count_of(p, ITG_OP_MUL), 0);
    assert_keeps_function(g, p, 0);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static void masks_in_front_of_softmax_are_sums(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        begin("1,3,3");
        check_mask(softmax(hidden(i ? -INFINITY : -1e9f, false, false)), 1, -128);
    }
    begin("1,3,3");
    check_mask(softmax(hidden(-1e4f, true, true)), 0, 0); /* row 2 hides all */
    begin("1,3,3");
    check_mask(softmax(hidden(-5, false, false)), 0, 0);
    begin("1,3,3");
    set_output(g, op1(ITG_OP_TANH, hidden(0, true, true)));
    itg_graph *q = prepared(g, false);
    assert_int_equal(count_of(q, ITG_OP_MUL), 1);
    assert_int_equal(count_of(q, ITG_OP_WHERE), 0);
    assert_keeps_function(g, q, 1e-6); /* but for the sign of zeros */
    itg_graph_destroy(q);
    itg_graph_destroy(g);
    static const float deep[] = {0, -1e9f, -1e9f, 0, 0, -3.4e38f, -2, 0, 0};
    begin("1,3,3");
    check_mask(softmax(op2(ITG_OP_ADD, x, add_floats(g, "m", "3,3", deep))), 1, -128);
    begin("1,3,3");
    itg_id sum = op2(ITG_OP_ADD, x, add_floats(g, "m", "3,3", deep));
    set_output(g, op2(ITG_OP_ADD, softmax(sum), op1(ITG_OP_TANH, sum))); /* others read it */
    itg_graph *p = prepared(g, false);
    assert_keeps_function(g, p, 1e-6);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* ---- norms without a mean ---- */

static itg_id rms(itg_id value, bool divided)
{
    itg_attrs a = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    a.axes_count = 1;
    a.axes[0] = 1;
    itg_id mean = ADD_OP(g, ITG_OP_REDUCE_MEAN, "mean", &a, op2(ITG_OP_MUL, value, value));
    itg_id root = op1(ITG_OP_SQRT, plus(mean, 1e-3f));
    if (divided) return op2(ITG_OP_DIV, value, root);
    return op2(ITG_OP_MUL, value, op2(ITG_OP_DIV, scalar(1), root));
}

static void rms_norms_become_layer_norms(void **state)
{
    static const float scales[] = {0.5f, -2, 3, 1, 0.25f};
    (void)state;
    for (int form = 0; form < 4; form++) {
        begin("1,5");
        itg_id y = rms(x, form % 2 == 0);
        if (form >= 2) y = op2(ITG_OP_MUL, add_floats(g, "scales", "5", scales), y);
        set_output(g, y);
        itg_graph *p = prepared(g, false);
        assert_int_equal(count_of(p, ITG_OP_LAYER_NORMALIZATION), 1);
        assert_int_equal(count_of(p, ITG_OP_MUL), 0);
        assert_keeps_function(g, p, 2e-6);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

/* The mean is of another value's squares. */
static void what_is_no_rms_norm_stays(void **state)
{
    (void)state;
    begin("1,5");
    itg_id other = plus(x, 1), y = rms(other, true);
    itg_graph_set_input(g, g->values[y].producer, 0, x);
    set_output(g, y);
    itg_graph *p = prepared(g, false);
    assert_int_equal(count_of(p, ITG_OP_LAYER_NORMALIZATION), 0);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* ---- standardized weights ---- */

/* BatchNormalization by its own statistics: of constants it is one, of what varies it is refused.
 */
static void training_norms_of_weights_are_folded(void **state)
{
    const float ones[2] = {1, 1}, zeros[2] = {0, 0};
    float w[12], want[12];
    (void)state;
    for (int i = 0; i < 12; i++)
        w[i] = (float)(i * i % 7) - 2;
    for (int c = 0; c < 2; c++) { /* [3,2,2]: channel c has w[4 n + 2 c + i] */
        double mean = 0, variance = 0;
        for (int i = 0; i < 6; i++)
            mean += (double)w[i / 2 * 4 + 2 * c + i % 2] / 6;
        for (int i = 0; i < 6; i++)
            variance += pow((double)w[i / 2 * 4 + 2 * c + i % 2] - mean, 2) / 6;
        for (int i = 0; i < 6; i++)
            want[i / 2 * 4 + 2 * c + i % 2] =
                (float)(((double)w[i / 2 * 4 + 2 * c + i % 2] - mean) / sqrt(variance + 1e-5));
    }
    for (int varies = 0; varies < 2; varies++) {
        itg_attrs a = itg_attrs_default(ITG_OP_BATCH_NORMALIZATION);
        itg_graph *p = NULL;
        itg_error err = {0};
        begin("3,2,2");
        a.training_mode = true;
        itg_id one = add_floats(g, "one", "2", ones), zero = add_floats(g, "zero", "2", zeros);
        itg_id norm = ADD_OP(g, ITG_OP_BATCH_NORMALIZATION, "norm", &a,
                             varies ? x : add_floats(g, "w", "3,2,2", w), one, zero, zero, one);
        set_output(g, op2(ITG_OP_ADD, x, norm));
        if (varies) {
            itg_prepare_options options = {.eval = itg_float_eval, .keep_batch = true};
            assert_int_equal(itg_graph_prepare(g, &options, &p, &err), ITG_UNSUPPORTED);
            assert_non_null(strstr(err.message, "training_mode is 1"));
        } else {
            p = prepared(g, true);
            const float *got = itg_floats(p, itg_graph_find_value(p, "norm"));
            for (int i = 0; i < 12; i++)
                assert_float_equal(got[i], want[i], 1e-6);
        }
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gelu_is_found_in_every_order),
        cmocka_unit_test(training_norms_of_weights_are_folded),
        cmocka_unit_test(rms_norms_become_layer_norms),
        cmocka_unit_test(what_is_no_rms_norm_stays),
        cmocka_unit_test(gelu_by_tanh_is_found),
        cmocka_unit_test(hard_swish_is_found),
        cmocka_unit_test(swish_is_found),
        cmocka_unit_test(what_is_only_similar_stays),
        cmocka_unit_test(parts_that_others_read_stay),
        cmocka_unit_test(layer_normalization_is_found),
        cmocka_unit_test(its_scale_and_bias_become_its_own),
        cmocka_unit_test(other_normalizations_stay),
        cmocka_unit_test(powers_become_what_they_are),
        cmocka_unit_test(masks_in_front_of_softmax_are_sums),
        cmocka_unit_test(what_hides_the_nan_of_a_hidden_row_stays),
        cmocka_unit_test(gather_nd_by_constants_is_gather),
        cmocka_unit_test(maxima_become_pools),
        cmocka_unit_test(means_of_planes_become_pools),
        cmocka_unit_test(mirrored_pads_become_gathers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
