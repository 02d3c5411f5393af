/* Writes NAME_run, which calls the layers' functions. Calls that repeat are a loop: the steps of a
 * recurrent operator. A pointer that moves by the same distance each round is computed; what other
 * pointers add in each round is read from an array. */
#include "realize/emit/emit.h"
#include <string.h>

enum {
    MOST_PERIOD = 512, /* calls of one round of a loop */
    LEAST_SAVED = 8    /* calls that a loop must save */
};

typedef struct call {
    int32_t layer, function; /* the function of layer `function` */
    int32_t count;
    const int32_t *buffers; /* [count], in the order of parameters */
} call;

typedef struct loop {
    int32_t first, period, rounds; /* calls first, first + 1... */
} loop;

/* ---- calls ---- */

static call call_of(itg_emitter *e, int32_t layer)
{
    const itg_emit_layer *l = &e->layers[layer];
    call c = {.layer = layer, .function = l->first};
    int32_t *buffers =
        itg_emit_alloc(e, (size_t)l->input_count + (size_t)l->output_count, sizeof *buffers);
    for (int32_t i = 0; i < l->input_count && buffers != NULL; i++)
        if (l->inputs[i] != ITG_NONE) buffers[c.count++] = l->inputs[i];
    for (int32_t i = 0; i < l->output_count && buffers != NULL; i++)
        buffers[c.count++] = l->outputs[i];
    c.buffers = buffers;
    return c;
}

/* Whether both are in the arena, or in the same argument; functions that are equal take equal
 * types. */
static bool in_one_memory(const itg_emitter *e, int32_t a, int32_t b)
{
    const itg_emit_buffer *x = &e->buffers[e->buffers[a].root],
                          *y = &e->buffers[e->buffers[b].root];
    return x->place == y->place && (x->place == ITG_EMIT_ARENA || x->index == y->index);
}

/* Whether a call has the function and the memory of the call a period before it. */
static bool repeats(const itg_emitter *e, const call *now, int32_t period)
{
    const call *before = now - period;
    if (now->function != before->function) return false;
    for (int32_t i = 0; i < now->count; i++)
        if (!in_one_memory(e, before->buffers[i], now->buffers[i])) return false;
    return true;
}

/* Makes *best the first of the longest loops of a period in calls [first, end) if it saves more
 * calls. */
static void find_loop(const itg_emitter *e, const call *calls, const loop *in, int32_t period,
                      loop *best)
{
    const int32_t end = in->first + in->period;
    for (int32_t start = in->first, at = start + period; at < end; at++) {
        if (!repeats(e, &calls[at], period)) start = at + 1 - period;
        const int32_t rounds = (at + 1 - start) / period;
        if (period * (rounds - 1) <= best->period * (best->rounds - 1)) continue;
        *best = (loop){start, period, rounds};
    }
}

/* ---- pointers that move ---- */

/* What pointers of a loop add in each round, one after another: [columns][rounds]. */
typedef struct moves {
    const call *calls;
    loop l;
    int64_t *added;
    int32_t columns;
} moves;

/* Returns where a buffer begins in its memory, in elements. */
static int64_t place_of(const itg_emitter *e, int32_t buffer)
{
    const itg_emit_buffer *root = &e->buffers[e->buffers[buffer].root];
    const size_t size = itg_dtype_size(e->p->values[root->value].dtype);
    return (int64_t)(root->offset / size) + e->buffers[buffer].start;
}

/* Returns the elements from the buffer of call `at` of the first round to that of another. */
static int64_t distance(const itg_emitter *e, const moves *m, int32_t at, int32_t argument,
                        int32_t round)
{
    const call *a = &m->calls[m->l.first + at], *b = a + m->l.period * round;
    return place_of(e, b->buffers[argument]) - place_of(e, a->buffers[argument]);
}

/* Returns the column of an argument's distances, a new one if there is none like it; -1: they are
 * *step times the round. */
static int32_t column_of(const itg_emitter *e, moves *m, int32_t at, int32_t argument,
                         int64_t *step)
{
    int64_t *own = m->added + (size_t)m->columns * (size_t)m->l.rounds;
    bool steady = true;
    *step = distance(e, m, at, argument, 1);
    for (int32_t t = 0; t < m->l.rounds; t++) {
        own[t] = distance(e, m, at, argument, t);
        steady = steady && own[t] == t * *step;
    }
    if (steady) return -1;
    const size_t bytes = (size_t)m->l.rounds * sizeof *own;
    for (int32_t i = 0; i < m->columns; i++)
        if (memcmp(m->added + (size_t)i * (size_t)m->l.rounds, own, bytes) == 0) return i;
    return m->columns++;
}

/* ---- text ---- */

