/* The public search: splits the data, calibrates, makes the space, runs the engine, scores the best
 * on the hold-out. */
#include "search/points.h"
#include "search/search.h"
#include "search/measure.h"
#include "search/warm_start.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static itg_status check_options(const itg_search_options *o, itg_error *err)
{
    if (o->trials < 0 || o->patience < 0 || o->calibration_samples < 0 || o->search_samples < 0)
        return itg_fail(err, ITG_BAD_ARGUMENT, "trials, patience and samples are at least 0");
    if (!(o->seconds >= 0) || !(o->tolerance >= 0) || isinf(o->tolerance))
        return itg_fail(err, ITG_BAD_ARGUMENT, "seconds and tolerance are at least 0");
    if (o->confidence != 0 && !(o->confidence >= 0.5 && o->confidence <= 0.9999))
        return itg_fail(err, ITG_BAD_ARGUMENT, "the confidence is %g, expected 0.5 to 0.9999",
                        o->confidence);
    if (o->replay_count < 0 || (o->replay_count > 0 && !o->replay))
        return itg_fail(err, ITG_BAD_ARGUMENT, "trials to replay are missing");
    if (!itg_float_kernels_built(o->float_kernels))
        return itg_fail(err, ITG_UNSUPPORTED, "float kernels '%s': this build does not have them",
                        itg_float_kernels_name(o->float_kernels));
    return ITG_OK;
}

/* Says how a limit of RAM is kept. */
static void note_stripes(const itg_searching *s, const itg_tiling *t, double most)
{
    const itg_search_hooks *h = s->hooks;
    char text[256];
    char how[64] = "products of recurrent inputs step by step";
    if (!h || !h->note || (t->stripes == 0 && !t->by_products)) return;
    if (t->stripes > 0)
        snprintf(how, sizeof how, "%d stripes of %d layers", (int)t->stripes, (int)t->layers);
    snprintf(text, sizeof text,
             "RAM is that of %s, as realize --max-ram %.0f makes them, where the whole takes more: "
             "%lld bytes at the widest, whole %lld",
             how, most, (long long)t->bytes, (long long)t->whole_bytes);
    h->note(h->context, text);
}

/* Where the widest strategy exceeds the limit of RAM, strategies are computed by stripes. */
static itg_status choose_stripes(itg_searching *s, itg_error *err)
{
    const itg_goal goal = itg_goal_on(&s->options->goal, s->hw);
    const double most = itg_goal_limit(&goal, ITG_METRIC_PEAK_ACTIVATION_BYTES);
    itg_tiling tiling;
    if (!(most > 0 && most < 1e15)) return ITG_OK; /* more than any program takes */
    itg_status status = itg_evaluator_choose_stripes(&s->evaluator, most, &tiling, err);
    if (status == ITG_OK) note_stripes(s, &tiling, most);
    return status;
}

itg_status itg_search_make_space(itg_searching *s, itg_error *err)
{
    itg_evaluator *e = &s->evaluator;
    itg_status status = itg_point_space_create(s->hw, s->model, s->options, &e->points, err);
    if (status == ITG_OK && s->options->start)
        status = itg_warm_start_levels(s->options->start, &e->points->space, &s->start, err);
    if (status == ITG_OK)
        status = itg_threshold_cache_create(s->model, s->hw, e->points->groups, s->stats, &e->cache,
                                            err);
    return status == ITG_OK ? choose_stripes(s, err) : status;
}

static void note_flat_cost(const itg_searching *s)
{
    const itg_search_hooks *h = s->hooks;
    char text[256];
    if (!h || !h->note) return;
    snprintf(text, sizeof text,
             "no width changes the %s of this network on %.60s: among strategies that keep the "
             "goal the search takes the one of the highest quality",
             itg_metric_about(itg_goal_objective(&s->options->goal))->goal, s->hw->name);
    h->note(h->context, text);
}

