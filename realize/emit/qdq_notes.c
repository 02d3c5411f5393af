/* Lists where the arithmetic of ONNX Runtime's kernels differs from the program's.
 * docs/arithmetic.md, "Agreement with ONNX Runtime", has the formulas that are equal. */
#include "realize/emit/qdq.h"
#include <stdlib.h>

struct itg_qdq_report {
    itg_arena *arena;
    int64_t opset;
    bool any_batch;
    int32_t note_count;
    itg_qdq_note *notes;
};

static bool eight_bits(const itg_encoding *v)
{
    return v == NULL || v->is_float || itg_dtype_size(itg_qdq_dtype(&v->q)) == 1;
}

/* Returns the first encoding of a node's output that is codes, or float; NULL if none is. */
static const itg_encoding *output_encoding(const itg_annotated *a, itg_id node, bool is_float)
{
    const itg_node *n = &a->graph->nodes[node];
    itg_id value = a->nodes[node].out_value;
    if (a->nodes[node].form == ITG_FORM_LUT || a->nodes[node].form == ITG_FORM_KEEP)
        value = n->outputs[0];
    const itg_value_note *note = &a->values[value];
    for (int32_t i = 0; i < note->encoding_count; i++)
        if (note->encodings[i].is_float == is_float) return &note->encodings[i];
    return NULL;
}

static bool wide(const itg_annotated *a, itg_id node)
{
    const itg_node *n = &a->graph->nodes[node];
    int32_t inputs = a->nodes[node].form == ITG_FORM_MAC ? 2 : n->input_count;
    for (int32_t i = 0; i < inputs; i++)
        if (n->inputs[i] != ITG_NONE && !eight_bits(itg_annotated_encoding(a, node, i)))
            return true;
    return !eight_bits(output_encoding(a, node, false));
}

bool itg_qdq_is_rows(const itg_annotated *a, itg_id node)
{
    const itg_node *n = &a->graph->nodes[node];
    return n->op == ITG_OP_MATMUL && a->nodes[node].bias != NULL &&
           a->graph->values[n->inputs[1]].shape.rank == 2 &&
           a->graph->values[n->inputs[0]].shape.rank >= 2;
}

static bool is_signed(const itg_encoding *v)
{
    return v != NULL && v->q.is_signed;
}

static bool in_fixed_point(const itg_encoding *v)
{
    return v != NULL && v->requant_count > 0 && !v->requant[0].is_f32;
}

/* ---- what is equal ---- */

static const char order[] = "float32 in another order of operations";
static const char approximated[] = "ONNX Runtime approximates the function in float32";
static const char zero_sign[] = "a zero may have the other sign in ONNX Runtime";
static const char normalizes[] = "the target normalizes integers, ONNX Runtime real numbers";
static const char float_means[] = "ONNX Runtime has float32 means alone";

/* Equal as integers, or never that. */
#define ISLAND(reason)                                                                             \
    {                                                                                              \
        NULL, NULL, reason                                                                         \
    }

/* Functions of one variable: tables in the program, float32 in ONNX Runtime. */
static const itg_qdq_agreement inexact = {approximated, approximated, approximated};

