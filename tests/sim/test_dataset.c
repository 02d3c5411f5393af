/* Datasets: every container gives the same elements and hash; every damaged one is refused and
 * leaves the output alone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>
#include <zlib.h>
#include "sim/sim.h"

#define PATH(name) ITG_TEST_DIR "/dataset_" name

typedef struct bytes {
    unsigned char data[4096];
    size_t size;
} bytes;

static void put(bytes *b, const void *data, size_t size)
{
    assert_true(b->size + size <= sizeof b->data);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static size_t read_whole(const char *path, unsigned char *out, size_t most)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(out, 1, most, file);
    fclose(file);
    assert_true(size < most);
    return size;
}

static void write_gzip(const char *path, const void *data, size_t size)
{
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, data, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

/* Entries: name, bytes, name, bytes..., NULL. */
static void write_zip(const char *path, int method, ...)
{
    va_list entries;
    remove(path);
    zip_t *zip = zip_open(path, ZIP_CREATE, NULL);
    assert_non_null(zip);
    va_start(entries, method);
    for (const char *name; (name = va_arg(entries, const char *)) != NULL;) {
        const bytes *b = va_arg(entries, const bytes *);
        zip_source_t *source = zip_source_buffer(zip, b->data, b->size, 0);
        zip_int64_t index = zip_file_add(zip, name, source, ZIP_FL_OVERWRITE);
        assert_true(index >= 0);
        assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)index, method, 0), 0);
    }
    va_end(entries);
    assert_int_equal(zip_close(zip), 0);
}

static void put_npy_header(bytes *b, const char *dict)
{
    const size_t length = strlen(dict);
    const unsigned char size[2] = {(unsigned char)(length & 255), (unsigned char)(length >> 8)};
    put(b, "\x93NUMPY\1\0", 8);
    put(b, size, 2);
    put(b, dict, length);
}

/* Two samples of shape [2,3]: values -3, 5, 13, ... of i2 in the given byte order. */
static const int16_t expected[12] = {-3, 5, 13, 21, 29, 37, 45, 53, 61, 69, 77, 85};

static bytes npy_i2(char order)
{
    bytes b = {.size = 0};
    char dict[128];
    snprintf(dict, sizeof dict,
             "{'descr': '%ci2', 'fortran_order': False, 'shape': (2, 2, 3), }   \n", order);
    put_npy_header(&b, dict);
    for (int i = 0; i < 12; i++) {
        const uint16_t v = (uint16_t)expected[i];
        const unsigned char low = (unsigned char)(v & 255), high = (unsigned char)(v >> 8);
        const unsigned char pair[2] = {order == '<' ? low : high, order == '<' ? high : low};
        put(&b, pair, 2);
    }
    return b;
}

static bytes idx_i2(void)
{
    bytes npy = npy_i2('>'), b = {.size = 0};
    put(&b, "\0\0\x0B\3\0\0\0\2\0\0\0\2\0\0\0\3", 16);
    put(&b, npy.data + npy.size - 24, 24);
    return b;
}

static itg_dataset *load(const char *path, int64_t limit)
{
    itg_dataset *data = NULL;
    itg_error err = {.message = ""};
    if (itg_data_open(path, limit, &data, &err) != ITG_OK) fail_msg("%s", err.message);
    return data;
}

static void refused(const char *path, itg_status code, const char *text)
{
    itg_dataset *data = (itg_dataset *)&code;
    itg_error err = {.message = ""};
    const itg_status status = itg_data_open(path, 0, &data, &err);
    assert_ptr_equal(data, &code);
    if (!strstr(err.message, text)) fail_msg("'%s' lacks '%s'", err.message, text);
    assert_int_equal(status, code);
}

static void refused_bytes(const bytes *b, itg_status code, const char *text)
{
    write_file(PATH("refused"), b->data, b->size);
    refused(PATH("refused"), code, text);
}

