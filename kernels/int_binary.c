/* Elementwise operations on two operands with broadcasting. Codes are fetched in chunks, combined
 * and passed to the epilogues. */
#include "kernels/int_parts.h"
#include "kernels/requant_span.h"
#include <string.h>

enum { CHUNK = ITG_SPAN, CODES = 256 };

typedef struct binary {
    const itg_int_binary *k;
    const itg_int_operand *a, *b;
    const itg_epilogue *out;
    int32_t out_count;
    bool swapped;                           /* F32: is_swapped */
    bool tables;                            /* RESCALE of 8-bit codes: by tables */
    int64_t table_a[CODES], table_b[CODES]; /* by code - least code of the storage */
} binary;

/* Walks the output in row-major order. A run is the innermost dimensions through which both
 * operands move with a constant step. */
typedef struct walk {
    int32_t rank;
    int64_t dims[ITG_MAX_RANK], step_a[ITG_MAX_RANK], step_b[ITG_MAX_RANK], index[ITG_MAX_RANK];
    int64_t at_a, at_b, left; /* left: elements until the end of the run */
} walk;

/* Merges each dimension into its inner neighbour if both operands' steps continue through it. */
static walk walk_start(const itg_broadcast *s)
{
    walk w;
    memset(&w, 0, sizeof w);
    for (int32_t d = 0; d < s->out.rank; d++) {
        int64_t n = s->out.dims[d], sa = s->stride_a[d], sb = s->stride_b[d];
        if (n == 1) continue;
        int32_t last = w.rank - 1;
        if (last >= 0 && w.step_a[last] == sa * n && w.step_b[last] == sb * n) {
            w.dims[last] *= n;
        } else {
            last = w.rank++;
            w.dims[last] = n;
        }
        w.step_a[last] = sa;
        w.step_b[last] = sb;
    }
    if (w.rank == 0) w.dims[w.rank++] = 1;
    w.left = w.dims[w.rank - 1];
    return w;
}

static void walk_forward(walk *w, int64_t n)
{
    int32_t d = w->rank - 1;
    w->at_a += n * w->step_a[d];
    w->at_b += n * w->step_b[d];
    w->left -= n;
    if (w->left > 0) return;
    w->at_a -= w->dims[d] * w->step_a[d];
    w->at_b -= w->dims[d] * w->step_b[d];
    w->left = w->dims[d];
    for (d--; d >= 0; d--) {
        w->at_a += w->step_a[d];
        w->at_b += w->step_b[d];
        if (++w->index[d] < w->dims[d]) return;
        w->at_a -= w->dims[d] * w->step_a[d];
        w->at_b -= w->dims[d] * w->step_b[d];
        w->index[d] = 0;
    }
}

/* Fetches the next n values (code - zero_point) of both operands. */
static void fetch(walk *w, const itg_int_operand *a, const itg_int_operand *b, int64_t n,
                  int64_t *va, int64_t *vb)
{
    const int32_t inner = w->rank - 1;
    for (int64_t i = 0; i < n;) {
        int64_t length = n - i < w->left ? n - i : w->left;
        itg_widen_row(a, w->at_a, length, w->step_a[inner], va + i);
        itg_widen_row(b, w->at_b, length, w->step_b[inner], vb + i);
        walk_forward(w, length);
        i += length;
    }
}

static int64_t rescale(const itg_requant *r, int32_t left_shift, int64_t v)
{
    int64_t shifted = itg_round_shift_product(v, (int64_t)1 << left_shift, 0, ITG_ROUND_FLOOR);
    return itg_requant_apply(r, shifted);
}

static void fill_table(const itg_requant *r, int32_t left_shift, const itg_int_operand *x,
                       int64_t *table)
{
    int64_t least = itg_dtype_min(x->storage);
    for (int64_t i = 0; i < CODES; i++)
        table[i] = rescale(r, left_shift, least + i - x->zero_point);
}

static void rescale_all(const itg_requant *r, int32_t left_shift, const itg_int_operand *x,
                        const int64_t *table, int64_t *v, int64_t n)
{
    int64_t offset = x->zero_point - itg_dtype_min(x->storage);
    for (int64_t i = 0; i < n; i++)
        v[i] = table ? table[v[i] + offset] : rescale(r, left_shift, v[i]);
}

static int64_t fit(const itg_int_binary *k, int64_t v)
{
    return k->acc.bits >= 1 && k->acc.bits < 64 ? itg_accumulator_fit(k->acc, v) : v;
}

static int64_t add(const itg_int_binary *k, int64_t a, int64_t b)
{
    int64_t sum;
    bool over =
        k->sign < 0 ? __builtin_sub_overflow(a, b, &sum) : __builtin_add_overflow(a, b, &sum);
    if (over && k->acc.overflow == ITG_OVERFLOW_SATURATE) sum = a < 0 ? INT64_MIN : INT64_MAX;
    return fit(k, sum);
}

