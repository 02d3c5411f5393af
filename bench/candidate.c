/* One full candidate: a point to a score through the deployed program, nothing reused of another
 * candidate's activations, no sample left out. */
#include "bench/bench.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_DRAWN = 2 };

/* ---- verifying: the program and the simulation give the same bits ---- */

static itg_status digest_of(const bench_subject *s, const itg_backend *backend,
                            const itg_dataset *some, unsigned char digest[32], itg_error *err)
{
    itg_evaluate_options options = {
        .data = some, .preprocess = &s->preprocess, .threads = s->options->threads};
    itg_evaluation evaluation = {0};
    itg_status status = itg_evaluate(backend, &options, &evaluation, err);
    if (status == ITG_OK) memcpy(digest, evaluation.digest, 32);
    itg_evaluation_deinit(&evaluation);
    return status;
}

static itg_status compare_backends(const bench_subject *s, const itg_annotated *annotated,
                                   const itg_program *program, const itg_dataset *some,
                                   itg_error *err)
{
    itg_batch_options options = {.kernels = s->evaluator.kernels, .weights = s->evaluator.weights};
    unsigned char digest[2][32];
    itg_batch_plan *plan = NULL;
    itg_status status = itg_batch_plan_create(program, &options, &plan, err);
    if (status != ITG_OK) return status;
    itg_fast_program fast = {program, plan, NULL, 0};
    itg_backend backends[] = {itg_backend_program(&fast), itg_backend_sim(annotated)};
    for (int i = 0; i < 2 && status == ITG_OK; i++)
        status = digest_of(s, &backends[i], some, digest[i], err);
    itg_batch_plan_destroy(plan);
    if (status == ITG_OK && memcmp(digest[0], digest[1], 32) != 0)
        status = itg_fail(err, ITG_MISMATCH, "%s: the executor differs from the simulation",
                          s->network->name);
    return status;
}

static int64_t exact_samples(const bench_subject *s)
{
    int64_t wanted = s->options->quick ? 1 : s->network->exact, most = bench_subject_samples(s);
    return wanted < most ? wanted : most;
}

static itg_status verify_point(const bench_subject *s, uint64_t number, int32_t *point,
                               itg_error *err)
{
    int64_t count = exact_samples(s), *samples = calloc((size_t)count, sizeof *samples);
    itg_annotated *annotated = NULL;
    itg_program *program = NULL;
    itg_dataset *some = NULL;
    if (!samples) return itg_fail(err, ITG_NO_MEMORY, "no memory for samples");
    for (int64_t i = 0; i < count; i++)
        samples[i] = i;
    bench_subject_point(s, number, point);
    itg_status status = itg_dataset_select(s->set.data, samples, count, &some, err);
    if (status == ITG_OK) status = bench_subject_realize(s, point, &annotated, &program, err);
    if (status == ITG_OK) status = compare_backends(s, annotated, program, some, err);
    itg_program_destroy(program);
    itg_annotated_destroy(annotated);
    itg_data_close(some);
    free(samples);
    return status;
}

/* ---- timing ---- */

/* Candidates one after another, or as many at a time as there are threads; each is another point,
 * as in a search. */
typedef struct stream {
    const bench_subject *s;
    const itg_accel_kernels *kernels;
    int threads;
    uint64_t next;
    int32_t *points; /* [threads][dims] */
} stream;

static itg_status score_one(void *context, int worker, int64_t item, itg_error *err)
{
    stream *t = context;
    int32_t *point =
        t->points + (size_t)worker * (size_t)(t->s->evaluator.points->space.dim_count + 1);
    itg_score score;
    bench_subject_point(t->s, t->next + (uint64_t)item, point);
    return bench_subject_score(t->s, t->kernels, point, 1, &score, err);
}

static itg_status run_stream(void *context, int64_t runs, double *seconds, itg_error *err)
{
    stream *t = context;
    int64_t count = runs * t->threads; /* whole rounds of the workers */
    double begun = bench_clock(t->threads);
    itg_status status = itg_parallel_for(t->threads, count, score_one, t, err);
    *seconds = (bench_clock(t->threads) - begun) / (double)count;
    t->next += (uint64_t)count;
    return status;
}

static bool allocate_points(stream *t)
{
    size_t dims = (size_t)t->s->evaluator.points->space.dim_count + 1;
    t->points = calloc((size_t)t->threads * dims, sizeof *t->points);
    return t->points != NULL;
}

/* Every set gives what the first gives: on all samples, in every bit of the outputs. */
static itg_status compare_sets(const bench_subject *s, const itg_accel_kernels *kernels,
                               int32_t *point, itg_error *err)
{
    itg_score ours = {0}, other = {0};
    if (kernels == s->evaluator.kernels) return ITG_OK;
    bench_subject_point(s, FIRST_DRAWN, point);
    itg_status status = bench_subject_score(s, NULL, point, s->options->threads, &ours, err);
    if (status == ITG_OK)
        status = bench_subject_score(s, kernels, point, s->options->threads, &other, err);
    if (status == ITG_OK && memcmp(ours.digest, other.digest, sizeof ours.digest) != 0)
        status = itg_fail(err, ITG_MISMATCH, "%s: set '%s' gives other outputs", s->network->name,
                          itg_accel_name(kernels));
    return status;
}

static void describe_float(const bench_subject *s, char *out, size_t size)
{
    if (s->float_error < 0)
        snprintf(out, size, "no peer");
    else
        snprintf(out, size, "fp32 outputs within %.0e of the peer's", s->float_error);
}

