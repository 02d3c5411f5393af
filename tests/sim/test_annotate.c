/* From strategy to quantizers (docs/arithmetic.md 2.1 to 2.3, 5), against the page's formulas
 * written again. */
#include "case.h"
#include <math.h>
#include <string.h>
#include "sim/annotate.h"

#define RELU(in, out)                                                                              \
    "'Relu':[{'arithmetic':'rescale','inputs':[" in "],'outputs':[" out "],'requantize':'r'}]"
#define GEMM(in, out)                                                                              \
    "'Gemm':[{'arithmetic':'mac','inputs':[" in "],'weights':['w'],'outputs':[" out                \
    "],'requantize':'r',"                                                                          \
    "'accumulator':{'bits':32}}]"
#define KEEP(op, in) "'" op "':[{'arithmetic':'keep_scale','inputs':[" in "]}]"
#define W "'w':{'storage':'s8','bits':[2,8]}"
#define U8 "'u8':{'storage':'u8','bits':[2,8],'zero_point':true}"
#define S8 "'s8':{'storage':'s8','bits':[2,8]}"
#define F32 "'r':{'form':'f32'}"
#define FLOATS(...) ((const float[]){__VA_ARGS__})

/* ---- range to scale ---- */

typedef struct expectation {
    bool is_refused;
    int64_t qmin, qmax, zero;
    float scale;
} expectation;

static double power_of_two(double r, double d)
{
    int k = -1400;
    if (r == 0) return 0;
    while (ldexpl(1, k) * (long double)d < (long double)r)
        k++;
    return ldexp(1, k);
}

static expectation expected(const itg_hw_dtype *dtype, int bits, double lo, double hi, bool powers)
{
    bool is_signed = itg_dtype_min(dtype->storage) < 0;
    double half = ldexp(1, bits - 1), r, d, power_d;
    expectation e = {.qmin = 0, .qmax = (int64_t)(2 * half - 1)};
    if (lo > 0) lo = 0;
    if (hi < 0) hi = 0;
    if (is_signed) {
        e.qmax = (int64_t)half - 1;
        e.qmin = dtype->zero_point || dtype->full_range ? -(int64_t)half : -e.qmax;
    }
    r = dtype->zero_point ? hi - lo : is_signed ? fmax(-lo, hi) : hi;
    d = power_d = dtype->zero_point || !is_signed ? 2 * half - 1 : half - 1;
    if (!dtype->zero_point && is_signed) power_d = half;
    e.scale = (float)(powers ? power_of_two(r, power_d) : r / d);
    e.is_refused = e.scale > 0x1p64f;
    if (e.scale < 0x1p-64f) {
        e.scale = 1;
        e.zero = limited(0, e.qmin, e.qmax);
    } else if (dtype->zero_point) {
        double z = nearbyint((double)e.qmin - lo / (double)e.scale);
        e.zero = z < (double)e.qmin ? e.qmin : z > (double)e.qmax ? e.qmax : (int64_t)z;
    }
    return e;
}

static void check_range(const itg_hw_dtype *dtype, int bits, double lo, double hi, bool powers)
{
    float scale = 0;
    itg_quantizer q = {0};
    itg_error err = {0};
    expectation e = expected(dtype, bits, lo, hi, powers);
    itg_status status = annotate_range_quantizer(dtype, bits, lo, hi, powers, &scale, &q, &err);
    assert_int_equal(status, e.is_refused ? ITG_INFEASIBLE : ITG_OK);
    if (e.is_refused) return;
    if (q.scale[0] != e.scale || q.zero_point != e.zero || q.qmin != e.qmin || q.qmax != e.qmax)
        fail_msg("[%a, %a] at %d bits, powers %d: scale %a zero %d [%lld, %lld], expected %a %lld "
                 "[%lld, %lld]",
                 lo, hi, bits, powers, (double)q.scale[0], (int)q.zero_point, (long long)q.qmin,
                 (long long)q.qmax, (double)e.scale, (long long)e.zero, (long long)e.qmin,
                 (long long)e.qmax);
    assert_int_equal(q.bits, bits);
    assert_int_equal(q.storage, dtype->storage);
    assert_int_equal(q.is_signed, itg_dtype_min(dtype->storage) < 0);
    assert_int_equal(q.axis, -1);
    assert_int_equal(q.scale_count, 1);
}

