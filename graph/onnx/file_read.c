/* Reads a file: scans the wire format, parses it within a budget, and converts it to the flat view
 * within an arena. Nothing of protobuf-c outlives the call. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "graph/onnx/external_data.h"
#include "graph/onnx/file_nodes.h"
#include "graph/onnx/file_read.h"
#include "graph/onnx/inline.h"
#include "graph/onnx/large_data.h"
#include "graph/onnx/ml.h"
#include "graph/onnx/tensor_read.h"
#include "graph/onnx/wire_scan.h"

typedef struct reading {
    const ItgOnnx__ModelProto *model;
    itg_budget *budget;          /* of the model */
    const itg_large_data *large; /* NULL: the model has all */
    itg_onnx_file *file;
    itg_refusals *refusals; /* NULL: fail at the first refusal */
    itg_error *err;
} reading;

itg_status itg_onnx_file_no_memory(const itg_onnx_file *file, itg_error *err)
{
    return itg_fail(err, ITG_NO_MEMORY,
                    "%s: the model needs more memory than its size allows or there is",
                    file->source);
}

static itg_status no_memory(const reading *r)
{
    return itg_onnx_file_no_memory(r->file, r->err);
}

/* Adds the place of a failure to its message: `what` "name" of the file. Long names are cut. */
static itg_status at(const reading *r, itg_status status, const char *what, const char *name)
{
    return itg_prefix_error(r->err, status, "%s: %s '%.100s'", r->file->source, what, name);
}

static const char *value_help(const char *why)
{
    if (strstr(why, "element type")) return "export the model in float32, with int64 indices";
    if (strstr(why, "no tensor")) return "cut the model where its values are tensors";
    return NULL;
}

/* Adds an ITG_UNSUPPORTED failure to the list of refusals if there is one, and then succeeds. */
static itg_status collect(const reading *r, itg_status status, const char *what, const char *name)
{
    char why[256];
    if (status == ITG_OK) return ITG_OK;
    if (r->refusals && status == ITG_UNSUPPORTED) {
        itg_error told = *r->err;
        snprintf(why, sizeof why, "%.255s", told.message);
        itg_prefix_error(&told, status, "%s: %s '%.100s'", r->file->source, what, name);
        itg_refusals_add(r->refusals, what, why, value_help(why), name, &told);
        return ITG_OK;
    }
    return at(r, status, what, name);
}

static itg_status convert_opsets(const reading *r)
{
    const ItgOnnx__ModelProto *m = r->model;
    const char **domains = itg_arena_array(r->file->arena, m->n_opset_import, sizeof *domains);
    int64_t *versions = itg_arena_array(r->file->arena, m->n_opset_import, sizeof *versions);
    if (!domains || !versions) return no_memory(r);
    for (size_t i = 0; i < m->n_opset_import; i++) {
        domains[i] = itg_onnx_copy_text(r->file->arena, m->opset_import[i]->domain);
        versions[i] = m->opset_import[i]->version;
        if (!domains[i]) return no_memory(r);
    }
    r->file->opset_domain = domains;
    r->file->opset_version = versions;
    r->file->opset_count = (int32_t)m->n_opset_import;
    return ITG_OK;
}

static itg_status convert_metadata(const reading *r)
{
    const ItgOnnx__ModelProto *m = r->model;
    const char **keys = itg_arena_array(r->file->arena, m->n_metadata_props, sizeof *keys);
    const char **values = itg_arena_array(r->file->arena, m->n_metadata_props, sizeof *values);
    if (!keys || !values) return no_memory(r);
    for (size_t i = 0; i < m->n_metadata_props; i++) {
        keys[i] = itg_onnx_copy_text(r->file->arena, m->metadata_props[i]->key);
        values[i] = itg_onnx_copy_text(r->file->arena, m->metadata_props[i]->value);
        if (!keys[i] || !values[i]) return no_memory(r);
    }
    r->file->metadata_key = keys;
    r->file->metadata_value = values;
    r->file->metadata_count = (int32_t)m->n_metadata_props;
    return ITG_OK;
}

