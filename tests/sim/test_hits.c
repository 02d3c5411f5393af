/* What a sample counts, against a count by hand. */
#include "case.h"
#include "sim/hits.h"

enum { CLASSES = 9 };

static int by_hand(const float *v, int32_t count, int64_t label)
{
    int before = 0;
    for (int i = 0; i < count; i++)
        before += v[i] > v[label] || (!(v[i] < v[label]) && !(v[i] > v[label]) && i < label);
    return before < 5;
}

static int top5(itg_dtype dtype, void *data, int64_t count, const int64_t *label)
{
    const itg_tensor t = {.dtype = dtype, .shape = {.rank = 2, .dims = {1, count}}, .data = data};
    const itg_sample s = {.output = &t, .class_id = itg_class_of(&t), .label = label};
    return itg_hit_of[ITG_METRIC_TOP5](&s);
}

static void top5_is_a_label_among_the_first_five(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 5);
    for (int round = 0; round < 500; round++) {
        float v[CLASSES];
        int8_t codes[CLASSES];
        for (int i = 0; i < CLASSES; i++) { /* few values: there are ties */
            codes[i] = (int8_t)itg_rng_below(&rng, 6);
            v[i] = (float)codes[i];
        }
        for (int64_t label = 0; label < CLASSES; label++) {
            assert_int_equal(top5(ITG_F32, v, CLASSES, &label), by_hand(v, CLASSES, label));
            assert_int_equal(top5(ITG_S8, codes, CLASSES, &label), by_hand(v, CLASSES, label));
        }
    }
}

static void top5_takes_labels_and_six_classes(void **state)
{
    (void)state;
    float v[6] = {5, 4, 3, 2, 1, 0};
    const int64_t last = 5, first = 0;
    assert_int_equal(top5(ITG_F32, v, 6, NULL), -1);
    assert_int_equal(top5(ITG_F32, v, 5, &first), -1);
    assert_int_equal(top5(ITG_F32, v, 6, &last), 0);
    assert_int_equal(top5(ITG_F32, v, 6, &first), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(top5_is_a_label_among_the_first_five),
        cmocka_unit_test(top5_takes_labels_and_six_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
