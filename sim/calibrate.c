/* Calibration in one pass. Samples run in parallel within blocks. Each worker has its own
 * histograms (integers, merged exactly), and each sample its own sums, which are added in sample
 * order after the block. So no bit depends on the number of threads or the block size. Memory holds
 * one block of samples, and does not grow with their number. */
#include "sim/feed.h"
#include "sim/histogram.h"
#include "sim/reader.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A worker's samples in a block: enough that waiting for the slowest worker costs little. */
enum { SAMPLES_A_WORKER = 8 };

/* About so many elements of a value are counted, up to twice as many, or all. */
#define ENOUGH_ELEMENTS (INT64_C(1) << 20)
#define GOLDEN_RATIO UINT32_C(2654435769) /* of 2^32: multiples spread evenly (Knuth 6.4) */

/* One array of the samples. */
typedef struct sample_part {
    const itg_dataset *data; /* or */
    itg_data_stream *stream;
    int64_t sample_elements;
    itg_sha256 sha256; /* of the samples so far; only if samples are selected */
    void *buffer;      /* [block_samples] if the samples must be copied, else NULL */
} sample_part;

typedef struct calibration {
    const itg_graph *graph;
    const itg_calibration_source *source;
    itg_float_kernels kernels;
    int workers;
    int32_t part_count;
    sample_part *parts;
    itg_dataset *abouts; /* [part_count], linked: dtype, shape and path of all samples */
    itg_dataset *blocks; /* [part_count]: the samples of the current block */
    itg_feed feed;       /* of blocks */
    int32_t id_count;
    itg_id *ids;                 /* values measured */
    int32_t *slots;              /* [value_count]: index into ids; -1: not measured */
    itg_float_exec **execs;      /* [workers] */
    itg_value_stats *histograms; /* [workers][id_count] */
    int64_t block_samples;       /* at most */
    itg_sums *sums;              /* [block_samples][id_count] */
    itg_sums_fold *folds;        /* [id_count] */
    int64_t first;               /* first sample of the block */
    itg_stop stop;
} calibration;

/* Whether all samples are used as they are in memory. */
static bool is_whole(const itg_calibration_source *source)
{
    return source->data && !source->samples;
}

static bool is_measured(const itg_value *value)
{
    return !value->data && value->dtype == ITG_F32;
}

/* Opens the feed; its inputs read from the blocks. */
static itg_status open_feed(calibration *c, const itg_preprocess *p, itg_error *err)
{
    const itg_input_list inputs = itg_graph_inputs(c->graph);
    itg_status status = itg_feed_init(&inputs, c->abouts, p, &c->feed, err);
    if (status != ITG_OK) return itg_prefix_error(err, status, "%s", c->graph->name);
    for (int32_t i = 0; i < c->feed.count; i++)
        c->feed.inputs[i].data = &c->blocks[c->feed.inputs[i].data - c->abouts];
    return ITG_OK;
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
    const size_t values = (size_t)c->graph->value_count;
    c->ids = array(values, 1, sizeof *c->ids);
    c->slots = array(values, 1, sizeof *c->slots);
    for (itg_id v = 0; c->ids && c->slots && v < c->graph->value_count; v++) {
        c->slots[v] = is_measured(&c->graph->values[v]) ? c->id_count : -1;
        if (c->slots[v] >= 0) c->ids[c->id_count++] = v;
    }
    const size_t n = (size_t)c->id_count, block = (size_t)c->block_samples;
    c->execs = array(workers, 1, sizeof *c->execs);
    c->histograms = itg_histograms_create(workers * n);
    c->sums = array(block, n, sizeof *c->sums);
    c->folds = array(n, 1, sizeof *c->folds);
    bool has_buffers = true;
    for (int32_t i = 0; i < c->part_count && !is_whole(c->source); i++) {
        sample_part *p = &c->parts[i];
        p->buffer = array(block, (size_t)p->sample_elements, itg_dtype_size(c->abouts[i].dtype));
        has_buffers = has_buffers && p->buffer;
    }
    if (!c->ids || !c->slots || !c->execs || !c->histograms || !c->sums || !c->folds ||
        !has_buffers)
        return itg_fail(err, ITG_NO_MEMORY,
                        "%s: no memory for the statistics of %zu values on %zu workers",
                        c->graph->name, n, workers);
    for (size_t i = 0; i < workers; i++) {
        itg_status status = itg_float_exec_create(c->graph, c->kernels, &c->execs[i], err);
        if (status != ITG_OK) return status;
    }
    return ITG_OK;
}

