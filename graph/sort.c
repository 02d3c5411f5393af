/* Liveness and topological order. Kahn's algorithm with a heap of node ids keeps an order that is
 * already topological. The graph changes only when nothing can fail any more. */
#include "internal.h"
#include <string.h>

typedef struct sorter {
    const itg_graph *g;
    bool *live;       /* [node_count] */
    bool *named;      /* [value_count] */
    int32_t *missing; /* [node_count]: inputs whose producer is not placed yet */
    int32_t *first;   /* [value_count + 1]: consumers of a value, as a range of `consumers` */
    itg_id *consumers;
    itg_id *heap; /* [node_count]: nodes that may come next, smallest id on top */
    int32_t heap_count;
    itg_id *order; /* [node_count]: new position -> old id */
    int32_t order_count;
} sorter;

static void heap_push(sorter *s, itg_id node)
{
    int32_t at = s->heap_count++;
    while (at > 0 && s->heap[(at - 1) / 2] > node) {
        s->heap[at] = s->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    s->heap[at] = node;
}

static itg_id heap_pop(sorter *s)
{
    itg_id top = s->heap[0], last = s->heap[--s->heap_count];
    int32_t at = 0;
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= s->heap_count) break;
        if (child + 1 < s->heap_count && s->heap[child + 1] < s->heap[child]) child++;
        if (s->heap[child] >= last) break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = last;
    return top;
}

static bool allocate(sorter *s, itg_arena *arena)
{
    const itg_graph *g = s->g;
    size_t nodes = (size_t)g->node_count + 1, values = (size_t)g->value_count + 1, uses = 1;
    for (int32_t n = 0; n < g->node_count; ++n)
        uses += (size_t)g->nodes[n].input_count;
    s->live = itg_arena_array(arena, nodes, sizeof *s->live);
    s->named = itg_arena_array(arena, values, sizeof *s->named);
    s->missing = itg_arena_array(arena, nodes, sizeof *s->missing);
    s->first = itg_arena_array(arena, values + 1, sizeof *s->first);
    s->consumers = itg_arena_array(arena, uses, sizeof *s->consumers);
    s->heap = itg_arena_array(arena, nodes, sizeof *s->heap);
    s->order = itg_arena_array(arena, nodes, sizeof *s->order);
    return s->live && s->named && s->missing && s->first && s->consumers && s->heap && s->order;
}

/* Marks what the graph outputs depend on. `heap` serves as the stack; each node is pushed once. */
static void mark_live(sorter *s)
{
    const itg_graph *g = s->g;
    int32_t depth = 0;
    for (int32_t i = 0; i < g->input_count; ++i)
        s->named[g->inputs[i]] = true;
    for (int32_t i = 0; i < g->output_count; ++i) {
        itg_id producer = g->values[g->outputs[i]].producer;
        s->named[g->outputs[i]] = true;
        if (producer != ITG_NONE && !s->live[producer]) {
            s->live[producer] = true;
            s->heap[depth++] = producer;
        }
    }
    while (depth > 0) {
        const itg_node *n = &g->nodes[s->heap[--depth]];
        for (int32_t i = 0; i < n->output_count; ++i)
            if (n->outputs[i] != ITG_NONE) s->named[n->outputs[i]] = true;
        for (int32_t i = 0; i < n->input_count; ++i) {
            if (n->inputs[i] == ITG_NONE) continue;
            s->named[n->inputs[i]] = true;
            itg_id producer = g->values[n->inputs[i]].producer;
            if (producer == ITG_NONE || s->live[producer]) continue;
            s->live[producer] = true;
            s->heap[depth++] = producer;
        }
    }
}

static itg_status check_defined(const sorter *s, itg_error *err)
{
    const itg_graph *g = s->g;
    for (int32_t i = 0; i < g->output_count; ++i) {
        const itg_value *v = &g->values[g->outputs[i]];
        if (v->producer == ITG_NONE && !v->data && !v->is_input)
            return itg_fail(err, ITG_BAD_FILE, "%s: graph output '%s' is never produced", g->name,
                            v->name);
    }
    for (int32_t n = 0; n < g->node_count; ++n) {
        if (!s->live[n]) continue;
        for (int32_t i = 0; i < g->nodes[n].input_count; ++i) {
            itg_id id = g->nodes[n].inputs[i];
            if (id == ITG_NONE) continue;
            const itg_value *v = &g->values[id];
            if (v->producer == ITG_NONE && !v->data && !v->is_input)
                return itg_node_fail(g, n, err, ITG_BAD_FILE, "its input '%s' is never produced",
                                     v->name);
        }
    }
    return ITG_OK;
}

/* Lists the consumers of each value; missing[] counts inputs that come from live nodes. */
static void list_consumers(sorter *s)
{
    const itg_graph *g = s->g;
    for (int pass = 0; pass < 2; ++pass) {
        for (int32_t n = 0; n < g->node_count; ++n) {
            if (!s->live[n]) continue;
            for (int32_t i = 0; i < g->nodes[n].input_count; ++i) {
                itg_id id = g->nodes[n].inputs[i];
                if (id == ITG_NONE || g->values[id].producer == ITG_NONE) continue;
                if (pass == 0) {
                    s->missing[n]++;
                    s->first[id + 2]++;
                } else {
                    s->consumers[s->first[id + 1]++] = n;
                }
            }
        }
        if (pass == 0)
            for (int32_t v = 0; v < g->value_count; ++v)
                s->first[v + 1] += s->first[v];
    }
}