static itg_status make_objective(itg_searching *s, itg_error *err)
{
    const itg_goal goal = itg_goal_on(&s->options->goal, s->hw);
    const itg_metric_info quality = itg_goal_about(&goal, itg_goal_quality_metric(&goal));
    if (!itg_score_knows(&s->result->floats.at[0], itg_goal_quality_metric(&goal)))
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "the goal's quality, %s, is not known of this data%s", quality.name,
                        quality.needs == ITG_NEEDS_LABELS
                            ? ": it has no labels of classes that it applies to"
                        : quality.needs == ITG_NEEDS_TARGETS ? ": its labels are no targets"
                                                             : "");
    itg_status status = itg_objective_make(&goal, &s->result->floats.at[0],
                                           &s->evaluator.points->space, &s->objective, err);
    s->objective.quality_floor = itg_search_aim(s, s->objective.quality_floor);
    if (status == ITG_OK)
        status = itg_measure_levels(&s->evaluator, &s->objective, s->options->threads,
                                    &s->result->cost_varies, err);
    if (status == ITG_OK && !s->result->cost_varies) note_flat_cost(s);
    if (status == ITG_OK && s->options->past)
        status =
            itg_warm_start_past(s->options->past, &s->objective, &s->past, &s->past_count, err);
    return status;
}

/* ---- the strategy of the best ---- */

static void record_origin(const itg_searching *s, itg_strategy_file *file)
{
    file->preprocess = *s->evaluator.preprocess;
    file->seed = s->options->seed;
    file->split = s->split.info;
    file->calibration_samples = s->split.info.count[ITG_SPLIT_CALIBRATION];
    memcpy(file->calibration_hash, s->stats->data_hash, sizeof file->calibration_hash);
    file->float_kernels = s->stats->kernels;
    memcpy(file->statistics_hash, s->stats->hash, sizeof file->statistics_hash);
    snprintf(file->searcher, sizeof file->searcher, "%s",
             *s->options->searcher ? s->options->searcher : s->searcher->name);
}

itg_status itg_search_make_file(const itg_searching *s, int32_t round, const int32_t *point,
                                itg_strategy_file **out, itg_error *err)
{
    const itg_hardware *hw = s->hw;
    itg_strategy_file *file = calloc(1, sizeof *file);
    if (!file) return itg_fail(err, ITG_NO_MEMORY, "no memory for a strategy");
    itg_status status =
        itg_hardware_parse(hw->json, strlen(hw->json), hw->name, &file->hardware, err);
    if (status == ITG_OK) status = itg_search_resolve(s, round, point, &file->strategy, err);
    if (status != ITG_OK) {
        itg_strategy_close(file);
        return status;
    }
    record_origin(s, file);
    *out = file;
    return ITG_OK;
}

static itg_status make_strategy(itg_searching *s, itg_error *err)
{
    itg_search_result *r = s->result;
    if (r->run.best.index < 0) return ITG_OK;
    itg_scoring scoring = {.set = &s->sets[ITG_SET_HOLDOUT], .threads = s->options->threads};
    itg_strategy_file *file = NULL;
    const itg_stop stop = s->evaluator.stop;
    s->evaluator.stop = (itg_stop){0}; /* a best without its strategy is of no use */
    itg_status status = itg_search_make_file(s, r->run.best.round, r->run.best.point, &file, err);
    s->evaluator.stop = stop;
    if (status != ITG_OK) return status;
    r->strategy = file;
    if (itg_search_recovers(s) && !s->repeated && !itg_search_has_own_codes(s, &r->run.best))
        status = itg_search_refine_codes(s, &file->strategy, &r->run.best, err);
    if (status == ITG_OK)
        status = itg_evaluator_score_strategy(&s->evaluator, file->strategy, &scoring,
                                              &r->best_holdout, err);
    r->holdout_known = status == ITG_OK;
    if (status != ITG_OK && status != ITG_CANCELLED) return status;
    if (r->holdout_known) file->results = r->best_holdout;
    return ITG_OK;
}

