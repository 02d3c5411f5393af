/* The nth allocation or system call fails, for every n until none does: the status says so, outputs
 * stay untouched, and nothing is left behind (memory: the sanitizer's business; files: counted
 * here). */
#include "cmocka_base.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
#include <cjson/cJSON.h>
#include "base/flow.h"
#include "base/json.h"
#include "base/placement.h"

static int calls_left = -1; /* until the failure; negative: none */

static bool fails_now(void)
{
    if (calls_left < 0) return false;
    return calls_left-- == 0;
}

/* True while the failure that was planned has not happened. */
static bool was_spared(void)
{
    bool is_spared = calls_left >= 0;
    calls_left = -1;
    return is_spared;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t bytes);
ssize_t __real_write(int file, const void *data, size_t bytes);
int __real_fsync(int file);
int __real_fchmod(int file, mode_t mode);
int __real_rename(const char *from, const char *to);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t bytes);
ssize_t __wrap_write(int file, const void *data, size_t bytes);
int __wrap_fsync(int file);
int __wrap_fchmod(int file, mode_t mode);
int __wrap_rename(const char *from, const char *to);

void *__wrap_malloc(size_t bytes)
{
    return fails_now() ? NULL : __real_malloc(bytes);
}
void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *old, size_t bytes)
{
    return fails_now() ? NULL : __real_realloc(old, bytes);
}

static bool call_fails_now(void)
{
    if (!fails_now()) return false;
    errno = EIO;
    return true;
}

/* Writes less than it is asked to, as write may. */
ssize_t __wrap_write(int file, const void *data, size_t bytes)
{
    return call_fails_now() ? -1 : __real_write(file, data, bytes > 3 ? bytes / 2 : bytes);
}
int __wrap_fsync(int file)
{
    return call_fails_now() ? -1 : __real_fsync(file);
}
int __wrap_fchmod(int file, mode_t mode)
{
    return call_fails_now() ? -1 : __real_fchmod(file, mode);
}
int __wrap_rename(const char *from, const char *to)
{
    return call_fails_now() ? -1 : __real_rename(from, to);
}

static void parsing_without_memory(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,\"two\",{\"b\":null}],\"c\":{\"d\":true}}";
    int n = 0;
    for (bool is_done = false; !is_done; n++) {
        itg_json *json = NULL;
        itg_error err = {ITG_OK, ""};
        calls_left = n;
        itg_status status = itg_json_parse(text, sizeof text - 1, "t.json", &json, &err);
        is_done = was_spared();
        assert_int_equal(status, is_done ? ITG_OK : ITG_NO_MEMORY);
        assert_int_equal(err.code, status);
        assert_int_equal(json != NULL, is_done);
        itg_json_destroy(json);
    }
    assert_true(n > 15);
}

static void arenas_without_memory(void **state)
{
    (void)state;
    int n = 0;
    for (bool is_done = false; !is_done; n++) {
        calls_left = n;
        itg_arena *arena = itg_arena_create(0);
        bool is_complete = arena != NULL;
        for (size_t i = 0; arena && i < 20; i++) {
            size_t before = itg_arena_used(arena);
            char *made = itg_arena_alloc(arena, i * 1000);
            if (made)
                memset(made, 1, i * 1000);
            else
                assert_int_equal(itg_arena_used(arena), before);
            is_complete = is_complete && made;
        }
        is_done = was_spared();
        assert_int_equal(is_complete, is_done);
        itg_arena_destroy(arena);
    }
    assert_true(n > 4);
}

static void string_builders_without_memory(void **state)
{
    (void)state;
    int n = 0;
    for (bool is_done = false; !is_done; n++) {
        itg_strbuf buffer = {0};
        calls_left = n;
        for (int i = 0; i < 100; i++) {
            itg_strbuf_format(&buffer, "%d,", i);
            itg_strbuf_json_string(&buffer, "text\n");
        }
        is_done = was_spared();
        assert_int_equal(itg_strbuf_ok(&buffer), is_done);
        if (buffer.text) assert_int_equal(strlen(buffer.text), buffer.length);
        itg_strbuf_deinit(&buffer);
    }
    assert_true(n > 3);
}

static int entries(const char *path)
{
    int count = 0;
    DIR *listing = opendir(path);
    assert_non_null(listing);
    while (readdir(listing))
        count++;
    closedir(listing);
    return count - 2;
}

static void assert_holds(const char *path, const char *text)
{
    unsigned char *data = NULL;
    size_t bytes;
    assert_int_equal(itg_file_read(path, 100, &data, &bytes, NULL), ITG_OK);
    assert_string_equal((char *)data, text);
    free(data);
}

