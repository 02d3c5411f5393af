/* A file whose large elements are read apart is the file that is read as a whole: with its errors
 * where it is damaged, and with its hash. */
#include "graph/onnx/file_read.h"
#include "tests/base/cmocka_base.h"
#include "tests/faults.h"

#define PATH TEST_FOLDER "/large.onnx"

enum { LEAST = 16, CASES = 4000 };

static unsigned char *model;
static size_t model_bytes;

static int read_model(void **state)
{
    (void)state;
    return itg_file_read(DIGITS, 1 << 20, &model, &model_bytes, NULL) == ITG_OK ? 0 : -1;
}

static int drop_model(void **state)
{
    (void)state;
    free(model);
    return 0;
}

static void put(const unsigned char *data, size_t bytes)
{
    FILE *file = fopen(PATH, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void same_tensors(const itg_onnx_file *a, const itg_onnx_file *b)
{
    assert_int_equal(a->initializer_count, b->initializer_count);
    for (int32_t i = 0; i < a->initializer_count; i++) {
        const itg_onnx_initializer *x = &a->initializers[i], *y = &b->initializers[i];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->tensor.dtype, y->tensor.dtype);
        assert_memory_equal(&x->tensor.shape, &y->tensor.shape, sizeof x->tensor.shape);
        assert_memory_equal(x->tensor.data, y->tensor.data, itg_tensor_bytes(&x->tensor));
    }
}

/* Reads the file in both ways. Returns whether it can be read. */
static bool compare(const unsigned char *data, size_t bytes)
{
    itg_onnx_file *apart = NULL, *whole = NULL;
    itg_error a = {0}, b = {0};
    put(data, bytes);
    const itg_status status = itg_onnx_file_read_apart(PATH, LEAST, NULL, &apart, &a);
    assert_int_equal(itg_onnx_file_read_apart(PATH, SIZE_MAX, NULL, &whole, &b), status);
    assert_string_equal(a.message, b.message);
    if (status == ITG_OK) {
        assert_memory_equal(apart->hash, whole->hash, 32);
        assert_int_equal(apart->node_count, whole->node_count);
        assert_int_equal(apart->metadata_count, whole->metadata_count);
        same_tensors(apart, whole);
    }
    itg_onnx_file_destroy(apart);
    itg_onnx_file_destroy(whole);
    return status == ITG_OK;
}

static void a_file_is_the_same(void **state)
{
    (void)state;
    assert_true(compare(model, model_bytes));
}

/* Bytes are changed, and some files cut off: what is wrong is said in the same words. */
static void damaged_files_are_refused_alike(void **state)
{
    unsigned char *copy = malloc(model_bytes + 1);
    itg_rng rng;
    int read = 0;
    (void)state;
    itg_rng_init(&rng, 7);
    assert_non_null(copy);
    for (int i = 0; i < CASES; i++) {
        memcpy(copy, model, model_bytes);
        /* half of the changes are near the beginning, where nodes and lengths are */
        for (uint64_t k = 0; k <= itg_rng_next(&rng) % 3; k++) {
            const size_t most = i % 2 ? model_bytes : 2000;
            copy[itg_rng_next(&rng) % most] = (unsigned char)itg_rng_next(&rng);
        }
        read += compare(copy, i % 5 ? model_bytes : (size_t)(itg_rng_next(&rng) % model_bytes));
    }
    assert_in_range(read, CASES / 20, CASES - CASES / 20); /* neither none nor all */
    free(copy);
}

/* What follows the model, or stands in it twice, is for the ordinary reader to judge. */
static void odd_files_are_read_alike(void **state)
{
    unsigned char *twice = malloc(2 * model_bytes);
    (void)state;
    assert_non_null(twice);
    memcpy(twice, model, model_bytes);
    memcpy(twice + model_bytes, model, model_bytes);
    assert_false(compare(twice, 2 * model_bytes)); /* two graphs */
    twice[model_bytes] = 0;
    assert_false(compare(twice, model_bytes + 1));
    free(twice);
}

static void every_allocation_may_fail(void **state)
{
    itg_onnx_file *file = NULL;
    int nth = 0;
    (void)state;
    put(model, model_bytes);
    for (itg_status status = ITG_NO_MEMORY; status != ITG_OK; nth++) {
        itg_error err = {0};
        calls_left = nth;
        status = itg_onnx_file_read_apart(PATH, LEAST, NULL, &file, &err);
        calls_left = -1;
        if (status != ITG_OK && status != ITG_NO_MEMORY) fail_msg("%d: %s", nth, err.message);
        assert_true((status == ITG_OK) == (file != NULL));
    }
    assert_true(nth > 100);
    itg_onnx_file_destroy(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_the_same),
        cmocka_unit_test(damaged_files_are_refused_alike),
        cmocka_unit_test(odd_files_are_read_alike),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, read_model, drop_model);
}
