/* Choice groups as dimensions: which there are, what points mean, what levels are worth. */
#include "wanted.h"
#include "network.h"
#include "search/measure.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/json.h"
#include "search/engine.h"

static itg_point_space *make(const small_network *n, const itg_search_options *o)
{
    itg_point_space *points = NULL;
    itg_error err = {0};
    if (itg_point_space_create(n->hw, n->model, o, &points, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return points;
}

static int count(const itg_point_space *p, bool ordered)
{
    int found = 0;
    for (int32_t d = 0; d < p->space.dim_count; d++)
        found += p->space.dims[d].ordered == ordered;
    return found;
}

static void groups_with_a_choice_are_dimensions(void **state)
{
    small_network n;
    (void)state;
    small_network_make(1, "cortex-m", 16, &n);
    itg_search_options o = ITG_SEARCH_OPTIONS_INIT;
    itg_point_space *p = make(&n, &o);
    int open = 0, weights = 0;
    for (int32_t i = 0; i < p->groups->group_count; i++) {
        open += p->groups->groups[i].bits_count > 1;
        weights += p->groups->groups[i].is_weight;
    }
    assert_int_equal(weights, 3);
    assert_int_equal(p->space.dim_count, open);
    itg_point_space_destroy(p);
    o.weight_bits = (itg_bits_range){8, 8}; /* nothing to choose among weights */
    p = make(&n, &o);
    assert_int_equal(p->space.dim_count, open - weights);
    for (int32_t d = 0; d < p->space.dim_count; d++)
        assert_false(p->groups->groups[p->dim_group[d]].is_weight);
    itg_point_space_destroy(p);
    small_network_end(&n);
}

static void methods_are_dimensions_but_for_graph_outputs(void **state)
{
    small_network n;
    (void)state;
    small_network_make(1, "cortex-m", 16, &n);
    itg_search_options o = {
        ITG_SEARCH_OPTIONS_VERSION, .weight_methods.values = {ITG_THRESHOLD_KL, ITG_THRESHOLD_MAX},
        .weight_methods.count = 2, .activation_methods.values = {ITG_THRESHOLD_AVG},
        .activation_methods.count = 1};
    itg_point_space *p = make(&n, &o);
    int bits = count(p, true);
    assert_int_equal(count(p, false), 3);
    itg_point_space_destroy(p);
    o.activation_methods.values[1] = ITG_THRESHOLD_MSE;
    o.activation_methods.values[2] = ITG_THRESHOLD_POWER2;
    o.activation_methods.count = 3;
    p = make(&n, &o);
    int outputs = 0;
    for (int32_t i = 0; i < p->groups->group_count; i++)
        outputs += p->groups->groups[i].is_graph_output && p->groups->groups[i].edge_count == 1;
    assert_int_equal(outputs, 1);
    assert_int_equal(count(p, false), p->groups->group_count - outputs);
    assert_int_equal(count(p, true), bits);
    for (int32_t d = 1; d < p->space.dim_count; d++) /* widths first */
        assert_true(p->dims[d - 1].ordered || !p->dims[d].ordered);
    itg_point_space_destroy(p);
    small_network_end(&n);
}

/* The default first, then an order of their own. */
static void methods_have_one_order_however_they_are_named(void **state)
{
    static const itg_threshold_method orders[][3] = {
        {ITG_THRESHOLD_MSE, ITG_THRESHOLD_MAX, ITG_THRESHOLD_KL},
        {ITG_THRESHOLD_KL, ITG_THRESHOLD_MAX, ITG_THRESHOLD_MSE},
        {ITG_THRESHOLD_MAX, ITG_THRESHOLD_MSE, ITG_THRESHOLD_KL}};
    small_network n;
    (void)state;
    small_network_make(1, "cortex-m", 16, &n);
    for (int i = 0; i < 3; i++) {
        itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION, .weight_methods.count = 3};
        memcpy(o.weight_methods.values, orders[i], sizeof orders[i]);
        itg_point_space *p = make(&n, &o);
        assert_memory_equal(p->weight_methods, orders[0] /* mse */, sizeof(itg_threshold_method));
        assert_true(p->weight_methods[1] == ITG_THRESHOLD_MAX);
        assert_true(p->weight_methods[2] == ITG_THRESHOLD_KL);
        itg_point_space_destroy(p);
    }
    small_network_end(&n);
}

static void a_point_gives_bits_and_methods_to_groups(void **state)
{
    small_network n;
    (void)state;
    small_network_make(1, "cortex-m", 16, &n);
    itg_search_options o = {
        ITG_SEARCH_OPTIONS_VERSION, .weight_methods.values = {ITG_THRESHOLD_KL, ITG_THRESHOLD_MAX},
        .weight_methods.count = 2, .activation_methods.values = {ITG_THRESHOLD_AVG},
        .activation_methods.count = 1};
    itg_point_space *p = make(&n, &o);
    int32_t point[64], bits[64], passed_over[64];
    itg_threshold_method methods[64];
    assert_true(p->space.dim_count <= 64 && p->groups->group_count <= 64);
    itg_point_space_corner(p, true, point);
    itg_point_space_apply(p, point, bits, methods, passed_over);
    for (int32_t i = 0; i < p->groups->group_count; i++) {
        const itg_choice_group *g = &p->groups->groups[i];
        assert_int_equal(bits[i], g->bits[0]);
        assert_int_equal(methods[i], g->is_weight ? ITG_THRESHOLD_MAX : ITG_THRESHOLD_AVG);
    }
    for (int32_t d = 0; d < p->space.dim_count; d++) {
        int32_t group = p->dim_group[d];
        itg_point_space_corner(p, true, point);
        point[d] = p->dims[d].values[p->dims[d].count - 1];
        itg_point_space_apply(p, point, bits, methods, passed_over);
        for (int32_t i = 0; i < p->groups->group_count; i++) {
            const itg_choice_group *g = &p->groups->groups[i];
            bool mine = i == group;
            assert_int_equal(bits[i],
                             mine && p->dims[d].ordered ? g->bits[g->bits_count - 1] : g->bits[0]);
            assert_int_equal(methods[i], !g->is_weight                 ? ITG_THRESHOLD_AVG
                                         : mine && !p->dims[d].ordered ? ITG_THRESHOLD_KL
                                                                       : ITG_THRESHOLD_MAX);
        }
    }
    itg_point_space_destroy(p);
    small_network_end(&n);
}

static void ranges_of_inputs_and_outputs_are_their_own(void **state)
{
    small_network n;
    (void)state;
    small_network_make(1, "cortex-m", 16, &n);
    itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION, .activation_bits = {5, 8},
                            .input_bits = {7, 8}, .output_bits = {4, 6}, .weight_bits = {3, 4}};
    itg_point_space *p = make(&n, &o);
    int inputs = 0, outputs = 0, others = 0;
    for (int32_t d = 0; d < p->space.dim_count; d++) {
        const itg_choice_group *g = &p->groups->groups[p->dim_group[d]];
        int32_t low = p->dims[d].values[0], high = p->dims[d].values[p->dims[d].count - 1];
        if (g->is_weight) {
            assert_true(low == 3 && high == 4);
        } else if (g->is_graph_input) {
            assert_true(low == 7 && high == 8);
            inputs++;
        } else if (g->is_graph_output) {
            assert_true(low == 4 && high == 6);
            outputs++;
        } else {
            assert_true(low == 5 && high == 8);
            others++;
        }
    }
    assert_true(inputs == 1 && outputs == 1 && others > 0);
    itg_point_space_destroy(p);
    small_network_end(&n);
}

