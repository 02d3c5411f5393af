#include <intaglio/remote.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"

static const char expected[] =
    "expected redis://HOST/NAME, redis://:PASSWORD@HOST:PORT/NAME, or rediss:// for TLS";

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* text[length] with %XX decoded. */
static bool copy_decoded(const char *text, size_t length, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == '%') {
            if (length - i < 3) return false;
            int high = hex(text[i + 1]), low = hex(text[i + 2]);
            if (high < 0 || low < 0 || high + low == 0) return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (used + 1 >= size) return false;
        out[used++] = c;
    }
    out[used] = '\0';
    return true;
}

static bool is_name(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t length = strlen(text);
    return length > 0 && length < ITG_REMOTE_NAME && strspn(text, allowed) == length;
}

/* [USER]:PASSWORD, before the last '@'. */
static bool take_user(const char **at, const char *end, itg_remote_address *a)
{
    const char *sign = end;
    while (sign > *at && sign[-1] != '@')
        sign--;
    if (sign == *at) return true; /* there is none */
    sign--;
    const char *colon = memchr(*at, ':', (size_t)(sign - *at));
    if (!colon) return false;
    bool ok = copy_decoded(*at, (size_t)(colon - *at), a->user, sizeof a->user) &&
              copy_decoded(colon + 1, (size_t)(sign - colon - 1), a->password, sizeof a->password);
    *at = sign + 1;
    return ok;
}

static bool take_host(const char *at, const char *end, itg_remote_address *a)
{
    const char *host_end = end, *port = NULL;
    if (*at == '[') {
        at++;
        host_end = memchr(at, ']', (size_t)(end - at));
        if (!host_end) return false;
        if (host_end + 1 < end && host_end[1] != ':') return false;
        if (host_end + 1 < end) port = host_end + 2;
    } else {
        const char *colon = memchr(at, ':', (size_t)(end - at));
        if (colon) {
            host_end = colon;
            port = colon + 1;
        }
    }
    size_t length = (size_t)(host_end - at), digits = port ? (size_t)(end - port) : 0;
    if (length == 0 || length >= sizeof a->host || (port && (digits == 0 || digits > 5)))
        return false;
    memcpy(a->host, at, length);
    snprintf(a->port, sizeof a->port, "%.*s", port ? (int)digits : 4, port ? port : "6379");
    long number = strtol(a->port, NULL, 10);
    return strspn(a->port, "0123456789") == strlen(a->port) && number > 0 && number < 65536;
}

itg_status itg_remote_parse(const char *text, const char *password, itg_remote_address *out,
                            itg_error *err)
{
    itg_remote_address a = {0};
    const char *at = strstr(text, "://");
    size_t scheme = at ? (size_t)(at - text) : 0;
    a.tls = scheme == 6 && memcmp(text, "rediss", 6) == 0;
    if (!at || !(a.tls || (scheme == 5 && memcmp(text, "redis", 5) == 0)))
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "the server's address has no redis:// or rediss://: %s", expected);
    at += 3;
    const char *slash = strrchr(at, '/');
    if (!slash || !is_name(slash + 1))
        return itg_fail(
            err, ITG_BAD_ARGUMENT,
            "the server's address has no /NAME of letters, digits, '-', '_', '.' at its "
            "end: %s",
            expected);
    if (!take_user(&at, slash, &a) || !take_host(at, slash, &a))
        return itg_fail(err, ITG_BAD_ARGUMENT, "the server's address has no HOST or HOST:PORT: %s",
                        expected);
    snprintf(a.name, sizeof a.name, "%s", slash + 1);
    if (!*a.password && password && strlen(password) < sizeof a.password)
        snprintf(a.password, sizeof a.password, "%s", password);
    *out = a;
    return ITG_OK;
}
