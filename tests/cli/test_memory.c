/* Memory: one RAM figure for all commands, which is the C source's arena; what a description states
 * is kept by every search, and said by every other command. */
#include "driver.h"
#include <intaglio/intaglio.h>

#define DATA " --data digits_search_images.npy --labels digits_search_labels.npy --scale 1/255"
#define SEARCH                                                                                     \
    "search digits.onnx --search-samples 100 --calibration-samples 50 --limit 300 --quiet "        \
    "--json" DATA " --seed 4"
#define UNIFORM                                                                                    \
    "simulate digits.onnx --calib digits_search_images.npy --calib-limit 50 --limit 50" DATA

/* cortex-m with another memory, as NAME. */
static void describe(const char *name, const char *memory)
{
    outcome o = run("hw show cortex-m");
    assert_int_equal(o.status, 0);
    char *at = strstr(o.out, "\"flash_bytes\"");
    assert_non_null(at);
    const char *end = strchr(at, '}');
    assert_non_null(end);
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s", (int)(at - o.out), o.out, memory, end);
    assert_int_equal(fclose(file), 0);
    done(&o);
}

static void search_simulate_realize_and_the_header_have_one_figure(void **state)
{
    (void)state;
    char line[64];
    itg_json *found = run_json(SEARCH " --hw cortex-m --trials 20 -o best.json");
    itg_json *simulated = run_json("simulate digits.onnx best.json --json --data "
                                   "digits_test_images.npy");
    itg_json *realized = run_json("realize digits.onnx best.json -o best.itg --json");
    itg_json *emitted = run_json("realize digits.onnx best.json --emit c -o source --json");
    double figure = number(found, "best.peak_activation_bytes");
    char *header = text_of("source/digits.h");
    assert_true(figure > 0);
    assert_true(number(simulated, "peak_activation_bytes") == figure);
    assert_true(number(realized, "peak_activation_bytes") == figure);
    assert_true(number(emitted, "arena_bytes") == figure);
    snprintf(line, sizeof line, "#define DIGITS_ARENA_BYTES INT32_C(%.0f)\n", figure);
    assert_contains(header, line);
    assert_int_equal(system("rm -r source"), 0);
    free(header);
    itg_json_destroy(found);
    itg_json_destroy(simulated);
    itg_json_destroy(realized);
    itg_json_destroy(emitted);
}

/* The largest amount of the best, in trials that ask for nothing but quality. */
static void every_searcher_keeps_the_limits_of_the_description(void **state)
{
    (void)state;
    static const char *const searchers[] = {"greedy", "hago-greedy", "random", "anneal"};
    describe("small.json", "\"flash_bytes\": 5500, \"ram_bytes\": 100000");
    for (int i = 0; i < 4; i++) {
        char line[512];
        snprintf(line, sizeof line,
                 SEARCH " --hw small.json --searcher %s --max-size 1M --trials 60", searchers[i]);
        itg_json *found = run_json(line);
        assert_true(truth(found, "goal_met"));
        assert_true(number(found, "uniform8.parameter_bytes") > 5500);
        assert_true(number(found, "best.parameter_bytes") <= 5500);
        assert_true(truth(found, "best.memory.fits"));
        assert_false(truth(found, "uniform8.memory.fits"));
        itg_json_destroy(found);
    }
    outcome text = run("search digits.onnx --hw small.json --trials 3 --search-samples 50 "
                       "--calibration-samples 50 --quiet --max-ram 2k" DATA);
    assert_contains(text.out, "within the memory of cortex-m: at most 5,500 bytes of parameters\n");
    done(&text);
}

static void a_tighter_option_is_kept_and_told_apart(void **state)
{
    (void)state;
    outcome o = run(SEARCH " --hw small.json --max-flash 5000 --max-ram 200k --trials 60");
    itg_json *found = parse(o.out);
    assert_int_equal(o.status, 0);
    assert_true(number(found, "best.parameter_bytes") <= 5000);
    const char *flat = strstr(o.out, "\"limits\"");
    assert_non_null(flat);
    assert_contains(flat, "\"hardware\"");
    assert_contains(flat, "\"goal\"");
    itg_json_destroy(found);
    done(&o);
}

static void a_resumed_search_keeps_them_too(void **state)
{
    (void)state;
    itg_json *first = run_json(SEARCH " --hw small.json --max-size 1M --trials 30 --db a.db");
    itg_json *again = run_json("search --resume 1 --db a.db --trials 60 --quiet --json");
    itg_json *whole = run_json(SEARCH " --hw small.json --max-size 1M --trials 60");
    assert_true(number(again, "best.parameter_bytes") <= 5500);
    assert_string_equal(string(again, "best.digest"), string(whole, "best.digest"));
    itg_json_destroy(first);
    itg_json_destroy(again);
    itg_json_destroy(whole);
    outcome shown = run("runs show 1 --db a.db");
    assert_int_equal(shown.status, 0);
    done(&shown);
}

/* Where images of the whole network exceed the limit, the search counts stripes, which realize then
 * makes; another thread count and a resumed search find the same. */
