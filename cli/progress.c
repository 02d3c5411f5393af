#include "cli/progress.h"
#include "cli/table.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REDRAW_S 0.1  /* on a terminal */
#define REPEAT_S 10.0 /* elsewhere, while nothing better is found */

enum { BAR = 20 };

/* The old line is covered with blanks: that needs no escape sequence. */
static void draw(itg_cli_progress *p, const char *text, bool is_better)
{
    int width = (int)strlen(text), fill = p->width > width ? p->width - width : 0;
    const char *on = is_better && p->in_color ? "\x1b[32m" : "", *off = *on ? "\x1b[0m" : "";
    fprintf(stderr, "\r%s%s%s%*s", on, text, off, fill, "");
    p->width = width;
}

static void draw_or_print(itg_cli_progress *p, const char *text, bool is_better)
{
    if (p->on_terminal)
        draw(p, text, is_better);
    else
        fprintf(stderr, "%s\n", text);
}

void itg_cli_progress_begin(itg_cli_progress *progress, bool quiet, double now)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    bool dumb = !term || strcmp(term, "dumb") == 0;
    bool on_terminal = !dumb && isatty(STDERR_FILENO) == 1;
    *progress = (itg_cli_progress){.quiet = quiet,
                                   .on_terminal = on_terminal,
                                   .start = now,
                                   .last_shown = now - REPEAT_S,
                                   .best = -1};
    progress->in_color = on_terminal && !(no_color && *no_color);
    if (!quiet)
        draw_or_print(progress, "calibrating, and scoring the float network and 8 bits everywhere",
                      false);
}

static void add_time(char *text, size_t size, double seconds)
{
    size_t used = strlen(text);
    long long s = seconds < 3.6e6 ? (long long)(seconds + 0.5) : 3600000;
    if (s >= 3600)
        snprintf(text + used, size - used, ", %lld:%02lld:%02lld left", s / 3600, s / 60 % 60,
                 s % 60);
    else
        snprintf(text + used, size - used, ", %lld:%02lld left", s / 60, s % 60);
}

static void add_bar(char *text, size_t size, int64_t done, int64_t planned)
{
    size_t used = strlen(text);
    int full = (int)((double)done / (double)planned * BAR);
    char bar[BAR + 1];
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)(full < 0 ? 0 : full > BAR ? BAR : full));
    bar[BAR] = '\0';
    snprintf(text + used, size - used, "[%s] ", bar);
}

static void add_best(char *text, size_t size, const itg_trial *best)
{
    size_t used = strlen(text);
    char bytes[32];
    if (!best) {
        snprintf(text + used, size - used, ", none good enough yet");
        return;
    }
    const itg_score *s = &best->score;
    snprintf(text + used, size - used, ", best %s bytes at %.2f %%",
             itg_cli_count_text(s->weight_bytes, bytes),
             100 * (s->top1 >= 0 ? s->top1 : s->agreement));
}

void itg_cli_progress_show(itg_cli_progress *p, const itg_trial *trial, const itg_trial *best,
                           int64_t planned, double now)
{
    char text[256] = "";
    int64_t done = trial->index + 1, number = best ? best->index : -1;
    if (p->first == 0) {
        p->first = done;
        p->start = now;
    }
    bool is_better = number != p->best, is_planned = planned != INT64_MAX;
    bool is_due = now - p->last_shown >= (p->on_terminal ? REDRAW_S : REPEAT_S);
    if (p->quiet || !(is_due || is_better)) return;
    double elapsed = now - p->start;
    double rate = elapsed > 0 ? (double)(done - p->first) / elapsed : 0;
    if (is_planned && p->on_terminal) add_bar(text, sizeof text, done, planned);
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, sizeof text - used, "trial %lld", (long long)done);
    if (is_planned) snprintf(text + used, sizeof text - used, " of %lld", (long long)planned);
    add_best(text, sizeof text, best);
    used = strlen(text);
    if (rate > 0) snprintf(text + used, sizeof text - used, ", %.3g trials/s", rate);
    if (is_planned && rate > 0) add_time(text, sizeof text, (double)(planned - done) / rate);
    draw_or_print(p, text, is_better);
    p->last_shown = now;
    p->best = number;
}

void itg_cli_progress_end(itg_cli_progress *p)
{
    if (p->width > 0) fputc('\n', stderr);
    p->width = 0;
}
