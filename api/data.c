/* Data, preprocessing and calibration (intaglio.h). */
#include <intaglio/intaglio.h>
#include "base/base.h"
#include "sim/evaluate.h"
#include <stdlib.h>
#include <string.h>

itg_status itg_calibrate_data(const itg_model *model, const itg_dataset *data,
                              const itg_preprocess *p, const itg_calibrate_options *options,
                              itg_stats **out, itg_error *err)
{
    const itg_calibrate_options none = ITG_CALIBRATE_OPTIONS_INIT;
    const itg_calibration_source source = {.data = data};
    if (!options) options = &none;
    itg_status status = itg_check_version("itg_calibrate_options", options->version,
                                          ITG_CALIBRATE_OPTIONS_VERSION, err);
    return status == ITG_OK ? itg_calibrate_from(model, &source, p, options, out, err) : status;
}

itg_status itg_calibrate_stream(const itg_model *model, itg_data_stream *stream,
                                const itg_preprocess *p, const itg_calibrate_options *options,
                                itg_stats **out, itg_error *err)
{
    const itg_calibration_source source = {.stream = stream};
    itg_status status = itg_check_version("itg_calibrate_options", options->version,
                                          ITG_CALIBRATE_OPTIONS_VERSION, err);
    return status == ITG_OK ? itg_calibrate_from(model, &source, p, options, out, err) : status;
}

int32_t itg_stats_count(const itg_stats *stats)
{
    return stats->value_count;
}

bool itg_stats_at(const itg_stats *stats, const itg_model *model, int32_t index,
                  itg_value_range *out)
{
    const itg_value_stats *s = &stats->values[index];
    if (!s->present) return false;
    *out = (itg_value_range){
        model->values[index].name, s->count, (double)s->min, (double)s->max, s->mean, s->variance};
    return true;
}
