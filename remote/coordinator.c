/* The evaluator of a search. submit sends a trial; wait reads answers until a trial is finished.
 * Between these calls nothing happens: workers go on by themselves. */
#include "remote/coordinator.h"
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_MS 200  /* how long one look for answers waits */
#define RETRY_MS 300 /* between attempts to reach a server that is lost */
#define NOTE_S 30    /* between notes about the same */
#define QUIET_S 10   /* silence of all workers after which a note is written */

static double now(const itg_coordinator *c)
{
    return c->o.hooks.clock(c->o.hooks.context);
}

static bool stops(const itg_coordinator *c)
{
    return c->o.hooks.stops(c->o.hooks.context);
}

/* ---- the server may be lost ---- */

/* ITG_OK where the search can go on, perhaps later; else what ends it. */
static itg_status survive(itg_coordinator *c, itg_status status, itg_error *err)
{
    if (status != ITG_IO) return status;
    itg_coordinator_lose(c);
    if (c->noted == 0 || now(c) - c->noted > NOTE_S) {
        itg_coordinator_note(c, "%s; trying again", err->message);
        c->noted = now(c);
    }
    (void)poll(NULL, 0, RETRY_MS);
    return ITG_OK;
}

static void note_silence(itg_coordinator *c)
{
    if (c->waits || now(c) - c->heard < QUIET_S) return;
    c->waits = true;
    itg_coordinator_note(c, "no worker answers: intaglio worker redis://%s:%s/%s begins one",
                         c->o.address.host, c->o.address.port, c->o.address.name);
}

static itg_status look(itg_coordinator *c, itg_error *err)
{
    bool more = false;
    itg_status status = itg_coordinator_restore(c, err);
    if (status == ITG_OK && now(c) - c->ticked >= ITG_COORDINATOR_TICK_S) {
        c->ticked = now(c);
        status = itg_coordinator_tick(c, err);
    }
    if (status == ITG_OK && c->link) status = itg_coordinator_take(c, READ_MS, &more, err);
    return status;
}

/* ---- trials that are out ---- */

static void free_sent(itg_sent *s)
{
    itg_free(s->request);
    free(s->reply);
    free(s);
}

static itg_sent *add(itg_coordinator *c, itg_work *work)
{
    itg_sent **end = &c->sent, *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->work = work;
    s->number = c->count++;
    s->first = s->second = -1;
    s->checked = itg_rng_unit(&c->rng) < c->o.recheck;
    while (*end)
        end = &(*end)->next;
    *end = s;
    return s;
}

/* Takes the first trial that is done; NULL: none. */
static itg_work *take_done(itg_coordinator *c)
{
    itg_sent **at = &c->sent;
    while (*at && (*at)->state != ITG_SENT_DONE)
        at = &(*at)->next;
    itg_sent *s = *at;
    if (!s) return NULL;
    itg_work *work = s->work;
    *at = s->next;
    free_sent(s);
    return work;
}

static void end_all(itg_coordinator *c, itg_status status, const char *why)
{
    for (itg_sent *s = c->sent; s; s = s->next) {
        if (s->state == ITG_SENT_DONE) continue;
        itg_coordinator_recall(c, s);
        itg_work_finish(s->work, status, NULL, why, 0);
        s->state = ITG_SENT_DONE;
    }
}

/* ---- the evaluator ---- */

static void submit(void *context, itg_work *work)
{
    itg_coordinator *c = context;
    itg_error err = {0};
    itg_sent *s = add(c, work);
    if (!s) return; /* no memory: wait will have nothing to return, which ends the search */
    if (!itg_work_is_shared(work)) {
        itg_work_evaluate(work, c->o.threads);
        s->state = ITG_SENT_DONE;
        return;
    }
    if (c->count == 1) c->heard = now(c);
    itg_status status = itg_coordinator_prepare(c, work, &err);
    if (status == ITG_OK) status = itg_work_request(work, &s->request, &err);
    if (status != ITG_OK) {
        itg_work_fail(work, &err);
        s->state = ITG_SENT_DONE;
        return;
    }
    status = itg_coordinator_restore(c, &err);
    if (status == ITG_OK) status = itg_coordinator_send(c, s, &err);
    status = survive(c, status, &err); /* not sent: the next tick finds it missing */
    if (status != ITG_OK) {
        itg_work_fail(work, &err);
        s->state = ITG_SENT_DONE;
    }
}

static itg_work *wait_for_work(void *context)
{
    itg_coordinator *c = context;
    itg_work *work = NULL;
    while (!(work = take_done(c)) && c->sent) {
        itg_error err = {0};
        if (stops(c)) {
            end_all(c, ITG_CANCELLED, "");
            continue;
        }
        itg_status status = survive(c, look(c, &err), &err);
        if (status != ITG_OK) end_all(c, status, err.message);
        note_silence(c);
    }
    return work;
}

static void drop(void *context)
{
    end_all(context, ITG_CANCELLED, "");
}

/* ---- opening ---- */

itg_status itg_coordinator_open(const itg_coordinator_options *options, itg_coordinator **out,
                                itg_error *err)
{
    unsigned char random[16];
    uint64_t seed = 0;
    itg_coordinator *c = calloc(1, sizeof *c);
    if (!c) return itg_fail(err, ITG_NO_MEMORY, "no memory for workers");
    c->o = *options;
    c->round = -1;
    c->evaluator =
        (itg_search_evaluator){ITG_SEARCH_EVALUATOR_VERSION, c, submit, wait_for_work, drop};
    itg_status status = itg_file_random(random, sizeof random, err);
    if (status == ITG_OK) {
        char *hex = itg_hex_text(random, sizeof random);
        snprintf(c->session, sizeof c->session, "%s", hex ? hex : "");
        memcpy(&seed, random, sizeof seed);
        itg_rng_init(&c->rng, seed);
        free(hex);
        status = itg_coordinator_restore(c, err);
    }
    if (status == ITG_OK)
        *out = c;
    else
        itg_coordinator_close(c);
    return status;
}

const itg_search_evaluator *itg_coordinator_evaluator(itg_coordinator *c)
{
    return &c->evaluator;
}

void itg_coordinator_close(itg_coordinator *c)
{
    if (!c) return;
    end_all(c, ITG_CANCELLED, "");
    while (take_done(c))
        ;
    if (c->link)
        (void)itg_link_do(c->link, NULL, "DEL %s:alive:%s %s:results:%s", c->o.address.name,
                          c->session, c->o.address.name, c->session);
    itg_coordinator_lose(c);
    itg_coordinator_forget(c);
    itg_checks_deinit(&c->checks);
    free(c);
}
