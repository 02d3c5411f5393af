/* Checks the shapes of steps with shape inference (graph/shape.c). Kernels rely on it. */
#ifndef ITG_REALIZE_SHAPES_H
#define ITG_REALIZE_SHAPES_H

#include "realize/program.h"

/* Checks arity, attributes, and the shapes of the first `inputs` inputs and `outputs` outputs; for
 * float nodes also dtypes. The message names the difference. */
itg_status itg_check_shapes(const itg_program *p, const itg_step *s, int32_t inputs,
                            int32_t outputs, itg_error *err);

#endif
