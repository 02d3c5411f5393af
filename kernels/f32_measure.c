/* Range, sums and histogram. Bin indices are computed in blocks without branches; the processor
 * counts into bins while it adds. */
#include "kernels/f32_measure.h"
#include "kernels/clones.h"

#include <string.h>

enum { BLOCK = 256 };

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

ITG_CLONES static void bins_of_f32(const float *data, int32_t count, double scale, int32_t bins,
                                   int32_t *index)
{
    for (int32_t i = 0; i < count; ++i) {
        const float x = data[i];
        const int32_t at = (int32_t)((double)x * scale);
        const int32_t side = x < 0.0f ? bins - at : at;
        index[i] = x == 0.0f ? 2 * bins + (i & (ITG_F32_SPARE_BINS - 1)) : side;
    }
}

typedef float floats __attribute__((vector_size(ITG_F32_SUMS * sizeof(float))));
typedef double doubles __attribute__((vector_size(ITG_F32_SUMS * sizeof(double))));

/* n is a multiple of ITG_F32_SUMS. */
ITG_CLONES static void count_block(const float *data, int32_t n, const int32_t *index,
                                   itg_f32_counts *out)
{
    uint32_t *const counts = out->counts;
    doubles sum, squares;
    memcpy(&sum, out->sum, sizeof sum);
    memcpy(&squares, out->squares, sizeof squares);
    for (int32_t i = 0; i < n; i += ITG_F32_SUMS) {
        floats narrow;
        memcpy(&narrow, data + i, sizeof narrow);
        const doubles x = __builtin_convertvector(narrow, doubles);
        sum += x;
        squares += x * x;
        for (int32_t k = 0; k < ITG_F32_SUMS; ++k)
            counts[index[i + k]]++;
    }
    memcpy(out->sum, &sum, sizeof sum);
    memcpy(out->squares, &squares, sizeof squares);
}

void itg_f32_count(const float *data, int64_t count, itg_f32_counts *out)
{
    int32_t index[BLOCK];
    for (int64_t first = 0; first < count; first += BLOCK) {
        const int32_t n = count - first < BLOCK ? (int32_t)(count - first) : BLOCK;
        const int32_t whole = n - n % ITG_F32_SUMS;
        bins_of_f32(data + first, n, out->scale, out->bins, index);
        count_block(data + first, whole, index, out);
        for (int32_t i = whole; i < n; ++i) {
            const double x = (double)data[first + i];
            out->sum[i - whole] += x;
            out->squares[i - whole] += x * x;
            out->counts[index[i]]++;
        }
    }
}
