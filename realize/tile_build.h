/* A program made of another's values and steps. Private to tile*.c. */
#ifndef ITG_TILE_BUILD_H
#define ITG_TILE_BUILD_H
#include "graph/names.h"
#include "realize/tile.h"

/* The first failure stays in `status`; every later call does nothing. */
typedef struct itg_tiler {
    const itg_program *p;
    itg_program *q;
    int32_t *whole; /* [values of p]: in q, or ITG_NONE */
    itg_names names;
    itg_error *err;
    itg_status status;
} itg_tiler;

/* Begins q with the inputs and constants of p. */
itg_status itg_tiler_begin(itg_tiler *t, const itg_program *p, itg_error *err);
/* Ends it with the outputs, and gives it to *out if all went well. */
itg_status itg_tiler_end(itg_tiler *t, itg_program **out);
/* Zeroed; failed without memory. */
void *itg_tiler_array(itg_tiler *t, int64_t count, size_t size);
/* Adds a value like one of p with this shape, named "NAME/part3". Returns it, or ITG_NONE. */
int32_t itg_tiler_part(itg_tiler *t, int32_t like, const itg_shape *shape, int32_t number);
/* Adds a step like one of p, without operands. NULL: failed. */
itg_step *itg_tiler_step(itg_tiler *t, const itg_step *like);
/* Adds a copy of a step of p, and its outputs. */
void itg_tiler_copy(itg_tiler *t, const itg_step *step);
/* Adds the outputs of a step of p alone. */
void itg_tiler_outputs(itg_tiler *t, const itg_step *step);
/* Adds a step that moves codes for `of`. NULL: failed. */
itg_step *itg_tiler_move(itg_tiler *t, itg_op op, const itg_step *of, int32_t inputs);
/* Adds a Slice [start, start + extent of `to`) of an axis. */
void itg_tiler_slice(itg_tiler *t, const itg_step *of, int32_t axis, int64_t start, int32_t from,
                     int32_t to);
#endif
