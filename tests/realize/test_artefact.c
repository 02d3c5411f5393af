/* Files: what is read back is the same program; what is damaged is an error or another legal
 * program, never a crash. */
#include "networks.h"
#include <stdio.h>
#include <stdlib.h>
#include "graph/onnx/onnx_write.h"
#include "realize/artefact.h"
#include "realize/fields.h"

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
    if (itg_program_open(path, &p, &err) != ITG_OK) fail_msg("%s", err.message);
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
    itg_status status = itg_program_open(DAMAGED, &p, &err);
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

/* ---- packed constants ---- */

static const itg_onnx_initializer *initializer_of(const itg_onnx_file *file, const char *name)
{
    for (int32_t i = 0; i < file->initializer_count; i++)
        if (strcmp(file->initializers[i].name, name) == 0) return &file->initializers[i];
    fail_msg("no initializer '%s'", name);
    return NULL;
}

/* Bit by bit, from the lowest of the first byte on (docs/artefact.md). */
static void assert_packed(const itg_pvalue *v, const itg_tensor *t)
{
    const unsigned char *bytes = t->data;
    int64_t bits = v->elements * v->q.bits, at = 0;
    assert_int_equal(t->dtype, ITG_U8);
    assert_int_equal(t->shape.rank, 1);
    assert_int_equal(t->shape.dims[0], (bits + 7) / 8);
    for (int64_t i = 0; i < v->elements; i++)
        for (int32_t b = 0; b < v->q.bits; b++, at++)
            assert_int_equal(bytes[at / 8] >> at % 8 & 1,
                             (uint64_t)itg_load(v->dtype, v->data, i) >> b & 1);
    for (; at < 8 * t->shape.dims[0]; at++)
        assert_int_equal(bytes[at / 8] >> at % 8 & 1, 0);
}

static void narrow_codes_are_packed(void **state)
{
    int packed = 0, plain = 0;
    (void)state;
    for (int i = 0; i < NETWORK_COUNT; i++) {
        fixture f = networks[i]();
        itg_program *p = fx_program(&f);
        itg_onnx_file *file = NULL;
        write_program(p, PATH);
        assert_int_equal(itg_onnx_file_read(PATH, &file, NULL), ITG_OK);
        for (int32_t v = 0; v < p->value_count; v++) {
            if (p->values[v].data == NULL || !p->values[v].quantized) continue;
            const itg_tensor *t = &initializer_of(file, p->values[v].name)->tensor;
            bool narrow = p->values[v].q.bits < (int32_t)(8 * itg_dtype_size(p->values[v].dtype));
            assert_int_equal(itg_value_is_packed(p, v), narrow);
            if (narrow)
                assert_packed(&p->values[v], t);
            else
                assert_memory_equal(t->data, p->values[v].data, p->values[v].bytes);
            packed += narrow;
            plain += !narrow;
        }
        itg_onnx_file_destroy(file);
        itg_program_destroy(p);
        fx_end(&f);
    }
    assert_true(packed > 2 && plain > 0);
}

/* Visits the packed input of a node with these attributes. */
static itg_status read_packed(const char *dtype, int64_t elements, int64_t bits, const void *bytes,
                              int64_t byte_count, itg_pvalue *v)
{
    const itg_onnx_attr attrs[] = {
        {.name = "x0_bits", .type = ITG_ATTR_INT, .i = bits},
        {.name = "x0_dtype", .type = ITG_ATTR_STRING, .s = dtype},
        {.name = "x0_shape", .type = ITG_ATTR_INTS, .ints = &elements, .count = 1}};
    const itg_onnx_attr *sorted[] = {&attrs[0], &attrs[1], &attrs[2]};
    const itg_onnx_node node = {.attr_count = 3, .attrs = attrs, .sorted = sorted};
    itg_program *p = NULL;
    itg_error err = {ITG_OK, ""};
    int32_t value;
    assert_int_equal(itg_program_create("p", &p, NULL), ITG_OK);
    itg_shape shape = SHAPE(byte_count);
    assert_int_equal(itg_program_add_value(p, "w", ITG_U8, &shape, &value, NULL), ITG_OK);
    p->values[value].data = bytes;
    itg_fields f = {.mode = ITG_FIELDS_READ, .node = &node, .arena = p->arena, .err = &err};
    itg_step s = {.input_count = 1, .inputs = &value};
    itg_visit_packed(&f, p, &s);
    if (f.status == ITG_OK) {
        int32_t least = (int32_t)itg_load(p->values[value].dtype, p->values[value].data, 0);
        assert_int_equal(least, -4);
        *v = p->values[value];
    }
    itg_program_destroy(p);
    return f.status;
}

static void packed_codes_that_do_not_fit_are_refused(void **state)
{
    static const unsigned char bytes[] = {0x04, 0x00,
                                          0x80}; /* three codes of 3 bits; a stray bit */
    itg_pvalue v = {0};
    (void)state;
    assert_int_equal(read_packed("s8", 3, 3, bytes, 2, &v), ITG_OK);
    assert_true(v.dtype == ITG_S8 && v.shape.rank == 1 && v.shape.dims[0] == 3);
    assert_int_equal(read_packed("s8", 4, 3, bytes, 2, &v), ITG_OK);
    assert_int_equal(read_packed("s8", 6, 3, bytes, 2, &v), ITG_BAD_FILE);  /* too few bytes */
    assert_int_equal(read_packed("s8", 2, 3, bytes, 2, &v), ITG_BAD_FILE);  /* too many */
    assert_int_equal(read_packed("s8", 7, 3, bytes, 3, &v), ITG_BAD_FILE);  /* the stray bit */
    assert_int_equal(read_packed("s8", 1, 8, bytes, 1, &v), ITG_BAD_FILE);  /* not narrow */
    assert_int_equal(read_packed("s8", 16, 0, bytes, 2, &v), ITG_BAD_FILE); /* too narrow */
    assert_int_equal(read_packed("f32", 3, 3, bytes, 2, &v), ITG_BAD_FILE);
    assert_int_equal(read_packed("x8", 3, 3, bytes, 2, &v), ITG_BAD_FILE);
    assert_int_equal(read_packed("s8", 0, 3, bytes, 2, &v), ITG_BAD_FILE);
    assert_int_equal(read_packed("s8", INT64_MAX, 3, bytes, 2, &v), ITG_BAD_FILE);
    assert_int_equal(read_packed("s8", -3, 3, bytes, 2, &v), ITG_BAD_FILE);
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
    assert_int_equal(itg_program_open(PATH, &p, &err), ITG_BAD_FILE);
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
        cmocka_unit_test(narrow_codes_are_packed),
        cmocka_unit_test(packed_codes_that_do_not_fit_are_refused),
        cmocka_unit_test(other_onnx_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
