/* Defaults of attributes, as ONNX's operator pages state them for the current opset. */
#include "graph.h"
#include <math.h>

static int64_t default_axis(itg_op op)
{
    switch (op) {
    case ITG_OP_SOFTMAX:
    case ITG_OP_LOG_SOFTMAX: /* 1 before opset 13: the importer knows */
    case ITG_OP_LAYER_NORMALIZATION:
        return -1;
    case ITG_OP_FLATTEN:
    case ITG_OP_BATCH_NORMALIZATION: /* channels; pass_transpose.c moves it */
        return 1;
    default:
        return 0;
    }
}

static float default_alpha(itg_op op)
{
    switch (op) {
    case ITG_OP_GEMM:
    case ITG_OP_ELU:
        return 1.0f;
    case ITG_OP_LEAKY_RELU:
        return 0.01f;
    case ITG_OP_HARD_SIGMOID:
        return 0.2f;
    default:
        return 0.0f;
    }
}

static float default_beta(itg_op op)
{
    switch (op) {
    case ITG_OP_GEMM:
        return 1.0f;
    case ITG_OP_HARD_SIGMOID:
        return 0.5f;
    default:
        return 0.0f;
    }
}

itg_attrs itg_attrs_default(itg_op op)
{
    itg_attrs a = {
        .stride = {1, 1},
        .dilation = {1, 1},
        .group = 1,
        .keepdims = true,
        .epsilon = 1e-5f,
        .min = -INFINITY,
        .max = INFINITY,
        .to = ITG_F32,
    };
    a.axis = default_axis(op);
    a.alpha = default_alpha(op);
    a.beta = default_beta(op);
    for (int i = 0; i < ITG_MAX_RANK; ++i) {
        a.perm[i] = -1; /* absent: the order of dimensions is reversed */
        a.steps[i] = 1;
    }
    return a;
}
