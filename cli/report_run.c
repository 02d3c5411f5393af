/* Writes the page of a run: the tables of 'runs show' and 'runs front', and plots of them. */
#include "cli/goal.h"
#include "cli/report.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TRIALS = 2000, WORDS = 192 }; /* of more trials, some are drawn */

typedef struct subject {
    itg_page *page;
    itg_cli_shown shown;
    itg_cli_front front;
    itg_peers peers;
    bool *drawn; /* of the trials */
    int64_t drawn_count;
    const char *quality; /* what it is called */
    itg_metric cost;     /* the one that the section is about */
} subject;

/* ---- reading ---- */

/* Chooses all trials or, if there are many, every k-th, and all that were the best so far or are on
 * the front. */
static itg_status choose_drawn(subject *s, itg_error *err)
{
    const itg_cli_shown *shown = &s->shown;
    const int64_t stride = shown->count / MOST_TRIALS + 1;
    s->drawn = calloc((size_t)shown->count + 1, sizeof *s->drawn);
    if (!s->drawn) return itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    for (int64_t i = 0; i < shown->count; i += stride)
        s->drawn[i] = true;
    for (int64_t i = 0; i < shown->step_count; i++)
        s->drawn[shown->steps[i]] = true;
    for (int32_t i = 0; i < s->front.front_count; i++)
        s->drawn[s->front.places[i]] = true;
    for (int64_t i = 0; i < shown->count; i++)
        s->drawn_count += s->drawn[i];
    return ITG_OK;
}

/* Points of others, in the quality and the first cost of the front. */
static itg_status read_peers(subject *s, itg_error *err)
{
    const itg_cli_args *args = s->shown.args;
    const itg_goal *goal = &s->shown.run.options.goal;
    if (!args->given[ITG_CLI_OPT_PEERS]) return ITG_OK;
    if (!s->shown.run.has_goal)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "run %lld: its goal is not known, so --peers has "
                        "nothing to stand beside",
                        (long long)s->shown.run.record->run);
    const itg_metric quality = s->shown.labelled && itg_goal_counts_classes(goal)
                                   ? ITG_METRIC_TOP1
                                   : itg_goal_quality_metric(goal);
    const itg_metric_info about = itg_goal_about(goal, quality);
    return itg_peers_read(args->values[ITG_CLI_OPT_PEERS].text,
                          itg_metric_about(s->front.goal.objectives[0]), &about, &s->peers, err);
}

static itg_status read_all(subject *s, itg_run_log *log, int64_t run, itg_error *err)
{
    itg_status status = itg_cli_shown_read(&s->shown, log, run, err);
    if (status != ITG_OK) return status;
    s->front = (itg_cli_front){.args = s->shown.args,
                               .run = &s->shown.run,
                               .trials = s->shown.trials,
                               .count = s->shown.count};
    s->quality = itg_cli_quality_name(&s->shown.run.options.goal, s->shown.labelled);
    if (s->shown.run.has_goal) status = itg_cli_front_find(&s->front, err);
    if (status == ITG_OK) status = read_peers(s, err);
    return status == ITG_OK ? choose_drawn(s, err) : status;
}

static void close_all(subject *s)
{
    free(s->drawn);
    itg_peers_free(&s->peers);
    itg_cli_front_close(&s->front);
    itg_cli_shown_close(&s->shown);
}

/* ---- figures of a trial ---- */

static const itg_goal *goal_of(const subject *s)
{
    return &s->shown.run.options.goal;
}

/* Returns the quality that reports show; for a trial that was stopped early, its bound. */
static double quality_of(const subject *s, const itg_score *score)
{
    const itg_goal *goal = goal_of(s);
    if (!itg_cli_knows_quality(goal, score)) return NAN;
    if (score->stopped_at > 0 && itg_goal_counts_classes(goal))
        return itg_goal_quality(goal, score);
    double quality = itg_score_get(score, itg_cli_counted(goal, score));
    return itg_goal_quality_metric(goal) == ITG_METRIC_SQNR ? fmin(quality, ITG_MOST_SQNR_DB)
                                                            : quality;
}

