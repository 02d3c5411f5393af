/* Shape rules of operators whose attributes preparation has resolved. They protect the kernels,
 * which trust their shapes. */
#ifndef ITG_REALIZE_SHAPES_H
#define ITG_REALIZE_SHAPES_H
#include "realize/program.h"

/* Operands of one operator as the rules see them; left-out inputs are NULL. */
typedef struct itg_signature {
    itg_op op;
    const itg_attrs *attrs;
    int32_t input_count, output_count;
    const itg_pvalue *const *inputs, *const *outputs;
} itg_signature;

/* Arity, attribute ranges, output shapes. Names what disagrees. */
itg_status itg_check_shapes(const itg_signature *s, itg_error *err);
/* Element types of a float node. */
itg_status itg_check_float_dtypes(const itg_signature *s, itg_error *err);
#endif
