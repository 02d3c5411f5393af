/* Streams and the elements of arrays. Memory grows with the bytes that are read, never by the sizes
 * in a header. */
#include "sim/reader.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DRAIN_BYTES = 1 << 14 };

/* Reads until out is full or the stream ends. Returns the bytes read; -1: damaged. */
static int64_t read_some(itg_reader *reader, void *out, size_t bytes)
{
    size_t done = 0;
    while (done < bytes && reader->head_used < reader->head_count)
        ((unsigned char *)out)[done++] = reader->head[reader->head_used++];
    while (done < bytes) {
        size_t want = bytes - done < (1u << 30) ? bytes - done : (1u << 30);
        int64_t got = reader->read(reader->handle, (unsigned char *)out + done, want);
        if (got < 0) return -1;
        if (got == 0) break;
        done += (size_t)got;
    }
    return (int64_t)done;
}

itg_status itg_reader_peek(itg_reader *reader, itg_error *err)
{
    int64_t got = read_some(reader, reader->head, ITG_READER_HEAD);
    if (got < 0)
        return itg_fail(err, ITG_BAD_FILE, "%s: damaged or cut short: cannot be read",
                        reader->name);
    reader->head_count = (size_t)got;
    reader->head_used = 0;
    return ITG_OK;
}

itg_status itg_reader_exact(itg_reader *reader, void *out, size_t bytes, const char *what,
                            itg_error *err)
{
    int64_t got = read_some(reader, out, bytes);
    if (got < 0)
        return itg_fail(err, ITG_BAD_FILE, "%s: damaged within its %s", reader->name, what);
    if ((size_t)got < bytes)
        return itg_fail(err, ITG_BAD_FILE, "%s: ends within its %s: %" PRId64 " of %zu bytes",
                        reader->name, what, got, bytes);
    return ITG_OK;
}

static bool multiply(int64_t a, int64_t b, int64_t *out)
{
    if (a < 0 || b < 0 || (b > 0 && a > INT64_MAX / b)) return false;
    *out = a * b;
    return true;
}

/* Computes the bytes of one sample and of the whole array by the header. */
static itg_status declared_bytes(const itg_reader *reader, const itg_array_header *h,
                                 int64_t *sample, int64_t *total, itg_error *err)
{
    char text[128];
    itg_shape_text(&h->shape, text, sizeof text);
    if (h->shape.rank < 1)
        return itg_fail(err, ITG_BAD_FILE, "%s: a scalar; expected an array of samples",
                        reader->name);
    *sample = (int64_t)itg_dtype_size(h->dtype);
    for (int32_t i = 0; i < h->shape.rank; i++) {
        if (h->shape.dims[i] <= 0)
            return itg_fail(err, ITG_BAD_FILE, "%s: shape %s has no elements", reader->name, text);
        if (i > 0 && !multiply(*sample, h->shape.dims[i], sample))
            return itg_fail(err, ITG_BAD_FILE, "%s: shape %s is too large", reader->name, text);
    }
    if (!multiply(*sample, h->shape.dims[0], total) || *total > INT64_MAX - h->bytes)
        return itg_fail(err, ITG_BAD_FILE, "%s: shape %s is too large", reader->name, text);
    return ITG_OK;
}

static itg_status check_size(const itg_reader *reader, const itg_array_header *h, int64_t declared,
                             itg_error *err)
{
    char text[128];
    itg_shape_text(&h->shape, text, sizeof text);
    int64_t whole = declared + h->bytes;
    if (reader->size >= 0 && reader->size != whole)
        return itg_fail(err, ITG_BAD_FILE,
                        "%s: %" PRId64 " bytes, expected %" PRId64 " for shape %s of %s",
                        reader->name, reader->size, whole, text, itg_dtype_name(h->dtype));
    if (reader->max_size < whole)
        return itg_fail(err, ITG_BAD_FILE,
                        "%s: too short to hold the %" PRId64 " bytes of shape %s of %s",
                        reader->name, whole, text, itg_dtype_name(h->dtype));
    if (reader->inflates && whole > ITG_MAX_INFLATED)
        return itg_fail(err, ITG_LIMIT, "%s: inflates to %" PRId64 " bytes; the limit is %" PRId64,
                        reader->name, whole, ITG_MAX_INFLATED);
    return ITG_OK;
}

