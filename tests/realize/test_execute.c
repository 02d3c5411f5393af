/* Programs against formulas in 64-bit integers, written again from docs/arithmetic.md. */
#include "networks.h"
#include "kernels/math.h"
#include <math.h>

typedef struct run {
    fixture f;
    itg_program *p;
    single *instance;
} run;

static run start(network make, float limit)
{
    run r = {make(), NULL, NULL};
    r.p = fx_program(&r.f);
    r.instance = fx_instance(r.p);
    fx_fill(r.instance, r.p, 7, limit);
    return r;
}

static void stop(run *r)
{
    single_destroy(r->instance);
    itg_program_destroy(r->p);
    fx_end(&r->f);
}

static itg_id value(const run *r, const char *name)
{
    itg_id id = itg_graph_find_value(r->f.g, name);
    assert_true(id >= 0);
    return id;
}

static const itg_encoding *encoding(const run *r, const char *name, int32_t index)
{
    return &r->f.a->values[value(r, name)].encodings[index];
}

static float input(const run *r, const char *name, int64_t i)
{
    for (int32_t k = 0; k < r->f.g->input_count; k++)
        if (r->f.g->inputs[k] == value(r, name))
            return ((const float *)single_input(r->instance, k))[i];
    fail();
    return 0;
}

/* Code of an input, less the zero point. */
static int64_t code(const run *r, const char *name, int32_t index, int64_t i)
{
    const itg_quantizer *q = &encoding(r, name, index)->q;
    return code_of(input(r, name, i), q) - q->zero_point;
}

static itg_tensor output(const run *r, const char *name)
{
    for (int32_t k = 0; k < itg_program_output_count(r->p); k++)
        if (strcmp(itg_program_output_name(r->p, k), name) == 0)
            return single_output(r->instance, k);
    fail_msg("no output %s", name);
    return (itg_tensor){ITG_F32, {0, {0}}, NULL};
}

static int64_t output_code(const run *r, const char *name, int64_t i)
{
    itg_tensor t = output(r, name);
    return itg_load(t.dtype, t.data, i);
}

static float output_float(const run *r, const char *name, int64_t i)
{
    return ((const float *)output(r, name).data)[i];
}

/* Native result -> code of an encoding whose requantization is one stage a channel. */
static int64_t requantized(const itg_encoding *v, int64_t acc, int64_t channel)
{
    const itg_requant_stage *s = &v->requant[channel % v->requant_count].stage[0];
    return limited(half_up(acc, s->multiplier, s->shift) + v->q.zero_point, v->clamp_lo,
                   v->clamp_hi);
}

static int64_t weight(const run *r, const char *name, float w, int64_t channel)
{
    const itg_quantizer *q = &encoding(r, name, 0)->q;
    itg_quantizer one = *q;
    one.scale = &q->scale[q->scale_count > 1 ? channel : 0];
    return code_of(w, &one);
}

/* ---- convolutions ---- */

static int64_t conv_acc(const run *r, int64_t k, int64_t p, int64_t q)
{
    int64_t acc = conv_bias[k];
    for (int64_t c = 0; c < 2; c++)
        for (int64_t i = 0; i < 3; i++)
            for (int64_t j = 0; j < 3; j++) {
                int64_t h = p * 2 - 1 + i, v = q + j * 2;
                if (h < 0 || h >= 5 || v < 0 || v >= 6) continue;
                acc += code(r, "x", 0, (c * 5 + h) * 6 + v) *
                       weight(r, "w", conv_weights[((k * 2 + c) * 3 + i) * 3 + j], k);
            }
    return acc;
}

