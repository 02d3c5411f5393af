/* What the public interface shows of data, preprocessing and strategies as text (intaglio.h). */
#include "sim/strategy_file.h"
#include "sim/model.h"
#include <string.h>

const unsigned char *itg_data_hash(const itg_dataset *data)
{
    return data->hash;
}

/* Hands the builder's memory, which is malloc's, to the caller. */
static itg_status take_text(itg_strbuf *text, char **out, itg_error *err)
{
    if (!itg_strbuf_ok(text) || !text->text) {
        itg_strbuf_deinit(text);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for text");
    }
    *out = text->text;
    return ITG_OK;
}

itg_status itg_preprocess_text(const itg_preprocess *p, char **out, itg_error *err)
{
    itg_strbuf text = {0};
    itg_preprocess_write(p, &text);
    return take_text(&text, out, err);
}

itg_status itg_preprocess_from_text(const char *text, const char *source, itg_preprocess *out,
                                    itg_error *err)
{
    itg_json *json = NULL;
    itg_status status = itg_json_parse(text, strlen(text), source, &json, err);
    if (status == ITG_OK) status = itg_preprocess_read(json, itg_json_root(json), out, err);
    itg_json_destroy(json);
    return status;
}

itg_status itg_strategy_text(const itg_strategy_file *file, const itg_model *model, char **out,
                             itg_error *err)
{
    itg_strbuf text = {0};
    itg_status status = itg_strategy_file_text(file, model->graph, &text, err);
    if (status == ITG_OK) return take_text(&text, out, err);
    itg_strbuf_deinit(&text);
    return status;
}
