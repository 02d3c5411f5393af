/* The commands on the embedded example: what they print, what they write, and that they agree. */
#include "driver.h"
#include <unistd.h>

#define DATA " --data digits_test_images.npy --labels digits_test_labels.npy --limit 300"
#define CALIB " --calib digits_search_images.npy --calib-limit 100 --scale 1/255"
#define UNIFORM "simulate digits.onnx --uniform 8 --hw cortex-m" CALIB DATA

static void simulated_realized_and_run_are_the_same_bits(void **state)
{
    (void)state;
    itg_json *simulated = run_json(UNIFORM " --json -o s.json");
    itg_json *again = run_json("simulate digits.onnx s.json --definition --json" DATA);
    itg_json *realized = run_json("realize digits.onnx s.json -o s.itg --json");
    itg_json *ran = run_json("run s.itg --json -o out.npy" DATA);
    assert_int_equal(strlen(string(simulated, "digest")), 64);
    assert_string_equal(string(simulated, "digest"), string(ran, "digest"));
    assert_string_equal(string(simulated, "digest"), string(again, "digest"));
    assert_string_equal(string(simulated, "run_by"), "executor");
    assert_string_equal(string(again, "run_by"), "definition");
    static const char *const equal[] = {"top1",           "agreement", "distortion",
                                        "weight_bytes",   "bops",      "peak_activation_bytes",
                                        "parameter_bytes"};
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
        assert_true(number(simulated, equal[i]) == number(again, equal[i]));
    assert_true(number(simulated, "top1") == number(ran, "top1"));
    assert_true(number(simulated, "top1") > 0.9 && number(simulated, "top1") <= 1);
    assert_true(number(simulated, "agreement") > 0.9);
    assert_true(number(simulated, "samples") == 300 && number(ran, "samples") == 300);
    assert_true(number(simulated, "weight_bytes") > 0);
    assert_true(number(simulated, "parameter_bytes") > number(simulated, "weight_bytes"));
    assert_string_equal(string(simulated, "hardware"), "cortex-m");
    assert_string_equal(string(simulated, "strategy"), "s.json");
    assert_string_equal(string(ran, "output"), "out.npy");
    assert_int_equal(itg_json_length(member(realized, "float_islands")), 0);
    assert_true(itg_json_length(member(realized, "bounds")) > 3);
    char *npy = text_of("out.npy");
    assert_memory_equal(npy, "\x93NUMPY", 6);
    assert_contains(npy + 10, "'shape': (300, 10,");
    free(npy);
    itg_json_destroy(simulated);
    itg_json_destroy(again);
    itg_json_destroy(realized);
    itg_json_destroy(ran);
}

