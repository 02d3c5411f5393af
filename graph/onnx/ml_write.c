#include "graph/onnx/ml_write.h"
#include <string.h>
#include "graph/onnx/file_nodes.h"
#include "graph/onnx/file_read.h"
#include "graph/onnx/inline.h"

enum { OPSET = 18 };

/* ---- failures ---- */

void itg_ml_fail(itg_ml *m, itg_status code, const char *format, ...)
{
    char text[320];
    va_list arguments;
    if (m->status != ITG_OK) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    m->status = itg_fail(m->err, code, "%.200s: node %d '%.80s' (%.60s): %s", m->file->source,
                         (int)m->index, m->node->name, m->node->op_type, text);
}

static void *alloc(itg_ml *m, size_t count, size_t size)
{
    void *out = m->status == ITG_OK ? itg_arena_array(m->file->arena, count, size) : NULL;
    if (!out && m->status == ITG_OK) m->status = itg_onnx_file_no_memory(m->file, m->err);
    return out;
}

float *itg_ml_array(itg_ml *m, int64_t count)
{
    return alloc(m, (size_t)count, sizeof(float));
}

/* ---- nodes ---- */

void itg_ml_keep(itg_ml *m, const itg_onnx_node *node)
{
    if (m->status != ITG_OK) return;
    if (m->count == ITG_MOST_NODES) {
        itg_ml_fail(m, ITG_LIMIT, "more than %d nodes", ITG_MOST_NODES);
        return;
    }
    if (m->count == m->room) {
        const int32_t room = m->room ? 2 * m->room : 64;
        itg_onnx_node *larger = alloc(m, (size_t)room, sizeof *larger);
        if (!larger) return;
        if (m->count > 0) memcpy(larger, m->nodes, (size_t)m->count * sizeof *larger);
        m->nodes = larger;
        m->room = room;
    }
    m->nodes[m->count++] = *node;
}

/* "node/Op", and a number where there is such a value. */
const char *itg_ml_name(itg_ml *m, const char *op)
{
    const char *base = *m->node->name ? m->node->name : m->node->op_type;
    const char *wanted = itg_arena_format(m->file->arena, "%s/%s", base, op);
    const char *name = wanted ? itg_names_unique(&m->values, wanted, 0) : NULL;
    if (!name) alloc(m, SIZE_MAX / 16, 16); /* fails, and so records that there is no memory */
    return name ? name : "";
}

/* Adds a node; keeps a pointer to inputs. out NULL: a new value. */
static const char *add(itg_ml *m, const char *op, const char *const *inputs, int32_t count,
                       itg_onnx_attr *attrs, int32_t attr_count, const char *out)
{
    const char **outputs = alloc(m, 1, sizeof *outputs);
    if (!outputs) return "";
    outputs[0] = out ? out : itg_ml_name(m, op);
    itg_onnx_node node = {.domain = "",
                          .op_type = op,
                          .overload = "",
                          .name = outputs[0],
                          .in_branch = m->node->in_branch,
                          .opset = OPSET,
                          .input_count = count,
                          .output_count = 1,
                          .attr_count = attr_count,
                          .inputs = inputs,
                          .outputs = outputs,
                          .attrs = attrs};
    if (m->status == ITG_OK) m->status = itg_onnx_index_attributes(m->file->arena, &node, m->err);
    itg_ml_keep(m, &node);
    return m->status == ITG_OK ? outputs[0] : "";
}

const char *itg_ml_add(itg_ml *m, const itg_ml_new *node)
{
    const char **inputs = alloc(m, 3, sizeof *inputs);
    itg_onnx_attr *attrs = alloc(m, 2, sizeof *attrs);
    int32_t count = 0, attr_count = 0;
    if (!inputs || !attrs) return "";
    for (; count < 3 && node->in[count]; count++)
        inputs[count] = node->in[count];
    for (; attr_count < 2 && node->attr[attr_count]; attr_count++)
        attrs[attr_count] = (itg_onnx_attr){
            .name = node->attr[attr_count], .type = ITG_ATTR_INT, .i = node->value[attr_count]};
    return add(m, node->op, inputs, count, attrs, attr_count, node->out);
}

