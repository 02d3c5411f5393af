/* An annotated graph as a QDQ model: float operators between QuantizeLinear and DequantizeLinear.
 * Private to realize/emit/. docs/qdq.md describes the form.
 *
 * The first failure stays in `status`; after it every function does nothing, and names are NULL. */
#ifndef ITG_QDQ_H
#define ITG_QDQ_H
#include "graph/onnx/onnx_write.h"
#include "graph/names.h"
#include "realize/realize.h"

/* Names of what stands for one version of a value; NULL: not made (yet). */
typedef struct itg_qdq_tensor {
    const char *real;         /* float32, or what the value is where it is no quantized one */
    const char *codes;        /* integers of the version's width, stored in `dtype` */
    const char *scale, *zero; /* initializers, of the quantizer */
} itg_qdq_tensor;

typedef struct itg_qdq {
    const itg_annotated *a;
    const itg_graph *g;
    itg_onnx_writer *w;
    itg_arena *arena;      /* of names and tables */
    itg_names names;       /* of values */
    itg_names node_names;  /* of nodes */
    itg_qdq_tensor **made; /* [value][version] */
    int32_t *shown;        /* [value]: version that is the model's output, and has its name */
    int32_t *batch_axis;   /* [value]: the dimension of the samples; ITG_NONE: none */
    bool any_batch;        /* the model takes batches of any size; else batch_axis means nothing */
    int64_t opset;
    itg_status status;
    itg_error *err;
} itg_qdq;

/* The ONNX type of codes in [qmin, qmax]: the narrowest of int8, uint8, int16, uint16 that holds
 * them, the quantizer's own sign where both do; int32 where none does. */
itg_dtype itg_qdq_dtype(const itg_quantizer *q);

/* ---- qdq.c ---- */
bool itg_qdq_ok(const itg_qdq *q);
void itg_qdq_fail(itg_qdq *q, itg_status status, itg_id node, const char *what);
/* "base/suffix" (suffix NULL: base), or with a number behind it: a name that no value has. */
const char *itg_qdq_name(itg_qdq *q, const char *base, const char *suffix);
/* A node with one output, that is returned; attributes may follow. Inputs NULL: nothing happens. */
const char *itg_qdq_add(itg_qdq *q, const char *op, const char *name, const char *const *inputs,
                        int32_t count, const char *output);
/* Initializers; the returned name is unique and begins as wanted. */
const char *itg_qdq_constant(itg_qdq *q, const char *base, const char *suffix,
                             const itg_tensor *tensor);
const char *itg_qdq_int64s(itg_qdq *q, const char *base, const char *suffix, const int64_t *values,
                           int32_t count);
/* A value's shape in the file: -1 for the batch, where it may be of any size. */
itg_shape itg_qdq_shape(const itg_qdq *q, itg_id value);
const char *itg_qdq_float(itg_qdq *q, const char *base, const char *suffix, float value);

/* ---- qdq_quantize.c ---- */
/* The codes of a version, of the float tensor `real`, clamped to [lo, hi] beyond what the type does
 * by itself. shape (may be NULL): of the codes, where it is not real's. */
void itg_qdq_quantize(itg_qdq *q, const char *real, itg_id value, int32_t version, int64_t lo,
                      int64_t hi, const itg_shape *shape);
/* The float tensor that edge (node, slot) reads. */
const char *itg_qdq_read(itg_qdq *q, itg_id node, int32_t slot);
/* The same, reshaped while it is still codes. */
const char *itg_qdq_read_rows(itg_qdq *q, itg_id node, int32_t slot, int64_t columns);
/* The bias of a mac node as DequantizeLinear of int32; NULL where there is none. */
const char *itg_qdq_bias(itg_qdq *q, itg_id node);
/* A Reshape to `shape`, where -1 is what is left. */
const char *itg_qdq_reshape(itg_qdq *q, const char *x, const itg_shape *shape, const char *base,
                            const char *suffix);
/* DequantizeLinear of what is there as codes. */
const char *itg_qdq_dequantize(itg_qdq *q, const itg_qdq_tensor *t, const char *output);

/* ---- qdq_operator.c ---- */
/* The lowest opset that has the node as it is written here; 0: it cannot be written. */
int64_t itg_qdq_min_opset(const itg_graph *g, itg_id node);
/* The operator with the float tensors of its inputs (NULL: left out); outputs are named already.
 * copy: of the node, from 0. */
void itg_qdq_operator(itg_qdq *q, itg_id node, const char *const *inputs, int32_t input_count,
                      const char *const *outputs, int32_t output_count, int32_t copy);
/* Relu or Clip node `activation` on another tensor. */
const char *itg_qdq_activation(itg_qdq *q, itg_id activation, const char *x, const char *output);

/* ---- qdq_batch.c ---- */
/* Fills axis [value], the dimension of the samples; false: some node mixes them. */
bool itg_qdq_find_batch(const itg_graph *g, int32_t *axis);

/* ---- qdq_notes.c ---- */
/* Why ONNX Runtime's results of an operator may differ, by what they are; NULL: they do not.
 * docs/qdq.md has the table. */
typedef struct itg_qdq_agreement {
    const char *codes;  /* of an integer operator, as codes */
    const char *reals;  /* of an integer operator, as real numbers */
    const char *island; /* of a float node */
} itg_qdq_agreement;
const itg_qdq_agreement *itg_qdq_agreement_of(itg_op op);
/* A matrix product with a bias that is written as Gemm, of an operand of two dimensions: there is
 * an integer kernel for that. */
bool itg_qdq_is_rows(const itg_annotated *a, itg_id node);
/* Lists the nodes where ONNX Runtime's result may not be the program's. */
itg_status itg_qdq_report_create(const itg_qdq *q, itg_qdq_report **out, itg_error *err);
#endif