static void remove_source(const char *folder)
{
    static const char *const files[] = {"digits.c",   "digits.h",         "digits_selftest.c",
                                        "digits.itg", "digits.cert.json", "digits.itg.cert.json"};
    char path[64];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* The self-test of the C source expects what 'run' gives for the same samples; a program that
 * stands already gives the same source as model and strategy. */
static void emitted_source_expects_the_programs_digest(void **state)
{
    (void)state;
    itg_json_destroy(run_json(UNIFORM " --json -o c.json"));
    itg_json_destroy(run_json("realize digits.onnx c.json -o c.itg --json"));
    itg_json *ran = run_json("run c.itg --json --data digits_test_images.npy --limit 5");
    itg_json *emitted = run_json("realize digits.onnx c.json --emit c -o source --samples 5 --json"
                                 " --data digits_test_images.npy");
    itg_json *again = run_json("realize c.itg --emit c -o source2 --samples 5 --json"
                               " --data digits_test_images.npy");
    assert_string_equal(string(emitted, "name"), "digits");
    assert_true(number(emitted, "weight_bytes") == number(ran, "weight_bytes"));
    assert_true(number(again, "arena_bytes") == number(emitted, "arena_bytes"));
    char *a = text_of("source/digits_selftest.c"), *b = text_of("source2/digits_selftest.c");
    assert_contains(a, string(ran, "digest"));
    assert_string_equal(a, b);
    free(a);
    free(b);
    a = text_of("source/digits.c");
    assert_contains(a, "void digits_run(const int8_t *input, int8_t *output)");
    free(a);
    itg_json_destroy(run_json("verify source --json"));
    outcome verified = run("verify source2");
    assert_int_equal(verified.status, 0);
    done(&verified);
    remove_source("source");
    remove_source("source2");
    outcome o = run("realize c.itg -o x.itg");
    assert_int_equal(o.status, 2);
    assert_contains(o.err, "STRATEGY is missing");
    done(&o);
    itg_json_destroy(ran);
    itg_json_destroy(emitted);
    itg_json_destroy(again);
}

/* Stripes give the same digest in less memory, as a program and as C source, which is verified. */
static void less_memory_gives_the_same_digest(void **state)
{
    (void)state;
    itg_json_destroy(run_json(UNIFORM " --json -o c.json"));
    itg_json_destroy(run_json("realize digits.onnx c.json -o c.itg --json"));
    itg_json *tiled = run_json("realize digits.onnx c.json -o t.itg --max-ram 3000 --json");
    itg_json *whole_run = run_json("run c.itg --json --data digits_test_images.npy");
    itg_json *tiled_run = run_json("run t.itg --json --data digits_test_images.npy");
    assert_true(number(tiled, "peak_activation_bytes") <= 3000);
    assert_string_equal(string(tiled_run, "digest"), string(whole_run, "digest"));
    itg_json *source = run_json("realize c.itg --emit c -o source --max-ram 3000 --json");
    assert_true(number(source, "arena_bytes") == number(tiled, "peak_activation_bytes"));
    itg_json_destroy(run_json("verify source --json"));
    remove_source("source");
    outcome o = run("realize c.itg --emit c -o source --max-ram 1000");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "; 1000 are allowed");
    done(&o);
    o = run("realize digits.onnx c.json --emit qdq -o x.onnx --max-ram 3000");
    assert_int_equal(o.status, 2);
    assert_contains(o.err, "--max-ram does not go with --emit qdq");
    done(&o);
    itg_json_destroy(tiled);
    itg_json_destroy(whole_run);
    itg_json_destroy(tiled_run);
    itg_json_destroy(source);
}

/* Arithmetic like ONNX Runtime's leaves nothing to say; another's names its nodes. */
static void a_qdq_model_says_where_it_differs(void **state)
{
    (void)state;
    outcome o = run("simulate digits.onnx --uniform 8 --hw x86-vnni" CALIB DATA " -o x.json");
    assert_int_equal(o.status, 0);
    done(&o);
    itg_json *equal = run_json("realize digits.onnx x.json --emit qdq -o x.onnx --json");
    assert_string_equal(string(equal, "qdq"), "x.onnx");
    assert_int_equal(itg_json_length(member(equal, "onnxruntime_differs")), 0);
    assert_true(number(equal, "opset") == 13);
    assert_true(truth(equal, "any_batch"));
    assert_true(exists("x.onnx"));
    assert_false(exists("x.onnx.cert.json"));
    itg_json_destroy(equal);
    o = run(UNIFORM " -o m.json");
    done(&o);
    itg_json *other = run_json("realize digits.onnx m.json --emit qdq -o m.onnx --json");
    const itg_json_value *nodes = member(other, "onnxruntime_differs");
    assert_true(itg_json_length(nodes) > 3);
    itg_json_destroy(other);
    o = run("realize digits.onnx m.json --emit qdq -o m.onnx");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "'conv1' (Conv): the target requantizes in fixed point");
    done(&o);
    o = run("realize digits.onnx m.json --emit caffe -o out");
    assert_int_equal(o.status, 2);
    assert_contains(o.err, "--emit caffe");
    assert_false(exists("out"));
    done(&o);
    o = run("run x.onnx" DATA); /* no program of ours */
    assert_int_equal(o.status, 1);
    done(&o);
}

static void the_thread_count_changes_nothing(void **state)
{
    (void)state;
    itg_json *one = run_json(UNIFORM " --json --threads 1 -o one.json");
    itg_json *three = run_json(UNIFORM " --json --threads 3 -o three.json");
    assert_string_equal(string(one, "digest"), string(three, "digest"));
    char *a = text_of("one.json"), *b = text_of("three.json");
    assert_true(strlen(a) > 100);
    assert_string_equal(a, b);
    free(a);
    free(b);
    itg_json_destroy(one);
    itg_json_destroy(three);
}