static void loads_as_expected(const char *path, const itg_dataset *same)
{
    itg_dataset *data = load(path, 0);
    assert_int_equal(data->dtype, ITG_S16);
    assert_int_equal(data->shape.rank, 3);
    assert_int_equal(data->shape.dims[0] * 100 + data->shape.dims[1] * 10 + data->shape.dims[2],
                     223);
    assert_memory_equal(data->data, expected, sizeof expected);
    if (same) assert_memory_equal(data->hash, same->hash, 32);
    itg_data_close(data);
}

static void every_container_and_byte_order_gives_the_same_dataset(void **state)
{
    (void)state;
    bytes little = npy_i2('<'), big = npy_i2('>'), idx = idx_i2();
    write_file(PATH("little"), little.data, little.size);
    itg_dataset *reference = load(PATH("little"), 0);
    write_file(PATH("big"), big.data, big.size);
    loads_as_expected(PATH("little"), reference);
    loads_as_expected(PATH("big"), reference);
    write_file(PATH("idx"), idx.data, idx.size);
    loads_as_expected(PATH("idx"), reference);
    write_gzip(PATH("idx.gz"), idx.data, idx.size);
    loads_as_expected(PATH("idx.gz"), reference);
    write_gzip(PATH("npy.gz"), little.data, little.size);
    loads_as_expected(PATH("npy.gz"), reference);
    write_zip(PATH("one.npz"), ZIP_CM_DEFLATE, "x.npy", &big, (char *)NULL);
    loads_as_expected(PATH("one.npz"), reference);
    write_zip(PATH("stored.npz"), ZIP_CM_STORE, "x.npy", &little, (char *)NULL);
    loads_as_expected(PATH("stored.npz"), reference);
    itg_data_close(reference);
}

static void hash_is_sha256_of_dtype_shape_and_little_endian_elements(void **state)
{
    (void)state;
    bytes b = npy_i2('<'), text = {.size = 0};
    unsigned char digest[32];
    itg_sha256 hash;
    put(&text, "s16\0", 4);
    put(&text, "\3\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 32);
    put(&text, b.data + b.size - 24, 24);
    itg_sha256_init(&hash);
    itg_sha256_update(&hash, text.data, text.size);
    itg_sha256_final(&hash, digest);
    write_file(PATH("hash"), b.data, b.size);
    itg_dataset *data = load(PATH("hash"), 0);
    assert_memory_equal(data->hash, digest, 32);
    itg_data_close(data);
}

static void every_listed_dtype_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *descr;
        itg_dtype dtype;
        const char *one; /* the element 1, as in the file */
        size_t size;
    } cases[] = {{"|u1", ITG_U8, "\1", 1},
                 {"|i1", ITG_S8, "\1", 1},
                 {"<u2", ITG_U16, "\1\0", 2},
                 {">i2", ITG_S16, "\0\1", 2},
                 {"<i4", ITG_S32, "\1\0\0\0", 4},
                 {">i8", ITG_S64, "\0\0\0\0\0\0\0\1", 8},
                 {"<f2", ITG_F32, "\0\x3C", 2},
                 {">f2", ITG_F32, "\x3C\0", 2},
                 {"<f4", ITG_F32, "\0\0\x80\x3F", 4},
                 {">f8", ITG_F64, "\x3F\xF0\0\0\0\0\0\0", 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes b = {.size = 0};
        char dict[128];
        int64_t *labels = NULL, count = 0;
        snprintf(dict, sizeof dict, "{\"shape\":(1,),'fortran_order':False,'descr':\"%s\"}",
                 cases[i].descr);
        put_npy_header(&b, dict);
        put(&b, cases[i].one, cases[i].size);
        write_file(PATH("dtype"), b.data, b.size);
        itg_dataset *data = load(PATH("dtype"), 0);
        assert_int_equal(data->dtype, cases[i].dtype);
        assert_int_equal(itg_dataset_labels(data, &labels, &count, NULL), ITG_OK);
        assert_int_equal(count, 1);
        assert_int_equal(labels[0], 1);
        free(labels);
        itg_data_close(data);
    }
}

