/* Derives sums. Partial sums are covered in any order: every code range contains its zero point
 * (view.c checks this), so each term may be 0, its minimum is at most 0 and its maximum at least 0.
 * A sum of any of the terms, with or without bias, lies between the bias or 0 plus all minima, and
 * the bias or 0 plus all maxima. */
#include "realize/verify/sums.h"
#include "realize/verify/norms.h"
#include "realize/verify/stages.h"
#include "realize/verify/windows.h"
#include <string.h>

static const char *const bias_and_weights =
    "bias + sum of w * (x - zero), each stored w times the ends of x's clip range";
static const char *const bias_and_extremes =
    "bias + terms * the extreme products of both clip ranges";
static const char *const parts_of_weights =
    "parts of the sum of w * (x - zero), each shifted and rounded, added to the shifted bias";

typedef struct operand {
    int64_t lo, hi; /* codes less the zero point */
} operand;

static bool operand_of(itg_view *v, int32_t slot, operand *out)
{
    itg_view_codes q;
    if (!itg_view_input_codes(v, slot, &q)) {
        itg_view_problem(v, "input %d has no codes", (int)slot);
        return false;
    }
    *out = (operand){q.qmin - q.zero, q.qmax - q.zero};
    return true;
}

static itg_sum plain(itg_span terms, int64_t bias)
{
    itg_span at = itg_span_of(bias, bias), with_zero = itg_span_hull(at, itg_span_of(0, 0));
    return (itg_sum){itg_span_add(at, terms), itg_span_add(with_zero, terms)};
}

static bool one_channel(itg_view *v, itg_sums *out, itg_sum sum)
{
    out->channels = itg_view_array(v, 1, sizeof *out->channels);
    if (out->channels == NULL) return false;
    out->count = 1;
    out->channels[0] = sum;
    return true;
}

/* ---- Conv, MatMul ---- */

/* The layout of constant weights, and their parameters. */
typedef struct mac {
    const itg_tensor *weights; /* NULL: two activations */
    const int64_t *bias;       /* NULL: none */
    int64_t channels, terms, matrices, channel_step, term_step, matrix_step, zero;
    operand x, w;
    bool by_channel; /* the weights of a channel are contiguous */
    int64_t shift_count;
    const int64_t *shift;
    itg_rounding rounding;
} mac;

static bool conv_layout(itg_view *v, mac *m, const itg_shape *w)
{
    int64_t elements = 0;
    if (w->rank < 3 || m->weights == NULL || !itg_shape_elements(w, &elements) || w->dims[0] < 1) {
        itg_view_problem(v, "weights are no constant of rank 3 or 4");
        return false;
    }
    m->channels = w->dims[0];
    m->terms = m->channel_step = elements / m->channels;
    m->matrices = m->term_step = 1;
    m->by_channel = true;
    return true;
}

static bool matmul_layout(itg_view *v, mac *m, const itg_shape *w)
{
    int64_t elements = 0;
    bool rows = itg_view_int(v, "", "trans_b") != 0, vector = w->rank == 1;
    if (w->rank < 1 || !itg_shape_elements(w, &elements) || elements < 1) {
        itg_view_problem(v, "input 1 has no shape");
        return false;
    }
    int64_t last = w->dims[w->rank - 1], other = vector ? 1 : w->dims[w->rank - 2];
    m->by_channel = rows || vector;
    m->terms = m->by_channel ? last : other;
    m->channels = m->by_channel ? other : last;
    m->channel_step = m->by_channel ? m->terms : 1;
    m->term_step = m->by_channel ? 1 : m->channels;
    m->matrix_step = m->channels * m->terms;
    m->matrices = elements / m->matrix_step;
    return true;
}

static bool read_bias(itg_view *v, mac *m, itg_sums *out)
{
    const itg_view_value *bias = itg_view_input(v, 2);
    if (bias == NULL) return itg_view_node(v)->input_count < 3;
    const itg_tensor *t = bias->constant;
    if (t == NULL || t->dtype != ITG_S64 || t->shape.rank != 1 || t->shape.dims[0] != m->channels) {
        itg_view_problem(v, "bias is no s64 constant with one entry for each of %lld channels",
                         (long long)m->channels);
        return false;
    }
    m->bias = t->data;
    out->has_bias = true;
    out->bias = itg_span_of(m->bias[0], m->bias[0]);
    for (int64_t c = 1; c < m->channels; c++)
        out->bias = itg_span_hull(out->bias, itg_span_of(m->bias[c], m->bias[c]));
    return true;
}