static void the_text_is_json_in_the_order_of_points(void **state)
{
    small_network n;
    itg_json *json = NULL;
    char *text = NULL;
    itg_error err = {0};
    (void)state;
    small_network_make(1, "cortex-m", 16, &n);
    itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION,
                            .weight_methods.values = {ITG_THRESHOLD_KL, ITG_THRESHOLD_MAX},
                            .weight_methods.count = 2};
    itg_point_space *p = make(&n, &o);
    assert_int_equal(itg_search_space_text(n.model, n.hw, &o, &text, &err), ITG_OK);
    if (itg_json_parse(text, strlen(text), "space", &json, &err) != ITG_OK)
        fail_msg("%s", err.message);
    const itg_json_value *root = itg_json_root(json);
    assert_int_equal(itg_json_length(root), p->space.dim_count);
    for (int32_t d = 0; d < p->space.dim_count; d++) {
        const itg_json_value *at = itg_json_at(root, (size_t)d), *values = NULL;
        const char *kind = NULL, *edge = NULL;
        int64_t first = 0;
        assert_int_equal(itg_json_get_string(json, itg_json_find(at, "kind"), &kind, &err), ITG_OK);
        assert_string_equal(kind, p->dims[d].ordered ? "bits" : "threshold");
        values = itg_json_find(at, "values");
        assert_int_equal(itg_json_length(values), p->dims[d].count);
        if (p->dims[d].ordered) {
            assert_int_equal(itg_json_get_int(json, itg_json_at(values, 0), 0, 32, &first, &err),
                             ITG_OK);
            assert_int_equal(first, p->dims[d].values[0]);
        }
        const itg_json_value *edges = itg_json_find(at, "edges");
        assert_int_equal(itg_json_length(edges), p->groups->groups[p->dim_group[d]].edge_count);
        assert_int_equal(itg_json_get_string(json, itg_json_at(edges, 0), &edge, &err), ITG_OK);
        assert_non_null(strstr(edge, " -> "));
    }
    assert_non_null(strstr(text, "\"x -> "));
    assert_non_null(strstr(text, " -> output.0\""));
    assert_non_null(strstr(text, "[\"max\", \"kl\"]"));
    itg_json_destroy(json);
    itg_free(text);
    itg_point_space_destroy(p);
    small_network_end(&n);
}

