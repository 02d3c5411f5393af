#include "base/pack.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void itg_pack(itg_strbuf *out, const void *items, size_t count, size_t size)
{
    unsigned char buffer[1024];
    const size_t most = sizeof buffer / size;
    for (size_t i = 0; i < count; i += most) {
        size_t part = count - i < most ? count - i : most;
        itg_copy_little_endian(buffer, (const unsigned char *)items + i * size, part, size);
        itg_strbuf_bytes(out, buffer, part * size);
    }
}

void itg_pack_int(itg_strbuf *out, int64_t value)
{
    itg_pack(out, &value, 1, sizeof value);
}

void itg_pack_text(itg_strbuf *out, const char *text)
{
    size_t bytes = strlen(text);
    itg_pack_int(out, (int64_t)bytes);
    itg_strbuf_bytes(out, text, bytes);
}

/* ---- reading ---- */

void itg_unpack_refuse(itg_unpacker *u, const char *format, ...)
{
    char message[256];
    va_list arguments;
    if (u->status != ITG_OK) return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    u->status = itg_fail(u->err, ITG_BAD_FILE, "%s: %s", u->source, message);
}

void itg_unpack_no_memory(itg_unpacker *u)
{
    if (u->status == ITG_OK)
        u->status = itg_fail(u->err, ITG_NO_MEMORY, "%s: no memory to read it", u->source);
}

bool itg_unpack(itg_unpacker *u, void *out, size_t count, size_t size)
{
    size_t bytes = 0;
    if (u->status != ITG_OK) return false;
    if (!itg_mul_size(count, size, &bytes) || bytes > u->left) {
        itg_unpack_refuse(u, "ends too early: %zu bytes are left, expected %zu numbers of %zu",
                          u->left, count, size);
        return false;
    }
    itg_copy_little_endian(out, u->at, count, size);
    u->at += bytes;
    u->left -= bytes;
    return true;
}

int64_t itg_unpack_int(itg_unpacker *u, int64_t min, int64_t max, const char *what)
{
    int64_t value = 0;
    if (!itg_unpack(u, &value, 1, sizeof value)) return 0;
    if (value >= min && value <= max) return value;
    itg_unpack_refuse(u, "%s is %lld, expected %lld to %lld", what, (long long)value,
                      (long long)min, (long long)max);
    return 0;
}

void *itg_unpack_array(itg_unpacker *u, int64_t count, size_t size)
{
    if (u->status != ITG_OK) return NULL;
    if (count < 0 || (uint64_t)count > u->left / size) {
        itg_unpack_refuse(u, "ends too early: %zu bytes are left, expected %lld numbers of %zu",
                          u->left, (long long)count, size);
        return NULL;
    }
    void *items = malloc((size_t)count * size + 1);
    if (!items)
        itg_unpack_no_memory(u);
    else
        (void)itg_unpack(u, items, (size_t)count, size);
    return items;
}

char *itg_unpack_text(itg_unpacker *u, int64_t most)
{
    int64_t bytes = itg_unpack_int(u, 0, most, "the length of a text");
    char *text = itg_unpack_array(u, bytes, 1);
    if (!text) return NULL;
    text[bytes] = '\0';
    if (strlen(text) == (size_t)bytes) return text;
    itg_unpack_refuse(u, "a text has a byte 0");
    free(text);
    return NULL;
}

bool itg_unpack_finite(itg_unpacker *u, double *out, size_t count, const char *what)
{
    if (!itg_unpack(u, out, count, sizeof *out)) return false;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(out[i])) itg_unpack_refuse(u, "%s is not finite", what);
    return u->status == ITG_OK;
}

itg_status itg_unpack_end(itg_unpacker *u)
{
    if (u->left > 0) itg_unpack_refuse(u, "%zu bytes follow its end", u->left);
    return u->status;
}
