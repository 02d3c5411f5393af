/* A search in rounds. In the first, trials have codes of weights that were made for uniform widths
 * (search_codes.c), worse than codes for their own. Where the searcher came to its end, codes are
 * made for the widths of the best trial, and the searcher begins again there, among no wider
 * widths: first the best trial's point with its own codes, then what these leave room for.
 *
 * There is one round without reconstruction, with several objectives, and where a quality is
 * maximized: no narrower widths are wanted then. */
#include "search/search.h"
#include <stdlib.h>
#include <string.h>

static itg_status run_round(itg_searching *s, int32_t round, const itg_objective *objective,
                            double begun, itg_error *err)
{
    const itg_search_options *o = s->options;
    const bool has_evaluator = s->hooks && s->hooks->evaluator;
    const itg_workers host = itg_search_host_workers(s);
    itg_engine_options options = {.searcher = s->searcher,
                                  .parameters = s->parameters,
                                  .start = round == 0 ? s->start : NULL,
                                  .past = round == 0 ? s->past : NULL,
                                  .past_count = round == 0 ? s->past_count : 0,
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

static const itg_trial *first_of(const itg_engine_result *run, int32_t round)
{
    int64_t i = 0;
    while (i < run->trial_count && run->trials[i].round != round)
        i++;
    return i < run->trial_count ? &run->trials[i] : NULL;
}

bool itg_search_has_own_codes(const itg_searching *s, const itg_trial *trial)
{
    const itg_trial *first = first_of(&s->result->run, trial->round);
    return trial->round > 0 && first && trial->index == first->index;
}

static bool another_helps(const itg_searching *s, int32_t round)
{
    const itg_engine_result *r = &s->result->run;
    bool ended =
        strcmp(r->stop_reason, "exhausted") == 0 || strcmp(r->stop_reason, "patience") == 0;
    return itg_search_recovers(s) && !s->searcher->single_round &&
           !itg_goal_maximizes_quality(&s->objective.goal) && r->front.objective_count < 2 &&
           ended && r->goal_met && r->best.round == round - 1 &&
           !itg_search_has_own_codes(s, &r->best);
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

/* Checks the first trial of a round: the codes of a round follow from its first point, by which its
 * trials are repeated. */
static itg_status check_first(const itg_searching *s, int32_t round, const int32_t *point,
                              itg_error *err)
{
    const itg_trial *first = first_of(&s->result->run, round);
    if (!first || memcmp(first->point, point, sizeof *point * (size_t)first->dim_count) == 0)
        return ITG_OK;
    return itg_fail(err, ITG_FAILURE, "searcher %s does not begin at the widest point",
                    s->searcher->name);
}

static itg_status run_later_round(itg_searching *s, int32_t round, itg_objective *objective,
                                  double begun, itg_error *err)
{
    const itg_search_space *full = &s->evaluator.points->space;
    const int32_t *point = s->result->run.best.point;
    itg_dim *dims = malloc(((size_t)full->dim_count + 1) * sizeof *dims);
    const itg_search_space space = {full->dim_count, dims};
    itg_status status = dims ? itg_search_make_codes(s, round, point, err)
                             : itg_fail(err, ITG_NO_MEMORY, "no memory for the widths of a round");
    if (status == ITG_OK && s->codes[round]) {
        narrow(full, point, dims);
        objective->space = &space;
        status = run_round(s, round, objective, begun, err);
        if (status == ITG_OK) status = check_first(s, round, point, err);
    }
    free(dims);
    return status;
}

itg_status itg_search_run_rounds(itg_searching *s, double begun, itg_error *err)
{
    const itg_engine_options log = {.replay = s->options->replay,
                                    .replay_count = s->options->replay_count};
    itg_engine_result *r = &s->result->run;
    itg_objective objective = s->objective;
    itg_status status = run_round(s, 0, &objective, begun, err);
    for (int32_t round = 1;
         status == ITG_OK && round < ITG_SEARCH_ROUNDS && another_helps(s, round); round++) {
        status = run_later_round(s, round, &objective, begun, err);
        if (status == ITG_CANCELLED) {
            r->stop_reason = "cancelled";
            status = ITG_OK;
        }
    }
    s->evaluator.recovered = s->codes[0];
    return status == ITG_OK ? itg_engine_check_replay(&log, r, err) : status;
}
