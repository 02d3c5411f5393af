/* Lanes by AVX-512: sixteen channels at a time, whose constants stay in registers for all rows of a
 * tile. The roundings are those of rounding.h on vectors. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
#include "kernels/rounding.h"
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define AVX512_INLINE AVX512 static inline __attribute__((always_inline))

enum { LANES = 16 };

typedef int32_t lanes32 __attribute__((vector_size(64)));
typedef uint32_t bits32 __attribute__((vector_size(64)));
typedef int64_t lanes64 __attribute__((vector_size(64)));
typedef uint64_t bits64 __attribute__((vector_size(64)));

/* ---- right shifts ---- */
typedef struct shift32 {
    lanes32 by, half, keep;
} shift32;

typedef struct shift64 {
    lanes64 by, half, keep;
} shift64;

AVX512_INLINE shift32 shift32_of(__m512i by)
{
    const bits32 one = (bits32)_mm512_set1_epi32(1);
    shift32 s = {(lanes32)by, (lanes32)ITG_ROUND_HALF(one, (bits32)by),
                 (lanes32)_mm512_movm_epi32(_mm512_test_epi32_mask(by, by))};
    return s;
}

AVX512_INLINE shift64 shift64_of(__m512i by)
{
    const bits64 one = (bits64)_mm512_set1_epi64(1);
    shift64 s = {(lanes64)by, (lanes64)ITG_ROUND_HALF(one, (bits64)by),
                 (lanes64)_mm512_movm_epi64(_mm512_test_epi64_mask(by, by))};
    return s;
}

AVX512_INLINE __m512i round32(__m512i value, const shift32 *s, itg_rounding rounding)
{
    lanes32 v = (lanes32)value;
    v += ITG_ROUND_TERM(rounding, s->half, s->keep, (v >> s->by) & 1, v >> 31);
    return (__m512i)(v >> s->by);
}

AVX512_INLINE __m512i round64(__m512i value, const shift64 *s, itg_rounding rounding)
{
    lanes64 v = (lanes64)value;
    v += ITG_ROUND_TERM(rounding, s->half, s->keep, (v >> s->by) & 1, v >> 63);
    return (__m512i)(v >> s->by);
}

/* ---- sixteen channels; loops copy the constants, because a store of codes might change what a
 * pointer refers to, and the compiler would load it again for every row ---- */
typedef struct channels {
    __mmask16 used;
    size_t size; /* of a code */
    __m512i bias, left, multiplier, multiplier_odd, low, high, zero;
    shift32 first, last;
    shift64 even, odd; /* of the product */
    __m512 ratio, float_low, float_high;
    __m128i fit;
} channels;

AVX512_INLINE __m512i load(const int32_t *v, int64_t channel)
{
    return v ? _mm512_loadu_si512(v + channel) : _mm512_setzero_si512();
}

AVX512_INLINE void load_stages(channels *c, const itg_lanes *l, int64_t channel)
{
    const __m512i product = load(l->shift[1], channel);
    c->left = load(l->left, channel);
    c->multiplier = load(l->multiplier, channel);
    c->multiplier_odd = _mm512_srli_epi64(c->multiplier, 32);
    c->first = shift32_of(load(l->shift[0], channel));
    c->last = shift32_of(load(l->shift[2], channel));
    c->even = shift64_of(_mm512_and_si512(product, _mm512_set1_epi64(UINT32_MAX)));
    c->odd = shift64_of(_mm512_srli_epi64(product, 32));
    c->low = _mm512_set1_epi32((int32_t)l->low);
    c->high = _mm512_set1_epi32((int32_t)l->high);
}

AVX512_INLINE void load_channels(channels *c, const itg_lanes_args *a, int64_t column)
{
    const itg_lanes *l = a->lanes;
    const int64_t left = a->columns - column, channel = a->channel + column;
    c->used = (__mmask16)(left >= LANES ? 0xffffU : (1U << left) - 1);
    c->size = itg_dtype_size(l->e.storage);
    c->bias = _mm512_loadu_si512(a->bias32 + column);
    c->zero = _mm512_set1_epi32((int32_t)l->e.zero_point);
    c->fit = _mm_cvtsi32_si128(a->fit);
    load_stages(c, l, channel);
    const bool codes = l->kind == ITG_LANES_RATIO;
    c->ratio = l->ratio ? _mm512_loadu_ps(l->ratio + channel) : _mm512_setzero_ps();
    c->float_low = _mm512_set1_ps(codes ? (float)l->low : l->e.float_lo);
    c->float_high = _mm512_set1_ps(codes ? (float)l->high : l->e.float_hi);
}

