/* Choices other than widths, where a description has them: dtypes and specs for the same widths,
 * accumulators, float. Whether what they give runs alike everywhere is test_agreement's. */
#include "wanted.h"
#include "network.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "realize/realize.h"
#include "search/sums.h"

/* Two dtypes for each activation, and for a Conv an accumulator of 18 bits, one of 32, and one of
 * 32 with one scale for all channels. Float is allowed. */
#define CHOICES "tests/independent/hardware/choices.json"
enum { MOST = 64 };

static itg_point_space *make(const small_network *n, const itg_search_options *o)
{
    itg_point_space *points = NULL;
    itg_error err = {0};
    if (itg_point_space_create(n->hw, n->model, o, &points, &err) != ITG_OK)
        fail_msg("%s", err.message);
    assert_true(points->space.dim_count <= MOST && points->groups->group_count <= MOST);
    return points;
}

/* The first or the next group of weights of an operator. */
static int32_t weights_of(const itg_point_space *p, itg_op op, int32_t from)
{
    for (int32_t i = from; i < p->groups->group_count; i++) {
        const itg_choice_group *g = &p->groups->groups[i];
        const itg_edge_ref *edge = &p->groups->edges[g->edges[0]];
        if (g->is_weight && p->graph->nodes[edge->node].op == op) return i;
    }
    fail_msg("no weights");
    return -1;
}

static int32_t dim_of(const itg_point_space *p, int32_t group, bool ordered)
{
    for (int32_t d = 0; d < p->space.dim_count; d++)
        if (p->dim_group[d] == group && p->dims[d].ordered == ordered) return d;
    return -1;
}

static const char *value_of(const itg_point_space *p, int32_t group)
{
    return p->graph->values[p->groups->edges[p->groups->groups[group].edges[0]].value].name;
}

static void ways_are_methods_with_alternatives(void **state)
{
    small_network n;
    (void)state;
    small_network_make(1, CHOICES, 16, &n);
    const itg_search_options o = {
        ITG_SEARCH_OPTIONS_VERSION,
        .activation_methods = {.values = {ITG_THRESHOLD_MAX, ITG_THRESHOLD_KL}, .count = 2}};
    itg_point_space *p = make(&n, &o);
    int32_t point[MOST], bits[MOST], passed_over[MOST];
    itg_threshold_method methods[MOST];
    itg_point_space_corner(p, false, point);
    for (int32_t d = 0; d < p->space.dim_count; d++) {
        const int32_t group = p->dim_group[d];
        const bool weight = p->groups->groups[group].is_weight;
        if (p->dims[d].ordered) continue;
        for (int32_t way = 0; way < p->dims[d].count; way++) {
            point[d] = way;
            itg_point_space_apply(p, point, bits, methods, passed_over);
            assert_int_equal(itg_point_space_way(p, d, methods[group], passed_over[group]), way);
            assert_in_range(passed_over[group], 0, p->groups->groups[group].alternatives - 1);
            if (weight) assert_int_equal(passed_over[group], way);
        }
        if (!weight && p->dims[d].count == 4)
            assert_int_equal(itg_point_space_way(p, d, ITG_THRESHOLD_AVG, 0), -1);
        assert_int_equal(itg_point_space_way(p, d, methods[group], 9), -1);
        point[d] = 0;
    }
    const int32_t conv = weights_of(p, ITG_OP_CONV, 0), gemm = weights_of(p, ITG_OP_GEMM, 0);
    assert_int_equal(p->dims[dim_of(p, conv, false)].count, 3);
    assert_int_equal(p->dims[dim_of(p, p->groups->edge_group[0], false)].count, 4);
    assert_int_equal(dim_of(p, gemm, false), -1); /* it has one spec */
    char *text = NULL;
    assert_int_equal(itg_search_space_text(n.model, n.hw, &o, &text, NULL), ITG_OK);
    assert_non_null(strstr(text, "[\"max\", \"kl\", \"max:1\", \"kl:1\"]"));
    assert_non_null(strstr(text, "[\"mse\", \"mse:1\", \"mse:2\"]"));
    free(text);
    itg_point_space_destroy(p);
    small_network_end(&n);
}

/* ---- float ---- */

