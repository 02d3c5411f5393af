/* QDQ models: what the files hold, read back; what cannot be one is refused, and leaves no file.
 * That ONNX Runtime computes the program's outputs from them is tests/onnxruntime/exported.py. */
#include "networks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "graph/onnx/onnx_write.h"

#define PATH TEST_FOLDER "/qdq.onnx"
#define OTHER TEST_FOLDER "/qdq_again.onnx"

static itg_qdq_report *export_to(const fixture *f, const char *path, bool any_batch)
{
    itg_qdq_report *report = NULL;
    itg_error err = {ITG_OK, ""};
    itg_metadata metadata = {"intaglio.engine", "this"};
    itg_qdq_options options = {&metadata, 1, any_batch};
    if (itg_qdq_write(f->a, &options, path, &report, &err) != ITG_OK) fail_msg("%s", err.message);
    return report;
}

static itg_onnx_file *exported(const fixture *f, bool any_batch)
{
    itg_onnx_file *file = NULL;
    itg_error err = {ITG_OK, ""};
    itg_metadata metadata = {"intaglio.engine", "this"};
    itg_qdq_options options = {&metadata, 1, any_batch};
    if (itg_qdq_write(f->a, &options, PATH, NULL, &err) != ITG_OK) fail_msg("%s", err.message);
    if (itg_onnx_file_read(PATH, &file, &err) != ITG_OK) fail_msg("%s", err.message);
    return file;
}

/* ---- looking into files ---- */

static const itg_onnx_node *maker(const itg_onnx_file *file, const char *name)
{
    for (int32_t i = 0; i < file->node_count; i++)
        for (int32_t k = 0; k < file->nodes[i].output_count; k++)
            if (strcmp(file->nodes[i].outputs[k], name) == 0) return &file->nodes[i];
    return NULL;
}

static const itg_onnx_node *maker_of(const itg_onnx_file *file, const char *name, const char *op)
{
    const itg_onnx_node *n = maker(file, name);
    if (n == NULL) fail_msg("nothing makes '%s'", name);
    assert_string_equal(n->op_type, op);
    return n;
}

static itg_tensor constant(const itg_onnx_file *file, const char *name)
{
    for (int32_t i = 0; i < file->initializer_count; i++)
        if (strcmp(file->initializers[i].name, name) == 0) return file->initializers[i].tensor;
    fail_msg("no initializer '%s'", name);
    return (itg_tensor){ITG_F32, {0, {0}}, NULL};
}

static int32_t count_of(const itg_onnx_file *file, const char *op)
{
    int32_t count = 0;
    for (int32_t i = 0; i < file->node_count; i++)
        count += strcmp(file->nodes[i].op_type, op) == 0;
    return count;
}

static float scalar(const itg_onnx_file *file, const char *name)
{
    itg_tensor t = constant(file, name);
    assert_int_equal(t.dtype, ITG_F32);
    assert_int_equal(t.shape.rank, 0);
    return *(const float *)t.data;
}

static int64_t integer(const itg_onnx_file *file, const char *name, itg_dtype dtype)
{
    itg_tensor t = constant(file, name);
    assert_int_equal(t.dtype, dtype);
    return itg_load(dtype, t.data, 0);
}

static const int64_t *list(const itg_onnx_file *file, const char *name, int32_t count)
{
    itg_tensor t = constant(file, name);
    assert_int_equal(t.dtype, ITG_S64);
    assert_int_equal(t.shape.dims[0], count);
    return t.data;
}

static int64_t attribute(const itg_onnx_node *n, const char *name, int64_t otherwise)
{
    const itg_onnx_attr *a = itg_onnx_attr_find(n, name);
    return a != NULL ? a->i : otherwise;
}

