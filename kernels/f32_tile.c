#include "kernels/f32_tile.h"
#include "kernels/clones.h"
#include "kernels/requant.h"

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#if defined(__GNUC__) && defined(__x86_64__) && FLT_EVAL_METHOD == 0
#define ITG_TILES_X86
#include <immintrin.h>
#elif defined(__GNUC__) && defined(__aarch64__) && FLT_EVAL_METHOD == 0
#define ITG_TILES_NEON
#include <arm_neon.h>
#endif
#define LANES(TYPE) ((int)(sizeof(TYPE) / sizeof(float)))

/* Defines the tile of ROWS x VECTORS vectors. Both are constants, so the loops over them unroll and
 * the sums stay in registers. SPLAT(x) has x in all lanes, ADD(x, w, sum) is x * w + sum, rounded
 * once. Fields that the loops need are read in front of them: GCC reads them anew for each plane
 * otherwise. */
#define DEFINE_TILE(NAME, TARGET, TYPE, SPLAT, ADD, ROWS, VECTORS)                                 \
    TARGET static void NAME(const itg_f32_tile *tile, const int64_t *from, const int64_t *to)      \
    {                                                                                              \
        TYPE sum[ROWS][VECTORS], x[VECTORS];                                                       \
        const float *row = tile->rows, *at[VECTORS];                                               \
        float *out[VECTORS];                                                                       \
        const int64_t row_stride = tile->row_stride, plane_stride = tile->plane_stride;            \
        const int64_t planes = tile->planes, taps = tile->taps, *const offset = tile->offset;      \
        ITG_UNROLL                                                                                 \
        for (int v = 0; v < VECTORS; ++v) {                                                        \
            at[v] = tile->lanes + from[v];                                                         \
            out[v] = tile->out + to[v];                                                            \
        }                                                                                          \
        if (tile->start) {                                                                         \
            ITG_UNROLL                                                                             \
            for (int i = 0; i < ROWS * VECTORS; ++i)                                               \
                sum[i / VECTORS][i % VECTORS] = SPLAT(tile->start[i / VECTORS]);                   \
        } else {                                                                                   \
            ITG_UNROLL                                                                             \
            for (int i = 0; i < ROWS * VECTORS; ++i)                                               \
                memcpy(&sum[i / VECTORS][i % VECTORS],                                             \
                       out[i % VECTORS] + i / VECTORS * tile->out_stride, sizeof(TYPE));           \
        }                                                                                          \
        for (int64_t plane = 0; plane < planes; ++plane) {                                         \
            for (int64_t tap = 0; tap < taps; ++tap) {                                             \
                ITG_UNROLL                                                                         \
                for (int v = 0; v < VECTORS; ++v)                                                  \
                    memcpy(&x[v], at[v] + offset[tap], sizeof(TYPE));                              \
                ITG_UNROLL                                                                         \
                for (int i = 0; i < ROWS * VECTORS; ++i)                                           \
                    sum[i / VECTORS][i % VECTORS] =                                                \
                        ADD(x[i % VECTORS], row[i / VECTORS * row_stride],                         \
                            sum[i / VECTORS][i % VECTORS]);                                        \
                ++row;                                                                             \
            }                                                                                      \
            ITG_UNROLL                                                                             \
            for (int v = 0; v < VECTORS; ++v)                                                      \
                at[v] += plane_stride;                                                             \
        }                                                                                          \
        ITG_UNROLL                                                                                 \
        for (int i = 0; i < ROWS * VECTORS; ++i)                                                   \
            memcpy(out[i % VECTORS] + i / VECTORS * tile->out_stride,                              \
                   &sum[i / VECTORS][i % VECTORS], sizeof(TYPE));                                  \
    }

#define DEFINE_DOTS(NAME, TARGET, ADD)                                                             \
    TARGET static void NAME(const float *a, const float *b, int64_t b_stride, int64_t count,       \
                            float *sums)                                                           \
    {                                                                                              \
        float sum[ITG_F32_DOTS];                                                                   \
        memcpy(sum, sums, sizeof sum);                                                             \
        for (int64_t i = 0; i < count; ++i)                                                        \
            ITG_UNROLL                                                                             \
        for (int j = 0; j < ITG_F32_DOTS; ++j)                                                     \
            sum[j] = ADD(a[i], b[j * b_stride + i], sum[j]);                                       \
        memcpy(sums, sum, sizeof sum);                                                             \
    }

