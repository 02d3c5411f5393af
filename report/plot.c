#include "report/plot.h"
#include <math.h>
#include <stdio.h>

/* in units of the drawing, which the page scales */
enum { WIDTH = 640, HEIGHT = 340, LEFT = 84, RIGHT = 624, TOP = 14, BOTTOM = 276 };

/* ---- axes ---- */

itg_axis itg_axis_empty(const char *title, double scale)
{
    return (itg_axis){.title = title, .lo = INFINITY, .hi = -INFINITY, .scale = scale};
}

void itg_axis_hold(itg_axis *axis, double value)
{
    if (!isfinite(value)) return;
    axis->lo = fmin(axis->lo, value);
    axis->hi = fmax(axis->hi, value);
}

void itg_axis_round_up(itg_axis *axis)
{
    if (!(axis->lo <= axis->hi)) axis->lo = axis->hi = 0;
    double room = 0.04 * (axis->hi - axis->lo);
    if (!(room > 0)) room = axis->hi != 0 ? 0.05 * fabs(axis->hi) : 1;
    axis->lo -= room;
    axis->hi += room;
}

static bool within(const itg_axis *axis, double value)
{
    return value >= axis->lo && value <= axis->hi;
}

static double share_of(const itg_axis *axis, double value)
{
    return (value - axis->lo) / (axis->hi - axis->lo);
}

static double place_x(const itg_plot *plot, double x)
{
    return LEFT + (RIGHT - LEFT) * share_of(&plot->x, x);
}

static double place_y(const itg_plot *plot, double y)
{
    return BOTTOM - (BOTTOM - TOP) * share_of(&plot->y, y);
}

/* 1, 2 or 5 times a power of ten: at most seven ticks. */
static double tick_step(double extent)
{
    double power = pow(10, floor(log10(extent / 7))), units = extent / 7 / power;
    return power * (units <= 1 ? 1 : units <= 2 ? 2 : units <= 5 ? 5 : 10);
}

/* "<line and text>" of one tick. */
static void put_tick(const itg_plot *plot, bool vertical, double at, const char *label)
{
    if (vertical)
        itg_page_markup(plot->page,
                        "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"tick end\" "
                        "x=\"%d\" y=\"%.1f\">%s</text>\n",
                        LEFT, at, RIGHT, LEFT - 8, at + 4, label);
    else
        itg_page_markup(plot->page,
                        "<path class=\"grid\" d=\"M%.1f %dv4\"/><text class=\"tick mid\" "
                        "x=\"%.1f\" y=\"%d\">%s</text>\n",
                        at, BOTTOM, at, BOTTOM + 22, label);
}

static void put_ticks(const itg_plot *plot, bool vertical)
{
    const itg_axis *axis = vertical ? &plot->y : &plot->x;
    const double lo = axis->scale * axis->lo, step = tick_step(axis->scale * axis->hi - lo);
    const int decimals = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
    char label[48];
    itg_page_markup(plot->page, "<g class=\"%s\">\n", vertical ? "ys" : "xs");
    for (int i = 0; i < 16; i++) {
        double value = step * (ceil(lo / step - 1e-6) + i);
        if (value > axis->scale * axis->hi + 1e-6 * step) break;
        double at = value / axis->scale;
        snprintf(label, sizeof label, "%.*f", decimals < 12 ? decimals : 12, value + 0.0);
        put_tick(plot, vertical, vertical ? place_y(plot, at) : place_x(plot, at), label);
    }
    itg_page_markup(plot->page, "</g>\n<text class=\"axis mid\" ");
    if (vertical)
        itg_page_markup(plot->page, "transform=\"translate(18 %d) rotate(-90)\">",
                        (TOP + BOTTOM) / 2);
    else
        itg_page_markup(plot->page, "x=\"%d\" y=\"%d\">", (LEFT + RIGHT) / 2, HEIGHT - 12);
    itg_page_text(plot->page, axis->title);
    itg_page_markup(plot->page, "</text>\n");
}

