/* Weights with zero points (docs/arithmetic.md 2.2), against the page's formulas written again. */
#include "case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/constants.h"

#define MAC(op, extra)                                                                             \
    "'" op "':[{'arithmetic':'mac','inputs':['x'],'weights':['w','s'],'outputs':['x'],"            \
    "'requantize':'r','accumulator':{'bits':32}" extra "}]"
#define DTYPES                                                                                     \
    "'x':{'storage':'u8','bits':[2,8],'zero_point':true},"                                         \
    "'w':{'storage':'u8','bits':[2,8],'zero_point':true},'s':{'storage':'s16','bits':[9,16]}"

enum { ROWS = 4, DEPTH = 3 };
static const float given[ROWS * DEPTH] = {
    -1, 0.25f, 2,  0.5f, 0.75f, 3, /* one has no negative weight */
    -3, -0.5f, -2, 0,    0,     0};

/* x [1,3] times four channels */
static sim_case make_case(const char *head, const char *operators)
{
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,3"), y = net_gemm(g, "gemm", x, "4,3", given, ITG_NONE);
    OUTPUTS(g, x, y);
    sim_case c = case_new(
        g, chip(head, DTYPES, *head ? "'r':{'form':'shift'}" : "'r':{'form':'f32'}", operators));
    set_range(&c, "gemm", 0, 8, -1, 1);
    set_range(&c, NULL, 0, 8, -4, 4);
    return c;
}

static void set_zeros(sim_case *c, int32_t bits, int32_t count, const double *t,
                      const uint8_t *zero)
{
    set_weights(c, "gemm", bits, count, t);
    itg_edge_choice *choice = &c->s->edges[case_edge(c, "gemm", 1)];
    choice->zero = zero ? itg_arena_copy(c->s->arena, zero, (size_t)count) : NULL;
}

static int64_t weight_code(const sim_case *c, int64_t i)
{
    const itg_encoding *w = encoding_at(c, "gemm", 1);
    return itg_load(w->q.storage, w->constant->codes, i);
}

static void each_scale_has_codes_of_its_own(void **state)
{
    static const double t[ROWS] = {1.5, 1.5, 1, 0};
    (void)state;
    for (int is_one = 0; is_one < 2; is_one++)
        for (int32_t bits = 2; bits <= 8; bits++) {
            sim_case c =
                make_case("", is_one ? MAC("Gemm", "") : MAC("Gemm", ",'per_channel':true"));
            const int32_t most = (1 << bits) - 1;
            const uint8_t zero[ROWS] = {(uint8_t)(most / 3), 0, (uint8_t)most, 1};
            set_zeros(&c, bits, is_one ? 1 : ROWS, t, zero);
            annotated(&c);
            const itg_quantizer *q = &encoding_at(&c, "gemm", 1)->q;
            assert_true(itg_has_zero_points(q));
            assert_int_equal(q->storage, bits < 8 ? ITG_S8 : ITG_S16);
            assert_int_equal(q->qmin, -most);
            assert_int_equal(q->qmax, most);
            assert_int_equal(q->zero_point, 0);
            assert_int_equal(q->axis, is_one ? -1 : 0);
            for (int64_t i = 0; i < ROWS * DEPTH; i++) {
                const int64_t k = is_one ? 0 : i / DEPTH;
                const float scale = (float)((k == 3 ? 1.5 : t[k]) / (most / 2.0));
                assert_true(q->scale[k] == scale);
                assert_int_equal(weight_code(&c, i), code_of(given[i], scale, 0, -(int64_t)zero[k],
                                                             most - (int64_t)zero[k]));
            }
            case_end(&c);
        }
}

static void scales_are_powers_of_two(void **state)
{
    static const double t[] = {1.5};
    static const uint8_t zero[] = {5};
    (void)state;
    sim_case c = make_case("'power_of_two_scales':true,", MAC("Gemm", ""));
    set_zeros(&c, 4, 1, t, zero);
    annotated(&c);
    assert_true(encoding_at(&c, "gemm", 1)->q.scale[0] == 0.25f); /* 2^k * 7.5 >= 1.5 */
    assert_int_equal(weight_code(&c, 0), -4);
    assert_int_equal(weight_code(&c, 6), -5); /* -3 / 0.25, clamped */
    case_end(&c);
}

