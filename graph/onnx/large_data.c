/* Copies a file of protobuf's wire format (https://protobuf.dev/programming-guides/encoding/) field
 * by field: ModelProto.graph (7), GraphProto.initializer (5), TensorProto.raw_data (9). The lengths
 * of these messages are written again, in five bytes. */
#include "graph/onnx/large_data.h"
#include "graph/onnx/wire_scan.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 14, VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5, PADDED = 5, DEPTH = 3 };

typedef struct reader {
    int file;
    size_t least;
    itg_large_data *out;
    unsigned char chunk[CHUNK];
    size_t have, at; /* of the chunk */
    size_t position; /* in the file */
    size_t capacity; /* of out->rest */
    int32_t initializers;
    bool no_memory;
} reader;

/* The message at each depth, and the field of it that is entered. */
static const uint32_t entered[DEPTH] = {7, 5, 9};

/* ---- bytes ---- */

/* Reads up to so many bytes of the file; 0: at its end, or an error. */
static size_t read_some(reader *r, unsigned char *to, size_t bytes)
{
    ssize_t got;
    do
        got = read(r->file, to, bytes);
    while (got < 0 && errno == EINTR);
    if (got > 0) itg_sha256_update(&r->out->hash, to, (size_t)got);
    return got > 0 ? (size_t)got : 0;
}

static bool refill(reader *r)
{
    if (r->at < r->have) return true;
    r->have = read_some(r, r->chunk, CHUNK);
    r->at = 0;
    return r->have > 0;
}

/* Reads what the chunk has no room for directly to its place. */
static bool take(reader *r, unsigned char *to, size_t bytes)
{
    while (bytes > 0) {
        size_t part = r->have - r->at < bytes ? r->have - r->at : bytes;
        if (part == 0 && bytes >= CHUNK) {
            part = read_some(r, to, bytes - bytes % CHUNK);
            if (part == 0) return false;
        } else if (part == 0) {
            if (!refill(r)) return false;
            continue;
        } else {
            memcpy(to, r->chunk + r->at, part);
            r->at += part;
        }
        to += part;
        bytes -= part;
        r->position += part;
    }
    return true;
}

/* Makes room for more bytes of the rest; NULL without memory. */
static unsigned char *extend(reader *r, size_t bytes)
{
    itg_large_data *out = r->out;
    if (r->capacity - out->rest_bytes < bytes) {
        size_t capacity = r->capacity + r->capacity / 2 + bytes + CHUNK;
        unsigned char *grown = realloc(out->rest, capacity);
        r->no_memory |= !grown;
        if (!grown) return NULL;
        out->rest = grown;
        r->capacity = capacity;
    }
    unsigned char *to = out->rest + out->rest_bytes;
    out->rest_bytes += bytes;
    return to;
}

static bool copy(reader *r, size_t bytes)
{
    unsigned char *to = extend(r, bytes);
    return to && take(r, to, bytes);
}

/* ---- fields ---- */

static bool read_varint(reader *r, uint64_t *out)
{
    unsigned char byte = 0x80;
    *out = 0;
    for (unsigned shift = 0; byte & 0x80; shift += 7) {
        if (shift > 63 || !take(r, &byte, 1) || (shift == 63 && byte > 1)) return false;
        *out |= (uint64_t)(byte & 0x7F) << shift;
    }
    return true;
}

static bool write_varint(reader *r, uint64_t value)
{
    unsigned char bytes[10], count = 0, *to;
    do
        bytes[count++] = (unsigned char)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
    while (value >>= 7);
    if (!(to = extend(r, count))) return false;
    memcpy(to, bytes, count);
    return true;
}

/* Writes the length of what follows `start` into the five bytes before it. */
static void close_message(reader *r, size_t start)
{
    size_t length = r->out->rest_bytes - start;
    unsigned char *to = r->out->rest + start - PADDED;
    for (int i = 0; i < PADDED; i++, length >>= 7)
        to[i] = (unsigned char)((length & 0x7F) | (i + 1 < PADDED ? 0x80 : 0));
}

