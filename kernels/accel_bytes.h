/* AVX-512 code that turns sixteen 32-bit sums into byte codes before the clamp. accel_fuse.c
 * explains why the fused constants give the codes that the stages define. Files include it to
 * compile their own loops; AVX512_MORE names further instruction sets. */
#ifndef ITG_ACCEL_BYTES_H
#define ITG_ACCEL_BYTES_H
#include "kernels/accel_parts.h"
#include "kernels/clones.h"
#include "kernels/rounding.h"
#include <immintrin.h>

#if !defined(AVX512_MORE)
#define AVX512_MORE
#endif
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq" AVX512_MORE)))
#define AVX512_INLINE AVX512 static inline __attribute__((always_inline))

enum { LANES = 16 };

/* Exchanges part j of v[i] and part i of v[j], 128 bits each. Its own inverse. */
AVX512_INLINE void swap_parts(__m512i v[4])
{
    const __m512i a = _mm512_shuffle_i32x4(v[0], v[1], 0x44);
    const __m512i b = _mm512_shuffle_i32x4(v[0], v[1], 0xee);
    const __m512i c = _mm512_shuffle_i32x4(v[2], v[3], 0x44);
    const __m512i d = _mm512_shuffle_i32x4(v[2], v[3], 0xee);
    v[0] = _mm512_shuffle_i32x4(a, c, 0x88);
    v[1] = _mm512_shuffle_i32x4(a, c, 0xdd);
    v[2] = _mm512_shuffle_i32x4(b, d, 0x88);
    v[3] = _mm512_shuffle_i32x4(b, d, 0xdd);
}

/* Constants for sixteen channels. */
typedef struct channels {
    __m512i bias, multiplier, multiplier_odd, addend_even, addend_odd;
    __m512i product_even, product_odd, last; /* shifts */
    __m512i rest[2]; /* ITG_ROUND_REST of the last shift: of 0 and more, of less */
    __m512i ratio;   /* floats */
} channels;

/* What all channels share. */
typedef struct clamps {
    __m512i low, high; /* 8 bits each */
    __m512i zero;      /* 16 bits each */
    bool is_signed;
} clamps;

/* How sums become codes. Loops specialized for one form pass it as a constant. whole: codes reach
 * from end to end of their type, so that packing clamps them; zero: RATIO adds a zero point. */
typedef struct form {
    bool ratio, doubling, last, away, whole, zero;
} form;

AVX512_INLINE __m512i load32(const int32_t *v, int64_t channel)
{
    return v ? _mm512_loadu_si512(v + channel) : _mm512_setzero_si512();
}

AVX512_INLINE void set_rest(channels *c, itg_rounding rounding)
{
    typedef int32_t lanes __attribute__((vector_size(64)));
    const lanes none = {0},
                keep = (lanes)_mm512_movm_epi32(_mm512_test_epi32_mask(c->last, c->last));
    c->rest[0] = (__m512i)(ITG_ROUND_REST(rounding, none, keep, none, none));
    c->rest[1] = (__m512i)(ITG_ROUND_REST(rounding, none, keep, none, ~none));
}

/* Replaces a shift by 31 by taking the high half. With unsigned u = v + 2^31 and 2m, modulo 2^64, 2
 * (v m + addend) = u 2m + 2 addend - 2^32 m. The rounding term of negative values is added to all
 * values; values that are not negative (highest bit of u) get the difference. */
AVX512_INLINE void double_channels(channels *c)
{
    const __m512i more = _mm512_sub_epi32(c->multiplier, c->rest[1]);
    const __m512i even = _mm512_slli_epi64(more, 32);
    const __m512i odd = _mm512_slli_epi64(_mm512_srli_epi64(more, 32), 32);
    c->rest[0] = _mm512_sub_epi32(c->rest[0], c->rest[1]);
    c->bias = _mm512_xor_si512(c->bias, _mm512_set1_epi32(INT32_MIN));
    c->addend_even = _mm512_sub_epi64(_mm512_slli_epi64(c->addend_even, 1), even);
    c->addend_odd = _mm512_sub_epi64(_mm512_slli_epi64(c->addend_odd, 1), odd);
    c->multiplier = _mm512_slli_epi32(c->multiplier, 1);
    c->multiplier_odd = _mm512_slli_epi32(c->multiplier_odd, 1);
}

