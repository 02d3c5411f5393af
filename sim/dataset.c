/* Datasets: told apart by content, held whole in memory, hashed independently of their container.
 */
#include "sim/reader.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* "itg_dataset", dtype name, rank, dims, elements: everything little-endian. */
static void hash_dataset(itg_dataset *data)
{
    enum { CHUNK = 512 };
    unsigned char buffer[CHUNK * 8];
    itg_sha256 hash;
    size_t size = itg_dtype_size(data->dtype);
    const char *dtype = itg_dtype_name(data->dtype);
    int64_t rank = data->shape.rank, elements = 0;
    itg_sha256_init(&hash);
    itg_sha256_update(&hash, dtype, strlen(dtype) + 1);
    itg_copy_little_endian(buffer, &rank, 1, sizeof rank);
    itg_copy_little_endian(buffer + 8, data->shape.dims, (size_t)rank, sizeof(int64_t));
    itg_sha256_update(&hash, buffer, 8 + 8 * (size_t)rank);
    itg_shape_elements(&data->shape, &elements);
    for (int64_t i = 0; i < elements; i += CHUNK) {
        size_t count = elements - i < CHUNK ? (size_t)(elements - i) : CHUNK;
        itg_copy_little_endian(buffer, (const unsigned char *)data->data + (size_t)i * size, count,
                               size);
        itg_sha256_update(&hash, buffer, count * size);
    }
    itg_sha256_final(&hash, data->hash);
}

static itg_status new_dataset(const char *path, itg_dataset **out, itg_error *err)
{
    itg_dataset *data = calloc(1, sizeof *data);
    size_t bytes = strlen(path) + 1;
    if (data) data->path = malloc(bytes);
    if (!data || !data->path) {
        free(data);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory", path);
    }
    memcpy(data->path, path, bytes);
    *out = data;
    return ITG_OK;
}

void itg_dataset_destroy(itg_dataset *data)
{
    if (!data) return;
    free(data->data);
    free(data->path);
    free(data);
}

/* Regular files only; O_NONBLOCK, so that opening a fifo does not wait for a writer. */
static itg_status open_regular(const char *path, int *fd, int64_t *size, itg_error *err)
{
    struct stat info;
    int opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (opened < 0) return itg_fail(err, ITG_IO, "%s: cannot open: %s", path, strerror(errno));
    if (fstat(opened, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(opened);
        return itg_fail(err, ITG_IO, "%s: not a regular file", path);
    }
    *fd = opened;
    *size = (int64_t)info.st_size;
    return ITG_OK;
}

static int64_t read_plain(void *handle, void *out, size_t bytes)
{
    ssize_t got;
    do
        got = read(*(int *)handle, out, bytes);
    while (got < 0 && errno == EINTR);
    return got;
}

static int64_t read_gzip(void *handle, void *out, size_t bytes)
{
    int code = Z_OK;
    int got = gzread(handle, out, (unsigned)bytes);
    if (got == 0)
        gzerror(handle, &code); /* a stream that was cut delivers all it has and then 0 bytes */
    return code == Z_OK ? got : -1;
}

static itg_status read_stream(itg_reader *reader, int64_t limit, itg_dataset *out, itg_error *err)
{
    itg_status status = itg_reader_peek(reader, err);
    if (status != ITG_OK) return status;
    if (itg_npy_is(reader)) return itg_npy_read(reader, limit, out, err);
    if (itg_idx_is(reader)) return itg_idx_read(reader, limit, out, err);
    return itg_fail(err, ITG_BAD_FILE, "%s: neither .npy, .npz nor IDX by its first bytes",
                    reader->name);
}

static itg_status read_gzip_file(int fd, itg_reader *reader, int64_t limit, itg_dataset *out,
                                 itg_error *err)
{
    gzFile file = gzdopen(fd, "rb");
    if (!file) {
        close(fd);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory to inflate", reader->name);
    }
    reader->handle = file;
    reader->read = read_gzip;
    reader->max_size =
        reader->size > INT64_MAX / ITG_DEFLATE_RATIO ? INT64_MAX : reader->size * ITG_DEFLATE_RATIO;
    reader->size = -1;
    reader->inflates = true;
    itg_status status = read_stream(reader, limit, out, err);
    gzclose_r(file);
    return status;
}

static itg_status read_file(int fd, int64_t size, const char *path, const char *entry,
                            int64_t limit, itg_dataset *out, itg_error *err)
{
    unsigned char magic[4] = {0};
    itg_reader reader = {
        .name = path, .handle = &fd, .read = read_plain, .size = size, .max_size = size};
    ssize_t got = pread(fd, magic, sizeof magic, 0);
    if (got == 4 && memcmp(magic, "PK\3\4", 4) == 0)
        return itg_npz_read(fd, path, entry, size, limit, out, err);
    if (got >= 2 && magic[0] == 0x1F && magic[1] == 0x8B && !entry)
        return read_gzip_file(fd, &reader, limit, out, err);
    itg_status status =
        entry ? itg_fail(err, ITG_BAD_FILE, "%s: no .npz archive to take '%s' from", path, entry)
              : read_stream(&reader, limit, out, err);
    close(fd);
    return status;
}

/* Opens path, or, where no such file is and it holds a colon, the part before its last colon. */
static itg_status open_named(char *path, const char **entry, int *fd, int64_t *size, itg_error *err)
{
    char *colon = strrchr(path, ':');
    if (colon && access(path, F_OK) != 0) {
        *colon = '\0';
        *entry = colon + 1;
    }
    return open_regular(path, fd, size, err);
}

itg_status itg_dataset_load(const char *path, int64_t limit, itg_dataset **out, itg_error *err)
{
    int fd = -1;
    int64_t size = 0;
    const char *entry = NULL;
    itg_dataset *data = NULL;
    if (limit < 0) return itg_fail(err, ITG_BAD_ARGUMENT, "%s: a negative number of samples", path);
    char *file = malloc(strlen(path) + 1);
    if (!file) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory", path);
    strcpy(file, path);
    itg_status status = new_dataset(path, &data, err);
    if (status == ITG_OK) status = open_named(file, &entry, &fd, &size, err);
    if (status == ITG_OK) status = read_file(fd, size, file, entry, limit, data, err);
    free(file);
    if (status != ITG_OK) {
        itg_dataset_destroy(data);
        return status;
    }
    hash_dataset(data);
    *out = data;
    return ITG_OK;
}

static size_t sample_bytes(const itg_dataset *data)
{
    size_t bytes = itg_dtype_size(data->dtype);
    for (int32_t i = 1; i < data->shape.rank; i++)
        bytes *= (size_t)data->shape.dims[i];
    return bytes;
}

itg_status itg_dataset_select(const itg_dataset *data, const int64_t *samples, int64_t count,
                              itg_dataset **out, itg_error *err)
{
    int64_t elements;
    itg_shape shape = data->shape;
    shape.dims[0] = count;
    if (count < 1) return itg_fail(err, ITG_BAD_ARGUMENT, "%s: no samples selected", data->path);
    if (!itg_shape_elements(&shape, &elements))
        return itg_fail(err, ITG_LIMIT, "%s: %" PRId64 " samples are too many elements", data->path,
                        count);
    for (int64_t i = 0; i < count; i++)
        if (samples[i] < 0 || samples[i] >= data->shape.dims[0])
            return itg_fail(err, ITG_BAD_ARGUMENT, "%s: sample %" PRId64 " of %" PRId64, data->path,
                            samples[i], data->shape.dims[0]);
    itg_dataset *chosen = NULL;
    itg_status status = new_dataset(data->path, &chosen, err);
    if (status != ITG_OK) return status;
    size_t bytes = sample_bytes(data);
    chosen->dtype = data->dtype;
    chosen->shape = shape;
    chosen->data = malloc(bytes * (size_t)count);
    if (!chosen->data) {
        itg_dataset_destroy(chosen);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for %" PRId64 " samples", data->path,
                        count);
    }
    for (int64_t i = 0; i < count; i++)
        memcpy((unsigned char *)chosen->data + (size_t)i * bytes,
               (const unsigned char *)data->data + (size_t)samples[i] * bytes, bytes);
    hash_dataset(chosen);
    *out = chosen;
    return ITG_OK;
}

