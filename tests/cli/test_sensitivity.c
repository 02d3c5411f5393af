/* intaglio sensitivity: what it measures is the deployed program's, it repeats, and what the log
 * has is not evaluated again. */
#include "driver.h"
#include <intaglio/intaglio.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DATA                                                                                       \
    " --data digits_search_images.npy --labels digits_search_labels.npy --scale 1/255 --quiet"
#define SURVEY                                                                                     \
    "sensitivity digits.onnx --hw cortex-m --search-samples 100 --calibration-samples 50" DATA
#define WIDTHS " --weight-bits 2:4 --activation-bits 6:8 --input-bits 8:8 --output-bits 8:8"

static const itg_json_value *choices_of(const itg_json *json)
{
    return member(json, "choices");
}

static const char *text_at(const itg_json *json, const itg_json_value *value, const char *key)
{
    const char *text = NULL;
    (void)itg_json_get_string(json, itg_json_find(value, key), &text, NULL);
    return text;
}

static double number_at(const itg_json *json, const itg_json_value *value, const char *key)
{
    double number = 0;
    assert_int_equal(itg_json_get_number(json, itg_json_find(value, key), &number, NULL), ITG_OK);
    return number;
}

static const char *edge_of(const itg_json *json, const itg_json_value *choice)
{
    const char *text = NULL;
    const itg_json_value *first = itg_json_at(itg_json_find(choice, "edges"), 0);
    assert_int_equal(itg_json_get_string(json, first, &text, NULL), ITG_OK);
    return text;
}

/* The choices and the widest point as text, which has all figures. */
static char *figures_of(const char *out)
{
    const char *at = strstr(out, "\"float\":");
    assert_non_null(at);
    return strdup(at);
}

static char *survey(const char *options, double *reused)
{
    char line[1024];
    snprintf(line, sizeof line, SURVEY WIDTHS " --json %s", options);
    outcome o = run(line);
    assert_int_equal(o.status, 0);
    assert_string_equal(o.err, "");
    itg_json *json = parse(o.out);
    *reused = number(json, "reused_trials");
    assert_true(truth(json, "complete"));
    itg_json_destroy(json);
    char *figures = figures_of(o.out);
    done(&o);
    return figures;
}

static void surveys_are_equal(const char *figures, const char *options, double reused)
{
    double found = 0;
    char *other = survey(options, &found);
    assert_string_equal(figures, other);
    assert_true(found == reused);
    free(other);
}

/* ---- what is measured ---- */

static void each_group_is_there_once_at_each_width_and_the_loudest_first(void **state)
{
    (void)state;
    itg_json *json = run_json(SURVEY WIDTHS " --json -o table.json");
    const itg_json_value *choices = choices_of(json);
    size_t count = itg_json_length(choices);
    assert_true(count > 10 && (double)count + 1 == number(json, "trials"));
    assert_true(number(json, "samples") == 100 && number(json, "reused_trials") == 0);
    assert_string_equal(string(json, "quality"), "top-1");
    for (size_t i = 0; i < count; i++) {
        const itg_json_value *c = itg_json_at(choices, i);
        const char *edge = edge_of(json, c);
        if (i > 0)
            assert_true(number_at(json, itg_json_at(choices, i - 1), "distortion") >=
                        number_at(json, c, "distortion"));
        assert_true(number_at(json, c, "bits") < 8);
        assert_true(number_at(json, c, "weight_bytes") <= number(json, "widest.weight_bytes"));
        for (size_t k = 0; k < i; k++) {
            const itg_json_value *o = itg_json_at(choices, k);
            const char *others = edge_of(json, o);
            assert_true(strcmp(edge, others) != 0 ||
                        number_at(json, c, "bits") != number_at(json, o, "bits"));
        }
    }
    char *written = text_of("table.json");
    itg_json *table = parse(written);
    assert_int_equal(itg_json_length(choices_of(table)), count);
    itg_json_destroy(table);
    free(written);
    itg_json_destroy(json);
}

