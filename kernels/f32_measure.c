/* Range, sums and histogram. A block's bins are found by vectors, without branches, and then
 * counted one by one. */
#include "kernels/f32_measure.h"
#include "kernels/clones.h"

#include <string.h>

/* Maps the bits of a float to an integer of the same order, except that -0 is just below 0. */
ITG_INLINE int32_t ordered(int32_t bits)
{
    return bits ^ ((bits >> 31) & INT32_MAX);
}

ITG_CLONES static bool range_of_f32(const float *data, int64_t count, int32_t *least, int32_t *most)
{
    int32_t low = INT32_MAX, high = INT32_MIN, bad = 0;
    for (int64_t i = 0; i < count; ++i) {
        int32_t bits;
        memcpy(&bits, data + i, sizeof bits);
        const int32_t key = ordered(bits);
        bad |= (bits & 0x7f800000) == 0x7f800000;
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    *least = low;
    *most = high;
    return !bad;
}

bool itg_f32_range(const float *data, int64_t count, float *min, float *max)
{
    int32_t least, most;
    if (count < 1 || !range_of_f32(data, count, &least, &most)) return false;
    least = ordered(least); /* its own inverse */
    most = ordered(most);
    memcpy(min, &least, sizeof *min);
    memcpy(max, &most, sizeof *max);
    return true;
}

ITG_CLONES static void bins_of_f32(const float *data, int32_t count, float scale, int32_t bins,
                                   int32_t *index)
{
    for (int32_t i = 0; i < count; ++i) {
        const float x = data[i];
        const int32_t at = (int32_t)(x * scale);
        const int32_t side = x < 0.0f ? bins - at : at;
        index[i] = x == 0.0f ? 2 * bins + (i & (ITG_F32_SPARE_BINS - 1)) : side;
    }
}

/* No larger than AVX2's vectors: GCC keeps larger ones in memory, and waits for what it has just
 * written there, as it reads it in other pieces. */
enum { WIDE = 4, PARTS = ITG_F32_SUMS / WIDE };
typedef float floats __attribute__((vector_size(WIDE * sizeof(float))));
typedef double doubles __attribute__((vector_size(WIDE * sizeof(double))));

/* n is a multiple of ITG_F32_SUMS. */
ITG_CLONES static void sum_block(const float *data, int32_t n, itg_f32_counts *out)
{
    doubles sum[PARTS], squares[PARTS];
    memcpy(sum, out->sum, sizeof sum);
    memcpy(squares, out->squares, sizeof squares);
    for (int32_t i = 0; i < n; i += ITG_F32_SUMS) {
        ITG_UNROLL
        for (int32_t p = 0; p < PARTS; ++p) {
            floats narrow;
            memcpy(&narrow, data + i + p * WIDE, sizeof narrow);
            const doubles x = __builtin_convertvector(narrow, doubles);
            sum[p] += x;
            squares[p] += x * x;
        }
    }
    memcpy(out->sum, sum, sizeof sum);
    memcpy(out->squares, squares, sizeof squares);
}

int64_t itg_f32_count(const float *data, int64_t count, itg_f32_part part, itg_f32_counts *out)
{
    int32_t index[ITG_F32_BLOCK];
    int64_t *const counts = out->counts;
    int64_t counted = 0;
    for (int64_t first = part.first * ITG_F32_BLOCK; first < count;
         first += part.period * ITG_F32_BLOCK) {
        const int32_t n = count - first < ITG_F32_BLOCK ? (int32_t)(count - first) : ITG_F32_BLOCK;
        const int32_t whole = n - n % ITG_F32_SUMS;
        bins_of_f32(data + first, n, out->scale, out->bins, index);
        sum_block(data + first, whole, out);
        for (int32_t i = 0; i < n; ++i)
            counts[index[i]]++;
        for (int32_t i = whole; i < n; ++i) {
            const double x = (double)data[first + i];
            out->sum[i - whole] += x;
            out->squares[i - whole] += x * x;
        }
        counted += n;
    }
    return counted;
}
