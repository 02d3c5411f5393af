/* What commands write and read, as files: no output takes the place of an input or of another
 * output, whatever its name is derived from; files that belong together appear together. */
#include "driver.h"
#include <dirent.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "graph/onnx/onnx_write.h"
#include "tests/graph/onnx_wire.h"

/* ---- a network of two outputs ---- */

enum { SAMPLES = 5, ELEMENTS = 6 };

/* shape: of a sample. */
static void put_npy_of(const char *path, const char *shape, int elements)
{
    char header[128] = "\x93NUMPY\x01";
    float values[SAMPLES * 80];
    header[8] = 118;
    memset(header + 10, ' ', 118);
    int length =
        snprintf(header + 10, 118, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %s), }",
                 SAMPLES, shape);
    header[10 + length] = ' ';
    header[127] = '\n';
    for (int i = 0; i < SAMPLES * elements; i++)
        values[i] = (float)(i % 7) - 3;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(header, 1, sizeof header, file), sizeof header);
    assert_int_equal(fwrite(values, sizeof *values, (size_t)(SAMPLES * elements), file),
                     SAMPLES * elements);
    assert_int_equal(fclose(file), 0);
}

static void put_npy(const char *path)
{
    put_npy_of(path, "2, 3", ELEMENTS);
}

static void add_node(itg_onnx_writer *w, const char *op, const char *in, const char *out)
{
    itg_onnx_writer_node(w, "", op, out, &in, 1, &out, 1);
}

static void save(itg_onnx_writer *w, const char *path)
{
    itg_error err = {0};
    if (itg_onnx_writer_save(w, path, &err) != ITG_OK) fail_msg("%s", err.message);
    itg_onnx_writer_destroy(w);
}

static itg_onnx_writer *begin_model(void)
{
    itg_onnx_writer *w = NULL;
    const itg_shape shape = {3, {1, 2, 3}};
    assert_int_equal(itg_onnx_writer_create("two", "1", &w, NULL), ITG_OK);
    itg_onnx_writer_opset(w, "", 13);
    itg_onnx_writer_input(w, "x", ITG_F32, &shape);
    return w;
}

static void put_two_outputs(const char *path)
{
    const itg_shape shape = {3, {1, 2, 3}};
    itg_onnx_writer *w = begin_model();
    add_node(w, "Relu", "x", "a");
    add_node(w, "Neg", "x", "b");
    itg_onnx_writer_output(w, "a", ITG_F32, &shape);
    itg_onnx_writer_output(w, "b", ITG_F32, &shape);
    save(w, path);
}

static void must(const char *line)
{
    outcome o = run(line);
    if (o.status != 0) fail_msg("%s: status %d: %s", line, o.status, o.err);
    done(&o);
}

static void make_once(void)
{
    if (exists("two.itg")) return;
    put_npy("x.npy");
    put_two_outputs("two.onnx");
    must("simulate two.onnx --hw cortex-m --uniform 8 --calib x.npy --data x.npy -o two.json");
    must("realize two.onnx two.json -o two.itg");
}

static void copy(const char *from, const char *to)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    assert_int_equal(itg_file_read(from, 1 << 26, &data, &bytes, NULL), ITG_OK);
    put(to, data, bytes);
    free(data);
}

/* The line is a usage error that says so, and neither file changes. */
static void refused(const char *line, const char *says, const char *kept, const char *as)
{
    outcome o = run(line);
    if (o.status != 2 || !strstr(o.err, says))
        fail_msg("'%s': status %d, expected '%s' in: %s", line, o.status, says, o.err);
    done(&o);
    char *now = text_of(kept), *before = text_of(as);
    assert_string_equal(now, before);
    free(now);
    free(before);
}

/* ---- names that are derived ---- */

static void a_second_output_takes_nobodys_place(void **state)
{
    (void)state;
    make_once();
    copy("x.npy", "d.1.npy");
    refused("run two.itg --data d.1.npy -o d.npy", "the output d.1.npy would overwrite --data",
            "d.1.npy", "x.npy");
    refused("run two.itg --data d.1.npy -o ./d", "the output ./d.1.npy would overwrite --data",
            "d.1.npy", "x.npy");
    assert_false(exists("d.npy"));
    copy("two.itg", "p.1.npy");
    refused("run p.1.npy --data x.npy -o p.npy", "p.1.npy would overwrite FILE", "p.1.npy",
            "two.itg");
    assert_int_equal(link("d.1.npy", "e.1.npy"), 0);
    refused("run two.itg --data d.1.npy -o e.npy", "the output e.1.npy would overwrite --data",
            "d.1.npy", "x.npy");
    assert_int_equal(symlink("d.1.npy", "f.1.npy"), 0);
    refused("run two.itg --data d.1.npy -o f.npy", "the output f.1.npy would overwrite --data",
            "d.1.npy", "x.npy");
    /* One output in the place of the other, through a link to nothing. */
    assert_int_equal(symlink("g.npy", "g.1.npy"), 0);
    refused("run two.itg --data d.1.npy -o g.npy", "the output g.1.npy would overwrite --output",
            "d.1.npy", "x.npy");
    must("run two.itg --data d.1.npy -o h.npy");
    assert_true(exists("h.npy") && exists("h.1.npy"));
}

