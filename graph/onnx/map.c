#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "graph/internal.h"
#include "graph/onnx/map.h"

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

const itg_op_rule *itg_map_rule(itg_op op)
{
    static const itg_op_family *const families[] = {&itg_map_window, &itg_map_math, &itg_map_reduce,
                                                    &itg_map_shape, &itg_map_slice};
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (int32_t i = 0; i < families[f]->count; i++)
            if (families[f]->rules[i].op == op) return &families[f]->rules[i];
    return NULL;
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

itg_status itg_map_float(const itg_map_node *node, const char *name, float *out, itg_error *err)
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

/* ---- rules ---- */
static itg_status apply_attr(const itg_attr_rule *rule, itg_map_node *node, itg_error *err)
{
    char *to = (char *)&node->attrs + rule->offset;
    int64_t value = 0;
    itg_status status = ITG_OK;
    if (!itg_map_has(node, rule->name)) return ITG_OK;
    if (rule->last_opset > 0 && node->opset > rule->last_opset)
        return itg_map_fail(node, err, ITG_BAD_FILE,
                            "opset %d has no attribute '%s' (the last that has it is %d)",
                            (int)node->opset, rule->name, (int)rule->last_opset);
    switch (rule->kind) {
    case ITG_RULE_INT:
        return itg_map_int(node, rule->name, rule->lo, rule->hi, (int64_t *)(void *)to, err);
    case ITG_RULE_BOOL:
        status = itg_map_int(node, rule->name, 0, 1, &value, err);
        if (status == ITG_OK) *(bool *)to = value != 0;
        return status;
    case ITG_RULE_FLOAT:
        status = itg_map_float(node, rule->name, (float *)(void *)to, err);
        if (status == ITG_OK && !isfinite(*(float *)(void *)to))
            return itg_map_fail(node, err, ITG_UNSUPPORTED, "attribute '%s' is infinite",
                                rule->name);
        return status;
    case ITG_RULE_ONLY:
        return itg_map_int(node, rule->name, rule->lo, rule->hi, &value, err);
    default:
        return ITG_OK;
    }
}

static itg_status check_known(const itg_op_rule *rule, const itg_map_node *node, itg_error *err)
{
    for (int32_t i = 0; i < node->file->attr_count; i++) {
        const itg_onnx_attr *attr = &node->file->attrs[i];
        const itg_attr_rule *known = rule->attrs;
        while (known->name && strcmp(known->name, attr->name) != 0)
            known++;
        if (known->name) continue;
        return itg_map_fail(node, err, ITG_UNSUPPORTED, "attribute '%.60s' is not supported",
                            attr->name);
    }
    return ITG_OK;
}

static itg_status check_inputs(const itg_op_rule *rule, const itg_map_node *node, itg_error *err)
{
    int32_t count = node->input_count;
    if (count < rule->min_inputs || (rule->max_inputs >= 0 && count > rule->max_inputs))
        return itg_map_fail(node, err, ITG_BAD_FILE, "it has %d inputs; %s%d expected", (int)count,
                            count < rule->min_inputs ? "at least " : "at most ",
                            (int)(count < rule->min_inputs ? rule->min_inputs : rule->max_inputs));
    int32_t required = rule->max_inputs < 0 ? count : rule->min_inputs;
    for (int32_t i = 0; i < required; i++)
        if (node->inputs[i] == ITG_NONE)
            return itg_map_fail(node, err, ITG_BAD_FILE, "input %d is left out", (int)i);
    return ITG_OK;
}

itg_status itg_map_apply(const itg_op_rule *rule, itg_map_node *node, itg_error *err)
{
    itg_status status = check_inputs(rule, node, err);
    if (status == ITG_OK) status = check_known(rule, node, err);
    for (const itg_attr_rule *attr = rule->attrs; status == ITG_OK && attr->name; attr++)
        status = apply_attr(attr, node, err);
    if (status == ITG_OK && rule->map) status = rule->map(node, err);
    return status;
}
