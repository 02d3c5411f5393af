/* Which attributes each operator reads: one table for files, printing and lowering. */
#ifndef ITG_ATTR_FIELDS_H
#define ITG_ATTR_FIELDS_H
#include "realize/fields.h"

/* rank: of the operator's first input, for attributes with one entry a dimension. */
void itg_visit_attrs(itg_fields *f, itg_op op, itg_attrs *attrs, int32_t rank);
/* A copy that holds nothing but what the operator reads. */
itg_attrs itg_attrs_read_by(itg_op op, const itg_attrs *attrs);
#endif