const char *itg_ml_concat(itg_ml *m, const char *const *inputs, int32_t count)
{
    itg_onnx_attr *axis = alloc(m, 1, sizeof *axis);
    if (!axis) return "";
    *axis = (itg_onnx_attr){.name = "axis", .type = ITG_ATTR_INT, .i = 1};
    return add(m, "Concat", inputs, count, axis, 1, NULL);
}

const char *itg_ml_constant(itg_ml *m, const itg_tensor *tensor)
{
    itg_onnx_attr *value = alloc(m, 1, sizeof *value);
    if (!value) return "";
    *value = (itg_onnx_attr){.name = "value", .type = ITG_ATTR_TENSOR, .tensor = *tensor};
    return add(m, "Constant", NULL, 0, value, 1, NULL);
}

const char *itg_ml_floats(itg_ml *m, int64_t rows, int64_t columns, const float *data)
{
    itg_tensor t = {
        .dtype = ITG_F32,
        .shape = {.rank = rows > 0 ? 2 : 1, .dims = {rows > 0 ? rows : columns, columns}},
        .data = (void *)(uintptr_t)data};
    return itg_ml_constant(m, &t);
}

const char *itg_ml_scalar(itg_ml *m, float value)
{
    float *copy = itg_ml_array(m, 1);
    if (!copy) return "";
    *copy = value;
    itg_tensor t = {.dtype = ITG_F32, .shape = {.rank = 0}, .data = copy};
    return itg_ml_constant(m, &t);
}

const char *itg_ml_gemm(itg_ml *m, const char *x, int64_t rows, int64_t columns,
                        const float *weights, const float *bias, const char *out)
{
    itg_ml_new node = {.op = "Gemm", .out = out, .attr = {"transB"}, .value = {1}};
    node.in[0] = x;
    node.in[1] = itg_ml_floats(m, rows, columns, weights);
    if (bias) node.in[2] = itg_ml_floats(m, 0, rows, bias);
    return itg_ml_add(m, &node);
}

/* 1: TensorProto.FLOAT. */
const char *itg_ml_input(itg_ml *m)
{
    if (m->node->input_count < 1 || !*m->node->inputs[0]) {
        itg_ml_fail(m, ITG_BAD_FILE, "it has no input");
        return "";
    }
    return itg_ml_add(
        m, &(itg_ml_new){.op = "Cast", .in = {m->node->inputs[0]}, .attr = {"to"}, .value = {1}});
}

const char *itg_ml_output(const itg_ml *m, int32_t index)
{
    return index < m->node->output_count && *m->node->outputs[index] ? m->node->outputs[index]
                                                                     : NULL;
}

/* ---- attributes ---- */

static const itg_onnx_attr *get(itg_ml *m, const char *name, int type, const char *what)
{
    const itg_onnx_attr *attr = itg_onnx_attr_find(m->node, name);
    if (!attr || (int)attr->type == type) return attr;
    if (attr->type != ITG_ATTR_OTHER) /* a list without elements may state no type */
        itg_ml_fail(m, ITG_BAD_FILE, "attribute '%s' is not %s", name, what);
    return NULL;
}

const float *itg_ml_get_floats(itg_ml *m, const char *name, int64_t *count)
{
    const itg_onnx_attr *attr = get(m, name, ITG_ATTR_FLOATS, "a list of floats");
    *count = attr ? attr->count : 0;
    return attr ? attr->floats : NULL;
}

const int64_t *itg_ml_get_ints(itg_ml *m, const char *name, int64_t *count)
{
    const itg_onnx_attr *attr = get(m, name, ITG_ATTR_INTS, "a list of integers");
    *count = attr ? attr->count : 0;
    return attr ? attr->ints : NULL;
}

const char *const *itg_ml_get_strings(itg_ml *m, const char *name, int64_t *count)
{
    const itg_onnx_attr *attr = get(m, name, ITG_ATTR_STRINGS, "a list of strings");
    *count = attr ? attr->count : 0;
    return attr ? attr->strings : NULL;
}

