#include "remote/pulse.h"
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#define STEP_MS 50 /* how late a stop may be noticed */

struct itg_pulse {
    const itg_worker_options *o;
    pthread_t thread;
    pthread_mutex_t lock; /* of the next two */
    bool stops;
    char id[48];
    itg_link *link; /* the thread's; NULL: lost */
};

static bool is_over(itg_pulse *p)
{
    pthread_mutex_lock(&p->lock);
    bool over = p->stops;
    pthread_mutex_unlock(&p->lock);
    return over;
}

/* Renews the lease by claiming the trial. A worker that has lost it takes it back, and both compute
 * it. */
static itg_status beat(itg_pulse *p, itg_error *err)
{
    const itg_worker_options *o = p->o;
    char id[sizeof p->id];
    pthread_mutex_lock(&p->lock);
    snprintf(id, sizeof id, "%s", p->id);
    pthread_mutex_unlock(&p->lock);
    itg_status status = p->link ? ITG_OK : itg_link_open(&o->address, &o->hooks, &p->link, err);
    if (status == ITG_OK)
        status = itg_link_do(p->link, err, "SET %s:worker:%s 1 PX %lld", o->address.name, o->name,
                             (long long)(o->lease * 3000) + 1);
    if (status == ITG_OK && *id)
        status = itg_link_do(p->link, err, "XCLAIM %s:jobs workers %s 0 %s JUSTID", o->address.name,
                             o->name, id);
    return status;
}

static void *run(void *context)
{
    itg_pulse *p = context;
    int steps = (int)(p->o->lease * 1000 / 4 / STEP_MS) + 1;
    while (!is_over(p)) {
        itg_error ignored;
        if (beat(p, &ignored) == ITG_IO) { /* other failures: the group may come back */
            itg_link_close(p->link);
            p->link = NULL;
        }
        for (int i = 0; i < steps && !is_over(p); i++)
            (void)poll(NULL, 0, STEP_MS);
    }
    return NULL;
}

itg_status itg_pulse_start(const itg_worker_options *o, itg_pulse **out, itg_error *err)
{
    itg_pulse *p = calloc(1, sizeof *p);
    if (!p) return itg_fail(err, ITG_NO_MEMORY, "no memory for a thread");
    p->o = o;
    if (pthread_mutex_init(&p->lock, NULL) != 0) {
        free(p);
        return itg_fail(err, ITG_FAILURE, "no lock for a thread");
    }
    if (pthread_create(&p->thread, NULL, run, p) != 0) {
        pthread_mutex_destroy(&p->lock);
        free(p);
        return itg_fail(err, ITG_FAILURE, "no thread for the sign of life");
    }
    *out = p;
    return ITG_OK;
}

void itg_pulse_stop(itg_pulse *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->stops = true;
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    itg_link_close(p->link);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void itg_pulse_hold(itg_pulse *p, const char *id)
{
    pthread_mutex_lock(&p->lock);
    snprintf(p->id, sizeof p->id, "%s", id);
    pthread_mutex_unlock(&p->lock);
}
