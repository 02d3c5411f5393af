/* The budgeted cache: what it keeps, what it lets go, and that holders are never betrayed. */
#include "cmocka_base.h"
#include "base/cache.h"
#include <stdlib.h>

static itg_cache *cache_of(size_t bytes)
{
    itg_cache *cache = NULL;
    assert_int_equal(itg_cache_create(bytes, &cache, NULL), ITG_OK);
    return cache;
}

static itg_key key_of(uint64_t n)
{
    itg_key_state k;
    itg_key_begin(&k, 1);
    itg_key_word(&k, n);
    return itg_key_end(&k);
}

/* Puts a piece that is filled with its number. */
static bool put(itg_cache *cache, uint64_t n, size_t bytes, double cost, bool must)
{
    itg_key key = key_of(n);
    unsigned char *data = itg_cache_reserve(cache, &key, bytes, cost, must);
    if (data == NULL) return false;
    assert_int_equal((uintptr_t)data % 64, 0);
    memset(data, (int)(n & 255), bytes);
    itg_cache_commit(cache, data);
    itg_cache_release(cache, data);
    return true;
}

static bool has(itg_cache *cache, uint64_t n, size_t bytes)
{
    itg_key key = key_of(n);
    const unsigned char *data = itg_cache_fetch(cache, &key, bytes);
    if (data == NULL) return false;
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(data[i], (unsigned char)n);
    itg_cache_release(cache, data);
    return true;
}

static void gives_back_what_was_put(void **state)
{
    (void)state;
    itg_cache *cache = cache_of(10000);
    for (uint64_t i = 0; i < 90; i++)
        assert_true(put(cache, i, 100, 1, false));
    for (uint64_t i = 0; i < 90; i++)
        assert_true(has(cache, i, 100));
    assert_false(has(cache, 90, 100));
    assert_false(has(cache, 1, 99)); /* another size */
    itg_cache_stats s = itg_cache_statistics(cache);
    assert_int_equal(s.bytes, 9000);
    assert_int_equal(s.entries, 90);
    assert_int_equal(s.hits, 90);
    assert_int_equal(s.misses, 2);
    itg_cache_destroy(cache);
}

static void no_budget_keeps_nothing(void **state)
{
    (void)state;
    itg_cache *cache = cache_of(0);
    assert_false(put(cache, 1, 10, 1, false));
    assert_true(put(cache, 1, 10, 1, true)); /* a must lives as long as it is held */
    assert_false(has(cache, 1, 10));
    itg_cache_destroy(cache);
}

static void the_cheap_goes_before_the_dear(void **state)
{
    (void)state;
    itg_cache *cache = cache_of(1000);
    for (uint64_t i = 0; i < 10; i++)
        assert_true(put(cache, i, 100, i == 4 ? 10 : 1000, false));
    assert_true(put(cache, 99, 100, 1000, false));
    assert_false(has(cache, 4, 100));
    for (uint64_t i = 0; i < 10; i++)
        if (i != 4) assert_true(has(cache, i, 100));
    itg_cache_destroy(cache);
}

static void what_is_worth_less_than_all_others_is_refused(void **state)
{
    (void)state;
    itg_cache *cache = cache_of(1000);
    for (uint64_t i = 0; i < 10; i++)
        assert_true(put(cache, i, 100, 1000, false));
    assert_false(put(cache, 99, 100, 1, false));
    for (uint64_t i = 0; i < 10; i++)
        assert_true(has(cache, i, 100));
    assert_int_equal(itg_cache_statistics(cache).refused, 1);
    itg_cache_destroy(cache);
}

/* A stream of pieces used once passes by what is used again and again; when that is no longer used,
 * it goes in time. */
static void what_is_used_stays_and_what_was_used_gets_old(void **state)
{
    (void)state;
    itg_cache *cache = cache_of(1000);
    for (uint64_t i = 0; i < 5; i++)
        assert_true(put(cache, i, 100, 1000, false));
    uint64_t stream = 1000;
    for (int turn = 0; turn < 200; turn++) {
        for (uint64_t i = 0; i < 5; i++)
            assert_true(has(cache, i, 100));
        for (int i = 0; i < 5; i++)
            put(cache, stream++, 100, 1000, false);
    }
    for (int i = 0; i < 2000; i++)
        put(cache, stream++, 100, 1000, false);
    for (uint64_t i = 0; i < 5; i++)
        assert_false(has(cache, i, 100));
    itg_cache_destroy(cache);
}

static void what_is_held_stays(void **state)
{
    (void)state;
    itg_cache *cache = cache_of(1000);
    itg_key key = key_of(1);
    assert_true(put(cache, 1, 600, 1, false));
    const unsigned char *held = itg_cache_fetch(cache, &key, 600);
    assert_non_null(held);
    assert_false(put(cache, 2, 600, 1e9, false)); /* no room beside it */
    assert_int_equal(held[599], 1);
    itg_cache_release(cache, held);
    assert_true(put(cache, 2, 600, 1e9, false));
    assert_false(has(cache, 1, 600));
    itg_cache_destroy(cache);
}

