/* Thresholds of constants: from the elements themselves if the method allows it, else from
 * statistics of one sample. */
#include "sim/histogram.h"
#include "sim/threshold.h"
#include "kernels/clones.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Adding and subtracting it rounds a double below 2^51 to the nearest integer, ties to even. */
#define TO_INTEGER 0x1.8p52

/* The error of so many elements is smooth: coarse candidates find the same least, within half a
 * percent at 8 bits (docs/decisions.md). */
#define MANY 512

typedef struct elements {
    const float *data;
    int64_t count;
} elements;

/* Sums side by side: the order is fixed, and the additions do not wait for each other. */
enum { SIDES = 8, CHUNK = 32 * SIDES };

ITG_CLONES
static void add_errors(const float *x, int64_t count, double step, double per_step, double lowest,
                       double highest, double sums[SIDES])
{
    double sum[SIDES];
    for (int k = 0; k < SIDES; k++)
        sum[k] = sums[k];
    for (int64_t i = 0; i + SIDES <= count; i += SIDES)
        for (int k = 0; k < SIDES; k++) {
            const double wide = (double)x[i + k];
            double scaled = wide * per_step;
            scaled = scaled < lowest ? lowest : scaled;
            scaled = scaled > highest ? highest : scaled;
            const double code = (scaled + TO_INTEGER) - TO_INTEGER;
            const double error = wide - code * step;
            sum[k] += error * error;
        }
    for (int k = 0; k < SIDES; k++)
        sums[k] = sum[k];
}

static double total(const double sums[SIDES])
{
    double half[SIDES / 2];
    for (int k = 0; k < SIDES / 2; k++)
        half[k] = sums[k] + sums[k + SIDES / 2];
    return (half[0] + half[1]) + (half[2] + half[3]);
}

/* Sums only grow, so the loop stops once they exceed `enough`. */
static double elements_error(void *context, const itg_grid *grid, double enough)
{
    const elements *e = context;
    const double step = grid->step, per_step = step > 0 ? 1.0 / step : 0.0;
    const double lowest = -(double)grid->below, highest = (double)grid->above;
    const int64_t whole = e->count / SIDES * SIDES;
    double sums[SIDES] = {0};
    for (int64_t i = 0; i < whole; i += CHUNK) {
        int64_t count = whole - i < CHUNK ? whole - i : CHUNK;
        add_errors(e->data + i, count, step, per_step, lowest, highest, sums);
        const double so_far = total(sums);
        if (so_far > enough) return so_far;
    }
    for (int64_t i = whole; i < e->count; i++) {
        float rest[SIDES] = {e->data[i]};
        double error[SIDES] = {0};
        add_errors(rest, SIDES, step, per_step, lowest, highest, error);
        sums[i - whole] += error[0];
    }
    return total(sums);
}

static itg_status by_statistics(itg_threshold_method method, const elements *e,
                                const itg_threshold_target *target, double *lo, double *hi,
                                itg_error *err)
{
    itg_sums sums;
    itg_sums_fold fold = {0};
    itg_value_stats *stats = malloc(sizeof *stats);
    if (!stats) return itg_fail(err, ITG_NO_MEMORY, "threshold: no memory for statistics");
    itg_histogram_init(stats);
    itg_histogram_measure(stats, e->data, e->count, ITG_F32_ALL, &sums);
    itg_sums_add(stats, &fold, &sums);
    itg_sums_finish(stats, &fold);
    itg_status status = itg_threshold_estimate(method, stats, target, lo, hi, err);
    free(stats);
    return status;
}

/* The scale of signs that has the least squared error (Rastegari et al., XNOR-Net, 2016). */
static itg_range mean_magnitude(const elements *e)
{
    double sum = 0;
    for (int64_t i = 0; i < e->count; i++)
        sum += fabs((double)e->data[i]);
    return (itg_range){-sum / (double)e->count, sum / (double)e->count};
}

static itg_status refuse(const elements *e, itg_error *err)
{
    itg_sums sums;
    itg_sums_of(e->data, e->count, ITG_F32_ALL, &sums);
    return itg_fail(err, ITG_BAD_FILE,
                    "threshold: a constant holds %lld elements that are NaN or infinite",
                    (long long)sums.nan_count);
}

static itg_status estimate(itg_threshold_method method, elements *e,
                           const itg_threshold_target *target, double *lo, double *hi,
                           itg_error *err)
{
    float min, max;
    if (!itg_f32_range(e->data, e->count, &min, &max)) return refuse(e, err);
    if (target->bits > 1 && method != ITG_THRESHOLD_MSE && method != ITG_THRESHOLD_MAX)
        return by_statistics(method, e, target, lo, hi, err);
    itg_range range = {min < 0 ? (double)min : 0.0, max > 0 ? (double)max : 0.0};
    if (target->bits == 1) range = mean_magnitude(e);
    if (target->bits > 1 && method == ITG_THRESHOLD_MSE && range.lo < range.hi)
        range = itg_threshold_search(target, range, e->count < MANY ? 2 : 8, elements_error, e);
    *lo = range.lo;
    *hi = range.hi;
    return ITG_OK;
}

itg_status itg_threshold_constant(itg_threshold_method method, const float *data, int64_t count,
                                  int64_t stride_outer, int64_t inner,
                                  const itg_threshold_target *target, double *lo, double *hi,
                                  itg_error *err)
{
    elements e = {data, count};
    float *gathered = NULL;
    if (target->bits < 1 || target->bits > 32)
        return itg_fail(err, ITG_BAD_ARGUMENT, "threshold: %d bits; expected 1..32",
                        (int)target->bits);
    if (count < 1 || inner < 1 || count % inner != 0)
        return itg_fail(err, ITG_BAD_ARGUMENT, "threshold: %lld elements in runs of %lld",
                        (long long)count, (long long)inner);
    if (inner < count && stride_outer != inner) {
        gathered = malloc((size_t)count * sizeof *gathered);
        if (!gathered)
            return itg_fail(err, ITG_NO_MEMORY, "threshold: no memory for %lld elements",
                            (long long)count);
        for (int64_t at = 0; at < count; at += inner)
            memcpy(gathered + at, data + at / inner * stride_outer,
                   (size_t)inner * sizeof *gathered);
        e.data = gathered;
    }
    itg_status status = estimate(method, &e, target, lo, hi, err);
    free(gathered);
    return status;
}
