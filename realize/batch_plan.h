/* Private to realize/: plans, batches and their kernels. */
#ifndef ITG_BATCH_PLAN_H
#define ITG_BATCH_PLAN_H
#include "kernels/block_ops.h"
#include "realize/batch.h"
#include "realize/geometry.h"

/* The layout of each sample of a value: logical order, or channels (dim 1) last. If both are the
 * same order of bytes, it is PLAIN. */
typedef enum itg_layout { ITG_PLAIN, ITG_CHANNELS_LAST, ITG_LAYOUT_COUNT } itg_layout;

/* A value in one layout. Place number: value * ITG_LAYOUT_COUNT + layout. */
typedef struct itg_batch_place {
    bool used;
    int32_t first, last; /* operations; from -1: inputs; to operation_count: outputs */
    bool inner;          /* of a section: there is memory for one part */
    int64_t samples;     /* that there is memory for */
    size_t offset;
} itg_batch_place;

/* Operations [first, end), which run on `part` samples at a time (batch_section.c). */
typedef struct itg_batch_section {
    int32_t first, end;
    int64_t part;
} itg_batch_section;

typedef struct itg_batch_kernel itg_batch_kernel;

/* A step, or (step NULL) `value` in another place (batch_convert.c). */
typedef struct itg_batch_operation {
    const itg_batch_kernel *kernel;
    const itg_step *step;
    int32_t value;
    int32_t input_count, output_count;
    int32_t *inputs, *outputs;     /* places; ITG_NONE: constant or left out */
    itg_accel_layer **layers;      /* CONV, MATMUL: one for every ITG_ACCEL_OUTPUTS outputs */
    const itg_block_element *fast; /* BINARY, CLIP; NULL: none */
    bool exchanged;                /* BINARY: the operands are exchanged */
    const void *constant[2];       /* BINARY, fast: a constant, expanded to a sample; or NULL */
    bool expands[2];               /* BINARY, fast: the operand is expanded in each run */
    const float **numbers;         /* FLOAT: [inputs]: those of constant codes, else NULL */
    double cost;                   /* of a sample, in multiplications */
    const itg_batch_section *section;
    size_t scratch_bytes, scratch_offset;
} itg_batch_operation;

struct itg_batch_plan {
    const itg_program *program;
    const itg_accel_kernels *kernels;
    itg_cache *weights;
    itg_arena *arena;
    itg_error *err; /* of the call that creates it */
    int64_t block;
    size_t part_bytes;       /* of a value in a part */
    itg_key *keys;           /* [value] */
    itg_batch_place *places; /* [value * ITG_LAYOUT_COUNT] */
    itg_batch_operation *operations;
    int32_t operation_count;
    itg_batch_section *sections;
    int32_t section_count;
    const void **borrowed; /* from weights */
    int32_t borrowed_count;
    size_t bytes;
};

/* The layout that a kernel needs. SAME: the layout of its first computed input, if `lasts` allows
 * it. SOURCE: plain inputs, and outputs in the layout of their readers. */
typedef enum itg_batch_wish {
    ITG_WISH_PLAIN,
    ITG_WISH_LAST,
    ITG_WISH_SAME,
    ITG_WISH_SOURCE
} itg_batch_wish;

struct itg_batch_kernel {
    const char *name;
    itg_batch_wish wish;
    bool single; /* run takes one sample, with operands in logical order */
    bool loads;  /* a constant first operand must lie in a place, as a computed one */
    bool (*takes)(const itg_batch_plan *plan, const itg_step *s); /* NULL: all of its kind */
    /* Whether the operands may have channels last; NULL: yes. */
    bool (*lasts)(const itg_batch_plan *plan, const itg_step *s);
    /* Prepares scratch and layers, after all operands are placed. NULL: nothing to do. */
    itg_status (*prepare)(itg_batch_plan *plan, itg_batch_operation *o);
    /* Computes `count` samples from batch->sample on. */
    itg_status (*run)(itg_batch *batch, const itg_batch_operation *o, int64_t count);
};

