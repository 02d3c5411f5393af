/* The live bytes of a calibration are counted, at their peak: as many for 1,000 samples as for 10,
 * from the file to the thresholds of every method. Wrapped allocation sees all of Intaglio, and
 * nothing of zlib, libzip and OpenMP, whose memory does not depend on the samples either. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>
#include <zlib.h>
#include "sim/sim.h"

#define DATA "../shared/data/"

/* ---- counting; one thread ---- */
/* Behind the bytes that were asked for, at the end of the block: how many they are. Blocks of
 * others have no such mark. */
typedef struct mark {
    uint64_t magic, bytes;
} mark;
#define MAGIC UINT64_C(0x9e3779b97f4a7c15)

static size_t live, peak;

void *__real_malloc(size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t bytes);
void __wrap_free(void *memory);

static mark mark_of(void *memory)
{
    mark m = {0, 0};
    const size_t usable = malloc_usable_size(memory);
    if (usable >= sizeof m) memcpy(&m, (unsigned char *)memory + usable - sizeof m, sizeof m);
    return m.magic == MAGIC && m.bytes <= usable - sizeof m ? m : (mark){0, usable};
}

void *__wrap_malloc(size_t bytes)
{
    const mark m = {MAGIC, bytes};
    unsigned char *memory = bytes < SIZE_MAX / 2 ? __real_malloc(bytes + sizeof m) : NULL;
    if (!memory) return NULL;
    memcpy(memory + malloc_usable_size(memory) - sizeof m, &m, sizeof m);
    live += bytes;
    if (live > peak) peak = live;
    return memory;
}

