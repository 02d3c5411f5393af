/* Edges that must have the same quantizer: a union-find whose roots are the smallest edges. */
#include "hardware.h"

int32_t itg_tie_root(int32_t *parent, int32_t edge)
{
    while (parent[edge] != edge) {
        parent[edge] = parent[parent[edge]];
        edge = parent[edge];
    }
    return edge;
}

static void tie(int32_t *parent, int32_t a, int32_t b)
{
    a = itg_tie_root(parent, a);
    b = itg_tie_root(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

/* Returns the first input edge of a node that may be tied; -1: none. */
static int32_t anchor_of(const itg_ties *t, itg_id node)
{
    for (int32_t e = t->first[node]; e < t->first[node + 1]; e++)
        if (t->part[e]) return e;
    return -1;
}

/* Ties an edge to the producer of its value if that has form KEEP. */
static void tie_to_producer(const itg_ties *t, itg_id value, int32_t edge, int32_t *parent)
{
    itg_id producer = t->g->values[value].producer;
    if (!t->part[edge] || producer == ITG_NONE || t->of[producer] != ITG_TIE_ALL) return;
    int32_t anchor = anchor_of(t, producer);
    if (anchor >= 0) tie(parent, anchor, edge);
}

/* Ties an edge to the first one of a value that is the same in another step. */
static void tie_repeat(const itg_ties *t, itg_id value, int32_t edge, int32_t *parent)
{
    int32_t *first = &t->repeats[t->g->values[value].repeat];
    if (!t->part[edge] || first == t->repeats) return;
    if (*first > 0)
        tie(parent, *first - 1, edge);
    else
        *first = edge + 1;
}

void itg_tie_edges(const itg_ties *t, int32_t *parent)
{
    const itg_graph *g = t->g;
    int32_t e = 0, end = t->first[g->node_count] + g->output_count;
    for (int32_t i = 0; i < end; i++)
        parent[i] = i;
    for (itg_id n = 0; n < g->node_count; n++)
        for (int32_t slot = 0, anchor = anchor_of(t, n); slot < g->nodes[n].input_count; slot++) {
            itg_id value = g->nodes[n].inputs[slot];
            if (value == ITG_NONE) continue;
            if (t->part[e] && t->of[n] != ITG_TIE_NONE) tie(parent, anchor, e);
            tie_repeat(t, value, e, parent);
            tie_to_producer(t, value, e++, parent);
        }
    for (int32_t i = 0; i < g->output_count; i++)
        tie_to_producer(t, g->outputs[i], e++, parent);
}
