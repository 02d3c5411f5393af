/* Calibration in one pass: samples run in parallel within blocks of fixed size; each worker has its
 * own histograms (integers, merged exactly), and each sample its own sums, folded in sample order
 * after the block. So no bit depends on the thread count. */
#include "sim/histogram.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SAMPLES = 64 };

typedef struct calibration {
    const itg_graph *graph;
    const itg_dataset *data;
    const itg_preprocess *preprocess;
    int workers;
    int32_t id_count;
    itg_id *ids;                 /* values measured */
    itg_float_exec **execs;      /* [workers] */
    itg_value_stats *histograms; /* [workers][id_count] */
    itg_sums *sums;              /* [BLOCK_SAMPLES][id_count] */
    itg_sums_fold *folds;        /* [id_count] */
    int64_t first;               /* first sample of the block */
} calibration;

static bool is_measured(const itg_value *value)
{
    return !value->data && value->dtype == ITG_F32;
}

static itg_status check_fit(const calibration *c, itg_error *err)
{
    const itg_graph *graph = c->graph;
    if (graph->input_count != 1)
        return itg_fail(err, ITG_UNSUPPORTED,
                        "%s: %" PRId32 " inputs; calibration feeds exactly one", graph->name,
                        graph->input_count);
    const itg_value *input = &graph->values[graph->inputs[0]];
    if (input->dtype != ITG_F32)
        return itg_fail(err, ITG_UNSUPPORTED, "%s: input '%s' is %s; calibration feeds f32",
                        graph->name, input->name, itg_dtype_name(input->dtype));
    itg_status status = itg_preprocess_check(c->preprocess, c->data, &input->shape, err);
    return status == ITG_OK ? ITG_OK : itg_prefix_error(err, status, "%s", graph->name);
}

static void *array(size_t a, size_t b, size_t size)
{
    size_t count;
    if (!itg_mul_size(a, b, &count)) return NULL;
    return calloc(count ? count : 1, size);
}

static itg_status open_calibration(calibration *c, itg_error *err)
{
    const size_t workers = (size_t)c->workers;
    c->ids = array((size_t)c->graph->value_count, 1, sizeof *c->ids);
    if (c->ids)
        for (itg_id v = 0; v < c->graph->value_count; v++)
            if (is_measured(&c->graph->values[v])) c->ids[c->id_count++] = v;
    const size_t n = (size_t)c->id_count;
    c->execs = array(workers, 1, sizeof *c->execs);
    c->histograms = array(workers, n, sizeof *c->histograms);
    c->sums = array(BLOCK_SAMPLES, n, sizeof *c->sums);
    c->folds = array(n, 1, sizeof *c->folds);
    if (!c->ids || !c->execs || !c->histograms || !c->sums || !c->folds)
        return itg_fail(err, ITG_NO_MEMORY,
                        "%s: no memory for the statistics of %zu values on %zu workers",
                        c->graph->name, n, workers);
    for (size_t i = 0; i < workers * n; i++)
        itg_histogram_init(&c->histograms[i]);
    for (size_t i = 0; i < workers; i++) {
        itg_status status = itg_float_exec_create(c->graph, &c->execs[i], err);
        if (status != ITG_OK) return status;
    }
    return ITG_OK;
}

static void close_calibration(calibration *c)
{
    for (int i = 0; c->execs && i < c->workers; i++)
        itg_float_exec_destroy(c->execs[i]);
    free(c->ids);
    free(c->execs);
    free(c->histograms);
    free(c->sums);
    free(c->folds);
}

static itg_status run_sample(void *context, int worker, int64_t item, itg_error *err)
{
    calibration *c = context;
    itg_float_exec *exec = c->execs[worker];
    const itg_shape *input = &c->graph->values[c->graph->inputs[0]].shape;
    itg_preprocess_sample(c->preprocess, c->data, c->first + item, input,
                          itg_float_exec_input(exec, 0));
    itg_status status = itg_float_exec_run(exec, err);
    if (status != ITG_OK) return itg_prefix_error(err, status, "sample %" PRId64, c->first + item);
    for (int32_t i = 0; i < c->id_count; i++) {
        const itg_tensor value = itg_float_exec_value(exec, c->ids[i]);
        itg_sums *sums = &c->sums[item * c->id_count + i];
        const int64_t elements = (int64_t)(itg_tensor_bytes(&value) / sizeof(float));
        itg_sums_of(value.data, elements, sums);
        itg_histogram_add(&c->histograms[(int64_t)worker * c->id_count + i], value.data, elements,
                          sums);
    }
    return ITG_OK;
}