void itg_plot_begin(itg_plot *plot, itg_page *page, const char *label, itg_axis x, itg_axis y)
{
    *plot = (itg_plot){.page = page, .x = x, .y = y};
    itg_page_drawing(page, "plot", label, WIDTH, HEIGHT);
    put_ticks(plot, true);
    put_ticks(plot, false);
    itg_page_markup(page, "<path class=\"base\" d=\"M%d %dH%d\"/>\n", LEFT, BOTTOM, RIGHT);
}

void itg_plot_end(itg_plot *plot)
{
    itg_page_drawing_end(plot->page);
}

/* ---- marks ---- */

static void put_shape(itg_page *page, itg_mark mark, double x, double y)
{
    static const char *const classes[] = {"faint", "dot", "open", "square", "diamond"};
    static const double sizes[] = {2.2, 3.4, 3.4, 4, 6.5};
    const double size = sizes[mark];
    if (mark == ITG_MARK_DIAMOND)
        itg_page_markup(page,
                        "<path class=\"diamond\" d=\"M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f "
                        "%.1fz\"",
                        x - size, y, size, -size, size, size, -size, size);
    else if (mark == ITG_MARK_SQUARE)
        itg_page_markup(page, "<path class=\"square\" d=\"M%.1f %.1fh%.1fv%.1fh%.1fz\"", x - size,
                        y - size, 2 * size, 2 * size, -2 * size);
    else
        itg_page_markup(page, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"",
                        classes[mark], x, y, size);
}

/* Ends an open tag, with words or without. */
static void put_words(itg_page *page, const char *tag, const char *words)
{
    if (!words) {
        itg_page_markup(page, "/>\n");
        return;
    }
    itg_page_markup(page, "><title>");
    itg_page_text(page, words);
    itg_page_markup(page, "</title></%s>\n", tag);
}

bool itg_plot_mark(itg_plot *plot, itg_mark mark, double x, double y, const char *words)
{
    if (!within(&plot->x, x) || !within(&plot->y, y)) return false;
    put_shape(plot->page, mark, place_x(plot, x), place_y(plot, y));
    put_words(plot->page, mark >= ITG_MARK_SQUARE ? "path" : "circle", words);
    return true;
}

void itg_plot_interval(itg_plot *plot, double x, double lo, double hi)
{
    lo = fmax(lo, plot->y.lo);
    hi = fmin(hi, plot->y.hi);
    if (!within(&plot->x, x) || !(lo < hi)) return;
    itg_page_markup(plot->page, "<path class=\"interval\" d=\"M%.1f %.1fV%.1f\"/>\n",
                    place_x(plot, x), place_y(plot, lo), place_y(plot, hi));
}

void itg_plot_level(itg_plot *plot, double y, const char *words)
{
    if (!within(&plot->y, y)) return;
    const double at = place_y(plot, y);
    itg_page_markup(plot->page,
                    "<path class=\"level\" d=\"M%d %.1fH%d\"/><text class=\"note end\" x=\"%d\" "
                    "y=\"%.1f\">",
                    LEFT, at, RIGHT, RIGHT, at - 5);
    itg_page_text(plot->page, words);
    itg_page_markup(plot->page, "</text>\n");
}

void itg_plot_step(itg_plot *plot, double x, double y)
{
    const double at_x = place_x(plot, x), at_y = place_y(plot, y);
    if (!plot->in_line)
        itg_page_markup(plot->page, "<path class=\"line\" d=\"M%.1f %.1f", at_x, at_y);
    else
        itg_page_markup(plot->page, "H%.1fV%.1f", at_x, at_y);
    plot->in_line = true;
}

void itg_plot_step_end(itg_plot *plot, double x)
{
    if (!plot->in_line) return;
    itg_page_markup(plot->page, "H%.1f\"/>\n", place_x(plot, x));
    plot->in_line = false;
}

static void put_box(itg_plot *plot, const char *class, double left, double right, double y,
                    double end_y, const char *words)
{
    itg_page_markup(
        plot->page, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"",
        class, left, place_y(plot, end_y), right - left, place_y(plot, y) - place_y(plot, end_y));
    put_words(plot->page, "rect", words);
}

