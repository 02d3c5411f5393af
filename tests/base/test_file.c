#include "cmocka_base.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/base.h"

/* Each test has a folder of its own, which it must leave with as many entries as it says. */
typedef struct folder {
    char path[64], file[96];
} folder;

static int make_folder(void **state)
{
    static folder made;
    snprintf(made.path, sizeof made.path, "itg-test-file-XXXXXX");
    if (!mkdtemp(made.path)) return -1;
    snprintf(made.file, sizeof made.file, "%s/out", made.path);
    *state = &made;
    return 0;
}

static int entries(const char *path, bool is_removing)
{
    int count = 0;
    DIR *listing = opendir(path);
    assert_non_null(listing);
    for (struct dirent *entry = readdir(listing); entry; entry = readdir(listing)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        count++;
        if (is_removing) unlinkat(dirfd(listing), entry->d_name, 0);
    }
    closedir(listing);
    return count;
}

static int remove_folder(void **state)
{
    folder *made = *state;
    entries(made->path, true);
    return rmdir(made->path);
}

static void assert_content(const char *path, const char *expected, size_t bytes)
{
    unsigned char *data = NULL;
    size_t got = 0;
    itg_error err;
    assert_int_equal(itg_file_read(path, 1 << 20, &data, &got, &err), ITG_OK);
    assert_int_equal(got, bytes);
    assert_memory_equal(data, expected, bytes);
    assert_int_equal(data[got], 0);
    free(data);
}

static void what_is_written_is_read(void **state)
{
    folder *in = *state;
    assert_int_equal(itg_file_write(in->file, "a\0b\n", 4, NULL), ITG_OK);
    assert_content(in->file, "a\0b\n", 4);
    assert_int_equal(itg_file_write(in->file, "", 0, NULL), ITG_OK);
    assert_content(in->file, "", 0);
    assert_int_equal(entries(in->path, false), 1);
}

