/* Random values and constants for the tests of requantization. */
#ifndef ITG_REQUANT_CASES_H
#define ITG_REQUANT_CASES_H
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>
#include "base/base.h"
#include "kernels/requant.h"

__extension__ typedef __int128 wide;

static inline int64_t saturated(wide v)
{
    return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

/* A number of random width, so that small and large values are equally frequent. */
static inline int64_t random_value(itg_rng *rng, int max_bits)
{
    int bits = (int)itg_rng_below(rng, (uint64_t)max_bits) + 1;
    return (int64_t)itg_rng_next(rng) >> (64 - bits);
}

static inline double random_ratio(itg_rng *rng, int low, int high)
{
    return ldexp(0.5 + itg_rng_unit(rng) / 2,
                 low + (int)itg_rng_below(rng, (uint64_t)(high - low + 1)));
}

static inline itg_requant random_stages(itg_rng *rng)
{
    itg_requant r;
    memset(&r, 0, sizeof r);
    r.stage_count = (int32_t)itg_rng_below(rng, 4);
    for (int i = 0; i < r.stage_count; i++) {
        r.stage[i].multiplier = itg_rng_below(rng, 2) ? 1 : random_value(rng, 32);
        r.stage[i].shift = (int32_t)itg_rng_below(rng, 69) - 6; /* -6..62 */
        r.stage[i].rounding = (itg_rounding)itg_rng_below(rng, ITG_ROUNDING_COUNT);
    }
    return r;
}
#endif
