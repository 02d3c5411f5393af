/* The front of a run's trials, and points of others beside it. */
#include "cli/report_run.h"
#include <math.h>
#include <stdio.h>

static void front_axes(const run_report *s, itg_axis *x, itg_axis *y)
{
    const double least = run_report_least(s);
    double lo = 0, hi = 0;
    itg_axis_hold(y, run_report_float(s));
    if (isfinite(least)) itg_axis_hold(y, least);
    for (int64_t i = 0; i < s->shown.count; i++) {
        const itg_trial *t = &s->shown.trials[i];
        double quality = run_report_quality(s, &t->score);
        if (!t->feasible || !(quality >= least)) continue;
        itg_axis_hold(x, itg_score_get(&t->score, s->cost));
        itg_axis_hold(y, quality);
    }
    for (int32_t i = 0; i < s->front.front_count; i++) {
        const itg_score *score = &s->front.trials[s->front.places[i]].score;
        if (run_report_quality(s, score) >= least && itg_cli_top1_interval(score, &lo, &hi))
            itg_axis_hold(y, hi);
    }
    for (int64_t i = 0; i < s->peers.count; i++) {
        itg_axis_hold(x, s->peers.list[i].cost);
        itg_axis_hold(y, s->peers.list[i].quality);
    }
    itg_axis_round_up(x);
    itg_axis_round_up(y);
}

static const char *peer_words(const run_report *s, const itg_peer *peer, char out[RUN_REPORT_WORDS])
{
    const itg_metric_info *cost = itg_metric_about(s->cost);
    const itg_unit unit =
        itg_goal_about(run_report_goal(s), itg_goal_quality_metric(run_report_goal(s))).unit;
    char number[32], text[32];
    snprintf(out, RUN_REPORT_WORDS, "%.80s: %s %s, %s %s", peer->name,
             itg_cli_unit_text(cost->unit, peer->cost, number), cost->words, s->quality,
             itg_cli_unit_text(unit, peer->quality, text));
    return out;
}

static void draw_peers(const run_report *s, itg_plot *plot)
{
    char words[RUN_REPORT_WORDS];
    for (int64_t i = 0; i < s->peers.count; i++)
        itg_plot_mark(plot, ITG_MARK_SQUARE, s->peers.list[i].cost, s->peers.list[i].quality,
                      peer_words(s, &s->peers.list[i], words));
}

static void draw_levels(const run_report *s, itg_plot *plot)
{
    const double floats = run_report_float(s), drop = itg_goal_drop(run_report_goal(s));
    if (!isnan(floats)) itg_plot_level(plot, floats, "float");
    if (!isnan(floats) && drop > 0 && itg_goal_counts_classes(run_report_goal(s)))
        itg_plot_level(plot, floats - drop, "floor of the goal");
    if (itg_goal_least_sqnr(run_report_goal(s)) > 0)
        itg_plot_level(plot, itg_goal_least_sqnr(run_report_goal(s)), "floor of the goal");
}

/* Draws one trial, or counts it if it is below the axes. */
static void draw_point(const run_report *s, itg_plot *plot, itg_mark mark, const itg_trial *t,
                       int64_t *outside)
{
    char words[RUN_REPORT_WORDS];
    const double cost = itg_score_get(&t->score, s->cost);
    double lo = 0, hi = 0, quality = run_report_quality(s, &t->score);
    if (mark != ITG_MARK_FAINT && quality >= plot->y.lo &&
        itg_cli_top1_interval(&t->score, &lo, &hi))
        itg_plot_interval(plot, cost, lo, hi);
    itg_plot_mark(plot, mark, cost, quality, run_report_trial(s, t, words));
    *outside += quality < plot->y.lo;
}

static int64_t draw_front(const run_report *s, itg_plot *plot)
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

static void put_front_plot(const run_report *s)
{
    static const itg_legend legend[] = {{ITG_MARK_FAINT, "trial"},
                                        {ITG_MARK_DOT, "on the front, with its 95 % interval"},
                                        {ITG_MARK_DIAMOND, "the best"},
                                        {ITG_MARK_SQUARE, "others, by their own samples"}};
    char x_title[96], y_title[96], words[RUN_REPORT_WORDS + 64];
    itg_plot plot;
    itg_axis x = run_report_cost_axis(s, x_title), y = run_report_quality_axis(s, y_title);
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

void run_report_peers(const run_report *s)
{
    const itg_unit unit =
        itg_goal_about(run_report_goal(s), itg_goal_quality_metric(run_report_goal(s))).unit;
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

void run_report_front(const run_report *s)
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
