#include "program_maker.h"
#include "graph/graph.h"
#include <math.h>
#include <stdlib.h>

int64_t pick(maker *m, int64_t lo, int64_t hi)
{
    return lo + (int64_t)itg_rng_below(&m->rng, (uint64_t)(hi - lo + 1));
}
bool chance(maker *m, int64_t of)
{
    return pick(m, 1, of) == 1;
}
itg_pvalue *value(const maker *m, int32_t id)
{
    return &m->p->values[id];
}

/* ---- values ---- */

int32_t add_value(maker *m, itg_dtype dtype, itg_shape shape)
{
    char name[24];
    int32_t id = ITG_NONE;
    snprintf(name, sizeof name, "v%d", m->named++);
    assert_int_equal(itg_program_add_value(m->p, name, dtype, &shape, &id, NULL), ITG_OK);
    return id;
}

/* Codes mostly of 8 bits. */
static itg_quantizer random_quantizer(maker *m)
{
    static const itg_dtype storages[] = {ITG_S8, ITG_U8, ITG_S8, ITG_U8, ITG_S16, ITG_U16, ITG_S32};
    itg_quantizer q = {.axis = -1, .scale_count = 1};
    q.storage = storages[chance(m, 4) ? pick(m, 4, 6) : pick(m, 0, 3)];
    bool is_signed = itg_dtype_min(q.storage) < 0;
    int32_t width = q.storage == ITG_S32 ? 20 : (int32_t)itg_dtype_size(q.storage) * 8;
    q.bits = chance(m, 2) ? width : (int32_t)pick(m, 3, width);
    q.qmax = ((int64_t)1 << (is_signed ? q.bits - 1 : q.bits)) - 1;
    q.qmin = is_signed ? -q.qmax : 0;
    q.zero_point = chance(m, 2) ? 0 : (int32_t)pick(m, q.qmin, q.qmax);
    return q;
}

int32_t add_codes(maker *m, itg_shape shape, const itg_quantizer *like)
{
    itg_quantizer q = like != NULL ? *like : random_quantizer(m);
    float scale = (float)pick(m, 1, 99) / 512;
    if (like == NULL) q.scale = &scale;
    int32_t id = add_value(m, q.storage, shape);
    assert_int_equal(itg_program_set_quantizer(m->p, id, &q, NULL), ITG_OK);
    return id;
}

int32_t add_constant(maker *m, itg_shape shape, bool narrow)
{
    itg_quantizer q = random_quantizer(m);
    while (narrow && q.storage != ITG_S8)
        q = random_quantizer(m);
    float scale = (float)pick(m, 1, 99) / 512;
    if (narrow && !chance(m, 4)) q.zero_point = 0;
    q.scale = &scale;
    int32_t id = add_codes(m, shape, &q);
    int64_t n = 0;
    assert_true(itg_shape_elements(&shape, &n));
    void *data = itg_arena_array(m->p->arena, (size_t)n, itg_dtype_size(q.storage));
    for (int64_t i = 0; i < n; i++)
        itg_store(q.storage, data, i, pick(m, q.qmin, q.qmax));
    value(m, id)->data = data;
    return id;
}

void set_zero_points(maker *m, int32_t id, int32_t bits, int32_t axis)
{
    itg_pvalue *v = value(m, id);
    const int32_t span = (1 << bits) - 1;
    const itg_dtype from = v->dtype;
    v->dtype = v->q.storage = bits < 8 ? ITG_S8 : ITG_S16;
    v->q.bits = bits;
    v->q.qmin = -span;
    v->q.qmax = span;
    v->q.axis = axis;
    v->q.scale_count = axis < 0 ? 1 : (int32_t)v->shape.dims[axis];
    float *scale = itg_arena_array(m->p->arena, (size_t)v->q.scale_count, sizeof *scale);
    for (int32_t i = 0; i < v->q.scale_count; i++)
        scale[i] = 0.5f;
    v->q.scale = scale;
    int64_t n = 0;
    assert_true(itg_shape_elements(&v->shape, &n));
    void *codes = itg_arena_array(m->p->arena, (size_t)n, itg_dtype_size(v->dtype));
    const int64_t run = itg_scale_run(&v->q, &v->shape);
    for (int64_t i = 0; i < n; i++) {
        const int64_t zero = (id + 3 * (i / run % v->q.scale_count)) % (span + 1);
        itg_store(v->dtype, codes, i, (itg_load(from, v->data, i) & span) - zero);
    }
    v->data = codes;
}