/* Element i as an integer; false: not one. */
static bool integer_at(const itg_dataset *data, int64_t i, int64_t *out)
{
    double real = 0;
    switch (data->dtype) {
    case ITG_U8:
        *out = ((const uint8_t *)data->data)[i];
        return true;
    case ITG_S8:
        *out = ((const int8_t *)data->data)[i];
        return true;
    case ITG_U16:
        *out = ((const uint16_t *)data->data)[i];
        return true;
    case ITG_S16:
        *out = ((const int16_t *)data->data)[i];
        return true;
    case ITG_S32:
        *out = ((const int32_t *)data->data)[i];
        return true;
    case ITG_S64:
        *out = ((const int64_t *)data->data)[i];
        return true;
    case ITG_F32:
        real = (double)((const float *)data->data)[i];
        break;
    case ITG_F64:
        real = ((const double *)data->data)[i];
        break;
    default:
        return false;
    }
    if (!(real >= -0x1p53 && real <= 0x1p53)) return false;
    *out = (int64_t)real;
    return (double)*out == real;
}

itg_status itg_dataset_labels(const itg_dataset *data, int64_t **out, int64_t *count,
                              itg_error *err)
{
    char text[128];
    int64_t n = data->shape.dims[0];
    if (data->shape.rank != 1 && !(data->shape.rank == 2 && data->shape.dims[1] == 1))
        return itg_fail(err, ITG_BAD_FILE, "%s: shape %s; expected labels [N] or [N,1]", data->path,
                        itg_shape_text(&data->shape, text, sizeof text));
    int64_t *labels = malloc((size_t)n * sizeof *labels);
    if (!labels)
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for %" PRId64 " labels", data->path, n);
    for (int64_t i = 0; i < n; i++) {
        if (integer_at(data, i, &labels[i])) continue;
        free(labels);
        return itg_fail(err, ITG_BAD_FILE, "%s: label %" PRId64 " is not an integer", data->path,
                        i);
    }
    *out = labels;
    *count = n;
    return ITG_OK;
}
