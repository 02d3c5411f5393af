/* Finds the part of a value's range that its readers distinguish. A sigmoid is almost 0 or 1 far
 * from 0, a Gelu 0 on one side: codes there are wasted, and gates of recurrent networks reach a
 * thousand times as far. */
#include "kernels/float_ops.h"
#include "kernels/math.h"
#include "sim/threshold.h"
#include <math.h>

enum { EVEN_POINTS = 64, HALVINGS = 24, POINTS = EVEN_POINTS + 2 * HALVINGS, BISECTIONS = 40 };

/* Differences below this share of the function's range do not count: a quarter of a step at 12
 * bits. */
static const double NOTHING = 1.0 / (1 << 14);

/* Less than this share of the range is a step at 0 (Sign): codes tell its sides apart, and 2^-8 of
 * the range is what they are spent on. */
static const double LEAST_PART = 0x1p-20, STEP_PART = 0x1p-8;

/* A bin's count times this, for a slope of 1. */
static const double WEIGHT = 1024;

static const itg_range everything = {-INFINITY, INFINITY};

/* ---- one function ---- */

typedef struct function {
    itg_op op;
    const itg_attrs *attrs;
    double end;     /* f at the end of the range */
    double allowed; /* difference from it that does not count */
} function;

static double value_at(const function *f, double x)
{
    return itg_univariate(f->op, f->attrs, x);
}

/* Returns point i of the range, from its end to 0: even ones, and near 0 halving ones. */
static double point(double end, int i)
{
    if (i < EVEN_POINTS - 1) return end * (EVEN_POINTS - i) / EVEN_POINTS;
    i -= EVEN_POINTS - 1;
    return end / EVEN_POINTS / (double)((int64_t)1 << (i / 2)) * (i % 2 == 0 ? 1 : 0.75);
}

static bool is_flat(const function *f, double x)
{
    return fabs(value_at(f, x) - f->end) <= f->allowed;
}

/* Returns where f, from the end inwards, first changes, if this saves enough. 0: nowhere. */
static double flat_from(const function *f, double end)
{
    double flat = end, other = 0;
    int i = 0;
    while (i < POINTS && is_flat(f, point(end, i)))
        flat = point(end, i++);
    if (i == POINTS && is_flat(f, 0)) return 0;
    if (i < POINTS) other = point(end, i);
    for (i = 0; i < BISECTIONS; i++) {
        const double middle = (flat + other) / 2;
        *(is_flat(f, middle) ? &flat : &other) = middle;
    }
    if (fabs(flat) < LEAST_PART * fabs(end)) return STEP_PART * end;
    return fabs(flat) < 31.0 / 32 * fabs(end) ? flat : end; /* every function saves a little */
}

/* Returns the part of the range where f differs from its values at the range's ends. */
static itg_range varying_range(const itg_node *n, itg_range range)
{
    function f = {.op = n->op, .attrs = &n->attrs};
    double least = value_at(&f, 0), most = least;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < POINTS; i++) {
            const double y = value_at(&f, point(side == 0 ? range.lo : range.hi, i));
            least = fmin(least, y);
            most = fmax(most, y);
            if (!isfinite(y)) return everything;
        }
    if (!(most > least) || !isfinite(most - least)) return everything;
    f.allowed = (most - least) * NOTHING;
    f.end = value_at(&f, range.lo);
    if (range.lo < 0) range.lo = flat_from(&f, range.lo);
    f.end = value_at(&f, range.hi);
    if (range.hi > 0) range.hi = flat_from(&f, range.hi);
    return range.hi > range.lo ? range : everything;
}

/* ---- from the graph's outputs back ---- */

static itg_range hull(itg_range a, itg_range b)
{
    return (itg_range){fmin(a.lo, b.lo), fmax(a.hi, b.hi)};
}

/* Returns the range that an addition needs of one operand: beyond it the sum leaves its own needed
 * range, whatever the other operand is. A side stays whole if more than an eighth of it is needed:
 * residual networks, where a Relu reads the sum, gain nothing. */
