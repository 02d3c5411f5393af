#include "make.h"
#include <math.h>
#include <stdlib.h>
#include "graph/passes.h"
#include "kernels/float_ops.h"

itg_shape shape_of(const char *text)
{
    itg_shape shape = {0};
    while (*text) {
        char *end;
        shape.dims[shape.rank++] = strtoll(text, &end, 10);
        text = *end ? end + 1 : end;
    }
    return shape;
}

itg_graph *make_graph(void)
{
    itg_graph *g = NULL;
    assert_int_equal(itg_graph_create("net.onnx", &g, NULL), ITG_OK);
    return g;
}

static void fill(const char *name, float *data, int64_t count)
{
    itg_rng rng;
    uint64_t seed = 1;
    for (; *name; ++name)
        seed = seed * 31 + (unsigned char)*name;
    itg_rng_init(&rng, seed);
    for (int64_t i = 0; i < count; ++i)
        data[i] = (float)(itg_rng_unit(&rng) * 2 - 1);
}

itg_id add_input(itg_graph *g, const char *name, const char *shape)
{
    itg_shape s = shape_of(shape);
    itg_id id, inputs[8];
    itg_error err = {0};
    if (itg_graph_add_value(g, name, ITG_F32, &s, NULL, &id, &err)) fail_msg("%s", err.message);
    for (int32_t i = 0; i < g->input_count; ++i)
        inputs[i] = g->inputs[i];
    inputs[g->input_count] = id;
    assert_int_equal(itg_graph_set_inputs(g, inputs, g->input_count + 1, NULL), ITG_OK);
    return id;
}

itg_id add_floats(itg_graph *g, const char *name, const char *shape, const float *data)
{
    itg_shape s = shape_of(shape);
    int64_t count = 0;
    itg_id id;
    itg_error err = {0};
    assert_true(itg_shape_elements(&s, &count));
    float *filled = malloc((size_t)(count + 1) * sizeof *filled);
    assert_non_null(filled);
    fill(name, filled, count);
    if (itg_graph_add_value(g, name, ITG_F32, &s, data ? data : filled, &id, &err))
        fail_msg("%s", err.message);
    free(filled);
    return id;
}

itg_id add_ints(itg_graph *g, const char *name, int32_t count, const int64_t *data)
{
    itg_shape s = {.rank = 1, .dims = {count}};
    itg_id id;
    assert_int_equal(itg_graph_add_value(g, name, ITG_S64, &s, data, &id, NULL), ITG_OK);
    return id;
}

itg_id add_op(itg_graph *g, itg_op op, const char *name, const itg_attrs *attrs, int32_t count,
              const itg_id *inputs)
{
    itg_id value, node;
    itg_error err = {0};
    if (itg_graph_add_value(g, name, ITG_F32, NULL, NULL, &value, &err) ||
        itg_graph_add_node(g, name, op, inputs, count, &value, 1, attrs, &node, &err))
        fail_msg("%s", err.message);
    return value;
}

void set_output(itg_graph *g, itg_id value)
{
    assert_int_equal(itg_graph_set_outputs(g, &value, 1, NULL), ITG_OK);
}

void set_opset(itg_graph *g, int32_t opset)
{
    for (int32_t i = 0; i < g->node_count; ++i)
        g->nodes[i].opset = opset;
}

int32_t count_of(const itg_graph *g, itg_op op)
{
    int32_t count = 0;
    for (int32_t i = 0; i < g->node_count; ++i)
        count += g->nodes[i].op == op;
    return count;
}

itg_id only(const itg_graph *g, itg_op op)
{
    itg_id found = ITG_NONE;
    assert_int_equal(count_of(g, op), 1);
    for (int32_t i = 0; i < g->node_count; ++i)
        if (g->nodes[i].op == op) found = i;
    return found;
}

const float *floats_at(const itg_graph *g, itg_id node, int32_t slot)
{
    assert_true(slot < g->nodes[node].input_count);
    itg_id id = g->nodes[node].inputs[slot];
    assert_true(itg_graph_is_constant(g, id));
    assert_int_equal(g->values[id].dtype, ITG_F32);
    return g->values[id].data;
}

itg_status infer_all(itg_graph *g, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < g->node_count && status == ITG_OK; ++i)
        status = itg_infer_node(g, i, err);
    return status;
}

