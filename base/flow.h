/* What a list of steps computes from what, and the memory that it needs: lives, bytes that several
 * tensors may share, offsets. Who computes, and what, this knows nothing of.
 *
 * A tensor that shares bytes lies within another's, its home's; a home is its own. Four ways:
 *   parts of an input   Reshape, Slice, Split where they only rename bytes: nothing is computed
 *   parts of an output  Concat of what was written into its place already
 *   in place            an elementwise step writes over an input that nobody reads afterwards
 *   behind an input     a window step writes so far behind what it still reads that they may
 * overlap In place needs a kernel that reads an element (or a run of them) of its inputs before it
 * writes the same of its outputs, and in ascending order. Only bytes of one size and of one kind,
 * integers or floats, are shared so: an element then lies where it lay, and one C type reads and
 * writes it.
 */
#ifndef ITG_FLOW_H
#define ITG_FLOW_H
#include "base/base.h"

#define ITG_FLOW_NONE (-1)          /* no tensor; what graph.h calls ITG_NONE */
#define ITG_FLOW_DEVICE_ALIGNMENT 4 /* of a buffer in a device's memory */

typedef enum itg_sharing {
    ITG_SHARING_NONE,     /* the outputs lie apart from everything that is read */
    ITG_SHARING_ELEMENTS, /* element i of an output depends on elements i of inputs of its size */
    ITG_SHARING_OUTPUTS,  /* the outputs are bytes of input 0: from `shift` on, one after another */
    ITG_SHARING_INPUTS,   /* output 0 is the inputs' bytes, one after another */
    ITG_SHARING_BEHIND    /* output 0 may lie over input 0 if it begins `shift` bytes before it */
} itg_sharing;

typedef struct itg_flow_tensor {
    itg_dtype dtype;
    uint64_t bytes;
    bool elsewhere; /* constants, the caller's memory: has no place here and shares nothing */
    bool given;     /* there before the first step, and not to be overwritten */
    bool kept;      /* read after the last step */
    /* Set by itg_flow_plan. Lives from step `first` to step `last`, both included: -1 and the
     * number of steps stand for before and after. Tensors elsewhere: home ITG_FLOW_NONE. */
    int32_t first, last;
    int32_t home;
    uint64_t within; /* its first byte in its home */
    uint64_t room;   /* bytes that a home takes with all that lies in it */
    uint64_t offset; /* within and the home's place */
} itg_flow_tensor;

typedef struct itg_flow_step {
    int32_t input_count, output_count;
    const int32_t *inputs, *outputs; /* borrowed; ITG_FLOW_NONE: left out */
    int32_t scratch;                 /* a tensor that this step alone needs; ITG_FLOW_NONE: none */
    itg_sharing sharing;
    uint64_t shift; /* ITG_SHARING_OUTPUTS, ITG_SHARING_BEHIND */
    /* Set by itg_flow_plan: the outputs' bytes are in place already, there is nothing to compute.
     */
    bool free;
} itg_flow_step;

typedef struct itg_flow {
    int32_t tensor_count, step_count;
    itg_flow_tensor *tensors;
    itg_flow_step *steps;
    uint64_t bytes; /* set by itg_flow_plan: of everything that has a place */
    uint64_t least; /* and what no other placement of the same homes goes below */
} itg_flow;

/* Rounds every home up to `alignment`, a power of two (8 where an element has 8 bytes and the
 * alignment is less); sharing does not depend on it. well: itg_place_well, else itg_place.
 * ITG_NO_MEMORY is the only failure. */
itg_status itg_flow_plan(itg_flow *flow, uint64_t alignment, itg_error *err);
/* The two halves of it. Lives and homes; live[i]: bytes of all homes that live at step i. Then
 * offsets of these homes, whose room may have changed. */
itg_status itg_flow_live(itg_flow *flow, uint64_t *live, itg_error *err);
itg_status itg_flow_place(itg_flow *flow, uint64_t alignment, itg_error *err);
/* Part of it (flow_share.c): homes, after the lives are set. live: as above, or NULL. */
itg_status itg_flow_share(itg_flow *flow, uint64_t *live, itg_error *err);
#endif
