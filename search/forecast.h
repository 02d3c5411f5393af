/* The correlation of a searcher's predictions with the outcomes. */
#ifndef ITG_FORECASTS_H
#define ITG_FORECASTS_H
#include <intaglio/intaglio.h>
#include <math.h>

typedef struct itg_forecasts {
    int64_t count;
    double predicted, measured;    /* means */
    double squares, others, mixed; /* sums of squares about them, and of products */
} itg_forecasts;                   /* zero-initialize */

/* Numbers that are not finite are left out. */
static inline void itg_forecasts_add(itg_forecasts *f, double predicted, double measured)
{
    if (!isfinite(predicted) || !isfinite(measured)) return;
    double share = (double)++f->count;
    double p = predicted - f->predicted, m = measured - f->measured;
    f->predicted += p / share;
    f->measured += m / share;
    f->squares += p * (predicted - f->predicted);
    f->others += m * (measured - f->measured);
    f->mixed += p * (measured - f->measured);
}

static inline itg_forecast itg_forecasts_summary(const itg_forecasts *f)
{
    double both = sqrt(f->squares) * sqrt(f->others);
    return (itg_forecast){.count = f->count,
                          .correlation = f->count > 2 && both > 0 ? f->mixed / both : (double)NAN};
}
#endif
