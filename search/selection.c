/* The final choice, on samples that nothing else saw (itg_selection).
 *
 * Hundreds of candidates were looked at on the search samples, and the cheapest that meets the goal
 * there is likely to be one that was lucky. So a few of those that meet it, from the safest to the
 * cheapest, are tested on the selection samples, each at the full level; the first failure ends it.
 * The float network's probabilities (sim/expected.h) are fitted anew there. */
#include "base/selection.h"
#include "kernels/math.h"
#include "search/candidates.h"
#include "search/search.h"
#include <math.h>
#include <stdlib.h>

/* ---- what a quality is at least ---- */

/* The relative entropy of two shares. */
static double divergence(double p, double q)
{
    double sum = p > 0 ? p * itg_log(p / q) : 0;
    return p < 1 ? sum + (1 - p) * itg_log((1 - p) / (1 - q)) : sum;
}

/* A lower bound of a population's share, given that of the samples: Hoeffding 1963, Probability
 * Inequalities for Sums of Bounded Random Variables, theorem 1. */
static double least_share(int64_t samples, double share, double confidence)
{
    double low = 0, high = share;
    double most = -itg_log(1 - confidence) / (double)samples;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(divergence(share, middle) > most ? &low : &high) = middle;
    }
    return low;
}

static bool judges_agreement(const itg_searching *s)
{
    itg_metric metric = itg_goal_quality_metric(&s->options->goal);
    return metric == ITG_METRIC_AGREEMENT ||
           (metric == ITG_METRIC_ACCURACY && !s->sets[ITG_SET_SELECTION].has_classes);
}

/* As itg_goal_quality; NaN: not known. */
static double least_quality(const itg_searching *s, const itg_score *score, double deviation,
                            double floor)
{
    const itg_goal *goal = &s->options->goal;
    const double confidence = itg_search_confidence(s->options);
    if (itg_goal_quality_metric(goal) == ITG_METRIC_SQNR)
        return itg_goal_quality_of(goal, itg_sqnr_of(score->value[ITG_METRIC_DISTORTION] +
                                                     itg_deviations_of(confidence) * deviation));
    if (judges_agreement(s)) /* NaN: the samples are too few even if none differs */
        return least_share(score->samples, 1, confidence) >= floor
                   ? least_share(score->samples, score->value[ITG_METRIC_AGREEMENT], confidence)
                   : (double)NAN;
    return itg_score_knows(score, ITG_METRIC_TOP1_BOUND) ? score->value[ITG_METRIC_TOP1_BOUND]
                                                         : (double)NAN;
}

double itg_search_aim(const itg_searching *s, double floor)
{
    const itg_dataset *data = s->sets[ITG_SET_SELECTION].data;
    const double confidence = itg_search_confidence(s->options);
    if (!data || !judges_agreement(s)) return floor;
    const int64_t samples = itg_data_samples(data);
    int64_t hits = samples;
    if (least_share(samples, 1, confidence) < floor) return floor;
    while (hits > 0 &&
           least_share(samples, (double)(hits - 1) / (double)samples, confidence) >= floor)
        hits--;
    return (double)hits / (double)samples - ITG_FLOOR_SLACK;
}

/* ---- one test ---- */

typedef struct test {
    double quality, bound; /* as itg_goal_quality; bound NaN: not known */
    double floor;
} test;

static bool passes(const test *t, bool with_confidence)
{
    return (with_confidence ? t->bound : t->quality) >= t->floor;
}

static itg_status make_test(const itg_searching *s, const itg_strategy *strategy, test *out,
                            itg_error *err)
{
    const itg_score *floats = &s->result->floats.at[ITG_SET_SELECTION];
    itg_score score = itg_score_unknown();
    double deviation = (double)NAN;
    const itg_scoring scoring = {.set = &s->sets[ITG_SET_SELECTION],
                                 .threads = s->options->threads,
                                 .distortion_deviation = &deviation};
    itg_objective objective;
    itg_status status =
        itg_objective_make(&s->objective.goal, floats, s->objective.space, &objective, err);
    if (status == ITG_OK)
        status = itg_evaluator_score_strategy(&s->evaluator, strategy, &scoring, &score, err);
    if (status != ITG_OK) return status;
    out->floor = objective.quality_floor;
    out->bound = least_quality(s, &score, deviation, out->floor);
    itg_metric quality = itg_score_knows(&score, ITG_METRIC_EXPECTED_TOP1) && !judges_agreement(s)
                             ? ITG_METRIC_EXPECTED_TOP1
                             : itg_goal_quality_metric(&s->options->goal);
    out->quality = itg_goal_quality_of(&s->options->goal, itg_score_get(&score, quality));
    return ITG_OK;
}

/* A quality in the unit of the public interface. */
static double shown(const itg_searching *s, double quality)
{
    const itg_goal *goal = &s->options->goal;
    if (itg_goal_quality_metric(goal) == ITG_METRIC_SQNR) return 100 * quality;
    return itg_goal_about(goal, itg_goal_quality_metric(goal)).up ? quality : -quality;
}

