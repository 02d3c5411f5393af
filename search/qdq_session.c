/* The public interface of QDQ models (intaglio.h): metadata that says where a model comes from. */
#include "search/evaluator.h"
#include "realize/realize.h"
#include <string.h>

/* SHA-256 of the strategy file as it is saved. */
static itg_status strategy_hash(const itg_strategy_file *file, const itg_model *model, char out[65],
                                itg_error *err)
{
    char *text = NULL;
    itg_sha256 hash;
    unsigned char digest[32];
    itg_status status = itg_strategy_text(file, model, &text, err);
    if (status != ITG_OK) return status;
    itg_sha256_init(&hash);
    itg_sha256_update(&hash, text, strlen(text));
    itg_sha256_final(&hash, digest);
    itg_sha256_hex(digest, out);
    itg_free(text);
    return ITG_OK;
}

itg_status itg_emit_qdq(const itg_annotated *annotated, const itg_model *model,
                        const itg_strategy_file *file, const char *path, itg_qdq_report **out,
                        itg_error *err)
{
    itg_strbuf preprocess = {0};
    char model_hash[65], graph_hash[65], strategy[65];
    itg_status status = strategy_hash(file, model, strategy, err);
    if (status != ITG_OK) return status;
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