/* Converts dimensions. Unknown: a name, no number, 0 (CNTK) or -1 (several converters). */
static itg_status convert_dims(const ItgOnnx__TensorShapeProto *proto, itg_shape *out,
                               itg_error *err)
{
    itg_shape shape = {.rank = proto ? 0 : -1};
    if (proto && proto->n_dim > ITG_MAX_RANK)
        return itg_fail(err, ITG_UNSUPPORTED, "rank %zu; at most %d is supported", proto->n_dim,
                        ITG_MAX_RANK);
    for (size_t i = 0; proto && i < proto->n_dim; i++) {
        int64_t dim = proto->dim[i]->dim_value;
        if (dim < -1 || dim > ITG_MAX_ELEMENTS)
            return itg_fail(err, ITG_BAD_FILE,
                            "dimension %zu is %" PRId64 "; 1 to %" PRId64 " is expected", i, dim,
                            ITG_MAX_ELEMENTS);
        shape.dims[shape.rank++] = dim > 0 ? dim : -1;
    }
    *out = shape;
    return ITG_OK;
}

static itg_status convert_value(const ItgOnnx__ValueInfoProto *proto, itg_onnx_value *out,
                                itg_error *err)
{
    if (!*out->name) return itg_fail(err, ITG_BAD_FILE, "it has no name");
    if (!proto->type || !proto->type->tensor_type)
        return itg_fail(err, ITG_UNSUPPORTED,
                        "it is no tensor (sequences, maps and optionals are not supported)");
    out->type = proto->type->tensor_type->elem_type;
    if (!itg_onnx_type_to_dtype(out->type, &out->dtype))
        return itg_fail(err, ITG_UNSUPPORTED, "element type %s (%d) is not supported",
                        itg_onnx_type_name(out->type), (int)out->type);
    return convert_dims(proto->type->tensor_type->shape, &out->shape, err);
}

/* In files of ai.onnx.ml an output may be a map (ZipMap), in whose place its tensor is returned, or
 * strings, in whose place the number of the class is returned. */
static bool is_ml_output(const reading *r, const ItgOnnx__ValueInfoProto *proto,
                         itg_onnx_value *out)
{
    const ItgOnnx__TypeProto *type = proto->type;
    if (!*out->name || !type || !itg_ml_is_stated(r->file)) return false;
    if (!type->tensor_type) return true;
    if (strcmp(itg_onnx_type_name(type->tensor_type->elem_type), "STRING") != 0) return false;
    out->dtype = ITG_S64;
    return true;
}

static itg_status convert_values(const reading *r, ItgOnnx__ValueInfoProto **protos, size_t count,
                                 const char *what, const itg_onnx_value **out)
{
    itg_onnx_value *values = itg_arena_array(r->file->arena, count, sizeof *values);
    if (!values) return no_memory(r);
    for (size_t i = 0; i < count; i++) {
        values[i].name = itg_onnx_copy_text(r->file->arena, protos[i]->name);
        if (!values[i].name) return no_memory(r);
        values[i].type = 0;
        values[i].dtype = ITG_F32;
        values[i].shape.rank = -1;
        if (strcmp(what, "output") == 0 && is_ml_output(r, protos[i], &values[i])) continue;
        itg_status status =
            collect(r, convert_value(protos[i], &values[i], r->err), what, values[i].name);
        if (status != ITG_OK) return status;
    }
    *out = values;
    return ITG_OK;
}

static bool is_double(int32_t type)
{
    return strcmp(itg_onnx_type_name(type), "DOUBLE") == 0;
}

/* Whether inputs, initializers or constants are float64. */
static bool has_doubles(const ItgOnnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_input; i++) {
        const ItgOnnx__TypeProto *type = graph->input[i]->type;
        if (type && type->tensor_type && is_double(type->tensor_type->elem_type)) return true;
    }
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (is_double(graph->initializer[i]->data_type)) return true;
    for (size_t n = 0; n < graph->n_node; n++)
        for (size_t a = 0; a < graph->node[n]->n_attribute; a++)
            if (graph->node[n]->attribute[a]->t &&
                is_double(graph->node[n]->attribute[a]->t->data_type))
                return true;
    return false;
}

