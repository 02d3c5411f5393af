/* Builds a graph from the flat view of a file. It adds all values first (initializers, inputs,
 * Constant nodes, outputs of nodes), because nodes may stand in any order; then the nodes, which it
 * sorts topologically. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "graph/onnx/file_read.h"
#include "graph/onnx/map.h"
#include "graph/onnx/outputs.h"

typedef struct importer {
    const itg_onnx_file *file;
    itg_graph *graph;
    itg_arena *scratch; /* freed after the import */
    int32_t opset;
    itg_refusals *refusals; /* collects what is not supported, while the rest is imported */
    bool *refused;          /* [node of the file] */
    itg_onnx_outputs outputs;
    bool unread; /* some constants or the opset are unknown, so attributes cannot be checked */
    itg_error *err;
} importer;

static itg_status no_memory(const importer *im)
{
    return itg_fail(im->err, ITG_NO_MEMORY, "%s: out of memory", im->graph->name);
}

static itg_status fail_node(const importer *im, int32_t index, itg_status code, const char *format,
                            ...) ITG_PRINTF(4, 5);
static itg_status fail_node(const importer *im, int32_t index, itg_status code, const char *format,
                            ...)
{
    char text[320];
    const itg_onnx_node *node = &im->file->nodes[index];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return itg_fail(im->err, code, "%.100s: node %d '%.80s' (%.60s): %s", im->graph->name,
                    (int)index, node->name, node->op_type, text);
}

static itg_status refuse_node(const importer *im, int32_t index, itg_status status)
{
    if (status != ITG_UNSUPPORTED) return status;
    itg_refusals_add_node(im->refusals, &im->file->nodes[index], index, im->err);
    im->refused[index] = true;
    return ITG_OK;
}

/* ---- versions ---- */
static bool is_default_domain(const char *domain)
{
    return !*domain || strcmp(domain, "ai.onnx") == 0;
}

static bool knows_opset(int64_t version)
{
    return version >= ITG_OPSET_MIN && version <= ITG_OPSET_MAX;
}

static int32_t opset_of(const importer *im, const itg_onnx_node *node)
{
    return node->opset ? (int32_t)node->opset : im->opset;
}

/* Whether all nodes stand in functions that state an opset. */
static bool all_state_opsets(const itg_onnx_file *file)
{
    int32_t n = 0;
    while (n < file->node_count && file->nodes[n].opset != 0)
        n++;
    return n > 0 && n == file->node_count;
}

static itg_status find_opset(importer *im)
{
    int64_t version = 0; /* files without the entry precede numbered opsets */
    for (int32_t i = 0; i < im->file->opset_count; i++) {
        if (!is_default_domain(im->file->opset_domain[i])) continue;
        if (version != 0 && version != im->file->opset_version[i])
            return itg_fail(im->err, ITG_BAD_FILE, "%s: two opsets, %" PRId64 " and %" PRId64,
                            im->graph->name, version, im->file->opset_version[i]);
        version = im->file->opset_version[i];
    }
    im->opset = (int32_t)version;
    if (knows_opset(version) || all_state_opsets(im->file)) return ITG_OK;
    char why[128];
    snprintf(why, sizeof why, "the model is of opset %" PRId64 "; %d to %d are supported", version,
             ITG_OPSET_MIN, ITG_OPSET_MAX);
    itg_fail(im->err, ITG_UNSUPPORTED, "%s: %s (onnx.version_converter can convert it)",
             im->graph->name, why);
    itg_refusals_add(im->refusals, "opset", why,
                     "export it for a supported opset; onnx.version_converter can convert it", "",
                     im->err);
    im->unread = true;
    return ITG_OK;
}

/* ---- what a node is ---- */
static bool is_constant_node(const itg_onnx_node *node)
{
    return is_default_domain(node->domain) && strcmp(node->op_type, "Constant") == 0;
}

