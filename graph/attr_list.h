/* Which attributes an operator has: one list for the printer and the hash. */
#ifndef ITG_GRAPH_ATTR_LIST_H
#define ITG_GRAPH_ATTR_LIST_H
#include "internal.h"

typedef enum itg_attr_type {
    ITG_FIELD_INTS,
    ITG_FIELD_BOOL,
    ITG_FIELD_FLOAT,
    ITG_FIELD_NAME
} itg_attr_type;

/* One attribute of one node, read out of itg_attrs. */
typedef struct itg_attr_view {
    const char *name;
    itg_attr_type type;
    const int64_t *ints; /* INTS */
    int32_t count;
    bool is_list;     /* INTS: written in brackets even where count is 1 */
    bool flag;        /* BOOL */
    float number;     /* FLOAT */
    const char *text; /* NAME: of an enumeration's member */
} itg_attr_view;

/* The index-th attribute of a node in fixed order; false: there are no more. */
bool itg_attr_at(const itg_graph *g, itg_id node, int32_t index, itg_attr_view *out);

#endif