/* Some are signs: codes of one bit. Some have zero points. axis: of the output channels. */
int32_t add_weights(maker *m, itg_shape shape, bool narrow, int32_t axis)
{
    const int32_t id = add_constant(m, shape, narrow);
    itg_quantizer *q = &value(m, id)->q;
    int64_t n = 0;
    assert_true(itg_shape_elements(&shape, &n));
    if (q->storage != ITG_S8 || q->zero_point != 0) return id;
    if (m->named % 8 == 4) set_zero_points(m, id, 2 + id % 6, id % 5 == 0 ? -1 : axis);
    if (m->named % 8 != 0) return id;
    int8_t *codes = (int8_t *)(uintptr_t)value(m, id)->data;
    for (int64_t i = 0; i < n; i++)
        codes[i] = codes[i] < 0 ? -1 : 1;
    q->bits = 1;
    q->qmin = -1;
    q->qmax = 1;
    return id;
}

/* ---- steps ---- */

itg_step *add_step(maker *m, itg_step_kind kind, itg_op op, int32_t inputs, int32_t outputs)
{
    char name[24];
    itg_step *s = NULL;
    snprintf(name, sizeof name, "n%d", m->named++);
    assert_int_equal(itg_program_add_step(m->p, kind, name, inputs, outputs, &s, NULL), ITG_OK);
    s->op = op;
    s->attrs = itg_attrs_default(op);
    s->float_lo = chance(m, 2) ? 0 : -INFINITY;
    s->float_hi = chance(m, 2) ? 3 : INFINITY;
    return s;
}

static itg_requant random_requant(maker *m, int64_t bound, int form)
{
    itg_requant r;
    memset(&r, 0, sizeof r);
    const bool doubling = m->doubling && !chance(m, 4);
    if (doubling) form = 2;
    itg_rounding rounding = (itg_rounding)(form % ITG_ROUNDING_COUNT);
    int32_t bits = 0;
    while (bits < 40 && (bound >> bits) > 100)
        bits++;
    if (form == 0) {
        r.is_f32 = true;
        r.ratio = (float)pick(m, 1, 4095) / 1024 / (float)((int64_t)1 << bits);
    } else if (form == 1) { /* a plain shift */
        r.stage_count = 1;
        r.stage[0] = (itg_requant_stage){1, bits, rounding};
    } else if (form == 2) { /* doubling high multiply, then a shift */
        r.stage_count = 2;
        r.stage[0] = (itg_requant_stage){pick(m, 1 << 30, INT32_MAX), 31, ITG_ROUND_HALF_UP};
        r.stage[1] = (itg_requant_stage){1, bits, ITG_ROUND_HALF_AWAY};
        if (doubling && bits < 12 && chance(m, 3)) { /* or a shift to the left, first */
            r.stage[1] = r.stage[0];
            r.stage[0] = (itg_requant_stage){1, (int32_t)pick(m, -4, -1), ITG_ROUND_HALF_UP};
        }
    } else if (form == 3) { /* shift first */
        r.stage_count = 3;
        r.stage[0] = (itg_requant_stage){1, bits / 2, rounding};
        r.stage[1] = (itg_requant_stage){pick(m, 1, 65535), 15, ITG_ROUND_FLOOR};
        r.stage[2] = (itg_requant_stage){1, bits - bits / 2, ITG_ROUND_HALF_EVEN};
    } else { /* multiply and shift at once */
        r.stage_count = 1;
        r.stage[0] =
            (itg_requant_stage){pick(m, 1, INT32_MAX), bits + 30 > 62 ? 62 : bits + 30, rounding};
    }
    return r;
}

void set_out(maker *m, itg_step *s, int32_t index, int32_t id, int64_t bound, int64_t channels)
{
    itg_step_out *o = &s->outs[index];
    const itg_pvalue *v = value(m, id);
    int32_t count = chance(m, 3) ? 1 : (int32_t)channels;
    int form = (int)pick(m, m->integer ? 1 : 0, 5);
    s->outputs[index] = id;
    if (!v->quantized) {
        float *factor = itg_arena_array(m->p->arena, (size_t)count, sizeof *factor);
        for (int32_t i = 0; i < count; i++)
            factor[i] = (float)pick(m, 1, 999) / 4096;
        o->dequant = factor;
        o->dequant_count = count;
        return;
    }
    itg_requant *r = itg_arena_array(m->p->arena, (size_t)count, sizeof *r);
    for (int32_t i = 0; i < count; i++)
        r[i] = random_requant(m, bound, form);
    o->requant = r;
    o->requant_count = count;
    o->lo = chance(m, 2) ? v->q.qmin : v->q.zero_point;
    o->hi = v->q.qmax;
}

/* Outputs of a step with epilogues: codes, sometimes more encodings of them, sometimes a float. */
static int32_t encoding_count(maker *m)
{
    return chance(m, 4) ? 2 : 1;
}
void add_encodings(maker *m, itg_step *s, itg_shape shape, int64_t bound, int64_t channels)
{
    for (int32_t i = 0; i < s->output_count; i++) {
        bool real = i > 0 && !m->integer && chance(m, 2);
        int32_t id = real ? add_value(m, ITG_F32, shape) : add_codes(m, shape, NULL);
        set_out(m, s, i, id, bound, channels);
        if (real) m->outputs[m->output_count++] = id;
    }
}