static itg_status check_node(const importer *im, int32_t index)
{
    const itg_onnx_node *node = &im->file->nodes[index];
    itg_op op;
    if (node->opset && !knows_opset(node->opset))
        return fail_node(im, index, ITG_UNSUPPORTED,
                         "its function is of opset %d; %d to %d are supported", (int)node->opset,
                         ITG_OPSET_MIN, ITG_OPSET_MAX);
    if (!is_default_domain(node->domain))
        return fail_node(im, index, ITG_UNSUPPORTED,
                         "operators of domain '%.60s' are not supported", node->domain);
    if (strcmp(node->op_type, "DynamicQuantizeLinear") == 0)
        return fail_node(im, index, ITG_UNSUPPORTED,
                         "the model is already quantized, with a scale that follows from each "
                         "input; the float model, or one of fixed scales, is expected");
    for (int32_t i = 0; i < node->attr_count; i++)
        if (node->attrs[i].type == ITG_ATTR_GRAPH ||
            (node->attrs[i].type == ITG_ATTR_OTHER && strcmp(node->attrs[i].s, "GRAPHS") == 0))
            return fail_node(im, index, ITG_UNSUPPORTED,
                             "attribute '%.60s' is a subgraph; control flow (Loop, Scan, and If "
                             "within what cannot be read) is not supported",
                             node->attrs[i].name);
    if (!itg_op_from_name(node->op_type, &op) || op == ITG_OP_POWER || op == ITG_OP_CONV_3D)
        return fail_node(im, index, ITG_UNSUPPORTED, "the operator is not supported");
    return ITG_OK;
}

/* ---- values ---- */
static itg_status add_value(const importer *im, const char *name, itg_dtype dtype,
                            const itg_shape *shape, const void *data)
{
    itg_id id = ITG_NONE;
    if (itg_graph_find_value(im->graph, name) != ITG_NONE)
        return itg_fail(im->err, ITG_BAD_FILE, "%s: value '%.100s' is defined twice",
                        im->graph->name, name);
    return itg_graph_share_value(im->graph, im->file->arena, name, dtype, shape, data, &id,
                                 im->err);
}

/* In a survey, also refuses what preparation would refuse: only the batch may be unknown. */
static void survey_input(const importer *im, const itg_onnx_value *v)
{
    for (int32_t d = 1; im->refusals->survey && d < v->shape.rank; d++) {
        char why[64];
        if (v->shape.dims[d] > 0) continue;
        snprintf(why, sizeof why, "its dimension %d has no fixed size", (int)d);
        itg_fail(im->err, ITG_UNSUPPORTED, "%s: input '%.100s': %s", im->graph->name, v->name, why);
        itg_refusals_add(im->refusals, "input", why, "export the model with fixed input sizes",
                         v->name, im->err);
    }
}

/* Adds initializers and inputs. Until IR version 3 initializers are listed as inputs, too. */
static itg_status add_file_values(importer *im)
{
    const itg_onnx_file *file = im->file;
    itg_status status = ITG_OK;
    itg_id *inputs = itg_arena_array(im->scratch, (size_t)file->input_count, sizeof *inputs);
    int32_t count = 0;
    if (!inputs) return no_memory(im);
    for (int32_t i = 0; i < file->initializer_count && status == ITG_OK; i++) {
        const itg_tensor *t = &file->initializers[i].tensor;
        bool read = t->data != NULL;
        status = add_value(im, file->initializers[i].name, read ? t->dtype : ITG_F32,
                           read ? &t->shape : NULL, t->data);
        im->unread |= !read;
    }
    for (int32_t i = 0; i < file->input_count && status == ITG_OK; i++) {
        const itg_onnx_value *v = &file->inputs[i];
        itg_id known = itg_graph_find_value(im->graph, v->name);
        if (known >= 0 && known < file->initializer_count) continue; /* an initializer */
        if (im->outputs.idle_inputs[i]) continue;
        survey_input(im, v);
        status = add_value(im, v->name, v->dtype, &v->shape, NULL);
        inputs[count++] = im->graph->value_count - 1;
    }
    return status == ITG_OK ? itg_graph_set_inputs(im->graph, inputs, count, im->err) : status;
}

