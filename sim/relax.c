/* Builds relaxed graphs (relax.h). Codes of a site without rounding are 2^k times finer; the sum of
 * a node is then finer by the powers of two of its operands, and all that reads it is scaled. */
#include "sim/relax.h"
#include "sim/annotate.h"
#include "kernels/math.h"
#include <math.h>
#include <string.h>

#define FINE_BITS 20 /* bits of codes without rounding: large sums stay exact in a double */
#define WIDEST (INT64_C(1) << 30) /* code */
#define RATIO_BITS 40             /* bits of a multiplier for a real ratio */
#define FINE_SHIFT 20             /* left shift of the operands of a sum without rounding */
#define LARGEST_BIAS 0x1p60

typedef struct relaxing {
    const itg_annotated *from;
    const itg_strategy *s;
    const itg_sites *sites;
    const itg_relaxation *r;
    itg_annotated *a;
    int32_t *finer; /* [encodings]: k */
    itg_error *err;
} relaxing;

static itg_status no_memory(const relaxing *x)
{
    return itg_fail(x->err, ITG_NO_MEMORY, "no memory for a relaxed graph of %s",
                    x->from->graph->name);
}

/* ---- quantizers ---- */

static int32_t bits_of(const itg_quantizer *q)
{
    int32_t bits = 1;
    while (((q->qmax - q->qmin) >> bits) > 0)
        bits++;
    return bits;
}

/* Returns the number of codes from 0 on that cover twice the expected magnitude. */
static int64_t codes_for(double reach, float scale)
{
    double codes = 2 * reach / (double)scale + 1;
    return codes < (double)WIDEST ? (int64_t)codes : WIDEST;
}

static void widen(itg_quantizer *q, double reach)
{
    int64_t most = 0;
    for (int32_t c = 0; c < q->scale_count; c++) {
        int64_t codes = codes_for(reach, q->scale[c]);
        if (codes > most) most = codes;
    }
    if (q->zero_point - most < q->qmin) q->qmin = q->zero_point - most;
    if (q->zero_point + most > q->qmax) q->qmax = q->zero_point + most;
    q->is_signed = true;
}

static itg_status refine(relaxing *x, itg_quantizer *q, int32_t k)
{
    int64_t unit = INT64_C(1) << k;
    float *scale = itg_arena_copy(x->a->arena, q->scale, sizeof *scale * (size_t)q->scale_count);
    if (!scale) return no_memory(x);
    for (int32_t c = 0; c < q->scale_count; c++)
        scale[c] = (float)itg_ldexp((double)scale[c], -k);
    q->scale = scale;
    q->qmin *= unit;
    q->qmax *= unit;
    q->zero_point *= (int32_t)unit;
    return ITG_OK;
}

/* k: as refine. Codes of weights with zero points stay within their channel's unless is_wide. */
static itg_status take_codes(relaxing *x, itg_id v, int32_t index, int32_t k, bool is_wide)
{
    const itg_value *value = &x->from->graph->values[v];
    const itg_quantizer *from = &x->from->values[v].encodings[index].q;
    itg_encoding *encoding = &x->a->values[v].encodings[index];
    const int32_t span = encoding->zero ? ((1 << from->bits) - 1) << k : 0;
    int32_t *least = NULL;
    if (encoding->zero && !is_wide) {
        least = itg_arena_array(x->a->arena, (size_t)from->scale_count, sizeof *least);
        if (!least) return no_memory(x);
        for (int32_t c = 0; c < from->scale_count; c++)
            least[c] = -((int32_t)encoding->zero[c] << k);
    }
    const itg_constant_source source = {.data = value->data,
                                        .shape = value->shape,
                                        .q = &encoding->q,
                                        .last_axis = encoding->q.axis > 0,
                                        .least = least,
                                        .span = span};
    encoding->constant =
        itg_constant_take(x->a->cache, x->from->content ? &x->from->content[v] : NULL, &source);
    return encoding->constant ? ITG_OK : no_memory(x);
}

