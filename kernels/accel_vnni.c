/* Tiles by AVX-512 VNNI: vpdpbusd sums four products exactly modulo 2^32. The saturating form and
 * vpmaddubsw, which saturates at 16 bits, are not used. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
#define AVX512_MORE ",avx512vnni"
#include "kernels/accel_bytes.h"
#include <string.h>

#define VNNI AVX512

enum { ROWS = 8, QUAD = 4 };

bool itg_accel_has_vnni(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni");
}

VNNI static inline __attribute__((always_inline)) __m512i four_codes(const uint8_t *a)
{
    int32_t codes;
    memcpy(&codes, a, sizeof codes);
    return _mm512_set1_epi32(codes);
}

/* Sums blocks of `rows` rows, from `first` to `end`, by one or two panels; `rows` and `panels` are
 * constants. */
VNNI static inline __attribute__((always_inline)) void
blocks(const itg_accel_tile *t, int64_t first, int64_t end, const int rows, const int panels)
{
    const int64_t *offset = t->offset, *last = offset + t->steps, run_steps = t->run_steps;
    const int64_t stride = t->a_stride, b_stride = t->b_stride, depth = itg_accel_run_depth(t);
    /* Rows are addressed from every fourth one: GCC would have a distance for each of sixteen,
     * which are more than there are registers. */
    int64_t three = 3 * stride, four = 4 * stride;
    __asm__("" : "+r"(three), "+r"(four));
    const uint8_t *base = t->a + first * stride;
    int32_t *c = t->c + first * ITG_TILE_COLUMNS;
    for (int64_t row = first; row < end; row += rows, base += rows * stride) {
        __m512i sum[2 * ROWS][2];
        ITG_UNROLL
        for (int r = 0; r < rows; r++)
            sum[r][0] = sum[r][1] = _mm512_setzero_si512();
        const int8_t *b = t->b;
        for (const int64_t *o = offset; o < last; o += run_steps, b += run_steps * ITG_STEP_BYTES) {
            const uint8_t *a = base + *o, *stop = a + depth;
            for (const int8_t *w = b; a < stop; a += QUAD, w += QUAD * ITG_PANEL_COLUMNS) {
                const __m512i b0 = _mm512_loadu_si512(w);
                const __m512i b1 = panels > 1 ? _mm512_loadu_si512(w + b_stride) : b0;
                const uint8_t *at = a;
                ITG_UNROLL
                for (int r = 0; r < rows; r++) {
                    if (r > 0 && r % 4 == 0) at += four;
                    const __m512i x = four_codes(at + (r % 4 == 3 ? three : r % 4 * stride));
                    sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], x, b0);
                    if (panels > 1) sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], x, b1);
                }
            }
        }
        ITG_UNROLL
        for (int r = 0; r < rows; r++, c += ITG_TILE_COLUMNS) {
            _mm512_storeu_si512(c, sum[r][0]);
            if (panels > 1) _mm512_storeu_si512(c + ITG_PANEL_COLUMNS, sum[r][1]);
        }
    }
}

VNNI static void two_panels(const itg_accel_tile *t)
{
    /* Fewer than half a block of rows are summed one by one. */
    const int64_t left = t->rows % ROWS, eights = t->rows - (left < ROWS / 2 ? left : 0);
    blocks(t, 0, eights, ROWS, 2);
    blocks(t, eights, t->rows, 1, 2);
}

VNNI static void one_panel(const itg_accel_tile *t)
{
    const int64_t left = t->rows % (2 * ROWS), sixteens = t->rows - (left <= ROWS ? left : 0);
    const int64_t eights = left < ROWS / 2 || left > ROWS ? sixteens : t->rows;
    blocks(t, 0, sixteens, 2 * ROWS, 1);
    blocks(t, sixteens, eights, ROWS, 1);
    blocks(t, eights, t->rows, 1, 1);
}

static void tile(const itg_accel_tile *t)
{
    (t->panels > 1 ? two_panels : one_panel)(t);
}

/* ---- depthwise ---- */

/* Interleaves four taps of 64 channels, four bytes a channel: the 128-bit part j of out[i] holds
 * the channels 16 j + 4 i to 16 j + 4 i + 3. */
VNNI static inline __attribute__((always_inline)) void
interleave(const uint8_t *a, const int64_t *offset, __m512i out[4])
{
    const __m512i t0 = _mm512_loadu_si512(a + offset[0]), t1 = _mm512_loadu_si512(a + offset[1]);
    const __m512i t2 = _mm512_loadu_si512(a + offset[2]), t3 = _mm512_loadu_si512(a + offset[3]);
    const __m512i low01 = _mm512_unpacklo_epi8(t0, t1), high01 = _mm512_unpackhi_epi8(t0, t1);
    const __m512i low23 = _mm512_unpacklo_epi8(t2, t3), high23 = _mm512_unpackhi_epi8(t2, t3);
    out[0] = _mm512_unpacklo_epi16(low01, low23);
    out[1] = _mm512_unpackhi_epi16(low01, low23);
    out[2] = _mm512_unpacklo_epi16(high01, high23);
    out[3] = _mm512_unpackhi_epi16(high01, high23);
}