static bool is_known(const itg_onnx_file *file, const char *name, int32_t before)
{
    bool known = *name == '\0';
    for (int32_t i = 0; i < file->input_count; i++)
        known = known || strcmp(file->inputs[i].name, name) == 0;
    for (int32_t i = 0; i < file->initializer_count; i++)
        known = known || strcmp(file->initializers[i].name, name) == 0;
    for (int32_t i = 0; i < before; i++)
        for (int32_t k = 0; k < file->nodes[i].output_count; k++)
            known = known || strcmp(file->nodes[i].outputs[k], name) == 0;
    return known;
}

static char *bytes_of(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = malloc(1 << 20);
    assert_non_null(bytes);
    *count = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static bool is_there(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file != NULL) fclose(file);
    return file != NULL;
}

/* ---- every network ---- */

static const network networks[] = NETWORKS;
enum { NETWORK_COUNT = sizeof networks / sizeof *networks };

static void two_exports_are_the_same_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < NETWORK_COUNT; i++) {
        fixture f = networks[i]();
        size_t one = 0, two = 0;
        itg_qdq_report_destroy(export_to(&f, PATH, true));
        itg_qdq_report_destroy(export_to(&f, OTHER, true));
        char *a = bytes_of(PATH, &one), *b = bytes_of(OTHER, &two);
        assert_int_equal(one, two);
        assert_memory_equal(a, b, one);
        free(a);
        free(b);
        fx_end(&f);
    }
}

/* Standard operators alone, each after what it reads, no name made twice; inputs and outputs are
 * the model's. */
static void models_are_whole(void **state)
{
    static const network readable[] = {net_conv,  net_elements, net_floats,
                                       net_pools, net_tables,   net_moves};
    (void)state;
    for (size_t i = 0; i < sizeof readable / sizeof *readable; i++) {
        fixture f = readable[i]();
        itg_onnx_file *file = exported(&f, false);
        for (int32_t n = 0; n < file->node_count; n++) {
            assert_string_equal(file->nodes[n].domain, "");
            for (int32_t k = 0; k < file->nodes[n].input_count; k++)
                assert_true(is_known(file, file->nodes[n].inputs[k], n));
            for (int32_t k = 0; k < file->nodes[n].output_count; k++)
                assert_false(is_known(file, file->nodes[n].outputs[k], n));
        }
        assert_int_equal(file->input_count, f.g->input_count);
        assert_int_equal(file->output_count, f.g->output_count);
        for (int32_t k = 0; k < file->output_count; k++) {
            const itg_value *v = &f.g->values[f.g->outputs[k]];
            assert_string_equal(file->outputs[k].name, v->name);
            assert_int_equal(file->outputs[k].dtype, v->dtype);
            assert_true(itg_shape_equal(&file->outputs[k].shape, &v->shape));
            assert_true(is_known(file, v->name, file->node_count));
        }
        assert_string_equal(file->metadata_key[0], "intaglio.engine");
        itg_onnx_file_destroy(file);
        fx_end(&f);
    }
}

/* ---- the form ---- */

/* Conv c of net_conv: codes of 8 bits, of 6 bits, floats. */
static void a_rounded_result_has_an_operator_for_each_encoding(void **state)
{
    (void)state;
    fixture f = net_conv();
    itg_onnx_file *file = exported(&f, false);
    assert_int_equal(count_of(file, "Conv"), 4); /* c three times, z */
    const itg_onnx_node *q[2] = {maker_of(file, "y/codes", "QuantizeLinear"),
                                 maker_of(file, "y/codes_2", "QuantizeLinear")};
    const itg_onnx_node *conv[3] = {maker_of(file, q[0]->inputs[0], "Conv"),
                                    maker_of(file, q[1]->inputs[0], "Conv"), NULL};
    const itg_onnx_node *s = maker_of(file, "s/float", "Softmax");
    conv[2] = maker_of(file, maker_of(file, s->inputs[0], "Relu")->inputs[0], "Conv");
    for (int i = 0; i < 3; i++) {
        for (int32_t k = 0; k < 3; k++)
            assert_string_equal(conv[i]->inputs[k], conv[0]->inputs[k]);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(conv[i]->name, conv[k]->name);
    }
    const itg_onnx_node *x = maker_of(file, conv[0]->inputs[0], "DequantizeLinear");
    assert_string_equal(x->inputs[0], "x/codes");
    itg_onnx_file_destroy(file);
    fx_end(&f);
}

