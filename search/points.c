#include "search/points.h"

void itg_point_widest(const itg_search_space *space, int32_t *levels)
{
    for (int32_t d = 0; d < space->dim_count; d++)
        levels[d] = space->dims[d].ordered ? space->dims[d].count - 1 : 0;
}

int32_t itg_dim_level(const itg_dim *dim, int32_t value)
{
    for (int32_t level = 0; level < dim->count; level++)
        if (dim->values[level] == value) return level;
    return -1;
}

bool itg_outcome_is_within(const itg_outcome *outcome, const itg_searcher_options *options)
{
    return outcome->violation <= 0 &&
           (!options->maximize_quality || outcome->cost <= options->cost_limit);
}

bool itg_outcome_is_good(const itg_outcome *outcome, const itg_searcher_options *options)
{
    return outcome->feasible && outcome->quality >= options->quality_floor &&
           itg_outcome_is_within(outcome, options);
}