static void writing_with_failing_calls(void **state)
{
    (void)state;
    char folder[] = "itg-test-faults-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out", folder);
    /* A new file, then one that is replaced: the last successful fsync, of the folder, may fail
     * unseen. */
    for (int is_old = 0; is_old <= 1; is_old++) {
        int n = 0, failures = 0;
        for (bool is_done = false; !is_done; n++) {
            unlink(path);
            if (is_old) assert_int_equal(itg_file_write(path, "before", 6, NULL), ITG_OK);
            itg_error err = {ITG_OK, ""};
            calls_left = n;
            itg_status status = itg_file_write(path, "0123456789", 10, &err);
            is_done = was_spared();
            assert_int_equal(err.code, status);
            if (is_done) assert_int_equal(status, ITG_OK);
            failures += status != ITG_OK;
            if (status == ITG_OK)
                assert_holds(path, "0123456789");
            else if (is_old)
                assert_holds(path, "before");
            assert_int_equal(entries(folder), status == ITG_OK || is_old);
        }
        assert_int_equal(failures, n - 2);
        assert_true(failures >= 6);
    }
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

static void reading_without_memory(void **state)
{
    (void)state;
    char path[] = "itg-test-faults-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(itg_file_write(path, "[1,2]", 5, NULL), ITG_OK);
    for (int n = 0, is_done = 0; !is_done; n++) {
        itg_json *json = NULL;
        itg_error err = {ITG_OK, ""};
        calls_left = n;
        itg_status status = itg_json_read(path, 100, &json, &err);
        is_done = was_spared();
        assert_int_equal(status, is_done ? ITG_OK : ITG_NO_MEMORY);
        if (!is_done) assert_non_null(strstr(err.message, path));
        itg_json_destroy(json);
    }
    unlink(path);
}

/* Lives for which the first order is not the best, so that all of the search is passed; and so many
 * that meetings are listed. */
static void placing_without_memory(void **state)
{
    (void)state;
    enum { MOST = 1100 };
    static const int32_t counts[] = {40, MOST};
    static itg_placed items[MOST];
    for (int k = 0; k < 2; k++) {
        int failures = 0;
        for (int n = 0, is_done = 0; !is_done; n++) {
            uint64_t end = 77;
            itg_rng rng;
            itg_rng_init(&rng, 4);
            for (int32_t i = 0; i < counts[k]; i++) {
                int32_t first = (int32_t)itg_rng_below(&rng, (uint64_t)counts[k] / 2);
                int32_t length = (int32_t)itg_rng_below(&rng, 9);
                items[i] = (itg_placed){.bytes = 1 + itg_rng_below(&rng, 30),
                                        .first = first,
                                        .last = first + length,
                                        .index = i};
            }
            calls_left = n;
            itg_status status = itg_place_well(items, counts[k], 1, &end, NULL);
            is_done = was_spared();
            assert_int_equal(status, is_done ? ITG_OK : ITG_NO_MEMORY);
            assert_true(is_done ? end > 77 : end == 77);
            failures += !is_done;
        }
        assert_true(failures >= 6 + 5 * k);
    }
}

static void sharing_without_memory(void **state)
{
    (void)state;
    static const int32_t value[4] = {0, 1, 2, 3};
    for (int n = 0, is_done = 0; !is_done; n++) {
        itg_flow_tensor tensors[4] = {{.bytes = 8, .elsewhere = true}, {.bytes = 8}, {.bytes = 8}};
        tensors[3] = (itg_flow_tensor){.bytes = 8, .kept = true};
        itg_flow_step steps[3];
        for (int32_t i = 0; i < 3; i++)
            steps[i] = (itg_flow_step){1,
                                       1,
                                       &value[i],
                                       &value[i + 1],
                                       ITG_FLOW_NONE,
                                       i == 1 ? ITG_SHARING_OUTPUTS : ITG_SHARING_ELEMENTS,
                                       0,
                                       false};
        itg_flow flow = {4, 3, tensors, steps, 0, 0};
        calls_left = n;
        itg_status status = itg_flow_plan(&flow, 4, NULL);
        is_done = was_spared();
        assert_int_equal(status, is_done ? ITG_OK : ITG_NO_MEMORY);
        if (is_done) assert_int_equal(flow.bytes, 8);
    }
}

int main(void)
{
    cJSON_Hooks hooks = {__wrap_malloc, free};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parsing_without_memory),
        cmocka_unit_test(arenas_without_memory),
        cmocka_unit_test(string_builders_without_memory),
        cmocka_unit_test(writing_with_failing_calls),
        cmocka_unit_test(reading_without_memory),
        cmocka_unit_test(placing_without_memory),
        cmocka_unit_test(sharing_without_memory),
    };
    if (chdir(TEST_FOLDER) != 0) return 1;
    cJSON_InitHooks(&hooks);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
