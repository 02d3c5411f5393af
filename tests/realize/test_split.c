/* Sums in parts: bounds against every input there is, the executor against the formula, files and
 * lies in them. */
#include "networks.h"
#include <stdio.h>

#define PATH TEST_FOLDER "/split.onnx"

enum { INPUTS = 4096 }; /* of 6 codes of 2 bits */
static int64_t code(int input, int64_t k)
{
    return (input >> (2 * k) & 3) - 1;
}

static int64_t part(int channel, int p, int input)
{
    int64_t sum = 0;
    for (int64_t k = p > 0 ? split_ends[p - 1] : 0; k < split_ends[p]; k++)
        sum += (int64_t)split_weights[channel * SPLIT_TERMS + k] * code(input, k);
    return sum;
}

static int64_t joined(int channel, int input)
{
    int64_t sum = half_up(split_bias[channel], 1, (int32_t)split_shifts[channel]);
    for (int p = 0; p < SPLIT_PARTS; p++)
        sum += half_up(part(channel, p, input), 1, (int32_t)split_shifts[channel]);
    return sum;
}

static void widen(int64_t v, int64_t *lo, int64_t *hi)
{
    if (v < *lo) *lo = v;
    if (v > *hi) *hi = v;
}

static void both_bounds_are_the_extremes_of_all_inputs(void **state)
{
    (void)state;
    fixture f = net_split();
    itg_program *p = fx_program(&f);
    int64_t lo = INT64_MAX, hi = INT64_MIN, join_lo = lo, join_hi = hi;
    for (int c = 0; c < SPLIT_CHANNELS; c++)
        for (int input = 0; input < INPUTS; input++) {
            for (int i = 0; i < SPLIT_PARTS; i++)
                widen(part(c, i, input), &lo, &hi);
            widen(joined(c, input), &join_lo, &join_hi);
        }
    int32_t count = 0;
    const itg_bound *bounds = itg_program_bounds(p, &count);
    assert_int_equal(count, 2);
    assert_true(bounds[0].lo == lo && bounds[0].hi == hi && bounds[0].fits);
    assert_true(bounds[1].lo == join_lo && bounds[1].hi == join_hi && bounds[1].fits);
    assert_int_equal(bounds[1].acc.bits, 10);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(itg_program_bound_name(p, i), "n_y");
        assert_int_equal(bounds[i].node, 0);
    }
    assert_null(itg_program_bound_name(p, 2));
    itg_program_destroy(p);
    fx_end(&f);
}

static void check_all_inputs(const itg_program *p)
{
    single *instance = fx_instance(p);
    int rounded = 0;
    for (int input = 0; input < INPUTS; input++) {
        for (int k = 0; k < SPLIT_TERMS; k++)
            ((float *)single_input(instance, 0))[k] = (float)code(input, k);
        fx_run(instance);
        for (int c = 0; c < SPLIT_CHANNELS; c++) {
            int64_t whole =
                split_bias[c] + part(c, 0, input) + part(c, 1, input) + part(c, 2, input);
            rounded += joined(c, input) * ((int64_t)1 << split_shifts[c]) != whole;
            assert_int_equal(((const int32_t *)single_output(instance, 0).data)[c],
                             joined(c, input));
        }
    }
    assert_true(rounded > 1000);
    single_destroy(instance);
}

static void parts_are_rounded_and_added_and_survive_a_file(void **state)
{
    (void)state;
    fixture f = net_split();
    itg_program *p = fx_program(&f), *again = NULL;
    fx_end(&f); /* a program needs nothing of it */
    check_all_inputs(p);
    assert_int_equal(itg_artefact_write(p, NULL, 0, PATH, NULL), ITG_OK);
    assert_int_equal(itg_program_open(PATH, &again, NULL), ITG_OK);
    check_all_inputs(again);
    itg_strbuf text = {0}, same = {0};
    itg_program_print(p, &text);
    itg_program_print(again, &same);
    assert_string_equal(text.text, same.text);
    assert_non_null(strstr(text.text, " split_end=[2,3,6] split_shift=[2,1] "
                                      "split_rounding=\"half_up\" join_bits=10 join_lo="));
    itg_strbuf_deinit(&text);
    itg_strbuf_deinit(&same);
    itg_program_destroy(again);
    itg_program_destroy(p);
}

