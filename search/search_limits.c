/* Why a goal is not met, in a sentence that names what to change. In this order: nothing can be
 * run; a limit that the narrowest widths exceed; a floor that the widest widths do not reach; a
 * limit that no trial was within; a floor that no trial within the limits reached; a floor that
 * none holds on the selection samples; a floor that is not reached on the hold-out. */
#include "search/search.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct explanation {
    itg_searching *s;
    itg_strbuf text;
    int32_t *widest, *narrowest; /* points */
    itg_score most, least;       /* their costs */
    const itg_trial *best;
    bool of_others; /* the sentence is about other samples than the search's */
} explanation;

/* 12,345 */
static void add_number(itg_strbuf *out, double value)
{
    char digits[340];
    int length = snprintf(digits, sizeof digits, "%.0f", value);
    for (int i = 0; i < length; i++) {
        itg_strbuf_bytes(out, &digits[i], 1);
        if (digits[i] != '-' && i + 1 < length && (length - 1 - i) % 3 == 0)
            itg_strbuf_add(out, ",");
    }
}

/* "loses 1.50 points of top-1", "has an SQNR of 21.30 dB"; part 1: on the hold-out. many: of
 * widths.
 */
static void add_quality(explanation *x, const itg_score *score, int part, bool many)
{
    const itg_goal *goal = &x->s->options->goal;
    const itg_score *floats = &x->s->result->floats.at[part];
    double quality = itg_goal_quality(goal, score), lost = itg_goal_quality(goal, floats) - quality;
    if (itg_goal_quality_metric(goal) == ITG_METRIC_SQNR)
        itg_strbuf_format(&x->text, "%s an SQNR of %.*f dB", many ? "have" : "has",
                          fabs(100 * quality - itg_goal_least_sqnr(goal)) < 0.01 ? 6 : 2,
                          100 * quality);
    else if (!itg_goal_counts_classes(goal))
        itg_strbuf_format(&x->text, "%s a %s of %.6g", many ? "have" : "has",
                          itg_goal_about(goal, itg_goal_quality_metric(goal)).words,
                          itg_score_get(score, itg_goal_quality_metric(goal)));
    else if (itg_score_knows(score, ITG_METRIC_TOP1_BOUND))
        itg_strbuf_format(&x->text, "may lose up to %.2f points of top-1 (%.4g %% confidence)",
                          100 * lost, 100 * itg_search_confidence(x->s->options));
    else
        itg_strbuf_format(&x->text, "%s %.2f points of %s", many ? "lose" : "loses", 100 * lost,
                          floats->value[ITG_METRIC_TOP1] >= 0 && score->value[ITG_METRIC_TOP1] >= 0
                              ? "top-1"
                              : "agreement");
}

/* For a quality that is neither an SQNR nor a share of the samples. */
static void add_user_floor(explanation *x)
{
    const itg_goal *goal = &x->s->options->goal;
    itg_metric metric = itg_goal_quality_metric(goal);
    const itg_constraint *c = itg_goal_constraint(goal, metric);
    if (c && c->below_float)
        itg_strbuf_format(&x->text, ", it may be %.6g worse than the float network's", c->bound);
    else if (c)
        itg_strbuf_format(&x->text, ", %s %.6g is wanted",
                          itg_goal_about(goal, metric).up ? "at least" : "at most", c->bound);
}

/* Adds the allowed drop, and that of the search samples where it is smaller: agreement must hold
 * again on the selection samples. */
static void add_drop(explanation *x)
{
    double drop = itg_goal_drop(&x->s->options->goal), aim = 1 - x->s->objective.quality_floor;
    itg_strbuf_format(&x->text, ", %.2f are allowed", 100 * drop);
    if (!x->of_others && x->s->objective.quality_floor > 1 - drop + 1e-9 &&
        itg_search_aim(x->s, 1 - drop) > 1 - drop)
        itg_strbuf_format(&x->text,
                          " (%.2f of the search samples, to hold with %.4g %% confidence)",
                          100 * aim, 100 * itg_search_confidence(x->s->options));
}

static void add_floor(explanation *x)
{
    const itg_goal *goal = &x->s->options->goal;
    if (itg_goal_quality_metric(goal) == ITG_METRIC_SQNR)
        itg_strbuf_format(&x->text, ", at least %.4g dB are wanted", itg_goal_least_sqnr(goal));
    else if (!itg_goal_counts_classes(goal))
        add_user_floor(x);
    else
        add_drop(x);
}

/* Adds what ended the search: a searcher that was stopped might have found more. */
static void add_end(explanation *x)
{
    const itg_search_result *r = x->s->result;
    if (strcmp(r->run.stop_reason, "exhausted") != 0)
        itg_strbuf_format(&x->text, "; the search was ended by %s after %lld trial%s",
                          strcmp(r->run.stop_reason, "cancelled") == 0 ? "the user"
                          : strcmp(r->run.stop_reason, "seconds") == 0 ? "the limit of seconds"
                          : strcmp(r->run.stop_reason, "trials") == 0  ? "the limit of trials"
                                                                       : "patience",
                          (long long)r->run.trial_count, itg_plural(r->run.trial_count));
}