static const char *trial_words(const subject *s, const itg_trial *t, char out[WORDS])
{
    const itg_metric_info *cost = itg_metric_about(s->cost);
    char number[32], text[64];
    double lo = 0, hi = 0;
    snprintf(out, WORDS, "trial %lld: %s %s, %s%s %s", (long long)t->index,
             itg_cli_unit_text(cost->unit, itg_score_get(&t->score, s->cost), number), cost->words,
             s->quality, t->score.stopped_at > 0 ? " at most" : "",
             itg_cli_quality_text(goal_of(s), &t->score, text, sizeof text));
    if (t->score.stopped_at == 0 && itg_cli_top1_interval(&t->score, &lo, &hi))
        itg_cli_append(out, WORDS, " (%.2f to %.2f)", 100 * lo, 100 * hi);
    return out;
}

/* ---- axes ---- */

static double largest_cost(const subject *s)
{
    double largest = 0;
    for (int64_t i = 0; i < s->shown.count; i++)
        largest = fmax(largest, itg_score_get(&s->shown.trials[i].score, s->cost));
    return largest;
}

static itg_axis cost_axis(const subject *s, char title[96])
{
    const itg_metric_info *cost = itg_metric_about(s->cost);
    return itg_report_axis(cost->words, cost->unit, largest_cost(s), title);
}

static itg_axis quality_axis(const subject *s, char title[96])
{
    itg_unit unit = itg_goal_about(goal_of(s), itg_goal_quality_metric(goal_of(s))).unit;
    return itg_report_axis(s->quality, unit, 0, title);
}

/* Returns the float network's quality on the search samples; NaN: not known. */
static double float_quality(const subject *s)
{
    const itg_run_record *r = s->shown.run.record;
    bool is_sqnr = itg_goal_quality_metric(goal_of(s)) == ITG_METRIC_SQNR;
    return is_sqnr || !r->known[ITG_RESULT_SEARCH_FLOAT]
               ? NAN
               : quality_of(s, &r->result[ITG_RESULT_SEARCH_FLOAT]);
}

/* Returns the least quality that is drawn. Shares far below the goal's floor would squeeze the
 * relevant range. */
static double least_drawn(const subject *s)
{
    const double floats = float_quality(s), drop = itg_goal_drop(goal_of(s));
    if (!itg_goal_counts_classes(goal_of(s)) || !(drop >= 0) || isnan(floats)) return -INFINITY;
    return floats - 6 * fmax(drop, 0.01);
}

/* ---- the course of the search ---- */

static double course_value(const subject *s, const itg_trial *t)
{
    if (!t->feasible) return NAN;
    return itg_goal_maximizes_quality(goal_of(s)) ? quality_of(s, &t->score)
                                                  : itg_score_get(&t->score, s->cost);
}

static itg_axis course_axis(const subject *s, char title[96])
{
    itg_axis y =
        itg_goal_maximizes_quality(goal_of(s)) ? quality_axis(s, title) : cost_axis(s, title);
    for (int64_t i = 0; i < s->shown.count; i++)
        itg_axis_hold(&y, course_value(s, &s->shown.trials[i]));
    itg_axis_round_up(&y);
    return y;
}

static void draw_trials(const subject *s, itg_plot *plot)
{
    char words[WORDS];
    for (int64_t i = 0; i < s->shown.count; i++) {
        const itg_trial *t = &s->shown.trials[i];
        if (s->drawn[i] && t->feasible)
            itg_plot_mark(plot, t->score.stopped_at > 0 ? ITG_MARK_OPEN : ITG_MARK_FAINT,
                          (double)t->index, course_value(s, t), trial_words(s, t, words));
    }
}

