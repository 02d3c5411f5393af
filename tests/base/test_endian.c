#include "cmocka_base.h"
#include "base/base.h"

/* Expected bytes come from arithmetic, so that the same test holds on either kind of host. */
static void bytes_come_lowest_first(void **state)
{
    (void)state;
    const uint16_t two[2] = {0x1234, 0xABCD};
    const uint32_t four = 0x01020304;
    const uint64_t eight = UINT64_C(0x1122334455667788);
    unsigned char out[8];
    itg_copy_little_endian(out, two, 2, 2);
    for (int i = 0; i < 4; i++)
        assert_int_equal(out[i], two[i / 2] >> (8 * (i % 2)) & 0xFF);
    itg_copy_little_endian(out, &four, 1, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(out[i], four >> (8 * i) & 0xFF);
    itg_copy_little_endian(out, &eight, 1, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(out[i], eight >> (8 * i) & 0xFF);
}

static void single_bytes_keep_their_order(void **state)
{
    (void)state;
    unsigned char out[4] = "...";
    itg_copy_little_endian(out, "abc", 3, 1);
    assert_string_equal((char *)out, "abc");
}

static void copying_twice_or_in_place_gives_the_value_back(void **state)
{
    (void)state;
    const float values[3] = {1.5f, -0.0f, 3e-40f};
    float there[3], back[3];
    itg_copy_little_endian(there, values, 3, 4);
    itg_copy_little_endian(back, there, 3, 4);
    assert_memory_equal(back, values, sizeof values);
    memcpy(back, values, sizeof values);
    itg_copy_little_endian(back, back, 3, 4);
    assert_memory_equal(back, there, sizeof values);
}

static void nothing_is_copied_for_no_elements(void **state)
{
    (void)state;
    unsigned char out = 9;
    itg_copy_little_endian(&out, NULL, 0, 4);
    assert_int_equal(out, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_lowest_first),
        cmocka_unit_test(single_bytes_keep_their_order),
        cmocka_unit_test(copying_twice_or_in_place_gives_the_value_back),
        cmocka_unit_test(nothing_is_copied_for_no_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
