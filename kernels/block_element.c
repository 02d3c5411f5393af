/* Elementwise operations on one operand, or on two of equal shape. Rows that fit the first cache
 * are widened to 32 bits, combined and requantized. Integer forms run through the lanes of accel,
 * where a row is 64 columns of one channel; float forms are those of block_float.c. */
#include "kernels/accel_parts.h"
#include "kernels/block_float.h"
#include "kernels/block_ops.h"
#include "kernels/clones.h"
#include "kernels/int_parts.h"
#include <string.h>

enum { COLUMNS = 64, ROWS = 16, ROW = COLUMNS * ROWS };
static const int64_t FLOAT_LIMIT = (int64_t)1 << 22;

struct itg_block_element {
    const itg_accel_kernels *kernels;
    bool alone; /* one operand */
    itg_int_binary k;
    itg_dtype storage_a, storage_b;
    int32_t zero_a, zero_b; /* what widening subtracts */
    int32_t float_zero[2];  /* F32: zero points that its constants already include */
    /* RESCALE: turns codes less their zero points into common units. table: for byte codes, of all
     * codes; otherwise `operand` lanes. */
    const itg_byte_table *table[2];
    itg_lanes operand[2];
    int32_t bias[2][COLUMNS], none[COLUMNS];
    itg_lanes lanes[ITG_ACCEL_OUTPUTS]; /* integer forms */
    itg_f32_add add[ITG_ACCEL_OUTPUTS]; /* F32 */
    itg_f32_mul mul[ITG_ACCEL_OUTPUTS]; /* F32_PRODUCT */
    itg_epilogue out[ITG_ACCEL_OUTPUTS];
    int32_t out_count;
};

#define WIDEN(ID, type)                                                                            \
    case ID: {                                                                                     \
        const type *v = (const type *)x + first;                                                   \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = v[i] - zero;                                                                  \
        break;                                                                                     \
    }

ITG_CLONES
static void widen_codes(itg_dtype storage, const void *x, int64_t first, int64_t n, int32_t zero,
                        int32_t *out)
{
    switch (storage) {
        WIDEN(ITG_S8, int8_t)
        WIDEN(ITG_U8, uint8_t)
        WIDEN(ITG_S16, int16_t)
        WIDEN(ITG_U16, uint16_t)
    default:
        break;
    }
}

ITG_CLONES
static void combine(const itg_int_binary *k, int32_t *restrict a, const int32_t *restrict b,
                    int64_t n)
{
    if (k->form == ITG_BINARY_PRODUCT)
        for (int64_t i = 0; i < n; i++)
            a[i] *= b[i];
    else if (k->sign < 0)
        for (int64_t i = 0; i < n; i++)
            a[i] -= b[i];
    else
        for (int64_t i = 0; i < n; i++)
            a[i] += b[i];
}

/* Writes n sums at acc as outputs from `first` on. */
static void run_lanes(const itg_block_element *t, const itg_lanes *lanes, const int32_t *acc,
                      const int32_t *bias, int64_t n, void *y, int64_t first)
{
    itg_lanes_args args = {.lanes = lanes,
                           .acc32 = acc,
                           .acc_stride = COLUMNS,
                           .rows = n / COLUMNS,
                           .columns = COLUMNS,
                           .bias32 = bias,
                           .out_stride = COLUMNS};
    size_t size = itg_dtype_size(lanes->e.storage);
    void (*const run)(const itg_lanes_args *) =
        lanes->kind == ITG_LANES_GENERIC ? itg_lanes_generic : t->kernels->lanes;
    args.out = (unsigned char *)y + (size_t)first * size;
    if (args.rows > 0) run(&args);
    args.acc32 += args.rows * COLUMNS;
    args.out += (size_t)(args.rows * COLUMNS) * size;
    args.columns = n % COLUMNS;
    args.rows = 1;
    if (args.columns > 0) run(&args);
}

/* ---- creation ---- */

static bool is_narrow(itg_dtype d)
{
    return d == ITG_S8 || d == ITG_U8 || d == ITG_S16 || d == ITG_U16;
}

