/* Compares two certificates: by member to name a difference, then by byte to miss none. */
#include "base/json.h"
#include "realize/verify/certificate.h"
#include <string.h>

#define MOST 1000 /* differences that are counted before the comparison stops */

typedef struct comparing {
    itg_view *view; /* takes the problems */
    const itg_json *given, *derived;
} comparing;

/* Writes "node 'conv1': " for an entry that has a name. */
static void name_of(const itg_json *json, const itg_json_value *v, char *out, size_t size)
{
    static const char *const keys[][2] = {
        {"node", "node"}, {"name", "tensor"}, {"key", "metadata"}};
    for (int i = 0; i < 3; i++) {
        const itg_json_value *member = itg_json_find(v, keys[i][0]);
        const char *text;
        if (member == NULL || itg_json_get_string(json, member, &text, NULL) != ITG_OK) continue;
        snprintf(out, size, "%s '%.80s': ", keys[i][1], text);
        return;
    }
}

static void differ(comparing *c, const char *name, const itg_json_value *derived,
                   const itg_json_value *given)
{
    char path[160];
    itg_strbuf a = {0}, b = {0};
    itg_json_path(c->derived, derived, path, sizeof path);
    itg_json_print(derived, &a);
    itg_json_print(given, &b);
    if (!itg_strbuf_ok(&a) || !itg_strbuf_ok(&b) || a.text == NULL || b.text == NULL)
        c->view->failed = true;
    else
        itg_view_problem(c->view, "%s%s: the certificate says %.90s, the artefact gives %.90s",
                         name, path, b.text, a.text);
    itg_strbuf_deinit(&a);
    itg_strbuf_deinit(&b);
}

static void compare(comparing *c, const char *name, const itg_json_value *derived,
                    const itg_json_value *given);

static void compare_array(comparing *c, const char *name, const itg_json_value *derived,
                          const itg_json_value *given)
{
    char path[160];
    size_t count = itg_json_length(derived), other = itg_json_length(given);
    if (count != other) {
        itg_json_path(c->derived, derived, path, sizeof path);
        itg_view_problem(c->view, "%s%s: the certificate has %zu entries, the artefact gives %zu",
                         name, path, other, count);
    }
    for (size_t i = 0; i < count && i < other && c->view->problem_count < MOST; i++)
        compare(c, name, itg_json_at(derived, i), itg_json_at(given, i));
}

static void compare_object(comparing *c, const char *name, const itg_json_value *derived,
                           const itg_json_value *given)
{
    char own[128];
    size_t count = itg_json_length(derived);
    snprintf(own, sizeof own, "%s", name);
    name_of(c->derived, derived, own, sizeof own);
    for (size_t i = 0; i < count && c->view->problem_count < MOST; i++) {
        const char *key = itg_json_key_at(derived, i);
        const itg_json_value *member = itg_json_find(given, key);
        if (member == NULL)
            itg_view_problem(c->view, "%sthe certificate has no '%s'", own, key);
        else
            compare(c, own, itg_json_at(derived, i), member);
    }
    if (itg_json_length(given) != count)
        itg_view_problem(c->view, "%sthe certificate has %zu members where the artefact gives %zu",
                         own, itg_json_length(given), count);
}

static bool same_text(const itg_json_value *a, const itg_json_value *b, bool *failed)
{
    itg_strbuf x = {0}, y = {0};
    itg_json_print(a, &x);
    itg_json_print(b, &y);
    bool same = x.text != NULL && y.text != NULL && strcmp(x.text, y.text) == 0;
    *failed = *failed || !itg_strbuf_ok(&x) || !itg_strbuf_ok(&y);
    itg_strbuf_deinit(&x);
    itg_strbuf_deinit(&y);
    return same;
}

static void compare(comparing *c, const char *name, const itg_json_value *derived,
                    const itg_json_value *given)
{
    itg_json_type type = itg_json_typeof(derived);
    if (type != itg_json_typeof(given))
        differ(c, name, derived, given);
    else if (type == ITG_JSON_ARRAY)
        compare_array(c, name, derived, given);
    else if (type == ITG_JSON_OBJECT)
        compare_object(c, name, derived, given);
    else if (!same_text(derived, given, &c->view->failed))
        differ(c, name, derived, given);
}

