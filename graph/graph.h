/* The IR: a directed acyclic graph of nodes (operators) and values (tensors), identified by integer
 * ids. A graph owns one arena with all its data. itg_graph_sort puts nodes in topological order. */
#ifndef ITG_GRAPH_H
#define ITG_GRAPH_H
#include "graph/names.h"
#include <intaglio/intaglio.h>

typedef int32_t itg_id;
#define ITG_NONE (-1)

/* The range that a file itself quantizes a value to. */
typedef struct itg_stated {
    int32_t bits;
    int32_t count;         /* 1, or the extent of an axis of weights */
    int32_t axis;          /* axis of the weights that count belongs to */
    const double *lo, *hi; /* [count]: the numbers of the lowest and the highest code */
} itg_stated;

typedef struct itg_value {
    const char *name; /* unique, never empty */
    itg_dtype dtype;
    itg_shape shape; /* rank -1: unknown so far */
    itg_id producer; /* node, or ITG_NONE: graph input or constant */
    int32_t producer_slot;
    int32_t reads;            /* how many input slots of nodes read it */
    int64_t readers;          /* the sum of those nodes' ids, so that a single reader is known */
    const void *data;         /* constants: contiguous, host byte order; else NULL */
    const itg_stated *stated; /* NULL: none; in the graph's arena */
    bool is_input;
    int32_t repeat; /* values that are the same in each step of a recurrent operator have one
                       number, from 1 on; 0: none */
} itg_value;

typedef struct itg_node {
    const char *name; /* unique, never empty (import makes "Conv_12" of its index where the file has
                         none) */
    itg_op op;
    int32_t input_count, output_count;
    itg_id *inputs; /* ITG_NONE: optional input left out. Written only by functions that count reads
                       (itg_graph_set_input...) */
    itg_id *outputs; /* ITG_NONE: optional output left out */
    itg_attrs attrs;
    bool in_branch; /* in a branch of an If whose condition is not known yet (pass_fold.c) */
    int32_t opset;  /* the file's opset version; 0: attributes are version-free (made by hand, or
                      inferred) */
} itg_node;

typedef struct itg_graph {
    itg_arena *arena;
    const char *name; /* the file's base name, for messages */
    itg_value *values;
    int32_t value_count, value_capacity;
    itg_node *nodes;
    int32_t node_count, node_capacity;
    itg_id *inputs; /* graph inputs that are not constants, file order */
    int32_t input_count;
    itg_id *outputs;
    int32_t output_count;
    bool dropped_softmax; /* a trailing Softmax or LogSoftmax was left off: outputs are logits */
    itg_model_options options;     /* that it was prepared with */
    bool quantized;                /* the file quantizes values itself; they are as if it did not */
    bool left_labels_out;          /* outputs of classes; the scores are left */
    bool narrowed;                 /* the file's float64 numbers became float32 */
    int32_t repeat_count;          /* the highest number of a value's `repeat` */
    bool rebatched;                /* prepared for batch 1 where the file has another, or any */
    unsigned char source_hash[32]; /* itg_onnx_file.hash; zeros if made by hand */
    int32_t data_file_count;
    const char *const *data_files; /* other files that its data was read from */
    int32_t metadata_count;
    const char *const *metadata_keys, *const *metadata_values; /* of the file */
    itg_names value_names, node_names;                         /* ids by name */
} itg_graph;

/* Copy the texts. */
itg_status itg_graph_set_metadata(itg_graph *g, const char *const *keys, const char *const *values,
                                  int32_t count, itg_error *err);
itg_status itg_graph_set_data_files(itg_graph *g, const char *const *paths, int32_t count,
                                    itg_error *err);
itg_status itg_graph_create(const char *name, itg_graph **out, itg_error *err);
void itg_graph_destroy(itg_graph *graph);
/* Add a value or a node and return its id. name NULL: a name is made. data (may be NULL) is copied.
 * Fail if memory runs out or the name is taken. */
itg_status itg_graph_add_value(itg_graph *g, const char *name, itg_dtype dtype,
                               const itg_shape *shape /* NULL: unknown */, const void *data,
                               itg_id *out, itg_error *err);
/* The same; large data is shared with the arena it lies in, and must not be written any more. */
itg_status itg_graph_share_value(itg_graph *g, const itg_arena *from, const char *name,
                                 itg_dtype dtype, const itg_shape *shape, const void *data,
                                 itg_id *out, itg_error *err);
itg_status itg_graph_add_node(itg_graph *g, const char *name, itg_op op, const itg_id *inputs,
                              int32_t input_count, const itg_id *outputs, int32_t output_count,
                              const itg_attrs *attrs, itg_id *out, itg_error *err);
itg_status itg_graph_set_inputs(itg_graph *g, const itg_id *values, int32_t count, itg_error *err);
itg_status itg_graph_set_outputs(itg_graph *g, const itg_id *values, int32_t count, itg_error *err);