/* Describes the rescaling of an operand as an epilogue, with the left shift as a first stage.
 * False: it has too many stages. */
static bool operand_epilogue(const itg_requant *r, int32_t left_shift, itg_requant *with_shift,
                             itg_epilogue *e)
{
    int32_t more = left_shift > 0;
    if (r->is_f32 || r->stage_count + more > 3) return false;
    memset(with_shift, 0, sizeof *with_shift);
    with_shift->stage_count = r->stage_count + more;
    with_shift->stage[0] = (itg_requant_stage){1, -left_shift, ITG_ROUND_FLOOR};
    for (int32_t i = 0; i < r->stage_count; i++)
        with_shift->stage[i + more] = r->stage[i];
    *e = (itg_epilogue){.storage = ITG_S32,
                        .requant = with_shift,
                        .requant_count = 1,
                        .lo = INT32_MIN / 4,
                        .hi = INT32_MAX / 4};
    return true;
}

/* The values of an operand in the units of the sum. Requantization is monotone. */
typedef struct range {
    int64_t lo, hi;
} range;

static range range_of(const itg_int_binary *k, const itg_requant *r, const itg_int_operand *x)
{
    range v = {x->qmin - x->zero_point, x->qmax - x->zero_point};
    if (k->form != ITG_BINARY_RESCALE) return v;
    int64_t unit = (int64_t)1 << k->left_shift;
    return (range){itg_requant_apply(r, v.lo * unit), itg_requant_apply(r, v.hi * unit)};
}

static range product_range(range a, range b)
{
    int64_t p[4] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
    range r = {p[0], p[0]};
    for (int i = 1; i < 4; i++) {
        r.lo = p[i] < r.lo ? p[i] : r.lo;
        r.hi = p[i] > r.hi ? p[i] : r.hi;
    }
    return r;
}

static range result_range(const itg_int_binary *k, range a, range b)
{
    if (k->form == ITG_BINARY_PRODUCT) return product_range(a, b);
    return k->sign < 0 ? (range){a.lo - b.hi, a.hi - b.lo} : (range){a.lo + b.lo, a.hi + b.hi};
}

static bool within(range r, int64_t lo, int64_t hi)
{
    return r.lo >= lo && r.hi <= hi;
}

static bool fits_accumulator(itg_accumulator acc, range r)
{
    return acc.bits == 0 || within(r, itg_accumulator_min(acc), itg_accumulator_max(acc));
}

static int64_t magnitude(range r)
{
    return -r.lo > r.hi ? -r.lo : r.hi;
}

typedef enum made { MADE, NO_FORM, NO_MEMORY } made;

/* Makes a table of every byte's value in the units of the sum. Codes beyond the range are clamped;
 * they do not occur. NULL: no memory. */
static const itg_byte_table *operand_table(const itg_requant *r, int32_t left_shift,
                                           const itg_int_operand *x, itg_arena *arena)
{
    enum { CODES = 256 };
    itg_byte_table *table = itg_arena_alloc(arena, sizeof *table);
    for (int32_t byte = 0; table && byte < CODES; byte++) {
        int64_t code = itg_clamp(x->storage == ITG_S8 ? (int8_t)byte : byte, x->qmin, x->qmax);
        int64_t v = itg_requant_apply(r, (code - x->zero_point) * ((int64_t)1 << left_shift));
        itg_byte_table_set(table, (uint8_t)byte, (int32_t)v);
    }
    return table;
}

static made make_operands(itg_block_element *t, const itg_int_operand *const x[2], itg_arena *arena)
{
    const itg_requant *r[2] = {&t->k.ra, &t->k.rb};
    for (int i = 0; i < 2; i++) {
        if (itg_is_byte(x[i]->storage)) {
            t->table[i] = operand_table(r[i], t->k.left_shift, x[i], arena);
            if (!t->table[i]) return NO_MEMORY;
            continue;
        }
        itg_requant with_shift;
        itg_epilogue e;
        range v = {x[i]->qmin - x[i]->zero_point, x[i]->qmax - x[i]->zero_point};
        if (!operand_epilogue(r[i], t->k.left_shift, &with_shift, &e)) return NO_FORM;
        if (!itg_lanes_init(&t->operand[i], &e, COLUMNS, magnitude(v), false, arena))
            return NO_MEMORY;
        if (t->operand[i].kind != ITG_LANES_STAGES) return NO_FORM;
        for (int j = 0; j < COLUMNS; j++)
            t->bias[i][j] = (int32_t)-x[i]->zero_point;
    }
    return MADE;
}