/* ---- what levels are worth ---- */

typedef struct measured {
    small_network n;
    itg_stats *stats;
    itg_evaluator evaluator;
} measured;

static void measured_make(const char *target, const itg_search_options *o, measured *m)
{
    *m = (measured){.stats = NULL};
    small_network_make(1, target, 16, &m->n);
    assert_int_equal(
        itg_calibrate_model(m->n.model, m->n.data, &m->n.preprocess, 1, &m->stats, NULL), ITG_OK);
    m->evaluator = (itg_evaluator){.model = m->n.model,
                                   .hw = m->n.hw,
                                   .preprocess = &m->n.preprocess,
                                   .points = make(&m->n, o)};
    assert_int_equal(itg_threshold_cache_create(m->n.model, m->n.hw, m->evaluator.points->groups,
                                                m->stats, &m->evaluator.cache, NULL),
                     ITG_OK);
}

static void measured_end(measured *m)
{
    itg_threshold_cache_destroy(m->evaluator.cache);
    itg_point_space_destroy(m->evaluator.points);
    itg_stats_destroy(m->stats);
    small_network_end(&m->n);
}

static void measure(measured *m, itg_goal goal)
{
    itg_objective o;
    itg_score floats = {
        .value = {
            [ITG_METRIC_TOP1] = 1, [ITG_METRIC_EXPECTED_TOP1] = 1, [ITG_METRIC_TOP1_BOUND] = 1}};
    bool varies = false;
    assert_int_equal(itg_objective_make(&goal, &floats, &m->evaluator.points->space, &o, NULL),
                     ITG_OK);
    assert_int_equal(itg_measure_levels(&m->evaluator, &o, 2, &varies, NULL), ITG_OK);
    assert_true(varies);
}

static void a_level_is_worth_the_bytes_of_one_bit(void **state)
{
    measured m;
    (void)state;
    measured_make("cortex-m", &(itg_search_options)ITG_SEARCH_OPTIONS_INIT, &m);
    measure(&m, goal_of((aim){.minimize = ITG_METRIC_WEIGHT_BYTES}));
    for (int32_t d = 0; d < m.evaluator.points->space.dim_count; d++) {
        const itg_choice_group *g =
            &m.evaluator.points->groups->groups[m.evaluator.points->dim_group[d]];
        double wanted = g->is_weight ? (double)g->weight_elements / 8 : 0;
        assert_true(m.evaluator.points->dims[d].cost_per_level == wanted);
    }
    measured_end(&m);
}