static void emitted_c_takes_nobodys_place(void **state)
{
    static const struct {
        const char *from, *kept, *line, *says;
    } cases[] = {
        {"two.onnx", "net.c", "realize net.c two.json --emit c --name net -o .",
         "the C source ./net.c would overwrite MODEL"},
        {"two.json", "net.h", "realize two.onnx net.h --emit c --name net -o .",
         "the C header ./net.h would overwrite STRATEGY"},
        {"x.npy", "net_selftest.c",
         "realize two.onnx two.json --emit c --name net --data net_selftest.c -o .",
         "the self-test ./net_selftest.c would overwrite --data"},
        {"two.itg", "net.itg", "realize net.itg --emit c --name net -o .",
         "the program ./net.itg would overwrite MODEL"},
        {"two.json", "net.itg.cert.json",
         "realize two.onnx net.itg.cert.json --emit c --name net -o .",
         "the program's certificate ./net.itg.cert.json would overwrite STRATEGY"},
        {"two.json", "net.cert.json", "realize two.onnx net.cert.json --emit c --name net -o .",
         "the source's certificate ./net.cert.json would overwrite STRATEGY"},
    };
    (void)state;
    make_once();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        copy(cases[i].from, cases[i].kept);
        refused(cases[i].line, cases[i].says, cases[i].kept, cases[i].from);
        unlink(cases[i].kept);
        assert_false(exists("net.c") || exists("net.h") || exists("net.itg"));
    }
}

static void a_database_keeps_the_names_beside_it(void **state)
{
#define SEARCH                                                                                     \
    "search two.onnx --hw cortex-m --data x.npy --calibration-samples 2 --search-samples 2 "       \
    "--trials 1 --quiet "
    (void)state;
    make_once();
    refused(SEARCH "--db z.db -o z.db-journal", "would overwrite the journal of --db", "x.npy",
            "x.npy");
    refused(SEARCH "--db z.db -o ./z.db-wal", "would overwrite the write-ahead log of --db",
            "x.npy", "x.npy");
    assert_false(exists("z.db") || exists("z.db-journal"));
    copy("x.npy", "w.db-journal");
    refused("search two.onnx --hw cortex-m --data w.db-journal --db w.db",
            "the journal of --db w.db-journal would overwrite --data", "w.db-journal", "x.npy");
    assert_int_equal(symlink("real.db", "name.db"), 0);
    refused(SEARCH "--db name.db -o real.db", "--output real.db would overwrite --db", "x.npy",
            "x.npy");
    refused(SEARCH "--db name.db -o real.db-journal", "would overwrite the journal of --db",
            "x.npy", "x.npy");
    refused(SEARCH "--db new.db -o NEW.db", "--output NEW.db would overwrite --db", "x.npy",
            "x.npy");
    must(SEARCH "--db z.db -o z.json");
    refused("runs export 1 --db z.db -o z.db-shm", "would overwrite the shared memory of --db",
            "x.npy", "x.npy");
}

/* ---- what files say of others ---- */

static void assert_strategy_hash(const char *path, const char *expected)
{
    itg_onnx_file *file = NULL;
    int found = 0;
    itg_error err = {0};
    if (itg_onnx_file_read(path, &file, &err) != ITG_OK) fail_msg("%s", err.message);
    for (int32_t i = 0; i < file->metadata_count; i++) {
        if (strcmp(file->metadata_key[i], "intaglio.strategy_hash") != 0) continue;
        assert_string_equal(file->metadata_value[i], expected);
        found++;
    }
    assert_int_equal(found, 1);
    itg_onnx_file_destroy(file);
}

/* The hash is the one that anybody computes of the file, which has results and may have blanks. */
static void all_forms_name_the_strategy_by_the_same_hash(void **state)
{
    unsigned char hash[32];
    char hex[65];
    itg_sha256 h;
    (void)state;
    make_once();
    char *text = text_of("two.json");
    size_t length = strlen(text);
    text[length - 1] = ' ';
    put("blank.json", text, length);
    itg_sha256_init(&h);
    itg_sha256_update(&h, text, length);
    itg_sha256_final(&h, hash);
    itg_sha256_hex(hash, hex);
    free(text);
    must("realize two.onnx blank.json -o blank.itg");
    must("realize two.onnx blank.json --emit qdq -o blank.onnx");
    assert_strategy_hash("blank.itg", hex);
    assert_strategy_hash("blank.onnx", hex);
}

