/* Pools, means and moved data (docs/arithmetic.md 3), against loops written again. */
#include "formulas.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- pools ---- */

typedef struct pool_case {
    itg_attrs at;
    int64_t height, width, heights, widths;
} pool_case;

/* Sum (of x - zero), elements inside the input, elements inside the padded input; additions clamp
 * at `bits` if above 0. */
static void pool_at(const pool_case *p, const int64_t *x, int64_t zero, int64_t c, int64_t i,
                    int64_t j, int bits, int64_t *sum, int64_t *inside, int64_t *padded)
{
    const itg_attrs *a = &p->at;
    *sum = *inside = *padded = 0;
    for (int64_t r = 0; r < a->kernel[0]; r++)
        for (int64_t s = 0; s < a->kernel[1]; s++) {
            int64_t y = i * a->stride[0] - a->pad[0] + r * a->dilation[0],
                    z = j * a->stride[1] - a->pad[1] + s * a->dilation[1];
            *padded += y < p->height + a->pad[2] && z < p->width + a->pad[3];
            if (y < 0 || y >= p->height || z < 0 || z >= p->width) continue;
            ++*inside;
            *sum += x[(c * p->height + y) * p->width + z] - zero;
            if (bits > 0) *sum = fit(*sum, bits, true);
        }
}

/* The window's elements as float, added in row-major order in float. */
static float float_sum_at(const pool_case *p, const int64_t *x, const itg_quantizer *q, int64_t c,
                          int64_t i, int64_t j)
{
    const itg_attrs *a = &p->at;
    float sum = 0;
    for (int64_t r = 0; r < a->kernel[0]; r++)
        for (int64_t s = 0; s < a->kernel[1]; s++) {
            int64_t y = i * a->stride[0] - a->pad[0] + r * a->dilation[0],
                    z = j * a->stride[1] - a->pad[1] + s * a->dilation[1];
            if (y >= 0 && y < p->height && z >= 0 && z < p->width)
                sum += real_of(x[(c * p->height + y) * p->width + z], q);
        }
    return sum;
}

static int64_t float_mean_code(float mean, const itg_quantizer *o)
{
    float steps = mean / o->scale[0];
    return (int64_t)nearbyint((double)(steps + (float)o->zero_point));
}

typedef enum pool_form { POOL_RESCALE, POOL_F32, POOL_KEEP, POOL_NARROW } pool_form;

enum { PLANES = 6 }; /* of two images */

