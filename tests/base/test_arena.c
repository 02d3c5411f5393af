#include "cmocka_base.h"
#include "base/base.h"

static bool is_zero(const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i]) return false;
    }
    return true;
}

static void allocations_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    enum { COUNT = 400 };
    itg_arena *arena = itg_arena_create(0);
    unsigned char *made[COUNT];
    size_t size[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        size[i] = i % 50 == 49 ? 100000 + i : i * 7 % 600;
        made[i] = itg_arena_alloc(arena, size[i]);
        assert_non_null(made[i]);
        assert_int_equal((uintptr_t)made[i] % 64, 0);
        assert_true(is_zero(made[i], size[i]));
        memset(made[i], (int)(i % 255 + 1), size[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < size[i]; j++)
            assert_int_equal(made[i][j], i % 255 + 1);
    }
    itg_arena_destroy(arena);
}

static void nothing_asked_is_still_an_address(void **state)
{
    (void)state;
    itg_arena *arena = itg_arena_create(0);
    void *a = itg_arena_alloc(arena, 0), *b = itg_arena_array(arena, 0, 8);
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    itg_arena_destroy(arena);
}

static void the_limit_holds_and_what_was_there_stays(void **state)
{
    (void)state;
    itg_arena *arena = itg_arena_create(1024);
    assert_null(itg_arena_alloc(arena, 1025));
    assert_int_equal(itg_arena_used(arena), 0);
    char *text = itg_arena_strdup(arena, "kept");
    assert_non_null(text);
    assert_int_equal(itg_arena_used(arena), 64);
    assert_non_null(itg_arena_alloc(arena, 960));
    assert_int_equal(itg_arena_used(arena), 1024);
    assert_null(itg_arena_alloc(arena, 1));
    assert_int_equal(itg_arena_used(arena), 1024);
    assert_string_equal(text, "kept");
    itg_arena_destroy(arena);
}

static void sizes_that_wrap_are_refused(void **state)
{
    (void)state;
    itg_arena *arena = itg_arena_create(0);
    assert_null(itg_arena_alloc(arena, SIZE_MAX));
    assert_null(itg_arena_alloc(arena, SIZE_MAX - 63));
    assert_null(itg_arena_alloc(arena, SIZE_MAX - 128));
    assert_null(itg_arena_array(arena, SIZE_MAX / 4, 5));
    assert_int_equal(itg_arena_used(arena), 0);
    assert_non_null(itg_arena_alloc(arena, 64));
    assert_null(itg_arena_alloc(arena, SIZE_MAX - 127));
    assert_int_equal(itg_arena_used(arena), 64);
    itg_arena_destroy(arena);
}

static void copies_and_texts_are_their_own(void **state)
{
    (void)state;
    itg_arena *arena = itg_arena_create(0);
    int source[3] = {1, 2, 3};
    int *copy = itg_arena_copy(arena, source, sizeof source);
    source[0] = 9;
    assert_int_equal(copy[0], 1);
    assert_int_equal(copy[2], 3);
    assert_string_equal(itg_arena_format(arena, "%s-%d", "node", 12), "node-12");
    assert_string_equal(itg_arena_strdup(arena, ""), "");
    assert_non_null(itg_arena_copy(arena, NULL, 0));
    itg_arena_destroy(arena);
    itg_arena_destroy(NULL);
}

/* What two arenas hold is there until the last of them goes, and is nobody's to write until then.
 */
static void a_large_array_can_be_held_by_several(void **state)
{
    (void)state;
    enum { LARGE = 1 << 20, SMALL = 16 };
    itg_arena *a = itg_arena_create(0), *b = itg_arena_create(0), *tight = itg_arena_create(LARGE);
    unsigned char *large = itg_arena_alloc(a, LARGE), *small = itg_arena_alloc(a, SMALL);
    assert_non_null(large);
    assert_non_null(small);
    memset(large, 7, LARGE);
    memset(small, 8, SMALL);
    assert_ptr_equal(itg_arena_writable(a, large), large);
    assert_null(itg_arena_writable(a, small));
    assert_null(itg_arena_writable(b, large));
    unsigned char *shared = itg_arena_share(b, a, large, LARGE),
                  *copied = itg_arena_share(b, a, small, SMALL);
    assert_ptr_equal(shared, large);
    assert_ptr_not_equal(copied, small);
    assert_memory_equal(copied, small, SMALL);
    assert_int_equal(itg_arena_used(b), LARGE + 64); /* as if it were allocated there */
    assert_null(itg_arena_writable(a, large));
    assert_null(itg_arena_writable(b, large));
    assert_ptr_equal(itg_arena_share(tight, b, shared, LARGE), large);
    assert_null(itg_arena_share(tight, b, shared, LARGE)); /* its limit */
    itg_arena_destroy(tight);
    itg_arena_destroy(a);
    for (size_t i = 0; i < LARGE; i++)
        assert_int_equal(shared[i], 7);
    assert_ptr_equal(itg_arena_writable(b, shared), shared);
    itg_arena_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_zeroed_aligned_and_apart),
        cmocka_unit_test(nothing_asked_is_still_an_address),
        cmocka_unit_test(the_limit_holds_and_what_was_there_stays),
        cmocka_unit_test(sizes_that_wrap_are_refused),
        cmocka_unit_test(copies_and_texts_are_their_own),
        cmocka_unit_test(a_large_array_can_be_held_by_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