/* Reads exactly `bytes` bytes into new memory, which doubles while bytes come. */
static itg_status read_growing(itg_reader *reader, int64_t bytes, void **out, itg_error *err)
{
    int64_t capacity = 0, used = 0;
    unsigned char *data = NULL;
    while (used < bytes) {
        capacity = capacity ? capacity * 2 : (int64_t)1 << 20;
        if (capacity > bytes) capacity = bytes;
        unsigned char *grown = realloc(data, (size_t)capacity);
        if (!grown) {
            free(data);
            return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for %" PRId64 " bytes", reader->name,
                            capacity);
        }
        data = grown;
        itg_status status =
            itg_reader_exact(reader, data + used, (size_t)(capacity - used), "elements", err);
        if (status != ITG_OK) {
            free(data);
            return status;
        }
        used = capacity;
    }
    *out = data;
    return ITG_OK;
}

/* Reads a compressed stream to its end, so that length and checksum are checked whatever the limit
 * is. */
static itg_status drain(itg_reader *reader, int64_t bytes, itg_error *err)
{
    unsigned char buffer[DRAIN_BYTES];
    while (bytes > 0) {
        size_t part = bytes < DRAIN_BYTES ? (size_t)bytes : DRAIN_BYTES;
        itg_status status = itg_reader_exact(reader, buffer, part, "elements", err);
        if (status != ITG_OK) return status;
        bytes -= (int64_t)part;
    }
    int64_t more = read_some(reader, buffer, 1);
    if (more < 0)
        return itg_fail(err, ITG_BAD_FILE, "%s: damaged or cut short at its end", reader->name);
    if (more > 0)
        return itg_fail(err, ITG_BAD_FILE, "%s: bytes follow after the last element", reader->name);
    return ITG_OK;
}

static bool host_is_big_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

static void reverse_bytes(unsigned char *data, int64_t count, size_t size)
{
    for (int64_t i = 0; i < count; i++, data += size) {
        for (size_t a = 0, b = size - 1; a < b; a++, b--) {
            unsigned char t = data[a];
            data[a] = data[b];
            data[b] = t;
        }
    }
}

itg_status itg_array_begin(const itg_reader *reader, const itg_array_header *header, int64_t limit,
                           itg_array *out, itg_error *err)
{
    itg_array a = {.dtype = header->dtype,
                   .shape = header->shape,
                   .is_swapped = header->big_endian != host_is_big_endian()};
    int64_t elements = 0;
    itg_status status = declared_bytes(reader, header, &a.sample_bytes, &a.declared_bytes, err);
    if (status == ITG_OK) status = check_size(reader, header, a.declared_bytes, err);
    if (status != ITG_OK) return status;
    if (limit > 0 && limit < a.shape.dims[0]) a.shape.dims[0] = limit;
    if (!itg_shape_elements(&a.shape, &elements))
        return itg_fail(err, ITG_LIMIT, "%s: more than %" PRId64 " elements; take fewer samples",
                        reader->name, ITG_MAX_ELEMENTS);
    a.kept_bytes = a.sample_bytes * a.shape.dims[0];
    *out = a;
    return ITG_OK;
}

static void to_host_order(const itg_array *array, void *data, int64_t bytes)
{
    const size_t size = itg_dtype_size(array->dtype);
    if (array->is_swapped) reverse_bytes(data, bytes / (int64_t)size, size);
}

itg_status itg_array_samples(itg_reader *reader, const itg_array *array, int64_t count, void *out,
                             itg_error *err)
{
    const int64_t bytes = count * array->sample_bytes;
    itg_status status = itg_reader_exact(reader, out, (size_t)bytes, "elements", err);
    if (status == ITG_OK) to_host_order(array, out, bytes);
    return status;
}

itg_status itg_array_all(itg_reader *reader, const itg_array *array, void **out, itg_error *err)
{
    void *data = NULL;
    itg_status status = read_growing(reader, array->kept_bytes, &data, err);
    if (status != ITG_OK) return status;
    to_host_order(array, data, array->kept_bytes);
    *out = data;
    return ITG_OK;
}

itg_status itg_array_end(itg_reader *reader, const itg_array *array, itg_error *err)
{
    if (!reader->inflates && array->kept_bytes < array->declared_bytes) return ITG_OK;
    return drain(reader, array->declared_bytes - array->kept_bytes, err);
}
