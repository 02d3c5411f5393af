#include "search/start.h"
#include "search/points.h"
#include <stdlib.h>
#include <string.h>

enum { GIVEN, WIDEST, PAIRINGS, TOGETHER, DIAGONALS, ENDED };
#define PATIENCE 3
#define ROOM                                                                                       \
    2 /* more levels than one bit is worth: the largest code of 3 bits is 3, that of 2 bits is 1   \
       */

/* The widths that go down in the stage DIAGONALS, one set after another. */
enum { ALL, WHAT_COSTS, WHAT_IS_FREE, DIAGONAL_COUNT };

static int32_t top(const itg_start *s, int32_t d)
{
    return s->space->dims[d].count - 1;
}

itg_status itg_start_init(itg_start *s, const itg_search_space *space,
                          const itg_searcher_options *options, itg_error *err)
{
    size_t dims = (size_t)space->dim_count + 1;
    *s = (itg_start){.space = space, .options = *options, .stage = WIDEST};
    s->levels = calloc(dims, sizeof *s->levels);
    s->best = calloc(dims, sizeof *s->best);
    s->room = calloc(dims, sizeof *s->room);
    if (!s->levels || !s->best || !s->room)
        return itg_fail(err, ITG_NO_MEMORY, "no memory for a point to begin with");
    itg_point_widest(space, s->levels);
    itg_point_widest(space, s->best);
    if (!options->start) return ITG_OK;
    s->stage = GIVEN;
    memcpy(s->levels, options->start, sizeof *s->levels * (size_t)space->dim_count);
    return ITG_OK;
}

void itg_start_deinit(itg_start *s)
{
    for (int32_t i = 0; i < s->pairing_count; i++)
        free(s->pairings[i].most);
    free(s->pairings);
    free(s->levels);
    free(s->best);
    free(s->room);
    *s = (itg_start){0};
}

/* ---- conflicts ---- */

static itg_pairing *find(const itg_start *s, const itg_conflict *c)
{
    for (int32_t i = 0; i < s->pairing_count; i++)
        if (s->pairings[i].between.activation == c->activation &&
            s->pairings[i].between.weight == c->weight)
            return &s->pairings[i];
    return NULL;
}

static itg_status add_pairing(itg_start *s, const itg_conflict *c)
{
    if (find(s, c)) return ITG_OK;
    if (s->pairing_count == s->pairing_capacity) {
        int32_t capacity = 2 * s->pairing_capacity + 16;
        itg_pairing *grown = realloc(s->pairings, sizeof *grown * (size_t)capacity);
        if (!grown) return ITG_NO_MEMORY;
        s->pairings = grown;
        s->pairing_capacity = capacity;
    }
    int32_t levels = c->weight >= 0 ? s->space->dims[c->weight].count : 1;
    int32_t *most = malloc(sizeof *most * (size_t)levels);
    if (!most) return ITG_NO_MEMORY;
    for (int32_t l = 0; l < levels; l++)
        most[l] = -1;
    s->pairings[s->pairing_count++] = (itg_pairing){*c, most};
    return ITG_OK;
}

/* Notes which widths were run together; narrower weights can be run with them, too. */
static void note_run(itg_start *s)
{
    for (int32_t i = 0; i < s->pairing_count; i++) {
        const itg_conflict *c = &s->pairings[i].between;
        int32_t weight = c->weight >= 0 ? s->levels[c->weight] : 0;
        int32_t activation = c->activation >= 0 ? s->levels[c->activation] : 0;
        for (int32_t l = 0; l <= weight; l++)
            if (activation > s->pairings[i].most[l]) s->pairings[i].most[l] = activation;
    }
}

bool itg_start_follows(const itg_start *s, int32_t dim)
{
    for (int32_t i = 0; i < s->pairing_count; i++)
        if (s->pairings[i].between.activation == dim)
            return !(s->space->dims[dim].cost_per_level > 0);
    return false;
}

