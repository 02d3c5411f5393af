/* Tiles by AVX-VNNI: vpdpbusd of 256 bits, for processors without AVX-512. A panel's sixteen
 * columns are two registers. */
#include "kernels/accel_parts.h"
#include "kernels/clones.h"

#if defined(ITG_ACCEL_X86)
#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

#define AVXVNNI __attribute__((target("avx2,avxvnni")))

enum { ROWS = 6, QUAD = 4, LANES = 8, HALVES = ITG_PANEL_COLUMNS / LANES };

static bool usable(void)
{
    enum { AVXVNNI_BIT = 4 }; /* of EAX */
    unsigned a, b, c, d;
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) &&
           (a >> AVXVNNI_BIT & 1) != 0;
}

AVXVNNI static inline __m256i load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* Sums `rows` rows, a constant, by a panel. */
AVXVNNI static inline __attribute__((always_inline)) void
block(const itg_accel_tile *t, int64_t row, int64_t panel, const int rows)
{
    __m256i sum[ROWS][HALVES];
    ITG_UNROLL
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = _mm256_setzero_si256();
    const int64_t depth = itg_accel_run_depth(t);
    for (int64_t k = 0; k < t->steps; k += t->run_steps) {
        const uint8_t *a = t->a + row * t->a_stride + t->offset[k];
        const int8_t *b = t->b + panel * t->b_stride + k * ITG_STEP_BYTES;
        for (int64_t d = 0; d < depth; d += QUAD, a += QUAD, b += QUAD * ITG_PANEL_COLUMNS) {
            const __m256i b0 = load(b), b1 = load(b + QUAD * LANES);
            ITG_UNROLL
            for (int r = 0; r < rows; r++) {
                int32_t codes;
                memcpy(&codes, a + r * t->a_stride, sizeof codes);
                const __m256i x = _mm256_set1_epi32(codes);
                sum[r][0] = _mm256_dpbusd_avx_epi32(sum[r][0], x, b0);
                sum[r][1] = _mm256_dpbusd_avx_epi32(sum[r][1], x, b1);
            }
        }
    }
    int32_t *c = t->c + row * ITG_TILE_COLUMNS + panel * ITG_PANEL_COLUMNS;
    ITG_UNROLL
    for (int r = 0; r < rows; r++, c += ITG_TILE_COLUMNS) {
        _mm256_storeu_si256((__m256i *)(void *)c, sum[r][0]);
        _mm256_storeu_si256((__m256i *)(void *)(c + LANES), sum[r][1]);
    }
}

AVXVNNI static void six_rows(const itg_accel_tile *t, int64_t row, int64_t panel)
{
    block(t, row, panel, ROWS);
}

AVXVNNI static void two_rows(const itg_accel_tile *t, int64_t row, int64_t panel)
{
    block(t, row, panel, 2);
}

AVXVNNI static void one_row(const itg_accel_tile *t, int64_t row, int64_t panel)
{
    block(t, row, panel, 1);
}

static void tile(const itg_accel_tile *t)
{
    for (int64_t p = 0; p < t->panels; p++) {
        int64_t row = 0;
        for (; t->rows - row >= ROWS; row += ROWS)
            six_rows(t, row, p);
        for (; t->rows - row >= 2; row += 2)
            two_rows(t, row, p);
        for (; row < t->rows; row++)
            one_row(t, row, p);
    }
}

/* ---- depthwise ---- */

enum { CHANNELS = 32 }; /* whose sums stay in registers: half v of sum[i] has 16 v + 4 i to + 3 */

/* Interleaves four taps of 32 channels, four bytes a channel, in the order of the sums. */
AVXVNNI static inline void interleave(const uint8_t *a, const int64_t *offset, __m256i out[4])
{
    const __m256i t0 = load(a + offset[0]), t1 = load(a + offset[1]);
    const __m256i t2 = load(a + offset[2]), t3 = load(a + offset[3]);
    const __m256i low01 = _mm256_unpacklo_epi8(t0, t1), high01 = _mm256_unpackhi_epi8(t0, t1);
    const __m256i low23 = _mm256_unpacklo_epi8(t2, t3), high23 = _mm256_unpackhi_epi8(t2, t3);
    out[0] = _mm256_unpacklo_epi16(low01, low23);
    out[1] = _mm256_unpackhi_epi16(low01, low23);
    out[2] = _mm256_unpacklo_epi16(high01, high23);
    out[3] = _mm256_unpackhi_epi16(high01, high23);
}

AVXVNNI static inline __m256i halves(const int8_t *lower, const int8_t *upper)
{
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)lower)),
        _mm_loadu_si128((const __m128i *)(const void *)upper), 1);
}

AVXVNNI static inline void add_row(const itg_accel_tile *t, const uint8_t *a, const int8_t *b,
                                   int32_t *c)
{
    enum { HALF = CHANNELS / 2 * ITG_DEPTHWISE_TAPS, PART = 4 * ITG_DEPTHWISE_TAPS };
    __m256i sum[4], x[4];
    ITG_UNROLL
    for (int i = 0; i < 4; i++)
        sum[i] = _mm256_setzero_si256();
    for (int64_t k = 0; k < t->steps; k++, b += ITG_DEPTHWISE_STEP_BYTES) {
        interleave(a, t->offset + k * ITG_DEPTHWISE_TAPS, x);
        ITG_UNROLL
        for (int i = 0; i < 4; i++)
            sum[i] =
                _mm256_dpbusd_avx_epi32(sum[i], x[i], halves(b + i * PART, b + HALF + i * PART));
    }
    __m256i *out = (__m256i *)(void *)c;
    _mm256_storeu_si256(out, _mm256_permute2x128_si256(sum[0], sum[1], 0x20));
    _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(sum[2], sum[3], 0x20));
    _mm256_storeu_si256(out + 2, _mm256_permute2x128_si256(sum[0], sum[1], 0x31));
    _mm256_storeu_si256(out + 3, _mm256_permute2x128_si256(sum[2], sum[3], 0x31));
}

AVXVNNI static void depthwise(const itg_accel_tile *t)
{
    itg_accel_row row = {t->a, t->left};
    for (int64_t r = 0; r < t->rows; r++, itg_accel_next_row(t, &row))
        for (int64_t c = 0; c < t->columns; c += CHANNELS)
            add_row(t, row.a + c, t->b + c * ITG_DEPTHWISE_TAPS,
                    t->c + r * ITG_DEPTHWISE_COLUMNS + c);
}

const itg_accel_kernels itg_accel_avxvnni = {
    .name = "avxvnni",
    .granule = QUAD,
    .step_cycles = 16,
    .usable = usable,
    .tile = tile,
    .depthwise = depthwise,
    .winograd = &itg_winograd_avxvnni,
    .lanes = itg_lanes_avx2,
    .peak = itg_peak_avxvnni,
};
#endif