static void explain_infeasible(explanation *x)
{
    const itg_finding *widest = itg_memory_find(&x->s->result->memory[0], x->widest);
    const char *name = x->s->hw->name;
    if (x->s->result->run.trial_count == 0)
        itg_strbuf_add(&x->text, "no trial was made");
    else if (widest && widest->why)
        itg_strbuf_format(&x->text, "%s can run none of %lld trial%s; the widest widths: %s", name,
                          (long long)x->s->result->run.trial_count,
                          itg_plural(x->s->result->run.trial_count), widest->why);
    else
        itg_strbuf_format(&x->text, "%s can run none of %lld trial%s", name,
                          (long long)x->s->result->run.trial_count,
                          itg_plural(x->s->result->run.trial_count));
    add_end(x);
}

/* Costs of both corners; *known false: the hardware cannot run one of them. */
static itg_status cost_corners(explanation *x, bool *known, itg_error *err)
{
    itg_error why = {0};
    itg_status status =
        itg_evaluator_cost(&x->s->evaluator, x->narrowest, true, &x->least, NULL, &why);
    if (status == ITG_OK)
        status = itg_evaluator_cost(&x->s->evaluator, x->widest, true, &x->most, NULL, &why);
    *known = status == ITG_OK;
    if (status == ITG_OK || status == ITG_INFEASIBLE || status == ITG_UNBOUNDED) return ITG_OK;
    return itg_fail(err, status, "%s", why.message);
}

static void add_cost(explanation *x, double cost, itg_metric kind)
{
    add_number(&x->text, cost);
    double limit = itg_goal_limit(&x->s->objective.goal, kind);
    itg_strbuf_format(&x->text, " %s, the limit is ", itg_metric_about(kind)->words);
    add_number(&x->text, limit);
    if (limit != itg_goal_limit(&x->s->options->goal, kind))
        itg_strbuf_format(&x->text, " (memory.%s_bytes of %s's description)",
                          itg_metric_about(kind)->goal, x->s->hw->name);
}

/* A limit that the narrowest widths exceed. */
static void explain_hopeless_limit(explanation *x, itg_metric kind)
{
    double least = x->least.value[kind];
    const char *name = x->s->hw->name;
    if (least >= x->most.value[kind])
        itg_strbuf_format(&x->text, "no width changes what the network takes on %s: ", name);
    else
        itg_strbuf_format(&x->text, "the narrowest widths that %s allows here still take ", name);
    add_cost(x, least, kind);
}

/* The score of the widest point: known, or taken now; false: it cannot be run. */
static itg_status score_widest(explanation *x, itg_score *out, bool *known, itg_error *err)
{
    const itg_finding *found = itg_memory_find(&x->s->result->memory[0], x->widest);
    itg_error why = {0};
    bool raced = found && found->score.stopped_at > 0;
    *known = found && found->feasible && !raced;
    if (*known) *out = found->score;
    if (!raced && (found || strcmp(x->s->result->run.stop_reason, "cancelled") == 0)) return ITG_OK;
    itg_status status =
        itg_search_score_point(x->s, x->widest, NULL, x->s->options->threads, out, &why);
    *known = status == ITG_OK;
    if (status == ITG_OK || status == ITG_INFEASIBLE || status == ITG_UNBOUNDED ||
        status == ITG_CANCELLED)
        return ITG_OK;
    return itg_fail(err, status, "%s", why.message);
}

static bool is_below(const explanation *x, const itg_score *score)
{
    return itg_goal_quality(&x->s->options->goal, score) < x->s->objective.quality_floor;
}

/* Whether layers could run in float that the search keeps in integers. */
static bool float_could_help(const explanation *x)
{
    const itg_choice_space *groups = x->s->evaluator.points->groups;
    bool could = false;
    for (int32_t i = 0; i < groups->group_count; i++)
        could |= groups->groups[i].may_be_float;
    return could && *x->s->options->allow_float == '\0';
}

/* A floor that the widest widths do not reach; false: they do, or are not known. */
static itg_status explain_hopeless_floor(explanation *x, bool *is_hopeless, itg_error *err)
{
    itg_score widest = {0};
    bool known = false;
    itg_status status = score_widest(x, &widest, &known, err);
    if (status != ITG_OK) return status;
    *is_hopeless = known && is_below(x, &widest);
    if (!*is_hopeless) return ITG_OK;
    itg_strbuf_format(&x->text, "the widest widths that %s allows here ", x->s->hw->name);
    add_quality(x, &widest, 0, true);
    if (memcmp(x->best->point, x->widest, sizeof *x->widest * (size_t)x->best->dim_count) == 0)
        itg_strbuf_format(&x->text, " (trial %lld)", (long long)x->best->index);
    add_floor(x);
    if (float_could_help(x))
        itg_strbuf_format(&x->text, "; %s could run layers in float (--allow-float)",
                          x->s->hw->name);
    return ITG_OK;
}

