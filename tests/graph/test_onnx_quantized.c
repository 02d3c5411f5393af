/* Operators of codes are the float operators between DequantizeLinear and QuantizeLinear that they
 * stand for: a file of either kind gives the same network, to the last bit. */
#include "graph/onnx/onnx_write.h"
#include "kernels/float_ops.h"
#include "make.h"
#include <stdio.h>
#include <stdlib.h>

#define FILE_NAME "quantized.onnx"

static void constant(itg_onnx_writer *w, const char *name, itg_dtype dtype, itg_shape shape,
                     const void *data)
{
    const itg_tensor t = {dtype, shape, (void *)(uintptr_t)data};
    itg_onnx_writer_initializer(w, name, &t);
}

static void node(itg_onnx_writer *w, const char *op, const char *const *in, int32_t count,
                 const char *out)
{
    itg_onnx_writer_node(w, "", op, out, in, count, &out, 1);
}

#define NODE(w, op, out, ...)                                                                      \
    node(w, op, (const char *[]){__VA_ARGS__},                                                     \
         (int32_t)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), out)

static const float scales[4] = {0.25F, 0.5F, 0.125F, 1}, x_scale = 0.01F, y_scale = 0.05F,
                   product = 0.03F;
static const unsigned char zero = 128, low = 3;
static const int32_t bias[4] = {5, -7, 100, 0};

static void put_constants(itg_onnx_writer *w)
{
    static signed char weights[4 * 2 * 9], matrix[5 * 3];
    float *bias_scale = malloc(4 * sizeof *bias_scale);
    for (int i = 0; i < 72; i++)
        weights[i] = (signed char)(i * 37 % 255 - 127);
    for (int i = 0; i < 15; i++)
        matrix[i] = (signed char)(i * 53 % 251 - 125);
    for (int i = 0; i < 4; i++)
        bias_scale[i] = x_scale * scales[i];
    constant(w, "xs", ITG_F32, (itg_shape){0, {0}}, &x_scale);
    constant(w, "ys", ITG_F32, (itg_shape){0, {0}}, &y_scale);
    constant(w, "ps", ITG_F32, (itg_shape){0, {0}}, &product);
    constant(w, "z", ITG_U8, (itg_shape){0, {0}}, &zero);
    constant(w, "low", ITG_U8, (itg_shape){0, {0}}, &low);
    constant(w, "ws", ITG_F32, (itg_shape){1, {4}}, scales);
    constant(w, "wz", ITG_S8, (itg_shape){1, {4}}, (signed char[4]){0});
    constant(w, "w", ITG_S8, (itg_shape){4, {4, 2, 3, 3}}, weights);
    constant(w, "b", ITG_S32, (itg_shape){1, {4}}, bias);
    constant(w, "bs", ITG_F32, (itg_shape){1, {4}}, bias_scale);
    constant(w, "m", ITG_S8, (itg_shape){2, {5, 3}}, matrix);
    constant(w, "mz", ITG_S8, (itg_shape){0, {0}}, (signed char[1]){2});
    free(bias_scale);
}

