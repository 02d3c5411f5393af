/* Writing and reading ONNX files, without protobuf types in the interface. */
#ifndef ITG_ONNX_WRITE_H
#define ITG_ONNX_WRITE_H
#include "graph/graph.h"

/* ---- writer: build in memory, then one atomic file ---- */
typedef struct itg_onnx_writer itg_onnx_writer;
itg_status itg_onnx_writer_create(const char *graph_name, const char *producer_version,
                                  itg_onnx_writer **out, itg_error *err);
void itg_onnx_writer_destroy(itg_onnx_writer *w);
/* The writer keeps the first failure, does nothing after it, and save returns it. Strings and data
 * are copied. A dimension of -1 is written as the symbol "N". */
void itg_onnx_writer_opset(itg_onnx_writer *w, const char *domain, int64_t version);
void itg_onnx_writer_input(itg_onnx_writer *w, const char *name, itg_dtype dtype,
                           const itg_shape *shape);
void itg_onnx_writer_output(itg_onnx_writer *w, const char *name, itg_dtype dtype,
                            const itg_shape *shape);
void itg_onnx_writer_initializer(itg_onnx_writer *w, const char *name, const itg_tensor *tensor);
/* An initializer of type INT4, two elements a byte; codes are in -8..7. */
void itg_onnx_writer_int4(itg_onnx_writer *w, const char *name, const itg_shape *shape,
                          const int8_t *codes);
void itg_onnx_writer_metadata(itg_onnx_writer *w, const char *key, const char *value);
/* Begins a node; the attribute calls below belong to it. Input names "" for inputs left out. */
void itg_onnx_writer_node(itg_onnx_writer *w, const char *domain, const char *op_type,
                          const char *name, const char *const *inputs, int32_t input_count,
                          const char *const *outputs, int32_t output_count);
void itg_onnx_writer_int(itg_onnx_writer *w, const char *name, int64_t value);
void itg_onnx_writer_ints(itg_onnx_writer *w, const char *name, const int64_t *values,
                          int64_t count);
void itg_onnx_writer_float(itg_onnx_writer *w, const char *name, float value);
void itg_onnx_writer_floats(itg_onnx_writer *w, const char *name, const float *values,
                            int64_t count);
void itg_onnx_writer_string(itg_onnx_writer *w, const char *name, const char *value);
/* Packs the model; errors call it `name`. Fails if the model exceeds the limits of readers
 * (wire_scan.h). */
itg_status itg_onnx_writer_pack(itg_onnx_writer *w, const char *name, itg_buffer *out,
                                itg_error *err);
/* Packs the model into a file; on failure none is written. */
itg_status itg_onnx_writer_save(itg_onnx_writer *w, const char *path, itg_error *err);

/* ---- reader: a checked, flat view (wire scan and memory budget as in itg_onnx_import) ---- */
typedef struct itg_onnx_attr {
    const char *name;
    enum {
        ITG_ATTR_INT,
        ITG_ATTR_INTS,
        ITG_ATTR_FLOAT,
        ITG_ATTR_FLOATS,
        ITG_ATTR_STRING,
        ITG_ATTR_STRINGS,
        ITG_ATTR_TENSOR,
        ITG_ATTR_GRAPH,
        ITG_ATTR_REFERENCE, /* in a function: refers to the attribute `s` of the calling node */
        ITG_ATTR_OTHER
    } type;
    int64_t i;
    float f;
    const char *s;
    const int64_t *ints;
    const float *floats;
    const char *const *strings;
    int64_t count;
    itg_tensor tensor;
    const struct itg_onnx_branch *graph;
} itg_onnx_attr;
typedef struct itg_onnx_node {
    const char *domain, *op_type, *overload, *name;
    bool in_branch; /* in a branch of an If; whether it runs is decided later */
    int64_t opset;  /* of the function that contains it; 0: the model's */
    int32_t input_count, output_count, attr_count;
    const char *const *inputs, *const *outputs;
    const itg_onnx_attr *attrs;
    const itg_onnx_attr *const *sorted; /* by name, for itg_onnx_attr_find */
    bool refused; /* its attributes could not be read; see itg_onnx_file_collect */
} itg_onnx_node;
typedef struct itg_onnx_value {
    const char *name;
    int32_t type; /* TensorProto.DataType; 0 if that could not be read */
    itg_dtype dtype;
    itg_shape shape;
} itg_onnx_value;
typedef struct itg_onnx_initializer {
    const char *name;
    itg_tensor tensor;
    bool four_bits; /* the elements were INT4 or UINT4 */
} itg_onnx_initializer;
/* A graph that is an attribute. Its initializers are Constant nodes here. */
typedef struct itg_onnx_branch {
    int32_t input_count, output_count, node_count;
    const char *const *outputs;
    const itg_onnx_node *nodes;
} itg_onnx_branch;
/* A function that the model defines. */
typedef struct itg_onnx_function {
    const char *domain, *name, *overload;
    int64_t opset; /* of ONNX's own operators; 0: not stated */
    int32_t input_count, output_count;
    const char *const *inputs, *const *outputs;
    itg_onnx_node presets; /* attributes that a calling node may leave out */
    int32_t node_count;
    const itg_onnx_node *nodes;
} itg_onnx_function;
typedef struct itg_onnx_file {
    itg_arena *arena; /* owns everything below */
    const char *source, *producer, *producer_version, *graph_name;
    int32_t opset_count;
    const char *const *opset_domain;
    const int64_t *opset_version;
    int32_t function_count;
    const itg_onnx_function *functions;
    int32_t node_count; /* after inlining functions and branches (inline.c) */
    const itg_onnx_node *nodes;
    int32_t input_count;
    const itg_onnx_value *inputs;
    int32_t output_count;
    const itg_onnx_value *outputs;
    int32_t initializer_count;
    const itg_onnx_initializer *initializers;
    int32_t metadata_count;
    const char *const *metadata_key, *const *metadata_value;
    int32_t data_file_count;
    const char *const *data_files; /* paths of other files that tensors' data was read from */
    int32_t labels_left_out;       /* outputs with class labels, removed by ml.c */
    bool narrowed;                 /* float64 numbers of the file became float32 */
    unsigned char hash[32];        /* SHA-256 of the file, followed by that data, in order */
} itg_onnx_file;
itg_status itg_onnx_file_read(const char *path, itg_onnx_file **out, itg_error *err);
void itg_onnx_file_destroy(itg_onnx_file *file);
const itg_onnx_attr *itg_onnx_attr_find(const itg_onnx_node *node, const char *name);
/* A standalone TensorProto (the .pb files of ONNX's test vectors). */
itg_status itg_onnx_tensor_read(const char *path, itg_arena *arena, itg_tensor *out,
                                itg_error *err);
#endif