/* ---- all of it ---- */

static itg_status calibrate(itg_searching *s, const itg_dataset *data, itg_error *err)
{
    const itg_calibration_source source = {.data = data,
                                           .samples = s->split.part[ITG_SPLIT_CALIBRATION],
                                           .count = s->split.info.count[ITG_SPLIT_CALIBRATION]};
    const itg_calibrate_options options = {ITG_CALIBRATE_OPTIONS_VERSION, s->options->float_kernels,
                                           s->options->threads, s->evaluator.stop};
    return itg_calibrate_from(s->model, &source, s->evaluator.preprocess, &options, &s->stats, err);
}

void itg_search_deinit(itg_searching *s)
{
    itg_search_end_codes(s);
    itg_evaluator_deinit(&s->evaluator);
    for (int32_t i = 0; i < ITG_SEARCH_ROUNDS; i++)
        itg_recovered_destroy(s->codes[i]);
    itg_stats_destroy(s->stats);
    free(s->start);
    free(s->past);
    itg_search_drop_samples(s);
    pthread_mutex_destroy(&s->user_lock);
}

static itg_stop stop_of(const itg_searching *s, bool (*asked)(void *context))
{
    return (itg_stop){asked, s->hooks ? s->hooks->context : NULL};
}

/* What is known stays known when there is no time for the rest. */
static itg_status conclude(itg_searching *s, itg_error *err)
{
    const itg_search_hooks *h = s->hooks;
    s->evaluator.stop = stop_of(s, h ? h->hurry : NULL);
    itg_status status = itg_search_select(s, err);
    if (status == ITG_OK) status = make_strategy(s, err);
    if (status == ITG_OK) status = itg_search_explain(s, err);
    s->evaluator.stop = stop_of(s, h ? h->cancelled : NULL);
    if (status == ITG_OK && s->options->hago_baseline) status = itg_search_run_hago(s, err);
    return status == ITG_CANCELLED ? ITG_OK : status;
}

static bool is_in_space(const itg_search_space *space, const itg_trial *trial)
{
    bool inside = trial->dim_count == space->dim_count;
    for (int32_t d = 0; inside && d < space->dim_count; d++)
        inside = itg_dim_level(&space->dims[d], trial->point[d]) >= 0;
    return inside;
}

static itg_status check_place(const itg_searching *s, const itg_trial *trial, itg_error *err)
{
    if (trial->round >= 0 && trial->round < ITG_SEARCH_ROUNDS &&
        is_in_space(&s->evaluator.points->space, trial))
        return ITG_OK;
    return itg_fail(err, ITG_MISMATCH,
                    "trial %lld is no point of this search: options, model or hardware differ",
                    (long long)trial->index);
}

static itg_status begin_codes(itg_searching *s, const itg_dataset *data, itg_error *err)
{
    const itg_trial *t = s->repeated;
    itg_status status =
        itg_dataset_select(data, s->split.part[ITG_SPLIT_CALIBRATION],
                           s->split.info.count[ITG_SPLIT_CALIBRATION], &s->calibration, err);
    if (status == ITG_OK && t) status = check_place(s, t, err);
    if (status == ITG_OK && t) status = check_place(s, s->base, err);
    if (status == ITG_OK) status = itg_search_begin_codes(s, err);
    s->round = t ? t->round : ITG_ROUND_UNIFORM;
    if (status != ITG_OK || s->round == ITG_ROUND_OWN) return status;
    return itg_search_make_codes(s, s->round, s->round > 0 ? s->base->point : NULL, err);
}

itg_status itg_search_begin_evaluator(itg_searching *s, int64_t cache_bytes, itg_error *err)
{
    itg_metric quality = itg_goal_quality_metric(&s->options->goal);
    s->evaluator.user = s->options->goal.user;
    s->evaluator.user_lock = &s->user_lock;
    if (quality < ITG_METRIC_COUNT) s->evaluator.measures[quality] = true;
    return itg_evaluator_init(&s->evaluator, cache_bytes, err);
}

