/* Evaluates the strategy, changed strategies and relaxed graphs. */
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

/* Adds the quality of the program, or of an annotated graph where there is none, to *out, which
 * already holds the costs. */
static itg_status measure(explaining *x, const explain_set *set, const itg_program *program,
                          const itg_annotated *a, itg_score *out)
{
    itg_evaluate_options options = options_of(x, set);
    itg_evaluation evaluation = {0};
    options.reference = &set->reference;
    if (itg_model_is_classifier(x->g)) options.float_classes = set->floats.classes;
    const itg_backend backend = itg_backend_sim(a);
    itg_status status = program ? itg_evaluate_program(program, 0, &options, &evaluation, x->err)
                                : itg_evaluate(&backend, &options, &evaluation, x->err);
    if (status != ITG_OK) return status;
    itg_score_quality(&evaluation, out);
    if (!isfinite(out->value[ITG_METRIC_DISTORTION])) out->value[ITG_METRIC_DISTORTION] = INFINITY;
    itg_evaluation_deinit(&evaluation);
    return ITG_OK;
}

static itg_status measure_base(explaining *x, explain_set *set)
{
    set->base = itg_score_unknown();
    itg_status status = itg_program_costs(x->file->hardware, x->a, NULL, &set->base, x->err);
    return status == ITG_OK ? measure(x, set, NULL, x->a, &set->base) : status;
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
    if (status == ITG_OK) status = measure_base(x, &set);
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

static itg_status measure_program(explaining *x, const itg_annotated *a, const itg_program *program,
                                  itg_score *out)
{
    itg_score score = itg_score_unknown();
    itg_status status = itg_program_costs(x->file->hardware, a, program, &score, x->err);
    if (status == ITG_OK) status = measure(x, &x->all, program, a, &score);
    if (status == ITG_OK) *out = score;
    return status;
}

itg_status explain_measure_strategy(explaining *x, const itg_strategy *s, bool may_overflow,
                                    bool *runs, itg_score *out)
{
    const itg_realize_options options = {.version = ITG_REALIZE_OPTIONS_VERSION,
                                         .allow_overflow = may_overflow};
    itg_annotated *a = NULL;
    itg_program *program = NULL;
    itg_error why = {0};
    itg_status status = itg_annotate(x->g, x->file->hardware, s, &a, &why);
    if (status == ITG_OK) status = itg_realize_program(a, &options, &program, &why);
    *runs = status == ITG_OK;
    if (status == ITG_NO_MEMORY)
        status = itg_fail(x->err, status, "%s", why.message);
    else
        status = *runs ? measure_program(x, a, program, out) : ITG_OK;
    itg_program_destroy(program);
    itg_annotated_destroy(a);
    return status;
}

itg_status explain_measure_relaxed(explaining *x, const explain_set *set, itg_score *out)
{
    itg_annotated *relaxed = NULL;
    itg_status status =
        itg_relax(x->a, x->file->strategy, &x->sites, &x->relaxation, &relaxed, x->err);
    if (status != ITG_OK) return status;
    itg_score score = itg_score_unknown();
    status = measure(x, set, NULL, relaxed, &score);
    itg_annotated_destroy(relaxed);
    if (status == ITG_OK) *out = score;
    return status;
}

void explain_progress(const explaining *x, const char *what, int32_t done, int32_t planned)
{
    if (x->o->progress) x->o->progress(x->o->progress_context, what, done, planned);
}
