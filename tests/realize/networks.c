#include "networks.h"

/* Multiples of 1/8 in [-2, 2]: exact in every scale below. */
#define W(a) ((float)((a)*37 % 33 - 16) / 8.0f)
#define W4(a) W(a), W(a + 1), W(a + 2), W(a + 3)
#define W12(a) W4(a), W4(a + 5), W4(a + 11)

const float conv_weights[72] = {W12(0), W12(14), W12(29), W12(43), W12(58), W12(71)};
const float depthwise_weights[16] = {W12(7), W4(90)};
const int64_t conv_bias[4] = {500, -900, 33, 0}, conv_multiplier[4] = {21, 17, 40, 9};
const float conv_dequant[4] = {0.0009765625f, 0.00048828125f, 0.0009765625f, 0.001953125f};

fixture net_conv(void)
{
    fixture f = fx_begin("conv");
    itg_id x = fx_input(&f, "x", SHAPE(1, 2, 5, 6));
    itg_id w = fx_constant(&f, "w", ITG_F32, SHAPE(4, 2, 3, 3), conv_weights);
    itg_id c = fx_node(&f, "c", ITG_OP_CONV, LIST(x, w), SHAPE(1, 4, 3, 4));
    itg_attrs *at = fx_attrs(&f, c);
    *at = (itg_attrs){.spatial_rank = 2,
                      .kernel = {3, 3},
                      .stride = {2, 1},
                      .dilation = {1, 2},
                      .pad = {1, 0, 1, 2},
                      .group = 1};
    itg_id y = fx_node(&f, "y", ITG_OP_RELU, LIST(c), SHAPE(1, 4, 3, 4));
    itg_id dw = fx_constant(&f, "dw", ITG_F32, SHAPE(4, 1, 2, 2), depthwise_weights);
    itg_id z = fx_node(&f, "z", ITG_OP_CONV, LIST(y, dw), SHAPE(1, 4, 2, 3));
    *fx_attrs(&f, z) = (itg_attrs){
        .spatial_rank = 2, .kernel = {2, 2}, .stride = {1, 1}, .dilation = {1, 1}, .group = 4};
    itg_id s = fx_node(&f, "s", ITG_OP_SOFTMAX, LIST(y), SHAPE(1, 4, 3, 4));
    fx_attrs(&f, s)->axis = 1;
    fx_outputs(&f, LIST(y, z, s));
    fx_annotate(&f);
    fx_codes(&f, x, ITG_U8, 8, 1.0f / 16, 10);
    static const float scales[4] = {0.125f, 0.0625f, 0.03125f, 0.125f};
    fx_channels(&f, fx_codes(&f, w, ITG_S8, 8, 1, 0), 0, scales, 4);
    fx_codes(&f, dw, ITG_S8, 5, 0.125f, 0);
    itg_node_note *note = fx_note(&f, c, ITG_FORM_MAC, 32);
    note->bias = conv_bias;
    note->bias_count = 4;
    fx_fuse(&f, c, y);
    itg_encoding *v = fx_codes(&f, y, ITG_U8, 8, 0.25f, 3);
    v->clamp_lo = 3;
    fx_requant(&f, v, conv_multiplier, 4, 10);
    v = fx_codes(&f, y, ITG_S8, 6, 0.5f, -30);
    v->clamp_lo = -30;
    fx_requant(&f, v, conv_multiplier, 4, 11);
    fx_dequant(&f, fx_float(&f, y), conv_dequant, 4);
    fx_note(&f, z, ITG_FORM_MAC, 20);
    fx_read(&f, z, 0, 1);
    fx_requant(&f, fx_codes(&f, z, ITG_S16, 16, 0.01f, 0), (const int64_t[]){77}, 1, 3);
    fx_note(&f, s, ITG_FORM_FLOAT, 0)->reason = "Softmax is not in the hardware's operators";
    fx_read(&f, s, 0, 2);
    fx_codes(&f, s, ITG_U8, 8, 1.0f / 256, 0);
    fx_finish(&f);
    return f;
}

const float matrix_weights[20] = {W12(3), W4(20), W4(33)}, matrix_vector[4] = {W4(9)};
const float gemm_weights[42] = {W12(1), W12(17), W12(35), W4(50), W(60), W(61)},
            second_weights[21] = {W12(5), W4(19), W4(40), W(50)};
