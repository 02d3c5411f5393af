/* The annotated graph: look-ups and text. sim/annotate.h makes it. */
#include "annotated.h"
#include "base/json.h"

const char *itg_form_name(itg_form form)
{
    static const char *const names[ITG_FORM_COUNT] = {
        [ITG_FORM_FLOAT] = "float",
        [ITG_FORM_MAC] = "mac",
        [ITG_FORM_PRODUCT] = "product",
        [ITG_FORM_RESCALE] = "rescale",
        [ITG_FORM_F32] = "f32",
        [ITG_FORM_EQUAL] = "equal_scale",
        [ITG_FORM_KEEP] = "keep_scale",
        [ITG_FORM_LUT] = "lut",
        [ITG_FORM_FUSED] = "fused",
        [ITG_FORM_SOFTMAX] = "softmax",
        [ITG_FORM_TFLITE_SOFTMAX] = "tflite_softmax",
        [ITG_FORM_LAYER_NORM] = "layer_norm",
    };
    return (unsigned)form < ITG_FORM_COUNT ? names[form] : "?";
}

const itg_edge *itg_annotated_edge(const itg_annotated *a, itg_id node, int32_t slot)
{
    const itg_graph *g = a->graph;
    if (slot < 0) return NULL;
    if (node == ITG_NONE)
        return slot < g->output_count ? &a->edges[a->edge_of_node[g->node_count] + slot] : NULL;
    const itg_node *n = &g->nodes[node];
    if (slot >= n->input_count || n->inputs[slot] == ITG_NONE) return NULL;
    int32_t rank = 0;
    for (int32_t i = 0; i < slot; ++i)
        rank += n->inputs[i] != ITG_NONE;
    return &a->edges[a->edge_of_node[node] + rank];
}

const itg_encoding *itg_annotated_encoding(const itg_annotated *a, itg_id node, int32_t slot)
{
    const itg_edge *edge = itg_annotated_edge(a, node, slot);
    if (!edge || edge->encoding < 0) return NULL;
    return &a->values[edge->value].encodings[edge->encoding];
}

void itg_annotated_destroy(itg_annotated *a)
{
    if (!a) return;
    for (itg_id v = 0; a->values && v < a->graph->value_count; v++)
        for (int32_t i = 0; i < a->values[v].encoding_count; i++)
            itg_cache_release(a->cache, a->values[v].encodings[i].constant);
    itg_cache_destroy(a->cache);
    itg_arena_destroy(a->arena);
}

/* ---- text ---- */

#define SHOWN 4 /* numbers of a per-channel list; the count says how many there are */

static const char *const rounding_names[ITG_ROUNDING_COUNT] = {
    [ITG_ROUND_HALF_EVEN] = "half_even",
    [ITG_ROUND_HALF_UP] = "half_up",
    [ITG_ROUND_HALF_AWAY] = "half_away",
    [ITG_ROUND_FLOOR] = "floor",
};

static void print_floats(const char *name, const float *values, int32_t count, itg_strbuf *out)
{
    char text[48];
    itg_strbuf_format(out, " %s", name);
    if (count != 1) itg_strbuf_format(out, "[%d]", (int)count);
    for (int32_t i = 0; i < count && i < SHOWN; ++i)
        itg_strbuf_format(out, "%s%s", i ? "," : "=", itg_hex_double((double)values[i], text));
    if (count > SHOWN) itg_strbuf_add(out, ",...");
}

static void print_ints(const int64_t *values, int32_t count, itg_strbuf *out)
{
    for (int32_t i = 0; i < count && i < SHOWN; ++i)
        itg_strbuf_format(out, "%s%lld", i ? "," : "", (long long)values[i]);
    if (count > SHOWN) itg_strbuf_add(out, ",...");
}

static void print_requant(const itg_requant *r, itg_strbuf *out)
{
    char text[48];
    if (r->is_f32) {
        itg_strbuf_format(out, "(*%s)", itg_hex_double((double)r->ratio, text));
        return;
    }
    itg_strbuf_add(out, "(");
    for (int32_t i = 0; i < r->stage_count; ++i)
        itg_strbuf_format(out, "%s*%lld>>%d %s", i ? "; " : "", (long long)r->stage[i].multiplier,
                          (int)r->stage[i].shift, rounding_names[r->stage[i].rounding]);
    itg_strbuf_add(out, ")");
}

