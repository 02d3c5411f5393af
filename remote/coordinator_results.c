/* Answers of workers. The first answer to a trial counts. A trial that is to be checked is told
 * when a second answer equals the first. Two different answers end the search; a third computation
 * here says which is wrong. */
#include <stdlib.h>
#include <string.h>
#include "remote/coordinator.h"

enum { AT_ONCE = 128 };

static itg_sent *find(const itg_coordinator *c, int64_t number)
{
    itg_sent *s = c->sent;
    while (s && s->number != number)
        s = s->next;
    return s;
}

static const char *name_of(const itg_coordinator *c, int32_t worker)
{
    return worker >= 0 ? c->checks.workers[worker].name : "this machine";
}

static void end_by(itg_sent *s, const itg_error *why)
{
    itg_work_fail(s->work, why);
    s->state = ITG_SENT_DONE;
}

/* ---- answers that differ ---- */

static bool same_text(const char *a, const char *b, size_t bytes)
{
    return strlen(a) == bytes && memcmp(a, b, bytes) == 0;
}

/* Computes the trial here; NULL: it cannot be. */
static char *compute_here(itg_coordinator *c, itg_sent *s)
{
    char *reply = NULL;
    itg_error ignored;
    itg_work_evaluate(s->work, c->o.threads);
    return itg_work_reply(s->work, &reply, &ignored) == ITG_OK ? reply : NULL;
}

static void settle(itg_coordinator *c, itg_sent *s, const char *second, size_t bytes,
                   int32_t worker)
{
    itg_error why;
    char verdict[200] = "this machine could not say which of them is wrong";
    char *here = compute_here(c, s);
    bool first = here && same_text(here, s->reply, strlen(s->reply)),
         other = here && same_text(here, second, bytes);
    if (here && first != other)
        snprintf(verdict, sizeof verdict, "%s is wrong: this machine computes what %s does",
                 name_of(c, first ? worker : s->first), name_of(c, first ? s->first : worker));
    else if (here)
        snprintf(verdict, sizeof verdict, "this machine computes what neither of them does");
    (void)itg_fail(&why, ITG_FAILURE,
                   "workers %s and %s computed different results of the same trial (the search's "
                   "%lld); %s",
                   name_of(c, s->first), name_of(c, worker), (long long)s->number + 1, verdict);
    itg_free(here);
    end_by(s, &why);
}

/* ---- the search goes on with a trial ---- */

static void accept(itg_coordinator *c, itg_sent *s)
{
    itg_error why = {0};
    if (itg_work_accept(s->work, s->reply, strlen(s->reply), name_of(c, s->first), s->seconds,
                        &why) == ITG_OK)
        s->state = ITG_SENT_DONE;
    else
        end_by(s, &why);
}

/* Computes the trial a second time, here. */
static void check_here(itg_coordinator *c, itg_sent *s)
{
    char *here = compute_here(c, s);
    if (here && same_text(here, s->reply, strlen(s->reply))) {
        accept(c, s);
    } else if (!here && c->o.hooks.stops(c->o.hooks.context)) {
        itg_work_finish(s->work, ITG_CANCELLED, NULL, "", 0);
        s->state = ITG_SENT_DONE;
    } else {
        itg_error why;
        (void)itg_fail(&why, ITG_FAILURE,
                       here ? "worker %s and this machine computed different results of the same "
                              "trial (the search's %lld): %s is wrong"
                            : "the result of worker %s (the search's trial %lld) could not be "
                              "checked here (%s)",
                       name_of(c, s->first), (long long)s->number + 1, name_of(c, s->first));
        end_by(s, &why);
    }
    itg_free(here);
}

/* ---- answers ---- */

itg_status itg_coordinator_ask_second(itg_coordinator *c, itg_sent *s, itg_error *err)
{
    int32_t another = -1;
    s->state = ITG_SENT_SECOND;
    s->second = -1;
    itg_status status = itg_coordinator_pick(c, s->first, &another, err);
    if (status == ITG_OK && another >= 0) return itg_coordinator_send_to(c, s, another, err);
    if (status == ITG_OK) check_here(c, s);
    return status;
}

