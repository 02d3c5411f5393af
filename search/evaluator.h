/* Strategies to scores through the deployed program: annotate, realize, run. */
#ifndef ITG_EVALUATOR_H
#define ITG_EVALUATOR_H
#include "search/split.h"
#include "sim/evaluate.h"
#include "sim/model.h"
#include "sim/strategy_file.h"

itg_runner itg_runner_program(const itg_program *program);

/* All that scoring a point needs; shared by the workers, which change nothing of it but the
 * threshold cache. */
typedef struct itg_evaluator {
    const itg_model *model;
    const itg_hardware *hw;
    const itg_preprocess *preprocess;
    itg_choice_space *space;
    itg_threshold_cache *cache;
    itg_threshold_method activation_method, weight_method;
} itg_evaluator;

/* The samples that a score is taken on. labels, classes: of these samples. */
typedef struct itg_sample_set {
    const itg_dataset *data;
    const int64_t *labels;
    const int64_t *float_classes; /* for agreement; may be NULL */
} itg_sample_set;

/* ITG_INFEASIBLE, ITG_UNBOUNDED: the hardware cannot run this point (err says why). */
itg_status itg_evaluator_score(const itg_evaluator *evaluator, const int32_t *group_bits,
                               const itg_sample_set *set, int threads, itg_score *out,
                               itg_error *err);
/* top1 where labels exist, else agreement with the float network. */
double itg_score_value(const itg_score *score);
#endif
