/* Writes data movement as loops over the output with the strides of the input. */
#include "realize/emit/emit.h"
#include <string.h>

static const itg_shape *output_shape(const itg_emitter *e, const itg_emit_layer *l, int32_t slot)
{
    return &e->p->values[e->buffers[l->outputs[slot]].value].shape;
}

static const char *output_type(const itg_emitter *e, const itg_emit_layer *l, int32_t slot)
{
    return itg_emit_ctype(e->p->values[e->buffers[l->outputs[slot]].value].dtype);
}

/* y[y_offset + ...] = x[x_offset + ...] over shape, in the order of y. */
typedef struct copy {
    const char *x, *y, *type;
    const itg_shape *shape;
    bool last;
    int64_t from[ITG_MAX_RANK], to[ITG_MAX_RANK], x_offset, y_offset;
    int32_t indent;
} copy;

static void write_copy(itg_emitter *e, const copy *c)
{
    int64_t strides[3][ITG_MAX_RANK] = {{0}};
    const char *index[3];
    memcpy(strides[0], c->from, sizeof c->from);
    memcpy(strides[1], c->to, sizeof c->to);
    itg_emit_loops loops = itg_emit_loops_over(c->shape, c->last, strides);
    int32_t braces = itg_emit_open(e, &loops, 2, 'i', c->indent, index);
    const char *to =
        c->y_offset == 0 ? "" : itg_emit_text(e, " + %s", itg_emit_number(e, c->y_offset));
    const char *from =
        c->x_offset == 0 ? "" : itg_emit_text(e, " + %s", itg_emit_number(e, c->x_offset));
    ITG_EMIT_FORMAT(e, "%*s%s[%s%s] = (%s)%s[%s%s];\n", (int)(c->indent + 4 * braces), "", c->y,
                    index[1], to, c->type, c->x, index[0], from);
    itg_emit_close(e, braces, c->indent);
}

static copy copy_of(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand *x,
                    int32_t output)
{
    copy c;
    memset(&c, 0, sizeof c);
    c.x = x->name;
    c.y = itg_emit_output(e, l, output);
    c.type = output_type(e, l, output);
    c.shape = output_shape(e, l, output);
    c.last = itg_emit_output_last(e, l, output);
    c.indent = 4;
    itg_emit_strides(c.shape, c.last, c.to);
    return c;
}

void itg_emit_copy(itg_emitter *e, const itg_emit_layer *l)
{
    itg_emit_operand x = itg_emit_read(e, l, 0, false);
    copy c = copy_of(e, l, &x, 0);
    /* Views of constants: other dims, the same order. */
    if (l->step != NULL) x.shape = c.shape;
    itg_emit_strides(x.shape, x.last, c.from);
    write_copy(e, &c);
}

static void move_transpose(itg_emitter *e, const itg_emit_layer *l)
{
    const itg_emit_operand x = itg_emit_read(e, l, 0, false);
    int64_t own[ITG_MAX_RANK] = {0};
    copy c = copy_of(e, l, &x, 0);
    itg_emit_strides(x.shape, x.last, own);
    for (int32_t d = 0; d < x.shape->rank; d++)
        c.from[d] = own[l->step->attrs.perm[d]];
    write_copy(e, &c);
}

static void move_slice(itg_emitter *e, const itg_emit_layer *l)
{
    const itg_emit_operand x = itg_emit_read(e, l, 0, false);
    const itg_attrs *a = &l->step->attrs;
    copy c = copy_of(e, l, &x, 0);
    itg_emit_strides(x.shape, x.last, c.from);
    for (int32_t i = 0; i < a->axes_count; i++) {
        c.x_offset += a->starts[i] * c.from[a->axes[i]];
        c.from[a->axes[i]] *= a->steps[i];
    }
    write_copy(e, &c);
}

static void move_expand(itg_emitter *e, const itg_emit_layer *l)
{
    const itg_emit_operand x = itg_emit_read(e, l, 0, false);
    copy c = copy_of(e, l, &x, 0);
    itg_emit_broadcast_strides(&x, c.shape, c.from);
    write_copy(e, &c);
}

/* Writes Concat, which copies inputs to their places, or Split, which copies outputs from theirs.
 */
static void move_parts(itg_emitter *e, const itg_emit_layer *l, bool concat)
{
    const int64_t axis = l->step->attrs.axis;
    int64_t at = 0;
    int32_t parts = concat ? l->step->input_count : l->step->output_count;
    itg_emit_operand whole = {0};
    if (!concat) whole = itg_emit_read(e, l, 0, false);
    for (int32_t i = 0; i < parts; i++) {
        const itg_emit_operand x = concat ? itg_emit_read(e, l, i, false) : whole;
        copy c = copy_of(e, l, &x, concat ? 0 : i);
        itg_emit_strides(x.shape, x.last, c.from);
        if (concat)
            c.y_offset = at * c.to[axis];
        else
            c.x_offset = at * c.from[axis];
        if (concat) c.shape = x.shape;
        at += c.shape->dims[axis];
        write_copy(e, &c);
    }
}

/* ---- padding ---- */

