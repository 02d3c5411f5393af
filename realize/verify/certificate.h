/* The certificate of an artefact: what can be proved from its bytes, as JSON text with one fact a
 * line (docs/verify.md). It depends on these bytes only. */
#ifndef ITG_VERIFY_CERTIFICATE_H
#define ITG_VERIFY_CERTIFICATE_H
#include <intaglio/intaglio.h>
#include "realize/verify/view.h"

#define ITG_CERTIFICATE_VERSION 1
#define ITG_CERTIFICATE_MAX_BYTES ((size_t)1 << 30)

typedef struct itg_certificate {
    itg_onnx_file *file;
    itg_view view; /* its problems: what is wrong with the artefact itself */
    itg_strbuf text;
    itg_verified_sum *sums; /* one an accumulator, in the order of the nodes; in the view's arena */
    int32_t sum_count;
} itg_certificate;

struct itg_verification {
    itg_certificate derived;
};

/* Derives the certificate into a zeroed struct; deinit it in any case. ITG_OK also if the artefact
 * has problems. */
itg_status itg_certificate_derive(const char *artefact, itg_certificate *out, itg_error *err);
void itg_certificate_deinit(itg_certificate *c);

/* ---- its parts, in order; each adds lines to the text ---- */
void itg_certificate_identity(itg_certificate *c, size_t bytes); /* identity.c: hashes */
void itg_certificate_tables(itg_certificate *c);                 /* tables.c: lookup tables */
void itg_certificate_sums(itg_certificate *c);                   /* accumulators.c */
void itg_certificate_span(itg_strbuf *out, itg_span s);          /* ["-5","7"] */
void itg_certificate_hash(itg_strbuf *out, const unsigned char hash[32]);

/* Adds the last line, the hash of all lines before it. */
void itg_certificate_end(itg_strbuf *text);

/* Adds the differences between two certificates to the view's problems: "path: certificate says
 * ..., derived ...". The text is not trusted. */
itg_status itg_certificate_compare(itg_certificate *derived, const char *text, size_t bytes,
                                   const char *source, itg_error *err);
#endif
