#include "search/nearby.h"

/* The readers of each value, and marks of what was counted already. */
typedef struct readers {
    const itg_graph *g;
    int32_t *first; /* [values + 1] */
    itg_id *nodes;  /* first[v] to first[v + 1] - 1 */
    int32_t *mark;  /* [nodes]: the last set that the node was added to */
} readers;

static bool find_readers(const itg_graph *g, itg_arena *scratch, readers *r)
{
    int32_t count = 0;
    for (itg_id n = 0; n < g->node_count; n++)
        count += g->nodes[n].input_count;
    r->g = g;
    r->first = itg_arena_array(scratch, (size_t)g->value_count + 2, sizeof *r->first);
    r->nodes = itg_arena_array(scratch, (size_t)count + 1, sizeof *r->nodes);
    r->mark = itg_arena_array(scratch, (size_t)g->node_count + 1, sizeof *r->mark);
    if (!r->first || !r->nodes || !r->mark) return false;
    int32_t *next = r->first + 1; /* moves to its place as it is used */
    for (itg_id v = 0, sum = 0; v < g->value_count; sum += g->values[v++].reads)
        next[v] = sum;
    for (itg_id n = 0; n < g->node_count; n++)
        for (int32_t i = 0; i < g->nodes[n].input_count; i++)
            if (g->nodes[n].inputs[i] != ITG_NONE) r->nodes[next[g->nodes[n].inputs[i]]++] = n;
    return true;
}

/* ---- the nodes of a set ---- */

typedef struct node_set {
    readers *readers;
    int32_t number; /* of its own, above 0 */
    int32_t *nodes; /* NULL: they are counted only */
    int32_t count;
} node_set;

static void add(node_set *set, itg_id node)
{
    if (node == ITG_NONE || set->readers->mark[node] == set->number) return;
    set->readers->mark[node] = set->number;
    if (set->nodes) set->nodes[set->count] = node;
    set->count++;
}

static void add_readers(node_set *set, itg_id value)
{
    const readers *r = set->readers;
    for (int32_t i = r->first[value]; i < r->first[value + 1]; i++)
        add(set, r->nodes[i]);
}

/* Adds a node that computes or reads a value of the group, and those beside it. */
static void add_with_neighbours(node_set *set, itg_id node)
{
    if (node == ITG_NONE) return;
    const itg_node *n = &set->readers->g->nodes[node];
    add(set, node);
    for (int32_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] != ITG_NONE) add(set, set->readers->g->values[n->inputs[i]].producer);
    for (int32_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] != ITG_NONE) add_readers(set, n->outputs[i]);
}

/* The edges of each group: edges first[g] to first[g + 1] - 1. */
typedef struct members {
    int32_t *first, *edges;
} members;

static bool find_members(const itg_choice_space *groups, itg_arena *scratch, members *m)
{
    m->first = itg_arena_array(scratch, (size_t)groups->group_count + 2, sizeof *m->first);
    m->edges = itg_arena_array(scratch, (size_t)groups->edge_count + 1, sizeof *m->edges);
    if (!m->first || !m->edges) return false;
    int32_t *next = m->first + 1;
    for (int32_t e = 0; e < groups->edge_count; e++)
        if (groups->edge_group[e] >= 0 && groups->edge_group[e] + 1 < groups->group_count)
            next[groups->edge_group[e] + 1]++;
    for (int32_t g = 1; g < groups->group_count; g++)
        next[g] += next[g - 1];
    for (int32_t e = 0; e < groups->edge_count; e++)
        if (groups->edge_group[e] >= 0) m->edges[next[groups->edge_group[e]]++] = e;
    return true;
}

static void add_group(node_set *set, const itg_choice_space *groups, const members *m, int32_t g)
{
    for (int32_t i = m->first[g]; i < m->first[g + 1]; i++) {
        const itg_edge_ref *edge = &groups->edges[m->edges[i]];
        add_with_neighbours(set, edge->node);
        add_with_neighbours(set, set->readers->g->values[edge->value].producer);
    }
}

static bool find_nodes(const itg_point_space *points, itg_arena *arena, itg_arena *scratch,
                       itg_nearby *out)
{
    readers r;
    members m;
    if (!find_readers(points->graph, scratch, &r) || !find_members(points->groups, scratch, &m))
        return false;
    out->first = itg_arena_array(arena, (size_t)out->dim_count + 1, sizeof *out->first);
    if (!out->first) return false;
    for (int pass = 0; pass < 2; pass++) {
        node_set set = {.readers = &r, .number = pass * out->dim_count, .nodes = out->nodes};
        for (int32_t d = 0; d < out->dim_count; d++) {
            set.number++;
            out->first[d] = set.count;
            if (points->dims[d].ordered) add_group(&set, points->groups, &m, points->dim_group[d]);
        }
        out->first[out->dim_count] = set.count;
        if (pass == 0) out->nodes = itg_arena_array(arena, (size_t)set.count + 1, sizeof(int32_t));
        if (!out->nodes) return false;
    }
    return true;
}

/* ---- widths that share no node ---- */

/* Takes the dimension into the group with this number, if none of its nodes is in it yet. */
static bool take(const itg_nearby *near, int32_t d, int32_t number, int32_t *taken)
{
    for (int32_t k = near->first[d]; k < near->first[d + 1]; k++)
        if (taken[near->nodes[k]] == number) return false;
    for (int32_t k = near->first[d]; k < near->first[d + 1]; k++)
        taken[near->nodes[k]] = number;
    return true;
}

/* Each group takes, of the dimensions that are left, those that fit. */
static bool find_groups(const itg_point_space *points, itg_arena *arena, itg_arena *scratch,
                        itg_nearby *out)
{
    const size_t count = (size_t)out->dim_count + 1;
    int32_t *left = itg_arena_array(scratch, count, sizeof *left), left_count = 0;
    int32_t *taken = itg_arena_array(scratch, (size_t)out->node_count + 1, sizeof *taken);
    out->group_first = itg_arena_array(arena, count, sizeof *out->group_first);
    out->dims = itg_arena_array(arena, count, sizeof *out->dims);
    if (!left || !taken || !out->group_first || !out->dims) return false;
    for (int32_t d = 0; d < out->dim_count; d++)
        if (points->dims[d].ordered) left[left_count++] = d;
    int32_t placed = 0;
    while (left_count > 0) {
        int32_t kept = 0;
        for (int32_t i = 0; i < left_count; i++) {
            if (take(out, left[i], out->group_count + 1, taken))
                out->dims[placed++] = left[i];
            else
                left[kept++] = left[i];
        }
        left_count = kept;
        out->group_first[++out->group_count] = placed;
    }
    return true;
}

itg_status itg_nearby_create(const itg_point_space *points, itg_nearby **out, itg_error *err)
{
    itg_arena *arena = itg_arena_create(0), *scratch = itg_arena_create(0);
    itg_nearby *near = arena ? itg_arena_alloc(arena, sizeof *near) : NULL;
    bool ok = near && scratch;
    if (ok) {
        *near = (itg_nearby){.arena = arena,
                             .node_count = points->graph->node_count,
                             .dim_count = points->space.dim_count};
        ok = find_nodes(points, arena, scratch, near) && find_groups(points, arena, scratch, near);
    }
    itg_arena_destroy(scratch);
    if (!ok) {
        itg_arena_destroy(arena);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the choice space");
    }
    *out = near;
    return ITG_OK;
}

void itg_nearby_destroy(itg_nearby *nearby)
{
    if (nearby) itg_arena_destroy(nearby->arena);
}