#define DEFINE_TILES(NAME, TARGET, TYPE, SPLAT, ADD, ADD_ONE, ROWS, WIDE, ROW_WIDE)                \
    DEFINE_TILE(NAME##_wide, TARGET, TYPE, SPLAT, ADD, ROWS, WIDE)                                 \
    DEFINE_TILE(NAME##_two, TARGET, TYPE, SPLAT, ADD, ROWS, 2)                                     \
    DEFINE_TILE(NAME##_narrow, TARGET, TYPE, SPLAT, ADD, ROWS, 1)                                  \
    DEFINE_TILE(NAME##_row_wide, TARGET, TYPE, SPLAT, ADD, 1, ROW_WIDE)                            \
    DEFINE_TILE(NAME##_row_narrow, TARGET, TYPE, SPLAT, ADD, 1, 1)                                 \
    DEFINE_DOTS(NAME##_dots, TARGET, ADD_ONE)                                                      \
    static const itg_f32_tiles NAME##_tiles = {#NAME,           ROWS,                              \
                                               LANES(TYPE),     WIDE,                              \
                                               ROW_WIDE,        NAME##_wide,                       \
                                               NAME##_two,      NAME##_narrow,                     \
                                               NAME##_row_wide, NAME##_row_narrow,                 \
                                               NAME##_dots};

#if defined(__FP_FAST_FMAF)
#define ADD_FLOAT(x, w, sum) __builtin_fmaf(x, w, sum)
#else
#define ADD_FLOAT(x, w, sum) itg_fma_f32(x, w, sum)
#endif
#define SPLAT_FLOAT(x) (x)
#define ANY
#if defined(ITG_TILES_NEON)
#define ADD_4(x, w, sum) vfmaq_n_f32(sum, x, w)
DEFINE_TILES(portable, ANY, float32x4_t, vdupq_n_f32, ADD_4, ADD_FLOAT, 8, 2, 8)
#else
DEFINE_TILES(portable, ANY, float, SPLAT_FLOAT, ADD_FLOAT, ADD_FLOAT, 4, 2, 8)
#endif

#if defined(ITG_TILES_X86)
#define FMA __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,fma")))
#define ADD_ONE(x, w, sum) __builtin_fmaf(x, w, sum)
#define ADD_8(x, w, sum) _mm256_fmadd_ps(x, _mm256_set1_ps(w), sum)
#define ADD_16(x, w, sum) _mm512_fmadd_ps(x, _mm512_set1_ps(w), sum)
DEFINE_TILES(fma, FMA, __m256, _mm256_set1_ps, ADD_8, ADD_ONE, 4, 3, 8)
DEFINE_TILES(avx512, AVX512, __m512, _mm512_set1_ps, ADD_16, ADD_ONE, 8, 3, 4)
#endif

const itg_f32_tiles *itg_f32_tiles_at(int index)
{
    const itg_f32_tiles *runnable[4] = {&portable_tiles};
    int count = 1;
#if defined(ITG_TILES_X86)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        runnable[count++] = &fma_tiles;
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

void itg_f32_tiles_run(const itg_f32_tiles *tiles, int64_t rows, const itg_f32_tile *tile,
                       int64_t count, const int64_t *from, const int64_t *to)
{
    const int64_t wide = rows == 1 ? tiles->row_wide : tiles->wide;
    const itg_f32_tile_fn run_wide = rows == 1 ? tiles->run_row_wide : tiles->run_wide;
    const itg_f32_tile_fn run_two = rows == 1 ? tiles->run_row_wide : tiles->run_two;
    const itg_f32_tile_fn run_narrow = rows == 1 ? tiles->run_row_narrow : tiles->run_narrow;
    for (int64_t first = 0; first < count; first += wide) {
        const int64_t left = count - first;
        int64_t tile_from[ITG_F32_MAX_VECTORS], tile_to[ITG_F32_MAX_VECTORS];
        for (int64_t v = 0; v < wide; ++v) { /* the last vector again where none is left */
            const int64_t at = first + (v < left ? v : left - 1);
            tile_from[v] = from ? from[at] : at * tiles->lanes;
            tile_to[v] = to ? to[at] : at * tiles->lanes;
        }
        (left == 1 ? run_narrow : left == 2 ? run_two : run_wide)(tile, tile_from, tile_to);
    }
}
