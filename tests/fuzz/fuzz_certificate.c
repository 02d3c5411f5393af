/* Certificates of one artefact: only the true one is accepted. */
#include "fuzz.h"
#include "realize/verify/certificate.h"
#include <string.h>

static const char *artefact(void)
{
    static const char *path;
    itg_strbuf bytes = {0};
    if (path != NULL) return path;
    REQUIRE(fuzz_program(1, &bytes));
    path = fuzz_file((const uint8_t *)bytes.text, bytes.length);
    itg_strbuf_deinit(&bytes);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    itg_certificate c = {0};
    itg_error err = {0};
    REQUIRE(itg_certificate_derive(artefact(), &c, &err) == ITG_OK && c.view.problem_count == 0);
    bool is_true = bytes == c.text.length && memcmp(data, c.text.text, bytes) == 0;
    itg_status status = itg_certificate_compare(&c, (const char *)data, bytes, "input", &err);
    REQUIRE(status == ITG_OK ? (c.view.problem_count == 0) == is_true : !is_true);
    itg_certificate_deinit(&c);
    return 0;
}

bool fuzz_seed(int index, itg_strbuf *out)
{
    itg_certificate c = {0};
    if (index > 0) return false;
    REQUIRE(itg_certificate_derive(artefact(), &c, NULL) == ITG_OK);
    itg_strbuf_bytes(out, c.text.text, c.text.length);
    itg_certificate_deinit(&c);
    return true;
}
