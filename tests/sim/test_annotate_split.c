/* Sums in parts (docs/arithmetic.md 3.3): the rule's own words checked against what annotate
 * chose, then the sums against what the simulation computes. */
#include "formulas.h"
#include <math.h>
#include <stdlib.h>
#include "tests/faults.h"

enum { TERMS = 40, CHANNELS = 5 };

typedef struct span {
    int64_t lo, hi;
} span;

typedef struct sums {
    sim_case c;
    int64_t w[CHANNELS][TERMS], bias[CHANNELS];
    float real_w[CHANNELS * TERMS], real_bias[CHANNELS];
    const itg_sum_split *split;
    const itg_quantizer *x;
    int bits, join_bits;
    itg_rounding rounding;
} sums;

static bool holds(span v, int bits)
{
    return v.lo >= -((int64_t)1 << (bits - 1)) && v.hi < (int64_t)1 << (bits - 1);
}

/* The sum of the terms [from, to) of a channel, over all inputs. */
static span span_of(const sums *s, int channel, int64_t from, int64_t to)
{
    span v = {0, 0};
    for (int64_t k = from; k < to; k++) {
        int64_t a = s->w[channel][k] * (s->x->qmin - s->x->zero_point),
                b = s->w[channel][k] * (s->x->qmax - s->x->zero_point);
        v.lo += a < b ? a : b;
        v.hi += a < b ? b : a;
    }
    return v;
}

static bool all_hold(const sums *s, int64_t from, int64_t to)
{
    for (int c = 0; c < CHANNELS; c++)
        if (!holds(span_of(s, c, from, to), s->bits)) return false;
    return true;
}

static int64_t shifted(const sums *s, int64_t v, int64_t by)
{
    return divide(v, (int64_t)1 << by, s->rounding);
}

static span joined_span(const sums *s, int channel, int64_t by)
{
    span all = {shifted(s, s->bias[channel], by), shifted(s, s->bias[channel], by)};
    for (int32_t p = 0; p < s->split->part_count; p++) {
        span part = span_of(s, channel, p ? s->split->end[p - 1] : 0, s->split->end[p]);
        all.lo += shifted(s, part.lo, by);
        all.hi += shifted(s, part.hi, by);
    }
    return all;
}

/* x [1,TERMS] times CHANNELS channels, accumulator and requantization as stated */
static sums gemm(itg_rng *rng, int bits, int join_bits, itg_rounding rounding, const char *requant)
{
    sums s = {.bits = bits, .join_bits = join_bits, .rounding = rounding};
    char operators[400];
    double t[CHANNELS];
    random_floats(rng, s.real_w, CHANNELS * TERMS, 1);
    random_floats(rng, s.real_bias, CHANNELS, 4);
    for (int c = 0; c < CHANNELS; c++)
        t[c] = random_real(rng, 0.3, 6); /* from clipped weights to small codes */
    snprintf(operators, sizeof operators,
             "'Gemm':[{'arithmetic':'mac','inputs':['u8'],'weights':['w'],'outputs':['u8'],"
             "'requantize':'r','per_channel':true,'accumulator':{'bits':%d,'split':true,"
             "'join_bits':%d,'join_rounding':'%s'}}]",
             bits, join_bits, itg_rounding_name(rounding));
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,40"), b = net_constant(g, "b", "5", s.real_bias);
    OUTPUTS(g, x, net_gemm(g, "gemm", x, "5,40", s.real_w, b));
    s.c = case_new(g, chip("", U8 "," W, requant, operators));
    set_range(&s.c, "gemm", 0, 2 + (int32_t)itg_rng_below(rng, 7), random_real(rng, -3, 0), 1);
    set_range(&s.c, NULL, 0, 8, -4, 4);
    set_weights(&s.c, "gemm", 2 + (int32_t)itg_rng_below(rng, 7), CHANNELS, t);
    annotated(&s.c);
    const itg_quantizer *q = &encoding_at(&s.c, "gemm", 1)->q;
    const itg_node_note *note = note_of(&s.c, "gemm");
    s.x = &encoding_at(&s.c, "gemm", 0)->q;
    s.split = &note->split;
    for (int c = 0; c < CHANNELS; c++) {
        s.bias[c] = note->bias[c];
        for (int k = 0; k < TERMS; k++)
            s.w[c][k] = code_of(s.real_w[c * TERMS + k], q->scale[c], 0, q->qmin, q->qmax);
    }
    return s;
}

