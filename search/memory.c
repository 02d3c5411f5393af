/* Open addressing on a hash of the point. */
#include "search/memory.h"
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    int32_t *point; /* NULL: empty */
    itg_finding finding;
} entry;

struct itg_memory {
    int32_t dims;
    size_t count, capacity; /* capacity: a power of two, at least twice count; or 0 */
    entry *entries;
};

static size_t hash_point(const int32_t *point, int32_t count)
{
    uint64_t h = 1469598103934665603u;
    for (int32_t i = 0; i < count; i++)
        h = (h ^ (uint64_t)(uint32_t)point[i]) * 1099511628211u;
    return (size_t)(h ^ (h >> 32));
}

static entry *find(const itg_memory *m, const int32_t *point)
{
    for (size_t i = hash_point(point, m->dims);; i++) {
        entry *e = &m->entries[i & (m->capacity - 1)];
        if (!e->point || memcmp(e->point, point, sizeof *point * (size_t)m->dims) == 0) return e;
    }
}

static itg_status grow(itg_memory *m, itg_error *err)
{
    itg_memory bigger = {m->dims, m->count, m->capacity ? m->capacity * 2 : 256, NULL};
    if (m->count * 2 < m->capacity) return ITG_OK;
    bigger.entries = calloc(bigger.capacity, sizeof *bigger.entries);
    if (!bigger.entries) return itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    for (size_t i = 0; i < m->capacity; i++)
        if (m->entries[i].point) *find(&bigger, m->entries[i].point) = m->entries[i];
    free(m->entries);
    *m = bigger;
    return ITG_OK;
}

itg_status itg_memory_create(int32_t dim_count, itg_memory **out, itg_error *err)
{
    itg_memory *m = calloc(1, sizeof *m);
    if (!m) return itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    m->dims = dim_count;
    *out = m;
    return ITG_OK;
}

void itg_memory_destroy(itg_memory *memory)
{
    if (!memory) return;
    for (size_t i = 0; i < memory->capacity; i++) {
        free(memory->entries[i].point);
        free(memory->entries[i].finding.why);
    }
    free(memory->entries);
    free(memory);
}

const itg_finding *itg_memory_find(const itg_memory *memory, const int32_t *point)
{
    const entry *e = memory->capacity ? find(memory, point) : NULL;
    return e && e->point ? &e->finding : NULL;
}

const int32_t *itg_memory_point(const itg_memory *memory, const int32_t *point)
{
    return find(memory, point)->point;
}

itg_status itg_memory_keep(itg_memory *memory, const int32_t *point, const itg_finding *finding,
                           itg_error *err)
{
    itg_status status = grow(memory, err);
    if (status != ITG_OK) return status;
    entry *e = find(memory, point);
    if (e->point) {
        int64_t before = e->finding.score.stopped_at, after = finding->score.stopped_at;
        if (before > 0 && (after == 0 || after > before)) e->finding.score = finding->score;
        return ITG_OK;
    }
    entry made = {malloc(sizeof *point * (size_t)(memory->dims + 1)), *finding};
    if (finding->why) {
        size_t bytes = strlen(finding->why) + 1;
        made.finding.why = malloc(bytes);
        if (made.finding.why) memcpy(made.finding.why, finding->why, bytes);
    }
    if (!made.point || (finding->why && !made.finding.why)) {
        free(made.point);
        free(made.finding.why);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    }
    memcpy(made.point, point, sizeof *point * (size_t)memory->dims);
    *e = made;
    memory->count++;
    return ITG_OK;
}
