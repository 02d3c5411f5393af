/* Annotated graphs made by hand, small enough to be checked by formulas that stand in the tests. */
#ifndef ITG_TEST_FIXTURE_H
#define ITG_TEST_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "kernels/requant.h"
#include "realize/program.h"
#include "tests/single.h"

#define SHAPE(...) ((itg_shape){sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), {__VA_ARGS__}})
#define LIST(...)                                                                                  \
    ((const itg_id[]){__VA_ARGS__}), (int32_t)(sizeof((itg_id[]){__VA_ARGS__}) / sizeof(itg_id))

typedef struct fixture {
    itg_graph *g;
    itg_annotated *a;
    int32_t (*choice)[8]; /* [node][slot]: encoding that the slot reads; -1: fused */
    int32_t out_choice[8];
} fixture;

fixture fx_begin(const char *name);
void fx_end(fixture *f);
itg_id fx_input(fixture *f, const char *name, itg_shape shape);
itg_id fx_constant(fixture *f, const char *name, itg_dtype dtype, itg_shape shape,
                   const void *data);
/* A node with one output, named `name`; the node is "n_name". Returns the output. */
itg_id fx_node(fixture *f, const char *name, itg_op op, const itg_id *inputs, int32_t count,
               itg_shape shape);
/* A second output of the last node. */
itg_id fx_nodes(fixture *f, const char *name, itg_op op, const itg_id *inputs, int32_t count,
                const itg_shape *shapes, int32_t outputs, itg_id *values);
itg_attrs *fx_attrs(fixture *f, itg_id value); /* of the node that makes value */
void fx_outputs(fixture *f, const itg_id *values, int32_t count);
/* After the last node and output: notes are zero, every slot reads encoding 0. */
void fx_annotate(fixture *f);
itg_node_note *fx_note(fixture *f, itg_id value, itg_form form,
                       int32_t acc_bits); /* of the node that makes value */
itg_encoding *fx_codes(fixture *f, itg_id value, itg_dtype storage, int32_t bits, float scale,
                       int32_t zero_point);
itg_encoding *fx_float(fixture *f, itg_id value);
/* Scales of a constant along an axis. */
void fx_channels(fixture *f, itg_encoding *v, int32_t axis, const float *scales, int32_t count);
/* One stage: round half up of v * multiplier / 2^shift; multiplier [count]. */
void fx_requant(fixture *f, itg_encoding *v, const int64_t *multiplier, int32_t count,
                int32_t shift);
void fx_dequant(fixture *f, itg_encoding *v, const float *factor, int32_t count);
void fx_read(fixture *f, itg_id made_by, int32_t slot, int32_t encoding);
/* Relu `relu` is fused into the node that makes `value`. */
void fx_fuse(fixture *f, itg_id value, itg_id relu);
/* Makes the edges. */
void fx_finish(fixture *f);

itg_program *fx_program(const fixture *f); /* realized, overflow not allowed */
/* By name; the test fails if there is none. fx_requant_of: of the first output. */
itg_step *fx_step(itg_program *p, const char *name);
itg_pvalue *fx_value(itg_program *p, const char *name);
itg_requant *fx_requant_of(itg_program *p, const char *name);
single *fx_instance(const itg_program *p);
void fx_run(single *instance);
/* Fills every input with numbers of a fixed sequence in [-limit, limit], each a multiple of 1/64.
 */
void fx_fill(single *instance, const itg_program *p, uint64_t seed, float limit);

/* ---- the formulas ---- */
/* floor((v * m + 2^(shift-1)) / 2^shift), written with division */
int64_t half_up(int64_t v, int64_t m, int32_t shift);
/* clamp(nearest-even(x / scale) + zero_point) of numbers that are exact in binary */
int64_t code_of(float x, const itg_quantizer *q);
int64_t limited(int64_t v, int64_t lo, int64_t hi);
#endif
