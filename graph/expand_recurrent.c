/* RNN, GRU and LSTM, unrolled over time. One MatMul multiplies the inputs of all steps by W; each
 * step multiplies its previous state by R. All steps read the same constants. If the initial state
 * is zero, the first step has no product with it. Formulas: docs/preparation.md. */
#include <string.h>
#include "expand.h"

enum { MAX_GATES = 4 };

/* One direction of the node. */
typedef struct layer {
    itg_expansion *e;
    const itg_attrs *a;
    int64_t steps, batch, size;
    int32_t gates, direction;
    char where[40];     /* "step3/", "reverse/step3/": begins the names of nodes */
    itg_id r, bias;     /* r: [size, gates * size]; bias: of a GRU's h R, if apart */
    itg_id r_gates;     /* GRU without linear_before_reset: R of z and r; `r` then holds R of h */
    itg_id h, c;        /* the state [1, batch, size]; ITG_NONE: zeros */
    itg_id peephole[3]; /* of i, o, f; ITG_NONE: none */
    itg_names repeats;  /* the numbers of values, by their names without step and node */
} layer;

static const char *named(layer *l, const char *name)
{
    const char *out = itg_arena_format(l->e->g->arena, "%s%s", l->where, name);
    if (!out && l->e->status == ITG_OK) l->e->status = itg_graph_no_memory(l->e->g, l->e->err);
    return out ? out : "";
}

static itg_id apply(layer *l, const char *name, itg_op op, itg_id a, itg_id b)
{
    return itg_put_simple(l->e, named(l, name), op, a, b);
}

/* Adds two terms of which either may be left out; ITG_NONE if both are. */
static itg_id add(layer *l, const char *name, itg_id a, itg_id b)
{
    if (a == ITG_NONE || b == ITG_NONE) return a == ITG_NONE ? b : a;
    return apply(l, name, ITG_OP_ADD, a, b);
}

static itg_id multiply(layer *l, const char *name, itg_id x, itg_id weights, itg_id bias)
{
    if (x == ITG_NONE) return ITG_NONE;
    return itg_put(l->e, &(itg_put_op){.suffix = named(l, name), .op = ITG_OP_MATMUL},
                   bias == ITG_NONE ? 2 : 3, (itg_id[]){x, weights, bias});
}

/* ---- constants ---- */

/* Makes a constant of rows [first, first + rows) of W or R [directions, all, columns],
 * transposed. */
static itg_id transposed_rows(layer *l, int32_t slot, const char *name, int64_t first, int64_t rows)
{
    const float *from = itg_need_floats(l->e, slot, name);
    const itg_shape w = itg_shape_at(l->e, itg_expanded_input(l->e, slot));
    int64_t columns = w.dims[2];
    itg_id out = ITG_NONE;
    float *to = from ? itg_put_floats(l->e, named(l, name),
                                      (itg_shape){.rank = 2, .dims = {columns, rows}}, &out)
                     : NULL;
    for (int64_t i = 0; to && i < rows; ++i)
        for (int64_t k = 0; k < columns; ++k)
            to[k * rows + i] = from[(l->direction * w.dims[1] + first + i) * columns + k];
    return out;
}

/* Makes a constant of biases [first, first + count) of the direction: those of W, those of R, or
 * their sum. */
typedef enum bias_part { BIAS_OF_W, BIAS_OF_R, BIAS_SUM } bias_part;
static itg_id put_bias(layer *l, const char *name, bias_part part, int64_t first, int64_t count)
{
    itg_id out = ITG_NONE;
    int64_t all = l->gates * l->size;
    if (itg_expanded_input(l->e, 3) == ITG_NONE) return ITG_NONE;
    const float *b = itg_need_floats(l->e, 3, "B");
    float *to =
        b ? itg_put_floats(l->e, named(l, name), (itg_shape){.rank = 1, .dims = {count}}, &out)
          : NULL;
    if (b) b += 2 * all * l->direction + first;
    for (int64_t i = 0; to && i < count; ++i)
        to[i] = part == BIAS_OF_W   ? b[i]
                : part == BIAS_OF_R ? b[all + i]
                                    : (float)((double)b[i] + (double)b[all + i]);
    return out;
}

static void put_peepholes(layer *l)
{
    static const char *const names[] = {"P/i", "P/o", "P/f"};
    const float *from =
        itg_expanded_input(l->e, 7) == ITG_NONE ? NULL : itg_need_floats(l->e, 7, "P");
    for (int i = 0; i < 3; ++i) {
        l->peephole[i] = ITG_NONE;
        float *to = from
                        ? itg_put_floats(l->e, named(l, names[i]),
                                         (itg_shape){.rank = 1, .dims = {l->size}}, &l->peephole[i])
                        : NULL;
        if (to) memcpy(to, from + (3 * l->direction + i) * l->size, (size_t)l->size * sizeof *to);
    }
}

