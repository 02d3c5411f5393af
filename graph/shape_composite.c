/* Shapes of composite operators (expand.h); Resize has its own file. Each rule checks what the
 * operator's expansion relies on. */
#include "shape.h"

static itg_status bad_shape(const itg_graph *g, itg_id node, int32_t slot, const char *what,
                            const itg_shape *expected, itg_error *err)
{
    char has[96], wants[96];
    return itg_node_fail(g, node, err, ITG_BAD_FILE, "its %s is %s; expected %s", what,
                         itg_shape_text(itg_input_shape(g, node, slot), has, sizeof has),
                         itg_shape_text(expected, wants, sizeof wants));
}

/* Fails if an input that is not left out has another shape. */
static itg_status need_shape(const itg_graph *g, itg_id node, int32_t slot, const char *what,
                             const itg_shape *expected, itg_error *err)
{
    const itg_shape *has = itg_input_shape(g, node, slot);
    return !has || itg_shape_equal(has, expected) ? ITG_OK
                                                  : bad_shape(g, node, slot, what, expected, err);
}

static itg_status need_rank(const itg_graph *g, itg_id node, int32_t least, int32_t most,
                            itg_error *err)
{
    int32_t rank = itg_input_shape(g, node, 0)->rank;
    if (rank >= least && rank <= most) return ITG_OK;
    return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "its input has rank %d; expected %d to %d",
                         (int)rank, (int)least, (int)most);
}

/* ---- blocks ---- */

itg_status itg_infer_blocks(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape y = *itg_input_shape(g, node, 0);
    int64_t b = g->nodes[node].attrs.size;
    bool grows = g->nodes[node].op == ITG_OP_DEPTH_TO_SPACE;
    itg_status status = need_rank(g, node, 4, 4, err);
    if (status != ITG_OK) return status;
    if (b < 1 || b > 65536 || (grows ? y.dims[1] % (b * b) : y.dims[2] % b || y.dims[3] % b))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "blocksize %lld does not fit its input",
                             (long long)b);
    y.dims[1] = grows ? y.dims[1] / (b * b) : y.dims[1] * b * b;
    for (int i = 2; i < 4; ++i)
        y.dims[i] = grows ? y.dims[i] * b : y.dims[i] / b;
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

/* ---- normalizations ---- */

itg_status itg_infer_group_normalization(itg_graph *g, itg_id node, itg_error *err)
{
    itg_status status = need_rank(g, node, 3, ITG_MAX_RANK, err);
    if (status != ITG_OK) return status;
    const itg_node *n = &g->nodes[node];
    int64_t channels = itg_input_shape(g, node, 0)->dims[1], elements = 0;
    int64_t groups = n->op == ITG_OP_GROUP_NORMALIZATION ? n->attrs.size : channels;
    itg_shape each = {.rank = 1, .dims = {channels}};
    itg_shape_elements(itg_input_shape(g, node, 0), &elements);
    if (groups < 1 || channels % groups != 0 || elements < 1)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "%lld channels in %lld groups",
                             (long long)channels, (long long)groups);
    const itg_shape *scale = itg_input_shape(g, node, 1);
    if (scale->rank == 1 && scale->dims[0] == groups) each.dims[0] = groups; /* until opset 20 */
    status = need_shape(g, node, 1, "scale", &each, err);
    if (status == ITG_OK) status = need_shape(g, node, 2, "bias", &each, err);
    return status == ITG_OK ? itg_infer_same(g, node, err) : status;
}

itg_status itg_infer_rms_normalization(itg_graph *g, itg_id node, itg_error *err)
{
    const itg_shape *x = itg_input_shape(g, node, 0), *scale = itg_input_shape(g, node, 1);
    itg_shape tail = {.rank = 0}, both;
    itg_attrs *a = &g->nodes[node].attrs;
    itg_status status = itg_resolve_axis(g, node, x->rank, &a->axis, err);
    if (status != ITG_OK) return status;
    for (int64_t i = a->axis; i < x->rank; ++i)
        tail.dims[tail.rank++] = x->dims[i];
    if (!itg_broadcast_shapes(scale, &tail, &both) || !itg_shape_equal(&both, &tail))
        return bad_shape(g, node, 1, "scale", &tail, err);
    return itg_infer_same(g, node, err);
}