static const itg_hw_dtype classes[] = {
    {"zs8", ITG_S8, 2, 8, true, false},    {"zu8", ITG_U8, 2, 8, true, false},
    {"s8", ITG_S8, 2, 8, false, false},    {"fs8", ITG_S8, 2, 8, false, true},
    {"pu8", ITG_U8, 2, 8, false, false},   {"zs16", ITG_S16, 2, 16, true, false},
    {"zu16", ITG_U16, 2, 16, true, false}, {"s16", ITG_S16, 2, 16, false, false},
    {"s32", ITG_S32, 2, 32, false, false}, {"zs32", ITG_S32, 2, 32, true, false},
    {"fs32", ITG_S32, 2, 32, false, true},
};

static void every_class_width_and_range(void **state)
{
    static const double edges[] = {0,     -0.0,    1,       -1,        255,      -255,   127,
                                   128,   0x1p-57, 0x1p-64, 0x1.fp-65, 0x1p-71,  0x1p71, -0x1p72,
                                   1e300, -1e300,  5e-324,  -5e-324,   0x1p-1022};
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 1);
    for (size_t k = 0; k < sizeof classes / sizeof *classes; k++)
        for (int bits = classes[k].bits_min; bits <= classes[k].bits_max; bits++)
            for (int powers = 0; powers < 2; powers++) {
                for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
                    for (size_t j = 0; j < sizeof edges / sizeof *edges; j++)
                        check_range(&classes[k], bits, edges[i], edges[j], powers);
                for (int i = 0; i < 200; i++) {
                    double size = ldexp(1, (int)itg_rng_below(&rng, 40) - 20);
                    check_range(&classes[k], bits, random_real(&rng, -size, size / 3),
                                random_real(&rng, -size / 3, size), powers);
                }
            }
}

/* A few by hand, so that formula and test cannot share a mistake. */
static void ranges_computed_by_hand(void **state)
{
    float scale = 0;
    itg_quantizer q = {0};
    (void)state;
    assert_int_equal(annotate_range_quantizer(&classes[1], 8, -1, 1.55, false, &scale, &q, NULL),
                     ITG_OK);
    assert_true(scale == (float)(2.55 / 255) && q.zero_point == 100 && q.qmin == 0 &&
                q.qmax == 255);
    assert_int_equal(annotate_range_quantizer(&classes[0], 4, -1, 2.75, false, &scale, &q, NULL),
                     ITG_OK);
    assert_true(scale == 0.25f && q.zero_point == -4 && q.qmin == -8 && q.qmax == 7);
    assert_int_equal(annotate_range_quantizer(&classes[2], 5, -30, 15, false, &scale, &q, NULL),
                     ITG_OK);
    assert_true(scale == 2.0f && q.zero_point == 0 && q.qmin == -15 && q.qmax == 15);
    assert_int_equal(annotate_range_quantizer(&classes[3], 5, -30, 15, true, &scale, &q, NULL),
                     ITG_OK);
    assert_true(scale == 2.0f && q.qmin == -16 && q.qmax == 15); /* 30 <= 2 * 16 */
    assert_int_equal(annotate_range_quantizer(&classes[2], 5, -33, 15, true, &scale, &q, NULL),
                     ITG_OK);
    assert_true(scale == 4.0f && q.qmin == -15);
    assert_int_equal(annotate_range_quantizer(&classes[4], 2, 0, 3, true, &scale, &q, NULL),
                     ITG_OK);
    assert_true(scale == 1.0f && q.qmax == 3); /* 3 <= 1 * 3 */
    assert_int_equal(annotate_range_quantizer(&classes[1], 8, 0, 0, false, &scale, &q, NULL),
                     ITG_OK);
    assert_true(scale == 1.0f && q.zero_point == 0);
    /* 0.5 and 1.5 steps below zero: half to even */
    assert_int_equal(annotate_range_quantizer(&classes[1], 2, -0.5, 2.5, false, &scale, &q, NULL),
                     ITG_OK);
    assert_true(scale == 1.0f && q.zero_point == 0);
    assert_int_equal(annotate_range_quantizer(&classes[1], 2, -1.5, 1.5, false, &scale, &q, NULL),
                     ITG_OK);
    assert_true(scale == 1.0f && q.zero_point == 2);
}

/* ---- classes ---- */

static itg_graph *one_relu(void)
{
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,4"), y = NODE(g, "relu", ITG_OP_RELU, NULL, x);
    OUTPUTS(g, x, y);
    return g;
}