static void other_dtypes_and_orders_are_refused(void **state)
{
    (void)state;
    static const char *const descrs[] = {"|O",  "<f3", "<c8",  "|b2", "<U4",
                                         "|S1", "=i4", "<u4x", "",    "<f"};
    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++) {
        bytes b = {.size = 0};
        char dict[128];
        snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (4,), }",
                 descrs[i]);
        put_npy_header(&b, dict);
        put(&b, "0123456789abcdef", 16);
        refused_bytes(&b, ITG_UNSUPPORTED, "element type");
    }
    bytes fortran = {.size = 0}, structured = {.size = 0};
    put_npy_header(&fortran, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }");
    put(&fortran, "0123", 4);
    refused_bytes(&fortran, ITG_UNSUPPORTED, "Fortran");
    put_npy_header(&structured,
                   "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }");
    put(&structured, "0123", 4);
    refused_bytes(&structured, ITG_UNSUPPORTED, "structured");
}

static void malformed_headers_are_refused(void **state)
{
    (void)state;
    static const char *const dicts[] = {
        "",
        "{",
        "{}",
        "{'descr': '|u1', 'fortran_order': False}",
        "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), 'x': 1}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (4)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (-4,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (4,)} x",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,4)}",
        "{'descr': '|u1', 'fortran_order': 0, 'shape': (4,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': ()}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (0, 4)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr' '|u1', 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '|u1' 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '|u1"};
    for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++) {
        bytes b = {.size = 0};
        put_npy_header(&b, dicts[i]);
        put(&b, "0123", 4);
        refused_bytes(&b, ITG_BAD_FILE, PATH("refused"));
    }
}

static void claims_beyond_the_file_are_refused_without_allocating(void **state)
{
    (void)state;
    static const char *const shapes[] = {"(4611686018427387904,)", "(4294967296, 4294967296)",
                                         "(3000000000,)", "(2, 4611686018427387904)",
                                         "(9223372036854775807,)"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        bytes b = {.size = 0};
        char dict[128];
        snprintf(dict, sizeof dict, "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }",
                 shapes[i]);
        put_npy_header(&b, dict);
        put(&b, "01234567", 8);
        refused_bytes(&b, ITG_BAD_FILE, "");
        write_gzip(PATH("claim.gz"), b.data, b.size);
        refused(PATH("claim.gz"), ITG_BAD_FILE, "");
        write_zip(PATH("claim.npz"), ZIP_CM_DEFLATE, "x.npy", &b, (char *)NULL);
        refused(PATH("claim.npz"), ITG_BAD_FILE, "");
    }
    bytes idx = {.size = 0}, header = {.size = 0};
    put(&idx, "\0\0\x08\3\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 16);
    refused_bytes(&idx, ITG_BAD_FILE, "too large");
    put(&header, "\x93NUMPY\2\0\xFF\xFF\xFF\xFF{}", 14);
    refused_bytes(&header, ITG_LIMIT, "header");
}

static void gzip_bomb_behind_a_small_header_stops_at_the_declared_end(void **state)
{
    (void)state;
    enum { BOMB = 1 << 26 };
    unsigned char *zeros = calloc(1, BOMB);
    assert_non_null(zeros);
    memcpy(zeros, "\0\0\x08\1\0\0\0\4", 8);
    write_gzip(PATH("bomb.gz"), zeros, BOMB);
    free(zeros);
    refused(PATH("bomb.gz"), ITG_BAD_FILE, "follow after the last element");
}

static void truncated_at_every_byte_is_refused(void **state)
{
    (void)state;
    bytes npy = npy_i2('<'), idx = idx_i2();
    unsigned char whole[4096];
    write_file(PATH("whole_npy"), npy.data, npy.size);
    write_file(PATH("whole_idx"), idx.data, idx.size);
    write_gzip(PATH("whole_gz"), idx.data, idx.size);
    write_zip(PATH("whole_zip"), ZIP_CM_DEFLATE, "x.npy", &npy, (char *)NULL);
    static const char *const paths[] = {PATH("whole_npy"), PATH("whole_idx"), PATH("whole_gz"),
                                        PATH("whole_zip")};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const size_t size = read_whole(paths[i], whole, sizeof whole);
        itg_data_close(load(paths[i], 0));
        for (size_t cut = 0; cut < size; cut++) {
            write_file(PATH("cut"), whole, cut);
            refused(PATH("cut"), ITG_BAD_FILE, PATH("cut"));
        }
    }
}

