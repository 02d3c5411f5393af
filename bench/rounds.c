#include "bench/bench.h"
#include <stdlib.h>

static const double least_seconds = 0.02;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bench_timing timing_of(double *seconds, int n)
{
    qsort(seconds, (size_t)n, sizeof *seconds, compare_doubles);
    double median = n % 2 ? seconds[n / 2] : (seconds[n / 2 - 1] + seconds[n / 2]) / 2;
    return (bench_timing){seconds[0], median};
}

/* Runs that last long enough for the clock; warms up, too. */
static itg_status choose_runs(const bench_contender *c, int64_t *runs, itg_error *err)
{
    double seconds = 0;
    itg_status status = c->run(c->context, 1, &seconds, err);
    if (status == ITG_OK && seconds < least_seconds) status = c->run(c->context, 1, &seconds, err);
    if (status == ITG_OK)
        *runs = seconds >= least_seconds ? 1 : (int64_t)(least_seconds / (seconds + 1e-9)) + 1;
    return status;
}

itg_status bench_rounds(const bench_contender *contenders, int count, int rounds, double seconds,
                        bench_timing *out, itg_error *err)
{
    double times[BENCH_MAX_CONTENDERS][BENCH_MAX_REPEATS];
    int64_t runs[BENCH_MAX_CONTENDERS] = {0};
    itg_status status = ITG_OK;
    int done = 0;
    for (int i = 0; i < count && status == ITG_OK; i++)
        if (contenders[i].run) status = choose_runs(&contenders[i], &runs[i], err);
    for (double begun = bench_now(); status == ITG_OK && done < rounds; done++) {
        if (done >= 3 && bench_now() - begun > seconds) break;
        for (int i = 0; i < count && status == ITG_OK; i++)
            if (contenders[i].run)
                status = contenders[i].run(contenders[i].context, runs[i], &times[i][done], err);
    }
    for (int i = 0; i < count && status == ITG_OK; i++)
        out[i] = contenders[i].run ? timing_of(times[i], done) : (bench_timing){0, 0};
    return status;
}