static itg_status take_first(itg_coordinator *c, itg_sent *s, int32_t worker,
                             const redisReply *reply, double seconds, itg_error *err)
{
    itg_error why = {0};
    itg_status status =
        itg_work_accept(s->work, reply->str, reply->len, name_of(c, worker), seconds, &why);
    if (status != ITG_OK) {
        c->checks.workers[worker].refused = true;
        itg_coordinator_note(c, "worker %s is refused: %s", name_of(c, worker), why.message);
        return itg_coordinator_send(c, s, err);
    }
    s->reply = strdup(reply->str); /* JSON: no byte 0 */
    if (!s->reply) return itg_fail(err, ITG_NO_MEMORY, "no memory for a result");
    s->first = worker;
    s->seconds = seconds;
    if (s->checked) return itg_coordinator_ask_second(c, s, err);
    s->state = ITG_SENT_DONE;
    return ITG_OK;
}

/* Compares a further answer with the first. If they differ, a computation here settles a trial that
 * was not told yet; if it was told, the search ends with ITG_MISMATCH. */
static itg_status compare(itg_coordinator *c, itg_sent *s, const itg_answer *known, int64_t number,
                          int32_t worker, const redisReply *reply, const unsigned char hash[32],
                          itg_error *err)
{
    bool same = memcmp(known->hash, hash, sizeof known->hash) == 0;
    if (same && s && s->state == ITG_SENT_SECOND && worker != s->first) accept(c, s);
    if (same) return ITG_OK;
    if (s && s->state != ITG_SENT_DONE) {
        settle(c, s, reply->str, reply->len, worker);
        return ITG_OK;
    }
    return itg_fail(err, ITG_MISMATCH,
                    "workers %s and %s computed different results of the same trial (the search's "
                    "%lld)",
                    name_of(c, known->worker), name_of(c, worker), (long long)number + 1);
}

static itg_status take_done(itg_coordinator *c, int32_t worker, const redisReply *fields,
                            itg_error *err)
{
    const redisReply *reply = itg_reply_field(fields, "y"), *t = itg_reply_field(fields, "t");
    unsigned char hash[32];
    int64_t number = 0;
    const itg_known_worker *w = &c->checks.workers[worker];
    if (w->refused || w->admitted == 0 || !itg_reply_is_text(reply) ||
        !itg_reply_number(itg_reply_field(fields, "n"), c->count - 1, &number))
        return ITG_OK; /* the sender may not answer, or the trial does not exist */
    double seconds = itg_reply_is_text(t) ? strtod(t->str, NULL) : 0;
    itg_sent *s = find(c, number);
    itg_sha256_of(reply->str, reply->len, hash);
    itg_answer *known = itg_checks_answer(&c->checks, number);
    if (!known) return itg_fail(err, ITG_NO_MEMORY, "no memory for a result");
    if (known->worker >= 0) return compare(c, s, known, number, worker, reply, hash, err);
    if (!s || s->state != ITG_SENT_FIRST) return ITG_OK;
    itg_status status = take_first(c, s, worker, reply, seconds, err);
    if (!c->checks.workers[worker].refused) {
        memcpy(known->hash, hash, sizeof known->hash);
        known->worker = worker;
    }
    return status;
}

static void take_hello(itg_coordinator *c, int32_t worker, const redisReply *fields)
{
    unsigned char document[32];
    itg_known_worker *w = &c->checks.workers[worker];
    const redisReply *d = itg_reply_field(fields, "d"), *y = itg_reply_field(fields, "y");
    if (!itg_reply_is_text(d) || !itg_reply_is_text(y) || !itg_sha256_parse(d->str, document) ||
        memcmp(document, c->about.hash, sizeof document) != 0 || w->refused)
        return; /* a greeting of an earlier round */
    if (same_text(c->proof, y->str, y->len)) {
        w->admitted = c->documents;
        return;
    }
    w->refused = true;
    itg_coordinator_note(
        c, "worker %s is refused: it fails the proof, a trial whose result is known", w->name);
}