/* ---- lies ---- */

static itg_step *gemm(itg_program *p)
{
    return &p->steps[p->step_count - 1];
}
static int64_t *list(const int64_t *values)
{
    return (int64_t *)(uintptr_t)values;
}

static void end_before_the_last(itg_program *p)
{
    list(gemm(p)->split.end)[1] = 1;
}
static void empty_part(itg_program *p)
{
    list(gemm(p)->split.end)[1] = 2;
}
static void end_at_zero(itg_program *p)
{
    list(gemm(p)->split.end)[0] = 0;
}
static void end_beyond_the_terms(itg_program *p)
{
    list(gemm(p)->split.end)[2] = 7;
}
static void terms_left_out(itg_program *p)
{
    gemm(p)->split.part_count = 2;
}
static void shift_of_63(itg_program *p)
{
    list(gemm(p)->split.shift)[0] = 63;
}
static void negative_shift(itg_program *p)
{
    list(gemm(p)->split.shift)[1] = -1;
}
static void no_shift(itg_program *p)
{
    gemm(p)->split.shift_count = 0;
}
static void narrow_join(itg_program *p)
{
    gemm(p)->split.join_bits = 9;
}
static void wide_join(itg_program *p)
{
    gemm(p)->split.join_bits = 63;
}
static void wide_parts(itg_program *p)
{
    gemm(p)->acc.bits = 49;
    gemm(p)->split.join_bits = 60;
}
static void other_part_bound(itg_program *p)
{
    gemm(p)->acc_hi++;
}
static void other_join_bound(itg_program *p)
{
    gemm(p)->join_lo--;
}
/* One shift less everywhere, and true bounds: the sum no longer fits. */
static void true_bounds_that_do_not_fit(itg_program *p)
{
    itg_step *s = gemm(p);
    list(s->split.shift)[0] = list(s->split.shift)[1] = 0;
    itg_step_split_bound(p, s, &s->acc_lo, &s->acc_hi, &s->join_lo, &s->join_hi);
}
static void parts_that_do_not_fit(itg_program *p)
{
    gemm(p)->acc.bits = 8;
}

static const struct lie {
    const char *name;
    void (*damage)(itg_program *p);
    const char *message;
} lies[] = {
    {"end_before_the_last", end_before_the_last, "out of order"},
    {"empty_part", empty_part, "out of order"},
    {"end_at_zero", end_at_zero, "out of order"},
    {"end_beyond_the_terms", end_beyond_the_terms, "out of order"},
    {"terms_left_out", terms_left_out, "leave out terms"},
    {"shift_of_63", shift_of_63, "out of range (0..62)"},
    {"negative_shift", negative_shift, "out of range (0..62)"},
    {"no_shift", no_shift, "number of shifts"},
    {"narrow_join", narrow_join, "widths or rounding"},
    {"wide_join", wide_join, "join_bits"},
    {"wide_parts", wide_parts, "widths or rounding"},
    {"other_part_bound", other_part_bound, "stated bound"},
    {"other_join_bound", other_join_bound, "stated bound"},
    {"true_bounds_that_do_not_fit", true_bounds_that_do_not_fit, "leave its accumulator"},
    {"parts_that_do_not_fit", parts_that_do_not_fit, "leave its accumulator"},
};

static void every_lie_about_parts_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        fixture f = net_split();
        itg_program *p = fx_program(&f), *again = NULL;
        itg_error err = {ITG_OK, ""};
        lies[i].damage(p);
        assert_int_equal(itg_artefact_write(p, NULL, 0, PATH, NULL), ITG_OK);
        if (itg_program_open(PATH, &again, &err) == ITG_OK) fail_msg("%s", lies[i].name);
        assert_null(again);
        if (strstr(err.message, lies[i].message) == NULL)
            fail_msg("%s: %s", lies[i].name, err.message);
        itg_program_destroy(p);
        fx_end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_bounds_are_the_extremes_of_all_inputs),
        cmocka_unit_test(parts_are_rounded_and_added_and_survive_a_file),
        cmocka_unit_test(every_lie_about_parts_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
