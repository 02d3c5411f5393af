#include "remote/tls.h"
#include <errno.h>
#include "base/base.h"

itg_status itg_tls_open(int file, const char *host, bool (*wait)(void *context, short events),
                        void *context, itg_tls **out, itg_error *err)
{
    (void)file, (void)wait, (void)context, (void)out;
    return itg_fail(err, ITG_UNSUPPORTED,
                    "server %s: rediss:// needs TLS, which this build does not have (OpenSSL)",
                    host);
}

void itg_tls_close(itg_tls *tls)
{
    (void)tls;
}

ssize_t itg_tls_move(itg_tls *tls, void *in, const void *out, size_t bytes, short *events)
{
    (void)tls, (void)in, (void)out, (void)bytes, (void)events;
    errno = EPROTO;
    return -1;
}
