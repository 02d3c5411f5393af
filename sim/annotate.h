/* Private to annotate*.c and relax.c: the state of itg_annotate, which the annotated graph
 * keeps. */
#ifndef ITG_ANNOTATE_H
#define ITG_ANNOTATE_H
#include "kernels/constants.h"
#include "kernels/requant.h"
#include "sim/sim.h"

typedef enum edge_role {
    ROLE_ACTIVATION, /* codes under a per-tensor quantizer */
    ROLE_WEIGHT,     /* constant slot 1 of Conv, Gemm, MatMul */
    ROLE_PLAIN       /* bias, indices, float: nothing to quantize */
} edge_role;

typedef struct annotate {
    const itg_graph *g;
    const itg_hardware *hw;
    const itg_strategy *s; /* of this call */
    itg_annotated *a;
    itg_error *err;           /* of this call */
    itg_id *fused;            /* [nodes]: the activation fused into the node */
    itg_id *fused_into;       /* [nodes]: for a fused activation, its producer */
    const itg_hw_spec **spec; /* [nodes]: NULL for float and fused nodes */
    edge_role *role;          /* [edges] */
    int32_t *tie;             /* [edges]: as itg_tie_edges has it */
} annotate;

/* Converts a range to a quantizer, docs/arithmetic.md 2.2. scale: one float of the caller's. */
itg_status annotate_range_quantizer(const itg_hw_dtype *dtype, int32_t bits, double lo, double hi,
                                    bool power_of_two, float *scale, itg_quantizer *out,
                                    itg_error *err);
/* The quantizer of weights with zero points (itg_has_zero_points), without its scales. */
itg_quantizer annotate_asymmetric_weights(int32_t bits);
/* Returns the scale of a weight channel with threshold t; 0: empty range. */
float annotate_weight_scale(const itg_quantizer *q, double t, bool power_of_two);

/* The sums of a mac node, with the terms of each output channel in order. */
typedef struct annotate_sum {
    int64_t channels, terms;
    const void *codes;   /* weights; NULL: all terms lie in [lo, hi] */
    itg_dtype storage;   /* of codes */
    bool last_axis;      /* codes lie [terms][channels], else [channels][terms] */
    int64_t lo, hi;      /* what a weight of 1 contributes; lo <= 0 <= hi */
    const int64_t *bias; /* [channels] or NULL */
} annotate_sum;
/* annotate_split.c: sets the node's split, and bound[c] to the largest |joined sum| of channel c.
 * Call it only for sums that do not fit. */
itg_status annotate_split(annotate *x, itg_id node, const annotate_sum *sum, int64_t *bound);
/* annotate_mac.c: weights, bias and epilogue of a mac node with constant weights. */
itg_status annotate_mac(annotate *x, itg_id node);
/* The weights of a float node, if the strategy keeps them as codes. */
itg_status annotate_float_weights(annotate *x, itg_id node);
/* annotate_epilogue.c: constants of every other integer form. */
itg_status annotate_epilogue(annotate *x, itg_id node);
/* The unit of a native result, and the properties that its requantization depends on. */
typedef struct annotate_native {
    double scale;      /* S: real value of 1; binary64 for integer ratios */
    float float_scale; /* fl(S), as arithmetic.md states it for the form, for float encodings */
    bool is_product;   /* f32 requantization: c = fl(fl(sx*sy)/s), not fl(r) */
    int64_t bound;     /* of |acc| */
    float divisor;     /* means of form f32: c = fl(sx/fl(s*count)); else 0 */
} annotate_native;
/* Fills every encoding of the node's result from `count` native results (pools: one for each window
 * count). */
itg_status annotate_outputs(annotate *x, itg_id node, const annotate_native *from, int32_t count);
/* Returns the greatest distance of a code from the zero point. */
int64_t annotate_code_bound(const itg_quantizer *q);
/* annotate_norm.c: constants of the forms softmax and layer_norm. */
itg_status annotate_softmax(annotate *x, itg_id node);
itg_status annotate_layer_norm(annotate *x, itg_id node);
/* LAYER_NORM: returns epsilon in units of the squared deviation of codes under q; 0: epsilon or the
 * deviation may exceed 62 bits. */
int64_t annotate_epsilon(const itg_graph *g, itg_id node, const itg_quantizer *q);
/* LAYER_NORM: returns a bound of |normalized element| with `fraction` bits after the point. */
int64_t annotate_normalized_bound(int64_t n, int32_t fraction);
/* Returns the elements of a row of a Softmax or LayerNormalization. */
int64_t annotate_row(const itg_graph *g, itg_id node);
/* Sets the clamp of an encoding under a fused activation (ITG_NONE: the quantizer's range). */
void annotate_clamp(const itg_graph *g, itg_id activation, itg_encoding *encoding);
/* Adds an encoding to a value, or finds the equal one. */
itg_status annotate_add_encoding(annotate *x, itg_id value, const itg_encoding *encoding,
                                 int32_t *out);
/* Returns a * b for a, b >= 0, at most INT64_MAX. */
int64_t annotate_saturating_product(int64_t a, int64_t b);
/* annotate_codes.c: returns the codes of a constant, held in the graph's cache. NULL: out of
 * memory, which is reported. */
const itg_constant *annotate_take_codes(annotate *x, itg_id value,
                                        const itg_constant_source *source);
/* Refuses codes of a strategy, in source->packed, that the weight quantizer does not have. */
itg_status annotate_check_codes(annotate *x, itg_id node, const itg_edge_choice *choice,
                                const itg_constant_source *source);
/* Computes the codes of constants among activations. */
itg_status annotate_constants(annotate *x);
itg_status annotate_fail(annotate *x, itg_id node, itg_status code, const char *text);
#endif