void set_accumulator(maker *m, itg_step *s)
{
    static const int32_t widths[] = {32, 32, 32, 64, 48, 20, 14};
    s->acc.bits = widths[pick(m, 0, 6)];
    s->acc.overflow = chance(m, 3) ? ITG_OVERFLOW_SATURATE : ITG_OVERFLOW_WRAP;
}

static void set_window(maker *m, itg_attrs *a, const itg_shape *x, itg_shape *y)
{
    a->spatial_rank = 2;
    for (int i = 0; i < 2; i++) {
        int64_t extent = x->dims[2 + i];
        a->kernel[i] = pick(m, 1, extent < 4 ? extent : 4);
        a->stride[i] = pick(m, 1, 3);
        a->dilation[i] = extent > 2 * a->kernel[i] && chance(m, 4) ? 2 : 1;
        a->pad[i] = pick(m, 0, (a->kernel[i] - 1) * a->dilation[i]);
        a->pad[2 + i] = pick(m, 0, (a->kernel[i] - 1) * a->dilation[i]);
        int64_t span = (a->kernel[i] - 1) * a->dilation[i] + 1;
        y->dims[2 + i] = (extent + a->pad[i] + a->pad[2 + i] - span) / a->stride[i] + 1;
    }
}

void keep(maker *m, int32_t id)
{
    if (m->count < MOST) m->images[m->count++] = id;
}

int64_t width_of(const itg_quantizer *q)
{
    return q->qmax - q->qmin;
}

static void add_conv(maker *m, int32_t x)
{
    itg_shape from = value(m, x)->shape, y = from;
    int64_t channels = from.dims[1], groups[] = {1, 1, channels, channels % 2 == 0 ? 2 : 1};
    itg_attrs a = itg_attrs_default(ITG_OP_CONV);
    set_window(m, &a, &from, &y);
    a.group = groups[pick(m, 0, 3)];
    y.dims[1] = a.group * pick(m, 1, a.group > 2 ? 2 : chance(m, 4) ? 40 : 9);
    itg_shape w = {4, {y.dims[1], channels / a.group, a.kernel[0], a.kernel[1]}};
    int32_t weights = add_weights(m, w, !chance(m, 6), 0), bias = ITG_NONE;
    if (chance(m, 2)) {
        bias = add_value(m, ITG_S64, (itg_shape){1, {y.dims[1]}});
        int64_t *b = itg_arena_array(m->p->arena, (size_t)y.dims[1], sizeof *b);
        for (int64_t i = 0; i < y.dims[1]; i++)
            b[i] = pick(m, -5000, 5000);
        value(m, bias)->data = b;
    }
    int64_t bound =
        width_of(&value(m, x)->q) * width_of(&value(m, weights)->q) / 4 * w.dims[1] * w.dims[2];
    itg_step *s =
        add_step(m, ITG_STEP_CONV, ITG_OP_CONV, bias == ITG_NONE ? 2 : 3, encoding_count(m));
    s->attrs = a;
    s->inputs[0] = x;
    s->inputs[1] = weights;
    if (bias != ITG_NONE) s->inputs[2] = bias;
    set_accumulator(m, s);
    add_encodings(m, s, y, bound, y.dims[1]);
    keep(m, s->outputs[0]);
}

/* Another image of this shape, or a constant that broadcasts to it. */
static int32_t partner(maker *m, int32_t x)
{
    itg_shape shape = value(m, x)->shape;
    for (int32_t i = m->count - 1; i >= 0; i--)
        if (itg_shape_equal(&value(m, m->images[i])->shape, &shape) && !chance(m, 3))
            return m->images[i];
    static const int kept[][4] = {{1, 1, 1, 1}, {1, 1, 0, 0}, {0, 0, 0, 1},
                                  {0, 0, 0, 0}, {0, 1, 0, 0}, {1, 0, 0, 0}};
    int64_t which = pick(m, 0, 5);
    for (int i = 0; i < 4; i++)
        if (!kept[which][i]) shape.dims[i] = 1;
    return add_constant(m, shape, true);
}

