/* The tensors that a list of steps reads and writes, and the memory that they need: lives, bytes
 * that several tensors may share, offsets. It does not know what the steps compute.
 *
 * A tensor that shares bytes lies within another one, its home; any other is its own home:
 *   parts of an input   Reshape, Slice, Split that only rename bytes: nothing is computed
 *   parts of an output  Concat of inputs that were written into their places
 *   in place            an elementwise step writes over an input that is not read afterwards
 *   behind an input     a window step writes so far behind what it still reads that both may
 * overlap In place requires a kernel that reads an element (or a run of them) of its inputs before
 * it writes the same of its outputs, in ascending order. It requires elements of the same size and
 * kind, integers or floats, so that one C type reads and writes each element. */
#ifndef ITG_FLOW_H
#define ITG_FLOW_H
#include "base/base.h"

#define ITG_FLOW_NONE (-1)          /* no tensor; equals ITG_NONE of graph.h */
#define ITG_FLOW_DEVICE_ALIGNMENT 4 /* of a buffer in a device's memory */

typedef enum itg_sharing {
    ITG_SHARING_NONE,     /* the outputs share nothing with what is read */
    ITG_SHARING_ELEMENTS, /* element i of an output depends on elements i of inputs of its size */
    ITG_SHARING_OUTPUTS,  /* outputs are the bytes of input 0 from `shift` on, one after another */
    ITG_SHARING_INPUTS,   /* output 0 is the inputs' bytes, one after another */
    ITG_SHARING_BEHIND    /* output 0 may overlap input 0 if it begins `shift` bytes before it */
} itg_sharing;

typedef struct itg_flow_tensor {
    itg_dtype dtype;
    uint64_t bytes;
    bool elsewhere; /* constants, the caller's memory: not placed, shares nothing */
    bool given;     /* exists before the first step and must not be overwritten */
    bool kept;      /* read after the last step */
    /* Set by itg_flow_plan. Lives from step `first` to step `last`, both included: -1 and the
     * number of steps stand for before and after. Tensors elsewhere: home ITG_FLOW_NONE. */
    int32_t first, last;
    int32_t home;
    uint64_t within; /* its first byte in its home */
    uint64_t room;   /* bytes of a home and of everything in it */
    uint64_t offset; /* `within` plus the offset of the home */
} itg_flow_tensor;

typedef struct itg_flow_step {
    int32_t input_count, output_count;
    const int32_t *inputs, *outputs; /* borrowed; ITG_FLOW_NONE: left out */
    int32_t scratch;                 /* a tensor that only this step needs; ITG_FLOW_NONE: none */
    itg_sharing sharing;
    uint64_t shift; /* ITG_SHARING_OUTPUTS, ITG_SHARING_BEHIND */
    /* Set by itg_flow_plan: the outputs' bytes are in place, so nothing is computed. */
    bool free;
} itg_flow_step;

typedef struct itg_flow {
    int32_t tensor_count, step_count;
    itg_flow_tensor *tensors;
    itg_flow_step *steps;
    uint64_t bytes; /* set by itg_flow_plan: the size of the arena */
    uint64_t least; /* a lower bound for every placement of the same homes */
} itg_flow;

/* Rounds every home up to `alignment`, a power of two (8 where an element has 8 bytes and the
 * alignment is less); sharing does not depend on it. ITG_NO_MEMORY is the only failure. */
itg_status itg_flow_plan(itg_flow *flow, uint64_t alignment, itg_error *err);
/* The two steps of itg_flow_plan. itg_flow_live finds lives and homes; live[i]: bytes of all homes
 * that live at step i. itg_flow_place places the homes, whose sizes may have been changed. */
itg_status itg_flow_live(itg_flow *flow, uint64_t *live, itg_error *err);
itg_status itg_flow_place(itg_flow *flow, uint64_t alignment, itg_error *err);
/* The part of itg_flow_live that finds homes after lives (flow_share.c). live: as above, or
 * NULL. */
itg_status itg_flow_share(itg_flow *flow, uint64_t *live, itg_error *err);
#endif
