/* Networks that are no classifiers, from the command line: every command says SQNR, and none counts
 * classes. */
#include "driver.h"
#include <math.h>
#include "tests/graph/onnx_wire.h"

enum { EXTENT = 8, SAMPLES = 60 };

/* ---- files ---- */

static void value(wire *graph, uint32_t field, const char *name, const int64_t *dims, int rank)
{
    wire shape = {0}, tensor = {0}, outer = {0}, info = {0};
    for (int i = 0; i < rank; i++) {
        wire d = {0};
        wire_int(&d, 1, dims[i]);
        wire_message(&shape, 1, &d);
    }
    wire_int(&tensor, 1, TYPE_FLOAT);
    wire_message(&tensor, 2, &shape);
    wire_message(&outer, 1, &tensor);
    wire_text(&info, 1, name);
    wire_message(&info, 2, &outer);
    wire_message(graph, field, &info);
}

static void weights(wire *graph, const char *name, const int64_t dims[4], uint32_t seed)
{
    wire tensor = {0};
    float data[64];
    int64_t count = dims[0] * dims[1] * dims[2] * dims[3];
    for (int i = 0; i < 4; i++)
        wire_int(&tensor, TENSOR_DIMS, dims[i]);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        data[i] = (float)(seed >> 16) / 32768 - 1;
    }
    wire_int(&tensor, TENSOR_TYPE, TYPE_FLOAT);
    wire_text(&tensor, TENSOR_NAME, name);
    wire_bytes(&tensor, TENSOR_RAW, data, sizeof *data * (size_t)count);
    wire_message(graph, GRAPH_INITIALIZER, &tensor);
}

static void conv(wire *graph, const char *x, const char *w, const char *y)
{
    wire node = {0};
    wire_text(&node, NODE_INPUT, x);
    wire_text(&node, NODE_INPUT, w);
    wire_text(&node, NODE_OUTPUT, y);
    wire_text(&node, NODE_OP, "Conv");
    wire_message(graph, GRAPH_NODE, &node);
}

/* An image in, a smaller one out; with two outputs also what is in between. */
static void make_model(const char *path, bool two)
{
    wire graph = {0}, model = {0};
    const int64_t x[] = {1, 1, EXTENT, EXTENT}, a[] = {2, 1, 3, 3}, b[] = {1, 2, 3, 3};
    const int64_t middle[] = {1, 2, 6, 6}, y[] = {1, 1, 4, 4};
    value(&graph, GRAPH_INPUT, "x", x, 4);
    value(&graph, GRAPH_OUTPUT, "y", y, 4);
    if (two) value(&graph, GRAPH_OUTPUT, "r", middle, 4);
    weights(&graph, "a", a, 1);
    weights(&graph, "b", b, 2);
    conv(&graph, "x", "a", "h");
    wire_node(&graph, "Relu", "h", "r");
    conv(&graph, "r", "b", "y");
    wire_model(&model, &graph, 13);
    put(path, model.text, model.length);
    itg_strbuf_deinit(&model);
}

static void make_files(void)
{
    static float data[SAMPLES * EXTENT * EXTENT];
    static char labels[SAMPLES * 8];
    char head[128];
    wire file = {0}, classes = {0};
    uint32_t seed = 7;
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        seed = seed * 1664525 + 1013904223;
        data[i] = (float)(seed >> 16) / 32768 - 1;
    }
    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
    head[127] = '\n';
    const char *text = "{'descr': '<f4', 'fortran_order': False, 'shape': (60, 1, 8, 8), }";
    memcpy(head + 10, text, strlen(text));
    itg_strbuf_bytes(&file, head, sizeof head);
    itg_strbuf_bytes(&file, data, sizeof data);
    put("x.npy", file.text, file.length);
    memset(head + 10, ' ', 117);
    text = "{'descr': '<i8', 'fortran_order': False, 'shape': (60,), }";
    memcpy(head + 10, text, strlen(text));
    itg_strbuf_bytes(&classes, head, sizeof head);
    itg_strbuf_bytes(&classes, labels, sizeof labels);
    put("labels.npy", classes.text, classes.length);
    itg_strbuf_deinit(&file);
    itg_strbuf_deinit(&classes);
    make_model("one.onnx", false);
    make_model("two.onnx", true);
}

#define DATA " --data x.npy --calibration-samples 20 --search-samples 20 --quiet"

/* ---- simulate ---- */

