/* Evaluates a backend. Samples run in blocks: in parallel within a block, each into its own slot.
 * Then the slots are hashed and counted in order. So digest, counts and sinks see the samples in
 * order for any number of threads. An evaluation that is decided early ends at the same sample;
 * results of later samples in its block are dropped. */
#include "sim/evaluation.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_PER_WORKER 16 /* if the backend takes one sample at a time */

void itg_evaluation_deinit(itg_evaluation *evaluation)
{
    free(evaluation->classes);
    evaluation->classes = NULL;
}

int64_t evaluation_sample(const evaluation_state *s, int64_t place)
{
    return s->options->order ? s->options->order[place] : place;
}

itg_status evaluation_fill(void *context, int32_t index, int64_t sample, void *x, itg_error *err)
{
    evaluation_filling *f = context;
    itg_status status = itg_feed_fill(&f->s->feed, index, evaluation_sample(f->s, sample), x, err);
    f->has_failed = status != ITG_OK;
    return status;
}

/* Runs samples [at, at + count) of the block. Where several fail together, each is run alone, so
 * that the error names one. */
static itg_status run_samples(evaluation_state *s, void *instance, int64_t at, int64_t count,
                              itg_error *err)
{
    const itg_dataset *data = s->options->data;
    evaluation_filling f = {s, false};
    const itg_sample_source source = {evaluation_fill, &f};
    itg_error why = {0};
    itg_status status = s->backend->run(instance, &source, s->first + at, count, &why);
    if (status == ITG_OK) return ITG_OK;
    if (f.has_failed || status == ITG_NO_MEMORY) return itg_fail(err, status, "%s", why.message);
    for (int64_t k = 0; k < count && count > 1; k++) {
        itg_status alone = run_samples(s, instance, at + k, 1, err);
        if (alone != ITG_OK) return alone;
    }
    const int64_t number = itg_dataset_number(data, evaluation_sample(s, s->first + at));
    return count == 1 ? itg_fail(err, status, "%s: sample %lld: %s", data->path, (long long)number,
                                 why.message)
                      : itg_fail(err, status, "%s: %lld samples from %lld on: %s", data->path,
                                 (long long)count, (long long)number, why.message);
}

static itg_status run_grain(void *context, int worker, int64_t item, itg_error *err)
{
    evaluation_state *s = context;
    const itg_backend *r = s->backend;
    int64_t at = item * r->block, left = s->count - at, n = left < r->block ? left : r->block;
    itg_status status = itg_check_stop(&s->options->stop, err);
    if (status == ITG_OK && !s->instances[worker])
        status = r->create(r->context, &s->instances[worker], err);
    if (status != ITG_OK) return status;
    void *instance = s->instances[worker];
    status = run_samples(s, instance, at, n, err);
    itg_tensor *outputs = s->at_hand + (size_t)worker * (size_t)r->output_count;
    for (int64_t k = 0; k < n && status == ITG_OK; k++) {
        for (int32_t i = 0; i < r->output_count; i++) {
            outputs[i] = r->output(instance, i, k);
            memcpy(s->block + (size_t)(at + k) * s->sample_bytes + s->output_offset[i],
                   outputs[i].data, itg_tensor_bytes(&outputs[i]));
        }
        if (s->distance) status = evaluation_compare(s, worker, s->first + at + k, outputs, err);
    }
    return status;
}

static itg_status layout_outputs(evaluation_state *s, itg_error *err)
{
    const itg_backend *r = s->backend;
    itg_status status = r->create(r->context, &s->instances[0], err);
    size_t total = 0;
    for (int32_t i = 0; i < r->output_count && status == ITG_OK; i++) {
        s->outputs[i] = r->output(s->instances[0], i, 0);
        s->quantizers[i] = r->quantizer(r->context, i);
        s->output_offset[i] = total;
        if (!itg_add_size(total, (itg_tensor_bytes(&s->outputs[i]) + 7) & ~(size_t)7, &total))
            status = itg_fail(err, ITG_LIMIT, "outputs are too large");
    }
    size_t bytes = 0;
    s->sample_bytes = total;
    if (status == ITG_OK && itg_mul_size(total, (size_t)s->workers * (size_t)s->share, &bytes))
        s->block = malloc(bytes + 1);
    if (status == ITG_OK && !s->block)
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for the outputs of a block of samples");
    if (status != ITG_OK || !s->options->order) return status;
    if (itg_mul_size(total, (size_t)s->options->data->shape.dims[0], &bytes))
        s->kept = malloc(bytes + 1);
    return s->kept ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for all outputs");
}

