/* Calls of float kernels whose tensors and attributes do not fit together are refused in a
 * sentence, before anything is read or written; the nearest that fit are computed. */
#include <stdio.h>
#include "float_cases.h"

enum { MOST_TENSORS = 8 };

/* "2,3 i:4 -": f32[2,3], s64[4], one that is left out. Types: i s64, j s32, b bool, u u8. */
static int make_all(const char *text, itg_tensor *out)
{
    int count = 0;
    while (*text) {
        itg_dtype dtype = ITG_F32;
        itg_shape shape = {0};
        if (*text && text[1] == ':') {
            dtype = *text == 'i'   ? ITG_S64
                    : *text == 'j' ? ITG_S32
                    : *text == 'b' ? ITG_BOOL
                                   : ITG_U8;
            text += 2;
        }
        const bool missing = *text == '-';
        if (missing) text++;
        while (*text >= '0' && *text <= '9') {
            char *end;
            shape.dims[shape.rank++] = strtoll(text, &end, 10);
            text = *end == ',' ? end + 1 : end;
        }
        if (*text == '.') text++; /* rank 0 */
        out[count] =
            missing ? view(dtype, NULL, shape.dims, 0) : make(dtype, shape.dims, shape.rank);
        count++;
        while (*text == ' ')
            text++;
    }
    return count;
}

/* "axis 1": a number or several. */
static itg_attrs with(const char *text)
{
    itg_attrs a = attributes();
    char name[20] = "";
    int used = 0, v[3] = {0};
    if (sscanf(text, "%19s%n", name, &used) != 1) return a;
    const int count = sscanf(text + used, "%d %d %d", &v[0], &v[1], &v[2]);
    for (int i = 0; i < count; i++) {
        if (strcmp(name, "perm") == 0) a.perm[i] = v[i];
        if (strcmp(name, "pads") == 0) a.pads_begin[i] = v[i];
        if (strcmp(name, "edge") == 0) a.pads_begin[i] = v[i], a.pad_mode = ITG_PAD_EDGE;
        if (strcmp(name, "axes") == 0) a.axes[i] = v[i], a.axes_count = count;
        if (strcmp(name, "kernel") == 0 && i < 2) a.kernel[i] = v[i];
        if (strcmp(name, "stride") == 0 && i < 2) a.stride[i] = v[i];
        if (strcmp(name, "dilation") == 0 && i < 2) a.dilation[i] = v[i];
    }
    if (strcmp(name, "axes") == 0)
        for (int i = 0; i < count; i++)
            a.steps[i] = 1;
    if (strcmp(name, "axis") == 0) a.axis = v[0];
    if (strcmp(name, "group") == 0) a.group = v[0];
    if (strcmp(name, "trans_a") == 0) a.trans_a = true;
    if (strcmp(name, "trans_b") == 0) a.trans_b = true;
    if (strcmp(name, "to") == 0) a.to = (itg_dtype)v[0];
    return a;
}

typedef struct refusal {
    itg_op op;
    const char *attrs, *in, *out;
    const char *message; /* behind the operator's name; NULL: computed */
} refusal;

static const char *const conv = "its weights do not fit input, output and group";
static const char *const windows = "shape, kernel, stride, dilation and pads do not fit together";
static const char *const planes = "only one or two spatial dimensions are computed";
static const char *const gemm = "its matrices do not fit together";
static const char *const product = "its operands do not fit together";
static const char *const broadcast = "operands do not broadcast to the output";
static const char *const parts = "its parts do not fit the whole on its axis";
static const char *const size = "output and input differ in size";
static const char *const no_pad = "its pads do not fit input and output";