const int64_t matrix_bias[5] = {100, -3, 0, 77, -500};

fixture net_matrix(void)
{
    fixture f = fx_begin("matrix");
    itg_id p = fx_input(&f, "p", SHAPE(1, 2, 3, 4)), q = fx_input(&f, "q", SHAPE(1, 2, 4, 5));
    itg_id x = fx_input(&f, "x", SHAPE(1, 6)), q1 = fx_input(&f, "q1", SHAPE(1, 1, 4, 5));
    itg_id w = fx_constant(&f, "w", ITG_F32, SHAPE(4, 5), matrix_weights);
    itg_id vector = fx_constant(&f, "vector", ITG_F32, SHAPE(4), matrix_vector);
    itg_id gw = fx_constant(&f, "gw", ITG_F32, SHAPE(7, 6), gemm_weights);
    itg_id hw = fx_constant(&f, "hw", ITG_F32, SHAPE(7, 3), second_weights);
    itg_id a = fx_node(&f, "a", ITG_OP_MATMUL, LIST(p, w), SHAPE(1, 2, 3, 5));
    itg_id m = fx_node(&f, "m", ITG_OP_MATMUL, LIST(p, q), SHAPE(1, 2, 3, 5));
    itg_id one = fx_node(&f, "one", ITG_OP_MATMUL, LIST(p, q1), SHAPE(1, 2, 3, 5));
    itg_id v = fx_node(&f, "v", ITG_OP_MATMUL, LIST(p, vector), SHAPE(1, 2, 3));
    itg_id g = fx_node(&f, "g", ITG_OP_GEMM, LIST(x, gw), SHAPE(1, 7));
    fx_attrs(&f, g)->trans_b = true;
    itg_id h = fx_node(&f, "h", ITG_OP_GEMM, LIST(g, hw), SHAPE(1, 3));
    fx_outputs(&f, LIST(a, m, one, v, g, h));
    fx_annotate(&f);
    fx_codes(&f, p, ITG_S8, 8, 1.0f / 16, -5);
    fx_codes(&f, q, ITG_U8, 7, 1.0f / 8, 60);
    fx_codes(&f, q1, ITG_S16, 16, 1.0f / 64, 11);
    fx_codes(&f, x, ITG_S16, 16, 1.0f / 64, 0);
    static const float scales[5] = {0.125f, 0.0625f, 0.03125f, 0.125f, 0.0625f};
    fx_channels(&f, fx_codes(&f, w, ITG_S8, 8, 1, 0), 1, scales, 5);
    fx_codes(&f, vector, ITG_S8, 6, 0.125f, 0);
    fx_codes(&f, gw, ITG_S8, 8, 0.03125f, 0);
    fx_codes(&f, hw, ITG_S8, 4, 0.25f, 0);
    itg_node_note *note = fx_note(&f, a, ITG_FORM_MAC, 24);
    note->bias = matrix_bias;
    note->bias_count = 5;
    fx_requant(&f, fx_codes(&f, a, ITG_S8, 8, 0.5f, 4), (const int64_t[]){9, 8, 7, 6, 5}, 5, 8);
    fx_note(&f, m, ITG_FORM_MAC, 32);
    fx_requant(&f, fx_codes(&f, m, ITG_S8, 8, 0.5f, -7), (const int64_t[]){5}, 1, 9);
    fx_note(&f, one, ITG_FORM_MAC, 48);
    fx_requant(&f, fx_codes(&f, one, ITG_S16, 16, 0.5f, 1), (const int64_t[]){5}, 1, 4);
    fx_note(&f, v, ITG_FORM_MAC, 32);
    fx_requant(&f, fx_codes(&f, v, ITG_S8, 8, 0.5f, 0), (const int64_t[]){3}, 1, 6);
    fx_note(&f, g, ITG_FORM_MAC, 64);
    fx_requant(&f, fx_codes(&f, g, ITG_S16, 16, 0.25f, 0), (const int64_t[]){1, 2, 3, 4, 5, 6, 7},
               7, 6);
    fx_note(&f, h, ITG_FORM_MAC, 64);
    fx_requant(&f, fx_codes(&f, h, ITG_S32, 32, 0.25f, 0), (const int64_t[]){11}, 1, 2);
    fx_finish(&f);
    return f;
}