static void the_first_class_that_all_touching_lists_hold(void **state)
{
    sim_case c = case_new(
        one_relu(),
        chip(
            "'model_inputs':['b','c'],'model_outputs':['d','b'],",
            "'a':{'storage':'u8','bits':[2,8],'zero_point':true},'b':{'storage':'s8','bits':[2,6]},"
            "'c':{'storage':'s16','bits':[2,16]},'d':{'storage':'u16','bits':[7,16]}",
            F32, RELU("'a','b','c'", "'b','d','c'")));
    (void)state;
    /* b and c are inputs of the model and of Relu; b admits 6 bits, c more. Outputs: b, then d. */
    set_range(&c, "relu", 0, 6, -1, 1);
    set_range(&c, NULL, 0, 6, 0, 1);
    annotated(&c);
    assert_int_equal(encoding_at(&c, "relu", 0)->q.storage, ITG_S8);
    assert_int_equal(encoding_at(&c, NULL, 0)->q.storage, ITG_S8);
    set_range(&c, "relu", 0, 7, -1, 1);
    set_range(&c, NULL, 0, 7, 0, 1);
    annotated(&c);
    assert_int_equal(encoding_at(&c, "relu", 0)->q.storage, ITG_S16);
    assert_int_equal(encoding_at(&c, NULL, 0)->q.storage, ITG_U16);
    /* d is unsigned without zero point, and b admits no 7 bits */
    set_range(&c, NULL, 0, 7, -0x1p-100, 1);
    refused(&c, ITG_INFEASIBLE,
            "net.onnx: chip has no dtype of 7 bits that all agree on for 'relu' (edge 1)");
    case_end(&c);
}

static void the_first_spec_that_admits_the_bits(void **state)
{
    sim_case c = case_new(
        one_relu(), chip("",
                         "'u8':{'storage':'u8','bits':[2,8],'zero_point':true},'s16':{'storage':'"
                         "s16','bits':[8,16]}",
                         F32,
                         "'Relu':[{'arithmetic':'lut','inputs':['u8'],'outputs':['u8']},"
                         "{'arithmetic':'rescale','inputs':['u8','s16'],'outputs':['s16'],'"
                         "requantize':'r','accumulator':{'bits':40,'overflow':'saturate'}}]"));
    (void)state;
    set_range(&c, "relu", 0, 8, -1, 1);
    set_range(&c, NULL, 0, 8, 0, 1);
    annotated(&c);
    assert_int_equal(note_of(&c, "relu")->form, ITG_FORM_LUT);
    set_range(&c, "relu", 0, 9, -1, 1);
    set_range(&c, NULL, 0, 9, 0, 1);
    annotated(&c);
    assert_int_equal(note_of(&c, "relu")->form, ITG_FORM_RESCALE);
    assert_int_equal(note_of(&c, "relu")->acc.bits, 40);
    assert_int_equal(note_of(&c, "relu")->acc.overflow, ITG_OVERFLOW_SATURATE);
    set_range(&c, "relu", 0, 17, -1, 1);
    refused(&c, ITG_INFEASIBLE, "relu");
    case_end(&c);
}

/* ---- ties ---- */

static const itg_quantizer *q_at(const sim_case *c, const char *node, int32_t slot)
{
    return &encoding_at(c, node, slot)->q;
}

/* x -> pool -> reshape -> two Relus and an output: five edges, one quantizer. */
static void ties_are_transitive_and_join_ranges(void **state)
{
    itg_graph *g = net_new();
    itg_attrs window = itg_attrs_default(ITG_OP_MAX_POOL);
    const int64_t flat[] = {1, 4};
    window.spatial_rank = 2;
    window.kernel[0] = window.kernel[1] = 2;
    window.stride[0] = window.stride[1] = 2;
    itg_id x = net_input(g, "x", "1,1,4,4"), pool = NODE(g, "pool", ITG_OP_MAX_POOL, &window, x);
    itg_id shape = NODE(g, "shape", ITG_OP_RESHAPE, NULL, pool, net_indices(g, "to", "2", flat));
    itg_id one = NODE(g, "one", ITG_OP_RELU, NULL, shape),
           two = NODE(g, "two", ITG_OP_RELU, NULL, shape);
    OUTPUTS(g, x, one, two, shape);
    sim_case c = case_new(
        g, chip("", U8, F32,
                RELU("'u8'", "'u8'") "," KEEP("MaxPool", "'u8'") "," KEEP("Reshape", "'u8'")));
    set_range(&c, "pool", 0, 7, -1, 1);
    set_range(&c, "shape", 0, 7, -0.25, 2);
    set_range(&c, "one", 0, 7, -3, 1);
    set_range(&c, "two", 0, 7, 0, 0);
    set_range(&c, NULL, 2, 7, 0.5, 0.75);
    set_range(&c, NULL, 0, 4, 0, 1);
    set_range(&c, NULL, 1, 5, 0, 1);
    annotated(&c);
    expectation e = expected(&classes[1], 7, -3, 2, false);
    const char *const nodes[] = {"pool", "shape", "one", "two", NULL};
    for (int i = 0; i < 5; i++) {
        const itg_quantizer *q = q_at(&c, nodes[i], i < 4 ? 0 : 2);
        assert_true(q->scale[0] == e.scale && q->zero_point == e.zero && q->bits == 7);
    }
    assert_int_equal(q_at(&c, NULL, 0)->bits, 4);
    assert_int_equal(q_at(&c, NULL, 1)->bits, 5);
    set_range(&c, "two", 0, 1, 0, 0);
    refused(&c, ITG_MISMATCH,
            "net.onnx: strategy: edge 3 ('shape' into 'two') has 1 bits, expected 2 to 32");
    set_range(&c, "two", 0, 6, 0, 0);
    refused(&c, ITG_INFEASIBLE,
            "net.onnx: strategy: edges 0 and 3 ('shape') must have equal bits, not 7 and 6");
    case_end(&c);
    (void)state;
}

