/* Evaluations of the strategy, of changed ones and of relaxed graphs. */
#include "explain/explain.h"
#include <math.h>
#include <stdlib.h>

static itg_evaluate_options options_of(const explaining *x, const explain_set *set)
{
    return (itg_evaluate_options){.data = set->data,
                                  .preprocess = &x->file->preprocess,
                                  .labels = set->labels,
                                  .threads = x->o->threads,
                                  .stop = x->o->stop};
}

static itg_status run_float(explaining *x, explain_set *set)
{
    const itg_backend backend = itg_backend_float(x->g, ITG_FLOAT_REFERENCE);
    itg_evaluate_options options = options_of(x, set);
    options.keep = &set->reference;
    return itg_evaluate(&backend, &options, &set->floats, x->err);
}

itg_status explain_open_set(explaining *x, const itg_dataset *data, int64_t count, explain_set *out)
{
    explain_set set = {0};
    itg_status status = itg_dataset_select(data, NULL, count, &set.data, x->err);
    if (status == ITG_OK && x->o->labels)
        status = itg_labels_check(x->o->labels, data->shape.dims[0], x->err);
    if (status == ITG_OK && x->o->labels)
        status = itg_dataset_select(x->o->labels, NULL, count, &set.labels, x->err);
    if (status == ITG_OK) status = run_float(x, &set);
    if (status == ITG_OK && set.reference.elements == 0)
        status = itg_fail(x->err, ITG_UNSUPPORTED,
                          "%s: the outputs of the float network cannot be compared with others",
                          x->g->name);
    if (status == ITG_OK) status = explain_measure(x, &set, x->a, true, &set.base);
    if (status != ITG_OK)
        explain_close_set(&set);
    else
        *out = set;
    return status;
}

void explain_close_set(explain_set *set)
{
    itg_data_close(set->data);
    itg_data_close(set->labels);
    itg_reference_deinit(&set->reference);
    itg_evaluation_deinit(&set->floats);
    *set = (explain_set){0};
}

itg_status explain_measure(explaining *x, const explain_set *set, const itg_annotated *a,
                           bool with_costs, itg_score *out)
{
    const itg_backend backend = itg_backend_sim(a);
    itg_evaluate_options options = options_of(x, set);
    itg_evaluation evaluation = {0};
    itg_score score = itg_score_unknown();
    options.reference = &set->reference;
    if (itg_model_is_classifier(x->g)) options.float_classes = set->floats.classes;
    itg_status status = with_costs ? itg_score_costs(x->file->hardware, a, &score, x->err) : ITG_OK;
    if (status == ITG_OK) status = itg_evaluate(&backend, &options, &evaluation, x->err);
    if (status != ITG_OK) return status;
    itg_score_quality(&evaluation, &score);
    if (!isfinite(score.value[ITG_METRIC_DISTORTION]))
        score.value[ITG_METRIC_DISTORTION] = INFINITY;
    itg_evaluation_deinit(&evaluation);
    *out = score;
    return ITG_OK;
}

itg_status explain_measure_relaxed(explaining *x, const explain_set *set, itg_score *out)
{
    itg_annotated *relaxed = NULL;
    itg_status status =
        itg_relax(x->a, x->file->strategy, &x->sites, &x->relaxation, &relaxed, x->err);
    if (status == ITG_OK) status = explain_measure(x, set, relaxed, false, out);
    itg_annotated_destroy(relaxed);
    return status;
}

void explain_progress(const explaining *x, const char *what, int32_t done, int32_t planned)
{
    if (x->o->progress) x->o->progress(x->o->progress_context, what, done, planned);
}
