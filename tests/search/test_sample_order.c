/* The order of samples: those that the float network gets wrong, then close calls, then the rest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "search/search.h"

enum { SAMPLES = 6, CLASSES = 3 };

/* Highest minus second: 3, 1, 2, 1, 4, 2; the second stands before, behind and at the first place.
 */
static float outputs[SAMPLES * CLASSES] = {5, 2, 0, /**/ 1, 2, 0, /**/ 0, 1, 3,
                                           4, 0, 3, /**/ 0, 9, 5, /**/ 7, 1, 5};
static int64_t classes[SAMPLES] = {0, 1, 2, 0, 1, 0};

static itg_graph *a_model(int64_t elements)
{
    itg_graph *g = NULL;
    itg_id y;
    const itg_shape shape = {2, {1, elements}};
    assert_int_equal(itg_graph_create("model", &g, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "y", ITG_F32, &shape, NULL, &y, NULL), ITG_OK);
    assert_int_equal(itg_graph_set_outputs(g, &y, 1, NULL), ITG_OK);
    return g;
}

static itg_sample_set a_set(int64_t elements)
{
    return (itg_sample_set){
        .classes = classes,
        .outputs = {.samples = SAMPLES, .elements = elements, .values = outputs}};
}

static void assert_order(itg_sample_set *set, const int64_t *expected)
{
    itg_graph *g = a_model(CLASSES);
    assert_int_equal(itg_search_order_samples(g, set, NULL), ITG_OK);
    assert_memory_equal(set->order, expected, SAMPLES * sizeof *expected);
    free(set->order);
    itg_graph_destroy(g);
}

static void close_calls_stand_first(void **state)
{
    (void)state;
    itg_sample_set set = a_set(CLASSES);
    assert_order(&set, (const int64_t[]){1, 3, 2, 5, 0, 4});
}

static void wrong_samples_stand_before_close_calls(void **state)
{
    (void)state;
    int64_t labels[SAMPLES] = {0, 1, 0, 0, 2, 0}; /* 2 and 4 are wrong */
    const itg_tensor array = {ITG_S64, {1, {SAMPLES}}, labels};
    itg_sample_set set = a_set(CLASSES);
    assert_int_equal(itg_data_from_memory(&array, "labels", &set.labels, NULL), ITG_OK);
    set.has_classes = true;
    assert_order(&set, (const int64_t[]){2, 4, 1, 3, 5, 0});
    itg_data_close(set.labels);
}

static void without_two_outputs_there_is_no_order(void **state)
{
    (void)state;
    itg_graph *one = a_model(1), *three = a_model(CLASSES);
    itg_sample_set set = a_set(1);
    assert_int_equal(itg_search_order_samples(one, &set, NULL), ITG_OK);
    assert_null(set.order);
    set.outputs.values = NULL;
    assert_int_equal(itg_search_order_samples(three, &set, NULL), ITG_OK);
    assert_null(set.order);
    itg_graph_destroy(one);
    itg_graph_destroy(three);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_calls_stand_first),
        cmocka_unit_test(wrong_samples_stand_before_close_calls),
        cmocka_unit_test(without_two_outputs_there_is_no_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