/* Allocates the outputs for the user's metrics. */
static itg_status keep_reals(evaluation_state *s, int64_t samples, itg_error *err)
{
    const itg_backend *r = s->backend;
    if (!itg_users_any(s->options->user)) return ITG_OK;
    if (itg_real_elements(s->outputs, s->quantizers, r->output_count) == 0)
        return itg_fail(err, ITG_UNSUPPORTED,
                        "a metric of the calling program needs outputs of one scale each");
    return itg_kept_outputs_init(&s->reals, s->outputs, r->output_count, samples, err);
}

static void hash_tensor(itg_sha256 *hash, const itg_tensor *t)
{
    unsigned char chunk[4096];
    size_t size = itg_dtype_size(t->dtype), count = itg_tensor_bytes(t) / size,
           step = sizeof chunk / size;
    for (size_t i = 0; i < count; i += step) {
        size_t n = count - i < step ? count - i : step;
        itg_copy_little_endian(chunk, (const unsigned char *)t->data + i * size, n, size);
        itg_sha256_update(hash, chunk, n * size);
    }
}

/* Points s->outputs at the bytes of a sample. */
static void point_outputs(evaluation_state *s, unsigned char *data)
{
    for (int32_t i = 0; i < s->backend->output_count; i++)
        s->outputs[i].data = data + s->output_offset[i];
}

/* Adds what depends on sample order: digest and sums of distances. data: all outputs. */
static void add_sample(evaluation_state *s, int64_t sample, unsigned char *data)
{
    int32_t count = s->backend->output_count;
    point_outputs(s, data);
    for (int32_t i = 0; i < count; i++) {
        hash_tensor(&s->hash, &s->outputs[i]);
        if (s->distance) s->sums[i] += s->distance[sample * count + i];
    }
    if (s->has_targets)
        itg_errors_add(&s->outputs[0], s->quantizers[0], s->options->labels, sample, s->errors);
    if (s->input && itg_feed_fill(&s->feed, 0, sample, s->input, NULL) != ITG_OK)
        s->input[0] = NAN; /* cannot fail: it was filled to run */
    if (s->measures.of.output) itg_measures_add(&s->measures, sample, &s->outputs[0], s->input);
    itg_kept_outputs_add(&s->reals, sample, s->outputs, s->quantizers);
}

/* Counts hits. A negative number means that the metric is not known. */
static void add_hits(const evaluation_state *s, int64_t sample, int64_t class_id,
                     itg_evaluation *out)
{
    const itg_evaluate_options *o = s->options;
    const itg_sample x = {s->backend->output_count ? &s->outputs[0] : NULL,
                          class_id,
                          s->classes ? &s->classes[sample] : NULL,
                          o->float_classes ? &o->float_classes[sample] : NULL,
                          s->binary ? &s->binary[sample] : NULL,
                          s->binary ? itg_real_at(&s->outputs[0], s->quantizers[0], 0) -
                                          (o->probabilities ? 0.5 : 0)
                                    : 0};
    for (int m = 0; m < ITG_METRIC_COUNT; m++) {
        int hit = itg_hit_of[m] && out->hits[m] >= 0 ? itg_hit_of[m](&x) : -1;
        out->hits[m] = hit < 0 ? -1 : out->hits[m] + hit;
    }
}

/* Adds the expected loss. A class outside of the expectation makes it unknown. */
static void add_loss(int64_t sample, int64_t class_id, itg_evaluation *out)
{
    const itg_expectation *e = out->expected;
    if (!e) return;
    if (class_id < 0 || class_id >= e->classes) {
        out->expected = NULL;
        return;
    }
    uint64_t loss = e->loss[sample * e->classes + class_id];
    out->lost += loss;
    out->lost_squares += loss * loss;
}