/* Nobody has compared these with ONNX Runtime's kernels. */
static const char unmeasured[] = "not compared with ONNX Runtime";
static const itg_op not_compared[] = {
    ITG_OP_SUM,
    ITG_OP_MEAN,
    ITG_OP_MOD,
    ITG_OP_THRESHOLDED_RELU,
    ITG_OP_SHRINK,
    ITG_OP_ROUND,
    ITG_OP_SIGN,
    ITG_OP_REDUCE_MIN,
    ITG_OP_REDUCE_PROD,
    ITG_OP_REDUCE_L1,
    ITG_OP_REDUCE_L2,
    ITG_OP_REDUCE_SUM_SQUARE,
    ITG_OP_REDUCE_LOG_SUM,
    ITG_OP_REDUCE_LOG_SUM_EXP,
    ITG_OP_MEAN_VARIANCE_NORMALIZATION,
    ITG_OP_LP_NORMALIZATION,
    ITG_OP_HARDMAX,
    ITG_OP_ARG_MIN,
    ITG_OP_TOP_K,
    ITG_OP_CUM_SUM,
    ITG_OP_CUM_PROD,
    ITG_OP_DET,
    ITG_OP_GATHER_ELEMENTS,
    ITG_OP_GATHER_ND,
    ITG_OP_SCATTER_ELEMENTS,
    ITG_OP_SCATTER_ND,
    ITG_OP_TILE,
    ITG_OP_TRILU,
    ITG_OP_REVERSE_SEQUENCE,
    ITG_OP_COMPRESS,
    ITG_OP_UNIQUE,
    ITG_OP_NON_ZERO,
    ITG_OP_ONE_HOT,
    ITG_OP_RANGE,
    ITG_OP_LESS,
    ITG_OP_LESS_OR_EQUAL,
    ITG_OP_GREATER,
    ITG_OP_GREATER_OR_EQUAL,
    ITG_OP_AND,
    ITG_OP_OR,
    ITG_OP_XOR,
    ITG_OP_NOT,
    ITG_OP_BITWISE_AND,
    ITG_OP_BITWISE_OR,
    ITG_OP_BITWISE_XOR,
    ITG_OP_BITWISE_NOT,
    ITG_OP_BIT_SHIFT,
    ITG_OP_IS_NAN,
    ITG_OP_IS_INF,
};
static const itg_qdq_agreement unknown = {unmeasured, unmeasured, unmeasured};

/* Operators that are in neither table and not inexact give equal bits in every form.
 * scripts/check_onnxruntime.sh measures all of them. */
static const itg_qdq_agreement agreements[ITG_OP_COUNT] = {
    [ITG_OP_CONV] = {NULL, "its float result is a float32 convolution in ONNX Runtime", order},
    [ITG_OP_GEMM] = {NULL, NULL, order},
    [ITG_OP_MATMUL] = {NULL, NULL, order},
    [ITG_OP_POW] = ISLAND(order),
    [ITG_OP_AVERAGE_POOL] = {NULL, order, order},
    [ITG_OP_GLOBAL_AVERAGE_POOL] = {NULL, order, order},
    [ITG_OP_REDUCE_MEAN] = {float_means, float_means, order},
    [ITG_OP_REDUCE_SUM] = ISLAND(order),
    [ITG_OP_LAYER_NORMALIZATION] = {normalizes, normalizes, order},
    [ITG_OP_SOFTMAX] = {normalizes, normalizes, order},
    [ITG_OP_LOG_SOFTMAX] = ISLAND(order),
    [ITG_OP_WHERE] = ISLAND(zero_sign),
    [ITG_OP_RELU] = ISLAND(zero_sign),
    [ITG_OP_CLIP] = ISLAND(zero_sign),
    [ITG_OP_MIN] = ISLAND(zero_sign),
    [ITG_OP_MAX] = ISLAND(zero_sign),
    [ITG_OP_MAX_POOL] = ISLAND(zero_sign),
    [ITG_OP_GLOBAL_MAX_POOL] = ISLAND(zero_sign),
    [ITG_OP_REDUCE_MAX] = ISLAND(zero_sign),
};

const itg_qdq_agreement *itg_qdq_agreement_of(itg_op op)
{
    for (size_t i = 0; i < sizeof not_compared / sizeof *not_compared; i++)
        if (not_compared[i] == op) return &unknown;
    return itg_op_is(op, ITG_IS_INEXACT) ? &inexact : &agreements[op];
}

/* ---- what a target or a node has besides ---- */

