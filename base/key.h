/* Keys of contents: 128-bit hashes. Things with equal keys count as equal, so a key covers
 * everything that a thing depends on. MurmurHash3 x64 128 (Appleby, 2011; public domain) over
 * 64-bit words. It is fast and does not resist deliberate collisions; keys are never stored and
 * live only as long as the process. */
#ifndef ITG_KEY_H
#define ITG_KEY_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct itg_key {
    uint64_t word[2];
} itg_key;

static inline int itg_key_equal(const itg_key *a, const itg_key *b)
{
    return a->word[0] == b->word[0] && a->word[1] == b->word[1];
}

typedef struct itg_key_state {
    uint64_t h[2], pending, words;
} itg_key_state;

static inline uint64_t itg_key_rotated(uint64_t v, int n)
{
    return v << n | v >> (64 - n);
}

static inline void itg_key_mix(itg_key_state *s, uint64_t a, uint64_t b)
{
    const uint64_t c1 = 0x87c37b91114253d5u, c2 = 0x4cf5ad432745937fu;
    s->h[0] ^= itg_key_rotated(a * c1, 31) * c2;
    s->h[0] = (itg_key_rotated(s->h[0], 27) + s->h[1]) * 5 + 0x52dce729u;
    s->h[1] ^= itg_key_rotated(b * c2, 33) * c1;
    s->h[1] = (itg_key_rotated(s->h[1], 31) + s->h[0]) * 5 + 0x38495ab5u;
}

/* tag: the kind of content, so that equal words of different kinds give different keys. */
static inline void itg_key_begin(itg_key_state *s, uint64_t tag)
{
    *s = (itg_key_state){{tag, tag}, 0, 0};
}

static inline void itg_key_word(itg_key_state *s, uint64_t word)
{
    if (s->words++ % 2 == 0)
        s->pending = word;
    else
        itg_key_mix(s, s->pending, word);
}

static inline void itg_key_int(itg_key_state *s, int64_t value)
{
    itg_key_word(s, (uint64_t)value);
}

static inline void itg_key_float(itg_key_state *s, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    itg_key_word(s, bits);
}

static inline void itg_key_key(itg_key_state *s, const itg_key *key)
{
    itg_key_word(s, key->word[0]);
    itg_key_word(s, key->word[1]);
}

/* Adds their number, then the bytes in host order. */
static inline void itg_key_bytes(itg_key_state *s, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    itg_key_word(s, bytes);
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        itg_key_word(s, word);
    }
    uint64_t rest = 0;
    memcpy(&rest, at, bytes);
    itg_key_word(s, rest);
}

static inline uint64_t itg_key_final(uint64_t h)
{
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

static inline itg_key itg_key_end(itg_key_state *s)
{
    if (s->words % 2 == 1) itg_key_mix(s, s->pending, 0);
    uint64_t a = s->h[0] ^ s->words, b = s->h[1] ^ s->words;
    a += b;
    b += a;
    a = itg_key_final(a);
    b = itg_key_final(b);
    a += b;
    b += a;
    return (itg_key){{a, b}};
}
#endif
