/* Strategies and their files (intaglio.h). */
#include <intaglio/intaglio.h>
#include "base/base.h"
#include "recover/recover.h"
#include "search/sums.h"
#include "sim/evaluate.h"
#include "sim/strategy_file.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

itg_threshold_method itg_threshold_default(void)
{
    return ITG_THRESHOLD_DEFAULT;
}

itg_status itg_uniform_strategy(const itg_model *model, const itg_hardware *hw,
                                const itg_preprocess *p, const itg_stats *stats,
                                const itg_dataset *calibration, const itg_uniform_options *options,
                                itg_strategy_file **out, itg_error *err)
{
    itg_status status = itg_check_version("itg_uniform_options", options->version,
                                          ITG_UNIFORM_OPTIONS_VERSION, err);
    if (status != ITG_OK) return status;
    itg_strategy_file *file = calloc(1, sizeof *file);
    if (!file) return itg_fail(err, ITG_NO_MEMORY, "no memory for a strategy");
    status = itg_hardware_parse(hw->json, strlen(hw->json), hw->name, &file->hardware, err);
    if (status == ITG_OK)
        status = hw->all_float
                     ? itg_strategy_create(model, &file->strategy, err)
                     : itg_strategy_uniform(model, hw, stats, options, &file->strategy, err);
    if (status == ITG_OK && !hw->all_float)
        status = itg_fit_sums(model, hw, NULL, file->strategy, err);
    if (status != ITG_OK) {
        itg_strategy_close(file);
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

int64_t itg_default_samples(const itg_model *model)
{
    return itg_recover_samples(model, 0);
}

/* ---- codes of weights ---- */

int64_t itg_compared_samples(int64_t used)
{
    return used / 8 > 64 ? used / 8 : 64;
}

static bool has_codes(const itg_strategy *s)
{
    bool has = false;
    for (int32_t e = 0; e < s->edge_count; e++)
        has = has || s->edges[e].codes;
    return has;
}

static bool has_other_ranges(const itg_strategy *a, const itg_strategy *b)
{
    bool has = false;
    for (int32_t e = 0; e < a->edge_count; e++)
        has = has || a->edges[e].lo != b->edges[e].lo || a->edges[e].hi != b->edges[e].hi;
    return has;
}

/* Measures how far the outputs are from the float network's, if possible on samples from which no
 * codes were made. */
static itg_status measure(const itg_model *model, itg_strategy_file *file,
                          const itg_recover_options *o, double *out, itg_error *err)
{
    const bool measures[ITG_METRIC_COUNT] = {[ITG_METRIC_KL] = true};
    const itg_simulate_options options = {ITG_SIMULATE_OPTIONS_VERSION, .with_agreement = true,
                                          .threads = o->threads, .measures = measures};
    const int64_t all = o->data->shape.dims[0], used = itg_recover_samples(model, o->most_samples),
                  wanted = itg_compared_samples(used), count = all < wanted ? all : wanted,
                  first = used + count <= all ? used : all - count;
    int64_t *index = calloc((size_t)count + 1, sizeof *index);
    itg_dataset *some = NULL;
    itg_score score, before = file->results;
    for (int64_t i = 0; index && i < count; i++)
        index[i] = first + i;
    itg_status status =
        index ? itg_dataset_select(o->data, index, count, &some, err)
              : itg_fail(err, ITG_NO_MEMORY, "no memory for %" PRId64 " samples", count);
    if (status == ITG_OK) status = itg_simulate(model, file, some, &options, &score, err);
    if (status == ITG_OK) *out = itg_score_distance(&score);
    file->results = before;
    itg_data_close(some);
    free(index);
    return status;
}

/* Keeps the recovered strategy only if its outputs are nearer. */
static itg_status take_better(itg_strategy_file *file, const itg_model *model,
                              const itg_recover_options *o, itg_strategy *made, itg_error *err)
{
    itg_strategy *before = file->strategy;
    double nearest = 0, recovered = 0;
    itg_status status = measure(model, file, o, &nearest, err);
    file->strategy = made;
    if (status == ITG_OK) status = measure(model, file, o, &recovered, err);
    bool better = status == ITG_OK && recovered < nearest;
    file->strategy = better ? made : before;
    itg_strategy_destroy(better ? before : made);
    return status;
}

itg_status itg_strategy_recover(itg_strategy_file *file, const itg_model *model,
                                const itg_recover_options *options, bool *taken, itg_error *err)
{
    itg_strategy *made = NULL;
    itg_status status = itg_check_version("itg_recover_options", options->version,
                                          ITG_RECOVER_OPTIONS_VERSION, err);
    if (taken) *taken = false;
    if (status != ITG_OK || file->hardware->all_float) return status;
    status = itg_strategy_clone(file->strategy, &made, err);
    itg_recovery recovery = {model, file->hardware, &file->preprocess, NULL};
    if (status == ITG_OK) status = itg_recover(&recovery, options, made, err);
    itg_recovery_deinit(&recovery);
    if (status != ITG_OK) {
        itg_strategy_destroy(made);
        return status;
    }
    if (options->mode == ITG_RECOVER_AUTO &&
        (has_codes(made) || has_other_ranges(made, file->strategy))) {
        status = take_better(file, model, options, made, err);
    } else {
        itg_strategy_destroy(file->strategy);
        file->strategy = made;
    }
    if (taken) *taken = has_codes(file->strategy);
    return status;
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

itg_status itg_strategy_text(const itg_strategy_file *file, const itg_model *model, char **out,
                             itg_error *err)
{
    itg_strbuf text = {0};
    itg_status status = itg_strategy_file_text(file, model, &text, err);
    if (status == ITG_OK) return itg_take_text(&text, out, err);
    itg_strbuf_deinit(&text);
    return status;
}
