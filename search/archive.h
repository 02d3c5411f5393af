/* The non-dominated trials. One trial dominates another if it is no worse in any objective and
 * better in one. Objectives are numbers; less is better. Of trials with equal objectives the first
 * stays. */
#ifndef ITG_ARCHIVE_H
#define ITG_ARCHIVE_H
#include "base/base.h"
#include <intaglio/intaglio.h>

typedef struct itg_archive_entry {
    double objectives[ITG_MOST_OBJECTIVES];
    itg_trial trial; /* point malloc'd; error NULL */
} itg_archive_entry;

typedef struct itg_archive {
    itg_archive_entry *entries; /* in the order of trials */
    int32_t count, capacity, objective_count;
} itg_archive; /* zero-initialize, then set objective_count */

/* Whether an entry dominates or equals these objectives. */
bool itg_archive_covers(const itg_archive *archive, const double *objectives);
/* The least value of one objective among the entries that are no worse in all others; INFINITY:
 * there is none. */
double itg_archive_least(const itg_archive *archive, const double *objectives, int32_t which);
/* Adds a copy of the trial unless an entry covers it, and removes the entries that it dominates. */
itg_status itg_archive_add(itg_archive *archive, const double *objectives, const itg_trial *trial,
                           itg_error *err);
/* The objectives alone: the trials' points are NULL. */
itg_status itg_archive_copy(const itg_archive *archive, itg_archive *out, itg_error *err);
void itg_archive_deinit(itg_archive *archive);
#endif
