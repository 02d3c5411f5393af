/* Two searchers, one after the other. surrogate finds good widths in few trials; greedy then begins
 * at the best point that it found, and tries single moves and exchanges around it, and the
 * threshold methods, which surrogate leaves as they are. Where surrogate found no good point,
 * greedy begins as it does alone. */
#include "search/allocate_state.h"
#include "search/greedy_moves.h"
#include "search/history.h"
#include "search/points.h"
#include <stdlib.h>

enum { SURROGATE, GREEDY, STAGES };
static const itg_searcher_def *const stages[STAGES] = {&itg_searcher_surrogate,
                                                       &itg_searcher_greedy};

enum { PATIENCE };
static const itg_searcher_parameter parameters[] = {
    [PATIENCE] = {"patience", 12, 0, 1e9, true,
                  "answers to surrogate without an improvement that end it"},
    {0}};

typedef struct hybrid_state {
    const itg_search_space *space;
    itg_searcher_options options;
    void *states[STAGES]; /* NULL: not begun */
    int stage;
    int64_t waiting;     /* points that were asked and not told */
    itg_history history; /* what surrogate was told */
} hybrid_state;

static bool is_better(const hybrid_state *s, const itg_outcome *a, const itg_outcome *b)
{
    return s->options.maximize_quality ? a->quality > b->quality : a->cost < b->cost;
}

/* The best good point of surrogate; NULL: there is none. */
static const int32_t *best_of(const hybrid_state *s)
{
    const itg_history *h = &s->history;
    int64_t best = -1;
    for (int64_t i = 0; i < h->count; i++)
        if (itg_outcome_is_good(itg_history_at(h, i), &s->options) &&
            (best < 0 || is_better(s, itg_history_at(h, i), itg_history_at(h, best))))
            best = i;
    return best < 0 ? NULL : itg_point_map_point(h, best);
}

static itg_status begin(hybrid_state *s, int stage, itg_error *err)
{
    const itg_searcher_def *def = stages[stage];
    itg_searcher_options options = s->options;
    itg_searcher_defaults(def, options.parameters);
    if (stage == SURROGATE)
        options.parameters[ITG_ALLOCATE_PATIENCE] = s->options.parameters[PATIENCE];
    if (stage == GREEDY && best_of(s)) options.start = best_of(s);
    s->stage = stage;
    s->states[stage] = calloc(1, def->state_size);
    if (!s->states[stage]) return itg_fail(err, ITG_NO_MEMORY, "no memory for hybrid");
    return def->init(s->states[stage], s->space, &options, err);
}

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    hybrid_state *s = state;
    s->space = space;
    s->options = *options;
    s->history = itg_history_of(space->dim_count);
    return begin(s, SURROGATE, err);
}

/* Asks greedy. Where it begins, surrogate was mostly told already, by all samples. */
static itg_status ask_greedy(hybrid_state *s, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    itg_status status = stages[GREEDY]->ask(s->states[GREEDY], rng, levels, interest);
    while (status == ITG_OK && s->waiting == 0 && !(interest->share < 1)) {
        int64_t known = itg_point_map_find(&s->history, levels);
        if (known < 0 || !itg_history_at(&s->history, known)->feasible) break;
        status =
            stages[GREEDY]->tell(s->states[GREEDY], levels, itg_history_at(&s->history, known));
        if (status == ITG_OK)
            status = stages[GREEDY]->ask(s->states[GREEDY], rng, levels, interest);
    }
    return status;
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    hybrid_state *s = state;
    itg_status status = ITG_END;
    if (s->stage == SURROGATE) {
        status = stages[SURROGATE]->ask(s->states[SURROGATE], rng, levels, interest);
        if (status == ITG_END && s->waiting > 0) return ITG_WAIT;
        if (status == ITG_END) status = begin(s, GREEDY, &(itg_error){0});
        if (status != ITG_OK) return status;
    }
    if (s->stage == GREEDY) status = ask_greedy(s, rng, levels, interest);
    s->waiting += status == ITG_OK;
    return status;
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    hybrid_state *s = state;
    itg_status status = ITG_OK;
    s->waiting--;
    if (s->stage == SURROGATE) status = itg_history_add(&s->history, levels, outcome);
    return status == ITG_OK ? stages[s->stage]->tell(s->states[s->stage], levels, outcome) : status;
}

static void deinit(void *state)
{
    hybrid_state *s = state;
    for (int i = 0; i < STAGES; i++) {
        if (s->states[i]) stages[i]->deinit(s->states[i]);
        free(s->states[i]);
    }
    itg_point_map_deinit(&s->history);
}

static void forecast(const void *state, itg_forecast *out)
{
    const hybrid_state *s = state;
    stages[SURROGATE]->forecast(s->states[SURROGATE], out);
}

const itg_searcher_def itg_searcher_hybrid = {
    .name = "hybrid",
    .help = "surrogate for the region, then greedy from its best point; for any number of trials",
    .parameters = parameters,
    .state_size = sizeof(hybrid_state),
    .outstanding = ITG_GREEDY_BATCH, /* surrogate waits with fewer */
    .wants_conflicts = true,
    .takes_start = true,
    .takes_past = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .deinit = deinit,
    .forecast = forecast};
