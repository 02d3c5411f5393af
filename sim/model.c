/* Opening models, and what the hardware makes of them (intaglio.h). */
#include "sim/model.h"
#include "graph/onnx/file_read.h"
#include "sim/evaluate.h"
#include "kernels/float_ops.h"
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

itg_status itg_model_open(const char *path, itg_model **out, itg_error *err)
{
    const itg_model_options options = {0};
    return itg_model_open_with(path, &options, out, err);
}

itg_status itg_model_open_with(const char *path, const itg_model_options *model_options,
                               itg_model **out, itg_error *err)
{
    itg_graph *source = NULL, *prepared = NULL;
    itg_prepare_options options = {.eval = itg_float_eval,
                                   .no_equalize = model_options->no_equalize};
    itg_status status = itg_onnx_import(path, &source, err);
    if (status == ITG_OK) status = itg_graph_prepare(source, &options, &prepared, err);
    itg_graph_destroy(source);
    if (status != ITG_OK) return status;
    itg_model *model = malloc(sizeof *model);
    if (!model) {
        itg_graph_destroy(prepared);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for %s", path);
    }
    model->graph = prepared;
    *out = model;
    return ITG_OK;
}

itg_status itg_model_survey(const char *path, itg_refusals **out, itg_error *err)
{
    itg_graph *source = NULL, *prepared = NULL;
    itg_prepare_options options = {.eval = itg_float_eval};
    itg_error why = {0};
    itg_refusals *refusals = calloc(1, sizeof *refusals);
    if (!refusals) return itg_fail(err, ITG_NO_MEMORY, "no memory for %s", path);
    refusals->survey = true;
    itg_status status = itg_onnx_import_collect(path, refusals, &source, &why);
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
    if (!model) return;
    itg_graph_destroy(model->graph);
    free(model);
}

const char *itg_model_name(const itg_model *model)
{
    return model->graph->name;
}
const unsigned char *itg_model_hash(const itg_model *model)
{
    return model->graph->source_hash;
}
bool itg_model_dropped_softmax(const itg_model *model)
{
    return model->graph->dropped_softmax;
}
bool itg_model_equalized(const itg_model *model)
{
    return model->graph->equalized;
}
int32_t itg_model_input_count(const itg_model *model)
{
    return model->graph->input_count;
}
int32_t itg_model_output_count(const itg_model *model)
{
    return model->graph->output_count;
}

static const itg_value *input(const itg_model *m, int32_t i)
{
    return &m->graph->values[m->graph->inputs[i]];
}
static const itg_value *output(const itg_model *m, int32_t i)
{
    return &m->graph->values[m->graph->outputs[i]];
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
    itg_graph_print(model->graph, &text);
    if (!itg_strbuf_ok(&text) || !text.text) {
        itg_strbuf_deinit(&text);
        return itg_fail(err, ITG_NO_MEMORY, "no memory to print %s", model->graph->name);
    }
    *out = text.text;
    return ITG_OK;
}

itg_status itg_hardware_notes_text(const itg_hardware *hw, const itg_model *model, char **out,
                                   itg_error *err)
{
    itg_strbuf text = {0};
    itg_strbuf_add(&text, "");
    itg_hardware_notes(hw, model->graph, &text);
    if (!itg_strbuf_ok(&text) || !text.text) {
        itg_strbuf_deinit(&text);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for notes on %s", hw->name);
    }
    *out = text.text;
    return ITG_OK;
}

itg_status itg_annotated_text(const itg_annotated *annotated, char **out, itg_error *err)
{
    itg_strbuf text = {0};
    itg_annotated_print(annotated, &text);
    if (!itg_strbuf_ok(&text) || !text.text) {
        itg_strbuf_deinit(&text);
        return itg_fail(err, ITG_NO_MEMORY, "no memory to print %s", annotated->graph->name);
    }
    *out = text.text;
    return ITG_OK;
}

/* ---- check ---- */

struct itg_check {
    itg_arena *arena;
    int32_t count;
    itg_node_report *nodes;
};

bool itg_model_is_classifier(const itg_model *model)
{
    const itg_graph *g = model->graph;
    if (g->output_count != 1) return false;
    const itg_value *output = &g->values[g->outputs[0]];
    return itg_has_classes(output->dtype, &output->shape);
}

void itg_check_destroy(itg_check *check)
{
    if (check) itg_arena_destroy(check->arena);
}

int32_t itg_check_count(const itg_check *check)
{
    return check->count;
}
const itg_node_report *itg_check_node(const itg_check *check, int32_t index)
{
    return &check->nodes[index];
}

static void fill_report(const itg_graph *g, itg_id n, itg_node_report *report)
{
    const itg_node *node = &g->nodes[n];
    int64_t weight = 0;
    report->name = node->name;
    report->op = itg_op_name(node->op);
    if (!itg_op_is(node->op, ITG_IS_MAC) ||
        !itg_shape_elements(&g->values[node->inputs[1]].shape, &weight))
        return;
    report->macs = itg_hardware_macs(g, n);
    if (itg_graph_is_constant(g, node->inputs[1])) report->weight_elements = weight;
}

static void place_nodes(itg_check *check, const itg_graph *g, const itg_hardware *hw,
                        const bool *topology, const char **reasons, const itg_id *fused)
{
    for (itg_id n = 0; n < g->node_count; n++) {
        itg_node_report *report = &check->nodes[n];
        fill_report(g, n, report);
        report->placement = topology[n]                          ? ITG_PLACE_INTEGER
                            : hw->float_allowed || hw->all_float ? ITG_PLACE_FLOAT
                                                                 : ITG_PLACE_REFUSED;
        if (!topology[n]) report->reason = reasons[n];
    }
    for (itg_id n = 0; n < g->node_count; n++) {
        if (fused[n] == ITG_NONE) continue;
        check->nodes[fused[n]].placement = ITG_PLACE_FUSED;
        check->nodes[fused[n]].reason =
            itg_arena_format(check->arena, "fused into '%s'", g->nodes[n].name);
    }
}

itg_status itg_check_model(const itg_model *model, const itg_hardware *hw, itg_check **out,
                           itg_error *err)
{
    const itg_graph *g = model->graph;
    size_t count = (size_t)g->node_count + 1;
    itg_arena *arena = itg_arena_create(0);
    itg_check *check = arena ? itg_arena_alloc(arena, sizeof *check) : NULL;
    bool *topology = arena ? itg_arena_array(arena, count, sizeof *topology) : NULL;
    const char **reasons = arena ? itg_arena_array(arena, count, sizeof *reasons) : NULL;
    itg_id *fused = arena ? itg_arena_array(arena, count, sizeof *fused) : NULL;
    if (check) check->nodes = itg_arena_array(arena, count, sizeof *check->nodes);
    if (!check || !topology || !reasons || !fused || !check->nodes) {
        itg_arena_destroy(arena);
        return itg_fail(err, ITG_NO_MEMORY, "no memory to check %s", g->name);
    }
    check->arena = arena;
    check->count = g->node_count;
    /* A node that the hardware refuses is a finding here, not a failure. */
    itg_status status = itg_hardware_topology(hw, g, arena, topology, reasons, err);
    if (status != ITG_OK && status != ITG_INFEASIBLE) {
        itg_arena_destroy(arena);
        return status;
    }
    itg_hardware_fusion(hw, g, topology, fused);
    place_nodes(check, g, hw, topology, reasons, fused);
    *out = check;
    return ITG_OK;
}
