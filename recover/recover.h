/* Weight codes by reconstruction: layer by layer, the codes and scales whose outputs are nearest to
 * the float network's on calibration samples, for the inputs that the integer program computes.
 *
 * Per layer, with x the inputs of the integer program (minus their mean) and t the float outputs: H
 * = sum x x', C = sum t x'. The least squares weights are V = C / H. Codes q and a scale s of a
 * channel minimize (V - s q) H (V - s q)', by coordinate descent over single codes and pairs of
 * codes, from several scales. Channels then take each other's errors into account, by what these
 * change in the network's outputs (metric.h). The bias makes the means equal. Of a classifier,
 * thresholds of activations are chosen anew before (ranges.h), and scales and biases of all layers
 * together afterwards (tune.h).
 *
 * Sources: GPTQ (Frantar 2022) for the second-order objective, QuantEase (Behdin 2023) and COMQ
 * (Zhang 2024) for coordinate descent, GPTAQ (Li 2025) and Qronos (Zhang 2025) for the float target
 * with inputs of the quantized network. It departs from them as follows: inputs are the exact codes
 * of the integer program and H is an exact integer; scales are refitted between sweeps; pairs of
 * codes move together; the error of an Add's other operand is part of the target.
 *
 * Everything is computed in exact integers, or in double in a fixed order. The codes are the same
 * on every machine and for any number of threads. */
#ifndef ITG_RECOVER_H
#define ITG_RECOVER_H
#include <intaglio/intaglio.h>
#include "base/pack.h"
#include "hardware/hardware.h"
#include "sim/sim.h"

/* Returns the samples that are used: `stated` or, if it is 0, itg_default_samples. */
int64_t itg_recover_samples(const itg_graph *g, int64_t stated);

/* Recoveries of one network on the same samples. What follows from the float network alone is
 * computed once, and serves all of them. The caller fills in the first three, and calls deinit. One
 * call at a time; data, samples and mode of the options are the same in all of them. */
typedef struct itg_recovery {
    const itg_graph *g;
    const itg_hardware *hw;
    const itg_preprocess *preprocess;
    struct itg_recover_floats *floats; /* NULL at first */
} itg_recovery;
void itg_recovery_deinit(itg_recovery *recovery);

/* Computes codes, scales and biases for the weights of every integer Conv, Gemm and MatMul with
 * constant weights. Bits do not change, and thresholds of activations only those of a classifier
 * that loses by them. A layer stays as it is if nothing better is found, or if the hardware cannot
 * run the result. ITG_RECOVER_NONE changes nothing. ITG_RECOVER_AUTO takes layers with narrow
 * weights (all layers if the network is not a classifier), and compares nothing. */
itg_status itg_recover(itg_recovery *recovery, const itg_recover_options *options,
                       itg_strategy *strategy, itg_error *err);
/* Whether it tunes scales and biases in the end: of classifiers that are small enough. */
bool itg_recover_tunes(const itg_graph *g, const itg_recover_options *options);

/* The part of it that chooses thresholds of activations, alone. *changed: whether it did; not
 * where the network is no classifier, or the hardware cannot run the strategy. */
itg_status itg_recover_ranges(itg_recovery *recovery, const itg_recover_options *options,
                              itg_strategy *strategy, bool *changed, itg_error *err);

/* A table for many strategies: codes of every layer at several widths. They are computed for the
 * inputs that layers have with `base`, which is an approximation for strategies with other
 * widths. */
typedef struct itg_recovered itg_recovered;
/* widths [edges of base]: bit b: codes of b bits are wanted, if the edge is a weight. */
itg_status itg_recover_table(itg_recovery *recovery, const itg_recover_options *options,
                             const itg_strategy *base, const uint32_t *widths, itg_recovered **out,
                             itg_error *err);
void itg_recovered_destroy(itg_recovered *table);
/* Sets the weights of a strategy to the table's codes, scales and biases for their widths.
 * Thread-safe for different strategies. */
itg_status itg_recovered_apply(const itg_recovered *table, itg_strategy *s, itg_error *err);
/* As bytes for another process that has the same graph. *out: NULL after a failure. Codes that no
 * quantizer has are found where they are used (itg_annotate). */
void itg_recovered_pack(const itg_recovered *table, itg_strbuf *out);
void itg_recovered_unpack(itg_unpacker *u, const itg_graph *g, itg_recovered **out);
#endif