static bool is_zero(const itg_graph *g, itg_id value)
{
    if (!itg_is_float_constant(g, value)) return false;
    for (int64_t i = 0; i < itg_value_elements(g, value); ++i)
        if (itg_floats(g, value)[i] != 0.0f) return false;
    return true;
}

/* Returns the direction's initial state [1, batch, size]; ITG_NONE if it is zero. */
static itg_id initial(layer *l, int32_t slot, const char *name)
{
    static const int64_t perm[] = {1, 0, 2};
    itg_id x = itg_expanded_input(l->e, slot);
    int64_t begin[] = {l->direction, 0, 0};
    if (x == ITG_NONE || is_zero(l->e->g, x)) return ITG_NONE;
    if (l->a->batch_first) x = itg_put_transpose(l->e, named(l, name), x, perm);
    return itg_put_slice(l->e, named(l, name), x, begin,
                         (itg_shape){.rank = 3, .dims = {1, l->batch, l->size}});
}

/* ---- one step ---- */

static itg_id clipped(layer *l, const char *name, itg_id x)
{
    itg_attrs attrs = itg_attrs_default(ITG_OP_CLIP);
    attrs.min = -l->a->clip;
    attrs.max = l->a->clip;
    if (l->a->clip <= 0.0f || x == ITG_NONE) return x;
    return itg_put(
        l->e, &(itg_put_op){.suffix = named(l, name), .op = ITG_OP_CLIP, .attrs = &attrs}, 1, &x);
}

static itg_id constant(layer *l, const char *name, float value)
{
    return itg_put_number(l->e, named(l, name), (double)value);
}

/* Applies activation number `which` of the direction (0: f, 1: g, 2: h). */
static itg_id activate(layer *l, const char *name, int32_t which, itg_id x)
{
    int32_t count = l->gates == 4 ? 3 : l->gates == 3 ? 2 : 1, at = l->direction * count + which;
    int64_t stated = l->a->activations[at];
    itg_op op = stated >= 0                  ? (itg_op)stated
                : which == 0 && l->gates > 1 ? ITG_OP_SIGMOID
                                             : ITG_OP_TANH;
    float alpha = l->a->activation_alpha[at], beta = l->a->activation_beta[at];
    itg_attrs attrs = itg_attrs_default(op);
    attrs.alpha = alpha;
    attrs.beta = beta;
    if (op == ITG_OP_ADD) { /* Affine */
        x = apply(l, name, ITG_OP_MUL, x, constant(l, "alpha", alpha));
        return apply(l, name, ITG_OP_ADD, x, constant(l, "beta", beta));
    }
    if (op == ITG_OP_MUL) { /* ScaledTanh */
        x = apply(l, name, ITG_OP_MUL, x, constant(l, "beta", beta));
        x = apply(l, name, ITG_OP_TANH, x, ITG_NONE);
        return apply(l, name, ITG_OP_MUL, x, constant(l, "alpha", alpha));
    }
    return itg_put(l->e, &(itg_put_op){.suffix = named(l, name), .op = op, .attrs = &attrs}, 1, &x);
}

/* h = f(x + R h) */
static void step_rnn(layer *l, itg_id x)
{
    itg_id sum = add(l, "sum", x, multiply(l, "state", l->h, l->r, ITG_NONE));
    l->h = activate(l, "h", 0, clipped(l, "clip", sum));
}

/* z, r = f(x + R h);  n = g(x + R (r h)) or g(x + r (R h + b));  h = n + z (h - n) */
static void step_gru(layer *l, itg_id x)
{
    itg_id part[3], state[3] = {ITG_NONE, ITG_NONE, ITG_NONE}, reset = ITG_NONE, both = ITG_NONE;
    bool linear = l->a->linear_before_reset;
    itg_put_split(l->e, named(l, "x"), x, 2, 3, part);
    if (l->h != ITG_NONE)
        itg_put_split(
            l->e, named(l, "states"),
            multiply(l, "state", l->h, linear ? l->r : l->r_gates, linear ? l->bias : ITG_NONE), 2,
            linear ? 3 : 2, state);
    else if (linear && l->bias != ITG_NONE)
        itg_put_split(l->e, named(l, "states"), l->bias, 0, 3, state);
    itg_id z = clipped(l, "z/clip", add(l, "z/sum", part[0], state[0]));
    z = activate(l, "z", 0, z);
    if (l->h != ITG_NONE || state[2] != ITG_NONE) {
        reset = clipped(l, "r/clip", add(l, "r/sum", part[1], state[1]));
        reset = activate(l, "r", 0, reset);
        both = apply(l, "reset", ITG_OP_MUL, reset, linear ? state[2] : l->h);
    }
    if (!linear) both = multiply(l, "n/state", both, l->r, ITG_NONE);
    itg_id n = activate(l, "n", 1, clipped(l, "n/clip", add(l, "n/sum", part[2], both)));
    if (l->h == ITG_NONE) {
        l->h = apply(l, "h", ITG_OP_SUB, n, apply(l, "kept", ITG_OP_MUL, z, n));
        return;
    }
    itg_id kept = apply(l, "difference", ITG_OP_SUB, l->h, n);
    l->h = apply(l, "h", ITG_OP_ADD, n, apply(l, "kept", ITG_OP_MUL, z, kept));
}

