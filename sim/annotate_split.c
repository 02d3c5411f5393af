/* Splits sums that might not fit their accumulator (docs/arithmetic.md 3.3). All output channels
 * share one list of parts, as hardware requires that computes channels in parallel. Each channel
 * has its own shift, so that channels whose sum fits lose nothing. */
#include "sim/annotate.h"
#include <stdlib.h>

typedef struct interval {
    int64_t lo, hi;
} interval;

static bool fits(interval v, itg_accumulator acc)
{
    return v.lo >= itg_accumulator_min(acc) && v.hi <= itg_accumulator_max(acc);
}

static interval term(const annotate_sum *s, int64_t channel, int64_t k)
{
    int64_t at = s->last_axis ? k * s->channels + channel : channel * s->terms + k;
    int64_t code = s->codes ? itg_load(s->storage, s->codes, at) : 1;
    return code > 0 ? (interval){code * s->lo, code * s->hi}
                    : (interval){code * s->hi, code * s->lo};
}

/* Adds term k to every channel's part. False: some channel would leave acc; parts are unchanged. */
static bool extend(const annotate_sum *s, int64_t k, itg_accumulator acc, interval *parts)
{
    int64_t c = 0;
    for (; c < s->channels; c++) {
        interval t = term(s, c, k);
        interval sum = {itg_add_saturated(parts[c].lo, t.lo), itg_add_saturated(parts[c].hi, t.hi)};
        if (!fits(sum, acc)) break;
        parts[c] = sum;
    }
    if (c == s->channels) return true;
    for (int64_t undo = 0; undo < c; undo++) {
        interval t = term(s, undo, k);
        parts[undo].lo -= t.lo;
        parts[undo].hi -= t.hi;
    }
    return false;
}

/* Finds the ends of parts, each as long as possible. Returns their number; -1: a term fits none. */
static int64_t cut(const annotate_sum *s, itg_accumulator acc, interval *parts, int64_t *end)
{
    int64_t count = 0;
    for (int64_t c = 0; c < s->channels; c++)
        parts[c] = (interval){0, 0};
    for (int64_t k = 0; k < s->terms; k++) {
        if (extend(s, k, acc, parts)) continue;
        if (k == 0) return -1;
        end[count++] = k;
        for (int64_t c = 0; c < s->channels; c++)
            parts[c] = (interval){0, 0};
        if (!extend(s, k, acc, parts)) return -1;
    }
    end[count++] = s->terms;
    return count;
}

/* Computes the interval of each part in one channel. */
static void parts_of(const annotate_sum *s, int64_t channel, const itg_sum_split *split,
                     interval *parts)
{
    int64_t k = 0;
    for (int32_t p = 0; p < split->part_count; p++) {
        parts[p] = (interval){0, 0};
        for (; k < split->end[p]; k++) {
            interval t = term(s, channel, k);
            parts[p].lo += t.lo;
            parts[p].hi += t.hi;
        }
    }
}

static interval joined(const interval *parts, const itg_sum_split *split, int64_t bias,
                       int32_t shift)
{
    int64_t first = itg_round_shift_product(bias, 1, shift, split->rounding);
    interval sum = {first, first};
    for (int32_t p = 0; p < split->part_count; p++) {
        sum.lo = itg_add_saturated(sum.lo,
                                   itg_round_shift_product(parts[p].lo, 1, shift, split->rounding));
        sum.hi = itg_add_saturated(sum.hi,
                                   itg_round_shift_product(parts[p].hi, 1, shift, split->rounding));
    }
    return sum;
}

/* Returns the least shift with which the joined sum fits; -1: none. bound: its magnitude. */
static int32_t least_shift(const interval *parts, const itg_sum_split *split, int64_t bias,
                           int64_t *bound)
{
    itg_accumulator join = {split->join_bits, ITG_OVERFLOW_WRAP};
    for (int32_t shift = 0; shift <= 62; shift++) {
        interval sum = joined(parts, split, bias, shift);
        if (!fits(sum, join)) continue;
        *bound = sum.hi > -sum.lo ? sum.hi : -sum.lo;
        return shift;
    }
    return -1;
}

static itg_status take_apart(annotate *x, itg_id node, const annotate_sum *s, interval *scratch,
                             int64_t *ends, int64_t *bound)
{
    const itg_hw_spec *spec = x->spec[node];
    itg_sum_split *split = &x->a->nodes[node].split;
    int64_t count = cut(s, spec->acc, scratch, ends);
    if (count < 0)
        return annotate_fail(x, node, ITG_INFEASIBLE, "its accumulator does not hold one product");
    itg_arena *arena = x->a->arena;
    int64_t *shift = itg_arena_array(arena, (size_t)s->channels, sizeof *shift);
    int64_t *end = itg_arena_copy(arena, ends, (size_t)count * sizeof *end);
    if (!shift || !end) return itg_no_memory(x->err);
    *split = (itg_sum_split){(int32_t)count,       end,
                             (int32_t)s->channels, shift,
                             spec->split.rounding, spec->split.join_bits};
    for (int64_t c = 0; c < s->channels; c++) {
        parts_of(s, c, split, scratch);
        int32_t least = least_shift(scratch, split, s->bias ? s->bias[c] : 0, &bound[c]);
        if (least < 0)
            return annotate_fail(x, node, ITG_INFEASIBLE,
                                 "no shift lets the parts of its sum be added");
        shift[c] = least;
    }
    return ITG_OK;
}

itg_status annotate_split(annotate *x, itg_id node, const annotate_sum *s, int64_t *bound)
{
    size_t most = (size_t)(s->channels > s->terms + 1 ? s->channels : s->terms + 1);
    interval *scratch = calloc(most, sizeof *scratch);
    int64_t *ends = calloc((size_t)s->terms + 1, sizeof *ends);
    itg_status status =
        scratch && ends ? take_apart(x, node, s, scratch, ends, bound) : itg_no_memory(x->err);
    free(scratch);
    free(ends);
    return status;
}