/* The strategy of a row, taken from the log, simulated and run as a program. */
static void a_row_is_the_score_of_the_deployed_program(void **state)
{
    (void)state;
    char line[512];
    itg_json *json = run_json(SURVEY WIDTHS " --json --db exact.db");
    const itg_json_value *row = itg_json_at(choices_of(json), 0);
    snprintf(line, sizeof line, "runs best 1 --trial %d -o row.json --db exact.db",
             (int)number_at(json, row, "trial"));
    outcome o = run(line);
    assert_int_equal(o.status, 0);
    done(&o);
    itg_json *simulated = run_json("simulate digits.onnx row.json --part search --json --data "
                                   "digits_search_images.npy --labels digits_search_labels.npy");
    assert_string_equal(text_at(json, row, "digest"), string(simulated, "digest"));
    assert_true(number_at(json, row, "top1") == number(simulated, "top1"));
    assert_true(number_at(json, row, "quality") == number(simulated, "top1"));
    assert_true(number_at(json, row, "bops") == number(simulated, "bops"));
    itg_json_destroy(simulated);
    itg_json_destroy(json);
}

static void methods_are_tried_at_each_width(void **state)
{
    (void)state;
    itg_json *plain = run_json(SURVEY WIDTHS " --json");
    itg_json *json = run_json(SURVEY WIDTHS " --threshold max,kl --json");
    size_t count = itg_json_length(choices_of(json)), at_widest = 0, with_kl = 0;
    for (size_t i = 0; i < count; i++) {
        const itg_json_value *c = itg_json_at(choices_of(json), i);
        const char *method = text_at(json, c, "method");
        bool is_kl = method && strcmp(method, "kl") == 0;
        with_kl += is_kl;
        at_widest += is_kl && itg_json_typeof(itg_json_find(c, "bits")) == ITG_JSON_NUMBER &&
                     number_at(json, c, "bits") == 8;
    }
    assert_true(at_widest > 1 && with_kl > 2 * at_widest);
    assert_int_equal(count, itg_json_length(choices_of(plain)) + with_kl);
    itg_json_destroy(plain);
    itg_json_destroy(json);
}

static void the_text_has_bars_that_fall(void **state)
{
    (void)state;
    outcome o = run(SURVEY WIDTHS);
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "each choice alone, all others at the widest; 100 search samples");
    assert_contains(o.out, "all at the widest");
    size_t before = 21;
    for (const char *at = strstr(o.out, "all at the widest"); at; at = strchr(at + 1, '\n')) {
        const char *bar = strpbrk(at + 1, "#\n");
        if (!bar || *bar != '#') continue;
        assert_in_range(strspn(bar, "#"), 1, before);
        before = strspn(bar, "#");
    }
    assert_true(before < 20); /* there were some */
    done(&o);
}

/* The best of a search keeps what patterns said, and the log says what that was. */
static void a_search_with_patterns_keeps_widths_and_is_logged(void **state)
{
    (void)state;
    outcome o =
        run("search digits.onnx --hw cortex-m --search-samples 100 --calibration-samples 50 "
            "--max-drop 5% --trials 30 --only *weight --fix conv2.weight=5 --skip fc.weight "
            "--db patterns.db -o patterns.json" DATA);
    assert_true(o.status == 0 || o.status == 3);
    done(&o);
    o = run("runs show 1 --db patterns.db");
    assert_contains(o.out, "\"only\": \"*weight\", \"skip\": \"fc.weight\", "
                           "\"fix\": \"conv2.weight=5\"");
    done(&o);
    itg_json *json = run_json("diff patterns.json patterns.json --model digits.onnx --all --json");
    const itg_json_value *edges = member(json, "edges");
    int seen = 0;
    for (size_t i = 0; i < itg_json_length(edges); i++) {
        const itg_json_value *e = itg_json_at(edges, i);
        const char *value = text_at(json, e, "value");
        double bits = 0;
        const itg_json_value *side = itg_json_find(e, "a");
        if (itg_json_get_number(json, itg_json_find(side, "bits"), &bits, NULL) != ITG_OK) continue;
        if (strcmp(value, "conv2.weight") == 0) assert_true(bits == 5 && ++seen);
        if (strcmp(value, "fc.weight") == 0) assert_true(bits == 8 && ++seen);
        if (strcmp(value, "image") == 0) assert_true(bits == 8 && ++seen);
    }
    assert_int_equal(seen, 3);
    itg_json_destroy(json);
    o = run("search --resume 1 --db patterns.db --quiet --skip conv1.weight");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "--skip conv1.weight: run 1 of patterns.db has fc.weight");
    done(&o);
    o = run("search --resume 1 --db patterns.db --quiet --trials 40");
    assert_true(o.status == 0 || o.status == 3);
    assert_contains(o.out, "of them from the log");
    done(&o);
}