struct itg_batch {
    const itg_batch_plan *plan;
    itg_error *err; /* of the current run */
    int64_t sample; /* the first that a kernel runs on */
    int64_t part;   /* the first of the part that runs */
    /* Room for the operands of the step that has the most. */
    itg_tensor *inputs, *outputs;
    itg_epilogue *epilogues;
    float *scales;
    void *allocation;
    unsigned char *memory;
    void **where;           /* [place]: memory of this run */
    const void **held;      /* [place]: in activations, until the next run */
    bool *needed;           /* [place] */
    double *costs;          /* [place]: of computing it again */
    bool *runs;             /* [operation] */
    itg_cache *activations; /* the cache of what is held */
    itg_batch_counts counts;
};

/* ---- values ---- */
static inline const itg_pvalue *itg_place_value(const itg_batch_plan *plan, int32_t place)
{
    return &plan->program->values[place / ITG_LAYOUT_COUNT];
}
static inline bool itg_place_is_last(int32_t place)
{
    return place % ITG_LAYOUT_COUNT == ITG_CHANNELS_LAST;
}
/* Whether the layouts of a value differ. */
bool itg_value_has_layouts(const itg_pvalue *v);
static inline int64_t itg_value_channels(const itg_pvalue *v)
{
    return v->shape.dims[1];
}
/* Dims in memory order: [1,H,W,C] for [1,C,H,W] with channels last. */
itg_shape itg_place_shape(const itg_batch_plan *plan, int32_t place);

/* Divides the operations into sections, and sets lives and samples of places. */
itg_status itg_batch_divide(itg_batch_plan *plan);

/* ---- the kernels' view of a batch ---- */
/* Sample batch->sample of a place. */
void *itg_batch_data(const itg_batch *batch, int32_t place);
/* Operand `slot`: a place of the batch, or a constant. */
itg_int_operand itg_batch_operand(const itg_batch *batch, const itg_batch_operation *o,
                                  int32_t slot);
itg_epilogue itg_batch_epilogue(const itg_batch *batch, const itg_batch_operation *o, int32_t out);
/* The same with `out` NULL. */
itg_epilogue itg_batch_epilogue_of(const itg_batch_plan *plan, const itg_batch_operation *o,
                                   int32_t out);
static inline void *itg_batch_scratch(const itg_batch *batch, const itg_batch_operation *o)
{
    return batch->memory + o->scratch_offset;
}

/* ---- the kernels ---- */
extern const itg_batch_kernel itg_batch_load, itg_batch_convert; /* batch_convert.c */
extern const itg_batch_kernel itg_batch_conv, itg_batch_matmul, itg_batch_product; /* batch_mac.c */
extern const itg_batch_kernel itg_batch_quantize, itg_batch_dequantize, itg_batch_clip,
    itg_batch_lut;                                                         /* batch_element.c */
extern const itg_batch_kernel itg_batch_binary, itg_batch_binary_single;   /* batch_binary.c */
extern const itg_batch_kernel itg_batch_mean, itg_batch_max;               /* batch_pool.c */
extern const itg_batch_kernel itg_batch_reduce_mean, itg_batch_reduce_max; /* batch_reduce.c */
extern const itg_batch_kernel itg_batch_move, itg_batch_move_single,
    itg_batch_float; /* batch_move.c */
extern const itg_batch_kernel itg_batch_softmax, itg_batch_tflite_softmax,
    itg_batch_layer_norm; /* batch_norm.c */
/* The epilogue of a mean over `divisor` elements: e with the constants of that divisor. */
itg_epilogue itg_batch_mean_epilogue(itg_epilogue e, int64_t divisor);

/* ---- parts of itg_batch_plan_create ---- */
itg_status itg_batch_lay_out(itg_batch_plan *plan); /* batch_layout.c */
itg_status itg_batch_keys(itg_batch_plan *plan);    /* batch_key.c */
#endif