/* The limit that `score` exceeds; ITG_METRIC_COUNT: none. */
static itg_metric exceeded(const itg_goal *goal, const itg_score *score)
{
    int k = 0;
    while (k < ITG_METRIC_COUNT && !(itg_goal_limit(goal, (itg_metric)k) > 0 &&
                                     score->value[k] > itg_goal_limit(goal, (itg_metric)k)))
        k++;
    return (itg_metric)k;
}

static bool has_limits(const itg_goal *goal)
{
    for (int k = 0; k < ITG_METRIC_COUNT; k++)
        if (itg_goal_limit(goal, (itg_metric)k) > 0) return true;
    return false;
}

static itg_status explain(explanation *x, itg_error *err)
{
    const itg_goal *goal = &x->s->objective.goal;
    const itg_score *score = &x->best->score;
    bool known = false, is_hopeless = false;
    itg_status status = cost_corners(x, &known, err);
    if (status != ITG_OK) return status;
    itg_metric limit = exceeded(goal, score);
    if (known && exceeded(goal, &x->least) != ITG_METRIC_COUNT) {
        explain_hopeless_limit(x, exceeded(goal, &x->least));
        return ITG_OK;
    }
    if (is_below(x, score)) status = explain_hopeless_floor(x, &is_hopeless, err);
    if (status != ITG_OK || is_hopeless) return status;
    if (limit != ITG_METRIC_COUNT) {
        itg_strbuf_add(&x->text, "the nearest takes ");
        add_cost(x, score->value[limit], limit);
    } else {
        itg_strbuf_format(&x->text, "%sthe nearest ",
                          has_limits(&x->s->options->goal) ? "within the limits, " : "");
        add_quality(x, score, 0, false);
        add_floor(x);
    }
    add_end(x);
    return ITG_OK;
}

static void explain_selection(explanation *x)
{
    const itg_goal *goal = &x->s->options->goal;
    const itg_selection *selection = &x->s->result->selection;
    x->of_others = true;
    itg_strbuf_format(&x->text, "on %lld selection samples it ", (long long)selection->samples);
    if (itg_goal_quality_metric(goal) == ITG_METRIC_SQNR)
        itg_strbuf_format(&x->text, "has an SQNR of at least %.2f dB", selection->bound);
    else if (!isnan(selection->bound) && itg_goal_counts_classes(goal))
        itg_strbuf_format(&x->text, "may lose up to %.2f points",
                          100 * (selection->floats - selection->bound));
    else
        itg_strbuf_add(&x->text, "misses it");
    if (!isnan(selection->bound))
        itg_strbuf_format(&x->text, " (%.4g %% confidence)",
                          100 * itg_search_confidence(x->s->options));
    add_floor(x);
    if (selection->wanted > 0)
        itg_strbuf_format(&x->text, "; about %lld such samples would be enough",
                          (long long)selection->wanted);
}

static void explain_holdout(explanation *x)
{
    x->of_others = true;
    itg_strbuf_add(&x->text, "on the hold-out it ");
    add_quality(x, &x->s->result->best_holdout, 1, false);
    add_floor(x);
}

itg_status itg_search_explain(itg_searching *s, itg_error *err)
{
    itg_search_result *r = s->result;
    const itg_point_space *points = s->evaluator.points;
    size_t dims = (size_t)points->space.dim_count + 1;
    if (r->run.goal_met && itg_search_goal_holds(r)) return ITG_OK;
    explanation x = {.s = s, .best = r->run.best.index >= 0 ? &r->run.best : NULL};
    x.widest = calloc(dims, sizeof *x.widest);
    x.narrowest = calloc(dims, sizeof *x.narrowest);
    itg_status status = x.widest && x.narrowest
                            ? ITG_OK
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for what limits the search");
    if (status == ITG_OK) {
        itg_point_space_corner(points, false, x.widest);
        itg_point_space_corner(points, true, x.narrowest);
        if (r->run.goal_met)
            explain_holdout(&x);
        else if (r->selection.tested > 0)
            explain_selection(&x);
        else if (x.best)
            status = explain(&x, err);
        else
            explain_infeasible(&x);
    }
    if (status == ITG_OK && !itg_strbuf_ok(&x.text))
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for what limits the search");
    if (status == ITG_OK)
        snprintf(r->limited_by, sizeof r->limited_by, "%s", x.text.text ? x.text.text : "");
    itg_strbuf_deinit(&x.text);
    free(x.widest);
    free(x.narrowest);
    return status;
}
