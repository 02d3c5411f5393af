/* The public functions of verification (intaglio.h). */
#include "realize/verify/certificate.h"
#include <stdlib.h>
#include <string.h>

char *itg_certificate_path(const char *artefact)
{
    itg_strbuf path = {0};
    itg_strbuf_format(&path, "%s.cert.json", artefact);
    if (itg_strbuf_ok(&path)) return path.text;
    itg_strbuf_deinit(&path);
    return NULL;
}

itg_status itg_certify(const char *artefact, const char *certificate, itg_error *err)
{
    itg_certificate c = {0};
    itg_status status = itg_certificate_derive(artefact, &c, err);
    /* Refuses what the reader would refuse. */
    if (status == ITG_OK && c.text.length > ITG_CERTIFICATE_MAX_BYTES)
        status = itg_fail(err, ITG_LIMIT, "%s: its certificate is larger than %zu bytes", artefact,
                          ITG_CERTIFICATE_MAX_BYTES);
    if (status == ITG_OK)
        status = itg_certificate_compare(&c, c.text.text, c.text.length, certificate, err);
    if (status == ITG_OK && c.view.problem_count > 0)
        status = itg_fail(err, ITG_MISMATCH, "%s: %s", artefact, c.view.problems[0]);
    if (status == ITG_OK) status = itg_file_write(certificate, c.text.text, c.text.length, err);
    itg_certificate_deinit(&c);
    return status;
}

static itg_status compare_with(itg_verification *v, const char *path, itg_error *err)
{
    unsigned char *text = NULL;
    size_t bytes = 0;
    itg_status status = itg_file_read(path, ITG_CERTIFICATE_MAX_BYTES, &text, &bytes, err);
    if (status == ITG_OK)
        status = itg_certificate_compare(&v->derived, (const char *)text, bytes, path, err);
    else
        itg_prefix_error(err, status, "no certificate to verify by");
    free(text);
    return status;
}

itg_status itg_verify(const char *artefact, const char *certificate, itg_verification **out,
                      itg_error *err)
{
    char *beside = certificate == NULL ? itg_certificate_path(artefact) : NULL;
    itg_verification *v = calloc(1, sizeof *v);
    itg_status status = ITG_OK;
    if (v == NULL || (certificate == NULL && beside == NULL))
        status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory to verify it", artefact);
    if (status == ITG_OK) status = itg_certificate_derive(artefact, &v->derived, err);
    if (status == ITG_OK) status = compare_with(v, beside != NULL ? beside : certificate, err);
    free(beside);
    if (status == ITG_OK)
        *out = v;
    else
        itg_verification_destroy(v);
    return status;
}

void itg_verification_destroy(itg_verification *verification)
{
    if (verification == NULL) return;
    itg_certificate_deinit(&verification->derived);
    free(verification);
}

int32_t itg_verification_sum_count(const itg_verification *verification)
{
    return verification->derived.sum_count;
}

const itg_verified_sum *itg_verification_sum(const itg_verification *verification, int32_t index)
{
    return &verification->derived.sums[index];
}

int32_t itg_verification_tensor_count(const itg_verification *verification)
{
    return verification->derived.file->initializer_count;
}

int32_t itg_verification_node_count(const itg_verification *verification)
{
    return verification->derived.file->node_count;
}

int32_t itg_verification_problem_count(const itg_verification *verification)
{
    return verification->derived.view.problem_count;
}

int32_t itg_verification_problem_texts(const itg_verification *verification)
{
    int32_t count = verification->derived.view.problem_count;
    return count < ITG_VIEW_MAX_PROBLEMS ? count : ITG_VIEW_MAX_PROBLEMS;
}

const char *itg_verification_problem(const itg_verification *verification, int32_t index)
{
    return verification->derived.view.problems[index];
}

const unsigned char *itg_verification_hash(const itg_verification *verification)
{
    return verification->derived.file->hash;
}