static itg_status relax_encoding(relaxing *x, itg_id v, int32_t index)
{
    itg_encoding *encoding = &x->a->values[v].encodings[index];
    int32_t place = x->sites->first[v] + index, site = x->sites->of[place];
    itg_status status = ITG_OK;
    if (site < 0 || (!x->r->unrounded[site] && !x->r->unclipped[site])) {
        if (encoding->constant) itg_cache_hold(x->a->cache, encoding->constant);
        return ITG_OK;
    }
    encoding->constant = NULL;
    if (x->r->unrounded[site]) {
        int32_t k = FINE_BITS - bits_of(&encoding->q);
        x->finer[place] = k > 0 ? k : 0;
        status = refine(x, &encoding->q, x->finer[place]);
    }
    if (x->r->unclipped[site]) widen(&encoding->q, x->r->reach[v]);
    encoding->q.bits = 32;
    encoding->q.storage = ITG_S32;
    encoding->clamp_lo = encoding->q.qmin;
    encoding->clamp_hi = encoding->q.qmax;
    return status == ITG_OK && x->from->graph->values[v].data
               ? take_codes(x, v, index, x->r->unrounded[site] ? x->finer[place] : 0,
                            x->r->unclipped[site])
               : status;
}

/* Widens sites whose values pass codes on to the largest range among them. */
static void share_ranges(relaxing *x, itg_quantizer *widest)
{
    const itg_graph *g = x->from->graph;
    for (int pass = 0; pass < 2; pass++)
        for (itg_id v = 0; v < g->value_count; v++)
            for (int32_t i = 0; i < x->a->values[v].encoding_count; i++) {
                itg_encoding *encoding = &x->a->values[v].encodings[i];
                int32_t site = x->sites->of[x->sites->first[v] + i];
                if (site < 0 || !x->r->unclipped[site] || g->values[v].data) continue;
                itg_quantizer *q = &encoding->q, *w = &widest[site];
                if (pass == 0) {
                    w->qmin = q->qmin < w->qmin ? q->qmin : w->qmin;
                    w->qmax = q->qmax > w->qmax ? q->qmax : w->qmax;
                } else {
                    encoding->clamp_lo = q->qmin = w->qmin;
                    encoding->clamp_hi = q->qmax = w->qmax;
                }
            }
}

static itg_status relax_encodings(relaxing *x)
{
    const itg_graph *g = x->from->graph;
    itg_status status = ITG_OK;
    for (itg_id v = 0; v < g->value_count && status == ITG_OK; v++) {
        const itg_value_note *from = &x->from->values[v];
        itg_value_note *note = &x->a->values[v];
        note->encodings =
            itg_arena_array(x->a->arena, (size_t)from->encoding_count + 1, sizeof *note->encodings);
        if (!note->encodings) return no_memory(x);
        for (int32_t i = 0; i < from->encoding_count && status == ITG_OK; i++) {
            note->encodings[i] = from->encodings[i];
            status = relax_encoding(x, v, i);
            note->encoding_count++;
        }
    }
    itg_quantizer *widest =
        itg_arena_array(x->a->arena, (size_t)x->sites->count + 1, sizeof *widest);
    if (!widest) return no_memory(x);
    if (status == ITG_OK) share_ranges(x, widest);
    return status;
}

/* ---- nodes ---- */

static int32_t finer_input(const relaxing *x, itg_id n, int32_t slot)
{
    const itg_edge *edge = itg_annotated_edge(x->from, n, slot);
    if (!edge || edge->kind != ITG_EDGE_QUANT) return 0;
    return x->finer[x->sites->first[edge->value] + edge->encoding];
}

static float scale_at(const itg_annotated *a, itg_id n, int32_t slot, int64_t c)
{
    const itg_quantizer *q = &itg_annotated_encoding(a, n, slot)->q;
    return q->scale[q->scale_count == 1 ? 0 : c];
}

