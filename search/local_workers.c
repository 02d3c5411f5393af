/* One queue, from which the caller (in wait) and helper threads take work in the order in which it
 * was submitted. Helpers are made when there is work for them, and end with the workers; if one
 * cannot be made, the others do its part. Work begins where the caller waits, so that it is known
 * how many points share the threads. */
#include "search/workers.h"
#include <pthread.h>
#include <stdlib.h>

typedef struct list {
    itg_work *first, *last;
    int count;
} list;

typedef struct local_workers {
    itg_local_options o;
    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t queued, finished;
    list staged, queue, done; /* staged: submitted since the last wait */
    int running, helper_count;
    bool ending;
    pthread_t helpers[]; /* threads - 1 */
} local_workers;

static void append(list *l, itg_work *work)
{
    work->next = NULL;
    *(l->first ? &l->last->next : &l->first) = work;
    l->last = work;
    l->count++;
}

static itg_work *take(list *l)
{
    itg_work *work = l->first;
    l->first = work->next;
    l->count--;
    return work;
}

static void move_all(list *from, list *to)
{
    while (from->first)
        append(to, take(from));
}

static void evaluate(const local_workers *w, itg_work *work, int threads)
{
    const itg_search_hooks *h = w->o.hooks;
    work->status = ITG_CANCELLED;
    if (h && h->cancelled && h->cancelled(h->context)) return;
    double start = h && h->clock ? h->clock(h->context) : 0;
    work->status =
        w->o.score(w->o.context, work->point, work->race, threads, &work->score, &work->error);
    work->seconds = h && h->clock ? h->clock(h->context) - start : 0;
}

/* Runs the first work of the queue. The caller holds the lock, before and after. */
static void run_first(local_workers *w)
{
    itg_work *work = take(&w->queue);
    int out = w->queue.count + ++w->running, threads = w->o.threads / out;
    pthread_mutex_unlock(&w->lock);
    evaluate(w, work, threads > 1 ? threads : 1);
    pthread_mutex_lock(&w->lock);
    w->running--;
    append(&w->done, work);
    pthread_cond_signal(&w->finished);
}

static void *help(void *context)
{
    local_workers *w = context;
    pthread_mutex_lock(&w->lock);
    while (!w->ending) {
        if (w->queue.first)
            run_first(w);
        else
            pthread_cond_wait(&w->queued, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void add_helpers(local_workers *w)
{
    int wanted = w->queue.count + w->running - 1;
    if (wanted > w->o.threads - 1) wanted = w->o.threads - 1;
    while (w->helper_count < wanted &&
           pthread_create(&w->helpers[w->helper_count], NULL, help, w) == 0)
        w->helper_count++;
}

/* ---- the interface ---- */

static void submit_work(void *context, itg_work *work)
{
    append(&((local_workers *)context)->staged, work);
}

static itg_work *wait_for_work(void *context)
{
    local_workers *w = context;
    pthread_mutex_lock(&w->lock);
    move_all(&w->staged, &w->queue);
    add_helpers(w);
    pthread_cond_broadcast(&w->queued);
    while (!w->done.first) {
        if (w->queue.first)
            run_first(w);
        else
            pthread_cond_wait(&w->finished, &w->lock);
    }
    itg_work *work = take(&w->done);
    pthread_mutex_unlock(&w->lock);
    return work;
}

static void drop_work(void *context)
{
    local_workers *w = context;
    pthread_mutex_lock(&w->lock);
    move_all(&w->staged, &w->queue);
    for (itg_work *work = w->queue.first; work; work = work->next)
        work->status = ITG_CANCELLED;
    move_all(&w->queue, &w->done);
    pthread_mutex_unlock(&w->lock);
}

static void destroy(void *context)
{
    local_workers *w = context;
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_broadcast(&w->queued);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->helper_count; i++)
        pthread_join(w->helpers[i], NULL);
    pthread_cond_destroy(&w->queued);
    pthread_cond_destroy(&w->finished);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

itg_status itg_local_workers(const itg_local_options *options, itg_workers *out, itg_error *err)
{
    int threads = itg_thread_count(options->threads);
    local_workers *w = calloc(1, sizeof *w + sizeof w->helpers[0] * (size_t)threads);
    if (!w) return itg_fail(err, ITG_NO_MEMORY, "no memory for workers");
    w->o = *options;
    w->o.threads = threads;
    if (pthread_mutex_init(&w->lock, NULL) || pthread_cond_init(&w->queued, NULL) ||
        pthread_cond_init(&w->finished, NULL)) {
        free(w);
        return itg_fail(err, ITG_FAILURE, "no lock for workers");
    }
    *out = (itg_workers){w, submit_work, wait_for_work, drop_work, destroy};
    return ITG_OK;
}
