/* C source and its certificate: what was emitted is verified, and no number in an array can be
 * changed, whatever hashes are made good again. */
#include "networks.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/json.h"
#include "random_program.h"
#include "realize/emit/emit.h"

#define FOLDER TEST_FOLDER "/certified"

enum { PROGRAMS = 60, FLIPS = 20 };

static char *slurp(const char *path, size_t *bytes)
{
    unsigned char *data = NULL;
    assert_int_equal(itg_file_read(path, (size_t)1 << 28, &data, bytes, NULL), ITG_OK);
    char *text = malloc(*bytes + 1);
    assert_non_null(text);
    memcpy(text, data, *bytes);
    text[*bytes] = '\0';
    free(data);
    return text;
}

static void put(const char *path, const char *text, size_t bytes)
{
    (void)remove(path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* false: C source refuses this program. */
static bool write_certified(uint64_t seed)
{
    itg_program *p = random_integer_program(seed);
    itg_emit_vectors vectors = {1, NULL};
    itg_error err = {ITG_OK, ""};
    (void)mkdir(FOLDER, 0777);
    bool emitted = itg_program_emit_c(p, "net", &vectors, FOLDER, NULL, &err) == ITG_OK;
    if (emitted && (itg_artefact_write(p, NULL, 0, FOLDER "/net.itg", &err) != ITG_OK ||
                    itg_certify(FOLDER "/net.itg", FOLDER "/net.itg.cert.json", &err) != ITG_OK ||
                    itg_certify_source(FOLDER, "net", &err) != ITG_OK))
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    itg_program_destroy(p);
    return emitted;
}

/* NULL: verified. Otherwise the first problem, in `out`. */
static const char *problem(char *out, size_t size)
{
    itg_verification *v = NULL;
    itg_error err = {ITG_OK, ""};
    out[0] = '\0';
    if (itg_verify_source(FOLDER, "net", &v, &err) != ITG_OK)
        snprintf(out, size, "%s", err.message);
    else if (itg_verification_problem_count(v) > 0)
        snprintf(out, size, "%s", itg_verification_problem(v, 0));
    itg_verification_destroy(v);
    return out[0] != '\0' ? out : NULL;
}

/* The certificate as it would be for the files as they are now. */
static void forge(void)
{
    itg_verification *v = NULL;
    itg_strbuf text = {0};
    itg_error err = {ITG_OK, ""};
    assert_int_equal(itg_verify(FOLDER "/net.itg", NULL, &v, &err), ITG_OK);
    assert_int_equal(itg_source_certificate(v, FOLDER, "net", &text, &err), ITG_OK);
    put(FOLDER "/net.cert.json", text.text, text.length);
    itg_strbuf_deinit(&text);
    itg_verification_destroy(v);
}

/* A place between the braces of an array at the beginning of a line; 0: there is none. */
static size_t place_in_array(const char *text, size_t bytes, itg_rng *rng)
{
    size_t count = 0, chosen = 0;
    bool inside = false;
    for (size_t i = 1; i + 1 < bytes; i++) {
        if (text[i] == '\n' && strncmp(text + i + 1, "static const ", 13) == 0) {
            const char *open = strstr(text + i, "] = {");
            const char *line = strchr(text + i + 1, '\n');
            inside = open != NULL && open < line;
            if (inside) i = (size_t)(open - text) + 5;
        }
        if (inside && text[i] == '}') inside = false;
        if (inside && itg_rng_below(rng, ++count) == 0) chosen = i;
    }
    return chosen;
}

static void what_is_emitted_is_verified(void **state)
{
    char text[500];
    int emitted = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        if (!write_certified(seed)) continue;
        emitted++;
        if (problem(text, sizeof text) != NULL)
            fail_msg("seed %llu: %s", (unsigned long long)seed, text);
    }
    assert_true(emitted * 10 >= PROGRAMS * 7);
}

/* A text member; "": it is none. */
static const char *text_at(const itg_json *json, const itg_json_value *object, const char *key)
{
    const char *text = "";
    (void)itg_json_get_string(json, itg_json_find(object, key), &text, NULL);
    return text;
}

static void check_file(const itg_json *json, const itg_json_value *entry, const char *name)
{
    char path[100], hex[65];
    unsigned char hash[32];
    size_t size = 0;
    int64_t bytes = -1;
    snprintf(path, sizeof path, FOLDER "/%s", name);
    char *data = slurp(path, &size);
    itg_sha256_of(data, size, hash);
    free(data);
    assert_string_equal(text_at(json, entry, "file"), name);
    assert_string_equal(text_at(json, entry, "sha256"), itg_sha256_hex(hash, hex));
    assert_int_equal(
        itg_json_get_int(json, itg_json_find(entry, "bytes"), 0, 1 << 30, &bytes, NULL), ITG_OK);
    assert_int_equal(bytes, size);
}

/* It is JSON, and names program and files with their hashes. */
static void a_certificate_can_be_read_by_others(void **state)
{
    static const char *const files[] = {"net.c", "net.h", "net_selftest.c"};
    itg_json *json = NULL;
    itg_error err = {ITG_OK, ""};
    size_t bytes = 0;
    uint64_t seed = 1;
    (void)state;
    while (!write_certified(seed))
        seed++;
    char *text = slurp(FOLDER "/net.cert.json", &bytes);
    if (itg_json_parse(text, bytes, "certificate", &json, &err) != ITG_OK)
        fail_msg("%s", err.message);
    const itg_json_value *root = itg_json_root(json), *list = itg_json_find(root, "files");
    assert_string_equal(text_at(json, root, "kind"), "intaglio-source-certificate");
    assert_string_equal(text_at(json, itg_json_find(root, "program"), "file"), "net.itg");
    assert_int_equal(strlen(text_at(json, root, "sha256")), 64);
    assert_int_equal(itg_json_length(list), 3);
    for (size_t i = 0; i < 3; i++)
        check_file(json, itg_json_at(list, i), files[i]);
    itg_json_destroy(json);
    free(text);
}

static void no_bit_of_an_array_can_be_changed(void **state)
{
    char found[500];
    int flips = 0;
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 21);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        if (!write_certified(seed)) continue;
        size_t bytes;
        char *text = slurp(FOLDER "/net.c", &bytes);
        for (int i = 0; i < FLIPS; i++) {
            size_t at = place_in_array(text, bytes, &rng);
            if (at == 0) break;
            char was = text[at];
            /* every other time from digit to digit */
            if (was >= '0' && was <= '9' && i % 2 == 0)
                text[at] = (char)('0' + (was - '0' + 1 + (int)itg_rng_below(&rng, 9)) % 10);
            else
                text[at] = (char)(was ^ (1 << itg_rng_below(&rng, 8)));
            put(FOLDER "/net.c", text, bytes);
            forge();
            if (problem(found, sizeof found) == NULL)
                fail_msg("seed %llu: byte %zu from '%c' to '%c'", (unsigned long long)seed, at, was,
                         text[at]);
            text[at] = was;
            flips++;
        }
        put(FOLDER "/net.c", text, bytes);
        forge();
        assert_null(problem(found, sizeof found));
        free(text);
    }
    print_message("%d edits\n", flips);
    assert_true(flips >= 200);
}