/* Gives back raw_data that was converted, so that not all of it lies in memory twice. */
static void drop_raw_data(const reading *r, ItgOnnx__TensorProto *proto, bool is_own)
{
    if (!proto->has_raw_data || proto->raw_data.len == 0) return;
    if (is_own)
        r->budget->allocator.free(r->budget->allocator.allocator_data, proto->raw_data.data);
    proto->has_raw_data = false;
    proto->raw_data = (ProtobufCBinaryData){0, NULL};
}

static itg_status convert_initializer(const reading *r, ItgOnnx__TensorProto *proto, size_t index,
                                      itg_tensor *out)
{
    const itg_large_part *part = r->large ? itg_large_data_of(r->large, index) : NULL;
    itg_status status =
        itg_onnx_tensor_take(proto, part ? r->large->arena : NULL, r->file->arena, out, r->err);
    drop_raw_data(r, proto, part == NULL);
    return status;
}

static itg_status convert_initializers(const reading *r, const ItgOnnx__GraphProto *graph)
{
    itg_onnx_initializer *all = itg_arena_array(r->file->arena, graph->n_initializer, sizeof *all);
    if (!all) return no_memory(r);
    for (size_t i = 0; i < graph->n_initializer; i++) {
        all[i].name = itg_onnx_copy_text(r->file->arena, graph->initializer[i]->name);
        if (!all[i].name) return no_memory(r);
        all[i].four_bits = itg_onnx_tensor_has_four_bits(graph->initializer[i]);
        itg_status status =
            *all[i].name ? ITG_OK : itg_fail(r->err, ITG_BAD_FILE, "it has no name");
        if (status == ITG_OK)
            status = convert_initializer(r, graph->initializer[i], i, &all[i].tensor);
        status = collect(r, status, "initializer", all[i].name);
        if (status != ITG_OK) return status;
    }
    r->file->initializers = all;
    r->file->initializer_count = (int32_t)graph->n_initializer;
    return ITG_OK;
}

static itg_status convert_nodes(const reading *r, ItgOnnx__NodeProto *const *protos, size_t count,
                                const itg_onnx_node **out)
{
    itg_onnx_node *nodes = itg_arena_array(r->file->arena, count, sizeof *nodes);
    if (!nodes) return no_memory(r);
    for (size_t i = 0; i < count; i++) {
        itg_status status = itg_onnx_convert_node(protos[i], (int32_t)i, r->file->source,
                                                  r->file->arena, &nodes[i], r->err);
        if (status == ITG_UNSUPPORTED && r->refusals) {
            itg_refusals_add_node(r->refusals, &nodes[i], (int32_t)i, r->err);
            nodes[i].refused = true;
            continue;
        }
        if (status != ITG_OK) return status;
    }
    *out = nodes;
    return ITG_OK;
}

/* ---- functions ---- */

static int64_t opset_of_function(const ItgOnnx__FunctionProto *proto)
{
    for (size_t i = 0; i < proto->n_opset_import; i++) {
        const char *domain = proto->opset_import[i]->domain;
        if (!domain || !*domain || strcmp(domain, "ai.onnx") == 0)
            return proto->opset_import[i]->version;
    }
    return 0;
}

static itg_status convert_function(const reading *r, const ItgOnnx__FunctionProto *proto,
                                   itg_onnx_function *out)
{
    itg_arena *arena = r->file->arena;
    out->domain = itg_onnx_copy_text(arena, proto->domain);
    out->name = itg_onnx_copy_text(arena, proto->name);
    out->overload = itg_onnx_copy_text(arena, proto->overload);
    out->inputs = itg_onnx_copy_names(proto->input, proto->n_input, arena);
    out->outputs = itg_onnx_copy_names(proto->output, proto->n_output, arena);
    if (!out->domain || !out->name || !out->overload || !out->inputs || !out->outputs)
        return no_memory(r);
    out->opset = opset_of_function(proto);
    out->input_count = (int32_t)proto->n_input;
    out->output_count = (int32_t)proto->n_output;
    out->node_count = (int32_t)proto->n_node;
    itg_status status = itg_onnx_convert_attributes(
        proto->attribute_proto, proto->n_attribute_proto, arena, &out->presets, r->err);
    if (status != ITG_OK) return at(r, status, "function", out->name);
    return convert_nodes(r, proto->node, proto->n_node, &out->nodes);
}

