/* Networks are drawn from top to bottom, whatever their edges say. */
#include "tests/base/cmocka_base.h"
#include "report/graph.h"
#include <stdio.h>
#include <stdlib.h>

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text ? strstr(text, part) : NULL; at; at = strstr(at + 1, part))
        count++;
    return count;
}

static itg_drawn_edge join(int32_t from, int32_t to)
{
    return (itg_drawn_edge){from, to, "8 bits", "a -> b", false};
}

/* The y of a node's box. */
static double top_of(const char *page, const char *name)
{
    char words[64];
    snprintf(words, sizeof words, "<title>%s</title><rect x=", name);
    const char *at = strstr(page, words);
    assert_non_null(at);
    at = strstr(at, " y=\"");
    return atof(at + 4);
}

static void a_node_stands_below_what_it_reads(void **state)
{
    (void)state;
    const itg_drawn_node nodes[] = {{"Conv", "a", "9 bytes", "a"},
                                    {"Relu", "b", NULL, "b"},
                                    {"Add", "c<", NULL, "c"},
                                    {"input", "d", NULL, "d"}};
    const itg_drawn_edge edges[] = {join(0, 1), join(1, 2), join(0, 2)};
    itg_page page = {0};
    assert_true(itg_graph_draw(&page, &(itg_drawing){"it", nodes, edges, 4, 3}));
    const char *text = page.text.text;
    assert_true(top_of(text, "a") < top_of(text, "b") && top_of(text, "b") < top_of(text, "c"));
    assert_true(top_of(text, "d") == top_of(text, "a"));
    assert_int_equal(count_of(text, "<rect"), 4);
    assert_int_equal(count_of(text, "class=\"edge\""), 4); /* the long one in two pieces */
    assert_int_equal(count_of(text, ">8 bits<"), 3);
    assert_non_null(strstr(text, ">c&lt;<"));
    itg_page_deinit(&page);
}

static void edges_that_lead_nowhere_or_back_are_left_out(void **state)
{
    (void)state;
    const itg_drawn_node nodes[] = {{"A", "a", NULL, "a"}, {"B", "b", NULL, "b"}};
    const itg_drawn_edge edges[] = {join(1, 0), join(0, 0), join(-1, 1), join(0, 2), join(0, 1)};
    itg_page page = {0};
    assert_true(itg_graph_draw(&page, &(itg_drawing){"it", nodes, edges, 2, 5}));
    assert_int_equal(count_of(page.text.text, "class=\"edge\""), 1);
    itg_page_deinit(&page);
}

/* A chain, whose first node every other one reads too: the edges need more cells than there are. */
static void what_is_too_large_is_not_drawn(void **state)
{
    (void)state;
    enum { MANY = 401 };
    itg_drawn_node *nodes = calloc(MANY, sizeof *nodes);
    itg_drawn_edge *edges = calloc(2 * MANY, sizeof *edges);
    itg_page page = {0};
    for (int32_t i = 0; i < MANY; i++) {
        nodes[i] = (itg_drawn_node){"Add", "n", NULL, "n"};
        edges[2 * i] = join(i - 1, i);
        edges[2 * i + 1] = join(0, i);
    }
    assert_false(itg_graph_draw(&page, &(itg_drawing){"it", nodes, edges, 0, 0}));
    assert_false(itg_graph_draw(&page, &(itg_drawing){"it", nodes, edges, MANY, 0}));
    assert_false(itg_graph_draw(&page, &(itg_drawing){"it", nodes, edges, 300, 600}));
    assert_null(page.text.text);
    assert_true(itg_graph_draw(&page, &(itg_drawing){"it", nodes, edges, 50, 100}));
    itg_page_deinit(&page);
    free(nodes);
    free(edges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_stands_below_what_it_reads),
        cmocka_unit_test(edges_that_lead_nowhere_or_back_are_left_out),
        cmocka_unit_test(what_is_too_large_is_not_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
