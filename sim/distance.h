/* The distance of outputs from the float network's: the distortion of a score (docs/decisions.md).
 *
 * For one output: the sum of squared differences over all samples and elements, divided by the sum
 * of the float network's squares. For an output that is integers in the float network (ArgMax): the
 * share of its elements that differ. An output for which the float network gives only zeros counts
 * 0 if all are equal, else 1. For several outputs: the mean, so that each counts alike, whatever
 * its scale and size. Sums are added in sample order, so distortion never falls as samples are
 * added, not even by rounding. */
#ifndef ITG_DISTANCE_H
#define ITG_DISTANCE_H
#include "sim/backend.h"

#define ITG_MAX_REFERENCE_BYTES ((size_t)64 << 20)

/* The float network's outputs: all outputs of one sample one after another, samples in order. */
typedef struct itg_reference {
    int64_t samples, elements; /* elements: of one sample; 0: empty */
    int32_t output_count;
    double *power; /* [output_count]: what distances are divided by */
    float *values; /* NULL: they are more than ITG_MAX_REFERENCE_BYTES, and backend computes them
                      again */
    itg_backend backend; /* computed them; what it runs must outlive the reference */
} itg_reference;
void itg_reference_deinit(itg_reference *reference);

/* Returns an element as a real number. quantizer: of one scale; NULL: the element itself. */
double itg_real_at(const itg_tensor *t, const itg_quantizer *quantizer, int64_t i);
/* Returns the elements of a sample's outputs if all are float32, quantized in one scale or plain
 * integers; else 0: they cannot be compared. quantizers[i] NULL: not quantized. */
int64_t itg_real_elements(const itg_tensor *outputs, const itg_quantizer *const *quantizers,
                          int32_t output_count);
/* Allocates a reference for the outputs of that many samples. */
itg_status itg_reference_init(const itg_backend *backend, int64_t samples, int64_t elements,
                              itg_reference *out, itg_error *err);
/* Adds the outputs of one more sample, in order. */
void itg_reference_add(itg_reference *reference, int64_t sample, const itg_tensor *outputs,
                       const itg_quantizer *const *quantizers);
/* Empties a reference that has an element which is not finite. */
void itg_reference_finish(itg_reference *reference);

/* Sets out[output_count] to the sums of one sample's outputs. wanted: the reference's floats of the
 * sample. */
void itg_distances(const itg_reference *reference, const float *wanted, const itg_tensor *outputs,
                   const itg_quantizer *const *quantizers, double *out);
/* Copies outputs as float32, one after another. */
void itg_copy_reals(const itg_tensor *outputs, const itg_quantizer *const *quantizers,
                    int32_t output_count, float *out);
/* Returns the distortion by sums[output_count] over all samples; over only the first ones it is a
 * lower bound. It is not finite if an output is not. */
double itg_distortion_of(const itg_reference *reference, const double *sums);
/* Returns the distortion of one output. */
double itg_output_distortion(const itg_reference *reference, const double *sums, int32_t output);
#endif