static void quantizers_are_the_annotated_ones(void **state)
{
    (void)state;
    fixture f = net_conv();
    itg_onnx_file *file = exported(&f, false);
    const itg_onnx_node *x = maker_of(file, "x/codes", "QuantizeLinear");
    assert_string_equal(x->inputs[0], "x");
    assert_true(scalar(file, x->inputs[1]) == 1.0f / 16);
    assert_int_equal(integer(file, x->inputs[2], ITG_U8), 10);
    const itg_onnx_node *y = maker_of(file, "y/codes_2", "QuantizeLinear");
    assert_true(scalar(file, y->inputs[1]) == 0.5f);
    assert_int_equal(integer(file, y->inputs[2], ITG_S8), -30);
    const itg_onnx_node *z = maker_of(file, "z", "DequantizeLinear"); /* an output */
    assert_int_equal(integer(file, z->inputs[2], ITG_S16), 0);
    itg_onnx_file_destroy(file);
    fx_end(&f);
}

static void assert_ints(const itg_onnx_node *n, const char *name, const int64_t *expected,
                        int64_t count)
{
    const itg_onnx_attr *a = itg_onnx_attr_find(n, name);
    assert_non_null(a);
    assert_int_equal(a->count, count);
    assert_memory_equal(a->ints, expected, (size_t)count * sizeof *expected);
}

static void windows_keep_their_attributes(void **state)
{
    (void)state;
    fixture f = net_conv();
    itg_onnx_file *file = exported(&f, false);
    const itg_onnx_node *c =
        maker_of(file, maker_of(file, "y/codes", "QuantizeLinear")->inputs[0], "Conv");
    assert_ints(c, "kernel_shape", (const int64_t[]){3, 3}, 2);
    assert_ints(c, "strides", (const int64_t[]){2, 1}, 2);
    assert_ints(c, "dilations", (const int64_t[]){1, 2}, 2);
    assert_ints(c, "pads", (const int64_t[]){1, 0, 1, 2}, 4);
    assert_int_equal(attribute(c, "group", 0), 1);
    const itg_onnx_node *z =
        maker_of(file, maker_of(file, "z/codes", "QuantizeLinear")->inputs[0], "Conv");
    assert_int_equal(attribute(z, "group", 0), 4);
    itg_onnx_file_destroy(file);
    fx_end(&f);
    f = net_pools();
    file = exported(&f, false);
    const itg_onnx_node *pool =
        maker_of(file, maker_of(file, "padded/codes", "QuantizeLinear")->inputs[0], "AveragePool");
    assert_int_equal(attribute(pool, "ceil_mode", 0), 1);
    assert_int_equal(attribute(pool, "count_include_pad", 0), 1);
    itg_onnx_file_destroy(file);
    fx_end(&f);
}

/* Weights by channel, and a bias in units of fl(s_x * s_w[c]). */
static void constants_are_codes(void **state)
{
    static const float scales[4] = {0.125f, 0.0625f, 0.03125f, 0.125f};
    (void)state;
    fixture f = net_conv();
    itg_onnx_file *file = exported(&f, false);
    const itg_onnx_node *conv =
        maker_of(file, maker_of(file, "y/codes", "QuantizeLinear")->inputs[0], "Conv");
    const itg_onnx_node *w = maker_of(file, conv->inputs[1], "DequantizeLinear");
    assert_int_equal(attribute(w, "axis", 1), 0);
    itg_tensor codes = constant(file, w->inputs[0]), scale = constant(file, w->inputs[1]);
    assert_int_equal(codes.dtype, ITG_S8);
    assert_memory_equal(scale.data, scales, sizeof scales);
    for (int64_t i = 0; i < 72; i++) {
        int64_t exact = (int64_t)rint((double)conv_weights[i] / (double)scales[i / 18]);
        assert_int_equal(itg_load(ITG_S8, codes.data, i), limited(exact, -128, 127));
    }
    const itg_onnx_node *b = maker_of(file, conv->inputs[2], "DequantizeLinear");
    codes = constant(file, b->inputs[0]);
    scale = constant(file, b->inputs[1]);
    for (int64_t i = 0; i < 4; i++) {
        assert_int_equal(itg_load(ITG_S32, codes.data, i), conv_bias[i]);
        assert_true(((const float *)scale.data)[i] == scales[i] / 16);
    }
    itg_onnx_file_destroy(file);
    fx_end(&f);
}