/* Whether the node rescales its two operands before it adds them. */
static bool adds_rescaled(const itg_annotated *a, itg_id n)
{
    itg_op op = a->graph->nodes[n].op;
    return a->nodes[n].form == ITG_FORM_RESCALE && (op == ITG_OP_ADD || op == ITG_OP_SUB);
}

bool itg_relax_is_arithmetic(const itg_annotated *a, itg_id n)
{
    itg_form form = a->nodes[n].form;
    return form == ITG_FORM_MAC || form == ITG_FORM_PRODUCT || form == ITG_FORM_EQUAL ||
           adds_rescaled(a, n) ||
           (form == ITG_FORM_RESCALE && itg_op_is(a->graph->nodes[n].op, ITG_IS_CLAMP));
}

/* Returns k if the node's sum is 2^k times finer than in the program. */
static int32_t finer_sum(const relaxing *x, itg_id n)
{
    itg_form form = x->from->nodes[n].form;
    if (form == ITG_FORM_MAC || form == ITG_FORM_PRODUCT)
        return finer_input(x, n, 0) + finer_input(x, n, 1);
    if (form == ITG_FORM_EQUAL || (form == ITG_FORM_RESCALE && !adds_rescaled(x->from, n)))
        return finer_input(x, n, 0);
    return 0;
}

static void set_shift(itg_requant_stage *stage, int32_t shift)
{
    for (; shift > 62 && stage->multiplier > 1; shift--)
        stage->multiplier = (stage->multiplier + 1) / 2;
    stage->shift = shift > 62 ? 62 : shift;
}

/* Adjusts the requantization to a sum that is 2^by times finer. */
static void shift_requant(itg_requant *r, int32_t by)
{
    if (by == 0) return;
    if (r->is_f32) {
        r->ratio = (float)itg_ldexp((double)r->ratio, -by);
        return;
    }
    if (r->stage_count == 0)
        r->stage[r->stage_count++] = (itg_requant_stage){1, 0, ITG_ROUND_HALF_EVEN};
    itg_requant_stage *last = &r->stage[r->stage_count - 1];
    set_shift(last, last->shift + by);
}

/* Returns the requantization by a real ratio, with the last rounding of r. */
static itg_requant exact_requant(double ratio, const itg_requant *r)
{
    int exponent = 0;
    double mantissa = itg_frexp(ratio, &exponent);
    int64_t multiplier = (int64_t)itg_round_half_even(itg_ldexp(mantissa, RATIO_BITS));
    itg_rounding rounding = r->is_f32 || r->stage_count == 0
                                ? ITG_ROUND_HALF_EVEN
                                : r->stage[r->stage_count - 1].rounding;
    itg_requant exact = {.stage_count = 1};
    exact.stage[0] = (itg_requant_stage){multiplier, 0, rounding};
    set_shift(&exact.stage[0], RATIO_BITS - exponent);
    return exact;
}

/* Returns the real value of a sum of 1 in channel c. */
static double sum_unit(const relaxing *x, itg_id n, int64_t c)
{
    const itg_node_note *note = &x->a->nodes[n];
    double first = (double)scale_at(x->a, n, 0, 0);
    if (note->form == ITG_FORM_MAC || note->form == ITG_FORM_PRODUCT)
        return first * (double)scale_at(x->a, n, 1, c);
    if (!adds_rescaled(x->a, n)) return first;
    double a = (double)scale_at(x->from, n, 0, 0), b = (double)scale_at(x->from, n, 1, 0);
    return itg_ldexp(2 * (a > b ? a : b), -note->left_shift);
}

