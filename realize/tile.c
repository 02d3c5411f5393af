#include "realize/geometry.h"
#include "realize/tile_build.h"
#include <string.h>

enum { ROWS = 2 }; /* the axis of [1,C,H,W] */

/* Rows [lo, hi) of a value; lo == hi: none. */
typedef struct rows {
    int64_t lo, hi;
} rows;

/* ---- which rows ---- */

static const itg_pvalue *operand(const itg_program *p, const itg_step *s, int32_t slot)
{
    return &p->values[s->inputs[slot]];
}

static int64_t height(const itg_pvalue *v)
{
    return v->shape.dims[ROWS];
}

/* Whether the value is codes of an image. */
static bool is_image(const itg_pvalue *v)
{
    return v->quantized && v->shape.rank == 4 && v->shape.dims[0] == 1;
}

static bool is_window(const itg_step *s)
{
    return s->kind == ITG_STEP_CONV || s->op == ITG_OP_MAX_POOL || s->op == ITG_OP_AVERAGE_POOL;
}

/* Whether the result depends on rows of an operand alone; else it needs all of it. */
static bool by_rows(const itg_program *p, const itg_step *s, int32_t slot)
{
    const itg_pvalue *x = operand(p, s, slot);
    if (is_window(s) || s->kind == ITG_STEP_LUT) return slot == 0;
    return x->shape.rank == 4 && (height(x) > 1 || height(&p->values[s->outputs[0]]) == 1);
}

static itg_window window_of(const itg_program *p, const itg_step *s)
{
    return itg_window_of(s->op, &s->attrs, &operand(p, s, 0)->shape,
                         &p->values[s->outputs[0]].shape)
        .w;
}

/* The rows under the windows of rows y, those of the padding too. */
static rows under_windows(const itg_window *w, rows y)
{
    const int64_t reach = (w->kernel[0] - 1) * w->dilation[0] + 1;
    return (rows){y.lo * w->stride[0] - w->pad_top, (y.hi - 1) * w->stride[0] - w->pad_top + reach};
}

static rows rows_needed(const itg_program *p, const itg_step *s, rows y)
{
    if (!is_window(s)) return y;
    const itg_window w = window_of(p, s);
    rows x = under_windows(&w, y);
    if (x.lo < 0) x.lo = 0;
    if (x.hi > w.height) x.hi = w.height;
    return x;
}

