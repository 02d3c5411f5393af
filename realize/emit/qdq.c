/* Writes the QDQ model of an annotated graph, in one pass in the graph's order: each node's
 * operator on float tensors, then QuantizeLinear for every encoding of its output. */
#include "realize/emit/qdq.h"
#include <string.h>

enum { MIN_OPSET = 13, WIDE_OPSET = 21 }; /* axis of QuantizeLinear; 16 and 4 bits */

/* ---- building ---- */

bool itg_qdq_ok(const itg_qdq *q)
{
    return q->status == ITG_OK;
}

void itg_qdq_fail(itg_qdq *q, itg_status status, itg_id node, const char *what)
{
    if (q->status != ITG_OK) return;
    q->status = status;
    if (node == ITG_NONE)
        itg_fail(q->err, status, "%s: %s", q->g->name, what);
    else
        itg_fail(q->err, status, "%s: node '%s' (%s): %s", q->g->name, q->g->nodes[node].name,
                 itg_op_name(q->g->nodes[node].op), what);
}

void *itg_qdq_alloc(itg_qdq *q, int64_t count, size_t size)
{
    void *memory = itg_arena_array(q->arena, count > 0 ? (size_t)count : 1, size);
    if (memory == NULL) itg_qdq_fail(q, ITG_NO_MEMORY, ITG_NONE, "no memory to write it");
    return memory;
}

static const char *unique(itg_qdq *q, itg_names *names, const char *wanted)
{
    const char *name = wanted != NULL ? itg_names_unique(names, wanted, 0) : NULL;
    if (name == NULL) itg_qdq_fail(q, ITG_NO_MEMORY, ITG_NONE, "no memory for names");
    return name;
}

const char *itg_qdq_node_name(itg_qdq *q, const char *wanted)
{
    return unique(q, &q->node_names, wanted);
}

const char *itg_qdq_name(itg_qdq *q, const char *base, const char *suffix)
{
    if (!itg_qdq_ok(q)) return NULL;
    return unique(q, &q->names,
                  suffix == NULL ? base : itg_arena_format(q->arena, "%s/%s", base, suffix));
}

const char *itg_qdq_add(itg_qdq *q, const char *op, const char *name, const char *const *inputs,
                        int32_t count, const char *output)
{
    if (!itg_qdq_ok(q) || output == NULL) return NULL;
    if (name == NULL) name = itg_arena_format(q->arena, "%s/%s", output, op);
    name = itg_qdq_node_name(q, name);
    if (name == NULL) return NULL;
    itg_onnx_writer_node(q->w, "", op, name, inputs, count, &output, 1);
    return output;
}

const char *itg_qdq_constant(itg_qdq *q, const char *base, const char *suffix,
                             const itg_tensor *tensor)
{
    const char *name = itg_qdq_name(q, base, suffix);
    if (name != NULL) itg_onnx_writer_initializer(q->w, name, tensor);
    return name;
}

const char *itg_qdq_list(itg_qdq *q, const char *base, const char *suffix, itg_dtype dtype,
                         const void *values, int32_t count)
{
    itg_tensor t = {dtype, {1, {count}}, (void *)(uintptr_t)values};
    return itg_qdq_constant(q, base, suffix, &t);
}

const char *itg_qdq_float(itg_qdq *q, const char *base, const char *suffix, float value)
{
    itg_tensor t = {ITG_F32, {0, {0}}, &value};
    return itg_qdq_constant(q, base, suffix, &t);
}

itg_shape itg_qdq_shape(const itg_qdq *q, itg_id value)
{
    itg_shape shape = q->g->values[value].shape;
    if (q->any_batch && q->batch_axis[value] != ITG_NONE) shape.dims[q->batch_axis[value]] = -1;
    return shape;
}

/* ---- setting up ---- */

/* Returns the lowest opset that supports an encoding. Constants of 4 bits are stored in 4 bits. */
static int64_t encoding_opset(const itg_encoding *v, bool constant)
{
    if (v->is_float) return MIN_OPSET;
    size_t bytes = itg_dtype_size(itg_qdq_dtype(&v->q));
    bool four = constant && v->q.is_signed && itg_qdq_is_four_bits(&v->q);
    return bytes == 2 || four ? WIDE_OPSET : MIN_OPSET;
}