static bool mac_of(itg_view *v, mac *m, itg_sums *out)
{
    const itg_view_value *w = itg_view_input(v, 1);
    itg_view_codes q;
    if (w == NULL || !operand_of(v, 0, &m->x) || !operand_of(v, 1, &m->w) ||
        !itg_view_input_codes(v, 1, &q))
        return false;
    m->zero = q.zero;
    m->weights = w->constant;
    bool conv = strcmp(out->type, "IntConv") == 0;
    if (!(conv ? conv_layout(v, m, &w->shape) : matmul_layout(v, m, &w->shape))) return false;
    if (!read_bias(v, m, out)) return false;
    out->terms = m->terms;
    return true;
}

/* Sums terms [from, to) of one channel of one matrix. */
static itg_span terms_of(const mac *m, int64_t matrix, int64_t channel, int64_t from, int64_t to)
{
    if (m->weights == NULL) {
        itg_span term = itg_span_product(m->x.lo, m->x.hi, m->w.lo, m->w.hi), out;
        if (!itg_wide_multiply(term.lo, to - from, &out.lo) ||
            !itg_wide_multiply(term.hi, to - from, &out.hi))
            return itg_span_of(INT64_MIN, INT64_MAX); /* cannot happen: at most 2^66 times 2^31 */
        return out;
    }
    itg_span sum = itg_span_of(0, 0);
    int64_t at = matrix * m->matrix_step + channel * m->channel_step;
    for (int64_t k = from; k < to; k++) {
        int64_t w = itg_load(m->weights->dtype, m->weights->data, at + k * m->term_step) - m->zero;
        itg_wide a = (itg_wide)w * m->x.lo, b = (itg_wide)w * m->x.hi;
        sum = itg_span_add(sum, w < 0 ? (itg_span){b, a} : (itg_span){a, b});
    }
    return sum;
}

static itg_span shifted(itg_span s, int64_t shift, itg_rounding rounding)
{
    return (itg_span){itg_wide_round_shift(s.lo, (int32_t)shift, rounding),
                      itg_wide_round_shift(s.hi, (int32_t)shift, rounding)};
}

/* Widens the parts by those of channel c, and returns their sum. */
static itg_sum split_channel(const mac *m, itg_sums *out, int64_t c)
{
    int64_t bias = m->bias != NULL ? m->bias[c] : 0;
    int64_t shift = m->shift[m->shift_count == 1 ? 0 : c];
    itg_sum sum = {shifted(itg_span_of(bias, bias), shift, m->rounding), itg_span_of(0, 0)};
    for (int64_t i = 0; i < out->part_count; i++) {
        int64_t from = i == 0 ? 0 : out->part_end[i - 1];
        itg_span part = terms_of(m, 0, c, from, out->part_end[i]);
        for (int64_t k = 1; k < m->matrices && m->weights != NULL; k++)
            part = itg_span_hull(part, terms_of(m, k, c, from, out->part_end[i]));
        out->parts[i] = c == 0 ? part : itg_span_hull(out->parts[i], part);
        sum.partial = itg_span_hull(sum.partial, part);
        sum.sum = itg_span_add(sum.sum, shifted(part, shift, m->rounding));
    }
    return sum;
}

static itg_sum mac_channel(const mac *m, int64_t c)
{
    itg_span terms = terms_of(m, 0, c, 0, m->terms);
    for (int64_t k = 1; k < m->matrices && m->weights != NULL; k++)
        terms = itg_span_hull(terms, terms_of(m, k, c, 0, m->terms));
    return plain(terms, m->bias != NULL ? m->bias[c] : 0);
}

static bool read_split(itg_view *v, mac *m, itg_sums *out)
{
    int64_t last = 0;
    out->part_end = itg_view_ints(v, "", "split_end", &out->part_count);
    if (out->part_count == 0) return true;
    m->shift = itg_view_ints(v, "", "split_shift", &m->shift_count);
    out->join_bits = (int32_t)itg_view_int(v, "", "join_bits");
    bool fine = itg_view_rounding(v, "split_rounding", &m->rounding) && out->join_bits >= 8 &&
                out->join_bits <= 62 && (m->shift_count == 1 || m->shift_count == m->channels);
    for (int64_t i = 0; i < m->shift_count; i++)
        fine = fine && m->shift[i] >= 0 && m->shift[i] <= 62;
    for (int64_t i = 0; i < out->part_count; last = out->part_end[i++])
        fine = fine && out->part_end[i] > last;
    if (!fine || last != m->terms) {
        itg_view_problem(v, "split sum: parts, shifts or widths are not legal");
        return false;
    }
    out->parts = itg_view_array(v, out->part_count, sizeof *out->parts);
    return out->parts != NULL;
}

