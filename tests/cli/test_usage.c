/* Words: help, versions, and everything that is no proper command line. */
#include "driver.h"

static const char *const commands[] = {"check", "simulate", "search", "inspect", "realize",
                                       "run",   "demo",     "runs",   "hw"};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void no_words_give_the_list_of_commands(void **state)
{
    (void)state;
    outcome o = run("");
    assert_int_equal(o.status, 0);
    assert_string_equal(o.err, "");
    for (int i = 0; i < COMMANDS; i++)
        assert_contains(o.out, commands[i]);
    outcome same = run("help"), too = run("--help");
    assert_string_equal(o.out, same.out);
    assert_string_equal(o.out, too.out);
    done(&o);
    done(&same);
    done(&too);
}

static void every_command_explains_itself_in_three_ways(void **state)
{
    (void)state;
    char line[64], title[64];
    for (int i = 0; i < COMMANDS; i++) {
        snprintf(line, sizeof line, "help %s", commands[i]);
        outcome first = run(line);
        snprintf(line, sizeof line, "%s --help", commands[i]);
        outcome second = run(line);
        snprintf(line, sizeof line, "%s -h", commands[i]);
        outcome third = run(line);
        snprintf(title, sizeof title, "usage: intaglio %s ", commands[i]);
        assert_int_equal(first.status, 0);
        assert_int_equal(second.status, 0);
        assert_true(strncmp(first.out, title, strlen(title)) == 0);
        assert_contains(first.out, "--json");
        assert_contains(first.out, "--threads");
        assert_string_equal(first.out, second.out);
        assert_string_equal(first.err, "");
        assert_string_equal(first.out, third.out);
        done(&first);
        done(&second);
        done(&third);
    }
}

static void help_comes_before_what_is_missing(void **state)
{
    (void)state;
    outcome o = run("realize --allow-overflow --help");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "usage: intaglio realize MODEL STRATEGY -o FILE");
    done(&o);
}

static void the_version_is_told(void **state)
{
    (void)state;
    outcome o = run("--version");
    assert_int_equal(o.status, 0);
    assert_int_equal(strncmp(o.out, "intaglio ", 9), 0);
    assert_true(o.out[9] >= '0' && o.out[9] <= '9');
    done(&o);
}