static itg_status account(evaluation_state *s, int64_t item, itg_evaluation *out, itg_error *err)
{
    const itg_evaluate_options *o = s->options;
    int64_t sample = evaluation_sample(s, s->first + item);
    unsigned char *data = s->block + (size_t)item * s->sample_bytes;
    point_outputs(s, data);
    if (s->kept)
        memcpy(s->kept + (size_t)sample * s->sample_bytes, data, s->sample_bytes);
    else
        add_sample(s, sample, data);
    int64_t class_id = s->backend->output_count ? itg_class_of(&s->outputs[0]) : -1;
    out->classes[sample] = class_id;
    if (o->keep && o->keep->elements > 0)
        itg_reference_add(o->keep, s->first + item, s->outputs, s->quantizers);
    add_hits(s, sample, class_id, out);
    add_loss(sample, class_id, out);
    return o->sink ? o->sink(o->sink_context, sample, s->outputs, s->backend->output_count, err)
                   : ITG_OK;
}

/* Whether the result certainly does not matter after the first `seen` samples. */
static bool is_decided(const evaluation_state *s, const itg_evaluation *out, int64_t seen)
{
    const itg_evaluate_options *o = s->options;
    int64_t left = out->samples - seen;
    if (seen == o->enough) return true;
    for (int m = 0; m < ITG_METRIC_COUNT; m++)
        if (out->hits[m] >= 0 && out->hits[m] + left < o->least_hits[m]) return true;
    if (out->expected && itg_expected_top1(out->expected, out->lost) < o->least_expected)
        return true;
    return o->most_distortion && s->distance &&
           itg_distortion_of(o->reference, s->sums) > *o->most_distortion;
}

/* Counts the samples of the block in order, up to the one that decides. */
static itg_status account_block(evaluation_state *s, itg_evaluation *out, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int64_t i = 0; i < s->count && status == ITG_OK && out->stopped_at == 0; i++) {
        status = account(s, i, out, err);
        int64_t seen = s->first + i + 1;
        if (seen < out->samples && is_decided(s, out, seen)) out->stopped_at = seen;
    }
    return status;
}

/* Sets the distortion that the samples seen give for all. */
static void estimate_distortion(evaluation_state *s, itg_evaluation *out)
{
    const double all = (double)out->samples / (double)out->stopped_at;
    const int32_t count = s->backend->output_count;
    for (int32_t i = 0; i < count; i++)
        s->sums[i] = 0;
    for (int64_t place = 0; place < out->stopped_at; place++)
        for (int32_t i = 0; i < count; i++)
            s->sums[i] += s->distance[evaluation_sample(s, place) * count + i];
    const double distortion = all * itg_distortion_of(s->options->reference, s->sums);
    if (isfinite(distortion)) out->distortion = distortion;
}

/* Sets the bounds that a stopped evaluation gives. */
static void keep_bounds(evaluation_state *s, itg_evaluation *out)
{
    int64_t left = out->samples - out->stopped_at;
    for (int m = 0; m < ITG_METRIC_COUNT; m++)
        if (out->hits[m] >= 0) out->hits[m] += left;
    for (int64_t i = out->stopped_at; i < out->samples; i++)
        out->classes[evaluation_sample(s, i)] = -1;
    memset(out->digest, 0, sizeof out->digest);
    if (s->distance && s->options->most_distortion)
        out->distortion = itg_distortion_of(s->options->reference, s->sums);
    if (s->distance && out->stopped_at == s->options->enough) estimate_distortion(s, out);
}

/* Computes what requires all samples: errors, and the user's metrics. */
static itg_status finish_labelled(evaluation_state *s, itg_evaluation *out, itg_error *err)
{
    const itg_evaluate_options *o = s->options;
    int64_t elements = 0;
    if (s->has_targets && itg_shape_elements(&o->labels->shape, &elements))
        for (int m = 0; m < ITG_METRIC_COUNT; m++)
            if (itg_error_of[m]) out->errors[m] = s->errors[m] / (double)elements;
    itg_measures_finish(&s->measures, out->measures);
    if (s->likeness) evaluation_finish_likeness(s, out);
    if (!s->reals.outputs) return ITG_OK;
    return itg_users_score(o->user, &s->reals, o->labels, o->user_lock, out->user_value, err);
}

/* Whole grains of the block up to the last sample that is wanted: caches keep whole ones. */
static int64_t count_to(int64_t count, int64_t wanted, int64_t grain)
{
    const int64_t whole = (wanted + grain - 1) / grain * grain;
    return whole < count ? whole : count;
}

