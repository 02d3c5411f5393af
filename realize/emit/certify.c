/* The certificate of C source: its program and the hash of every file. Source and header follow
 * from the program and a name, so they are checked by writing them again. The self-test has samples
 * that the program does not hold; it is checked by its hash. */
#include "realize/artefact.h"
#include "realize/emit/emit.h"
#include "realize/verify/certificate.h"
#include <stdlib.h>
#include <string.h>

static char *path_of(const char *directory, const char *name, const char *suffix)
{
    itg_strbuf path = {0};
    itg_strbuf_format(&path, "%s/%s%s", directory, name, suffix);
    if (itg_strbuf_ok(&path)) return path.text;
    itg_strbuf_deinit(&path);
    return NULL;
}

static itg_status read_file(const char *directory, const char *name, const char *suffix,
                            unsigned char **out, size_t *bytes, itg_error *err)
{
    char *path = path_of(directory, name, suffix);
    itg_status status = path != NULL
                            ? itg_file_read(path, ITG_CERTIFICATE_MAX_BYTES, out, bytes, err)
                            : itg_fail(err, ITG_NO_MEMORY, "%s: no memory", directory);
    free(path);
    return status;
}

static void add_hash(itg_strbuf *out, itg_sha256 *h)
{
    unsigned char hash[32];
    itg_sha256_final(h, hash);
    itg_strbuf_add(out, "\"sha256\": ");
    itg_certificate_hash(out, hash);
    itg_strbuf_add(out, "}");
}

static itg_status add_files(const char *directory, const char *name, itg_strbuf *out,
                            itg_error *err)
{
    static const char *const suffixes[] = {".c", ".h", "_selftest.c"};
    itg_strbuf_add(out, "\"files\": [");
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        unsigned char *data = NULL;
        size_t bytes = 0;
        itg_sha256 h;
        itg_status status = read_file(directory, name, suffixes[i], &data, &bytes, err);
        if (status != ITG_OK) return status;
        itg_sha256_init(&h);
        itg_sha256_update(&h, data, bytes);
        free(data);
        itg_strbuf_format(out, "%s\n {\"file\": \"%s%s\", \"bytes\": %zu, ", i > 0 ? "," : "", name,
                          suffixes[i], bytes);
        add_hash(out, &h);
    }
    itg_strbuf_add(out, "\n],\n");
    return ITG_OK;
}

itg_status itg_source_certificate(const itg_verification *v, const char *directory,
                                  const char *name, itg_strbuf *out, itg_error *err)
{
    itg_strbuf_format(out,
                      "{\n\"kind\": \"intaglio-source-certificate\",\n\"version\": 1,\n"
                      "\"program\": {\"file\": \"%s.itg\", \"sha256\": ",
                      name);
    itg_certificate_hash(out, v->derived.file->hash);
    itg_strbuf_add(out, "},\n");
    itg_status status = add_files(directory, name, out, err);
    itg_certificate_end(out);
    if (status == ITG_OK && !itg_strbuf_ok(out))
        status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory for the certificate", directory);
    return status;
}

/* Checks a name from an untrusted folder, which is used unescaped in JSON and in paths. */
static itg_status check_name(const char *name, itg_error *err)
{
    for (const char *c = name; *c != '\0'; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '_'))
            return itg_fail(err, ITG_BAD_ARGUMENT, "'%s' is no name of C source", name);
    return ITG_OK;
}

/* Compares a file with its expected text. A problem names the first line that differs. */
static itg_status compare(itg_view *view, const char *directory, const char *name,
                          const char *suffix, const itg_strbuf *own, itg_error *err)
{
    unsigned char *given = NULL;
    size_t bytes = 0, at = 0, line = 0;
    int number = 1;
    itg_status status = read_file(directory, name, suffix, &given, &bytes, err);
    if (status != ITG_OK) return status;
    if (own->length == bytes && memcmp(own->text, given, bytes) == 0) {
        free(given);
        return ITG_OK;
    }
    for (; at < bytes && at < own->length && own->text[at] == (char)given[at]; at++)
        if (own->text[at] == '\n') {
            line = at + 1;
            number++;
        }
    const char *end = memchr(own->text + line, '\n', own->length - line);
    int length =
        end != NULL && end - (own->text + line) < 160 ? (int)(end - (own->text + line)) : 160;
    itg_view_problem(view, "%s%s, line %d, is not what the program gives: %.*s", name, suffix,
                     number, length, own->text + line);
    free(given);
    return ITG_OK;
}

/* Compares the source and its header with those written again from the program beside them. */
static itg_status compare_source(itg_view *view, const char *program, const char *directory,
                                 const char *name, itg_error *err)
{
    itg_program *p = NULL;
    itg_strbuf source = {0}, header = {0};
    itg_status status = itg_program_open(program, &p, err);
    if (status == ITG_OK) status = itg_program_source(p, name, &source, &header, err);
    if (status == ITG_OK) status = compare(view, directory, name, ".c", &source, err);
    if (status == ITG_OK) status = compare(view, directory, name, ".h", &header, err);
    itg_strbuf_deinit(&source);
    itg_strbuf_deinit(&header);
    itg_program_destroy(p);
    return status;
}

/* The program is verified first; the rest is looked at only if it is what it claims to be. own: the
 * certificate as the files give it. */
static itg_status check(const char *directory, const char *name, itg_strbuf *own,
                        itg_verification **out, itg_error *err)
{
    char *program = path_of(directory, name, ".itg");
    itg_status status = check_name(name, err);
    if (status == ITG_OK && program == NULL)
        status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory to verify it", directory);
    if (status == ITG_OK) status = itg_verify(program, NULL, out, err);
    if (status == ITG_OK) status = itg_source_certificate(*out, directory, name, own, err);
    if (status == ITG_OK && (*out)->derived.view.problem_count == 0)
        status = compare_source(&(*out)->derived.view, program, directory, name, err);
    free(program);
    return status;
}

itg_status itg_certify_source(const char *directory, const char *name, itg_error *err)
{
    itg_strbuf text = {0};
    itg_verification *v = NULL;
    char *certificate = path_of(directory, name, ".cert.json");
    itg_status status = certificate != NULL ? check(directory, name, &text, &v, err)
                                            : itg_fail(err, ITG_NO_MEMORY,
                                                       "%s: no memory to certify it", directory);
    if (status == ITG_OK && v->derived.view.problem_count > 0)
        status = itg_fail(err, ITG_MISMATCH, "%s/%s.c: %s", directory, name,
                          v->derived.view.problems[0]);
    if (status == ITG_OK) status = itg_file_write(certificate, text.text, text.length, err);
    itg_strbuf_deinit(&text);
    itg_verification_destroy(v);
    free(certificate);
    return status;
}

itg_status itg_verify_source(const char *directory, const char *name, itg_verification **out,
                             itg_error *err)
{
    itg_verification *v = NULL;
    itg_strbuf own = {0};
    itg_status status = check(directory, name, &own, &v, err);
    if (status == ITG_OK)
        status = compare(&v->derived.view, directory, name, ".cert.json", &own, err);
    if (status == ITG_OK && v->derived.view.failed)
        status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory to verify it", directory);
    itg_strbuf_deinit(&own);
    if (status == ITG_OK)
        *out = v;
    else
        itg_verification_destroy(v);
    return status;
}
