/* Private to cli/report_run*.c: the page of a run under way. */
#ifndef ITG_CLI_REPORT_RUN_H
#define ITG_CLI_REPORT_RUN_H
#include "cli/goal.h"
#include "cli/report.h"

enum { RUN_REPORT_WORDS = 192 };

typedef struct run_report {
    itg_page *page;
    itg_cli_shown shown;
    itg_cli_front front;
    itg_peers peers;
    bool *drawn; /* of the trials */
    int64_t drawn_count;
    const char *quality; /* what it is called */
    itg_metric cost;     /* the one that the section is about */
} run_report;

/* ---- report_run_trial.c: figures of a trial, and their axes ---- */
const itg_goal *run_report_goal(const run_report *s);
/* Returns the quality that reports show; for a trial that was stopped early, its bound. */
double run_report_quality(const run_report *s, const itg_score *score);
const char *run_report_trial(const run_report *s, const itg_trial *t, char out[RUN_REPORT_WORDS]);
itg_axis run_report_cost_axis(const run_report *s, char title[96]);
itg_axis run_report_quality_axis(const run_report *s, char title[96]);
/* Returns the float network's quality on the search samples; NaN: not known. */
double run_report_float(const run_report *s);
/* Returns the least quality that is drawn. Shares far below the goal's floor would squeeze the
 * relevant range. */
double run_report_least(const run_report *s);

/* ---- report_run_course.c ---- */
void run_report_course(const run_report *s);
void run_report_steps(const run_report *s);

/* ---- report_run_front.c ---- */
void run_report_front(const run_report *s);
void run_report_peers(const run_report *s);
#endif