static void add_binary(maker *m, int32_t x)
{
    static const itg_op ops[] = {ITG_OP_ADD, ITG_OP_ADD, ITG_OP_SUB, ITG_OP_MUL};
    itg_op op = ops[pick(m, 0, 3)];
    itg_shape shape = value(m, x)->shape;
    int32_t y = partner(m, x);
    bool swap = chance(m, 2), ordered = value(m, y)->data != NULL && chance(m, 3);
    if (ordered) { /* a fused sum of floats, whose order depends on what is broadcast */
        op = ITG_OP_ADD;
        swap = true;
    }
    itg_step *s = add_step(m, ITG_STEP_BINARY, op, 2, encoding_count(m));
    s->inputs[0] = swap ? y : x;
    s->inputs[1] = swap ? x : y;
    s->form = op == ITG_OP_MUL ? ITG_FORM_PRODUCT
              : chance(m, 4)   ? ITG_FORM_EQUAL
                               : ITG_FORM_RESCALE;
    if (!m->integer && (ordered || chance(m, 3))) s->form = ITG_FORM_F32;
    int64_t most = width_of(&value(m, x)->q) + width_of(&value(m, y)->q);
    int64_t bound = op == ITG_OP_MUL ? width_of(&value(m, x)->q) * width_of(&value(m, y)->q) : most;
    if (s->form == ITG_FORM_RESCALE) {
        s->left_shift = chance(m, 3) ? (int32_t)pick(m, 0, 12) : 20;
        for (int i = 0; i < 2; i++)
            s->operand[i] = random_requant(m, 100, (int)pick(m, m->integer ? 1 : 0, 5));
        bound = most << s->left_shift;
    }
    set_accumulator(m, s);
    if (chance(m, 2)) s->acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
    add_encodings(m, s, shape, bound, 1);
    keep(m, s->outputs[0]);
}

static void add_clip(maker *m, int32_t x)
{
    itg_step *s = add_step(m, ITG_STEP_CLIP, ITG_OP_RELU, 1, encoding_count(m));
    s->inputs[0] = x;
    set_accumulator(m, s);
    add_encodings(m, s, value(m, x)->shape, width_of(&value(m, x)->q), 1);
    keep(m, s->outputs[0]);
}

static void add_lut(maker *m, int32_t x)
{
    itg_quantizer q = value(m, x)->q;
    int32_t shift = chance(m, 2) ? (int32_t)pick(m, 1, 9) : 0;
    while (itg_table_entries(&q, shift) > 2048) /* as much text as all else */
        shift++;
    if (shift > 14) return;
    int64_t entries = itg_table_entries(&q, shift);
    int32_t y = add_codes(m, value(m, x)->shape, NULL);
    const itg_quantizer out = value(m, y)->q;
    int32_t table = add_value(m, ITG_S32, (itg_shape){1, {entries}});
    int32_t *codes = itg_arena_array(m->p->arena, (size_t)entries, sizeof *codes);
    for (int64_t i = 0; i < entries; i++)
        codes[i] = (int32_t)pick(m, out.qmin, out.qmax);
    value(m, table)->data = codes;
    itg_step *s = add_step(m, ITG_STEP_LUT, ITG_OP_SIGMOID, 2, 1);
    s->table_shift = shift;
    s->inputs[0] = x;
    s->inputs[1] = table;
    s->outputs[0] = y;
    keep(m, y);
}

static void add_mean(maker *m, int32_t x, bool global)
{
    itg_shape from = value(m, x)->shape, y = from;
    itg_attrs a = itg_attrs_default(global ? ITG_OP_GLOBAL_AVERAGE_POOL : ITG_OP_AVERAGE_POOL);
    int64_t area = from.dims[2] * from.dims[3];
    y.dims[2] = y.dims[3] = 1;
    if (!global) {
        y = from;
        set_window(m, &a, &from, &y);
        a.count_include_pad = chance(m, 2);
        area = a.kernel[0] * a.kernel[1];
    }
    bool keeps = chance(m, 3);
    itg_step *s =
        add_step(m, ITG_STEP_MEAN, global ? ITG_OP_GLOBAL_AVERAGE_POOL : ITG_OP_AVERAGE_POOL, 1,
                 keeps ? 1 : encoding_count(m));
    s->attrs = a;
    s->inputs[0] = x;
    s->form = keeps                                    ? ITG_FORM_KEEP
              : !global && !m->integer && chance(m, 2) ? ITG_FORM_F32
                                                       : ITG_FORM_RESCALE;
    s->rounding = (itg_rounding)pick(m, 0, ITG_ROUNDING_COUNT - 1);
    set_accumulator(m, s);
    if (keeps)
        s->outputs[0] = add_codes(m, y, &(itg_quantizer[1]){value(m, x)->q}[0]);
    else
        add_encodings(m, s, y, width_of(&value(m, x)->q) * area / 2, area);
    keep(m, s->outputs[0]);
}

int32_t add_bytes(maker *m, itg_shape shape)
{
    float one = 1;
    itg_quantizer q = {.bits = 8,
                       .is_signed = true,
                       .qmin = -128,
                       .qmax = 127,
                       .axis = -1,
                       .scale_count = 1,
                       .scale = &one,
                       .storage = ITG_S8};
    return add_codes(m, shape, &q);
}

int32_t add_like(maker *m, itg_shape shape, int32_t like)
{
    itg_quantizer q = value(m, like)->q;
    return add_codes(m, shape, &q);
}