/* ---- the certificates ---- */

static itg_status check_kind(const itg_json *json, itg_error *err)
{
    const itg_json_value *root = itg_json_root(json), *kind;
    const char *text;
    itg_status status =
        itg_json_typeof(root) == ITG_JSON_OBJECT
            ? itg_json_need(json, root, "kind", ITG_JSON_STRING, &kind, err)
            : itg_fail(err, ITG_BAD_FILE, "%s: no JSON object", itg_json_source(json));
    if (status == ITG_OK) status = itg_json_get_string(json, kind, &text, err);
    if (status == ITG_OK && strcmp(text, "intaglio-certificate") != 0)
        status = itg_json_fail(json, kind, err, ITG_BAD_FILE, "it is no certificate");
    return status;
}

/* Reports a missing or wrong last line. */
static void check_end(itg_view *v, const char *text, size_t bytes)
{
    enum { HEX = 64 };
    static const char before[] = "\"sha256\": \"", after[] = "\"\n}\n";
    const size_t tail = strlen(before) + HEX + strlen(after);
    unsigned char hash[32];
    char hex[HEX + 1];
    if (bytes < tail) {
        itg_view_problem(v, "the certificate does not end with its own hash");
        return;
    }
    itg_sha256_of(text, bytes - tail, hash);
    itg_sha256_hex(hash, hex);
    const char *end = text + bytes - tail;
    if (memcmp(end, before, strlen(before)) != 0 || memcmp(end + strlen(before), hex, HEX) != 0 ||
        memcmp(end + strlen(before) + HEX, after, strlen(after)) != 0)
        itg_view_problem(v, "the certificate was edited: its own hash is not that of its lines");
}

/* Reports first that the certificate is of other bytes, which explains other differences. */
static void check_artefact(itg_certificate *c, const itg_json *given)
{
    const itg_json_value *artefact = itg_json_find(itg_json_root(given), "artefact"), *hash = NULL;
    const char *text;
    char hex[65];
    itg_sha256_hex(c->file->hash, hex);
    if (artefact != NULL && itg_json_typeof(artefact) == ITG_JSON_OBJECT)
        hash = itg_json_find(artefact, "sha256");
    if (hash != NULL && itg_json_get_string(given, hash, &text, NULL) == ITG_OK &&
        strcmp(text, hex) != 0)
        itg_view_problem(&c->view, "the certificate is for other bytes: SHA-256 %.64s, not %s",
                         text, hex);
}

static void first_difference(itg_certificate *c, const char *text, size_t bytes)
{
    size_t at = 0, line = 1;
    if (c->text.length == bytes && memcmp(c->text.text, text, bytes) == 0) return;
    for (; at < bytes && at < c->text.length && text[at] == c->text.text[at]; at++)
        line += text[at] == '\n';
    itg_view_problem(&c->view, "line %zu of the certificate is written otherwise than it must be",
                     line);
}

itg_status itg_certificate_compare(itg_certificate *derived, const char *text, size_t bytes,
                                   const char *source, itg_error *err)
{
    itg_json *given = NULL, *own = NULL;
    itg_status status = itg_json_parse(text, bytes, source, &given, err);
    if (status == ITG_OK) status = check_kind(given, err);
    if (status == ITG_OK)
        status = itg_json_parse(derived->text.text, derived->text.length, source, &own, err);
    if (status == ITG_OK) {
        comparing c = {&derived->view, given, own};
        check_end(&derived->view, text, bytes);
        check_artefact(derived, given);
        compare(&c, "", itg_json_root(own), itg_json_root(given));
        if (derived->view.problem_count == 0) first_difference(derived, text, bytes);
        if (derived->view.failed)
            status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory to compare it", source);
    }
    itg_json_destroy(given);
    itg_json_destroy(own);
    return status;
}