static void close_calibration(calibration *c)
{
    for (int i = 0; c->execs && i < c->workers; i++)
        itg_float_exec_destroy(c->execs[i]);
    for (int32_t i = 0; c->parts && i < c->part_count; i++)
        free(c->parts[i].buffer);
    free(c->parts);
    free(c->abouts);
    free(c->blocks);
    itg_feed_deinit(&c->feed);
    free(c->ids);
    free(c->slots);
    free(c->execs);
    free(c->histograms);
    free(c->sums);
    free(c->folds);
}

/* ---- samples ---- */
static itg_status next_samples(calibration *c, int32_t index, int64_t count, itg_error *err)
{
    const int64_t *samples = c->source->samples;
    sample_part *p = &c->parts[index];
    itg_dataset *block = &c->blocks[index];
    const size_t bytes = (size_t)p->sample_elements * itg_dtype_size(c->abouts[index].dtype);
    *block = c->abouts[index];
    block->shape.dims[0] = count;
    block->data = p->buffer;
    block->first = c->first;
    block->numbers = NULL;
    if (p->stream) return itg_data_stream_read(p->stream, count, p->buffer, err);
    const unsigned char *from = p->data->data;
    if (!samples) {
        block->data = (void *)(uintptr_t)(from + (size_t)c->first * bytes);
        block->numbers = p->data->numbers ? p->data->numbers + c->first : NULL;
        return ITG_OK;
    }
    block->numbers = samples + c->first;
    for (int64_t i = 0; i < count; i++)
        memcpy((unsigned char *)p->buffer + (size_t)i * bytes,
               from + (size_t)samples[c->first + i] * bytes, bytes);
    itg_dataset_hash_add(&p->sha256, block->dtype, p->buffer, count * p->sample_elements);
    return ITG_OK;
}

static itg_status next_block(calibration *c, int64_t count, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < c->part_count && status == ITG_OK; i++)
        status = next_samples(c, i, count, err);
    return status;
}

/* Returns the hash that a dataset of these samples has. */
static void hash_samples(calibration *c, unsigned char hash[32])
{
    for (int32_t i = 0; i < c->part_count && !is_whole(c->source); i++)
        if (c->source->stream)
            memcpy(c->abouts[i].hash, c->parts[i].stream->hash, 32);
        else
            itg_sha256_final(&c->parts[i].sha256, c->abouts[i].hash);
    if (!is_whole(c->source)) itg_dataset_hash_all(c->abouts);
    memcpy(hash, c->abouts[0].hash, 32);
}

/* Which part of a sample is counted: enough of all samples. Other blocks in each sample, as if
 * drawn by lot, since samples and what lies in blocks may both come in turns. */
static itg_f32_part part_of(const calibration *c, int64_t sample, int64_t elements)
{
    const int64_t samples = c->abouts[0].shape.dims[0],
                  period = elements / (ENOUGH_ELEMENTS / samples + 1);
    const uint32_t lot = (uint32_t)sample * GOLDEN_RATIO >> 16;
    return period > 1 ? (itg_f32_part){period, lot % period} : ITG_F32_ALL;
}

typedef struct measuring {
    const calibration *c;
    int64_t sample;
    itg_sums *sums;              /* [id_count] of the sample */
    itg_value_stats *histograms; /* [id_count] of the worker */
} measuring;

static void measure(void *context, itg_id value, const itg_tensor *tensor)
{
    const measuring *m = context;
    const int32_t slot = m->c->slots[value];
    if (slot < 0) return;
    const int64_t elements = (int64_t)(itg_tensor_bytes(tensor) / sizeof(float));
    itg_histogram_measure(&m->histograms[slot], tensor->data, elements,
                          part_of(m->c, m->sample, elements), &m->sums[slot]);
}

static itg_status run_sample(void *context, int worker, int64_t item, itg_error *err)
{
    calibration *c = context;
    if (itg_check_stop(&c->stop, err) != ITG_OK) return ITG_CANCELLED;
    itg_float_exec *exec = c->execs[worker];
    measuring m = {c, c->first + item, c->sums + item * c->id_count,
                   c->histograms + (int64_t)worker * c->id_count};
    itg_status status = itg_feed_fill_all(&c->feed, item, exec, err);
    if (status != ITG_OK) return status;
    status = itg_float_exec_visit(exec, measure, &m, err);
    return status == ITG_OK
               ? status
               : itg_prefix_error(err, status, "%s: sample %" PRId64, c->abouts[0].path,
                                  itg_dataset_number(&c->blocks[0], item));
}