static void float_is_the_widest_width_where_it_is_allowed(void **state)
{
    small_network n;
    itg_search_options o = ITG_SEARCH_OPTIONS_INIT;
    (void)state;
    small_network_make(1, CHOICES, 16, &n);
    itg_point_space *all = make(&n, &o);
    const int32_t first = weights_of(all, ITG_OP_CONV, 0),
                  second = weights_of(all, ITG_OP_CONV, first + 1),
                  gemm = weights_of(all, ITG_OP_GEMM, 0);
    const char *node =
        all->graph->nodes[all->groups->edges[all->groups->groups[first].edges[0]].node].name;
    /* Twice by name, and one that is to keep its integers. */
    snprintf(o.allow_float, sizeof o.allow_float, "%s,%s,%s", node, value_of(all, first),
             value_of(all, second));
    snprintf(o.skip, sizeof o.skip, "%s", value_of(all, second));
    itg_point_space *p = make(&n, &o);
    const itg_choice_group *groups = p->groups->groups;
    assert_int_equal(groups[first].bits[groups[first].bits_count - 1], ITG_FLOAT_BITS);
    assert_int_equal(groups[first].bits_count, all->groups->groups[first].bits_count + 1);
    assert_true(groups[second].bits_count == 1 && groups[second].bits[0] == 8);
    assert_int_equal(groups[gemm].bits_count, all->groups->groups[gemm].bits_count);
    itg_point_space_destroy(p);
    *o.skip = '\0';
    snprintf(o.fix, sizeof o.fix, "%s=32", node); /* what it reads stays as it is */
    p = make(&n, &o);
    assert_true(p->groups->groups[first].bits_count == 1 &&
                p->groups->groups[first].bits[0] == ITG_FLOAT_BITS);
    assert_true(p->groups->groups[p->groups->edge_group[0]].bits_count > 1);
    itg_point_space_destroy(p);
    itg_point_space_destroy(all);
    small_network_end(&n);
}

static void float_is_refused_where_nothing_may_be(void **state)
{
    static const char *const targets[] = {"cortex-m", CHOICES};
    static const char *const patterns[] = {"*", "nothing*"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        small_network n;
        itg_search_options o = ITG_SEARCH_OPTIONS_INIT;
        itg_point_space *p = NULL;
        itg_error err = {0};
        small_network_make(1, targets[i], 16, &n);
        snprintf(o.allow_float, sizeof o.allow_float, "%s", patterns[i]);
        assert_int_equal(itg_point_space_create(n.hw, n.model, &o, &p, &err), ITG_BAD_ARGUMENT);
        assert_non_null(strstr(err.message, "allow-float: '"));
        assert_non_null(strstr(err.message, "matches no Conv, Gemm or MatMul with constant"));
        small_network_end(&n);
    }
}

/* ---- strategies ---- */

typedef struct made {
    small_network n;
    itg_point_space *p;
    itg_stats *stats;
    itg_threshold_cache *cache;
    int32_t bits[MOST], passed_over[MOST];
    itg_threshold_method methods[MOST];
} made;

static void begin(made *m)
{
    small_network_make(1, CHOICES, 16, &m->n);
    m->p = make(&m->n, &(itg_search_options)ITG_SEARCH_OPTIONS_INIT);
    assert_int_equal(
        itg_calibrate_model(m->n.model, m->n.data, &m->n.preprocess, 1, &m->stats, NULL), ITG_OK);
    assert_int_equal(
        itg_threshold_cache_create(m->n.model, m->n.hw, m->p->groups, m->stats, &m->cache, NULL),
        ITG_OK);
    itg_uniform_bits(m->p->groups, 8, 8, m->bits);
    itg_uniform_methods(m->p->groups, ITG_THRESHOLD_MAX, ITG_THRESHOLD_MAX, m->methods);
    memset(m->passed_over, 0, sizeof m->passed_over);
}

static void end(made *m)
{
    itg_threshold_cache_destroy(m->cache);
    itg_stats_destroy(m->stats);
    itg_point_space_destroy(m->p);
    small_network_end(&m->n);
}

