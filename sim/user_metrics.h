/* Metrics that the calling program brings (itg_user_metric): checked, given their outputs, asked.
 */
#ifndef ITG_USER_METRICS_H
#define ITG_USER_METRICS_H
#include "sim/sim.h"
#include <pthread.h>

/* users[ITG_USER_METRICS]. ITG_BAD_ARGUMENT: a name or a unit that is none, a name twice; with
 * `callable` a metric without function too. */
itg_status itg_users_check(const itg_user_metric *users, bool callable, itg_error *err);
bool itg_users_any(const itg_user_metric *users); /* false: NULL, or none has a name */

/* All outputs of an evaluation as float32. Zero-initialize. */
typedef struct itg_kept_outputs {
    itg_tensor *outputs; /* [count]; NULL: none are kept */
    int32_t count;
    float *values;
} itg_kept_outputs;
/* Room for the outputs of so many samples; of outputs[count], dtype and shape of one sample. */
itg_status itg_kept_outputs_init(itg_kept_outputs *kept, const itg_tensor *outputs, int32_t count,
                                 int64_t samples, itg_error *err);
void itg_kept_outputs_add(itg_kept_outputs *kept, int64_t sample, const itg_tensor *outputs,
                          const itg_quantizer *const *quantizers);
void itg_kept_outputs_deinit(itg_kept_outputs *kept);

/* Asks every metric, one call at a time where `lock` is given; out[ITG_USER_METRICS]: NaN, where
 * the answer is no finite number. labels: NULL: none. */
itg_status itg_users_score(const itg_user_metric *users, const itg_kept_outputs *kept,
                           const itg_dataset *labels, pthread_mutex_t *lock, double *out,
                           itg_error *err);
#endif