/* Draws the steps of the best. The final choice may be a trial before the last step. */
static void draw_steps(const subject *s, itg_plot *plot)
{
    const itg_cli_shown *shown = &s->shown;
    char words[WORDS];
    int64_t last = -1;
    for (int64_t i = 0; i < shown->step_count; i++) {
        const itg_trial *t = &shown->trials[shown->steps[i]];
        if (t->index <= last || !isfinite(course_value(s, t))) continue;
        itg_plot_step(plot, (double)t->index, course_value(s, t));
        last = t->index;
    }
    itg_plot_step_end(plot, (double)(shown->count - 1));
    for (int64_t i = 0; i < shown->step_count; i++) {
        const itg_trial *t = &shown->trials[shown->steps[i]];
        bool best = t->index == shown->run.record->best_trial;
        itg_plot_mark(plot, best ? ITG_MARK_DIAMOND : ITG_MARK_DOT, (double)t->index,
                      course_value(s, t), trial_words(s, t, words));
    }
}

static void put_course_plot(const subject *s)
{
    static const itg_legend legend[] = {{ITG_MARK_FAINT, "trial"},
                                        {ITG_MARK_DOT, "best so far that meets the goal"},
                                        {ITG_MARK_DIAMOND, "the best"},
                                        {ITG_MARK_OPEN, "stopped early"}};
    const int entries = s->shown.run.record->raced > 0 ? 4 : 3;
    char title[96], label[WORDS];
    itg_plot plot;
    itg_axis x = itg_axis_empty("trial", 1), y = course_axis(s, title);
    itg_axis_hold(&x, 0);
    itg_axis_hold(&x, (double)(s->shown.count - 1));
    itg_axis_round_up(&x);
    snprintf(label, sizeof label, "Plot: %s of each trial, in the order of the search", title);
    itg_plot_begin(&plot, s->page, label, x, y);
    draw_trials(s, &plot);
    draw_steps(s, &plot);
    itg_plot_end(&plot);
    itg_plot_legend(s->page, legend, entries);
}

static void put_trials(const subject *s)
{
    itg_cli_table table;
    itg_page_details(s->page,
                     s->drawn_count < s->shown.count ? "Trials that are drawn" : "All trials");
    itg_cli_shown_trial_titles(&table);
    for (int64_t i = 0; i < s->shown.count; i++)
        if (s->drawn[i] || s->page->form == ITG_PAGE_CSV)
            itg_cli_shown_trial(&table, &s->shown, &s->shown.trials[i]);
    itg_report_table(s->page, &table, "Trials", true);
    itg_page_details_end(s->page);
}

static void put_course(const subject *s)
{
    const itg_run_record *r = s->shown.run.record;
    char words[256], count[32], feasible[32], kinds[96];
    snprintf(words, sizeof words,
             "%s trial%s%s; %s of them could be realized; %.1f s of evaluation. Quality is that on "
             "the search samples.",
             itg_cli_count_text((long long)s->shown.count, count), itg_plural(s->shown.count),
             itg_cli_trial_kinds(r->duplicates, r->raced, kinds, sizeof kinds),
             itg_cli_count_text((long long)s->shown.feasible, feasible), s->shown.seconds);
    itg_page_section(s->page, "course", "Course of the search", words);
    if (s->shown.run.has_goal && s->shown.feasible > 0) put_course_plot(s);
    if (s->shown.count > 0) put_trials(s);
    itg_page_section_end(s->page);
}

static void put_steps(const subject *s)
{
    itg_cli_table table;
    if (s->shown.step_count == 0) return;
    itg_page_section(s->page, "steps", "Trials that were the best so far", NULL);
    itg_page_details(s->page, "Each of them");
    itg_cli_shown_steps(&table, &s->shown);
    itg_report_table(s->page, &table, "Trials that were the best so far", true);
    itg_page_details_end(s->page);
    itg_page_section_end(s->page);
}

/* ---- the front ---- */

