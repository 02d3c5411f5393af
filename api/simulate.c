/* The annotated graph of a strategy, and its simulation (intaglio.h). */
#include <intaglio/intaglio.h>
#include "base/base.h"
#include "realize/batch.h"
#include "search/engine.h"
#include "search/evaluator.h"
#include "sim/strategy_file.h"
#include <math.h>

itg_status itg_annotate_strategy(const itg_model *model, const itg_strategy_file *file,
                                 itg_annotated **out, itg_error *err)
{
    return itg_annotate(model, file->hardware, file->strategy, out, err);
}

itg_status itg_annotated_text(const itg_annotated *annotated, char **out, itg_error *err)
{
    itg_strbuf text = {0};
    itg_annotated_print(annotated, &text);
    return itg_take_text(&text, out, err);
}

/* What runs a strategy: the float network, the executor or the definition. */
typedef struct runner {
    itg_annotated *annotated; /* of the definition */
    itg_program *program;     /* of the executor */
    itg_backend backend;      /* where there is no program */
} runner;

static void close_runner(runner *r)
{
    itg_program_destroy(r->program);
    itg_annotated_destroy(r->annotated);
}

/* Realizes the strategy for the executor, and gives its annotated graph back. */
static itg_status open_program(const itg_hardware *hw, runner *r, itg_score *costs, itg_error *err)
{
    const itg_realize_options realize = {ITG_REALIZE_OPTIONS_VERSION, .allow_overflow = true};
    itg_status status = itg_realize_program(r->annotated, &realize, &r->program, err);
    if (status == ITG_OK) status = itg_program_costs(hw, r->annotated, r->program, costs, err);
    itg_annotated_destroy(r->annotated);
    r->annotated = NULL;
    return status;
}

/* Opens what runs the strategy, and takes its costs. */
static itg_status open_runner(const itg_model *model, const itg_strategy_file *file,
                              bool definition, runner *r, itg_score *costs, itg_error *err)
{
    r->backend = itg_backend_float(model, ITG_FLOAT_REFERENCE);
    if (file->hardware->all_float) return ITG_OK;
    itg_status status = itg_annotate(model, file->hardware, file->strategy, &r->annotated, err);
    if (status == ITG_OK && !definition) return open_program(file->hardware, r, costs, err);
    if (status == ITG_OK)
        status = itg_program_costs(file->hardware, r->annotated, NULL, costs, err);
    if (status == ITG_OK) r->backend = itg_backend_sim(r->annotated);
    return status;
}

/* Runs the float network, for its classes and outputs. */
static itg_status run_float(const itg_model *model, const itg_evaluate_options *options,
                            itg_evaluation *classes, itg_reference *outputs, itg_error *err)
{
    itg_backend backend = itg_backend_float(model, ITG_FLOAT_REFERENCE);
    itg_evaluate_options own = *options;
    own.keep = outputs;
    return itg_evaluate(&backend, &own, classes, err);
}

static void take_score(const itg_model *model, itg_strategy_file *file,
                       const itg_simulate_options *o, const itg_evaluation *e, itg_score *score)
{
    itg_score_quality(e, score);
    if (file->hardware->all_float) {
        if (itg_model_is_classifier(model)) score->value[ITG_METRIC_AGREEMENT] = 1.0;
        score->value[ITG_METRIC_DISTORTION] = 0;
        itg_score_as_float(o->measures, model, score);
    }
    file->results = *score;
}

itg_status itg_simulate(const itg_model *model, itg_strategy_file *file, const itg_dataset *data,
                        const itg_simulate_options *o, itg_score *out, itg_error *err)
{
    const itg_simulate_options none = ITG_SIMULATE_OPTIONS_INIT;
    if (!o) o = &none;
    itg_evaluation reference = {0}, evaluation = {0};
    itg_score score = itg_score_unknown();
    itg_reference outputs = {0};
    itg_evaluate_options options = {.data = data,
                                    .preprocess = &file->preprocess,
                                    .labels = o->labels,
                                    .probabilities = itg_gives_probabilities(model),
                                    .threads = o->threads,
                                    .stop = o->stop};
    const bool all_float = file->hardware->all_float;
    runner r = {0};
    itg_status status =
        itg_check_version("itg_simulate_options", o->version, ITG_SIMULATE_OPTIONS_VERSION, err);
    if (status == ITG_OK) status = open_runner(model, file, o->definition, &r, &score, err);
    if (status == ITG_OK && !all_float && o->with_agreement)
        status = run_float(model, &options, &reference, &outputs, err);
    if (!all_float) options.reference = &outputs;
    if (!all_float && itg_model_is_classifier(model)) options.float_classes = reference.classes;
    options.user = o->user;
    options.measures = o->measures;
    options.output_distortion = outputs.elements > 0 ? o->output_distortion : NULL;
    for (int32_t i = 0; o->output_distortion && i < itg_model_output_count(model); i++)
        o->output_distortion[i] = all_float ? 0 : (double)NAN;
    if (status == ITG_OK)
        status = r.program ? itg_evaluate_program(r.program, 0, &options, &evaluation, err)
                           : itg_evaluate(&r.backend, &options, &evaluation, err);
    if (status == ITG_OK) {
        take_score(model, file, o, &evaluation, &score);
        *out = score;
    }
    itg_evaluation_deinit(&reference);
    itg_evaluation_deinit(&evaluation);
    itg_reference_deinit(&outputs);
    close_runner(&r);
    return status;
}
