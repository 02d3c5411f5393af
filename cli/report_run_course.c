/* The course of a search: its trials in their order, and those that were the best so far. */
#include "cli/report_run.h"
#include <math.h>
#include <stdio.h>

static double course_value(const run_report *s, const itg_trial *t)
{
    if (!t->feasible) return NAN;
    return itg_goal_maximizes_quality(run_report_goal(s)) ? run_report_quality(s, &t->score)
                                                          : itg_score_get(&t->score, s->cost);
}

static itg_axis course_axis(const run_report *s, char title[96])
{
    itg_axis y = itg_goal_maximizes_quality(run_report_goal(s)) ? run_report_quality_axis(s, title)
                                                                : run_report_cost_axis(s, title);
    for (int64_t i = 0; i < s->shown.count; i++)
        itg_axis_hold(&y, course_value(s, &s->shown.trials[i]));
    itg_axis_round_up(&y);
    return y;
}

static void draw_trials(const run_report *s, itg_plot *plot)
{
    char words[RUN_REPORT_WORDS];
    for (int64_t i = 0; i < s->shown.count; i++) {
        const itg_trial *t = &s->shown.trials[i];
        if (s->drawn[i] && t->feasible)
            itg_plot_mark(plot, t->score.stopped_at > 0 ? ITG_MARK_OPEN : ITG_MARK_FAINT,
                          (double)t->index, course_value(s, t), run_report_trial(s, t, words));
    }
}

/* Draws the steps of the best. The final choice may be a trial before the last step. */
static void draw_steps(const run_report *s, itg_plot *plot)
{
    const itg_cli_shown *shown = &s->shown;
    char words[RUN_REPORT_WORDS];
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
                      course_value(s, t), run_report_trial(s, t, words));
    }
}

static void put_course_plot(const run_report *s)
{
    static const itg_legend legend[] = {{ITG_MARK_FAINT, "trial"},
                                        {ITG_MARK_DOT, "best so far that meets the goal"},
                                        {ITG_MARK_DIAMOND, "the best"},
                                        {ITG_MARK_OPEN, "stopped early"}};
    const int entries = s->shown.run.record->raced > 0 ? 4 : 3;
    char title[96], label[RUN_REPORT_WORDS];
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

static void put_trials(const run_report *s)
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

void run_report_course(const run_report *s)
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

void run_report_steps(const run_report *s)
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