static void add_max(maker *m, int32_t x)
{
    itg_shape from = value(m, x)->shape, y = from;
    itg_attrs a = itg_attrs_default(ITG_OP_MAX_POOL);
    set_window(m, &a, &from, &y);
    int32_t out = add_like(m, y, x);
    itg_step *s = add_step(m, ITG_STEP_MAX, ITG_OP_MAX_POOL, 1, 1);
    s->attrs = a;
    s->inputs[0] = x;
    s->outputs[0] = out;
    keep(m, out);
}

static void add_concat(maker *m, int32_t x)
{
    itg_shape y = value(m, x)->shape;
    int64_t axis = pick(m, y.dims[0] * 2 > MOST_IMAGES, 3);
    y.dims[axis] *= 2;
    int32_t out = add_like(m, y, x);
    itg_step *s = add_step(m, ITG_STEP_MOVE, ITG_OP_CONCAT, 2, 1);
    s->attrs.axis = axis;
    s->inputs[0] = s->inputs[1] = x;
    s->outputs[0] = out;
    keep(m, out);
}

static void add_transpose(maker *m, int32_t x)
{
    static const int64_t perms[][4] = {{0, 1, 3, 2}, {0, 2, 3, 1}, {0, 3, 1, 2},
                                       {0, 1, 2, 3}, {1, 0, 2, 3}, {2, 3, 0, 1}};
    const int64_t *perm = perms[pick(m, 0, 5)];
    itg_shape from = value(m, x)->shape, y = from;
    if (from.dims[perm[0]] > MOST_IMAGES) perm = perms[0];
    for (int i = 0; i < 4; i++)
        y.dims[i] = from.dims[perm[i]];
    int32_t out = add_like(m, y, x);
    itg_step *s = add_step(m, ITG_STEP_MOVE, ITG_OP_TRANSPOSE, 1, 1);
    memcpy(s->attrs.perm, perm, 4 * sizeof *perm);
    s->inputs[0] = x;
    s->outputs[0] = out;
    keep(m, out);
}

static void add_pad(maker *m, int32_t x)
{
    itg_shape y = value(m, x)->shape;
    int64_t begin[4] = {y.dims[0] < MOST_IMAGES && chance(m, 4), 0, pick(m, 0, 2), pick(m, 0, 2)};
    for (int i = 0; i < 4; i++)
        y.dims[i] += begin[i] + (i > 0 && pick(m, 0, 1));
    int32_t out = add_like(m, y, x);
    itg_step *s = add_step(m, ITG_STEP_MOVE, ITG_OP_PAD, 1, 1);
    memcpy(s->attrs.pads_begin, begin, sizeof begin);
    s->inputs[0] = x;
    s->outputs[0] = out;
    keep(m, out);
}

static void add_slice(maker *m, int32_t x)
{
    itg_shape y = value(m, x)->shape;
    int64_t axis = pick(m, 0, 3), start = pick(m, 0, y.dims[axis] - 1);
    y.dims[axis] -= start;
    int32_t out = add_like(m, y, x);
    itg_step *s = add_step(m, ITG_STEP_MOVE, ITG_OP_SLICE, 1, 1);
    s->attrs.axes_count = 1;
    s->attrs.axes[0] = axis;
    s->attrs.starts[0] = start;
    s->attrs.steps[0] = 1;
    s->inputs[0] = x;
    s->outputs[0] = out;
    keep(m, out);
}

static void add_split(maker *m, int32_t x)
{
    itg_shape y = value(m, x)->shape;
    int64_t axis = pick(m, 0, 3), first = y.dims[axis] / 2;
    if (first < 1) return;
    itg_shape rest = y;
    y.dims[axis] = first;
    rest.dims[axis] -= first;
    int32_t a = add_like(m, y, x), b = add_like(m, rest, x);
    itg_step *s = add_step(m, ITG_STEP_MOVE, ITG_OP_SPLIT, 1, 2);
    s->attrs.axis = axis;
    s->inputs[0] = x;
    s->outputs[0] = a;
    s->outputs[1] = b;
    keep(m, a);
    keep(m, b);
}

/* Other images of the same codes: more of them in one tensor, or fewer. */
static void add_images(maker *m, int32_t x)
{
    itg_shape y = value(m, x)->shape;
    int from = y.dims[1] % 2 == 0 && chance(m, 2) ? 1 : 2;
    if (y.dims[0] * 2 <= MOST_IMAGES && y.dims[from] % 2 == 0) {
        y.dims[0] *= 2;
        y.dims[from] /= 2;
    } else {
        y.dims[1] *= y.dims[0];
        y.dims[0] = 1;
    }
    int32_t out = add_like(m, y, x);
    itg_step *s = add_step(m, ITG_STEP_MOVE, ITG_OP_RESHAPE, 1, 1);
    s->inputs[0] = x;
    s->outputs[0] = out;
    keep(m, out);
}

