/* Reads a program from an ONNX file of domain "ai.intaglio". The file is not trusted: fields are
 * range-checked as they are read, and the finished program passes the same checks as a lowered one
 * before anything is computed or allocated from it. */
#include "realize/artefact.h"
#include "graph/onnx/budget.h"
#include "graph/onnx/file_read.h"
#include "realize/fields.h"
#include "graph/names.h"
#include <string.h>

typedef struct reading {
    const itg_onnx_file *file;
    itg_program *p;
    itg_names names; /* tensor -> value */
    itg_error *err;
} reading;

static itg_status no_memory(const reading *r)
{
    return itg_fail(r->err, ITG_NO_MEMORY, "no memory for the program");
}

static itg_status check_version(const reading *r)
{
    for (int32_t i = 0; i < r->file->opset_count; i++) {
        if (strcmp(r->file->opset_domain[i], ITG_ARTEFACT_DOMAIN) != 0) continue;
        if (r->file->opset_version[i] == ITG_ARTEFACT_VERSION) return ITG_OK;
        return itg_fail(r->err, ITG_UNSUPPORTED, "version %lld of domain %s; this reader knows %d",
                        (long long)r->file->opset_version[i], ITG_ARTEFACT_DOMAIN,
                        ITG_ARTEFACT_VERSION);
    }
    return itg_fail(r->err, ITG_BAD_FILE, "no artefact: opset domain %s is missing",
                    ITG_ARTEFACT_DOMAIN);
}

static itg_status add_value(reading *r, const char *name, itg_dtype dtype, const itg_shape *shape,
                            int32_t *out)
{
    if (name[0] == '\0') return itg_fail(r->err, ITG_BAD_FILE, "a tensor without a name");
    if (itg_names_find(&r->names, name) >= 0)
        return itg_fail(r->err, ITG_BAD_FILE, "tensor '%s' is made twice", name);
    itg_status status = itg_program_add_value(r->p, name, dtype, shape, out, r->err);
    if (status != ITG_OK) return status;
    return itg_names_put(&r->names, r->p->values[*out].name, *out) ? ITG_OK : no_memory(r);
}

/* ---- inputs, constants, outputs ---- */

static itg_status read_inputs(reading *r)
{
    const itg_onnx_file *file = r->file;
    r->p->inputs =
        itg_arena_array(r->p->arena, (size_t)file->input_count + 1, sizeof *r->p->inputs);
    if (r->p->inputs == NULL) return no_memory(r);
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < file->input_count && status == ITG_OK; i++) {
        itg_shape shape = file->inputs[i].shape;
        if (shape.rank > 0 && shape.dims[0] == -1) shape.dims[0] = 1;
        status =
            add_value(r, file->inputs[i].name, file->inputs[i].dtype, &shape, &r->p->inputs[i]);
        if (status == ITG_OK) r->p->input_count++;
    }
    return status;
}

static itg_status read_constants(reading *r)
{
    for (int32_t i = 0; i < r->file->initializer_count; i++) {
        const itg_tensor *t = &r->file->initializers[i].tensor;
        int64_t elements;
        int32_t value;
        if (!itg_shape_elements(&t->shape, &elements) || elements < 1)
            return itg_fail(r->err, ITG_BAD_FILE, "constant '%s' has no elements",
                            r->file->initializers[i].name);
        const void *data = itg_arena_copy(r->p->arena, t->data, itg_tensor_bytes(t));
        if (data == NULL) return no_memory(r);
        itg_status status =
            add_value(r, r->file->initializers[i].name, t->dtype, &t->shape, &value);
        if (status != ITG_OK) return status;
        r->p->values[value].data = data;
    }
    return ITG_OK;
}

static itg_status read_outputs(reading *r)
{
    const itg_onnx_file *file = r->file;
    r->p->outputs =
        itg_arena_array(r->p->arena, (size_t)file->output_count + 1, sizeof *r->p->outputs);
    if (r->p->outputs == NULL) return no_memory(r);
    for (int32_t i = 0; i < file->output_count; i++) {
        int32_t value = itg_names_find(&r->names, file->outputs[i].name);
        if (value < 0)
            return itg_fail(r->err, ITG_BAD_FILE, "output '%s' is never made",
                            file->outputs[i].name);
        itg_shape shape = file->outputs[i].shape;
        if (shape.rank > 0 && shape.dims[0] == -1) shape.dims[0] = 1;
        if (file->outputs[i].dtype != r->p->values[value].dtype ||
            !itg_shape_equal(&shape, &r->p->values[value].shape))
            return itg_fail(r->err, ITG_BAD_FILE,
                            "output '%s' is declared with another type or shape than it has",
                            file->outputs[i].name);
        r->p->outputs[i] = value;
        r->p->output_count++;
    }
    return ITG_OK;
}