static rows both(rows a, rows b)
{
    if (a.lo == a.hi) return b;
    return (rows){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

/* ---- which steps ---- */

/* Whether each window has a row inside the image, and a mean's windows end in the padding. */
static bool windows_fit(const itg_program *p, const itg_step *s)
{
    const itg_window w = window_of(p, s);
    for (int64_t i = 0; i < w.out_height; i++) {
        const rows x = under_windows(&w, (rows){i, i + 1});
        if (x.hi <= 0 || x.lo >= w.height) return false;
        if (s->kind == ITG_STEP_MEAN && x.hi > w.height + s->attrs.pad[2]) return false;
    }
    return true;
}

static bool is_kind(const itg_step *s)
{
    return s->kind == ITG_STEP_CONV || s->kind == ITG_STEP_BINARY || s->kind == ITG_STEP_CLIP ||
           s->kind == ITG_STEP_LUT || s->op == ITG_OP_MAX_POOL || s->op == ITG_OP_AVERAGE_POOL ||
           (s->kind == ITG_STEP_MOVE && s->op == ITG_OP_CONCAT && s->attrs.axis == 1);
}

/* Whether a step of those from `first` on can be computed by rows, of codes. */
static bool step_fits(const itg_program *p, const itg_step *s, int32_t first)
{
    for (int32_t i = 0; i < s->output_count; i++)
        if (!is_image(&p->values[s->outputs[i]])) return false;
    if (!is_kind(s) || !is_image(operand(p, s, 0))) return false;
    for (int32_t i = 0; i < s->input_count; i++) {
        const itg_pvalue *x = operand(p, s, i);
        if (by_rows(p, s, i) ? x->data != NULL || !is_image(x) : x->producer >= first) return false;
        if (!by_rows(p, s, i) && s->kind == ITG_STEP_BINARY && x->shape.rank > 1 &&
            x->shape.dims[x->shape.rank - 2] != 1)
            return false;
    }
    return !is_window(s) || windows_fit(p, s);
}

bool itg_stripes_fit(const itg_program *p, int32_t first, int32_t last)
{
    for (int32_t i = first; i <= last; i++)
        if (!step_fits(p, &p->steps[i], first)) return false;
    for (int32_t i = last + 1; i < p->step_count; i++)
        for (int32_t k = 0; k < p->steps[i].input_count; k++) {
            const int32_t x = p->steps[i].inputs[k];
            if (x == ITG_NONE) continue;
            const int32_t producer = p->values[x].producer;
            if (producer >= first && producer < last) return false;
        }
    for (int32_t i = 0; i < p->output_count; i++) {
        const int32_t producer = p->values[p->outputs[i]].producer;
        if (producer >= first && producer < last) return false;
    }
    return true;
}

/* ---- building ---- */

typedef struct builder {
    itg_tiler t;
    itg_stripes stripes;
    int32_t *part; /* [values of p]: its rows `have` in q, or ITG_NONE */
    rows *have;
    int32_t stripe; /* being made */
} builder;

static int32_t add_part(builder *b, int32_t like, rows r)
{
    itg_shape shape = b->t.p->values[like].shape;
    shape.dims[ROWS] = r.hi - r.lo;
    return itg_tiler_part(&b->t, like, &shape, b->stripe);
}

/* Returns rows of a value of p that lies in q in whole or in part. */
static int32_t take_rows(builder *b, const itg_step *reader, int32_t value, rows r)
{
    const bool in_part = b->part[value] != ITG_NONE;
    const int32_t from = in_part ? b->part[value] : b->t.whole[value];
    const int64_t start = in_part ? b->have[value].lo : 0;
    if (b->t.status != ITG_OK) return ITG_NONE;
    if (r.lo == start && r.hi - r.lo == height(&b->t.q->values[from])) return from;
    const int32_t to = add_part(b, value, r);
    itg_tiler_slice(&b->t, reader, ROWS, r.lo - start, from, to);
    return to;
}

/* Computes rows `have` of a step's results. */
static void make_part(builder *b, const itg_step *from)
{
    const itg_program *p = b->t.p;
    const rows y = b->have[from->outputs[0]];
    int32_t *inputs = itg_tiler_array(&b->t, from->input_count, sizeof *inputs);
    for (int32_t i = 0; b->t.status == ITG_OK && i < from->input_count; i++)
        inputs[i] = by_rows(p, from, i)
                        ? take_rows(b, from, from->inputs[i], rows_needed(p, from, y))
                        : b->t.whole[from->inputs[i]];
    for (int32_t i = 0; i < from->output_count; i++)
        b->part[from->outputs[i]] = add_part(b, from->outputs[i], y);
    itg_step *s = itg_tiler_step(&b->t, from);
    if (!s) return;
    memcpy(s->inputs, inputs, (size_t)from->input_count * sizeof *inputs);
    for (int32_t i = 0; i < from->output_count; i++)
        s->outputs[i] = b->part[from->outputs[i]];
    if (!is_window(from)) return;
    const itg_window w = window_of(p, from);
    const rows x = under_windows(&w, y), inside = rows_needed(p, from, y);
    s->attrs.pad[0] = inside.lo - x.lo;
    s->attrs.pad[2] = x.hi - inside.hi;
}

/* Sets which rows each value of the steps needs for rows y of the last. */
static void find_rows(builder *b, rows y)
{
    const itg_program *p = b->t.p;
    for (int32_t i = b->stripes.first; i <= b->stripes.last; i++)
        for (int32_t k = 0; k < p->steps[i].output_count; k++)
            b->have[p->steps[i].outputs[k]] = i == b->stripes.last ? y : (rows){0, 0};
    for (int32_t i = b->stripes.last; i >= b->stripes.first; i--) {
        const itg_step *s = &p->steps[i];
        rows out = {0, 0};
        for (int32_t k = 0; k < s->output_count; k++)
            if (b->have[s->outputs[k]].hi > 0) out = both(out, b->have[s->outputs[k]]);
        for (int32_t k = 0; k < s->output_count; k++)
            b->have[s->outputs[k]] = out;
        for (int32_t k = 0; k < s->input_count && out.hi > 0; k++)
            if (by_rows(p, s, k) && operand(p, s, k)->producer >= b->stripes.first)
                b->have[s->inputs[k]] = both(b->have[s->inputs[k]], rows_needed(p, s, out));
    }
}

static void make_stripe(builder *b, rows y)
{
    find_rows(b, y);
    for (int32_t i = b->stripes.first; i <= b->stripes.last && b->t.status == ITG_OK; i++) {
        const itg_step *s = &b->t.p->steps[i];
        if (b->have[s->outputs[0]].hi > 0) make_part(b, s);
    }
}

/* Makes the steps by stripes, and the last step's results of them. */
static void make_stripes(builder *b)
{
    const itg_program *p = b->t.p;
    const itg_step *last = &p->steps[b->stripes.last];
    const int32_t outputs = last->output_count, count = b->stripes.count;
    const int64_t all = height(&p->values[last->outputs[0]]);
    int32_t *parts = itg_tiler_array(&b->t, (int64_t)outputs * count, sizeof *parts);
    for (b->stripe = 0; b->stripe < count && b->t.status == ITG_OK; b->stripe++) {
        make_stripe(b, (rows){all * b->stripe / count, all * (b->stripe + 1) / count});
        for (int32_t k = 0; k < outputs; k++)
            parts[k * count + b->stripe] = b->part[last->outputs[k]];
        for (int32_t v = 0; v < p->value_count; v++)
            b->part[v] = ITG_NONE;
    }
    itg_tiler_outputs(&b->t, last);
    for (int32_t k = 0; k < outputs && b->t.status == ITG_OK; k++) {
        itg_step *s = itg_tiler_move(&b->t, ITG_OP_CONCAT, last, count);
        if (!s) return;
        s->attrs.axis = ROWS;
        memcpy(s->inputs, parts + (size_t)k * (size_t)count, (size_t)count * sizeof *parts);
        s->outputs[0] = b->t.whole[last->outputs[k]];
    }
}

itg_status itg_stripes_build(const itg_program *p, const itg_stripes *stripes, itg_program **out,
                             itg_error *err)
{
    builder b = {.stripes = *stripes};
    if (stripes->by_products) return itg_products_build(p, out, err);
    if (itg_tiler_begin(&b.t, p, err) == ITG_OK) {
        b.part = itg_tiler_array(&b.t, p->value_count, sizeof *b.part);
        b.have = itg_tiler_array(&b.t, p->value_count, sizeof *b.have);
        for (int32_t v = 0; b.part && v < p->value_count; v++)
            b.part[v] = ITG_NONE;
    }
    for (int32_t i = 0; i < p->step_count && b.t.status == ITG_OK; i++) {
        if (i < stripes->first || i > stripes->last) itg_tiler_copy(&b.t, &p->steps[i]);
        if (i == stripes->last) make_stripes(&b);
    }
    return itg_tiler_end(&b.t, out);
}
