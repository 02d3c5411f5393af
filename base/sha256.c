/* SHA-256, FIPS 180-4. */
#include "base/sha256.h"
#include "base/base.h"
#include <string.h>

const uint32_t itg_sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate_right(uint32_t x, int k)
{
    return (x >> k) | (x << (32 - k));
}

static uint32_t load_big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void expand(uint32_t w[64], const unsigned char *block)
{
    for (int i = 0; i < 16; i++)
        w[i] = load_big_endian(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        uint32_t s0 = rotate_right(a, 7) ^ rotate_right(a, 18) ^ (a >> 3);
        uint32_t s1 = rotate_right(b, 17) ^ rotate_right(b, 19) ^ (b >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

/* One round. Only d and h change; the caller rotates the names, so that no word is moved. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                           \
    do {                                                                                           \
        uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);              \
        uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);              \
        h += s1 + ((e & f) ^ (~e & g)) + itg_sha256_constants[i] + w[i];                           \
        d += h;                                                                                    \
        h += s0 + ((a & b) ^ (a & c) ^ (b & c));                                                   \
    } while (0)

static void compress_one(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5],
             g = state[6], h = state[7];
    expand(w, block);
    for (int i = 0; i < 64; i += 8) {
        ROUND(a, b, c, d, e, f, g, h, i);
        ROUND(h, a, b, c, d, e, f, g, i + 1);
        ROUND(g, h, a, b, c, d, e, f, i + 2);
        ROUND(f, g, h, a, b, c, d, e, i + 3);
        ROUND(e, f, g, h, a, b, c, d, i + 4);
        ROUND(d, e, f, g, h, a, b, c, i + 5);
        ROUND(c, d, e, f, g, h, a, b, i + 6);
        ROUND(b, c, d, e, f, g, h, a, i + 7);
    }
    const uint32_t v[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

void itg_sha256_compress(uint32_t state[8], const unsigned char *in, size_t blocks)
{
    for (; blocks > 0; blocks--, in += 64)
        compress_one(state, in);
}

static void compress(uint32_t state[8], const unsigned char *in, size_t blocks)
{
    if (!itg_sha256_compress_x86(state, in, blocks)) itg_sha256_compress(state, in, blocks);
}

void itg_sha256_init(itg_sha256 *hash)
{
    static const uint32_t initial[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };
    memset(hash, 0, sizeof *hash);
    memcpy(hash->state, initial, sizeof initial);
}

void itg_sha256_update(itg_sha256 *hash, const void *data, size_t bytes)
{
    const unsigned char *in = data;
    size_t held = (size_t)(hash->length % 64);
    hash->length += bytes;
    if (held > 0) {
        size_t take = bytes < 64 - held ? bytes : 64 - held;
        if (take > 0) memcpy(hash->block + held, in, take);
        if (held + take < 64) return;
        compress(hash->state, hash->block, 1);
        in += take;
        bytes -= take;
    }
    size_t whole = bytes / 64 * 64;
    if (whole > 0) compress(hash->state, in, whole / 64);
    if (bytes > whole) memcpy(hash->block, in + whole, bytes - whole);
}

void itg_sha256_final(itg_sha256 *hash, unsigned char out[32])
{
    unsigned char padding[72] = {0x80};
    size_t held = (size_t)(hash->length % 64);
    size_t zeros_end = held < 56 ? 56 - held : 120 - held;
    uint64_t bits = hash->length * 8;
    for (int i = 0; i < 8; i++)
        padding[zeros_end + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
    itg_sha256_update(hash, padding, zeros_end + 8);
    for (int i = 0; i < 32; i++)
        out[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void itg_sha256_of(const void *data, size_t bytes, unsigned char out[32])
{
    itg_sha256 hash;
    itg_sha256_init(&hash);
    itg_sha256_update(&hash, data, bytes);
    itg_sha256_final(&hash, out);
}
