/* Requantization of exact intervals, stage by stage. */
#ifndef ITG_VERIFY_STAGES_H
#define ITG_VERIFY_STAGES_H
#include "realize/verify/view.h"

/* The sets of constants with a prefix ("y0_requant", "operand1"): one, or one a channel. */
typedef struct itg_stage_sets {
    int64_t count; /* 0: there are none */
    const float *ratio;
    const int64_t *stages, *multiplier, *shift, *rounding;
    int64_t *first; /* [count]: where each set begins in the lists of stages */
} itg_stage_sets;

typedef struct itg_stage_step {
    itg_span product, result; /* ratio: product is the input */
} itg_stage_step;
typedef struct itg_stage_trace {
    int32_t count; /* 0..3 */
    itg_stage_step step[3];
    itg_span result; /* of all stages, saturated to 64 bits */
} itg_stage_trace;

/* false: a problem was recorded. */
bool itg_stage_sets_read(itg_view *v, const char *prefix, itg_stage_sets *out);
/* Applies the set of a channel to an interval. Multipliers are not negative, so its ends map to the
 * result's ends. false: a problem was recorded. */
bool itg_stage_sets_trace(itg_view *v, const itg_stage_sets *sets, int64_t channel, itg_span in,
                          itg_stage_trace *out);
#endif
