/* Plain value types that every layer and every caller shares: status, error, dtype, shape, tensor,
 * quantizer, requantization constants, operator vocabulary. No code but small inline helpers;
 * nothing here allocates. */
#ifndef INTAGLIO_TYPES_H
#define INTAGLIO_TYPES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__ /* what the shared library exports */
#pragma GCC visibility push(default)
#endif

/* ---- status and error ---- */
typedef enum itg_status {
#define ITG_STATUS(id, text) ITG_##id,
#include "status.def"
#undef ITG_STATUS
    ITG_STATUS_COUNT
} itg_status;

/* Filled on failure by fallible functions (their last, optional argument). One line, no newline at
 * its end. */
typedef struct itg_error {
    itg_status code;
    char message[512];
} itg_error;

/* Asks the caller whether the work is to be given up (ITG_CANCELLED); any thread may ask. NULL:
 * never. */
typedef struct itg_stop {
    bool (*asked)(void *context);
    void *context;
} itg_stop;

const char *itg_status_name(itg_status status); /* "BAD_FILE" */
const char *itg_status_text(itg_status status); /* "malformed file" */

/* Bytes that belong to the caller, who frees data with itg_free. */
typedef struct itg_buffer {
    void *data;
    size_t bytes;
} itg_buffer;

/* ---- element types ---- */
typedef enum itg_dtype {
    ITG_F32,
    ITG_F64,
    ITG_S8,
    ITG_U8,
    ITG_S16,
    ITG_U16,
    ITG_S32,
    ITG_U32,
    ITG_S64,
    ITG_BOOL,
    ITG_DTYPE_COUNT
} itg_dtype;

size_t itg_dtype_size(itg_dtype dtype);      /* bytes of one element */
const char *itg_dtype_name(itg_dtype dtype); /* "f32", "s8"... */
bool itg_dtype_from_name(const char *name, itg_dtype *out);
bool itg_dtype_is_integer(itg_dtype dtype); /* S8..S64; not BOOL */
int64_t itg_dtype_min(itg_dtype dtype);     /* of integer types; U32 and S64 in full */
int64_t itg_dtype_max(itg_dtype dtype);

/* ---- shapes and tensors ---- */
#define ITG_MAX_RANK 8
#define ITG_MAX_ELEMENTS ((int64_t)1 << 31) /* of one tensor; more is refused */

typedef struct itg_shape {
    int32_t rank;
    int64_t dims[ITG_MAX_RANK]; /* >= 0; -1 = unknown (before preparation only) */
} itg_shape;

/* Row-major, contiguous. The struct never owns data. */
typedef struct itg_tensor {
    itg_dtype dtype;
    itg_shape shape;
    void *data;
} itg_tensor;

/* ---- quantizers: real = scale * (q - zero_point) ---- */
typedef struct itg_quantizer {
    int32_t bits; /* 1..32; 1, of constants alone: codes -1 and 1 */
    bool is_signed;
    itg_dtype storage;  /* S8 U8 S16 U16 S32 */
    int64_t qmin, qmax; /* the clip range at `bits` bits; symmetric signed: [-(2^(b-1)-1),
                           2^(b-1)-1]; of weights with zero points [-(2^b-1), 2^b-1]: codes are less
                           them, and each scale has 2^b neighbouring ones, 0 among them */
    int32_t zero_point; /* within [qmin, qmax]; 0 when symmetric */
    int32_t axis;       /* the axis the scales run along; -1: one scale */
    int32_t scale_count;
    const float *scale; /* [scale_count], > 0, finite; borrowed from the owner's arena */
} itg_quantizer;

typedef enum itg_rounding {
    ITG_ROUND_HALF_EVEN,
    ITG_ROUND_HALF_UP /* towards +inf */,
    ITG_ROUND_HALF_AWAY,
    ITG_ROUND_FLOOR,
    ITG_ROUNDING_COUNT
} itg_rounding;

typedef enum itg_overflow { ITG_OVERFLOW_WRAP, ITG_OVERFLOW_SATURATE } itg_overflow;

