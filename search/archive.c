#include "search/archive.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether a is no worse than b in every objective but `ignored` (-1: in all). */
static bool is_no_worse(const itg_archive *archive, const double *a, const double *b,
                        int32_t ignored)
{
    for (int32_t i = 0; i < archive->objective_count; i++)
        if (i != ignored && !(a[i] <= b[i])) return false;
    return true;
}

bool itg_archive_covers(const itg_archive *archive, const double *objectives)
{
    for (int32_t i = 0; i < archive->count; i++)
        if (is_no_worse(archive, archive->entries[i].objectives, objectives, -1)) return true;
    return false;
}

double itg_archive_least(const itg_archive *archive, const double *objectives, int32_t which)
{
    double least = INFINITY;
    for (int32_t i = 0; i < archive->count; i++) {
        const double *entry = archive->entries[i].objectives;
        if (is_no_worse(archive, entry, objectives, which) && entry[which] < least)
            least = entry[which];
    }
    return least;
}

static void drop(itg_archive_entry *entry)
{
    free((void *)(uintptr_t)entry->trial.point);
}

static itg_status reserve(itg_archive *archive, itg_error *err)
{
    if (archive->count < archive->capacity) return ITG_OK;
    int32_t capacity = archive->capacity ? 2 * archive->capacity : 16;
    itg_archive_entry *grown = realloc(archive->entries, sizeof *grown * (size_t)capacity);
    if (!grown) return itg_fail(err, ITG_NO_MEMORY, "no memory for the front");
    archive->entries = grown;
    archive->capacity = capacity;
    return ITG_OK;
}

itg_status itg_archive_add(itg_archive *archive, const double *objectives, const itg_trial *trial,
                           itg_error *err)
{
    size_t bytes = sizeof *trial->point * (size_t)trial->dim_count;
    int32_t kept = 0;
    if (itg_archive_covers(archive, objectives)) return ITG_OK;
    itg_status status = reserve(archive, err);
    if (status != ITG_OK) return status;
    int32_t *point = malloc(bytes + 1);
    if (!point) return itg_fail(err, ITG_NO_MEMORY, "no memory for the front");
    if (bytes) memcpy(point, trial->point, bytes);
    for (int32_t i = 0; i < archive->count; i++) {
        if (is_no_worse(archive, objectives, archive->entries[i].objectives, -1))
            drop(&archive->entries[i]);
        else
            archive->entries[kept++] = archive->entries[i];
    }
    itg_archive_entry *entry = &archive->entries[kept];
    *entry = (itg_archive_entry){.trial = *trial};
    memcpy(entry->objectives, objectives, sizeof *objectives * (size_t)archive->objective_count);
    entry->trial.point = point;
    entry->trial.error = NULL;
    archive->count = kept + 1;
    return ITG_OK;
}

itg_status itg_archive_copy(const itg_archive *archive, itg_archive *out, itg_error *err)
{
    itg_archive copy = {.count = archive->count,
                        .capacity = archive->count,
                        .objective_count = archive->objective_count};
    copy.entries = malloc(sizeof *copy.entries * (size_t)(archive->count + 1));
    if (!copy.entries) return itg_fail(err, ITG_NO_MEMORY, "no memory for the front");
    for (int32_t i = 0; i < archive->count; i++) {
        copy.entries[i] = archive->entries[i];
        copy.entries[i].trial.point = NULL;
    }
    *out = copy;
    return ITG_OK;
}

void itg_archive_deinit(itg_archive *archive)
{
    for (int32_t i = 0; i < archive->count; i++)
        drop(&archive->entries[i]);
    free(archive->entries);
    *archive = (itg_archive){0};
}