static itg_strategy *resolve(made *m)
{
    itg_strategy *s = NULL;
    itg_error err = {0};
    if (itg_strategy_resolve(m->cache, m->bits, m->methods, m->passed_over, &s, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return s;
}

static itg_annotated *annotate(const made *m, const itg_strategy *s)
{
    itg_annotated *a = NULL;
    itg_error err = {0};
    if (itg_annotate(m->n.model, m->n.hw, s, &a, &err) != ITG_OK) fail_msg("%s", err.message);
    return a;
}

/* The edge of a group, and the node that reads it. */
static int32_t edge_of(const made *m, int32_t group, itg_id *node)
{
    const int32_t e = m->p->groups->groups[group].edges[0];
    *node = m->p->groups->edges[e].node;
    return e;
}

static void a_float_node_takes_its_activation_along(void **state)
{
    made m;
    itg_id node;
    (void)state;
    begin(&m);
    const int32_t group = weights_of(m.p, ITG_OP_CONV, 0), e = edge_of(&m, group, &node);
    m.bits[group] = ITG_FLOAT_BITS;
    itg_strategy *s = resolve(&m);
    assert_false(s->node_conds[node]);
    assert_int_equal(m.n.model->nodes[node + 1].op, ITG_OP_RELU);
    assert_false(s->node_conds[node + 1]);
    assert_true(s->edges[e].bits == 0 && s->edges[e - 1].bits == 0 && !s->edge_conds[e]);
    int32_t integers = 0;
    for (int32_t i = 0; i < s->node_count; i++)
        integers += s->node_conds[i];
    assert_int_equal(integers, s->node_count - 2);
    itg_annotated *a = annotate(&m, s);
    assert_int_equal(a->nodes[node].form, ITG_FORM_FLOAT);
    itg_cost cost = {0};
    assert_int_equal(itg_cost_of(m.n.hw, a, &cost), ITG_OK);
    itg_annotated_destroy(a);
    itg_strategy_destroy(s);
    m.bits[group] = 8;
    s = resolve(&m);
    a = annotate(&m, s);
    itg_cost whole = {0};
    assert_int_equal(itg_cost_of(m.n.hw, a, &whole), ITG_OK);
    assert_int_equal(cost.weight_bytes - whole.weight_bytes,
                     3 * m.p->groups->groups[group].weight_elements);
    itg_annotated_destroy(a);
    itg_strategy_destroy(s);
    end(&m);
}

static void what_is_passed_over_is_another_dtype_or_spec(void **state)
{
    made m;
    itg_id node;
    (void)state;
    begin(&m);
    const int32_t input = m.p->groups->edge_group[0], group = weights_of(m.p, ITG_OP_CONV, 0),
                  e = edge_of(&m, group, &node);
    for (int32_t k = 0; k < 3; k++) {
        m.passed_over[group] = k;
        m.passed_over[input] = k > 1 ? 1 : 0;
        itg_strategy *s = resolve(&m);
        assert_int_equal(s->edges[e].passed_over, k);
        assert_int_equal(s->edges[e].channel_count == 1, k == 2); /* the third has one scale */
        itg_annotated *a = annotate(&m, s);
        assert_int_equal(a->nodes[node].spec, k);
        assert_int_equal(a->nodes[node].acc.bits, k == 0 ? 18 : 32);
        assert_int_equal(a->values[a->edges[e - 1].value].encodings[0].q.qmin, k > 1 ? -128 : -127);
        itg_annotated_destroy(a);
        itg_strategy_destroy(s);
    }
    end(&m);
}

/* Wide codes do not fit 18 bits, narrow ones do; the strategy says which spec it is. */
static void sums_take_the_first_accumulator_that_holds_them(void **state)
{
    made m;
    itg_id node;
    int narrow = 0, wide = 0;
    (void)state;
    begin(&m);
    const int32_t group = weights_of(m.p, ITG_OP_CONV, 0);
    const int32_t second = weights_of(m.p, ITG_OP_CONV, group + 1), e = edge_of(&m, second, &node);
    for (int32_t bits = 2; bits <= 8; bits++) {
        itg_uniform_bits(m.p->groups, bits, bits, m.bits);
        itg_strategy *s = resolve(&m);
        assert_int_equal(itg_fit_sums(m.n.model, m.n.hw, NULL, s, NULL), ITG_OK);
        itg_annotated *a = annotate(&m, s);
        itg_bound *bounds = NULL;
        int32_t count = 0;
        assert_int_equal(itg_bounds_of(a, &bounds, &count, NULL), ITG_OK);
        for (int32_t i = 0; i < count; i++)
            assert_true(bounds[i].fits);
        assert_in_range(s->edges[e].passed_over, 0, 1); /* never on to the third */
        narrow += s->edges[e].passed_over == 0;
        wide += s->edges[e].passed_over == 1;
        /* What is narrow was not passed over for nothing. */
        if (s->edges[e].passed_over == 1) {
            bool fit = true;
            s->edges[e].passed_over = 0;
            itg_annotated *before = annotate(&m, s);
            assert_int_equal(itg_sums_fit(before, node, &fit, NULL), ITG_OK);
            assert_false(fit);
            itg_annotated_destroy(before);
        }
        free(bounds);
        itg_annotated_destroy(a);
        itg_strategy_destroy(s);
    }
    assert_true(narrow > 0 && wide > 0);
    end(&m);
}

static void tied_edges_pass_over_alike(void **state)
{
    made m;
    itg_annotated *a = NULL;
    itg_error err = {0};
    (void)state;
    begin(&m);
    itg_strategy *s = resolve(&m);
    for (int32_t i = 0; i < m.p->groups->group_count; i++) {
        const itg_choice_group *g = &m.p->groups->groups[i];
        if (g->is_weight || g->edge_count < 2) continue;
        s->edges[g->edges[1]].passed_over = 1;
        assert_int_equal(itg_annotate(m.n.model, m.n.hw, s, &a, &err), ITG_INFEASIBLE);
        assert_non_null(strstr(err.message, "must pass over equally many dtypes"));
        s->edges[g->edges[1]].passed_over = 0;
        assert_int_equal(itg_annotate(m.n.model, m.n.hw, s, &a, &err), ITG_OK);
        itg_annotated_destroy(a);
        itg_strategy_destroy(s);
        end(&m);
        return;
    }
    fail_msg("no group has two edges");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_are_methods_with_alternatives),
        cmocka_unit_test(float_is_the_widest_width_where_it_is_allowed),
        cmocka_unit_test(float_is_refused_where_nothing_may_be),
        cmocka_unit_test(a_float_node_takes_its_activation_along),
        cmocka_unit_test(what_is_passed_over_is_another_dtype_or_spec),
        cmocka_unit_test(sums_take_the_first_accumulator_that_holds_them),
        cmocka_unit_test(tied_edges_pass_over_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