static void check_pool(uint64_t seed, pool_form form, itg_rounding rounding)
{
    static const char *const operators[] = {
        ONE("AveragePool", "rescale", ",'requantize':'r'"), ONE("AveragePool", "f32", ""), NULL,
        ONE("AveragePool", "rescale",
            ",'requantize':'r','accumulator':{'bits':9,'overflow':'saturate'}")};
    char keep[200], shape[32];
    float in[PLANES * 9 * 9];
    int64_t x[PLANES * 9 * 9];
    itg_rng rng;
    itg_rng_init(&rng, seed);
    pool_case p = {.at = itg_attrs_default(ITG_OP_AVERAGE_POOL),
                   .height = 4 + (int64_t)itg_rng_below(&rng, 5),
                   .width = 4 + (int64_t)itg_rng_below(&rng, 5)};
    p.at.spatial_rank = 2;
    p.at.ceil_mode = itg_rng_below(&rng, 2);
    p.at.count_include_pad = itg_rng_below(&rng, 2);
    for (int d = 0; d < 2; d++) {
        p.at.kernel[d] = 1 + (int64_t)itg_rng_below(&rng, 3);
        p.at.stride[d] = 1 + (int64_t)itg_rng_below(&rng, 3);
        p.at.pad[d] = (int64_t)itg_rng_below(&rng, (uint64_t)p.at.kernel[d]);
        p.at.pad[d + 2] = (int64_t)itg_rng_below(&rng, (uint64_t)p.at.kernel[d]);
    }
    snprintf(keep, sizeof keep,
             "'AveragePool':[{'arithmetic':'keep_scale','inputs':['u8'],'rounding':'%s'}]",
             itg_rounding_name(rounding));
    snprintf(shape, sizeof shape, "2,3,%d,%d", (int)p.height, (int)p.width);
    itg_graph *g = net_new();
    itg_id id = net_input(g, "x", shape), y = NODE(g, "pool", ITG_OP_AVERAGE_POOL, &p.at, id);
    OUTPUTS(g, id, y, y);
    p.heights = g->values[y].shape.dims[2];
    p.widths = g->values[y].shape.dims[3];
    sim_case c = case_new(g, chip("", U8, TFLITE, form == POOL_KEEP ? keep : operators[form]));
    set_range(&c, "pool", 0, 8, -1, 1.5);
    set_range(&c, NULL, 0, 8, -1, form == POOL_KEEP ? 1.5 : 1.1);
    annotated(&c);
    int64_t n = PLANES * p.height * p.width, i = 0;
    random_floats(&rng, in, n, 1.6);
    run(&c, in);
    const itg_quantizer *a = &encoding_at(&c, "pool", 0)->q, *o = &encoding_at(&c, NULL, 0)->q;
    for (int64_t k = 0; k < n; k++)
        x[k] = code_of(in[k], a->scale[0], a->zero_point, 0, 255);
    for (int64_t ch = 0; ch < PLANES; ch++)
        for (int64_t r = 0; r < p.heights; r++)
            for (int64_t s = 0; s < p.widths; s++, i++) {
                int64_t sum, inside, padded, wanted;
                pool_at(&p, x, form == POOL_KEEP ? 0 : a->zero_point, ch, r, s,
                        form == POOL_NARROW ? 9 : 0, &sum, &inside, &padded);
                int64_t count = p.at.count_include_pad ? padded : inside;
                if (count < 1) count = 1;
                double scale = (double)a->scale[0] / (double)count,
                       ratio = scale / (double)o->scale[0];
                float mean = float_sum_at(&p, x, a, ch, r, s) / (float)count;
                if (form == POOL_KEEP)
                    wanted = limited(
                        divide(sum + (count - inside) * a->zero_point, count, rounding), 0, 255);
                else if (form == POOL_F32)
                    wanted = limited(float_mean_code(mean, o), 0, 255);
                else
                    wanted = limited(tflite(sum, ratio) + o->zero_point, 0, 255);
                if (output_code(&c, 0, i) != wanted)
                    fail_msg("seed %d form %d element %d: %d, expected %d", (int)seed, (int)form,
                             (int)i, (int)output_code(&c, 0, i), (int)wanted);
                float real = form == POOL_KEEP  ? real_of(wanted, o)
                             : form == POOL_F32 ? mean
                                                : (float)sum * (float)scale;
                assert_true(output_real(&c, 1, i) == real);
            }
    case_end(&c);
}

static void average_pools(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 80; seed++) {
        check_pool(seed, POOL_RESCALE, 0);
        check_pool(seed, POOL_F32, 0);
        check_pool(seed, POOL_NARROW, 0); /* clamps after every addition */
        check_pool(seed, POOL_KEEP, (itg_rounding)(seed % ITG_ROUNDING_COUNT));
    }
}

/* ReduceMean over axes 0 and 2 of [2,3,4], and a global pool; small accumulators that saturate on
 * the way. */
