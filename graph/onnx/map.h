/* How a node of a file becomes a node of the graph. ops.def says how many inputs and which
 * attributes an operator has, in which opsets; numbers, flags and names are read by it. What is
 * special about an operator stands in the table of its family (map_*.c). Whatever an old opset
 * writes as an attribute and a newer one as an input leaves here as an input, a constant made for
 * it; Clip's bounds alone stay attributes when they are. */
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
    itg_attrs attrs;                   /* presets, then what the file states */
    itg_id *inputs;                    /* room for max(input_count, ITG_MAP_EXTRA_INPUTS) */
    int32_t input_count, output_count; /* without trailing left-out ones */
} itg_map_node;

typedef enum itg_file_attr_use {
    ITG_FILE_MAPPED, /* the map function reads it */
    ITG_FILE_ONLY,   /* an integer that may only be `value`: nothing is kept */
    ITG_FILE_IGNORED /* without meaning for inference */
} itg_file_attr_use;

/* An attribute of a file that no member of itg_attrs holds. */
typedef struct itg_file_attr {
    const char *name;
    itg_file_attr_use use;
    int32_t last_opset; /* the last that has it; 0: all */
    int64_t value;      /* ONLY */
} itg_file_attr;

typedef struct itg_op_rule {
    itg_op op;
    /* Reads lists, AUTO_PAD and MAPPED attributes, and checks. NULL: there is nothing to do. */
    itg_status (*map)(itg_map_node *node, itg_error *err);
    itg_file_attr attrs[4]; /* ends at name NULL */
} itg_op_rule;

typedef struct itg_op_family {
    const itg_op_rule *rules;
    int32_t count;
} itg_op_family;
extern const itg_op_family itg_map_window, itg_map_reduce, itg_map_shape, itg_map_slice;

/* Number of inputs and attributes as ops.def states them, then the operator's map function. On
 * success the node is ready to be added. */
itg_status itg_map_apply(itg_map_node *node, itg_error *err);

/* ---- for map functions ---- */
/* "net.onnx: node 17 'conv1' (Conv): message" */
itg_status itg_map_fail(const itg_map_node *node, itg_error *err, itg_status code,
                        const char *format, ...) ITG_PRINTF(4, 5);
/* Optional attributes; *out stays where it is absent (*count: -1). A wrong type is an error, lo and
 * hi hold for each. */
itg_status itg_map_int(const itg_map_node *node, const char *name, int64_t lo, int64_t hi,
                       int64_t *out, itg_error *err);
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
/* The same with a list 'axes' and slot 1: a map function. */
itg_status itg_map_axes(itg_map_node *node, itg_error *err);
bool itg_map_has(const itg_map_node *node, const char *name);
/* The constant at an input slot, or false. */
bool itg_map_constant(const itg_map_node *node, int32_t slot, itg_tensor *out);
#endif
