/* The emitted C source, compiled by the machine's compiler without a warning, gives the executor's
 * digest: its self-test says so, and these tests look at what it says. */
#include "networks.h"
#include "random_program.h"
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER TEST_FOLDER "/emitted"
#define FLAGS                                                                                      \
    "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -fsanitize=undefined "                 \
    "-fno-sanitize-recover=all"

static bool has_compiler(void)
{
    static const char probe[] = "echo 'int main(void){return 0;}' | " TEST_CC
                                " -fsanitize=undefined -xc - -o " FOLDER "/probe 2>/dev/null";
    (void)mkdir(FOLDER, 0777);
    return system(probe) == 0;
}

/* Compiles every file of one name together and runs the test. */
static void compile_and_run(const char *name, const char *flags, uint64_t seed)
{
    char command[1024];
    snprintf(command, sizeof command,
             TEST_CC " %s " FOLDER "/%s.c " FOLDER "/%s_selftest.c -o " FOLDER "/%s && " FOLDER
                     "/%s > " FOLDER "/%s.txt",
             flags, name, name, name, name, name);
    if (system(command) != 0)
        fail_msg("%s (seed %llu): %s", name, (unsigned long long)seed, command);
}

static bool emits(const itg_program *p, const char *name, int32_t samples, itg_error *err)
{
    itg_emit_vectors vectors = {samples, NULL};
    itg_status status = itg_program_emit_c(p, name, &vectors, FOLDER, NULL, err);
    if (status == ITG_OK) return true;
    assert_int_equal(status, ITG_UNSUPPORTED);
    return false;
}

/* Layers that write where they read: the last argument of a call stands among those before it. */
static int in_place_calls(const char *name)
{
    char path[256], line[4096];
    int count = 0;
    snprintf(path, sizeof path, FOLDER "/%s.c", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        char *end = strstr(line, ");\n"), *from = strstr(line, "(arena."), *last = NULL;
        if (strncmp(line, "    layer_", 10) != 0 || end == NULL || from == NULL) continue;
        *end = '\0';
        for (char *at = from; (at = strstr(at, ", ")) != NULL; at++)
            last = at;
        if (last == NULL) continue;
        *last = '\0';
        const char *found = strstr(from, last + 2);
        size_t length = strlen(last + 2);
        count += found != NULL && (found[length] == '\0' || found[length] == ',');
    }
    fclose(file);
    return count;
}

/* Most can be emitted, and whatever is gives the same bits. */
static void check_programs(itg_program *(*make)(uint64_t seed), uint64_t seeds)
{
    if (!has_compiler()) {
        print_message("skipped: no compiler\n");
        skip();
    }
    const char *given = getenv("ITG_EMIT_SEEDS");
    uint64_t emitted = 0;
    if (given != NULL) seeds = strtoull(given, NULL, 10);
    int in_place = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        itg_error err = {0};
        itg_program *p = make(seed);
        if (emits(p, "net", 3, &err)) {
            emitted++;
            compile_and_run("net", seed % 2 == 0 ? FLAGS " -O1" : FLAGS " -O0", seed);
            in_place += in_place_calls("net");
        } else if (given != NULL) {
            print_message("seed %llu: %s\n", (unsigned long long)seed, err.message);
        }
        itg_program_destroy(p);
    }
    print_message("%llu of %llu emitted, %d layers in place\n", (unsigned long long)emitted,
                  (unsigned long long)seeds, in_place);
    assert_true(in_place > 0);
    assert_true(emitted * 10 >= seeds * 7);
}

/* Every kind of step in every form. */
static void random_programs_give_the_executors_digest(void **state)
{
    (void)state;
    check_programs(random_integer_program, 24);
}

static void programs_of_rarer_forms_give_the_executors_digest(void **state)
{
    (void)state;
    check_programs(random_form_program, 12);
}

/* ---- the header's quantizer ---- */

static const char quantize_main[] =
    "#include \"net.h\"\n#include <stdio.h>\n"
    "int main(void)\n{\n"
    "    uint32_t s = 7;\n"
    "    for (long i = 0; i < 60000; i++) {\n"
    "        s = s * 1664525u + 1013904223u;\n"
    "        const int fraction = (int)(s >> 27) - 2;\n"
    "        s = s * 1664525u + 1013904223u;\n"
    "        const int32_t value = (int32_t)(s >> (1 + i % 25)) * (i % 2 ? -1 : 1);\n"
    "        printf(\"%ld %d %ld\\n\", (long)value, fraction, (long)net_quantize_q(value, "
    "fraction));\n"
    "    }\n"
    "    return 0;\n}\n";