static made make_integer(itg_block_element *t, const itg_int_operand *const x[2], itg_arena *arena)
{
    const itg_int_binary *k = &t->k;
    const int64_t limit = INT32_MAX / 4;
    const bool rescales = k->form == ITG_BINARY_RESCALE;
    if (rescales && (k->left_shift < 0 || k->left_shift > 30)) return NO_FORM;
    range a = range_of(k, &k->ra, x[0]), b = range_of(k, &k->rb, x[1]), y = result_range(k, a, b);
    if (!within(a, -limit, limit) || !within(b, -limit, limit) || !within(y, -limit, limit) ||
        !fits_accumulator(k->acc, y))
        return NO_FORM;
    made operands = rescales ? make_operands(t, x, arena) : MADE;
    t->zero_a = rescales ? 0 : (int32_t)x[0]->zero_point;
    t->zero_b = rescales ? 0 : (int32_t)x[1]->zero_point;
    for (int32_t o = 0; o < t->out_count && operands == MADE; o++)
        if (!itg_lanes_init(&t->lanes[o], &t->out[o], COLUMNS, magnitude(y), false, arena))
            return NO_MEMORY;
    return operands;
}

static made make_add(itg_block_element *t, const itg_int_operand *const x[2])
{
    const float large = 1e28F;
    t->float_zero[0] = (int32_t)x[0]->zero_point;
    t->float_zero[1] = (int32_t)x[1]->zero_point;
    for (int32_t o = 0; o < t->out_count; o++) {
        const itg_epilogue *e = &t->out[o];
        if (e->storage == ITG_F32) continue;
        if (t->k.sign < 0) return NO_FORM;
        t->add[o] = itg_f32_add_derive(t->k.scale_a, x[0]->zero_point, t->k.scale_b,
                                       x[1]->zero_point, t->k.scale_out[o], e->zero_point);
        const itg_f32_add *k = &t->add[o];
        if (e->lo < -FLOAT_LIMIT || e->hi > FLOAT_LIMIT ||
            !(k->ra < large && k->rb < large && k->fixed < large && k->fixed > -large))
            return NO_FORM;
    }
    return MADE;
}

static made make_mul(itg_block_element *t, const itg_int_operand *const x[2])
{
    const float large = 1e28F;
    range a = range_of(&t->k, NULL, x[0]), b = range_of(&t->k, NULL, x[1]);
    if (!within(product_range(a, b), -INT32_MAX, INT32_MAX)) return NO_FORM;
    t->zero_a = (int32_t)x[0]->zero_point;
    t->zero_b = (int32_t)x[1]->zero_point;
    for (int32_t o = 0; o < t->out_count; o++) {
        const itg_epilogue *e = &t->out[o];
        if (e->storage == ITG_F32) continue;
        t->mul[o] =
            itg_f32_mul_derive(t->k.scale_a, t->k.scale_b, t->k.scale_out[o], e->zero_point);
        if (e->lo < -FLOAT_LIMIT || e->hi > FLOAT_LIMIT || !(t->mul[o].ratio < large))
            return NO_FORM;
    }
    return MADE;
}

/* Finds a form. Zero points are limited: 32-bit sums must hold every code of the storage. */
static made make(itg_block_element *t, const itg_int_operand *a, const itg_int_operand *b,
                 itg_arena *arena)
{
    const itg_int_operand *const x[2] = {a, b};
    const int64_t limit = 1 << 20;
    for (int i = 0; i < 2; i++)
        if (!is_narrow(x[i]->storage) || x[i]->zero_point < -limit || x[i]->zero_point > limit)
            return NO_FORM;
    if (t->k.form == ITG_BINARY_F32) return make_add(t, x);
    return t->k.form == ITG_BINARY_F32_PRODUCT ? make_mul(t, x) : make_integer(t, x, arena);
}

