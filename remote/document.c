#include "remote/document.h"
#include <stdlib.h>
#include <string.h>
#include "base/json_take.h"
#include "base/json_write.h"

#define FORMAT 1
#define MOST_FILES 10000

void itg_document_deinit(itg_document *d)
{
    for (int32_t i = 0; i < d->count; i++)
        free(d->files[i].source);
    free(d->files);
    free(d->probe);
    *d = (itg_document){0};
}

itg_status itg_document_write(const itg_document *d, char **out, itg_error *err)
{
    itg_json_writer w = {0};
    itg_json_begin(&w, NULL, '{');
    itg_json_put_int(&w, "format", FORMAT);
    itg_json_put_text(&w, "engine", itg_engine_version());
    itg_json_put_text(&w, "probe", d->probe);
    itg_json_put_hash(&w, "proof", d->proof);
    itg_json_begin(&w, "files", '[');
    for (int32_t i = 0; i < d->count; i++) {
        const itg_remote_file *f = &d->files[i];
        itg_json_begin(&w, NULL, '{');
        itg_json_put_text(&w, "kind", f->kind);
        itg_json_put_text(&w, "path", f->path);
        itg_json_put_hash(&w, "hash", f->hash);
        itg_json_put_int(&w, "bytes", f->bytes);
        itg_json_end(&w, '}');
    }
    itg_json_end(&w, ']');
    itg_json_end(&w, '}');
    if (!itg_strbuf_ok(&w.text)) {
        itg_strbuf_deinit(&w.text);
        return itg_fail(err, ITG_NO_MEMORY, "no memory to describe the search");
    }
    *out = w.text.text;
    return ITG_OK;
}

/* A relative path of plain names: nothing hidden, no way up, no control characters. */
static bool is_inside(const char *path)
{
    bool begins = true;
    for (const char *c = path; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == '\\') return false;
        if (begins && (*c == '/' || *c == '.')) return false;
        begins = *c == '/';
    }
    return *path && !begins;
}

static bool is_kind(const char *kind)
{
    size_t length = strlen(kind);
    return length > 0 && length < sizeof((itg_remote_file *)NULL)->kind &&
           strspn(kind, "abcdefghijklmnopqrstuvwxyz") == length;
}

static void take_file(itg_json_taker *t, const itg_json_value *v, itg_remote_file *out)
{
    static const char *const keys[] = {"kind", "path", "hash", "bytes", NULL};
    itg_json_take_keys(t, v, keys);
    const char *kind = itg_json_take_text(t, v, "kind"), *path = itg_json_take_text(t, v, "path");
    itg_json_take_hash(t, v, "hash", out->hash);
    out->bytes = itg_json_take_int(t, v, "bytes", 0, ITG_MOST_FILE_BYTES);
    if (t->status != ITG_OK) return;
    bool of_model = strcmp(kind, "model") == 0 || strcmp(kind, "data") == 0;
    if (!is_kind(kind)) itg_json_refuse(t, v, ITG_BAD_FILE, "expected a kind of a-z");
    if (strlen(path) >= sizeof out->path || (of_model ? !is_inside(path) : *path != '\0'))
        itg_json_refuse(t, v, ITG_BAD_FILE, "expected a path inside a folder, of plain names");
    if (t->status != ITG_OK) return;
    snprintf(out->kind, sizeof out->kind, "%s", kind);
    snprintf(out->path, sizeof out->path, "%s", path);
}

static void take_files(itg_json_taker *t, const itg_json_value *list, itg_document *d)
{
    size_t count = t->status == ITG_OK ? itg_json_length(list) : 0;
    if (count > MOST_FILES) itg_json_refuse(t, list, ITG_BAD_FILE, "expected fewer files");
    d->files = t->status == ITG_OK ? calloc(count + 1, sizeof *d->files) : NULL;
    if (t->status == ITG_OK && !d->files)
        itg_json_refuse(t, list, ITG_NO_MEMORY, "no memory for files");
    for (size_t i = 0; t->status == ITG_OK && i < count; i++) {
        take_file(t, itg_json_at(list, i), &d->files[i]);
        d->count = (int32_t)i + 1;
    }
}

itg_status itg_document_read(const char *text, size_t bytes, itg_document *out, itg_error *err)
{
    static const char *const keys[] = {"format", "engine", "probe", "proof", "files", NULL};
    itg_json *json = NULL;
    itg_document d = {0};
    itg_status status = itg_json_parse(text, bytes, "the search's description", &json, err);
    if (status != ITG_OK) return status;
    itg_json_taker t = {json, err, ITG_OK};
    const itg_json_value *root = itg_json_root(json);
    const char *engine = itg_json_take_text(&t, root, "engine");
    if (engine && strcmp(engine, itg_engine_version()) != 0)
        itg_json_refuse(&t, itg_json_find(root, "engine"), ITG_MISMATCH,
                        "the search is of version %.40s, this worker of %s", engine,
                        itg_engine_version());
    itg_json_take_keys(&t, root, keys);
    (void)itg_json_take_int(&t, root, "format", FORMAT, FORMAT);
    const char *probe = itg_json_take_text(&t, root, "probe");
    itg_json_take_hash(&t, root, "proof", d.proof);
    take_files(&t, itg_json_take(&t, root, "files", ITG_JSON_ARRAY), &d);
    if (t.status == ITG_OK && !(d.probe = strdup(probe)))
        itg_json_refuse(&t, root, ITG_NO_MEMORY, "no memory for it");
    itg_json_destroy(json);
    if (t.status == ITG_OK)
        *out = d;
    else
        itg_document_deinit(&d);
    return t.status;
}