void itg_plot_bar(itg_plot *plot, double x, double y, bool accent, const char *words)
{
    const double half = (RIGHT - LEFT) / (plot->x.hi - plot->x.lo) * 0.36, at = place_x(plot, x);
    put_box(plot, accent ? "bar accent" : "bar", at - half, at + half, plot->y.lo, y, words);
}

void itg_plot_box(itg_plot *plot, double x, double end_x, double y, double end_y, bool accent,
                  const char *words)
{
    put_box(plot, accent ? "box accent" : "box", place_x(plot, x), place_x(plot, end_x), y, end_y,
            words);
}

/* ---- histograms ---- */

enum { SMALL_WIDTH = 216, SMALL_HEIGHT = 92, SMALL_BASE = 84, SMALL_TOP = 22, SMALL_NAME = 36 };

static double largest_of(const int64_t *counts, int32_t count)
{
    int64_t largest = 1;
    for (int32_t i = 0; i < count; i++)
        largest = counts[i] > largest ? counts[i] : largest;
    return log1p((double)largest);
}

/* A path along the tops of the bins, from the base and back to it. */
static void put_outline(itg_page *page, const char *class, const int64_t *counts, int32_t count)
{
    const double most = largest_of(counts, count), step = (double)SMALL_WIDTH / count;
    itg_page_markup(page, "<path class=\"%s\" d=\"M0 %d", class, SMALL_BASE);
    for (int32_t i = 0; i < count; i++)
        if (i == 0 || counts[i] != counts[i - 1])
            itg_page_markup(page, "H%.1fV%.1f", i * step,
                            SMALL_BASE -
                                (SMALL_BASE - SMALL_TOP) * log1p((double)counts[i]) / most);
    itg_page_markup(page, "H%dV%d\"/>\n", SMALL_WIDTH, SMALL_BASE);
}

void itg_plot_histograms(itg_page *page, const char *name, const char *words, const int64_t *area,
                         const int64_t *line, int32_t count)
{
    itg_page_drawing(page, "small", words, SMALL_WIDTH, SMALL_HEIGHT);
    itg_page_markup(page, "<title>");
    itg_page_text(page, words);
    itg_page_markup(page, "</title>\n<text x=\"0\" y=\"12\">");
    itg_page_short_text(page, name, SMALL_NAME);
    itg_page_markup(page, "</text>\n");
    put_outline(page, "area", area, count);
    put_outline(page, "line", line, count);
    itg_page_markup(page, "<path class=\"base\" d=\"M0 %dH%d\"/>\n", SMALL_BASE, SMALL_WIDTH);
    itg_page_drawing_end(page);
}

/* ---- legends ---- */

/* As SVG the legend is a drawing of its own, below the plot. */
static void draw_legend(itg_page *page, const itg_legend *entries, int count)
{
    itg_page_drawing(page, "plot", "Legend", WIDTH, 20 * count + 8);
    for (int i = 0; i < count; i++) {
        put_shape(page, entries[i].mark, LEFT, 20 * i + 8);
        put_words(page, "", NULL);
        itg_page_markup(page, "<text x=\"%d\" y=\"%d\">", LEFT + 14, 20 * i + 12);
        itg_page_text(page, entries[i].words);
        itg_page_markup(page, "</text>\n");
    }
    itg_page_drawing_end(page);
}

void itg_plot_legend(itg_page *page, const itg_legend *entries, int count)
{
    if (page->form == ITG_PAGE_SVG) {
        draw_legend(page, entries, count);
        return;
    }
    itg_page_markup(page, "<ul class=\"legend\">\n");
    for (int i = 0; i < count; i++) {
        itg_page_markup(page, "<li><svg aria-hidden=\"true\" viewBox=\"0 0 16 16\">");
        put_shape(page, entries[i].mark, 8, 8);
        put_words(page, "", NULL);
        itg_page_markup(page, "</svg>");
        itg_page_text(page, entries[i].words);
        itg_page_markup(page, "</li>\n");
    }
    itg_page_markup(page, "</ul>\n");
}
