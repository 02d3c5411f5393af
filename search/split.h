/* Which samples of a data set serve what: a function of the seed and the counts alone. */
#ifndef ITG_SPLIT_H
#define ITG_SPLIT_H
#include "sim/sim.h"

/* Fewer selection samples are set aside only where they are asked for. */
#define ITG_LEAST_SELECTION 512

typedef struct itg_split {
    itg_split_info info;
    int64_t *part[ITG_SPLIT_PARTS]; /* ascending sample numbers */
    int64_t *all;                   /* owns them */
} itg_split;

/* wanted counts, by part; 0: by default 512, 1024, 1024, a quarter; -1: none.
 * Where samples are few, calibration takes at most a third of what the hold-out leaves, selection
 * what search leaves (at least ITG_LEAST_SELECTION, or nothing), and where it is asked for, half of
 * what is left for both. Fails below 4 samples. */
itg_status itg_split_make(int64_t samples, uint64_t seed, const int64_t wanted[ITG_SPLIT_PARTS],
                          itg_split *out, itg_error *err);
/* The same split again, from what was recorded. */
itg_status itg_split_repeat(const itg_split_info *info, itg_split *out, itg_error *err);
void itg_split_deinit(itg_split *split);
#endif