/* A float copy that reads encoding 1. */
static void shown_as_floats(fixture *f, itg_id copy)
{
    fx_note(f, copy, ITG_FORM_FLOAT, 0)->reason = "shown as floats";
    fx_read(f, copy, 0, 1);
    fx_float(f, copy);
}

static const int64_t unit[1] = {3};

static void annotate_additions(fixture *f, itg_id add, itg_id sub, itg_id fadd)
{
    itg_node_note *note = fx_note(f, add, ITG_FORM_RESCALE, 32);
    note->left_shift = 8;
    note->operand[0] = (itg_requant){.stage_count = 1, .stage = {{5, 4, ITG_ROUND_HALF_UP}}};
    note->operand[1] = (itg_requant){.stage_count = 1, .stage = {{7, 6, ITG_ROUND_HALF_UP}}};
    fx_requant(f, fx_codes(f, add, ITG_S8, 8, 0.125f, -2), unit, 1, 9);
    fx_note(f, sub, ITG_FORM_EQUAL, 16);
    fx_read(f, sub, 1, 1);
    fx_requant(f, fx_codes(f, sub, ITG_S8, 7, 0.125f, 1), unit, 1, 3);
    fx_note(f, fadd, ITG_FORM_F32, 0);
    fx_codes(f, fadd, ITG_U8, 8, 0.0625f, 100);
    fx_float(f, fadd);
}

static void annotate_others(fixture *f, itg_id mul, itg_id relu, itg_id clip)
{
    fx_note(f, mul, ITG_FORM_PRODUCT, 32);
    fx_requant(f, fx_codes(f, mul, ITG_S16, 12, 0.01f, 0), unit, 1, 4);
    fx_note(f, relu, ITG_FORM_RESCALE, 32);
    itg_encoding *v = fx_codes(f, relu, ITG_U8, 8, 1.0f / 16, 4);
    v->clamp_lo = 4;
    fx_requant(f, v, unit, 1, 2);
    fx_note(f, clip, ITG_FORM_RESCALE, 32);
    v = fx_codes(f, clip, ITG_S8, 8, 1.0f / 16, 0);
    v->clamp_lo = -24;
    v->clamp_hi = 32;
    fx_requant(f, v, unit, 1, 3);
    fx_dequant(f, fx_float(f, clip), (const float[]){1.0f / 32}, 1);
}

fixture net_elements(void)
{
    static const float factors[3] = {0.5f, -1.25f, 1.0f};
    fixture f = fx_begin("elements");
    itg_id x = fx_input(&f, "x", SHAPE(1, 3, 4, 4)), y = fx_input(&f, "y", SHAPE(1, 3, 4, 4));
    itg_id k = fx_constant(&f, "k", ITG_F32, SHAPE(3, 1, 1), factors);
    itg_id add = fx_node(&f, "add", ITG_OP_ADD, LIST(x, y), SHAPE(1, 3, 4, 4));
    itg_id sub = fx_node(&f, "sub", ITG_OP_SUB, LIST(x, y), SHAPE(1, 3, 4, 4));
    itg_id fadd = fx_node(&f, "fadd", ITG_OP_ADD, LIST(x, y), SHAPE(1, 3, 4, 4));
    itg_id mul = fx_node(&f, "mul", ITG_OP_MUL, LIST(x, k), SHAPE(1, 3, 4, 4));
    itg_id relu = fx_node(&f, "relu", ITG_OP_RELU, LIST(x), SHAPE(1, 3, 4, 4));
    itg_id clip = fx_node(&f, "clip", ITG_OP_CLIP, LIST(x), SHAPE(1, 3, 4, 4));
    fx_attrs(&f, clip)->min = -1.5f;
    fx_attrs(&f, clip)->max = 2.0f;
    itg_id copy = fx_node(&f, "copy", ITG_OP_IDENTITY, LIST(clip), SHAPE(1, 3, 4, 4));
    itg_id sum = fx_node(&f, "sum", ITG_OP_IDENTITY, LIST(fadd), SHAPE(1, 3, 4, 4));
    fx_outputs(&f, LIST(add, sub, fadd, mul, relu, clip, copy, sum));
    fx_annotate(&f);
    fx_codes(&f, x, ITG_S8, 8, 1.0f / 32, 9);
    fx_codes(&f, y, ITG_U8, 8, 1.0f / 64, 130);
    fx_codes(&f, y, ITG_S8, 8, 1.0f / 32, 9); /* tied to x */
    fx_codes(&f, k, ITG_S8, 7, 1.0f / 32, 0);
    annotate_additions(&f, add, sub, fadd);
    annotate_others(&f, mul, relu, clip);
    shown_as_floats(&f, copy);
    shown_as_floats(&f, sum);
    fx_finish(&f);
    return f;
}