static void convolve(itg_onnx_writer *w, bool codes)
{
    if (codes) {
        NODE(w, "QLinearConv", "c", "q", "xs", "z", "w", "ws", "wz", "ys", "low", "b");
        itg_onnx_writer_ints(w, "pads", (int64_t[]){1, 1, 1, 1}, 4);
        return;
    }
    NODE(w, "DequantizeLinear", "qf", "q", "xs", "z");
    NODE(w, "DequantizeLinear", "wf", "w", "ws", "wz");
    itg_onnx_writer_int(w, "axis", 0);
    NODE(w, "DequantizeLinear", "bf", "b", "bs");
    itg_onnx_writer_int(w, "axis", 0);
    NODE(w, "Conv", "cf", "qf", "wf", "bf");
    itg_onnx_writer_ints(w, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    NODE(w, "QuantizeLinear", "c", "cf", "ys", "low");
}

static void multiply(itg_onnx_writer *w, bool codes)
{
    if (codes) {
        NODE(w, "QLinearMatMul", "p", "c", "ys", "low", "m", "xs", "mz", "ps", "z");
        return;
    }
    NODE(w, "DequantizeLinear", "cd", "c", "ys", "low");
    NODE(w, "DequantizeLinear", "md", "m", "xs", "mz");
    NODE(w, "MatMul", "pf", "cd", "md");
    NODE(w, "QuantizeLinear", "p", "pf", "ps", "z");
}

static itg_graph *network(bool codes)
{
    itg_onnx_writer *w = NULL;
    itg_graph *g = NULL;
    itg_error err = {0};
    assert_int_equal(itg_onnx_writer_create("net", "1", &w, NULL), ITG_OK);
    itg_onnx_writer_opset(w, "", 13);
    itg_onnx_writer_input(w, "x", ITG_F32, &(itg_shape){4, {1, 2, 4, 5}});
    put_constants(w);
    NODE(w, "QuantizeLinear", "q", "x", "xs", "z");
    convolve(w, codes);
    multiply(w, codes);
    NODE(w, "DequantizeLinear", "y", "p", "ps", "z");
    itg_onnx_writer_output(w, "y", ITG_F32, NULL);
    assert_int_equal(itg_onnx_writer_save(w, FILE_NAME, &err), ITG_OK);
    itg_onnx_writer_destroy(w);
    if (itg_onnx_import(FILE_NAME, "", &g, &err) != ITG_OK) fail_msg("%s", err.message);
    remove(FILE_NAME);
    itg_graph *p = prepared(g, true);
    itg_graph_destroy(g);
    return p;
}

static void codes_are_what_they_stand_for(void **state)
{
    (void)state;
    itg_graph *codes = network(true), *floats = network(false);
    assert_true(codes->quantized && floats->quantized);
    assert_int_equal(codes->node_count, floats->node_count);
    assert_same_function(codes, floats, 0);
    itg_graph_destroy(codes);
    itg_graph_destroy(floats);
}

/* A vector of zero points belongs to the rows of the left operand, to the columns of the right one,
 * and to the output channels of a convolution's weights, where other axes are as long. */
static void zero_points_have_an_axis(void **state)
{
    (void)state;
    static const unsigned char a[4] = {10, 20, 30, 40}, az[2] = {1, 2}, b[4] = {5, 6, 7, 8},
                               bz[2] = {3, 4};
    static const float rows[2] = {1, 2}, columns[2] = {1, 0.5F}, one = 1;
    static const unsigned char none = 0;
    static const float expected[3][4] = {
        {(9.0F * 2) + (19 * 4), (9 * 2) + (19 * 4), (28 * 2) + (38 * 4), (28 * 2) + (38 * 4)},
        {(9.0F * 2) + (19 * 4), (9 * 1) + (19 * 2), 255, (28 * 2) + (38 * 4)},
        {(10.0F * 2) + (30 * 3), (20 * 2) + (40 * 3), (10 * 3) + (30 * 4), (20 * 3) + (40 * 4)}};
    static const char *const ops[] = {"MatMulInteger", "QLinearMatMul", "ConvInteger"};
    const itg_shape square = {2, {2, 2}}, two = {1, {2}}, image = {4, {1, 2, 1, 2}},
                    kernel = {4, {2, 2, 1, 1}};
    for (int i = 0; i < 3; i++) {
        itg_onnx_writer *w = NULL;
        itg_graph *g = NULL, *p = NULL;
        itg_error err = {0};
        const itg_prepare_options options = {.eval = itg_float_eval, .keep_batch = true};
        assert_int_equal(itg_onnx_writer_create("net", "1", &w, NULL), ITG_OK);
        itg_onnx_writer_opset(w, "", 13);
        constant(w, "a", ITG_U8, i == 2 ? image : square, a);
        constant(w, "b", ITG_U8, i == 2 ? kernel : square, b);
        constant(w, "az", ITG_U8, two, az);
        constant(w, "bz", ITG_U8, two, bz);
        constant(w, "as", ITG_F32, two, rows);
        constant(w, "bs", ITG_F32, two, columns);
        constant(w, "one", ITG_F32, (itg_shape){0, {0}}, &one);
        constant(w, "none", ITG_U8, (itg_shape){0, {0}}, &none);
        if (i == 0) NODE(w, ops[0], "c", "a", "b", "az", "bz");
        if (i == 1) NODE(w, ops[1], "c", "a", "as", "az", "b", "bs", "bz", "one", "none");
        if (i == 2) NODE(w, ops[2], "c", "a", "b", "none", "bz");
        NODE(w, "Cast", "y", "c");
        itg_onnx_writer_int(w, "to", 1);
        itg_onnx_writer_output(w, "y", ITG_F32, NULL);
        assert_int_equal(itg_onnx_writer_save(w, FILE_NAME, &err), ITG_OK);
        itg_onnx_writer_destroy(w);
        if (itg_onnx_import(FILE_NAME, "", &g, &err) != ITG_OK) fail_msg("%s", err.message);
        if (itg_graph_prepare(g, &options, &p, &err) != ITG_OK) fail_msg("%s", err.message);
        const itg_tensor t = itg_graph_tensor(p, p->outputs[0]);
        for (int k = 0; k < 4; k++)
            if (((const float *)t.data)[k] != expected[i][k])
                fail_msg("%s: element %d is %g, expected %g", ops[i], k,
                         (double)((const float *)t.data)[k], (double)expected[i][k]);
        remove(FILE_NAME);
        itg_graph_destroy(g);
        itg_graph_destroy(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(codes_are_what_they_stand_for),
                                       cmocka_unit_test(zero_points_have_an_axis)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
