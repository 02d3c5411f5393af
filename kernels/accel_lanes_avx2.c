/* Turns 32-bit sums into byte codes with AVX2, for the forms that targets use: ratios and doubling
 * multiplications. Eight channels are a vector, and 32 codes are made at once: 32 columns of a row
 * or 16 columns of two rows. accel_fuse.c explains why the fused constants give the codes that the
 * stages define. The portable lanes do everything else. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
#include "kernels/rounding.h"
#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE AVX2 static inline __attribute__((always_inline))

enum { LANES = 8, VECTORS = 4, WIDTH = LANES * VECTORS };

/* Constants of eight channels. Doubled: with unsigned u = v + 2^31 and 2m, modulo 2^64, 2 (v m +
 * addend) = u 2m + 2 addend - 2^32 m, whose high half is the quotient by 2^31. The rounding term of
 * negative values is added to all values; values that are not negative (highest bit of u) get the
 * difference. */
typedef int32_t lanes __attribute__((vector_size(32)));

typedef struct channels {
    __m256i bias, multiplier, multiplier_odd, addend_even, addend_odd, last, rest;
    __m256 ratio;
} channels;

typedef struct clamps {
    __m256i low, high, zero; /* 16 bits each */
    bool is_signed;
} clamps;

AVX2_INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

AVX2_INLINE void load_doubled(channels *c, const itg_lanes *l, int64_t channel)
{
    const __m256i a0 = load(l->addend + channel), a1 = load(l->addend + channel + LANES / 2);
    const __m256i even = _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(a0, a1), 0xd8);
    const __m256i odd = _mm256_permute4x64_epi64(_mm256_unpackhi_epi64(a0, a1), 0xd8);
    const __m256i zero = _mm256_setzero_si256(), m = load(l->multiplier + channel);
    c->last = l->shift[2] ? load(l->shift[2] + channel) : zero;
    const lanes none = {0}, keep = (lanes)_mm256_cmpgt_epi32(c->last, zero);
    const lanes below = ITG_ROUND_REST(l->rounding[2], none, keep, none, ~none);
    const lanes above = ITG_ROUND_REST(l->rounding[2], none, keep, none, none);
    const __m256i more = (__m256i)((lanes)m - below);
    c->rest = (__m256i)(above - below);
    c->bias = _mm256_xor_si256(c->bias, _mm256_set1_epi32(INT32_MIN));
    c->addend_even = _mm256_sub_epi64(_mm256_slli_epi64(even, 1), _mm256_slli_epi64(more, 32));
    c->addend_odd = _mm256_sub_epi64(_mm256_slli_epi64(odd, 1),
                                     _mm256_slli_epi64(_mm256_srli_epi64(more, 32), 32));
    c->multiplier = _mm256_slli_epi32(m, 1);
    c->multiplier_odd = _mm256_srli_epi64(c->multiplier, 32);
}

AVX2_INLINE void load_channels(channels *c, const itg_lanes_args *a, int64_t column, bool ratio)
{
    const itg_lanes *l = a->lanes;
    c->bias = load(a->bias32 + column);
    if (ratio)
        c->ratio = _mm256_loadu_ps(l->ratio + a->channel + column);
    else
        load_doubled(c, l, a->channel + column);
}

AVX2_INLINE clamps clamps_of(const itg_lanes *l)
{
    return (clamps){_mm256_set1_epi16((int16_t)l->e.lo), _mm256_set1_epi16((int16_t)l->e.hi),
                    _mm256_set1_epi16((int16_t)l->e.zero_point), l->e.storage == ITG_S8};
}

/* Eight codes before the clamp, including the zero point unless `ratio`. */
AVX2_INLINE __m256i codes(const channels *c, const int32_t *acc, bool ratio)
{
    const __m256i u = _mm256_add_epi32(load(acc), c->bias);
    if (ratio) return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(u), c->ratio));
    const __m256i even = _mm256_mul_epu32(u, c->multiplier);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(u, 32), c->multiplier_odd);
    const __m256i low = _mm256_srli_epi64(_mm256_add_epi64(even, c->addend_even), 32);
    __m256i q = _mm256_blend_epi32(low, _mm256_add_epi64(odd, c->addend_odd), 0xaa);
    q = _mm256_add_epi32(q, _mm256_and_si256(_mm256_srai_epi32(u, 31), c->rest));
    return _mm256_srav_epi32(q, c->last);
}