/* Returns the number of channels, equal ones (in weights, bias and constants) counted once. */
static int64_t distinct_channels(itg_view *v, const mac *m)
{
    if (m->weights != NULL || m->bias != NULL || m->shift_count > 1) return m->channels;
    for (int32_t k = 0; k < itg_view_node(v)->output_count; k++) {
        char prefix[32];
        itg_stage_sets sets;
        snprintf(prefix, sizeof prefix, "y%d_requant", (int)k);
        if (itg_stage_sets_read(v, prefix, &sets) && sets.count > 1) return sets.count;
    }
    return 1;
}

static bool mac_sums(itg_view *v, itg_sums *out)
{
    mac m = {0};
    if (!mac_of(v, &m, out) || !read_split(v, &m, out)) return false;
    out->rule = m.weights == NULL      ? bias_and_extremes
                : out->part_count == 0 ? bias_and_weights
                                       : parts_of_weights;
    /* The artefact bounds weights that are contiguous by term by their extremes. */
    out->exact = m.weights == NULL || (m.by_channel && (!out->part_count || m.matrices == 1));
    out->count = distinct_channels(v, &m);
    out->channels = itg_view_array(v, out->count, sizeof *out->channels);
    if (out->channels == NULL) return false;
    for (int64_t c = 0; c < out->count; c++)
        out->channels[c] = out->part_count > 0 ? split_channel(&m, out, c) : mac_channel(&m, c);
    return true;
}

/* ---- the others ---- */

/* Derives an operand of a rescaled sum: shifted left, then requantized. */
static bool rescaled(itg_view *v, int32_t slot, itg_sums *out)
{
    static const char *const prefix[2] = {"operand0", "operand1"};
    operand x;
    itg_stage_sets sets;
    itg_stage_trace trace;
    int64_t shift = itg_view_int(v, "", "left_shift");
    if (!operand_of(v, slot, &x) || !itg_stage_sets_read(v, prefix[slot], &sets)) return false;
    if (shift < 0 || shift > 62 || sets.count != 1) {
        itg_view_problem(v, "%s: left shift or number of constants is not legal", prefix[slot]);
        return false;
    }
    itg_span in = itg_span_product(x.lo, x.hi, INT64_C(1) << shift, INT64_C(1) << shift);
    if (!itg_span_fits(in, 64)) {
        itg_view_problem(v, "%s: the left shift leaves 64 bits", prefix[slot]);
        return false;
    }
    if (!itg_stage_sets_trace(v, &sets, 0, in, &trace)) return false;
    out->operand[slot] = trace.result;
    out->operand_product[slot] = in;
    for (int32_t i = 0; i < trace.count; i++)
        out->operand_product[slot] =
            itg_span_hull(out->operand_product[slot], trace.step[i].product);
    return true;
}

static bool binary_sums(itg_view *v, itg_sums *out)
{
    const char *form = itg_view_text(v, "", "form");
    operand a, b;
    out->terms = 2;
    if (!operand_of(v, 0, &a) || !operand_of(v, 1, &b)) return false;
    if (strcmp(form, "product") == 0) {
        itg_span product = itg_span_product(a.lo, a.hi, b.lo, b.hi);
        out->rule = "the extreme products of both clip ranges";
        return one_channel(v, out, (itg_sum){product, product});
    }
    itg_span left = itg_span_of(a.lo, a.hi), right = itg_span_of(b.lo, b.hi);
    out->rule = "the sum of both clip ranges";
    if (strcmp(form, "rescale") == 0) {
        if (!rescaled(v, 0, out) || !rescaled(v, 1, out)) return false;
        out->has_operands = true;
        left = out->operand[0];
        right = out->operand[1];
        out->rule = "the sum of both clip ranges, each shifted left and requantized";
    }
    if (strcmp(out->type, "IntSub") == 0) right = itg_span_negate(right);
    itg_span sum = itg_span_add(left, right);
    return one_channel(v, out, (itg_sum){sum, sum});
}