/* Stores sixteen codes of a row. Only the last columns use masked stores, which are slower. */
AVX512_INLINE void store(const channels *c, __m512i q, unsigned char *out)
{
    const bool all = c->used == 0xffff;
    if (c->size == 1 && all)
        _mm_storeu_si128((__m128i *)(void *)out, _mm512_cvtepi32_epi8(q));
    else if (c->size == 1)
        _mm_mask_storeu_epi8(out, c->used, _mm512_cvtepi32_epi8(q));
    else if (c->size == 2 && all)
        _mm256_storeu_si256((__m256i *)(void *)out, _mm512_cvtepi32_epi16(q));
    else if (c->size == 2)
        _mm256_mask_storeu_epi16(out, c->used, _mm512_cvtepi32_epi16(q));
    else
        _mm512_mask_storeu_epi32(out, c->used, q);
}

AVX512_INLINE __m512 limit(const channels *c, __m512 p)
{
    p = _mm512_mask_mov_ps(p, _mm512_cmp_ps_mask(p, c->float_low, _CMP_LT_OQ), c->float_low);
    return _mm512_mask_mov_ps(p, _mm512_cmp_ps_mask(p, c->float_high, _CMP_GT_OQ), c->float_high);
}

/* float32(sum) * ratio, to the nearest integer, and the zero point. */
AVX512_INLINE __m512i ratio_codes(const channels *c, __m512 sum)
{
    const __m512 no_fraction = _mm512_set1_ps(ITG_NO_FRACTION_F32);
    __m512 p = _mm512_mul_ps(sum, c->ratio);
    p = _mm512_min_ps(_mm512_max_ps(p, c->float_low), c->float_high);
    __m512i bits = _mm512_castps_si512(_mm512_add_ps(p, no_fraction));
    return _mm512_add_epi32(bits, _mm512_sub_epi32(c->zero, _mm512_castps_si512(no_fraction)));
}

AVX512_INLINE __m512i clamp_codes(const channels *c, __m512i v)
{
    v = _mm512_min_epi32(_mm512_max_epi32(v, c->low), c->high);
    return _mm512_add_epi32(v, c->zero);
}

/* ---- 32-bit sums ---- */
AVX512_INLINE __m512i product32(__m512i v, const channels *c, itg_rounding rounding)
{
    __m512i even = _mm512_mul_epi32(v, c->multiplier);
    __m512i odd = _mm512_mul_epi32(_mm512_shuffle_epi32(v, _MM_PERM_DDBB), c->multiplier_odd);
    even = round64(even, &c->even, rounding);
    odd = round64(odd, &c->odd, rounding);
    return _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32));
}

AVX512_INLINE __m512i sum32(const channels *c, bool fits, const int32_t *acc)
{
    __m512i v = _mm512_add_epi32(_mm512_loadu_si512(acc), c->bias);
    if (fits) return v;
    return _mm512_sra_epi32(_mm512_sll_epi32(v, c->fit), c->fit);
}

/* Which stages there are and how they round. The loop below is compiled for constant plans. */
typedef struct plan {
    bool left, first, product, last;
    itg_rounding rounding[3];
} plan;

AVX512_INLINE void stages32(const itg_lanes_args *a, const channels *borrowed, int64_t column,
                            plan p)
{
    const channels c = *borrowed;
    const int64_t rows = a->rows, acc_stride = a->acc_stride;
    const int32_t *acc = a->acc32 + column;
    const size_t step = (size_t)a->out_stride * c.size;
    unsigned char *out = a->out + (size_t)column * c.size;
    const bool fits = a->fit == 0;
    for (int64_t r = 0; r < rows; r++, out += step, acc += acc_stride) {
        __m512i v = sum32(&c, fits, acc);
        if (p.left) v = _mm512_sllv_epi32(v, c.left);
        if (p.first) v = round32(v, &c.first, p.rounding[0]);
        if (p.product) v = product32(v, &c, p.rounding[1]);
        if (p.last) v = round32(v, &c.last, p.rounding[2]);
        store(&c, clamp_codes(&c, v), out);
    }
}

static bool same_plan(const plan *a, const plan *b)
{
    return a->left == b->left && a->first == b->first && a->product == b->product &&
           a->last == b->last && (!a->first || a->rounding[0] == b->rounding[0]) &&
           (!a->product || a->rounding[1] == b->rounding[1]) &&
           (!a->last || a->rounding[2] == b->rounding[2]);
}

/* A product alone, and one with a last shift. */
#define ONE_PRODUCT                                                                                \
    ((plan){false, false, true, false, {ITG_ROUND_FLOOR, ITG_ROUND_HALF_UP, ITG_ROUND_FLOOR}})
#define TFLITE_DOUBLE                                                                              \
    ((plan){false, false, true, true, {ITG_ROUND_FLOOR, ITG_ROUND_HALF_UP, ITG_ROUND_HALF_AWAY}})

AVX512 static void stages32_of(const itg_lanes_args *a, const channels *c, int64_t column)
{
    const itg_lanes *l = a->lanes;
    const plan p = {l->left != NULL,
                    l->shift[0] != NULL,
                    l->multiplier != NULL,
                    l->shift[2] != NULL,
                    {l->rounding[0], l->rounding[1], l->rounding[2]}};
    if (same_plan(&p, &TFLITE_DOUBLE))
        stages32(a, c, column, TFLITE_DOUBLE);
    else if (same_plan(&p, &ONE_PRODUCT))
        stages32(a, c, column, ONE_PRODUCT);
    else
        stages32(a, c, column, p);
}

