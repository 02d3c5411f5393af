/* Inspection: each edge, float against simulated, by direct formulas over all samples at once. */
#include "case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sim/edge_histogram.h"
#include "sim/sim.h"
#include "sim/strategy_file.h"

enum { SAMPLES = 70, INPUTS = 3 };
#define FLOATS(...) ((const float[]){__VA_ARGS__})

static char path[] = "data.npy";

/* x -> gemm (relu fused) -> y, and gemm of y with a small saturating accumulator */
static sim_case make_case(const char *accumulator)
{
    char operators[300];
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,3"),
           a = net_gemm(g, "one", x, "2,3", FLOATS(1, -0.3f, 0.7f, 0.1f, 0.9f, -1),
                        net_constant(g, "b", "2", FLOATS(0.5f, -0.1f)));
    itg_id r = NODE(g, "relu", ITG_OP_RELU, NULL, a),
           b = net_gemm(g, "two", r, "2,2", FLOATS(1, 0.9f, 0.8f, -0.7f), ITG_NONE);
    OUTPUTS(g, x, b, r);
    snprintf(operators, sizeof operators,
             "'Gemm':[{'arithmetic':'mac','inputs':['u8'],'weights':['w'],'outputs':['u8'],'"
             "requantize':'r','accumulator':{%s},'bias_bits':14}]",
             accumulator);
    return case_new(g, chip("'fuse':[['Gemm','Relu']],",
                            "'u8':{'storage':'u8','bits':[2,8],'zero_point':true},'w':{'storage':'"
                            "s8','bits':[2,8]}",
                            "'r':{'form':'f32'}", operators));
}

static void fill(float *x, double spread)
{
    itg_rng rng;
    itg_rng_init(&rng, 1);
    for (int i = 0; i < SAMPLES * INPUTS; i++)
        x[i] = (float)random_real(&rng, -spread, spread);
}

