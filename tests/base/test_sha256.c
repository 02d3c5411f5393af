#include "cmocka_base.h"
#include "base/base.h"
#include "base/sha256.h"

static void digest(const void *data, size_t bytes, char out[65])
{
    itg_sha256 hash;
    unsigned char raw[32];
    itg_sha256_init(&hash);
    itg_sha256_update(&hash, data, bytes);
    itg_sha256_final(&hash, raw);
    itg_sha256_hex(raw, out);
}

static void published_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
         "lmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    char hex[65];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        digest(cases[i].text, strlen(cases[i].text), hex);
        assert_string_equal(hex, cases[i].hex);
    }
}

static void a_million_letters(void **state)
{
    (void)state;
    char piece[1000], hex[65];
    memset(piece, 'a', sizeof piece);
    itg_sha256 hash;
    unsigned char raw[32];
    itg_sha256_init(&hash);
    for (int i = 0; i < 1000; i++)
        itg_sha256_update(&hash, piece, sizeof piece);
    itg_sha256_final(&hash, raw);
    itg_sha256_hex(raw, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Lengths at which the padding takes another block or just does not. */
static void lengths_around_the_padding(void **state)
{
    (void)state;
    static const struct {
        size_t length;
        const char *hex;
    } cases[] = {
        {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {57, "f13b2d724659eb3bf47f2dd6af1accc87b81f09f59f2b75e5c0bed6589dfe8c6"},
        {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
        {119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
        {120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"},
        {128, "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e"},
    };
    char text[128], hex[65];
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        digest(text, cases[i].length, hex);
        assert_string_equal(hex, cases[i].hex);
    }
}

static void pieces_do_not_matter(void **state)
{
    (void)state;
    unsigned char data[300];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 37 + 11);
    char whole[65], parts[65];
    digest(data, sizeof data, whole);
    for (size_t step = 1; step < sizeof data; step++) {
        itg_sha256 hash;
        unsigned char raw[32];
        itg_sha256_init(&hash);
        for (size_t at = 0; at < sizeof data; at += step) {
            itg_sha256_update(&hash, data + at, sizeof data - at < step ? sizeof data - at : step);
            itg_sha256_update(&hash, NULL, 0);
        }
        itg_sha256_final(&hash, raw);
        itg_sha256_hex(raw, parts);
        assert_string_equal(parts, whole);
    }
}

/* Where the processor has instructions of its own for it. */
static void instructions_give_the_same(void **state)
{
    (void)state;
    unsigned char data[64 * 7];
    uint32_t defined[8], found[8];
    itg_rng rng;
    itg_rng_init(&rng, 1);
    for (int trial = 0; trial < 500; trial++) {
        for (size_t i = 0; i < sizeof data; i++)
            data[i] = (unsigned char)(itg_rng_unit(&rng) * 256);
        for (int i = 0; i < 8; i++)
            defined[i] = found[i] = (uint32_t)(itg_rng_unit(&rng) * 0x1p32);
        size_t blocks = (size_t)trial % 8;
        if (!itg_sha256_compress_x86(found, data, blocks)) skip();
        itg_sha256_compress(defined, data, blocks);
        assert_memory_equal(found, defined, sizeof found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors),          cmocka_unit_test(a_million_letters),
        cmocka_unit_test(lengths_around_the_padding), cmocka_unit_test(pieces_do_not_matter),
        cmocka_unit_test(instructions_give_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
