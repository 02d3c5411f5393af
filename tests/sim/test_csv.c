/* Tables as text: what is read of them, and what is refused, with its place. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/sim.h"

#define FILE_NAME ITG_TEST_DIR "/table.csv"

static void write_text(const char *text, size_t size)
{
    FILE *file = fopen(FILE_NAME, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static itg_dataset *load(const char *text, const char *columns)
{
    itg_dataset *data = NULL;
    itg_error err = {.message = ""};
    char path[512];
    write_text(text, strlen(text));
    snprintf(path, sizeof path, "%s%s", FILE_NAME, columns);
    if (itg_data_open(path, 0, &data, &err) != ITG_OK) fail_msg("%s", err.message);
    return data;
}

static void reads(const char *text, const char *columns, itg_dtype dtype, int64_t rows,
                  int64_t wide, const double *expected)
{
    itg_dataset *data = load(text, columns);
    assert_int_equal(data->dtype, dtype);
    assert_int_equal(data->shape.rank, 2);
    assert_int_equal(data->shape.dims[0], rows);
    assert_int_equal(data->shape.dims[1], wide);
    for (int64_t i = 0; i < rows * wide; i++) {
        const double value = dtype == ITG_F32 ? (double)((const float *)data->data)[i]
                                              : (double)((const int64_t *)data->data)[i];
        if (value != (double)(float)expected[i])
            fail_msg("%s: element %d is %g", text, (int)i, value);
    }
    itg_data_close(data);
}

static void refuses(const char *text, const char *columns, const char *message)
{
    itg_dataset *data = NULL;
    itg_error err = {.message = ""};
    char path[512];
    write_text(text, strlen(text));
    snprintf(path, sizeof path, "%s%s", FILE_NAME, columns);
    assert_int_equal(itg_data_open(path, 0, &data, &err), ITG_BAD_FILE);
    assert_null(data);
    assert_int_equal(strncmp(err.message, FILE_NAME, strlen(FILE_NAME)), 0);
    if (strcmp(err.message + strlen(FILE_NAME), message) != 0)
        fail_msg("'%s' is not '%s'", err.message + strlen(FILE_NAME), message);
}

static const double numbers[] = {1.5, -2, 3, 0.25, 1e3, -0.125};

static void delimiters_quotes_and_line_ends_do_not_matter(void **state)
{
    (void)state;
    static const char *const same[] = {
        "1.5,-2,3\n0.25,1e3,-0.125\n",
        "1.5;-2;3\n0.25;1e3;-0.125",
        "1.5\t-2\t3\r\n0.25\t1e3\t-.125\r\n\r\n \n",
        " 1.5 ,\"-2\" , 3\n\"0.25\",1E+3,-1.25e-1\n\n",
        "\357\273\2771.5,-2,+3\r0.25,1000,-0.125\r",
        "a,b,c\n1.5,-2,3\n0.25,1e3,-0.125\n",
        "\"a,\"\"x;\"\"\",b,_c\n1.5,-2,3\n0.25,1e3,-0.125\n",
        "0,1,label\n1.5,-2,3\n0.25,1e3,-0.125\n",
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        reads(same[i], "", ITG_F32, 2, 3, numbers);
}

static void columns_are_chosen_by_name(void **state)
{
    (void)state;
    const char *text = "x;y;class;kind\n0.5;2;1;red\n1.5;4;0;blue\n2.5;6;2;\n";
    const double classes[] = {1, 0, 2}, x[] = {0.5, 1.5, 2.5};
    reads(text, ":class", ITG_S64, 3, 1, classes);
    reads(text, ":x", ITG_F32, 3, 1, x);
    const double rest[] = {0.5, 1, 1.5, 0};
    reads("x,y,class\n0.5,2,1\n1.5,4,0\n", ":-y", ITG_F32, 2, 2, rest);
    reads("0.5,2,1\n1.5,4,0\n", ":-2", ITG_F32, 2, 2, rest);
    reads("0.5,2,1\n1.5,4,0\n", ":3", ITG_S64, 2, 1, classes);
    const double minus[] = {2, 4};
    reads("x,-x\n1,2\n3,4\n", ":-x", ITG_S64, 2, 1, minus); /* a name, before all others */
}

static void integers_are_exact_and_labels(void **state)
{
    (void)state;
    itg_dataset *data = load("9007199254740993\n-7\n", "");
    int64_t *labels = NULL, count = 0;
    assert_int_equal(data->dtype, ITG_S64);
    assert_true(((const int64_t *)data->data)[0] == INT64_C(9007199254740993));
    assert_int_equal(itg_dataset_labels(data, &labels, &count, NULL), ITG_OK);
    assert_int_equal(count, 2);
    assert_int_equal(labels[1], -7);
    free(labels);
    itg_data_close(data);
}