static void front_axes(const subject *s, itg_axis *x, itg_axis *y)
{
    const double least = least_drawn(s);
    double lo = 0, hi = 0;
    itg_axis_hold(y, float_quality(s));
    if (isfinite(least)) itg_axis_hold(y, least);
    for (int64_t i = 0; i < s->shown.count; i++) {
        const itg_trial *t = &s->shown.trials[i];
        double quality = quality_of(s, &t->score);
        if (!t->feasible || !(quality >= least)) continue;
        itg_axis_hold(x, itg_score_get(&t->score, s->cost));
        itg_axis_hold(y, quality);
    }
    for (int32_t i = 0; i < s->front.front_count; i++) {
        const itg_score *score = &s->front.trials[s->front.places[i]].score;
        if (quality_of(s, score) >= least && itg_cli_top1_interval(score, &lo, &hi))
            itg_axis_hold(y, hi);
    }
    for (int64_t i = 0; i < s->peers.count; i++) {
        itg_axis_hold(x, s->peers.list[i].cost);
        itg_axis_hold(y, s->peers.list[i].quality);
    }
    itg_axis_round_up(x);
    itg_axis_round_up(y);
}

static const char *peer_words(const subject *s, const itg_peer *peer, char out[WORDS])
{
    const itg_metric_info *cost = itg_metric_about(s->cost);
    const itg_unit unit = itg_goal_about(goal_of(s), itg_goal_quality_metric(goal_of(s))).unit;
    char number[32], text[32];
    snprintf(out, WORDS, "%.80s: %s %s, %s %s", peer->name,
             itg_cli_unit_text(cost->unit, peer->cost, number), cost->words, s->quality,
             itg_cli_unit_text(unit, peer->quality, text));
    return out;
}

static void draw_peers(const subject *s, itg_plot *plot)
{
    char words[WORDS];
    for (int64_t i = 0; i < s->peers.count; i++)
        itg_plot_mark(plot, ITG_MARK_SQUARE, s->peers.list[i].cost, s->peers.list[i].quality,
                      peer_words(s, &s->peers.list[i], words));
}

static void draw_levels(const subject *s, itg_plot *plot)
{
    const double floats = float_quality(s), drop = itg_goal_drop(goal_of(s));
    if (!isnan(floats)) itg_plot_level(plot, floats, "float");
    if (!isnan(floats) && drop > 0 && itg_goal_counts_classes(goal_of(s)))
        itg_plot_level(plot, floats - drop, "floor of the goal");
    if (itg_goal_least_sqnr(goal_of(s)) > 0)
        itg_plot_level(plot, itg_goal_least_sqnr(goal_of(s)), "floor of the goal");
}

/* Draws one trial, or counts it if it is below the axes. */
static void draw_point(const subject *s, itg_plot *plot, itg_mark mark, const itg_trial *t,
                       int64_t *outside)
{
    char words[WORDS];
    const double cost = itg_score_get(&t->score, s->cost);
    double lo = 0, hi = 0, quality = quality_of(s, &t->score);
    if (mark != ITG_MARK_FAINT && quality >= plot->y.lo &&
        itg_cli_top1_interval(&t->score, &lo, &hi))
        itg_plot_interval(plot, cost, lo, hi);
    itg_plot_mark(plot, mark, cost, quality, trial_words(s, t, words));
    *outside += quality < plot->y.lo;
}

static int64_t draw_front(const subject *s, itg_plot *plot)
{
    const int64_t best = s->shown.run.record->best_trial;
    int64_t outside = 0, more = 0;
    draw_levels(s, plot);
    for (int64_t i = 0; i < s->shown.count; i++) {
        const itg_trial *t = &s->shown.trials[i];
        if (s->drawn[i] && t->feasible && t->score.stopped_at == 0)
            draw_point(s, plot, ITG_MARK_FAINT, t, &outside);
    }
    for (int32_t i = 0; i < s->front.front_count; i++)
        draw_point(s, plot, ITG_MARK_DOT, &s->front.trials[s->front.places[i]], &more);
    if (best >= 0 && best < s->shown.count)
        draw_point(s, plot, ITG_MARK_DIAMOND, &s->shown.trials[best], &more);
    draw_peers(s, plot);
    return outside;
}