static const refusal refusals[] = {
    /* movement */
    {ITG_OP_RESHAPE, "", "2,3", "6", NULL},
    {ITG_OP_RESHAPE, "", "2,3", "7", size},
    {ITG_OP_RESHAPE, "", "2,3", "i:6", "output and input differ in type"},
    {ITG_OP_DROPOUT, "", "3", "3 b:3", NULL},
    {ITG_OP_DROPOUT, "", "3", "3 b:2", "its mask does not fit"},
    {ITG_OP_DROPOUT, "", "3", "3 u:3", "its mask does not fit"},
    {ITG_OP_TRANSPOSE, "perm 1 0", "2,3", "3,2", NULL},
    {ITG_OP_TRANSPOSE, "perm 1 0", "2,3", "2,3", "perm does not fit input and output"},
    {ITG_OP_TRANSPOSE, "perm 0 0", "2,2", "2,2", "perm does not fit input and output"},
    {ITG_OP_TRANSPOSE, "perm 1 2", "2,2", "2,2", "perm does not fit input and output"},
    {ITG_OP_TRANSPOSE, "perm -1 0", "2,2", "2,2", "perm does not fit input and output"},
    {ITG_OP_TRANSPOSE, "perm 1 0", "2,3", "3,2,1", "perm does not fit input and output"},
    {ITG_OP_SLICE, "axes 1", "2,3", "2,3", NULL},
    {ITG_OP_SLICE, "axes 1", "2,3", "2,4", "the slice leaves its input"},
    {ITG_OP_SLICE, "axes 2", "2,3", "2,3", "the slice leaves its input"},
    {ITG_OP_SLICE, "axes -1", "2,3", "2,3", "the slice leaves its input"},
    {ITG_OP_SLICE, "axes 1", "2,3", "2,3,1", "the slice leaves its input"},
    {ITG_OP_EXPAND, "", "3,1 i:2", "3,4", NULL},
    {ITG_OP_EXPAND, "", "3,2 i:2", "3,4", "its input does not broadcast to its output"},
    {ITG_OP_CONCAT, "axis 1", "2,1 2,3", "2,4", NULL},
    {ITG_OP_CONCAT, "axis 0", "2,4 1,4", "3,4", NULL},
    {ITG_OP_CONCAT, "axis 1", "2,1 2,3", "2,5", parts},
    {ITG_OP_CONCAT, "axis 1", "2,1 3,3", "2,4", parts},
    {ITG_OP_CONCAT, "axis 1", "2,1 2,3,1", "2,4", parts},
    {ITG_OP_CONCAT, "axis 1", "2,1 i:2,3", "2,4", parts},
    {ITG_OP_CONCAT, "axis 2", "2,1 2,3", "2,4", parts},
    {ITG_OP_CONCAT, "axis -1", "2,1 2,3", "2,4", parts},
    {ITG_OP_SPLIT, "axis 1", "2,4", "2,1 2,3", NULL},
    {ITG_OP_SPLIT, "axis 1", "2,4", "2,2 2,3", parts},
    {ITG_OP_GATHER, "axis 1", "2,3 i:2", "2,2", NULL},
    {ITG_OP_GATHER, "axis 1", "2,3 j:2", "2,2", NULL},
    {ITG_OP_GATHER, "axis 1", "2,3 i:2", "2,3", "its output does not fit"},
    {ITG_OP_GATHER, "axis 2", "2,3 i:2", "2,2", "its axis or its indices do not fit"},
    {ITG_OP_GATHER, "axis -1", "2,3 i:2", "2,2", "its axis or its indices do not fit"},
    {ITG_OP_GATHER, "axis 1", "2,3 2", "2,2", "its axis or its indices do not fit"},
    {ITG_OP_GATHER, "axis 1", "2,3 -", "2,2", "its axis or its indices do not fit"},
    {ITG_OP_PAD, "pads 0 1", "2,3", "2,5", NULL},
    {ITG_OP_PAD, "pads 0 5", "2,3", "2,8", NULL},
    {ITG_OP_PAD, "pads 0 -3", "2,3", "2,1", NULL},
    {ITG_OP_PAD, "pads 0 -4", "2,3", "2,1", no_pad},
    {ITG_OP_PAD, "pads 0 6", "2,3", "2,5", no_pad},
    {ITG_OP_PAD, "pads 0 1", "2,3", "2,5,1", no_pad},
    {ITG_OP_PAD, "edge 0 -2", "2,3", "2,1", NULL},
    {ITG_OP_PAD, "edge 0 -3", "2,3", "2,1", no_pad},
    /* windows */
    {ITG_OP_CONV, "", "1,2,4,4 3,2,1,1 3", "1,3,4,4", NULL},
    {ITG_OP_CONV, "", "1,2,4 3,2,1", "1,3,4", NULL},
    {ITG_OP_CONV, "group 2", "1,2,4,4 4,1,1,1", "1,4,4,4", NULL},
    {ITG_OP_CONV, "", "1,2,4,4 3,1,1,1", "1,3,4,4", conv},
    {ITG_OP_CONV, "", "1,2,4,4 2,2,1,1", "1,3,4,4", conv},
    {ITG_OP_CONV, "", "1,2,4,4 3,2,2,1", "1,3,4,4", conv},
    {ITG_OP_CONV, "", "1,2,4,4 3,2,1,2", "1,3,4,4", conv},
    {ITG_OP_CONV, "group 2", "1,3,4,4 4,1,1,1", "1,4,4,4", conv},
    {ITG_OP_CONV, "group 2", "1,2,4,4 3,1,1,1", "1,3,4,4", conv},
    {ITG_OP_CONV, "group 0", "1,2,4,4 3,2,1,1", "1,3,4,4", conv},
    {ITG_OP_CONV, "", "1,2,4,4 3,2,1,1 2", "1,3,4,4", "its bias is not f32[output channels]"},
    {ITG_OP_CONV, "", "1,2,4,4 3,2,1,1 i:3", "1,3,4,4", "its bias is not f32[output channels]"},
    {ITG_OP_CONV, "", "1,2,4,4 3,2,1,1", "2,3,4,4", windows},
    {ITG_OP_CONV, "", "1,2,4,4 3,2,1,1", "1,3,4", windows},
    {ITG_OP_CONV, "", "2,4 3,2,1,1", "1,3,4,4", planes},
    {ITG_OP_CONV, "", "1,2,4,4,4 3,2,1,1,1", "1,3,4,4,4", planes},
    {ITG_OP_CONV, "", "1,2,4,4 i:3,2,1,1", "1,3,4,4", "input 1 is s64, only f32 is computed"},
    {ITG_OP_CONV, "", "1,2,4,4", "1,3,4,4", "input 1 is missing"},
    {ITG_OP_CONV, "", "1,2,4,4 3,2,1,1", "i:1,3,4,4", "its output is not f32"},
    {ITG_OP_MAX_POOL, "kernel 2 2", "1,2,4,4", "1,2,3,3", NULL},
    {ITG_OP_MAX_POOL, "kernel 2 2", "1,2,4,4", "1,3,3,3", "input and output differ in channels"},
    {ITG_OP_MAX_POOL, "kernel 0 2", "1,2,4,4", "1,2,3,3", windows},
    {ITG_OP_AVERAGE_POOL, "stride 2 0", "1,2,4,4", "1,2,2,2", windows},
    {ITG_OP_AVERAGE_POOL, "dilation 0 1", "1,2,4,4", "1,2,4,4", windows},
    {ITG_OP_AVERAGE_POOL, "", "1,2,4,4", "1,1,4,4", "input and output differ in channels"},
    {ITG_OP_GLOBAL_AVERAGE_POOL, "", "1,2,4", "1,2,1", NULL},
    {ITG_OP_GLOBAL_AVERAGE_POOL, "", "1,2", "1,2", "its output is not one element a channel"},
    {ITG_OP_GLOBAL_MAX_POOL, "", "1,2,4,4", "1,3,1,1", "its output is not one element a channel"},
    /* products */
    {ITG_OP_GEMM, "", "2,3 3,4 4", "2,4", NULL},
    {ITG_OP_GEMM, "trans_a", "3,2 3,4 2,1", "2,4", NULL},
    {ITG_OP_GEMM, "trans_b", "2,3 4,3", "2,4", NULL},
    {ITG_OP_GEMM, "", "2,3 4,3", "2,4", gemm},
    {ITG_OP_GEMM, "", "2,3 3,4", "2,5", gemm},
    {ITG_OP_GEMM, "", "2,3 3,4", "3,4", gemm},
    {ITG_OP_GEMM, "", "2,3 3,4 3", "2,4", "input 2 does not fit its output"},
    {ITG_OP_GEMM, "", "2,3 3,4 i:4", "2,4", "input 2 does not fit its output"},
    {ITG_OP_GEMM, "", "1,2,3 3,4", "2,4", "its operands are not matrices"},
    {ITG_OP_GEMM, "", "2,3 3", "2,4", "its operands are not matrices"},
    {ITG_OP_MATMUL, "", "5,2,3 3,4 4", "5,2,4", NULL},
    {ITG_OP_MATMUL, "", "5,2,3 5,3,4", "5,2,4", NULL},
    {ITG_OP_MATMUL, "", "5,2,3 4,3,4", "5,2,4", product},
    {ITG_OP_MATMUL, "", "2,3 4,3", "2,3", product},
    {ITG_OP_MATMUL, "", "2,3 3,4", "2,5", product},
    {ITG_OP_MATMUL, "", "2,3 3,4 3", "2,4", "its bias is not f32[N]"},
    /* elementwise */
    {ITG_OP_ADD, "", "2,3 3", "2,3", NULL},
    {ITG_OP_ADD, "", "2,3 2", "2,3", broadcast},
    {ITG_OP_ADD, "", "2,3 2,3", "3", broadcast},
    {ITG_OP_ADD, "", "2,3 i:3", "2,3", "operands and output differ in type"},
    {ITG_OP_ADD, "", "2,3 3", "i:2,3", "operands and output differ in type"},
    {ITG_OP_ADD, "", "2,3 -", "2,3", "an operand is missing"},
    {ITG_OP_MAX, "", "2,3 3 1", "2,3", NULL},
    {ITG_OP_MAX, "", "2,3 3 2", "2,3", broadcast},
    {ITG_OP_MAX, "", "2,3 3 -", "2,3", "an operand is missing or of another type"},
    {ITG_OP_POW, "", "2,3 3", "2,3", NULL},
    {ITG_OP_POW, "", "2,3 2", "2,3", "its operands do not fit its output"},
    {ITG_OP_TANH, "", "2,3", "6", NULL},
    {ITG_OP_TANH, "", "2,3", "5", size},
    /* the rest */
    {ITG_OP_REDUCE_MEAN, "axes 1", "2,3", "2", NULL},
    {ITG_OP_REDUCE_MEAN, "axes 1", "2,3", "3", "its axes do not fit input and output"},
    {ITG_OP_REDUCE_MEAN, "axes 2", "2,3", "2", "its axes do not fit input and output"},
    {ITG_OP_ARG_MAX, "axis 1", "2,3", "i:2", NULL},
    {ITG_OP_ARG_MAX, "axis 2", "2,3", "i:2", "its axis or output does not fit"},
    {ITG_OP_ARG_MAX, "axis -1", "2,3", "i:2", "its axis or output does not fit"},
    {ITG_OP_ARG_MAX, "axis 1", "2,3", "2", "its axis or output does not fit"},
    {ITG_OP_ARG_MAX, "axis 1", "2,3", "i:3", "its output does not fit its input"},
    {ITG_OP_ARG_MAX, "axis 1", "i:2,3", "i:2", NULL},
    {ITG_OP_ARG_MAX, "axis 1", "b:2,3", "i:2", "only f32 and integers are compared"},
    {ITG_OP_SOFTMAX, "axis 1", "2,3", "2,3", NULL},
    {ITG_OP_SOFTMAX, "axis 2", "2,3", "2,3", "its axis or output does not fit its input"},
    {ITG_OP_SOFTMAX, "axis -1", "2,3", "2,3", "its axis or output does not fit its input"},
    {ITG_OP_SOFTMAX, "axis 1", "2,3", "3,2", "its axis or output does not fit its input"},
    {ITG_OP_BATCH_NORMALIZATION, "", "1,2,3 2 2 2 2", "1,2,3", NULL},
    {ITG_OP_BATCH_NORMALIZATION, "", "1,2,3 2 2 2 3", "1,2,3",
     "its parameters are not f32[channels]"},
    {ITG_OP_BATCH_NORMALIZATION, "", "1,2,3 3 2 2 2", "1,2,3",
     "its parameters are not f32[channels]"},
    {ITG_OP_BATCH_NORMALIZATION, "", "1,2,3 2 2 2 2", "1,3,2", "output and input differ in shape"},
    {ITG_OP_BATCH_NORMALIZATION, "", "1,2,3 2 2 2 2", "1,2,3 2",
     "training outputs are not computed"},
    {ITG_OP_LAYER_NORMALIZATION, "axis 1", "2,3 3 3", "2,3", NULL},
    {ITG_OP_LAYER_NORMALIZATION, "axis 1", "2,3 2", "2,3", "scale or bias do not fit its input"},
    {ITG_OP_LAYER_NORMALIZATION, "axis 1", "2,3 3 2", "2,3", "scale or bias do not fit its input"},
    {ITG_OP_LAYER_NORMALIZATION, "axis 2", "2,3 3", "2,3",
     "axis, bias or output do not fit its input"},
    {ITG_OP_LAYER_NORMALIZATION, "axis 1", "2,3 3 i:3", "2,3",
     "axis, bias or output do not fit its input"},
    {ITG_OP_LAYER_NORMALIZATION, "axis 1", "2,3 3", "3,2",
     "axis, bias or output do not fit its input"},
};

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const refusal *r = &refusals[i];
        itg_tensor in[MOST_TENSORS], out[MOST_TENSORS];
        const int in_count = make_all(r->in, in), out_count = make_all(r->out, out);
        const itg_attrs attrs = with(r->attrs);
        itg_error err = {ITG_OK, ""};
        char expected[200] = "";
        const itg_status status = itg_float_eval(r->op, &attrs, in, in_count, out, out_count, &err);
        if (r->message)
            snprintf(expected, sizeof expected, "%s: %s", itg_op_name(r->op), r->message);
        if ((status == ITG_OK) != !r->message || strcmp(err.message, expected) != 0)
            fail_msg("case %d, %s of %s to %s: \"%s\", not \"%s\"", (int)i, itg_op_name(r->op),
                     r->in, r->out, err.message, expected);
        for (int t = 0; t < in_count; t++)
            drop(&in[t]);
        for (int t = 0; t < out_count; t++)
            drop(&out[t]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_does_not_fit_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
