/* What the labels of an evaluation are, and what the metrics need of them. */
#include "sim/evaluation.h"
#include <stdlib.h>

/* Refuses labels that no output can equal: of another data set, or counted from 1. */
static itg_status check_classes(const evaluation_state *s, int64_t samples, int64_t classes,
                                itg_error *err)
{
    if (s->outputs[0].dtype == ITG_S64 && classes == 1)
        return ITG_OK; /* the output is the class itself */
    for (int64_t i = 0; i < samples; i++)
        if (s->classes[i] < 0 || s->classes[i] >= classes)
            return itg_fail(err, ITG_MISMATCH,
                            "a label is %lld, but the model has %lld classes, 0 to %lld",
                            (long long)s->classes[i], (long long)classes, (long long)classes - 1);
    return ITG_OK;
}

/* Reads labels for a single logit. */
static itg_status read_binary(evaluation_state *s, int64_t samples, itg_error *err)
{
    const itg_dataset *labels = s->options->labels;
    const itg_tensor t = {labels->dtype, labels->shape, labels->data};
    s->binary = calloc((size_t)samples + 1, sizeof *s->binary);
    if (!s->binary) return itg_fail(err, ITG_NO_MEMORY, "no memory for labels");
    for (int64_t i = 0; i < samples; i++)
        s->binary[i] = itg_real_at(&t, NULL, i) > 0;
    return ITG_OK;
}

itg_status evaluation_open_measures(evaluation_state *s, int64_t samples, itg_error *err)
{
    const itg_evaluate_options *o = s->options;
    const char *name = NULL;
    itg_tensor input = {0};
    int64_t elements = 0;
    if (!o->measures || s->backend->output_count == 0) return ITG_OK;
    const itg_input_list *inputs = &s->backend->inputs;
    if (inputs->count == 1) input = inputs->input(inputs->context, 0, &name);
    const itg_measured of = {o->measures,
                             &s->outputs[0],
                             s->quantizers[0],
                             o->labels,
                             inputs->count == 1 ? &input : NULL,
                             samples,
                             o->probabilities};
    itg_status status = itg_measures_init(&s->measures, &of, err);
    s->measures.of.input = NULL;
    if (status == ITG_OK && s->measures.classes == 1 && s->measures.positions == 1 &&
        o->measures[ITG_METRIC_BINARY_ACCURACY])
        status = read_binary(s, samples, err);
    if (status != ITG_OK || !s->measures.rebuilds) return status;
    (void)itg_shape_elements(&input.shape, &elements);
    s->input = calloc((size_t)elements + 1, sizeof *s->input);
    return s->input ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for a sample");
}

/* Whether the labels are for requested metrics only: maps, texts, anomalies. */
static bool are_for_measures(const evaluation_state *s, int64_t samples)
{
    const itg_measured of = {.output = &s->outputs[0],
                             .quantizer = s->quantizers[0],
                             .labels = s->options->labels,
                             .samples = samples};
    return s->measures.rebuilds || itg_labels_are_maps(&of);
}

itg_status evaluation_read_labels(evaluation_state *s, int64_t samples, itg_error *err)
{
    const itg_dataset *labels = s->options->labels;
    int64_t outputs = 0, elements = 0;
    itg_status status = labels ? itg_labels_check(labels, samples, err) : ITG_OK;
    if (status != ITG_OK || !labels || s->backend->output_count == 0 ||
        !itg_shape_elements(&s->outputs[0].shape, &outputs) ||
        !itg_shape_elements(&labels->shape, &elements))
        return status;
    bool has_classes = itg_has_classes(s->outputs[0].dtype, &s->outputs[0].shape);
    s->has_targets = elements == samples * outputs && !(has_classes && outputs == 1) &&
                     (!s->quantizers[0] || s->quantizers[0]->scale_count == 1);
    if (s->has_targets) return ITG_OK;
    if (are_for_measures(s, samples)) return ITG_OK;
    if (has_classes) {
        itg_error why = {0};
        status = itg_dataset_labels(labels, &s->classes, &samples, &why);
        if (status == ITG_OK) status = check_classes(s, samples, outputs, &why);
        if (status == ITG_OK) return ITG_OK;
        free(s->classes);
        s->classes = NULL;
        if (status == ITG_NO_MEMORY || !itg_users_any(s->options->user))
            return itg_fail(err, status, "%s", why.message);
    }
    if (itg_users_any(s->options->user)) return ITG_OK;
    return itg_fail(err, ITG_MISMATCH,
                    "labels are given, but the model's first output has no axis of classes that "
                    "they could number: %lld elements on more than one axis, or one",
                    (long long)outputs);
}