itg_status itg_infer_lrn(itg_graph *g, itg_id node, itg_error *err)
{
    const itg_attrs *a = &g->nodes[node].attrs;
    itg_status status = need_rank(g, node, 3, 4, err);
    if (status != ITG_OK) return status;
    if (a->size < 1 || a->size > ITG_MAX_ELEMENTS || !(a->scale > 0.0f) || !(a->alpha >= 0.0f))
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED,
                             "size and bias must be positive, alpha must not be negative");
    if (itg_input_shape(g, node, 0)->dims[1] > 8192)
        return itg_node_fail(g, node, err, ITG_LIMIT, "more than 8192 channels");
    return itg_infer_same(g, node, err);
}

/* ---- recurrent operators ---- */

typedef struct recurrent {
    int64_t steps, batch, inputs, size, directions, gates;
} recurrent;

static itg_status check_lengths(const itg_graph *g, itg_id node, const recurrent *r, itg_error *err)
{
    if (!itg_has_input(g, node, 4)) return ITG_OK;
    const itg_value *v = &g->values[g->nodes[node].inputs[4]];
    itg_shape each = {.rank = 1, .dims = {r->batch}};
    itg_status status = need_shape(g, node, 4, "sequence_lens", &each, err);
    if (status != ITG_OK) return status;
    for (int64_t i = 0; i < r->batch; ++i)
        if (!v->data || !itg_dtype_is_integer(v->dtype) ||
            itg_load(v->dtype, v->data, i) != r->steps)
            return itg_node_fail(g, node, err, ITG_UNSUPPORTED,
                                 "its sequence_lens '%s' is not the constant %lld", v->name,
                                 (long long)r->steps);
    return ITG_OK;
}

/* Returns [directions, batch, size], or [batch, directions, size] with layout 1. */
static itg_shape state_shape(const recurrent *r, bool batch_first)
{
    return batch_first ? (itg_shape){.rank = 3, .dims = {r->batch, r->directions, r->size}}
                       : (itg_shape){.rank = 3, .dims = {r->directions, r->batch, r->size}};
}

static itg_status check_recurrent(const itg_graph *g, itg_id node, const recurrent *r,
                                  itg_error *err)
{
    int64_t d = r->directions, rows = r->gates * r->size;
    itg_shape w = {.rank = 3, .dims = {d, rows, r->inputs}};
    itg_shape recurrence = {.rank = 3, .dims = {d, rows, r->size}};
    itg_shape bias = {.rank = 2, .dims = {d, 2 * rows}};
    itg_shape peepholes = {.rank = 2, .dims = {d, 3 * r->size}};
    itg_shape state = state_shape(r, g->nodes[node].attrs.batch_first);
    itg_status status = need_shape(g, node, 1, "W", &w, err);
    if (status == ITG_OK) status = need_shape(g, node, 2, "R", &recurrence, err);
    if (status == ITG_OK) status = need_shape(g, node, 3, "B", &bias, err);
    if (status == ITG_OK) status = check_lengths(g, node, r, err);
    if (status == ITG_OK) status = need_shape(g, node, 5, "initial_h", &state, err);
    if (status == ITG_OK) status = need_shape(g, node, 6, "initial_c", &state, err);
    return status == ITG_OK ? need_shape(g, node, 7, "P", &peepholes, err) : status;
}

