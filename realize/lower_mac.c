/* Conv, Gemm and MatMul. Gemm becomes a matrix product; constant matrices are packed so that each
 * output channel's weights are one row. */
#include "realize/lower.h"
#include <string.h>

static itg_status add_bias(itg_lowering *l, itg_id node, int32_t *out)
{
    const itg_node_note *note = &l->a->nodes[node];
    itg_tensor t = {ITG_S64, {1, {note->bias_count}}, (void *)(uintptr_t)note->bias};
    const char *name = itg_arena_format(l->p->arena, "%s:bias", l->g->nodes[node].name);
    if (name == NULL) return itg_lower_no_memory(l);
    return itg_lower_constant(l, name, &t, out);
}

/* Lowers Gemm's first operand; trans_a adds a transposition. */
static itg_status lower_left(itg_lowering *l, itg_id node, int32_t *out)
{
    const itg_node *n = &l->g->nodes[node];
    itg_status status = itg_lower_edge(l, node, 0, out);
    if (status != ITG_OK || n->op != ITG_OP_GEMM || !n->attrs.trans_a) return status;
    itg_pvalue from = l->p->values[*out];
    if (!from.quantized || from.shape.rank != 2)
        return itg_lower_fail(l, node, ITG_MISMATCH, "Gemm needs a matrix of codes");
    itg_step *s;
    int32_t turned, source = *out;
    status = itg_lower_hidden(l, n->inputs[0], "transposed", from.dtype, &turned);
    if (status == ITG_OK) status = itg_program_set_quantizer(l->p, turned, &from.q, l->err);
    if (status == ITG_OK)
        status = itg_program_add_step(l->p, ITG_STEP_MOVE, n->name, 1, 1, &s, l->err);
    if (status != ITG_OK) return status;
    l->p->values[turned].shape.dims[0] = from.shape.dims[1];
    l->p->values[turned].shape.dims[1] = from.shape.dims[0];
    s->node = node;
    s->op = ITG_OP_TRANSPOSE;
    s->attrs.perm[0] = 1;
    s->inputs[0] = source;
    s->outputs[0] = turned;
    *out = turned;
    return ITG_OK;
}

/* Lowers the second operand; *transposed: its matrices are [N,K]. */
static itg_status lower_right(itg_lowering *l, itg_id node, int32_t *out, bool *transposed)
{
    const itg_node *n = &l->g->nodes[node];
    *transposed = n->op == ITG_OP_GEMM && n->attrs.trans_b;
    bool constant = itg_graph_is_constant(l->g, n->inputs[1]);
    if (n->op == ITG_OP_CONV || *transposed || !constant ||
        l->g->values[n->inputs[1]].shape.rank < 2)
        return itg_lower_edge(l, node, 1, out);
    *transposed = true;
    return itg_lower_packed_matrix(l, node, 1, out);
}

static itg_status copy_split(itg_lowering *l, itg_id node, itg_step *s)
{
    itg_sum_split split = l->a->nodes[node].split;
    if (split.part_count == 0) return ITG_OK;
    split.end =
        itg_arena_copy(l->p->arena, split.end, (size_t)split.part_count * sizeof *split.end);
    split.shift =
        itg_arena_copy(l->p->arena, split.shift, (size_t)split.shift_count * sizeof *split.shift);
    if (split.end == NULL || split.shift == NULL) return itg_lower_no_memory(l);
    s->split = split;
    return ITG_OK;
}

itg_status itg_lower_mac(itg_lowering *l, itg_id node)
{
    const itg_node *n = &l->g->nodes[node];
    const itg_node_note *note = &l->a->nodes[node];
    int32_t operand[3] = {ITG_NONE, ITG_NONE, ITG_NONE};
    bool transposed = false;
    if (!itg_op_is(n->op, ITG_IS_MAC))
        return itg_lower_fail(l, node, ITG_UNSUPPORTED, "no operator of form mac");
    if (n->op == ITG_OP_GEMM && (n->attrs.alpha != 1 || (note->bias != NULL && n->attrs.beta != 1)))
        return itg_lower_fail(l, node, ITG_UNSUPPORTED,
                              "Gemm's alpha and beta must be 1 in integers");
    itg_status status = lower_left(l, node, &operand[0]);
    if (status == ITG_OK) status = lower_right(l, node, &operand[1], &transposed);
    if (status == ITG_OK && note->bias != NULL) status = add_bias(l, node, &operand[2]);
    if (status != ITG_OK) return status;
    bool conv = n->op == ITG_OP_CONV;
    itg_step *s;
    status = itg_lower_native(l, node, conv ? ITG_STEP_CONV : ITG_STEP_MATMUL,
                              conv ? ITG_OP_CONV : ITG_OP_MATMUL, note->bias != NULL ? 3 : 2, &s);
    if (status != ITG_OK || s == NULL) return status;
    memcpy(s->inputs, operand, (size_t)s->input_count * sizeof *operand);
    if (!conv) s->attrs.trans_b = transposed;
    return copy_split(l, node, s);
}