static void the_float_network_needs_no_calibration(void **state)
{
    (void)state;
    itg_json *json = run_json(
        "simulate digits.onnx --uniform 8 --hw float --scale 1/255 --json -o float.json" DATA);
    assert_true(number(json, "agreement") == 1);
    assert_true(is_null(json, "weight_bytes") && is_null(json, "parameter_bytes"));
    assert_true(exists("float.json"));
    itg_json_destroy(json);
}

static void without_labels_there_is_no_top1(void **state)
{
    (void)state;
    itg_json *json = run_json("simulate digits.onnx --uniform 8 --hw cortex-m --json" CALIB
                              " --data digits_test_images.npy --limit 20");
    assert_false(has(json, "top1"));
    assert_true(number(json, "samples") == 20);
    assert_true(number(json, "agreement") > 0.5);
    assert_true(is_null(json, "strategy"));
    itg_json_destroy(json);
}

static void preprocessing_is_kept_and_only_what_is_given_replaces_it(void **state)
{
    (void)state;
    outcome o = run(UNIFORM " --mean 0.125 --std 0.5 -o p.json");
    assert_int_equal(o.status, 0);
    done(&o);
    o = run("realize digits.onnx p.json -o p.itg");
    assert_int_equal(o.status, 0);
    done(&o);
    itg_json *kept = run_json("run p.itg --json" DATA);
    itg_json *stated = run_json("run p.itg --json --scale 1/255 --mean 0.125 --std 1/2" DATA);
    itg_json *mean = run_json("run p.itg --json --mean=-0.25" DATA);
    itg_json *simulated = run_json("simulate digits.onnx p.json --json --mean -0.25" DATA);
    assert_string_equal(string(kept, "digest"), string(stated, "digest"));
    assert_string_not_equal(string(kept, "digest"), string(mean, "digest"));
    assert_string_equal(string(simulated, "digest"), string(mean, "digest"));
    itg_json_destroy(kept);
    itg_json_destroy(stated);
    itg_json_destroy(mean);
    itg_json_destroy(simulated);
}

static void widths_and_threshold_methods_are_heard(void **state)
{
    (void)state;
    static const char *const lines[] = {
        UNIFORM " --json", UNIFORM " --json --weight-bits 4", UNIFORM " --json --activation-bits 4",
        UNIFORM " --json --threshold max", UNIFORM " --json --weight-threshold power2"};
    itg_json *json[5];
    for (int i = 0; i < 5; i++) {
        json[i] = run_json(lines[i]);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(string(json[i], "digest"), string(json[k], "digest"));
    }
    assert_true(number(json[1], "weight_bytes") * 2 == number(json[0], "weight_bytes"));
    assert_true(number(json[1], "average_weight_bits") == 4);
    for (int i = 0; i < 5; i++)
        itg_json_destroy(json[i]);
}

static void check_tells_every_node(void **state)
{
    (void)state;
    itg_json *json = run_json("check digits.onnx --hw cortex-m --json --print");
    size_t nodes = itg_json_length(member(json, "nodes"));
    assert_true(nodes > 5);
    double sum = number(json, "integer") + number(json, "fused") + number(json, "float") +
                 number(json, "refused");
    assert_true(sum == (double)nodes);
    assert_contains(string(json, "graph"), "Conv");
    assert_string_equal(string(json, "model"), "digits.onnx");
    outcome o = run("check digits.onnx --hw cortex-m"), all = run("check digits.onnx");
    assert_contains(o.out, "fused into '");
    assert_contains(o.out, "integer");
    assert_contains(all.out, "cortex-m: ");
    assert_contains(all.out, "x86-vnni: ");
    done(&o);
    done(&all);
    itg_json_destroy(json);
    json = run_json("check digits.onnx --json");
    assert_true(itg_json_length(member(json, "targets")) >= 3);
    itg_json_destroy(json);
}

static void check_says_why_a_node_stays_float(void **state)
{
    (void)state;
    itg_json *json = run_json("check digits.onnx --hw float --json");
    assert_true(number(json, "float") == (double)itg_json_length(member(json, "nodes")));
    const itg_json_value *reason = itg_json_find(itg_json_at(member(json, "nodes"), 0), "reason");
    assert_int_equal(itg_json_typeof(reason), ITG_JSON_STRING);
    itg_json_destroy(json);
}

