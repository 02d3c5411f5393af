#include "recover/moments.h"
#include "kernels/clones.h"
#include <stdlib.h>
#include <string.h>

/* Of a part's columns a tile, and some tiles that it is multiplied with, stay in the caches. */
enum { TILE = ITG_MOMENTS_TILE, PART = ITG_MOMENTS_PART };

static size_t plane_rows(const itg_digits *d)
{
    return (size_t)(d->groups * itg_digits_tiles(d) * TILE);
}

itg_status itg_digits_create(int64_t groups, int64_t rows, int64_t columns, int32_t planes,
                             itg_digits *out, itg_error *err)
{
    itg_digits d = {NULL, groups, rows, columns, planes};
    d.data = calloc(plane_rows(&d) * (size_t)planes, (size_t)columns * sizeof *d.data);
    if (!d.data)
        return itg_fail(err, ITG_NO_MEMORY, "no memory for inputs of %lld terms", (long long)rows);
    *out = d;
    return ITG_OK;
}

void itg_digits_deinit(itg_digits *digits)
{
    free(digits->data);
}

void itg_digits_clear(itg_digits *d)
{
    memset(d->data, 0, plane_rows(d) * (size_t)(d->planes * d->columns) * sizeof *d->data);
}

static int16_t *row_of(const itg_digits *d, int32_t plane, int64_t group, int64_t row)
{
    size_t place =
        (size_t)plane * plane_rows(d) + (size_t)(group * itg_digits_tiles(d) * TILE + row);
    return d->data + place * (size_t)d->columns;
}

/* Takes the lowest digits off. */
ITG_CLONES static void recover_take_digits(int32_t *values, int64_t count, int16_t *out)
{
    for (int64_t i = 0; i < count; i++) {
        const int32_t low = ((values[i] + 128) & 255) - 128;
        out[i] = (int16_t)low;
        values[i] = (values[i] - low) >> 8;
    }
}

ITG_CLONES static void recover_put_digits(const int32_t *values, int64_t count, int16_t *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = (int16_t)values[i];
}

void itg_digits_set(itg_digits *d, int64_t group, int64_t row, int64_t column, int32_t *values,
                    int64_t count)
{
    for (int32_t p = 0; p + 1 < d->planes; p++)
        recover_take_digits(values, count, row_of(d, p, group, row) + column);
    recover_put_digits(values, count, row_of(d, d->planes - 1, group, row) + column);
}

/* Digits are of -256..256, and a row has fewer than 2^20 of them. */
ITG_CLONES static int32_t recover_sum_digits(const int16_t *digits, int64_t count)
{
    int32_t sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += digits[i];
    return sum;
}

int64_t itg_digits_sum(const itg_digits *d, int64_t group, int64_t row)
{
    int64_t sum = 0;
    for (int32_t p = d->planes - 1; p >= 0; p--)
        sum = sum * 256 + recover_sum_digits(row_of(d, p, group, row), d->columns);
    return sum;
}

/* With UndefinedBehaviorSanitizer this loop took a quarter of the time of all tests. */
#if defined(__clang__)
#define UNCHECKED_ARITHMETIC __attribute__((no_sanitize("undefined")))
#else
#define UNCHECKED_ARITHMETIC
#endif

/* Digits are at most 256, so a sum of ITG_MOMENTS_COLUMNS products has 30 bits. */
ITG_CLONES UNCHECKED_ARITHMETIC static void recover_dot_tile(const int16_t *a, const int16_t *b,
                                                             int64_t stride_a, int64_t stride_b,
                                                             int64_t count, int32_t *out)
{
    for (int u = 0; u < TILE; u += 2) {
        const int16_t *x = a + u * stride_a, *z = x + stride_a;
        int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
        const int16_t *y0 = b, *y1 = b + stride_b, *y2 = b + 2 * stride_b, *y3 = b + 3 * stride_b;
        for (int64_t i = 0; i < count; i++) {
            s0 += x[i] * y0[i];
            s1 += x[i] * y1[i];
            s2 += x[i] * y2[i];
            s3 += x[i] * y3[i];
            t0 += z[i] * y0[i];
            t1 += z[i] * y1[i];
            t2 += z[i] * y2[i];
            t3 += z[i] * y3[i];
        }
        int32_t *const row = out + u * TILE;
        row[0] = s0, row[1] = s1, row[2] = s2, row[3] = s3;
        row[TILE] = t0, row[TILE + 1] = t1, row[TILE + 2] = t2, row[TILE + 3] = t3;
    }
}

typedef struct product {
    const itg_digits *a, *b;
    int64_t group, row_a, row_b, first, count;
} product;

static void add_tile(const product *p, int64_t *sums)
{
    const itg_digits *a = p->a, *b = p->b;
    int64_t sum[TILE * TILE] = {0};
    int32_t part[TILE * TILE];
    for (int32_t i = 0; i < a->planes; i++)
        for (int32_t j = 0; j < b->planes; j++) {
            recover_dot_tile(row_of(a, i, p->group, p->row_a) + p->first,
                             row_of(b, j, p->group, p->row_b) + p->first, a->columns, b->columns,
                             p->count, part);
            for (int k = 0; k < TILE * TILE; k++)
                sum[k] += part[k] * ((int64_t)1 << 8 * (i + j));
        }
    for (int64_t u = 0; u < TILE && p->row_a + u < a->rows; u++)
        for (int64_t v = 0; v < TILE && p->row_b + v < b->rows; v++)
            sums[(p->row_a + u) * b->rows + p->row_b + v] += sum[u * TILE + v];
}

void itg_moments_add(const itg_digits *a, const itg_digits *b, int64_t group, int64_t first,
                     int64_t end, bool upper, int64_t *sums)
{
    product p = {a, b, group, 0, 0, 0, 0};
    for (; p.first < a->columns; p.first += PART) {
        p.count = a->columns - p.first < PART ? a->columns - p.first : PART;
        for (int64_t j = upper ? first : 0; j < itg_digits_tiles(b); j++)
            for (int64_t i = first; i < end && (!upper || i <= j); i++) {
                p.row_a = i * TILE;
                p.row_b = j * TILE;
                add_tile(&p, sums);
            }
    }
}
