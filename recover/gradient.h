/* Gradients of the float network: how its outputs' likelihood changes with each value. The order of
 * all operations is fixed, so the result is the same on every machine. Private to recover/. */
#ifndef ITG_RECOVER_GRADIENT_H
#define ITG_RECOVER_GRADIENT_H
#include "graph/graph.h"
#include "sim/feed.h"

/* Bytes of a run's values and gradients; saturates. */
int64_t itg_gradient_bytes(const itg_graph *g);

/* What is common to all samples. inputs: the gradients of the graph's inputs are wanted, too. */
typedef struct itg_gradient_plan itg_gradient_plan;
itg_status itg_gradient_plan_create(const itg_graph *g, bool inputs, itg_gradient_plan **out,
                                    itg_error *err);
void itg_gradient_plan_destroy(itg_gradient_plan *plan);
/* Rounds values to grids [values], NULL where there is none. Gradients go through the rounding as
 * if it were not there, but not through clipping (the straight-through estimator: Bengio 2013).
 * grids must outlive the plan. */
void itg_gradient_plan_round(itg_gradient_plan *plan, const itg_quantizer *const *grids);
/* Whether the gradient of a value is known: every way from it to the outputs leads over operators
 * that have a rule. */
bool itg_gradient_is_known(const itg_gradient_plan *plan, itg_id value);

/* Values and gradients of one sample; one for each worker. */
typedef struct itg_gradient_run itg_gradient_run;
itg_status itg_gradient_run_create(const itg_gradient_plan *plan, itg_gradient_run **out,
                                   itg_error *err);
void itg_gradient_run_destroy(itg_gradient_run *run);
/* Runs the network on a sample, draws what its outputs could say, and computes the gradients of the
 * logarithm of that likelihood. A classifier's output is drawn by its probabilities; others are
 * taken to be normally distributed with variance 1, and drawn to be 1 or -1 from what they are. */
itg_status itg_gradient_run_sample(itg_gradient_run *run, const itg_feed *feed, int64_t sample,
                                   itg_error *err);
/* The two parts of it: runs the network; and computes the gradients from that of the first output,
 * those of other outputs being 0. The second may be called more than once. */
itg_status itg_gradient_run_forward(itg_gradient_run *run, const itg_feed *feed, int64_t sample,
                                    itg_error *err);
itg_status itg_gradient_run_backward(itg_gradient_run *run, const float *output, itg_error *err);
/* A value that is no constant, of dtype f32. */
const float *itg_gradient_value(const itg_gradient_run *run, itg_id value);
/* The probabilities of a classifier's outputs, [n]. */
void itg_gradient_softmax(const float *logits, int64_t n, double *out);
/* The gradient of a known value, with its elements. */
const float *itg_gradient_of(const itg_gradient_run *run, itg_id value);
#endif