static int64_t multiply(const itg_int_binary *k, int64_t a, int64_t b)
{
    int64_t product;
    bool over = __builtin_mul_overflow(a, b, &product);
    if (over && k->acc.overflow == ITG_OVERFLOW_SATURATE)
        product = (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
    return fit(k, product);
}

/* Computes the native results of a chunk into va. */
static void combine(const binary *t, int64_t *va, int64_t *vb, int64_t n)
{
    const itg_int_binary *k = t->k;
    if (k->form == ITG_BINARY_RESCALE) {
        rescale_all(&k->ra, k->left_shift, t->a, t->tables ? t->table_a : NULL, va, n);
        rescale_all(&k->rb, k->left_shift, t->b, t->tables ? t->table_b : NULL, vb, n);
    }
    for (int64_t i = 0; i < n; i++)
        va[i] = k->form == ITG_BINARY_PRODUCT ? multiply(k, va[i], vb[i]) : add(k, va[i], vb[i]);
}

/* ---- float32 forms ---- */

/* Float output: the operation on the dequantized operands. */
static void float_result(const binary *t, const int64_t *va, const int64_t *vb, int64_t n, float *y)
{
    for (int64_t i = 0; i < n; i++) {
        float a = (float)va[i] * t->k->scale_a, b = (float)vb[i] * t->k->scale_b;
        if (t->k->form == ITG_BINARY_F32_PRODUCT)
            y[i] = a * b;
        else
            y[i] = t->k->sign < 0 ? a - b : a + b;
    }
}

static void store_floats(const itg_epilogue *out, int64_t first, int64_t n, const float *y)
{
    for (int64_t i = 0; i < n; i++)
        ((float *)out->out)[first + i] = y[i] < out->float_lo   ? out->float_lo
                                         : y[i] > out->float_hi ? out->float_hi
                                                                : y[i];
}

/* Whether b is the first operand of the fused sums. It is the operand that varies along the
 * innermost axis, or a if both do. */
static bool is_swapped(const itg_broadcast *shape)
{
    for (int32_t d = shape->out.rank - 1; d >= 0; d--)
        if (shape->out.dims[d] > 1) return shape->stride_a[d] == 0 && shape->stride_b[d] != 0;
    return false;
}

static void add_codes(const binary *t, int32_t o, int64_t n, const int64_t *va, const int64_t *vb,
                      int32_t *q)
{
    const itg_epilogue *out = &t->out[o];
    int32_t a[CHUNK], b[CHUNK];
    for (int64_t i = 0; i < n; i++) {
        a[i] = (int32_t)(va[i] + t->a->zero_point);
        b[i] = (int32_t)(vb[i] + t->b->zero_point);
    }
    float sa = t->k->scale_a, sb = t->k->scale_b, sc = t->k->scale_out[o];
    int64_t za = t->a->zero_point, zb = t->b->zero_point, zc = out->zero_point;
    const itg_f32_add k = t->swapped ? itg_f32_add_derive(sb, zb, sa, za, sc, zc)
                                     : itg_f32_add_derive(sa, za, sb, zb, sc, zc);
    itg_f32_add_span(&k, t->swapped ? b : a, t->swapped ? a : b, n, out->lo, out->hi, q);
}

static void multiply_codes(const binary *t, int32_t o, int64_t n, const int64_t *va,
                           const int64_t *vb, int32_t *q)
{
    const itg_epilogue *out = &t->out[o];
    int64_t v[CHUNK];
    for (int64_t i = 0; i < n; i++)
        v[i] = va[i] * vb[i];
    const itg_f32_mul k =
        itg_f32_mul_derive(t->k->scale_a, t->k->scale_b, t->k->scale_out[o], out->zero_point);
    itg_f32_mul_span(&k, v, n, out->lo, out->hi, q);
}

/* ONNX Runtime has no integer kernel for Sub: the float difference is quantized. */
static void subtract_codes(const binary *t, int32_t o, int64_t n, const float *y, int32_t *q)
{
    const itg_epilogue *out = &t->out[o];
    for (int64_t i = 0; i < n; i++)
        q[i] =
            (int32_t)itg_quantize_f32(y[i], t->k->scale_out[o], out->zero_point, out->lo, out->hi);
}

static void emit_f32(const binary *t, int64_t first, int64_t n, const int64_t *va,
                     const int64_t *vb)
{
    float y[CHUNK];
    int32_t q[CHUNK];
    float_result(t, va, vb, n, y);
    for (int32_t o = 0; o < t->out_count; o++) {
        if (t->out[o].storage == ITG_F32) {
            store_floats(&t->out[o], first, n, y);
            continue;
        }
        if (t->k->form == ITG_BINARY_F32_PRODUCT)
            multiply_codes(t, o, n, va, vb, q);
        else if (t->k->sign < 0)
            subtract_codes(t, o, n, y, q);
        else
            add_codes(t, o, n, va, vb, q);
        itg_store_row(t->out[o].storage, t->out[o].out, first, n, q);
    }
}

static void emit(const binary *t, int64_t first, int64_t n, int64_t *va, int64_t *vb)
{
    if (t->k->form == ITG_BINARY_F32 || t->k->form == ITG_BINARY_F32_PRODUCT) {
        emit_f32(t, first, n, va, vb);
        return;
    }
    combine(t, va, vb, n);
    for (int32_t o = 0; o < t->out_count; o++)
        itg_epilogue_row64(va, n, first, 0, 0, &t->out[o]);
}

void itg_int_binary_run(const itg_int_binary *k, const itg_broadcast *shape,
                        const itg_int_operand *a, const itg_int_operand *b, const itg_epilogue *out,
                        int32_t out_count)
{
    int64_t elements = 1, va[CHUNK], vb[CHUNK];
    for (int32_t d = 0; d < shape->out.rank; d++)
        elements *= shape->out.dims[d];
    binary t;
    t.k = k, t.a = a, t.b = b, t.out = out, t.out_count = out_count;
    t.swapped = is_swapped(shape);
    t.tables = k->form == ITG_BINARY_RESCALE && itg_is_byte(a->storage) &&
               itg_is_byte(b->storage) && elements >= CODES;
    if (t.tables) {
        fill_table(&k->ra, k->left_shift, a, t.table_a);
        fill_table(&k->rb, k->left_shift, b, t.table_b);
    }
    walk w = walk_start(shape);
    for (int64_t i = 0; i < elements; i += CHUNK) {
        int64_t n = elements - i < CHUNK ? elements - i : CHUNK;
        fetch(&w, a, b, n, va, vb);
        emit(&t, i, n, va, vb);
    }
}
