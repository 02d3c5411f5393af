#include "remote/session.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_PART_BYTES ((size_t)1 << 34)
enum { MOST_DEPTH = 32 };

/* ---- the model: its files linked into a folder under their own names, while it is opened ---- */

static void remove_tree(const char *path, int depth)
{
    DIR *folder = depth < MOST_DEPTH ? opendir(path) : NULL;
    for (const struct dirent *d; folder && (d = readdir(folder));) {
        char *inside =
            strcmp(d->d_name, ".") && strcmp(d->d_name, "..") ? itg_path_in(path, d->d_name) : NULL;
        if (inside && unlink(inside) != 0) remove_tree(inside, depth + 1);
        free(inside);
    }
    if (folder) closedir(folder);
    (void)rmdir(path);
}

void itg_session_clean(const char *cache_folder)
{
    DIR *folder = opendir(cache_folder);
    for (const struct dirent *d; folder && (d = readdir(folder));) {
        long process = strncmp(d->d_name, "open-", 5) == 0 ? strtol(d->d_name + 5, NULL, 10) : 0;
        char *path = process > 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH
                         ? itg_path_in(cache_folder, d->d_name)
                         : NULL;
        if (path) remove_tree(path, 0);
        free(path);
    }
    if (folder) closedir(folder);
}

static itg_status fail_errno(itg_error *err, const char *path, const char *what)
{
    char why[ITG_ERRNO_TEXT];
    return itg_fail(err, ITG_FAILURE, "%.300s: cannot %s: %s", path, what,
                    itg_errno_text(errno, why));
}

static itg_status make_folders(char *path, size_t from, itg_error *err)
{
    for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdir(path, 0700);
        bool made = rc == 0 || errno == EEXIST;
        if (!made) (void)fail_errno(err, path, "create this folder");
        *slash = '/';
        if (!made) return ITG_FAILURE;
    }
    return ITG_OK;
}

static itg_status place(const char *folder, const itg_remote_file *f, itg_error *err)
{
    char *path = itg_path_in(folder, f->path);
    if (!path) return itg_fail(err, ITG_NO_MEMORY, "no memory for a path");
    itg_status status = make_folders(path, strlen(folder) + 1, err);
    if (status == ITG_OK && link(f->source, path) != 0)
        status = fail_errno(err, path, "place the model's file there");
    free(path);
    return status;
}

static itg_status open_model(itg_session *s, const char *folder, const itg_share_model *about,
                             itg_error *err)
{
    itg_status status = ITG_OK;
    char *path = NULL;
    for (int32_t i = 0; i < s->document.count && status == ITG_OK; i++) {
        const itg_remote_file *f = &s->document.files[i];
        bool is_model = strcmp(f->kind, "model") == 0;
        if (!is_model && strcmp(f->kind, "data") != 0) continue;
        status = place(folder, f, err);
        if (is_model && !path) path = itg_path_in(folder, f->path);
    }
    if (status == ITG_OK && !path)
        status = itg_fail(err, ITG_BAD_FILE, "the search's description names no model");
    if (status == ITG_OK) status = itg_model_open(path, &about->options, &s->model, err);
    free(path);
    return status;
}

static itg_status open_in_folder(itg_session *s, const char *cache, const itg_share_model *about,
                                 itg_error *err)
{
    char name[48];
    snprintf(name, sizeof name, "open-%ld-XXXXXX", (long)getpid());
    char *folder = itg_path_in(cache, name);
    if (!folder) return itg_fail(err, ITG_NO_MEMORY, "no memory for a path");
    itg_status status = mkdtemp(folder) ? ITG_OK : fail_errno(err, cache, "create a folder in it");
    if (status == ITG_OK) {
        status = open_model(s, folder, about, err);
        remove_tree(folder, 0);
    }
    free(folder);
    return status;
}

/* ---- the parts ---- */

typedef struct parts {
    itg_share_part list[ITG_SHARE_PARTS];
    int32_t count;
} parts;