static void convolutions_with_fused_relu_and_three_encodings(void **state)
{
    (void)state;
    run r = start(net_conv, 6);
    fx_run(r.instance);
    const itg_encoding *first = encoding(&r, "y", 0), *second = encoding(&r, "y", 1),
                       *z = encoding(&r, "z", 0);
    int64_t y[48], seen_clamped = 0;
    float reals[48];
    for (int64_t i = 0; i < 48; i++) {
        int64_t k = i / 12, acc = conv_acc(&r, k, i / 4 % 3, i % 4);
        assert_int_equal(output_code(&r, "y", i), requantized(first, acc, k));
        seen_clamped += acc < 0;
        y[i] = requantized(second, acc, k) - second->q.zero_point;
        float real = (float)acc * conv_dequant[k];
        reals[i] = real < 0 ? 0 : real;
    }
    assert_true(seen_clamped > 3 && seen_clamped < 45);
    for (int64_t i = 0; i < 24; i++) {
        int64_t k = i / 6, p = i / 3 % 2, q = i % 3, acc = 0;
        for (int64_t t = 0; t < 4; t++)
            acc += y[(k * 3 + p + t / 2) * 4 + q + t % 2] *
                   weight(&r, "dw", depthwise_weights[k * 4 + t], 0);
        assert_int_equal(output_code(&r, "z", i), requantized(z, acc, 0));
    }
    for (int64_t i = 0; i < 48; i++) {
        double most = -1e30, sum = 0;
        for (int64_t k = 0; k < 4; k++)
            if ((double)reals[k * 12 + i % 12] > most) most = (double)reals[k * 12 + i % 12];
        for (int64_t k = 0; k < 4; k++)
            sum += itg_exp((double)reals[k * 12 + i % 12] - most);
        float share = (float)(itg_exp((double)reals[i] - most) / sum);
        assert_int_equal(output_code(&r, "s", i), code_of(share, &encoding(&r, "s", 0)->q));
    }
    assert_int_equal(itg_program_float_island_count(r.p), 1);
    assert_string_equal(itg_program_float_island(r.p, 0),
                        "Softmax n_s: Softmax is not in the hardware's operators");
    stop(&r);
}

/* ---- matrices ---- */

static void matrix_products_of_weights_and_of_activations(void **state)
{
    (void)state;
    run r = start(net_matrix, 5);
    fx_run(r.instance);
    for (int64_t i = 0; i < 30; i++) {
        int64_t n = i % 5, row = i / 5, batch = row / 3, a = matrix_bias[n], m = 0, one = 0;
        for (int64_t k = 0; k < 4; k++) {
            int64_t p = code(&r, "p", 0, row * 4 + k);
            a += p * weight(&r, "w", matrix_weights[k * 5 + n], n);
            m += p * code(&r, "q", 0, (batch * 4 + k) * 5 + n);
            one += p * code(&r, "q1", 0, k * 5 + n);
        }
        assert_int_equal(output_code(&r, "a", i), requantized(encoding(&r, "a", 0), a, n));
        assert_int_equal(output_code(&r, "m", i), requantized(encoding(&r, "m", 0), m, 0));
        assert_int_equal(output_code(&r, "one", i), requantized(encoding(&r, "one", 0), one, 0));
    }
    for (int64_t i = 0; i < 6; i++) {
        int64_t acc = 0;
        for (int64_t k = 0; k < 4; k++)
            acc += code(&r, "p", 0, i * 4 + k) * weight(&r, "vector", matrix_vector[k], 0);
        assert_int_equal(output_code(&r, "v", i), requantized(encoding(&r, "v", 0), acc, 0));
    }
    int64_t g[7];
    for (int64_t n = 0; n < 7; n++) {
        int64_t acc = 0;
        for (int64_t k = 0; k < 6; k++)
            acc += code(&r, "x", 0, k) * weight(&r, "gw", gemm_weights[n * 6 + k], 0);
        g[n] = requantized(encoding(&r, "g", 0), acc, n);
        assert_int_equal(output_code(&r, "g", n), g[n]);
    }
    for (int64_t n = 0; n < 3; n++) {
        int64_t acc = 0;
        for (int64_t k = 0; k < 7; k++)
            acc += g[k] * weight(&r, "hw", second_weights[k * 3 + n], 0);
        assert_int_equal(output_code(&r, "h", n), requantized(encoding(&r, "h", 0), acc, 0));
    }
    stop(&r);
}

