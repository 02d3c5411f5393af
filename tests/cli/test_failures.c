/* Outputs that cannot be written: exit status 1, a sentence that names the path, and nothing left
 * behind. */
#include "driver.h"
#include <unistd.h>

#define CALIB " --calib digits_search_images.npy --calib-limit 20 --scale 1/255"
#define DATA " --data digits_test_images.npy --limit 20"
#define UNIFORM "simulate digits.onnx --uniform 8 --hw cortex-m" CALIB DATA

static void expect_refused(const char *line, const char *part)
{
    outcome o = run(line);
    assert_int_equal(o.status, 1);
    assert_contains(o.err, part);
    done(&o);
}

static void paths_below_a_file_or_nothing_are_refused_by_name(void **state)
{
    (void)state;
    itg_json_destroy(run_json(UNIFORM " --json -o s.json"));
    itg_json_destroy(run_json("realize digits.onnx s.json -o s.itg --json"));
    expect_refused("realize digits.onnx s.json --emit c -o s.json/source",
                   "s.json/source: cannot make the folder: Not a directory");
    expect_refused("realize s.itg --emit c -o none/source",
                   "none/source: cannot make the folder: No such file or directory");
    expect_refused("realize digits.onnx s.json -o none/s.itg", "none/s.itg");
    expect_refused("realize digits.onnx s.json --emit qdq -o none/s.onnx", "none/s.onnx");
    expect_refused(UNIFORM " -o none/s.json", "none/s.json");
    expect_refused("run s.itg" DATA " -o none/out.npy", "none/out.npy");
    assert_false(exists("none"));
    char *strategy = text_of("s.json");
    assert_contains(strategy, "intaglio-strategy");
    free(strategy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_below_a_file_or_nothing_are_refused_by_name),
    };
    if (enter_folder("failures") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
