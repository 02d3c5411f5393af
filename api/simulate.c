/* The annotated graph of a strategy, and its simulation (intaglio.h). */
#include <intaglio/intaglio.h>
#include "base/base.h"
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

itg_status itg_simulate(const itg_model *model, itg_strategy_file *file, const itg_dataset *data,
                        const itg_simulate_options *o, itg_score *out, itg_error *err)
{
    const itg_simulate_options none = ITG_SIMULATE_OPTIONS_INIT;
    if (!o) o = &none;
    itg_evaluation reference = {0}, evaluation = {0};
    itg_annotated *annotated = NULL;
    itg_score score = itg_score_unknown();
    itg_reference outputs = {0};
    itg_evaluate_options options = {.data = data,
                                    .preprocess = &file->preprocess,
                                    .labels = o->labels,
                                    .probabilities = itg_gives_probabilities(model),
                                    .threads = o->threads,
                                    .stop = o->stop};
    itg_backend float_backend = itg_backend_float(model, ITG_FLOAT_REFERENCE),
                backend = float_backend;
    itg_status status =
        itg_check_version("itg_simulate_options", o->version, ITG_SIMULATE_OPTIONS_VERSION, err);
    if (status == ITG_OK && !file->hardware->all_float) {
        status = itg_annotate(model, file->hardware, file->strategy, &annotated, err);
        if (status != ITG_OK) return status;
        backend = itg_backend_sim(annotated);
        status = itg_program_costs(file->hardware, annotated, NULL, &score, err);
        options.keep = &outputs;
        if (status == ITG_OK && o->with_agreement)
            status = itg_evaluate(&float_backend, &options, &reference, err);
        options.keep = NULL;
        options.reference = &outputs;
        if (itg_model_is_classifier(model)) options.float_classes = reference.classes;
    }
    options.user = o->user;
    options.measures = o->measures;
    options.output_distortion = outputs.elements > 0 ? o->output_distortion : NULL;
    for (int32_t i = 0; o->output_distortion && i < itg_model_output_count(model); i++)
        o->output_distortion[i] = file->hardware->all_float ? 0 : (double)NAN;
    if (status == ITG_OK) status = itg_evaluate(&backend, &options, &evaluation, err);
    if (status == ITG_OK) {
        itg_score_quality(&evaluation, &score);
        if (file->hardware->all_float) {
            if (itg_model_is_classifier(model)) score.value[ITG_METRIC_AGREEMENT] = 1.0;
            score.value[ITG_METRIC_DISTORTION] = 0;
            itg_score_as_float(o->measures, model, &score);
        }
        file->results = score;
        *out = score;
    }
    itg_evaluation_deinit(&reference);
    itg_evaluation_deinit(&evaluation);
    itg_reference_deinit(&outputs);
    itg_annotated_destroy(annotated);
    return status;
}
