/* The baselines of a result: the float network, 8 bits everywhere, HAGO's pass. */
#include "search/search.h"
#include "search/sums.h"
#include <math.h>
#include <stdlib.h>

/* Whether quality is what the outputs have in common with the float network's. */
static bool is_compared(const itg_goal *goal)
{
    itg_metric_need needs = itg_goal_about(goal, itg_goal_quality_metric(goal)).needs;
    return needs == ITG_NEEDS_OUTPUTS || needs == ITG_NEEDS_FLOATS;
}

static itg_status score_float(itg_searching *s, int set, itg_error *err)
{
    itg_sample_set *samples = &s->sets[set];
    itg_backend backend = itg_backend_float(s->model, s->options->float_kernels);
    itg_evaluate_options options = {.data = samples->data,
                                    .preprocess = s->evaluator.preprocess,
                                    .labels = samples->labels,
                                    .measures = s->evaluator.measures,
                                    .probabilities = itg_gives_probabilities(s->model),
                                    .user = s->options->goal.user,
                                    .keep = &samples->outputs,
                                    .threads = s->options->threads,
                                    .stop = s->evaluator.stop};
    itg_evaluation evaluation = {0};
    itg_status status = itg_evaluate(&backend, &options, &evaluation, err);
    if (status != ITG_OK) return status;
    itg_score *out = &s->result->floats.at[set];
    *out = itg_score_unknown();
    itg_score_quality(&evaluation, out);
    samples->has_classes = itg_score_knows(out, ITG_METRIC_TOP1);
    out->value[ITG_METRIC_DISTORTION] = 0;
    bool compared = is_compared(&s->options->goal);
    if (samples->outputs.elements > 0) itg_score_as_float(s->evaluator.measures, s->model, out);
    /* Outputs that are not kept would be computed again for each trial. That is worth it only if
     * quality compares them. */
    if (!compared && !samples->outputs.values) itg_reference_deinit(&samples->outputs);
    if (itg_model_is_classifier(s->model)) {
        out->value[ITG_METRIC_AGREEMENT] = 1.0;
        samples->classes = evaluation.classes;
    } else {
        itg_evaluation_deinit(&evaluation);
    }
    if (compared && samples->outputs.elements == 0)
        return itg_fail(err, ITG_UNSUPPORTED,
                        "the float network's outputs are not finite numbers: there is no %s to "
                        "judge quality by",
                        itg_metric_about(itg_goal_quality_metric(&s->options->goal))->words);
    return ITG_OK;
}

static void note_few_samples(const itg_searching *s, double drop)
{
    const itg_search_hooks *h = s->hooks;
    const itg_expectation *e = &s->sets[ITG_SET_SEARCH].expected;
    char text[256];
    if (!h || !h->note) return;
    snprintf(
        text, sizeof text,
        "%lld search samples are too few to say that top-1 drops by at most %.4g points (%.4g %% "
        "confidence takes %.0f): trials are judged by what is to be expected",
        (long long)e->samples, 100 * drop, 100 * itg_search_confidence(s->options),
        ceil((double)e->samples * (e->top1 - itg_expected_bound(e, 0, 0)) / drop));
    h->note(h->context, text);
}

/* A floor is held with confidence where the samples can say so. */
static void bound(itg_searching *s, int which)
{
    itg_expectation *e = &s->sets[which].expected;
    const double drop = itg_goal_drop(&s->options->goal);
    if (drop < 0) return;
    e->bounded = itg_expectation_supports(e, drop);
    if (!e->bounded && drop > 0 && which == ITG_SET_SEARCH) note_few_samples(s, drop);
}

/* Fits the expected top-1 on the samples. On the hold-out top-1 is counted. */
static itg_status expect(itg_searching *s, int which, itg_error *err)
{
    itg_sample_set *set = &s->sets[which];
    double *floats = s->result->floats.at[which].value;
    int64_t *labels = NULL, count = 0;
    if (itg_goal_quality_metric(&s->options->goal) != ITG_METRIC_ACCURACY || !set->has_classes)
        return ITG_OK;
    itg_status status = itg_dataset_labels(set->labels, &labels, &count, err);
    if (status == ITG_OK)
        status = itg_expectation_make(&set->outputs, set->classes, labels,
                                      itg_search_confidence(s->options), &set->expected, err);
    free(labels);
    if (status != ITG_OK || set->expected.samples == 0) return status;
    bound(s, which);
    floats[ITG_METRIC_EXPECTED_TOP1] = floats[ITG_METRIC_TOP1];
    if (set->expected.bounded) floats[ITG_METRIC_TOP1_BOUND] = floats[ITG_METRIC_TOP1];
    return ITG_OK;
}