static const char *mac_difference(const itg_annotated *a, itg_id node)
{
    const itg_node_note *note = &a->nodes[node];
    if (note->split.part_count > 0)
        return "the target takes the sum apart; ONNX Runtime has one sum of 32 bits";
    if (wide(a, node)) return "no integer kernel for more than 8 bits: ONNX Runtime sums float32";
    if (in_fixed_point(output_encoding(a, node, false)))
        return "the target requantizes in fixed point, ONNX Runtime in float32";
    if (note->activation != ITG_NONE && is_signed(output_encoding(a, node, false)))
        return "ONNX Runtime computes a product whose activation cuts signed codes in float32";
    for (int32_t i = 0; i < note->bias_count; i++)
        if (note->bias[i] < INT32_MIN || note->bias[i] > INT32_MAX)
            return "the bias has more than 32 bits: ONNX Runtime sums float32";
    if (a->graph->nodes[node].op == ITG_OP_MATMUL && note->bias != NULL &&
        !itg_qdq_is_rows(a, node))
        return "ONNX Runtime adds the bias of such a product in float32";
    if (note->acc.bits > 32) return "the target's accumulator has more than 32 bits";
    if (note->activation != ITG_NONE && output_encoding(a, node, true) != NULL &&
        itg_qdq_agreement_of(a->graph->nodes[node].op)->reals == NULL)
        return "its float result, with the activation, is a float32 product in ONNX Runtime";
    return NULL;
}

static const char *average_difference(const itg_node *n)
{
    if (n->op == ITG_OP_AVERAGE_POOL && n->attrs.ceil_mode && n->attrs.count_include_pad)
        return "ONNX Runtime divides windows beyond the padding by the whole kernel's size";
    return NULL;
}

/* Returns the difference in the arithmetic of the node's form. */
static const char *form_difference(const itg_annotated *a, itg_id node)
{
    const itg_node *n = &a->graph->nodes[node];
    switch (a->nodes[node].form) {
    case ITG_FORM_MAC:
        return mac_difference(a, node);
    case ITG_FORM_PRODUCT:
    case ITG_FORM_EQUAL:
        return "the target computes in fixed point, ONNX Runtime in float32";
    case ITG_FORM_RESCALE:
        if (!in_fixed_point(output_encoding(a, node, false)) && itg_op_is(n->op, ITG_IS_AVERAGE))
            return average_difference(n);
        return "the target computes in fixed point, ONNX Runtime in float32";
    case ITG_FORM_F32:
        if (wide(a, node)) return "no integer kernel for more than 8 bits: float32 throughout";
        return itg_op_is(n->op, ITG_IS_AVERAGE) ? average_difference(n) : NULL;
    case ITG_FORM_SOFTMAX:
    case ITG_FORM_TFLITE_SOFTMAX:
    case ITG_FORM_LAYER_NORM:
        return normalizes;
    case ITG_FORM_LUT:
        return a->nodes[node].table_shift == 0
                   ? NULL
                   : "the target interpolates between the entries of a table";
    case ITG_FORM_KEEP:
        if (itg_op_is(n->op, ITG_IS_AVERAGE))
            return "the target averages codes, ONNX Runtime real numbers";
        return NULL;
    default:
        return NULL;
    }
}

/* Codes that QuantizeLinear does not have: the model only limits the range of real numbers. */
static bool reads_wide_codes(const itg_annotated *a, itg_id node)
{
    for (int32_t i = 0; i < a->graph->nodes[node].input_count; i++) {
        const itg_edge *edge = itg_annotated_edge(a, node, i);
        if (edge == NULL || edge->kind != ITG_EDGE_QUANT) continue;
        const itg_encoding *v = &a->values[edge->value].encodings[edge->encoding];
        if (!v->is_float && itg_qdq_dtype(&v->q) == ITG_S32) return true;
    }
    return false;
}

/* 1/x times y becomes y/x, one rounding in place of two. */
static bool fuses_division(const itg_graph *g, const itg_node *n)
{
    if (n->op != ITG_OP_DIV || !itg_graph_is_constant(g, n->inputs[0])) return false;
    if (((const float *)g->values[n->inputs[0]].data)[0] != 1) return false;
    for (itg_id m = 0; m < g->node_count; m++)
        for (int32_t i = 0; i < g->nodes[m].input_count; i++)
            if (g->nodes[m].op == ITG_OP_MUL && g->nodes[m].inputs[i] == n->outputs[0]) return true;
    return false;
}

