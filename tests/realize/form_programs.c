/* The rarer forms: padding by what is there, slices backwards, gathered indices, reductions over
 * any axes, products of two activations, windows of one axis. */
#include "program_maker.h"
#include <stdlib.h>

static itg_shape shape_of(const maker *m, int32_t id)
{
    return value(m, id)->shape;
}

static int64_t elements_of(const maker *m, int32_t id)
{
    return itg_dims_product(&value(m, id)->shape, 0, value(m, id)->shape.rank);
}

static int32_t moved(maker *m, itg_op op, int32_t x, itg_shape to, itg_step **step)
{
    int32_t y = add_like(m, to, x);
    itg_step *s = add_step(m, ITG_STEP_MOVE, op, 1, 1);
    s->inputs[0] = x;
    s->outputs[0] = y;
    if (step != NULL) *step = s;
    return y;
}

/* Any mode, growing and cutting. */
static void add_padding(maker *m, int32_t x)
{
    itg_shape from = shape_of(m, x), to = from;
    int64_t begin[4] = {0};
    itg_pad_mode mode = (itg_pad_mode)(m->seed % 3);
    for (int d = 1; d < 4; d++) {
        int64_t most = mode == ITG_PAD_REFLECT ? from.dims[d] - 1 : 3;
        int64_t least = from.dims[d] > 3 ? -1 : 0;
        begin[d] = pick(m, least, most < 2 ? most : 2);
        to.dims[d] += begin[d] + pick(m, least, most < 2 ? most : 2);
    }
    itg_step *s;
    int32_t y = moved(m, ITG_OP_PAD, x, to, &s);
    memcpy(s->attrs.pads_begin, begin, sizeof begin);
    s->attrs.pad_mode = mode;
    keep(m, y);
}

/* One or two axes, forwards or backwards. */
static void add_steps_of_slice(maker *m, int32_t x)
{
    static const int64_t steps[] = {-3, -2, -1, -1, 1, 2};
    itg_shape to = shape_of(m, x);
    itg_attrs a = itg_attrs_default(ITG_OP_SLICE);
    int64_t first = pick(m, 1, 3);
    a.axes_count = (int32_t)pick(m, 1, 2);
    for (int i = 0; i < a.axes_count; i++) {
        int64_t axis = i == 0 ? first : first % 3 + 1, extent = to.dims[axis];
        int64_t step = steps[pick(m, 0, 5)], start = pick(m, 0, extent - 1);
        int64_t most = step < 0 ? start / -step + 1 : (extent - 1 - start) / step + 1;
        a.axes[i] = axis;
        a.starts[i] = start;
        a.steps[i] = step;
        to.dims[axis] = pick(m, most > 2 ? most - 1 : 1, most);
    }
    itg_step *s;
    int32_t y = moved(m, ITG_OP_SLICE, x, to, &s);
    s->attrs = a;
    keep(m, y);
}

static void add_gather(maker *m, int32_t x)
{
    itg_shape to = shape_of(m, x);
    int64_t axis = pick(m, 1, 3), extent = to.dims[axis], n = pick(m, 1, 4);
    bool narrow = chance(m, 2);
    int32_t indices = add_value(m, narrow ? ITG_S32 : ITG_S64, (itg_shape){1, {n}});
    void *data = itg_arena_array(m->p->arena, (size_t)n, 8);
    for (int64_t i = 0; i < n; i++)
        itg_store(narrow ? ITG_S32 : ITG_S64, data, i, pick(m, -extent, extent - 1));
    value(m, indices)->data = data;
    to.dims[axis] = n;
    int32_t y = add_like(m, to, x);
    itg_step *s = add_step(m, ITG_STEP_MOVE, ITG_OP_GATHER, 2, 1);
    s->attrs.axis = axis;
    s->inputs[0] = x;
    s->inputs[1] = indices;
    s->outputs[0] = y;
    keep(m, y);
}

