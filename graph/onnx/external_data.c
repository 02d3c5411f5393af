#include "graph/onnx/external_data.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "graph/onnx/tensor_read.h"
#include "graph/onnx/wire_scan.h"

typedef struct reader {
    const char *model_path;
    int folder, file;     /* file: the open one, -1 for none */
    const char *location; /* of that file */
    int64_t size;
    itg_budget *budget;
    itg_external_data *data;
    itg_error *err;
} reader;

/* ---- files ---- */

static itg_status refuse_location(const reader *r, const char *location, const char *why)
{
    return itg_fail(r->err, ITG_BAD_FILE, "its data lies in '%.100s': %s", location, why);
}

static itg_status fail_system(const reader *r, const char *location, const char *what)
{
    const int number = errno;
    char why[ITG_ERRNO_TEXT];
    if (number == ELOOP || number == ENOTDIR)
        return refuse_location(r, location, "links are not followed");
    return itg_fail(r->err, ITG_IO, "its data lies in '%.100s': cannot %s: %s", location, what,
                    itg_errno_text(number, why));
}

/* Opens the model's folder when the first tensor needs it; most models need no other file. */
static itg_status open_folder(reader *r)
{
    if (r->folder >= 0) return ITG_OK;
    const char *slash = strrchr(r->model_path, '/');
    char *folder =
        slash ? strndup(r->model_path, (size_t)(slash - r->model_path) + 1) : strdup(".");
    if (!folder) return itg_fail(r->err, ITG_NO_MEMORY, "no memory for the name of a folder");
    r->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    return r->folder >= 0 ? ITG_OK
                          : itg_fail(r->err, ITG_IO, "the model's folder cannot be opened");
}

/* Opens the next part of a location below `at`, and closes `at` unless it is the model's folder. */
static int open_part(const reader *r, int at, const char *part, size_t length, bool is_last)
{
    char name[256];
    int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    snprintf(name, sizeof name, "%.*s", (int)length, part);
    int opened = openat(at, name, is_last ? flags : flags | O_DIRECTORY);
    const int number = errno;
    if (at != r->folder) close(at);
    errno = number;
    return opened;
}

static itg_status open_location(const reader *r, const char *location, int *out)
{
    int at = r->folder;
    const char *part = location;
    if (*location == '\0' || *location == '/')
        return refuse_location(r, location, "expected a path within the model's folder");
    for (;;) {
        size_t length = strcspn(part, "/");
        const bool is_last = part[length] == '\0';
        const bool is_dot = length == 1 && *part == '.';
        if (length > 255 || (length == 2 && memcmp(part, "..", 2) == 0) ||
            (is_last && (length == 0 || is_dot))) {
            if (at != r->folder) close(at);
            return refuse_location(r, location, "expected a path within the model's folder");
        }
        if (length > 0 && !is_dot) at = open_part(r, at, part, length, is_last);
        if (at < 0) return fail_system(r, location, "open it");
        if (is_last) break;
        part += length + 1;
    }
    *out = at;
    return ITG_OK;
}

static itg_status remember(const reader *r, const char *location)
{
    itg_external_data *d = r->data;
    const char *slash = strrchr(r->model_path, '/');
    const size_t folder = slash ? (size_t)(slash - r->model_path) + 1 : 0;
    char *path = malloc(folder + strlen(location) + 1);
    char **grown = realloc(d->paths, sizeof *grown * ((size_t)d->path_count + 1));
    if (grown) d->paths = grown;
    if (!path || !grown) {
        free(path);
        return itg_fail(r->err, ITG_NO_MEMORY, "no memory for the names of files");
    }
    sprintf(path, "%.*s%s", (int)folder, r->model_path, location);
    for (int32_t i = 0; i < d->path_count; i++)
        if (strcmp(d->paths[i], path) == 0) {
            free(path);
            return ITG_OK;
        }
    d->paths[d->path_count++] = path;
    return ITG_OK;
}

/* Opens the file of a location; it stays open for the tensors that follow. */
static itg_status select_file(reader *r, const char *location)
{
    struct stat about;
    int file = -1;
    if (r->file >= 0 && strcmp(r->location, location) == 0) return ITG_OK;
    itg_status status = open_location(r, location, &file);
    if (status != ITG_OK) return status;
    if (fstat(file, &about) != 0)
        status = fail_system(r, location, "look at it");
    else if (!S_ISREG(about.st_mode))
        status = refuse_location(r, location, "expected a regular file");
    else
        status = remember(r, location);
    if (status != ITG_OK) {
        close(file);
        return status;
    }
    if (r->file >= 0) close(r->file);
    r->file = file;
    r->location = location;
    r->size = about.st_size;
    return ITG_OK;
}

/* ---- tensors ---- */

