#include "graph/onnx/ml.h"
#include <string.h>
#include "graph/onnx/file_read.h"
#include "graph/onnx/ml_write.h"

bool itg_ml_is_stated(const itg_onnx_file *file)
{
    for (int32_t i = 0; i < file->opset_count; i++)
        if (strcmp(file->opset_domain[i], ITG_ML_DOMAIN) == 0) return true;
    return false;
}

/* ---- labels ---- */

static bool is_label(const itg_onnx_value *output)
{
    return output->dtype == ITG_S64 || output->dtype == ITG_S32;
}

/* Removes outputs that hold class labels, unless no other output is left. */
static itg_status leave_labels_out(itg_onnx_file *file, itg_error *err)
{
    itg_onnx_value *kept = itg_arena_array(file->arena, (size_t)file->output_count, sizeof *kept);
    int32_t count = 0;
    if (!kept) return itg_onnx_file_no_memory(file, err);
    for (int32_t i = 0; i < file->output_count; i++)
        if (!is_label(&file->outputs[i])) kept[count++] = file->outputs[i];
    if (count == 0) return ITG_OK;
    file->labels_left_out = file->output_count - count;
    file->outputs = kept;
    file->output_count = count;
    return ITG_OK;
}

/* ---- nodes ---- */

/* stated: whether the file states an opset of the domain. */
static const itg_ml_rule *rule_of(const itg_onnx_node *node, bool stated)
{
    static const itg_ml_family *const families[] = {&itg_ml_linear, &itg_ml_svm, &itg_ml_trees,
                                                    &itg_ml_quantized};
    const char *domain = strcmp(node->domain, "ai.onnx") == 0 ? "" : node->domain;
    for (size_t f = 0; f < sizeof families / sizeof families[0] && !node->refused; f++)
        for (int32_t i = 0; i < families[f]->count; i++)
            if (strcmp(families[f]->rules[i].op_type, node->op_type) == 0 &&
                strcmp(families[f]->domain, domain) == 0 && (stated || !*domain))
                return &families[f]->rules[i];
    return NULL;
}

static bool index_values(itg_ml *m)
{
    const itg_onnx_file *file = m->file;
    bool done = true;
    for (int32_t i = 0; done && i < file->input_count; i++)
        done = itg_names_put(&m->values, file->inputs[i].name, 0);
    for (int32_t i = 0; done && i < file->initializer_count; i++)
        done = itg_names_put(&m->values, file->initializers[i].name, 0);
    for (int32_t n = 0; n < file->node_count; n++)
        for (int32_t i = 0; done && i < file->nodes[n].output_count; i++)
            done = itg_names_put(&m->values, file->nodes[n].outputs[i], 0);
    return done;
}

/* Writes out a node. One that is refused stays, marked; import reports it with the others. */
static void write_node(itg_ml *m, const itg_ml_rule *rule, itg_refusals *refusals)
{
    const int32_t before = m->count;
    if (m->node->input_count < 1 || !*m->node->inputs[0])
        itg_ml_fail(m, ITG_BAD_FILE, "it has no input");
    else
        rule->write(m);
    if (m->status != ITG_UNSUPPORTED || !refusals) return;
    itg_refusals_add_node(refusals, m->node, m->index, m->err);
    itg_onnx_node refused = *m->node;
    refused.refused = true;
    m->status = ITG_OK;
    m->count = before;
    itg_ml_keep(m, &refused);
}

itg_status itg_ml_write_out(itg_onnx_file *file, itg_refusals *refusals, itg_error *err)
{
    itg_ml m = {.file = file, .values.arena = file->arena, .err = err};
    const bool stated = itg_ml_is_stated(file);
    bool any = stated;
    for (int32_t n = 0; n < file->node_count; n++)
        any |= rule_of(&file->nodes[n], stated) != NULL;
    itg_status status = stated ? leave_labels_out(file, err) : ITG_OK;
    if (status != ITG_OK || !any) return status;
    if (!index_values(&m)) return itg_onnx_file_no_memory(file, err);
    for (int32_t n = 0; n < file->node_count && m.status == ITG_OK; n++) {
        const itg_ml_rule *rule = rule_of(&file->nodes[n], stated);
        m.node = &file->nodes[n];
        m.index = n;
        if (rule)
            write_node(&m, rule, refusals);
        else
            itg_ml_keep(&m, m.node);
    }
    if (m.status != ITG_OK) return m.status;
    file->nodes = m.nodes;
    file->node_count = m.count;
    return ITG_OK;
}