/* Rows of a table, or of a computed tensor, by indices that a step computes. */
static void add_lookup(maker *m, int32_t x)
{
    itg_shape from = shape_of(m, x), to = {0};
    itg_shape picked = {3, {from.dims[0], from.dims[2], from.dims[3]}};
    bool table = chance(m, 2) || elements_of(m, x) > 100;
    int32_t indices = add_value(m, ITG_S64, picked);
    itg_step *s = add_step(m, ITG_STEP_ARG_MAX, ITG_OP_ARG_MAX, 1, 1);
    s->attrs.axis = 1;
    s->attrs.keepdims = false;
    s->inputs[0] = x;
    s->outputs[0] = indices;
    int64_t before = pick(m, 1, 2), run = pick(m, 1, 5);
    if (table) {
        x = add_constant(m, (itg_shape){3, {before, from.dims[1] + 1, run}}, chance(m, 2));
        from = shape_of(m, x);
    }
    for (int32_t d = 0; d < from.rank; d++)
        for (int32_t i = 0; i < (d == 1 ? picked.rank : 1); i++)
            to.dims[to.rank++] = d == 1 ? picked.dims[i] : from.dims[d];
    int32_t y = add_like(m, to, x);
    s = add_step(m, ITG_STEP_MOVE, ITG_OP_GATHER, 2, 1);
    s->attrs.axis = 1;
    s->inputs[0] = x;
    s->inputs[1] = indices;
    s->outputs[0] = y;
    int64_t all = elements_of(m, y), batch = shape_of(m, m->images[0]).dims[0];
    if (all % batch == 0)
        keep(m, moved(m, ITG_OP_RESHAPE, y, (itg_shape){4, {batch, all / batch, 1, 1}}, NULL));
}

/* Axes to reduce, and what is left of the shape. */
static itg_shape reduce(maker *m, itg_attrs *a, itg_shape from, int64_t *count)
{
    itg_shape to = from;
    *count = 1;
    a->keepdims = true;
    a->axes_count = 0;
    for (int64_t d = 0; d < from.rank; d++)
        if (chance(m, 2) && (d > 0 || from.dims[0] == 1)) {
            a->axes[a->axes_count++] = d;
            *count *= from.dims[d];
            to.dims[d] = 1;
        }
    if (a->axes_count == 0) /* none given: all */
        for (int32_t d = 0; d < from.rank; d++) {
            *count *= from.dims[d];
            to.dims[d] = 1;
        }
    if (!chance(m, 3)) return to;
    a->keepdims = false;
    itg_shape rest = {0};
    for (int32_t d = 0; d < from.rank; d++) {
        bool reduced = a->axes_count == 0;
        for (int32_t i = 0; i < a->axes_count; i++)
            reduced |= a->axes[i] == d;
        if (!reduced) rest.dims[rest.rank++] = from.dims[d];
    }
    return rest;
}

/* Images go on; what lost axes is an output. */
static void keep_or_give(maker *m, int32_t id)
{
    if (value(m, id)->shape.rank == 4)
        keep(m, id);
    else if (m->output_count < MOST)
        m->outputs[m->output_count++] = id;
}

static void add_reduced(maker *m, int32_t x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    int64_t count;
    itg_shape to = reduce(m, &a, shape_of(m, x), &count);
    bool is_max = chance(m, 3), keeps = is_max || chance(m, 2);
    itg_op op = is_max ? ITG_OP_REDUCE_MAX : ITG_OP_REDUCE_MEAN;
    itg_step *s = add_step(m, is_max ? ITG_STEP_MAX : ITG_STEP_MEAN, op, 1, 1);
    s->attrs = a;
    s->inputs[0] = x;
    s->form = keeps ? ITG_FORM_KEEP : ITG_FORM_RESCALE;
    s->rounding = (itg_rounding)pick(m, 0, ITG_ROUNDING_COUNT - 1);
    if (!is_max) set_accumulator(m, s);
    if (keeps)
        s->outputs[0] = add_like(m, to, x);
    else
        add_encodings(m, s, to, width_of(&value(m, x)->q) * count / 2, count);
    keep_or_give(m, s->outputs[0]);
}

static void add_expanded(maker *m, int32_t x)
{
    itg_shape to = shape_of(m, x);
    for (int d = 1; d < 4; d++)
        if (to.dims[d] == 1) to.dims[d] = pick(m, 1, 4);
    keep(m, moved(m, ITG_OP_EXPAND, x, to, NULL));
}