static void find_opset(itg_qdq *q)
{
    q->opset = MIN_OPSET;
    for (itg_id v = 0; v < q->g->value_count; v++)
        for (int32_t i = 0; i < q->a->values[v].encoding_count; i++) {
            bool constant = itg_graph_is_constant(q->g, v);
            int64_t needs = encoding_opset(&q->a->values[v].encodings[i], constant);
            if (needs > q->opset) q->opset = needs;
        }
    for (itg_id n = 0; n < q->g->node_count; n++) {
        int64_t needs = itg_qdq_min_opset(q->g, n);
        if (needs == 0) itg_qdq_fail(q, ITG_UNSUPPORTED, n, "it cannot be written as ONNX");
        if (needs > q->opset) q->opset = needs;
    }
}

static void allocate(itg_qdq *q)
{
    q->names.arena = q->node_names.arena = q->arena;
    q->made = itg_qdq_alloc(q, q->g->value_count, sizeof *q->made);
    q->shown = itg_qdq_alloc(q, q->g->value_count, sizeof *q->shown);
    q->batch_axis = itg_qdq_alloc(q, q->g->value_count, sizeof *q->batch_axis);
    for (itg_id v = 0; v < q->g->value_count && itg_qdq_ok(q); v++) {
        q->made[v] = itg_qdq_alloc(q, q->a->values[v].encoding_count, sizeof **q->made);
        q->shown[v] = ITG_NONE;
    }
}

/* The model's inputs and outputs keep their names. */
static void reserve_names(itg_qdq *q)
{
    bool ok = true;
    for (int32_t i = 0; i < q->g->input_count; i++)
        ok = ok && itg_names_put(&q->names, q->g->values[q->g->inputs[i]].name, 0);
    for (int32_t i = 0; i < q->g->output_count; i++) {
        itg_id v = q->g->outputs[i];
        const itg_edge *e = itg_annotated_edge(q->a, ITG_NONE, i);
        ok = ok && itg_names_put(&q->names, q->g->values[v].name, 0);
        if (q->g->values[v].producer == ITG_NONE || q->shown[v] != ITG_NONE)
            itg_qdq_fail(q, ITG_UNSUPPORTED, ITG_NONE,
                         "an output that is an input, a constant, or another output");
        else if (e == NULL || e->encoding < 0 || e->encoding >= q->a->values[v].encoding_count)
            itg_qdq_fail(q, ITG_MISMATCH, ITG_NONE, "an output that carries no tensor");
        else
            q->shown[v] = e->encoding;
    }
    if (!ok) itg_qdq_fail(q, ITG_NO_MEMORY, ITG_NONE, "no memory for names");
}

static void set_up(itg_qdq *q, bool any_batch)
{
    allocate(q);
    if (!itg_qdq_ok(q)) return;
    reserve_names(q);
    find_opset(q);
    q->any_batch = any_batch && itg_qdq_find_batch(q->g, q->batch_axis);
}

/* ---- inputs and outputs ---- */

static void write_input(itg_qdq *q, itg_id value)
{
    const itg_value *v = &q->g->values[value];
    const itg_value_note *note = &q->a->values[value];
    itg_shape shape = itg_qdq_shape(q, value);
    if (!itg_qdq_ok(q)) return;
    itg_onnx_writer_input(q->w, v->name, v->dtype, &shape);
    for (int32_t i = 0; i < note->encoding_count; i++) {
        const itg_quantizer *z = &note->encodings[i].q;
        if (note->encodings[i].is_float)
            q->made[value][i].real = v->name;
        else
            itg_qdq_quantize(q, v->name, value, i, z->qmin, z->qmax, NULL);
    }
}

/* Its float tensor has the output's name already, unless it is codes. */
static void write_output(itg_qdq *q, int32_t index)
{
    itg_id value = q->g->outputs[index];
    const itg_value *v = &q->g->values[value];
    if (!itg_qdq_ok(q)) return;
    itg_qdq_tensor *t = &q->made[value][q->shown[value]];
    itg_shape shape = itg_qdq_shape(q, value);
    if (t->codes != NULL)
        itg_qdq_dequantize(q, t, v->name);
    else if (t->real == NULL)
        itg_qdq_fail(q, ITG_MISMATCH, ITG_NONE, "an output is never made");
    else if (strcmp(t->real, v->name) != 0)
        itg_qdq_add(q, "Identity", NULL, &t->real, 1, v->name);
    itg_onnx_writer_output(q->w, v->name, v->dtype, &shape);
}

/* ---- nodes ---- */

/* Whether the encoding is a float output of the model. */
static bool is_output(const itg_qdq *q, itg_id value, int32_t encoding)
{
    return q->shown[value] == encoding && q->a->values[value].encodings[encoding].is_float;
}

/* Returns a name for a float result, from the value's name. Only one tensor has an output's name.
 */
static const char *real_name(itg_qdq *q, itg_id value, bool output)
{
    const char *name = q->g->values[value].name;
    if (output) return name;
    return itg_qdq_name(q, name, q->shown[value] != ITG_NONE ? "float" : NULL);
}