void itg_start_fit(const itg_start *s, int32_t *levels)
{
    for (int32_t i = 0; i < s->pairing_count; i++) {
        int32_t d = s->pairings[i].between.activation;
        if (d >= 0 && itg_start_follows(s, d)) levels[d] = top(s, d);
    }
    for (int32_t i = 0; i < s->pairing_count; i++) {
        const itg_conflict *c = &s->pairings[i].between;
        int32_t most = s->pairings[i].most[c->weight >= 0 ? levels[c->weight] : 0];
        if (most < 0) most = 0;
        if (c->activation >= 0 && levels[c->activation] > most) levels[c->activation] = most;
    }
}

/* ---- what is asked ---- */

/* Lowers a set of widths by one level. */
static bool lower_all(itg_start *s, int what)
{
    bool lower = false;
    for (int32_t d = 0; d < s->space->dim_count; d++) {
        const itg_dim *dim = &s->space->dims[d];
        bool costs = dim->cost_per_level > 0;
        if (!dim->ordered || s->levels[d] == 0 || (what == WHAT_COSTS && !costs) ||
            (what == WHAT_IS_FREE && costs))
            continue;
        s->levels[d]--;
        lower = true;
    }
    return lower;
}

/* Lowers the weights of conflicts from their top, then makes the activations as wide as there is
 * room. */
static void set_pairings(itg_start *s)
{
    itg_point_widest(s->space, s->levels);
    for (int32_t i = 0; i < s->pairing_count; i++) {
        const itg_conflict *c = &s->pairings[i].between;
        if (c->weight < 0) continue;
        int32_t level = top(s, c->weight) - s->lowered;
        if (level < 0) level = 0;
        s->levels[c->weight] = level < s->room[c->weight] ? level : s->room[c->weight];
    }
    for (int32_t i = 0; i < s->pairing_count; i++) {
        int32_t d = s->pairings[i].between.activation;
        if (d >= 0 && s->room[d] < s->levels[d]) s->levels[d] = s->room[d];
    }
}

static bool is_good(const itg_start *s)
{
    return s->options.maximize_quality || s->outcome.quality >= s->options.quality_floor;
}

itg_status itg_start_ask(itg_start *s)
{
    return s->stage == ENDED ? ITG_END : ITG_OK;
}

/* ---- what is told ---- */

static bool is_better(const itg_start *s, const itg_outcome *o)
{
    const itg_outcome *best = &s->outcome;
    double floor = s->options.quality_floor;
    if (!s->found) return true;
    if ((o->quality >= floor) != (best->quality >= floor)) return o->quality >= floor;
    if (o->distortion >= 0 && best->distortion >= 0) return o->distortion < best->distortion;
    return o->quality > best->quality;
}

static void take(itg_start *s, const itg_outcome *o)
{
    if (!is_better(s, o)) return;
    memcpy(s->best, s->levels, sizeof *s->best * (size_t)s->space->dim_count);
    s->outcome = *o;
    s->outcome.conflicts = NULL;
    s->found = true;
}

/* Whether some widths cost and others do not; else there is only one diagonal. */
static bool has_both_kinds(const itg_start *s)
{
    bool costs = false, is_free = false;
    for (int32_t d = 0; d < s->space->dim_count; d++) {
        if (!s->space->dims[d].ordered || s->space->dims[d].count < 2) continue;
        costs |= s->space->dims[d].cost_per_level > 0;
        is_free |= !(s->space->dims[d].cost_per_level > 0);
    }
    return costs && is_free;
}

/* Plans the next point of the diagonals, from the widest on. A diagonal ends when nothing can go
 * down or the points get no better. */
static void next_diagonal(itg_start *s)
{
    while (s->stalled == PATIENCE || !lower_all(s, s->lowered)) {
        if (++s->lowered == DIAGONAL_COUNT || !has_both_kinds(s)) {
            s->stage = ENDED;
            return;
        }
        s->stalled = 0;
        itg_point_widest(s->space, s->levels);
    }
}

static void tell_diagonal(itg_start *s, const itg_outcome *o)
{
    bool better = o->feasible && is_better(s, o);
    s->stalled = better ? 0 : s->stalled + 1;
    if (better) take(s, o);
    next_diagonal(s);
}

/* Reduces the room of what does not fit: of the activation or, if it is narrow already, of the
 * weight. False: there is none left. */
