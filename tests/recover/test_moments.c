/* Sums of products equal those of plain 64-bit integers. */
#include "recover/moments.h"
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct matrix {
    int64_t groups, rows, columns, most;
    int32_t planes;
    int64_t *values; /* [groups][rows][columns] */
    itg_digits digits;
} matrix;

static int64_t at(const matrix *m, int64_t g, int64_t row, int64_t column)
{
    return m->values[(g * m->rows + row) * m->columns + column];
}

/* Values up to `most`, both ends among them. */
static matrix make(itg_rng *rng, int64_t groups, int64_t rows, int64_t columns, int32_t planes,
                   int64_t most)
{
    matrix m = {groups, rows, columns, most, planes, NULL, {0}};
    int32_t row[512];
    m.values = malloc((size_t)(groups * rows * columns) * sizeof *m.values);
    assert_int_equal(itg_digits_create(groups, rows, columns, planes, &m.digits, NULL), ITG_OK);
    for (int64_t g = 0; g < groups; g++)
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t c = 0; c < columns; c++) {
                int64_t v = (int64_t)itg_rng_below(rng, (uint64_t)(2 * most + 1)) - most;
                if (c % 7 == 0) v = (r + c) % 2 ? most : -most;
                m.values[(g * rows + r) * columns + c] = v;
                row[c % 512] = (int32_t)v;
                if (c % 512 != 511 && c + 1 < columns) continue;
                itg_digits_set(&m.digits, g, r, c / 512 * 512, row, c % 512 + 1);
            }
        }
    return m;
}

static void end(matrix *m)
{
    itg_digits_deinit(&m->digits);
    free(m->values);
}

static int64_t product(const matrix *a, const matrix *b, int64_t g, int64_t i, int64_t j)
{
    int64_t sum = 0;
    for (int64_t c = 0; c < a->columns; c++)
        sum += at(a, g, i, c) * at(b, g, j, c);
    return sum;
}

static void check(const matrix *a, const matrix *b, bool upper)
{
    int64_t *sums = calloc((size_t)(a->rows * b->rows), sizeof *sums);
    for (int64_t g = 0; g < a->groups; g++) {
        for (int64_t i = 0; i < a->rows * b->rows; i++)
            sums[i] = 5;
        const int64_t tiles = itg_digits_tiles(&a->digits);
        for (int64_t t = 0; t < tiles; t += 2)
            itg_moments_add(&a->digits, &b->digits, g, t, t + 2 < tiles ? t + 2 : tiles, upper,
                            sums);
        for (int64_t i = 0; i < a->rows; i++)
            for (int64_t j = 0; j < b->rows; j++) {
                bool made = !upper || j / ITG_MOMENTS_TILE >= i / ITG_MOMENTS_TILE;
                assert_int_equal(sums[i * b->rows + j], made ? 5 + product(a, b, g, i, j) : 5);
            }
    }
    free(sums);
}

static void products_are_exact(void **state)
{
    (void)state;
    static const struct {
        int64_t groups, rows, other, columns;
    } sizes[] = {{1, 1, 1, 1}, {1, 9, 5, 1030}, {3, 4, 1, 64}, {2, 13, 7, 100}, {1, 6, 6, 8192}};
    itg_rng rng;
    itg_rng_init(&rng, 3);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        matrix a = make(&rng, sizes[i].groups, sizes[i].rows, sizes[i].columns, 1, 256),
               wide = make(&rng, sizes[i].groups, sizes[i].other, sizes[i].columns, 2, 65535 / 2),
               t = make(&rng, sizes[i].groups, sizes[i].other, sizes[i].columns, 3, 8000000);
        check(&a, &a, true);
        check(&wide, &wide, false);
        check(&t, &a, false);
        check(&t, &wide, false);
        end(&a);
        end(&wide);
        end(&t);
    }
}

static void sums_of_rows(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 4);
    matrix m = make(&rng, 2, 6, 333, 3, 8000000);
    for (int64_t g = 0; g < 2; g++)
        for (int64_t r = 0; r < 6; r++) {
            int64_t sum = 0;
            for (int64_t c = 0; c < m.columns; c++)
                sum += at(&m, g, r, c);
            assert_int_equal(itg_digits_sum(&m.digits, g, r), sum);
        }
    itg_digits_clear(&m.digits);
    assert_int_equal(itg_digits_sum(&m.digits, 1, 5), 0);
    end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_exact),
                                       cmocka_unit_test(sums_of_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