static void put_front_plot(const subject *s)
{
    static const itg_legend legend[] = {{ITG_MARK_FAINT, "trial"},
                                        {ITG_MARK_DOT, "on the front, with its 95 % interval"},
                                        {ITG_MARK_DIAMOND, "the best"},
                                        {ITG_MARK_SQUARE, "others, by their own samples"}};
    char x_title[96], y_title[96], words[WORDS + 64];
    itg_plot plot;
    itg_axis x = cost_axis(s, x_title), y = quality_axis(s, y_title);
    front_axes(s, &x, &y);
    snprintf(words, sizeof words, "Plot: %s against %s of the trials", y_title, x_title);
    itg_plot_begin(&plot, s->page, words, x, y);
    const int64_t outside = draw_front(s, &plot);
    itg_plot_end(&plot);
    itg_plot_legend(s->page, legend, s->peers.count > 0 ? 4 : 3);
    if (outside == 0) return;
    snprintf(words, sizeof words, "%lld trial%s far below the floor %s not drawn.",
             (long long)outside, itg_plural(outside), outside == 1 ? "is" : "are");
    itg_page_paragraph(s->page, words);
}

static void put_peers(const subject *s)
{
    const itg_unit unit = itg_goal_about(goal_of(s), itg_goal_quality_metric(goal_of(s))).unit;
    const itg_metric_info *cost = itg_metric_about(s->cost);
    char text[32];
    itg_cli_table table;
    if (s->peers.count == 0) return;
    itg_page_section(s->page, "peers", "Points of others",
                     "As they were given, measured on samples of their own.");
    itg_cli_table_init(&table, "lrr");
    itg_cli_table_texts(&table, "name", cost->words, s->quality, NULL);
    for (int64_t i = 0; i < s->peers.count; i++) {
        const itg_peer *p = &s->peers.list[i];
        itg_cli_table_cell(&table, "%s", p->name);
        itg_cli_table_cell(&table, "%s", itg_cli_unit_text(cost->unit, p->cost, text));
        itg_cli_table_cell(&table, "%s", itg_cli_unit_text(unit, p->quality, text));
    }
    itg_report_table(s->page, &table, "Points of others", true);
    itg_page_section_end(s->page);
}

static void put_front(const subject *s)
{
    char words[256], text[96];
    itg_cli_table table;
    if (s->front.front_count == 0) return;
    snprintf(words, sizeof words,
             "%d trial%s that no other one beats in %s, on the search samples. The front goes by "
             "quality: of top-1 what is expected, where that is known.",
             (int)s->front.front_count, itg_plural(s->front.front_count),
             itg_goal_objectives_text(&s->front.goal, text, sizeof text));
    itg_page_section(s->page, "front", "Quality against cost", words);
    put_front_plot(s);
    itg_page_details(s->page, "The front");
    itg_cli_front_table(&table, &s->front);
    itg_report_table(s->page, &table, "The front", true);
    itg_page_details_end(s->page);
    itg_page_section_end(s->page);
}

/* ---- the best ---- */

static void put_choice_plot(const subject *s)
{
    const int32_t count = itg_run_choices_count(s->shown.choices);
    char words[WORDS];
    itg_plot plot;
    itg_axis x = {.title = "group of edges, in the order of the network", .scale = 1},
             y = {.title = "bits", .scale = 1};
    int32_t place = 0;
    for (int32_t i = 0; i < count; i++) {
        const itg_run_choice *c = itg_run_choices_at(s->shown.choices, i);
        if (strcmp(c->kind, "bits") == 0) x.hi++, y.hi = fmax(y.hi, atof(c->value));
    }
    if (!(y.hi > 0)) return;
    x.lo = 0.5;
    x.hi += 0.5;
    itg_plot_begin(&plot, s->page, "Plot: bits of each group of edges", x, y);
    for (int32_t i = 0; i < count; i++) {
        const itg_run_choice *c = itg_run_choices_at(s->shown.choices, i);
        if (strcmp(c->kind, "bits") != 0) continue;
        snprintf(words, sizeof words, "%s bits: %.150s", c->value,
                 c->edge_count > 0 ? c->edges[0] : "");
        itg_plot_bar(&plot, ++place, atof(c->value), atof(c->value) < y.hi, words);
    }
    itg_plot_end(&plot);
}

