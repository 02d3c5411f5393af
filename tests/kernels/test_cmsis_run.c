/* The backend of CMSIS-NN's vectors on cases made here: what their headers leave open. */
#include "cmsis_run.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void add_array(cmsis_case *c, const char *name, const int8_t *data, int64_t count)
{
    case_array *a = &c->arrays[c->array_count++];
    *a = (case_array){.dtype = ITG_S8, .count = count, .data = malloc((size_t)count)};
    snprintf(a->name, sizeof a->name, "%s", name);
    assert_non_null(a->data);
    memcpy(a->data, data, (size_t)count);
}

/* Images of 3x3 pixels of one channel, windows of 2x2. */
static case_verdict run(const char *batches, const int8_t *input, int64_t in, const int8_t *ref,
                        int64_t out, char *reason)
{
    cmsis_case *c = calloc(1, sizeof *c);
    char text[512];
    snprintf(text, sizeof text,
             "{%s\"input_w\":3,\"input_h\":3,\"input_c\":1,\"filter_w\":2,\"filter_h\":2,"
             "\"stride_w\":1,\"stride_h\":1,\"output_c\":1,\"output_w\":2,\"output_h\":2,"
             "\"padding_h\":0,\"padding_w\":0}",
             batches);
    assert_non_null(c);
    assert_int_equal(itg_json_parse(text, strlen(text), "made", &c->json, NULL), ITG_OK);
    add_array(c, "input", input, in);
    add_array(c, "output_ref", ref, out);
    case_verdict verdict = case_run(c, reason);
    case_close(c);
    free(c);
    return verdict;
}

static const int8_t two[18] = {1, 2, 3, 4, 5, 6, 7, 8, 9, -9, -8, -7, -6, -5, -4, -3, -2, -1};
static const int8_t most[8] = {5, 6, 8, 9, -5, -4, -2, -1};

static void pools_run_the_images_that_there_are_results_of(void **state)
{
    char reason[REASON_BYTES] = "";
    (void)state;
    assert_int_equal(run("\"input_n\":2,", two, 18, most, 8, reason), CASE_PASSED);
    assert_int_equal(run("\"batch_size\":2,", two, 18, most, 8, reason), CASE_PASSED);
    assert_int_equal(run("\"batch_size\":2,\"input_n\":1,", two, 18, most, 8, reason), CASE_PASSED);
    assert_int_equal(run("", two, 18, most, 4, reason), CASE_PASSED); /* more than is read */
    assert_int_equal(run("", two, 17, most, 4, reason), CASE_PASSED);
}

static void pools_that_differ_or_lack_pixels_fail(void **state)
{
    char reason[REASON_BYTES] = "";
    int8_t wrong[8];
    (void)state;
    memcpy(wrong, most, sizeof wrong);
    wrong[7] = 0;
    assert_int_equal(run("\"input_n\":2,", two, 18, wrong, 8, reason), CASE_FAILED);
    assert_non_null(strstr(reason, "neither mean nor maximum"));
    assert_int_equal(run("\"input_n\":2,", two, 17, most, 8, reason), CASE_FAILED);
    assert_non_null(strstr(reason, "the input has 17"));
    assert_int_equal(run("", two, 18, most, 7, reason), CASE_FAILED);
    assert_non_null(strstr(reason, "no whole images"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_run_the_images_that_there_are_results_of),
        cmocka_unit_test(pools_that_differ_or_lack_pixels_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
