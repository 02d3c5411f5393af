/* The data that a search's workers need: the share and the model, described by one document. */
#include <stdlib.h>
#include <string.h>
#include "remote/coordinator.h"

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static itg_status add_source(itg_document *d, const char *kind, const char *source,
                             const char *path, itg_error *err)
{
    itg_remote_file *f = &d->files[d->count];
    if (strlen(path) >= sizeof f->path)
        return itg_fail(err, ITG_LIMIT, "%.200s: the name is too long to be sent", path);
    itg_status status = itg_file_describe(source, f, err);
    if (status != ITG_OK) return status;
    snprintf(f->kind, sizeof f->kind, "%s", kind);
    snprintf(f->path, sizeof f->path, "%s", path);
    d->count++;
    return ITG_OK;
}

static itg_status add_model(itg_coordinator *c, itg_document *d, itg_error *err)
{
    const char *model = c->o.model_path, *file;
    size_t folder = (size_t)(name_of(model) - model);
    itg_status status = add_source(d, "model", model, name_of(model), err);
    for (int32_t i = 0; status == ITG_OK && (file = itg_model_data_file(c->o.model, i)); i++) {
        const char *path = file + (strncmp(file, model, folder) == 0 ? folder : 0);
        while (strncmp(path, "./", 2) == 0)
            path += 2;
        status = add_source(d, "data", file, path, err);
    }
    return status;
}

static void add_parts(const itg_share *share, itg_document *d)
{
    for (int32_t i = 0; i < share->count; i++) {
        const itg_share_part *part = &share->parts[i];
        itg_remote_file *f = &d->files[d->count++];
        snprintf(f->kind, sizeof f->kind, "%s", part->name);
        f->data = part->data;
        f->bytes = (int64_t)part->bytes;
        itg_sha256_of(part->data, part->bytes, f->hash);
    }
}

static int32_t count_data_files(const itg_model *model)
{
    int32_t count = 0;
    while (itg_model_data_file(model, count))
        count++;
    return count;
}

static itg_status make_document(itg_coordinator *c, const itg_work *work, itg_error *err)
{
    itg_document *d = &c->document, readable = {0};
    d->files = calloc((size_t)count_data_files(c->o.model) + ITG_SHARE_PARTS + 1, sizeof *d->files);
    itg_status status = d->files ? itg_work_probe(work, c->o.threads, &d->probe, &c->proof, err)
                                 : itg_fail(err, ITG_NO_MEMORY, "no memory to describe the search");
    if (status == ITG_OK) status = add_model(c, d, err);
    if (status != ITG_OK) return status;
    itg_sha256_of(c->proof, strlen(c->proof), d->proof);
    add_parts(c->share, d);
    status = itg_document_write(d, &c->text, err);
    /* Fails here, before anything is sent, if workers would refuse the document. */
    if (status == ITG_OK) status = itg_document_read(c->text, strlen(c->text), &readable, err);
    itg_document_deinit(&readable);
    if (status != ITG_OK) return status;
    c->about = (itg_remote_file){.data = c->text, .bytes = (int64_t)strlen(c->text)};
    itg_sha256_of(c->text, strlen(c->text), c->about.hash);
    c->documents++;
    return ITG_OK;
}

void itg_coordinator_forget(itg_coordinator *c)
{
    itg_document_deinit(&c->document);
    itg_share_destroy(c->share);
    itg_free(c->text);
    itg_free(c->proof);
    c->share = NULL;
    c->text = c->proof = NULL;
    c->round = -1;
    c->restored = false;
}

itg_status itg_coordinator_prepare(itg_coordinator *c, const itg_work *work, itg_error *err)
{
    if (c->share && c->round == itg_work_round(work)) return ITG_OK;
    itg_coordinator_forget(c);
    itg_status status = itg_work_share(work, &c->share, err);
    if (status == ITG_OK) status = make_document(c, work, err);
    if (status == ITG_OK)
        c->round = itg_work_round(work);
    else
        itg_coordinator_forget(c);
    return status;
}