static void place_nodes(sorter *s)
{
    const itg_graph *g = s->g;
    for (int32_t n = 0; n < g->node_count; ++n)
        if (s->live[n] && s->missing[n] == 0) heap_push(s, n);
    while (s->heap_count > 0) {
        itg_id id = heap_pop(s);
        const itg_node *n = &g->nodes[id];
        s->order[s->order_count++] = id;
        for (int32_t i = 0; i < n->output_count; ++i) {
            if (n->outputs[i] == ITG_NONE) continue;
            for (int32_t c = s->first[n->outputs[i]]; c < s->first[n->outputs[i] + 1]; ++c)
                if (--s->missing[s->consumers[c]] == 0) heap_push(s, s->consumers[c]);
        }
    }
}

static itg_status check_placed(const sorter *s, itg_error *err)
{
    for (int32_t n = 0; n < s->g->node_count; ++n)
        if (s->live[n] && s->missing[n] > 0)
            return itg_node_fail(s->g, n, err, ITG_BAD_FILE,
                                 "it depends on its own output: a cycle");
    return ITG_OK;
}

/* Checks the counts of reads, which a pass breaks if it writes inputs directly. */
static itg_status check_reads(const itg_graph *g, itg_arena *arena, itg_error *err)
{
    int32_t *reads = itg_arena_array(arena, (size_t)g->value_count + 1, sizeof *reads);
    int64_t *readers = itg_arena_array(arena, (size_t)g->value_count + 1, sizeof *readers);
    if (!reads || !readers) return ITG_NO_MEMORY;
    for (itg_id n = 0; n < g->node_count; ++n)
        for (int32_t i = 0; i < g->nodes[n].input_count; ++i) {
            const itg_id value = g->nodes[n].inputs[i];
            if (value == ITG_NONE) continue;
            reads[value]++;
            readers[value] += n;
        }
    for (itg_id v = 0; v < g->value_count; ++v)
        if (reads[v] != g->values[v].reads || readers[v] != g->values[v].readers)
            return itg_fail(err, ITG_BAD_ARGUMENT, "%s: value '%s' has %d reads, but counts %d",
                            g->name, g->values[v].name, (int)reads[v], (int)g->values[v].reads);
    return ITG_OK;
}

/* Renumbers; new_value doubles as the map old id -> new id. Cannot fail. */
static void commit(itg_graph *g, const sorter *s, itg_node *nodes, itg_id *new_value)
{
    itg_id values = 0;
    for (itg_id v = 0; v < g->value_count; ++v) {
        new_value[v] = s->named[v] ? values : ITG_NONE;
        if (!s->named[v]) continue;
        g->values[values] = g->values[v];
        g->values[values].reads = 0;
        g->values[values].readers = 0;
        g->values[values++].producer = ITG_NONE;
    }
    for (itg_id n = 0; n < s->order_count; ++n) {
        nodes[n] = g->nodes[s->order[n]];
        for (int32_t i = 0; i < nodes[n].input_count; ++i) {
            if (nodes[n].inputs[i] != ITG_NONE) nodes[n].inputs[i] = new_value[nodes[n].inputs[i]];
            itg_graph_count_read(g, n, nodes[n].inputs[i], 1);
        }
        for (int32_t i = 0; i < nodes[n].output_count; ++i) {
            if (nodes[n].outputs[i] == ITG_NONE) continue;
            nodes[n].outputs[i] = new_value[nodes[n].outputs[i]];
            g->values[nodes[n].outputs[i]].producer = n;
            g->values[nodes[n].outputs[i]].producer_slot = i;
        }
    }
    if (s->order_count) memcpy(g->nodes, nodes, (size_t)s->order_count * sizeof *nodes);
    for (int32_t i = 0; i < g->input_count; ++i)
        g->inputs[i] = new_value[g->inputs[i]];
    for (int32_t i = 0; i < g->output_count; ++i)
        g->outputs[i] = new_value[g->outputs[i]];
    g->value_count = values;
    g->node_count = s->order_count;
    itg_graph_rename(g);
}

itg_status itg_graph_sort(itg_graph *g, itg_error *err)
{
    sorter s = {.g = g};
    itg_status status = ITG_NO_MEMORY;
    itg_arena *arena = itg_arena_create(0);
    if (!arena || !allocate(&s, arena)) goto cleanup;
    itg_node *nodes = itg_arena_array(arena, (size_t)g->node_count + 1, sizeof *nodes);
    itg_id *new_value = itg_arena_array(arena, (size_t)g->value_count + 1, sizeof *new_value);
    if (!nodes || !new_value) goto cleanup;
    status = check_reads(g, arena, err);
    if (status != ITG_OK) goto cleanup;
    mark_live(&s);
    status = check_defined(&s, err);
    if (status != ITG_OK) goto cleanup;
    list_consumers(&s);
    place_nodes(&s);
    status = check_placed(&s, err);
    if (status == ITG_OK) commit(g, &s, nodes, new_value);
cleanup:
    itg_arena_destroy(arena);
    return status == ITG_NO_MEMORY ? itg_graph_no_memory(g, err) : status;
}
