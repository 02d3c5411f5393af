/* Reading: the wire scan, the memory budget, tensors. Files are made by hand (onnx_wire.h). */
#include <float.h>
#include "onnx_wire.h"
#include <math.h>
#include <stdio.h>
#include "graph/onnx/wire_scan.h"

static void relu_model(wire *model)
{
    wire graph = {0};
    wire_relu_graph(&graph);
    wire_model(model, &graph, 13);
}

static void a_small_model_is_read(void **state)
{
    (void)state;
    wire model = {0};
    itg_graph *graph = NULL;
    itg_error err = {0};
    relu_model(&model);
    assert_int_equal(import_bytes(model.text, model.length, &graph, &err), ITG_OK);
    assert_int_equal(graph->node_count, 1);
    assert_int_equal(graph->nodes[0].op, ITG_OP_RELU);
    assert_int_equal(graph->nodes[0].opset, 13);
    assert_string_equal(graph->nodes[0].name, "Relu_0");
    assert_string_equal(graph->name, "test.onnx");
    assert_int_equal(graph->input_count, 1);
    assert_int_equal(graph->output_count, 1);
    itg_graph_destroy(graph);
    itg_strbuf_deinit(&model);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    wire model = {0};
    relu_model(&model);
    for (size_t bytes = 0; bytes < model.length; bytes++) {
        itg_graph *graph = NULL;
        itg_error err = {0};
        unsigned char *part = malloc(bytes + 1); /* exact bounds for the sanitizer */
        assert_non_null(part);
        memcpy(part, model.text, bytes);
        part = realloc(part, bytes ? bytes : 1);
        itg_status status = import_bytes(part, bytes, &graph, &err);
        free(part);
        if (status == ITG_OK) fail_msg("%zu of %zu bytes are accepted", bytes, model.length);
        assert_true(strstr(err.message, "test.onnx") == err.message);
        assert_null(graph);
    }
    itg_strbuf_deinit(&model);
}

/* Each byte replaced by each of a few values: nothing to assert but that the outcome is a graph or
 * an error. */
static void every_damaged_byte_is_survived(void **state)
{
    (void)state;
    static const unsigned char masks[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff};
    wire model = {0};
    size_t refused = 0;
    relu_model(&model);
    for (size_t i = 0; i < model.length; i++)
        for (size_t m = 0; m < sizeof masks; m++) {
            itg_graph *graph = NULL;
            itg_error err = {0};
            model.text[i] = (char)(model.text[i] ^ masks[m]);
            itg_status status = import_bytes(model.text, model.length, &graph, &err);
            model.text[i] = (char)(model.text[i] ^ masks[m]);
            assert_int_equal(status == ITG_OK, graph != NULL);
            assert_int_equal(status == ITG_OK, err.message[0] == 0);
            refused += status != ITG_OK;
            itg_graph_destroy(graph);
        }
    assert_true(refused > model.length);
    itg_strbuf_deinit(&model);
}

static void nested_subgraphs_are_refused_without_recursion(void **state)
{
    (void)state;
    wire graph = {0}, attr = {0}, node = {0}, model = {0};
    wire_relu_graph(&graph);
    for (int depth = 0; depth < 5000; depth++) {
        wire_text(&attr, ATTR_NAME, "then_branch");
        wire_message(&attr, ATTR_G, &graph);
        wire_int(&attr, ATTR_TYPE, 5);
        wire_text(&node, NODE_OP, "If");
        wire_text(&node, NODE_INPUT, "x");
        wire_text(&node, NODE_OUTPUT, "y");
        wire_message(&node, NODE_ATTRIBUTE, &attr);
        wire_message(&graph, GRAPH_NODE, &node);
    }
    wire_value(&graph, GRAPH_INPUT, "x", TYPE_FLOAT, 4);
    wire_model(&model, &graph, 13);
    assert_refused(&model, ITG_LIMIT, "byte", "nested deeper than 64 messages");
}