static void add_greatest(maker *m, int32_t x)
{
    itg_shape to = shape_of(m, x);
    if (chance(m, 2)) {
        to.dims[2] = to.dims[3] = 1;
        int32_t y = add_like(m, to, x);
        itg_step *s = add_step(m, ITG_STEP_MAX, ITG_OP_GLOBAL_MAX_POOL, 1, 1);
        s->inputs[0] = x;
        s->outputs[0] = y;
        keep(m, y);
        return;
    }
    int64_t axis = pick(m, 1, 3);
    bool keepdims = chance(m, 2);
    itg_shape rest = {0};
    for (int32_t d = 0; d < 4; d++)
        if (d != axis || keepdims) rest.dims[rest.rank++] = d == axis ? 1 : to.dims[d];
    if (m->output_count >= 6) return;
    int32_t y = add_value(m, ITG_S64, rest);
    itg_step *s = add_step(m, ITG_STEP_ARG_MAX, ITG_OP_ARG_MAX, 1, 1);
    s->attrs.axis = axis;
    s->attrs.keepdims = keepdims;
    s->attrs.select_last_index = chance(m, 2);
    s->inputs[0] = x;
    s->outputs[0] = y;
    m->outputs[m->output_count++] = y;
}

/* Of an image with its own transpose, or with a constant; one matrix a channel. */
static void add_product(maker *m, int32_t x)
{
    itg_shape from = shape_of(m, x), to = from, w = {2, {from.dims[3], pick(m, 1, 9)}};
    int32_t other;
    bool turned = false;
    if (chance(m, 2)) {
        turned = true;
        other = x;
        to.dims[3] = from.dims[2];
    } else {
        if (chance(m, 2)) { /* with matrices of its own for each channel */
            w = from;
            w.dims[0] = 1;
            w.dims[2] = from.dims[3];
            w.dims[3] = pick(m, 1, 5);
        }
        turned = chance(m, 2);
        to.dims[3] = w.dims[w.rank - 1];
        if (turned) {
            int64_t k = w.dims[w.rank - 2];
            w.dims[w.rank - 2] = w.dims[w.rank - 1];
            w.dims[w.rank - 1] = k;
        }
        other = add_weights(m, w, true, w.rank - (turned ? 2 : 1));
    }
    itg_step *s = add_step(m, ITG_STEP_MATMUL, ITG_OP_MATMUL, 2, chance(m, 3) ? 2 : 1);
    s->attrs.trans_b = turned;
    s->inputs[0] = x;
    s->inputs[1] = other;
    set_accumulator(m, s);
    int64_t bound = width_of(&value(m, x)->q) * width_of(&value(m, other)->q) * from.dims[3] / 4;
    add_encodings(m, s, to, bound, to.dims[3]);
    keep(m, s->outputs[0]);
}

/* Rows one after another as one axis: Conv and pools of rank 3, and back. */
static void add_line(maker *m, int32_t x)
{
    itg_shape from = shape_of(m, x);
    itg_shape line = {3, {from.dims[0], from.dims[1], from.dims[2] * from.dims[3]}}, to = line;
    int32_t row = moved(m, ITG_OP_RESHAPE, x, line, NULL), y;
    itg_attrs a = itg_attrs_default(ITG_OP_CONV);
    a.spatial_rank = 1;
    a.kernel[0] = a.stride[0] = a.dilation[0] = 1;
    a.kernel[1] = pick(m, 1, line.dims[2] < 4 ? line.dims[2] : 4);
    a.stride[1] = pick(m, 1, 2);
    a.dilation[1] = 1;
    a.pad[0] = a.pad[2] = 0;
    a.pad[1] = pick(m, 0, a.kernel[1] - 1);
    a.pad[3] = pick(m, 0, a.kernel[1] - 1);
    to.dims[2] = (line.dims[2] + a.pad[1] + a.pad[3] - a.kernel[1]) / a.stride[1] + 1;
    if (chance(m, 2)) {
        y = add_like(m, to, row);
        itg_step *s = add_step(m, ITG_STEP_MAX, ITG_OP_MAX_POOL, 1, 1);
        s->attrs = a;
        s->inputs[0] = row;
        s->outputs[0] = y;
    } else {
        to.dims[1] = pick(m, 1, 9);
        itg_shape w = {3, {to.dims[1], line.dims[1], a.kernel[1]}};
        int32_t weights = add_weights(m, w, true, 0);
        int64_t bound = width_of(&value(m, row)->q) * width_of(&value(m, weights)->q) / 4 *
                        w.dims[1] * w.dims[2];
        itg_step *s = add_step(m, ITG_STEP_CONV, ITG_OP_CONV, 2, 1);
        a.group = 1;
        s->attrs = a;
        s->inputs[0] = row;
        s->inputs[1] = weights;
        set_accumulator(m, s);
        add_encodings(m, s, to, bound, to.dims[1]);
        y = s->outputs[0];
    }
    itg_shape image = {4, {to.dims[0], to.dims[1], 1, to.dims[2]}};
    keep(m, moved(m, ITG_OP_RESHAPE, y, image, NULL));
}

