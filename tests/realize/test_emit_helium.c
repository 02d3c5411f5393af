/* The text for Helium: its blocks give the executor's digest where the intrinsics are plain C, and
 * read and write nothing outside; its requantization is that of kernels/requant, bit for bit. Real
 * machine code is run by tests/samebits. */
#include "kernels/requant.h"
#include "networks.h"
#include "program_maker.h"
#include "realize/emit/c_helium.h"
#include <stdlib.h>
#include <sys/stat.h>

#define FOLDER TEST_FOLDER "/helium"
#define FLAGS                                                                                      \
    "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -D__ARM_FEATURE_MVE=1 "                \
    "-isystem " TEST_ARM " -fsanitize=address,undefined -fno-sanitize-recover=all"

static bool has_compiler(void)
{
    static const char probe[] =
        "echo 'int main(void){return 0;}' | " TEST_CC
        " -fsanitize=address,undefined -xc - -o " FOLDER "/probe 2>/dev/null";
    (void)mkdir(FOLDER, 0777);
    return system(probe) == 0;
}

static bool emits(const itg_program *p)
{
    itg_emit_vectors vectors = {2, NULL};
    return itg_program_emit_c(p, "net", &vectors, FOLDER, NULL, NULL) == ITG_OK;
}

static void compile_and_run(uint64_t seed)
{
    static const char command[] =
        TEST_CC " " FLAGS " " FOLDER "/net.c " FOLDER "/net_selftest.c -o " FOLDER "/net && " FOLDER
                "/net > " FOLDER "/net.txt";
    if (system(command) != 0) fail_msg("seed %llu: %s", (unsigned long long)seed, command);
}

static int occurrences(const char *what)
{
    size_t size;
    unsigned char *text = NULL;
    int count = 0;
    assert_int_equal(itg_file_read(FOLDER "/net.c", SIZE_MAX, &text, &size, NULL), ITG_OK);
    for (const char *at = (char *)text; (at = strstr(at, what)) != NULL; at++)
        count++;
    free(text);
    return count;
}

/* Helium's blocks give the executor's digest, and read and write nothing outside. */
static void layers_for_helium_give_the_executors_digest(void **state)
{
    (void)state;
    if (!has_compiler()) skip();
    const char *given = getenv("ITG_EMIT_SEEDS");
    const uint64_t seeds = given != NULL ? strtoull(given, NULL, 10) : 320;
    static const char *const rows[] = {"    helium_softmax_",   "    helium_norm_",
                                       "helium_product_s8_",    "helium_product_u8_",
                                       "vldrbq_gather_offset_", "QUICK ONCE void window_sum",
                                       "vmulq_s32(a, b)"};
    enum { ROWS = sizeof rows / sizeof *rows };
    int sums = 0, additions = 0, words = 0, others[ROWS] = {0};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        itg_program *p = random_doubling_program(seed);
        const bool emitted = emits(p);
        const int a = emitted ? occurrences("  helium_dot") : 0;
        const int c = emitted ? occurrences(" a = helium_scale_all") : 0;
        const int d = emitted ? occurrences("  helium_take") : 0;
        bool more = false;
        for (int i = 0; i < ROWS && emitted; i++) {
            const int n = occurrences(rows[i]);
            more = more || (n > 0 && (given != NULL || others[i] < 20));
            others[i] += n;
        }
        if (more || c > 0 || (d > 0 && words < 20) || (a > 0 && (given != NULL || sums < 8))) {
            compile_and_run(seed);
            sums += a;
            additions += c;
            words += d;
        }
        itg_program_destroy(p);
    }
    print_message("%d layers of sums, %d of words, %d additions\n", sums, words, additions);
    for (int i = 0; i < ROWS; i++) {
        print_message("%d of '%s'\n", others[i], rows[i]);
        assert_true(others[i] > 0);
    }
    assert_true(sums > 0 && additions > 0 && words > 0);
}

/* What VSHL, VQRDMULH, VQADD of the sign and VRSHL make of v (c_helium.c). */
static int64_t by_vectors(const itg_emit_doubling *k, int64_t v)
{
    const int64_t high = (v * ((int64_t)1 << k->left) * k->multiplier + (1LL << 30)) >> 31;
    const int64_t less = high - (high < 0 && k->down > 0);
    return k->down > 0 ? (less + (1LL << (k->down - 1))) >> k->down : high;
}

static void vectors_requantize_exactly(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 3);
    for (int i = 0; i < 20000; i++) {
        const int32_t shift = (int32_t)(itg_rng_next(&rng) % 36) - 16;
        const int64_t multiplier = (int64_t)(itg_rng_next(&rng) >> 34) + (1 << 30);
        const itg_requant_stage high = {multiplier, 31, ITG_ROUND_HALF_UP};
        const itg_requant_stage other = {1, shift, ITG_ROUND_HALF_AWAY};
        itg_requant r = {.stage_count = 2, .stage = {high, other}};
        if (shift < 0) r = (itg_requant){.stage_count = 2, .stage = {other, high}};
        itg_emit_doubling k;
        const int64_t most = shift < 0 ? INT32_MAX >> -shift : (int64_t)1 << 31;
        assert_true(itg_emit_doubling_of(&r, most, &k));
        if (shift < 0) assert_false(itg_emit_doubling_of(&r, most + 1, &k));
        /* Ends, and next to halves of the last shift. */
        int64_t v = (int64_t)(itg_rng_next(&rng) >> 31) - ((int64_t)1 << 32);
        v = i % 8 == 0 ? most - 1 : i % 8 == 1 ? -most : v % most;
        if (i % 2 == 0 && shift > 0)
            v = v / ((int64_t)1 << shift) * ((int64_t)1 << shift) + ((int64_t)1 << (shift - 1));
        if (v < -most || v > most - 1) continue;
        assert_int_equal(by_vectors(&k, v), itg_requant_apply(&r, v));
    }
}

static void other_requantizations_stay_plain(void **state)
{
    (void)state;
    static const itg_requant others[] = {
        {.is_f32 = true, .ratio = 1},
        {.stage_count = 0},
        {.stage_count = 1, .stage = {{1 << 30, 30, ITG_ROUND_HALF_UP}}},
        {.stage_count = 1, .stage = {{1 << 30, 31, ITG_ROUND_HALF_AWAY}}},
        {.stage_count = 1, .stage = {{(int64_t)1 << 31, 31, ITG_ROUND_HALF_UP}}},
        {.stage_count = 2, .stage = {{1 << 30, 31, ITG_ROUND_HALF_UP}, {1, 3, ITG_ROUND_HALF_UP}}},
        {.stage_count = 2,
         .stage = {{1 << 30, 31, ITG_ROUND_HALF_UP}, {1, 32, ITG_ROUND_HALF_AWAY}}},
        {.stage_count = 2, .stage = {{1, 2, ITG_ROUND_FLOOR}, {1 << 30, 31, ITG_ROUND_HALF_UP}}},
        {.stage_count = 3,
         .stage = {{1, -1, ITG_ROUND_HALF_UP},
                   {1 << 30, 31, ITG_ROUND_HALF_UP},
                   {1, 1, ITG_ROUND_HALF_AWAY}}},
    };
    itg_emit_doubling k;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(itg_emit_doubling_of(&others[i], 1000, &k));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_for_helium_give_the_executors_digest),
        cmocka_unit_test(vectors_requantize_exactly),
        cmocka_unit_test(other_requantizations_stay_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