static void add_gather(maker *m, int32_t x)
{
    itg_shape y = value(m, x)->shape;
    int64_t axis = pick(m, 0, 3), extent = y.dims[axis], count = pick(m, 1, 3);
    int32_t at = add_value(m, ITG_S64, (itg_shape){1, {count}});
    int64_t *indices = itg_arena_array(m->p->arena, (size_t)count, sizeof *indices);
    for (int64_t i = 0; i < count; i++)
        indices[i] = pick(m, -extent, extent - 1);
    value(m, at)->data = indices;
    y.dims[axis] = count;
    int32_t out = add_like(m, y, x);
    itg_step *s = add_step(m, ITG_STEP_MOVE, ITG_OP_GATHER, 2, 1);
    s->attrs.axis = axis;
    s->inputs[0] = x;
    s->inputs[1] = at;
    s->outputs[0] = out;
    keep(m, out);
}

static void add_expand(maker *m, int32_t x)
{
    itg_shape y = value(m, x)->shape;
    for (int i = 0; i < 4; i++)
        if (y.dims[i] == 1) y.dims[i] = pick(m, 1, 2);
    int32_t out = add_like(m, y, x);
    itg_step *s = add_step(m, ITG_STEP_MOVE, ITG_OP_EXPAND, 1, 1);
    s->inputs[0] = x;
    s->outputs[0] = out;
    keep(m, out);
}

/* Axes to reduce, often the images' too; the shape that is left. */
static itg_shape set_axes(maker *m, itg_attrs *a, itg_shape y)
{
    a->keepdims = true;
    for (int64_t i = pick(m, 0, 2); i < 4; i += pick(m, 1, 2)) {
        a->axes[a->axes_count++] = i;
        y.dims[i] = 1;
    }
    return y;
}

static void add_reduced_max(maker *m, int32_t x)
{
    bool global = chance(m, 2);
    itg_op op = global ? ITG_OP_GLOBAL_MAX_POOL : ITG_OP_REDUCE_MAX;
    itg_attrs a = itg_attrs_default(op);
    itg_shape y = value(m, x)->shape;
    if (global)
        y.dims[2] = y.dims[3] = 1;
    else
        y = set_axes(m, &a, y);
    int32_t out = add_like(m, y, x);
    itg_step *s = add_step(m, ITG_STEP_MAX, op, 1, 1);
    s->attrs = a;
    s->inputs[0] = x;
    s->outputs[0] = out;
    keep(m, out);
}

static void add_reduced_mean(maker *m, int32_t x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    itg_shape y = set_axes(m, &a, value(m, x)->shape);
    bool keeps = chance(m, 3);
    itg_step *s = add_step(m, ITG_STEP_MEAN, ITG_OP_REDUCE_MEAN, 1, keeps ? 1 : encoding_count(m));
    s->attrs = a;
    s->inputs[0] = x;
    s->form = keeps ? ITG_FORM_KEEP : ITG_FORM_RESCALE;
    s->rounding = (itg_rounding)pick(m, 0, ITG_ROUNDING_COUNT - 1);
    set_accumulator(m, s);
    if (keeps)
        s->outputs[0] = add_like(m, y, x);
    else
        add_encodings(m, s, y, width_of(&value(m, x)->q) * 16, 1);
    keep(m, s->outputs[0]);
}

/* Each image's matrices by those of another, or by one for all. */
static void add_product(maker *m, int32_t x)
{
    itg_shape a = value(m, x)->shape, b = a;
    b.dims[2] = a.dims[3];
    b.dims[3] = a.dims[2];
    int32_t turned = add_like(m, b, x);
    itg_step *s = add_step(m, ITG_STEP_MOVE, ITG_OP_TRANSPOSE, 1, 1);
    memcpy(s->attrs.perm, (const int64_t[]){0, 1, 3, 2}, 4 * sizeof(int64_t));
    s->inputs[0] = x;
    s->outputs[0] = turned;
    s = add_step(m, ITG_STEP_MATMUL, ITG_OP_MATMUL, 2, encoding_count(m));
    s->inputs[0] = x;
    s->inputs[1] = turned;
    set_accumulator(m, s);
    itg_shape y = a;
    y.dims[3] = a.dims[2];
    int64_t width = width_of(&value(m, x)->q);
    add_encodings(m, s, y, width * width / 4 * a.dims[3], 1);
    keep(m, s->outputs[0]);
}