static void trailing_bytes_and_wrong_checksums_are_refused(void **state)
{
    (void)state;
    bytes npy = npy_i2('<'), idx = idx_i2();
    unsigned char whole[4096];
    put(&npy, "x", 1);
    put(&idx, "x", 1);
    refused_bytes(&npy, ITG_BAD_FILE, "expected");
    refused_bytes(&idx, ITG_BAD_FILE, "expected");
    write_zip(PATH("long.npz"), ZIP_CM_STORE, "x.npy", &npy, (char *)NULL);
    refused(PATH("long.npz"), ITG_BAD_FILE, "expected");
    idx.size--;
    write_gzip(PATH("checksum"), idx.data, idx.size);
    size_t size = read_whole(PATH("checksum"), whole, sizeof whole);
    whole[size - 6] ^= 1;
    write_file(PATH("checksum"), whole, size);
    refused(PATH("checksum"), ITG_BAD_FILE, "damaged");
    npy.size--;
    write_zip(PATH("checksum"), ZIP_CM_STORE, "x.npy", &npy, (char *)NULL);
    size = read_whole(PATH("checksum"), whole, sizeof whole);
    whole[30 + 5 + npy.size - 1] ^= 1; /* local header, name, last element */
    write_file(PATH("checksum"), whole, size);
    refused(PATH("checksum"), ITG_BAD_FILE, "damaged");
}

/* No byte may make it crash; what loads must be consistent. */
static void any_changed_byte_is_refused_or_harmless(void **state)
{
    (void)state;
    static const char *const paths[] = {PATH("whole_npy"), PATH("whole_idx"), PATH("whole_gz"),
                                        PATH("whole_zip")};
    unsigned char whole[4096];
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const size_t size = read_whole(paths[i], whole, sizeof whole);
        for (size_t at = 0; at < size; at++) {
            for (int bit = 0; bit < 8; bit += 7) {
                itg_dataset *data = NULL;
                whole[at] = (unsigned char)(whole[at] ^ 1u << bit);
                write_file(PATH("changed"), whole, size);
                whole[at] = (unsigned char)(whole[at] ^ 1u << bit);
                const itg_status status = itg_data_open(PATH("changed"), 0, &data, NULL);
                assert_true((status == ITG_OK) == (data != NULL));
                int64_t elements = 0;
                if (data)
                    assert_true(itg_shape_elements(&data->shape, &elements) && elements <= 12);
                itg_data_close(data);
            }
        }
    }
}

static void npz_arrays_are_chosen_by_name(void **state)
{
    (void)state;
    bytes a = npy_i2('<'), b = {.size = 0}, text = {.size = 0};
    put_npy_header(&b, "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }");
    put(&b, "\7", 1);
    put(&text, "hello", 5);
    write_zip(PATH("two.npz"), ZIP_CM_DEFLATE, "images.npy", &a, "labels.npy", &b, (char *)NULL);
    refused(PATH("two.npz"), ITG_MISMATCH, "two.npz:labels: 1 sample; expected 2, as in ");
    refused("x=" PATH("two.npz"), ITG_BAD_FILE, "images, labels");
    refused(PATH("two.npz:other"), ITG_BAD_FILE, "other");
    loads_as_expected(PATH("two.npz:images"), NULL);
    loads_as_expected(PATH("two.npz:images.npy"), NULL);
    write_zip(PATH("text.npz"), ZIP_CM_DEFLATE, "readme.txt", &text, "x.npy", &a, (char *)NULL);
    loads_as_expected(PATH("text.npz"), NULL);
    write_zip(PATH("fake.npz"), ZIP_CM_DEFLATE, "x.npy", &text, (char *)NULL);
    refused(PATH("fake.npz"), ITG_BAD_FILE, "no .npy array");
    write_file(PATH("plain"), a.data, a.size);
    refused(PATH("plain:x"), ITG_BAD_FILE, "no .npz archive");
}