void *__wrap_calloc(size_t count, size_t size)
{
    if (size && count > SIZE_MAX / 4 / size) return NULL;
    void *memory = __wrap_malloc(count * size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

/* Both copies live while it moves. */
void *__wrap_realloc(void *old, size_t bytes)
{
    void *moved = __wrap_malloc(bytes);
    if (!moved || !old) return moved;
    const size_t had = (size_t)mark_of(old).bytes;
    memcpy(moved, old, had < bytes ? had : bytes);
    __wrap_free(old);
    return moved;
}

void __wrap_free(void *memory)
{
    const mark m = memory ? mark_of(memory) : (mark){0, 0};
    const mark gone = {0, 0};
    if (m.magic == MAGIC) {
        live -= (size_t)m.bytes;
        memcpy((unsigned char *)memory + malloc_usable_size(memory) - sizeof m, &gone, sizeof gone);
    }
    __real_free(memory);
}

/* ---- a calibration, from a file to thresholds ---- */
typedef struct subject {
    const itg_model *model;
    const char *path;
    itg_preprocess preprocess;
    itg_float_kernels kernels;
} subject;

static void resolve_every_method(const subject *s, const itg_hardware *hw, const itg_stats *stats)
{
    for (int m = 0; m < ITG_THRESHOLD_METHOD_COUNT; m++) {
        const itg_threshold_method method = (itg_threshold_method)m;
        const itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, 8, 8, method,
                                             ITG_THRESHOLD_MAX,           0, 0};
        itg_strategy_file *file = NULL;
        itg_error err = {.message = ""};
        if (itg_uniform_strategy(s->model, hw, &s->preprocess, stats, NULL, &options, &file,
                                 &err) != ITG_OK)
            fail_msg("%s", err.message);
        itg_strategy_close(file);
    }
}

static size_t peak_of(const subject *s, int64_t samples)
{
    const itg_calibrate_options options = {ITG_CALIBRATE_OPTIONS_VERSION, .kernels = s->kernels,
                                           .threads = 1};
    itg_hardware *hw = NULL;
    itg_data_stream *stream = NULL;
    itg_stats *stats = NULL;
    itg_error err = {.message = ""};
    const size_t before = live;
    peak = live;
    if (itg_hardware_load("x86-vnni", &hw, &err) != ITG_OK ||
        itg_data_stream_open(s->path, samples, &stream, &err) != ITG_OK ||
        itg_calibrate_stream(s->model, stream, &s->preprocess, &options, &stats, &err) != ITG_OK)
        fail_msg("%s", err.message);
    assert_int_equal(stats->samples, samples);
    resolve_every_method(s, hw, stats);
    itg_data_stream_close(stream);
    itg_stats_destroy(stats);
    itg_hardware_destroy(hw);
    assert_true(peak > before);
    return peak - before;
}

/* The first calibration of a process may allocate what later ones find. */
static void check_peaks(const subject *s, const char *what)
{
    (void)peak_of(s, 10);
    const size_t ten = peak_of(s, 10), thousand = peak_of(s, 1000);
    print_message("%s: %zu bytes for 10 samples, %zu for 1,000\n", what, ten, thousand);
    if (thousand > ten) fail_msg("%s: memory grows with the samples", what);
}

/* ---- a model and its data, made here ---- */
enum { SAMPLES = 1200, CHANNELS = 3, SIDE = 8, SAMPLE = CHANNELS * SIDE * SIDE, CLASSES = 5 };

/* x [1,3,8,8] -> Conv 3x3 -> Relu -> Flatten -> Gemm. */
static itg_graph *make_graph(void)
{
    static float weights[4 * CHANNELS * 9], matrix[4 * 36 * CLASSES];
    const itg_shape x = {4, {1, CHANNELS, SIDE, SIDE}}, w = {4, {4, CHANNELS, 3, 3}},
                    y = {4, {1, 4, 6, 6}}, flat = {2, {1, 144}}, m = {2, {144, CLASSES}},
                    out = {2, {1, CLASSES}};
    itg_graph *g = NULL;
    itg_id v[7], n;
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        weights[i] = (float)((int)(i * 7 % 19) - 9) / 8;
    for (size_t i = 0; i < sizeof matrix / sizeof *matrix; i++)
        matrix[i] = (float)((int)(i * 5 % 23) - 11) / 16;
    itg_attrs conv = itg_attrs_default(ITG_OP_CONV), flatten = itg_attrs_default(ITG_OP_FLATTEN);
    const itg_attrs relu = itg_attrs_default(ITG_OP_RELU), gemm = itg_attrs_default(ITG_OP_GEMM);
    conv.kernel[0] = conv.kernel[1] = 3;
    flatten.axis = 1;
    assert_int_equal(itg_graph_create("made.onnx", &g, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "x", ITG_F32, &x, NULL, &v[0], NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "w", ITG_F32, &w, weights, &v[1], NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "y", ITG_F32, &y, NULL, &v[2], NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "z", ITG_F32, &y, NULL, &v[3], NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "f", ITG_F32, &flat, NULL, &v[4], NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "m", ITG_F32, &m, matrix, &v[5], NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "out", ITG_F32, &out, NULL, &v[6], NULL), ITG_OK);
    const itg_id product[2] = {v[4], v[5]};
    assert_int_equal(itg_graph_add_node(g, "conv", ITG_OP_CONV, v, 2, &v[2], 1, &conv, &n, NULL),
                     ITG_OK);
    assert_int_equal(
        itg_graph_add_node(g, "relu", ITG_OP_RELU, &v[2], 1, &v[3], 1, &relu, &n, NULL), ITG_OK);
    assert_int_equal(
        itg_graph_add_node(g, "flatten", ITG_OP_FLATTEN, &v[3], 1, &v[4], 1, &flatten, &n, NULL),
        ITG_OK);
    assert_int_equal(
        itg_graph_add_node(g, "gemm", ITG_OP_GEMM, product, 2, &v[6], 1, &gemm, &n, NULL), ITG_OK);
    assert_int_equal(itg_graph_set_inputs(g, &v[0], 1, NULL), ITG_OK);
    assert_int_equal(itg_graph_set_outputs(g, &v[6], 1, NULL), ITG_OK);
    return g;
}

static unsigned char file_bytes[128 + SAMPLES * SAMPLE];

/* The .npy file, in memory; returns its size. */
static size_t make_npy(void)
{
    char dict[119];
    memset(dict, ' ', sizeof dict);
    const int used =
        snprintf(dict, sizeof dict,
                 "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, 3, 8, 8), }", SAMPLES);
    assert_true(used > 0 && used < 118);
    dict[used] = ' ';
    dict[117] = '\n';
    memcpy(file_bytes, "\x93NUMPY\1\0", 8);
    file_bytes[8] = 118;
    file_bytes[9] = 0;
    memcpy(file_bytes + 10, dict, 118);
    for (size_t i = 0; i < SAMPLES * SAMPLE; i++)
        file_bytes[128 + i] = (unsigned char)(i * 2654435761u >> 13);
    return sizeof file_bytes;
}

static void write_npy(const char *path, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(file_bytes, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void write_gzip(const char *path, size_t bytes)
{
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, file_bytes, (unsigned)bytes), bytes);
    assert_int_equal(gzclose(file), Z_OK);
}

static void write_npz(const char *path, size_t bytes)
{
    unlink(path);
    zip_t *zip = zip_open(path, ZIP_CREATE, NULL);
    assert_non_null(zip);
    zip_source_t *source = zip_source_buffer(zip, file_bytes, bytes, 0);
    assert_true(zip_file_add(zip, "x.npy", source, ZIP_FL_OVERWRITE) >= 0);
    assert_int_equal(zip_close(zip), 0);
}

static void memory_does_not_grow_with_samples(void **state)
{
    static const char *const paths[] = {ITG_TEST_DIR "/memory.npy", ITG_TEST_DIR "/memory.npy.gz",
                                        ITG_TEST_DIR "/memory.npz"};
    const size_t bytes = make_npy();
    (void)state;
    write_npy(paths[0], bytes);
    write_gzip(paths[1], bytes);
    write_npz(paths[2], bytes);
    itg_model *model = make_graph();
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < ITG_FLOAT_KERNELS_COUNT; k++) {
            const subject s = {model, paths[i], itg_preprocess_default(), (itg_float_kernels)k};
            if (itg_float_kernels_built(s.kernels)) check_peaks(&s, strrchr(paths[i], '/') + 1);
        }
    itg_graph_destroy(model);
}

