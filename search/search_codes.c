/* Weight codes by reconstruction (recover/recover.h) within a search.
 *
 * Exact codes of a layer depend on the widths of all layers before it: seconds for each candidate.
 * Candidates share codes instead, made once for each layer and width as if the layers before it had
 * BASE_BITS, which is near to what a search ends with. A candidate's score is exact for the codes
 * that it has. Codes of the best strategy are then made for its own widths. */
#include "search/search.h"
#include <stdlib.h>

#define BASE_BITS 4
#define WIDEST_BITS 5 /* beyond, the nearest codes are as good, whatever the inputs */

static void list_widths(const itg_choice_space *groups, uint32_t *widths)
{
    for (int32_t e = 0; e < groups->edge_count; e++) {
        const itg_choice_group *g =
            groups->edge_group[e] >= 0 ? &groups->groups[groups->edge_group[e]] : NULL;
        for (int32_t k = 0; g && g->is_weight && k < g->bits_count; k++)
            if (g->bits[k] <= WIDEST_BITS) widths[e] |= UINT32_C(1) << g->bits[k];
    }
}

static itg_status make_base(const itg_searching *s, int32_t weight_bits, itg_strategy **out,
                            itg_error *err)
{
    const itg_point_space *points = s->evaluator.points;
    size_t groups = (size_t)points->groups->group_count + 1;
    int32_t *bits = calloc(groups, sizeof *bits);
    itg_threshold_method *methods = calloc(groups, sizeof *methods);
    itg_status status =
        bits && methods ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for a strategy");
    if (status == ITG_OK) {
        itg_uniform_bits(points->groups, weight_bits, 32, bits);
        itg_uniform_methods(points->groups, points->weight_methods[0],
                            points->activation_methods[0], methods);
        status = itg_strategy_resolve(s->evaluator.cache, bits, methods, out, err);
    }
    free(bits);
    free(methods);
    return status;
}

static itg_recover_options options_of(const itg_searching *s)
{
    return (itg_recover_options){.version = ITG_RECOVER_OPTIONS_VERSION,
                                 .data = s->calibration,
                                 .threads = s->options->threads,
                                 .stop = s->evaluator.stop};
}

static itg_status make_table(itg_searching *s, int32_t weight_bits, const uint32_t *widths,
                             itg_error *err)
{
    const itg_recover_options options = options_of(s);
    itg_strategy *base = NULL;
    itg_status status = make_base(s, weight_bits, &base, err);
    if (status == ITG_OK)
        status = itg_recover_table(s->model, s->hw, s->evaluator.preprocess, &options, base, widths,
                                   &s->evaluator.recovered, err);
    itg_strategy_destroy(base);
    return status;
}

/* Not all widths go together on all hardware. */
static itg_status make_any_table(itg_searching *s, const uint32_t *widths, itg_error *err)
{
    static const int32_t bases[] = {BASE_BITS, 8, 32};
    const itg_search_hooks *h = s->hooks;
    itg_status status = ITG_INFEASIBLE;
    for (size_t i = 0; i < sizeof bases / sizeof *bases && status == ITG_INFEASIBLE; i++)
        status = make_table(s, bases[i], widths, err);
    if (status != ITG_INFEASIBLE) return status;
    if (h && h->note)
        h->note(h->context, "the hardware runs no uniform widths to reconstruct codes for: the "
                            "trials have the nearest codes, and the best one's are reconstructed");
    return ITG_OK;
}

itg_status itg_search_make_codes(itg_searching *s, const itg_dataset *data, itg_error *err)
{
    const itg_choice_space *groups = s->evaluator.points->groups;
    uint32_t *widths = calloc((size_t)groups->edge_count + 1, sizeof *widths);
    itg_status status = widths
                            ? itg_dataset_select(data, s->split.calibration,
                                                 s->split.calibration_count, &s->calibration, err)
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for widths");
    if (status == ITG_OK) {
        list_widths(groups, widths);
        status = make_any_table(s, widths, err);
    }
    free(widths);
    return status;
}

/* Meets the goal where the other does not, or has outputs that are nearer to the float network's.
 */
static bool is_better(const itg_searching *s, const itg_trial *a, const itg_trial *b)
{
    bool meets = itg_objective_meets(&s->objective, a);
    if (meets != itg_objective_meets(&s->objective, b)) return meets;
    return a->score.value[ITG_METRIC_DISTORTION] < b->score.value[ITG_METRIC_DISTORTION];
}

itg_status itg_search_refine_codes(const itg_searching *s, itg_strategy **strategy, itg_trial *best,
                                   itg_error *err)
{
    const itg_recover_options options = options_of(s);
    const itg_scoring scoring = {.set = &s->sets[0], .threads = s->options->threads};
    itg_strategy *made = NULL;
    itg_trial refined = *best;
    itg_status status = itg_strategy_clone(*strategy, &made, err);
    if (status == ITG_OK)
        status = itg_recover(s->model, s->hw, s->evaluator.preprocess, &options, made, err);
    if (status == ITG_OK)
        status = itg_evaluator_score_strategy(&s->evaluator, made, &scoring, &refined.score, err);
    if (status == ITG_OK && is_better(s, &refined, best)) {
        itg_strategy *before = *strategy;
        best->score = refined.score;
        *strategy = made;
        made = before;
    }
    itg_strategy_destroy(made);
    return status == ITG_CANCELLED || status == ITG_INFEASIBLE || status == ITG_UNBOUNDED ? ITG_OK
                                                                                          : status;
}
