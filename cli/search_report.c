/* Prints the results of a search as JSON and as text. */
#include "base/selection.h"
#include "cli/cmd_search.h"
#include "cli/goal.h"
#include "cli/memory.h"
#include "cli/table.h"
#include <math.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_float(const itg_score *score)
{
    return !itg_score_knows(score, ITG_METRIC_WEIGHT_BYTES);
}

/* Whether the hago-greedy baseline was requested and found a result on both sets of samples. */
static bool has_hago(const itg_search_result *r)
{
    return itg_search_hago(r, true) && itg_search_hago(r, false);
}

int64_t itg_cli_search_run(const itg_cli_search_work *w)
{
    if (w->recorder) return itg_cli_recorder_run(w->recorder);
    return w->resumed ? w->resumed->run : -1;
}

/* Returns the best's score on the hold-out; only its costs, on 0 samples, if no time was left. */
static itg_score best_holdout(const itg_search_result *r)
{
    const itg_score *known = itg_search_best_holdout(r);
    if (known) return *known;
    itg_score score = itg_search_best(r)->score;
    for (int m = 0; m < ITG_METRIC_COUNT; m++)
        if (!itg_metric_is_cost((itg_metric)m)) score.value[m] = (double)NAN;
    score.samples = 0;
    memset(score.digest, 0, sizeof score.digest);
    return score;
}

/* ---- JSON ---- */

/* Returns the costs of the float network: as many weights as uniform 8 has, at 32 bits. */
static itg_score float_costs(const itg_score *uniform8)
{
    itg_score score = itg_score_unknown();
    score.value[ITG_METRIC_WEIGHT_BYTES] = itg_cli_float_bytes(uniform8);
    score.value[ITG_METRIC_AVERAGE_WEIGHT_BITS] = 32;
    return score;
}

static void json_drop(itg_json_writer *json, const itg_score *floats, const itg_score *score)
{
    if (score->samples == 0) {
        itg_json_put_null(json, "drop");
        itg_json_put_null(json, "drop_interval");
        return;
    }
    itg_cli_drop d = itg_cli_drop_of(floats, score);
    itg_json_put_number(json, "drop", d.drop);
    itg_cli_json_pair(json, "drop_interval", d.lo, d.hi);
}

/* Quality on the hold-out; search_*: on the search samples. trial -1: none. */
static void json_scores(itg_json_writer *json, const itg_cli_search_work *w, const char *key,
                        const itg_score *holdout, const itg_score *search, int64_t trial)
{
    itg_json_begin(json, key, '{');
    if (trial >= 0) itg_json_put_int(json, "trial", trial);
    itg_json_put_int(json, "samples", holdout->samples);
    itg_cli_json_metrics(json, "", holdout, ITG_CLI_QUALITIES);
    itg_cli_json_interval(json, "interval", itg_score_get(holdout, ITG_METRIC_ACCURACY),
                          holdout->samples);
    if (is_float(holdout)) {
        itg_score costs = float_costs(itg_search_uniform8(w->result, true));
        itg_cli_json_metrics(json, "", &costs, ITG_CLI_COSTS);
    } else {
        json_drop(json, itg_search_float(w->result, true), holdout);
        itg_cli_json_metrics(json, "", holdout, ITG_CLI_COSTS);
        itg_cli_json_memory(json, w->hw, holdout);
    }
    itg_json_put_hash(json, "holdout_digest", holdout->digest);
    itg_json_put_int(json, "search_samples", search->samples);
    itg_cli_json_metrics(json, "search_", search, ITG_CLI_QUALITIES);
    itg_json_put_hash(json, "digest", search->digest);
    itg_json_end(json, '}');
}

static void json_results(itg_json_writer *json, const itg_cli_search_work *w)
{
    const itg_search_result *r = w->result;
    const itg_trial *best = itg_search_best(r);
    json_scores(json, w, "float", itg_search_float(r, true), itg_search_float(r, false), -1);
    json_scores(json, w, "uniform8", itg_search_uniform8(r, true), itg_search_uniform8(r, false),
                -1);
    if (has_hago(r))
        json_scores(json, w, "hago_greedy", itg_search_hago(r, true), itg_search_hago(r, false),
                    -1);
    else
        itg_json_put_null(json, "hago_greedy");
    if (!best) {
        itg_json_put_null(json, "best");
        return;
    }
    itg_score holdout = best_holdout(r);
    json_scores(json, w, "best", &holdout, &best->score, best->index);
}

