/* Plots of numbers as SVG, in a page. Marks differ in shape as well as in colour. */
#ifndef ITG_REPORT_PLOT_H
#define ITG_REPORT_PLOT_H
#include "report/page.h"

/* An axis shows the numbers from lo to hi (finite); ticks are round numbers of `scale` times them.
 */
typedef struct itg_axis {
    const char *title; /* with the unit */
    double lo, hi, scale;
} itg_axis;

/* Widens the axis to hold the number; NaN: nothing happens. Begin with itg_axis_empty. */
itg_axis itg_axis_empty(const char *title, double scale);
void itg_axis_hold(itg_axis *axis, double value);
/* Some room at both ends; an axis that holds nothing, or one number, gets an extent. */
void itg_axis_round_up(itg_axis *axis);

typedef enum itg_mark {
    ITG_MARK_FAINT, /* a small dot */
    ITG_MARK_DOT,
    ITG_MARK_OPEN, /* a ring */
    ITG_MARK_SQUARE,
    ITG_MARK_DIAMOND /* the one that matters */
} itg_mark;
typedef struct itg_plot {
    itg_page *page;
    itg_axis x, y;
    double at_x, at_y; /* the last point of a line */
    bool in_line;
} itg_plot;

/* label: what the plot shows, for screen readers. */
void itg_plot_begin(itg_plot *plot, itg_page *page, const char *label, itg_axis x, itg_axis y);
/* A mark with words that a pointer over it shows. Outside of the axes: nothing, and false. */
bool itg_plot_mark(itg_plot *plot, itg_mark mark, double x, double y, const char *words);
/* A vertical interval; what is outside is cut off. */
void itg_plot_interval(itg_plot *plot, double x, double lo, double hi);
/* A dashed line at y; words stand at its end. Outside of the axes: nothing. */
void itg_plot_level(itg_plot *plot, double y, const char *words);
/* A line in steps: points one after another, in the order of x. */
void itg_plot_step(itg_plot *plot, double x, double y);
void itg_plot_step_end(itg_plot *plot, double x); /* goes on to x */
/* A bar from the x axis up. */
void itg_plot_bar(itg_plot *plot, double x, double y, bool accent, const char *words);
/* A box from x to end_x and from y to end_y. */
void itg_plot_box(itg_plot *plot, double x, double end_x, double y, double end_y, bool accent,
                  const char *words);
void itg_plot_end(itg_plot *plot);
/* A small drawing of two histograms with the same bins: an area and a line. Heights are
 * logarithms, each up to its own largest. name: above it, words: what a pointer over it shows. */
void itg_plot_histograms(itg_page *page, const char *name, const char *words, const int64_t *area,
                         const int64_t *line, int32_t count);
/* Below a plot: what its marks are. */
typedef struct itg_legend {
    itg_mark mark;
    const char *words;
} itg_legend;
void itg_plot_legend(itg_page *page, const itg_legend *entries, int count);
#endif
