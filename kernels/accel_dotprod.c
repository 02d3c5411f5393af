/* Tiles by the dot product instructions of Armv8.2 (FEAT_DotProd): sdot sums four products of
 * signed bytes modulo 2^32. An input x is unsigned; with s = x - 128, which differs from x in the
 * highest bit, sum x w = sum s w + 128 sum w. */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_NEON)
#include "kernels/accel_neon.h"

enum { ROWS = 4, GRANULE = 16 /* values of depth that a vector of inputs holds */ };

/* Adds a quad of depth, the one of that lane: 16 columns by `rows`. */
#define ADD_QUAD(lane)                                                                             \
    for (int i = 0; i < ITG_NEON_VECTORS; i++) {                                                   \
        const int8x16_t w = vld1q_s8(b + (lane)*ITG_NEON_QUAD_BYTES + 16 * i);                     \
        for (int r = 0; r < rows; r++)                                                             \
            sum[r].at[i] = vdotq_laneq_s32(sum[r].at[i], w, x[r], lane);                           \
    }

/* Sums `rows` rows, a constant, by a panel. */
static inline __attribute__((always_inline)) void block(const itg_accel_tile *t, int64_t row,
                                                        int64_t panel, const itg_neon_row *offsets,
                                                        const int rows)
{
    const int8x16_t flip = vdupq_n_s8(INT8_MIN);
    const int64_t depth = itg_accel_run_depth(t);
    itg_neon_row sum[ROWS];
    for (int r = 0; r < rows; r++)
        sum[r] = *offsets;
    for (int64_t k = 0; k < t->steps; k += t->run_steps) {
        const uint8_t *a = t->a + row * t->a_stride + t->offset[k];
        const int8_t *b = t->b + panel * t->b_stride + k * ITG_STEP_BYTES;
        for (int64_t d = 0; d < depth; d += GRANULE, b += GRANULE * ITG_PANEL_COLUMNS) {
            int8x16_t x[ROWS];
            for (int r = 0; r < rows; r++)
                x[r] = veorq_s8(vreinterpretq_s8_u8(vld1q_u8(a + r * t->a_stride + d)), flip);
            ADD_QUAD(0)
            ADD_QUAD(1)
            ADD_QUAD(2)
            ADD_QUAD(3)
        }
    }
    for (int r = 0; r < rows; r++)
        itg_neon_store(t, row + r, panel, &sum[r]);
}

static void four_rows(const itg_accel_tile *t, int64_t row, int64_t panel, const itg_neon_row *o)
{
    block(t, row, panel, o, ROWS);
}

static void one_row(const itg_accel_tile *t, int64_t row, int64_t panel, const itg_neon_row *o)
{
    block(t, row, panel, o, 1);
}

static void tile(const itg_accel_tile *t)
{
    for (int64_t p = 0; p < t->panels; p++) {
        const itg_neon_row offsets = itg_neon_offsets(t, p);
        int64_t row = 0;
        for (; t->rows - row >= ROWS / 2; row += ROWS)
            four_rows(t, row, p, &offsets);
        for (; row < t->rows; row++)
            one_row(t, row, p, &offsets);
    }
}

static int64_t peak(int64_t rounds)
{
    enum { PRODUCTS = 16 };
    for (int64_t k = 0; k < rounds; k++)
        ITG_NEON_PEAK("sdot");
    return rounds * ITG_NEON_PEAK_SUMS * PRODUCTS;
}

const itg_accel_kernels itg_accel_dotprod = {
    .name = "dotprod",
    .granule = GRANULE,
    .step_cycles = 32,
    .usable = itg_accel_has_dotprod,
    .tile = tile,
    .depthwise = itg_depthwise_neon,
    .lanes = itg_lanes_neon,
    .peak = peak,
};
#endif