static itg_status read_metadata(reading *r)
{
    const itg_onnx_file *file = r->file;
    itg_program *p = r->p;
    p->metadata_key =
        itg_arena_array(p->arena, (size_t)file->metadata_count + 1, sizeof *p->metadata_key);
    p->metadata_value =
        itg_arena_array(p->arena, (size_t)file->metadata_count + 1, sizeof *p->metadata_value);
    if (p->metadata_key == NULL || p->metadata_value == NULL) return no_memory(r);
    for (int32_t i = 0; i < file->metadata_count; i++) {
        const char *key = file->metadata_key[i];
        if (strncmp(key, ITG_ARTEFACT_OUTPUT_KEY, strlen(ITG_ARTEFACT_OUTPUT_KEY)) == 0) continue;
        p->metadata_key[p->metadata_count] = itg_arena_strdup(p->arena, key);
        p->metadata_value[p->metadata_count] = itg_arena_strdup(p->arena, file->metadata_value[i]);
        if (p->metadata_key[p->metadata_count] == NULL ||
            p->metadata_value[p->metadata_count] == NULL)
            return no_memory(r);
        p->metadata_count++;
    }
    return ITG_OK;
}

/* ---- nodes ---- */

static itg_status find_inputs(reading *r, const itg_onnx_node *node, itg_step *s)
{
    for (int32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i][0] == '\0') continue;
        s->inputs[i] = itg_names_find(&r->names, node->inputs[i]);
        if (s->inputs[i] < 0)
            return itg_fail(r->err, ITG_BAD_FILE, "input '%s' is never made before",
                            node->inputs[i]);
    }
    return ITG_OK;
}

static itg_status read_node(reading *r, const itg_onnx_node *node)
{
    itg_step_kind kind;
    itg_op op;
    itg_step *s;
    if (strcmp(node->domain, ITG_ARTEFACT_DOMAIN) != 0 ||
        !itg_step_type_parse(node->op_type, &kind, &op))
        return itg_fail(r->err, ITG_UNSUPPORTED, "unknown operator %s.%s", node->domain,
                        node->op_type);
    itg_status status = itg_program_add_step(r->p, kind, node->name, node->input_count,
                                             node->output_count, &s, r->err);
    if (status != ITG_OK) return status;
    s->op = op;
    status = find_inputs(r, node, s);
    for (int32_t i = 0; i < node->output_count && status == ITG_OK; i++) {
        const itg_shape unknown = {0, {0}};
        status = add_value(r, node->outputs[i], ITG_F32, &unknown, &s->outputs[i]);
    }
    if (status != ITG_OK) return status;
    itg_fields f = {.mode = ITG_FIELDS_READ, .node = node, .arena = r->p->arena, .err = r->err};
    itg_visit_packed(&f, r->p, s);
    itg_visit_step(&f, r->p, s);
    return f.status;
}

static itg_status read_nodes(reading *r)
{
    for (int32_t i = 0; i < r->file->node_count; i++) {
        itg_status status = read_node(r, &r->file->nodes[i]);
        if (status != ITG_OK)
            return itg_prefix_error(r->err, status, "node %d '%s'", (int)i, r->file->nodes[i].name);
    }
    return ITG_OK;
}

static itg_status read_program(reading *r)
{
    itg_status status = check_version(r);
    if (status == ITG_OK) status = read_inputs(r);
    if (status == ITG_OK) status = read_constants(r);
    if (status == ITG_OK) status = read_nodes(r);
    if (status == ITG_OK) status = read_outputs(r);
    if (status == ITG_OK) status = read_metadata(r);
    if (status == ITG_OK) status = itg_program_finish(r->p, ITG_BOUNDS_COMPARE, r->err);
    return status;
}

/* Builds the program of a file, which it destroys. */
static itg_status open_file(itg_onnx_file *file, const char *name, itg_program **out,
                            itg_error *err)
{
    reading r;
    memset(&r, 0, sizeof r);
    r.file = file;
    r.err = err;
    itg_status status = itg_program_create(file->graph_name, &r.p, err);
    if (status == ITG_OK) {
        r.names.arena = r.p->arena;
        status = read_program(&r);
        if (status != ITG_OK) itg_prefix_error(err, status, "%s", name);
    }
    itg_onnx_file_destroy(file);
    if (status == ITG_OK)
        *out = r.p;
    else
        itg_program_destroy(r.p);
    return status;
}

itg_status itg_program_open(const char *path, itg_program **out, itg_error *err)
{
    itg_onnx_file *file = NULL;
    itg_status status = itg_onnx_file_read(path, &file, err);
    return status == ITG_OK ? open_file(file, path, out, err) : status;
}

itg_status itg_program_open_memory(const void *data, size_t bytes, const char *name,
                                   itg_program **out, itg_error *err)
{
    itg_onnx_file *file = NULL;
    itg_status status = itg_onnx_file_parse(data, bytes, name, itg_budget_of(bytes), &file, err);
    return status == ITG_OK ? open_file(file, name, out, err) : status;
}