static void concat_ties_all_its_operands_and_constants(void **state)
{
    itg_graph *g = net_new();
    itg_attrs axis = itg_attrs_default(ITG_OP_CONCAT);
    axis.axis = 1;
    itg_id x = net_input(g, "x", "1,2"), relu = NODE(g, "relu", ITG_OP_RELU, NULL, x);
    itg_id k = net_constant(g, "k", "1,1", FLOATS(-4));
    itg_id y = NODE(g, "cat", ITG_OP_CONCAT, &axis, relu, k, x);
    OUTPUTS(g, x, y);
    sim_case c = case_new(g, chip("", U8, F32, RELU("'u8'", "'u8'") "," KEEP("Concat", "'u8'")));
    set_range(&c, "relu", 0, 8, -1, 1);
    set_range(&c, "cat", 0, 8, 0, 1);
    set_range(&c, "cat", 1, 8, -4, 0);
    set_range(&c, "cat", 2, 8, -1, 1.1);
    set_range(&c, NULL, 0, 8, 0, 0);
    annotated(&c);
    expectation e = expected(&classes[1], 8, -4, 1.1, false);
    for (int i = 0; i < 4; i++) {
        const itg_quantizer *q = q_at(&c, i < 3 ? "cat" : NULL, i < 3 ? i : 0);
        assert_true(q->scale[0] == e.scale && q->zero_point == e.zero);
    }
    /* the Relu's own input edge reads x under another quantizer: x has two encodings */
    assert_true(q_at(&c, "relu", 0)->scale[0] == (float)(2.0 / 255));
    assert_int_equal(c.a->values[x].encoding_count, 2);
    case_end(&c);
    (void)state;
}

static void equal_scale_ties_operands_and_not_the_result(void **state)
{
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,2"), relu = NODE(g, "relu", ITG_OP_RELU, NULL, x),
           y = NODE(g, "add", ITG_OP_ADD, NULL, relu, x);
    OUTPUTS(g, x, y);
    sim_case c =
        case_new(g, chip("", S8, F32,
                         RELU("'s8'", "'s8'") ",'Add':[{'arithmetic':'equal_scale','inputs':['s8'],"
                                              "'outputs':['s8'],'requantize':'r'}]"));
    set_range(&c, "relu", 0, 8, -1, 1);
    set_range(&c, "add", 0, 6, 0, 3);
    set_range(&c, "add", 1, 6, -1, 2);
    set_range(&c, NULL, 0, 8, -5, 5);
    annotated(&c);
    assert_true(q_at(&c, "add", 0)->scale[0] == (float)(3.0 / 31));
    assert_true(q_at(&c, "add", 1)->scale[0] == (float)(3.0 / 31));
    assert_true(q_at(&c, NULL, 0)->scale[0] == (float)(5.0 / 127));
    assert_true(q_at(&c, "relu", 0)->scale[0] == (float)(1.0 / 127));
    set_range(&c, "add", 1, 7, -1, 2);
    refused(&c, ITG_INFEASIBLE,
            "net.onnx: strategy: edges 1 and 2 ('x') must have equal bits, not 6 and 7");
    case_end(&c);
    (void)state;
}

/* ---- encodings ---- */

static sim_case gemm_case(itg_graph *g, const char *head, const char *extra)
{
    char operators[1000];
    snprintf(operators, sizeof operators, GEMM("'u8'", "'u8'") "%s", extra);
    return case_new(g, chip(head, U8 "," W, F32, operators));
}

