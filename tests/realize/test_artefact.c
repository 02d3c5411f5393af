/* Files: what is read back is the same program; what is damaged is an error or another legal
 * program, never a crash. */
#include "networks.h"
#include <stdio.h>
#include <stdlib.h>
#include "graph/onnx/onnx_write.h"

#define PATH TEST_FOLDER "/program.onnx"
#define DAMAGED TEST_FOLDER "/damaged.onnx"

static const network networks[] = NETWORKS;
enum { NETWORK_COUNT = sizeof networks / sizeof *networks };

static void write_program(const itg_program *p, const char *path)
{
    itg_error err;
    if (itg_artefact_write(p, NULL, 0, path, &err) != ITG_OK) fail_msg("%s", err.message);
}

static itg_program *read_program(const char *path)
{
    itg_program *p = NULL;
    itg_error err;
    if (itg_artefact_read(path, &p, &err) != ITG_OK) fail_msg("%s", err.message);
    return p;
}

static void assert_same_text(const itg_program *a, const itg_program *b)
{
    itg_strbuf x = {0}, y = {0};
    itg_program_print(a, &x);
    itg_program_print(b, &y);
    assert_true(itg_strbuf_ok(&x) && itg_strbuf_ok(&y));
    assert_string_equal(x.text, y.text);
    itg_strbuf_deinit(&x);
    itg_strbuf_deinit(&y);
}

static void assert_same_outputs(const itg_program *a, const itg_program *b)
{
    single *x = fx_instance(a), *y = fx_instance(b);
    for (uint64_t seed = 0; seed < 20; seed++) {
        fx_fill(x, a, seed, 8);
        fx_fill(y, b, seed, 8);
        fx_run(x);
        fx_run(y);
        for (int32_t i = 0; i < itg_program_output_count(a); i++) {
            itg_tensor s = single_output(x, i), t = single_output(y, i);
            assert_string_equal(itg_program_output_name(a, i), itg_program_output_name(b, i));
            assert_int_equal(s.dtype, t.dtype);
            assert_true(itg_shape_equal(&s.shape, &t.shape));
            assert_memory_equal(s.data, t.data, itg_tensor_bytes(&s));
        }
    }
    single_destroy(x);
    single_destroy(y);
}

static void programs_read_back_are_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < NETWORK_COUNT; i++) {
        fixture f = networks[i]();
        itg_program *p = fx_program(&f);
        fx_end(&f); /* a program needs nothing of it */
        write_program(p, PATH);
        itg_program *again = read_program(PATH);
        assert_same_text(p, again);
        assert_same_outputs(p, again);
        int32_t islands = itg_program_float_island_count(p), bounds, same;
        assert_int_equal(itg_program_float_island_count(again), islands);
        for (int32_t k = 0; k < islands; k++)
            assert_string_equal(itg_program_float_island(p, k), itg_program_float_island(again, k));
        const itg_bound *b = itg_program_bounds(p, &bounds), *c = itg_program_bounds(again, &same);
        assert_int_equal(bounds, same);
        for (int32_t k = 0; k < bounds; k++)
            assert_true(b[k].node == c[k].node && b[k].lo == c[k].lo && b[k].hi == c[k].hi &&
                        b[k].fits == c[k].fits);
        itg_program_destroy(again);
        itg_program_destroy(p);
    }
}

static void writing_again_gives_the_same_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < NETWORK_COUNT; i++) {
        fixture f = networks[i]();
        itg_program *p = fx_program(&f);
        write_program(p, PATH);
        itg_program *again = read_program(PATH);
        write_program(again, DAMAGED);
        unsigned char *first, *second;
        size_t first_bytes, second_bytes;
        assert_int_equal(itg_file_read(PATH, 1 << 24, &first, &first_bytes, NULL), ITG_OK);
        assert_int_equal(itg_file_read(DAMAGED, 1 << 24, &second, &second_bytes, NULL), ITG_OK);
        assert_int_equal(first_bytes, second_bytes);
        assert_memory_equal(first, second, first_bytes);
        free(first);
        free(second);
        itg_program_destroy(again);
        itg_program_destroy(p);
        fx_end(&f);
    }
}

