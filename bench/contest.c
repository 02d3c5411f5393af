#include "bench/bench.h"
#include "commit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double least_seconds = 0.02;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of one of `runs` runs in a row. */
static itg_status measure(const bench_contender *c, int64_t runs, double *seconds, itg_error *err)
{
    double start = now();
    for (int64_t i = 0; i < runs; i++) {
        itg_status status = c->run(c->context, err);
        if (status != ITG_OK) return status;
    }
    *seconds = (now() - start) / (double)runs;
    return ITG_OK;
}

/* Runs that last long enough for the clock; warms up, too. */
static itg_status choose_runs(const bench_contender *c, int64_t *runs, itg_error *err)
{
    double seconds = 0;
    itg_status status = measure(c, 1, &seconds, err);
    if (status == ITG_OK && seconds < least_seconds) status = measure(c, 1, &seconds, err);
    if (status != ITG_OK) return status;
    *runs = seconds >= least_seconds ? 1 : (int64_t)(least_seconds / (seconds + 1e-9)) + 1;
    return ITG_OK;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts. */
static double median_of(double *seconds, int n)
{
    qsort(seconds, (size_t)n, sizeof *seconds, compare_doubles);
    return n % 2 ? seconds[n / 2] : (seconds[n / 2 - 1] + seconds[n / 2]) / 2;
}

static void print_line(const bench_contest *contest, int index, const double *seconds,
                       double median, double first)
{
    printf("  %-18s %10.3f ms  min %10.3f  max %10.3f  %9.2f %s/s  time ratio %7.2f\n",
           contest->contenders[index].name, 1e3 * median, 1e3 * seconds[0],
           1e3 * seconds[contest->repeats - 1], contest->work / median, contest->unit,
           median / first);
}

itg_status bench_run(const bench_contest *contest, itg_error *err)
{
    double seconds[BENCH_MAX_CONTENDERS][BENCH_MAX_REPEATS];
    int64_t runs[BENCH_MAX_CONTENDERS];
    itg_status status = ITG_OK;
    for (int i = 0; i < contest->count && status == ITG_OK; i++)
        status = choose_runs(&contest->contenders[i], &runs[i], err);
    for (int repeat = 0; repeat < contest->repeats; repeat++)
        for (int i = 0; i < contest->count && status == ITG_OK; i++)
            status = measure(&contest->contenders[i], runs[i], &seconds[i][repeat], err);
    if (status != ITG_OK) return status;
    double first = median_of(seconds[0], contest->repeats);
    for (int i = 0; i < contest->count; i++)
        print_line(contest, i, seconds[i], median_of(seconds[i], contest->repeats), first);
    return ITG_OK;
}

/* "model name : X" of /proc/cpuinfo, where there is such a thing. */
static void processor_name(char *out, size_t size)
{
    char line[256];
    snprintf(out, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        snprintf(out, size, "%.*s", (int)strcspn(colon + 1 + strspn(colon + 1, " "), "\n"),
                 colon + 1 + strspn(colon + 1, " "));
        break;
    }
    fclose(file);
}

void bench_print_header(int threads, int repeats)
{
    char processor[256];
    processor_name(processor, sizeof processor);
    printf("intaglio %s, commit %s\n%s, %ld processors online; networks on %d thread%s\n"
           "%d repeats: median, min and max of one run; time ratio to the first line\n",
           itg_engine_version(), ITG_BENCH_COMMIT, processor, sysconf(_SC_NPROCESSORS_ONLN),
           threads, threads == 1 ? "" : "s", repeats);
}
