#include "kernels/f32_tile.h"

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* GNU vectors keep a tile in registers and round each element operation as scalar code does.
 * Without them, or if float expressions are evaluated in a wider type (s390x in ISO mode), a
 * "vector" is one float, which is rounded when it is assigned. */
#if defined(__GNUC__) && FLT_EVAL_METHOD == 0
#define ITG_GNU_VECTORS
typedef float vector4 __attribute__((vector_size(16)));
typedef float vector8 __attribute__((vector_size(32)));
typedef float vector16 __attribute__((vector_size(64)));
#else
typedef float vector4;
#endif
#define LANES(TYPE) ((int)(sizeof(TYPE) / sizeof(float)))

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

/* Defines the tile of ROWS x VECTORS vectors. Both are constants, so the loops over them unroll and
 * the sums stay in registers. The product is rounded before it is added. */
#define DEFINE_TILE(NAME, TARGET, TYPE, ROWS, VECTORS)                                             \
    TARGET static void NAME(const itg_f32_tile *tile)                                              \
    {                                                                                              \
        TYPE sum[ROWS][VECTORS], x[VECTORS];                                                       \
        const float *row = tile->rows;                                                             \
        UNROLL                                                                                     \
        for (int i = 0; i < ROWS * VECTORS; ++i)                                                   \
            memcpy(&sum[i / VECTORS][i % VECTORS],                                                 \
                   tile->out + i / VECTORS * tile->out_stride + i % VECTORS * LANES(TYPE),         \
                   sizeof(TYPE));                                                                  \
        for (int64_t plane = 0; plane < tile->planes; ++plane) {                                   \
            const float *base = tile->lanes + plane * tile->plane_stride;                          \
            for (int64_t tap = 0; tap < tile->taps; ++tap) {                                       \
                UNROLL                                                                             \
                for (int v = 0; v < VECTORS; ++v)                                                  \
                    memcpy(&x[v], base + tile->offset[tap] + v * LANES(TYPE), sizeof(TYPE));       \
                UNROLL                                                                             \
                for (int i = 0; i < ROWS * VECTORS; ++i) {                                         \
                    const TYPE product = x[i % VECTORS] * row[i / VECTORS];                        \
                    sum[i / VECTORS][i % VECTORS] = sum[i / VECTORS][i % VECTORS] + product;       \
                }                                                                                  \
                row += ROWS;                                                                       \
            }                                                                                      \
        }                                                                                          \
        UNROLL                                                                                     \
        for (int i = 0; i < ROWS * VECTORS; ++i)                                                   \
            memcpy(tile->out + i / VECTORS * tile->out_stride + i % VECTORS * LANES(TYPE),         \
                   &sum[i / VECTORS][i % VECTORS], sizeof(TYPE));                                  \
    }

#define DEFINE_TILES(NAME, TARGET, TYPE, ROWS, WIDE, ROW_WIDE)                                     \
    DEFINE_TILE(NAME##_wide, TARGET, TYPE, ROWS, WIDE)                                             \
    DEFINE_TILE(NAME##_narrow, TARGET, TYPE, ROWS, 1)                                              \
    DEFINE_TILE(NAME##_row_wide, TARGET, TYPE, 1, ROW_WIDE)                                        \
    DEFINE_TILE(NAME##_row_narrow, TARGET, TYPE, 1, 1)                                             \
    static const itg_f32_tiles NAME##_tiles = {#NAME,                                              \
                                               ROWS,                                               \
                                               LANES(TYPE) * (WIDE),                               \
                                               LANES(TYPE),                                        \
                                               LANES(TYPE) * (ROW_WIDE),                           \
                                               NAME##_wide,                                        \
                                               NAME##_narrow,                                      \
                                               NAME##_row_wide,                                    \
                                               NAME##_row_narrow};

#define PORTABLE
DEFINE_TILES(portable, PORTABLE, vector4, 4, 2, 8)

/* Sums must not be contracted: avx2 has no fma; for avx512f, -ffp-contract=off forbids it. */
#if defined(ITG_GNU_VECTORS) && defined(__x86_64__)
#define ITG_TILES_X86
DEFINE_TILES(avx2, __attribute__((target("avx2"))), vector8, 4, 2, 8)
DEFINE_TILES(avx512, __attribute__((target("avx512f"))), vector16, 8, 2, 4)
#endif

const itg_f32_tiles *itg_f32_tiles_at(int index)
{
    const itg_f32_tiles *runnable[4] = {&portable_tiles};
    int count = 1;
#if defined(ITG_TILES_X86)
    if (__builtin_cpu_supports("avx2")) runnable[count++] = &avx2_tiles;
    if (__builtin_cpu_supports("avx512f")) runnable[count++] = &avx512_tiles;
#endif
    return index >= 0 && index < count ? runnable[index] : NULL;
}

const itg_f32_tiles *itg_f32_tiles_best(void)
{
    const itg_f32_tiles *best = itg_f32_tiles_at(0);
    for (int i = 1; itg_f32_tiles_at(i); ++i)
        best = itg_f32_tiles_at(i);
    return best;
}

int64_t itg_f32_tiles_padded(int64_t count)
{
    return (count + ITG_F32_MAX_LANES - 1) / ITG_F32_MAX_LANES * ITG_F32_MAX_LANES;
}

void itg_f32_tiles_run(const itg_f32_tiles *tiles, int64_t rows, int64_t count, itg_f32_tile tile)
{
    const int64_t wide = rows == 1 ? tiles->row_wide_lanes : tiles->wide_lanes;
    int64_t done = 0;
    while (done < count) {
        const bool is_wide = count - done > tiles->narrow_lanes && wide > tiles->narrow_lanes;
        if (rows == 1) {
            (is_wide ? tiles->row_wide : tiles->row_narrow)(&tile);
        } else {
            (is_wide ? tiles->wide : tiles->narrow)(&tile);
        }
        const int64_t step = is_wide ? wide : tiles->narrow_lanes;
        tile.out += step;
        tile.lanes += step;
        done += step;
    }
}