static void means_over_axes(void **state)
{
    float in[24];
    itg_rng rng;
    (void)state;
    for (int narrow = 0; narrow < 2; narrow++) {
        itg_graph *g = net_new();
        itg_attrs axes = itg_attrs_default(ITG_OP_REDUCE_MEAN);
        axes.axes_count = 2;
        axes.axes[0] = 0;
        axes.axes[1] = 2;
        axes.keepdims = narrow;
        itg_id x = net_input(g, "x", "2,3,4"), y = NODE(g, "mean", ITG_OP_REDUCE_MEAN, &axes, x);
        OUTPUTS(g, x, y, y);
        sim_case c = case_new(
            g, chip("", U8, F32,
                    narrow ? ONE("ReduceMean", "rescale",
                                 ",'requantize':'r','accumulator':{'bits':8,'overflow':'saturate'}")
                           : ONE("ReduceMean", "f32", "")));
        set_range(&c, "mean", 0, 8, -1, 1);
        set_range(&c, NULL, 0, 8, -0.6, 0.5);
        annotated(&c);
        const itg_quantizer *a = &encoding_at(&c, "mean", 0)->q, *o = &encoding_at(&c, NULL, 0)->q;
        for (uint64_t seed = 0; seed < 50; seed++) {
            itg_rng_init(&rng, seed);
            random_floats(&rng, in, 24, 1);
            run(&c, in);
            for (int k = 0; k < 3; k++) {
                int64_t sum = 0;
                for (int n = 0; n < 2; n++)
                    for (int i = 0; i < 4; i++) {
                        sum += code_of(in[n * 12 + k * 4 + i], a->scale[0], a->zero_point, 0, 255) -
                               a->zero_point;
                        if (narrow) sum = fit(sum, 8, true);
                    }
                double scale = (double)a->scale[0] / 8;
                float steps = o->scale[0] * 8,
                      ratio = narrow ? (float)(scale / (double)o->scale[0]) : a->scale[0] / steps;
                assert_int_equal(output_code(&c, 0, k),
                                 f32_code(sum, ratio, o->zero_point, 0, 255));
                assert_true(output_real(&c, 1, k) == (float)sum * (float)scale);
            }
        }
        case_end(&c);
    }
}

/* 2^22 codes of 32 bits: their sum needs 54 bits, and an accumulator that wraps shows its lowest
 * ones. */
static void sums_of_very_many_elements(void **state)
{
    enum { N = 1 << 22 };
    itg_graph *g = net_new();
    itg_attrs axes = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    axes.axes_count = 1;
    axes.axes[0] = 1;
    itg_id x = net_input(g, "x", "1,4194304"), y = NODE(g, "mean", ITG_OP_REDUCE_MEAN, &axes, x);
    OUTPUTS(g, x, y);
    sim_case c =
        case_new(g, chip("",
                         "'z':{'storage':'s32','bits':[2,32],'zero_point':true},'y':{'storage':'"
                         "s32','bits':[2,32]}",
                         F32,
                         "'ReduceMean':[{'arithmetic':'rescale','inputs':['z'],'outputs':['y'],'"
                         "requantize':'r','accumulator':{'bits':32,'overflow':'wrap'}}]"));
    float *in = malloc(sizeof *in * N);
    assert_non_null(in);
    for (int i = 0; i < N; i++)
        in[i] = i % 3 ? 1 : 0.75f;
    set_range(&c, "mean", 0, 32, 0, 1);
    set_range(&c, NULL, 0, 32, -0x1p-20, 0x1p-20);
    annotated(&c);
    run(&c, in);
    const itg_quantizer *a = &encoding_at(&c, "mean", 0)->q, *o = &encoding_at(&c, NULL, 0)->q;
    int64_t sum = 0, one = code_of(1, a->scale[0], a->zero_point, a->qmin, a->qmax) - a->zero_point,
            part = code_of(0.75f, a->scale[0], a->zero_point, a->qmin, a->qmax) - a->zero_point;
    for (int i = 0; i < N; i++)
        sum += i % 3 ? one : part;
    assert_true(sum > (int64_t)1 << 53);
    double ratio = (double)a->scale[0] / N / (double)o->scale[0];
    assert_int_equal(output_code(&c, 0, 0),
                     f32_code(fit(sum, 32, false), (float)ratio, 0, o->qmin, o->qmax));
    free(in);
    case_end(&c);
    (void)state;
}

