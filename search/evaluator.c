#include "search/evaluator.h"
#include "realize/realize.h"
#include "search/engine.h"
#include "search/sums.h"
#include <stdlib.h>

/* Weight codes and packed weights. Those in use are in memory in any case; the cache holds others,
 * for points that need them again. */
#define WEIGHT_CACHE_BYTES ((size_t)192 << 20)

itg_status itg_evaluator_init(itg_evaluator *e, int64_t cache_bytes, itg_error *err)
{
    itg_status status = itg_accel_choose(NULL, &e->kernels, err);
    if (status == ITG_OK) status = itg_cache_create(WEIGHT_CACHE_BYTES, &e->weights, err);
    if (status == ITG_OK && cache_bytes > 0)
        status = itg_cache_create((size_t)cache_bytes, &e->activations, err);
    if (status == ITG_OK) status = itg_constants_create(e->model, e->weights, &e->constants, err);
    return status;
}

void itg_evaluator_deinit(itg_evaluator *e)
{
    itg_constants_deinit(&e->constants);
    itg_cache_destroy(e->weights);
    itg_cache_destroy(e->activations);
    itg_threshold_cache_destroy(e->cache);
    itg_point_space_destroy(e->points);
}

/* ---- costs ---- */

/* Makes the steps of nodes the steps of a program; false: it has none of them. */
static bool steps_of(const itg_program *p, const itg_stripes *nodes, itg_stripes *out)
{
    *out = (itg_stripes){-1, -1, nodes->count, nodes->by_products};
    if (nodes->by_products) return true;
    for (int32_t i = 0; i < p->step_count; i++) {
        if (p->steps[i].node == nodes->first && out->first < 0) out->first = i;
        if (p->steps[i].node == nodes->last) out->last = i;
    }
    return out->first >= 0 && out->last >= out->first &&
           itg_stripes_fit(p, out->first, out->last) &&
           p->values[p->steps[out->last].outputs[0]].shape.dims[2] >= nodes->count;
}

/* Takes the RAM and the cycles of stripes, if the whole program exceeds the limit. The cycles grow
 * as the multiply-accumulates do. */
static itg_status cost_stripes(const itg_evaluator *e, const itg_program *program, itg_score *score,
                               itg_error *err)
{
    itg_stripes stripes;
    itg_program *striped = NULL;
    int64_t bytes = 0;
    double *ram = &score->value[ITG_METRIC_PEAK_ACTIVATION_BYTES];
    const bool none = e->stripes.count == 0 && !e->stripes.by_products;
    if (none || !(*ram > e->max_ram) || !steps_of(program, &e->stripes, &stripes)) return ITG_OK;
    itg_status status = itg_stripes_build(program, &stripes, &striped, err);
    if (status == ITG_OK) status = itg_program_ram_bytes(striped, &bytes, err);
    if (status == ITG_OK && (double)bytes < *ram) {
        const double whole_macs = (double)itg_program_macs(program);
        *ram = (double)bytes;
        if (whole_macs > 0)
            score->value[ITG_METRIC_CYCLES] *= (double)itg_program_macs(striped) / whole_macs;
    }
    itg_program_destroy(striped);
    return status;
}

static itg_status cost_program(const itg_evaluator *e, const itg_annotated *annotated,
                               const itg_program *program, itg_score *score, itg_error *err)
{
    itg_status status = itg_program_costs(e->hw, annotated, program, score, err);
    return status == ITG_OK ? cost_stripes(e, program, score, err) : status;
}

/* Sets the least quality (an SQNR; top-1 if there are labels; else agreement) that the evaluation
 * must still be able to reach. `costs` are known; *most is memory for it. */
