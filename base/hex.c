/* Bytes as lower-case hexadecimal digits. */
#include <stdlib.h>
#include <string.h>
#include "base/base.h"

static void write_digits(const unsigned char *data, size_t bytes, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes; i++) {
        out[2 * i] = digits[data[i] >> 4];
        out[2 * i + 1] = digits[data[i] & 15];
    }
    out[2 * bytes] = '\0';
}

static int digit(unsigned char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_digits(const char *text, size_t bytes, unsigned char *out)
{
    for (size_t i = 0; i < bytes; i++) {
        int high = digit((unsigned char)text[2 * i]), low = digit((unsigned char)text[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

char *itg_hex_text(const void *data, size_t bytes)
{
    char *text = bytes < SIZE_MAX / 2 ? malloc(2 * bytes + 1) : NULL;
    if (text) write_digits(data, bytes, text);
    return text;
}

unsigned char *itg_hex_bytes(const char *text, size_t *bytes)
{
    size_t length = strlen(text);
    unsigned char *out = length % 2 == 0 ? malloc(length / 2 + 1) : NULL;
    if (out && !read_digits(text, length / 2, out)) {
        free(out);
        return NULL;
    }
    *bytes = length / 2;
    return out;
}

const char *itg_sha256_hex(const unsigned char digest[32], char out[65])
{
    write_digits(digest, 32, out);
    return out;
}

bool itg_sha256_parse(const char *text, unsigned char out[32])
{
    if (text && strlen(text) == 64 && read_digits(text, 32, out)) return true;
    memset(out, 0, 32);
    return false;
}