/* x [4,3] -> Gemm of its transpose with gw [4,2] */
static fixture net_turned(void)
{
    fixture f = fx_begin("turned");
    itg_id x = fx_input(&f, "x", SHAPE(4, 3));
    itg_id w = fx_constant(&f, "gw", ITG_F32, SHAPE(4, 2), gemm_weights);
    itg_id y = fx_node(&f, "y", ITG_OP_GEMM, LIST(x, w), SHAPE(3, 2));
    fx_attrs(&f, y)->trans_a = true;
    fx_outputs(&f, LIST(y));
    fx_annotate(&f);
    fx_codes(&f, x, ITG_S8, 8, 1.0f / 16, -5);
    fx_codes(&f, w, ITG_S8, 8, 0.03125f, 0);
    fx_note(&f, y, ITG_FORM_MAC, 32);
    fx_requant(&f, fx_codes(&f, y, ITG_S16, 16, 0.25f, 3), (const int64_t[]){5}, 1, 4);
    fx_finish(&f);
    return f;
}

static void a_matrix_is_turned_before_its_product(void **state)
{
    (void)state;
    run r = start(net_turned, 5);
    fx_run(r.instance);
    for (int64_t i = 0; i < 6; i++) {
        int64_t acc = 0;
        for (int64_t k = 0; k < 4; k++)
            acc +=
                code(&r, "x", 0, k * 3 + i / 2) * weight(&r, "gw", gemm_weights[k * 2 + i % 2], 0);
        assert_int_equal(output_code(&r, "y", i), requantized(encoding(&r, "y", 0), acc, 0));
    }
    const itg_step *turn = NULL;
    for (int32_t i = 0; i < r.p->step_count; i++)
        if (r.p->steps[i].op == ITG_OP_TRANSPOSE) turn = &r.p->steps[i];
    assert_non_null(turn);
    assert_string_equal(turn->name, "n_y");
    assert_int_equal(turn->node, r.f.g->values[value(&r, "y")].producer);
    stop(&r);
}

/* ---- elementwise ---- */

