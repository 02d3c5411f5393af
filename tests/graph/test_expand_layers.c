/* Composite operators that are layers: RNN, GRU, LSTM and Attention, against their formulas. */
#include "expansion.h"
#include <math.h>
#include <stdlib.h>

enum { STEPS = 4, BATCH = 2, INPUTS = 3, SIZE = 2 };

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

typedef struct cell {
    const itg_attrs *a;
    const float *w, *r, *b, *p; /* of the direction */
    int gates;
    double h[SIZE], c[SIZE];
} cell;

/* Gate g's input of hidden element j; without: the part that W gives alone. */
static double input_of(const cell *l, int g, int j, const float *x)
{
    double sum = (double)l->b[g * SIZE + j];
    for (int i = 0; i < INPUTS; ++i)
        sum += (double)l->w[(g * SIZE + j) * INPUTS + i] * (double)x[i];
    return sum;
}

static double state_of(const cell *l, int g, int j, const double *h)
{
    double sum = (double)l->b[(l->gates + g) * SIZE + j];
    for (int i = 0; i < SIZE; ++i)
        sum += (double)l->r[(g * SIZE + j) * SIZE + i] * h[i];
    return sum;
}

static double clipped(const cell *l, double x)
{
    double limit = l->a->clip > 0 ? (double)l->a->clip : INFINITY;
    return fmax(-limit, fmin(limit, x));
}

static void step(cell *l, const float *x)
{
    double h[SIZE], reset[SIZE], old[SIZE];
    memcpy(old, l->h, sizeof old);
    for (int j = 0; j < SIZE && l->gates == 3; ++j)
        reset[j] = old[j] * sigmoid(clipped(l, input_of(l, 1, j, x) + state_of(l, 1, j, old)));
    for (int j = 0; j < SIZE; ++j) {
        double first = clipped(l, input_of(l, 0, j, x) + state_of(l, 0, j, old));
        if (l->gates == 1) h[j] = tanh(first);
        if (l->gates == 3) {
            double r = sigmoid(clipped(l, input_of(l, 1, j, x) + state_of(l, 1, j, old)));
            double s =
                l->a->linear_before_reset ? r * state_of(l, 2, j, old) : state_of(l, 2, j, reset);
            double z = sigmoid(first), n = tanh(clipped(l, input_of(l, 2, j, x) + s));
            h[j] = (1 - z) * n + z * old[j];
        }
        if (l->gates != 4) continue;
        double c = l->c[j], p[3] = {0, 0, 0};
        for (int k = 0; k < 3 && l->p; ++k)
            p[k] = (double)l->p[k * SIZE + j];
        double f = input_of(l, 2, j, x) + state_of(l, 2, j, old) + p[2] * c;
        double i = input_of(l, 0, j, x) + state_of(l, 0, j, old) + p[0] * c;
        double n = tanh(clipped(l, input_of(l, 3, j, x) + state_of(l, 3, j, old)));
        i = sigmoid(clipped(l, i));
        l->c[j] = (l->a->input_forget ? 1 - i : sigmoid(clipped(l, f))) * c + i * n;
        double o = input_of(l, 1, j, x) + state_of(l, 1, j, old) + p[1] * l->c[j];
        h[j] = sigmoid(clipped(l, o)) * tanh(l->c[j]);
    }
    memcpy(l->h, h, sizeof h);
}

/* Y, Y_h and Y_c one after the other. */
static void run(cell l, const itg_graph *g, const float *x, int directions, bool has_state,
                double *y)
{
    bool first = l.a->batch_first;
    double *y_h = y + STEPS * directions * BATCH * SIZE, *y_c = y_h + directions * BATCH * SIZE;
    for (int d = 0; d < directions; ++d)
        for (int n = 0; n < BATCH; ++n) {
            int rows = l.gates * SIZE, last = (first ? n * directions + d : d * BATCH + n) * SIZE;
            l.w = constant_of(g, "w") + d * rows * INPUTS;
            l.r = constant_of(g, "r") + d * rows * SIZE;
            l.b = constant_of(g, "b") + d * rows * 2;
            l.p = l.gates == 4 ? constant_of(g, "p") + d * 3 * SIZE : NULL;
            for (int j = 0; j < SIZE; ++j) {
                l.h[j] = has_state ? (double)constant_of(g, "h")[last + j] : 0;
                l.c[j] = has_state && l.gates == 4 ? (double)constant_of(g, "c")[last + j] : 0;
            }
            for (int s = 0; s < STEPS; ++s) {
                int t = d || l.a->direction == ITG_REVERSE ? STEPS - 1 - s : s;
                step(&l, x + (first ? n * STEPS + t : t * BATCH + n) * INPUTS);
                int at =
                    first ? (n * STEPS + t) * directions + d : (t * directions + d) * BATCH + n;
                for (int j = 0; j < SIZE; ++j)
                    y[at * SIZE + j] = l.h[j];
            }
            for (int j = 0; j < SIZE; ++j) {
                y_h[last + j] = l.h[j];
                y_c[last + j] = l.c[j];
            }
        }
}