static itg_status convert_functions(const reading *r)
{
    const ItgOnnx__ModelProto *m = r->model;
    itg_onnx_function *all = itg_arena_array(r->file->arena, m->n_functions, sizeof *all);
    if (!all) return no_memory(r);
    for (size_t i = 0; i < m->n_functions; i++) {
        itg_status status = convert_function(r, m->functions[i], &all[i]);
        if (status != ITG_OK) return status;
    }
    r->file->functions = all;
    r->file->function_count = (int32_t)m->n_functions;
    return ITG_OK;
}

static itg_status convert_graph(const reading *r)
{
    const ItgOnnx__GraphProto *graph = r->model->graph;
    itg_onnx_file *file = r->file;
    if (!graph)
        return itg_fail(r->err, ITG_BAD_FILE, "%s: there is no graph (not an ONNX model)",
                        file->source);
    if (graph->n_sparse_initializer > 0) {
        itg_status status = itg_fail(r->err, ITG_UNSUPPORTED,
                                     "%s: sparse initializers are not supported", file->source);
        if (!r->refusals) return status;
        itg_refusals_add(r->refusals, "sparse initializer", "it is not supported",
                         "export the model with dense tensors", "", r->err);
    }
    file->graph_name = itg_onnx_copy_text(file->arena, graph->name);
    file->producer = itg_onnx_copy_text(file->arena, r->model->producer_name);
    file->producer_version = itg_onnx_copy_text(file->arena, r->model->producer_version);
    if (!file->graph_name || !file->producer || !file->producer_version) return no_memory(r);
    itg_status status = convert_opsets(r);
    if (status == ITG_OK) status = convert_functions(r);
    if (status == ITG_OK) status = convert_metadata(r);
    if (status == ITG_OK) status = convert_nodes(r, graph->node, graph->n_node, &file->nodes);
    file->node_count = (int32_t)graph->n_node;
    if (status == ITG_OK) status = convert_initializers(r, graph);
    if (status == ITG_OK)
        status = convert_values(r, graph->input, graph->n_input, "input", &file->inputs);
    if (status == ITG_OK)
        status = convert_values(r, graph->output, graph->n_output, "output", &file->outputs);
    if (status != ITG_OK) return status;
    file->input_count = (int32_t)graph->n_input;
    file->output_count = (int32_t)graph->n_output;
    file->narrowed = has_doubles(graph);
    status = itg_onnx_inline(file, r->err);
    return status == ITG_OK ? itg_ml_write_out(file, r->refusals, r->err) : status;
}

static itg_status unpack_failed(const itg_budget *budget, const char *source, itg_error *err)
{
    if (budget->exceeded)
        return itg_fail(err, ITG_LIMIT,
                        "%s: parsing needs more than %zu bytes of memory, %d times the file's size",
                        source, budget->limit, ITG_BUDGET_PER_BYTE);
    if (budget->failed) return itg_fail(err, ITG_NO_MEMORY, "%s: out of memory", source);
    return itg_fail(err, ITG_BAD_FILE, "%s: the protobuf parser refuses it", source);
}

/* The limit is twice that of protobuf-c, because the arena rounds every name up to 64 bytes. */
static itg_status create_file(const char *source, size_t memory_limit, itg_onnx_file **out,
                              itg_error *err)
{
    itg_arena *arena = itg_arena_create(memory_limit > SIZE_MAX / 2 ? SIZE_MAX : 2 * memory_limit);
    itg_onnx_file *file = arena ? itg_arena_alloc(arena, sizeof *file) : NULL;
    if (file) {
        file->arena = arena;
        file->source = itg_arena_strdup(arena, source);
    }
    if (!file || !file->source) {
        itg_arena_destroy(arena);
        return itg_fail(err, ITG_NO_MEMORY, "%s: out of memory", source);
    }
    *out = file;
    return ITG_OK;
}