static itg_inspection *inspect(const sim_case *c, float *x, int threads)
{
    itg_model *model = c->g;
    itg_strategy_file file = {
        .strategy = c->s, .hardware = c->hw, .preprocess = itg_preprocess_default()};
    itg_dataset data = {.dtype = ITG_F32, .shape = {2, {SAMPLES, INPUTS}}, .data = x, .path = path};
    itg_inspection *out = NULL;
    itg_error err = {0};
    file.preprocess.allow_nonfinite = true;
    if (itg_inspect(model, &file, c->a, &data, threads, &out, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return out;
}

/* All elements of an edge over all samples. */
typedef struct columns {
    int64_t n, saturated, overflowed;
    double real[SAMPLES * 4], sim[SAMPLES * 4];
} columns;

typedef struct float_value {
    itg_id value;
    int64_t count; /* 0: a constant, or too many for the columns */
    float data[4];
} float_value;

static void keep_value(void *context, itg_id value, const itg_tensor *tensor)
{
    float_value *v = context;
    int64_t n = 0;
    if (value != v->value) return;
    assert_true(itg_shape_elements(&tensor->shape, &n));
    if (n > 4) return;
    v->count = n;
    memcpy(v->data, tensor->data, (size_t)n * sizeof *v->data);
}

static void collect(const sim_case *c, const float *x, int32_t edge, columns *out)
{
    itg_float_exec *exec = NULL;
    itg_sim *sim = NULL;
    memset(out, 0, sizeof *out);
    assert_int_equal(itg_float_exec_create(c->g, ITG_FLOAT_REFERENCE, &exec, NULL), ITG_OK);
    assert_int_equal(itg_sim_create(c->a, &sim, NULL), ITG_OK);
    for (int i = 0; i < SAMPLES; i++) {
        float values[8];
        itg_edge_events events = {0};
        memcpy(itg_float_exec_input(exec, 0), x + i * INPUTS, sizeof *x * INPUTS);
        memcpy(itg_sim_input(sim, 0), x + i * INPUTS, sizeof *x * INPUTS);
        float_value reference = {.value = c->a->edges[edge].value};
        const itg_value *v = &c->g->values[reference.value];
        const itg_tensor constant = {v->dtype, v->shape, (void *)(uintptr_t)v->data};
        if (v->data) keep_value(&reference, reference.value, &constant);
        assert_int_equal(itg_float_exec_visit(exec, keep_value, &reference, NULL), ITG_OK);
        assert_int_equal(itg_sim_run(sim, NULL), ITG_OK);
        if (!itg_sim_edge(sim, edge, values, &events)) continue;
        for (int64_t k = 0; k < reference.count; k++) {
            out->real[out->n] = (double)reference.data[k];
            out->sim[out->n++] = (double)values[k];
        }
        out->saturated += events.saturated;
        out->overflowed += events.overflowed;
    }
    itg_float_exec_destroy(exec);
    itg_sim_destroy(sim);
}

static bool near(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

static void check_side(const double *v, int64_t n, double lo, double hi, double mean,
                       double deviation)
{
    double least = v[0], most = v[0], sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        least = fmin(least, v[i]);
        most = fmax(most, v[i]);
        sum += v[i];
    }
    for (int64_t i = 0; i < n; i++)
        squares += (v[i] - sum / (double)n) * (v[i] - sum / (double)n);
    assert_true(lo == least && hi == most);
    assert_true(near(mean, sum / (double)n) && near(deviation * deviation, squares / (double)n));
}

static const itg_edge_report *report_of(const itg_inspection *inspection, int32_t edge)
{
    for (int32_t i = 0; i < itg_inspection_count(inspection); i++)
        if (itg_inspection_edge(inspection, i)->index == edge)
            return itg_inspection_edge(inspection, i);
    return NULL;
}

static void every_edge_by_direct_formulas(void **state)
{
    static columns d;
    float x[SAMPLES * INPUTS];
    sim_case c = make_case("'bits':32");
    int checked = 0;
    (void)state;
    fill(x, 1.3);
    set_all(&c, 8, 7, -1, 1, false);
    annotated(&c);
    itg_inspection *inspection = inspect(&c, x, 1);
    for (int32_t e = 0; e < c.a->edge_count; e++) {
        const itg_edge *edge = &c.a->edges[e];
        const itg_edge_report *r = report_of(inspection, e);
        collect(&c, x, e, &d);
        if (edge->kind == ITG_EDGE_FUSED) assert_null(r);
        if (d.n == 0) continue;
        assert_non_null(r);
        check_side(d.real, d.n, r->float_min, r->float_max, r->float_mean, r->float_std);
        check_side(d.sim, d.n, r->sim_min, r->sim_max, r->sim_mean, r->sim_std);
        double power = 0, error = 0;
        for (int64_t i = 0; i < d.n; i++) {
            power += d.real[i] * d.real[i];
            error += (d.real[i] - d.sim[i]) * (d.real[i] - d.sim[i]);
        }
        if (error == 0)
            assert_true(isinf(r->sqnr_db) && r->sqnr_db > 0);
        else
            assert_true(near(r->sqnr_db, 10 * log10(power / error)));
        assert_true(r->saturated == (double)d.saturated / (double)d.n &&
                    r->overflowed == (double)d.overflowed / (double)d.n);
        assert_string_equal(r->value, c.g->values[edge->value].name);
        assert_int_equal(r->slot, edge->slot);
        if (edge->node == ITG_NONE)
            assert_null(r->node);
        else
            assert_string_equal(r->node, c.g->nodes[edge->node].name);
        assert_int_equal(r->bits, edge->kind == ITG_EDGE_QUANT ? c.s->edges[e].bits : 32);
        checked++;
    }
    assert_true(checked >= 5);
    for (int32_t i = 1; i < itg_inspection_count(inspection); i++) {
        const itg_edge_report *a = itg_inspection_edge(inspection, i - 1),
                              *b = itg_inspection_edge(inspection, i);
        assert_true(a->sqnr_db < b->sqnr_db || (a->sqnr_db == b->sqnr_db && a->index < b->index));
    }
    itg_inspection_destroy(inspection);
    itg_inspection_destroy(NULL);
    case_end(&c);
}

static void threads_change_nothing(void **state)
{
    float x[SAMPLES * INPUTS];
    sim_case c = make_case("'bits':14,'overflow':'saturate'");
    (void)state;
    fill(x, 2);
    set_all(&c, 8, 5, -1, 1, false);
    annotated(&c);
    itg_inspection *one = inspect(&c, x, 1);
    for (int threads = 2; threads <= 4; threads++) {
        itg_inspection *many = inspect(&c, x, threads);
        assert_int_equal(itg_inspection_count(one), itg_inspection_count(many));
        for (int32_t i = 0; i < itg_inspection_count(one); i++) {
            const itg_edge_report *a = itg_inspection_edge(one, i),
                                  *b = itg_inspection_edge(many, i);
            assert_true(a->index == b->index && a->sqnr_db == b->sqnr_db &&
                        a->float_std == b->float_std && a->sim_mean == b->sim_mean &&
                        a->saturated == b->saturated && a->overflowed == b->overflowed);
        }
        itg_inspection_destroy(many);
    }
    itg_inspection_destroy(one);
    case_end(&c);
}

/* Half of the inputs lie beyond the range; every sum of the second gemm leaves 14 bits. */
static void shares_of_a_case_built_to_saturate_and_overflow(void **state)
{
    float x[SAMPLES * INPUTS];
    sim_case c = make_case("'bits':14,'overflow':'saturate'");
    (void)state;
    for (int i = 0; i < SAMPLES * INPUTS; i++)
        x[i] = i % 2 ? 0.5f : 3.0f;
    set_all(&c, 8, 8, -1, 1, false);
    set_range(&c, "two", 0, 8, 0, 0.001); /* codes 255 wherever the Relu lets anything through */
    annotated(&c);
    itg_inspection *inspection = inspect(&c, x, 2);
    const itg_edge_report *input = report_of(inspection, 0),
                          *second = report_of(inspection, case_edge(&c, NULL, 0)),
                          *middle = report_of(inspection, case_edge(&c, "two", 0));
    assert_true(input->saturated == 0.5 && input->overflowed == 0);
    assert_true(input->sim_max <= 1.01 && input->float_max == 3);
    assert_true(middle->saturated > 0.4);
    assert_true(second->overflowed > 0.9); /* 255 * 127 is over 2^13 */
    itg_inspection_destroy(inspection);
    case_end(&c);
}

/* NaN samples: every comparison with them is false, yet order and reports stay defined. */
static void samples_that_are_no_numbers(void **state)
{
    float x[SAMPLES * INPUTS];
    sim_case c = make_case("'bits':32");
    (void)state;
    fill(x, 1);
    x[4] = NAN;
    set_all(&c, 8, 8, -1, 1, false);
    annotated(&c);
    itg_inspection *inspection = inspect(&c, x, 3);
    int32_t n = itg_inspection_count(inspection);
    bool numbers = false;
    assert_true(isnan(
        itg_inspection_edge(inspection, 0)->sqnr_db)); /* worse than everything that has a number */
    for (int32_t i = 0; i < n; i++) {
        bool is_nan = isnan(itg_inspection_edge(inspection, i)->sqnr_db);
        assert_false(is_nan && numbers);
        numbers = numbers || !is_nan;
        for (int32_t k = 0; k < i; k++)
            assert_int_not_equal(itg_inspection_edge(inspection, i)->index,
                                 itg_inspection_edge(inspection, k)->index);
    }
    assert_true(numbers); /* weights and biases */
    itg_inspection_destroy(inspection);
    case_end(&c);
}

static void data_that_does_not_fit(void **state)
{
    float x[SAMPLES * INPUTS];
    sim_case c = make_case("'bits':32");
    itg_model *model = c.g;
    itg_strategy_file file = {
        .strategy = c.s, .hardware = c.hw, .preprocess = itg_preprocess_default()};
    itg_dataset data = {
        .dtype = ITG_F32, .shape = {2, {SAMPLES, INPUTS - 1}}, .data = x, .path = path};
    itg_inspection *out = NULL;
    itg_error err = {0};
    (void)state;
    set_all(&c, 8, 8, -1, 1, false);
    annotated(&c);
    assert_int_not_equal(itg_inspect(model, &file, c.a, &data, 1, &out, &err), ITG_OK);
    assert_non_null(strstr(err.message, path));
    assert_null(out);
    data.shape = (itg_shape){2, {0, INPUTS}};
    assert_int_equal(itg_inspect(model, &file, c.a, &data, 1, &out, &err), ITG_OK);
    assert_int_equal(itg_inspection_count(out), 0);
    itg_inspection_destroy(out);
    case_end(&c);
}

/* Two channels of 4-bit codes, a bin for each code: values beyond the codes are in the outermost
 * bins, ties go up, and NaN is in the first bin. Of 8 bits a bin holds four codes. */
static void histograms_count_in_codes(void **state)
{
    (void)state;
    enum { VALUES = 8 };
    static const float scales[] = {1, 0.5F},
                       real[VALUES] = {0.4F, -0.5F, 99, -99, 0.75F, -4.2F, 3.6F, NAN},
                       codes[VALUES] = {0, 0, 7, -8, 1, -4, 3.5F, 0};
    const itg_quantizer q = {4, true, ITG_S8, -8, 7, 0, 0, 2, scales};
    const itg_shape shape = {2, {2, 4}};
    itg_edge_histogram h = itg_edge_histogram_of(&q);
    assert_int_equal(h.width, 1);
    assert_int_equal(h.first, -8 - ITG_EDGE_MARGIN);
    assert_int_equal(h.count, 16 + 2 * ITG_EDGE_MARGIN);
    itg_edge_histogram_add(&h, &q, &shape, real, codes, VALUES);
    const int32_t zero = 8 + ITG_EDGE_MARGIN, last = h.count - 1;
    assert_int_equal(h.floats[zero], 2);
    assert_int_equal(h.floats[last], 1);
    assert_int_equal(h.floats[0], 1 + 1);
    assert_int_equal(h.floats[zero + 2], 1); /* 0.75 / 0.5 */
    assert_int_equal(h.floats[zero - 8], 1); /* -8.4 */
    assert_int_equal(h.floats[zero + 7], 1); /* 7.2 */
    assert_int_equal(h.codes[zero], 3);
    assert_int_equal(h.codes[zero + 7], 2);
    assert_int_equal(h.codes[zero - 8], 2);
    assert_int_equal(h.codes[zero + 2], 1);
    const itg_quantizer wide = {8, false, ITG_U8, 0, 255, 128, -1, 1, scales};
    h = itg_edge_histogram_of(&wide);
    assert_int_equal(h.width, 4);
    assert_int_equal(h.count, ITG_EDGE_BINS);
    itg_edge_histogram_add(&h, &wide, &shape, codes, codes, VALUES);
    assert_int_equal(h.codes[ITG_EDGE_MARGIN + 128 / 4], 4); /* 0, 0, 0, 1 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_edge_by_direct_formulas),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(shares_of_a_case_built_to_saturate_and_overflow),
        cmocka_unit_test(samples_that_are_no_numbers),
        cmocka_unit_test(data_that_does_not_fit),
        cmocka_unit_test(histograms_count_in_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
