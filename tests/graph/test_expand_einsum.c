/* Einsum as a product of matrices, against the sum that its equation says. */
#include "expansion.h"
#include "graph/expand.h"
#include <stdlib.h>

enum { MOST_LABELS = 5 };

/* Labels 0 to count - 1; which of A, B and the output (bits 1, 2 and 4) have each. */
typedef struct equation {
    int32_t count;
    int64_t size[MOST_LABELS];
    int in[MOST_LABELS];
    int64_t text[3 * (MOST_LABELS + 1)];
    int32_t length;
    itg_shape shape[3];
    int64_t label[3][MOST_LABELS];
} equation;

static void shuffle(int64_t *labels, int32_t count)
{
    for (int32_t i = count - 1; i > 0; i--) {
        int64_t other = pick(0, i), kept = labels[i];
        labels[i] = labels[other];
        labels[other] = kept;
    }
}

static equation pick_equation(void)
{
    static const int classes[] = {1 | 2 | 4, 1 | 4, 2 | 4, 1 | 2};
    equation e = {.count = (int32_t)pick(1, MOST_LABELS)};
    for (int32_t l = 0; l < e.count; l++) {
        e.size[l] = pick(1, 4);
        e.in[l] = classes[pick(0, 3)];
    }
    for (int t = 0; t < 3; t++) {
        for (int32_t l = 0; l < e.count; l++)
            if (e.in[l] >> t & 1) e.label[t][e.shape[t].rank++] = l;
        shuffle(e.label[t], e.shape[t].rank);
        for (int32_t d = 0; d < e.shape[t].rank; d++) {
            e.shape[t].dims[d] = e.size[e.label[t][d]];
            e.text[e.length++] = e.label[t][d];
        }
        e.text[e.length++] = -1;
    }
    return e;
}

static int64_t place_of(const equation *e, int tensor, const int64_t *index)
{
    int64_t place = 0;
    for (int32_t d = 0; d < e->shape[tensor].rank; d++)
        place = place * e->shape[tensor].dims[d] + index[e->label[tensor][d]];
    return place;
}

/* Every index of every label once. */
static void sum_products(const equation *e, const float *a, const float *b, double *y)
{
    int64_t index[MOST_LABELS] = {0};
    int32_t at = 0;
    while (at >= 0) {
        y[place_of(e, 2, index)] +=
            (double)a[place_of(e, 0, index)] * (double)b[place_of(e, 1, index)];
        for (at = e->count - 1; at >= 0 && ++index[at] == e->size[at]; at--)
            index[at] = 0;
    }
}

static void products_of_matrices_are_what_their_equation_says(void **state)
{
    (void)state;
    start_picks();
    for (int round = 0; round < 400; round++) {
        const equation e = pick_equation();
        double y[1024] = {0};
        itg_graph *g = graph_of(&e.shape[0]);
        itg_id b = put_constant(g, "b", &e.shape[1]);
        itg_id text = add_ints(g, "text", e.length, e.text);
        set_output(g, ADD_OP(g, ITG_OP_EINSUM, "y", NULL, itg_graph_find_value(g, "x"), b, text));
        assert_int_equal(itg_infer_node(g, 0, NULL), ITG_OK);
        assert_true(itg_einsum_is_contraction(g, 0));
        float *x = numbers_of_x(&e.shape[0]);
        sum_products(&e, x, constant_of(g, "b"), y);
        int64_t count = 1;
        for (int32_t d = 0; d < e.shape[2].rank; d++)
            count *= e.shape[2].dims[d];
        assert_gives(g, y, count);
        free(x);
        itg_graph_destroy(g);
    }
}

static void check_stays(const char *x, const char *b, int32_t length, const int64_t *text)
{
    itg_graph *g = make_graph();
    itg_id first = add_input(g, "x", x), second = add_floats(g, "b", b, NULL);
    itg_id labels = add_ints(g, "text", length, text);
    set_output(g, ADD_OP(g, ITG_OP_EINSUM, "y", NULL, first, second, labels));
    assert_int_equal(itg_infer_node(g, 0, NULL), ITG_OK);
    assert_false(itg_einsum_is_contraction(g, 0));
    itg_graph_destroy(g);
}

/* A diagonal, a sum over one operand alone, a dimension that is broadcast. */
static void others_stay(void **state)
{
    (void)state;
    check_stays("3,3", "3", 6, (int64_t[]){0, 0, -1, 0, -1, -1});
    check_stays("3,2", "3", 6, (int64_t[]){0, 1, -1, 0, -1, -1});
    check_stays("3,1", "3,2", 8, (int64_t[]){0, 1, -1, 0, 1, -1, 0, -1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_matrices_are_what_their_equation_says),
        cmocka_unit_test(others_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
