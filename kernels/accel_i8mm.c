/* Tiles by the matrix instructions of Armv8.6 (FEAT_I8MM): usmmla adds the products of two rows of
 * eight unsigned bytes by two columns of eight signed bytes, modulo 2^32. A single row takes usdot,
 * four products a lane. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_NEON)
#include "kernels/accel_neon.h"

enum { PAIRS = 2 /* of rows */, DEPTH = 8 };

static inline void store_pair(const itg_accel_tile *t, int64_t row, int64_t panel,
                              const itg_neon_pairs *sums)
{
    itg_neon_row rows[2];
    for (int i = 0; i < ITG_NEON_VECTORS; i++) {
        const int64x2_t left = vreinterpretq_s64_s32(sums->at[2 * i]);
        const int64x2_t right = vreinterpretq_s64_s32(sums->at[2 * i + 1]);
        rows[0].at[i] = vreinterpretq_s32_s64(vzip1q_s64(left, right));
        rows[1].at[i] = vreinterpretq_s32_s64(vzip2q_s64(left, right));
    }
    itg_neon_store(t, row, panel, &rows[0]);
    itg_neon_store(t, row + 1, panel, &rows[1]);
}

/* Adds eight values of depth: x has them of two rows each, b of the panel's columns. */
static inline __attribute__((always_inline)) void
add(itg_neon_pairs sum[PAIRS], const uint64x2_t *x, const int8_t *b, const int pairs)
{
    for (int i = 0; i < ITG_NEON_COLUMN_PAIRS; i++) {
        const int8x16_t w = vld1q_s8(b + 16 * i);
        for (int r = 0; r < pairs; r++)
            sum[r].at[i] = vusmmlaq_s32(sum[r].at[i], vreinterpretq_u8_u64(x[r]), w);
    }
}

/* Adds sixteen. a: of row 0. */
static inline __attribute__((always_inline)) void add_two(itg_neon_pairs sum[PAIRS],
                                                          const uint8_t *a, int64_t stride,
                                                          const int8_t *b, const int pairs)
{
    uint64x2_t first[PAIRS], second[PAIRS];
    for (int r = 0; r < pairs; r++) {
        const uint64x2_t upper = vreinterpretq_u64_u8(vld1q_u8(a + 2 * r * stride));
        const uint64x2_t lower = vreinterpretq_u64_u8(vld1q_u8(a + (2 * r + 1) * stride));
        first[r] = vzip1q_u64(upper, lower);
        second[r] = vzip2q_u64(upper, lower);
    }
    add(sum, first, b, pairs);
    add(sum, second, b + DEPTH * ITG_PANEL_COLUMNS, pairs);
}

/* Sums `pairs` pairs of rows, a constant, by a panel. */
static inline __attribute__((always_inline)) void block(const itg_accel_tile *t, int64_t row,
                                                        int64_t panel, const int pairs)
{
    const int64_t depth = itg_accel_run_depth(t);
    itg_neon_pairs sum[PAIRS];
    for (int r = 0; r < pairs; r++)
        sum[r] = itg_neon_no_pairs();
    for (int64_t k = 0; k < t->steps; k += t->run_steps) {
        const uint8_t *a = t->a + row * t->a_stride + t->offset[k];
        const int8_t *b = t->b + panel * t->b_stride + k * ITG_STEP_BYTES;
        for (int64_t d = 0; d < depth; d += 2 * DEPTH, b += 2 * DEPTH * ITG_PANEL_COLUMNS)
            add_two(sum, a + d, t->a_stride, b, pairs);
    }
    for (int r = 0; r < pairs; r++)
        store_pair(t, row + 2 * r, panel, &sum[r]);
}

static void two_pairs(const itg_accel_tile *t, int64_t row, int64_t panel)
{
    block(t, row, panel, 2);
}

static void one_pair(const itg_accel_tile *t, int64_t row, int64_t panel)
{
    block(t, row, panel, 1);
}

static void one_row(const itg_accel_tile *t, int64_t row, int64_t panel)
{
    const int64_t depth = itg_accel_run_depth(t);
    itg_neon_pairs sum = itg_neon_no_pairs();
    for (int64_t k = 0; k < t->steps; k += t->run_steps) {
        const uint8_t *a = t->a + row * t->a_stride + t->offset[k];
        const int8_t *b = t->b + panel * t->b_stride + k * ITG_STEP_BYTES;
        for (int64_t d = 0; d < depth; d += DEPTH, b += DEPTH * ITG_PANEL_COLUMNS) {
            const uint8x8_t codes = vld1_u8(a + d);
            const uint8x16_t x = vcombine_u8(codes, codes);
            for (int i = 0; i < ITG_NEON_COLUMN_PAIRS; i++)
                sum.at[i] = vusdotq_s32(sum.at[i], x, vld1q_s8(b + 16 * i));
        }
    }
    const itg_neon_row joined = itg_neon_join(&sum);
    itg_neon_store(t, row, panel, &joined);
}

static void tile(const itg_accel_tile *t)
{
    for (int64_t p = 0; p < t->panels; p++) {
        int64_t row = 0;
        for (; t->rows - row > 2; row += 2 * PAIRS)
            two_pairs(t, row, p);
        if (t->rows - row == 2)
            one_pair(t, row, p);
        else if (t->rows - row == 1)
            one_row(t, row, p);
    }
}

static int64_t peak(int64_t rounds)
{
    enum { PRODUCTS = 32 };
    for (int64_t k = 0; k < rounds; k++)
        ITG_NEON_PEAK("usmmla");
    return rounds * ITG_NEON_PEAK_SUMS * PRODUCTS;
}

const itg_accel_kernels itg_accel_i8mm = {
    .name = "i8mm",
    .granule = 2 * DEPTH,
    .step_cycles = 16,
    .usable = itg_accel_has_i8mm,
    .eights = true,
    .tile = tile,
    .depthwise = itg_depthwise_neon,
    .lanes = itg_lanes_neon,
    .peak = peak,
};
#endif