static void put_choices(const subject *s)
{
    char words[WORDS];
    itg_cli_table table;
    if (!s->shown.choices || itg_run_choices_count(s->shown.choices) == 0) return;
    snprintf(words, sizeof words, "Trial %lld, group by group: edges of a group must agree.",
             (long long)s->shown.run.record->best_trial);
    itg_page_section(s->page, "choices", "What the best chose", words);
    put_choice_plot(s);
    itg_page_details(s->page, "All choices");
    itg_cli_shown_choices(&table, &s->shown);
    itg_report_table(s->page, &table, "Choices of the best trial", true);
    itg_page_details_end(s->page);
    itg_page_section_end(s->page);
}

/* ---- results, inputs ---- */

static void put_cost_figure(const subject *s)
{
    const itg_run_record *r = s->shown.run.record;
    const itg_metric_info *cost = itg_metric_about(s->cost);
    const double value = itg_score_get(&r->result[ITG_RESULT_BEST], s->cost),
                 uniform = itg_score_get(&r->result[ITG_RESULT_UNIFORM8], s->cost);
    char text[32], below[64] = "uniform 8 bits is not known";
    if (uniform > 0)
        snprintf(below, sizeof below, "%.1f %% of uniform 8 bits", 100 * value / uniform);
    itg_page_figure(s->page, cost->words, itg_cli_unit_text(cost->unit, value, text), below);
}

static void put_quality_figure(const subject *s)
{
    const itg_run_record *r = s->shown.run.record;
    char text[64], name[96], number[64], below[96];
    snprintf(name, sizeof name, "%s on the hold-out", s->quality);
    snprintf(below, sizeof below, "float %s",
             itg_cli_quality_text(goal_of(s), &r->result[ITG_RESULT_FLOAT], number, sizeof number));
    itg_page_figure(
        s->page, name,
        itg_cli_quality_text(goal_of(s), &r->result[ITG_RESULT_BEST], text, sizeof text),
        r->known[ITG_RESULT_FLOAT] ? below : "");
}

static void put_figures(const subject *s)
{
    const itg_run_record *r = s->shown.run.record;
    char state[64], count[32], words[64];
    bool holds = false, known = itg_cli_logged_held(&s->shown.run, &holds);
    itg_page_figures(s->page);
    if (s->shown.run.has_goal && r->known[ITG_RESULT_BEST]) {
        put_cost_figure(s);
        put_quality_figure(s);
        itg_page_figure(s->page, "goal", r->goal_met && (!known || holds) ? "met" : "missed",
                        !r->goal_met ? "on the search samples"
                        : !known     ? "on the search samples"
                        : holds      ? "on the search samples and the hold-out"
                                     : "on the hold-out");
    }
    snprintf(words, sizeof words, "%s", itg_cli_state(&s->shown.run, state, sizeof state));
    itg_page_figure(s->page, "trials", itg_cli_count_text((long long)s->shown.count, count), words);
    itg_page_figures_end(s->page);
}

static void put_results(const subject *s)
{
    const itg_score *any = itg_cli_any_result(s->shown.run.record);
    char words[96], count[32];
    itg_cli_table table;
    if (!any) return;
    snprintf(words, sizeof words, "On the hold-out, %s sample%s.",
             itg_cli_count_text((long long)any->samples, count), itg_plural(any->samples));
    itg_page_section(s->page, "results", "Results", words);
    itg_cli_shown_results(&table, &s->shown.run);
    itg_report_table(s->page, &table, "Results on the hold-out", true);
    itg_page_section_end(s->page);
}

static void put_inputs(const subject *s)
{
    itg_cli_table table;
    itg_page_section(s->page, "inputs", "What was searched",
                     "Files with their SHA-256: the same inputs, options and seed give the same "
                     "trials again.");
    itg_cli_shown_inputs(&table, &s->shown);
    itg_report_table(s->page, &table, "Inputs and options", false);
    itg_page_section_end(s->page);
}

/* ---- the page ---- */