/* cortex-m without the line that gives it the pool. */
static void make_chip_without_pool(const char *path)
{
    outcome o = run("hw show cortex-m");
    char *line = strstr(o.out, "\"GlobalAveragePool\"");
    assert_non_null(line);
    memset(line, ' ', strcspn(line, "\n"));
    put(path, o.out, strlen(o.out));
    done(&o);
}

static void a_node_that_hardware_lacks_is_refused_and_the_rest_is_still_told(void **state)
{
    (void)state;
    make_chip_without_pool("chip.json");
    itg_json *json = run_json("check digits.onnx --hw chip.json --json");
    assert_true(number(json, "refused") == 1);
    assert_true(number(json, "integer") + number(json, "fused") + 1 ==
                (double)itg_json_length(member(json, "nodes")));
    itg_json_destroy(json);
    outcome o = run("check digits.onnx --hw chip.json");
    assert_contains(o.out, "refused: ");
    assert_contains(o.out, "1 REFUSED");
    done(&o);
    o = run("simulate digits.onnx --uniform 8 --hw chip.json" CALIB DATA);
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "has no float");
    done(&o);
}

static void what_hardware_says_in_vain_is_noted(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "check digits.onnx --hw vain.json",
        "simulate digits.onnx --uniform 8 --hw vain.json" CALIB DATA,
        "search digits.onnx --hw vain.json --trials 1 --quiet" DATA " --scale 1/255"};
    char text[20000];
    outcome o = run("hw show cortex-m");
    snprintf(text, sizeof text,
             "{\"overrides\": [{\"node\": \"conv9*\", \"weight_bits\": [8, 8]}],%s",
             strchr(o.out, '{') + 1);
    put("vain.json", text, strlen(text));
    done(&o);
    for (int i = 0; i < 3; i++) {
        o = run(lines[i]);
        assert_contains(o.err, "intaglio: note: vain.json: overrides[0].node: no node of "
                               "digits.onnx is named 'conv9*'\n");
        done(&o);
    }
    o = run("check digits.onnx --hw cortex-m");
    assert_string_equal(o.err, "");
    done(&o);
}

/* Two images; element [0,3,5] of the second is NaN. */
static void put_images(const char *path)
{
    struct {
        char header[128];
        float x[2][16][16];
    } file = {.header = "\x93NUMPY\1"};
    memset(file.header + 10, ' ', 118);
    file.header[8] = 118;
    const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 16, 16), }";
    memcpy(file.header + 10, dict, sizeof dict - 1);
    file.header[127] = '\n';
    memset(file.x, 0, sizeof file.x);
    const uint32_t nan = 0x7fc00000;
    memcpy(&file.x[1][3][5], &nan, sizeof nan);
    put(path, &file, sizeof file);
}

static void elements_that_are_no_numbers_are_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "simulate digits.onnx --uniform 8 --hw float --data nan.npy",
        "simulate digits.onnx --uniform 8 --hw cortex-m --calib nan.npy --data nan.npy",
        "run number.itg --data nan.npy", "inspect digits.onnx number.json --data nan.npy",
        "search digits.onnx --hw cortex-m --data digits_search_images.npy --limit 40 --holdout "
        "nan.npy "
        "--trials 1 --quiet"};
    char allowed[300];
    put_images("nan.npy");
    outcome o = run(UNIFORM " -o number.json");
    done(&o);
    o = run("realize digits.onnx number.json -o number.itg");
    done(&o);
    for (int i = 0; i < 5; i++) {
        o = run(lines[i]);
        assert_int_equal(o.status, 1);
        assert_contains(o.err, "nan.npy: sample 1, element [0,3,5] is NaN");
        done(&o);
        snprintf(allowed, sizeof allowed, "%s --allow-nonfinite", lines[i]);
        o = run(allowed);
        if (strstr(o.err, "NaN")) fail_msg("%s: %s", allowed, o.err);
        done(&o);
    }
}

