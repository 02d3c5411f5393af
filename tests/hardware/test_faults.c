/* The nth allocation fails, for every n until none does: the status says so, outputs stay
 * untouched, nothing leaks (the sanitizer's business). */
#include "helpers.h"
#include <stdlib.h>
#include "tests/faults.h"

/* Runs `attempt` with the nth allocation failing until it gets through; at least `least`
 * allocations must have been tried. */
static void try_all(itg_status (*attempt)(void *), void *context, int least)
{
    for (int n = 0;; n++) {
        calls_left = n;
        itg_status status = attempt(context);
        bool spared = calls_left >= 0;
        calls_left = -1;
        if (spared) {
            assert_int_equal(status, ITG_OK);
            assert_true(n >= least);
            return;
        }
        assert_int_equal(status, ITG_NO_MEMORY);
    }
}

static itg_status attempt_parse(void *context)
{
    itg_hardware *hw = context;
    itg_error err = {0};
    itg_status status = itg_hardware_parse(chip, strlen(chip), "chip.json", &hw, &err);
    if (status == ITG_OK)
        itg_hardware_destroy(hw);
    else if (hw != context)
        return ITG_FAILURE;
    return status;
}

static void parsing_survives_every_failed_allocation(void **state)
{
    (void)state;
    int any;
    try_all(attempt_parse, &any, 5);
}

static itg_status attempt_schema(void *context)
{
    char *text = context;
    itg_status status = itg_hardware_schema_text(&text, NULL);
    if (status == ITG_OK)
        free(text);
    else if (text != context)
        return ITG_FAILURE;
    return status;
}

static void the_schema_survives_every_failed_allocation(void **state)
{
    (void)state;
    int any;
    try_all(attempt_schema, &any, 5);
}

typedef struct model {
    itg_hardware *hw;
    itg_graph *g;
    itg_annotated a;
} model;

static itg_status attempt_space(void *context)
{
    model *m = context;
    itg_choice_space *space = NULL;
    itg_status status = itg_choice_space_create(m->hw, m->g, NULL, &space, NULL);
    itg_choice_space_destroy(space);
    return status;
}

static itg_status attempt_cost(void *context)
{
    model *m = context;
    itg_cost cost = {7, 7, 7, 7};
    itg_status status = itg_cost_of(m->hw, &m->a, &cost);
    return status != ITG_OK && cost.bops != 7 ? ITG_FAILURE : status;
}

static void space_and_cost_survive_every_failed_allocation(void **state)
{
    (void)state;
    model m = {.hw = load("cortex-m"), .g = make_chain()};
    try_all(attempt_space, &m, 3);
    m.a = (itg_annotated){.arena = itg_arena_create(0), .graph = m.g};
    m.a.nodes = itg_arena_array(m.a.arena, (size_t)m.g->node_count, sizeof *m.a.nodes);
    m.a.values = itg_arena_array(m.a.arena, (size_t)m.g->value_count, sizeof *m.a.values);
    m.a.edge_of_node = itg_arena_array(m.a.arena, (size_t)m.g->node_count + 1, sizeof(int32_t));
    m.a.edges = itg_arena_array(m.a.arena, 64, sizeof *m.a.edges);
    for (itg_id n = 0; n <= m.g->node_count; n++) {
        bool node = n < m.g->node_count;
        int32_t count = node ? m.g->nodes[n].input_count : m.g->output_count;
        m.a.edge_of_node[n] = m.a.edge_count;
        assert_true(m.a.edge_count + count <= 64);
        for (int32_t i = 0; i < count; i++)
            m.a.edges[m.a.edge_count++] =
                (itg_edge){node ? m.g->nodes[n].inputs[i] : m.g->outputs[i], node ? n : ITG_NONE, i,
                           ITG_EDGE_FLOAT, 0};
    }
    for (itg_id v = 0; v < m.g->value_count; v++) {
        m.a.values[v].encoding_count = 1;
        m.a.values[v].encodings = itg_arena_array(m.a.arena, 1, sizeof(itg_encoding));
        m.a.values[v].encodings[0].is_float = true;
    }
    try_all(attempt_cost, &m, 2);
    itg_arena_destroy(m.a.arena);
    itg_graph_destroy(m.g);
    itg_hardware_destroy(m.hw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parsing_survives_every_failed_allocation),
        cmocka_unit_test(the_schema_survives_every_failed_allocation),
        cmocka_unit_test(space_and_cost_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
