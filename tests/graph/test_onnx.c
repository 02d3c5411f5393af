/* Writing and reading back; every real model that is at hand; refusals by what a file is. */
#include "onnx_wire.h"
#include <stdio.h>

#define FILE_NAME TEST_FOLDER "/round_trip.onnx"

static const float weights[6] = {1.5f, -2.0f, 0.0f, 3.25f, -0.5f, 1e-30f};

static void write_everything(itg_onnx_writer *w)
{
    static const char *const in[] = {"x", "", "w"}, *const out[] = {"y"}, *const none[] = {"y2"};
    static const int64_t ints[3] = {-1, 0, INT64_MAX};
    static const float floats[2] = {0.5f, -1e30f};
    itg_shape x = {.rank = 3, .dims = {-1, 3, 8}}, y = {.rank = 0},
              wide = {.rank = 2, .dims = {2, 3}};
    itg_tensor tensor = {ITG_F32, wide, (void *)(uintptr_t)weights};
    itg_onnx_writer_opset(w, "", 13);
    itg_onnx_writer_opset(w, "com.example", 1);
    itg_onnx_writer_metadata(w, "key", "value \xc3\xa9");
    itg_onnx_writer_input(w, "x", ITG_U8, &x);
    itg_onnx_writer_output(w, "y", ITG_F32, &y);
    itg_onnx_writer_initializer(w, "w", &tensor);
    itg_onnx_writer_node(w, "com.example", "Thing", "first", in, 3, out, 1);
    itg_onnx_writer_int(w, "i", -7);
    itg_onnx_writer_float(w, "f", 0.1f);
    itg_onnx_writer_string(w, "s", "SAME_UPPER");
    itg_onnx_writer_ints(w, "ints", ints, 3);
    itg_onnx_writer_floats(w, "floats", floats, 2);
    itg_onnx_writer_ints(w, "none", NULL, 0);
    itg_onnx_writer_node(w, "", "Relu", "second", out, 1, none, 1);
}

static itg_onnx_file *read_back(itg_onnx_writer *w)
{
    itg_error err = {0};
    itg_onnx_file *file = NULL;
    if (itg_onnx_writer_save(w, FILE_NAME, &err) != ITG_OK) fail_msg("%s", err.message);
    if (itg_onnx_file_read(FILE_NAME, &file, &err) != ITG_OK) fail_msg("%s", err.message);
    remove(FILE_NAME);
    return file;
}

static void check_head(const itg_onnx_file *f)
{
    assert_string_equal(f->graph_name, "net");
    assert_string_equal(f->producer, "intaglio");
    assert_string_equal(f->producer_version, "1.2.3");
    assert_string_equal(f->source, FILE_NAME);
    assert_int_equal(f->opset_count, 2);
    assert_string_equal(f->opset_domain[0], "");
    assert_int_equal(f->opset_version[0], 13);
    assert_string_equal(f->opset_domain[1], "com.example");
    assert_int_equal(f->metadata_count, 1);
    assert_string_equal(f->metadata_key[0], "key");
    assert_string_equal(f->metadata_value[0], "value \xc3\xa9");
    assert_int_equal(f->input_count, 1);
    assert_int_equal(f->inputs[0].dtype, ITG_U8);
    assert_int_equal(f->inputs[0].shape.rank, 3);
    assert_int_equal(f->inputs[0].shape.dims[0], -1);
    assert_int_equal(f->inputs[0].shape.dims[2], 8);
    assert_int_equal(f->output_count, 1);
    assert_int_equal(f->outputs[0].shape.rank, 0);
    assert_int_equal(f->initializer_count, 1);
    assert_string_equal(f->initializers[0].name, "w");
    assert_memory_equal(f->initializers[0].tensor.data, weights, sizeof weights);
}

