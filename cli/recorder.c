/* A separate thread commits pending trials ten times a second. A lock gives the log one user at a
 * time. A failure of the thread is returned for the next trial. */
#include "cli/recorder.h"
#include "cli/common.h"
#include "cli/holder.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TICK_NS 100000000L

struct itg_cli_recorder {
    itg_run_log *log;
    int64_t run;
    pthread_mutex_t lock; /* of everything below and of log */
    pthread_cond_t wake;
    bool stops;
    double renewed;    /* when the lease of the run was, by itg_cli_now */
    itg_error failure; /* of the thread; code ITG_OK: none */
    pthread_t thread;
};

static struct timespec next_tick(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += TICK_NS;
    if (t.tv_nsec >= 1000000000L) {
        t.tv_nsec -= 1000000000L;
        t.tv_sec++;
    }
    return t;
}

static itg_status renew_if_due(itg_cli_recorder *r, itg_error *err)
{
    double now = itg_cli_now();
    if (now - r->renewed < ITG_LOG_LEASE_S / 6.0) return ITG_OK;
    r->renewed = now;
    return itg_run_log_renew(r->log, (int64_t)time(NULL), err);
}

static void *tick(void *context)
{
    itg_cli_recorder *r = context;
    pthread_mutex_lock(&r->lock);
    while (!r->stops) {
        struct timespec until = next_tick();
        if (pthread_cond_timedwait(&r->wake, &r->lock, &until) != ETIMEDOUT) continue;
        itg_error err = {0};
        itg_status status = itg_run_log_commit(r->log, &err);
        if (status == ITG_OK) status = renew_if_due(r, &err);
        if (status != ITG_OK && r->failure.code == ITG_OK) r->failure = err;
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static bool start_thread(itg_cli_recorder *r)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) return false;
    bool ok = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
              pthread_cond_init(&r->wake, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    if (!ok) return false;
    if (pthread_mutex_init(&r->lock, NULL) == 0) {
        if (pthread_create(&r->thread, NULL, tick, r) == 0) return true;
        pthread_mutex_destroy(&r->lock);
    }
    pthread_cond_destroy(&r->wake);
    return false;
}

static itg_status fail(itg_error *err, const char *path, const char *what)
{
    if (err) {
        err->code = ITG_NO_MEMORY;
        snprintf(err->message, sizeof err->message, "%.400s: %s", path, what);
    }
    return ITG_NO_MEMORY;
}

/* Begins a run, or continues `run` if info is NULL. */
static itg_status begin(itg_cli_recorder *r, const itg_run_info *info, int64_t run, itg_error *err)
{
    itg_cli_holder self;
    r->run = run;
    r->renewed = itg_cli_now();
    itg_status status = info ? itg_run_log_begin_run(r->log, info, &r->run, err) : ITG_OK;
    if (status == ITG_OK) status = itg_run_log_take(r->log, r->run, itg_cli_claim(&self), err);
    return status == ITG_OK && !info ? itg_run_log_reopen_run(r->log, run, err) : status;
}

static itg_status open_recorder(const char *path, const itg_run_info *info, int64_t run,
                                itg_cli_recorder **out, itg_error *err)
{
    itg_cli_recorder *r = calloc(1, sizeof *r);
    if (!r) return fail(err, path, "no memory to open it");
    itg_status status = itg_run_log_open(path, &r->log, err);
    if (status == ITG_OK) status = begin(r, info, run, err);
    if (status == ITG_OK && !start_thread(r))
        status = fail(err, path, "cannot start the thread that commits");
    if (status != ITG_OK) {
        itg_run_log_close(r->log, NULL);
        free(r);
        return status;
    }
    *out = r;
    return ITG_OK;
}

itg_status itg_cli_recorder_open(const char *path, const itg_run_info *info, itg_cli_recorder **out,
                                 itg_error *err)
{
    return open_recorder(path, info, 0, out, err);
}

itg_status itg_cli_recorder_resume(const char *path, int64_t run, itg_cli_recorder **out,
                                   itg_error *err)
{
    return open_recorder(path, NULL, run, out, err);
}

int64_t itg_cli_recorder_run(const itg_cli_recorder *recorder)
{
    return recorder->run;
}

itg_status itg_cli_recorder_trial(itg_cli_recorder *r, const itg_trial *trial, double now,
                                  itg_error *err)
{
    pthread_mutex_lock(&r->lock);
    itg_status status = r->failure.code;
    if (status != ITG_OK && err) *err = r->failure;
    if (status == ITG_OK) status = itg_run_log_trial(r->log, r->run, trial, now, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

itg_status itg_cli_recorder_end(itg_cli_recorder *r, const itg_run_end *end, itg_error *err)
{
    pthread_mutex_lock(&r->lock);
    itg_status status = itg_run_log_end_run(r->log, r->run, end, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

itg_status itg_cli_recorder_close(itg_cli_recorder *r, itg_error *err)
{
    if (!r) return ITG_OK;
    pthread_mutex_lock(&r->lock);
    r->stops = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    itg_status status = r->failure.code;
    if (status != ITG_OK && err) *err = r->failure;
    itg_status closed = itg_run_log_close(r->log, status == ITG_OK ? err : NULL);
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->lock);
    free(r);
    return status == ITG_OK ? closed : status;
}