static const char *island_difference(const itg_annotated *a, const itg_node *n)
{
    const itg_value_note *made = &a->values[n->outputs[0]];
    const char *reason = itg_qdq_agreement_of(n->op)->island;
    if (fuses_division(a->graph, n)) return "ONNX Runtime makes one division of Div and Mul";
    if (reason != zero_sign) return reason;
    if (n->op == ITG_OP_CLIP && n->attrs.min != 0 && n->attrs.max != 0) return NULL;
    for (int32_t i = 0; i < made->encoding_count; i++) /* both zeros have one code */
        if (made->encodings[i].is_float) return reason;
    return NULL;
}

/* Returns why ONNX Runtime's result of a node may differ from the program's; NULL if it does not.
 */
static const char *difference(const itg_annotated *a, itg_id node)
{
    const itg_node *n = &a->graph->nodes[node];
    const itg_qdq_agreement *op = itg_qdq_agreement_of(n->op);
    if (a->nodes[node].form == ITG_FORM_FUSED) return NULL;
    if (reads_wide_codes(a, node)) return "there are no codes of more than 16 bits";
    if (a->nodes[node].form == ITG_FORM_FLOAT) return island_difference(a, n);
    const char *reason = form_difference(a, node);
    if (reason == NULL && output_encoding(a, node, false) != NULL) reason = op->codes;
    if (reason == NULL && output_encoding(a, node, true) != NULL) reason = op->reals;
    return reason;
}

/* ---- the report ---- */

static bool overflows(const itg_bound *bounds, int32_t count, itg_id node)
{
    for (int32_t i = 0; i < count; i++)
        if (bounds[i].node == node && !bounds[i].fits) return true;
    return false;
}

itg_status itg_qdq_report_create(const itg_qdq *q, itg_qdq_report **out, itg_error *err)
{
    itg_bound *bounds = NULL;
    int32_t bound_count = 0;
    itg_status status = itg_bounds_of(q->a, &bounds, &bound_count, err);
    if (status != ITG_OK) return status;
    itg_arena *arena = itg_arena_create(0);
    itg_qdq_report *r = arena ? itg_arena_alloc(arena, sizeof *r) : NULL;
    size_t nodes = (size_t)q->g->node_count + 1;
    if (r != NULL) r->notes = itg_arena_array(arena, nodes, sizeof *r->notes);
    bool ok = r != NULL && r->notes != NULL;
    for (itg_id n = 0; n < q->g->node_count && ok; n++) {
        const char *reason = difference(q->a, n);
        if (reason == NULL && overflows(bounds, bound_count, n))
            reason = "its sums may leave the target's accumulator";
        if (reason == NULL) continue;
        const char *name = itg_arena_strdup(arena, q->g->nodes[n].name);
        ok = name != NULL;
        r->notes[r->note_count++] = (itg_qdq_note){name, itg_op_name(q->g->nodes[n].op), reason};
    }
    free(bounds);
    if (!ok) {
        itg_arena_destroy(arena);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory to write it", q->g->name);
    }
    r->arena = arena;
    r->opset = q->opset;
    r->any_batch = q->any_batch;
    *out = r;
    return ITG_OK;
}

void itg_qdq_report_destroy(itg_qdq_report *report)
{
    if (report != NULL) itg_arena_destroy(report->arena);
}

int64_t itg_qdq_report_opset(const itg_qdq_report *report)
{
    return report->opset;
}

bool itg_qdq_report_any_batch(const itg_qdq_report *report)
{
    return report->any_batch;
}

int32_t itg_qdq_report_count(const itg_qdq_report *report)
{
    return report->note_count;
}

const itg_qdq_note *itg_qdq_report_note(const itg_qdq_report *report, int32_t index)
{
    return &report->notes[index];
}
