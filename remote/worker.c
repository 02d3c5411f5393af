/* A worker's loop. It takes a trial of its own list, else the next of the stream, else one whose
 * worker was silent for a lease; computes it, and answers and removes it in one transaction. If the
 * server is lost, it connects again. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "remote/pulse.h"
#include "remote/session.h"

#define READ_MS 300
#define RETRY_MS 300
#define NOTE_S 30
#define DELIVER_TRIES 200 /* with RETRY_MS between them: a minute */
#define RESULT_SECONDS 3600
#define MOST_REQUEST ((size_t)64 << 20)

enum { SESSIONS = 2 };

typedef struct job {
    char id[48]; /* id in the stream; "": from the worker's own list */
    char session[33], number[24];
    unsigned char document[32];
    int64_t document_bytes;
    char *request;
    size_t request_bytes;
} job;

typedef struct worker {
    const itg_worker_options *o;
    itg_link *link; /* NULL: lost */
    itg_pulse *pulse;
    itg_session sessions[SESSIONS]; /* open at once, for searches that take turns */
    int64_t trials;
    double noted, worked;
} worker;

static double now(const worker *w)
{
    return w->o->hooks.clock(w->o->hooks.context);
}

static bool stops(const worker *w)
{
    return w->o->hooks.stops(w->o->hooks.context);
}

static void note(worker *w, const char *text)
{
    w->o->hooks.note(w->o->hooks.context, text);
}

static void lose(worker *w, const itg_error *why)
{
    char text[400];
    itg_link_close(w->link);
    w->link = NULL;
    if (w->noted == 0 || now(w) - w->noted > NOTE_S) {
        snprintf(text, sizeof text, "%.300s; trying again", why->message);
        note(w, text);
        w->noted = now(w);
    }
    (void)poll(NULL, 0, RETRY_MS);
}

/* ---- finding work ---- */

static bool copy_id(const redisReply *r, char *out, size_t size)
{
    if (!itg_reply_is_text(r) || r->len >= size || strspn(r->str, "0123456789-") != r->len)
        return false;
    memcpy(out, r->str, r->len + 1);
    return true;
}

/* False: it is no trial. */
static bool take_job(const redisReply *s, const redisReply *n, const redisReply *d,
                     const redisReply *b, const redisReply *q, job *out)
{
    int64_t number = 0;
    if (!itg_reply_name(s, out->session, sizeof out->session) ||
        !itg_reply_number(n, INT64_MAX, &number) || !itg_reply_is_text(d) ||
        !itg_sha256_parse(d->str, out->document) ||
        !itg_reply_number(b, ITG_MOST_DOCUMENT, &out->document_bytes) || !itg_reply_is_text(q) ||
        q->len > MOST_REQUEST)
        return false;
    snprintf(out->number, sizeof out->number, "%lld", (long long)number);
    out->request = malloc(q->len + 1);
    if (!out->request) return false;
    memcpy(out->request, q->str, q->len + 1);
    out->request_bytes = q->len;
    return true;
}

static void forget_entry(worker *w, const char *id)
{
    (void)itg_link_do(w->link, NULL, "XACK %s:jobs workers %s", w->o->address.name, id);
    (void)itg_link_do(w->link, NULL, "XDEL %s:jobs %s", w->o->address.name, id);
}

/* Takes the first of a list of entries. */
static bool take_entry(worker *w, const redisReply *entries, job *out)
{
    const redisReply *entry = itg_reply_at(entries, 0), *f = itg_reply_at(entry, 1);
    if (!copy_id(itg_reply_at(entry, 0), out->id, sizeof out->id)) return false;
    if (f && take_job(itg_reply_field(f, "s"), itg_reply_field(f, "n"), itg_reply_field(f, "d"),
                      itg_reply_field(f, "b"), itg_reply_field(f, "q"), out))
        return true;
    forget_entry(w, out->id); /* deleted, or no trial */
    return false;
}

static itg_status find_direct(worker *w, job *out, bool *found, itg_error *err)
{
    redisReply *r = NULL;
    itg_link_put(w->link, "LPOP %s:direct:%s 5", w->o->address.name, w->o->name);
    itg_status status = itg_link_get(w->link, 0, &r, err);
    if (status != ITG_OK) return status;
    *found = take_job(itg_reply_at(r, 0), itg_reply_at(r, 1), itg_reply_at(r, 2),
                      itg_reply_at(r, 3), itg_reply_at(r, 4), out);
    out->id[0] = '\0';
    freeReplyObject(r);
    return ITG_OK;
}