static void free_parts(parts *p)
{
    for (int32_t i = 0; i < p->count; i++)
        free((void *)(uintptr_t)p->list[i].data);
}

static itg_status read_parts(const itg_session *s, parts *p, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < s->document.count && status == ITG_OK; i++) {
        const itg_remote_file *f = &s->document.files[i];
        unsigned char *data = NULL;
        size_t bytes = 0;
        if (strcmp(f->kind, "model") == 0 || strcmp(f->kind, "data") == 0) continue;
        if (p->count == ITG_SHARE_PARTS)
            return itg_fail(err, ITG_BAD_FILE, "the search's description names too many parts");
        status = itg_file_read(f->source, MOST_PART_BYTES, &data, &bytes, err);
        if (status == ITG_OK) p->list[p->count++] = (itg_share_part){f->kind, data, bytes};
    }
    return status;
}

/* ---- opening ---- */

static itg_status fetch(const itg_worker_options *o, itg_link *link, itg_session *s, int64_t bytes,
                        itg_error *err)
{
    const itg_file_cache cache = {o->cache_folder, o->cache_bytes};
    char *path = NULL;
    unsigned char *text = NULL;
    size_t length = 0;
    if (bytes > ITG_MOST_DOCUMENT)
        return itg_fail(err, ITG_BAD_FILE, "the search's description has %lld bytes",
                        (long long)bytes);
    itg_status status = itg_file_fetch(&cache, link, o->address.name, s->hash, bytes, &path, err);
    if (status == ITG_OK)
        status = itg_file_read(path, (size_t)ITG_MOST_DOCUMENT, &text, &length, err);
    if (status == ITG_OK) status = itg_document_read((const char *)text, length, &s->document, err);
    free(text);
    free(path);
    for (int32_t i = 0; i < s->document.count && status == ITG_OK; i++) {
        itg_remote_file *f = &s->document.files[i];
        status = itg_file_fetch(&cache, link, o->address.name, f->hash, f->bytes, &f->source, err);
    }
    return status;
}

/* Proves that the model, the float results and the kernels of this machine give what the search's
 * machine got. */
static itg_status prove(const itg_worker_options *o, itg_session *s, itg_error *err)
{
    unsigned char hash[32];
    itg_status status = itg_scorer_score(s->scorer, s->document.probe, strlen(s->document.probe),
                                         o->threads, &s->proof, err);
    if (status != ITG_OK) return status;
    itg_sha256_of(s->proof, strlen(s->proof), hash);
    return memcmp(hash, s->document.proof, 32) == 0
               ? ITG_OK
               : itg_fail(
                     err, ITG_MISMATCH,
                     "this worker fails the proof: it computes another result of a trial whose "
                     "result is known");
}

itg_status itg_session_open(const itg_worker_options *o, itg_link *link,
                            const unsigned char hash[32], int64_t bytes, itg_session *out,
                            itg_error *err)
{
    itg_session s = {0};
    itg_share_model about;
    parts p = {.count = 0};
    memcpy(s.hash, hash, sizeof s.hash);
    itg_status status = fetch(o, link, &s, bytes, err);
    if (status == ITG_OK) status = read_parts(&s, &p, err);
    if (status == ITG_OK) status = itg_share_model_of(p.list, p.count, &about, err);
    if (status == ITG_OK) status = open_in_folder(&s, o->cache_folder, &about, err);
    if (status == ITG_OK)
        status = itg_scorer_open(s.model, p.list, p.count, o->activation_bytes, &s.scorer, err);
    if (status == ITG_OK) status = prove(o, &s, err);
    free_parts(&p);
    if (status == ITG_OK)
        *out = s;
    else
        itg_session_close(&s);
    return status;
}

void itg_session_close(itg_session *s)
{
    itg_scorer_close(s->scorer);
    itg_model_close(s->model);
    itg_document_deinit(&s->document);
    itg_free(s->proof);
    *s = (itg_session){0};
}
