/* Writes QuantizeLinear and DequantizeLinear: encodings of activations, constants, biases. */
#include "realize/emit/qdq.h"
#include "graph/onnx/tensor_types.h"
#include "kernels/constants.h"
#include "kernels/requant.h"

itg_dtype itg_qdq_dtype(const itg_quantizer *q)
{
    static const itg_dtype types[2][4] = {{ITG_U8, ITG_S8, ITG_U16, ITG_S16},
                                          {ITG_S8, ITG_U8, ITG_S16, ITG_U16}};
    if (itg_has_zero_points(q)) return ITG_S8;
    for (int i = 0; i < 4; i++) {
        itg_dtype t = types[q->is_signed ? 1 : 0][i];
        if (itg_dtype_min(t) <= q->qmin && q->qmax <= itg_dtype_max(t)) return t;
    }
    return ITG_S32;
}

bool itg_qdq_is_four_bits(const itg_quantizer *q)
{
    return itg_has_zero_points(q) ? q->bits <= 4 : q->qmin >= -8 && q->qmax <= 7;
}

static const itg_encoding *encoding_of(const itg_qdq *q, itg_id value, int32_t encoding)
{
    return &q->a->values[value].encodings[encoding];
}

/* ---- quantizers ---- */

/* The model has the codes -2^(bits-1) to 2^(bits-1) - 1 of weights with zero points. */
static int64_t zero_of(const itg_encoding *v, int64_t scale)
{
    return v->zero != NULL ? v->zero[scale] - (INT64_C(1) << (v->q.bits - 1)) : v->q.zero_point;
}

static const char *zero_points(itg_qdq *q, const char *base, const itg_encoding *v)
{
    const itg_quantizer *z = &v->q;
    itg_tensor t = {itg_qdq_dtype(z), {z->axis < 0 ? 0 : 1, {z->scale_count}}, NULL};
    t.data = itg_qdq_alloc(q, z->scale_count, itg_dtype_size(t.dtype));
    for (int32_t i = 0; i < z->scale_count && t.data != NULL; i++)
        itg_store(t.dtype, t.data, i, zero_of(v, i));
    return itg_qdq_constant(q, base, "zero_point", &t);
}

static void add_quantizer(itg_qdq *q, itg_id value, int32_t encoding)
{
    const itg_quantizer *z = &encoding_of(q, value, encoding)->q;
    itg_qdq_tensor *t = &q->made[value][encoding];
    const char *base = q->g->values[value].name;
    itg_tensor scale = {
        ITG_F32, {z->axis < 0 ? 0 : 1, {z->scale_count}}, (void *)(uintptr_t)z->scale};
    t->scale = itg_qdq_constant(q, base, "scale", &scale);
    t->zero = zero_points(q, base, encoding_of(q, value, encoding));
}

const char *itg_qdq_dequantize(itg_qdq *q, const itg_qdq_tensor *t, const char *output)
{
    return itg_qdq_add(q, "DequantizeLinear", NULL, (const char *[]){t->codes, t->scale, t->zero},
                       3, output);
}

/* ---- activations ---- */

static const char *clip_codes(itg_qdq *q, const char *codes, const char *base, itg_dtype dtype,
                              int64_t lo, int64_t hi)
{
    int32_t bound[2];
    itg_store(dtype, &bound[0], 0, lo);
    itg_store(dtype, &bound[1], 0, hi);
    itg_tensor low = {dtype, {0, {0}}, &bound[0]}, high = {dtype, {0, {0}}, &bound[1]};
    const char *inputs[] = {codes, itg_qdq_constant(q, base, "qmin", &low),
                            itg_qdq_constant(q, base, "qmax", &high)};
    return itg_qdq_add(q, "Clip", NULL, inputs, 3, itg_qdq_name(q, base, "clipped"));
}

/* Clips floats, because some runtimes have no Clip of 16-bit integers. QuantizeLinear turns the
 * float of a code into the same code. */
static const char *clip_real(itg_qdq *q, const char *real, const char *base, const itg_quantizer *z,
                             int64_t lo, int64_t hi)
{
    float low = itg_dequantize_f32(lo, z->scale[0], z->zero_point);
    float high = itg_dequantize_f32(hi, z->scale[0], z->zero_point);
    const char *inputs[] = {real, itg_qdq_float(q, base, "min", low),
                            itg_qdq_float(q, base, "max", high)};
    return itg_qdq_add(q, "Clip", NULL, inputs, 3, itg_qdq_name(q, base, "clipped"));
}

