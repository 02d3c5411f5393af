/* Costs of what is deployed: those of the annotated graph, and the RAM of the program that it
 * becomes. */
#include "search/engine.h"
#include "search/evaluator.h"
#include "search/sums.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static itg_status add_ram(const itg_annotated *a, const itg_program *program, itg_score *out,
                          itg_error *err)
{
    itg_program *made = NULL;
    itg_error why = {0};
    int64_t bytes = 0;
    itg_status status = ITG_OK;
    out->value[ITG_METRIC_PEAK_ACTIVATION_BYTES] = (double)NAN;
    if (program == NULL) {
        status = itg_realize_program(
            a, &(itg_realize_options){ITG_REALIZE_OPTIONS_VERSION, .allow_overflow = true}, &made,
            &why);
        program = made;
    }
    if (status == ITG_OK) status = itg_program_ram_bytes(program, &bytes, &why);
    if (status == ITG_OK) out->value[ITG_METRIC_PEAK_ACTIVATION_BYTES] = (double)bytes;
    itg_program_destroy(made);
    return status == ITG_NO_MEMORY ? itg_fail(err, status, "%s", why.message) : ITG_OK;
}

itg_status itg_program_costs(const itg_hardware *hw, const itg_annotated *a,
                             const itg_program *program, itg_score *out, itg_error *err)
{
    itg_status status = itg_score_costs(hw, a, out, err);
    return status == ITG_OK ? add_ram(a, program, out, err) : status;
}

double itg_hardware_limit(const itg_hardware *hw, itg_metric metric)
{
    return metric == ITG_METRIC_PARAMETER_BYTES         ? (double)hw->flash_bytes
           : metric == ITG_METRIC_PEAK_ACTIVATION_BYTES ? (double)hw->ram_bytes
                                                        : 0;
}

itg_goal itg_goal_on(const itg_goal *goal, const itg_hardware *hw)
{
    itg_goal kept = *goal;
    for (int k = 0; k < ITG_METRIC_COUNT; k++) {
        double stated = itg_hardware_limit(hw, (itg_metric)k),
               limit = itg_goal_limit(goal, (itg_metric)k);
        if (stated > 0 && (limit == 0 || stated < limit))
            (void)itg_goal_constrain(&kept, (itg_metric)k, stated, false);
    }
    return kept;
}

itg_status itg_strategy_costs(const itg_strategy_file *file, const itg_annotated *annotated,
                              const itg_program *program, itg_score *out, itg_error *err)
{
    itg_score score = itg_score_unknown();
    itg_status status = itg_program_costs(file->hardware, annotated, program, &score, err);
    if (status == ITG_OK) *out = score;
    return status;
}

/* ---- of a model alone ---- */

itg_status itg_check_costs(const itg_model *model, const itg_hardware *hw, int32_t bits,
                           itg_score *out, char no_c[512], itg_error *err)
{
    const itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, bits, bits, ITG_THRESHOLD_MAX,
                                         ITG_THRESHOLD_MAX,           0,    0};
    itg_stats *stats = itg_stats_made_up(model);
    itg_strategy *strategy = NULL;
    itg_annotated *annotated = NULL;
    itg_program *program = NULL;
    itg_score score = itg_score_unknown();
    itg_error why = {0};
    int64_t arena;
    if (no_c) *no_c = '\0';
    if (!stats) return itg_fail(err, ITG_NO_MEMORY, "no memory for the costs");
    itg_status status = itg_strategy_uniform(model, hw, stats, &options, &strategy, &why);
    if (status == ITG_OK) status = itg_fit_sums(model, hw, NULL, strategy, &why);
    if (status == ITG_OK) status = itg_annotate(model, hw, strategy, &annotated, &why);
    if (status == ITG_OK)
        status = itg_realize_program(
            annotated, &(itg_realize_options){ITG_REALIZE_OPTIONS_VERSION, .allow_overflow = true},
            &program, &why);
    if (status == ITG_OK) status = itg_program_costs(hw, annotated, program, &score, &why);
    if (status == ITG_OK && no_c && itg_program_arena_bytes(program, &arena, &why) != ITG_OK)
        snprintf(no_c, 512, "%s", why.message);
    itg_program_destroy(program);
    itg_annotated_destroy(annotated);
    itg_strategy_destroy(strategy);
    itg_stats_destroy(stats);
    if (status == ITG_NO_MEMORY) return itg_fail(err, status, "%s", why.message);
    *out = score;
    return ITG_OK;
}
