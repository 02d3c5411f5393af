#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "graph/internal.h"
#include "graph/onnx/map.h"
#include "graph/onnx/tensor_types.h"

itg_status itg_map_fail(const itg_map_node *node, itg_error *err, itg_status code,
                        const char *format, ...)
{
    char text[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return itg_fail(err, code, "%.100s: node %d '%.80s' (%s): %s", node->graph->name,
                    (int)node->index, node->name, itg_op_name(node->op), text);
}

/* Returns the operator's rule; one without an entry needs no special treatment. */
static const itg_op_rule *rule_of(itg_op op)
{
    static const itg_op_rule plain;
    static const itg_op_family *const families[] = {
        &itg_map_window,    &itg_map_reduce, &itg_map_shape, &itg_map_slice,
        &itg_map_composite, &itg_map_values, &itg_map_einsum};
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (int32_t i = 0; i < families[f]->count; i++)
            if (families[f]->rules[i].op == op) return &families[f]->rules[i];
    return &plain;
}

/* ---- single attributes ---- */
static itg_status bad_type(const itg_map_node *node, const itg_onnx_attr *attr, const char *wanted,
                           itg_error *err)
{
    return itg_map_fail(node, err, ITG_BAD_FILE, "attribute '%.60s' is not %s", attr->name, wanted);
}

static itg_status bad_int(const itg_map_node *node, const char *name, int64_t value, int64_t lo,
                          int64_t hi, itg_error *err)
{
    return itg_map_fail(node, err, ITG_UNSUPPORTED,
                        "attribute '%s' is %" PRId64 "; %" PRId64 " to %" PRId64 " is supported",
                        name, value, lo, hi);
}

bool itg_map_has(const itg_map_node *node, const char *name)
{
    return itg_onnx_attr_find(node->file, name) != NULL;
}

itg_status itg_map_int(const itg_map_node *node, const char *name, int64_t lo, int64_t hi,
                       int64_t *out, itg_error *err)
{
    const itg_onnx_attr *attr = itg_onnx_attr_find(node->file, name);
    if (!attr) return ITG_OK;
    if (attr->type != ITG_ATTR_INT) return bad_type(node, attr, "an integer", err);
    if (attr->i < lo || attr->i > hi) return bad_int(node, name, attr->i, lo, hi, err);
    *out = attr->i;
    return ITG_OK;
}

static itg_status map_float(const itg_map_node *node, const char *name, float *out, itg_error *err)
{
    const itg_onnx_attr *attr = itg_onnx_attr_find(node->file, name);
    if (!attr) return ITG_OK;
    if (attr->type != ITG_ATTR_FLOAT) return bad_type(node, attr, "a float", err);
    if (isnan(attr->f))
        return itg_map_fail(node, err, ITG_BAD_FILE, "attribute '%s' is not a number", name);
    *out = attr->f;
    return ITG_OK;
}

itg_status itg_map_string(const itg_map_node *node, const char *name, const char **out,
                          itg_error *err)
{
    const itg_onnx_attr *attr = itg_onnx_attr_find(node->file, name);
    if (!attr) return ITG_OK;
    if (attr->type != ITG_ATTR_STRING) return bad_type(node, attr, "a string", err);
    *out = attr->s;
    return ITG_OK;
}

itg_status itg_map_ints(const itg_map_node *node, const char *name, int64_t lo, int64_t hi,
                        const int64_t **out, int32_t *count, itg_error *err)
{
    const itg_onnx_attr *attr = itg_onnx_attr_find(node->file, name);
    *count = -1;
    if (!attr) return ITG_OK;
    if (attr->type != ITG_ATTR_INTS) return bad_type(node, attr, "a list of integers", err);
    if (attr->count > INT32_MAX)
        return itg_map_fail(node, err, ITG_LIMIT, "attribute '%s' is too long", name);
    for (int64_t i = 0; i < attr->count; i++)
        if (attr->ints[i] < lo || attr->ints[i] > hi)
            return bad_int(node, name, attr->ints[i], lo, hi, err);
    *out = attr->ints;
    *count = (int32_t)attr->count;
    return ITG_OK;
}

/* ---- inputs ---- */
bool itg_map_constant(const itg_map_node *node, int32_t slot, itg_tensor *out)
{
    if (slot >= node->input_count || !itg_graph_is_constant(node->graph, node->inputs[slot]))
        return false;
    *out = itg_graph_tensor(node->graph, node->inputs[slot]);
    return true;
}

itg_status itg_map_add_input(itg_map_node *node, int32_t slot, const char *suffix,
                             const itg_tensor *tensor, itg_error *err)
{
    if (slot < node->input_count)
        return itg_map_fail(node, err, ITG_BAD_FILE, "'%s' is given both as attribute and as input",
                            suffix);
    const char *name = itg_fresh_value_name(node->graph, node->name, suffix);
    if (!name) return itg_graph_no_memory(node->graph, err);
    itg_id value = ITG_NONE;
    itg_status status = itg_graph_add_value(node->graph, name, tensor->dtype, &tensor->shape,
                                            tensor->data, &value, err);
    if (status != ITG_OK) return status;
    while (node->input_count < slot)
        node->inputs[node->input_count++] = ITG_NONE;
    node->inputs[node->input_count++] = value;
    return ITG_OK;
}

itg_status itg_map_ints_to_input(itg_map_node *node, const char *name, int32_t slot, itg_error *err)
{
    const int64_t *list = NULL;
    int64_t copy[2 * ITG_MAX_RANK]; /* Pad's list has two numbers a dimension */
    int32_t count = -1;
    itg_status status = itg_map_ints(node, name, INT64_MIN, INT64_MAX, &list, &count, err);
    if (status != ITG_OK || count < 0) return status;
    if (count > 2 * ITG_MAX_RANK)
        return itg_map_fail(node, err, ITG_UNSUPPORTED,
                            "attribute '%s' has %d numbers; at most %d are supported", name,
                            (int)count, 2 * ITG_MAX_RANK);
    if (count > 0) memcpy(copy, list, (size_t)count * sizeof *copy);
    itg_tensor tensor = {.dtype = ITG_S64, .shape = {.rank = 1, .dims = {count}}, .data = copy};
    return itg_map_add_input(node, slot, name, &tensor, err);
}

itg_status itg_map_axes(itg_map_node *node, itg_error *err)
{
    return itg_map_ints_to_input(node, "axes", 1, err);
}

/* ---- attributes of ops.def ---- */
static itg_status read_bool(itg_map_node *node, const char *name, bool *out, itg_error *err)
{
    int64_t value = *out;
    itg_status status = itg_map_int(node, name, 0, 1, &value, err);
    *out = value != 0;
    return status;
}

static itg_status read_float(itg_map_node *node, const itg_attr *attr, float *out, itg_error *err)
{
    itg_status status = map_float(node, attr->onnx, out, err);
    if (status == ITG_OK && !isfinite(*out) && attr->field->kind == ITG_KIND_FLOAT)
        return itg_map_fail(node, err, ITG_UNSUPPORTED, "attribute '%s' is infinite", attr->onnx);
    return status;
}

static itg_status read_name(itg_map_node *node, const itg_attr *attr, itg_error *err)
{
    const char *text = itg_attr_word(attr, &node->attrs);
    itg_status status = itg_map_string(node, attr->onnx, &text, err);
    if (status != ITG_OK || itg_attr_set_word(attr, &node->attrs, text)) return status;
    return itg_map_fail(node, err, ITG_UNSUPPORTED, "attribute '%s' is '%.40s'", attr->onnx, text);
}

static itg_status read_dtype(itg_map_node *node, const char *name, itg_dtype *out, itg_error *err)
{
    int64_t type = 0;
    itg_status status = itg_map_int(node, name, 0, INT32_MAX, &type, err);
    if (status != ITG_OK || itg_onnx_type_to_dtype((int32_t)type, out)) return status;
    return itg_map_fail(node, err, ITG_UNSUPPORTED,
                        "attribute '%s' is %s (%d), a type that is not supported", name,
                        itg_onnx_type_name((int32_t)type), (int)type);
}

static itg_status read_value(const itg_attr *attr, itg_map_node *node, itg_error *err)
{
    void *slot = itg_attr_slot(attr, &node->attrs);
    switch (attr->field->kind) {
    case ITG_KIND_INT:
        return itg_map_int(node, attr->onnx, INT64_MIN, INT64_MAX, slot, err);
    case ITG_KIND_AXIS:
        return itg_map_int(node, attr->onnx, -ITG_MAX_RANK, ITG_MAX_RANK, slot, err);
    case ITG_KIND_BOOL:
        return read_bool(node, attr->onnx, slot, err);
    case ITG_KIND_FLOAT:
    case ITG_KIND_BOUND:
        return read_float(node, attr, slot, err);
    case ITG_KIND_NAME:
        return read_name(node, attr, err);
    case ITG_KIND_DTYPE:
        return read_dtype(node, attr->onnx, slot, err);
    default: /* lists: the map function reads them */
        return ITG_OK;
    }
}

/* Whether an attribute is newer than the node's opset and differs from its preset. */
static bool is_too_new(const itg_attr *attr, const itg_map_node *node)
{
    return attr->first_opset > itg_op_info_of(attr->op)->first_opset &&
           node->opset < attr->first_opset && !itg_attr_is_preset(attr, &node->attrs);
}

static itg_status check_last_opset(const itg_map_node *node, const char *name, int32_t last,
                                   itg_error *err)
{
    if (last == 0 || node->opset <= last) return ITG_OK;
    return itg_map_fail(node, err, ITG_BAD_FILE,
                        "opset %d has no attribute '%s' (the last that has it is %d)",
                        (int)node->opset, name, (int)last);
}

static itg_status read_attr(const itg_attr *attr, itg_map_node *node, itg_error *err)
{
    if (!attr->onnx || !itg_map_has(node, attr->onnx)) return ITG_OK;
    itg_status status = check_last_opset(node, attr->onnx, attr->last_opset, err);
    if (status == ITG_OK) status = read_value(attr, node, err);
    if (status == ITG_OK && is_too_new(attr, node))
        return itg_map_fail(node, err, ITG_BAD_FILE, "opset %d has no attribute '%s'",
                            (int)node->opset, attr->onnx);
    return status;
}

/* ---- rules ---- */
static itg_status check_file_attr(const itg_file_attr *attr, itg_map_node *node, itg_error *err)
{
    int64_t value = 0;
    if (!itg_map_has(node, attr->name)) return ITG_OK;
    itg_status status = check_last_opset(node, attr->name, attr->last_opset, err);
    if (status == ITG_OK && attr->use == ITG_FILE_ONLY)
        status = itg_map_int(node, attr->name, attr->value, attr->value, &value, err);
    return status;
}

static bool is_known(const itg_op_rule *rule, itg_op op, const char *name)
{
    int32_t count;
    const itg_attr *attr = itg_op_attrs(op, &count);
    for (int32_t i = 0; i < count; i++)
        if (attr[i].onnx && strcmp(attr[i].onnx, name) == 0) return true;
    for (const itg_file_attr *a = rule->attrs; a->name; a++)
        if (strcmp(a->name, name) == 0) return true;
    return false;
}

static itg_status check_known(const itg_op_rule *rule, const itg_map_node *node, itg_error *err)
{
    for (int32_t i = 0; i < node->file->attr_count; i++)
        if (!is_known(rule, node->op, node->file->attrs[i].name))
            return itg_map_fail(node, err, ITG_UNSUPPORTED, "attribute '%.60s' is not supported",
                                node->file->attrs[i].name);
    return ITG_OK;
}

/* Returns the last opset in which some of today's inputs are attributes; 0: none. */
static int32_t last_single_input(const itg_op_rule *rule, itg_op op)
{
    int32_t count, last = 0;
    const itg_attr *attr = itg_op_attrs(op, &count);
    for (int32_t i = 0; i < count; i++)
        if (attr[i].last_opset > last) last = attr[i].last_opset;
    for (const itg_file_attr *a = rule->attrs; a->name; a++)
        if (a->last_opset > last) last = a->last_opset;
    return last;
}

static itg_status check_inputs(const itg_op_rule *rule, const itg_map_node *node, itg_error *err)
{
    const itg_op_info *info = itg_op_info_of(node->op);
    int32_t count = node->input_count, most = info->max_inputs;
    if (node->op == ITG_OP_MATMUL) most = 2; /* the third is our own */
    if (count < info->min_inputs || (most >= 0 && count > most))
        return itg_map_fail(node, err, ITG_BAD_FILE, "it has %d inputs; %s%d expected", (int)count,
                            count < info->min_inputs ? "at least " : "at most ",
                            (int)(count < info->min_inputs ? info->min_inputs : most));
    if (count > 1 && node->opset <= last_single_input(rule, node->op))
        return itg_map_fail(node, err, ITG_BAD_FILE, "it has %d inputs; opset %d has 1", (int)count,
                            (int)node->opset);
    int32_t required = most < 0 ? count : info->min_inputs;
    for (int32_t i = 0; i < required; i++)
        if (node->inputs[i] == ITG_NONE)
            return itg_map_fail(node, err, ITG_BAD_FILE, "input %d is left out", (int)i);
    return ITG_OK;
}

itg_status itg_map_apply(itg_map_node *node, itg_error *err)
{
    int32_t count;
    const itg_op_rule *rule = rule_of(node->op);
    const itg_attr *attr = itg_op_attrs(node->op, &count);
    itg_status status = check_inputs(rule, node, err);
    if (status == ITG_OK) status = check_known(rule, node, err);
    for (int32_t i = 0; status == ITG_OK && i < count; i++)
        status = read_attr(&attr[i], node, err);
    for (const itg_file_attr *a = rule->attrs; status == ITG_OK && a->name; a++)
        status = check_file_attr(a, node, err);
    if (status == ITG_OK && rule->map) status = rule->map(node, err);
    return status;
}