/* Activates a gate: f(clip(x + P c)). */
static itg_id gate(layer *l, const char *name, itg_id x, int peephole, itg_id c)
{
    itg_id p = l->peephole[peephole];
    char text[24];
    snprintf(text, sizeof text, "%s/peephole", name);
    if (p != ITG_NONE && c != ITG_NONE) x = add(l, text, x, apply(l, text, ITG_OP_MUL, c, p));
    snprintf(text, sizeof text, "%s/clip", name);
    return activate(l, name, 0, clipped(l, text, x));
}

/* i, o, f = f(x + R h + P c);  n = g(x + R h);  c = f c + i n;  h = o h(c) */
static void step_lstm(layer *l, itg_id x)
{
    itg_id part[MAX_GATES], kept = ITG_NONE;
    x = add(l, "sum", x, multiply(l, "state", l->h, l->r, ITG_NONE));
    itg_put_split(l->e, named(l, "gates"), x, 2, 4, part);
    itg_id i = gate(l, "i", part[0], 0, l->c);
    itg_id n = activate(l, "n", 1, clipped(l, "n/clip", part[3]));
    if (l->c != ITG_NONE) {
        itg_id f = l->a->input_forget ? apply(l, "f", ITG_OP_SUB, constant(l, "one", 1.0f), i)
                                      : gate(l, "f", part[2], 2, l->c);
        kept = apply(l, "kept", ITG_OP_MUL, f, l->c);
    }
    l->c = add(l, "c", apply(l, "new", ITG_OP_MUL, i, n), kept);
    itg_id o = gate(l, "o", part[1], 1, l->c);
    l->h = apply(l, "h", ITG_OP_MUL, o, activate(l, "c/h", 2, l->c));
}

/* ---- what repeats ---- */

static void set_repeat(layer *l, itg_id value, const char *name)
{
    itg_graph *g = l->e->g;
    if (value == ITG_NONE || l->e->status != ITG_OK) return;
    int32_t number = itg_names_find(&l->repeats, name);
    if (number < 0 && itg_names_put(&l->repeats, name, g->repeat_count + 1))
        number = ++g->repeat_count;
    if (number < 0) l->e->status = itg_graph_no_memory(g, l->e->err);
    g->values[value].repeat = number;
}

/* Numbers the values that a step made, those from `first` on. The state has one number under
 * whatever name a step makes it. */
static void set_repeats(layer *l, itg_id first)
{
    const itg_graph *g = l->e->g;
    const size_t skip = strlen(l->e->node.name) + 1 + strlen(l->where);
    for (itg_id v = first; v < g->value_count; ++v)
        if (!g->values[v].data) set_repeat(l, v, g->values[v].name + skip);
    set_repeat(l, l->h, "h");
    if (l->gates == 4) set_repeat(l, l->c, "c");
}

/* ---- one direction ---- */

static void put_constants(layer *l, itg_id *w, itg_id *bias)
{
    int64_t all = l->gates * l->size;
    bool linear = l->gates == 3 && l->a->linear_before_reset;
    *w = transposed_rows(l, 1, "W", 0, all);
    *bias = put_bias(l, "B", linear ? BIAS_OF_W : BIAS_SUM, 0, all);
    l->bias = linear ? put_bias(l, "Rb", BIAS_OF_R, 0, all) : ITG_NONE;
    if (l->gates == 3 && !linear) {
        l->r_gates = transposed_rows(l, 2, "R/gates", 0, 2 * l->size);
        l->r = transposed_rows(l, 2, "R", 2 * l->size, l->size);
    } else {
        l->r = transposed_rows(l, 2, "R", 0, all);
    }
    put_peepholes(l);
    l->h = initial(l, 5, "initial_h");
    l->c = initial(l, 6, "initial_c");
}