/* Float where it is allowed: the best runs alike everywhere, and the log knows. */
static void a_search_may_leave_layers_in_float(void **state)
{
    (void)state;
    outcome o =
        run("search digits.onnx --hw x86-vnni --search-samples 100 --calibration-samples 50 "
            "--max-drop 5% --trials 30 --allow-float conv*,fc --fix conv2=32 --recover none "
            "--db float.db -o float.json" DATA);
    assert_true(o.status == 0 || o.status == 3);
    done(&o);
    o = run("runs show 1 --db float.db");
    assert_contains(o.out, "\"fix\": \"conv2=32\", \"allow_float\": \"conv*,fc\"");
    done(&o);
    o = run("realize digits.onnx float.json -o float.itg");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "Conv conv2: the strategy leaves it in float");
    done(&o);
    itg_json *simulated = run_json("simulate digits.onnx float.json --definition --json "
                                   "--data digits_test_images.npy");
    itg_json *executed = run_json("run float.itg --json --data digits_test_images.npy");
    assert_string_equal(text_at(simulated, itg_json_root(simulated), "digest"),
                        text_at(executed, itg_json_root(executed), "digest"));
    itg_json_destroy(simulated);
    itg_json_destroy(executed);
    o = run("search digits.onnx --hw cortex-m --allow-float conv1" DATA);
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "allow-float: 'conv1' matches no Conv, Gemm or MatMul");
    done(&o);
}

/* ---- repeating, and the log ---- */

static void threads_change_nothing(void **state)
{
    (void)state;
    double reused = 0;
    char *one = survey("--threads 1", &reused);
    surveys_are_equal(one, "--threads 2", 0);
    surveys_are_equal(one, "--threads 4 --cache-mb 0", 0);
    free(one);
}