/* Samples, statistics, choice space, and the float network's results. */
static itg_status begin(itg_searching *s, const itg_search_data *data, itg_error *err)
{
    itg_status status = itg_search_begin_evaluator(s, s->options->cache_bytes, err);
    s->evaluator.block = s->options->block;
    s->evaluator.stop = stop_of(s, s->hooks ? s->hooks->cancelled : NULL);
    if (status == ITG_OK) status = itg_search_pick_samples(s, data, err);
    for (int set = 0; set < ITG_SETS; set++)
        s->sets[set].source = (uint64_t)set;
    if (status == ITG_OK) status = calibrate(s, data->data, err);
    if (status == ITG_OK) status = itg_search_make_space(s, err);
    if (status == ITG_OK) status = itg_search_score_float(s, err);
    return status == ITG_OK && itg_search_recovers(s) ? begin_codes(s, data->data, err) : status;
}

static itg_status perform(itg_searching *s, const itg_search_data *data, itg_error *err)
{
    const itg_search_hooks *h = s->hooks;
    double begun = h && h->clock ? h->clock(h->context) : 0;
    itg_status status = begin(s, data, err);
    if (status == ITG_OK) status = make_objective(s, err);
    if (status == ITG_OK) status = itg_search_score_uniform8(s, err);
    if (status == ITG_OK) status = itg_search_run_rounds(s, begun, err);
    if (status == ITG_OK) status = conclude(s, err);
    if (status == ITG_CANCELLED)
        itg_fail(err, status, "interrupted before the first trial; nothing was found");
    return status;
}

static bool same_model_options(const itg_model_options *a, const itg_model_options *b)
{
    return a->no_equalize == b->no_equalize && a->keep_softmax == b->keep_softmax &&
           strcmp(a->input_shapes, b->input_shapes) == 0 && strcmp(a->outputs, b->outputs) == 0;
}

itg_status itg_search_check(itg_searching *s, itg_error *err)
{
    const itg_search_options *o = s->options;
    const itg_model *model = s->model;
    itg_status status =
        itg_check_version("itg_search_options", o->version, ITG_SEARCH_OPTIONS_VERSION, err);
    if (status == ITG_OK && s->hooks)
        status =
            itg_check_version("itg_search_hooks", s->hooks->version, ITG_SEARCH_HOOKS_VERSION, err);
    if (status == ITG_OK && s->hooks && s->hooks->evaluator)
        status = itg_check_version("itg_search_evaluator", s->hooks->evaluator->version,
                                   ITG_SEARCH_EVALUATOR_VERSION, err);
    if (status == ITG_OK)
        status = itg_searcher_parse(o->searcher, &s->searcher, s->parameters, err);
    if (status != ITG_OK) return status;
    if (o->past && !s->searcher->takes_past)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "searcher %s learns nothing from earlier searches; surrogate does",
                        s->searcher->name);
    if (o->start && !s->searcher->takes_start)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "searcher %s asks for the same points wherever it begins: a start is of no "
                        "use to it",
                        s->searcher->name);
    if (!same_model_options(&model->options, &o->model))
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "%s was opened with other options (itg_model_options) than the search's "
                        "options say",
                        model->name);
    if (s->hw->all_float)
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s quantizes nothing: there is nothing to search",
                        s->hw->name);
    status = itg_goal_check(&o->goal, err);
    if (status == ITG_OK) status = itg_users_check(o->goal.user, true, err);
    if (status != ITG_OK) return status;
    if (itg_goal_counts_classes(&o->goal) && !itg_model_is_classifier(model))
        return itg_fail(
            err, ITG_BAD_ARGUMENT,
            "%s is no classifier (%d outputs, or no single axis of classes): its "
            "quality is an SQNR, and a floor is a least SQNR in dB, not a drop in points",
            model->name, (int)model->output_count);
    return check_options(o, err);
}