static bool make_room(itg_start *s, const itg_outcome *o)
{
    bool made = false;
    for (int32_t i = 0; i < o->conflict_count; i++) {
        int32_t a = o->conflicts[i].activation, w = o->conflicts[i].weight;
        int32_t d = a >= 0 && s->levels[a] > 0 ? a : w;
        if (d < 0 || s->levels[d] == 0) continue;
        s->room[d] = s->levels[d] - 1;
        made = true;
    }
    return made;
}

/* Lowers the weights by one level, so that the activations have more room. */
static void next_pairing(itg_start *s)
{
    bool lower = false, fits = true;
    for (int32_t i = 0; i < s->pairing_count; i++) {
        const itg_conflict *c = &s->pairings[i].between;
        lower |= c->weight >= 0 && s->levels[c->weight] > 0;
        fits &= c->activation < 0 || s->levels[c->activation] == top(s, c->activation);
    }
    s->lowered++;
    if (!lower || fits) s->stage = ENDED;
    for (int32_t d = 0; d < s->space->dim_count; d++)
        s->room[d] = top(s, d) - s->levels[d] > ROOM ? s->levels[d] + ROOM : top(s, d);
    set_pairings(s);
}

static itg_status tell_pairing(itg_start *s, const itg_outcome *o)
{
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < o->conflict_count && status == ITG_OK; i++)
        status = add_pairing(s, &o->conflicts[i]);
    if (status != ITG_OK) return status;
    if (o->feasible) {
        note_run(s);
        take(s, o);
        next_pairing(s);
    } else if (make_room(s, o)) {
        set_pairings(s);
    } else if (s->found) {
        s->stage = ENDED;
    } else { /* accumulators are not the only reason */
        s->stage = lower_all(s, ALL) ? TOGETHER : ENDED;
    }
    return ITG_OK;
}

static void tell_together(itg_start *s, const itg_outcome *o)
{
    if (o->feasible) {
        note_run(s);
        take(s, o);
        s->stage = ENDED;
    } else if (!lower_all(s, ALL)) {
        s->stage = ENDED;
    }
}

/* Raises the start by half of the way to the widest point, at least by a level. False: it is there.
 */
static bool raise_half(itg_start *s)
{
    bool raised = false;
    for (int32_t d = 0; d < s->space->dim_count; d++) {
        if (!s->space->dims[d].ordered || s->levels[d] == top(s, d)) continue;
        s->levels[d] += (top(s, d) - s->levels[d] + 1) / 2;
        raised = true;
    }
    return raised;
}

static bool is_widest(const itg_start *s)
{
    for (int32_t d = 0; d < s->space->dim_count; d++)
        if (s->levels[d] != (s->space->dims[d].ordered ? top(s, d) : 0)) return false;
    return true;
}

/* Handles the outcome of a given start. If it cannot be run, or is not good enough even after it
 * was raised, the search begins as without it. */
static void tell_given(itg_start *s, const itg_outcome *o)
{
    if (o->feasible && (s->options.maximize_quality || o->quality >= s->options.quality_floor)) {
        take(s, o);
        s->stage = ENDED;
    } else if (!o->feasible || !raise_half(s) || is_widest(s)) {
        itg_point_widest(s->space, s->levels);
        s->stage = WIDEST;
    }
}

static itg_status tell_widest(itg_start *s, const itg_outcome *o)
{
    s->lowered = 0;
    if (!o->feasible && o->conflict_count > 0) {
        s->stage = PAIRINGS;
        itg_point_widest(s->space, s->room);
        return tell_pairing(s, o);
    }
    s->stage = TOGETHER;
    tell_together(s, o);
    if (!s->found || is_good(s)) return ITG_OK;
    s->stage = DIAGONALS;
    next_diagonal(s);
    return ITG_OK;
}

itg_status itg_start_tell(itg_start *s, const itg_outcome *o)
{
    switch (s->stage) {
    case GIVEN:
        tell_given(s, o);
        return ITG_OK;
    case WIDEST:
        return tell_widest(s, o);
    case PAIRINGS:
        return tell_pairing(s, o);
    case TOGETHER:
        tell_together(s, o);
        return ITG_OK;
    default:
        tell_diagonal(s, o);
        return ITG_OK;
    }
}
