/* Gemm and MatMul. Definition of an output: the sum starts at beta * c + 0 (Gemm; rounded), bias +
 * 0 or +0. Then, for k ascending, (alpha * a[m][k], rounded) * b[k][n] is added, rounded once
 * (fusedMultiplyAdd of IEEE 754).
 *
 * Work is done in tiles: rows are outputs m, lanes are neighbouring n. If b is stored as [N,K]
 * (weights of a linear layer), a panel of columns is transposed first. With one row of a that would
 * cost more than the product; there, several sums run in parallel along the rows of b. The order
 * within a sum is the same on each path. */
#include "kernels/clones.h"
#include "kernels/f32_tile.h"
#include "kernels/float_call.h"

#include <stdlib.h>
#include <string.h>

typedef struct matrix {
    const float *data;
    int64_t row, column; /* strides */
} matrix;

typedef struct product {
    int64_t m, n, k;
    matrix a, b, start; /* start.data NULL: 0 */
    float alpha, beta;
    float *y; /* [m][n] */
} product;

/* ---- parallel sums: b's column is contiguous in k ---- */
static float start_at(const product *p, int64_t row, int64_t column)
{
    if (!p->start.data) return 0.0f;
    const float start = p->start.data[row * p->start.row + column * p->start.column] * p->beta;
    return start + 0.0f;
}

/* Computes one row of outputs; a is contiguous and scaled. */
static void dot_row(const product *p, const itg_f32_tiles *tiles, const float *a, int64_t row)
{
    float sums[ITG_F32_DOTS];
    for (int64_t n = 0; n < p->n;) {
        const int64_t count = p->n - n < ITG_F32_DOTS ? 1 : ITG_F32_DOTS;
        for (int64_t j = 0; j < ITG_F32_DOTS; ++j)
            sums[j] = start_at(p, row, n + j % count);
        tiles->dots(a, p->b.data + n * p->b.column, count == 1 ? 0 : p->b.column, p->k, sums);
        memcpy(p->y + row * p->n + n, sums, (size_t)count * sizeof *sums);
        n += count;
    }
}

/* ---- tiles ---- */
typedef struct panels {
    const itg_f32_tiles *tiles;
    int64_t rows;  /* of a tile: 1 where m is 1 */
    int64_t lanes; /* of a panel */
    float *a;      /* [m, rounded up to rows][k], scaled */
    float *b;      /* [k][lanes] */
    float *sums;   /* [rows][lanes] */
} panels;

ITG_INLINE float scaled(float alpha, float a)
{
    const float value = alpha * a;
    return value;
}

/* out[i] = by * x[i] */
ITG_CLONES static void multiples_of_f32(const float *x, int64_t n, float by, float *out)
{
    for (int64_t i = 0; i < n; ++i)
        out[i] = scaled(by, x[i]);
}

/* Rows behind the last one are 0, up to a multiple of `rows`. */
static void pack_a(const product *p, int64_t rows, float *out)
{
    for (int64_t m = 0; m < p->m; ++m, out += p->k) {
        const float *a = p->a.data + m * p->a.row;
        if (p->a.column == 1)
            multiples_of_f32(a, p->k, p->alpha, out);
        else
            for (int64_t k = 0; k < p->k; ++k)
                out[k] = scaled(p->alpha, a[k * p->a.column]);
    }
    memset(out, 0, (size_t)((rows - p->m % rows) % rows * p->k) * sizeof *out);
}

/* Packs columns [first, first + count) of b; lanes beyond are 0. Reads along b's contiguous side,
 * in blocks that fit a cache. */
static void pack_b(const product *p, int64_t first, int64_t count, int64_t lanes, float *out)
{
    const float *b = p->b.data + first * p->b.column;
    if (count < lanes) memset(out, 0, (size_t)(p->k * lanes) * sizeof *out);
    if (p->b.column == 1) {
        for (int64_t k = 0; k < p->k; ++k)
            memcpy(out + k * lanes, b + k * p->b.row, (size_t)count * sizeof *out);
        return;
    }
    for (int64_t block = 0; block < p->k; block += 64) {
        const int64_t end = block + 64 < p->k ? block + 64 : p->k;
        for (int64_t n = 0; n < count; ++n)
            for (int64_t k = block; k < end; ++k)
                out[k * lanes + n] = b[n * p->b.column + k * p->b.row];
    }
}

/* Whether few rows use the panel, so that reading b in place is cheaper than copying it. */
static bool in_place(const product *p, const panels *w, int64_t count)
{
    return p->b.column == 1 && count == w->lanes && p->m <= 2 * w->rows;
}

ITG_CLONES static void starts_of_f32(const float *x, int64_t n, float beta, float *out)
{
    for (int64_t i = 0; i < n; ++i) {
        const float start = x[i] * beta;
        out[i] = start + 0.0f;
    }
}