/* ---- rows ---- */

/* Adds a constant of plain numbers and returns it; *out: where they lie. */
static int32_t add_numbers(maker *m, itg_dtype dtype, itg_shape shape, void **out)
{
    int64_t n = 0;
    assert_true(itg_shape_elements(&shape, &n));
    const int32_t id = add_value(m, dtype, shape);
    *out = itg_arena_array(m->p->arena, (size_t)n, itg_dtype_size(dtype));
    value(m, id)->data = *out;
    return id;
}

static void add_softmax(maker *m, int32_t x)
{
    void *table;
    const itg_quantizer *q = &value(m, x)->q;
    const int64_t codes = width_of(q) + 1;
    const int32_t powers = add_numbers(m, ITG_S32, (itg_shape){1, {codes}}, &table);
    itg_step *s = add_step(m, ITG_STEP_TFLITE_SOFTMAX, ITG_OP_SOFTMAX, 2, 1);
    itg_int_tflite_exponentials((double)value(m, x)->q.scale[0], codes, table);
    s->inputs[0] = x;
    s->inputs[1] = powers;
    s->attrs.axis = pick(m, 1, 3);
    s->fraction = (int32_t)pick(m, 1, 16);
    s->acc.bits = chance(m, 2) ? 32 : 64;
    add_encodings(m, s, shape_of(m, x), (int64_t)1 << s->fraction, 1);
    keep(m, s->outputs[0]);
}

/* Numbers of a row: all of one type, or of many sizes. */
static int64_t parameter(maker *m, int64_t most)
{
    return most > 127 && chance(m, 4) ? pick(m, -most, most) : pick(m, -99, 99);
}

static void add_norm(maker *m, int32_t x)
{
    void *gain, *bias;
    const itg_shape from = shape_of(m, x);
    const int64_t axis = pick(m, 1, 3);
    itg_shape row = {4 - (int32_t)axis, {0}};
    int64_t n = 1;
    for (int32_t d = 0; d < row.rank; d++)
        n *= row.dims[d] = from.dims[axis + d];
    const int32_t g = add_numbers(m, ITG_S16, row, &gain), b = add_numbers(m, ITG_S64, row, &bias);
    itg_step *s = add_step(m, ITG_STEP_LAYER_NORM, ITG_OP_LAYER_NORMALIZATION, 3, 1);
    s->inputs[0] = x;
    s->inputs[1] = g;
    s->inputs[2] = b;
    s->attrs.axis = axis;
    s->fraction = (int32_t)pick(m, 4, 14);
    s->epsilon = chance(m, 2) ? pick(m, 1, 99) : pick(m, 1, 1 << 30);
    s->acc.bits = chance(m, 4) ? 64 : 32;
    const bool same = chance(m, 4);
    int64_t root = 1, most = INT16_MAX;
    while (root * root < n)
        root++;
    if (s->acc.bits == 32) most = ((int64_t)1 << 29) / (root << s->fraction);
    for (int64_t i = 0; i < n; i++) {
        ((int16_t *)gain)[i] = (int16_t)(same && i > 0 ? ((int16_t *)gain)[0]
                                                       : parameter(m, most < 32767 ? most : 32767));
        ((int64_t *)bias)[i] = same ? 0 : parameter(m, chance(m, 8) ? 1 << 20 : 99);
    }
    add_encodings(m, s, from, (root << s->fraction) * (most < 99 ? 99 : most) / 4, 1);
    keep(m, s->outputs[0]);
}

void add_rows(maker *m, int32_t x)
{
    if (width_of(&value(m, x)->q) <= UINT8_MAX && chance(m, 2))
        add_softmax(m, x);
    else if (width_of(&value(m, x)->q) <= UINT16_MAX)
        add_norm(m, x);
}

void add_form(maker *m)
{
    static void (*const forms[])(maker *, int32_t) = {
        add_padding,  add_steps_of_slice, add_gather, add_reduced, add_reduced, add_expanded,
        add_greatest, add_product,        add_line,   add_lookup,  add_rows};
    int32_t x = m->images[chance(m, 3) ? pick(m, 0, m->count - 1) : m->count - 1];
    if (elements_of(m, x) > 3000) x = m->images[0];
    /* In turns, so that a few seeds have them all. */
    forms[(m->seed * 4 + (uint64_t)m->count) % (sizeof forms / sizeof *forms)](m, x);
}