static itg_status keep_data_files(const itg_external_data *external, itg_onnx_file *file,
                                  itg_error *err)
{
    const char **paths = itg_arena_texts(file->arena, (const char *const *)external->paths,
                                         (size_t)external->path_count);
    if (!paths) return itg_onnx_file_no_memory(file, err);
    file->data_files = paths;
    file->data_file_count = external->path_count;
    return ITG_OK;
}

static bool states_ml(const ItgOnnx__ModelProto *model)
{
    for (size_t i = 0; i < model->n_opset_import; i++)
        if (model->opset_import[i]->domain &&
            strcmp(model->opset_import[i]->domain, ITG_ML_DOMAIN) == 0)
            return true;
    return false;
}

/* Puts the parts to the initializers that they belong to, or takes them away again. Returns false
 * if one does not fit. */
static bool attach(const itg_large_data *large, ItgOnnx__ModelProto *model, bool attached)
{
    for (int32_t i = 0; large && i < large->count; i++) {
        const itg_large_part *part = &large->parts[i];
        if (!model->graph || (size_t)part->initializer >= model->graph->n_initializer) return false;
        ItgOnnx__TensorProto *proto = model->graph->initializer[part->initializer];
        if (attached && proto->has_raw_data) return false;
        if (!attached && proto->raw_data.data != part->data) continue;
        proto->has_raw_data = attached;
        proto->raw_data = attached ? (ProtobufCBinaryData){part->bytes, part->data}
                                   : (ProtobufCBinaryData){0, NULL};
    }
    return true;
}

/* Converts a parsed model, of which nothing is needed afterwards. is_file: source is its path, and
 * tensors may lie in other files. hash: of the model's bytes. */
static itg_status convert(ItgOnnx__ModelProto *model, itg_budget *budget, const itg_sha256 *hash,
                          const itg_large_data *large, const char *source, bool is_file,
                          itg_refusals *refusals, itg_onnx_file **out, itg_error *err)
{
    const size_t memory_limit = budget->limit;
    itg_onnx_file *file = NULL;
    itg_external_data external = {.hash = *hash};
    itg_status status = ITG_OK;
    if (is_file) status = itg_external_data_read(model, source, budget, &external, err);
    const size_t room = memory_limit + external.bytes + (states_ml(model) ? ITG_ML_ROOM : 0);
    if (status == ITG_OK) status = create_file(source, room, &file, err);
    if (status == ITG_OK)
        status = convert_graph(&(reading){model, budget, large, file, refusals, err});
    if (status == ITG_OK) status = keep_data_files(&external, file, err);
    if (status == ITG_OK) itg_sha256_final(&external.hash, file->hash);
    itg_external_data_deinit(&external);
    if (status != ITG_OK) {
        itg_onnx_file_destroy(file);
        return status;
    }
    *out = file;
    return ITG_OK;
}

/* Parses a model from its bytes. owned: where they lie, freed as soon as they can be; NULL: they
 * are the caller's. */
static itg_status parse(const unsigned char *data, unsigned char **owned, size_t bytes,
                        const char *source, bool is_file, size_t memory_limit,
                        itg_refusals *refusals, itg_onnx_file **out, itg_error *err)
{
    itg_budget budget;
    itg_sha256 hash;
    itg_status status = itg_wire_scan(data, bytes, ITG_WIRE_MODEL, source, err);
    if (status != ITG_OK) return status;
    itg_budget_init(&budget, memory_limit);
    ItgOnnx__ModelProto *model = itg_onnx__model_proto__unpack(&budget.allocator, bytes, data);
    if (!model) return unpack_failed(&budget, source, err);
    itg_sha256_init(&hash);
    itg_sha256_update(&hash, data, bytes);
    if (owned) {
        free(*owned);
        *owned = NULL;
    }
    status = convert(model, &budget, &hash, NULL, source, is_file, refusals, out, err);
    itg_onnx__model_proto__free_unpacked(model, &budget.allocator);
    return status;
}