static itg_status find_new(worker *w, job *out, bool *found, itg_error *err)
{
    redisReply *r = NULL;
    itg_link_put(w->link, "XREADGROUP GROUP workers %s COUNT 1 BLOCK %d STREAMS %s:jobs >",
                 w->o->name, READ_MS, w->o->address.name);
    itg_status status = itg_link_get(w->link, READ_MS, &r, err);
    if (status != ITG_OK) return status;
    *found = take_entry(w, itg_reply_at(itg_reply_at(r, 0), 1), out);
    freeReplyObject(r);
    return ITG_OK;
}

static itg_status find_lost(worker *w, job *out, bool *found, itg_error *err)
{
    redisReply *r = NULL;
    itg_link_put(w->link, "XAUTOCLAIM %s:jobs workers %s %lld 0-0 COUNT 1", w->o->address.name,
                 w->o->name, (long long)(w->o->lease * 1000));
    itg_status status = itg_link_get(w->link, 0, &r, err);
    if (status != ITG_OK) return status;
    *found = take_entry(w, itg_reply_at(r, 1), out);
    freeReplyObject(r);
    return ITG_OK;
}

static itg_status find_work(worker *w, job *out, bool *found, itg_error *err)
{
    itg_error why = {0};
    *out = (job){.request = NULL};
    itg_status status = find_direct(w, out, found, &why);
    if (status == ITG_OK && !*found) status = find_new(w, out, found, &why);
    if (status == ITG_OK && !*found) status = find_lost(w, out, found, &why);
    if (status == ITG_FAILURE && strstr(why.message, "NOGROUP")) {
        (void)poll(NULL, 0, READ_MS); /* no search was here yet, or the server's data is lost */
        return ITG_OK;
    }
    return status == ITG_OK ? ITG_OK : itg_fail(err, status, "%s", why.message);
}

/* ---- answering ---- */

typedef struct answer {
    const char *kind; /* "hello", "done", "failed", "refused" */
    const char *text;
    double seconds;
    const job *job;
    bool ends; /* the entry goes out of the stream with it */
} answer;

static itg_status deliver_once(worker *w, const answer *a, itg_error *err)
{
    const char *name = w->o->address.name;
    char hex[65], seconds[40];
    redisReply *r = NULL;
    int replies = 4;
    snprintf(seconds, sizeof seconds, "%.6f", a->seconds);
    itg_link_put(w->link, "MULTI");
    itg_link_put(w->link, "XADD %s:results:%s * k %s w %s n %s d %s t %s y %b", name,
                 a->job->session, a->kind, w->o->name, a->job->number,
                 itg_sha256_hex(a->job->document, hex), seconds, a->text, strlen(a->text));
    itg_link_put(w->link, "EXPIRE %s:results:%s %d", name, a->job->session, RESULT_SECONDS);
    if (a->ends && *a->job->id) {
        itg_link_put(w->link, "XACK %s:jobs workers %s", name, a->job->id);
        itg_link_put(w->link, "XDEL %s:jobs %s", name, a->job->id);
        replies += 2;
    }
    itg_link_put(w->link, "EXEC");
    itg_status status = ITG_OK;
    for (int i = 0; i < replies && status != ITG_IO; i++) {
        itg_error why = {0};
        itg_status got = itg_link_get(w->link, 0, &r, &why);
        if (got == ITG_OK) freeReplyObject(r);
        if (got != ITG_OK) status = itg_fail(err, got, "%s", why.message);
    }
    return status;
}

/* Delivers an answer. It is kept while the server restarts. */
static itg_status deliver(worker *w, const answer *a, itg_error *err)
{
    itg_status status = ITG_IO;
    for (int i = 0; i < DELIVER_TRIES && status == ITG_IO && !stops(w); i++) {
        itg_error why = {0};
        status = w->link ? ITG_OK : itg_link_open(&w->o->address, &w->o->hooks, &w->link, &why);
        if (status == ITG_OK) status = deliver_once(w, a, &why);
        if (status == ITG_IO) lose(w, &why);
        if (status != ITG_OK) (void)itg_fail(err, status, "%s", why.message);
    }
    return status;
}

/* ---- one trial ---- */

static itg_status is_wanted(worker *w, const job *j, bool *out, itg_error *err)
{
    redisReply *r = NULL;
    int64_t there = 0;
    itg_link_put(w->link, "EXISTS %s:alive:%s", w->o->address.name, j->session);
    itg_status status = itg_link_get(w->link, 0, &r, err);
    if (status != ITG_OK) return status;
    *out = itg_reply_number(r, 1, &there) && there == 1;
    freeReplyObject(r);
    return ITG_OK;
}