static void check_parts(const sums *s)
{
    const itg_sum_split *split = s->split;
    int64_t from = 0;
    assert_int_equal(split->join_bits, s->join_bits);
    assert_int_equal(split->rounding, s->rounding);
    assert_int_equal(split->shift_count, CHANNELS);
    assert_int_equal(split->end[split->part_count - 1], TERMS);
    for (int32_t p = 0; p < split->part_count; from = split->end[p++]) {
        assert_true(split->end[p] > from);
        assert_true(all_hold(s, from, split->end[p]));
        if (split->end[p] < TERMS) assert_false(all_hold(s, from, split->end[p] + 1));
    }
    for (int c = 0; c < CHANNELS; c++) {
        assert_true(holds(joined_span(s, c, split->shift[c]), s->join_bits));
        if (split->shift[c] > 0)
            assert_false(holds(joined_span(s, c, split->shift[c] - 1), s->join_bits));
    }
}

static int64_t result(const sums *s, int channel, const float *x)
{
    int64_t acc = 0, part = s->bias[channel];
    if (s->split->part_count == 0) {
        for (int64_t k = 0; k < TERMS; k++)
            part += s->w[channel][k] *
                    (code_of(x[k], s->x->scale[0], s->x->zero_point, s->x->qmin, s->x->qmax) -
                     s->x->zero_point);
        return part;
    }
    acc = shifted(s, part, s->split->shift[channel]);
    for (int32_t p = 0; p < s->split->part_count; p++) {
        part = 0;
        for (int64_t k = p ? s->split->end[p - 1] : 0; k < s->split->end[p]; k++)
            part += s->w[channel][k] *
                    (code_of(x[k], s->x->scale[0], s->x->zero_point, s->x->qmin, s->x->qmax) -
                     s->x->zero_point);
        acc += shifted(s, part, s->split->shift[channel]);
    }
    return acc;
}

static void check_outputs(sums *s, itg_rng *rng)
{
    const itg_encoding *y = encoding_at(&s->c, NULL, 0);
    float x[TERMS];
    for (int i = 0; i < 5; i++) {
        random_floats(rng, x, TERMS, 3);
        run(&s->c, x);
        for (int c = 0; c < CHANNELS; c++) {
            const itg_requant *r = &y->requant[y->requant_count == 1 ? 0 : c];
            int64_t q = itg_requant_apply(r, result(s, c, x)) + y->q.zero_point;
            assert_int_equal(output_code(&s->c, 0, c), limited(q, 0, 255));
        }
    }
}

/* The requantization is of the joined sum: 2^shift times the whole sum's scale. */
static void check_ratios(const sums *s)
{
    const itg_encoding *y = encoding_at(&s->c, NULL, 0);
    const itg_quantizer *w = &encoding_at(&s->c, "gemm", 1)->q;
    for (int c = 0; c < CHANNELS; c++) {
        double ratio = (double)s->x->scale[0] * (double)w->scale[c] / (double)y->q.scale[0];
        if (s->split->part_count > 0) ratio = ldexp(ratio, (int)s->split->shift[c]);
        assert_true(fabs(itg_requant_ratio(&y->requant[c]) / ratio - 1) < 1e-4);
    }
}

