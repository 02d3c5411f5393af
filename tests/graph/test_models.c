/* Real models: each is prepared, keeps its function (in every bit where only equalization differs),
 * and is prepared already afterwards. Needs ../shared/data. */
#include "make.h"
#include <math.h>
#include <stdio.h>
#include "kernels/float_ops.h"

static const char *const models[] = {"cifar10_winml_imageclassifier",
                                     "cifar_yashraj",
                                     "coral_mobilenet_v1_0.25_128_quant",
                                     "fashion_shahjahan",
                                     "imagenet_squeezenet_fp32_from_fp16",
                                     "iris_winml_network",
                                     "kws_micro_m_fp32",
                                     "lenet_ccoltong_custom",
                                     "mbv2_cifar10",
                                     "mlperf_pretrainedResnet",
                                     "mnist_onnxjs_7",
                                     "mnist_wuhan_lg",
                                     "resnet8_cifar10",
                                     "resnet8_skewed",
                                     "ultraface_slim320",
                                     "vit_cifar_ibp_3_3_8",
                                     "vit_ln_cifar10",
                                     "vnn_mnist-net_256x2",
                                     "vnn_resnet_2b",
                                     "vnn_resnet_4b",
                                     "super_resolution_subpixel"};

/* NULL: the data is absent. */
static itg_graph *import(const char *model)
{
    char path[256];
    itg_graph *g = NULL;
    itg_error err = {0};
    snprintf(path, sizeof path, "../shared/data/models/%s.onnx", model);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fclose(file);
    if (itg_onnx_import(path, "", &g, &err)) fail_msg("%s", err.message);
    return g;
}

static itg_graph *prepare(const itg_graph *g, bool equalize)
{
    itg_prepare_options options = {
        .eval = itg_float_eval, .model.keep_softmax = true, .model.no_equalize = !equalize};
    itg_graph *p = NULL;
    itg_error err = {0};
    if (itg_graph_prepare(g, &options, &p, &err)) fail_msg("%s", err.message);
    return p;
}

/* Of what the layers behind need not know any more, nothing is left. */
static void check_canonical(const itg_graph *p)
{
    static const itg_op gone[] = {ITG_OP_BATCH_NORMALIZATION,
                                  ITG_OP_IDENTITY,
                                  ITG_OP_DROPOUT,
                                  ITG_OP_FLATTEN,
                                  ITG_OP_SQUEEZE,
                                  ITG_OP_UNSQUEEZE,
                                  ITG_OP_SHAPE,
                                  ITG_OP_CONSTANT_OF_SHAPE,
                                  ITG_OP_CAST,
                                  ITG_OP_PAD};
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; ++i)
        assert_int_equal(count_of(p, gone[i]), 0);
    for (int32_t i = 0; i < p->node_count; ++i) {
        const itg_node *n = &p->nodes[i];
        bool varies = false;
        for (int32_t s = 0; s < n->input_count; ++s)
            varies |= n->inputs[s] != ITG_NONE && !itg_graph_is_constant(p, n->inputs[s]);
        assert_true(varies);
        if (n->op == ITG_OP_GEMM)
            assert_true(n->attrs.trans_b && n->attrs.alpha == 1 && n->attrs.beta == 1);
    }
    for (int32_t i = 0; i < p->input_count; ++i)
        assert_int_equal(p->values[p->inputs[i]].shape.dims[0], 1);
}

static void test_models_keep_their_function(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; ++i) {
        itg_graph *g = import(models[i]);
        if (!g) {
            print_message("../shared/data/models/%s.onnx is absent: skipped\n", models[i]);
            continue;
        }
        itg_graph *plain = prepare(g, false), *even = prepare(g, true);
        check_canonical(plain);
        assert_same_function(plain, even, 0);
        for (int32_t v = 0; v < g->input_count;
             ++v) /* as the file computes it: batch 1, nothing else done */
            g->values[g->inputs[v]].shape.dims[0] = 1;
        if (strcmp(models[i], "lenet_ccoltong_custom") != 0) assert_keeps_function(g, plain, 2e-5);
        for (int32_t o = 0; o < g->output_count; ++o)
            assert_string_equal(g->values[g->outputs[o]].name,
                                plain->values[plain->outputs[o]].name);
        itg_graph *again = prepare(plain, false);
        unsigned char a[32], b[32];
        itg_graph_hash(plain, a);
        itg_graph_hash(again, b);
        assert_memory_equal(a, b, 32);
        itg_graph_destroy(again);
        itg_graph_destroy(plain);
        itg_graph_destroy(even);
        itg_graph_destroy(g);
    }
}

/* resnet8_skewed is resnet8 with channels scaled by powers of two: prepared, its weights are within
 * one power of two of the other's, channel by channel, and equal but for that. */
static void test_equalization_undoes_the_skew(void **state)
{
    (void)state;
    itg_graph *g = import("resnet8_cifar10"), *s = import("resnet8_skewed");
    if (!g || !s) {
        print_message("../shared/data/models is absent: skipped\n");
        itg_graph_destroy(g);
        itg_graph_destroy(s);
        return;
    }
    double before = 0, after = 0;
    for (int equalize = 0; equalize < 2; ++equalize) {
        itg_graph *p = prepare(g, equalize), *q = prepare(s, equalize);
        double *worst = equalize ? &after : &before;
        assert_int_equal(p->node_count, q->node_count);
        for (int32_t n = 0; n < p->node_count; ++n) {
            if (p->nodes[n].op != ITG_OP_CONV && p->nodes[n].op != ITG_OP_GEMM) continue;
            itg_tensor a = itg_graph_tensor(p, p->nodes[n].inputs[1]),
                       b = itg_graph_tensor(q, q->nodes[n].inputs[1]);
            for (int64_t i = 0; i < (int64_t)itg_tensor_bytes(&a) / 4; ++i) {
                double x = (double)((const float *)a.data)[i],
                       y = (double)((const float *)b.data)[i];
                if (x != 0 && y != 0) *worst = fmax(*worst, fabs(log2(fabs(x / y))));
            }
        }
        itg_graph_destroy(p);
        itg_graph_destroy(q);
    }
    print_message("largest ratio of weights: 2^%g before, 2^%g after equalization\n", before,
                  after);
    assert_true(before >= 5 && after <= 1);
    itg_graph_destroy(g);
    itg_graph_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_keep_their_function),
        cmocka_unit_test(test_equalization_undoes_the_skew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