static void compare_codes(const itg_quantizer *q, uint64_t seed)
{
    FILE *f = fopen(FOLDER "/quantize.txt", "r");
    assert_non_null(f);
    long value, code;
    int fraction, read = 0, inside = 0;
    while (fscanf(f, "%ld %d %ld", &value, &fraction, &code) == 3) {
        float real = ldexpf((float)value, -fraction);
        int64_t expected = itg_quantize_f32(real, q->scale[0], q->zero_point, q->qmin, q->qmax);
        if (code != expected)
            fail_msg("seed %llu: %ld / 2^%d with scale %a gives %ld, not %lld",
                     (unsigned long long)seed, value, fraction, (double)q->scale[0], code,
                     (long long)expected);
        inside += code > q->qmin && code < q->qmax;
        read++;
    }
    fclose(f);
    assert_int_equal(read, 60000);
    assert_true(inside > 100);
}

static void the_headers_quantizer_gives_the_executors_codes(void **state)
{
    (void)state;
    if (!has_compiler()) {
        print_message("skipped: no compiler\n");
        skip();
    }
    assert_int_equal(
        itg_file_write(FOLDER "/quantize_main.c", quantize_main, sizeof quantize_main - 1, NULL),
        ITG_OK);
    for (uint64_t seed = 200; seed < 204; seed++) {
        itg_error err = {0};
        itg_program *p = random_integer_program(seed);
        if (emits(p, "net", 1, &err)) {
            if (system(TEST_CC " " FLAGS " " FOLDER "/quantize_main.c -o " FOLDER
                               "/quantize && " FOLDER "/quantize > " FOLDER "/quantize.txt") != 0)
                fail_msg("seed %llu does not compile", (unsigned long long)seed);
            compare_codes(&p->values[p->steps[0].outputs[0]].q, seed);
        }
        itg_program_destroy(p);
    }
}

/* ---- weights ---- */

static void weights_take_their_bits_to_the_byte(void **state)
{
    (void)state;
    (void)mkdir(FOLDER, 0777);
    int emitted = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        itg_program *p = random_integer_program(seed);
        itg_emit_vectors vectors = {1, NULL};
        itg_emit_sizes sizes = {0};
        int64_t expected = 0;
        if (itg_program_emit_c(p, "bytes", &vectors, FOLDER, &sizes, NULL) == ITG_OK) {
            for (int32_t i = 0; i < p->value_count; i++)
                if (p->values[i].data != NULL && p->values[i].quantized)
                    expected += (p->values[i].elements * p->values[i].q.bits + 7) / 8;
            assert_int_equal(sizes.weight_bytes, expected);
            emitted++;
        }
        itg_program_destroy(p);
    }
    assert_true(emitted > 20);
}

static void what_is_float_is_refused_before_any_file(void **state)
{
    (void)state;
    static const network networks[] = NETWORKS;
    (void)mkdir(FOLDER, 0777);
    (void)unlink(FOLDER "/refused.c");
    int refused = 0;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        fixture f = networks[i]();
        itg_program *p = fx_program(&f);
        itg_error err = {0};
        itg_emit_vectors vectors = {1, NULL};
        if (itg_program_emit_c(p, "refused", &vectors, FOLDER, NULL, &err) != ITG_OK) {
            refused++;
            assert_int_equal(err.code, ITG_UNSUPPORTED);
            assert_true(strstr(err.message, "float") != NULL || strstr(err.message, "f32") != NULL);
            assert_int_not_equal(access(FOLDER "/refused.c", F_OK), 0);
        } else {
            (void)unlink(FOLDER "/refused.c");
        }
        itg_program_destroy(p);
        fx_end(&f);
    }
    assert_true(refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_give_the_executors_digest),
        cmocka_unit_test(programs_of_rarer_forms_give_the_executors_digest),
        cmocka_unit_test(the_headers_quantizer_gives_the_executors_codes),
        cmocka_unit_test(weights_take_their_bits_to_the_byte),
        cmocka_unit_test(what_is_float_is_refused_before_any_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
