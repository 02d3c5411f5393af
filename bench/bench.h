/* bench: one tool that verifies a result, then times it, against peers measured in the same run. */
#ifndef ITG_BENCH_H
#define ITG_BENCH_H
#include <intaglio/intaglio.h>

/* ---- contests (contest.c) ---- */
/* One of several ways to the same result; a failure of run ends the benchmark. */
typedef struct bench_contender {
    const char *name;
    itg_status (*run)(void *context, itg_error *err);
    void *context;
} bench_contender;

typedef struct bench_contest {
    const bench_contender *contenders;
    int count;   /* at most BENCH_MAX_CONTENDERS; the first is what the others are compared with */
    int repeats; /* at most BENCH_MAX_REPEATS */
    double work; /* of one run, in `unit`s: multiply-accumulates, samples */
    const char *unit; /* "GMAC": work counts 1e9 of them */
} bench_contest;

enum { BENCH_MAX_CONTENDERS = 8, BENCH_MAX_REPEATS = 101 };

/* In each repeat every contender runs once in turn, so that a change of the machine's speed meets
 * all of them. Runs shorter than 20 ms are repeated within one measurement. Prints a line for each
 * contender. */
itg_status bench_run(const bench_contest *contest, itg_error *err);
/* Tool, commit, processor, threads, repeats. */
void bench_print_header(int threads, int repeats);

/* ---- what is measured ---- */
typedef struct bench_geometry {
    const char *name;
    int64_t channels, size, filters, kernel, stride,
        group; /* square image and kernel; padded by kernel / 2 */
} bench_geometry;
/* Integer against float convolution, both against naive loops, on one thread. */
itg_status bench_conv(const bench_geometry *g, int repeats, itg_error *err);

typedef struct bench_network {
    const char *model, *data;
    const char *strategy; /* a strategy file; NULL: uniform 8 bits on `hardware` */
    const char *hardware, *calibration;
    float scale; /* with hardware only */
    int64_t limit;
    int threads, repeats;
} bench_network;
/* Integer executor against simulation against float execution, preprocessing and digest included.
 */
itg_status bench_network_run(const bench_network *n, itg_error *err);
#endif