itg_graph *prepared(const itg_graph *g, bool equalize)
{
    itg_prepare_options options = {.eval = itg_float_eval,
                                   .model.keep_softmax = true,
                                   .keep_batch = true,
                                   .model.no_equalize = !equalize};
    itg_graph *out = NULL;
    itg_error err = {0};
    if (itg_graph_prepare(g, &options, &out, &err)) fail_msg("%s", err.message);
    return out;
}

static void evaluate_node(const itg_graph *g, itg_id id, itg_tensor *tensors)
{
    const itg_node *n = &g->nodes[id];
    itg_tensor inputs[32] = {0}, outputs[32] = {0};
    itg_error err = {0};
    assert_true(n->input_count <= 32 && n->output_count <= 32);
    for (int32_t i = 0; i < n->input_count; ++i)
        if (n->inputs[i] != ITG_NONE) inputs[i] = tensors[n->inputs[i]];
    for (int32_t i = 0; i < n->output_count; ++i)
        if (n->outputs[i] != ITG_NONE) outputs[i] = tensors[n->outputs[i]];
    if (itg_float_eval(n->op, &n->attrs, inputs, n->input_count, outputs, n->output_count, &err))
        fail_msg("%s: %s", n->name, err.message);
}

float *evaluate(const itg_graph *g, int64_t *count)
{
    itg_tensor *tensors = calloc((size_t)g->value_count + 1, sizeof *tensors);
    assert_non_null(tensors);
    *count = 0;
    for (int32_t i = 0; i < g->value_count; ++i) {
        tensors[i] = itg_graph_tensor(g, i);
        if (!tensors[i].data) tensors[i].data = calloc(1, itg_tensor_bytes(&tensors[i]) + 1);
    }
    for (int32_t i = 0; i < g->input_count; ++i) {
        itg_id id = g->inputs[i];
        fill(g->values[id].name, tensors[id].data, (int64_t)itg_tensor_bytes(&tensors[id]) / 4);
    }
    for (int32_t i = 0; i < g->node_count; ++i)
        evaluate_node(g, i, tensors);
    for (int32_t i = 0; i < g->output_count; ++i) {
        assert_int_equal(tensors[g->outputs[i]].dtype, ITG_F32);
        *count += (int64_t)itg_tensor_bytes(&tensors[g->outputs[i]]) / 4;
    }
    float *all = malloc((size_t)(*count + 1) * sizeof *all), *to = all;
    assert_non_null(all);
    for (int32_t i = 0; i < g->output_count; ++i) {
        size_t bytes = itg_tensor_bytes(&tensors[g->outputs[i]]);
        memcpy(to, tensors[g->outputs[i]].data, bytes);
        to += bytes / 4;
    }
    for (int32_t i = 0; i < g->value_count; ++i)
        if (!g->values[i].data) free(tensors[i].data);
    free(tensors);
    return all;
}

void assert_same_function(const itg_graph *a, const itg_graph *b, double tolerance)
{
    int64_t ca, cb;
    float *ya = evaluate(a, &ca), *yb = evaluate(b, &cb);
    double largest = 0, difference = 0;
    assert_int_equal(ca, cb);
    for (int64_t i = 0; i < ca; ++i) {
        assert_true(isfinite(ya[i]) && isfinite(yb[i]));
        largest = fmax(largest, fabs((double)ya[i]));
        difference = fmax(difference, fabs((double)ya[i] - (double)yb[i]));
    }
    assert_true(largest > 0); /* a function that is zero proves nothing */
    if (tolerance == 0) assert_memory_equal(ya, yb, (size_t)ca * sizeof *ya);
    if (!(difference <= tolerance * largest))
        fail_msg("outputs differ by %g, the largest is %g", difference, largest);
    free(ya);
    free(yb);
}

void assert_keeps_function(const itg_graph *g, const itg_graph *prepared_graph, double tolerance)
{
    itg_graph *plain = NULL;
    itg_error err = {0};
    bool changed = false;
    assert_int_equal(itg_graph_clone(g, &plain, NULL), ITG_OK);
    if (itg_pass_fold(plain, itg_float_eval, 1, &err)) fail_msg("%s", err.message);
    assert_int_equal(itg_pass_nodes(plain, itg_pass_old_softmax, &changed, NULL), ITG_OK);
    assert_int_equal(itg_graph_sort(plain, NULL), ITG_OK);
    assert_same_function(plain, prepared_graph, tolerance);
    itg_graph_destroy(plain);
}