static itg_id pool(fixture *f, const char *name, itg_op op, itg_id x, itg_shape shape,
                   bool ceil_mode, bool include_pad)
{
    itg_id y = fx_node(f, name, op, &x, 1, shape);
    *fx_attrs(f, y) = (itg_attrs){.spatial_rank = 2,
                                  .kernel = {3, 3},
                                  .stride = {2, 2},
                                  .dilation = {1, 1},
                                  .pad = {1, 1, 1, 1},
                                  .group = 1,
                                  .ceil_mode = ceil_mode,
                                  .count_include_pad = include_pad};
    return y;
}

static void tied(fixture *f, itg_id value)
{
    fx_codes(f, value, ITG_S8, 8, 1.0f / 16, -20);
}

static void annotate_f32(fixture *f, itg_id value, float scale, int32_t zero_point, itg_id copy)
{
    fx_note(f, value, ITG_FORM_F32, 0);
    fx_codes(f, value, ITG_U8, 8, scale, zero_point);
    fx_float(f, value);
    shown_as_floats(f, copy);
}

fixture net_floats(void)
{
    static const float addends[2] = {0.75f, -1.5f};
    fixture f = fx_begin("floats");
    itg_id x = fx_input(&f, "x", SHAPE(1, 2, 6, 7)), y = fx_input(&f, "y", SHAPE(1, 2, 6, 7));
    itg_id k = fx_constant(&f, "k", ITG_F32, SHAPE(2, 1, 1), addends);
    itg_id difference = fx_node(&f, "difference", ITG_OP_SUB, LIST(x, y), SHAPE(1, 2, 6, 7));
    itg_id product = fx_node(&f, "product", ITG_OP_MUL, LIST(x, y), SHAPE(1, 2, 6, 7));
    itg_id swapped = fx_node(&f, "swapped", ITG_OP_ADD, LIST(k, x), SHAPE(1, 2, 6, 7));
    itg_id mean = pool(&f, "mean", ITG_OP_AVERAGE_POOL, x, SHAPE(1, 2, 4, 4), true, true);
    itg_id shown[3] = {
        fx_node(&f, "difference_f", ITG_OP_IDENTITY, LIST(difference), SHAPE(1, 2, 6, 7)),
        fx_node(&f, "product_f", ITG_OP_IDENTITY, LIST(product), SHAPE(1, 2, 6, 7)),
        fx_node(&f, "mean_f", ITG_OP_IDENTITY, LIST(mean), SHAPE(1, 2, 4, 4))};
    fx_outputs(&f, LIST(difference, product, swapped, mean, shown[0], shown[1], shown[2]));
    fx_annotate(&f);
    fx_codes(&f, x, ITG_U8, 8, 0.0317f, 101);
    fx_codes(&f, y, ITG_S8, 8, 0.0283f, -5);
    fx_codes(&f, k, ITG_S8, 8, 0.0191f, 3);
    fx_note(&f, swapped, ITG_FORM_F32, 0);
    fx_codes(&f, swapped, ITG_U8, 8, 0.0401f, 97);
    annotate_f32(&f, difference, 0.0613f, 120, shown[0]);
    annotate_f32(&f, product, 0.1171f, 131, shown[1]);
    annotate_f32(&f, mean, 0.0317f, 88, shown[2]);
    fx_finish(&f);
    return f;
}

static void annotate_kept(fixture *f, itg_id value, itg_rounding rounding)
{
    tied(f, value);
    fx_note(f, value, ITG_FORM_KEEP, 0)->rounding = rounding;
}