static void simulate_says_sqnr_and_no_classes(void **state)
{
    (void)state;
    const char *const models[] = {"one.onnx", "two.onnx"};
    for (int i = 0; i < 2; i++) {
        char line[256];
        snprintf(line, sizeof line,
                 "simulate %s --uniform 8 --hw x86-vnni --calib x.npy --data x.npy", models[i]);
        outcome o = run(line);
        assert_int_equal(o.status, 0);
        assert_contains(o.out, "SQNR");
        assert_null(strstr(o.out, "agreement"));
        assert_null(strstr(o.out, "top-1"));
        done(&o);
        strcat(line, " --json");
        itg_json *json = run_json(line);
        double distortion = number(json, "distortion"), sqnr = number(json, "sqnr_db");
        assert_true(is_null(json, "agreement"));
        assert_true(sqnr > 25 && fabs(sqnr + 10 * log10(distortion)) < 1e-9);
        const itg_json_value *outputs = itg_json_find(itg_json_root(json), "outputs");
        assert_true((outputs != NULL) == (i == 1));
        double sum = 0;
        for (size_t k = 0; outputs && k < 2; k++) {
            const itg_json_value *output = itg_json_at(outputs, k);
            const char *name = NULL;
            double db = 0;
            itg_json_get_string(json, itg_json_find(output, "name"), &name, NULL);
            itg_json_get_number(json, itg_json_find(output, "sqnr_db"), &db, NULL);
            assert_string_equal(name, k ? "r" : "y");
            sum += pow(10, -db / 10) / 2;
        }
        assert_true(i == 0 || fabs(sum / distortion - 1) < 1e-9);
        itg_json_destroy(json);
    }
    itg_json *json = run_json("simulate digits.onnx --uniform 8 --hw cortex-m --calib "
                              "digits_search_images.npy --calib-limit 50 --data "
                              "digits_search_images.npy --limit 50 --scale 1/255 --json");
    assert_true(number(json, "agreement") > 0.9 && number(json, "sqnr_db") > 10);
    itg_json_destroy(json);
    outcome o = run("simulate one.onnx --uniform 8 --hw float --data x.npy");
    assert_contains(o.out, "exact: the outputs are the float network's");
    done(&o);
}

static void labels_are_refused_where_nothing_is_a_class(void **state)
{
    (void)state;
    outcome o = run("simulate one.onnx --uniform 8 --hw x86-vnni --calib x.npy --data x.npy "
                    "--labels labels.npy");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "no axis of classes");
    done(&o);
}

/* ---- search ---- */

static void a_search_keeps_a_floor_in_decibels(void **state)
{
    static const char *const models[] = {"one", "two"};
    static const char *const searchers[] = {"greedy", "anneal", "hago-greedy", "random"};
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++) {
            char line[512];
            snprintf(line, sizeof line,
                     "search %s.onnx --hw x86-vnni --trials 60 --searcher %s --json -o %s.json "
                     "%s" DATA,
                     models[i], searchers[k], models[i], k == 2 ? "" : "--baseline hago-greedy");
            itg_json *json = run_json(line);
            assert_true(truth(json, "goal_met"));
            assert_string_equal(string(json, "goal.quality"), "sqnr_db");
            assert_true(is_null(json, "goal.max_drop") && number(json, "goal.min_sqnr") == 30);
            assert_true(number(json, "best.search_sqnr_db") >= 30);
            assert_true(truth(json, "goal_met_on_holdout") == (number(json, "best.sqnr_db") >= 30));
            assert_true(is_null(json, "best.agreement") && is_null(json, "best.drop"));
            assert_true(is_null(json, "float.sqnr_db") && number(json, "float.distortion") == 0);
            assert_true(number(json, "best.average_weight_bits") > 3);
            if (k != 2) assert_true(number(json, "hago_greedy.search_sqnr_db") >= 30);
            /* What it says is what simulate says. */
            snprintf(line, sizeof line,
                     "simulate %s.onnx %s.json --data x.npy --part holdout --json", models[i],
                     models[i]);
            itg_json *again = run_json(line);
            assert_true(number(again, "distortion") == number(json, "best.distortion"));
            itg_json_destroy(again);
            itg_json_destroy(json);
        }
}

static void a_drop_in_points_is_refused_with_what_to_write(void **state)
{
    (void)state;
    outcome o = run("search two.onnx --hw x86-vnni --max-drop 1% --db refused.db" DATA);
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "give --min-sqnr DB, as in --min-sqnr 30dB");
    assert_false(exists("refused.db"));
    done(&o);
    o = run("search one.onnx --hw x86-vnni --max-drop 1% --min-sqnr 30" DATA);
    assert_int_equal(o.status, 2);
    assert_contains(o.err, "give one of them");
    done(&o);
    const char *const bad[] = {"0", "-3", "201", "30db", "dB", "30dBm", "1e999", "nan"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[256];
        snprintf(line, sizeof line, "search one.onnx --hw x86-vnni --min-sqnr %s" DATA, bad[i]);
        o = run(line);
        assert_int_equal(o.status, 2);
        assert_contains(o.err, "dB, as in 30dB");
        done(&o);
    }
}