static void a_global_pool_keeps_codes(void **state)
{
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,2,2,2"),
           y = NODE(g, "pool", ITG_OP_GLOBAL_AVERAGE_POOL, NULL, x),
           z = NODE(g, "most", ITG_OP_GLOBAL_MAX_POOL, NULL, x);
    OUTPUTS(g, x, y, z);
    sim_case c = case_new(g, chip("", U8, "",
                                  "'GlobalAveragePool':[{'arithmetic':'keep_scale','inputs':['u8'],"
                                  "'rounding':'half_away'}]," KEEP("GlobalMaxPool")));
    set_range(&c, "pool", 0, 8, -10, 245);
    set_range(&c, "most", 0, 8, -10, 245);
    set_range(&c, NULL, 0, 8, 0, 1);
    set_range(&c, NULL, 1, 8, 0, 1);
    annotated(&c);
    run(&c, FLOATS(0, 1, 2, 3, -10, -10, -9, -9));
    assert_int_equal(output_code(&c, 0, 0), 12); /* 10 + 1.5 away */
    assert_int_equal(output_code(&c, 0, 1), 1);  /* 0.5 away, over raw codes */
    assert_int_equal(output_code(&c, 1, 0), 13);
    assert_int_equal(output_code(&c, 1, 1), 1);
    case_end(&c);
    (void)state;
}

/* ---- data movement ---- */

static void padding_of_max_pool_never_wins_and_of_pad_is_the_zero_point(void **state)
{
    itg_graph *g = net_new();
    itg_attrs window = itg_attrs_default(ITG_OP_MAX_POOL), pad = itg_attrs_default(ITG_OP_PAD);
    window.spatial_rank = 2;
    window.kernel[0] = window.kernel[1] = 2;
    window.stride[0] = window.stride[1] = 2;
    window.pad[0] = window.pad[1] = window.pad[2] = window.pad[3] = 1;
    (void)pad;
    itg_id x = net_input(g, "x", "1,1,2,2"), y = NODE(g, "pool", ITG_OP_MAX_POOL, &window, x);
    const int64_t pads[] = {0, 0, 0, 1, 0, 0, 0, 0};
    itg_id z = NODE(g, "pad", ITG_OP_PAD, &pad, x, net_indices(g, "pads", "8", pads));
    OUTPUTS(g, x, y, z);
    sim_case c = case_new(g, chip("", U8, "", KEEP("MaxPool") "," KEEP("Pad")));
    set_range(&c, "pool", 0, 8, -100, 155);
    set_range(&c, "pad", 0, 8, -100, 155);
    set_range(&c, NULL, 0, 8, -100, 155);
    set_range(&c, NULL, 1, 8, -100, 155);
    annotated(&c);
    run(&c, FLOATS(-90, -80, -70, -60));
    for (int i = 0; i < 4; i++)
        assert_int_equal(output_code(&c, 0, i), 10 + 10 * i);
    const int64_t padded[] = {100, 10, 20, 100, 30, 40};
    for (int i = 0; i < 6; i++)
        assert_int_equal(output_code(&c, 1, i), padded[i]);
    case_end(&c);
    (void)state;
}

static void concat_transpose_gather_and_float_copies(void **state)
{
    itg_graph *g = net_new();
    itg_attrs cat = itg_attrs_default(ITG_OP_CONCAT), swap = itg_attrs_default(ITG_OP_TRANSPOSE),
              take = itg_attrs_default(ITG_OP_GATHER);
    const int64_t perm[] = {1, 0}, rows[] = {2, 0, -1};
    cat.axis = 1;
    take.axis = 0;
    memcpy(swap.perm, perm, sizeof perm);
    itg_id x = net_input(g, "x", "2,2"), k = net_constant(g, "k", "2,1", FLOATS(7, 500));
    itg_id y = NODE(g, "cat", ITG_OP_CONCAT, &cat, x, k),
           t = NODE(g, "swap", ITG_OP_TRANSPOSE, &swap, y),
           z = NODE(g, "take", ITG_OP_GATHER, &take, t, net_indices(g, "rows", "3", rows));
    OUTPUTS(g, x, z, t);
    sim_case c =
        case_new(g, chip("", U8, "", KEEP("Concat") "," KEEP("Transpose") "," KEEP("Gather")));
    set_all(&c, 0, 8, -10, 245, false);
    set_range(&c, NULL, 1, 0, 0, 0);
    annotated(&c);
    run(&c, FLOATS(1, 2, 3, -40));
    /* x k: 1 2 7; 3 -10 245. Turned: 1 3; 2 -10; 7 245. Rows 2, 0, 2. */
    const int64_t wanted[] = {17, 255, 11, 13, 17, 255};
    const float turned[] = {1, 3, 2, -10, 7, 245};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(output_code(&c, 0, i), wanted[i]);
        assert_true(output_real(&c, 1, i) == turned[i]);
    }
    case_end(&c);
    (void)state;
}