static void annotate_sums(fixture *f, itg_id scaled, itg_id global, itg_id mean)
{
    static const int64_t by_count[9] = {720, 360, 240, 180, 144, 120, 103, 90, 80};
    static const float float_count[9] = {0.5f,  0.25f,  0.125f, 0.0625f, 0.5f,
                                         0.25f, 0.125f, 0.75f,  1.5f};
    fx_note(f, scaled, ITG_FORM_RESCALE, 32);
    fx_requant(f, fx_codes(f, scaled, ITG_U8, 8, 1.0f / 16, 100), by_count, 9, 10);
    fx_dequant(f, fx_float(f, scaled), float_count, 9);
    fx_note(f, global, ITG_FORM_RESCALE, 32);
    fx_requant(f, fx_codes(f, global, ITG_S8, 8, 1.0f / 32, 0), (const int64_t[]){50}, 1, 10);
    fx_note(f, mean, ITG_FORM_F32, 32);
    itg_encoding *v = fx_codes(f, mean, ITG_S16, 16, 1.0f / 1024, 7);
    fx_requant(f, v, (const int64_t[]){0}, 1, 0);
    itg_requant *r = (itg_requant *)(uintptr_t)v->requant;
    *r = (itg_requant){.is_f32 = true, .ratio = 3.25f};
}

static itg_id reduced(fixture *f, const char *name, itg_id x, itg_shape shape, int64_t second,
                      bool keepdims)
{
    itg_id y = fx_node(f, name, ITG_OP_REDUCE_MEAN, &x, 1, shape);
    itg_attrs *attrs = fx_attrs(f, y);
    attrs->axes_count = second > 0 ? 2 : 1;
    attrs->axes[0] = 1;
    attrs->axes[1] = second;
    attrs->keepdims = keepdims;
    return y;
}

fixture net_pools(void)
{
    fixture f = fx_begin("pools");
    itg_id x = fx_input(&f, "x", SHAPE(1, 3, 6, 7));
    itg_id keep = pool(&f, "keep", ITG_OP_AVERAGE_POOL, x, SHAPE(1, 3, 4, 4), true, false);
    itg_id padded = pool(&f, "padded", ITG_OP_AVERAGE_POOL, x, SHAPE(1, 3, 4, 4), true, true);
    itg_id scaled = pool(&f, "scaled", ITG_OP_AVERAGE_POOL, x, SHAPE(1, 3, 3, 4), false, false);
    itg_id scaled_f = fx_node(&f, "scaled_f", ITG_OP_IDENTITY, LIST(scaled), SHAPE(1, 3, 3, 4));
    itg_id max = pool(&f, "max", ITG_OP_MAX_POOL, x, SHAPE(1, 3, 3, 4), false, false);
    itg_id global = fx_node(&f, "global", ITG_OP_GLOBAL_AVERAGE_POOL, LIST(x), SHAPE(1, 3, 1, 1));
    itg_id gmax = fx_node(&f, "gmax", ITG_OP_GLOBAL_MAX_POOL, LIST(x), SHAPE(1, 3, 1, 1));
    itg_id mean = reduced(&f, "mean", x, SHAPE(1, 6), 3, false);
    itg_id kept = reduced(&f, "kept", x, SHAPE(1, 1, 6, 7), 0, true);
    itg_id arg = fx_node(&f, "arg", ITG_OP_ARG_MAX, LIST(x), SHAPE(1, 3, 1, 7));
    fx_attrs(&f, arg)->axis = 2;
    fx_attrs(&f, arg)->keepdims = true;
    fx_outputs(&f, LIST(keep, padded, scaled, max, global, mean, arg, gmax));
    fx_annotate(&f);
    tied(&f, x);
    annotate_kept(&f, keep, ITG_ROUND_HALF_UP);
    annotate_kept(&f, padded, ITG_ROUND_FLOOR);
    annotate_kept(&f, max, ITG_ROUND_FLOOR);
    annotate_kept(&f, gmax, ITG_ROUND_FLOOR);
    annotate_kept(&f, kept, ITG_ROUND_HALF_AWAY);
    fx_note(&f, arg, ITG_FORM_KEEP, 0);
    fx_float(&f, arg);
    annotate_sums(&f, scaled, global, mean);
    shown_as_floats(&f, scaled_f);
    fx_finish(&f);
    return f;
}

static const float norm_scale[4] = {0.5f, -1, 1, 0.25f};
static const int16_t norm_gain[12] = {16384,  -32767, 32767,  8192,   -300, 0,
                                      -32767, 1,      -32768, -12345, 77,   32767};
static const int64_t norm_bias[12] = {0, 1, -1, 1 << 20, -(1 << 20), 5, 6, 7, 8, 9, 10, 11};

