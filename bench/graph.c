/* The integer graph's throughput on one thread against ONNX Runtime's on QDQ models of the same
 * network, and as a share of what the processor's multiply-accumulate instruction can do. */
#include "bench/bench.h"
#include "realize/artefact.h"
#include "realize/realize.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double least_agreement = 0.9;

typedef struct graph_run {
    bench_subject *s;
    const itg_accel_kernels *kernels;
    itg_batch_plan *plan;
    itg_batch *batch;
    int64_t elements; /* of a sample */
    int64_t outputs;  /* of a sample's first output */
    float *codes;     /* its codes, all samples */
} graph_run;

static itg_status copy_sample(void *context, int32_t index, int64_t sample, void *x, itg_error *err)
{
    const graph_run *g = context;
    (void)index;
    (void)err;
    memcpy(x, g->s->real + sample * g->elements, (size_t)g->elements * sizeof *g->s->real);
    return ITG_OK;
}

static float element_of(const itg_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case ITG_U8:
        return (float)((const uint8_t *)t->data)[i];
    case ITG_S8:
        return (float)((const int8_t *)t->data)[i];
    case ITG_U16:
        return (float)((const uint16_t *)t->data)[i];
    case ITG_S16:
        return (float)((const int16_t *)t->data)[i];
    case ITG_S32:
        return (float)((const int32_t *)t->data)[i];
    default:
        return ((const float *)t->data)[i];
    }
}

static void take_block(graph_run *g, int64_t first, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        itg_tensor out = itg_batch_output(g->batch, 0, k);
        for (int64_t i = 0; i < g->outputs; i++)
            g->codes[(first + k) * g->outputs + i] = element_of(&out, i);
    }
}

/* All samples, `runs` times. */
static itg_status run_graph(void *context, int64_t runs, double *seconds, itg_error *err)
{
    graph_run *g = context;
    itg_batch_io io = {copy_sample, g, NULL, false, NULL};
    int64_t block = itg_batch_plan_block(g->plan), samples = bench_subject_samples(g->s);
    double begun = bench_clock(1);
    for (int64_t r = 0; r < runs; r++)
        for (int64_t first = 0; first < samples; first += block) {
            int64_t count = samples - first < block ? samples - first : block;
            itg_block where = {0, first, count};
            itg_status status = itg_batch_run(g->batch, &where, &io, err);
            if (status != ITG_OK) return status;
            take_block(g, first, count);
        }
    *seconds = (bench_clock(1) - begun) / (double)runs;
    return ITG_OK;
}

static void close_run(graph_run *g)
{
    itg_batch_destroy(g->batch);
    itg_batch_plan_destroy(g->plan);
    free(g->codes);
}

static itg_status open_run(bench_subject *s, const itg_program *program,
                           const itg_accel_kernels *kernels, graph_run *g, itg_error *err)
{
    itg_batch_options options = {.kernels = kernels, .weights = s->evaluator.weights};
    const itg_quantizer *q = NULL;
    const itg_shape *shape = NULL;
    itg_dtype dtype = ITG_F32;
    *g = (graph_run){.s = s, .kernels = kernels};
    itg_program_output_info(program, 0, &dtype, &shape, &q);
    if (!itg_shape_elements(&s->input, &g->elements) || !itg_shape_elements(shape, &g->outputs))
        return itg_fail(err, ITG_LIMIT, "%s: too large", s->network->name);
    g->codes = calloc((size_t)(g->outputs * bench_subject_samples(s)), sizeof *g->codes);
    if (!g->codes) return itg_fail(err, ITG_NO_MEMORY, "no memory for outputs");
    itg_status status = itg_batch_plan_create(program, &options, &g->plan, err);
    if (status == ITG_OK) status = itg_batch_create(g->plan, &g->batch, err);
    return status;
}

/* ---- verifying ---- */

/* The reference kernels on the first samples, one at a time: every code. */
static itg_status compare_reference(const graph_run *g, const itg_program *program, int64_t count,
                                    itg_error *err)
{
    itg_batch_options options = {.block = 1};
    itg_batch_io io = {copy_sample, (void *)(uintptr_t)g, NULL, false, NULL};
    itg_batch_plan *plan = NULL;
    itg_batch *batch = NULL;
    itg_status status = itg_accel_choose("reference", &options.kernels, err);
    if (status == ITG_OK) status = itg_batch_plan_create(program, &options, &plan, err);
    if (status == ITG_OK) status = itg_batch_create(plan, &batch, err);
    for (int64_t k = 0; k < count && status == ITG_OK; k++) {
        status = itg_batch_run(batch, &(itg_block){0, k, 1}, &io, err);
        if (status != ITG_OK) break;
        itg_tensor out = itg_batch_output(batch, 0, 0);
        for (int64_t i = 0; i < g->outputs && status == ITG_OK; i++)
            if (element_of(&out, i) != g->codes[k * g->outputs + i])
                status = itg_fail(err, ITG_MISMATCH, "%s: blocks differ from the reference",
                                  g->s->network->name);
    }
    itg_batch_destroy(batch);
    itg_batch_plan_destroy(plan);
    return status;
}