static void same_parts(itg_dataset *data, const itg_dataset *same)
{
    assert_string_equal(data->input, "image");
    assert_memory_equal(data->data, expected, sizeof expected);
    assert_string_equal(data->next_input->input, "ids:0");
    assert_memory_equal(data->next_input->data, "ab", 2);
    assert_null(data->next_input->next_input);
    assert_memory_equal(data->hash, same->hash, 32);
    itg_data_close(data);
}

/* The hash of the names, in order, and of each array's hash. */
static void is_hash_of(const itg_dataset *data, const itg_dataset *image, const itg_dataset *ids)
{
    itg_sha256 hash;
    unsigned char wanted[32];
    itg_sha256_init(&hash);
    itg_sha256_update(&hash, "ids:0", 6);
    itg_sha256_update(&hash, ids->hash, 32);
    itg_sha256_update(&hash, "image", 6);
    itg_sha256_update(&hash, image->hash, 32);
    itg_sha256_final(&hash, wanted);
    assert_memory_equal(data->hash, wanted, 32);
}

static void several_inputs_are_one_set_of_data(void **state)
{
    (void)state;
    const int64_t second = 1;
    bytes a = npy_i2('<'), b = {.size = 0};
    put_npy_header(&b, "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }");
    put(&b, "ab", 2);
    write_file(PATH("image.npy"), a.data, a.size);
    write_file(PATH("ids=0,1"), b.data, b.size);
    write_zip(PATH("both.npz"), ZIP_CM_DEFLATE, "image.npy", &a, "ids:0.npy", &b, (char *)NULL);
    itg_dataset *image = load(PATH("image.npy"), 0), *ids = load(PATH("ids=0,1"), 0), *part,
                *all = load(PATH("both.npz"), 0);
    is_hash_of(all, image, ids);
    same_parts(load("image=" PATH("image.npy") ",ids:0=" PATH("both.npz:ids:0"), 0), all);
    assert_int_equal(itg_data_join((itg_dataset *[]){image, ids},
                                   (const char *[]){"image", "ids:0"}, 2, &part, NULL),
                     ITG_OK);
    assert_ptr_equal(part, image);
    same_parts(part, all);
    assert_int_equal(itg_dataset_select(all, &second, 1, &part, NULL), ITG_OK);
    assert_memory_equal(part->data, expected + 6, sizeof expected / 2);
    assert_memory_equal(part->next_input->data, "b", 1);
    itg_data_close(part);
    part = load(PATH("both.npz"), 1);
    assert_int_equal(part->next_input->shape.dims[0], 1);
    itg_data_close(part);
    assert_int_equal(itg_labels_check(all, 2, NULL), ITG_BAD_FILE);
    itg_data_close(all);
}

