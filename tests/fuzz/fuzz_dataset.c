/* Datasets: .npy, .npz, IDX, gzip, by content; accepted ones are read as labels, selected from and
 * preprocessed. */
#include "fuzz.h"
#include "sim/sim.h"
#include <stdlib.h>
#include <string.h>
#include <zip.h>
#include <zlib.h>

/* As an input of its own shape, and of the shape that the layout makes of it. */
static void feed(const itg_dataset *d, itg_dtype dtype, itg_sample_layout layout)
{
    itg_tensor input = {dtype, d->shape, NULL};
    itg_preprocess p = itg_preprocess_default();
    itg_error err = {0};
    int64_t elements = 1;
    const int32_t last = d->shape.rank - 1;
    input.shape.dims[0] = 1;
    p.layout = layout;
    p.bgr = d->shape.rank > 2;
    for (int32_t i = 1; i <= last && layout != ITG_SAMPLES_SAME; i++)
        input.shape.dims[i] = layout == ITG_SAMPLES_NCHW ? d->shape.dims[i < last ? i + 1 : 1]
                                                         : d->shape.dims[i > 1 ? i - 1 : last];
    if (!itg_shape_elements(&input.shape, &elements) ||
        itg_preprocess_check(&p, d, &input, &err) != ITG_OK)
        return;
    input.data = malloc(itg_dtype_size(dtype) * (size_t)elements + 1);
    REQUIRE(input.data != NULL);
    if (itg_preprocess_sample(&p, d, d->shape.dims[0] - 1, &input, &err) != ITG_OK)
        REQUIRE(err.code == ITG_BAD_FILE && strstr(err.message, "sample "));
    free(input.data);
}

static void use(const itg_dataset *d)
{
    static const itg_dtype dtypes[] = {ITG_F32, ITG_S64, ITG_U8, ITG_BOOL, ITG_F64};
    int64_t *labels = NULL, count = 0, first = 0;
    itg_dataset *one = NULL;
    itg_error err = {0};
    if (itg_dataset_labels(d, &labels, &count, &err) == ITG_OK) REQUIRE(count == d->shape.dims[0]);
    free(labels);
    if (d->shape.dims[0] < 1) return;
    if (itg_dataset_select(d, &first, 1, &one, &err) == ITG_OK) REQUIRE(one->shape.dims[0] == 1);
    itg_data_close(one);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < ITG_SAMPLE_LAYOUTS; k++)
            feed(d, dtypes[i], (itg_sample_layout)k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    for (int64_t limit = 0; limit < 2; limit++) {
        itg_dataset *d = NULL;
        itg_error err = {0};
        const char *path = fuzz_file(data, bytes);
        itg_status status = itg_data_open(path, limit, &d, &err);
        if (status != ITG_OK) {
            REQUIRE(err.code == status && strncmp(err.message, path, strlen(path)) == 0);
            continue;
        }
        use(d);
        itg_data_close(d);
    }
    return 0;
}

/* ---- seeds ---- */

static void add_npy(itg_strbuf *out, const char *dtype, int size, const char *shape,
                    int64_t elements, int version)
{
    char header[120];
    unsigned char length[4] = {118, 0, 0, 0};
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
             dtype, shape);
    size_t text = strlen(header);
    memset(header + text, ' ', sizeof header - text);
    header[117] = '\n';
    itg_strbuf_bytes(out, "\x93NUMPY", 6);
    itg_strbuf_bytes(out, version == 1 ? "\1\0" : "\2\0", 2);
    itg_strbuf_bytes(out, length, version == 1 ? 2 : 4);
    itg_strbuf_bytes(out, header, 118);
    for (int64_t i = 0; i < elements * size; i++)
        itg_strbuf_bytes(out, &(unsigned char){(unsigned char)(i * 37)}, 1);
}

static void add_idx(itg_strbuf *out)
{
    static const unsigned char header[] = {0, 0, 8, 3, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 3};
    itg_strbuf_bytes(out, header, sizeof header);
    for (int i = 0; i < 30; i++)
        itg_strbuf_bytes(out, &(unsigned char){(unsigned char)i}, 1);
}

static void add_gzip(itg_strbuf *out, const itg_strbuf *plain)
{
    const char *path = fuzz_file((const uint8_t *)"", 0);
    gzFile file = gzopen(path, "wb");
    REQUIRE(file && gzwrite(file, plain->text, (unsigned)plain->length) == (int)plain->length &&
            gzclose(file) == Z_OK);
    fuzz_slurp(path, out);
}

static void add_zip(itg_strbuf *out, const itg_strbuf *plain, int32_t method)
{
    const char *path = fuzz_file((const uint8_t *)"", 0);
    int code = 0;
    remove(path);
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    REQUIRE(zip != NULL);
    zip_source_t *source = zip_source_buffer(zip, plain->text, plain->length, 0);
    zip_int64_t index = zip_file_add(zip, "x.npy", source, 0);
    REQUIRE(index >= 0 && zip_set_file_compression(zip, (zip_uint64_t)index, method, 0) == 0 &&
            zip_close(zip) == 0);
    fuzz_slurp(path, out);
}

bool fuzz_seed(int index, itg_strbuf *out)
{
    itg_strbuf plain = {0};
    switch (index) {
    case 0:
        add_npy(out, "<f4", 4, "3, 2, 2", 12, 1);
        break;
    case 1:
        add_npy(out, "|u1", 1, "6, 3, 2, 2", 72, 1);
        break;
    case 2:
        add_npy(out, ">i2", 2, "4,", 4, 2);
        break;
    case 3:
        add_npy(out, "<i8", 8, "5, 1", 5, 1);
        break;
    case 4:
        add_idx(out);
        break;
    case 5:
        add_idx(&plain);
        add_gzip(out, &plain);
        break;
    case 6:
    case 7:
        add_npy(&plain, "<f8", 8, "4, 2", 8, 1);
        add_zip(out, &plain, index == 6 ? ZIP_CM_STORE : ZIP_CM_DEFLATE);
        break;
    default:
        return false;
    }
    itg_strbuf_deinit(&plain);
    return true;
}
