/* Shapes of steps, by the rules of shape inference (graph/shape.c). Kernels trust what this
 * accepts. */
#ifndef ITG_REALIZE_SHAPES_H
#define ITG_REALIZE_SHAPES_H

#include "realize/program.h"

/* The operator's arity, attributes, and the shapes of the first `inputs` inputs and `outputs`
 * outputs; of a float node the dtypes, too. The message names what disagrees. */
itg_status itg_check_shapes(const itg_program *p, const itg_step *s, int32_t inputs,
                            int32_t outputs, itg_error *err);

#endif