/* 6 bits of 8: a Clip of codes behind; 12 bits of 16: a Clip of floats before, at the codes'
 * values. */
static void narrow_codes_are_clipped(void **state)
{
    (void)state;
    fixture f = net_conv();
    itg_onnx_file *file = exported(&f, false);
    const itg_onnx_node *clip = maker_of(file, "y/clipped_2", "Clip");
    assert_string_equal(clip->inputs[0], "y/codes_2");
    assert_int_equal(integer(file, clip->inputs[1], ITG_S8), -30); /* the fused Relu */
    assert_int_equal(integer(file, clip->inputs[2], ITG_S8), 31);
    clip = maker_of(file, "y/clipped", "Clip"); /* 8 bits, but a Relu at zero point 3 */
    assert_int_equal(integer(file, clip->inputs[1], ITG_U8), 3);
    assert_int_equal(integer(file, clip->inputs[2], ITG_U8), 255);
    assert_null(maker(file, "x/clipped"));
    itg_onnx_file_destroy(file);
    fx_end(&f);
    f = net_tables();
    file = exported(&f, false);
    const itg_onnx_node *x = maker_of(file, "x/codes_2", "QuantizeLinear");
    clip = maker_of(file, x->inputs[0], "Clip");
    assert_string_equal(clip->inputs[0], "x");
    assert_true(scalar(file, clip->inputs[1]) == (-2048 + 40) / 512.0f);
    assert_true(scalar(file, clip->inputs[2]) == (2047 + 40) / 512.0f);
    itg_onnx_file_destroy(file);
    fx_end(&f);
}

/* One operator whatever reads it, and no Clip: codes that move stay in range. */
static void moved_codes_have_one_operator(void **state)
{
    (void)state;
    fixture f = net_moves();
    itg_onnx_file *file = exported(&f, false);
    assert_int_equal(count_of(file, "Clip"), 0);
    assert_int_equal(count_of(file, "Split"), 1);
    const itg_onnx_node *pad =
        maker_of(file, maker_of(file, "padded/codes", "QuantizeLinear")->inputs[0], "Pad");
    const int64_t pads[8] = {0, 0, 1, 0, 0, 0, 1, 1};
    assert_memory_equal(list(file, pad->inputs[1], 8), pads, sizeof pads);
    const itg_onnx_node *split =
        maker_of(file, maker_of(file, "halves/codes", "QuantizeLinear")->inputs[0], "Split");
    assert_memory_equal(list(file, split->inputs[1], 2), ((const int64_t[]){2, 3}), 16);
    const itg_onnx_node *flat = maker_of(file, "flat", "Reshape"); /* of the float encoding */
    assert_string_equal(flat->inputs[0], split->outputs[1]);
    itg_onnx_file_destroy(file);
    fx_end(&f);
}