static void a_limit_below_whole_images_is_kept_by_stripes(void **state)
{
    (void)state;
#define STRIPED SEARCH " --hw cortex-m --max-size 1M --max-ram 3000 --trials 20"
    itg_json *found = run_json(STRIPED " -o striped.json --threads 2");
    itg_json *first = run_json("search digits.onnx --search-samples 100 --calibration-samples 50 "
                               "--limit 300 --quiet --json" DATA " --seed 4 --hw cortex-m "
                               "--max-size 1M --max-ram 3000 --trials 7 --db striped.db");
    itg_json *again = run_json("search --resume 1 --db striped.db --trials 20 --quiet --json");
    itg_json *whole = run_json("realize digits.onnx striped.json -o whole.itg --json");
    itg_json *emitted = run_json("realize digits.onnx striped.json --emit c -o source "
                                 "--max-ram 3000 --json");
    const double figure = number(found, "best.peak_activation_bytes");
    assert_true(truth(found, "goal_met"));
    assert_true(figure <= 3000);
    assert_true(number(whole, "peak_activation_bytes") > 3000);
    assert_true(number(emitted, "arena_bytes") == figure);
    assert_true(number(again, "best.peak_activation_bytes") == figure);
    assert_string_equal(string(again, "best.digest"), string(found, "best.digest"));
    assert_int_equal(system("rm -r source"), 0);
    itg_json_destroy(found);
    itg_json_destroy(first);
    itg_json_destroy(again);
    itg_json_destroy(whole);
    itg_json_destroy(emitted);
    outcome o = run("search digits.onnx --hw cortex-m --trials 2 --search-samples 50 "
                    "--calibration-samples 50 --max-ram 3000 --max-size 1M" DATA);
    assert_contains(o.err,
                    "RAM is that of 2 stripes of 2 layers, as realize --max-ram 3000 makes "
                    "them, where the whole takes more: 2920 bytes at the widest, whole 3512");
    done(&o);
}

static void what_does_not_fit_is_said(void **state)
{
    (void)state;
    describe("tiny.json", "\"flash_bytes\": 100, \"ram_bytes\": 100");
    outcome o = run(SEARCH " --hw tiny.json --trials 5");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "bytes of RAM, the limit is 100 (memory.ram_bytes of cortex-m's "
                           "description)");
    itg_json *found = parse(o.out);
    assert_false(truth(found, "goal_met"));
    itg_json_destroy(found);
    done(&o);
    o = run(UNIFORM " --uniform 8 --hw tiny.json -o tiny.strategy.json --json");
    assert_int_equal(o.status, 0);
    assert_contains(o.err, "bytes of RAM; cortex-m has 100 (memory.ram_bytes)");
    assert_contains(o.err, "bytes of parameters; cortex-m has 100 (memory.flash_bytes)");
    itg_json *simulated = parse(o.out);
    assert_false(truth(simulated, "memory.fits"));
    assert_true(number(simulated, "memory.ram_bytes") == 100);
    itg_json_destroy(simulated);
    done(&o);
    static const char *const emits[] = {"", " --emit c", " --emit qdq"};
    for (int i = 0; i < 3; i++) {
        char line[128];
        snprintf(line, sizeof line, "realize digits.onnx tiny.strategy.json -o out%d%s --json", i,
                 emits[i]);
        o = run(line);
        assert_int_equal(o.status, 0);
        assert_contains(o.err, "bytes of RAM; cortex-m has 100 (memory.ram_bytes)");
        itg_json *realized = parse(o.out);
        assert_false(truth(realized, "memory.fits"));
        itg_json_destroy(realized);
        done(&o);
    }
    o = run("realize out0 --emit c -o out3 --json");
    assert_contains(o.err, "bytes of parameters; cortex-m has 100 (memory.flash_bytes)");
    assert_contains(o.err, "bytes of RAM; cortex-m has 100 (memory.ram_bytes)");
    done(&o);
    assert_int_equal(system("rm -r out1 out3"), 0);
    o = run("check digits.onnx --hw tiny.json");
    assert_contains(o.out, "does NOT fit its memory at 8 bits, nor at the narrowest widths");
    done(&o);
    itg_json *checked = run_json("check digits.onnx --hw tiny.json --json");
    assert_false(truth(checked, "at_8_bits.memory.fits"));
    assert_false(truth(checked, "at_narrowest_bits.memory.fits"));
    assert_true(number(checked, "at_narrowest_bits.parameter_bytes") <
                number(checked, "at_8_bits.parameter_bytes"));
    itg_json_destroy(checked);
}

/* What a search counts with: `realize` and its C source take stripes without being asked. */
static void the_hardware_s_memory_is_a_limit_like_any(void **state)
{
    (void)state;
    describe("striped.json", "\"ram_bytes\": 3000");
    outcome o = run(UNIFORM " --uniform 8 --hw striped.json -o striped.strategy.json");
    assert_contains(o.err, "bytes of RAM; cortex-m has 3,000 (memory.ram_bytes)");
    done(&o);
    static const char *const emits[] = {"-o striped.itg", "-o striped --emit c"};
    for (int i = 0; i < 2; i++) {
        char line[128];
        snprintf(line, sizeof line, "realize digits.onnx striped.strategy.json --json %s",
                 emits[i]);
        o = run(line);
        assert_int_equal(o.status, 0);
        assert_null(strstr(o.err, "warning"));
        itg_json *realized = parse(o.out);
        assert_true(truth(realized, "memory.fits"));
        assert_true(number(realized, "tiling.whole_bytes") > 3000);
        itg_json_destroy(realized);
        done(&o);
    }
    assert_int_equal(system("rm -r striped"), 0);
}

static int begin(void **state)
{
    (void)state;
    return enter_folder("memory");
}

static int end(void **state)
{
    (void)state;
    return leave_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(search_simulate_realize_and_the_header_have_one_figure),
        cmocka_unit_test(every_searcher_keeps_the_limits_of_the_description),
        cmocka_unit_test(a_tighter_option_is_kept_and_told_apart),
        cmocka_unit_test(a_resumed_search_keeps_them_too),
        cmocka_unit_test(a_limit_below_whole_images_is_kept_by_stripes),
        cmocka_unit_test(what_does_not_fit_is_said),
        cmocka_unit_test(the_hardware_s_memory_is_a_limit_like_any),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
