/* The split of a data set into calibration, search, selection and hold-out samples: a function of
 * the seed and the counts alone. */
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

/* wanted: counts by part; 0: the default (512, 1024, 4096, a quarter); -1: none. If samples are
 * few, calibration takes at most a third of what the hold-out leaves, and selection takes what
 * search leaves (at least ITG_LEAST_SELECTION, or nothing) or, if its count is wanted, at most half
 * of what is left for both. Fails below 4 samples. */
itg_status itg_split_make(int64_t samples, uint64_t seed, const int64_t wanted[ITG_SPLIT_PARTS],
                          itg_split *out, itg_error *err);
/* Repeats a split that was recorded. */
itg_status itg_split_repeat(const itg_split_info *info, itg_split *out, itg_error *err);
void itg_split_deinit(itg_split *split);
#endif
