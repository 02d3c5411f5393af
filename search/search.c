/* The public search: splits the data, calibrates, makes the space, runs the engine, scores the best
 * on the hold-out. */
#include "search/engine.h"
#include "search/evaluator.h"
#include <stdlib.h>
#include <string.h>

struct itg_search_result {
    int64_t trial_count;
    itg_trial best;                                 /* index -1: none */
    itg_score floats[2], uniform8[2], best_holdout; /* [0]: search samples, [1]: hold-out */
    itg_strategy_file *strategy;                    /* of the best; NULL: none */
    char stop_reason[32];
};

/* Everything that lives as long as one call. */
typedef struct search {
    const itg_model *model;
    const itg_preprocess *preprocess;
    const itg_search_options *options;
    int64_t samples; /* of the data that is split */
    itg_split split;
    itg_dataset *calibration, *data, *holdout;
    int64_t *labels, *holdout_labels;   /* of data and holdout; NULL: none */
    int64_t *classes, *holdout_classes; /* the float network's */
    itg_stats *stats;
    itg_evaluator evaluator;
    itg_dim *dims;
    itg_search_space space;
    itg_search_result *result;
} search;

/* ---- data ---- */

static itg_status pick_labels(const int64_t *labels, const int64_t *samples, int64_t count,
                              int64_t **out, itg_error *err)
{
    if (!labels) return ITG_OK;
    int64_t *picked = malloc(sizeof *picked * (size_t)(count + 1));
    if (!picked) return itg_fail(err, ITG_NO_MEMORY, "no memory for labels");
    for (int64_t i = 0; i < count; i++)
        picked[i] = labels[samples ? samples[i] : i];
    *out = picked;
    return ITG_OK;
}

static itg_status pick_holdout(search *s, const itg_search_data *d, itg_error *err)
{
    if (!d->holdout) {
        itg_status status =
            itg_dataset_select(d->data, s->split.holdout, s->split.holdout_count, &s->holdout, err);
        return status == ITG_OK ? pick_labels(d->labels, s->split.holdout, s->split.holdout_count,
                                              &s->holdout_labels, err)
                                : status;
    }
    int64_t count = itg_data_samples(d->holdout), *all = malloc(sizeof *all * (size_t)(count + 1));
    if (!all) return itg_fail(err, ITG_NO_MEMORY, "no memory for the hold-out");
    for (int64_t i = 0; i < count; i++)
        all[i] = i;
    itg_status status = itg_dataset_select(d->holdout, all, count, &s->holdout, err);
    if (status == ITG_OK)
        status = pick_labels(d->holdout_labels, NULL, count, &s->holdout_labels, err);
    free(all);
    return status;
}

static itg_status pick_samples(search *s, const itg_search_data *d, itg_error *err)
{
    const itg_search_options *o = s->options;
    s->samples = itg_data_samples(d->data);
    itg_status status = itg_split_make(itg_data_samples(d->data), o->seed, o->calibration_samples,
                                       o->search_samples, !d->holdout, &s->split, err);
    if (status == ITG_OK)
        status = itg_dataset_select(d->data, s->split.calibration, s->split.calibration_count,
                                    &s->calibration, err);
    if (status == ITG_OK)
        status = itg_dataset_select(d->data, s->split.search, s->split.search_count, &s->data, err);
    if (status == ITG_OK)
        status = pick_labels(d->labels, s->split.search, s->split.search_count, &s->labels, err);
    if (status == ITG_OK) status = pick_holdout(s, d, err);
    return status;
}

/* ---- baselines ---- */

static itg_status score_float(const search *s, const itg_dataset *data, const int64_t *labels,
                              int64_t **classes, itg_score *out, itg_error *err)
{
    itg_runner runner = itg_runner_float(s->model->graph);
    itg_evaluate_options options = {.data = data,
                                    .preprocess = s->preprocess,
                                    .labels = labels,
                                    .threads = s->options->threads};
    itg_evaluation evaluation = {0};
    itg_status status = itg_evaluate(&runner, &options, &evaluation, err);
    if (status != ITG_OK) return status;
    *out = (itg_score){.weight_bytes = -1, .parameter_bytes = -1, .peak_activation_bytes = -1};
    itg_score_quality(&evaluation, out);
    out->agreement = 1.0;
    *classes = evaluation.classes;
    return ITG_OK;
}