/* Checks, then runs `work`; s->result is what it left. */
static itg_status run(itg_searching *s, const itg_search_data *data,
                      itg_status (*work)(itg_searching *, const itg_search_data *, itg_error *),
                      itg_error *err)
{
    itg_status status = itg_search_check(s, err);
    if (status != ITG_OK) return status;
    s->result = calloc(1, sizeof *s->result);
    if (!s->result || pthread_mutex_init(&s->user_lock, NULL)) {
        free(s->result);
        return itg_fail(err, ITG_NO_MEMORY, "no memory to search");
    }
    s->result->run = (itg_engine_result)ITG_ENGINE_RESULT_INIT;
    s->result->goal = s->options->goal;
    status = work(s, data, err);
    itg_search_deinit(s);
    if (status == ITG_OK) return ITG_OK;
    itg_search_result_destroy(s->result);
    return status;
}

itg_status itg_search(const itg_model *model, const itg_hardware *hw, const itg_preprocess *p,
                      const itg_search_data *data, const itg_search_options *options,
                      const itg_search_hooks *hooks, itg_search_result **out, itg_error *err)
{
    itg_searching s = {.model = model,
                       .hw = hw,
                       .options = options,
                       .hooks = hooks,
                       .evaluator = {.model = model, .hw = hw, .preprocess = p}};
    itg_status status = run(&s, data, perform, err);
    if (status == ITG_OK) *out = s.result;
    return status;
}

/* ---- the strategy of any trial ---- */

/* A trial that was stopped early has its costs alone to compare. */
static bool is_same_score(const itg_score *now, const itg_score *before)
{
    bool same = before->stopped_at > 0 || memcmp(now->digest, before->digest, 32) == 0;
    for (int m = 0; m < ITG_METRIC_COUNT; m++)
        if (itg_metric_about((itg_metric)m)->needs == ITG_NEEDS_PROGRAM &&
            itg_score_knows(before, (itg_metric)m))
            same = same && now->value[m] == before->value[m];
    return same;
}

static itg_status repeat_trial(itg_searching *s, const itg_search_data *data, itg_error *err)
{
    itg_trial *trial = &s->result->run.best;
    itg_score score;
    *trial = *s->repeated;
    itg_status status = begin(s, data, err);
    if (status != ITG_OK) return status;
    status = check_place(s, trial, err);
    if (status != ITG_OK) return status;
    status = itg_search_score_point(s, trial->point, NULL, s->options->threads, &score, err);
    if (status == ITG_OK && (!trial->feasible || !is_same_score(&score, &trial->score)))
        return itg_fail(err, ITG_MISMATCH,
                        "trial %lld had another result: options, model, data, hardware or version "
                        "differ",
                        (long long)trial->index);
    return status == ITG_OK ? make_strategy(s, err) : status;
}

itg_status itg_search_strategy_at(const itg_model *model, const itg_hardware *hw,
                                  const itg_preprocess *p, const itg_search_data *data,
                                  const itg_search_options *options, const itg_trial *trials,
                                  int64_t index, itg_strategy_file **out, itg_error *err)
{
    itg_searching s = {.model = model,
                       .hw = hw,
                       .options = options,
                       .repeated = &trials[index],
                       .base = &trials[index],
                       .evaluator = {.model = model, .hw = hw, .preprocess = p}};
    for (int64_t i = index; i >= 0 && trials[index].round > 0; i--)
        if (trials[i].round == trials[index].round) s.base = &trials[i];
    itg_status status = run(&s, data, repeat_trial, err);
    if (status != ITG_OK) return status;
    *out = s.result->strategy;
    s.result->strategy = NULL;
    itg_search_result_destroy(s.result);
    return ITG_OK;
}
