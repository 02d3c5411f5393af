/* A search in rounds. In the first, trials have codes of weights that were made for uniform widths
 * (search_codes.c), worse than codes for their own. Where the searcher came to its end, codes are
 * made for the widths of the best trial, and the searcher begins again there, among no wider
 * widths: first the best trial's point with its own codes, then what these leave room for. In the
 * last round each trial has codes for its own widths, with all that reconstruction does for one
 * strategy: some trials that were too far below the floor are not, with these. That takes so long
 * that only few are tried (cheaper.c).
 *
 * There is one round without reconstruction, with several objectives, and where a quality is
 * maximized: no narrower widths are wanted then. */
#include "search/search.h"
#include "search/warm_start.h"
#include <stdlib.h>
#include <string.h>

#define RUNGS 3 /* points for the final choice to fall back to */

/* What the searcher of a round knows when it begins. */
typedef struct beginning {
    const itg_searcher_def *searcher;
    const double *parameters; /* NULL: the defaults */
    const int32_t *start;
    const itg_told *past;
    int64_t past_count;
} beginning;

static itg_status run_round(itg_searching *s, int32_t round, const beginning *from,
                            const itg_objective *objective, double begun, itg_error *err)
{
    const itg_search_options *o = s->options;
    const bool has_evaluator = s->hooks && s->hooks->evaluator;
    const itg_workers host = itg_search_host_workers(s);
    itg_engine_options options = {.searcher = from->searcher,
                                  .parameters = from->parameters,
                                  .start = from->start,
                                  .past = from->past,
                                  .past_count = from->past_count,
                                  .objective = objective,
                                  .trials = o->trials,
                                  .seconds = o->seconds,
                                  .begun = begun,
                                  .patience = o->patience,
                                  .tolerance = o->tolerance,
                                  .seed = o->seed,
                                  .workers = has_evaluator ? &host : NULL,
                                  .threads = o->threads,
                                  .score = itg_search_score_point,
                                  .score_context = s,
                                  .conflicts = itg_search_find_conflicts,
                                  .hooks = s->hooks,
                                  .memory = &s->result->memory[round],
                                  .no_racing = o->no_racing,
                                  .replay = o->replay,
                                  .replay_count = o->replay_count,
                                  .round = round};
    s->round = round;
    s->result->memory[round] = itg_memory_of(objective->space->dim_count);
    return itg_engine_run(&options, &s->result->run, err);
}

/* ---- later rounds ---- */

/* The trial whose widths the codes of the second round were made for; NULL: there is none. */
static const itg_trial *first_of_second(const itg_engine_result *run)
{
    int64_t i = 0;
    while (i < run->trial_count && run->trials[i].round != ITG_ROUND_BEST)
        i++;
    return i < run->trial_count ? &run->trials[i] : NULL;
}

bool itg_search_has_own_codes(const itg_searching *s, const itg_trial *trial)
{
    const itg_trial *first = first_of_second(&s->result->run);
    return trial->round == ITG_ROUND_OWN ||
           (first && trial->index == first->index && !itg_search_tunes(s));
}

/* Whether better codes may lead to a cheaper best. */
static bool another_helps(const itg_searching *s)
{
    const itg_engine_result *r = &s->result->run;
    bool ended =
        strcmp(r->stop_reason, "exhausted") == 0 || strcmp(r->stop_reason, "patience") == 0;
    return itg_search_recovers(s) && !s->searcher->single_round &&
           !itg_goal_maximizes_quality(&s->objective.goal) && r->front.objective_count < 2 &&
           ended && r->goal_met;
}

/* The widths up to the point's, and its methods. */
static void narrow(const itg_search_space *full, const int32_t *point, itg_dim *dims)
{
    for (int32_t d = 0; d < full->dim_count; d++) {
        int32_t level = 0;
        dims[d] = full->dims[d];
        while (level + 1 < dims[d].count && dims[d].values[level] != point[d])
            level++;
        dims[d].count = dims[d].ordered ? level + 1 : 1;
        if (!dims[d].ordered) dims[d].values += level;
    }
}

/* Checks the first trial of the second round: the round's codes follow from its point, by which its
 * trials are repeated. */
static itg_status check_first(const itg_searching *s, const int32_t *point, itg_error *err)
{
    const itg_trial *first = first_of_second(&s->result->run);
    if (!first || memcmp(first->point, point, sizeof *point * (size_t)first->dim_count) == 0)
        return ITG_OK;
    return itg_fail(err, ITG_FAILURE, "searcher %s does not begin at the widest point",
                    s->searcher->name);
}

static itg_status run_from_best(itg_searching *s, const beginning *from, double begun,
                                itg_error *err)
{
    const itg_search_space *full = &s->evaluator.points->space;
    const int32_t *point = s->result->run.best.point;
    itg_dim *dims = malloc(((size_t)full->dim_count + 1) * sizeof *dims);
    const itg_search_space space = {full->dim_count, dims};
    itg_objective objective = s->objective;
    itg_status status = dims ? itg_search_make_codes(s, ITG_ROUND_BEST, point, err)
                             : itg_fail(err, ITG_NO_MEMORY, "no memory for the widths of a round");
    if (status == ITG_OK && s->codes[ITG_ROUND_BEST]) {
        narrow(full, point, dims);
        objective.space = &space;
        status = run_round(s, ITG_ROUND_BEST, from, &objective, begun, err);
        if (status == ITG_OK) status = check_first(s, point, err);
    }
    free(dims);
    return status;
}

static itg_status run_with_own_codes(itg_searching *s, double begun, itg_error *err)
{
    const itg_engine_result *r = &s->result->run;
    const itg_search_past earlier = {"this search", r->trials, r->trial_count};
    const double parameters[ITG_MOST_PARAMETERS] = {s->sets[ITG_SET_SELECTION].data ? RUNGS : 0};
    beginning from = {.searcher = &itg_searcher_cheaper, .parameters = parameters};
    itg_told *told = NULL;
    itg_status status = itg_warm_start_past(&earlier, &s->objective, &told, &from.past_count, err);
    from.past = told;
    if (status == ITG_OK) status = run_round(s, ITG_ROUND_OWN, &from, &s->objective, begun, err);
    free(told);
    return status;
}

static itg_status run_later_rounds(itg_searching *s, double begun, itg_error *err)
{
    const beginning anew = {.searcher = s->searcher, .parameters = s->parameters};
    itg_status status = ITG_OK;
    if (another_helps(s)) status = run_from_best(s, &anew, begun, err);
    if (status == ITG_OK && another_helps(s) && itg_search_tunes(s))
        status = run_with_own_codes(s, begun, err);
    if (status != ITG_CANCELLED) return status;
    s->result->run.stop_reason = "cancelled";
    return ITG_OK;
}

itg_status itg_search_run_rounds(itg_searching *s, double begun, itg_error *err)
{
    const itg_engine_options log = {.replay = s->options->replay,
                                    .replay_count = s->options->replay_count};
    const beginning first = {s->searcher, s->parameters, s->start, s->past, s->past_count};
    itg_status status = run_round(s, ITG_ROUND_UNIFORM, &first, &s->objective, begun, err);
    if (status == ITG_OK) status = run_later_rounds(s, begun, err);
    s->evaluator.recovered = s->codes[0];
    s->round = ITG_ROUND_UNIFORM;
    return status == ITG_OK ? itg_engine_check_replay(&log, &s->result->run, err) : status;
}