/* Takes a worker's failure: it could not compute the trial, or refuses this search. */
static itg_status take_failure(itg_coordinator *c, int32_t worker, const redisReply *fields,
                               bool refused, itg_error *err)
{
    char why[200] = "";
    int64_t number = 0;
    const redisReply *y = itg_reply_field(fields, "y");
    for (size_t i = 0; itg_reply_is_text(y) && i < y->len && i + 1 < sizeof why; i++)
        why[i] = (unsigned char)y->str[i] < 0x20 ? '?' : y->str[i];
    if (refused) c->checks.workers[worker].refused = true;
    itg_coordinator_note(c,
                         refused ? "worker %s does not work for this search: %s"
                                 : "worker %s could not compute a trial: %s",
                         name_of(c, worker), why);
    if (!itg_reply_number(itg_reply_field(fields, "n"), c->count - 1, &number)) return ITG_OK;
    itg_sent *s = find(c, number);
    if (!s || s->state == ITG_SENT_DONE) return ITG_OK;
    if (s->state == ITG_SENT_SECOND) {
        if (s->second == worker) check_here(c, s);
        return ITG_OK;
    }
    s->failures += !refused;
    if (s->failures < ITG_MOST_FAILURES) {
        itg_coordinator_recall(c, s);
        return c->link ? itg_coordinator_send(c, s, err)
                       : itg_fail(err, ITG_IO, "server %s: is lost", c->o.address.host);
    }
    itg_error end;
    (void)itg_fail(&end, ITG_FAILURE, "%d workers could not compute a trial; the last, %s: %s",
                   s->failures, name_of(c, worker), why);
    end_by(s, &end);
    return ITG_OK;
}

static itg_status take_entry(itg_coordinator *c, const redisReply *fields, itg_error *err)
{
    char name[ITG_WORKER_NAME];
    if (!itg_reply_name(itg_reply_field(fields, "w"), name, sizeof name)) return ITG_OK;
    int32_t worker = itg_checks_worker(&c->checks, name);
    const redisReply *kind = itg_reply_field(fields, "k");
    if (worker < 0) return itg_fail(err, ITG_LIMIT, "there are too many workers");
    c->heard = c->o.hooks.clock(c->o.hooks.context);
    if (itg_reply_is(kind, "hello")) take_hello(c, worker, fields);
    if (itg_reply_is(kind, "done")) return take_done(c, worker, fields, err);
    if (itg_reply_is(kind, "failed")) return take_failure(c, worker, fields, false, err);
    if (itg_reply_is(kind, "refused")) return take_failure(c, worker, fields, true, err);
    return ITG_OK;
}

itg_status itg_coordinator_take(itg_coordinator *c, int wait_ms, bool *more, itg_error *err)
{
    redisReply *reply = NULL;
    *more = false;
    if (wait_ms > 0)
        itg_link_put(c->link, "XREAD COUNT %d BLOCK %d STREAMS %s:results:%s 0", AT_ONCE, wait_ms,
                     c->o.address.name, c->session);
    else
        itg_link_put(c->link, "XREAD COUNT %d STREAMS %s:results:%s 0", AT_ONCE, c->o.address.name,
                     c->session);
    itg_status status = itg_link_get(c->link, wait_ms, &reply, err);
    if (status != ITG_OK) return status;
    const redisReply *entries = itg_reply_at(itg_reply_at(reply, 0), 1);
    const redisReply *entry;
    for (size_t i = 0; status == ITG_OK && (entry = itg_reply_at(entries, i)); i++) {
        const redisReply *id = itg_reply_at(entry, 0);
        status = take_entry(c, itg_reply_at(entry, 1), err);
        if (status == ITG_OK && itg_reply_is_text(id) && c->link)
            status = itg_link_do(c->link, err, "XDEL %s:results:%s %b", c->o.address.name,
                                 c->session, id->str, id->len);
        *more = true;
    }
    freeReplyObject(reply);
    return status;
}