static void sets_that_do_not_fit_together_are_refused(void **state)
{
    (void)state;
    itg_dataset *two = load(PATH("image.npy"), 0), *one = load(PATH("image.npy"), 1), *out = NULL;
    itg_error err = {.message = ""};
    const char *const names[] = {"a", "b"};
    refused("a=" PATH("image.npy") ",b=", ITG_BAD_ARGUMENT, "'b=': expected INPUT=FILE");
    refused("a=" PATH("image.npy") ",b", ITG_BAD_ARGUMENT, "'b': expected INPUT=FILE");
    refused("a=" PATH("absent"), ITG_IO, PATH("absent") ": cannot open");
    assert_int_equal(itg_data_join((itg_dataset *[]){two, one}, names, 2, &out, &err),
                     ITG_MISMATCH);
    assert_non_null(strstr(err.message, "1 sample; expected 2, as in "));
    assert_int_equal(itg_data_join((itg_dataset *[]){two, one}, names, 0, &out, &err),
                     ITG_BAD_ARGUMENT);
    assert_null(two->input);
    assert_null(out);
    itg_data_close(two);
    itg_data_close(one);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    refused("/dev/null", ITG_IO, "is no regular file");
    remove(PATH("absent"));
    refused(PATH("absent"), ITG_IO, PATH("absent"));
    refused(PATH("absent:x"), ITG_IO, PATH("absent"));
    bytes text = {.size = 0};
    refused_bytes(&text, ITG_BAD_FILE, "neither");
    put(&text, "id,x\n1,2\n", 9);
    refused_bytes(&text, ITG_BAD_FILE, "neither");
}

static void limit_keeps_the_first_samples_as_select_does(void **state)
{
    (void)state;
    bytes b = npy_i2('>');
    const int64_t first = 0, swapped[] = {1, 0, 1}, beyond = 2;
    itg_dataset *chosen = NULL;
    write_file(PATH("limit"), b.data, b.size);
    itg_dataset *all = load(PATH("limit"), 0), *one = load(PATH("limit"), 1),
                *many = load(PATH("limit"), 9);
    assert_int_equal(one->shape.dims[0], 1);
    assert_memory_equal(one->data, expected, sizeof expected / 2);
    assert_memory_equal(many->hash, all->hash, 32);
    assert_int_equal(itg_dataset_select(all, &first, 1, &chosen, NULL), ITG_OK);
    assert_memory_equal(chosen->hash, one->hash, 32);
    itg_data_close(chosen);
    assert_int_equal(itg_dataset_select(all, swapped, 3, &chosen, NULL), ITG_OK);
    assert_int_equal(chosen->shape.dims[0], 3);
    assert_memory_equal(chosen->data, expected + 6, sizeof expected / 2);
    assert_memory_equal((int16_t *)chosen->data + 6, expected, sizeof expected);
    itg_data_close(chosen);
    assert_int_equal(itg_dataset_select(all, &beyond, 1, &chosen, NULL), ITG_BAD_ARGUMENT);
    assert_int_equal(itg_dataset_select(all, &first, 0, &chosen, NULL), ITG_BAD_ARGUMENT);
    write_gzip(PATH("limit.gz"), b.data, b.size);
    itg_dataset *from_gzip = load(PATH("limit.gz"), 1);
    assert_memory_equal(from_gzip->hash, one->hash, 32);
    itg_data_close(from_gzip);
    itg_data_close(all);
    itg_data_close(one);
    itg_data_close(many);
}

static void labels_are_integers_of_shape_n_or_n_by_1(void **state)
{
    (void)state;
    float values[3] = {3.0f, -1.0f, 7.0f};
    char path[] = "labels";
    itg_dataset data = {.dtype = ITG_F32, .shape = {2, {3, 1}}, .data = values, .path = path};
    int64_t *labels = NULL, count = 0;
    assert_int_equal(itg_dataset_labels(&data, &labels, &count, NULL), ITG_OK);
    assert_int_equal(count, 3);
    assert_true(labels[0] == 3 && labels[1] == -1 && labels[2] == 7);
    free(labels);
    itg_error err;
    values[1] = 0.5f;
    assert_int_equal(itg_dataset_labels(&data, &labels, &count, &err), ITG_BAD_FILE);
    assert_non_null(strstr(err.message, "label 1"));
    data.shape = (itg_shape){2, {1, 3}};
    assert_int_equal(itg_dataset_labels(&data, &labels, &count, &err), ITG_BAD_FILE);
    assert_non_null(strstr(err.message, "[1,3]"));
}

