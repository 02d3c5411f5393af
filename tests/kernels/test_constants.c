/* Constants with a scale for each column: codes, sums and exchanged matrices against their
 * definitions. */
#include "tests/base/cmocka_base.h"
#include "base/base.h"
#include "base/packed.h"
#include "kernels/constants.h"
#include "kernels/requant.h"
#include <math.h>
#include <string.h>

enum { MATRICES = 2, MOST_ROWS = 70, MOST_COLUMNS = 1100 };
static float data[MATRICES * MOST_ROWS * MOST_COLUMNS];
static float scales[MOST_COLUMNS];

static void fill(uint64_t seed)
{
    itg_rng rng;
    itg_rng_init(&rng, seed);
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        data[i] = (float)(itg_rng_unit(&rng) - 0.5) * 3;
    for (int i = 0; i < MOST_COLUMNS; i++)
        scales[i] = (float)(itg_rng_unit(&rng) + 0.01) / 50;
    data[3] = NAN;
    data[5] = INFINITY;
    data[7] = -INFINITY;
}

static void check_sums(const itg_constant *made, const itg_quantizer *q, int64_t terms,
                       int64_t channels, int64_t step, int64_t stride)
{
    assert_int_equal(made->channels, channels);
    for (int64_t c = 0; c < channels; c++) {
        int64_t above = 0, below = 0;
        for (int64_t k = 0; k < terms; k++) {
            int64_t v = itg_load(q->storage, made->codes, c * step + k * stride) - q->zero_point;
            *(v > 0 ? &above : &below) += v;
        }
        assert_int_equal(made->above[c], above);
        assert_int_equal(made->below[c], below);
    }
}

static void check_one(int64_t rows, int64_t columns, itg_quantizer q)
{
    const int64_t elements = MATRICES * rows * columns;
    q.scale = scales;
    q.scale_count = (int32_t)columns;
    q.axis = 2;
    const itg_constant_source source = {
        data, NULL, {3, {MATRICES, rows, columns}}, &q, .last_axis = true};
    itg_cache *cache = NULL;
    assert_int_equal(itg_cache_create((size_t)1 << 24, &cache, NULL), ITG_OK);
    const itg_constant *made = itg_constant_take(cache, NULL, &source);
    assert_non_null(made);
    for (int64_t i = 0; i < elements; i++)
        assert_int_equal(
            itg_load(q.storage, made->codes, i),
            itg_quantize_f32(data[i], scales[i % columns], q.zero_point, q.qmin, q.qmax));
    check_sums(made, &q, MATRICES * rows, columns, 1, columns);
    const itg_constant *turned = itg_constant_exchange(cache, made, &source.shape, &q);
    assert_non_null(turned);
    for (int64_t i = 0; i < elements; i++) {
        int64_t matrix = i / (rows * columns), row = i / columns % rows, column = i % columns;
        assert_int_equal(
            itg_load(q.storage, turned->codes, (matrix * columns + column) * rows + row),
            itg_load(q.storage, made->codes, i));
    }
    check_sums(turned, &q, rows, MATRICES * columns, rows, 1);
    itg_cache_release(cache, made);
    itg_cache_release(cache, turned);
    itg_cache_destroy(cache);
}

static void columns_are_what_they_are_by_definition(void **state)
{
    (void)state;
    static const itg_quantizer quantizers[] = {
        {.bits = 8, .qmin = -127, .qmax = 127, .storage = ITG_S8, .is_signed = true},
        {.bits = 8, .qmin = 0, .qmax = 255, .zero_point = 130, .storage = ITG_U8},
        {.bits = 16, .qmin = -32767, .qmax = 32767, .storage = ITG_S16, .is_signed = true},
        {.bits = 16, .qmin = 0, .qmax = 65535, .zero_point = 7, .storage = ITG_U16},
        {.bits = 32, .qmin = INT32_MIN, .qmax = INT32_MAX, .storage = ITG_S32, .is_signed = true},
    };
    static const int64_t shapes[][2] = {{1, 1}, {1, 7}, {33, 1}, {64, 96}, {70, 1100}, {31, 33}};
    fill(1);
    for (size_t q = 0; q < sizeof quantizers / sizeof *quantizers; q++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            check_one(shapes[s][0], shapes[s][1], quantizers[q]);
}

/* A scale's codes are least[c] to least[c] + span: the nearest ones, and packed ones, which are
 * counted from the middle. */
static void codes_lie_within_the_span_of_their_scale(void **state)
{
    enum { ROWS = 5, COLUMNS = 6, BITS = 3, SPAN = 7 };
    static const int32_t least[COLUMNS] = {0, -7, -3, -5, -1, -2};
    static const int axes[] = {-1, 0, 1};
    unsigned char packed[(ROWS * COLUMNS * BITS + 7) / 8];
    (void)state;
    fill(3);
    for (size_t a = 0; a < sizeof axes / sizeof *axes; a++) {
        const int32_t count = axes[a] < 0 ? 1 : axes[a] == 0 ? ROWS : COLUMNS;
        const itg_quantizer q = {.bits = BITS,
                                 .is_signed = true,
                                 .storage = ITG_S8,
                                 .qmin = -SPAN,
                                 .qmax = SPAN,
                                 .axis = axes[a],
                                 .scale_count = count,
                                 .scale = scales};
        assert_true(itg_has_zero_points(&q));
        itg_constant_source source = {.data = data,
                                      .shape = {2, {ROWS, COLUMNS}},
                                      .q = &q,
                                      .last_axis = axes[a] == 1,
                                      .least = least,
                                      .span = SPAN};
        itg_cache *cache = NULL;
        assert_int_equal(itg_cache_create((size_t)1 << 20, &cache, NULL), ITG_OK);
        const itg_constant *nearest = itg_constant_take(cache, NULL, &source);
        memset(packed, 0, sizeof packed);
        for (int64_t i = 0; i < (int64_t)ROWS * COLUMNS; i++)
            itg_packed_put(packed, BITS, true, i, i % (SPAN + 1) - 4);
        source.packed = packed;
        const itg_constant *given = itg_constant_take(cache, NULL, &source);
        assert_non_null(nearest);
        assert_non_null(given);
        for (int64_t i = 0; i < (int64_t)ROWS * COLUMNS; i++) {
            const int64_t c = axes[a] < 0 ? 0 : axes[a] == 0 ? i / COLUMNS : i % COLUMNS;
            assert_int_equal(itg_load(ITG_S8, nearest->codes, i),
                             itg_quantize_f32(data[i], scales[c], 0, least[c], least[c] + SPAN));
            assert_int_equal(itg_load(ITG_S8, given->codes, i), least[c] + i % (SPAN + 1));
        }
        itg_cache_release(cache, nearest);
        itg_cache_release(cache, given);
        itg_cache_destroy(cache);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_lie_within_the_span_of_their_scale),
        cmocka_unit_test(columns_are_what_they_are_by_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
