/* Turns 32-bit sums into byte codes with AVX-512. Two vectors of sixteen are clamped and narrowed
 * at once: 32 columns of a row or 16 columns of two rows. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
#include "kernels/accel_bytes.h"

/* The codes of v0, then those of v1. */
AVX512_INLINE __m256i bytes(const clamps *c, __m512i v0, __m512i v1, form f)
{
    __m512i v = _mm512_packs_epi32(v0, v1); /* saturates, as the clamp would */
    if (f.ratio) v = _mm512_adds_epi16(v, c->zero);
    v = _mm512_min_epi16(_mm512_max_epi16(v, c->low), c->high);
    const __m256i order = _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0);
    return _mm256_permutevar8x32_epi32(_mm512_cvtepi16_epi8(v), order);
}

/* Handles 17 to 32 columns. */
AVX512_INLINE void columns32(const itg_lanes_args *a, int64_t column, form f)
{
    const int64_t rows = a->rows, step = a->out_stride, left = a->columns - column;
    const __mmask32 used = left >= 2 * LANES ? UINT32_MAX : ((__mmask32)1 << left) - 1;
    const clamps limits = clamps_of(a->lanes);
    channels c0 = {0}, c1 = {0};
    load_channels(&c0, a, column, f);
    load_channels(&c1, a, column + LANES, f);
    const int32_t *acc = a->acc32 + column;
    unsigned char *out = a->out + column;
    for (int64_t r = 0; r < rows; r++, acc += a->acc_stride, out += step) {
        const __m512i v0 = codes(&c0, _mm512_loadu_si512(acc), f);
        const __m512i v1 = codes(&c1, _mm512_loadu_si512(acc + LANES), f);
        const __m256i q = bytes(&limits, v0, v1, f);
        if (left >= 2 * LANES)
            _mm256_storeu_si256((__m256i *)(void *)out, q);
        else
            _mm256_mask_storeu_epi8(out, used, q);
    }
}

AVX512_INLINE void store16(unsigned char *out, __m128i q, __mmask16 used)
{
    if (used == UINT16_MAX)
        _mm_storeu_si128((__m128i *)(void *)out, q);
    else
        _mm_mask_storeu_epi8(out, used, q);
}

/* Handles up to 16 columns, two rows at once; the last row may be computed twice. */
AVX512_INLINE void columns16(const itg_lanes_args *a, int64_t column, form f)
{
    const int64_t rows = a->rows, stride = a->acc_stride, left = a->columns - column;
    const __mmask16 used = (__mmask16)(left >= LANES ? UINT16_MAX : (1U << left) - 1);
    const clamps limits = clamps_of(a->lanes);
    channels c = {0};
    load_channels(&c, a, column, f);
    for (int64_t r = 0; r < rows; r += 2) {
        const int64_t second = r + 1 < rows ? r + 1 : r;
        const int32_t *acc = a->acc32 + column;
        const __m512i v0 = codes(&c, _mm512_loadu_si512(acc + r * stride), f);
        const __m512i v1 = codes(&c, _mm512_loadu_si512(acc + second * stride), f);
        const __m256i q = bytes(&limits, v0, v1, f);
        unsigned char *out = a->out + column;
        store16(out + r * a->out_stride, _mm256_castsi256_si128(q), used);
        store16(out + second * a->out_stride, _mm256_extracti128_si256(q, 1), used);
    }
}

AVX512_INLINE void columns_of(const itg_lanes_args *a, int64_t column, form f)
{
    if (a->columns - column > LANES)
        columns32(a, column, f);
    else
        columns16(a, column, f);
}

AVX512 static void ratios(const itg_lanes_args *a, int64_t column)
{
    columns_of(a, column, ITG_FORM_RATIO);
}

AVX512 static void doublings(const itg_lanes_args *a, int64_t column)
{
    columns_of(a, column, ITG_FORM_DOUBLING);
}

AVX512 static void products(const itg_lanes_args *a, int64_t column)
{
    columns_of(a, column, form_of(a->lanes));
}

AVX512 bool itg_lanes_bytes_avx512(const itg_lanes_args *a)
{
    if (!a->acc32 || a->fit != 0 || !itg_lanes_are_bytes(a->lanes)) return false;
    const form f = form_of(a->lanes);
    for (int64_t column = 0; column < a->columns; column += 2 * LANES)
        (f.ratio ? ratios : is_doubling(&f) ? doublings : products)(a, column);
    return true;
}
#endif