static void check_recurrent(itg_op op, const itg_attrs *a, bool has_state)
{
    int directions = a->direction == ITG_BIDIRECTIONAL ? 2 : 1;
    int gates = op == ITG_OP_LSTM ? 4 : op == ITG_OP_GRU ? 3 : 1, outputs = gates == 4 ? 3 : 2;
    itg_shape xs =
        a->batch_first ? dims4(3, BATCH, STEPS, INPUTS, 0) : dims4(3, STEPS, BATCH, INPUTS, 0);
    itg_shape ws = dims4(3, directions, gates * SIZE, INPUTS, 0);
    itg_shape rs = dims4(3, directions, gates * SIZE, SIZE, 0);
    itg_shape bs = dims4(2, directions, 2 * gates * SIZE, 0, 0),
              ps = dims4(2, directions, 3 * SIZE, 0, 0);
    itg_shape hs = a->batch_first ? dims4(3, BATCH, directions, SIZE, 0)
                                  : dims4(3, directions, BATCH, SIZE, 0);
    itg_graph *g = graph_of(&xs);
    itg_id in[8] = {0,
                    put_constant(g, "w", &ws),
                    put_constant(g, "r", &rs),
                    put_constant(g, "b", &bs),
                    ITG_NONE,
                    ITG_NONE,
                    ITG_NONE,
                    ITG_NONE},
           out[3], node;
    if (has_state) in[5] = put_constant(g, "h", &hs);
    if (has_state && gates == 4) in[6] = put_constant(g, "c", &hs);
    if (gates == 4) in[7] = put_constant(g, "p", &ps);
    for (int i = 0; i < outputs; ++i)
        assert_int_equal(itg_graph_add_value(g, NULL, ITG_F32, NULL, NULL, &out[i], NULL), ITG_OK);
    assert_int_equal(
        itg_graph_add_node(g, "cell", op, in, gates == 4 ? 8 : 6, out, outputs, a, &node, NULL),
        ITG_OK);
    assert_int_equal(itg_graph_set_outputs(g, out, outputs, NULL), ITG_OK);
    double want[(STEPS + 2) * 2 * BATCH * SIZE];
    float *x = numbers_of_x(&xs);
    run((cell){.a = a, .gates = gates}, g, x, directions, has_state, want);
    assert_gives(g, want, (STEPS + outputs - 1) * directions * BATCH * SIZE);
    free(x);
    itg_graph_destroy(g);
}

static void recurrent_layers_are_unrolled(void **state)
{
    static const itg_op ops[] = {ITG_OP_RNN, ITG_OP_GRU, ITG_OP_LSTM};
    (void)state;
    for (int i = 0; i < 3; ++i)
        for (int bits = 0; bits < 96; ++bits) {
            itg_attrs a = itg_attrs_default(ops[i]);
            a.direction = (itg_direction)(bits % 3);
            a.batch_first = bits / 3 & 1;
            a.linear_before_reset = a.input_forget = bits / 6 & 1;
            a.clip = bits / 12 & 1 ? 0.25f : 0;
            check_recurrent(ops[i], &a, bits / 24 & 1);
        }
}

