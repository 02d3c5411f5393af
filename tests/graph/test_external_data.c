/* Tensors whose data lies in other files of the model's folder, and all that may be wrong there. */
#include "onnx_wire.h"
#include "tests/base/cmocka_base.h"
#include "tests/faults.h"
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER TEST_FOLDER "/external"
#define MODEL FOLDER "/net.onnx"

typedef struct entry {
    const char *location, *offset, *length; /* NULL: not given */
} entry;

static void put(const char *path, const void *data, size_t bytes)
{
    (void)remove(path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void put_member(wire *tensor, const char *key, const char *value)
{
    wire member = {0};
    if (!value) return;
    wire_text(&member, 1, key);
    wire_text(&member, 2, value);
    wire_message(tensor, TENSOR_EXTERNAL, &member);
}

static void put_tensor(wire *graph, const char *name, int64_t count, const entry *e)
{
    wire t = {0};
    wire_int(&t, TENSOR_DIMS, count);
    wire_int(&t, TENSOR_TYPE, TYPE_FLOAT);
    wire_text(&t, TENSOR_NAME, name);
    put_member(&t, "location", e->location);
    put_member(&t, "offset", e->offset);
    put_member(&t, "length", e->length);
    put_member(&t, "checksum", "not looked at");
    wire_int(&t, TENSOR_LOCATION, 1);
    wire_message(graph, GRAPH_INITIALIZER, &t);
}

/* A model of constants w0, w1... of `count` floats, which are its outputs. */
static void put_model(const entry *entries, int tensors, int64_t count)
{
    wire graph = {0}, model = {0};
    for (int i = 0; i < tensors; i++) {
        char name[8];
        snprintf(name, sizeof name, "w%d", i);
        put_tensor(&graph, name, count, &entries[i]);
        wire_value(&graph, GRAPH_OUTPUT, name, TYPE_FLOAT, count);
    }
    wire_model(&model, &graph, 13);
    put(MODEL, model.text, model.length);
    itg_strbuf_deinit(&model);
}

static int make_folder(void **state)
{
    (void)state;
    (void)mkdir(FOLDER, 0777);
    (void)mkdir(FOLDER "/part", 0777);
    static const float numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    put(FOLDER "/w.bin", numbers, sizeof numbers);
    put(FOLDER "/part/v.bin", numbers + 4, 4 * sizeof *numbers);
    put(TEST_FOLDER "/outside.bin", numbers, sizeof numbers);
    (void)remove(FOLDER "/link.bin");
    (void)remove(FOLDER "/links");
    assert_int_equal(symlink("../outside.bin", FOLDER "/link.bin"), 0);
    assert_int_equal(symlink("part", FOLDER "/links"), 0);
    return 0;
}

static itg_graph *import(void)
{
    itg_graph *graph = NULL;
    itg_error err = {0};
    if (itg_onnx_import(MODEL, "", &graph, &err) != ITG_OK) fail_msg("%s", err.message);
    return graph;
}

static void data_is_read_where_it_lies(void **state)
{
    static const entry entries[] = {{"w.bin", "8", "16"},
                                    {"part/v.bin", NULL, NULL},
                                    {"./part//v.bin", "0", "16"},
                                    {"w.bin", "16", NULL},
                                    {"w.bin", NULL, "16"}};
    static const float first[] = {3, 5, 5, 5, 1};
    (void)state;
    put_model(entries, 5, 4);
    itg_graph *graph = import();
    for (int i = 0; i < 5; i++) {
        const itg_tensor t = itg_graph_tensor(graph, graph->outputs[i]);
        for (int k = 0; k < 4; k++)
            assert_true(((const float *)t.data)[k] == first[i] + (float)k);
    }
    assert_int_equal(graph->data_file_count, 3); /* names as they stand */
    assert_string_equal(graph->data_files[0], FOLDER "/w.bin");
    assert_string_equal(graph->data_files[1], FOLDER "/part/v.bin");
    itg_graph *copy = NULL;
    assert_int_equal(itg_graph_clone(graph, &copy, NULL), ITG_OK);
    assert_string_equal(copy->data_files[1], FOLDER "/part/v.bin");
    itg_graph_destroy(copy);
    itg_graph_destroy(graph);
}

static void the_hash_is_of_all_data(void **state)
{
    static const entry entries[] = {{"w.bin", NULL, "16"}};
    static const float numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8}, others[8] = {1, 2, 3, 5, 5, 6, 7, 8},
                       behind[8] = {1, 2, 3, 4, 5, 6, 7, 9};
    const float *contents[] = {numbers, others, behind};
    unsigned char hash[3][32], whole[32];
    (void)state;
    put_model(entries, 1, 4);
    for (int i = 0; i < 3; i++) {
        put(FOLDER "/w.bin", contents[i], sizeof numbers);
        itg_graph *graph = import();
        memcpy(hash[i], graph->source_hash, 32);
        itg_graph_destroy(graph);
    }
    put(FOLDER "/w.bin", numbers, sizeof numbers);
    assert_memory_not_equal(hash[0], hash[1], 32);
    assert_memory_equal(hash[0], hash[2], 32); /* no tensor has it */
    unsigned char *model = NULL;
    size_t bytes = 0;
    itg_sha256 h;
    assert_int_equal(itg_file_read(MODEL, 1 << 20, &model, &bytes, NULL), ITG_OK);
    itg_sha256_init(&h);
    itg_sha256_update(&h, model, bytes);
    itg_sha256_update(&h, numbers, 16);
    itg_sha256_final(&h, whole);
    assert_memory_equal(hash[0], whole, 32);
    free(model);
}

static void what_is_wrong_is_refused_with_tensor_and_file(void **state)
{
    static const struct {
        entry entry;
        itg_status status;
        const char *why;
    } cases[] = {
        {{NULL, NULL, NULL}, ITG_BAD_FILE, "initializer 'w0': it does not say where its data lies"},
        {{"", NULL, NULL}, ITG_BAD_FILE, "expected a path within the model's folder"},
        {{"/etc/passwd", NULL, NULL}, ITG_BAD_FILE, "expected a path within the model's folder"},
        {{"../outside.bin", NULL, NULL}, ITG_BAD_FILE, "expected a path within the model's folder"},
        {{"part/../../outside.bin", NULL, NULL},
         ITG_BAD_FILE,
         "expected a path within the model's folder"},
        {{"part/..", NULL, NULL}, ITG_BAD_FILE, "expected a path within the model's folder"},
        {{"part/", NULL, NULL}, ITG_BAD_FILE, "expected a path within the model's folder"},
        {{".", NULL, NULL}, ITG_BAD_FILE, "expected a path within the model's folder"},
        {{"link.bin", NULL, NULL}, ITG_BAD_FILE, "'link.bin': links are not followed"},
        {{"links/v.bin", NULL, NULL}, ITG_BAD_FILE, "links are not followed"},
        {{"w.bin/v.bin", NULL, NULL}, ITG_BAD_FILE, "'w.bin/v.bin'"},
        {{"part", NULL, NULL}, ITG_BAD_FILE, "expected a regular file"},
        {{"absent.bin", NULL, NULL}, ITG_IO, "'absent.bin': cannot open it"},
        {{"w.bin", "-4", NULL}, ITG_BAD_FILE, "its offset is no number from 0 on"},
        {{"w.bin", "4x", NULL}, ITG_BAD_FILE, "its offset is no number from 0 on"},
        {{"w.bin", "0", ""}, ITG_BAD_FILE, "its length is no number from 0 on"},
        {{"w.bin", "0", "99999999999999999999"}, ITG_BAD_FILE, "its length is no number from 0 on"},
        {{"w.bin", "33", NULL}, ITG_BAD_FILE, "but the file has 32"},
        {{"w.bin", "20", "16"}, ITG_BAD_FILE, "16 bytes from 20 on, but the file has 32"},
        {{"w.bin", "0", "922337203685477580"}, ITG_BAD_FILE, "but the file has 32"},
        {{"w.bin", "0", "12"}, ITG_BAD_FILE, "12 bytes, 4 elements"},
        {{"w.bin", NULL, NULL}, ITG_BAD_FILE, "32 bytes, 4 elements"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_graph *graph = NULL;
        itg_error err = {0};
        put_model(&cases[i].entry, 1, 4);
        if (itg_onnx_import(MODEL, "", &graph, &err) != cases[i].status)
            fail_msg("case %zu: %s", i, err.message);
        if (!strstr(err.message, cases[i].why) || !strstr(err.message, "initializer 'w0'"))
            fail_msg("case %zu: %s", i, err.message);
        assert_null(graph);
    }
}

/* Files with holes: their sizes are larger than what may be read in all. */
static void data_of_any_size_is_no_reason_to_take_all_memory(void **state)
{
    static const entry entries[] = {{"holes.bin", NULL, NULL}};
    itg_graph *graph = NULL;
    itg_error err = {0};
    (void)state;
    put(FOLDER "/holes.bin", "", 0);
    assert_int_equal(truncate(FOLDER "/holes.bin", (off_t)1 << 33), 0);
    put_model(entries, 1, 4);
    assert_int_equal(itg_onnx_import(MODEL, "", &graph, &err), ITG_LIMIT);
    assert_non_null(strstr(err.message, "data in other files is more than"));
    (void)remove(FOLDER "/holes.bin");
}

static void a_model_in_memory_has_no_folder(void **state)
{
    static const entry entries[] = {{"w.bin", NULL, "16"}};
    unsigned char *bytes = NULL;
    size_t count = 0;
    itg_onnx_file *file = NULL;
    itg_error err = {0};
    (void)state;
    put_model(entries, 1, 4);
    assert_int_equal(itg_file_read(MODEL, 1 << 20, &bytes, &count, NULL), ITG_OK);
    assert_int_equal(itg_onnx_file_parse(bytes, count, "net", itg_budget_of(count), &file, &err),
                     ITG_UNSUPPORTED);
    assert_non_null(strstr(err.message, "has no folder"));
    free(bytes);
}

/* A file that says nothing is looked at no further, and nothing stays open. */
static void models_without_such_data_open_nothing(void **state)
{
    wire empty = {0};
    (void)state;
    wire_int(&empty, MODEL_IR, 7);
    put(MODEL, empty.text, empty.length);
    itg_strbuf_deinit(&empty);
    const int before = dup(0);
    close(before);
    for (int i = 0; i < 3; i++) {
        itg_graph *graph = NULL;
        itg_error err = {0};
        assert_int_equal(itg_onnx_import(MODEL, "", &graph, &err), ITG_BAD_FILE);
        assert_non_null(strstr(err.message, "there is no graph"));
    }
    const int after = dup(0);
    close(after);
    assert_int_equal(after, before);
}

static void every_allocation_may_fail(void **state)
{
    static const entry entries[] = {{"w.bin", "8", "16"}, {"part/v.bin", NULL, NULL}};
    itg_graph *graph = NULL;
    int nth = 0;
    (void)state;
    put_model(entries, 2, 4);
    for (itg_status status = ITG_NO_MEMORY; status != ITG_OK; nth++) {
        itg_error err = {0};
        calls_left = nth;
        status = itg_onnx_import(MODEL, "", &graph, &err);
        calls_left = -1;
        if (status != ITG_OK && status != ITG_NO_MEMORY) fail_msg("%d: %s", nth, err.message);
        assert_true((status == ITG_OK) == (graph != NULL));
    }
    assert_true(nth > 30);
    assert_int_equal(graph->data_file_count, 2);
    itg_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_is_read_where_it_lies),
        cmocka_unit_test(the_hash_is_of_all_data),
        cmocka_unit_test(what_is_wrong_is_refused_with_tensor_and_file),
        cmocka_unit_test(data_of_any_size_is_no_reason_to_take_all_memory),
        cmocka_unit_test(a_model_in_memory_has_no_folder),
        cmocka_unit_test(models_without_such_data_open_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