/* Elements 3, 1 of 4; and 3, 2, 1, 0, whose end may not be -1. */
static void backward_slices_end_before_the_first_element(void **state)
{
    (void)state;
    fixture f = fx_begin("backwards");
    itg_id x = fx_input(&f, "x", SHAPE(1, 4));
    itg_id two = fx_node(&f, "two", ITG_OP_SLICE, LIST(x), SHAPE(1, 2));
    itg_id four = fx_node(&f, "four", ITG_OP_SLICE, LIST(x), SHAPE(1, 4));
    itg_id made[2] = {two, four};
    for (int i = 0; i < 2; i++) {
        itg_attrs *a = fx_attrs(&f, made[i]);
        a->axes_count = 1;
        a->axes[0] = 1;
        a->starts[0] = 3;
        a->steps[0] = i == 0 ? -2 : -1;
    }
    fx_outputs(&f, LIST(two, four));
    fx_annotate(&f);
    fx_float(&f, x);
    for (int i = 0; i < 2; i++) {
        fx_note(&f, made[i], ITG_FORM_FLOAT, 0);
        fx_float(&f, made[i]);
    }
    fx_finish(&f);
    itg_onnx_file *file = exported(&f, false);
    const itg_onnx_node *n = maker_of(file, "two", "Slice");
    assert_int_equal(list(file, n->inputs[2], 1)[0], 0);
    n = maker_of(file, "four", "Slice");
    assert_int_equal(list(file, n->inputs[2], 1)[0], -5);
    assert_int_equal(list(file, n->inputs[3], 1)[0], 1);
    assert_int_equal(list(file, n->inputs[4], 1)[0], -1);
    itg_onnx_file_destroy(file);
    fx_end(&f);
}

static void check_words(const itg_onnx_node *n, itg_op op, const itg_attrs *attrs)
{
    int32_t count;
    const itg_attr *attr = itg_op_attrs(op, &count);
    for (int32_t i = 0; i < count; i++) {
        if (attr[i].onnx == NULL) continue;
        const itg_onnx_attr *written = itg_onnx_attr_find(n, attr[i].onnx);
        assert_int_equal(written != NULL, attr[i].last_opset == 0);
        if (attr[i].field->kind == ITG_KIND_NAME)
            assert_string_equal(written->s, itg_attr_word(&attr[i], attrs));
    }
}

/* All in float. */
static void finish_function(fixture *f, itg_id x, itg_id y)
{
    fx_outputs(f, LIST(y));
    fx_annotate(f);
    fx_float(f, x);
    fx_note(f, y, ITG_FORM_FLOAT, 0);
    fx_float(f, y);
    fx_finish(f);
}

static void every_univariate_operator_is_written(void **state)
{
    (void)state;
    for (int op = 0; op < ITG_OP_COUNT; op++) {
        if (!itg_op_is((itg_op)op, ITG_IS_UNIVARIATE)) continue;
        fixture f = fx_begin("function");
        itg_id x = fx_input(&f, "x", SHAPE(1, 4));
        itg_id y = fx_node(&f, "y", (itg_op)op, LIST(x), SHAPE(1, 4));
        int32_t count;
        const itg_attr *attr = itg_op_attrs((itg_op)op, &count);
        if (op == ITG_OP_SWISH) fx_attrs(&f, y)->alpha = 1.5F; /* else it is written out */
        for (int32_t i = 0; i < count; i++)
            if (attr[i].field->kind == ITG_KIND_NAME)
                assert_true(itg_attr_set_word(&attr[i], fx_attrs(&f, y), attr[i].field->words[1]));
        finish_function(&f, x, y);
        itg_onnx_file *file = exported(&f, false);
        assert_true(file->opset_version[0] >= itg_op_info_of((itg_op)op)->first_opset);
        const char *name = op == ITG_OP_POWER ? "Pow" : itg_op_name((itg_op)op);
        check_words(maker_of(file, "y", name), (itg_op)op, fx_attrs(&f, y));
        itg_onnx_file_destroy(file);
        fx_end(&f);
    }
}

/* As Sigmoid and Mul, with the opset that the rest needs. */
static void swish_is_written_out(void **state)
{
    (void)state;
    fixture f = fx_begin("swish");
    itg_id x = fx_input(&f, "x", SHAPE(1, 4));
    itg_id y = fx_node(&f, "y", ITG_OP_SWISH, LIST(x), SHAPE(1, 4));
    finish_function(&f, x, y);
    itg_onnx_file *file = exported(&f, false);
    assert_int_equal(file->opset_version[0], 13);
    const itg_onnx_node *product = maker_of(file, "y", "Mul");
    assert_string_equal(product->inputs[0], "x");
    const itg_onnx_node *share = maker_of(file, product->inputs[1], "Sigmoid");
    assert_string_equal(share->inputs[0], "x");
    itg_onnx_file_destroy(file);
    fx_end(&f);
}