static const char **read_inputs(itg_qdq *q, itg_id node, int32_t count)
{
    const itg_node *n = &q->g->nodes[node];
    const char **inputs = itg_qdq_alloc(q, count, sizeof *inputs);
    for (int32_t i = 0; i < count && itg_qdq_ok(q); i++)
        if (n->inputs[i] != ITG_NONE) inputs[i] = itg_qdq_read(q, node, i);
    return inputs;
}

/* Of what all encodings come from. */
static const char *whole_name(itg_qdq *q, itg_id value)
{
    int32_t shown = q->shown[value];
    return real_name(q, value, shown != ITG_NONE && is_output(q, value, shown));
}

/* A float MatMul that adds a bias, which ONNX's has none of. */
static void write_biased(itg_qdq *q, itg_id node, const char *const *inputs, const char *output)
{
    const char *base = q->g->values[q->g->nodes[node].outputs[0]].name;
    const char *product = itg_qdq_name(q, base, "product");
    if (!itg_qdq_ok(q)) return;
    itg_qdq_operator(q, node, inputs, 2, &product, 1, 0);
    itg_qdq_add(q, "Add", NULL, (const char *[]){product, inputs[2]}, 2, output);
}

/* Operators that are the same on real numbers and on codes, and float nodes: one node; every
 * encoding comes from what it makes. */
static void write_whole(itg_qdq *q, itg_id node)
{
    const itg_node *n = &q->g->nodes[node];
    bool keeps = q->a->nodes[node].form == ITG_FORM_KEEP;
    const char **inputs = read_inputs(q, node, n->input_count);
    const char **outputs = itg_qdq_alloc(q, n->output_count, sizeof *outputs);
    for (int32_t i = 0; i < n->output_count && itg_qdq_ok(q); i++)
        outputs[i] = n->outputs[i] == ITG_NONE ? "" : whole_name(q, n->outputs[i]);
    if (!itg_qdq_ok(q)) return;
    if (n->op == ITG_OP_MATMUL && n->input_count > 2 && inputs[2] != NULL)
        write_biased(q, node, inputs, outputs[0]);
    else
        itg_qdq_operator(q, node, inputs, n->input_count, outputs, n->output_count, 0);
    for (int32_t i = 0; i < n->output_count && itg_qdq_ok(q); i++) {
        if (n->outputs[i] == ITG_NONE) continue;
        const itg_value_note *note = &q->a->values[n->outputs[i]];
        for (int32_t k = 0; k < note->encoding_count; k++) {
            const itg_quantizer *z = &note->encodings[k].q;
            if (note->encodings[k].is_float)
                q->made[n->outputs[i]][k].real = outputs[i];
            else if (keeps) /* codes that are moved stay in range */
                itg_qdq_quantize(q, outputs[i], n->outputs[i], k, itg_dtype_min(itg_qdq_dtype(z)),
                                 itg_dtype_max(itg_qdq_dtype(z)), NULL);
            else
                itg_qdq_quantize(q, outputs[i], n->outputs[i], k, z->qmin, z->qmax, NULL);
        }
    }
}

static const char *write_rows(itg_qdq *q, itg_id node, const char *bias)
{
    const itg_node *n = &q->g->nodes[node];
    const itg_shape *x = &q->g->values[n->inputs[0]].shape;
    const char *inputs[3] = {NULL, NULL, bias};
    inputs[0] = x->rank == 2 ? itg_qdq_read(q, node, 0)
                             : itg_qdq_read_rows(q, node, 0, x->dims[x->rank - 1]);
    inputs[1] = itg_qdq_read(q, node, 1);
    return itg_qdq_add(q, "Gemm", n->name, inputs, 3, itg_qdq_name(q, n->name, "rows"));
}

static const char *write_operator(itg_qdq *q, itg_id node, const char *bias, int32_t copy,
                                  const char *output)
{
    const itg_node *n = &q->g->nodes[node];
    bool mac = q->a->nodes[node].form == ITG_FORM_MAC;
    bool apart = bias != NULL && n->op == ITG_OP_MATMUL; /* MatMul has no bias in ONNX */
    int32_t count = mac ? 2 : n->input_count;
    const char **inputs = read_inputs(q, node, count);
    if (!itg_qdq_ok(q) || output == NULL) return NULL;
    const char *three[3] = {inputs[0], count > 1 ? inputs[1] : NULL, bias};
    if (bias != NULL && !apart) {
        itg_qdq_operator(q, node, three, 3, &output, 1, copy);
        return itg_qdq_ok(q) ? output : NULL;
    }
    const char *result = apart ? itg_qdq_name(q, n->name, "product") : output;
    itg_qdq_operator(q, node, inputs, count, &result, 1, copy);
    if (apart) itg_qdq_add(q, "Add", NULL, (const char *[]){result, bias}, 2, output);
    return itg_qdq_ok(q) ? output : NULL;
}