/* gemm at 8, 3 and again 8 bits: two integer encodings, each made from the accumulator. */
static void encodings_are_shared_when_equal_and_requantized_from_the_accumulator(void **state)
{
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,1"), y = net_gemm(g, "gemm", x, "1,1", FLOATS(1), ITG_NONE);
    itg_id one = NODE(g, "one", ITG_OP_RELU, NULL, y), two = NODE(g, "two", ITG_OP_RELU, NULL, y);
    OUTPUTS(g, x, y, one, two, y);
    sim_case c = gemm_case(g, "", "," RELU("'u8'", "'u8'"));
    int differ = 0;
    (void)state;
    set_range(&c, "gemm", 0, 8, 0, 255);
    set_weights(&c, "gemm", 8, 1, (double[]){127}); /* code 1 at scale 1 */
    set_range(&c, "one", 0, 8, 0, 765);
    set_range(&c, "two", 0, 3, 0, 210);
    set_range(&c, NULL, 0, 8, 0, 765);
    set_range(&c, NULL, 3, 3, 0, 210);
    set_range(&c, NULL, 1, 8, 0, 100);
    set_range(&c, NULL, 2, 8, 0, 100);
    annotated(&c);
    assert_int_equal(c.a->values[y].encoding_count, 2);
    assert_ptr_equal(encoding_at(&c, "one", 0), encoding_at(&c, NULL, 0));
    assert_ptr_equal(encoding_at(&c, "two", 0), encoding_at(&c, NULL, 3));
    for (int v = 0; v < 256; v++) { /* scales: x 1, first 3, second 30 */
        run(&c, FLOATS((float)v));
        int64_t first = f32_code(v, 1.0f / 3.0f, 0, 0, 255),
                second = f32_code(v, 1.0f / 30.0f, 0, 0, 7);
        assert_int_equal(output_code(&c, 0, 0), first);
        assert_int_equal(output_code(&c, 3, 0), second);
        differ += second != f32_code(first, 0.1f, 0, 0, 7);
    }
    assert_true(differ > 0); /* a copy of a copy would have been seen */
    case_end(&c);
}

/* ---- fused edges and clip ---- */

static itg_graph *gemm_and(itg_op op, float lo, float hi, bool used_twice)
{
    itg_graph *g = net_new();
    itg_attrs clip = itg_attrs_default(op);
    clip.min = lo;
    clip.max = hi;
    itg_id x = net_input(g, "x", "1,1"), y = net_gemm(g, "gemm", x, "1,1", FLOATS(1), ITG_NONE),
           z = NODE(g, "act", op, &clip, y);
    if (used_twice)
        OUTPUTS(g, x, z, y);
    else
        OUTPUTS(g, x, z);
    return g;
}

static void a_fused_activation_is_a_carry_and_a_clamp(void **state)
{
    static const struct {
        float lo, hi;
    } clips[] = {{0, 6},       {-1, 1}, {-INFINITY, 3}, {-2, INFINITY}, {-100, 100},
                 {0.1f, 0.1f}, {5, -5}, {50, 60},       {-60, -50},     {-INFINITY, INFINITY}};
    (void)state;
    for (size_t i = 0; i <= sizeof clips / sizeof *clips; i++) {
        bool relu = i == sizeof clips / sizeof *clips;
        sim_case c = gemm_case(gemm_and(relu ? ITG_OP_RELU : ITG_OP_CLIP, relu ? 0 : clips[i].lo,
                                        relu ? 0 : clips[i].hi, false),
                               "'fuse':[['Gemm','Relu'],['Gemm','Clip']],", "");
        set_range(&c, "gemm", 0, 8, -1, 1);
        set_weights(&c, "gemm", 8, 1, (double[]){1});
        set_range(&c, NULL, 0, 8, -4, 8.75); /* scale 0.05, zero point 80 */
        annotated(&c);
        assert_null(encoding_at(&c, "act", 0));
        assert_int_equal(c.a->edges[case_edge(&c, "act", 0)].kind, ITG_EDGE_FUSED);
        assert_int_equal(note_of(&c, "act")->form, ITG_FORM_FUSED);
        assert_int_equal(note_of(&c, "gemm")->activation, itg_graph_find_node(c.g, "act"));
        assert_int_equal(note_of(&c, "gemm")->out_value, c.g->outputs[0]);
        assert_int_equal(c.a->values[itg_graph_find_value(c.g, "gemm")].encoding_count, 0);
        const itg_encoding *v = encoding_at(&c, NULL, 0);
        double s = (double)(float)(12.75 / 255), lo = relu ? 0 : (double)clips[i].lo,
               hi = relu ? INFINITY : (double)clips[i].hi;
        if (hi < lo) lo = hi; /* ONNX: the upper bound wins */
        int64_t clamp_lo = (int64_t)fmin(fmax(nearbyint(lo / s) + 80, 0), 255),
                clamp_hi = (int64_t)fmin(fmax(nearbyint(hi / s) + 80, 0), 255);
        assert_int_equal(v->q.zero_point, 80);
        assert_int_equal(v->clamp_lo, clamp_lo);
        assert_int_equal(v->clamp_hi, clamp_hi < clamp_lo ? clamp_lo : clamp_hi);
        case_end(&c);
    }
}

