/* The integer graph: arrays of values and steps, identified by index. Lowering (lower.c) and
 * reading a file (artefact_read.c) build one; itg_program_finish checks it (check.c), after which
 * it is immutable and the executor trusts every index, shape and constant. */
#ifndef ITG_PROGRAM_H
#define ITG_PROGRAM_H
#include "base/flow.h"
#include "kernels/constants.h"
#include "realize/realize.h"

/* Limit of values, of steps, and of operands of a step. Preparation accepts 16384 nodes, each with
 * up to two constants and a value, and the codes of these. */
#define ITG_PROGRAM_MAX_VALUES 131072
#define ITG_PROGRAM_MAX_BYTES ((size_t)1 << 32) /* memory of one run */
#define ITG_PROGRAM_MAX_TABLE 65536             /* entries of a lookup table */

/* The kind of a step. Its operator selects one of the kind's family. */
typedef enum itg_step_kind {
    ITG_STEP_QUANTIZE,   /* float32 -> codes */
    ITG_STEP_DEQUANTIZE, /* codes -> float32 */
    ITG_STEP_FLOAT,      /* island: reference float kernel of any operator */
    ITG_STEP_CONV,       /* Conv: x, w [, bias s64] */
    ITG_STEP_MATMUL,     /* MatMul (Gemm too): a, b [, bias s64]; trans_b: b's matrices lie [N,K] */
    ITG_STEP_BINARY,     /* Add, Sub, Mul; form RESCALE F32 EQUAL PRODUCT */
    ITG_STEP_CLIP,       /* Relu, Clip on their own: native result x - z */
    ITG_STEP_MEAN,    /* AveragePool, GlobalAveragePool, ReduceMean; form KEEP, or RESCALE (sums and
                         epilogues) */
    ITG_STEP_MAX,     /* MaxPool, GlobalMaxPool, ReduceMax of codes */
    ITG_STEP_MOVE,    /* data movement of codes */
    ITG_STEP_ARG_MAX, /* ArgMax of codes: s64 */
    ITG_STEP_LUT,     /* univariate: x, one table an output */
    ITG_STEP_SOFTMAX, /* x, tables of exponentials s32: fine, coarse (int_ops.h) */
    ITG_STEP_LAYER_NORM, /* x, gain s16, bias s64, both in the shape of a row */
    ITG_STEP_KIND_COUNT
} itg_step_kind;

typedef struct itg_pvalue {
    const char *name; /* unique */
    itg_dtype dtype;
    itg_shape shape; /* every dim >= 1 */
    bool quantized;
    itg_quantizer q;  /* quantized: storage == dtype; one scale unless it is a constant */
    const void *data; /* constants: host byte order; else NULL */
    /* Facts about `data`, for constants that lowering made. */
    const itg_constant *known;
    bool held; /* known is held in the program's cache */
    /* Set by itg_program_finish. */
    int64_t elements;
    size_t bytes;
    int32_t producer; /* step, or ITG_NONE: program input or constant */
} itg_pvalue;

/* How the native result becomes an output: codes (requant, zero point, clamp) or float32
 * (dequant). */
typedef struct itg_step_out {
    const itg_requant *requant; /* [requant_count]: 1, one per channel, or (means) one per count */
    int32_t requant_count;
    int64_t lo, hi;
    const float *dequant;
    int32_t dequant_count;
} itg_step_out;

typedef struct itg_step {
    itg_step_kind kind;
    itg_op op;        /* not of QUANTIZE and DEQUANTIZE */
    itg_form form;    /* BINARY and MEAN only; else ITG_FORM_FLOAT */
    const char *name; /* of the node it comes from */
    itg_id node;      /* its id in the prepared graph; ITG_NONE: none */
    itg_attrs attrs;
    int32_t input_count, output_count;
    int32_t *inputs; /* ITG_NONE: left out (float nodes only) */
    int32_t *outputs;
    itg_step_out *outs;       /* [output_count] */
    itg_accumulator acc;      /* bits 0: no accumulator */
    int64_t acc_lo, acc_hi;   /* bound of the native result and every partial sum (bounds.c) */
    itg_sum_split split;      /* CONV, MATMUL; acc_lo and acc_hi then bound every part */
    int64_t join_lo, join_hi; /* split: bound of the joined sum; else 0 */
    int32_t left_shift;       /* BINARY RESCALE */
    int32_t table_shift;      /* LUT: tables of codes have an entry for every 2^this codes */
    itg_requant operand[2];   /* BINARY RESCALE */
    itg_rounding rounding;    /* MEAN KEEP */
    int32_t fraction;         /* SOFTMAX, LAYER_NORM: as itg_node_note has it */
    int64_t epsilon;          /* LAYER_NORM: the same */
    float float_lo, float_hi; /* activation on float32 outputs */
    const char *reason;       /* FLOAT: why */
    /* Set by itg_program_finish. kernel_bound: the bound of |partial sum| for any order of
     * additions; INT64_MAX if parts are shifted. */
    int64_t kernel_bound;
} itg_step;