/* ---- opsets ---- */

/* Gemm with 4-bit weights [7,3] in net_matrix, two a byte, the first in the low half. */
static void weights_of_four_bits_take_half_a_byte(void **state)
{
    unsigned char packed[11] = {0};
    size_t count = 0;
    (void)state;
    fixture f = net_matrix();
    itg_qdq_report *report = export_to(&f, PATH, false);
    assert_int_equal(itg_qdq_report_opset(report), 21);
    itg_qdq_report_destroy(report);
    for (int i = 0; i < 21; i++) {
        int64_t code = limited((int64_t)rint((double)second_weights[i] / 0.25), -8, 7);
        packed[i / 2] = (unsigned char)(packed[i / 2] + ((code + 16) % 16) * (i % 2 ? 16 : 1));
    }
    char *bytes = bytes_of(PATH, &count);
    bool found = false;
    for (size_t i = 0; i + sizeof packed <= count && !found; i++)
        found = memcmp(bytes + i, packed, sizeof packed) == 0;
    assert_true(found);
    free(bytes);
    fx_end(&f);
}

static void the_opset_is_the_lowest_that_will_do(void **state)
{
    static const struct {
        network make;
        int64_t opset;
    } cases[] = {{net_moves, 13}, {net_floats, 13}, {net_conv, 21}, {net_tables, 21}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = cases[i].make();
        itg_onnx_file *file = exported(&f, false);
        assert_int_equal(file->opset_count, 1);
        assert_int_equal(file->opset_version[0], cases[i].opset);
        itg_onnx_file_destroy(file);
        fx_end(&f);
    }
}

/* ---- batches ---- */

static void a_batch_stays_open_where_samples_stay_apart(void **state)
{
    (void)state;
    fixture f = net_conv();
    itg_onnx_file *file = exported(&f, true);
    assert_int_equal(file->inputs[0].shape.dims[0], -1);
    assert_int_equal(file->outputs[2].shape.dims[0], -1);
    itg_onnx_file_destroy(file);
    itg_qdq_report *report = export_to(&f, PATH, false);
    assert_false(itg_qdq_report_any_batch(report));
    itg_qdq_report_destroy(report);
    fx_end(&f);
    f = net_moves();
    file = exported(&f, true);
    const itg_onnx_node *flat = maker_of(file, "flat", "Reshape");
    assert_memory_equal(list(file, flat->inputs[1], 2), ((const int64_t[]){-1, 36}), 16);
    itg_onnx_file_destroy(file);
    fx_end(&f);
}

static void a_batch_is_one_where_a_node_mixes_samples(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        fixture f = net_moves();
        itg_id mixing = itg_graph_find_value(f.g, i == 0 ? "turned" : "cat");
        itg_attrs *a = fx_attrs(&f, mixing);
        if (i == 0) /* an output with its samples along dimension 1 */
            memcpy(a->perm, (const int64_t[]){2, 0, 3, 1}, 4 * sizeof(int64_t));
        else
            a->axis = 0;
        itg_onnx_file *file = exported(&f, true);
        assert_int_equal(file->inputs[0].shape.dims[0], 1);
        itg_onnx_file_destroy(file);
        fx_end(&f);
    }
}

/* ---- what ONNX Runtime computes otherwise ---- */

static bool says(const itg_qdq_report *report, const char *node, const char *part)
{
    for (int32_t i = 0; i < itg_qdq_report_count(report); i++) {
        const itg_qdq_note *note = itg_qdq_report_note(report, i);
        if (strcmp(note->node, node) == 0) return strstr(note->reason, part) != NULL;
    }
    return false;
}