static void change_log(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int64_t runs_of(const char *path)
{
    itg_run_log *log = NULL;
    int64_t *runs = NULL, count = 0;
    assert_int_equal(itg_run_log_open_reader(path, &log, NULL), ITG_OK);
    assert_int_equal(itg_run_log_runs(log, &runs, &count, NULL), ITG_OK);
    free(runs);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    return count;
}

static void what_the_log_has_is_not_evaluated_again(void **state)
{
    (void)state;
    double reused = 0;
    char *first = survey("--db log.db", &reused);
    assert_true(reused == 0);
    itg_json *json = run_json(SURVEY WIDTHS " --json");
    double trials = number(json, "trials");
    itg_json_destroy(json);
    surveys_are_equal(first, "--db log.db --threads 1", trials);
    assert_int_equal(runs_of("log.db"), 1);
    free(survey("--db log.db --seed 1", &reused)); /* other samples: another run */
    assert_true(reused == 0);
    free(survey("--db log.db --limit 600", &reused)); /* other data */
    assert_true(reused == 0);
    assert_int_equal(runs_of("log.db"), 3);
    surveys_are_equal(first, "--db log.db", trials);
    free(first);
}

static void a_survey_that_was_cut_short_goes_on(void **state)
{
    (void)state;
    double reused = 0;
    char *whole = survey("--db cut.db", &reused);
    change_log("cut.db", "DELETE FROM trials WHERE number >= 7;"
                         "DELETE FROM metrics WHERE typeof(subject) = 'integer' AND subject >= 7;"
                         "UPDATE runs SET stop_reason = NULL");
    surveys_are_equal(whole, "--db cut.db", 7);
    assert_int_equal(runs_of("cut.db"), 1);
    free(whole);
}

static void ctrl_c_prints_what_is_known(void **state)
{
    (void)state;
    int64_t trials = 0;
    pid_t child = start("sensitivity digits.onnx --hw cortex-m --threads 1 --json --db broken.db "
                        "--threshold max,avg,percentile,mse,kl --weight-threshold "
                        "max,avg,percentile,mse,kl" DATA);
    while (trials < 3) {
        itg_run_log *log = NULL;
        itg_trial *seen = NULL;
        int64_t count = 0;
        if (itg_run_log_open_reader("broken.db", &log, NULL) == ITG_OK &&
            itg_run_log_load_trials(log, 1, &seen, &count, NULL) == ITG_OK)
            trials = count;
        itg_run_log_free_trials(seen, count);
        if (log) itg_run_log_close(log, NULL);
        wait_while_it_runs(child);
    }
    kill(child, SIGINT);
    assert_int_equal(wait_for(child), 0);
    char *out = text_of("background.out"), *err = text_of("background.err");
    itg_json *json = parse(out);
    assert_false(truth(json, "complete"));
    assert_true(number(json, "trials") >= 3);
    assert_true((double)itg_json_length(choices_of(json)) + 1 == number(json, "trials"));
    assert_contains(err, "interrupted; this is what was known by then");
    itg_json_destroy(json);
    free(out);
    free(err);
}

/* avr without splitting sums: 16 bits hold no layer at 8 bits, and this is said. */
static void what_cannot_be_run_stands_last_and_says_why(void **state)
{
    static const char split[] = ", \"split\": true, \"join_bits\": 32, \"join_cycles\": 15";
    (void)state;
    outcome o = run("hw show avr");
    for (char *at = strstr(o.out, split); at; at = strstr(at, split))
        memmove(at, at + strlen(split), strlen(at + strlen(split)) + 1);
    put("narrow.json", o.out, strlen(o.out));
    done(&o);
    itg_json *json =
        run_json("sensitivity digits.onnx --hw narrow.json --search-samples 50 --json" DATA);
    assert_false(truth(json, "widest.feasible"));
    assert_contains(string(json, "widest.error"), "the hardware has 16");
    assert_true(is_null(json, "widest.quality") && is_null(json, "widest.digest"));
    itg_json_destroy(json);
    o = run("sensitivity digits.onnx --hw narrow.json --search-samples 50" DATA);
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "The hardware cannot run all at the widest: digits.onnx: node 'conv1'");
    done(&o);
}

static void bad_words_are_refused(void **state)
{
    static const struct {
        const char *line, *said;
    } cases[] = {
        {"sensitivity digits.onnx --hw cortex-m", "--data X is missing"},
        {SURVEY " --searcher greedy", "unknown option '--searcher'"},
        {SURVEY " --max-drop 1%", "unknown option '--max-drop'"},
        {SURVEY " --metric nonsense", "nonsense"},
        {SURVEY " --only cnv1", "'cnv1' matches no node, value or edge whose width can be chosen; "
                                "did you mean 'conv1'?"},
        {SURVEY " -o digits.onnx", "digits.onnx"},
        {"sensitivity digits.onnx --hw nonesuch" DATA, "nonesuch"},
        {"sensitivity digits.onnx --hw float" DATA, "there is nothing to search"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome o = run(cases[i].line);
        assert_true(o.status == 1 || o.status == 2);
        assert_string_equal(o.out, "");
        assert_contains(o.err, cases[i].said);
        done(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_group_is_there_once_at_each_width_and_the_loudest_first),
        cmocka_unit_test(a_row_is_the_score_of_the_deployed_program),
        cmocka_unit_test(methods_are_tried_at_each_width),
        cmocka_unit_test(the_text_has_bars_that_fall),
        cmocka_unit_test(a_search_may_leave_layers_in_float),
        cmocka_unit_test(a_search_with_patterns_keeps_widths_and_is_logged),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(what_the_log_has_is_not_evaluated_again),
        cmocka_unit_test(a_survey_that_was_cut_short_goes_on),
        cmocka_unit_test(ctrl_c_prints_what_is_known),
        cmocka_unit_test(what_cannot_be_run_stands_last_and_says_why),
        cmocka_unit_test(bad_words_are_refused),
    };
    if (enter_folder("sensitivity") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed ? 1 : 0;
}