/* ---- what is written can be read, and is whole ---- */

static void realized(const char *name, const char *data)
{
    char line[256];
    snprintf(line, sizeof line,
             "simulate %s.onnx --hw cortex-m --uniform 8 --calib %s --data %s -o %s.json", name,
             data, data, name);
    must(line);
    snprintf(line, sizeof line, "realize %s.onnx %s.json -o %s.itg", name, name, name);
    must(line);
    snprintf(line, sizeof line, "run %s.itg --data %s", name, data);
    must(line);
    snprintf(line, sizeof line, "verify %s.itg", name);
    must(line);
    snprintf(line, sizeof line, "diff %s.itg %s.json --model %s.onnx", name, name, name);
    must(line);
}

/* What the program's file says of its 3000 layers is longer than 1 MiB. */
static void a_deep_program_can_be_read(void **state)
{
    (void)state;
    enum { NODES = 3000 };
    const itg_shape shape = {3, {1, 2, 3}};
    char names[2][16] = {"x", ""};
    itg_onnx_writer *w = begin_model();
    make_once();
    for (int i = 0; i < NODES; i++) {
        const char *inputs[] = {names[i % 2], "x"}, *output = names[(i + 1) % 2];
        snprintf(names[(i + 1) % 2], sizeof names[0], "v%d", i);
        itg_onnx_writer_node(w, "", "Add", output, inputs, 2, &output, 1);
    }
    itg_onnx_writer_output(w, names[NODES % 2], ITG_F32, &shape);
    save(w, "deep.onnx");
    realized("deep", "x.npy");
}

/* One node of many outputs, each with attributes of its own, and one of many inputs. */
static void make_wide_once(void)
{
    enum { PARTS = 80, OPERANDS = 5000 };
    static char names[2 * PARTS][16];
    static const char *parts[PARTS], *operands[OPERANDS];
    const itg_shape wide = {2, {1, PARTS}}, result = {2, {1, OPERANDS}};
    itg_onnx_writer *w = NULL;
    if (exists("wide.itg")) return;
    assert_int_equal(itg_onnx_writer_create("wide", "1", &w, NULL), ITG_OK);
    itg_onnx_writer_opset(w, "", 13);
    itg_onnx_writer_input(w, "x", ITG_F32, &wide);
    add_node(w, "Relu", "x", "positive");
    for (int i = 0; i < PARTS; i++) {
        snprintf(names[i], sizeof names[i], "part%d", i);
        snprintf(names[PARTS + i], sizeof names[i], "less%d", i);
        parts[i] = names[i];
    }
    const char *relu = "positive", *y = "y";
    itg_onnx_writer_node(w, "", "Split", "split", &relu, 1, parts, PARTS);
    itg_onnx_writer_int(w, "axis", 1);
    for (int i = 0; i < PARTS; i++)
        add_node(w, "Neg", names[i], names[PARTS + i]);
    for (int i = 0; i < OPERANDS; i++)
        operands[i] = names[PARTS + i % PARTS];
    itg_onnx_writer_node(w, "", "Concat", "join", operands, OPERANDS, &y, 1);
    itg_onnx_writer_int(w, "axis", 1);
    itg_onnx_writer_output(w, "y", ITG_F32, &result);
    save(w, "wide.onnx");
    put_npy_of("wide.npy", "80", PARTS);
    realized("wide", "wide.npy");
}

static void a_wide_program_can_be_read(void **state)
{
    (void)state;
    make_wide_once();
}

static bool has_leftovers(void)
{
    DIR *listing = opendir(".");
    bool found = false;
    for (struct dirent *e = listing ? readdir(listing) : NULL; e; e = readdir(listing))
        found |= strncmp(e->d_name, ".itg-", 5) == 0;
    if (listing) closedir(listing);
    return found;
}

static void files_appear_together_or_not_at_all(void **state)
{
    static const char *const lines[][3] = {
        {"realize two.onnx two.json -o none.itg", "none.itg.cert.json", "none.itg"},
        {"realize two.onnx two.json --emit c --name none -o .", "none.cert.json", "none.c"},
        {"realize two.onnx two.json --emit c --name none -o .", "none_selftest.c", "none.itg"}};
    static const char *const all[] = {
        "none.c", "none.h", "none_selftest.c", "none.itg", "none.itg.cert.json", "none.cert.json"};
    (void)state;
    make_once();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mkdir(lines[i][1], 0700), 0);
        outcome o = run(lines[i][0]);
        assert_int_equal(o.status, 1);
        assert_contains(o.err, lines[i][1]);
        assert_null(strstr(o.err, ".tmp"));
        done(&o);
        assert_false(exists(lines[i][2]) || exists("none.h") || has_leftovers());
        assert_int_equal(rmdir(lines[i][1]), 0);
        must(lines[i][0]);
        assert_true(exists(lines[i][2]) && !has_leftovers());
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            unlink(all[k]);
    }
}

