/* A network of two inputs, and data for it. */
#include "two_inputs.h"
#include "driver.h"
#include "graph/onnx/onnx_write.h"

/* y = (mean over pixels of image + vector) * weights */
static void write_model(void)
{
    itg_onnx_writer *w = NULL;
    float x[] = {0.5f, -1, 0.25f, 2, -0.75f, 1};
    const itg_shape image = {4, {-1, 3, 4, 4}}, vector = {2, {-1, 3}};
    const char *const nodes[][4] = {{"GlobalAveragePool", "image", NULL, "pool"},
                                    {"Flatten", "pool", NULL, "flat"},
                                    {"Add", "flat", "vector", "sum"},
                                    {"MatMul", "sum", "weights", "y"}};
    assert_int_equal(itg_onnx_writer_create("net", "", &w, NULL), ITG_OK);
    itg_onnx_writer_opset(w, "", 13);
    itg_onnx_writer_input(w, "image", ITG_F32, &image);
    itg_onnx_writer_input(w, "vector", ITG_F32, &vector);
    itg_onnx_writer_initializer(w, "weights", &(itg_tensor){ITG_F32, {2, {3, 2}}, x});
    for (int i = 0; i < 4; i++)
        itg_onnx_writer_node(w, "", nodes[i][0], nodes[i][3], nodes[i] + 1, nodes[i][2] ? 2 : 1,
                             nodes[i] + 3, 1);
    itg_onnx_writer_output(w, "y", ITG_F32, NULL);
    assert_int_equal(itg_onnx_writer_save(w, "two.onnx", NULL), ITG_OK);
    itg_onnx_writer_destroy(w);
}

/* float32 [samples, width], or [samples, 3, 4, 4]. */
static void write_data(const char *path, int samples, int width)
{
    char file[128 + 4 * 48 * 40] = "\x93NUMPY\1", dict[100];
    itg_rng rng;
    itg_rng_init(&rng, (uint64_t)width);
    memset(file + 10, ' ', 118);
    file[8] = 118;
    snprintf(dict, sizeof dict, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %s), }",
             samples, width == 3 ? "3" : "3, 4, 4");
    memcpy(file + 10, dict, strlen(dict));
    file[127] = '\n';
    for (int i = 0; i < samples * width; i++) {
        const float x = (float)(itg_rng_unit(&rng) * 2 - 1);
        itg_copy_little_endian((unsigned char *)file + 128 + 4 * i, &x, 1, sizeof x);
    }
    put(path, file, 128 + 4 * (size_t)(samples * width));
}

void put_two_inputs(void)
{
    write_model();
    write_data("images.npy", 40, 48);
    write_data("vectors.npy", 40, 3);
    write_data("few.npy", 39, 3);
}