static void bit_operations_count_both_operands(void **state)
{
    measured m;
    (void)state;
    measured_make("cortex-m", &(itg_search_options)ITG_SEARCH_OPTIONS_INIT, &m);
    measure(&m, goal_of((aim){.minimize = ITG_METRIC_BOPS}));
    double sum_weights = 0;
    for (int32_t d = 0; d < m.evaluator.points->space.dim_count; d++)
        if (m.evaluator.points->groups->groups[m.evaluator.points->dim_group[d]].is_weight)
            sum_weights += m.evaluator.points->dims[d].cost_per_level;
    /* One bit less of all weights at activations of 8 bits: 8 * MACs. */
    assert_true(sum_weights == 8.0 * (72 * 36 + 144 * 36 + 80));
    measured_end(&m);
}

static void limits_that_are_exceeded_make_levels_count(void **state)
{
    measured m;
    int counted = 0;
    (void)state;
    measured_make("cortex-m",
                  &(itg_search_options){ITG_SEARCH_OPTIONS_VERSION, .activation_bits = {4, 16}},
                  &m);
    const itg_point_space *p = m.evaluator.points;
    measure(&m, goal_of((aim){.minimize = ITG_METRIC_WEIGHT_BYTES, .limits = {0, 0, 0, 1e9}}));
    for (int32_t d = 0; d < p->space.dim_count; d++)
        if (!p->groups->groups[p->dim_group[d]].is_weight)
            assert_true(p->dims[d].cost_per_level == 0); /* met by every point */
    /* Activations cost no weight bytes, but bit operations, and these are limited. */
    measure(&m, goal_of((aim){.minimize = ITG_METRIC_WEIGHT_BYTES, .limits = {0, 1000, 0, 0}}));
    for (int32_t d = 0; d < p->space.dim_count; d++)
        if (!p->groups->groups[p->dim_group[d]].is_weight) counted += p->dims[d].cost_per_level > 0;
    assert_int_equal(counted, 3); /* what convolutions and Gemm read */
    measure(&m, goal_of((aim){.maximize_quality = true, .limits = {1e9, 0, 0, 0}}));
    for (int32_t d = 0; d < p->space.dim_count; d++)
        assert_true(p->dims[d].cost_per_level == 0);
    measured_end(&m);
}

/* ---- patterns ---- */

static const char *first_value(const itg_point_space *p, int32_t group)
{
    return p->graph->values[p->groups->edges[p->groups->groups[group].edges[0]].value].name;
}

static int32_t a_weight(const itg_point_space *p)
{
    int32_t i = 0;
    while (!p->groups->groups[i].is_weight)
        i++;
    return i;
}

static int32_t dim_of(const itg_point_space *p, int32_t group, bool ordered)
{
    for (int32_t d = 0; d < p->space.dim_count; d++)
        if (p->dim_group[d] == group && p->dims[d].ordered == ordered) return d;
    return -1;
}

static void patterns_say_which_groups_have_dimensions(void **state)
{
    small_network n;
    itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION,
                            .weight_methods.values = {ITG_THRESHOLD_KL, ITG_THRESHOLD_MAX},
                            .weight_methods.count = 2};
    (void)state;
    small_network_make(1, "cortex-m", 16, &n);
    itg_point_space *all = make(&n, &o);
    int32_t w = a_weight(all), dims = all->space.dim_count;
    int32_t widest = all->groups->groups[w].bits[all->groups->groups[w].bits_count - 1];
    char name[64];
    snprintf(name, sizeof name, "%s", first_value(all, w));
    snprintf(o.only, sizeof o.only, "%s", name);
    itg_point_space *p = make(&n, &o);
    assert_int_equal(p->space.dim_count, 2); /* its width, and its method */
    assert_true(p->dim_group[0] == w && p->dim_group[1] == w && p->dims[0].method == 2);
    itg_point_space_destroy(p);
    snprintf(o.skip, sizeof o.skip, "%s", name); /* both: skip wins */
    p = make(&n, &o);
    assert_int_equal(p->space.dim_count, 0);
    itg_point_space_destroy(p);
    *o.only = '\0';
    p = make(&n, &o);
    assert_int_equal(p->space.dim_count, dims - 2);
    assert_int_equal(dim_of(p, w, true), -1);
    assert_true(p->groups->groups[w].bits_count == 1 && p->groups->groups[w].bits[0] == widest);
    itg_point_space_destroy(p);
    *o.skip = '\0';
    snprintf(o.fix, sizeof o.fix, "%s=%d", name, (int)widest - 1);
    p = make(&n, &o);
    assert_int_equal(dim_of(p, w, true), -1);
    assert_true(dim_of(p, w, false) >= 0); /* the method may still be chosen */
    assert_int_equal(p->groups->groups[w].bits[0], widest - 1);
    itg_point_space_destroy(p);
    itg_point_space_destroy(all);
    small_network_end(&n);
}

