/* The inner loop of convolution and matrix product: a tile of sums in vector registers. Each sum is
 * added in one fixed order, each product and its addition by one fusedMultiplyAdd (IEEE 754-2008,
 * 5.4.1), so results do not depend on the tile size or the instruction set. Private to kernels/. */
#ifndef ITG_F32_TILE_H
#define ITG_F32_TILE_H
#include <stdint.h>

/* out[r][to + l] = fma(x[1][l], row[r][1], fma(x[0][l], row[r][0], start)) ..., over steps (plane,
 * tap), taps innermost; start is start[r], or out[r][to + l] of before. x of a step starts at lanes
 * + from + plane * plane_stride + offset[tap]. rows [rows of the tile][planes * taps], row_stride
 * floats apart. from and to are each vector's own. */
typedef struct itg_f32_tile {
    float *out;
    int64_t out_stride;
    const float *start; /* [rows]; NULL: out holds it */
    const float *rows;
    int64_t row_stride;
    const float *lanes;
    int64_t planes, plane_stride, taps;
    const int64_t *offset;
} itg_f32_tile;

/* from, to [vectors] */
typedef void (*itg_f32_tile_fn)(const itg_f32_tile *tile, const int64_t *from, const int64_t *to);

/* Tiles of one instruction set: `rows` x `wide` vectors, rows x 2, rows x 1; 1 x row_wide, 1 x 1.
 * They read and write whole vectors of `lanes` floats. */
typedef struct itg_f32_tiles {
    const char *name;
    int64_t rows, lanes, wide, row_wide;
    itg_f32_tile_fn run_wide, run_two, run_narrow, run_row_wide, run_row_narrow;
    /* sums[j] = fma(a[i], b[j * b_stride + i], sums[j]), i ascending; j below ITG_F32_DOTS */
    void (*dots)(const float *a, const float *b, int64_t b_stride, int64_t count, float *sums);
} itg_f32_tiles;

#define ITG_F32_MAX_LANES 16
#define ITG_F32_MAX_VECTORS 8
#define ITG_F32_MAX_ROWS 8
#define ITG_F32_DOTS 8

const itg_f32_tiles *itg_f32_tiles_best(void);
/* The sets that this machine can run, the portable one first; NULL behind the last. For tests. */
const itg_f32_tiles *itg_f32_tiles_at(int index);
/* Computes `count` vectors of `rows` (the full tile, or 1) rows. from, to [count], both NULL:
 * vectors lie next to each other. They may overlap in out where start is given. */
void itg_f32_tiles_run(const itg_f32_tiles *tiles, int64_t rows, const itg_f32_tile *tile,
                       int64_t count, const int64_t *from, const int64_t *to);
#endif
