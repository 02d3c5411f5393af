/* Files of samples, read in order, in parts. The content tells the format (of .csv the name). */
#include "sim/image.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

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
        gzerror(handle, &code); /* a truncated stream delivers all it has and then 0 bytes */
    return code == Z_OK ? got : -1;
}

static void close_plain(void *handle)
{
    close(*(int *)handle);
}

static void close_gzip(void *handle)
{
    gzclose_r(handle);
}

/* ---- opening ---- */
static itg_status open_gzip(int fd, itg_reader *reader, itg_error *err)
{
    gzFile file = gzdopen(fd, "rb");
    if (!file) {
        close(fd);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory to inflate", reader->name);
    }
    reader->handle = file;
    reader->read = read_gzip;
    reader->close = close_gzip;
    reader->max_size =
        reader->size > INT64_MAX / ITG_DEFLATE_RATIO ? INT64_MAX : reader->size * ITG_DEFLATE_RATIO;
    reader->size = -1;
    reader->inflates = true;
    return ITG_OK;
}

/* Sets up the reader for the format of the file's first bytes. Takes ownership of fd. */
static itg_status open_reader(itg_data_stream *s, int fd, int64_t size, const char *entry,
                              itg_error *err)
{
    unsigned char magic[4] = {0};
    s->fd = fd;
    s->reader = (itg_reader){.name = s->file, .size = size, .max_size = size};
    ssize_t got = pread(fd, magic, sizeof magic, 0);
    if (got == 4 && memcmp(magic, "PK\3\4", 4) == 0)
        return itg_npz_open(fd, entry, size, &s->reader, err);
    if (got >= 2 && magic[0] == 0x1F && magic[1] == 0x8B && !entry)
        return open_gzip(fd, &s->reader, err);
    s->reader.handle = &s->fd;
    s->reader.read = read_plain;
    s->reader.close = close_plain;
    return entry ? itg_fail(err, ITG_BAD_FILE, "%s: no .npz archive to take '%s' from", s->file,
                            entry)
                 : ITG_OK;
}

static itg_status read_header(itg_data_stream *s, int64_t limit, itg_error *err)
{
    itg_reader *reader = &s->reader;
    const bool is_archive = reader->read != read_plain && reader->read != read_gzip;
    itg_array_header header = {0};
    itg_status status = itg_reader_peek(reader, err);
    if (status != ITG_OK) return status;
    if (itg_npy_is(reader))
        status = itg_npy_header(reader, &header, err);
    else if (is_archive)
        return itg_fail(err, ITG_BAD_FILE, "%s: the entry is no .npy array", reader->name);
    else if (itg_idx_is(reader))
        status = itg_idx_header(reader, &header, err);
    else
        return itg_fail(
            err, ITG_BAD_FILE,
            "%s: neither .npy, .npz nor IDX by its first bytes, nor .csv by its name, nor a "
            "folder of images",
            reader->name);
    if (status == ITG_OK && header.is_half) status = itg_half_begin(reader, &header, err);
    return status == ITG_OK ? itg_array_begin(reader, &header, limit, &s->array, err) : status;
}

typedef itg_status (*open_fn)(const char *entry, itg_reader *reader, itg_array_header *out,
                              itg_error *err);
/* What is no array in a file: columns of .csv, images of a folder. */
static itg_status open_made(itg_data_stream *s, open_fn open_array, const char *entry,
                            int64_t limit, itg_error *err)
{
    itg_array_header header = {0};
    s->reader = (itg_reader){.name = s->file};
    itg_status status = open_array(entry, &s->reader, &header, err);
    return status == ITG_OK ? itg_array_begin(&s->reader, &header, limit, &s->array, err) : status;
}

static itg_status open_binary(itg_data_stream *s, const char *entry, int64_t limit, itg_error *err)
{
    int fd = -1;
    int64_t size = 0;
    itg_status status = itg_file_open(s->file, &fd, &size, err);
    if (status == ITG_OK) status = open_reader(s, fd, size, entry, err);
    return status == ITG_OK ? read_header(s, limit, err) : status;
}

/* Opens a stream of one source. Takes ownership of the source's texts. */
static itg_status open_source(itg_data_source *source, int64_t limit, itg_data_stream **out,
                              itg_error *err)
{
    itg_data_stream *s = calloc(1, sizeof *s);
    if (!s) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory", source->path);
    s->path = source->path;
    s->file = source->file;
    s->input = source->input;
    source->path = source->file = source->input = NULL;
    const open_fn made = itg_images_is(s->file) ? itg_images_open
                         : itg_csv_is(s->file)  ? itg_csv_open
                                                : NULL;
    itg_status status = made ? open_made(s, made, source->entry, limit, err)
                             : open_binary(s, source->entry, limit, err);
    if (status != ITG_OK) {
        itg_data_stream_close(s);
        return status;
    }
    itg_dataset_hash_begin(&s->sha256, s->array.dtype, &s->array.shape);
    *out = s;
    return ITG_OK;
}

static itg_status check_counts(const itg_data_stream *first, itg_error *err)
{
    const itg_dataset wanted = itg_data_stream_about(first);
    itg_status status = ITG_OK;
    for (const itg_data_stream *s = first; s && status == ITG_OK; s = s->next_input) {
        const itg_dataset part = itg_data_stream_about(s);
        status = itg_check_sample_counts(&part, s->input, &wanted, err);
    }
    return status;
}

itg_status itg_data_stream_open(const char *text, int64_t limit, itg_data_stream **out,
                                itg_error *err)
{
    itg_data_stream *first = NULL, **end = &first;
    itg_data_sources sources = {0};
    if (limit < 0) return itg_fail(err, ITG_BAD_ARGUMENT, "%s: a negative number of samples", text);
    itg_status status = itg_data_sources_read(text, &sources, err);
    for (int32_t i = 0; i < sources.count && status == ITG_OK; i++) {
        status = open_source(&sources.items[i], limit, end, err);
        if (status == ITG_OK) end = &(*end)->next_input;
    }
    itg_data_sources_deinit(&sources);
    if (status == ITG_OK) status = check_counts(first, err);
    if (status == ITG_OK)
        *out = first;
    else
        itg_data_stream_close(first);
    return status;
}

void itg_data_stream_close(itg_data_stream *s)
{
    while (s) {
        itg_data_stream *next = s->next_input;
        if (s->reader.close) s->reader.close(s->reader.handle);
        free(s->path);
        free(s->file);
        free(s->input);
        free(s);
        s = next;
    }
}

int64_t itg_data_stream_samples(const itg_data_stream *s)
{
    return s->array.shape.dims[0];
}

/* ---- reading ---- */
itg_dataset itg_data_stream_about(const itg_data_stream *s)
{
    return (itg_dataset){
        .dtype = s->array.dtype, .shape = s->array.shape, .path = s->path, .input = s->input};
}

itg_status itg_data_stream_read(itg_data_stream *s, int64_t count, void *out, itg_error *err)
{
    const int64_t bytes = s->array.sample_bytes * count;
    if (count < 0 || count > itg_data_stream_samples(s) - s->next)
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s: no more samples", s->path);
    itg_status status = itg_array_samples(&s->reader, &s->array, count, out, err);
    if (status != ITG_OK) return status;
    itg_dataset_hash_add(&s->sha256, s->array.dtype, out,
                         bytes / (int64_t)itg_dtype_size(s->array.dtype));
    s->next += count;
    if (s->next < itg_data_stream_samples(s)) return ITG_OK;
    itg_sha256_final(&s->sha256, s->hash);
    return itg_array_end(&s->reader, &s->array, err);
}