void itg_qdq_quantize(itg_qdq *q, const char *real, itg_id value, int32_t encoding, int64_t lo,
                      int64_t hi, const itg_shape *shape)
{
    const itg_quantizer *z = &encoding_of(q, value, encoding)->q;
    itg_dtype dtype = itg_qdq_dtype(z);
    itg_qdq_tensor *t = &q->made[value][encoding];
    const char *base = q->g->values[value].name;
    if (!itg_qdq_ok(q)) return;
    if (dtype == ITG_S32) { /* QuantizeLinear has no 32-bit codes: the range alone is kept */
        real = clip_real(q, real, base, z, lo, hi);
        t->real = shape != NULL ? itg_qdq_reshape(q, real, shape, base, "shaped") : real;
        return;
    }
    bool narrow = lo > itg_dtype_min(dtype) || hi < itg_dtype_max(dtype);
    bool wide = itg_dtype_size(dtype) > 1;
    if (narrow && wide) real = clip_real(q, real, base, z, lo, hi);
    add_quantizer(q, value, encoding);
    t->codes = itg_qdq_add(q, "QuantizeLinear", NULL, (const char *[]){real, t->scale, t->zero}, 3,
                           itg_qdq_name(q, base, "codes"));
    if (narrow && !wide) t->codes = clip_codes(q, t->codes, base, dtype, lo, hi);
    if (shape != NULL) t->codes = itg_qdq_reshape(q, t->codes, shape, base, "codes");
}

/* ---- constants ---- */

/* Returns a constant's codes in the type that the model uses for them. */
static itg_tensor codes_of(itg_qdq *q, itg_id value, const itg_encoding *v)
{
    itg_tensor to = {itg_qdq_dtype(&v->q), q->g->values[value].shape, NULL};
    int64_t elements = 0;
    if (v->constant == NULL || !itg_shape_elements(&to.shape, &elements)) {
        itg_qdq_fail(q, ITG_MISMATCH, ITG_NONE, "a constant without codes");
        return to;
    }
    to.data = itg_qdq_alloc(q, elements, itg_dtype_size(to.dtype));
    const int64_t run = itg_scale_run(&v->q, &to.shape);
    for (int64_t i = 0; i < elements && to.data != NULL; i++) {
        const int64_t code = itg_load(v->q.storage, v->constant->codes, i);
        const int64_t zero = v->zero != NULL ? zero_of(v, i / run % v->q.scale_count) : 0;
        itg_store(to.dtype, to.data, i, code + zero);
    }
    return to;
}

/* Stores signed codes of at most 4 bits in 4 bits and adds a Cast to 8 bits, because no CPU kernel
 * multiplies 4-bit codes. Optimizers evaluate the Cast in advance. Other codes are stored as is. */
static const char *store_codes(itg_qdq *q, const char *base, const itg_quantizer *z,
                               const itg_tensor *codes)
{
    if (codes->dtype != ITG_S8 || !itg_qdq_is_four_bits(z))
        return itg_qdq_constant(q, base, "codes", codes);
    const char *packed = itg_qdq_name(q, base, "int4");
    if (packed != NULL) itg_onnx_writer_int4(q->w, packed, &codes->shape, codes->data);
    packed = itg_qdq_add(q, "Cast", NULL, &packed, 1, itg_qdq_name(q, base, "codes"));
    if (packed != NULL) itg_onnx_writer_int(q->w, "to", itg_onnx_type_of(ITG_S8));
    return packed;
}

static void add_constant(itg_qdq *q, itg_id value, int32_t encoding)
{
    const itg_encoding *v = encoding_of(q, value, encoding);
    itg_qdq_tensor *t = &q->made[value][encoding];
    const char *base = q->g->values[value].name;
    if (v->is_float) {
        itg_tensor plain = itg_graph_tensor(q->g, value);
        t->real = itg_qdq_constant(q, base, "float", &plain);
        return;
    }
    itg_tensor codes = codes_of(q, value, v);
    if (!itg_qdq_ok(q)) return;
    add_quantizer(q, value, encoding);
    t->codes = store_codes(q, base, &v->q, &codes);
    t->real = itg_qdq_dequantize(q, t, itg_qdq_name(q, base, "dequantized"));
    if (t->real != NULL && v->q.axis >= 0) itg_onnx_writer_int(q->w, "axis", v->q.axis);
}

/* ---- reading ---- */

static itg_qdq_tensor *edge_tensor(itg_qdq *q, itg_id node, int32_t slot)
{
    const itg_edge *e = itg_annotated_edge(q->a, node, slot);
    if (!itg_qdq_ok(q)) return NULL;
    if (e == NULL || e->encoding < 0 || e->encoding >= q->a->values[e->value].encoding_count) {
        itg_qdq_fail(q, ITG_MISMATCH, node, "an input that carries no tensor");
        return NULL;
    }
    itg_qdq_tensor *t = &q->made[e->value][e->encoding];
    if (t->real == NULL && t->codes == NULL) {
        if (itg_graph_is_constant(q->g, e->value))
            add_constant(q, e->value, e->encoding);
        else
            itg_qdq_fail(q, ITG_MISMATCH, node, "an input is used before it is made");
    }
    return itg_qdq_ok(q) ? t : NULL;
}