static itg_status score_bits(const search *s, const int32_t *bits, bool holdout, itg_score *out,
                             itg_error *err)
{
    itg_sample_set set = {holdout ? s->holdout : s->data, holdout ? s->holdout_labels : s->labels,
                          holdout ? s->holdout_classes : s->classes};
    return itg_evaluator_score(&s->evaluator, bits, &set, s->options->threads, out, err);
}

static itg_status score_baselines(search *s, itg_error *err)
{
    int32_t *bits = malloc(sizeof *bits * (size_t)(s->space.dim_count + 1));
    if (!bits) return itg_fail(err, ITG_NO_MEMORY, "no memory");
    itg_uniform_bits(s->evaluator.space, 8, 8, bits);
    itg_status status = score_float(s, s->data, s->labels, &s->classes, &s->result->floats[0], err);
    if (status == ITG_OK)
        status = score_float(s, s->holdout, s->holdout_labels, &s->holdout_classes,
                             &s->result->floats[1], err);
    if (status == ITG_OK) status = score_bits(s, bits, false, &s->result->uniform8[0], err);
    if (status == ITG_OK) status = score_bits(s, bits, true, &s->result->uniform8[1], err);
    free(bits);
    return status;
}

/* ---- space ---- */

static itg_status make_space(search *s, const itg_hardware *hw, itg_error *err)
{
    itg_space_options options = {.weight = s->options->weight_bits,
                                 .activation = s->options->activation_bits};
    itg_evaluator *e = &s->evaluator;
    *e = (itg_evaluator){
        s->model, hw, s->preprocess, NULL, NULL, ITG_THRESHOLD_DEFAULT, ITG_THRESHOLD_DEFAULT};
    itg_status status = itg_choice_space_create(hw, s->model->graph, &options, &e->space, err);
    if (status == ITG_OK)
        status =
            itg_threshold_cache_create(s->model->graph, hw, e->space, s->stats, &e->cache, err);
    if (status != ITG_OK) return status;
    s->dims = calloc((size_t)e->space->group_count + 1, sizeof *s->dims);
    if (!s->dims) return itg_fail(err, ITG_NO_MEMORY, "no memory for the choice space");
    for (int32_t i = 0; i < e->space->group_count; i++) {
        const itg_choice_group *g = &e->space->groups[i];
        s->dims[i] =
            (itg_dim){g->bits_count, g->bits, g->is_weight ? (double)g->weight_elements / 8 : 0};
    }
    s->space = (itg_search_space){e->space->group_count, s->dims};
    return ITG_OK;
}

static itg_status score_point(void *context, const int32_t *bits, int threads, itg_score *out,
                              itg_error *err)
{
    const search *s = context;
    itg_sample_set set = {s->data, s->labels, s->classes};
    return itg_evaluator_score(&s->evaluator, bits, &set, threads, out, err);
}

/* ---- the result ---- */

static itg_status make_strategy(search *s, const itg_hardware *hw, itg_error *err)
{
    itg_search_result *r = s->result;
    itg_strategy_file *file = calloc(1, sizeof *file);
    if (!file) return itg_fail(err, ITG_NO_MEMORY, "no memory for the best strategy");
    r->strategy = file;
    itg_status status =
        itg_hardware_parse(hw->json, strlen(hw->json), hw->name, &file->hardware, err);
    if (status == ITG_OK)
        status =
            itg_strategy_resolve(s->evaluator.cache, r->best.bits, s->evaluator.activation_method,
                                 s->evaluator.weight_method, &file->strategy, err);
    if (status == ITG_OK) status = score_bits(s, r->best.bits, true, &r->best_holdout, err);
    if (status != ITG_OK) return status;
    file->preprocess = *s->preprocess;
    file->seed = s->options->seed;
    file->split = (itg_split_info){
        s->samples,
        s->options->seed,
        {s->split.calibration_count, s->split.search_count, s->split.holdout_count}};
    file->calibration_samples = s->split.calibration_count;
    memcpy(file->calibration_hash, s->calibration->hash, sizeof file->calibration_hash);
    memcpy(file->statistics_hash, s->stats->hash, sizeof file->statistics_hash);
    snprintf(file->searcher, sizeof file->searcher, "%s", s->options->searcher);
    const itg_score *score = &r->best_holdout;
    file->results = (itg_strategy_results){.present = true,
                                           .samples = score->samples,
                                           .top1 = score->top1,
                                           .agreement = score->agreement,
                                           .weight_bytes = score->weight_bytes,
                                           .parameter_bytes = score->parameter_bytes};
    memcpy(file->results.digest, score->digest, sizeof score->digest);
    return ITG_OK;
}