static void fill(itg_emitter *e, const copy *c, int64_t elements, int64_t code)
{
    ITG_EMIT_FORMAT(e,
                    "    for (int32_t i = 0; i < %s; i++)\n"
                    "        %s[i] = %s;\n",
                    itg_emit_number(e, elements), c->y, itg_emit_number(e, code));
}

static void pad_constant(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand *x)
{
    const itg_attrs *a = &l->step->attrs;
    const itg_pvalue *y = &e->p->values[l->step->outputs[0]];
    copy c = copy_of(e, l, x, 0);
    itg_shape inside = *x->shape;
    bool empty = false;
    itg_emit_strides(x->shape, x->last, c.from);
    fill(e, &c, y->elements, y->q.zero_point);
    for (int32_t d = 0; d < inside.rank; d++) {
        int64_t begin = a->pads_begin[d], end = y->shape.dims[d] - inside.dims[d] - begin;
        c.x_offset += (begin < 0 ? -begin : 0) * c.from[d];
        c.y_offset += (begin > 0 ? begin : 0) * c.to[d];
        inside.dims[d] += (begin < 0 ? begin : 0) + (end < 0 ? end : 0);
        empty = empty || inside.dims[d] <= 0;
    }
    c.shape = &inside;
    if (!empty) write_copy(e, &c);
}

/* Returns the source of an output element, as an index into the kept part of the axis. */
static int64_t mirrored(int64_t at, int64_t kept, bool edge)
{
    if (at >= 0 && at < kept) return at;
    if (edge || kept == 1) return at < 0 || kept == 1 ? 0 : kept - 1;
    int64_t period = 2 * (kept - 1), i = ((at % period) + period) % period;
    return i < kept ? i : period - i;
}

/* Writes padding by reflected or repeated edges, with a table of sources for each padded axis. */
static void pad_mirrored(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand *x)
{
    const itg_attrs *a = &l->step->attrs;
    copy c = copy_of(e, l, x, 0);
    const char *to = "", *from = "";
    int32_t braces = 0;
    itg_emit_strides(x->shape, x->last, c.from);
    for (int32_t d = 0; d < c.shape->rank; d++) {
        int64_t n = c.shape->dims[d], begin = a->pads_begin[d];
        int64_t end = n - x->shape->dims[d] - begin, first = begin < 0 ? -begin : 0;
        int64_t kept = x->shape->dims[d] - first + (end < 0 ? end : 0);
        int64_t *source = itg_emit_alloc(e, (size_t)n, sizeof *source);
        if (source == NULL) return;
        for (int64_t i = 0; i < n; i++)
            source[i] = c.from[d] * (first + mirrored(i - (begin > 0 ? begin : 0), kept,
                                                      a->pad_mode == ITG_PAD_EDGE));
        const char *what = itg_emit_text(e, "source%d", (int)d);
        const char *index = itg_emit_text(e, "i%d", (int)d);
        const char *plus = d == 0 ? "" : " + ";
        from = itg_emit_text(e, "%s%s%s", from, plus, itg_emit_channel(e, what, source, n, index));
        to = itg_emit_text(e, "%s%si%d * %s", to, plus, (int)d, itg_emit_number(e, c.to[d]));
        ITG_EMIT_FORMAT(e, "%*sfor (int32_t i%d = 0; i%d < %s; i%d++) {\n", 4 + 4 * braces, "",
                        (int)d, (int)d, itg_emit_number(e, n), (int)d);
        braces++;
    }
    ITG_EMIT_FORMAT(e, "%*s%s[%s] = (%s)%s[%s];\n", 4 + 4 * braces, "", c.y, to, c.type, c.x, from);
    itg_emit_close(e, braces, 4);
}

static void move_pad(itg_emitter *e, const itg_emit_layer *l)
{
    const itg_emit_operand x = itg_emit_read(e, l, 0, false);
    if (l->step->attrs.pad_mode == ITG_PAD_CONSTANT || x.shape->rank == 0)
        pad_constant(e, l, &x);
    else
        pad_mirrored(e, l, &x);
}

/* ---- gathering ---- */

static const char row_text[] =
    "/* The row that an index means: counted from the end if it is negative, the nearest if there\n"
    " * is no such row. */\n"
    "static int32_t row_of(int64_t index, int32_t rows)\n"
    "{\n"
    "    if (index < 0) index += rows;\n"
    "    return index < 0 ? 0 : index >= rows ? rows - 1 : (int32_t)index;\n"
    "}\n\n";

/* Returns the array of the rows of constant indices, each times step. */
static const char *constant_rows(itg_emitter *e, const itg_step *s, const itg_pvalue *indices,
                                 int64_t size, int64_t step)
{
    int64_t *from = itg_emit_alloc(e, (size_t)indices->elements, sizeof *from);
    if (from == NULL) return "0";
    for (int64_t i = 0; i < indices->elements; i++) {
        int64_t index = itg_load(indices->dtype, indices->data, i);
        if (index < -size || index >= size)
            itg_emit_fail(e, ITG_MISMATCH, "node", s->name,
                          itg_emit_text(e, "index %lld is out of range", (long long)index));
        from[i] = (index < 0 ? index + size : index) * step;
    }
    return itg_emit_channel(e, "index", from, indices->elements, "g");
}