static itg_status add_constant_node(const importer *im, int32_t index)
{
    const itg_onnx_node *node = &im->file->nodes[index];
    if (node->input_count != 0 || node->output_count != 1 || !*node->outputs[0] ||
        node->attr_count != 1)
        return fail_node(im, index, ITG_BAD_FILE, "one output and one attribute are expected");
    const itg_onnx_attr *attr = &node->attrs[0];
    itg_shape scalar = {.rank = 0}, list = {.rank = 1, .dims = {attr->count}};
    if (attr->type == ITG_ATTR_TENSOR && strcmp(attr->name, "value") == 0)
        return add_value(im, node->outputs[0], attr->tensor.dtype, &attr->tensor.shape,
                         attr->tensor.data);
    if (attr->type == ITG_ATTR_FLOAT && strcmp(attr->name, "value_float") == 0)
        return add_value(im, node->outputs[0], ITG_F32, &scalar, &attr->f);
    if (attr->type == ITG_ATTR_INT && strcmp(attr->name, "value_int") == 0)
        return add_value(im, node->outputs[0], ITG_S64, &scalar, &attr->i);
    if (attr->type == ITG_ATTR_FLOATS && strcmp(attr->name, "value_floats") == 0)
        return add_value(im, node->outputs[0], ITG_F32, &list, attr->floats);
    if (attr->type == ITG_ATTR_INTS && strcmp(attr->name, "value_ints") == 0)
        return add_value(im, node->outputs[0], ITG_S64, &list, attr->ints);
    return fail_node(im, index, ITG_UNSUPPORTED, "attribute '%.60s' is not supported", attr->name);
}

static itg_status add_node_values(importer *im)
{
    for (int32_t n = 0; n < im->file->node_count; n++) {
        const itg_onnx_node *node = &im->file->nodes[n];
        if (im->outputs.idle_nodes[n]) continue;
        im->refused[n] = node->refused;
        itg_status status = node->refused ? ITG_OK : refuse_node(im, n, check_node(im, n));
        bool is_constant = status == ITG_OK && is_constant_node(node);
        if (is_constant && !im->refused[n]) status = refuse_node(im, n, add_constant_node(im, n));
        im->unread |= is_constant && im->refused[n];
        if (!is_constant || im->refused[n]) {
            for (int32_t i = 0; i < node->output_count && status == ITG_OK; i++)
                if (*node->outputs[i])
                    status = add_value(im, node->outputs[i], ITG_F32, NULL, NULL);
        }
        if (status != ITG_OK) return status;
    }
    return ITG_OK;
}

/* ---- nodes ---- */
/* Returns the node's name in the file, or "Op_index"; appends "_index" until it is unique. */
static const char *node_name(const importer *im, int32_t index)
{
    const itg_onnx_node *node = &im->file->nodes[index];
    const char *name = *node->name
                           ? node->name
                           : itg_arena_format(im->scratch, "%s_%d", node->op_type, (int)index);
    while (name && itg_graph_find_node(im->graph, name) != ITG_NONE)
        name = itg_arena_format(im->scratch, "%s_%d", name, (int)index);
    return name;
}

/* Initializers of 4 bits are integers of 8 here. The range of the smaller type counts where
 * something is rounded to it (as a QuantizeLinear's zero point), so only what takes the elements
 * alone may read them. Initializers are the first values. */
static itg_status check_four_bits(const importer *im, int32_t index, const itg_map_node *node)
{
    if (node->op == ITG_OP_DEQUANTIZE_LINEAR || node->op == ITG_OP_CAST) return ITG_OK;
    for (int32_t i = 0; i < node->input_count; i++) {
        itg_id v = node->inputs[i];
        if (v == ITG_NONE || v >= im->file->initializer_count ||
            !im->file->initializers[v].four_bits)
            continue;
        return fail_node(im, index, ITG_UNSUPPORTED,
                         "input %d '%.80s' has elements of 4 bits, which only DequantizeLinear and "
                         "Cast can read",
                         (int)i, im->file->initializers[v].name);
    }
    return ITG_OK;
}

