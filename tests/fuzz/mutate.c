/* Mutations in the manner of libFuzzer's, from a seeded generator: the same on every machine. */
#include "fuzz.h"
#include <string.h>

#define MOST_BYTES ((size_t)1 << 17)

static size_t below(itg_rng *rng, size_t bound)
{
    return (size_t)itg_rng_below(rng, bound ? bound : 1);
}

/* Replaces [at, at + cut) by `put` bytes. */
static void splice(itg_strbuf *data, size_t at, size_t cut, const void *bytes, size_t put)
{
    itg_strbuf made = {0};
    if (data->length - cut + put > MOST_BYTES) return;
    itg_strbuf_bytes(&made, data->text, at);
    itg_strbuf_bytes(&made, bytes, put);
    itg_strbuf_bytes(&made, data->text + at + cut, data->length - at - cut);
    fuzz_require(itg_strbuf_ok(&made), "memory");
    itg_strbuf_deinit(data);
    *data = made;
}

static void change_byte(itg_rng *rng, itg_strbuf *data)
{
    static const unsigned char telling[] = {0,   1,   0x7F, 0x80, 0xFF, '"', '{',
                                            '[', ',', '-',  '9',  '.',  'e', ' '};
    size_t at = below(rng, data->length);
    unsigned char byte = (unsigned char)data->text[at];
    switch (below(rng, 3)) {
    case 0:
        byte = (unsigned char)(byte ^ 1u << below(rng, 8));
        break;
    case 1:
        byte = telling[below(rng, sizeof telling)];
        break;
    default:
        byte = (unsigned char)(byte + 1 - 2 * below(rng, 2));
    }
    memcpy(data->text + at, &byte, 1);
}

/* A number of 2, 4 or 8 bytes, little- or big-endian. */
static void change_word(itg_rng *rng, itg_strbuf *data)
{
    static const uint64_t telling[] = {0,
                                       1,
                                       2,
                                       0x7F,
                                       0x80,
                                       0xFF,
                                       0x7FFF,
                                       0x8000,
                                       0xFFFF,
                                       0x7FFFFFFF,
                                       0x80000000,
                                       0xFFFFFFFF,
                                       0x7FFFFFFFFFFFFFFF,
                                       0x8000000000000000,
                                       UINT64_MAX,
                                       0x7FC00000,
                                       0x7F800000,
                                       0x3F800000,
                                       1000000007};
    size_t bytes = (size_t)2 << below(rng, 3);
    if (data->length < bytes) return;
    size_t at = below(rng, data->length - bytes + 1);
    uint64_t value = telling[below(rng, sizeof telling / sizeof *telling)];
    bool big = below(rng, 2);
    for (size_t i = 0; i < bytes; i++)
        data->text[at + i] = (char)(value >> 8 * (big ? bytes - 1 - i : i));
}

/* A run of digits in text becomes another number, or one of its digits another one. */
static void change_number(itg_rng *rng, itg_strbuf *data)
{
    static const char *const telling[] = {"0",
                                          "-1",
                                          "1",
                                          "2",
                                          "3",
                                          "8",
                                          "16",
                                          "32",
                                          "33",
                                          "64",
                                          "127",
                                          "1e9",
                                          "1e300",
                                          "-1e308",
                                          "2147483648",
                                          "9007199254740993",
                                          "18446744073709551616",
                                          "0.5",
                                          "1e-320",
                                          "0x1p-1074",
                                          "0x1.fffffffffffffp+1023",
                                          "inf",
                                          "nan",
                                          "",
                                          "[]",
                                          "{}",
                                          "null",
                                          "true"};
    size_t at = below(rng, data->length), end;
    while (at < data->length && !(data->text[at] >= '0' && data->text[at] <= '9'))
        at++;
    for (end = at; end < data->length && data->text[end] >= '0' && data->text[end] <= '9';)
        end++;
    if (at == data->length) return;
    if (below(rng, 2)) {
        data->text[at + below(rng, end - at)] = (char)('0' + below(rng, 10));
        return;
    }
    const char *put = telling[below(rng, sizeof telling / sizeof *telling)];
    splice(data, at, end - at, put, strlen(put));
}

static void change_run(itg_rng *rng, itg_strbuf *data, const itg_strbuf *other)
{
    size_t at = below(rng, data->length), most = below(rng, 4) ? 16 : data->length,
           count = below(rng, most) + 1;
    if (count > data->length - at) count = data->length - at;
    switch (below(rng, 4)) {
    case 0: /* deleted */
        splice(data, at, count, "", 0);
        break;
    case 1: { /* repeated */
        char copy[256];
        if (count > sizeof copy) count = sizeof copy;
        memcpy(copy, data->text + at, count);
        splice(data, at, 0, copy, count);
        break;
    }
    case 2: /* cut off */
        splice(data, at, data->length - at, "", 0);
        break;
    default: { /* from the other one */
        size_t from = below(rng, other->length);
        if (count > other->length - from) count = other->length - from;
        if (other->length > 0)
            splice(data, at, below(rng, 2) && at + count <= data->length ? count : 0,
                   other->text + from, count);
    }
    }
}

void fuzz_mutate(itg_rng *rng, itg_strbuf *data, const itg_strbuf *other)
{
    size_t times =
        below(rng, 3) ? 1 : 1 + below(rng, 8); /* few changes: the reader shall get far */
    for (size_t i = 0; i < times && data->length > 0; i++) {
        switch (below(rng, 8)) {
        case 0:
            change_word(rng, data);
            break;
        case 1:
            change_run(rng, data, other);
            break;
        case 2:
        case 3:
            change_number(rng, data);
            break;
        default:
            change_byte(rng, data);
        }
    }
}
