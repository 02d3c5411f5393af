/* The public interface of QDQ models (intaglio.h): metadata that says where a model comes from. */
#include "search/evaluator.h"
#include "realize/realize.h"

itg_status itg_emit_qdq(const itg_annotated *annotated, const itg_model *model,
                        const itg_strategy_file *file, const char *path, itg_qdq_report **out,
                        itg_error *err)
{
    itg_strbuf preprocess = {0};
    char model_hash[65], graph_hash[65], strategy[65];
    unsigned char hash[32];
    itg_status status = itg_strategy_file_hash(file, model->graph, hash, err);
    if (status != ITG_OK) return status;
    itg_sha256_hex(hash, strategy);
    itg_sha256_hex(model->graph->source_hash, model_hash);
    itg_sha256_hex(file->strategy->graph_hash, graph_hash);
    itg_preprocess_write(&file->preprocess, &preprocess);
    if (!itg_strbuf_ok(&preprocess))
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for the model's metadata");
    itg_metadata metadata[] = {{"intaglio.engine", ITG_VERSION},
                               {"intaglio.model_hash", model_hash},
                               {"intaglio.graph_hash", graph_hash},
                               {"intaglio.strategy_hash", strategy},
                               {"intaglio.preprocessing", preprocess.text},
                               {"intaglio.hardware", file->hardware->json}};
    itg_qdq_options options = {.metadata = metadata,
                               .metadata_count = sizeof metadata / sizeof *metadata,
                               .any_batch = model->graph->rebatched};
    if (status == ITG_OK) status = itg_qdq_write(annotated, &options, path, out, err);
    itg_strbuf_deinit(&preprocess);
    return status;
}
