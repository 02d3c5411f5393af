/* intaglio demo: what it writes, that it never overwrites, and that its commands do what it did. */
#include "driver.h"
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

/* Codes of weights lie beside the strategy, under a name of their own. */
static void remove_codes(const char *path)
{
    char pattern[256];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.codes", path);
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        unlink(found.gl_pathv[i]);
    globfree(&found);
}

static void remove_folder(const char *path)
{
    static const char *const files[] = {"digits.onnx",
                                        "digits_search_images.npy",
                                        "digits_search_labels.npy",
                                        "digits_test_images.npy",
                                        "digits_test_labels.npy",
                                        "best.json",
                                        "digits.itg",
                                        "digits.itg.cert.json",
                                        "runs.db"};
    char name[256];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(name, sizeof name, "%s/%s", path, files[i]);
        unlink(name);
    }
    remove_codes(path);
    rmdir(path); /* only where nothing else is in it */
    assert_false(exists(path));
}

static void assert_same_bytes(const char *a, const char *b)
{
    unsigned char *first = NULL, *second = NULL;
    size_t bytes = 0, bytes_too = 0;
    assert_int_equal(itg_file_read(a, 1 << 26, &first, &bytes, NULL), ITG_OK);
    assert_int_equal(itg_file_read(b, 1 << 26, &second, &bytes_too, NULL), ITG_OK);
    assert_int_equal(bytes, bytes_too);
    assert_memory_equal(first, second, bytes);
    free(first);
    free(second);
}

/* The words of one of the commands that the demo names, behind the program's name. */
static void command_line(const itg_json *json, size_t step, char *line, size_t size)
{
    const itg_json_value *words = itg_json_at(member(json, "commands"), step);
    const char *word = NULL;
    size_t used = 0;
    assert_true(itg_json_length(words) > 2);
    for (size_t i = 1; i < itg_json_length(words); i++) {
        assert_int_equal(itg_json_get_string(json, itg_json_at(words, i), &word, NULL), ITG_OK);
        used += (size_t)snprintf(line + used, size - used, "%s%s", i > 1 ? " " : "", word);
        assert_true(used < size);
    }
    snprintf(line + used, size - used, " --json");
}

static void its_commands_do_what_it_did(void **state)
{
    (void)state;
    char line[2048];
    assert_int_equal(mkdir("intaglio-demo", 0777), 0); /* somebody's */
    put("intaglio-demo/best.json", "mine", 4);
    itg_json *demo = run_json("demo --seed 3 --json --quiet");
    assert_string_equal(string(demo, "folder"), "intaglio-demo-2");
    assert_same_bytes("intaglio-demo-2/digits.onnx", "digits.onnx");
    assert_same_bytes("intaglio-demo-2/digits_search_images.npy", "digits_search_images.npy");
    assert_same_bytes("intaglio-demo-2/digits_search_labels.npy", "digits_search_labels.npy");
    assert_same_bytes("intaglio-demo-2/digits_test_images.npy", "digits_test_images.npy");
    assert_same_bytes("intaglio-demo-2/digits_test_labels.npy", "digits_test_labels.npy");
    assert_true(truth(demo, "goal_met") && number(demo, "seed") == 3);
    assert_true(number(demo, "best.weight_bytes") < 0.6 * number(demo, "uniform8.weight_bytes"));
    assert_true(number(demo, "float.weight_bytes") == 4 * number(demo, "uniform8.weight_bytes"));
    assert_string_equal(string(demo, "ran.digest"), string(demo, "best.digest"));
    assert_int_equal(itg_json_length(member(demo, "commands")), 3);

    char *strategy = text_of("intaglio-demo-2/best.json");
    assert_true(strlen(strategy) > 100);
    command_line(demo, 0, line, sizeof line);
    itg_json *searched = run_json(line);
    command_line(demo, 1, line, sizeof line);
    itg_json *realized = run_json(line);
    command_line(demo, 2, line, sizeof line);
    itg_json *ran = run_json(line);
    char *again = text_of("intaglio-demo-2/best.json");
    assert_string_equal(strategy, again);
    assert_true(number(searched, "trials") == number(demo, "trials"));
    assert_true(number(searched, "run") == 2); /* the demo's own is run 1 */
    assert_string_equal(string(searched, "best.holdout_digest"), string(demo, "best.digest"));
    assert_string_equal(string(ran, "digest"), string(demo, "ran.digest"));
    free(strategy);
    free(again);
    itg_json_destroy(demo);
    itg_json_destroy(searched);
    itg_json_destroy(realized);
    itg_json_destroy(ran);
    remove_folder("intaglio-demo-2");
    char *mine = text_of("intaglio-demo/best.json");
    assert_string_equal(mine, "mine");
    free(mine);
    remove_folder("intaglio-demo");
}

static void a_newcomer_sees_commands_a_table_and_where_things_are(void **state)
{
    (void)state;
    assert_int_equal(mkdir("it's", 0777), 0); /* an empty folder will do */
    outcome o = run("demo -o it's --threads 2 --quiet");
    assert_int_equal(o.status, 0);
    assert_string_equal(o.err, "");
    assert_contains(o.out, "$ intaglio search 'it'\\''s/digits.onnx'");
    assert_contains(o.out, "intaglio realize 'it'\\''s/digits.onnx'");
    assert_contains(o.out, "$ intaglio run");
    assert_contains(o.out, "8 bits everywhere");
    assert_contains(o.out, "95 % interval");
    assert_contains(o.out, "runs.db");
    assert_true(exists("it's/digits.itg"));
    done(&o);
    remove_folder("it's");
}

static void nothing_that_is_there_is_overwritten(void **state)
{
    (void)state;
    assert_int_equal(mkdir("taken", 0777), 0);
    put("taken/best.json", "mine", 4);
    static const char *const lines[] = {"demo -o taken", "demo -o digits.onnx"};
    for (int i = 0; i < 2; i++) {
        outcome o = run(lines[i]);
        assert_int_equal(o.status, 1);
        assert_contains(o.err, "is there already, and not an empty folder; nothing was written");
        done(&o);
    }
    char *mine = text_of("taken/best.json");
    assert_string_equal(mine, "mine");
    free(mine);
    remove_folder("taken");
    outcome o = run("demo -o absent/folder");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "absent/folder: cannot make the folder");
    done(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_commands_do_what_it_did),
        cmocka_unit_test(a_newcomer_sees_commands_a_table_and_where_things_are),
        cmocka_unit_test(nothing_that_is_there_is_overwritten),
    };
    if (enter_folder("demo") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
