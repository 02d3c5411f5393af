/* Accessors of the result of a search (intaglio.h). */
#include "search/search.h"
#include <stdlib.h>

void itg_search_result_destroy(itg_search_result *result)
{
    if (!result) return;
    itg_engine_result_deinit(&result->run);
    for (int32_t i = 0; i < ITG_SEARCH_ROUNDS; i++)
        itg_memory_deinit(&result->memory[i]);
    itg_strategy_close(result->strategy);
    free(result);
}

int64_t itg_search_trial_count(const itg_search_result *result)
{
    return result->run.trial_count;
}
int64_t itg_search_duplicate_count(const itg_search_result *result)
{
    return result->run.duplicates;
}
int64_t itg_search_raced_count(const itg_search_result *result)
{
    return result->run.raced;
}
const itg_trial *itg_search_trial_at(const itg_search_result *result, int64_t index)
{
    return index >= 0 && index < result->run.trial_count ? &result->run.trials[index] : NULL;
}
const itg_trial *itg_search_best(const itg_search_result *result)
{
    return result->run.best.index >= 0 ? &result->run.best : NULL;
}
int32_t itg_search_front_count(const itg_search_result *result)
{
    return result->run.front.objective_count > 1 ? result->run.front.count : result->run.goal_met;
}
const itg_trial *itg_search_front_at(const itg_search_result *result, int32_t index)
{
    return result->run.front.objective_count > 1 ? &result->run.front.entries[index].trial
                                                 : &result->run.best;
}
bool itg_search_goal_met(const itg_search_result *result)
{
    return result->run.goal_met;
}
bool itg_search_goal_holds(const itg_search_result *result)
{
    return result->run.best.index >= 0 &&
           itg_goal_is_met(&result->goal, &result->floats.at[1], &result->best_holdout);
}
const itg_selection *itg_search_selection(const itg_search_result *result)
{
    return &result->selection;
}
const itg_forecast *itg_search_forecast(const itg_search_result *result)
{
    return &result->run.forecast;
}
const char *itg_search_limited_by(const itg_search_result *result)
{
    return result->limited_by;
}

static const itg_score *read_pair(const itg_score_pair *pair, bool holdout)
{
    return pair->known ? &pair->at[holdout] : NULL;
}

bool itg_search_cost_varies(const itg_search_result *result)
{
    return result->cost_varies;
}

const itg_score *itg_search_float(const itg_search_result *result, bool holdout)
{
    return read_pair(&result->floats, holdout);
}
const itg_score *itg_search_uniform8(const itg_search_result *result, bool holdout)
{
    return &result->uniform8.at[holdout];
}
const itg_score *itg_search_hago(const itg_search_result *result, bool holdout)
{
    return read_pair(&result->hago, holdout);
}
const itg_score *itg_search_best_holdout(const itg_search_result *result)
{
    return result->holdout_known ? &result->best_holdout : NULL;
}
itg_strategy_file *itg_search_strategy(itg_search_result *result)
{
    return result->strategy;
}
const char *itg_search_stop_reason(const itg_search_result *result)
{
    return result->run.stop_reason;
}