/* The distance between bound and quality shrinks with the root of the number of samples. */
static int64_t samples_wanted(const itg_searching *s, const test *t)
{
    const itg_expectation *e = &s->sets[ITG_SET_SELECTION].expected;
    const double drop = itg_goal_drop(&s->options->goal), n = (double)s->result->selection.samples;
    const double share = 1 - itg_search_confidence(s->options);
    double gap = (t->quality - t->bound) / (t->quality - t->floor), wanted = 0;
    if (!isnan(t->bound))
        wanted = passes(t, true) || !(t->quality > t->floor) ? 0 : n * gap * gap;
    else if (drop > 0 && drop < 1 && judges_agreement(s))
        wanted = itg_log(share) / itg_log(1 - drop);
    else if (drop > 0 && e->samples > 0)
        wanted = n * (e->top1 - itg_expected_bound(e, 0, 0)) / drop;
    return wanted < (double)INT32_MAX ? (int64_t)itg_ceil(wanted) : 0;
}

static void keep(const itg_searching *s, const test *t)
{
    itg_selection *out = &s->result->selection;
    out->certified = passes(t, true);
    out->passed = passes(t, false);
    out->bound = isnan(t->bound) ? t->bound : shown(s, t->bound);
    out->wanted = samples_wanted(s, t);
}

static void begin(const itg_searching *s)
{
    itg_search_result *r = s->result;
    r->selection = itg_selection_none();
    r->selection.samples = itg_data_samples(s->sets[ITG_SET_SELECTION].data);
    r->selection.floats =
        itg_score_get(&r->floats.at[ITG_SET_SELECTION], itg_goal_quality_metric(&s->options->goal));
    r->selection.tested = 1;
}

itg_status itg_search_try_selected(const itg_searching *s, const itg_strategy *strategy,
                                   bool *passed, itg_error *err)
{
    itg_selection *out = &s->result->selection;
    const bool is_first = !s->result->run.goal_met; /* no trial was worth a test */
    test t;
    *passed = true;
    if (!s->sets[ITG_SET_SELECTION].data || !(is_first || out->passed)) return ITG_OK;
    itg_status status = make_test(s, strategy, &t, err);
    if (status != ITG_OK) return status;
    if (is_first) begin(s);
    *passed = passes(&t, out->certified);
    if (*passed || is_first) keep(s, &t);
    return ITG_OK;
}

/* ---- candidates ---- */

static itg_status list_candidates(const itg_searching *s, itg_candidate **out, int32_t *count,
                                  itg_error *err)
{
    const itg_engine_result *run = &s->result->run;
    itg_candidate *c = calloc((size_t)run->trial_count + 1, sizeof *c);
    int64_t found = 0;
    if (!c) return itg_fail(err, ITG_NO_MEMORY, "no memory for the final choice");
    for (int64_t i = 0; i < run->trial_count; i++) {
        const itg_trial *t = &run->trials[i];
        if (t->meets_goal)
            c[found++] = (itg_candidate){t, itg_objective_cost(&s->objective, &t->score),
                                         itg_goal_quality(&s->objective.goal, &t->score)};
    }
    *count = itg_candidates_thin_out(c, found, itg_goal_drop(&s->objective.goal));
    *out = c;
    return ITG_OK;
}

static itg_status try_trial(itg_searching *s, const itg_trial *trial, test *out, itg_error *err)
{
    itg_strategy *strategy = NULL;
    itg_status status = itg_search_resolve(s, trial->round, trial->point, &strategy, err);
    if (status == ITG_OK) status = make_test(s, strategy, out, err);
    itg_strategy_destroy(strategy);
    return status;
}

/* Tests the candidates before `end`, from the last one on, as long as they pass. */
static itg_status try_in_order(itg_searching *s, const itg_candidate *c, int32_t end,
                               bool with_confidence, itg_error *err)
{
    itg_search_result *r = s->result;
    for (int32_t i = end - 1; i >= 0; i--) {
        test t;
        itg_status status = try_trial(s, c[i].trial, &t, err);
        if (status != ITG_OK) return status;
        r->selection.tested++;
        if (!passes(&t, with_confidence)) return ITG_OK;
        r->run.best = *c[i].trial;
        keep(s, &t);
    }
    return ITG_OK;
}

/* Chooses the best. If not even the safest candidate passes with confidence, the samples may be too
 * few, and candidates are judged without it. If the safest fails that, too, it is still the best
 * there is. */
static itg_status choose(itg_searching *s, const itg_candidate *c, int32_t count, itg_error *err)
{
    itg_search_result *r = s->result;
    test t;
    r->run.goal_met = false;
    if (count == 0) return ITG_OK;
    itg_status status = try_trial(s, c[count - 1].trial, &t, err);
    if (status != ITG_OK) return status;
    const bool with_confidence = passes(&t, true);
    r->selection.tested = 1;
    r->run.best = *c[count - 1].trial;
    r->run.goal_met = passes(&t, with_confidence);
    keep(s, &t);
    return r->run.goal_met ? try_in_order(s, c, count - 1, with_confidence, err) : ITG_OK;
}

itg_status itg_search_select(itg_searching *s, itg_error *err)
{
    itg_search_result *r = s->result;
    const itg_trial best = r->run.best;
    itg_candidate *c = NULL;
    int32_t count = 0;
    r->selection = itg_selection_none();
    if (!s->sets[ITG_SET_SELECTION].data || !r->run.goal_met) return ITG_OK;
    begin(s);
    r->selection.tested = 0;
    itg_status status = list_candidates(s, &c, &count, err);
    if (status == ITG_OK) status = choose(s, c, count, err);
    free(c);
    if (status != ITG_CANCELLED) return status;
    r->selection = itg_selection_none();
    r->run.best = best;
    r->run.goal_met = true;
    return ITG_OK;
}