static void doubles_become_the_nearest_floats(void **state)
{
    (void)state;
    static const double raw[] = {0.1, -1e300, 1e-60, 0x1.000001p0};
    static const float wanted[] = {0.1f, -FLT_MAX, 0.0f, 0x1p0f};
    for (int typed = 0; typed < 2; typed++) {
        wire t = {0};
        itg_tensor tensor = {0};
        itg_arena *arena = itg_arena_create(0);
        if (typed) {
            wire_int(&t, TENSOR_DIMS, 4);
            wire_int(&t, TENSOR_TYPE, TYPE_DOUBLE);
            wire_bytes(&t, TENSOR_DOUBLES, raw, sizeof raw);
        } else {
            wire_raw_tensor(&t, TYPE_DOUBLE, 4, raw, sizeof raw);
        }
        assert_int_equal(itg_file_write(TEST_FOLDER "/double.pb", t.text, t.length, NULL), ITG_OK);
        assert_int_equal(itg_onnx_tensor_read(TEST_FOLDER "/double.pb", arena, &tensor, NULL),
                         ITG_OK);
        remove(TEST_FOLDER "/double.pb");
        assert_int_equal(tensor.dtype, ITG_F32);
        assert_memory_equal(tensor.data, wanted, sizeof wanted);
        itg_arena_destroy(arena);
        itg_strbuf_deinit(&t);
    }
}

static void a_million_empty_tensors_are_refused_by_the_budget(void **state)
{
    (void)state;
    wire graph = {0}, model = {0};
    itg_graph *out = NULL;
    itg_error err = {0};
    static const unsigned char empty_tensor[2] = {GRAPH_INITIALIZER << 3 | 2, 0};
    for (int i = 0; i < 1 << 20; i++)
        itg_strbuf_bytes(&graph, empty_tensor, sizeof empty_tensor);
    wire_model(&model, &graph, 13);
    assert_int_equal(import_bytes(model.text, model.length, &out, &err), ITG_LIMIT);
    assert_non_null(strstr(err.message, "memory"));
    itg_strbuf_deinit(&model);
}

static void the_budget_counts_and_gives_back(void **state)
{
    (void)state;
    itg_budget budget;
    itg_budget_init(&budget, 1000);
    ProtobufCAllocator *a = &budget.allocator;
    void *first = a->alloc(a->allocator_data, 600);
    assert_non_null(first);
    assert_true(budget.used >= 600 && budget.used <= 1000);
    assert_null(a->alloc(a->allocator_data, 600));
    assert_true(budget.exceeded);
    a->free(a->allocator_data, first);
    assert_int_equal(budget.used, 0);
    assert_null(a->alloc(a->allocator_data, SIZE_MAX));
    a->free(a->allocator_data, NULL);
}

static void every_memory_limit_ends_cleanly(void **state)
{
    (void)state;
    wire model = {0};
    relu_model(&model);
    size_t limit = 64;
    for (; limit < 1 << 20; limit += 64) {
        itg_onnx_file *file = NULL;
        itg_error err = {0};
        itg_status status = itg_onnx_file_parse((unsigned char *)model.text, model.length,
                                                "test.onnx", limit, &file, &err);
        if (status == ITG_OK) {
            itg_onnx_file_destroy(file);
            break;
        }
        assert_true(status == ITG_LIMIT || status == ITG_NO_MEMORY);
        assert_null(file);
    }
    assert_true(limit > 64 && limit < 65536);
    itg_strbuf_deinit(&model);
}