/* An accumulator is two's complement, bits wide (8..64). */
typedef struct itg_accumulator {
    int32_t bits;
    itg_overflow overflow;
} itg_accumulator;

/* A sum that its accumulator cannot hold, taken apart. Part i is the terms [end[i-1], end[i]) in
 * the order of the sum, summed in the accumulator from 0 on. The result is round(bias / 2^shift)
 * plus round(part / 2^shift) of every part, in order, in an accumulator of join_bits. */
typedef struct itg_sum_split {
    int32_t part_count;   /* 0: not split */
    const int64_t *end;   /* [part_count], strictly ascending from > 0; the last: all terms */
    int32_t shift_count;  /* 1, or one per output channel */
    const int64_t *shift; /* 0..62 */
    itg_rounding rounding;
    int32_t join_bits;
} itg_sum_split;

/* One integer stage: v -> round((v * multiplier) / 2^shift). shift < 0 is an exact left shift by
 * -shift. The product and the rounding are exact (as in unbounded integers). */
typedef struct itg_requant_stage {
    int64_t multiplier; /* 1: a plain shift */
    int32_t shift;      /* -62..62 */
    itg_rounding rounding;
} itg_requant_stage;

/* Requantization constants of one channel: native accumulator -> integer relative to the output's
 * zero point. Not f32: the stages in order. f32: rint(float32(v) * ratio), half to even. */
typedef struct itg_requant {
    bool is_f32;
    float ratio;         /* is_f32 only */
    int32_t stage_count; /* 0..3; 0 = identity */
    itg_requant_stage stage[3];
} itg_requant;

typedef enum itg_requant_form {
    ITG_REQUANT_TFLITE_DOUBLE,
    ITG_REQUANT_S64_REDUCED,
    ITG_REQUANT_SHIFT,
    ITG_REQUANT_PRESHIFT,
    ITG_REQUANT_F32,
    ITG_REQUANT_STAGES,
    ITG_REQUANT_FORM_COUNT
} itg_requant_form;

/* How a hardware description says its constants are derived from a real ratio; see
 * kernels/requant.h. */
typedef struct itg_requant_spec {
    itg_requant_form form;
    int32_t multiplier_bits; /* two's complement width of the multiplier, sign included: 2..32
                                (PRESHIFT, STAGES) */
    int32_t multiply_shift;  /* STAGES: shift that belongs to the multiply stage; -1 = it takes the
                                whole shift */
    int32_t pre_shift_bits;  /* PRESHIFT, STAGES: shift first, as little as brings |acc| below
                                2^(this-1); 0 = no pre-shift */
    int32_t max_shift; /* the longest right shift of one stage that the hardware has (1..62) */
    itg_rounding pre_rounding, multiply_rounding, shift_rounding;
} itg_requant_spec;

/* ---- operators ---- */
typedef enum itg_op {
#define ITG_OP(id, ...) ITG_OP_##id,
#include "ops.def"
    ITG_OP_COUNT
} itg_op;

const char *itg_op_name(itg_op op);
bool itg_op_from_name(const char *name, itg_op *out);

typedef enum itg_auto_pad {
    ITG_PAD_EXPLICIT,
    ITG_PAD_SAME_UPPER,
    ITG_PAD_SAME_LOWER,
    ITG_PAD_VALID
} itg_auto_pad;
typedef enum itg_pad_mode { ITG_PAD_CONSTANT, ITG_PAD_REFLECT, ITG_PAD_EDGE } itg_pad_mode;
/* What ScatterElements and ScatterND do with an update and the element that is there. */
typedef enum itg_scatter {
    ITG_SCATTER_NONE, /* the update takes its place */
    ITG_SCATTER_ADD,
    ITG_SCATTER_MUL,
    ITG_SCATTER_MIN,
    ITG_SCATTER_MAX
} itg_scatter;