static void relax_operands(relaxing *x, itg_id n)
{
    itg_node_note *note = &x->a->nodes[n];
    if (!adds_rescaled(x->a, n)) return;
    if (x->r->exact[n] && note->left_shift < FINE_SHIFT) {
        int32_t bits = note->acc.bits + FINE_SHIFT - note->left_shift;
        note->acc.bits = bits < 64 ? bits : 64;
        note->left_shift = FINE_SHIFT;
    }
    for (int32_t i = 0; i < 2; i++) {
        double ratio =
            (double)scale_at(x->a, n, i, 0) / itg_ldexp(sum_unit(x, n, 0), note->left_shift);
        if (x->r->exact[n])
            note->operand[i] = exact_requant(ratio, &note->operand[i]);
        else
            shift_requant(&note->operand[i], finer_input(x, n, i));
    }
}

static int32_t split_shift(const itg_sum_split *split, int64_t c)
{
    return split->part_count > 0 ? (int32_t)split->shift[split->shift_count == 1 ? 0 : c] : 0;
}

/* Returns the strategy's bias; for weights without rounding, and if it has none, the model's. */
static const float *real_bias(const relaxing *x, itg_id n)
{
    const itg_graph *g = x->from->graph;
    const itg_node *node = &g->nodes[n];
    int32_t edge = x->from->edge_of_node[n] + 1, site = itg_site_of_edge(x->sites, x->from, edge);
    const itg_edge_choice *choice = &x->s->edges[edge];
    if (choice->bias && !(site >= 0 && x->r->unrounded[site])) return choice->bias;
    return node->input_count > 2 && node->inputs[2] != ITG_NONE ? g->values[node->inputs[2]].data
                                                                : NULL;
}

static bool needs_real_bias(const relaxing *x, itg_id n)
{
    int32_t edge = x->from->edge_of_node[n] + 1, site = itg_site_of_edge(x->sites, x->from, edge);
    return x->r->exact[n] || (site >= 0 && x->r->unrounded[site] && x->s->edges[edge].bias != NULL);
}

static itg_status relax_bias(relaxing *x, itg_id n, int32_t finer)
{
    itg_node_note *note = &x->a->nodes[n];
    if (!note->bias || note->form != ITG_FORM_MAC) return ITG_OK;
    const float *real = needs_real_bias(x, n) ? real_bias(x, n) : NULL;
    int64_t *bias =
        itg_arena_copy(x->a->arena, note->bias, sizeof *bias * (size_t)note->bias_count);
    if (!bias) return no_memory(x);
    for (int32_t c = 0; c < note->bias_count; c++) {
        double exact =
            real ? (double)real[c] / sum_unit(x, n, c) : itg_ldexp((double)bias[c], finer);
        exact = exact > LARGEST_BIAS ? LARGEST_BIAS : exact < -LARGEST_BIAS ? -LARGEST_BIAS : exact;
        bias[c] = (int64_t)itg_round_half_even(exact);
    }
    note->bias = bias;
    return ITG_OK;
}

/* Adjusts an encoding to sums that are 2^by times finer. split: how the program splits them. */
static itg_status relax_output(relaxing *x, itg_id n, itg_encoding *encoding, int32_t finer_output,
                               int32_t by, const itg_sum_split *split)
{
    bool exact = x->r->exact[n] && itg_relax_is_arithmetic(x->from, n);
    itg_requant *requant = itg_arena_copy(x->a->arena, encoding->requant,
                                          sizeof *requant * (size_t)encoding->requant_count);
    float *dequant = itg_arena_copy(x->a->arena, encoding->dequant,
                                    sizeof *dequant * (size_t)encoding->dequant_count);
    if (!requant || !dequant) return no_memory(x);
    for (int32_t c = 0; c < encoding->requant_count; c++) {
        if (exact)
            requant[c] =
                exact_requant(sum_unit(x, n, c) / (double)encoding->q.scale[0], &requant[c]);
        else
            shift_requant(&requant[c], by + split_shift(split, c) - finer_output);
    }
    for (int32_t c = 0; c < encoding->dequant_count; c++)
        dequant[c] = exact ? (float)sum_unit(x, n, c)
                           : (float)itg_ldexp((double)dequant[c], -by - split_shift(split, c));
    encoding->requant = requant;
    encoding->dequant = dequant;
    return ITG_OK;
}