static itg_status begin(const itg_accel_kernels *kernels, const itg_epilogue *out,
                        int32_t out_count, itg_arena *arena, itg_block_element **made_out,
                        itg_error *err)
{
    *made_out = NULL;
    if (out_count > ITG_ACCEL_OUTPUTS || kernels->lanes == NULL) return ITG_OK;
    itg_block_element *t = itg_arena_alloc(arena, sizeof *t);
    if (t == NULL) return itg_fail(err, ITG_NO_MEMORY, "no memory for a sum");
    t->kernels = kernels;
    t->out_count = out_count;
    memcpy(t->out, out, (size_t)out_count * sizeof *out);
    *made_out = t;
    return ITG_OK;
}

static itg_status end(made result, itg_block_element **made_out, itg_error *err)
{
    if (result == MADE) return ITG_OK;
    *made_out = NULL;
    return result == NO_FORM ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for a sum");
}

itg_status itg_block_binary_create(const itg_accel_kernels *kernels, const itg_int_binary *k,
                                   const itg_int_operand *a, const itg_int_operand *b,
                                   const itg_epilogue *out, int32_t out_count, itg_arena *arena,
                                   itg_block_element **made_out, itg_error *err)
{
    itg_status status = begin(kernels, out, out_count, arena, made_out, err);
    itg_block_element *t = *made_out;
    if (status != ITG_OK || t == NULL) return status;
    t->k = *k;
    t->storage_a = a->storage;
    t->storage_b = b->storage;
    made result = make(t, a, b, arena);
    t->k.scale_out = NULL; /* was borrowed */
    return end(result, made_out, err);
}

itg_status itg_block_rescale_create(const itg_accel_kernels *kernels, itg_accumulator acc,
                                    const itg_int_operand *x, const itg_epilogue *out,
                                    int32_t out_count, itg_arena *arena,
                                    itg_block_element **made_out, itg_error *err)
{
    itg_status status = begin(kernels, out, out_count, arena, made_out, err);
    itg_block_element *t = *made_out;
    if (status != ITG_OK || t == NULL) return status;
    const int64_t limit = 1 << 20;
    range v = {x->qmin - x->zero_point, x->qmax - x->zero_point};
    made result = MADE;
    if (!is_narrow(x->storage) || !within(v, -limit, limit) || !fits_accumulator(acc, v))
        result = NO_FORM;
    t->alone = true;
    t->storage_a = x->storage;
    t->zero_a = (int32_t)x->zero_point;
    for (int32_t o = 0; o < out_count && result == MADE; o++)
        if (!itg_lanes_init(&t->lanes[o], &t->out[o], COLUMNS, magnitude(v), false, arena))
            result = NO_MEMORY;
    return end(result, made_out, err);
}

static void look_up(const int32_t *restrict table, const uint8_t *restrict x, int64_t n,
                    int32_t *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = table[x[i]];
}

/* Adds or subtracts the values of both tables. */
static void combine_tables(const itg_block_element *t, const uint8_t *restrict a,
                           const uint8_t *restrict b, int64_t n, int32_t *restrict out)
{
    const int32_t *restrict ta = t->table[0]->value, *restrict tb = t->table[1]->value;
    if (t->k.sign < 0)
        for (int64_t i = 0; i < n; i++)
            out[i] = ta[a[i]] - tb[b[i]];
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = ta[a[i]] + tb[b[i]];
}

/* Rescales operand i to the units of the sum. */
static void rescale_row(const itg_block_element *t, int i, const void *x, int64_t first, int64_t n,
                        int32_t *out)
{
    int32_t v[ROW + COLUMNS];
    if (t->table[i]) {
        look_up(t->table[i]->value, (const uint8_t *)x + first, n, out);
        return;
    }
    widen_codes(i == 0 ? t->storage_a : t->storage_b, x, first, n, 0, v);
    run_lanes(t, &t->operand[i], v, t->bias[i], n, out, 0);
}

