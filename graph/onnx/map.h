/* How a node of a file becomes a node of the graph. Each family of operators (map_*.c) has one
 * table: an entry names the operator, the inputs that a file may give it, its attributes with types
 * and ranges, and a function for the rest. Whatever an old opset writes as an attribute and a newer
 * one as an input leaves here as an input, a constant made for it; Clip's bounds alone stay
 * attributes when they are. */
#ifndef ITG_ONNX_MAP_H
#define ITG_ONNX_MAP_H
#include "graph/onnx/onnx_write.h"

#define ITG_OPSET_MIN 7
#define ITG_OPSET_MAX 21
#define ITG_MAP_EXTRA_INPUTS 4 /* a map function may bring input_count up to this */

typedef struct itg_map_node {
    itg_graph *graph; /* every value of the file stands in it already */
    const itg_onnx_node *file;
    int32_t index, opset;
    const char *name; /* in the graph: unique */
    itg_op op;
    itg_attrs attrs;                   /* defaults, then what the rules read */
    itg_id *inputs;                    /* room for max(input_count, ITG_MAP_EXTRA_INPUTS) */
    int32_t input_count, output_count; /* without trailing left-out ones */
} itg_map_node;

typedef enum itg_attr_kind {
    ITG_RULE_INT,    /* into the int64_t at offset; lo <= value <= hi */
    ITG_RULE_BOOL,   /* 0 or 1, into the bool at offset */
    ITG_RULE_FLOAT,  /* finite, into the float at offset */
    ITG_RULE_ONLY,   /* an int that may only be lo: nothing is kept */
    ITG_RULE_CUSTOM, /* the map function reads it */
    ITG_RULE_IGNORED /* without meaning for inference */
} itg_attr_kind;

typedef struct itg_attr_rule {
    const char *name;
    itg_attr_kind kind;
    int32_t last_opset; /* the last that has this attribute; 0: all */
    size_t offset;
    int64_t lo, hi;
} itg_attr_rule;

typedef struct itg_op_rule {
    itg_op op;
    int32_t min_inputs, max_inputs; /* in a file of any opset; -1: any number */
    itg_status (*map)(itg_map_node *node, itg_error *err); /* NULL: the rules are all */
    itg_attr_rule attrs[9];                                /* ends at name NULL */
} itg_op_rule;

#define ITG_ATTR_INT_RULE(name, field, lo, hi)                                                     \
    {                                                                                              \
        name, ITG_RULE_INT, 0, offsetof(itg_attrs, field), lo, hi                                  \
    }
#define ITG_ATTR_BOOL_RULE(name, field)                                                            \
    {                                                                                              \
        name, ITG_RULE_BOOL, 0, offsetof(itg_attrs, field), 0, 1                                   \
    }
#define ITG_ATTR_FLOAT_RULE(name, field)                                                           \
    {                                                                                              \
        name, ITG_RULE_FLOAT, 0, offsetof(itg_attrs, field), 0, 0                                  \
    }
#define ITG_ATTR_ONLY_RULE(name, value)                                                            \
    {                                                                                              \
        name, ITG_RULE_ONLY, 0, 0, value, value                                                    \
    }
#define ITG_ATTR_CUSTOM_RULE(name, last_opset)                                                     \
    {                                                                                              \
        name, ITG_RULE_CUSTOM, last_opset, 0, 0, 0                                                 \
    }
#define ITG_ATTR_IGNORED_RULE(name)                                                                \
    {                                                                                              \
        name, ITG_RULE_IGNORED, 0, 0, 0, 0                                                         \
    }
#define ITG_ATTR_AXIS_RULE(name) ITG_ATTR_INT_RULE(name, axis, -ITG_MAX_RANK, ITG_MAX_RANK)

typedef struct itg_op_family {
    const itg_op_rule *rules;
    int32_t count;
} itg_op_family;
extern const itg_op_family itg_map_window, itg_map_math, itg_map_reduce, itg_map_shape,
    itg_map_slice;

/* NULL: no family has it (Constant: the importer's own). */
const itg_op_rule *itg_map_rule(itg_op op);
/* Arity and attributes by the rule, then its map function. On success the node is ready to be
 * added. */
itg_status itg_map_apply(const itg_op_rule *rule, itg_map_node *node, itg_error *err);

/* ---- for map functions ---- */
/* "net.onnx: node 17 'conv1' (Conv): message" */
itg_status itg_map_fail(const itg_map_node *node, itg_error *err, itg_status code,
                        const char *format, ...) ITG_PRINTF(4, 5);
/* Optional attributes; *out stays where it is absent (*count: -1). A wrong type is an error, lo and
 * hi hold for each. */
itg_status itg_map_int(const itg_map_node *node, const char *name, int64_t lo, int64_t hi,
                       int64_t *out, itg_error *err);
itg_status itg_map_float(const itg_map_node *node, const char *name, float *out, itg_error *err);
itg_status itg_map_string(const itg_map_node *node, const char *name, const char **out,
                          itg_error *err);
itg_status itg_map_ints(const itg_map_node *node, const char *name, int64_t lo, int64_t hi,
                        const int64_t **out, int32_t *count, itg_error *err);
/* A new constant at input `slot`, which the file left out; slots between become left out. dims
 * NULL: rank 0. */
itg_status itg_map_add_input(itg_map_node *node, int32_t slot, const char *suffix,
                             const itg_tensor *tensor, itg_error *err);
/* The list attribute `name` (at most ITG_MAX_RANK numbers) as input `slot`, an int64 constant;
 * absent: nothing happens. */
itg_status itg_map_ints_to_input(itg_map_node *node, const char *name, int32_t slot,
                                 itg_error *err);
bool itg_map_has(const itg_map_node *node, const char *name);
/* The constant at an input slot, or false. */
bool itg_map_constant(const itg_map_node *node, int32_t slot, itg_tensor *out);
#endif
