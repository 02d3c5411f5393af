/* Private to realize/: lowering, one pass over the annotated graph that packs constants, builds
 * tables and names tensors. */
#ifndef ITG_LOWER_H
#define ITG_LOWER_H
#include "graph/names.h"
#include "realize/program.h"

typedef struct itg_lowering {
    const itg_annotated *a;
    const itg_graph *g;
    itg_program *p;
    int32_t **made;   /* [value][encoding]: value of the program, or ITG_NONE */
    int32_t **packed; /* [value][encoding]: constant matrices with their last two dims exchanged */
    int32_t *plain;   /* [value]: the encoding that has the value's own name */
    itg_names names;
    const itg_tap *outputs; /* [output_count] */
    int32_t output_count;
    bool *needed;                    /* [nodes]: the outputs depend on it */
    bool *read;                      /* [values]: the same of values that are not known */
    itg_id needed_first, needed_end; /* needed nodes are of this range; end: one behind the last */
    const itg_known *known;          /* NULL: nothing is known, and all inputs are the program's */
    int32_t *from;                   /* as itg_realize_taps */
    itg_error *err;
} itg_lowering;

/* ---- lower_value.c ---- */
/* The program's value that edge (node, slot) reads. A constant is packed when it is first read. */
itg_status itg_lower_edge(itg_lowering *l, itg_id node, int32_t slot, int32_t *out);
/* Adds the program's value for (value, encoding), for its producer. */
itg_status itg_lower_output(itg_lowering *l, itg_id value, int32_t encoding, int32_t *out);
/* Adds a value "name:what" that is no encoding. */
itg_status itg_lower_hidden(itg_lowering *l, itg_id value, const char *what, itg_dtype dtype,
                            int32_t *out);
itg_status itg_lower_constant(itg_lowering *l, const char *name, const itg_tensor *data,
                              int32_t *out);
/* Constant weights [..., K, N], stored as [..., N, K]. */
itg_status itg_lower_packed_matrix(itg_lowering *l, itg_id node, int32_t slot, int32_t *out);
/* Adds a QUANTIZE or DEQUANTIZE step. */
itg_status itg_lower_convert(itg_lowering *l, itg_step_kind kind, itg_id value, int32_t from,
                             int32_t to);

/* ---- lower_step.c ---- */
itg_status itg_lower_step(itg_lowering *l, itg_id node, itg_step_kind kind, itg_op op,
                          int32_t inputs, int32_t outputs, itg_step **out);
/* Adds a step whose outputs are all encodings of note.out_value, with epilogues. *out is NULL if
 * nothing reads the value. */
itg_status itg_lower_native(itg_lowering *l, itg_id node, itg_step_kind kind, itg_op op,
                            int32_t inputs, itg_step **out);
itg_status itg_lower_fail(itg_lowering *l, itg_id node, itg_status status, const char *what);
itg_status itg_lower_no_memory(itg_lowering *l);

typedef itg_status (*itg_lower_fn)(itg_lowering *l, itg_id node);
itg_status itg_lower_mac(itg_lowering *l, itg_id node);    /* lower_mac.c */
itg_status itg_lower_binary(itg_lowering *l, itg_id node); /* lower_element.c */
itg_status itg_lower_clip(itg_lowering *l, itg_id node);
itg_status itg_lower_lut(itg_lowering *l, itg_id node);
itg_status itg_lower_mean(itg_lowering *l, itg_id node);    /* lower_keep.c */
itg_status itg_lower_softmax(itg_lowering *l, itg_id node); /* lower_norm.c */
itg_status itg_lower_tflite_softmax(itg_lowering *l, itg_id node);
itg_status itg_lower_layer_norm(itg_lowering *l, itg_id node);
itg_status itg_lower_keep(itg_lowering *l, itg_id node);
itg_status itg_lower_float(itg_lowering *l, itg_id node);
#endif
