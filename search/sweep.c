/* The front by greedy: greedy for the goal's own floor (without one, down to the narrowest), then
 * short descents to other floors, from far below the quality of where that began, each half as far
 * as the one before. What a descent asks for that an earlier one was told is answered from memory,
 * and is no trial again. */
#include "search/greedy_state.h"
#include "search/points.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLOORS, FARTHEST, PATIENCE };
static const itg_searcher_parameter parameters[] = {
    [FLOORS] = {"floors", 8, 0, 64, true, "descents besides the one to the goal's own floor"},
    [FARTHEST] = {"farthest", 0.32, 1e-6, 100, false,
                  "the first floor's distance from the widest point's quality: 0.01 is a point, or "
                  "a dB"},
    [PATIENCE] = {"patience", 8, 0, 1e9, true,
                  "answers without an improvement that end one of these descents"},
    {0}};

#define WINDOW 8 /* as many as greedy has out */

typedef struct awaited {
    int32_t *levels;
    itg_outcome outcome;
    bool known;
} awaited;

typedef struct sweep_state {
    const itg_search_space *space;
    itg_searcher_options options; /* as greedy is told them */
    int32_t descents, begun;      /* descents, with the one to the goal's own floor */
    double widest;                /* the quality of the first point that could be run; NAN: none */
    double distance, patience;    /* of the next floor below it; of its descent */
    void *greedy;                 /* the state of this descent; NULL: none is under way */
    awaited window[WINDOW];       /* a ring, in the order in which greedy asked */
    int32_t first, count;
    itg_history told; /* feasible points; their outcomes are exact, as no racing floor is given */
} sweep_state;

static const itg_searcher_def *const greedy = &itg_searcher_greedy;

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    sweep_state *s = state;
    s->space = space;
    s->options = *options;
    s->options.maximize_quality = s->options.shares = false;
    s->options.cost_limit = 0;
    s->descents = 1 + (int32_t)options->parameters[FLOORS];
    s->distance = options->parameters[FARTHEST];
    s->patience = options->parameters[PATIENCE];
    s->widest = NAN;
    s->told = itg_history_of(space->dim_count);
    itg_searcher_defaults(greedy, s->options.parameters);
    for (int32_t i = 0; i < WINDOW; i++) {
        s->window[i].levels = calloc((size_t)space->dim_count + 1, sizeof(int32_t));
        if (!s->window[i].levels) return itg_fail(err, ITG_NO_MEMORY, "no memory for sweep");
    }
    return ITG_OK;
}

static void end_descent(sweep_state *s)
{
    if (s->greedy) greedy->deinit(s->greedy);
    free(s->greedy);
    s->greedy = NULL;
}

static void deinit(void *state)
{
    sweep_state *s = state;
    end_descent(s);
    for (int32_t i = 0; i < WINDOW; i++)
        free(s->window[i].levels);
    itg_point_map_deinit(&s->told);
}

/* ITG_END: that was all. */
static itg_status begin_descent(sweep_state *s)
{
    itg_error ignored;
    end_descent(s);
    if (s->begun == s->descents || (s->begun > 0 && isnan(s->widest))) return ITG_END;
    itg_searcher_options told = s->options;
    if (s->begun > 0) {
        told.start = NULL;
        told.quality_floor = s->widest - s->distance;
        told.parameters[ITG_GREEDY_PATIENCE] = s->patience;
        told.parameters[ITG_GREEDY_PATIENCE_PER_WIDTH] = 0;
        s->distance /= 2;
    }
    s->begun++;
    s->greedy = calloc(1, greedy->state_size);
    if (!s->greedy) return ITG_NO_MEMORY;
    return greedy->init(s->greedy, s->space, &told, &ignored);
}

static awaited *window_at(sweep_state *s, int32_t index)
{
    return &s->window[(s->first + index) % WINDOW];
}

/* Tells known outcomes, in the order of greedy's asks. */
static itg_status tell_known(sweep_state *s)
{
    itg_status status = ITG_OK;
    while (status == ITG_OK && s->count > 0 && window_at(s, 0)->known) {
        const awaited *a = window_at(s, 0);
        status = greedy->tell(s->greedy, a->levels, &a->outcome);
        s->first = (s->first + 1) % WINDOW;
        s->count--;
    }
    return status;
}

/* *known: nobody else needs to be asked. */
static itg_status take(sweep_state *s, const int32_t *levels, bool *known)
{
    int64_t at = itg_point_map_find(&s->told, levels);
    awaited *a = window_at(s, s->count++);
    *known = a->known = at >= 0;
    memcpy(a->levels, levels, sizeof *levels * (size_t)s->space->dim_count);
    if (a->known) a->outcome = *itg_history_at(&s->told, at);
    return tell_known(s);
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    sweep_state *s = state;
    itg_status status = ITG_OK;
    bool known = true;
    while (status == ITG_OK && known) {
        status = s->greedy ? greedy->ask(s->greedy, rng, levels, interest) : ITG_END;
        if (status == ITG_END)
            status = begin_descent(s);
        else if (status == ITG_OK)
            status = take(s, levels, &known);
    }
    interest->floor = -INFINITY;
    return status;
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    sweep_state *s = state;
    int32_t i = 0;
    while (window_at(s, i)->known)
        i++;
    awaited *a = window_at(s, i);
    a->outcome = *outcome;
    a->known = true;
    if (isnan(s->widest) && outcome->feasible) s->widest = outcome->quality;
    itg_status status = outcome->feasible ? itg_history_add(&s->told, levels, outcome) : ITG_OK;
    return status == ITG_OK ? tell_known(s) : status;
}

const itg_searcher_def itg_searcher_sweep = {
    .name = "sweep",
    .help = "the front of quality against the first cost: greedy for floor after floor",
    .parameters = parameters,
    .state_size = sizeof(sweep_state),
    .outstanding = WINDOW,
    .default_trials = 0,
    .wants_conflicts = true,
    .takes_start = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .deinit = deinit};