static void steps_share_their_weights(void **state)
{
    (void)state;
    itg_shape xs = dims4(3, 5, 1, INPUTS, 0), ws = dims4(3, 1, 4 * SIZE, INPUTS, 0);
    itg_shape rs = dims4(3, 1, 4 * SIZE, SIZE, 0);
    itg_graph *g = graph_of(&xs);
    itg_id w = put_constant(g, "w", &ws), r = put_constant(g, "r", &rs), shared = ITG_NONE;
    set_output(g, ADD_OP(g, ITG_OP_LSTM, "lstm", NULL, 0, w, r));
    itg_graph *p = prepared(g, true);
    assert_int_equal(count_of(p, ITG_OP_MATMUL),
                     5); /* the inputs', and of all steps but the first */
    for (int32_t n = 0; n < p->node_count; ++n) {
        if (p->nodes[n].op != ITG_OP_MATMUL || !strstr(p->nodes[n].name, "step")) continue;
        if (shared == ITG_NONE) shared = p->nodes[n].inputs[1];
        assert_int_equal(p->nodes[n].inputs[1], shared);
    }
    assert_true(itg_graph_find_node(p, "lstm/step3/h") != ITG_NONE);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static int32_t repeat_of(const itg_graph *g, const char *step, const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "lstm/%s/%s", step, name);
    const itg_id value = itg_graph_find_value(g, text);
    assert_int_not_equal(value, ITG_NONE);
    return g->values[value].repeat;
}

/* What is the same in each step has one number, the state too, which the first step makes by
 * another node. Directions, and other layers, have numbers of their own. */
