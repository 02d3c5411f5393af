/* Matrix product of codes: b packed in blocks of rows (columns of the result), a in tiles of four
 * rows. */
#include "kernels/int_parts.h"
#include "kernels/requant.h"
#include <string.h>

enum { BLOCK = 64 };

typedef struct matmul {
    int64_t m, n, k, depth; /* depth: k padded for the dot products */
    const itg_int_operand *a, *b;
    itg_packing pa, pb;
    bool b_transposed;
    const itg_mac_options *mac;
    const itg_epilogue *out;
    int32_t out_count;
} matmul;

/* Bytes of the packed kernel: b block, a tile, sums; and of the sequential one: a row, a block of
 * columns, sums. */
size_t itg_int_matmul_scratch(int64_t m, int64_t n, int64_t k)
{
    (void)m;
    int64_t columns = n < BLOCK ? n : BLOCK, depth = itg_dot_depth(k);
    int64_t packed = (columns + ITG_DOT_ROWS) * depth * (int64_t)sizeof(int16_t);
    int64_t sequential = 2 * k * (int64_t)sizeof(int64_t);
    int64_t sums = ITG_DOT_ROWS * BLOCK * (int64_t)sizeof(int64_t);
    return itg_scratch_bytes((packed > sequential ? packed : sequential) + sums);
}

static void pack_b(const matmul *t, int64_t n0, int64_t columns, int16_t *block)
{
    if (t->depth != t->k) memset(block, 0, (size_t)(columns * t->depth) * sizeof *block);
    if (!t->b_transposed) {
        itg_pack_transposed(t->b, n0, t->k, t->n, columns, t->pb.subtract, block, t->depth);
        return;
    }
    for (int64_t j = 0; j < columns; j++)
        itg_pack_row(t->b, (n0 + j) * t->k, t->k, t->pb.subtract, block + j * t->depth);
}

/* acc[j] of one row: bias, the correction of residues, the accumulator's width. */
static void finish64(const matmul *t, const int16_t *a, const int16_t *block, int64_t n0,
                     int64_t columns, int64_t *acc)
{
    int64_t ra = t->pa.residue, rb = t->pb.residue;
    int64_t fixed = rb != 0 ? ra * rb * t->k - rb * itg_sum_row(a, t->k) : 0;
    for (int64_t j = 0; j < columns; j++) {
        uint64_t v = (uint64_t)acc[j] + (uint64_t)fixed;
        if (ra != 0) v -= (uint64_t)(ra * itg_sum_row(block + j * t->depth, t->k));
        if (t->mac->bias) v += (uint64_t)t->mac->bias[n0 + j];
        acc[j] = (int64_t)v;
        if (t->mac->may_overflow) acc[j] = itg_accumulator_fit(t->mac->acc, acc[j]);
    }
}

static void tile32(const matmul *t, int64_t m0, int64_t rows, int64_t n0, int64_t columns,
                   const int16_t *tile, const int16_t *block, int32_t *acc)
{
    itg_dot_tile32(tile, rows, block, columns, t->depth, acc, BLOCK);
    for (int64_t r = 0; r < rows; r++) {
        int32_t *row = acc + r * BLOCK;
        if (t->mac->bias)
            for (int64_t j = 0; j < columns; j++)
                row[j] = (int32_t)((uint32_t)row[j] + (uint32_t)t->mac->bias[n0 + j]);
        for (int32_t o = 0; o < t->out_count; o++)
            itg_epilogue_row32(row, columns, (m0 + r) * t->n + n0, n0, 1, &t->out[o]);
    }
}

static void tile64(const matmul *t, int64_t m0, int64_t rows, int64_t n0, int64_t columns,
                   const int16_t *tile, const int16_t *block, int64_t *acc)
{
    itg_dot_tile64(tile, rows, block, columns, t->depth, t->pa.magnitude, t->pb.magnitude, acc,
                   BLOCK);
    for (int64_t r = 0; r < rows; r++) {
        int64_t *row = acc + r * BLOCK;
        finish64(t, tile + r * t->depth, block, n0, columns, row);
        for (int32_t o = 0; o < t->out_count; o++)
            itg_epilogue_row64(row, columns, (m0 + r) * t->n + n0, n0, 1, &t->out[o]);
    }
}

static void packed(const matmul *t, void *scratch)
{
    const bool narrow = !t->mac->may_overflow && t->mac->acc_bound <= INT32_MAX &&
                        t->pa.residue == 0 && t->pb.residue == 0;
    int64_t *acc = scratch;
    int16_t *tile = (int16_t *)(acc + ITG_DOT_ROWS * BLOCK);
    int16_t *block = tile + ITG_DOT_ROWS * t->depth;
    memset(tile, 0, (size_t)(ITG_DOT_ROWS * t->depth) * sizeof *tile);
    for (int64_t n0 = 0; n0 < t->n; n0 += BLOCK) {
        int64_t columns = t->n - n0 < BLOCK ? t->n - n0 : BLOCK;
        pack_b(t, n0, columns, block);
        for (int64_t m0 = 0; m0 < t->m; m0 += ITG_DOT_ROWS) {
            int64_t rows = t->m - m0 < ITG_DOT_ROWS ? t->m - m0 : ITG_DOT_ROWS;
            for (int64_t r = 0; r < rows; r++)
                itg_pack_row(t->a, (m0 + r) * t->k, t->k, t->pa.subtract, tile + r * t->depth);
            if (narrow)
                tile32(t, m0, rows, n0, columns, tile, block, (int32_t *)scratch);
            else
                tile64(t, m0, rows, n0, columns, tile, block, acc);
        }
    }
}

/* Wide codes, sums in parts, or an accumulator that saturates on the way: one sum after another. */
static void sequential(const matmul *t, void *scratch)
{
    int64_t *acc = scratch, *a = acc + ITG_DOT_ROWS * BLOCK, *b = a + t->k;
    for (int64_t i = 0; i < t->m; i++) {
        itg_widen_row(t->a, i * t->k, t->k, 1, a);
        for (int64_t n0 = 0; n0 < t->n; n0 += BLOCK) {
            int64_t columns = t->n - n0 < BLOCK ? t->n - n0 : BLOCK;
            for (int64_t j = 0; j < columns; j++) {
                int64_t first = t->b_transposed ? (n0 + j) * t->k : n0 + j;
                itg_widen_row(t->b, first, t->k, t->b_transposed ? 1 : t->n, b);
                int64_t bias = t->mac->bias ? t->mac->bias[n0 + j] : 0;
                acc[j] = t->mac->split ? itg_dot_split(a, b, bias, n0 + j, t->mac->split)
                                       : itg_dot_sequential(a, b, t->k, bias, t->mac);
            }
            for (int32_t o = 0; o < t->out_count; o++)
                itg_epilogue_row64(acc, columns, i * t->n + n0, n0, 1, &t->out[o]);
        }
    }
}

void itg_int_matmul(int64_t m, int64_t n, int64_t k, const itg_int_operand *a,
                    const itg_int_operand *b, bool b_transposed, const itg_mac_options *mac,
                    const itg_epilogue *out, int32_t out_count, void *scratch)
{
    matmul t = {m,
                n,
                k,
                itg_dot_depth(k),
                a,
                b,
                itg_packing_of(a),
                itg_packing_of(b),
                b_transposed,
                mac,
                out,
                out_count};
    bool saturates = mac->may_overflow && mac->acc.overflow == ITG_OVERFLOW_SATURATE;
    if (saturates || mac->split || !t.pa.fits || !t.pb.fits)
        sequential(&t, scratch);
    else
        packed(&t, scratch);
}
