/* Codes of any width: where their bits lie, and that they come back. */
#include "cmocka_base.h"
#include "base/packed.h"

static void bits_lie_from_the_lowest_on(void **state)
{
    (void)state;
    unsigned char bytes[4] = {0};
    const int64_t nibbles[] = {1, -2, 7, -8};
    for (int i = 0; i < 4; i++)
        itg_packed_put(bytes, 4, true, i, nibbles[i]);
    assert_memory_equal(bytes, ((unsigned char[]){0xE1, 0x87, 0, 0}), 4);
    unsigned char wide[4] = {0};
    itg_packed_put(wide, 12, true, 0, 0xABC);
    itg_packed_put(wide, 12, true, 1, 0x123);
    assert_memory_equal(wide, ((unsigned char[]){0xBC, 0x3A, 0x12, 0}), 4);
}

static void one_bit_is_the_sign(void **state)
{
    (void)state;
    const int64_t codes[] = {1, -1, -1, 1, 1, 1, 1, 1, -1};
    unsigned char bytes[2] = {0};
    int8_t out[9];
    for (int i = 0; i < 9; i++)
        itg_packed_put(bytes, 1, true, i, codes[i]);
    assert_memory_equal(bytes, ((unsigned char[]){0x06, 0x01}), 2);
    itg_packed_unpack(bytes, 1, true, 9, 1, out);
    for (int i = 0; i < 9; i++)
        assert_int_equal(out[i], codes[i]);
}

static void every_width_comes_back(void **state)
{
    enum { COUNT = 19 };
    (void)state;
    for (int32_t bits = 1; bits <= 32; bits++)
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            unsigned char bytes[COUNT * 4] = {0};
            int64_t least = is_signed ? -((int64_t)1 << (bits - 1)) : 0, codes[COUNT];
            for (int i = 0; i < COUNT; i++) {
                int64_t most = least + ((int64_t)1 << bits) - 1;
                codes[i] = i % 3 == 0   ? least
                           : i % 3 == 1 ? most
                                        : least + (INT64_C(0x5DEECE66D) * i) % (most - least + 1);
                if (is_signed && bits == 1) codes[i] = 2 * codes[i] + 1; /* 0 and -1 to 1 and -1 */
                itg_packed_put(bytes, bits, is_signed, i, codes[i]);
            }
            for (int i = 0; i < COUNT; i++)
                assert_int_equal(itg_packed_get(bytes, bits, is_signed, i), codes[i]);
            int64_t used = itg_packed_bytes(COUNT, bits);
            assert_true(used * 8 >= COUNT * bits && used * 8 < COUNT * bits + 8);
            for (int64_t i = used; i < (int64_t)sizeof bytes; i++)
                assert_int_equal(bytes[i], 0);
            assert_true(itg_packed_ends(bytes, bits, COUNT));
            bytes[used - 1] |= 0x80;
            assert_int_equal(itg_packed_ends(bytes, bits, COUNT), COUNT * bits % 8 == 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_lie_from_the_lowest_on),
        cmocka_unit_test(one_bit_is_the_sign),
        cmocka_unit_test(every_width_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