/* One copy of a rounded operator, made for one encoding. A fused activation is the range of codes;
 * floats need it as a node. */
static void write_encoding(itg_qdq *q, itg_id node, itg_id value, int32_t encoding,
                           const char *bias)
{
    const itg_node_note *note = &q->a->nodes[node];
    const itg_encoding *v = &q->a->values[value].encodings[encoding];
    itg_shape shape = itg_qdq_shape(q, value);
    bool rows = itg_qdq_is_rows(q->a, node), reshaped = rows && shape.rank != 2;
    bool activated = v->is_float && note->activation != ITG_NONE;
    bool output = is_output(q, value, encoding);
    const char *real =
        rows ? write_rows(q, node, bias)
             : write_operator(q, node, bias, encoding, real_name(q, value, output && !activated));
    if (!v->is_float) {
        bool lut = note->form == ITG_FORM_LUT;
        itg_qdq_quantize(q, real, value, encoding, lut ? v->q.qmin : v->clamp_lo,
                         lut ? v->q.qmax : v->clamp_hi, reshaped ? &shape : NULL);
        return;
    }
    if (reshaped) real = itg_qdq_reshape(q, real, &shape, q->g->values[value].name, "shaped");
    if (activated)
        real = itg_qdq_activation(q, note->activation, real, real_name(q, value, output));
    q->made[value][encoding].real = real;
}

/* Nodes whose result is rounded: an operator for each encoding, because integer kernels are chosen
 * for an operator with one QuantizeLinear behind it. */
static void write_native(itg_qdq *q, itg_id node)
{
    const itg_node_note *note = &q->a->nodes[node];
    itg_id value = note->form == ITG_FORM_LUT ? q->g->nodes[node].outputs[0] : note->out_value;
    int32_t count = q->a->values[value].encoding_count;
    const char *bias = note->form == ITG_FORM_MAC && count > 0 ? itg_qdq_bias(q, node) : NULL;
    for (int32_t i = 0; i < count && itg_qdq_ok(q); i++)
        write_encoding(q, node, value, i, bias);
}

static void write_node(itg_qdq *q, itg_id node)
{
    if (!itg_qdq_ok(q)) return;
    switch (q->a->nodes[node].form) {
    case ITG_FORM_FUSED:
        return;
    case ITG_FORM_FLOAT:
    case ITG_FORM_KEEP:
        write_whole(q, node);
        return;
    default:
        write_native(q, node);
    }
}

/* ---- the whole ---- */

static void write_all(itg_qdq *q, const itg_qdq_options *options)
{
    set_up(q, options->any_batch);
    for (int32_t i = 0; i < q->g->input_count; i++)
        write_input(q, q->g->inputs[i]);
    for (itg_id n = 0; n < q->g->node_count; n++)
        write_node(q, n);
    for (int32_t i = 0; i < q->g->output_count; i++)
        write_output(q, i);
    itg_onnx_writer_opset(q->w, "", q->opset);
    for (int32_t i = 0; i < options->metadata_count; i++)
        itg_onnx_writer_metadata(q->w, options->metadata[i].key, options->metadata[i].value);
}

itg_status itg_qdq_write(const itg_annotated *a, const itg_qdq_options *options, const char *path,
                         itg_qdq_report **out, itg_error *err)
{
    itg_qdq q = {.a = a, .g = a->graph, .err = err};
    itg_qdq_report *report = NULL;
    q.arena = itg_arena_create(0);
    itg_status status =
        q.arena != NULL ? ITG_OK
                        : itg_fail(err, ITG_NO_MEMORY, "%s: no memory to write it", a->graph->name);
    if (status == ITG_OK) status = itg_onnx_writer_create(a->graph->name, ITG_VERSION, &q.w, err);
    if (status == ITG_OK) {
        write_all(&q, options);
        status = q.status;
    }
    if (status == ITG_OK && out != NULL) status = itg_qdq_report_create(&q, &report, err);
    if (status == ITG_OK) status = itg_onnx_writer_save(q.w, path, err);
    if (status == ITG_OK && out != NULL)
        *out = report;
    else
        itg_qdq_report_destroy(report);
    itg_onnx_writer_destroy(q.w);
    itg_arena_destroy(q.arena);
    return status;
}
