/* Reports of memory plans (itg_program_memory). */
#ifndef ITG_REALIZE_MEMORY_H
#define ITG_REALIZE_MEMORY_H
#include <intaglio/intaglio.h>
#include "base/flow.h"

/* Names of the tensors and steps of a placed flow. */
typedef struct itg_flow_names {
    const char *(*tensor)(const void *context, int32_t tensor);
    bool (*is_scratch)(const void *context, int32_t tensor);
    const char *(*step)(const void *context, int32_t step);
    const void *context;
} itg_flow_names;

/* bytes: the total. Names are copied. */
itg_status itg_memory_plan_make(const itg_flow *flow, const itg_flow_names *names, int64_t bytes,
                                itg_memory_plan **out, itg_error *err);
#endif