static void inspect_puts_the_worst_edge_first(void **state)
{
    (void)state;
    outcome o = run(UNIFORM " -o i.json");
    assert_int_equal(o.status, 0);
    done(&o);
    itg_json *json =
        run_json("inspect digits.onnx i.json --data digits_test_images.npy --limit 10 --json");
    const itg_json_value *edges = member(json, "edges");
    double last = -1e300;
    assert_true(itg_json_length(edges) > 5);
    for (size_t i = 0; i < itg_json_length(edges); i++) {
        const itg_json_value *db = itg_json_find(itg_json_at(edges, i), "sqnr_db");
        double value = 1e300;
        if (itg_json_typeof(db) == ITG_JSON_NUMBER)
            assert_int_equal(itg_json_get_number(json, db, &value, NULL), ITG_OK);
        assert_true(value >= last);
        last = value;
    }
    itg_json_destroy(json);
    o = run("inspect digits.onnx i.json --data digits_test_images.npy --limit 10");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "SQNR");
    assert_contains(o.out, "-> (output)");
    done(&o);
}

static void hardware_is_listed_and_shown(void **state)
{
    (void)state;
    itg_json *list = run_json("hw list --json"), *schema = run_json("hw schema"),
             *target = run_json("hw show cortex-m --json");
    assert_true(itg_json_length(member(list, "targets")) >= 3);
    assert_true(has(schema, "$schema"));
    assert_string_equal(string(target, "name"), "cortex-m");
    outcome o = run("hw show cortex-m");
    put("same.json", o.out, strlen(o.out));
    done(&o);
    o = run("hw show same.json");
    assert_int_equal(o.status, 0);
    itg_json *again = parse(o.out);
    assert_string_equal(string(again, "description"), string(target, "description"));
    done(&o);
    itg_json_destroy(list);
    itg_json_destroy(schema);
    itg_json_destroy(target);
    itg_json_destroy(again);
}

static void what_fails_is_status_1_names_the_file_and_writes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"check none.onnx", "none.onnx: cannot open"},
        {"check digits_test_labels.npy", "digits_test_labels.npy"},
        {"check digits.onnx --hw none.json", "none.json"},
        {"check digits.onnx --hw nothing", "no target 'nothing'"},
        {"hw show nothing", "no target 'nothing'"},
        {"simulate digits.onnx none.json --data digits_test_images.npy -o out",
         "none.json: cannot open"},
        {"simulate digits.onnx --uniform 8 --hw cortex-m --calib none.npy --data "
         "digits_test_images.npy -o out",
         "none.npy: cannot open"},
        {"simulate digits.onnx --uniform 8 --hw float --data digits_test_labels.npy -o out",
         "digits_test_labels.npy"},
        {"simulate digits.onnx --uniform 8 --hw float --data digits_test_images.npy --labels "
         "digits_search_labels.npy -o out",
         "1500 labels"},
        {"simulate digits.onnx --uniform 8 --hw float --data digits_test_images.npy --mean 1,2 -o "
         "out",
         "mean"},
        {"simulate digits.onnx --uniform 8 --hw float --data digits_test_images.npy --limit 5 -o "
         "no/such/folder/out",
         "no/such/folder"},
        {"realize digits.onnx digits.onnx -o out", "digits.onnx"},
        {"run digits.onnx --data digits_test_images.npy -o out", "digits.onnx"},
        {"run digits_test_labels.npy --data digits_test_images.npy -o out",
         "digits_test_labels.npy"},
        {"search digits.onnx --hw float --data digits_search_images.npy -o out --quiet", "float"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome o = run(cases[i].line);
        if (o.status != 1 || !strstr(o.err, cases[i].says) ||
            strncmp(o.err, "intaglio: ", 10) != 0 || o.out[0] != '\0')
            fail_msg("'%s': status %d, expected '%s' in: %s", cases[i].line, o.status,
                     cases[i].says, o.err);
        assert_false(exists("out"));
        done(&o);
    }
}

