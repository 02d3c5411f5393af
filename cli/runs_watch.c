/* intaglio runs show --watch: the progress of a run that another process writes, until it ends. */
#include "cli/holder.h"
#include "cli/progress.h"
#include "cli/runs.h"
#include <time.h>

enum { PERIOD_S = 1, SHARE = 5 }; /* reading takes at most this part of the time */

typedef struct watch {
    itg_run_log *log;
    int64_t run, seen; /* trials that were shown */
    itg_search_options options;
    itg_cli_progress progress;
} watch;

/* Finds the best so far; while none meets the goal, the feasible trial with the least distortion.
 * Returns false if there is none. */
static bool find_best(const itg_cli_shown *s, itg_trial *best)
{
    bool found = s->step_count > 0;
    if (found) *best = s->trials[s->steps[s->step_count - 1]];
    for (int64_t i = 0; i < s->count && s->step_count == 0; i++) {
        const itg_trial *t = &s->trials[i];
        if (!t->feasible || t->score.stopped_at > 0) continue;
        if (!found ||
            t->score.value[ITG_METRIC_DISTORTION] < best->score.value[ITG_METRIC_DISTORTION])
            *best = *t;
        found = true;
    }
    if (found) best->meets_goal = s->step_count > 0; /* which the log does not keep */
    return found;
}

static void show(watch *w, const itg_cli_shown *s)
{
    const double now = itg_cli_now();
    itg_trial best;
    if (w->seen < 0) {
        w->options = s->run.options;
        itg_cli_progress_begin(&w->progress, true, &w->options, now);
        w->progress.quiet = false;
        w->seen = 0;
    }
    if (s->count == w->seen) return;
    if (!s->floor_known) return; /* the run was read before its float score was in it */
    w->seen = s->count;
    itg_cli_progress_show(&w->progress, &s->trials[s->count - 1],
                          find_best(s, &best) ? &best : NULL,
                          w->options.trials > 0 ? w->options.trials : INT64_MAX, now);
}

/* Reads the run once. Sets *more to whether another process still writes it. That is asked before
 * the run is read, so that the last reading has all that the process wrote. */
static itg_status look(watch *w, const itg_cli_args *args, bool *more, itg_error *err)
{
    itg_cli_shown s = {.args = args};
    itg_cli_holder self;
    const bool is_written =
        itg_run_log_check_free(w->log, w->run, itg_cli_claim(&self), NULL) != ITG_OK;
    itg_status status = itg_cli_shown_read(&s, w->log, w->run, err);
    if (status == ITG_OK && s.run.has_goal) show(w, &s);
    *more = status == ITG_OK && is_written && !s.run.record->ended;
    itg_cli_shown_close(&s);
    return status;
}

static void pause_for(double seconds)
{
    const time_t whole = (time_t)seconds;
    const struct timespec time = {whole, (long)((seconds - (double)whole) * 1e9)};
    nanosleep(&time, NULL);
}

itg_status itg_cli_runs_watch(const itg_cli_args *args, itg_run_log *log, int64_t run,
                              itg_error *err)
{
    watch w = {.log = log, .run = run, .seen = -1};
    bool more = true;
    itg_status status = ITG_OK;
    while (status == ITG_OK && more) {
        const double begin = itg_cli_now();
        status = look(&w, args, &more, err);
        const double taken = itg_cli_now() - begin;
        if (status == ITG_OK && more) pause_for(taken > PERIOD_S ? SHARE * taken : PERIOD_S);
    }
    itg_cli_progress_end(&w.progress);
    return status;
}