/* Opens the search of the trial and greets it with the proof. */
static itg_status enter(worker *w, const job *j, itg_session **out, itg_error *err)
{
    itg_status status = ITG_OK;
    itg_session *s = w->sessions, *oldest = s;
    while (s < w->sessions + SESSIONS && !(s->scorer && memcmp(s->hash, j->document, 32) == 0)) {
        if (s->used < oldest->used) oldest = s;
        s++;
    }
    if (s == w->sessions + SESSIONS) {
        s = oldest;
        itg_session_close(s);
        status = itg_session_open(w->o, w->link, j->document, j->document_bytes, s, err);
    }
    s->used = ++w->trials;
    *out = s;
    if (status != ITG_OK || strcmp(s->greeted, j->session) == 0) return status;
    const answer hello = {.kind = "hello", .text = s->proof, .job = j};
    status = deliver(w, &hello, err);
    if (status == ITG_OK) snprintf(s->greeted, sizeof s->greeted, "%s", j->session);
    return status;
}

static itg_status compute(worker *w, const job *j, const itg_session *s, itg_error *err)
{
    char *reply = NULL;
    itg_error why = {0};
    double begun = now(w);
    itg_status status =
        itg_scorer_score(s->scorer, j->request, j->request_bytes, w->o->threads, &reply, &why);
    const answer a = {.kind = status == ITG_OK ? "done" : "failed",
                      .text = status == ITG_OK ? reply : why.message,
                      .seconds = now(w) - begun,
                      .job = j,
                      .ends = true};
    status = deliver(w, &a, err);
    itg_free(reply);
    return status;
}

/* Works on a trial. ITG_OK: the loop goes on, whatever became of the trial. */
static itg_status work_on(worker *w, const job *j, itg_error *err)
{
    bool wanted = false;
    itg_status status = is_wanted(w, j, &wanted, err);
    if (status != ITG_OK) return status;
    if (!wanted) {
        if (*j->id) forget_entry(w, j->id);
        return ITG_OK;
    }
    itg_session *session = NULL;
    itg_error why = {0};
    status = enter(w, j, &session, &why);
    if (status == ITG_OK) return compute(w, j, session, err);
    if (status == ITG_IO && w->link) {
        /* the server does not have all files yet: the search sends them again */
        (void)poll(NULL, 0, RETRY_MS);
        const answer later = {.kind = "failed", .text = why.message, .job = j, .ends = true};
        return deliver(w, &later, err);
    }
    if (status == ITG_IO) return itg_fail(err, status, "%s", why.message);
    const answer refusal = {.kind = "refused", .text = why.message, .job = j, .ends = true};
    (void)deliver(w, &refusal, NULL);
    return itg_fail(err, status == ITG_NO_MEMORY ? status : ITG_MISMATCH, "%s", why.message);
}

/* ---- the loop ---- */

static itg_status step(worker *w, itg_error *err)
{
    job j;
    bool found = false;
    itg_status status =
        w->link ? ITG_OK : itg_link_open(&w->o->address, &w->o->hooks, &w->link, err);
    if (status != ITG_OK) return status;
    status = find_work(w, &j, &found, err);
    if (status != ITG_OK || !found) return status;
    itg_pulse_hold(w->pulse, j.id);
    status = work_on(w, &j, err);
    itg_pulse_hold(w->pulse, "");
    free(j.request);
    w->worked = now(w);
    return status;
}

itg_status itg_worker_run(const itg_worker_options *o, itg_error *err)
{
    worker w = {.o = o};
    itg_error why = {0};
    itg_status status = itg_link_open(&o->address, &o->hooks, &w.link, err);
    if (status != ITG_OK) return status;
    itg_session_clean(o->cache_folder);
    status = itg_pulse_start(o, &w.pulse, err);
    w.worked = now(&w);
    while (status == ITG_OK && !stops(&w) && (o->idle <= 0 || now(&w) - w.worked < o->idle)) {
        status = step(&w, &why);
        if (status == ITG_IO) {
            lose(&w, &why);
            status = ITG_OK;
        }
        if (status != ITG_OK) (void)itg_fail(err, status, "%s", why.message);
    }
    itg_pulse_stop(w.pulse);
    if (w.link)
        (void)itg_link_do(w.link, NULL, "DEL %s:worker:%s %s:direct:%s", o->address.name, o->name,
                          o->address.name, o->name);
    for (int i = 0; i < SESSIONS; i++)
        itg_session_close(&w.sessions[i]);
    itg_link_close(w.link);
    return status;
}
