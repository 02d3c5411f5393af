/* Operators that have reference code alone, where they run as floats: each with inputs that it
 * takes, and with a result of four float dimensions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "random_net.h"

static itg_id cast(net *n, itg_id x, itg_dtype to)
{
    itg_attrs a = itg_attrs_default(ITG_OP_CAST);
    a.to = to;
    return apply(n, ITG_OP_CAST, &x, 1, &a);
}

static itg_id clip(net *n, itg_id x, float min, float max)
{
    itg_attrs a = itg_attrs_default(ITG_OP_CLIP);
    a.min = min;
    a.max = max;
    return apply(n, ITG_OP_CLIP, &x, 1, &a);
}

static itg_id pair(net *n, itg_op op, itg_id x, itg_id y)
{
    itg_attrs a = itg_attrs_default(op);
    return apply(n, op, (itg_id[]){x, y}, 2, &a);
}

static itg_id typed(net *n, itg_dtype dtype, int32_t rank, const int64_t *shape, const void *data)
{
    itg_shape s = {.rank = rank};
    itg_id id = ITG_NONE;
    for (int32_t i = 0; i < rank; i++)
        s.dims[i] = shape[i];
    assert_int_equal(itg_graph_add_value(n->g, NULL, dtype, &s, data, &id, NULL), ITG_OK);
    return id;
}

/* ---- results that are booleans or integers ---- */

static itg_id choose(net *n, itg_id condition, itg_id x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_WHERE);
    return apply(n, ITG_OP_WHERE, (itg_id[]){condition, x, partner(n, x)}, 3, &a);
}

static itg_id add_logic(net *n, itg_id x, itg_op op)
{
    itg_id below = pair(n, ITG_OP_LESS, x, partner(n, x));
    if (op == ITG_OP_NOT) return choose(n, apply_plain(n, op, below), x);
    return choose(n, pair(n, op, below, pair(n, ITG_OP_GREATER, x, partner(n, x))), x);
}

static itg_id add_bits(net *n, itg_id x, itg_op op)
{
    itg_id whole = cast(n, x, ITG_S32), other = cast(n, partner(n, x), ITG_S32);
    itg_id y = op == ITG_OP_BITWISE_NOT ? apply_plain(n, op, whole) : pair(n, op, whole, other);
    if (op == ITG_OP_BIT_SHIFT) y = pair(n, ITG_OP_MIN, y, whole);
    return cast(n, y, ITG_F32);
}

static itg_id add_test(net *n, itg_id x, itg_op op)
{
    return choose(n, apply_plain(n, op, x), x);
}

static itg_id add_comparison(net *n, itg_id x, itg_op op)
{
    return choose(n, pair(n, op, x, partner(n, x)), x);
}

static itg_id add_arg_min(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    a.axis = pick(n, 1, 3);
    return cast(n, apply(n, op, &x, 1, &a), ITG_F32);
}

static itg_id add_one_hot(net *n, itg_id x, itg_op op)
{
    itg_attrs arg = itg_attrs_default(ITG_OP_ARG_MIN), a = itg_attrs_default(op);
    arg.axis = 3;
    arg.keepdims = false;
    itg_id inputs[] = {apply(n, ITG_OP_ARG_MIN, &x, 1, &arg), indices(n, (int64_t[]){3}, 1),
                       typed(n, ITG_F32, 1, (int64_t[]){2}, (float[]){-0.5f, 0.75f})};
    return apply(n, op, inputs, 3, &a);
}

/* ---- sums, lines, order ---- */

static itg_id add_several(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    return apply(n, op, (itg_id[]){x, partner(n, x), partner(n, x)}, 3, &a);
}

static itg_id add_mod(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    a.truncated = pick(n, 0, 1);
    itg_id divisor = typed(n, ITG_F32, 0, NULL, (float[]){0.703125f});
    return apply(n, op, (itg_id[]){x, divisor}, 2, &a);
}

static itg_id add_reduce(net *n, itg_id x, itg_op op)
{
    if (op == ITG_OP_REDUCE_PROD) x = clip(n, x, 0.96875f, 1.03125f);
    if (op == ITG_OP_REDUCE_LOG_SUM) x = clip(n, x, 0.25f, 2.0f);
    return reduce(n, x, op);
}