static itg_status run_samples(calibration *c, itg_stats *stats, itg_error *err)
{
    const int64_t samples = c->abouts[0].shape.dims[0];
    for (c->first = 0; c->first < samples; c->first += c->block_samples) {
        int64_t count =
            samples - c->first < c->block_samples ? samples - c->first : c->block_samples;
        itg_status status = next_block(c, count, err);
        if (status == ITG_OK) status = itg_parallel_for(c->workers, count, run_sample, c, err);
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

/* Hashes items of `size` bytes as little-endian. */
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
        const int64_t counts[] = {s->count, s->counted, s->nan_count, s->zeros, s->exponent};
        const float range[] = {s->min, s->max};
        const double moments[] = {s->mean, s->variance, s->average_min, s->average_max};
        hash_items(&hash, counts, 5, sizeof *counts);
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
    if (stats) stats->values = itg_histograms_create((size_t)graph->value_count);
    if (!stats || !stats->values) {
        free(stats);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for statistics", graph->name);
    }
    stats->value_count = graph->value_count;
    *out = stats;
    return ITG_OK;
}

static void describe_part(calibration *c, int32_t index)
{
    const itg_calibration_source *s = c->source;
    sample_part *p = &c->parts[index];
    itg_dataset *about = &c->abouts[index];
    *about = p->stream ? itg_data_stream_about(p->stream) : *p->data;
    about->next_input = index + 1 < c->part_count ? about + 1 : NULL;
    if (s->samples) about->shape.dims[0] = s->count;
    itg_dataset_hash_begin(&p->sha256, about->dtype, &about->shape);
    p->sample_elements = 1;
    for (int32_t i = 1; i < about->shape.rank; i++)
        p->sample_elements *= about->shape.dims[i];
}

static itg_status open_parts(calibration *c, itg_error *err)
{
    const itg_dataset *data = c->source->data;
    itg_data_stream *stream = c->source->stream;
    for (const itg_dataset *d = data; d; d = d->next_input)
        c->part_count++;
    for (const itg_data_stream *s = stream; s; s = s->next_input)
        c->part_count++;
    c->parts = array((size_t)c->part_count, 1, sizeof *c->parts);
    c->abouts = array((size_t)c->part_count, 1, sizeof *c->abouts);
    c->blocks = array((size_t)c->part_count, 1, sizeof *c->blocks);
    if (!c->parts || !c->abouts || !c->blocks)
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for samples", c->graph->name);
    for (int32_t i = 0; i < c->part_count; i++) {
        c->parts[i] = (sample_part){.data = data, .stream = stream};
        describe_part(c, i);
        data = data ? data->next_input : NULL;
        stream = stream ? stream->next_input : NULL;
    }
    return ITG_OK;
}

itg_status itg_calibrate_from(const itg_graph *graph, const itg_calibration_source *source,
                              const itg_preprocess *p, const itg_calibrate_options *options,
                              itg_stats **out, itg_error *err)
{
    calibration c = {.graph = graph,
                     .source = source,
                     .kernels = options->kernels,
                     .stop = options->stop,
                     .workers = itg_thread_count(options->threads)};
    itg_stats *stats = NULL;
    itg_status status = open_parts(&c, err);
    if (status == ITG_OK) status = open_feed(&c, p, err);
    if (status == ITG_OK) {
        if (c.workers > c.abouts[0].shape.dims[0]) c.workers = (int)c.abouts[0].shape.dims[0];
        c.block_samples = SAMPLES_A_WORKER * c.workers;
        status = open_calibration(&c, err);
    }
    if (status == ITG_OK) status = new_stats(graph, &stats, err);
    if (status == ITG_OK) status = run_samples(&c, stats, err);
    if (status == ITG_OK) {
        finish(&c, stats);
        stats->samples = c.abouts[0].shape.dims[0];
        stats->kernels = c.kernels;
        hash_samples(&c, stats->data_hash);
        hash_stats(stats);
        *out = stats;
    } else {
        itg_stats_destroy(stats);
    }
    close_calibration(&c);
    return status;
}

itg_status itg_calibrate_model(const itg_graph *graph, const itg_dataset *data,
                               const itg_preprocess *p, int threads, itg_stats **out,
                               itg_error *err)
{
    const itg_calibration_source source = {.data = data};
    const itg_calibrate_options options = {ITG_CALIBRATE_OPTIONS_VERSION, .threads = threads};
    return itg_calibrate_from(graph, &source, p, &options, out, err);
}

itg_stats *itg_stats_made_up(const itg_graph *g)
{
    itg_stats *stats = calloc(1, sizeof *stats);
    if (stats) stats->values = calloc((size_t)g->value_count + 1, sizeof *stats->values);
    if (!stats || !stats->values) {
        free(stats);
        return NULL;
    }
    stats->value_count = g->value_count;
    for (int32_t v = 0; v < g->value_count; v++) {
        itg_value_stats *s = &stats->values[v];
        s->present = true;
        s->count = 2;
        s->min = -1;
        s->max = 1;
    }
    return stats;
}

void itg_stats_destroy(itg_stats *stats)
{
    if (!stats) return;
    free(stats->values);
    free(stats);
}