/* Reads a decimal number. An absent text leaves *out unchanged. */
static bool read_number(const char *text, int64_t *out)
{
    int64_t number = 0;
    if (!text) return true;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || number > (INT64_MAX - 9) / 10) return false;
        number = 10 * number + (*c - '0');
    }
    *out = number;
    return *text != '\0';
}

static const char *member(const ItgOnnx__TensorProto *t, const char *key)
{
    for (size_t i = 0; i < t->n_external_data; i++)
        if (t->external_data[i]->key && strcmp(t->external_data[i]->key, key) == 0)
            return t->external_data[i]->value ? t->external_data[i]->value : "";
    return NULL;
}

/* Finds the part of the file that the tensor names, and checks it against file and limit. */
static itg_status find_part(const reader *r, const ItgOnnx__TensorProto *t, int64_t *offset,
                            int64_t *length)
{
    *offset = 0;
    if (!read_number(member(t, "offset"), offset))
        return refuse_location(r, r->location, "its offset is no number from 0 on");
    *length = r->size - *offset;
    if (!read_number(member(t, "length"), length))
        return refuse_location(r, r->location, "its length is no number from 0 on");
    if (*offset > r->size || *length > r->size - *offset)
        return itg_fail(r->err, ITG_BAD_FILE,
                        "its data lies in '%.100s', %" PRId64 " bytes from %" PRId64
                        " on, but the file has %" PRId64,
                        r->location, *length, *offset, r->size);
    if ((uint64_t)*length > ITG_WIRE_MAX_BYTES - r->data->bytes)
        return itg_fail(r->err, ITG_LIMIT, "data in other files is more than %zu bytes",
                        ITG_WIRE_MAX_BYTES);
    return ITG_OK;
}

static itg_status read_part(const reader *r, int64_t offset, size_t length, unsigned char *out)
{
    for (size_t done = 0; done < length;) {
        ssize_t got = pread(r->file, out + done, length - done, (off_t)(offset + (int64_t)done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_system(r, r->location, "read it");
        if (got == 0) return refuse_location(r, r->location, "it became shorter");
        done += (size_t)got;
    }
    return ITG_OK;
}

static itg_status read_tensor(reader *r, ItgOnnx__TensorProto *t)
{
    const char *location = member(t, "location");
    int64_t offset = 0, length = 0;
    if (!location) return itg_fail(r->err, ITG_BAD_FILE, "it does not say where its data lies");
    if (t->has_raw_data)
        return itg_fail(r->err, ITG_BAD_FILE, "its data is inside and in another file");
    itg_status status = open_folder(r);
    if (status == ITG_OK) status = select_file(r, location);
    if (status == ITG_OK) status = find_part(r, t, &offset, &length);
    if (status != ITG_OK) return status;
    r->budget->limit += (size_t)length + 64; /* also what the allocator keeps with it */
    unsigned char *bytes =
        r->budget->allocator.alloc(r->budget->allocator.allocator_data, (size_t)length + 1);
    if (!bytes) return itg_fail(r->err, ITG_NO_MEMORY, "no memory for %" PRId64 " bytes", length);
    t->has_raw_data = true;
    t->raw_data = (ProtobufCBinaryData){(size_t)length, bytes};
    t->data_location = 0;
    r->data->bytes += (size_t)length;
    status = read_part(r, offset, (size_t)length, bytes);
    if (status == ITG_OK) itg_sha256_update(&r->data->hash, bytes, (size_t)length);
    return status;
}

/* Reads a tensor's data if it lies in another file; t may be NULL. */
static itg_status visit(reader *r, ItgOnnx__TensorProto *t, const char *what, const char *name)
{
    if (!t || !itg_onnx_tensor_is_external(t)) return ITG_OK;
    itg_status status = read_tensor(r, t);
    return status == ITG_OK ? ITG_OK
                            : itg_prefix_error(r->err, status, "%s: %s '%.100s'", r->model_path,
                                               what, name ? name : "");
}

static itg_status visit_all(reader *r, const ItgOnnx__GraphProto *graph)
{
    itg_status status = ITG_OK;
    for (size_t i = 0; i < graph->n_initializer && status == ITG_OK; i++)
        status = visit(r, graph->initializer[i], "initializer", graph->initializer[i]->name);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_attribute && status == ITG_OK; k++)
            status = visit(r, graph->node[i]->attribute[k]->t, "node", graph->node[i]->name);
    return status;
}

itg_status itg_external_data_read(ItgOnnx__ModelProto *model, const char *model_path,
                                  itg_budget *budget, itg_external_data *data, itg_error *err)
{
    reader r = {model_path, -1, -1, NULL, 0, budget, data, err};
    itg_status status = model->graph ? visit_all(&r, model->graph) : ITG_OK;
    if (r.file >= 0) close(r.file);
    if (r.folder >= 0) close(r.folder);
    return status;
}

void itg_external_data_deinit(itg_external_data *data)
{
    for (int32_t i = 0; i < data->path_count; i++)
        free(data->paths[i]);
    free(data->paths);
}
