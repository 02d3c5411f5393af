/* Writes an annotated graph as a QDQ model: float operators between QuantizeLinear and
 * DequantizeLinear. Private to realize/emit. docs/qdq.md describes the form.
 *
 * `status` keeps the first failure. After it all functions do nothing and return NULL. */
#ifndef ITG_QDQ_H
#define ITG_QDQ_H
#include "graph/onnx/onnx_write.h"
#include "graph/names.h"
#include "realize/realize.h"

/* Names of the tensors of one encoding of a value; NULL: not made yet. */
typedef struct itg_qdq_tensor {
    const char *real;         /* float32, or what the value is where it is no quantized one */
    const char *codes;        /* integers of the encoding's width, stored in `dtype` */
    const char *scale, *zero; /* initializers, of the quantizer */
} itg_qdq_tensor;

typedef struct itg_qdq {
    const itg_annotated *a;
    const itg_graph *g;
    itg_onnx_writer *w;
    itg_arena *arena;      /* of names and tables */
    itg_names names;       /* of values */
    itg_names node_names;  /* of nodes */
    itg_qdq_tensor **made; /* [value][encoding] */
    int32_t *shown;        /* [value]: encoding that is the model's output, and has its name */
    int32_t *batch_axis;   /* [value]: the dimension of the samples; ITG_NONE: none */
    bool any_batch;        /* the model takes batches of any size; else batch_axis means nothing */
    int64_t opset;
    itg_status status;
    itg_error *err;
} itg_qdq;

/* Returns the ONNX type of codes in [qmin, qmax]: the narrowest of int8, uint8, int16 and uint16
 * that holds them, with the quantizer's sign if both signs do; int32 if none does. int8 for weights
 * with zero points. */
itg_dtype itg_qdq_dtype(const itg_quantizer *q);
/* Whether signed codes fit int4. */
bool itg_qdq_is_four_bits(const itg_quantizer *q);

/* ---- qdq.c ---- */
bool itg_qdq_ok(const itg_qdq *q);
void itg_qdq_fail(itg_qdq *q, itg_status status, itg_id node, const char *what);
/* Returns zeroed memory of the arena, at least one element; NULL on failure. */
void *itg_qdq_alloc(itg_qdq *q, int64_t count, size_t size);
/* Returns an unused value name: "base/suffix" (suffix NULL: base), with a number if needed. */
const char *itg_qdq_name(itg_qdq *q, const char *base, const char *suffix);
/* Returns an unused node name that begins with `wanted`; NULL on failure. */
const char *itg_qdq_node_name(itg_qdq *q, const char *wanted);
/* Adds a node with one output and returns the output's name. Attributes may be added next. */
const char *itg_qdq_add(itg_qdq *q, const char *op, const char *name, const char *const *inputs,
                        int32_t count, const char *output);
/* Add an initializer and return its unique name, which begins with base/suffix. */
const char *itg_qdq_constant(itg_qdq *q, const char *base, const char *suffix,
                             const itg_tensor *tensor);
/* Adds a list of `count` elements as an initializer. */
const char *itg_qdq_list(itg_qdq *q, const char *base, const char *suffix, itg_dtype dtype,
                         const void *values, int32_t count);
/* Returns a value's shape in the file. A batch of any size is -1. */
itg_shape itg_qdq_shape(const itg_qdq *q, itg_id value);
const char *itg_qdq_float(itg_qdq *q, const char *base, const char *suffix, float value);

/* ---- qdq_quantize.c ---- */
/* Quantizes the float tensor `real` to an encoding and clamps it to [lo, hi]. shape: that of the
 * codes; NULL: that of real. */
void itg_qdq_quantize(itg_qdq *q, const char *real, itg_id value, int32_t encoding, int64_t lo,
                      int64_t hi, const itg_shape *shape);
/* Returns the float tensor that edge (node, slot) reads. */
const char *itg_qdq_read(itg_qdq *q, itg_id node, int32_t slot);
/* The same as rows of `columns` elements, reshaped before dequantization. */
const char *itg_qdq_read_rows(itg_qdq *q, itg_id node, int32_t slot, int64_t columns);
/* Returns the bias of a mac node as DequantizeLinear of int32, or as float if int32 does not hold
 * it; NULL if it has none. */
const char *itg_qdq_bias(itg_qdq *q, itg_id node);
/* Adds a Reshape to `shape`, which may have one -1. */
const char *itg_qdq_reshape(itg_qdq *q, const char *x, const itg_shape *shape, const char *base,
                            const char *suffix);
/* Adds a DequantizeLinear of t's codes. */
const char *itg_qdq_dequantize(itg_qdq *q, const itg_qdq_tensor *t, const char *output);

/* ---- qdq_operator.c ---- */
/* Returns the lowest opset that supports the node as written; 0 if it cannot be written. */
int64_t itg_qdq_min_opset(const itg_graph *g, itg_id node);
/* Adds the node's operator on the float tensors of its inputs (NULL: left out). copy: number of the
 * copy of the node, from 0. */
void itg_qdq_operator(itg_qdq *q, itg_id node, const char *const *inputs, int32_t input_count,
                      const char *const *outputs, int32_t output_count, int32_t copy);
/* Adds a copy of the Relu or Clip node `activation` on tensor x. */
const char *itg_qdq_activation(itg_qdq *q, itg_id activation, const char *x, const char *output);

/* ---- qdq_batch.c ---- */
/* Sets axis[value] to the dimension of the samples. Returns false if a node mixes samples. */
bool itg_qdq_find_batch(const itg_graph *g, int32_t *axis);

/* ---- qdq_notes.c ---- */
/* Reasons why ONNX Runtime's results of an operator may differ; NULL: they are equal. docs/qdq.md
 * has the table. */
typedef struct itg_qdq_agreement {
    const char *codes;  /* of an integer operator, as codes */
    const char *reals;  /* of an integer operator, as real numbers */
    const char *island; /* of a float node */
} itg_qdq_agreement;
const itg_qdq_agreement *itg_qdq_agreement_of(itg_op op);
/* Whether a MatMul with bias is written as Gemm on two dimensions, for which ONNX Runtime has an
 * integer kernel. */
bool itg_qdq_is_rows(const itg_annotated *a, itg_id node);
/* Lists the nodes where ONNX Runtime's result may differ from the program's. */
itg_status itg_qdq_report_create(const itg_qdq *q, itg_qdq_report **out, itg_error *err);
#endif