static void wrong_usage_is_status_2_and_says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"simulat", "unknown command 'simulat'; did you mean 'simulate'?"},
        {"zebra", "unknown command 'zebra'"},
        {"--verison", "unknown option '--verison'"},
        {"help zebra", "unknown command 'zebra'"},
        {"check", "MODEL is missing"},
        {"check a.onnx b.onnx", "unexpected argument 'b.onnx'"},
        {"check a.onnx --hardware x", "unknown option '--hardware'"},
        {"check a.onnx --prnt", "did you mean '--print'?"},
        {"check a.onnx --hw", "--hw needs an argument: --hw T"},
        {"check a.onnx --hw --print", "--hw needs an argument"},
        {"check a.onnx --hw=", "--hw '': expected a name"},
        {"check a.onnx --hw x --hw y", "--hw is given twice"},
        {"check a.onnx --print --print", "--print is given twice"},
        {"check a.onnx --print=yes", "--print takes no argument"},
        {"check a.onnx --db runs.db", "unknown option '--db'"},
        {"check a.onnx -x", "unknown option '-x'"},
        {"check a.onnx --threads -1", "expected an integer from 0 to 256"},
        {"check a.onnx --threads 257", "expected an integer from 0 to 256"},
        {"check a.onnx --threads 99999999999999999999", "expected an integer"},
        {"check a.onnx --threads 0x2", "expected an integer"},
        {"simulate a.onnx --data x", "a strategy is missing"},
        {"simulate a.onnx s.json --uniform 8 --hw float --data x", "give one of them"},
        {"simulate a.onnx --uniform 8 --data x", "--hw T is missing"},
        {"simulate a.onnx --uniform 8 --hw cortex-m --data x", "--calib C is missing"},
        {"simulate a.onnx s.json", "--data X is missing"},
        {"simulate a.onnx s.json --data x --calib c", "--calib goes with --uniform"},
        {"simulate a.onnx s.json --data x --threshold max", "--threshold goes with --uniform"},
        {"simulate a.onnx --uniform 1 --data x", "expected an integer from 2 to 32"},
        {"simulate a.onnx --uniform 8.5 --data x", "expected an integer"},
        {"simulate a.onnx --uniform 8 --threshold maxx --data x", "did you mean 'max'?"},
        {"simulate a.onnx --uniform 8 --threshold zebra --data x", "expected one of max, avg"},
        {"simulate a.onnx s.json --data x --limit 0", "expected an integer from 1"},
        {"simulate a.onnx s.json --data x --scale 1/x", "neither a number nor a ratio"},
        {"simulate a.onnx s.json --data x --scale 1,2", "more than 1 value"},
        {"simulate a.onnx s.json --data x --mean 1,,2", "--mean"},
        {"realize a.onnx s.json", "--output FILE is missing"},
        {"realize a.onnx -o x", "STRATEGY is missing"},
        {"run a.itg", "--data X is missing"},
        {"inspect a.onnx s.json --data x --labels y", "unknown option '--labels'"},
        {"search a.onnx --data x", "--hw T is missing"},
        {"search a.onnx --hw float --data x --max-drop 101%", "expected a share"},
        {"search a.onnx --hw float --data x --max-drop -1%", "expected a share"},
        {"search a.onnx --hw float --data x --max-drop nan", "expected a share"},
        {"search a.onnx --hw float --data x --max-drop 1%%", "expected a share"},
        {"search a.onnx --hw float --data x --weight-bits 8:4", "expected MIN:MAX"},
        {"search a.onnx --hw float --data x --weight-bits 4:", "expected MIN:MAX"},
        {"search a.onnx --hw float --data x --activation-bits 1:8", "expected MIN:MAX"},
        {"search a.onnx --hw float --data x --seed -1", "expected an integer from 0"},
        {"search a.onnx --hw float --data x --seed 18446744073709551616", "expected an integer"},
        {"search a.onnx --hw float --data x --searcher hago", "did you mean 'hago-greedy'?"},
        {"search a.onnx --hw float --data x --holdout-labels y", "goes with --holdout"},
        {"search a.onnx --hw float --data x --holdout-labels y --holdout z --tolerance 1%",
         "--tolerance goes with --patience"},
        {"search a.onnx --hw float --data x --max-size 0", "bytes, as in 65536, 64k (64,000)"},
        {"search a.onnx --hw float --data x --max-size 64q", "64KiB (65,536)"},
        {"search a.onnx --hw float --data x --max-size 64kb", "64KiB (65,536)"},
        {"search a.onnx --hw float --data x --max-size -1", "bytes, as in"},
        {"search a.onnx --hw float --data x --max-size 1e300", "bytes, as in"},
        {"search a.onnx --hw float --data x --max-size nan", "bytes, as in"},
        {"search a.onnx --hw float --data x --max-size k", "bytes, as in"},
        {"search a.onnx --hw float --data x --max-ram 64 k", "unexpected argument 'k'"},
        {"search a.onnx --hw float --data x --max-bops 1MiB", "a number, as in 1000000"},
        {"search a.onnx --hw float --data x --max-bops 10B", "a number, as in 1000000"},
        {"search a.onnx --hw float --data x --max-cycles 0.5", "a number, as in 1000000"},
        {"search a.onnx --hw float --data x --minimize bytes", "expected one of size, bops"},
        {"search a.onnx --hw float --data x --minimize cycle", "did you mean 'cycles'?"},
        {"search a.onnx --hw float --data x --seconds 0", "seconds, more than 0"},
        {"search a.onnx --hw float --data x --seconds 5m", "seconds, more than 0"},
        {"search a.onnx --hw float --data x --seconds inf", "seconds, more than 0"},
        {"search a.onnx --hw float --data x --patience 0", "an integer from 1"},
        {"search a.onnx --hw float --data x --patience 3 --tolerance 2", "expected a share"},
        {"search a.onnx --hw float --data x --threshold mse,zebra", "there is no 'zebra'"},
        {"search a.onnx --hw float --data x --threshold mse,,max", "there is no ''"},
        {"search a.onnx --hw float --data x --threshold mse,mse", "each method once"},
        {"search a.onnx --hw float --data x --weight-threshold maxx", "did you mean 'max'?"},
        {"search a.onnx --hw float --data x --float-kernels mkl", "reference, onednn"},
        {"simulate a.onnx s.json --data x --float-kernels reference", "goes with --uniform"},
        {"search a.onnx --hw float --data x --baseline hago", "did you mean 'hago-greedy'?"},
        {"search a.onnx --hw float --data x --input-bits 8:7", "expected MIN:MAX"},
        {"search --hw float --data x", "MODEL is missing"},
        {"search --resume 1", "--resume goes with --db"},
        {"search --resume 0 --db r.db", "an integer from 1"},
        {"search --resume x --db r.db", "an integer from 1"},
        {"demo here", "unexpected argument 'here'"},
        {"demo -o", "--output needs an argument: --output DIR"},
        {"demo --hw cortex-m", "unknown option '--hw'"},
        {"search a.onnx --hw float --data x --quiet --json --quiet", "--quiet is given twice"},
        {"hw", "is missing"},
        {"hw lst", "did you mean 'list'?"},
        {"hw list x", "unexpected argument 'x'"},
        {"hw show", "T is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome o = run(cases[i].line);
        if (o.status != 2 || !strstr(o.err, cases[i].says) || o.out[0] != '\0' ||
            strncmp(o.err, "intaglio: ", 10) != 0)
            fail_msg("'%s': status %d, expected '%s' in: %s", cases[i].line, o.status,
                     cases[i].says, o.err);
        assert_contains(o.err, "--help'");
        done(&o);
    }
}