static void a_replaced_file_keeps_its_permissions_and_old_readers_their_text(void **state)
{
    folder *in = *state;
    assert_int_equal(itg_file_write(in->file, "old", 3, NULL), ITG_OK);
    assert_int_equal(chmod(in->file, 0640), 0);
    int reader = open(in->file, O_RDONLY);
    assert_int_equal(itg_file_write(in->file, "new!", 4, NULL), ITG_OK);
    char text[8] = "";
    assert_int_equal(read(reader, text, sizeof text), 3);
    assert_string_equal(text, "old");
    close(reader);
    struct stat about;
    assert_int_equal(stat(in->file, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
    assert_content(in->file, "new!", 4);
}

static void a_name_as_long_as_names_get_can_be_written(void **state)
{
    folder *in = *state;
    char path[400];
    int length = snprintf(path, sizeof path, "%s/", in->path);
    memset(path + length, 'n', 255);
    path[length + 255] = '\0';
    assert_int_equal(itg_file_write(path, "x", 1, NULL), ITG_OK);
    assert_content(path, "x", 1);
}

/* The file size limit stands for a full disk. */
static void a_write_that_fails_leaves_the_old_file_and_nothing_else(void **state)
{
    folder *in = *state;
    static const char large[100000] = "new";
    assert_int_equal(itg_file_write(in->file, "old", 3, NULL), ITG_OK);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 50000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    itg_error err;
    itg_status status = itg_file_write(in->file, large, sizeof large, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, ITG_IO);
    assert_non_null(strstr(err.message, in->file));
    assert_content(in->file, "old", 3);
    assert_int_equal(entries(in->path, false), 1);
}

static void places_that_are_no_files_are_refused(void **state)
{
    folder *in = *state;
    itg_error err;
    char path[160];
    assert_int_equal(itg_file_write(in->path, "x", 1, &err), ITG_IO);
    assert_non_null(strstr(err.message, "directory"));
    snprintf(path, sizeof path, "%s/none/out", in->path);
    assert_int_equal(itg_file_write(path, "x", 1, &err), ITG_IO);
    snprintf(path, sizeof path, "%s/none/", in->path);
    assert_int_equal(itg_file_write(path, "x", 1, &err), ITG_IO);
    assert_int_equal(itg_file_write("", "x", 1, &err), ITG_IO);
    assert_int_equal(entries(in->path, false), 0);
}

static void a_link_is_written_through(void **state)
{
    folder *in = *state;
    char link[160];
    snprintf(link, sizeof link, "%s/link", in->path);
    assert_int_equal(itg_file_write(in->file, "long old text", 13, NULL), ITG_OK);
    assert_int_equal(symlink("out", link), 0);
    assert_int_equal(itg_file_write(link, "new", 3, NULL), ITG_OK);
    struct stat about;
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_content(in->file, "new", 3);
    assert_int_equal(entries(in->path, false), 2);
}

static void devices_are_written_through(void **state)
{
    (void)state;
    itg_error err;
    assert_int_equal(itg_file_write("/dev/null", "x", 1, &err), ITG_OK);
    struct stat about;
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
    if (access("/dev/full", W_OK) == 0)
        assert_int_equal(itg_file_write("/dev/full", "x", 1, &err), ITG_IO);
}

static void a_pipe_behind_a_link_is_written_through(void **state)
{
    folder *in = *state;
    int ends[2];
    char path[64], link[160], text[8] = "";
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    if (access(path, F_OK) != 0) {
        print_message("skipped: no /proc/self/fd here\n");
    } else {
        snprintf(link, sizeof link, "%s/link", in->path);
        assert_int_equal(symlink(path, link), 0);
        assert_int_equal(itg_file_write(link, "piped", 5, NULL), ITG_OK);
        assert_int_equal(read(ends[0], text, sizeof text), 5);
        assert_string_equal(text, "piped");
    }
    close(ends[0]);
    close(ends[1]);
}

static void the_size_limit_is_exact_and_outputs_stay_untouched(void **state)
{
    folder *in = *state;
    unsigned char *data = NULL;
    size_t bytes = 77;
    itg_error err;
    assert_int_equal(itg_file_write(in->file, "12345", 5, NULL), ITG_OK);
    assert_int_equal(itg_file_read(in->file, 4, &data, &bytes, &err), ITG_LIMIT);
    assert_non_null(strstr(err.message, "larger than 4 bytes"));
    assert_null(data);
    assert_int_equal(bytes, 77);
    assert_int_equal(itg_file_read(in->file, 5, &data, &bytes, &err), ITG_OK);
    assert_int_equal(bytes, 5);
    free(data);
}

static void what_is_no_regular_file_is_not_read(void **state)
{
    folder *in = *state;
    unsigned char *data = NULL;
    size_t bytes;
    itg_error err;
    assert_int_equal(itg_file_read(in->path, 100, &data, &bytes, &err), ITG_IO);
    assert_non_null(strstr(err.message, "is a directory"));
    assert_int_equal(itg_file_read(in->file, 100, &data, &bytes, &err), ITG_IO);
    assert_non_null(strstr(err.message, in->file));
    assert_int_equal(mkfifo(in->file, 0600), 0);
    assert_int_equal(itg_file_read(in->file, 100, &data, &bytes, &err), ITG_IO);
    assert_int_equal(itg_file_read("/dev/zero", 100, &data, &bytes, &err), ITG_IO);
    assert_null(data);
}

/* Such a file announces no size and has content: the limit must hold for what arrives. */
static void a_file_that_announces_no_size_is_read_to_its_end(void **state)
{
    (void)state;
    const char *path = "/proc/self/status";
    if (access(path, R_OK) != 0) {
        print_message("skipped: no %s here\n", path);
        return;
    }
    unsigned char *data = NULL;
    size_t bytes = 0;
    assert_int_equal(itg_file_read(path, 1 << 20, &data, &bytes, NULL), ITG_OK);
    assert_true(bytes > 100);
    assert_memory_equal(data, "Name:", 5);
    free(data);
    data = NULL;
    assert_int_equal(itg_file_read(path, 50, &data, &bytes, NULL), ITG_LIMIT);
    assert_null(data);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_folder(what_is_written_is_read),
        in_folder(a_replaced_file_keeps_its_permissions_and_old_readers_their_text),
        in_folder(a_name_as_long_as_names_get_can_be_written),
        in_folder(a_write_that_fails_leaves_the_old_file_and_nothing_else),
        in_folder(places_that_are_no_files_are_refused),
        in_folder(a_link_is_written_through),
        cmocka_unit_test(devices_are_written_through),
        in_folder(a_pipe_behind_a_link_is_written_through),
        in_folder(the_size_limit_is_exact_and_outputs_stay_untouched),
        in_folder(what_is_no_regular_file_is_not_read),
        cmocka_unit_test(a_file_that_announces_no_size_is_read_to_its_end),
    };
    if (chdir(TEST_FOLDER) != 0) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