/* Codes to floats, an island, and codes again. */
static void add_island(maker *m, int32_t x)
{
    itg_shape shape = value(m, x)->shape;
    int32_t real = add_value(m, ITG_F32, shape), soft = add_value(m, ITG_F32, shape);
    int32_t out = add_codes(m, shape, NULL);
    itg_step *s = add_step(m, ITG_STEP_DEQUANTIZE, ITG_OP_IDENTITY, 1, 1);
    s->inputs[0] = x;
    s->outputs[0] = real;
    s = add_step(m, ITG_STEP_FLOAT, ITG_OP_SIGMOID, 1, 1);
    s->inputs[0] = real;
    s->outputs[0] = soft;
    s = add_step(m, ITG_STEP_QUANTIZE, ITG_OP_IDENTITY, 1, 1);
    s->inputs[0] = soft;
    s->outputs[0] = out;
    keep(m, out);
}

static void add_arg_max(maker *m, int32_t x)
{
    itg_shape y = value(m, x)->shape;
    int64_t axis = pick(m, 0, 3);
    y.dims[axis] = 1;
    int32_t out = add_value(m, ITG_S64, y);
    itg_step *s = add_step(m, ITG_STEP_ARG_MAX, ITG_OP_ARG_MAX, 1, 1);
    s->attrs.axis = axis;
    s->attrs.keepdims = true;
    s->inputs[0] = x;
    s->outputs[0] = out;
    m->outputs[m->output_count++] = out;
}

/* Flatten, then a matrix product. */
static void add_end(maker *m, int32_t x)
{
    itg_shape image = value(m, x)->shape, flat = {2, {image.dims[0]}};
    flat.dims[1] = image.dims[1] * image.dims[2] * image.dims[3];
    int32_t row = add_like(m, flat, x);
    itg_step *s = add_step(m, ITG_STEP_MOVE, ITG_OP_FLATTEN, 1, 1);
    s->attrs.axis = 1;
    s->inputs[0] = x;
    s->outputs[0] = row;
    int64_t n = pick(m, 1, 20);
    bool turned = chance(m, 2);
    itg_shape w = {2, {turned ? n : flat.dims[1], turned ? flat.dims[1] : n}};
    int32_t weights = add_weights(m, w, true, turned ? 0 : 1);
    s = add_step(m, ITG_STEP_MATMUL, ITG_OP_MATMUL, 2, encoding_count(m));
    s->attrs.trans_b = turned;
    s->inputs[0] = row;
    s->inputs[1] = weights;
    set_accumulator(m, s);
    add_encodings(m, s, (itg_shape){2, {flat.dims[0], n}},
                  width_of(&value(m, row)->q) * width_of(&value(m, weights)->q) * flat.dims[1] / 8,
                  n);
    m->outputs[m->output_count++] = s->outputs[0];
}

static void add_any(maker *m)
{
    int32_t x = m->images[chance(m, 3) ? pick(m, 0, m->count - 1) : m->count - 1];
    const itg_shape *shape = &value(m, x)->shape;
    bool large = shape->dims[0] * shape->dims[1] * shape->dims[2] * shape->dims[3] > 4000;
    switch (pick(m, 0, 23)) {
    case 0:
        add_clip(m, x);
        break;
    case 1:
        add_lut(m, x);
        break;
    case 2:
        add_mean(m, x, false);
        break;
    case 3:
        add_max(m, x);
        break;
    case 4:
        if (!large) add_concat(m, x);
        break;
    case 5:
        add_transpose(m, x);
        break;
    case 6:
        if (!large) add_pad(m, x);
        break;
    case 7:
        add_slice(m, x);
        break;
    case 8:
        add_split(m, x);
        break;
    case 9:
        if (!m->integer) add_island(m, x);
        break;
    case 10:
        if (m->output_count < 4) add_arg_max(m, x);
        break;
    case 11:
    case 12:
        add_binary(m, x);
        break;
    case 13:
    case 14:
        add_images(m, x);
        break;
    case 15:
        add_gather(m, x);
        break;
    case 16:
        add_expand(m, x);
        break;
    case 17:
        add_reduced_max(m, x);
        break;
    case 18:
        add_reduced_mean(m, x);
        break;
    case 19:
        if (!large) add_product(m, x);
        break;
    case 20:
        add_rows(m, x);
        break;
    default:
        add_conv(m, x);
    }
}

static void set_ends(maker *m, int32_t input)
{
    itg_program *p = m->p;
    p->inputs = itg_arena_array(p->arena, 2, sizeof *p->inputs);
    p->outputs = itg_arena_array(p->arena, MOST + 1, sizeof *p->outputs);
    p->inputs[p->input_count++] = input;
    for (int32_t i = 0; i < m->output_count; i++)
        p->outputs[p->output_count++] = m->outputs[i];
    if (chance(m, 2)) p->outputs[p->output_count++] = m->images[pick(m, 0, m->count - 1)];
}