static void damaged_wire_names_its_byte(void **state)
{
    (void)state;
    wire model = {0}, inner = {0};
    static const unsigned char group[] = {0x0b},
                               long_varint[] = {0x08, 0x80, 0x80, 0x80, 0x80, 0x80,
                                                0x80, 0x80, 0x80, 0x80, 0x02},
                               zero_field[] = {0x02, 0x00};
    itg_strbuf_bytes(&model, group, sizeof group);
    assert_refused(&model, ITG_BAD_FILE, "byte 0", "wire type");
    itg_strbuf_bytes(&model, long_varint, sizeof long_varint);
    assert_refused(&model, ITG_BAD_FILE, "byte 0", "does not end");
    itg_strbuf_bytes(&model, zero_field, sizeof zero_field);
    assert_refused(&model, ITG_BAD_FILE, "byte 0", "not an ONNX file");
    relu_model(&model);
    wire_relu_graph(&inner);
    wire_message(&model, MODEL_GRAPH, &inner);
    assert_refused(&model, ITG_BAD_FILE, "field 7 of ModelProto", "twice");
    wire_int(&model, MODEL_GRAPH, 1);
    assert_refused(&model, ITG_BAD_FILE, "field 7 of ModelProto", "wrong wire type");
}

static void names_must_be_text(void **state)
{
    (void)state;
    static const char *const bad[] = {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "a\xe2\x82"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        wire graph = {0}, model = {0};
        wire_relu_graph(&graph);
        wire_node(&graph, "Relu", "x", bad[i]);
        wire_model(&model, &graph, 13);
        assert_refused(&model, ITG_BAD_FILE, "field 2 of NodeProto", "UTF-8");
    }
    wire graph = {0}, node = {0}, model = {0};
    wire_relu_graph(&graph);
    wire_bytes(&node, NODE_OUTPUT, "a\0b", 3);
    wire_message(&graph, GRAPH_NODE, &node);
    wire_model(&model, &graph, 13);
    assert_refused(&model, ITG_BAD_FILE, "field 2 of NodeProto", "UTF-8");
}

static void a_file_without_graph_is_refused(void **state)
{
    (void)state;
    wire model = {0};
    wire_int(&model, MODEL_IR, 7);
    assert_refused(&model, ITG_BAD_FILE, "no graph", "");
}

/* ---- tensors ---- */
static void refuse_tensor(wire *tensor, itg_status status, const char *part)
{
    wire model = {0};
    wire_model_with_tensor(&model, tensor);
    assert_refused(&model, status, "initializer 'w'", part);
}

static void wrong_amounts_of_data_are_refused(void **state)
{
    (void)state;
    wire t = {0};
    static const unsigned char raw[16] = {0};
    wire_raw_tensor(&t, TYPE_FLOAT, 4, raw, 15);
    refuse_tensor(&t, ITG_BAD_FILE, "15 bytes, 4 elements of type FLOAT need 16");
    wire_raw_tensor(&t, TYPE_FLOAT, 3, raw, 16);
    refuse_tensor(&t, ITG_BAD_FILE, "16 bytes");
    wire_raw_tensor(&t, TYPE_FLOAT, 4, raw, 0);
    refuse_tensor(&t, ITG_BAD_FILE, "0 bytes");
    wire_raw_tensor(&t, TYPE_FLOAT, 4, raw, 16);
    wire_bytes(&t, TENSOR_FLOATS, raw, 16);
    refuse_tensor(&t, ITG_BAD_FILE, "twice");
    wire_int(&t, TENSOR_DIMS, 3);
    wire_int(&t, TENSOR_TYPE, TYPE_FLOAT);
    wire_text(&t, TENSOR_NAME, "w");
    wire_bytes(&t, TENSOR_FLOATS, raw, 16);
    refuse_tensor(&t, ITG_BAD_FILE, "4 elements of type FLOAT are stored, its shape has 3");
}

static void bad_dimensions_are_refused(void **state)
{
    (void)state;
    wire t = {0};
    static const unsigned char raw[16] = {0};
    wire_raw_tensor(&t, TYPE_FLOAT, -4, raw, 16);
    refuse_tensor(&t, ITG_BAD_FILE, "negative");
    for (int i = 0; i < 4; i++)
        wire_int(&t, TENSOR_DIMS, (int64_t)1 << 40);
    wire_raw_tensor(&t, TYPE_FLOAT, 4, raw, 16);
    refuse_tensor(&t, ITG_LIMIT, "elements");
    for (int i = 0; i < ITG_MAX_RANK; i++)
        wire_int(&t, TENSOR_DIMS, 1);
    wire_raw_tensor(&t, TYPE_FLOAT, 4, raw, 16);
    refuse_tensor(&t, ITG_UNSUPPORTED, "rank 9");
}

