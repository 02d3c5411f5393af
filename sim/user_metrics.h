/* Metrics of the calling program (itg_user_metric): checks them, keeps outputs for them, calls
 * them. */
#ifndef ITG_USER_METRICS_H
#define ITG_USER_METRICS_H
#include "sim/sim.h"
#include <pthread.h>

/* users[ITG_USER_METRICS]. ITG_BAD_ARGUMENT: an invalid name or unit, a name twice; with `callable`
 * also a metric without a function. */
itg_status itg_users_check(const itg_user_metric *users, bool callable, itg_error *err);
bool itg_users_any(const itg_user_metric *users); /* false: NULL, or none has a name */

/* All outputs of an evaluation as float32. Zero-initialize. */
typedef struct itg_kept_outputs {
    itg_tensor *outputs; /* [count]; NULL: none are kept */
    int32_t count;
    float *values;
} itg_kept_outputs;
/* Allocates room for all samples' outputs; outputs[count]: dtype and shape of one sample. */
itg_status itg_kept_outputs_init(itg_kept_outputs *kept, const itg_tensor *outputs, int32_t count,
                                 int64_t samples, itg_error *err);
void itg_kept_outputs_add(itg_kept_outputs *kept, int64_t sample, const itg_tensor *outputs,
                          const itg_quantizer *const *quantizers);
void itg_kept_outputs_deinit(itg_kept_outputs *kept);

/* Calls every metric, one call at a time if `lock` is given. out[ITG_USER_METRICS]: NaN if the
 * answer is not finite. labels: NULL: none. */
itg_status itg_users_score(const itg_user_metric *users, const itg_kept_outputs *kept,
                           const itg_dataset *labels, pthread_mutex_t *lock, double *out,
                           itg_error *err);
#endif
