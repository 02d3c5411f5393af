/* QDQ models (intaglio.h), with metadata about their origin. */
#include "api/origin.h"

itg_status itg_emit_qdq(const itg_annotated *annotated, const itg_model *model,
                        const itg_strategy_file *file, const char *path, itg_qdq_report **out,
                        itg_error *err)
{
    itg_origin origin;
    itg_status status = itg_origin_make(model, file, &origin, err);
    if (status != ITG_OK) return status;
    const itg_qdq_options options = {.metadata = origin.metadata,
                                     .metadata_count = ITG_ORIGIN_COUNT,
                                     .any_batch = model->rebatched};
    status = itg_qdq_write(annotated, &options, path, out, err);
    itg_origin_deinit(&origin);
    return status;
}