static void print_encoding(const itg_encoding *v, itg_strbuf *out)
{
    if (v->is_float) {
        itg_strbuf_add(out, "float");
        if (v->dequant_count > 0) print_floats("dequant", v->dequant, v->dequant_count, out);
        return;
    }
    const itg_quantizer *q = &v->q;
    itg_strbuf_format(out, "%s %c%d in [%lld,%lld] zero_point=%d", itg_dtype_name(q->storage),
                      q->is_signed ? 's' : 'u', (int)q->bits, (long long)q->qmin,
                      (long long)q->qmax, (int)q->zero_point);
    if (q->axis >= 0) itg_strbuf_format(out, " axis=%d", (int)q->axis);
    print_floats("scale", q->scale, q->scale_count, out);
    itg_strbuf_format(out, " clamp [%lld,%lld]", (long long)v->clamp_lo, (long long)v->clamp_hi);
    if (v->requant_count > 0) itg_strbuf_format(out, " requant[%d]=", (int)v->requant_count);
    for (int32_t i = 0; i < v->requant_count && i < SHOWN; ++i)
        print_requant(&v->requant[i], out);
    if (v->requant_count > SHOWN) itg_strbuf_add(out, "...");
}

static void print_edge(const itg_annotated *a, const itg_edge *edge, itg_strbuf *out)
{
    const itg_graph *g = a->graph;
    itg_strbuf_format(
        out, "  edge %%%d %s -> %s.%d: ", (int)edge->value, g->values[edge->value].name,
        edge->node == ITG_NONE ? "output" : g->nodes[edge->node].name, (int)edge->slot);
    if (edge->kind == ITG_EDGE_FUSED) {
        itg_strbuf_add(out, "fused\n");
        return;
    }
    if (edge->encoding >= 0)
        print_encoding(&a->values[edge->value].encodings[edge->encoding], out);
    else
        itg_strbuf_add(out, "float");
    itg_strbuf_add(out, "\n");
}

static void print_split(const itg_sum_split *split, itg_strbuf *out)
{
    if (split->part_count == 0) return;
    itg_strbuf_format(out, " split[%d]=", (int)split->part_count);
    print_ints(split->end, split->part_count, out);
    itg_strbuf_format(out, " join=%d %s shift[%d]=", (int)split->join_bits,
                      rounding_names[split->rounding], (int)split->shift_count);
    print_ints(split->shift, split->shift_count, out);
}

static void print_note(const itg_annotated *a, itg_id id, itg_strbuf *out)
{
    const itg_graph *g = a->graph;
    const itg_node *n = &g->nodes[id];
    const itg_node_note *note = &a->nodes[id];
    itg_strbuf_format(out, "node %s %s: %s", n->name, itg_op_name(n->op),
                      itg_form_name(note->form));
    if (note->form == ITG_FORM_FLOAT && note->reason) itg_strbuf_format(out, " (%s)", note->reason);
    if (note->acc.bits > 0)
        itg_strbuf_format(out, " accumulator=%d %s", (int)note->acc.bits,
                          note->acc.overflow == ITG_OVERFLOW_WRAP ? "wrap" : "saturate");
    print_split(&note->split, out);
    if (note->activation != ITG_NONE)
        itg_strbuf_format(out, " activation=%s", g->nodes[note->activation].name);
    if (note->form == ITG_FORM_RESCALE && (n->op == ITG_OP_ADD || n->op == ITG_OP_SUB)) {
        itg_strbuf_format(out, " left_shift=%d operands=", (int)note->left_shift);
        print_requant(&note->operand[0], out);
        print_requant(&note->operand[1], out);
    }
    if (note->table_shift > 0) itg_strbuf_format(out, " table_shift=%d", (int)note->table_shift);
    if (note->bias_count > 0) itg_strbuf_format(out, " bias[%d]=", (int)note->bias_count);
    print_ints(note->bias, note->bias_count, out);
    itg_strbuf_add(out, "\n");
}

void itg_annotated_print(const itg_annotated *a, itg_strbuf *out)
{
    const itg_graph *g = a->graph;
    itg_strbuf_format(out, "annotated %s\n", g->name);
    for (itg_id n = 0; n < g->node_count; ++n) {
        print_note(a, n, out);
        for (int32_t e = a->edge_of_node[n]; e < a->edge_of_node[n + 1]; ++e)
            print_edge(a, &a->edges[e], out);
    }
    itg_strbuf_add(out, "outputs\n");
    for (int32_t e = a->edge_of_node[g->node_count]; e < a->edge_count; ++e)
        print_edge(a, &a->edges[e], out);
}
