/* --metric of programs, and --metric-command: a number that a command of the user's computes is a
 * quality like any other; what it does wrong is an error, and costs nothing that was found before.
 */
#include "driver.h"
#include <sys/stat.h>
#include <unistd.h>

#define PYTHON "/usr/bin/python3"
#define TEST                                                                                       \
    " --data digits_test_images.npy --labels digits_test_labels.npy --scale 1/255 --limit 300"
#define STRATEGY                                                                                   \
    "simulate digits.onnx --uniform 8 --hw cortex-m --calib digits_search_images.npy "             \
    "--calib-limit "                                                                               \
    "32 --recover none"
#define SEARCH                                                                                     \
    "search digits.onnx --hw cortex-m --scale 1/255 --data digits_search_images.npy --labels "     \
    "digits_search_labels.npy --calibration-samples 32 --search-samples 100 --limit 300 "          \
    "--recover "                                                                                   \
    "none --searcher random --seed 1"
/* The driver splits words at blanks, the shell at what stands in IFS. */
#define AND "${IFS}"
#define JUDGE " --metric-command " PYTHON AND "judge.py" AND "{outputs}" AND "{labels}"

static const char judge[] = "import sys, numpy\n"
                            "outputs = numpy.load(sys.argv[1])\n"
                            "labels = numpy.load(sys.argv[2])\n"
                            "assert len(outputs.files) == 1, outputs.files\n"
                            "scores = outputs[outputs.files[0]]\n"
                            "assert scores.dtype == numpy.float32, scores.dtype\n"
                            "assert len(scores) == len(labels)\n"
                            "print((scores.argmax(1) == labels.reshape(-1)).mean())\n";

static void script(const char *name, const char *text)
{
    put(name, text, strlen(text));
    assert_int_equal(chmod(name, 0700), 0);
}

static void need_numpy(void)
{
    if (system(PYTHON " -c 'import numpy' 2>python.err") == 0) return;
    print_message("skipped: there is no numpy for " PYTHON "\n");
    skip();
}

/* top3 and top5 hold what they count of: the label's place. The log has its name; a run goes on
 * with it. */
static void top_k_of_any_k(void **state)
{
    (void)state;
    double share[3];
    static const char *const names[] = {"top2", "top3", "top5"};
    for (int i = 0; i < 3; i++) {
        char line[512];
        snprintf(line, sizeof line, STRATEGY " --weight-bits 3 --json -o s.json --metric %s" TEST,
                 names[i]);
        itg_json *j = run_json(line);
        share[i] = number(j, names[i]);
        if (i == 0) assert_true(share[0] >= number(j, "top1"));
        itg_json_destroy(j);
    }
    assert_true(share[0] <= share[1] && share[1] <= share[2] && share[0] < share[2]);
    outcome o = run("realize digits.onnx s.json -o s.itg");
    assert_int_equal(o.status, 0);
    done(&o);
    itg_json *ran = run_json("run s.itg --json --metric top3" TEST);
    assert_true(number(ran, "top3") == share[1]);
    itg_json_destroy(ran);
    o = run(SEARCH " --metric top3 --max-drop 0.05 --trials 3 --db top.db -o best.json");
    assert_true(o.status == 0 && strstr(o.out, "top3"));
    done(&o);
    o = run(STRATEGY TEST " --metric top0");
    assert_true(o.status == 2 && strstr(o.err, ", or topK"));
    done(&o);
    o = run(STRATEGY TEST " --metric top10");
    assert_true(o.status == 1 && strstr(o.err, "--metric top10 is not known of digits.onnx"));
    done(&o);
}

/* What the command counts is what the program counts, of simulation and of the integer program. */
static void the_number_is_the_command_s(void **state)
{
    (void)state;
    need_numpy();
    script("judge.py", judge);
    itg_json *simulated = run_json(STRATEGY " --json -o s.json" JUDGE TEST);
    assert_true(number(simulated, "metric") == number(simulated, "top1"));
    assert_true(number(simulated, "top1") > 0.9);
    itg_json_destroy(simulated);
    outcome o = run("realize digits.onnx s.json -o s.itg");
    assert_int_equal(o.status, 0);
    done(&o);
    itg_json *ran = run_json("run s.itg --json" JUDGE TEST);
    assert_true(number(ran, "metric") == number(ran, "top1"));
    itg_json_destroy(ran);
    o = run("run s.itg --metric-name share_right" JUDGE TEST);
    assert_contains(o.out, "  share_right  0.9");
    done(&o);
}