static float bounded(float v, float lo, float hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static void additions_products_and_activations(void **state)
{
    static const float factors[3] = {0.5f, -1.25f, 1.0f};
    (void)state;
    run r = start(net_elements, 4);
    fx_run(r.instance);
    const itg_quantizer *qx = &encoding(&r, "x", 0)->q, *qy = &encoding(&r, "y", 0)->q,
                        *qf = &encoding(&r, "fadd", 0)->q;
    for (int64_t i = 0; i < 48; i++) {
        int64_t x = code(&r, "x", 0, i), y = code(&r, "y", 0, i), same = code(&r, "y", 1, i);
        int64_t acc = half_up(x * 256, 5, 4) + half_up(y * 256, 7, 6);
        assert_int_equal(output_code(&r, "add", i), requantized(encoding(&r, "add", 0), acc, 0));
        assert_int_equal(output_code(&r, "sub", i),
                         requantized(encoding(&r, "sub", 0), x - same, 0));
        int64_t k = weight(&r, "k", factors[i / 16], 0);
        assert_int_equal(output_code(&r, "mul", i), requantized(encoding(&r, "mul", 0), x * k, 0));
        assert_int_equal(output_code(&r, "relu", i), requantized(encoding(&r, "relu", 0), x, 0));
        assert_int_equal(output_code(&r, "clip", i), requantized(encoding(&r, "clip", 0), x, 0));
        assert_true(output_float(&r, "copy", i) == bounded((float)x / 32.0f, -1.5f, 2.0f));
        /* Every scale is a power of two here, so the float additions below are exact until the last
         * rounding. */
        float real = (float)x * qx->scale[0] + (float)y * qy->scale[0];
        assert_int_equal(output_code(&r, "fadd", i), code_of(real, qf));
        assert_true(output_float(&r, "sum", i) == real);
    }
    stop(&r);
}

static uint8_t nearest_u8(float v)
{
    return (uint8_t)fminf(fmaxf(rintf(v), 0), 255);
}

static void sums_and_products_in_float32(void **state)
{
    (void)state;
    run r = start(net_floats, 4);
    fx_run(r.instance);
    for (int64_t i = 0; i < 84; i++) {
        int64_t x = code(&r, "x", 0, i), y = code(&r, "y", 0, i);
        volatile float u = (float)x * 0.0317f, v = (float)y * 0.0283f, difference = u - v,
                       product = u * v;
        volatile float quotient = difference / 0.0613f, ratio = 0.0317f * 0.0283f, scaled;
        assert_true(output_float(&r, "difference_f", i) == difference);
        assert_int_equal(output_code(&r, "difference", i), nearest_u8(rintf(quotient) + 120));
        assert_true(output_float(&r, "product_f", i) == product);
        ratio = ratio / 0.1171f;
        scaled = (float)(x * y) * ratio;
        assert_int_equal(output_code(&r, "product", i), nearest_u8(scaled + 131));
        /* k + x: k does not vary along the last axis, so x is the first operand. */
        volatile float rx = 0.0317f / 0.0401f, rk = 0.0191f / 0.0401f, zeros = rk * 3;
        int64_t k = code_of(i < 42 ? 0.75f : -1.5f, &encoding(&r, "k", 0)->q);
        volatile float fixed = 97 - fmaf(rx, 101, zeros);
        assert_int_equal(output_code(&r, "swapped", i),
                         nearest_u8(fmaf((float)(x + 101), rx, fmaf((float)k, rk, fixed))));
    }
    stop(&r);
}

/* ---- pools ---- */

typedef struct patch {
    int64_t sum, raw, most, inside, padded;
} patch;

static patch patch_of(const run *r, int64_t c, int64_t p, int64_t q)
{
    const itg_quantizer *qx = &encoding(r, "x", 0)->q;
    patch out = {0, 0, INT64_MIN, 0, 0};
    for (int64_t h = 2 * p - 1; h < 2 * p + 2; h++)
        for (int64_t w = 2 * q - 1; w < 2 * q + 2; w++) {
            out.padded += h < 7 && w < 8;
            if (h < 0 || h >= 6 || w < 0 || w >= 7) continue;
            int64_t v = code(r, "x", 0, (c * 6 + h) * 7 + w), raw = v + qx->zero_point;
            out.sum += v;
            out.raw += raw;
            if (raw > out.most) out.most = raw;
            out.inside++;
        }
    return out;
}

static int64_t floor_division(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static void window_pools(void **state)
{
    (void)state;
    run r = start(net_pools, 8);
    fx_run(r.instance);
    int64_t counts_seen = 0;
    for (int64_t i = 0; i < 48; i++) {
        patch a = patch_of(&r, i / 16, i / 4 % 4, i % 4);
        assert_int_equal(output_code(&r, "keep", i),
                         floor_division(2 * a.raw + a.inside, 2 * a.inside));
        int64_t zero = encoding(&r, "padded", 0)->q.zero_point;
        assert_int_equal(output_code(&r, "padded", i),
                         floor_division(a.raw + (a.padded - a.inside) * zero, a.padded));
    }
    for (int64_t i = 0; i < 36; i++) {
        patch a = patch_of(&r, i / 12, i / 4 % 3, i % 4);
        counts_seen |= (int64_t)1 << a.inside;
        assert_int_equal(output_code(&r, "scaled", i),
                         requantized(encoding(&r, "scaled", 0), a.sum, a.inside - 1));
        assert_int_equal(output_code(&r, "max", i), a.most);
    }
    assert_int_equal(counts_seen, 1 << 4 | 1 << 6 | 1 << 9);
    stop(&r);
}

static void reductions(void **state)
{
    (void)state;
    run r = start(net_pools, 8);
    float *x = single_input(r.instance, 0);
    for (int i = 0; i < 126; i++) /* few values: maxima are tied */
        x[i] = (float)(i * 5 % 4 + i / 42);
    fx_run(r.instance);
    const itg_quantizer *q = &encoding(&r, "x", 0)->q;
    for (int64_t c = 0; c < 3; c++) {
        int64_t sum = 0, most = INT64_MIN;
        for (int64_t i = 0; i < 42; i++) {
            int64_t v = code(&r, "x", 0, c * 42 + i);
            sum += v;
            if (v + q->zero_point > most) most = v + q->zero_point;
        }
        assert_int_equal(output_code(&r, "global", c),
                         requantized(encoding(&r, "global", 0), sum, 0));
        assert_int_equal(output_code(&r, "gmax", c), most);
        for (int64_t w = 0; w < 7; w++) {
            int64_t best = 0;
            for (int64_t h = 1; h < 6; h++)
                if (code(&r, "x", 0, (c * 6 + h) * 7 + w) >
                    code(&r, "x", 0, (c * 6 + best) * 7 + w))
                    best = h;
            assert_int_equal(output_code(&r, "arg", c * 7 + w), best);
        }
    }
    for (int64_t h = 0; h < 6; h++) {
        int64_t sum = 0;
        for (int64_t i = 0; i < 21; i++)
            sum += code(&r, "x", 0, (i / 7 * 6 + h) * 7 + i % 7);
        float scaled = (float)sum * 3.25f; /* exact: few bits */
        itg_quantizer unit = encoding(&r, "mean", 0)->q;
        unit.scale = (const float[]){1.0f};
        assert_int_equal(output_code(&r, "mean", h), code_of(scaled, &unit));
    }
    stop(&r);
}

static void means_in_float32(void **state)
{
    (void)state;
    run r = start(net_floats, 4);
    fx_run(r.instance);
    for (int64_t i = 0; i < 32; i++) {
        int64_t c = i / 16, p = i / 4 % 4, q = i % 4, count = 0;
        volatile float sum = 0;
        for (int64_t h = 2 * p - 1; h < 2 * p + 2; h++)
            for (int64_t w = 2 * q - 1; w < 2 * q + 2; w++) {
                count += h < 7 && w < 8;
                if (h < 0 || h >= 6 || w < 0 || w >= 7) continue;
                volatile float term = (float)code(&r, "x", 0, (c * 6 + h) * 7 + w) * 0.0317f;
                sum = sum + term;
            }
        volatile float mean = sum / (float)count, scaled = mean / 0.0317f;
        assert_true(output_float(&r, "mean_f", i) == mean);
        assert_int_equal(output_code(&r, "mean", i), nearest_u8(scaled + 88));
    }
    stop(&r);
}

/* The same network with other outputs: what eight outputs leave out. */
static void pools_as_floats_and_means_of_codes(void **state)
{
    static const float float_count[9] = {0.5f,  0.25f,  0.125f, 0.0625f, 0.5f,
                                         0.25f, 0.125f, 0.75f,  1.5f};
    (void)state;
    run r = {net_pools(), NULL, NULL};
    itg_id outputs[8] = {value(&r, "kept"), value(&r, "scaled_f")};
    fx_outputs(&r.f, outputs, 2);
    for (int32_t i = 0; i < 2; i++)
        r.f.a->edges[r.f.a->edge_of_node[r.f.g->node_count] + i].value = outputs[i];
    r.p = fx_program(&r.f);
    r.instance = fx_instance(r.p);
    fx_fill(r.instance, r.p, 3, 8);
    fx_run(r.instance);
    for (int64_t i = 0; i < 36; i++) {
        patch a = patch_of(&r, i / 12, i / 4 % 3, i % 4);
        assert_true(output_float(&r, "scaled_f", i) == (float)a.sum * float_count[a.inside - 1]);
    }
    for (int64_t i = 0; i < 42; i++) {
        int64_t sum = 0;
        for (int64_t c = 0; c < 3; c++)
            sum += code_of(input(&r, "x", c * 42 + i), &encoding(&r, "x", 0)->q);
        int64_t size = sum < 0 ? -sum : sum, mean = (2 * size + 3) / 6; /* half away from zero */
        assert_int_equal(output_code(&r, "kept", i), sum < 0 ? -mean : mean);
    }
    stop(&r);
}

/* ---- tables and movement ---- */

static void lookup_tables(void **state)
{
    (void)state;
    run r = start(net_tables, 10);
    fx_run(r.instance);
    for (int64_t i = 0; i < 40; i++) {
        float wide = (float)code(&r, "x", 1, i) / 512.0f,
              narrow = (float)code(&r, "x", 0, i) / 16.0f;
        float s = (float)itg_sigmoid((double)narrow);
        assert_int_equal(output_code(&r, "sigmoid", i), code_of(s, &encoding(&r, "sigmoid", 0)->q));
        assert_true(output_float(&r, "copy", i) == s);
        assert_int_equal(output_code(&r, "tanh", i),
                         code_of((float)itg_tanh((double)wide), &encoding(&r, "tanh", 0)->q));
    }
    stop(&r);
}

static void moved_codes(void **state)
{
    static const int64_t order[3] = {4, 0, 3};
    (void)state;
    run r = start(net_moves, 6);
    fx_run(r.instance);
    const itg_quantizer *q = &encoding(&r, "x", 0)->q;
    int64_t cat[60];
    for (int64_t i = 0; i < 60; i++)
        cat[i] = (i < 24 ? code(&r, "x", 0, i) : code(&r, "y", 0, i - 24)) + q->zero_point;
    for (int64_t i = 0; i < 60; i++)
        assert_int_equal(output_code(&r, "turned", i), cat[i % 5 * 12 + i / 5]);
    for (int64_t i = 0; i < 50; i++) {
        int64_t c = i / 25, h = i / 5 % 5 - 1, w = i % 5;
        bool inside = h >= 0 && h < 3 && w < 4;
        assert_int_equal(output_code(&r, "padded", i),
                         inside ? cat[(c * 3 + h) * 4 + w] : q->zero_point);
    }
    for (int64_t i = 0; i < 30; i++)
        assert_int_equal(output_code(&r, "cut", i), cat[i / 2 * 4 + (i % 2 == 0 ? 3 : 1)]);
    for (int64_t i = 0; i < 24; i++)
        assert_int_equal(output_code(&r, "halves", i), cat[i]);
    for (int64_t i = 0; i < 36; i++) {
        assert_int_equal(output_code(&r, "picked", i), cat[order[i / 12] * 12 + i % 12]);
        assert_true(output_float(&r, "flat", i) == (float)(cat[24 + i] - q->zero_point) / 16.0f);
    }
    stop(&r);
}

/* ---- instances ---- */

static void instances_share_a_program_and_runs_repeat(void **state)
{
    (void)state;
    run r = start(net_conv, 6);
    single *other = fx_instance(r.p);
    fx_fill(other, r.p, 99, 6);
    fx_run(r.instance);
    itg_tensor y = single_output(r.instance, 0);
    unsigned char first[48];
    memcpy(first, y.data, sizeof first);
    fx_run(other);
    assert_memory_not_equal(single_output(other, 0).data, first, sizeof first);
    assert_memory_equal(y.data, first, sizeof first);
    fx_run(r.instance); /* the input is still in place */
    assert_memory_equal(single_output(r.instance, 0).data, first, sizeof first);
    single_destroy(other);
    stop(&r);
}

static void outputs_are_described(void **state)
{
    (void)state;
    run r = start(net_conv, 6);
    itg_dtype dtype;
    const itg_shape *shape;
    const itg_quantizer *q;
    itg_program_output_info(r.p, 1, &dtype, &shape, &q);
    assert_string_equal(itg_program_output_name(r.p, 1), "z");
    assert_int_equal(dtype, ITG_S16);
    assert_int_equal(shape->dims[3], 3);
    assert_true(q->scale[0] == 0.01f);
    stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_with_fused_relu_and_three_encodings),
        cmocka_unit_test(matrix_products_of_weights_and_of_activations),
        cmocka_unit_test(a_matrix_is_turned_before_its_product),
        cmocka_unit_test(additions_products_and_activations),
        cmocka_unit_test(sums_and_products_in_float32),
        cmocka_unit_test(means_in_float32),
        cmocka_unit_test(window_pools),
        cmocka_unit_test(reductions),
        cmocka_unit_test(pools_as_floats_and_means_of_codes),
        cmocka_unit_test(lookup_tables),
        cmocka_unit_test(moved_codes),
        cmocka_unit_test(instances_share_a_program_and_runs_repeat),
        cmocka_unit_test(outputs_are_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