static itg_status run_engine(search *s, const itg_searcher_def *searcher, const itg_hardware *hw,
                             const itg_search_hooks *hooks, itg_error *err)
{
    itg_engine_options options = {.searcher = searcher,
                                  .space = &s->space,
                                  .quality_floor =
                                      itg_score_value(&s->result->floats[0]) - s->options->max_drop,
                                  .trials = s->options->trials,
                                  .seed = s->options->seed,
                                  .threads = s->options->threads,
                                  .score = score_point,
                                  .score_context = s,
                                  .hooks = hooks};
    itg_engine_result engine = {0};
    itg_status status = itg_engine_run(&options, &engine, err);
    if (status != ITG_OK) return status;
    s->result->trial_count = engine.trial_count;
    s->result->best = engine.best;
    snprintf(s->result->stop_reason, sizeof s->result->stop_reason, "%s", engine.stop_reason);
    return engine.best.index >= 0 ? make_strategy(s, hw, err) : ITG_OK;
}

static void deinit(search *s)
{
    itg_threshold_cache_destroy(s->evaluator.cache);
    itg_choice_space_destroy(s->evaluator.space);
    itg_stats_destroy(s->stats);
    itg_dataset_destroy(s->calibration);
    itg_dataset_destroy(s->data);
    itg_dataset_destroy(s->holdout);
    itg_split_deinit(&s->split);
    free(s->labels);
    free(s->holdout_labels);
    free(s->classes);
    free(s->holdout_classes);
    free(s->dims);
}

itg_status itg_search(const itg_model *model, const itg_hardware *hw, const itg_preprocess *p,
                      const itg_search_data *data, const itg_search_options *options,
                      const itg_search_hooks *hooks, itg_search_result **out, itg_error *err)
{
    const itg_searcher_def *searcher = itg_searcher_find(options->searcher);
    search s = {.model = model, .preprocess = p, .options = options};
    if (!searcher)
        return itg_fail(err, ITG_BAD_ARGUMENT, "unknown searcher '%s'", options->searcher);
    if (hw->all_float)
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s quantizes nothing: there is nothing to search",
                        hw->name);
    s.result = calloc(1, sizeof *s.result);
    if (!s.result) return itg_fail(err, ITG_NO_MEMORY, "no memory to search");
    s.result->best.index = -1;
    itg_status status = pick_samples(&s, data, err);
    if (status == ITG_OK)
        status = itg_calibrate(model->graph, s.calibration, p, options->threads, &s.stats, err);
    if (status == ITG_OK) status = make_space(&s, hw, err);
    if (status == ITG_OK) status = score_baselines(&s, err);
    if (status == ITG_OK) status = run_engine(&s, searcher, hw, hooks, err);
    deinit(&s);
    if (status != ITG_OK)
        itg_search_result_destroy(s.result);
    else
        *out = s.result;
    return status;
}

void itg_search_result_destroy(itg_search_result *result)
{
    if (!result) return;
    free((void *)(uintptr_t)result->best.bits);
    itg_strategy_file_destroy(result->strategy);
    free(result);
}

int64_t itg_search_trial_count(const itg_search_result *result)
{
    return result->trial_count;
}
const itg_trial *itg_search_best(const itg_search_result *result)
{
    return result->best.index >= 0 ? &result->best : NULL;
}
const itg_score *itg_search_float(const itg_search_result *result, bool holdout)
{
    return &result->floats[holdout];
}
const itg_score *itg_search_uniform8(const itg_search_result *result, bool holdout)
{
    return &result->uniform8[holdout];
}
const itg_score *itg_search_best_holdout(const itg_search_result *result)
{
    return &result->best_holdout;
}
itg_strategy_file *itg_search_strategy(itg_search_result *result)
{
    return result->strategy;
}
const char *itg_search_stop_reason(const itg_search_result *result)
{
    return result->stop_reason;
}
