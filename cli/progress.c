#include "cli/progress.h"
#include "cli/common.h"
#include "cli/goal.h"
#include "cli/table.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_S 0.1  /* on a terminal */
#define REPEAT_S 10.0 /* elsewhere, while nothing better is found */

enum { BAR = 10, LINE = ITG_CLI_PROGRESS_LINE };

static int terminal_columns(void)
{
#ifdef TIOCGWINSZ
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return size.ws_col;
#endif
    return 80;
}

/* Draws the line over the old one. Blanks cover the rest, which needs no escape sequence. The line
 * is cut at the terminal's width, because a wrapped line cannot be redrawn. */
static void draw(itg_cli_progress *p, char *text, bool is_better)
{
    int width = (int)strlen(text), room = terminal_columns() - 1;
    if (width > room) text[width = room] = '\0';
    int fill = p->width > width ? p->width - width : 0;
    const char *on = is_better && p->in_color ? "\x1b[32m" : "", *off = *on ? "\x1b[0m" : "";
    fprintf(stderr, "\r%s%s%s%*s", on, text, off, fill < room - width ? fill : room - width, "");
    p->width = width;
}

static void draw_or_print(itg_cli_progress *p, char *text, bool is_better)
{
    if (p->on_terminal)
        draw(p, text, is_better);
    else
        fprintf(stderr, "%s\n", text);
}

static void add(char text[LINE], const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, LINE - used, format, arguments);
    va_end(arguments);
}

void itg_cli_progress_begin(itg_cli_progress *progress, bool quiet,
                            const itg_search_options *options, double now)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    bool dumb = !term || strcmp(term, "dumb") == 0;
    bool on_terminal = !dumb && isatty(STDERR_FILENO) == 1;
    char text[LINE] = "calibrating, and scoring the float network and 8 bits everywhere";
    *progress = (itg_cli_progress){.quiet = quiet,
                                   .on_terminal = on_terminal,
                                   .options = options,
                                   .start = now,
                                   .last_shown = now - REPEAT_S,
                                   .best = -1};
    progress->in_color = on_terminal && !(no_color && *no_color);
    if (options->replay_count > 0)
        add(text, "; %lld trial%s of the log are replayed", (long long)options->replay_count,
            itg_plural(options->replay_count));
    if (!quiet) draw_or_print(progress, text, false);
}

/* Whether there is a time limit to show. A resumed run's seconds include those of earlier calls. */
static bool is_timed(const itg_cli_progress *p)
{
    return p->options->seconds > 0 && p->options->replay_count == 0;
}

/* Returns the seconds to the earlier of two ends: all trials, or the time limit. Negative: neither
 * is known. */
static double seconds_left(const itg_cli_progress *p, int64_t done, int64_t planned, double rate,
                           double now)
{
    double left = -1;
    if (planned != INT64_MAX && rate > 0) left = (double)(planned - done) / rate;
    if (is_timed(p)) {
        double rest = p->start + p->options->seconds - now;
        if (rest < 0) rest = 0;
        if (left < 0 || rest < left) left = rest;
    }
    return left;
}

static void add_time(char text[LINE], double seconds)
{
    long long s = seconds < 3.6e6 ? (long long)(seconds + 0.5) : 3600000;
    if (s >= 3600)
        add(text, ", %lld:%02lld:%02lld left", s / 3600, s / 60 % 60, s % 60);
    else
        add(text, ", %lld:%02lld left", s / 60, s % 60);
}

/* Adds a bar with the share of trials or seconds, if the end is known. */
static void add_bar(char text[LINE], const itg_cli_progress *p, int64_t done, int64_t planned,
                    double now)
{
    double share = planned != INT64_MAX ? (double)done / (double)planned : -1;
    if (is_timed(p) && (now - p->start) / p->options->seconds > share)
        share = (now - p->start) / p->options->seconds;
    if (share < 0) return;
    int full = share < 1 ? (int)(share * BAR) : BAR;
    char bar[BAR + 1];
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)full);
    bar[BAR] = '\0';
    add(text, "[%s] ", bar);
}

static void add_best(char text[LINE], const itg_cli_progress *p, const itg_trial *best)
{
    char figures[96];
    if (!best) {
        add(text, ", none could be run yet");
        return;
    }
    itg_cli_goal_figures(&p->options->goal, &best->score, figures, sizeof figures);
    add(text,
        best->meets_goal ? ", best %s (trial %lld)" : ", goal not met yet, nearest %s (trial %lld)",
        figures, (long long)best->index);
}

static void describe(itg_cli_progress *p, const itg_trial *best, int64_t done, int64_t planned,
                     double now)
{
    char *text = p->latest;
    double rate = now > p->timed ? (double)(done - p->first) / (now - p->timed) : 0;
    double left = seconds_left(p, done, planned, rate, now);
    *text = '\0';
    if (p->on_terminal) add_bar(text, p, done, planned, now);
    if (planned != INT64_MAX)
        add(text, "%lld of %lld trial%s", (long long)done, (long long)planned, itg_plural(planned));
    else
        add(text, "%lld trial%s", (long long)done, itg_plural(done));
    if (p->raced > 0) add(text, ", %lld stopped early", (long long)p->raced);
    if (left >= 0) add_time(text, left);
    if (rate > 0) add(text, ", %.3g/s", rate);
    add_best(text, p, best);
}

void itg_cli_progress_show(itg_cli_progress *p, const itg_trial *trial, const itg_trial *best,
                           int64_t planned, double now)
{
    int64_t done = trial->index + 1, number = best ? best->index : -1;
    p->raced += !trial->duplicate && trial->score.stopped_at > 0;
    /* Replayed trials take almost no time and are not shown. */
    if (p->quiet || done <= p->options->replay_count) return;
    if (p->first == 0) {
        p->first = done;
        p->timed = now;
    }
    bool is_better = number != p->best;
    bool is_due = now - p->last_shown >= (p->on_terminal ? REDRAW_S : REPEAT_S);
    describe(p, best, done, planned, now);
    p->is_behind = !is_due && !is_better;
    if (p->is_behind) return;
    draw_or_print(p, p->latest, is_better);
    p->last_shown = now;
    p->best = number;
}

void itg_cli_progress_codes(itg_cli_progress *p, int32_t layer, int32_t layers)
{
    char text[LINE] = "";
    if (p->quiet || !p->on_terminal) return;
    add(text, "codes of weights, layer %d of %d", layer + 1, layers);
    draw(p, text, false);
}

/* Leaves the last state on the terminal and ends its line. */
void itg_cli_progress_end(itg_cli_progress *p)
{
    if (p->on_terminal && p->is_behind) draw(p, p->latest, false);
    if (p->width > 0) fputc('\n', stderr);
    p->width = 0;
}
