#include "sim/errors.h"
#include "sim/distance.h"
#include <math.h>

/* ---- one function a metric ---- */

static double square(double distance)
{
    return distance * distance;
}

const itg_error_fn itg_error_of[ITG_METRIC_COUNT] = {
    [ITG_METRIC_MSE] = square,
    [ITG_METRIC_MAE] = fabs,
};

void itg_errors_add(const itg_tensor *output, const itg_quantizer *quantizer,
                    const itg_dataset *targets, int64_t sample, double *sums)
{
    const itg_tensor wanted = {targets->dtype, targets->shape, targets->data};
    int64_t count = (int64_t)(itg_tensor_bytes(output) / itg_dtype_size(output->dtype));
    for (int m = 0; m < ITG_METRIC_COUNT; m++)
        for (int64_t i = 0; itg_error_of[m] && i < count; i++)
            sums[m] += itg_error_of[m]((double)(float)itg_real_at(output, quantizer, i) -
                                       itg_real_at(&wanted, NULL, sample * count + i));
}