static itg_range needed_of_term(const itg_node *n, int32_t term, const itg_stats *stats,
                                const itg_range *useful)
{
    const itg_range sum = useful[n->outputs[0]];
    const itg_value_stats *x = &stats->values[n->inputs[term]];
    const itg_value_stats *other = &stats->values[n->inputs[1 - term]];
    if (!x->present || !x->count || !other->present || !other->count) return everything;
    const itg_range range = {sum.lo - other->max, sum.hi - other->min};
    return (itg_range){range.lo > x->min / 8 ? range.lo : -INFINITY,
                       range.hi < x->max / 8 ? range.hi : INFINITY};
}

/* Returns the range that a node needs of its operands. */
static itg_range needed_range(const itg_graph *g, const itg_node *n, bool quantized,
                              const itg_stats *stats, const itg_range *useful)
{
    itg_range range = {0, 0};
    if (!quantized) return everything;
    if (itg_op_is(n->op, ITG_IS_MOVE) || n->op == ITG_OP_MAX_POOL ||
        n->op == ITG_OP_GLOBAL_MAX_POOL) {
        for (int32_t i = 0; i < n->output_count; i++)
            if (n->outputs[i] != ITG_NONE) range = hull(range, useful[n->outputs[i]]);
        return range;
    }
    if (!itg_op_is(n->op, ITG_IS_UNIVARIATE) || n->inputs[0] == ITG_NONE) return everything;
    const itg_value_stats *x = &stats->values[n->inputs[0]];
    if (g->values[n->inputs[0]].data || !x->present || !x->count) return everything;
    return varying_range(n, (itg_range){fmin(x->min, 0), fmax(x->max, 0)});
}

void itg_useful_ranges(const itg_graph *g, const bool *quantized, const itg_stats *stats,
                       itg_range *useful)
{
    for (itg_id v = 0; v < g->value_count; v++)
        useful[v] = stats && g->values[v].producer != ITG_NONE ? (itg_range){0, 0} : everything;
    if (!stats) return;
    for (int32_t i = 0; i < g->output_count; i++)
        useful[g->outputs[i]] = everything;
    for (itg_id n = g->node_count - 1; n >= 0; n--) {
        const itg_node *node = &g->nodes[n];
        const bool adds = quantized[n] && node->op == ITG_OP_ADD;
        const itg_range range = needed_range(g, node, quantized[n], stats, useful);
        for (int32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] != ITG_NONE)
                useful[node->inputs[i]] = hull(
                    useful[node->inputs[i]], adds ? needed_of_term(node, i, stats, useful) : range);
    }
}

/* ---- bins by what becomes of them ---- */

const itg_node *itg_gate_of(const itg_graph *g, const bool *quantized, itg_id v)
{
    if (g->values[v].reads != 1 || itg_graph_is_output(g, v)) return NULL;
    const itg_node *n = &g->nodes[g->values[v].readers];
    const bool is_gate = n->op == ITG_OP_HARD_SWISH || n->op == ITG_OP_SWISH ||
                         n->op == ITG_OP_GELU || n->op == ITG_OP_MISH;
    return is_gate && quantized[g->values[v].readers] ? n : NULL;
}

/* Weighs a side's bins by the square of the function's slope in them. */
static void weigh(const itg_node *gate, double width, int64_t *bins)
{
    double from = itg_univariate(gate->op, &gate->attrs, 0);
    for (int32_t i = 0; i < ITG_HISTOGRAM_BINS; i++) {
        const double to = itg_univariate(gate->op, &gate->attrs, width * (i + 1)),
                     slope = (to - from) / width;
        from = to;
        if (isfinite(slope)) bins[i] = (int64_t)((double)bins[i] * slope * slope * WEIGHT + 0.5);
    }
}

void itg_weigh_bins(const itg_node *gate, const itg_value_stats *stats, itg_value_stats *out)
{
    const double width = itg_ldexp(1, stats->exponent);
    *out = *stats;
    weigh(gate, width, out->positive);
    weigh(gate, -width, out->negative);
}
