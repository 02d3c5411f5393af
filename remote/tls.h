/* TLS over a connected socket that does not block (OpenSSL). Without it at build time
 * (tls_absent.c) opening fails with ITG_UNSUPPORTED. */
#ifndef ITG_REMOTE_TLS_H
#define ITG_REMOTE_TLS_H
#include <intaglio/types.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct itg_tls itg_tls;
/* The server's certificate must be for `host`, and signed by one that the system trusts (or those
 * of SSL_CERT_FILE). wait: until the socket is ready for poll's events; false: it was too long. */
itg_status itg_tls_open(int file, const char *host, bool (*wait)(void *context, short events),
                        void *context, itg_tls **out, itg_error *err);
void itg_tls_close(itg_tls *tls); /* NULL allowed; the socket stays */
/* Works as recv (in) or send (out). With errno EAGAIN the caller waits for *events. */
ssize_t itg_tls_move(itg_tls *tls, void *in, const void *out, size_t bytes, short *events);
#endif