static bool value_sums(itg_view *v, itg_sums *out)
{
    operand x;
    if (!operand_of(v, 0, &x)) return false;
    out->rule = "the clip range of x, less its zero point";
    out->terms = 1;
    itg_span value = itg_span_of(x.lo, x.hi);
    return one_channel(v, out, (itg_sum){value, value});
}

/* If constants are listed by the number of elements, one entry each; else one for the largest. */
static bool mean_sums(itg_view *v, itg_sums *out)
{
    operand x;
    int64_t most = itg_window_most_elements(v), sets = 1;
    if (most < 1 || !operand_of(v, 0, &x)) return false;
    for (int32_t k = 0; k < itg_view_node(v)->output_count; k++) {
        char prefix[32];
        itg_stage_sets read = {0};
        snprintf(prefix, sizeof prefix, "y%d_requant", (int)k);
        if (!itg_stage_sets_read(v, prefix, &read)) return false;
        if (read.count > sets) sets = read.count;
    }
    out->rule =
        "elements of a window * the clip range of x, less its zero point; one line for each "
        "number of elements, or the greatest alone";
    out->terms = most;
    out->count = sets > 1 ? (sets < most ? sets : most) : 1;
    out->channels = itg_view_array(v, out->count, sizeof *out->channels);
    if (out->channels == NULL) return false;
    for (int64_t c = 0; c < out->count; c++) {
        int64_t elements = sets > 1 ? c + 1 : most;
        out->channels[c] = plain(itg_span_product(x.lo, x.hi, elements, elements), 0);
    }
    return true;
}

/* ---- any node ---- */

static const struct {
    const char *type;
    bool (*sums)(itg_view *v, itg_sums *out);
} accumulating[] = {
    {"IntConv", mac_sums},
    {"IntMatMul", mac_sums},
    {"IntAdd", binary_sums},
    {"IntSub", binary_sums},
    {"IntMul", binary_sums},
    {"IntRelu", value_sums},
    {"IntClip", value_sums},
    {"IntAveragePool", mean_sums},
    {"IntGlobalAveragePool", mean_sums},
    {"IntReduceMean", mean_sums},
    {"IntSoftmax", itg_norms_softmax},
    {"IntLayerNormalization", itg_norms_layer},
};

static itg_span claim(itg_view *v, const char *lo, const char *hi)
{
    return itg_span_of(itg_view_int(v, "", lo), itg_view_int(v, "", hi));
}

/* Whether a node accumulates. Forms that compute in float32, or keep codes, do not. */
static bool has_accumulator(itg_view *v)
{
    const char *form = itg_view_text(v, "", "form");
    return strcmp(form, "f32") != 0 && strcmp(form, "keep_scale") != 0;
}

static bool read_width(itg_view *v, itg_sums *out)
{
    const char *overflow = itg_view_text(v, "", "acc_overflow");
    int64_t bits = itg_view_int(v, "", "acc_bits");
    out->saturates = strcmp(overflow, "saturate") == 0;
    if (bits < 8 || bits > 64 || (!out->saturates && strcmp(overflow, "wrap") != 0)) {
        itg_view_problem(v, "an accumulator of %lld bits that does '%s' on overflow is not legal",
                         (long long)bits, overflow);
        return false;
    }
    out->bits = (int32_t)bits;
    out->claimed = claim(v, "acc_lo", "acc_hi");
    out->claimed_join = claim(v, "join_lo", "join_hi");
    return true;
}

bool itg_sums_derive(itg_view *v, itg_sums *out)
{
    const char *type = itg_view_node(v)->op_type;
    size_t i = 0, count = sizeof accumulating / sizeof *accumulating;
    while (i < count && strcmp(accumulating[i].type, type) != 0)
        i++;
    memset(out, 0, sizeof *out);
    if (i == count || !has_accumulator(v)) return false;
    out->type = accumulating[i].type;
    out->exact = true;
    if (!read_width(v, out) || !accumulating[i].sums(v, out)) return false;
    out->all = out->channels[0];
    for (int64_t c = 1; c < out->count; c++) {
        out->all.sum = itg_span_hull(out->all.sum, out->channels[c].sum);
        out->all.partial = itg_span_hull(out->all.partial, out->channels[c].partial);
    }
    out->fits = itg_span_fits(itg_sums_accumulated(out), out->bits) &&
                (out->join_bits == 0 || itg_span_fits(out->all.sum, out->join_bits));
    return true;
}

itg_span itg_sums_accumulated(const itg_sums *s)
{
    return s->join_bits > 0 ? s->all.partial : s->all.sum;
}