int64_t itg_ml_get_int(itg_ml *m, const char *name, int64_t preset)
{
    const itg_onnx_attr *attr = get(m, name, ITG_ATTR_INT, "an integer");
    return attr ? attr->i : preset;
}

float itg_ml_get_float(itg_ml *m, const char *name, float preset)
{
    const itg_onnx_attr *attr = get(m, name, ITG_ATTR_FLOAT, "a float");
    return attr ? attr->f : preset;
}

const char *itg_ml_get_string(itg_ml *m, const char *name, const char *preset)
{
    const itg_onnx_attr *attr = get(m, name, ITG_ATTR_STRING, "a string");
    return attr ? attr->s : preset;
}

/* ---- classes ---- */

itg_ml_classes itg_ml_get_classes(itg_ml *m, const char *ints)
{
    itg_ml_classes c = {0};
    c.labels = itg_ml_get_ints(m, ints, &c.count);
    if (c.count == 0) {
        c.labels = NULL;
        (void)itg_ml_get_strings(m, "classlabels_strings", &c.count);
    }
    return c;
}

static bool is_counted(const itg_ml_classes *c)
{
    for (int64_t i = 0; c->labels && i < c->count; i++)
        if (c->labels[i] != i) return false;
    return true;
}

static void write_label(itg_ml *m, const itg_ml_classes *classes, const char *votes)
{
    const char *out = itg_ml_output(m, 0);
    if (!out) return;
    const char *index = itg_ml_add(m, &(itg_ml_new){.op = "ArgMax",
                                                    .in = {votes},
                                                    .out = is_counted(classes) ? out : NULL,
                                                    .attr = {"axis", "keepdims"},
                                                    .value = {1, 0}});
    if (is_counted(classes)) return;
    itg_tensor t = {.dtype = ITG_S64,
                    .shape = {.rank = 1, .dims = {classes->count}},
                    .data = (void *)(uintptr_t)classes->labels};
    const char *labels = itg_ml_constant(m, &t);
    itg_ml_add(m, &(itg_ml_new){.op = "Gather", .in = {labels, index}, .out = out});
}

void itg_ml_write_classes(itg_ml *m, const itg_ml_classes *classes, const char *votes,
                          const char *scores)
{
    const char *out = itg_ml_output(m, 1);
    write_label(m, classes, votes);
    if (out) itg_ml_transform(m, scores, out);
}

const char *itg_ml_two(itg_ml *m, const char *score, bool from_one)
{
    static const float signs[2] = {-1, 1};
    static const float bias[2][2] = {{0, 0}, {1, 0}};
    return itg_ml_gemm(m, score, 2, 1, signs, bias[from_one], NULL);
}

void itg_ml_write_binary(itg_ml *m, const itg_ml_classes *classes, const char *score,
                         bool votes_from_one, bool scores_from_one)
{
    const char *out = itg_ml_output(m, 1);
    const char *votes = itg_ml_two(m, score, votes_from_one);
    const char *scores =
        votes_from_one == scores_from_one ? votes : itg_ml_two(m, score, scores_from_one);
    const bool plain = strcmp(itg_ml_get_string(m, "post_transform", "NONE"), "SOFTMAX") == 0;
    write_label(m, classes, votes);
    if (out && plain)
        itg_ml_add(m, &(itg_ml_new){.op = "Identity", .in = {scores}, .out = out});
    else if (out)
        itg_ml_transform(m, scores, out);
}

void itg_ml_transform(itg_ml *m, const char *scores, const char *out)
{
    const char *name = itg_ml_get_string(m, "post_transform", "NONE");
    itg_ml_new node = {.in = {scores}, .out = out};
    if (strcmp(name, "NONE") == 0) {
        node.op = "Identity";
    } else if (strcmp(name, "LOGISTIC") == 0) {
        node.op = "Sigmoid";
    } else if (strcmp(name, "SOFTMAX") == 0) {
        node.op = "Softmax";
        node.attr[0] = "axis";
        node.value[0] = -1;
    } else {
        itg_ml_fail(m, ITG_UNSUPPORTED,
                    "post_transform '%.40s'; NONE, LOGISTIC and SOFTMAX are supported", name);
        return;
    }
    itg_ml_add(m, &node);
}
