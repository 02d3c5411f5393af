/* Which part of the data fills which input, and what is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "sim/feed.h"

static float pixels[] = {1, 2, 3, 4, 5, 6, 7, 8};
static int64_t words[] = {5, 6, 7, 8, 9, 10};

static itg_tensor input(const void *context, int32_t index, const char **name)
{
    static const char *const names[] = {"image", "ids", "image,b"};
    static const itg_tensor tensors[] = {
        {ITG_F32, {3, {1, 2, 2}}, NULL}, {ITG_S64, {1, {3}}, NULL}, {ITG_F32, {2, {1, 4}}, NULL}};
    (void)context;
    *name = names[index];
    return tensors[index];
}

static itg_dataset part(int kind, char *name, itg_dataset *next)
{
    static char paths[2][10] = {"a.npy", "b.npy"};
    itg_dataset made = {.dtype = ITG_F32, .shape = {3, {2, 2, 2}}, .data = pixels};
    if (kind == 1) made = (itg_dataset){.dtype = ITG_S64, .shape = {2, {2, 3}}, .data = words};
    made.path = paths[kind];
    made.input = name;
    made.next_input = next;
    return made;
}

static char image[] = "image", ids[] = "ids", both[] = "image,b", other[] = "other";

static void inputs_find_their_data_by_name(void **state)
{
    const itg_input_list list = {NULL, 3, input};
    itg_dataset last = part(0, both, NULL), middle = part(0, image, &last),
                first = part(1, ids, &middle);
    itg_preprocess p = itg_preprocess_default();
    itg_feed feed;
    float x[4];
    int64_t y[3];
    (void)state;
    p.scale = 2;
    strcpy(p.inputs, "image");
    assert_int_equal(itg_feed_init(&list, &first, &p, &feed, NULL), ITG_OK);
    assert_int_equal(itg_feed_fill(&feed, 0, 1, x, NULL), ITG_OK);
    assert_true(x[0] == 10 && x[3] == 16);
    assert_int_equal(itg_feed_fill(&feed, 1, 1, y, NULL), ITG_OK);
    assert_true(y[0] == 8 && y[2] == 10);
    assert_int_equal(itg_feed_fill(&feed, 2, 0, x, NULL), ITG_OK);
    assert_true(x[0] == 1 && x[3] == 4);
    itg_feed_deinit(&feed);
}

static void the_only_input_takes_data_without_a_name(void **state)
{
    const itg_input_list list = {NULL, 1, input};
    itg_dataset data = part(0, NULL, NULL), named = part(0, image, NULL);
    itg_preprocess p = itg_preprocess_default();
    itg_feed feed;
    float x[4];
    (void)state;
    p.scale = 0.5f;
    for (int i = 0; i < 3; i++) {
        if (i == 2) strcpy(p.inputs, "image");
        assert_int_equal(itg_feed_init(&list, i == 1 ? &named : &data, &p, &feed, NULL), ITG_OK);
        assert_int_equal(itg_feed_fill(&feed, 0, 0, x, NULL), ITG_OK);
        assert_true(x[0] == 0.5f && x[3] == 2);
        itg_feed_deinit(&feed);
    }
}

static void refused(int32_t inputs, const itg_dataset *data, const char *names, float scale,
                    const char *text)
{
    const itg_input_list list = {NULL, inputs, input};
    itg_preprocess p = itg_preprocess_default();
    itg_feed feed = {.count = 42};
    itg_error err = {.message = ""};
    p.scale = scale;
    strcpy(p.inputs, names);
    assert_int_not_equal(itg_feed_init(&list, data, &p, &feed, &err), ITG_OK);
    assert_int_equal(feed.count, 42);
    if (!strstr(err.message, text)) fail_msg("'%s' lacks '%s'", err.message, text);
}

static void what_does_not_fit_is_refused_with_the_inputs(void **state)
{
    itg_dataset alone = part(0, NULL, NULL), named = part(0, image, NULL),
                wrong = part(0, other, NULL), last = part(1, ids, NULL),
                two = part(0, image, &last), third = part(0, other, &two),
                swapped_last = part(0, ids, NULL), swapped = part(0, image, &swapped_last);
    (void)state;
    refused(2, &alone, "", 1,
            "a.npy: expected an .npz file with one array for each input, or INPUT=FILE,INPUT=FILE; "
            "the model's inputs are: image f32 [1,2,2], ids s64 [3]");
    refused(2, &named, "", 1, "a.npy: there is no data for input 'ids'; the model's inputs are: ");
    refused(2, &third, "", 1, "a.npy: the model takes no data for 'other'; the model's");
    refused(1, &wrong, "", 1, "there is no data for input 'image'; the model's input is: image");
    refused(1, &two, "", 1,
            "a.npy: one of several arrays; expected one, as in FILE:ARRAY; the mod");
    refused(2, &swapped, "", 1, "input 'ids': a.npy: samples of shape [1,2,2] do not fit");
    refused(0, &alone, "", 1, "the model's inputs are: none");
    refused(2, &two, "", 0.5f, "preprocessing: --preprocess has to say which inputs it is for");
    refused(2, &two, "image,other", 0.5f, "--preprocess names what is no input: 'image,other'");
    refused(1, &alone, "other", 0.5f, "--preprocess names what is no input: 'other'");
    refused(2, &two, "ids", 0.5f,
            "input 'ids': preprocessing: scale, mean and std compute float32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_find_their_data_by_name),
        cmocka_unit_test(the_only_input_takes_data_without_a_name),
        cmocka_unit_test(what_does_not_fit_is_refused_with_the_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