/* Images that no step reads are outputs, so that every step counts. */
static void give_unread(maker *m)
{
    for (int32_t i = 0; i < m->count && m->output_count < 12; i++) {
        bool read = false;
        for (int32_t s = 0; s < m->p->step_count; s++)
            for (int32_t k = 0; k < m->p->steps[s].input_count; k++)
                read |= m->p->steps[s].inputs[k] == m->images[i];
        if (!read) m->outputs[m->output_count++] = m->images[i];
    }
}

static itg_program *make_program(uint64_t seed, bool integer, bool forms, bool doubling)
{
    maker m = {.seed = seed, .integer = integer, .doubling = doubling};
    itg_error err = {0};
    itg_rng_init(&m.rng, seed);
    assert_int_equal(itg_program_create("random", &m.p, NULL), ITG_OK);
    itg_shape shape = {4, {1, pick(&m, 1, 5), pick(&m, 2, 9), pick(&m, 2, 9)}};
    if (forms && chance(&m, 3)) shape.dims[0] = 2;
    int32_t input = add_value(&m, ITG_F32, shape), codes = add_codes(&m, shape, NULL);
    itg_step *s = add_step(&m, ITG_STEP_QUANTIZE, ITG_OP_IDENTITY, 1, 1);
    s->inputs[0] = input;
    s->outputs[0] = codes;
    keep(&m, codes);
    int64_t steps = pick(&m, 2, 12);
    for (int64_t i = 0; i < steps; i++)
        if (forms && !chance(&m, 4))
            add_form(&m);
        else
            add_any(&m);
    int32_t last = m.images[m.count - 1];
    if (chance(&m, 2)) {
        add_mean(&m, last, true);
        last = m.images[m.count - 1];
    }
    add_end(&m, last);
    if (forms) give_unread(&m);
    set_ends(&m, input);
    if (itg_program_finish(m.p, ITG_BOUNDS_STORE, &err) != ITG_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    return m.p;
}

itg_program *random_program(uint64_t seed)
{
    return make_program(seed, false, false, false);
}

itg_program *random_doubling_program(uint64_t seed)
{
    return make_program(seed, true, false, true);
}

itg_program *random_integer_program(uint64_t seed)
{
    return make_program(seed, true, false, false);
}

itg_program *random_form_program(uint64_t seed)
{
    return make_program(seed, true, true, false);
}

static itg_quantizer byte_quantizer(maker *m, float *scale)
{
    return (itg_quantizer){.bits = 8,
                           .storage = ITG_U8,
                           .qmax = 255,
                           .zero_point = (int32_t)pick(m, 0, 255),
                           .axis = -1,
                           .scale_count = 1,
                           .scale = scale};
}

itg_program *broadcast_sum_program(uint64_t seed)
{
    enum { CHANNELS = 24 };
    maker m = {.seed = seed};
    itg_error err = {0};
    float scale[3];
    itg_rng_init(&m.rng, seed);
    assert_int_equal(itg_program_create("sum", &m.p, NULL), ITG_OK);
    itg_shape shape = {4, {1, CHANNELS, 8, 8}}, channels = {4, {1, CHANNELS, 1, 1}};
    itg_quantizer q[3];
    /* Tenths: sums lie next to halves, where the order of roundings shows. */
    for (int i = 0; i < 3; i++) {
        scale[i] = i < 2 ? (float)pick(&m, 1, 9) / 10 : 1;
        q[i] = byte_quantizer(&m, &scale[i]);
    }
    int32_t input = add_value(&m, ITG_F32, shape), x = add_codes(&m, shape, &q[0]);
    int32_t pooled = add_codes(&m, shape, &q[0]), w = add_codes(&m, channels, &q[1]);
    int32_t y = add_codes(&m, shape, &q[2]);
    unsigned char *codes = itg_arena_alloc(m.p->arena, CHANNELS);
    for (int i = 0; i < CHANNELS; i++)
        codes[i] = (unsigned char)pick(&m, 0, 255);
    value(&m, w)->data = codes;
    itg_step *s = add_step(&m, ITG_STEP_QUANTIZE, ITG_OP_IDENTITY, 1, 1);
    s->inputs[0] = input;
    s->outputs[0] = x;
    s = add_step(&m, ITG_STEP_MAX, ITG_OP_MAX_POOL, 1, 1);
    s->attrs.spatial_rank = 2;
    s->attrs.kernel[0] = s->attrs.kernel[1] = 1;
    s->inputs[0] = x;
    s->outputs[0] = pooled;
    s = add_step(&m, ITG_STEP_BINARY, ITG_OP_ADD, 2, 1);
    s->form = ITG_FORM_F32;
    s->inputs[0] = w;
    s->inputs[1] = pooled;
    s->outputs[0] = y;
    s->outs[0].hi = 255;
    m.outputs[m.output_count++] = y;
    keep(&m, y);
    set_ends(&m, input);
    if (itg_program_finish(m.p, ITG_BOUNDS_STORE, &err) != ITG_OK) fail_msg("%s", err.message);
    return m.p;
}