static void set_least(const itg_scoring *scoring, const itg_score *costs, double *most,
                      itg_evaluate_options *o)
{
    if (!scoring->race) return;
    double floor = itg_race_floor(scoring->race, costs);
    o->enough = itg_race_enough(scoring->race);
    itg_metric quality = itg_goal_quality_metric(&scoring->race->objective->goal);
    if (quality == ITG_METRIC_SQNR) {
        *most = itg_most_distortion(floor);
        o->most_distortion = most;
        return;
    }
    if (quality == ITG_METRIC_ACCURACY && scoring->set->expected.samples > 0) {
        o->least_expected = floor;
        return;
    }
    if (quality == ITG_METRIC_ACCURACY)
        quality = scoring->set->has_classes ? ITG_METRIC_TOP1 : ITG_METRIC_AGREEMENT;
    if (itg_hit_of[quality])
        o->least_hits[quality] = itg_least_count(o->data->shape.dims[0], floor);
}

/* The costs are in *out already. */
static itg_status score_program(const itg_evaluator *evaluator, const itg_program *program,
                                const itg_scoring *scoring, itg_score *out, itg_error *err)
{
    const itg_sample_set *set = scoring->set;
    itg_evaluate_options options = {.data = set->data,
                                    .preprocess = evaluator->preprocess,
                                    .labels = set->labels,
                                    .measures = evaluator->measures,
                                    .probabilities = itg_gives_probabilities(evaluator->model),
                                    .user = evaluator->user,
                                    .user_lock = evaluator->user_lock,
                                    .float_classes = set->classes,
                                    .reference = &set->outputs,
                                    .expected = &set->expected,
                                    .order = set->order,
                                    .threads = scoring->threads,
                                    .stop = evaluator->stop};
    double most = 0;
    set_least(scoring, out, &most, &options);
    const itg_batch_options batch = {
        .kernels = evaluator->kernels, .block = evaluator->block, .weights = evaluator->weights};
    itg_batch_plan *plan = NULL;
    itg_evaluation evaluation = {0};
    itg_status status = itg_batch_plan_create(program, &batch, &plan, err);
    if (status != ITG_OK) return status;
    itg_fast_program fast = {program, plan, evaluator->activations, set->source};
    itg_backend backend = itg_backend_program(&fast);
    status = itg_evaluate(&backend, &options, &evaluation, err);
    if (status == ITG_OK) itg_score_quality(&evaluation, out);
    if (status == ITG_OK && scoring->distortion_deviation)
        *scoring->distortion_deviation = evaluation.distortion_deviation;
    itg_evaluation_deinit(&evaluation);
    itg_batch_plan_destroy(plan);
    return status;
}

/* method: used for every group; ITG_THRESHOLD_METHOD_COUNT: the point's own. */
static itg_status resolve(const itg_evaluator *evaluator, const int32_t *point,
                          itg_threshold_method method, itg_strategy **out, itg_error *err)
{
    size_t groups = (size_t)evaluator->points->groups->group_count + 1;
    int32_t *bits = calloc(groups, sizeof *bits);
    itg_threshold_method *methods = calloc(groups, sizeof *methods);
    int32_t *passed_over = calloc(groups, sizeof *passed_over);
    itg_status status = bits && methods && passed_over
                            ? ITG_OK
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for a strategy");
    if (status == ITG_OK) {
        itg_point_space_apply(evaluator->points, point, bits, methods, passed_over);
        if (method != ITG_THRESHOLD_METHOD_COUNT)
            itg_uniform_methods(evaluator->points->groups, method, method, methods);
        status = itg_strategy_resolve(evaluator->cache, bits, methods, passed_over, out, err);
        if (status == ITG_OK && evaluator->recovered)
            status = itg_recovered_apply(evaluator->recovered, *out, err);
        if (status == ITG_OK)
            status =
                itg_fit_sums(evaluator->model, evaluator->hw, &evaluator->constants, *out, err);
    }
    free(passed_over);
    free(bits);
    free(methods);
    return status;
}

