/* The certificate of C source: which program it stands for, what every file and every array holds.
 * A function of the files in the folder alone. */
#include "realize/verify/source.h"
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

static void add_array(itg_strbuf *out, const itg_source_array *a, bool first)
{
    itg_sha256 h;
    itg_sha256_init(&h);
    for (int64_t i = 0; i < a->count; i++) {
        unsigned char bytes[8];
        itg_copy_little_endian(bytes, &a->values[i], 1, sizeof a->values[i]);
        itg_sha256_update(&h, bytes, sizeof bytes);
    }
    itg_strbuf_add(out, first ? "\n {\"array\": " : ",\n {\"array\": ");
    itg_strbuf_json_string(out, a->name);
    itg_strbuf_format(out, ", \"numbers\": %lld, ", (long long)a->count);
    add_hash(out, &h);
}

static itg_status add_arrays(itg_verification *v, const char *text, size_t bytes, itg_strbuf *out,
                             itg_error *err)
{
    itg_source_check check;
    itg_source_array array;
    itg_source_reader r = {&v->derived.view, text, text + bytes, 1};
    itg_status status = itg_source_check_init(&check, &v->derived.view, err);
    if (status != ITG_OK) return status;
    itg_strbuf_add(out, "\"arrays\": [");
    for (bool first = true; itg_source_next(&r, &array); first = false) {
        itg_source_check_array(&check, &array);
        add_array(out, &array, first);
    }
    itg_strbuf_add(out, "\n],\n");
    itg_source_check_rest(&check);
    itg_source_check_deinit(&check);
    return ITG_OK;
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

itg_status itg_source_certificate(itg_verification *v, const char *directory, const char *name,
                                  itg_strbuf *out, itg_error *err)
{
    unsigned char *source = NULL;
    size_t bytes = 0;
    itg_strbuf_format(out,
                      "{\n\"kind\": \"intaglio-source-certificate\",\n\"version\": 1,\n"
                      "\"program\": {\"file\": \"%s.itg\", \"sha256\": ",
                      name);
    itg_certificate_hash(out, v->derived.file->hash);
    itg_strbuf_add(out, "},\n");
    itg_status status = add_files(directory, name, out, err);
    if (status == ITG_OK) status = read_file(directory, name, ".c", &source, &bytes, err);
    if (status == ITG_OK) status = add_arrays(v, (const char *)source, bytes, out, err);
    free(source);
    itg_certificate_end(out);
    if (status == ITG_OK && (v->derived.view.failed || !itg_strbuf_ok(out)))
        status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory for the certificate", directory);
    return status;
}

/* A name from a stranger's folder stands in JSON and in paths as it is. */
static itg_status check_name(const char *name, itg_error *err)
{
    for (const char *c = name; *c != '\0'; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '_'))
            return itg_fail(err, ITG_BAD_ARGUMENT, "'%s' is no name of C source", name);
    return ITG_OK;
}

itg_status itg_certify_source(const char *directory, const char *name, itg_error *err)
{
    itg_strbuf text = {0};
    itg_verification v = {0};
    char *program = path_of(directory, name, ".itg");
    char *certificate = path_of(directory, name, ".cert.json");
    itg_status status = check_name(name, err);
    if (status == ITG_OK && (program == NULL || certificate == NULL))
        status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory to certify it", directory);
    if (status == ITG_OK) status = itg_certificate_derive(program, &v.derived, err);
    if (status == ITG_OK) status = itg_source_certificate(&v, directory, name, &text, err);
    if (status == ITG_OK && v.derived.view.problem_count > 0)
        status =
            itg_fail(err, ITG_MISMATCH, "%s/%s.c: %s", directory, name, v.derived.view.problems[0]);
    if (status == ITG_OK) status = itg_file_write(certificate, text.text, text.length, err);
    itg_strbuf_deinit(&text);
    itg_certificate_deinit(&v.derived);
    free(program);
    free(certificate);
    return status;
}

/* The line where they part. */
static void compare(itg_verification *v, const itg_strbuf *own, const char *given, size_t bytes,
                    const char *name)
{
    itg_view *view = &v->derived.view;
    size_t at = 0, line = 0;
    itg_certificate_check_end(view, given, bytes);
    if (own->length == bytes && memcmp(own->text, given, bytes) == 0) return;
    for (; at < bytes && at < own->length && own->text[at] == given[at]; at++)
        if (own->text[at] == '\n') line = at + 1;
    const char *end = memchr(own->text + line, '\n', own->length - line);
    int length =
        end != NULL && end - (own->text + line) < 160 ? (int)(end - (own->text + line)) : 160;
    itg_view_problem(view, "%s.cert.json says otherwise than the files, which give%s%.*s", name,
                     own->text[line] == ' ' ? "" : " ", length, own->text + line);
}

itg_status itg_verify_source(const char *directory, const char *name, itg_verification **out,
                             itg_error *err)
{
    itg_verification *v = NULL;
    unsigned char *given = NULL;
    size_t bytes = 0;
    itg_strbuf own = {0};
    char *program = path_of(directory, name, ".itg");
    itg_status status = check_name(name, err);
    if (status == ITG_OK && program == NULL)
        status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory to verify it", directory);
    if (status == ITG_OK) status = itg_verify(program, NULL, &v, err);
    if (status == ITG_OK) status = itg_source_certificate(v, directory, name, &own, err);
    if (status == ITG_OK) status = read_file(directory, name, ".cert.json", &given, &bytes, err);
    if (status == ITG_OK) {
        compare(v, &own, (const char *)given, bytes, name);
        if (v->derived.view.failed)
            status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory to verify it", directory);
    }
    free(program);
    free(given);
    itg_strbuf_deinit(&own);
    if (status == ITG_OK)
        *out = v;
    else
        itg_verification_destroy(v);
    return status;
}