static itg_status measure_set(bench_subject *s, const itg_accel_kernels *kernels, double goal,
                              itg_error *err)
{
    stream t = {.s = s, .kernels = kernels, .threads = 1, .next = FIRST_DRAWN};
    bench_timing times[2];
    if (!allocate_points(&t)) return itg_fail(err, ITG_NO_MEMORY, "no memory for points");
    bench_contender contenders[] = {{run_stream, &t}, bench_session_contender(&s->fp32)};
    itg_status status = compare_sets(s, kernels, t.points, err);
    if (status == ITG_OK)
        status = bench_rounds(contenders, 2, s->options->rounds, s->options->seconds, times, err);
    free(t.points);
    if (status != ITG_OK) return status;
    char what[128], verified[224], floats[96], sets[96] = "";
    describe_float(s, floats, sizeof floats);
    snprintf(what, sizeof what, "(a) %s: full candidate, %lld samples, 1 thread, set %s",
             s->network->name, (long long)bench_subject_samples(s), itg_accel_name(kernels));
    if (kernels != s->evaluator.kernels)
        snprintf(sets, sizeof sets, "all samples: outputs = those of set %s; ",
                 itg_accel_name(s->evaluator.kernels));
    snprintf(verified, sizeof verified, "first %lld: program = simulation; %s%s",
             (long long)exact_samples(s), sets, floats);
    bench_add(s->table, &(bench_row){.what = what,
                                     .peer_name = s->fp32.name,
                                     .verified = verified,
                                     .unit = BENCH_SECONDS,
                                     .ours = times[0].least,
                                     .ours_median = times[0].median,
                                     .peer = times[1].least,
                                     .least_ratio = goal});
    return ITG_OK;
}

/* What the network asks of the best set it asks of those with 8-bit products of their own; of the
 * others at most half of the peer's time. */
static double goal_of(const bench_subject *s, const char *set)
{
    if (!(s->network->full_ratio > 0)) return 0;
    if (strcmp(set, "amx") == 0) return s->network->full_ratio;
    return strcmp(set, "avx512") == 0 || strcmp(set, "avx2") == 0 ? 2 : 0;
}

static itg_status measure_sets(bench_subject *s, itg_error *err)
{
    const char *first = itg_accel_name(s->evaluator.kernels);
    itg_status status = measure_set(s, s->evaluator.kernels, goal_of(s, first), err);
    for (int i = 0; itg_accel_set(i) && s->network->full_ratio > 0 && status == ITG_OK; i++) {
        const char *name = itg_accel_set(i);
        const itg_accel_kernels *kernels = NULL;
        bool plain = strcmp(name, "reference") == 0 || strcmp(name, "portable") == 0;
        if (plain || strcmp(name, first) == 0) continue;
        status = itg_accel_choose(name, &kernels, err);
        if (status == ITG_OK) {
            status = measure_set(s, kernels, goal_of(s, name), err);
        } else if (status == ITG_UNSUPPORTED) {
            bench_remark(s->table, "(a) %s: set %s is not on this machine", s->network->name, name);
            status = ITG_OK;
        }
    }
    return status;
}

static itg_status measure_rate(bench_subject *s, itg_error *err)
{
    stream t = {.s = s, .threads = s->options->threads, .next = FIRST_DRAWN};
    bench_session peer;
    bench_timing times[2] = {{0, 0}, {0, 0}};
    itg_shape shape = bench_subject_shape(s);
    if (!allocate_points(&t)) return itg_fail(err, ITG_NO_MEMORY, "no memory for points");
    itg_status status = bench_session_open(s->peer, "fp32", s->model_path, s->real_path, &shape,
                                           s->options->threads, &peer, err);
    bench_contender contenders[] = {{run_stream, &t}, bench_session_contender(&peer)};
    if (status == ITG_OK)
        status = bench_rounds(contenders, 2, s->options->rounds, s->options->seconds, times, err);
    bench_session_close(&peer);
    free(t.points);
    if (status != ITG_OK) return status;
    char what[128];
    snprintf(what, sizeof what, "(d) %s: full candidates, %lld samples, %d threads",
             s->network->name, (long long)bench_subject_samples(s), s->options->threads);
    bench_add(s->table, &(bench_row){.what = what,
                                     .peer_name = peer.name,
                                     .verified = "as (a)",
                                     .unit = BENCH_PER_SECOND,
                                     .ours = 1 / times[0].least,
                                     .ours_median = 1 / times[0].median,
                                     .peer = times[1].least > 0 ? 1 / times[1].least : 0,
                                     .least_ours = s->options->quick ? 0 : s->network->full_rate});
    return ITG_OK;
}

itg_status bench_candidate(bench_subject *s, itg_error *err)
{
    int32_t dims = s->evaluator.points->space.dim_count,
            *point = calloc((size_t)dims + 1, sizeof *point);
    itg_score score;
    if (!point) return itg_fail(err, ITG_NO_MEMORY, "no memory for a point");
    itg_status status = verify_point(s, 0, point, err);
    if (status == ITG_OK) status = verify_point(s, FIRST_DRAWN, point, err);
    /* Thresholds of both widths that points are drawn from: a search estimates each once. */
    bench_subject_point(s, 1, point);
    if (status == ITG_OK) status = bench_subject_score(s, NULL, point, 1, &score, err);
    free(point);
    if (status == ITG_OK) status = measure_sets(s, err);
    if (status == ITG_OK) status = measure_rate(s, err);
    return status;
}