typedef enum itg_resize_mode {
    ITG_RESIZE_NEAREST,
    ITG_RESIZE_LINEAR,
    ITG_RESIZE_CUBIC
} itg_resize_mode;
typedef enum itg_coordinates {
    ITG_HALF_PIXEL,
    ITG_HALF_PIXEL_SYMMETRIC,
    ITG_PYTORCH_HALF_PIXEL,
    ITG_ALIGN_CORNERS,
    ITG_ASYMMETRIC,
    ITG_CROP_AND_RESIZE,
    ITG_HALF_PIXEL_FOR_NEAREST
} itg_coordinates;
typedef enum itg_nearest {
    ITG_PREFER_FLOOR,
    ITG_PREFER_CEIL,
    ITG_NEAREST_FLOOR,
    ITG_NEAREST_CEIL,
    ITG_DOWNSAMPLE_CEIL
} itg_nearest;
typedef enum itg_aspect { ITG_STRETCH, ITG_NOT_LARGER, ITG_NOT_SMALLER } itg_aspect;
typedef enum itg_direction { ITG_FORWARD, ITG_REVERSE, ITG_BIDIRECTIONAL } itg_direction;

/* Attributes of every operator in one plain struct, its members listed in ops.def; an operator
 * reads only its own. After preparation: auto_pad is EXPLICIT, axes are >= 0, shape-like inputs
 * (Reshape's shape, Slice's starts, Clip's bounds, Pad's pads...) stand here and no longer among
 * the inputs. 1-D windows are 2-D with a leading height of 1 (spatial_rank keeps the true rank). */
typedef struct itg_attrs {
    int32_t axes_count; /* of axes, starts and steps */
#define ITG_FIELD(type, member, extent, ...) type member extent;
#include "ops.def"
} itg_attrs;

/* ---- metrics ---- */
typedef enum itg_metric {
#define ITG_METRIC(id, name, goal, words, unit, better, needs) ITG_METRIC_##id,
#include "metrics.def"
    ITG_METRIC_COUNT, /* of those that a score holds; behind it those that are derived */
    ITG_METRIC_LAST_HELD = ITG_METRIC_COUNT - 1,
#define ITG_DERIVED(id, name, goal, words, unit, better, needs) ITG_METRIC_##id,
#include "metrics.def"
    ITG_METRIC_ALL
} itg_metric;
#define ITG_USER_METRICS 4 /* from ITG_METRIC_USER1 on, the last that a score holds */

typedef enum itg_unit {
    ITG_UNIT_SHARE,    /* 0..1 */
    ITG_UNIT_BYTES,    /* an integer, 0..2^53 */
    ITG_UNIT_COUNT,    /* from 0, may be infinite */
    ITG_UNIT_BITS,     /* 0..64 */
    ITG_UNIT_RATIO,    /* from 0, may be infinite */
    ITG_UNIT_DECIBELS, /* any number */
    ITG_UNIT_NUMBER    /* any number */
} itg_unit;

typedef enum itg_metric_need {
    ITG_NEEDS_PROGRAM, /* the program alone: a cost */
    ITG_NEEDS_LABELS,  /* classes */
    ITG_NEEDS_TARGETS, /* what the outputs should be */
    ITG_NEEDS_CLASSES, /* a classifier, and labels or the float network */
    ITG_NEEDS_OUTPUTS, /* the float network's outputs */
    ITG_NEEDS_FLOATS,  /* the same, and that the metric is asked for */
    ITG_NEEDS_USER     /* a function of the user's */
} itg_metric_need;

/* One line of metrics.def. */
typedef struct itg_metric_info {
    const char *name, *goal, *words;
    itg_unit unit;
    bool up; /* larger is better */
    itg_metric_need needs;
} itg_metric_info;
const itg_metric_info *itg_metric_about(itg_metric metric);
bool itg_metric_is_cost(itg_metric metric); /* it needs the program alone; else a quality */
/* A quality of all samples together, computed where it is asked for (docs/metrics.md): no part of
 * the samples bounds it, and it has no interval of a share. */