static void check_nodes(const itg_onnx_file *f)
{
    const itg_onnx_node *n = &f->nodes[0];
    assert_int_equal(f->node_count, 2);
    assert_string_equal(n->domain, "com.example");
    assert_string_equal(n->op_type, "Thing");
    assert_string_equal(n->name, "first");
    assert_int_equal(n->input_count, 3);
    assert_string_equal(n->inputs[1], "");
    assert_string_equal(n->inputs[2], "w");
    assert_int_equal(n->attr_count, 6);
    assert_true(itg_onnx_attr_find(n, "i")->type == ITG_ATTR_INT &&
                itg_onnx_attr_find(n, "i")->i == -7);
    assert_true(itg_onnx_attr_find(n, "f")->type == ITG_ATTR_FLOAT &&
                itg_onnx_attr_find(n, "f")->f == 0.1f);
    assert_string_equal(itg_onnx_attr_find(n, "s")->s, "SAME_UPPER");
    assert_int_equal(itg_onnx_attr_find(n, "ints")->count, 3);
    assert_true(itg_onnx_attr_find(n, "ints")->ints[2] == INT64_MAX);
    assert_true(itg_onnx_attr_find(n, "floats")->floats[1] == -1e30f);
    assert_true(itg_onnx_attr_find(n, "none")->type == ITG_ATTR_INTS &&
                itg_onnx_attr_find(n, "none")->count == 0);
    assert_null(itg_onnx_attr_find(n, "absent"));
    assert_int_equal(f->nodes[1].attr_count, 0);
    assert_string_equal(f->nodes[1].inputs[0], "y");
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    itg_onnx_writer *w = NULL;
    assert_int_equal(itg_onnx_writer_create("net", "1.2.3", &w, NULL), ITG_OK);
    write_everything(w);
    itg_onnx_file *file = read_back(w);
    check_head(file);
    check_nodes(file);
    itg_onnx_file_destroy(file);
    file = read_back(w); /* saving ends nothing */
    check_nodes(file);
    itg_onnx_file_destroy(file);
    itg_onnx_writer_destroy(w);
}

static void every_dtype_is_written_and_read(void **state)
{
    (void)state;
    static const unsigned char bytes[16] = {1, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 1};
    for (int dtype = 0; dtype < ITG_DTYPE_COUNT; dtype++) {
        itg_onnx_writer *w = NULL;
        uint64_t storage[2];
        memcpy(storage, bytes, sizeof storage);
        itg_tensor t = {(itg_dtype)dtype, {.rank = 1, .dims = {2}}, storage};
        assert_int_equal(itg_onnx_writer_create("net", "", &w, NULL), ITG_OK);
        itg_onnx_writer_initializer(w, "t", &t);
        itg_onnx_writer_input(w, "x", t.dtype, &t.shape);
        itg_onnx_file *file = read_back(w);
        const bool narrowed = dtype == ITG_F64;
        assert_int_equal(file->narrowed, narrowed);
        assert_int_equal(file->initializers[0].tensor.dtype, narrowed ? ITG_F32 : dtype);
        assert_int_equal(file->inputs[0].dtype, narrowed ? ITG_F32 : dtype);
        if (!narrowed)
            assert_memory_equal(file->initializers[0].tensor.data, bytes,
                                2 * itg_dtype_size(t.dtype));
        itg_onnx_file_destroy(file);
        itg_onnx_writer_destroy(w);
    }
}

/* Two codes a byte, the first in the low half; of an odd number the last half is 0. */
static void codes_of_4_bits_are_packed_in_pairs(void **state)
{
    (void)state;
    static const int8_t codes[] = {1, -2, 3, -4, 5, -8, 7};
    static const unsigned char packed[] = {0x4a, 4, 0xe1, 0xc3, 0x85, 0x07}; /* raw_data */
    for (int64_t count = 5; count <= 7; count++) {
        const itg_shape shape = {.rank = 1, .dims = {count}};
        unsigned char *bytes = NULL, expected[6];
        size_t size = 0;
        itg_onnx_writer *w = NULL;
        itg_error err = {0};
        memcpy(expected, packed, sizeof packed);
        if (count == 5) expected[1] = 3, expected[4] = 0x05;
        if (count == 6) expected[1] = 3;
        assert_int_equal(itg_onnx_writer_create("net", "", &w, NULL), ITG_OK);
        itg_onnx_writer_int4(w, "t", &shape, codes);
        assert_int_equal(itg_onnx_writer_save(w, FILE_NAME, &err), ITG_OK);
        assert_int_equal(itg_file_read(FILE_NAME, 1 << 20, &bytes, &size, &err), ITG_OK);
        const size_t length = 2 + (size_t)expected[1];
        size_t at = 0;
        while (at + length <= size && memcmp(bytes + at, expected, length) != 0)
            at++;
        assert_true(at + length <= size);
        free(bytes);
        remove(FILE_NAME);
        itg_onnx_writer_destroy(w);
    }
}

