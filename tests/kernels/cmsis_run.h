/* Runs one case through the integer kernels and compares every element. */
#ifndef ITG_CMSIS_RUN_H
#define ITG_CMSIS_RUN_H
#include "cmsis_case.h"

typedef enum case_verdict { CASE_PASSED, CASE_FAILED, CASE_SKIPPED } case_verdict;
/* reason: at least 256 bytes, filled unless the case passed. */
case_verdict case_run(const cmsis_case *c, char *reason);

/* ---- for the files that hold operators ---- */
enum { REASON_BYTES = 256 };
case_verdict case_fail(char *reason, const char *format, ...) ITG_PRINTF(2, 3);
case_verdict case_skip(char *reason, const char *format, ...) ITG_PRINTF(2, 3);
/* got: as many elements as `output_ref`, in its dtype and order. */
case_verdict case_compare(const cmsis_case *c, const void *got, int64_t count, char *reason);

/* The scale of a Softmax's input, of which CMSIS-NN's multiplier and shift are 2^26 times. */
double softmax_scale(int64_t multiplier, int64_t shift);
/* CMSIS-NN's multiplier and shift as stages: doubling high multiply, then a rounding shift. */
itg_requant case_requant(int64_t multiplier, int64_t shift);
itg_requant case_requant_s64(int64_t multiplier, int64_t shift); /* reduced 16-bit multiplier */

case_verdict run_convolution(const cmsis_case *c, char *reason);
case_verdict run_transposed(const cmsis_case *c, char *reason);
case_verdict run_fully_connected(const cmsis_case *c, char *reason);
case_verdict run_elementwise(const cmsis_case *c, char *reason);
case_verdict run_extreme(const cmsis_case *c, char *reason); /* maximum, minimum */
case_verdict run_pool(const cmsis_case *c, char *reason);
case_verdict run_pad(const cmsis_case *c, char *reason);
/* Rows of `input` as codes of Softmax in the dtype of output_ref, compared. scale: of the input. */
case_verdict run_softmax(const cmsis_case *c, const case_array *input, int64_t rows,
                         int64_t row_size, double scale, char *reason);
case_verdict run_network(const cmsis_case *c, char *reason);
typedef enum layer_kind { LAYER_CONV, LAYER_DEPTHWISE, LAYER_FULLY_CONNECTED } layer_kind;
/* A layer, which c's prefixes name, of a network of int8 codes; zero: of its outputs, `count` of
 * which are in new memory. NULL: it cannot be run. */
void *layer_codes(const cmsis_case *c, layer_kind kind, const case_array *input, int64_t zero,
                  int64_t *count);
case_verdict run_transpose(const cmsis_case *c, char *reason);

/* [d0][d1][d2] elements of any dtype, moved to [d0][d2][d1]: NHWC <-> NCHW of one image and the
 * like. New memory. */
void *swap_inner(itg_dtype dtype, const void *data, int64_t d0, int64_t d1, int64_t d2);
#endif