/* Returns the C text of where the row of index g begins. */
static const char *row_start(itg_emitter *e, const itg_emit_layer *l, int64_t size, int64_t step)
{
    const itg_pvalue *indices = &e->p->values[l->step->inputs[1]];
    if (indices->data != NULL) return constant_rows(e, l->step, indices, size, step);
    if (l->inputs[1] == ITG_NONE)
        itg_emit_fail(e, ITG_UNSUPPORTED, "node", l->step->name, "its indices are not there");
    if (itg_emit_needs(e, "row_of")) itg_strbuf_add(&e->helpers, row_text);
    return itg_emit_text(e, "row_of(%s[g], %s) * %s", itg_emit_input_name(e, l, 1),
                         itg_emit_number(e, size), itg_emit_number(e, step));
}

/* Writes y[.., g, ..] = x[.., row, ..] for one g. */
static void gather_row(itg_emitter *e, const itg_emit_layer *l, int64_t count, int64_t run)
{
    const itg_emit_operand x = itg_emit_read(e, l, 0, false);
    const int32_t axis = (int32_t)l->step->attrs.axis;
    int64_t own[ITG_MAX_RANK] = {0}, inner = 1;
    itg_emit_strides(x.shape, x.last, own);
    copy c = copy_of(e, l, &x, 0);
    itg_shape shape = *x.shape;
    shape.dims[axis] = 1;
    for (int32_t d = shape.rank - 1; d >= 0; d--) {
        c.from[d] = own[d];
        c.to[d] = d == axis ? 0 : d > axis ? inner : inner * count;
        inner *= shape.dims[d];
    }
    c.shape = &shape;
    c.last = false;
    c.indent = 8;
    c.x = itg_emit_text(e, "(%s + %s)", x.name, row_start(e, l, x.shape->dims[axis], own[axis]));
    c.y = itg_emit_text(e, "(%s + g * %s)", c.y, itg_emit_number(e, run));
    write_copy(e, &c);
}

/* The same from a packed table, of which one row is unpacked at a time. */
static void gather_packed(itg_emitter *e, const itg_emit_layer *l, int64_t count, int64_t run)
{
    const int32_t table = l->step->inputs[0];
    const itg_shape *shape = &e->p->values[table].shape;
    const int32_t axis = (int32_t)l->step->attrs.axis;
    const int64_t size = shape->dims[axis], outer = itg_dims_product(shape, 0, axis);
    const itg_dtype type = itg_emit_constant_type(&e->p->values[table], false);
    const char *row = row_start(e, l, size, run), *packed = itg_emit_packed(e, table, NULL, 'n');
    ITG_EMIT_FORMAT(e, "        %s *const row = %s;\n", itg_emit_ctype(type),
                    itg_emit_scratch(e, type, run));
    ITG_EMIT_FORMAT(e, "        for (int32_t o = 0; o < %s; o++) {\n", itg_emit_number(e, outer));
    itg_emit_unpack(e, 12, table, packed,
                    itg_emit_text(e, "o * %s + %s", itg_emit_number(e, size * run), row),
                    itg_emit_number(e, run), 0, type, "row");
    ITG_EMIT_FORMAT(e,
                    "            for (int32_t i = 0; i < %s; i++)\n"
                    "                y[(o * %s + g) * %s + i] = (%s)row[i];\n"
                    "        }\n",
                    itg_emit_number(e, run), itg_emit_number(e, count), itg_emit_number(e, run),
                    output_type(e, l, 0));
}

static void move_gather(itg_emitter *e, const itg_emit_layer *l)
{
    const itg_step *s = l->step;
    const itg_shape *x = &e->p->values[s->inputs[0]].shape;
    const int64_t count = e->p->values[s->inputs[1]].elements;
    const int64_t run = itg_dims_product(x, (int32_t)s->attrs.axis + 1, x->rank);
    ITG_EMIT_FORMAT(e, "    for (int32_t g = 0; g < %s; g++) {\n", itg_emit_number(e, count));
    (l->inputs[0] == ITG_NONE ? gather_packed : gather_row)(e, l, count, run);
    itg_strbuf_add(&e->body, "    }\n");
}

void itg_emit_move(itg_emitter *e, const itg_emit_layer *l)
{
    switch (l->step->op) {
    case ITG_OP_TRANSPOSE:
        move_transpose(e, l);
        break;
    case ITG_OP_SLICE:
        move_slice(e, l);
        break;
    case ITG_OP_EXPAND:
        move_expand(e, l);
        break;
    case ITG_OP_CONCAT:
    case ITG_OP_SPLIT:
        move_parts(e, l, l->step->op == ITG_OP_CONCAT);
        break;
    case ITG_OP_PAD:
        move_pad(e, l);
        break;
    case ITG_OP_GATHER:
        move_gather(e, l);
        break;
    default:
        itg_emit_copy(e, l);
    }
}