static void differences_are_told_by_node(void **state)
{
    (void)state;
    fixture f = net_conv();
    itg_qdq_report *report = export_to(&f, PATH, false);
    assert_true(says(report, "n_c", "fixed point"));
    assert_true(says(report, "n_z", "more than 8 bits"));
    assert_true(says(report, "n_s", "float32"));
    assert_int_equal(itg_qdq_report_count(report), 3); /* not the fused Relu */
    itg_qdq_report_destroy(report);
    fx_end(&f);
    f = net_split();
    report = export_to(&f, PATH, false);
    assert_true(says(report, "n_y", "apart"));
    itg_qdq_report_destroy(report);
    fx_end(&f);
    f = net_moves();
    report = export_to(&f, PATH, false);
    assert_int_equal(itg_qdq_report_count(report), 0);
    itg_qdq_report_destroy(report);
    fx_end(&f);
}

static bool is_told(const itg_qdq_report *report, const char *node)
{
    return says(report, node, "");
}

/* A float reader sees what codes hide: another order of sums. */
static void float_results_are_told_by_operator(void **state)
{
    (void)state;
    for (int real = 0; real < 2; real++) {
        fixture f = net_floats();
        itg_id mean = itg_graph_find_value(f.g, "mean");
        fx_attrs(&f, mean)->count_include_pad = false;
        if (!real) f.a->values[mean].encoding_count = 1; /* the codes alone */
        if (!real) f.g->output_count--;                  /* and nobody who wants more */
        if (!real) f.a->nodes[f.g->node_count - 1].form = ITG_FORM_FUSED;
        itg_qdq_report *report = export_to(&f, PATH, false);
        assert_true(is_told(report, "n_mean") == real);
        assert_true(!real || says(report, "n_mean", "another order"));
        assert_false(is_told(report, "n_difference") || is_told(report, "n_product") ||
                     is_told(report, "n_swapped"));
        itg_qdq_report_destroy(report);
        fx_end(&f);
    }
}

/* A product with float32 requantization is ONNX Runtime's own, unless its sum may overflow. */
static void equal_arithmetic_is_not_told(void **state)
{
    (void)state;
    for (int bits = 24; bits >= 12; bits -= 12) {
        fixture f = net_matrix();
        itg_id a = itg_graph_find_value(f.g, "a");
        itg_requant *r = (itg_requant *)(uintptr_t)f.a->values[a].encodings[0].requant;
        for (int i = 0; i < 5; i++)
            r[i] = (itg_requant){.is_f32 = true, .ratio = 0.0078125f};
        f.a->nodes[f.g->values[a].producer].acc.bits = bits;
        itg_qdq_report *report = export_to(&f, PATH, false);
        bool told = false;
        for (int32_t i = 0; i < itg_qdq_report_count(report); i++)
            told = told || strcmp(itg_qdq_report_note(report, i)->node, "n_a") == 0;
        assert_true(told == (bits == 12));
        assert_true(bits == 24 || says(report, "n_a", "may leave"));
        itg_qdq_report_destroy(report);
        fx_end(&f);
    }
}

/* ---- refusals ---- */

static void refused(const fixture *f, const char *path, itg_status expected, const char *part)
{
    itg_qdq_report *report = NULL;
    itg_error err = {ITG_OK, ""};
    itg_qdq_options options = {NULL, 0, false};
    remove(PATH);
    assert_int_equal(itg_qdq_write(f->a, &options, path, &report, &err), expected);
    assert_non_null(strstr(err.message, part));
    assert_null(report);
    assert_false(is_there(path));
}

/* y = x * w + b in float, where w is codes with a scale for each column: ONNX's MatMul has no bias.
 */