/* Appends a word of a command line, with quotes if a shell needs them. */
static void put_word(itg_strbuf *line, const char *word)
{
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:,@%";
    if (*word && word[strspn(word, plain)] == '\0') {
        itg_strbuf_add(line, word);
        return;
    }
    itg_strbuf_add(line, "'");
    for (; *word; word++)
        itg_strbuf_format(line, *word == '\'' ? "'\\''" : "%c", *word);
    itg_strbuf_add(line, "'");
}

/* Adds a command. action: the words after "intaglio runs ", without names. */
static void put_command(const subject *s, const char *action)
{
    itg_strbuf line = {0};
    itg_strbuf_format(&line, "intaglio runs %s --db ", action);
    put_word(&line, s->shown.args->values[ITG_CLI_OPT_RUNS_DB].text);
    s->page->text.failed |= !itg_strbuf_ok(&line);
    if (itg_strbuf_ok(&line)) itg_page_typed(s->page, line.text);
    itg_strbuf_deinit(&line);
}

static void put_commands(const subject *s)
{
    const itg_run_record *r = s->shown.run.record;
    const long long run = r->run;
    char action[96];
    itg_page_section(s->page, "commands", "Going on from here",
                     "The same figures as text, and the strategy that 'intaglio realize' takes.");
    snprintf(action, sizeof action, "show %lld --trials", run);
    put_command(s, action);
    snprintf(action, sizeof action, "front %lld", run);
    put_command(s, action);
    snprintf(action, sizeof action, "best %lld --trial %lld -o strategy.json", run,
             (long long)r->best_trial);
    if (r->best_trial >= 0) put_command(s, action);
    itg_page_section_end(s->page);
}

static void put_data(const subject *s)
{
    itg_json_writer run = {0}, front = {0};
    itg_cli_shown_json(&run, &s->shown, s->drawn_count == s->shown.count);
    itg_report_block(s->page, "run", &run);
    if (!s->shown.run.has_goal) return;
    itg_cli_front_json(&front, &s->front);
    itg_report_block(s->page, "front", &front);
}

static itg_status put_page(subject *s, itg_run_log *log, itg_error *err)
{
    const itg_run_info *info = &s->shown.run.record->info;
    char title[160], goal[256] = "Its goal is not known.";
    snprintf(title, sizeof title, "%.90s on %.40s", itg_cli_base_name(info->model_name),
             info->hardware_name);
    if (s->shown.run.has_goal)
        itg_cli_goal_words(goal_of(s), strcmp(s->quality, "top-1") == 0, goal, sizeof goal);
    if (goal[0] >= 'a' && goal[0] <= 'z') goal[0] = (char)(goal[0] - 'a' + 'A');
    itg_page_begin(s->page, title, goal);
    s->cost = itg_goal_maximizes_quality(goal_of(s)) ? s->front.goal.objectives[0]
                                                     : itg_goal_objective(goal_of(s));
    put_figures(s);
    put_results(s);
    put_course(s);
    put_steps(s);
    s->cost = s->front.goal.objectives[0];
    put_front(s);
    put_peers(s);
    put_choices(s);
    itg_status status = itg_report_sensitivities(s->page, log, s->shown.run.record, err);
    put_inputs(s);
    put_commands(s);
    put_data(s);
    return status;
}

static itg_status fill(subject *s, const char *path, int64_t run, itg_error *err)
{
    itg_run_log *log = NULL;
    itg_status status = itg_run_log_open_reader(path, &log, err);
    if (status != ITG_OK) return status;
    status = read_all(s, log, run, err);
    if (status == ITG_OK) status = put_page(s, log, err);
    itg_status closed = itg_run_log_close(log, status == ITG_OK ? err : NULL);
    return status == ITG_OK ? closed : status;
}

itg_status itg_report_run(const itg_cli_args *args, int64_t run, itg_page *page, itg_error *err)
{
    subject s = {.page = page, .shown.args = args};
    itg_status status = fill(&s, args->values[ITG_CLI_OPT_RUNS_DB].text, run, err);
    close_all(&s);
    return status;
}