fixture net_norms(void)
{
    fixture f = fx_begin("norms");
    itg_id x = fx_input(&f, "x", SHAPE(2, 3, 4)), q = fx_input(&f, "q", SHAPE(1, 3, 5));
    itg_id scale = fx_constant(&f, "scale", ITG_F32, SHAPE(4), norm_scale);
    itg_id s = fx_node(&f, "s", ITG_OP_SOFTMAX, LIST(x), SHAPE(2, 3, 4));
    fx_attrs(&f, s)->axis = 1;
    itg_id wide = fx_node(&f, "wide", ITG_OP_SOFTMAX, LIST(q), SHAPE(1, 3, 5));
    fx_attrs(&f, wide)->axis = 2;
    itg_id n = fx_node(&f, "n", ITG_OP_LAYER_NORMALIZATION, LIST(x, scale), SHAPE(2, 3, 4));
    fx_attrs(&f, n)->axis = 1;
    itg_id t = fx_node(&f, "t", ITG_OP_SOFTMAX, LIST(x), SHAPE(2, 3, 4));
    fx_attrs(&f, t)->axis = 1;
    fx_outputs(&f, LIST(s, wide, n, t));
    fx_annotate(&f);
    fx_codes(&f, x, ITG_U8, 8, 1.0f / 16, 10);
    fx_codes(&f, q, ITG_S16, 16, 1.0f / 2048, 0);
    fx_float(&f, scale);
    fx_note(&f, s, ITG_FORM_SOFTMAX, 32)->fraction = 24;
    fx_requant(&f, fx_codes(&f, s, ITG_S8, 8, 1.0f / 256, -128), (const int64_t[]){1}, 1, 22);
    fx_requant(&f, fx_codes(&f, s, ITG_U8, 6, 1.0f / 64, 0), (const int64_t[]){1}, 1, 24);
    fx_note(&f, wide, ITG_FORM_SOFTMAX, 64)->fraction = 30;
    fx_requant(&f, fx_codes(&f, wide, ITG_S16, 16, 1.0f / 32768, 0), (const int64_t[]){1}, 1, 15);
    fx_note(&f, t, ITG_FORM_TFLITE_SOFTMAX, 32)->fraction = 8;
    fx_requant(&f, fx_codes(&f, t, ITG_S8, 8, 1.0f / 256, -128), (const int64_t[]){1}, 1, 0);
    itg_node_note *note = fx_note(&f, n, ITG_FORM_LAYER_NORM, 48);
    note->fraction = 12;
    note->epsilon = 37;
    note->gain = norm_gain;
    note->bias = norm_bias;
    note->gain_count = note->bias_count = 12;
    fx_requant(&f, fx_codes(&f, n, ITG_S8, 8, 1.0f / 32, 3), (const int64_t[]){1}, 1, 22);
    fx_finish(&f);
    return f;
}

fixture net_tables(void)
{
    fixture f = fx_begin("tables");
    itg_id x = fx_input(&f, "x", SHAPE(1, 40));
    itg_id sigmoid = fx_node(&f, "sigmoid", ITG_OP_SIGMOID, LIST(x), SHAPE(1, 40));
    itg_id tanh = fx_node(&f, "tanh", ITG_OP_TANH, LIST(x), SHAPE(1, 40));
    itg_id copy = fx_node(&f, "copy", ITG_OP_IDENTITY, LIST(sigmoid), SHAPE(1, 40));
    fx_outputs(&f, LIST(sigmoid, tanh, copy));
    fx_annotate(&f);
    fx_codes(&f, x, ITG_S8, 8, 1.0f / 16, 3);
    fx_codes(&f, x, ITG_S16, 12, 1.0f / 512, -40);
    fx_note(&f, sigmoid, ITG_FORM_LUT, 0);
    fx_codes(&f, sigmoid, ITG_U8, 8, 1.0f / 256, 0);
    fx_float(&f, sigmoid);
    fx_note(&f, tanh, ITG_FORM_LUT, 0);
    fx_read(&f, tanh, 0, 1);
    fx_codes(&f, tanh, ITG_S16, 16, 1.0f / 32768, 0);
    shown_as_floats(&f, copy);
    fx_finish(&f);
    return f;
}

