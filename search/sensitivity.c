/* What each choice does alone: the widest point, then every group of edges at every other width and
 * threshold method, all others as in the widest point. The pass that AIMET and other tools call a
 * sensitivity analysis. It learns from nothing that it is told, but every quality is wanted. */
#include "search/points.h"

typedef struct sensitivity_state {
    const itg_search_space *space;
    bool started;
    int32_t dim, step, method; /* the next point: this many levels below the top */
} sensitivity_state;

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    sensitivity_state *s = state;
    (void)options;
    (void)err;
    s->space = space;
    return ITG_OK;
}

/* Whether a method is tried at each width of its group: if the group has a width. */
static bool is_tried_with_widths(const itg_search_space *space, int32_t dim)
{
    for (int32_t d = 0; d < space->dim_count; d++)
        if (space->dims[d].method == dim + 1) return true;
    return false;
}

static int32_t methods_of(const itg_search_space *space, int32_t dim)
{
    int32_t method = space->dims[dim].method;
    return method > 0 ? space->dims[method - 1].count : 1;
}

static void advance(sensitivity_state *s)
{
    if (++s->method < methods_of(s->space, s->dim)) return;
    s->method = 0;
    if (++s->step < s->space->dims[s->dim].count) return;
    s->step = 0;
    s->dim++;
}

/* Whether the next point is one to ask for: not the widest point again, and not one that is tried
 * with a width. */
static bool is_wanted(const sensitivity_state *s)
{
    return (s->step > 0 || s->method > 0) && !is_tried_with_widths(s->space, s->dim);
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    sensitivity_state *s = state;
    (void)rng;
    (void)interest; /* every quality is wanted */
    itg_point_widest(s->space, levels);
    if (!s->started) {
        s->started = true;
        return ITG_OK;
    }
    while (s->dim < s->space->dim_count && !is_wanted(s))
        advance(s);
    if (s->dim == s->space->dim_count) return ITG_END;
    const itg_dim *dim = &s->space->dims[s->dim];
    levels[s->dim] = dim->ordered ? dim->count - 1 - s->step : s->step;
    if (dim->method > 0) levels[dim->method - 1] = s->method;
    advance(s);
    return ITG_OK;
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    (void)state;
    (void)levels;
    (void)outcome;
    return ITG_OK;
}

static void deinit(void *state)
{
    (void)state;
}

const itg_searcher_def itg_searcher_sensitivity = {
    .name = "sensitivity",
    .help = "no search: each width and method alone, the rest at the widest",
    .state_size = sizeof(sensitivity_state),
    .outstanding = 16,
    .single_round = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .deinit = deinit};
