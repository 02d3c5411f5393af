/* Thresholds: names, checks, the dispatch by method, and conversion between ranges and grids. */
#include "sim/threshold.h"
#include "kernels/math.h"
#include "kernels/requant.h"
#include <math.h>
#include <string.h>

static const char *const names[ITG_THRESHOLD_METHOD_COUNT] = {
    [ITG_THRESHOLD_MAX] = "max",
    [ITG_THRESHOLD_AVG] = "avg",
    [ITG_THRESHOLD_PERCENTILE] = "percentile",
    [ITG_THRESHOLD_POWER2] = "power2",
    [ITG_THRESHOLD_MSE] = "mse",
    [ITG_THRESHOLD_KL] = "kl",
    [ITG_THRESHOLD_PERCENTILE_99_9] = "percentile99.9",
    [ITG_THRESHOLD_PERCENTILE_99_999] = "percentile99.999"};

const char *itg_threshold_name(itg_threshold_method method)
{
    return (unsigned)method < ITG_THRESHOLD_METHOD_COUNT ? names[method] : "?";
}

bool itg_threshold_from_name(const char *name, itg_threshold_method *out)
{
    for (int i = 0; i < ITG_THRESHOLD_METHOD_COUNT; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *out = (itg_threshold_method)i;
        return true;
    }
    return false;
}

double itg_power_of_two_above(double x)
{
    int exponent = 0;
    double mantissa = itg_frexp(x, &exponent); /* [0.5, 1) */
    return itg_ldexp(1.0, mantissa == 0.5 ? exponent - 1 : exponent);
}

/* Returns the step as annotate does: the division may round, so the product is compared, lest the
 * step be too small. */
static double step_of(double range, double steps, bool power_of_two)
{
    if (!power_of_two) return range / steps;
    double step = itg_power_of_two_above(range / steps);
    return step * steps >= range ? step : 2 * step;
}

itg_grid itg_grid_of(const itg_threshold_target *target, itg_range range)
{
    const double half = itg_ldexp(1.0, target->bits - 1);
    const int64_t codes = (int64_t)(2 * half) - 1;
    itg_grid grid = {0};
    if (!(range.hi - range.lo > 0)) return grid;
    if (target->symmetric && target->is_signed) {
        const double t = -range.lo > range.hi ? -range.lo : range.hi;
        grid.below = grid.above = (int64_t)half - 1;
        grid.step = step_of(t, target->power_of_two ? half : half - 1, target->power_of_two);
    } else if (target->symmetric) {
        if (!(range.hi > 0)) return grid;
        grid.above = codes;
        grid.step = step_of(range.hi, (double)codes, target->power_of_two);
    } else {
        grid.step = step_of(range.hi - range.lo, (double)codes, target->power_of_two);
        const double zero = grid.step > 0 ? itg_round_half_even(-range.lo / grid.step) : 0;
        grid.below = zero < (double)codes ? (int64_t)zero : codes;
        grid.above = codes - grid.below;
    }
    return grid;
}

itg_range itg_grid_range(const itg_threshold_target *target, const itg_grid *grid)
{
    const double extra = target->symmetric && target->is_signed && target->power_of_two ? 1 : 0;
    const double below = grid->below ? (double)grid->below + extra : 0.0;
    return (itg_range){below > 0 ? -grid->step * below : 0.0,
                       grid->step * ((double)grid->above + extra)};
}

itg_range itg_range_both(itg_range full, double t)
{
    return (itg_range){full.lo < 0 ? -t : 0.0, full.hi > 0 ? t : 0.0};
}

static itg_status check_target(const itg_threshold_target *target, itg_error *err)
{
    if (target->bits < 2 || target->bits > 32)
        return itg_fail(err, ITG_BAD_ARGUMENT, "threshold: %d bits; expected 2..32",
                        (int)target->bits);
    return ITG_OK;
}

itg_status itg_threshold_estimate(itg_threshold_method method, const itg_value_stats *stats,
                                  const itg_threshold_target *target, double *lo, double *hi,
                                  itg_error *err)
{
    itg_status status = check_target(target, err);
    if (status != ITG_OK) return status;
    if (!stats->present)
        return itg_fail(err, ITG_BAD_ARGUMENT, "threshold: no statistics of this value");
    if (!stats->count)
        return itg_fail(err, ITG_FAILURE,
                        "threshold: no finite element in any sample (%lld NaN or infinite)",
                        (long long)stats->nan_count);
    const itg_range full = {stats->min < 0 ? (double)stats->min : 0.0,
                            stats->max > 0 ? (double)stats->max : 0.0};
    itg_range range = full;
    if (full.lo < full.hi) {
        switch (method) {
        case ITG_THRESHOLD_MAX:
            break;
        case ITG_THRESHOLD_AVG:
            range = itg_threshold_average(stats);
            break;
        case ITG_THRESHOLD_PERCENTILE:
            range = itg_threshold_percentile(stats, 1e-4);
            break;
        case ITG_THRESHOLD_PERCENTILE_99_9:
            range = itg_threshold_percentile(stats, 1e-3);
            break;
        case ITG_THRESHOLD_PERCENTILE_99_999:
            range = itg_threshold_percentile(stats, 1e-5);
            break;
        case ITG_THRESHOLD_POWER2:
            range = itg_threshold_power2(target, full);
            break;
        case ITG_THRESHOLD_MSE:
            status = itg_threshold_mse(stats, target, full, &range, err);
            break;
        case ITG_THRESHOLD_KL:
            status = itg_threshold_kl(stats, target, full, &range, err);
            break;
        default:
            status = itg_fail(err, ITG_BAD_ARGUMENT, "threshold: unknown method %d", (int)method);
        }
    }
    if (status != ITG_OK) return status;
    *lo = range.lo;
    *hi = range.hi;
    return ITG_OK;
}
