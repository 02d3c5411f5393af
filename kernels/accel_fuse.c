/* Fuses the roundings of an epilogue into fewer operations. The constant part of a rounding is
 * added to the value that is rounded, and two floors become one. With shifts s1 and s2, multiplier
 * m and zero point z:
 *
 *   ((((v*m + h1) >> s1) + h2 + rest) >> s2) + z
 *       = (((v*m + addend) >> s1) + rest) >> s2,   addend = h1 + ((h2 + (z << s2)) << s1)
 *
 * where `rest` is the part of rounding half away that is subtracted from negative values. It may
 * depend on the sign of v instead of that of the first quotient: the signs differ only where v < 0
 * gives 0, and then the result is z either way, because 0 <= h2 - 1 < 2^s2. */
#include "kernels/accel_parts.h"
#include "kernels/rounding.h"

static const int64_t PRODUCT_LIMIT = (int64_t)1 << 62;

/* Computes the addend of one channel. bound: of |v * m|. False: a value might not fit its lane. */
static bool addend_of(const itg_lanes *l, int64_t c, int64_t bound, int64_t *out)
{
    const int32_t s1 = l->shift[1][c], s2 = l->shift[2] ? l->shift[2][c] : 0;
    const int64_t zero = l->e.zero_point, limit = (int64_t)1 << 30;
    if (s2 > 30 || zero > (limit >> s2) || zero < -(limit >> s2)) return false;
    const int64_t half1 = ITG_ROUND_HALF((int64_t)1, s1), half2 = ITG_ROUND_HALF((int64_t)1, s2);
    const int64_t second = ITG_ROUND_CONSTANT(l->rounding[2], half2) + zero * ((int64_t)1 << s2);
    const int64_t size = second < 0 ? -second : second;
    if (size > (PRODUCT_LIMIT >> s1) / 2) return false;
    *out = ITG_ROUND_CONSTANT(l->rounding[1], half1) + second * ((int64_t)1 << s1);
    /* The quotient of the sum, with the sign's part, must fit a lane. */
    return half1 <= PRODUCT_LIMIT / 4 && (bound >> s1) + 1 + size < INT32_MAX;
}

/* Whether the roundings have a constant part and a rest that depends only on the sign. */
static bool roundings_fuse(const itg_lanes *l)
{
    const itg_rounding first = l->rounding[1], last = l->rounding[2];
    return (first == ITG_ROUND_HALF_UP || first == ITG_ROUND_FLOOR) &&
           (!l->shift[2] || last != ITG_ROUND_HALF_EVEN);
}

bool itg_lanes_fuse(itg_lanes *l, int64_t channels, uint64_t product_bound, itg_arena *arena)
{
    l->addend = NULL;
    if (!l->bytes || !l->multiplier || product_bound > (uint64_t)PRODUCT_LIMIT ||
        !roundings_fuse(l))
        return true;
    int64_t *addend = itg_arena_array(arena, (size_t)(channels + ITG_MAX_COLUMNS), sizeof *addend);
    if (!addend) return false;
    l->doubling = true;
    for (int64_t c = 0; c < channels; c++) {
        if (!addend_of(l, c, (int64_t)product_bound, &addend[c])) return true;
        l->doubling = l->doubling && l->shift[1][c] == 31;
    }
    l->addend = addend;
    return true;
}

bool itg_lanes_are_bytes(const itg_lanes *l)
{
    if (!l->bytes) return false;
    return l->kind == ITG_LANES_RATIO
               ? l->tame
               : l->kind == ITG_LANES_STAGES && l->addend && !l->left && !l->shift[0];
}