static void arg_max_takes_the_first_or_the_last(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        itg_graph *g = net_new();
        itg_attrs a = itg_attrs_default(ITG_OP_ARG_MAX);
        a.axis = 1;
        a.select_last_index = last;
        itg_id x = net_input(g, "x", "2,3,2"), y = NODE(g, "best", ITG_OP_ARG_MAX, &a, x);
        OUTPUTS(g, x, y);
        sim_case c = case_new(g, chip("", U8, "", KEEP("ArgMax")));
        set_range(&c, "best", 0, 8, -10, 245);
        annotated(&c);
        /* 3.2 and 2.9 are one code; so are -50 and -10 */
        run(&c, FLOATS(1, -50, 3.2f, -10, 2.9f, -20, 300, 4, 7, 5, 245, 3));
        const int64_t first[] = {1, 0, 0, 1}, final[] = {2, 2, 2, 1};
        for (int i = 0; i < 4; i++)
            assert_int_equal(output_code(&c, 0, i), last ? final[i] : first[i]);
        case_end(&c);
    }
}

/* An accumulator that saturates on the way has overflowed, also where the last sum would fit. */
static void pools_count_their_overflows(void **state)
{
    itg_graph *g = net_new();
    itg_attrs axes = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    axes.axes_count = 1;
    axes.axes[0] = 1;
    itg_id x = net_input(g, "x", "2,3"), y = NODE(g, "mean", ITG_OP_REDUCE_MEAN, &axes, x),
           z = NODE(g, "pool", ITG_OP_GLOBAL_AVERAGE_POOL, NULL, net_input(g, "u", "1,2,3"));
    net_end(g, 2, (itg_id[]){x, itg_graph_find_value(g, "u")}, 2, (itg_id[]){y, z});
    sim_case c = case_new(g, chip("", U8, F32,
                                  ONE("ReduceMean", "rescale",
                                      ",'requantize':'r','accumulator':{'bits':8,'overflow':'"
                                      "saturate'}") "," ONE("GlobalAveragePool", "rescale",
                                                            ",'requantize':'r','accumulator':{'"
                                                            "bits':8,'overflow':'saturate'}")));
    static const float in[] = {100, 100, -100, 10, 20, 30};
    float values[4];
    itg_edge_events events = {0};
    set_all(&c, 0, 8, -128, 127, false);
    annotated(&c);
    assert_int_equal(itg_sim_create(c.a, &c.sim, NULL), ITG_OK);
    memcpy(itg_sim_input(c.sim, 1), in, sizeof in);
    run(&c, in);
    for (int o = 0; o < 2; o++) {
        assert_true(itg_sim_edge(c.sim, case_edge(&c, NULL, o), values, &events));
        assert_true(events.elements == 2 && events.overflowed == 1);
        assert_int_equal(output_code(&c, o, 0), 128 + 9); /* 127 - 100 over 3 */
        assert_int_equal(output_code(&c, o, 1), 128 + 20);
    }
    case_end(&c);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(average_pools),
        cmocka_unit_test(means_over_axes),
        cmocka_unit_test(sums_of_very_many_elements),
        cmocka_unit_test(a_global_pool_keeps_codes),
        cmocka_unit_test(padding_of_max_pool_never_wins_and_of_pad_is_the_zero_point),
        cmocka_unit_test(concat_transpose_gather_and_float_copies),
        cmocka_unit_test(arg_max_takes_the_first_or_the_last),
        cmocka_unit_test(pools_count_their_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
