#include "api/origin.h"
#include <string.h>

itg_status itg_origin_make(const itg_graph *model, const itg_strategy_file *file, itg_origin *out,
                           itg_error *err)
{
    unsigned char hash[32];
    itg_status status = itg_strategy_file_hash(file, model, hash, err);
    if (status != ITG_OK) return status;
    out->preprocess = (itg_strbuf){0};
    itg_sha256_hex(model->source_hash, out->model_hash);
    itg_sha256_hex(file->strategy->graph_hash, out->graph_hash);
    itg_sha256_hex(hash, out->strategy_hash);
    itg_preprocess_write(&file->preprocess, &out->preprocess);
    const itg_metadata metadata[ITG_ORIGIN_COUNT] = {
        {ITG_PREPROCESS_KEY, out->preprocess.text},     {"intaglio.engine", ITG_VERSION},
        {"intaglio.model_hash", out->model_hash},       {"intaglio.graph_hash", out->graph_hash},
        {"intaglio.strategy_hash", out->strategy_hash}, {ITG_HARDWARE_KEY, file->hardware->json}};
    memcpy(out->metadata, metadata, sizeof metadata);
    if (itg_strbuf_ok(&out->preprocess)) return ITG_OK;
    itg_origin_deinit(out);
    return itg_fail(err, ITG_NO_MEMORY, "no memory for the file's metadata");
}

void itg_origin_deinit(itg_origin *origin)
{
    itg_strbuf_deinit(&origin->preprocess);
}
