/* Looks up bytes in a table; adds two bytes, each looked up in one, and makes byte codes. AVX-512
 * with VBMI looks up 128 entries at once. The values of a table are stored byte by byte in planes.
 * Interleaving the results of the planes spreads 64 values over four vectors in the order that
 * packing reverses. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
#define AVX512_MORE ",avx512vbmi"
#include "kernels/accel_bytes.h"

static bool has_vbmi(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

enum { STEP = 64, QUARTERS = 4 };

AVX512_INLINE __m512i look_up_plane(const uint8_t *plane, __m512i x, __mmask64 above)
{
    const __m512i p0 = _mm512_loadu_si512(plane), p1 = _mm512_loadu_si512(plane + STEP);
    const __m512i p2 = _mm512_loadu_si512(plane + 2 * STEP);
    const __m512i p3 = _mm512_loadu_si512(plane + 3 * STEP);
    return _mm512_mask_blend_epi8(above, _mm512_permutex2var_epi8(p0, x, p1),
                                  _mm512_permutex2var_epi8(p2, x, p3));
}

AVX512_INLINE void look_up(const itg_byte_table *t, __m512i x, __m512i out[QUARTERS])
{
    const __mmask64 above = _mm512_movepi8_mask(x);
    const __m512i b0 = look_up_plane(t->plane[0], x, above);
    const __m512i b1 = look_up_plane(t->plane[1], x, above);
    const __m512i b2 = look_up_plane(t->plane[2], x, above);
    const __m512i b3 = look_up_plane(t->plane[3], x, above);
    const __m512i low01 = _mm512_unpacklo_epi8(b0, b1), high01 = _mm512_unpackhi_epi8(b0, b1);
    const __m512i low23 = _mm512_unpacklo_epi8(b2, b3), high23 = _mm512_unpackhi_epi8(b2, b3);
    out[0] = _mm512_unpacklo_epi16(low01, low23);
    out[1] = _mm512_unpackhi_epi16(low01, low23);
    out[2] = _mm512_unpacklo_epi16(high01, high23);
    out[3] = _mm512_unpackhi_epi16(high01, high23);
}

AVX512_INLINE void sum_all(const itg_byte_sum *s, form f)
{
    const itg_lanes_args args = {.lanes = s->lanes, .bias32 = s->none};
    const clamps limits = clamps_of(s->lanes);
    const bool subtracts = s->subtracts;
    const uint8_t *a = s->a, *b = s->b;
    uint8_t *out = s->out;
    channels c = {0};
    load_channels(&c, &args, 0, f);
    for (int64_t i = 0; i < s->n; i += STEP) {
        const int64_t left = s->n - i;
        const __mmask64 used = left >= STEP ? UINT64_MAX : ((__mmask64)1 << left) - 1;
        __m512i x[QUARTERS], y[QUARTERS];
        look_up(s->table_a, _mm512_maskz_loadu_epi8(used, a + i), x);
        look_up(s->table_b, _mm512_maskz_loadu_epi8(used, b + i), y);
        for (int q = 0; q < QUARTERS; q++) {
            const __m512i sum =
                subtracts ? _mm512_sub_epi32(x[q], y[q]) : _mm512_add_epi32(x[q], y[q]);
            x[q] = codes(&c, sum, f);
        }
        _mm512_mask_storeu_epi8(out + i, used, bytes(&limits, x, f));
    }
}

AVX512 static void sum_doublings(const itg_byte_sum *s)
{
    sum_all(s, ITG_FORM_DOUBLING);
}

AVX512 static void sum_any(const itg_byte_sum *s)
{
    sum_all(s, form_of(s->lanes));
}

bool itg_sum_bytes_vbmi(const itg_byte_sum *s)
{
    if (!has_vbmi() || !itg_lanes_are_bytes(s->lanes)) return false;
    const form f = form_of(s->lanes);
    (is_doubling(&f) ? sum_doublings : sum_any)(s);
    return true;
}

AVX512 static void look_up_all(const uint8_t *entry, const uint8_t *x, int64_t n, uint8_t *out)
{
    for (int64_t i = 0; i < n; i += STEP) {
        const int64_t left = n - i;
        const __mmask64 used = left >= STEP ? UINT64_MAX : ((__mmask64)1 << left) - 1;
        const __m512i codes = _mm512_maskz_loadu_epi8(used, x + i);
        _mm512_mask_storeu_epi8(out + i, used,
                                look_up_plane(entry, codes, _mm512_movepi8_mask(codes)));
    }
}

bool itg_look_up_vbmi(const uint8_t entry[256], const uint8_t *x, int64_t n, uint8_t *out)
{
    if (!has_vbmi()) return false;
    look_up_all(entry, x, n, out);
    return true;
}
#endif
