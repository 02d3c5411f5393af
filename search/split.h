/* Which samples of a data set serve what: a function of the seed and the counts alone. */
#ifndef ITG_SPLIT_H
#define ITG_SPLIT_H
#include "sim/sim.h"

typedef struct itg_split {
    int64_t calibration_count, search_count, holdout_count;
    int64_t *calibration, *search,
        *holdout; /* ascending sample numbers; one allocation, begins at calibration */
} itg_split;

/* wanted counts 0: 512 and 1024. with_holdout: a quarter is set aside. Where samples are few,
 * calibration takes at most a third of what is left. Fails below 4 samples. */
itg_status itg_split_make(int64_t samples, uint64_t seed, int64_t calibration, int64_t search,
                          bool with_holdout, itg_split *out, itg_error *err);
/* The same split again, from what was recorded. */
itg_status itg_split_repeat(const itg_split_info *info, itg_split *out, itg_error *err);
void itg_split_deinit(itg_split *split);
#endif