itg_status itg_search_expect(itg_searching *s, itg_error *err)
{
    itg_status status = expect(s, ITG_SET_SEARCH, err);
    return status == ITG_OK && itg_goal_counts_classes(&s->options->goal)
               ? itg_search_order_samples(s->model, &s->sets[ITG_SET_SEARCH], err)
               : status;
}

itg_status itg_search_score_float(itg_searching *s, itg_error *err)
{
    itg_status status = score_float(s, ITG_SET_SEARCH, err);
    if (status == ITG_OK) status = itg_search_expect(s, err);
    if (status == ITG_OK && s->sets[ITG_SET_SELECTION].data) {
        status = score_float(s, ITG_SET_SELECTION, err);
        if (status == ITG_OK) status = expect(s, ITG_SET_SELECTION, err);
    }
    if (status == ITG_OK) status = score_float(s, ITG_SET_HOLDOUT, err);
    s->result->floats.known = status == ITG_OK;
    return status;
}

/* The widths are those of the hardware, whatever the search is narrowed to. */
itg_status itg_search_score_uniform8(itg_searching *s, itg_error *err)
{
    const itg_point_space *points = s->evaluator.points;
    itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, 8, 8, points->activation_methods[0],
                                   points->weight_methods[0],   0, 0};
    itg_score_pair *pair = &s->result->uniform8;
    itg_strategy *strategy = NULL;
    itg_error why = {0};
    itg_status status = itg_strategy_uniform(s->model, s->hw, s->stats, &options, &strategy, &why);
    if (status == ITG_OK)
        status = itg_fit_sums(s->model, s->hw, &s->evaluator.constants, strategy, &why);
    for (int i = 0; i < 2 && status == ITG_OK; i++) {
        itg_scoring scoring = {.set = &s->sets[i], .threads = s->options->threads};
        status =
            itg_evaluator_score_strategy(&s->evaluator, strategy, &scoring, &pair->at[i], &why);
    }
    itg_strategy_destroy(strategy);
    pair->known = status == ITG_OK;
    if (!pair->known) pair->at[0] = pair->at[1] = itg_score_unknown();
    if (status == ITG_OK || status == ITG_INFEASIBLE || status == ITG_UNBOUNDED) return ITG_OK;
    return itg_fail(err, status, "%s", why.message);
}

itg_status itg_search_score_point(void *context, const int32_t *point, const itg_race *race,
                                  int threads, itg_score *out, itg_error *err)
{
    const itg_searching *s = context;
    const itg_scoring scoring = {.set = &s->sets[0], .race = race, .threads = threads};
    itg_strategy *strategy = NULL;
    itg_status status = itg_search_resolve(s, s->round, point, &strategy, err);
    if (status == ITG_OK)
        status = itg_evaluator_score_strategy(&s->evaluator, strategy, &scoring, out, err);
    itg_strategy_destroy(strategy);
    return status;
}

itg_status itg_search_find_conflicts(void *context, const int32_t *point, itg_conflict **out,
                                     int32_t *count, itg_error *err)
{
    const itg_searching *s = context;
    return itg_evaluator_conflicts(&s->evaluator, point, out, count, err);
}

static bool forward_cancelled(void *context)
{
    const itg_search_hooks *hooks = context;
    return hooks && hooks->cancelled && hooks->cancelled(hooks->context);
}

/* Runs it to its own end: limits of the search do not apply. Points that the search has scored are
 * not scored again. */
itg_status itg_search_run_hago(itg_searching *s, itg_error *err)
{
    itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .context = (void *)(uintptr_t)s->hooks,
                              .cancelled = forward_cancelled};
    itg_engine_options options = {.searcher = itg_searcher_find("hago-greedy"),
                                  .objective = &s->objective,
                                  .seed = s->options->seed,
                                  .threads = s->options->threads,
                                  .score = itg_search_score_point,
                                  .score_context = s,
                                  .conflicts = itg_search_find_conflicts,
                                  .hooks = &hooks,
                                  .memory = &s->result->memory[0],
                                  .no_racing = s->options->no_racing};
    itg_scoring scoring = {.set = &s->sets[1], .threads = s->options->threads};
    itg_score_pair *pair = &s->result->hago;
    itg_engine_result found = ITG_ENGINE_RESULT_INIT;
    if (!options.searcher) return ITG_OK;
    itg_status status = itg_engine_run(&options, &found, err);
    if (status == ITG_OK && found.goal_met && !forward_cancelled(hooks.context)) {
        pair->at[0] = found.best.score;
        status = itg_evaluator_score(&s->evaluator, found.best.point, &scoring, &pair->at[1], err);
        pair->known = status == ITG_OK;
        if (status == ITG_CANCELLED) status = ITG_OK;
    }
    itg_engine_result_deinit(&found);
    return status;
}
