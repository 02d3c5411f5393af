#include "remote/tls.h"
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdlib.h>
#include "base/base.h"

struct itg_tls {
    SSL_CTX *context;
    SSL *ssl;
};

static itg_status fail(itg_error *err, const char *host, const itg_tls *t)
{
    char why[160];
    long verified = t && t->ssl ? SSL_get_verify_result(t->ssl) : X509_V_OK;
    ERR_error_string_n(ERR_get_error(), why, sizeof why);
    ERR_clear_error();
    return itg_fail(err, ITG_IO, "server %s: TLS: %s", host,
                    verified != X509_V_OK ? X509_verify_cert_error_string(verified) : why);
}

static bool name_host(SSL *ssl, const char *host)
{
    unsigned char address[16];
    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static bool prepare(itg_tls *t, int file, const char *host)
{
    t->context = SSL_CTX_new(TLS_client_method());
    if (!t->context || SSL_CTX_set_min_proto_version(t->context, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_default_verify_paths(t->context) != 1)
        return false;
    SSL_CTX_set_verify(t->context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(t->context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    t->ssl = SSL_new(t->context);
    return t->ssl && name_host(t->ssl, host) && SSL_set_fd(t->ssl, file) == 1;
}

/* Returns 0 if the caller must wait for *events, else an error. */
static int sort_out(const itg_tls *t, int rc, short *events)
{
    int error = SSL_get_error(t->ssl, rc);
    *events = error == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN;
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : error;
}

itg_status itg_tls_open(int file, const char *host, bool (*wait)(void *context, short events),
                        void *context, itg_tls **out, itg_error *err)
{
    short events = 0;
    itg_tls *t = calloc(1, sizeof *t);
    if (!t) return itg_fail(err, ITG_NO_MEMORY, "no memory for TLS");
    itg_status status = prepare(t, file, host) ? ITG_OK : fail(err, host, t);
    while (status == ITG_OK) {
        int rc = SSL_connect(t->ssl);
        if (rc == 1) break;
        if (sort_out(t, rc, &events) != 0)
            status = fail(err, host, t);
        else if (!wait(context, events))
            status = itg_fail(err, ITG_IO, "server %s: TLS: does not answer", host);
    }
    if (status == ITG_OK)
        *out = t;
    else
        itg_tls_close(t);
    return status;
}

void itg_tls_close(itg_tls *t)
{
    if (!t) return;
    SSL_free(t->ssl);
    SSL_CTX_free(t->context);
    free(t);
}

ssize_t itg_tls_move(itg_tls *t, void *in, const void *out, size_t bytes, short *events)
{
    int most = bytes > 1 << 20 ? 1 << 20 : (int)bytes;
    ERR_clear_error();
    int rc = in ? SSL_read(t->ssl, in, most) : SSL_write(t->ssl, out, most);
    if (rc > 0) return rc;
    int error = sort_out(t, rc, events);
    if (error == SSL_ERROR_ZERO_RETURN) return 0;
    errno = error == 0 ? EAGAIN : errno && errno != EAGAIN ? errno : EPROTO;
    return -1;
}
