/* The annotated graph: a prepared graph and, for every edge, how the hardware represents the value.
 * It defines the integer program completely: sim executes it and realize lowers it. itg_annotate
 * makes it (sim/annotate.h). docs/arithmetic.md states each form's formula. */
#ifndef ITG_ANNOTATED_H
#define ITG_ANNOTATED_H
#include <intaglio/intaglio.h>
#include "base/cache.h"
#include "graph.h"

/* An edge is one use of a value: a node's input slot, or a graph output (node ITG_NONE, slot =
 * output index). Edges are ordered by node and slot, without left-out inputs; graph outputs
 * follow. */
typedef enum itg_edge_kind {
    ITG_EDGE_FLOAT, /* carried as float32 (or as what it is: indices, booleans) */
    ITG_EDGE_QUANT, /* integers under a quantizer */
    ITG_EDGE_FUSED  /* inside a fused pattern: the producer's accumulator passes on unclipped */
} itg_edge_kind;

typedef struct itg_edge {
    itg_id value, node;
    int32_t slot;
    itg_edge_kind kind;
    int32_t encoding; /* index into the value's encodings; FUSED: -1 */
} itg_edge;

/* One representation of a value. Consumers with equal quantizers share an encoding. */
typedef struct itg_encoding {
    bool is_float; /* float32; q is unused */
    itg_quantizer q;
    /* The codes of a quantized constant (kernels/constants.h), held in the graph's cache; else
     * NULL. */
    const struct itg_constant *constant;
    /* Weights with zero points (itg_has_zero_points): [q.scale_count], how many of a scale's codes
     * lie below 0. Else NULL. */
    const uint8_t *zero;
    /* Epilogue of the producing node: native result -> this encoding. Unused for constants, for
     * graph inputs and float nodes (there: itg_quantize_f32 with q) and for LUT and KEEP forms. */
    const itg_requant *requant; /* [requant_count]; 1, or one per output channel */
    int32_t requant_count;
    int64_t clamp_lo, clamp_hi; /* clip of SimQ, fused activation included: qmin <= clamp_lo <=
                                   clamp_hi <= qmax */
    /* is_float from an integer node: float32(acc) * dequant[c], then the fused activation in
     * float32 */
    const float *dequant;
    int32_t dequant_count;
} itg_encoding;

typedef struct itg_value_note {
    int32_t encoding_count;
    itg_encoding *encodings;
} itg_value_note;

/* How a node computes. Names as in hardware files ("arithmetic"). */
typedef enum itg_form {
    ITG_FORM_FLOAT,   /* float32 reference kernel */
    ITG_FORM_MAC,     /* Conv, Gemm, MatMul: acc = bias + sum (x - x.zp) * (w - w.zp); or split */
    ITG_FORM_PRODUCT, /* Mul: acc = (a - a.zp) * (b - b.zp) */
    ITG_FORM_RESCALE, /* Add, Sub: acc = ra((a - a.zp) << left_shift) +- rb((b - b.zp) <<
                         left_shift); Relu, Clip: acc = a - a.zp; pools, ReduceMean: acc = sum of (a
                         - a.zp), ratio holds 1/count */
    ITG_FORM_F32, /* Add, Sub, Mul, AveragePool in float32 as ONNX Runtime does (arithmetic.md 3.1):
                     from the quantizers alone */
    ITG_FORM_EQUAL, /* Add, Sub with tied operand quantizers: acc = (a - zp) +- (b - zp) */
    ITG_FORM_KEEP,  /* input and output quantizers tied, q unchanged or moved or averaged over q:
                       data movement, MaxPool,  Concat, AveragePool in CMSIS-NN's form (rounding as
                       stated) */
    ITG_FORM_LUT,   /* univariate function through a table of all input codes */
    ITG_FORM_TFLITE_SOFTMAX, /* acc = 2^fraction * e / sum of e in gemmlowp's fixed point */
    ITG_FORM_SOFTMAX, /* acc = 2^30 * e / sum of e, e = 2^fraction * exp(scale * (a - greatest)) */
    ITG_FORM_LAYER_NORM, /* acc = d / sqrt(n * sum of x^2 - (sum of x)^2 + epsilon) * gain + bias,
                            x = a - a.zp, d = n * x - sum of x */
    ITG_FORM_FUSED,      /* an activation that is its producer's clamp; computes nothing */
    ITG_FORM_COUNT
} itg_form;

typedef struct itg_node_note {
    itg_form form;
    int32_t spec; /* of an integer node that is not fused: its number in the hardware's list */
    itg_accumulator acc;
    itg_sum_split split;    /* MAC: where a sum might leave acc; else part_count 0 */
    itg_id activation;      /* a Relu or Clip node fused into this one, or ITG_NONE */
    itg_id out_value;       /* value whose encodings the epilogue writes: own output 0, or the
                               activation's */
    int32_t left_shift;     /* RESCALE of Add and Sub */
    int32_t table_shift;    /* LUT: outputs of codes have an entry for every 2^this codes */
    itg_requant operand[2]; /* RESCALE of Add and Sub: ra, rb */
    itg_rounding rounding;  /* KEEP average: of the division */
    /* MAC: bias as integers at scale x.scale * w.scale[c] (float32 product), one per output
     * channel; NULL: none. Already clamped to the accumulator. LAYER_NORM: one per element of a
     * row, at the scale of acc. */
    const int64_t *bias;
    int32_t bias_count;
    int32_t fraction;    /* SOFTMAX: bits of an exponential; LAYER_NORM: bits after the point of a
                            normalized element */
    int64_t epsilon;     /* LAYER_NORM: in units of the squared deviation, at least 1 */
    const int16_t *gain; /* LAYER_NORM: codes of Scale, one per element of a row */
    int32_t gain_count;
    const char *reason; /* FLOAT: why, for `check` ("Softmax is not in the hardware's operators") */
} itg_node_note;

typedef struct itg_annotated {
    itg_arena *arena;
    const itg_graph *graph; /* borrowed */
    itg_cache *cache;       /* of codes; shared with the programs that are made from this */
    /* [graph->value_count]: itg_content_key of each constant's data. The data then outlives every
     * program made from this. NULL: programs copy the data. */
    const itg_key *content;
    int32_t edge_count;
    itg_edge *edges;
    itg_value_note *values; /* [graph->value_count] */
    itg_node_note *nodes;   /* [graph->node_count] */
    /* index of the edge (node, slot), or of graph output slot where node is ITG_NONE:
     * edge_first[node] + rank of slot */
    int32_t *edge_of_node;  /* [graph->node_count + 1]: first edge of each node; the last entry:
                               first output edge */
    struct annotate *state; /* sim/annotate.h: what itg_annotate_weights goes on with */
} itg_annotated;

const itg_edge *itg_annotated_edge(const itg_annotated *a, itg_id node,
                                   int32_t slot); /* NULL: input left out */
/* The encoding an edge reads; NULL for FUSED. */
const itg_encoding *itg_annotated_encoding(const itg_annotated *a, itg_id node, int32_t slot);
void itg_annotated_print(const itg_annotated *a,
                         itg_strbuf *out); /* stable text: each edge with its SimQ */
const char *itg_form_name(itg_form form);
#endif
