#include "helpers.h"
#include <stdio.h>
#include <stdlib.h>

itg_graph *make_graph(void)
{
    itg_graph *g = NULL;
    assert_int_equal(itg_graph_create("model.onnx", &g, NULL), ITG_OK);
    return g;
}

static itg_shape parse_shape(const char *text)
{
    itg_shape shape = {0};
    while (*text) {
        char *end;
        shape.dims[shape.rank++] = strtoll(text, &end, 10);
        text = *end ? end + 1 : end;
    }
    return shape;
}

static itg_id add_value(itg_graph *g, const char *name, const char *shape_text, const void *data)
{
    itg_shape shape = parse_shape(shape_text);
    itg_id id = ITG_NONE;
    assert_int_equal(itg_graph_add_value(g, name, ITG_F32, &shape, data, &id, NULL), ITG_OK);
    return id;
}

itg_id add_input(itg_graph *g, const char *name, const char *shape)
{
    return add_value(g, name, shape, NULL);
}

itg_id add_constant(itg_graph *g, const char *name, const char *shape_text)
{
    itg_shape shape = parse_shape(shape_text);
    int64_t elements = 0;
    assert_true(itg_shape_elements(&shape, &elements));
    float *ones = malloc(sizeof(float) * (size_t)elements);
    assert_non_null(ones);
    for (int64_t i = 0; i < elements; i++)
        ones[i] = 1;
    itg_id id = add_value(g, name, shape_text, ones);
    free(ones);
    return id;
}

itg_id add_node(itg_graph *g, itg_op op, const char *name, const char *shape,
                const itg_attrs *attrs, int32_t count, const itg_id *inputs)
{
    itg_attrs defaults = itg_attrs_default(op);
    itg_id out = add_value(g, name, shape, NULL), node;
    assert_int_equal(itg_graph_add_node(g, name, op, inputs, count, &out, 1,
                                        attrs ? attrs : &defaults, &node, NULL),
                     ITG_OK);
    return out;
}

void finish(itg_graph *g, itg_id input, itg_id output)
{
    assert_int_equal(itg_graph_set_inputs(g, &input, 1, NULL), ITG_OK);
    assert_int_equal(itg_graph_set_outputs(g, &output, 1, NULL), ITG_OK);
}

itg_graph *make_chain(void)
{
    itg_graph *g = make_graph();
    itg_attrs gemm = itg_attrs_default(ITG_OP_GEMM);
    gemm.trans_b = true;
    itg_id x = add_input(g, "x", "1,4,8,8");
    itg_id w1 = add_constant(g, "w1", "8,4,3,3"), b1 = add_constant(g, "b1", "8");
    itg_id w2 = add_constant(g, "w2", "6,8,1,1"), k = add_constant(g, "k", "6,1,1");
    itg_id w3 = add_constant(g, "w3", "10,96"), b3 = add_constant(g, "b3", "10");
    itg_id conv1 = ADD_NODE(g, ITG_OP_CONV, "conv1", "1,8,8,8", NULL, x, w1, b1);
    itg_id relu1 = ADD_NODE(g, ITG_OP_RELU, "relu1", "1,8,8,8", NULL, conv1);
    itg_id pool = ADD_NODE(g, ITG_OP_MAX_POOL, "pool", "1,8,4,4", NULL, relu1);
    itg_id conv2 = ADD_NODE(g, ITG_OP_CONV, "conv2", "1,6,4,4", NULL, pool, w2);
    itg_id add = ADD_NODE(g, ITG_OP_ADD, "add", "1,6,4,4", NULL, conv2, k);
    itg_id flat = ADD_NODE(g, ITG_OP_FLATTEN, "flat", "1,96", NULL, add);
    itg_id fc = ADD_NODE(g, ITG_OP_GEMM, "fc", "1,10", &gemm, flat, w3, b3);
    finish(g, x, fc);
    return g;
}

itg_hardware *load(const char *name_or_path)
{
    itg_hardware *hw = NULL;
    itg_error err = {0};
    if (itg_hardware_load(name_or_path, &hw, &err) != ITG_OK) fail_msg("%s", err.message);
    return hw;
}