static itg_status run_samples(calibration *c, itg_stats *stats, itg_error *err)
{
    const int64_t samples = c->data->shape.dims[0];
    for (c->first = 0; c->first < samples; c->first += BLOCK_SAMPLES) {
        int64_t count = samples - c->first < BLOCK_SAMPLES ? samples - c->first : BLOCK_SAMPLES;
        itg_status status = itg_parallel_for(c->workers, count, run_sample, c, err);
        if (status != ITG_OK) return status;
        for (int64_t s = 0; s < count; s++)
            for (int32_t i = 0; i < c->id_count; i++)
                itg_sums_add(&stats->values[c->ids[i]], &c->folds[i],
                             &c->sums[s * c->id_count + i]);
    }
    return ITG_OK;
}

static void finish(calibration *c, itg_stats *stats)
{
    for (int32_t i = 0; i < c->id_count; i++) {
        itg_value_stats *value = &stats->values[c->ids[i]];
        for (int w = 0; w < c->workers; w++)
            itg_histogram_merge(value, &c->histograms[(int64_t)w * c->id_count + i]);
        itg_sums_finish(value, &c->folds[i]);
    }
}

/* Members of value size `size`, little-endian. */
static void hash_items(itg_sha256 *hash, const void *items, size_t count, size_t size)
{
    unsigned char buffer[512];
    const size_t most = sizeof buffer / size;
    for (size_t i = 0; i < count; i += most) {
        size_t part = count - i < most ? count - i : most;
        itg_copy_little_endian(buffer, (const unsigned char *)items + i * size, part, size);
        itg_sha256_update(hash, buffer, part * size);
    }
}

static void hash_stats(itg_stats *stats)
{
    itg_sha256 hash;
    itg_sha256_init(&hash);
    hash_items(&hash, &stats->value_count, 1, sizeof stats->value_count);
    hash_items(&hash, &stats->samples, 1, sizeof stats->samples);
    for (int32_t v = 0; v < stats->value_count; v++) {
        const itg_value_stats *s = &stats->values[v];
        const unsigned char present = s->present;
        hash_items(&hash, &present, 1, 1);
        if (!present) continue;
        const int64_t counts[] = {s->count, s->nan_count, s->zeros, s->exponent};
        const float range[] = {s->min, s->max};
        const double moments[] = {s->mean, s->variance, s->average_min, s->average_max};
        hash_items(&hash, counts, 4, sizeof *counts);
        hash_items(&hash, range, 2, sizeof *range);
        hash_items(&hash, moments, 4, sizeof *moments);
        hash_items(&hash, s->positive, ITG_HISTOGRAM_BINS, sizeof *s->positive);
        hash_items(&hash, s->negative, ITG_HISTOGRAM_BINS, sizeof *s->negative);
    }
    itg_sha256_final(&hash, stats->hash);
}

static itg_status new_stats(const itg_graph *graph, itg_stats **out, itg_error *err)
{
    itg_stats *stats = calloc(1, sizeof *stats);
    if (stats) stats->values = array((size_t)graph->value_count, 1, sizeof *stats->values);
    if (!stats || !stats->values) {
        free(stats);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for statistics", graph->name);
    }
    stats->value_count = graph->value_count;
    for (itg_id v = 0; v < graph->value_count; v++)
        if (is_measured(&graph->values[v])) itg_histogram_init(&stats->values[v]);
    *out = stats;
    return ITG_OK;
}

itg_status itg_calibrate(const itg_graph *graph, const itg_dataset *data, const itg_preprocess *p,
                         int threads, itg_stats **out, itg_error *err)
{
    calibration c = {
        .graph = graph, .data = data, .preprocess = p, .workers = itg_thread_count(threads)};
    itg_stats *stats = NULL;
    if (c.workers > data->shape.dims[0]) c.workers = (int)data->shape.dims[0];
    itg_status status = check_fit(&c, err);
    if (status == ITG_OK) status = open_calibration(&c, err);
    if (status == ITG_OK) status = new_stats(graph, &stats, err);
    if (status == ITG_OK) status = run_samples(&c, stats, err);
    if (status == ITG_OK) {
        finish(&c, stats);
        stats->samples = data->shape.dims[0];
        hash_stats(stats);
        *out = stats;
    } else {
        itg_stats_destroy(stats);
    }
    close_calibration(&c);
    return status;
}

void itg_stats_destroy(itg_stats *stats)
{
    if (!stats) return;
    free(stats->values);
    free(stats);
}
