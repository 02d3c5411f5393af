/* Tiles by AVX2: eight sums a register. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx2")))
#define VECTOR __m256i
#define NARROW __m128i
enum { LANES = 8, ROWS = 4, PANELS = 1 };
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define ZERO() _mm256_setzero_si256()
#define SET(x) _mm256_set1_epi32((int32_t)(x))
#define ADD(a, b) _mm256_add_epi32(a, b)
#define SUB(a, b) _mm256_sub_epi32(a, b)
#define SHL(a, n) _mm256_slli_epi32(a, n)
#define SAR(a, n) _mm256_srai_epi32(a, n)
#define MULTIPLY(a, b) _mm256_mullo_epi32(a, b)
#define MULTIPLY_ADD(c, a, b) _mm256_add_epi32(c, _mm256_madd_epi16(a, b))
#define ADD16(a, b) _mm256_add_epi16(a, b)
#define SUB16(a, b) _mm256_sub_epi16(a, b)
#define SHL16(a, n) _mm256_slli_epi16(a, n)
#define WIDEN(p) _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define FLIP(x) _mm_set1_epi8((int8_t)(x))
#define CODES(p, left, flip) codes(p, left, flip)
#define STORE16(p, v, left) store_words(p, v, left)

enum { SOME = 16 };

TARGET static inline __m256i codes(const uint8_t *p, int64_t left, __m128i flip)
{
    uint8_t tail[SOME] = {0};
    if (left < SOME) {
        memcpy(tail, p, (size_t)left);
        p = tail;
    }
    const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    return _mm256_cvtepi8_epi16(_mm_xor_si128(x, flip));
}

TARGET static inline void store_words(int16_t *p, __m256i v, int64_t left)
{
    if (left >= SOME) {
        STORE(p, v);
        return;
    }
    int16_t words[SOME];
    STORE(words, v);
    memcpy(p, words, (size_t)left * sizeof *p);
}

#include "kernels/accel_madd.h"
#include "kernels/accel_winograd.h"

/* ---- depthwise ---- */

/* Steps whose weights are widened at once, and channels whose sums stay in registers. */
enum { DEPTHWISE_STEPS = 4, CHANNELS = 16, TAP_PAIRS = ITG_DEPTHWISE_TAPS / 2 };

/* The weights of a pair of taps, channel by channel. */
typedef int16_t tap_pair[ITG_DEPTHWISE_COLUMNS][2];

/* Those of some steps. Four neighbours of a line serve two outputs: of a step that is three
 * neighbours (a, b), (c, 0), and (0, a), (b, c) for the next output. */
typedef struct tap_pairs {
    tap_pair own[DEPTHWISE_STEPS * TAP_PAIRS], next[DEPTHWISE_STEPS * TAP_PAIRS];
} tap_pairs;

TARGET static void set_next(tap_pairs *w, int64_t steps)
{
    for (int64_t k = 0; k < steps * TAP_PAIRS; k += TAP_PAIRS)
        for (int64_t c = 0; c < ITG_DEPTHWISE_COLUMNS; c += LANES) {
            const __m256i ab = LOAD(w->own[k][c]), c0 = LOAD(w->own[k + 1][c]);
            STORE(w->next[k][c], SHL(ab, 16));
            STORE(w->next[k + 1][c], _mm256_or_si256(_mm256_srli_epi32(ab, 16), SHL(c0, 16)));
        }
}

TARGET static void set_pairs(const itg_accel_tile *t, int64_t first, int64_t steps, tap_pairs *w)
{
    const int8_t *b = t->b + first * ITG_DEPTHWISE_STEP_BYTES;
    for (int64_t k = 0; k < steps; k++)
        for (int64_t c = 0; c < ITG_DEPTHWISE_COLUMNS; c++, b += ITG_DEPTHWISE_TAPS)
            for (int64_t i = 0; i < ITG_DEPTHWISE_TAPS; i++)
                w->own[k * TAP_PAIRS + i / 2][c][i % 2] = b[i];
    if (t->threes) set_next(w, steps);
}

/* Sixteen channels of an output, or of two that are next to each other, from `channel` on. */
INLINE void add_steps(const itg_accel_tile *t, const uint8_t *a, int64_t channel, int64_t first,
                      int64_t steps, const tap_pairs *w, int32_t *c, const int outputs)
{
    __m256i sum[2][2];
    const int64_t *offset = t->offset + first * ITG_DEPTHWISE_TAPS;
    ITG_UNROLL
    for (int i = 0; i < 2 * outputs; i++)
        sum[i / 2][i % 2] =
            first > 0 ? LOAD(c + i / 2 * ITG_DEPTHWISE_COLUMNS + i % 2 * LANES) : ZERO();
    for (int64_t p = 0; p < steps * TAP_PAIRS; p++) {
        const uint8_t *from = a + channel;
        const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(from + offset[2 * p]));
        const __m128i y =
            _mm_loadu_si128((const __m128i *)(const void *)(from + offset[2 * p + 1]));
        const __m256i low = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(x, y));
        const __m256i high = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(x, y));
        ITG_UNROLL
        for (int i = 0; i < outputs; i++) {
            const int16_t *weights = (i > 0 ? w->next : w->own)[p][channel];
            sum[i][0] = MULTIPLY_ADD(sum[i][0], low, LOAD(weights));
            sum[i][1] = MULTIPLY_ADD(sum[i][1], high, LOAD(weights + CHANNELS));
        }
    }
    ITG_UNROLL
    for (int i = 0; i < 2 * outputs; i++)
        STORE(c + i / 2 * ITG_DEPTHWISE_COLUMNS + i % 2 * LANES, sum[i / 2][i % 2]);
}

TARGET void itg_depthwise_avx2(const itg_accel_tile *t)
{
    tap_pairs w;
    for (int64_t first = 0; first < t->steps; first += DEPTHWISE_STEPS) {
        const int64_t left = t->steps - first;
        const int64_t steps = left < DEPTHWISE_STEPS ? left : DEPTHWISE_STEPS;
        set_pairs(t, first, steps, &w);
        itg_accel_row row = {t->a, t->left};
        for (int64_t r = 0; r < t->rows; r++, itg_accel_next_row(t, &row)) {
            const bool two = t->threes && row.left > 1 && r + 1 < t->rows;
            int32_t *sums = t->c + r * ITG_DEPTHWISE_COLUMNS;
            for (int64_t c = 0; c < t->columns; c += CHANNELS)
                if (two)
                    add_steps(t, row.a, c, first, steps, &w, sums + c, 2);
                else
                    add_steps(t, row.a, c, first, steps, &w, sums + c, 1);
            if (!two) continue;
            r++;
            itg_accel_next_row(t, &row);
        }
    }
}

static bool usable(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2");
}

void itg_winograd_input_avx2(const itg_winograd_input *a)
{
    input(a);
}

void itg_winograd_output_avx2(const itg_winograd_output *a)
{
    output(a);
}

const itg_winograd_kernels itg_winograd_avx2 = {input, multiply, output};

const itg_accel_kernels itg_accel_avx2 = {
    .name = "avx2",
    .granule = ITG_STEP_DEPTH,
    .step_cycles = 32,
    .usable = usable,
    .words = true,
    .tile = tile,
    .depthwise = itg_depthwise_avx2,
    .winograd = &itg_winograd_avx2,
    .lanes = itg_lanes_avx2,
    .peak = itg_peak_avx2,
};
#endif
