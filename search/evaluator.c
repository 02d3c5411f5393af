#include "search/evaluator.h"
#include "realize/realize.h"

double itg_score_value(const itg_score *score)
{
    return score->top1 >= 0 ? score->top1 : score->agreement;
}

static itg_status score_program(const itg_evaluator *evaluator, const itg_program *program,
                                const itg_sample_set *set, int threads, itg_score *out,
                                itg_error *err)
{
    itg_evaluate_options options = {.data = set->data,
                                    .preprocess = evaluator->preprocess,
                                    .labels = set->labels,
                                    .float_classes = set->float_classes,
                                    .threads = threads};
    itg_runner runner = itg_runner_program(program);
    itg_evaluation evaluation = {0};
    itg_status status = itg_evaluate(&runner, &options, &evaluation, err);
    if (status == ITG_OK) itg_score_quality(&evaluation, out);
    itg_evaluation_deinit(&evaluation);
    return status;
}

itg_status itg_evaluator_score(const itg_evaluator *evaluator, const int32_t *group_bits,
                               const itg_sample_set *set, int threads, itg_score *out,
                               itg_error *err)
{
    itg_strategy *strategy = NULL;
    itg_annotated *annotated = NULL;
    itg_program *program = NULL;
    itg_score score = {0};
    itg_status status =
        itg_strategy_resolve(evaluator->cache, group_bits, evaluator->activation_method,
                             evaluator->weight_method, &strategy, err);
    if (status == ITG_OK)
        status = itg_annotate(evaluator->model->graph, evaluator->hw, strategy, &annotated, err);
    if (status == ITG_OK) status = itg_score_costs(evaluator->hw, annotated, &score, err);
    if (status == ITG_OK)
        status = itg_realize_program(annotated, &(itg_realize_options){0}, &program, err);
    if (status == ITG_OK) status = score_program(evaluator, program, set, threads, &score, err);
    if (status == ITG_OK) *out = score;
    itg_program_destroy(program);
    itg_annotated_destroy(annotated);
    itg_strategy_destroy(strategy);
    return status;
}