static void metadata_is_kept_and_replaced(void **state)
{
    (void)state;
    fixture f = net_tables();
    itg_program *p = fx_program(&f);
    const itg_metadata first[] = {{"preprocess", "{\"scale\":1}"}, {"hash", "abc"}},
                       second[] = {{"hash", "def"}};
    assert_int_equal(itg_artefact_write(p, first, 2, PATH, NULL), ITG_OK);
    itg_program *again = read_program(PATH);
    assert_string_equal(itg_program_metadata(again, "preprocess"), "{\"scale\":1}");
    assert_string_equal(itg_program_metadata(again, "hash"), "abc");
    assert_null(itg_program_metadata(again, "other"));
    assert_int_equal(itg_artefact_write(again, second, 1, PATH, NULL), ITG_OK);
    itg_program *last = read_program(PATH);
    assert_string_equal(itg_program_metadata(last, "preprocess"), "{\"scale\":1}");
    assert_string_equal(itg_program_metadata(last, "hash"), "def");
    assert_null(itg_program_metadata(last, "intaglio.output.sigmoid")); /* derived, not kept */
    itg_program_destroy(last);
    itg_program_destroy(again);
    itg_program_destroy(p);
    fx_end(&f);
}

/* Reads the bytes as a file; whatever is accepted is run. */
static bool try_bytes(const unsigned char *bytes, size_t count)
{
    (void)remove(DAMAGED); /* some file systems write out at once what is truncated and rewritten */
    FILE *file = fopen(DAMAGED, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    itg_program *p = NULL;
    itg_error err = {ITG_OK, ""};
    itg_status status = itg_artefact_read(DAMAGED, &p, &err);
    if (status != ITG_OK) {
        assert_null(p);
        assert_int_equal(err.code, status);
        assert_true(strlen(err.message) > 0);
        return false;
    }
    if (single_bytes(p) < 1 << 22) {
        single *instance = fx_instance(p);
        fx_fill(instance, p, 1, 8);
        (void)single_run(instance, &err); /* Gather may refuse an index */
        single_destroy(instance);
    }
    itg_program_destroy(p);
    return true;
}

static void read_written(int index, unsigned char **bytes, size_t *count)
{
    fixture f = networks[index]();
    itg_program *p = fx_program(&f);
    write_program(p, PATH);
    itg_program_destroy(p);
    fx_end(&f);
    assert_int_equal(itg_file_read(PATH, 1 << 24, bytes, count, NULL), ITG_OK);
}

static void truncated_files_are_errors(void **state)
{
    (void)state;
    unsigned char *bytes;
    size_t count, accepted = 0;
    read_written(5, &bytes, &count);
    for (size_t i = 0; i < count; i++)
        accepted += try_bytes(bytes, i);
    /* A cut between two top-level fields leaves a legal file only where nothing that matters was
     * behind it. */
    assert_true(accepted <= 8);
    free(bytes);
}

static void flipped_bytes_never_crash(void **state)
{
    (void)state;
    static const unsigned char masks[] = {0x01, 0x80, 0xff, 0x10};
    for (int k = 0; k < NETWORK_COUNT; k++) {
        unsigned char *bytes;
        size_t count, accepted = 0, tried = 0;
        read_written(k, &bytes, &count);
        for (size_t i = 0; i < count; i++) {
            if (k == 4 && i % 7 != 0) continue; /* mostly one long table */
            unsigned char mask = masks[(i * 2654435761u >> 8) % 4], was = bytes[i];
            bytes[i] ^= mask;
            accepted += try_bytes(bytes, count);
            tried++;
            bytes[i] = was;
        }
        assert_true(accepted < tried);
        free(bytes);
    }
}

static void other_onnx_files_are_refused(void **state)
{
    (void)state;
    itg_onnx_writer *w = NULL;
    itg_program *p = NULL;
    itg_error err;
    itg_shape shape = SHAPE(1, 3);
    const char *names[] = {"x", "y"};
    assert_int_equal(itg_onnx_writer_create("g", "1", &w, NULL), ITG_OK);
    itg_onnx_writer_opset(w, "", 17);
    itg_onnx_writer_input(w, "x", ITG_F32, &shape);
    itg_onnx_writer_output(w, "y", ITG_F32, &shape);
    itg_onnx_writer_node(w, "", "Relu", "r", names, 1, names + 1, 1);
    assert_int_equal(itg_onnx_writer_save(w, PATH, NULL), ITG_OK);
    itg_onnx_writer_destroy(w);
    assert_int_equal(itg_artefact_read(PATH, &p, &err), ITG_BAD_FILE);
    assert_non_null(strstr(err.message, "opset domain ai.intaglio is missing"));
    assert_null(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_read_back_are_the_same),
        cmocka_unit_test(writing_again_gives_the_same_bytes),
        cmocka_unit_test(metadata_is_kept_and_replaced),
        cmocka_unit_test(truncated_files_are_errors),
        cmocka_unit_test(flipped_bytes_never_crash),
        cmocka_unit_test(other_onnx_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
