/* Folders of images: tests/sim/images, of which Pillow made the arrays that are expected, and
 * folders that are refused, with file and reason. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sim/sim.h"

#define IMAGES "tests/sim/images/"
#define MADE ITG_TEST_DIR "/images_made"

static itg_dataset *load(const char *text, int64_t limit)
{
    itg_dataset *data = NULL;
    itg_error err = {.message = ""};
    if (itg_data_open(text, limit, &data, &err) != ITG_OK) fail_msg("%s", err.message);
    return data;
}

static void is_equal(const char *folder, const char *array)
{
    itg_dataset *got = load(folder, 0), *wanted = load(array, 0);
    assert_int_equal(got->dtype, wanted->dtype);
    assert_int_equal(got->shape.rank, wanted->shape.rank);
    assert_memory_equal(got->shape.dims, wanted->shape.dims,
                        sizeof(int64_t) * (size_t)got->shape.rank);
    int64_t elements = 0;
    itg_shape_elements(&got->shape, &elements);
    for (int64_t i = 0; got->dtype == ITG_U8 && i < elements; i++)
        if (((unsigned char *)got->data)[i] != ((unsigned char *)wanted->data)[i])
            fail_msg("%s: element %d is %d, expected %d", folder, (int)i,
                     ((unsigned char *)got->data)[i], ((unsigned char *)wanted->data)[i]);
    assert_memory_equal(itg_data_hash(got), itg_data_hash(wanted), 32);
    itg_data_close(got);
    itg_data_close(wanted);
}

static void samples_are_what_pillow_makes(void **state)
{
    (void)state;
    is_equal(IMAGES "classes:3x12x10", IMAGES "classes_3x12x10.npy");
    is_equal(IMAGES "classes:40x16x3", IMAGES "classes_40x16x3.npy");
    is_equal(IMAGES "classes:1x15x16@17", IMAGES "classes_1x15x16@17.npy");
    is_equal(IMAGES "classes:9x8x3@12", IMAGES "classes_9x8x3@12.npy");
    is_equal(IMAGES "flat", IMAGES "flat_3x6x5.npy");
    is_equal(IMAGES "classes:classes", IMAGES "classes.npy");
}

static void a_limit_keeps_classes_alike(void **state)
{
    (void)state;
    itg_dataset *some = load(IMAGES "classes:3x12x10", 3), *all = load(IMAGES "classes:3x12x10", 0);
    assert_int_equal(itg_data_samples(some), 3);
    assert_memory_equal(some->data, all->data, 3 * 3 * 12 * 10);
    itg_data_close(some);
    itg_data_close(all);
    itg_dataset *labels = load(IMAGES "classes:classes", 3);
    for (int64_t i = 0; i < 3; i++)
        assert_int_equal(((int64_t *)labels->data)[i], i);
    itg_data_close(labels);
}

/* ---- refusals ---- */

static unsigned char *bytes_of(const char *path, size_t *size)
{
    unsigned char *data = NULL;
    itg_error err = {.message = ""};
    if (itg_file_read(path, 1 << 20, &data, size, &err) != ITG_OK) fail_msg("%s", err.message);
    return data;
}

static void put(const char *name, const void *data, size_t size)
{
    char path[512];
    itg_error err = {.message = ""};
    snprintf(path, sizeof path, MADE "/%s", name);
    if (itg_file_write(path, data, size, &err) != ITG_OK) fail_msg("%s", err.message);
}

static void fresh(void)
{
    if (system("rm -rf '" MADE "' && mkdir '" MADE "'") != 0) fail_msg("no folder");
}

static void refuses(const char *text, const char *file, const char *reason)
{
    itg_dataset *data = NULL;
    itg_error err = {.message = ""};
    assert_int_not_equal(itg_data_open(text, 0, &data, &err), ITG_OK);
    assert_null(data);
    if (!strstr(err.message, file) || !strstr(err.message, reason))
        fail_msg("'%s' should name '%s' and say '%s'", err.message, file, reason);
}

/* A file cut anywhere is refused, or gives the whole image where only the trailer is missing. */
static void cut(const char *source, const char *name, const char *reason)
{
    size_t size = 0;
    unsigned char *data = bytes_of(source, &size);
    fresh();
    for (size_t keep = 8; keep + 16 < size; keep += 7) {
        put(name, data, keep);
        refuses(MADE ":3x8x8", name, reason);
    }
    free(data);
}

static void cut_files_are_refused(void **state)
{
    (void)state;
    cut(IMAGES "classes/ant/1.png", "cut.png", ": damaged PNG: ");
    cut(IMAGES "classes/ant/2.jpg", "cut.jpg", ": ");
}

/* Whatever a byte becomes, the file is read or refused. */
static void changed_bytes_do_no_harm(void **state)
{
    static const char *const sources[] = {IMAGES "classes/ant/2.jpg", IMAGES "classes/cat/a.png",
                                          IMAGES "flat/10.png"};
    (void)state;
    int refused = 0;
    fresh();
    for (int s = 0; s < 3; s++) {
        size_t size = 0;
        unsigned char *data = bytes_of(sources[s], &size);
        for (size_t i = 0; i < size; i += 3) {
            itg_dataset *got = NULL;
            itg_error err = {.message = ""};
            data[i] ^= 0x55;
            put("changed.png", data, size);
            refused += itg_data_open(MADE ":3x8x8", 0, &got, &err) != ITG_OK;
            if (!got) assert_non_null(strstr(err.message, "changed.png: "));
            itg_data_close(got);
            data[i] ^= 0x55;
        }
        free(data);
    }
    assert_true(refused > 100);
}

static void hostile_folders_are_refused(void **state)
{
    (void)state;
    size_t size = 0;
    unsigned char *png = bytes_of(IMAGES "flat/9.png", &size);
    fresh();
    refuses(MADE ":3x8x8", "images_made", "no images");
    put("text.png", "hello there", 11);
    refuses(MADE ":3x8x8", "text.png", "neither PNG nor JPEG by its first bytes");
    fresh();
    put("a.png", png, size);
    put(".hidden", "", 0);
    itg_data_close(load(MADE, 0));
    put("b.webp", png, size);
    refuses(MADE, "b.webp", "neither .png, .jpg nor .jpeg by its name");
    fresh();
    memcpy(png + 16, "\0\1\0\0\0\1\0\0", 8); /* 65,536 x 65,536, and a checksum that is wrong */
    put("huge.png", png, size);
    refuses(MADE ":3x8x8", "huge.png", "damaged PNG");
    free(png);
    refuses(IMAGES "classes", "bee/only.png", "33 x 17; expected 20 x 31, as the first image has");
    refuses(IMAGES "flat:classes", "flat", "no sub-folders");
    refuses("tests/sim/images", "classes/ant", "a folder among images");
    refuses(IMAGES "flat:3x8", "'3x8'", "expected the shape of a sample");
    refuses(IMAGES "flat:3x8x8@7", "'3x8x8@7'", "expected the shape of a sample");
    refuses(IMAGES "flat:2x8x8", "'2x8x8'", "expected the shape of a sample");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_what_pillow_makes),
        cmocka_unit_test(a_limit_keeps_classes_alike),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(changed_bytes_do_no_harm),
        cmocka_unit_test(hostile_folders_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