/* Takes raw_data out. Of two in one tensor the last one would count: that is left to others. */
static bool take_part(reader *r, size_t bytes)
{
    itg_large_data *out = r->out;
    const int32_t of = r->initializers - 1;
    if (out->count > 0 && out->parts[out->count - 1].initializer == of) return false;
    if ((out->count & (out->count - 1)) == 0) {
        itg_large_part *grown =
            realloc(out->parts, sizeof *grown * (size_t)(out->count ? 2 * out->count : 1));
        r->no_memory |= !grown;
        if (!grown) return false;
        out->parts = grown;
    }
    unsigned char *data = itg_arena_alloc(out->arena, bytes);
    r->no_memory |= !data;
    if (!data || !take(r, data, bytes)) return false;
    out->parts[out->count++] = (itg_large_part){of, data, bytes};
    return true;
}

static bool copy_fields(reader *r, int depth, size_t end);

static bool copy_message(reader *r, int depth, size_t bytes)
{
    const size_t end = r->position + bytes;
    if (!extend(r, PADDED)) return false;
    const size_t start = r->out->rest_bytes;
    r->initializers += depth == 2;
    if (!copy_fields(r, depth, end)) return false;
    close_message(r, start);
    return true;
}

/* Copies a field whose tag was read. */
static bool copy_field(reader *r, int depth, uint64_t tag, size_t end)
{
    uint64_t value = 0;
    const bool is_path = tag == ((uint64_t)entered[depth] << 3 | BYTES);
    switch (tag & 7) {
    case VARINT:
        return read_varint(r, &value) && write_varint(r, tag) && write_varint(r, value);
    case FIXED64:
        return write_varint(r, tag) && copy(r, 8);
    case FIXED32:
        return write_varint(r, tag) && copy(r, 4);
    case BYTES:
        if (!read_varint(r, &value) || r->position > end || value > end - r->position) return false;
        if (is_path && depth == DEPTH - 1 && value >= r->least) return take_part(r, (size_t)value);
        if (!write_varint(r, tag)) return false;
        if (is_path && depth < DEPTH - 1) return copy_message(r, depth + 1, (size_t)value);
        return write_varint(r, value) && copy(r, (size_t)value);
    default:
        return false;
    }
}

static bool copy_fields(reader *r, int depth, size_t end)
{
    uint64_t tag;
    while (r->position < end)
        if (!read_varint(r, &tag) || r->position > end || !copy_field(r, depth, tag, end) ||
            r->position > end)
            return false;
    return true;
}

/* ---- the file ---- */

static bool copy_file(reader *r, int64_t bytes)
{
    unsigned char more;
    r->out->file_bytes = (size_t)bytes;
    r->out->arena = itg_arena_create(0);
    r->no_memory = !r->out->arena;
    itg_sha256_init(&r->out->hash);
    return !r->no_memory && copy_fields(r, 0, (size_t)bytes) && r->out->count > 0 &&
           r->at == r->have && read_some(r, &more, 1) == 0;
}

itg_status itg_large_data_read(const char *path, size_t least, itg_large_data *out, bool *done,
                               itg_error *err)
{
    int64_t bytes = 0;
    reader r = {.least = least, .out = out};
    *done = false;
    if (itg_file_open(path, &r.file, &bytes, NULL) != ITG_OK) return ITG_OK;
    if (bytes >= (int64_t)least && (uint64_t)bytes <= ITG_WIRE_MAX_BYTES)
        *done = copy_file(&r, bytes);
    close(r.file);
    return r.no_memory ? itg_fail(err, ITG_NO_MEMORY, "%s: no memory to read it", path) : ITG_OK;
}

void itg_large_data_deinit(itg_large_data *large)
{
    free(large->rest);
    free(large->parts);
    itg_arena_destroy(large->arena);
    *large = (itg_large_data){.rest = NULL};
}

const itg_large_part *itg_large_data_of(const itg_large_data *large, size_t initializer)
{
    int32_t lo = 0, hi = large->count;
    while (lo < hi) {
        const int32_t middle = lo + (hi - lo) / 2;
        if ((size_t)large->parts[middle].initializer < initializer)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < large->count && (size_t)large->parts[lo].initializer == initializer
               ? &large->parts[lo]
               : NULL;
}