static void the_writer_keeps_its_first_failure(void **state)
{
    (void)state;
    itg_onnx_writer *w = NULL;
    itg_error err = {0};
    itg_shape x = {.rank = 1, .dims = {4}};
    assert_int_equal(itg_onnx_writer_create("net", "", &w, NULL), ITG_OK);
    itg_onnx_writer_int(w, "axis", 1);
    itg_onnx_writer_input(w, "x", ITG_F32, &x);
    assert_int_equal(itg_onnx_writer_save(w, FILE_NAME, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "attribute before any node"));
    itg_onnx_writer_destroy(w);
}

static void a_file_that_cannot_be_read_is_an_io_error(void **state)
{
    (void)state;
    itg_onnx_file *file = NULL;
    itg_error err = {0};
    assert_int_equal(itg_onnx_file_read(TEST_FOLDER "/absent.onnx", &file, &err), ITG_IO);
    assert_non_null(strstr(err.message, "absent.onnx"));
}

/* ---- real models ---- */
typedef struct real {
    const char *name;
    const char *refusal; /* NULL: it must be imported */
    int inputs, outputs;
} real;
static const real reals[] = {
    {"cifar10_winml_imageclassifier", NULL, 1, 1},
    {"cifar_yashraj", NULL, 1, 1},
    {"coral_mobilenet_v1_0.25_128_quant", NULL, 1, 1},
    {"fashion_shahjahan", NULL, 1, 1},
    {"imagenet_squeezenet_fp32_from_fp16", NULL, 1, 1},
    {"iris_winml_network", NULL, 1, 1},
    {"kws_micro_m_fp32", NULL, 1, 1},
    {"kws_micro_m_qdq", NULL, 1, 1},
    {"lenet_ccoltong_custom", NULL, 1, 1},
    {"mbv2_cifar10", NULL, 1, 1},
    {"mlperf_pretrainedResnet", NULL, 1, 1},
    {"mnist_onnxjs_7", NULL, 1, 1},
    {"mnist_onnxzoo_orig", "opset 1", 0, 0},
    {"mnist_wuhan_lg", NULL, 1, 1},
    {"resnet8_cifar10", NULL, 1, 1},
    {"resnet8_skewed", NULL, 1, 1},
    {"silero_vad_16k_op15", NULL, 3, 2},
    {"super_resolution_subpixel", NULL, 1, 1},
    {"ultraface_slim320", NULL, 1, 2},
    {"vit_cifar_ibp_3_3_8", NULL, 1, 1},
    {"vit_ln_cifar10", NULL, 1, 1},
    {"vnn_mnist-net_256x2", NULL, 1, 1},
    {"vnn_resnet_2b", NULL, 1, 1},
    {"vnn_resnet_4b", NULL, 1, 1},
};

static void check_real(const real *model, const char *path)
{
    itg_graph *graph = NULL;
    itg_error err = {0};
    itg_status status = itg_onnx_import(path, "", &graph, &err);
    if (model->refusal) {
        if (status != ITG_UNSUPPORTED || !strstr(err.message, model->refusal) ||
            !strstr(err.message, model->name))
            fail_msg("%s: \"%s\"; expected a refusal with \"%s\"", model->name, err.message,
                     model->refusal);
        return;
    }
    if (status != ITG_OK) fail_msg("%s", err.message);
    assert_int_equal(graph->input_count, model->inputs);
    assert_int_equal(graph->output_count, model->outputs);
    assert_true(graph->node_count > 0);
    for (int32_t n = 0; n < graph->node_count; n++) {
        assert_true(graph->nodes[n].opset >= 7 && graph->nodes[n].opset <= 21);
        assert_int_equal(itg_graph_find_node(graph, graph->nodes[n].name), n);
    }
    itg_graph_destroy(graph);
}

static void real_models_are_imported_or_clearly_refused(void **state)
{
    (void)state;
    int found = 0;
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, "../shared/data/models/%s.onnx", reals[i].name);
        FILE *file = fopen(path, "rb");
        if (!file) continue;
        fclose(file);
        found++;
        check_real(&reals[i], path);
    }
    if (found > 0) return;
    print_message("../shared/data/models is absent: nothing to import\n");
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(every_dtype_is_written_and_read),
        cmocka_unit_test(codes_of_4_bits_are_packed_in_pairs),
        cmocka_unit_test(the_writer_keeps_its_first_failure),
        cmocka_unit_test(a_file_that_cannot_be_read_is_an_io_error),
        cmocka_unit_test(real_models_are_imported_or_clearly_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