/* Without forging: the hashes know any other edit of any file. */
static void any_other_edit_is_known_by_its_hash(void **state)
{
    static const char *const names[] = {"net.c",         "net.h",   "net_selftest.c",
                                        "net.cert.json", "net.itg", "net.itg.cert.json"};
    char found[500], path[256];
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 22);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        if (!write_certified(seed)) continue;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            size_t bytes;
            snprintf(path, sizeof path, FOLDER "/%s", names[k]);
            char *text = slurp(path, &bytes);
            for (int i = 0; i < FLIPS; i++) {
                size_t at = (size_t)itg_rng_below(&rng, bytes);
                char was = text[at];
                text[at] = (char)(was ^ (1 << itg_rng_below(&rng, 8)));
                put(path, text, bytes);
                if (problem(found, sizeof found) == NULL)
                    fail_msg("seed %llu: %s, byte %zu", (unsigned long long)seed, names[k], at);
                text[at] = was;
            }
            put(path, text, bytes);
            free(text);
        }
        assert_null(problem(found, sizeof found));
    }
}

/* An array may not be left out, either. */
static void an_array_that_is_missing_is_named(void **state)
{
    static const char gone[] = "static const uint8_t ";
    char found[500];
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        if (!write_certified(seed)) continue;
        size_t bytes;
        char *text = slurp(FOLDER "/net.c", &bytes);
        char *array = strstr(text, gone);
        if (array != NULL) {
            memcpy(array, "extern", 6);
            put(FOLDER "/net.c", text, bytes);
            forge();
            assert_non_null(problem(found, sizeof found));
            assert_non_null(strstr(found, "net.c, line"));
            assert_non_null(strstr(found, gone));
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_emitted_is_verified),
        cmocka_unit_test(a_certificate_can_be_read_by_others),
        cmocka_unit_test(no_bit_of_an_array_can_be_changed),
        cmocka_unit_test(any_other_edit_is_known_by_its_hash),
        cmocka_unit_test(an_array_that_is_missing_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