static itg_status find_operands(const importer *im, int32_t index, itg_map_node *node,
                                itg_id **outputs)
{
    const itg_onnx_node *from = node->file;
    size_t room = (size_t)from->input_count + ITG_MAP_EXTRA_INPUTS + 1;
    node->inputs = itg_arena_array(im->scratch, room, sizeof *node->inputs);
    *outputs = itg_arena_array(im->scratch, (size_t)from->output_count, sizeof **outputs);
    if (!node->inputs || !*outputs) return no_memory(im);
    for (int32_t i = 0; i < from->input_count; i++) {
        node->inputs[i] =
            *from->inputs[i] ? itg_graph_find_value(im->graph, from->inputs[i]) : ITG_NONE;
        if (*from->inputs[i] && node->inputs[i] == ITG_NONE)
            return fail_node(im, index, ITG_BAD_FILE, "input %d '%.80s' is defined nowhere", (int)i,
                             from->inputs[i]);
        if (*from->inputs[i]) node->input_count = i + 1;
    }
    for (int32_t i = 0; i < from->output_count; i++) {
        (*outputs)[i] =
            *from->outputs[i] ? itg_graph_find_value(im->graph, from->outputs[i]) : ITG_NONE;
        if (*from->outputs[i]) node->output_count = i + 1;
    }
    return check_four_bits(im, index, node);
}

static itg_status check_outputs(const importer *im, int32_t index, const itg_map_node *node)
{
    int32_t most = itg_op_info_of(node->op)->max_outputs;
    if (node->output_count < 1) return fail_node(im, index, ITG_BAD_FILE, "it has no output");
    if (most >= 0 && node->output_count > most)
        return fail_node(im, index, ITG_BAD_FILE, "it has %d outputs; at most %d expected",
                         (int)node->output_count, (int)most);
    return ITG_OK;
}

static itg_status add_node(const importer *im, int32_t index)
{
    itg_map_node node = {.graph = im->graph, .file = &im->file->nodes[index], .index = index};
    itg_id *outputs = NULL, id = ITG_NONE;
    node.opset = opset_of(im, node.file);
    itg_op_from_name(node.file->op_type, &node.op); /* check_node has found it */
    node.attrs = itg_attrs_default(node.op);
    node.name = node_name(im, index);
    if (!node.name) return no_memory(im);
    itg_status status = find_operands(im, index, &node, &outputs);
    if (status == ITG_OK) status = check_outputs(im, index, &node);
    if (status == ITG_OK) status = itg_map_apply(&node, im->err);
    if (status == ITG_OK)
        status = itg_graph_add_node(im->graph, node.name, node.op, node.inputs, node.input_count,
                                    outputs, node.output_count, &node.attrs, &id, im->err);
    if (status != ITG_OK) return status;
    im->graph->nodes[id].opset = node.opset;
    im->graph->nodes[id].in_branch = node.file->in_branch;
    return status;
}

static itg_status set_outputs(const importer *im)
{
    const itg_onnx_outputs *wanted = &im->outputs;
    itg_id *outputs = itg_arena_array(im->scratch, (size_t)wanted->count, sizeof *outputs);
    if (!outputs) return no_memory(im);
    if (wanted->count == 0)
        return itg_fail(im->err, ITG_BAD_FILE, "%s: the graph has no output", im->graph->name);
    for (int32_t i = 0; i < wanted->count; i++) {
        outputs[i] = itg_graph_find_value(im->graph, wanted->names[i]);
        if (outputs[i] == ITG_NONE)
            return itg_fail(im->err, ITG_BAD_FILE, "%s: output '%.100s' is defined nowhere",
                            im->graph->name, wanted->names[i]);
    }
    return itg_graph_set_outputs(im->graph, outputs, wanted->count, im->err);
}

