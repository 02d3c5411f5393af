/* Small networks made by hand on made-up chips, strategies set edge by edge, and what comes of
 * them. */
#ifndef ITG_TEST_SIM_CASE_H
#define ITG_TEST_SIM_CASE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "sim/sim.h"

typedef struct sim_case {
    itg_graph *g;
    itg_hardware *hw;
    itg_strategy *s;
    itg_annotated *a;
    itg_sim *sim;
} sim_case;

/* ---- networks: shapes as text ("1,4"), nodes and their first output share a name ---- */
itg_graph *net_new(void);
itg_id net_input(itg_graph *g, const char *name, const char *shape);
itg_id net_constant(itg_graph *g, const char *name, const char *shape, const float *data);
itg_id net_indices(itg_graph *g, const char *name, const char *shape, const int64_t *data);
itg_id net_node(itg_graph *g, const char *name, itg_op op,
                const itg_attrs *attrs /* NULL: default */, int32_t count, const itg_id *inputs);
#define NODE(g, name, op, attrs, ...)                                                              \
    net_node(g, name, op, attrs, (int32_t)(sizeof((itg_id[]){__VA_ARGS__}) / sizeof(itg_id)),      \
             (itg_id[]){__VA_ARGS__})
/* x times the transpose of w [n,k], plus bias [n] (or ITG_NONE); the weights are called "<name>.w"
 */
itg_id net_gemm(itg_graph *g, const char *name, itg_id x, const char *shape, const float *w,
                itg_id bias);
void net_end(itg_graph *g, int32_t inputs, const itg_id *input, int32_t outputs,
             const itg_id *output);
#define OUTPUTS(g, input, ...)                                                                     \
    net_end(g, 1, &(input), (int32_t)(sizeof((itg_id[]){__VA_ARGS__}) / sizeof(itg_id)),           \
            (itg_id[]){__VA_ARGS__})

/* ---- chips: members of the description as text, with ' for "; `head` ends in a comma or is empty
 * ---- */
itg_hardware *chip(const char *head, const char *dtypes, const char *requants,
                   const char *operators);

/* ---- cases: take over graph and hardware; topology as the hardware says, no edge has bits ---- */
sim_case case_new(itg_graph *g, itg_hardware *hw);
void case_end(sim_case *c);
/* Index of an edge by its consumer's name (NULL: graph output), counted here, not by annotate. */
int32_t case_edge(const sim_case *c, const char *node, int32_t slot);
void set_range(sim_case *c, const char *node, int32_t slot, int32_t bits, double lo, double hi);
void set_weights(sim_case *c, const char *node, int32_t bits, int32_t count, const double *t);
/* The same range and widths on every edge of the choice space, max |w| of each channel: a start. */
void set_all(sim_case *c, int32_t weight_bits, int32_t bits, double lo, double hi,
             bool per_channel);
void annotated(sim_case *c);
void refused(sim_case *c, itg_status code, const char *message);
/* The encoding that an edge reads; NULL for a fused edge. */
const itg_encoding *encoding_at(const sim_case *c, const char *node, int32_t slot);
const itg_node_note *note_of(const sim_case *c, const char *node);
/* Runs one sample through the annotated graph. */
void run(sim_case *c, const float *x);
int64_t output_code(const sim_case *c, int32_t output, int64_t index);
float output_real(const sim_case *c, int32_t output, int64_t index);

/* ---- formulas of docs/arithmetic.md, written again ---- */
int64_t code_of(float x, float scale, int64_t zero, int64_t lo, int64_t hi);  /* 2.2, codes */
int64_t f32_code(int64_t acc, float c, int64_t zero, int64_t lo, int64_t hi); /* 4, f32 */
int64_t limited(int64_t v, int64_t lo, int64_t hi);
double random_real(itg_rng *rng, double lo, double hi);
#endif