itg_status itg_infer_recurrent(itg_graph *g, itg_id node, itg_error *err)
{
    itg_status status = need_rank(g, node, 3, 3, err);
    if (status != ITG_OK) return status;
    const itg_node *n = &g->nodes[node];
    const itg_shape x = *itg_input_shape(g, node, 0), *w = itg_input_shape(g, node, 1);
    bool first = n->attrs.batch_first;
    recurrent r = {.steps = x.dims[first], .batch = x.dims[!first], .inputs = x.dims[2]};
    r.gates = n->op == ITG_OP_LSTM ? 4 : n->op == ITG_OP_GRU ? 3 : 1;
    r.directions = n->attrs.direction == ITG_BIDIRECTIONAL ? 2 : 1;
    r.size = w->rank == 3 ? w->dims[1] / r.gates : 0;
    if (r.size < 1 || r.steps < 1 || (n->attrs.size != 0 && n->attrs.size != r.size))
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "hidden_size %lld, W and X of %lld steps do not fit",
                             (long long)n->attrs.size, (long long)r.steps);
    g->nodes[node].attrs.size = r.size;
    status = check_recurrent(g, node, &r, err);
    itg_shape state = state_shape(&r, first);
    itg_shape y = {.rank = 4, .dims = {r.steps, r.directions, r.batch, r.size}};
    if (first) y = (itg_shape){.rank = 4, .dims = {r.batch, r.steps, r.directions, r.size}};
    if (status == ITG_OK) status = itg_set_output(g, node, 0, ITG_F32, &y, err);
    if (status == ITG_OK) status = itg_set_output(g, node, 1, ITG_F32, &state, err);
    return status == ITG_OK ? itg_set_output(g, node, 2, ITG_F32, &state, err) : status;
}

/* ---- Attention ---- */

/* Splits the last dimension of a rank-3 input into heads: [batch, heads, rows, elements]. */
static bool head_shape(const itg_shape *x, int64_t heads, itg_shape *out)
{
    *out = *x;
    if (x->rank == 4) return true;
    if (heads < 1 || x->dims[2] % heads != 0) return false;
    *out = (itg_shape){.rank = 4, .dims = {x->dims[0], heads, x->dims[1], x->dims[2] / heads}};
    return true;
}

static itg_status check_attention(const itg_graph *g, itg_id node, itg_error *err)
{
    static const char *const slots[] = {
        "Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"};
    static const char *const outputs[] = {"Y", "present_key", "present_value", "qk_matmul_output"};
    const itg_node *n = &g->nodes[node];
    for (int32_t i = 4; i < n->input_count; ++i)
        if (itg_has_input(g, node, i))
            return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "its input %s is not supported",
                                 slots[i]);
    for (int32_t i = 1; i < n->output_count; ++i)
        if (n->outputs[i] != ITG_NONE && itg_graph_use_count(g, n->outputs[i]) > 0)
            return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "its output %s is not supported",
                                 outputs[i]);
    return need_rank(g, node, 3, 4, err);
}

itg_status itg_infer_attention(itg_graph *g, itg_id node, itg_error *err)
{
    itg_status status = check_attention(g, node, err);
    if (status != ITG_OK) return status;
    const itg_attrs *a = &g->nodes[node].attrs;
    const itg_shape *x = itg_input_shape(g, node, 0);
    itg_shape q, k, v, scores, both;
    for (int32_t i = 1; i < 3; ++i)
        if (itg_input_shape(g, node, i)->rank != x->rank)
            return bad_shape(g, node, i, i == 1 ? "K" : "V", x, err);
    if (!head_shape(x, a->heads[0], &q) ||
        !head_shape(itg_input_shape(g, node, 1), a->heads[1], &k) ||
        !head_shape(itg_input_shape(g, node, 2), a->heads[1], &v) || k.dims[1] < 1 ||
        q.dims[1] % k.dims[1] != 0 || v.dims[1] != k.dims[1] || q.dims[0] != k.dims[0] ||
        q.dims[0] != v.dims[0] || q.dims[3] != k.dims[3] || k.dims[2] != v.dims[2])
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "Q, K and V do not fit with %lld and %lld heads",
                             (long long)a->heads[0], (long long)a->heads[1]);
    scores = (itg_shape){.rank = 4, .dims = {q.dims[0], q.dims[1], q.dims[2], k.dims[2]}};
    const itg_shape *mask = itg_input_shape(g, node, 3);
    if (mask && (!itg_broadcast_shapes(mask, &scores, &both) || !itg_shape_equal(&both, &scores)))
        return bad_shape(g, node, 3, "attn_mask", &scores, err);
    itg_shape y = q;
    y.dims[3] = v.dims[3];
    if (x->rank == 3)
        y = (itg_shape){.rank = 3, .dims = {q.dims[0], q.dims[2], q.dims[1] * v.dims[3]}};
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}