static void json_beginning(itg_json_writer *json, const itg_cli_search_work *w)
{
    if (w->start) {
        const char *misfits = itg_search_start_misfits(w->start);
        itg_json_begin(json, "start", '{');
        itg_json_put_hash(json, "hash", itg_search_start_hash(w->start));
        itg_json_put_text(json, "misfits", *misfits ? misfits : NULL);
        itg_json_end(json, '}');
    } else {
        itg_json_put_null(json, "start");
    }
    itg_json_put_text(json, "past", w->options.past ? w->options.past->name : NULL);
}

static void json_forecast(itg_json_writer *json, const itg_forecast *f)
{
    if (f->count == 0) {
        itg_json_put_null(json, "forecast");
        return;
    }
    itg_json_begin(json, "forecast", '{');
    itg_json_put_int(json, "trials", f->count);
    itg_json_put_number(json, "correlation", f->correlation);
    itg_json_put_number(json, "gap", f->gap);
    itg_json_end(json, '}');
}

int itg_cli_search_json(const itg_cli_search_work *w)
{
    const itg_search_result *r = w->result;
    const itg_cli_value *values = w->args->values;
    const char *limited = itg_search_limited_by(r);
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "model", itg_model_name(w->model));
    itg_json_put_text(&json, "hardware", itg_hardware_name(w->hw));
    itg_json_put_text(&json, "searcher", w->options.searcher);
    itg_cli_json_goal(&json, "goal", &w->options.goal);
    itg_cli_json_limits(&json, &w->options.goal, w->hw);
    itg_json_put_bool(&json, "goal_met", itg_search_goal_met(r));
    itg_cli_json_known_bool(&json, "goal_met_on_holdout", itg_search_best(r),
                            itg_search_goal_holds(r));
    itg_json_put_number(&json, "confidence",
                        itg_score_knows(itg_search_float(r, false), ITG_METRIC_TOP1_BOUND)
                            ? w->options.confidence
                            : (double)NAN);
    itg_selection_write(&json, itg_search_selection(r));
    json_beginning(&json, w);
    json_forecast(&json, itg_search_forecast(r));
    itg_json_put_bool(&json, "cost_varies", itg_search_cost_varies(r));
    itg_json_put_text(&json, "limited_by", *limited ? limited : NULL);
    itg_json_put(&json, "seed", "%" PRIu64, w->options.seed);
    itg_json_put_int(&json, "trials", itg_search_trial_count(r));
    itg_json_put_int(&json, "duplicate_trials", itg_search_duplicate_count(r));
    itg_json_put_int(&json, "raced_trials", itg_search_raced_count(r));
    itg_json_put_number(&json, "seconds", w->seconds);
    itg_json_put_text(&json, "stop_reason", itg_search_stop_reason(r));
    itg_json_put_bool(&json, "resumed", w->resumed != NULL);
    itg_json_put_int(&json, "replayed_trials", w->replay_count);
    itg_json_put_text(&json, "strategy",
                      itg_search_best(r) ? values[ITG_CLI_OPT_OUT_STRATEGY].text : NULL);
    itg_json_put_text(&json, "db", values[ITG_CLI_OPT_DB].text);
    itg_cli_json_known(&json, "run", (double)itg_cli_search_run(w));
    json_results(&json, w);
    itg_json_begin(&json, "front", '[');
    for (int32_t i = 0; i < itg_search_front_count(r); i++)
        itg_json_put_int(&json, NULL, itg_search_front_at(r, i)->index);
    itg_json_end(&json, ']');
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

/* ---- text ---- */

static const itg_metric columns[] = {ITG_METRIC_WEIGHT_BYTES, ITG_METRIC_PARAMETER_BYTES,
                                     ITG_METRIC_AVERAGE_WEIGHT_BITS, ITG_METRIC_BOPS};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void row(itg_cli_table *table, const itg_goal *goal, const char *name,
                const itg_score *holdout, const itg_score *search)
{
    char text[32];
    itg_cli_table_texts(table, name, itg_cli_quality_text(goal, holdout, text, sizeof text), NULL);
    itg_cli_table_cell(table, "%s", itg_cli_quality_text(goal, search, text, sizeof text));
    itg_cli_metric_cells(table, columns, COLUMNS, holdout);
}