static void limits_alone_want_the_highest_sqnr(void **state)
{
    (void)state;
    itg_json *json = run_json("search two.onnx --hw x86-vnni --max-size 22 --json" DATA);
    assert_string_equal(string(json, "goal.optimize"), "quality");
    assert_true(is_null(json, "goal.min_sqnr") && is_null(json, "goal.max_drop"));
    assert_true(number(json, "best.weight_bytes") <= 22 && number(json, "best.sqnr_db") > 10);
    itg_json_destroy(json);
}

static void a_floor_that_is_out_of_reach_is_a_failure(void **state)
{
    (void)state;
    outcome o = run("search one.onnx --hw x86-vnni --min-sqnr 120dB" DATA);
    assert_int_equal(o.status, 1);
    assert_contains(o.out, "SQNR at least 120 dB; NOT met");
    assert_contains(o.err, "at least 120 dB are wanted");
    done(&o);
}

/* ---- the log ---- */

static void the_log_speaks_of_the_same_quality(void **state)
{
    (void)state;
    const char *const line = "search two.onnx --hw x86-vnni --searcher random --min-sqnr 25dB "
                             "--db log.db --json -o log.json --trials ";
    char words[512];
    snprintf(words, sizeof words, "%s40" DATA, line);
    itg_json *whole = run_json(words);
    snprintf(words, sizeof words, "%s15" DATA, line);
    itg_json_destroy(run_json(words));
    itg_json *resumed =
        run_json("search --resume 2 --db log.db --trials 40 --min-sqnr 25 --json -q");
    assert_true(number(resumed, "replayed_trials") == 15);
    assert_true(number(resumed, "best.trial") == number(whole, "best.trial"));
    assert_string_equal(string(resumed, "best.holdout_digest"),
                        string(whole, "best.holdout_digest"));
    outcome o = run("search --resume 2 --db log.db --min-sqnr 26 -q");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "--min-sqnr 26");
    done(&o);
    o = run("search --resume 2 --db log.db --max-drop 1% -q");
    assert_int_equal(o.status, 1);
    done(&o);
    itg_json *shown = run_json("runs show 1 --trials --db log.db --json");
    assert_true(number(shown, "best.sqnr_db") == number(whole, "best.sqnr_db"));
    assert_string_equal(string(shown, "goal.quality"), "sqnr_db");
    itg_json_destroy(shown);
    o = run("runs show 1 --trials --db log.db");
    assert_contains(o.out, "SQNR at least 25 dB");
    assert_contains(o.out, " dB ");
    assert_contains(o.out, "stopped after");
    assert_null(strstr(o.out, "as float: get"));
    done(&o);
    o = run("runs list --db log.db");
    assert_contains(o.out, "size, SQNR >= 25 dB");
    done(&o);
    o = run("runs compare 1 2 --db log.db");
    assert_contains(o.out, "B's best has 0.00 dB of SQNR less than A's.");
    done(&o);
    itg_json *compared = run_json("runs compare 1 2 --db log.db --json");
    assert_string_equal(string(compared, "difference.quality"), "sqnr_db");
    assert_true(number(compared, "difference.drop_from_a_to_b") == 0);
    itg_json_destroy(compared);
    o = run("runs best --db log.db");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, " dB");
    done(&o);
    o = run("runs export 1 --db log.db -o run.json");
    assert_int_equal(o.status, 0);
    done(&o);
    o = run("runs import run.json --db other.db");
    assert_int_equal(o.status, 0);
    done(&o);
    itg_json_destroy(whole);
    itg_json_destroy(resumed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simulate_says_sqnr_and_no_classes),
        cmocka_unit_test(labels_are_refused_where_nothing_is_a_class),
        cmocka_unit_test(a_search_keeps_a_floor_in_decibels),
        cmocka_unit_test(a_drop_in_points_is_refused_with_what_to_write),
        cmocka_unit_test(limits_alone_want_the_highest_sqnr),
        cmocka_unit_test(a_floor_that_is_out_of_reach_is_a_failure),
        cmocka_unit_test(the_log_speaks_of_the_same_quality),
    };
    if (enter_folder("sqnr") != 0) return 1;
    make_files();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