itg_status itg_evaluator_resolve(const itg_evaluator *evaluator, const int32_t *point,
                                 itg_strategy **out, itg_error *err)
{
    return resolve(evaluator, point, ITG_THRESHOLD_METHOD_COUNT, out, err);
}

itg_status itg_evaluator_score_strategy(const itg_evaluator *evaluator,
                                        const itg_strategy *strategy, const itg_scoring *scoring,
                                        itg_score *out, itg_error *err)
{
    itg_annotated *annotated = NULL;
    itg_program *program = NULL;
    itg_score score = itg_score_unknown();
    itg_status status = itg_check_stop(&evaluator->stop, err);
    if (status == ITG_OK)
        status = itg_annotate_with(evaluator->model, evaluator->hw, strategy, &evaluator->constants,
                                   &annotated, err);
    if (status == ITG_OK) status = itg_realize_program(annotated, NULL, &program, err);
    if (status == ITG_OK) status = cost_program(evaluator, annotated, program, &score, err);
    if (status == ITG_OK) status = score_program(evaluator, program, scoring, &score, err);
    if (status == ITG_OK) *out = score;
    itg_program_destroy(program);
    itg_annotated_destroy(annotated);
    return status;
}

itg_status itg_evaluator_score(const itg_evaluator *evaluator, const int32_t *point,
                               const itg_scoring *scoring, itg_score *out, itg_error *err)
{
    itg_strategy *strategy = NULL;
    itg_status status = itg_evaluator_resolve(evaluator, point, &strategy, err);
    if (status == ITG_OK)
        status = itg_evaluator_score_strategy(evaluator, strategy, scoring, out, err);
    itg_strategy_destroy(strategy);
    return status;
}

/* The dimension of an operand's width; -1: it has none. */
static int32_t width_of(const itg_point_space *points, itg_id node, int32_t slot)
{
    const itg_choice_space *groups = points->groups;
    for (int32_t e = 0; e < groups->edge_count; e++) {
        if (groups->edges[e].node != node || groups->edges[e].slot != slot) continue;
        for (int32_t d = 0; d < points->space.dim_count; d++)
            if (points->dims[d].ordered && points->dim_group[d] == groups->edge_group[e]) return d;
    }
    return -1;
}

static itg_status find_conflicts(const itg_point_space *points, const itg_annotated *annotated,
                                 itg_conflict **out, int32_t *count, itg_error *err)
{
    itg_bound *bounds = NULL;
    int32_t bound_count = 0;
    itg_status status = itg_bounds_of(annotated, &bounds, &bound_count, err);
    if (status != ITG_OK) return status;
    itg_conflict *list = malloc(sizeof *list * ((size_t)bound_count + 1));
    for (int32_t i = 0; list && i < bound_count; i++) {
        if (bounds[i].fits) continue;
        itg_conflict c = {width_of(points, bounds[i].node, 0), width_of(points, bounds[i].node, 1)};
        if (c.activation >= 0 || c.weight >= 0) list[(*count)++] = c;
    }
    free(bounds);
    *out = list;
    return list ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for what does not fit");
}

itg_status itg_evaluator_conflicts(const itg_evaluator *evaluator, const int32_t *point,
                                   itg_conflict **out, int32_t *count, itg_error *err)
{
    itg_strategy *strategy = NULL;
    itg_annotated *annotated = NULL;
    itg_error why = {0};
    itg_status status = itg_evaluator_resolve(evaluator, point, &strategy, &why);
    *count = 0;
    if (status == ITG_OK)
        status = itg_annotate_with(evaluator->model, evaluator->hw, strategy, &evaluator->constants,
                                   &annotated, &why);
    if (status == ITG_OK) status = find_conflicts(evaluator->points, annotated, out, count, &why);
    itg_annotated_destroy(annotated);
    itg_strategy_destroy(strategy);
    /* Only accumulators make conflicts; other reasons of infeasibility do not. */
    if (status == ITG_OK || status == ITG_INFEASIBLE || status == ITG_UNBOUNDED) return ITG_OK;
    return itg_fail(err, status, "%s", why.message);
}