static void a_strategy_of_another_model_is_refused(void **state)
{
    (void)state;
    unsigned char *model = NULL;
    size_t bytes = 0;
    outcome o = run(UNIFORM " -o mine.json");
    assert_int_equal(o.status, 0);
    done(&o);
    assert_int_equal(itg_file_read("digits.onnx", 1 << 20, &model, &bytes, NULL), ITG_OK);
    char *other = malloc(bytes + 3);
    assert_non_null(other);
    memcpy(other, model, bytes);
    memcpy(other + bytes, "\x28\x01", 2); /* model_version = 1: the same network in another file */
    put("other.onnx", other, bytes + 2);
    free(other);
    free(model);
    o = run("simulate other.onnx mine.json --data digits_test_images.npy --limit 5");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "mine.json");
    done(&o);
}

static void names_are_escaped_in_json_and_tamed_in_text(void **state)
{
    (void)state;
    static const char name[] = "a\"b\\c\x01\xC3\xA9\xFF.onnx";
    assert_int_equal(symlink("digits.onnx", name), 0);
    char line[128];
    snprintf(line, sizeof line, "check %s --json", name);
    itg_json *json = run_json(line);
    assert_string_equal(string(json, "model"), "a\"b\\c\x01\xC3\xA9\xEF\xBF\xBD.onnx");
    itg_json_destroy(json);
    assert_int_equal(unlink(name), 0);
}

/* What 'hw measure' writes is a description, and a network's cycles by it are about its time. */
static void speeds_of_this_machine_make_a_description(void **state)
{
    (void)state;
    itg_json *measured = run_json("hw measure cortex-m digits.onnx -o here.json --json");
    double took = number(measured, "nanoseconds"), said = number(measured, "described_nanoseconds");
    assert_string_equal(string(measured, "hardware"), "here.json");
    assert_true(took > 0 && said > 0.5 * took && said < 2 * took);
    itg_json_destroy(measured);
    itg_json *here = run_json("hw show here.json");
    assert_string_equal(string(here, "name"), "cortex-m-measured");
    itg_json_destroy(here);
    itg_json *by_it =
        run_json("simulate digits.onnx --uniform 8 --hw here.json" CALIB DATA " --json");
    assert_true(number(by_it, "cycles") > 0.5 * said && number(by_it, "cycles") < 2 * said);
    itg_json_destroy(by_it);
    outcome o = run("hw measure cortex-m digits.onnx");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "\"name\": \"cortex-m-measured\"");
    done(&o);
    o = run("hw measure float digits.onnx -o none.json");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "float runs nothing as integers");
    assert_false(exists("none.json"));
    done(&o);
    o = run("hw list -o none.json");
    assert_int_equal(o.status, 2);
    assert_contains(o.err, "--output belongs to 'measure', not to 'list'");
    assert_false(exists("none.json"));
    done(&o);
    o = run("hw measure cortex-m");
    assert_int_equal(o.status, 2);
    assert_contains(o.err, "T and MODEL are needed");
    done(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simulated_realized_and_run_are_the_same_bits),
        cmocka_unit_test(emitted_source_expects_the_programs_digest),
        cmocka_unit_test(less_memory_gives_the_same_digest),
        cmocka_unit_test(a_qdq_model_says_where_it_differs),
        cmocka_unit_test(the_thread_count_changes_nothing),
        cmocka_unit_test(the_float_network_needs_no_calibration),
        cmocka_unit_test(without_labels_there_is_no_top1),
        cmocka_unit_test(preprocessing_is_kept_and_only_what_is_given_replaces_it),
        cmocka_unit_test(widths_and_threshold_methods_are_heard),
        cmocka_unit_test(check_tells_every_node),
        cmocka_unit_test(check_says_why_a_node_stays_float),
        cmocka_unit_test(a_node_that_hardware_lacks_is_refused_and_the_rest_is_still_told),
        cmocka_unit_test(what_hardware_says_in_vain_is_noted),
        cmocka_unit_test(elements_that_are_no_numbers_are_refused),
        cmocka_unit_test(inspect_puts_the_worst_edge_first),
        cmocka_unit_test(hardware_is_listed_and_shown),
        cmocka_unit_test(speeds_of_this_machine_make_a_description),
        cmocka_unit_test(what_fails_is_status_1_names_the_file_and_writes_nothing),
        cmocka_unit_test(a_strategy_of_another_model_is_refused),
        cmocka_unit_test(names_are_escaped_in_json_and_tamed_in_text),
    };
    if (enter_folder("commands") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
