/* Every instruction set's tiles that this machine runs give the bits of the plain loop. */
#include "float_cases.h"
#include "kernels/f32_tile.h"
#include <math.h>

enum { PLANES = 5, TAPS = 3, COUNT = 300, STRIDE = 384, PLANE = 500, ROW = 17 };

typedef struct buffers {
    float lanes[PLANES * PLANE + STRIDE], rows[ROW * ITG_F32_MAX_ROWS];
    float got[ITG_F32_MAX_ROWS * STRIDE], want[ITG_F32_MAX_ROWS * STRIDE];
} buffers;

static const int64_t offsets[TAPS] = {0, 7, 33};

static void plain(buffers *b, int64_t rows, int64_t count)
{
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t l = 0; l < count; ++l) {
            float sum = b->want[r * STRIDE + l];
            for (int64_t p = 0; p < PLANES; ++p)
                for (int64_t t = 0; t < TAPS; ++t)
                    sum = fmaf(b->lanes[p * PLANE + offsets[t] + l],
                               b->rows[r * ROW + p * TAPS + t], sum);
            b->want[r * STRIDE + l] = sum;
        }
}

/* `starts`: each row starts at one number, and what its memory holds does not matter. */
static void check(const itg_f32_tiles *tiles, int64_t rows, int64_t count, bool starts, buffers *b)
{
    itg_rng rng;
    itg_rng_init(&rng, (uint64_t)(rows * 1000 + count));
    itg_tensor lanes = view(ITG_F32, b->lanes, DIMS(PLANES * PLANE + STRIDE));
    itg_tensor weights = view(ITG_F32, b->rows, DIMS(ROW * ITG_F32_MAX_ROWS));
    itg_tensor before = view(ITG_F32, b->want, DIMS(ITG_F32_MAX_ROWS * STRIDE));
    float start[ITG_F32_MAX_ROWS];
    fill_random(&lanes, &rng, 3.0f);
    fill_random(&weights, &rng, 3.0f);
    fill_random(&before, &rng, 3.0f);
    memcpy(b->got, b->want, sizeof b->got);
    for (int64_t r = 0; r < ITG_F32_MAX_ROWS; ++r) {
        start[r] = r == 0 ? -0.0f : b->want[r * STRIDE];
        for (int64_t l = 0; l < STRIDE && starts; ++l)
            b->want[r * STRIDE + l] = start[r];
    }
    plain(b, rows, count);
    const itg_f32_tile tile = {
        b->got, STRIDE, starts ? start : NULL, b->rows, ROW, b->lanes, PLANES, PLANE,
        TAPS,   offsets};
    itg_f32_tiles_run(tiles, rows, &tile, (count + tiles->lanes - 1) / tiles->lanes, NULL, NULL);
    for (int64_t r = 0; r < rows; ++r)
        assert_memory_equal(b->got + r * STRIDE, b->want + r * STRIDE,
                            (size_t)count * sizeof(float));
}

static void every_instruction_set_gives_the_same_bits(void **state)
{
    static const int64_t counts[] = {1, 3, 4, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130, COUNT};
    buffers *b = malloc(sizeof *b);
    (void)state;
    assert_non_null(b);
    for (int i = 0; itg_f32_tiles_at(i); ++i) {
        const itg_f32_tiles *tiles = itg_f32_tiles_at(i);
        assert_true(tiles->rows <= ITG_F32_MAX_ROWS && tiles->lanes <= ITG_F32_MAX_LANES &&
                    tiles->wide <= ITG_F32_MAX_VECTORS && tiles->row_wide <= ITG_F32_MAX_VECTORS);
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; ++k) {
            for (int starts = 0; starts < 2; ++starts) {
                check(tiles, tiles->rows, counts[k], starts, b);
                check(tiles, 1, counts[k], starts, b);
            }
        }
    }
    free(b);
}

static void the_best_is_one_of_them(void **state)
{
    bool found = false;
    (void)state;
    for (int i = 0; itg_f32_tiles_at(i); ++i)
        found = found || itg_f32_tiles_at(i) == itg_f32_tiles_best();
    assert_true(found);
    assert_null(itg_f32_tiles_at(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(the_best_is_one_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
