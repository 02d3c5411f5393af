/* Time and memory of calibration against the number of samples, each in a process of its own. */
#include "bench/bench.h"
#include <stdlib.h>
#include <string.h>

static const double most_seconds = 10; /* of one calibration, as expected from the one before */

/* ---- the child ---- */

static const bench_network *find_network(const char *name)
{
    const bench_network *n;
    for (int i = 0; (n = bench_network_at(i)) != NULL; i++)
        if (strcmp(n->name, name) == 0) return n;
    return NULL;
}

static itg_status calibrate(bench_subject *s, int64_t samples, itg_float_kernels kernels,
                            double *seconds, itg_error *err)
{
    const itg_calibrate_options options = {ITG_CALIBRATE_OPTIONS_VERSION, .kernels = kernels,
                                           .threads = 1};
    itg_data_stream *stream = NULL;
    itg_status status = bench_subject_model(s, err);
    if (status == ITG_OK)
        status = itg_data_stream_open(s->network->calibration, samples, &stream, err);
    double begun = bench_clock(1);
    if (status == ITG_OK)
        status = itg_calibrate_stream(s->model, stream, &s->preprocess, &options, &s->stats, err);
    *seconds = bench_clock(1) - begun;
    itg_data_stream_close(stream);
    bench_subject_close(s);
    return status;
}

int bench_calibrate_alone(const bench_options *options, const char *network, int64_t samples,
                          const char *kernels)
{
    bench_subject s = {.network = find_network(network), .options = options};
    itg_float_kernels by = ITG_FLOAT_REFERENCE;
    itg_error err = {0};
    double seconds = 0;
    if (!s.network || !itg_float_kernels_from_name(kernels, &by)) return 2;
    s.fp32.number = -1;
    if (calibrate(&s, samples, by, &seconds, &err) != ITG_OK) {
        fprintf(stderr, "itg_bench: %s\n", err.message);
        return 1;
    }
    printf("%.9g %lld\n", seconds, (long long)bench_peak_memory());
    return 0;
}

/* ---- the parent ---- */

typedef struct run_of {
    itg_float_kernels kernels;
    int64_t samples;
    double seconds, bytes, peer; /* peer: seconds of its pass over as many samples */
} run_of;

static itg_status measure_once(const bench_subject *s, const run_of *r, double *seconds,
                               double *bytes, itg_error *err)
{
    char count[32], answer[128] = "";
    long long peak = 0;
    bench_child *child = NULL;
    snprintf(count, sizeof count, "%lld", (long long)r->samples);
    const char *const words[] = {s->options->program,
                                 "--folder",
                                 s->options->folder,
                                 "--calibrate",
                                 s->network->name,
                                 count,
                                 itg_float_kernels_name(r->kernels),
                                 NULL};
    itg_status status = bench_child_start(words, &child, err);
    if (status == ITG_OK) status = bench_child_ask(child, NULL, answer, sizeof answer, err);
    bench_child_end(child);
    if (status != ITG_OK) return status;
    if (sscanf(answer, "%lf %lld", seconds, &peak) != 2)
        return itg_fail(err, ITG_FAILURE, "the calibration said '%.60s'", answer);
    *bytes = (double)peak;
    return ITG_OK;
}

static itg_status measure(bench_subject *s, run_of *r, itg_error *err)
{
    bench_contender pass = bench_session_contender(&s->fp32);
    itg_status status = ITG_OK;
    for (int i = 0; i < (s->options->quick ? 1 : 2) && status == ITG_OK; i++) {
        double seconds = 0, bytes = 0, peer = 0;
        status = measure_once(s, r, &seconds, &bytes, err);
        if (status == ITG_OK && pass.run) status = pass.run(pass.context, 3, &peer, err);
        peer *= (double)r->samples / (double)bench_subject_samples(s);
        if (i == 0 || seconds < r->seconds) r->seconds = seconds;
        if (i == 0 || peer < r->peer) r->peer = peer;
        if (bytes > r->bytes) r->bytes = bytes;
    }
    return status;
}

static void add_rows(const bench_subject *s, const run_of *r, const run_of *first)
{
    char what[160], name[64];
    snprintf(what, sizeof what, "(e) %s: calibration on %lld samples, 1 thread, float kernels %s",
             s->network->name, (long long)r->samples, itg_float_kernels_name(r->kernels));
    bench_add(s->table, &(bench_row){.what = what,
                                     .peer_name = s->fp32.name,
                                     .verified = "float outputs as (a)",
                                     .unit = BENCH_SECONDS,
                                     .ours = r->seconds,
                                     .peer = r->peer});
    snprintf(what, sizeof what,
             "(e) %s: peak memory of calibration on %lld samples, float kernels %s",
             s->network->name, (long long)r->samples, itg_float_kernels_name(r->kernels));
    snprintf(name, sizeof name, "the same on %lld samples", (long long)first->samples);
    if (r->bytes > 0)
        bench_add(s->table, &(bench_row){.what = what,
                                         .peer_name = name,
                                         .verified = "the system's count of a process of its own",
                                         .unit = BENCH_BYTES,
                                         .ours = r->bytes,
                                         .peer = first->bytes});
}

static itg_status measure_kernels(bench_subject *s, itg_float_kernels kernels, int64_t present,
                                  itg_error *err)
{
    run_of runs[] = {{kernels, 10, 0, 0, 0}, {kernels, 100, 0, 0, 0}, {kernels, 1000, 0, 0, 0}};
    itg_status status = ITG_OK;
    for (int i = 0; i < 3 && status == ITG_OK; i++) {
        if (runs[i].samples > present) break;
        if (i > 0 && 10 * runs[i - 1].seconds > most_seconds) {
            bench_remark(s->table,
                         "(e) %s: calibration on %lld samples by float kernels %s is left out: "
                         "too long",
                         s->network->name, (long long)runs[i].samples,
                         itg_float_kernels_name(kernels));
            break;
        }
        status = measure(s, &runs[i], err);
        if (status == ITG_OK) add_rows(s, &runs[i], &runs[0]);
    }
    return status;
}

itg_status bench_calibration(bench_subject *s, itg_error *err)
{
    const int64_t most = s->options->quick ? 10 : 1000;
    itg_data_stream *all = NULL;
    if (!s->network->calibrates) return ITG_OK;
    itg_status status = itg_data_stream_open(s->network->calibration, most, &all, err);
    int64_t present = status == ITG_OK ? itg_data_stream_samples(all) : 0;
    itg_data_stream_close(all);
    for (int k = 0; k < ITG_FLOAT_KERNELS_COUNT && status == ITG_OK; k++)
        if (itg_float_kernels_built((itg_float_kernels)k))
            status = measure_kernels(s, (itg_float_kernels)k, present, err);
    return status;
}