static itg_id add_lines(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    a.axis = pick(n, 0, 3);
    return apply(n, op, &x, 1, &a);
}

static itg_id add_mean_variance(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    a.axes[a.axes_count++] = 2;
    a.axes[a.axes_count++] = 3;
    return apply(n, op, &x, 1, &a);
}

static itg_id add_cumulative(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    a.exclusive = pick(n, 0, 1);
    a.reverse = pick(n, 0, 1);
    if (op == ITG_OP_CUM_PROD) x = clip(n, x, 0.25f, 2.0f);
    return apply(n, op, (itg_id[]){x, indices(n, (int64_t[]){pick(n, -3, 3)}, 1)}, 2, &a);
}

static itg_id add_top_k(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    a.axis = pick(n, 1, 3);
    a.largest = pick(n, 0, 1);
    itg_id k = indices(n, (int64_t[]){pick(n, 1, dims(n, x)[a.axis])}, 1);
    return apply(n, op, (itg_id[]){x, k}, 2, &a);
}

/* Of x * x' + 1, which is far from singular. */
static itg_id add_det(net *n, itg_id x, itg_op op)
{
    const int64_t size = dims(n, x)[2], to[] = {dims(n, x)[0], dims(n, x)[1], 1, 1};
    itg_attrs turn = itg_attrs_default(ITG_OP_TRANSPOSE);
    const int64_t perm[] = {0, 1, 3, 2};
    float eye[81] = {0};
    if (size > 9) return x;
    for (int i = 0; i < 4; i++)
        turn.perm[i] = perm[i];
    for (int64_t i = 0; i < size; i++)
        eye[i * size + i] = 1;
    x = clip(n, x, -1.0f, 1.0f);
    itg_id square = pair(n, ITG_OP_MATMUL, x, apply(n, ITG_OP_TRANSPOSE, &x, 1, &turn));
    square = pair(n, ITG_OP_ADD, square, typed(n, ITG_F32, 2, (int64_t[]){size, size}, eye));
    return reshape(n, apply_plain(n, op, square), to, 4);
}

/* "abcd,abed->abcd": no product of matrices, as e is summed in one operand alone. */
static itg_id add_einsum(net *n, itg_id x, itg_op op)
{
    static const int64_t labels[] = {0, 1, 2, 3, -1, 0, 1, 4, 3, -1, 0, 1, 2, 3, -1};
    itg_attrs a = itg_attrs_default(op);
    return apply(n, op, (itg_id[]){x, x, indices(n, labels, 15)}, 3, &a);
}

/* ---- places ---- */

static itg_id add_tile(net *n, itg_id x, itg_op op)
{
    return pair(n, op, x, indices(n, (int64_t[]){1, 1, 1, 2}, 4));
}

static itg_id add_trilu(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    a.upper = pick(n, 0, 1);
    itg_id k = typed(n, ITG_S64, 0, NULL, (int64_t[]){pick(n, -2, 2)});
    return apply(n, op, (itg_id[]){x, k}, 2, &a);
}

static itg_id add_reverse_sequence(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    int64_t lengths[64];
    a.batch_axis = 0;
    a.time_axis = 1;
    for (int64_t i = 0; i < dims(n, x)[0] && i < 64; i++)
        lengths[i] = pick(n, 0, dims(n, x)[1]);
    return apply(n, op, (itg_id[]){x, indices(n, lengths, dims(n, x)[0])}, 2, &a);
}

static itg_id add_compress(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    a.axis = 3;
    itg_id chosen = typed(n, ITG_BOOL, 1, (int64_t[]){1}, (uint8_t[]){1});
    return apply(n, op, (itg_id[]){x, chosen}, 2, &a);
}