static void no_fusion_without_the_pattern_or_with_two_uses(void **state)
{
    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        sim_case c = gemm_case(gemm_and(ITG_OP_RELU, 0, 0, twice),
                               twice ? "'fuse':[['Gemm','Relu']]," : "", "," RELU("'u8'", "'u8'"));
        set_all(&c, 8, 8, -1, 1, false);
        annotated(&c);
        assert_int_equal(note_of(&c, "act")->form, ITG_FORM_RESCALE);
        assert_int_equal(note_of(&c, "gemm")->activation, ITG_NONE);
        assert_non_null(encoding_at(&c, "act", 0));
        /* an unfused Relu clips its own output at its zero point */
        assert_int_equal(encoding_at(&c, NULL, 0)->clamp_lo,
                         127); /* 127.5 in exact numbers; less with the float32 scale */
        assert_int_equal(encoding_at(&c, "act", 0)->clamp_lo, 0);
        case_end(&c);
    }
}

static void no_fusion_where_the_strategy_leaves_the_activation_in_float(void **state)
{
    sim_case c =
        gemm_case(gemm_and(ITG_OP_RELU, 0, 0, false), "'float':true,'fuse':[['Gemm','Relu']],", "");
    (void)state;
    set_range(&c, "gemm", 0, 8, -1, 1);
    set_weights(&c, "gemm", 8, 1, (double[]){1});
    c.s->node_conds[itg_graph_find_node(c.g, "act")] = false;
    annotated(&c);
    assert_int_equal(note_of(&c, "act")->form, ITG_FORM_FLOAT);
    assert_true(encoding_at(&c, "act", 0)->is_float);
    assert_string_equal(note_of(&c, "act")->reason, "the strategy leaves it in float");
    run(&c, FLOATS(-0.5f));
    assert_true(output_real(&c, 0, 0) == 0);
    case_end(&c);
}

/* ---- edges without quantizers ---- */

static void inputs_that_are_outputs_and_indices(void **state)
{
    itg_graph *g = net_new();
    itg_attrs arg = itg_attrs_default(ITG_OP_ARG_MAX);
    arg.axis = 1;
    itg_id x = net_input(g, "x", "1,4"), best = NODE(g, "best", ITG_OP_ARG_MAX, &arg, x);
    OUTPUTS(g, x, best, x, x);
    sim_case c = case_new(g, chip("", U8, "", KEEP("ArgMax", "'u8'")));
    (void)state;
    set_range(&c, "best", 0, 4, 0, 15);
    set_range(&c, NULL, 1, 8, 0, 255);
    annotated(&c);
    assert_int_equal(c.a->edges[case_edge(&c, NULL, 0)].kind, ITG_EDGE_FLOAT);
    assert_int_equal(c.a->edges[case_edge(&c, NULL, 1)].kind, ITG_EDGE_QUANT);
    assert_int_equal(c.a->edges[case_edge(&c, NULL, 2)].kind, ITG_EDGE_FLOAT);
    run(&c, FLOATS(1, 20.4f, 30, -7)); /* 20.4 and 30 are both code 15 at 4 bits: the first wins */
    assert_int_equal(output_code(&c, 0, 0), 1);
    assert_int_equal(output_code(&c, 1, 1), 20);
    assert_int_equal(output_code(&c, 1, 2), 30);
    assert_int_equal(output_code(&c, 1, 3), 0);
    assert_true(output_real(&c, 2, 1) == 20.4f && output_real(&c, 2, 3) == -7);
    set_range(&c, NULL, 0, 8, 0, 1);
    refused(&c, ITG_MISMATCH, "expected 0 (nothing to quantize there)");
    case_end(&c);
}

