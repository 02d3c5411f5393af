#include "cmocka_base.h"
#include "base/utf8.h"

/* The encoder's formula, written apart from the checker's ranges. */
static size_t encode(uint32_t code, unsigned char out[4])
{
    if (code < 0x80) {
        out[0] = (unsigned char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; code >>= 6)
        out[i] = (unsigned char)(0x80 | (code & 0x3F));
    out[0] = (unsigned char)((0xF00u >> length & 0xFF) | code);
    return length;
}

static void every_character_is_accepted_whole_and_refused_cut(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        unsigned char text[4];
        size_t length = encode(code, text);
        size_t expected = code >= 0xD800 && code <= 0xDFFF ? 0 : length;
        assert_int_equal(itg_utf8_length(text, length), expected);
        if (length > 1) assert_int_equal(itg_utf8_length(text, length - 1), 0);
    }
}

/* As many sequences are accepted as there are characters: nothing else can be among them. */
static void nothing_else_is_accepted(void **state)
{
    (void)state;
    size_t count[5] = {0};
    unsigned char text[4];
    for (uint32_t bits = 0; bits < 1u << 24; bits++) {
        text[0] = (unsigned char)(bits >> 16);
        text[1] = (unsigned char)(bits >> 8);
        text[2] = (unsigned char)bits;
        size_t length = itg_utf8_length(text, 3);
        assert_in_range(length, 0, 3);
        count[length]++;
    }
    assert_int_equal(count[1], (size_t)128 << 16);
    assert_int_equal(count[2], (size_t)1920 << 8);
    assert_int_equal(count[3], 65536 - 2048 - 2048);
}

static void four_byte_sequences_end_at_10ffff(void **state)
{
    (void)state;
    assert_int_equal(itg_utf8_length((const unsigned char *)"\xF0\x8F\xBF\xBF", 4), 0);
    assert_int_equal(itg_utf8_length((const unsigned char *)"\xF4\x90\x80\x80", 4), 0);
    assert_int_equal(itg_utf8_length((const unsigned char *)"\xF5\x80\x80\x80", 4), 0);
    assert_int_equal(itg_utf8_length((const unsigned char *)"\xF1\x80\x80\x7F", 4), 0);
    assert_int_equal(itg_utf8_length((const unsigned char *)"\xF1\x80\xC0\x80", 4), 0);
    assert_int_equal(itg_utf8_length((const unsigned char *)"", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_is_accepted_whole_and_refused_cut),
        cmocka_unit_test(nothing_else_is_accepted),
        cmocka_unit_test(four_byte_sequences_end_at_10ffff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
