/* Names of values and nodes. A table holds ids; the names stay where they are, in the values and
 * nodes themselves. */
#include "internal.h"
#include <string.h>

const char *itg_value_name_of(const itg_graph *g, itg_id id)
{
    return g->values[id].name;
}

const char *itg_node_name_of(const itg_graph *g, itg_id id)
{
    return g->nodes[id].name;
}

/* FNV-1a, folded to 32 bits. */
static uint32_t hash_name(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; ++name)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return (uint32_t)(hash ^ (hash >> 32));
}

itg_id itg_name_find(const itg_graph *g, const itg_name_table *table, itg_name_of name_of,
                     const char *name)
{
    if (table->capacity == 0) return ITG_NONE;
    uint32_t mask = table->capacity - 1;
    for (uint32_t at = hash_name(name) & mask; table->slots[at]; at = (at + 1) & mask) {
        itg_id id = table->slots[at] - 1;
        if (strcmp(name_of(g, id), name) == 0) return id;
    }
    return ITG_NONE;
}

static void insert(itg_name_table *table, const char *name, itg_id id)
{
    uint32_t mask = table->capacity - 1, at = hash_name(name) & mask;
    while (table->slots[at])
        at = (at + 1) & mask;
    table->slots[at] = id + 1;
    table->count++;
}

bool itg_name_reserve(itg_graph *g, itg_name_table *table, itg_name_of name_of)
{
    if (2 * (table->count + 1) <= table->capacity) return true;
    if (table->capacity > UINT32_MAX / 4) return false;
    itg_name_table larger = {0};
    larger.capacity = table->capacity ? 2 * table->capacity : 64;
    larger.slots = itg_arena_array(g->arena, larger.capacity, sizeof *larger.slots);
    if (!larger.slots) return false;
    for (uint32_t i = 0; i < table->capacity; ++i)
        if (table->slots[i]) insert(&larger, name_of(g, table->slots[i] - 1), table->slots[i] - 1);
    *table = larger;
    return true;
}

void itg_name_insert(const itg_graph *g, itg_name_table *table, itg_name_of name_of, itg_id id)
{
    insert(table, name_of(g, id), id);
}

void itg_name_rebuild(const itg_graph *g, itg_name_table *table, itg_name_of name_of, itg_id count)
{
    if (table->capacity) memset(table->slots, 0, table->capacity * sizeof *table->slots);
    table->count = 0;
    for (itg_id id = 0; id < count; ++id)
        insert(table, name_of(g, id), id);
}

static const char *fresh_name(itg_graph *g, const itg_name_table *table, itg_name_of name_of,
                              const char *base, const char *suffix)
{
    const char *name = itg_arena_format(g->arena, "%s/%s", base, suffix);
    for (int i = 2; name && itg_name_find(g, table, name_of, name) != ITG_NONE; ++i)
        name = itg_arena_format(g->arena, "%s/%s_%d", base, suffix, i);
    return name;
}

const char *itg_fresh_value_name(itg_graph *g, const char *base, const char *suffix)
{
    return fresh_name(g, g->value_names, itg_value_name_of, base, suffix);
}

const char *itg_fresh_node_name(itg_graph *g, const char *base, const char *suffix)
{
    return fresh_name(g, g->node_names, itg_node_name_of, base, suffix);
}

itg_id itg_graph_find_value(const itg_graph *g, const char *name)
{
    return itg_name_find(g, g->value_names, itg_value_name_of, name);
}

itg_id itg_graph_find_node(const itg_graph *g, const char *name)
{
    return itg_name_find(g, g->node_names, itg_node_name_of, name);
}