static itg_status import_all(importer *im, const char *outputs)
{
    im->refused = itg_arena_array(im->scratch, (size_t)im->file->node_count, sizeof *im->refused);
    itg_status status = im->refused ? find_opset(im) : no_memory(im);
    if (status == ITG_OK)
        status = itg_onnx_find_outputs(im->file, outputs, im->scratch, &im->outputs, im->err);
    if (status == ITG_OK) status = add_file_values(im);
    if (status == ITG_OK) status = add_node_values(im);
    for (int32_t n = 0; n < im->file->node_count && status == ITG_OK && !im->unread; n++)
        if (!is_constant_node(&im->file->nodes[n]) && !im->refused[n] && !im->outputs.idle_nodes[n])
            status = refuse_node(im, n, add_node(im, n));
    if (im->refusals->count > 0 && status != ITG_NO_MEMORY)
        return itg_refusals_fail(im->refusals, im->err);
    if (status == ITG_OK) status = set_outputs(im);
    return status == ITG_OK ? itg_graph_sort(im->graph, im->err) : status;
}

static itg_status import_file(const itg_onnx_file *file, const char *outputs,
                              itg_refusals *refusals, itg_graph **out, itg_error *err)
{
    const char *slash = strrchr(file->source, '/');
    importer im = {.file = file, .refusals = refusals, .err = err};
    itg_status status = itg_graph_create(slash ? slash + 1 : file->source, &im.graph, err);
    if (status != ITG_OK) return status;
    im.scratch = itg_arena_create(0);
    status = im.scratch ? import_all(&im, outputs) : no_memory(&im);
    itg_arena_destroy(im.scratch);
    if (status != ITG_OK) {
        itg_graph_destroy(im.graph);
        return status;
    }
    im.graph->narrowed = file->narrowed;
    im.graph->left_labels_out = file->labels_left_out > 0 && !*outputs;
    memcpy(im.graph->source_hash, file->hash, sizeof im.graph->source_hash);
    status = itg_graph_set_data_files(im.graph, file->data_files, file->data_file_count, err);
    if (status == ITG_OK)
        status = itg_graph_set_metadata(im.graph, file->metadata_key, file->metadata_value,
                                        file->metadata_count, err);
    if (status != ITG_OK) {
        itg_graph_destroy(im.graph);
        return status;
    }
    *out = im.graph;
    return ITG_OK;
}

itg_status itg_onnx_import_file(const itg_onnx_file *file, const char *outputs, itg_graph **out,
                                itg_error *err)
{
    itg_error own = {0};
    itg_refusals *refusals = calloc(1, sizeof *refusals);
    if (!refusals) return itg_onnx_file_no_memory(file, err);
    itg_status status = import_file(file, outputs, refusals, out, err ? err : &own);
    itg_refusals_destroy(refusals);
    return status;
}

itg_status itg_onnx_import_collect(const char *path, const char *outputs, itg_refusals *refusals,
                                   itg_graph **out, itg_error *err)
{
    itg_onnx_file *file = NULL;
    itg_error own = {0};
    if (!err) err = &own;
    itg_status status = itg_onnx_file_collect(path, refusals, &file, err);
    if (status == ITG_OK) status = import_file(file, outputs, refusals, out, err);
    itg_onnx_file_destroy(file);
    return status;
}

itg_status itg_onnx_import(const char *path, const char *outputs, itg_graph **out, itg_error *err)
{
    itg_refusals *refusals = calloc(1, sizeof *refusals);
    if (!refusals) return itg_fail(err, ITG_NO_MEMORY, "%s: out of memory", path);
    itg_status status = itg_onnx_import_collect(path, outputs, refusals, out, err);
    itg_refusals_destroy(refusals);
    return status;
}