static int64_t class_of(const float *values, int64_t count)
{
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++)
        if (values[i] > values[best]) best = i;
    return best;
}

/* ONNX Runtime on the QDQ model that says what our program says. */
static itg_status compare_peer(const graph_run *g, bench_session *same, char *out, size_t size,
                               itg_error *err)
{
    int64_t samples = bench_subject_samples(g->s), elements = 0, equal = 0, agreeing = 0;
    float *theirs = NULL;
    if (same->number < 0) {
        snprintf(out, size, "no peer to compare codes with");
        return ITG_OK;
    }
    itg_status status = bench_session_outputs(same, samples, &theirs, &elements, err);
    if (status != ITG_OK) return status;
    if (elements != g->outputs) {
        free(theirs);
        return itg_fail(err, ITG_MISMATCH, "%s: the peer's outputs have another size",
                        g->s->network->name);
    }
    for (int64_t i = 0; i < samples * elements; i++)
        equal += theirs[i] == g->codes[i];
    for (int64_t k = 0; k < samples; k++)
        agreeing += class_of(theirs + k * elements, elements) ==
                    class_of(g->codes + k * elements, elements);
    free(theirs);
    snprintf(out, size,
             "ONNX Runtime on the program's own QDQ model: %.4g %% of %lld codes equal, "
             "top-1 agrees on %lld of %lld",
             100.0 * (double)equal / (double)(samples * elements), (long long)(samples * elements),
             (long long)agreeing, (long long)samples);
    if ((double)agreeing < least_agreement * (double)samples)
        return itg_fail(err, ITG_MISMATCH, "%s: %s", g->s->network->name, out);
    return ITG_OK;
}

/* ---- (c) ---- */

static void add_against(const bench_subject *s, const bench_timing *ours, const bench_timing *peer,
                        const bench_session *session, const char *verified)
{
    double samples = (double)bench_subject_samples(s);
    char what[128];
    snprintf(what, sizeof what, "(c) %s: samples through the integer graph, 1 thread",
             s->network->name);
    bench_add(s->table, &(bench_row){.what = what,
                                     .peer_name = session->name,
                                     .verified = verified,
                                     .unit = BENCH_PER_SECOND,
                                     .ours = samples / ours->least,
                                     .ours_median = samples / ours->median,
                                     .peer = peer->least > 0 ? samples / peer->least : 0,
                                     .least_ratio = s->network->graph_ratio});
}

static itg_status open_peers(bench_subject *s, const itg_program *program, bench_session peers[2],
                             itg_error *err)
{
    itg_shape shape = bench_subject_shape(s);
    char model[512], artefact[512];
    itg_status status = ITG_OK;
    if (!bench_subject_file(s, s->network->qdq, model, sizeof model))
        snprintf(peers[0].name, sizeof peers[0].name, "no int8 QDQ of make_qdq.py here");
    else
        status = bench_session_open(s->peer, "int8 QDQ of make_qdq.py", model, s->real_path, &shape,
                                    1, &peers[0], err);
    snprintf(artefact, sizeof artefact, "%s/%s.artefact.onnx", s->options->folder,
             s->network->name);
    if (status == ITG_OK && bench_peer_present(s->peer))
        status = itg_artefact_write(program, NULL, 0, artefact, err);
    if (status == ITG_OK)
        status = bench_session_open_artefact(s->peer, "int8 QDQ of the program", artefact,
                                             s->real_path, &shape, 1, &peers[1], err);
    remove(artefact);
    return status;
}

/* ---- (f) ---- */

static const int64_t peak_rounds = 200000;

/* Seconds of peak_rounds. */
static itg_status run_peak(void *context, int64_t runs, double *seconds, itg_error *err)
{
    const itg_accel_kernels *kernels = context;
    (void)err;
    double begun = bench_clock(1);
    for (int64_t r = 0; r < runs; r++)
        itg_accel_peak(kernels, peak_rounds);
    *seconds = (bench_clock(1) - begun) / (double)runs;
    return ITG_OK;
}

