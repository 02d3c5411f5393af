/* Intervals of native results in exact integers. A code of an input may be anything in [qmin,
 * qmax], which contains the zero point. So each term of a sum may be 0, its minimum is at most 0
 * and its maximum at least 0. A sum that starts at the bias therefore only falls (lo) or only rises
 * (hi). Saturating each addition saturates the exact result, and the interval contains every
 * partial sum. */
#include "realize/geometry.h"
#include "kernels/requant.h"
#include <stdlib.h>
#include <string.h>

typedef struct interval {
    int64_t lo, hi;
} interval;

/* The exact product, saturated. */
static int64_t multiply(int64_t a, int64_t b)
{
    return itg_round_shift_product(a, b, 0, ITG_ROUND_FLOOR);
}

static interval sum(interval a, interval b)
{
    return (interval){itg_add_saturated(a.lo, b.lo), itg_add_saturated(a.hi, b.hi)};
}
static int64_t negated(int64_t v)
{
    return v == INT64_MIN ? INT64_MAX : -v;
}
static interval negative(interval a)
{
    return (interval){negated(a.hi), negated(a.lo)};
}

static interval product(interval a, interval b)
{
    int64_t corner[4] = {multiply(a.lo, b.lo), multiply(a.lo, b.hi), multiply(a.hi, b.lo),
                         multiply(a.hi, b.hi)};
    interval out = {corner[0], corner[0]};
    for (int i = 1; i < 4; i++) {
        if (corner[i] < out.lo) out.lo = corner[i];
        if (corner[i] > out.hi) out.hi = corner[i];
    }
    return out;
}

