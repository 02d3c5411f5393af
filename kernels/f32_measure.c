/* Range, sums and histogram. The sums are a chain of dependent additions, during which the
 * processor counts into bins. Bin indices are computed in blocks without branches. */
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

void itg_f32_count(const float *data, int64_t count, itg_f32_counts *out)
{
    int32_t index[BLOCK];
    double sum = out->sum, squares = out->squares;
    uint32_t *counts = out->counts;
    for (int64_t first = 0; first < count; first += BLOCK, data += BLOCK) {
        const int32_t n = count - first < BLOCK ? (int32_t)(count - first) : BLOCK;
        bins_of_f32(data, n, out->scale, out->bins, index);
        for (int32_t i = 0; i < n; ++i) {
            const double x = (double)data[i];
            sum += x;
            squares += x * x;
            counts[index[i]]++;
        }
    }
    out->sum = sum;
    out->squares = squares;
}