static void values_of_steps_know_what_they_repeat(void **state)
{
    (void)state;
    itg_shape xs = dims4(3, 5, 1, INPUTS, 0), ws = dims4(3, 1, 4 * SIZE, INPUTS, 0);
    itg_shape rs = dims4(3, 1, 4 * SIZE, SIZE, 0);
    itg_graph *g = graph_of(&xs), *copy = NULL;
    itg_id w = put_constant(g, "w", &ws), r = put_constant(g, "r", &rs);
    set_output(g, ADD_OP(g, ITG_OP_LSTM, "lstm", NULL, 0, w, r));
    itg_graph *p = prepared(g, true);
    assert_int_equal(itg_graph_clone(p, &copy, NULL), ITG_OK);
    const int32_t c = repeat_of(copy, "step1", "c"), h = repeat_of(copy, "step1", "h");
    assert_true(c > 0 && h > 0 && c != h && c <= copy->repeat_count);
    assert_int_equal(repeat_of(copy, "step0", "new"), c);
    assert_int_not_equal(repeat_of(copy, "step1", "new"), c);
    assert_int_equal(repeat_of(copy, "step3", "c"), c);
    assert_int_equal(repeat_of(copy, "step3", "sum"), repeat_of(copy, "step1", "sum"));
    assert_int_equal(repeat_of(copy, "step0", "h"), h);
    itg_graph_destroy(copy);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static void recurrent_layers_that_cannot_be_unrolled_are_refused(void **state)
{
    (void)state;
    itg_shape xs = dims4(3, 5000, 1, INPUTS, 0), ws = dims4(3, 1, 4 * SIZE, INPUTS, 0);
    itg_shape rs = dims4(3, 1, 4 * SIZE, SIZE, 0), bad = dims4(3, 1, 4 * SIZE, 3 * SIZE, 0);
    itg_graph *g = graph_of(&xs);
    itg_id w = put_constant(g, "w", &ws), r = put_constant(g, "r", &rs);
    set_output(g, ADD_OP(g, ITG_OP_LSTM, "lstm", NULL, 0, w, r));
    assert_refuses(g, ITG_LIMIT, "5000 steps make too many nodes");
    itg_graph_destroy(g);
    g = graph_of(&xs);
    w = put_constant(g, "w", &ws);
    set_output(g, ADD_OP(g, ITG_OP_LSTM, "lstm", NULL, 0, w, put_constant(g, "r", &bad)));
    assert_refuses(g, ITG_BAD_FILE, "its R is [1,8,6]; expected [1,8,2]");
    itg_graph_destroy(g);
    g = graph_of(&xs);
    itg_id in[] = {0, put_constant(g, "w", &ws), put_constant(g, "r", &rs), ITG_NONE,
                   ADD_INTS(g, "lengths", 7)};
    set_output(g, add_op(g, ITG_OP_LSTM, "lstm", NULL, 5, in));
    assert_refuses(g, ITG_UNSUPPORTED, "its sequence_lens 'lengths' is not the constant 5000");
    itg_graph_destroy(g);
}

/* ---- Attention ---- */

enum { HEADS = 4, ROWS = 3, WIDTH = 2 };

/* x [rows, heads * width] of queries, keys and values; heads of the latter: HEADS / 2. */
static void attend(const float *x, const float *k, const float *v, const itg_attrs *a, double *y)
{
    int narrow = HEADS / 2 * WIDTH;
    for (int h = 0; h < HEADS; ++h)
        for (int i = 0; i < ROWS; ++i) {
            double weights[ROWS], sum = 0;
            for (int j = 0; j < ROWS; ++j) {
                double score = 0;
                for (int e = 0; e < WIDTH; ++e)
                    score += (double)x[(i * HEADS + h) * WIDTH + e] *
                             (double)k[j * narrow + h / 2 * WIDTH + e];
                score *= a->scale != 0 ? (double)a->scale : 1 / sqrt(WIDTH);
                if (a->softcap > 0) score = (double)a->softcap * tanh(score / (double)a->softcap);
                weights[j] = a->causal && j > i ? 0 : exp(score);
                sum += weights[j];
            }
            for (int e = 0; e < WIDTH; ++e) {
                double *out = &y[(i * HEADS + h) * WIDTH + e];
                *out = 0;
                for (int j = 0; j < ROWS; ++j)
                    *out += weights[j] / sum * (double)v[j * narrow + h / 2 * WIDTH + e];
            }
        }
}

static void heads_attend(void **state)
{
    (void)state;
    for (int bits = 0; bits < 8; ++bits) {
        itg_attrs a = itg_attrs_default(ITG_OP_ATTENTION);
        itg_shape xs = dims4(3, 1, ROWS, HEADS * WIDTH, 0),
                  ks = dims4(3, 1, ROWS, HEADS / 2 * WIDTH, 0);
        a.heads[0] = HEADS;
        a.heads[1] = HEADS / 2;
        a.causal = bits & 1;
        a.scale = bits & 2 ? 2.5f : 0;
        a.softcap = bits & 4 ? 0.75f : 0;
        itg_graph *g = graph_of(&xs);
        itg_id k = put_constant(g, "k", &ks), v = put_constant(g, "v", &ks);
        set_output(g, ADD_OP(g, ITG_OP_ATTENTION, "y", &a, 0, k, v));
        double want[ROWS * HEADS * WIDTH];
        float *x = numbers_of_x(&xs);
        attend(x, constant_of(g, "k"), constant_of(g, "v"), &a, want);
        assert_gives(g, want, ROWS * HEADS * WIDTH);
        free(x);
        itg_graph_destroy(g);
    }
}

static void heads_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    itg_attrs a = itg_attrs_default(ITG_OP_ATTENTION);
    itg_shape xs = dims4(3, 1, ROWS, 8, 0);
    itg_graph *g = graph_of(&xs);
    a.heads[0] = 3;
    a.heads[1] = 3;
    set_output(g, ADD_OP(g, ITG_OP_ATTENTION, "y", &a, 0, 0, 0));
    assert_refuses(g, ITG_BAD_FILE, "do not fit with 3 and 3 heads");
    itg_graph_destroy(g);
    g = graph_of(&xs);
    a.heads[0] = a.heads[1] = 4;
    float hidden[] = {0, -INFINITY, -1e9f, -INFINITY, -INFINITY, -INFINITY, 0, 0, 0};
    itg_id mask = add_floats(g, "mask", "3,3", hidden);
    set_output(g, ADD_OP(g, ITG_OP_ATTENTION, "y", &a, 0, 0, 0, mask));
    assert_refuses(g, ITG_UNSUPPORTED, "hides all keys of row 1");
    itg_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recurrent_layers_are_unrolled),
        cmocka_unit_test(steps_share_their_weights),
        cmocka_unit_test(values_of_steps_know_what_they_repeat),
        cmocka_unit_test(recurrent_layers_that_cannot_be_unrolled_are_refused),
        cmocka_unit_test(heads_attend),
        cmocka_unit_test(heads_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
