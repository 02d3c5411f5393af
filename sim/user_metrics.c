#include "sim/user_metrics.h"
#include "base/user_metric.h"
#include "sim/distance.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static itg_status check_one(const itg_user_metric *users, int i, bool callable, itg_error *err)
{
    const char *name = users[i].info.name;
    if (!*name) return ITG_OK;
    for (int k = 0; k < i; k++)
        if (strcmp(users[k].info.name, name) == 0)
            return itg_fail(err, ITG_BAD_ARGUMENT, "there are two metrics %s", name);
    itg_status status = itg_user_check(&users[i].info, err);
    if (status != ITG_OK || !callable || users[i].score) return status;
    return itg_fail(err, ITG_BAD_ARGUMENT,
                    "the metric %s is computed by the program that began the search; this one has "
                    "no function for it",
                    name);
}

itg_status itg_users_check(const itg_user_metric *users, bool callable, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int i = 0; users && i < ITG_USER_METRICS && status == ITG_OK; i++)
        status = check_one(users, i, callable, err);
    return status;
}

bool itg_users_any(const itg_user_metric *users)
{
    bool any = false;
    for (int i = 0; users && i < ITG_USER_METRICS; i++)
        any = any || *users[i].info.name;
    return any;
}

/* ---- outputs ---- */

itg_status itg_kept_outputs_init(itg_kept_outputs *kept, const itg_tensor *outputs, int32_t count,
                                 int64_t samples, itg_error *err)
{
    size_t elements = 0, bytes = 0;
    kept->count = count;
    kept->outputs = calloc((size_t)count + 1, sizeof *kept->outputs);
    for (int32_t i = 0; i < count; i++)
        elements += itg_tensor_bytes(&outputs[i]) / itg_dtype_size(outputs[i].dtype);
    if (itg_mul_size(elements, (size_t)samples, &bytes) &&
        itg_mul_size(bytes, sizeof *kept->values, &bytes))
        kept->values = malloc(bytes + 1);
    if (!kept->outputs || !kept->values)
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the outputs of all samples");
    float *at = kept->values;
    for (int32_t i = 0; i < count; i++) {
        itg_tensor *t = &kept->outputs[i];
        *t = (itg_tensor){ITG_F32, outputs[i].shape, at};
        if (t->shape.rank == 0) t->shape.rank = 1;
        t->shape.dims[0] = samples; /* was 1, because a program runs one sample */
        at += itg_tensor_bytes(t) / sizeof *at;
    }
    return ITG_OK;
}

void itg_kept_outputs_add(itg_kept_outputs *kept, int64_t sample, const itg_tensor *outputs,
                          const itg_quantizer *const *quantizers)
{
    for (int32_t i = 0; kept->outputs && i < kept->count; i++) {
        int64_t elements =
            (int64_t)(itg_tensor_bytes(&outputs[i]) / itg_dtype_size(outputs[i].dtype));
        float *all = kept->outputs[i].data;
        itg_copy_reals(&outputs[i], &quantizers[i], 1, all + sample * elements);
    }
}

void itg_kept_outputs_deinit(itg_kept_outputs *kept)
{
    free(kept->outputs);
    free(kept->values);
}

/* ---- scores ---- */

static itg_status ask(const itg_user_metric *user, const itg_outputs *outputs, double *out,
                      itg_error *err)
{
    double value = user->score(user->context, outputs);
    *out = isfinite(value) ? value : (double)NAN;
    if (!isfinite(value) || itg_unit_allows(user->info.unit, value)) return ITG_OK;
    return itg_fail(err, ITG_BAD_ARGUMENT, "the metric %s is %g, expected %s", user->info.name,
                    value, itg_unit_range(user->info.unit));
}

itg_status itg_users_score(const itg_user_metric *users, const itg_kept_outputs *kept,
                           const itg_dataset *labels, pthread_mutex_t *lock, double *out,
                           itg_error *err)
{
    itg_tensor wanted = {0};
    if (labels) wanted = (itg_tensor){labels->dtype, labels->shape, labels->data};
    const itg_outputs outputs = {kept->count > 0 ? kept->outputs[0].shape.dims[0] : 0, kept->count,
                                 kept->outputs, labels ? &wanted : NULL};
    itg_status status = ITG_OK;
    if (lock) pthread_mutex_lock(lock);
    for (int i = 0; i < ITG_USER_METRICS && status == ITG_OK; i++)
        if (*users[i].info.name) status = ask(&users[i], &outputs, &out[i], err);
    if (lock) pthread_mutex_unlock(lock);
    return status;
}