static void what_cannot_be_held_is_refused_by_name(void **state)
{
    (void)state;
    wire t = {0}, entry = {0};
    static const unsigned char raw[16] = {0};
    wire_raw_tensor(&t, TYPE_STRING, 1, raw, 8);
    refuse_tensor(&t, ITG_UNSUPPORTED, "STRING");
    wire_raw_tensor(&t, TYPE_UINT64, 2, raw, 16);
    refuse_tensor(&t, ITG_UNSUPPORTED, "UINT64");
    wire_raw_tensor(&t, 17, 16, raw, 16);
    refuse_tensor(&t, ITG_UNSUPPORTED, "FLOAT8E4M3FN");
    wire_raw_tensor(&t, 12345, 16, raw, 16);
    refuse_tensor(&t, ITG_UNSUPPORTED, "12345");
    wire_raw_tensor(&t, TYPE_FLOAT, 4, raw, 0);
    wire_text(&entry, 1, "location");
    wire_text(&entry, 2, "weights.bin");
    wire_message(&t, TENSOR_EXTERNAL, &entry);
    wire_int(&t, TENSOR_LOCATION, 1);
    refuse_tensor(&t, ITG_UNSUPPORTED, "external data");
    wire_raw_tensor(&t, TYPE_FLOAT, 4, raw, 16);
    wire_bytes(&t, TENSOR_SEGMENT, "", 0);
    refuse_tensor(&t, ITG_UNSUPPORTED, "segment");
}

/* The constant "w" of a model: outputs it directly, so that it stays. */
static itg_graph *import_tensor(wire *tensor)
{
    wire graph = {0}, model = {0};
    itg_graph *out = NULL;
    itg_error err = {0};
    wire_message(&graph, GRAPH_INITIALIZER, tensor);
    wire_value(&graph, GRAPH_OUTPUT, "w", TYPE_FLOAT, 4);
    wire_model(&model, &graph, 13);
    if (import_bytes(model.text, model.length, &out, &err) != ITG_OK) fail_msg("%s", err.message);
    itg_strbuf_deinit(&model);
    return out;
}

static void check_f32(uint32_t got, double want, bool is_nan)
{
    float value;
    memcpy(&value, &got, sizeof value);
    if (is_nan ? !isnan(value) : (double)value != want || !signbit(value) != !signbit(want))
        fail_msg("%08x is not %a", (unsigned)got, want);
}

static void every_float16_and_bfloat16_is_exact(void **state)
{
    (void)state;
    for (int bf = 0; bf < 2; bf++) {
        unsigned char *raw = malloc(2 * 65536);
        wire t = {0};
        assert_non_null(raw);
        for (int i = 0; i < 65536; i++) {
            raw[2 * i] = (unsigned char)(i & 255);
            raw[2 * i + 1] = (unsigned char)(i >> 8);
        }
        wire_raw_tensor(&t, bf ? TYPE_BFLOAT16 : TYPE_FLOAT16, 65536, raw, 2 * 65536);
        itg_graph *graph = import_tensor(&t);
        itg_tensor w = itg_graph_tensor(graph, graph->outputs[0]);
        assert_int_equal(w.dtype, ITG_F32);
        int fraction_bits = bf ? 7 : 10, bias = bf ? 127 : 15, top = bf ? 255 : 31;
        for (int i = 0; i < 65536; i++) {
            int exponent = (i >> fraction_bits) & top, fraction = i & ((1 << fraction_bits) - 1);
            double value = ldexp(fraction, (exponent ? exponent : 1) - bias - fraction_bits);
            if (exponent) value += ldexp(1.0, exponent - bias);
            if (exponent == top) value = (double)INFINITY;
            uint32_t bits;
            memcpy(&bits, (const char *)w.data + 4 * i, 4);
            check_f32(bits, i >> 15 ? -value : value, exponent == top && fraction != 0);
        }
        itg_graph_destroy(graph);
        free(raw);
    }
}