bool itg_metric_is_of_set(itg_metric metric);
bool itg_metric_from_name(const char *name, itg_metric *out);
/* The cost of that goal name ("size", "ram"...). */
bool itg_metric_from_goal(const char *goal, itg_metric *out);
/* Whether the metric can have this value; NaN: never. */
bool itg_metric_allows(itg_metric metric, double value);
bool itg_unit_allows(itg_unit unit, double value);
const char *itg_unit_range(itg_unit unit); /* the same in words: "a number from 0 to 1" */
const char *itg_unit_name(itg_unit unit);  /* "share" */
bool itg_unit_from_name(const char *name, itg_unit *out);

/* What is known of a metric that the calling program brings. */
#define ITG_METRIC_NAME 32
typedef struct itg_user_info {
    char name[ITG_METRIC_NAME]; /* a-z, 0-9, _; no metric of the list; "": there is none */
    itg_unit unit;
    bool up; /* larger is better */
} itg_user_info;

/* What is known of a strategy on some samples. */
typedef struct itg_score {
    int64_t samples;
    int64_t stopped_at; /* > 0: the trial was stopped after so many samples, because its quality
                           could no longer matter, or the searcher only compares its distortion.
                           Shares are then the largest that were possible, digest 0; distortion is
                           the least where it is the quality, else what these samples say of all
                           where the searcher compares it (and not known where not) */
    double value[ITG_METRIC_COUNT];       /* by itg_metric; NaN: not known */
    itg_user_info user[ITG_USER_METRICS]; /* what the values from ITG_METRIC_USER1 on are */
    unsigned char digest[32];
} itg_score;
itg_score itg_score_unknown(void); /* no samples, no metric is known */
/* As itg_metric_about; of a user's metric what the score says, which must outlive the result. */
itg_metric_info itg_score_about(const itg_score *score, itg_metric metric);

/* ---- threshold methods ---- */
/* Who computes float networks. REFERENCE: the same bits on every machine. ONEDNN: quicker, and the
 * same bits only on the same machine with the same oneDNN. */
typedef enum itg_float_kernels {
    ITG_FLOAT_REFERENCE,
    ITG_FLOAT_ONEDNN,
    ITG_FLOAT_KERNELS_COUNT
} itg_float_kernels;

int itg_thread_count(int wanted); /* what threads = wanted means: at most 256; 0: the machine's */
/* The version of oneDNN, in buffer; NULL: this build has none. Whether it computes: a product of
 * matrices, checked exactly. ITG_UNSUPPORTED: it does not, or there is none. */
const char *itg_onednn_version(char buffer[32]);
itg_status itg_onednn_check(itg_error *err);

/* The sets of integer kernels of this build, slowest first. A set is tested against the reference
 * set in this process before it is used; one that differs in a bit is WRONG and is not used. */
typedef enum itg_accel_state {
    ITG_ACCEL_PROVEN,
    ITG_ACCEL_ABSENT, /* the processor or the operating system does not run it */
    ITG_ACCEL_WRONG
} itg_accel_state;
const char *itg_accel_set(int index); /* 0 is "reference"; NULL: there are not so many */
itg_accel_state itg_accel_set_state(int index);
/* The name of the set that programs run with: the one that the environment variable
 * INTAGLIO_KERNELS names, which fails where it cannot be used, or else the last that is proven. */
itg_status itg_accel_chosen(const char **out, itg_error *err);

typedef enum itg_threshold_method {
    ITG_THRESHOLD_MAX,
    ITG_THRESHOLD_AVG,
    ITG_THRESHOLD_PERCENTILE, /* 99.99 %: so many of the elements lie within, on each side */
    ITG_THRESHOLD_POWER2,
    ITG_THRESHOLD_MSE,
    ITG_THRESHOLD_KL,
    ITG_THRESHOLD_PERCENTILE_99_9,
    ITG_THRESHOLD_PERCENTILE_99_999,
    ITG_THRESHOLD_METHOD_COUNT
} itg_threshold_method;

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
/* The ending of a noun after a number: "" after 1, else "s". */
static inline const char *itg_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}
#endif