static void bias_carry_and_float_edges_have_no_bits(void **state)
{
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,1"),
           y = net_gemm(g, "gemm", x, "1,1", FLOATS(1), net_constant(g, "b", "1", FLOATS(0.5f)));
    itg_id r = NODE(g, "relu", ITG_OP_RELU, NULL, y), f = NODE(g, "soft", ITG_OP_SOFTMAX, NULL, r);
    OUTPUTS(g, x, f);
    sim_case c = gemm_case(g, "'float':true,'fuse':[['Gemm','Relu']],", "");
    static const struct {
        const char *node;
        int32_t slot;
    } plain[] = {{"gemm", 2}, {"relu", 0}, {"soft", 0}};
    set_range(&c, "gemm", 0, 8, -1, 1);
    set_weights(&c, "gemm", 8, 1, (double[]){1});
    annotated(&c);
    assert_true(encoding_at(&c, "gemm", 2)->is_float && encoding_at(&c, "soft", 0)->is_float);
    for (int i = 0; i < 3; i++) {
        set_range(&c, plain[i].node, plain[i].slot, 8, -1, 1);
        refused(&c, ITG_MISMATCH, "expected 0");
        set_range(&c, plain[i].node, plain[i].slot, 0, 0, 0);
    }
    case_end(&c);
    (void)state;
}

/* ---- refusals ---- */

static void bits_outside_2_to_32(void **state)
{
    static const int32_t bad[] = {0, 1, 33, -8, INT32_MAX, INT32_MIN};
    sim_case c = case_new(
        one_relu(), chip("", "'s32':{'storage':'s32','bits':[2,32]}", F32, RELU("'s32'", "'s32'")));
    (void)state;
    set_range(&c, NULL, 0, 8, 0, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        set_range(&c, "relu", 0, bad[i], -1, 1);
        refused(&c, ITG_MISMATCH, "edge 0 ('x' into 'relu')");
    }
    set_range(&c, "relu", 0, 32, -1, 1);
    annotated(&c);
    case_end(&c);
}

static void thresholds_that_are_no_numbers(void **state)
{
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,2"), y = NODE(g, "add", ITG_OP_ADD, NULL, x, x);
    OUTPUTS(g, x, y);
    sim_case c = case_new(g, chip("", S8, F32,
                                  "'Add':[{'arithmetic':'equal_scale','inputs':['s8'],'outputs':['"
                                  "s8'],'requantize':'r'}]"));
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    set_range(&c, NULL, 0, 8, -1, 1);
    for (int slot = 0; slot < 2; slot++) /* each of two tied edges */
        for (int i = 0; i < 6; i++) {
            set_range(&c, "add", 1 - slot, 8, -1, 1);
            set_range(&c, "add", slot, 8, i < 3 ? bad[i % 3] : -1, i < 3 ? 1 : bad[i % 3]);
            refused(&c, ITG_MISMATCH,
                    slot == 0 ? "net.onnx: strategy: edge 0 has no finite threshold"
                              : "net.onnx: strategy: edge 1 has no finite threshold");
        }
    set_range(&c, "add", 1, 8, -1e300, 1);
    set_range(&c, "add", 0, 8, -1, 1);
    refused(&c, ITG_INFEASIBLE,
            "net.onnx: value 'x': the range [-1e+300, 1] is too wide to quantize");
    case_end(&c);
    (void)state;
}

static void activations_with_thresholds_of_channels(void **state)
{
    sim_case c = case_new(one_relu(), chip("", U8, F32, RELU("'u8'", "'u8'")));
    (void)state;
    set_range(&c, "relu", 0, 8, -1, 1);
    set_range(&c, NULL, 0, 8, 0, 1);
    annotated(&c);
    c.s->edges[0].channel = (const double[]){1};
    c.s->edges[0].channel_count = 1;
    refused(&c, ITG_MISMATCH, "edge 0 ('x' into 'relu')");
    case_end(&c);
}

static void a_topology_that_the_hardware_does_not_have(void **state)
{
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,4"), y = NODE(g, "soft", ITG_OP_SOFTMAX, NULL, x),
           z = NODE(g, "relu", ITG_OP_RELU, NULL, y);
    OUTPUTS(g, x, z);
    sim_case c = case_new(g, chip("'float':true,", U8, F32, RELU("'u8'", "'u8'")));
    set_range(&c, "relu", 0, 8, 0, 1);
    set_range(&c, NULL, 0, 8, 0, 1);
    annotated(&c);
    c.s->node_conds[0] = true;
    refused(&c, ITG_MISMATCH, "'soft' (Softmax): the strategy quantizes it, the hardware cannot");
    case_end(&c);
    /* and float where there is no float */
    c = case_new(one_relu(), chip("", U8, F32, RELU("'u8'", "'u8'")));
    c.s->node_conds[0] = false;
    refused(&c, ITG_MISMATCH,
            "'relu' (Relu): the strategy leaves it in float, and chip has no float");
    case_end(&c);
    (void)state;
}