itg_hardware *parse(const char *text)
{
    itg_hardware *hw = NULL;
    itg_error err = {0};
    if (itg_hardware_parse(text, strlen(text), "chip.json", &hw, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return hw;
}

char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at) fail_msg("'%s' is not in the text", from);
    size_t bytes = strlen(text) + strlen(to) + 1;
    char *out = malloc(bytes);
    assert_non_null(out);
    snprintf(out, bytes, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

char *read_text(const char *path)
{
    unsigned char *text = NULL;
    size_t bytes;
    itg_error err = {0};
    if (itg_file_read(path, (size_t)1 << 20, &text, &bytes, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return (char *)text;
}

const char *const chip =
    "{\"intaglio_hardware\": 1, \"name\": \"chip\", \"description\": \"for tests\", \"float\": "
    "false,"
    " \"all_float\": false, \"power_of_two_scales\": false, \"float_macs_per_cycle\": 2.5,"
    " \"dtypes\": {"
    "  \"a8\": {\"storage\": \"s8\", \"bits\": [2, 8], \"zero_point\": true},"
    "  \"w8\": {\"storage\": \"s8\", \"bits\": [2, 8], \"full_range\": true},"
    "  \"a16\": {\"storage\": \"s16\", \"bits\": [9, 16]},"
    "  \"u8\": {\"storage\": \"u8\", \"bits\": [3, 8]},"
    "  \"a32\": {\"storage\": \"s32\", \"bits\": [17, 32]}},"
    " \"requantize\": {"
    "  \"tfl\": {\"form\": \"tflite_double\", \"max_shift\": 31},"
    "  \"st\": {\"form\": \"stages\", \"multiplier_bits\": 16, \"multiply_shift\": 15,"
    "   \"pre_shift_bits\": 24, \"rounding\": \"half_even\", \"pre_rounding\": \"floor\"}},"
    " \"fuse\": [[\"Conv\", \"Relu\"], [\"Add\", \"Clip\"]],"
    " \"operators\": {"
    "  \"Conv\": [{\"arithmetic\": \"mac\", \"inputs\": [\"a8\", \"u8\"], \"weights\": [\"w8\"],"
    "   \"outputs\": [\"a8\"], \"accumulator\": {\"bits\": 24, \"overflow\": \"saturate\"},"
    "   \"per_channel\": true, \"bias\": true, \"bias_bits\": 20, \"requantize\": \"st\","
    "   \"macs_per_cycle\": 4}],"
    "  \"MatMul\": [{\"arithmetic\": \"mac\", \"inputs\": [\"a8\"], \"outputs\": [\"a8\"],"
    "   \"accumulator\": {\"bits\": 16}, \"requantize\": \"tfl\"}],"
    "  \"Add\": {\"follow\": true, \"specs\": [{\"arithmetic\": \"rescale\", \"inputs\": [\"a8\"],"
    "   \"outputs\": [\"a8\"], \"left_shift\": 20, \"requantize\": \"tfl\"}]},"
    "  \"Tanh\": [{\"arithmetic\": \"lut\", \"inputs\": [\"a8\"], \"outputs\": [\"a8\"]}],"
    "  \"AveragePool\": [{\"arithmetic\": \"keep_scale\", \"inputs\": [\"a8\"],"
    "   \"rounding\": \"floor\"}],"
    "  \"MaxPool\": [{\"arithmetic\": \"keep_scale\", \"inputs\": [\"a8\", \"a16\"]}]},"
    " \"model_inputs\": [\"a8\"], \"model_outputs\": [\"a8\", \"a16\"], \"output_bits\": [8, 16],"
    " \"memory\": {\"flash_bytes\": 1000, \"ram_bytes\": 500},"
    " \"overrides\": [{\"node\": \"conv1\", \"float\": false, \"weight_bits\": [8, 8],"
    "  \"activation_bits\": [4, 8]}]}";

#define SEEN true
#define UNSEEN false
const bad_description bad_descriptions[] = {
    /* the file */
    {"\"intaglio_hardware\": 1", "\"intaglio_hardware\": 2",
     "intaglio_hardware: expected an integer from 1 to 1, got 2", SEEN},
    {"\"intaglio_hardware\": 1, ", "", "expected key 'intaglio_hardware'", SEEN},
    {"\"name\": \"chip\", ", "", "expected key 'name'", SEEN},
    {"\"name\": \"chip\"", "\"name\": \"\"", "name: expected a string of 1..63 bytes", SEEN},
    {"\"name\": \"chip\"", "\"name\": 7", "name: expected a string, got 7", SEEN},
    {"\"float\": false", "\"flaot\": false", NULL, SEEN},
    {"\"all_float\": false", "\"all_float\": true",
     "all_float: expected 'float': true beside 'all_float': true", UNSEEN},
    {"\"float\": false, \"all_float\": false", "\"float\": true, \"all_float\": true",
     "operators: expected no operators beside 'all_float': true", UNSEEN},
    {"\"float_macs_per_cycle\": 2.5", "\"float_macs_per_cycle\": 0",
     "float_macs_per_cycle: expected a number above 0, at most 1e12", SEEN},
    {"\"float_macs_per_cycle\": 2.5", "\"float_macs_per_cycle\": -1",
     "float_macs_per_cycle: expected a number above 0, at most 1e12", SEEN},
    /* dtypes */
    {"\"storage\": \"s8\"", "\"storage\": \"s4\"",
     "dtypes.a8.storage: expected one of 's8', 'u8', 's16', 'u16', 's32'; got 's4'", SEEN},
    {"\"bits\": [2, 8]", "\"bits\": [2, 9]",
     "dtypes.a8.bits: expected at most the 8 bits of storage s8, got 9", UNSEEN},
    {"\"model_inputs\"", "\"float_weights\": {\"dtypes\": [\"w8\"]}, \"model_inputs\"",
     "float_weights: expected 'float': true, and no 'all_float', beside 'float_weights'", UNSEEN},
    {"\"model_inputs\"", "\"float_weights\": {}, \"model_inputs\"",
     "float_weights: expected key 'dtypes'", SEEN},
    {"\"bits\": [2, 8]", "\"bits\": [0, 8]", NULL, SEEN},
    {"\"bits\": [2, 8]", "\"bits\": [1, 8]",
     "operators.Conv[0].inputs: expected dtypes of 2 bits and more, 'a8' has 1", UNSEEN},
    {"\"bits\": [2, 8]", "\"bits\": [8, 2]", NULL, UNSEEN},
    {"\"bits\": [2, 8]", "\"bits\": [2]", "dtypes.a8.bits: expected [lowest, highest]", SEEN},
    {"\"bits\": [2, 8], ", "", "dtypes.a8: expected key 'bits'", SEEN},
    {"\"zero_point\": true", "\"zero_point\": true, \"full_range\": true",
     "dtypes.a8.full_range: expected signed storage without zero point beside 'full_range': true",
     UNSEEN},
    {"\"a8\": {", "\"\": {", "dtypes[\"\"]: expected a name of 1..31 bytes as its key", SEEN},
    {"\"bits\": [3, 8]}", "\"bits\": [3, 8], \"colour\": 1}", NULL, SEEN},
    /* requantize */
    {"\"form\": \"tflite_double\", \"max_shift\": 31", "\"form\": \"shift\"",
     "requantize.tfl.form: expected 'power_of_two_scales': true beside form 'shift'", UNSEEN},
    {"\"form\": \"tflite_double\"", "\"form\": \"magic\"",
     "requantize.tfl.form: expected one of 'tflite_double', 's64_reduced', 'shift', 'preshift', "
     "'f32', 'stages'; got 'magic'",
     SEEN},
    {"\"max_shift\": 31", "\"max_shift\": 63", NULL, SEEN},
    {"\"max_shift\": 31", "\"rounding\": \"floor\"",
     "requantize.tfl.rounding: expected no key 'rounding' beside 'form': \"tflite_double\"",
     UNSEEN},
    {"\"rounding\": \"half_even\"", "\"rounding\": \"up\"",
     "requantize.st.rounding: expected one of 'half_even', 'half_up', 'half_away', 'floor'; got "
     "'up'",
     SEEN},
    {"\"multiplier_bits\": 16", "\"multiplier_bits\": 33", NULL, SEEN},
    {"\"multiplier_bits\": 16", "\"multiplier_bits\": 16.5", NULL, SEEN},
    /* fuse */
    {"[\"Conv\", \"Relu\"]", "[\"Conv\", \"Tanh\"]",
     "fuse[0]: expected an operator that requantizes (Conv, Gemm, MatMul, Add, Sub, Mul...), then "
     "Relu or Clip",
     SEEN},
    {"[\"Conv\", \"Relu\"]", "[\"MaxPool\", \"Relu\"]",
     "fuse[0]: expected an operator that requantizes (Conv, Gemm, MatMul, Add, Sub, Mul...), then "
     "Relu or Clip",
     SEEN},
    {"[\"Conv\", \"Relu\"]", "[\"Relu\", \"Clip\"]",
     "fuse[0]: expected an operator that requantizes (Conv, Gemm, MatMul, Add, Sub, Mul...), then "
     "Relu or Clip",
     SEEN},
    {"[\"Conv\", \"Relu\"]", "[\"Conv\"]",
     "fuse[0]: expected a pair of operators, such as [\"Conv\", \"Relu\"]", SEEN},
    {"[\"Conv\", \"Relu\"]", "[\"Conf\", \"Relu\"]", "fuse[0][0]: expected an operator; got 'Conf'",
     SEEN},
    /* operators */
    {"\"Conv\": [", "\"Konv\": [",
     "operators.Konv: expected the name of an ONNX operator as key, or 'univariate'; got 'Konv'",
     SEEN},
    {"\"Tanh\": [", "\"LogSoftmax\": [",
     "operators.LogSoftmax: expected no entry: LogSoftmax has no integer arithmetic here", SEEN},
    {"\"Tanh\": [{\"arithmetic\": \"lut\"", "\"Tanh\": [{\"arithmetic\": \"mac\"",
     "operators.Tanh[0].arithmetic: expected one of lut for Tanh", UNSEEN},
    {"\"arithmetic\": \"rescale\"", "\"arithmetic\": \"product\", \"bits\": 3", NULL, SEEN},
    {"{\"arithmetic\": \"mac\", ", "{", "operators.Conv[0]: expected key 'arithmetic'", SEEN},
    {"\"inputs\": [\"a8\", \"u8\"]", "\"inputs\": [\"a8\", \"u9\"]",
     "operators.Conv[0].inputs[1]: expected a name in 'dtypes', each once; got 'u9'", UNSEEN},
    {"\"inputs\": [\"a8\", \"u8\"]", "\"inputs\": [\"a8\", \"a8\"]",
     "operators.Conv[0].inputs[1]: expected a name in 'dtypes', each once; got 'a8'", SEEN},
    {"\"inputs\": [\"a8\", \"u8\"]", "\"inputs\": []",
     "operators.Conv[0].inputs: expected a list of at least one name in 'dtypes'", SEEN},
    {" \"weights\": [\"w8\"],", "", "operators.Conv[0]: expected 'weights': Conv has constant ones",
     UNSEEN},
    {"\"weights\": [\"w8\"]", "\"weights\": [\"u8\"]",
     "operators.Conv[0].weights: expected dtypes of signed storage, or of 2 to 8 bits with a zero "
     "point, got 'u8'",
     UNSEEN},
    {"\"outputs\": [\"a8\"], \"accumulator\": {\"bits\": 24", "\"accumulator\": {\"bits\": 24",
     "operators.Conv[0]: expected key 'outputs' beside 'arithmetic': \"mac\"", UNSEEN},
    {"\"accumulator\": {\"bits\": 16}, ", "",
     "operators.MatMul[0]: expected key 'accumulator' beside 'arithmetic': \"mac\"", UNSEEN},
    {"\"accumulator\": {\"bits\": 16}", "\"accumulator\": {\"bits\": 7}", NULL, SEEN},
    {"\"accumulator\": {\"bits\": 16}", "\"accumulator\": {\"overflow\": \"wrap\"}",
     "operators.MatMul[0].accumulator: expected key 'bits'", SEEN},
    {"\"accumulator\": {\"bits\": 16}", "\"accumulator\": 16",
     "operators.MatMul[0].accumulator: expected an object (accumulator)", SEEN},
    {"\"accumulator\": {\"bits\": 16}", "\"accumulator\": {\"bits\": 16}, \"per_channel\": true",
     "operators.MatMul[0].per_channel: expected 'weights' beside 'per_channel': true", UNSEEN},
    {"\"bits\": 16}", "\"bits\": 16, \"join_bits\": 32}",
     "operators.MatMul[0].accumulator.join_bits: expected 'split': true beside 'join_bits'",
     UNSEEN},
    {"\"bits\": 16}", "\"bits\": 16, \"split\": false, \"join_rounding\": \"floor\"}",
     "operators.MatMul[0].accumulator.join_rounding: expected 'split': true beside 'join_rounding'",
     UNSEEN},
    {"\"bits\": 16}", "\"bits\": 16, \"join_cycles\": 4}",
     "operators.MatMul[0].accumulator.join_cycles: expected 'split': true beside 'join_cycles'",
     UNSEEN},
    {"\"bits\": 16}", "\"bits\": 16, \"split\": true, \"join_cycles\": 0}", NULL, SEEN},
    {"\"bits\": 16}", "\"bits\": 49, \"split\": true}",
     "operators.MatMul[0].accumulator.bits: expected at most 48 bits beside 'split': true, got 49",
     UNSEEN},
    {"\"bits\": 16}", "\"bits\": 16, \"split\": true, \"join_bits\": 15}",
     "operators.MatMul[0].accumulator.join_bits: expected at least the accumulator's 16 bits, got "
     "15",
     UNSEEN},
    {"\"bits\": 16}", "\"bits\": 16, \"split\": true, \"join_bits\": 63}", NULL, SEEN},
    {"\"bits\": 16}", "\"bits\": 16, \"split\": 1}", NULL, SEEN},
    {"\"left_shift\": 20,", "\"accumulator\": {\"bits\": 24, \"split\": true},",
     "operators.Add.specs[0].accumulator.split: expected 'arithmetic': \"mac\" beside 'split': "
     "true",
     UNSEEN},
    {"\"bias_bits\": 20", "\"bias_bits\": 25",
     "operators.Conv[0].bias_bits: expected at most the accumulator's 24 bits, got 25", UNSEEN},
    {"\"requantize\": \"st\"", "\"requantize\": \"int9\"",
     "operators.Conv[0].requantize: expected a name in the top-level 'requantize'; got 'int9'",
     UNSEEN},
    {"\"left_shift\": 20, \"requantize\": \"tfl\"", "\"left_shift\": 20",
     "operators.Add.specs[0]: expected key 'requantize' beside 'arithmetic': \"rescale\"", UNSEEN},
    {"\"left_shift\": 20", "\"left_shift\": 33", NULL, SEEN},
    {"\"Tanh\": [{\"arithmetic\": \"lut\"",
     "\"Tanh\": [{\"table_bits\": 17, \"arithmetic\": \"lut\"", NULL, SEEN},
    {"\"left_shift\": 20", "\"table_bits\": 9",
     "operators.Add.specs[0].table_bits: expected no key 'table_bits' beside 'arithmetic': "
     "\"rescale\"",
     UNSEEN},
    {"\"rounding\": \"floor\"}", "\"rounding\": \"floor\", \"outputs\": [\"a8\"]}",
     "operators.AveragePool[0].outputs: expected no key 'outputs' beside 'arithmetic': "
     "\"keep_scale\"",
     UNSEEN},
    {"\"inputs\": [\"a8\", \"a16\"]", "\"inputs\": [\"a8\", \"a16\"], \"rounding\": \"floor\"",
     "operators.MaxPool[0].rounding: expected only for AveragePool, GlobalAveragePool and "
     "ReduceMean",
     UNSEEN},
    {"\"Tanh\": [{\"arithmetic\": \"lut\", \"inputs\": [\"a8\"]",
     "\"Tanh\": [{\"arithmetic\": \"lut\", \"inputs\": [\"a32\"]",
     "operators.Tanh[0].inputs: expected dtypes of at most 16 bits for a lookup table, 'a32' has "
     "32",
     UNSEEN},
    {"{\"follow\": true, \"specs\"", "{\"follow\": 1, \"specs\"", NULL, SEEN},
    {"\"macs_per_cycle\": 4", "\"macs_per_cycle\": \"4\"", NULL, SEEN},
    /* the rest */
    {"\"model_inputs\": [\"a8\"]", "\"model_inputs\": \"a8\"",
     "model_inputs: expected a list of at least one name in 'dtypes'", SEEN},
    {"\"output_bits\": [8, 16]", "\"output_bits\": [8, 33]", NULL, SEEN},
    {"\"flash_bytes\": 1000", "\"flash_bytes\": -1", NULL, SEEN},
    {"\"ram_bytes\": 500", "\"ram_kilobytes\": 500", NULL, SEEN},
    {"\"node\": \"conv1\", ", "", "overrides[0]: expected key 'node'", SEEN},
    {"\"float\": false, \"weight_bits\"", "\"float\": true, \"weight_bits\"",
     "overrides[0].float: expected false: this hardware has no float ('float' is false)", UNSEEN},
    {"\"weight_bits\": [8, 8]", "\"weight_bits\": 8",
     "overrides[0].weight_bits: expected [lowest, highest]", SEEN},
};
const size_t bad_description_count = sizeof bad_descriptions / sizeof *bad_descriptions;