/* One element as an integer; false: it is none. */
static bool integer_of(itg_dtype dtype, const void *element, int64_t *out)
{
    const itg_dataset data = {
        .dtype = dtype, .shape = {1, {1}}, .data = (void *)(uintptr_t)element};
    *out = 42;
    return itg_dataset_integer(&data, 0, out);
}

static void integers_of_every_dtype(void **state)
{
    (void)state;
    static const struct {
        itg_dtype dtype;
        uint64_t bits; /* little-endian */
        int64_t value;
    } cases[] = {{ITG_U8, 0xFF, 255},
                 {ITG_S8, 0xFF, -1},
                 {ITG_BOOL, 2, 1},
                 {ITG_BOOL, 0, 0},
                 {ITG_U16, 0xFFFF, 65535},
                 {ITG_S16, 0xFFFF, -1},
                 {ITG_U32, 0xFFFFFFFF, 4294967295},
                 {ITG_S32, 0xFFFFFFFF, -1},
                 {ITG_S64, UINT64_MAX - 1, -2}};
    int64_t value;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t element = 0;
        itg_copy_little_endian(&element, &cases[i].bits, 1, 8);
        const uint16_t two = (uint16_t)cases[i].bits;
        const uint32_t four = (uint32_t)cases[i].bits;
        const void *at = itg_dtype_size(cases[i].dtype) == 2   ? (const void *)&two
                         : itg_dtype_size(cases[i].dtype) == 4 ? (const void *)&four
                         : itg_dtype_size(cases[i].dtype) == 8 ? (const void *)&cases[i].bits
                                                               : (const void *)&element;
        assert_true(integer_of(cases[i].dtype, at, &value));
        assert_true(value == cases[i].value);
    }
}

