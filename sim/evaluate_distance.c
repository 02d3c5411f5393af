/* The distance of an evaluation's outputs from the float network's, which are stored or computed
 * again (distance.h). */
#include "sim/evaluation.h"
#include <math.h>
#include <stdlib.h>

itg_status evaluation_open_reference(evaluation_state *s, int64_t samples, itg_error *err)
{
    const itg_reference *r = s->options->reference;
    int32_t count = s->backend->output_count;
    int64_t elements = itg_real_elements(s->outputs, s->quantizers, count);
    itg_status status = ITG_OK;
    if (s->options->keep && elements > 0)
        status = itg_reference_init(s->backend, samples, elements, s->options->keep, err);
    if (status != ITG_OK || !r || r->samples != samples || r->elements != elements ||
        r->output_count != count || elements == 0)
        return status;
    size_t sums = 0;
    if (itg_mul_size((size_t)samples + 1, (size_t)count, &sums))
        s->distance = calloc(sums, sizeof *s->distance);
    s->sums = calloc((size_t)count, sizeof *s->sums);
    if (!r->values) s->floats = calloc((size_t)s->workers, sizeof *s->floats);
    const bool *asked = s->options->measures;
    bool likened = asked && (asked[ITG_METRIC_COSINE] || asked[ITG_METRIC_KL]);
    if (likened && itg_mul_size((size_t)samples + 1, ITG_LIKENESS, &sums))
        s->likeness = calloc(sums, sizeof *s->likeness);
    return s->distance && s->sums && (r->values || s->floats) && (s->likeness || !likened)
               ? ITG_OK
               : itg_fail(err, ITG_NO_MEMORY, "no memory to compare outputs");
}

static itg_status open_floats(const evaluation_state *s, float_worker *f, itg_error *err)
{
    const itg_reference *r = s->options->reference;
    size_t count = (size_t)r->output_count + 1;
    if (f->instance) return ITG_OK;
    f->wanted = malloc(sizeof *f->wanted * (size_t)r->elements);
    f->outputs = calloc(count, sizeof *f->outputs);
    f->quantizers = calloc(count, sizeof *f->quantizers);
    if (!f->wanted || !f->outputs || !f->quantizers)
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the float network's outputs");
    for (int32_t i = 0; i < r->output_count; i++)
        f->quantizers[i] = r->backend.quantizer(r->backend.context, i);
    return r->backend.create(r->backend.context, &f->instance, err);
}

/* Returns the float network's outputs of the sample at a place, stored or recomputed. */
static itg_status wanted_at(evaluation_state *s, int worker, int64_t place, const float **out,
                            itg_error *err)
{
    const itg_reference *r = s->options->reference;
    *out = r->values ? r->values + evaluation_sample(s, place) * r->elements : NULL;
    if (r->values) return ITG_OK;
    float_worker *f = &s->floats[worker];
    evaluation_filling filled = {s, false};
    const itg_sample_source source = {evaluation_fill, &filled};
    itg_status status = open_floats(s, f, err);
    if (status == ITG_OK) status = r->backend.run(f->instance, &source, place, 1, err);
    if (status != ITG_OK) return status;
    for (int32_t i = 0; i < r->output_count; i++)
        f->outputs[i] = r->backend.output(f->instance, i, 0);
    itg_copy_reals(f->outputs, f->quantizers, r->output_count, f->wanted);
    *out = f->wanted;
    return ITG_OK;
}

itg_status evaluation_compare(evaluation_state *s, int worker, int64_t place,
                              const itg_tensor *outputs, itg_error *err)
{
    const itg_reference *r = s->options->reference;
    const float *wanted = NULL;
    itg_status status = wanted_at(s, worker, place, &wanted, err);
    if (status != ITG_OK) return status;
    itg_distances(r, wanted, outputs, s->quantizers,
                  s->distance + evaluation_sample(s, place) * r->output_count);
    if (s->likeness)
        itg_likeness(&s->measures.of, wanted, outputs, s->quantizers, r->output_count,
                     s->likeness + evaluation_sample(s, place) * ITG_LIKENESS);
    return ITG_OK;
}

void evaluation_close_reference(evaluation_state *s)
{
    for (int w = 0; s->floats && w < s->workers; w++) {
        float_worker *f = &s->floats[w];
        if (f->instance) s->options->reference->backend.destroy(f->instance);
        free(f->wanted);
        free(f->outputs);
        free((void *)f->quantizers);
    }
    free(s->floats);
}

/* Standard deviation of the sum, if the samples' contributions are independent. */
static double deviation_of(const evaluation_state *s, const itg_evaluation *out)
{
    const itg_reference *r = s->options->reference;
    double mean = out->distortion / (double)out->samples, squares = 0;
    for (int64_t i = 0; i < out->samples; i++) {
        double from = itg_distortion_of(r, s->distance + i * s->backend->output_count) - mean;
        squares += from * from;
    }
    return sqrt(squares);
}

void evaluation_finish_distortion(evaluation_state *s, itg_evaluation *out)
{
    itg_reference *keep = s->options->keep;
    if (keep && keep->elements > 0) itg_reference_finish(keep);
    if (!s->distance) return;
    double distortion = itg_distortion_of(s->options->reference, s->sums);
    if (isfinite(distortion)) {
        out->distortion = distortion;
        out->distortion_deviation = deviation_of(s, out);
    }
    for (int32_t i = 0; s->options->output_distortion && i < s->backend->output_count; i++)
        s->options->output_distortion[i] = itg_output_distortion(s->options->reference, s->sums, i);
}

/* Computes means over the samples, in their order. */
void evaluation_finish_likeness(const evaluation_state *s, itg_evaluation *out)
{
    static const itg_metric metrics[ITG_LIKENESS] = {ITG_METRIC_COSINE, ITG_METRIC_KL};
    for (int k = 0; k < ITG_LIKENESS; k++) {
        double sum = 0;
        for (int64_t i = 0; i < out->samples; i++)
            sum += s->likeness[i * ITG_LIKENESS + k];
        if (s->options->measures[metrics[k]] && out->samples > 0 && isfinite(sum))
            out->measures[metrics[k]] = sum / (double)out->samples;
    }
}
