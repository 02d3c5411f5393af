/* The threshold methods that need no search. */
#include "sim/threshold.h"
#include "kernels/math.h"

itg_range itg_threshold_average(const itg_value_stats *stats)
{
    return (itg_range){stats->average_min < 0 ? stats->average_min : 0.0,
                       stats->average_max > 0 ? stats->average_max : 0.0};
}

itg_range itg_threshold_power2(const itg_threshold_target *target, itg_range full)
{
    itg_range range = {full.lo < 0 ? -itg_power_of_two_above(-full.lo) : 0.0,
                       full.hi > 0 ? itg_power_of_two_above(full.hi) : 0.0};
    if (!target->symmetric || !target->is_signed) return range;
    return itg_range_both(full, -range.lo > range.hi ? -range.lo : range.hi);
}

/* Returns the bound with `mass` elements outside; the elements of a bin count as evenly spread. 0:
 * the side holds fewer elements. */
static double quantile(const int64_t *bins, double width, double mass)
{
    for (int32_t i = ITG_HISTOGRAM_BINS - 1; i >= 0; i--) {
        const double here = (double)bins[i];
        if (here > mass) return ((double)(i + 1) - mass / here) * width;
        mass -= here;
    }
    return 0.0;
}

itg_range itg_threshold_percentile(const itg_value_stats *stats, double outside)
{
    const double mass = outside * (double)stats->counted, width = itg_ldexp(1.0, stats->exponent);
    const double hi = quantile(stats->positive, width, mass),
                 lo = -quantile(stats->negative, width, mass);
    const double max = stats->max > 0 ? (double)stats->max : 0.0,
                 min = stats->min < 0 ? (double)stats->min : 0.0;
    itg_range range = {lo > min ? lo : min, hi < max ? hi : max};
    /* nearly all elements are zero: take the whole range */
    return range.hi > range.lo ? range : (itg_range){min, max};
}