static void a_stream_gives_what_the_whole_file_gives(void **state)
{
    static const char *const paths[] = {ITG_TEST_DIR "/memory.npy", ITG_TEST_DIR "/memory.npy.gz",
                                        ITG_TEST_DIR "/memory.npz"};
    const itg_preprocess p = itg_preprocess_default();
    itg_graph *g = make_graph();
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int64_t limit = 0; limit <= 37; limit += 37) {
            const itg_calibrate_options options = {ITG_CALIBRATE_OPTIONS_VERSION, .threads = 3};
            itg_calibration_source source = {0};
            itg_dataset *data = NULL;
            itg_stats *whole = NULL, *streamed = NULL;
            assert_int_equal(itg_data_open(paths[i], limit, &data, NULL), ITG_OK);
            assert_int_equal(itg_data_stream_open(paths[i], limit, &source.stream, NULL), ITG_OK);
            assert_int_equal(itg_calibrate_model(g, data, &p, 1, &whole, NULL), ITG_OK);
            assert_int_equal(itg_calibrate_from(g, &source, &p, &options, &streamed, NULL), ITG_OK);
            assert_int_equal(streamed->samples, limit ? limit : SAMPLES);
            assert_memory_equal(whole->hash, streamed->hash, 32);
            assert_memory_equal(whole->data_hash, streamed->data_hash, 32);
            assert_memory_equal(data->hash, streamed->data_hash, 32);
            itg_stats_destroy(whole);
            itg_stats_destroy(streamed);
            itg_data_stream_close(source.stream);
            itg_data_close(data);
        }
    itg_graph_destroy(g);
}

static void picked_samples_give_what_their_copy_gives(void **state)
{
    static const int64_t picked[] = {700, 3, 3, 1199, 0, 42, 64, 65, 66, 67, 68, 69, 70};
    enum { PICKED = sizeof picked / sizeof *picked };
    const itg_preprocess p = itg_preprocess_default();
    const itg_calibrate_options options = {ITG_CALIBRATE_OPTIONS_VERSION, .threads = 1};
    itg_graph *g = make_graph();
    itg_dataset *data = NULL, *copy = NULL;
    itg_stats *a = NULL, *b = NULL;
    (void)state;
    assert_int_equal(itg_data_open(ITG_TEST_DIR "/memory.npy", 0, &data, NULL), ITG_OK);
    assert_int_equal(itg_dataset_select(data, picked, PICKED, &copy, NULL), ITG_OK);
    const itg_calibration_source source = {.data = data, .samples = picked, .count = PICKED};
    assert_int_equal(itg_calibrate_from(g, &source, &p, &options, &a, NULL), ITG_OK);
    assert_int_equal(itg_calibrate_model(g, copy, &p, 2, &b, NULL), ITG_OK);
    assert_memory_equal(a->hash, b->hash, 32);
    assert_memory_equal(a->data_hash, copy->hash, 32);
    itg_stats_destroy(a);
    itg_stats_destroy(b);
    itg_data_close(copy);
    itg_data_close(data);
    itg_graph_destroy(g);
}

