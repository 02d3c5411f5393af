/* --recover: the codes are a file beside the strategy and a column of the run's log; wherever the
 * strategy goes, they go. */
#include "driver.h"
#include <sqlite3.h>
#include <unistd.h>

#define DATA " --data digits_search_images.npy --labels digits_search_labels.npy --scale 1/255"
#define SEARCH                                                                                     \
    "search digits.onnx --hw cortex-m --search-samples 60 --calibration-samples 20 --quiet "       \
    "--limit 200 --searcher random --trials 4 --max-drop 10% --recover round" DATA

/* Takes away the file of codes that a strategy names; its name to `out`. */
static void take_codes(const char *strategy, char *out, size_t size)
{
    char *text = text_of(strategy), *name = strstr(text, "\"codes\": {\"file\": \"");
    assert_non_null(name);
    name += strlen("\"codes\": {\"file\": \"");
    name[strcspn(name, "\"")] = '\0';
    snprintf(out, size, "%s", name);
    free(text);
    if (unlink(out) != 0) fail_msg("%s: no such file beside %s", out, strategy);
}

static void assert_same_text(const char *a, const char *b)
{
    char *first = text_of(a), *second = text_of(b);
    assert_true(strlen(first) > 100);
    assert_string_equal(first, second);
    free(first);
    free(second);
}

static void well(const char *line)
{
    outcome o = run(line);
    if (o.status != 0) fail_msg("%s: %s", line, o.err);
    done(&o);
}

static void refused(const char *line, const char *why)
{
    outcome o = run(line);
    assert_int_equal(o.status, 1);
    assert_contains(o.err, why);
    done(&o);
}

static void simulate_writes_and_needs_them(void **state)
{
    (void)state;
    static const char make[] = "simulate digits.onnx --uniform 4 --hw cortex-m --calib "
                               "digits_search_images.npy --calib-limit 64 --limit 50 --json" DATA;
    char line[512], name[256];
    snprintf(line, sizeof line, "%s --recover none", make);
    itg_json *nearest = run_json(line);
    snprintf(line, sizeof line, "%s --recover round -o made.json", make);
    itg_json *made = run_json(line);
    assert_string_not_equal(string(made, "digest"), string(nearest, "digest"));
    itg_json *again = run_json("simulate digits.onnx made.json --limit 50 --json" DATA);
    assert_string_equal(string(again, "digest"), string(made, "digest"));
    take_codes("made.json", name, sizeof name);
    refused("simulate digits.onnx made.json --limit 50 --json" DATA, name);
    itg_json_destroy(nearest);
    itg_json_destroy(made);
    itg_json_destroy(again);
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void the_log_keeps_them(void **state)
{
    (void)state;
    char first[256], second[256];
    outcome o = run(SEARCH " --db codes.db -o best.json");
    assert_int_equal(o.status, held_status(o.out));
    done(&o);
    take_codes("best.json", first, sizeof first);
    well("runs best --db codes.db -o again.json");
    assert_same_text("best.json", "again.json");
    take_codes("again.json", second, sizeof second);
    assert_string_equal(first, second);
    execute("codes.db", "UPDATE runs SET best_codes = substr(best_codes, 2)");
    refused("runs best --db codes.db -o again.json", "run 1: its codes are damaged");
    execute("codes.db", "UPDATE runs SET best_codes = 'x' || best_codes");
    refused("runs best --db codes.db -o again.json", "run 1: its codes are damaged");
}

/* The text of a file with the first `from` behind `behind` replaced. */
static void rewrite(const char *path, const char *to, const char *behind, char with)
{
    char *text = text_of(path), *at = strstr(text, behind);
    assert_non_null(at);
    at[strlen(behind)] = with;
    put(to, text, strlen(text));
    free(text);
}

static void an_export_carries_them(void **state)
{
    (void)state;
    char first[256], second[256];
    outcome o = run(SEARCH " --db from.db -o found.json");
    done(&o);
    take_codes("found.json", first, sizeof first);
    well("runs export 1 --db from.db -o run.json");
    well("runs import run.json --db to.db");
    well("runs best --db to.db -o moved.json");
    assert_same_text("found.json", "moved.json");
    take_codes("moved.json", second, sizeof second);
    assert_string_equal(first, second);
    rewrite("run.json", "bad.json", "\n  \"codes\": \"", 'g');
    refused("runs import bad.json --db to.db", "bad.json: codes: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simulate_writes_and_needs_them),
        cmocka_unit_test(the_log_keeps_them),
        cmocka_unit_test(an_export_carries_them),
    };
    if (enter_folder("codes") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
