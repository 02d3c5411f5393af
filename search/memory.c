#include "search/memory.h"
#include <stdlib.h>
#include <string.h>

void itg_memory_deinit(itg_memory *memory)
{
    for (int64_t i = 0; i < memory->count; i++)
        free(((itg_finding *)itg_point_map_record(memory, i))->why);
    itg_point_map_deinit(memory);
}

static itg_finding *finding_at(const itg_memory *memory, const int32_t *point)
{
    int64_t index = itg_point_map_find(memory, point);
    return index < 0 ? NULL : itg_point_map_record(memory, index);
}

const itg_finding *itg_memory_find(const itg_memory *memory, const int32_t *point)
{
    return finding_at(memory, point);
}

itg_status itg_memory_keep(itg_memory *memory, const int32_t *point, const itg_finding *finding,
                           itg_error *err)
{
    itg_finding *known = finding_at(memory, point), made = *finding;
    size_t bytes = finding->why ? strlen(finding->why) + 1 : 0;
    if (known) {
        int64_t before = known->score.stopped_at, after = finding->score.stopped_at;
        if (before > 0 && (after == 0 || after > before)) known->score = finding->score;
        return ITG_OK;
    }
    if (bytes > 0) made.why = malloc(bytes);
    if (made.why && bytes > 0) memcpy(made.why, finding->why, bytes);
    if ((made.why || bytes == 0) && itg_point_map_add(memory, point, &made) == ITG_OK)
        return ITG_OK;
    free(made.why);
    return itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
}