static const char *moved_pointer(itg_emitter *e, moves *m, int32_t at, int32_t argument)
{
    int64_t step;
    const int32_t column = column_of(e, m, at, argument, &step);
    const call *c = &m->calls[m->l.first + at];
    const char *start = itg_emit_pointer(e, c->buffers[argument]);
    if (column >= 0) return itg_emit_text(e, "%s + move%d", start, (int)column);
    if (step == 0) return start;
    return itg_emit_text(e, "%s %c t * %s", start, step < 0 ? '-' : '+',
                         itg_emit_number(e, step < 0 ? -step : step));
}

/* Writes the calls of a round and lists what pointers add. */
static void write_round(itg_emitter *e, moves *m, itg_strbuf *out)
{
    for (int32_t i = 0; i < m->l.period; i++) {
        const call *c = &m->calls[m->l.first + i];
        itg_strbuf_format(out, "        layer_%s(", e->layers[c->function].name);
        for (int32_t k = 0; k < c->count; k++)
            itg_strbuf_format(out, "%s%s", k > 0 ? ", " : "", moved_pointer(e, m, i, k));
        itg_strbuf_add(out, ");\n");
    }
}

static void write_loop(itg_emitter *e, const call *calls, const loop *l, itg_strbuf *out)
{
    size_t arguments = 1; /* one more, in which a column is tried */
    for (int32_t i = 0; i < l->period; i++)
        arguments += (size_t)calls[l->first + i].count;
    moves m = {.calls = calls, .l = *l};
    m.added = itg_emit_alloc(e, arguments * (size_t)l->rounds, sizeof *m.added);
    if (m.added == NULL) return;
    itg_strbuf round = {0};
    write_round(e, &m, &round);
    itg_strbuf_format(out, "    for (int32_t t = 0; t < %d; t++) {\n", (int)l->rounds);
    e->layer = &e->layers[calls[l->first].layer];
    const int64_t count = (int64_t)m.columns * l->rounds;
    const char *array = count > 0 ? itg_emit_array(e, "moves", m.added, count) : "";
    for (int32_t i = 0; i < m.columns; i++)
        itg_strbuf_format(out, "        const int32_t move%d = %s[t%s%s];\n", (int)i, array,
                          i > 0 ? " + " : "",
                          i > 0 ? itg_emit_number(e, (int64_t)i * l->rounds) : "");
    e->failed |= !itg_strbuf_ok(&round);
    itg_strbuf_add(out, e->failed ? "" : round.text);
    itg_strbuf_add(out, "    }\n");
    itg_strbuf_deinit(&round);
}

static void write_call(itg_emitter *e, const call *c, itg_strbuf *out)
{
    itg_strbuf_format(out, "    layer_%s(", e->layers[c->function].name);
    for (int32_t k = 0; k < c->count; k++)
        itg_strbuf_format(out, "%s%s", k > 0 ? ", " : "", itg_emit_pointer(e, c->buffers[k]));
    itg_strbuf_add(out, ");\n");
}

/* Writes calls [first, end): those before the loop that saves most, the loop, those behind it. */
static void write_calls(itg_emitter *e, const call *calls, int32_t first, int32_t end,
                        itg_strbuf *out)
{
    const loop all = {first, end - first, 1};
    loop l = {.first = end, .period = LEAST_SAVED - 1, .rounds = 2};
    for (int32_t period = 1; period <= MOST_PERIOD && period < end - first; period++)
        find_loop(e, calls, &all, period, &l);
    if (l.first < end) {
        write_calls(e, calls, first, l.first, out);
        write_loop(e, calls, &l, out);
        write_calls(e, calls, l.first + l.period * l.rounds, end, out);
        return;
    }
    for (int32_t i = first; i < end; i++)
        write_call(e, &calls[i], out);
}

/* Names arguments that no layer reads, for compilers that warn of them. */
static void write_unused(itg_emitter *e, const call *calls, int32_t count, itg_strbuf *out)
{
    bool *used = itg_emit_alloc(e, (size_t)e->input_count, sizeof *used);
    for (int32_t i = 0; i < count && used != NULL; i++)
        for (int32_t k = 0; k < calls[i].count; k++) {
            const itg_emit_buffer *b = &e->buffers[e->buffers[calls[i].buffers[k]].root];
            if (b->place == ITG_EMIT_INPUT) used[b->index] = true;
        }
    for (int32_t i = 0; i < e->input_count && used != NULL; i++)
        if (!used[i]) itg_strbuf_format(out, "    (void)%s;\n", e->inputs[i].name);
}

void itg_emit_run(itg_emitter *e, itg_strbuf *out)
{
    call *calls = itg_emit_alloc(e, (size_t)e->layer_count, sizeof *calls);
    int32_t count = 0;
    for (int32_t i = 0; i < e->layer_count && calls != NULL; i++)
        if (!e->layers[i].free) calls[count++] = call_of(e, i);
    itg_emit_prototype(e, out);
    itg_strbuf_add(out, "\n{\n");
    if (!e->failed) write_calls(e, calls, 0, count, out);
    if (!e->failed) write_unused(e, calls, count, out);
    itg_strbuf_add(out, "}\n");
}
