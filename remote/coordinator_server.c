/* The search's keys on the server, for a search NAME (docs/scale.md):
 *   NAME:jobs             stream with the group "workers": trials for anybody
 *   NAME:direct:WORKER    list: trials for one worker
 *   NAME:results:SESSION  stream: answers
 *   NAME:alive:SESSION    while the search lives
 *   NAME:worker:WORKER    while the worker lives
 *   NAME:file:HASH        hash: chunks */
#include <stdlib.h>
#include <string.h>
#include "remote/coordinator.h"

void itg_coordinator_note(const itg_coordinator *c, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    c->o.hooks.note(c->o.hooks.context, text);
}

void itg_coordinator_lose(itg_coordinator *c)
{
    itg_link_close(c->link);
    c->link = NULL;
    c->restored = false;
    /* Lists may have been lost with the server without notice. */
    for (itg_sent *s = c->sent; s; s = s->next)
        s->second = -1;
}

/* ---- what must be there ---- */

static itg_status make_group(itg_coordinator *c, itg_error *err)
{
    itg_error why = {0};
    itg_status status =
        itg_link_do(c->link, &why, "XGROUP CREATE %s:jobs workers 0 MKSTREAM", c->o.address.name);
    if (status == ITG_OK || strstr(why.message, "BUSYGROUP")) return ITG_OK;
    return itg_fail(err, status, "%s", why.message);
}

static itg_status show_life(itg_coordinator *c, itg_error *err)
{
    return itg_link_do(c->link, err, "SET %s:alive:%s 1 EX %d", c->o.address.name, c->session,
                       ITG_COORDINATOR_ALIVE_S);
}

static itg_status send_files(itg_coordinator *c, itg_error *err)
{
    const char *name = c->o.address.name;
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < c->document.count && status == ITG_OK; i++)
        status = itg_file_send(c->link, name, &c->document.files[i], err);
    return status == ITG_OK ? itg_file_send(c->link, name, &c->about, err) : status;
}

itg_status itg_coordinator_restore(itg_coordinator *c, itg_error *err)
{
    if (c->link && c->restored) return ITG_OK;
    itg_status status = c->link ? ITG_OK : itg_link_open(&c->o.address, &c->o.hooks, &c->link, err);
    if (status == ITG_OK) status = make_group(c, err);
    if (status == ITG_OK) status = show_life(c, err);
    if (status == ITG_OK && c->share) status = send_files(c, err);
    if (status == ITG_OK) status = show_life(c, err);
    c->restored = status == ITG_OK;
    return status;
}

/* ---- trials ---- */

itg_status itg_coordinator_send(itg_coordinator *c, itg_sent *s, itg_error *err)
{
    char hex[65];
    redisReply *reply = NULL;
    itg_link_put(c->link, "XADD %s:jobs * s %s n %lld d %s b %lld q %b", c->o.address.name,
                 c->session, (long long)s->number, itg_sha256_hex(c->about.hash, hex),
                 (long long)c->about.bytes, s->request, strlen(s->request));
    itg_status status = itg_link_get(c->link, 0, &reply, err);
    if (status != ITG_OK) return status;
    bool ok = itg_reply_is_text(reply) && reply->len < sizeof s->id &&
              strspn(reply->str, "0123456789-") == reply->len;
    snprintf(s->id, sizeof s->id, "%s", ok ? reply->str : "");
    s->missing = false;
    freeReplyObject(reply);
    return ok ? ITG_OK : itg_fail(err, ITG_IO, "server %s: gives no id", c->o.address.host);
}

itg_status itg_coordinator_send_to(itg_coordinator *c, itg_sent *s, int32_t worker, itg_error *err)
{
    char hex[65], key[ITG_REMOTE_NAME + ITG_WORKER_NAME + 16];
    snprintf(key, sizeof key, "%s:direct:%s", c->o.address.name, c->checks.workers[worker].name);
    itg_status status = itg_link_do(c->link, err, "RPUSH %s %s %lld %s %lld %b", key, c->session,
                                    (long long)s->number, itg_sha256_hex(c->about.hash, hex),
                                    (long long)c->about.bytes, s->request, strlen(s->request));
    if (status == ITG_OK)
        status = itg_link_do(c->link, err, "EXPIRE %s %d", key, ITG_COORDINATOR_ALIVE_S);
    if (status != ITG_OK) return status;
    s->second = worker;
    s->asked = c->o.hooks.clock(c->o.hooks.context);
    return ITG_OK;
}