static itg_status relax_outputs(relaxing *x, itg_id n, int32_t by, const itg_sum_split *split)
{
    const itg_node_note *note = &x->a->nodes[n];
    itg_value_note *outputs = &x->a->values[note->out_value];
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < outputs->encoding_count && status == ITG_OK; i++) {
        itg_encoding *encoding = &outputs->encodings[i];
        int32_t place = x->sites->first[note->out_value] + i, site = x->sites->of[place];
        bool relaxed = site >= 0 && (x->r->unrounded[site] || x->r->unclipped[site]);
        if (relaxed && note->form != ITG_FORM_KEEP && note->form != ITG_FORM_LUT)
            annotate_clamp(x->from->graph, note->activation, encoding);
        if (encoding->requant || encoding->dequant)
            status = relax_output(x, n, encoding, x->finer[place], by, split);
    }
    return status;
}

/* Sets epsilon at the scale of the relaxed codes. 0: they exceed the integers of the form. */
static void relax_epsilon(relaxing *x, itg_id n)
{
    itg_node_note *note = &x->a->nodes[n];
    if (note->form != ITG_FORM_LAYER_NORM) return;
    const itg_quantizer *q = &itg_annotated_encoding(x->a, n, 0)->q;
    note->epsilon = annotate_epsilon(x->from->graph, n, q);
}

static itg_status relax_node(relaxing *x, itg_id n)
{
    itg_node_note *note = &x->a->nodes[n];
    itg_sum_split split = {0};
    int32_t by = finer_sum(x, n);
    if (note->form == ITG_FORM_FLOAT || note->form == ITG_FORM_FUSED) return ITG_OK;
    if (by > 0 || x->r->exact[n] || x->r->unbounded[n]) {
        split = note->split;
        note->split = (itg_sum_split){0};
        if (note->acc.bits > 0)
            note->acc.bits = note->acc.bits + by < 64 ? note->acc.bits + by : 64;
        if (x->r->unbounded[n] || split.part_count > 0)
            note->acc = (itg_accumulator){64, ITG_OVERFLOW_WRAP};
    }
    relax_operands(x, n);
    relax_epsilon(x, n);
    itg_status status = relax_bias(x, n, by);
    return status == ITG_OK ? relax_outputs(x, n, by, &split) : status;
}

/* ---- all nodes ---- */

static itg_status relax_all(relaxing *x)
{
    const itg_graph *g = x->from->graph;
    itg_annotated *a = x->a;
    a->values = itg_arena_array(a->arena, (size_t)g->value_count + 1, sizeof *a->values);
    a->nodes = itg_arena_copy(a->arena, a->nodes, sizeof *a->nodes * ((size_t)g->node_count + 1));
    x->finer =
        itg_arena_array(a->arena, (size_t)x->sites->first[g->value_count] + 1, sizeof *x->finer);
    if (!a->values || !a->nodes || !x->finer) return no_memory(x);
    itg_status status = relax_encodings(x);
    for (itg_id n = 0; n < g->node_count && status == ITG_OK; n++)
        status = relax_node(x, n);
    return status;
}

itg_status itg_relax(const itg_annotated *a, const itg_strategy *s, const itg_sites *sites,
                     const itg_relaxation *relaxation, itg_annotated **out, itg_error *err)
{
    itg_arena *arena = itg_arena_create(0);
    itg_annotated *made = arena ? itg_arena_copy(arena, a, sizeof *made) : NULL;
    if (!made) {
        itg_arena_destroy(arena);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for a relaxed graph");
    }
    made->arena = arena;
    made->values = NULL;
    made->cache = itg_cache_share(a->cache);
    relaxing x = {.from = a, .s = s, .sites = sites, .r = relaxation, .a = made, .err = err};
    itg_status status = relax_all(&x);
    if (status != ITG_OK)
        itg_annotated_destroy(made);
    else
        *out = made;
    return status;
}