static void options_stand_before_behind_and_between_arguments(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "check digits.onnx --hw cortex-m", "check --hw cortex-m digits.onnx",
        "check --hw=cortex-m digits.onnx", "check --hw cortex-m -- digits.onnx"};
    outcome first = run(lines[0]);
    assert_int_equal(first.status, 0);
    for (int i = 1; i < 4; i++) {
        outcome o = run(lines[i]);
        assert_int_equal(o.status, 0);
        assert_string_equal(o.out, first.out);
        done(&o);
    }
    done(&first);
}

static void short_options_take_their_argument_attached_or_apart(void **state)
{
    (void)state;
    static const char *const lines[] = {"realize digits.onnx missing.json -oout.itg",
                                        "realize digits.onnx missing.json -o out.itg",
                                        "realize digits.onnx missing.json --output=out.itg"};
    for (int i = 0; i < 3; i++) {
        outcome o = run(lines[i]);
        assert_int_equal(o.status, 1);
        assert_contains(o.err, "missing.json");
        assert_false(exists("out.itg"));
        done(&o);
    }
}

static void no_output_overwrites_what_the_command_reads(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"realize copy.onnx s.json -o copy.onnx", "--output copy.onnx would overwrite MODEL"},
        {"realize copy.onnx s.json -o ./s.json", "--output ./s.json would overwrite STRATEGY"},
        {"run copy.onnx --data s.json -o s.json", "--output s.json would overwrite --data"},
        {"simulate copy.onnx --uniform 8 --hw s.json --data x.npy -o s.json", "overwrite --hw"},
        {"search copy.onnx --hw float --data x.npy --db s.json --holdout s.json",
         "--db s.json would overwrite --holdout"},
        {"search copy.onnx --hw float --data x.npy --db new -o new",
         "--output new would overwrite --db"},
    };
    put("copy.onnx", "model", 5);
    put("s.json", "strategy", 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome o = run(cases[i].line);
        assert_int_equal(o.status, 2);
        assert_contains(o.err, cases[i].message);
        done(&o);
    }
    char *model = text_of("copy.onnx"), *strategy = text_of("s.json");
    assert_string_equal(model, "model");
    assert_string_equal(strategy, "strategy");
    assert_false(exists("new"));
    free(model);
    free(strategy);
}

static void output_that_does_not_arrive_is_a_failure(void **state)
{
    (void)state;
    if (!exists("/dev/full")) {
        print_message("skipped: this machine has no /dev/full\n");
        return;
    }
    static const char *const lines[] = {"--version", "help search", "hw schema",
                                        "check digits.onnx --json"};
    for (int i = 0; i < 4; i++) {
        outcome o = run_to(lines[i], "/dev/full");
        assert_int_equal(o.status, 1);
        assert_contains(o.err, "standard output");
        done(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_words_give_the_list_of_commands),
        cmocka_unit_test(every_command_explains_itself_in_three_ways),
        cmocka_unit_test(help_comes_before_what_is_missing),
        cmocka_unit_test(the_version_is_told),
        cmocka_unit_test(wrong_usage_is_status_2_and_says_what_is_wrong),
        cmocka_unit_test(options_stand_before_behind_and_between_arguments),
        cmocka_unit_test(short_options_take_their_argument_attached_or_apart),
        cmocka_unit_test(no_output_overwrites_what_the_command_reads),
        cmocka_unit_test(output_that_does_not_arrive_is_a_failure),
    };
    if (enter_folder("usage") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