/* A metric of the list, of simulation and of the integer program. */
static void a_name_is_measured_of_programs_too(void **state)
{
    (void)state;
    itg_json *simulated = run_json(STRATEGY " --json -o n.json --metric f1_macro" TEST);
    outcome o = run("realize digits.onnx n.json -o n.itg");
    assert_int_equal(o.status, 0);
    done(&o);
    itg_json *ran = run_json("run n.itg --json --metric f1_macro" TEST);
    assert_true(number(ran, "f1_macro") == number(simulated, "f1_macro"));
    assert_true(number(ran, "f1_macro") > 0.9);
    itg_json_destroy(simulated);
    itg_json_destroy(ran);
    o = run("run n.itg --metric f1_macro" TEST);
    assert_contains(o.out, "  metric       macro F1 (as --metric says)");
    done(&o);
    o = run("run n.itg --metric kl" TEST);
    assert_int_equal(o.status, 2);
    assert_contains(o.err, "--metric kl compares with the float network");
    done(&o);
    o = run("run n.itg --metric mse" TEST);
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "--metric mse is not known of n.itg");
    assert_string_equal(o.out, "");
    done(&o);
}

/* A command that says what is wrong with it, in the words of the error. */
static void refused(const char *command, const char *why)
{
    char line[1024];
    snprintf(line, sizeof line, "run s.itg%s%s", TEST, command);
    outcome o = run(line);
    if (o.status != 1 || !strstr(o.err, why)) fail_msg("%s: %d, %s", line, o.status, o.err);
    assert_string_equal(o.out, "");
    done(&o);
}

static void make_program(void)
{
    outcome o = run(STRATEGY " -o s.json" TEST);
    assert_int_equal(o.status, 0);
    done(&o);
    o = run("realize digits.onnx s.json -o s.itg");
    assert_int_equal(o.status, 0);
    done(&o);
}

static void what_is_no_number_is_an_error(void **state)
{
    (void)state;
    make_program();
    refused(" --metric-command :{outputs}", "not found");
    refused(" --metric-command echo" AND "1>&2;exit" AND "3;{outputs}",
            "the metric command ended with status 3: 1\n");
    refused(" --metric-command :" AND "{outputs}",
            "the metric command printed '', expected one finite number\n");
    refused(" --metric-command echo" AND "much;:" AND "{outputs}", "printed 'much', expected");
    refused(" --metric-command echo" AND "nan;:" AND "{outputs}", "printed 'nan', expected");
    refused(" --metric-command echo" AND "1e999;:" AND "{outputs}", "printed '1e999', expected");
    refused(" --metric-command echo" AND "1" AND "2;:" AND "{outputs}", "printed '1 2', expected");
    refused(" --metric-command echo" AND "1;echo" AND "2;:" AND "{outputs}",
            "printed '1...', expected");
    refused(" --metric-command yes" AND "{outputs}", "prints more than a MiB");
    refused(" --metric-command kill" AND "-9" AND "$$;:" AND "{outputs}", "ended by signal 9");
    refused(" --metric-name Mine --metric-command echo" AND "1;:" AND "{outputs}", "Mine");
}

/* Also what the command started, and that did not end with it. */
static void a_slow_command_is_killed_with_all_that_it_started(void **state)
{
    (void)state;
    make_program();
    script("slow.sh", "(sleep 3; touch late) &\nsleep 3\ntouch late\necho 1\n");
    refused(" --metric-timeout 0.3 --metric-command sh" AND "./slow.sh" AND "{outputs}",
            "the metric command takes more than 0.3 s");
    script("quick.sh", "(sleep 3; touch late) &\necho 1\n");
    outcome o = run("run s.itg --metric-command sh" AND "./quick.sh" AND "{outputs}" TEST);
    assert_int_equal(o.status, 0);
    done(&o);
    sleep(4);
    assert_false(exists("late"));
}

static void options_go_together(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {SEARCH " --metric-command true{outputs}", "--metric-command needs a goal"},
        {SEARCH " --metric-down --max-drop 1", "--metric-down goes with --metric-command"},
        {SEARCH " --max-drop 2", "--max-drop 2: expected a share"},
        {"run s.itg --metric-command true --data x.npy", "says nowhere {outputs}"},
        {"run s.itg --metric-command {outputs}{labels} --data x.npy", "--labels is missing"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        outcome o = run(wrong[i][0]);
        assert_int_equal(o.status, 2);
        assert_contains(o.err, wrong[i][1]);
        done(&o);
    }
}

/* Trials are judged by it, the drop is in its unit, and a run of the log goes on with it. */
static void a_search_holds_its_floor(void **state)
{
    (void)state;
    need_numpy();
    script("judge.py", judge);
    itg_json *whole =
        run_json(SEARCH " --trials 8 --max-drop 0.03 --json --quiet --threads 2" JUDGE);
    assert_string_equal(string(whole, "goal.quality"), "metric");
    assert_true(number(whole, "goal.max_drop") == 0.03);
    outcome o = run(SEARCH " --trials 3 --max-drop 0.03 --quiet --db m.db" JUDGE);
    done(&o);
    itg_json *resumed = run_json("search --resume 1 --db m.db --trials 8 --json --quiet" JUDGE);
    assert_true(number(whole, "best.trial") == number(resumed, "best.trial"));
    assert_string_equal(string(whole, "best.holdout_digest"),
                        string(resumed, "best.holdout_digest"));
    itg_json_destroy(whole);
    itg_json_destroy(resumed);
    o = run("search --resume 1 --db m.db --trials 9");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "--metric-command is missing: run 1 of m.db has the metric metric");
    done(&o);
    o = run("search --resume 1 --db m.db --trials 9 --metric-down" JUDGE);
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "metric (smaller is better): run 1 of m.db has metric");
    done(&o);
}