static interval hull(interval a, interval b)
{
    return (interval){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

/* Codes minus the zero point. */
static interval centered(const itg_pvalue *v)
{
    return (interval){v->q.qmin - v->q.zero_point, v->q.qmax - v->q.zero_point};
}

/* Bounds the sum over constant weights of a channel; positive and negative ones separately. */
static interval channel_bound(const itg_pvalue *w, int64_t start, int64_t count, interval x,
                              int64_t bias)
{
    int64_t positive, negative_sum;
    const itg_constant *known = w->known;
    if (known != NULL && known->terms == count && start % count == 0) {
        positive = known->above[start / count];
        negative_sum = known->below[start / count];
    } else {
        itg_code_sums(w->dtype, w->data, start, count, w->q.zero_point, &positive, &negative_sum);
    }
    interval rising = {multiply(positive, x.lo), multiply(positive, x.hi)};
    interval falling = {multiply(negative_sum, x.hi), multiply(negative_sum, x.lo)};
    return sum(sum((interval){bias, bias}, rising), falling);
}

/* Output channels of a MAC, the terms of each, and the layout of constant weights. */
typedef struct mac_view {
    int64_t channels, terms, matrices;
    bool transposed;
} mac_view;

static mac_view mac_of(const itg_program *p, const itg_step *s)
{
    const itg_pvalue *w = &p->values[s->inputs[1]];
    mac_view v = {0, 0, 1, true};
    if (s->kind == ITG_STEP_CONV) {
        v.channels = w->shape.dims[0];
        v.terms = w->elements / v.channels;
        return v;
    }
    const itg_matmul_view m = itg_matmul_of(p, s);
    v.channels = m.n;
    v.terms = m.k;
    v.matrices = w->elements / (m.n * m.k);
    v.transposed = s->attrs.trans_b || w->shape.rank == 1;
    return v;
}

int64_t itg_mac_terms(const itg_program *p, const itg_step *s)
{
    return mac_of(p, s).terms;
}

int64_t itg_step_macs(const itg_program *p, const itg_step *s)
{
    if (s->kind != ITG_STEP_CONV && s->kind != ITG_STEP_MATMUL) return 0;
    return p->values[s->outputs[0]].elements * itg_mac_terms(p, s);
}

static interval mac_bound(const itg_program *p, const itg_step *s)
{
    const itg_pvalue *w = &p->values[s->inputs[1]];
    const int64_t *bias = s->input_count > 2 ? p->values[s->inputs[2]].data : NULL;
    mac_view v = mac_of(p, s);
    interval x = centered(&p->values[s->inputs[0]]), all = {INT64_MAX, INT64_MIN};
    bool exact = w->data != NULL && v.transposed;
    interval term = product(x, centered(w)),
             any = {multiply(term.lo, v.terms), multiply(term.hi, v.terms)};
    for (int64_t c = 0; c < v.channels; c++) {
        int64_t b = bias != NULL ? bias[c] : 0;
        for (int64_t i = 0; exact && i < v.matrices; i++)
            all = hull(all, channel_bound(w, (i * v.channels + c) * v.terms, v.terms, x, b));
        if (!exact) all = hull(all, sum((interval){b, b}, any));
    }
    return all;
}

static interval binary_bound(const itg_program *p, const itg_step *s)
{
    interval a = centered(&p->values[s->inputs[0]]), b = centered(&p->values[s->inputs[1]]);
    if (s->form == ITG_FORM_PRODUCT) return product(a, b);
    if (s->form == ITG_FORM_RESCALE) {
        /* Requantization is monotone: its multipliers are not negative. */
        int64_t unit = (int64_t)1 << s->left_shift;
        a = (interval){itg_requant_apply(&s->operand[0], a.lo * unit),
                       itg_requant_apply(&s->operand[0], a.hi * unit)};
        b = (interval){itg_requant_apply(&s->operand[1], b.lo * unit),
                       itg_requant_apply(&s->operand[1], b.hi * unit)};
    }
    return sum(a, s->op == ITG_OP_SUB ? negative(b) : b);
}

/* A normalized element is at most the root of the row's length for all codes (docs/arithmetic.md
 * 3.5). */
static interval layer_norm_bound(const itg_program *p, const itg_step *s)
{
    const itg_pvalue *gain = &p->values[s->inputs[1]];
    const int64_t *bias = p->values[s->inputs[2]].data;
    const int64_t element = itg_floor_sqrt(gain->elements << 2 * s->fraction) + 4;
    interval all = {INT64_MAX, INT64_MIN};
    for (int64_t i = 0; i < gain->elements; i++) {
        const int64_t g = itg_load(gain->dtype, gain->data, i), most = element * (g < 0 ? -g : g);
        all = hull(all, sum((interval){bias[i], bias[i]}, (interval){-most, most}));
    }
    return all;
}

void itg_step_bound(const itg_program *p, const itg_step *s, int64_t *lo, int64_t *hi)
{
    interval v = centered(&p->values[s->inputs[0]]);
    if (s->kind == ITG_STEP_CONV || s->kind == ITG_STEP_MATMUL)
        v = mac_bound(p, s);
    else if (s->kind == ITG_STEP_BINARY)
        v = binary_bound(p, s);
    else if (s->kind == ITG_STEP_SOFTMAX)
        v = (interval){0, INT64_C(1) << ITG_PROBABILITY_BITS};
    else if (s->kind == ITG_STEP_TFLITE_SOFTMAX)
        v = (interval){0, INT64_C(1) << s->fraction};
    else if (s->kind == ITG_STEP_LAYER_NORM)
        v = layer_norm_bound(p, s);
    else if (s->kind == ITG_STEP_MEAN) {
        int64_t count = itg_mean_max_count(p, s);
        v = (interval){multiply(v.lo, count), multiply(v.hi, count)};
    }
    *lo = v.lo;
    *hi = v.hi;
}

/* Widens *parts by the parts of one channel, and *joined by their sum. */
static void split_channel(const itg_program *p, const itg_step *s, int64_t channel, interval *parts,
                          interval *joined)
{
    const itg_pvalue *w = &p->values[s->inputs[1]];
    const itg_sum_split *split = &s->split;
    mac_view v = mac_of(p, s);
    interval x = centered(&p->values[s->inputs[0]]), term = product(x, centered(w));
    bool exact = w->data != NULL && v.transposed && v.matrices == 1;
    int32_t shift = (int32_t)split->shift[split->shift_count == 1 ? 0 : channel];
    int64_t bias =
        s->input_count > 2 ? ((const int64_t *)p->values[s->inputs[2]].data)[channel] : 0;
    int64_t start = itg_round_shift_product(bias, 1, shift, split->rounding);
    interval all = {start, start};
    for (int32_t i = 0; i < split->part_count; i++) {
        int64_t from = i == 0 ? 0 : split->end[i - 1], count = split->end[i] - from;
        interval part = {multiply(term.lo, count), multiply(term.hi, count)};
        if (exact) part = channel_bound(w, channel * v.terms + from, count, x, 0);
        *parts = hull(*parts, part);
        part = (interval){itg_round_shift_product(part.lo, 1, shift, split->rounding),
                          itg_round_shift_product(part.hi, 1, shift, split->rounding)};
        all = sum(all, part);
    }
    *joined = hull(*joined, all);
}

void itg_step_split_bound(const itg_program *p, const itg_step *s, int64_t *lo, int64_t *hi,
                          int64_t *join_lo, int64_t *join_hi)
{
    interval parts = {INT64_MAX, INT64_MIN}, joined = parts;
    int64_t channels = mac_of(p, s).channels;
    for (int64_t c = 0; c < channels; c++)
        split_channel(p, s, c, &parts, &joined);
    *lo = parts.lo;
    *hi = parts.hi;
    *join_lo = joined.lo;
    *join_hi = joined.hi;
}

/* A bound at a limit of int64 may have been saturated, so it fits nothing. */
static bool within(int64_t lo, int64_t hi, itg_accumulator acc)
{
    if (lo == INT64_MIN || hi == INT64_MAX) return false;
    return lo >= itg_accumulator_min(acc) && hi <= itg_accumulator_max(acc);
}

bool itg_step_fits(const itg_step *s)
{
    return within(s->acc_lo, s->acc_hi, s->acc) &&
           (s->split.part_count == 0 || within(s->join_lo, s->join_hi, itg_step_join(s)));
}

bool itg_step_sum_is_whole(const itg_step *s)
{
    bool shifted = false;
    for (int32_t i = 0; i < s->split.shift_count; i++)
        shifted |= s->split.shift[i] != 0;
    return !shifted;
}

/* Each term may be 0, so the sum of any terms of a channel lies within the bounds of the whole sum
 * without bias. */
int64_t itg_step_kernel_bound(const itg_program *p, const itg_step *s)
{
    if (!itg_step_sum_is_whole(s)) return INT64_MAX;
    bool joined = s->split.part_count > 0;
    int64_t low = negated(joined ? s->join_lo : s->acc_lo), high = joined ? s->join_hi : s->acc_hi,
            bound = low > high ? low : high, widest = 0;
    const bool mac = s->kind == ITG_STEP_CONV || s->kind == ITG_STEP_MATMUL;
    if (!mac || s->input_count < 3) return bound;
    const itg_pvalue *bias = &p->values[s->inputs[2]];
    for (int64_t i = 0; i < bias->elements; i++) {
        int64_t b = ((const int64_t *)bias->data)[i], size = b < 0 ? negated(b) : b;
        if (size > widest) widest = size;
    }
    return itg_add_saturated(bound, widest); /* covers sums without bias */
}

itg_status itg_bounds_of(const itg_annotated *a, itg_bound **out, int32_t *count, itg_error *err)
{
    itg_program *p = NULL;
    itg_realize_options options = {ITG_REALIZE_OPTIONS_VERSION, true};
    itg_status status = itg_realize_program(a, &options, &p, err);
    if (status != ITG_OK) return status;
    itg_bound *bounds = malloc(((size_t)p->bound_count + 1) * sizeof *bounds);
    if (bounds == NULL) {
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for bounds");
    } else {
        memcpy(bounds, p->bounds, (size_t)p->bound_count * sizeof *bounds);
        *out = bounds;
        *count = p->bound_count;
    }
    itg_program_destroy(p);
    return status;
}