/* Steps whose weights stay where they are quick to reach. */
enum { SOME = 4 };

/* Stores a row of sums in parts, or in order, or adds them to what is there. */
VNNI static inline __attribute__((always_inline)) void
store_sums(const itg_accel_tile *t, int64_t row, bool adds, __m512i sum[4])
{
    int32_t *c = t->c + row * ITG_DEPTHWISE_COLUMNS;
    if (!t->parts) swap_parts(sum);
    ITG_UNROLL
    for (int i = 0; i < 4; i++) {
        const __m512i before = adds ? _mm512_loadu_si512(c + 16 * i) : _mm512_setzero_si512();
        _mm512_storeu_si512(c + 16 * i, _mm512_add_epi32(before, sum[i]));
    }
}

VNNI static void depthwise(const itg_accel_tile *t, int64_t first, int64_t steps)
{
    __m512i weight[SOME][4];
    for (int64_t k = 0; k < steps; k++) {
        const int8_t *b = t->b + (first + k) * ITG_DEPTHWISE_STEP_BYTES;
        for (int i = 0; i < 4; i++)
            weight[k][i] = _mm512_loadu_si512(b + 64 * i);
        swap_parts(weight[k]);
    }
    itg_accel_row row = {t->a, t->left};
    for (int64_t r = 0; r < t->rows; r++, itg_accel_next_row(t, &row)) {
        __m512i sum[4], x[4];
        for (int i = 0; i < 4; i++)
            sum[i] = _mm512_setzero_si512();
        for (int64_t k = 0; k < steps; k++) {
            interleave(row.a, t->offset + (first + k) * ITG_DEPTHWISE_TAPS, x);
            for (int i = 0; i < 4; i++)
                sum[i] = _mm512_dpbusd_epi32(sum[i], x[i], weight[k][i]);
        }
        store_sums(t, r, first > 0, sum);
    }
}

/* Four neighbours of a line serve two outputs: weights (a, b, c, 0) and (0, a, b, c). */
VNNI static void depthwise_threes(const itg_accel_tile *t, int64_t first, int64_t steps)
{
    __m512i weight[SOME][2][4];
    for (int64_t k = 0; k < steps; k++) {
        const int8_t *b = t->b + (first + k) * ITG_DEPTHWISE_STEP_BYTES;
        for (int i = 0; i < 4; i++)
            weight[k][0][i] = _mm512_loadu_si512(b + 64 * i);
        swap_parts(weight[k][0]);
        for (int i = 0; i < 4; i++)
            weight[k][1][i] = _mm512_slli_epi32(weight[k][0][i], 8);
    }
    itg_accel_row row = {t->a, t->left};
    for (int64_t r = 0; r < t->rows;) {
        const bool two = row.left > 1 && r + 1 < t->rows;
        __m512i sum[4], next[4], x[4];
        for (int i = 0; i < 4; i++)
            sum[i] = next[i] = _mm512_setzero_si512();
        for (int64_t k = 0; k < steps; k++) {
            interleave(row.a, t->offset + (first + k) * ITG_DEPTHWISE_TAPS, x);
            for (int i = 0; i < 4; i++) {
                sum[i] = _mm512_dpbusd_epi32(sum[i], x[i], weight[k][0][i]);
                next[i] = _mm512_dpbusd_epi32(next[i], x[i], weight[k][1][i]);
            }
        }
        store_sums(t, r++, first > 0, sum);
        itg_accel_next_row(t, &row);
        if (!two) continue;
        store_sums(t, r++, first > 0, next);
        itg_accel_next_row(t, &row);
    }
}

void itg_depthwise_vnni(const itg_accel_tile *t)
{
    for (int64_t first = 0; first < t->steps; first += SOME) {
        const int64_t steps = t->steps - first < SOME ? t->steps - first : SOME;
        (t->threes ? depthwise_threes : depthwise)(t, first, steps);
    }
}

const itg_accel_kernels itg_accel_vnni = {
    .name = "vnni",
    .usable = itg_accel_has_vnni,
    .granule = QUAD,
    .step_cycles = 8,
    .tile = tile,
    .depthwise = itg_depthwise_vnni,
    .parts = true,
    .winograd = &itg_winograd_vnni,
    .lanes = itg_lanes_avx512,
    .sum_bytes = itg_sum_bytes_vbmi,
    .look_up = itg_look_up_vbmi,
    .peak = itg_peak_vnni,
};
#endif