/* What the sums of a row, columns [first, first + count), start at. */
static void start_row(const product *p, int64_t row, int64_t first, int64_t count, float *out)
{
    const matrix *s = &p->start;
    if (s->column == 1)
        starts_of_f32(s->data + row * s->row + first, count, p->beta, out);
    else
        for (int64_t n = 0; n < count; ++n)
            out[n] = start_at(p, row, first + n);
}

static void run_panel(const product *p, const panels *w, int64_t first, int64_t count)
{
    static const int64_t no_offset = 0;
    const bool direct = in_place(p, w, count);
    const float *lanes = direct ? p->b.data + first : w->b;
    const int64_t vectors = (count + w->tiles->lanes - 1) / w->tiles->lanes;
    if (!direct) pack_b(p, first, count, w->lanes, w->b);
    for (int64_t m = 0; m < p->m; m += w->rows) {
        const int64_t rows = p->m - m < w->rows ? p->m - m : w->rows;
        memset(w->sums, 0, (size_t)(w->rows * w->lanes) * sizeof(float));
        for (int64_t r = 0; p->start.data && r < rows; ++r)
            start_row(p, m + r, first, count, w->sums + r * w->lanes);
        const itg_f32_tile tile = {w->sums, w->lanes,  NULL, w->a + m * p->k,
                                   p->k,    lanes,     p->k, direct ? p->b.row : w->lanes,
                                   1,       &no_offset};
        itg_f32_tiles_run(w->tiles, w->rows, &tile, vectors, NULL, NULL);
        for (int64_t r = 0; r < rows; ++r)
            memcpy(p->y + (m + r) * p->n + first, w->sums + r * w->lanes,
                   (size_t)count * sizeof(float));
    }
}

static void run_panels(const product *p, float *memory, const panels *geometry, int64_t a_floats)
{
    panels w = *geometry;
    w.a = memory;
    w.b = w.a + a_floats;
    w.sums = w.b + p->k * w.lanes;
    pack_a(p, w.rows, w.a);
    for (int64_t n = 0; n < p->n; n += w.lanes)
        run_panel(p, &w, n, p->n - n < w.lanes ? p->n - n : w.lanes);
}

/* Swaps the operands of a product with one column, so that its rows become columns. Requires that k
 * is contiguous in a and a is not scaled. */
static product as_column(const product *p)
{
    product t = *p;
    t.m = 1;
    t.n = p->m;
    t.a = (matrix){p->b.data, 0, p->b.row};
    t.b = (matrix){p->a.data, p->a.column, p->a.row};
    t.start = (matrix){p->start.data, p->start.column, p->start.row};
    return t;
}

/* False: no memory. */
static bool multiply(const product *given)
{
    const bool is_column =
        given->n == 1 && given->m > 1 && given->a.column == 1 && given->alpha == 1.0f;
    const product column = as_column(given);
    const product *p = is_column ? &column : given;
    const bool side_by_side = p->m <= 2 && p->b.row == 1 && p->b.column != 1;
    panels w = {itg_f32_tiles_best(), 0, 0, NULL, NULL, NULL};
    w.rows = p->m == 1 || side_by_side ? 1 : w.tiles->rows;
    w.lanes = w.tiles->lanes * (w.rows == 1 ? w.tiles->row_wide : w.tiles->wide);
    const int64_t a_floats = (p->m + w.rows - 1) / w.rows * w.rows * p->k;
    const int64_t b_floats = side_by_side ? 0 : (p->k + w.rows) * w.lanes;
    float *memory = itg_call_alloc(a_floats + b_floats, sizeof(float));
    if (!memory) return false;
    if (side_by_side) {
        pack_a(p, 1, memory);
        for (int64_t m = 0; m < p->m; ++m)
            dot_row(p, w.tiles, memory + m * p->k, m);
    } else {
        run_panels(p, memory, &w, a_floats);
    }
    free(memory);
    return true;
}

/* ---- the two operators ---- */
/* Computes the strides with which `shape` broadcasts to [m, n]. */
static bool start_strides(const itg_shape *shape, int64_t m, int64_t n, matrix *out)
{
    const int32_t rank = shape->rank;
    const int64_t columns = rank > 0 ? shape->dims[rank - 1] : 1;
    const int64_t rows = rank > 1 ? shape->dims[rank - 2] : 1;
    for (int32_t d = 0; d < rank - 2; ++d)
        if (shape->dims[d] != 1) return false;
    out->column = columns == 1 ? 0 : 1;
    out->row = rows == 1 ? 0 : columns;
    return (columns == 1 || columns == n) && (rows == 1 || rows == m);
}