static void a_strategy_of_another_size(void **state)
{
    sim_case c = case_new(one_relu(), chip("", U8, F32, RELU("'u8'", "'u8'")));
    (void)state;
    c.s->edge_count--;
    refused(&c, ITG_MISMATCH, "the strategy has 1 nodes and 1 edges, the graph 1 and 2");
    c.s->edge_count++;
    c.s->node_count++;
    refused(&c, ITG_MISMATCH, "the strategy has 2 nodes and 2 edges, the graph 1 and 2");
    c.s->node_count--;
    case_end(&c);
}

/* Integer operands whose exact products or shifted values would not fit 63 bits are refused, not
 * computed wrongly. */
static void operands_beyond_63_bits(void **state)
{
    static const char wide[] = "'z':{'storage':'s32','bits':[2,32],'zero_point':true}";
    static const char *const operators[] = {
        "'Mul':[{'arithmetic':'product','inputs':['z'],'outputs':['z'],'requantize':'r'}]",
        "'Add':[{'arithmetic':'rescale','inputs':['z'],'outputs':['z'],'requantize':'r','left_"
        "shift':31}]",
        "'MatMul':[{'arithmetic':'mac','inputs':['z'],'outputs':['z'],'requantize':'r','"
        "accumulator':{'bits':64}}]"};
    static const itg_op ops[] = {ITG_OP_MUL, ITG_OP_ADD, ITG_OP_MATMUL};
    (void)state;
    for (int i = 0; i < 3; i++) {
        itg_graph *g = net_new();
        itg_id x = net_input(g, "x", "2,2"), y = NODE(g, "node", ops[i], NULL, x, x);
        OUTPUTS(g, x, y);
        sim_case c = case_new(g, chip("", wide, F32, operators[i]));
        set_all(&c, 0, 32, 0, 1, false); /* zero point -2^31: codes reach 2^32 - 1 from it */
        refused(&c, ITG_INFEASIBLE, "node");
        set_all(&c, 0, 31, 0, 1, false);
        annotated(&c);
        run(&c, FLOATS(1, 1, 1, 1)); /* the largest codes: the sanitizer looks on */
        case_end(&c);
    }
}

/* ---- the whole ---- */

static void annotation_is_pure(void **state)
{
    sim_case c = gemm_case(gemm_and(ITG_OP_RELU, 0, 0, true), "", "," RELU("'u8'", "'u8'"));
    itg_strbuf first = {0}, second = {0};
    (void)state;
    set_all(&c, 5, 6, -1, 1, false);
    annotated(&c);
    itg_annotated_print(c.a, &first);
    annotated(&c);
    itg_annotated_print(c.a, &second);
    assert_true(itg_strbuf_ok(&first) && strlen(first.text) > 200);
    assert_string_equal(first.text, second.text);
    itg_strbuf_deinit(&first);
    itg_strbuf_deinit(&second);
    case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_class_width_and_range),
        cmocka_unit_test(ranges_computed_by_hand),
        cmocka_unit_test(the_first_class_that_all_touching_lists_hold),
        cmocka_unit_test(the_first_spec_that_admits_the_bits),
        cmocka_unit_test(ties_are_transitive_and_join_ranges),
        cmocka_unit_test(concat_ties_all_its_operands_and_constants),
        cmocka_unit_test(equal_scale_ties_operands_and_not_the_result),
        cmocka_unit_test(encodings_are_shared_when_equal_and_requantized_from_the_accumulator),
        cmocka_unit_test(a_fused_activation_is_a_carry_and_a_clamp),
        cmocka_unit_test(no_fusion_without_the_pattern_or_with_two_uses),
        cmocka_unit_test(no_fusion_where_the_strategy_leaves_the_activation_in_float),
        cmocka_unit_test(inputs_that_are_outputs_and_indices),
        cmocka_unit_test(bias_carry_and_float_edges_have_no_bits),
        cmocka_unit_test(bits_outside_2_to_32),
        cmocka_unit_test(thresholds_that_are_no_numbers),
        cmocka_unit_test(activations_with_thresholds_of_channels),
        cmocka_unit_test(a_topology_that_the_hardware_does_not_have),
        cmocka_unit_test(a_strategy_of_another_size),
        cmocka_unit_test(operands_beyond_63_bits),
        cmocka_unit_test(annotation_is_pure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