/* The best until then is kept, and no trial is logged that was not judged. */
static void a_search_keeps_what_it_found_before_the_command_failed(void **state)
{
    (void)state;
    static const char count[] = "n=$(cat n)\necho $((n + 1)) >n\n"
                                "test $n -lt 5 || { echo no more >&2; exit 1; }\necho $n\n";
    script("count.sh", count);
    put("n", "0\n", 2);
    outcome o = run(SEARCH " --trials 40 --max-size 100k --threads 1 --db f.db -o kept.json "
                           "--quiet --metric-command ./count.sh" AND "{outputs}");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "intaglio: the metric command ended with status 1: no more\n");
    assert_true(exists("kept.json"));
    done(&o);
    itg_json *runs = run_json("runs show 1 --db f.db --json");
    assert_string_equal(string(runs, "stop_reason"), "cancelled");
    assert_true(number(runs, "trials") >= 1 && number(runs, "trials") < 5);
    itg_json_destroy(runs);
}

/* ---- --metric ---- */

static void a_metric_of_the_list_is_shown(void **state)
{
    (void)state;
    itg_json *plain = run_json(STRATEGY TEST " --json"),
             *kl = run_json(STRATEGY TEST " --metric kl --json");
    assert_string_equal(string(plain, "judged_by"), "top1");
    assert_false(has(plain, "kl"));
    assert_string_equal(string(kl, "judged_by"), "kl");
    assert_true(number(kl, "kl") > 0 && number(kl, "kl") < 0.1);
    assert_true(number(kl, "top1") >= number(plain, "top1"));
    itg_json_destroy(plain);
    itg_json_destroy(kl);
    outcome o = run(STRATEGY TEST " --metric f1_macro");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "  metric       macro F1 (as --metric says)\n");
    assert_contains(o.out, "\n  macro F1     99.");
    done(&o);
}

static void metric_refused(const char *line, int status, const char *why)
{
    outcome o = run(line);
    if (o.status != status || !strstr(o.err, why)) fail_msg("%s: %d, %s", line, o.status, o.err);
    done(&o);
}

static void a_metric_that_does_not_apply_is_refused(void **state)
{
    (void)state;
    metric_refused(STRATEGY TEST " --metric top0", 2, "--metric top0: expected one of top1, top5,");
    metric_refused(STRATEGY TEST " --metric cycles", 2, "--metric cycles: expected one of top1");
    metric_refused(STRATEGY TEST " --metric auroc", 1,
                   "--metric auroc is not known of digits.onnx");
    metric_refused(SEARCH " --metric kl", 2, "--metric needs a goal");
    metric_refused(SEARCH " --metric kl --min-sqnr 20dB", 2, "two qualities");
    metric_refused(SEARCH " --metric f1_macro --max-drop 2", 2, "--max-drop 2: expected");
    metric_refused(SEARCH " --metric auroc --max-drop 0.1", 1, "auroc, is not known of this data");
}

static void a_search_holds_a_metric_and_goes_on(void **state)
{
    (void)state;
    itg_json *first =
                 run_json(SEARCH " --metric kl --max-drop 5 --trials 3 --db kl.db --json --quiet"),
             *more = run_json("search --resume 1 --db kl.db --trials 6 --json --quiet");
    assert_string_equal(string(first, "goal.quality"), "kl");
    assert_string_equal(string(more, "goal.quality"), "kl");
    assert_true(number(more, "goal.max_drop") >= 5 && number(more, "trials") > 3);
    assert_true(number(more, "best.kl") >= 0);
    itg_json_destroy(first);
    itg_json_destroy(more);
    metric_refused("search --resume 1 --db kl.db --metric f1_macro --quiet", 2, "says it itself");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(top_k_of_any_k),
        cmocka_unit_test(the_number_is_the_command_s),
        cmocka_unit_test(a_name_is_measured_of_programs_too),
        cmocka_unit_test(what_is_no_number_is_an_error),
        cmocka_unit_test(a_slow_command_is_killed_with_all_that_it_started),
        cmocka_unit_test(options_go_together),
        cmocka_unit_test(a_search_holds_its_floor),
        cmocka_unit_test(a_search_keeps_what_it_found_before_the_command_failed),
        cmocka_unit_test(a_metric_of_the_list_is_shown),
        cmocka_unit_test(a_metric_that_does_not_apply_is_refused),
        cmocka_unit_test(a_search_holds_a_metric_and_goes_on),
    };
    if (enter_folder("metric") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