/* Parses a file whose large elements were read apart. Sets *done to false if that cannot be: it is
 * to be read as a whole, which has the errors. */
static itg_status parse_rest(const itg_large_data *large, const char *path, itg_refusals *refusals,
                             itg_onnx_file **out, bool *done, itg_error *err)
{
    itg_budget budget;
    itg_status status = ITG_OK;
    *done = itg_wire_scan(large->rest, large->rest_bytes, ITG_WIRE_MODEL, path, NULL) == ITG_OK;
    if (!*done) return ITG_OK;
    itg_budget_init(&budget, itg_budget_of(large->file_bytes));
    ItgOnnx__ModelProto *model =
        itg_onnx__model_proto__unpack(&budget.allocator, large->rest_bytes, large->rest);
    if (!model && budget.failed) return unpack_failed(&budget, path, err);
    *done = model && attach(large, model, true);
    if (*done)
        status = convert(model, &budget, &large->hash, large, path, true, refusals, out, err);
    if (model) {
        attach(large, model, false);
        itg_onnx__model_proto__free_unpacked(model, &budget.allocator);
    }
    return status;
}

itg_status itg_onnx_file_parse(const unsigned char *data, size_t bytes, const char *source,
                               size_t memory_limit, itg_onnx_file **out, itg_error *err)
{
    return parse(data, NULL, bytes, source, false, memory_limit, NULL, out, err);
}

itg_status itg_onnx_file_read(const char *path, itg_onnx_file **out, itg_error *err)
{
    return itg_onnx_file_collect(path, NULL, out, err);
}

static itg_status read_whole(const char *path, itg_refusals *refusals, itg_onnx_file **out,
                             itg_error *err)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    itg_status status = itg_file_read(path, ITG_WIRE_MAX_BYTES, &data, &bytes, err);
    if (status != ITG_OK) return status;
    status = parse(data, &data, bytes, path, true, itg_budget_of(bytes), refusals, out, err);
    free(data);
    return status;
}

itg_status itg_onnx_file_read_apart(const char *path, size_t least, itg_refusals *refusals,
                                    itg_onnx_file **out, itg_error *err)
{
    itg_large_data large = {.rest = NULL};
    bool done = false;
    itg_status status = itg_large_data_read(path, least, &large, &done, err);
    if (status == ITG_OK && done) status = parse_rest(&large, path, refusals, out, &done, err);
    itg_large_data_deinit(&large);
    return status != ITG_OK || done ? status : read_whole(path, refusals, out, err);
}

itg_status itg_onnx_file_collect(const char *path, itg_refusals *refusals, itg_onnx_file **out,
                                 itg_error *err)
{
    return itg_onnx_file_read_apart(path, ITG_LARGE_BYTES, refusals, out, err);
}

void itg_onnx_file_destroy(itg_onnx_file *file)
{
    if (file) itg_arena_destroy(file->arena);
}

static itg_status parse_tensor(const unsigned char *data, size_t bytes, const char *source,
                               itg_arena *arena, itg_tensor *out, itg_error *err)
{
    itg_status status = itg_wire_scan(data, bytes, ITG_WIRE_TENSOR, source, err);
    if (status != ITG_OK) return status;
    itg_budget budget;
    itg_budget_init(&budget, itg_budget_of(bytes));
    ItgOnnx__TensorProto *proto = itg_onnx__tensor_proto__unpack(&budget.allocator, bytes, data);
    if (!proto) return unpack_failed(&budget, source, err);
    status = itg_onnx_tensor_convert(proto, arena, out, err);
    if (status != ITG_OK) status = itg_prefix_error(err, status, "%s", source);
    itg_onnx__tensor_proto__free_unpacked(proto, &budget.allocator);
    return status;
}

itg_status itg_onnx_tensor_read(const char *path, itg_arena *arena, itg_tensor *out, itg_error *err)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    itg_status status = itg_file_read(path, ITG_WIRE_MAX_BYTES, &data, &bytes, err);
    if (status != ITG_OK) return status;
    status = parse_tensor(data, bytes, path, arena, out, err);
    free(data);
    return status;
}