static bench_contender peak_contender(const itg_accel_kernels *kernels)
{
    bool has = kernels && itg_accel_peak(kernels, 1) > 0;
    return (bench_contender){has ? run_peak : NULL, (void *)(uintptr_t)kernels};
}

static void add_share(const bench_subject *s, const itg_accel_kernels *kernels,
                      const bench_timing *ours, const bench_timing *peak)
{
    char what[128], name[128];
    if (!(peak->least > 0)) return;
    double macs = s->macs * (double)bench_subject_samples(s);
    snprintf(what, sizeof what, "(f) %s: executor, 1 thread, set %s", s->network->name,
             itg_accel_name(kernels));
    snprintf(name, sizeof name, "peak of one core: %s's instruction on registers alone",
             itg_accel_name(kernels));
    bench_add(s->table, &(bench_row){.what = what,
                                     .peer_name = name,
                                     .verified = "as (c)",
                                     .unit = BENCH_MACS,
                                     .ours = macs / ours->least,
                                     .ours_median = macs / ours->median,
                                     .peer = (double)itg_accel_peak(kernels, 1) *
                                             (double)peak_rounds / peak->least});
}

/* The sets besides the first, on large networks. */
static itg_status measure_other_sets(bench_subject *s, const itg_program *program,
                                     const graph_run *first, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int i = 0; itg_accel_set(i) && status == ITG_OK; i++) {
        const itg_accel_kernels *kernels = NULL;
        graph_run g;
        bench_timing times[2];
        if (itg_accel_choose(itg_accel_set(i), &kernels, NULL) != ITG_OK) continue;
        if (kernels == first->kernels || itg_accel_peak(kernels, 1) == 0) continue;
        status = open_run(s, program, kernels, &g, err);
        bench_contender contenders[] = {{run_graph, &g}, peak_contender(kernels)};
        if (status == ITG_OK)
            status =
                bench_rounds(contenders, 2, s->options->rounds, s->options->seconds, times, err);
        size_t bytes = (size_t)(first->outputs * bench_subject_samples(s)) * sizeof *g.codes;
        if (status == ITG_OK && memcmp(g.codes, first->codes, bytes) != 0)
            status = itg_fail(err, ITG_MISMATCH, "%s: set '%s' gives other outputs",
                              s->network->name, itg_accel_name(kernels));
        if (status == ITG_OK) add_share(s, kernels, &times[0], &times[1]);
        close_run(&g);
    }
    return status;
}

static itg_status measure(bench_subject *s, const itg_program *program, graph_run *g,
                          bench_session peers[2], itg_error *err)
{
    bench_contender contenders[] = {{run_graph, g},
                                    bench_session_contender(&peers[0]),
                                    bench_session_contender(&peers[1]),
                                    peak_contender(g->kernels)};
    bench_timing times[4];
    char verified[256] = "";
    itg_status status =
        bench_rounds(contenders, 4, s->options->rounds, s->options->seconds, times, err);
    if (status == ITG_OK) status = compare_reference(g, program, s->options->quick ? 1 : 2, err);
    if (status == ITG_OK) status = compare_peer(g, &peers[1], verified, sizeof verified, err);
    if (status != ITG_OK) return status;
    if (s->network->qdq) add_against(s, &times[0], &times[1], &peers[0], verified);
    add_against(s, &times[0], &times[2], &peers[1], verified);
    add_share(s, g->kernels, &times[0], &times[3]);
    return s->network->graph_ratio > 0 ? measure_other_sets(s, program, g, err) : ITG_OK;
}

itg_status bench_graph(bench_subject *s, itg_error *err)
{
    int32_t *point = calloc((size_t)s->evaluator.points->space.dim_count + 1, sizeof *point);
    bench_session peers[2] = {{.number = -1}, {.number = -1}};
    itg_annotated *annotated = NULL;
    itg_program *program = NULL;
    graph_run g = {0};
    if (!point) return itg_fail(err, ITG_NO_MEMORY, "no memory for a point");
    for (int i = 0; i < 2; i++)
        snprintf(peers[i].name, sizeof peers[i].name, "%s", bench_peer_name(s->peer));
    bench_subject_point(s, 0, point);
    itg_status status = bench_subject_realize(s, point, &annotated, &program, err);
    if (status == ITG_OK) status = open_run(s, program, s->evaluator.kernels, &g, err);
    if (status == ITG_OK) status = open_peers(s, program, peers, err);
    if (status == ITG_OK) status = measure(s, program, &g, peers, err);
    for (int i = 0; i < 2; i++)
        bench_session_close(&peers[i]);
    close_run(&g);
    itg_program_destroy(program);
    itg_annotated_destroy(annotated);
    free(point);
    return status;
}