fixture net_moves(void)
{
    static const int64_t indices[3] = {4, 0, -2};
    fixture f = fx_begin("moves");
    itg_id x = fx_input(&f, "x", SHAPE(1, 2, 3, 4)), y = fx_input(&f, "y", SHAPE(1, 3, 3, 4));
    itg_id at = fx_constant(&f, "at", ITG_S64, SHAPE(3), indices);
    itg_id cat = fx_node(&f, "cat", ITG_OP_CONCAT, LIST(x, y), SHAPE(1, 5, 3, 4));
    fx_attrs(&f, cat)->axis = 1;
    itg_id turned = fx_node(&f, "turned", ITG_OP_TRANSPOSE, LIST(cat), SHAPE(1, 3, 4, 5));
    memcpy(fx_attrs(&f, turned)->perm, (const int64_t[]){0, 2, 3, 1}, 4 * sizeof(int64_t));
    itg_id padded = fx_node(&f, "padded", ITG_OP_PAD, LIST(x), SHAPE(1, 2, 5, 5));
    memcpy(fx_attrs(&f, padded)->pads_begin, (const int64_t[]){0, 0, 1, 0}, 4 * sizeof(int64_t));
    itg_id cut = fx_node(&f, "cut", ITG_OP_SLICE, LIST(cat), SHAPE(1, 5, 3, 2));
    itg_attrs *slice = fx_attrs(&f, cut);
    slice->axes_count = 1;
    slice->axes[0] = 3;
    slice->starts[0] = 3;
    slice->steps[0] = -2;
    itg_id halves[2];
    fx_nodes(&f, "halves", ITG_OP_SPLIT, LIST(cat),
             (const itg_shape[]){SHAPE(1, 2, 3, 4), SHAPE(1, 3, 3, 4)}, 2, halves);
    fx_attrs(&f, halves[0])->axis = 1;
    itg_id picked = fx_node(&f, "picked", ITG_OP_GATHER, LIST(cat, at), SHAPE(1, 3, 3, 4));
    fx_attrs(&f, picked)->axis = 1;
    itg_id flat = fx_node(&f, "flat", ITG_OP_RESHAPE, LIST(halves[1]), SHAPE(1, 36));
    fx_outputs(&f, LIST(turned, padded, cut, halves[0], picked, flat));
    fx_annotate(&f);
    itg_id all[] = {x, y, cat, turned, padded, cut, halves[0], picked, flat};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tied(&f, all[i]);
        if (i > 1) fx_note(&f, all[i], ITG_FORM_KEEP, 0);
    }
    fx_float(&f, at);
    fx_float(&f, halves[1]); /* codes nobody reads: the float encoding comes from hidden ones */
    fx_note(&f, flat, ITG_FORM_FLOAT, 0)->reason = "after the codes";
    f.a->values[flat].encoding_count = 0;
    fx_float(&f, flat);
    fx_finish(&f);
    return f;
}

const float split_weights[SPLIT_CHANNELS * SPLIT_TERMS] = {70, -90, 127,  80, -60, 3,
                                                           9,  5,   -100, 0,  20,  77};
const int64_t split_bias[SPLIT_CHANNELS] = {205, -77}, split_ends[SPLIT_PARTS] = {2, 3, 6},
              split_shifts[SPLIT_CHANNELS] = {2, 1};

fixture net_split(void)
{
    fixture f = fx_begin("split");
    itg_id x = fx_input(&f, "x", SHAPE(1, SPLIT_TERMS));
    itg_id w = fx_constant(&f, "w", ITG_F32, SHAPE(SPLIT_CHANNELS, SPLIT_TERMS), split_weights);
    itg_id y = fx_node(&f, "y", ITG_OP_GEMM, LIST(x, w), SHAPE(1, SPLIT_CHANNELS));
    fx_attrs(&f, y)->trans_b = true;
    fx_outputs(&f, LIST(y));
    fx_annotate(&f);
    fx_codes(&f, x, ITG_S8, 2, 1, -1);
    fx_codes(&f, w, ITG_S8, 8, 1, 0);
    itg_node_note *note = fx_note(&f, y, ITG_FORM_MAC, 10);
    note->split = (itg_sum_split){SPLIT_PARTS,  split_ends,        SPLIT_CHANNELS,
                                  split_shifts, ITG_ROUND_HALF_UP, 10};
    note->bias = split_bias;
    note->bias_count = SPLIT_CHANNELS;
    fx_requant(&f, fx_codes(&f, y, ITG_S32, 32, 1, 0), (const int64_t[]){1}, 1, 0);
    fx_finish(&f);
    return f;
}