static itg_id add_elements(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    const int64_t shape[] = {dims(n, x)[0], 1, 1, 2}, last = dims(n, x)[3];
    int64_t at[128];
    assert_true(dims(n, x)[0] <= 64);
    for (int64_t i = 0; i < 2 * shape[0]; i++)
        at[i] = pick(n, -last, last - 1);
    a.axis = 3;
    a.reduction = ITG_SCATTER_ADD; /* an element may be there twice */
    itg_id inputs[] = {x, typed(n, ITG_S64, 4, shape, at), constant(n, 4, shape, 0.5f)};
    return apply(n, op, inputs, op == ITG_OP_GATHER_ELEMENTS ? 2 : 3, &a);
}

/* Whole images, by their number. */
static itg_id add_rows(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    const int64_t *d = dims(n, x), updates[] = {1, d[1], d[2], d[3]};
    int64_t first = pick(n, 0, d[0] - 1);
    a.reduction = (itg_scatter)pick(n, 0, 4);
    itg_id inputs[] = {x, typed(n, ITG_S64, 2, (int64_t[]){1, 1}, &first), ITG_NONE};
    if (op == ITG_OP_GATHER_ND) return apply(n, op, inputs, 2, &a);
    inputs[2] = constant(n, 4, updates, 0.5f);
    return apply(n, op, inputs, 3, &a);
}

static const struct {
    itg_op op;
    itg_id (*add)(net *n, itg_id x, itg_op op);
} references[] = {
    {ITG_OP_LESS, add_comparison},
    {ITG_OP_LESS_OR_EQUAL, add_comparison},
    {ITG_OP_GREATER, add_comparison},
    {ITG_OP_GREATER_OR_EQUAL, add_comparison},
    {ITG_OP_AND, add_logic},
    {ITG_OP_OR, add_logic},
    {ITG_OP_XOR, add_logic},
    {ITG_OP_NOT, add_logic},
    {ITG_OP_BITWISE_AND, add_bits},
    {ITG_OP_BITWISE_OR, add_bits},
    {ITG_OP_BITWISE_XOR, add_bits},
    {ITG_OP_BITWISE_NOT, add_bits},
    {ITG_OP_BIT_SHIFT, add_bits},
    {ITG_OP_IS_NAN, add_test},
    {ITG_OP_IS_INF, add_test},
    {ITG_OP_ARG_MIN, add_arg_min},
    {ITG_OP_ONE_HOT, add_one_hot},
    {ITG_OP_SUM, add_several},
    {ITG_OP_MEAN, add_several},
    {ITG_OP_MOD, add_mod},
    {ITG_OP_REDUCE_MIN, add_reduce},
    {ITG_OP_REDUCE_PROD, add_reduce},
    {ITG_OP_REDUCE_L1, add_reduce},
    {ITG_OP_REDUCE_L2, add_reduce},
    {ITG_OP_REDUCE_SUM_SQUARE, add_reduce},
    {ITG_OP_REDUCE_LOG_SUM, add_reduce},
    {ITG_OP_REDUCE_LOG_SUM_EXP, add_reduce},
    {ITG_OP_HARDMAX, add_lines},
    {ITG_OP_LP_NORMALIZATION, add_lines},
    {ITG_OP_MEAN_VARIANCE_NORMALIZATION, add_mean_variance},
    {ITG_OP_CUM_SUM, add_cumulative},
    {ITG_OP_CUM_PROD, add_cumulative},
    {ITG_OP_TOP_K, add_top_k},
    {ITG_OP_DET, add_det},
    {ITG_OP_EINSUM, add_einsum},
    {ITG_OP_TILE, add_tile},
    {ITG_OP_TRILU, add_trilu},
    {ITG_OP_REVERSE_SEQUENCE, add_reverse_sequence},
    {ITG_OP_COMPRESS, add_compress},
    {ITG_OP_GATHER_ELEMENTS, add_elements},
    {ITG_OP_SCATTER_ELEMENTS, add_elements},
    {ITG_OP_GATHER_ND, add_rows},
    {ITG_OP_SCATTER_ND, add_rows},
};

itg_id add_reference(net *n, itg_id x)
{
    const int64_t which = pick(n, 0, (int64_t)(sizeof references / sizeof *references) - 1);
    return references[which].add(n, x, references[which].op);
}
