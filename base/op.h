/* Operators and their attributes, as intaglio/ops.def lists them. */
#ifndef ITG_BASE_OP_H
#define ITG_BASE_OP_H
#include <intaglio/types.h>

/* What operators have in common. */
typedef enum itg_op_class {
    ITG_IS_MAC = 1 << 0,          /* sums products of its input with weights */
    ITG_IS_BROADCAST = 1 << 1,    /* element by element, of inputs that broadcast */
    ITG_IS_UNIVARIATE = 1 << 2,   /* each output element is a function of one input element */
    ITG_IS_CLAMP = 1 << 3,        /* a univariate operator that other operators can end in */
    ITG_IS_INEXACT = 1 << 4,      /* implementations of the function differ in the last bits */
    ITG_IS_POOL = 1 << 5,         /* over windows, or over all of an image */
    ITG_IS_REDUCE = 1 << 6,       /* over listed axes */
    ITG_IS_AVERAGE = 1 << 7,      /* a pool or a reduction that gives the mean */
    ITG_IS_SOFTMAX = 1 << 8,      /* Softmax or its logarithm */
    ITG_IS_MOVE = 1 << 9,         /* places elements and computes nothing */
    ITG_IS_VIEW = 1 << 10,        /* a move that keeps the order of the elements */
    ITG_IS_SHAPED = 1 << 11,      /* inputs after the first become attributes at shape inference */
    ITG_TAKES_INTEGERS = 1 << 12, /* computes on integers too; every move does anyway */
    ITG_IS_COMPOSITE = 1 << 13,   /* preparation replaces it by other operators (graph/expand.h) */
    ITG_IS_WRITTEN_OUT = 1 << 15, /* the same, of float32 where it varies; others stay */
    ITG_READS_SHAPE = 1 << 14     /* the result follows from the input's shape and type alone */
} itg_op_class;

typedef struct itg_op_info {
    const char *name;
    int classes;                                 /* of itg_op_class */
    int32_t min_inputs, max_inputs, max_outputs; /* -1: any number */
    int32_t first_opset;
} itg_op_info;

const itg_op_info *itg_op_info_of(itg_op op);
/* Whether the operator is of any of the classes; false of what is no operator. */
bool itg_op_is(itg_op op, int classes);

typedef enum itg_attr_kind {
    ITG_KIND_INT,  /* int64_t */
    ITG_KIND_AXIS, /* int64_t */
    ITG_KIND_BOOL,
    ITG_KIND_FLOAT,
    ITG_KIND_BOUND, /* float that may be infinite */
    ITG_KIND_DTYPE, /* itg_dtype */
    ITG_KIND_NAME,  /* an enumeration with named values; as wide as int */
    ITG_KIND_AUTO_PAD,
    ITG_KIND_LIST, /* the others: int64_t */
    ITG_KIND_AXES,
    ITG_KIND_PER_AXIS,
    ITG_KIND_PER_DIM,
    ITG_KIND_FLOATS /* float */
} itg_attr_kind;

typedef struct itg_attr_field {
    const char *member, *name;
    itg_attr_kind kind;
    size_t offset, size;  /* in itg_attrs, bytes */
    const char *words[9]; /* of an enumeration, NULL behind the last */
} itg_attr_field;

/* One attribute of one operator. */
typedef struct itg_attr {
    itg_op op;
    const itg_attr_field *field;
    double preset;
    bool in_graph;    /* counts in prints and hashes of graphs */
    const char *onnx; /* NULL: no attribute of ONNX's */
    int32_t first_opset, last_opset;
} itg_attr;

/* The operator's attributes in the order in which they are printed and hashed. */
const itg_attr *itg_op_attrs(itg_op op, int32_t *count);
const void *itg_attr_value(const itg_attr *attr, const itg_attrs *attrs);
void *itg_attr_slot(const itg_attr *attr, itg_attrs *attrs);
bool itg_attr_is_preset(const itg_attr *attr, const itg_attrs *attrs);
/* Returns the number of integers (INT, LIST, AXES, PER_AXIS, PER_DIM). rank: of the first input. */
int32_t itg_attr_count(const itg_attr *attr, const itg_attrs *attrs, int32_t rank);
/* NAME, AUTO_PAD, DTYPE: returns the value's name. */
const char *itg_attr_word(const itg_attr *attr, const itg_attrs *attrs);
/* Sets the value of that name; false: there is none. */
bool itg_attr_set_word(const itg_attr *attr, itg_attrs *attrs, const char *word);
/* Returns the attributes of an operator that states none in its file; all others are zero. */
itg_attrs itg_attrs_default(itg_op op);
/* Returns a copy with only the attributes that the operator reads; the rest is zero. */
itg_attrs itg_attrs_read_by(itg_op op, const itg_attrs *attrs);

#endif