itg_status itg_f32_gemm(const itg_call *call)
{
    itg_status status = itg_call_need_f32(call, 2);
    if (status != ITG_OK) return status;
    const itg_attrs *attrs = call->attrs;
    const itg_shape *a = &call->inputs[0].shape, *b = &call->inputs[1].shape;
    const itg_shape *y = &call->outputs[0].shape;
    const itg_tensor *c = itg_call_input(call, 2);
    if (a->rank != 2 || b->rank != 2 || y->rank != 2)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its operands are not matrices");
    product p = {a->dims[attrs->trans_a],
                 b->dims[!attrs->trans_b],
                 a->dims[!attrs->trans_a],
                 {call->inputs[0].data, a->dims[1], 1},
                 {call->inputs[1].data, b->dims[1], 1},
                 {NULL, 0, 0},
                 attrs->alpha,
                 attrs->beta,
                 call->outputs[0].data};
    if (attrs->trans_a) p.a = (matrix){p.a.data, 1, a->dims[1]};
    if (attrs->trans_b) p.b = (matrix){p.b.data, 1, b->dims[1]};
    if (b->dims[attrs->trans_b] != p.k || y->dims[0] != p.m || y->dims[1] != p.n)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its matrices do not fit together");
    if (c) {
        p.start.data = c->data;
        if (c->dtype != ITG_F32 || !start_strides(&c->shape, p.m, p.n, &p.start))
            return itg_call_fail(call, ITG_BAD_ARGUMENT, "input 2 does not fit its output");
    }
    return multiply(&p) ? ITG_OK : itg_call_no_memory(call);
}

/* Returns the leading dimensions of a stack of matrices; a vector or matrix has none. */
static itg_shape stack_of(const itg_shape *shape)
{
    itg_shape stack = *shape;
    stack.rank = shape->rank > 2 ? shape->rank - 2 : 0;
    return stack;
}

/* Finds m, n, k of one product, and the stack: y's leading dimensions. */
static bool matmul_shape(const itg_call *call, product *p, itg_shape *stack)
{
    const itg_shape *a = &call->inputs[0].shape, *b = &call->inputs[1].shape;
    const itg_shape *y = &call->outputs[0].shape;
    if (a->rank < 1 || b->rank < 1) return false;
    p->k = a->dims[a->rank - 1];
    p->m = a->rank > 1 ? a->dims[a->rank - 2] : 1;
    p->n = b->rank > 1 ? b->dims[b->rank - 1] : 1;
    p->a.row = p->k;
    p->b.row = p->n;
    p->a.column = p->b.column = 1;
    *stack = *y;
    stack->rank = y->rank - (a->rank > 1) - (b->rank > 1);
    int32_t last = stack->rank;
    if (stack->rank < 0 || b->dims[b->rank > 1 ? b->rank - 2 : 0] != p->k) return false;
    if (a->rank > 1 && y->dims[last++] != p->m) return false;
    return b->rank == 1 || y->dims[last] == p->n;
}

/* Computes one product for each element of the stack. Offsets of operands count matrices. */
static bool multiply_stack(const product *p, itg_strided *s)
{
    product one = *p;
    if (!itg_strided_start(s)) return true;
    do {
        for (int64_t i = 0; i < itg_strided_run(s); ++i) {
            one.a.data = p->a.data + (s->offset[0] + i * itg_strided_step(s, 0)) * p->m * p->k;
            one.b.data = p->b.data + (s->offset[1] + i * itg_strided_step(s, 1)) * p->k * p->n;
            if (!multiply(&one)) return false;
            one.y += p->m * p->n;
        }
    } while (itg_strided_next(s));
    return true;
}

itg_status itg_f32_matmul(const itg_call *call)
{
    product p = {0};
    itg_shape stack;
    itg_strided s;
    itg_status status = itg_call_need_f32(call, 2);
    if (status != ITG_OK) return status;
    const itg_tensor *bias = itg_call_input(call, 2);
    itg_shape a = stack_of(&call->inputs[0].shape), b = stack_of(&call->inputs[1].shape);
    bool fits = matmul_shape(call, &p, &stack);
    if (fits && b.rank == 0 && a.rank > 0 && a.rank == stack.rank) {
        p.m *= itg_elements(&a); /* one matrix for the whole stack: a single tall product */
        fits = itg_elements(&call->outputs[0].shape) == p.m * p.n;
        a.rank = stack.rank = 0;
    }
    itg_strided_init(&s, &stack);
    fits = fits && itg_strided_broadcast(&s, &a) && itg_strided_broadcast(&s, &b);
    if (!fits) return itg_call_fail(call, ITG_BAD_ARGUMENT, "its operands do not fit together");
    if (bias && (bias->dtype != ITG_F32 || itg_elements(&bias->shape) != p.n))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its bias is not f32[N]");
    p.alpha = p.beta = 1.0f;
    p.start = (matrix){bias ? bias->data : NULL, 0, 1};
    p.a.data = call->inputs[0].data;
    p.b.data = call->inputs[1].data;
    p.y = call->outputs[0].data;
    return multiply_stack(&p, &s) ? ITG_OK : itg_call_no_memory(call);
}