static itg_status run_blocks(evaluation_state *s, itg_evaluation *out, itg_error *err)
{
    itg_status status = ITG_OK;
    int64_t block = (int64_t)s->workers * s->share, grain = s->backend->block;
    itg_sha256_init(&s->hash);
    while (s->first < out->samples && status == ITG_OK && out->stopped_at == 0) {
        s->count = out->samples - s->first < block ? out->samples - s->first : block;
        if (s->options->enough > 0)
            s->count = count_to(s->count, s->options->enough - s->first, grain);
        int64_t grains = (s->count + grain - 1) / grain;
        status = itg_parallel_for(s->workers, grains, run_grain, s, err);
        if (status == ITG_OK) status = account_block(s, out, err);
        s->first += block;
    }
    bool complete = status == ITG_OK && out->stopped_at == 0;
    for (int64_t i = 0; s->kept && complete && i < out->samples; i++)
        add_sample(s, i, s->kept + (size_t)i * s->sample_bytes);
    itg_sha256_final(&s->hash, out->digest);
    if (status != ITG_OK) return status;
    if (out->stopped_at > 0) {
        keep_bounds(s, out);
        return ITG_OK;
    }
    evaluation_finish_distortion(s, out);
    return finish_labelled(s, out, err);
}

itg_status itg_evaluate(const itg_backend *backend, const itg_evaluate_options *options,
                        itg_evaluation *out, itg_error *err)
{
    evaluation_state s = {
        .backend = backend, .options = options, .workers = itg_thread_count(options->threads)};
    itg_status status = itg_users_check(options->user, true, err);
    if (status == ITG_OK)
        status = itg_feed_init(&backend->inputs, options->data, options->preprocess, &s.feed, err);
    if (status != ITG_OK) return status;
    s.share = backend->block > 1 ? backend->block : BLOCK_PER_WORKER;
    itg_evaluation made = {.samples = options->data->shape.dims[0],
                           .distortion = (double)NAN,
                           .distortion_deviation = (double)NAN,
                           .user = options->user};
    if (options->expected && options->expected->samples == made.samples && made.samples > 0)
        made.expected = options->expected;
    for (int m = 0; m < ITG_METRIC_COUNT; m++)
        made.errors[m] = made.measures[m] = (double)NAN;
    for (int i = 0; i < ITG_USER_METRICS; i++)
        made.user_value[i] = (double)NAN;
    s.instances = calloc((size_t)s.workers, sizeof *s.instances);
    s.output_offset = calloc((size_t)backend->output_count + 1, sizeof *s.output_offset);
    s.outputs = calloc((size_t)backend->output_count + 1, sizeof *s.outputs);
    made.classes = calloc((size_t)made.samples + 1, sizeof *made.classes);
    s.quantizers = calloc((size_t)backend->output_count + 1, sizeof *s.quantizers);
    s.at_hand = calloc((size_t)s.workers * ((size_t)backend->output_count + 1), sizeof *s.at_hand);
    if (!s.instances || !s.output_offset || !s.outputs || !s.quantizers || !s.at_hand ||
        !made.classes)
        status = itg_fail(err, ITG_NO_MEMORY, "no memory to evaluate");
    if (status == ITG_OK) status = layout_outputs(&s, err);
    if (status == ITG_OK) status = evaluation_open_measures(&s, made.samples, err);
    if (status == ITG_OK) status = evaluation_read_labels(&s, made.samples, err);
    if (status == ITG_OK) status = keep_reals(&s, made.samples, err);
    if (status == ITG_OK) status = evaluation_open_reference(&s, made.samples, err);
    if (status == ITG_OK) status = run_blocks(&s, &made, err);
    for (int w = 0; s.instances && w < s.workers; w++)
        if (s.instances[w]) backend->destroy(s.instances[w]);
    free(s.instances);
    free(s.output_offset);
    free(s.outputs);
    free(s.quantizers);
    evaluation_close_reference(&s);
    itg_feed_deinit(&s.feed);
    free(s.at_hand);
    free(s.distance);
    free(s.sums);
    free(s.block);
    free(s.kept);
    free(s.classes);
    free(s.binary);
    free(s.likeness);
    free(s.input);
    itg_measures_deinit(&s.measures);
    itg_kept_outputs_deinit(&s.reals);
    if (status != ITG_OK && options->keep) itg_reference_deinit(options->keep);
    if (status != ITG_OK)
        itg_evaluation_deinit(&made);
    else
        *out = made;
    return status;
}