/* ---- files that may not grow ---- */

/* The limit holds for shared memory too, of which an OpenMP library may want 1 KiB. */
static outcome run_within(const char *line, rlim_t bytes)
{
    struct rlimit old, now;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    now = (struct rlimit){bytes, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
    outcome o = run(line);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    return o;
}

static void a_file_that_may_not_grow_is_an_error_and_leaves_nothing(void **state)
{
    static const char *const lines[] = {
        "realize wide.onnx wide.json -o small.itg",
        "realize wide.onnx wide.json --emit c --name small -o .",
        "realize wide.onnx wide.json --emit qdq -o small.onnx",
        "run wide.itg --data wide.npy -o small.npy",
        "simulate wide.onnx wide.json --data wide.npy -o small.json"};
    (void)state;
    make_wide_once();
    for (int i = 0; i < 5; i++) {
        outcome o = run_within(lines[i], 4096);
        if (o.status != 1) fail_msg("'%s': status %d: %s", lines[i], o.status, o.err);
        assert_contains(o.err, "File too large");
        done(&o);
        assert_false(has_leftovers());
    }
    assert_false(exists("small.itg") || exists("small.c") || exists("small.onnx") ||
                 exists("small.npy") || exists("small.json"));
}

/* The log ends at the limit; the search ends with it, with all that it found. */
static void a_log_that_may_not_grow_loses_nothing(void **state)
{
    (void)state;
    outcome o = run_within(
        "search digits.onnx --hw cortex-m --data digits_search_images.npy --labels "
        "digits_search_labels.npy --scale 1/255 --limit 200 --search-samples 60 "
        "--calibration-samples 20 --searcher random --trials 100000000 --quiet --db full.db "
        "-o full.json",
        400000);
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "full.db");
    done(&o);
    assert_true(exists("full.json"));
    itg_json *json = run_json("runs show 1 --db full.db --json");
    assert_true(number(json, "trials") > 10);
    itg_json_destroy(json);
    must("realize digits.onnx full.json -o full.itg");
}

/* A network with a constant whose data lies in const.bin. */
static void put_external(const char *path)
{
    static const float values[4] = {1, 2, 3, 4};
    wire graph = {0}, tensor = {0}, member = {0}, model = {0};
    wire_relu_graph(&graph);
    wire_int(&tensor, TENSOR_DIMS, 4);
    wire_int(&tensor, TENSOR_TYPE, TYPE_FLOAT);
    wire_text(&tensor, TENSOR_NAME, "w");
    wire_text(&member, 1, "location");
    wire_text(&member, 2, "const.bin");
    wire_message(&tensor, TENSOR_EXTERNAL, &member);
    wire_int(&tensor, TENSOR_LOCATION, 1);
    wire_message(&graph, GRAPH_INITIALIZER, &tensor);
    wire_model(&model, &graph, 13);
    put(path, model.text, model.length);
    put("const.bin", values, sizeof values);
    itg_strbuf_deinit(&model);
}

static void a_models_other_files_are_its_own(void **state)
{
    static const char *const lines[] = {
        "simulate external.onnx --hw cortex-m --uniform 8 --calib x.npy --data x.npy -o const.bin",
        "search external.onnx --hw cortex-m --data x.npy -o ./const.bin",
        "search external.onnx --hw cortex-m --data x.npy --db const.bin"};
    (void)state;
    make_once();
    put_external("external.onnx");
    copy("const.bin", "const.before");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        outcome o = run(lines[i]);
        if (o.status == 0 || !strstr(o.err, "const.bin would overwrite data of the model"))
            fail_msg("'%s': status %d: %s", lines[i], o.status, o.err);
        done(&o);
        char *now = text_of("const.bin"), *before = text_of("const.before");
        assert_string_equal(now, before);
        free(now);
        free(before);
    }
    must("check external.onnx --hw cortex-m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_models_other_files_are_its_own),
        cmocka_unit_test(a_second_output_takes_nobodys_place),
        cmocka_unit_test(emitted_c_takes_nobodys_place),
        cmocka_unit_test(a_database_keeps_the_names_beside_it),
        cmocka_unit_test(a_deep_program_can_be_read),
        cmocka_unit_test(a_wide_program_can_be_read),
        cmocka_unit_test(files_appear_together_or_not_at_all),
        cmocka_unit_test(a_file_that_may_not_grow_is_an_error_and_leaves_nothing),
        cmocka_unit_test(a_log_that_may_not_grow_loses_nothing),
        cmocka_unit_test(all_forms_name_the_strategy_by_the_same_hash),
    };
    if (enter_folder("files") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