static void weights_alone_are_dequantized(void **state)
{
    static const float scales[2] = {0.5f, 0.25f};
    static const float w[8] = {1, 2, -1, 0.5f, 0, 1, 2, -2}, b[2] = {3, -3};
    (void)state;
    fixture f = fx_begin("weights");
    itg_id x = fx_input(&f, "x", SHAPE(1, 4));
    itg_id weights = fx_constant(&f, "w", ITG_F32, SHAPE(4, 2), w),
           bias = fx_constant(&f, "b", ITG_F32, SHAPE(2), b);
    itg_id y = fx_node(&f, "y", ITG_OP_MATMUL, LIST(x, weights, bias), SHAPE(1, 2));
    fx_outputs(&f, LIST(y));
    fx_annotate(&f);
    fx_float(&f, x);
    fx_float(&f, bias);
    fx_channels(&f, fx_codes(&f, weights, ITG_S8, 4, 0.5f, 0), 1, scales, 2);
    fx_note(&f, y, ITG_FORM_FLOAT, 0);
    fx_float(&f, y);
    fx_finish(&f);
    itg_onnx_file *file = exported(&f, false);
    const itg_onnx_node *sum = maker_of(file, "y", "Add");
    const itg_onnx_node *product = maker_of(file, sum->inputs[0], "MatMul");
    const itg_onnx_node *read = maker_of(file, product->inputs[1], "DequantizeLinear");
    assert_int_equal(product->input_count, 2);
    assert_string_equal(product->inputs[0], "x");
    assert_int_equal(attribute(read, "axis", -1), 1);
    assert_memory_equal(constant(file, sum->inputs[1]).data, b, sizeof b);
    itg_onnx_file_destroy(file);
    fx_end(&f);
}

static void what_has_no_form_is_refused(void **state)
{
    (void)state;
    fixture f = fx_begin("shapes");
    itg_id x = fx_input(&f, "x", SHAPE(1, 4));
    itg_id y = fx_node(&f, "y", ITG_OP_SHAPE, LIST(x), SHAPE(2));
    fx_outputs(&f, LIST(y));
    fx_annotate(&f);
    fx_float(&f, x);
    fx_note(&f, y, ITG_FORM_FLOAT, 0);
    fx_float(&f, y);
    fx_finish(&f);
    refused(&f, PATH, ITG_UNSUPPORTED, "node 'n_y' (Shape)");
    fx_end(&f);
    f = fx_begin("through");
    x = fx_input(&f, "x", SHAPE(1, 4));
    fx_outputs(&f, LIST(x));
    fx_annotate(&f);
    fx_codes(&f, x, ITG_U8, 8, 1, 0);
    fx_finish(&f);
    refused(&f, PATH, ITG_UNSUPPORTED, "an input");
    fx_end(&f);
    f = net_moves();
    refused(&f, TEST_FOLDER "/absent/qdq.onnx", ITG_IO, "absent");
    fx_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_exports_are_the_same_bytes),
        cmocka_unit_test(weights_alone_are_dequantized),
        cmocka_unit_test(models_are_whole),
        cmocka_unit_test(a_rounded_result_has_an_operator_for_each_encoding),
        cmocka_unit_test(quantizers_are_the_annotated_ones),
        cmocka_unit_test(windows_keep_their_attributes),
        cmocka_unit_test(constants_are_codes),
        cmocka_unit_test(narrow_codes_are_clipped),
        cmocka_unit_test(moved_codes_have_one_operator),
        cmocka_unit_test(backward_slices_end_before_the_first_element),
        cmocka_unit_test(every_univariate_operator_is_written),
        cmocka_unit_test(swish_is_written_out),
        cmocka_unit_test(weights_of_four_bits_take_half_a_byte),
        cmocka_unit_test(the_opset_is_the_lowest_that_will_do),
        cmocka_unit_test(a_batch_stays_open_where_samples_stay_apart),
        cmocka_unit_test(a_batch_is_one_where_a_node_mixes_samples),
        cmocka_unit_test(differences_are_told_by_node),
        cmocka_unit_test(float_results_are_told_by_operator),
        cmocka_unit_test(equal_arithmetic_is_not_told),
        cmocka_unit_test(what_has_no_form_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