/* Fills hidden [steps] with the states in order of time. */
static void unroll(layer *l, itg_id x, itg_id *part, itg_id *hidden)
{
    const char *prefix = l->direction ? "reverse/" : "";
    bool reversed = l->direction || l->a->direction == ITG_REVERSE;
    itg_id w, bias;
    snprintf(l->where, sizeof l->where, "%s", prefix);
    l->repeats = (itg_names){.arena = l->e->g->arena};
    put_constants(l, &w, &bias);
    itg_put_split(l->e, named(l, "x"), multiply(l, "input", x, w, bias), 0, (int32_t)l->steps,
                  part);
    for (int64_t s = 0; s < l->steps && l->e->status == ITG_OK; ++s) {
        int64_t t = reversed ? l->steps - 1 - s : s;
        const itg_id first = l->e->g->value_count;
        snprintf(l->where, sizeof l->where, "%sstep%d/", prefix, (int)t);
        if (l->gates == 4) step_lstm(l, part[t]);
        if (l->gates == 3) step_gru(l, part[t]);
        if (l->gates == 1) step_rnn(l, part[t]);
        set_repeats(l, first);
        hidden[t] = l->h;
    }
}

/* ---- the node ---- */

/* Makes output 0, the states of all steps: [steps, directions, batch, size] or [batch, steps,
 * directions, size]. */
static void put_all(layer *l, itg_id *const *hidden, int32_t directions)
{
    static const int64_t perm[] = {2, 0, 1, 3};
    static const char *const names[] = {"forward", "reverse"};
    itg_shape shape = {.rank = 4, .dims = {l->steps, 1, l->batch, l->size}};
    itg_id y[2] = {ITG_NONE, ITG_NONE};
    if (!itg_wants_output(l->e, 0)) return;
    for (int32_t d = 0; d < directions; ++d) {
        y[d] = itg_put_concat(l->e, names[d], 0, (int32_t)l->steps, hidden[d]);
        y[d] = itg_put_reshape(l->e, names[d], y[d], shape);
    }
    y[0] = itg_put_concat(l->e, "directions", 1, directions, y);
    if (l->a->batch_first) y[0] = itg_put_transpose(l->e, "batch", y[0], perm);
    itg_expanded_output(l->e, 0, y[0]);
}

/* Makes an output of the last state of each direction: [directions, batch, size] or [batch,
 * directions, size]. */
static void put_last(layer *l, int32_t slot, const char *name, const itg_id *state,
                     int32_t directions)
{
    static const int64_t perm[] = {1, 0, 2};
    if (!itg_wants_output(l->e, slot)) return;
    itg_id y = itg_put_concat(l->e, name, 0, directions, state);
    if (l->a->batch_first) y = itg_put_transpose(l->e, name, y, perm);
    itg_expanded_output(l->e, slot, y);
}

static bool start(itg_expansion *e, layer *l)
{
    static const int nodes[] = {0, 1, 0, 9, 9}; /* the fewest nodes of a step, by number of gates */
    itg_id x = itg_expanded_input(e, 0);
    itg_shape shape = itg_shape_at(e, x);
    bool first = e->node.attrs.batch_first;
    *l = (layer){.e = e,
                 .a = &e->node.attrs,
                 .steps = shape.dims[first],
                 .batch = shape.dims[!first],
                 .size = e->node.attrs.size};
    l->gates = e->node.op == ITG_OP_LSTM ? 4 : e->node.op == ITG_OP_GRU ? 3 : 1;
    if (l->steps > (ITG_MAX_PREPARED_NODES - e->g->node_count) / nodes[l->gates])
        itg_expansion_fail(e, ITG_LIMIT, "%lld steps make too many nodes; at most %d are prepared",
                           (long long)l->steps, ITG_MAX_PREPARED_NODES);
    return e->status == ITG_OK;
}

void itg_expand_recurrent(itg_expansion *e)
{
    static const int64_t perm[] = {1, 0, 2};
    layer l;
    itg_id h[2], c[2], *hidden[2], x = itg_expanded_input(e, 0);
    int32_t directions = e->node.attrs.direction == ITG_BIDIRECTIONAL ? 2 : 1;
    if (!start(e, &l)) return;
    itg_id *ids = itg_arena_array(e->g->arena, (size_t)l.steps * 3, sizeof *ids);
    if (!ids) e->status = itg_graph_no_memory(e->g, e->err);
    if (e->status == ITG_OK && l.a->batch_first) x = itg_put_transpose(e, "time", x, perm);
    for (int32_t d = 0; d < directions && e->status == ITG_OK; ++d) {
        hidden[d] = ids + l.steps * d;
        l.direction = d;
        unroll(&l, x, ids + l.steps * 2, hidden[d]);
        h[d] = l.h;
        c[d] = l.c;
    }
    if (e->status != ITG_OK) return;
    put_all(&l, hidden, directions);
    put_last(&l, 1, "last_h", h, directions);
    if (l.gates == 4) put_last(&l, 2, "last_c", c, directions);
}