static int print_table(const itg_search_result *r, const itg_goal *goal, const itg_trial *best)
{
    itg_cli_table table;
    itg_cli_table_init(&table, "lrrrrrr");
    itg_cli_table_cell(&table, "%s", "");
    itg_cli_table_cell(
        &table, "%s on hold-out",
        itg_cli_quality_name(goal, itg_score_knows(itg_search_float(r, true), ITG_METRIC_TOP1)));
    itg_cli_table_cell(&table, "on search samples");
    itg_cli_metric_titles(&table, columns, COLUMNS);
    row(&table, goal, "float", itg_search_float(r, true), itg_search_float(r, false));
    row(&table, goal, "uniform 8", itg_search_uniform8(r, true), itg_search_uniform8(r, false));
    if (has_hago(r))
        row(&table, goal, "hago-greedy", itg_search_hago(r, true), itg_search_hago(r, false));
    if (best) {
        itg_score holdout = best_holdout(r);
        row(&table, goal, "best", &holdout, &best->score);
    }
    return itg_cli_table_print(&table);
}

/* Computes the share of a cost of 8 bits everywhere that is saved. Returns false if not known. */
static bool saved_of(const itg_score *whole, const itg_score *part, itg_metric kind, double *out)
{
    double before = whole->value[kind], after = part->value[kind];
    if (!(before > 0) || !(after >= 0)) return false;
    *out = 100 * (1 - after / before);
    return true;
}

/* Prints the savings, first the cost that the goal minimizes. */
static void print_saved(const itg_cli_search_work *w, const itg_score *best)
{
    static const itg_metric others[] = {ITG_METRIC_WEIGHT_BYTES, ITG_METRIC_BOPS,
                                        ITG_METRIC_CYCLES};
    const itg_score *uniform = itg_search_uniform8(w->result, true);
    const itg_goal *goal = &w->options.goal;
    itg_metric first =
        itg_goal_maximizes_quality(goal) ? ITG_METRIC_WEIGHT_BYTES : itg_goal_objective(goal);
    double saved = 0;
    char text[256] = "";
    if (!saved_of(uniform, best, first, &saved)) return;
    if (saved < 0) {
        itg_cli_print_line("it takes", "%.1f %% more %s than uniform 8", -saved,
                           itg_metric_about(first)->words);
        return;
    }
    itg_cli_append(text, sizeof text, "%.1f %% of the %s of uniform 8", saved,
                   itg_metric_about(first)->words);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] != first && saved_of(uniform, best, others[i], &saved) && saved > 0)
            itg_cli_append(text, sizeof text, ", %.1f %% of its %s", saved,
                           itg_metric_about(others[i])->words);
    itg_cli_print_line("it saves", "%s", text);
}

static void print_quality(const itg_cli_search_work *w, const itg_score *s)
{
    char sqnr[32];
    char name[64];
    snprintf(name, sizeof name, "its %s", itg_cli_quality_name(&w->options.goal, false));
    if (!itg_goal_counts_classes(&w->options.goal))
        itg_cli_print_line(name, "%s on %lld hold-out samples",
                           itg_cli_quality_text(&w->options.goal, s, sqnr, sizeof sqnr),
                           (long long)s->samples);
    bool labelled = itg_score_knows(s, ITG_METRIC_TOP1);
    double lo, hi, share = itg_score_get(s, ITG_METRIC_ACCURACY);
    if (isnan(share)) return;
    itg_cli_drop d = itg_cli_drop_of(itg_search_float(w->result, true), s);
    itg_cli_interval(share, s->samples, &lo, &hi);
    itg_cli_print_line(labelled ? "its top-1" : "it agrees",
                       "%.2f %% on %lld hold-out sample%s (95 %% interval %.2f to %.2f)",
                       100 * share, (long long)s->samples, itg_plural(s->samples), 100 * lo,
                       100 * hi);
    if (labelled)
        itg_cli_print_line("its drop",
                           "%.2f points of top-1 below float (95 %% interval %.2f to %.2f)",
                           100 * d.drop, 100 * d.lo, 100 * d.hi);
}

static void print_selection(const itg_cli_search_work *w)
{
    const itg_selection *s = itg_search_selection(w->result);
    char text[160];
    if (s->samples == 0) return;
    itg_cli_print_line("chosen", "%s", itg_cli_selection_words(&w->options, s, text, sizeof text));
    if (s->wanted > 0)
        itg_cli_print_line("", "%s", itg_cli_selection_wanted(&w->options, s, text, sizeof text));
}