static void a_must_goes_beyond_the_budget_while_it_is_held(void **state)
{
    (void)state;
    itg_cache *cache = cache_of(1000);
    itg_key a = key_of(1), b = key_of(2);
    void *first = itg_cache_reserve(cache, &a, 900, 1, true);
    void *second = itg_cache_reserve(cache, &b, 900, 1, true);
    assert_non_null(first);
    assert_non_null(second);
    itg_cache_commit(cache, first);
    itg_cache_commit(cache, second);
    assert_int_equal(itg_cache_statistics(cache).bytes, 1800);
    itg_cache_release(cache, first);
    itg_cache_release(cache, second);
    assert_true(itg_cache_statistics(cache).bytes <= 1000);
    itg_cache_destroy(cache);
}

static void unfinished_pieces_are_not_found_and_disappear(void **state)
{
    (void)state;
    itg_cache *cache = cache_of(1000);
    itg_key key = key_of(1);
    void *data = itg_cache_reserve(cache, &key, 100, 1, false);
    assert_non_null(data);
    assert_null(itg_cache_fetch(cache, &key, 100));
    assert_null(itg_cache_reserve(cache, &key, 100, 1, false)); /* somebody makes it already */
    void *own = itg_cache_reserve(cache, &key, 100, 1, true);
    assert_non_null(own);
    assert_ptr_not_equal(own, data);
    itg_cache_commit(cache, own);
    assert_null(itg_cache_fetch(cache, &key, 100));
    itg_cache_release(cache, own);
    itg_cache_release(cache, data);
    assert_int_equal(itg_cache_statistics(cache).entries, 0);
    assert_true(put(cache, 1, 100, 1, false));
    assert_true(has(cache, 1, 100));
    itg_cache_destroy(cache);
}

/* Against a table that remembers everything: contents are right and the budget holds, whatever is
 * done. */

static itg_status work(void *context, int index, int64_t item, itg_error *err)
{
    (void)index;
    (void)err;
    itg_cache *cache = context;
    itg_rng rng;
    itg_rng_init(&rng, (uint64_t)item);
    for (int i = 0; i < 4000; i++) {
        uint64_t n = itg_rng_below(&rng, 60);
        size_t bytes = 10 + n % 7 * 40;
        if (itg_rng_below(&rng, 2) == 0)
            (void)has(cache, n, bytes);
        else
            (void)put(cache, n, bytes, (double)itg_rng_below(&rng, 1000),
                      itg_rng_below(&rng, 9) == 0);
    }
    return ITG_OK;
}

static void any_use_from_any_thread(void **state)
{
    (void)state;
    itg_cache *cache = cache_of(3000);
    assert_int_equal(itg_parallel_for(4, 8, work, cache, NULL), ITG_OK);
    itg_cache_stats s = itg_cache_statistics(cache);
    assert_true(s.bytes <= 3000 && s.hits > 0 && s.evicted > 0);
    itg_cache_destroy(cache);
}

static void keys_differ_where_contents_do(void **state)
{
    (void)state;
    unsigned char bytes[40] = {0};
    itg_key seen[41 * 9];
    int count = 0;
    for (size_t length = 0; length <= 40; length++) {
        itg_key_state k;
        itg_key_begin(&k, 1);
        itg_key_bytes(&k, bytes, length);
        seen[count++] = itg_key_end(&k);
        for (int bit = 0; bit < 8 && length > 0; bit++) {
            bytes[length - 1] ^= (unsigned char)(1 << bit);
            itg_key_begin(&k, 1);
            itg_key_bytes(&k, bytes, length);
            seen[count++] = itg_key_end(&k);
            bytes[length - 1] ^= (unsigned char)(1 << bit);
        }
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            assert_false(itg_key_equal(&seen[i], &seen[j]));
}

static void a_cache_lives_until_its_last_owner_has_gone(void **state)
{
    (void)state;
    itg_cache *cache = cache_of(0), *shared = itg_cache_share(cache);
    itg_key key = key_of(1);
    unsigned char *data = itg_cache_reserve(cache, &key, 100, 1, true);
    assert_non_null(data);
    memset(data, 1, 100);
    itg_cache_commit(cache, data);
    assert_ptr_equal(itg_cache_hold(shared, data), data);
    itg_cache_release(cache, data);
    itg_cache_destroy(cache);
    assert_true(has(shared, 1, 100)); /* still held, by the other */
    itg_cache_release(shared, data);
    assert_false(has(shared, 1, 100));
    itg_cache_destroy(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_back_what_was_put),
        cmocka_unit_test(no_budget_keeps_nothing),
        cmocka_unit_test(the_cheap_goes_before_the_dear),
        cmocka_unit_test(what_is_worth_less_than_all_others_is_refused),
        cmocka_unit_test(what_is_used_stays_and_what_was_used_gets_old),
        cmocka_unit_test(what_is_held_stays),
        cmocka_unit_test(a_must_goes_beyond_the_budget_while_it_is_held),
        cmocka_unit_test(unfinished_pieces_are_not_found_and_disappear),
        cmocka_unit_test(a_cache_lives_until_its_last_owner_has_gone),
        cmocka_unit_test(any_use_from_any_thread),
        cmocka_unit_test(keys_differ_where_contents_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