static void parts_are_as_long_and_shifts_as_short_as_they_may_be(void **state)
{
    static const char *const requants[3] = {
        F32, TFLITE, "'r':{'form':'preshift','multiplier_bits':18,'pre_shift_bits':20}"};
    (void)state;
    int split = 0, whole = 0, shifts = 0;
    itg_rng rng;
    itg_rng_init(&rng, 5);
    for (int i = 0; i < 400; i++) {
        int bits = 10 + (int)itg_rng_below(&rng, 8),
            join = bits + (itg_rng_below(&rng, 2) ? (int)itg_rng_below(&rng, 8) : 0);
        sums s = gemm(&rng, bits, join, (itg_rounding)itg_rng_below(&rng, ITG_ROUNDING_COUNT),
                      requants[i % 3]);
        if (s.split->part_count > 0) {
            split++;
            check_parts(&s);
            for (int c = 0; c < CHANNELS; c++)
                shifts += s.split->shift[c] > 0;
        } else {
            whole++;
            for (int c = 0; c < CHANNELS; c++) {
                span v = span_of(&s, c, 0, TERMS);
                assert_true(holds((span){v.lo + s.bias[c], v.hi + s.bias[c]}, bits));
            }
        }
        check_ratios(&s);
        check_outputs(&s, &rng);
        case_end(&s.c);
    }
    assert_true(split > 100 && whole > 20 && shifts > 100);
}

/* 8 bits times 8 bits need 16: weights are coarsened until a product fits. */
static void weights_are_coarsened_until_a_product_fits(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 6);
    for (int bits = 9; bits < 16; bits++) {
        sums s = gemm(&rng, bits, 24, ITG_ROUND_HALF_UP, F32);
        set_range(&s.c, "gemm", 0, 8, -1, 1);
        set_weights(&s.c, "gemm", 8, CHANNELS, (const double[]){1, 1, 1, 1, 1});
        annotated(&s.c);
        const itg_quantizer *x = &encoding_at(&s.c, "gemm", 0)->q,
                            *w = &encoding_at(&s.c, "gemm", 1)->q;
        int64_t reach = x->qmax - x->zero_point > x->zero_point - x->qmin ? x->qmax - x->zero_point
                                                                          : x->zero_point - x->qmin;
        for (int c = 0; c < CHANNELS; c++) {
            int64_t most = 0, twice = 0;
            for (int k = 0; k < TERMS; k++) {
                float v = fabsf(s.real_w[c * TERMS + k]);
                int64_t q = code_of(v, w->scale[c], 0, -127, 127),
                        finer = code_of(v, w->scale[c] / 2, 0, -127, 127);
                most = q > most ? q : most;
                twice = finer > twice ? finer : twice;
            }
            assert_true(most * reach <= (int64_t)1 << (bits - 1));
            assert_true(w->scale[c] == 1.0f / 127 ||
                        twice * reach > ((int64_t)1 << (bits - 1)) - 1);
        }
        case_end(&s.c);
    }
}

/* ---- two activations ---- */

static sim_case pair_case(int bits, int terms, const char *more)
{
    char operators[300], a[16], b[16];
    snprintf(operators, sizeof operators,
             "'MatMul':[{'arithmetic':'mac','inputs':['s8'],'outputs':['s8'],'requantize':'r',"
             "'accumulator':{'bits':%d,'split':true%s}}]",
             bits, more);
    snprintf(a, sizeof a, "1,%d", terms);
    snprintf(b, sizeof b, "%d,1", terms);
    itg_graph *g = net_new();
    itg_id inputs[2] = {net_input(g, "a", a), net_input(g, "b", b)};
    itg_id y = NODE(g, "y", ITG_OP_MATMUL, NULL, inputs[0], inputs[1]);
    net_end(g, 2, inputs, 1, &y);
    sim_case c = case_new(g, chip("", S8, TFLITE, operators));
    set_range(&c, "y", 0, 8, -127, 127);
    set_range(&c, "y", 1, 8, -127, 127);
    set_range(&c, NULL, 0, 8, -127, 127);
    return c;
}