/* Computes the sums of elements from `first` on. */
static void sum_row(const itg_block_element *t, const void *a, const void *b, int64_t first,
                    int64_t n, int32_t *sum)
{
    int32_t second[ROW + COLUMNS];
    if (t->table[0] && t->table[1]) {
        combine_tables(t, (const uint8_t *)a + first, (const uint8_t *)b + first, n, sum);
        return;
    }
    if (t->k.form == ITG_BINARY_RESCALE) {
        rescale_row(t, 0, a, first, n, sum);
        rescale_row(t, 1, b, first, n, second);
    } else {
        widen_codes(t->storage_a, a, first, n, t->zero_a, sum);
        widen_codes(t->storage_b, b, first, n, t->zero_b, second);
    }
    combine(&t->k, sum, second, n);
}

/* Computes output o from both tables in one pass. False: the set does not support it. */
static bool sum_bytes(const itg_block_element *t, int32_t o, const void *a, const void *b, void *y,
                      int64_t n)
{
    if (!t->table[0] || !t->table[1] || !t->kernels->sum_bytes) return false;
    itg_byte_sum s = {t->table[0], t->table[1], a, b, n, t->k.sign < 0, &t->lanes[o], t->none, y};
    return t->kernels->sum_bytes(&s);
}

/* Computes output o of a float form in one pass. False: not all codes are bytes, or it cannot. */
static bool compute_bytes(const itg_block_element *t, int32_t o, const void *a, const void *b,
                          void *y, int64_t n)
{
    const bool adds = t->k.form == ITG_BINARY_F32;
    const itg_epilogue *e = &t->out[o];
    if (t->alone || !(adds || t->k.form == ITG_BINARY_F32_PRODUCT) || !itg_is_byte(t->storage_a) ||
        !itg_is_byte(t->storage_b) || !itg_is_byte(e->storage))
        return false;
    itg_float_bytes f = {.a = a, .b = b, .low = (float)e->lo, .high = (float)e->hi, .n = n, .y = y};
    const itg_dtype storage[2] = {t->storage_a, t->storage_b};
    const int32_t zero[2] = {t->zero_a, t->zero_b};
    for (int i = 0; i < 2; i++) {
        f.flip[i] = storage[i] == ITG_S8 ? 0x80 : 0;
        f.zero[i] = zero[i] + f.flip[i];
    }
    if (adds) return itg_block_add_bytes(&t->add[o], &f);
    itg_block_mul_bytes(&t->mul[o], &f);
    return true;
}

void itg_block_element_run(const itg_block_element *t, const void *a, const void *b, void *const *y,
                           int64_t n)
{
    bool done[ITG_ACCEL_OUTPUTS], all = true;
    for (int32_t o = 0; o < t->out_count; o++) {
        done[o] = sum_bytes(t, o, a, b, y[o], n) || compute_bytes(t, o, a, b, y[o], n);
        all = all && done[o];
    }
    if (all) return;
    int32_t va[ROW + COLUMNS], vb[ROW + COLUMNS];
    const bool adds = !t->alone && t->k.form == ITG_BINARY_F32;
    const bool multiplies = !t->alone && t->k.form == ITG_BINARY_F32_PRODUCT;
    const bool floats = adds || multiplies;
    for (int64_t first = 0; first < n; first += ROW) {
        int64_t row = n - first < ROW ? n - first : ROW;
        if (t->alone || floats) widen_codes(t->storage_a, a, first, row, t->zero_a, va);
        if (floats) widen_codes(t->storage_b, b, first, row, t->zero_b, vb);
        if (!t->alone && !floats) sum_row(t, a, b, first, row, va);
        for (int32_t o = 0; o < t->out_count; o++) {
            if (done[o]) continue;
            if (floats && t->out[o].storage == ITG_F32)
                itg_block_float_row(&t->k, &t->out[o], t->float_zero, va, vb, row,
                                    (float *)y[o] + first);
            else if (adds)
                itg_block_add_row(&t->add[o], &t->out[o], va, vb, row, y[o], first);
            else if (multiplies)
                itg_block_mul_row(&t->mul[o], &t->out[o], va, vb, row, y[o], first);
            else
                run_lanes(t, &t->lanes[o], va, t->none, row, y[o], first);
        }
    }
}