AVX512 static void floats32(const itg_lanes_args *a, const channels *borrowed, int64_t column)
{
    const channels c = *borrowed;
    const bool codes = a->lanes->kind == ITG_LANES_RATIO, fits = a->fit == 0;
    const int64_t rows = a->rows, acc_stride = a->acc_stride;
    const int32_t *acc = a->acc32 + column;
    const size_t step = (size_t)a->out_stride * c.size;
    unsigned char *out = a->out + (size_t)column * c.size;
    for (int64_t r = 0; r < rows; r++, out += step, acc += acc_stride) {
        __m512 v = _mm512_cvtepi32_ps(sum32(&c, fits, acc));
        if (codes)
            store(&c, ratio_codes(&c, v), out);
        else
            _mm512_mask_storeu_ps(out, c.used, limit(&c, _mm512_mul_ps(v, c.ratio)));
    }
}

/* ---- 64-bit sums: eight lanes, two of them a vector of codes ---- */
typedef struct channels64 {
    __m512i bias, left, multiplier;
    shift64 shift[3];
} channels64;

AVX512_INLINE __m512i load64(const int32_t *v, int64_t channel, int32_t absent)
{
    if (!v) return _mm512_set1_epi64(absent);
    return _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)(v + channel)));
}

AVX512_INLINE void load_channels64(channels64 *c, const itg_lanes_args *a, int64_t column)
{
    const itg_lanes *l = a->lanes;
    const int64_t channel = a->channel + column;
    c->bias = _mm512_loadu_si512(a->bias64 + column);
    c->left = load64(l->left, channel, 0);
    c->multiplier = load64(l->multiplier, channel, 1);
    for (int i = 0; i < 3; i++)
        c->shift[i] = shift64_of(load64(l->shift[i], channel, 0));
}

AVX512_INLINE __m512i sum64(const channels *c, const channels64 *w, const int64_t *acc)
{
    __m512i v = _mm512_add_epi64(_mm512_loadu_si512(acc), w->bias);
    return _mm512_sra_epi64(_mm512_sll_epi64(v, c->fit), c->fit);
}

AVX512_INLINE __m256i stages64(const itg_lanes *l, const channels64 *w, __m512i v)
{
    if (l->left) v = _mm512_sllv_epi64(v, w->left);
    if (l->shift[0]) v = round64(v, &w->shift[0], l->rounding[0]);
    if (l->multiplier)
        v = round64(_mm512_mullo_epi64(v, w->multiplier), &w->shift[1], l->rounding[1]);
    if (l->shift[2]) v = round64(v, &w->shift[2], l->rounding[2]);
    v = _mm512_max_epi64(v, _mm512_set1_epi64(l->low));
    v = _mm512_min_epi64(v, _mm512_set1_epi64(l->high));
    return _mm512_cvtepi64_epi32(v);
}

AVX512 static void rows64(const itg_lanes_args *a, const channels *c, int64_t column)
{
    const itg_lanes *l = a->lanes;
    const size_t step = (size_t)a->out_stride * c->size;
    unsigned char *out = a->out + (size_t)column * c->size;
    channels64 w[2];
    load_channels64(&w[0], a, column);
    load_channels64(&w[1], a, column + LANES / 2);
    for (int64_t r = 0; r < a->rows; r++, out += step) {
        const int64_t *acc = a->acc64 + r * a->acc_stride + column;
        const __m512i v0 = sum64(c, &w[0], acc), v1 = sum64(c, &w[1], acc + LANES / 2);
        if (l->kind == ITG_LANES_STAGES) {
            __m512i q = _mm512_inserti64x4(_mm512_castsi256_si512(stages64(l, &w[0], v0)),
                                           stages64(l, &w[1], v1), 1);
            store(c, _mm512_add_epi32(q, c->zero), out);
            continue;
        }
        const __m512 f = _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtepi64_ps(v0)),
                                            _mm512_cvtepi64_ps(v1), 1);
        if (l->kind == ITG_LANES_RATIO)
            store(c, ratio_codes(c, f), out);
        else
            _mm512_mask_storeu_ps(out, c->used, limit(c, _mm512_mul_ps(f, c->ratio)));
    }
}

AVX512 void itg_lanes_avx512(const itg_lanes_args *a)
{
    if (itg_lanes_bytes_avx512(a)) return;
    for (int64_t column = 0; column < a->columns; column += LANES) {
        channels c;
        load_channels(&c, a, column);
        if (!a->acc32)
            rows64(a, &c, column);
        else if (a->lanes->kind == ITG_LANES_STAGES)
            stages32_of(a, &c, column);
        else
            floats32(a, &c, column);
    }
}
#endif
