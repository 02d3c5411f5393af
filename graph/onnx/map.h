/* Turns a node of a file into a node of the graph. ops.def lists the inputs and attributes of each
 * operator and opset; numbers, flags and names are read by it. The tables of the families (map_*.c)
 * hold what is special about an operator. An attribute of an old opset that is an input in a newer
 * one becomes a constant input; only Clip's bounds stay attributes. */
#ifndef ITG_ONNX_MAP_H
#define ITG_ONNX_MAP_H
#include "graph/onnx/onnx_write.h"

#define ITG_OPSET_MIN 7
#define ITG_OPSET_MAX 28       /* ONNX 1.23; changes since 21 are new types and Cast's round_mode */
#define ITG_MAP_EXTRA_INPUTS 4 /* a map function may bring input_count up to this */

typedef struct itg_map_node {
    itg_graph *graph; /* every value of the file stands in it already */
    const itg_onnx_node *file;
    int32_t index, opset;
    const char *name; /* in the graph: unique */
    itg_op op;
    itg_attrs attrs;                   /* presets, then what the file states */
    itg_id *inputs;                    /* room for max(input_count, ITG_MAP_EXTRA_INPUTS) */
    int32_t input_count, output_count; /* without left-out ones at the end */
} itg_map_node;

typedef enum itg_file_attr_use {
    ITG_FILE_MAPPED, /* the map function reads it */
    ITG_FILE_ONLY,   /* an integer that must equal `value` */
    ITG_FILE_IGNORED /* has no meaning for inference */
} itg_file_attr_use;

/* An attribute of a file without a member in itg_attrs. */
typedef struct itg_file_attr {
    const char *name;
    itg_file_attr_use use;
    int32_t last_opset; /* the last that has it; 0: all */
    int64_t value;      /* ONLY */
} itg_file_attr;

typedef struct itg_op_rule {
    itg_op op;
    /* Reads and checks lists, AUTO_PAD and MAPPED attributes. NULL: nothing to do. */
    itg_status (*map)(itg_map_node *node, itg_error *err);
    itg_file_attr attrs[8]; /* ends at name NULL */
} itg_op_rule;

typedef struct itg_op_family {
    const itg_op_rule *rules;
    int32_t count;
} itg_op_family;
extern const itg_op_family itg_map_window, itg_map_reduce, itg_map_shape, itg_map_slice,
    itg_map_composite, itg_map_values, itg_map_einsum;

/* Checks the number of inputs, reads the attributes by ops.def and calls the operator's map
 * function. On success the node is ready to be added. */
itg_status itg_map_apply(itg_map_node *node, itg_error *err);

/* ---- for map functions ---- */
/* "net.onnx: node 17 'conv1' (Conv): message" */
itg_status itg_map_fail(const itg_map_node *node, itg_error *err, itg_status code,
                        const char *format, ...) ITG_PRINTF(4, 5);
/* Reads an optional attribute. If it is absent, *out keeps its value (*count: -1). A wrong type, or
 * a number outside [lo, hi], is an error. */
itg_status itg_map_int(const itg_map_node *node, const char *name, int64_t lo, int64_t hi,
                       int64_t *out, itg_error *err);
itg_status itg_map_string(const itg_map_node *node, const char *name, const char **out,
                          itg_error *err);
itg_status itg_map_ints(const itg_map_node *node, const char *name, int64_t lo, int64_t hi,
                        const int64_t **out, int32_t *count, itg_error *err);
/* A map function: reads ConvTranspose's attributes as Conv's (map_window.c). */
itg_status itg_map_conv(itg_map_node *node, itg_error *err);
/* Reads an optional list with one number (at least `lo`) per dimension of the window, aligned to
 * the end of out. Call it after itg_map_conv, which finds the dimensions. */
itg_status itg_map_spatial(itg_map_node *node, const char *name, int64_t lo, int64_t out[2],
                           itg_error *err);
/* Adds a constant at input `slot`, which the file leaves out; slots in between become left out. */
itg_status itg_map_add_input(itg_map_node *node, int32_t slot, const char *suffix,
                             const itg_tensor *tensor, itg_error *err);
/* Turns the list attribute `name` (at most ITG_MAX_RANK numbers) into the int64 constant input
 * `slot`. Does nothing if it is absent. */
itg_status itg_map_ints_to_input(itg_map_node *node, const char *name, int32_t slot,
                                 itg_error *err);
/* A map function: the same for the list 'axes' and slot 1. */
itg_status itg_map_axes(itg_map_node *node, itg_error *err);
bool itg_map_has(const itg_map_node *node, const char *name);
/* The constant at an input slot, or false. */
bool itg_map_constant(const itg_map_node *node, int32_t slot, itg_tensor *out);
#endif