AVX512_INLINE void load_channels(channels *c, const itg_lanes_args *a, int64_t column, form f)
{
    const itg_lanes *l = a->lanes;
    const int64_t channel = a->channel + column;
    const __m512i even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
    *c = (channels){.bias = _mm512_loadu_si512(a->bias32 + column)};
    if (f.ratio) {
        c->ratio = _mm512_loadu_si512(l->ratio + channel);
        return;
    }
    const __m512i a0 = _mm512_loadu_si512(l->addend + channel);
    const __m512i a1 = _mm512_loadu_si512(l->addend + channel + LANES / 2);
    const __m512i product = load32(l->shift[1], channel);
    c->multiplier = load32(l->multiplier, channel);
    c->multiplier_odd = _mm512_srli_epi64(c->multiplier, 32);
    c->addend_even = _mm512_permutex2var_epi64(a0, even, a1);
    c->addend_odd = _mm512_permutex2var_epi64(a0, odd, a1);
    c->product_even = _mm512_and_si512(product, _mm512_set1_epi64(UINT32_MAX));
    c->product_odd = _mm512_srli_epi64(product, 32);
    c->last = load32(l->shift[2], channel);
    set_rest(c, l->rounding[2]);
    if (f.doubling) double_channels(c);
}

AVX512_INLINE clamps clamps_of(const itg_lanes *l)
{
    return (clamps){_mm512_set1_epi8((int8_t)l->e.lo), _mm512_set1_epi8((int8_t)l->e.hi),
                    _mm512_set1_epi16((int16_t)l->e.zero_point), l->e.storage == ITG_S8};
}

/* (v * multiplier + addend) >> 31, with v as prepared by double_channels(). */
AVX512_INLINE __m512i doubled(const channels *c, __m512i v)
{
    const __m512i high =
        _mm512_set_epi32(31, 15, 29, 13, 27, 11, 25, 9, 23, 7, 21, 5, 19, 3, 17, 1);
    const __m512i even = _mm512_mul_epu32(v, c->multiplier);
    const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(v, 32), c->multiplier_odd);
    return _mm512_permutex2var_epi32(_mm512_add_epi64(even, c->addend_even), high,
                                     _mm512_add_epi64(odd, c->addend_odd));
}

/* (v * multiplier + addend) >> product */
AVX512_INLINE __m512i shifted(const channels *c, __m512i v)
{
    __m512i even = _mm512_mul_epi32(v, c->multiplier);
    __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(v, 32), c->multiplier_odd);
    even = _mm512_srav_epi64(_mm512_add_epi64(even, c->addend_even), c->product_even);
    odd = _mm512_srav_epi64(_mm512_add_epi64(odd, c->addend_odd), c->product_odd);
    return _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32));
}

/* Sixteen codes before the clamp, including the zero point unless RATIO. */
AVX512_INLINE __m512i codes(const channels *c, __m512i sum, form f)
{
    const __m512i v = _mm512_add_epi32(sum, c->bias);
    if (f.ratio)
        return _mm512_cvtps_epi32(
            _mm512_mul_ps(_mm512_cvtepi32_ps(v), _mm512_castsi512_ps(c->ratio)));
    __m512i q = f.doubling ? doubled(c, v) : shifted(c, v);
    if (!f.last) return q;
    const __mmask16 highest = _mm512_movepi32_mask(v);
    if (f.away && f.doubling)
        q = _mm512_mask_add_epi32(q, highest, q, c->rest[0]);
    else if (f.away)
        q = _mm512_add_epi32(q, _mm512_mask_mov_epi32(c->rest[0], highest, c->rest[1]));
    return _mm512_srav_epi32(q, c->last);
}

/* The bytes of four vectors of codes(). A part of 128 bits holds four codes of each: those that the
 * vectors have in that part. */
AVX512_INLINE __m512i bytes(const clamps *c, const __m512i v[4], form f)
{
    /* They saturate, as the clamp would. */
    __m512i low = _mm512_packs_epi32(v[0], v[1]), high = _mm512_packs_epi32(v[2], v[3]);
    if (f.ratio && f.zero) {
        low = _mm512_adds_epi16(low, c->zero);
        high = _mm512_adds_epi16(high, c->zero);
    }
    const __m512i q = c->is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
    if (f.whole) return q;
    if (c->is_signed) return _mm512_min_epi8(_mm512_max_epi8(q, c->low), c->high);
    return _mm512_min_epu8(_mm512_max_epu8(q, c->low), c->high);
}

static inline form form_of(const itg_lanes *l)
{
    const itg_epilogue *e = &l->e;
    return (form){l->kind == ITG_LANES_RATIO,
                  l->doubling,
                  l->shift[2] != NULL,
                  l->rounding[2] == ITG_ROUND_HALF_AWAY,
                  e->lo == itg_dtype_min(e->storage) && e->hi == itg_dtype_max(e->storage),
                  e->zero_point != 0};
}

/* The form of tflite_double. */
#define ITG_FORM_DOUBLING ((form){false, true, true, true, false, false})
#define ITG_FORM_RATIO ((form){true, false, false, false, false, true})
/* After a Relu, mostly. */
#define ITG_FORM_RATIO_WHOLE ((form){true, false, false, false, true, false})
static inline bool is_doubling(const form *f)
{
    return !f->ratio && f->doubling && f->last && f->away;
}
#endif
