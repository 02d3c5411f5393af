/* Opens models and answers queries about them (intaglio.h). */
#include <intaglio/intaglio.h>
#include "base/base.h"
#include "graph/onnx/budget.h"
#include "graph/onnx/file_read.h"
#include "kernels/float_ops.h"
#include "sim/evaluate.h"
#include <stdlib.h>
#include <string.h>

const char *itg_engine_version(void)
{
    return ITG_VERSION;
}
void itg_free(void *memory)
{
    free(memory);
}

/* Prepares source and destroys it. */
static itg_status prepare(itg_graph *source, const itg_model_options *model_options,
                          itg_model **out, itg_error *err)
{
    const itg_prepare_options options = {.eval = itg_float_eval, .model = *model_options};
    return itg_graph_prepare_last(source, &options, out, err);
}

static itg_status check_options(const itg_model_options *given, itg_model_options *out,
                                itg_error *err)
{
    *out = given ? *given : (itg_model_options)ITG_MODEL_OPTIONS_INIT;
    itg_status status =
        itg_check_version("itg_model_options", out->version, ITG_MODEL_OPTIONS_VERSION, err);
    if (status == ITG_OK && (!memchr(out->outputs, 0, sizeof out->outputs) ||
                             !memchr(out->input_shapes, 0, sizeof out->input_shapes)))
        status = itg_fail(err, ITG_BAD_ARGUMENT, "itg_model_options: a text without its end");
    return status;
}

itg_status itg_model_open(const char *path, const itg_model_options *options, itg_model **out,
                          itg_error *err)
{
    itg_graph *source = NULL;
    itg_model_options model;
    itg_status status = check_options(options, &model, err);
    if (status == ITG_OK) status = itg_onnx_import(path, model.outputs, &source, err);
    return status == ITG_OK ? prepare(source, &model, out, err) : status;
}

itg_status itg_model_open_memory(const void *data, size_t bytes, const char *name,
                                 const itg_model_options *options, itg_model **out, itg_error *err)
{
    itg_onnx_file *file = NULL;
    itg_graph *source = NULL;
    itg_model_options model;
    itg_status status = check_options(options, &model, err);
    if (status == ITG_OK)
        status = itg_onnx_file_parse(data, bytes, name, itg_budget_of(bytes), &file, err);
    if (status == ITG_OK) status = itg_onnx_import_file(file, model.outputs, &source, err);
    itg_onnx_file_destroy(file);
    return status == ITG_OK ? prepare(source, &model, out, err) : status;
}

itg_status itg_model_survey(const char *path, const itg_model_options *model, itg_refusals **out,
                            itg_error *err)
{
    itg_graph *source = NULL, *prepared = NULL;
    itg_prepare_options options = {.eval = itg_float_eval};
    itg_error why = {0};
    itg_status status = check_options(model, &options.model, err);
    if (status != ITG_OK) return status;
    itg_refusals *refusals = calloc(1, sizeof *refusals);
    if (!refusals) return itg_fail(err, ITG_NO_MEMORY, "no memory for %s", path);
    refusals->survey = *options.model.input_shapes == 0; /* otherwise the sizes are stated */
    status = itg_onnx_import_collect(path, options.model.outputs, refusals, &source, &why);
    if (status == ITG_OK) {
        status = itg_graph_prepare(source, &options, &prepared, &why);
        if (status == ITG_UNSUPPORTED)
            itg_refusals_add(refusals, "network", why.message, NULL, "", &why);
    }
    itg_graph_destroy(source);
    itg_graph_destroy(prepared);
    if (status == ITG_OK || refusals->count > 0) {
        *out = refusals;
        return ITG_OK;
    }
    itg_refusals_destroy(refusals);
    return itg_fail(err, status, "%s", why.message);
}

void itg_model_close(itg_model *model)
{
    itg_graph_destroy(model);
}

const char *itg_model_name(const itg_model *model)
{
    return model->name;
}
const unsigned char *itg_model_hash(const itg_model *model)
{
    return model->source_hash;
}
const char *itg_model_data_file(const itg_model *model, int32_t index)
{
    return index >= 0 && index < model->data_file_count ? model->data_files[index] : NULL;
}
const char *itg_model_metadata(const itg_model *model, const char *key)
{
    for (int32_t i = 0; i < model->metadata_count; i++)
        if (strcmp(model->metadata_keys[i], key) == 0) return model->metadata_values[i];
    return NULL;
}
bool itg_model_quantized(const itg_model *model)
{
    return model->quantized;
}
bool itg_model_narrowed(const itg_model *model)
{
    return model->narrowed;
}
bool itg_model_left_labels_out(const itg_model *model)
{
    return model->left_labels_out;
}
bool itg_model_dropped_softmax(const itg_model *model)
{
    return model->dropped_softmax;
}
const itg_model_options *itg_model_options_of(const itg_model *model)
{
    return &model->options;
}
int32_t itg_model_input_count(const itg_model *model)
{
    return model->input_count;
}
int32_t itg_model_output_count(const itg_model *model)
{
    return model->output_count;
}

static const itg_value *input(const itg_model *m, int32_t i)
{
    return &m->values[m->inputs[i]];
}
static const itg_value *output(const itg_model *m, int32_t i)
{
    return &m->values[m->outputs[i]];
}
const char *itg_model_input_name(const itg_model *model, int32_t index)
{
    return input(model, index)->name;
}
const itg_shape *itg_model_input_shape(const itg_model *model, int32_t index)
{
    return &input(model, index)->shape;
}
const char *itg_model_input_type(const itg_model *model, int32_t index)
{
    return itg_dtype_name(input(model, index)->dtype);
}
const char *itg_model_output_type(const itg_model *model, int32_t index)
{
    return itg_dtype_name(output(model, index)->dtype);
}
const char *itg_model_output_name(const itg_model *model, int32_t index)
{
    return output(model, index)->name;
}
const itg_shape *itg_model_output_shape(const itg_model *model, int32_t index)
{
    return &output(model, index)->shape;
}

itg_status itg_model_print(const itg_model *model, char **out, itg_error *err)
{
    itg_strbuf text = {0};
    itg_graph_print(model, &text);
    return itg_take_text(&text, out, err);
}

itg_status itg_hardware_notes_text(const itg_hardware *hw, const itg_model *model, char **out,
                                   itg_error *err)
{
    itg_strbuf text = {0};
    itg_strbuf_add(&text, "");
    itg_hardware_notes(hw, model, &text);
    return itg_take_text(&text, out, err);
}
