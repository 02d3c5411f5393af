/* Turns 32-bit sums into byte codes with AVX-512. Four vectors of sixteen are clamped and narrowed
 * at once: 32 columns of two rows or 16 columns of four. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
#include "kernels/accel_bytes.h"

/* The codes of v[0], then those of v[1], v[2] and v[3]. */
AVX512_INLINE __m512i in_order(const clamps *c, const __m512i v[4], form f)
{
    const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    return _mm512_permutexvar_epi32(order, bytes(c, v, f));
}

/* Handles 17 to 32 columns, two rows at once; the last row may be computed twice. */
AVX512_INLINE void columns32(const itg_lanes_args *a, int64_t column, form f)
{
    const int64_t rows = a->rows, stride = a->acc_stride, step = a->out_stride;
    const int64_t left = a->columns - column;
    const __mmask32 used = left >= 2 * LANES ? UINT32_MAX : ((__mmask32)1 << left) - 1;
    const clamps limits = clamps_of(a->lanes);
    channels c0, c1;
    load_channels(&c0, a, column, f);
    load_channels(&c1, a, column + LANES, f);
    const int32_t *acc = a->acc32 + column;
    unsigned char *out = a->out + column;
    for (int64_t r = 0; r < rows; r += 2) {
        const int64_t second = r + 1 < rows ? r + 1 : r;
        const int32_t *upper = acc + r * stride, *lower = acc + second * stride;
        const __m512i v[4] = {codes(&c0, _mm512_loadu_si512(upper), f),
                              codes(&c1, _mm512_loadu_si512(upper + LANES), f),
                              codes(&c0, _mm512_loadu_si512(lower), f),
                              codes(&c1, _mm512_loadu_si512(lower + LANES), f)};
        const __m512i q = in_order(&limits, v, f);
        _mm256_mask_storeu_epi8(out + r * step, used, _mm512_castsi512_si256(q));
        _mm256_mask_storeu_epi8(out + second * step, used, _mm512_extracti64x4_epi64(q, 1));
    }
}

/* Handles up to 16 columns, four rows at once; the last row may be computed again. */
AVX512_INLINE void columns16(const itg_lanes_args *a, int64_t column, form f)
{
    const int64_t last = a->rows - 1, left = a->columns - column;
    const __mmask16 used = (__mmask16)(left >= LANES ? UINT16_MAX : (1U << left) - 1);
    const clamps limits = clamps_of(a->lanes);
    channels c;
    load_channels(&c, a, column, f);
    const int32_t *acc = a->acc32 + column;
    unsigned char *out = a->out + column;
    for (int64_t r = 0; r <= last; r += 4) {
        __m512i v[4];
        int64_t row[4];
        ITG_UNROLL
        for (int i = 0; i < 4; i++) {
            row[i] = r + i < last ? r + i : last;
            v[i] = codes(&c, _mm512_loadu_si512(acc + row[i] * a->acc_stride), f);
        }
        const __m512i q = in_order(&limits, v, f);
        _mm_mask_storeu_epi8(out + row[0] * a->out_stride, used, _mm512_castsi512_si128(q));
        _mm_mask_storeu_epi8(out + row[1] * a->out_stride, used, _mm512_extracti32x4_epi32(q, 1));
        _mm_mask_storeu_epi8(out + row[2] * a->out_stride, used, _mm512_extracti32x4_epi32(q, 2));
        _mm_mask_storeu_epi8(out + row[3] * a->out_stride, used, _mm512_extracti32x4_epi32(q, 3));
    }
}

/* Swaps one constant of four vectors of channels. */
#define SWAP(field)                                                                                \
    do {                                                                                           \
        __m512i four[4] = {c[0].field, c[1].field, c[2].field, c[3].field};                        \
        swap_parts(four);                                                                          \
        ITG_UNROLL                                                                                 \
        for (int i = 0; i < 4; i++)                                                                \
            c[i].field = four[i];                                                                  \
    } while (0)

AVX512_INLINE void load_parts(channels c[4], const itg_lanes_args *a, form f)
{
    ITG_UNROLL
    for (int i = 0; i < 4; i++)
        load_channels(&c[i], a, LANES * i, f);
    SWAP(bias);
    if (f.ratio) {
        SWAP(ratio);
        return;
    }
    SWAP(multiplier);
    SWAP(multiplier_odd);
    SWAP(addend_even);
    SWAP(addend_odd);
    SWAP(product_even);
    SWAP(product_odd);
    SWAP(last);
    SWAP(rest[0]);
    SWAP(rest[1]);
}

/* Handles 64 columns in parts. */
AVX512_INLINE void columns64(const itg_lanes_args *a, form f)
{
    const int64_t rows = a->rows, stride = a->acc_stride, step = a->out_stride, n = a->columns;
    const __mmask64 used = n >= 4 * LANES ? UINT64_MAX : ((__mmask64)1 << n) - 1;
    const clamps limits = clamps_of(a->lanes);
    channels c[4];
    load_parts(c, a, f);
    const int32_t *acc = a->acc32;
    unsigned char *out = a->out;
    for (int64_t r = 0; r < rows; r++, acc += stride, out += step) {
        __m512i v[4];
        ITG_UNROLL
        for (int i = 0; i < 4; i++)
            v[i] = codes(&c[i], _mm512_loadu_si512(acc + LANES * i), f);
        _mm512_mask_storeu_epi8(out, used, bytes(&limits, v, f));
    }
}

AVX512_INLINE void columns_of(const itg_lanes_args *a, int64_t column, form f)
{
    if (a->parts)
        columns64(a, f);
    else if (a->columns - column > LANES)
        columns32(a, column, f);
    else
        columns16(a, column, f);
}

AVX512 static void ratios(const itg_lanes_args *a, int64_t column)
{
    columns_of(a, column, ITG_FORM_RATIO);
}

AVX512 static void whole_ratios(const itg_lanes_args *a, int64_t column)
{
    columns_of(a, column, ITG_FORM_RATIO_WHOLE);
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
    const int64_t step = (a->parts ? 4 : 2) * LANES;
    for (int64_t column = 0; column < a->columns; column += step)
        (!f.ratio             ? is_doubling(&f) ? doublings : products
         : f.whole && !f.zero ? whole_ratios
                              : ratios)(a, column);
    return true;
}
#endif