static itg_status lives(itg_coordinator *c, int32_t worker, bool *out, itg_error *err)
{
    redisReply *reply = NULL;
    int64_t there = 0;
    itg_link_put(c->link, "EXISTS %s:worker:%s", c->o.address.name, c->checks.workers[worker].name);
    itg_status status = itg_link_get(c->link, 0, &reply, err);
    if (status != ITG_OK) return status;
    *out = itg_reply_number(reply, 1, &there) && there == 1;
    freeReplyObject(reply);
    return ITG_OK;
}

itg_status itg_coordinator_pick(itg_coordinator *c, int32_t other, int32_t *out, itg_error *err)
{
    int32_t count = c->checks.worker_count;
    int32_t begin = count > 0 ? (int32_t)itg_rng_below(&c->rng, (uint64_t)count) : 0;
    *out = -1;
    for (int32_t k = 0; k < count && *out < 0; k++) {
        int32_t i = (begin + k) % count;
        const itg_known_worker *w = &c->checks.workers[i];
        bool there = false;
        if (i == other || w->refused || w->admitted != c->documents) continue;
        itg_status status = lives(c, i, &there, err);
        if (status != ITG_OK) return status;
        if (there) *out = i;
    }
    return ITG_OK;
}

void itg_coordinator_recall(itg_coordinator *c, const itg_sent *s)
{
    if (c->link && *s->id &&
        itg_link_do(c->link, NULL, "XDEL %s:jobs %s", c->o.address.name, s->id) == ITG_IO)
        itg_coordinator_lose(c);
}

/* ---- what was lost ---- */

/* Looks whether the stream still has the trial: a worker removes it in the transaction that writes
 * its answer. */
static itg_status look_for(itg_coordinator *c, itg_sent *s, itg_error *err)
{
    redisReply *reply = NULL;
    if (!*s->id) {
        s->missing = true;
        return ITG_OK;
    }
    itg_link_put(c->link, "XRANGE %s:jobs %s %s", c->o.address.name, s->id, s->id);
    itg_status status = itg_link_get(c->link, 0, &reply, err);
    if (status != ITG_OK) return status;
    s->missing = reply->type != REDIS_REPLY_ARRAY || reply->elements == 0;
    freeReplyObject(reply);
    return ITG_OK;
}

static itg_status find_lost(itg_coordinator *c, itg_error *err)
{
    itg_status status = ITG_OK;
    for (itg_sent *s = c->sent; s && status == ITG_OK; s = s->next)
        if (s->state == ITG_SENT_FIRST) status = look_for(c, s, err);
    return status;
}

/* Whether the second worker may still answer. */
static itg_status is_coming(itg_coordinator *c, const itg_sent *s, bool *out, itg_error *err)
{
    double waited = c->o.hooks.clock(c->o.hooks.context) - s->asked;
    *out = false;
    if (s->second < 0 || waited > ITG_COORDINATOR_SECOND_S + 20 * s->seconds) return ITG_OK;
    return lives(c, s->second, out, err);
}

static itg_status send_lost(itg_coordinator *c, itg_error *err)
{
    itg_status status = ITG_OK;
    for (itg_sent *s = c->sent; s && status == ITG_OK; s = s->next) {
        bool coming = true;
        if (s->state == ITG_SENT_FIRST && s->missing) status = itg_coordinator_send(c, s, err);
        if (s->state == ITG_SENT_SECOND) status = is_coming(c, s, &coming, err);
        if (status == ITG_OK && !coming) status = itg_coordinator_ask_second(c, s, err);
    }
    return status;
}

static itg_status check_files(itg_coordinator *c, itg_error *err)
{
    bool present = true;
    itg_status status = itg_file_present(c->link, c->o.address.name, &c->about, &present, err);
    for (int32_t i = 0; i < c->document.count && status == ITG_OK && present; i++)
        status = itg_file_present(c->link, c->o.address.name, &c->document.files[i], &present, err);
    if (status == ITG_OK && !present) c->restored = false;
    return status == ITG_OK ? itg_coordinator_restore(c, err) : status;
}

itg_status itg_coordinator_tick(itg_coordinator *c, itg_error *err)
{
    bool more = true;
    itg_status status = make_group(c, err);
    if (status == ITG_OK) status = show_life(c, err);
    if (status == ITG_OK && c->share) status = check_files(c, err);
    if (status == ITG_OK) status = find_lost(c, err);
    /* By now the answers to the missing trials are there. */
    while (status == ITG_OK && more)
        status = itg_coordinator_take(c, 0, &more, err);
    return status == ITG_OK ? send_lost(c, err) : status;
}
