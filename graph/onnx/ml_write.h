/* Private to ml*.c: nodes that stand for one node of domain ai.onnx.ml, or for one of codes. The
 * first failure is kept; after it calls do nothing and return "". */
#ifndef ITG_ONNX_ML_WRITE_H
#define ITG_ONNX_ML_WRITE_H
#include "graph/names.h"
#include "graph/onnx/ml.h"

typedef struct itg_ml {
    itg_onnx_file *file;
    const itg_onnx_node *node; /* the one that is replaced */
    int32_t index;             /* of it, for messages */
    itg_names values;          /* names of the graph's values */
    itg_onnx_node *nodes;      /* written so far */
    int32_t count, room;
    itg_status status;
    itg_error *err;
} itg_ml;

typedef struct itg_ml_rule {
    const char *op_type;
    void (*write)(itg_ml *m);
} itg_ml_rule;
typedef struct itg_ml_family {
    const itg_ml_rule *rules;
    int32_t count;
    const char *domain;
} itg_ml_family;
extern const itg_ml_family itg_ml_linear, itg_ml_svm, itg_ml_trees, itg_ml_quantized;

/* A node to write, of opset 18. out NULL: a new value. */
typedef struct itg_ml_new {
    const char *op;
    const char *in[3]; /* NULL behind the last */
    const char *out;
    const char *attr[2]; /* names of integer attributes; NULL behind the last */
    int64_t value[2];
} itg_ml_new;

void itg_ml_fail(itg_ml *m, itg_status code, const char *format, ...) ITG_PRINTF(3, 4);
void itg_ml_keep(itg_ml *m, const itg_onnx_node *node); /* copies a node unchanged */
/* A new value "node/op". */
const char *itg_ml_name(itg_ml *m, const char *op);
/* Returns the output's name. */
const char *itg_ml_add(itg_ml *m, const itg_ml_new *node);
const char *itg_ml_concat(itg_ml *m, const char *const *inputs, int32_t count);
const char *itg_ml_constant(itg_ml *m, const itg_tensor *tensor); /* data: borrowed */
const char *itg_ml_floats(itg_ml *m, int64_t rows, int64_t columns, const float *data);
const char *itg_ml_scalar(itg_ml *m, float value);
/* x * transposed weights [rows, columns] + bias [rows]. */
const char *itg_ml_gemm(itg_ml *m, const char *x, int64_t rows, int64_t columns,
                        const float *weights, const float *bias, const char *out);
/* Input 0 as float32. */
const char *itg_ml_input(itg_ml *m);
/* Output `index` of the node; NULL: it is left out. */
const char *itg_ml_output(const itg_ml *m, int32_t index);
/* A zeroed array in the file's arena. */
float *itg_ml_array(itg_ml *m, int64_t count);

/* ---- attributes: an absent one has count 0 or the preset; a wrong type is an error ---- */
const float *itg_ml_get_floats(itg_ml *m, const char *name, int64_t *count);
const int64_t *itg_ml_get_ints(itg_ml *m, const char *name, int64_t *count);
const char *const *itg_ml_get_strings(itg_ml *m, const char *name, int64_t *count);
int64_t itg_ml_get_int(itg_ml *m, const char *name, int64_t preset);
float itg_ml_get_float(itg_ml *m, const char *name, float preset);
const char *itg_ml_get_string(itg_ml *m, const char *name, const char *preset);

/* Makes the node, a TreeEnsemble, a TreeEnsembleRegressor (ml_ensemble.c). */
void itg_ml_ensemble_lists(itg_ml *m);

/* ---- classes ---- */
typedef struct itg_ml_classes {
    int64_t count;
    const int64_t *labels; /* NULL: labels are strings, and each is represented by its index */
} itg_ml_classes;
/* ints: name of the attribute with integer labels. */
itg_ml_classes itg_ml_get_classes(itg_ml *m, const char *ints);
/* Writes output 0, int64: the class with the largest of `votes` [N, classes]; and output 1: the
 * scores after their post_transform. */
void itg_ml_write_classes(itg_ml *m, const itg_ml_classes *classes, const char *votes,
                          const char *scores);
/* Returns [-s, s] of a score s [N,1]; from_one: [1 - s, s]. */
const char *itg_ml_two(itg_ml *m, const char *score, bool from_one);
/* Writes outputs 0 and 1 of two classes with one score, each by itg_ml_two with its flag. A SOFTMAX
 * is left out, as in ONNX Runtime. */
void itg_ml_write_binary(itg_ml *m, const itg_ml_classes *classes, const char *score,
                         bool votes_from_one, bool scores_from_one);
/* Applies post_transform (NONE, SOFTMAX or LOGISTIC). The result is named `out`. */
void itg_ml_transform(itg_ml *m, const char *scores, const char *out);
#endif
