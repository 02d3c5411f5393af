#include "search/memory.h"
#include "search/point_map.h"
#include <stdlib.h>
#include <string.h>

struct itg_memory {
    itg_point_map findings;
};

static itg_status no_memory(itg_error *err)
{
    return itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
}

static itg_finding *finding_at(const itg_memory *memory, const int32_t *point)
{
    int64_t index = itg_point_map_find(&memory->findings, point);
    return index < 0 ? NULL : itg_point_map_record(&memory->findings, index);
}

itg_status itg_memory_create(int32_t dim_count, itg_memory **out, itg_error *err)
{
    itg_memory *m = calloc(1, sizeof *m);
    if (!m) return no_memory(err);
    m->findings = (itg_point_map){.dim_count = dim_count, .record_size = sizeof(itg_finding)};
    *out = m;
    return ITG_OK;
}

void itg_memory_destroy(itg_memory *memory)
{
    if (!memory) return;
    for (int64_t i = 0; i < memory->findings.count; i++)
        free(((itg_finding *)itg_point_map_record(&memory->findings, i))->why);
    itg_point_map_deinit(&memory->findings);
    free(memory);
}

const itg_finding *itg_memory_find(const itg_memory *memory, const int32_t *point)
{
    return finding_at(memory, point);
}

const int32_t *itg_memory_point(const itg_memory *memory, const int32_t *point)
{
    return itg_point_map_point(&memory->findings, itg_point_map_find(&memory->findings, point));
}

itg_status itg_memory_keep(itg_memory *memory, const int32_t *point, const itg_finding *finding,
                           itg_error *err)
{
    itg_finding *known = finding_at(memory, point), made = *finding;
    if (known) {
        int64_t before = known->score.stopped_at, after = finding->score.stopped_at;
        if (before > 0 && (after == 0 || after > before)) known->score = finding->score;
        return ITG_OK;
    }
    if (finding->why) {
        size_t bytes = strlen(finding->why) + 1;
        made.why = malloc(bytes);
        if (!made.why) return no_memory(err);
        memcpy(made.why, finding->why, bytes);
    }
    if (itg_point_map_add(&memory->findings, point, &made) == ITG_OK) return ITG_OK;
    free(made.why);
    return no_memory(err);
}
