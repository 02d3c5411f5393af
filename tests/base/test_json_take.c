#include "cmocka_base.h"
#include "base/json_take.h"

static const char text[] =
    "{\"name\": \"net\", \"none\": null, \"count\": 7, \"on\": true, \"seed\": "
    "\"18446744073709551615\", \"list\": [0.5, \"x\"], \"hash\": "
    "\"ab01000000000000000000000000000000000000000000000000000000000000\"}";

static itg_json *parse(const char *from)
{
    itg_json *json = NULL;
    assert_int_equal(itg_json_parse(from, strlen(from), "t.json", &json, NULL), ITG_OK);
    return json;
}

static void members_are_taken(void **state)
{
    (void)state;
    itg_json *json = parse(text);
    const itg_json_value *root = itg_json_root(json);
    itg_json_taker t = {json, NULL, ITG_OK};
    unsigned char hash[32] = {0};
    assert_string_equal(itg_json_take_text(&t, root, "name"), "net");
    assert_string_equal(itg_json_take_optional(&t, root, "name"), "net");
    assert_null(itg_json_take_optional(&t, root, "none"));
    assert_null(itg_json_take_optional(&t, root, "absent"));
    assert_int_equal(itg_json_take_int(&t, root, "count", 0, 7), 7);
    assert_true(itg_json_take_bool(&t, root, "on"));
    assert_true(itg_json_take_seed(&t, root, "seed") == UINT64_MAX);
    itg_json_take_hash(&t, root, "hash", hash);
    assert_true(hash[0] == 0xAB && hash[1] == 1 && hash[31] == 0);
    const itg_json_value *list = itg_json_take(&t, root, "list", ITG_JSON_ARRAY);
    assert_true(itg_json_number_of(&t, itg_json_at(list, 0)) == 0.5);
    assert_int_equal(t.status, ITG_OK);
    itg_json_destroy(json);
}

static void the_first_failure_stays(void **state)
{
    (void)state;
    itg_json *json = parse(text);
    const itg_json_value *root = itg_json_root(json);
    itg_error err = {0};
    itg_json_taker t = {json, &err, ITG_OK};
    unsigned char hash[32] = {5};
    assert_int_equal(itg_json_take_int(&t, root, "count", 0, 6), 0);
    assert_int_equal(t.status, ITG_BAD_FILE);
    assert_null(itg_json_take(&t, root, "list", ITG_JSON_ARRAY));
    assert_null(itg_json_take_text(&t, NULL, "name"));
    assert_null(itg_json_take_optional(&t, NULL, "name"));
    assert_false(itg_json_bool_of(&t, NULL));
    assert_true(itg_json_seed_of(&t, NULL) == 0);
    itg_json_take_hash(&t, NULL, "hash", hash);
    itg_json_refuse(&t, NULL, ITG_LIMIT, "later");
    assert_int_equal(hash[0], 5);
    assert_int_equal(t.status, ITG_BAD_FILE);
    assert_non_null(strstr(err.message, "t.json: count: expected an integer from 0 to 6"));
    itg_json_destroy(json);
}

static void what_is_no_seed_or_hash_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"{\"s\": \"18446744073709551616\"}",
                                        "{\"s\": \"-1\"}",
                                        "{\"s\": \"\"}",
                                        "{\"s\": \"07\"}",
                                        "{\"s\": \"7 \"}",
                                        "{\"s\": 7}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        itg_json *json = parse(wrong[i]);
        itg_json_taker seed = {json, NULL, ITG_OK}, hash = {json, NULL, ITG_OK};
        unsigned char out[32];
        assert_true(itg_json_take_seed(&seed, itg_json_root(json), "s") == 0);
        assert_int_equal(seed.status, ITG_BAD_FILE);
        itg_json_take_hash(&hash, itg_json_root(json), "s", out);
        assert_int_equal(hash.status, ITG_BAD_FILE);
        itg_json_destroy(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_taken),
        cmocka_unit_test(the_first_failure_stays),
        cmocka_unit_test(what_is_no_seed_or_hash_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
