/* xoshiro256** 1.0 and splitmix64, after Blackman and Vigna, "Scrambled linear pseudorandom number
 * generators" (2018). */
#include "base/base.h"
#include <assert.h>

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void itg_rng_init(itg_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng->state[i] = splitmix64(&seed);
}

uint64_t itg_rng_next(itg_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t itg_rng_below(itg_rng *rng, uint64_t bound)
{
    assert(bound > 0);
    /* Draws again if x is one of the 2^64 mod bound lowest values; the others divide evenly. */
    uint64_t rejected = (UINT64_MAX - bound + 1) % bound;
    uint64_t x = itg_rng_next(rng);
    while (x < rejected)
        x = itg_rng_next(rng);
    return x % bound;
}

double itg_rng_unit(itg_rng *rng)
{
    return (double)(itg_rng_next(rng) >> 11) * 0x1p-53;
}

void itg_rng_shuffle(itg_rng *rng, uint32_t *items, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)itg_rng_below(rng, i);
        uint32_t kept = items[i - 1];
        items[i - 1] = items[j];
        items[j] = kept;
    }
}
