/* The public interface's middle part: data, calibration, strategies, simulation (intaglio.h). */
#include "kernels/math.h"
#include "sim/evaluate.h"
#include "sim/model.h"
#include "sim/strategy_file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- data ---- */

itg_status itg_data_open(const char *path, int64_t limit, itg_dataset **out, itg_error *err)
{
    return itg_dataset_load(path, limit, out, err);
}

void itg_data_close(itg_dataset *data)
{
    itg_dataset_destroy(data);
}
int64_t itg_data_samples(const itg_dataset *data)
{
    return data->shape.rank > 0 ? data->shape.dims[0] : 0;
}

itg_status itg_data_labels_open(const char *path, int64_t limit, int64_t samples, int64_t **out,
                                itg_error *err)
{
    itg_dataset *data = NULL;
    int64_t *labels = NULL, count = 0;
    itg_status status = itg_dataset_load(path, limit, &data, err);
    if (status == ITG_OK) status = itg_dataset_labels(data, &labels, &count, err);
    itg_dataset_destroy(data);
    if (status == ITG_OK && count != samples) {
        free(labels);
        return itg_fail(err, ITG_MISMATCH, "%s: %lld label%s, but the data has %lld sample%s", path,
                        (long long)count, itg_plural(count), (long long)samples,
                        itg_plural(samples));
    }
    if (status == ITG_OK) *out = labels;
    return status;
}

itg_status itg_calibrate_model(const itg_model *model, const itg_dataset *data,
                               const itg_preprocess *p, int threads, itg_stats **out,
                               itg_error *err)
{
    return itg_calibrate(model->graph, data, p, threads, out, err);
}

itg_status itg_calibrate_stream(const itg_model *model, itg_data_stream *stream,
                                const itg_preprocess *p, const itg_calibrate_options *options,
                                itg_stats **out, itg_error *err)
{
    const itg_calibration_source source = {.stream = stream};
    return itg_calibrate_from(model->graph, &source, p, options, out, err);
}

itg_threshold_method itg_threshold_default(void)
{
    return ITG_THRESHOLD_DEFAULT;
}

/* ---- strategies ---- */

itg_status itg_uniform_strategy(const itg_model *model, const itg_hardware *hw,
                                const itg_preprocess *p, const itg_stats *stats,
                                const itg_dataset *calibration, const itg_uniform_options *options,
                                itg_strategy_file **out, itg_error *err)
{
    itg_strategy_file *file = calloc(1, sizeof *file);
    if (!file) return itg_fail(err, ITG_NO_MEMORY, "no memory for a strategy");
    itg_status status =
        itg_hardware_parse(hw->json, strlen(hw->json), hw->name, &file->hardware, err);
    if (status == ITG_OK)
        status = hw->all_float
                     ? itg_strategy_create(model->graph, &file->strategy, err)
                     : itg_strategy_uniform(model->graph, hw, stats, options, &file->strategy, err);
    if (status != ITG_OK) {
        itg_strategy_file_destroy(file);
        return status;
    }
    file->preprocess = *p;
    snprintf(file->searcher, sizeof file->searcher, "uniform");
    if (stats) {
        memcpy(file->statistics_hash, stats->hash, sizeof file->statistics_hash);
        memcpy(file->calibration_hash, stats->data_hash, sizeof file->calibration_hash);
        file->calibration_samples = stats->samples;
        file->float_kernels = stats->kernels;
    }
    if (calibration)
        memcpy(file->calibration_hash, calibration->hash, sizeof file->calibration_hash);
    *out = file;
    return ITG_OK;
}

itg_status itg_strategy_open(const itg_model *model, const char *path, itg_strategy_file **out,
                             itg_error *err)
{
    return itg_strategy_file_read(path, model->graph, out, err);
}

itg_status itg_strategy_save(const itg_strategy_file *file, const itg_model *model,
                             const char *path, itg_error *err)
{
    return itg_strategy_file_write(file, model->graph, path, err);
}

void itg_strategy_close(itg_strategy_file *file)
{
    itg_strategy_file_destroy(file);
}
const itg_hardware *itg_strategy_hardware(const itg_strategy_file *file)
{
    return file->hardware;
}
itg_bits_range itg_strategy_bits(const itg_strategy_file *file, bool weights)
{
    itg_bits_range range = {0, 0};
    for (int32_t e = 0; e < file->strategy->edge_count; e++) {
        const itg_edge_choice *edge = &file->strategy->edges[e];
        if (edge->bits == 0 || (edge->channel_count > 0) != weights) continue;
        if (range.min == 0 || edge->bits < range.min) range.min = edge->bits;
        if (edge->bits > range.max) range.max = edge->bits;
    }
    return range;
}

itg_split_info itg_strategy_split(const itg_strategy_file *file)
{
    return file->split;
}
itg_float_kernels itg_strategy_float_kernels(const itg_strategy_file *file)
{
    return file->float_kernels;
}
itg_preprocess *itg_strategy_preprocess(itg_strategy_file *file)
{
    return &file->preprocess;
}

itg_status itg_annotate_strategy(const itg_model *model, const itg_strategy_file *file,
                                 itg_annotated **out, itg_error *err)
{
    return itg_annotate(model->graph, file->hardware, file->strategy, out, err);
}

/* ---- simulation ---- */

itg_status itg_simulate_strategy(const itg_model *model, itg_strategy_file *file,
                                 const itg_dataset *data, const int64_t *labels,
                                 bool with_agreement, int threads, itg_score *out, itg_error *err)
{
    itg_evaluation reference = {0}, evaluation = {0};
    itg_annotated *annotated = NULL;
    itg_score score = itg_score_unknown();
    itg_reference outputs = {0};
    itg_evaluate_options options = {
        .data = data, .preprocess = &file->preprocess, .labels = labels, .threads = threads};
    itg_runner float_runner = itg_runner_float(model->graph, ITG_FLOAT_REFERENCE),
               runner = float_runner;
    itg_status status = ITG_OK;
    if (!file->hardware->all_float) {
        status = itg_annotate(model->graph, file->hardware, file->strategy, &annotated, err);
        if (status != ITG_OK) return status;
        runner = itg_runner_sim(annotated);
        status = itg_score_costs(file->hardware, annotated, &score, err);
        options.keep = &outputs;
        if (status == ITG_OK && with_agreement)
            status = itg_evaluate(&float_runner, &options, &reference, err);
        options.keep = NULL;
        options.reference = &outputs;
        if (itg_model_is_classifier(model)) options.float_classes = reference.classes;
    }
    if (status == ITG_OK) status = itg_evaluate(&runner, &options, &evaluation, err);
    if (status == ITG_OK) {
        itg_score_quality(&evaluation, &score);
        if (file->hardware->all_float) {
            if (itg_model_is_classifier(model)) score.value[ITG_METRIC_AGREEMENT] = 1.0;
            score.value[ITG_METRIC_DISTORTION] = 0;
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
