#include "remote/link.h"
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "remote/tls.h"

#define MOST_BYTES ((size_t)128 << 20) /* of one reply */
#define MOST_ELEMENTS 65536            /* of one list */
#define CONNECT_MS 5000

#if HIREDIS_MAJOR < 1
typedef int list_length;
#else
typedef size_t list_length;
#endif

struct itg_link {
    int file;
    itg_tls *tls; /* NULL: plain */
    redisReader *reader;
    redisReplyObjectFunctions functions;
    void *(*create_list)(const redisReadTask *task, list_length count); /* hiredis's own */
    itg_strbuf out;
    size_t pending; /* bytes of the reply that is being read */
    const itg_remote_hooks *hooks;
    const char *host;
    bool lost;
};

/* ---- hiredis's reader with limits ---- */

static void *create_list(const redisReadTask *task, list_length count)
{
    const itg_link *l = task->privdata;
    return count > MOST_ELEMENTS ? NULL : l->create_list(task, count);
}

static bool make_reader(itg_link *l)
{
    l->reader = redisReaderCreate();
    if (!l->reader) return false;
    l->functions = *l->reader->fn;
    l->create_list = l->functions.createArray;
    l->functions.createArray = create_list;
    l->reader->fn = &l->functions;
    l->reader->privdata = l;
    return true;
}

/* ---- bytes ---- */

static itg_status fail_lost(itg_link *l, itg_error *err, const char *what, int number)
{
    char why[128] = "";
    if (number && strerror_r(number, why, sizeof why) != 0) why[0] = '\0';
    l->lost = true;
    return itg_fail(err, ITG_IO, "server %s: %s%s%s", l->host, what, *why ? ": " : "", why);
}

static double now(const itg_link *l)
{
    return l->hooks->clock(l->hooks->context);
}

/* Waits until the socket is ready for `events`, or the time has come. Returns false in the latter
 * case. */
static bool ready(const itg_link *l, short events, double until)
{
    for (;;) {
        double left = until - now(l);
        struct pollfd p = {l->file, events, 0};
        int rc = poll(&p, 1, left > 0 ? (int)(left * 1000) + 1 : 0);
        if (rc > 0) return true;
        if (rc == 0 && left <= 0) return false;
        if (rc < 0 && errno != EINTR) return true; /* the next call says what it is */
    }
}

/* > 0: bytes; 0: the end; -1: errno, EAGAIN with *events to wait for. */
static ssize_t move(itg_link *l, void *in, const void *out, size_t bytes, short *events)
{
    *events = in ? POLLIN : POLLOUT;
    if (l->tls) return itg_tls_move(l->tls, in, out, bytes, events);
    return in ? recv(l->file, in, bytes, 0) : send(l->file, out, bytes, MSG_NOSIGNAL);
}

static itg_status flush(itg_link *l, double until, itg_error *err)
{
    size_t sent = 0;
    short events = 0;
    if (!itg_strbuf_ok(&l->out)) return fail_lost(l, err, "no memory for a command", 0);
    while (sent < l->out.length) {
        ssize_t n = move(l, NULL, l->out.text + sent, l->out.length - sent, &events);
        if (n > 0) sent += (size_t)n;
        if (n > 0 || (n < 0 && errno == EINTR)) continue;
        if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            return fail_lost(l, err, "cannot send", errno);
        if (!ready(l, events, until)) return fail_lost(l, err, "takes no more commands", 0);
    }
    l->out.length = 0;
    return ITG_OK;
}