static void reals_are_integers_up_to_2_to_53(void **state)
{
    (void)state;
    static const double good[] = {0, -7, 0x1p53, -0x1p53, 0x1p52 + 1},
                        bad[] = {0.5,         -1e-300,          0x1p53 + 2,
                                 -0x1p53 - 2, (double)INFINITY, (double)-INFINITY,
                                 (double)NAN};
    int64_t value;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(integer_of(ITG_F64, &good[i], &value));
        assert_true((double)value == good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(integer_of(ITG_F64, &bad[i], &value));
    assert_true(integer_of(ITG_F32, &(float){-3}, &value) && value == -3);
    assert_false(integer_of(ITG_F32, &(float){-3.5f}, &value));
    assert_false(integer_of((itg_dtype)99, &good[0], &value));
}

/* Samples keep their numbers in the file, also where a part is chosen from a part. */
static void selected_samples_keep_their_numbers(void **state)
{
    (void)state;
    int16_t values[5] = {10, 11, 12, 13, 14};
    char path[] = "numbers";
    itg_dataset data = {
        .dtype = ITG_S16, .shape = {1, {5}}, .data = values, .path = path, .first = 100};
    const int64_t some[] = {4, 1, 3}, again[] = {2, 0}, below = -1, beyond = 5;
    itg_dataset *part = NULL, *rest = NULL, *none = NULL;
    itg_error err = {0};
    assert_int_equal(itg_dataset_number(&data, 4), 104);
    assert_int_equal(itg_dataset_select(&data, some, 3, &part, NULL), ITG_OK);
    assert_int_equal(itg_dataset_select(part, again, 2, &rest, NULL), ITG_OK);
    assert_true(itg_dataset_number(part, 0) == 104 && itg_dataset_number(part, 1) == 101);
    assert_true(itg_dataset_number(rest, 0) == 103 && itg_dataset_number(rest, 1) == 104);
    assert_true(((int16_t *)rest->data)[0] == 13 && ((int16_t *)rest->data)[1] == 14);
    assert_string_equal(rest->path, "numbers");
    itg_data_close(part);
    itg_data_close(rest);
    assert_int_equal(itg_dataset_select(&data, &below, 1, &none, &err), ITG_BAD_ARGUMENT);
    assert_string_equal(err.message, "numbers: sample -1 of 5");
    assert_int_equal(itg_dataset_select(&data, &beyond, 1, &none, &err), ITG_BAD_ARGUMENT);
    assert_string_equal(err.message, "numbers: sample 5 of 5");
    assert_int_equal(itg_dataset_select(&data, &below, 0, &none, &err), ITG_BAD_ARGUMENT);
    assert_string_equal(err.message, "numbers: no samples selected");
    assert_null(none);
}

static void assert_reads(const char *path, const itg_tensor *t)
{
    itg_dataset *data = NULL;
    itg_error err = {0};
    if (itg_data_open(path, 0, &data, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_int_equal(data->dtype, t->dtype);
    assert_true(itg_shape_equal(&data->shape, &t->shape));
    assert_memory_equal(data->data, t->data, itg_tensor_bytes(t));
    itg_data_close(data);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    static float reals[] = {0.5F, -2, 3e-30F, 4, 5, 6};
    static int64_t wholes[] = {1, -2};
    static const char *const names[] = {"/block/Gemm_0", "b"};
    const itg_tensor tensors[] = {{ITG_F32, {2, {2, 3}}, reals}, {ITG_S64, {1, {2}}, wholes}};
    char path[512];
    assert_int_equal(itg_tensors_write_npz(names, tensors, 2, PATH("two.npz"), NULL), ITG_OK);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s:%s", PATH("two.npz"), names[i]);
        assert_reads(path, &tensors[i]);
        assert_int_equal(itg_tensor_write_npy(&tensors[i], PATH("one.npy"), NULL), ITG_OK);
        assert_reads(PATH("one.npy"), &tensors[i]);
    }
}

static void what_cannot_be_written_is_named(void **state)
{
    (void)state;
    static int64_t wholes[] = {1, -2};
    static const char *const names[] = {"a"};
    const itg_tensor t = {ITG_S64, {1, {2}}, wholes};
    itg_error err = {0};
    assert_int_equal(itg_tensors_write_npz(names, &t, 1, "/no/such/x.npz", &err), ITG_IO);
    assert_non_null(strstr(err.message, "/no/such/x.npz"));
    assert_int_equal(itg_tensor_write_npy(&t, "/no/such/x.npy", &err), ITG_IO);
    assert_non_null(strstr(err.message, "/no/such/x.npy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_container_and_byte_order_gives_the_same_dataset),
        cmocka_unit_test(hash_is_sha256_of_dtype_shape_and_little_endian_elements),
        cmocka_unit_test(every_listed_dtype_is_read),
        cmocka_unit_test(other_dtypes_and_orders_are_refused),
        cmocka_unit_test(malformed_headers_are_refused),
        cmocka_unit_test(claims_beyond_the_file_are_refused_without_allocating),
        cmocka_unit_test(gzip_bomb_behind_a_small_header_stops_at_the_declared_end),
        cmocka_unit_test(truncated_at_every_byte_is_refused),
        cmocka_unit_test(trailing_bytes_and_wrong_checksums_are_refused),
        cmocka_unit_test(any_changed_byte_is_refused_or_harmless),
        cmocka_unit_test(npz_arrays_are_chosen_by_name),
        cmocka_unit_test(several_inputs_are_one_set_of_data),
        cmocka_unit_test(sets_that_do_not_fit_together_are_refused),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(limit_keeps_the_first_samples_as_select_does),
        cmocka_unit_test(labels_are_integers_of_shape_n_or_n_by_1),
        cmocka_unit_test(integers_of_every_dtype),
        cmocka_unit_test(reals_are_integers_up_to_2_to_53),
        cmocka_unit_test(selected_samples_keep_their_numbers),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_cannot_be_written_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
