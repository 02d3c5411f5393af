/* Private to check_*.c: checks of kinds that have a file of their own, after operands, accumulator
 * and shapes were checked. */
#ifndef ITG_CHECK_STEP_H
#define ITG_CHECK_STEP_H
#include "realize/program.h"

/* The greatest distance of a code from the zero point. */
int64_t itg_most_of(const itg_quantizer *q);
itg_status itg_check_softmax(const itg_program *p, const itg_step *s, itg_error *err);
itg_status itg_check_layer_norm(const itg_program *p, const itg_step *s, itg_error *err);
#endif