/* Change the inputs of a node: one input; all, copied; or keep only the first `keep`. */
void itg_graph_set_input(itg_graph *g, itg_id node, int32_t slot, itg_id value);
itg_status itg_graph_set_node_inputs(itg_graph *g, itg_id node, const itg_id *values, int32_t count,
                                     itg_error *err);
void itg_graph_drop_inputs(itg_graph *g, itg_id node, int32_t keep);
/* Returns the number of uses of a value: input slots of nodes and graph outputs. It does not walk
 * the nodes. */
int32_t itg_graph_use_count(const itg_graph *g, itg_id value);
bool itg_graph_is_output(const itg_graph *g, itg_id value);
/* Returns the node with the only use of a value. ITG_NONE: there are several uses, none, or the
 * value is a graph output. It does not walk the nodes either. */
itg_id itg_graph_only_reader(const itg_graph *g, itg_id value);
void itg_graph_replace_uses(itg_graph *g, itg_id from,
                            itg_id to); /* node inputs and graph outputs */
/* Removes unused nodes and values, sorts nodes topologically (ties: old order) and renumbers ids. A
 * cycle, and a value that is used but not produced, are errors that name it. */
itg_status itg_graph_sort(itg_graph *g, itg_error *err);
itg_id itg_graph_find_value(const itg_graph *g, const char *name); /* ITG_NONE: absent */
itg_id itg_graph_find_node(const itg_graph *g, const char *name);
bool itg_graph_is_constant(const itg_graph *g, itg_id value);  /* has data; ITG_NONE: false */
itg_tensor itg_graph_tensor(const itg_graph *g, itg_id value); /* view of a constant */

/* Infers shape and dtype of a node's outputs from its inputs' shapes and constants (shape.c), and
 * resolves auto_pad, negative axes and constant inputs such as shapes into attributes. The error
 * names model, node, operator and cause. */
itg_status itg_infer_node(itg_graph *g, itg_id node, itg_error *err);
/* Checks an operator outside of a graph: its outputs must have the dtypes and shapes that inference
 * gives, and its attributes must be as inference leaves them. data: of constants, else NULL; an
 * input of rank -1 is left out. Fails with the cause alone. */
itg_status itg_infer_check(itg_op op, const itg_attrs *attrs, const itg_tensor *inputs,
                           int32_t input_count, const itg_tensor *outputs, int32_t output_count,
                           itg_error *err);
/* Numpy's rule; false: the shapes do not fit. */
bool itg_broadcast_shapes(const itg_shape *a, const itg_shape *b, itg_shape *out);
/* Checks arity, dtypes, ids, topological order, names, and that every shape is known and positive.
 * The error names node and cause. */
itg_status itg_graph_verify(const itg_graph *g, itg_error *err);
/* Stable text, one line a node: "%12 conv1 = Conv(%3 input, %4 w) {kernel=[3,3] ...} :
 * f32[1,8,32,32]". Caller deinits. */
void itg_graph_print(const itg_graph *g, itg_strbuf *out);
/* SHA-256 over names, operators, attributes, shapes and constant bytes (little-endian): equal on
 * every platform. */
void itg_graph_hash(const itg_graph *g, unsigned char out[32]);

/* ---- ONNX (graph/onnx) ---- */
/* Imports a model of opset 7..28 and at most 2 GiB. The file is scanned before protobuf-c parses
 * it, and memory is limited to a multiple of its size. The graph has the file's nodes, each with
 * its opset; Constant nodes become constants, symbolic dims become -1. */
/* outputs: names with commas between them, which become the outputs; nodes that they do not need
 * are not looked at, and inputs that they do not need are left out. "": the file's outputs. */
itg_status itg_onnx_import(const char *path, const char *outputs, itg_graph **out, itg_error *err);

/* ---- preparation (pass_*.c, prepare.c) ---- */
/* Evaluates a node whose inputs are all constants. Outputs have inferred dtypes and shapes, and
 * allocated data. The caller provides it, because graph does not depend on kernels.
 * ITG_UNSUPPORTED: the node stays. */
typedef itg_status (*itg_eval_fn)(itg_op op, const itg_attrs *attrs, const itg_tensor *inputs,
                                  int32_t input_count, itg_tensor *outputs, int32_t output_count,
                                  itg_error *err);
typedef struct itg_prepare_options {
    itg_eval_fn eval;
    itg_model_options model; /* its outputs are the import's matter; the version does not matter */
    bool keep_batch; /* default false: batch (dimension 0 of inputs, pass_batch.c) becomes 1. true:
                        as the file says (node tests) */
} itg_prepare_options;
/* Returns a new graph: batch 1, static shapes, folded, fused and verified. docs/tour.md lists the
 * passes in order. */
itg_status itg_graph_prepare(const itg_graph *graph, const itg_prepare_options *options,
                             itg_graph **out, itg_error *err);
/* The same; the graph is destroyed in any case, so that large constants need not be copied. */
itg_status itg_graph_prepare_last(itg_graph *graph, const itg_prepare_options *options,
                                  itg_graph **out, itg_error *err);
/* Large constants are shared with the graph. */
itg_status itg_graph_clone(const itg_graph *graph, itg_graph **out, itg_error *err);
#endif