/* `count` nodes in a row on values of the same size; live bytes of an instance. */
static size_t bytes_of_chain(itg_op op, int count, size_t *value_bytes)
{
    const itg_shape shape = {4, {1, 16, 32, 32}};
    const itg_attrs attrs = itg_attrs_default(op);
    itg_graph *g = NULL;
    itg_float_exec *exec = NULL;
    itg_id x, y, n;
    assert_int_equal(itg_graph_create("chain.onnx", &g, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "x", ITG_F32, &shape, NULL, &x, NULL), ITG_OK);
    assert_int_equal(itg_graph_set_inputs(g, &x, 1, NULL), ITG_OK);
    for (int i = 0; i < count; i++, x = y) {
        char name[16];
        snprintf(name, sizeof name, "v%d", i);
        assert_int_equal(itg_graph_add_value(g, name, ITG_F32, &shape, NULL, &y, NULL), ITG_OK);
        assert_int_equal(itg_graph_add_node(g, name, op, &x, 1, &y, 1, &attrs, &n, NULL), ITG_OK);
    }
    assert_int_equal(itg_graph_set_outputs(g, &x, 1, NULL), ITG_OK);
    const size_t before = live;
    assert_int_equal(itg_float_exec_create(g, ITG_FLOAT_REFERENCE, &exec, NULL), ITG_OK);
    const size_t bytes = live - before;
    itg_float_exec_destroy(exec);
    assert_true(live == before);
    itg_graph_destroy(g);
    *value_bytes = 16 * 32 * 32 * sizeof(float);
    return bytes;
}

/* Pooling needs its operand beside its result; Relu writes over it. The rest is what describes 50
 * nodes. */
static void values_that_do_not_live_together_share_memory(void **state)
{
    size_t value = 0;
    (void)state;
    const size_t pools = bytes_of_chain(ITG_OP_MAX_POOL, 50, &value),
                 relus = bytes_of_chain(ITG_OP_RELU, 50, &value);
    assert_true(pools >= 2 * value && pools < 3 * value);
    assert_true(relus >= value && relus < 2 * value);
}

static void memory_of_a_real_network_does_not_grow_with_samples(void **state)
{
    itg_model *model = NULL;
    itg_error err = {.message = ""};
    (void)state;
    if (access(DATA "models/resnet8_cifar10.onnx", R_OK) != 0) {
        print_message("no " DATA ": skipped\n");
        return;
    }
    if (itg_model_open(DATA "models/resnet8_cifar10.onnx", NULL, &model, &err) != ITG_OK)
        fail_msg("%s", err.message);
    for (int k = 0; k < ITG_FLOAT_KERNELS_COUNT; k++) {
        subject s = {model, DATA "cifar10/calib_images_u8.npy", itg_preprocess_default(),
                     (itg_float_kernels)k};
        s.preprocess.scale = 1.0f / 255.0f;
        if (itg_float_kernels_built(s.kernels))
            check_peaks(&s, k ? "resnet8, onednn" : "resnet8, reference");
    }
    itg_model_close(model);
    if (itg_model_open(DATA "models/mnist_onnxjs_7.onnx", NULL, &model, &err) != ITG_OK)
        fail_msg("%s", err.message);
    const subject s = {model, DATA "mnist/calib-images-idx3-ubyte.gz", itg_preprocess_default(),
                       ITG_FLOAT_REFERENCE};
    check_peaks(&s, "mnist, IDX in gzip");
    itg_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_does_not_grow_with_samples),
        cmocka_unit_test(a_stream_gives_what_the_whole_file_gives),
        cmocka_unit_test(picked_samples_give_what_their_copy_gives),
        cmocka_unit_test(values_that_do_not_live_together_share_memory),
        cmocka_unit_test(memory_of_a_real_network_does_not_grow_with_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