/* A program that might overflow has a RAM figure, too. */
static itg_status cost_with_ram(const itg_evaluator *evaluator, const itg_annotated *annotated,
                                itg_score *score, itg_error *err)
{
    itg_program *program = NULL;
    const itg_realize_options options = {ITG_REALIZE_OPTIONS_VERSION, .allow_overflow = true};
    itg_status status = itg_realize_program(annotated, &options, &program, err);
    if (status == ITG_OK) status = cost_program(evaluator, annotated, program, score, err);
    itg_program_destroy(program);
    return status;
}

/* Uses the threshold method that needs no search: costs do not depend on thresholds, except the RAM
 * of sums that fit only 64 bits. */
itg_status itg_evaluator_cost(const itg_evaluator *evaluator, const int32_t *point, bool with_ram,
                              itg_score *out, itg_cost *nodes, itg_error *err)
{
    itg_strategy *strategy = NULL;
    itg_annotated *annotated = NULL;
    itg_score score = itg_score_unknown();
    itg_status status = itg_check_stop(&evaluator->stop, err);
    if (status == ITG_OK) status = resolve(evaluator, point, ITG_THRESHOLD_MAX, &strategy, err);
    if (status == ITG_OK)
        status = itg_annotate_with(evaluator->model, evaluator->hw, strategy, &evaluator->constants,
                                   &annotated, err);
    if (status == ITG_OK)
        status = with_ram ? cost_with_ram(evaluator, annotated, &score, err)
                          : itg_score_costs(evaluator->hw, annotated, &score, err);
    if (status == ITG_OK && nodes && itg_cost_of_nodes(evaluator->hw, annotated, nodes) != ITG_OK)
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for the costs");
    if (status == ITG_OK) *out = score;
    itg_annotated_destroy(annotated);
    itg_strategy_destroy(strategy);
    return status;
}

itg_status itg_evaluator_choose_stripes(itg_evaluator *e, double max_ram, itg_tiling *tiling,
                                        itg_error *err)
{
    const itg_realize_options options = {ITG_REALIZE_OPTIONS_VERSION, .allow_overflow = true};
    itg_strategy *strategy = NULL;
    itg_annotated *annotated = NULL;
    itg_program *program = NULL;
    itg_stripes stripes = {0};
    itg_error why = {0};
    int32_t *point = malloc(sizeof *point * ((size_t)e->points->space.dim_count + 1));
    *tiling = (itg_tiling){0};
    if (!point) return itg_fail(err, ITG_NO_MEMORY, "no memory for the choice space");
    itg_point_space_corner(e->points, false, point);
    itg_point_space_leave_float(e->points, point); /* float nodes are not computed by stripes */
    itg_status status = resolve(e, point, ITG_THRESHOLD_MAX, &strategy, &why);
    if (status == ITG_OK)
        status = itg_annotate_with(e->model, e->hw, strategy, &e->constants, &annotated, &why);
    if (status == ITG_OK) status = itg_realize_program(annotated, &options, &program, &why);
    if (status == ITG_OK)
        status = itg_stripes_choose(program, (int64_t)max_ram, &e->stop, &stripes, tiling, &why);
    if (status == ITG_OK && (stripes.count > 0 || stripes.by_products)) {
        e->max_ram = max_ram;
        e->stripes =
            (itg_stripes){program->steps[stripes.first].node, program->steps[stripes.last].node,
                          stripes.count, stripes.by_products};
    }
    itg_program_destroy(program);
    itg_annotated_destroy(annotated);
    itg_strategy_destroy(strategy);
    free(point);
    /* What has no C source, or cannot be run at its widest, has no stripes. */
    const bool fails = status == ITG_NO_MEMORY || status == ITG_CANCELLED;
    return fails ? itg_fail(err, status, "%s", why.message) : ITG_OK;
}
