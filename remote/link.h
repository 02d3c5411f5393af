/* A connection to a Redis server: TCP or TLS, every wait bounded. libhiredis writes the commands
 * and reads the replies; replies are bounded here, in their bytes and the length of their lists. */
#ifndef ITG_REMOTE_LINK_H
#define ITG_REMOTE_LINK_H
#include <hiredis/hiredis.h>
#include <intaglio/remote.h>
#include "base/base.h"

#define ITG_LINK_CALL_MS                                                                           \
    10000 /* the longest that an answer may take before the connection counts as lost */

typedef struct itg_link itg_link;
/* Connects, and logs in. */
itg_status itg_link_open(const itg_remote_address *address, const itg_remote_hooks *hooks,
                         itg_link **out, itg_error *err);
void itg_link_close(itg_link *link); /* NULL allowed */

/* A command by hiredis's format (%s, %b data and size_t, %lld); it goes out with the next get. */
void itg_link_put(itg_link *link, const char *format, ...);
/* The next reply, which the caller frees with freeReplyObject; within ITG_LINK_CALL_MS and
 * extra_ms. ITG_IO: the connection is lost, or the server cannot answer now. ITG_FAILURE: the
 * server refuses the command, err has its words. */
itg_status itg_link_get(itg_link *link, int extra_ms, redisReply **out, itg_error *err);
/* Puts a command and gets its reply, which does not matter. */
itg_status itg_link_do(itg_link *link, itg_error *err, const char *format, ...);

/* ---- replies, of which nothing is believed ---- */
/* An element of a list; NULL: there is none. */
const redisReply *itg_reply_at(const redisReply *list, size_t index);
/* Whether it is a text; its bytes may be any. */
bool itg_reply_is_text(const redisReply *r);
bool itg_reply_is(const redisReply *r, const char *text);
/* A text of [A-Za-z0-9._-], shorter than size, into out. */
bool itg_reply_name(const redisReply *r, char *out, size_t size);
/* A decimal number from 0 to max, as text or integer. */
bool itg_reply_number(const redisReply *r, int64_t max, int64_t *out);
/* The value of a field in a list of fields and values; NULL: absent. */
const redisReply *itg_reply_field(const redisReply *list, const char *field);
#endif