/* 127 * 127 = 16129: two of them fit 16 bits, one more does not. */
static void products_of_activations_are_counted_by_their_extremes(void **state)
{
    (void)state;
    sim_case c = pair_case(16, 2, "");
    annotated(&c);
    assert_int_equal(note_of(&c, "y")->split.part_count, 0);
    case_end(&c);
    c = pair_case(16, 7, "");
    annotated(&c);
    const itg_sum_split *split = &note_of(&c, "y")->split;
    assert_int_equal(split->part_count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(split->end[i], i < 3 ? 2 * (i + 1) : 7);
    assert_int_equal(split->shift_count, 1);
    assert_int_equal(split->shift[0], 2); /* 7 * 16129 needs 18 bits */
    case_end(&c);
    c = pair_case(16, 7, ",'join_bits':18");
    annotated(&c);
    assert_int_equal(note_of(&c, "y")->split.shift[0], 0);
    case_end(&c);
}

/* Zero points of 127 and 128: products from -128 * 128 to 128 * 127. Four of them reach exactly the
 * least number of 17 bits, which it holds; five do not fit. */
static void a_sum_may_reach_exactly_the_least_number(void **state)
{
    (void)state;
    for (int terms = 4; terms <= 5; terms++) {
        char a[16], b[16];
        snprintf(a, sizeof a, "1,%d", terms);
        snprintf(b, sizeof b, "%d,1", terms);
        itg_graph *g = net_new();
        itg_id inputs[2] = {net_input(g, "a", a), net_input(g, "b", b)};
        itg_id y = NODE(g, "y", ITG_OP_MATMUL, NULL, inputs[0], inputs[1]);
        net_end(g, 2, inputs, 1, &y);
        sim_case c = case_new(
            g,
            chip("", U8, TFLITE,
                 "'MatMul':[{'arithmetic':'mac','inputs':['u8'],'outputs':['u8'],'requantize':'r'"
                 ",'accumulator':{'bits':17,'split':true}}]"));
        set_range(&c, "y", 0, 8, -127, 128);
        set_range(&c, "y", 1, 8, -128, 127);
        set_range(&c, NULL, 0, 8, -128, 127);
        annotated(&c);
        assert_int_equal(encoding_at(&c, "y", 0)->q.zero_point, 127);
        assert_int_equal(encoding_at(&c, "y", 1)->q.zero_point, 128);
        assert_int_equal(note_of(&c, "y")->split.part_count, terms == 4 ? 0 : 2);
        case_end(&c);
    }
}

static void a_product_that_fits_nowhere_is_refused(void **state)
{
    (void)state;
    sim_case c = pair_case(14, 7, ",'join_bits':32");
    refused(&c, ITG_INFEASIBLE, "accumulator does not hold one product");
    case_end(&c);
}

/* floor makes -1 of every small part, and enough of them leave any accumulator. */
static void parts_that_no_shift_lets_add_up_are_refused(void **state)
{
    (void)state;
    sim_case c = pair_case(15, 200, ",'join_rounding':'floor'");
    annotated(&c);
    case_end(&c);
    c = pair_case(15, 40000, ",'join_rounding':'floor'");
    refused(&c, ITG_INFEASIBLE, "no shift lets the parts of its sum be added");
    case_end(&c);
    c = pair_case(15, 40000, "");
    annotated(&c);
    case_end(&c);
}

/* Every allocation fails in turn, with weights and without. */
static void without_memory_nothing_is_left_behind(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 7);
    for (int pair = 0; pair < 2; pair++) {
        sim_case c = pair ? pair_case(16, 7, "") : gemm(&rng, 10, 10, ITG_ROUND_HALF_UP, TFLITE).c;
        annotated(&c);
        assert_true(note_of(&c, pair ? "y" : "gemm")->split.part_count > 0);
        int n = 0;
        for (bool spared = false; !spared; n++) {
            itg_annotated *a = NULL;
            itg_error err = {0};
            calls_left = n;
            itg_status status = itg_annotate(c.g, c.hw, c.s, &a, &err);
            spared = calls_left >= 0;
            calls_left = -1;
            assert_int_equal(status, spared ? ITG_OK : ITG_NO_MEMORY);
            assert_int_equal(a != NULL, spared);
            itg_annotated_destroy(a);
        }
        assert_true(n > 3);
        case_end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_as_long_and_shifts_as_short_as_they_may_be),
        cmocka_unit_test(weights_are_coarsened_until_a_product_fits),
        cmocka_unit_test(products_of_activations_are_counted_by_their_extremes),
        cmocka_unit_test(a_sum_may_reach_exactly_the_least_number),
        cmocka_unit_test(a_product_that_fits_nowhere_is_refused),
        cmocka_unit_test(parts_that_no_shift_lets_add_up_are_refused),
        cmocka_unit_test(without_memory_nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