static itg_status fill(itg_link *l, double until, itg_error *err)
{
    char buffer[65536];
    short events = 0;
    for (;;) {
        ssize_t n = move(l, buffer, NULL, sizeof buffer, &events);
        if (n == 0) return fail_lost(l, err, "closed the connection", 0);
        if (n > 0) {
            l->pending += (size_t)n;
            if (redisReaderFeed(l->reader, buffer, (size_t)n) != REDIS_OK)
                return fail_lost(l, err, "no memory for its reply", 0);
            return ITG_OK;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            return fail_lost(l, err, "cannot receive", errno);
        if (!ready(l, events, until)) return fail_lost(l, err, "does not answer", 0);
    }
}

/* ---- commands ---- */

static void put(itg_link *l, const char *format, va_list arguments)
{
    char *command = NULL;
    int bytes = redisvFormatCommand(&command, format, arguments);
    if (bytes < 0)
        l->out.failed = true;
    else
        itg_strbuf_bytes(&l->out, command, (size_t)bytes);
    free(command);
}

void itg_link_put(itg_link *l, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put(l, format, arguments);
    va_end(arguments);
}

/* Makes a text of the server presentable: printable and short. */
static void say(const redisReply *r, char out[160])
{
    size_t used = 0;
    for (size_t i = 0; i < r->len && used < 159; i++)
        out[used++] = r->str[i] >= 0x20 && r->str[i] < 0x7f ? r->str[i] : '?';
    out[used] = '\0';
}

/* Whether an error is temporary: the server cannot do it now. */
static bool is_passing(const redisReply *r)
{
    return strncmp(r->str, "LOADING", 7) == 0 || strncmp(r->str, "BUSY ", 5) == 0 ||
           strncmp(r->str, "MASTERDOWN", 10) == 0 || strncmp(r->str, "TRYAGAIN", 8) == 0;
}

itg_status itg_link_get(itg_link *l, int extra_ms, redisReply **out, itg_error *err)
{
    void *reply = NULL;
    double until = now(l) + (ITG_LINK_CALL_MS + extra_ms) / 1000.0;
    itg_status status = l->lost ? fail_lost(l, err, "is lost", 0) : flush(l, until, err);
    while (status == ITG_OK && !reply) {
        if (redisReaderGetReply(l->reader, &reply) != REDIS_OK)
            return fail_lost(l, err, "sent what is no reply", 0);
        if (!reply && l->pending > MOST_BYTES) return fail_lost(l, err, "sent too long a reply", 0);
        if (!reply) status = fill(l, until, err);
    }
    if (status != ITG_OK) return status;
    l->pending = 0;
    redisReply *r = reply;
    if (r->type != REDIS_REPLY_ERROR) {
        *out = r;
        return ITG_OK;
    }
    char words[160];
    say(r, words);
    if (is_passing(r))
        status = fail_lost(l, err, words, 0);
    else
        status = itg_fail(err, ITG_FAILURE, "server %s: %s", l->host, words);
    freeReplyObject(r);
    return status;
}

itg_status itg_link_do(itg_link *l, itg_error *err, const char *format, ...)
{
    redisReply *reply = NULL;
    va_list arguments;
    va_start(arguments, format);
    put(l, format, arguments);
    va_end(arguments);
    itg_status status = itg_link_get(l, 0, &reply, err);
    if (status == ITG_OK) freeReplyObject(reply);
    return status;
}

/* ---- opening ---- */

static bool connect_to(itg_link *l, const struct addrinfo *a, int *number)
{
    int on = 1;
    socklen_t length = sizeof *number;
    l->file = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
    *number = errno;
    if (l->file < 0) return false;
    (void)fcntl(l->file, F_SETFD, FD_CLOEXEC);
    (void)fcntl(l->file, F_SETFL, O_NONBLOCK);
    (void)setsockopt(l->file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    int rc = connect(l->file, a->ai_addr, a->ai_addrlen);
    *number = rc == 0 ? 0 : errno;
    if (rc != 0 && errno == EINPROGRESS) {
        if (!ready(l, POLLOUT, now(l) + CONNECT_MS / 1000.0))
            *number = ETIMEDOUT;
        else if (getsockopt(l->file, SOL_SOCKET, SO_ERROR, number, &length) != 0)
            *number = errno;
    }
    if (*number == 0) return true;
    close(l->file);
    l->file = -1;
    return false;
}

static itg_status connect_link(itg_link *l, const itg_remote_address *address, itg_error *err)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int number = 0, rc = getaddrinfo(address->host, address->port, &hints, &list);
    if (rc != 0) return itg_fail(err, ITG_IO, "server %s: %s", address->host, gai_strerror(rc));
    bool connected = false;
    for (const struct addrinfo *a = list; a && !connected; a = a->ai_next)
        connected = connect_to(l, a, &number);
    freeaddrinfo(list);
    return connected ? ITG_OK : fail_lost(l, err, "cannot connect", number);
}

static bool shake_hands(void *context, short events)
{
    const itg_link *l = context;
    return ready(l, events, now(l) + CONNECT_MS / 1000.0);
}

static itg_status log_in(itg_link *l, const itg_remote_address *a, itg_error *err)
{
    itg_status status = ITG_OK;
    if (*a->user && *a->password)
        status = itg_link_do(l, err, "AUTH %s %s", a->user, a->password);
    else if (*a->password)
        status = itg_link_do(l, err, "AUTH %s", a->password);
    return status == ITG_OK ? itg_link_do(l, err, "PING") : status;
}

itg_status itg_link_open(const itg_remote_address *address, const itg_remote_hooks *hooks,
                         itg_link **out, itg_error *err)
{
    itg_link *l = calloc(1, sizeof *l);
    if (!l) return itg_fail(err, ITG_NO_MEMORY, "no memory for a connection");
    l->file = -1;
    l->hooks = hooks;
    l->host = address->host;
    itg_status status =
        make_reader(l) ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for a connection");
    if (status == ITG_OK) status = connect_link(l, address, err);
    if (status == ITG_OK && address->tls)
        status = itg_tls_open(l->file, address->host, shake_hands, l, &l->tls, err);
    if (status == ITG_OK) status = log_in(l, address, err);
    if (status == ITG_OK)
        *out = l;
    else
        itg_link_close(l);
    return status;
}

void itg_link_close(itg_link *l)
{
    if (!l) return;
    itg_tls_close(l->tls);
    if (l->file >= 0) close(l->file);
    if (l->reader) redisReaderFree(l->reader);
    itg_strbuf_deinit(&l->out);
    free(l);
}

/* ---- replies ---- */

const redisReply *itg_reply_at(const redisReply *list, size_t index)
{
    return list && list->type == REDIS_REPLY_ARRAY && index < list->elements ? list->element[index]
                                                                             : NULL;
}

bool itg_reply_is_text(const redisReply *r)
{
    return r && r->type == REDIS_REPLY_STRING;
}

bool itg_reply_is(const redisReply *r, const char *text)
{
    return itg_reply_is_text(r) && r->len == strlen(text) && memcmp(r->str, text, r->len) == 0;
}

bool itg_reply_name(const redisReply *r, char *out, size_t size)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    if (!itg_reply_is_text(r) || r->len == 0 || r->len >= size || strspn(r->str, allowed) != r->len)
        return false;
    memcpy(out, r->str, r->len + 1);
    return true;
}

bool itg_reply_number(const redisReply *r, int64_t max, int64_t *out)
{
    int64_t value = 0;
    if (r && r->type == REDIS_REPLY_INTEGER) {
        value = r->integer;
    } else {
        if (!itg_reply_is_text(r) || r->len == 0 || r->len > 18 ||
            strspn(r->str, "0123456789") != r->len)
            return false;
        value = strtoll(r->str, NULL, 10);
    }
    if (value < 0 || value > max) return false;
    *out = value;
    return true;
}

const redisReply *itg_reply_field(const redisReply *list, const char *field)
{
    for (size_t i = 0; list && list->type == REDIS_REPLY_ARRAY && i + 1 < list->elements; i += 2)
        if (itg_reply_is(list->element[i], field)) return list->element[i + 1];
    return NULL;
}
