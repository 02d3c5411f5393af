/* The tree of a parsed document. Private to base/json*.c. */
#ifndef ITG_JSON_TREE_H
#define ITG_JSON_TREE_H
#include <cjson/cJSON.h>
#include "base/json.h"

/* Children are contiguous, in the order of the text. cJSON's own lists would make access by index
 * linear. */
struct itg_json_value {
    const cJSON *node;
    const itg_json_value *parent;        /* NULL: the root */
    const itg_json_value *children;      /* [length] */
    const itg_json_value *const *by_key; /* [length] of an object: children sorted by key */
    size_t length;
};

struct itg_json {
    cJSON *tree;
    itg_json_value *values;        /* breadth first: the root is values[0] */
    const itg_json_value **sorted; /* [count]; by_key points into it */
    size_t count;
    char *source;
};

#endif
