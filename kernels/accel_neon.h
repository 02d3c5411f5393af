/* What the kernel sets of aarch64 share. */
#ifndef ITG_ACCEL_NEON_H
#define ITG_ACCEL_NEON_H
#include "kernels/accel_parts.h"
#include <arm_neon.h>

enum {
    ITG_NEON_VECTORS = ITG_PANEL_COLUMNS / 4, /* of the sums of a panel's row */
    ITG_NEON_COLUMN_PAIRS = ITG_PANEL_COLUMNS / 2,
    ITG_NEON_QUADS = ITG_STEP_DEPTH / 4,
    ITG_NEON_QUAD_BYTES = 4 * ITG_PANEL_COLUMNS
};

/* The sums of one row and one panel. */
typedef struct itg_neon_row {
    int32x4_t at[ITG_NEON_VECTORS];
} itg_neon_row;

static inline void itg_neon_store(const itg_accel_tile *t, int64_t row, int64_t panel,
                                  const itg_neon_row *sums)
{
    int32_t *c = t->c + row * ITG_TILE_COLUMNS + panel * ITG_PANEL_COLUMNS;
    for (int i = 0; i < ITG_NEON_VECTORS; i++)
        vst1q_s32(c + 4 * i, sums->at[i]);
}

/* Four sums for each two columns of a panel: of two rows, row by row, or of parts of one row's
 * depth, column by column. */
typedef struct itg_neon_pairs {
    int32x4_t at[ITG_NEON_COLUMN_PAIRS];
} itg_neon_pairs;

static inline itg_neon_pairs itg_neon_no_pairs(void)
{
    itg_neon_pairs sums;
    for (int i = 0; i < ITG_NEON_COLUMN_PAIRS; i++)
        sums.at[i] = vdupq_n_s32(0);
    return sums;
}

/* The sums of a row whose parts these are. */
static inline itg_neon_row itg_neon_join(const itg_neon_pairs *parts)
{
    itg_neon_row row;
    for (int i = 0; i < ITG_NEON_VECTORS; i++)
        row.at[i] = vpaddq_s32(parts->at[2 * i], parts->at[2 * i + 1]);
    return row;
}

/* For `peak`: an instruction on twelve independent sums, in assembly so that the compiler cannot
 * merge or remove them. */
enum { ITG_NEON_PEAK_SUMS = 12 };
#define ITG_NEON_ONE(name, i) name " v" #i ".4s, v12.16b, v13.16b\n"
#define ITG_NEON_FOUR(name, a, b, c, d)                                                            \
    ITG_NEON_ONE(name, a) ITG_NEON_ONE(name, b) ITG_NEON_ONE(name, c) ITG_NEON_ONE(name, d)
#define ITG_NEON_PEAK(name)                                                                        \
    __asm__ volatile(ITG_NEON_FOUR(name, 0, 1, 2, 3) ITG_NEON_FOUR(name, 4, 5, 6, 7)               \
                         ITG_NEON_FOUR(name, 8, 9, 10, 11)                                         \
                     :                                                                             \
                     :                                                                             \
                     : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",   \
                       "v12", "v13")

/* 128 times the sum of each column's weights, of a panel of quads: with s = x - 128, which differs
 * from x in the highest bit and is signed, sum x w = sum s w + 128 sum w. */
static inline itg_neon_row itg_neon_offsets(const itg_accel_tile *t, int64_t panel)
{
    const int8_t *b = t->b + panel * t->b_stride;
    itg_neon_row sum;
    for (int i = 0; i < ITG_NEON_VECTORS; i++)
        sum.at[i] = vdupq_n_s32(0);
    for (int64_t k = 0; k < t->steps * ITG_NEON_QUADS; k++, b += ITG_NEON_QUAD_BYTES)
        for (int i = 0; i < ITG_NEON_VECTORS; i++)
            sum.at[i] = vpadalq_s16(sum.at[i], vpaddlq_s8(vld1q_s8(b + 16 * i)));
    for (int i = 0; i < ITG_NEON_VECTORS; i++)
        sum.at[i] = vshlq_n_s32(sum.at[i], 7);
    return sum;
}
#endif