static void a_pattern_matches_values_nodes_and_edges(void **state)
{
    small_network n;
    char texts[3][64];
    (void)state;
    small_network_make(1, "cortex-m", 16, &n);
    itg_search_options o = ITG_SEARCH_OPTIONS_INIT;
    itg_point_space *all = make(&n, &o);
    int32_t w = a_weight(all);
    const itg_edge_ref *edge = &all->groups->edges[all->groups->groups[w].edges[0]];
    const char *node = n.model->nodes[edge->node].name;
    snprintf(texts[0], sizeof texts[0], "?*%s", first_value(all, w) + 1);
    snprintf(texts[1], sizeof texts[1], "%s", node);
    snprintf(texts[2], sizeof texts[2], "* -> %s.1", node);
    for (int i = 0; i < 3; i++) {
        snprintf(o.only, sizeof o.only, "%s", texts[i]);
        itg_point_space *p = make(&n, &o);
        assert_true(dim_of(p, w, true) >= 0);
        assert_in_range(p->space.dim_count, 1, i == 1 ? all->space.dim_count - 1 : 1);
        itg_point_space_destroy(p);
    }
    itg_point_space_destroy(all);
    small_network_end(&n);
}

static void patterns_that_do_nothing_are_refused(void **state)
{
    small_network n;
    (void)state;
    small_network_make(1, "cortex-m", 16, &n);
    itg_search_options o = ITG_SEARCH_OPTIONS_INIT;
    itg_point_space *all = make(&n, &o), *p = NULL;
    char name[64], said[256];
    snprintf(name, sizeof name, "%s", first_value(all, a_weight(all)));
    itg_point_space_destroy(all);
    snprintf(said, sizeof said,
             "'%sx' matches no node, value or edge whose width can be chosen; "
             "did you mean '%s'?",
             name, name);
    const struct {
        const char *only, *fix, *suffix, *said;
    } cases[] = {
        {name, NULL, "x", said},
        {"*", NULL, ",", NULL}, /* a comma at the end ends the list */
        {"*,", NULL, ",*", "expected patterns of 1 to"},
        {NULL, name, "", "expected PATTERN=BITS"},
        {NULL, name, "=0", "expected PATTERN=BITS, 1 to 32 bits"},
        {NULL, name, "=4x", "expected PATTERN=BITS"},
        {NULL, name, "=31", "bits"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_error err = {0};
        *o.only = *o.fix = '\0';
        if (cases[i].only) snprintf(o.only, sizeof o.only, "%s%s", cases[i].only, cases[i].suffix);
        if (cases[i].fix) snprintf(o.fix, sizeof o.fix, "%s%s", cases[i].fix, cases[i].suffix);
        itg_status status = itg_point_space_create(n.hw, n.model, &o, &p, &err);
        if (status == ITG_OK) itg_point_space_destroy(p);
        assert_int_equal(status, cases[i].said ? ITG_BAD_ARGUMENT : ITG_OK);
        if (cases[i].said && !strstr(err.message, cases[i].said)) fail_msg("%s", err.message);
    }
    small_network_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_with_a_choice_are_dimensions),
        cmocka_unit_test(methods_are_dimensions_but_for_graph_outputs),
        cmocka_unit_test(a_point_gives_bits_and_methods_to_groups),
        cmocka_unit_test(methods_have_one_order_however_they_are_named),
        cmocka_unit_test(ranges_of_inputs_and_outputs_are_their_own),
        cmocka_unit_test(the_text_is_json_in_the_order_of_points),
        cmocka_unit_test(a_level_is_worth_the_bytes_of_one_bit),
        cmocka_unit_test(bit_operations_count_both_operands),
        cmocka_unit_test(patterns_say_which_groups_have_dimensions),
        cmocka_unit_test(a_pattern_matches_values_nodes_and_edges),
        cmocka_unit_test(patterns_that_do_nothing_are_refused),
        cmocka_unit_test(limits_that_are_exceeded_make_levels_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