/* A strategy's codes are counted from the middle one. */
static void codes_of_a_strategy(void **state)
{
    static const double t[ROWS] = {1.5, 1.5, 1.5, 1.5};
    static const uint8_t zero[ROWS] = {0, 7, 3, 5};
    int32_t codes[ROWS * DEPTH];
    (void)state;
    sim_case c = make_case("", MAC("Gemm", ",'per_channel':true"));
    set_zeros(&c, 3, ROWS, t, zero);
    for (int32_t i = 0; i < ROWS * DEPTH; i++)
        codes[i] = i % 8 - 4;
    assert_int_equal(
        itg_strategy_set_codes(c.s, case_edge(&c, "gemm", 1), codes, ROWS * DEPTH, NULL), ITG_OK);
    annotated(&c);
    for (int32_t i = 0; i < ROWS * DEPTH; i++)
        assert_int_equal(weight_code(&c, i), i % 8 - zero[i / DEPTH]);
    case_end(&c);
}

static void what_does_not_fit_is_refused(void **state)
{
    static const double t[ROWS] = {1, 1, 1, 1};
    static const uint8_t zero[ROWS] = {0, 1, 8, 3};
    (void)state;
    sim_case c = make_case("", MAC("Gemm", ",'per_channel':true"));
    set_zeros(&c, 3, ROWS, t, zero);
    refused(&c, ITG_MISMATCH, "a zero point of its weights has more bits than they");
    set_zeros(&c, 3, ROWS, t, NULL);
    refused(&c, ITG_MISMATCH, "its weights have no zero points");
    set_zeros(&c, 12, ROWS, t, zero);
    refused(&c, ITG_MISMATCH, "zero points of weights, which the hardware does not have");
    case_end(&c);
}

/* ---- thresholds ---- */

static void thresholds_have_zero_points(void **state)
{
    static const itg_threshold_method methods[] = {ITG_THRESHOLD_MAX, ITG_THRESHOLD_MSE};
    (void)state;
    for (size_t m = 0; m < 2; m++)
        for (int32_t bits = 2; bits <= 8; bits++) {
            sim_case c = make_case("", MAC("Gemm", ",'per_channel':true"));
            itg_choice_space *space = NULL;
            itg_threshold_cache *cache = NULL;
            itg_strategy *s = NULL;
            itg_error err = {0};
            itg_stats *stats = itg_stats_made_up(c.g);
            assert_non_null(stats);
            itg_space_options options = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
            assert_int_equal(itg_choice_space_create(c.hw, c.g, &options, &space, &err), ITG_OK);
            assert_int_equal(itg_threshold_cache_create(c.g, c.hw, space, stats, &cache, &err),
                             ITG_OK);
            int32_t group_bits[8];
            itg_threshold_method group_methods[8];
            for (int32_t i = 0; i < space->group_count; i++) {
                group_bits[i] = space->groups[i].is_weight ? bits : 8;
                group_methods[i] = methods[m];
            }
            if (itg_strategy_resolve(cache, group_bits, group_methods, NULL, &s, &err) != ITG_OK)
                fail_msg("%s", err.message);
            const itg_edge_choice *w = &s->edges[case_edge(&c, "gemm", 1)];
            const double most = ldexp(1, bits) - 1;
            assert_int_equal(w->channel_count, ROWS);
            assert_non_null(w->zero);
            for (int k = 0; k < ROWS && methods[m] == ITG_THRESHOLD_MAX; k++) {
                double lo = 0, hi = 0;
                for (int i = 0; i < DEPTH; i++) {
                    lo = fmin(lo, (double)given[k * DEPTH + i]);
                    hi = fmax(hi, (double)given[k * DEPTH + i]);
                }
                assert_true(w->channel[k] == (hi - lo) / 2);
                assert_int_equal(w->zero[k],
                                 hi > lo ? (int)nearbyint(-lo / ((hi - lo) / most)) : 0);
            }
            assert_int_equal(w->zero[1], 0);
            assert_int_equal(w->zero[2], (int)most);
            itg_strategy_destroy(c.s);
            c.s = s;
            annotated(&c);
            for (int64_t i = 0; i < ROWS * DEPTH && bits > 6; i++)
                assert_true(fabs((double)weight_code(&c, i) *
                                     (double)encoding_at(&c, "gemm", 1)->q.scale[i / DEPTH] -
                                 (double)given[i]) < 3.1 / most);
            itg_threshold_cache_destroy(cache);
            itg_choice_space_destroy(space);
            itg_stats_destroy(stats);
            case_end(&c);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_scale_has_codes_of_its_own),
        cmocka_unit_test(scales_are_powers_of_two),
        cmocka_unit_test(codes_of_a_strategy),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(thresholds_have_zero_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