static void the_hash_is_that_of_the_same_array(void **state)
{
    (void)state;
    const float values[] = {1.5f, -2.0f, 3.0f, 0.25f, 1e3f, -0.125f};
    const itg_tensor tensor = {ITG_F32, {.rank = 2, .dims = {2, 3}}, (void *)(uintptr_t)values};
    itg_dataset *same = NULL, *data = load("1.5,-2,3\n0.25,1e3,-0.125\n", "");
    assert_int_equal(itg_data_from_memory(&tensor, "memory", &same, NULL), ITG_OK);
    assert_memory_equal(data->hash, same->hash, 32);
    itg_data_close(same);
    itg_data_close(data);
}

static void limit_keeps_the_first_lines(void **state)
{
    (void)state;
    itg_dataset *data = NULL;
    write_text("1\n2\n3\n", 6);
    assert_int_equal(itg_data_open(FILE_NAME, 2, &data, NULL), ITG_OK);
    assert_int_equal(itg_data_samples(data), 2);
    itg_data_close(data);
}

static void errors_name_their_place(void **state)
{
    (void)state;
    refuses("1,2\n3,x\n", "", ":2:3: 'x' is no finite number");
    refuses("a,b\n1,2\n3, 4,5\n", "", ":3:1: 3 fields; expected 2 as on line 1");
    refuses("a,b\n1\n", "", ":2:1: 1 field; expected 2 as on line 1");
    refuses("1,2\n3,\n", "", ":2:3: an empty field; expected a number");
    refuses("1,2\n\n3,4\n", "", ":2:1: an empty field; expected a number");
    refuses("1;2\n3;4,5\n", "", ":2:3: '4,5' is no finite number");
    refuses("1x,2\n3,4\n", "", ":1:1: '1x' is no finite number");
    refuses("1,nan\n3,4\n", "", ":1:3: 'nan' is no finite number");
    refuses("1,inf\n", "", ":1:3: 'inf' is no finite number");
    refuses("1,1e39\n", "", ":1:3: '1e39' is no finite number");
    refuses("1,\"2\n3\"\n", "", ":1:3: the quote is not closed on its line");
    refuses("1,\"2\"3\n", "", ":1:6: text behind a quoted field");
    refuses("", "", ": it is empty");
    refuses("\r\n \n", "", ": it is empty");
    refuses("a,b\n", "", ": no line follows the names of columns");
    refuses("a,b\n1,2\n", ":c", ": no column 'c'; it has: a, b");
    refuses("a,b\n1,2\n", ":-c", ": no column 'c'; it has: a, b");
    refuses("a,a\n1,2\n", ":a", ": more than one column 'a'; it has: a, a");
    refuses("1,2\n", ":3", ": no column '3'; it has: no names, numbers 1 to 2");
    refuses("a\n1\n", ":-a", ": no column but 'a'");
}

/* Cut and changed at every byte: read, or refused with the name of the file. */
static void damaged_tables_are_harmless(void **state)
{
    (void)state;
    const char good[] = "\xEF\xBB\xBF\"a\",b;c\r\n1.5, 2;\"3\"\r\n-4;5;6e2\n\n";
    static const char changes[] = "\",;\n\r\t 0x\0\xFF";
    const size_t size = sizeof good - 1;
    for (size_t i = 0; i <= size; i++)
        for (size_t c = 0; c < sizeof changes; c++) {
            char text[sizeof good];
            itg_dataset *data = NULL;
            itg_error err = {.message = FILE_NAME};
            memcpy(text, good, sizeof good);
            if (c > 0 && i < size) text[i] = changes[c - 1];
            write_text(text, c > 0 ? size : i);
            const itg_status status = itg_data_open(FILE_NAME, 0, &data, &err);
            assert_int_equal(strncmp(err.message, FILE_NAME, strlen(FILE_NAME)), 0);
            assert_int_equal(data != NULL, status == ITG_OK);
            itg_data_close(data);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delimiters_quotes_and_line_ends_do_not_matter),
        cmocka_unit_test(columns_are_chosen_by_name),
        cmocka_unit_test(integers_are_exact_and_labels),
        cmocka_unit_test(the_hash_is_that_of_the_same_array),
        cmocka_unit_test(limit_keeps_the_first_lines),
        cmocka_unit_test(errors_name_their_place),
        cmocka_unit_test(damaged_tables_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