struct itg_program {
    itg_arena *arena;
    const char *name;
    itg_pvalue *values;
    int32_t value_count, value_capacity;
    itg_step *steps;
    int32_t step_count, step_capacity;
    int32_t *inputs, input_count;
    int32_t *outputs, output_count;
    itg_bound *bounds;
    int32_t bound_count;
    const char **islands;
    int32_t island_count;
    const char **metadata_key, **metadata_value;
    int32_t metadata_count;
    itg_cache *cache; /* shared; holds the constants of values; NULL: none */
};

/* Number of entries of a table for codes of x: all codes, or (shift > 0) the multiples of 2^shift
 * around them. */
static inline int64_t itg_table_entries(const itg_quantizer *x, int32_t shift)
{
    return shift == 0 ? x->qmax - x->qmin + 1 : (x->qmax >> shift) - (x->qmin >> shift) + 2;
}

/* ---- building (program.c) ---- */
itg_status itg_program_create(const char *name, itg_program **out, itg_error *err);
/* The name is copied; the caller makes it unique (names.h). */
itg_status itg_program_add_value(itg_program *p, const char *name, itg_dtype dtype,
                                 const itg_shape *shape, int32_t *out, itg_error *err);
/* Adds a zeroed step with operands ITG_NONE. The pointer is valid until the next step is added. */
itg_status itg_program_add_step(itg_program *p, itg_step_kind kind, const char *name,
                                int32_t input_count, int32_t output_count, itg_step **out,
                                itg_error *err);
/* Copies q and its scales to the value. */
itg_status itg_program_set_quantizer(itg_program *p, int32_t value, const itg_quantizer *q,
                                     itg_error *err);
bool itg_quantizer_equal(const itg_quantizer *a, const itg_quantizer *b);
typedef enum itg_bounds_mode { ITG_BOUNDS_STORE, ITG_BOUNDS_COMPARE } itg_bounds_mode;
/* Checks everything, derives bounds (or compares them with what the file says), plans memory. The
 * program is then ready. */
itg_status itg_program_finish(itg_program *p, itg_bounds_mode mode, itg_error *err);
static inline itg_tensor itg_pvalue_tensor(const itg_pvalue *v)
{
    itg_tensor t = {v->dtype, v->shape, (void *)(uintptr_t)v->data};
    return t;
}
static inline bool itg_step_has_operand(const itg_step *s, int32_t slot)
{
    return slot < s->input_count && s->inputs[slot] != ITG_NONE;
}

/* ---- memory of a device (plan.c) ---- */
/* Places everything that the steps compute, outputs included, in one arena: tensor i is value i,
 * step i is step i (base/flow.h). Inputs, constants and scratch memory of kernels are not in it.
 * alignment: a power of two. Free with itg_program_flow_deinit. */
itg_status itg_program_flow(const itg_program *p, size_t alignment, itg_flow *flow, itg_error *err);
void itg_program_flow_deinit(itg_flow *flow);

/* ---- the vocabulary of kinds (kinds.c) ---- */
bool itg_step_kind_takes(itg_step_kind kind, itg_op op);
/* The forms that a step of this kind states; bit f = itg_form f; 0: it states none. */
uint32_t itg_step_forms(itg_step_kind kind, itg_op op);
/* "IntConv", "LutSigmoid", "FloatSoftmax", "Quantize"; buffer of 48 bytes suffices; returns
 * buffer. */
const char *itg_step_type(const itg_step *s, char *buffer, size_t size);
bool itg_step_type_parse(const char *type, itg_step_kind *kind, itg_op *op);
bool itg_step_has_accumulator(const itg_step *s);
/* Whether a step is computed in float32 from the quantizers alone, without accumulator and
 * requantization constants. */
bool itg_step_is_f32(const itg_step *s);
/* Whether outputs are written through epilogues (itg_step_out). */
bool itg_step_has_epilogue(const itg_step *s);

/* ---- parts of itg_program_finish ---- */
itg_status itg_program_check(itg_program *p, itg_error *err); /* check.c */
itg_status itg_step_check(const itg_program *p, const itg_step *s,
                          itg_error *err); /* check_step.c */
void itg_step_bound(const itg_program *p, const itg_step *s, int64_t *lo,
                    int64_t *hi);      /* bounds.c; after the checks */
bool itg_step_fits(const itg_step *s); /* bounds within accumulators */
/* Split sums: every part into *lo and *hi, the joined sum into *join_lo and *join_hi. */
void itg_step_split_bound(const itg_program *p, const itg_step *s, int64_t *lo, int64_t *hi,
                          int64_t *join_lo, int64_t *join_hi);
static inline itg_accumulator itg_step_join(const itg_step *s)
{
    itg_accumulator join = {s->split.join_bits, s->acc.overflow};
    return join;
}
int64_t itg_step_kernel_bound(const itg_program *p, const itg_step *s);
/* Whether the result is the exact whole sum: it is not split, or no part is shifted before it is
 * added. Parts and joined sum fit (itg_step_fits), so a kernel may add the terms in any order into
 * an accumulator of join_bits. */
bool itg_step_sum_is_whole(const itg_step *s);
#endif