static void raw_numbers_are_little_endian(void **state)
{
    (void)state;
    static const unsigned char raw[16] = {1,    2,    3,    4,    5,    6,    7,    8,
                                          0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    wire t = {0};
    wire_raw_tensor(&t, TYPE_INT64, 2, raw, 16);
    itg_graph *graph = import_tensor(&t);
    itg_tensor w = itg_graph_tensor(graph, graph->outputs[0]);
    assert_int_equal(w.dtype, ITG_S64);
    assert_true(((const int64_t *)w.data)[0] == 0x0807060504030201 &&
                ((const int64_t *)w.data)[1] == -1);
    itg_graph_destroy(graph);
}

static void typed_fields_hold_every_type(void **state)
{
    (void)state;
    static const struct {
        int32_t type;
        uint32_t field;
        itg_dtype dtype;
        int64_t lo, hi; /* the extremes */
    } cases[] = {
        {TYPE_INT8, TENSOR_INT32S, ITG_S8, -128, 127},
        {TYPE_UINT8, TENSOR_INT32S, ITG_U8, 0, 255},
        {TYPE_INT16, TENSOR_INT32S, ITG_S16, -32768, 32767},
        {TYPE_UINT16, TENSOR_INT32S, ITG_U16, 0, 65535},
        {TYPE_INT32, TENSOR_INT32S, ITG_S32, INT32_MIN, INT32_MAX},
        {TYPE_BOOL, TENSOR_INT32S, ITG_BOOL, 0, 1},
        {TYPE_INT64, TENSOR_INT64S, ITG_S64, INT64_MIN, INT64_MAX},
        {TYPE_UINT32, TENSOR_UINT64S, ITG_U32, 0, UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int beyond = 0; beyond < 2; beyond++) {
            wire t = {0};
            wire_int(&t, TENSOR_DIMS, 2);
            wire_int(&t, TENSOR_TYPE, cases[i].type);
            wire_text(&t, TENSOR_NAME, "w");
            wire_int(&t, cases[i].field, cases[i].lo); /* unpacked: allowed */
            wire_int(&t, cases[i].field,
                     beyond ? cases[i].hi + (cases[i].hi < INT32_MAX || cases[i].hi == UINT32_MAX)
                            : cases[i].hi);
            if (beyond) {
                if (cases[i].hi == INT32_MAX || cases[i].hi == INT64_MAX)
                    itg_strbuf_deinit(&t);
                else
                    refuse_tensor(&t, ITG_BAD_FILE, "element 1");
                continue;
            }
            itg_graph *graph = import_tensor(&t);
            itg_tensor w = itg_graph_tensor(graph, graph->outputs[0]);
            assert_int_equal(w.dtype, cases[i].dtype);
            int64_t got[2] = {0, 0};
            for (int k = 0; k < 2; k++)
                switch (w.dtype) {
                case ITG_S8:
                    got[k] = ((const int8_t *)w.data)[k];
                    break;
                case ITG_S16:
                    got[k] = ((const int16_t *)w.data)[k];
                    break;
                case ITG_U16:
                    got[k] = ((const uint16_t *)w.data)[k];
                    break;
                case ITG_S32:
                    got[k] = ((const int32_t *)w.data)[k];
                    break;
                case ITG_U32:
                    got[k] = ((const uint32_t *)w.data)[k];
                    break;
                case ITG_S64:
                    got[k] = ((const int64_t *)w.data)[k];
                    break;
                default:
                    got[k] = ((const uint8_t *)w.data)[k];
                    break;
                }
            assert_true(got[0] == cases[i].lo && got[1] == cases[i].hi);
            itg_graph_destroy(graph);
        }
}

/* Five elements in three bytes, the last half of which is not looked at. */
static void elements_of_four_bits_become_bytes(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {0x81, 0x7f, 0xa8};
    static const int8_t with_sign[] = {1, -8, -1, 7, -8};
    static const uint8_t without[] = {1, 8, 15, 7, 8};
    for (int k = 0; k < 4; k++) {
        bool typed = k % 2 == 1, has_sign = k < 2;
        wire t = {0};
        if (typed) {
            wire_int(&t, TENSOR_DIMS, 5);
            wire_int(&t, TENSOR_TYPE, has_sign ? TYPE_INT4 : TYPE_UINT4);
            wire_text(&t, TENSOR_NAME, "w");
            for (int i = 0; i < 3; i++)
                wire_int(&t, TENSOR_INT32S, bytes[i]);
        } else {
            wire_raw_tensor(&t, has_sign ? TYPE_INT4 : TYPE_UINT4, 5, bytes, 3);
        }
        itg_graph *graph = import_tensor(&t);
        itg_tensor w = itg_graph_tensor(graph, graph->outputs[0]);
        assert_int_equal(w.dtype, has_sign ? ITG_S8 : ITG_U8);
        assert_int_equal(w.shape.dims[0], 5);
        if (has_sign)
            assert_memory_equal(w.data, with_sign, 5);
        else
            assert_memory_equal(w.data, without, 5);
        itg_graph_destroy(graph);
    }
    wire t = {0};
    wire_raw_tensor(&t, TYPE_INT4, 4, bytes, 3);
    refuse_tensor(&t, ITG_BAD_FILE, "3 bytes are stored, 4 elements of type INT4 need 2");
    wire_raw_tensor(&t, TYPE_UINT4, 7, bytes, 3);
    refuse_tensor(&t, ITG_BAD_FILE, "3 bytes are stored, 7 elements of type UINT4 need 4");
    wire_raw_tensor(&t, TYPE_INT4, 5, bytes, 3);
    wire_int(&t, TENSOR_INT32S, 1);
    refuse_tensor(&t, ITG_BAD_FILE, "twice");
    for (int beyond = 0; beyond < 2; beyond++) {
        wire_int(&t, TENSOR_DIMS, 1);
        wire_int(&t, TENSOR_TYPE, TYPE_INT4);
        wire_text(&t, TENSOR_NAME, "w");
        wire_int(&t, TENSOR_INT32S, beyond ? 256 : -1);
        refuse_tensor(&t, ITG_BAD_FILE, "element 0 does not fit its type INT4");
    }
}

/* What rounds to the type of a zero point would round to 8 bits. */
static void elements_of_four_bits_have_few_readers(void **state)
{
    (void)state;
    static const char *const ops[] = {"Relu", "QuantizeLinear", "Identity", "DequantizeLinear"};
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        wire graph = {0}, t = {0}, model = {0}, node = {0}, scale = {0};
        float one = 1;
        wire_raw_tensor(&t, TYPE_INT4, 1, "\x12", 1);
        wire_int(&scale, TENSOR_TYPE, TYPE_FLOAT);
        wire_text(&scale, TENSOR_NAME, "s");
        wire_bytes(&scale, TENSOR_RAW, &one, 4);
        wire_relu_graph(&graph);
        wire_message(&graph, GRAPH_INITIALIZER, &t);
        wire_message(&graph, GRAPH_INITIALIZER, &scale);
        bool quantizes = k == 1, dequantizes = k == 3;
        if (quantizes) wire_text(&node, NODE_INPUT, "x");
        if (dequantizes) wire_text(&node, NODE_INPUT, "w");
        if (quantizes || dequantizes) wire_text(&node, NODE_INPUT, "s");
        if (!dequantizes) wire_text(&node, NODE_INPUT, "w");
        wire_text(&node, NODE_OUTPUT, "z");
        wire_text(&node, NODE_OP, ops[k]);
        wire_message(&graph, GRAPH_NODE, &node);
        wire_model(&model, &graph, 21);
        if (!dequantizes) {
            assert_refused(&model, ITG_UNSUPPORTED, ops[k], "'w' has elements of 4 bits");
            continue;
        }
        itg_graph *g = NULL;
        assert_int_equal(import_bytes(model.text, model.length, &g, NULL), ITG_OK);
        itg_graph_destroy(g);
        itg_strbuf_deinit(&model);
    }
}

static void empty_tensors_are_constants_too(void **state)
{
    (void)state;
    wire t = {0};
    wire_int(&t, TENSOR_DIMS, 0);
    wire_int(&t, TENSOR_TYPE, TYPE_INT64);
    wire_text(&t, TENSOR_NAME, "w");
    itg_graph *graph = import_tensor(&t);
    assert_true(itg_graph_is_constant(graph, graph->outputs[0]));
    assert_int_equal(graph->values[graph->outputs[0]].shape.dims[0], 0);
    itg_graph_destroy(graph);
}

static void a_tensor_file_is_read(void **state)
{
    (void)state;
    static const unsigned char raw[8] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}; /* 1.0f, -2.0f */
    wire t = {0};
    itg_tensor tensor = {0};
    itg_error err = {0};
    itg_arena *arena = itg_arena_create(0);
    wire_raw_tensor(&t, TYPE_FLOAT, 2, raw, 8);
    assert_int_equal(itg_file_write(TEST_FOLDER "/tensor.pb", t.text, t.length, &err), ITG_OK);
    assert_int_equal(itg_onnx_tensor_read(TEST_FOLDER "/tensor.pb", arena, &tensor, &err), ITG_OK);
    assert_int_equal(tensor.dtype, ITG_F32);
    assert_true(((float *)tensor.data)[0] == 1.0f && ((float *)tensor.data)[1] == -2.0f);
    assert_int_equal(itg_file_write(TEST_FOLDER "/tensor.pb", t.text, t.length - 1, &err), ITG_OK);
    assert_int_equal(itg_onnx_tensor_read(TEST_FOLDER "/tensor.pb", arena, &tensor, &err),
                     ITG_BAD_FILE);
    assert_non_null(strstr(err.message, "tensor.pb"));
    remove(TEST_FOLDER "/tensor.pb");
    assert_int_equal(itg_onnx_tensor_read(TEST_FOLDER "/tensor.pb", arena, &tensor, &err), ITG_IO);
    itg_arena_destroy(arena);
    itg_strbuf_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_model_is_read),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_damaged_byte_is_survived),
        cmocka_unit_test(nested_subgraphs_are_refused_without_recursion),
        cmocka_unit_test(doubles_become_the_nearest_floats),
        cmocka_unit_test(a_million_empty_tensors_are_refused_by_the_budget),
        cmocka_unit_test(the_budget_counts_and_gives_back),
        cmocka_unit_test(every_memory_limit_ends_cleanly),
        cmocka_unit_test(damaged_wire_names_its_byte),
        cmocka_unit_test(names_must_be_text),
        cmocka_unit_test(a_file_without_graph_is_refused),
        cmocka_unit_test(wrong_amounts_of_data_are_refused),
        cmocka_unit_test(bad_dimensions_are_refused),
        cmocka_unit_test(what_cannot_be_held_is_refused_by_name),
        cmocka_unit_test(every_float16_and_bfloat16_is_exact),
        cmocka_unit_test(raw_numbers_are_little_endian),
        cmocka_unit_test(typed_fields_hold_every_type),
        cmocka_unit_test(elements_of_four_bits_become_bytes),
        cmocka_unit_test(elements_of_four_bits_have_few_readers),
        cmocka_unit_test(empty_tensors_are_constants_too),
        cmocka_unit_test(a_tensor_file_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