AVX2_INLINE __m256i sixteen_bits(const clamps *c, __m256i v0, __m256i v1, bool ratio)
{
    __m256i v = _mm256_packs_epi32(v0, v1); /* saturates, as the clamp would */
    if (ratio) v = _mm256_adds_epi16(v, c->zero);
    return _mm256_min_epi16(_mm256_max_epi16(v, c->low), c->high);
}

/* Packs four vectors of codes in order. */
AVX2_INLINE __m256i bytes(const clamps *c, const __m256i v[VECTORS], bool ratio)
{
    const __m256i low = sixteen_bits(c, v[0], v[1], ratio);
    const __m256i high = sixteen_bits(c, v[2], v[3], ratio);
    const __m256i q = c->is_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
    return _mm256_permutevar8x32_epi32(q, _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0));
}

/* Handles 17 to 32 columns. */
AVX2_INLINE void columns32(const itg_lanes_args *a, int64_t column, bool ratio)
{
    const int64_t left = a->columns - column < WIDTH ? a->columns - column : WIDTH;
    const clamps limits = clamps_of(a->lanes);
    channels c[VECTORS];
    for (int i = 0; i < VECTORS; i++)
        load_channels(&c[i], a, column + i * LANES, ratio);
    for (int64_t r = 0; r < a->rows; r++) {
        const int32_t *acc = a->acc32 + r * a->acc_stride + column;
        unsigned char *out = a->out + r * a->out_stride + column, spare[WIDTH];
        __m256i v[VECTORS];
        for (int i = 0; i < VECTORS; i++)
            v[i] = codes(&c[i], acc + i * LANES, ratio);
        _mm256_storeu_si256((__m256i *)(void *)(left == WIDTH ? out : spare),
                            bytes(&limits, v, ratio));
        if (left < WIDTH) memcpy(out, spare, (size_t)left);
    }
}

/* Handles up to 16 columns, two rows at once; the last row may be computed twice. */
AVX2_INLINE void columns16(const itg_lanes_args *a, int64_t column, bool ratio)
{
    enum { HALF = WIDTH / 2 };
    const int64_t left = a->columns - column;
    const clamps limits = clamps_of(a->lanes);
    channels c[2];
    for (int i = 0; i < 2; i++)
        load_channels(&c[i], a, column + i * LANES, ratio);
    for (int64_t r = 0; r < a->rows; r += 2) {
        const int64_t second = r + 1 < a->rows ? r + 1 : r;
        const int32_t *acc = a->acc32 + column;
        unsigned char *out = a->out + column, spare[WIDTH];
        const __m256i v[VECTORS] = {codes(&c[0], acc + r * a->acc_stride, ratio),
                                    codes(&c[1], acc + r * a->acc_stride + LANES, ratio),
                                    codes(&c[0], acc + second * a->acc_stride, ratio),
                                    codes(&c[1], acc + second * a->acc_stride + LANES, ratio)};
        const __m256i q = bytes(&limits, v, ratio);
        if (left == HALF) {
            _mm_storeu_si128((__m128i *)(void *)(out + r * a->out_stride),
                             _mm256_castsi256_si128(q));
            _mm_storeu_si128((__m128i *)(void *)(out + second * a->out_stride),
                             _mm256_extracti128_si256(q, 1));
            continue;
        }
        _mm256_storeu_si256((__m256i *)(void *)spare, q);
        memcpy(out + r * a->out_stride, spare, (size_t)left);
        memcpy(out + second * a->out_stride, spare + HALF, (size_t)left);
    }
}

AVX2 static void ratios(const itg_lanes_args *a, int64_t column)
{
    if (a->columns - column > WIDTH / 2)
        columns32(a, column, true);
    else
        columns16(a, column, true);
}

AVX2 static void doublings(const itg_lanes_args *a, int64_t column)
{
    if (a->columns - column > WIDTH / 2)
        columns32(a, column, false);
    else
        columns16(a, column, false);
}

void itg_lanes_avx2(const itg_lanes_args *a)
{
    const itg_lanes *l = a->lanes;
    const bool ratio = l->kind == ITG_LANES_RATIO && l->tame;
    const bool stages =
        l->kind == ITG_LANES_STAGES && l->addend && l->doubling && !l->left && !l->shift[0];
    if (!a->acc32 || a->fit != 0 || !l->bytes || (!ratio && !stages)) {
        itg_lanes_portable(a);
        return;
    }
    for (int64_t column = 0; column < a->columns; column += WIDTH)
        (ratio ? ratios : doublings)(a, column);
}
#endif
