/* intaglio init, and the project file that it writes: defaults of commands, which the command line
 * overrules, and refusals with their line. */
#include "driver.h"
#include <string.h>

#define PROJECT "intaglio.toml"

static void write_project(const char *text)
{
    put(PROJECT, text, strlen(text));
}

static void refuses(const char *text, const char *message)
{
    write_project(text);
    outcome o = run("check digits.onnx");
    assert_int_equal(o.status, 2);
    assert_contains(o.err, message);
    done(&o);
}

static void init_finds_what_the_folder_holds(void **state)
{
    (void)state;
    remove(PROJECT);
    outcome o = run("init --hw cortex-m");
    if (o.status != 0) fail_msg("%s", o.err);
    assert_contains(o.out, "99.61 %");
    done(&o);
    char *text = text_of(PROJECT);
    assert_contains(text, "model = \"digits.onnx\"\ndata = \"digits_test_images.npy\"\nlabels = "
                          "\"digits_test_labels.npy\"\n"
                          "hw = \"cortex-m\"\n");
    assert_contains(text, "scale = \"1/255\"\n");
    assert_null(strstr(text, "layout"));
    free(text);
    o = run("init");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "intaglio.toml is there already");
    done(&o);
    itg_json *json =
        run_json("simulate --uniform 8 --limit 400 --json --calib digits_search_images.npy");
    assert_string_equal(string(json, "hardware"), "cortex-m");
    assert_true(number(json, "top1") > 0.98);
    itg_json_destroy(json);
}

/* Appends a key of the metadata to a model (ModelProto.metadata_props, field 14). */
static void add_metadata(const char *path, const char *key, const char *value)
{
    unsigned char *bytes = NULL;
    size_t count = 0;
    const size_t k = strlen(key), v = strlen(value);
    assert_int_equal(itg_file_read(path, 1 << 24, &bytes, &count, NULL), ITG_OK);
    unsigned char *more = realloc(bytes, count + k + v + 6), *at;
    assert_non_null(more);
    at = more + count;
    *at++ = 0x72;
    *at++ = (unsigned char)(k + v + 4);
    *at++ = 0x0A;
    *at++ = (unsigned char)k;
    memcpy(at, key, k);
    at += k;
    *at++ = 0x12;
    *at++ = (unsigned char)v;
    memcpy(at, value, v);
    put(path, more, count + k + v + 6);
    free(more);
}

/* Without labels the model's word is taken; with labels it is tried like the others. */
static void init_reads_the_models_metadata(void **state)
{
    (void)state;
    unsigned char *bytes = NULL;
    size_t count = 0;
    assert_int_equal(itg_file_read("digits.onnx", 1 << 24, &bytes, &count, NULL), ITG_OK);
    put("told.onnx", bytes, count);
    add_metadata("told.onnx", "Image.NominalPixelRange", "Normalized_1_1");
    add_metadata("told.onnx", "Image.BitmapPixelFormat", "Bgr8");
    free(bytes);
    assert_int_equal(itg_file_read("digits_test_labels.npy", 1 << 24, &bytes, &count, NULL),
                     ITG_OK);
    remove("digits_test_labels.npy");
    remove(PROJECT);
    outcome o = run("init told.onnx --data digits_test_images.npy");
    put("digits_test_labels.npy", bytes, count);
    free(bytes);
    if (o.status != 0) fail_msg("%s", o.err);
    assert_contains(o.out, "as the model's metadata says");
    done(&o);
    char *text = text_of(PROJECT);
    assert_contains(text, "# as the model's metadata says\nbgr = true\nscale = \"1/255\"\nmean = "
                          "\"0.5\"\nstd = \"0.5\"\n");
    free(text);
    remove(PROJECT);
    o = run("init told.onnx");
    if (o.status != 0) fail_msg("%s", o.err);
    assert_contains(o.out, "as the model's metadata says");
    assert_contains(o.out, "99.61 %");
    done(&o);
    text = text_of(PROJECT);
    assert_contains(text, "# 0..1: the best of those tried\nscale = \"1/255\"\n");
    free(text);
    remove(PROJECT);
    remove("told.onnx");
}

static void the_nearer_word_wins(void **state)
{
    (void)state;
    write_project(
        "model = \"digits.onnx\"\nhw = 'cvm' # of all\n\n[check]\r\nhw = \"vta\"\nprint = "
        "false\n[search]\ntrials = 3\n");
    outcome o = run("check");
    assert_contains(o.out, "\nvta: ");
    done(&o);
    o = run("check --hw cortex-m");
    assert_contains(o.out, "\ncortex-m: ");
    done(&o);
    write_project("model = \"digits.onnx\"\nhw = 'cvm'\nthreads = 1\n");
    o = run("check");
    assert_contains(o.out, "\ncvm: ");
    done(&o);
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
    (void)state;
    refuses("# x\nsclae = \"1\"\n", "intaglio.toml:2: there is no option 'sclae'");
    refuses("\n[serach]\n", "intaglio.toml:2: [serach]: expected a command");
    refuses("[search]\nuniform = 8\n", "intaglio.toml:2: there is no option 'uniform' of search");
    refuses("hw = \"vta\"\nhw = \"cvm\"\n", "intaglio.toml:2: hw stands twice");
    refuses("[check]\n[check]\n", "intaglio.toml:2: [check] stands twice");
    refuses("hw\n", "intaglio.toml:1: expected KEY = VALUE");
    refuses("hw = vta\n", "intaglio.toml:1: hw: expected a string on one line");
    refuses("hw = \"vta\n", "intaglio.toml:1: hw: expected a string");
    refuses("hw = \"vta\" x\n", "intaglio.toml:1: hw: expected a string");
    refuses("[check]\nprint = 1\n", "intaglio.toml:2: print: expected true or false");
    refuses("hw = true\n", "intaglio.toml:1: hw: expected a string or a number");
    refuses("threads = 1000\n", "intaglio.toml:1: the value of threads is refused");
    refuses("model = 3\n", "intaglio.toml:1: model: expected a string");
    remove(PROJECT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(init_finds_what_the_folder_holds),
                                       cmocka_unit_test(init_reads_the_models_metadata),
                                       cmocka_unit_test(the_nearer_word_wins),
                                       cmocka_unit_test(what_is_wrong_is_named_with_its_line)};
    if (enter_folder("project") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
