/* How far outputs lie from the float network's: the distortion of a score (docs/decisions.md).
 *
 * Of one output: the sum of squared differences over all samples and elements, as a share of the
 * sum of the float network's squares. Of an output that is integers in the float network (ArgMax):
 * the share of its elements that differ. An output of which the float network gives zeros alone
 * counts 0 where all are equal, else 1. Of several outputs: the mean, so each counts alike,
 * whatever its scale and its size. Sums go in sample order; so distortion never falls as samples
 * are added, in floating point neither. */
#ifndef ITG_DISTANCE_H
#define ITG_DISTANCE_H
#include "sim/backend.h"

#define ITG_MAX_REFERENCE_BYTES ((size_t)64 << 20)

/* What the float network gives: all outputs of one sample after another, samples in order. */
typedef struct itg_reference {
    int64_t samples, elements; /* elements: of one sample; 0: empty */
    int32_t output_count;
    double *power; /* [output_count]: what the distances of an output are a share of */
    float *values; /* NULL: they are more than ITG_MAX_REFERENCE_BYTES, and backend computes them
                      again */
    itg_backend backend; /* that gave them; what it runs must outlive the reference */
} itg_reference;
void itg_reference_deinit(itg_reference *reference);

/* An element as a real number; quantizer (of one scale) NULL: as it is. */
double itg_real_at(const itg_tensor *t, const itg_quantizer *quantizer, int64_t i);
/* Elements of a sample's outputs, where all are float32, quantized in one scale or plain integers;
 * else 0: they cannot be compared. quantizers[i] NULL: not quantized. */
int64_t itg_real_elements(const itg_tensor *outputs, const itg_quantizer *const *quantizers,
                          int32_t output_count);
/* Room for the outputs of so many samples. */
itg_status itg_reference_init(const itg_backend *backend, int64_t samples, int64_t elements,
                              itg_reference *out, itg_error *err);
/* The outputs of one more sample, in order. */
void itg_reference_add(itg_reference *reference, int64_t sample, const itg_tensor *outputs,
                       const itg_quantizer *const *quantizers);
/* No reference that holds what is not finite. */
void itg_reference_finish(itg_reference *reference);

/* The sums of one sample's outputs from those of the reference, into out[output_count]. wanted:
 * elements floats. */
void itg_distances(const itg_reference *reference, const float *wanted, const itg_tensor *outputs,
                   const itg_quantizer *const *quantizers, double *out);
/* Outputs as float32, one after another. */
void itg_copy_reals(const itg_tensor *outputs, const itg_quantizer *const *quantizers,
                    int32_t output_count, float *out);
/* sums[output_count], over all samples (or the first ones: the least that it can be); not finite:
 * some output is not. */
double itg_distortion_of(const itg_reference *reference, const double *sums);
/* Of one output alone. */
double itg_output_distortion(const itg_reference *reference, const double *sums, int32_t output);
#endif
