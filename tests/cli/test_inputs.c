/* A network of an image and a vector through all commands, and what is said where data does not fit
 * it. */
#include "driver.h"
#include "two_inputs.h"

#define DATA " --data image=images.npy,vector=vectors.npy"

static int set_up(void **state)
{
    (void)state;
    put_two_inputs();
    outcome o =
        run("simulate two.onnx --hw cortex-m --uniform 8 -o two.json --scale 0.5 --preprocess "
            "image --calib image=images.npy,vector=vectors.npy" DATA);
    const int status = o.status;
    if (status) fputs(o.err, stderr);
    done(&o);
    return status;
}

static void every_command_takes_them_by_name(void **state)
{
    (void)state;
    itg_json *simulated = run_json("simulate two.onnx two.json --json" DATA),
             *realized = run_json("realize two.onnx two.json -o two.itg --json"),
             *ran = run_json("run two.itg --json --data vector=vectors.npy,image=images.npy"),
             *emitted = run_json("realize two.itg --emit c -o source --json" DATA " --samples 40"),
             *inspected = run_json("inspect two.onnx two.json --json" DATA);
    char *text = text_of("source/two_selftest.c"), *strategy = text_of("two.json");
    assert_string_equal(string(ran, "digest"), string(simulated, "digest"));
    assert_contains(text, string(ran, "digest"));
    assert_contains(strategy, "\"inputs\": \"image\"");
    assert_true(number(inspected, "samples") == 40);
    free(text);
    free(strategy);
    assert_int_equal(system("rm -r source"), 0);
    itg_json_destroy(simulated);
    itg_json_destroy(realized);
    itg_json_destroy(ran);
    itg_json_destroy(emitted);
    itg_json_destroy(inspected);
}

static void a_search_is_logged_and_resumed_with_them(void **state)
{
    (void)state;
    itg_json *first =
                 run_json("search two.onnx --hw cortex-m --trials 4 --searcher random --seed 3 "
                          "--max-drop 50% --db two.db --json --quiet" DATA),
             *more =
                 run_json("search two.onnx --hw cortex-m --resume 1 --trials 8 --db two.db --json "
                          "--quiet -o best.json"),
             *whole =
                 run_json("search two.onnx --hw cortex-m --trials 8 --searcher random --seed 3 "
                          "--max-drop 50% --json --quiet" DATA);
    assert_string_equal(string(more, "best.digest"), string(whole, "best.digest"));
    itg_json_destroy(first);
    itg_json_destroy(more);
    itg_json_destroy(whole);
}

static void refused(const char *line, int status, const char *text)
{
    outcome o = run(line);
    assert_int_equal(o.status, status);
    assert_contains(o.err, text);
    done(&o);
}

static void what_does_not_fit_names_input_file_and_what_is_expected(void **state)
{
    (void)state;
#define SIMULATE "simulate two.onnx two.json --data "
    refused(SIMULATE "images.npy", 1,
            "images.npy: expected an .npz file with one array for each input, or "
            "INPUT=FILE,INPUT=FILE; the model's inputs are: image f32 [1,3,4,4], vector f32 [1,3]");
    refused(SIMULATE "image=images.npy", 1, "images.npy: there is no data for input 'vector'");
    refused(SIMULATE "image=images.npy,vector=few.npy", 1,
            "input 'vector': few.npy: 39 samples; expected 40, as in images.npy");
    refused(SIMULATE "image=vectors.npy,vector=images.npy", 1,
            "input 'image': vectors.npy: samples of shape [1,3] do not fit the model's input "
            "[1,3,4,4]");
    refused(SIMULATE "image=images.npy,vector", 1, "'vector': expected INPUT=FILE");
    refused(SIMULATE "image=images.npy,vector=vectors.npy --preprocess pixels", 1,
            "--preprocess names what is no input: 'pixels'");
    refused("run two.itg --data image=images.npy,vector=vectors.npy -o vectors.npy", 2,
            "--output vectors.npy would overwrite --data");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_takes_them_by_name),
        cmocka_unit_test(a_search_is_logged_and_resumed_with_them),
        cmocka_unit_test(what_does_not_fit_names_input_file_and_what_is_expected),
    };
    if (enter_folder("inputs") != 0) return 1;
    const int failed = cmocka_run_group_tests(tests, set_up, NULL);
    return leave_folder() != 0 ? 1 : failed;
}