const char *itg_qdq_read(itg_qdq *q, itg_id node, int32_t slot)
{
    itg_qdq_tensor *t = edge_tensor(q, node, slot);
    if (t == NULL) return NULL;
    const char *base = q->g->values[q->g->nodes[node].inputs[slot]].name;
    if (t->real == NULL) t->real = itg_qdq_dequantize(q, t, itg_qdq_name(q, base, "dequantized"));
    return t->real;
}

const char *itg_qdq_read_rows(itg_qdq *q, itg_id node, int32_t slot, int64_t columns)
{
    itg_qdq_tensor *t = edge_tensor(q, node, slot);
    if (t == NULL) return NULL;
    const char *base = q->g->values[q->g->nodes[node].inputs[slot]].name;
    const char *to =
        itg_qdq_list(q, base, "rows_shape", ITG_S64, (const int64_t[]){-1, columns}, 2);
    const char *from = t->codes != NULL ? t->codes : t->real;
    const char *rows = itg_qdq_add(q, "Reshape", NULL, (const char *[]){from, to}, 2,
                                   itg_qdq_name(q, base, "rows"));
    if (t->codes == NULL) return rows;
    itg_qdq_tensor flat = {.codes = rows, .scale = t->scale, .zero = t->zero};
    return itg_qdq_dequantize(q, &flat, itg_qdq_name(q, base, "dequantized"));
}

const char *itg_qdq_reshape(itg_qdq *q, const char *x, const itg_shape *shape, const char *base,
                            const char *suffix)
{
    const char *inputs[] = {x, itg_qdq_list(q, base, "shape", ITG_S64, shape->dims, shape->rank)};
    return itg_qdq_add(q, "Reshape", NULL, inputs, 2, itg_qdq_name(q, base, suffix));
}

/* ---- biases ---- */

/* Returns fl(s_x * s_w[c]) for each channel, the unit of a bias code. */
static float *bias_scales(itg_qdq *q, itg_id node, int32_t count)
{
    const itg_encoding *x = itg_annotated_encoding(q->a, node, 0),
                       *w = itg_annotated_encoding(q->a, node, 1);
    float *scale = itg_qdq_alloc(q, count, sizeof *scale);
    for (int32_t i = 0; i < count && scale != NULL; i++)
        scale[i] = x->q.scale[0] * w->q.scale[w->q.scale_count == 1 ? 0 : i];
    return scale;
}

/* Writes a bias that exceeds int32 as float. */
static const char *float_bias(itg_qdq *q, itg_id node, const float *scale)
{
    const itg_node_note *note = &q->a->nodes[node];
    float *bias = itg_qdq_alloc(q, note->bias_count, sizeof *bias);
    for (int32_t i = 0; i < note->bias_count && bias != NULL; i++)
        bias[i] = (float)((double)note->bias[i] * (double)scale[i]);
    return itg_qdq_list(q, q->g->nodes[node].name, "bias", ITG_F32, bias, note->bias_count);
}

const char *itg_qdq_bias(itg_qdq *q, itg_id node)
{
    const itg_node_note *note = &q->a->nodes[node];
    const char *base = q->g->nodes[node].name;
    if (!itg_qdq_ok(q) || note->bias == NULL) return NULL;
    float *scale = bias_scales(q, node, note->bias_count);
    int32_t *codes = itg_qdq_alloc(q, note->bias_count, sizeof *codes);
    int32_t *zeros = itg_qdq_alloc(q, note->bias_count, sizeof *zeros);
    if (!itg_qdq_ok(q)) return NULL;
    for (int32_t i = 0; i < note->bias_count; i++) {
        if (note->bias[i] < INT32_MIN || note->bias[i] > INT32_MAX)
            return float_bias(q, node, scale);
        codes[i] = (int32_t)note->bias[i];
    }
    int32_t count = note->bias_count;
    itg_qdq_tensor t = {.codes = itg_qdq_list(q, base, "bias_codes", ITG_S32, codes, count),
                        .scale = itg_qdq_list(q, base, "bias_scale", ITG_F32, scale, count),
                        .zero = itg_qdq_list(q, base, "bias_zero_point", ITG_S32, zeros, count)};
    const char *bias = itg_qdq_dequantize(q, &t, itg_qdq_name(q, base, "bias"));
    if (bias != NULL) itg_onnx_writer_int(q->w, "axis", 0);
    return bias;
}