/* Prints the expected top-1 of the best's trial and its bound. */
static void print_expected(const itg_cli_search_work *w, const itg_trial *best)
{
    const double *search = best->score.value;
    const double top1 = itg_search_float(w->result, false)->value[ITG_METRIC_TOP1];
    char bound[64] = "";
    if (!itg_score_knows(&best->score, ITG_METRIC_EXPECTED_TOP1)) return;
    if (itg_score_knows(&best->score, ITG_METRIC_TOP1_BOUND))
        snprintf(bound, sizeof bound, ", at most %.2f with %.4g %% confidence",
                 100 * (top1 - search[ITG_METRIC_TOP1_BOUND]), 100 * w->options.confidence);
    else if (itg_goal_drop(&w->options.goal) >= 0)
        snprintf(bound, sizeof bound, "; %lld search samples are too few for a bound",
                 (long long)best->score.samples);
    itg_cli_print_line("expected", "a drop of %.2f points%s",
                       100 * (top1 - search[ITG_METRIC_EXPECTED_TOP1]), bound);
}

static void print_best(const itg_cli_search_work *w, const itg_trial *best)
{
    const itg_score holdout = best_holdout(w->result), *s = &holdout;
    char digest[ITG_CLI_HEX];
    bool met = itg_search_goal_met(w->result);
    itg_cli_print_line(met ? "best" : "nearest", "trial %lld", (long long)best->index);
    if (s->samples > 0)
        print_quality(w, s);
    else
        itg_cli_print_line("hold-out", "not tried: the search was interrupted");
    print_expected(w, best);
    print_selection(w);
    print_saved(w, s);
    if (s->samples > 0)
        itg_cli_print_line("its digest", "%s on the hold-out", itg_sha256_hex(s->digest, digest));
    if (w->args->given[ITG_CLI_OPT_OUT_STRATEGY])
        itg_cli_print_line("strategy", "%s", w->args->values[ITG_CLI_OPT_OUT_STRATEGY].text);
}

static void print_head(const itg_cli_search_work *w)
{
    const itg_search_result *r = w->result;
    char goal[256], kinds[96], replayed[64] = "";
    if (w->resumed)
        snprintf(replayed, sizeof replayed, " (%lld of them from the log)",
                 (long long)w->replay_count);
    itg_cli_goal_words(&w->options.goal,
                       itg_score_knows(itg_search_float(r, false), ITG_METRIC_TOP1), goal,
                       sizeof goal);
    itg_cli_trial_kinds(itg_search_duplicate_count(r), itg_search_raced_count(r), kinds,
                        sizeof kinds);
    printf("%s on %s: %lld trial%s%s%s in %.1f s, searcher %s, seed %llu, stopped: %s\n",
           itg_model_name(w->model), itg_hardware_name(w->hw), (long long)itg_search_trial_count(r),
           itg_plural(itg_search_trial_count(r)), replayed, kinds, w->seconds, w->options.searcher,
           (unsigned long long)w->options.seed, itg_search_stop_reason(r));
    printf("goal: %s; %s\n", goal,
           itg_cli_held_words(itg_search_goal_met(r), itg_search_goal_holds(r)));
    if (!itg_search_cost_varies(r))
        printf("no width changes the %s: quality alone decided\n",
               itg_metric_about(itg_goal_objective(&w->options.goal))->words);
    if (strcmp(itg_search_stop_reason(r), "seconds") == 0)
        printf("--seconds %g ended the search before the searcher was done\n", w->options.seconds);
    itg_cli_hardware_limits(&w->options.goal, w->hw, goal, sizeof goal);
    if (*goal) printf("within the memory of %s: at most %s\n", itg_hardware_name(w->hw), goal);
    putchar('\n');
}

/* Prints how accurate the searcher's model is. */
static void print_forecast(const itg_forecast *f)
{
    char gap[64] = "";
    if (f->count < 3 || isnan(f->correlation)) return;
    if (f->gap > 0)
        snprintf(gap, sizeof gap, "; its choice is within %.2g %% of the model's best",
                 100 * f->gap);
    itg_cli_print_line("its model", "told the losses of %lld trials with a correlation of %.3f%s",
                       (long long)f->count, f->correlation, gap);
}

int itg_cli_search_text(const itg_cli_search_work *w)
{
    const itg_trial *best = itg_search_best(w->result);
    print_head(w);
    int status = print_table(w->result, &w->options.goal, best);
    putchar('\n');
    if (best) print_best(w, best);
    print_forecast(itg_search_forecast(w->result));
    if (w->options.goal.objective_count > 1)
        itg_cli_print_line("front", "%d trial%s that no other one beats in every objective",
                           (int)itg_search_front_count(w->result),
                           itg_plural(itg_search_front_count(w->result)));
    if (itg_cli_search_run(w) >= 0)
        itg_cli_print_line("log", "run %lld of %s", (long long)itg_cli_search_run(w),
                           w->args->values[ITG_CLI_OPT_DB].text);
    return status;
}
